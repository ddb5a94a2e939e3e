// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: two links over two or three lines of all sorts.
 *
 *	LINES    good, cut, one way only, lossy, lossy one way, short frames only, slow,
 *	         without a carrier at one end; others after a while, but one is good
 *	         always; or none is: two that are one way crosswise
 *	USERS    each end has a message or verb under way most of the time
 *	REBOOTS  one end, now and then, whatever its own path is
 *
 * As long as a line is good, both ways, all that is posted is committed, soon; without one
 * both ends notice. tests/harness watches G1 to G3. In the end all lines are good, and
 * both ends use the same path, the one that is this link's turn. What the shell does
 * with paths is done here (modoae/tag/path.h), but for their MTU.
 *
 *	OAE_PATH_SEEDS	how many runs (default 400)
 *	OAE_PATH_RUN	only this one, with its last events
 */
#include "unit.h"
#include "sim.h"
#include "../../modoae/link/path.h"
#include "../../modoae/link/admission.h"

#define LINES_MAX	3
#define DEFAULT_SEEDS	400
#define PHASES		6
#define KEEPALIVE	(100 * SIM_MS)
#define DEAD		(500 * SIM_MS)
#define SOON		(2 * DEAD + 3 * KEEPALIVE) /* until a commit, if a line is good */
/* Until both ends are down, if none is: the second may have been idle, and is told by the first. */
#define NOTICED		(2 * DEAD + 3 * KEEPALIVE)
#define BACK		(80 * KEEPALIVE) /* the longest wait of a path, and its probe */

/* A line, between the same two ports for all that a run does. */
static struct {
	struct sim_faults to[2];
	bool up[2];			/* the carrier at each end */
} lines[LINES_MAX];

/* The paths of an end, as in struct oae_tag_paths. */
static struct path_end {
	bool begun;
	struct oae_paths ps;
	unsigned int line[OAE_PATHS_MAX];
	u64 looked_at;
	/* The event under way. */
	int back;
	enum oae_state before;
	bool ended;
	unsigned int arrived;
} ends[2];

static struct sim world;
static unsigned int nlines;
static unsigned long turned, avoided, conflicts, told;

/* --- the shell --------------------------------------------------------------------- */

static struct path_end *of(const struct sim_end *e)
{
	return &ends[e->who];
}

static void put(struct sim_end *e, unsigned int line, const struct oae_frame *f,
		const u8 *more, u16 n)
{
	struct sim *w = e->w;

	if (!lines[line].up[e->who])
		return;
	w->by_line = line;
	w->faults[!e->who] = lines[line].to[!e->who];
	if (w->trace)
		sim_say(w, "  %c by %u:", 'A' + e->who, line);
	sim_transmit(e, f, more, n);
	w->by_line = 0;
	w->faults[!e->who] = lines[0].to[!e->who];
}

static unsigned int path_of(const struct sim_end *e, unsigned int line)
{
	const struct path_end *pe = of(e);
	unsigned int i;

	if (!pe->begun)
		return line ? OAE_PATHS_MAX : OAE_PATH_OWN;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (pe->ps.path[i].there && pe->line[i] == line)
			break;
	return i;
}

static unsigned int path_add(struct sim_end *e, unsigned int line)
{
	struct path_end *pe = of(e);
	int i = oae_path_add(&pe->ps, SIM_MTU_MAX, lines[line].up[e->who]);

	assert_in_range(i, 1, OAE_PATHS_MAX - 1);
	pe->line[i] = line;
	return i;
}

static void begin_paths(struct sim_end *e)
{
	struct path_end *pe = of(e);

	if (pe->begun)
		return;
	pe->begun = true;
	pe->line[OAE_PATH_OWN] = 0;
	oae_paths_init(&pe->ps, &e->link, SIM_MTU_MAX, lines[0].up[e->who], e->w->now);
}

void sim_path_tag(struct sim_end *e)
{
	of(e)->begun = false;
	of(e)->looked_at = e->w->now;
}

void sim_path_begin(struct sim_end *e)
{
	struct path_end *pe = of(e);

	pe->back = -1;
	pe->before = e->tag ? e->link.state : OAE_CLOSED;
	pe->ended = false;
}

