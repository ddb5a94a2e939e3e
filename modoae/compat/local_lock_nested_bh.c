// SPDX-License-Identifier: GPL-2.0
/* 6.11: with PREEMPT_RT, BH off is no lock any more. */
#include <linux/local_lock.h>
#include <linux/percpu.h>

struct spares {
	local_lock_t lock;
};

static struct spares __percpu *spares;

static void __maybe_unused test(void)
{
#if OAE_FORM
	local_lock_nested_bh(&spares->lock);
	local_unlock_nested_bh(&spares->lock);
#else
	local_lock(&spares->lock);
	local_unlock(&spares->lock);
#ifdef local_lock_nested_bh
#error "there already"
#endif
#endif
}
