// SPDX-License-Identifier: GPL-2.0
/*
 * A new run, and a new incarnation of either end (doc/protocol.md 4.5): what is
 * forgotten, what is not, and who is told.
 */
#include "one_link.h"

/* An ltag is another than the one of before, whatever random says. */
LINK_TEST(test_ltag_drawn)
{
	struct oae_frame cookie = { .dst_ltag = 0xc00c1e, .src_ltag = 5 };
	u32 old = l.ltag;

	draw_next = old;
	port_down();
	assert_int_not_equal(l.ltag, old);
	assert_int_equal(sent(OAE_SYNC)->frame.src_ltag, l.ltag);

	/* Nor is it the cookie that a stranger names. */
	new_link();
	clear();
	oae_link_accept(&l, &cookie, inbox, now, &a);
	assert_int_not_equal(l.ltag, 0xc00c1e);
	assert_int_not_equal(sent(OAE_SYNC)->frame.src_ltag, 0xc00c1e);
	assert_true(l.inc);
}

/* Both counters well away from where they start. */
static void some_traffic(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		rcv(slice(0, OAE_F_LAST | OAE_F_EXPRESS));
		post(&y, 1, 0);
		rcv(answer(OAE_REFLECT));
	}
	assert_int_equal(l.tx, 3);
	assert_int_equal(l.rx, PEER_START + 3);
	assert_true(l.last_express);
	/* And what was committed last is not known to be delivered. */
	peer_lag = 1;
}

/* The peer's next incarnation, which has heard of me, or has not. */
static struct oae_frame next_peer(bool knows_me)
{
	struct oae_frame f = resolved();

	f.sync.inc = PEER_INC + 1;
	f.sync.start = 500;
	f.tx = 500;
	f.rx = 0;
	if (!knows_me) {
		f.sync.peer_inc = 77;
		f.tx = 12345;		/* of another time */
		f.rx = 54321;
	}
	return f;
}

static void assert_new_peer(void)
{
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(noted(OAE_N_PEER_NEW), 1);
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 1);
	assert_int_equal(noted(OAE_N_BROKEN), 0);
	assert_int_equal(l.rx, 500);
	assert_int_equal(l.tx, 0);
	assert_int_equal(l.peer.inc, PEER_INC + 1);
	assert_false(l.await_done);
	assert_true(oae_link_all_confirmed(&l));
	assert_false(sent(OAE_COMMIT));
}

TEST(test_new_peer)
{
	unsigned int knows;

	for (knows = 0; knows < 2; knows++) {
		open_link(state);
		some_traffic();
		post(&y, 1, OAE_POST_CONFIRM);
		peer_lag = 0;
		rcv(answer(OAE_REFLECT));	/* waits for DONE */
		port_down();
		rcv(next_peer(knows));
		assert_new_peer();
		/* Its rx is no express of the dead one. */
		rcv((struct oae_frame){
			.opcode = OAE_OFFER, .src_ltag = l.peer.ltag,
			.dst_ltag = l.ltag, .tx = 500, .seq = 500,
			.flags = OAE_F_EXPRESS | OAE_F_LAST });
		assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
		assert_int_equal(a.nsends, 0);
	}
}

/* Its sender died undecided: nothing of it stays, however many slices. */
TEST(test_new_peer_held)
{
	unsigned int n;

	for (n = 1; n <= 3; n++) {
		open_link(state);
		some_traffic();
		if (n > 1)
			rcv(slice(0, 0));
		if (n < 3)
			rcv(slice(n - 1, OAE_F_LAST));
		port_down();
		rcv(next_peer(true));
		assert_new_peer();
		assert_int_equal(noted(OAE_N_HELD_LOST), n < 3);
		assert_int_equal(count_op(OAE_OP_DISCARD), 1);
		assert_int_equal(l.hold.state, OAE_HOLD_NONE);
	}
}

