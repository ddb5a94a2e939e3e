// SPDX-License-Identifier: GPL-2.0
/*
 * What is taken to be a frame that went by a path, and a loss there (doc/protocol.md section
 * 4.14, Loss). Whether there are too many is tested in test_path_loss.c, what was late or
 * overtaken, and so not lost, in test_path_late.c and test_path_overtaken.c.
 */
#include "one_watched.h"

/* The same, before the link takes it. */
static void watch(struct oae_frame f)
{
	oae_watch_heard(&ps, 0, &l, &f, now);
}

WATCH_TEST(test_frames)
{
	oae_watch_offered(&ps, &l, 3);
	oae_watch_offered(&ps, &l, 1);
	assert_int_equal(out->sent, 4);
	now += MS;
	hear(0, slice(1, 0, OAE_F_LAST));
	assert_int_equal(in->sent, 1);
	assert_int_equal(ps.watch.heard_at, now);
	/* Of another run, by another path, or no offer. */
	hear(0, BUT(slice(1, 0, OAE_F_LAST), f.dst_ltag++));
	hear(1, slice(1, 0, OAE_F_LAST));
	hear(0, frame(OAE_DONE));
	/* Far above what may come. */
	hear(0, BUT(slice(1, 0, OAE_F_LAST), f.seq += 64));
	assert_int_equal(in->sent, 1);
	assert_int_equal(in->lost + out->lost, 0);
	/* That of the other one. */
	ps.used = 1;
	oae_watch_offered(&ps, &l, 1);
	assert_int_equal(out->sent, 4);
	assert_int_equal(ps.path[1].loss.way[OAE_LOSS_OUT].sent, 1);
}

WATCH_TEST(test_window_shrinks)
{
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 0);
	l.recover += 5;
	l.ssthresh = 9;
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	assert_int_equal(out->peak, 18);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	/* Another run has another. */
	l.recover += 5;
	stepped(OAE_SYNC_RECD);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	/* A path that has just been taken into use, within a run. */
	l.recover += 5;
	ps.watch.mixed_at = now - KEEPALIVE / 4 + 1;
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	/* By another processor, whose clock is behind. */
	l.recover += 5;
	ps.watch.mixed_at = now + 1;
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	l.recover += 5;
	ps.watch.mixed_at = now - KEEPALIVE / 4;
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	/* In the next run nothing of this one is taken. */
	ps.path[1].good = true;
	ps.path[1].proven = true;
	assert_true(oae_path_failed(&ps, 0, &l, now));
	l.recover += 5;
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	assert_int_equal(ps.path[1].loss.way[OAE_LOSS_OUT].lost, 0);
	ps.used = 0;
	stepped(OAE_SYNC_RECD);
	l.recover += 5;
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 3);
	/* The link had no paths yet. */
	l.recover += 5;
	oae_paths_init(&ps, &l, 1500, true, now);
	now += KEEPALIVE;
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 0);
}

/* The offer was lost, or its reflection. */
WATCH_TEST(test_repeats)
{
	/* The first of two slices is here. */
	hear(0, slice(1, 0, 0));
	assert_int_equal(in->lost, 0);
	hear(0, BUT(slice(2, 1, OAE_F_LAST), f.slice = 1));
	assert_int_equal(in->lost, 1);
	/* Once for all that was under way. */
	hear(0, slice(3, 0, 0));
	assert_int_equal(in->lost, 1);
	two(NULL);
	/* Not one is here. */
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 1);
	assert_non_null(sent(OAE_REFLECT));
	two(NULL);
	/* All are. */
	hear(0, slice(1, 0, OAE_F_LAST));
	hear(0, slice(1, 0, OAE_F_LAST));	/* doubled on its way */
	assert_int_equal(in->lost, 0);
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 0);
	hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
	assert_int_equal(in->lost, 1);
	/* The next number is another loss. */
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 2);
	two(NULL);
	/* It did not wait for the answer: this end was slow. */
	l.srtt = 2 * MS;
	hear(0, slice(1, 0, OAE_F_LAST));
	now -= MS / 100;	/* the clock of another processor */
	watch(slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 0);
	now += MS + MS / 100 - 1;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(ps.watch.again_by, OAE_PATHS_MAX);
	now += MS;
	hear(0, slice(3, 0, OAE_F_LAST));
	assert_int_equal(ps.watch.again_by, 0);
}

