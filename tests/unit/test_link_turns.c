// SPDX-License-Identifier: GPL-2.0
/*
 * Halves and what else waits at one end: whose turn it is, what is one frame,
 * and when a half that waits is looked at again (doc/protocol.md 4.9, 4.4).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "one_link.h"

static char h, i;	/* handles more */

static const void *offered(void)
{
	return l.offer.state == OAE_OFFER_OUT ? l.offer.p.handle : NULL;
}

/* What was offered last does not have the next turn, though it was refused. */
static void test_turns(void **state)
{
	(void)state;
	oae_link_rank(&l, true);
	post(&x, 1, 0);
	post_half(&h);
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &h);
	/* The peer has one by now: it is offered again, but not before y. */
	rcv(offer_kind(1, OAE_SWAP));
	refuse(OAE_R_NO_HALF, 0);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	assert_ptr_equal(offered(), &y);
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(offered(), &h);
}

/* What steps aside does so whosever turn it is. */
static void test_aside_out_of_turn(void **state)
{
	(void)state;
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post(&y, 1, 0);
	post_half(&h);
	assert_ptr_equal(offered(), &h);
	rcv(answer_kind(OAE_SWAP, 5));
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_ptr_equal(l.offer.p.handle, &x);
	post_half(&i);
	assert_ptr_equal(offered(), &i);
}

/* A half in two slices is asked for in one; that cannot be: it is too big. */
static void test_one_frame(void **state)
{
	struct oae_post p = {
		.handle = &x, .len = 20, .slice_max = 10, .nslices = 2,
		.kind = OAE_SWAP,
	};

	(void)state;
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), 0);
	assert_int_equal(count_op(OAE_OP_RESLICE), 1);
	assert_null(sent(OAE_OFFER));
	oae_link_resliced(&l, &p, now, &a);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_TOO_BIG);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* Though the peer is heard of meanwhile. */
static void test_looked_at_in_time(void **state)
{
	u64 again;

	(void)state;
	post_half(&h);
	refuse(OAE_R_NO_HALF, 0);
	again = now + cfg.keepalive;
	now += cfg.keepalive / 2;
	rcv(frame(OAE_DONE));
	fire_at(now);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	assert_int_equal(l.timer_at, again);
}

/* Posted on a link that is down it has the dead time to find the peer. */
static void test_posted_when_down(void **state)
{
	(void)state;
	port_down();
	fire_at(now + cfg.dead);
	assert_true(l.down);
	post_half(&h);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	fire_at(now + cfg.dead);
	assert_true(ended(&h, OAE_REVERSED));
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* The stall time of a DONE that is asked for late begins then. */
static void test_confirm_late(void **state)
{
	(void)state;
	peer_lag = 1;
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_false(l.confirmed);
	now += 100 * MS;
	confirm();
	assert_true(l.await_done);
	assert_int_equal(l.done_at, now);
}

#define TEST(name)	cmocka_unit_test_setup(name, open_link)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_turns),
		TEST(test_aside_out_of_turn),
		TEST(test_one_frame),
		TEST(test_looked_at_in_time),
		TEST(test_posted_when_down),
		TEST(test_confirm_late),
	};

	return cmocka_run_group_tests_name("turns of halves", tests, NULL,
					   NULL);
}
