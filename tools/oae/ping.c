// SPDX-License-Identifier: GPL-2.0
/*
 * oae ping: round trips to a peer.
 *
 * By default a READ of a region that nobody has: the peer's kernel refuses it in
 * one round trip, and nothing is delivered to anybody. With --message a message,
 * which somebody there will read; its time is that from write to committed.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "hist.h"
#include "peer.h"
#include "text.h"
#include "transact.h"

#define NO_REGION	0xffffffffU	/* and if somebody has it: it is only read */

struct args {
	struct peer peer;
	unsigned long long count;	/* 0: until interrupted */
	unsigned int interval_ms;
	unsigned int wait_ms;
	unsigned int len;		/* 0: not said */
	bool message;
	bool express;
	bool quiet;
};

struct tally {
	unsigned long long sent, answered, reversed, unknown, pending;
	int last_err;
	struct hist hist;
};

static const char doc[] =
	"Round trips to PEER, and their histogram. What is sent is a verb for a region that does "
	"not exist: the peer's kernel refuses it at once, and nothing is delivered to anybody. "
	"With --message: messages, from write to committed. They are delivered to whoever reads "
	"there; if nobody does, the peer's buffer fills up, and then they wait.\n"
	"\vExamples:\n"
	"  oae ping 02:0a:e0:00:00:02             one a second, until interrupted\n"
	"  oae ping 2 -c 1000 -i 0 -q             a thousand, and a histogram\n"
	"  oae ping 2 -c 10 --message -s 1400     messages of 1400 bytes\n"
	"  oae ping 2 -c 10 --express             messages that are delivered at once\n"
	"  oae -j ping 2 -c 100 -i 0.01           for programs\n"
	"\n"
	"JSON: an array of one object: peer, vc, kind (verb, message, express), bytes, sent, "
	"answered, reversed, unknown, pending, min_us, median_us, p99_us, max_us, and histogram: "
	"from_us, to_us, count.\n"
	"Exit: 0 all answered; else 2 some reversed, 3 some unknown, 4 some not known yet; "
	"1 nothing was sent, or an error.\n";

#define OPT_MESSAGE	256

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "end after N; 0: when interrupted", 0 },
	{ "interval", 'i', "SECONDS", 0, "from one to the next (1); 0: back to back", 0 },
	{ "wait", 'w', "SECONDS", 0, "for an answer (5); then it is reversed", 0 },
	{ "message", OPT_MESSAGE, NULL, 0, "messages, which are delivered there", 0 },
	{ "express", 'e', NULL, 0, "messages, delivered at once", 0 },
	{ "size", 's', "BYTES", 0, "of a message (64)", 0 },
	{ "quiet", 'q', NULL, 0, "only the sum at the end", 0 },
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
	case 'i':
		a->interval_ms = seconds_arg(state, "-i", arg);
		return 0;
	case 'w':
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case 'e':
		a->express = true;
		a->message = true;
		return 0;
	case OPT_MESSAGE:
		a->message = true;
		return 0;
	case 's':
		a->len = size_arg(state, "-s", arg, 1, 262144);
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state, "\"%s\" is too much: one PEER", arg);
		peer_arg(&a->peer, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!a->peer.text)
			usage_error(state, "whom? oae ping PEER");
		if (a->len && !a->message)
			usage_error(state, "-s is for messages: with --message or --express");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { options, parse, "PEER", doc, peer_options, NULL, NULL };

/* Has the peer answered? That it refuses, too, is an answer. */
static bool is_answer(const struct args *a, int err)
{
	return !err || (!a->message && (err == ENXIO || err == EACCES || err == ERANGE));
}

static int post(int fd, void *data)
{
	struct oae_verb_op op = oae_op_read(0, 1);
	const struct iovec *message = data;

	if (message->iov_len)
		return oae_queuev(fd, message, 1);
	return oae_queue_verb(fd, NO_REGION, &op, 1, NULL);
}

/* Opening takes longer than what is to be measured. */
static void wait_open(const struct args *a, int fd)
{
	unsigned long long begin = now_ns(), end = begin + a->wait_ms * 1000000ULL;
	struct pollfd p = { .fd = fd, .events = POLLRDBAND };
	struct oae_status st;
	char took[UNIT_LEN];

	while (!oae_status(fd, &st) && st.state != 3 && !stopped() && now_ns() < end)
		poll(&p, 1, 10);
	if (!want_json && !a->quiet && st.state == 3)
		printf("link open after %s\n", duration(took, now_ns() - begin));
}

static void count(const struct args *a, struct tally *t, int err, unsigned long long ns)
{
	char took[UNIT_LEN];

	t->sent++;
	if (is_answer(a, err)) {
		t->answered++;
		hist_add(&t->hist, ns);
		if (!want_json && !a->quiet)
			printf("%s %llu: %s\n", a->message ? "committed" : "answer", t->sent,
			       duration(took, ns));
		return;
	}
	t->last_err = err;
	switch (outcome_exit(err)) {
	case EXIT_UNKNOWN:
		t->unknown++;
		break;
	case EXIT_PENDING:
		t->pending++;
		break;
	default:
		t->reversed++;
	}
	if (!want_json && !a->quiet)
		printf("%s %llu: %s: %s\n", outcome_word(err), t->sent, errno_name(err),
		       outcome_meaning(err));
}

