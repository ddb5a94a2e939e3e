// SPDX-License-Identifier: GPL-2.0
/*
 * Ports: binding and releasing net devices, and events of net devices.
 *
 * A port is always removed in these steps:
 *   1. `removed` is set, so no new tag is made on the port. If there is time (a
 *	user asked for the removal, and the device stays), its links are closed. But a link
 *	that has a path by another port goes on by that.
 *   2. `gone` is set, the packet handler removed. synchronize_net(): afterwards no
 *	frame is being received, and no reader that saw the port alive is still
 *	making a tag.
 *   3. Frames held for single-stepping are dropped, neighbours heard at the port are
 *	forgotten, the tags are killed.
 *   4. synchronize_net(): afterwards no reader that saw a tag alive is still
 *	sending.
 *   5. Gateway and neighbours are told, and the device released. The port itself is freed with
 *	its last tag.
 * Steps 2 to 5 run under RTNL and never wait for a peer or a program. Ports that are
 * removed at the same time take the steps together and share the waits.
 *
 * `dev=*` makes every device a port that may be one, as soon as it may, and releases it
 * when it may no more. RTNL and kernel_param_lock are held to change that. The device of a
 * UDP port (udp.c) is made by the write that binds it, and goes when its port has gone.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "net.h"

#define OAE_MAX_PORTS_SET	64	/* names in one write to `dev` */

static struct oae_port *netdev_port_of(struct oae_node *node,
				       const struct net_device *dev)
{
	struct oae_port *port;

	ASSERT_RTNL();
	list_for_each_entry(port, &node->ports, list)
		if (port->dev == dev)
			return port;
	return NULL;
}

static bool netdev_port_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev) &&
	       READ_ONCE(dev->mtu) >= OAE_MIN_MTU;
}

/* Tell the tags that have a path by a port, and are not of that port, that it changed. */
static void netdev_port_paths(struct oae_port *port)
{
	/* The change before the look. Pairs with the barrier in oae_alias_add(). */
	smp_mb();
	if (atomic_read(&port->node->naliases))
		oae_tags_for_each(port->node, NULL, oae_path_port, (long)port);
}

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
	oae_tags_for_each(port->node, port, oae_tag_port,
			  up ? OAE_PORT_UP : OAE_PORT_DOWN);
	netdev_port_paths(port);
}

static bool netdev_says(const struct oae_node *node)
{
	return READ_ONCE(node->knobs.verbose) && oae_may_log(node->net);
}

/* May @dev become a port of @node? 0 or an errno; @accepted says what may. */
static int netdev_port_check(struct oae_node *node, struct net_device *dev,
			     const char **accepted)
{
	*accepted = "there is no such net device in this network namespace";
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
	*accepted = "is in a bond, team or bridge: bind that instead";
	if (oae_is_enslaved(dev))
		return -EINVAL;
	*accepted = "is a port already";
	if (netdev_port_of(node, dev))
		return -EEXIST;
	return 0;
}

static struct oae_port *netdev_port_make(struct oae_node *node,
					 struct net_device *dev)
{
	struct oae_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);

	if (!port)
		return NULL;
	port->node = node;
	port->dev = dev;
	port->pt.type = htons(oae_ethertype);
	port->pt.dev = dev;
	port->pt.func = oae_rcv;
	port->mtu = dev->mtu;
	memcpy(port->name, dev->name, IFNAMSIZ);
	ether_addr_copy(port->addr, dev->dev_addr);
	refcount_set(&port->ref, 1);
	port->up = netdev_port_is_up(dev);
	port->udp = oae_udp_text(dev);
	oae_port_way_init(port);
	return port;
}

/* Bind a device that may be a port. 0 or -ENOMEM. */
static int netdev_port_bind(struct oae_node *node, struct net_device *dev)
{
	struct oae_port *port = netdev_port_make(node, dev);

	if (!port)
		return -ENOMEM;
	dev_hold(dev);
	oae_node_first_port(node, dev->dev_addr);
	list_add_tail_rcu(&port->list, &node->ports);
	dev_add_pack(&port->pt);
	oae_news_port(port, "bound");
	oae_announce_port(port);
	if (netdev_says(node))
		pr_info("port %s %pM bound\n", dev->name, dev->dev_addr);
	return 0;
}

