// SPDX-License-Identifier: GPL-2.0
/*
 * A half at one end, whose peer is played by hand (doc/protocol.md section 4.9):
 * what two honest ends never do as well. Both ends are in test_link_swap.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "one_link.h"

static char h;		/* a handle more */

static void waiting(char *handle)
{
	post_half(handle);
	refuse(OAE_R_NO_HALF, 0);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

static void lend(char *handle)
{
	waiting(handle);
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
}

/* There is room for a half and for something else, each on its own. */
static void test_room(void **state)
{
	struct oae_post p = {
		.handle = &y, .len = 1, .slice_max = 1, .nslices = 1,
		.kind = OAE_SWAP,
	};

	(void)state;
	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
	post_half(&x);				/* offered */
	assert_true(oae_link_wants(&l) && !oae_link_wants_half(&l));
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -EAGAIN);
	assert_int_equal(a.nops + a.nsends, 0);
	post(&y, 1, 0);				/* waits */
	assert_false(oae_link_wants(&l) || oae_link_wants_half(&l));
	rcv(answer_kind(OAE_SWAP, 5));
	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
	rcv(answer(OAE_REFLECT));

	lend(&h);
	assert_false(oae_link_wants_half(&l));
	commit(0);
	assert_true(oae_link_wants_half(&l));
	close_link();
	assert_false(oae_link_wants(&l) || oae_link_wants_half(&l));
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -ESHUTDOWN);
}

/* Neither a half nor a verb is ever express. */
static void test_no_express(void **state)
{
	struct oae_post p = {
		.handle = &x, .len = 1, .slice_max = 1, .nslices = 1,
		.flags = OAE_POST_EXPRESS,
	};

	(void)state;
	for (p.kind = OAE_SWAP; p.kind < OAE_KIND_END; p.kind++) {
		clear();
		assert_int_equal(oae_link_post(&l, &p, now, &a), -EINVAL);
		assert_int_equal(a.nops + a.nsends, 0);
	}
	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
}

/* What is said: the offer, and the half that answers one. */
static void test_what_is_said(void **state)
{
	const struct oae_send *s;

	(void)state;
	post_half(&x);
	s = sent(OAE_OFFER);
	assert_int_equal(s->frame.kind, OAE_SWAP);
	assert_int_equal(s->frame.flags, 0);	/* LAST is for the caller */
	assert_int_equal(s->slices, 1);
	assert_ptr_equal(s->handle, &x);
	refuse(OAE_R_NO_HALF, 0);
	assert_int_equal(noted(OAE_N_PARKED), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);

	rcv(offer_kind(3, OAE_SWAP));
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(noted(OAE_N_LENT), 1);
	assert_int_equal(noted(OAE_N_HELD), 1);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.kind, OAE_SWAP);
	assert_int_equal(s->frame.length, OAE_REFLECT_LEN + CUT);
	assert_int_equal(s->frame.attempt, 3);
	assert_ptr_equal(s->handle, &x);

	commit(0);
	assert_ptr_equal(op(OAE_OP_TAKE)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_TAKE) < op(OAE_OP_COMPLETE));
	assert_int_equal(count_op(OAE_OP_DELIVER) + count_op(OAE_OP_DISCARD), 0);
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* By the REFLECT it is committed, and what came with it is its. */
static void test_result(void **state)
{
	(void)state;
	post_half(&x);
	peer_lag = 1;
	rcv(answer_kind(OAE_SWAP, 1));		/* of any length but none */
	assert_ptr_equal(op(OAE_OP_RESULT)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_RESULT) < op(OAE_OP_COMPLETE));
	assert_non_null(sent(OAE_COMMIT));
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* A REFLECT of another kind is not of this offer. */
static void test_reflect_of_another_kind(void **state)
{
	static const struct {
		u8 kind;
		u16 more;
	} wrong[] = {
		{ OAE_MESSAGE, 0 }, { OAE_VERB, CUT },
	};
	unsigned int i;

	(void)state;
	post_half(&x);
	for (i = 0; i < 2; i++) {
		rcv(answer_kind(wrong[i].kind, wrong[i].more));
		assert_int_equal(noted(OAE_N_MISMATCH), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2 + i);
	}
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
}

