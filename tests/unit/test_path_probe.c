// SPDX-License-Identifier: GPL-2.0
/*
 * Probes of paths (doc/protocol.md section 4.14).
 */
#include "three_paths.h"

/* What is not proven is probed often while the link is frozen, and not down. */
PATH_TEST(test_in_a_hurry)
{
	ps.path[1].proven = false;
	oae_path_probed(&ps, 1, 77, now);
	oae_path_probed(&ps, 2, 77, now);
	now += KEEPALIVE / 4;
	assert_false(oae_path_due(&ps, 1, &l, now));
	l.state = OAE_SYNC_SENT;
	assert_true(oae_path_due(&ps, 1, &l, now));
	assert_false(oae_path_due(&ps, 2, &l, now));
	l.down = true;
	assert_false(oae_path_due(&ps, 1, &l, now));
}

PATH_TEST(test_due)
{
	ps.path[1].probed_at = now;
	now += KEEPALIVE - KEEPALIVE / 8;
	assert_true(oae_path_due(&ps, 1, &l, now));
	assert_false(oae_path_due(&ps, 1, &l, now - 1));
	/* That in use is not. */
	ps.used = 1;
	assert_false(oae_path_due(&ps, 1, &l, now));
	assert_true(oae_path_due(&ps, 0, &l, now));
	ps.used = 0;
	/* Not proven yet: just that is what it is for. */
	ps.path[1].proven = false;
	assert_true(oae_path_due(&ps, 1, &l, now));
	ps.path[1].up = false;
	assert_false(oae_path_due(&ps, 1, &l, now));
	ps.path[1].up = true;
	/* One that was never probed is at once, however early it is. */
	ps.path[1].probed_at = 0;
	assert_true(oae_path_due(&ps, 1, &l, 5));
	oae_path_del(&ps, 1);
	ps.path[1].up = true;
	assert_false(oae_path_due(&ps, 1, &l, now));
}

PATH_TEST(test_probe)
{
	ps.path[1].proven = false;
	ps.path[1].good = false;
	oae_path_probed(&ps, 1, 21, now);
	assert_int_equal(ps.path[1].probed_at, now);
	/* No answer, or that to another. */
	assert_false(oae_path_answered(&ps, 1, 20, now));
	assert_false(oae_path_answered(&ps, 1, 0, now));
	assert_false(oae_path_answered(&ps, 2, 21, now));
	assert_false(ps.path[1].proven);
	assert_true(oae_path_answered(&ps, 1, 21, now + 5));
	assert_true(ps.path[1].proven && ps.path[1].good);
	assert_int_equal(ps.path[1].rtt, 5);
	/* Once; and nothing was asked. */
	assert_false(oae_path_answered(&ps, 1, 21, now + 6));
	assert_false(oae_path_answered(&ps, 1, 0, now + 6));
	/* Measured is not 0, whatever the clock says. */
	oae_path_probed(&ps, 1, 22, now);
	assert_true(oae_path_answered(&ps, 1, 22, now - 5));
	assert_int_equal(ps.path[1].rtt, 1);
}

PATH_TEST(test_misses)
{
	unsigned int i;

	oae_path_probed(&ps, 1, 30, now);
	assert_int_equal(ps.path[1].missed, 0);
	oae_path_probed(&ps, 1, 31, now);
	assert_int_equal(ps.path[1].missed, 1);
	assert_true(ps.path[1].good);
	/* The answer to one before is too late. */
	assert_false(oae_path_answered(&ps, 1, 30, now));
	oae_path_probed(&ps, 1, 32, now);
	assert_false(ps.path[1].good);
	assert_true(ps.path[1].proven);
	assert_true(oae_path_answered(&ps, 1, 32, now));
	assert_int_equal(ps.path[1].missed, 0);
	assert_true(ps.path[1].good);
	for (i = 0; i < 300; i++)
		oae_path_probed(&ps, 1, 40 + i, now);
	assert_int_equal(ps.path[1].missed, 255);
}

/* Who is heard there need not hear this end: only an answer says that. */
PATH_TEST(test_heard_and_silent)
{
	unsigned int i;

	prove(0);
	for (i = 0; i < 3; i++) {
		oae_path_probed(&ps, 1, 30 + i, now);
		assert_true(heard_is(1, frame(OAE_SYNC), true));
		assert_true(heard_is(1, frame(OAE_REFLECT), true));
	}
	assert_false(ps.path[1].good);
	assert_int_equal(ps.path[1].missed, 2);
	/* So it is none of those that are to be chosen from. */
	l.senior = true;
	l.vc = 1;
	assert_true(oae_paths_back(&ps, &l, now));
	assert_int_equal(ps.used, 2);
	assert_true(oae_path_failed(&ps, 2, &l, now));
	assert_int_equal(ps.used, 0);
}

PATH_TEST(test_probes_that_are_missed)
{
	unsigned int i;

	/* What is silent altogether counts until it is. */
	for (i = 0; i < 20; i++)
		oae_path_probed(&ps, 1, 1 + i, now);
	assert_int_equal(ps.path[1].loss.probes, 16);
	assert_true(oae_path_answered(&ps, 1, 20, now));
	assert_int_equal(ps.path[1].loss.probes, 15);
	/* Every third. */
	for (i = 0; i < 30; i++) {
		oae_path_probed(&ps, 2, 100 + i, now);
		if (i % 3)
			assert_true(oae_path_answered(&ps, 2, 100 + i, now));
	}
	assert_true(ps.path[2].loss.lossy);
	assert_true(ps.path[2].good);
}

UNIT_MAIN("path_probe")
