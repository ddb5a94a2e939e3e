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

static void series_object(const struct series *s, FILE *out)
{
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
	series_object(&w->series, out);
	violation_story(w, story, out);
	fprintf(out, "}\n");
}
