// SPDX-License-Identifier: GPL-2.0
/*
 * How many FETCH_ADDs a second a program gets through that keeps many of them
 * under way: QUEUE transactions of OPERATIONS each, on each of LINKS links,
 * every link with a word of its own at the other end.
 *
 * With "poll" it does not sleep until something ends, but asks again and again.
 *
 * Prints "rate LINKS OPERATIONS QUEUE COUNT NS", once the words say that COUNT
 * were executed, each once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progbench.h"

#define LINKS	64
#define FIRST	128	/* their virtual channels, and regions */
#define RECORDS	64

struct flow {
	int fd;
	unsigned int vc;
	unsigned int pending;	/* transactions */
	uint64_t next;		/* what the next FETCH_ADD must yield */
};

static struct flow flows[LINKS];
static int polls;
static struct oae_verb_op ops[OAE_VERB_OPS];
static uint64_t results[RECORDS * (2 + OAE_VERB_OPS)];

/* The answering end: a word for each link there may be. */
void words_open(const struct contender *c, const struct where *w,
		unsigned int number, int answering, struct end *e)
{
	unsigned int i;

	for (i = FIRST; i < FIRST + LINKS; i++)
		dev_expose(dev_attach(w, i, 0, 0, 0), i);
}

static uint64_t word_of(const struct where *w, const struct flow *f)
{
	struct oae_verb_op op = { .code = OAE_VERB_READ, .words = 1 };
	struct oae_verb v = { .ops = (uintptr_t)&op, .nops = 1,
			      .region = f->vc };
	int fd = dev_attach(w, f->vc, 0, 0, 0);

	if (ioctl(fd, OAE_DO_VERB, &v))
		die("READ: %s", strerror(errno));
	close(fd);
	return op.old[0];
}

/* Post until as many are under way as there should be. */
static void post(struct flow *f, unsigned int nops, unsigned int queue)
{
	struct oae_verb v = { .ops = (uintptr_t)ops, .nops = nops,
			      .region = f->vc };

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

/* Wait for what ends, and post more; how many transactions have ended. */
static unsigned int pass(int epoll, unsigned int nops, unsigned int queue,
			 int more)
{
	uint64_t end = now_ns() + 10000000000ULL;
	struct epoll_event events[LINKS];
	unsigned int took = 0;
	int i, n;

	do
		n = epoll_wait(epoll, events, LINKS, polls ? 0 : 10000);
	while (!n && polls && now_ns() < end);
	if (n <= 0)
		die("nothing ends any more");
	for (i = 0; i < n; i++) {
		took += take(events[i].data.ptr, nops);
		if (more)
			post(events[i].data.ptr, nops, queue);
	}
	return took;
}

static int open_flows(const struct where *w, unsigned int links,
		      unsigned int queue)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	unsigned int i;

	for (i = 0; i < links; i++) {
		struct epoll_event event = { .events = EPOLLPRI,
					     .data.ptr = &flows[i] };

		flows[i].vc = FIRST + i;
		flows[i].fd = dev_attach(w, FIRST + i, O_NONBLOCK, 0, queue);
		flows[i].next = word_of(w, &flows[i]);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, flows[i].fd, &event))
			die("epoll: %s", strerror(errno));
	}
	return epoll;
}

int rate_main(const struct where *w, char **words)
{
	unsigned int links, nops, queue, i;
	uint64_t begin, end, count = 0, pending = 0;
	int epoll;

	for (i = 0; i < 4; i++)
		if (!words[i])
			die("rate SECONDS LINKS OPERATIONS QUEUE [poll]");
	polls = words[4] && !strcmp(words[4], "poll");
	links = atoi(words[1]);
	nops = atoi(words[2]);
	queue = atoi(words[3]);
	if (!links || links > LINKS || !nops || nops > OAE_VERB_OPS || !queue)
		die("a number is out of range");
	epoll = open_flows(w, links, queue);
	dev_fetch_add(ops, nops);
	begin = now_ns();
	end = begin + atof(words[0]) * 1e9;
	for (i = 0; i < links; i++)
		post(&flows[i], nops, queue);
	while (now_ns() < end)
		count += pass(epoll, nops, queue, 1);
	for (i = 0; i < links; i++)
		pending += flows[i].pending;
	while (pending) {
		unsigned int took = pass(epoll, nops, queue, 0);

		count += took;
		pending -= took;
	}
	end = now_ns();
	for (i = 0; i < links; i++) {
		uint64_t word = word_of(w, &flows[i]);

		if (word != flows[i].next)
			die("%llu were committed, the word says %llu",
			    (unsigned long long)flows[i].next,
			    (unsigned long long)word);
	}
	printf("rate %u %u %u %llu %llu\n", links, nops, queue,
	       (unsigned long long)count * nops,
	       (unsigned long long)(end - begin));
	return 0;
}