TEST(test_new_peer_offered)
{
	open_link(state);
	some_traffic();
	post(&x, 3, 0);
	port_down();
	rcv(next_peer(true));
	assert_new_peer();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);	/* it has kept none */
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 1);

	open_link(state);
	some_traffic();
	post(&x, 1, OAE_POST_EXPRESS);
	port_down();
	rcv(next_peer(false));
	assert_new_peer();
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_false(sent(OAE_OFFER));

	/* The dead refused it for now, and may have taken a late copy of it since. */
	open_link(state);
	some_traffic();
	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY);
	port_down();
	rcv(next_peer(false));
	assert_new_peer();
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_false(sent(OAE_OFFER));
}

/* Who was closing is dead; its next incarnation is not. */
LINK_TEST(test_new_peer_not_closing)
{
	post(&x, 1, 0);
	rcv(peer_closes(1, false));
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	port_down();
	rcv(next_peer(true));
	assert_int_equal(oae_link_state(&l), OAE_OPEN);
	assert_true(oae_link_wants(&l));
	assert_non_null(sent(OAE_OFFER));
}

/* Counters that do not fit: told once, and then both begin anew. */
LINK_TEST(test_broken_once)
{
	u64 inc = l.inc;

	some_traffic();
	rcv(slice(0, 0));
	rcv(slice(1, OAE_F_LAST));
	port_down();
	rcv(BUT(resolved(), f.tx += 1000));
	assert_int_equal(noted(OAE_N_BROKEN), 1);
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 1);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_true(l.inc != inc);
	assert_int_equal(sent(OAE_SYNC)->frame.tx, 0);

	/* To the peer this end is new, and it has begun anew as well. */
	rcv(BUT(resolved(), f.tx = PEER_START, f.rx = 0));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(noted(OAE_N_BROKEN), 0);
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 0);
	assert_int_equal(noted(OAE_N_PEER_NEW), 0);
	assert_int_equal(l.rx, PEER_START);
}

/* A new address is a new incarnation, that knows nobody. */
LINK_TEST(test_renamed)
{
	u64 inc = l.inc;
	struct oae_frame old;
	u32 ltag;

	some_traffic();
	rcv(slice(0, 0));
	rcv(slice(1, OAE_F_LAST));
	post(&x, 3, 0);
	ltag = l.ltag;
	old = frame(OAE_COMMIT);
	renamed();
	assert_int_equal(noted(OAE_N_PORT), 1);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_true(l.inc != inc && l.ltag != ltag);
	assert_true(sent(OAE_SYNC) && a.nsends == 1);
	assert_int_equal(sent(OAE_SYNC)->frame.dst_ltag, 0);
	assert_int_equal(sent(OAE_SYNC)->frame.tx, 0);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.peer_inc, 0);
	assert_true(sent(OAE_SYNC)->frame.sync.inc == l.inc);

	/* The tag that the peer has for the old address opens nothing. */
	old.dst_ltag = l.ltag;
	old.tx = l.rx;
	rcv(old);
	assert_int_equal(noted(OAE_N_FROZEN), 1);
	old.src_ltag = 0;
	rcv(old);
	assert_int_equal(noted(OAE_N_FROZEN), 1);

	rcv(next_peer(true));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 0);
}

LINK_TEST(test_renamed_express)
{
	post(&x, 1, OAE_POST_EXPRESS);
	renamed();
	assert_true(ended(&x, OAE_UNKNOWN));
	rcv(next_peer(false));
	assert_false(sent(OAE_OFFER));

	/* Nor is anything offered in place of what was recalled. */
	post(&x, 1, OAE_POST_EXPRESS);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	renamed();
	assert_true(ended(&x, OAE_UNKNOWN));
	rcv(next_peer(false));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_false(sent(OAE_OFFER));

	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY);
	renamed();
	assert_true(ended(&x, OAE_UNKNOWN));

	new_link();
	renamed();				/* CLOSED: nobody to be new to */
	assert_int_equal(a.nops + a.nsends, 0);
	assert_int_equal(l.state, OAE_CLOSED);
}

/* Data open a link only under an ltag that an incarnation came with. */
TEST(test_data_before_sync)
{
	one_link(state);
	rcv(slice(0, OAE_F_LAST));		/* of nobody: src_ltag 0 */
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(noted(OAE_N_FROZEN), 1);

	rcv(BUT(frame(OAE_SYNC_CHK), f.src_ltag = 0xc00c1e, f.sync.inc = 0)); /* a cookie */
	assert_int_equal(sent(OAE_SYNC)->frame.dst_ltag, 0xc00c1e);
	rcv(slice(0, OAE_F_LAST));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	assert_int_equal(noted(OAE_N_FROZEN), 1);
}

