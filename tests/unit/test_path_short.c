// SPDX-License-Identifier: GPL-2.0
/*
 * Paths that lose long frames, and nobody says so.
 *
 *	LINES    two or three; one is good, the others often carry short frames only, or are
 *	         as in test_path_timed.c; another one is good after a while
 *	USERS    ten at each end have a message under way most of the time, most of them long
 *
 * The window is open, and there are more offers under way than one. What is cut for a good
 * line does not pass a bad one, and the link turns to the good one again: nothing is
 * reversed, and as long as a line is good something is committed at each end. tests/harness
 * watches G1 to G3. sim_path.c does what the shell does with paths.
 *
 *	OAE_SHORT_SEEDS	how many runs (default 10)
 *	OAE_SHORT_RUN	only this one, with its last events
 */
#include "unit.h"
#include "sim_path.h"

#define DEFAULT_SEEDS	10
#define PHASES		6
#define USERS		10
#define MTU		1500
#define SLICE		1400
#define LONGEST		20000
#define SHORT_FRAMES	300		/* longer ones are lost */
#define KEEPALIVE	(100 * SIM_MS)
#define DEAD		(5000 * SIM_MS)
#define SOON		(20000 * SIM_MS) /* until a commit, if a line is good */
#define KNOWN		(2 * DEAD)	/* until a good line is known to be */
#define BACK		(80 * KEEPALIVE) /* the longest wait of a path, and its probe */

static struct sim world;
static u64 least[SIM_LINES];	/* delay of a line */

bool sim_path_before(struct sim_end *e, const struct sim_pkt *p, const struct oae_frame *f)
{
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int i;

	if (!sim_path_came(e, p->by_line, 0, f))
		return false;
	/* Only the link's first frames come to no tag: by the own path. */
	if (!e->tag)
		return !p->by_line;
	i = sim_path_of(e, p->by_line, 0);
	pe->arrived = i;
	return i != OAE_PATHS_MAX;
}

/* --- the users ------------------------------------------------------------------------ */

static struct user {
	struct sim_tx *tx;
	u64 think;			/* until then it has nothing to post */
} users[2][USERS];
static bool posting;
static unsigned long longs;		/* committed, in more slices than one */

void sim_user_judge(struct sim *w, const struct sim_tx *tx)
{
	if (tx->outcome == OAE_COMMITTED)
		longs += tx->len > tx->cut;
	else
		sim_fail(w, "#%u is reversed: %s", (u32)tx->id, strerror(tx->err));
}

static void act(struct sim *w, unsigned int i, struct user *u)
{
	struct sim_end *e = &w->end[i];

	if (u->tx && (u->tx->ended || u->tx->lost)) {
		sim_user_judge(w, u->tx);
		sim_users[i].good_at = w->now;
		u->tx = NULL;
		u->think = w->now + sim_upto(w, 400) * SIM_MS;
	}
	/* The first one opens the link. */
	if (u->tx || (!posting && e->tag) || w->now < u->think || w->ntx > w->txs - 40)
		return;
	u->tx = sim_post(e, 8 + sim_upto(w, sim_upto(w, 3) ? LONGEST : 100), SLICE, OAE_MESSAGE,
			 sim_chance(w, 20) ? OAE_POST_CONFIRM : 0);
}

/* Somebody is waiting at an end, or all is well since now. */
void sim_users_act(struct sim *w)
{
	struct sim_user *any;
	unsigned int i, k;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		any = &sim_users[i];
		while (w->end[i].unread)
			sim_read(&w->end[i]);
		any->at = NULL;
		for (k = 0; k < USERS && !w->why[0]; k++) {
			act(w, i, &users[i][k]);
			any->at = any->at ?: users[i][k].tx;
		}
		if (!any->at)
			any->good_at = w->now;
	}
}

/* --- the lines ------------------------------------------------------------------------- */

