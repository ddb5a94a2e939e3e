// SPDX-License-Identifier: GPL-2.0
/*
 * The gateway of a port: HELLO, and frames through the gateway that belong to no tag
 * (doc/protocol.md section 4.8). The rules are in link/way.c, the ways of tags in
 * tag/path.c.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/ktime.h>

#include "net.h"

/**
 * oae_port_way_init() - initialise the gateway of a new port, from the knob nhmac
 * @port: the port, not published yet
 *
 * Context: process; under RTNL.
 */
void oae_port_way_init(struct oae_port *port)
{
	seqlock_init(&port->gw_lock);
	if (!port->udp)
		oae_gw_tell(&port->gw, port->node->knobs.nhmac);
}

/* HELLO */

static void hello_send(struct oae_port *port, const u8 *gw, u8 flags)
{
	struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = {
			.flags = flags,
			.mtu = min_t(unsigned int, READ_ONCE(port->mtu),
				     U16_MAX),
		},
	};

	oae_count(port->node, OAE_S_HELLO_SENT);
	oae_xmit_frame(port, gw, &f, NULL);
}

/* Send a HELLO to the gateway, if one is known, and record that. */
static void hello_gateway(struct oae_port *port, u8 flags)
{
	u8 mac[ETH_ALEN];
	bool known;

	write_seqlock_bh(&port->gw_lock);
	known = port->gw.known;
	ether_addr_copy(mac, port->gw.mac);
	oae_gw_spoken(&port->gw, flags, ktime_get_ns());
	write_sequnlock_bh(&port->gw_lock);
	if (known)
		hello_send(port, mac, flags);
}

/* Update the port's gateway from a well-formed HELLO. */
static enum oae_hello hello_hear(struct oae_port *port, const u8 *from,
				 const struct oae_frame *f, bool *answer)
{
	enum oae_hello heard;

	write_seqlock_bh(&port->gw_lock);
	heard = oae_gw_hear(&port->gw, from, f, ktime_get_ns(), answer);
	write_sequnlock_bh(&port->gw_lock);
	return heard;
}

static void hello_about(struct oae_port *port, const struct oae_frame *f)
{
	const struct oae_about about = {
		.inc = f->hello.inc,
		.epoch = f->hello.epoch,
		.mtu = f->hello.mtu,
	};
	struct oae_tag *tag;

	tag = oae_tag_find(port, oae_kid(f->vc, f->hello.about));
	if (tag)
		oae_tag_about(tag, &about);
	else
		oae_path_about(port, oae_kid(f->vc, f->hello.about), &about);
}

static void hello_say(const struct oae_port *port, const u8 *from,
		      const struct oae_frame *f, enum oae_hello heard)
{
	if (!READ_ONCE(port->node->knobs.verbose) ||
	    !oae_may_log(port->node->net))
		return;
	if (heard == OAE_HELLO_NEWS)
		net_info_ratelimited("port %s: gateway %pM, zone %u, MTU %u\n",
				     port->dev->name, from, f->hello.zone,
				     f->hello.mtu);
	else if (heard == OAE_HELLO_LEFT)
		net_info_ratelimited("port %s: gateway %pM has left\n",
				     port->dev->name, from);
}

/**
 * oae_port_way_hello() - handle a received HELLO (protocol 4.8)
 * @port: the port that received the frame
 * @from: the Ethernet source
 * @f: the frame, parsed and verified
 *
 * Takes a HELLO of the port's gateway. The sender of another HELLO becomes the
 * port's gateway if there is none, or if that one has fallen silent. A malformed
 * HELLO is counted and dropped.
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock(); takes tag->lock.
 *
 * Return: true if the frame needs nothing more.
 */
bool oae_port_way_hello(struct oae_port *port, const u8 *from,
			const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	enum oae_hello heard;
	bool answer;

	heard = oae_hello_check(port->addr, from, f);
	if (heard == OAE_HELLO_BAD) {
		oae_count(node, OAE_S_BAD + OAE_BAD_FIELD);
		return true;
	}
	if (heard == OAE_HELLO_GOOD)
		heard = hello_hear(port, from, f, &answer);
	if (heard == OAE_HELLO_NOT_TAKEN)
		return false;

	oae_count(node, OAE_S_HELLO_HEARD);
	hello_say(port, from, f, heard);
	if (f->hello.flags & OAE_HELLO_ABOUT && heard != OAE_HELLO_LEFT)
		hello_about(port, f);
	/* With use_gw 0 this port is not to be reached through the gateway either. */
	if (answer && oae_port_use_gw(port) != OAE_GW_NEVER && oae_may_answer(node))
		hello_gateway(port, 0);
	return true;
}

/**
 * oae_port_way_announce() - tell the gateway that this port is there
 * @port: the port, which may have a new address
 *
 * The caller may hold RTNL.
 *
 * Context: any but hard interrupts.
 */
