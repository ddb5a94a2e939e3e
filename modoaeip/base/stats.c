// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their sums, their names for programs, their meaning for people. The
 * table is counters.h.
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
 * @gw: whose
 * @stat: enum oaeip_stat
 *
 * Context: any. The processors are summed without stopping them.
 *
 * Return: the sum over all processors.
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
 * @stat: less than OAEIP_STAT_END
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
 * oaeip_stat_text() - what a counter counts, for people
 * @stat: less than OAEIP_STAT_END
 *
 * Context: any.
 *
 * Return: one line without its end.
 */
const char *oaeip_stat_text(unsigned int stat)
{
	return oaeip_stat_desc[stat].text;
}
