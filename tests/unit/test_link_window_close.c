// SPDX-License-Identifier: GPL-2.0
/* An end closes while several transactions are under way (doc/protocol.md section 4.11). */
#include "one_window.h"

/* CLOSE says up to which number all is held. What is above that is dropped, and not taken. */
WINDOW_TEST(test_close)
{
	unsigned int i;

	take(1, OAE_MESSAGE);
	take(3, OAE_MESSAGE);
	take_slice(4, 0, 0);
	take(5, OAE_VERB);
	close_link();
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx + 1);
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
	assert_int_equal(count_op(OAE_OP_DISCARD), 3);
	assert_int_equal(l.nheld, 1);
	for (i = 2; i < 6; i++) {
		take(i, i == 3 ? OAE_VOID : OAE_MESSAGE);
		assert_nothing_but(OAE_N_OLD_SEQ);
		rcv(BUT(frame(OAE_ASK), f.seq = l.rx + i));
		assert_nothing_but(OAE_N_OLD_SEQ);
	}
	/* What is held may be committed, or be nothing; CLOSE says the same again. */
	take(1, OAE_MESSAGE);
	assert_non_null(sent(OAE_REFLECT));
	take(1, OAE_VOID);
	assert_non_null(sent(OAE_REFLECT));
	commit_to(1);
	assert_int_equal(count_op(OAE_OP_DELIVER), 0);
	while (!sent(OAE_CLOSE))
		fire_at(l.timer.at);
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx);
}

/* In the next run it takes nothing at all. */
WINDOW_TEST(test_close_next_run)
{
	take(1, OAE_MESSAGE);
	close_link();
	anew_wide();
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx);
	take(1, OAE_MESSAGE);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* Nor the frame that begins it, though CLOSE of that run was not sent before. */
WINDOW_TEST(test_close_resolved_by_offer)
{
	close_link();
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0x77));
	rcv(BUT(offer_kind(OAE_MESSAGE), f.seq = l.rx + 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_null(sent(OAE_REFLECT));
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx);
}

