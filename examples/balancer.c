// SPDX-License-Identifier: GPL-2.0
/*
 * balancer: messages from one peer go to several workers, by the hash of their key.
 *
 * Shows: one pair of rings for many links, and OAE_CHUNK_FORWARD: the balancer reads the key
 * only, and the kernel takes the message from where it has put it.
 *
 *	host-2# balancer sink 02:0a:e0:00:00:01@1		a worker; another one @2
 *	host-1# balancer split 02:0a:e0:00:00:02@0 02:0a:e0:00:00:02@1 02:0a:e0:00:00:02@2
 *	host-2# balancer source -n 100000 02:0a:e0:00:00:01@0
 *
 * Messages of one key reach one worker, in order.
 */
#include "stream.h"

#include <err.h>
#include <string.h>

#define BYTES	512
#define KEYS	1000

struct message {
	uint64_t key;
	uint64_t number;	/* of those of this key, from 0 on */
	char rest[BYTES - 16];
};

static unsigned int hash(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL) >> 32;
}

/* The first peer sends, all others work. */
static void split(struct stream *s, const struct stream_run *run)
{
	const struct message *m;
	unsigned int from;
	size_t len;
	uint64_t n;

	for (n = 0; !run->count || n < run->count; n++) {
		m = by->next(s, &len, &from);
		if (!n)
			stream_begin();
		by->pass(s, 1 + hash(m->key) % (run->npeers - 1), m, len);
		by->done(s);
	}
}

static void source(struct stream *s, const struct stream_run *run)
{
	struct message *m;
	uint64_t n;

	stream_begin();
	for (n = 0; !run->count || n < run->count; n++) {
		m = by->room(s, sizeof(*m));
		memset(m, 0, sizeof(*m));
		m->key = n % KEYS;
		m->number = n / KEYS;
		by->put(s, 0, sizeof(*m));
	}
}

static void sink(struct stream *s, const struct stream_run *run)
{
	static uint64_t seen[KEYS];
	const struct message *m;
	unsigned int from;
	size_t len;
	uint64_t n;

	for (n = 0; !run->count || n < run->count; n++) {
		m = by->next(s, &len, &from);
		if (!n)
			stream_begin();
		if (len != sizeof(*m) || m->key >= KEYS || m->number != seen[m->key]++)
			errx(1, "message %llu of key %llu is not the next",
			     (unsigned long long)m->number, (unsigned long long)m->key);
		by->done(s);
	}
}

int main(int argc, char **argv)
{
	struct stream_run run;
	struct stream *s;

	stream_options(argc, argv, "balancer [OPTION]... source|sink PEER | split PEER WORKER...",
		       &run);
	s = by->open(&run);
	if (!strcmp(run.role, "split") && run.npeers > 1)
		split(s, &run);
	else if (!strcmp(run.role, "source"))
		source(s, &run);
	else
		sink(s, &run);
	by->close(s);
	stream_end(run.count);
	return 0;
}
