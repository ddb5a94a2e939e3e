// SPDX-License-Identifier: GPL-2.0
/*
 * The run as a picture, over simulated time: how long commits took, how many
 * there were, and what went otherwise. One file, no script, no font but the
 * viewer's own.
 */
#include <math.h>
#include "sim.h"
#include "units.h"

#define WIDTH	960
#define LEFT	84
#define RIGHT	176		/* for the legend */
#define TOP	74
#define PLOT	(WIDTH - LEFT - RIGHT)
#define HIGH	170		/* of a panel */
#define GAP	58

#define INK	"#222222"
#define FAINT	"#dddddd"
#define GREY	"#777777"

struct curve {
	const char *name, *colour;
	double v[SERIES_WINDOWS];	/* below 0: nothing there */
	bool none;			/* nothing anywhere */
	bool fill;
};

struct panel {
	const char *title;
	unsigned int y;
	bool logarithmic;
	bool is_time;
	double low, high;
	unsigned int n, windows;
	struct curve *curve;
};

struct picture {
	FILE *out;
	double span;		/* ns from left to right */
	double width;		/* of a window */
	double stopped;		/* when the faults did */
};

static double x_of(const struct picture *p, double ns)
{
	return LEFT + PLOT * (ns < p->span ? ns / p->span : 1);
}

static double y_of(const struct panel *a, double v)
{
	double part;

	if (a->logarithmic)
		part = v <= a->low ? 0 : log(v / a->low) / log(a->high / a->low);
	else
		part = v / a->high;
	return a->y + HIGH * (1 - part);
}

/* 1, 2 or 5 times a power of ten, for about so many steps. */
static double nice_step(double range, unsigned int steps)
{
	double raw = range / steps, ten = pow(10, floor(log10(raw)));

	if (raw / ten <= 1)
		return ten;
	if (raw / ten <= 2)
		return 2 * ten;
	return raw / ten <= 5 ? 5 * ten : 10 * ten;
}

static void put_text(const struct picture *p, double x, double y,
		     const char *more, const char *s)
{
	fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>%s</text>\n", x, y,
		*more ? " " : "", more, s);
}

static void put_line(const struct picture *p, double x1, double y1, double x2,
		     double y2, const char *colour)
{
	fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
		x1, y1, x2, y2, colour);
}

/* A number for an axis: 1.5k, 20M, or 20 us. */
static const char *tick_text(double v, bool is_time, char s[UNITS_TEXT])
{
	static const char *const count[] = { "", "k", "M", "G", "T", "P" };
	static const char *const times[] = { " ns", " us", " ms", " s", " s", " s" };
	unsigned int i = 0;

	for (; v >= 1000 && i < (is_time ? 3 : 5); i++)
		v /= 1000;
	snprintf(s, UNITS_TEXT, "%.4g%s", v, is_time ? times[i] : count[i]);
	return s;
}

static void y_tick(const struct picture *p, const struct panel *a, double v)
{
	char s[UNITS_TEXT];
	double y = y_of(a, v);

	put_line(p, LEFT, y, LEFT + PLOT, y, FAINT);
	put_text(p, LEFT - 8, y + 4, "text-anchor=\"end\"",
		 tick_text(v, a->is_time, s));
}

static void y_axis(const struct picture *p, const struct panel *a)
{
	double v, step;

	if (!a->logarithmic) {
		step = nice_step(a->high, 4);
		for (v = 0; v <= a->high * 1.0001; v += step)
			y_tick(p, a, v);
		return;
	}
	for (v = a->low; v <= a->high * 1.0001; v *= 10) {
		y_tick(p, a, v);
		/* Few decades leave room for more. */
		if (a->high / a->low < 50 && v * 3 < a->high)
			y_tick(p, a, v * 3);
	}
}

static void x_axis(const struct picture *p, const struct panel *a)
{
	double unit = p->span >= 5e9 ? 1e9 : p->span >= 5e6 ? 1e6 :
							       1e3;
	double step = nice_step(p->span, 8), t;
	char s[UNITS_TEXT];

	for (t = 0; t <= p->span * 1.0001; t += step) {
		double x = x_of(p, t);

		put_line(p, x, a->y + HIGH, x, a->y + HIGH + 5, GREY);
		snprintf(s, sizeof(s), "%.6g", t / unit);
		put_text(p, x, a->y + HIGH + 18, "text-anchor=\"middle\"", s);
	}
	snprintf(s, sizeof(s), "simulated time, %s",
		 unit == 1e9 ? "s" : unit == 1e6 ? "ms" :
						   "us");
	put_text(p, LEFT + PLOT / 2.0, a->y + HIGH + 34,
		 "text-anchor=\"middle\" fill=\"" GREY "\"", s);
}