/* A node is to have a port: make what it has not needed so far. 0 or -ENOMEM. */
static int netdev_node_use(struct oae_node *node)
{
	return oae_node_use(node) ?: oae_aliases_make(node);
}

/*
 * Bind a device, which was written as @item, and say why it is refused. 0; -ENODEV no such
 * device; -EINVAL not Ethernet, or its MTU is below OAE_MIN_MTU, or it is in a bond or a
 * bridge; -EEXIST bound already; -ENOMEM.
 */
static int netdev_port_add(struct oae_node *node, const char *name, const char *item,
			   struct oae_refusal *why)
{
	struct net_device *dev;
	const char *accepted;
	int err;

	err = netdev_node_use(node);
	if (err)
		return err;
	rtnl_lock();
	dev = __dev_get_by_name(node->net, name);
	err = netdev_port_check(node, dev, &accepted);
	if (err)
		oae_refuse(why, "dev", item, err, accepted);
	else
		err = netdev_port_bind(node, dev);
	rtnl_unlock();
	return err;
}

static void netdev_tag_close(struct oae_tag *tag, long unused)
{
	oae_tag_close(tag);
}

/* Begin to close the link of a port marked `removed`, unless it goes on by another one. */
static void netdev_tag_release(struct oae_tag *tag, long unused)
{
	bool removed;

	rcu_read_lock();
	removed = READ_ONCE(READ_ONCE(tag->key.port)->removed);
	rcu_read_unlock();
	if (removed && !oae_path_move(tag))
		oae_tag_close(tag);
}

/**
 * oae_links_close() - begin to close all links of a node (protocol 4.7)
 * @node: the node, with `shut` set and a grace period past since then
 *
 * Does not wait for the links.
 *
 * Context: process, may sleep.
 */
void oae_links_close(struct oae_node *node)
{
	oae_tags_for_each(node, NULL, netdev_tag_close, 0);
}

/**
 * oae_node_close() - refuse new links, and begin to close all others
 * @node: the node
 *
 * Does not wait for the links.
 *
 * Context: process, may sleep.
 */
void oae_node_close(struct oae_node *node)
{
	WRITE_ONCE(node->shut, true);
	/* Afterwards every reader that saw `shut` false has made its tag. */
	synchronize_net();
	oae_links_close(node);
}

/**
 * oae_ports_collect() - collect the ports of a node that are to be removed
 * @node: the node
 * @going: the ports are added here, for oae_ports_detach()
 * @all: all ports, and none is bound any more; else only those that are marked
 *	`removed`
 *
 * RTNL must stay held until oae_ports_detach().
 *
 * Context: process; under RTNL.
 */
void oae_ports_collect(struct oae_node *node, struct list_head *going, bool all)
{
	struct oae_port *port;

	ASSERT_RTNL();
	if (all)
		node->every = false;
	list_for_each_entry(port, &node->ports, list)
		if (all || port->removed)
			list_add_tail(&port->going, going);
}

/* The link goes on by another port, if it can; else it ends. */
static void netdev_tag_leave(struct oae_tag *tag, long err)
{
	if (!oae_path_move(tag))
		oae_tag_kill(tag, err);
}

/**
 * oae_ports_detach() - remove ports: steps 2 to 5 above
 * @going: ports, perhaps of several nodes
 * @err: error for the writers of reversed transactions, positive errno
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 */
void oae_ports_detach(struct list_head *going, int err)
{
	struct oae_port *port, *next;

	ASSERT_RTNL();
	if (list_empty(going))
		return;
	list_for_each_entry(port, going, going) {
		WRITE_ONCE(port->removed, true);
		WRITE_ONCE(port->gone, true);
		list_del_rcu(&port->list);
		__dev_remove_pack(&port->pt);
	}
	synchronize_net();

	list_for_each_entry(port, going, going) {
		oae_step_purge(port->node, port);
		oae_neigh_drop(port->node, port);
		oae_tags_for_each(port->node, port, netdev_tag_leave, err);
		netdev_port_paths(port);
	}
	synchronize_net();

	list_for_each_entry_safe(port, next, going, going) {
		oae_port_way_leave(port);
		oae_announce_leave(port);
		oae_news_port(port, "released");
		wake_up_interruptible_all(&port->node->fresh_wait);
		if (netdev_says(port->node))
			pr_info("port %s released\n", port->dev->name);
		dev_put(port->dev);
		oae_port_put(port);
	}
}

