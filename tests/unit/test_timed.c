// SPDX-License-Identifier: GPL-2.0
/*
 * Time: two links over lines of all sorts, with the module's own defaults.
 *
 *	ROUND TRIP   1 us to 2 s
 *	WEATHER      jitter; a line of 10 Mbit/s behind a queue of 1000 frames that
 *	             others keep full; frames beyond a length vanish; clocks that
 *	             step back by 10 ms; loss; all at once
 *	USERS        each end has always one message or verb under way and one half,
 *	             of any length; now and then it takes one back; then it closes
 *	             while the other has more to send
 *
 * Every transaction must end, soon, and rightly: tests/harness watches G1 to G3, and
 * what is reversed must have a reason that is so. Soon is counted in round trips,
 * and the longest time to an outcome is printed.
 *
 *	OAE_TIMED_SEEDS	how many runs of each round trip and weather (default 60)
 *	OAE_TIMED_RUN	only this one, with its last events
 */
#include <time.h>
#include "unit.h"
#include "sim.h"

#define SIM_S		(1000 * SIM_MS)
#define DEFAULT_SEEDS	60
#define POSTS		8		/* of each end, and as many halves */
#define SOON		60		/* round trips until an outcome */
#define NOT_SO_SOON	900		/* it may be too long for the path, or lost, or wait
					 * behind a half for each that is too long there
					 */

static const u64 round_trips[] = {
	1 * SIM_US, 10 * SIM_US, 100 * SIM_US, 1 * SIM_MS, 10 * SIM_MS,
	100 * SIM_MS, 199 * SIM_MS, 205 * SIM_MS, 300 * SIM_MS, 500 * SIM_MS,
	1 * SIM_S, 2 * SIM_S,
};

enum weather {
	CALM, JITTER, QUEUE, HOLE, CLOCKS, LOSS, MUCH_LOSS, EVERYTHING,
	WEATHER_END
};

static const char *const weather_names[WEATHER_END] = {
	"calm", "jitter", "queue", "hole", "clocks", "loss", "much loss",
	"everything",
};

/* One run. */
static struct sim world;
static u64 round_trip;		/* with all that the weather adds */
static bool lossy, cancels, bad;
static unsigned int hole;
static struct sim_tx *now_at[2], *half_at[2];
static u64 cancel_at[2];
static unsigned int posted[2], halves[2];

/* The slowest of all runs. */
static struct {
	double trips;
	u64 took, rtt;
	enum weather weather;
	u64 seed;
} slowest[WEATHER_END];

static unsigned int one_of(struct sim *w, const unsigned int *of, unsigned int n)
{
	return of[sim_upto(w, n)];
}

#define ONE_OF(w, ...) \
	one_of(w, (const unsigned int[]){ __VA_ARGS__ }, \
	       sizeof((unsigned int[]){ __VA_ARGS__ }) / sizeof(unsigned int))

static bool has(enum weather weather, enum weather what)
{
	return weather == what || weather == EVERYTHING;
}

static void draw_weather(struct sim *w, u64 rtt, enum weather weather)
{
	bool narrow = has(weather, HOLE) && (weather == HOLE || sim_upto(w, 2));
	bool slow = weather == QUEUE || (weather == EVERYTHING && sim_upto(w, 2));
	unsigned int i, full = ONE_OF(w, 0, 500, 1100);

	hole = narrow ? ONE_OF(w, 128, 150, 200, 255) : 0;
	lossy = has(weather, LOSS) || weather == MUCH_LOSS;
	bad = hole || weather == MUCH_LOSS || weather == EVERYTHING;
	round_trip = rtt;
	for (i = 0; i < 2; i++) {
		struct sim_faults *x = &w->faults[i];
		struct sim_end *e = &w->end[i];

		e->cfg.stall_min = 1 * SIM_MS;
		e->cfg.stall_max = 200 * SIM_MS;
		e->cfg.keepalive = 1 * SIM_S;
		e->cfg.dead = 5 * SIM_S;
		e->clock_back = has(weather, CLOCKS) ?
				ONE_OF(w, 1, 100, 10000) * SIM_US : 0;
		x->delay = rtt / 2;
		x->hole = hole;
		if (has(weather, JITTER))
			x->jitter = rtt / 2;
		if (has(weather, LOSS))
			x->lose = 20;
		if (weather == MUCH_LOSS)
			x->lose = 200;
		if (slow) {
			x->frame = 1200 * SIM_US;
			x->queue = 1200 * SIM_MS;
			x->load = full * SIM_MS;
			lossy = true;		/* what the queue has no room for */
			round_trip += x->load + OAE_MAX_SLICES * x->frame;
		}
		round_trip += x->jitter;
	}
	/* A knob for lines as long as that: no answer may take longer. */
	if (w->end[A].cfg.dead < 3 * round_trip) {
		w->end[A].cfg.dead = 3 * round_trip;
		w->end[B].cfg.dead = 3 * round_trip;
	}
}

/* Of any length that a port carries. */
static u32 one_frame(struct sim *w, u32 most)
{
	return 8 + sim_upto(w, most - OAE_HDR_LEN - 7);
}

