// SPDX-License-Identifier: GPL-2.0
/*
 * All states, breadth first: each once, each with every event it may have. So
 * a violation is found by one of the shortest ways to it.
 *
 * Of a state stay its fingerprint (64 bits: among a hundred million states the
 * chance that any two share one is 1 in 4000), where it came from, and where it
 * goes in fair weather (m_fair()). Its bytes wait in a queue for their turn and
 * are freed then. Once all are known, each is followed in fair weather: that
 * it comes to the end shows that no state is a dead end or goes round for ever.
 *
 * A search may be asked for the states near the beginning only: so many are expanded with
 * all events, and what is beyond with those of fair weather.
 */
#include <stdlib.h>
#include <xxhash.h>
#include "model.h"

#define NONE		0xffffffffU
#define END		0xfffffffeU
#define CHUNK		0x400000

struct chunk {
	struct chunk *next;
	size_t used;
	u8 b[CHUNK];
};

struct node {
	u32 from;		/* the state before it */
	u16 act;		/* what led here */
};

struct search {
	const struct m_scenario *sc;
	const struct m_limits *limits;
	struct m_result r;
	FILE *out;

	u64 *print;		/* the table of fingerprints, 0 free */
	u32 *number;		/* and whose they are */
	size_t slots;
	struct node *node;
	u32 *fair;		/* the state after each in each fair weather, or END */
	unsigned int weathers, first_weather;
	size_t nodes;		/* room */

	struct chunk *first, *last;
	size_t at;		/* in the first */
	size_t queued;		/* chunks */
};

static void *need(void *p)
{
	if (!p) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return p;
}

static void enqueue(struct search *s, const u8 *buf, u16 len)
{
	if (!s->last || s->last->used + len + sizeof(len) > CHUNK) {
		struct chunk *c = need(malloc(sizeof(*c)));

		c->next = NULL;
		c->used = 0;
		if (s->last)
			s->last->next = c;
		else
			s->first = c;
		s->last = c;
		s->queued++;
	}
	memcpy(s->last->b + s->last->used, &len, sizeof(len));
	memcpy(s->last->b + s->last->used + sizeof(len), buf, len);
	s->last->used += sizeof(len) + len;
}

static const u8 *dequeue(struct search *s)
{
	struct chunk *c = s->first;
	const u8 *state;
	u16 len;

	if (c && s->at == c->used && c->next) {
		s->first = c->next;
		s->at = 0;
		free(c);
		s->queued--;
		c = s->first;
	}
	if (!c || s->at == c->used)
		return NULL;
	memcpy(&len, c->b + s->at, sizeof(len));
	state = c->b + s->at + sizeof(len);
	s->at += sizeof(len) + len;
	return state;
}

static void more_slots(struct search *s)
{
	u64 *print = s->print;
	u32 *number = s->number;
	size_t n = s->slots, i, at;

	s->slots = n ? 2 * n : 1 << 16;
	s->print = need(calloc(s->slots, sizeof(*s->print)));
	s->number = need(malloc(s->slots * sizeof(*s->number)));
	for (i = 0; i < n; i++) {
		if (!print[i])
			continue;
		at = print[i] & (s->slots - 1);
		while (s->print[at])
			at = (at + 1) & (s->slots - 1);
		s->print[at] = print[i];
		s->number[at] = number[i];
	}
	free(print);
	free(number);
}

static unsigned long bytes(const struct search *s)
{
	return s->slots * (sizeof(*s->print) + sizeof(*s->number)) +
	       s->nodes * (sizeof(*s->node) + s->weathers * sizeof(*s->fair)) +
	       s->queued * sizeof(struct chunk);
}

static u32 *fair_of(const struct search *s, u32 n, unsigned int weather)
{
	return &s->fair[(size_t)n * s->weathers + weather - s->first_weather];
}

static void more_nodes(struct search *s)
{
	s->nodes = s->nodes ? s->nodes + s->nodes / 2 : 1 << 16;
	s->node = need(realloc(s->node, s->nodes * sizeof(*s->node)));
	s->fair = need(realloc(s->fair, s->nodes * s->weathers *
					sizeof(*s->fair)));
}

