// SPDX-License-Identifier: GPL-2.0
/*
 * oae monitor: events as they happen. Those of kind link, port, neighbour and zone are told by
 * the modules (news.h), and counted where they were missed. The others are looked for
 * in ev_log:
 *
 * The log is a ring a processor, shown as one list by time. An event may turn up
 * between two that were there before, so what is new is what the last reading did
 * not have: a comparison of sets, not of positions. A ring holds RING events: when
 * no reading has as many new ones, nothing can have been missed.
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "json.h"
#include "news.h"
#include "proc.h"
#include "text.h"

#define RING		256	/* events a processor: EVLOG_SLOTS of modoae/base/evlog.c */
#define SLOWEST_MS	100
#define FASTEST_MS	5

struct args {
	struct filter filter;
	char *kinds;		/* NULL: all */
	bool kind_next;
	unsigned long long count;
	bool all;
	unsigned long long printed;
	bool gone;		/* modoae is not loaded now */
};

static const char doc[] =
	"Events of links as they happen: frames received and sent, transactions posted, their "
	"outcomes, and notes (opened, down, up, peer_new, ...), until interrupted.\n"
	"\vExamples:\n"
	"  oae monitor                         everything\n"
	"  oae monitor kind note,outcome       links, and how transactions end\n"
	"  oae monitor peer 02:0a:e0:00:00:02  one peer; its lower 24 bits are enough\n"
	"  oae monitor kind link,port          what becomes of links and ports\n"
	"  oae monitor kind neighbour          hosts that are heard, or no more\n"
	"  oae monitor -c 1 kind link          wait for the next event of a link\n"
	"  oae monitor kind zone               the gateway's zones: up, silent, ...\n"
	"  oae -j monitor kind link | jq -c 'select(.what == \"down\")'\n"
	"\n"
	"Kinds: rcv, send, post, cancel, timer, note, outcome, port; and link, which are the notes "
	"that say what becomes of a link: opened, down, up, resolved, peer_new, gone, ...; and "
	"neighbour; and zone, of the gateway. Without a kind: all but link, neighbour and zone. The "
	"modules tell those of link, port, neighbour and zone; where some were missed, a line says "
	"how many. Of the other kinds modoae keeps the "
	"last 256 of each processor. Where more happened than was looked at, a line says so. For all "
	"of them: tracepoints, see oae(8).\n"
	"\n"
	"JSON: an object a line: time_us, peer, vc, kind, what, before, after, seq; of link also "
	"port, text, number, and says if it waited for something; of port: time_us, port, kind, what, number; of neighbour also id, "
	"address; of zone: time_us, zone, kind, what, number. Or missed: N, and where it is not known "
	"how many missed: true. Or module, loaded: true or false, when it goes and comes.\n";

static const struct argp_option options[] = {
	{ "count", 'c', "N", 0, "end after N events; 0: when interrupted", 0 },
	{ "all", 'a', NULL, 0, "begin with the events that are in the log already", 0 },
	{ 0 }
};

const char *const monitor_kinds[] = {
	"rcv", "send", "post", "cancel", "timer", "note", "outcome", "link", "port",
	"neighbour", "zone", NULL
};

static const char *const words[] = { "peer", "vc", "kind", NULL };

/* Makes each of them whole. */
static void kinds_arg(struct args *a, const char *arg, struct argp_state *state)
{
	char *copy = copy_text(arg, strlen(arg)), *rest = copy, *one;
	size_t len;
	FILE *out;

	free(a->kinds);
	out = memory_file(&a->kinds, &len);
	while ((one = strsep(&rest, ",")))
		fprintf(out, "%s%s", one == copy ? "" : ",",
			monitor_kinds[word_arg(state, "kind: ", one, monitor_kinds)]);
	fclose(out);
	free(copy);
	a->kind_next = false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'c':
		a->count = number_arg(state, "-c", arg, 0, ~0ULL);
		return 0;
	case 'a':
		a->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->kind_next)
			kinds_arg(a, arg, state);
		else if (filter_arg(&a->filter, arg, words, state) >= 0)
			a->kind_next = true;
		return 0;
	case ARGP_KEY_END:
		filter_end(&a->filter, state);
		if (a->kind_next)
			usage_error(state, "kind: which one? A value has to follow");
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

