// SPDX-License-Identifier: GPL-2.0
/* oae perf: how many messages a second, how fast, and what became of each. */
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "perf.h"

static const char doc[] =
	"Messages to PEER, where `oae perf --server` takes them or sends them back: how many a "
	"second, how long each takes from its write to its outcome, and how each ended. None is "
	"sent again. At the end the server says how many were delivered, and that is compared with "
	"how many were committed.\n"
	"\vExamples:\n"
	"  oae perf --server                       at one host, until interrupted\n"
	"  oae perf 02:0a:e0:00:00:02              at the other: one at a time, 10 s\n"
	"  oae perf 2 --rtt -c 10000               ping-pong\n"
	"  oae perf 2 -s 8K --depth 32   --vcs 4   as much as goes through\n"
	"  oae perf 2 --time 60 -w 0.5             pull the cable meanwhile\n"
	"  oae -j perf 2 --time 2                  for programs\n"
	"\n"
	"Each of --vcs is a link of its own, from --vc on. Outcomes not known after half a second "
	"with -w 0.5 are reversed. How many can be queued is a matter of the knob sndq, too. "
	"On a terminal there is a line a second.\n"
	"JSON: an array of one object: peer, vc, vcs, "
	"mode, kind, bytes, depth, seconds, sent, committed, reversed, unknown, pending, errors, "
	"committed_per_s, bits_per_s, outcome_us and half_rtt_us (min, p50, p90, p99, p99_9, max), "
	"echoes, echoes_missing, server (delivered, bytes, echoed, agrees), histogram. Of a server "
	"an object a line and session: port, peer, vc, mode, kind, bytes, result, delivered, "
	"delivered_bytes, echoed, refused, seconds.\n"
	"Exit: 0 all committed, and delivered; else 2 some reversed, 3 some unknown, 4 some not "
	"known yet; 1 nobody answers, the counts differ, or an error.\n";

enum {
	OPT_SERVER = 256, OPT_DEPTH, OPT_VCS, OPT_TIME, OPT_RTT, OPT_ONEWAY,
};

static const struct argp_option options[] = {
	{ "server", OPT_SERVER, NULL, 0, "take messages of PEER, or of anybody; send back", 0 },
	{ "count", 'c', "N", 0, "end after N messages, 0: on an interrupt; a server: sessions", 0 },
	{ "time", OPT_TIME, "SECONDS", 0, "end after so long (10; with -c no limit)", 0 },
	{ "size", 's', "BYTES", 0, "of a message (64)", 0 },
	{ "depth", OPT_DEPTH, "N", 0, "messages under way on each channel (1)", 0 },
	{ "vcs", OPT_VCS, "N", 0, "channels from --vc on (1), of a server with --vc, too", 0 },
	{ "express", 'e', NULL, 0, "delivered at once", 0 },
	{ "oneway", OPT_ONEWAY, NULL, 0, "the server takes them; what is done otherwise", 0 },
	{ "rtt", OPT_RTT, NULL, 0, "the server sends each back: half of the round trip", 0 },
	{ "wait", 'w', "SECONDS", 0, "for an outcome; then it is reversed", 0 },
	{ 0 }
};

struct parsed {
	struct perf_args *a;
	const char *of_client;	/* an option that a server does not have */
	bool oneway;
	bool endless;		/* -c 0 */
};

static void parse_end(struct argp_state *state, const struct parsed *p)
{
	struct perf_args *a = p->a;
	unsigned int first = a->peer.vc < 0 ? 0 : a->peer.vc;

	if (a->server && p->of_client)
		usage_error(state, "%s is for the other end: without --server", p->of_client);
	if (!a->server && !a->peer.text)
		usage_error(state, "whom? oae perf PEER, or oae perf --server");
	if (a->server && a->vcs && a->peer.vc < 0)
		usage_error(state, "--vcs: a server takes all channels, unless there is --vc");
	if (p->oneway && a->mode == PERF_RTT)
		usage_error(state, "--oneway or --rtt, not both");
	if (a->mode == PERF_RTT && a->depth > 1)
		usage_error(state, "--rtt: one message under way on each channel: no --depth");
	if (!a->vcs)
		a->vcs = 1;
	if (first + a->vcs > 256)
		usage_error(state, "--vcs: %u channels from %u on, but 255 is the last", a->vcs,
			    first);
	if (!a->depth)
		a->depth = 1;
	if (!a->size)
		a->size = 64;
	if (!a->time_ms && !a->count && !p->endless)
		a->time_ms = 10000;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct parsed *p = state->input;
	struct perf_args *a = p->a;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case OPT_SERVER:
		a->server = true;
		return 0;
	case 'c':
		a->count = number_arg(state, "-c", arg, 0, ~0ULL);
		p->endless = !a->count;
		return 0;
	case OPT_VCS:
		a->vcs = number_arg(state, "--vcs", arg, 1, 256);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state, "\"%s\" is too much: one PEER", arg);
		peer_arg(&a->peer, arg, state);
		return 0;
	case ARGP_KEY_END:
		parse_end(state, p);
		return 0;
	case OPT_TIME:
		p->of_client = "--time";
		a->time_ms = seconds_arg(state, "--time", arg);
		if (!a->time_ms)
			usage_error(state, "--time: \"%s\" is not a time from 0.001 seconds on",
				    arg);
		return 0;
	case 's':
		p->of_client = "-s";
		a->size = size_arg(state, "-s", arg, 1, PERF_MAX_SIZE);
		return 0;
	case OPT_DEPTH:
		p->of_client = "--depth";
		a->depth = number_arg(state, "--depth", arg, 1, 4096);
		return 0;
	case 'e':
		p->of_client = "--express";
		a->express = true;
		return 0;
	case OPT_ONEWAY:
		p->of_client = "--oneway";
		p->oneway = true;
		return 0;
	case OPT_RTT:
		p->of_client = "--rtt";
		a->mode = PERF_RTT;
		return 0;
	case 'w':
		p->of_client = "-w";
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "PEER\n--server [PEER]", doc, peer_options, NULL, NULL
};

int cmd_perf(int argc, char **argv)
{
	struct perf_args a = { .peer = PEER_NONE };
	struct parsed p = { .a = &a };

	parse_options(&argp, argc, argv, &p);
	stop_on_signals();
	return a.server ? perf_server(&a) : perf_client(&a);
}
