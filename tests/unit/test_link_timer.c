// SPDX-License-Identifier: GPL-2.0
/*
 * When something counts as a failure (doc/protocol.md 4.4), to the nanosecond:
 * the stall time, what the timer is armed for, and how often one asks.
 */
#include "one_link.h"

/* Before anything was measured: a tenth of stall_max. */
#define STALL	(4 * MS)

/* An offer, and its reflection after so long. */
static void round_trip(u64 rtt)
{
	post(&x, 1, 0);
	now += rtt;
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	rcv(frame(OAE_DONE));
}

/* What is held, and its commit after so long. */
static void held_for(u64 rtt)
{
	rcv(slice(1, 0, OAE_F_LAST));
	now += rtt;
	commit(0);
}

static void assert_about(u64 value, u64 expected)
{
	assert_in_range(value, expected - 100, expected + 100);
}

LINK_TEST(test_measured)
{
	assert_int_equal(oae_link_stall(&l), STALL);
	round_trip(2 * MS);		/* smoothed 2, deviation 1 */
	assert_about(oae_link_stall(&l), 6 * MS);
	held_for(4 * MS);		/* 2.25, 1.25 */
	assert_about(oae_link_stall(&l), 7250000);
	round_trip(1 * MS);		/* 2.09375, 1.25 */
	assert_about(oae_link_stall(&l), 7093750);

	round_trip(1001 * MS);		/* a clock that jumped */
	assert_about(oae_link_stall(&l), 7093750);
	cfg.stall_min = 8 * MS;
	assert_int_equal(oae_link_stall(&l), 8 * MS);
	cfg.stall_max = 5 * MS;
	assert_int_equal(oae_link_stall(&l), 5 * MS);

	/* But never less than two round trips, whatever the knobs say. */
	cfg.stall_min = 1 * MS;
	cfg.stall_max = 2 * MS;
	assert_about(oae_link_stall(&l), 2 * 2093750);
}

/* A round trip that was long once may be so again, for 16 keepalive times at least. */
LINK_TEST(test_longest)
{
	u64 began, longest = 20 * MS, times = 16 * cfg.keepalive;
	struct oae_frame f;
	unsigned int i;

	round_trip(longest);
	began = now;
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_int_equal(oae_link_stall(&l), longest);
	/* A shorter one takes its place when it is old enough, and not before. */
	now = began + times - 2 * MS;
	round_trip(3 * MS);
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_int_equal(oae_link_stall(&l), longest);
	now = began + 2 * times + 2 * MS;
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_in_range(oae_link_stall(&l), MS, 3 * MS);
	/* It says nothing beyond the knob; nor does what is longer than the dead time. */
	round_trip(cfg.dead + MS);
	assert_in_range(oae_link_stall(&l), MS, 3 * MS);
	round_trip(longest);
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_int_equal(oae_link_stall(&l), longest);
	cfg.stall_max = longest / 2;
	assert_int_equal(oae_link_stall(&l), longest / 2);
	/* What was late was as long. */
	cfg.stall_max = 4 * longest;
	post(&x, 1, 0);
	f = answer(OAE_REFLECT);
	port_down();
	rcv(resolved());
	rcv(answer(OAE_REFLECT));
	now += 2 * longest;
	rcv(f);
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_int_equal(oae_link_stall(&l), 2 * longest);
	/* Nothing is remembered of long ago. */
	now += 3 * times;
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_in_range(oae_link_stall(&l), MS, 3 * MS);
}

/* One that hardly varies may vary all the same. */
LINK_TEST(test_twice_at_least)
{
	unsigned int i;

	for (i = 0; i < 60; i++)
		round_trip(2 * MS);
	assert_about(oae_link_stall(&l), 4 * MS);
}

static void idle_until(u64 when)
{
	while (l.timer_at <= when)
		fire_at(l.timer_at);
	now = when;
}

/* Fire as armed until the link is no longer OPEN: when was that? */
static u64 runs_until(void)
{
	unsigned int i;

	for (i = 0; i < 20 && l.state == OAE_OPEN; i++)
		fire_at(l.timer_at);
	assert_true(oae_link_state(&l) == OAE_SYNC_SENT);
	assert_int_equal(noted(OAE_N_STALL), 1);
	return now;
}

static void fail_once(void)
{
	anew();
	assert_int_equal(l.state, OAE_OPEN);
}

