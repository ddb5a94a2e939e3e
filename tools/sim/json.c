// SPDX-License-Identifier: GPL-2.0
/*
 * The report as JSON, for programs. The format is documented in --help; a
 * change that could break a reader gives it another name.
 */
#include <inttypes.h>
#include "sim.h"

struct field {
	const char *name;
	u64 value;
};

static void string(FILE *out, const char *s)
{
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", *s);
		else
			putc(*s, out);
	}
	putc('"', out);
}

static void object(FILE *out, const char *name, const struct field *f)
{
	const char *comma = "";

	fprintf(out, "  \"%s\": {", name);
	for (; f->name; f++, comma = ",")
		fprintf(out, "%s\n    \"%s\": %" PRIu64, comma, f->name, f->value);
	fprintf(out, "\n  },\n");
}

static void config_object(const struct config *c, FILE *out)
{
	fprintf(out, "  \"config\": {\n");
	fprintf(out, "    \"topology\": \"%s\",\n", topo_name(c->topo));
	fprintf(out, "    \"width\": %u,\n    \"height\": %u,\n", c->width,
		c->height);
	fprintf(out, "    \"workload\": \"%s\",\n", work_name(c->work));
	fprintf(out, "    \"seed\": %" PRIu64 ",\n", c->seed);
	fprintf(out, "    \"latency_ns\": [%" PRIu64 ", %" PRIu64 "],\n",
		c->latency, c->latency_max);
	fprintf(out, "    \"jitter_ns\": %" PRIu64 ",\n", c->jitter);
	fprintf(out, "    \"loss\": %.9g,\n    \"dup\": %.9g,\n",
		c->loss / 4294967296.0, c->dup / 4294967296.0);
	fprintf(out, "    \"reorder\": %.9g,\n    \"corrupt\": %.9g,\n",
		c->reorder / 4294967296.0, c->corrupt / 4294967296.0);
	fprintf(out, "    \"express\": %.9g,\n", c->express / 4294967296.0);
	fprintf(out, "    \"size\": [%u, %u]\n  },\n", c->size_min, c->size_max);
}

static void network(const struct world *w, FILE *out)
{
	const struct field f[] = {
		{ "nodes", w->topo.nodes },
		{ "links", w->topo.links },
		{ "ends", w->nends },
		{}
	};
	const struct field simulated[] = {
		{ "work", (w->stopped_at ? w->stopped_at : w->now) - SIM_START },
		{ "settling", w->settled_at ? w->settled_at - w->stopped_at : 0 },
		{ "settle_limit", w->cfg->settle },
		{}
	};

	object(out, "network", f);
	object(out, "simulated_ns", simulated);
}

static void transactions(const struct counts *n, FILE *out)
{
	const struct field f[] = {
		{ "posted", n->posted },
		{ "committed", n->outcome[OAE_COMMITTED] },
		{ "reversed", n->outcome[OAE_REVERSED] },
		{ "unknown", n->outcome[OAE_UNKNOWN] },
		{ "lost_with_sender", n->lost },
		{ "delivered", n->delivered },
		{ "died_undelivered", n->excused },
		{ "turned_away", n->turned_away },
		{ "cancelled_too_late", n->in_progress },
		{ "offered_again", n->note[OAE_N_REOFFERED] },
		{ "halves_taken", n->taken },
		{ "verbs_applied", n->applied },
		{ "verbs_conflict", n->conflicts },
		{}
	};

	object(out, "transactions", f);
}

static void frames(const struct counts *n, FILE *out)
{
	const struct field f[] = {
		{ "sent", n->frames },
		{ "arrived", n->arrived },
		{ "lost", n->dropped },
		{ "doubled", n->dup },
		{ "reordered", n->reordered },
		{ "altered", n->corrupt },
		{ "port_down", n->no_port },
		{ "wire_cut", n->cut },
		{ "node_down", n->no_node },
		{}
	};

	object(out, "frames", f);
}