/* NO_HALF frees the place: what waits goes out, and the half later. */
static void test_no_half_lets_pass(void **state)
{
	(void)state;
	post_half(&x);
	post(&y, 2, 0);
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_NO_HALF, 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, l.tx + 1);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&y, OAE_COMMITTED));
}

/* The two streams take turns: none waits for more than one of the other. */
static void test_turns(void **state)
{
	static const u8 kinds[] = { OAE_MESSAGE, OAE_SWAP, OAE_MESSAGE, OAE_SWAP,
				    OAE_MESSAGE, OAE_SWAP };
	u8 kind = OAE_MESSAGE;
	unsigned int i;

	(void)state;
	post(&x, 1, 0);
	for (i = 0; i < 6; i++) {
		assert_int_equal(kind, kinds[i]);
		/* Both wait, whichever is out. */
		if (oae_link_wants_half(&l))
			post_half(&h);
		if (oae_link_wants(&l))
			post(&y, 1, 0);
		rcv(kind ? answer_kind(kind, 8) : answer(OAE_REFLECT));
		assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
		assert_int_equal(a.nsends, 1);
		kind = sent(OAE_OFFER)->frame.kind;
	}
}

/* A half that is alone, or a message that is, does not wait for its turn. */
static void test_no_turns(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		post_half(&h);
		assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_SWAP);
		rcv(answer_kind(OAE_SWAP, 8));
	}
	for (i = 0; i < 3; i++) {
		post(&x, 1, 0);
		assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_MESSAGE);
		rcv(answer(OAE_REFLECT));
	}
}

