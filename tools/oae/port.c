// SPDX-License-Identifier: GPL-2.0
/* oae port: which net devices are bound to the module. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "netlink.h"
#include "ports.h"
#include "proc.h"
#include "text.h"

struct args {
	unsigned int verb;
	const char **dev;
	unsigned int ndev;
};

static const char doc[] =
	"Net devices that are ports of the module in this network namespace.\n"
	"\vExamples:\n"
	"  oae port add eth0          bind eth0\n"
	"  oae port add eth1 eth2     and two more\n"
	"  oae port add '*'           every one, later ones too\n"
	"  oae port add udp:192.0.2.1 a UDP port, for networks of IP only\n"
	"  oae port del eth0          release it: its links are closed\n"
	"  oae -j port show           for programs\n"
	"\n"
	"A port until the module is unloaded; at every boot: systemctl enable oae-port@eth0.\n"
	"JSON: an array of objects: port, address, state (up, down, no carrier, gone), mtu, "
	"links (how many it has).\n"
	"Exit: 6 the module refused it.\n";

static const char *const verbs[] = { "add", "del", "show", NULL };

enum { ADD, DEL, SHOW };

/* udp:ADDR[:PORT], which the module looks at. */
static bool is_udp(const char *arg)
{
	return !strncmp(arg, "udp:", 4) && strlen(arg) < 56 && !strchr(arg, ',');
}

static void dev_arg(struct args *a, const char *arg, struct argp_state *state)
{
	if (a->verb >= SHOW)
		usage_error(state, "\"%s\": show takes no device, it shows all", arg);
	if (!is_udp(arg) && (!*arg || strlen(arg) >= IFNAMSIZ || strpbrk(arg, ",/ \t\n") ||
			     strchr("+-", *arg)))
		usage_error(state, "\"%s\" is not the name of a device: 1 to 15 characters, no "
			    "comma, slash or blank", arg);
	a->dev = grow(a->dev, a->ndev + 1, sizeof(*a->dev));
	a->dev[a->ndev++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num)
			dev_arg(a, arg, state);
		else
			a->verb = word_arg(state, "", arg, verbs);
		return 0;
	case ARGP_KEY_END:
		if (a->verb < SHOW && !a->ndev)
			usage_error(state, "%s: which device? oae port %s DEV", verbs[a->verb],
				    verbs[a->verb]);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	NULL, parse, "[show]\nadd DEV...\ndel PORT...", doc, common_options, NULL, NULL
};

/*
 * The module does not let a request wait for another that changes ports: that one
 * may wait for links to close, linger_ms each time.
 */
static int change_patiently(struct netlink *n, const char *dev, bool add, struct refused *why)
{
	unsigned long long end = now_ns() + 15000000000ULL;
	struct nlmsghdr *nlh;

	do {
		nlh = netlink_request(n, add ? OAE_NL_PORT_ADD : OAE_NL_PORT_DEL, false);
		netlink_put_text(n, nlh, OAE_NL_PORT_NAME, dev);
		if (netlink_talk(n, nlh, NULL, NULL, why) != EBUSY)
			break;
	} while (now_ns() < end && sleep_ms(10));
	return why->err;
}

/* One request a device, so that each has an error of its own. */
static int change(const struct args *a)
{
	bool add = a->verb == ADD;
	struct refused why;
	struct netlink n;
	unsigned int i;
	int status;

	status = netlink_open(&n, OAE_NL_FAMILY, PROC_LINK);
	if (status)
		return status;
	for (i = 0; i < a->ndev; i++) {
		char what[72];

		snprintf(what, sizeof(what), "%s %s", add ? "add" : "del", a->dev[i]);
		/* That it is one already is what was wanted, at boot as by hand. */
		if (change_patiently(&n, a->dev[i], add, &why) && !(add && why.err == EEXIST))
			status = complain_refused(&why, what);
	}
	netlink_close(&n);
	return status;
}

static unsigned int links_of(const struct links *l, const char *port)
{
	unsigned int i, n = 0;

	for (i = 0; i < l->n; i++)
		n += !strcmp(l->row[i].port, port);
	return n;
}

static void mac_text(char buf[18], const unsigned char m[6])
{
	snprintf(buf, 18, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static void list_json(const struct ports *p, const struct links *l)
{
	struct json j;
	unsigned int i;
	char mac[18];

	json_init(&j, stdout);
	json_array(&j, NULL);
	for (i = 0; i < p->n; i++) {
		json_object(&j, NULL);
		json_string(&j, "port", p->port[i].name);
		mac_text(mac, p->port[i].mac);
		json_string(&j, "address", mac);
		json_string(&j, "state", port_state(&p->port[i]));
		json_number(&j, "mtu", p->port[i].mtu);
		json_number(&j, "links", links_of(l, p->port[i].name));
		json_close(&j);
	}
	json_close(&j);
}

static void list_people(const struct ports *p, const struct links *l)
{
	static const struct grid_col cols[] = {
		{ "PORT", false }, { "ADDRESS", false }, { "STATE", false }, { "MTU", true },
		{ "LINKS", true },
	};
	struct grid g;
	unsigned int i;

	if (!p->n) {
		puts("no ports; oae port add DEV makes one");
		return;
	}
	grid_init(&g, cols, 5);
	for (i = 0; i < p->n; i++) {
		char mac[18], mtu[16], links[16];

		mac_text(mac, p->port[i].mac);
		snprintf(mtu, sizeof(mtu), "%u", p->port[i].mtu);
		snprintf(links, sizeof(links), "%u", links_of(l, p->port[i].name));
		grid_add(&g, p->port[i].name, mac, port_state(&p->port[i]), mtu, links);
	}
	grid_print(&g, stdout, 0, 0);
	grid_free(&g);
}

static int list(void)
{
	struct links l;
	struct ports p;

	if (!links_read(&l))
		return proc_complain(PROC_LINK);
	if (!ports_read(&p)) {
		links_free(&l);
		return complain_file(errno, "the knob dev");
	}
	if (want_json)
		list_json(&p, &l);
	else
		list_people(&p, &l);
	ports_free(&p);
	links_free(&l);
	return EXIT_OK;
}

int cmd_port(int argc, char **argv)
{
	struct args a = { .verb = SHOW };
	int status;

	parse_options(&argp, argc, argv, &a);
	if (a.verb >= SHOW)
		return list();
	status = change(&a);
	free(a.dev);
	return status;
}
