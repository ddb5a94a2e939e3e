// SPDX-License-Identifier: GPL-2.0
/* Paths (4.14): what is said by another path than the own, and what is believed there. */
#include "one_link.h"
#include "../../modoae/link/path.h"

static struct oae_paths ps;

/* A second path, proven. */
static unsigned int other(void)
{
	int i;

	oae_paths_init(&ps, &l, 1500, true, now);
	i = oae_path_add(&ps, 1500, true);
	assert_int_equal(i, 1);
	ps.path[i].proven = true;
	return i;
}

/*
 * An OPEN end that has heard of a freeze, and answered SYNC_CHK, does not name the new
 * ltag in a probe: its peer would resolve by counters that still move.
 */
LINK_TEST(test_open_names_what_it_knows)
{
	unsigned int i = other();
	struct oae_frame f = BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0);

	assert_int_equal(oae_path_heard(&ps, i, &l, &f), true);
	rcv(f);
	assert_non_null(sent(OAE_SYNC_CHK));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_path_names(&ps, i, &l), l.peer.ltag);
	port_down();
	assert_int_equal(oae_path_names(&ps, i, &l), f.src_ltag);
}

/* Why: a SYNC of an OPEN end that names the new ltag resolves, and what is held is lost. */
LINK_TEST(test_why_it_does_not)
{
	u32 old = l.peer.ltag;

	rcv(slice(0, OAE_F_LAST));
	assert_non_null(sent(OAE_REFLECT));
	port_down();
	/* Still OPEN in the old run, it has not had the REFLECT yet. */
	rcv(frame(OAE_SYNC));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(l.peer.ltag, old);
	assert_non_null(op(OAE_OP_DISCARD));
	/* It has it: it commits, and then freezes. */
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.tx++));
	if (l.state != OAE_OPEN)
		rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.tx++));
	assert_true(noted(OAE_N_BROKEN));
}

/* Whoever has no link refuses, and confirms a CLOSE; only by the own path is it believed. */
LINK_TEST(test_no_end_elsewhere)
{
	unsigned int i = other();
	struct oae_frame f = BUT(frame(OAE_CLOSE_ACK), f.tx = 0, f.rx = 0);

	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), true);
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), false);
	/* By the own one also while the other is in use, as long as nothing is lost with that. */
	ps.used = i;
	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), true);
	ps.used = OAE_PATH_OWN;
	f = frame(OAE_CLOSE_ACK);
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), true);
	rcv(slice(0, OAE_F_LAST));
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), false);
	f = BUT(frame(OAE_CLOSE), f.reason = OAE_R_POLICY);
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), true);
	port_down();
	f = BUT(frame(OAE_CLOSE), f.reason = OAE_R_POLICY);
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), false);
	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), true);
	assert_int_equal(oae_path_heard(&ps, i, &l, &(struct oae_frame){ .opcode = OAE_CLOSE }),
			 true);
	/* Nor by the own one, if the peer has moved from there. */
	ps.used = i;
	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), false);
	f = BUT(frame(OAE_CLOSE_ACK), f.tx = 0, f.rx = 0);
	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), false);
	ps.used = OAE_PATH_OWN;
	assert_int_equal(oae_path_heard(&ps, OAE_PATH_OWN, &l, &f), true);
	f = BUT(frame(OAE_CLOSE), f.reason = OAE_R_POLICY);
	/* A link that is down was asked for by all paths. */
	l.down = true;
	assert_int_equal(oae_path_heard(&ps, i, &l, &f), true);
}

/* CLOSE goes by the own path as well, in case the other end has forgotten the other. */
LINK_TEST(test_close_by_both)
{
	const struct oae_frame close = { .opcode = OAE_CLOSE }, commit = { .opcode = OAE_COMMIT };

	ps.used = other();
	assert_int_equal(oae_paths_out(&ps, &l, &close, -1, OAE_OPEN), 3);
	assert_int_equal(oae_paths_out(&ps, &l, &commit, -1, OAE_OPEN), 2);
}

/* A new link has not heard its peer. */
LINK_TEST(test_opened_anew)
{
	other();
	ps.path[OAE_PATH_OWN].heard = 77;
	ps.path[OAE_PATH_OWN].proven = false;
	ps.path[OAE_PATH_OWN].good = false;
	ps.home = 1;
	kill_link(1);
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.home, OAE_PATH_OWN);
	assert_int_equal(ps.path[OAE_PATH_OWN].heard, 0);
	assert_true(ps.path[OAE_PATH_OWN].proven && ps.path[OAE_PATH_OWN].good);
	assert_int_equal(ps.peer_inc, 0);
}

UNIT_MAIN("path")
