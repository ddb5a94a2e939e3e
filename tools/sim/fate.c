// SPDX-License-Identifier: GPL-2.0
/* Crashes, flaps and cuts: on a schedule, or at random at a mean rate. */
#include "sim.h"

static void put(struct world *w, u64 lasts, enum sim_kind kind, u32 end)
{
	wheel_put(&w->wheel, w->now + lasts, EVENT_REF(kind, 0), end);
}

static void crash(struct world *w, u32 node, u64 lasts)
{
	const struct topo *t = &w->topo;
	u32 i;

	if (w->nodes[node].down)
		return;
	w->n.crashes++;
	w->nodes[node].down = true;
	w->nodes[node].cookie_key = rng_next(&w->fate_rng);
	for (i = t->first[node]; i < t->first[node + 1]; i++) {
		outage_void(&w->ends[t->ends[i]]);
		end_crash(w, &w->ends[t->ends[i]]);
	}
	words_crash(w, &w->nodes[node]);
	put(w, lasts, KIND_REBOOT, node);
}

static void flap(struct world *w, u32 link, u64 lasts)
{
	u32 end;

	/* As many as a byte counts are enough for one wire. */
	if (w->ends[2 * link].ports_down == 0xff)
		return;
	w->n.flaps++;
	outage_void(&w->ends[2 * link]);
	for (end = 2 * link; end <= 2 * link + 1; end++)
		if (!w->ends[end].ports_down++)
			end_ports(w, &w->ends[end], false);
	put(w, lasts, KIND_UP, 2 * link);
}

static void cut_wire(struct world *w, u32 link, u64 lasts)
{
	if (w->ends[2 * link].cuts == 0xff)
		return;
	w->n.cuts++;
	outage_void(&w->ends[2 * link]);
	w->ends[2 * link].cuts++;
	w->ends[2 * link + 1].cuts++;
	say(w, &w->ends[2 * link], "the wire is cut");
	put(w, lasts, KIND_MENDED, 2 * link);
}

static void closes(struct world *w, u32 link, u32 node)
{
	u32 end = 2 * link + (topo_node(&w->topo, 2 * link) != node);

	w->n.closes++;
	outage_void(&w->ends[2 * link]);
	end_close(w, &w->ends[end]);
}

/* Of the first of the two nodes named, CABLE_ONEWAY: nothing of it comes through. */
static void cable_schedule(struct world *w, u32 link, const struct fate *f)
{
	u32 end = 2 * link + (topo_node(&w->topo, 2 * link) == f->a);

	if (w->ends[end].cabling && f->cable < w->ends[end].cabling->n)
		cable_fails(w, &w->ends[end], f->cable, f->fault, f->lasts);
}

/* Per second and each of @n, @rate in thousandths: ns between two. */
static u64 mean_interval(u64 rate, u32 n)
{
	return (__uint128_t)(1000 * NS_S) / rate / n;
}

static void next_crash(struct world *w)
{
	u64 mean = mean_interval(w->cfg->crash_rate, w->topo.nodes);

	put(w, 1 + rng_interval(&w->fate_rng, mean), KIND_CRASH_DICE, 0);
}

static void next_flap(struct world *w)
{
	u64 mean = mean_interval(w->cfg->flap_rate, w->topo.links);

	put(w, 1 + rng_interval(&w->fate_rng, mean), KIND_FLAP_DICE, 0);
}

/**
 * fate_start() - the schedule, and the first throw of the dice
 * @w: the world
 */
void fate_start(struct world *w)
{
	u32 i;

	for (i = 0; i < w->cfg->nfates; i++)
		wheel_put(&w->wheel, w->now + w->cfg->fates[i].at,
			  EVENT_REF(KIND_FATE, i), 0);
	if (w->cfg->crash_rate)
		next_crash(w);
	if (w->cfg->flap_rate)
		next_flap(w);
	cables_start(w);
}

/**
 * fate_event() - the time of one of the schedule has come
 * @w: the world
 * @index: which
 */
void fate_event(struct world *w, u32 index)
{
	const struct fate *f = &w->cfg->fates[index];
	u32 link;

	if (w->calm)
		return;
	if (f->what == FATE_CRASH) {
		crash(w, f->a, f->lasts);
		return;
	}
	link = topo_link(&w->topo, f->a, f->b);
	if (f->what == FATE_FLAP)
		flap(w, link, f->lasts);
	else if (f->what == FATE_CUT)
		cut_wire(w, link, f->lasts);
	else if (f->what == FATE_CABLE)
		cable_schedule(w, link, f);
	else
		closes(w, link, f->a);
}

/**
 * fate_crash_dice() - a node, any, crashes
 * @w: the world
 */
void fate_crash_dice(struct world *w)
{
	if (w->calm)
		return;
	crash(w, rng_below(&w->fate_rng, w->topo.nodes), w->cfg->reboot_time);
	next_crash(w);
}

/**
 * fate_flap_dice() - a link, any, flaps
 * @w: the world
 */
void fate_flap_dice(struct world *w)
{
	if (w->calm)
		return;
	flap(w, rng_below(&w->fate_rng, w->topo.links), w->cfg->flap_time);
	next_flap(w);
}

/**
 * fate_reboot() - a node comes back
 * @w: the world
 * @node: which
 */
void fate_reboot(struct world *w, u32 node)
{
	const struct topo *t = &w->topo;
	struct end *e;
	u32 i;

	if (!w->nodes[node].down)
		return;
	w->nodes[node].down = false;
	for (i = t->first[node]; i < t->first[node + 1]; i++) {
		e = &w->ends[t->ends[i]];
		say(w, e, "is back");
		e->alive = true;
		work_revived(w, e);
	}
}

/**
 * fate_up() - a flap is over
 * @w: the world
 * @end: the first of the link
 */
void fate_up(struct world *w, u32 end)
{
	u32 i;

	for (i = end; i <= end + 1; i++)
		if (w->ends[i].ports_down && !--w->ends[i].ports_down)
			end_ports(w, &w->ends[i], true);
}

/**
 * fate_mended() - a cut is over
 * @w: the world
 * @end: the first of the link
 */
void fate_mended(struct world *w, u32 end)
{
	if (!w->ends[end].cuts)
		return;
	say(w, &w->ends[end], "the wire is mended");
	w->ends[end].cuts--;
	w->ends[end + 1].cuts--;
}

/**
 * fate_calm() - no faults from now on: all is up and whole
 * @w: the world
 */
void fate_calm(struct world *w)
{
	u32 i, j;

	w->calm = true;
	w->odd_wire = false;
	for (i = 0; i < w->topo.nodes; i++)
		fate_reboot(w, i);
	for (i = 0; i < w->nends; i += 2) {
		for (j = 0; w->ends[i].cabling && j < w->ends[i].cabling->n; j++)
			cable_mended(w, &w->ends[i], j);
		while (w->ends[i].cuts)
			fate_mended(w, i);
		while (w->ends[i].ports_down)
			fate_up(w, i);
	}
}
