// SPDX-License-Identifier: GPL-2.0
/*
 * Which paths a link has, for whom they are proven, and which are forgotten (doc/protocol.md
 * section 4.14). test_path_timed.c lets two links live by paths.
 */
#include "three_paths.h"

LINK_TEST(test_own_path)
{
	memset(&ps, 0xa5, sizeof(ps));
	oae_paths_init(&ps, &l, 1400, false, now);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	assert_true(ps.path[0].there && ps.path[0].proven && ps.path[0].good);
	assert_false(ps.path[0].up);
	assert_int_equal(ps.path[0].mtu, 1400);
	assert_int_equal(ps.path[0].heard, l.peer.ltag);
	assert_int_equal(ps.path[0].used_at, now);
	assert_false(ps.path[1].there);
}

LINK_TEST(test_add_and_forget)
{
	int i;

	oae_paths_init(&ps, &l, 1500, true, now);
	for (i = 1; i < OAE_PATHS_MAX; i++)
		assert_int_equal(oae_path_add(&ps, 1000 + i, i & 1), i);
	assert_int_equal(oae_path_add(&ps, 1500, true), -ENOSPC);
	assert_int_equal(ps.path[3].mtu, 1003);
	assert_true(ps.path[3].up && !ps.path[2].up);
	assert_false(ps.path[3].proven || ps.path[3].good);

	/* Who is not in use leaves that alone. */
	ps.path[3].missed = 7;
	ps.used = 4;
	oae_path_del(&ps, 3);
	assert_int_equal(ps.used, 4);
	assert_false(ps.path[3].there);
	assert_int_equal(oae_path_add(&ps, 1500, true), 3);
	assert_int_equal(ps.path[3].missed, 0);
	oae_path_del(&ps, 4);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	ps.home = 6;
	oae_path_del(&ps, 7);
	assert_int_equal(ps.home, 6);
	oae_path_del(&ps, 6);
	assert_int_equal(ps.home, OAE_PATH_OWN);
}

/* The answers to the probes of before prove nothing. */
static void assert_no_answer(void)
{
	assert_false(oae_path_answered(&ps, 1, 77, now));
	assert_false(oae_path_answered(&ps, 2, 77, now));
}

static void used_and_probed(void)
{
	three(NULL);
	assert_true(heard_is(1, frame(OAE_COMMIT), true));
	assert_true(heard_is(2, frame(OAE_COMMIT), true));
	ps.used = 1;
	oae_path_probed(&ps, 1, 77, now);
	oae_path_probed(&ps, 2, 77, now);
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.used, 1);
	assert_true(ps.path[1].proven && ps.path[2].heard);
}

/* For another peer only the path in use is proven, by which it was heard. */
PATH_TEST(test_another_peer)
{
	unsigned int i;

	used_and_probed();
	l.peer.inc++;
	l.peer.ltag++;
	ps.asked = 2;
	ps.path[2].far = 600;
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.path[2].far, 0);
	assert_int_equal(ps.used, 1);
	assert_int_equal(ps.asked, 1);
	for (i = 0; i <= 2; i++) {
		assert_true(ps.path[i].there);
		assert_int_equal(ps.path[i].proven, i == 1);
		assert_int_equal(ps.path[i].good, i == 1);
		assert_int_equal(ps.path[i].heard, i == 1 ? l.peer.ltag : 0);
	}
	assert_no_answer();
	oae_paths_pair(&ps, &l);
	prove(2);
	oae_paths_pair(&ps, &l);
	assert_true(ps.path[2].proven);
	/* An end that begins anew forgets its peer for a while: that is still the same. */
	l.peer.inc = 0;
	oae_paths_pair(&ps, &l);
	l.peer.inc = ps.peer_inc;
	oae_paths_pair(&ps, &l);
	assert_true(ps.path[1].proven && ps.path[2].proven);
	/* That it was heard there makes nothing good that has failed. */
	ps.path[1].good = false;
	l.peer.inc++;
	oae_paths_pair(&ps, &l);
	assert_true(ps.path[1].proven && !ps.path[1].good);
}

