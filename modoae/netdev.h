/* SPDX-License-Identifier: GPL-2.0 */
/* What both modules ask of net devices, and of frames that came in. */
#ifndef OAE_NETDEV_H
#define OAE_NETDEV_H

#include <linux/etherdevice.h>
#include <linux/netdevice.h>

/*
 * Was a frame sent to the very address of the device? PACKET_HOST alone does not
 * say so: a bridge has the frames for the devices in it, a VLAN with an address
 * of its own those for the device below it. Others, broadcasts among them: true.
 */
static inline bool oae_for_address(const struct sk_buff *skb,
				   const struct net_device *dev)
{
	return skb->pkt_type != PACKET_HOST ||
	       ether_addr_equal(eth_hdr(skb)->h_dest, dev->dev_addr);
}

/* Does another device have all that comes in here? RTNL. */
static inline bool oae_is_enslaved(const struct net_device *dev)
{
	return netif_is_lag_port(dev) || netif_is_bridge_port(dev) ||
	       netif_is_ovs_port(dev);
}

#endif /* OAE_NETDEV_H */
