// SPDX-License-Identifier: GPL-2.0
/* An end closes while several transactions are under way (doc/protocol.md section 4.11). */
#include "one_window.h"

/* CLOSE does not wait for what is held above a number that was refused. */
WINDOW_TEST(test_close)
{
	take(2, OAE_MESSAGE);
	take_settling(1, OAE_MESSAGE);
	close_link();
	assert_non_null(sent(OAE_CLOSE));
	/* The peer gives the number up. */
	take(1, OAE_VOID);
	assert_non_null(sent(OAE_REFLECT));
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

/* But a peer that closes is answered only when nothing is held. */
WINDOW_TEST(test_peer_closes)
{
	take(1, OAE_MESSAGE);
	rcv(frame(OAE_CLOSE));
	assert_null(sent(OAE_CLOSE_ACK));
	commit_to(1);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* A verb is held, and both ends close: the peer is probed as always. */
WINDOW_TEST(test_close_computing)
{
	take_verb(1);
	close_link();
	rcv(frame(OAE_CLOSE));
	assert_null(sent(OAE_CLOSE_ACK));
	fire_at(now + cfg.keepalive);
	assert_non_null(sent(OAE_SYNC));
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
	assert_null(sent(OAE_CLOSE));
}

/* A verb above it, which was in flight, goes back, and may be posted no more. */
WINDOW_TEST(test_close_parked_verb)
{
	post_verbs(1, 3);
	reflect(3);
	rcv(frame(OAE_CLOSE));
	assert_false(op(OAE_OP_COMPLETE));
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	assert_int_equal(count_op(OAE_OP_BACK), 2);
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
