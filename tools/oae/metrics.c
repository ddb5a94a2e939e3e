// SPDX-License-Identifier: GPL-2.0
/*
 * oae metrics: counters and links in the Prometheus text format, 0.0.4.
 *
 * Every counter of the modules is a metric of its own, so that one that a newer
 * module counts is there at once; but for those that are the classes of a histogram.
 * A metric with a sample for each link is named oae_link_*.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "ports.h"
#include "proc.h"
#include "text.h"

static const char doc[] =
	"Counters, ports and links in the Prometheus text format.\n"
	"\vExamples:\n"
	"  oae metrics\n"
	"  oae metrics -o /var/lib/prometheus/node-exporter/oae.prom\n"
	"           for node_exporter's textfile collector; a timer does it\n"
	"\n"
	"JSON: an array of objects: name, type, help, samples: labels, value; those of "
	"a histogram also name.\n";

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "to a file, there whole or as it was before; -: stdout", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **output = state->input;

	switch (key) {
	case 'o':
		*output = arg;
		return 0;
	case ARGP_KEY_ARG:
		usage_error(state, "\"%s\" is too much: metrics takes no argument", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { options, parse, NULL, doc, common_options, NULL, NULL };

struct label {
	const char *name;
	const char *value;
};

static struct json json;

static bool good_name(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (!islower((unsigned char)*c) && *c != '_' && (c == name || !isdigit(*c)))
			return false;
	return *name && c - name < 100;
}

static void family(const char *name, const char *type, const char *help)
{
	if (want_json) {
		json_object(&json, NULL);
		json_string(&json, "name", name);
		json_string(&json, "type", type);
		json_string(&json, "help", help);
		json_array(&json, "samples");
		return;
	}
	printf("# HELP %s ", name);
	for (; *help; help++) {
		if (*help == '\\')
			fputs("\\\\", stdout);
		else
			putchar(*help >= ' ' && *help <= '~' ? *help : '?');
	}
	printf("\n# TYPE %s %s\n", name, type);
}

static void family_end(void)
{
	if (want_json) {
		json_close(&json);
		json_close(&json);
	}
}

/* A label's value may be any UTF-8; what is not becomes U+FFFD. */
static void put_label(const char *text)
{
	size_t len = strlen(text), n;

	for (; len; text += n, len -= n) {
		n = utf8_len(text, len);
		if (!n) {
			fputs("\xef\xbf\xbd", stdout);
			n = 1;
		} else if (*text == '"' || *text == '\\') {
			printf("\\%c", *text);
		} else if (*text == '\n') {
			fputs("\\n", stdout);
		} else {
			fwrite(text, 1, n, stdout);
		}
	}
}

static void sample_labels(const char *name, const struct label *label, unsigned int n)
{
	unsigned int i;

	if (want_json) {
		json_object(&json, NULL);
		json_object(&json, "labels");
		for (i = 0; i < n; i++)
			json_string(&json, label[i].name, label[i].value);
		json_close(&json);
		return;
	}
	fputs(name, stdout);
	for (i = 0; i < n; i++) {
		printf("%s%s=\"", i ? "," : "{", label[i].name);
		put_label(label[i].value);
		putchar('"');
	}
	putchar(n ? '}' : ' ');
	if (n)
		putchar(' ');
}

static void sample(const char *name, const struct label *label, unsigned int n,
		   unsigned long long v)
{
	sample_labels(name, label, n);
	if (want_json) {
		json_number(&json, "value", v);
		json_close(&json);
	} else {
		printf("%llu\n", v);
	}
}

static void sample_seconds(const char *name, const struct label *label, unsigned int n,
			   unsigned long long us)
{
	sample_labels(name, label, n);
	if (want_json) {
		json_real(&json, "value", us / 1e6);
		json_close(&json);
	} else {
		printf("%llu.%06llu\n", us / 1000000, us % 1000000);
	}
}

/*
 * The classes of the times from offer to commit are counters named took_LESSns, in their
 * order, and took_longer; took_ns is their sum.
 */
#define TOOK		"took_"
#define TOOK_METRIC	"oae_commit_seconds"

static bool is_took(const struct counter *c)
{
	return !strncmp(c->name, TOOK, strlen(TOOK));
}

