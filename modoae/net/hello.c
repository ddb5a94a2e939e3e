// SPDX-License-Identifier: GPL-2.0
/*
 * The gateway of a port: HELLO, and frames of no tag through it
 * (doc/protocol.md section 4.8). The ways of tags: tag/way.c.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/jiffies.h>

#include "net.h"

#define HELLO_UNIT_MS	100	/* of life and node_life */

static bool gw_silent(const struct oae_gw *gw)
{
	return time_after(jiffies, gw->heard + gw->life);
}

/* What the tags of the port have found of it is void. */
static void gw_changed(struct oae_gw *gw)
{
	WRITE_ONCE(gw->gen, gw->gen + 1);
}

/* Nothing is known but what was told. */
static void gw_forget(struct oae_gw *gw)
{
	gw->known = gw->told;
	gw->mtu = 0;
	gw->inc = 0;
	gw->answered = 0;
	gw_changed(gw);
}

static void gw_tell(struct oae_gw *gw, const u8 *mac)
{
	bool same = gw->known && ether_addr_equal(gw->mac, mac);

	gw->told = !is_zero_ether_addr(mac);
	if (gw->told && !same)
		ether_addr_copy(gw->mac, mac);
	/* What was heard of the one that is told stays good. */
	if (gw->told ? !same : !gw->inc)
		gw_forget(gw);
	gw_changed(gw);
}

/**
 * oae_path_init() - a new port: no gateway is known but one that is told
 * @port: nobody else knows it yet
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_init(struct oae_port *port)
{
	seqlock_init(&port->gw_lock);
	gw_tell(&port->gw, port->node->nhmac);
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

/* Say HELLO, if a gateway is there and may be used; and note that it heard. */
static void hello_gateway(struct oae_port *port, u8 flags)
{
	u8 mac[ETH_ALEN];
	bool known;

	write_seqlock_bh(&port->gw_lock);
	known = port->gw.known;
	ether_addr_copy(mac, port->gw.mac);
	port->gw.answered = flags & OAE_HELLO_LEAVING ? 0 : port->gw.inc;
	port->gw.answered_at = jiffies;
	write_sequnlock_bh(&port->gw_lock);
	if (known)
		hello_send(port, mac, flags);
}

static bool hello_ok(const struct oae_frame *f, const u8 *from)
{
	u8 flags = f->hello.flags;

	if (flags & ~OAE_HELLO_ALL || !is_valid_ether_addr(from) ||
	    !f->hello.zone || !f->hello.inc)
		return false;
	if (flags & OAE_HELLO_LEAVING)
		return true;
	if (flags & OAE_HELLO_ABOUT && !is_valid_ether_addr(f->hello.about))
		return false;
	return f->hello.life && f->hello.mtu >= OAE_GW_MIN_MTU;
}

/* The port's gateway speaks, or one that becomes it. */
static void gw_hear(struct oae_gw *gw, const u8 *from,
		    const struct oae_frame *f)
{
	bool new = !gw->known || !ether_addr_equal(gw->mac, from);
	bool about = f->hello.flags & OAE_HELLO_ABOUT;
	u16 mtu = f->hello.mtu;

	if (new) {
		gw_forget(gw);
		ether_addr_copy(gw->mac, from);
		gw->known = true;
	}
	/* Of one peer alone: of the others it says nothing new. */
	if (about)
		mtu = gw->mtu;
	if (gw->inc != f->hello.inc || gw->epoch != f->hello.epoch ||
	    gw->mtu != mtu)
		gw_changed(gw);
	gw->inc = f->hello.inc;
	gw->epoch = f->hello.epoch;
	gw->mtu = mtu;
	gw->heard = jiffies;
	gw->life = msecs_to_jiffies(f->hello.life * HELLO_UNIT_MS);
}

static bool gw_wants_answer(const struct oae_gw *gw, const struct oae_frame *f)
{
	unsigned int third = f->hello.node_life * HELLO_UNIT_MS / 3;

	return f->hello.flags & OAE_HELLO_ASK || gw->answered != gw->inc ||
	       time_after(jiffies, gw->answered_at + msecs_to_jiffies(third));
}

