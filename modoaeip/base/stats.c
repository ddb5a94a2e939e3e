// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: sums, names for programs, descriptions for people. The table is
 * counters.h.
 */

#include <linux/cpumask.h>

#include "base.h"

struct oaeip_stat_desc {
	const char *name;
	const char *text;
};

static const struct oaeip_stat_desc oaeip_stat_desc[] = {
#define OAEIP_COUNTER(_id, _name, _text) { _name, _text },
#include "counters.h"
};

/**
 * oaeip_stat_read() - the value of a counter
 * @gw: the gateway
 * @stat: enum oaeip_stat
 *
 * The per-CPU values are summed while CPUs go on counting.
 *
 * Context: any.
 *
 * Return: the sum over all CPUs.
 */
u64 oaeip_stat_read(const struct oaeip_gw *gw, unsigned int stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(gw->stats, cpu)->v[stat]);
	return sum;
}

/**
 * oaeip_stat_name() - the name of a counter, for programs
 * @stat: below OAEIP_STAT_END
 *
 * Context: any.
 *
 * Return: a stable name in snake_case.
 */
const char *oaeip_stat_name(unsigned int stat)
{
	BUILD_BUG_ON(ARRAY_SIZE(oaeip_stat_desc) != OAEIP_STAT_END);
	return oaeip_stat_desc[stat].name;
}

/**
 * oaeip_stat_text() - the description of a counter, for people
 * @stat: below OAEIP_STAT_END
 *
 * Context: any.
 *
 * Return: one line without a line feed.
 */
const char *oaeip_stat_text(unsigned int stat)
{
	return oaeip_stat_desc[stat].text;
}
