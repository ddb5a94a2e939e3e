// SPDX-License-Identifier: GPL-2.0
/*
 * Losses among several transactions under way (doc/protocol.md section 4.11): what is lost by
 * its number is sent again, what is missed of a message too; an answer is asked for.
 */
#include "one_window.h"

/* --- what others pass --- */

/* Questions that do nothing else: so many numbers are taken. */
static void questions(unsigned int n)
{
	while (n--) {
		clear();
		oae_link_ask(&l, &a);
	}
}

/* Three later numbers were heard: the last frame goes again. */
WINDOW_TEST(test_passed)
{
	u32 pn;

	post(&h[1], 2, 0);
	post_some(2, 4);
	reflect(2);
	reflect(3);
	assert_int_equal(a.nsends, 0);
	pn = l.number.sent;
	reflect(4);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(offered(1)->frame.flags, 0);
	assert_int_equal(offered(1)->slices, 2);
	assert_int_equal(offered(1)->frame.pn, pn + 1);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	assert_int_equal(noted(OAE_N_STALL), 0);
	/* Its repeat is lost, too: three later than that. */
	post_some(5, 7);
	reflect(5);
	reflect(6);
	assert_null(offered(1));
	reflect(7);
	assert_int_equal(offered(1)->slices, 2);
}

/* An end that settles goes on with what is in flight. */
WINDOW_TEST(test_passed_settling)
{
	post_some(1, 4);
	clear();
	oae_link_settle(&l, now + 1000 * MS, now, &a);
	reflect(2);
	reflect(3);
	reflect(4);
	assert_non_null(offered(1));
}

/* It was heard: so the answer is lost, and is asked for. */
WINDOW_TEST(test_passed_heard)
{
	u16 cwnd;

	post(&h[1], 2, 0);
	post_some(2, 4);
	reflect(2);
	reflect(3);
	cwnd = l.cong.cwnd;
	rcv(BUT(answer_to(OAE_REFLECT, 4), f.map = 1 << 2));
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_ASK)->frame.seq, 1);
	assert_int_equal(noted(OAE_N_ASKED), 1);
	assert_int_equal(noted(OAE_N_REPAIRED), 0);
	assert_in_range(l.cong.cwnd, cwnd, cwnd + 1);
	/* And once more, if ASK or its answer is lost. */
	post_some(5, 7);
	reflect(5);
	reflect(6);
	assert_null(sent(OAE_ASK));
	reflect(7);
	assert_int_equal(sent(OAE_ASK)->frame.seq, 1);
	assert_null(offered(1));
}

/* It is too old for the answer to tell of it. */
WINDOW_TEST(test_passed_long_ago)
{
	unsigned int more;

	for (more = 0; more < 2; more++) {
		open_window(state);
		post_some(1, 1);
		questions(OAE_NUMBER_MAP - 1 + more);
		post_some(2, 2);
		reflect(2);
		assert_int_equal(!!sent(OAE_ASK), more);
		assert_int_equal(!!offered(1), !more);
	}
}

/* A refusal passes what was offered before, too, and so does what slices are missing. */
WINDOW_TEST(test_passed_by_refusals)
{
	post_some(1, 4);
	refuse_number(2, OAE_R_TOO_BIG);
	refuse_number(3, OAE_R_TOO_BIG);
	assert_null(offered(1));
	refuse_number(4, OAE_R_TOO_BIG);
	assert_non_null(offered(1));
}

/* Nor does what passes wait for another event if it is offered again itself. */
WINDOW_TEST(test_passed_at_once)
{
	post_some(1, 3);
	post(&h[4], 2, 0);
	reflect(2);
	reflect(3);
	ack_number(4, 2);
	assert_non_null(offered(4));
	assert_non_null(offered(1));

	open_window(state);
	post_some(1, 4);
	reflect(2);
	reflect(3);
	ready();
	refuse_number(4, OAE_R_BUSY);
	assert_non_null(offered(4));
	assert_non_null(offered(1));
}

/* What was offered before it passes nothing. */
WINDOW_TEST(test_not_passed)
{
	post_some(1, 4);
	reflect(1);
	reflect(2);
	reflect(3);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.tx, 3);
}

/* With a window of one a number is passed by other questions. */
TEST(test_passed_window_of_one)
{
	unsigned int heard;

	for (heard = 0; heard < 2; heard++) {
		open_wide(PLACES, 1);
		lend();
		post(&h[1], 3, 0);
		questions(3);
		/* An old one. */
		rcv(BUT(answer_to(OAE_ACK, 1), f.ack = l.number.sent, f.map = heard ? 1 << 2 : 0,
			f.have = 1, f.marks = 0));
		assert_int_equal(offered(1)->slices, 6);
	}
}

/* --- what is asked for --- */

