// SPDX-License-Identifier: GPL-2.0
/*
 * What is taken to be a frame that went by a path, and a loss there (doc/protocol.md section
 * 4.14, Loss). Whether there are too many is tested in test_path_loss.c.
 */
#include "one_link.h"
#include "../../modoae/link/path.h"
#include "../../modoae/link/link_int.h"

#define KEEPALIVE	(100 * MS)
#define PLACES		8

static struct oae_paths ps;
static struct oae_loss_way *out, *in;	/* of the path in use */
static struct oae_pair place[PLACES], *pair[PLACES];
static char many[5];		/* handles */

static void two_paths(void)
{
	oae_paths_init(&ps, &l, 1500, true, now);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	out = &ps.path[0].loss.way[OAE_LOSS_OUT];
	in = &ps.path[0].loss.way[OAE_LOSS_IN];
	/* What was sent before the path was in use does not count any more. */
	now += KEEPALIVE;
}

static int two(void **state)
{
	open_link(state);
	two_paths();
	return 0;
}

/* The same, with a window. */
static int wide(void **state)
{
	unsigned int i;

	one_link(state);
	cfg.window = PLACES;
	new_link();
	clear();
	oae_link_open(&l, now, &a);
	rcv(BUT(frame(OAE_SYNC), f.src_ltag = 0x5000, f.tx = PEER_START,
		f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	memset(place, 0, sizeof(place));
	for (i = 0; i < PLACES; i++)
		pair[i] = &place[i];
	clear();
	oae_link_lend(&l, pair, PLACES, PLACES, now, &a);
	two_paths();
	l.srtt = 2 * MS;
	return 0;
}

#define WATCH_TEST(test)	UNIT_TEST(test, two, NULL)
#define WIDE_TEST(test)		UNIT_TEST(test, wide, NULL)

/* A frame comes by a path, and the link takes it. */
static void hear(unsigned int i, struct oae_frame f)
{
	enum oae_state before = l.state;

	oae_watch_heard(&ps, i, &l, &f, now);
	rcv(f);
	oae_watch_stepped(&ps, &l, before, now);
}

/* The same, before the link takes it. */
static void watch(struct oae_frame f)
{
	oae_watch_heard(&ps, 0, &l, &f, now);
}

static void stepped(enum oae_state before)
{
	oae_watch_stepped(&ps, &l, before, now);
}

WATCH_TEST(test_frames)
{
	oae_watch_offered(&ps, &l, 3);
	oae_watch_offered(&ps, &l, 1);
	assert_int_equal(out->sent, 4);
	hear(0, slice(1, 0, OAE_F_LAST));
	assert_int_equal(in->sent, 1);
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
	assert_int_equal(in->lost, 1);
	/* The next number is another loss. */
	commit(0);
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
	assert_int_equal(in->lost, 0);
	now += MS;
	hear(0, slice(3, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 1);
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

/* An answer to the last offer, or to one so many attempts before. */
static struct oae_frame answer_back(u8 opcode, u16 reason, u8 back)
{
	struct oae_frame f = answer(opcode);

	f.attempt = oae_first_lane(&l)->attempt - back;
	f.reason = reason;
	if (reason == OAE_R_GAP)
		f.gap_map = 2;
	return f;
}

/* What was not sent was not lost; but what a reminder finds missing was. */
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
	assert_int_equal(out->lost, 2);
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

/* Something is offered, and not answered: the peer is reminded. */
static void remind(void)
{
	wide(NULL);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->lost = 1;
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
}

WIDE_TEST(test_reminded)
{
	remind();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	/* It is answered, and nothing else was. */
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(out->lost, 2);
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
	/* The next one is another loss. */
	post(&y, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 3);
	/* Slices miss, for which the window shrinks: the same loss. */
	remind();
	l.given++;	/* and more was offered meanwhile */
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(l.recover, l.tx + 2);
	assert_int_equal(out->lost, 2);
	/* And so it is if what is sent again is lost. */
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
}

/* What was passed by others, and offered again for that. */
static void pass(void)
{
	unsigned int i;

	wide(NULL);
	l.cwnd = PLACES;
	for (i = 0; i < 4; i++)
		post(&many[i], 1, 0);
	oae_watch_offered(&ps, &l, 4);
	out->lost = 1;
	for (i = 1; i < 4; i++)
		hear(0, BUT(answer(OAE_REFLECT), f.seq = l.tx + 1 + i, f.attempt = 1));
	assert_int_equal(oae_first_lane(&l)->attempt, 2);
	assert_int_equal(out->lost, 2);
}

static bool told(struct oae_frame f)
{
	return oae_watch_heard(&ps, 0, &l, &f, now);
}

/* It was overtaken: nothing was lost, which the peer is told. */
WIDE_TEST(test_overtaken)
{
	pass();
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
		post(&many[i], i == 4 ? 3 : 1, 0);
		oae_watch_offered(&ps, &l, 1);
		stepped(OAE_OPEN);
	}
}

/* The first attempt of a lane is answered, so many above tx + 1. */
static void reflect_above(unsigned int above)
{
	hear(0, BUT(answer(OAE_REFLECT), f.seq = l.tx + 1 + above, f.attempt = 1));
}

/* A lane that was overtaken is no loss, but had not counted as one either. */
WIDE_TEST(test_overtaken_uncounted)
{
	unsigned int i;

	ps.watch.mixed_at = now;
	offer_five();
	for (i = 1; i < 4; i++)
		reflect_above(i);
	assert_int_equal(oae_first_lane(&l)->guessed, 1);
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
	assert_int_equal(out->lost, 4);
	for (i = 2; i < 5; i++)
		reflect_above(i);
	assert_int_equal(oae_lane(&l, l.tx + 2)->guessed, 1);
	reflect_above(1);
	assert_int_equal(l.undo_cwnd, 0);
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

	/* It answers a reminder: it was lost. */
	wide(state);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->judged = true;
	out->lost = 3;
	oae_first_lane(&l)->reminded = 1;
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(out->lost, 4);
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
	post(&many[0], 3, 0);
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
	assert_int_equal(out->lost, 4);
	for (i = 2; i < 5; i++)
		reflect_above(i);
	reflect_above(1);
	assert_int_equal(l.undo_cwnd, 0);
	assert_int_equal(out->lost, 4);
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

/* The peer was slow. */
WIDE_TEST(test_reminded_needlessly)
{
	remind();
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 1);
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(out->lost, 1);
	remind();
	watch(answer_back(OAE_REFUSE, OAE_R_BUSY, 1));
	assert_int_equal(out->lost, 1);
	/* Another answer, or to something else; and slices do miss. */
	remind();
	watch(answer_back(OAE_REFLECT, 0, 0));
	watch(BUT(answer_back(OAE_REFLECT, 0, 1), f.seq--));
	watch(answer_back(OAE_READY, 0, 1));
	watch(answer_back(OAE_REFUSE, OAE_R_GAP, 1));
	assert_int_equal(out->lost, 2);
	/* Before the link had paths. */
	remind();
	oae_watch_begin(&ps, &l);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
}

/* Whoever counts a reminder as a loss, and cannot know better, is told that it is none. */
WIDE_TEST(test_late_is_told)
{
	struct oae_frame late;

	remind();
	late = answer_back(OAE_REFLECT, 0, 1);
	assert_true(oae_watch_heard(&ps, 0, &l, &late, now));
	/* So too if it does not count here. */
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
	assert_true(oae_watch_heard(&ps, 0, &l, &late, now));
	assert_false(oae_watch_heard(&ps, 1, &l, &late, now));
	late.attempt++;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
	/* It was offered again for another reason. */
	late.attempt--;
	oae_first_lane(&l)->reminded = 0;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
	oae_first_lane(&l)->reminded = 1;
	late.dst_ltag++;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
}

/* What froze the run before is not taken back by what is late in this one. */
WIDE_TEST(test_late_in_this_run)
{
	remind();
	ps.watch.froze = 0;
	ps.watch.whose = OAE_LOSS_OUT;
	ps.watch.asked = OAE_PATHS_MAX;
	watch(answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 2);
}

/* What is held here is offered again. */
static void again(void)
{
	two(NULL);
	l.srtt = 2 * MS;
	hear(0, slice(1, 0, OAE_F_LAST));
	now += 3 * MS;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 1);
	in->lost = 2;
}

WATCH_TEST(test_told_late)
{
	again();
	/* Elsewhere; before that number; and it is committed. */
	hear(1, frame(OAE_COMMIT));
	watch(BUT(frame(OAE_COMMIT), f.tx--));
	watch(BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 2);
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* It is doubled on its way. */
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* That path is not in use any more; another run. */
	again();
	ps.used = 1;
	ps.path[1].loss.way[OAE_LOSS_IN].lost = 1;
	hear(1, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 2);
	assert_int_equal(ps.path[1].loss.way[OAE_LOSS_IN].lost, 1);
	again();
	oae_watch_begin(&ps, &l);
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 2);
	/* It has not been held: that was lost. */
	two(NULL);
	hear(0, slice(1, 0, 0));
	hear(0, BUT(slice(2, 1, OAE_F_LAST), f.slice = 1));
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* Too much is under way for it to count. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	now += MS;
	in->peak = 1;
	ps.watch.top = l.rx + 40;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 0);
	in->lost = 1;
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
}

