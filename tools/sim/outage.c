// SPDX-License-Identifier: GPL-2.0
/*
 * What comes of faults of cables: how long it takes until something is committed by
 * another one, and how links and their paths are.
 */
#include "sim.h"

/**
 * outage_begin() - a cable is about to fail
 * @w: the world
 * @e: an end of the link
 * @cable: which
 * @fault: how
 *
 * The clock runs if both ends use it; an end that is just going elsewhere is not
 * waited for. Two in a row are one outage.
 */
void outage_begin(struct world *w, const struct end *e, unsigned int cable,
		  enum cable_fault fault)
{
	const struct end *peer = end_peer(w, e);
	struct outage *o = &e->cabling->outage;

	if (!e->tag || !peer->tag || paths_used(e) != cable || paths_used(peer) != cable)
		return;
	w->n.cable.in_use[fault]++;
	if (!o->since)
		*o = (struct outage){ .since = w->now, .cable = cable, .fault = fault };
}

/**
 * outage_mended() - a cable is whole again
 * @w: the world
 * @e: an end of the link
 * @cable: which
 */
void outage_mended(struct world *w, const struct end *e, unsigned int cable)
{
	struct outage *o = &e->cabling->outage;

	if (!o->since || o->cable != cable)
		return;
	w->n.cable.mended[o->fault]++;
	o->since = 0;
}

/**
 * outage_void() - the link fails otherwise meanwhile: nothing is to be learned of it
 * @e: an end of the link
 */
void outage_void(const struct end *e)
{
	if (e->cabling)
		e->cabling->outage.since = 0;
}

/**
 * outage_committed() - a transaction is committed
 * @w: the world
 * @e: the end, with several cables, that it was posted at
 */
void outage_committed(struct world *w, const struct end *e)
{
	struct outage *o = &e->cabling->outage;

	if (!o->since || paths_used(e) == o->cable)
		return;
	hist_add(&w->failover[o->fault], w->now - o->since);
	series_now(&w->series, w->now)->failovers++;
	o->since = 0;
}

/**
 * outage_down() - an end has given its link up
 * @w: the world
 * @e: the end, with several cables
 *
 * Not as long as a cable is whole that both ends know, and nothing but cables fails.
 */
void outage_down(struct world *w, const struct end *e)
{
	const struct config *c = w->cfg;

	if (!c->cable_spare || c->nfates || c->crash_rate || c->flap_rate ||
	    !paths_prove(e, e->cabling->spare) ||
	    !paths_prove(end_peer(w, e), e->cabling->spare))
		return;
	violation(w, e, "G4: the link is down, and cable %u is whole", e->cabling->spare);
}

static void count_path(const struct oae_path *p, struct census *c)
{
	if (!p->there)
		return;
	if (!p->up)
		c->paths_no_carrier++;
	else if (!p->proven)
		c->paths_unproven++;
	else if (p->good)
		c->paths_good++;
	else
		c->paths_silent++;
}

static void count_end(const struct end *e, struct census *c)
{
	const struct end_paths *ep = &e->cabling->paths[e->who];
	unsigned int i;

	if (!e->tag) {
		c->ends_without++;
		return;
	}
	if (oae_link_down(&e->link))
		c->ends_down++;
	else if (oae_link_state(&e->link) < OAE_OPEN)
		c->ends_frozen++;
	else
		c->ends_open++;
	if (!ep->begun)
		return;
	c->ends_elsewhere += ep->ps.used != OAE_PATH_OWN;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		count_path(&ep->ps.path[i], c);
}

/**
 * census_take() - how all links with several cables, and their paths, are
 * @w: the world
 * @c: filled in
 */
void census_take(const struct world *w, struct census *c)
{
	const struct end *e;
	u32 i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < w->nends; i++) {
		e = &w->ends[i];
		if (!e->cabling)
			continue;
		count_end(e, c);
		if (i & 1 && e->tag && e[-1].tag)
			c->links_apart += paths_used(e) != paths_used(e - 1);
	}
}
