// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: which of them a frame goes by, is believed by, and which is in use; each rule
 * alone (doc/protocol.md section 4.14). test_path_timed.c lets two links live by them.
 */
#include "three_paths.h"

/* --- which there are --------------------------------------------------------- */

LINK_TEST(test_own_path)
{
	memset(&ps, 0xa5, sizeof(ps));
	oae_paths_init(&ps, &l, 1400, false, now);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	assert_int_equal(ps.avoid, 0);
	assert_true(ps.path[0].there && ps.path[0].proven && ps.path[0].good);
	assert_false(ps.path[0].up);
	assert_int_equal(ps.path[0].mtu, 1400);
	assert_int_equal(ps.path[0].heard, l.peer_ltag);
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
	ps.avoid = 1U << 5 | 1U << 1;
	ps.resolved = 6;
	oae_path_del(&ps, 3);
	assert_int_equal(ps.used, 4);
	assert_int_equal(ps.resolved, 6);
	assert_int_equal(ps.avoid, 1U << 5 | 1U << 1);
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
	oae_path_del(&ps, 5);
	assert_int_equal(ps.avoid, 1U << 1);
	oae_path_del(&ps, 6);
	assert_int_equal(ps.resolved, OAE_PATH_OWN);
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
	ps.avoid = 0x4;
	oae_path_probed(&ps, 1, 77, now);
	oae_path_probed(&ps, 2, 77, now);
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.used, 1);
	assert_int_equal(ps.avoid, 0x4);
	assert_true(ps.path[1].proven && ps.path[2].heard);
}

/* For another peer only the path in use is proven, by which it was heard. */
PATH_TEST(test_another_peer)
{
	unsigned int i;

	used_and_probed();
	l.peer_inc++;
	l.peer_ltag++;
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.used, 1);
	assert_int_equal(ps.avoid, 0);
	for (i = 0; i <= 2; i++) {
		assert_true(ps.path[i].there);
		assert_int_equal(ps.path[i].proven, i == 1);
		assert_int_equal(ps.path[i].good, i == 1);
		assert_int_equal(ps.path[i].heard, i == 1 ? l.peer_ltag : 0);
	}
	assert_no_answer();
	oae_paths_pair(&ps, &l);
	prove(2);
	oae_paths_pair(&ps, &l);
	assert_true(ps.path[2].proven);
	/* An end that begins anew forgets its peer for a while: that is still the same. */
	l.peer_inc = 0;
	oae_paths_pair(&ps, &l);
	l.peer_inc = ps.peer_inc;
	oae_paths_pair(&ps, &l);
	assert_true(ps.path[1].proven && ps.path[2].proven);
	/* That it was heard there makes nothing good that has failed. */
	ps.path[1].good = false;
	l.peer_inc++;
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
	l.peer_inc++;
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
	l.peer_inc = 0;
	assert_false(stepped(1, frame(OAE_CLOSE), OAE_OPEN));
	assert_int_equal(ps.used, 2);
}

/* --- what is believed ---------------------------------------------------------- */

PATH_TEST(test_unproven)
{
	u8 opcode;

	ps.path[2].proven = false;
	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		assert_true(heard_is(2, frame(opcode), false));
		assert_true(heard_is(1, frame(opcode), true));
		assert_true(heard_is(0, frame(opcode), true));
	}
	assert_int_equal(ps.path[2].heard, 0);
	ps.path[0].proven = false;
	assert_true(heard_is(0, frame(OAE_OFFER), false));
}

/* What another incarnation of the peer says, by @i: is it heard? */
static bool another(unsigned int i, bool names)
{
	static const u8 syncs[] = { OAE_SYNC, OAE_SYNC_ACK, OAE_SYNC_CHK };
	unsigned int n, heard = 0;
	struct oae_frame f;

	for (n = 0; n < ARRAY_SIZE(syncs); n++) {
		f = frame(syncs[n]);
		f.src_ltag = 0x7777;
		f.sync.inc++;
		f.sync.peer_inc = names ? l.inc : 0;
		ps.path[i].heard = 0;
		heard += oae_path_heard(&ps, i, &l, &f);
		assert_int_equal(ps.path[i].heard, heard ? 0x7777 : 0);
	}
	assert_true(!heard || heard == ARRAY_SIZE(syncs));
	return heard;
}

