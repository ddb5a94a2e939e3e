// SPDX-License-Identifier: GPL-2.0
/*
 * Swaps, two ends and frame by frame (doc/protocol.md section 4.9). B is the
 * senior. What one end alone does is in test_link_half.c.
 */
#include "sim_hand.h"

static struct sim_tx *x, *y;	/* the halves, of A and of B */

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

/* Nothing is offered in place of a half that was, and is committed. */
static void nothing_instead(struct sim_end *e)
{
	u32 tx = oae_link_tx(&e->link);

	pass(!e->who, OAE_OFFER);
	pass(e->who, OAE_REFLECT);
	assert_int_equal(oae_link_tx(&e->link), tx + 1);
	pass(!e->who, OAE_COMMIT);
	assert_int_equal(oae_link_rx(&w.end[!e->who].link), tx + 1);
}

/* A half of this end, which the other has none for. */
static struct sim_tx *waiting_half(struct sim_end *e)
{
	struct sim_tx *tx = half(e);

	pass(!e->who, OAE_OFFER);
	pass(e->who, OAE_REFUSE);
	assert_half(e, OAE_HALF_WAITING);
	nothing_instead(e);
	assert_half(e, OAE_HALF_WAITING);
	return tx;
}

/* X is offered by A, and Y of B is lent for it: the REFLECT is on its way. */
static void lend(void)
{
	y = waiting_half(b);
	x = half(a);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_LENT);
	assert_int_equal(next_opcode(A), OAE_REFLECT);
}

/* 4.9, 2 to 4: the peer had none, and when it posts one, it is the one to offer. */
RULE(test_waiting_takes)
{
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
	assert_int_equal(oae_link_rx(&b->link), oae_link_tx(&a->link));
	quiet();
}

/* The other way round it is the same. */
RULE(test_junior_waits)
{
	x = waiting_half(a);
	y = half(b);
	pass(A, OAE_OFFER);
	pass(B, OAE_REFLECT);
	pass(A, OAE_COMMIT);
	assert_swapped(x, y);
	quiet();
}

/* 4.9, 3: they cross. The senior's stands, whichever arrives first. */
RULE(test_cross)
{
	x = half(a);
	y = half(b);
	pass(A, OAE_OFFER);
	assert_half(a, OAE_HALF_LENT);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_OFFERED);
	pass(A, OAE_REFUSE);			/* of what was withdrawn */
	assert_half(a, OAE_HALF_LENT);
	assert_int_equal(w.notes[OAE_N_OLD_CONTENT], 1);
	pass(B, OAE_REFLECT);
	assert_true(y->ended && !x->ended);
	pass(B, OAE_OFFER);			/* nothing, in its place */
	pass(A, OAE_COMMIT);
	assert_swapped(x, y);
	pass(A, OAE_REFLECT);
	pass(B, OAE_COMMIT);
	quiet();
	assert_int_equal(oae_link_tx(&a->link), 2);
	assert_int_equal(oae_link_tx(&b->link), 1);
}

RULE(test_cross_refused_first)
{
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	pass(A, OAE_OFFER);
	assert_half(a, OAE_HALF_LENT);
	pass(A, OAE_REFUSE);
	pass(B, OAE_REFLECT);
	flow();
	assert_swapped(x, y);
	assert_int_equal(oae_link_tx(&a->link), 2);

	/* And the REFUSE before the senior's. */
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	sim_arrive(&w, A, sim_take(&w, A, 1));
	assert_half(a, OAE_HALF_WAITING);
	pass(A, OAE_OFFER);
	flow();
	assert_swapped(x, y);
	assert_int_equal(oae_link_tx(&a->link), 3);
}

/*
 * 4.9, 2: the senior's is refused, and the junior's, posted since, was refused
 * because of it. It is offered again at once, not after the keepalive interval.
 */
RULE(test_crossed_and_refused)
{
	y = half(b);
	pass(A, OAE_OFFER);
	x = half(a);
	sim_arrive(&w, B, sim_take(&w, B, 1));
	assert_true(b->link.half.crossed);
	pass(B, OAE_REFUSE);
	assert_half(b, OAE_HALF_POSTED);
	flow();
	assert_swapped(x, y);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
}

