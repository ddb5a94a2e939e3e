// SPDX-License-Identifier: GPL-2.0
/*
 * Nothing is lost, doubled or overtaken, and no frame takes longer than a small part of the
 * probe timeout. Whatever users do, at both ends at once, no link freezes then (G4), and whoever
 * waits in fsync() is told within a few round trips. test_random.c has fair weather, too; here
 * lines are slow or fast, each way another, windows differ, memory for them is missing at times,
 * words stay reserved for long, ends settle, and close while all that is under way.
 *
 *	OAE_CALM_SEEDS	how many runs (default 5000)
 *	OAE_CALM_FIRST	the first seed (default 1)
 *
 * The last events of a run that fails are shown.
 */
#include <time.h>
#include "unit.h"
#include "sim.h"

#define DEFAULT_SEEDS	5000
#define STALL		(2 * SIM_MS)	/* at least */
#define TRIPS		3		/* round trips until DONE */
#define SETTLING	(3 * SIM_MS)

static struct sim world;
static u64 trip;

/* Somebody waits in fsync() for this number of an end's. */
static struct {
	bool waits, waited_for, polls;
	u32 tx;
	u64 inc, since;
} sync_at[2];

static double longest;			/* until DONE, in round trips */

/* Chances of what users do, per step; the rest are posts. */
struct climate {
	unsigned int express, many_slices, most, small, swap, verb, other, cancel, read;
	unsigned int window, settle, confirm, burst;
};

static unsigned int pick(struct sim *w, const unsigned int *of, unsigned int n)
{
	return of[sim_upto(w, n)];
}

#define PICK(w, ...) \
	pick(w, (const unsigned int[]){ __VA_ARGS__ }, \
	     sizeof((unsigned int[]){ __VA_ARGS__ }) / sizeof(unsigned int))

/* True: the number is not delivered yet, and the link is the same one. */
static bool still_waits(struct sim *w, unsigned int who)
{
	const struct sim_end *e = &w->end[who];
	double trips = (double)(w->now - sync_at[who].since) / trip;

	if (!e->tag || e->link.inc != sync_at[who].inc)
		return false;
	if ((s32)(e->link.peer.rx - sync_at[who].tx) >= 0) {
		longest = trips > longest ? trips : longest;
		return false;
	}
	if (trips > TRIPS)
		sim_fail(w, "%c: no DONE of %u in %.1f round trips", 'A' + who,
			 sync_at[who].tx, trips);
	return true;
}

/* After each event: somebody calls fsync() now and then, or all the time. */
static void watch(struct sim *w)
{
	struct sim_end *e;
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		e = &w->end[i];
		if (sync_at[i].waits)
			sync_at[i].waits = still_waits(w, i);
		if (sync_at[i].polls)
			sim_happens(e, NULL, oae_link_confirm);
		if (sync_at[i].waits || !sync_at[i].waited_for || !e->tag ||
		    oae_link_all_confirmed(&e->link) || !sim_chance(w, 100))
			continue;
		sim_happens(e, "confirm", oae_link_confirm);
		sync_at[i].waits = true;
		sync_at[i].tx = e->link.tx;
		sync_at[i].inc = e->link.inc;
		sync_at[i].since = w->now;
	}
	if (w->notes[OAE_N_STALL] || w->notes[OAE_N_PEER_FROZE] || w->notes[OAE_N_CUT] ||
	    w->notes[OAE_N_DOWN] || w->notes[OAE_N_RESOLVED])
		sim_fail(w, "G4: nothing was lost, but the link failed");
}

static void run(struct sim *w, u64 until)
{
	w->steps = 0;
	while (!w->why[0] && sim_next_event(w) <= until) {
		sim_event(w);
		watch(w);
	}
	if (w->now < until)
		w->now = until;
	watch(w);
}

static void read_some(struct sim *w, struct sim_end *e)
{
	unsigned int n = 1 + sim_upto(w, 3);

	while (n--)
		sim_read(e);
}

static u32 one_frame(struct sim *w)
{
	u32 max = sim_chance(w, 800) ? OAE_MIN_MTU : SIM_MTU;

	return 8 + sim_upto(w, max - OAE_HDR_LEN - 7);
}

