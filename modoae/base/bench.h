/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that the benchmark modules (tests/bench) call are exported only
 * if built with -DOAE_BENCH. A released module exports nothing.
 */
#ifndef OAE_BENCH_H
#define OAE_BENCH_H

#include <linux/build_bug.h>
#include <linux/export.h>

#ifdef OAE_BENCH
#define EXPORT_SYMBOL_FOR_BENCH(_sym)	EXPORT_SYMBOL_GPL(_sym)
#else
#define EXPORT_SYMBOL_FOR_BENCH(_sym)	static_assert(true)
#endif

#endif /* OAE_BENCH_H */
