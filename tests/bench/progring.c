// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/oae by rings, and what they are compared with: bursts of BURST records of 64 bytes
 * one way, all of which are committed when a trip is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progbench.h"
#include "../../lib/oae.h"

#define RING	1048576
#define RECORDS	256

/* An end has its rings, a wish to spin or not. */
void ring_open(const struct contender *c, const struct where *w, unsigned int number,
	       int answering, struct end *e)
{
	e->in = dev_attach(w, number, 0, c->flags, BURST);
	e->out = e->in;
	e->rings = oae_ring_open(e->in, RING, RING);
	if (!e->rings)
		die("oae_ring_open: %s", strerror(errno));
}

static void ring_put(struct end *e, const void *data)
{
	void *at;

	while (!(at = oae_ring_reserve(e->rings, BYTES)))
		if (errno != EAGAIN || oae_ring_wait(e->rings, OAE_RING_ROOM, BYTES, -1) < 0)
			die("oae_ring_reserve: %s", strerror(errno));
	memcpy(at, data, BYTES);
	if (oae_ring_stage(e->rings, oae_ring_link(e->rings), BYTES, 0))
		die("oae_ring_stage: %s", strerror(errno));
}

static const void *ring_get(struct end *e)
{
	struct oae_chunk chunk;
	const void *at;

	while (!(at = oae_ring_next(e->rings, &chunk)))
		if (errno != EAGAIN || oae_ring_wait(e->rings, OAE_RING_DATA, 0, -1) < 0)
			die("oae_ring_next: %s", strerror(errno));
	if (chunk.len != BYTES)
		die("a chunk of %u bytes came", chunk.len);
	return at;
}

/* How many more have ended, as they should. */
static unsigned int ring_ended(struct end *e)
{
	struct oae_chunk chunk;
	unsigned int n;

	for (n = 0; oae_ring_ended(e->rings, &chunk); n++)
		if (chunk.result != OAE_RESULT_COMMITTED)
			die("a chunk ended: %s", strerror(chunk.err));
	if (errno != EAGAIN)
		die("oae_ring_ended: %s", strerror(errno));
	return n;
}

void ring_ask(struct end *e)
{
	memcpy(e->buf, &e->done, sizeof(e->done));
	ring_put(e, e->buf);
	if (memcmp(ring_get(e), e->buf, BYTES))
		die("another message came back than went out");
	ring_ended(e);
	oae_ring_done(e->rings);
	e->done++;
}

void ring_answer(struct end *e)
{
	ring_put(e, ring_get(e));
	ring_ended(e);
	oae_ring_done(e->rings);
}

void ring_burst(struct end *e)
{
	unsigned int i, ended = 0;

	for (i = 0; i < BURST; i++) {
		memcpy(e->buf, &e->done, sizeof(e->done));
		ring_put(e, e->buf);
		e->done++;
	}
	if (oae_ring_flush(e->rings))
		die("oae_ring_flush: %s", strerror(errno));
	while ((ended += ring_ended(e)) < BURST)
		if (oae_ring_wait(e->rings, OAE_RING_ROOM, RING - 16, -1) < 0)
			die("oae_ring_wait: %s", strerror(errno));
}

void ring_take(struct end *e)
{
	struct oae_chunk chunk;
	const void *at;
	uint64_t number;

	ring_get(e);
	e->done++;
	while ((at = oae_ring_next(e->rings, &chunk)) != NULL) {
		memcpy(&number, at, sizeof(number));
		if (number != e->done++)
			die("message %llu came in the place of %llu", (unsigned long long)number,
			    (unsigned long long)e->done - 1);
	}
	oae_ring_done(e->rings);
}

/* The doorbell alone, when there is nothing to be done. */
void ring_bell(struct end *e)
{
	struct oae_bell bell = { 0 };

	if (ioctl(e->in, OAE_RING_BELL, &bell))
		die("OAE_RING_BELL: %s", strerror(errno));
}

/* The least that a call to the device costs: one that it does not know. */
void ring_no_call(struct end *e)
{
	if (!ioctl(e->in, 0) || errno != ENOTTY)
		die("an unknown call was taken");
}

/* The same by write(), which queues. */
void write_open(const struct contender *c, const struct where *w, unsigned int number,
		int answering, struct end *e)
{
	e->in = dev_attach(w, number, 0, c->flags, BURST);
	e->out = answering ? e->in : dev_attach(w, number, O_NONBLOCK, c->flags, BURST);
}

static unsigned int write_ended(struct end *e)
{
	static struct oae_outcome_rec recs[RECORDS];
	struct oae_collect c = { .recs = (uintptr_t)recs, .max = RECORDS };
	unsigned int i;

	if (ioctl(e->out, OAE_COLLECT, &c))
		die("OAE_COLLECT: %s", strerror(errno));
	for (i = 0; i < c.got; i++)
		if (recs[i].result != OAE_RESULT_COMMITTED)
			die("a message ended: %s", strerror(recs[i].err));
	return c.got;
}

void write_burst(struct end *e)
{
	struct pollfd p = { .fd = e->out, .events = POLLPRI };
	unsigned int i, ended = 0;

	for (i = 0; i < BURST; i++) {
		memcpy(e->buf, &e->done, sizeof(e->done));
		while (write(e->out, e->buf, BYTES) != BYTES) {
			if (errno != EAGAIN)
				die("write: %s", strerror(errno));
			p.events = POLLPRI | POLLOUT;
			poll(&p, 1, -1);
			ended += write_ended(e);
		}
		e->done++;
	}
	p.events = POLLPRI;
	while ((ended += write_ended(e)) < BURST)
		if (poll(&p, 1, -1) != 1)
			die("poll: %s", strerror(errno));
}

/* And by write(), which waits for each. */
void send_burst(struct end *e)
{
	unsigned int i;

	for (i = 0; i < BURST; i++) {
		memcpy(e->buf, &e->done, sizeof(e->done));
		all_write(e->out, e->buf);
		e->done++;
	}
}

/* TIPC over the cable, UDP: the other end says when it has all. */
void sock_burst(struct end *e)
{
	send_burst(e);
	all_read(e->in, e->buf);
}

void sock_take_burst(struct end *e)
{
	unsigned int i;

	for (i = 0; i < BURST; i++)
		all_read(e->in, e->buf);
	all_write(e->out, e->buf);
}