/* A curve's points; where nothing is, it breaks. A filled one is steps. */
static void draw(const struct picture *p, const struct panel *a,
		 const struct curve *c)
{
	bool pen = false;
	unsigned int i;

	if (c->fill) {
		fprintf(p->out, "<path fill=\"%s\" fill-opacity=\"0.3\" stroke=\"%s\"",
			c->colour, c->colour);
		fprintf(p->out, " d=\"M%.1f %.1f", x_of(p, 0), y_of(a, 0));
		for (i = 0; i < a->windows; i++)
			fprintf(p->out, "V%.1fH%.1f", y_of(a, c->v[i]),
				x_of(p, (i + 1) * p->width));
		fprintf(p->out, "V%.1fZ\"/>\n", y_of(a, 0));
		return;
	}
	fprintf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"",
		c->colour);
	fprintf(p->out, " stroke-linejoin=\"round\" d=\"M%.1f %.1f", x_of(p, 0),
		y_of(a, c->v[0] < 0 ? 0 : c->v[0]));
	for (i = 0; i < a->windows; i++) {
		if (c->v[i] >= 0)
			fprintf(p->out, "%c%.1f %.1f", pen ? 'L' : 'M',
				x_of(p, (i + 0.5) * p->width), y_of(a, c->v[i]));
		pen = c->v[i] >= 0;
	}
	fprintf(p->out, "\"/>\n");
}

static void legend(const struct picture *p, const struct panel *a,
		   unsigned int i)
{
	double y = a->y + 14 + 20 * i, x = LEFT + PLOT + 16;
	const struct curve *c = &a->curve[i];
	char s[40];

	fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"4\" fill=\"%s\"/>\n",
		x, y - 6, c->none ? FAINT : c->colour);
	snprintf(s, sizeof(s), "%s%s", c->name, c->none ? ": none" : "");
	put_text(p, x + 26, y, c->none ? "fill=\"" GREY "\"" : "", s);
}

static void panel(const struct picture *p, const struct panel *a)
{
	unsigned int i;
	double x;

	put_text(p, LEFT, a->y - 12, "font-weight=\"bold\"", a->title);
	y_axis(p, a);
	for (i = 0; i < a->n; i++) {
		if (!a->curve[i].none)
			draw(p, a, &a->curve[i]);
		legend(p, a, i);
	}
	x = x_of(p, p->stopped);
	fprintf(p->out, "<line x1=\"%.1f\" y1=\"%u\" x2=\"%.1f\" y2=\"%u\"", x,
		a->y, x, a->y + HIGH);
	fprintf(p->out, " stroke=\"" GREY "\" stroke-dasharray=\"4 4\"/>\n");
	put_line(p, LEFT, a->y + HIGH, LEFT + PLOT, a->y + HIGH, INK);
	put_line(p, LEFT, a->y, LEFT, a->y + HIGH, INK);
	x_axis(p, a);
}

/* The scale: whole decades, or a round number above the greatest. */
static void scale(struct panel *a)
{
	double low = INFINITY, high = 0, step;
	unsigned int i, j;

	for (i = 0; i < a->n; i++) {
		a->curve[i].none = true;
		for (j = 0; j < a->windows; j++) {
			double v = a->curve[i].v[j];

			if (v > 0)
				a->curve[i].none = false;
			if (v > high)
				high = v;
			if (v > 0 && v < low)
				low = v;
		}
	}
	if (high <= 0) {
		a->logarithmic = false;
		a->high = 1;
		return;
	}
	a->low = pow(10, floor(log10(low)));
	a->high = pow(10, ceil(log10(high)));
	if (a->high <= a->low)
		a->high = 10 * a->low;
	if (!a->logarithmic) {
		step = nice_step(high, 4);
		a->high = step * ceil(high / step);
	}
}

static void latency(const struct world *w, struct panel *a)
{
	static const unsigned int at[] = { 50000, 90000, 99000, 99900 };
	unsigned int i, j;

	for (i = 0; i < 4; i++) {
		for (j = 0; j < a->windows; j++) {
			const struct hist *h = &w->series.w[j].latency;

			a->curve[i].v[j] = h->count ?
				(double)hist_percentile(h, at[i]) :
				-1;
		}
	}
}

/* Of a window, how many a second; the last is as long as it lasted. */
static void rates(const struct world *w, const struct picture *p,
		  struct panel *committed, struct panel *others)
{
	const struct window *x;
	double s;
	u32 i;

	for (i = 0; i < w->series.n; i++) {
		x = &w->series.w[i];
		s = p->width;
		if ((i + 1) * p->width > p->span)
			s = p->span - i * p->width;
		/* A sliver says nothing of a rate. */
		if (s < p->width / 4)
			s = p->width;
		s /= 1e9;
		committed->curve[0].v[i] = x->committed / s;
		others->curve[0].v[i] = x->reversed / s;
		others->curve[1].v[i] = x->unknown / s;
		others->curve[2].v[i] = x->lost / s;
		others->curve[3].v[i] = x->failures / s;
		others->curve[4].v[i] = x->resolved / s;
		others->curve[5].v[i] = x->cable_faults / s;
		others->curve[6].v[i] = x->failovers / s;
	}
}