/* Crossing: the senior refuses, the junior gives way. */
static void test_rank(void **state)
{
	(void)state;
	oae_link_rank(&l, true);
	post_half(&x);
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	assert_int_equal(sent(OAE_REFUSE)->frame.kind, OAE_SWAP);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	assert_true(l.half.crossed);
	rcv(offer_kind(1, OAE_SWAP));		/* again: the same answer */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	refuse(OAE_R_NO_HALF, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_false(l.half.crossed);
	refuse(OAE_R_NO_HALF, 0);		/* once only */
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	/* A higher attempt is taken though the one before was refused. */
	rcv(offer_kind(2, OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	commit(0);
	assert_true(ended(&x, OAE_COMMITTED));

	oae_link_rank(&l, false);
	post_half(&x);
	rcv(offer_kind(1, OAE_SWAP));
	assert_null(sent(OAE_REVERSE));
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(l.offer.state, OAE_OFFER_NONE);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	/* What answers the one that was withdrawn is old. */
	rcv(answer_kind(OAE_SWAP, 8));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	refuse(OAE_R_NO_HALF, 0);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
}

/* What waits behind a half that gives way goes out: it is lent, not offered. */
static void test_way_given_lets_pass(void **state)
{
	(void)state;
	post_half(&x);
	post(&y, 1, 0);
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(a.nsends, 2);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_SWAP);
}

/* No room is needed for a half, nor for a verb. */
static void test_no_room(void **state)
{
	(void)state;
	waiting(&x);
	rcv_room(offer_kind(1, OAE_SWAP), false);
	assert_non_null(sent(OAE_REFLECT));
	commit(0);
	rcv_room(offer_kind(1, OAE_VERB), false);
	assert_int_equal(count_op(OAE_OP_VERB), 1);
}

/* NO_HALF is no want of room: READY does not follow. */
static void test_no_ready(void **state)
{
	(void)state;
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	drained();
	assert_int_equal(a.nsends, 0);
}

/* An attempt is of one kind: a slice of another is not of it. */
static void test_kinds_disagree(void **state)
{
	struct oae_frame f;
	u8 kind;

	(void)state;
	waiting(&x);
	rcv(slice(1, 0, 0));
	assert_int_equal(l.hold.state, OAE_HOLD_PARTIAL);
	for (kind = OAE_SWAP; kind < OAE_KIND_END; kind++) {
		rcv(offer_kind(1, kind));
		assert_int_equal(noted(OAE_N_BAD_SLICE), 1);
		assert_int_equal(a.nsends + count_op(OAE_OP_VERB), 0);
		assert_int_equal(l.half.state, OAE_HALF_WAITING);
	}
	rcv(slice(1, 1, OAE_F_LAST));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	/* Nor do slices of a message serve a half. */
	f = offer_kind(2, OAE_SWAP);
	f.flags |= OAE_F_RESUME;
	rcv(f);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
}

/* A peer that misses slices of a half has them all: no RESUME for it. */
static void test_gap(void **state)
{
	(void)state;
	post_half(&x);
	refuse(OAE_R_GAP, 1);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	refuse(OAE_R_GAP, 2);			/* there is no such slice */
	assert_null(sent(OAE_OFFER));
}

/* Larger than what this end takes at all. */
static void test_max_len(void **state)
{
	struct oae_frame f = offer_kind(1, OAE_SWAP);

	(void)state;
	waiting(&x);
	cfg.max_len = SLICE - 1;
	rcv(f);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	cfg.max_len = SLICE;
	f.attempt = 2;
	rcv(f);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
}

/* Refused for good, for whatever reason. */
static void test_refused(void **state)
{
	static const struct {
		u16 reason;
		int err;
	} refused[] = {
		{ OAE_R_TOO_BIG, EMSGSIZE }, { OAE_R_KIND, EOPNOTSUPP },
		{ OAE_R_NO_REGION, ENXIO }, { OAE_R_RANGE, ERANGE },
		{ OAE_R_ACCESS, EACCES }, { OAE_R_BAD_VERB, EBADMSG },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		post_half(&x);
		refuse(refused[i].reason, 0);
		assert_true(ended(&x, OAE_REVERSED));
		assert_int_equal(op(OAE_OP_COMPLETE)->err, refused[i].err);
		assert_int_equal(noted(OAE_N_REJECTED), 1);
		assert_int_equal(l.half.state, OAE_HALF_NONE);
	}
	/* BUSY and CONFLICT make no sense, and park it. */
	post_half(&x);
	refuse(OAE_R_BUSY, 0);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	rcv(offer_kind(1, OAE_SWAP));		/* given way even so */
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	assert_int_equal(l.offer.state, OAE_OFFER_NONE);
}

/* The keepalive interval, and not a moment sooner; not while frozen. */
static void test_again_at(void **state)
{
	u64 due = now + cfg.keepalive;

	(void)state;
	waiting(&x);
	assert_true(l.timer_at <= due);
	fire_at(due - 1);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	assert_int_equal(l.timer_at, due);
	fire_at(due);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	assert_int_equal(noted(OAE_N_REOFFERED), 1);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	refuse(OAE_R_NO_HALF, 0);
	due = now + cfg.keepalive;

	port_down();
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	rcv(resolved());
	assert_null(sent(OAE_OFFER));
	fire_at(due);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
}

/* Another address: what is lent nobody can tell, what is offered is offered anew. */
static void test_renamed(void **state)
{
	(void)state;
	lend(&x);
	clear();
	oae_link_renamed(&l, now, &a);
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_UNKNOWN);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	post_half(&x);
	clear();
	oae_link_renamed(&l, now, &a);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);

	open_link(NULL);
	waiting(&x);
	clear();
	oae_link_renamed(&l, now, &a);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

/* Counters that do not fit: what is in flight or lent ends UNKNOWN. */
static void test_broken(void **state)
{
	struct oae_frame f;

	(void)state;
	lend(&x);
	port_down();
	f = resolved();
	f.tx += 2;
	rcv(f);
	assert_int_equal(noted(OAE_N_BROKEN), 1);
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	post_half(&x);
	port_down();
	f = resolved();
	f.rx += 2;
	rcv(f);
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	waiting(&x);
	port_down();
	f = resolved();
	f.rx += 2;
	rcv(f);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

/* A half in each state, and the link is killed: why, and what is said. */
static void test_killed(void **state)
{
	(void)state;
	lend(&x);
	post(&y, 1, 0);
	kill_link(OAE_E_CANCEL);
	assert_true(ended(&y, OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(noted(OAE_N_TAKEN_BACK), 0);
	assert_true(op(OAE_OP_DISCARD) < op(OAE_OP_GONE));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	/* The rank outlives the link. */
	oae_link_rank(&l, true);
	clear();
	oae_link_open(&l, now, &a);
	post_half(&x);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	kill_link(OAE_E_CANCEL);
	assert_true(ended(&x, OAE_REVERSED));
	assert_true(l.senior);
}

/* Attempts used up: what has not gone out is not in flight. */
static void test_attempts(void **state)
{
	unsigned int i;

	(void)state;
	post_half(&x);
	for (i = 1; i < 255; i++) {
		refuse(OAE_R_NO_HALF, 0);
		fire_at(l.half.again_at);
		assert_int_equal(l.attempt, i + 1);
	}
	refuse(OAE_R_NO_HALF, 0);
	fire_at(l.half.again_at);
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	rcv(resolved());
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
	assert_int_equal(noted(OAE_N_REOFFERED), 1);
}

/* A half that gives way while attempts are used up: what waits freezes the link. */
static void test_attempts_lent(void **state)
{
	(void)state;
	post_half(&x);
	l.attempt = 0xff;
	post(&y, 1, 0);
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	rcv(resolved());
	assert_int_equal(noted(OAE_N_TAKEN_BACK), 1);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
}

/* What is parked lets a half pass, and is parked again when that is through. */
static void test_aside(void **state)
{
	u64 due = now + cfg.keepalive;

	(void)state;
	post(&x, 3, 0);
	refuse(OAE_R_BUSY, 0);
	post(&y, 1, 0);
	post_half(&h);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_true(l.aside.valid);
	assert_false(oae_link_wants(&l));
	rcv(answer_kind(OAE_SWAP, 8));
	assert_true(ended(&h, OAE_COMMITTED));
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_ptr_equal(l.offer.p.handle, &x);
	/* Whole: under this number the peer has nothing of it. */
	rcv(frame(OAE_READY));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);

	/* READY comes while the half is out, which the peer has none for. */
	refuse(OAE_R_CONFLICT, 0);
	post_half(&h);
	rcv(frame(OAE_READY));
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_NO_HALF, 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);

	/* And after the keepalive interval in any case. */
	refuse(OAE_R_BUSY, 0);
	due = now + cfg.keepalive;
	fire_at(due);
	assert_non_null(sent(OAE_OFFER));
}

/* It can be reversed all the while, for whatever reason. */
static void test_aside_reversed(void **state)
{
	(void)state;
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post_half(&h);
	assert_int_equal(cancel(&x), 0);
	assert_true(ended(&x, OAE_REVERSED));
	assert_null(sent(OAE_REVERSE));
	rcv(answer_kind(OAE_SWAP, 8));
	assert_int_equal(l.offer.state, OAE_OFFER_NONE);

	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post_half(&h);
	close_link();
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);

	open_link(NULL);
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post_half(&h);
	rcv(frame(OAE_CLOSE));
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_PEER_CLOSED);

	open_link(NULL);
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post(&y, 1, 0);
	post_half(&h);
	kill_link(OAE_E_CANCEL);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);

	open_link(NULL);
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post(&y, 1, 0);
	post_half(&h);
	port_down();
	fire_at(now + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);

	/* A parked express is in flight no more: the next incarnation may get it. */
	open_link(NULL);
	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY, 0);
	post_half(&h);
	assert_int_equal(cancel(&x), 0);
}

