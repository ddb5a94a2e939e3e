/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types and helpers that the pure core (all of link/) needs, for the kernel and for
 * user space.
 */
#ifndef OAE_TYPES_H
#define OAE_TYPES_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/string.h>
#include <linux/errno.h>

#include "has/forms.gen"

/* 6.12: unaligned.h has moved */
#if OAE_HAS_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <endian.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define fallthrough			__attribute__((__fallthrough__))
#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)		__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

static inline u16 get_unaligned_be16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline u32 get_unaligned_be32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline u64 get_unaligned_be64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline u32 get_unaligned_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline u64 get_unaligned_le64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline unsigned int hweight64(u64 v)
{
	return __builtin_popcountll(v);
}

static inline int fls64(u64 v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}
#endif /* __KERNEL__ */

/*
 * Kernels are built to clear every variable on the stack. This one is not to be: it is
 * large, a frame takes one or more of them, and nothing reads what was not written.
 */
#ifdef __has_attribute
#if __has_attribute(__uninitialized__)
#define oae_uninit __attribute__((__uninitialized__))
#endif
#endif
#ifndef oae_uninit
#define oae_uninit
#endif

#include "xxh64.h"

#endif /* OAE_TYPES_H */
