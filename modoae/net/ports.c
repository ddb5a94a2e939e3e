// SPDX-License-Identifier: GPL-2.0
/*
 * The ports of a node, as they are written to `dev`: a list, a change of it, or `*` (bind.c).
 *
 * The device of a UDP port (udp.c) is made by the write that binds it, and goes when its port has
 * gone.
 */

#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "net.h"

#define OAE_MAX_PORTS_SET	64	/* names in one write to `dev` */

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
static bool ports_item_parse(struct oae_ports_change *c, unsigned int i, char *item)
{
	c->item[i] = item;
	c->name[i] = item;
	if (strncmp(item, OAE_UDP_PREFIX, strlen(OAE_UDP_PREFIX)))
		return dev_valid_name(item) && strcmp(item, "*");
	return !oae_udp_parse(&c->udp[i], item + strlen(OAE_UDP_PREFIX));
}

/* May the item be there? UDP ports may be named beside `*`, which does not make them. */
static bool ports_item_fits(const struct oae_ports_change *c, unsigned int i)
{
	if (c->every)
		return c->sign[i] == (c->udp[i].port ? '+' : '-');
	return !c->sign[i] == !c->sign[0];
}

static bool ports_item_twice(const struct oae_ports_change *c, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (c->udp[i].port ? oae_udp_same(&c->udp[k], &c->udp[i]) :
				     !strcmp(c->name[k], c->name[i]))
			return true;
	return false;
}

static int ports_parse(struct oae_ports_change *c, char *list, struct oae_refusal *why)
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
		if (!ports_item_parse(c, c->n, item) || !ports_item_fits(c, c->n) ||
		    ports_item_twice(c, c->n))
			goto bad;
		c->n++;
	}
	return 0;
bad:
	return oae_refuse(why, "dev", item, -EINVAL, OAE_PORTS_TAKE);
}

static const char *ports_udp_accepted(int err)
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
static int ports_udp_make(struct oae_node *node, struct oae_ports_change *c,
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
							   ports_udp_accepted(err));
	}
	return 0;
}

/* A node is to have a port: make what it has not needed so far. 0 or -ENOMEM. */
static int ports_node_use(struct oae_node *node)
{
	return oae_node_use(node) ?: oae_aliases_make(node) ?: oae_guesses_make(node);
}

/*
 * Bind a device, which was written as @item, and say why it is refused. 0; -ENODEV no such
 * device; -EINVAL not Ethernet, or its MTU is below OAE_MIN_MTU, or it is in a bond or a
 * bridge; -EEXIST bound already; -ENOMEM.
 */
static int ports_add(struct oae_node *node, const char *name, const char *item,
		     struct oae_refusal *why)
{
	struct net_device *dev;
	const char *accepted;
	int err;

	err = ports_node_use(node);
	if (err)
		return err;
	rtnl_lock();
	dev = __dev_get_by_name(node->net, name);
	err = oae_dev_check(node, dev, &accepted);
	if (err)
		oae_refuse(why, "dev", item, err, accepted);
	else
		err = oae_dev_bind(node, dev);
	rtnl_unlock();
	return err;
}

static bool ports_bound(struct oae_node *node, const char *name)
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
static int ports_add_all(struct oae_node *node, struct oae_ports_change *c,
			 struct oae_refusal *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < c->n && !err; i++) {
		bool bound = ports_bound(node, c->name[i]);

		if (c->sign[i] == '-') {
			if (!bound && !c->every && !node->every)
				err = oae_refuse(why, "dev", c->item[i], -ENODEV,
						 "is not a port");
			continue;
		}
		if (bound && (c->every || !c->sign[i]))
			continue;
		err = ports_add(node, c->name[i], c->item[i], why);
		if (!err)
			__set_bit(i, c->done);
	}
	return err;
}

/* Is a port to be removed by this write? With @undo: was it bound by this write? */
static bool ports_goes(const struct oae_port *port, const struct oae_ports_change *c, bool undo)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (!strcmp(port->dev->name, c->name[i]))
			return undo ? test_bit(i, c->done) : c->sign[i] == '-';
	if (undo)
		return false;
	return c->every ? !!port->udp : !c->n || !c->sign[0];
}

