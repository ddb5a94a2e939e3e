// SPDX-License-Identifier: GPL-2.0
/*
 * Streams by read and write: a file for each link. Nothing blocks but poll(); messages are
 * queued, and their outcomes collected.
 */
#include "stream.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST		65536
#define QUEUE		256		/* messages of a link that are under way */

struct file {
	int fd;
	unsigned int under_way;
	struct oae_outcomes outcomes;
};

struct stream {
	struct file file[STREAM_PEERS];
	unsigned int npeers;
	unsigned int reading;		/* the file that was read last */
	uint64_t in[LONGEST / 8];
	uint64_t out[LONGEST / 8];
};

static void fail(const char *what)
{
	errx(1, "%s: %s", what, oae_strerror(errno));
}

static struct stream *files_open(const struct stream_run *run)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct oae_options options;
	unsigned int i;

	s->npeers = run->npeers;
	for (i = 0; i < run->npeers; i++) {
		s->file[i].fd = oae_open_address(&run->peers[i].where, run->peers[i].vc,
						 OAE_OPEN_NOW | OAE_OPEN_NONBLOCK);
		if (s->file[i].fd < 0 || oae_get_options(s->file[i].fd, &options))
			fail("a link");
		options.queue = QUEUE;
		options.spin_us = run->spin_us;
		if (oae_set_options(s->file[i].fd, &options))
			fail("oae_set_options");
	}
	return s;
}

/* Each message must be committed. */
static void files_outcomes(struct file *f)
{
	const struct oae_outcome_rec *rec;

	while (f->under_way && (rec = oae_next_outcome(f->fd, &f->outcomes)) != NULL) {
		f->under_way--;
		if (rec->result != OAE_RESULT_COMMITTED)
			errx(1, "a message: %s", oae_strerror(rec->err));
	}
}

/* Until something can be read. */
static void files_wait(struct stream *s)
{
	struct pollfd p[STREAM_PEERS];
	unsigned int i;

	for (i = 0; i < s->npeers; i++) {
		files_outcomes(&s->file[i]);
		p[i] = (struct pollfd){ .fd = s->file[i].fd, .events = POLLIN };
	}
	if (poll(p, s->npeers, -1) < 0)
		err(1, "poll");
	for (i = 0; i < s->npeers; i++)
		if (p[i].revents)
			s->reading = i;
}

static const void *files_next(struct stream *s, size_t *len, unsigned int *from)
{
	ssize_t got;

	while ((got = oae_recv(s->file[s->reading].fd, s->in, sizeof(s->in))) <= 0) {
		if (!got || errno != EAGAIN)
			fail("oae_recv");
		files_wait(s);
	}
	*len = got;
	*from = s->reading;
	return s->in;
}

static void files_done(struct stream *s)
{
	(void)s;
}

static void *files_room(struct stream *s, size_t len)
{
	if (len > sizeof(s->out))
		errx(1, "a message of %zu bytes", len);
	return s->out;
}

static void files_pass(struct stream *s, unsigned int to, const void *data, size_t len)
{
	struct file *f = &s->file[to];
	struct pollfd p = { .fd = f->fd, .events = POLLOUT | POLLPRI };

	while (oae_queue(f->fd, data, len)) {
		if (errno != EAGAIN)
			fail("oae_queue");
		files_outcomes(f);
		if (poll(&p, 1, -1) < 0)
			err(1, "poll");
		files_outcomes(f);
	}
	f->under_way++;
}

static void files_put(struct stream *s, unsigned int to, size_t len)
{
	files_pass(s, to, s->out, len);
}

static void files_close(struct stream *s)
{
	unsigned int i;

	for (i = 0; i < s->npeers; i++) {
		struct file *f = &s->file[i];
		struct pollfd p = { .fd = f->fd, .events = POLLPRI };

		for (files_outcomes(f); f->under_way; files_outcomes(f))
			if (poll(&p, 1, -1) < 0)
				err(1, "poll");
		oae_outcomes_free(&f->outcomes);
	}
	free(s);
}

const struct stream_manner stream_by_files = {
	.open = files_open,
	.next = files_next,
	.done = files_done,
	.room = files_room,
	.put = files_put,
	.pass = files_pass,
	.close = files_close,
};