/* The number of a state, which may be new. */
static u32 visit(struct search *s, const u8 *buf, unsigned int len, u32 from,
		 u16 act)
{
	u64 print = XXH3_64bits(buf, len) | 1;
	size_t at;
	u32 n = s->r.states;
	unsigned int i;

	if (s->r.states * 4 >= s->slots * 3)
		more_slots(s);
	at = print & (s->slots - 1);
	while (s->print[at]) {
		if (s->print[at] == print)
			return s->number[at];
		at = (at + 1) & (s->slots - 1);
	}
	s->print[at] = print;
	s->number[at] = n;
	if (n == s->nodes)
		more_nodes(s);
	s->node[n] = (struct node){ .from = from, .act = act };
	for (i = 0; i < s->weathers; i++)
		s->fair[(size_t)n * s->weathers + i] = NONE;
	s->r.states++;
	enqueue(s, buf, len);
	return n;
}

static unsigned int way_to(const struct search *s, u32 n, u16 **acts, u16 last)
{
	unsigned int len = 0, i;
	u32 at;

	for (at = n; at; at = s->node[at].from)
		len++;
	i = len + (last != 0xffff);
	*acts = need(malloc((i + 1) * sizeof(**acts)));
	if (last != 0xffff)
		(*acts)[--i] = last;
	for (at = n; at; at = s->node[at].from)
		(*acts)[--i] = s->node[at].act;
	return len + (last != 0xffff);
}

static void report(struct search *s, u32 n, u16 act, const char *what, u8 id,
		   unsigned int weather, unsigned int more)
{
	unsigned int len;
	u16 *acts;

	s->r.violated = true;
	len = way_to(s, n, &acts, act);
	fprintf(s->out, "VIOLATION in %s%s: %s\nafter %u steps:\n", s->sc->name,
		m_weather_name(s->sc, weather), m_words(what, id), len);
	m_tell(s->sc, acts, len, more, weather, s->out);
	free(acts);
}

static void committed(struct m_world *w, u8 id)
{
	if (!w->tx[id - 1].delivered || w->tx[id - 1].outcome != OAE_COMMITTED)
		m_fail(w, id, "G5: not committed, though there is no fault");
}

static void prove_step(struct m_world *w, u16 act, FILE *out)
{
	act = M_ACT_IN(act, w->weather);
	if (out)
		m_tell_step(w, act, out);
	else
		m_step(w, act);
}

/* All from @first on must be committed. */
static void prove_from(struct m_world *w, unsigned int first, FILE *out)
{
	unsigned int steps;
	int act;

	for (steps = 0; !w->why && (act = m_fair(w)) >= 0; steps++) {
		prove_step(w, act, out);
		m_reduce(w);
		if (steps == 1000)
			m_fail(w, w->ntx, "G5: not committed, and no fault is left");
	}
	for (; first <= w->ntx && !w->why; first++)
		committed(w, first);
}

/* Does an end use a line that drops long frames? */
static bool drops(const struct m_world *w, const struct m_end *e)
{
	return w->sc->drops && e->tag && m_line_drops(w, m_path_line(e));
}

/* May a half or a verb be too long? */
static bool is_short(const struct m_world *w)
{
	unsigned int who;

	for (who = A; who <= B; who++) {
		const struct m_end *e = &w->end[who];

		if (e->narrow || (e->tag && m_short(&e->link)) || drops(w, e))
			return true;
	}
	return w->sc->shorter;
}

/* A half that waited for one. */
static void prove_halves(struct m_world *w, FILE *out)
{
	unsigned int first, who;

	for (who = A; who <= B && !w->why; who++) {
		first = m_half_of(w, who);
		if (!first)
			continue;
		prove_step(w, M_ACT(M_POST_HALF, !who, 15), out);
		prove_from(w, w->ntx, out);
		if (!w->why)
			committed(w, first);
	}
}

/* In time the ends find that longer frames get through, where they do. */
static void prove_longer(struct m_world *w, FILE *out)
{
	unsigned int who;

	for (who = A; who <= B && !w->why; who++) {
		const struct m_end *e = &w->end[who];

		if (!e->tag || !e->link.mtu.path || drops(w, e))
			continue;
		prove_step(w, M_ACT(M_FOUND, who, 1), out);
		prove_from(w, w->ntx + 1, out);
	}
	if (!w->why && !is_short(w))
		prove_halves(w, out);
}

/*
 * An idle end asks, and leaves a line that is not whole. Whoever hears the peer by another line
 * need not.
 */
static void prove_idle(struct m_world *w, FILE *out)
{
	unsigned int who;

	for (who = A; who <= B && !w->why; who++) {
		if (!w->end[who].tag)
			continue;
		prove_step(w, M_ACT(M_AGAIN, who, 0), out);
		prove_from(w, w->ntx + 1, out);
		if (!w->why && !m_line_whole(w, m_path_line(&w->end[who])))
			m_fail(w, 0, "4.14: an idle end stays by a line that is not whole");
	}
}

