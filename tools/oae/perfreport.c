// SPDX-License-Identifier: GPL-2.0
/* What oae perf has measured, for people and for programs. */
#include <string.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "perf.h"
#include "text.h"

const char *perf_mode_name(unsigned int mode)
{
	return mode == PERF_RTT ? "rtt" : "oneway";
}

const char *perf_kind_name(bool express)
{
	return express ? "express" : "message";
}

static const char *bits(char buf[UNIT_LEN], double per_second)
{
	static const char *const unit[] = { "", "k", "M", "G", "T" };
	int i = 0;

	while (i < 4 && per_second >= 999.5) {
		per_second /= 1000;
		i++;
	}
	snprintf(buf, UNIT_LEN, "%.*f %sbit/s", per_second >= 99.95 || !i ? 0 :
		 per_second >= 9.995 ? 1 : 2, per_second, unit[i]);
	return buf;
}

static double per_second(unsigned long long n, unsigned long long ns)
{
	return ns ? n * 1e9 / ns : 0;
}

void perf_begin(const struct perf_args *a)
{
	char text[OAE_PEER_TEXT], took[UNIT_LEN];

	if (want_json)
		return;
	printf("%s vc %d", oae_format_peer(a->peer.mac, text), a->peer.vc);
	if (a->vcs > 1)
		printf(" to %u", a->peer.vc + a->vcs - 1);
	printf(": %s, %s, %u bytes, depth %u", perf_mode_name(a->mode),
	       perf_kind_name(a->express), a->size, a->depth);
	if (a->count)
		printf(", %llu of them", a->count);
	if (a->time_ms)
		printf(", for %s", duration(took, a->time_ms * 1000000ULL));
	putchar('\n');
	fflush(stdout);
}

void perf_progress(const struct perf_tally *then, const struct perf_tally *now,
		   const struct perf_args *a, unsigned long long begin_ns)
{
	unsigned long long n = now->committed - then->committed, ns = now->ns - then->ns;
	unsigned long long reversed = now->reversed - then->reversed;
	unsigned long long unknown = now->unknown - then->unknown;
	char b[2][UNIT_LEN];

	printf("%7.1f s %12s %14s", (now->ns - begin_ns) / 1e9, rate(b[0], per_second(n, ns)),
	       bits(b[1], per_second(n, ns) * a->size * 8));
	if (reversed)
		printf("  reversed %llu", reversed);
	if (unknown)
		printf("  unknown %llu", unknown);
	putchar('\n');
	fflush(stdout);
}

/* A row of times: what they are of, least, percentiles, greatest. */
static void times(struct grid *g, const char *what, const struct hist *h, unsigned int part)
{
	static const unsigned int permille[] = { 500, 900, 990, 999 };
	char b[6][UNIT_LEN];
	unsigned int i;

	if (!h->count)
		return;
	duration(b[0], h->min / part);
	for (i = 0; i < 4; i++)
		duration(b[i + 1], hist_permille(h, permille[i]) / part);
	duration(b[5], h->max / part);
	grid_add(g, what, b[0], b[1], b[2], b[3], b[4], b[5]);
}

static void people_times(const struct perf_args *a, const struct perf_tally *t)
{
	static const struct grid_col cols[] = {
		{ "", false }, { "MIN", true }, { "P50", true }, { "P90", true },
		{ "P99", true }, { "P99.9", true }, { "MAX", true },
	};
	struct grid g;

	if (!t->outcome.count)
		return;
	grid_init(&g, cols, sizeof(cols) / sizeof(*cols));
	times(&g, "write to committed", &t->outcome, 1);
	if (a->mode == PERF_RTT)
		times(&g, "half round trip", &t->rtt, 2);
	grid_print(&g, stdout, 0, 0);
	grid_free(&g);
}

/* What the server says, beside what is known here. */
static void people_word(const struct perf_args *a, const struct perf_tally *t,
			const struct perf_word *w)
{
	if (!w->channels) {
		printf("server: has not said what was delivered\n");
		return;
	}
	printf("server: delivered %llu, %llu bytes", w->delivered, w->bytes);
	if (a->mode == PERF_RTT)
		printf(", echoed %llu", w->echoed);
	if (w->channels < a->vcs)
		printf(", of %u channels of %u", w->channels, a->vcs);
	if (w->differing)
		printf(": NOT what was committed, on %u channels\n", w->differing);
	else if (w->channels < a->vcs || t->unknown || t->pending)
		printf("\n");
	else
		printf(": as many as were committed\n");
}

