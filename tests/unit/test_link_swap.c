// SPDX-License-Identifier: GPL-2.0
/*
 * Swaps, two ends and frame by frame (doc/protocol.md section 4.9). B is the
 * senior. What one end alone does is in test_link_half.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "sim_hand.h"

static struct sim_tx *half(struct sim_end *e)
{
	return sim_post(e, 24, 24, OAE_SWAP, 0);
}

static void assert_swapped(const struct sim_tx *x, const struct sim_tx *y)
{
	assert_committed(x);
	assert_committed(y);
	assert_int_equal(x->other, y->id);
	assert_int_equal(y->other, x->id);
}

static void assert_half(const struct sim_end *e, u8 state)
{
	if (e->link.half.state != state)
		fail_msg("%c: half in state %u, not %u", 'A' + e->who,
			 e->link.half.state, state);
}

/* A half of this end, which the other has none for. */
static struct sim_tx *waiting_half(struct sim_end *e)
{
	struct sim_tx *tx = half(e);

	pass(!e->who, OAE_OFFER);
	pass(e->who, OAE_REFUSE);
	assert_half(e, OAE_HALF_WAITING);
	return tx;
}

/* X is offered by A, and Y of B is lent for it: the REFLECT is on its way. */
static void lend(struct sim_tx **x, struct sim_tx **y)
{
	open_link();
	*y = waiting_half(b);
	*x = half(a);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_LENT);
	assert_int_equal(next_opcode(A), OAE_REFLECT);
}

/* 4.9, 2 to 4: the peer had none, and when it posts one, it is the one to offer. */
static void test_waiting_takes(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	x = half(a);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_LENT);
	assert_false(y->ended);
	pass(A, OAE_REFLECT);
	assert_true(x->ended && x->other == y->id);
	assert_false(y->ended);
	pass(B, OAE_COMMIT);
	assert_swapped(x, y);
	assert_int_equal(b->link.tx, 0);
	assert_int_equal(b->link.rx, a->link.tx);
	quiet();
}

/* The other way round it is the same. */
static void test_junior_waits(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	x = waiting_half(a);
	y = half(b);
	pass(A, OAE_OFFER);
	pass(B, OAE_REFLECT);
	pass(A, OAE_COMMIT);
	assert_swapped(x, y);
	quiet();
}

/* 4.9, 3: they cross. The senior's stands, whichever arrives first. */
static void test_cross(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	x = half(a);
	y = half(b);
	pass(A, OAE_OFFER);
	assert_half(a, OAE_HALF_LENT);
	assert_int_equal(a->link.offer.state, OAE_OFFER_NONE);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_OFFERED);
	pass(A, OAE_REFUSE);
	assert_half(a, OAE_HALF_LENT);
	pass(B, OAE_REFLECT);
	pass(A, OAE_COMMIT);
	assert_swapped(x, y);
	quiet();
	assert_int_equal(a->link.tx, 1);
	assert_int_equal(b->link.tx, 1);
}

static void test_cross_refused_first(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	pass(A, OAE_OFFER);
	assert_half(a, OAE_HALF_LENT);
	pass(A, OAE_REFUSE);
	pass(B, OAE_REFLECT);
	pass(A, OAE_COMMIT);
	assert_swapped(x, y);
	quiet();

	/* And the REFUSE before the senior's. */
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	sim_arrive(&w, A, sim_take(&w, A, 1));
	assert_half(a, OAE_HALF_WAITING);
	pass(A, OAE_OFFER);
	flow();
	assert_swapped(x, y);
}

/*
 * 4.9, 2: the senior's is refused, and the junior's, posted since, was refused
 * because of it. It is offered again at once, not after the keepalive interval.
 */
static void test_crossed_and_refused(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = half(b);
	pass(A, OAE_OFFER);
	x = half(a);
	sim_arrive(&w, B, sim_take(&w, B, 1));
	assert_true(b->link.half.crossed);
	pass(B, OAE_REFUSE);
	assert_half(b, OAE_HALF_OFFERED);
	assert_int_equal(b->link.attempt, 2);
	pass(A, OAE_REFUSE);
	pass(A, OAE_OFFER);
	flow();
	assert_swapped(x, y);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
}