/* Kinds that are looked for in ev_log. */
static bool wanted_log(const struct args *a)
{
	const char *at = a->kinds;

	while (at) {
		size_t len = strcspn(at, ",");

		if (strncmp(at, "link", len) && strncmp(at, "port", len) &&
		    strncmp(at, "neighbour", len) && strncmp(at, "zone", len))
			return true;
		at = at[len] ? at + len + 1 : NULL;
	}
	return !a->kinds;
}

/* A kind that the module tells. Those of link are notes, too, which say enough. */
static bool wanted_news(const struct args *a, const char *kind)
{
	return a->kinds ? wanted_kind(a, kind) : !strcmp(kind, "port");
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
static struct line *log_news(const struct reading *old, const struct reading *now, unsigned int *n)
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
static bool print_log(struct args *a, const struct line *line, unsigned int n,
		      const struct counters *c)
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
		if (++a->printed == a->count)
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

static void news_json(const struct news *e, const char *mac)
{
	struct json j;
	char id[32];

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "time_us", e->us);
	if (*e->port)
		json_string(&j, "port", e->port);
	else
		json_number(&j, "zone", e->zone);
	if (e->is_link) {
		json_string(&j, "peer", mac);
		json_number(&j, "vc", e->vc);
	}
	if (e->id) {
		snprintf(id, sizeof(id), "id:%016llx", e->id);
		json_string(&j, "id", id);
		json_string(&j, "address", mac);
	}
	json_string(&j, "kind", e->kind);
	json_string(&j, "what", e->what);
	if (e->is_link) {
		json_string(&j, "before", e->before);
		json_string(&j, "after", e->after);
		json_number(&j, "seq", e->tx);
		json_string(&j, "text", e->text);
		if (*e->says)
			json_string(&j, "says", e->says);
	}
	json_number(&j, "number", e->number);
	json_close(&j);
}

static void news_people(const struct news *e, const char *mac)
{
	printf("%6llu.%06llu ", e->us / 1000000, e->us % 1000000);
	if (e->is_link)
		printf("%s vc %u ", mac, e->vc);
	else if (e->id)
		printf("%s ", mac);
	printf("%s %s", e->kind, e->what);
	if (e->is_link)
		printf("%*s%s -> %s seq %llu  # ",
		       strlen(e->what) < 17 ? (int)(18 - strlen(e->what)) : 1, "", e->before,
		       e->after, e->tx);
	else if (!*e->port)
		printf(" %u", e->zone);
	else if (e->id)
		printf(" id:%016llx ", e->id);
	else
		putchar(' ');
	put_safe(stdout, e->is_link ? e->text : e->port,
		 strlen(e->is_link ? e->text : e->port));
	if (*e->says) {
		fputs("; waits: ", stdout);
		put_safe(stdout, e->says, strlen(e->says));
	}
	putchar('\n');
}

static bool enough(const struct args *a)
{
	return a->count && a->printed >= a->count;
}

/* peer and vc are about links. */
static bool news_filter(const struct args *a, const struct news *e)
{
	const struct filter *f = &a->filter;

	return e->is_link ? filter_peer(f, e->mac, e->vc) : !f->mac_len && f->vc < 0;
}

static void news_event(const struct news *e, void *data)
{
	struct args *a = data;
	char mac[18];

	if (enough(a) || !wanted_news(a, e->kind) || !news_filter(a, e))
		return;
	snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", e->mac[0], e->mac[1],
		 e->mac[2], e->mac[3], e->mac[4], e->mac[5]);
	if (want_json)
		news_json(e, mac);
	else
		news_people(e, mac);
	a->printed++;
}