static void people(const struct perf_args *a, const struct perf_tally *t,
		   const struct perf_word *w)
{
	char b[3][UNIT_LEN];
	unsigned int err;

	printf("sent %llu, committed %llu, reversed %llu, unknown %llu", t->sent, t->committed,
	       t->reversed, t->unknown);
	if (t->pending)
		printf(", not known yet %llu", t->pending);
	if (t->echoes_missing)
		printf(", echoes missing %llu", t->echoes_missing);
	printf(" in %s: %s, %s\n", duration(b[0], t->ns),
	       rate(b[1], per_second(t->committed, t->ns)),
	       bits(b[2], per_second(t->committed, t->ns) * a->size * 8));
	for (err = 1; err < PERF_ERRNOS; err++)
		if (t->by_errno[err])
			printf("  %s %llu: %s: %s\n", outcome_word(err), t->by_errno[err],
			       errno_name(err), outcome_meaning(err));
	people_times(a, t);
	people_word(a, t, w);
}

static void programs_times(struct json *j, const char *key, const struct hist *h, double part)
{
	json_object(j, key);
	if (h->count) {
		json_real(j, "min", h->min / part / 1e3);
		json_real(j, "p50", hist_permille(h, 500) / part / 1e3);
		json_real(j, "p90", hist_permille(h, 900) / part / 1e3);
		json_real(j, "p99", hist_permille(h, 990) / part / 1e3);
		json_real(j, "p99_9", hist_permille(h, 999) / part / 1e3);
		json_real(j, "max", h->max / part / 1e3);
	}
	json_close(j);
}

static void programs_errors(struct json *j, const struct perf_tally *t)
{
	unsigned int err;

	json_array(j, "errors");
	for (err = 1; err < PERF_ERRNOS; err++) {
		if (!t->by_errno[err])
			continue;
		json_object(j, NULL);
		json_string(j, "errno", errno_name(err));
		json_string(j, "result", outcome_word(err));
		json_number(j, "count", t->by_errno[err]);
		json_close(j);
	}
	json_close(j);
}

static void programs_word(struct json *j, const struct perf_args *a, const struct perf_word *w)
{
	if (!w->channels) {
		json_null(j, "server");
		return;
	}
	json_object(j, "server");
	json_number(j, "delivered", w->delivered);
	json_number(j, "bytes", w->bytes);
	json_number(j, "echoed", w->echoed);
	json_number(j, "channels", w->channels);
	json_bool(j, "agrees", w->channels == a->vcs && !w->differing);
	json_close(j);
}

static void programs_histogram(struct json *j, const struct hist *h)
{
	unsigned long long from, to, n;
	unsigned int i;

	json_array(j, "histogram");
	for (i = 0; i < HIST_LINES; i++) {
		n = hist_line(h, i, &from, &to);
		if (!n)
			continue;
		json_object(j, NULL);
		json_real(j, "from_us", from / 1e3);
		json_real(j, "to_us", to / 1e3);
		json_number(j, "count", n);
		json_close(j);
	}
	json_close(j);
}

static void programs(const struct perf_args *a, const struct perf_tally *t,
		     const struct perf_word *w)
{
	char text[OAE_PEER_TEXT];
	struct json j;

	json_init(&j, stdout);
	json_array(&j, NULL);
	json_object(&j, NULL);
	json_string(&j, "peer", oae_format_peer(a->peer.mac, text));
	json_number(&j, "vc", a->peer.vc);
	json_number(&j, "vcs", a->vcs);
	json_string(&j, "mode", perf_mode_name(a->mode));
	json_string(&j, "kind", perf_kind_name(a->express));
	json_number(&j, "bytes", a->size);
	json_number(&j, "depth", a->depth);
	json_real(&j, "seconds", t->ns / 1e9);
	json_number(&j, "sent", t->sent);
	json_number(&j, "committed", t->committed);
	json_number(&j, "reversed", t->reversed);
	json_number(&j, "unknown", t->unknown);
	json_number(&j, "pending", t->pending);
	programs_errors(&j, t);
	json_real(&j, "committed_per_s", per_second(t->committed, t->ns));
	json_real(&j, "bits_per_s", per_second(t->committed, t->ns) * a->size * 8);
	programs_times(&j, "outcome_us", &t->outcome, 1);
	if (a->mode == PERF_RTT) {
		programs_times(&j, "half_rtt_us", &t->rtt, 2);
		json_number(&j, "echoes", t->rtt.count);
		json_number(&j, "echoes_missing", t->echoes_missing);
	}
	programs_word(&j, a, w);
	programs_histogram(&j, &t->outcome);
	result_end(&j);
}

void perf_report(const struct perf_args *a, const struct perf_tally *t, const struct perf_word *w)
{
	if (want_json)
		programs(a, t, w);
	else
		people(a, t, w);
}
