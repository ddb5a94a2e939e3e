// SPDX-License-Identifier: GPL-2.0
/*
 * Weather: which of several ways (4.8), or lines (4.14), carry frames from now on.
 *
 * Nothing in a state says which do. Any frame may be lost, or come late, so all that a
 * way or a line may do to a frame is explored: that it dies in one direction or in both,
 * at any time, for as long as it likes. But from each state the ends must find back in
 * every weather.
 */
#include "model.h"

/* To which end, and by which way or line: through the gateway is 1. */
#define CARRIES(to, way)	(1 << ((to) + 2 * (way)))
#define BOTH(way)		(CARRIES(A, way) | CARRIES(B, way))
#define ALL			(BOTH(0) | BOTH(1) | BOTH(2))

/* @shorts: and so many carry short frames only, as behind a switch that drops long ones. */
struct weather {
	u8 carries, shorts;
	const char *name;
};

/* Of each kind the first is that in which all else happens, too. */
static const struct weather fair[] = {
	{ ALL, 0, "" },
};

static const struct weather ways[] = {
	{ ALL, 0, "" },
	{ ALL, 0, ", both ways" },
	{ BOTH(0), 0, ", the direct way alone" },
	{ BOTH(1), 0, ", the gateway alone" },
	{ BOTH(0) | CARRIES(A, 1), 0, ", and the gateway to A only" },
	{ BOTH(0) | CARRIES(B, 1), 0, ", and the gateway to B only" },
	{ BOTH(1) | CARRIES(A, 0), 0, ", and the direct way to A only" },
	{ BOTH(1) | CARRIES(B, 0), 0, ", and the direct way to B only" },
};

#define OWN_WHOLE	5	/* of these: line 0 is whole */
static const struct weather two[] = {
	{ ALL, 0, "" },
	{ ALL, 0, ", both lines" },
	{ BOTH(0), 0, ", line 0 alone" },
	{ BOTH(0) | CARRIES(A, 1), 0, ", and line 1 to A only" },
	{ BOTH(0) | CARRIES(B, 1), 0, ", and line 1 to B only" },
	{ BOTH(1), 0, ", line 1 alone" },
	{ BOTH(1) | CARRIES(A, 0), 0, ", and line 0 to A only" },
	{ BOTH(1) | CARRIES(B, 0), 0, ", and line 0 to B only" },
};

/* A line drops long frames. */
static const struct weather drops[] = {
	{ ALL, 0, "" },
	{ BOTH(1), BOTH(0), ", line 1, and line 0 for short frames only" },
	{ BOTH(0), BOTH(1), ", line 0, and line 1 for short frames only" },
	{ 0, BOTH(0), ", line 0 alone, for short frames only" },
	{ 0, BOTH(1), ", line 1 alone, for short frames only" },
};

static const struct weather three[] = {
	{ ALL, 0, "" },
	{ ALL, 0, ", all lines" },
	{ BOTH(0), 0, ", line 0 alone" },
	{ BOTH(1), 0, ", line 1 alone" },
	{ BOTH(2), 0, ", line 2 alone" },
	{ BOTH(2) | CARRIES(A, 0) | CARRIES(B, 1), 0, ", line 0 to A only and line 1 to B only" },
	{ BOTH(1) | CARRIES(A, 2) | CARRIES(B, 0), 0, ", line 2 to A only and line 0 to B only" },
	{ BOTH(0) | CARRIES(A, 1) | CARRIES(B, 2), 0, ", line 1 to A only and line 2 to B only" },
};