enum hello_heard {
	HELLO_NOT_TAKEN,
	HELLO_TAKEN,
	HELLO_NEWS,		/* taken; another gateway, or another run of it */
	HELLO_LEFT,		/* taken; there is no gateway any more */
};

/* What a good HELLO of a gateway changes. */
static enum hello_heard gw_hello(struct oae_port *port, const u8 *from,
				 const struct oae_frame *f, bool *answer)
{
	enum hello_heard heard = HELLO_NOT_TAKEN;
	struct oae_gw *gw = &port->gw;
	bool leaving = f->hello.flags & OAE_HELLO_LEAVING;
	bool same;
	u32 inc;

	*answer = false;
	write_seqlock_bh(&port->gw_lock);
	same = gw->known && ether_addr_equal(gw->mac, from);
	inc = gw->inc;
	if (same ? leaving && f->hello.inc != inc :
	    leaving || gw->told || (gw->known && !gw_silent(gw)))
		goto out;
	if (leaving) {
		gw_forget(gw);
		heard = HELLO_LEFT;
	} else {
		gw_hear(gw, from, f);
		*answer = gw_wants_answer(gw, f);
		heard = !same || inc != gw->inc ? HELLO_NEWS : HELLO_TAKEN;
	}
out:
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
		oae_tag_way(tag, &about);
}

static void say(const struct oae_port *port, const u8 *from,
		const struct oae_frame *f, enum hello_heard heard)
{
	if (!READ_ONCE(port->node->knobs.verbose) ||
	    !oae_may_log(port->node->net))
		return;
	if (heard == HELLO_NEWS)
		net_info_ratelimited("port %s: gateway %pM, zone %u, MTU %u\n",
				     port->dev->name, from, f->hello.zone,
				     f->hello.mtu);
	else if (heard == HELLO_LEFT)
		net_info_ratelimited("port %s: gateway %pM has left\n",
				     port->dev->name, from);
}

/**
 * oae_path_hello() - a HELLO has come in
 * @port: where
 * @from: the Ethernet source
 * @f: the frame, parsed and verified
 *
 * Takes those of the port's gateway, and makes the first one that speaks, or
 * the first once that is silent, the port's gateway. A malformed one is
 * counted and not looked at further.
 *
 * Context: softirq (or BH disabled), RCU read lock held, no other lock.
 *
 * Return: true if it has been dealt with.
 */
bool oae_path_hello(struct oae_port *port, const u8 *from,
		    const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	enum hello_heard heard;
	bool answer;

	if (!(f->hello.flags & OAE_HELLO_GATEWAY) || f->flags & OAE_F_VIA ||
	    ether_addr_equal(from, port->dev->dev_addr))
		return false;
	if (!hello_ok(f, from)) {
		oae_count(node, OAE_S_BAD + OAE_BAD_FIELD);
		return true;
	}
	heard = gw_hello(port, from, f, &answer);
	if (heard == HELLO_NOT_TAKEN)
		return false;

	oae_count(node, OAE_S_HELLO_HEARD);
	say(port, from, f, heard);
	if (f->hello.flags & OAE_HELLO_ABOUT && heard != HELLO_LEFT)
		hello_about(port, f);
	/* Who does not use it does not want to be reached through it. */
	if (answer && oae_port_use_gw(port) != OAE_GW_NEVER && oae_may_answer(node))
		hello_gateway(port, 0);
	return true;
}

/**
 * oae_path_announce() - tell the gateway that this port is there
 * @port: has another address now, maybe
 *
 * Context: process or softirq, no lock held but RTNL.
 */
void oae_path_announce(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (oae_port_use_gw(port) != OAE_GW_NEVER)
		hello_gateway(port, 0);
	rcu_read_unlock_bh();
}

/**
 * oae_path_leave() - tell the gateway to forget this port
 * @port: is being released, or is about to change its address; its device is
 *	there
 *
 * Context: process, no lock held but RTNL.
 */
void oae_path_leave(struct oae_port *port)
{
	rcu_read_lock_bh();
	if (netif_running(port->dev))
		hello_gateway(port, OAE_HELLO_LEAVING);
	rcu_read_unlock_bh();
}