/* What all of a class took less than, ns; 0: it is no class, or the one without a limit. */
static unsigned long long took_limit(const struct counter *c)
{
	unsigned long long ns;
	char unit[3] = "";

	if (!is_took(c) || !isdigit((unsigned char)c->name[strlen(TOOK)]))
		return 0;
	if (sscanf(c->name, TOOK "%12llu%2s", &ns, unit) != 2 || strcmp(unit, "ns"))
		return 0;
	return ns;
}

/* @ns as seconds, without zeros at the end. */
static const char *seconds_text(unsigned long long ns)
{
	static char text[40];
	size_t len;

	snprintf(text, sizeof(text), "%llu.%09llu", ns / 1000000000, ns % 1000000000);
	for (len = strlen(text); text[len - 1] == '0' && text[len - 2] != '.'; len--)
		text[len - 1] = '\0';
	return text;
}

static void histogram_sample(const char *name, const struct label *le, unsigned long long v)
{
	sample_labels(name, le, !!le);
	if (want_json) {
		json_string(&json, "name", name);
		json_number(&json, "value", v);
		json_close(&json);
	} else {
		printf("%llu\n", v);
	}
}

static void histogram_sum(const char *name, unsigned long long ns)
{
	sample_labels(name, NULL, 0);
	if (want_json) {
		json_string(&json, "name", name);
		json_real(&json, "value", ns / 1e9);
		json_close(&json);
	} else {
		puts(seconds_text(ns));
	}
}

/* A module that is older has no such counters. */
static void histogram(const struct counters *c)
{
	const struct counter *sum = counter_find(c, TOOK "ns");
	const struct counter *longer = counter_find(c, TOOK "longer");
	unsigned long long n = 0, last = 0, limit;
	struct label le = { "le", NULL };
	unsigned int i;

	if (!sum || !longer)
		return;
	family(TOOK_METRIC, "histogram",
	       "from the first offer of a transaction until it is committed");
	for (i = 0; i < c->n; i++) {
		limit = took_limit(&c->c[i]);
		if (limit <= last)
			continue;
		last = limit;
		n += c->c[i].value;
		le.value = seconds_text(limit);
		histogram_sample(TOOK_METRIC "_bucket", &le, n);
	}
	n += longer->value;
	le.value = "+Inf";
	histogram_sample(TOOK_METRIC "_bucket", &le, n);
	histogram_sum(TOOK_METRIC "_sum", sum->value);
	histogram_sample(TOOK_METRIC "_count", NULL, n);
	family_end();
}

static void counters(const struct counters *c, const char *prefix)
{
	char name[128];
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		if (!good_name(c->c[i].name) || is_took(&c->c[i]))
			continue;
		snprintf(name, sizeof(name), "%s_%s_total", prefix, c->c[i].name);
		family(name, "counter", c->c[i].text);
		sample(name, NULL, 0, c->c[i].value);
		family_end();
	}
}

/* What a link's metric shows: a number of a row. */
struct link_metric {
	const char *name, *type, *help;
	unsigned long long (*get)(const struct link_row *l);
	bool us;
};

static unsigned long long get_open(const struct link_row *l)
{
	return !strcmp(l->state, "OPEN");
}

static unsigned long long get_tx(const struct link_row *l)
{
	return l->tx;
}

static unsigned long long get_rx(const struct link_row *l)
{
	return l->rx;
}

static unsigned long long get_queue(const struct link_row *l)
{
	return l->queue;
}

static unsigned long long get_unread(const struct link_row *l)
{
	return l->unread;
}

static unsigned long long get_rtt(const struct link_row *l)
{
	return l->rtt_us;
}

static unsigned long long get_min_rtt(const struct link_row *l)
{
	return l->minrtt_us;
}

static unsigned long long get_age(const struct link_row *l)
{
	return l->age_s;
}

static unsigned long long get_lanes(const struct link_row *l)
{
	return l->lanes;
}

static unsigned long long get_window(const struct link_row *l)
{
	return l->window;
}

static unsigned long long get_cwnd(const struct link_row *l)
{
	return l->cwnd;
}

static unsigned long long get_ssthresh(const struct link_row *l)
{
	return l->ssthresh;
}

static unsigned long long get_repaired(const struct link_row *l)
{
	return l->repaired;
}

static unsigned long long get_failures(const struct link_row *l)
{
	return l->failures;
}

