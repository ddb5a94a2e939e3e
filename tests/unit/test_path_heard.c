// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames are believed by which path, and what they say of the path that the peer uses
 * (doc/protocol.md section 4.14).
 */
#include "three_paths.h"

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
		/* Nor by that in use, if the address here is another one: if it is down, by any. */
		ps.path[used].proven = false;
		assert_false(another(used, false));
		assert_false(another(used, true));
		l.down = true;
		assert_true(another(used, false));
		ps.path[used].proven = true;
		l.down = false;
	}
	/* Nothing is known of the peer: it is whoever has heard this link. */
	l.peer.inc = 0;
	assert_false(another(2, false));
	assert_true(another(2, true));
	/* A frame without an incarnation is judged by its ltags. */
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
	ps.path[2].proven = false;
	assert_true(strange(false, 0, 0));
	ps.path[2].proven = true;
	ps.used = 0;
	/* It is one, but a cookie tells first whether the sender hears this end. */
	l.down = true;
	assert_true(strange(false, 0, 0));
	assert_true(strange(false, l.inc + 1, l.ltag + 1));
	assert_false(strange(false, 0, l.ltag));
	assert_false(strange(false, l.inc, 0));
	l.down = false;
	l.peer.inc = 0;
	assert_true(strange(false, 0, l.ltag));
	assert_false(strange(false, l.inc, 0));
}

PATH_TEST(test_claim)
{
	assert_true(oae_path_claim(&ps, &l, l.peer.inc, l.inc));
	assert_false(oae_path_claim(&ps, &l, l.peer.inc, l.inc + 1));
	assert_false(oae_path_claim(&ps, &l, l.peer.inc + 1, l.inc));
	assert_false(oae_path_claim(&ps, &l, l.peer.inc + 1, 0));
	l.peer.inc = 0;
	assert_true(oae_path_claim(&ps, &l, 77, l.inc));
	assert_false(oae_path_claim(&ps, &l, 77, 0));
	l.down = true;
	assert_false(oae_path_claim(&ps, &l, 77, 0));
	l.peer.inc = 5;
	assert_true(oae_path_claim(&ps, &l, 77, 0));
}

/* What a SYNC, or another frame, names as the peer's incarnation, and as delivered of it. */
static void names(u8 opcode, u64 knows, u64 inc, u32 rx)
{
	struct oae_frame f = { .opcode = opcode, .rx = 3, .sync.peer_inc = knows };

	oae_path_name_claimed(&ps, &f);
	assert_int_equal(f.sync.peer_inc, inc);
	assert_int_equal(f.rx, rx);
}

/* As long as no peer is known whoever may be it is named: of it nothing is delivered. */
PATH_TEST(test_claimed)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.sync.inc = 77;
	f.sync.start = 1000;
	ps.peer_inc = 0;
	names(OAE_SYNC, 0, 0, 3);
	oae_path_claimed(&ps, &f);
	names(OAE_SYNC, 0, 77, 1000);
	names(OAE_SYNC, 5, 5, 3);
	names(OAE_SYNC_ACK, 0, 0, 3);
	ps.peer_inc = 5;
	names(OAE_SYNC, 0, 0, 3);
	/* Until a peer is known, or the link is gone. */
	l.peer.inc = 0;
	ps.peer_inc = 0;
	oae_paths_pair(&ps, &l);
	names(OAE_SYNC, 0, 77, 1000);
	l.state = OAE_CLOSED;
	oae_paths_pair(&ps, &l);
	names(OAE_SYNC, 0, 0, 3);
	oae_path_claimed(&ps, &f);
	l.state = OAE_OPEN;
	l.peer.inc = 5;
	oae_paths_pair(&ps, &l);
	ps.peer_inc = 0;
	names(OAE_SYNC, 0, 0, 3);
}

/* A neighbour with the id of the peer says SYNC, and shows another incarnation. */
static bool is_gone(u64 after)
{
	bool gone;

	now += after;
	clear();
	gone = oae_path_gone(&ps, &l, now, &a);
	assert_false(a.overflow);
	assert_int_equal(gone, oae_path_claim(&ps, &l, l.peer.inc + 1, 0));
	return gone;
}

