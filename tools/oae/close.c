// SPDX-License-Identifier: GPL-2.0
/* oae close: begins to close a link. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "neighbours.h"
#include "netlink.h"
#include "peer.h"
#include "ports.h"

struct args {
	struct peer peer;	/* first: peer_options */
};

static const char doc[] =
	"Closes a link: transactions in flight end first, and the peer is told.\n"
	"\vExamples:\n"
	"  oae close 02:0a:e0:00:00:02     that on channel 0, on any port\n"
	"  oae close 2 --vc 3 --port eth0  that on channel 3, by way of eth0\n"
	"\n"
	"It does not wait: the link is there until the peer has answered, or is not heard for "
	"dead_ms. The peer, or a program here, may open it again.\n"
	"JSON: an array with an object: peer, vc, result (closing).\n"
	"Exit: 6 there is no such link.\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case ARGP_KEY_ARG:
		if (a->peer.text)
			usage_error(state, "\"%s\" is too much: one PEER", arg);
		peer_arg(&a->peer, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!a->peer.text)
			usage_error(state, "the link to whom? oae close PEER");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { NULL, parse, "PEER", doc, peer_options, NULL, NULL };

/* @port NULL: any */
static int close_one(struct netlink *n, const char *port, const unsigned char mac[6],
		     unsigned int vc, struct refused *why)
{
	struct nlmsghdr *nlh = netlink_request(n, OAE_NL_LINK_CLOSE, false);
	uint8_t channel = vc;

	netlink_put(n, nlh, OAE_NL_LINK_PEER, mac, 6);
	netlink_put(n, nlh, OAE_NL_LINK_VC, &channel, 1);
	if (port)
		netlink_put_text(n, nlh, OAE_NL_LINK_PORT, port);
	return netlink_talk(n, nlh, NULL, NULL, why);
}

/* 24 bits stand under the OUI of each port: closes what there is. */
static int close_low24(struct netlink *n, const struct peer *p, unsigned int vc,
		       struct refused *why)
{
	unsigned char mac[6];
	struct ports ports;
	bool closed = false;
	unsigned int i;

	memset(why, 0, sizeof(*why));
	why->err = ENODEV;
	if (!ports_read(&ports))
		return why->err = errno;
	for (i = 0; i < ports.n; i++) {
		const struct port *q = &ports.port[i];

		if (*p->port && strcmp(p->port, q->name))
			continue;
		memcpy(mac, q->mac, 3);
		memcpy(mac + 3, p->mac + 3, 3);
		if (!close_one(n, q->name, mac, vc, why))
			closed = true;
		else if (why->err != ENOENT)
			break;
	}
	ports_free(&ports);
	if (closed && why->err == ENOENT)
		why->err = 0;
	return why->err;
}

/* Wherever it was heard. */
static int close_id(struct netlink *n, const struct peer *p, unsigned int vc, struct refused *why)
{
	struct neighbours all;
	bool closed = false;
	unsigned int i;

	memset(why, 0, sizeof(*why));
	why->err = EHOSTUNREACH;
	if (!neighbours_read(&all))
		return why->err = errno;
	for (i = 0; i < all.n; i++) {
		const struct neighbour *row = &all.row[i];

		if (row->id != p->id || (*p->port && strcmp(p->port, row->port)))
			continue;
		if (!close_one(n, row->port, row->mac, vc, why))
			closed = true;
		else if (why->err != ENOENT)
			break;
	}
	neighbours_free(&all);
	if (closed && why->err == ENOENT)
		why->err = 0;
	return why->err;
}

static void close_json(const struct peer *p, unsigned int vc)
{
	struct json j;

	json_init(&j, stdout);
	json_array(&j, NULL);
	json_object(&j, NULL);
	json_string(&j, "peer", p->text);
	json_number(&j, "vc", vc);
	json_string(&j, "result", "closing");
	json_close(&j);
	json_close(&j);
}

int cmd_close(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE };
	struct peer *p = &a.peer;
	struct refused why;
	struct netlink n;
	unsigned int vc;
	int status;

	parse_options(&argp, argc, argv, &a);
	vc = p->vc < 0 ? 0 : p->vc;
	status = netlink_open(&n, OAE_NL_FAMILY, "modoae");
	if (status)
		return status;
	if (p->id)
		close_id(&n, p, vc, &why);
	else if (p->low24)
		close_low24(&n, p, vc, &why);
	else
		close_one(&n, *p->port ? p->port : NULL, p->mac, vc, &why);
	netlink_close(&n);
	if (why.err == ENOENT)
		strcpy(why.text, "there is no such link; `oae show` has those that are there");
	if (why.err)
		return complain_refused(&why, p->text);
	if (want_json)
		close_json(p, vc);
	return EXIT_OK;
}
