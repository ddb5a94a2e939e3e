// SPDX-License-Identifier: GPL-2.0
/* 6.12: unaligned.h has moved. */
#if OAE_FORM
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

static u16 __maybe_unused test(const void *p)
{
	return get_unaligned_be16(p);
}
