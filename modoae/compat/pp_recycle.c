// SPDX-License-Identifier: GPL-2.0
/* 5.15: the head of an skb may be of a page pool, with CONFIG_PAGE_POOL. */
#include <linux/skbuff.h>

static bool __maybe_unused test(const struct sk_buff *skb)
{
#if OAE_FORM
	return skb->pp_recycle;
#else
	return skb->len;
#endif
}
