/* SPDX-License-Identifier: GPL-2.0 */
/*
 * XXH64, the hash of doc/protocol.md section 2.5. Pure, and part of each file that
 * hashes, so that a short hash is inlined.
 *
 * Not the kernel's xxh64(): where xxhash is a module, a module that imports it cannot
 * be loaded by insmod alone. Getting it at run time is no way out, either: it is not
 * exported as GPL-only, which symbol_get() asks for since 6.6, and would be an
 * indirect call for each frame. The unit tests hold this code against one that follows
 * the specification byte by byte.
 */
#ifndef OAE_XXH64_H
#define OAE_XXH64_H

#define OAE_XXH64_P1	0x9e3779b185ebca87ULL
#define OAE_XXH64_P2	0xc2b2ae3d27d4eb4fULL
#define OAE_XXH64_P3	0x165667b19e3779f9ULL
#define OAE_XXH64_P4	0x85ebca77c2b2ae63ULL
#define OAE_XXH64_P5	0x27d4eb2f165667c5ULL

#define OAE_XXH64_STRIPE	32	/* bytes: a word for each accumulator */

/**
 * struct oae_xxh64 - a hash of data that comes in pieces
 * @acc: accumulators
 * @seed: the seed
 * @total: bytes so far
 * @rest: the last bytes, less than a stripe; number: @total % OAE_XXH64_STRIPE
 */
struct oae_xxh64 {
	u64 acc[4];
	u64 seed;
	u64 total;
	u8 rest[OAE_XXH64_STRIPE];
};

static inline u64 oae_xxh64_rotate(u64 x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static inline u64 oae_xxh64_round(u64 acc, u64 word)
{
	return oae_xxh64_rotate(acc + word * OAE_XXH64_P2, 31) * OAE_XXH64_P1;
}

static inline void oae_xxh64_start(u64 acc[4], u64 seed)
{
	acc[0] = seed + OAE_XXH64_P1 + OAE_XXH64_P2;
	acc[1] = seed + OAE_XXH64_P2;
	acc[2] = seed;
	acc[3] = seed - OAE_XXH64_P1;
}

/* Hash whole stripes; returns the first byte behind them. */
static inline const u8 *oae_xxh64_stripes(u64 acc[4], const u8 *p, size_t n)
{
	u64 a = acc[0], b = acc[1], c = acc[2], d = acc[3];

	for (; n; n--, p += OAE_XXH64_STRIPE) {
		a = oae_xxh64_round(a, get_unaligned_le64(p));
		b = oae_xxh64_round(b, get_unaligned_le64(p + 8));
		c = oae_xxh64_round(c, get_unaligned_le64(p + 16));
		d = oae_xxh64_round(d, get_unaligned_le64(p + 24));
	}
	acc[0] = a;
	acc[1] = b;
	acc[2] = c;
	acc[3] = d;
	return p;
}

static inline u64 oae_xxh64_merge(u64 h, u64 acc)
{
	return (h ^ oae_xxh64_round(0, acc)) * OAE_XXH64_P1 + OAE_XXH64_P4;
}

/* What the accumulators say together, once there was a stripe. */
static inline u64 oae_xxh64_join(const u64 acc[4])
{
	u64 h = oae_xxh64_rotate(acc[0], 1) + oae_xxh64_rotate(acc[1], 7) +
		oae_xxh64_rotate(acc[2], 12) + oae_xxh64_rotate(acc[3], 18);

	h = oae_xxh64_merge(h, acc[0]);
	h = oae_xxh64_merge(h, acc[1]);
	h = oae_xxh64_merge(h, acc[2]);
	return oae_xxh64_merge(h, acc[3]);
}

/* The last @n bytes, less than a stripe, and the final mixing. */
static inline u64 oae_xxh64_finish(u64 h, const u8 *p, unsigned int n)
{
	for (; n >= 8; n -= 8, p += 8)
		h = oae_xxh64_rotate(h ^ oae_xxh64_round(0, get_unaligned_le64(p)),
				     27) * OAE_XXH64_P1 + OAE_XXH64_P4;
	if (n >= 4) {
		h = oae_xxh64_rotate(h ^ get_unaligned_le32(p) * OAE_XXH64_P1,
				     23) * OAE_XXH64_P2 + OAE_XXH64_P3;
		n -= 4;
		p += 4;
	}
	for (; n; n--, p++)
		h = oae_xxh64_rotate(h ^ *p * OAE_XXH64_P5, 11) * OAE_XXH64_P1;
	h = (h ^ h >> 33) * OAE_XXH64_P2;
	h = (h ^ h >> 29) * OAE_XXH64_P3;
	return h ^ h >> 32;
}

/**
 * oae_xxh64() - hash contiguous data
 * @data: the data
 * @len: bytes
 * @seed: the seed
 *
 * Return: the hash.
 */
static __always_inline u64 oae_xxh64(const void *data, size_t len, u64 seed)
{
	u64 h = seed + OAE_XXH64_P5, acc[4];
	const u8 *p = data;

	if (len >= OAE_XXH64_STRIPE) {
		oae_xxh64_start(acc, seed);
		p = oae_xxh64_stripes(acc, p, len / OAE_XXH64_STRIPE);
		h = oae_xxh64_join(acc);
	}
	return oae_xxh64_finish(h + len, p, len % OAE_XXH64_STRIPE);
}

/**
 * oae_xxh64_begin() - begin to hash data that comes in pieces
 * @x: the hash
 * @seed: the seed
 */
static inline void oae_xxh64_begin(struct oae_xxh64 *x, u64 seed)
{
	oae_xxh64_start(x->acc, seed);
	x->seed = seed;
	x->total = 0;
}

/**
 * oae_xxh64_add() - hash the next piece
 * @x: the hash
 * @data: the piece
 * @len: bytes
 */
static inline void oae_xxh64_add(struct oae_xxh64 *x, const void *data, size_t len)
{
	unsigned int have = x->total % OAE_XXH64_STRIPE;
	const u8 *p = data;
	size_t n;

	x->total += len;
	if (have) {
		n = OAE_XXH64_STRIPE - have;
		if (n > len)
			n = len;
		memcpy(x->rest + have, p, n);
		p += n;
		len -= n;
		if (have + n < OAE_XXH64_STRIPE)
			return;
		oae_xxh64_stripes(x->acc, x->rest, 1);
	}
	p = oae_xxh64_stripes(x->acc, p, len / OAE_XXH64_STRIPE);
	memcpy(x->rest, p, len % OAE_XXH64_STRIPE);
}

/**
 * oae_xxh64_end() - the hash of all pieces
 * @x: the hash
 *
 * Return: the hash.
 */
static inline u64 oae_xxh64_end(const struct oae_xxh64 *x)
{
	u64 h = x->total < OAE_XXH64_STRIPE ? x->seed + OAE_XXH64_P5 :
					      oae_xxh64_join(x->acc);

	return oae_xxh64_finish(h + x->total, x->rest,
				x->total % OAE_XXH64_STRIPE);
}

#endif /* OAE_XXH64_H */