static bool netdev_removed_closed(struct oae_node *node)
{
	struct oae_port *port;
	bool closed = true;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		if (READ_ONCE(port->removed) && atomic_read(&port->nopen))
			closed = false;
	rcu_read_unlock();
	return closed;
}

/* Links of other ports leave these before anything is lost there. */
static void netdev_removed_paths(struct oae_node *node)
{
	struct oae_port *port;

	rtnl_lock();
	list_for_each_entry(port, &node->ports, list)
		if (port->removed)
			netdev_port_paths(port);
	rtnl_unlock();
}

/**
 * oae_ports_release() - remove the ports that oae_ports_set() has marked
 * @node: the node
 * @ms: time limit, ms
 *
 * First closes the links of these ports, all at once, and waits for that up to
 * @ms. kernel_param_lock is not held, so other parameters can be set
 * meanwhile.
 *
 * Context: process, may sleep; under node->dev_lock; takes RTNL and tag->lock.
 */
void oae_ports_release(struct oae_node *node, unsigned int ms)
{
	LIST_HEAD(going);

	/* Afterwards every reader that saw `removed` false has made its tag. */
	synchronize_net();
	oae_tags_for_each(node, NULL, netdev_tag_release, 0);
	netdev_removed_paths(node);
	wait_event_timeout(node->tags_wait, netdev_removed_closed(node),
			   msecs_to_jiffies(ms));

	rtnl_lock();
	/* A port whose device went meanwhile is not on the list any more. */
	oae_ports_collect(node, &going, false);
	oae_ports_detach(&going, OAE_E_CANCEL);
	oae_udp_sweep(node);
	rtnl_unlock();
}

/* A parsed write to `dev`. */
struct oae_ports_change {
	char *item[OAE_MAX_PORTS_SET];	/* as written; a refusal outlives this struct */
	char *name[OAE_MAX_PORTS_SET];	/* of the device */
	char sign[OAE_MAX_PORTS_SET];	/* '+', '-', or 0: part of the set */
	struct oae_udp_end udp[OAE_MAX_PORTS_SET];	/* port 0: `name` is a device */
	char made[OAE_MAX_PORTS_SET][IFNAMSIZ];	/* else: `name`, once the device is there */
	unsigned int n;
	bool every;			/* begins with `*`: the names are those left out */
	DECLARE_BITMAP(done, OAE_MAX_PORTS_SET);	/* bound by this write */
};

#define OAE_UDP_PREFIX	"udp:"

/* A device, or the endpoint of a UDP port. */
static bool netdev_port_parse(struct oae_ports_change *c, unsigned int i, char *item)
{
	c->item[i] = item;
	c->name[i] = item;
	if (strncmp(item, OAE_UDP_PREFIX, strlen(OAE_UDP_PREFIX)))
		return dev_valid_name(item) && strcmp(item, "*");
	return !oae_udp_parse(&c->udp[i], item + strlen(OAE_UDP_PREFIX));
}

/* May the item be there? UDP ports may be named beside `*`, which does not make them. */
static bool netdev_port_fits(const struct oae_ports_change *c, unsigned int i)
{
	if (c->every)
		return c->sign[i] == (c->udp[i].port ? '+' : '-');
	return !c->sign[i] == !c->sign[0];
}

static bool netdev_port_twice(const struct oae_ports_change *c, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (c->udp[i].port ? oae_udp_same(&c->udp[k], &c->udp[i]) :
				     !strcmp(c->name[k], c->name[i]))
			return true;
	return false;
}

static int netdev_ports_parse(struct oae_ports_change *c, char *list,
			      struct oae_refusal *why)
{
	char *item;