static void a_post(struct sim *w, struct sim_end *e, const struct climate *c)
{
	u32 cut = 8 + sim_upto(w, PICK(w, 17, SIM_MTU - OAE_HDR_LEN - 7));
	u32 n = 1 + sim_upto(w, sim_chance(w, c->many_slices) ? c->most : 3);
	u32 len = cut * (n - 1) + 1 + sim_upto(w, cut);
	u8 flags = sim_chance(w, c->confirm) ? OAE_POST_CONFIRM : 0;

	if (sim_chance(w, c->swap)) {
		sim_post(e, one_frame(w), 0, OAE_SWAP, flags);
		return;
	}
	if (sim_chance(w, c->verb)) {
		sim_post(e, one_frame(w), 0, OAE_VERB, flags);
		return;
	}
	if (sim_chance(w, c->small))
		len = 8 + sim_upto(w, 24);
	if (sim_chance(w, c->express))
		flags |= OAE_POST_EXPRESS;
	sim_post(e, len < 8 ? 8 : len, cut, OAE_MESSAGE, flags);
}

static void a_cancel(struct sim *w, struct sim_end *e)
{
	unsigned int i, n;

	/* One of the last: the others have ended. */
	for (n = 30, i = w->ntx; i-- && n; n--) {
		if (w->tx[i].from == e->who && !w->tx[i].ended && sim_chance(w, 400)) {
			sim_cancel(e, &w->tx[i]);
			return;
		}
	}
}

static void settle(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_link_settle(l, now + SETTLING, now, a);
}

static void act(struct sim *w, const struct climate *c)
{
	struct sim_end *e = &w->end[sim_upto(w, 2)];

	if (sim_chance(w, c->cancel))
		a_cancel(w, e);
	else if (sim_chance(w, c->read))
		read_some(w, e);
	else if (sim_chance(w, c->other))
		sim_other(e, sim_upto(w, 2 * SIM_WORDS));
	else if (sim_chance(w, c->window))
		sim_window(e, PICK(w, 1, 2, 3, 8));
	else if (sim_chance(w, c->settle))
		sim_happens(e, "settle", settle);
	else if (sim_chance(w, c->settle))
		sim_happens(e, "go on", oae_link_go_on);
	else
		a_post(w, e, c);
}

static u64 a_while(struct sim *w, const struct climate *c)
{
	if (sim_chance(w, c->burst))
		return 0;
	if (sim_chance(w, 700))
		return sim_rand(w) % (100 * SIM_US);
	return sim_rand(w) % (sim_chance(w, 900) ? 3 * SIM_MS : 60 * SIM_MS);
}

static void draw_climate(struct sim *w, struct climate *c)
{
	c->express = PICK(w, 0, 0, 100, 512);
	c->many_slices = PICK(w, 0, 100, 400, 1024);
	c->most = PICK(w, 4, 16, 64);
	c->small = PICK(w, 0, 512, 1000);
	c->swap = PICK(w, 0, 0, 100, 300);
	c->verb = PICK(w, 0, 0, 100, 500);
	c->other = PICK(w, 0, 0, 50, 200);
	c->cancel = PICK(w, 0, 50, 200, 400);
	c->read = PICK(w, 50, 300, 500);
	c->window = PICK(w, 0, 0, 100);
	c->settle = PICK(w, 0, 0, 0, 50);
	c->confirm = PICK(w, 0, 200, 1024);
	c->burst = PICK(w, 200, 700, 1000);
	w->refusals = PICK(w, 0, 0, 100);
	w->wild = sim_chance(w, 512);
}