/* What was remembered of a crossing is void for the next offer. */
static void test_crossing_forgotten(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	assert_true(b->link.half.crossed);
	sim_cancel(a, x);
	pass(B, OAE_REVERSE);
	pass(A, OAE_OFFER);
	pass(A, OAE_REFUSE);
	pass(B, OAE_REFUSE);
	/* It was crossed: offered again, in vain; then it waits. */
	pass(A, OAE_OFFER);
	pass(B, OAE_REFUSE);
	assert_half(b, OAE_HALF_WAITING);
	quiet();
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* 4.9, 5: reversed by the one who offered. Y is offered by its own end then. */
static void test_lent_reversed(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	pass(B, OAE_REVERSE);
	assert_half(b, OAE_HALF_OFFERED);
	assert_int_equal(w.notes[OAE_N_TAKEN_BACK], 1);
	pass(A, OAE_REFLECT);			/* of what was reversed */
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* The REVERSE is lost, and a message or another half comes as the next attempt. */
static void test_lent_replaced(void **state)
{
	struct sim_tx *x, *y, *m;

	(void)state;
	lend(&x, &y);
	sim_cancel(a, x);
	lose(B, OAE_REVERSE);
	m = post(a, 0);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_OFFERED);
	flow();
	assert_committed(m);
	x = half(a);
	flow();
	assert_swapped(x, y);
}

static void test_lent_replaced_by_half(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	sim_cancel(a, x);
	lose(B, OAE_REVERSE);
	x = half(a);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_LENT);
	assert_int_equal(w.notes[OAE_N_TAKEN_BACK], 1);
	flow();
	assert_swapped(x, y);
}

/* The same offer again: the same half again. */
static void test_reflected_again(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	x = half(a);
	sim_again(&w, B, 0, w.now + SIM_MS);
	pass(B, OAE_OFFER);
	lose(A, OAE_REFLECT);
	pass(B, OAE_OFFER);
	assert_int_equal(w.notes[OAE_N_REFLECTED_AGAIN], 1);
	pass(A, OAE_REFLECT);
	flow();
	assert_swapped(x, y);
}

/* Each frame of a swap is lost once: the failure is seen, and it is done anew. */
static void test_each_frame_lost(void **state)
{
	static const struct {
		u8 to, opcode;
	} lost[] = {
		{ B, OAE_OFFER }, { A, OAE_REFLECT }, { B, OAE_COMMIT },
	};
	struct sim_tx *x, *y;
	unsigned int i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		setup(NULL);
		open_link();
		y = waiting_half(b);
		x = half(a);
		for (j = 0; j < i; j++)
			pass(lost[j].to, lost[j].opcode);
		lose(lost[i].to, lost[i].opcode);
		wait_ms(30);
		assert_int_not_equal(w.notes[OAE_N_STALL], 0);
		assert_swapped(x, y);
	}
}

/* A freeze while it is lent: undecided, so both have theirs back, and begin anew. */
static void test_freeze_lent(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	lose(A, OAE_REFLECT);
	sim_port(b, false);
	assert_half(b, OAE_HALF_LENT);
	sim_port(b, true);
	flow();
	assert_int_not_equal(w.notes[OAE_N_TAKEN_BACK], 0);
	wait_ms(1);
	assert_swapped(x, y);
}

/* 4.9: it comes back to a user who wanted it back: not offered to anybody. */
static void test_freeze_cancelled(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	lose(A, OAE_REFLECT);
	sim_port(b, false);
	sim_cancel(b, y);
	assert_false(y->ended);
	sim_port(b, true);
	flow();
	assert_true(y->ended && y->outcome == OAE_REVERSED);
	assert_int_equal(y->err, OAE_E_SIGNAL);
	assert_false(x->ended);
}

/* And committed by resolving. */
static void test_freeze_committed(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	pass(A, OAE_REFLECT);
	lose(B, OAE_COMMIT);
	sim_port(b, false);
	sim_port(b, true);
	flow();
	assert_swapped(x, y);
	assert_int_equal(w.notes[OAE_N_TAKEN_BACK], 0);
}

/* 4.9, 5: the one who offered has died. It may have used Y, or not. */
static void test_peer_new(void **state)
{
	struct sim_tx *x, *y;
	bool used;

	(void)state;
	for (used = false;; used = true) {
		setup(NULL);
		lend(&x, &y);
		if (used) {
			pass(A, OAE_REFLECT);
			lose(B, OAE_COMMIT);
			assert_true(y->delivered);
		} else {
			lose(A, OAE_REFLECT);
		}
		sim_crash(a);
		post(a, 0);
		flow();
		assert_true(y->ended && y->outcome == OAE_UNKNOWN);
		assert_int_equal(y->err, OAE_E_UNKNOWN);
		assert_int_equal(w.notes[OAE_N_HELD_LOST], 1);
		if (used)
			break;
	}
}

/* The one who lent has died: nobody has X, which is offered to the new one. */
static void test_lender_new(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	lose(A, OAE_REFLECT);
	sim_crash(b);
	y = half(b);
	flow();
	wait_ms(200);
	assert_swapped(x, y);
}

