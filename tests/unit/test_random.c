// SPDX-License-Identifier: GPL-2.0
/*
 * Random schedules: both ends' users, the wire, clocks and crashes by dice.
 * Then the faults stop, and the links must find back and settle everything.
 *
 *	OAE_SIM_SEEDS	how many runs (default 20000)
 *	OAE_SIM_FIRST	the first seed (default 1)
 *	OAE_SIM_FAILURES	stop after so many that fail (default 1)
 *	OAE_SIM_TRACE	show the last events of every run, not of failing ones
 *
 * A failing seed is run again with its trace on, which is then shown.
 */
#include <time.h>
#include "unit.h"
#include "sim.h"

#define DEFAULT_SEEDS	20000
#define SLOW		(20 * SIM_MS)	/* the longest way of a late frame */

static struct sim world;
static u64 seed_now;

/* Chances of what users and fate do, per step; the rest are posts. */
struct climate {
	unsigned int express, many_slices, small, swap, verb, other, burst, pause;
	unsigned int cancel, read, crash, kill, close, shut, port, mtu, window, early;
	unsigned int steps;
};

static unsigned int pick(struct sim *w, const unsigned int *of, unsigned int n)
{
	return of[sim_upto(w, n)];
}

#define PICK(w, ...) \
	pick(w, (const unsigned int[]){ __VA_ARGS__ }, \
	     sizeof((unsigned int[]){ __VA_ARGS__ }) / sizeof(unsigned int))

/* One seed in eight has no faults at all: then nothing may wait for a timer. */
static bool fair_weather(u64 seed)
{
	return seed % 8 == 0;
}

/* Somebody waits in fsync() at each end all the time: the shell asks at each event. */
static bool is_waited_for(u64 seed)
{
	return seed / 8 % 3 == 0;
}

static void run_waited_for(struct sim *w, u64 until)
{
	unsigned int i;

	while (!w->why[0] && sim_next_event(w) <= until) {
		sim_event(w);
		for (i = 0; i < 2; i++)
			sim_happens(&w->end[i], NULL, oae_link_confirm);
	}
}

static void draw_faults(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct sim_faults *x = &w->faults[i];

		/* Often only one way, or only one kind, is bad. */
		x->lose = PICK(w, 0, 0, 10, 50, 200, 400);
		x->dup = PICK(w, 0, 0, 50, 300);
		x->flip = PICK(w, 0, 0, 20, 100);
		x->late = PICK(w, 0, 0, 10, 100);
		x->delay = PICK(w, 1, 10, 10, 200) * SIM_US;
		x->jitter = PICK(w, 0, 0, 20, 300, 3000) * SIM_US;
		x->very_late = SLOW;
		w->end[i].clock_back = PICK(w, 0, 0, 10, 10000) * SIM_US;
	}
}

static void draw_climate(struct sim *w, struct climate *c)
{
	unsigned int i;

	c->steps = 10 + sim_upto(w, 60);
	c->express = PICK(w, 0, 300, 512, 1024);
	c->many_slices = PICK(w, 0, 50, 300);
	c->small = PICK(w, 0, 512, 1000);
	c->swap = PICK(w, 0, 100, 300, 1024);
	c->verb = PICK(w, 0, 100, 300, 1024);
	c->other = PICK(w, 0, 0, 50, 200);
	w->refusals = PICK(w, 0, 0, 100);
	c->burst = PICK(w, 100, 512, 800);
	c->pause = PICK(w, 5, 20, 100);
	c->cancel = PICK(w, 0, 50, 300);
	c->read = PICK(w, 100, 300, 500);
	c->crash = PICK(w, 0, 0, 10, 50);
	c->kill = PICK(w, 0, 0, 0, 30);
	c->close = PICK(w, 0, 0, 10, 50);
	c->shut = PICK(w, 0, 0, 0, 20);
	c->port = PICK(w, 0, 0, 0, 50);
	c->mtu = PICK(w, 0, 0, 0, 50);
	c->window = PICK(w, 0, 0, 20, 100);
	c->early = PICK(w, 0, 0, 20);
	w->wild = sim_chance(w, 512);
	for (i = 0; i < 2; i++) {
		struct sim_end *e = &w->end[i];

		e->rcvbuf = PICK(w, 1, 1, 2, 8);
		e->mtu = PICK(w, OAE_MIN_MTU, 200, SIM_MTU);
		e->cfg.max_len = PICK(w, 600, 4000, SIM_MAX_LEN);
		e->cfg.window = PICK(w, 1, 1, 2, 3, 8);
		e->cfg.pack = PICK(w, 0, 1, 1, 1);
		e->cfg.stall_min = PICK(w, 1, 1, 5) * SIM_MS;
		e->cfg.keepalive = PICK(w, 30, 100) * SIM_MS;
		e->cfg.dead = PICK(w, 120, 500) * SIM_MS;
	}
}

