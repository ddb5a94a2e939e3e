/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round trips, counted: 32 classes to each doubling, so a percentile is right to
 * 3 %; shown four to a doubling. Least and greatest are exact.
 */
#ifndef OAE_HIST_H
#define OAE_HIST_H

#define HIST_FINE	32	/* classes to a doubling */
#define HIST_SHOWN	4	/* lines to a doubling */
#define HIST_TOP	42	/* times below 2^42 ns, more than an hour */
#define HIST_CLASSES	((HIST_TOP - 4) * HIST_FINE)
#define HIST_LINES	(HIST_CLASSES / (HIST_FINE / HIST_SHOWN))

struct hist {
	unsigned long long count, min, max;
	unsigned long long n[HIST_CLASSES];
};

void hist_add(struct hist *h, unsigned long long ns);
/* The time that @percent of them were not above; 0 if there are none. */
unsigned long long hist_percentile(const struct hist *h, unsigned int percent);
/* The same in thousandths, for the 99.9th percentile. */
unsigned long long hist_permille(const struct hist *h, unsigned int permille);
/* A line to show: from, to (not included), and how many. */
unsigned long long hist_line(const struct hist *h, unsigned int line, unsigned long long *from,
			     unsigned long long *to);

#endif /* OAE_HIST_H */
