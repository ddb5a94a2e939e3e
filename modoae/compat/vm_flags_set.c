// SPDX-License-Identifier: GPL-2.0
/* 6.3: vm_flags_set(), and nothing else may write the flags. */
#include <linux/mm.h>

static void __maybe_unused test(struct vm_area_struct *vma)
{
#if OAE_FORM
	vm_flags_set(vma, VM_DONTEXPAND);
#else
	vma->vm_flags |= VM_DONTEXPAND;
#endif
}
