// SPDX-License-Identifier: GPL-2.0
/*
 * What others passed, and was taken for lost, had only been overtaken (doc/protocol.md
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
	assert_int_equal(offered(seq)->frame.attempt, 2);
	return seq;
}

static void reflect_late(u32 seq, u8 attempt)
{
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.attempt = attempt));
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
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(l.ssthresh, ssthresh);
	/* Half of the window, at most. */
	assert_int_equal(oae_window_passed(&l), cwnd / 2);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 6);
	/* Once only. */
	reflect_late(seq, 1);
	assert_int_equal(oae_window_passed(&l), 6);
	reflect(seq);
	assert_int_equal(l.tx, seq + 3);
	l.cwnd = PLACES;
	post_some(1, 5);
	seq = l.tx + 1;
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	assert_null(sent(OAE_OFFER));
	reflect(seq + 4);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	/* Two of them at once. */
	reflect(seq);
	l.cwnd = PLACES;
	l.room_to = l.tx + PLACES;
	seq = l.tx + 1;
	post_some(1, 6);
	cwnd = l.cwnd;
	for (i = 2; i < 6; i++)
		reflect(seq + i);
	assert_non_null(offered(seq));
	assert_non_null(offered(seq + 1));
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
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
	assert_int_equal(oae_lane(&l, seq + 1)->attempt, 1);
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
		assert_int_equal(offered(seq + i)->frame.attempt, 2);
	for (i = 0; i < 4; i++)
		reflect_late(seq + i, 1);
	assert_int_equal(l.reorder, 6);
}

/* An answer that is doubled on its way says nothing of another number. */
WINDOW_TEST(test_overtaken_doubled)
{
	unsigned int i;
	u32 seq;
	u8 cwnd;

	grow();
	cwnd = l.cwnd;
	post_some(1, 8);
	seq = l.tx + 1;
	for (i = 1; i < 4; i++)
		reflect(seq + i);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	l.reorder = 0;
	/* These were offered before the first was again, and so pass the fifth only. */
	for (i = 5; i < 8; i++)
		reflect(seq + i);
	assert_int_equal(oae_lane(&l, seq + 4)->guessed, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
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
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 1));
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, 1);
}

/* Nor does an answer in the next run, though the attempts are counted from one again. */
WINDOW_TEST(test_overtaken_run_before)
{
	unsigned int i;
	u32 seq;

	grow();
	post_some(1, PLACES);
	seq = l.tx + 1;
	for (i = 5; i < 8; i++)
		reflect(seq + i);
	assert_int_equal(oae_lane(&l, seq + 4)->guessed, 1);
	anew_wide();
	l.cwnd = PLACES;
	do {
		clear();
		oae_link_pump(&l, now, &a);
	} while (oae_link_more(&l));
	for (i = 1; i < 4; i++)
		reflect(seq + i);
	assert_int_equal(l.cwnd, PLACES / 2);
	reflect(seq + 4);
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
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 4), f.reason = OAE_R_GAP, f.gap_map = 3));
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
	assert_int_equal(offered(seq)->frame.attempt, 2);
	assert_int_equal(offered(seq + 1)->frame.attempt, 2);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq + 1, 1);
	assert_int_equal(l.cwnd, cwnd);
	/* The second attempt is answered, and the first is not. */
	reflect(seq);
	assert_int_equal(l.cwnd, cwnd / 2);
	assert_int_equal(l.undo_cwnd, 0);
}

/* The same if the answer to what was offered again is the first to come. */
WINDOW_TEST(test_lost_and_overtaken)
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
	reflect(seq);
	reflect_late(seq + 1, 1);
	assert_int_equal(l.cwnd, cwnd / 2);

	/* Or if a reminder tells of the loss. */
	open_window(state);
	grow();
	post(&h[1], 3, 0);
	post_some(2, 6);
	seq = l.tx + 1;
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	oae_lane(&l, seq)->reminded = 1;
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 3));
	reflect_late(seq + 1, 1);
	assert_int_equal(l.cwnd, cwnd / 2);

	/* Or if one is the least already. */
	open_window(state);
	l.cwnd = 2;
	l.room_to = l.tx + PLACES;
	for (unsigned int i = 1; i <= 6; i++) {
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
	oae_lane(&l, l.tx + 1)->guessed = 1;
	oae_lane(&l, l.tx + 1)->attempt = 2;
	l.recover = l.tx;
	reflect(l.tx + 1);
	assert_int_equal(l.burst, OAE_MAX_SLICES);
}

/* LAST has overtaken a slice, so GAP came; then the attempt is answered as it was. */
WINDOW_TEST(test_last_overtakes)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post(&h[1], 3, 0);
	seq = l.tx + 1;
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 2));
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	reflect(seq);
	assert_int_equal(l.cwnd, cwnd);

	/* The answer to a reminder tells of a loss. */
	post(&h[1], 3, 0);
	seq = l.tx + 1;
	oae_lane(&l, seq)->reminded = 1;
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 2));
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
}

static struct oae_frame gap(u32 seq, u64 map)
{
	return BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = map);
}

/* LAST overtakes, and one may be under way: the part does not stay small. */
WINDOW_TEST(test_last_overtakes_one)
{
	l.cwnd = 1;
	l.burst = 20;
	l.burst_thresh = 10;
	post(&x, 16, 0);
	rcv(gap(l.tx + 1, 2));
	assert_int_equal(l.burst, 8);
	reflect_late(l.tx + 1, 1);
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
	rcv(gap(seq, 1));
	assert_int_equal(l.cwnd, 1);
	rcv(gap(seq + 1, 2));
	rcv(gap(seq + 1, 2));
	assert_int_equal(l.undo_cwnd, 2);
	reflect_late(seq + 1, 2);
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
	assert_int_equal(offered(seq)->frame.attempt, 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, PLACES);
	assert_int_equal(l.reorder, PLACES);

	open_window(state);
	l.reorder = 32;
	reflect_late(pass_first(), 1);
	assert_int_equal(l.reorder, 32);
}

/* An answer to what was offered anew for another reason tells nothing. */
WINDOW_TEST(test_not_overtaken)
{
	u8 cwnd;
	u32 seq;

	grow();
	seq = pass_first();
	cwnd = l.cwnd;
	/* GAP: a slice of it did not come. */
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.attempt = 1));
	assert_int_equal(l.cwnd, cwnd);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest++));
	assert_int_equal(offered(seq)->frame.attempt, 3);
	reflect_late(seq, 2);
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(oae_window_passed(&l), 3);
	/* In the next run nothing is known of it. */
	l.dirty = 0;
	assert_int_equal(oae_lane(&l, seq)->guessed, 1);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest++));
	reflect_late(seq, 1);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 3);
	/* Nor of the next content that has its place. */
	for (seq = l.tx + 1; l.nlanes;)
		reflect(l.tx + 1);
	l.room_to = l.tx + OAE_WINDOW_MAX;
	seq = pass_first();
	reflect(seq);
	for (seq += PLACES; l.tx + 5 != seq;) {
		post_some(1, 1);
		reflect(l.tx + 1);
	}
	l.cwnd = PLACES;
	post_some(1, 5);
	for (unsigned int i = 1; i < 4; i++)
		reflect(l.tx + 1 + i);
	assert_int_equal(l.cwnd, PLACES / 2);
	reflect(seq);
	assert_int_equal(l.cwnd, PLACES / 2);
}

UNIT_MAIN("overtaken")
