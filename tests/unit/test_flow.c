// SPDX-License-Identifier: GPL-2.0
/*
 * The transport in time: what a link makes of lines that lose nothing, lose a little, only
 * delay, or are shared by many. Each row is a network for some seconds of its own time, by a
 * seed, and has bounds. One that is known to be missed is marked so. A bound that is missed and
 * has no mark fails the program; so does, with the seed 1, a mark of a bound that holds.
 *
 *	OAE_FLOW_SECONDS	of the rows of two good cables (default 12)
 *	OAE_FLOW_SEED		the first seed (default 1)
 *	OAE_FLOW_ROW		only rows whose name begins so
 *
 * slices are the OFFERs that were sent, needed are those of what was committed, and ratio is
 * the one by the other; frames are of all kinds. share is what was needed of the rate of the
 * line to B, and fair is Jain's index of what each link got.
 */
#include <time.h>
#include "unit.h"
#include "sim_flow.h"

#define GBIT		8		/* ns a byte */
#define FAST		80		/* 100 Mbit/s */
#define WARM		(50 * FLOW_MS)
#define DRAIN		(10 * FLOW_S)
#define FIND		40000		/* frames, at most, until a path is to be found lossy */
#define FIND_SEEDS	20
#define SECONDS		env("OAE_FLOW_SECONDS", 12)

enum { LOSSY = 1, FREEZES = 2, RATIO = 4, SHARE = 8, FAIR = 16, FOUND = 32 };

/**
 * struct row - a network, and what is to be seen of it
 * @name: of the row
 * @net: the network; seed 0
 * @ms: for so long
 * @calm: nothing is lost, so no path is lossy, and nothing freezes
 * @ratio: slices a slice that is needed, at most, in hundredths; 0 any
 * @share: of the line's rate, at least, in hundredths; 0 any
 * @fair: Jain's index, at least, in hundredths; 0 any
 * @lose: frames of one path to B are lost then, in FLOW_OF; it is found lossy, median of
 *	FIND_SEEDS, in 3300 frames
 * @missed: set of the bounds that are known to be missed
 */
struct row {
	const char *name;
	struct flow_net net;
	unsigned int ms;
	bool calm;
	unsigned int ratio, share, fair, lose;
	unsigned int missed;
};

struct seen {
	unsigned long frames, slices, needed, commits, freezes, lossy, dropped, median;
	double ratio, share, fair, mbit, cpu;
	unsigned int missed;
};

#define ONE(...)	.pairs = 1, .paths = 1, .like = { { __VA_ARGS__ } }
#define TWO(...)	.pairs = 1, .paths = 2, .like = { { __VA_ARGS__ }, { __VA_ARGS__ } }
#define MIXED		{ .deep = 64, .len = 64, .often = 20, .long_len = 65536 }
#define SMALL		{ .deep = 64, .len = 64 }
#define LARGE		{ .deep = 64, .len = 65536 }
#define SOME		{ .deep = 64, .len = 64, .len_to = 16384 }
#define WINDOW(n)	.window = (n), .pack = true, .rcvbuf = 262144
#define USUAL		WINDOW(16)
#define WIDE		.window = 64, .pack = true, .rcvbuf = 1 << 22
#define JITTER		.jitter = 5 * FLOW_US
#define NEAR		.delay = 10 * FLOW_US, JITTER
#define LATE		.late = 2000, .very_late = 300 * FLOW_US
#define HOLDS		.hold = 5 * FLOW_MS, .every = 37 * FLOW_MS
#define FRAMES(n)	{ .deep = 64, .most = (n), .len = 1400 }
#define INCAST(n, b, q)	{ .pairs = (n), .paths = 1, USUAL, .work = { LARGE }, \
			  .like = { { .byte = (b), .delay = 5 * FLOW_US, JITTER } }, \
			  .shared = { { .byte = (b), .delay = 5 * FLOW_US }, \
				      { .byte = (b), .delay = 5 * FLOW_US, .queue = (q) } } }
#define BY_TURNS	.ratio = 115, .share = 94, .fair = 95

