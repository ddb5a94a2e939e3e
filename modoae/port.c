// SPDX-License-Identifier: GPL-2.0
/*
 * Ports: net devices bound to the module, and what happens to a net device.
 *
 * How a port goes, whoever asks for it:
 *   1. `removed` is set: no new tag is made on it. If there is time (a user
 *	asked, the device lives), its links are closed gracefully meanwhile.
 *   2. `gone` is set, the packet handler removed. synchronize_net(): no frame
 *	is on its way in any more, and nobody that saw the port alive is still
 *	making a tag.
 *   3. Frames held for single-stepping are dropped, the tags are killed.
 *   4. synchronize_net(): nobody that saw a tag alive is still sending.
 *   5. The gateway is told, and the device let go. The port itself stays until
 *	the last tag does.
 * Steps 2 to 5 run under RTNL and never wait for a peer or a program.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "modoae.h"

#define OAE_MAX_PORTS_SET	64	/* names in one write to `dev` */

/* Adapters: the functions of event.c as oae_tags_for_each() calls them. */
static void oae_port_tag_kill(struct oae_tag *tag, long err)
{
	oae_tag_kill(tag, err);
}

static void oae_port_tag_close(struct oae_tag *tag, long unused)
{
	oae_tag_close(tag);
}

static void oae_port_tag_up(struct oae_tag *tag, long unused)
{
	oae_tag_port_up(tag);
}

static void oae_port_tag_down(struct oae_tag *tag, long unused)
{
	oae_tag_port_down(tag);
}

static void oae_port_tag_renamed(struct oae_tag *tag, long unused)
{
	oae_tag_renamed(tag);
}

static void oae_port_tag_mtu(struct oae_tag *tag, long unused)
{
	oae_tag_way(tag, NULL);
}

/**
 * oae_port_get() - take a reference to a port
 * @port: one that the caller has a reference to
 *
 * Context: any.
 *
 * Return: @port.
 */
struct oae_port *oae_port_get(struct oae_port *port)
{
	refcount_inc(&port->ref);
	return port;
}

/**
 * oae_port_put() - give a reference to a port back
 * @port: freed after RCU when it was the last
 *
 * Context: any.
 */
void oae_port_put(struct oae_port *port)
{
	if (refcount_dec_and_test(&port->ref))
		kfree_rcu(port, rcu);
}
EXPORT_SYMBOL_GPL(oae_port_put);

/**
 * oae_port_find() - find a port by name
 * @node: where
 * @name: of its device; "" or NULL for the first port
 *
 * Context: rcu_read_lock() or RTNL held. Ports on their way out are not found.
 *
 * Return: the port with a reference, or NULL.
 */
struct oae_port *oae_port_find(struct oae_node *node, const char *name)
{
	struct oae_port *port;

	list_for_each_entry_rcu(port, &node->ports, list,
				lockdep_rtnl_is_held()) {
		if (READ_ONCE(port->removed))
			continue;
		if (name && *name && strncmp(name, port->dev->name, IFNAMSIZ))
			continue;
		if (refcount_inc_not_zero(&port->ref))
			return port;
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(oae_port_find);

static struct oae_port *oae_port_of(struct oae_node *node,
				    const struct net_device *dev)
{
	struct oae_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &node->ports, list)
		if (port->dev == dev)
			return port;
	return NULL;
}

static bool oae_port_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev) &&
	       READ_ONCE(dev->mtu) >= OAE_MIN_MTU;
}

/* Tell the tags of a port once when it goes up or down. */
static void oae_port_set_up(struct oae_port *port, bool up)
{
	ASSERT_RTNL();
	if (port->up == up)
		return;
	port->up = up;
	oae_tags_for_each(port->node, port,
			  up ? oae_port_tag_up : oae_port_tag_down, 0);
}

static bool says(const struct oae_node *node)
{
	return READ_ONCE(node->knobs.verbose) && oae_may_log(node->net);
}

