// SPDX-License-Identifier: GPL-2.0
/*
 * The zone's Ethernet device: binding it, what happens to it, sending on it.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "../modoaeip.h"

static unsigned int ethertype = OAE_ETHERTYPE;

static int ethertype_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "0x%04x\n", ethertype);
}

static const struct kernel_param_ops ethertype_ops = {
	.set = param_set_uint,
	.get = ethertype_get,
};

module_param_cb(ethertype, &ethertype_ops, &ethertype, 0444);
MODULE_PARM_DESC(ethertype, "EtherType of the frames, at load (0x0600 to 0xffff, default 0x88b5)");

/* Let drivers that can leave room for the tunnel's headers before a frame. */
static void ask_headroom(struct net_device *dev)
{
	netdev_set_rx_headroom(dev, oaeip_tunnel_headroom());
}

/* Take the port off, if there is one; it keeps its device. */
static struct oaeip_port *port_unbind(struct oaeip_gw *gw)
{
	struct oaeip_port *port = rtnl_dereference(gw->port);

	ASSERT_RTNL();
	if (!port)
		return NULL;
	RCU_INIT_POINTER(gw->port, NULL);
	__dev_remove_pack(&port->pt);
	synchronize_net();	/* no frame in, none out any more */
	netdev_reset_rx_headroom(port->dev);
	return port;
}

static void port_free(struct oaeip_port *port)
{
	if (!port)
		return;
	dev_put(port->dev);
	kfree(port);
}

/**
 * oaeip_port_release() - let go of the zone's device, if there is one
 * @gw: the gateway; not serving
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_port_release(struct oaeip_gw *gw)
{
	port_free(port_unbind(gw));
}

/* May @dev be the zone's? */
static int port_check(const struct net_device *dev)
{
	if (!dev)
		return -ENODEV;
	if (dev->type != ARPHRD_ETHER || dev->addr_len != ETH_ALEN ||
	    dev->flags & IFF_LOOPBACK || oae_is_enslaved(dev) ||
	    dev->mtu < OAE_MIN_MTU + OAE_VIA_LEN)
		return -EINVAL;
	return 0;
}

static struct oaeip_port *port_make(struct oaeip_gw *gw,
				    struct net_device *dev)
{
	struct oaeip_port *port;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->gw = gw;
	port->dev = dev;
	port->pt.type = htons(ethertype);
	port->pt.dev = dev;
	port->pt.func = oaeip_zone_rcv;
	dev_hold(dev);
	return port;
}

/* Nothing that can fail: a device that was let go can be bound again. */
static void port_bind(struct oaeip_gw *gw, struct oaeip_port *port)
{
	if (!port)
		return;
	ask_headroom(port->dev);
	rcu_assign_pointer(gw->port, port);
	dev_add_pack(&port->pt);
}

/* Serve with another port, or none: the one before, or what could not be done. */
static int port_exchange(struct oaeip_gw *gw, struct oaeip_port **port)
{
	struct oaeip_port *old;

	oaeip_zone_halt(gw);
	old = port_unbind(gw);
	port_bind(gw, *port);
	*port = old;
	return oaeip_reconfigure(gw);
}

/**
 * oaeip_port_set() - use another device
 * @gw: the gateway
 * @name: of the device, "" for none
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0; -ENODEV: no such device; -EINVAL: not Ethernet, loopback, in a
 * bond or a bridge, or an MTU below OAE_MIN_MTU + OAE_VIA_LEN; -ENOMEM; or what
 * oaeip_reconfigure() said. The old device is in use then.
 */
int oaeip_port_set(struct oaeip_gw *gw, const char *name)
{
	struct net_device *old, *new = NULL;
	struct oaeip_port *port;
	int err = 0;

	rtnl_lock();
	port = rtnl_dereference(gw->port);
	old = port ? port->dev : NULL;
	if (*name) {
		new = __dev_get_by_name(gw->net, name);
		err = port_check(new);
	}
	if (err || new == old)
		goto out;
	port = new ? port_make(gw, new) : NULL;
	if (new && !port) {
		err = -ENOMEM;
		goto out;
	}
	err = port_exchange(gw, &port);
	if (err)
		port_exchange(gw, &port);
	port_free(port);
out:
	rtnl_unlock();
	return err;
}

