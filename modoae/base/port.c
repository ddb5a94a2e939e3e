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
	bool own = false;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		own |= ether_addr_equal(port->addr, mac);
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