/* Why @dev cannot be a port of @node: 0 or an errno, and what could. */
static int oae_port_check(struct oae_node *node, const struct net_device *dev,
			  const char **accepted)
{
	*accepted = "takes a net device of this namespace";
	if (!dev)
		return -ENODEV;
	*accepted = "takes an Ethernet device, not loopback";
	if (dev->type != ARPHRD_ETHER || dev->addr_len != ETH_ALEN ||
	    dev->flags & IFF_LOOPBACK)
		return -EINVAL;
	*accepted = "takes a device with an MTU of at least "
		    __stringify(OAE_MIN_MTU);
	if (dev->mtu < OAE_MIN_MTU)
		return -EINVAL;
	*accepted = "takes a device that no bond, team or bridge has: bind that";
	if (oae_is_enslaved(dev))
		return -EINVAL;
	*accepted = "takes a device that is not bound yet";
	if (oae_port_of(node, dev))
		return -EEXIST;
	return 0;
}

static struct oae_port *oae_port_make(struct oae_node *node,
				      struct net_device *dev)
{
	struct oae_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	port->node = node;
	port->dev = dev;
	port->pt.type = htons(oae_ethertype);
	port->pt.dev = dev;
	port->pt.func = oae_rcv;
	port->mtu = dev->mtu;
	ether_addr_copy(port->addr, dev->dev_addr);
	refcount_set(&port->ref, 1);
	port->up = oae_port_is_up(dev);
	oae_path_init(port);
	return port;
}

/**
 * oae_port_add() - bind a net device to the module
 * @node: where
 * @name: of the device
 *
 * Context: process, may sleep; takes RTNL. Logs what is wrong.
 *
 * Return: 0; -ENODEV: no such device; -EINVAL: not Ethernet, its MTU is below
 * OAE_MIN_MTU, or it is in a bond or a bridge; -EEXIST: bound already; -ENOMEM.
 */
int oae_port_add(struct oae_node *node, const char *name)
{
	struct net_device *dev;
	struct oae_port *port;
	const char *accepted;
	int err;

	rtnl_lock();
	dev = __dev_get_by_name(node->net, name);
	err = oae_port_check(node, dev, &accepted);
	if (err) {
		oae_refuse("dev", name, err, accepted);
		goto out;
	}
	port = oae_port_make(node, dev);
	if (!port) {
		err = -ENOMEM;
		goto out;
	}
	dev_hold(dev);
	list_add_tail_rcu(&port->list, &node->ports);
	dev_add_pack(&port->pt);
	if (says(node))
		pr_info("port %s %pM bound\n", dev->name, dev->dev_addr);
out:
	rtnl_unlock();
	return err;
}

/* Steps 2 to 5 above. */
static void oae_port_detach(struct oae_port *port, int err)
{
	struct net_device *dev = port->dev;

	ASSERT_RTNL();
	WRITE_ONCE(port->removed, true);
	WRITE_ONCE(port->gone, true);
	list_del_rcu(&port->list);
	__dev_remove_pack(&port->pt);
	synchronize_net();

	oae_step_purge(port->node, port);
	oae_tags_for_each(port->node, port, oae_port_tag_kill, err);
	synchronize_net();

	oae_path_leave(port);
	wake_up_interruptible_all(&port->node->fresh_wait);
	if (says(port->node))
		pr_info("port %s released\n", dev->name);
	dev_put(dev);
	oae_port_put(port);
}

/**
 * oae_port_del() - release a device, its links first closed gracefully
 * @node: where
 * @name: of the device
 *
 * Context: process, may sleep; takes RTNL, but not while it waits, at most
 * linger_ms, for the links to close.
 *
 * Return: 0, or -ENODEV: not bound, logged.
 */
int oae_port_del(struct oae_node *node, const char *name)
{
	struct oae_port *port;

	rtnl_lock();
	port = oae_port_find(node, name);
	if (port)
		WRITE_ONCE(port->removed, true);
	rtnl_unlock();
	if (!port)
		return oae_refuse("dev", name, -ENODEV,
				  "releases a device that is bound");

	synchronize_net();	/* who saw it not removed has made its tag */
	oae_tags_for_each(node, port, oae_port_tag_close, 0);
	oae_tags_wait_gone(node, port, READ_ONCE(node->knobs.linger_ms));

	rtnl_lock();
	if (!port->gone)	/* the device may have gone meanwhile */
		oae_port_detach(port, OAE_E_CANCEL);
	rtnl_unlock();
	oae_port_put(port);
	return 0;
}