/* The peer freezes, and waits for an answer that is late, or lost. */
WATCH_TEST(test_again_and_frozen)
{
	again();
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 1);
	/* This end does: the commit is lost. */
	again();
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 2);
	/* It was committed, and what is held now is the next. */
	again();
	hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
	hear(0, BUT(slice(1, 0, OAE_F_LAST), f.tx = l.rx));
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
	/* It was taken back, and nothing is held. */
	again();
	hear(0, BUT(frame(OAE_REVERSE), f.seq = l.rx + 1, f.attempt = 2));
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
	/* Or it is another path that is in use. */
	again();
	ps.watch.again_by = 1;
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
}

WIDE_TEST(test_reminded_without_a_loss)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		wide(NULL);
		post(&x, 1, 0);
		oae_watch_offered(&ps, &l, 1);
		out->lost = 1;
		/* Never measured; the port is down; too much is under way. */
		l.srtt = i == 0 ? 0 : 2 * MS;
		ps.path[0].up = i != 1;
		out->judged = i != 2;
		fire_at(now + oae_link_stall(&l));
		assert_non_null(sent(OAE_OFFER));
		stepped(OAE_OPEN);
		assert_int_equal(out->lost, 1);
		watch(answer_back(OAE_REFLECT, 0, 1));
		assert_int_equal(out->lost, 1);
	}
}

