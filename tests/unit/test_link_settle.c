// SPDX-License-Identifier: GPL-2.0
/* An end comes to where nothing is in doubt, before it becomes another (4.5). */
#include "one_link.h"

#define X	OAE_F_EXPRESS
#define END	OAE_F_LAST

static void settle(u64 ns)
{
	clear();
	oae_link_settle(&l, now + ns, now, &a);
	assert_false(a.overflow);
}

/* A peer that does not know this end opens the link with it. */
static void meet(void)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.src_ltag = 0x6000;
	f.tx = PEER_START;
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
}

static bool wants_done(void)
{
	return sent(OAE_COMMIT) &&
	       sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE;
}

/* Till it is over; and then it is. */
LINK_TEST(test_nothing_offered)
{
	u64 until = now + 50 * MS;

	fire_at(now + 10 * MS);
	settle(40 * MS);
	assert_int_equal(l.timer.at, until);
	post_half(&y);
	assert_null(sent(OAE_OFFER));
	post(&x, 1, 0);
	assert_null(sent(OAE_OFFER));
	fire_at(until - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(until);
	assert_true(sent(OAE_OFFER)->handle == &x);
	rcv(answer(OAE_REFLECT));
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* What is parked stays so, and asks for no time of its own all the while. */
LINK_TEST(test_parked_stays)
{
	u64 begin = now;

	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	settle(250 * MS);
	rcv(frame(OAE_READY));
	assert_null(sent(OAE_OFFER));
	fire_at(begin + cfg.keepalive);
	assert_null(sent(OAE_OFFER));
	assert_true(l.timer.at > now + MS);
	rcv(frame(OAE_SYNC_ACK));
	fire_at(begin + 250 * MS);
	assert_true(sent(OAE_OFFER)->handle == &x);
}

/* READY may have been lost: that is asked when it is over, and not before. */
LINK_TEST(test_parked_waits)
{
	u64 until = now + 250 * MS;
	unsigned int n;

	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	settle(250 * MS);
	for (n = 0; l.timer.at < until && n < 20; n++) {
		fire_at(l.timer.at);
		assert_null(sent(OAE_OFFER));
		if (sent(OAE_SYNC))
			rcv(frame(OAE_SYNC_ACK));
	}
	assert_int_equal(l.timer.at, until);
	fire_at(until);
	assert_true(sent(OAE_OFFER)->handle == &x);
}

/* It is refused for now; READY says that it is over. */
LINK_TEST(test_nothing_taken)
{
	settle(50 * MS);
	post_half(&y);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	rcv(slice(0, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	assert_null(op(OAE_OP_KEEP));
	assert_false(oae_link_in_doubt(&l));
	words_free();
	assert_null(sent(OAE_READY));
	fire_at(now + 50 * MS);
	assert_non_null(sent(OAE_READY));
	rcv(slice(0, END));
	assert_non_null(sent(OAE_REFLECT));
}

/* What is held is the peer's to decide. */
LINK_TEST(test_held)
{
	rcv(slice(0, END));
	settle(50 * MS);
	assert_true(oae_link_in_doubt(&l));
	rcv(slice(0, END));
	assert_non_null(sent(OAE_REFLECT));
	commit(0);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_false(oae_link_in_doubt(&l));
}

/* What is in flight is committed, and confirmed. */
LINK_TEST(test_in_flight)
{
	post(&x, 1, 0);
	settle(50 * MS);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(wants_done());
	assert_true(oae_link_in_doubt(&l));
	rcv(frame(OAE_DONE));
	assert_false(oae_link_in_doubt(&l));
}

/* What was in flight goes out again after a freeze, but nothing else does. */
LINK_TEST(test_in_flight_again)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	settle(250 * MS);
	anew();
	assert_true(sent(OAE_OFFER)->handle == &x);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(sent(OAE_OFFER));
}

LINK_TEST(test_committed)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_false(wants_done());
	settle(50 * MS);
	assert_true(wants_done());
	assert_null(sent(OAE_SYNC));		/* for which there is no need */
}

/* The peer is asked whether it knows of an express. */
LINK_TEST(test_unseen)
{
	rcv(slice(0, X | END));
	settle(1000 * MS);
	assert_non_null(sent(OAE_SYNC));
	assert_true(oae_link_in_doubt(&l));
	rcv(frame(OAE_SYNC_ACK));
	assert_false(oae_link_in_doubt(&l));
}

/* And must answer in time. */
LINK_TEST(test_unseen_unanswered)
{
	u64 begin = now;

	rcv(slice(0, X | END));
	settle(1000 * MS);
	while (now < begin + cfg.dead) {
		assert_int_equal(l.state, OAE_OPEN);
		fire_at(l.timer.at);
	}
	assert_int_equal(now, begin + cfg.dead);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* A frozen end asks anyway. */
LINK_TEST(test_frozen)
{
	rcv(slice(0, X | END));
	port_down();
	settle(50 * MS);
	assert_null(sent(OAE_SYNC));
	post(&x, 1, 0);
	rcv(resolved());
	assert_null(sent(OAE_OFFER));
	assert_false(oae_link_in_doubt(&l));
	fire_at(now + 50 * MS);
	assert_true(sent(OAE_OFFER)->handle == &x);
}

/* It is another end now, and begins at once. */
LINK_TEST(test_renamed)
{
	settle(50 * MS);
	renamed();
	meet();
	post(&x, 1, 0);
	assert_non_null(sent(OAE_OFFER));
}

static void go_on(void)
{
	clear();
	oae_link_go_on(&l, now, &a);
	assert_false(a.overflow);
}

/* The peer finds the same end at the new address: nothing waits any more. */
LINK_TEST(test_goes_on)
{
	fire_at(now + 10 * MS);
	settle(250 * MS);
	post(&x, 1, 0);
	assert_null(sent(OAE_OFFER));
	go_on();
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
	assert_true(l.timer.at <= now + oae_link_pto(&l));
}

/* Nor does what the peer offers. */
LINK_TEST(test_goes_on_takes)
{
	settle(250 * MS);
	rcv(slice(0, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	go_on();
	assert_non_null(sent(OAE_READY));
	rcv(slice(0, END));
	assert_non_null(sent(OAE_REFLECT));
}

/* If that was the path in use, it freezes first, and resolves there. */
LINK_TEST(test_goes_on_frozen)
{
	settle(250 * MS);
	post(&x, 1, 0);
	port_down();
	go_on();
	assert_int_equal(a.nsends, 0);
	rcv(resolved());
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
	rcv(slice(0, END));
	assert_non_null(sent(OAE_REFLECT));
}

/* A link that did not settle has nothing to end. */
LINK_TEST(test_goes_on_unsettled)
{
	rcv_settling(slice(0, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	go_on();
	assert_int_equal(a.nops + a.nsends, 0);
	kill_link(OAE_E_CANCEL);
	go_on();
	assert_int_equal(a.nops + a.nsends, 0);
}

/* With nobody there is nothing to settle. */
LINK_TEST(test_closed)
{
	kill_link(OAE_E_CANCEL);
	settle(50 * MS);
	assert_int_equal(a.nops + a.nsends, 0);
	clear();
	oae_link_open(&l, now, &a);
	meet();
	post(&x, 1, 0);
	assert_non_null(sent(OAE_OFFER));
}

/* By another clock it would last for ever. */
LINK_TEST(test_another_clock)
{
	settle(50 * MS);
	fire_at(now - 10000 * MS);
	post(&x, 1, 0);
	assert_non_null(sent(OAE_OFFER));

	open_link(state);
	now -= 10000 * MS;
	post(&x, 1, 0);
	assert_non_null(sent(OAE_OFFER));
}

/* READY is said once, so it counts though it comes meanwhile. */
LINK_TEST(test_ready_meanwhile)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	settle(20 * MS);
	rcv(frame(OAE_READY));
	assert_null(sent(OAE_OFFER));
	fire_at(now + 20 * MS);
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
}

/* The port is about to go down. */
static void leave(void)
{
	clear();
	oae_link_leave(&l, now + 1000 * MS, now, &a);
	assert_false(a.overflow);
}

/* The last commit is said once more, and confirmed if the answer comes yet. */
LINK_TEST(test_leave_says)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_false(wants_done());
	leave();
	assert_true(wants_done());
	assert_int_equal(sent(OAE_COMMIT)->frame.tx, oae_link_tx(&l));
	assert_int_equal(a.nsends, 1);
	rcv(frame(OAE_DONE));
	assert_false(oae_link_in_doubt(&l));
}

/* Nobody could tell the peer of another commit: none is made, nor anything else begun. */
LINK_TEST(test_leave_commits_nothing)
{
	struct oae_frame reflect;

	post(&x, 1, 0);
	reflect = answer(OAE_REFLECT);
	leave();
	assert_false(wants_done());
	rcv(reflect);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(noted(OAE_N_FROZEN), 1);
	post(&y, 1, 0);
	assert_null(sent(OAE_OFFER));
	kill_link(OAE_E_CANCEL);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_reversed(&x, OAE_E_CANCEL);
}

/* An express that was delivered needs no other word. */
LINK_TEST(test_leave_express)
{
	post(&x, 1, OAE_POST_EXPRESS);
	leave();
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* What is held is delivered if the peer says so; nothing more is taken. */
LINK_TEST(test_leave_held)
{
	rcv(slice(0, END));
	leave();
	commit(0);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	rcv(slice(0, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
}

/* The port was taken down, and comes up again: all is as before. */
LINK_TEST(test_leave_returns)
{
	post(&x, 1, 0);
	leave();
	port_down();
	rcv(resolved());
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_false(wants_done());
	post(&y, 1, 0);
	assert_non_null(sent(OAE_OFFER));
	rcv(slice(0, END));
	assert_non_null(sent(OAE_REFLECT));
}

/* So it is after a while if the link went by another path meanwhile, and did not freeze. */
LINK_TEST(test_leave_ends)
{
	u64 begin = now;

	cfg.keepalive = 10000 * MS;
	fire_at(now + 10 * MS);
	leave();
	assert_int_equal(l.timer.at, begin + 1010 * MS);
	post(&x, 1, 0);
	fire_at(begin + 1010 * MS);
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* A frozen end has nobody to tell, and one that is CLOSED has nothing. */
LINK_TEST(test_leave_frozen)
{
	port_down();
	leave();
	assert_int_equal(a.nops + a.nsends, 0);
	kill_link(OAE_E_CANCEL);
	leave();
	assert_int_equal(a.nops + a.nsends, 0);
}

UNIT_MAIN("settling")
