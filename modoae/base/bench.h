/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that the benchmark modules (tests/bench) call are exported, and what
 * they measure is noted, only if built with -DOAE_BENCH. A released module exports
 * nothing.
 */
#ifndef OAE_BENCH_H
#define OAE_BENCH_H

#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/types.h>

/**
 * struct oae_bench_msg - the benchmark's view of a message
 * @told: called when the outcome is told; softirq, no lock held
 * @t_end: local_clock() when the outcome was known
 */
struct oae_bench_msg {
#ifdef OAE_BENCH
	void (*told)(struct oae_bench_msg *msg, bool committed);
	u64 t_end;
#endif
};

#ifdef OAE_BENCH
#define EXPORT_SYMBOL_FOR_BENCH(_sym)	EXPORT_SYMBOL_GPL(_sym)

static inline void oae_bench_ended(struct oae_bench_msg *msg, u64 now)
{
	msg->t_end = now;
}

/* True: it is a message of the benchmark, and nobody else waits for it. */
static inline bool oae_bench_told(struct oae_bench_msg *msg, bool committed)
{
	if (!msg->told)
		return false;
	msg->told(msg, committed);
	return true;
}
#else
#define EXPORT_SYMBOL_FOR_BENCH(_sym)	static_assert(true)

static inline void oae_bench_ended(struct oae_bench_msg *msg, u64 now) { }
static inline bool oae_bench_told(struct oae_bench_msg *msg, bool committed)
{
	return false;
}
#endif

#endif /* OAE_BENCH_H */
