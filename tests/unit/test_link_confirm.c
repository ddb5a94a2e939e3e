// SPDX-License-Identifier: GPL-2.0
/* Waiting for DONE beside offers that are refused, or taken back: no link freezes. */
#include "sim_hand.h"

static void windows(u8 n)
{
	a->cfg.window = n;
	b->cfg.window = n;
}

/* Frames of 1,500 bytes on a line of 100 Mbit/s. */
static void slow(unsigned int to)
{
	w.faults[to].delay = 30 * SIM_US;
	w.faults[to].frame = 120 * SIM_US;
	w.faults[to].queue = 1000 * w.faults[to].frame;
}

/* A has heard DONE, or what says as much, and has not frozen for want of it. */
static void told_within(unsigned int ms)
{
	wait_ms(ms);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_false(a->link.await_done);
}

/* Until an OFFER is the next that arrives at B. */
static void until_offer(void)
{
	unsigned int i, to;

	for (i = 0; i < 50 && next_opcode(B) != OAE_OFFER; i++) {
		to = w.to[A].n ? A : B;
		w.now += SIM_US;
		sim_arrive(&w, to, sim_take(&w, to, 0));
	}
}

/*
 * With a window, what is first in flight may have been offered before tx moved. Its refusal
 * says nothing of what was committed since, and nobody has asked for DONE: nothing is lost,
 * and the link must not freeze (G4).
 */
RULE_CLOSED(test_confirm_then_busy)
{
	windows(8);
	b->rcvbuf = 1;
	post(a, 0);
	post(a, 0);
	until_offer();
	pass(B, OAE_OFFER);
	while (next_opcode(B) != OAE_OFFER)
		pass(B, next_opcode(B));
	pass(B, OAE_OFFER);
	while (next_opcode(A) != OAE_REFLECT)
		pass(A, next_opcode(A));
	pass(A, OAE_REFLECT);
	sim_happens(a, "confirm", oae_link_confirm);
	memset(w.notes, 0, sizeof(w.notes));
	pass(A, OAE_REFUSE);
	flow();
	told_within(50);
}

/* The same with a verb whose word is reserved: it stands refused for as long as that is. */
RULE_CLOSED(test_confirm_then_conflict)
{
	struct sim_tx *tx;
	unsigned int i;

	windows(8);
	open_link();
	for (i = 0; i < SIM_WORDS; i++)
		b->by[i] = SIM_OTHER;
	post(a, 0);
	tx = sim_post(a, 60, 0, OAE_VERB, 0);
	pass(B, OAE_OFFER);
	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	sim_happens(a, "confirm", oae_link_confirm);
	flow();
	told_within(50);
	assert_false(tx->ended);
}

/* Without one: what says as much as DONE is taken back. Nothing is lost (G4). */
RULE_CLOSED(test_confirm_then_cancel)
{
	struct sim_tx *tx;
	unsigned int i;

	windows(1);
	slow(A);
	slow(B);
	for (i = 0; i < 30; i++) {
		post(a, 0);
		wait_ms(2);
		sim_read(b);
	}
	memset(w.notes, 0, sizeof(w.notes));
	tx = post_slices(a, 45, 0);
	sim_happens(a, "confirm", oae_link_confirm);
	sim_run(&w, w.now + 4900 * SIM_US);
	assert_false(tx->ended);
	sim_cancel(a, tx);
	told_within(100);
}

/* The same when its answer is lost, and the REVERSE arrives: nobody says DONE. */
RULE_CLOSED(test_confirm_then_cancel_quick)
{
	struct sim_tx *tx;

	windows(1);
	open_link();
	post(a, 0);
	flow();
	sim_read(b);
	tx = post(a, 0);
	lose(B, OAE_OFFER);
	sim_happens(a, "confirm", oae_link_confirm);
	sim_cancel(a, tx);
	told_within(100);
}

UNIT_MAIN("waiting for DONE")
