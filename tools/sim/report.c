// SPDX-License-Identifier: GPL-2.0
/* What a run has shown, for people. */
#include <inttypes.h>
#include <sys/resource.h>
#include "sim.h"
#include "units.h"

/**
 * report_latency() - the latencies of all commits of a run
 * @w: the world
 * @h: filled in
 */
void report_latency(const struct world *w, struct hist *h)
{
	u32 i;

	memset(h, 0, sizeof(*h));
	for (i = 0; i < w->series.n; i++)
		hist_merge(h, &w->series.w[i].latency);
}

static void count_line(FILE *out, const char *what, u64 n)
{
	char text[UNITS_TEXT];

	fprintf(out, "  %-44s%16s\n", what, units_count_text(n, text));
}

static void share_line(FILE *out, const char *what, u64 n, u64 of)
{
	char text[UNITS_TEXT];

	fprintf(out, "  %-44s%16s %9.4f %%\n", what, units_count_text(n, text),
		of ? 100.0 * n / of : 0.0);
}

/* What is not there is not worth a line. */
static void some_line(FILE *out, const char *what, u64 n)
{
	if (n)
		count_line(out, what, n);
}

static void cables_header(const struct world *w, FILE *out)
{
	const struct config *c = w->cfg;
	char n[UNITS_TEXT], t[UNITS_TEXT];
	enum cable_fault f;

	fprintf(out, "cables    %s, %u", units_count_text(w->ncables, n), c->cables);
	if (c->cables_max > c->cables)
		fprintf(out, " to %u", c->cables_max);
	fprintf(out, " a link; %.4g faults a second each, %s on average",
		c->cable_rate / 1e3, units_time_text(c->cable_time, t));
	for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS && c->cable_rate; f++)
		if (c->cable_kinds >> f & 1)
			fprintf(out, ", %s", cable_fault_name(f));
	fprintf(out, "%s\n", c->cable_spare ? "; one of each link has none" : "");
}

static void header(const struct world *w, FILE *out)
{
	const struct config *c = w->cfg;
	char nodes[UNITS_TEXT], links[UNITS_TEXT], t[UNITS_TEXT];

	fprintf(out, "network   %s", topo_name(c->topo));
	if (c->topo == TOPO_TORUS)
		fprintf(out, " %ux%u", c->width, c->height);
	fprintf(out, ": %s nodes, %s links\n",
		units_count_text(w->topo.nodes, nodes),
		units_count_text(w->topo.links, links));
	fprintf(out, "wires     latency %s",
		units_time_text(c->latency, t));
	if (c->latency_max > c->latency)
		fprintf(out, " to %s", units_time_text(c->latency_max, t));
	fprintf(out, ", jitter %s", units_time_text(c->jitter, t));
	fprintf(out, "; lost %.4g %%, doubled %.4g %%, reordered %.4g %%, altered %.4g %%\n",
		c->loss / 42949672.96, c->dup / 42949672.96,
		c->reorder / 42949672.96, c->corrupt / 42949672.96);
	if (c->cables_max > 1)
		cables_header(w, out);
	fprintf(out, "users     %s, %u", work_name(c->work), c->size_min);
	if (c->size_max > c->size_min)
		fprintf(out, " to %u", c->size_max);
	fprintf(out, " bytes, %.4g %% express", c->express / 42949672.96);
	if (c->swap)
		fprintf(out, ", %.4g %% halves", c->swap / 42949672.96);
	if (c->verb)
		fprintf(out, ", %.4g %% verbs", c->verb / 42949672.96);
	fprintf(out, "; seed %" PRIu64 "\n", c->seed);
	fprintf(out, "simulated %s of work",
		units_time_text((w->stopped_at ? w->stopped_at : w->now) -
					SIM_START, t));
	if (w->settled_at)
		fprintf(out, "; all had settled %s after the faults stopped",
			units_time_text(w->settled_at - w->stopped_at, t));
	fprintf(out, " (limit %s)\n", units_time_text(c->settle, t));
}

static void transactions(const struct counts *n, FILE *out)
{
	fprintf(out, "\ntransactions\n");
	count_line(out, "posted", n->posted);
	share_line(out, "committed", n->outcome[OAE_COMMITTED], n->posted);
	share_line(out, "reversed", n->outcome[OAE_REVERSED], n->posted);
	share_line(out, "unknown", n->outcome[OAE_UNKNOWN], n->posted);
	share_line(out, "lost with a crashed sender", n->lost, n->posted);
	count_line(out, "delivered", n->delivered);
	some_line(out, "committed, died undelivered with an end", n->excused);
	some_line(out, "turned away, the queue was full", n->turned_away);
	some_line(out, "cancelled too late, an express or a lent half", n->in_progress);
	count_line(out, "offered again", n->note[OAE_N_REOFFERED]);
	some_line(out, "asked for, since no answer came", n->note[OAE_N_ASKED]);
	some_line(out, "parked, no room, half or word at the peer", n->note[OAE_N_PARKED]);
	some_line(out, "halves taken, at either end", n->taken);
	some_line(out, "verbs applied", n->applied);
	some_line(out, "verbs refused, the word was reserved", n->conflicts);
}