/* Frozen beside it: offered again after the half, in any case. */
static void test_aside_frozen(void **state)
{
	(void)state;
	post(&x, 2, 0);
	refuse(OAE_R_BUSY, 0);
	post_half(&h);
	port_down();
	rcv(resolved());
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	refuse(OAE_R_NO_HALF, 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->slices, 3);
}

/* A half that is too long to pass: what stood aside for it is parked again. */
static void test_aside_for_nothing(void **state)
{
	(void)state;
	post(&x, 1, 0);
	refuse(OAE_R_BUSY, 0);
	post_kind(&h, OAE_SWAP, oae_link_slice_max(&l), 0);
	assert_true(ended(&h, OAE_REVERSED));
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_false(l.aside.valid);
}

/* A lent half that its user wanted back: reversed when it comes back. */
static void test_asked_back(void **state)
{
	struct oae_frame f;

	(void)state;
	lend(&x);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	f = frame(OAE_REVERSE);
	f.seq = l.rx + 1;
	f.attempt = 1;
	rcv(f);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_SIGNAL);
	assert_int_equal(l.half.state, OAE_HALF_NONE);
	assert_null(sent(OAE_OFFER));

	/* Or committed, if it is; the next one is not asked back. */
	post_half(&x);
	refuse(OAE_R_NO_HALF, 0);
	rcv(offer_kind(2, OAE_SWAP));
	assert_int_equal(cancel(&x), -EINPROGRESS);
	commit(0);
	assert_true(ended(&x, OAE_COMMITTED));
	lend(&x);
	port_down();
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
}

