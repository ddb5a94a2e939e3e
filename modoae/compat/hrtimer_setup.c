// SPDX-License-Identifier: GPL-2.0
/* 6.13: hrtimer_setup() takes the function, too; 6.15 removed hrtimer_init(). */
#include <linux/hrtimer.h>

static void __maybe_unused test(struct hrtimer *timer,
				enum hrtimer_restart (*fn)(struct hrtimer *))
{
#if OAE_FORM
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = fn;
#endif
}
