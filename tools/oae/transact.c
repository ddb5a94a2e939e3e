// SPDX-License-Identifier: GPL-2.0
/* One transaction and its outcome. See transact.h. */
#include <errno.h>
#include <poll.h>

#include "cmd.h"
#include "error.h"
#include "transact.h"

#define NEVER	(~0ULL)

/* Until @events, for a moment: a signal may come just before. Takes what happens to the link. */
static void pass(int fd, short events, unsigned long long end)
{
	struct pollfd p = { .fd = fd, .events = events | POLLRDBAND };
	unsigned long long now = now_ns(), left = end > now ? (end - now) / 1000000 + 1 : 0;
	struct oae_status status;

	poll(&p, 1, left > 100 ? 100 : left);
	if (p.revents & POLLRDBAND)
		oae_status(fd, &status);
}

/* Its errno, or 0; EINPROGRESS: not by then, or not before a signal. @end NEVER: however long. */
static int collect(struct transact *t, unsigned long long end)
{
	for (;;) {
		t->rec = oae_next_outcome(t->fd, &t->batch);
		if (t->rec)
			return t->rec->err;
		if (errno)
			return errno;
		if (end != NEVER && (interrupted() || now_ns() >= end))
			return EINPROGRESS;
		pass(t->fd, POLLPRI, end);
	}
}

static unsigned long long end_of(const struct transact *t)
{
	return t->wait_ms ? now_ns() + t->wait_ms * 1000000ULL : NEVER - 1;
}

static int try(struct transact *t, int (*post)(int fd, void *data), void *data)
{
	unsigned long long end = end_of(t);
	int err, why;

	while (post(t->fd, data)) {
		if (errno != EAGAIN)
			return errno;
		if (interrupted())
			return EINTR;
		if (now_ns() >= end)
			return ETIME;
		pass(t->fd, POLLOUT, end);
	}
	err = collect(t, end);
	if (err != EINPROGRESS)
		return err;
	why = interrupted() ? EINTR : ETIME;
	if (oae_cancel(t->fd, 0) && errno == EINPROGRESS)
		return EINPROGRESS;
	err = collect(t, NEVER);
	return err == ECANCELED ? why : err;
}

int transact(struct transact *t, int (*post)(int fd, void *data), void *data)
{
	int err = try(t, post, data);

	outcome_waits(t->fd, err);
	return err;
}

int transact_more(struct transact *t)
{
	int err = collect(t, end_of(t));

	outcome_waits(t->fd, err);
	return err;
}

void transact_free(struct transact *t)
{
	oae_outcomes_free(&t->batch);
}