/* Nor does the reminder help: the same loss, unless the answer to it is late. */
WIDE_TEST(test_reminded_freezes)
{
	remind();
	fire_at(now + 1000 * MS);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt));
	assert_int_equal(out->lost, 1);
	/* The answer before that was late: what is lost is the reminder, or its answer. */
	remind();
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 1);
	fire_at(now + 1000 * MS);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	/* It was late, too. */
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt + 1));
	assert_int_equal(out->lost, 1);
}

/* An answer is overdue, and the link freezes. */
WATCH_TEST(test_freeze)
{
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	assert_int_equal(in->lost, 0);
	/* Frozen still. */
	stepped(OAE_SYNC_SENT);
	assert_int_equal(out->lost, 1);
	/* The answer was late. */
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt));
	assert_int_equal(out->lost, 0);
	assert_int_equal(ps.watch.froze, OAE_PATHS_MAX);
}

WATCH_TEST(test_freeze_held)
{
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 1);
	/* What is late is a frame that commits. */
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx));
	assert_int_equal(in->lost, 1);
	/* Of the run that froze. */
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag + 1,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx + 1));
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag + 1, f.tx = l.late.rx + 1));
	assert_int_equal(in->lost, 1);
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx + 1));
	assert_int_equal(in->lost, 0);
}

WATCH_TEST(test_freeze_of_the_peer)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		two(NULL);
		hear(0, slice(1, 0, OAE_F_LAST));
		/* It is held; delivered; delivered just now; and something is offered. */
		if (i)
			hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
		l.srtt = 2 * MS;
		now += i == 2 ? 4 * MS - 1 : 4 * MS;
		if (i == 3)
			post(&x, 1, 0);
		hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
		assert_int_equal(l.state, OAE_SYNC_RECD);
		assert_int_equal(in->lost, i == 1 || i == 3);
	}
	/* This end has offered long ago. */
	two(NULL);
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	l.srtt = 2 * MS;
	now += 4 * MS;
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(out->lost, 1);
	assert_int_equal(in->lost, 0);
	/* This end freezes, for another reason. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
}

WATCH_TEST(test_freezes_without_a_loss)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		two(NULL);
		if (i)
			post(&x, 1, 0);
		oae_watch_offered(&ps, &l, 1);
		l.srtt = i == 1 ? 0 : 2 * MS;
		/* Nothing under way; never measured; not overdue; the port is down. */
		now += i == 2 ? 4 * MS - 1 : 4 * MS;
		ps.path[0].up = i != 3;
		port_down();
		stepped(OAE_OPEN);
		assert_int_equal(out->lost, 0);
		assert_int_equal(ps.watch.froze, OAE_PATHS_MAX);
	}
	/* It ends: nothing is lost. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = MS;
	now += 10 * MS;
	kill_link(OAE_E_SIGNAL);
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
	/* It does not freeze. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = MS;
	now += 10 * MS;
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
}

WATCH_TEST(test_time)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ps.path[i].loss.lossy = true;
		ps.path[i].loss.row = 1;
	}
	oae_watch_time(&ps, &l, now);
	assert_int_equal(ps.path[1].loss.until, now + 64 * KEEPALIVE);
	now += 64 * KEEPALIVE;
	oae_watch_time(&ps, &l, now);
	assert_true(ps.path[0].loss.lossy);
	assert_false(ps.path[1].loss.lossy);
}

UNIT_MAIN("path_watch")
