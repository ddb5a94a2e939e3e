/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happened when: a row of windows of one width. When there are too many,
 * two and two are made one.
 */
#ifndef SIM_SERIES_H
#define SIM_SERIES_H

#include "hist.h"

#define SERIES_WINDOWS	256

struct window {
	u64 committed, reversed, unknown, lost;
	u64 failures, resolved;
	u64 cable_faults, failovers;
	struct hist latency;
};

struct series {
	u64 start, width;
	u64 end;		/* of the current window */
	u32 n;			/* windows used, the current one the last */
	struct window *w;
};

void series_init(struct series *s, u64 start);
void series_free(struct series *s);
void series_turn(struct series *s, u64 now);

static inline struct window *series_now(struct series *s, u64 now)
{
	if (now >= s->end)
		series_turn(s, now);
	return &s->w[s->n - 1];
}

#endif /* SIM_SERIES_H */