/**
 * oae_port_del_all() - release all devices of a node, at once
 * @node: where
 *
 * Context: process, may sleep; takes RTNL. Links that are still there are killed.
 */
void oae_port_del_all(struct oae_node *node)
{
	struct oae_port *port, *next;

	rtnl_lock();
	list_for_each_entry_safe(port, next, &node->ports, list)
		oae_port_detach(port, OAE_E_SHUTDOWN);
	rtnl_unlock();
}

/**
 * oae_ports_print() - the devices bound, comma-separated
 * @node: where
 * @buf: where to
 * @size: bytes there
 *
 * Context: any.
 *
 * Return: characters written.
 */
int oae_ports_print(struct oae_node *node, char *buf, size_t size)
{
	struct oae_port *port;
	int n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		if (!READ_ONCE(port->removed))
			n += scnprintf(buf + n, size - n, "%s%s",
				       n ? "," : "", port->dev->name);
	rcu_read_unlock();
	return n;
}

/* A write to `dev`, taken apart. */
struct oae_ports_change {
	char *name[OAE_MAX_PORTS_SET];
	char sign[OAE_MAX_PORTS_SET];	/* '+', '-', or 0: part of the set */
	unsigned int n;
	DECLARE_BITMAP(done, OAE_MAX_PORTS_SET);	/* bound by this */
};

static int oae_ports_parse(struct oae_ports_change *c, char *list)
{
	unsigned int i;
	char *item;

	if (!*list)
		return 0;
	while ((item = strsep(&list, ",")) != NULL) {
		char sign = 0;

		item = strim(item);
		if (*item == '+' || *item == '-')
			sign = *item++;
		if (c->n == OAE_MAX_PORTS_SET || !dev_valid_name(item))
			goto bad;
		if (c->n && !sign != !c->sign[0])
			goto bad;
		for (i = 0; i < c->n; i++)
			if (!strcmp(c->name[i], item))
				goto bad;
		c->sign[c->n] = sign;
		c->name[c->n++] = item;
	}
	return 0;
bad:
	return oae_refuse("dev", item, -EINVAL,
			  "takes a,b (these and no others) or +a,-b, each device once");
}

static bool oae_port_bound(struct oae_node *node, const char *name)
{
	struct oae_port *port;

	rcu_read_lock();
	port = oae_port_find(node, name);
	rcu_read_unlock();
	if (port)
		oae_port_put(port);
	return port;
}

/* Everything that can fail, undone again when something does. */
static int oae_ports_change_add(struct oae_node *node,
				struct oae_ports_change *c)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->n && !err; i++) {
		bool bound = oae_port_bound(node, c->name[i]);

		if (c->sign[i] == '-') {
			if (!bound)
				err = oae_refuse("dev", c->name[i], -ENODEV,
						 "releases a device that is bound");
			continue;
		}
		if (bound && !c->sign[i])
			continue;
		err = oae_port_add(node, c->name[i]);
		if (!err)
			__set_bit(i, c->done);
	}
	if (err)
		for_each_set_bit(i, c->done, OAE_MAX_PORTS_SET)
			oae_port_del(node, c->name[i]);
	return err;
}

/* A port that the list does not name; with a reference. */
static struct oae_port *oae_port_unnamed(struct oae_node *node,
					 const struct oae_ports_change *c)
{
	struct oae_port *port;
	unsigned int i;

	list_for_each_entry_rcu(port, &node->ports, list) {
		if (READ_ONCE(port->removed))
			continue;
		for (i = 0; i < c->n; i++)
			if (!strcmp(port->dev->name, c->name[i]))
				break;
		if (i == c->n && refcount_inc_not_zero(&port->ref))
			return port;
	}
	return NULL;
}