PATH_TEST(test_new_incarnation)
{
	struct oae_frame f;
	unsigned int used;

	for (used = 0; used <= 1; used++) {
		ps.used = used;
		/* By the path in use it is the link that decides. */
		assert_true(another(used, false));
		/* By another one: not as long as the present one may be there. */
		assert_false(another(!used, false));
		assert_false(another(!used, true));
		l.down = true;
		assert_true(another(!used, false));
		ps.path[!used].proven = false;
		assert_true(another(!used, false));
		ps.path[!used].proven = true;
		l.down = false;
	}
	/* Nothing is known of the peer: it is whoever has heard this link. */
	l.peer_inc = 0;
	assert_false(another(2, false));
	assert_true(another(2, true));
	/* What has no incarnation in it is judged by its ltags. */
	f = frame(OAE_OFFER);
	f.sync.inc = 99;
	assert_true(heard_is(1, f, true));
}

/* Does admission decide about a SYNC by path 2? */
static bool strange(bool peer, u64 names, u32 dst_ltag)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.sync.inc += !peer;
	f.sync.peer_inc = names;
	f.dst_ltag = dst_ltag;
	return oae_path_is_strange(&ps, 2, &l, &f);
}

PATH_TEST(test_strange)
{
	/* Of the peer that is known: unless the path is proven. */
	assert_false(strange(true, l.inc, 0));
	ps.path[2].proven = false;
	assert_true(strange(true, l.inc, 0));
	ps.path[2].proven = true;
	/* Of another one: it is no claim. */
	assert_true(strange(false, l.inc, l.ltag));
	ps.used = 2;
	assert_false(strange(false, 0, 0));
	ps.used = 0;
	/* It is one, but a cookie tells first whether the sender hears this end. */
	l.down = true;
	assert_true(strange(false, 0, 0));
	assert_true(strange(false, l.inc + 1, l.ltag + 1));
	assert_false(strange(false, 0, l.ltag));
	assert_false(strange(false, l.inc, 0));
	l.down = false;
	l.peer_inc = 0;
	assert_true(strange(false, 0, l.ltag));
	assert_false(strange(false, l.inc, 0));
}

PATH_TEST(test_claim)
{
	assert_true(oae_path_claim(&l, l.peer_inc, l.inc));
	assert_false(oae_path_claim(&l, l.peer_inc, l.inc + 1));
	assert_false(oae_path_claim(&l, l.peer_inc + 1, l.inc));
	assert_false(oae_path_claim(&l, l.peer_inc + 1, 0));
	l.peer_inc = 0;
	assert_true(oae_path_claim(&l, 77, l.inc));
	assert_false(oae_path_claim(&l, 77, 0));
	l.down = true;
	assert_false(oae_path_claim(&l, 77, 0));
	l.peer_inc = 5;
	assert_true(oae_path_claim(&l, 77, 0));
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
	oae_path_renamed(&ps, 0);
	assert_false(ps.path[0].proven || ps.path[0].good || ps.path[0].missed);
	assert_false(oae_path_answered(&ps, 0, 78, now));
	assert_true(oae_path_due(&ps, 0, &l, now));
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 0);	/* a probe */
	for (i = 1; i <= 2; i++)
		oae_path_renamed(&ps, i);
	l.state = OAE_SYNC_SENT;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0);
	l.down = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 0);
	/* Or by the one in use, if there is no other. */
	ps.used = 1;
	ps.path[OAE_PATH_OWN].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 1);
	ps.used = OAE_PATH_OWN;
	ps.path[OAE_PATH_OWN].up = true;
	prove(1);
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 1 << 1 | 1 << 0);
}

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

PATH_TEST(test_moves)
{
	struct oae_path p;
	unsigned int used;

	for (used = 0; used <= 2; used++) {
		three(NULL);
		ps.used = used;
		ps.avoid = 1U << used;
		ps.resolved = used;
		ps.why = OAE_WHY_LOSS;
		ps.path[2].mtu = 1234;
		p = ps.path[2];
		assert_int_equal(oae_paths_move(&ps, 2, now), used == 0);
		assert_int_equal(ps.used, used == 1 ? 1 : OAE_PATH_OWN);
		assert_int_equal(ps.avoid, used == 1 ? 0x2 : 0);
		assert_int_equal(ps.resolved, used == 1 ? 1 : OAE_PATH_OWN);
		assert_int_equal(ps.why, used == 0 ? OAE_WHY_CARRIER : OAE_WHY_LOSS);
		assert_false(ps.path[2].there);
		assert_int_equal(ps.path[0].mtu, 1234);
		assert_int_equal(ps.path[0].rtt, p.rtt);
		assert_int_equal(ps.path[0].used_at, used == 0 ? now : p.used_at);
		assert_true(ps.path[1].there);
	}
}

