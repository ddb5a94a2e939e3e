// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their sums, names and descriptions. The table is counters.h.
 */

#include <linux/cpumask.h>

#include "base.h"

struct oae_stat_desc {
	const char *name;
	const char *text;
};

/* The order is that of enum oae_stat. */
static const struct oae_stat_desc oae_stat_desc[] = {
#define OAE_COUNTER(_id, _name, _text) { _name, _text },
#include "counters.h"
#define OAE_CAUSE(_id, _name, _text) { _name, _text },
#include "../link/causes.h"
#define OAE_NOTE(_id, _name, _text) { "note_" _name, _text },
#include "../link/notes.h"
};

/**
 * oae_stats_make() - make the counters of a node, if there are none
 * @node: the node; nothing is counted before its first port is bound
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_stats_make(struct oae_node *node)
{
	struct oae_stats __percpu *stats;

	if (node->stats)
		return 0;
	stats = alloc_percpu_gfp(struct oae_stats, GFP_KERNEL_ACCOUNT);
	if (!stats)
		return -ENOMEM;
	/* Publishes the zeroed counters. Pairs with the acquire in oae_stat_read(). */
	smp_store_release(&node->stats, stats);
	return 0;
}

/**
 * oae_stat_read() - the value of a counter
 * @node: the node
 * @stat: enum oae_stat, or one of its OAE_S_BAD and OAE_S_NOTE ranges
 *
 * Context: any.
 *
 * Return: the sum over all CPUs, which may count meanwhile.
 */
u64 oae_stat_read(const struct oae_node *node, unsigned int stat)
{
	/* Pairs with the smp_store_release() in oae_stats_make(). */
	struct oae_stats __percpu *stats = smp_load_acquire(&node->stats);
	u64 sum = 0;
	int cpu;

	if (!stats)
		return 0;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->v[stat]);
	return sum;
}

/**
 * oae_stat_name() - the name of a counter, for programs
 * @stat: less than OAE_STAT_END
 *
 * Context: any.
 *
 * Return: a stable name in snake_case.
 */
const char *oae_stat_name(unsigned int stat)
{
	BUILD_BUG_ON(ARRAY_SIZE(oae_stat_desc) != OAE_STAT_END);
	return oae_stat_desc[stat].name;
}

/**
 * oae_stat_text() - the description of a counter, for people
 * @stat: less than OAE_STAT_END
 *
 * Context: any.
 *
 * Return: one line without the newline.
 */
const char *oae_stat_text(unsigned int stat)
{
	return oae_stat_desc[stat].text;
}
