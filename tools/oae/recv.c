// SPDX-License-Identifier: GPL-2.0
/* oae recv: messages that arrive, from one peer or from whoever opens a link. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "file.h"
#include "peer.h"
#include "text.h"

struct args {
	struct peer peer;
	unsigned long long count;	/* 0: until interrupted */
	unsigned int wait_ms;
	bool raw;
	const char *file;
};

/* The links we are an end of; with a listener, that is the first of @poll. */
struct ends {
	struct pollfd *poll;
	struct oae_peer *who;
	unsigned int n;
	bool listening;
};

static const char doc[] =
	"Messages from PEER, or from every peer that has opened a link; the first, or -c of them. "
	"What was not taken stays for the next that reads.\n"
	"\vExamples:\n"
	"  oae recv 02:0a:e0:00:00:02         wait for a message, print it\n"
	"  oae recv -c 0                      all that come, until interrupted\n"
	"  oae recv 2 -r -w 0.5 >file         its bytes, within half a second\n"
	"  oae recv 2 --file disk.img         what `oae send --file` sends\n"
	"  oae -j recv -c 0                   for programs\n"
	"\n"
	"Bytes that are no printable text are shown as \\xNN; -r writes them as they are.\n"
	"JSON: an object a message and line: port, peer, vc, bytes, and data, or where that is "
	"no UTF-8, hex.\n"
	"Exit: 0 got as many as were asked for; 1 not in time, or an error.\n";

#define OPT_FILE	256

static const struct argp_option options[] = {
	{ "file", OPT_FILE, "FILE", 0, "a file of `oae send --file`, whole or not at all", 0 },
	{ "count", 'c', "N", 0, "messages (1); 0: until interrupted", 0 },
	{ "wait", 'w', "SECONDS", 0, "for the next one; then give up", 0 },
	{ "timeout", OPT_WAIT_MS, "MS", OPTION_HIDDEN, NULL, 0 },
	{ "raw", 'r', NULL, 0, "the bytes as they are, nothing between messages", 0 },
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
	case 'r':
		a->raw = true;
		return 0;
	case OPT_FILE:
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->file && (a->raw || a->count != 1))
			usage_error(state, "--file: one file, so no -c and no -r");
		if (a->file && !strcmp(a->file, "-"))
			usage_error(state, "--file: a name; to standard output: oae recv -r");
		if (a->file && !a->peer.text)
			usage_error(state, "--file: from whom? oae recv --file FILE PEER");
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

static void add_end(struct ends *e, int fd, const struct oae_peer *who)
{
	e->poll = grow(e->poll, e->n + 1, sizeof(*e->poll));
	e->who = grow(e->who, e->n + 1, sizeof(*e->who));
	e->poll[e->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	e->who[e->n++] = *who;
}

static void drop_end(struct ends *e, unsigned int i)
{
	close(e->poll[i].fd);
	e->poll[i] = e->poll[--e->n];
	e->who[i] = e->who[e->n];
}

static void print_json(const struct oae_peer *who, const char *buf, size_t len)
{
	char text[OAE_PEER_TEXT];
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_bytes(&j, "port", who->port, strnlen(who->port, sizeof(who->port)));
	json_string(&j, "peer", oae_format_peer(who->peer, text));
	json_number(&j, "vc", who->vc);
	json_number(&j, "bytes", len);
	json_data(&j, buf, len);
	json_close(&j);
}

static void print(const struct args *a, const struct ends *e, const struct oae_peer *who,
		  const char *buf, size_t len)
{
	char text[OAE_PEER_TEXT];

	if (want_json) {
		print_json(who, buf, len);
	} else if (a->raw) {
		fwrite(buf, 1, len, stdout);
	} else {
		if (e->listening)
			printf("%s vc %u: ", oae_format_peer(who->peer, text), who->vc);
		/* A message from `echo` ends its own line. */
		put_safe(stdout, buf, len && buf[len - 1] == '\n' ? len - 1 : len);
		putchar('\n');
	}
	fflush(stdout);
	if (output_failed())
		complain("%s vc %u: %zu bytes were received, and are left for the next reader",
			 oae_format_peer(who->peer, text), who->vc, len);
}

/* One message of an end. 1: printed; 0: there was none; -1: that end is gone. */
static int take(const struct args *a, const struct ends *e, unsigned int i)
{
	int fd = e->poll[i].fd;
	ssize_t size, n;
	char *buf;

	do {
		size = oae_recv_size(fd);
		buf = alloc(size > 0 ? size : 1, 1);
		n = oae_recv(fd, buf, size > 0 ? size : 1);
		if (n > 0)
			print(a, e, &e->who[i], buf, n);
		if (n > 0 && !output_failed())
			oae_done(fd);
		free(buf);
	} while (n < 0 && errno == EMSGSIZE);	/* another reader was quicker */
	if (n > 0)
		return 1;
	return !n ? -1 : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

static void take_peers(struct ends *e)
{
	struct oae_peer who;
	int fd;

	for (;;) {
		fd = oae_accept(e->poll[0].fd, &who, OAE_OPEN_NONBLOCK | OAE_OPEN_TAKE);
		if (fd < 0)
			return;
		add_end(e, fd, &who);
	}
}

static int serve(const struct args *a, struct ends *e)
{
	unsigned long long got = 0, quiet = now_ns();
	unsigned int i;
	int n;

	while (!stopped()) {
		poll(e->poll, e->n, 100);
		if (e->listening && e->poll[0].revents & POLLIN)
			take_peers(e);
		for (i = e->listening; i < e->n; i++) {
			if (!(e->poll[i].revents & (POLLIN | POLLHUP)))
				continue;
			n = take(a, e, i);
			if (n < 0)
				drop_end(e, i--);
			if (n <= 0)
				continue;
			if (output_failed())
				return EXIT_OUTPUT;
			quiet = now_ns();
			if (++got == a->count)
				return EXIT_OK;
		}
		if (!e->n || (e->listening && e->poll[0].revents & POLLHUP)) {
			complain("the port is gone");
			return EXIT_LOCAL;
		}
		if (a->wait_ms && now_ns() - quiet > a->wait_ms * 1000000ULL) {
			complain("nothing came for %u ms", a->wait_ms);
			return EXIT_LOCAL;
		}
	}
	return a->count ? EXIT_LOCAL : EXIT_OK;
}

int cmd_recv(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE, .count = 1 };
	struct oae_peer who = { 0 };
	struct ends e = { 0 };
	int fd, status;

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	if (a.file)
		return file_recv(&a.peer, a.file, a.wait_ms);
	e.listening = !a.peer.text;
	fd = e.listening ? peer_listen(&a.peer) : peer_open(&a.peer, OAE_OPEN_TAKE);
	if (fd < 0)
		return EXIT_LOCAL;
	if (!e.listening) {
		struct oae_status st;

		memcpy(who.peer, a.peer.mac, sizeof(who.peer));
		who.vc = a.peer.vc;
		if (!oae_status(fd, &st))
			memcpy(who.port, st.port, sizeof(who.port));
	}
	add_end(&e, fd, &who);
	status = serve(&a, &e);
	while (e.n)
		drop_end(&e, e.n - 1);
	free(e.poll);
	free(e.who);
	return status;
}