/* oae_link_confirm(): asked once, when there is something to ask. */
static void test_confirm(void **state)
{
	(void)state;
	confirm();				/* nothing committed */
	assert_int_equal(a.nops + a.nsends, 0);
	post(&x, 1, 0);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, 0);
	confirm();
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	assert_true(l.timer_at <= now + oae_link_stall(&l));
	confirm();				/* asked already */
	assert_int_equal(a.nops + a.nsends, 0);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
	assert_true(l.confirmed);

	/* With something in flight its answer says it. */
	post(&x, 1, 0);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	post(&y, 1, 0);
	confirm();
	assert_int_equal(a.nsends, 0);
	peer_lag = 0;
	refuse(OAE_R_BUSY, 0);
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);

	/* Parked it is asked for. */
	open_link(NULL);
	post(&x, 1, 0);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	post(&y, 1, 0);
	refuse(OAE_R_BUSY, 0);
	confirm();
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);

	/* And frozen, resolving says it. */
	port_down();
	peer_lag = 0;
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
}

static void test_confirm_frozen(void **state)
{
	(void)state;
	post(&x, 1, 0);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	port_down();
	confirm();
	assert_int_equal(a.nsends, 0);
	assert_true(l.await_done);
	rcv(resolved());			/* about to deliver */
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 0);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);

	kill_link(OAE_E_CANCEL);
	confirm();
	assert_int_equal(a.nops + a.nsends, 0);
}

#define TEST(t)	cmocka_unit_test_setup(t, open_link)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_room),
		TEST(test_no_express),
		TEST(test_what_is_said),
		TEST(test_result),
		TEST(test_reflect_of_another_kind),
		TEST(test_no_half_lets_pass),
		TEST(test_turns),
		TEST(test_no_turns),
		TEST(test_rank),
		TEST(test_way_given_lets_pass),
		TEST(test_no_room),
		TEST(test_no_ready),
		TEST(test_kinds_disagree),
		TEST(test_gap),
		TEST(test_max_len),
		TEST(test_refused),
		TEST(test_again_at),
		TEST(test_renamed),
		TEST(test_broken),
		TEST(test_killed),
		TEST(test_attempts),
		TEST(test_attempts_lent),
		TEST(test_aside),
		TEST(test_aside_reversed),
		TEST(test_aside_frozen),
		TEST(test_aside_for_nothing),
		TEST(test_asked_back),
		TEST(test_confirm),
		TEST(test_confirm_frozen),
	};

	return cmocka_run_group_tests_name("a half at one end", tests, NULL,
					   NULL);
}
