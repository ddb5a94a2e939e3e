/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dice. A stream each for the wire, the workload, fate and the core, so that
 * what one of them draws does not change what the others do. Whole numbers
 * only: the same on every machine, at every level of optimisation.
 */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include "oae_types.h"

struct rng {
	u64 s;
};

/* xorshift64*; the upper bits are the good ones. */
static inline u64 rng_next(struct rng *r)
{
	r->s ^= r->s << 13;
	r->s ^= r->s >> 7;
	r->s ^= r->s << 17;
	return r->s * 0x2545f4914f6cdd1dULL;
}

static inline u32 rng_u32(struct rng *r)
{
	return rng_next(r) >> 32;
}

/* 0 to n - 1; 0 if n is 0. */
static inline u64 rng_below(struct rng *r, u64 n)
{
	return (__uint128_t)rng_next(r) * n >> 64;
}

/* A chance in parts of 2^32. */
static inline bool rng_chance(struct rng *r, u64 chance)
{
	return chance && rng_u32(r) < chance;
}

static inline void rng_seed(struct rng *r, u64 seed, unsigned int stream)
{
	u64 z = oae_xxh64(&seed, sizeof(seed), stream);

	r->s = z ? z : 1;
}

/*
 * Exponentially distributed, for events that come at a mean interval. Von
 * Neumann's way: it compares random numbers and needs no logarithm, whose last
 * digit could be another elsewhere.
 */
static inline u64 rng_interval(struct rng *r, u64 mean)
{
	u64 whole = 0;

	for (;;) {
		u32 first = rng_u32(r), last = first, v;
		unsigned int n = 1;

		while ((v = rng_u32(r)) < last) {
			last = v;
			n++;
		}
		if (n & 1)
			return ((__uint128_t)mean *
				(whole << 32 | first)) >>
			       32;
		whole++;
	}
}

#endif /* SIM_RNG_H */