static void frames(const struct counts *n, FILE *out)
{
	u64 done = n->outcome[OAE_COMMITTED];

	fprintf(out, "\nframes\n");
	count_line(out, "sent", n->frames);
	fprintf(out, "  %-44s%16.3f\n", "per committed transaction",
		done ? (double)n->frames / done : 0.0);
	count_line(out, "arrived", n->arrived);
	share_line(out, "lost", n->dropped, n->frames);
	some_line(out, "doubled", n->dup);
	some_line(out, "reordered", n->reordered);
	some_line(out, "altered, and found to be", n->corrupt);
	some_line(out, "lost at a port that was down", n->no_port);
	some_line(out, "lost in a cut wire", n->cut);
	some_line(out, "lost in a faulty cable", n->cable.lost);
	some_line(out, "of paths: probes, and answers to them", n->cable.probes);
	some_line(out, "lost at a node that was down", n->no_node);
}

static void links(const struct world *w, FILE *out)
{
	const struct counts *n = &w->report;
	u64 failures = 0;
	u32 i;

	for (i = 0; i < w->series.n; i++)
		failures += w->series.w[i].failures;
	fprintf(out, "\nlinks, by end\n");
	some_line(out, "nodes crashed", n->crashes);
	some_line(out, "ports of a link down for a while", n->flaps);
	some_line(out, "wires cut for a while", n->cuts);
	some_line(out, "closed by a user", n->closes);
	count_line(out, "link events", n->calls);
	count_line(out, "failures", failures);
	some_line(out, "  no answer, or no progress", n->note[OAE_N_STALL]);
	some_line(out, "  the peer noticed first", n->note[OAE_N_PEER_FROZE]);
	some_line(out, "  the peer had no such link", n->note[OAE_N_NOLINK]);
	some_line(out, "  the port went down", n->note[OAE_N_PORT]);
	count_line(out, "failures resolved", w->heal.count);
	some_line(out, "new incarnations of a peer", n->note[OAE_N_PEER_NEW]);
}

static void census_lines(FILE *out, const char *when, const struct census *c)
{
	fprintf(out, "  %s\n", when);
	count_line(out, "  ends open", c->ends_open);
	some_line(out, "  ends frozen", c->ends_frozen);
	some_line(out, "  ends down", c->ends_down);
	some_line(out, "  ends without a tag", c->ends_without);
	count_line(out, "  ends that use another path than their own", c->ends_elsewhere);
	count_line(out, "  links whose ends use two cables", c->links_apart);
	count_line(out, "  paths good", c->paths_good);
	some_line(out, "  paths silent", c->paths_silent);
	some_line(out, "  paths not proven", c->paths_unproven);
	some_line(out, "  paths without a carrier", c->paths_no_carrier);
}

static void cabling(const struct world *w, FILE *out)
{
	const struct cable_counts *n = &w->report.cable;
	struct census now;
	enum cable_fault f;

	fprintf(out, "\n%-26s%12s%12s%12s%12s\n", "faults of cables", "all", "in use",
		"left", "over before");
	for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
		fprintf(out, "  %-24s%12" PRIu64 "%12" PRIu64 "%12" PRIu64 "%12" PRIu64 "\n",
			cable_fault_name(f), n->faults[f], n->in_use[f], w->failover[f].count,
			n->mended[f]);
	fprintf(out, "\npaths, by end\n");
	count_line(out, "found", n->found);
	some_line(out, "forgotten, silent for long", n->forgotten);
	some_line(out, "put off, another peer may be there", n->put_off);
	count_line(out, "turns: another path is in use", n->turns);
	count_line(out, "freezes", n->freezes);
	some_line(out, "frames not believed by the path they came by", n->strays);
	census_lines(out, "when the faults stopped", &w->at_stop);
	census_take(w, &now);
	census_lines(out, "in the end", &now);
	count_line(out, "bytes of memory a link, of them",
		   2 * sizeof(*w->ends) + w->cable_bytes / w->topo.links);
	count_line(out, "  for its cables and paths", w->cable_bytes / w->topo.links);
}

