// SPDX-License-Identifier: GPL-2.0
/* oae swap: give a half and take the peer's; both or neither. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "peer.h"
#include "text.h"
#include "transact.h"

struct args {
	struct peer peer;
	const char *give;
	unsigned int wait_ms;
	bool raw;
};

static const char doc[] =
	"Gives a half, TEXT or - for stdin, and prints the one that the peer gives for it. Waits "
	"until the peer gives one: there, too, somebody says oae swap, or a program does.\n"
	"\vExamples:\n"
	"  oae swap 02:0a:e0:00:00:02 'my half'     wait for as long as it takes\n"
	"  oae swap 2 -w 5 - <mine >theirs -r\n"
	"                                           five seconds, then it is reversed\n"
	"\n"
	"A half that is lent to the peer can no longer be reversed; then it is waited for once "
	"more as long, and if it is not known yet the exit code is 4.\n"
	"JSON: an array of one object: peer, vc, result, errno and error if it is not committed, "
	"gave (bytes), took (bytes), and data, or where that is no UTF-8, hex.\n"
	"Exit: 0 swapped, 1 not begun, 2 reversed, 3 unknown, 4 not known yet.\n";

static const struct argp_option options[] = {
	{ "wait", 'w', "SECONDS", 0, "for the peer's half; then it is reversed", 0 },
	{ "timeout", OPT_WAIT_MS, "MS", OPTION_HIDDEN, NULL, 0 },
	{ "raw", 'r', NULL, 0, "the bytes taken as they are", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'w':
	case OPT_WAIT_MS:
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case 'r':
		a->raw = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!state->arg_num)
			peer_arg(&a->peer, arg, state);
		else if (state->arg_num == 1)
			a->give = arg;
		else
			usage_error(state, "\"%s\" is too much: one half; quote its blanks", arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->give)
			usage_error(state, "with whom, and what is given? oae swap PEER TEXT|-");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "PEER TEXT|-", doc, peer_options, NULL, NULL
};

static int report(const struct args *a, int err, size_t gave, const char *took, size_t len)
{
	struct json j;

	if (want_json) {
		result_begin(&j, &a->peer, err);
		json_number(&j, "gave", gave);
		if (!err) {
			json_number(&j, "took", len);
			json_data(&j, took, len);
		}
		result_end(&j);
	} else if (err) {
		complain_outcome(err, a->peer.text);
	} else if (a->raw) {
		fwrite(took, 1, len, stdout);
	} else {
		put_safe(stdout, took, len && took[len - 1] == '\n' ? len - 1 : len);
		putchar('\n');
	}
	return outcome_exit(err);
}

static int post(int fd, void *data)
{
	const struct iovec *give = data;

	return oae_queue_swap(fd, give->iov_base, give->iov_len, NULL);
}

int cmd_swap(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE };
	struct transact t = { .fd = -1 };
	const char *took = NULL;
	struct iovec give;
	char *input = NULL;
	int status, err;

	parse_options(&argp, argc, argv, &a);
	t.wait_ms = a.wait_ms;
	give.iov_len = strlen(a.give);
	if (!strcmp(a.give, "-")) {
		input = read_stdin(&give.iov_len);
		if (!input)
			return EXIT_LOCAL;
	}
	give.iov_base = input ?: (char *)a.give;
	if (!give.iov_len) {
		complain("nothing to give: a half has a byte at least");
		free(input);
		return EXIT_USAGE;
	}
	stop_on_signals();
	t.fd = peer_open(&a.peer, 0);
	if (t.fd < 0) {
		free(input);
		return EXIT_LOCAL;
	}
	err = transact(&t, post, &give);
	if (err == EINPROGRESS)
		err = transact_more(&t);
	if (!err)
		took = oae_outcome_half(&t.batch, t.rec);
	status = report(&a, err, give.iov_len, took, took ? t.rec->len : 0);
	transact_free(&t);
	close(t.fd);
	free(input);
	return status;
}
