// SPDX-License-Identifier: GPL-2.0
/* Histograms of times. See hist.h. */
#include "hist.h"

/**
 * hist_merge() - add what another histogram counted
 * @into: the one that grows
 * @from: the other
 */
void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned int i;

	if (!from->count)
		return;
	into->count += from->count;
	into->sum += from->sum;
	if (from->max > into->max)
		into->max = from->max;
	for (i = 0; i < HIST_CLASSES; i++)
		into->n[i] += from->n[i];
}

/* The greatest time of a class. */
static u64 class_end(unsigned int i)
{
	unsigned int e = i >> HIST_SUB;

	if (e < 2)
		return i;
	e--;
	return (((u64)i - (e << HIST_SUB) + 1) << e) - 1;
}

/**
 * hist_percentile() - the time that so many were not above
 * @h: the histogram
 * @per100k: of 100,000: 50000 for the median, 99900 for p99.9
 *
 * Return: ns, 0 if nothing was counted.
 */
u64 hist_percentile(const struct hist *h, unsigned int per100k)
{
	u64 rank = (h->count * per100k + 99999) / 100000, seen = 0;
	unsigned int i;

	for (i = 0; i < HIST_CLASSES; i++) {
		seen += h->n[i];
		if (seen >= rank && seen)
			return class_end(i) < h->max ? class_end(i) : h->max;
	}
	return h->max;
}

/**
 * hist_doubling() - how many times were from 2^(@i - 1) ns to below 2^@i
 * @h: the histogram
 * @i: below HIST_DOUBLINGS
 *
 * Return: how many; longer times are those of the last one.
 */
u64 hist_doubling(const struct hist *h, unsigned int i)
{
	unsigned int from = i ? hist_class(1ULL << (i - 1)) : 0, to = hist_class((1ULL << i) - 1);
	u64 n = 0;

	for (; h->count && from <= to; from++)
		n += h->n[from];
	return n;
}
