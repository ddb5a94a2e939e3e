// SPDX-License-Identifier: GPL-2.0
/*
 * Which path is in use, and why (doc/protocol.md section 4.14).
 */
#include "three_paths.h"

PATH_TEST(test_port_fails)
{
	/* What is not in use: it is not good, and that is all. */
	assert_false(oae_path_failed(&ps, 1, &l, now));
	assert_false(ps.path[1].good);
	assert_int_equal(ps.path[1].wait, 0);
	assert_int_equal(ps.used, 0);

	/* That in use: another one that is good is. */
	oae_path_probed(&ps, 0, 9, now);
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_int_equal(ps.used, 2);
	assert_int_equal(ps.path[2].used_at, now);
	assert_false(ps.path[0].good);
	assert_int_equal(ps.path[0].not_before, now + KEEPALIVE);
	/* What is under way was sent before. */
	assert_false(oae_path_answered(&ps, 0, 9, now));
	/* No other is good: it stays. */
	assert_false(oae_path_failed(&ps, 2, &l, now));
	assert_int_equal(ps.used, 2);
}

/* The other one: there, up, proven, good, and then the greatest MTU. */
PATH_TEST(test_fails_over_to)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		three(NULL);
		if (i == 0)
			ps.path[1].there = false;
		if (i == 1)
			ps.path[1].up = false;
		if (i == 2)
			ps.path[1].proven = false;
		if (i == 3)
			ps.path[1].good = false;
		if (i == 4)
			ps.path[2].mtu = 1501;
		assert_true(oae_path_failed(&ps, 0, &l, now));
		assert_int_equal(ps.used, 2);
	}
	three(NULL);
	ps.path[1].mtu = 1501;
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_int_equal(ps.used, 1);
	three(NULL);
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_int_equal(ps.used, 1);
}

/* A path in use fails again and again: the wait doubles, and is forgotten in time. */
PATH_TEST(test_wait)
{
	u64 wait = KEEPALIVE;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ps.used = 0;
		ps.path[0].used_at = now;
		ps.path[1].good = true;
		now += 16 * KEEPALIVE - 1;
		assert_true(oae_path_failed(&ps, 0, &l, now));
		assert_int_equal(ps.path[0].wait, wait);
		assert_int_equal(ps.path[0].not_before, now + wait);
		if (wait < 64 * KEEPALIVE)
			wait *= 2;
	}
	assert_int_equal(wait, 64 * KEEPALIVE);
	ps.used = 0;
	ps.path[0].used_at = now;
	now += 16 * KEEPALIVE;
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_int_equal(ps.path[0].wait, KEEPALIVE);
}

static bool back(void)
{
	return oae_paths_back(&ps, &l, now);
}

/* Three paths, of which any may be preferred. */
static void measured(void)
{
	three(NULL);
	prove(0);
}

/* Links of a pair spread. */
PATH_TEST(test_spread)
{
	unsigned int used;

	for (used = 0; used < 3; used++) {
		for (l.vc = 0; l.vc < 12; l.vc++) {
			u8 vc = l.vc;

			measured();
			l.vc = vc;
			ps.used = used;
			assert_int_equal(back(), used != vc % 3u);
			assert_int_equal(ps.used, vc % 3u);
			if (used != vc % 3u)
				assert_int_equal(ps.path[vc % 3u].used_at, now);
		}
	}
	/* Among those that are longest. */
	measured();
	l.vc = 4;
	ps.path[0].mtu = 1499;
	assert_true(back());
	assert_int_equal(ps.used, 1);
	l.vc = 5;
	now += KEEPALIVE;
	assert_true(back());
	assert_int_equal(ps.used, 2);
	ps.path[1].mtu = 1501;
	now += KEEPALIVE;
	assert_true(back());
	assert_int_equal(ps.used, 1);
	/* A path carries what the ports at both its ends do. */
	ps.path[1].far = 1400;
	now += KEEPALIVE;
	assert_true(back());
	assert_int_equal(ps.used, 2);
	assert_int_equal(ps.why, OAE_WHY_MTU);
	ps.path[1].far = 9000;
	now += KEEPALIVE;
	assert_true(back());
	assert_int_equal(ps.used, 1);
}

