/* SPDX-License-Identifier: GPL-2.0 */
/* twice.c: memory that lies twice in a row. */
#ifndef OAE_TWICE_H
#define OAE_TWICE_H

#include <linux/types.h>

struct cred;
struct page;

/**
 * struct oae_twice - memory that lies twice in a row
 * @base: where, in the kernel
 * @size: bytes, once; a power of two
 * @cred: of the user whose locked memory it is, or NULL
 * @charged: pages of that
 */
struct oae_twice {
	void *base;
	u32 size;
	const struct cred *cred;
	unsigned long charged;
};

int oae_twice_make(struct oae_twice *t, u32 size);
void oae_twice_free(struct oae_twice *t);
struct page *oae_twice_page(const struct oae_twice *t, unsigned long pgoff);

/* The bytes at a position, contiguous for @t->size bytes. */
static inline void *oae_twice_at(const struct oae_twice *t, u64 pos)
{
	return t->base + (pos & (t->size - 1));
}

#endif /* OAE_TWICE_H */
