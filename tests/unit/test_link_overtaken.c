// SPDX-License-Identifier: GPL-2.0
/*
 * What later numbers passed, and was taken for lost, had only been overtaken (doc/protocol.md
 * section 4.11): the window is what it was, and more have to pass the next.
 */
#include "one_window.h"

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

/* A lane was overtaken, not lost: the window is what it was, and it takes more to pass. */
WINDOW_TEST(test_overtaken)
{
	u8 cwnd, ssthresh;
	unsigned int i;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	ssthresh = l.ssthresh;
	seq = pass_first();
	assert_int_equal(l.cwnd, cwnd / 2);
	assert_int_equal(oae_window_passed(&l), 3);
	reflect_late(seq);
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(l.ssthresh, ssthresh);
	assert_int_equal(l.tx, seq + 3);
	/* Half of the window, at most. */
	assert_int_equal(oae_window_passed(&l), cwnd / 2);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 6);
	l.cwnd = PLACES;
	post_some(1, 5);
	seq = l.tx + 1;
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	assert_null(sent(OAE_OFFER));
	reflect(seq + 4);
	assert_non_null(offered(seq));
	/* Two of them. */
	reflect(seq);
	l.cwnd = PLACES;
	l.room_to = l.tx + PLACES;
	seq = l.tx + 1;
	post_some(1, 6);
	cwnd = l.cwnd;
	for (i = 2; i < 6; i++) {
		reflect(seq + i);
		assert_int_equal(!!offered(seq), i == 4);
		assert_int_equal(!!offered(seq + 1), i == 5);
	}
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq);
	assert_int_equal(l.cwnd, cwnd);
	port_down();
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 3);
}

/* So it is if the answer comes before it was offered again, since that waits. */
WINDOW_TEST(test_overtaken_before)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 6);
	seq = l.tx + 1;
	refuse_number(seq, OAE_R_BUSY);
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect(seq + 1);
	assert_int_equal(oae_lane(&l, seq + 1)->state, OAE_OFFER_REFLECTED);
	assert_int_equal(l.cwnd, cwnd);
}

/* What several are overtaken by at once, is doubled once. */
WINDOW_TEST(test_overtaken_several)
{
	unsigned int i;
	u32 seq;

	grow();
	post_some(1, 7);
	seq = l.tx + 1;
	for (i = 4; i < 7; i++)
		reflect(seq + i);
	for (i = 0; i < 4; i++)
		assert_true(oae_lane(&l, seq + i)->repeated);
	for (i = 0; i < 4; i++)
		reflect_late(seq + i);
	assert_int_equal(l.reorder, 6);
}

/* What seemed to be lost in a wider run does not make the next one wider than it is. */
WINDOW_TEST(test_overtaken_wider_run)
{
	u32 seq;

	grow();
	l.burst = OAE_PART_LEAST;
	post_some(1, 4);
	l.cwnd = 3;
	for (seq = l.tx + 2; seq <= l.tx + 4; seq++)
		reflect(seq);
	assert_int_equal(l.cwnd, 1);
	assert_int_equal(l.undo_cwnd, 3);
	renamed();
	rcv(BUT(resolved(), f.tx = PEER_START, f.sync.caps = 2 - 1));
	assert_int_equal(l.win, 2);
	while (l.nlanes) {
		reflect(l.tx + 1);
		l.cwnd = 1;
	}
	post(&y, 2, 0);
	seq = l.tx + 1;
	/* It cannot go lower. */
	ack_number(seq, 2);
	reflect_late(seq);
	assert_in_range(l.cwnd, 1, l.win);
}

/* Nor does an answer in the next run, though it is the first that is offered there. */
WINDOW_TEST(test_overtaken_run_before)
{
	unsigned int i;
	u32 seq;

	grow();
	post_some(1, PLACES);
	seq = l.tx + 1;
	for (i = 5; i < 8; i++)
		reflect(seq + i);
	assert_true(oae_lane(&l, seq + 4)->repeated);
	anew_wide();
	l.cwnd = PLACES;
	do {
		clear();
		oae_link_pump(&l, now, &a);
	} while (oae_link_more(&l));
	for (i = 1; i < 4; i++)
		reflect(seq + i);
	assert_int_equal(l.cwnd, PLACES / 2);
	reflect_late(seq + 4);
	assert_int_equal(l.cwnd, PLACES / 2);
	assert_int_equal(l.reorder, 0);
}

/* A later loss in the same window counts. */
WINDOW_TEST(test_lost_after_overtaken)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 4);
	post(&h[5], 3, 0);
	seq = l.tx + 1;
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	reflect_late(seq);
	assert_int_equal(l.cwnd, cwnd);
	ack_number(seq + 4, 4);
	assert_int_equal(l.cwnd, cwnd / 2);
}

/* The network has shown that it bears the run's window, not more: half of that remains. */
WINDOW_TEST(test_window_is_all)
{
	unsigned int i;

	for (i = 0; i < 2 * OAE_WINDOW_MAX; i++) {
		post(&x, 1, 0);
		reflect(l.tx + 1);
		l.room_to = l.tx + OAE_WINDOW_MAX;
	}
	assert_int_equal(l.cwnd, PLACES);
	pass_first();
	assert_int_equal(l.cwnd, PLACES / 2);
}

/* It was no guess alone: half of the window remains, once that is known. */
WINDOW_TEST(test_overtaken_and_lost)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 6);
	seq = l.tx + 1;
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq + 1);
	assert_int_equal(l.cwnd, cwnd);
	/* The repeat was heard. Five are committed. */
	reflect(seq);
	assert_int_equal(l.cwnd, cwnd / 2 + 1);
	assert_int_equal(l.undo_cwnd, 0);
}

