// SPDX-License-Identifier: GPL-2.0
/*
 * What was taken to be lost had only been overtaken (doc/architecture.md, How much is under way):
 * the window is what it was, and more numbers have to be heard before the next is lost.
 */
#include "one_window.h"

static int setup(void **state)
{
	open_window(state);
	l.cong.cwnd = 20;
	l.cong.ssthresh = 20;
	return 0;
}

#define OVERTAKEN_TEST(test)	UNIT_TEST(test, setup, NULL)

/* Four are under way; all but the first are answered, and that is offered again. */
static u32 pass_first(void)
{
	u32 seq = l.tx + 1;

	post_some(1, 4);
	reflect(seq + 1);
	reflect(seq + 2);
	assert_null(sent(OAE_OFFER));
	reflect(seq + 3);
	assert_true(oae_lane(&l, seq)->repeated);
	return seq;
}

/* It is answered, and of its repeat nothing was heard. */
static void reflect_late(u32 seq)
{
	const struct oae_lane *n = oae_lane(&l, seq);

	rcv(BUT(answer_to(OAE_REFLECT, seq), f.ack = n->pn - hweight64(n->sent)));
}

/* A lane was overtaken, not lost: the window is what it was, and it takes 16 numbers. */
OVERTAKEN_TEST(test_overtaken)
{
	unsigned int i;
	u32 seq = pass_first();

	assert_int_equal(l.cong.cwnd, 10);
	/* That another is answered says nothing of that. */
	post(&h[5], 1, 0);
	reflect(seq + 4);
	reflect_late(seq);
	assert_int_equal(l.cong.cwnd, 20);
	assert_int_equal(l.cong.ssthresh, 20);
	assert_int_equal(l.tx, seq + 4);
	post(&h[1], 1, 0);
	for (i = 0; i < 16; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	post(&h[2], 1, 0);
	seq = l.tx + 1;
	rcv(BUT(answer_to(OAE_REFLECT, seq + 1), f.ack -= 2));
	assert_null(offered(seq));
	post(&h[3], 1, 0);
	reflect(seq + 2);
	assert_non_null(offered(seq));
}

/* So is a slice that LAST has overtaken. */
OVERTAKEN_TEST(test_slice)
{
	post(&h[1], 3, 0);
	ack_number(1, 5);
	assert_int_equal(offered(1)->slices, 2);
	assert_int_equal(l.cong.cwnd, 10);
	reflect_late(1);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(l.cong.cwnd, 20);

	/* From now on it takes 16 numbers, too, or an answer to ASK. */
	post(&h[2], 18, 0);
	ack_number(2, PART(2, 16));
	assert_int_equal(offered(2)->slices, 3);
	reflect_late(2);
	post(&h[3], 3, 0);
	rcv(BUT(answer_to(OAE_ACK, 3), f.have = 1, f.ack--));
	assert_int_equal(a.nsends, 0);
	ack_number(3, 5);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_ASK)->frame.seq, 3);
	/* Once: its answer tells. */
	rcv(BUT(answer_to(OAE_ACK, 3), f.have = 5, f.ack--));
	assert_int_equal(a.nsends, 0);
	ack_number(3, 5);
	assert_int_equal(offered(3)->slices, 2);
}

/* So it is if the answer comes before it was offered again, since that waits. */
OVERTAKEN_TEST(test_before)
{
	post_some(1, 6);
	refuse_number(1, OAE_R_BUSY);
	reflect(3);
	reflect(4);
	reflect(5);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.cong.cwnd, 10);
	reflect(2);
	assert_int_equal(oae_lane(&l, 2)->state, OAE_OFFER_REFLECTED);
	assert_int_equal(l.cong.cwnd, 20);
}

/* What was overtaken in a run says nothing of the next one, which offers it anew. */
OVERTAKEN_TEST(test_run_before)
{
	u32 seq = pass_first();

	anew_wide();
	reflect_late(seq);
	assert_int_equal(l.cong.cwnd, 10);
	assert_false(l.number.reorder);
}

/* Nor does what was lost, and had to wait until then. */
OVERTAKEN_TEST(test_waited_in_run_before)
{
	post_some(1, 6);
	refuse_number(1, OAE_R_BUSY);
	reflect(3);
	reflect(4);
	reflect(5);
	anew_wide();
	reflect(1);
	reflect(2);
	assert_false(l.number.reorder);
}

/* A later loss counts. */
OVERTAKEN_TEST(test_lost_after)
{
	u32 seq = l.tx + 1;

	post_some(1, 4);
	post(&h[5], 3, 0);
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.ack = 4));
	assert_int_equal(l.cong.cwnd, 20);
	fire_at(now + oae_link_pto(&l));
	ack_number(seq + 4, 4);
	assert_int_equal(l.cong.cwnd, 10);
}

/* What was lost with it was lost: so it stays, whichever answer comes first. */
OVERTAKEN_TEST(test_and_lost)
{
	unsigned int what;

	for (what = 0; what < 2; what++) {
		setup(state);
		post_some(1, 6);
		reflect(3);
		reflect(4);
		reflect(5);
		if (what) {
			fire_at(now + oae_link_pto(&l));
			assert_int_equal(sent(OAE_ASK)->frame.seq, 1);
			ack_number(1, 0);
		} else {
			/* Its repeat was heard. */
			reflect(1);
		}
		/* That repeat is another loss. */
		reflect_late(2);
		assert_int_equal(l.cong.cwnd, what ? 5 : 10);
	}
}

/* The first slice of those sent again was heard, if not the last: it was lost. */
OVERTAKEN_TEST(test_first_of_several)
{
	post(&h[1], 3, 0);
	ack_number(1, 4);
	assert_int_equal(offered(1)->slices, 3);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.ack--));
	assert_int_equal(l.cong.cwnd, 10);
	assert_false(l.number.reorder);
}

/* That there is no room now says nothing of a loss. */
OVERTAKEN_TEST(test_refused)
{
	u32 seq = pass_first();

	refuse_number(seq, OAE_R_BUSY);
	assert_int_equal(l.cong.cwnd, 10);
	assert_int_equal(l.cong.undo, 20);
}

/* A window that has grown beyond what it was stays as it is. */
OVERTAKEN_TEST(test_grown)
{
	u32 seq = pass_first();

	l.cong.cwnd = 30;
	reflect_late(seq);
	assert_int_equal(l.cong.cwnd, 30);
	assert_int_equal(l.cong.undo, 0);
}

UNIT_MAIN("overtaken")
