// SPDX-License-Identifier: GPL-2.0
/* How every run of the simulation ends: all is calm, settled, and proved. */
#include "sim.h"

static const char *state_text(const struct sim_end *e, char text[64])
{
	if (!e->tag)
		return "no tag";
	snprintf(text, 64, "%s offer %u hold %u half %u queue %u",
		 oae_state_name(oae_link_state(&e->link)),
		 e->link.offer.state, e->link.hold.state, e->link.half.state,
		 e->queued);
	return text;
}

/**
 * sim_calm() - the faults stop: a good wire, both ports up, nobody shut
 * @w: the world
 */
void sim_calm(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		memset(&w->faults[i], 0, sizeof(w->faults[i]));
		w->faults[i].delay = 10 * SIM_US;
		w->end[i].shut = false;
		w->end[i].clock_back = 0;
		w->refusals = 0;
		sim_other(&w->end[i], SIM_WORDS);
		if (!w->end[i].port_up)
			sim_port(&w->end[i], true);
	}
}

/*
 * Halves wait for a partner as long as it takes. When those of one end alone are
 * left, and all else is done, their user gives up.
 */
static void cancel_lonely(struct sim *w)
{
	struct sim_tx *lonely = NULL;
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		if (w->tx[i].ended || w->tx[i].lost)
			continue;
		if (w->tx[i].kind != OAE_SWAP ||
		    (lonely && lonely->from != w->tx[i].from))
			return;
		lonely = &w->tx[i];
	}
	if (lonely && !lonely->lent)
		sim_cancel(&w->end[lonely->from], lonely);
}

/**
 * sim_settle() - readers read on, users wait: both ends get back to idle
 * @w: the world
 * @what: when this is, should they not
 */
void sim_settle(struct sim *w, const char *what)
{
	u64 until = w->now + 20000 * SIM_MS;
	char text[2][64];

	while (!w->why[0] && !sim_settled(w)) {
		if (w->now > until || sim_next_event(w) == ~0ULL) {
			sim_fail(w, "not settled %s: A %s, B %s", what,
				 state_text(&w->end[A], text[A]),
				 state_text(&w->end[B], text[B]));
			break;
		}
		while (w->end[A].unread)
			sim_read(&w->end[A]);
		while (w->end[B].unread)
			sim_read(&w->end[B]);
		cancel_lonely(w);
		sim_event(w);
	}
}

/**
 * sim_prove_open() - after all that, the link is a link again
 * @w: the world, settled
 *
 * Both ways, all sorts; and then everything must have come to its end.
 */
void sim_prove_open(struct sim *w)
{
	static const struct {
		u8 kind, flags;
	} sorts[] = {
		{ OAE_MESSAGE, 0 }, { OAE_MESSAGE, OAE_POST_EXPRESS },
		{ OAE_SWAP, 0 }, { OAE_VERB, 0 },
	};
	struct sim_tx *tx;
	unsigned int i, n = w->ntx;

	for (i = 0; i < 8 && !w->why[0]; i++) {
		sim_post(&w->end[i & 1], 40, 40, sorts[i / 2].kind,
			 sorts[i / 2].flags);
		/* A half alone has nothing to settle with. */
		if (sorts[i / 2].kind != OAE_SWAP || i & 1)
			sim_settle(w, "in the end");
	}
	for (; n < w->ntx && !w->why[0]; n++) {
		tx = &w->tx[n];
		if (tx->outcome != OAE_COMMITTED)
			sim_fail(w, "no faults, but #%u is not committed",
				 (u32)tx->id);
	}
	/* The last atomic's commit may still be on its way. */
	sim_run(w, w->now + 10 * SIM_MS);
	sim_check_end(w);
}
