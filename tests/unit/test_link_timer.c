// SPDX-License-Identifier: GPL-2.0
/*
 * When something counts as a failure (doc/protocol.md 4.4), to the nanosecond:
 * the probe timeout, what the timer is armed for, and how often one asks.
 */
#include "one_link.h"

/* Before anything was measured: a tenth of stall_max. */
#define PTO	(4 * MS)

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
	rcv(slice(0, OAE_F_LAST));
	now += rtt;
	commit(0);
}

static void assert_about(u64 value, u64 expected)
{
	assert_in_range(value, expected - 100, expected + 100);
}

LINK_TEST(test_measured)
{
	assert_int_equal(oae_link_pto(&l), PTO);
	round_trip(2 * MS);		/* smoothed 2, deviation 1 */
	assert_about(oae_link_pto(&l), 6 * MS);
	held_for(4 * MS);		/* 2.25, 1.25 */
	assert_about(oae_link_pto(&l), 7250000);
	round_trip(1 * MS);		/* 2.09375, 1.25 */
	assert_about(oae_link_pto(&l), 7093750);

	round_trip(1001 * MS);		/* a clock that jumped */
	assert_about(oae_link_pto(&l), 7093750);
	cfg.stall_min = 8 * MS;
	assert_int_equal(oae_link_pto(&l), 8 * MS);
	cfg.stall_max = 5 * MS;
	assert_int_equal(oae_link_pto(&l), 5 * MS);

	/* But never less than two round trips, whatever the knobs say. */
	cfg.stall_min = 1 * MS;
	cfg.stall_max = 2 * MS;
	assert_about(oae_link_pto(&l), 2 * 2093750);
}

/* The longest round trip is remembered for 16 keepalive times at least. No PTO is longer for it. */
LINK_TEST(test_longest)
{
	u64 began, longest = 20 * MS, times = 16 * cfg.keepalive;
	unsigned int i;

	round_trip(longest);
	began = now;
	for (i = 0; i < 100; i++)
		round_trip(MS);
	assert_int_equal(oae_peak(l.rtt.longest), longest);
	assert_in_range(oae_link_pto(&l), MS, 3 * MS);
	/* A shorter one takes its place when it is old enough, and not before. */
	now = began + times - 2 * MS;
	round_trip(3 * MS);
	round_trip(MS);
	assert_int_equal(oae_peak(l.rtt.longest), longest);
	now = began + 2 * times + 2 * MS;
	round_trip(MS);
	assert_int_equal(oae_peak(l.rtt.longest), 3 * MS);
	/* What is longer than the dead time says nothing. */
	round_trip(cfg.dead + MS);
	assert_int_equal(oae_peak(l.rtt.longest), 3 * MS);
	/* Nothing is remembered of long ago. */
	now += 3 * times;
	round_trip(MS);
	assert_int_equal(oae_peak(l.rtt.longest), MS);
}

/* One that hardly varies may vary all the same. */
LINK_TEST(test_twice_at_least)
{
	unsigned int i;

	for (i = 0; i < 60; i++)
		round_trip(2 * MS);
	assert_about(oae_link_pto(&l), 4 * MS);
}

static void idle_until(u64 when)
{
	while (l.timer.at <= when)
		fire_at(l.timer.at);
	now = when;
}

/* Fire as armed until the link is no longer OPEN: when was that? */
static u64 runs_until(void)
{
	unsigned int i;

	for (i = 0; i < 20 && l.state == OAE_OPEN; i++)
		fire_at(l.timer.at);
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
			assert_int_equal(oae_link_pto(&l),
					 MS << (i < 2 ? 0 : i < 7 ? i - 1 :
						6 + (i - 7) / 2));
			fail_once();
		}
		/* Progress, either way, ends the row. */
		if (round)
			held_for(1);
		else
			round_trip(1);
		assert_int_equal(oae_link_pto(&l), 1 * MS);
	}
	cfg.stall_max = 3 * MS;
	for (i = 0; i < 4; i++)
		fail_once();
	assert_int_equal(oae_link_pto(&l), 3 * MS);
	/* The knob is no bound for ever, the dead time is. */
	for (; i < 9; i++)
		fail_once();
	assert_int_equal(oae_link_pto(&l), 6 * MS);
	for (; i < 60; i++)
		fail_once();
	assert_int_equal(oae_link_pto(&l), 400 * MS);
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
		assert_int_equal(oae_link_pto(&l), MS);
	}
}

