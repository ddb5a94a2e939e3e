/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers of both modules for net devices, received frames and namespaces. */
#ifndef OAE_NETDEV_H
#define OAE_NETDEV_H

#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

/*
 * Was a unicast frame sent to the device's own address? PACKET_HOST alone does
 * not say so: a bridge also gets the frames for its ports, and a VLAN device with
 * an address of its own those for the device below. True for all other frames,
 * such as broadcasts.
 */
static inline bool oae_for_address(const struct sk_buff *skb,
				   const struct net_device *dev)
{
	return skb->pkt_type != PACKET_HOST ||
	       ether_addr_equal(eth_hdr(skb)->h_dest, dev->dev_addr);
}

/* Do a device's frames have Ethernet headers? Under RTNL. */
static inline bool oae_dev_is_ethernet(const struct net_device *dev)
{
	return dev->type == ARPHRD_ETHER && dev->addr_len == ETH_ALEN;
}

/*
 * Does a master device take all frames received here? Under RTNL. A device that leaves
 * a bridge says so while it is still marked as a port of one.
 */
static inline bool oae_is_enslaved(struct net_device *dev)
{
	return (netif_is_lag_port(dev) || netif_is_bridge_port(dev) ||
		netif_is_ovs_port(dev)) &&
	       netdev_master_upper_dev_get(dev);
}

/*
 * Does the namespace belong to another user namespace than the machine's own? Any user can create
 * such a one, be root there, and have as many.
 */
static inline bool oae_net_is_users(const struct net *net)
{
	return net->user_ns != &init_user_ns;
}

/*
 * May events of this namespace go to the kernel log? Not if the namespace belongs
 * to another user namespace, which any user can create: the kernel log belongs to
 * the machine. Counters and event log have these events, too.
 */
static inline bool oae_may_log(const struct net *net)
{
	return !oae_net_is_users(net);
}

/* May requests of the current task go to the kernel log? Context: process. */
static inline bool oae_may_log_current(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
}

#endif /* OAE_NETDEV_H */
