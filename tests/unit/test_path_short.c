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

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i, k;

	sim_init(w, seed);
	w->trace = trace;
	w->now = 1000 * SIM_MS;
	w->wire = SIM_WIRE_MAX;
	w->txs = SIM_TXS_MAX;
	w->vc = sim_upto(w, 8);
	sim_lines_init(2 + (seed & 1));
	memset(users, 0, sizeof(users));
	for (i = 0; i < 2; i++) {
		w->end[i].mtu = MTU;
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = 8;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		w->end[i].cfg.max_len = 65535;
	}
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

TEST(test_paths_short)
{
	u64 seeds = sim_env("OAE_SHORT_SEEDS", DEFAULT_SEEDS), only = sim_env("OAE_SHORT_RUN", 0);
	const struct sim_path_sums *paths = &sim_path_sums;
	struct sim_sums sums;
	unsigned int failed = sim_seeds(&world, seeds, only, one_run, &sums);

	printf("%llu runs: %lu committed, %lu reversed, %lu unknown; %lu turns, %lu paths avoided, %lu times down, %.1f s\n",
	       (unsigned long long)sums.runs, sums.ended[OAE_COMMITTED],
	       sums.ended[OAE_REVERSED], sums.ended[OAE_UNKNOWN], paths->turned,
	       paths->avoided, sums.down, sums.seconds);
	printf("%lu long ones; a commit after at most %.1f ms (seed %llu)\n", longs,
	       (double)paths->slowest / SIM_MS, (unsigned long long)paths->slowest_seed);
	assert_int_equal(failed, 0);
	assert_true(only || seeds < DEFAULT_SEEDS || (paths->turned && longs));
}

UNIT_MAIN("paths that lose long frames")
