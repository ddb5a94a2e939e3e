// SPDX-License-Identifier: GPL-2.0
/* 6.12: what a frame refers to may be a device's memory, which is no page. */
#include <linux/skbuff.h>

#if !OAE_FORM
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

static bool __maybe_unused test(const struct sk_buff *skb)
{
	return skb_frags_readable(skb);
}
