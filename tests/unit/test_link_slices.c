// SPDX-License-Identifier: GPL-2.0
/* Transactions of many slices, on lines that are slow, or have a short queue before them. */
#include "sim_hand.h"

static void line(unsigned int to, u64 frame, unsigned int queue)
{
	w.faults[to].delay = 30 * SIM_US;
	w.faults[to].frame = frame;
	w.faults[to].queue = queue * frame;
}

/*
 * Here are slices that contradict those of the peer, which knows of no other content. It asks
 * what is missing, and must get an answer (G5).
 */
RULE(test_kept_contradicts)
{
	struct oae_frame f = forged(b, OAE_OFFER);
	struct sim_tx *tx;

	w.hostile = true;
	tx = post_slices(a, 3, 0);
	while (w.to[B].n)
		lose(B, OAE_OFFER);
	f.seq = b->link.rx + 1;
	f.tx = b->link.rx;
	f.slice = 4;
	f.flags = OAE_F_LAST;
	f.length = 8;
	f.payload_hash = 1;
	inject(b, f);
	wait_ms(5000);
	assert_true(tx->ended && tx->outcome == OAE_COMMITTED);
}

/* No frame is lost, and nobody is slow: nothing freezes, though somebody waits for DONE (G4). */
static void confirm_long(u8 window)
{
	unsigned int i;

	a->cfg.window = window;
	b->cfg.window = window;
	line(A, 120 * SIM_US, 1000);
	line(B, 120 * SIM_US, 1000);
	for (i = 0; i < 30; i++) {
		post(a, 0);
		wait_ms(2);
		sim_read(b);
	}
	memset(w.notes, 0, sizeof(w.notes));
	post_slices(a, 45, 0);
	sim_happens(a, "confirm", oae_link_confirm);
	wait_ms(100);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_false(a->link.await_done);
}

RULE_CLOSED(test_confirm_long)
{
	confirm_long(8);
}

RULE_CLOSED(test_confirm_long_narrow)
{
	confirm_long(1);
}

/* The first of a link is of more slices than the queue takes, and gets through (G5). */
static void first_long(u8 window, u8 flags, unsigned int queue)
{
	struct sim_tx *tx;

	a->cfg.window = window;
	b->cfg.window = window;
	line(A, 12 * SIM_US, queue);
	line(B, 12 * SIM_US, queue);
	tx = post_slices(a, 60, flags);
	wait_ms(2000);
	assert_true(tx->ended && tx->outcome == OAE_COMMITTED);
}

RULE_CLOSED(test_first_express)
{
	first_long(8, OAE_POST_EXPRESS, 40);
}

RULE_CLOSED(test_first_express_short)
{
	first_long(8, OAE_POST_EXPRESS, 3);
}

RULE_CLOSED(test_first_narrow)
{
	first_long(1, 0, 40);
}

RULE_CLOSED(test_first_narrow_short)
{
	first_long(1, 0, 3);
}

RULE_CLOSED(test_first_narrow_express)
{
	first_long(1, OAE_POST_EXPRESS, 10);
}

/*
 * Of each run a few slices get through, and LAST is lost. It takes many runs, but it is not too
 * big, which would be final (protocol 4.1).
 */
RULE_CLOSED(test_few_a_run)
{
	struct sim_tx *tx;

	a->cfg.window = 1;
	b->cfg.window = 1;
	line(A, 12 * SIM_US, 1);
	line(B, 12 * SIM_US, 1);
	tx = sim_post(a, 6000, 100, OAE_MESSAGE, 0);
	wait_ms(2000);
	assert_true(tx->ended && tx->outcome == OAE_COMMITTED);
	assert_int_equal(w.notes[OAE_N_CUT], 0);
}

UNIT_MAIN("many slices")
