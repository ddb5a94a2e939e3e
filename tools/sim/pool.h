/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Things of one size, by number. They never move; the one that was given back
 * last is the next to be given out, since it is still in the cache.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "oae_types.h"

#define POOL_BLOCK	12	/* log2 of the things in a block */

struct pool {
	u8 **block;
	u32 *spare;
	size_t size;
	u32 nblocks, nspare, made, limit;
};

void pool_init(struct pool *p, size_t size, u32 limit);
void pool_grow(struct pool *p);
void pool_free(struct pool *p);

static inline void *pool_at(const struct pool *p, u32 i)
{
	return p->block[i >> POOL_BLOCK] +
	       (i & ((1 << POOL_BLOCK) - 1)) * p->size;
}

static inline u32 pool_get(struct pool *p)
{
	if (!p->nspare)
		pool_grow(p);
	return p->spare[--p->nspare];
}

static inline void pool_put(struct pool *p, u32 i)
{
	p->spare[p->nspare++] = i;
}

#endif /* SIM_POOL_H */
