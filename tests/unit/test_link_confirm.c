// SPDX-License-Identifier: GPL-2.0
/* DONE beside offers that are refused, or taken back: it is asked for at once. */
#include "sim_hand.h"

static void windows(u8 n)
{
	a->cfg.window = n;
	b->cfg.window = n;
}

/* A has heard DONE, or what says as much, before its timer asks. */
static void told(void)
{
	sim_run(&w, w.now + oae_link_pto(&a->link) / 2);
	assert_false(a->link.await_done);
}

/*
 * What is first in flight may have been offered before tx moved. Its refusal says nothing of
 * what was committed since, and nobody has asked for DONE. It stands refused for as long as its
 * word is reserved.
 */
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
	told();
	assert_false(tx->ended);
}

/* What would say as much as DONE is lost, and taken back: nothing in its place says it. */
RULE_CLOSED(test_confirm_then_cancel)
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
	told();
}

UNIT_MAIN("waiting for DONE")
