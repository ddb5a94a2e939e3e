// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel says of net devices: ports go up and down, get another MTU, name or address, and
 * go (release.c).
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>

#include "net.h"

/* Tell the tags of a port that it went up or down, once for each change. */
static void netdev_port_set_up(struct oae_port *port, bool up)
{
	ASSERT_RTNL();
	if (port->up == up)
		return;
	WRITE_ONCE(port->up, up);
	oae_news_port(port, up ? "up" : "down");
	if (up)
		oae_announce_port(port);
	oae_change_add(port, OAE_CHANGE_STATE);
	oae_changes_tell(port->node);
}

static void netdev_port_mtu(struct oae_port *port)
{
	unsigned int mtu = port->dev->mtu;

	WRITE_ONCE(port->mtu, mtu);
	oae_announce_port(port);
	oae_change_add(port, OAE_CHANGE_MTU);
	oae_changes_tell(port->node);
	if (mtu < OAE_MIN_MTU && oae_may_log(port->node->net))
		pr_err_ratelimited("port %s: MTU %u is too small, the port is down until it is at least %u\n",
				   port->dev->name, mtu, OAE_MIN_MTU);
	netdev_port_set_up(port, oae_dev_is_up(port->dev));
}

static void netdev_port_address(struct oae_port *port)
{
	if (ether_addr_equal(port->addr, port->dev->dev_addr))
		return;
	oae_change_add(port, OAE_CHANGE_ADDRESS);
	oae_changes_tell(port->node);
}

/*
 * The port's address may be about to change: settle the links for a bounded time, since
 * the peers will take the new address for another end (protocol 4.5). That ends by itself if
 * the change is refused; nothing else may happen here.
 */
static void netdev_port_address_before(struct oae_port *port, const u8 *addr)
{
	u64 us = 2ULL * READ_ONCE(port->node->knobs.stall_max_us);

	if (ether_addr_equal(port->dev->dev_addr, addr))
		return;
	/* RTNL is global: root of a user namespace must not hold it for long. */
	us = min_t(u64, us, !oae_net_is_users(port->node->net) ?
				    USEC_PER_SEC : 20 * USEC_PER_MSEC);
	if (port->up)
		oae_port_settle(port, us);
}

/* Can a device be one for `*` after this, or no more? */
static bool netdev_may_follow(unsigned long event)
{
	return event == NETDEV_REGISTER || event == NETDEV_CHANGENAME ||
	       event == NETDEV_CHANGEMTU || event == NETDEV_CHANGEUPPER ||
	       event == NETDEV_POST_TYPE_CHANGE || event == NETDEV_UP ||
	       event == NETDEV_CHANGEADDR;
}

static int oae_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct oae_node *node = oae_node(dev_net(dev));
	struct oae_port *port;
	LIST_HEAD(going);

	/* A new namespace registers its loopback before it has a node. */
	if (!node)
		return NOTIFY_DONE;
	if (node->every && netdev_may_follow(event))
		oae_dev_follow(node, dev);
	port = oae_port_of_dev(node, dev);
	if (!port)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		netdev_port_set_up(port, oae_dev_is_up(dev));
		break;
	case NETDEV_GOING_DOWN:	/* also before it is deleted; frames can still be sent */
		oae_doubt_leave(port, oae_doubt_until());
		break;
	case NETDEV_DOWN:
		netdev_port_set_up(port, false);
		oae_doubt_stays(port);
		break;
	case NETDEV_CHANGENAME:
		memcpy(port->name, dev->name, IFNAMSIZ);
		break;
	case NETDEV_CHANGEMTU:
		netdev_port_mtu(port);
		break;
	case NETDEV_PRE_CHANGEADDR:
		netdev_port_address_before(port,
					   ((struct netdev_notifier_pre_changeaddr_info *)
					    ptr)->dev_addr);
		break;
	case NETDEV_CHANGEADDR:
		netdev_port_address(port);
		break;
	case NETDEV_PRE_TYPE_CHANGE:	/* Ethernet no more, perhaps; or that is refused */
		oae_port_hush(port);
		break;
	case NETDEV_POST_TYPE_CHANGE:
		if (oae_dev_is_ethernet(dev))
			break;
		fallthrough;
	case NETDEV_UNREGISTER:	/* also when it moves to another namespace */
		list_add(&port->going, &going);
		oae_ports_detach(&going, OAE_E_CANCEL);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * The nodes must exist before it is registered. When it is unregistered the kernel
 * reports every device as unregistered once more, so no port is left; the parameters
 * must be stopped before, so that no new one is bound.
 */
struct notifier_block oae_netdev_nb = {
	.notifier_call = oae_netdev_event,
};
