// SPDX-License-Identifier: GPL-2.0
/*
 * How many FETCH_ADDs a second a program gets through that keeps many of them
 * under way: QUEUE transactions of OPERATIONS each, on each of LINKS links,
 * every link with a word of its own at the other end.
 *
 * Prints "rate LINKS OPERATIONS QUEUE COUNT NS", once the words say that COUNT
 * were executed, each once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "progbench.h"

#define LINKS	8
#define RECORDS	64

struct flow {
	int fd;
	unsigned int region;
	unsigned int pending;	/* transactions */
	uint64_t next;		/* what the next FETCH_ADD must yield */
};

static struct flow flows[LINKS];
static struct oae_verb_op ops[OAE_VERB_OPS];
static uint64_t results[RECORDS * (2 + OAE_VERB_OPS)];

static uint64_t word_of(const struct where *w, const struct flow *f,
			unsigned int vc)
{
	struct oae_verb_op op = { .code = OAE_VERB_READ, .words = 1 };
	struct oae_verb v = { .ops = (uintptr_t)&op, .nops = 1,
			      .region = f->region };
	int fd = oae_attach(w, vc, 0, 0, 0);

	if (ioctl(fd, OAE_DO_VERB, &v))
		die("READ: %s", strerror(errno));
	return op.old[0];
}

/* Post until as many are under way as there should be. */
static void post(struct flow *f, unsigned int nops, unsigned int queue)
{
	struct oae_verb v = { .ops = (uintptr_t)ops, .nops = nops,
			      .region = f->region };

	while (f->pending < queue) {
		if (ioctl(f->fd, OAE_DO_VERB, &v)) {
			if (errno == EAGAIN && f->pending)
				return;
			die("OAE_DO_VERB: %s", strerror(errno));
		}
		f->pending++;
	}
}

/* Take in what has ended; how many transactions. */
static unsigned int take(struct flow *f, unsigned int nops)
{
	struct oae_outcome_rec recs[RECORDS];
	struct oae_collect c = { .recs = (uintptr_t)recs, .max = RECORDS,
				 .buf = (uintptr_t)results,
				 .buf_len = sizeof(results) };
	unsigned int i;

	if (ioctl(f->fd, OAE_COLLECT, &c))
		die("OAE_COLLECT: %s", strerror(errno));
	for (i = 0; i < c.got; i++) {
		struct oae_verb_result *r = (void *)((char *)results +
						     recs[i].off);

		if (recs[i].result != OAE_RESULT_COMMITTED)
			die("a verb ended: %s", strerror(recs[i].err));
		if (r->nwords != nops || r->old[0] != f->next ||
		    r->old[nops - 1] != f->next + nops - 1)
			die("FETCH_ADD: %llu was expected, and it is %llu",
			    (unsigned long long)f->next,
			    (unsigned long long)r->old[0]);
		f->next += nops;
	}
	f->pending -= c.got;
	return c.got;
}

/* One pass over the links; false: nothing is under way any more. */
static int pass(unsigned int links, unsigned int nops, unsigned int queue,
		int more)
{
	struct pollfd polls[LINKS];
	unsigned int i, took = 0, pending = 0;

	for (i = 0; i < links; i++) {
		took += take(&flows[i], nops);
		if (more)
			post(&flows[i], nops, queue);
		pending += flows[i].pending;
		polls[i].fd = flows[i].fd;
		polls[i].events = POLLPRI;
	}
	if (!took && pending && poll(polls, links, 10000) <= 0)
		die("nothing ends any more");
	return pending > 0;
}

int rate_main(const struct where *w, char **words)
{
	unsigned int links, nops, queue, i, n = 0;
	uint64_t begin, end, count = 0;
	double seconds;

	for (i = 0; i < 4; i++)
		if (!words[i])
			die("rate SECONDS LINKS OPERATIONS QUEUE");
	seconds = atof(words[0]);
	links = atoi(words[1]);
	nops = atoi(words[2]);
	queue = atoi(words[3]);
	if (!links || links > LINKS || !nops || nops > OAE_VERB_OPS || !queue)
		die("a number is out of range");
	/* The contenders of verbs have words to work on. */
	for (i = 0; i < contender_count && n < links; i++) {
		struct flow *f = &flows[n];

		if (!contenders[i].nops)
			continue;
		f->region = i;
		f->fd = oae_attach(w, i, O_NONBLOCK, 0, queue);
		f->next = word_of(w, f, i);
		count -= f->next;
		n++;
	}
	if (n < links)
		die("there are %u links at most", n);
	oae_fetch_add(ops, nops);
	begin = now_ns();
	end = begin + seconds * 1e9;
	while (now_ns() < end)
		pass(links, nops, queue, 1);
	while (pass(links, nops, queue, 0))
		;
	end = now_ns();
	for (i = 0; i < links; i++) {
		uint64_t word = word_of(w, &flows[i], flows[i].region);

		if (word != flows[i].next)
			die("%llu were committed, the word says %llu",
			    (unsigned long long)flows[i].next,
			    (unsigned long long)word);
		count += word;
	}
	printf("rate %u %u %u %llu %llu\n", links, nops, queue,
	       (unsigned long long)count, (unsigned long long)(end - begin));
	return 0;
}
