// SPDX-License-Identifier: GPL-2.0
/*
 * oae monitor: the events of ev_log as they happen.
 *
 * The log is a ring a processor, shown as one list by time. An event may turn up
 * between two that were there before, so what is new is what the last reading did
 * not have: a comparison of sets, not of positions. A ring holds RING events: when
 * no reading has as many new ones, nothing can have been missed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "json.h"
#include "proc.h"
#include "text.h"

#define RING		256	/* events a processor: OAE_RING of modoae/base/evlog.c */
#define SLOWEST_MS	100
#define FASTEST_MS	5

struct args {
	struct filter filter;
	char *kinds;		/* NULL: all */
	bool kind_next;
	unsigned long long count;
	bool all;
};

static const char doc[] =
	"Events of links as they happen: frames received and sent, transactions posted, their\n"
	"outcomes, and notes (opened, down, up, peer_new, ...), until interrupted.\n"
	"\vExamples:\n"
	"  oae monitor                           everything\n"
	"  oae monitor kind note,outcome         what happens to links, how transactions end\n"
	"  oae monitor peer 02:0a:e0:00:00:02    one peer; its lower 24 bits are enough\n"
	"  oae monitor -c 1 kind note            wait for the next note\n"
	"  oae -j monitor | jq -c 'select(.what == \"down\")'\n"
	"\n"
	"Kinds: rcv, send, post, cancel, timer, note, outcome.\n"
	"The module keeps the last 256 events of each processor. Where more happened than was\n"
	"looked at, a line says so. For all of them: tracepoints, see oae(8).\n"
	"\n"
	"JSON: an object a line: time_us, peer, vc, kind, what, before, after, seq; or\n"
	"missed: true.\n";

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "end after N events", 0 },
	{ "all", 'a', NULL, 0, "begin with the events that are in the log already", 0 },
	{ 0 }
};

static bool known_kind(const char *kind, size_t len)
{
	static const char *const kinds[] = {
		"rcv", "send", "post", "cancel", "timer", "note", "outcome",
	};
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i]) == len && !memcmp(kinds[i], kind, len))
			return true;
	return false;
}

static void kinds_arg(struct args *a, char *arg, struct argp_state *state)
{
	const char *at = arg;

	for (;;) {
		size_t len = strcspn(at, ",");

		if (!known_kind(at, len))
			argp_error(state, "kind: \"%.*s\" is none of them", (int)len, at);
		if (!at[len])
			break;
		at += len + 1;
	}
	a->kinds = arg;
	a->kind_next = false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'c':
		a->count = number_arg(state, "-c", arg, 1, ~0ULL);
		return 0;
	case 'a':
		a->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->kind_next)
			kinds_arg(a, arg, state);
		else if (!a->filter.word && !strcmp(arg, "kind"))
			a->kind_next = true;
		else if (!strcmp(arg, "port") || !filter_word(&a->filter, arg, state))
			argp_error(state, "\"%s\": peer, vc or kind?", arg);
		return 0;
	case ARGP_KEY_END:
		filter_end(&a->filter, state);
		if (a->kind_next)
			argp_error(state, "kind: which?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "[peer ADDR] [vc N] [kind KIND[,KIND...]]", doc, common_options, NULL, NULL
};

static bool wanted_kind(const struct args *a, const char *kind)
{
	const char *at = a->kinds;

	while (at) {
		size_t len = strcspn(at, ",");

		if (len == strlen(kind) && !memcmp(at, kind, len))
			return true;
		at = at[len] ? at + len + 1 : NULL;
	}
	return !a->kinds;
}

/* A reading: lines, sorted, each where it was in the file. */
struct line {
	const char *text;
	uint32_t len;
	uint32_t at;
};

struct reading {
	char *text;
	struct line *line;
	unsigned int n;
};

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int d = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return d ?: (x->len > y->len) - (x->len < y->len);
}