void oae_port_way_announce(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (oae_port_use_gw(port) != OAE_GW_NEVER)
		hello_gateway(port, 0);
	rcu_read_unlock_bh();
}

/**
 * oae_port_way_leave() - tell the gateway to forget this port
 * @port: the port, which still has its device: it is being released, its address
 *	changes, and @port has the old one yet, or use_gw is 0 now
 *
 * The caller may hold RTNL.
 *
 * Context: any but hard interrupts.
 */
void oae_port_way_leave(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (netif_running(port->dev))
		hello_gateway(port, OAE_HELLO_LEAVING);
	rcu_read_unlock_bh();
}

/* Received frames, and frames that belong to no tag */

/**
 * oae_port_way_via() - is this frame with VIA let in (protocol 4.8)?
 * @port: the port that received the frame
 * @from: the Ethernet source
 * @f: the frame, parsed and verified, flag VIA
 * @peer: set to the original source if true is returned; not checked yet
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: true if the port's gateway sent the frame, for this port.
 */
bool oae_port_way_via(struct oae_port *port, const u8 *from,
		      const struct oae_frame *f, u8 peer[ETH_ALEN])
{
	struct oae_ways ways;

	oae_port_ways(port, &ways);
	if (!oae_ways_let_in(&ways, port->addr, from, f))
		return false;
	memcpy(peer, f->via + ETH_ALEN, ETH_ALEN);
	return true;
}

/**
 * oae_port_way_back() - find the way to answer a frame that belongs to no tag
 * @port: the port that received the frame
 * @question: the frame
 * @dest: address of the frame's source; set to the gateway's if that is the way
 * @f: the answer; gets the VIA extension if it goes through the gateway
 *
 * The answer takes the way that the frame came by, unless use_gw prescribes one.
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: false if there is no way, which is counted.
 */
bool oae_port_way_back(struct oae_port *port, const struct oae_frame *question,
		       u8 dest[ETH_ALEN], struct oae_frame *f)
{
	struct oae_ways ways;
	enum oae_go go;

	oae_port_ways(port, &ways);
	go = oae_ways_back(&ways, question);
	if (go == OAE_GO_VIA) {
		oae_via_mark(f, port->addr, dest);
		ether_addr_copy(dest, ways.gw.mac);
	} else if (go == OAE_GO_NOWHERE) {
		oae_count(port->node, OAE_S_NO_GATEWAY);
	}
	return go != OAE_GO_NOWHERE;
}

/* The knobs */

static void hello_all_ports(struct oae_node *node,
			    void (*fn)(struct oae_port *port))
{
	struct oae_port *port;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		fn(port);
	rcu_read_unlock();
}

static void hello_port_use_gw(struct oae_port *port)
{
	if (oae_port_use_gw(port) == OAE_GW_NEVER)
		oae_port_way_leave(port);
	write_seqlock_bh(&port->gw_lock);
	oae_gw_changed(&port->gw);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_node_way_use_gw() - apply a new value of the knob use_gw
 * @node: the node
 *
 * The tags follow at their next event.
 *
 * Context: process; under node->knob_lock.
 */
void oae_node_way_use_gw(struct oae_node *node)
{
	hello_all_ports(node, hello_port_use_gw);
}

static void hello_port_nhmac(struct oae_port *port)
{
	if (port->udp)
		return;
	write_seqlock_bh(&port->gw_lock);
	oae_gw_tell(&port->gw, port->node->knobs.nhmac);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_node_way_nhmac() - apply a new value of the knob nhmac
 * @node: the node, with the new value in nhmac
 *
 * Context: process; under RTNL, so that no port with the old value is being bound.
 */
void oae_node_way_nhmac(struct oae_node *node)
{
	hello_all_ports(node, hello_port_nhmac);
}

/**
 * oae_node_way_print() - print the gateways in use
 * @node: the node
 * @buf: the output
 * @size: size of @buf, bytes
 *
 * Prints " MAC", or " DEV/MAC" for each port if there is more than one; nothing for
 * a port without a gateway.
 *
 * Context: any but hard interrupts.
 *
 * Return: characters written.
 */
int oae_node_way_print(struct oae_node *node, char *buf, size_t size)
{
	struct oae_port *port;
	unsigned int ports = 0;
	struct oae_ways ways;
	int n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		ports++;
	list_for_each_entry_rcu(port, &node->ports, list) {
		oae_port_ways(port, &ways);
		if (!ways.gw.known)
			continue;
		if (ports > 1)
			n += scnprintf(buf + n, size - n, " %s/%pM",
				       port->dev->name, ways.gw.mac);
		else
			n += scnprintf(buf + n, size - n, " %pM", ways.gw.mac);
	}
	rcu_read_unlock();
	return n;
}
