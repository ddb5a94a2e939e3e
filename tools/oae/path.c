// SPDX-License-Identifier: GPL-2.0
/* oae path: how much a path of a link is wanted. `oae show paths` shows what there is. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "json.h"
#include "netlink.h"
#include "proc.h"

struct args {
	struct filter link;
	const char *by;
	const char *to;		/* NULL: any address */
	int rank;		/* of path_ranks, -1: not said */
	bool to_next;		/* the value of "to" comes next */
};

static const char doc[] =
	"How much a path of a link is wanted: a link that has more than one goes by the best.\n"
	"\vExamples:\n"
	"  oae path set eth1 avoid peer 2           only if all else fails\n"
	"  oae path set eth0 preferred peer 2 vc 3  of the link on channel 3 alone\n"
	"  oae path set eth1 normal peer 2          as at first\n"
	"\n"
	"BY is the port here that a path goes by, as `oae show paths` has it. Of the links that "
	"are meant all paths by that port, or that to ADDR, are set, and nothing else. It is kept "
	"as long as the link is there.\n"
	"It is for what this end asks and offers: the peer chooses for itself.\n"
	"JSON: an array of objects, one a path that was set: port, vc, peer, by, to, rank.\n"
	"Exit: 6 there is no such path.\n";

static const char *const verbs[] = { "set", NULL };
const char *const path_ranks[] = { "preferred", "normal", "avoid", NULL };
static const char *const words[] = { "port", "peer", "vc", "to", NULL };

static void rest_arg(struct args *a, const char *arg, struct argp_state *state)
{
	unsigned char mac[6];

	if (a->to_next) {
		a->to_next = false;
		if (!mac_parse(arg, mac))
			usage_error(state, "to: \"%s\" is not a MAC", arg);
		a->to = arg;
	} else if (filter_arg(&a->link, arg, words, state) >= 0) {
		a->to_next = true;	/* the only word that is not about the link */
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!state->arg_num)
			word_arg(state, "", arg, verbs);
		else if (state->arg_num == 1)
			a->by = arg;
		else if (state->arg_num == 2)
			a->rank = word_arg(state, "", arg, path_ranks);
		else
			rest_arg(a, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (a->rank < 0)
			usage_error(state, "which path, and how? oae path set BY RANK peer ADDR");
		filter_end(&a->link, state);
		if (a->to_next)
			usage_error(state, "to: which one? A value has to follow");
		if (!a->link.mac_len)
			usage_error(state, "of the link to whom? peer ADDR");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	NULL, parse, "set BY RANK peer ADDR [port PORT] [vc N] [to ADDR]", doc, common_options,
	NULL, NULL
};

/* A line of the table of paths. */
struct row {
	const char *port, *peer, *by, *to;
	unsigned char peer_mac[6], to_mac[6];
	unsigned long long vc;
};

/* False: it is not understood, or not meant. */
static bool row_wanted(const struct args *a, const struct table *t, unsigned int i, struct row *r)
{
	unsigned char mac[6];

	r->port = table_cell(t, i, "port");
	r->peer = table_cell(t, i, "peer");
	r->by = table_cell(t, i, "by");
	r->to = table_cell(t, i, "to");
	if (!r->port || !r->peer || !r->by || !r->to || !mac_parse(r->peer, r->peer_mac) ||
	    !mac_parse(r->to, r->to_mac) || !table_number(t, i, "vc", &r->vc) || r->vc > 255)
		return false;
	if (a->to && mac_parse(a->to, mac) && memcmp(mac, r->to_mac, 6))
		return false;
	return !strcmp(a->by, r->by) && (!a->link.port || !strcmp(a->link.port, r->port)) &&
	       filter_peer(&a->link, r->peer_mac, r->vc);
}

static int set_one(struct netlink *n, const struct args *a, const struct row *r,
		   struct refused *why)
{
	struct nlmsghdr *nlh = netlink_request(n, OAE_NL_PATH_SET, false);
	uint8_t vc = r->vc;

	netlink_put_text(n, nlh, OAE_NL_PATH_PORT, r->port);
	netlink_put(n, nlh, OAE_NL_PATH_PEER, r->peer_mac, 6);
	netlink_put(n, nlh, OAE_NL_PATH_VC, &vc, 1);
	netlink_put_text(n, nlh, OAE_NL_PATH_BY, r->by);
	netlink_put(n, nlh, OAE_NL_PATH_TO, r->to_mac, 6);
	netlink_put_text(n, nlh, OAE_NL_PATH_RANK, path_ranks[a->rank]);
	return netlink_talk(n, nlh, NULL, NULL, why);
}

static void row_json(struct json *j, const struct args *a, const struct row *r)
{
	json_object(j, NULL);
	json_string(j, "port", r->port);
	json_number(j, "vc", r->vc);
	json_string(j, "peer", r->peer);
	json_string(j, "by", r->by);
	json_string(j, "to", r->to);
	json_string(j, "rank", path_ranks[a->rank]);
	json_close(j);
}

/* Those of the table. A path, or a link, may have gone since. */
static void set_all(struct netlink *n, const struct args *a, const struct table *t,
		    struct refused *why)
{
	unsigned int i, set = 0;
	struct json j;
	struct row r;

	memset(why, 0, sizeof(*why));
	json_init(&j, stdout);
	if (want_json)
		json_array(&j, NULL);
	for (i = 0; i < t->nrows; i++) {
		if (!row_wanted(a, t, i, &r))
			continue;
		if (set_one(n, a, &r, why) == ENOENT)
			continue;
		if (why->err)
			break;
		set++;
		if (want_json)
			row_json(&j, a, &r);
	}
	if (want_json)
		json_close(&j);
	if (why->err && why->err != ENOENT)
		return;
	why->err = set ? 0 : ENOENT;
}

int cmd_path(int argc, char **argv)
{
	struct args a = { .link = FILTER_ANY, .rank = -1 };
	struct refused why;
	struct netlink n;
	struct table t;
	int status;

	parse_options(&argp, argc, argv, &a);
	if (!table_read(&t, PROC_LINK, "paths"))
		return proc_complain(PROC_LINK);
	status = netlink_open(&n, OAE_NL_FAMILY, "modoae");
	if (!status) {
		set_all(&n, &a, &t, &why);
		netlink_close(&n);
		if (why.err == ENOENT)
			strcpy(why.text,
			       "there is no such path; `oae show paths` has those that are there");
		if (why.err)
			status = complain_refused(&why, a.by);
	}
	table_free(&t);
	return status;
}