/* There is no other path by which the peer is heard, and nothing that would be lost with it. */
static void alone(void)
{
	oae_path_del(&ps, 1);
	oae_path_del(&ps, 2);
	cfg.keepalive = 1000 * MS;
}

/* It does not answer: after a while it is gone. */
PATH_TEST(test_gone)
{
	alone();
	assert_false(is_gone(0));
	assert_non_null(sent(OAE_SYNC));
	assert_int_equal(noted(OAE_N_PROBE), 1);
	assert_false(is_gone(62 * MS));
	assert_null(sent(OAE_SYNC));
	assert_false(is_gone(100 * MS));
	assert_non_null(sent(OAE_SYNC));
	assert_false(is_gone(87 * MS));
	assert_int_equal(oae_link_state(&l), OAE_OPEN);
	assert_true(is_gone(1 * MS));
	assert_int_equal(noted(OAE_N_STALL), 1);
	assert_true(oae_link_state(&l) < OAE_OPEN);
	/* It says more, and that changes nothing. */
	assert_true(is_gone(MS));
	assert_int_equal(a.nsends, 0);
	/* Until the peer is heard after all. */
	rcv(resolved());
	assert_false(oae_path_claim(&ps, &l, l.peer.inc + 1, 0));
	assert_false(is_gone(1000 * MS));
}

/* One question may be lost. */
PATH_TEST(test_gone_asked_once)
{
	alone();
	assert_false(is_gone(0));
	assert_false(is_gone(500 * MS));
	assert_non_null(sent(OAE_SYNC));
	/* The answer to the other one is on its way. */
	assert_false(is_gone(MS));
	assert_false(is_gone(61 * MS));
	assert_true(is_gone(MS));
}

/* It answers the second question only. */
PATH_TEST(test_gone_asked_late)
{
	alone();
	assert_false(is_gone(0));
	assert_false(is_gone(240 * MS));
	assert_non_null(sent(OAE_SYNC));
	assert_false(is_gone(20 * MS));
	now += MS;
	rcv(frame(OAE_SYNC_ACK));
	assert_false(is_gone(40 * MS));
	assert_int_equal(oae_link_state(&l), OAE_OPEN);
}

/* The clock steps back: it has as long to answer as ever, and is heard as ever. */
PATH_TEST(test_gone_clock)
{
	alone();
	assert_false(is_gone(0));
	assert_false(is_gone(100 * MS));
	ps.gone_at += 1000000 * MS;
	assert_false(is_gone(1000 * MS));
	assert_false(is_gone(100 * MS));
	assert_true(is_gone(150 * MS));
	ps.gone_at += 1000000 * MS;
	assert_false(oae_path_claim(&ps, &l, l.peer.inc + 1, 0));
}

/* It answers: nobody is believed, and it is not asked as often as somebody says so. */
PATH_TEST(test_gone_not)
{
	alone();
	assert_false(is_gone(0));
	now += MS;
	rcv(frame(OAE_SYNC_ACK));
	assert_false(is_gone(200 * MS));
	assert_int_equal(a.nsends, 0);
	assert_false(is_gone(60 * MS));
	assert_non_null(sent(OAE_SYNC));
	rcv(frame(OAE_SYNC_ACK));
	assert_false(is_gone(1000 * MS));
}

/* Far away it takes longer. */
PATH_TEST(test_gone_far)
{
	alone();
	post(&x, 1, 0);
	now += 300 * MS;
	rcv(answer(OAE_REFLECT));
	rcv(frame(OAE_DONE));
	now += MS;
	assert_true(2 * oae_link_pto(&l) > cfg.keepalive / 4);
	assert_false(is_gone(0));
	assert_false(is_gone(oae_link_pto(&l)));
	assert_non_null(sent(OAE_SYNC));
	assert_false(is_gone(oae_link_pto(&l) - MS));
	assert_true(is_gone(MS));
}

/* A frozen link asks of itself. */
PATH_TEST(test_gone_frozen)
{
	alone();
	clear();
	oae_link_port_down(&l, now, &a);
	assert_false(is_gone(0));
	assert_int_equal(a.nsends, 0);
	assert_false(is_gone(125 * MS));
	assert_int_equal(a.nsends, 0);
	assert_true(is_gone(125 * MS));
	assert_int_equal(noted(OAE_N_STALL), 0);
}