/* Doubled with each failure in a row but the first; from the seventh, every second. */
LINK_TEST(test_doubled)
{
	unsigned int round, i;

	cfg.stall_max = 10000 * MS;
	round_trip(1);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 10; i++) {
			assert_int_equal(oae_link_stall(&l),
					 MS << (i < 2 ? 0 : i < 7 ? i - 1 :
						6 + (i - 7) / 2));
			fail_once();
		}
		/* Progress, either way, ends the row. */
		if (round)
			held_for(1);
		else
			round_trip(1);
		assert_int_equal(oae_link_stall(&l), 1 * MS);
	}
	cfg.stall_max = 3 * MS;
	for (i = 0; i < 4; i++)
		fail_once();
	assert_int_equal(oae_link_stall(&l), 3 * MS);
	/* The knob is no bound for ever, the dead time is. */
	for (; i < 9; i++)
		fail_once();
	assert_int_equal(oae_link_stall(&l), 6 * MS);
	for (; i < 60; i++)
		fail_once();
	assert_int_equal(oae_link_stall(&l), 400 * MS);
	/* SYNC is repeated more often than that. */
	port_down();
	assert_int_equal(l.again_at, now + 100 * MS);
}

/* A failure that the peer has noticed is counted there. */
LINK_TEST(test_noticed_by_the_peer)
{
	unsigned int i;

	cfg.stall_max = 10000 * MS;
	round_trip(1);
	for (i = 0; i < 5; i++) {
		rcv(BUT(frame(OAE_SYNC), f.src_ltag += 1000));
		assert_int_equal(l.state, OAE_SYNC_RECD);
		rcv(resolved());
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(oae_link_stall(&l), MS);
	}
}

/* How long a SYNC took that was sent once, and was answered. */
LINK_TEST(test_sync_measured)
{
	port_down();
	now += 3 * MS;
	rcv(resolved());			/* smoothed 3, deviation 1.5 */
	assert_about(oae_link_stall(&l), 9 * MS);

	open_link(state);
	port_down();
	fire_at(l.timer_at);			/* sent again: whose answer is it? */
	assert_non_null(sent(OAE_SYNC));
	now += 2 * MS;
	rcv(resolved());
	/* A guess, from the first one on, but not for long: a quarter of the longest stall time. */
	assert_about(oae_link_stall(&l), 18 * MS);
	round_trip(1);
	assert_about(oae_link_stall(&l), MS);
	port_down();
	fire_at(l.timer_at);
	now += 50 * MS;
	rcv(resolved());
	assert_about(oae_link_stall(&l), MS);

	open_link(state);
	port_down();
	fire_at(l.timer_at);
	now += 5000 * MS;
	rcv(resolved());
	assert_about(oae_link_stall(&l), cfg.stall_max / 4 * 3);

	open_link(state);
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.dst_ltag = 1234));	/* asked again because of this */
	assert_non_null(sent(OAE_SYNC));
	now += 3 * MS;
	rcv(resolved());
	assert_about(oae_link_stall(&l), 9 * MS);
}

/* A guess gives way to what is measured, but that does not, be it by a late answer. */
LINK_TEST(test_guess_is_measured)
{
	struct oae_link_view v;
	struct oae_frame f;

	port_down();
	fire_at(l.timer_at);
	now += 2 * MS;
	rcv(resolved());
	post(&x, 1, 0);
	f = answer(OAE_REFLECT);
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	now += 20 * MS;
	rcv(f);
	rcv(resolved());
	assert_non_null(sent(OAE_OFFER));
	now++;
	rcv(answer(OAE_REFLECT));
	oae_link_show(&l, &v);
	assert_true(v.srtt > 20 * MS);
}

/* An answer that comes after the link has given it up says how long it takes. */
TEST(test_late_answer)
{
	struct oae_frame f;
	unsigned int what;

	for (what = 0; what < 7; what++) {
		open_link(state);
		post(&x, 1, 0);
		f = answer(what == 1 ? OAE_REFUSE : OAE_REFLECT);
		runs_until();
		now += 296 * MS;		/* 300 since it was offered */
		if (what == 2)
			rcv(resolved());	/* open again by then */
		if (what == 3)
			f.attempt++;
		if (what == 4)
			f.seq++;
		if (what == 5)
			f.src_ltag++;
		if (what == 6)
			now += 101 * MS;	/* longer than the dead time */
		rcv(f);
		if (what == 2)
			assert_int_equal(noted(OAE_N_OLD_RUN), 1);
		if (what < 3)
			assert_about(l.srtt, 300 * MS);
		else
			assert_int_equal(l.srtt, 0);
		if (what)
			continue;
		/* Once only; and from now on it is waited for. */
		now += 50 * MS;
		rcv(f);
		assert_about(l.srtt, 300 * MS);
		rcv(resolved());
		assert_true(sent(OAE_OFFER));
		assert_true(oae_link_stall(&l) >= 600 * MS);
	}

	/* A short one says nothing: what was too short then was too short. */
	open_link(state);
	round_trip(30 * MS);
	post(&x, 1, 0);
	f = answer(OAE_REFLECT);
	port_down();
	now += 10 * MS;
	rcv(f);
	assert_about(l.srtt, 30 * MS);
}

