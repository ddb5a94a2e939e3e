// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of a transaction (DESIGN section 4), one by one, frame by frame.
 * How to read them: sim_hand.h.
 */
#include "sim_hand.h"

RULE(test_offer_reflect_commit)
{
	struct sim_tx *tx = post(a, 0);

	pass(B, OAE_OFFER);
	assert_false(tx->delivered);		/* held, not delivered */
	assert_int_equal(b->link.hold.state, OAE_HOLD_HELD);
	pass(A, OAE_REFLECT);
	assert_true(tx->ended);			/* the writer knows */
	pass(B, OAE_COMMIT);
	quiet();
	assert_committed(tx);
}

RULE(test_next_offer_carries_commit)
{
	struct sim_tx *x = post(a, 0), *y = post(a, 0);

	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	pass(B, OAE_OFFER);			/* no COMMIT before it */
	assert_committed(x);
	assert_false(y->ended);
	flow();
	assert_committed(y);
}

RULE(test_express)
{
	struct sim_tx *tx = post(a, OAE_POST_EXPRESS);

	pass(B, OAE_OFFER);
	assert_true(tx->delivered);		/* at once */
	assert_false(tx->ended);
	pass(A, OAE_REFLECT);
	quiet();				/* and no COMMIT */
	assert_committed(tx);
}

/* Too late: nothing in its place finds it delivered, whichever REFLECT says so. */
RULE(test_express_recalled_late)
{
	struct sim_tx *x = post(a, OAE_POST_EXPRESS), *y = post(a, OAE_POST_EXPRESS);

	pass(B, OAE_OFFER);
	sim_cancel(a, x);
	assert_false(x->ended);
	lose(A, OAE_REFLECT);
	pass(B, OAE_OFFER);			/* nothing */
	assert_int_equal(w.notes[OAE_N_REFLECTED_AGAIN], 1);
	pass(A, OAE_REFLECT);
	assert_committed(x);
	pass(B, OAE_OFFER);
	sim_cancel(a, y);
	pass(A, OAE_REFLECT);			/* of the express itself */
	assert_committed(y);
	flow();
	assert_int_equal(w.delivered, 3);
}

/* In time: it was lost, or comes behind what stands in its place. */
RULE(test_express_recalled)
{
	struct sim_tx *tx;
	struct sim_pkt late;

	tx = post(a, OAE_POST_EXPRESS);
	late = *expect(B, OAE_OFFER);
	sim_cancel(a, tx);
	assert_false(tx->ended);
	pass(B, OAE_OFFER);
	sim_arrive(&w, B, &late);
	pass(A, OAE_REFLECT);
	assert_reversed(tx, OAE_E_SIGNAL);
	pass(B, OAE_COMMIT);
	sim_arrive(&w, B, &late);
	quiet();
	assert_int_equal(w.delivered, 1);
}

/* It was refused for now, and a late copy of it was taken meanwhile. */
RULE_CLOSED(test_express_recalled_parked)
{
	unsigned int found;
	struct sim_pkt late;
	struct sim_tx *tx;

	for (found = 0; found < 2; found++) {
		setup(NULL);
		open_link();
		b->link.settle_until = w.now + SIM_MS;
		tx = post(a, OAE_POST_EXPRESS);
		late = *w.to[B].p[0];
		pass(B, OAE_OFFER);
		pass(A, OAE_REFUSE);
		assert_int_equal(w.notes[OAE_N_PARKED], 1);
		if (found) {
			b->link.settle_until = 0;
			sim_arrive(&w, B, &late);
			lose(A, OAE_REFLECT);
		}
		sim_cancel(a, tx);
		assert_false(tx->ended);
		pass(B, OAE_OFFER);
		pass(A, OAE_REFLECT);
		if (found)
			assert_committed(tx);
		else
			assert_reversed(tx, OAE_E_SIGNAL);
		flow();
	}
}

