/* SPDX-License-Identifier: GPL-2.0 */
/* A rate limit: how both modules bound the work that strangers can cause. */
#ifndef OAE_LIMIT_H
#define OAE_LIMIT_H

#include <linux/atomic.h>
#include <linux/jiffies.h>

/**
 * oae_limit_allows() - is one more event within the limit of this second?
 * @window: the second in the upper half, its count in the lower; 0 at first
 * @limit: the most events a second
 *
 * Context: any.
 *
 * Return: true if so, and the event is counted.
 */
static inline bool oae_limit_allows(atomic64_t *window, u32 limit)
{
	u64 second = (u32)(jiffies / HZ);
	u64 old, next;

	do {
		old = atomic64_read(window);
		next = old >> 32 == second ? old + 1 : second << 32 | 1;
		if ((u32)next > limit)
			return false;
	} while ((u64)atomic64_cmpxchg(window, old, next) != old);
	return true;
}

#endif /* OAE_LIMIT_H */
