// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: two links over two or three lines of all sorts.
 *
 *	LINES    good, cut, one way only, lossy, lossy one way, short frames only, slow,
 *	         without a carrier at one end; others after a while, but one is good
 *	         always; or none is: two that are one way crosswise
 *	USERS    each end has a message or verb under way most of the time
 *	REBOOTS  one end, now and then, whatever its own path is
 *	CLOCKS   of one processor behind that of the other
 *
 * As long as a line is good, both ways, all that is posted is committed, soon; without one
 * both ends notice. tests/harness watches G1 to G3. In the end all lines are good, and
 * both ends use the same path, the one that is this link's turn. sim_path.c does
 * what the shell does with paths, but here it does not watch what is lost.
 *
 *	OAE_PATH_SEEDS	how many runs (default 400)
 *	OAE_PATH_RUN	only this one, with its last events
 */
#include "unit.h"
#include "sim_path.h"
#include "../../modoae/link/admission.h"

#define DEFAULT_SEEDS	400
#define PHASES		6
#define SHORT_FRAMES	130		/* longer ones are lost */
#define KEEPALIVE	(100 * SIM_MS)
#define DEAD		(500 * SIM_MS)
#define SOON		(2 * DEAD + 3 * KEEPALIVE) /* until a commit, if a line is good */
/* Until both ends are down, if none is: the second may have been idle, and is told by the first. */
#define NOTICED		(3 * DEAD + 3 * KEEPALIVE)
#define BACK		(80 * KEEPALIVE) /* the longest wait of a path, and its probe */
#define FORGOTTEN	(600000 * SIM_MS) /* what did not get through by a path may do by then */

static struct sim world;
static unsigned long conflicts;

/* No path of a link: to the shell it is a stranger's, who never shows a cookie. */
static void by_no_path(struct sim_end *e, unsigned int line, const struct oae_frame *f)
{
	const struct oae_asker who = { .cookie = { 1, 1 } };
	struct oae_admission v;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_ANSWER)
		sim_line_put(e, line, 0, &v.answer, NULL, 0);
}

bool sim_path_before(struct sim_end *e, const struct sim_pkt *p, const struct oae_frame *f)
{
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int i;

	if (!sim_path_came(e, p->by_line, 0, f))
		return false;
	if (!e->tag && !p->by_line)
		return true;
	i = e->tag ? sim_path_of(e, p->by_line, 0) : OAE_PATHS_MAX;
	if (i == OAE_PATHS_MAX) {
		by_no_path(e, p->by_line, f);
		return false;
	}
	pe->arrived = i;
	if (!pe->begun || oae_path_heard(&pe->ps, i, &e->link, f))
		return true;
	sim_say(e->w, "  %c: not believed by %u", 'A' + e->who, p->by_line);
	/* It is the peer in another incarnation, and is to go on asking. */
	if (f->opcode == OAE_SYNC && oae_path_is_strange(&pe->ps, i, &e->link, f)) {
		conflicts++;
		by_no_path(e, p->by_line, f);
	}
	return false;
}

/* --- the users ------------------------------------------------------------------------ */

static u64 down_until;		/* what was posted before may have found no line */

void sim_user_judge(struct sim *w, const struct sim_tx *tx)
{
	if (tx->lost || tx->outcome == OAE_COMMITTED)
		return;
	if (tx->err == OAE_E_DOWN && tx->posted_at < down_until)
		return;
	sim_fail(w, "#%u is reversed: %s", (u32)tx->id, strerror(tx->err));
}

void sim_users_act(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		sim_user_ended(w, i, 100 * SIM_MS);
		if (!sim_user_is_busy(w, i))
			sim_user_posts(w, i);
	}
}

static void live(struct sim *w, u64 until, bool good, u64 seed)
{
	sim_users_live(w, until, good ? SOON : 0, seed);
}

/* --- the lines ------------------------------------------------------------------------- */

void sim_line_delay(struct sim *w, unsigned int line, struct sim_faults *to)
{
	(void)line;
	to->delay = sim_upto(w, 2) ? 5 * SIM_US : SIM_MS;
	to->jitter = sim_upto(w, 2) ? 0 : 3 * SIM_MS;
}

static void draw_weather(struct sim *w, unsigned int line, enum sim_weather weather)
{
	sim_line_weather(w, line, weather, SHORT_FRAMES);
}

static void know_all(struct sim *w, u64 seed)
{
	sim_users_know_all(w, SOON, SOON, seed);
	down_until = w->now;
}