RULE(test_same_offer_again)
{
	struct sim_pkt *p, copy;

	post(a, 0);
	p = expect(B, OAE_OFFER);
	copy = *p;
	sim_arrive(&w, B, &copy);
	sim_arrive(&w, B, &copy);
	pass(A, OAE_REFLECT);
	pass(A, OAE_REFLECT);			/* the same again: B holds it still */
	pass(B, OAE_COMMIT);
	assert_int_equal(w.delivered, 2);
	pass(B, OAE_COMMIT);			/* which is what A has said to that */
	sim_arrive(&w, B, &copy);		/* late: it is delivered */
	quiet();
	assert_int_equal(w.notes[OAE_N_REFLECTED_AGAIN], 1);
	assert_int_equal(w.delivered, 2);
}

/* The peer's inbox is full: one was delivered there, and the next is posted. */
static struct sim_tx *post_blocked(void)
{
	struct sim_tx *x, *y;

	b->rcvbuf = 1;
	open_link();
	x = post(a, 0);
	flow();
	assert_committed(x);
	y = post(a, 0);
	pass(B, OAE_COMMIT);
	pass(A, OAE_DONE);
	quiet();
	assert_false(y->ended);
	return y;
}

RULE_CLOSED(test_blocked_done_ready)
{
	struct sim_tx *y = post_blocked();

	sim_read(b);
	pass(A, OAE_READY);
	pass(B, OAE_OFFER);
	flow();
	assert_committed(y);
}

/* At once, and nothing was offered yet. */
RULE_CLOSED(test_blocked_is_reversed)
{
	struct sim_tx *y = post_blocked();

	sim_cancel(a, y);
	assert_reversed(y, OAE_E_SIGNAL);
	quiet();
	sim_read(b);
	pass(A, OAE_READY);
	quiet();
}

/* It is said again after eight probe timeouts, and the peer answers. */
RULE_CLOSED(test_ready_lost)
{
	struct sim_tx *y = post_blocked();
	int ms = 8 * oae_link_pto(&a->link) / SIM_MS;

	sim_read(b);
	lose(A, OAE_READY);
	wait_ms(ms - 1);
	assert_false(y->ended);
	wait_ms(2);
	assert_committed(y);
}

/* For as long as it takes, and that is no failure. */
RULE_CLOSED(test_blocked_for_long)
{
	struct sim_tx *y = post_blocked();

	wait_ms(2000);
	assert_false(y->ended);
	assert_int_equal(w.notes[OAE_N_STALL] + w.notes[OAE_N_ASKED], 0);
	sim_read(b);
	flow();
	assert_committed(y);
}

/* A slice is lost: it is sent again, and nothing else. */
RULE(test_gap)
{
	struct sim_tx *tx = post_slices(a, 4, 0);

	pass(B, OAE_OFFER);
	lose(B, OAE_OFFER);
	pass(B, OAE_OFFER);
	pass(B, OAE_OFFER);
	pass(A, OAE_ACK);
	assert_int_equal(w.to[B].n, 1);
	pass(B, OAE_OFFER);
	assert_int_equal(b->link.hold.state, OAE_HOLD_HELD);
	flow();
	assert_committed(tx);
}

RULE(test_slices_in_any_order)
{
	struct sim_tx *tx;

	a->link.cong.cwnd = 64;
	tx = post_slices(a, 64, 0);
	assert_int_equal(w.to[B].n, 64);
	while (w.to[B].n > 1)			/* LAST but one first */
		sim_arrive(&w, B, sim_take(&w, B, w.to[B].n - 2));
	flow();
	assert_committed(tx);
}

/* Reversed: its number is committed with nothing in it, and the next one waits for that. */
RULE(test_reverse)
{
	struct sim_tx *x = post(a, 0), *y;
	u32 seq = a->link.tx + 1;

	pass(B, OAE_OFFER);
	sim_cancel(a, x);
	assert_reversed(x, OAE_E_SIGNAL);
	y = post(a, 0);
	assert_int_equal(w.to[B].n, 1);
	pass(A, OAE_REFLECT);			/* of what was offered no more */
	assert_int_equal(w.notes[OAE_N_OLD_CONTENT], 1);
	assert_int_equal(a->link.tx + 1, seq);
	pass(B, OAE_OFFER);			/* nothing */
	assert_int_equal(w.notes[OAE_N_DROPPED], 1);
	pass(A, OAE_REFLECT);
	assert_int_equal(a->link.tx, seq);
	pass(B, OAE_OFFER);			/* y */
	flow();
	assert_committed(y);
}

