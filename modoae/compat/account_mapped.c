// SPDX-License-Identifier: GPL-2.0
/*
 * 5.11: pages charged to a memory cgroup may be mapped to user space. Before, the charge was
 * the page's type, which is where the page's mappings are counted.
 */
#include <linux/mm.h>

static int __maybe_unused test(void)
{
#if !OAE_FORM
	return PG_kmemcg;
#elif defined(PG_kmemcg)
#error "a page type"
#else
	return 0;
#endif
}