static void links_object(const struct world *w, FILE *out)
{
	const struct counts *n = &w->report;
	unsigned int i;

	fprintf(out, "  \"links\": {\n");
	fprintf(out, "    \"events\": %" PRIu64 ",\n", n->calls);
	fprintf(out, "    \"crashes\": %" PRIu64 ",\n", n->crashes);
	fprintf(out, "    \"flaps\": %" PRIu64 ",\n", n->flaps);
	fprintf(out, "    \"cuts\": %" PRIu64 ",\n", n->cuts);
	fprintf(out, "    \"closes\": %" PRIu64 ",\n", n->closes);
	fprintf(out, "    \"resolved\": %" PRIu64 ",\n", w->heal.count);
	fprintf(out, "    \"proven\": %" PRIu64 ",\n", w->proven);
	fprintf(out, "    \"notes\": {");
	for (i = 0; i < OAE_NOTE_END; i++)
		fprintf(out, "%s\n      \"%s\": %" PRIu64, i ? "," : "",
			oae_note_name(i), n->note[i]);
	fprintf(out, "\n    }\n  },\n");
}

static void times(FILE *out, const char *name, const struct hist *h)
{
	const struct field f[] = {
		{ "count", h->count },
		{ "mean", h->count ? h->sum / h->count : 0 },
		{ "p50", hist_percentile(h, 50000) },
		{ "p90", hist_percentile(h, 90000) },
		{ "p99", hist_percentile(h, 99000) },
		{ "p99.9", hist_percentile(h, 99900) },
		{ "max", h->max },
		{}
	};

	object(out, name, f);
}

static void census_object(FILE *out, const char *name, const struct census *c)
{
	const struct field f[] = {
		{ "ends_open", c->ends_open },
		{ "ends_frozen", c->ends_frozen },
		{ "ends_down", c->ends_down },
		{ "ends_without", c->ends_without },
		{ "ends_elsewhere", c->ends_elsewhere },
		{ "links_apart", c->links_apart },
		{ "paths_good", c->paths_good },
		{ "paths_silent", c->paths_silent },
		{ "paths_unproven", c->paths_unproven },
		{ "paths_no_carrier", c->paths_no_carrier },
		{}
	};
	unsigned int i;

	fprintf(out, "    \"%s\": {", name);
	for (i = 0; f[i].name; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "", f[i].name, f[i].value);
	fprintf(out, "},\n");
}

static void failover_object(FILE *out, const struct hist *h)
{
	const char *comma = "";
	unsigned int i;
	u64 n;

	fprintf(out, "{\"count\": %" PRIu64 ", \"mean\": %" PRIu64, h->count,
		h->count ? h->sum / h->count : 0);
	fprintf(out, ", \"p50\": %" PRIu64 ", \"p90\": %" PRIu64,
		hist_percentile(h, 50000), hist_percentile(h, 90000));
	fprintf(out, ", \"p99\": %" PRIu64 ", \"p99.9\": %" PRIu64 ", \"max\": %" PRIu64,
		hist_percentile(h, 99000), hist_percentile(h, 99900), h->max);
	fprintf(out, ", \"classes\": [");
	for (i = 0; i < HIST_DOUBLINGS; i++) {
		n = hist_doubling(h, i);
		if (!n)
			continue;
		fprintf(out, "%s[%" PRIu64 ", %" PRIu64 "]", comma, (u64)1 << i, n);
		comma = ", ";
	}
	fprintf(out, "]}");
}

static void by_fault(FILE *out, const char *name, const u64 *n)
{
	enum cable_fault f;

	fprintf(out, "    \"%s\": {", name);
	for (f = CABLE_WHOLE + 1; f < CABLE_FAULTS; f++)
		fprintf(out, "%s\"%s\": %" PRIu64, f > CABLE_WHOLE + 1 ? ", " : "",
			cable_fault_name(f), n[f]);
	fprintf(out, "},\n");
}

