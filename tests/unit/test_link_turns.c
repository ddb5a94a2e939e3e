// SPDX-License-Identifier: GPL-2.0
/*
 * Halves and what else waits at one end: whose turn it is, what is one frame,
 * and when a half that waits is looked at again (doc/protocol.md 4.9, 4.4).
 */
#include "one_link.h"

static char h, i;	/* handles more */

static const void *offered(void)
{
	return l.offer.state == OAE_OFFER_OUT ? l.offer.p.handle : NULL;
}

/* What was offered last does not have the next turn, though it was refused. */
LINK_TEST(test_turns)
{
	oae_link_rank(&l, true);
	post(&x, 1, 0);
	post_half(&h);
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &h);
	/* The peer has one by now: it is offered again, but not before y. */
	rcv(offer_kind(OAE_SWAP));
	refuse(OAE_R_NO_HALF);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	rcv(answer(OAE_REFLECT));		/* of nothing, in its place */
	assert_ptr_equal(offered(), &y);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &h);
}

/* What steps aside does so whosever turn it is. */
LINK_TEST(test_aside_out_of_turn)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	post(&y, 1, 0);
	post_half(&h);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &h);
	rcv(answer_kind(OAE_SWAP, 5));
	assert_ptr_equal(offered(), &x);
	refuse(OAE_R_BUSY);
	post_half(&i);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &i);
}

/* A half that was posted in two slices is cut to one. */
LINK_TEST(test_one_frame)
{
	struct oae_post p = {
		.handle = &x, .len = 20, .slice_max = 10, .nslices = 2,
		.kind = OAE_SWAP,
	};

	post_it(&p);
	assert_int_equal(ncuts, 1);
	assert_ptr_equal(offered(), &x);
	assert_int_equal(sent(OAE_OFFER)->nslices, 1);
}

/* Though the peer is heard of meanwhile. */
LINK_TEST(test_looked_at_in_time)
{
	u64 again;

	post_half(&h);
	refuse(OAE_R_NO_HALF);
	rcv(answer(OAE_REFLECT));
	again = now + cfg.keepalive;
	now += cfg.keepalive / 2;
	rcv(frame(OAE_DONE));
	fire_at(now);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	assert_int_equal(l.timer.at, again);
}

/* Posted on a link that is down it has the dead time to find the peer. */
LINK_TEST(test_posted_when_down)
{
	port_down();
	fire_at(now + cfg.dead);
	assert_true(l.down);
	post_half(&h);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	fire_at(now + cfg.dead);
	assert_true(ended(&h, OAE_REVERSED));
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* A DONE that is asked for late is waited for from then on. */
LINK_TEST(test_confirm_late)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_false(oae_link_all_confirmed(&l));
	now += 100 * MS;
	confirm();
	assert_true(l.await_done);
	assert_int_equal(l.done_at, now);
}

UNIT_MAIN("turns of halves")