/* Progress below is progress: the probe timeout begins anew. */
WINDOW_TEST(test_asks_later)
{
	u64 pto = oae_link_pto(&l);

	post_some(1, 2);
	now += pto - 1;
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.marks = 0));
	fire_at(now + pto - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(now + 1);
	assert_int_equal(sent(OAE_ASK)->frame.seq, 2);
	assert_int_equal(a.nsends, 1);

	/* So it is by an answer that another has overtaken. */
	open_window(state);
	post_some(1, 3);
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.marks = 0));
	now += pto - 1;
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.marks = 0));
	assert_int_equal(l.tx, 2);
	fire_at(now + pto - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(now + 1);
	assert_int_equal(sent(OAE_ASK)->frame.seq, 3);
}

/* Answers come: a number that was offered long ago has its time once it is the next. */
WINDOW_TEST(test_patience)
{
	u64 pto = oae_link_pto(&l);
	unsigned int i;

	post_some(1, 2);
	for (i = 1; i <= 63; i++) {
		fire_at(now + pto / 2);
		questions(1);
		rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent, f.map = ~0U));
		if (i == 31)
			rcv(BUT(answer_to(OAE_REFLECT, 1), f.marks = 0));
	}
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + pto / 2);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Nothing was answered: the timer asks what is there of the next number. */
static void ask_next(void)
{
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(sent(OAE_ASK)->frame.seq, l.tx + 1);
	assert_null(sent(OAE_OFFER));
}

/* What the answer shows to be lost makes the window smaller, and no REFLECT undoes that. */
WINDOW_TEST(test_asked_lost)
{
	u16 before = l.cong.cwnd, after;

	post(&h[1], 3, 0);
	ask_next();
	assert_int_equal(l.cong.cwnd, before);
	ack_number(1, 4);
	assert_int_equal(offered(1)->slices, 3);
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	after = l.cong.cwnd;
	assert_in_range(after, before / 2, before - 1);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.ack = oae_lane(&l, 1)->pn - 2));
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(l.cong.cwnd, after);
}

/* The answer was lost, or is late: of the offer nothing was. */
WINDOW_TEST(test_asked_reflected)
{
	u16 before = l.cong.cwnd;

	post_some(1, 1);
	ask_next();
	reflect(l.tx + 1);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(l.cong.cwnd, before);
}

/* Nothing of it is there: what was sent goes again, and no more. */
WINDOW_TEST(test_asked_all_lost)
{
	l.cong.cwnd = 8;
	l.cong.ssthresh = 8;
	post(&h[1], 40, 0);
	assert_int_equal(offered(1)->slices, PART(0, 8));
	ask_next();
	ack_number(1, 0);
	/* The network bears fewer. */
	assert_int_equal(offered(1)->slices, PART(0, l.cong.cwnd));
	assert_in_range(l.cong.cwnd, 4, 7);
}

/* An ACK that has heard neither what was sent last nor ASK is about what was sent before. */
WINDOW_TEST(test_old_ack)
{
	struct oae_frame f;

	post(&h[1], 3, 0);
	rcv(BUT(answer_to(OAE_ACK, 1), f.have = 3, f.ack--));
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_int_equal(a.nsends, 0);
	ask_next();
	rcv(BUT(answer_to(OAE_ACK, 1), f.have = 3, f.ack -= 2));
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_int_equal(a.nsends, 0);
	/* ASK was lost: LAST may have overtaken what is missing. */
	f = BUT(answer_to(OAE_ACK, 1), f.have = 4, f.ack--);
	rcv(f);
	assert_non_null(offered(1));
	assert_true(oae_lane(&l, 1)->repeated);
	rcv(f);
	assert_int_equal(a.nsends, 0);
	ask_next();
	f = BUT(answer_to(OAE_ACK, 1), f.have = 4);
	rcv(f);
	assert_false(oae_lane(&l, 1)->repeated);
	assert_non_null(offered(1));
	rcv(f);
	assert_int_equal(a.nsends, 0);
	/* Of another kind. */
	rcv(BUT(answer_to(OAE_ACK, 1), f.kind = OAE_VOID));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(a.nsends, 0);
}

/* Another digest than that of what was offered: the next run has all of it, without RESUME. */
WINDOW_TEST(test_mismatch)
{
	post(&h[1], 20, 0);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.reflect.digest++));
	assert_int_equal(noted(OAE_N_MISMATCH), 1);
	assert_null(op(OAE_OP_COMPLETE));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_int_equal(offered(1)->slices, PART(0, 10));
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
}

/* However often a slice is repeated. */
WINDOW_TEST(test_repeats_for_ever)
{
	unsigned int i;

	post_some(1, 1);
	post(&h[2], 3, 0);
	for (i = 0; i < 300; i++) {
		now += MS;
		ack_number(2, 4);
		assert_int_equal(offered(2)->slices & ~3ULL, 0);
	}
	assert_int_equal(l.state, OAE_OPEN);
}

UNIT_MAIN("what is lost")
