// SPDX-License-Identifier: GPL-2.0
/*
 * What users do. A workload is a line in the table: how it begins, what happens
 * at the time of a KIND_POST event, and whether an end keeps its window full.
 */
#include "sim.h"

struct workload {
	const char *name;
	void (*start)(struct world *w);
	void (*event)(struct world *w, u32 end);
};

static bool more_wanted(const struct world *w)
{
	return w->phase == PHASE_WORK &&
	       (!w->cfg->transactions || w->n.posted < w->cfg->transactions);
}

static void post_later(struct world *w, u32 end, u64 at)
{
	wheel_put(&w->wheel, at, EVENT_REF(KIND_POST, 0), end);
}

/* A half and a verb are one frame, and so is what answers a half. */
static void one_frame(const struct world *w, struct tx *tx, u8 kind)
{
	u32 max = w->cfg->mtu - OAE_HDR_LEN - OAE_REFLECT_LEN;

	tx->kind = kind;
	if (tx->len > max)
		tx->len = max;
	tx->cut = tx->len;
}

/* A user posts one; false: all have been posted, or the queue is full. */
static bool post(struct world *w, struct end *e)
{
	const struct config *c = w->cfg;
	struct rng *r = &w->work_rng;
	struct tx *tx;
	u64 id;

	if (!more_wanted(w))
		return false;
	tx = tx_new(w, e);
	id = tx->id;
	tx->len = c->size_min + rng_below(r, c->size_max - c->size_min + 1);
	tx->cut = c->slice;
	if (rng_chance(r, c->swap))
		one_frame(w, tx, OAE_SWAP);
	else if (rng_chance(r, c->verb))
		one_frame(w, tx, OAE_VERB);
	else if (rng_chance(r, c->express))
		tx->flags |= OAE_POST_EXPRESS;
	if (rng_chance(r, c->confirm))
		tx->flags |= OAE_POST_CONFIRM;
	if (!end_enqueue(w, e, tx)) {
		w->n.turned_away++;
		return false;
	}
	w->n.posted++;
	w->under_way++;
	if (rng_chance(r, c->cancel))
		wheel_put(&w->wheel, w->now + rng_below(r, c->patience),
			  EVENT_REF(KIND_CANCEL, TX_INDEX(id)),
			  (u32)TX_SERIAL(id));
	if (!more_wanted(w))
		wheel_put(&w->wheel, w->now, EVENT_REF(KIND_STOP, 0), 0);
	return true;
}

/* --- neighbours: so many under way at each end, always ------------------- */

static void neighbours_start(struct world *w)
{
	u64 ramp = 10 * w->cfg->latency_max + 1;
	u32 i, j;

	if (!w->cfg->think)
		w->refill = w->cfg->window;
	for (i = 0; i < w->nends; i++)
		for (j = 0; j < (w->refill ? 1 : w->cfg->window); j++)
			post_later(w, i, w->now + rng_below(&w->work_rng, ramp));
}

static void neighbours_event(struct world *w, u32 end)
{
	struct end *e = &w->ends[end];

	if (!e->alive)
		return;
	if (!w->refill && e->under_way < w->cfg->window)
		post(w, e);
	end_run(w, e);
}

/* --- pairs, bursts: at random times at a random end ---------------------- */

static void next_random(struct world *w)
{
	w->post_at += rng_interval(&w->work_rng, w->post_mean);
	post_later(w, 0, w->post_at >> 20);
}

static void random_start(struct world *w)
{
	const struct config *c = w->cfg;
	u64 at_once = c->work == WORK_BURSTS ? c->burst : 1;

	w->post_mean = (__uint128_t)(NS_S << 20) * at_once / c->rate /
		       w->nends;
	w->post_at = w->now << 20;
	next_random(w);
}

static void random_event(struct world *w, u32 end)
{
	u32 n = w->cfg->work == WORK_BURSTS ? w->cfg->burst : 1;
	struct end *e;

	(void)end;
	if (!more_wanted(w))
		return;
	e = &w->ends[rng_below(&w->work_rng, w->nends)];
	if (e->alive) {
		while (n-- && post(w, e))
			;
		end_run(w, e);
	}
	next_random(w);
}

static const struct workload workloads[] = {
	[WORK_NEIGHBOURS] = { "neighbours", neighbours_start, neighbours_event },
	[WORK_PAIRS] = { "pairs", random_start, random_event },
	[WORK_BURSTS] = { "bursts", random_start, random_event },
};

/**
 * work_name() - the name of a workload
 * @kind: which
 *
 * Return: the name, as --workload takes it.
 */
const char *work_name(enum work_kind kind)
{
	return workloads[kind].name;
}

/**
 * work_start() - users begin
 * @w: the world
 */
void work_start(struct world *w)
{
	workloads[w->cfg->work].start(w);
	if (w->cfg->time)
		wheel_put(&w->wheel, w->now + w->cfg->time,
			  EVENT_REF(KIND_STOP, 0), 0);
}

/**
 * work_event() - the time of a KIND_POST has come
 * @w: the world
 * @end: what it was scheduled with
 */
void work_event(struct world *w, u32 end)
{
	if (w->phase == PHASE_WORK)
		workloads[w->cfg->work].event(w, end);
}

/**
 * work_more() - an end has fewer under way than @w->refill
 * @w: the world
 * @e: the end; it is given to the link by the caller
 */
void work_more(struct world *w, struct end *e)
{
	while (e->under_way < w->refill && post(w, e))
		;
}

/**
 * work_ended() - a transaction has ended, one way or the other
 * @w: the world
 * @e: the end it was posted at
 */
void work_ended(struct world *w, struct end *e)
{
	if (w->cfg->think && w->cfg->work == WORK_NEIGHBOURS)
		post_later(w, end_index(w, e),
			   w->now + rng_interval(&w->work_rng, w->cfg->think));
}

/**
 * work_revived() - a node is back, and its users with it
 * @w: the world
 * @e: one of its ends
 */
void work_revived(struct world *w, struct end *e)
{
	u32 i;

	if (w->cfg->work != WORK_NEIGHBOURS)
		return;
	for (i = 0; i < (w->refill ? 1 : w->cfg->window); i++)
		post_later(w, end_index(w, e), w->now);
}

/**
 * work_prove() - one from each end of each link, which must be committed
 * @w: the world, settled
 *
 * An end may not know yet that its peer died. An express would then end UNKNOWN,
 * and rightly: so the first round is not.
 */
void work_prove(struct world *w)
{
	struct tx *tx;
	u32 i;

	for (i = 0; i < w->nends && !w->why[0]; i++) {
		tx = tx_new(w, &w->ends[i]);
		tx->len = w->cfg->size_min;
		tx->cut = w->cfg->slice;
		tx->flags = w->phase == PHASE_EXPRESS ? OAE_POST_EXPRESS : 0;
		if (w->phase == PHASE_SWAP)
			one_frame(w, tx, OAE_SWAP);
		if (w->phase == PHASE_VERB)
			one_frame(w, tx, OAE_VERB);
		tx->proof = true;
		w->to_prove++;
		w->n.posted++;
		w->under_way++;
		if (!end_enqueue(w, &w->ends[i], tx))
			violation(w, &w->ends[i], "settled, and the queue is full");
		end_run(w, &w->ends[i]);
	}
}
