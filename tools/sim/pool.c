// SPDX-License-Identifier: GPL-2.0
/* Things of one size, by number. See pool.h. */
#include <stdlib.h>
#include "pool.h"
#include "sim.h"

/**
 * pool_init() - make a pool
 * @p: the pool
 * @size: bytes of a thing
 * @limit: how many there may be
 */
void pool_init(struct pool *p, size_t size, u32 limit)
{
	memset(p, 0, sizeof(*p));
	p->size = size;
	p->limit = limit;
}

/**
 * pool_grow() - add a block of things, all zero
 * @p: the pool; none is spare
 */
void pool_grow(struct pool *p)
{
	u32 i, n = 1 << POOL_BLOCK;

	if (p->made + n > p->limit)
		die("more than %u frames or transactions under way", p->limit);
	p->block = need(realloc(p->block, (p->nblocks + 1) * sizeof(*p->block)));
	p->block[p->nblocks] = need(aligned_alloc(64, p->size << POOL_BLOCK));
	memset(p->block[p->nblocks++], 0, p->size << POOL_BLOCK);
	p->spare = need(realloc(p->spare, (p->made + n) * sizeof(*p->spare)));
	/* The lowest number comes first. */
	for (i = 0; i < n; i++)
		p->spare[p->nspare++] = p->made + n - 1 - i;
	p->made += n;
}

/**
 * pool_free() - free all things of a pool
 * @p: the pool
 */
void pool_free(struct pool *p)
{
	u32 i;

	for (i = 0; i < p->nblocks; i++)
		free(p->block[i]);
	free(p->block);
	free(p->spare);
}