	if (!*list)
		return 0;
	while ((item = strsep(&list, ",")) != NULL) {
		char sign = 0;

		item = strim(item);
		if (*item == '+' || *item == '-')
			sign = *item++;
		if (!strcmp(item, "*") && sign != '-' && !c->n && !c->every) {
			c->every = true;
			continue;
		}
		if (c->n == OAE_MAX_PORTS_SET)
			goto bad;
		c->sign[c->n] = sign;
		if (!netdev_port_parse(c, c->n, item) || !netdev_port_fits(c, c->n) ||
		    netdev_port_twice(c, c->n))
			goto bad;
		c->n++;
	}
	return 0;
bad:
	return oae_refuse(why, "dev", item, -EINVAL, OAE_PORTS_TAKE);
}

static const char *netdev_udp_accepted(int err)
{
	switch (err) {
	case -EADDRNOTAVAIL:
		return "takes an address of this network namespace";
	case -EADDRINUSE:
		return "takes a UDP port that is free";
	case -EPROTONOSUPPORT:
		return "needs the kernel's modules udp_tunnel and ip6_udp_tunnel";
	default:
		return NULL;
	}
}

/* Make the devices of UDP ports, and find those that are there: their names. */
static int netdev_ports_udp(struct oae_node *node, struct oae_ports_change *c,
			    struct oae_refusal *why)
{
	unsigned int i;
	int err;

	for (i = 0; i < c->n; i++) {
		if (!c->udp[i].port)
			continue;
		c->name[i] = c->made[i];
		if (c->sign[i] != '-')
			err = oae_udp_make(node, &c->udp[i], c->made[i]);
		else
			err = oae_udp_name(node, &c->udp[i], c->made[i]);
		if (err)
			return oae_refuse(why, "dev", c->item[i], err,
					  err == -ENODEV ? "is not a port" :
							   netdev_udp_accepted(err));
	}
	return 0;
}

static bool netdev_port_bound(struct oae_node *node, const char *name)
{
	struct oae_port *port;

	rcu_read_lock();
	port = oae_port_find(node, name);
	rcu_read_unlock();
	if (port)
		oae_port_put(port);
	return port;
}

/* Bind the new devices, and check those to release: all that can fail. */
static int netdev_ports_change_add(struct oae_node *node,
				   struct oae_ports_change *c,
				   struct oae_refusal *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->n && !err; i++) {
		bool bound = netdev_port_bound(node, c->name[i]);

		if (c->sign[i] == '-') {
			if (!bound && !c->every && !node->every)
				err = oae_refuse(why, "dev", c->item[i], -ENODEV,
						 "is not a port");
			continue;
		}
		if (bound && (c->every || !c->sign[i]))
			continue;
		err = netdev_port_add(node, c->name[i], c->item[i], why);
		if (!err)
			__set_bit(i, c->done);
	}
	return err;
}

/* Is a port to be removed by this write? With @undo: was it bound by this write? */
static bool netdev_port_goes(const struct oae_port *port,
			     const struct oae_ports_change *c, bool undo)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(port->dev->name, c->name[i]))
			return undo ? test_bit(i, c->done) : c->sign[i] == '-';
	if (undo)
		return false;
	return c->every ? !!port->udp : !c->n || !c->sign[0];
}

/* The place of a name among those that `*` leaves out, or node->nbut. */
static unsigned int netdev_but(const struct oae_node *node, const char *name)
{
	unsigned int i;

	for (i = 0; i < node->nbut; i++)
		if (!strncmp(node->but[i], name, IFNAMSIZ))
			break;
	return i;
}

/* How many names more will be left out. */
static unsigned int netdev_but_more(const struct oae_node *node,
				    const struct oae_ports_change *c)
{
	unsigned int i, more = 0;

	for (i = 0; i < c->n; i++)
		if (c->sign[i] == '-' && !c->udp[i].port)
			more += c->every || netdev_but(node, c->name[i]) == node->nbut;
	return more;
}

/* Is there room for the names that are to be left out? */
static int netdev_every_check(const struct oae_node *node,
			      const struct oae_ports_change *c, struct oae_refusal *why)
{
	if (!c->every && !node->every)
		return 0;
	if (netdev_but_more(node, c) + (c->every ? 0 : node->nbut) <= OAE_MAX_BUT)
		return 0;
	return oae_refuse(why, "dev", c->item[c->n - 1], -E2BIG,
			  "takes up to " __stringify(OAE_MAX_BUT) " devices that * leaves out");
}