/* How long a SYNC took that was sent once, and was answered. */
LINK_TEST(test_sync_measured)
{
	port_down();
	now += 3 * MS;
	rcv(resolved());			/* smoothed 3, deviation 1.5 */
	assert_about(oae_link_pto(&l), 9 * MS);

	open_link(state);
	port_down();
	fire_at(l.timer.at);			/* sent again: whose answer is it? */
	assert_non_null(sent(OAE_SYNC));
	now += 2 * MS;
	rcv(resolved());
	/* A guess, from the first one on, but not for long: a quarter of the longest PTO. */
	assert_about(oae_link_pto(&l), 18 * MS);
	round_trip(1);
	assert_about(oae_link_pto(&l), MS);
	port_down();
	fire_at(l.timer.at);
	now += 50 * MS;
	rcv(resolved());
	assert_about(oae_link_pto(&l), MS);

	open_link(state);
	port_down();
	fire_at(l.timer.at);
	now += 5000 * MS;
	rcv(resolved());
	assert_about(oae_link_pto(&l), cfg.stall_max / 4 * 3);

	open_link(state);
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.dst_ltag = 1234));	/* asked again because of this */
	assert_non_null(sent(OAE_SYNC));
	now += 3 * MS;
	rcv(resolved());
	assert_about(oae_link_pto(&l), 9 * MS);
}

/* Fire as armed until this goes out: when was that? */
static u64 asks_at(u8 opcode)
{
	do
		fire_at(l.timer.at);
	while (!sent(opcode) && l.state == OAE_OPEN);
	assert_non_null(sent(opcode));
	return now;
}

/* The peer answers, and says nothing of what is offered; @back: but of so old a question. */
static void answers(u32 back)
{
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent - back));
}

/*
 * What is under way is noticed after the probe timeout, not at the next time but
 * one that the timer happens to fire.
 */
TEST(test_asks_in_time)
{
	static const u8 asks[] = { OAE_ASK, OAE_REFLECT, OAE_COMMIT };
	unsigned int what, early;
	u64 began, at;

	for (what = 0; what < 3; what++) {
		for (early = 0; early < 2; early++) {
			open_link(state);
			began = now + 30 * MS;
			idle_until(began);
			at = began + PTO;
			if (what == 0)
				post(&x, 1, 0);
			if (what == 1) {
				rcv(slice(0, OAE_F_LAST));
				at += PTO;
			}
			if (what == 2) {
				cfg.stall_min = PTO;
				post(&x, 1, OAE_POST_CONFIRM);
				rcv(answer(OAE_REFLECT));
				peer_lag = 1;
			}
			assert_in_range(l.timer.at, began, at);
			if (early)
				fire_at(began + PTO / 2);
			assert_int_equal(asks_at(asks[what]), at);
		}
	}
}

/* How long after one the next goes out, ms; at last the link freezes. */
static void row(u8 opcode, const unsigned int *ms, unsigned int n)
{
	u64 before = now;
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_int_equal(asks_at(opcode), before + ms[i] * MS);
		before = now;
	}
	assert_int_equal(runs_until(), before + ms[n] * MS);
}

/* Ask, and then after 1, 2, 4, 8 and 16 PTO, but no longer than a quarter of the dead time. */
LINK_TEST(test_row_of_asks)
{
	static const unsigned int ms[] = { 4, 4, 8, 16, 32, 64, 100 };
	static const unsigned int longer[] = { 4, 4, 8, 16, 32, 64, 128 };
	const struct oae_send *s;

	post(&x, 3, 0);
	row(OAE_ASK, ms, 6);

	open_link(state);
	cfg.dead = 4000 * MS;
	post(&x, 3, OAE_POST_EXPRESS);
	row(OAE_ASK, longer, 6);

	/* What is asked for: that, and nothing of it is sent again. */
	open_link(state);
	post_kind(&x, OAE_VERB, CUT, 8);
	refuse(OAE_R_CONFLICT);
	rcv(frame(OAE_READY));
	asks_at(OAE_ASK);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(noted(OAE_N_ASKED), 1);
	s = sent(OAE_ASK);
	assert_int_equal(s->frame.seq, l.tx + 1);
	assert_int_equal(s->frame.kind, OAE_VERB);
	assert_int_equal(s->frame.flags, 0);
	assert_int_equal(s->frame.pn, l.number.sent);
	open_link(state);
	post(&x, 1, OAE_POST_EXPRESS);
	asks_at(OAE_ASK);
	assert_int_equal(sent(OAE_ASK)->frame.flags, OAE_F_EXPRESS);
}