PATH_TEST(test_which_ltag_was_heard)
{
	u8 opcode;

	for (opcode = OAE_SYNC; opcode <= OAE_SYNC_CHK; opcode++) {
		struct oae_frame f = frame(opcode);

		f.src_ltag = 0x100 + opcode;
		f.dst_ltag = 0;
		assert_true(heard_is(1, f, true));
		assert_int_equal(ps.path[1].heard, 0x100 + opcode);
		assert_int_equal(ps.path[2].heard, 0);
	}
	/* Data of another run tell nothing. */
	assert_true(heard_is(1, BUT(frame(OAE_OFFER), f.src_ltag = 0x7777), true));
	assert_true(heard_is(1, BUT(frame(OAE_OFFER), f.dst_ltag++), true));
	assert_int_equal(ps.path[1].heard, 0x100 + OAE_SYNC_CHK);
	assert_true(heard_is(1, frame(OAE_OFFER), true));
	assert_int_equal(ps.path[1].heard, l.peer_ltag);
}

/* --- where frames go ------------------------------------------------------------- */

PATH_TEST(test_out)
{
	static const u8 answer[OAE_OPCODE_END] = {
		[OAE_SYNC_ACK] = 1, [OAE_SYNC_CHK] = 1, [OAE_REFLECT] = 1,
		[OAE_REFUSE] = 1, [OAE_DONE] = 1, [OAE_CLOSE_ACK] = 1,
	};
	static const enum oae_state states[] = { OAE_SYNC_SENT, OAE_SYNC_RECD, OAE_OPEN };
	unsigned int i, before;
	u8 opcode;
	int back;

	ps.used = 2;
	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		for (i = 0; i < ARRAY_SIZE(states); i++) {
			l.state = states[i];
			for (before = OAE_SYNC_SENT; before <= OAE_CLOSE_RECD; before++) {
				for (back = -1; back < 3; back++) {
					unsigned int is = out(opcode, back, before), to = 1 << 2;

					if (back >= 0 && answer[opcode])
						to = 1 << back;
					/* Where it is known whether there is a link. */
					if (opcode == OAE_CLOSE)
						to |= 1 << OAE_PATH_OWN;
					if (opcode == OAE_SYNC && l.state != OAE_OPEN)
						to = before >= OAE_OPEN || back < 0 ?
						     ALL : 1U << back;
					assert_int_equal(is, to);
				}
			}
		}
	}
}

PATH_TEST(test_sync_goes_by)
{
	l.state = OAE_SYNC_SENT;
	/* It carries frames, is proven, is there. Whether it was good does not matter. */
	ps.path[1].good = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), ALL);
	ps.path[1].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0x5);
	ps.path[1].up = true;
	ps.path[1].proven = false;
	assert_int_equal(out(OAE_SYNC, 2, OAE_OPEN), 0x5);
	oae_path_del(&ps, 2);
	ps.path[2].up = true;
	ps.path[2].proven = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x1);
	/* By none: then by that in use, where the peer knows this end. */
	ps.path[0].up = false;
	ps.used = 1;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0);
	ps.path[1].proven = true;
	ps.path[1].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x2);
	/* An open link sends this one to a peer that is silent. */
	l.state = OAE_OPEN;
	ps.used = 0;
	assert_int_equal(out(OAE_SYNC, 2, OAE_OPEN), 0x1);
}

/* --- which is in use ------------------------------------------------------------- */

