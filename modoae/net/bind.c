// SPDX-License-Identifier: GPL-2.0
/*
 * A net device becomes a port: which may be one, and what a port begins with.
 *
 * `dev=*` makes every device a port that may be one, as soon as it may, and releases it
 * when it may no more. RTNL and node->knob_lock are held to change that.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "net.h"

/**
 * oae_port_of_dev() - the port that a device is
 * @node: the node
 * @dev: a device; NULL is none
 *
 * Context: under RTNL.
 *
 * Return: the port, also one that is marked `removed`; or NULL.
 */
struct oae_port *oae_port_of_dev(struct oae_node *node,
				 const struct net_device *dev)
{
	struct oae_port *port;

	ASSERT_RTNL();
	port = xa_load(&node->by_dev, dev->ifindex);
	return port && port->dev == dev ? port : NULL;
}

/**
 * oae_dev_is_up() - can frames be sent by a device?
 * @dev: the device
 *
 * Context: any.
 *
 * Return: true if it runs, has a carrier, and an MTU of at least OAE_MIN_MTU.
 */
bool oae_dev_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev) &&
	       READ_ONCE(dev->mtu) >= OAE_MIN_MTU;
}

/**
 * oae_dev_check() - may a device become a port?
 * @node: the node
 * @dev: the device; NULL: there is none of that name
 * @accepted: what may, as oae_refuse() takes it
 *
 * Context: under RTNL.
 *
 * Return: 0; -ENODEV no device; -EINVAL not Ethernet, or without an address, or its MTU is below
 * OAE_MIN_MTU, or it is in a bond or a bridge; -EEXIST it is a port already.
 */
int oae_dev_check(struct oae_node *node, struct net_device *dev,
		  const char **accepted)
{
	*accepted = "there is no such net device in this network namespace";
	if (!dev)
		return -ENODEV;
	*accepted = "takes an Ethernet device, not loopback";
	if (!oae_dev_is_ethernet(dev) || dev->flags & IFF_LOOPBACK)
		return -EINVAL;
	/* Else it is the id of the node, and that of others with such a device. */
	*accepted = "has no address, like gretap0: give it one";
	if (!is_valid_ether_addr(dev->dev_addr))
		return -EINVAL;
	*accepted = "takes a device with an MTU of at least "
		    __stringify(OAE_MIN_MTU);
	if (dev->mtu < OAE_MIN_MTU)
		return -EINVAL;
	*accepted = "is in a bond, team or bridge: bind that instead";
	if (oae_is_enslaved(dev))
		return -EINVAL;
	*accepted = "is a port already";
	if (oae_port_of_dev(node, dev))
		return -EEXIST;
	return 0;
}

static struct oae_port *bind_port_make(struct oae_node *node, struct net_device *dev)
{
	struct oae_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);

	if (!port)
		return NULL;
	port->node = node;
	port->dev = dev;
	INIT_LIST_HEAD(&port->changed);
	port->pt.type = htons(oae_ethertype);
	port->pt.dev = dev;
	port->pt.func = oae_rcv;
	port->mtu = dev->mtu;
	memcpy(port->name, dev->name, IFNAMSIZ);
	ether_addr_copy(port->addr, dev->dev_addr);
	refcount_set(&port->ref, 1);
	spin_lock_init(&port->doubt_lock);
	INIT_LIST_HEAD(&port->doubt);
	port->up = oae_dev_is_up(dev);
	port->udp = oae_udp_text(dev);
	oae_port_way_init(port);
	return port;
}

/**
 * oae_dev_bind() - bind a device
 * @node: the node, with all that it needs for a port
 * @dev: the device; oae_dev_check() says that it may be a port
 *
 * Context: process, may sleep; under RTNL.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_dev_bind(struct oae_node *node, struct net_device *dev)
{
	struct oae_port *port = bind_port_make(node, dev);

	if (!port)
		return -ENOMEM;
	if (oae_port_index(port))
		goto free;
	if (xa_insert(&node->by_dev, dev->ifindex, port, GFP_KERNEL_ACCOUNT))
		goto unindex;
	dev_hold(dev);
	oae_node_first_port(node, dev->dev_addr);
	list_add_tail_rcu(&port->list, &node->ports);
	dev_add_pack(&port->pt);
	oae_news_port(port, "bound");
	oae_announce_port(port);
	if (oae_node_says(node))
		pr_info("port %s %pM bound\n", dev->name, dev->dev_addr);
	return 0;

unindex:
	oae_port_unindex(port);
free:
	/* It may have been found by its address. */
	kfree_rcu(port, rcu);
	return -ENOMEM;
}

/**
 * oae_node_but() - is a name one of those that `*` leaves out?
 * @node: the node
 * @name: of a device
 *
 * Context: process; under RTNL or node->knob_lock.
 *
 * Return: its place among them; node->nbut: it is none of them.
 */
unsigned int oae_node_but(const struct oae_node *node, const char *name)
{
	unsigned int i;

	for (i = 0; i < node->nbut; i++)
		if (!strncmp(node->but[i], name, IFNAMSIZ))
			break;
	return i;
}

/**
 * oae_dev_follow() - bind or release a device as `*` has it, now that it has come or changed
 * @node: the node, with `every` set
 * @dev: the device
 *
 * Without memory it is bound by its next change. UDP ports are bound and released by name.
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 *
 * Return: true if it is bound.
 */
bool oae_dev_follow(struct oae_node *node, struct net_device *dev)
{
	struct oae_port *port = oae_port_of_dev(node, dev);
	bool wanted = oae_node_but(node, dev->name) == node->nbut;
	const char *accepted;
	LIST_HEAD(going);

	if (oae_udp_is(dev))
		return false;
	if (!port && wanted && dev->reg_state == NETREG_REGISTERED &&
	    !oae_dev_check(node, dev, &accepted)) {
		if (!oae_dev_bind(node, dev))
			return true;
		if (oae_may_log(node->net))
			pr_err_ratelimited("port %s: no memory to bind it\n", dev->name);
	} else if (port && !port->removed && (!wanted || oae_is_enslaved(dev))) {
		list_add(&port->going, &going);
		oae_ports_detach(&going, OAE_E_CANCEL);
	}
	return false;
}