static const struct row rows[] = {
	{ "1 two cables, 100 Mbit/s", { TWO(.byte = FAST, NEAR), USUAL, .work = { MIXED, SMALL } },
	  .calm = true },
	{ "1 the same, 1 Gbit/s", { TWO(.byte = GBIT, NEAR), USUAL, .work = { MIXED, SMALL } },
	  .calm = true },
	{ "2 delay 2 ms", { ONE(.byte = GBIT, .delay = 2 * FLOW_MS, JITTER), USUAL,
	  .work = { MIXED, MIXED } }, .ms = 3000, .calm = true },
	{ "2 delay 5 ms", { ONE(.byte = GBIT, .delay = 5 * FLOW_MS, JITTER), USUAL,
	  .work = { MIXED, MIXED } }, .ms = 3000, .calm = true },
	{ "2 delay 20 ms", { ONE(.byte = GBIT, .delay = 20 * FLOW_MS, JITTER), USUAL,
	  .work = { MIXED, MIXED } }, .ms = 6000, .calm = true },
	{ "2 delay 2, 5, 20 ms by turns", { ONE(.byte = GBIT, .each = 400 * FLOW_MS, JITTER,
	  .delays = { 2 * FLOW_MS, 5 * FLOW_MS, 20 * FLOW_MS }), USUAL,
	  .work = { MIXED, MIXED } }, .ms = 6000, .calm = true },
	{ "3 2 % up to 300 us late", { ONE(.byte = GBIT, NEAR, LATE), USUAL,
	  .work = { MIXED, SMALL } }, .ms = 2000, .calm = true },
	{ "3 the same, one frame each", { ONE(.byte = GBIT, NEAR, LATE), USUAL,
	  .work = { FRAMES(64), FRAMES(64) } }, .ms = 2000, .calm = true },
	{ "4 holds 5 ms each 37 ms", { ONE(.byte = GBIT, NEAR, HOLDS), USUAL,
	  .work = { MIXED, SMALL } }, .ms = 4000, .calm = true },
	{ "4 one way, one at a time", { ONE(.byte = GBIT, NEAR, .one_way = true, HOLDS), USUAL,
	  .work = { FRAMES(1) } }, .ms = 4000, .calm = true },
	{ "5 bond, 5 us apart", { ONE(.byte = GBIT, NEAR, .other = 5 * FLOW_US), USUAL,
	  .work = { MIXED, SMALL } }, .ms = 2000, .calm = true },
	{ "5 bond, 50 us apart", { ONE(.byte = GBIT, NEAR, .other = 50 * FLOW_US), USUAL,
	  .work = { MIXED, SMALL } }, .ms = 2000, .calm = true },
	{ "6 one loses 0.5 % one way", { TWO(.byte = GBIT, NEAR), USUAL, .work = { SOME } },
	  .lose = 500, .missed = FOUND },
	{ "6 one loses 1 % one way", { TWO(.byte = GBIT, NEAR), USUAL, .work = { SOME } },
	  .lose = 1000 },
	{ "7 loss 1 % both ways", { ONE(.byte = GBIT, .delay = 50 * FLOW_US, .lose = 1000), USUAL,
	  .work = { LARGE } }, .ms = 2000 },
	{ "7 loss 10 % both ways", { ONE(.byte = GBIT, .delay = 50 * FLOW_US, .lose = 10000),
	  USUAL, .work = { LARGE } }, .ms = 2000 },
	{ "7 WAN, 100 Mbit/s", { ONE(.byte = FAST, .delay = 10 * FLOW_MS), WIDE,
	  .work = { LARGE } }, .ms = 5000, .calm = true, .share = 60 },
	{ "7 WAN, loss 0.1 % both ways", { ONE(.byte = FAST, .delay = 10 * FLOW_MS, .lose = 100),
	  WIDE, .work = { LARGE } }, .ms = 10000, .share = 50 },
	{ "8 incast 16, queue 64", INCAST(16, GBIT, 64), .ms = 2000, BY_TURNS },
	{ "8 incast 16, queue 1000", INCAST(16, GBIT, 1000), .ms = 2000, BY_TURNS },
	{ "8 incast 64, queue 64", INCAST(64, GBIT, 64), .ms = 2000, BY_TURNS,
	  .missed = RATIO | FAIR },
	{ "8 incast 64, queue 1000", INCAST(64, GBIT, 1000), .ms = 2000, BY_TURNS },
	{ "8 incast 16, queue 64, 100M", INCAST(16, FAST, 64), .ms = 6000, BY_TURNS },
	{ "9 slow reader", { ONE(.byte = GBIT, NEAR), USUAL,
	  .work = { LARGE, { .read = 2 * FLOW_MS } } }, .ms = 2000, .calm = true },
	{ "9 both directions", { ONE(.byte = GBIT, NEAR), USUAL, .work = { LARGE, LARGE } },
	  .ms = 1000, .calm = true },
	{ "9 window 1", { ONE(.byte = GBIT, NEAR), WINDOW(1), .work = { MIXED, MIXED } },
	  .ms = 1000, .calm = true },
	{ "9 window 64", { ONE(.byte = GBIT, NEAR), WINDOW(64), .work = { MIXED, MIXED } },
	  .ms = 1000, .calm = true },
};

