// SPDX-License-Identifier: GPL-2.0
/*
 * What an end may conclude of the other's state, and what it may not: from an
 * rx that may not move (4.3), from a silence (4.4), from a number (4.5).
 */
#include "one_link.h"

#define X	OAE_F_EXPRESS
#define END	OAE_F_LAST

/* The peer has frozen too, and still is: it may open into another run yet. */
static struct oae_frame asked(void)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.src_ltag = l.peer.ltag + 0x100;
	return f;
}

/* In flight, and now too long for the port. */
static void express_too_long(struct oae_frame sync)
{
	struct oae_post p = {
		.handle = &x, .len = 10000, .slice_max = 1000, .nslices = 10,
		.flags = OAE_POST_EXPRESS,
	};

	l.peer.max_len = 10000;
	sync.sync.max_len = 10000;
	post_it(&p);
	assert_true(sent(OAE_OFFER)->handle == &x);
	post(&y, 1, 0);
	set_mtu(200);
	now += 1000 * MS;
	sync.dst_ltag = l.ltag;
	rcv(sync);
	assert_false(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
}

static void assert_undecided(void)
{
	assert_false(op(OAE_OP_COMPLETE));
	assert_false(sent(OAE_OFFER));
	assert_true(oae_link_undecided(&l));
}

/* It was not delivered: nothing stands for it, and then it is the turn of what is behind it. */
static void assert_proven(void)
{
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	rcv(answer(OAE_REFLECT));
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* A SYNC says where its sender stood; it may yet open into the run before. */
LINK_TEST(test_sync_is_no_proof)
{
	express_too_long(asked());
	assert_undecided();
	rcv(frame(OAE_SYNC));			/* again, or a probe */
	assert_undecided();
	/* It has opened this run, and delivered nothing. */
	rcv(frame(OAE_SYNC_ACK));
	assert_proven();
}

/* Any data frame of this run says as much. */
LINK_TEST(test_data_is_proof)
{
	express_too_long(asked());
	assert_undecided();
	rcv(slice(0, END));
	assert_proven();
}

/* Nobody sends anything: the timer has the peer answer. There is nothing to ask for. */
LINK_TEST(test_done_is_proof)
{
	express_too_long(asked());
	fire_at(now + 100 * MS);
	assert_null(sent(OAE_ASK));
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	rcv(frame(OAE_DONE));
	assert_proven();
}

/* What follows such a proof cannot be answered by the same frame: it is not offered yet. */
LINK_TEST(test_answer_before_the_offer)
{
	struct oae_frame f;

	express_too_long(asked());
	f = answer(OAE_REFLECT);
	f.kind = OAE_VOID;
	f.reflect.digest = nothing_digest();
	f.reflect.first = 0;
	rcv(f);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_int_equal(oae_link_tx(&l), 0);
	rcv(f);
	assert_int_equal(oae_link_tx(&l), 1);
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* So does a SYNC_ACK that is resolved against. */
LINK_TEST(test_sync_ack_is_proof)
{
	express_too_long(resolved());
	assert_true(ended(&x, OAE_REVERSED));
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* The frames of the run before came: it was delivered. */
LINK_TEST(test_delivered_after_all)
{
	express_too_long(asked());
	fire_at(now + MS);			/* its time has only begun */
	assert_int_equal(l.state, OAE_OPEN);
	rcv(BUT(frame(OAE_SYNC_ACK), f.rx++));
	assert_undecided();
	while (l.state == OAE_OPEN)
		fire_at(l.timer.at);
	assert_int_equal(noted(OAE_N_STALL), 1);
	rcv(BUT(resolved(), f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* A wider path again: it is offered, as what it was. */
LINK_TEST(test_wide_again)
{
	express_too_long(asked());
	set_mtu(1500);
	rcv(BUT(asked(), f.sync.max_len = 10000));
	assert_int_equal(ncuts, 1);
	assert_true(sent(OAE_OFFER)->handle == &x);
	assert_int_equal(sent(OAE_OFFER)->nslices, 7);
	rcv(frame(OAE_SYNC_ACK));
	assert_false(op(OAE_OP_COMPLETE));
	refuse(OAE_R_TOO_BIG);
	assert_true(ended(&x, OAE_REVERSED));
}

/* An express in doubt, and another behind it. */
static void express_behind(void)
{
	post(&x, 1, OAE_POST_EXPRESS);
	post(&y, 1, OAE_POST_EXPRESS);
	port_down();
	rcv(asked());
	assert_true(sent(OAE_OFFER)->handle == &x);
}

/* Of what comes behind it no run has heard: it is what is offered in this one, and not in doubt. */
LINK_TEST(test_doubt_ends)
{
	struct oae_frame f;

	express_behind();
	f = answer(OAE_REFLECT);
	f.rx++;
	rcv(f);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_false(l.offer.doubt);

	/* A refusal from before this run's first word: a peer may lie. */
	open_link(state);
	express_behind();
	peer_lag = 1;
	refuse(OAE_R_TOO_BIG);
	assert_true(ended(&x, OAE_REVERSED));
	peer_lag = 0;
	rcv(answer(OAE_REFLECT));
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_false(l.offer.doubt);
}

/* Parked: a half that goes first, once the express is recalled, is not in doubt. */
LINK_TEST(test_doubt_parked)
{
	struct oae_post half = {
		.handle = &y, .len = 50, .slice_max = 25, .nslices = 2,
		.kind = OAE_SWAP,
	};

	post(&x, 1, OAE_POST_EXPRESS);
	port_down();
	rcv(asked());
	peer_lag = 1;
	refuse(OAE_R_BUSY);
	post_it(&half);
	peer_lag = 0;
	rcv(answer(OAE_REFLECT));		/* of nothing */
	assert_true(op(OAE_OP_BACK)->handle == &x);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->nslices, 1);
	assert_false(l.offer.doubt);
}

/* Delivered, and its sender may not know: not forgotten before it does. */
LINK_TEST(test_express_unseen)
{
	unsigned int i;

	rcv(slice(0, X | END));
	assert_int_equal(l.rx, PEER_START + 1);
	assert_true(oae_link_in_doubt(&l));
	port_down();
	for (i = 0; i < 100; i++)
		fire_at(now + cfg.dead);
	assert_int_not_equal(l.state, OAE_CLOSED);
	rcv(BUT(resolved(), f.tx--));	/* still asks for it */
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(oae_link_in_doubt(&l));
	rcv(BUT(frame(OAE_SYNC), f.tx--));	/* from before */
	assert_true(oae_link_in_doubt(&l));
	rcv(frame(OAE_SYNC));			/* and now has heard of it */
	assert_false(oae_link_in_doubt(&l));

	port_down();
	for (i = 0; i < 100 && l.state != OAE_CLOSED; i++)
		fire_at(now + cfg.dead);
	assert_int_equal(l.state, OAE_CLOSED);
}

/* Nobody asks for what was before a new name. */
LINK_TEST(test_unseen_forgotten)
{
	rcv(slice(0, X | END));
	renamed();
	assert_false(oae_link_in_doubt(&l));
}

/* What was atomic was committed before it was delivered. */
LINK_TEST(test_atomic_is_seen)
{
	rcv(slice(0, END));
	assert_true(oae_link_in_doubt(&l));
	commit(0);
	assert_false(oae_link_in_doubt(&l));

	/* And of one that resolving commits. */
	rcv(slice(0, X | END));
	assert_true(oae_link_in_doubt(&l));
	anew();
	assert_false(oae_link_in_doubt(&l));
}

/* Of 2^32 numbers a run uses a quarter at most, each way. */
LINK_TEST(test_worn)
{
	l.run_tx = l.tx - (1U << 30) + 2;
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(l.state, OAE_OPEN);
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&y, OAE_COMMITTED));
	assert_int_equal(noted(OAE_N_WORN), 1);
	assert_non_null(sent(OAE_SYNC));
	fire_at(l.timer.at);
	assert_int_equal(noted(OAE_N_WORN), 0);
	rcv(resolved());
	assert_int_equal(l.state, OAE_OPEN);
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(l.state, OAE_OPEN);

	open_link(state);
	l.run_rx = l.rx - (1U << 30) + 1;
	rcv(slice(0, END));
	assert_int_equal(l.state, OAE_OPEN);
	commit(0);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_int_equal(noted(OAE_N_WORN), 1);
	rcv(resolved());
	assert_int_equal(l.state, OAE_OPEN);
}

UNIT_MAIN("what proves what")