/* The same if the answer to what was offered again is the first to come. */
WINDOW_TEST(test_lost_and_overtaken)
{
	unsigned int i;
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 6);
	seq = l.tx + 1;
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	reflect(seq);
	reflect_late(seq + 1);
	assert_in_range(l.cwnd, cwnd / 2, cwnd / 2 + 1);

	/* Or if the answer to ASK tells of the loss. */
	open_window(state);
	grow();
	post_some(1, 6);
	seq = l.tx + 1;
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(sent(OAE_ASK)->frame.seq, seq);
	ack_number(seq, 0);
	reflect_late(seq + 1);
	assert_int_equal(l.cwnd, cwnd / 2);

	/* Or if one is the least already. */
	open_window(state);
	l.cwnd = 2;
	l.room_to = l.tx + PLACES;
	for (i = 1; i <= 6; i++) {
		post(&h[i], 1, 0);
		l.cwnd = PLACES;
		clear();
		oae_link_pump(&l, now, &a);
	}
	l.cwnd = 2;
	seq = l.tx + 1;
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	assert_int_equal(l.cwnd, 1);
	assert_int_equal(l.undo_cwnd, 2);
	reflect(seq);
	assert_int_equal(l.undo_cwnd, 0);
}

/* That there is no room now says nothing of a loss. */
WINDOW_TEST(test_guessed_and_refused)
{
	u32 seq;

	grow();
	seq = pass_first();
	refuse_number(seq, OAE_R_BUSY);
	assert_int_equal(l.undo_cwnd, PLACES);
}

/* A lane that is repaired is no second loss. */
WINDOW_TEST(test_repaired)
{
	u8 cwnd;

	grow();
	cwnd = l.cwnd;
	reflect(pass_first());
	assert_in_range(l.cwnd, cwnd / 2, cwnd / 2 + 1);

	/* Nor where there is no less than one. */
	l.cwnd = 1;
	post(&h[1], 20, 0);
	oae_lane(&l, l.tx + 1)->repeated = true;
	l.recover = l.tx;
	reflect(l.tx + 1);
	assert_int_equal(l.burst, OAE_MAX_SLICES);
}

/* The last frame has overtaken a slice, so ACK came; then all of it is answered. */
WINDOW_TEST(test_last_overtakes)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post(&h[1], 3, 0);
	seq = l.tx + 1;
	ack_number(seq, 5);
	assert_int_equal(offered(seq)->slices, 2);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(l.cwnd, cwnd);

	/* The slice that was missing was heard: it was lost. */
	post(&h[1], 3, 0);
	seq = l.tx + 1;
	ack_number(seq, 5);
	reflect(seq);
	assert_in_range(l.cwnd, cwnd / 2, cwnd / 2 + 1);

	/* Of several the first was heard, if not the last. */
	l.cwnd = cwnd;
	l.recover = l.tx;
	post(&h[1], 3, 0);
	seq = l.tx + 1;
	ack_number(seq, 4);
	assert_int_equal(offered(seq)->slices, 3);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.ack--));
	assert_in_range(l.cwnd, cwnd / 2, cwnd / 2 + 1);
}

/* The last overtakes, and one may be under way: the part does not stay small. */
WINDOW_TEST(test_last_overtakes_one)
{
	l.cwnd = 1;
	l.burst = 20;
	l.burst_thresh = 10;
	post(&x, 16, 0);
	ack_number(l.tx + 1, PART(0, 16) & ~2ULL);
	assert_int_equal(l.burst, 8);
	reflect_late(l.tx + 1);
	assert_int_equal(l.burst, 20);
	assert_int_equal(l.burst_thresh, 20);
}

/* With one under way another lane loses slices: the loss before is a guess still. */
WINDOW_TEST(test_guess_of_slices)
{
	u32 seq = l.tx + 1;

	l.cwnd = 2;
	post(&h[0], 3, 0);
	post(&h[1], 20, 0);
	ack_number(seq, 6);
	assert_int_equal(l.cwnd, 1);
	ack_number(seq + 1, PART(0, 20) & ~2ULL);
	ack_number(seq + 1, PART(0, 20) & ~2ULL);
	assert_int_equal(l.undo_cwnd, 2);
	reflect_late(seq + 1);
	assert_int_equal(l.cwnd, 2);
}

/* Twice as many as it took with the window of then; and never fewer than before. */
WINDOW_TEST(test_overtaken_more)
{
	u32 seq;

	grow();
	l.reorder = 4;
	post_some(1, PLACES);
	seq = l.tx + 1;
	for (unsigned int i = 1; i <= 4; i++)
		reflect(seq + i);
	assert_non_null(offered(seq));
	reflect_late(seq);
	assert_int_equal(l.cwnd, PLACES);
	assert_int_equal(l.reorder, PLACES);

	open_window(state);
	l.reorder = 32;
	reflect_late(pass_first());
	assert_int_equal(l.reorder, 32);

	/* There is a limit. */
	open_window(state);
	seq = pass_first();
	l.undo_cwnd = OAE_WINDOW_MAX;
	l.reorder = 20;
	reflect_late(seq);
	assert_int_equal(l.reorder, 24);
}

/* What the peer said before it was offered again tells nothing. */
WINDOW_TEST(test_not_overtaken)
{
	u8 cwnd;
	u32 seq;

	grow();
	seq = pass_first();
	cwnd = l.cwnd;
	rcv(BUT(answer_to(OAE_ACK, seq), f.ack--));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(l.cwnd, cwnd);
}

UNIT_MAIN("overtaken")
