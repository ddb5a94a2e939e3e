// SPDX-License-Identifier: GPL-2.0
/*
 * The ports of a node: finding and counting them, and the gateway of a port.
 * net/bind.c binds them, net/release.c releases them.
 */

#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "base.h"

unsigned int oae_ethertype __read_mostly = OAE_ETHERTYPE;

/* Devices may have one address, as a device and its VLANs do. */
static const struct rhashtable_params port_params = {
	.head_offset = offsetof(struct oae_port, by_addr),
	.key_offset = offsetof(struct oae_port, addr),
	.key_len = ETH_ALEN,
	.automatic_shrinking = true,
};

/**
 * oae_ports_make() - make a node's table of ports by their addresses, if there is none
 * @node: the node, which is about to have a port
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or a negative errno.
 */
int oae_ports_make(struct oae_node *node)
{
	return node->by_addr.ht.tbl ? 0 : rhltable_init(&node->by_addr, &port_params);
}

/**
 * oae_port_index() - have a port found by its address
 * @port: the port
 *
 * Context: process, may sleep; under RTNL.
 *
 * Return: 0 or a negative errno: no memory.
 */
int oae_port_index(struct oae_port *port)
{
	return rhltable_insert(&port->node->by_addr, &port->by_addr, port_params);
}

/**
 * oae_port_unindex() - have a port found by its address no more
 * @port: the port; nothing happens if it is not found
 *
 * A grace period later the port may be freed, or be found by another address.
 *
 * Context: process, may sleep; under RTNL.
 */
void oae_port_unindex(struct oae_port *port)
{
	rhltable_remove(&port->node->by_addr, &port->by_addr, port_params);
}

/**
 * oae_ports_of_addr() - find the ports with an address
 * @node: the node, which has a port, or has had one
 * @mac: the address
 * @to: filled in; some of the ports may be `removed`
 * @max: room in @to
 *
 * Context: any but hard interrupts; under rcu_read_lock(), in which the ports are valid.
 *
 * Return: how many were filled in.
 */
unsigned int oae_ports_of_addr(struct oae_node *node, const u8 *mac, struct oae_port **to,
			       unsigned int max)
{
	struct rhlist_head *list, *at;
	struct oae_port *port;
	unsigned int n = 0;

	list = rhltable_lookup(&node->by_addr, mac, port_params);
	rhl_for_each_entry_rcu(port, at, list, by_addr) {
		if (n == max)
			break;
		to[n++] = port;
	}
	return n;
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
EXPORT_SYMBOL_FOR_BENCH(oae_port_put);

/**
 * oae_port_find() - find a port by name
 * @node: the node
 * @name: name of the device; "" or NULL for the first port
 *
 * A port that is being removed is not found.
 *
 * Context: any but hard interrupts; under rcu_read_lock() or RTNL.
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
EXPORT_SYMBOL_FOR_BENCH(oae_port_find);

/**
 * oae_ports_print() - print what the knob `dev` is: the names of the bound devices,
 * comma-separated; or `*`, the names of those that it leaves out, each behind a `-`, and
 * UDP ports, each behind a `+`
 * @node: the node
 * @buf: the output
 * @size: size of @buf, bytes
 *
 * Context: process; under node->knob_lock.
 *
 * Return: characters written.
 */
int oae_ports_print(struct oae_node *node, char *buf, size_t size)
{
	bool every = READ_ONCE(node->every);
	struct oae_port *port;
	unsigned int i;
	int n = 0;

	if (every) {
		n = scnprintf(buf, size, "*");
		for (i = 0; i < node->nbut; i++)
			n += scnprintf(buf + n, size - n, ",-%s", node->but[i]);
	}
	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		if (!READ_ONCE(port->removed) && (port->udp || !every))
			n += scnprintf(buf + n, size - n, "%s%s%s", n ? "," : "",
				       every ? "+" : "", port->udp ?: port->dev->name);
	rcu_read_unlock();
	return n;
}

/**
 * oae_port_is_own() - is this the address of a port of the node?
 * @node: the node
 * @mac: the address
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_port_is_own(struct oae_node *node, const u8 *mac)
{
	struct oae_port *port;
	bool own;

	rcu_read_lock();
	/* Pairs with list_add_tail_rcu() in oae_dev_bind(): where a port is, the table is. */
	own = smp_load_acquire(&node->ports.next) != &node->ports &&
	      oae_ports_of_addr(node, mac, &port, 1);
	rcu_read_unlock();
	return own;
}

/**
 * oae_port_ways() - get a snapshot of the ways that a port has (protocol 4.8)
 * @port: the port
 * @ways: filled in
 *
 * Context: any but hard interrupts.
 */
void oae_port_ways(const struct oae_port *port, struct oae_ways *ways)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&port->gw_lock);
		ways->gw = port->gw;
	} while (read_seqretry(&port->gw_lock, seq));
	ways->mtu = READ_ONCE(port->mtu);
	ways->use = oae_port_use_gw(port);
}
