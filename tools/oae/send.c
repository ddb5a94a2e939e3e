// SPDX-License-Identifier: GPL-2.0
/* oae send: one transaction, until its outcome is known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "file.h"
#include "peer.h"
#include "text.h"
#include "transact.h"

struct args {
	struct peer peer;
	const char *text;	/* NULL: stdin */
	bool express;
	bool quiet;
	const char *file;
	unsigned int wait_ms;
};

static const char doc[] =
	"Sends a message to PEER: TEXT, or what comes on stdin. Returns when it is committed, or "
	"says what became of it. It is delivered to whoever reads there: oae recv, noc_debug.\n"
	"\vExamples:\n"
	"  oae send 02:0a:e0:00:00:02 hello      one message, 5 bytes\n"
	"  oae send 2 hello                      the same, under the port's OUI\n"
	"  oae send eth1/2 --vc 3 <note          from eth1, on channel 3\n"
	"  oae send 2 --file disk.img            any length; there: oae recv --file\n"
	"  oae send 2 -w 0.5 hello               reversed if not committed by then\n"
	"  oae -j send 2 hello                   for programs\n"
	"\n"
	"JSON: an array of one object: peer, vc, result (committed, reversed, unknown, pending, "
	"not begun), errno and error if it is not committed, bytes, time_us.\n"
	"With --file 0 is told when the peer has the file, whole at its name; -w is for each step.\n"
	"Exit: 0 committed, 1 not begun, 2 reversed, 3 unknown, 4 not known yet.\n";

#define OPT_FILE	256

static const struct argp_option options[] = {
	{ "file", OPT_FILE, "FILE", 0, "a file of any length, for `oae recv --file`", 0 },
	{ "express", 'e', NULL, 0, "delivered at once", 0 },
	{ "wait", 'w', "SECONDS", 0, "for the outcome; then it is reversed", 0 },
	{ "deadline", OPT_WAIT_MS, "MS", OPTION_HIDDEN, NULL, 0 },
	{ "quiet", 'q', NULL, 0, "say nothing when it is committed", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'e':
		a->express = true;
		return 0;
	case 'w':
	case OPT_WAIT_MS:
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case OPT_FILE:
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->file && (a->text || a->express))
			usage_error(state, "--file: no TEXT, and no --express");
		return 0;
	case ARGP_KEY_ARG:
		if (!state->arg_num)
			peer_arg(&a->peer, arg, state);
		else if (state->arg_num == 1)
			a->text = strcmp(arg, "-") ? arg : NULL;
		else
			usage_error(state, "\"%s\" is too much: one TEXT; quote its blanks", arg);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "to whom? oae send PEER [TEXT|-]");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "PEER [TEXT|-]", doc, peer_options, NULL, NULL
};

static int report(const struct args *a, int err, size_t len, unsigned long long ns)
{
	char took[UNIT_LEN];
	struct json j;

	if (want_json) {
		result_begin(&j, &a->peer, err);
		json_number(&j, "bytes", len);
		json_real(&j, "time_us", ns / 1e3);
		result_end(&j);
	} else if (err) {
		complain_outcome(err, a->peer.text);
	} else if (!a->quiet) {
		printf("committed: %zu bytes in %s\n", len, duration(took, ns));
	}
	return outcome_exit(err);
}

static int post(int fd, void *data)
{
	return oae_queuev(fd, data, 1);
}

int cmd_send(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE };
	struct transact t = { .fd = -1 };
	unsigned long long begin;
	struct iovec message;
	char *input = NULL;
	int err, status;

	parse_options(&argp, argc, argv, &a);
	if (a.file) {
		stop_on_signals();
		return file_send(&a.peer, a.file, a.wait_ms, a.quiet);
	}
	t.wait_ms = a.wait_ms;
	message.iov_len = a.text ? strlen(a.text) : 0;
	if (!a.text) {
		input = read_stdin(&message.iov_len);
		if (!input)
			return EXIT_LOCAL;
	}
	message.iov_base = input ?: (char *)a.text;
	if (!message.iov_len) {
		complain("nothing to send: a transaction has a byte at least");
		free(input);
		return EXIT_USAGE;
	}
	stop_on_signals();
	t.fd = peer_open(&a.peer, a.express ? OAE_OPEN_EXPRESS : 0);
	if (t.fd < 0) {
		free(input);
		return EXIT_LOCAL;
	}
	begin = now_ns();
	err = transact(&t, post, &message);
	if (err == EINPROGRESS)
		err = transact_more(&t);
	status = report(&a, err, message.iov_len, now_ns() - begin);
	transact_free(&t);
	close(t.fd);
	free(input);
	return status;
}