static void probe(struct sim_end *e, unsigned int i, u8 role, u64 nonce)
{
	struct oae_frame f = {
		.opcode = OAE_PATH, .vc = e->w->vc, .hdr_len = OAE_HDR_LEN,
		.path = {
			.role = role, .mtu = SIM_MTU_MAX, .nonce = nonce,
			.proof = e->link.inc ^ e->link.peer_inc,
		},
	};

	put(e, of(e)->line[i], &f, NULL, 0);
}

static void probe_rcv(struct sim_end *e, unsigned int line, const struct oae_frame *f)
{
	struct path_end *pe = of(e);
	unsigned int i;
	bool before;

	if (!e->tag || !oae_link_knows_paths(&e->link) ||
	    f->path.proof != (e->link.inc ^ e->link.peer_inc))
		return;
	begin_paths(e);
	i = path_of(e, line);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = path_add(e, line);
	if (i == OAE_PATHS_MAX)
		return;
	before = pe->ps.path[i].proven;
	if (f->path.role == OAE_PATH_PROBE) {
		pe->ps.path[i].proven = true;
		probe(e, i, OAE_PATH_ANSWER, f->path.nonce);
	} else {
		oae_path_answered(&pe->ps, i, f->path.nonce, e->w->now);
	}
	/* Proven while it is frozen, it is asked there, too. */
	if (!before && pe->ps.path[i].proven)
		sim_happens(e, "path proven", oae_link_port_up);
}

/* No path of a link: to the shell it is a stranger's, who never shows a cookie. */
static void by_no_path(struct sim_end *e, unsigned int line, const struct oae_frame *f)
{
	const struct oae_asker who = { .cookie = { 1, 1 } };
	struct oae_admission v;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_ANSWER)
		put(e, line, &v.answer, NULL, 0);
}

bool sim_path_before(struct sim_end *e, const struct sim_pkt *p, const struct oae_frame *f)
{
	struct path_end *pe = of(e);
	unsigned int i;

	if (!lines[p->by_line].up[e->who])
		return false;
	if (f->opcode == OAE_PATH) {
		probe_rcv(e, p->by_line, f);
		return false;
	}
	if (!e->tag && !p->by_line)
		return true;
	i = e->tag ? path_of(e, p->by_line) : OAE_PATHS_MAX;
	if (i == OAE_PATHS_MAX) {
		by_no_path(e, p->by_line, f);
		return false;
	}
	pe->arrived = i;
	if (!pe->begun)
		return true;
	if (oae_path_heard(&pe->ps, i, &e->link, f))
		return true;
	sim_say(e->w, "  %c: not believed by %u", 'A' + e->who, p->by_line);
	/* It is the peer in another incarnation, and is to go on asking. */
	if (f->opcode == OAE_SYNC && oae_path_is_strange(&pe->ps, i, &e->link, f)) {
		conflicts++;
		by_no_path(e, p->by_line, f);
	}
	return false;
}

void sim_path_after(struct sim_end *e, const struct oae_frame *f)
{
	struct path_end *pe = of(e);

	if (!pe->begun)
		return;
	pe->back = pe->arrived;
	if (oae_path_stepped(&pe->ps, pe->back, &e->link, f, pe->before, e->w->now)) {
		turned++;
		sim_say(e->w, "  %c: path %u is in use", 'A' + e->who,
			pe->line[pe->ps.used]);
	} else if (oae_path_astray(&pe->ps, pe->back, &e->link, f, e->w->now)) {
		told++;
		oae_link_speak(&e->link, &e->w->act);
	}
}

static void event_ends(struct sim_end *e)
{
	struct path_end *pe = of(e);

	if (pe->ended)
		return;
	pe->ended = true;
	oae_paths_pair(&pe->ps, &e->link);
	oae_paths_ended(&pe->ps, &e->link, pe->before, e->w->now);
	avoided += pe->before >= OAE_OPEN && oae_link_state(&e->link) < OAE_OPEN &&
		   pe->ps.avoid;
}

