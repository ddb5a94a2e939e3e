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

/* The next outcome that is waited for: those of before come first. NULL: as oae_next_outcome(). */
static const struct oae_outcome_rec *next(struct transact *t)
{
	const struct oae_outcome_rec *rec;

	while ((rec = oae_next_outcome(t->fd, &t->batch)) && t->untold)
		t->untold--;
	return rec;
}

/*
 * Its errno, or 0; EINPROGRESS: not known, and t->why says why it is not waited for. @end NEVER:
 * however long.
 */
static int collect(struct transact *t, unsigned long long end)
{
	for (;;) {
		t->rec = next(t);
		if (t->rec)
			return t->rec->err;
		if (errno)
			return errno;
		t->why = end == NEVER ? 0 : over(t, end);
		if (t->why)
			return EINPROGRESS;
		pass(t, POLLPRI, end);
	}
}

static unsigned long long end_of(const struct transact *t)
{
	return t->wait_ms ? now_ns() + t->wait_ms * 1000000ULL : NEVER - 1;
}

/* Of what was taken back: not that it was, but why. */
static int reversed(int err, int why)
{
	return err == ECANCELED && why ? why : err;
}

static int try(struct transact *t, int (*post)(int fd, void *data), void *data)
{
	unsigned long long end = end_of(t);
	int err, why;

	t->why = 0;
	/* A loop of transactions that end at once waits for nothing, and must end, too. */
	if (interrupted() && !t->deaf)
		return EINTR;
	while (post(t->fd, data)) {
		if (errno != EAGAIN)
			return errno;
		why = over(t, end);
		if (why)
			return why;
		pass(t, POLLOUT, end);
	}
	err = collect(t, end);
	if (err != EINPROGRESS)
		return err;
	if (oae_cancel(t->fd, 0) && errno == EINPROGRESS) {
		t->untold++;
		return EINPROGRESS;
	}
	why = t->why;
	return reversed(collect(t, NEVER), why);
}

int transact(struct transact *t, int (*post)(int fd, void *data), void *data)
{
	int err = try(t, post, data);

	outcome_waits(t->fd, err);
	return err;
}

int transact_more(struct transact *t)
{
	int why = t->why, err;

	t->untold--;
	err = reversed(collect(t, end_of(t)), why);
	if (err == EINPROGRESS)
		t->untold++;
	outcome_waits(t->fd, err);
	return err;
}

void transact_free(struct transact *t)
{
	oae_outcomes_free(&t->batch);
}
