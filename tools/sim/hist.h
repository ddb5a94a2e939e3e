/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histograms of times: 64 classes to each doubling, so that a percentile is
 * right to 1.6 %, whatever its size. Counting one is an increment.
 */
#ifndef SIM_HIST_H
#define SIM_HIST_H

#include "oae_types.h"

#define HIST_SUB	6	/* 2^6 classes to a doubling */
#define HIST_TOP	41	/* times below 2^41 ns, 36 minutes */
#define HIST_CLASSES	((HIST_TOP - HIST_SUB + 1) << HIST_SUB)
#define HIST_DOUBLINGS	(HIST_TOP + 1)

struct hist {
	u64 count;
	u64 sum;
	u64 max;
	u32 n[HIST_CLASSES];
};

static inline unsigned int hist_class(u64 ns)
{
	unsigned int e;

	if (ns < 2 << HIST_SUB)
		return ns;
	if (ns >> HIST_TOP)
		ns = (1ULL << HIST_TOP) - 1;
	e = 63 - __builtin_clzll(ns) - HIST_SUB;
	return (e << HIST_SUB) + (ns >> e);
}

static inline void hist_add(struct hist *h, u64 ns)
{
	h->count++;
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
	h->n[hist_class(ns)]++;
}

void hist_merge(struct hist *into, const struct hist *from);
u64 hist_percentile(const struct hist *h, unsigned int per100k);
u64 hist_doubling(const struct hist *h, unsigned int i);

#endif /* SIM_HIST_H */
