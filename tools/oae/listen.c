// SPDX-License-Identifier: GPL-2.0
/* oae listen: peers that open a link, as they appear. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "peer.h"
#include "text.h"

struct args {
	struct peer peer;
	unsigned long long count;	/* 0: until interrupted */
	unsigned int wait_ms;
};

static const char doc[] =
	"Peers whose links nobody is attached to, as they appear, until interrupted. Each is told "
	"once, and to one listener: it is for looking, or for scripts that attach.\n"
	"\vExamples:\n"
	"  oae listen                     whoever opens a link, on whatever channel\n"
	"  oae listen --vc 3 -c 1         the next on channel 3\n"
	"  oae listen | while read -r port peer vc; do\n"
	"          oae recv -v \"$vc\" \"$port/$peer\"; done\n"
	"\n"
	"A line is: port, peer, vc. JSON: an object a line, of these names.\n"
	"Exit: 0; 1 not in time, or an error.\n";

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "end after N peers; 0: when interrupted", 0 },
	{ "wait", 'w', "SECONDS", 0, "for the next one; then give up", 0 },
	{ "timeout", OPT_WAIT_MS, "MS", OPTION_HIDDEN, NULL, 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'c':
		a->count = number_arg(state, "-c", arg, 0, ~0ULL);
		return 0;
	case 'w':
	case OPT_WAIT_MS:
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state, "\"%s\" is too much: one PEER", arg);
		peer_arg(&a->peer, arg, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { options, parse, "[PEER]", doc, peer_options, NULL, NULL };

static void print(const struct oae_peer *who)
{
	size_t len = strnlen(who->port, sizeof(who->port));
	char text[OAE_PEER_TEXT];
	struct json j;

	oae_format_peer(who->peer, text);
	if (want_json) {
		json_init(&j, stdout);
		json_object(&j, NULL);
		json_bytes(&j, "port", who->port, len);
		json_string(&j, "peer", text);
		json_number(&j, "vc", who->vc);
		json_close(&j);
	} else {
		put_safe(stdout, who->port, len);
		printf(" %s %u\n", text, who->vc);
		fflush(stdout);
	}
}

static int serve(const struct args *a, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned long long got = 0, quiet = now_ns();
	struct oae_peer who;

	while (!stopped()) {
		poll(&p, 1, 100);
		while (!oae_next_peer(fd, &who)) {
			print(&who);
			if (output_failed())
				return EXIT_OUTPUT;
			quiet = now_ns();
			if (++got == a->count)
				return EXIT_OK;
		}
		if (errno != EAGAIN && errno != EINTR)
			return complain_errno(errno, "listening");
		if (a->wait_ms && now_ns() - quiet > a->wait_ms * 1000000ULL) {
			complain("nobody came for %u ms", a->wait_ms);
			return EXIT_LOCAL;
		}
	}
	return a->count ? EXIT_LOCAL : EXIT_OK;
}

int cmd_listen(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE };
	int fd, status;

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	fd = peer_listen(&a.peer);
	if (fd < 0)
		return EXIT_LOCAL;
	status = serve(&a, fd);
	close(fd);
	return status;
}
