// SPDX-License-Identifier: GPL-2.0
/* Several lines in the simulation, and users that watch how long a commit takes. */
#include "sim_path.h"

unsigned int sim_nlines;
struct sim_line sim_lines[SIM_LINES];
struct sim_user sim_users[2];

/* --- lines ------------------------------------------------------------------------- */

/**
 * sim_lines_init() - a run begins: all lines carry frames, and no end has paths or a user
 * @nlines: how many there are
 */
void sim_lines_init(unsigned int nlines)
{
	unsigned int i, line;

	sim_nlines = nlines;
	memset(sim_lines, 0, sizeof(sim_lines));
	memset(sim_paths, 0, sizeof(sim_paths));
	memset(sim_users, 0, sizeof(sim_users));
	for (i = 0; i < 2; i++) {
		sim_paths[i].knob = OAE_PATHS_MAX;
		for (line = 0; line < SIM_LINES; line++) {
			sim_lines[line].up[i] = true;
			sim_lines[line].there[i] = true;
			sim_lines[line].higher = true;
		}
	}
}

/**
 * sim_line_up() - does the port of an end carry frames?
 * @e: the end
 * @line: whose port
 *
 * Return: true if so.
 */
bool sim_line_up(const struct sim_end *e, unsigned int line)
{
	return sim_lines[line].up[e->who] && sim_lines[line].there[e->who];
}

/**
 * sim_line_put() - send a frame by a line
 * @e: the end
 * @line: the line
 * @to: the address there
 * @f: the frame
 * @more: what is behind its body, or NULL
 * @n: bytes of it
 */
void sim_line_put(struct sim_end *e, unsigned int line, u8 to, const struct oae_frame *f,
		  const u8 *more, u16 n)
{
	struct sim *w = e->w;

	if (!sim_line_up(e, line))
		return;
	w->by_line = line | sim_lines[line].name[e->who] << 2 | to << 5;
	w->faults[!e->who] = sim_lines[line].to[!e->who];
	if (w->trace)
		sim_say(w, "  %c by %u:", 'A' + e->who, line);
	sim_transmit(e, f, more, n);
	w->by_line = 0;
	w->faults[!e->who] = sim_lines[0].to[!e->who];
}

/**
 * sim_line_review() - the port of a line has changed: look at the paths by it
 * @e: the end
 * @line: the line
 * @what: is said, or NULL
 */
void sim_line_review(struct sim_end *e, unsigned int line, const char *what)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct h_event *ev;
	bool came = false;
	unsigned int i;

	if (what)
		sim_say(e->w, "%c: %s", 'A' + e->who, what);
	if (!e->tag || !pe->begun)
		return;
	ev = sim_begin(e);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != line)
			continue;
		came |= oae_conn_review(&ev->conn, i, sim_line_up(e, line), true, ev->now, ev->a);
		if (!sim_lines[line].there[e->who] && i != OAE_PATH_OWN)
			oae_path_del(&pe->ps, i);
	}
	oae_conn_reviewed(&ev->conn, came, ev->now, ev->a);
	sim_finish(ev);
}

/**
 * sim_line_carrier() - the carrier of a port comes or goes
 * @e: the end
 * @line: whose port
 * @up: it is there
 */
void sim_line_carrier(struct sim_end *e, unsigned int line, bool up)
{
	if (sim_lines[line].up[e->who] == up)
		return;
	sim_lines[line].up[e->who] = up;
	if (!e->tag || !sim_lines[line].there[e->who])
		return;
	sim_say(e->w, "%c: line %u %s", 'A' + e->who, line, up ? "up" : "down");
	if (sim_paths_of(e)->begun)
		sim_line_review(e, line, NULL);
	else if (sim_paths_of(e)->line[OAE_PATH_OWN] == line)
		sim_happens(e, NULL, up ? oae_link_port_up : oae_link_port_down);
}

/**
 * sim_line_calm() - a line is good from now on, and its ports are there and up
 * @w: the world
 * @line: the line
 */
void sim_line_calm(struct sim *w, unsigned int line)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim_lines[line].to[i] = (struct sim_faults){
			.delay = 10 * SIM_US * (1 + line),
		};
		w->faults[i] = sim_lines[0].to[i];
		sim_lines[line].there[i] = true;
		sim_line_carrier(&w->end[i], line, true);
		if (sim_paths[i].begun)
			sim_line_review(&w->end[i], line, NULL);
	}
}

/**
 * sim_line_weather() - what a line is like from now on
 * @w: the world
 * @line: the line
 * @weather: like this
 * @hole: SIM_SHORT: longer frames are lost
 */
