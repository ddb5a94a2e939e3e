// SPDX-License-Identifier: GPL-2.0
/* oae top: links by the transactions they carry a second. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "json.h"
#include "proc.h"
#include "text.h"

struct args {
	struct filter filter;
	unsigned int delay_ms;
	unsigned long long count;	/* 0: until interrupted */
	bool batch;
};

/* All there is at one moment. */
struct sample {
	unsigned long long ns;
	struct links links;
	struct counters counters;
};

struct link_rate {
	const struct link_row *link;
	double tx, rx;
};

static const char doc[] =
	"Links by transactions a second, refreshed; ends with q or an interrupt.\n"
	"\vExamples:\n"
	"  oae top                    every second, on the whole terminal\n"
	"  oae top -i 5 port eth0     every five, of one port\n"
	"  oae top -b -c 2            twice, as plain text\n"
	"\n"
	"TX/s, RX/s: transactions committed, delivered. The first lines are of all links. "
	"WAITS FOR: why a link stands still, as `oae show` says it.\n"
	"JSON (batch mode, an object a refresh): seconds, committed_per_s, reversed_per_s, "
	"unknown_per_s, delivered_per_s, rx_frames_per_s, tx_frames_per_s, links: port, peer, "
	"vc, state, tx_per_s, rx_per_s, queue, unread, rtt_us, says.\n";

static const struct argp_option options[] = {
	{ "interval", 'i', "SECONDS", 0, "between refreshes (1)", 0 },
	{ "count", 'c', "N", 0, "end after N refreshes; 0: when interrupted", 0 },
	{ "batch", 'b', NULL, 0, "plain text, as without a terminal", 0 },
	{ 0 }
};

static const char *const words[] = { "port", "peer", "vc", "state", NULL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'i':
		a->delay_ms = seconds_arg(state, "-i", arg);
		if (a->delay_ms < 10)
			usage_error(state, "-i: \"%s\" is less than 0.01 seconds", arg);
		return 0;
	case 'c':
		a->count = number_arg(state, "-c", arg, 0, ~0ULL);
		return 0;
	case 'b':
		a->batch = true;
		return 0;
	case ARGP_KEY_ARG:
		filter_arg(&a->filter, arg, words, state);
		return 0;
	case ARGP_KEY_END:
		filter_end(&a->filter, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "[port PORT] [peer ADDR] [vc N] [state STATE]", doc, common_options,
	NULL, NULL
};

static bool take_sample(struct sample *s)
{
	memset(s, 0, sizeof(*s));
	s->ns = now_ns();
	return links_read(&s->links) && counters_read(&s->counters, PROC_LINK);
}

static void free_sample(struct sample *s)
{
	links_free(&s->links);
	counters_free(&s->counters);
}

static int by_key(const void *a, const void *b)
{
	const struct link_row *x = a, *y = b;
	int d = strcmp(x->port, y->port) ?: memcmp(x->mac, y->mac, 6);

	return d ?: (x->vc > y->vc) - (x->vc < y->vc);
}

static int by_rate(const void *a, const void *b)
{
	const struct link_rate *x = a, *y = b;
	double p = x->tx + x->rx, q = y->tx + y->rx;

	return p != q ? (p < q) - (p > q) : by_key(x->link, y->link);
}

/* The numbers are of 32 bits and wrap; going back, they began anew. */
static double per_second(unsigned long long before, unsigned long long after, double seconds)
{
	unsigned int d = (unsigned int)after - (unsigned int)before;

	return d >> 31 ? 0 : d / seconds;
}

static double counter_rate(const struct sample *old, const struct sample *now, const char *name,
			   double seconds)
{
	const struct counter *a = counter_find(&old->counters, name);
	const struct counter *b = counter_find(&now->counters, name);

	return a && b && b->value > a->value ? (b->value - a->value) / seconds : 0;
}

/* Sorts both samples' links by key. */
static struct link_rate *rates(const struct args *a, struct sample *old, struct sample *now,
			       double seconds, unsigned int *n)
{
	struct link_rate *r = alloc(now->links.n, sizeof(*r));
	unsigned int i;

	*n = 0;
	if (now->links.n)
		qsort(now->links.row, now->links.n, sizeof(*now->links.row), by_key);
	for (i = 0; i < now->links.n; i++) {
		const struct link_row *l = &now->links.row[i], *was = NULL;

		if (!filter_link(&a->filter, l))
			continue;
		if (old->links.n)
			was = bsearch(l, old->links.row, old->links.n, sizeof(*l), by_key);
		r[*n].link = l;
		r[*n].tx = was ? per_second(was->tx, l->tx, seconds) : 0;
		r[*n].rx = was ? per_second(was->rx, l->rx, seconds) : 0;
		(*n)++;
	}
	if (*n)
		qsort(r, *n, sizeof(*r), by_rate);
	return r;
}

static const char *const totals[] = {
	"committed", "reversed", "unknown", "delivered", "rx_frames", "tx_frames",
};

#define NTOTALS (sizeof(totals) / sizeof(*totals))

static void programs(const struct link_rate *r, unsigned int n, const double *total,
		     double seconds)
{
	char name[40];
	struct json j;
	unsigned int i;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_real(&j, "seconds", seconds);
	for (i = 0; i < NTOTALS; i++) {
		snprintf(name, sizeof(name), "%s_per_s", totals[i]);
		json_real(&j, name, total[i]);
	}
	json_array(&j, "links");
	for (i = 0; i < n; i++) {
		const struct link_row *l = r[i].link;

		json_object(&j, NULL);
		json_string(&j, "port", l->port);
		json_string(&j, "peer", l->peer);
		json_number(&j, "vc", l->vc);
		json_string(&j, "state", l->state);
		json_real(&j, "tx_per_s", r[i].tx);
		json_real(&j, "rx_per_s", r[i].rx);
		json_number(&j, "queue", l->queue);
		json_number(&j, "unread", l->unread);
		json_number(&j, "rtt_us", l->rtt_us);
		json_string(&j, "says", l->says ?: "-");
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
}

static void people(const struct link_rate *r, unsigned int n, const double *total,
		   unsigned int max_rows, unsigned int max_width)
{
	static const struct grid_col cols[] = {
		{ "PORT", false }, { "PEER", false }, { "VC", true }, { "STATE", false },
		{ "TX", true }, { "RX", true }, { "QUEUE", true }, { "UNREAD", true },
		{ "RTT", true }, { "WAITS FOR", false },
	};
	char b[NTOTALS][UNIT_LEN];
	struct grid g;
	unsigned int i;

	for (i = 0; i < NTOTALS; i++)
		rate(b[i], total[i]);
	printf("committed %s  reversed %s  unknown %s  delivered %s\n", b[0], b[1], b[2], b[3]);
	printf("frames in %s  out %s  links %u\n\n", b[4], b[5], n);
	grid_init(&g, cols, sizeof(cols) / sizeof(*cols));
	for (i = 0; i < n && (!max_rows || i < max_rows); i++) {
		const struct link_row *l = r[i].link;
		char vc[8], tx[UNIT_LEN], rx[UNIT_LEN], queue[24], unread[24], rtt[UNIT_LEN];

		snprintf(vc, sizeof(vc), "%llu", l->vc);
		snprintf(queue, sizeof(queue), "%llu", l->queue);
		snprintf(unread, sizeof(unread), "%llu", l->unread);
		grid_add(&g, l->port, l->peer, vc, l->state, rate(tx, r[i].tx), rate(rx, r[i].rx),
			 queue, unread, l->rtt_us ? duration(rtt, l->rtt_us * 1000) : "-",
			 l->says ?: "-");
	}
	grid_print(&g, stdout, 0, max_width);
	grid_free(&g);
}

/* The terminal: keys at once and unseen, no cursor; as it was at the end. */
static struct termios tty_before;

static void tty_begin(void)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &tty_before);
	raw = tty_before;
	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
}