static void cables_object(const struct world *w, FILE *out)
{
	const struct cable_counts *n = &w->report.cable;
	const struct field f[] = {
		{ "cables", w->ncables },
		{ "found", n->found },
		{ "forgotten", n->forgotten },
		{ "put_off", n->put_off },
		{ "turns", n->turns },
		{ "freezes", n->freezes },
		{ "strays", n->strays },
		{ "probes", n->probes },
		{ "frames_lost", n->lost },
		{ "bytes_a_link", 2 * sizeof(*w->ends) + w->cable_bytes / w->topo.links },
		{ "of_them_paths", w->cable_bytes / w->topo.links },
		{}
	};
	struct census now;
	enum cable_fault fault;
	unsigned int i;

	fprintf(out, "  \"cables\": {\n    \"a_link\": [%u, %u],\n", w->cfg->cables,
		w->cfg->cables_max);
	for (i = 0; f[i].name; i++)
		fprintf(out, "    \"%s\": %" PRIu64 ",\n", f[i].name, f[i].value);
	by_fault(out, "faults", n->faults);
	by_fault(out, "faults_in_use", n->in_use);
	by_fault(out, "over_before", n->mended);
	census_object(out, "at_stop", &w->at_stop);
	census_take(w, &now);
	census_object(out, "in_the_end", &now);
	fprintf(out, "    \"failover_ns\": {");
	for (fault = CABLE_WHOLE + 1; fault < CABLE_FAULTS; fault++) {
		fprintf(out, "%s\n      \"%s\": ", fault > CABLE_WHOLE + 1 ? "," : "",
			cable_fault_name(fault));
		failover_object(out, &w->failover[fault]);
	}
	fprintf(out, "\n    }\n  },\n");
}

/* What there is only with several cables. */
static void window_cables(const struct window *w, FILE *out)
{
	fprintf(out, ", \"cable_faults\": %" PRIu64 ", \"failovers\": %" PRIu64,
		w->cable_faults, w->failovers);
}

static void series_object(const struct world *world, FILE *out)
{
	const struct series *s = &world->series;
	u32 i;

	fprintf(out, "  \"series\": {\n    \"width_ns\": %" PRIu64 ",\n",
		s->width);
	fprintf(out, "    \"windows\": [");
	for (i = 0; i < s->n; i++) {
		const struct window *w = &s->w[i];

		fprintf(out, "%s\n      {\"committed\": %" PRIu64 ", \"reversed\": %" PRIu64,
			i ? "," : "", w->committed, w->reversed);
		fprintf(out, ", \"unknown\": %" PRIu64 ", \"lost_with_sender\": %" PRIu64,
			w->unknown, w->lost);
		fprintf(out, ", \"failures\": %" PRIu64 ", \"resolved\": %" PRIu64,
			w->failures, w->resolved);
		if (world->cfg->cables_max > 1)
			window_cables(w, out);
		fprintf(out, ", \"p50\": %" PRIu64, hist_percentile(&w->latency, 50000));
		fprintf(out, ", \"p99\": %" PRIu64, hist_percentile(&w->latency, 99000));
		fprintf(out, ", \"p99.9\": %" PRIu64 "}",
			hist_percentile(&w->latency, 99900));
	}
	fprintf(out, "\n    ]\n  },\n");
}

static void violation_story(const struct world *w, const struct world *story,
			    FILE *out)
{
	u32 i;

	if (!w->why[0]) {
		fprintf(out, "  \"violation\": null\n");
		return;
	}
	fprintf(out, "  \"violation\": {\n    \"what\": ");
	string(out, w->why);
	fprintf(out, ",\n    \"at_ns\": %" PRIu64, w->why_at - SIM_START);
	fprintf(out, ",\n    \"nodes\": [%u, %u]", w->topo.join[w->why_link][0],
		w->topo.join[w->why_link][1]);
	fprintf(out, ",\n    \"story\": [");
	for (i = 0; i < trace_count(story->trace); i++) {
		fprintf(out, "%s\n      ", i ? "," : "");
		string(out, trace_line(story->trace, i));
	}
	fprintf(out, "\n    ]\n  }\n");
}

/**
 * report_json() - the whole report
 * @w: a world that has run
 * @story: it, or the same run again with the link of a violation traced
 * @out: where to
 */
void report_json(const struct world *w, const struct world *story, FILE *out)
{
	struct hist latency;

	report_latency(w, &latency);
	fprintf(out, "{\n  \"format\": \"oaesim-1\",\n");
	config_object(w->cfg, out);
	network(w, out);
	transactions(&w->report, out);
	frames(&w->report, out);
	links_object(w, out);
	times(out, "commit_ns", &latency);
	times(out, "heal_ns", &w->heal);
	if (w->cfg->cables_max > 1)
		cables_object(w, out);
	series_object(w, out);
	violation_story(w, story, out);
	fprintf(out, "}\n");
}
