// SPDX-License-Identifier: GPL-2.0
/* One transaction and its outcome. See transact.h. */
#include <errno.h>
#include <poll.h>

#include "cmd.h"
#include "error.h"
#include "transact.h"

#define NEVER	(~0ULL)

/* Until @events, for a moment: a signal may come just before. Takes what happens to the link. */
static void pass(struct transact *t, short events, unsigned long long end)
{
	struct pollfd p = { .fd = t->fd, .events = events | POLLRDBAND };
	unsigned long long now = now_ns(), left = end > now ? (end - now) / 1000000 + 1 : 0;
	struct oae_status status;

	if (t->vain && end != NEVER)
		p.events |= POLLIN;
	poll(&p, 1, left > 100 ? 100 : left);
	if (p.revents & POLLRDBAND && !oae_status(t->fd, &status))
		t->events |= status.events;
}

/* Why not to wait any longer: an errno, or 0. */
static int over(struct transact *t, unsigned long long end)
{
	if (interrupted() && !t->deaf)
		return EINTR;
	if (t->vain && t->vain(t))
		return ECANCELED;
	return now_ns() >= end ? ETIME : 0;
}

/*
 * Its errno, or 0; EINPROGRESS: not known, and *why it is not waited for. @end NEVER: however
 * long.
 */
static int collect(struct transact *t, unsigned long long end, int *why)
{
	for (;;) {
		t->rec = oae_next_outcome(t->fd, &t->batch);
		if (t->rec)
			return t->rec->err;
		if (errno)
			return errno;
		*why = end == NEVER ? 0 : over(t, end);
		if (*why)
			return EINPROGRESS;
		pass(t, POLLPRI, end);
	}
}

static unsigned long long end_of(const struct transact *t)
{
	return t->wait_ms ? now_ns() + t->wait_ms * 1000000ULL : NEVER - 1;
}

static int try(struct transact *t, int (*post)(int fd, void *data), void *data)
{
	unsigned long long end = end_of(t);
	int err, why, unused;

	while (post(t->fd, data)) {
		if (errno != EAGAIN)
			return errno;
		why = over(t, end);
		if (why)
			return why;
		pass(t, POLLOUT, end);
	}
	err = collect(t, end, &why);
	if (err != EINPROGRESS)
		return err;
	if (oae_cancel(t->fd, 0) && errno == EINPROGRESS)
		return EINPROGRESS;
	err = collect(t, NEVER, &unused);
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
	int unused, err = collect(t, end_of(t), &unused);

	outcome_waits(t->fd, err);
	return err;
}

void transact_free(struct transact *t)
{
	oae_outcomes_free(&t->batch);
}
