// SPDX-License-Identifier: GPL-2.0
/* Operations on words: what to do, and doing it, at the peer or here. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib.h"

/* --- what to do ---------------------------------------------------------------- */

/* More words than there are become 0 of them, which the kernel refuses. */
static struct oae_verb_op op(unsigned int code, uint32_t offset, const uint64_t *expected,
			     const uint64_t *values, unsigned int words)
{
	struct oae_verb_op op = { .code = (__u8)code, .offset = offset };

	if (words > OAE_VERB_WORDS)
		return op;
	op.words = (__u8)words;
	if (values)
		memcpy(op.arg, values, words * sizeof(*values));
	if (expected)
		memcpy(op.cmp, expected, words * sizeof(*expected));
	return op;
}

struct oae_verb_op oae_op_read(uint32_t offset, unsigned int words)
{
	return op(OAE_VERB_READ, offset, NULL, NULL, words);
}

struct oae_verb_op oae_op_write(uint32_t offset, const uint64_t *values, unsigned int words)
{
	return op(OAE_VERB_WRITE, offset, NULL, values, words);
}

struct oae_verb_op oae_op_exchange(uint32_t offset, const uint64_t *values, unsigned int words)
{
	return op(OAE_VERB_EXCHANGE, offset, NULL, values, words);
}

struct oae_verb_op oae_op_fetch_add(uint32_t offset, uint64_t add)
{
	return op(OAE_VERB_FETCH_ADD, offset, NULL, &add, 1);
}

struct oae_verb_op oae_op_cas(uint32_t offset, const uint64_t *expected, const uint64_t *values,
			      unsigned int words)
{
	return op(OAE_VERB_CAS, offset, expected, values, words);
}

/* --- doing it --------------------------------------------------------------------- */

static int verb(int fd, void *data)
{
	return ioctl(fd, OAE_DO_VERB, data);
}

static int taken(const struct oae_verb *v, unsigned int *failed)
{
	if (failed)
		*failed = v->failed;
	return v->taken ? 1 : 0;
}

int oae_verb(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int nops,
	     unsigned int *failed)
{
	struct oae_verb v = { .ops = oae_address(ops), .nops = nops, .region = region };

	if (oae_must_block(fd, 1))
		return -1;
	return oae_again(fd, verb, &v) ? -1 : taken(&v, failed);
}

int oae_queue_verb(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int nops,
		   uint64_t *id)
{
	struct oae_verb v = {
		.ops = oae_address(ops),
		.nops = nops,
		.region = region,
		.flags = OAE_NONBLOCK,
	};

	if (ioctl(fd, OAE_DO_VERB, &v))
		return -1;
	if (id)
		*id = v.id;
	return 0;
}

int oae_local(int fd, struct oae_verb_op *ops, unsigned int nops, unsigned int *failed)
{
	struct oae_verb v = { .ops = oae_address(ops), .nops = nops };

	return ioctl(fd, OAE_LOCAL, &v) ? -1 : taken(&v, failed);
}

/* --- one at the peer ---------------------------------------------------------------- */

/* What its words were goes to @old, in any case that is not -1. */
static int one(int fd, uint32_t region, struct oae_verb_op op, uint64_t *old)
{
	int taken = oae_verb(fd, region, &op, 1, NULL);

	if (taken >= 0 && old)
		memcpy(old, op.old, op.words * sizeof(*old));
	return taken;
}

/* Of one that compares nothing: 0 or -1. */
static int always(int taken)
{
	return taken < 0 ? -1 : 0;
}

int oae_read64(int fd, uint32_t region, uint32_t offset, uint64_t *value)
{
	return always(one(fd, region, oae_op_read(offset, 1), value));
}

int oae_write64(int fd, uint32_t region, uint32_t offset, uint64_t value)
{
	return always(one(fd, region, oae_op_write(offset, &value, 1), NULL));
}

int oae_exchange(int fd, uint32_t region, uint32_t offset, uint64_t value, uint64_t *old)
{
	return always(one(fd, region, oae_op_exchange(offset, &value, 1), old));
}

int oae_fetch_add(int fd, uint32_t region, uint32_t offset, uint64_t add, uint64_t *old)
{
	return always(one(fd, region, oae_op_fetch_add(offset, add), old));
}

int oae_cas(int fd, uint32_t region, uint32_t offset, uint64_t expected, uint64_t value,
	    uint64_t *old)
{
	return one(fd, region, oae_op_cas(offset, &expected, &value, 1), old);
}

int oae_compare_and_commit(int fd, uint32_t region, uint32_t offset, const uint64_t *expected,
			   const uint64_t *values, unsigned int words, uint64_t *old)
{
	return one(fd, region, oae_op_cas(offset, expected, values, words), old);
}
