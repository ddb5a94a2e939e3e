// SPDX-License-Identifier: GPL-2.0
/* oae show: the links and ports of this namespace, and what its gateway knows. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "json.h"
#include "owners.h"
#include "ports.h"
#include "proc.h"
#include "text.h"

struct args {
	struct filter filter;
	const char *what;	/* NULL: links, and a line about each port */
	bool processes;		/* who has each link open */
};

static const char doc[] =
	"The links of this network namespace, or their paths; the zones, the nodes of its gateway.\n"
	"\vExamples:\n"
	"  oae show                         all links, and the ports they are on\n"
	"  oae show port eth0 vc 3          those of one port and channel\n"
	"  oae show peer 02:0a:e0:00:00:02  those to a peer; 2 is enough\n"
	"  oae show state down              open, down, opening, closing or closed\n"
	"  oae show -p                      and who has them open, and who listens\n"
	"  oae show paths                   ports and addresses that links may go by\n"
	"  oae show zones                   the gateway's: how each zone is reached\n"
	"  oae show nodes                   the gateway's: who is in which zone\n"
	"  oae -j show                      for programs\n"
	"\n"
	"OFFER: what goes out: - nothing, out in flight, parked refused for now, queued waits.\n"
	"HOLD: what comes in: partial, held, refused, kept.\n"
	"TX, RX: number of the last transaction committed, delivered.\n"
	"QUEUE, UNREAD: transactions that wait for their turn, for a reader.\n"
	"WINDOW: transactions under way, and the most that both ends agreed on.\n"
	"CWND: frames with a content that may be under way, as the network bears them.\n"
	"REPAIRED: lost frames that were offered again without a freeze.\n"
	"FAILURES: freezes that the link has recovered from.\n"
	"WAITS FOR: why it stands still, since when, until when; and what keeps its peer waiting "
	"here.\n"
	"\n"
	"Of paths, which links have that have, or had, more than one: BY and TO, the port and the "
	"address of the peer; VIA, the gateway between; STATE, down, trying (not proven yet), good, lossy (frames are lost "
	"there) or silent; LOSS, as measured; SINCE, how long the one that is USED has been, and WHY: "
	"own (the link began with it), rank (`oae path`), carrier, silence, loss (of another), back, mtu "
	"(it carries longer frames), spread (links share their paths), peer (it uses that). The peer chooses for itself what it "
	"asks by.\n"
	"\n"
	"JSON: an array of objects, one a link, with the columns of /proc/net/modoae/tags: "
	"port, vc, state, offer, hold, peer, way, rx, tx, unread, queue, rtt_us, minrtt_us, kid, age_s, "
	"lanes, window, cwnd, ssthresh, repaired, failures, waits (port, carrier, gateway, answer, settling, "
	"room, words, half, flight, confirm; - nothing), since_ms, until_ms (0: not known, never), "
	"unread_bytes, idle_ms (nothing was read for so long), says (the sentence). "
	"With -p also owners: an array of objects with pid, fd and command; and an "
	"object of state LISTEN for each file that listens, with port, peer and vc null "
	"for any. Of paths an object each, with the columns of /proc/net/modoae/paths: port, vc, "
	"peer, path, by, to, via, state, used, mtu, rtt_us, loss_pct, since_s, why, "
	"rank.\n";

static const struct argp_option options[] = {
	{ "processes", 'p', NULL, 0, "who has each link open, and who listens", 0 },
	{ 0 }
};