WATCH_TEST(test_no_repeats)
{
	struct oae_hold *h = &l.hold;

	/* Something else under the same number. */
	hear(0, BUT(slice(2, 0, OAE_F_LAST), f.kind = OAE_VOID, f.length = 0));
	assert_int_equal(in->lost, 0);
	two(NULL);
	*h = (struct oae_hold){ .state = OAE_HOLD_HELD, .attempt = 1, .kind = OAE_PACK };
	watch(BUT(slice(2, 0, OAE_F_LAST), f.kind = OAE_PACK));
	watch(BUT(slice(2, 0, OAE_F_LAST), f.kind = OAE_MESSAGE));
	/* It was refused, or reversed. */
	h->state = OAE_HOLD_REFUSED;
	watch(BUT(slice(2, 0, OAE_F_LAST), f.tx = l.rx));
	h->state = OAE_HOLD_REVERSED;
	watch(BUT(slice(2, 0, OAE_F_LAST), f.tx = l.rx));
	/* And has come again since, and is doubled on its way. */
	*h = (struct oae_hold){ .state = OAE_HOLD_HELD, .attempt = 2, .kind = OAE_MESSAGE };
	watch(BUT(slice(2, 0, OAE_F_LAST), f.tx = l.rx));
	/* There is no place for it. */
	*h = (struct oae_hold){ .state = OAE_HOLD_NONE, .attempt = 1 };
	watch(BUT(slice(2, 0, OAE_F_LAST), f.seq++));
	assert_int_equal(in->lost, 0);
	watch(BUT(slice(2, 0, OAE_F_LAST), f.tx = l.rx));
	assert_int_equal(in->lost, 1);
}

/* What the run before has begun is offered by its last slice first. */
WATCH_TEST(test_resumed)
{
	hear(0, slice(1, 0, 0));
	anew();
	stepped(OAE_SYNC_RECD);
	hear(0, slice(1, 1, OAE_F_LAST | OAE_F_RESUME));
	hear(0, slice(2, 0, 0));
	assert_int_equal(in->lost, 0);
	/* What is new is not. */
	l.rx++;
	memset(&l.hold, 0, sizeof(l.hold));
	hear(0, slice(2, 0, 0));
	assert_int_equal(in->lost, 1);
}

WATCH_TEST(test_gaps)
{
	struct oae_frame f;

	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	f = BUT(answer(OAE_REFUSE), f.reason = OAE_R_GAP, f.gap_map = 2);
	watch(f);
	assert_int_equal(out->lost, 1);
	/* The same loss. */
	watch(f);
	assert_int_equal(out->lost, 1);
	ps.watch.out_to = l.tx;
	watch(BUT(answer(OAE_REFUSE), f.reason = OAE_R_BUSY, f.gap_map = 2));
	watch(BUT(answer(OAE_REFUSE), f.reason = OAE_R_GAP, f.gap_map = 2, f.seq++));
	l.offer.p.kind = OAE_VERB;
	watch(f);
	assert_int_equal(out->lost, 1);
	l.offer.p.kind = OAE_MESSAGE;
	/* One that the run before has offered. */
	oae_watch_begin(&ps, &l);
	watch(f);
	assert_int_equal(out->lost, 1);
}

/* What was not sent was not lost; nor may be what a reminder finds missing. */
WIDE_TEST(test_gap_parts)
{
	struct oae_lane *n;
	struct oae_frame g;

	l.burst = 4;
	post(&x, 10, 0);
	n = oae_first_lane(&l);
	assert_true(n->unseen == 7);
	oae_watch_offered(&ps, &l, 4);
	g = BUT(answer_back(OAE_REFUSE, OAE_R_GAP, 0), f.gap_map = 0x1f8);
	watch(g);
	assert_int_equal(out->lost, 0);
	/* Of what was sent one is missing. */
	watch(BUT(g, f.gap_map |= 4));
	assert_int_equal(out->lost, 1);
	ps.watch.out_to = l.tx;
	n->reminded = 1;
	watch(g);
	assert_int_equal(out->lost, 1);
	assert_int_equal(ps.watch.out_to, l.tx + 1);
}