static void news_missed(unsigned long long n, void *data)
{
	struct json j;

	if (enough(data))
		return;
	if (!want_json) {
		printf("(%llu events were missed here)\n", n);
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_number(&j, "missed", n);
	json_close(&j);
}

/* What is told of a module twice, by the log and by netlink, is said once. */
static void news_module(const char *module, bool loaded, void *data)
{
	bool link = !strcmp(module, PROC_LINK);
	struct args *a = data;
	struct json j;

	if (enough(a) || (link && a->gone == !loaded))
		return;
	if (link)
		a->gone = !loaded;
	if (!want_json) {
		printf("(the module %s %s)\n", module,
		       loaded ? "is loaded again" : "is not loaded any more");
		return;
	}
	json_init(&j, stdout);
	json_object(&j, NULL);
	json_string(&j, "module", module);
	json_bool(&j, "loaded", loaded);
	json_close(&j);
}

/* What is new in ev_log, none if the module is gone. 1: that was enough; -1: an error. */
static int look_at_log(struct args *a, struct reading *old, bool first, const struct counters *c,
		       unsigned int *ms)
{
	struct reading now;
	struct line *line;
	unsigned int n;

	if (!take_reading(&now)) {
		if (errno != ENOENT)
			return -1;
		free_reading(old);
		news_module(PROC_LINK, false, a);
		return 0;
	}
	news_module(PROC_LINK, true, a);
	line = log_news(old, &now, &n);
	if (!first && n >= RING)
		say_missed();
	if (!first || a->all)
		print_log(a, line, n, c);
	if (!first)
		*ms = next_interval(*ms, n);
	free(line);
	free_reading(old);
	*old = now;
	return enough(a);
}

/* Those that are open: of links and ports, of zones. */
struct feeds {
	struct news_feed feed[2];
	unsigned int n;
};

static int feeds_open(struct feeds *f, const struct args *a)
{
	int status = EXIT_OK;

	f->n = 0;
	/* Of files that stand for those of the modules nobody tells. */
	if (getenv("OAE_PROC_NET"))
		return EXIT_OK;
	if (wanted_news(a, "link") || wanted_news(a, "port") || wanted_news(a, "neighbour"))
		status = news_open(&f->feed[f->n++], &link_news);
	if (!status && wanted_news(a, "zone"))
		status = news_open(&f->feed[f->n++], &gateway_news);
	if (status)
		f->n--;
	return status;
}

static void feeds_close(struct feeds *f)
{
	while (f->n)
		news_close(&f->feed[--f->n]);
}

static bool feeds_read(struct feeds *f, struct args *a)
{
	static const struct news_calls calls = { news_event, news_missed, news_module };
	unsigned int i;

	for (i = 0; i < f->n; i++)
		if (!news_read(&f->feed[i], &calls, a))
			return false;
	return true;
}

/* Until something is told, or for @ms, since a signal may come just before. */
static void feeds_wait(const struct feeds *f, unsigned int ms)
{
	struct pollfd p[5] = { { .fd = STDOUT_FILENO } };	/* its reader goes: POLLERR */
	unsigned int i, n = 1;
	int fd[2], k;

	for (i = 0; i < f->n; i++)
		for (k = news_fds(&f->feed[i], fd); k > 0; k--)
			p[n++] = (struct pollfd){ .fd = fd[k - 1], .events = POLLIN };
	fflush(stdout);
	poll(p, n, ms);
}

static int watch(struct args *a, const struct counters *c)
{
	bool log = wanted_log(a), first = true;
	struct reading old = { 0 };
	unsigned int ms = SLOWEST_MS;
	struct feeds feeds;
	int status, looked = 0;

	status = feeds_open(&feeds, a);
	while (!status && !stopped() && !enough(a)) {
		if (log)
			looked = look_at_log(a, &old, first, c, &ms);
		first = false;
		if (looked < 0)
			status = proc_complain(PROC_LINK);
		else if (!feeds_read(&feeds, a))
			status = EXIT_LOCAL;
		else if (!enough(a))
			feeds_wait(&feeds, ms);
	}
	free_reading(&old);
	feeds_close(&feeds);
	fflush(stdout);
	return status;
}

int cmd_monitor(int argc, char **argv)
{
	struct args a = { .filter = FILTER_ANY };
	struct counters c;
	int status;

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	if (!counters_read(&c, PROC_LINK))
		memset(&c, 0, sizeof(c));
	status = watch(&a, &c);
	counters_free(&c);
	free(a.kinds);
	return status;
}