/* How many names more will be left out. */
static unsigned int ports_but_more(const struct oae_node *node, const struct oae_ports_change *c)
{
	unsigned int i, more = 0;

	for (i = 0; i < c->n; i++)
		if (c->sign[i] == '-' && !c->udp[i].port)
			more += c->every || oae_node_but(node, c->name[i]) == node->nbut;
	return more;
}

/* Is there room for the names that are to be left out? Only under dev_lock they change. */
static int ports_every_check(const struct oae_node *node,
			     const struct oae_ports_change *c, struct oae_refusal *why)
{
	if (!c->every && !node->every)
		return 0;
	if (ports_but_more(node, c) + (c->every ? 0 : node->nbut) <= OAE_MAX_BUT)
		return 0;
	return oae_refuse(why, "dev", c->item[c->n - 1], -E2BIG,
			  "takes up to " __stringify(OAE_MAX_BUT) " devices that * leaves out");
}

/* From now on `*` or not, and with these names left out. */
static void ports_every_set(struct oae_node *node, const struct oae_ports_change *c)
{
	bool anew = c->every || !c->n || !c->sign[0];
	unsigned int i, at;

	ASSERT_RTNL();
	lockdep_assert_held(&node->knob_lock);
	if (anew) {
		node->every = c->every;
		node->nbut = 0;
	}
	if (!node->every)
		return;
	for (i = 0; i < c->n; i++) {
		if (c->udp[i].port)
			continue;
		at = oae_node_but(node, c->name[i]);
		if (c->sign[i] == '-' && at == node->nbut)
			strscpy(node->but[node->nbut++], c->name[i], IFNAMSIZ);
		else if (c->sign[i] == '+' && at < node->nbut)
			memmove(node->but[at], node->but[at + 1],
				(--node->nbut - at) * IFNAMSIZ);
	}
}

/*
 * Bind the devices that are there already: those that come are bound by the notifier. RTNL is
 * everybody's, so it is held for some at a time.
 */
static void ports_every_bind(struct oae_node *node)
{
	struct net_device *dev;
	unsigned int n;

	do {
		n = 0;
		rtnl_lock();
		for_each_netdev(node->net, dev) {
			if (!oae_port_of_dev(node, dev) && oae_dev_follow(node, dev))
				n++;
			if (n == OAE_BATCH)
				break;
		}
		rtnl_unlock();
		cond_resched();
	} while (n == OAE_BATCH);
}

/* Mark the ports to be removed. True: there are any. */
static bool ports_mark(struct oae_node *node, const struct oae_ports_change *c, bool undo)
{
	struct oae_port *port;
	bool any = false;

	/* The names are printed under it: oae_ports_print(). */
	mutex_lock(&node->knob_lock);
	rtnl_lock();
	if (!undo)
		ports_every_set(node, c);
	mutex_unlock(&node->knob_lock);
	list_for_each_entry(port, &node->ports, list)
		if (ports_goes(port, c, undo)) {
			WRITE_ONCE(port->removed, true);
			any = true;
		}
	rtnl_unlock();
	return any;
}

/* Devices of UDP ports that a write has made, and not bound. */
static void ports_udp_unmake(struct oae_node *node)
{
	unsigned int n;

	do {
		rtnl_lock();
		n = oae_udp_sweep(node, OAE_BATCH);
		rtnl_unlock();
	} while (n == OAE_BATCH);
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
 * Waits for modprobe at the first UDP port.
 *
 * Context: process, may sleep; under node->dev_lock alone; takes node->knob_lock and RTNL.
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
	oae_ports_released(node);
	err = ports_parse(c, list, why);
	if (!err && c->every)
		err = ports_node_use(node);
	if (!err)
		err = ports_every_check(node, c, why);
	if (!err)
		err = ports_udp_make(node, c, why);
	if (!err) {
		err = ports_add_all(node, c, why);
		*going = ports_mark(node, c, err);
	}
	if (!err && c->every)
		ports_every_bind(node);
	if (err)
		ports_udp_unmake(node);
	kfree(c);
	return err;
}