/* The same for the commit of what is held. */
TEST(test_late_commit)
{
	struct oae_frame f;
	unsigned int what;

	for (what = 0; what < 3; what++) {
		open_link(state);
		rcv(slice(1, 0, OAE_F_LAST));
		f = frame(OAE_COMMIT);
		f.tx += what < 2;
		if (what == 1)
			f.dst_ltag += 100;
		runs_until();
		now += 296 * MS;
		rcv(f);
		if (!what)
			assert_about(l.srtt, 300 * MS);
		else
			assert_int_equal(l.srtt, 0);
	}
}

/*
 * What is under way is noticed after the stall time, not at the next time but
 * one that the timer happens to fire.
 */
TEST(test_stalls_in_time)
{
	unsigned int what, early;
	u64 began;

	for (what = 0; what < 3; what++) {
		for (early = 0; early < 2; early++) {
			open_link(state);
			began = now + 30 * MS;
			idle_until(began);
			if (what == 0)
				post(&x, 1, 0);
			if (what == 1)
				rcv(slice(1, 0, OAE_F_LAST));
			if (what == 2) {
				cfg.stall_min = STALL;
				post(&x, 1, OAE_POST_CONFIRM);
				peer_lag = 1;
				rcv(answer(OAE_REFLECT));
			}
			assert_in_range(l.timer_at, began, began + STALL);
			if (early)
				fire_at(began + STALL / 2);
			assert_int_equal(runs_until(), began + STALL);
		}
	}
}

/* Resolving begins a new wait for DONE. */
LINK_TEST(test_done_in_time)
{
	u64 began;

	post(&x, 1, OAE_POST_CONFIRM);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	port_down();
	idle_until(now + 30 * MS);
	rcv(resolved());
	began = now + oae_link_stall(&l);
	assert_int_equal(runs_until(), began);
}

/* Overdue in two ways: frozen, and then nothing is offered. */
LINK_TEST(test_stalled_and_parked)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	rcv(slice(1, 0, OAE_F_LAST));
	fire_at(now + 150 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
	assert_true(sent(OAE_SYNC) && a.nsends == 1);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
}

LINK_TEST(test_many_slices_take_time)
{
	u64 began = now;

	post(&x, 64, 0);
	assert_int_equal(runs_until(), began + STALL + STALL * 63 / 8);
}

/* It was cut anew first: the wait begins when it goes out. */
LINK_TEST(test_resliced_in_time)
{
	struct oae_post p = {
		.handle = &x, .len = 2000, .slice_max = 2000, .nslices = 1,
	};
	u64 began = now + 30 * MS;

	idle_until(began);
	post_it(&p);
	assert_int_equal(count_op(OAE_OP_RESLICE), 1);
	p.slice_max = 1000;
	p.nslices = 2;
	oae_link_resliced(&l, &p, now, &a);
	assert_non_null(sent(OAE_OFFER));
	assert_int_equal(runs_until(), began + STALL + STALL / 8);
}

/* READY lost: eight stall times, those when it was parked. */
LINK_TEST(test_parked_in_time)
{
	u64 began, stall;

	now += 7 * MS;
	post(&x, 1, 0);
	began = now;
	refuse(OAE_R_BUSY, 0);
	stall = oae_link_stall(&l);
	now += 4 * stall;
	rcv(frame(OAE_DONE));			/* the peer is heard */
	fire_at(now);
	while (!sent(OAE_OFFER))
		fire_at(l.timer_at);
	assert_int_equal(now, began + 8 * stall);
	assert_true(sent(OAE_OFFER) && !sent(OAE_SYNC));
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
}

LINK_TEST(test_probe_in_time)
{
	u64 began = now, asked;
	unsigned int i;

	cfg.dead = 450 * MS;			/* not a multiple of keepalive */
	while (!noted(OAE_N_PROBE))
		fire_at(l.timer_at);
	asked = now;
	assert_int_equal(asked, began + 100 * MS);
	for (i = 1; i <= 4; i++) {
		fire_at(l.timer_at);
		assert_true(noted(OAE_N_PROBE) && sent(OAE_SYNC));
		assert_int_equal(now, asked + i * 100 * MS);
	}
	fire_at(l.timer_at);
	assert_int_equal(now, asked + 450 * MS);
	assert_true(noted(OAE_N_STALL) && noted(OAE_N_DOWN));

	/* Answered: it begins again. */
	open_link(state);
	fire_at(now + 100 * MS);
	assert_true(noted(OAE_N_PROBE) && l.asked_at);
	rcv(frame(OAE_SYNC_ACK));
	assert_false(l.asked_at);
}

/* How long until the next of this opcode, fired as armed. */
static u64 next_sent(u8 opcode)
{
	u64 before = now;

	fire_at(l.timer_at);
	while (!sent(opcode))
		fire_at(l.timer_at);
	return now - before;
}