static void good_phase(struct sim *w, u64 seed)
{
	unsigned int i, good = sim_upto(w, sim_nlines);

	for (i = 0; i < sim_nlines; i++)
		draw_weather(w, i, i == good ? SIM_FINE : sim_upto(w, SIM_WEATHER_END));
	sim_line_good(w, good);
	live(w, w->now + (200 + sim_upto(w, 1200)) * SIM_MS, true, seed);
}

/* What one line carries one way, the other carries the other way. */
static void crosswise(struct sim *w, u64 seed)
{
	unsigned int i, way = sim_upto(w, 2), one = sim_upto(w, sim_nlines);
	unsigned int other = (one + 1) % sim_nlines;
	u64 until = w->now + NOTICED;

	for (i = 0; i < sim_nlines; i++) {
		sim_line_calm(w, i);
		sim_lines[i].to[way].lose = i == one ? 0 : 1024;
		sim_lines[i].to[!way].lose = i == other ? 0 : 1024;
	}
	w->faults[A] = sim_lines[0].to[A];
	w->faults[B] = sim_lines[0].to[B];
	sim_say(w, "crosswise: to %c by %u, to %c by %u", 'A' + way, one, 'A' + !way, other);
	down_until = ~0ULL;
	while (!w->why[0] && w->now < until) {
		live(w, w->now + SIM_MS, false, seed);
		if (w->end[A].link.down && w->end[B].link.down)
			break;
	}
	for (i = 0; i < 2 && !w->why[0]; i++)
		if (!w->end[i].link.down)
			sim_fail(w, "%c is %s, crosswise one-way", 'A' + i,
				 oae_state_name(w->end[i].link.state));
	/* It stays so. */
	live(w, w->now + DEAD, false, seed);
	for (i = 0; i < 2 && !w->why[0]; i++)
		if (!w->end[i].link.down)
			sim_fail(w, "%c is up again, crosswise one-way", 'A' + i);
	/* Either line is mended. */
	i = sim_upto(w, 2) ? one : other;
	sim_line_calm(w, i);
	sim_say(w, "line %u is good", i);
	sim_users[A].good_at = w->now;
	sim_users[B].good_at = w->now;
	live(w, w->now + SOON, true, seed);
	down_until = w->now;
}

static void reboot(struct sim *w, u64 seed)
{
	unsigned int i, who = sim_upto(w, 2);

	for (i = 1; i < sim_nlines; i++)
		draw_weather(w, i, sim_upto(w, SIM_WEATHER_END));
	draw_weather(w, 0, sim_upto(w, 2) ? SIM_CUT : SIM_FINE);
	down_until = ~0ULL;
	sim_crash(&w->end[who]);
	sim_paths[who].begun = false;
	/*
	 * It asks by its own path: if its peer uses another one it is believed once that was
	 * silent for long enough.
	 */
	live(w, w->now + sim_upto(w, 3 * DEAD / SIM_MS) * SIM_MS, false, seed);
	know_all(w, seed);
}

/* Each end chooses for itself: paths may be in another order there. */
static void own_turns(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (sim_paths[i].ps.used != w->vc % sim_nlines)
			sim_fail(w, "%c's path %u is not the turn of vc %u", 'A' + i,
				 sim_paths[i].ps.used, w->vc);
}

static void set_keepalive(struct sim *w, u64 keepalive)
{
	w->end[A].cfg.keepalive = keepalive;
	w->end[B].cfg.keepalive = keepalive;
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i;

	sim_init(w, seed);
	w->trace = trace;
	w->now = 1000 * SIM_MS;
	sim_lines_init(2 + (seed & 1));
	w->vc = sim_upto(w, 8);
	for (i = 0; i < 2; i++) {
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = sim_upto(w, 2) ? 1 : 4;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		w->end[i].clock_back = sim_upto(w, 2) ? 0 : sim_upto(w, 1000) * SIM_US;
	}
	down_until = 0;
	know_all(w, seed);
	for (i = 0; i < PHASES && !w->why[0]; i++) {
		switch (sim_upto(w, 8)) {
		case 0:
			crosswise(w, seed);
			break;
		case 1:
			reboot(w, seed);
			break;
		default:
			good_phase(w, seed);
		}
	}
	if (w->why[0])
		return;
	know_all(w, seed);
	live(w, w->now + 100 * SIM_MS, true, seed);
	sim_settle(w, "in the end");
	for (i = 0; i < 2; i++)
		if (sim_users[i].at && !w->why[0])
			sim_user_judge(w, sim_users[i].at);
	/* A line that has lost probes may not be tried again for minutes: test_path_loss.c. */
	for (i = 0; i < 2 * OAE_PATHS_MAX; i++)
		memset(&sim_paths[i / OAE_PATHS_MAX].ps.path[i % OAE_PATHS_MAX].loss, 0,
		       sizeof(struct oae_path_loss));
	/* Nothing happens meanwhile, and so no probe need either. */
	set_keepalive(w, 100 * KEEPALIVE);
	sim_run(w, w->now + FORGOTTEN);
	set_keepalive(w, KEEPALIVE);
	sim_run(w, w->now + 100 * KEEPALIVE + BACK);
	w->steps = 0;
	if (!w->why[0])
		sim_prove_open(w);
	if (!w->why[0])
		own_turns(w);
}

