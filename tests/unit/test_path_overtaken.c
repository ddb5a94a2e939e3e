// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes that were taken to be lost since others overtook them, and lanes that were lost beside
 * those (doc/protocol.md section 4.14, Loss).
 */
#include "one_watched.h"

static bool told(struct oae_frame f)
{
	return oae_watch_heard(&ps, 0, &l, &f, now);
}

/* A lane is passed by others, and offered again for that. */
static void pass(void)
{
	unsigned int i;

	wide(NULL);
	l.cwnd = PLACES;
	for (i = 0; i < 4; i++)
		post(&h[i], 1, 0);
	oae_watch_offered(&ps, &l, 4);
	out->lost = 1;
	for (i = 1; i < 4; i++)
		hear(0, BUT(answer(OAE_REFLECT), f.seq = l.tx + 1 + i, f.attempt = 1));
	assert_int_equal(oae_first_lane(&l)->attempt, 2);
	assert_int_equal(out->lost, 2);
}

/* It was overtaken: nothing was lost, which the peer is told. */
WIDE_TEST(test_overtaken)
{
	pass();
	assert_true(told(answer_back(OAE_REFLECT, 0, 1)));
	assert_int_equal(out->lost, 1);
	/* Once, though the link has not taken the frame. */
	assert_true(told(answer_back(OAE_REFLECT, 0, 1)));
	assert_int_equal(out->lost, 1);
	pass();
	/* Slices miss: it was lost. */
	assert_false(told(answer_back(OAE_REFUSE, OAE_R_GAP, 1)));
	assert_int_equal(out->lost, 2);
	pass();
	assert_false(told(answer_back(OAE_REFLECT, 0, 0)));
	assert_int_equal(out->lost, 2);
	/* Something else was lost, too: that is the same loss. */
	pass();
	l.undo_cwnd = 0;
	assert_true(told(answer_back(OAE_REFLECT, 0, 1)));
	assert_int_equal(out->lost, 2);
	/* Two of one window are one loss. */
	pass();
	oae_lane(&l, l.tx + 2)->state = OAE_OFFER_OUT;
	oae_lane(&l, l.tx + 2)->guessed = 1;
	oae_lane(&l, l.tx + 2)->attempt = 2;
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	hear(0, BUT(answer_back(OAE_REFLECT, 0, 1), f.seq++));
	assert_int_equal(out->lost, 1);
	/* It is committed meanwhile, and another has its place. */
	pass();
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_false(told(BUT(answer_back(OAE_REFLECT, 0, 0), f.attempt = 1)));
	assert_int_equal(out->lost, 2);
}

/* Five are offered; a link of 8 has had three losses. */
static void offer_five(void)
{
	unsigned int i;

	l.cwnd = PLACES;
	out->lost = 3;
	for (i = 0; i < 5; i++) {
		post(&h[i], i == 4 ? 3 : 1, 0);
		oae_watch_offered(&ps, &l, 1);
		stepped(OAE_OPEN);
	}
}

static struct oae_frame reflected(u32 seq, u8 attempt)
{
	return BUT(answer_to(OAE_REFLECT, seq), f.attempt = attempt);
}

/* The first attempt of a lane is answered, so many above tx + 1. */
static void reflect_above(unsigned int above)
{
	hear(0, reflected(l.tx + 1 + above, 1));
}

/* A lane that was overtaken is no loss, but had not counted as one either. */
WIDE_TEST(test_overtaken_uncounted)
{
	unsigned int i;

	ps.watch.mixed_at = now;
	offer_five();
	out->peak = 5;
	out->was_peak = 1;
	for (i = 1; i < 4; i++)
		reflect_above(i);
	assert_int_equal(oae_first_lane(&l)->guessed, 1);
	assert_int_equal(out->lost, 3);
	reflect_above(0);
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 3);
	assert_int_equal(out->peak, 5);

	/* Or it was not judged, since the queue may have been full. */
	wide(state);
	offer_five();
	out->judged = false;
	for (i = 1; i < 4; i++)
		reflect_above(i);
	assert_int_equal(out->lost, 3);
	reflect_above(0);
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 3);
}

/* The peer was reminded of what was lost; what is overtaken then is no other loss. */
WIDE_TEST(test_overtaken_beside)
{
	unsigned int i;

	offer_five();
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 3);
	for (i = 2; i < 5; i++)
		reflect_above(i);
	assert_int_equal(oae_lane(&l, l.tx + 2)->guessed, 1);
	reflect_above(1);
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 3);
	out->judged = true;
	hear(0, answer_to(OAE_REFLECT, l.tx + 1));
	assert_int_equal(out->lost, 4);
}