void sim_line_delay(struct sim *w, unsigned int line, struct sim_faults *to)
{
	to->delay = least[line];
	to->jitter = sim_upto(w, 2) ? 0 : sim_upto(w, 60) * SIM_MS;
}

/* Nothing new is posted meanwhile. */
static void know_all(struct sim *w, u64 seed)
{
	posting = false;
	sim_users_know_all(w, KNOWN, SOON, seed);
}

static void good_phase(struct sim *w, u64 seed)
{
	unsigned int i, good = sim_upto(w, sim_nlines);

	for (i = 0; i < sim_nlines; i++)
		sim_line_weather(w, i, i == good ? SIM_FINE : sim_upto(w, 2) ? SIM_SHORT :
				 sim_upto(w, SIM_WEATHER_END), SHORT_FRAMES);
	sim_line_good(w, good);
	posting = true;
	sim_users_live(w, w->now + (200 + sim_upto(w, 30000)) * SIM_MS, SOON, seed);
}

/* Two ends, and as many lines. */
static void lines(struct sim *w, u64 seed, unsigned int n)
{
	unsigned int i;

	sim_init(w, seed);
	w->now = 1000 * SIM_MS;
	w->wire = SIM_WIRE_MAX;
	w->txs = SIM_TXS_MAX;
	sim_lines_init(n);
	for (i = 0; i < n; i++)
		sim_line_calm(w, i);
	for (i = 0; i < 2; i++) {
		w->end[i].mtu = MTU;
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = 8;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		w->end[i].cfg.max_len = 65535;
	}
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i, k;

	lines(w, seed, 2 + (seed & 1));
	w->trace = trace;
	w->vc = sim_upto(w, 8);
	memset(users, 0, sizeof(users));
	for (i = 0; i < sim_nlines; i++)
		least[i] = sim_upto(w, 2) ? 5 * SIM_US : SIM_MS * (1 + sim_upto(w, 40));
	know_all(w, seed);
	for (i = 0; i < PHASES && !w->why[0]; i++)
		good_phase(w, seed);
	if (!w->why[0])
		know_all(w, seed);
	if (w->why[0])
		return;
	sim_settle(w, "in the end");
	for (i = 0; i < 2; i++)
		for (k = 0; k < USERS; k++)
			if (users[i][k].tx && !w->why[0])
				sim_user_judge(w, users[i][k].tx);
	sim_run(w, w->now + BACK);
	w->steps = 0;
	if (!w->why[0])
		sim_prove_open(w);
}

/* --- a fast path that drops long frames ------------------------------------------------ */

static u64 over_at;	/* when both ends had gone over to line 1, 0 not yet */

/* Each end has one message of 64 KB under way after another; how long does the slowest take? */
static u64 large_ones(struct sim *w, unsigned int n)
{
	struct sim_tx *tx[2] = { NULL };
	u64 slowest = 0, until = w->now + 2 * DEAD;
	unsigned int i, k;

	for (k = 0; k < 2 * n && !w->why[0] && w->now < until;) {
		for (i = 0; i < 2; i++) {
			while (w->end[i].unread)
				sim_read(&w->end[i]);
			if (tx[i] && !tx[i]->ended)
				continue;
			if (tx[i]) {
				k++;
				if (tx[i]->outcome != OAE_COMMITTED)
					sim_fail(w, "64 KB are reversed: %s", strerror(tx[i]->err));
				if (tx[i]->ended_at - tx[i]->posted_at > slowest)
					slowest = tx[i]->ended_at - tx[i]->posted_at;
			}
			tx[i] = sim_post(&w->end[i], 65535, SLICE, OAE_MESSAGE, 0);
		}
		sim_event(w);
		if (!over_at && sim_paths[A].ps.used == 1 && sim_paths[B].ps.used == 1)
			over_at = w->now;
	}
	w->steps = 0;
	if (k < 2 * n)
		sim_fail(w, "%u of %u messages of 64 KB", k, 2 * n);
	return slowest;
}