/* --- an idle link, and a cable that dies --- */

/* A link by two lines that knows both, and has been idle for a while; it goes by the one of @vc. */
static void idle_link(struct sim *w, u64 seed, unsigned int vc)
{
	unsigned int i;

	sim_init(w, seed);
	w->now = 1000 * SIM_MS;
	w->vc = vc;
	sim_lines_init(2);
	for (i = 0; i < 2; i++) {
		w->end[i].cfg.paths = true;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		sim_line_calm(w, i);
	}
	sim_post(&w->end[A], 40, 40, OAE_MESSAGE, 0);
	sim_run(w, w->now + 30 * KEEPALIVE);
	sim_read(&w->end[B]);
	w->steps = 0;
	assert_string_equal(w->why, "");
	assert_true(sim_paths_proven());
	own_turns(w);
}

/* How many ends have left it? */
static unsigned int left(unsigned int dead)
{
	return (sim_paths[A].ps.used != dead) + (sim_paths[B].ps.used != dead);
}

/*
 * An end leaves it, and the link is never down. The other end, which hears its peer then, leaves it
 * at the latest when it has something to say, and that is soon there.
 */
TEST(test_idle_link_leaves_dead_cable)
{
	u64 took, slowest = 0, commit = 0, seed;
	unsigned int dead, i;

	for (seed = 1; seed <= 100; seed++) {
		dead = seed & 1;
		idle_link(&world, seed, dead);
		sim_run(&world, world.now + sim_upto(&world, 200) * SIM_MS);
		sim_line_weather(&world, dead, SIM_CUT, 0);
		for (took = 0; took < 2 * DEAD; took += SIM_MS) {
			if (!left(dead) && took > slowest)
				slowest = took;
			sim_run(&world, world.now + SIM_MS);
		}
		world.steps = 0;
		assert_true(left(dead));
		assert_int_equal(world.notes[OAE_N_DOWN], 0);
		assert_int_equal(world.notes[OAE_N_STALL], 0);
		for (i = 0; i < 2; i++) {
			assert_int_equal(oae_link_state(&world.end[i].link), OAE_OPEN);
			sim_post(&world.end[i], 40, 40, OAE_MESSAGE, 0);
		}
		for (took = 0; world.outcomes[OAE_COMMITTED] < 3 && took < DEAD; took += SIM_MS)
			sim_run(&world, world.now + SIM_MS);
		commit = took > commit ? took : commit;
		assert_int_equal(world.outcomes[OAE_COMMITTED], 3);
		sim_run(&world, world.now + KEEPALIVE);
		assert_int_equal(left(dead), 2);
		assert_int_equal(world.notes[OAE_N_STALL], 0);
		assert_string_equal(world.why, "");
	}
	printf("a dead cable is left after at most %.0f ms, a commit then takes at most %.0f ms\n",
	       (double)slowest / SIM_MS, (double)commit / SIM_MS);
	assert_in_range(slowest, KEEPALIVE, 3 * KEEPALIVE);
	assert_in_range(commit, 0, KEEPALIVE);
}

TEST(test_paths)
{
	u64 seeds = sim_env("OAE_PATH_SEEDS", DEFAULT_SEEDS), only = sim_env("OAE_PATH_RUN", 0);
	struct sim_sums sums;
	const struct sim_path_sums *paths = &sim_path_sums;
	unsigned int failed = sim_seeds(&world, seeds, only, one_run, &sums);

	printf("%llu runs: %lu committed, %lu reversed, %lu unknown; %lu turns, %lu conflicts, %lu times down, %.1f s\n",
	       (unsigned long long)sums.runs, sums.ended[OAE_COMMITTED],
	       sums.ended[OAE_REVERSED], sums.ended[OAE_UNKNOWN], paths->turned,
	       conflicts, sums.down, sums.seconds);
	printf("a commit after at most %.1f ms (seed %llu)\n", (double)paths->slowest / SIM_MS,
	       (unsigned long long)paths->slowest_seed);
	assert_int_equal(failed, 0);
	assert_true(only || seeds < DEFAULT_SEEDS ||
		    (paths->turned && conflicts && sums.down));
}

UNIT_MAIN("paths in time")
