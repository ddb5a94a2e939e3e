// SPDX-License-Identifier: GPL-2.0
/* 6.2: timer_delete_sync(); 6.15 removed its older name. */
#include <linux/timer.h>

static void __maybe_unused test(struct timer_list *timer)
{
#if OAE_FORM
	timer_delete_sync(timer);
#else
	del_timer_sync(timer);
#endif
}
