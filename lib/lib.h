/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of liboae share. */
#ifndef OAE_LIB_H
#define OAE_LIB_H

/* All others are hidden: -fvisibility=hidden. */
#define OAE_API __attribute__((visibility("default")))

#include "oae.h"

/* An address, as the kernel wants it. */
static inline __u64 oae_address(const void *p)
{
	return (__u64)(uintptr_t)p;
}

/* The value of a hex digit, or -1. */
int oae_digit(char c);

/* Is this descriptor one that blocks, or not, as it must be? 0, or -1 and EINVAL. */
int oae_must_block(int fd, int blocking);

/*
 * A call that blocks, and has reversed its transaction if it returns EINTR: what is left of
 * the deadline then goes on. Returns what @call does, and its errno.
 */
int oae_again(int fd, int (*call)(int fd, void *data), void *data);

#endif /* OAE_LIB_H */