void sim_line_weather(struct sim *w, unsigned int line, enum sim_weather weather, u16 hole)
{
	struct sim_faults *to = sim_lines[line].to;
	unsigned int i, who = sim_upto(w, 2);

	sim_line_calm(w, line);
	for (i = 0; i < 2; i++) {
		sim_line_delay(w, line, &to[i]);
		if (weather == SIM_CUT || (weather == SIM_ONE_WAY && i == who))
			to[i].lose = 1024;
		if (weather == SIM_LOSSY || (weather == SIM_LOSSY_ONE_WAY && i == who))
			to[i].lose = 100 + sim_upto(w, 500);
		if (weather == SIM_SHORT)
			to[i].hole = hole;
		if (weather == SIM_SLOW)
			to[i].delay = 30 * SIM_MS;
		w->faults[i] = sim_lines[0].to[i];
	}
	sim_say(w, "line %u: weather %u", line, weather);
	if (weather == SIM_NO_CARRIER)
		sim_line_carrier(&w->end[who], line, false);
}

/**
 * sim_line_good() - a line that is fine loses little, or nothing: users are to notice
 * @w: the world
 * @line: the line
 */
void sim_line_good(struct sim *w, unsigned int line)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sim_lines[line].to[i].lose = sim_upto(w, 2) ? 0 : 20;
		w->faults[i] = sim_lines[0].to[i];
		sim_users[i].good_at = w->now;
	}
	sim_say(w, "line %u is good", line);
}

/* --- users ------------------------------------------------------------------------- */

/**
 * sim_user_ended() - a user reads what there is, and hears what has become of its own
 * @w: the world
 * @i: at which end
 * @think: how long it then posts nothing, at most
 */
void sim_user_ended(struct sim *w, unsigned int i, u64 think)
{
	struct sim_user *u = &sim_users[i];

	while (w->end[i].unread)
		sim_read(&w->end[i]);
	if (!u->at || (!u->at->ended && !u->at->lost))
		return;
	sim_user_judge(w, u->at);
	if (u->at->outcome == OAE_COMMITTED)
		u->good_at = w->now;
	u->at = NULL;
	u->think = w->now + sim_rand(w) % think;
}

/**
 * sim_user_is_busy() - has a user nothing to post?
 * @w: the world
 * @i: at which end
 *
 * Return: true if so.
 */
bool sim_user_is_busy(const struct sim *w, unsigned int i)
{
	return sim_users[i].at || w->now < sim_users[i].think || w->ntx > w->txs - 20;
}

/**
 * sim_user_posts() - a user posts a message or a verb
 * @w: the world
 * @i: at which end
 */
void sim_user_posts(struct sim *w, unsigned int i)
{
	struct sim_user *u = &sim_users[i];
	struct sim_end *e = &w->end[i];

	if (sim_chance(w, 200))
		u->at = sim_post(e, 16 + sim_upto(w, 8), 0, OAE_VERB, 0);
	else
		u->at = sim_post(e, 8 + sim_upto(w, 400), 150, OAE_MESSAGE,
				 sim_chance(w, 200) ? OAE_POST_CONFIRM : 0);
	if (u->good_at < w->now)
		u->good_at = w->now;
}

/* When the next event is, or a user may have something to post. */
static u64 next(const struct sim *w)
{
	u64 at = sim_next_event(w);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		const struct sim_user *u = &sim_users[i];

		if (!u->at && u->think > w->now && u->think < at)
			at = u->think;
	}
	return at;
}

/**
 * sim_users_live() - let all happen until then
 * @w: the world
 * @until: then
 * @soon: something is committed within this time, of what was posted; 0: perhaps nothing is
 * @seed: of the run
 */
void sim_users_live(struct sim *w, u64 until, u64 soon, u64 seed)
{
	unsigned int i;
	u64 at;

	while (!w->why[0] && w->now < until) {
		sim_users_act(w);
		at = next(w);
		at = at < until ? at : until;
		sim_run(w, at > w->now ? at : w->now);
		w->steps = 0;
		for (i = 0; i < 2 && soon; i++) {
			const struct sim_user *u = &sim_users[i];

			if (!u->at || u->at->ended || w->now < u->good_at)
				continue;
			at = w->now - u->good_at;
			if (at > sim_path_sums.slowest) {
				sim_path_sums.slowest = at;
				sim_path_sums.slowest_seed = seed;
			}
			if (at > soon)
				sim_fail(w, "%c: all is good, and nothing is committed for %llu ms",
					 'A' + i, (unsigned long long)(at / SIM_MS));
		}
		if (sim_users_look)
			sim_users_look(w, soon);
	}
}

/**
 * sim_users_know_all() - all lines are good, until both ends know of each
 * @w: the world
 * @within: this time
 * @soon: as in sim_users_live()
 * @seed: of the run
 */
void sim_users_know_all(struct sim *w, u64 within, u64 soon, u64 seed)
{
	u64 since = w->now;
	unsigned int i;

	for (i = 0; i < sim_nlines; i++)
		sim_line_calm(w, i);
	for (i = 0; i < 2; i++)
		sim_users[i].good_at = w->now;
	while (!w->why[0] && !sim_paths_proven()) {
		sim_users_live(w, w->now + 10 * SIM_MS, soon, seed);
		if (w->now > since + within)
			sim_fail(w, "a path that is good is not known to be");
	}
}