/* Contents that a peer that closes does not hold are reversed, and nothing takes their place. */
WINDOW_TEST(test_peer_holds)
{
	post_some(1, 4);
	reflect(3);
	rcv(peer_closes(2, false));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_reversed(&h[4], OAE_E_PEER_CLOSED);
	assert_null(sent(OAE_OFFER));
	assert_false(oae_link_wants(&l));
	reflect(4);
	assert_nothing_but(OAE_N_OLD_SEQ);
	reflect(1);
	reflect(2);
	assert_true(ended(&h[2], OAE_COMMITTED));
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	rcv(frame(OAE_DONE));
	assert_int_equal(a.nsends, 0);
	rcv(peer_closes(0, true));
	assert_non_null(sent(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);
}

/* Likewise verbs, of which nothing comes back that waits; and nothing, in the place of some. */
WINDOW_TEST(test_peer_holds_none)
{
	post_verbs(1, 3);
	refuse_number(2, OAE_R_NO_REGION);
	assert_int_equal(l.nvoid, 2);
	rcv(peer_closes(0, false));
	assert_true(ended(&h[1], OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_int_equal(l.nlanes + l.given + l.nvoid + l.ndue, 0);

	open_window(state);
	post_half(&x);
	rcv(peer_closes(0, true));
	assert_true(ended(&x, OAE_REVERSED));
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* Verbs wait for VOIDs that were not reflected: for those below what the peer takes no more. */
WINDOW_TEST(test_peer_holds_void)
{
	post_some(1, 2);
	refuse_number(1, OAE_R_TOO_BIG);
	refuse_number(2, OAE_R_TOO_BIG);
	reflect(2);
	assert_int_equal(l.nvoid, 1);
	rcv(peer_closes(1, false));
	assert_int_equal(l.nvoid, 1);
	assert_int_equal(l.nlanes, 1);
}

/* A late CLOSE does not take LAST back. */
WINDOW_TEST(test_peer_last)
{
	post_some(1, 1);
	rcv(peer_closes(1, true));
	rcv(peer_closes(1, false));
	reflect(1);
	assert_null(sent(OAE_CLOSE_ACK));
	rcv(frame(OAE_DONE));
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* A peer that closes says so again. If that does not come, it does not close. */
WINDOW_TEST(test_peer_does_not_close)
{
	u64 at;

	cfg.keepalive *= 10;
	cfg.dead *= 10;
	now += 10 * cfg.keepalive;
	rcv(peer_closes(0, false));
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	now += cfg.keepalive / 2;
	rcv(frame(OAE_DONE));
	fire_at(now);
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	for (at = now + 3 * cfg.keepalive / 2; now < at;) {
		assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
		fire_at(l.timer.at);
	}
	assert_int_equal(now, at);
	/* Its numbers are not used in this run. */
	assert_int_equal(noted(OAE_N_STALL), 1);
	rcv(resolved());
	assert_int_equal(oae_link_state(&l), OAE_OPEN);
	assert_true(oae_link_wants(&l));
}

/* What it said was of that run. In the next one, which may never come, it has not said it yet. */
WINDOW_TEST(test_peer_closing_froze)
{
	rcv(peer_closes(0, false));
	port_down();
	assert_true(oae_link_wants(&l));
	post(&h[1], 1, 0);
	fire_at(l.timer.at + cfg.dead);
	assert_reversed(&h[1], OAE_E_DOWN);
	rcv(resolved());
	post(&h[2], 1, 0);
	rcv(peer_closes(0, true));
	assert_reversed(&h[2], OAE_E_PEER_CLOSED);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* Verbs that rest on one that the peer takes no more are reversed, too. */
WINDOW_TEST(test_peer_closing_verbs)
{
	post_verbs(1, 3);
	rcv(peer_closes(3, false));
	refuse_number(1, OAE_R_NO_REGION);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
}

/* CLOSE is said ever more seldom, and as often as a peer is asked whether it is there. */
WINDOW_TEST(test_close_seldom)
{
	u64 at, most, iv;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_window(state);
		cfg.keepalive = i ? 10 * cfg.dead : cfg.dead / 8;
		most = i ? cfg.dead / 4 : cfg.keepalive;
		close_link();
		for (at = now, iv = 0; iv < most; at = now) {
			rcv(frame(OAE_SYNC_ACK));
			do {
				fire_at(l.timer.at);
			} while (!sent(OAE_CLOSE));
			assert_in_range(now - at, iv + 1, most);
			iv = now - at;
		}
		rcv(frame(OAE_SYNC_ACK));
		do {
			fire_at(l.timer.at);
		} while (!sent(OAE_CLOSE));
		assert_int_equal(now - at, most);
	}
}

/* A long message that comes slowly is something that goes on: the peer closes, and stays. */
WINDOW_TEST(test_peer_closes_slowly)
{
	unsigned int i;

	rcv(peer_closes(0, false));
	for (i = 0; i < 4; i++) {
		now += cfg.keepalive * 3 / 4;
		take_slice(1, i, 0);
		assert_int_equal(count_op(OAE_OP_KEEP), 1);
		fire_at(now);
		assert_int_equal(noted(OAE_N_STALL), 0);
		assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	}
}

/* CLOSE is said again in time for a peer with the same knobs, though a timer is a bit late. */
WINDOW_TEST(test_close_in_time)
{
	u64 at, iv = 0;
	unsigned int i;

	cfg.dead = 100 * cfg.keepalive;
	close_link();
	for (i = 0; i < 20; i++, iv = now - at) {
		at = now;
		rcv(frame(OAE_SYNC_ACK));
		do {
			fire_at(l.timer.at);
		} while (!sent(OAE_CLOSE));
	}
	open_window(state);
	rcv(peer_closes(0, false));
	fire_at(now + iv + MS / 20);
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
}

/* What the peer says next takes a round trip, which may be longer than that. */
WINDOW_TEST(test_peer_closes_far)
{
	l.rtt.srtt = 3 * cfg.keepalive;
	rcv(peer_closes(0, false));
	fire_at(now + l.rtt.srtt);
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
}

/* It holds what was offered in this run, and all that is committed: nothing else can be. */
WINDOW_TEST(test_peer_holds_too_much)
{
	post_some(1, 2);
	rcv(peer_closes(3, false));
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);

	open_window(state);
	post_some(1, 2);
	reflect(1);
	rcv(BUT(peer_closes(0, false), f.seq--));
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
}

/* Before LAST something here is undecided: who has no link knows nothing of that. */
WINDOW_TEST(test_close_ack_early)
{
	post_some(1, 1);
	close_link();
	rcv(frame(OAE_CLOSE_ACK));
	assert_nothing_but(OAE_N_OLD_SEQ);
	reflect(1);
	rcv(frame(OAE_DONE));
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
	rcv(frame(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);
}

/* A link that ends hands nothing back that rests on a verb: all of it is over. */
WINDOW_TEST(test_killed)
{
	post_verb(&h[1]);
	post(&h[2], 1, 0);
	post(&x, 1, OAE_POST_EXPRESS);
	assert_null(sent(OAE_OFFER));
	kill_link(OAE_E_DOWN);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);
	assert_int_equal(a.nsends, 0);
}

/* A peer that closes is answered only when nothing is held. */
WINDOW_TEST(test_peer_closes)
{
	take(1, OAE_MESSAGE);
	rcv(peer_closes(0, true));
	assert_null(sent(OAE_CLOSE_ACK));
	commit_to(1);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* A link that closes and freezes reverses its offers as it resolves. */
WINDOW_TEST(test_close_froze)
{
	post_some(1, 2);
	close_link();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	anew_wide();
	assert_true(ended(&h[2], OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_null(sent(OAE_OFFER));
	assert_non_null(sent(OAE_CLOSE));
}

/* What waits is reversed at once, and nothing is offered in place of it. */
WINDOW_TEST(test_close_parked)
{
	post_some(1, 2);
	refuse_number(1, OAE_R_BUSY);
	close_link();
	assert_true(ended(&h[1], OAE_REVERSED));
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, 0);
}

/* So is what rests on it, though it was in flight: no post is taken any more. */
WINDOW_TEST(test_close_parked_verb)
{
	post_verbs(1, 3);
	reflect(3);
	close_link();
	assert_false(op(OAE_OP_COMPLETE));
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_false(oae_link_wants(&l));
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_int_equal(offered(2)->frame.kind, OAE_VOID);
	assert_int_equal(offered(3)->frame.kind, OAE_VOID);
	reflect(3);
	reflect(2);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(l.nlanes, 0);
}

/* So is what waits since the run before. */
WINDOW_TEST(test_close_queued)
{
	post_some(1, 2);
	anew_narrow();
	assert_null(offered(2));
	close_link();
	assert_true(ended(&h[2], OAE_REVERSED));
}

/* DONE was asked for an earlier one: it is asked for again. */
WINDOW_TEST(test_close_confirms)
{
	peer_lag = 2;
	post_some(1, 1);
	reflect(1);
	confirm();
	post_some(2, 2);
	reflect(2);
	close_link();
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, 2);
}

UNIT_MAIN("closing with several under way")
