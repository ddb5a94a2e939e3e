// SPDX-License-Identifier: GPL-2.0
/* Which link is meant, and being an end of it. See peer.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "neighbours.h"
#include "peer.h"
#include "ports.h"
#include "text.h"

#define OPT_PORT	0x210
#define MAX_MESSAGE	0x100000	/* more than any max_len */

static const struct argp_option option_list[] = {
	{ "port", OPT_PORT, "PORT", 0, "otherwise where it was heard; any, where peers come", 1 },
	{ "vc", 'v', "N", 0, "virtual channel, 0 to 255", 1 },
	{ 0 }
};

static void port_name(struct peer *p, const char *name, size_t len, struct argp_state *state)
{
	if (!len || len >= IFNAMSIZ)
		usage_error(state, "\"%.*s\" is not the name of a device", (int)len, name);
	memset(p->port, 0, sizeof(p->port));
	memcpy(p->port, name, len);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct peer *p = state->input;

	switch (key) {
	case OPT_PORT:
		port_name(p, arg, strlen(arg), state);
		return 0;
	case 'v':
		p->vc = number_arg(state, "--vc", arg, 0, 255);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp peer_argp = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

static const struct argp json_argp = { NULL, NULL, NULL, NULL, common_options, NULL, NULL };

const struct argp_child peer_options[] = {
	{ &json_argp, 0, NULL, 0 },
	{ &peer_argp, 0, NULL, 0 },
	{ 0 }
};

void peer_init(struct argp_state *state, struct peer *p)
{
	state->child_inputs[1] = p;
}

void peer_arg(struct peer *p, const char *arg, struct argp_state *state)
{
	const char *slash = strchr(arg, '/'), *addr = slash ? slash + 1 : arg;
	struct oae_address where;
	unsigned long low;
	char *end;

	p->text = arg;
	if (slash)
		port_name(p, arg, slash - arg, state);
	if (!oae_parse_address(arg, &where)) {
		if (*where.port)
			port_name(p, where.port, strlen(where.port), state);
		memcpy(p->mac, where.peer, sizeof(p->mac));
		p->id = where.id;
		return;
	}
	low = strtoul(addr, &end, 16);
	/* A name that is nowhere, as "bad", is no address. */
	if (!isdigit((unsigned char)*addr) || *end || !low || low > 0xffffff)
		usage_error(state,
			    "\"%s\" is no peer: [PORT/]MAC, the lower 24 bits of a MAC in hex (from a "
			    "digit on: 0bad), id:ID, or a name of /etc/oae/hosts", arg);
	p->mac[3] = low >> 16;
	p->mac[4] = low >> 8;
	p->mac[5] = low;
	p->low24 = true;
}

static bool is_heard(const struct neighbours *all, const char *port, const unsigned char mac[6])
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		if (!strcmp(all->row[i].port, port) && !memcmp(all->row[i].mac, mac, 6))
			return true;
	return false;
}

/*
 * 24 bits stand under the OUI of the port: where none is named, of one that has heard the
 * address, else of the first.
 */
static bool complete_low24(struct peer *p, const struct ports *ports)
{
	struct neighbours all;
	const struct port *port;
	bool found = false, heard = false;

	/* None, if they cannot be read. */
	neighbours_read(&all);
	for (port = ports->port; port < ports->port + ports->n && !heard; port++) {
		unsigned char mac[6];

		if (!port->there || (*p->port && strcmp(p->port, port->name)))
			continue;
		memcpy(mac, port->mac, 3);
		memcpy(mac + 3, p->mac + 3, 3);
		heard = is_heard(&all, port->name, mac);
		if (heard || !found)
			memcpy(p->mac, mac, 6);
		found = true;
	}
	neighbours_free(&all);
	return found;
}

static bool resolve(struct peer *p)
{
	struct ports ports;
	bool found;

	if (!p->low24)
		return true;
	if (!ports_read(&ports)) {
		complain("%s: needs a whole MAC, or a port whose address it begins like", p->text);
		return false;
	}
	found = complete_low24(p, &ports);
	ports_free(&ports);
	if (!found)
		complain("%s: ENODEV: %s", *p->port ? p->port : p->text, outcome_meaning(ENODEV));
	return found;
}

/* A listener takes an address. */
static bool resolve_id(struct peer *p)
{
	struct neighbours all;
	unsigned int i, n = 0;

	if (!neighbours_read(&all)) {
		complain_errno(errno, "%s", p->text);
		return false;
	}
	for (i = 0; i < all.n; i++) {
		if (all.row[i].id != p->id || (*p->port && strcmp(p->port, all.row[i].port)))
			continue;
		memcpy(p->mac, all.row[i].mac, sizeof(p->mac));
		n++;
	}
	neighbours_free(&all);
	if (!n)
		complain_errno(EHOSTUNREACH, "%s", p->text);
	else if (n > 1)
		complain("%s: is at %u addresses: which? See `oae neighbours`", p->text, n);
	return n == 1;
}

static int open_end(struct peer *p, int flags)
{
	struct oae_address where = { .id = p->id };
	struct oae_status status;
	int fd;

	memcpy(where.port, p->port, sizeof(where.port));
	memcpy(where.peer, p->mac, sizeof(where.peer));
	fd = oae_open_address(&where, p->vc, flags);
	/* Where it is, for those who are told. */
	if (fd >= 0 && p->id && !oae_status(fd, &status)) {
		memcpy(p->port, status.port, sizeof(p->port));
		memcpy(p->mac, status.peer, sizeof(p->mac));
	}
	return fd;
}

/* What the first call into the device says. */
static void complain_open(int err)
{
	if (err == ENOENT || err == ENXIO)
		complain("no %s, though modoae is loaded: is this /dev the kernel's (devtmpfs)?",
			 OAE_DEV);
	else if (err == EINVAL)
		complain("EINVAL: not an address that a peer can have: is it this end's own?");
	else
		complain_errno(err, "%s", OAE_DEV);
}

/* What is queued when the program is killed is reversed, as if it waited in the kernel. */
static bool reverse_at_end(int fd)
{
	struct oae_options options;

	if (oae_get_options(fd, &options))
		return false;
	options.linger_ms = 0;
	return !oae_set_options(fd, &options);
}

int peer_open(struct peer *p, int flags)
{
	int fd;

	if (!resolve(p))
		return -1;
	if (p->vc < 0)
		p->vc = 0;
	fd = open_end(p, flags | OAE_OPEN_NONBLOCK);
	if (fd < 0) {
		complain_open(errno);
		return -1;
	}
	if (reverse_at_end(fd))
		return fd;
	complain_errno(errno, "linger_ms");
	close(fd);
	return -1;
}

int peer_listen(struct peer *p)
{
	int fd;

	if (p->text && !(p->id ? resolve_id(p) : resolve(p)))
		return -1;
	fd = oae_listen(p->port, p->text ? p->mac : NULL, p->vc, OAE_OPEN_NONBLOCK);
	if (fd < 0)
		complain_open(errno);
	return fd;
}

void result_begin(struct json *j, const struct peer *p, int err)
{
	char text[OAE_PEER_TEXT];

	json_init(j, stdout);
	json_array(j, NULL);
	json_object(j, NULL);
	if (*p->port)
		json_string(j, "port", p->port);
	json_string(j, "peer", oae_format_peer(p->mac, text));
	json_number(j, "vc", p->vc);
	json_string(j, "result", outcome_word(err));
	if (err) {
		json_string(j, "errno", errno_name(err));
		json_string(j, "error", outcome_meaning(err));
		if (outcome_waited())
			json_string(j, "waits", outcome_waited());
	}
}

void result_end(struct json *j)
{
	json_close(j);
	json_close(j);
}

char *read_stdin(size_t *len)
{
	char *buf = alloc(MAX_MESSAGE, 1);
	ssize_t n;

	*len = 0;
	while (*len < MAX_MESSAGE) {
		n = read(STDIN_FILENO, buf + *len, MAX_MESSAGE - *len);
		if (n < 0) {
			complain_file(errno, "stdin");
			free(buf);
			return NULL;
		}
		if (!n)
			break;
		*len += n;
	}
	return buf;
}