/* Posted, offered and waiting: offered to whoever is the peer now. */
static void test_peer_new_idle(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	sim_crash(a);
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* Killed: the half comes back, unless it is lent. */
static void test_kill(void **state)
{
	struct sim_tx *x, *y, *m;

	(void)state;
	open_link();
	y = waiting_half(b);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);

	setup(NULL);
	open_link();
	y = half(b);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);

	setup(NULL);
	open_link();
	m = post(b, 0);
	y = half(b);
	assert_half(b, OAE_HALF_POSTED);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_reversed(m, OAE_E_SHUTDOWN);

	setup(NULL);
	lend(&x, &y);
	sim_kill(b);
	assert_true(y->ended && y->outcome == OAE_UNKNOWN);
	assert_int_equal(w.notes[OAE_N_HELD_LOST], 1);
}

/* Down: as what waits is. But one that is lent is kept, as what is held is. */
static void test_down(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	sim_port(b, false);
	wait_ms(700);
	assert_true(b->link.down);
	assert_reversed(y, OAE_E_DOWN);

	setup(NULL);
	lend(&x, &y);
	lose(A, OAE_REFLECT);
	sim_port(b, false);
	wait_ms(700);
	assert_true(a->link.down && b->link.down);
	assert_reversed(x, OAE_E_DOWN);
	assert_half(b, OAE_HALF_LENT);
	sim_port(b, true);
	wait_ms(700);
	assert_false(y->ended);
	x = half(a);
	wait_ms(10);
	assert_swapped(x, y);
}

/* Cancelled in each state. */
static void test_cancel(void **state)
{
	struct sim_tx *x, *y, *m;

	(void)state;
	open_link();
	m = post(a, 0);
	x = half(a);
	y = half(a);			/* in the queue: the link has one */
	assert_false(y->at_link);
	assert_half(a, OAE_HALF_POSTED);
	sim_cancel(a, y);
	assert_reversed(y, OAE_E_SIGNAL);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	flow();
	assert_committed(m);

	x = half(a);
	assert_half(a, OAE_HALF_OFFERED);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	pass(B, OAE_OFFER);
	pass(B, OAE_REVERSE);
	flow();

	x = waiting_half(a);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	quiet();

	x = half(a);
	sim_port(a, false);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	sim_port(a, true);
	flow();

	y = waiting_half(b);
	x = half(a);
	pass(B, OAE_OFFER);
	sim_cancel(b, y);			/* EINPROGRESS, see sim_cancel() */
	assert_false(y->ended);
	flow();
	assert_swapped(x, y);
	sim_cancel(b, y);
}

/* One frame less 16 bytes, in either role and on either side. */
static void test_too_long(void **state)
{
	struct sim_tx *x, *y, *m;
	u32 max = SIM_MTU_MAX - OAE_HDR_LEN - OAE_REFLECT_LEN;

	(void)state;
	open_link();
	x = sim_post(a, max + 1, 0, OAE_SWAP, 0);
	assert_reversed(x, OAE_E_TOO_BIG);
	quiet();
	x = sim_post(a, max, 0, OAE_SWAP, 0);
	y = sim_post(b, max, 0, OAE_SWAP, 0);
	flow();
	assert_swapped(x, y);

	/* Not offered for its turn has not come: found when it is to be lent. */
	m = post(b, 0);
	y = sim_post(b, max + 1, 0, OAE_SWAP, 0);
	assert_half(b, OAE_HALF_POSTED);
	x = half(a);
	pass(B, OAE_OFFER);
	assert_reversed(y, OAE_E_TOO_BIG);
	flow();
	assert_committed(m);
	assert_false(x->ended);
	assert_half(a, OAE_HALF_WAITING);
	sim_cancel(a, x);

	/* The port carries less than before. */
	x = waiting_half(a);
	y = sim_post(a, max, 0, OAE_SWAP, 0);
	sim_mtu(b, OAE_MIN_MTU);
	flow();
	wait_ms(5);
	assert_false(x->ended);
	sim_cancel(a, x);
	assert_reversed(y, OAE_E_TOO_BIG);
}

/* Offered, in doubt, and the MTU shrinks meanwhile. */
static void test_too_long_again(void **state)
{
	struct sim_tx *x;

	(void)state;
	open_link();
	x = sim_post(a, 200, 0, OAE_SWAP, 0);
	lose(B, OAE_OFFER);
	sim_mtu(a, 150);
	flow();
	assert_reversed(x, OAE_E_TOO_BIG);
	sim_prove_open(&w);
}

/* Both ends have a message parked for want of room, and read only after the swap. */
static void test_parked_lets_pass(void **state)
{
	struct sim_tx *x, *y, *m, *n;

	(void)state;
	open_link();
	a->rcvbuf = 1;
	b->rcvbuf = 1;
	a->unread = 1;
	b->unread = 1;
	m = post(a, 0);
	n = post(b, OAE_POST_EXPRESS);
	flow();
	assert_false(m->ended || n->ended);
	x = half(a);
	y = half(b);
	flow();
	assert_swapped(x, y);
	assert_false(m->ended || n->ended);
	sim_read(a);
	sim_read(b);
	flow();
	assert_committed(m);
	assert_committed(n);
	assert_true(w.now < 10 * SIM_MS);
}

