// SPDX-License-Identifier: GPL-2.0
/*
 * The zone's Ethernet device: which devices are accepted, and binding one. watch.c
 * follows its changes, net/xmit.c sends on it.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "zone.h"

static unsigned int ethertype = OAE_ETHERTYPE;

static int port_ethertype_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE, "0x%04x\n", ethertype);
}

static const struct kernel_param_ops ethertype_ops = {
	.set = param_set_uint,
	.get = port_ethertype_get,
};

module_param_cb(ethertype, &ethertype_ops, &ethertype, 0444);
MODULE_PARM_DESC(ethertype, "EtherType of the frames, at load (0x0600 to 0xffff, default 0x88b5)");

/* 0 if @dev may be the zone's device. */
static int port_check(struct net_device *dev)
{
	if (!dev)
		return -ENODEV;
	if (!oae_dev_is_ethernet(dev) || dev->flags & IFF_LOOPBACK || oae_is_enslaved(dev) ||
	    dev->mtu < OAE_MIN_MTU + OAE_VIA_LEN)
		return -EINVAL;
	return 0;
}

/**
 * oaeip_port_make() - allocate a port for a device, which is not bound yet
 * @gw: the gateway
 * @name: name of the device, "" for none
 * @port: set to the port, NULL for none
 *
 * Context: process, may sleep; RTNL held.
 *
 * Return: 0; -EALREADY: the gateway has this device already; -ENODEV: no such
 * device; -EINVAL: not Ethernet, loopback, in a bond or a bridge, or an MTU below
 * OAE_MIN_MTU + OAE_VIA_LEN; -ENOMEM.
 */
int oaeip_port_make(struct oaeip_gw *gw, const char *name,
		    struct oaeip_port **port)
{
	struct oaeip_port *old = rtnl_dereference(gw->port), *new;
	struct net_device *dev = NULL;
	int err;

	ASSERT_RTNL();
	*port = NULL;
	if (*name) {
		dev = __dev_get_by_name(gw->net, name);
		err = port_check(dev);
		if (err)
			return err;
	}
	if (dev == (old ? old->dev : NULL))
		return -EALREADY;
	if (!dev)
		return 0;
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	new->gw = gw;
	new->dev = dev;
	new->pt.type = htons(ethertype);
	new->pt.dev = dev;
	new->pt.func = oaeip_zone_rcv;
	dev_hold(dev);
	*port = new;
	return 0;
}

/**
 * oaeip_port_exchange() - unbind one port and bind another
 * @gw: the gateway; not serving
 * @port: the port to bind, NULL for none
 *
 * This cannot fail, so a port that was unbound can be bound again.
 *
 * Context: process, may sleep; RTNL held.
 *
 * Return: the previous port, which keeps its device; NULL: none.
 */
struct oaeip_port *oaeip_port_exchange(struct oaeip_gw *gw,
				       struct oaeip_port *port)
{
	struct oaeip_port *old = rtnl_dereference(gw->port);

	ASSERT_RTNL();
	if (old) {
		RCU_INIT_POINTER(gw->port, NULL);
		__dev_remove_pack(&old->pt);
		synchronize_net();	/* no frame is received or sent any more */
		netdev_reset_rx_headroom(old->dev);
	}
	if (port) {
		/* For drivers that can reserve headroom for the tunnel's headers. */
		netdev_set_rx_headroom(port->dev, oaeip_tunnel_headroom());
		rcu_assign_pointer(gw->port, port);
		dev_add_pack(&port->pt);
	}
	return old;
}

/**
 * oaeip_port_hush() - the kind of the zone's device is about to change
 * @gw: the gateway, with a port
 *
 * Meanwhile nothing is sent there: headers of another kind may be longer than the room for them.
 * That ends by itself, once RTNL is free: nobody says that the change is refused.
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_port_hush(struct oaeip_gw *gw)
{
	WRITE_ONCE(rtnl_dereference(gw->port)->mute, true);
	synchronize_net();
	oaeip_kick_reconf(gw);
}

/**
 * oaeip_port_hushed() - a change of kind is over: send again
 * @gw: the gateway
 *
 * Context: process; RTNL held.
 */
void oaeip_port_hushed(struct oaeip_gw *gw)
{
	struct oaeip_port *port = rtnl_dereference(gw->port);

	if (port)
		WRITE_ONCE(port->mute, false);
}

/**
 * oaeip_port_free() - free a port and release its device
 * @port: the port, not bound; NULL: nothing
 *
 * Context: process.
 */
void oaeip_port_free(struct oaeip_port *port)
{
	if (!port)
		return;
	dev_put(port->dev);
	kfree(port);
}

/**
 * oaeip_port_print() - print the name of the zone's device
 * @gw: the gateway
 * @buf: the buffer
 * @size: bytes at @buf
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: characters written; 0 without a device.
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
 * oaeip_port_init() - verify the parameter ethertype
 *
 * Context: process.
 *
 * Return: 0 or -EINVAL, which was logged.
 */
int oaeip_port_init(void)
{
	if (ethertype < ETH_P_802_3_MIN || ethertype > 0xffff) {
		pr_err("ethertype: 0x%x refused (%d): takes a number from 0x0600 to 0xffff\n",
		       ethertype, -EINVAL);
		return -EINVAL;
	}
	return 0;
}