/* Nothing has come, and then what it stands for: that is late. */
RULE(test_reverse_overtaken)
{
	struct sim_tx *x = post(a, 0), *y;
	struct sim_pkt late = *expect(B, OAE_OFFER);

	sim_cancel(a, x);
	pass(B, OAE_OFFER);
	sim_arrive(&w, B, &late);
	assert_int_equal(w.notes[OAE_N_OLD_CONTENT], 1);
	y = post(a, 0);
	flow();
	assert_reversed(x, OAE_E_SIGNAL);
	assert_committed(y);
	sim_arrive(&w, B, &late);		/* later yet */
	quiet();
	assert_int_equal(w.notes[OAE_N_OLD_SEQ], 1);
}

/* Nothing is lost: it is asked for, as all else is. */
RULE(test_reverse_lost)
{
	struct sim_tx *x = post(a, 0), *y;

	pass(B, OAE_OFFER);
	sim_cancel(a, x);
	lose(A, OAE_REFLECT);
	lose(B, OAE_OFFER);
	y = post(a, 0);
	wait_ms(60);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_reversed(x, OAE_E_SIGNAL);
	assert_committed(y);
}

/* The peer reflects what was not offered: resolving decides, and it is offered anew. */
RULE_CLOSED(test_mismatch)
{
	struct oae_frame f;
	struct sim_tx *tx;

	w.hostile = true;
	open_link();
	tx = post(a, 0);
	lose(B, OAE_OFFER);
	f = forged(a, OAE_REFLECT);
	f.seq = a->link.tx + 1;
	f.ack = 1;
	f.reflect.digest = a->link.offer.p.digest;
	f.reflect.first = a->link.offer.p.first ^ 1;
	inject(a, f);
	assert_int_equal(w.notes[OAE_N_MISMATCH], 1);
	assert_int_equal(oae_link_state(&a->link), OAE_SYNC_SENT);
	assert_false(tx->ended);
	flow();
	assert_committed(tx);
	assert_int_equal(w.notes[OAE_N_MISMATCH], 1);
}

RULE(test_want_done)
{
	struct sim_tx *tx = post(a, OAE_POST_CONFIRM);

	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	assert_true(a->link.await_done);
	pass(B, OAE_COMMIT);
	pass(A, OAE_DONE);
	assert_false(a->link.await_done);
	quiet();
	assert_committed(tx);
}

/* It is asked for again. */
RULE(test_done_lost)
{
	struct sim_tx *tx = post(a, OAE_POST_CONFIRM);

	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	pass(B, OAE_COMMIT);
	lose(A, OAE_DONE);
	assert_true(a->link.await_done);
	wait_ms(50);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_false(a->link.await_done);
	assert_committed(tx);
}

/* After a freeze what the peer has kept is not sent again. */
RULE(test_resume_after_freeze)
{
	struct sim_tx *tx = post_slices(a, 8, 0);

	while (w.to[B].n > 1)
		pass(B, OAE_OFFER);
	lose(B, OAE_OFFER);			/* LAST */
	memset(w.notes, 0, sizeof(w.notes));
	sim_port(a, false);
	sim_port(a, true);
	while (next_opcode(B) != OAE_OFFER) {
		unsigned int to = !!w.to[B].n;

		sim_arrive(&w, to, sim_take(&w, to, 0));
	}
	assert_int_equal(w.to[B].n, 1);
	flow();
	assert_int_equal(w.notes[OAE_N_GAP], 0);
	assert_committed(tx);
}

/* ... but only if it is of what is offered then. */
RULE(test_no_resume_of_another)
{
	struct sim_tx *x = post_slices(a, 8, 0), *y;

	while (w.to[B].n > 4)
		pass(B, OAE_OFFER);
	sim_port(a, false);			/* which flushes nothing here */
	sim_cancel(a, x);
	y = post_slices(a, 8, 0);
	sim_port(a, true);
	flow();
	assert_reversed(x, OAE_E_SIGNAL);
	assert_committed(y);
	assert_int_equal(w.notes[OAE_N_MISMATCH], 0);
}

/*
 * Found by fuzzing: an offer cut anew went out with the timer armed for an idle
 * link, and its loss was noticed only then.
 */
