// SPDX-License-Identifier: GPL-2.0
/* 5.15: eth_hw_addr_set(); 5.17: nothing else may write the address. */
#include <linux/etherdevice.h>

static void __maybe_unused test(struct net_device *dev, const u8 *mac)
{
#if OAE_FORM
	eth_hw_addr_set(dev, mac);
#else
	ether_addr_copy(dev->dev_addr, mac);
#endif
}
