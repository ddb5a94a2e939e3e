// SPDX-License-Identifier: GPL-2.0
/*
 * A run: work under faults; then no faults any more, and all must settle; then
 * the last late frames; then one transaction from each end of each link, which
 * must be committed.
 */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "sim.h"

static_assert(sizeof(void *) == sizeof(u64), "an id is a handle");

/* How far the prefetching is ahead, in events: of ends, of transactions. */
#define AHEAD		12
#define AHEAD_TX	5

/* The links' random has no context. */
static struct rng core_rng;

static u32 core_random(void)
{
	return rng_u32(&core_rng);
}

/* Ends are touched in no order: large pages save a look at the page table. */
static void *large(size_t bytes)
{
	const size_t page = 1 << 21;
	size_t len = (bytes + page - 1) / page * page;
	void *p = need(aligned_alloc(page, len));

	madvise(p, len, MADV_HUGEPAGE);
	memset(p, 0, len);
	return p;
}

static void make_ends(struct world *w)
{
	const struct config *c = w->cfg;
	u32 i;

	w->nends = 2 * w->topo.links;
	w->ends = large(w->nends * sizeof(*w->ends));
	for (i = 0; i < w->nends; i++) {
		struct end *e = &w->ends[i];

		/* Both ways of a link take the same time. */
		if (i & 1)
			e->latency = w->ends[i - 1].latency;
		else
			e->latency = c->latency +
				     rng_below(&w->fate_rng,
					       c->latency_max - c->latency + 1);
		e->who = i & 1;
		e->alive = true;
		e->traced = i >> 1 == c->trace_link;
	}
	if (c->cables_max > 1)
		cables_lay(w);
	w->nodes = need(calloc(w->topo.nodes, sizeof(*w->nodes)));
	for (i = 0; i < w->topo.nodes; i++)
		w->nodes[i].cookie_key = rng_next(&w->fate_rng);
}

/**
 * world_new() - a network at rest
 * @cfg: must outlive it
 *
 * Return: the world.
 */
struct world *world_new(const struct config *cfg)
{
	struct world *w = need(calloc(1, sizeof(*w)));

	w->cfg = cfg;
	w->now = SIM_START;
	w->knobs.stall_min = cfg->stall_min;
	w->knobs.stall_max = cfg->stall_max;
	w->knobs.keepalive = cfg->keepalive;
	w->knobs.dead = cfg->dead;
	w->knobs.max_len = cfg->max_len;
	w->knobs.window = cfg->link_window;
	w->knobs.paths = cfg->cables_max > 1;
	w->knobs.random = core_random;
	rng_seed(&core_rng, cfg->seed, 1);
	rng_seed(&w->wire_rng, cfg->seed, 2);
	rng_seed(&w->flip_rng, cfg->seed, 3);
	rng_seed(&w->work_rng, cfg->seed, 4);
	rng_seed(&w->fate_rng, cfg->seed, 5);
	rng_seed(&w->cable_rng, cfg->seed, 6);
	w->odd_wire = cfg->loss || cfg->dup || cfg->corrupt || cfg->reorder;

	wheel_init(&w->wheel);
	pool_init(&w->flights, sizeof(struct flight), 1 << 28);
	pool_init(&w->txs, sizeof(struct tx), 1 << TX_BITS);
	topo_init(&w->topo, cfg);
	make_ends(w);
	series_init(&w->series, w->now);
	w->scratch = need(malloc(2 * (size_t)cfg->max_len));
	if (cfg->trace_link != TRACE_NONE)
		w->trace = trace_new(cfg->trace_lines);
	return w;
}

static void free_data(struct world *w)
{
	u32 i;

	for (i = 0; i < w->nends; i++)
		end_free(w, &w->ends[i]);
	cables_free(w);
	for (i = 0; i < w->flights.made; i++) {
		struct flight *p = pool_at(&w->flights, i);

		free(p->data);
	}
	while (w->spare_data)
		free(wire_data(w));
}

/**
 * world_free() - free a world
 * @w: the world
 */