/* It is offered again after the keepalive interval, in any case. */
static void test_offered_at_keepalive(void **state)
{
	struct sim_tx *x, *y;
	u64 began;

	(void)state;
	open_link();
	began = w.now;
	y = waiting_half(b);
	while (next_opcode(A) != OAE_OFFER)
		sim_event(&w);
	assert_true(w.now >= began + b->cfg.keepalive);
	assert_true(w.now < began + b->cfg.keepalive + SIM_MS);
	assert_int_equal(b->link.attempt, 2);
	lose(A, OAE_OFFER);
	x = half(a);
	wait_ms(20);
	assert_swapped(x, y);
}

/* 4.7: closing. What is lent ends first, either way. */
static void test_close(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	sim_close(b);
	assert_reversed(y, OAE_E_SHUTDOWN);
	flow();
	assert_false(a->tag || b->tag);

	setup(NULL);
	open_link();
	y = waiting_half(b);
	sim_close(a);
	flow();
	assert_reversed(y, OAE_E_PEER_CLOSED);
	assert_false(a->tag || b->tag);

	setup(NULL);
	open_link();
	y = half(b);
	sim_close(b);
	assert_false(y->ended);
	flow();					/* NO_HALF: it waits no more */
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_false(a->tag || b->tag);

	setup(NULL);
	lend(&x, &y);
	sim_close(b);
	flow();
	assert_swapped(x, y);
	assert_false(a->tag || b->tag);

	setup(NULL);
	lend(&x, &y);
	sim_close(a);
	flow();
	assert_swapped(x, y);
	assert_false(a->tag || b->tag);
}

/* Closing, a half that comes back is reversed, and not offered again. */
static void test_close_taken_back(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	lend(&x, &y);
	sim_close(b);
	sim_cancel(a, x);
	pass(B, OAE_REVERSE);
	assert_reversed(y, OAE_E_SHUTDOWN);
	pass(A, OAE_REFLECT);
	pass(A, OAE_CLOSE);
	flow();
	assert_false(a->tag || b->tag);

	/* Nor after a freeze. */
	setup(NULL);
	lend(&x, &y);
	lose(A, OAE_REFLECT);
	sim_cancel(a, x);
	lose(B, OAE_REVERSE);
	sim_close(b);
	wait_ms(30);
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_false(a->tag || b->tag);
}

/* OAE_POST_CONFIRM, and asking later. */
static void test_confirm(void **state)
{
	struct sim_tx *x, *y;

	(void)state;
	open_link();
	y = waiting_half(b);
	x = sim_post(a, 24, 24, OAE_SWAP, OAE_POST_CONFIRM);
	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	assert_true(a->link.await_done);
	assert_true(w.to[B].p[0]->buf[OAE_OFF_FLAGS] & OAE_F_WANT_DONE);
	pass(B, OAE_COMMIT);
	pass(A, OAE_DONE);
	assert_true(a->link.confirmed && !a->link.await_done);
	assert_swapped(x, y);
	quiet();
}

/* The first two halves of 4.9 at once from both ends, many times. */
static void test_many(void **state)
{
	struct sim_tx *x[20], *y[20];
	unsigned int i;

	(void)state;
	open_link();
	for (i = 0; i < 20; i++) {
		x[i] = half(a);
		y[i] = half(b);
	}
	flow();
	for (i = 0; i < 20; i++)
		assert_swapped(x[i], y[i]);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_true(w.now < 2 * SIM_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(test_waiting_takes),
		RULE(test_junior_waits),
		RULE(test_cross),
		RULE(test_cross_refused_first),
		RULE(test_crossed_and_refused),
		RULE(test_crossing_forgotten),
		RULE(test_lent_reversed),
		RULE(test_lent_replaced),
		RULE(test_lent_replaced_by_half),
		RULE(test_reflected_again),
		RULE(test_each_frame_lost),
		RULE(test_freeze_lent),
		RULE(test_freeze_cancelled),
		RULE(test_freeze_committed),
		RULE(test_peer_new),
		RULE(test_lender_new),
		RULE(test_peer_new_idle),
		RULE(test_kill),
		RULE(test_down),
		RULE(test_cancel),
		RULE(test_too_long),
		RULE(test_too_long_again),
		RULE(test_parked_lets_pass),
		RULE(test_offered_at_keepalive),
		RULE(test_close),
		RULE(test_close_taken_back),
		RULE(test_confirm),
		RULE(test_many),
	};

	return cmocka_run_group_tests_name("swaps", tests, NULL, NULL);
}