/* Most fit; the longest fit nowhere. */
static u32 one_frame(struct sim *w)
{
	u32 max = sim_chance(w, 800) ? OAE_MIN_MTU : SIM_MTU;

	return 8 + sim_upto(w, max - OAE_HDR_LEN - 7);
}

static void a_post(struct sim *w, struct sim_end *e, const struct climate *c)
{
	u32 max = e->mtu - OAE_HDR_LEN;
	u32 cut = 8 + sim_upto(w, max - 7);
	u32 n = sim_chance(w, c->many_slices) ? 1 + sim_upto(w, 64) :
						1 + sim_upto(w, 3);
	u32 len = cut * (n - 1) + 1 + sim_upto(w, cut);
	u8 flags = sim_chance(w, 100) ? OAE_POST_CONFIRM : 0;

	if (sim_chance(w, c->swap)) {
		sim_post(e, one_frame(w), 0, OAE_SWAP, flags);
		return;
	}
	if (sim_chance(w, c->verb)) {
		/* Small ones may be joined. */
		sim_post(e, sim_chance(w, c->small) ? 8 + sim_upto(w, 24) : one_frame(w),
			 0, OAE_VERB, flags);
		return;
	}
	/* Small ones may be packed. */
	if (sim_chance(w, c->small))
		len = 8 + sim_upto(w, 24);
	if (len < 8)
		len = 8;
	if (sim_chance(w, c->express))
		flags |= OAE_POST_EXPRESS;
	sim_post(e, len, cut, OAE_MESSAGE, flags);
}

static void a_cancel(struct sim *w, struct sim_end *e)
{
	unsigned int i, n;

	/* One of the last few: the others have ended. */
	for (n = 8, i = w->ntx; i-- && n; n--) {
		if (w->tx[i].from == e->who && !w->tx[i].ended &&
		    !w->tx[i].lost && sim_chance(w, 512)) {
			sim_cancel(e, &w->tx[i]);
			return;
		}
	}
}

/* Its knob `shutdown`: close or cut all, and turn strangers away. */
static void a_shutdown(struct sim *w, struct sim_end *e)
{
	e->shut = !e->shut;
	sim_say(w, "%c: %s", 'A' + e->who, e->shut ? "shut" : "not shut");
	if (e->shut && sim_upto(w, 2))
		sim_close(e);
	else if (e->shut)
		sim_kill(e);
}

static void act(struct sim *w, const struct climate *c)
{
	struct sim_end *e = &w->end[sim_upto(w, 2)];

	if (sim_chance(w, c->cancel))
		a_cancel(w, e);
	else if (sim_chance(w, c->read))
		sim_read(e);
	else if (sim_chance(w, c->crash))
		sim_crash(e);
	else if (sim_chance(w, c->kill))
		sim_kill(e);
	else if (sim_chance(w, c->close))
		sim_close(e);
	else if (sim_chance(w, c->shut))
		a_shutdown(w, e);
	else if (sim_chance(w, c->port))
		sim_port(e, !e->port_up);
	else if (sim_chance(w, c->mtu))
		sim_mtu(e, PICK(w, OAE_MIN_MTU, 200, SIM_MTU));
	else if (sim_chance(w, c->window))
		sim_window(e, PICK(w, 1, 2, 3, 8));
	else if (sim_chance(w, c->early))
		sim_timer(e);
	else if (sim_chance(w, c->other))
		sim_other(e, sim_upto(w, 2 * SIM_WORDS));
	else
		a_post(w, e, c);
}

static u64 a_while(struct sim *w, const struct climate *c)
{
	if (sim_chance(w, c->burst))
		return 0;
	if (sim_chance(w, c->pause))
		return sim_rand(w) % (700 * SIM_MS);
	return sim_rand(w) % (sim_chance(w, 512) ? 100 * SIM_US : 5 * SIM_MS);
}