static struct sim_tx *a_post(struct sim *w, struct sim_end *e)
{
	u32 cut = SIM_MTU - OAE_HDR_LEN, len;
	u8 flags = sim_chance(w, 256) ? OAE_POST_EXPRESS :
		   sim_chance(w, 256) ? OAE_POST_CONFIRM : 0;

	if (sim_chance(w, 200))
		return sim_post(e, one_frame(w, SIM_MTU), 0, OAE_VERB, 0);
	len = sim_chance(w, 512) ? 8 + sim_upto(w, SIM_MAX_LEN - 7) :
				   8 + sim_upto(w, 300);
	if (e->tag)
		cut = oae_link_cut(&e->link, OAE_MESSAGE, len);
	return sim_post(e, len, cut, OAE_MESSAGE, flags);
}

static bool under_way(const struct sim_tx *tx)
{
	return tx && !tx->ended;
}

/* Whoever has nothing under way posts the next. */
static void users(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		struct sim_end *e = &w->end[i];

		while (e->unread)
			sim_read(e);
		if (!under_way(now_at[i]) && posted[i] < POSTS) {
			posted[i]++;
			now_at[i] = a_post(w, e);
			cancel_at[i] = cancels && sim_chance(w, 300) ?
				w->now + sim_rand(w) % (3 * round_trip) : ~0ULL;
		}
		if (!under_way(half_at[i]) && halves[i] < POSTS / 2) {
			halves[i]++;
			half_at[i] = sim_post(e, one_frame(w, 200), 0, OAE_SWAP,
					      0);
		}
		if (w->now >= cancel_at[i]) {
			cancel_at[i] = ~0ULL;
			sim_cancel(e, now_at[i]);
		}
	}
}

static bool is_late(const struct sim *w, u64 since)
{
	u64 unit = round_trip > SIM_MS ? round_trip : SIM_MS;

	/* A half that found none waits for the keepalive time. */
	if (bad) {
		/* What is too long for the path is so after the dead time. */
		return w->now > since + NOT_SO_SOON * unit + 20 * SIM_S +
				3 * w->end[A].cfg.dead;
	}
	return w->now > since + SOON * unit + 3 * SIM_S;
}

/* Nobody is left waiting for longer than that. */
static void watch(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (under_way(now_at[i]) && is_late(w, now_at[i]->posted_at))
			sim_fail(w, "#%u, of %u bytes, has no outcome after %llu ms",
				 (u32)now_at[i]->id, now_at[i]->len,
				 (w->now - now_at[i]->posted_at) / SIM_MS);
	if (under_way(half_at[A]) && under_way(half_at[B]) &&
	    is_late(w, half_at[A]->posted_at) &&
	    is_late(w, half_at[B]->posted_at))
		sim_fail(w, "two halves, and no swap");
}

/* Does it fit through the hole? The next size that is asked for is the shortest of all. */
static bool fits_hole(const struct sim_tx *tx)
{
	u32 len = tx->len;

	if (tx->kind == OAE_MESSAGE)
		len = (len + OAE_MAX_SLICES - 1) / OAE_MAX_SLICES;
	if (tx->kind == OAE_VERB && len < (u32)OAE_REFLECT_LEN + tx->reply)
		len = OAE_REFLECT_LEN + tx->reply;
	if (tx->kind == OAE_SWAP)
		len += OAE_REFLECT_LEN;
	return len + OAE_HDR_LEN <= OAE_MIN_MTU;
}

/* Is what became of it right? */
static void judge(struct sim *w, const struct sim_tx *tx, bool closed)
{
	bool ok;

	if (tx->outcome == OAE_COMMITTED)
		return;
	switch (tx->err) {
	case OAE_E_SIGNAL:
		ok = cancels || tx->kind == OAE_SWAP;
		break;
	case OAE_E_TOO_BIG:
		ok = hole && !fits_hole(tx);
		/* An answer may have been too long for its port. */
		ok |= tx->kind != OAE_MESSAGE && !hole &&
		      tx->len + OAE_HDR_LEN + OAE_REFLECT_LEN > SIM_MTU;
		break;
	case OAE_E_DOWN:
		ok = lossy;
		break;
	case OAE_E_SHUTDOWN:
	case OAE_E_PEER_CLOSED:
		ok = closed;
		break;
	default:
		ok = false;
	}
	if (!ok || tx->outcome != OAE_REVERSED)
		sim_fail(w, "#%u, of %u bytes, is %s: %s", (u32)tx->id, tx->len,
			 tx->outcome == OAE_REVERSED ? "REVERSED" : "UNKNOWN",
			 strerror(tx->err));
}

static void measure(const struct sim_tx *tx, enum weather weather, u64 seed)
{
	u64 unit = round_trip > SIM_MS ? round_trip : SIM_MS;
	u64 took = tx->ended_at - tx->posted_at;
	double trips = (double)took / unit;

	if (tx->kind == OAE_SWAP || trips <= slowest[weather].trips)
		return;
	slowest[weather].trips = trips;
	slowest[weather].took = took;
	slowest[weather].rtt = round_trip;
	slowest[weather].seed = seed;
}