static const struct link_metric link_metrics[] = {
	{ "oae_link_open", "gauge", "1: the link is OPEN", get_open, false },
	{ "oae_link_committed_total", "counter",
	  "number of the last transaction committed; begins anew with the link, wraps at 2^32",
	  get_tx, false },
	{ "oae_link_delivered_total", "counter",
	  "number of the last transaction delivered; begins anew with the link, wraps at 2^32",
	  get_rx, false },
	{ "oae_link_queued_transactions", "gauge", "transactions that wait for their turn",
	  get_queue, false },
	{ "oae_link_unread_transactions", "gauge", "transactions that wait for a reader",
	  get_unread, false },
	{ "oae_link_rtt_seconds", "gauge", "smoothed round trip, 0 not measured yet", get_rtt,
	  true },
	{ "oae_link_minrtt_seconds", "gauge", "shortest round trip of late, 0 not measured yet",
	  get_min_rtt, true },
	{ "oae_link_age_seconds", "gauge", "since the link was made", get_age, false },
	{ "oae_link_lanes", "gauge", "transactions under way", get_lanes, false },
	{ "oae_link_window", "gauge",
	  "the most transactions under way that both ends agreed on, 0 not known", get_window,
	  false },
	{ "oae_link_cwnd", "gauge", "congestion window: frames with content that may be under way",
	  get_cwnd, false },
	{ "oae_link_ssthresh", "gauge", "up to here cwnd doubles with each round trip",
	  get_ssthresh, false },
	{ "oae_link_repaired_total", "counter", "lost frames offered again without a freeze",
	  get_repaired, false },
	{ "oae_link_failures_total", "counter", "freezes that the link has recovered from",
	  get_failures, false },
};

static void links(const struct links *l)
{
	unsigned int i, k;
	char vc[8];

	for (k = 0; k < sizeof(link_metrics) / sizeof(*link_metrics); k++) {
		const struct link_metric *m = &link_metrics[k];

		family(m->name, m->type, m->help);
		for (i = 0; i < l->n; i++) {
			const struct link_row *row = &l->row[i];
			struct label label[] = {
				{ "port", row->port }, { "peer", row->peer }, { "vc", vc },
			};

			snprintf(vc, sizeof(vc), "%llu", row->vc);
			if (m->us)
				sample_seconds(m->name, label, 3, m->get(row));
			else
				sample(m->name, label, 3, m->get(row));
		}
		family_end();
	}
	family("oae_link_info", "gauge", "always 1; its state and its way are labels");
	for (i = 0; i < l->n; i++) {
		const struct link_row *row = &l->row[i];
		struct label label[] = {
			{ "port", row->port }, { "peer", row->peer }, { "vc", vc },
			{ "state", row->state }, { "way", row->way },
		};

		snprintf(vc, sizeof(vc), "%llu", row->vc);
		sample("oae_link_info", label, 5, 1);
	}
	family_end();
	family("oae_link_waits_seconds", "gauge",
	       "for how long the link has waited for what the label says, 0 not known");
	for (i = 0; i < l->n; i++) {
		const struct link_row *row = &l->row[i];
		struct label label[] = {
			{ "port", row->port }, { "peer", row->peer }, { "vc", vc },
			{ "why", row->waits },
		};

		if (!row->waits || !strcmp(row->waits, "-"))
			continue;
		snprintf(vc, sizeof(vc), "%llu", row->vc);
		sample_seconds("oae_link_waits_seconds", label, 4, row->since_ms * 1000);
	}
	family_end();
	family("oae_links", "gauge", "links of this namespace");
	sample("oae_links", NULL, 0, l->n);
	family_end();
}

static void ports(void)
{
	struct ports p;
	unsigned int i;

	if (!ports_read(&p))
		return;
	family("oae_port_up", "gauge", "1: the port is up and has a carrier");
	for (i = 0; i < p.n; i++) {
		struct label label = { "port", p.port[i].name };

		sample("oae_port_up", &label, 1, !strcmp(port_state(&p.port[i]), "up"));
	}
	family_end();
	ports_free(&p);
}

struct zone_metric {
	const char *name, *type, *help, *col;
};

static const struct zone_metric zone_metrics[] = {
	{ "oaeip_zone_nodes", "gauge", "nodes known in the zone", "nodes" },
	{ "oaeip_zone_mtu_bytes", "gauge", "bytes of a frame that the way to it carries", "mtu" },
	{ "oaeip_zone_tx_frames_total", "counter", "frames sent to its gateway", "tx_frames" },
	{ "oaeip_zone_rx_frames_total", "counter", "frames received from its gateway",
	  "rx_frames" },
};