static unsigned long env(const char *name, unsigned long otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoul(s, NULL, 0) : otherwise;
}

/* --- a run ------------------------------------------------------------------------- */

static void until_open(struct flow *w)
{
	u64 limit = w->now + 10 * FLOW_S;

	while (!w->why[0] && !flow_open(w) && w->now < limit)
		flow_run(w, w->now + FLOW_MS);
	if (!w->why[0] && !flow_open(w))
		snprintf(w->why, sizeof(w->why), "a link does not open");
}

static void until_drained(struct flow *w)
{
	u64 limit = w->now + DRAIN;
	unsigned int i;

	for (i = 0; i < 2 * w->npairs; i++)
		w->pair[i / 2].end[i & 1].work.deep = 0;
	while (!w->why[0] && w->now < limit) {
		for (i = 0; i < 2 * w->npairs; i++)
			if (w->pair[i / 2].end[i & 1].under_way)
				break;
		if (i == 2 * w->npairs)
			return;
		flow_run(w, w->now + FLOW_MS);
	}
	if (!w->why[0])
		snprintf(w->why, sizeof(w->why), "what was posted does not end");
}

/* What each link got in a time, and how much of the line that is. */
static void shares(struct flow *w, u64 ms, struct seen *s)
{
	static u64 wire[FLOW_PAIRS], bytes[FLOW_PAIRS];
	const struct flow_like *x = w->shared[B].like.byte ? &w->shared[B].like :
							     &w->pair[0].to[0][B].way.like;
	double sum = 0, squares = 0, got, all = 0;
	unsigned int i;
	u64 from;

	flow_run(w, w->now + WARM);
	from = w->now;
	for (i = 0; i < w->npairs; i++) {
		wire[i] = w->pair[i].end[A].wire;
		bytes[i] = w->pair[i].end[A].bytes;
	}
	flow_run(w, from + ms * FLOW_MS);
	for (i = 0; i < w->npairs; i++) {
		all += w->pair[i].end[A].wire - wire[i];
		got = w->pair[i].end[A].bytes - bytes[i];
		sum += got;
		squares += got * got;
	}
	s->share = all * x->byte / (ms * FLOW_MS) / (x->other ? 2 : 1);
	s->mbit = sum * 8000 / (ms * FLOW_MS);
	s->fair = squares ? sum * sum / (w->npairs * squares) : 0;
}

static void count(const struct flow *w, struct seen *s)
{
	unsigned int i, j;

	for (i = 0; i < 2 * w->npairs; i++) {
		const struct flow_end *e = &w->pair[i / 2].end[i & 1];

		s->frames += e->frames;
		s->slices += e->slices;
		s->needed += e->needed;
		s->commits += e->commits;
		s->freezes += flow_freezes(e);
		s->lossy += e->lossy;
		for (j = 0; j < w->npaths; j++)
			s->dropped += w->pair[i / 2].to[j][i & 1].way.dropped +
				      w->pair[i / 2].to[j][i & 1].other.dropped;
	}
	s->dropped += w->shared[A].dropped + w->shared[B].dropped;
	s->ratio = s->needed ? (double)s->slices / s->needed : 0;
}

static void broken(const struct flow *w, const struct row *r, u64 seed)
{
	if (w->why[0])
		fail_msg("%s, seed %llu: %s", r->name, (unsigned long long)seed, w->why);
}

static void one_run(const struct row *r, u64 seed, struct seen *s)
{
	struct flow_net net = r->net;
	struct flow *w;

	net.seed = seed;
	w = flow_new(&net);
	until_open(w);
	shares(w, r->ms ? r->ms : 1000 * SECONDS, s);
	until_drained(w);
	count(w, s);
	broken(w, r, seed);
	flow_free(w);
}