/* By another path it is heard. */
PATH_TEST(test_gone_other_path)
{
	oae_path_del(&ps, 2);
	cfg.keepalive = 1000 * MS;
	assert_false(is_gone(0));
	assert_int_equal(a.nsends, 0);
	assert_false(is_gone(1000 * MS));
	ps.path[1].good = false;
	assert_false(is_gone(0));
	assert_false(is_gone(125 * MS));
	assert_true(is_gone(125 * MS));
}

/* With it something would be lost: that takes the dead time. */
static void would_lose(void)
{
	assert_false(is_gone(0));
	assert_int_equal(a.nsends, 0);
	assert_false(is_gone(125 * MS));
	assert_false(is_gone(1000 * MS));
}

PATH_TEST(test_gone_held)
{
	alone();
	rcv(slice(0, OAE_F_LAST));
	would_lose();
}

PATH_TEST(test_gone_unconfirmed)
{
	alone();
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	would_lose();
}

PATH_TEST(test_gone_express)
{
	alone();
	post(&x, 1, OAE_POST_EXPRESS);
	would_lose();
}

PATH_TEST(test_gone_unseen)
{
	alone();
	rcv(slice(0, OAE_F_EXPRESS | OAE_F_LAST));
	would_lose();
}

/* What is offered atomically goes to the next one. */
PATH_TEST(test_gone_offered)
{
	alone();
	post(&x, 1, 0);
	assert_false(is_gone(0));
	assert_false(is_gone(125 * MS));
	assert_true(is_gone(125 * MS));
}

/* Nobody is gone who was never there. */
PATH_TEST(test_gone_nobody)
{
	alone();
	kill_link(OAE_E_CANCEL);
	clear();
	oae_link_open(&l, now, &a);
	would_lose();
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
	assert_int_equal(ps.path[1].heard, l.peer.ltag);
}

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
		assert_true(stepped(1, frame(OAE_SYNC_ACK), OAE_SYNC_RECD));
		assert_int_equal(ps.used, 1);
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
	l.peer.inc++;
	assert_true(stepped(0, frame(OAE_SYNC), OAE_SYNC_SENT));
	assert_int_equal(ps.used, 0);
	assert_false(ps.path[2].proven);
	assert_false(stepped(2, frame(OAE_OFFER), OAE_OPEN));
}

/* Frames by which an end asks. */
static const bool own[OAE_OPCODE_END] = {
	[OAE_OFFER] = true, [OAE_COMMIT] = true, [OAE_ASK] = true,
};

/* Of a peer that takes no paths. */
PATH_TEST(test_junior_follows)
{
	u8 opcode;

	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		three(NULL);
		assert_false(stepped(2, frame(opcode), OAE_OPEN));
		l.peer.paths = false;
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

		/* Of another run; late; frozen; not up; not proven; to the senior. */
		assert_false(stepped(1, BUT(frame(opcode), f.src_ltag++), OAE_OPEN));
		assert_false(stepped(1, BUT(frame(opcode), f.dst_ltag++), OAE_OPEN));
		assert_false(stepped(1, BUT(frame(opcode), f.pn = l.number.heard - 1), OAE_OPEN));
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

/* It asks whatever else is sent, and what is asked for is answered. */
PATH_TEST(test_asks)
{
	clear();
	oae_link_ask(&l, &a);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(a.send[0].frame.opcode, OAE_COMMIT);
	assert_int_equal(a.send[0].frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(a.send[0].frame.seq, l.tx);
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
		[OAE_REFLECT] = true, [OAE_REFUSE] = true, [OAE_DONE] = true, [OAE_ACK] = true,
	};
	unsigned int senior;
	bool shows;
	u8 opcode;

	for (senior = 0; senior < 2; senior++) {
		for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
			three(NULL);
			assert_false(ps.agreed);
			l.senior = senior;
			l.peer.paths = false;
			shows = senior ? answers[opcode] : own[opcode];
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

UNIT_MAIN("path_heard")