/* Frames of no tag, and those that come in */

/**
 * oae_path_via() - may this frame with VIA come in?
 * @port: where it did
 * @from: the Ethernet source
 * @f: the frame, parsed and verified, flag VIA
 * @peer: filled in if it may: the original source; any address yet
 *
 * Context: any but hard interrupts, RCU read lock held.
 *
 * Return: true if the port's gateway sent it, for this port.
 */
bool oae_path_via(struct oae_port *port, const u8 *from,
		  const struct oae_frame *f, u8 peer[ETH_ALEN])
{
	struct oae_gw gw;

	oae_port_gw(port, &gw);
	if (oae_port_use_gw(port) == OAE_GW_NEVER || !oae_gw_usable(port, &gw) ||
	    !ether_addr_equal(gw.mac, from) ||
	    !ether_addr_equal(f->via, port->dev->dev_addr))
		return false;
	memcpy(peer, f->via + ETH_ALEN, ETH_ALEN);
	return true;
}

/**
 * oae_path_back() - the way to answer a frame that belongs to no tag
 * @port: where it came in
 * @question: the frame
 * @dest: who sent it; changed to the gateway if that is the way
 * @f: the answer; gets the extension then
 *
 * It goes back the way that the frame came, unless use_gw says which.
 *
 * Context: any but hard interrupts, RCU read lock held.
 *
 * Return: false if there is no way, which is counted.
 */
bool oae_path_back(struct oae_port *port, const struct oae_frame *question,
		   u8 dest[ETH_ALEN], struct oae_frame *f)
{
	unsigned int use = oae_port_use_gw(port);

	if (use == OAE_GW_NEVER ||
	    (use == OAE_GW_AUTO && !(question->flags & OAE_F_VIA)))
		return true;
	oae_path_mark(port, dest, f);
	if (oae_path_gateway(port, dest))
		return true;
	oae_count(port->node, OAE_S_NO_GATEWAY);
	return false;
}

/* The knobs */

static void all_ports(struct oae_node *node,
		      void (*fn)(struct oae_port *port))
{
	struct oae_port *port;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		fn(port);
	rcu_read_unlock();
}

static void port_use_gw(struct oae_port *port)
{
	if (oae_port_use_gw(port) == OAE_GW_NEVER)
		oae_path_leave(port);
	write_seqlock_bh(&port->gw_lock);
	gw_changed(&port->gw);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_path_use_gw() - the knob use_gw has been written
 * @node: where
 *
 * The tags notice at their next event.
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_use_gw(struct oae_node *node)
{
	all_ports(node, port_use_gw);
}

static void port_nhmac(struct oae_port *port)
{
	write_seqlock_bh(&port->gw_lock);
	gw_tell(&port->gw, port->node->nhmac);
	write_sequnlock_bh(&port->gw_lock);
}

/**
 * oae_path_nhmac() - the knob nhmac has been written
 * @node: where; its nhmac is what was
 *
 * Context: process, under kernel_param_lock.
 */
void oae_path_nhmac(struct oae_node *node)
{
	all_ports(node, port_nhmac);
}

/**
 * oae_path_print() - the gateways in use
 * @node: where
 * @buf: where to
 * @size: bytes there
 *
 * Context: any but hard interrupts.
 *
 * Return: characters written: " MAC", or " DEV/MAC" for each port if there is
 * more than one; nothing for a port without.
 */
int oae_path_print(struct oae_node *node, char *buf, size_t size)
{
	struct oae_port *port;
	unsigned int ports = 0;
	struct oae_gw gw;
	int n = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		ports++;
	list_for_each_entry_rcu(port, &node->ports, list) {
		oae_port_gw(port, &gw);
		if (!gw.known)
			continue;
		if (ports > 1)
			n += scnprintf(buf + n, size - n, " %s/%pM",
				       port->dev->name, gw.mac);
		else
			n += scnprintf(buf + n, size - n, " %pM", gw.mac);
	}
	rcu_read_unlock();
	return n;
}