/**
 * m_prove() - is the link a link again? Both ways, all sorts, in fair weather
 * @w: the world; a breach is then in @w->why
 * @out: where each step is told, or NULL
 */
void m_prove(struct m_world *w, FILE *out)
{
	/* Each line at once. */
	static const u16 posts[][5] = {
		{ M_ACT(M_POST, A, 15) }, { M_ACT(M_POST_EXPRESS, B, 15) },
		{ M_ACT(M_POST, B, 15) }, { M_ACT(M_POST_EXPRESS, A, 15) },
		{ M_ACT(M_POST_VERB, A, 15), M_ACT(M_POST_HALF, A, 15),
		  M_ACT(M_POST_HALF, B, 15), M_ACT(M_POST, B, 15) },
		{ M_ACT(M_POST_HALF, B, 15), M_ACT(M_POST_VERB, B, 15),
		  M_ACT(M_POST_HALF, A, 15) },
	};
	unsigned int i, j, first, who;

	/* Where what is posted would be too long: not for ever. */
	for (who = A; who <= B && w->sc->most; who++)
		if (w->end[who].narrow) {
			w->mtu++;
			prove_step(w, M_ACT(M_MTU, who, 0), out);
		}
	prove_from(w, w->ntx + 1, out);
	if (w->sc->lines && w->sc->probe)
		prove_idle(w, out);
	for (i = 0; i < sizeof(posts) / sizeof(posts[0]) && !w->why; i++) {
		if (posts[i][1] && !posts[i - 1][1])
			prove_longer(w, out);
		/* These are one frame, and here that is too long. */
		if (posts[i][1] && is_short(w))
			break;
		first = w->ntx + 1;
		for (j = 0; posts[i][j]; j++)
			prove_step(w, posts[i][j], out);
		prove_from(w, first, out);
	}
	if (w->sc->lines && !w->why)
		m_check_paths(w);
}

#define STAYS	8	/* SYNCs of each end that change nothing */

static bool none_open(const struct m_world *w)
{
	unsigned int who;

	for (who = A; who <= B; who++)
		if (w->end[who].tag && w->end[who].link.state == OAE_OPEN)
			return false;
	return true;
}

/* Both ends ask, and are not heard. */
static void ask_in_vain(struct m_world *w, FILE *out)
{
	unsigned int i, to;

	for (i = 0; i < 2 * STAYS && !w->why && none_open(w); i++) {
		if (!w->end[i & 1].tag)
			continue;
		prove_step(w, M_ACT(M_AGAIN, i & 1, 0), out);
		while (!w->why && (w->to[A].n || w->to[B].n)) {
			to = w->to[B].n ? B : A;
			prove_step(w, M_ACT(m_carries(w, to, &w->to[to].f[0]) ?
					    M_DELIVER : M_LOSE, to, 0), out);
		}
		m_reduce(w);
	}
}

/*
 * What was heard while a line was still whole may be named once, so each end may come up
 * once more. But not again and again.
 */
static void stays_down(struct m_world *w, FILE *out)
{
	unsigned int up;

	for (up = 0; up <= 2 && !w->why; up++) {
		ask_in_vain(w, out);
		if (none_open(w))
			return;
		prove_from(w, w->ntx + 1, out);
	}
	m_fail(w, 0, "4.14: up again and again, and no line is whole");
}

/* No line is whole, and both ends are down. Then one is whole, whichever. */
static void prove_down(struct m_world *w, FILE *out)
{
	static struct m_world down;
	unsigned int line;

	stays_down(w, out);
	down = *w;
	for (line = 0; line < w->sc->lines && !w->why; line++) {
		*w = down;
		/* Ends that have forgotten the link find each other by its own line. */
		if (line && !m_path_known(w, line))
			continue;
		w->weather = m_mended(line);
		prove_from(w, w->ntx + 1, out);
		if (!w->why)
			m_check_end(w);
		if (!w->why)
			m_prove(w, out);
	}
}

/* It is quiet, in this weather. */
static void at_end(struct search *s, const struct m_world *w, u32 n)
{
	bool down = m_none_whole(w);
	static struct m_world v;

	s->r.ends++;
	*fair_of(s, n, w->weather) = END;
	v = *w;
	if (!down)
		m_check_end(&v);
	/* An idle end need not freeze to find a line that is whole. */
	if (!down && w->sc->lines && m_same_run(w) && !m_matched(w))
		m_fail(&v, 0, "4.14: an idle end is not answered, and a line is whole");
	if (v.why) {
		report(s, n, 0xffff, v.why, v.why_id, w->weather, 0);
		return;
	}
	(down ? prove_down : m_prove)(&v, NULL);
	if (!v.why)
		return;
	report(s, n, 0xffff, v.why, v.why_id, w->weather, 0);
	fprintf(s->out, "      what is posted then (ltags have other names):\n");
	v = *w;
	(down ? prove_down : m_prove)(&v, s->out);
}