/*
 * Bind or release a device as `*` has it, now that it has come or changed. Without
 * memory it is bound by its next change.
 */
static void netdev_every_follow(struct oae_node *node, struct net_device *dev)
{
	struct oae_port *port = netdev_port_of(node, dev);
	bool wanted = netdev_but(node, dev->name) == node->nbut;
	const char *accepted;
	LIST_HEAD(going);

	if (oae_udp_is(dev))	/* bound and released by name */
		return;
	if (!port && wanted && dev->reg_state == NETREG_REGISTERED &&
	    !netdev_port_check(node, dev, &accepted)) {
		if (netdev_port_bind(node, dev) && oae_may_log(node->net))
			pr_err_ratelimited("port %s: no memory to bind it\n", dev->name);
	} else if (port && !port->removed && (!wanted || oae_is_enslaved(dev))) {
		list_add(&port->going, &going);
		oae_ports_detach(&going, OAE_E_CANCEL);
	}
}

/* From now on `*` or not, and with these names left out. */
static void netdev_every_set(struct oae_node *node, const struct oae_ports_change *c)
{
	bool anew = c->every || !c->n || !c->sign[0];
	struct net_device *dev;
	unsigned int i, at;

	ASSERT_RTNL();
	if (anew) {
		node->every = c->every;
		node->nbut = 0;
	}
	if (!node->every)
		return;
	for (i = 0; i < c->n; i++) {
		if (c->udp[i].port)
			continue;
		at = netdev_but(node, c->name[i]);
		if (c->sign[i] == '-' && at == node->nbut)
			strscpy(node->but[node->nbut++], c->name[i], IFNAMSIZ);
		else if (c->sign[i] == '+' && at < node->nbut)
			memmove(node->but[at], node->but[at + 1],
				(--node->nbut - at) * IFNAMSIZ);
	}
	if (!c->every)
		return;
	for_each_netdev(node->net, dev)
		if (!netdev_port_of(node, dev))
			netdev_every_follow(node, dev);
}

/* Mark the ports to be removed. True: there are any. */
static bool netdev_ports_change_del(struct oae_node *node,
				    const struct oae_ports_change *c, bool undo)
{
	struct oae_port *port;
	bool any = false;

	rtnl_lock();
	if (!undo)
		netdev_every_set(node, c);
	list_for_each_entry(port, &node->ports, list)
		if (netdev_port_goes(port, c, undo)) {
			WRITE_ONCE(port->removed, true);
			any = true;
		}
	rtnl_unlock();
	return any;
}

/* Devices of UDP ports that a write has made, and not bound. */
static void netdev_udp_unmake(struct oae_node *node)
{
	rtnl_lock();
	oae_udp_sweep(node);
	rtnl_unlock();
}

/**
 * oae_ports_set() - bind the devices of a list, and mark ports to be removed
 * @node: the node
 * @list: `a,b`: these devices and no others; `+a,-b`: one more, one less; `*,-a`: every
 *	device that may be one, also such as come later, but not a. Each may be
 *	`udp:ADDR[:PORT]`, a UDP port; `*` makes none, `*,+udp:ADDR` one. Modified.
 * @going: set if ports are marked, whatever is returned: call oae_ports_release()
 * @why: if refused: why; it may point into @list
 *
 * All or nothing: if one device cannot be bound, the others of the list are
 * released again. Devices may be unregistered meanwhile.
 *
 * Context: process, may sleep; under node->dev_lock and kernel_param_lock; takes
 * RTNL.
 *
 * Return: 0; -EINVAL not a list, or a device that is not Ethernet, has an MTU below
 * OAE_MIN_MTU, or is in a bond or a bridge; -ENODEV no such device, or one to release
 * that is not bound; -EEXIST bound already; -E2BIG too many that `*` leaves out;
 * -EADDRNOTAVAIL, -EADDRINUSE and others of oae_udp_make(); -ENOMEM.
 */