static const char *const words[] = {
	"port", "peer", "vc", "state", "links", "paths", "zones", "nodes", NULL
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	int word;

	switch (key) {
	case ARGP_KEY_ARG:
		word = filter_arg(&a->filter, arg, words, state);
		if (word >= 0 && a->what)
			usage_error(state, "\"%s\": %s or %s, not both", arg, a->what,
				    words[word]);
		if (word >= 0)
			a->what = words[word];
		return 0;
	case 'p':
		a->processes = true;
		return 0;
	case ARGP_KEY_END:
		filter_end(&a->filter, state);
		if (a->processes && a->what && strcmp(a->what, "links"))
			usage_error(state, "-p: %s have no owners, links have", a->what);
		if (a->filter.state >= 0 && a->what && !strcmp(a->what, "paths"))
			usage_error(state, "state: that is of links, paths have another");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse,
	"[links|paths|zones|nodes] [port PORT] [peer ADDR] [vc N] [state STATE]", doc,
	common_options, NULL, NULL
};

/* Who listens for links: as a link, of which there is only who has it. */
static void listener_json(const struct owner *o, struct json *j)
{
	json_object(j, NULL);
	if (*o->port == '*')
		json_null(j, "port");
	else
		json_string(j, "port", o->port);
	if (o->vc < 0)
		json_null(j, "vc");
	else
		json_number(j, "vc", o->vc);
	json_string(j, "state", "LISTEN");
	if (*o->peer == '*')
		json_null(j, "peer");
	else
		json_string(j, "peer", o->peer);
	json_array(j, "owners");
	owner_json(o, j);
	json_close(j);
	json_close(j);
}

static void listener_row(struct grid *g, const struct owner *o)
{
	char vc[12] = "*", who[96];

	if (o->vc >= 0)
		snprintf(vc, sizeof(vc), "%d", o->vc);
	snprintf(who, sizeof(who), "%s/%u", o->command, o->pid);
	grid_add(g, o->port, o->peer, vc, "LISTEN", "-", "-", "-", "-", "-", "-", "-", "-", "-",
		 "-", "-", "-", "-", "-", who);
}

/* @owners: NULL if they were not asked for. */
static void links_json(const struct links *l, const struct filter *f, const struct owners *owners)
{
	struct json j;
	unsigned int i;

	json_init(&j, stdout);
	json_array(&j, NULL);
	for (i = 0; i < l->n; i++) {
		if (!filter_link(f, &l->row[i]))
			continue;
		json_object(&j, NULL);
		table_json(&l->table, l->at[i], &j);
		if (owners)
			owners_json(owners, &l->row[i], &j);
		json_close(&j);
	}
	for (i = 0; owners && i < owners->n; i++)
		if (owner_listens(&owners->o[i], f))
			listener_json(&owners->o[i], &j);
	json_close(&j);
}

static void link_row(struct grid *g, const struct link_row *l, const char *owner)
{
	char vc[8], tx[24], rx[24], queue[24], unread[24], rtt[UNIT_LEN], old[UNIT_LEN];
	char window[48] = "-", cwnd[24] = "-", repaired[24] = "-", failures[24] = "-";

	snprintf(vc, sizeof(vc), "%llu", l->vc);
	snprintf(tx, sizeof(tx), "%llu", l->tx);
	snprintf(rx, sizeof(rx), "%llu", l->rx);
	snprintf(queue, sizeof(queue), "%llu", l->queue);
	snprintf(unread, sizeof(unread), "%llu", l->unread);
	if (l->window) {
		snprintf(window, sizeof(window), "%llu/%llu", l->lanes, l->window);
		snprintf(cwnd, sizeof(cwnd), "%llu", l->cwnd);
		snprintf(repaired, sizeof(repaired), "%llu", l->repaired);
		snprintf(failures, sizeof(failures), "%llu", l->failures);
	}
	grid_add(g, l->port, l->peer, vc, l->state, l->way, l->offer, l->hold, tx, rx, queue,
		 unread, l->rtt_us ? duration(rtt, l->rtt_us * 1000) : "-", age(old, l->age_s),
		 window, cwnd, repaired, failures, l->says ?: "-", owner);
}

static void links_people(const struct links *l, const struct filter *f,
			 const struct owners *owners)
{
	static const struct grid_col cols[] = {
		{ "PORT", false }, { "PEER", false }, { "VC", true }, { "STATE", false },
		{ "WAY", false }, { "OFFER", false }, { "HOLD", false }, { "TX", true },
		{ "RX", true }, { "QUEUE", true }, { "UNREAD", true }, { "RTT", true },
		{ "AGE", true }, { "WINDOW", true }, { "CWND", true }, { "REPAIRED", true },
		{ "FAILURES", true }, { "WAITS FOR", false }, { "OWNER", false },
	};
	struct grid g;
	unsigned int i;
	char *owner;

	grid_init(&g, cols, sizeof(cols) / sizeof(*cols) - !owners);
	for (i = 0; i < l->n; i++) {
		if (!filter_link(f, &l->row[i]))
			continue;
		owner = owners ? owners_text(owners, &l->row[i]) : NULL;
		link_row(&g, &l->row[i], owner);
		free(owner);
	}
	for (i = 0; owners && i < owners->n; i++)
		if (owner_listens(&owners->o[i], f))
			listener_row(&g, &owners->o[i]);
	if (g.nrows)
		grid_print(&g, stdout, 0, 0);
	else
		puts("no links");
	grid_free(&g);
}

static void ports_people(const struct filter *f)
{
	struct ports p;
	unsigned int i;

	if (!ports_read(&p)) {
		complain_file(errno, "the knob dev");
		return;
	}
	for (i = 0; i < p.n; i++) {
		const struct port *q = &p.port[i];

		if (f->port && strcmp(f->port, q->name))
			continue;
		fputs("port ", stdout);
		put_safe(stdout, q->name, strlen(q->name));
		printf(": %02x:%02x:%02x:%02x:%02x:%02x %s, mtu %u\n", q->mac[0], q->mac[1],
		       q->mac[2], q->mac[3], q->mac[4], q->mac[5], port_state(q), q->mtu);
	}
	if (!p.n)
		puts("no ports; oae port add DEV makes one");
	ports_free(&p);
}

static int show_links(const struct args *a)
{
	struct owners owners = { 0 }, *wanted = a->processes ? &owners : NULL;
	struct links l;

	if (!links_read(&l))
		return proc_complain(PROC_LINK);
	if (wanted)
		owners_read(wanted);
	if (want_json) {
		links_json(&l, &a->filter, wanted);
	} else {
		if (!a->what)
			ports_people(&a->filter);
		links_people(&l, &a->filter, wanted);
	}
	if (owners.hidden)
		complain("%u processes may not be looked at; as root they may", owners.hidden);
	owners_free(&owners);
	if (l.bad)
		complain("%u lines of tags were not understood; is oae older than the module?",
			 l.bad);
	links_free(&l);
	return EXIT_OK;
}

/* A table as it is, in our columns. */
static void table_people(const struct table *t)
{
	struct grid_col *cols = alloc(t->ncols, sizeof(*cols));
	const char **cells = alloc(t->ncols, sizeof(*cells));
	char **title = alloc(t->ncols, sizeof(*title));
	unsigned int i, row;
	struct grid g;
	char *c;

	for (i = 0; i < t->ncols; i++) {
		title[i] = copy_text(t->col[i], strlen(t->col[i]));
		for (c = title[i]; *c; c++)
			*c = isascii(*c) && isgraph(*c) ? toupper(*c) : '?';
		cols[i].title = title[i];
	}
	grid_init(&g, cols, t->ncols);
	for (row = 0; row < t->nrows; row++) {
		for (i = 0; i < t->ncols; i++)
			cells[i] = t->cell[(size_t)row * t->ncols + i] ?: "-";
		grid_row(&g, cells);
	}
	grid_print(&g, stdout, 0, 0);
	grid_free(&g);
	for (i = 0; i < t->ncols; i++)
		free(title[i]);
	free(title);
	free(cells);
	free(cols);
}

static int show_gateway(const char *file)
{
	struct table t;
	struct json j;
	unsigned int i;

	if (!table_read(&t, PROC_GATEWAY, file))
		return proc_complain(PROC_GATEWAY);
	if (want_json) {
		json_init(&j, stdout);
		json_array(&j, NULL);
		for (i = 0; i < t.nrows; i++) {
			json_object(&j, NULL);
			table_json(&t, i, &j);
			json_close(&j);
		}
		json_close(&j);
	} else if (t.ncols) {
		table_people(&t);
	}
	table_free(&t);
	return EXIT_OK;
}

/* Is it a path of one of the links that are meant? A line that is not understood is not. */
static bool path_wanted(const struct filter *f, const struct table *t, unsigned int row)
{
	const char *port = table_cell(t, row, "port"), *peer = table_cell(t, row, "peer");
	unsigned long long vc;
	unsigned char mac[6];

	return port && peer && mac_parse(peer, mac) && table_number(t, row, "vc", &vc) &&
	       vc < 256 && (!f->port || !strcmp(f->port, port)) && filter_peer(f, mac, vc);
}

static void path_row(struct grid *g, const struct table *t, unsigned int row)
{
	const char *used = table_cell(t, row, "used");
	const char *lost = table_cell(t, row, "loss_pct");
	char rtt[UNIT_LEN] = "-", since[UNIT_LEN] = "-", loss[24] = "-";
	unsigned long long us, s;

	if (table_number(t, row, "rtt_us", &us) && us)
		duration(rtt, us * 1000);
	if (table_number(t, row, "since_s", &s))
		age(since, s);
	if (lost)
		snprintf(loss, sizeof(loss), "%.16s %%", lost);
	grid_add(g, table_cell(t, row, "port"), table_cell(t, row, "peer"),
		 table_cell(t, row, "vc"), table_cell(t, row, "by") ?: "-",
		 table_cell(t, row, "to") ?: "-", table_cell(t, row, "via") ?: "-",
		 table_cell(t, row, "state") ?: "-", used ?: "-",
		 table_cell(t, row, "mtu") ?: "-", rtt, loss, since,
		 table_cell(t, row, "why") ?: "-", table_cell(t, row, "rank") ?: "-");
}

static void paths_people(const struct table *t, const struct filter *f)
{
	static const struct grid_col cols[] = {
		{ "PORT", false }, { "PEER", false }, { "VC", true }, { "BY", false },
		{ "TO", false }, { "VIA", false }, { "STATE", false }, { "USED", false },
		{ "MTU", true }, { "RTT", true }, { "LOSS", true }, { "SINCE", true },
		{ "WHY", false }, { "RANK", false },
	};
	unsigned int row;
	struct grid g;

	grid_init(&g, cols, sizeof(cols) / sizeof(*cols));
	for (row = 0; row < t->nrows; row++)
		if (path_wanted(f, t, row))
			path_row(&g, t, row);
	if (g.nrows)
		grid_print(&g, stdout, 0, 0);
	else
		puts("no link has more than one path");
	grid_free(&g);
}

static int show_paths(const struct filter *f)
{
	struct table t;
	struct json j;
	unsigned int row;

	if (!table_read(&t, PROC_LINK, "paths"))
		return proc_complain(PROC_LINK);
	if (want_json) {
		json_init(&j, stdout);
		json_array(&j, NULL);
		for (row = 0; row < t.nrows; row++) {
			if (!path_wanted(f, &t, row))
				continue;
			json_object(&j, NULL);
			table_json(&t, row, &j);
			json_close(&j);
		}
		json_close(&j);
	} else {
		paths_people(&t, f);
	}
	table_free(&t);
	return EXIT_OK;
}

int cmd_show(int argc, char **argv)
{
	struct args a = { .filter = FILTER_ANY };

	parse_options(&argp, argc, argv, &a);
	if (a.what && !strcmp(a.what, "paths"))
		return show_paths(&a.filter);
	if (a.what && !strcmp(a.what, "zones"))
		return show_gateway("zones");
	if (a.what && !strcmp(a.what, "nodes"))
		return show_gateway("mactbl");
	return show_links(&a);
}