static void title(const struct picture *p, const struct world *w)
{
	const struct config *c = w->cfg;
	char s[200], a[UNITS_TEXT], b[UNITS_TEXT], d[UNITS_TEXT];
	const u64 *n = w->report.outcome;

	snprintf(s, sizeof(s), "Atomic links: %s of %s nodes, %s links, %.3g %% loss",
		 topo_name(c->topo), units_count_text(w->topo.nodes, a),
		 units_count_text(w->topo.links, b), c->loss / 42949672.96);
	put_text(p, LEFT, 26, "font-size=\"17\" font-weight=\"bold\"", s);
	snprintf(s, sizeof(s), "%s committed, %s reversed, %s unknown; %s",
		 units_count_text(n[OAE_COMMITTED], a),
		 units_count_text(n[OAE_REVERSED], b),
		 units_count_text(n[OAE_UNKNOWN], d),
		 w->why[0] ? "A PROMISE WAS BROKEN" : "no promise broken");
	put_text(p, LEFT, 45, "fill=\"" GREY "\"", s);
}

static void panels(const struct picture *p, const struct world *w)
{
	static struct curve times[] = {
		{ .name = "p50", .colour = "#0072b2" },
		{ .name = "p90", .colour = "#009e73" },
		{ .name = "p99", .colour = "#e69f00" },
		{ .name = "p99.9", .colour = "#d55e00" },
	};
	static struct curve commits[] = {
		{ .name = "committed", .colour = "#0072b2", .fill = true },
	};
	static struct curve rest[] = {
		{ .name = "reversed", .colour = "#e69f00" },
		{ .name = "unknown", .colour = "#d55e00" },
		{ .name = "lost with sender", .colour = "#cc79a7" },
		{ .name = "link failures", .colour = "#333333" },
		{ .name = "failures resolved", .colour = "#56b4e9" },
		{ .name = "faults of cables", .colour = "#009e73" },
		{ .name = "other cable used", .colour = "#999933" },
	};
	struct panel a[3] = {
		{ .title = "Time to commit (from the write)", .is_time = true,
		  .logarithmic = true, .n = 4, .curve = times },
		{ .title = "Committed, transactions per second", .n = 1,
		  .curve = commits },
		{ .title = "What went otherwise, per second", .logarithmic = true,
		  .n = w->cfg->cables_max > 1 ? 7 : 5, .curve = rest },
	};
	unsigned int i;
	bool early;

	for (i = 0; i < 3; i++) {
		a[i].y = TOP + 18 + i * (HIGH + GAP + 12);
		a[i].windows = w->series.n;
	}
	latency(w, &a[0]);
	rates(w, p, &a[1], &a[2]);
	for (i = 0; i < 3; i++) {
		scale(&a[i]);
		panel(p, &a[i]);
	}
	early = x_of(p, p->stopped) < LEFT + 80;
	put_text(p, x_of(p, p->stopped) + (early ? 5 : -5), a[0].y + 12,
		 early ? "fill=\"" GREY "\"" :
			 "text-anchor=\"end\" fill=\"" GREY "\"",
		 "faults stop");
}

/**
 * report_svg() - latency and outcomes over time, as a picture
 * @w: a world that has run
 * @file: to write
 *
 * Return: false if it could not be written; stderr has been told why.
 */
bool report_svg(const struct world *w, const char *file)
{
	struct picture p = { .width = w->series.width };
	unsigned int high = TOP + 3 * (HIGH + GAP + 12) + 10;
	u64 end = w->settled_at ? w->settled_at : w->now;

	p.out = fopen(file, "w");
	if (!p.out) {
		fprintf(stderr, "oaesim: %s: %s\n", file, strerror(errno));
		return false;
	}
	p.span = end > SIM_START ? end - SIM_START : 1;
	if ((w->series.n - 1) * p.width >= p.span)
		p.span = w->series.n * p.width;
	p.stopped = (w->stopped_at ? w->stopped_at : end) - SIM_START;
	fprintf(p.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\"",
		WIDTH, high);
	fprintf(p.out, " viewBox=\"0 0 %u %u\" font-family=\"Helvetica, Arial, sans-serif\"",
		WIDTH, high);
	fprintf(p.out, " font-size=\"12\" fill=\"" INK "\">\n");
	fprintf(p.out, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	title(&p, w);
	panels(&p, w);
	fprintf(p.out, "</svg>\n");
	if (fflush(p.out) || ferror(p.out) || fclose(p.out)) {
		fprintf(stderr, "oaesim: %s: %s\n", file, strerror(errno));
		return false;
	}
	return true;
}
