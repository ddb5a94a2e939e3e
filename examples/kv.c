// SPDX-License-Identifier: GPL-2.0
/*
 * kv: a key-value store with values of 64 bytes, and a client that asks as people do: a few
 * keys often, most of them hardly ever.
 *
 * Shows: requests and answers of many kinds on one stream, by rings beside read and write.
 *
 *	host-1# kv serve 02:0a:e0:00:00:02
 *	host-2# kv ask -n 100000 02:0a:e0:00:00:01
 *
 * A PUT that is committed is in the store, or will be before any later request is answered.
 */
#include "stream.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEYS		10000		/* of the client */
#define PLACES		65536		/* of the store: a hash table, open */
#define ZIPF		0.99
#define PUTS		10		/* in 100 requests */

enum { GET, PUT, FOUND, STORED, NO_KEY, NO_ROOM };

struct message {
	uint32_t what;
	uint32_t id;		/* the client's, in the answer too */
	uint64_t key;
	uint64_t value[8];	/* of GET, STORED, NO_KEY and NO_ROOM: not sent */
};

#define SHORT	offsetof(struct message, value)

/* --- the store ------------------------------------------------------------------- */

static struct place {
	uint64_t key;
	uint64_t value[8];
	int used;
} store[PLACES];

/* The place of a key, or a free one for it; NULL: there is none. */
static struct place *find(uint64_t key)
{
	unsigned int at = (key * 0x9e3779b97f4a7c15ULL) >> 48, i;
	struct place *p;

	for (i = 0; i < PLACES; i++) {
		p = &store[(at + i) % PLACES];
		if (!p->used || p->key == key)
			return p;
	}
	return NULL;
}

/* Returns the bytes of the answer. */
static size_t answer(const struct message *m, struct message *a)
{
	struct place *p = find(m->key);

	a->id = m->id;
	a->key = m->key;
	if (m->what == GET) {
		a->what = p && p->used ? FOUND : NO_KEY;
		if (a->what == NO_KEY)
			return SHORT;
		memcpy(a->value, p->value, sizeof(a->value));
		return sizeof(*a);
	}
	a->what = p ? STORED : NO_ROOM;
	if (p) {
		p->used = 1;
		p->key = m->key;
		memcpy(p->value, m->value, sizeof(p->value));
	}
	return SHORT;
}

static void serve(struct stream *s, const struct stream_run *run)
{
	const struct message *m;
	unsigned int from;
	size_t len;
	uint64_t n;

	for (n = 0; !run->count || n < run->count; n++) {
		m = by->next(s, &len, &from);
		if (!n)
			stream_begin();
		if (len != (m->what == PUT ? sizeof(*m) : SHORT))
			errx(1, "a request of %zu bytes", len);
		by->put(s, from, answer(m, by->room(s, sizeof(*m))));
		by->done(s);
	}
}

/* --- the client ------------------------------------------------------------------ */

static double share[KEYS];	/* of requests, for keys up to this one */
static uint64_t version[KEYS];	/* that was put last; 0: none */
static uint64_t dice = 1;

static uint64_t roll(void)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return dice;
}

static void zipf_begin(void)
{
	double sum = 0;
	int i;

	for (i = 0; i < KEYS; i++)
		share[i] = sum += pow(i + 1, -ZIPF);
	for (i = 0; i < KEYS; i++)
		share[i] /= sum;
}

static unsigned int zipf(void)
{
	double at = ldexp(roll() >> 11, -53);
	unsigned int low = 0, high = KEYS - 1, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (share[middle] < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What an answer must say. Answers come in the order of requests. */
struct wanted {
	uint64_t key;
	uint64_t version;
	int put;
};

static void request(struct stream *s, uint32_t id, struct wanted *w)
{
	struct message *m = by->room(s, sizeof(*m));

	w->key = zipf();
	w->put = roll() % 100 < PUTS;
	if (w->put)
		version[w->key]++;
	w->version = version[w->key];
	m->what = w->put ? PUT : GET;
	m->id = id;
	m->key = w->key;
	if (w->put) {
		memset(m->value, 0, sizeof(m->value));
		m->value[0] = w->key;
		m->value[7] = w->version;
	}
	by->put(s, 0, w->put ? sizeof(*m) : SHORT);
}

static void check(const struct message *a, size_t len, uint32_t id, const struct wanted *w)
{
	uint32_t what = w->put ? STORED : w->version ? FOUND : NO_KEY;

	if (len < SHORT || a->id != id || a->key != w->key || a->what != what)
		errx(1, "answer %u of key %llu to request %u", a->what, (unsigned long long)a->key,
		     id);
	if (what == FOUND && (len != sizeof(*a) || a->value[0] != w->key ||
			      a->value[7] != w->version))
		errx(1, "key %llu: not what was put last", (unsigned long long)w->key);
}

static void ask(struct stream *s, const struct stream_run *run)
{
	struct wanted *wanted = calloc(run->depth, sizeof(*wanted));
	uint64_t sent = 0, got;
	const void *data;
	unsigned int from;
	size_t len;

	zipf_begin();
	stream_begin();
	for (got = 0; !run->count || got < run->count; got++) {
		for (; sent < got + run->depth && (!run->count || sent < run->count); sent++)
			request(s, sent, &wanted[sent % run->depth]);
		data = by->next(s, &len, &from);
		check(data, len, got, &wanted[got % run->depth]);
		by->done(s);
	}
	free(wanted);
}

int main(int argc, char **argv)
{
	struct stream_run run;
	struct stream *s;

	stream_options(argc, argv, "kv [OPTION]... serve CLIENT... | ask PEER", &run);
	s = by->open(&run);
	if (!strcmp(run.role, "serve"))
		serve(s, &run);
	else
		ask(s, &run);
	by->close(s);
	stream_end(run.count);
	return 0;
}
