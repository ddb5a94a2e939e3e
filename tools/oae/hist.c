// SPDX-License-Identifier: GPL-2.0
/* Round trips, counted. See hist.h. */
#include "hist.h"

/* Below 2 * HIST_FINE a class a ns; then HIST_FINE to each doubling. */
static unsigned int class_of(unsigned long long ns)
{
	unsigned int e;

	if (ns < 2 * HIST_FINE)
		return ns;
	if (ns >> HIST_TOP)
		ns = (1ULL << HIST_TOP) - 1;
	e = 63 - __builtin_clzll(ns) - 5;
	return e * HIST_FINE + (ns >> e);
}

/* Where a class begins. */
static unsigned long long begin_of(unsigned int class)
{
	unsigned int e;

	if (class < 2 * HIST_FINE)
		return class;
	e = class / HIST_FINE - 1;
	return (unsigned long long)(class - e * HIST_FINE) << e;
}

void hist_add(struct hist *h, unsigned long long ns)
{
	if (!h->count || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	h->count++;
	h->n[class_of(ns)]++;
}

unsigned long long hist_percentile(const struct hist *h, unsigned int percent)
{
	return hist_permille(h, percent * 10);
}

unsigned long long hist_permille(const struct hist *h, unsigned int permille)
{
	unsigned long long rank = (h->count * permille + 999) / 1000, seen = 0, v;
	unsigned int i;

	for (i = 0; i < HIST_CLASSES; i++) {
		seen += h->n[i];
		if (!seen || seen < rank)
			continue;
		v = (begin_of(i) + begin_of(i + 1)) / 2;
		return v < h->min ? h->min : v > h->max ? h->max : v;
	}
	return h->max;
}

unsigned long long hist_line(const struct hist *h, unsigned int line, unsigned long long *from,
			     unsigned long long *to)
{
	unsigned int per = HIST_FINE / HIST_SHOWN, i;
	unsigned long long n = 0;

	for (i = line * per; i < (line + 1) * per; i++)
		n += h->n[i];
	*from = begin_of(line * per);
	*to = begin_of((line + 1) * per);
	return n;
}