static void oae_ports_change_del(struct oae_node *node,
				 const struct oae_ports_change *c)
{
	char name[IFNAMSIZ];
	struct oae_port *port;
	unsigned int i;

	if (c->n && c->sign[0]) {
		for (i = 0; i < c->n; i++)
			if (c->sign[i] == '-')
				oae_port_del(node, c->name[i]);
		return;
	}
	for (;;) {
		rcu_read_lock();
		port = oae_port_unnamed(node, c);
		if (port)
			strscpy(name, port->dev->name, sizeof(name));
		rcu_read_unlock();
		if (!port)
			return;
		oae_port_put(port);
		oae_port_del(node, name);
	}
}

/**
 * oae_ports_set() - bind and release devices as a list says
 * @node: where
 * @list: `a,b`: these and no others; `+a,-b`: one more, one less. Written to.
 *
 * Context: process, may sleep; under kernel_param_lock, which keeps others from
 * changing the ports meanwhile (devices may still go away). All or nothing:
 * what was bound is released again when something cannot be. Logs what is
 * wrong.
 *
 * Return: 0; -EINVAL: not such a list; else what oae_port_add() returned, or
 * -ENODEV for a device to release that is not bound.
 */
int oae_ports_set(struct oae_node *node, char *list)
{
	struct oae_ports_change *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return -ENOMEM;
	err = oae_ports_parse(c, list);
	if (!err)
		err = oae_ports_change_add(node, c);
	if (!err)
		oae_ports_change_del(node, c);
	kfree(c);
	return err;
}

static void oae_port_mtu(struct oae_port *port)
{
	unsigned int mtu = port->dev->mtu;

	WRITE_ONCE(port->mtu, mtu);
	if (mtu >= OAE_MIN_MTU)
		oae_tags_for_each(port->node, port, oae_port_tag_mtu, 0);
	else if (oae_may_log(port->node->net))
		pr_err_ratelimited("port %s: MTU %u is too small, the port is down until it is at least %u\n",
				   port->dev->name, mtu, OAE_MIN_MTU);
	oae_port_set_up(port, oae_port_is_up(port->dev));
}

/* The links meet again under the new address. */
static void oae_port_address(struct oae_port *port)
{
	if (ether_addr_equal(port->addr, port->dev->dev_addr))
		return;
	ether_addr_copy(port->addr, port->dev->dev_addr);
	oae_tags_for_each(port->node, port, oae_port_tag_renamed, 0);
	oae_path_announce(port);
}

/* Its gateway shall not go on sending to the old one. */
static void oae_port_address_before(struct oae_port *port, const u8 *addr)
{
	if (!ether_addr_equal(port->dev->dev_addr, addr))
		oae_path_leave(port);
}

static int oae_netdev_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct oae_node *node = oae_node(dev_net(dev));
	struct oae_port *port;

	/* A new namespace gets its loopback before it gets a node. */
	port = node ? oae_port_of(node, dev) : NULL;
	if (!port)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		oae_port_set_up(port, oae_port_is_up(dev));
		break;
	case NETDEV_DOWN:
		oae_port_set_up(port, false);
		break;
	case NETDEV_CHANGEMTU:
		oae_port_mtu(port);
		break;
	case NETDEV_PRE_CHANGEADDR:
		oae_port_address_before(port,
					((struct netdev_notifier_pre_changeaddr_info *)
					 ptr)->dev_addr);
		break;
	case NETDEV_CHANGEADDR:
		oae_port_address(port);
		break;
	case NETDEV_PRE_TYPE_CHANGE:	/* Ethernet no more, perhaps */
	case NETDEV_UNREGISTER:	/* also when it moves to another namespace */
		oae_port_detach(port, OAE_E_CANCEL);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block oae_netdev_nb = {
	.notifier_call = oae_netdev_event,
};

/**
 * oae_port_init() - begin to watch net devices
 *
 * Context: process, may sleep; takes RTNL. The nodes must be there.
 *
 * Return: 0 or -errno.
 */
int oae_port_init(void)
{
	return register_netdevice_notifier(&oae_netdev_nb);
}

/**
 * oae_port_exit() - stop watching net devices
 *
 * Context: process, may sleep; takes RTNL. Every device is reported as
 * unregistered once more, so no port is left; nothing may bind one any more.
 */
void oae_port_exit(void)
{
	unregister_netdevice_notifier(&oae_netdev_nb);
}