static void step(struct sim *w)
{
	u64 at = sim_next_event(w);

	if (cancel_at[A] < at)
		at = cancel_at[A];
	if (cancel_at[B] < at)
		at = cancel_at[B];
	if (at == ~0ULL)
		sim_fail(w, "nothing will ever happen again");
	sim_run(w, at > w->now ? at : w->now);
	w->steps = 0;
}

/* A half that the other end has none for: its user gives up. */
static void give_up_half(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (under_way(half_at[i]) && !under_way(half_at[!i]) &&
		    halves[!i] == POSTS / 2 && !half_at[i]->lent)
			sim_cancel(&w->end[i], half_at[i]);
}

/*
 * Does an end still have the link of this incarnation? A SYNC that was late may have
 * opened another, which nobody uses; the shell closes that after a while.
 */
static bool has_link(const struct sim *w, unsigned int who, u64 inc)
{
	return w->end[who].tag && w->end[who].link.inc == inc;
}

/* An end closes while the other has more to send than will ever be taken. */
static void close_busy(struct sim *w)
{
	u64 since, inc[2] = { w->end[A].link.inc, w->end[B].link.inc };
	unsigned int i;

	cancel_at[A] = ~0ULL;
	cancel_at[B] = ~0ULL;
	for (i = 0; i < 20; i++)
		sim_post(&w->end[B], 50, 50, OAE_MESSAGE, 0);
	sim_close(&w->end[A]);
	for (since = w->now; !w->why[0] &&
	     (has_link(w, A, inc[A]) || has_link(w, B, inc[B]));) {
		while (w->end[A].unread)
			sim_read(&w->end[A]);
		step(w);
		if (is_late(w, since))
			sim_fail(w, "closed, and not gone");
	}
}

static bool busy(const struct sim *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++)
		if (!w->tx[i].ended)
			return true;
	return posted[A] < POSTS || posted[B] < POSTS;
}

static void one_run(struct sim *w, u64 seed, u64 rtt, enum weather weather,
		    bool trace)
{
	unsigned int i;

	sim_init(w, seed);
	w->trace = trace;
	w->now = SIM_S;
	for (i = 0; i < 2; i++) {
		now_at[i] = NULL;
		half_at[i] = NULL;
		cancel_at[i] = ~0ULL;
		posted[i] = 0;
		halves[i] = 0;
	}
	cancels = seed & 1;
	draw_weather(w, rtt, weather);
	do {
		users(w);
		give_up_half(w);
		step(w);
		watch(w);
	} while (!w->why[0] && busy(w));
	for (i = 0; i < w->ntx && !w->why[0]; i++) {
		judge(w, &w->tx[i], false);
		measure(&w->tx[i], weather, seed);
	}
	if (w->why[0])
		return;
	i = w->ntx;
	close_busy(w);
	for (; i < w->ntx && !w->why[0]; i++)
		judge(w, &w->tx[i], true);
}

TEST(test_time)
{
	u64 seeds = sim_env("OAE_TIMED_SEEDS", DEFAULT_SEEDS);
	u64 only = sim_env("OAE_TIMED_RUN", 0);
	const unsigned int n = sizeof(round_trips) / sizeof(round_trips[0]);
	unsigned long ended[OAE_OUTCOME_END] = { 0 }, runs = 0;
	unsigned int failed = 0, r, i;
	enum weather weather;
	clock_t began = clock();
	u64 seed, k;

	for (k = 0; k < seeds; k++) {
		for (weather = 0; weather < WEATHER_END; weather++) {
			for (r = 0; r < n; r++) {
				seed = (k * WEATHER_END + weather) * n + r + 1;
				if ((only && seed != only) || failed == 3)
					continue;
				one_run(&world, seed, round_trips[r], weather,
					false);
				runs++;
				for (i = 0; i < OAE_OUTCOME_END; i++)
					ended[i] += world.outcomes[i];
				if (!world.why[0] && !only)
					continue;
				one_run(&world, seed, round_trips[r], weather,
					true);
				failed += !!world.why[0];
				sim_print_trace(&world, stderr);
				fprintf(stderr, "seed %llu: %s (%llu us, %s)\n\n",
					(unsigned long long)seed,
					world.why[0] ? world.why : "good",
					(unsigned long long)(round_trip / SIM_US),
					weather_names[weather]);
			}
		}
	}
	printf("%lu runs: %lu committed, %lu reversed, %lu unknown, %.1f s\n",
	       runs, ended[OAE_COMMITTED], ended[OAE_REVERSED],
	       ended[OAE_UNKNOWN], (double)(clock() - began) / CLOCKS_PER_SEC);
	for (weather = 0; weather < WEATHER_END; weather++)
		printf("%-10s an outcome after at most %4.1f round trips: %9.3f ms of %8.3f (seed %llu)\n",
		       weather_names[weather], slowest[weather].trips,
		       (double)slowest[weather].took / SIM_MS,
		       (double)slowest[weather].rtt / SIM_MS,
		       (unsigned long long)slowest[weather].seed);
	assert_int_equal(failed, 0);
}

UNIT_MAIN("time")
