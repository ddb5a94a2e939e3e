// SPDX-License-Identifier: GPL-2.0
/* oae neighbours: hosts that were heard on the segments of the ports. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "json.h"
#include "neighbours.h"
#include "netlink.h"
#include "proc.h"
#include "text.h"

static const char doc[] =
	"Hosts with the module on the segments of the ports, as they say it themselves: each under "
	"its id, at every port that heard it.\n"
	"\vExamples:\n"
	"  oae neighbours       who is there\n"
	"  oae -j neighbours    for programs\n"
	"\n"
	"An id is an address: oae send id:1020ae0000002 hello. It is claimed, not proven. HEARD is how long ago that was; a host that says nothing "
	"for four minutes is forgotten. It is no sign of whether a link works.\n"
	"JSON: an array of objects: id, port, address, mtu, heard_ms, inc.\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	usage_error(state, "\"%s\": neighbours takes nothing, it shows all", arg);
}

static const struct argp argp = { NULL, parse, NULL, doc, common_options, NULL, NULL };

static struct neighbour *add(struct neighbours *n, const char *port)
{
	struct neighbour *row;

	n->row = grow(n->row, n->n + 1, sizeof(*n->row));
	row = &n->row[n->n++];
	memset(row, 0, sizeof(*row));
	snprintf(row->port, sizeof(row->port), "%s", port);
	return row;
}

static void take(const struct nlattr *const *attrs, void *data)
{
	struct neighbour *row = add(data, attr_text(attrs[OAE_NL_NEIGHBOUR_PORT]));

	row->id = attr_number(attrs[OAE_NL_NEIGHBOUR_ID]);
	row->inc = attr_number(attrs[OAE_NL_NEIGHBOUR_INC]);
	row->heard_ms = attr_number(attrs[OAE_NL_NEIGHBOUR_HEARD]);
	row->mtu = attr_number(attrs[OAE_NL_NEIGHBOUR_MTU]);
	attr_mac(attrs[OAE_NL_NEIGHBOUR_ADDRESS], row->mac);
}

static bool hex(const char *text, unsigned long long *value)
{
	char *end;

	if (!text)
		return false;
	errno = 0;
	*value = strtoull(text, &end, 16);
	return end != text && !*end && *text != '-' && !errno;
}

/* Lines that are not understood are left out. */
static bool read_file(struct neighbours *n)
{
	struct table t;
	unsigned int i;

	if (!table_read(&t, PROC_LINK, "neighbours"))
		return false;
	for (i = 0; i < t.nrows; i++) {
		const char *port = table_cell(&t, i, "port"), *mac = table_cell(&t, i, "mac");
		unsigned long long mtu;
		struct neighbour row;

		if (!port || strlen(port) >= IFNAMSIZ || !mac || oae_parse_peer(mac, row.mac) ||
		    !hex(table_cell(&t, i, "id"), &row.id) ||
		    !hex(table_cell(&t, i, "inc"), &row.inc) ||
		    !table_number(&t, i, "mtu", &mtu) ||
		    !table_number(&t, i, "heard_ms", &row.heard_ms))
			continue;
		row.mtu = mtu;
		snprintf(row.port, sizeof(row.port), "%s", port);
		*add(n, port) = row;
	}
	table_free(&t);
	return true;
}

bool neighbours_read(struct neighbours *n)
{
	struct refused why;
	struct netlink nl;

	memset(n, 0, sizeof(*n));
	if (getenv("OAE_PROC_NET"))
		return read_file(n);
	errno = netlink_try(&nl, OAE_NL_FAMILY);
	if (errno)
		return false;
	netlink_talk(&nl, netlink_request(&nl, OAE_NL_NEIGHBOUR_GET, true), take, n, &why);
	netlink_close(&nl);
	errno = why.err;
	if (why.err)
		neighbours_free(n);
	return !why.err;
}

void neighbours_free(struct neighbours *n)
{
	free(n->row);
	memset(n, 0, sizeof(*n));
}

static int compare(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->port, y->port) ?: memcmp(x->mac, y->mac, sizeof(x->mac));
}

static void list_json(const struct neighbours *n)
{
	char text[32], mac[OAE_PEER_TEXT];
	const struct neighbour *row;
	struct json j;

	json_init(&j, stdout);
	json_array(&j, NULL);
	for (row = n->row; row < n->row + n->n; row++) {
		json_object(&j, NULL);
		snprintf(text, sizeof(text), "id:%016llx", row->id);
		json_string(&j, "id", text);
		json_string(&j, "port", row->port);
		json_string(&j, "address", oae_format_peer(row->mac, mac));
		json_number(&j, "mtu", row->mtu);
		json_number(&j, "heard_ms", row->heard_ms);
		snprintf(text, sizeof(text), "0x%016llx", row->inc);
		json_string(&j, "inc", text);
		json_close(&j);
	}
	json_close(&j);
}

static void list_people(const struct neighbours *n)
{
	static const struct grid_col cols[] = {
		{ "ID", false }, { "PORT", false }, { "ADDRESS", false }, { "MTU", true },
		{ "HEARD", true },
	};
	char id[32], mac[OAE_PEER_TEXT], mtu[16], heard[UNIT_LEN];
	const struct neighbour *row;
	struct grid g;

	if (!n->n) {
		puts("no neighbours were heard; see the knob discover, and `oae port`");
		return;
	}
	grid_init(&g, cols, 5);
	for (row = n->row; row < n->row + n->n; row++) {
		snprintf(id, sizeof(id), "id:%016llx", row->id);
		snprintf(mtu, sizeof(mtu), "%u", row->mtu);
		grid_add(&g, id, row->port, oae_format_peer(row->mac, mac), mtu,
			 duration(heard, row->heard_ms * 1000000));
	}
	grid_print(&g, stdout, 0, 0);
	grid_free(&g);
}

int cmd_neighbours(int argc, char **argv)
{
	struct neighbours n;

	parse_options(&argp, argc, argv, NULL);
	if (!neighbours_read(&n))
		return proc_complain(PROC_LINK);
	if (n.n)
		qsort(n.row, n.n, sizeof(*n.row), compare);
	if (want_json)
		list_json(&n);
	else
		list_people(&n);
	neighbours_free(&n);
	return EXIT_OK;
}