static void fair_weather_check(struct sim *w)
{
	if (w->notes[OAE_N_STALL] || w->notes[OAE_N_PEER_FROZE] ||
	    w->notes[OAE_N_DOWN] || w->notes[OAE_N_RESOLVED])
		sim_fail(w, "G4: no faults, but the link failed");
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	struct climate c;
	unsigned int i;
	u64 until;

	seed_now = seed;
	sim_init(w, seed);
	w->trace = trace;
	draw_climate(w, &c);
	if (fair_weather(seed)) {
		c.crash = c.kill = c.port = c.mtu = c.close = c.shut = 0;
		c.early = 0;
	} else {
		draw_faults(w);
	}

	for (i = 0; i < c.steps && !w->why[0]; i++) {
		act(w, &c);
		until = w->now + a_while(w, &c);
		if (is_waited_for(seed))
			run_waited_for(w, until);
		sim_run(w, until);
		/* The weather changes. */
		if (!fair_weather(seed) && sim_chance(w, 30))
			draw_faults(w);
	}

	sim_calm(w);
	sim_settle(w, "after the faults");
	sim_run(w, w->now + SLOW);
	sim_settle(w, "after the last late frame");
	if (fair_weather(seed) && !w->why[0])
		fair_weather_check(w);
	if (!w->why[0])
		sim_prove_open(w);
}

/* A sanitizer, if there is one, ends the program: say at least where. */
void __sanitizer_set_death_callback(void (*cb)(void)) __attribute__((weak));

static void say_seed(void)
{
	fprintf(stderr, "in seed %llu\n", (unsigned long long)seed_now);
}

/* The dice are good for nothing if something never happens. */
static void everything_happened(const unsigned long *notes)
{
	unsigned int i;

	for (i = 0; i < OAE_NOTE_END; i++) {
		switch (i) {
		case OAE_N_WORN:	/* rare */
		case OAE_N_IMPOSSIBLE:	/* never, between honest ends */
		case OAE_N_NOT_GRANTED:
		case OAE_N_BROKEN:
		case OAE_N_MISMATCH:
		case OAE_N_BAD_SLICE:
		case OAE_N_IDLE_HELLO:	/* no gateway here */
		case OAE_N_PATH_LOSSY:	/* a note of the shell */
			continue;
		}
		if (!notes[i])
			fail_msg("no run had: %s", oae_note_name(i));
	}
}

TEST(test_seeds)
{
	u64 seeds = sim_env("OAE_SIM_SEEDS", DEFAULT_SEEDS);
	u64 first = sim_env("OAE_SIM_FIRST", 1);
	bool trace = sim_env("OAE_SIM_TRACE", 0);
	unsigned long notes[OAE_NOTE_END] = { 0 };
	unsigned long frames = 0, events = 0, delivered = 0;
	unsigned long swaps = 0, verbs = 0, packs = 0, joined = 0;
	unsigned int max_ops = 0, max_sends = 0;
	unsigned long outcomes[OAE_OUTCOME_END] = { 0 };
	unsigned int i, failed = 0;
	clock_t began = clock();
	u64 seed;

	for (seed = first; seed < first + seeds; seed++) {
		one_run(&world, seed, trace);
		if (world.why[0] && !trace)
			one_run(&world, seed, true);
		if (world.why[0] || trace) {
			sim_print_trace(&world, stderr);
			fprintf(stderr, "seed %llu: %s\n\n",
				(unsigned long long)seed,
				world.why[0] ? world.why : "good");
		}
		failed += !!world.why[0];
		if (failed == sim_env("OAE_SIM_FAILURES", 1))
			break;
		frames += world.frames;
		events += world.events;
		delivered += world.delivered;
		swaps += world.swaps;
		verbs += world.verbs;
		packs += world.packs;
		joined += world.joined;
		if (max_ops < world.max_ops)
			max_ops = world.max_ops;
		if (max_sends < world.max_sends)
			max_sends = world.max_sends;
		for (i = 0; i < OAE_NOTE_END; i++)
			notes[i] += world.notes[i];
		for (i = 0; i < OAE_OUTCOME_END; i++)
			outcomes[i] += world.outcomes[i];
	}

	printf("%llu seeds from %llu: %lu frames sent, %lu arrived, %lu delivered, %lu committed, %lu reversed, %lu unknown, %.1f s\n",
	       (unsigned long long)(seed - first), (unsigned long long)first,
	       frames, events, delivered, outcomes[OAE_COMMITTED],
	       outcomes[OAE_REVERSED], outcomes[OAE_UNKNOWN],
	       (double)(clock() - began) / CLOCKS_PER_SEC);
	for (i = 0; i < OAE_NOTE_END; i++)
		printf("%s%s %lu", i ? ", " : "", oae_note_name(i), notes[i]);
	printf("\n%lu swaps, %lu verbs, %lu packs, %lu joined; at most %u ops and %u sends of one event\n",
	       swaps, verbs, packs, joined, max_ops, max_sends);
	assert_int_equal(failed, 0);
	if (seeds < DEFAULT_SEEDS)
		return;
	everything_happened(notes);
	assert_true(packs && joined);
}

int main(void)
{
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_seed);
	return UNIT_RUN("random schedules");
}
