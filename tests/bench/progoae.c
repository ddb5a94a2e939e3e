// SPDX-License-Identifier: GPL-2.0
/* /dev/oae: messages, blocking and queued, swaps, verbs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progbench.h"

#define RECORDS	64

/* A file that is one end of a link. */
int dev_attach(const struct where *w, unsigned int vc, unsigned int flags,
	       unsigned int opt, unsigned int queue)
{
	struct oae_attach a = { .vc = vc, .flags = OAE_ATTACH_OPEN };
	struct oae_options o;
	int fd = open(OAE_DEV, O_RDWR | O_CLOEXEC | flags);

	if (fd < 0)
		die("%s: %s", OAE_DEV, strerror(errno));
	snprintf(a.port, sizeof(a.port), "%s", w->dev);
	memcpy(a.peer, w->peer, sizeof(a.peer));
	if (ioctl(fd, OAE_ATTACH, &a))
		die("OAE_ATTACH: %s", strerror(errno));
	if (ioctl(fd, OAE_GET_OPTIONS, &o))
		die("OAE_GET_OPTIONS: %s", strerror(errno));
	o.flags |= opt;
	if (queue)
		o.queue = queue;
	if (ioctl(fd, OAE_SET_OPTIONS, &o))
		die("OAE_SET_OPTIONS: %s", strerror(errno));
	return fd;
}

/* Contenders are links of their own: each has a virtual channel. */
void dev_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e)
{
	e->in = dev_attach(w, number, 0, c->flags, 0);
	e->out = e->in;
}

/* Two files of one link, so that writing queues and reading blocks. */
void dev_open_queued(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e)
{
	e->in = dev_attach(w, number, 0, 0, 0);
	e->out = dev_attach(w, number, O_NONBLOCK, c->flags, 0);
}

void dev_expose(int fd, unsigned int region)
{
	struct oae_expose x = { .size = 4096, .region = region,
				.perm = OAE_PERM_READ | OAE_PERM_ATOMIC };

	if (ioctl(fd, OAE_EXPOSE, &x))
		die("OAE_EXPOSE: %s", strerror(errno));
}

/* Add 1 to the first word, so many times over. */
void dev_fetch_add(struct oae_verb_op *ops, unsigned int nops)
{
	unsigned int i;

	memset(ops, 0, nops * sizeof(*ops));
	for (i = 0; i < nops; i++) {
		ops[i].code = OAE_VERB_FETCH_ADD;
		ops[i].words = 1;
		ops[i].arg[0] = 1;
	}
}

void dev_open_verb(const struct contender *c, const struct where *w,
		   unsigned int number, int answering, struct end *e)
{
	dev_open(c, w, number, answering, e);
	if (answering) {
		dev_expose(e->in, number);
		return;
	}
	e->nops = c->nops;
	e->ops = malloc(c->nops * sizeof(*e->ops));
	if (!e->ops)
		die("no memory");
	dev_fetch_add(e->ops, c->nops);
	e->buf[0] = number;
}

void dev_open_polled(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e)
{
	dev_open_verb(c, w, number, answering, e);
	if (!answering && fcntl(e->out, F_SETFL, O_NONBLOCK))
		die("O_NONBLOCK: %s", strerror(errno));
}

/* What was queued and has ended must be committed. */
static void collect(int fd)
{
	struct oae_outcome_rec recs[RECORDS];
	struct oae_collect c = { .recs = (uintptr_t)recs, .max = RECORDS };
	unsigned int i;

	if (ioctl(fd, OAE_COLLECT, &c))
		die("OAE_COLLECT: %s", strerror(errno));
	for (i = 0; i < c.got; i++)
		if (recs[i].result != OAE_RESULT_COMMITTED)
			die("queued, and then: %s", strerror(recs[i].err));
}

void queued_ask(struct end *e)
{
	uint8_t back[BYTES];

	memcpy(e->buf, &e->done, sizeof(e->done));
	all_write(e->out, e->buf);
	all_read(e->in, back);
	collect(e->out);
	if (memcmp(back, e->buf, BYTES))
		die("another message came back than went out");
	e->done++;
}

void queued_answer(struct end *e)
{
	all_read(e->in, e->buf);
	all_write(e->out, e->buf);
	collect(e->out);
}

/* What comes back tells that all went before it were executed once. */
static void added(struct end *e, uint64_t first, uint64_t last)
{
	if (first != e->done || last != e->done + e->nops - 1)
		die("FETCH_ADD: %llu was expected, and it is %llu",
		    (unsigned long long)e->done, (unsigned long long)first);
	e->done += e->nops;
}

void verb_ask(struct end *e)
{
	struct oae_verb v = { .ops = (uintptr_t)e->ops, .nops = e->nops,
			      .region = e->buf[0] };

	if (ioctl(e->out, OAE_DO_VERB, &v))
		die("OAE_DO_VERB: %s", strerror(errno));
	if (!v.taken)
		die("a verb was not taken");
	added(e, e->ops[0].old[0], e->ops[e->nops - 1].old[0]);
}

/* It does not sleep until the outcome is there, but asks for it again and again. */
void verb_ask_polled(struct end *e)
{
	struct oae_verb v = { .ops = (uintptr_t)e->ops, .nops = e->nops,
			      .region = e->buf[0] };
	uint64_t results[2 + OAE_VERB_OPS];
	struct oae_verb_result *r = (void *)results;
	struct oae_outcome_rec rec;
	struct oae_collect c = { .recs = (uintptr_t)&rec, .max = 1,
				 .buf = (uintptr_t)results,
				 .buf_len = sizeof(results) };
	uint64_t end = now_ns() + 10000000000ULL;

	if (ioctl(e->out, OAE_DO_VERB, &v))
		die("OAE_DO_VERB: %s", strerror(errno));
	do {
		if (ioctl(e->out, OAE_COLLECT, &c))
			die("OAE_COLLECT: %s", strerror(errno));
	} while (!c.got && now_ns() < end);
	if (!c.got || rec.result != OAE_RESULT_COMMITTED ||
	    r->nwords != e->nops)
		die("a verb has no result");
	added(e, r->old[0], r->old[e->nops - 1]);
}

void swap_half(struct end *e)
{
	uint8_t take[BYTES];
	struct oae_swap s = { .give = (uintptr_t)e->buf, .give_len = BYTES,
			      .take = (uintptr_t)take, .take_len = BYTES };

	memcpy(e->buf, &e->done, sizeof(e->done));
	if (ioctl(e->out, OAE_SWAP_HALF, &s))
		die("OAE_SWAP_HALF: %s", strerror(errno));
	if (s.take_len != BYTES || memcmp(take, e->buf, BYTES))
		die("another half came than that of this turn");
	e->done++;
}