/* A path that has failed, and carries another length, has to be steady first. */
PATH_TEST(test_worth)
{
	measured();
	l.vc = 1;
	ps.path[2].good = false;
	ps.path[1].rank = OAE_PATH_PREFERRED;
	ps.path[1].wait = KEEPALIVE;
	ps.path[1].good_at = now - 15 * KEEPALIVE;
	ps.path[1].far = 1400;
	assert_false(back());
	ps.path[1].far = 1500;
	assert_true(back());
}

PATH_TEST(test_when_it_goes_back)
{
	measured();
	l.vc = 1;
	/* A peer that takes no paths would not know. */
	l.peer.paths = false;
	assert_false(back());
	l.peer.paths = true;
	l.state = OAE_SYNC_SENT;
	assert_false(back());
	l.state = OAE_OPEN;
	/* Not at once after another change. */
	ps.path[0].used_at = now - KEEPALIVE / 2 + 1;
	assert_false(back());
	ps.path[0].used_at = now - KEEPALIVE / 2;
	assert_true(back());
	assert_int_equal(ps.used, 1);
}

/* What a path must be to be preferred: else the next one is. */
PATH_TEST(test_fine)
{
	unsigned int i;

	for (i = 0; i < 7; i++) {
		measured();
		l.vc = 1;
		switch (i) {
		case 0:
			ps.path[1].there = false;
			break;
		case 1:
			ps.path[1].up = false;
			break;
		case 2:
			ps.path[1].proven = false;
			break;
		case 3:
			ps.path[1].good = false;
			break;
		case 4:
			ps.path[1].rtt = 0;
			break;
		case 5:
			ps.path[1].not_before = now + 1;
			break;
		}
		assert_true(back());
		assert_int_equal(ps.used, i < 6 ? 2 : 1);
	}
	/* That in use needs no round trip, and has no wait. */
	measured();
	ps.path[0].rtt = 0;
	ps.path[0].not_before = now + 1;
	l.vc = 0;
	assert_false(back());
	/* But it must be good. */
	ps.path[0].good = false;
	assert_true(back());
	assert_int_equal(ps.used, 1);
	/* Else a shorter one is better. */
	measured();
	l.vc = 0;
	ps.path[1].mtu = 1499;
	ps.path[2].mtu = 1499;
	assert_false(back());
	ps.path[0].good = false;
	assert_true(back());
	assert_int_equal(ps.used, 1);
	/* None is. */
	ps.path[1].good = false;
	ps.path[2].good = false;
	now += KEEPALIVE;
	assert_false(back());
	assert_int_equal(ps.used, 1);
}

/* It fails, another is used, and after its wait the link is back. */
PATH_TEST(test_back_after_a_while)
{
	measured();
	l.vc = 0;
	assert_true(oae_path_failed(&ps, 0, &l, now));
	prove(0);
	l.vc = 3;	/* of two the second, of three the first */
	now = ps.path[0].not_before - 1;
	back();
	assert_int_equal(ps.used, 2);
	now += KEEPALIVE;
	assert_true(back());
	assert_int_equal(ps.used, 0);
}

static unsigned int goes_to(void)
{
	now += 10 * KEEPALIVE;
	oae_paths_back(&ps, &l, now);
	return ps.used;
}

PATH_TEST(test_lossy)
{
	prove(0);
	l.vc = 0;
	assert_int_equal(goes_to(), 0);
	ps.path[0].loss.lossy = true;
	assert_int_equal(goes_to(), 1);
	assert_int_equal(ps.why, OAE_WHY_LOSS);
	/* It is lossy still. */
	assert_int_equal(goes_to(), 1);
	ps.path[1].loss.lossy = true;
	assert_int_equal(goes_to(), 2);
	/* All are: it stays. */
	ps.path[2].loss.lossy = true;
	l.vc = 2;
	assert_int_equal(goes_to(), 2);
	/* Tried again. */
	ps.path[0].loss = (struct oae_path_loss){ .row = 1 };
	assert_int_equal(goes_to(), 0);
	assert_int_equal(ps.why, OAE_WHY_LOSS);
	ps.path[2].loss = (struct oae_path_loss){ .row = 1 };
	l.vc = 1;
	assert_int_equal(goes_to(), 2);
	assert_int_equal(ps.why, OAE_WHY_BACK);
}