static void part(u8 attempt, u16 from, u16 to, u8 last, u8 flags)
{
	for (; from <= to; from++)
		hear(0, slice(attempt, from, flags));
	hear(0, slice(attempt, last, flags | OAE_F_LAST));
}

/* The next part is no loss; it is one if it fills a hole, or there was too little of a part. */
WIDE_TEST(test_parts)
{
	part(1, 0, 2, 9, 0);
	part(2, 3, 5, 9, OAE_F_RESUME);
	assert_int_equal(in->lost, 0);
	part(3, 7, 7, 9, OAE_F_RESUME);
	assert_int_equal(in->lost, 0);
	hear(0, slice(4, 6, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	wide(state);
	part(1, 0, 1, 9, 0);
	part(2, 2, 4, 9, OAE_F_RESUME);
	assert_int_equal(in->lost, 1);

	/* So few are sent at once. */
	wide(state);
	part(1, 0, 1, 3, 0);
	hear(0, slice(2, 2, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	/* LAST is missing: nobody asked for more. */
	wide(state);
	hear(0, slice(1, 0, 0));
	hear(0, slice(1, 1, 0));
	hear(0, slice(1, 2, 0));
	hear(0, slice(2, 9, OAE_F_RESUME | OAE_F_LAST));
	assert_int_equal(in->lost, 1);
}

/* LAST with RESUME has asked for room: the rest was not sent. */
WIDE_TEST(test_asked)
{
	hear(0, slice(1, 1, OAE_F_RESUME | OAE_F_LAST));
	hear(0, slice(2, 0, OAE_F_RESUME));
	assert_int_equal(in->lost, 0);

	/* That came, and another one did not. */
	wide(state);
	hear(0, slice(1, 2, OAE_F_RESUME | OAE_F_LAST));
	hear(0, slice(2, 0, OAE_F_RESUME));
	hear(0, slice(3, 1, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	wide(state);
	hear(0, slice(1, 1, OAE_F_LAST));
	hear(0, slice(2, 0, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	/* It was asked twice: the answer was lost. */
	wide(state);
	hear(0, slice(1, 1, OAE_F_RESUME | OAE_F_LAST));
	hear(0, slice(2, 1, OAE_F_RESUME | OAE_F_LAST));
	hear(0, slice(3, 0, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	/* LAST has overtaken: it was no question. */
	wide(state);
	hear(0, slice(1, 2, OAE_F_RESUME | OAE_F_LAST));
	hear(0, slice(1, 1, OAE_F_RESUME));
	hear(0, slice(2, 0, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);

	/* It is no question without LAST. */
	wide(state);
	hear(0, slice(1, 0, OAE_F_RESUME));
	hear(0, slice(2, 1, OAE_F_RESUME | OAE_F_LAST));
	assert_int_equal(in->lost, 1);
}

/* A peer without a window sends no parts. */
WATCH_TEST(test_no_parts)
{
	part(1, 0, 2, 9, 0);
	hear(0, slice(2, 3, OAE_F_RESUME));
	assert_int_equal(in->lost, 1);
}

/* The window shrinks for what is known by a GAP, and slices miss that a loss is known of. */
WIDE_TEST(test_gap_shrinks)
{
	u32 before = l.recover;

	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_not_equal(l.recover, before);
	assert_int_equal(out->lost, 1);
	wide(NULL);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	l.recover = l.tx + l.given;
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	watch(answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 1);
	/* In a new run it shrinks for what the run before had offered. */
	wide(NULL);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	oae_watch_begin(&ps, &l);
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 1);
}

UNIT_MAIN("path_watch")