void sim_path_timer(struct sim_end *e, struct oae_actions *a)
{
	struct path_end *pe = of(e);
	u64 now = e->w->now, nonce;
	unsigned int i;

	if (!oae_link_knows_paths(&e->link))
		return;
	if (now - pe->looked_at >= KEEPALIVE) {
		pe->looked_at = now;
		begin_paths(e);
		for (i = 1; i < nlines; i++)
			if (path_of(e, i) == OAE_PATHS_MAX)
				path_add(e, i);
		for (i = 1; i < OAE_PATHS_MAX; i++)
			if (oae_path_hopeless(&pe->ps, i))
				oae_path_del(&pe->ps, i);
	}
	for (i = 0; pe->begun && i < OAE_PATHS_MAX; i++) {
		if (!oae_path_due(&pe->ps, i, &e->link, now))
			continue;
		nonce = sim_rand(e->w) | 1;
		oae_path_probed(&pe->ps, i, nonce, now);
		probe(e, i, OAE_PATH_PROBE, nonce);
	}
	if (pe->begun)
		oae_watch_time(&pe->ps, &e->link, now);
	if (pe->begun && oae_paths_back(&pe->ps, &e->link, now)) {
		turned++;
		sim_say(e->w, "  %c: back to path %u", 'A' + e->who, pe->line[pe->ps.used]);
		oae_link_speak(&e->link, a);
	}
}

void sim_path_send(struct sim_end *e, const struct oae_frame *f, const u8 *more, u16 n)
{
	struct path_end *pe = of(e);
	struct oae_frame out = *f;
	unsigned int to, i;

	if (!pe->begun) {
		put(e, 0, f, more, n);
		return;
	}
	event_ends(e);
	to = oae_paths_out(&pe->ps, &e->link, f->opcode, e->w->ev.f ? pe->back : -1,
			   pe->before);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!(to & 1U << i) || !pe->ps.path[i].there)
			continue;
		if (f->opcode == OAE_SYNC)
			out.dst_ltag = pe->ps.path[i].heard;
		put(e, pe->line[i], &out, more, n);
	}
}

/* A carrier comes or goes. */
static void carrier(struct sim_end *e, unsigned int line, bool up)
{
	struct path_end *pe = of(e);
	unsigned int i = path_of(e, line);
	struct oae_path *p = &pe->ps.path[i];

	if (lines[line].up[e->who] == up)
		return;
	lines[line].up[e->who] = up;
	if (!e->tag || i == OAE_PATHS_MAX)
		return;
	if (!pe->begun) {
		sim_happens(e, up ? "port up" : "port down",
			    up ? oae_link_port_up : oae_link_port_down);
		return;
	}
	p->up = up;
	p->probed_at = 0;
	if (up) {
		sim_happens(e, "port up", oae_link_port_up);
	} else if (pe->ps.used == i) {
		turned += oae_path_failed(&pe->ps, i, &e->link, e->w->now);
		sim_happens(e, "port down", oae_link_port_down);
	}
}

/* --- the users ------------------------------------------------------------------------ */

static struct sim_tx *now_at[2];
static u64 think[2];		/* until then it has nothing to post */
static u64 good_at[2];		/* since then all has been good, or something committed */
static u64 down_until;		/* what was posted before may have found no line */
static u64 slowest, slowest_seed;

static void judge(struct sim *w, const struct sim_tx *tx)
{
	if (tx->lost || tx->outcome == OAE_COMMITTED)
		return;
	if (tx->err == OAE_E_DOWN && tx->posted_at < down_until)
		return;
	sim_fail(w, "#%u is reversed: %s", (u32)tx->id, strerror(tx->err));
}

static void users(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		struct sim_end *e = &w->end[i];

		while (e->unread)
			sim_read(e);
		if (now_at[i] && (now_at[i]->ended || now_at[i]->lost)) {
			judge(w, now_at[i]);
			if (now_at[i]->outcome == OAE_COMMITTED)
				good_at[i] = w->now;
			now_at[i] = NULL;
			think[i] = w->now + sim_rand(w) % (100 * SIM_MS);
		}
		if (now_at[i] || w->now < think[i] || w->ntx > SIM_TXS - 20)
			continue;
		if (sim_chance(w, 200))
			now_at[i] = sim_post(e, 16 + sim_upto(w, 8), 0, OAE_VERB, 0);
		else
			now_at[i] = sim_post(e, 8 + sim_upto(w, 400), 150, OAE_MESSAGE,
					     sim_chance(w, 200) ? OAE_POST_CONFIRM : 0);
		if (good_at[i] < w->now)
			good_at[i] = w->now;
	}
}