PATH_TEST(test_lossy_and_shorter)
{
	l.vc = 0;
	ps.path[0].loss.lossy = true;
	ps.path[1].mtu = 1499;
	ps.path[2].mtu = 1499;
	assert_int_equal(goes_to(), 0);
	/* By hand it may. */
	ps.path[2].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 2);
	assert_int_equal(ps.why, OAE_WHY_RANK);
	/* And if that in use has failed. */
	ps.path[2].rank = OAE_PATH_NORMAL;
	ps.path[2].good = false;
	ps.path[0].good = false;
	assert_int_equal(goes_to(), 1);
	/* A longer one is worth going to, lossy or not. */
	ps.path[2].good = true;
	ps.path[2].mtu = 1600;
	assert_int_equal(goes_to(), 2);
	assert_int_equal(ps.why, OAE_WHY_MTU);
	/* A port that is down: rather one that loses frames than none, and rather another. */
	ps.path[0].good = true;
	assert_true(oae_path_failed(&ps, 2, &l, now));
	assert_int_equal(ps.used, 1);
	assert_true(oae_path_failed(&ps, 1, &l, now));
	assert_int_equal(ps.used, 0);
	assert_int_equal(ps.why, OAE_WHY_CARRIER);
}

PATH_TEST(test_rank)
{
	l.vc = 1;
	ps.path[0].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 0);
	ps.path[2].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 2);
	assert_int_equal(ps.why, OAE_WHY_SPREAD);
	/* A longer one is none the better. */
	ps.path[1].mtu = 9000;
	assert_int_equal(goes_to(), 2);
	ps.path[0].rank = OAE_PATH_NORMAL;
	ps.path[2].rank = OAE_PATH_AVOID;
	assert_int_equal(goes_to(), 1);
	assert_int_equal(ps.why, OAE_WHY_RANK);
	/* What is to be avoided is not used for a loss, but if all else fails. */
	ps.path[1].loss.lossy = true;
	ps.path[0].rank = OAE_PATH_AVOID;
	ps.path[2].mtu = 9000;
	assert_int_equal(goes_to(), 1);
	assert_true(oae_path_failed(&ps, 1, &l, now));
	assert_int_equal(ps.used, 2);
	/* One that is preferred is left for what it loses. */
	three(NULL);
	prove(0);
	l.vc = 0;
	ps.path[1].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 1);
	ps.path[1].loss.lossy = true;
	assert_int_equal(goes_to(), 0);
}