void world_free(struct world *w)
{
	free_data(w);
	trace_free(w->trace);
	free(w->scratch);
	series_free(&w->series);
	free(w->nodes);
	free(w->ends);
	topo_free(&w->topo);
	pool_free(&w->txs);
	pool_free(&w->flights);
	wheel_free(&w->wheel);
	free(w);
}

static void look_later(struct world *w, u64 after)
{
	wheel_put(&w->wheel, w->now + after, EVENT_REF(KIND_LOOK, 0), 0);
}

/* The time for work is over, or all has been posted. */
static void stop(struct world *w)
{
	if (w->phase != PHASE_WORK)
		return;
	w->phase = PHASE_SETTLE;
	w->refill = 0;
	w->stopped_at = w->now;
	w->settle_by = w->now + w->cfg->settle;
	census_take(w, &w->at_stop);
	fate_calm(w);
	look_later(w, w->cfg->latency_max);
}

static unsigned int offer_of(const struct end *e)
{
	struct oae_link_view v;

	oae_link_show(&e->link, &v);
	return v.offer;
}

static unsigned int hold_of(const struct end *e)
{
	struct oae_link_view v;

	oae_link_show(&e->link, &v);
	return v.hold;
}

static void not_settled(struct world *w, u32 link)
{
	const struct end *e = &w->ends[2 * link];

	violation(w, e, "not settled %s: %s with offer %u hold %u, %s with offer %u hold %u",
		  w->phase == PHASE_SETTLE ? "after the faults" : "in the end",
		  e[0].tag ? oae_state_name(e[0].link.state) : "no tag",
		  offer_of(&e[0]), hold_of(&e[0]),
		  e[1].tag ? oae_state_name(e[1].link.state) : "no tag",
		  offer_of(&e[1]), hold_of(&e[1]));
}

/* The longest that a frame may still be on its way. */
static u64 latest(const struct config *c)
{
	return 2 * c->latency_max + c->jitter + c->reorder_by;
}

static void prove(struct world *w, enum sim_phase phase)
{
	w->phase = phase;
	w->settle_by = w->now + w->cfg->settle;
	work_prove(w);
	/* The commit of the last may still be on its way when all is settled. */
	w->drain_until = w->now + 10 * latest(w->cfg);
	look_later(w, 1);
}

/* Halves at one end of a link alone, and nothing else is under way there. */
static void give_up(struct world *w)
{
	u32 i;

	for (i = 0; i < w->nends; i++)
		if (w->ends[i].nhalves)
			end_give_up(w, &w->ends[i]);
}

/* The proofs that are made, one after the other. */
static enum sim_phase next_proof(const struct world *w, enum sim_phase phase)
{
	do {
		phase++;
	} while ((phase == PHASE_SWAP && !w->cfg->swap) ||
		 (phase == PHASE_VERB && !w->cfg->verb));
	return phase;
}

/* Has all settled? Then on to the next phase. */
static void look(struct world *w)
{
	enum sim_phase phase;
	u32 link = 0;

	if (w->now < w->drain_until) {
		look_later(w, w->drain_until - w->now);
		return;
	}
	if (w->phase == PHASE_SETTLE)
		give_up(w);
	if (!check_settled(w, &link)) {
		if (w->now > w->settle_by)
			not_settled(w, link);
		look_later(w, w->cfg->stall_min / 4 + 1);
		return;
	}
	switch (w->phase) {
	case PHASE_SETTLE:
		w->settled_at = w->now;
		w->phase = PHASE_DRAIN;
		w->drain_until = w->now + latest(w->cfg);
		look_later(w, 1);
		break;
	case PHASE_DRAIN:
		check_fair_weather(w);
		check_end(w);
		w->report = w->n;
		prove(w, PHASE_PROVE);
		break;
	default:
		phase = next_proof(w, w->phase);
		if (phase < PHASE_DONE) {
			prove(w, phase);
			break;
		}
		check_end(w);
		w->phase = PHASE_DONE;
	}
}

static void cancel(struct world *w, const struct event *ev)
{
	struct tx *tx = pool_at(&w->txs, EVENT_INDEX(ev->ref));

	/* Another may lie there by now. */
	if (tx->id && (u32)TX_SERIAL(tx->id) == ev->end && !tx->ended &&
	    !tx->lost)
		end_cancel(w, tx);
}