/* After the stall time, then ever more slowly. */
LINK_TEST(test_asks_more_slowly)
{
	static const unsigned int ms[] = { 4, 8, 16, 32, 64, 100, 100 };
	u64 began = now + 30 * MS;
	unsigned int i;

	cfg.keepalive = 150 * MS;
	idle_until(began);
	port_down();
	for (i = 0; i < 7; i++)
		assert_int_equal(next_sent(OAE_SYNC), ms[i] * MS);
	assert_false(l.down);
	fire_at(l.timer_at);
	assert_int_equal(now, began + 400 * MS);
	assert_true(noted(OAE_N_DOWN) && !sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_SYNC), 24 * MS);	/* 100 after the last */
	assert_int_equal(next_sent(OAE_SYNC), 150 * MS);
	assert_int_equal(next_sent(OAE_SYNC), 150 * MS);

	open_link(state);			/* the same for another MTU */
	idle_until(now + 30 * MS);
	set_mtu(9000);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 9000);
	assert_int_equal(next_sent(OAE_SYNC), STALL);

	open_link(state);			/* and for another address */
	idle_until(now + 30 * MS);
	renamed();
	assert_int_equal(next_sent(OAE_SYNC), STALL);
}

/* A port that is up again: whatever failed before, failed for that. */
LINK_TEST(test_port_up)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fail_once();
	port_down();
	assert_int_equal(next_sent(OAE_SYNC), 10 * STALL);
	now += STALL;
	clear();
	oae_link_port_up(&l, now, &a);
	assert_non_null(sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_SYNC), STALL);
}

/* What is posted on a link that is down has the dead time to find the peer. */
LINK_TEST(test_posted_when_down)
{
	u64 posted;

	port_down();
	fire_at(now + 401 * MS);
	assert_true(l.down);
	posted = now + 5 * MS;
	now = posted;
	post(&x, 1, 0);
	assert_non_null(sent(OAE_SYNC));
	while (!count_op(OAE_OP_COMPLETE))
		fire_at(l.timer_at);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(noted(OAE_N_DOWN), 0);	/* it was */
	assert_in_range(now, posted + 400 * MS, posted + 500 * MS);

	/* Also just before the link is forgotten. */
	idle_until(l.down_at + 3190 * MS);
	posted = now;
	post(&x, 1, 0);
	while (!count_op(OAE_OP_COMPLETE))
		fire_at(l.timer_at);
	assert_in_range(now, posted + 400 * MS, posted + 500 * MS);
}

/* Down for eight dead times: forgotten, but not with something in doubt. */
TEST(test_forgotten)
{
	unsigned int what, i;
	u64 down;

	for (what = 0; what < 4; what++) {
		open_link(state);
		if (what == 1)
			rcv(slice(1, 0, OAE_F_LAST));
		if (what == 2)
			post(&x, 1, OAE_POST_EXPRESS);
		if (what == 3) {
			post(&x, 1, 0);
			peer_lag = 1;
			rcv(answer(OAE_REFLECT));
		}
		port_down();
		while (!l.down)
			fire_at(l.timer_at);
		down = now;
		for (i = 0; i < 60 && l.state != OAE_CLOSED; i++)
			fire_at(l.timer_at);
		if (!what)
			assert_in_range(now, down + 3200 * MS, down + 3300 * MS);
		assert_int_equal(l.state == OAE_CLOSED, !what);
	}
}

/* The intervals between SYNCs of a link that is down have grown to the keepalive. */
static void asks_for_ever(void)
{
	unsigned int i;
	u64 asked = 0;

	for (i = 0; i < 100; i++) {
		fire_at(l.timer_at);
		assert_int_equal(l.state, OAE_SYNC_SENT);
		assert_int_equal(noted(OAE_N_DOWN), 0);
		if (!sent(OAE_SYNC))
			continue;
		if (i > 10)
			assert_int_equal(now, asked + cfg.keepalive);
		asked = now;
	}
}

/*
 * Wanted: a peer that was never there is asked for as long as that is so. It opens the
 * link when it comes; what was posted meanwhile did not wait for it.
 */
TEST(test_wanted)
{
	struct oae_frame f;
	u64 posted;

	one_link(state);
	oae_link_want(&l, true);
	while (!l.down)
		fire_at(l.timer_at);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	asks_for_ever();

	posted = now;
	post(&x, 1, 0);
	assert_non_null(sent(OAE_SYNC));
	while (!count_op(OAE_OP_COMPLETE))
		fire_at(l.timer_at);
	assert_true(ended(&x, OAE_REVERSED));
	assert_in_range(now, posted + 400 * MS, posted + 500 * MS);
	asks_for_ever();

	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	f.tx = PEER_START;
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(noted(OAE_N_UP), 1);
	/* And once more when it is gone again. */
	port_down();
	while (!l.down)
		fire_at(l.timer_at);
	asks_for_ever();

	/* Wanted no more: it is forgotten like any other. */
	oae_link_want(&l, false);
	fire_at(l.timer_at);
	assert_int_equal(l.state, OAE_CLOSED);
}

