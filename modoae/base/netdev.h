/* SPDX-License-Identifier: GPL-2.0 */
/* What both modules ask of net devices, of frames that came in, of namespaces. */
#ifndef OAE_NETDEV_H
#define OAE_NETDEV_H

#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

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

/*
 * The kernel log is the machine's. What happens in a namespace whose owner is not
 * the machine's administrator is in counters and event log only: anybody may make
 * a user namespace and be root of such ones.
 */
static inline bool oae_may_log(const struct net *net)
{
	return net->user_ns == &init_user_ns;
}

/* The same of who asks for something right now. Context: process. */
static inline bool oae_may_log_current(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

#endif /* OAE_NETDEV_H */