/* One lane was overtaken, and one that seemed to be lost with it is. */
WIDE_TEST(test_overtaken_and_lost)
{
	unsigned int i;

	l.cwnd = 8;
	offer_five();
	out->judged = true;
	for (i = 2; i < 5; i++)
		reflect_above(i);
	assert_int_equal(out->lost, 4);
	reflect_above(1);
	assert_int_equal(out->lost, 3);
	/* What was offered again is answered. */
	out->judged = true;
	hear(0, BUT(answer(OAE_REFLECT), f.seq = l.tx + 1, f.attempt = 2));
	assert_int_equal(out->lost, 4);
	assert_int_equal(l.cwnd, 4);
}

/* A queue that was not full says nothing of how many may be under way. */
WIDE_TEST(test_overtaken_is_judged)
{
	unsigned int i;

	l.cwnd = 8;
	offer_five();
	out->peak = 3;
	out->since = 20;
	for (i = 1; i < 4; i++)
		reflect_above(i);
	assert_int_equal(out->peak, 8);
	assert_int_equal(out->since, 0);
	out->since = 5;
	reflect_above(0);
	assert_int_equal(out->peak, 3);
	assert_int_equal(out->since, 25);
}

/* LAST has overtaken what GAP asks for. */
WIDE_TEST(test_last_overtakes)
{
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->judged = true;
	out->lost = 3;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 4);
	assert_true(told(answer_back(OAE_REFLECT, 0, 1)));
	assert_int_equal(out->lost, 3);

	/* What did not count is not taken back. */
	wide(state);
	post(&x, 3, 0);
	out->lost = 3;
	ps.watch.mixed_at = now;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_true(told(answer_back(OAE_REFLECT, 0, 1)));
	assert_int_equal(out->lost, 3);

	/* It answers a reminder: it may be under way. */
	wide(state);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->judged = true;
	out->lost = 3;
	oae_first_lane(&l)->reminded = 1;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 3);
	assert_int_equal(ps.watch.lost_by, OAE_PATHS_MAX);
}

/* A loss is taken back once, though what does not count is overtaken after it. */
WIDE_TEST(test_taken_back_once)
{
	l.cwnd = 1;
	out->lost = 3;
	out->judged = true;
	post(&x, 3, 0);
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 4);
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 3);
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));

	/* This may be of what the run before had offered. */
	l.cwnd = 1;
	post(&y, 3, 0);
	ps.watch.gap_to = l.tx + 1;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(l.undo_cwnd, 1);
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 3);
}

/* The answer to a slice that came late overtakes the GAP that asked for it. */
WIDE_TEST(test_gap_is_overtaken)
{
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	post(&h[0], 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->judged = true;
	out->lost = 3;
	reflect_above(1);
	hear(0, BUT(answer_back(OAE_REFUSE, OAE_R_GAP, 0), f.seq = l.tx + 2, f.attempt = 1));
	assert_int_equal(out->lost, 3);
}

/* LAST overtakes, and one may be under way: neither the loss nor the smaller part stays. */
WIDE_TEST(test_last_overtakes_one)
{
	l.cwnd = 1;
	l.burst = 20;
	l.burst_thresh = 10;
	post(&x, 16, 0);
	oae_watch_offered(&ps, &l, 16);
	out->judged = true;
	out->lost = 3;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 4);
	assert_int_equal(l.burst, 8);
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 3);
	assert_int_equal(l.burst, 20);
	assert_int_equal(l.burst_thresh, 20);
}

/* A loss of before is not taken back for what is overtaken beside a reminder. */
WIDE_TEST(test_old_loss_stays)
{
	unsigned int i;

	ps.watch.lost_by = 0;
	offer_five();
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 3);
	for (i = 2; i < 5; i++)
		reflect_above(i);
	reflect_above(1);
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 3);
	out->judged = true;
	hear(0, answer_to(OAE_REFLECT, l.tx + 1));
	assert_int_equal(out->lost, 4);

	/* Nor if that before was a guess, and nobody will say what it was. */
	wide(state);
	ps.watch.lost_by = 0;
	ps.watch.lost_counts = true;
	l.undo_cwnd = PLACES;
	offer_five();
	out->judged = true;
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	assert_int_equal(l.undo_cwnd, PLACES);
	told(answer_to(OAE_REFLECT, l.tx + 1));
	assert_int_equal(out->lost, 4);
	assert_int_equal(ps.watch.lost_by, OAE_PATHS_MAX);
}

/* A loss counts after a lane was overtaken. */
WIDE_TEST(test_lost_after_overtaken)
{
	unsigned int i;

	offer_five();
	out->judged = true;
	for (i = 1; i < 4; i++)
		reflect_above(i);
	assert_int_equal(out->lost, 4);
	reflect_above(0);
	assert_int_equal(out->lost, 3);
	out->judged = true;
	hear(0, BUT(answer(OAE_REFUSE), f.seq = l.tx + 1, f.attempt = 1, f.reason = OAE_R_GAP,
		    f.gap_map = 3));
	assert_int_equal(out->lost, 4);
}