int oae_ports_set(struct oae_node *node, char *list, bool *going,
		  struct oae_refusal *why)
{
	struct oae_ports_change *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err;

	*going = false;
	if (!c)
		return -ENOMEM;
	err = netdev_ports_parse(c, list, why);
	if (!err && c->every)
		err = netdev_node_use(node);
	if (!err)
		err = netdev_every_check(node, c, why);
	if (!err)
		err = netdev_ports_udp(node, c, why);
	if (!err) {
		err = netdev_ports_change_add(node, c, why);
		*going = netdev_ports_change_del(node, c, err);
	}
	if (err)
		netdev_udp_unmake(node);
	kfree(c);
	return err;
}

static void netdev_port_mtu(struct oae_port *port)
{
	unsigned int mtu = port->dev->mtu;

	WRITE_ONCE(port->mtu, mtu);
	oae_announce_port(port);
	if (mtu >= OAE_MIN_MTU)
		oae_tags_for_each(port->node, port, oae_tag_port, OAE_PORT_MTU);
	netdev_port_paths(port);
	if (mtu < OAE_MIN_MTU && oae_may_log(port->node->net))
		pr_err_ratelimited("port %s: MTU %u is too small, the port is down until it is at least %u\n",
				   port->dev->name, mtu, OAE_MIN_MTU);
	netdev_port_set_up(port, netdev_port_is_up(port->dev));
}

/*
 * Tell the port's own tags, and those that have a path by it, in one walk: a tag may have another
 * own path meanwhile.
 */
static void netdev_port_rename(struct oae_port *port, void (*tell)(struct oae_tag *tag, long arg))
{
	bool paths = atomic_read(&port->node->naliases);

	oae_tags_for_each(port->node, paths ? NULL : port, tell, (long)port);
}

/*
 * The device has a new address: the port's links synchronise under that (protocol 4.5, 4.14).
 * Until each of them is told, their frames come from the old one.
 */
static void netdev_port_address(struct oae_port *port)
{
	if (ether_addr_equal(port->addr, port->dev->dev_addr))
		return;
	netdev_port_rename(port, oae_path_address_before);
	/* Frames of earlier events are sent without tag->lock: they are out then. */
	synchronize_net();
	ether_addr_copy(port->addr, port->dev->dev_addr);
	oae_news_port(port, "address");
	netdev_port_rename(port, oae_path_address);
	oae_port_way_announce(port);
	oae_announce_port(port);
}

/*
 * The port's address is about to change: settle the links for a bounded time, since
 * the peers will take the new address for another end (protocol 4.5). Tell the
 * gateway not to send to the old address any more.
 */
static void netdev_port_address_before(struct oae_port *port, const u8 *addr)
{
	u64 us = 2ULL * READ_ONCE(port->node->knobs.stall_max_us);

	if (ether_addr_equal(port->dev->dev_addr, addr))
		return;
	/* RTNL is global: root of a user namespace must not hold it for long. */
	us = min_t(u64, us, port->node->net->user_ns == &init_user_ns ?
				    USEC_PER_SEC : 20 * USEC_PER_MSEC);
	if (port->up) {
		oae_tags_for_each(port->node, port, oae_tag_settle,
				  2 * us * NSEC_PER_USEC);
		wait_event_timeout(port->node->tags_wait,
				   !atomic_read(&port->nsettling),
				   usecs_to_jiffies(us));
	}
	oae_port_way_leave(port);
	oae_announce_leave(port);
}

/* Can a device be one for `*` after this, or no more? */
static bool netdev_may_follow(unsigned long event)
{
	return event == NETDEV_REGISTER || event == NETDEV_CHANGENAME ||
	       event == NETDEV_CHANGEMTU || event == NETDEV_CHANGEUPPER ||
	       event == NETDEV_POST_TYPE_CHANGE || event == NETDEV_UP;
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
		netdev_every_follow(node, dev);
	port = netdev_port_of(node, dev);
	if (!port)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_CHANGE:
		netdev_port_set_up(port, netdev_port_is_up(dev));
		break;
	case NETDEV_DOWN:
		netdev_port_set_up(port, false);
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
	case NETDEV_PRE_TYPE_CHANGE:	/* Ethernet no more, perhaps */
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
