// SPDX-License-Identifier: GPL-2.0
/* The cables of links that have several: their faults, at random or on a schedule. */
#include <stdlib.h>
#include "sim.h"

static const char *const names[CABLE_FAULTS] = {
	[CABLE_CARRIER] = "carrier",
	[CABLE_SILENT] = "silent",
	[CABLE_ONEWAY] = "oneway",
	[CABLE_LOSSY] = "lossy",
	[CABLE_SHORT] = "short",
};

/**
 * cable_fault_name() - the name of a fault
 * @fault: which, not CABLE_WHOLE
 *
 * Return: the name, as the options take it.
 */
const char *cable_fault_name(enum cable_fault fault)
{
	return names[fault];
}

/**
 * cable_fault_named() - a fault by its name
 * @name: the name
 * @len: its length
 *
 * Return: the fault, CABLE_WHOLE if there is none of that name.
 */
enum cable_fault cable_fault_named(const char *name, size_t len)
{
	enum cable_fault f;

	for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
		if (strlen(names[f]) == len && !memcmp(names[f], name, len))
			return f;
	return CABLE_WHOLE;
}

/**
 * cables_lay() - give links their cables
 * @w: the world, its ends made
 */
void cables_lay(struct world *w)
{
	const struct config *c = w->cfg;
	struct cabling *k;
	unsigned int n;
	u32 i;

	for (i = 0; i < w->nends; i += 2) {
		n = c->cables + rng_below(&w->cable_rng, c->cables_max - c->cables + 1);
		w->ncables += n;
		if (n < 2)
			continue;
		k = need(calloc(1, sizeof(*k) + n * sizeof(k->cable[0])));
		k->n = n;
		k->spare = c->cable_spare ? rng_below(&w->cable_rng, n) : n;
		w->ends[i].cabling = k;
		w->ends[i + 1].cabling = k;
		w->cable_bytes += sizeof(*k) + n * sizeof(k->cable[0]);
	}
}

/**
 * cables_free() - free what cables_lay() made
 * @w: the world
 */
void cables_free(struct world *w)
{
	u32 i;

	for (i = 0; i < w->nends; i += 2)
		free(w->ends[i].cabling);
}

/* The ports of a cable, whose carrier has come or gone. */
static void ports(struct world *w, struct end *e, unsigned int cable, bool up)
{
	u32 i = end_index(w, e) & ~1U;

	for (e = &w->ends[i]; e <= &w->ends[i + 1]; e++)
		if (!e->ports_down)
			end_port(w, e, cable, up);
}

/**
 * cable_fails() - a cable has a fault for a while; with one already, nothing happens
 * @w: the world
 * @e: an end of the link; CABLE_ONEWAY: to which nothing comes through
 * @cable: which
 * @fault: what is the matter with it
 * @lasts: for how long, ns
 */
void cable_fails(struct world *w, struct end *e, unsigned int cable, enum cable_fault fault,
		 u64 lasts)
{
	struct cable *c = &e->cabling->cable[cable];

	if (c->fault)
		return;
	w->n.cable.faults[fault]++;
	series_now(&w->series, w->now)->cable_faults++;
	outage_begin(w, e, cable, fault);
	say(w, e, "cable %u: %s", cable, names[fault]);
	c->fault = fault;
	c->deaf = e->who;
	if (fault == CABLE_CARRIER)
		ports(w, e, cable, false);
	wheel_put(&w->wheel, w->now + lasts, EVENT_REF(KIND_CABLE_MENDED, cable),
		  end_index(w, e) & ~1U);
}

/**
 * cable_mended() - a cable has its fault no more
 * @w: the world
 * @e: an end of the link
 * @cable: which
 */
void cable_mended(struct world *w, struct end *e, unsigned int cable)
{
	struct cable *c = &e->cabling->cable[cable];
	u8 fault = c->fault;

	/* All are mended when the faults stop. */
	if (!fault)
		return;
	say(w, e, "cable %u: mended", cable);
	c->fault = CABLE_WHOLE;
	outage_mended(w, e, cable);
	if (fault == CABLE_CARRIER)
		ports(w, e, cable, true);
}

/**
 * cable_loses() - does a cable lose a frame?
 * @w: the world
 * @e: the end that sends it
 * @cable: the cable, its carrier is there
 * @f: the frame
 *
 * Return: true if it does not come through.
 */
bool cable_loses(struct world *w, const struct end *e, unsigned int cable,
		 const struct oae_frame *f)
{
	const struct cable *c = &e->cabling->cable[cable];
	size_t len = oae_frame_body_len(f);

	switch (c->fault) {
	case CABLE_SILENT:
		return true;
	case CABLE_ONEWAY:
		return c->deaf != e->who;
	case CABLE_LOSSY:
		return rng_chance(&w->cable_rng, w->cfg->cable_loss);
	case CABLE_SHORT:
		if (len < f->length)
			len = f->length;
		return OAE_HDR_LEN + len > w->cfg->cable_short;
	}
	return false;
}

/* So many throws of the dice that each cable has faults at its rate. */
static void next_throw(struct world *w)
{
	const struct config *c = w->cfg;
	u64 mean = (__uint128_t)(1000 * NS_S) / c->cable_rate /
		   ((u64)w->topo.links * c->cables_max);

	wheel_put(&w->wheel, w->now + 1 + rng_interval(&w->cable_rng, mean),
		  EVENT_REF(KIND_CABLE_DICE, 0), 0);
}

/* One of the kinds that were asked for. */
static enum cable_fault any_fault(struct world *w)
{
	unsigned int left = rng_below(&w->cable_rng, __builtin_popcount(w->cfg->cable_kinds));
	enum cable_fault f = CABLE_WHOLE + 1;

	while (!(w->cfg->cable_kinds >> f & 1) || left--)
		f++;
	return f;
}

/**
 * cable_dice() - a cable, any, has a fault
 * @w: the world
 *
 * A place without a cable is as likely as one with: so links with few have as many
 * faults a cable as others.
 */
void cable_dice(struct world *w)
{
	const struct config *c = w->cfg;
	struct rng *r = &w->cable_rng;
	unsigned int cable;
	struct end *e;

	if (w->calm)
		return;
	e = &w->ends[rng_below(r, w->nends)];
	cable = rng_below(r, c->cables_max);
	if (e->cabling && cable < e->cabling->n && cable != e->cabling->spare)
		cable_fails(w, e, cable, any_fault(w), 1 + rng_interval(r, c->cable_time));
	next_throw(w);
}

/**
 * cables_start() - the first throw of the dice
 * @w: the world
 */
void cables_start(struct world *w)
{
	if (w->cfg->cable_rate && w->cfg->cables_max > 1)
		next_throw(w);
}