PATH_TEST(test_resolved)
{
	unsigned int senior;

	for (senior = 0; senior < 2; senior++) {
		three(NULL);
		l.senior = senior;
		oae_path_probed(&ps, 1, 5, now);
		oae_path_probed(&ps, 1, 6, now);
		/* Frozen still. */
		l.state = OAE_SYNC_RECD;
		assert_false(stepped(1, frame(OAE_SYNC), OAE_SYNC_SENT));
		assert_int_equal(ps.used, 0);
		l.state = OAE_OPEN;
		assert_int_equal(ps.resolved, 0);
		assert_true(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
		assert_int_equal(ps.used, 1);
		assert_int_equal(ps.resolved, 1);
		assert_int_equal(ps.path[1].used_at, now);
		assert_true(ps.path[1].good);
		assert_int_equal(ps.path[1].missed, 0);
		/* That of before has failed. */
		assert_false(ps.path[0].good);
		assert_int_equal(ps.path[0].wait, KEEPALIVE);
		assert_int_equal(ps.path[0].not_before, now + KEEPALIVE);
		/* Once. */
		assert_false(stepped(2, frame(OAE_SYNC_ACK), OAE_OPEN));
		assert_int_equal(ps.used, 1);
		assert_int_equal(ps.resolved, 1);
		/* Anew, where it was, although the path has failed meanwhile. */
		ps.path[2].up = false;
		ps.path[0].up = false;
		assert_false(oae_path_failed(&ps, 1, &l, now));
		assert_false(stepped(1, frame(OAE_OFFER), OAE_OPEN));
		assert_false(ps.path[1].good);
		assert_false(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
		assert_true(ps.path[1].good);
	}
}

PATH_TEST(test_resolved_by_what_is_none)
{
	ps.path[1].proven = false;
	assert_false(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
	assert_int_equal(ps.used, 0);
	assert_true(ps.path[0].good);
	/* A port that is down has brought it all the same: the MTU is that of this path. */
	ps.path[1].proven = true;
	ps.path[1].up = false;
	assert_true(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
	assert_int_equal(ps.used, 1);
	/* Against a new incarnation: nothing is proven any more, and the own path is used. */
	ps.used = 2;
	l.peer_inc++;
	assert_true(stepped(0, frame(OAE_SYNC), OAE_SYNC_SENT));
	assert_int_equal(ps.used, 0);
	assert_false(ps.path[2].proven);
	assert_false(stepped(2, frame(OAE_OFFER), OAE_OPEN));
}

/* Frames that are sent of one's own accord. */
static const bool own[OAE_OPCODE_END] = {
	[OAE_OFFER] = true, [OAE_COMMIT] = true, [OAE_READY] = true,
	[OAE_REVERSE] = true, [OAE_SYNC] = true,
};

PATH_TEST(test_junior_follows)
{
	u8 opcode;

	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		three(NULL);
		ps.path[2].good = false;
		ps.path[2].missed = 3;
		assert_int_equal(stepped(2, frame(opcode), OAE_OPEN), own[opcode]);
		assert_int_equal(ps.used, own[opcode] ? 2 : 0);
		/* The path of before has done nothing wrong. */
		assert_true(ps.path[0].good);
		assert_int_equal(ps.path[0].not_before, 0);
		if (!own[opcode])
			continue;
		assert_true(ps.path[2].good);
		assert_int_equal(ps.path[2].missed, 0);
		assert_int_equal(ps.path[2].used_at, now);
		/* There already. */
		assert_false(stepped(2, frame(opcode), OAE_OPEN));

		/* Of another run; frozen; not up; not proven; to the senior. */
		assert_false(stepped(1, BUT(frame(opcode), f.src_ltag++), OAE_OPEN));
		assert_false(stepped(1, BUT(frame(opcode), f.dst_ltag++), OAE_OPEN));
		l.state = OAE_SYNC_SENT;
		assert_false(stepped(1, frame(opcode), OAE_OPEN));
		l.state = OAE_OPEN;
		ps.path[1].up = false;
		assert_false(stepped(1, frame(opcode), OAE_OPEN));
		ps.path[1].up = true;
		ps.path[1].proven = false;
		assert_false(stepped(1, frame(opcode), OAE_OPEN));
		ps.path[1].proven = true;
		l.senior = true;
		assert_false(stepped(1, frame(opcode), OAE_OPEN));
		assert_int_equal(ps.used, 2);
	}
}

/* What the senior sent when it was frozen looks like a probe, but does not come alone. */
PATH_TEST(test_junior_not_misled)
{
	ps.watch.heard_at = now - KEEPALIVE / 2 + 1;
	assert_false(stepped(2, frame(OAE_SYNC), OAE_OPEN));
	/* The clock of another processor is behind. */
	ps.watch.heard_at = now + 1;
	assert_false(stepped(2, frame(OAE_SYNC), OAE_OPEN));
	assert_true(stepped(2, frame(OAE_COMMIT), OAE_OPEN));
	ps.watch.heard_at = now - KEEPALIVE / 2;
	assert_true(stepped(1, frame(OAE_SYNC), OAE_OPEN));
}

static bool astray(unsigned int i, struct oae_frame f)
{
	return oae_path_astray(&ps, i, &l, &f, now);
}

/* The junior sends by another path: the senior says which one is used, now and then. */
PATH_TEST(test_senior_tells)
{
	u8 opcode;

	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		three(NULL);
		assert_false(astray(2, frame(opcode)));	/* to the junior */
		l.senior = true;
		l.srtt = MS;
		assert_false(astray(0, frame(opcode)));
		assert_false(astray(2, BUT(frame(opcode), f.src_ltag++)));
		l.state = OAE_SYNC_SENT;
		assert_false(astray(2, frame(opcode)));
		l.state = OAE_OPEN;
		assert_int_equal(astray(2, frame(opcode)), own[opcode]);
		if (!own[opcode])
			continue;
		now--;
		assert_false(astray(2, frame(opcode)));
		now += 2 * MS;
		assert_false(astray(2, frame(opcode)));
		now++;
		assert_true(astray(2, frame(opcode)));
	}
	/* A senior that has just changed has said so, and is not heard yet. */
	now += 10 * KEEPALIVE;
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_false(astray(0, frame(OAE_OFFER)));
	now += 2 * MS;
	assert_true(astray(0, frame(OAE_OFFER)));
}

PATH_TEST(test_speaks_once)
{
	clear();
	oae_link_speak(&l, &a);
	assert_int_equal(a.nsends, 1);
	assert_non_null(sent(OAE_COMMIT));
	oae_link_speak(&l, &a);
	assert_int_equal(a.nsends, 1);
	a.send[0].frame.opcode = OAE_OFFER;
	oae_link_speak(&l, &a);
	assert_int_equal(a.nsends, 1);
	a.send[0].frame.opcode = OAE_REFLECT;
	oae_link_speak(&l, &a);
	assert_int_equal(a.nsends, 2);
	a.nsends = 0;
	l.state = OAE_SYNC_SENT;
	oae_link_speak(&l, &a);
	assert_int_equal(a.nsends, 0);
}

/* It asks whatever else is sent, and what is asked for is answered. */
PATH_TEST(test_asks)
{
	clear();
	oae_link_speak(&l, &a);
	oae_link_ask(&l, &a);
	assert_int_equal(a.nsends, 2);
	assert_int_equal(a.send[1].frame.opcode, OAE_COMMIT);
	assert_int_equal(a.send[1].frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(a.send[1].frame.seq, l.tx);
	rcv(BUT(frame(OAE_COMMIT), f.flags = OAE_F_WANT_DONE));
	assert_non_null(sent(OAE_DONE));
	clear();
	l.state = OAE_SYNC_SENT;
	oae_link_ask(&l, &a);
	assert_int_equal(a.nsends, 0);
}

/* Does the peer use the path that this end uses? The senior sends by it, the junior answers. */
PATH_TEST(test_agreed)
{
	static const bool answers[OAE_OPCODE_END] = {
		[OAE_REFLECT] = true, [OAE_REFUSE] = true, [OAE_DONE] = true,
	};
	unsigned int senior;
	bool shows;
	u8 opcode;

	for (senior = 0; senior < 2; senior++) {
		for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
			three(NULL);
			assert_false(ps.agreed);
			l.senior = senior;
			shows = senior ? answers[opcode] : own[opcode] && opcode != OAE_SYNC;
			stepped(0, BUT(frame(opcode), f.src_ltag++), OAE_OPEN);
			assert_false(ps.agreed);
			l.state = OAE_SYNC_SENT;
			stepped(0, frame(opcode), OAE_OPEN);
			assert_false(ps.agreed);
			l.state = OAE_OPEN;
			stepped(0, frame(opcode), OAE_OPEN);
			assert_int_equal(ps.agreed, shows);
			/* By another one, which the junior follows. */
			ps.agreed = false;
			stepped(2, frame(opcode), OAE_OPEN);
			assert_int_equal(ps.agreed, shows && !senior);
		}
		/* Nothing is known of a run that begins, nor of another path. */
		ps.agreed = true;
		stepped(ps.used, frame(OAE_SYNC_ACK), OAE_SYNC_RECD);
		assert_false(ps.agreed);
		ps.agreed = true;
		assert_true(oae_path_failed(&ps, ps.used, &l, now));
		assert_false(ps.agreed);
		ps.agreed = true;
		ps.used = 1;
		oae_path_del(&ps, 2);
		assert_true(ps.agreed);
		oae_path_del(&ps, 1);
		assert_false(ps.agreed);
	}
}

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

/* --- probes ---------------------------------------------------------------------- */

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

PATH_TEST(test_hopeless)
{
	ps.path[1].missed = 249;
	assert_false(oae_path_hopeless(&ps, 1));
	ps.path[1].missed = 250;
	assert_true(oae_path_hopeless(&ps, 1));
	ps.used = 1;
	assert_false(oae_path_hopeless(&ps, 1));
	ps.used = 2;
	ps.path[0].missed = 255;
	assert_false(oae_path_hopeless(&ps, 0));
	ps.path[1].proven = false;
	ps.path[1].missed = 8;
	assert_true(oae_path_hopeless(&ps, 1));
	ps.path[1].missed = 7;
	assert_false(oae_path_hopeless(&ps, 1));
	ps.path[5].missed = 255;
	assert_false(oae_path_hopeless(&ps, 5));
}

/* --- back -------------------------------------------------------------------------- */

static bool back(void)
{
	return oae_paths_back(&ps, &l, now);
}

/* Three paths, of which any may be preferred; this end is senior. */
static void measured(void)
{
	three(NULL);
	l.senior = true;
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
}

PATH_TEST(test_who_goes_back)
{
	measured();
	l.vc = 1;
	l.senior = false;
	assert_false(back());
	l.senior = true;
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

/* --- loss, rank, why ----------------------------------------------------------------- */

static unsigned int goes_to(void)
{
	now += 10 * KEEPALIVE;
	l.senior = true;
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
	/* At the junior it is a wish. */
	l.senior = false;
	ps.path[2].rank = OAE_PATH_PREFERRED;
	now += 10 * KEEPALIVE;
	assert_false(oae_paths_back(&ps, &l, now));
}

PATH_TEST(test_why)
{
	assert_int_equal(ps.why, OAE_WHY_OWN);
	assert_true(stepped(1, frame(OAE_COMMIT), OAE_OPEN));
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
	l.peer_inc++;
	assert_true(stepped(0, frame(OAE_SYNC_ACK), OAE_SYNC_SENT));
	assert_int_equal(ps.why, OAE_WHY_PEER);
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
	ps.used = 1;
	assert_int_equal(oae_path_spare(&ps, true), OAE_PATHS_MAX);
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
	ps.path[1].missed = 7;
	assert_int_equal(oae_path_spare(&ps, true), 2);
}

/* To go to another length is a freeze. */
PATH_TEST(test_back_to_another_mtu)
{
	l.vc = 0;
	l.senior = true;
	ps.path[1].mtu = 9000;
	/* It never failed. */
	assert_int_equal(goes_to(), 1);
	assert_true(oae_path_failed(&ps, 1, &l, now));
	now += KEEPALIVE;
	prove(1);
	assert_int_equal(ps.path[1].good_at, now);
	prove(1);
	assert_int_equal(ps.path[1].good_at, now - MS);
	now = ps.path[1].good_at + 16 * KEEPALIVE - 1;
	assert_false(oae_paths_back(&ps, &l, now));
	now++;
	assert_true(oae_paths_back(&ps, &l, now));
	assert_int_equal(ps.used, 1);
	/* One of the same length only waits. */
	assert_true(oae_path_failed(&ps, 1, &l, now));
	ps.path[0].mtu = 9000;
	ps.path[2].mtu = 9000;
	l.vc = 1;
	now += 32 * KEEPALIVE;
	prove(1);
	assert_true(oae_paths_back(&ps, &l, now));
	assert_int_equal(ps.used, 1);
}

UNIT_MAIN("path")
