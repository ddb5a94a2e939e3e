// SPDX-License-Identifier: GPL-2.0
/*
 * Streams by rings: all links are on one pair of rings. While the program and the kernel
 * are both busy there is no system call.
 */
#include "stream.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define RING		0x100000
#define BATCH		32		/* messages are published, or passed, at once */

struct stream {
	struct oae_rings *rings;
	uint32_t link[STREAM_PEERS];
	unsigned int npeers;
	unsigned int staged;
	unsigned int done;
};

static void fail(const char *what)
{
	errx(1, "%s: %s", what, oae_strerror(errno));
}

static struct stream *ring_open(const struct stream_run *run)
{
	struct stream *s = calloc(1, sizeof(*s));
	int fd, i;

	/* The rings are of a file without a link, so no peer is another than the others. */
	fd = open(OAE_DEV, O_RDWR | O_CLOEXEC);
	s->rings = fd < 0 ? NULL : oae_ring_open(fd, RING, RING);
	if (!s->rings)
		fail("the rings");
	oae_ring_spin(s->rings, run->spin_us);
	for (i = 0; i < (int)run->npeers; i++) {
		fd = oae_open_address(&run->peers[i].where, run->peers[i].vc, OAE_OPEN_NOW);
		s->link[i] = fd < 0 ? 0 : oae_ring_add(s->rings, fd);
		if (!s->link[i])
			fail("a link");
	}
	s->npeers = run->npeers;
	return s;
}

/* Each message must be committed. Its room is free then. */
static void ring_outcomes(struct stream *s)
{
	struct oae_chunk chunk;

	while (oae_ring_ended(s->rings, &chunk))
		if (chunk.result != OAE_RESULT_COMMITTED)
			errx(1, "a message: %s", oae_strerror(chunk.err));
}

static void ring_flush(struct stream *s)
{
	s->staged = 0;
	if (oae_ring_flush(s->rings))
		fail("oae_ring_flush");
}

static void ring_pass_all(struct stream *s)
{
	s->done = 0;
	if (oae_ring_done(s->rings))
		fail("oae_ring_done");
}

static void ring_done(struct stream *s)
{
	if (++s->done == BATCH)
		ring_pass_all(s);
}

static const void *ring_next(struct stream *s, size_t *len, unsigned int *from)
{
	struct oae_chunk chunk;
	const void *data;

	while (!(data = oae_ring_next(s->rings, &chunk))) {
		if (errno != EAGAIN)
			fail("oae_ring_next");
		ring_outcomes(s);
		ring_flush(s);
		ring_pass_all(s);
		if (oae_ring_wait(s->rings, OAE_RING_DATA, 0, -1) < 0)
			fail("oae_ring_wait");
	}
	*len = chunk.len;
	for (*from = 0; s->link[*from] != chunk.link;)
		++*from;
	return data;
}

static void ring_wait_room(struct stream *s, size_t len)
{
	if (errno != EAGAIN)
		fail("oae_ring_reserve");
	ring_flush(s);
	ring_outcomes(s);
	if (oae_ring_wait(s->rings, OAE_RING_ROOM, len, -1) < 0)
		fail("oae_ring_wait");
	ring_outcomes(s);
}

static void *ring_room(struct stream *s, size_t len)
{
	void *room;

	while (!(room = oae_ring_reserve(s->rings, len)))
		ring_wait_room(s, len);
	return room;
}

static void ring_staged(struct stream *s)
{
	if (++s->staged == BATCH)
		ring_flush(s);
}

static void ring_put(struct stream *s, unsigned int to, size_t len)
{
	if (oae_ring_stage(s->rings, s->link[to], len, 0))
		fail("oae_ring_stage");
	ring_staged(s);
}

/* The kernel takes the bytes from rx: the program does not touch them. */
static void ring_pass(struct stream *s, unsigned int to, const void *data, size_t len)
{
	while (oae_ring_forward(s->rings, s->link[to], data, len, 0))
		ring_wait_room(s, len);
	ring_staged(s);
}

static void ring_close(struct stream *s)
{
	struct oae_ring_position p;

	ring_flush(s);
	ring_pass_all(s);
	for (;;) {
		ring_outcomes(s);
		oae_ring_position(s->rings, &p);
		if (p.seen == p.staged)
			break;
		if (oae_ring_wait(s->rings, OAE_RING_OUTCOME, 0, -1) < 0)
			fail("oae_ring_wait");
	}
	oae_ring_close(s->rings);
	free(s);
}

const struct stream_manner stream_by_ring = {
	.open = ring_open,
	.next = ring_next,
	.done = ring_done,
	.room = ring_room,
	.put = ring_put,
	.pass = ring_pass,
	.close = ring_close,
};