/* This end has begun anew: the peer is where it was, but knows nothing of that. */
PATH_TEST(test_own_anew)
{
	used_and_probed();
	l.inc++;
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.used, 1);
	assert_true(ps.path[0].proven && ps.path[1].proven && ps.path[2].proven);
	assert_no_answer();
	/* Once: what is asked from now on is answered. */
	oae_path_probed(&ps, 2, 78, now);
	oae_paths_pair(&ps, &l);
	assert_true(oae_path_answered(&ps, 2, 78, now));
}

/* The path by which a new incarnation has resolved is in use, and it alone is proven. */
PATH_TEST(test_resolved_anew)
{
	assert_int_equal(ps.used, OAE_PATH_OWN);
	l.peer.inc++;
	assert_int_equal(ps.home, OAE_PATH_OWN);
	assert_true(stepped(2, frame(OAE_SYNC_ACK), OAE_SYNC_SENT));
	assert_int_equal(ps.used, 2);
	assert_int_equal(ps.home, 2);
	assert_int_equal(ps.path[2].used_at, now);
	assert_true(ps.path[2].proven && !ps.path[0].proven && !ps.path[1].proven);
	/* And the own one has to be proven, like any other. */
	assert_true(heard_is(0, frame(OAE_OFFER), false));
	now += KEEPALIVE;
	assert_true(oae_path_due(&ps, 0, &l, now));
	/* A link that is closed forgets its peer, and goes nowhere for that. */
	l.state = OAE_CLOSED;
	l.peer.inc = 0;
	assert_false(stepped(1, frame(OAE_CLOSE), OAE_OPEN));
	assert_int_equal(ps.used, 2);
}

/* The peer is heard, and does not answer there. */
PATH_TEST(test_nobody)
{
	ps.path[1].proven = false;
	ps.path[1].missed = 2;
	l.heard_at = now;
	assert_true(oae_path_nobody(&ps, 1, &l, now));
	assert_true(oae_path_nobody(&ps, 1, &l, now + KEEPALIVE));
	assert_false(oae_path_nobody(&ps, 1, &l, now + 2 * KEEPALIVE));
	ps.path[1].missed = 1;
	assert_false(oae_path_nobody(&ps, 1, &l, now));
	ps.path[1].missed = 2;
	ps.path[1].proven = true;
	assert_false(oae_path_nobody(&ps, 1, &l, now));
	ps.path[1].proven = false;
	l.state = OAE_SYNC_SENT;
	assert_false(oae_path_nobody(&ps, 1, &l, now));
}

/* A path whose address here has changed: nothing goes by it, and it is probed at once. */
PATH_TEST(test_renamed)
{
	unsigned int i;

	oae_path_probed(&ps, 0, 77, now);
	oae_path_probed(&ps, 0, 78, now);
	assert_int_not_equal(ps.path[0].heard, 0);
	oae_path_renamed(&ps, 0);
	assert_int_equal(ps.path[0].heard, 0);
	assert_false(ps.path[0].proven || ps.path[0].good || ps.path[0].missed);
	assert_false(oae_path_answered(&ps, 0, 78, now));
	assert_true(oae_path_due(&ps, 0, &l, now));
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 0);	/* a probe */
	for (i = 1; i <= 2; i++)
		oae_path_renamed(&ps, i);
	l.state = OAE_SYNC_SENT;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0);
	l.down = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), ALL);
	/* Or by the one in use, if none is up. */
	ps.used = 1;
	for (i = 0; i <= 2; i++)
		ps.path[i].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 1);
}

PATH_TEST(test_moves)
{
	struct oae_path p;
	unsigned int used;

	for (used = 0; used <= 2; used++) {
		three(NULL);
		ps.used = used;
		ps.asked = used;
		ps.why = OAE_WHY_LOSS;
		ps.path[2].mtu = 1234;
		p = ps.path[2];
		assert_int_equal(oae_paths_move(&ps, 2, now), used == 0);
		assert_int_equal(ps.used, used == 1 ? 1 : OAE_PATH_OWN);
		assert_int_equal(ps.asked, used == 1 ? 1 : OAE_PATH_OWN);
		assert_int_equal(ps.why, used == 0 ? OAE_WHY_CARRIER : OAE_WHY_LOSS);
		assert_false(ps.path[2].there);
		assert_int_equal(ps.path[0].mtu, 1234);
		assert_int_equal(ps.path[0].rtt, p.rtt);
		assert_int_equal(ps.path[0].used_at, used == 0 ? now : p.used_at);
		assert_true(ps.path[1].there);
	}
}