/**
 * oaeip_port_print() - the name of the zone's device
 * @gw: the gateway
 * @buf: where to
 * @size: bytes there
 *
 * Context: process; takes RTNL.
 *
 * Return: characters written.
 */
int oaeip_port_print(struct oaeip_gw *gw, char *buf, size_t size)
{
	struct oaeip_port *port;
	int n = 0;

	rtnl_lock();
	port = rtnl_dereference(gw->port);
	if (port)
		n = scnprintf(buf, size, "%s", port->dev->name);
	rtnl_unlock();
	return n;
}

/**
 * oaeip_zone_xmit() - send a frame into the zone
 * @gw: the gateway
 * @skb: data at the base header; consumed
 * @dest: Ethernet destination
 *
 * Context: BH off, RCU read lock held.
 *
 * Return: 0; -ENETDOWN: no device; -EMSGSIZE: too long for it; -ENOMEM;
 * -ENOBUFS: it did not take the frame.
 */
int oaeip_zone_xmit(struct oaeip_gw *gw, struct sk_buff *skb, const u8 *dest)
{
	struct oaeip_port *port = rcu_dereference(gw->port);
	struct net_device *dev;
	int err = -ENETDOWN;

	if (!port || !netif_running(port->dev))
		goto drop;
	dev = port->dev;
	err = -EMSGSIZE;
	if (skb->len > READ_ONCE(dev->mtu))
		goto drop;
	err = -ENOMEM;
	if (skb_cow_head(skb, LL_RESERVED_SPACE(dev)))
		goto drop;
	skb->dev = dev;
	skb->tstamp = 0;	/* when it came in is not when it is to go */
	skb->protocol = port->pt.type;
	skb_reset_network_header(skb);
	err = -ENOBUFS;
	if (dev_hard_header(skb, dev, ethertype, dest, NULL, skb->len) < 0)
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

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct oaeip_gw *gw = oaeip_gw(dev_net(dev));
	struct oaeip_port *port;

	if (!gw || !READ_ONCE(gw->ready))
		return NOTIFY_DONE;
	port = rtnl_dereference(gw->port);
	if (!port || port->dev != dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_PRE_TYPE_CHANGE:	/* Ethernet no more, perhaps */
	case NETDEV_UNREGISTER:	/* moves to another namespace, or we unload */
		if (oaeip_says(gw, 0) &&
		    (event == NETDEV_PRE_TYPE_CHANGE ||
		     dev->reg_state == NETREG_UNREGISTERING))
			pr_warn("device %s is gone: standing by\n", dev->name);
		oaeip_zone_halt(gw);
		oaeip_port_release(gw);
		oaeip_reconfigure(gw);
		break;
	case NETDEV_CHANGEADDR:	/* nodes know the gateway by its address */
		oaeip_reconfigure(gw);
		break;
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		oaeip_control_refresh(gw);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

/**
 * oaeip_zonedev_init() - begin to watch net devices
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0; -EINVAL: the parameter ethertype; or -errno.
 */
int oaeip_zonedev_init(void)
{
	if (ethertype < ETH_P_802_3_MIN || ethertype > 0xffff) {
		pr_err("ethertype: 0x%x refused (%d): takes a number from 0x0600 to 0xffff\n",
		       ethertype, -EINVAL);
		return -EINVAL;
	}
	return register_netdevice_notifier(&netdev_nb);
}

/**
 * oaeip_zonedev_exit() - stop watching net devices
 *
 * Context: process, may sleep; takes RTNL. Every device is reported as
 * unregistered once more, so none is bound afterwards.
 */
void oaeip_zonedev_exit(void)
{
	unregister_netdevice_notifier(&netdev_nb);
}
