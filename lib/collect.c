// SPDX-License-Identifier: GPL-2.0
/* Outcomes of what was queued: from the kernel in batches, to the caller one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib.h"

#define FIRST_SIZE	4096	/* room for the results of a few verbs */

int oae_collect(int fd, struct oae_outcome_rec *recs, unsigned int max, void *buf, size_t size,
		size_t *used)
{
	struct oae_collect c = {
		.recs = oae_address(recs),
		.buf = oae_address(buf),
		.max = max,
		.buf_len = size > UINT32_MAX ? UINT32_MAX : (__u32)size,
	};
	int failed = ioctl(fd, OAE_COLLECT, &c);

	if (used)
		*used = c.buf_used;
	return failed ? -1 : (int)c.got;
}

static int grow(struct oae_outcomes *o, size_t size)
{
	void *buf = realloc(o->buf, size);

	if (!buf)
		return -1;
	o->buf = buf;
	o->size = size;
	return 0;
}

/* The next batch: how many there are, or -1. */
static int refill(int fd, struct oae_outcomes *o)
{
	size_t used;
	int got;

	if (!o->buf && grow(o, FIRST_SIZE))
		return -1;
	for (;;) {
		got = oae_collect(fd, o->rec, OAE_OUTCOMES, o->buf, o->size, &used);
		if (got >= 0 || errno != EOVERFLOW || used <= o->size)
			return got;
		if (grow(o, used))
			return -1;
	}
}

const struct oae_outcome_rec *oae_next_outcome(int fd, struct oae_outcomes *o)
{
	if (o->next == o->got) {
		int got = refill(fd, o);

		o->next = 0;
		o->got = got > 0 ? (unsigned int)got : 0;
		if (got == 0)
			errno = 0;
		if (got <= 0)
			return NULL;
	}
	return &o->rec[o->next++];
}

static const void *result_of(const struct oae_outcomes *o, const struct oae_outcome_rec *rec,
			     unsigned int kind)
{
	if (rec->result != OAE_RESULT_COMMITTED || rec->kind != kind)
		return NULL;
	return (const char *)o->buf + rec->off;
}

const void *oae_outcome_half(const struct oae_outcomes *o, const struct oae_outcome_rec *rec)
{
	return result_of(o, rec, OAE_KIND_SWAP);
}

const struct oae_verb_result *oae_outcome_verb(const struct oae_outcomes *o,
					       const struct oae_outcome_rec *rec)
{
	return result_of(o, rec, OAE_KIND_VERB);
}

void oae_outcomes_free(struct oae_outcomes *o)
{
	free(o->buf);
	memset(o, 0, sizeof(*o));
}
