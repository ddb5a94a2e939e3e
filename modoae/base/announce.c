// SPDX-License-Identifier: GPL-2.0
/*
 * Saying HELLO to the neighbours (doc/protocol.md section 4.13). When to do so is decided
 * by link/neigh.c. One timer a node does it for all ports, and forgets neighbours that were
 * silent for too long.
 */

#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/random.h>

#include "base.h"

#define AGE_EACH	(15 * OAE_NEIGH_S)	/* from one look for the silent to the next */

static bool announce_wanted(const struct oae_node *node)
{
	return READ_ONCE(node->knobs.discover);
}

/* Under rcu_read_lock(), BH off. */
static void announce_say(struct oae_port *port, const u8 *src, u8 flags)
{
	struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = {
			.flags = OAE_HELLO_NODE | flags,
			.mtu = min_t(unsigned int, READ_ONCE(port->mtu), U16_MAX),
			.id = port->node->knobs.id,
			.node_inc = port->node->inc,
		},
	};

	if (f.hello.mtu < OAE_MIN_MTU)
		return;
	oae_count(port->node, OAE_S_NODE_SENT);
	oae_xmit_from(port, src, &f);
}

/* The timer is to run at @at, ns, or before. */
static void announce_by(struct oae_neighbours *n, u64 at)
{
	u64 now = ktime_get_ns();
	u64 ns = (s64)(at - now) > 0 ? at - now : 0;

	/* Not before @at: it would be too early for everything. */
	timer_reduce(&n->timer, jiffies + nsecs_to_jiffies(ns) + 1);
}

static bool announce_is_up(const struct net_device *dev)
{
	return netif_running(dev) && netif_carrier_ok(dev);
}

/**
 * oae_announce_timer() - say HELLO at the ports whose time it is
 * @timer: the timer of oae_neighbours
 *
 * Context: softirq.
 */
void oae_announce_timer(struct timer_list *timer)
{
	struct oae_neighbours *n = container_of(timer, struct oae_neighbours, timer);
	u64 now = ktime_get_ns(), next = 0, at;
	struct oae_port *port;
	bool due;

	if (oae_neigh_age(n, now))
		next = now + AGE_EACH;
	rcu_read_lock();
	list_for_each_entry_rcu(port, &n->node->ports, list) {
		spin_lock_bh(&n->lock);
		due = oae_announce_due(&port->announce, now, get_random_u32());
		at = port->announce.at;
		spin_unlock_bh(&n->lock);
		if (at && (!next || (s64)(at - next) < 0))
			next = at;
		if (due && announce_wanted(n->node) && announce_is_up(port->dev))
			announce_say(port, port->addr, 0);
	}
	rcu_read_unlock();
	if (next)
		announce_by(n, next);
}

/**
 * oae_announce_port() - a port came up, or has another address or MTU: say HELLO soon
 * @port: the port, bound and not being removed
 *
 * Context: any but hard interrupts; the caller may hold RTNL.
 */
void oae_announce_port(struct oae_port *port)
{
	struct oae_neighbours *n = port->node->neigh;
	u64 at;

	/* Behind a UDP port there is no segment (protocol 4.15). */
	if (!announce_wanted(port->node) || port->udp)
		return;
	spin_lock_bh(&n->lock);
	oae_announce_up(&port->announce, ktime_get_ns(), get_random_u32());
	at = port->announce.at;
	spin_unlock_bh(&n->lock);
	announce_by(n, at);
}

/**
 * oae_announce_to() - there is a neighbour that does not know this node: say HELLO
 * @port: the port that heard it
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 */
void oae_announce_to(struct oae_port *port)
{
	struct oae_neighbours *n = port->node->neigh;
	u64 at;

	spin_lock_bh(&n->lock);
	oae_announce_answer(&port->announce, ktime_get_ns(), get_random_u32());
	at = port->announce.at;
	spin_unlock_bh(&n->lock);
	announce_by(n, at);
}

/**
 * oae_announce_moved() - the port has another address: say HELLO from it, then LEAVING from the
 *	old one, so that the neighbours know the node at each moment
 * @port: the port, bound and not being removed
 * @old: the old address
 *
 * Says nothing from the old one if no HELLO was said.
 *
 * Context: any but hard interrupts; the caller may hold RTNL.
 */
void oae_announce_moved(struct oae_port *port, const u8 *old)
{
	struct oae_neighbours *n = port->node->neigh;
	bool said;

	oae_announce_port(port);
	rcu_read_lock_bh();
	spin_lock(&n->lock);
	said = port->announce.last;
	spin_unlock(&n->lock);
	if (said && announce_wanted(port->node) && announce_is_up(port->dev)) {
		announce_say(port, port->addr, 0);
		announce_say(port, old, OAE_HELLO_LEAVING);
	}
	rcu_read_unlock_bh();
}

/**
 * oae_announce_leave() - say that the node is no longer there, and no HELLO any more
 * @port: the port, which still has its device: it is being released, or `discover` is 0 now
 *
 * Says nothing if no HELLO was said.
 *
 * Context: any but hard interrupts; the caller may hold RTNL.
 */
void oae_announce_leave(struct oae_port *port)
{
	struct oae_neighbours *n = port->node->neigh;
	bool said;

	rcu_read_lock_bh();
	spin_lock(&n->lock);
	said = port->announce.last;
	memset(&port->announce, 0, sizeof(port->announce));
	spin_unlock(&n->lock);
	if (said && announce_is_up(port->dev))
		announce_say(port, port->addr, OAE_HELLO_LEAVING);
	rcu_read_unlock_bh();
}

/**
 * oae_announce_changed() - apply a new value of the knob discover
 * @node: the node
 *
 * Context: process; under node->knob_lock.
 */
void oae_announce_changed(struct oae_node *node)
{
	bool wanted = announce_wanted(node);
	struct oae_port *port;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list) {
		if (READ_ONCE(port->removed))
			continue;
		if (wanted)
			oae_announce_port(port);
		else
			oae_announce_leave(port);
	}
	rcu_read_unlock();
	if (!wanted && node->neigh)
		oae_neigh_drop(node, NULL);
}