/* Closing ends what was wanted, and that it was. */
TEST(test_wanted_closed)
{
	one_link(state);
	oae_link_want(&l, true);
	close_link();
	assert_int_equal(l.state, OAE_CLOSED);
	assert_int_equal(count_op(OAE_OP_GONE), 1);
	clear();
	oae_link_open(&l, now, &a);
	while (!noted(OAE_N_DOWN))
		fire_at(l.timer_at);
	assert_int_equal(l.state, OAE_CLOSED);

	open_link(state);
	oae_link_want(&l, true);
	rcv(frame(OAE_CLOSE));
	assert_int_equal(l.state, OAE_CLOSED);
}

/* An exchange of frames does not touch the timer, only looks far enough. */
LINK_TEST(test_never_later)
{
	unsigned int i;
	u64 at;

	round_trip(1);
	post(&x, 1, 0);
	at = l.timer_at;
	for (i = 0; i < 10; i++) {
		now += MS / 100;
		rcv(answer(OAE_REFLECT));
		assert_false(count_op(OAE_OP_TIMER));
		post(&x, 1, 0);
		assert_false(count_op(OAE_OP_TIMER));
		assert_int_equal(l.timer_at, at);
	}
	/* It has fired, and looks far enough for what comes at once. */
	rcv(answer(OAE_REFLECT));
	fire_at(at);
	for (i = 0; i < 10; i++) {
		post(&x, 1, 0);
		assert_false(count_op(OAE_OP_TIMER));
		now += MS / 100;
		rcv(answer(OAE_REFLECT));
		assert_false(count_op(OAE_OP_TIMER));
	}
}

/* What is overdue, by a stall time that got shorter, each frame put off. */
LINK_TEST(test_overdue)
{
	unsigned int i;
	u64 at;

	post(&x, 1, 0);
	now += STALL / 2;
	cfg.stall_max = STALL / 4;
	rcv(slice(1, 0, 0));
	at = l.timer_at;
	assert_int_equal(at, now + 1);
	for (i = 1; i < 10; i++) {
		now += 1000;
		rcv(slice(1, i, 0));
		assert_false(count_op(OAE_OP_TIMER));
		assert_int_equal(l.timer_at, at);
	}
}