/* Let all happen until then. */
static void live(struct sim *w, u64 until, bool good, u64 seed)
{
	unsigned int i;
	u64 at;

	while (!w->why[0] && w->now < until) {
		users(w);
		at = sim_next_event(w);
		for (i = 0; i < 2; i++)
			if (!now_at[i] && think[i] > w->now && think[i] < at)
				at = think[i];
		at = at < until ? at : until;
		sim_run(w, at > w->now ? at : w->now);
		w->steps = 0;
		for (i = 0; i < 2 && good; i++) {
			if (!now_at[i] || now_at[i]->ended || w->now < good_at[i])
				continue;
			at = w->now - good_at[i];
			if (at > slowest) {
				slowest = at;
				slowest_seed = seed;
			}
			if (at > SOON)
				sim_fail(w, "%c: a line is good, and nothing was committed for %llu ms",
					 'A' + i, at / SIM_MS);
		}
	}
}

/* --- the lines ------------------------------------------------------------------------- */

enum weather {
	FINE, CUT, ONE_WAY, LOSSY, LOSSY_ONE_WAY, SHORT, SLOW, NO_CARRIER, WEATHER_END
};

static void calm(struct sim *w, unsigned int line)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		lines[line].to[i] = (struct sim_faults){ .delay = 10 * SIM_US * (1 + line) };
		w->faults[i] = lines[0].to[i];
		carrier(&w->end[i], line, true);
	}
}

static void draw_weather(struct sim *w, unsigned int line, enum weather weather)
{
	struct sim_faults *to = lines[line].to;
	unsigned int i, who = sim_upto(w, 2);

	calm(w, line);
	for (i = 0; i < 2; i++) {
		to[i].delay = sim_upto(w, 2) ? 5 * SIM_US : SIM_MS;
		to[i].jitter = sim_upto(w, 2) ? 0 : 3 * SIM_MS;
		if (weather == CUT || (weather == ONE_WAY && i == who))
			to[i].lose = 1024;
		if (weather == LOSSY || (weather == LOSSY_ONE_WAY && i == who))
			to[i].lose = 100 + sim_upto(w, 500);
		if (weather == SHORT)
			to[i].hole = 130;
		if (weather == SLOW)
			to[i].delay = 30 * SIM_MS;
		w->faults[i] = lines[0].to[i];
	}
	sim_say(w, "line %u: weather %u", line, weather);
	if (weather == NO_CARRIER)
		carrier(&w->end[who], line, false);
}

static bool all_proven(void)
{
	unsigned int who, i, n;

	for (who = 0; who < 2; who++) {
		for (i = 0, n = 0; ends[who].begun && i < OAE_PATHS_MAX; i++)
			n += ends[who].ps.path[i].there && ends[who].ps.path[i].proven &&
			     ends[who].ps.path[i].good;
		if (n < nlines)
			return false;
	}
	return true;
}

/* All lines are good, until both ends know of each. */
static void know_all(struct sim *w, u64 seed)
{
	unsigned int i;
	u64 since;

	for (i = 0; i < nlines; i++)
		calm(w, i);
	good_at[A] = w->now;
	good_at[B] = w->now;
	for (since = w->now; !w->why[0] && !all_proven();) {
		live(w, w->now + 10 * SIM_MS, true, seed);
		if (w->now > since + SOON)
			sim_fail(w, "a path that is good is not known to be");
	}
	down_until = w->now;
}

static void good_phase(struct sim *w, u64 seed)
{
	unsigned int i, good = sim_upto(w, nlines);

	for (i = 0; i < nlines; i++)
		draw_weather(w, i, i == good ? FINE : sim_upto(w, WEATHER_END));
	for (i = 0; i < 2; i++) {
		lines[good].to[i].lose = sim_upto(w, 2) ? 0 : 20;
		w->faults[i] = lines[0].to[i];
		good_at[i] = w->now;
	}
	sim_say(w, "line %u is good", good);
	live(w, w->now + (200 + sim_upto(w, 1200)) * SIM_MS, true, seed);
}