/* What the SYNC said that told the ltag is true of the run that data open. */
LINK_TEST(test_data_open)
{
	struct oae_frame f;

	port_down();
	f = resolved();
	f.opcode = OAE_SYNC;
	f.dst_ltag = 1;				/* not mine */
	f.sync.mtu = 700;
	f.sync.max_len = 300;
	rcv(f);
	assert_int_equal(l.state, OAE_SYNC_RECD);
	rcv(slice(0, OAE_F_LAST));
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(sent(OAE_SYNC_ACK) && sent(OAE_REFLECT));
	assert_int_equal(oae_link_slice_max(&l), 700 - OAE_HDR_LEN);
	post(&x, 7, 0);				/* 350 bytes */
	assert_true(ended(&x, OAE_REVERSED));
}

/* No port carries less than the least: believe no such word. */
LINK_TEST(test_tiny_mtu)
{
	u16 mtu;

	for (mtu = 0; mtu < 200; mtu++) {
		port_down();
		rcv(BUT(resolved(), f.sync.mtu = mtu));
		assert_int_equal(oae_link_slice_max(&l),
				 (mtu < OAE_MIN_MTU ? OAE_MIN_MTU : mtu) -
				 OAE_HDR_LEN);
	}
}

/* READY is owed for a refusal of this run, and once. */
LINK_TEST(test_ready_owed)
{
	rcv_settling(slice(0, OAE_F_LAST));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	words_free();
	assert_int_equal(sent(OAE_READY)->frame.seq, 0);
	words_free();
	assert_int_equal(a.nsends, 0);

	rcv_settling(slice(0, OAE_F_LAST));
	anew();
	words_free();
	assert_int_equal(a.nsends, 0);

	rcv(BUT(slice(0, OAE_F_LAST), f.kind = OAE_SWAP)); /* no word is what it lacks */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	words_free();
	assert_int_equal(a.nsends, 0);
}

/* The peer delivers by resolving, and says so when it is asked again. */
LINK_TEST(test_asked_again)
{
	post(&x, 1, OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	anew();
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);

	post(&x, 1, OAE_POST_CONFIRM);
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	anew();
	assert_true(sent(OAE_OFFER)->handle == &y);	/* which says it */
	assert_null(sent(OAE_COMMIT));
}

/*
 * A SYNC of this run is answered also if its sender has not resolved yet, and so
 * does not know this incarnation; its counters are of another time.
 */
LINK_TEST(test_sync_unresolved)
{
	struct oae_frame f = frame(OAE_SYNC);

	some_traffic();
	f = frame(OAE_SYNC);
	f.sync.peer_inc = 77;
	f.tx += 1000;
	f.rx += 1000;
	rcv(f);
	assert_true(sent(OAE_SYNC_ACK) && a.nsends == 1);
	assert_int_equal(a.nops, 0);
	f.sync.peer_inc = l.inc;		/* and of this, they cannot be */
	rcv(f);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_true(sent(OAE_SYNC) && a.nsends == 1);
}

/* The answer to a peer that froze names what it is called now. */
LINK_TEST(test_peer_froze)
{
	struct oae_frame f = resolved();

	f.opcode = OAE_SYNC;
	rcv(f);
	assert_int_equal(noted(OAE_N_PEER_FROZE), 1);
	assert_int_equal(sent(OAE_SYNC)->frame.dst_ltag, f.src_ltag);
	assert_int_equal(l.state, OAE_SYNC_RECD);
}

/* Only a link that is CLOSED is opened, by whomever. */
LINK_TEST(test_open_stays)
{
	struct oae_frame f = frame(OAE_SYNC);
	struct oae_link before = l;

	clear();
	oae_link_accept(&l, &f, inbox, now, &a);
	oae_link_open(&l, now, &a);
	assert_int_equal(a.nops + a.nsends, 0);
	assert_memory_equal(&l, &before, sizeof(l));
}

UNIT_MAIN("begun anew")