PATH_TEST(test_why)
{
	assert_int_equal(ps.why, OAE_WHY_OWN);
	l.peer.paths = false;
	assert_true(stepped(1, frame(OAE_COMMIT), OAE_OPEN));
	l.peer.paths = true;
	assert_int_equal(ps.why, OAE_WHY_PEER);
	assert_true(stepped(2, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
	assert_int_equal(ps.why, OAE_WHY_SILENCE);
	ps.path[2].up = false;
	assert_true(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
	assert_int_equal(ps.why, OAE_WHY_CARRIER);
	oae_path_del(&ps, 1);
	assert_int_equal(ps.why, OAE_WHY_OWN);
	ps.used = 2;
	ps.why = OAE_WHY_BACK;
	l.peer.inc++;
	assert_true(stepped(0, frame(OAE_SYNC_ACK), OAE_SYNC_SENT));
	assert_int_equal(ps.why, OAE_WHY_PEER);
}

/* --- a path is silent --- */

/* Something is offered, and the timer has asked for it so often. */
static void asked(unsigned int n)
{
	cfg.stall_min = 8 * MS;
	l.rtt.longest[0] = 5 * MS;
	l.rtt.since = now;
	post(&x, 1, 0);
	while (n--) {
		do
			fire_at(l.timer.at);
		while (!sent(OAE_ASK));
	}
}

/* An answer by a path: when is the path in use left, if it stays silent? */
static u64 answers(unsigned int i, struct oae_frame f)
{
	return oae_path_answers(&ps, i, &l, &f, now);
}

static bool silent(void)
{
	return oae_paths_silent(&ps, &l, now);
}

/* Another path answers what went by all: that in use has as long as a round trip may take. */
PATH_TEST(test_silent)
{
	asked(2);
	assert_int_equal(answers(2, answer(OAE_ACK)), now + 5 * MS);
	now += 5 * MS - 1;
	assert_false(silent());
	assert_int_equal(ps.used, 0);
	now++;
	assert_true(silent());
	assert_int_equal(ps.used, 2);
	assert_int_equal(ps.why, OAE_WHY_SILENCE);
	assert_int_equal(ps.path[2].used_at, now);
	assert_false(ps.path[0].good);
	assert_int_equal(ps.path[0].not_before, now + KEEPALIVE);
	assert_int_equal(l.state, OAE_OPEN);
	assert_false(silent());

	/* But no longer than the probe timeout. */
	three(NULL);
	asked(2);
	l.rtt.longest[0] = 20 * MS;
	assert_int_equal(answers(1, answer(OAE_ACK)), now + 8 * MS);
	/* If none is known that is how long. */
	ps.leave_at = 0;
	l.rtt.longest[0] = 0;
	assert_int_equal(answers(1, answer(OAE_ACK)), now + 8 * MS);
	/* The first that answers counts. */
	now += MS;
	assert_int_equal(answers(2, answer(OAE_ACK)), 0);
	now += 7 * MS;
	assert_true(silent());
	assert_int_equal(ps.used, 1);
}

/* What says nothing of the path in use: no answer, an old one, of another run, or asked once. */
PATH_TEST(test_not_silent)
{
	struct oae_frame good;

	asked(1);
	assert_int_equal(answers(2, answer(OAE_ACK)), 0);
	three(NULL);
	/* Heard just now: no probe is out. */
	rcv(frame(OAE_COMMIT));
	asked(2);
	good = answer(OAE_ACK);
	assert_int_equal(answers(2, frame(OAE_COMMIT)), 0);
	assert_int_equal(answers(2, frame(OAE_SYNC_ACK)), 0);
	assert_int_equal(answers(2, BUT(good, f.ack = l.number.acked)), 0);
	assert_int_equal(answers(2, BUT(good, f.ack++)), 0);
	assert_int_equal(answers(2, BUT(good, f.src_ltag++)), 0);
	assert_int_equal(answers(2, BUT(good, f.dst_ltag++)), 0);
	l.peer.paths = false;
	assert_int_equal(answers(2, good), 0);
	l.peer.paths = true;
	ps.path[2].up = false;
	assert_int_equal(answers(2, good), 0);
	ps.path[2].up = true;
	now += 100 * MS;
	assert_false(silent());
	assert_int_not_equal(answers(2, good), 0);
}

/* A link that is idle: its second probe goes by all, and another path answers that. */
PATH_TEST(test_silent_and_idle)
{
	unsigned int n;

	cfg.stall_min = 8 * MS;
	assert_int_equal(answers(2, frame(OAE_SYNC_ACK)), 0);
	for (n = 0; n < 2;) {
		fire_at(l.timer.at);
		if (sent(OAE_SYNC))
			assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), n++ ? ALL : 1 << 0);
	}
	/* By the path in use: it is not silent. */
	assert_int_equal(answers(0, frame(OAE_SYNC_ACK)), 0);
	assert_int_equal(answers(2, BUT(frame(OAE_SYNC_ACK), f.src_ltag++)), 0);
	assert_int_equal(answers(2, frame(OAE_SYNC_ACK)), now + cfg.keepalive / 4);
	/* That one answers later: it is not silent either. */
	assert_int_equal(answers(0, frame(OAE_SYNC_ACK)), 0);
	assert_int_equal(ps.leave_at, 0);
	/* The peer's own probe says something by another path, by this one nothing. */
	cfg.stall_min = cfg.keepalive / 2;
	cfg.stall_max = cfg.keepalive;
	assert_int_equal(answers(2, frame(OAE_SYNC)), now + cfg.keepalive / 2);
	assert_int_equal(answers(0, frame(OAE_SYNC)), 0);
	now = ps.leave_at;
	assert_true(silent());
	assert_int_equal(ps.used, 2);
	assert_int_equal(l.state, OAE_OPEN);
	/* What was heard ends the row. */
	rcv(frame(OAE_SYNC_ACK));
	do
		fire_at(l.timer.at);
	while (!sent(OAE_SYNC));
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 1 << 2);
}