/* A timer that fires late has asked once, and no more. */
LINK_TEST(test_asks_late)
{
	post(&x, 1, 0);
	fire_at(now + 90 * MS);
	assert_non_null(sent(OAE_ASK));
	assert_int_equal(a.nsends, 1);
	fire_at(now + PTO - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(now + 1);
	assert_non_null(sent(OAE_ASK));
	assert_int_equal(a.nsends, 1);
}

/* An answer that has heard something new begins the row anew; another frame does not. */
LINK_TEST(test_row_begins_anew)
{
	u64 asked;

	post(&x, 1, 0);
	asks_at(OAE_ASK);
	asked = asks_at(OAE_ASK);
	now += MS;
	answers(0);
	assert_int_equal(asks_at(OAE_ASK), asked + MS + PTO);
	asked = asks_at(OAE_ASK);
	assert_int_equal(asked, now);
	now += MS;
	answers(2);
	rcv(frame(OAE_COMMIT));
	rcv(frame(OAE_SYNC_ACK));
	assert_int_equal(asks_at(OAE_ASK), asked + 2 * PTO);
}

/* Only DONE is awaited: COMMIT asks for it; an offer says it, too, in its answer. */
LINK_TEST(test_asks_for_done)
{
	static const unsigned int ms[] = { 4, 4, 8, 16, 32, 64, 100 };

	cfg.stall_min = PTO;
	post(&x, 1, OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	row(OAE_COMMIT, ms, 6);

	open_link(state);
	cfg.stall_min = PTO;
	post(&x, 1, OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	asks_at(OAE_COMMIT);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	post(&y, 1, 0);
	now += 30 * MS;
	asks_at(OAE_ASK);
	assert_null(sent(OAE_COMMIT));
	/* All is confirmed: nobody asks. */
	peer_lag = 0;
	rcv(answer(OAE_REFLECT));
	fire_at(now + 90 * MS);
	assert_int_equal(a.nsends, 0);
}

/* Resolving begins a new wait for DONE. */
LINK_TEST(test_done_in_time)
{
	u64 began;

	post(&x, 1, OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	port_down();
	idle_until(now + 30 * MS);
	rcv(resolved());
	began = now + oae_link_pto(&l);
	assert_int_equal(asks_at(OAE_COMMIT), began);
}

/* The dead time after the first question: frozen, and down at once. */
LINK_TEST(test_silent)
{
	unsigned int heard;
	u64 asked;

	for (heard = 0; heard < 2; heard++) {
		open_link(state);
		cfg.stall_min = cfg.stall_max;
		cfg.dead = 1000 * MS;
		post(&x, 1, 0);
		asked = asks_at(OAE_ASK);
		assert_int_equal(asks_at(OAE_ASK), asked + cfg.stall_max);
		if (heard)
			rcv(frame(OAE_COMMIT));
		while (l.timer.asks < 6)
			fire_at(l.timer.at);
		assert_int_equal(l.state, OAE_OPEN);
		fire_at(asked + cfg.dead);
		assert_int_equal(noted(OAE_N_STALL), !heard);
		assert_int_equal(noted(OAE_N_DOWN), !heard);
		if (!heard)
			assert_reversed(&x, OAE_E_DOWN);
	}
	/* By the freeze it is not later. */
	open_link(state);
	post(&x, 1, 0);
	asked = asks_at(OAE_ASK);
	runs_until();
	while (!l.down)
		fire_at(l.timer.at);
	assert_int_equal(now, asked + cfg.dead);
}

/* The peer hears a question of its own, and says so: n times, half a probe timeout apart. */
static void answers_often(unsigned int n)
{
	while (n--) {
		fire_at(now + PTO / 2);
		if (l.state != OAE_OPEN)
			return;
		clear();
		oae_link_ask(&l, &a);
		answers(0);
	}
}

/* A link anew, whose offer makes no progress for so many halves of a probe timeout. */
static void stuck_for(void **state, unsigned int halves)
{
	open_link(state);
	cfg.stall_min = PTO;
	post(&x, 3, 0);
	answers_often(halves);
}

/* Answers come, and nothing of what is offered moves: freeze 16 PTO after the first. */
LINK_TEST(test_no_progress)
{
	unsigned int what;

	post(&x, 3, 0);
	answers_often(32);
	fire_at(now + PTO / 2 - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* More is there; it is offered anew; another number is the next. */
	for (what = 0; what < 4; what++) {
		stuck_for(state, 31);
		if (what == 0)
			rcv(BUT(answer(OAE_ACK), f.have = 5, f.map = ~0U));
		if (what == 1) {
			refuse(OAE_R_BUSY);
			rcv(frame(OAE_READY));
		}
		if (what == 2) {
			rcv(BUT(answer(OAE_REFLECT), f.marks = 0));
			post(&y, 1, 0);
		}
		if (what == 3)
			rcv(BUT(answer(OAE_ACK), f.have = 0, f.map = ~0U));
		answers_often(32);
		assert_int_equal(l.state, what < 3 ? OAE_OPEN : OAE_SYNC_SENT);
		answers_often(1);
		assert_int_equal(l.state, OAE_SYNC_SENT);
	}

	/* Who stood still has seen nothing of it. */
	stuck_for(state, 20);
	fire_at(now + 40 * PTO);
	assert_int_equal(l.state, OAE_OPEN);
	answers_often(9);
	assert_int_equal(l.state, OAE_OPEN);
	answers_often(4);
	assert_int_equal(l.state, OAE_SYNC_SENT);

	/* Nor has who hears nothing since there was more. */
	stuck_for(state, 20);
	rcv(BUT(answer(OAE_ACK), f.have = 5, f.map = ~0U));
	for (what = 0; what < 20; what++)
		fire_at(now + PTO);
	assert_int_equal(l.state, OAE_OPEN);

	/* No answers, no hurry. */
	open_link(state);
	post(&x, 3, 0);
	fire_at(now + 16 * PTO);
	assert_int_equal(l.state, OAE_OPEN);
}

/* What is held is reflected again, then ever more slowly. Progress begins the row anew. */
LINK_TEST(test_row_of_reflects)
{
	static const unsigned int ms[] = { 8, 8, 16, 32, 64, 128, 256, 512, 1000 };
	const struct oae_send *s;
	u64 began;

	cfg.dead = 4000 * MS;
	rcv(slice(0, OAE_F_LAST));
	row(OAE_REFLECT, ms, 8);

	open_link(state);
	rcv(slice(0, OAE_F_LAST));
	asks_at(OAE_REFLECT);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.seq, l.rx + 1);
	assert_int_equal(s->frame.marks, 0);
	asks_at(OAE_REFLECT);
	asks_at(OAE_REFLECT);
	cfg.stall_min = PTO;
	commit(0);
	now += PTO;
	rcv(slice(0, OAE_F_LAST));
	began = now;
	assert_int_equal(asks_at(OAE_REFLECT), began + 2 * PTO);
	assert_int_equal(asks_at(OAE_REFLECT), began + 4 * PTO);
	assert_int_equal(asks_at(OAE_REFLECT), began + 8 * PTO);
}

/* A late timer reflects once. */
LINK_TEST(test_reflects_late)
{
	rcv(slice(0, OAE_F_LAST));
	fire_at(now + 90 * MS);
	assert_int_equal(a.nsends, 1);
	fire_at(now + 2 * PTO - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(now + 1);
	assert_int_equal(a.nsends, 1);
}

/* Overdue in two ways: frozen, and then nothing is offered. */
LINK_TEST(test_stalled_and_parked)
{
	unsigned int i;

	rcv(slice(0, OAE_F_LAST));
	for (i = 0; i < 8; i++) {
		asks_at(OAE_REFLECT);
		answers(0);
	}
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	fire_at(now + 150 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
	assert_true(sent(OAE_SYNC) && a.nsends == 1);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
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
	assert_int_equal(ncuts, 1);
	assert_non_null(sent(OAE_OFFER));
	assert_int_equal(asks_at(OAE_ASK), began + PTO);
}

/* READY lost: eight probe timeouts, those when it was parked. */
LINK_TEST(test_parked_in_time)
{
	u64 began, pto;

	now += 7 * MS;
	post(&x, 1, 0);
	began = now;
	refuse(OAE_R_BUSY);
	pto = oae_link_pto(&l);
	now += 4 * pto;
	rcv(frame(OAE_DONE));			/* the peer is heard */
	fire_at(now);
	while (!sent(OAE_OFFER))
		fire_at(l.timer.at);
	assert_int_equal(now, began + 8 * pto);
	assert_true(sent(OAE_OFFER) && !sent(OAE_SYNC));
}

LINK_TEST(test_probe_in_time)
{
	u64 began = now, asked;
	unsigned int i;

	cfg.dead = 450 * MS;			/* not a multiple of keepalive */
	while (!noted(OAE_N_PROBE))
		fire_at(l.timer.at);
	asked = now;
	assert_int_equal(asked, began + 100 * MS);
	for (i = 1; i <= 4; i++) {
		fire_at(l.timer.at);
		assert_true(noted(OAE_N_PROBE) && sent(OAE_SYNC));
		assert_int_equal(now, asked + i * 100 * MS);
	}
	fire_at(l.timer.at);
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

	fire_at(l.timer.at);
	while (!sent(opcode))
		fire_at(l.timer.at);
	return now - before;
}

/* After the probe timeout, then ever more slowly. */
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
	fire_at(l.timer.at);
	assert_int_equal(now, began + 400 * MS);
	assert_true(noted(OAE_N_DOWN) && !sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_SYNC), 24 * MS);	/* 100 after the last */
	assert_int_equal(next_sent(OAE_SYNC), 150 * MS);
	assert_int_equal(next_sent(OAE_SYNC), 150 * MS);

	open_link(state);			/* the same for another MTU */
	idle_until(now + 30 * MS);
	set_mtu(9000);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 9000);
	assert_int_equal(next_sent(OAE_SYNC), PTO);

	open_link(state);			/* and for another address */
	idle_until(now + 30 * MS);
	renamed();
	assert_int_equal(next_sent(OAE_SYNC), PTO);
}

/* A port that is up again: whatever failed before, failed for that. */
LINK_TEST(test_port_up)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		fail_once();
	port_down();
	assert_int_equal(next_sent(OAE_SYNC), 10 * PTO);
	now += PTO;
	clear();
	oae_link_port_up(&l, now, &a);
	assert_non_null(sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_SYNC), PTO);
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
		fire_at(l.timer.at);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(noted(OAE_N_DOWN), 0);	/* it was */
	assert_in_range(now, posted + 400 * MS, posted + 500 * MS);

	/* Also just before the link is forgotten. */
	idle_until(l.down_at + 3190 * MS);
	posted = now;
	post(&x, 1, 0);
	while (!count_op(OAE_OP_COMPLETE))
		fire_at(l.timer.at);
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
			rcv(slice(0, OAE_F_LAST));
		if (what == 2)
			post(&x, 1, OAE_POST_EXPRESS);
		if (what == 3) {
			post(&x, 1, 0);
			rcv(answer(OAE_REFLECT));
			peer_lag = 1;
		}
		port_down();
		while (!l.down)
			fire_at(l.timer.at);
		down = now;
		for (i = 0; i < 60 && l.state != OAE_CLOSED; i++)
			fire_at(l.timer.at);
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
		fire_at(l.timer.at);
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
		fire_at(l.timer.at);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	asks_for_ever();

	posted = now;
	post(&x, 1, 0);
	assert_non_null(sent(OAE_SYNC));
	while (!count_op(OAE_OP_COMPLETE))
		fire_at(l.timer.at);
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
		fire_at(l.timer.at);
	asks_for_ever();

	/* Wanted no more: it is forgotten like any other. */
	oae_link_want(&l, false);
	fire_at(l.timer.at);
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
		fire_at(l.timer.at);
	assert_int_equal(l.state, OAE_CLOSED);

	open_link(state);
	oae_link_want(&l, true);
	rcv(peer_closes(0, true));
	assert_int_equal(l.state, OAE_CLOSED);
}

/* An exchange of frames does not touch the timer, only looks far enough. */
LINK_TEST(test_never_later)
{
	unsigned int i;
	u64 at;

	round_trip(1);
	post(&x, 1, 0);
	at = l.timer.at;
	for (i = 0; i < 10; i++) {
		now += MS / 100;
		rcv(answer(OAE_REFLECT));
		assert_false(count_op(OAE_OP_TIMER));
		post(&x, 1, 0);
		assert_false(count_op(OAE_OP_TIMER));
		assert_int_equal(l.timer.at, at);
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

/* What is overdue, by a probe timeout that got shorter, each frame put off. */
LINK_TEST(test_overdue)
{
	unsigned int i;
	u64 at;

	post(&x, 1, 0);
	now += PTO / 2;
	cfg.stall_max = PTO / 4;
	rcv(slice(0, 0));
	at = l.timer.at;
	assert_int_equal(at, now + 1);
	for (i = 1; i < 10; i++) {
		now += 1000;
		rcv(slice(i, 0));
		assert_false(count_op(OAE_OP_TIMER));
		assert_int_equal(l.timer.at, at);
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
	fire_at(began + PTO - 1);
	assert_false(sent(OAE_SYNC));
	fire_at(began + PTO);
	assert_non_null(sent(OAE_SYNC));

	/* The same for what is offered, held, or is parked. */
	open_link(state);
	began = now;
	post(&x, 1, 0);
	rcv(slice(0, OAE_F_LAST));
	fire_at(began - 10 * MS);
	assert_int_equal(a.nsends, 0);
	refuse(OAE_R_BUSY);
	fire_at(began - 10 * MS);
	assert_int_equal(a.nsends, 0);
	fire_at(began + 2 * PTO - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(began + 2 * PTO);
	assert_non_null(sent(OAE_REFLECT));
}

/* Further behind: another clock, and all waits begin again. */
LINK_TEST(test_another_clock)
{
	u64 began;

	post(&x, 1, 0);
	began = now - 100000 * MS;
	fire_at(began);
	assert_int_equal(l.state, OAE_OPEN);
	assert_in_range(l.timer.at, began, began + PTO);
	assert_int_equal(asks_at(OAE_ASK), began + PTO);
	began -= 100000 * MS;
	fire_at(began);
	assert_false(l.down);
	while (!l.down)
		fire_at(l.timer.at);
	assert_int_equal(now, began + 400 * MS);
}

/* CLOSE again, ever more slowly; after a failure as for the first time. */
LINK_TEST(test_close_again)
{
	close_link();
	assert_non_null(sent(OAE_CLOSE));
	assert_int_equal(next_sent(OAE_CLOSE), PTO);
	assert_int_equal(next_sent(OAE_CLOSE), 2 * PTO);
	assert_int_equal(next_sent(OAE_CLOSE), 4 * PTO);
	anew();
	assert_true(sent(OAE_CLOSE) && !sent(OAE_SYNC));
	assert_int_equal(next_sent(OAE_CLOSE), PTO);

	/* What comes meanwhile is not held, and CLOSE goes on. */
	rcv(slice(0, OAE_F_LAST));
	assert_nothing_but(OAE_N_OLD_SEQ);
	assert_int_equal(next_sent(OAE_CLOSE), 2 * PTO);
	assert_int_equal(l.state, OAE_OPEN);
}

/* An answer that comes late counts from the first CLOSE. */
LINK_TEST(test_close_dead)
{
	u64 began = now;

	close_link();
	while (l.state != OAE_CLOSED)
		fire_at(l.timer.at);
	assert_int_equal(now, began + 400 * MS);
	assert_true(noted(OAE_N_DOWN) && count_op(OAE_OP_GONE));
}

/* A timer that fires early is put off; not because the clock is another one. */
LINK_TEST(test_early)
{
	assert_true(l.timer.at > now);
	assert_true(oae_link_early(&l, l.timer.at - 1));
	assert_false(oae_link_early(&l, l.timer.at));
	assert_true(oae_link_early(&l, now - 1000 * MS));
	assert_false(oae_link_early(&l, now - 1001 * MS));
}

/* However many failures there were in a row, no wait is shorter for that. */
LINK_TEST(test_failures_without_end)
{
	unsigned int i;
	u64 pto = 0;

	for (i = 0; i < 300; i++) {
		anew();
		assert_true(oae_link_pto(&l) >= pto);
		pto = oae_link_pto(&l);
	}
	assert_int_equal(pto, cfg.dead);
}

/* The dead time of a link that freezes counts from the first that was asked in vain: a probe. */
LINK_TEST(test_probed_then_asked)
{
	u64 began;

	do
		fire_at(l.timer.at);
	while (!noted(OAE_N_PROBE));
	began = now;
	post(&x, 1, 0);
	do
		fire_at(l.timer.at);
	while (!sent(OAE_ASK));
	assert_true(now > began);
	port_down();
	fire_at(began + cfg.dead - 1);
	assert_int_equal(noted(OAE_N_DOWN), 0);
	fire_at(began + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
}

UNIT_MAIN("times")