PATH_TEST(test_hopeless)
{
	ps.path[1].missed = 249;
	assert_false(oae_path_hopeless(&ps, 1, &l));
	ps.path[1].missed = 250;
	assert_true(oae_path_hopeless(&ps, 1, &l));
	ps.used = 1;
	assert_false(oae_path_hopeless(&ps, 1, &l));
	ps.used = 2;
	ps.path[0].missed = 255;
	assert_false(oae_path_hopeless(&ps, 0, &l));
	ps.path[5].missed = 255;
	assert_false(oae_path_hopeless(&ps, 5, &l));
}

/* Of what is not proven as many probes as fit the dead time are waited for, 3 to 8. */
PATH_TEST(test_hopeless_never)
{
	static const struct { u64 dead; u8 n; } rows[] = {
		{ KEEPALIVE, 3 }, { 3 * KEEPALIVE, 3 }, { 5 * KEEPALIVE, 5 },
		{ 5 * KEEPALIVE + 1, 6 }, { 8 * KEEPALIVE, 8 }, { 100 * KEEPALIVE, 8 },
	};
	unsigned int i, path;

	ps.used = 2;
	cfg.keepalive = KEEPALIVE;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		cfg.dead = rows[i].dead;
		for (path = 0; path < 2; path++) {
			ps.path[path].proven = false;
			ps.path[path].missed = rows[i].n - 1;
			assert_false(oae_path_hopeless(&ps, path, &l));
			ps.path[path].missed++;
			assert_true(oae_path_hopeless(&ps, path, &l));
		}
	}
}

/* One that was never in use is another cable perhaps; one that was is where the peer is not. */
PATH_TEST(test_was_used)
{
	ps.path[1].proven = false;
	assert_false(oae_path_was_used(&ps, 1));
	oae_path_use(&ps, 1, OAE_WHY_PEER, now);
	assert_true(oae_path_was_used(&ps, 1));
	ps.path[1].proven = true;
	assert_false(oae_path_was_used(&ps, 1));
	assert_false(oae_path_was_used(&ps, 0));
	ps.path[0].proven = false;
	assert_true(oae_path_was_used(&ps, 0));
}

PATH_TEST(test_makes_way)
{
	unsigned int i;

	assert_int_equal(oae_path_spare(&ps, true), OAE_PATHS_MAX);
	/* Silent for a short time. */
	ps.path[1].good = false;
	ps.path[1].missed = 7;
	ps.path[0].good = false;
	ps.path[0].missed = 20;
	assert_int_equal(oae_path_spare(&ps, false), OAE_PATHS_MAX);
	/* What is proven just now is better. */
	assert_int_equal(oae_path_spare(&ps, true), 1);
	ps.path[1].good = true;
	assert_int_equal(oae_path_spare(&ps, true), OAE_PATHS_MAX);
	ps.path[1].good = false;
	ps.path[1].missed = 8;
	assert_int_equal(oae_path_spare(&ps, true), 1);
	assert_int_equal(oae_path_spare(&ps, false), 1);
	/* An end asks by it. */
	ps.used = 1;
	assert_int_equal(oae_path_spare(&ps, true), OAE_PATHS_MAX);
	ps.used = 0;
	ps.asked = 1;
	assert_int_equal(oae_path_spare(&ps, true), OAE_PATHS_MAX);
	/* Until it is gone. */
	oae_path_del(&ps, 1);
	assert_int_equal(ps.asked, ps.used);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	ps.path[1].proven = true;
	ps.path[1].missed = 8;
	ps.used = 1;
	ps.asked = 1;
	/* What is only claimed makes way for what is proven. */
	ps.path[2].good = false;
	ps.path[2].proven = false;
	for (i = 0; i < 2; i++) {
		assert_int_equal(oae_path_spare(&ps, true), 2);
		assert_int_equal(oae_path_spare(&ps, false), OAE_PATHS_MAX);
		ps.path[2].missed = 20;
	}
	/* And does so before one that was proven. */
	ps.used = 0;
	ps.asked = 0;
	ps.path[1].missed = 7;
	assert_int_equal(oae_path_spare(&ps, true), 2);
}

UNIT_MAIN("path")
