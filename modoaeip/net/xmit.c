// SPDX-License-Identifier: GPL-2.0
/* Sending into the zone. */

#include "net.h"

/**
 * oaeip_zone_xmit() - send a frame into the zone
 * @gw: the gateway
 * @skb: data at the base header; consumed
 * @dest: Ethernet destination address
 *
 * A frame that is not sent is counted.
 *
 * Context: softirq, or process with BH off; RCU read lock held.
 *
 * Return: 0; -ENETDOWN: no device, or it is down; -EMSGSIZE: longer than the
 * device's MTU; -ENOMEM; -ENOBUFS: the device did not take the frame.
 */
int oaeip_zone_xmit(struct oaeip_gw *gw, struct sk_buff *skb, const u8 *dest)
{
	struct oaeip_port *port = rcu_dereference(gw->port);
	struct net_device *dev;
	int err = -ENETDOWN;

	if (!port || READ_ONCE(port->mute) || !netif_running(port->dev))
		goto drop;
	dev = port->dev;
	err = -EMSGSIZE;
	if (skb->len > READ_ONCE(dev->mtu))
		goto drop;
	err = -ENOMEM;
	if (skb_cow_head(skb, LL_RESERVED_SPACE(dev)))
		goto drop;
	skb->dev = dev;
	skb->tstamp = 0;	/* the time of arrival is no departure time */
	skb->protocol = port->pt.type;
	skb_reset_network_header(skb);
	err = -ENOBUFS;
	if (dev_hard_header(skb, dev, ntohs(port->pt.type), dest, NULL,
			    skb->len) < 0)
		goto drop;
	if (dev_queue_xmit(skb) != NET_XMIT_SUCCESS)
		goto count;
	oaeip_count(gw, OAEIP_S_ZONE_TX);
	return 0;
drop:
	kfree_skb(skb);
count:
	oaeip_count(gw, err == -ENOMEM ? OAEIP_S_NO_MEMORY :
		    err == -EMSGSIZE ? OAEIP_S_TOO_BIG : OAEIP_S_TX_ERRORS);
	return err;
}
