// SPDX-License-Identifier: GPL-2.0
/*
 * 6.12: that a device stays in its namespace is a member, and no feature; 6.15 renamed it, and
 * so did some 6.12.
 */
#include <linux/netdevice.h>

static void __maybe_unused test(struct net_device *dev)
{
#if OAE_FORM == 2
	dev->netns_immutable = true;
#elif OAE_FORM == 1
	dev->netns_local = true;
#else
	dev->features |= NETIF_F_NETNS_LOCAL;
#endif
}