static int by_size(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* After how many frames the path is found lossy that loses some of them, one way. */
static unsigned long find(const struct row *r, u64 seed, struct seen *s)
{
	struct flow_net net = r->net;
	unsigned long from, n;
	struct flow_way *way;
	struct flow *w;
	u64 limit;

	net.seed = seed;
	w = flow_new(&net);
	until_open(w);
	limit = w->now + 20 * FLOW_S;
	/* Until all paths are known there is little to do. */
	w->pair[0].end[A].work.deep = 1;
	w->pair[0].end[B].work.deep = 0;
	while (!w->why[0] && !flow_proven(w) && w->now < limit)
		flow_run(w, w->now + FLOW_MS);
	if (!w->why[0] && !flow_proven(w))
		snprintf(w->why, sizeof(w->why), "a path is not proven");
	w->pair[0].end[A].work = net.work[A];
	w->pair[0].end[B].work = net.work[B];
	way = &w->pair[0].to[flow_used(&w->pair[0].end[A])][B];
	from = way->frames;
	way->way.like.lose = r->lose;
	limit = w->now + 20 * FLOW_S;
	do {
		flow_run(w, w->now + 20 * FLOW_US);
		n = way->frames - from;
	} while (!w->why[0] && !w->pair[0].end[A].lossy && !w->pair[0].end[B].lossy && n < FIND &&
		 w->now < limit);
	/* It has left the path, and did not say why. */
	n = w->now < limit ? n : FIND;
	count(w, s);
	broken(w, r, seed);
	flow_free(w);
	return n;
}

static void find_median(const struct row *r, u64 first, struct seen *s)
{
	unsigned long n[FIND_SEEDS];
	unsigned int i;

	for (i = 0; i < FIND_SEEDS; i++)
		n[i] = find(r, first + i, s);
	qsort(n, FIND_SEEDS, sizeof(n[0]), by_size);
	s->median = (n[FIND_SEEDS / 2 - 1] + n[FIND_SEEDS / 2]) / 2;
}

/* --- the table ---------------------------------------------------------------------- */

static void judge(const struct row *r, struct seen *s)
{
	s->missed |= r->calm && s->lossy ? LOSSY : 0;
	s->missed |= r->calm && s->freezes ? FREEZES : 0;
	s->missed |= r->ratio && s->ratio * 100 > r->ratio ? RATIO : 0;
	s->missed |= r->share && s->share * 100 < r->share ? SHARE : 0;
	s->missed |= r->fair && s->fair * 100 < r->fair ? FAIR : 0;
	s->missed |= r->lose && s->median > 3300 ? FOUND : 0;
}

static const char *bounds_text(unsigned int set, char text[64])
{
	static const char *const names[] = {
		"lossy", "freezes", "ratio", "share", "fair", "median",
	};
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (set & 1U << i)
			sprintf(text + strlen(text), " %s", names[i]);
	return text;
}

static void print(const struct row *r, const struct seen *s)
{
	char missed[64];

	printf("%-31s %8lu %8lu %8lu %6.3f %7lu %7lu %6lu %7lu", r->name, s->frames, s->slices,
	       s->needed, s->ratio, s->commits, s->freezes, s->lossy, s->dropped);
	if (r->lose)
		printf(" %24s %6lu", "", s->median);
	else
		printf(" %6.3f %6.3f %10.1f %6s", s->share, s->fair, s->mbit, "");
	printf(" %5.1f s%s%s\n", s->cpu, s->missed ? ", missed:" : "",
	       bounds_text(s->missed, missed));
	fflush(stdout);
}

TEST(test_flow)
{
	u64 seed = env("OAE_FLOW_SEED", 1);
	const char *only = getenv("OAE_FLOW_ROW");
	bool judged = seed == 1 && SECONDS == 12;	/* marks are of these */
	unsigned int i, wrong = 0;
	char text[64];

	printf("%-31s %8s %8s %8s %6s %7s %7s %6s %7s %6s %6s %10s %6s\n", "", "frames", "slices",
	       "needed", "ratio", "commits", "freezes", "lossy", "dropped", "share", "fair",
	       "Mbit/s", "median");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		clock_t began = clock();
		struct seen s = { 0 };

		if (only && strncmp(r->name, only, strlen(only)))
			continue;
		if (r->lose)
			find_median(r, seed, &s);
		else
			one_run(r, seed, &s);
		s.cpu = (double)(clock() - began) / CLOCKS_PER_SEC;
		judge(r, &s);
		print(r, &s);
		wrong += (s.missed & ~r->missed) || (judged && s.missed != r->missed);
		if (s.missed & ~r->missed)
			printf("*** %s: missed, and not marked:%s\n", r->name,
			       bounds_text(s.missed & ~r->missed, text));
		if (r->missed & ~s.missed && judged)
			printf("*** %s: marked as missed, and holds:%s\n", r->name,
			       bounds_text(r->missed & ~s.missed, text));
	}
	assert_int_equal(wrong, 0);
}

UNIT_MAIN("the transport in time")