/* One lane is offered, or more, of so many slices. */
static void offer(unsigned int from, unsigned int to, unsigned int slices)
{
	for (; from <= to; from++) {
		post(&h[from], slices, 0);
		oae_watch_offered(&ps, &l, slices);
	}
	stepped(OAE_OPEN);
}

/* The slices of a number that are in the map are missing. */
static struct oae_frame gap(u32 seq, u64 map)
{
	return BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = map);
}

/* A lane that was lost beside it, and of which the peer was reminded, counts once. */
WIDE_TEST(test_reminded_beside)
{
	unsigned int i;
	u32 seq;

	l.cwnd = PLACES;
	offer(0, 5, 1);
	out->judged = true;
	seq = l.tx + 1;
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 0);
	for (i = 2; i < 5; i++)
		hear(0, reflected(seq + i, 1));
	assert_int_equal(oae_lane(&l, seq + 1)->guessed, 1);
	hear(0, reflected(seq + 1, 1));
	assert_int_equal(l.undo_cwnd, 0);
	out->judged = true;
	hear(0, reflected(seq, 2));
	assert_int_equal(out->lost, 1);
}

/* A lane that was offered again, and is reflected so, was lost: nothing takes that back. */
WIDE_TEST(test_repaired_stays)
{
	u32 seq = l.tx + 1;

	l.cwnd = 3;
	offer(0, 0, 1);
	offer(1, 2, 3);
	out->judged = true;
	hear(0, gap(seq + 1, 2));
	assert_int_equal(out->lost, 1);
	assert_int_equal(l.cwnd, 1);
	hear(0, reflected(seq + 1, 2));
	assert_int_equal(l.undo_cwnd, 0);

	out->judged = true;
	hear(0, gap(seq + 2, 2));
	hear(0, gap(seq + 2, 2));
	hear(0, gap(seq + 2, 1));
	assert_int_equal(l.undo_cwnd, 1);
	hear(0, reflected(seq + 2, 1));
	hear(0, reflected(seq + 2, 2));
	assert_int_equal(out->lost, 1);
}

/* With one under way another lane loses slices: the loss before is a guess still. */
WIDE_TEST(test_repaired_at_one)
{
	u32 seq = l.tx + 1;

	l.cwnd = 2;
	offer(0, 0, 3);
	offer(1, 1, 20);
	out->judged = true;
	hear(0, gap(seq, 1));
	assert_int_equal(out->lost, 1);
	assert_int_equal(l.cwnd, 1);
	hear(0, gap(seq + 1, 2));
	hear(0, gap(seq + 1, 2));
	assert_int_equal(l.undo_cwnd, 2);
	hear(0, reflected(seq + 1, 2));
	assert_int_equal(l.cwnd, 2);
	/* The first was lost for all that. */
	out->judged = true;
	hear(0, reflected(seq, 2));
	assert_int_equal(out->lost, 1);
}

/* Four lanes are offered by a path, and the first seems to be lost there. */
static void pass_by(unsigned int i)
{
	struct oae_loss_way *way = &ps.path[i].loss.way[OAE_LOSS_OUT];
	u32 seq = l.tx + 1;

	ps.path[i].proven = true;
	ps.used = i;
	l.cwnd = PLACES;
	offer(0, 3, 1);
	way->judged = true;
	hear(i, reflected(seq + 1, 1));
	hear(i, reflected(seq + 2, 1));
	hear(i, reflected(seq + 3, 1));
	assert_int_equal(way->lost, 1);
	assert_int_equal(l.undo_cwnd, PLACES);
}

/* Another path has got the index of the one that was left. */
WIDE_TEST(test_index_used_again)
{
	struct oae_loss_way *way = &ps.path[1].loss.way[OAE_LOSS_OUT];

	pass_by(1);
	oae_path_del(&ps, 1);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	ps.path[1].proven = true;
	ps.used = 1;
	way->lost = 5;
	hear(1, reflected(l.tx + 1, 1));
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(way->lost, 5);
}

/* Nothing of a path that is gone is taken back from another, nor is more forgotten. */
WIDE_TEST(test_forgotten)
{
	struct oae_path_watch *w = &ps.watch;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		w->again_by = i;
		w->asked = i;
		w->lost_by = i;
		oae_path_del(&ps, 1);
		assert_int_equal(w->again_by, i ? OAE_PATHS_MAX : 0);
		assert_int_equal(w->asked, i ? OAE_PATHS_MAX : 0);
		assert_int_equal(w->lost_by, i ? OAE_PATHS_MAX : 0);
	}
}

/* A lane that was overtaken on another path says nothing of the queue of this one. */
WIDE_TEST(test_another_path)
{
	struct oae_loss_way *way = &ps.path[1].loss.way[OAE_LOSS_OUT];

	pass_by(0);
	ps.path[1].proven = true;
	ps.used = 1;
	way->peak = 8;
	way->since = 3;
	hear(1, reflected(l.tx + 1, 1));
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(way->peak, 8);
	assert_int_equal(way->since, 3);
}

UNIT_MAIN("path_overtaken")
