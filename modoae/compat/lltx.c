// SPDX-License-Identifier: GPL-2.0
/* 6.12: that a device needs no lock to send is a member, and no feature. */
#include <linux/netdevice.h>

static void __maybe_unused test(struct net_device *dev)
{
#if OAE_FORM
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
}