static void draw_ends(struct sim *w)
{
	unsigned int i;
	u64 most = 0;

	w->rich = true;
	for (i = 0; i < 2; i++) {
		struct sim_end *e = &w->end[i];
		struct sim_faults *x = &w->faults[i];

		x->delay = PICK(w, 1, 5, 20, 40) * SIM_US;
		/* Some are slower than others; all that there may be takes less than STALL / 8. */
		x->frame = PICK(w, 0, 0, 30, 300);
		x->queue = STALL;
		most = x->delay > most ? x->delay : most;
		e->rcvbuf = PICK(w, 1, 1, 2, 8, 64);
		e->cfg.max_len = PICK(w, 600, 4000, SIM_MAX_LEN);
		e->cfg.window = PICK(w, 1, 1, 2, 3, 8, 8);
		e->cfg.pack = PICK(w, 0, 1);
		e->cfg.stall_min = STALL;
		e->cfg.keepalive = PICK(w, 10, 100) * SIM_MS;
		memset(&sync_at[i], 0, sizeof(sync_at[i]));
		sync_at[i].waited_for = sim_upto(w, 2);
		sync_at[i].polls = !sim_upto(w, 3);
	}
	trip = 2 * (most + SIM_WIRE * 300);
}

/*
 * One end closes, or both do, and readers read: soon there is no link. Before, something may
 * have waited long for a reader.
 */
static void close_busy(struct sim *w, const struct climate *c)
{
	unsigned int first = sim_upto(w, 2), i;
	u64 until;

	for (i = 0; i < 8 && sim_upto(w, 4); i++)
		a_post(w, &w->end[!first], c);
	run(w, w->now + sim_rand(w) % (60 * SIM_MS));
	until = w->now + 200 * SIM_MS;
	sim_close(&w->end[first]);
	if (!sim_upto(w, 4)) {
		run(w, w->now + sim_rand(w) % (50 * SIM_US));
		sim_close(&w->end[!first]);
	}
	while (!w->why[0] && (w->end[A].tag || w->end[B].tag)) {
		run(w, w->now + 100 * SIM_US);
		if (!sim_upto(w, 8)) {
			sim_read(&w->end[A]);
			sim_read(&w->end[B]);
		}
		if (w->now > until)
			sim_fail(w, "closed, and not gone");
	}
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	struct climate c;
	unsigned int i, steps;

	sim_init(w, seed);
	w->trace = trace;
	steps = 10 + sim_upto(w, 150);
	draw_climate(w, &c);
	draw_ends(w);
	/* Two that open at once may meet in two runs first. */
	sim_post(&w->end[sim_upto(w, 2)], 20, 20, OAE_MESSAGE, 0);
	run(w, w->now + 5 * SIM_MS);
	for (i = 0; i < steps && !w->why[0] && !w->fell; i++) {
		act(w, &c);
		run(w, w->now + a_while(w, &c));
	}
	if (!w->fell && sim_upto(w, 2)) {
		close_busy(w, &c);
		return;
	}
	/* An fsync() that waits is told, though nobody does anything any more. */
	run(w, w->now + (TRIPS + 1) * trip);
	for (i = 0; i < 2; i++) {
		sync_at[i].waits = false;
		sync_at[i].waited_for = false;
	}
	sim_calm(w);
	sim_settle(w, "in the calm");
	watch(w);
	if (!w->why[0])
		sim_prove_open(w);
}

TEST(test_calm)
{
	u64 seeds = sim_env("OAE_CALM_SEEDS", DEFAULT_SEEDS), seed;
	u64 first = sim_env("OAE_CALM_FIRST", 1);
	unsigned long frames = 0, refused = 0, fell = 0;
	clock_t began = clock();

	for (seed = first; seed < first + seeds; seed++) {
		one_run(&world, seed, false);
		frames += world.frames;
		refused += world.notes[OAE_N_REFUSED];
		/* The wire of the simulation was full: a loss after all. */
		fell += !!world.fell;
		if (!world.why[0] || world.fell)
			continue;
		one_run(&world, seed, true);
		sim_print_trace(&world, stderr);
		fail_msg("seed %llu: %s", (unsigned long long)seed, world.why);
	}
	printf("%llu seeds: %lu frames, %lu refused, %lu runs with too many at once; DONE after at most %.1f round trips, %.1f s\n",
	       (unsigned long long)seeds, frames, refused, fell, longest,
	       (double)(clock() - began) / CLOCKS_PER_SEC);
	assert_true(fell < seeds / 4 + 1);
}

UNIT_MAIN("calm")