static void happen(struct world *w, const struct event *ev)
{
	switch (EVENT_KIND(ev->ref)) {
	case KIND_FRAME:
		wire_arrive(w, &w->ends[ev->end], EVENT_INDEX(ev->ref));
		break;
	case KIND_TIMER:
		end_timer(w, &w->ends[ev->end]);
		break;
	case KIND_POST:
		work_event(w, ev->end);
		break;
	case KIND_READ:
		end_read(w, &w->ends[ev->end]);
		break;
	case KIND_READY:
		end_ready(w, &w->ends[ev->end]);
		break;
	case KIND_CANCEL:
		cancel(w, ev);
		break;
	case KIND_FATE:
		fate_event(w, EVENT_INDEX(ev->ref));
		break;
	case KIND_CRASH_DICE:
		fate_crash_dice(w);
		break;
	case KIND_FLAP_DICE:
		fate_flap_dice(w);
		break;
	case KIND_REBOOT:
		fate_reboot(w, ev->end);
		break;
	case KIND_UP:
		fate_up(w, ev->end);
		break;
	case KIND_MENDED:
		fate_mended(w, ev->end);
		break;
	case KIND_STOP:
		stop(w);
		break;
	case KIND_LOOK:
		look(w);
		break;
	case KIND_CABLE_DICE:
		cable_dice(w);
		break;
	case KIND_CABLE_MENDED:
		cable_mended(w, &w->ends[ev->end], EVENT_INDEX(ev->ref));
		break;
	}
}

/* Inline: gcc takes a function that only prefetches for one without effect. */
static __always_inline void prefetch_lines(const void *p, size_t from, size_t to)
{
	for (; from < to; from += 64)
		__builtin_prefetch((const char *)p + from);
}

static __always_inline void prefetch_ends(const struct world *w, const struct event *ev)
{
	const struct end *e = &w->ends[ev->end];

	prefetch_lines(pool_at(&w->flights, EVENT_INDEX(ev->ref)), 0,
		       sizeof(struct flight));
	prefetch_lines(e, 0, offsetof(struct end, link.next));
	prefetch_lines(e, offsetof(struct end, timer_at), sizeof(*e));
	/* Of the peer, what check.c looks at. */
	e = &w->ends[ev->end ^ 1];
	prefetch_lines(e, 0, 64);
	__builtin_prefetch(&e->tag);
	__builtin_prefetch(&e->link.inc);
}

static __always_inline void prefetch_tx(const struct world *w, u64 id)
{
	if (id)
		__builtin_prefetch(pool_at(&w->txs, TX_INDEX(id)));
}

/* What events after a few others will touch is fetched meanwhile. */
static __always_inline void prefetch(const struct world *w)
{
	const struct event *ev = wheel_ahead(&w->wheel, AHEAD);
	const struct end *e;

	if (ev && EVENT_KIND(ev->ref) == KIND_FRAME)
		prefetch_ends(w, ev);
	ev = wheel_ahead(&w->wheel, AHEAD_TX);
	if (!ev || EVENT_KIND(ev->ref) != KIND_FRAME)
		return;
	/* Its end is here by now, and tells what is held and what offered. */
	e = &w->ends[ev->end];
	prefetch_tx(w, e->kept_of[h_lane(e->link.rx + 1)].slice.id);
	prefetch_tx(w, e->at_link[0]);
	prefetch_tx(w, e->at_link[1]);
}

/**
 * world_run() - everything happens
 * @w: the world; afterwards @w->why says whether a promise was broken
 */
void world_run(struct world *w)
{
	const struct event *ev;
	struct event now;
	u64 n = 0;

	fate_start(w);
	work_start(w);
	while (w->phase != PHASE_DONE && !w->why[0]) {
		ev = wheel_peek(&w->wheel);
		if (!ev) {
			violation(w, &w->ends[0], "no end, and nothing more happens");
			break;
		}
		now = *ev;
		wheel_pop(&w->wheel);
		prefetch(w);
		w->now = now.when;
		happen(w, &now);
		if (!(++n & 0xffff))
			progress_show(w);
	}
}