static int compare_at(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static bool take_reading(struct reading *r)
{
	unsigned int room = 0;
	const char *at, *end;
	size_t len;

	memset(r, 0, sizeof(*r));
	r->text = proc_text(PROC_LINK, "ev_log", &len);
	if (!r->text)
		return false;
	for (at = r->text; *at; at = end + !!*end) {
		end = strchrnul(at, '\n');
		if (r->n == room) {
			room = room * 2 + 512;
			r->line = grow(r->line, room, sizeof(*r->line));
		}
		r->line[r->n] = (struct line){ at, end - at, r->n };
		r->n++;
	}
	if (r->n)
		qsort(r->line, r->n, sizeof(*r->line), compare);
	return true;
}

static void free_reading(struct reading *r)
{
	free(r->text);
	free(r->line);
	memset(r, 0, sizeof(*r));
}

/* The lines of @now that @old has not, as often as it has not, by time. */
static struct line *news(const struct reading *old, const struct reading *now, unsigned int *n)
{
	struct line *found = alloc(now->n, sizeof(*found));
	unsigned int i = 0, k;

	*n = 0;
	for (k = 0; k < now->n; k++) {
		while (i < old->n && compare(&old->line[i], &now->line[k]) < 0)
			i++;
		if (i < old->n && !compare(&old->line[i], &now->line[k]))
			i++;
		else
			found[(*n)++] = now->line[k];
	}
	if (*n)
		qsort(found, *n, sizeof(*found), compare_at);
	return found;
}

static void event_json(const struct event *e, const char *mac)
{
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "time_us", e->us);
	json_string(&j, "peer", mac);
	json_number(&j, "vc", e->vc);
	json_string(&j, "kind", e->kind);
	json_string(&j, "what", e->what);
	json_string(&j, "before", e->before);
	json_string(&j, "after", e->after);
	json_number(&j, "seq", e->seq);
	json_close(&j);
}

/* What a note means is the text of its counter. */
static void meaning(const struct counters *c, const struct event *e)
{
	const struct counter *note;
	char name[40];

	if (strcmp(e->kind, "note"))
		return;
	snprintf(name, sizeof(name), "note_%s", e->what);
	note = counter_find(c, name);
	if (note) {
		fputs("  # ", stdout);
		put_safe(stdout, note->text, strlen(note->text));
	}
}

static void event_people(const struct event *e, const char *mac, const struct counters *c)
{
	printf("%6llu.%06llu %s vc %u ", e->us / 1000000, e->us % 1000000, mac, e->vc);
	put_safe(stdout, e->kind, strlen(e->kind));
	putchar(' ');
	put_safe(stdout, e->what, strlen(e->what));
	printf("%*s", (int)(22 - strlen(e->kind) - strlen(e->what)) > 0 ?
	       (int)(22 - strlen(e->kind) - strlen(e->what)) : 1, "");
	put_safe(stdout, e->before, strlen(e->before));
	fputs(" -> ", stdout);
	put_safe(stdout, e->after, strlen(e->after));
	printf(" seq %llu", e->seq);
	meaning(c, e);
	putchar('\n');
}

static void say_missed(void)
{
	struct json j;

	if (!want_json) {
		puts("(more happened than the log holds: some events may have been missed here)");
		fflush(stdout);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_bool(&j, "missed", true);
	json_close(&j);
}

/* Prints what is new. True: as many as were asked for. */
static bool print_news(const struct args *a, const struct line *line, unsigned int n,
		       const struct counters *c, unsigned long long *printed)
{
	struct event e;
	unsigned int i;
	char mac[18];

	for (i = 0; i < n; i++) {
		if (!event_parse(line[i].text, line[i].len, &e) ||
		    !filter_peer(&a->filter, e.mac, e.vc) || !wanted_kind(a, e.kind))
			continue;
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", e.mac[0], e.mac[1],
			 e.mac[2], e.mac[3], e.mac[4], e.mac[5]);
		if (want_json)
			event_json(&e, mac);
		else
			event_people(&e, mac, c);
		if (++*printed == a->count)
			return true;
	}
	fflush(stdout);
	return false;
}

/* Often enough that a ring does not turn over between two readings. */
static unsigned int next_interval(unsigned int ms, unsigned int n)
{
	if (n > RING / 4)
		return ms / 4 > FASTEST_MS ? ms / 4 : FASTEST_MS;
	if (n < RING / 16)
		return ms * 2 < SLOWEST_MS ? ms * 2 : SLOWEST_MS;
	return ms;
}

static int watch(const struct args *a, const struct counters *c)
{
	struct reading old = { 0 }, now;
	unsigned int n, ms = SLOWEST_MS;
	unsigned long long printed = 0;
	bool first = true, enough = false;
	struct line *line;

	do {
		if (!take_reading(&now)) {
			proc_complain(PROC_LINK);
			free_reading(&old);
			return EXIT_LOCAL;
		}
		line = news(&old, &now, &n);
		if (!first && n >= RING)
			say_missed();
		if (!first || a->all)
			enough = print_news(a, line, n, c, &printed);
		ms = first ? ms : next_interval(ms, n);
		first = false;
		free(line);
		free_reading(&old);
		old = now;
	} while (!enough && sleep_ms(ms));
	free_reading(&old);
	return EXIT_OK;
}

int cmd_monitor(int argc, char **argv)
{
	struct args a = { .filter = FILTER_ANY };
	struct counters c;
	int status;

	parse_options(&argp, &argc, argv, &a);
	stop_on_signals();
	if (!counters_read(&c, PROC_LINK))
		memset(&c, 0, sizeof(c));
	status = watch(&a, &c);
	counters_free(&c);
	return status;
}