/* False: not begun, and said why. */
static bool run(const struct args *a, int fd, struct tally *t)
{
	struct transact one = { .fd = fd, .wait_ms = a->wait_ms };
	struct iovec message = { alloc(a->len, 1), a->len };
	unsigned long long next = now_ns(), begin, done = 0;
	bool begun = true;
	int err;

	memset(message.iov_base, 'o', a->len);
	while (!stopped()) {
		begin = now_ns();
		err = transact(&one, post, &message);
		if (err == EINTR && interrupted())
			break;
		if (err && outcome_exit(err) == EXIT_LOCAL) {
			complain_errno(err, "%s", a->peer.text);
			begun = false;
			break;
		}
		count(a, t, err, now_ns() - begin);
		if (++done == a->count)
			break;
		next += a->interval_ms * 1000000ULL;
		begin = now_ns();
		if (next > begin)
			sleep_ms((next - begin) / 1000000 ?: 1);
		else
			next = begin;
	}
	transact_free(&one);
	free(message.iov_base);
	return begun;
}

static const char *kind(const struct args *a)
{
	return a->express ? "express" : a->message ? "message" : "verb";
}

static void programs(const struct args *a, const struct tally *t)
{
	const struct hist *h = &t->hist;
	unsigned long long from, to, n;
	char text[OAE_PEER_TEXT];
	struct json j;
	unsigned int i;

	json_init(&j, stdout);
	json_array(&j, NULL);
	json_object(&j, NULL);
	json_string(&j, "peer", oae_format_peer(a->peer.mac, text));
	json_number(&j, "vc", a->peer.vc);
	json_string(&j, "kind", kind(a));
	json_number(&j, "bytes", a->message ? a->len : 0);
	json_number(&j, "sent", t->sent);
	json_number(&j, "answered", t->answered);
	json_number(&j, "reversed", t->reversed);
	json_number(&j, "unknown", t->unknown);
	json_number(&j, "pending", t->pending);
	if (t->last_err)
		json_string(&j, "errno", errno_name(t->last_err));
	if (h->count) {
		json_real(&j, "min_us", h->min / 1e3);
		json_real(&j, "median_us", hist_percentile(h, 50) / 1e3);
		json_real(&j, "p99_us", hist_percentile(h, 99) / 1e3);
		json_real(&j, "max_us", h->max / 1e3);
	}
	json_array(&j, "histogram");
	for (i = 0; i < HIST_LINES; i++) {
		n = hist_line(h, i, &from, &to);
		if (!n)
			continue;
		json_object(&j, NULL);
		json_real(&j, "from_us", from / 1e3);
		json_real(&j, "to_us", to / 1e3);
		json_number(&j, "count", n);
		json_close(&j);
	}
	json_close(&j);
	result_end(&j);
}

static void bars(const struct hist *h)
{
	unsigned long long from, to, n, most = 0;
	unsigned int i, first = HIST_LINES, last = 0, width;
	char a[UNIT_LEN], b[UNIT_LEN];

	for (i = 0; i < HIST_LINES; i++) {
		n = hist_line(h, i, &from, &to);
		if (!n)
			continue;
		first = i < first ? i : first;
		last = i;
		most = n > most ? n : most;
	}
	for (i = first; i <= last && most; i++) {
		n = hist_line(h, i, &from, &to);
		width = (n * 50 + most - 1) / most;
		printf("%8s to %8s %8llu%s%.*s\n", duration(a, from), duration(b, to), n,
		       width ? " " : "", width,
		       "##################################################");
	}
}

static void people(const struct args *a, const struct tally *t)
{
	const struct hist *h = &t->hist;
	char b[4][UNIT_LEN], text[OAE_PEER_TEXT];

	oae_format_peer(a->peer.mac, text);
	printf("--- %s vc %d: %llu sent, %llu answered, %llu reversed", text, a->peer.vc, t->sent,
	       t->answered, t->reversed);
	if (t->unknown)
		printf(", %llu unknown", t->unknown);
	if (t->pending)
		printf(", %llu not known yet", t->pending);
	putchar('\n');
	if (!h->count)
		return;
	printf("round trip: min %s, median %s, p99 %s, max %s\n", duration(b[0], h->min),
	       duration(b[1], hist_percentile(h, 50)), duration(b[2], hist_percentile(h, 99)),
	       duration(b[3], h->max));
	bars(h);
}

int cmd_ping(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE, .interval_ms = 1000, .wait_ms = 5000 };
	struct tally *t = alloc(1, sizeof(*t));
	bool begun;
	int fd;

	parse_options(&argp, argc, argv, &a);
	if (a.message && !a.len)
		a.len = 64;
	stop_on_signals();
	fd = peer_open(&a.peer, OAE_OPEN_NOW | (a.express ? OAE_OPEN_EXPRESS : 0));
	if (fd < 0)
		return EXIT_LOCAL;
	wait_open(&a, fd);
	begun = run(&a, fd, t);
	close(fd);
	if (want_json)
		programs(&a, t);
	else
		people(&a, t);
	if (!begun || !t->sent)
		return EXIT_LOCAL;
	return t->unknown ? EXIT_UNKNOWN : t->pending ? EXIT_PENDING :
	       t->reversed ? EXIT_REVERSED : EXIT_OK;
}