/* Line 0 is fast, and by it long frames are lost; line 1 carries all. */
static void fast_and_short(struct sim *w, u64 seed, u64 delay, bool at_first, u64 *slowest,
			   u64 *over)
{
	unsigned int i;
	u64 since, took;

	lines(w, seed, 2);
	w->vc = 0;
	for (i = 0; i < 2; i++) {
		sim_lines[1].to[i].delay = delay;
		if (at_first)
			sim_lines[0].to[i].hole = SHORT_FRAMES;
		w->faults[i] = sim_lines[0].to[i];
	}
	if (!at_first) {
		sim_post(&w->end[A], 40, 40, OAE_MESSAGE, 0);
		sim_run(w, w->now + 30 * KEEPALIVE);
		assert_true(sim_paths_proven());
		large_ones(w, 4);
		assert_int_equal(sim_paths[A].ps.used, 0);
		assert_int_equal(sim_paths[B].ps.used, 0);
		for (i = 0; i < 2; i++)
			sim_lines[0].to[i].hole = SHORT_FRAMES;
		w->faults[A] = sim_lines[0].to[A];
		w->faults[B] = sim_lines[0].to[B];
	}
	since = w->now;
	over_at = 0;
	took = large_ones(w, 40);
	*slowest = took > *slowest ? took : *slowest;
	if (!over_at)
		sim_fail(w, "the link goes by the path that loses long frames");
	took = over_at - since;
	*over = took > *over ? took : *over;
	/* From then on nothing waits. */
	took = large_ones(w, 20);
	if (took > 20 * delay + 20 * SIM_MS)
		sim_fail(w, "a message of 64 KB takes %.1f ms", (double)took / SIM_MS);
	if (w->why[0])
		fail_msg("seed %llu: %s", (unsigned long long)seed, w->why);
}

TEST(test_fast_path_is_short)
{
	static const u64 delays[] = { 5 * SIM_US, SIM_MS, 20 * SIM_MS };
	u64 slowest, over;
	unsigned int i, at_first;

	for (at_first = 0; at_first < 2; at_first++) {
		for (i = 0; i < ARRAY_SIZE(delays); i++) {
			u64 seed;

			slowest = 0;
			over = 0;
			for (seed = 1; seed <= 5; seed++)
				fast_and_short(&world, seed, delays[i], at_first, &slowest, &over);
			printf("short%s, the other takes %.3f ms: ",
			       at_first ? " from the beginning" : "", (double)delays[i] / SIM_MS);
			printf("64 KB after at most %.1f ms, both ends there after %.1f ms\n",
			       (double)slowest / SIM_MS, (double)over / SIM_MS);
			assert_in_range(slowest, 0, 20 * KEEPALIVE);
		}
	}
}

TEST(test_paths_short)
{
	u64 seeds = sim_env("OAE_SHORT_SEEDS", DEFAULT_SEEDS), only = sim_env("OAE_SHORT_RUN", 0);
	const struct sim_path_sums *paths = &sim_path_sums;
	struct sim_sums sums;
	unsigned int failed = sim_seeds(&world, seeds, only, one_run, &sums);

	printf("%llu runs: %lu committed, %lu reversed, %lu unknown; %lu turns, %lu times down, %.1f s\n",
	       (unsigned long long)sums.runs, sums.ended[OAE_COMMITTED],
	       sums.ended[OAE_REVERSED], sums.ended[OAE_UNKNOWN], paths->turned,
	       sums.down, sums.seconds);
	printf("%lu long ones; a commit after at most %.1f ms (seed %llu)\n", longs,
	       (double)paths->slowest / SIM_MS, (unsigned long long)paths->slowest_seed);
	assert_int_equal(failed, 0);
	assert_true(only || seeds < DEFAULT_SEEDS || (paths->turned && longs));
}

UNIT_MAIN("paths that lose long frames")