static bool intact(const struct m_world *w)
{
	unsigned int to, i;

	for (to = A; to <= B; to++)
		for (i = 0; i < w->to[to].n; i++)
			if (!m_corrupt(w->sc, to, &w->to[to].f[i]))
				return false;
	return true;
}

static void without(struct m_chan *c, unsigned int i)
{
	memmove(&c->f[i], &c->f[i + 1], (--c->n - i) * sizeof(c->f[0]));
}

/* Whatever an OFFER is, the shell lends places if there are too few for it. */
static void lend(struct m_world *w, unsigned int to)
{
	struct oae_actions a;
	struct h_event ev;

	m_remember(w);
	m_event(&ev, w, to, &a);
	h_lend(&ev);
	h_finish(&ev);
}

/* What reduce.c leaves out of a state does nothing in it. */
static bool does_nothing(const struct m_world *w, unsigned int to, unsigned int i)
{
	static struct m_world with, none;
	u8 a[M_PACKED], b[M_PACKED];
	unsigned int n;

	with = *w;
	m_step(&with, M_ACT(M_DELIVER, to, i));
	if (with.why)
		return false;
	none = *w;
	without(&none.to[to], i);
	/* In any event more of what waits goes. */
	if (w->sc->parts && none.end[to].tag)
		m_step(&none, M_ACT(M_MORE, to, 0));
	if (with.end[to].link.pair && !none.end[to].link.pair)
		lend(&none, to);
	m_reduce(&with);
	m_reduce(&none);
	n = m_pack(&with, a);
	return n == m_pack(&none, b) && !memcmp(a, b, n);
}

static void check_spent(struct m_world *w)
{
	unsigned int to, i;

	m_fix(w);
	for (to = A; to <= B; to++)
		for (i = 0; i < w->to[to].n && !w->why; i++)
			if (m_spent(w, to, &w->to[to].f[i]) && !does_nothing(w, to, i))
				m_fail(w, 0, "a frame of a number, a content or a run that is over does something");
}

static struct m_world stepped;		/* by step() */

/* One event; the state that it leads to, or NONE if that is a violation. */
static u32 step(struct search *s, const struct m_world *w, u32 n, u16 act)
{
	struct m_world *v = &stepped;
	u8 buf[M_PACKED];

	*v = *w;
	m_random_from(1000);
	m_step(v, act);
	s->r.steps++;
	if (!v->why)
		check_spent(v);
	if (v->why) {
		report(s, n, act, v->why, v->why_id, M_ACT_WEATHER(act), 0);
		return NONE;
	}
	m_reduce(v);
	return visit(s, buf, m_pack(v, buf), n, act);
}

/* Is a frame of an earlier run under way, and this end in another run? */
static bool remains(const struct m_world *w, unsigned int to)
{
	const struct m_end *e = &w->end[to], *p = &w->end[!to];
	unsigned int i;

	if (!e->tag || !p->tag || e->link.state != OAE_OPEN)
		return false;
	for (i = 0; i < w->to[to].n; i++) {
		const struct m_frame *f = &w->to[to].f[i];

		if (f->opcode >= OAE_OFFER && (f->dst != e->link.ltag ||
					       f->src != e->link.peer.ltag))
			return true;
	}
	return false;
}

#define WALK		200	/* steps, at most */

/*
 * To a state in which a frame of an earlier run is under way to an end in another
 * run, by events at random. No frame is lost, for that leads away from there.
 */
static void walk(struct search *s, u32 *random)
{
	static struct m_world w;
	u8 buf[M_PACKED];
	unsigned int i, count, tries;
	u16 acts[M_ACTS], act;
	u32 n = 0;

	m_random_from(1000);
	m_init(&w, s->sc);
	m_reduce(&w);
	for (i = 0; i < WALK && !s->r.violated; i++) {
		m_pack(&w, buf);
		m_unpack(&w, s->sc, buf);
		count = m_enabled(&w, acts);
		if (!count)
			return;
		for (tries = 0; tries < 8; tries++) {
			*random = *random * 1664525 + 1013904223;
			act = acts[(*random >> 8) % count];
			if (M_ACT_WHAT(act) != M_LOSE)
				break;
		}
		n = step(s, &w, n, act);
		w = stepped;
		if (s->r.violated || remains(&w, A) || remains(&w, B))
			return;
	}
}