/* What was remembered of a crossing is void for the next offer. */
RULE(test_crossing_forgotten)
{
	x = half(a);
	y = half(b);
	pass(B, OAE_OFFER);
	assert_true(b->link.half.crossed);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	pass(B, OAE_OFFER);
	pass(A, OAE_OFFER);
	pass(A, OAE_REFUSE);
	pass(A, OAE_REFLECT);
	pass(B, OAE_REFUSE);
	/* It was crossed: offered again, in vain; then it waits. */
	assert_half(b, OAE_HALF_POSTED);
	flow();
	assert_half(b, OAE_HALF_WAITING);
	assert_int_equal(oae_link_tx(&b->link), 2);
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* 4.9, 5: reversed by the one who offered. Y is offered by its own end then. */
RULE(test_lent_reversed)
{
	lend();
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	pass(B, OAE_OFFER);
	assert_half(b, OAE_HALF_OFFERED);
	assert_int_equal(w.notes[OAE_N_TAKEN_BACK], 1);
	pass(A, OAE_REFLECT);			/* of what was reversed */
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* Nothing comes instead, and before that is committed what was posted since does not go out. */
RULE(test_lent_next)
{
	struct sim_tx *m;

	lend();
	sim_cancel(a, x);
	m = post(a, 0);
	x = half(a);
	pass(B, OAE_OFFER);
	assert_int_equal(next_opcode(B), 0);
	flow();
	assert_committed(m);
	assert_swapped(x, y);
}

/* The same offer again: the same half again. */
RULE(test_reflected_again)
{
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

/* Each frame of a swap is lost once: it is done without a freeze. */
RULE_CLOSED(test_each_frame_lost)
{
	static const struct {
		u8 to, opcode;
	} lost[] = {
		{ B, OAE_OFFER }, { A, OAE_REFLECT }, { B, OAE_COMMIT },
	};
	unsigned int i, j;

	for (i = 0; i < 3; i++) {
		opened(NULL);
		y = waiting_half(b);
		x = half(a);
		for (j = 0; j < i; j++)
			pass(lost[j].to, lost[j].opcode);
		lose(lost[i].to, lost[i].opcode);
		wait_ms(30);
		assert_int_equal(w.notes[OAE_N_STALL], 0);
		assert_swapped(x, y);
	}
}

/* A freeze while it is lent: undecided, so both have theirs back, and begin anew. */
RULE(test_freeze_lent)
{
	lend();
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
RULE(test_freeze_cancelled)
{
	lend();
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
RULE(test_freeze_committed)
{
	lend();
	pass(A, OAE_REFLECT);
	lose(B, OAE_COMMIT);
	sim_port(b, false);
	sim_port(b, true);
	flow();
	assert_swapped(x, y);
	assert_int_equal(w.notes[OAE_N_TAKEN_BACK], 0);
}

/* 4.9, 5: the one who offered has died. It may have used Y, or not. */
RULE_CLOSED(test_peer_new)
{
	bool used;

	for (used = false;; used = true) {
		opened(NULL);
		lend();
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
RULE(test_lender_new)
{
	lend();
	lose(A, OAE_REFLECT);
	sim_crash(b);
	y = half(b);
	flow();
	wait_ms(200);
	assert_swapped(x, y);
}

/* Posted, offered and waiting: offered to whoever is the peer now. */
RULE(test_peer_new_idle)
{
	y = waiting_half(b);
	sim_crash(a);
	x = half(a);
	flow();
	assert_swapped(x, y);
}

/* Killed: the half comes back, unless it is lent. */
RULE(test_kill)
{
	struct sim_tx *m;

	y = waiting_half(b);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);

	opened(NULL);
	y = half(b);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);

	opened(NULL);
	m = post(b, 0);
	y = half(b);
	assert_half(b, OAE_HALF_POSTED);
	sim_kill(b);
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_reversed(m, OAE_E_SHUTDOWN);

	opened(NULL);
	lend();
	sim_kill(b);
	assert_true(y->ended && y->outcome == OAE_UNKNOWN);
	assert_int_equal(w.notes[OAE_N_HELD_LOST], 1);
}

/* Down: as what waits is. But one that is lent is kept, as what is held is. */
RULE(test_down)
{
	y = waiting_half(b);
	sim_port(b, false);
	wait_ms(700);
	assert_true(b->link.down);
	assert_reversed(y, OAE_E_DOWN);

	opened(NULL);
	lend();
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
RULE(test_cancel)
{
	struct sim_tx *m = post(a, 0);

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
RULE(test_too_long)
{
	struct sim_tx *m;
	u32 max = SIM_MTU - OAE_HDR_LEN - OAE_REFLECT_LEN;

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
	sim_run(&w, w.now + a->cfg.dead);
	assert_false(x->ended || y->ended);
	/* It is next only now. */
	sim_cancel(a, x);
	wait_ms(5);
	assert_false(y->ended);
	sim_run(&w, w.now + a->cfg.dead);
	assert_reversed(y, OAE_E_TOO_BIG);
}

/* Offered, in doubt, and the MTU shrinks meanwhile. */
RULE(test_too_long_again)
{
	x = sim_post(a, 192, 0, OAE_SWAP, 0);
	lose(B, OAE_OFFER);
	sim_mtu(a, 150);
	flow();
	assert_false(x->ended);
	sim_run(&w, w.now + a->cfg.dead);
	assert_reversed(x, OAE_E_TOO_BIG);
	sim_prove_open(&w);
}

/* At both ends a message is not granted, and they read only after the swap. */
RULE_CLOSED(test_blocked_lets_pass)
{
	struct sim_tx *m, *n;

	a->rcvbuf = 1;
	b->rcvbuf = 1;
	open_link();
	post(a, 0);
	post(b, 0);
	flow();
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
RULE(test_offered_at_keepalive)
{
	u64 began = w.now;

	y = waiting_half(b);
	while (next_opcode(A) != OAE_OFFER)
		sim_event(&w);
	assert_true(w.now >= began + b->cfg.keepalive);
	assert_true(w.now < began + b->cfg.keepalive + SIM_MS);
	lose(A, OAE_OFFER);
	x = half(a);
	wait_ms(20);
	assert_swapped(x, y);
}

/* 4.7: closing. What is lent ends first, either way. */
RULE(test_close)
{
	y = waiting_half(b);
	sim_close(b);
	assert_reversed(y, OAE_E_SHUTDOWN);
	flow();
	assert_false(a->tag || b->tag);

	opened(NULL);
	y = waiting_half(b);
	sim_close(a);
	flow();
	assert_reversed(y, OAE_E_PEER_CLOSED);
	assert_false(a->tag || b->tag);

	opened(NULL);
	y = half(b);
	sim_close(b);
	assert_false(y->ended);
	flow();					/* NO_HALF: it waits no more */
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_false(a->tag || b->tag);

	opened(NULL);
	lend();
	sim_close(b);
	flow();
	assert_swapped(x, y);
	assert_false(a->tag || b->tag);

	opened(NULL);
	lend();
	sim_close(a);
	flow();
	assert_swapped(x, y);
	assert_false(a->tag || b->tag);
}

/* Closing, a half that comes back is reversed, and not offered again. */
RULE(test_close_taken_back)
{
	lend();
	sim_close(b);
	sim_cancel(a, x);
	pass(B, OAE_OFFER);
	assert_reversed(y, OAE_E_SHUTDOWN);
	flow();
	assert_false(a->tag || b->tag);

	/* Nor after a freeze. */
	opened(NULL);
	lend();
	lose(A, OAE_REFLECT);
	sim_cancel(a, x);
	lose(B, OAE_OFFER);
	sim_close(b);
	sim_port(b, false);
	sim_port(b, true);
	flow();
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_false(a->tag || b->tag);
}

/* OAE_POST_CONFIRM, and asking later. */
RULE(test_confirm)
{
	y = waiting_half(b);
	x = sim_post(a, 24, 24, OAE_SWAP, OAE_POST_CONFIRM);
	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	assert_true(a->link.await_done);
	assert_true(w.to[B].p[0]->buf[OAE_OFF_FLAGS] & OAE_F_WANT_DONE);
	pass(B, OAE_COMMIT);
	pass(A, OAE_DONE);
	assert_true(oae_link_all_confirmed(&a->link) && !a->link.await_done);
	assert_swapped(x, y);
	quiet();
}

/* The first two halves of 4.9 at once from both ends, many times. */
RULE(test_many)
{
	struct sim_tx *x[20], *y[20];
	unsigned int i;

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

UNIT_MAIN("swaps")