/* A clock that is behind: no time passes until it has caught up. */
LINK_TEST(test_clock_behind)
{
	u64 began;

	/* Frozen by one clock, and the timer looks at another. */
	began = now;
	port_down();
	fire_at(began - 1000);
	assert_false(l.down || noted(OAE_N_DOWN));
	assert_false(sent(OAE_SYNC));
	fire_at(began + STALL - 1);
	assert_false(sent(OAE_SYNC));
	fire_at(began + STALL);
	assert_non_null(sent(OAE_SYNC));

	/* The same for what is offered, held, waits for DONE, or is parked. */
	open_link(state);
	began = now;
	post(&x, 1, 0);
	rcv(slice(1, 0, OAE_F_LAST));
	fire_at(began - 10 * MS);
	assert_int_equal(l.state, OAE_OPEN);
	refuse(OAE_R_BUSY, 0);
	fire_at(began - 10 * MS);
	assert_false(sent(OAE_OFFER));
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(began + STALL);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Further behind: another clock, and all waits begin again. */
LINK_TEST(test_another_clock)
{
	u64 began;

	post(&x, 1, 0);
	began = now - 100000 * MS;
	fire_at(began);
	assert_int_equal(l.state, OAE_OPEN);
	assert_in_range(l.timer_at, began, began + STALL);
	assert_int_equal(runs_until(), began + STALL);
	began -= 100000 * MS;
	fire_at(began);
	assert_false(l.down);
	while (!l.down)
		fire_at(l.timer_at);
	assert_int_equal(now, began + 400 * MS);
}

/* What is offered is not answered, the SYNC at once: n times. */
static void fruitless(unsigned int n)
{
	for (; n; n--) {
		fire_at(l.timer_at);
		while (l.state == OAE_OPEN)
			fire_at(l.timer_at);
		rcv(resolved());
		assert_int_equal(l.state, OAE_OPEN);
	}
}

/* The same; the last freeze, so long after the first of them was one. */
static void fruitless_for(unsigned int n, u64 lasts)
{
	u64 began;

	fruitless(1);
	began = now;
	fruitless(n - 2);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_true(now < began + lasts);
	fire_at(began + lasts);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	rcv(resolved());
}

/* A half of that length is lent, and what answers it not committed: n times. */
static void lent_fruitless(unsigned int n, u16 len)
{
	if (len) {
		post_kind(&x, OAE_SWAP, len, 0);
		refuse(OAE_R_NO_HALF, 0);
	}
	for (; n; n--) {
		assert_int_equal(l.half.state, OAE_HALF_WAITING);
		rcv(offer_kind(1, OAE_SWAP));
		assert_non_null(sent(OAE_REFLECT));
		fruitless(1);
		if (l.offer.state == OAE_OFFER_OUT)
			refuse(OAE_R_NO_HALF, 0);
	}
}

static void lent_fruitless_for(unsigned int n, u64 lasts, u16 len)
{
	u64 began;

	lent_fruitless(1, len);
	began = now;
	lent_fruitless(n - 2, 0);
	rcv(offer_kind(1, OAE_SWAP));
	assert_true(now < began + lasts);
	fire_at(began + lasts);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	rcv(resolved());
	if (l.offer.state == OAE_OFFER_OUT)
		refuse(OAE_R_NO_HALF, 0);
}

static void cut_again(u16 nslices)
{
	struct oae_post p = l.offer.p;

	assert_int_equal(count_op(OAE_OP_RESLICE), 1);
	assert_null(sent(OAE_OFFER));
	p.slice_max = oae_link_cut(&l, OAE_MESSAGE, p.len);
	p.nslices = (p.len + p.slice_max - 1) / p.slice_max;
	assert_int_equal(p.nslices, nslices);
	oae_link_resliced(&l, &p, now, &a);
	assert_int_equal(sent(OAE_OFFER)->nslices, nslices);
}

static void post_long(u16 len, u16 cut, u8 flags)
{
	struct oae_post p = {
		.handle = &x, .digest = DIGEST, .first = 1, .len = len,
		.slice_max = cut, .nslices = (len + cut - 1) / cut,
		.flags = flags,
	};

	post_it(&p);
}

/* Long frames vanish: cut smaller and smaller, as long as 64 are enough. */
LINK_TEST(test_cut_smaller)
{
	static const u16 mtus[] = { 1400, 1280, 576, 256, 128 };
	unsigned int i;

	post_long(1452, 1452, OAE_POST_EXPRESS);
	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		fruitless(3);
		assert_int_equal(count_op(OAE_OP_RESLICE), 0);
		fruitless(1);
		cut_again((1452 + mtus[i] - OAE_HDR_LEN - 1) /
			  (mtus[i] - OAE_HDR_LEN));
		assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 100), mtus[i] - OAE_HDR_LEN);
		assert_int_equal(oae_link_slice_max(&l), 1452);
	}
	/* No end of that: it may be loss. */
	fruitless(40);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_non_null(sent(OAE_OFFER));
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));

	/* A long one is cut to what it takes, not more. */
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 6400), 100);
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 6401), 101);

	/* After ten minutes long ones are tried again; by a new MTU at once. */
	now = l.cut_at + 600000 * MS - 1;
	post_long(300, 300, 0);
	cut_again(4);
	rcv(answer(OAE_REFLECT));
	now++;
	post_long(300, 300, 0);
	assert_int_equal(sent(OAE_OFFER)->nslices, 1);
	rcv(answer(OAE_REFLECT));
	l.cut = 80;
	set_mtu(1400);
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 100), 1352);
}

LINK_TEST(test_too_long_for_the_path)
{
	static const u16 slices[] = { 5, 6, 13, 31, 64 };
	unsigned int i;

	/* At the least that 64 slices take, and not even that gets through. */
	cfg.dead = 4000 * MS;
	l.peer_max_len = 10000;
	post_long(6400, 1452, 0);
	for (i = 0; i < ARRAY_SIZE(slices); i++) {
		fruitless(4);
		cut_again(slices[i]);
	}
	fruitless_for(17, cfg.dead);
	assert_reversed(&x, OAE_E_TOO_BIG);

	/* A verb cannot be cut, nor its answer. */
	for (i = 0; i < 3; i++) {
		open_link(state);
		post_kind(&x, OAE_VERB, i == 1 ? 81 : 80, i == 2 ? 65 : 8);
		fruitless_for(17, cfg.dead);
		assert_int_equal(ended(&x, OAE_REVERSED), !!i);
	}
	/* A half that is lent, and what answers with it. */
	for (i = 0; i < 2; i++) {
		open_link(state);
		lent_fruitless_for(17, cfg.dead, i ? 65 : 64);
		assert_int_equal(l.half.state,
				 i ? OAE_HALF_NONE : OAE_HALF_WAITING);
		assert_int_equal(ended(&x, OAE_REVERSED), i);
	}
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_TOO_BIG);
}

/* Sixteen failures, and the row has lasted for dead_ms: both, or no end of it. */
static const struct {
	unsigned int n;
	u64 lasts;
	bool ends;
} rows[] = {
	{ 17, 400 * MS, true },
	{ 17, 400 * MS - 1, false },
	{ 18, 399 * MS, false },
	{ 16, 400 * MS, false },
	{ 16, 4000 * MS, false },
};