/* No line is whole; then one is. */
#define MENDED		5
static const struct weather cross[] = {
	{ ALL, 0, "" },
	{ CARRIES(A, 0) | CARRIES(B, 1), 0, ", line 0 to A only and line 1 to B only" },
	{ CARRIES(B, 0) | CARRIES(A, 1), 0, ", line 0 to B only and line 1 to A only" },
	{ CARRIES(A, 0) | CARRIES(A, 1), 0, ", both lines to A only" },
	{ CARRIES(B, 0) | CARRIES(B, 1), 0, ", both lines to B only" },
	[MENDED] = { BOTH(0), 0, ", line 0 alone" },
	{ BOTH(1), 0, ", line 1 alone" },
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static const struct weather *table(const struct m_scenario *sc, unsigned int *n)
{
	if (sc->ways) {
		*n = COUNT(ways);
		return ways;
	}
	if (sc->cross) {
		*n = MENDED;
		return cross;
	}
	if (sc->drops) {
		*n = COUNT(drops);
		return drops;
	}
	if (sc->lines == 2) {
		*n = sc->own ? OWN_WHOLE : COUNT(two);
		return two;
	}
	if (sc->lines) {
		*n = COUNT(three);
		return three;
	}
	*n = COUNT(fair);
	return fair;
}

static const struct weather *now_in(const struct m_world *w)
{
	unsigned int n;

	return &table(w->sc, &n)[w->weather];
}

/**
 * m_weathers() - which kinds of fair weather there are
 * @sc: the scenario
 * @first: set to the first of them; 0, where there is one way only, is that in which
 *	all else happens, too
 *
 * Return: how many there are.
 */
unsigned int m_weathers(const struct m_scenario *sc, unsigned int *first)
{
	unsigned int n;

	table(sc, &n);
	*first = n > 1;
	return n - *first;
}

/**
 * m_weather_name() - which ways carry frames, to be said behind "fair weather"
 * @sc: the scenario
 * @weather: which one
 *
 * Return: the words.
 */
const char *m_weather_name(const struct m_scenario *sc, unsigned int weather)
{
	unsigned int n;

	return table(sc, &n)[weather].name;
}

/**
 * m_carries() - does what is sent to an end arrive, in this weather?
 * @w: the world
 * @to: the end
 * @f: the frame: by which way or line, and whether it is long
 *
 * Return: true if it does.
 */
bool m_carries(const struct m_world *w, unsigned int to, const struct m_frame *f)
{
	unsigned int way = f->flags & OAE_F_VIA ? 1 : f->line;
	const struct weather *wt = now_in(w);

	return (wt->carries | (m_frame_long(f) ? 0 : wt->shorts)) & CARRIES(to, way);
}

static bool both(u8 carries, unsigned int line)
{
	return (carries & BOTH(line)) == BOTH(line);
}

/**
 * m_line_drops() - does a line carry short frames only, in both directions?
 * @w: the world
 * @line: which one
 *
 * Return: true if so, in this weather.
 */
bool m_line_drops(const struct m_world *w, unsigned int line)
{
	return !both(now_in(w)->carries, line) && both(now_in(w)->shorts, line);
}

/**
 * m_line_whole() - does a line carry what is sent by it, in both directions?
 * @w: the world
 * @line: which one
 *
 * What it drops since that is too long does not count: that is found out.
 *
 * Return: true if so, in this weather.
 */
bool m_line_whole(const struct m_world *w, unsigned int line)
{
	return both(now_in(w)->carries, line) || m_line_drops(w, line);
}

/**
 * m_none_whole() - is there no line that is whole?
 * @w: the world
 *
 * Return: true if so, in this weather.
 */
bool m_none_whole(const struct m_world *w)
{
	unsigned int i;

	for (i = 0; i < w->sc->lines; i++)
		if (m_line_whole(w, i))
			return false;
	return w->sc->lines;
}

/**
 * m_mended() - the weather in which one line is whole, after one in which none was
 * @line: which one
 *
 * Return: the weather, of a scenario in whose weathers no line is whole.
 */
unsigned int m_mended(unsigned int line)
{
	return MENDED + line;
}

/**
 * m_wire_full() - is there no room for a frame on its way to an end?
 * @w: the world
 * @to: the end
 *
 * In fair weather there is room for more, lest it be none.
 *
 * Return: true if it is lost.
 */
bool m_wire_full(const struct m_world *w, unsigned int to)
{
	if (w->weather)
		return w->to[to].n >= M_CAP;
	return w->to[to].n + (w->sc->ways || w->sc->lines ? w->to[!to].n : 0) >= w->sc->cap;
}
