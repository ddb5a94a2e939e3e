// SPDX-License-Identifier: GPL-2.0
/* What happened when. See series.h. */
#include <stdlib.h>
#include "series.h"
#include "sim.h"

#define FIRST_WIDTH	1000	/* ns */

/**
 * series_init() - begin a series
 * @s: the series
 * @start: when the first window begins, ns
 */
void series_init(struct series *s, u64 start)
{
	s->start = start;
	s->width = FIRST_WIDTH;
	s->end = start + FIRST_WIDTH;
	s->n = 1;
	s->w = need(calloc(SERIES_WINDOWS, sizeof(*s->w)));
}

/**
 * series_free() - free what series_init() made
 * @s: the series
 */
void series_free(struct series *s)
{
	free(s->w);
}

static void merge(struct window *into, const struct window *from)
{
	into->committed += from->committed;
	into->reversed += from->reversed;
	into->unknown += from->unknown;
	into->lost += from->lost;
	into->failures += from->failures;
	into->resolved += from->resolved;
	into->cable_faults += from->cable_faults;
	into->failovers += from->failovers;
	hist_merge(&into->latency, &from->latency);
}

static void halve(struct series *s)
{
	u32 i;

	for (i = 0; i < SERIES_WINDOWS / 2; i++) {
		if (i)
			s->w[i] = s->w[2 * i];
		merge(&s->w[i], &s->w[2 * i + 1]);
	}
	memset(&s->w[i], 0, (SERIES_WINDOWS - i) * sizeof(*s->w));
	s->width *= 2;
	s->n = (s->n + 1) / 2;
}

/**
 * series_turn() - the current window is over
 * @s: the series
 * @now: ns
 */
void series_turn(struct series *s, u64 now)
{
	while ((now - s->start) / s->width >= SERIES_WINDOWS)
		halve(s);
	s->n = (now - s->start) / s->width + 1;
	s->end = s->start + s->n * s->width;
}