TEST(test_how_long_a_row)
{
	unsigned int i, k;
	u64 began;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		open_link(state);
		post_kind(&x, OAE_VERB, 81, 8);
		fruitless_for(rows[i].n, rows[i].lasts);
		assert_int_equal(ended(&x, OAE_REVERSED), rows[i].ends);
		assert_int_equal(noted(OAE_N_CUT), 0);

		open_link(state);
		lent_fruitless_for(rows[i].n, rows[i].lasts, 65);
		assert_int_equal(ended(&x, OAE_REVERSED), rows[i].ends);

		/* All but LAST misses, of slices as short as can be. */
		open_link(state);
		l.peer_max_len = 10000;
		post_long(6400, 100, 0);
		began = now;
		for (k = 1; k < rows[i].n; k++) {
			refuse(OAE_R_GAP, ~0ULL >> 1);
			assert_int_equal(!sent(OAE_OFFER), k >= 16);
		}
		assert_int_equal(l.state, OAE_OPEN);
		fire_at(began + rows[i].lasts);
		assert_int_equal(noted(OAE_N_STALL), 1);
		assert_int_equal(noted(OAE_N_CUT), rows[i].ends);
		if (!rows[i].ends)
			continue;
		rcv(resolved());
		assert_reversed(&x, OAE_E_TOO_BIG);
	}
}

/* However many there are; and only those in a row, by one clock. */
TEST(test_which_row)
{
	unsigned int i;

	/* More than are counted, of one answer that comes again and again. */
	open_link(state);
	l.peer_max_len = 10000;
	post_long(6400, 100, 0);
	for (i = 0; i < 16 + 250; i++)
		refuse(OAE_R_GAP, ~0ULL >> 1);
	now += cfg.dead;
	refuse(OAE_R_GAP, ~0ULL >> 1);
	assert_int_equal(noted(OAE_N_CUT), 1);
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* A commit, and long after it another row. */
	open_link(state);
	for (i = 0; i < 2; i++) {
		post_kind(&x, OAE_VERB, 81, 8);
		fruitless(20);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		rcv(answer_kind(OAE_VERB, 8));
		assert_true(ended(&x, OAE_COMMITTED));
		now += 500 * MS;
	}

	/* By another clock it begins again. */
	open_link(state);
	post_kind(&x, OAE_VERB, 81, 8);
	fruitless(17);
	fire_at(now - 5000 * MS);
	fruitless(1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	open_link(state);
	lent_fruitless(17, 65);
	now -= 5000 * MS;
	lent_fruitless(1, 0);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* After the sixteenth they are ever fewer, while it is that which fails. */
TEST(test_row_waits)
{
	u64 stall;
	unsigned int i;

	/* 80 bytes are never too long: that is loss. */
	for (i = 0; i < 2; i++) {
		open_link(state);
		cfg.dead = 100000 * MS;
		post_kind(&x, OAE_VERB, 80 + i, 8);
		fruitless(16);
		stall = oae_link_stall(&l);
		fruitless(1);
		assert_int_equal(oae_link_stall(&l), stall << i);
		fruitless(1);
		assert_int_equal(oae_link_stall(&l), stall << 2 * i);
		/* It is given up, and the link need not wait for it. */
		port_down();
		stall = oae_link_stall(&l);
		cancel(&x);
		assert_int_equal(oae_link_stall(&l) < stall, i);
	}
	for (i = 0; i < 2; i++) {
		open_link(state);
		cfg.dead = 100000 * MS;
		lent_fruitless(16, 64 + i);
		stall = oae_link_stall(&l);
		lent_fruitless(2, 0);
		assert_int_equal(oae_link_stall(&l), stall);
		rcv(offer_kind(1, OAE_SWAP));
		assert_int_equal(oae_link_stall(&l), stall << 2 * i);
	}
	/* As many as are counted, of all. */
	post_kind(&y, OAE_VERB, 81, 8);
	l.backoff = 39;
	l.fruitless = 55;
	l.half.fruitless = 55;
	assert_int_equal(oae_link_stall(&l), cfg.dead);
}

/* How the peer says that it holds what was offered, and synchronises. */
enum held { HELD_NOW, HELD_BEFORE, HELD_ONCE, HELD_NEVER, HELD_END };

static void synchronise(enum held how, bool first)
{
	struct oae_frame f = resolved();

	f.opcode = OAE_SYNC;
	f.flags = how == HELD_NEVER ? 0 : OAE_F_HELD;
	if (how == HELD_BEFORE || (how == HELD_ONCE && first)) {
		f.dst_ltag ^= 1;
		rcv(f);
		f = frame(OAE_SYNC_ACK);
	} else if (how == HELD_ONCE) {
		f = resolved();
	}
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
}

/* What the peer holds has got through. Only a verb's own answer may be too long then. */
TEST(test_held_got_through)
{
	static const u8 kinds[] = { OAE_MESSAGE, OAE_SWAP, OAE_VERB };
	unsigned int i, n;
	enum held how;
	u64 began;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (how = 0; how < HELD_END; how++) {
			open_link(state);
			l.peer_max_len = 10000;
			if (kinds[i] == OAE_MESSAGE)
				post_long(6400, 100, 0);
			else
				post_kind(&x, kinds[i], 81, 8);
			began = now;
			for (n = 0; l.offer.state == OAE_OFFER_OUT &&
			     (n < 40 || now < began + 2 * cfg.dead); n++) {
				while (l.state == OAE_OPEN)
					fire_at(l.timer_at);
				synchronise(how, !n);
			}
			assert_int_equal(ended(&x, OAE_REVERSED) ||
					 count_op(OAE_OP_RESLICE),
					 kinds[i] == OAE_VERB || how > HELD_BEFORE);
		}
	}
}

/* What counts as fruitless: the SYNC was faster than what was offered had. */
TEST(test_not_fruitless)
{
	unsigned int what, i;
	struct oae_frame f;

	for (what = 0; what < 5; what++) {
		open_link(state);
		cfg.dead = 100000 * MS;
		post_long(1452, 1452, 0);
		for (i = 0; i < 12; i++) {
			f = answer(OAE_REFLECT);
			now += 1 * MS;
			if (what == 0)
				port_down();
			while (l.state == OAE_OPEN)
				fire_at(l.timer_at);
			if (what == 1)
				now += 60000 * MS;
			if (what == 2)
				rcv(f);			/* late */
			rcv(resolved());
			if (what == 3 && i % 3 == 2) {
				refuse(OAE_R_BUSY, 0);
				rcv(frame(OAE_READY));
			}
			if (what == 4 && i % 3 == 2) {
				rcv(answer(OAE_REFLECT));
				post_long(1452, 1452, 0);
			}
			assert_int_equal(count_op(OAE_OP_RESLICE), 0);
		}
		assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 100), 1452);
	}
}