static void tty_end(void)
{
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &tty_before);
}

/* False: q, or a signal. */
static bool tty_wait(unsigned int ms)
{
	unsigned long long end = now_ns() + ms * 1000000ULL;
	char key;

	while (now_ns() < end) {
		unsigned long long left = (end - now_ns()) / 1000000 + 1;

		if (!sleep_ms(left > 50 ? 50 : left))
			return false;
		while (read(STDIN_FILENO, &key, 1) == 1)
			if (key == 'q' || key == 'Q')
				return false;
	}
	return true;
}

static void refresh(const struct args *a, struct sample *old, struct sample *now, bool tty)
{
	double seconds = (now->ns - old->ns) / 1e9, total[NTOTALS];
	struct winsize size = { 0 };
	struct link_rate *r;
	unsigned int n, i;

	r = rates(a, old, now, seconds, &n);
	for (i = 0; i < NTOTALS; i++)
		total[i] = counter_rate(old, now, totals[i], seconds);
	if (tty) {
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
		fputs("\033[H\033[2J", stdout);
	}
	if (want_json)
		programs(r, n, total, seconds);
	else
		people(r, n, total, size.ws_row > 5 ? size.ws_row - 5 : 0, size.ws_col);
	if (!tty && !want_json)
		putchar('\n');
	fflush(stdout);
	free(r);
}

static int watch(const struct args *a, bool tty)
{
	struct sample old, now;
	unsigned long long done = 0;

	if (!take_sample(&old)) {
		free_sample(&old);
		return -1;
	}
	if (old.links.n)
		qsort(old.links.row, old.links.n, sizeof(*old.links.row), by_key);
	while (tty ? tty_wait(a->delay_ms) : sleep_ms(a->delay_ms)) {
		if (!take_sample(&now)) {
			free_sample(&now);
			free_sample(&old);
			return -1;
		}
		refresh(a, &old, &now, tty);
		free_sample(&old);
		old = now;
		if (++done == a->count)
			break;
	}
	free_sample(&old);
	return EXIT_OK;
}

int cmd_top(int argc, char **argv)
{
	struct args a = { .filter = FILTER_ANY, .delay_ms = 1000 };
	int status;
	bool tty;

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	tty = !a.batch && !want_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (tty)
		tty_begin();
	status = watch(&a, tty);
	if (tty)
		tty_end();
	return status < 0 ? proc_complain(PROC_LINK) : status;
}