RULE_CLOSED(test_cut_anew_is_watched)
{
	u64 pto;

	sim_mtu(b, OAE_MIN_MTU);
	open_link();
	wait_ms(50);
	pto = oae_link_pto(&a->link);
	sim_post(a, 200, 200, OAE_MESSAGE, 0);
	assert_int_equal(a->link.offer.state, OAE_OFFER_OUT);
	assert_true(a->timer_at <= w.now + 2 * pto);
}

RULE(test_mtu_cuts_anew)
{
	struct sim_tx *tx = sim_post(a, 400, 200, OAE_MESSAGE, 0);

	lose(B, OAE_OFFER);
	lose(B, OAE_OFFER);
	sim_mtu(b, OAE_MIN_MTU);
	flow();
	assert_int_equal(tx->cut, OAE_MIN_MTU - OAE_HDR_LEN);
	assert_committed(tx);
}

RULE_CLOSED(test_wrap)
{
	static const u32 starts[] = { 0xfffffffd, 0x7ffffffd };
	unsigned int i, j;
	struct sim_tx *tx;

	for (j = 0; j < 2; j++) {
		setup(NULL);
		oae_link_init(&a->link, &a->cfg, w.vc, a->mtu, starts[j]);
		oae_link_lend_swaps(&a->link, &a->swaps);
		a->tag = true;
		oae_link_open(&a->link, w.now, &(struct oae_actions){ 0 });
		a->timer_at = w.now + SIM_MS;
		for (i = 0; i < 8; i++) {
			tx = post(a, i & 1 ? OAE_POST_EXPRESS : 0);
			if (i & 2 && w.to[B].n)
				lose(B, OAE_OFFER);
			wait_ms(60);
			assert_committed(tx);
			sim_read(b);
		}
		assert_int_equal(a->link.tx, starts[j] + 8);
		assert_int_equal(b->link.rx, starts[j] + 8);
		assert_int_equal(w.notes[OAE_N_BROKEN], 0);
	}
}

/* B's offer is lost, A's traffic flows: B must ask all the same. */
RULE(test_one_way_does_not_hide)
{
	struct sim_tx *tx = post(b, 0);
	unsigned int i;

	lose(A, OAE_OFFER);
	for (i = 0; i < 50 && !tx->ended; i++) {
		post(a, 0);
		flow();
		sim_read(b);
		wait_ms(1);
	}
	assert_int_equal(w.notes[OAE_N_ASKED], 1);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	flow();
	assert_committed(tx);
}

RULE_CLOSED(test_too_big)
{
	struct sim_tx *x, *y;

	b->cfg.max_len = 100;
	x = post_slices(a, 6, 0);		/* known from SYNC */
	flow();
	assert_reversed(x, OAE_E_TOO_BIG);

	b->cfg.max_len = 50;			/* the knob moved since */
	x = post_slices(a, 4, OAE_POST_EXPRESS);
	y = post(a, 0);
	flow();
	assert_reversed(x, OAE_E_TOO_BIG);
	assert_int_equal(w.notes[OAE_N_REJECTED], 1);
	assert_committed(y);
}

RULE(test_kind)
{
	struct sim_tx *x = post(a, 0), *y = post(a, 0);
	struct oae_frame f;

	lose(B, OAE_OFFER);
	x->refusal = OAE_R_KIND;
	f = forged(a, OAE_REFUSE);
	f.seq = a->link.tx + 1;
	f.reason = OAE_R_KIND;
	inject(a, f);
	assert_reversed(x, OAE_E_KIND);
	flow();
	assert_committed(y);
}

/*
 * The CLOSE_ACK and the next CLOSE are lost, and the probe makes the peer a link anew: that is
 * closed as well. Nobody has asked for it.
 */
RULE(test_close_ack_lost)
{
	sim_close(a);
	pass(B, OAE_CLOSE);
	lose(A, OAE_CLOSE_ACK);
	assert_false(b->tag);
	while (!w.to[B].n) {
		w.now += SIM_MS;
		sim_timer(a);
	}
	lose(B, OAE_CLOSE);
	flow();
	wait_ms(400);
	assert_false(a->tag);
	assert_false(b->tag);
}

UNIT_MAIN("rules of a transaction")