/* Only LAST, which is short, gets through. */
LINK_TEST(test_gap_fruitless)
{
	unsigned int i;

	post_long(3000, 1452, 0);
	for (i = 0; i < 2; i++) {
		refuse(OAE_R_GAP, 3);
		assert_int_equal(sent(OAE_OFFER)->slices, 7);
	}
	refuse(OAE_R_GAP, 3);
	assert_int_equal(noted(OAE_N_CUT), 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
	rcv(resolved());
	cut_again(3);

	/* Some get through: it is loss. */
	open_link(state);
	post_long(3000, 1452, 0);
	for (i = 0; i < 6; i++) {
		refuse(OAE_R_GAP, 3);
		refuse(OAE_R_GAP, 1);
		refuse(OAE_R_GAP, 2);
		assert_int_equal(noted(OAE_N_CUT), 0);
	}
}

/* CLOSE again, ever more slowly; after a failure as for the first time. */
LINK_TEST(test_close_again)
{
	close_link();
	assert_non_null(sent(OAE_CLOSE));
	assert_int_equal(next_sent(OAE_CLOSE), STALL);
	assert_int_equal(next_sent(OAE_CLOSE), 2 * STALL);
	assert_int_equal(next_sent(OAE_CLOSE), 4 * STALL);
	anew();
	assert_true(sent(OAE_CLOSE) && !sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_CLOSE), STALL);

	/* What comes meanwhile is not held, and CLOSE goes on. */
	rcv(slice(1, 0, OAE_F_LAST));
	assert_non_null(sent(OAE_REFUSE));
	assert_int_equal(next_sent(OAE_CLOSE), 2 * STALL);
	assert_int_equal(l.state, OAE_OPEN);
}

/* An answer that comes late counts from the first CLOSE. */
LINK_TEST(test_close_dead)
{
	u64 began = now;

	close_link();
	while (l.state != OAE_CLOSED)
		fire_at(l.timer_at);
	assert_int_equal(now, began + 400 * MS);
	assert_true(noted(OAE_N_DOWN) && count_op(OAE_OP_GONE));
}

/* A timer that fires early is put off; not because the clock is another one. */
LINK_TEST(test_early)
{
	assert_true(l.timer_at > now);
	assert_true(oae_link_early(&l, l.timer_at - 1));
	assert_false(oae_link_early(&l, l.timer_at));
	assert_true(oae_link_early(&l, now - 1000 * MS));
	assert_false(oae_link_early(&l, now - 1001 * MS));
}

/* And what was cut is not cut for longer, nor less long, by another clock. */
LINK_TEST(test_cut_by_another_clock)
{
	l.cut = 500;
	l.cut_at = now;
	now -= 5000 * MS;
	post(&x, 1, 0);
	assert_int_equal(l.cut, 500);
}

UNIT_MAIN("times")