static void zones(void)
{
	unsigned int i, k;
	struct table t;

	if (!table_read(&t, PROC_GATEWAY, "zones"))
		return;
	family("oaeip_zone_up", "gauge", "1: the zone is this one, or its gateway is heard");
	for (i = 0; i < t.nrows; i++) {
		const char *state = table_cell(&t, i, "state");
		struct label label = { "zone", table_cell(&t, i, "zone") ?: "" };

		sample("oaeip_zone_up", &label, 1,
		       state && (!strcmp(state, "up") || !strcmp(state, "mine")));
	}
	family_end();
	for (k = 0; k < sizeof(zone_metrics) / sizeof(*zone_metrics); k++) {
		const struct zone_metric *m = &zone_metrics[k];
		unsigned long long v;

		family(m->name, m->type, m->help);
		for (i = 0; i < t.nrows; i++) {
			struct label label = { "zone", table_cell(&t, i, "zone") ?: "" };

			if (table_number(&t, i, m->col, &v))
				sample(m->name, &label, 1, v);
		}
		family_end();
	}
	table_free(&t);
}

static int print_all(void)
{
	struct counters c;
	struct links l;
	bool link, gateway;

	gateway = counters_read(&c, PROC_GATEWAY);
	json_init(&json, stdout);
	if (gateway) {
		if (want_json)
			json_array(&json, NULL);
		counters(&c, "oaeip");
		counters_free(&c);
		zones();
	}
	link = counters_read(&c, PROC_LINK);
	if (!link && !gateway)
		return proc_complain(PROC_LINK);
	if (!gateway && want_json)
		json_array(&json, NULL);
	if (link) {
		counters(&c, "oae");
		histogram(&c);
		counters_free(&c);
		ports();
		if (links_read(&l)) {
			links(&l);
			links_free(&l);
		}
	}
	if (want_json)
		json_close(&json);
	return EXIT_OK;
}

struct text {
	char *text;
	size_t len;
};

/* To @fd, which is closed. 0, or the errno. */
static int write_text(int fd, const struct text *t)
{
	size_t done = 0;
	int err = 0;
	ssize_t n;

	while (!err && done < t->len) {
		n = write(fd, t->text + done, t->len - done);
		if (n > 0)
			done += n;
		else if (!n || errno != EINTR)
			err = n ? errno : EIO;
	}
	if (close(fd) && !err)
		err = errno;
	return err;
}

/*
 * A name beside it until all is there: who reads the file never sees a part. It does not
 * end as the textfile collector wants names to end.
 */
static int replace(const char *file, const struct text *t)
{
	char *part;
	int fd, err;

	if (asprintf(&part, "%s.XXXXXX", file) < 0)
		out_of_memory();
	fd = mkstemp(part);
	if (fd < 0) {
		err = errno;
		free(part);
		return err;
	}
	err = fchmod(fd, 0644) ? errno : 0;
	err = write_text(fd, t) ?: err;
	if (!err && rename(part, file))
		err = errno;
	if (err)
		unlink(part);
	free(part);
	return err;
}

/* A file is replaced, also where a link to it is; a device, a FIFO, a socket is written to. */
static int put(const char *file, const struct text *t)
{
	struct stat st;
	char *target;
	int fd, err;

	if (lstat(file, &st))
		return replace(file, t);
	if (stat(file, &st) || !S_ISREG(st.st_mode)) {
		/* A link may name what is not there yet. */
		fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return errno;
		if (fstat(fd, &st) || !S_ISREG(st.st_mode))
			return write_text(fd, t);
		close(fd);
	}
	target = realpath(file, NULL);
	err = target ? replace(target, t) : errno;
	free(target);
	return err;
}

static int to_file(const char *file)
{
	FILE *out = stdout;
	struct text t;
	int status, err;

	stdout = memory_file(&t.text, &t.len);
	status = print_all();
	fclose(stdout);
	stdout = out;
	err = status ? 0 : put(file, &t);
	free(t.text);
	return err ? complain_file(err, file) : status;
}

int cmd_metrics(int argc, char **argv)
{
	const char *output = NULL;

	parse_options(&argp, argc, argv, &output);
	return output && strcmp(output, "-") ? to_file(output) : print_all();
}