/* The path in use answers in time, if only what was asked before. */
PATH_TEST(test_not_silent_any_more)
{
	asked(2);
	assert_int_not_equal(answers(2, answer(OAE_ACK)), 0);
	assert_int_equal(answers(0, frame(OAE_COMMIT)), 0);
	assert_int_equal(answers(0, frame(OAE_READY)), 0);
	assert_int_equal(answers(0, BUT(answer(OAE_ACK), f.src_ltag++)), 0);
	assert_int_not_equal(ps.leave_at, 0);
	assert_int_equal(answers(0, BUT(answer(OAE_ACK), f.ack = l.number.acked)), 0);
	now += 100 * MS;
	assert_false(silent());
	assert_int_equal(ps.used, 0);
}

/* Meanwhile the other one is gone, or down, or in use, or the link is not open. */
PATH_TEST(test_silent_not_left)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		three(NULL);
		asked(2);
		assert_int_not_equal(answers(2, answer(OAE_ACK)), 0);
		switch (i) {
		case 0:
			oae_path_del(&ps, 2);
			ps.path[2] = ps.path[1];
			break;
		case 1:
			ps.path[2].up = false;
			break;
		case 2:
			ps.path[2].proven = false;
			break;
		case 3:
			oae_path_use(&ps, 2, OAE_WHY_RANK, now);
			break;
		case 4:
			port_down();
			break;
		case 5:
			oae_path_use(&ps, 1, OAE_WHY_RANK, now);
			break;
		}
		now += 8 * MS;
		assert_false(silent());
		assert_int_equal(ps.used, i == 3 ? 2 : i == 5);
		/* Nor once it is again as it was. */
		ps.path[2].up = true;
		ps.path[2].proven = true;
		assert_false(silent());
	}
}

/* In another run it was not asked. */
PATH_TEST(test_silent_in_the_run_before)
{
	asked(2);
	assert_int_not_equal(answers(2, answer(OAE_ACK)), 0);
	anew();
	l.paths = true;
	l.peer.paths = true;
	assert_false(stepped(0, frame(OAE_SYNC_ACK), OAE_SYNC_SENT));
	now += 8 * MS;
	assert_false(silent());
	assert_int_equal(ps.used, 0);
}

/* By another clock the path in use is not waited for: the next answer begins that anew. */
PATH_TEST(test_silent_by_another_clock)
{
	asked(2);
	assert_int_not_equal(answers(2, answer(OAE_ACK)), 0);
	now = oae_paths_now(&ps, &l, now - 100000 * MS);
	assert_int_equal(answers(2, answer(OAE_ACK)), now + 5 * MS);
}

/* A path that carries more only waits, once it has failed: to go there is no freeze. */
PATH_TEST(test_back_to_what_carries_more)
{
	l.vc = 0;
	ps.path[1].mtu = 9000;
	assert_int_equal(goes_to(), 1);
	assert_true(oae_path_failed(&ps, 1, &l, now));
	prove(1);
	now = ps.path[1].not_before - 1;
	assert_false(back());
	now++;
	assert_true(back());
	assert_int_equal(ps.used, 1);
}

/* One that carries less has to be steady, since it may fail again, and each time is a freeze. */
PATH_TEST(test_back_to_what_carries_less)
{
	l.vc = 0;
	ps.path[1].mtu = 1400;
	ps.path[1].rank = OAE_PATH_PREFERRED;
	/* It never failed. */
	assert_int_equal(goes_to(), 1);
	assert_true(oae_path_failed(&ps, 1, &l, now));
	now += KEEPALIVE;
	prove(1);
	assert_int_equal(ps.path[1].good_at, now);
	prove(1);
	assert_int_equal(ps.path[1].good_at, now - MS);
	now = ps.path[1].good_at + 16 * KEEPALIVE - 1;
	assert_false(back());
	now++;
	assert_true(back());
	assert_int_equal(ps.used, 1);
}

/* A path carries what gets through there, if that is less than the ports at both its ends do. */
PATH_TEST(test_what_gets_through)
{
	prove(0);
	l.vc = 0;
	ps.path[0].pmtu = 1280;
	ps.path[2].pmtu = 1400;
	ps.path[1].far = 1400;
	assert_int_equal(goes_to(), 1);
	assert_int_equal(ps.why, OAE_WHY_MTU);
	/* Or more than a port that carries less by now. */
	ps.path[0].pmtu = 1500;
	ps.path[0].mtu = 1000;
	assert_int_equal(goes_to(), 1);
	ps.path[0].mtu = 1500;
	assert_int_equal(goes_to(), 0);
}

UNIT_MAIN("path_use")