/* Of each doubling of the time how many. */
static void failover_lines(const struct world *w, FILE *out)
{
	char t[UNITS_TEXT];
	enum cable_fault f;
	unsigned int i;
	u64 n;

	fprintf(out, "\n%-16s", "failovers below");
	for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
		fprintf(out, "%12s", cable_fault_name(f));
	putc('\n', out);
	for (i = 0; i < HIST_DOUBLINGS; i++) {
		for (f = CABLE_WHOLE + 1, n = 0; f < CABLE_FAULTS; f++)
			n += hist_doubling(&w->failover[f], i);
		if (!n)
			continue;
		fprintf(out, "  %-14s", units_time_text(1ULL << i, t));
		for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
			fprintf(out, "%12" PRIu64, hist_doubling(&w->failover[f], i));
		putc('\n', out);
	}
}

static void time_line(FILE *out, const char *what, const struct hist *h)
{
	static const unsigned int at[] = { 50000, 90000, 99000, 99900 };
	char t[UNITS_TEXT];
	unsigned int i;

	fprintf(out, "  %-14s", what);
	if (!h->count) {
		fprintf(out, "%12s\n", "none");
		return;
	}
	for (i = 0; i < 4; i++)
		fprintf(out, "%12s", units_time_text(hist_percentile(h, at[i]), t));
	fprintf(out, "%12s", units_time_text(h->max, t));
	fprintf(out, "%12s\n", units_time_text(h->sum / h->count, t));
}

/**
 * report_story() - a broken promise, and how it came to it
 * @w: a world that ran with its link traced
 * @out: where to
 */
void report_story(const struct world *w, FILE *out)
{
	u32 i, n = trace_count(w->trace);

	if (n)
		fprintf(out, "\nthe last of the link of nodes %u and %u\n",
			w->topo.join[w->cfg->trace_link][0],
			w->topo.join[w->cfg->trace_link][1]);
	for (i = 0; i < n; i++)
		fprintf(out, "%s\n", trace_line(w->trace, i));
}

static void verdict(const struct world *w, FILE *out)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (w->why[0]) {
		fprintf(out, "\nVIOLATION at %.3f us, link %u-%u: %s\n",
			(w->why_at - SIM_START) / 1e3,
			w->topo.join[w->why_link][0],
			w->topo.join[w->why_link][1], w->why);
		return;
	}
	fprintf(out, "\npromises\n");
	fprintf(out, "  one outcome each; what was reversed was never delivered,\n");
	fprintf(out, "  what was committed was delivered once, whole and in order\n");
	fprintf(out, "  in the end, without faults, %s of %s more were committed,\n",
		units_count_text(w->proven, a), units_count_text(w->to_prove, b));
	fprintf(out, "  an atomic one and an express%s%s from each end of each link\n",
		w->cfg->swap ? ", a half" : "", w->cfg->verb ? ", a verb" : "");
	fprintf(out, "  violations: 0\n");
}

/**
 * report_text() - the whole report
 * @w: a world that has run
 * @out: where to
 */
void report_text(const struct world *w, FILE *out)
{
	enum cable_fault f;
	struct hist latency;

	report_latency(w, &latency);
	header(w, out);
	transactions(&w->report, out);
	frames(&w->report, out);
	links(w, out);
	if (w->cfg->cables_max > 1)
		cabling(w, out);
	fprintf(out, "\n%-16s%12s%12s%12s%12s%12s%12s\n", "times", "p50",
		"p90", "p99", "p99.9", "max", "mean");
	time_line(out, "to commit", &latency);
	time_line(out, "to heal", &w->heal);
	if (w->cfg->cables_max > 1) {
		for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
			time_line(out, cable_fault_name(f), &w->failover[f]);
		failover_lines(w, out);
	}
	verdict(w, out);
}

/**
 * report_bench() - how fast it went: not the same every time
 * @w: a world that has run
 * @seconds: of the processor, that it took
 * @by_clock: likewise, by the clock
 * @out: where to
 */
void report_bench(const struct world *w, double seconds, double by_clock, FILE *out)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	fprintf(out, "bench: %" PRIu64 " link events in %.2f s of CPU: %.0f a second",
		w->n.calls, seconds, w->n.calls / seconds);
	fprintf(out, "; %.0f transactions a second; %.0f MB\n",
		w->n.outcome[OAE_COMMITTED] / seconds, usage.ru_maxrss / 1024.0);
	fprintf(out, "bench: %.2f s by the clock; %.0f bytes a link\n", by_clock,
		usage.ru_maxrss * 1024.0 / w->topo.links);
}
