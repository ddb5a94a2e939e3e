// SPDX-License-Identifier: GPL-2.0
/* oae port: which net devices are bound to the module. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "ports.h"
#include "proc.h"
#include "text.h"

struct args {
	const char *verb;
	const char **dev;
	unsigned int ndev;
};

static const char doc[] =
	"Net devices that are ports of the module in this network namespace.\n"
	"\vExamples:\n"
	"  oae port add eth0          bind eth0\n"
	"  oae port add eth1 eth2     and two more\n"
	"  oae port del eth0          release it: its links are closed\n"
	"  oae -j port list           for programs\n"
	"\n"
	"JSON: an array of objects: port, address, state (up, down, no carrier, gone), mtu,\n"
	"links (how many it has).\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!a->verb) {
			if (strcmp(arg, "add") && strcmp(arg, "del") && strcmp(arg, "list"))
				argp_error(state, "\"%s\": add, del or list?", arg);
			a->verb = arg;
		} else if (!strcmp(a->verb, "list")) {
			argp_error(state, "list takes no device");
		} else if (!*arg || strlen(arg) >= IFNAMSIZ || strpbrk(arg, ",/ \t\n") ||
			   strchr("+-", *arg)) {
			argp_error(state, "\"%s\" is not the name of a device", arg);
		} else {
			a->dev = grow(a->dev, a->ndev + 1, sizeof(*a->dev));
			a->dev[a->ndev++] = arg;
		}
		return 0;
	case ARGP_KEY_END:
		if (a->verb && strcmp(a->verb, "list") && !a->ndev)
			argp_error(state, "%s: which device?", a->verb);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	NULL, parse, "[list]\nadd DEV...\ndel DEV...", doc, common_options, NULL, NULL
};

static const char *why(int err, bool adding)
{
	switch (err) {
	case ENODEV:
		return adding ? "there is no such device in this namespace" : "it is no port";
	case EINVAL:
		return "it is no Ethernet device, or not its name";
	case EBUSY:
		return "it is in use by something that takes its frames, a bond or a bridge";
	case EPERM:
	case EACCES:
		return "needs CAP_NET_ADMIN; be root";
	}
	return strerror(err);
}

/* One write a device, so that each has an error of its own. */
static int change(const char *dev, char sign)
{
	char path[512], text[IFNAMSIZ + 2];
	int fd, err = 0, len;

	if (!knob_path(path, sizeof(path), "dev"))
		return complain_errno(ENAMETOOLONG, "dev");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT) {
			complain("modoae is not loaded; try: modprobe modoae");
			return EXIT_LOCAL;
		}
		return complain_errno(errno, "%s", path);
	}
	len = snprintf(text, sizeof(text), "%c%s", sign, dev);
	if (write(fd, text, len) != len)
		err = errno;
	close(fd);
	if (!err)
		return EXIT_OK;
	complain("%s %s: %s: %s; the kernel log has a line about it", sign == '+' ? "add" : "del",
		 dev, errno_name(err), why(err, sign == '+'));
	return EXIT_LOCAL;
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

	if (!links_read(&l)) {
		proc_complain(PROC_LINK);
		return EXIT_LOCAL;
	}
	if (!ports_read(&p)) {
		links_free(&l);
		return complain_errno(errno, "the knob dev");
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
	struct args a = { 0 };
	unsigned int i;
	int status = EXIT_OK;

	parse_options(&argp, &argc, argv, &a);
	if (!a.verb || !strcmp(a.verb, "list"))
		return list();
	for (i = 0; i < a.ndev; i++)
		status |= change(a.dev[i], *a.verb == 'a' ? '+' : '-');
	free(a.dev);
	return status;
}