/* All that may happen in a state, or, far from the beginning, what does in fair weather. */
static void expand(struct search *s, const u8 *state, u32 n)
{
	static struct m_world w;
	u16 acts[M_ACTS];
	unsigned int i, count;
	int fair;
	u32 to;

	m_unpack(&w, s->sc, state);
	if (!intact(&w)) {
		report(s, n, 0xffff, "G1: a changed frame is taken for good, or a good one is not",
		       0, 0, 0);
		return;
	}
	fair = s->first_weather ? -1 : m_fair(&w);
	count = m_enabled(&w, acts);
	for (i = 0; i < count && !s->r.violated; i++) {
		if (s->r.near && acts[i] != fair)
			continue;
		to = step(s, &w, n, acts[i]);
		if (acts[i] == fair)
			*fair_of(s, n, 0) = to;
	}
	for (i = 0; i < s->weathers && !s->r.violated; i++) {
		w.weather = s->first_weather + i;
		fair = m_fair(&w);
		if (fair < 0) {
			at_end(s, &w, n);
		} else if (*fair_of(s, n, w.weather) == NONE) {
			to = step(s, &w, n, fair);
			*fair_of(s, n, w.weather) = to;
		}
	}
}

/* From every state to the end, each looked at once. */
static void follow(struct search *s, unsigned int weather)
{
	u16 *left = need(calloc(s->r.states, sizeof(*left)));
	u32 *trail = need(malloc(0x10000 * sizeof(*trail)));
	unsigned int len, d;
	u32 n, at;

	for (n = 0; n < s->r.states && !s->r.violated; n++) {
		len = 0;
		/* Of a search with a bound on events the last states lead nowhere. */
		for (at = n; *fair_of(s, at, weather) < END && !left[at];
		     at = *fair_of(s, at, weather)) {
			trail[len++] = at;
			/* So long a way is a circle. */
			if (len == 0xffff)
				break;
		}
		if (len == 0xffff) {
			report(s, n, 0xffff, "G5: from here fair weather leads round in a circle, not to the end",
			       0, weather, 40);
			break;
		}
		for (d = left[at]; len; len--)
			left[trail[len - 1]] = ++d;
		if (d > s->r.fair)
			s->r.fair = d;
	}
	free(left);
	free(trail);
}

/**
 * m_search() - explore a scenario
 * @sc: the scenario
 * @limits: what it may take
 * @out: where a violation is told
 *
 * Return: what was seen.
 */
struct m_result m_search(const struct m_scenario *sc,
			 const struct m_limits *limits, FILE *out)
{
	struct search s = { .sc = sc, .limits = limits, .out = out };
	static struct m_world w;
	u8 buf[M_PACKED];
	u32 n, *depth, level_end, random = 1;
	unsigned int level = 0, i;
	const u8 *state;

	s.weathers = m_weathers(sc, &s.first_weather);
	m_random_from(1000);
	m_init(&w, sc);
	m_reduce(&w);
	visit(&s, buf, m_pack(&w, buf), 0, 0);
	for (i = 0; i < sc->walks && !s.r.violated; i++)
		walk(&s, &random);
	level_end = s.r.states;
	for (n = 0; !s.r.violated; n++) {
		/* The states of the walks are where a search with a bound begins. */
		if (n == level_end) {
			level_end = s.r.states;
			if (++level == sc->levels)
				break;
		}
		state = dequeue(&s);
		if (!state)
			break;
		if (limits->near && n >= limits->near && !sc->walks)
			s.r.near = true;
		expand(&s, state, n);
		if (bytes(&s) > s.r.bytes)
			s.r.bytes = bytes(&s);
		if (s.r.states > limits->states || s.r.bytes > limits->bytes) {
			s.r.full = true;
			break;
		}
		if (limits->progress && !(n & 0xfffff) && n)
			fprintf(stderr, "%s: %u of %lu states\n", sc->name, n,
				s.r.states);
	}
	for (n = 0; n < s.weathers && !sc->waits && !s.r.violated && !s.r.full; n++)
		follow(&s, s.first_weather + n);

	depth = need(calloc(s.r.states, sizeof(*depth)));
	for (n = 1; n < s.r.states; n++) {
		depth[n] = depth[s.node[n].from] + 1;
		if (depth[n] > s.r.depth)
			s.r.depth = depth[n];
	}
	free(depth);
	free(s.print);
	free(s.number);
	free(s.node);
	free(s.fair);
	while (s.first) {
		struct chunk *c = s.first;

		s.first = c->next;
		free(c);
	}
	return s.r;
}