/* What one line carries one way, the other carries the other way. */
static void crosswise(struct sim *w, u64 seed)
{
	unsigned int i, way = sim_upto(w, 2), one = sim_upto(w, nlines);
	unsigned int other = (one + 1) % nlines;
	u64 until = w->now + NOTICED;

	for (i = 0; i < nlines; i++) {
		calm(w, i);
		lines[i].to[way].lose = i == one ? 0 : 1024;
		lines[i].to[!way].lose = i == other ? 0 : 1024;
	}
	w->faults[A] = lines[0].to[A];
	w->faults[B] = lines[0].to[B];
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
	calm(w, i);
	sim_say(w, "line %u is good", i);
	good_at[A] = w->now;
	good_at[B] = w->now;
	live(w, w->now + SOON, true, seed);
	down_until = w->now;
}

static void reboot(struct sim *w, u64 seed)
{
	unsigned int i, who = sim_upto(w, 2);

	for (i = 1; i < nlines; i++)
		draw_weather(w, i, sim_upto(w, WEATHER_END));
	draw_weather(w, 0, sim_upto(w, 2) ? CUT : FINE);
	down_until = ~0ULL;
	sim_crash(&w->end[who]);
	ends[who].begun = false;
	/*
	 * It asks by its own path: if its peer uses another one it is believed once that was
	 * silent for long enough.
	 */
	live(w, w->now + sim_upto(w, 3 * DEAD / SIM_MS) * SIM_MS, false, seed);
	know_all(w, seed);
}

static void same_path(struct sim *w)
{
	unsigned int senior = w->end[B].link.senior;
	const struct path_end *s = &ends[senior], *j = &ends[!senior];
	unsigned int line = s->line[s->ps.used];

	if (line != j->line[j->ps.used])
		sim_fail(w, "the senior uses line %u, the junior %u", line,
			 j->line[j->ps.used]);
	/* Paths that were forgotten and found again may be in another order. */
	if (s->ps.used != w->vc % nlines)
		sim_fail(w, "the senior's path %u is not the turn of vc %u", s->ps.used, w->vc);
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i;

	sim_init(w, seed);
	w->trace = trace;
	w->now = 1000 * SIM_MS;
	nlines = 2 + (seed & 1);
	w->vc = sim_upto(w, 8);
	memset(ends, 0, sizeof(ends));
	for (i = 0; i < 2; i++) {
		now_at[i] = NULL;
		think[i] = 0;
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = sim_upto(w, 2) ? 1 : 4;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
	}
	for (i = 0; i < LINES_MAX; i++) {
		lines[i].up[A] = true;
		lines[i].up[B] = true;
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
		if (now_at[i] && !w->why[0])
			judge(w, now_at[i]);
	/* A line that has lost probes may not be tried again for minutes: test_path_loss.c. */
	for (i = 0; i < 2 * OAE_PATHS_MAX; i++)
		memset(&ends[i / OAE_PATHS_MAX].ps.path[i % OAE_PATHS_MAX].loss, 0,
		       sizeof(struct oae_path_loss));
	sim_run(w, w->now + BACK);
	w->steps = 0;
	if (!w->why[0])
		sim_prove_open(w);
	if (!w->why[0])
		same_path(w);
}

TEST(test_paths)
{
	u64 seeds = sim_env("OAE_PATH_SEEDS", DEFAULT_SEEDS), only = sim_env("OAE_PATH_RUN", 0);
	struct sim_sums sums;
	unsigned int failed = sim_seeds(&world, seeds, only, one_run, &sums);

	printf("%llu runs: %lu committed, %lu reversed, %lu unknown; %lu turns, %lu told again, %lu paths avoided, %lu conflicts, %lu times down, %.1f s\n",
	       (unsigned long long)sums.runs, sums.ended[OAE_COMMITTED],
	       sums.ended[OAE_REVERSED], sums.ended[OAE_UNKNOWN], turned, told, avoided, conflicts,
	       sums.down, sums.seconds);
	printf("a commit after at most %.1f ms (seed %llu)\n", (double)slowest / SIM_MS,
	       (unsigned long long)slowest_seed);
	assert_int_equal(failed, 0);
	assert_true(only || seeds < DEFAULT_SEEDS ||
		    (turned && told && avoided && conflicts && sums.down));
}

UNIT_MAIN("paths in time")
