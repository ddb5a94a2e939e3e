// SPDX-License-Identifier: GPL-2.0
/* 5.17: pde_data() was called PDE_DATA(). */
#include <linux/proc_fs.h>

static void __maybe_unused *test(struct inode *inode)
{
#if OAE_FORM
	return pde_data(inode);
#else
	return PDE_DATA(inode);
#endif
}
