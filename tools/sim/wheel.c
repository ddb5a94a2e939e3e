// SPDX-License-Identifier: GPL-2.0
/* The queue of events. See wheel.h. */
#include <stdlib.h>
#include "wheel.h"
#include "sim.h"

static unsigned int shift(unsigned int level)
{
	return WHEEL_FINEST + level * WHEEL_BITS;
}

static unsigned int place(u64 when, unsigned int level)
{
	return when >> shift(level) & (WHEEL_BUCKETS - 1);
}

static struct chunk *new_chunk(struct wheel *w, struct chunk *next)
{
	struct chunk *c = w->spare;

	if (c)
		w->spare = c->next;
	else
		c = need(malloc(sizeof(*c)));
	c->next = next;
	c->n = 0;
	return c;
}

static void free_chunk(struct wheel *w, struct chunk *c)
{
	c->next = w->spare;
	w->spare = c;
}

static void to_level(struct wheel *w, unsigned int level, const struct event *ev)
{
	struct wheel_level *l = &w->level[level];
	unsigned int i = place(ev->when, level);
	struct chunk *c = l->bucket[i];

	if (!c || c->n == CHUNK_EVENTS) {
		c = new_chunk(w, c);
		l->bucket[i] = c;
		l->map[i / 64] |= 1ULL << i % 64;
	}
	c->ev[c->n++] = *ev;
}

/* Take a bucket out, oldest chunk first. */
static struct chunk *take_bucket(struct wheel *w, unsigned int level,
				 unsigned int i)
{
	struct wheel_level *l = &w->level[level];
	struct chunk *c = l->bucket[i], *list = NULL, *next;

	l->bucket[i] = NULL;
	l->map[i / 64] &= ~(1ULL << i % 64);
	for (; c; c = next) {
		next = c->next;
		c->next = list;
		list = c;
	}
	return list;
}

static void make_room(struct wheel *w, u32 n)
{
	if (n <= w->room)
		return;
	while (w->room < n)
		w->room = w->room ? w->room * 2 : 1024;
	w->open = need(realloc(w->open, w->room * sizeof(*w->open)));
	w->sorting = need(realloc(w->sorting, w->room * sizeof(*w->open)));
}

/* Counting sort by the last bits of the time: equal ones stay in order. */
static void sort_open(struct wheel *w)
{
	u32 at[1 << WHEEL_FINEST] = { 0 };
	const u64 mask = (1 << WHEEL_FINEST) - 1;
	u32 i, sum = 0, n;

	if (w->n < 2)
		return;
	for (i = 0; i < w->n; i++)
		at[w->open[i].when & mask]++;
	for (i = 0; i <= mask; i++) {
		n = at[i];
		at[i] = sum;
		sum += n;
	}
	for (i = 0; i < w->n; i++)
		w->sorting[at[w->open[i].when & mask]++] = w->open[i];
	swap_pointers((void **)&w->open, (void **)&w->sorting);
}

static void open_bucket(struct wheel *w, unsigned int i)
{
	struct chunk *c = take_bucket(w, 0, i), *next;

	w->n = 0;
	w->i = 0;
	for (; c; c = next) {
		next = c->next;
		make_room(w, w->n + c->n);
		memcpy(w->open + w->n, c->ev, c->n * sizeof(c->ev[0]));
		w->n += c->n;
		free_chunk(w, c);
	}
	sort_open(w);
}

/* A bucket's time has come: its events go to the level below. */
static void spread(struct wheel *w, unsigned int level, unsigned int i)
{
	struct chunk *c = take_bucket(w, level, i), *next;
	unsigned int j;

	for (; c; c = next) {
		next = c->next;
		for (j = 0; j < c->n; j++)
			to_level(w, level - 1, &c->ev[j]);
		free_chunk(w, c);
	}
}

/* The first bucket with something in it, from i on; -1 none. */
static int find_bucket(const struct wheel_level *l, unsigned int i)
{
	u64 bits;

	if (i >= WHEEL_BUCKETS)
		return -1;
	bits = l->map[i / 64] & ~0ULL << i % 64;
	for (i /= 64; !bits;) {
		if (++i == WHEEL_BUCKETS / 64)
			return -1;
		bits = l->map[i];
	}
	return i * 64 + __builtin_ctzll(bits);
}

/**
 * wheel_turn() - open the next bucket that has something in it
 * @w: the wheel; the open bucket is used up
 *
 * Return: false if there is none.
 */
bool wheel_turn(struct wheel *w)
{
	unsigned int level = 0, from = place(w->base, 0) + 1;
	int i;

	while (level < WHEEL_LEVELS) {
		i = find_bucket(&w->level[level], from);
		if (i < 0) {
			level++;
			from = place(w->base, level) + 1;
			continue;
		}
		w->base = w->base >> shift(level + 1) << shift(level + 1) |
			  (u64)i << shift(level);
		if (!level) {
			open_bucket(w, i);
			return true;
		}
		spread(w, level--, i);
		from = 0;
	}
	return false;
}

/* Into the bucket that is open, behind all that are not later. */
static void to_open(struct wheel *w, const struct event *ev)
{
	u32 i;

	make_room(w, w->n + 1);
	for (i = w->n++; i > w->i && w->open[i - 1].when > ev->when; i--)
		w->open[i] = w->open[i - 1];
	w->open[i] = *ev;
}

/**
 * wheel_put() - put an event in
 * @w: the wheel
 * @when: ns, not before the event that was taken out last; beyond WHEEL_MAX is
 *	never
 * @ref: EVENT_REF()
 * @end: whatever
 */
void wheel_put(struct wheel *w, u64 when, u32 ref, u32 end)
{
	const struct event ev = { .when = when, .ref = ref, .end = end };
	u64 differ = when ^ w->base;
	unsigned int level = 0;

	/* The wheel may have turned ahead of time, when nothing was due. */
	if (!(differ >> WHEEL_FINEST) || when < w->base) {
		to_open(w, &ev);
		return;
	}
	if (when >= WHEEL_MAX)
		return;
	while (differ >> shift(level + 1))
		level++;
	to_level(w, level, &ev);
}

/**
 * wheel_init() - make a wheel, empty, at time 0
 * @w: the wheel
 */
void wheel_init(struct wheel *w)
{
	memset(w, 0, sizeof(*w));
}

/**
 * wheel_free() - free what a wheel holds
 * @w: the wheel
 */
void wheel_free(struct wheel *w)
{
	unsigned int level, i;
	struct chunk *c, *next;

	for (level = 0; level < WHEEL_LEVELS; level++) {
		for (i = 0; i < WHEEL_BUCKETS; i++) {
			for (c = w->level[level].bucket[i]; c; c = next) {
				next = c->next;
				free(c);
			}
		}
	}
	for (c = w->spare; c; c = next) {
		next = c->next;
		free(c);
	}
	free(w->open);
	free(w->sorting);
}
