// SPDX-License-Identifier: GPL-2.0
/* How every run of the simulation ends: all is calm, settled, and proved. */
#include "sim.h"

static const char *state_text(const struct sim_end *e, char text[64])
{
	if (!e->tag)
		return "no tag";
	snprintf(text, 64, "%s offer %u hold %u queue %u",
		 oae_state_name(oae_link_state(&e->link)),
		 e->link.offer.state, e->link.hold.state, e->nqueue);
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
		if (!w->end[i].port_up)
			sim_port(&w->end[i], true);
	}
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
		sim_event(w);
	}
}

/**
 * sim_prove_open() - after all that, the link is a link again
 * @w: the world, settled
 *
 * Both ways, both sorts; and then everything must have come to its end.
 */
void sim_prove_open(struct sim *w)
{
	struct sim_tx *tx[4];
	unsigned int i;

	for (i = 0; i < 4 && !w->why[0]; i++) {
		tx[i] = sim_post(&w->end[i & 1], 40, 40, OAE_MESSAGE,
				 i & 2 ? OAE_POST_EXPRESS : 0);
		sim_settle(w, "in the end");
		if (!w->why[0] && tx[i]->outcome != OAE_COMMITTED)
			sim_fail(w, "no faults, but #%u is not committed",
				 (u32)tx[i]->id);
	}
	/* The last atomic's commit may still be on its way. */
	sim_run(w, w->now + 10 * SIM_MS);
	sim_check_end(w);
}
