/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue of events: a hierarchical time wheel.
 *
 * Four levels of 1024 buckets. A bucket of the lowest is 64 ns wide; one of a
 * higher level is as wide as all of the level below, into which it is spread
 * when its time comes. The bucket whose time it is lies sorted in an array, so
 * what comes next is known in advance and can be prefetched. Events of the same
 * nanosecond come in the order in which they were put in.
 */
#ifndef SIM_WHEEL_H
#define SIM_WHEEL_H

#include "oae_types.h"

#define WHEEL_BITS	10	/* log2 of its buckets */
#define WHEEL_BUCKETS	1024
#define WHEEL_FINEST	6	/* log2 of the ns of a lowest bucket */
#define WHEEL_LEVELS	4
#define WHEEL_MAX	(1ULL << (WHEEL_FINEST + WHEEL_LEVELS * WHEEL_BITS))

/* What an event means is its owner's: 4 bits of kind, and two numbers. */
struct event {
	u64 when;
	u32 ref;	/* kind in the top 4 bits */
	u32 end;
};

#define EVENT_REF(kind, index)	((u32)(kind) << 28 | (index))
#define EVENT_KIND(ref)		((ref) >> 28)
#define EVENT_INDEX(ref)	((ref) & 0xfffffff)

#define CHUNK_EVENTS	63

struct chunk {
	struct chunk *next;
	u64 n;
	struct event ev[CHUNK_EVENTS];
};

struct wheel {
	u64 base;		/* when the open bucket begins */
	struct event *open;	/* it, sorted */
	struct event *sorting;
	u32 n, i, room;
	struct chunk *spare;
	struct wheel_level {
		u64 map[WHEEL_BUCKETS / 64];
		struct chunk *bucket[WHEEL_BUCKETS];
	} level[WHEEL_LEVELS];
};

void wheel_init(struct wheel *w);
void wheel_free(struct wheel *w);
void wheel_put(struct wheel *w, u64 when, u32 ref, u32 end);
bool wheel_turn(struct wheel *w);

/* The next event, which stays; NULL if there is none. */
static inline const struct event *wheel_peek(struct wheel *w)
{
	if (w->i == w->n && !wheel_turn(w))
		return NULL;
	return &w->open[w->i];
}

static inline void wheel_pop(struct wheel *w)
{
	w->i++;
}

/* The one that comes so many after the next, if already known; else NULL. */
static inline const struct event *wheel_ahead(const struct wheel *w, u32 many)
{
	return w->i + many < w->n ? &w->open[w->i + many] : NULL;
}

#endif /* SIM_WHEEL_H */
