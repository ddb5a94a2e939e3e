// SPDX-License-Identifier: GPL-2.0
/*
 * Which port and which MAC an address means, whoever gives it (doc/protocol.md section 4.13).
 */
#include "net.h"

#include <linux/etherdevice.h>

/* What speaks for a port, where the address names none: the greatest is meant. */
enum resolve_claim {
	RESOLVE_FIRST,	/* nothing: then the first port is meant */
	RESOLVE_SAID,	/* whoever has a route to it says that he has this address */
	RESOLVE_DOWN,	/* a link has a path there, and is down */
	RESOLVE_HEARD,	/* somebody was heard there with this address */
	RESOLVE_PATH,	/* a link has a path there */
};

/* @silent: since when nobody was heard there, ms */
static enum resolve_claim resolve_claim(struct oae_port *port, u8 vc, const u8 *mac, u32 *silent)
{
	struct oae_tag *tag = oae_path_proven(port, oae_kid(vc, mac));

	*silent = port->udp ? oae_udp_silent(port, mac) : oae_neigh_silent(port->node, port, mac);
	/* He can open a link in that name, too (protocol 4.15), be it in `peers` or not. */
	if (port->udp && !oae_udp_configured(port, mac) && (!tag || oae_tag_by_peer(tag)))
		return tag || *silent != U32_MAX ? RESOLVE_SAID : RESOLVE_FIRST;
	if (tag && !oae_link_down(&tag->link))
		return RESOLVE_PATH;
	if (*silent != U32_MAX)
		return RESOLVE_HEARD;
	return tag ? RESOLVE_DOWN : RESOLVE_FIRST;
}

/*
 * The port that an address means which names none, and what speaks for it; NULL: there is none.
 * Under rcu_read_lock().
 */
static struct oae_port *resolve_port(struct oae_node *node, const struct oae_addr *addr, u8 vc,
				     enum resolve_claim *why)
{
	enum resolve_claim claim, most = RESOLVE_FIRST;
	struct oae_port *port, *best = NULL;
	u32 silent, least = U32_MAX;
	u8 mac[ETH_ALEN];

	list_for_each_entry_rcu(port, &node->ports, list) {
		if (READ_ONCE(port->removed))
			continue;
		oae_addr_under(addr, port, mac);
		claim = resolve_claim(port, vc, mac, &silent);
		if (best && (claim < most || (claim == most && silent >= least)))
			continue;
		best = port;
		most = claim;
		least = silent;
	}
	*why = most;
	return best && refcount_inc_not_zero(&best->ref) ? best : NULL;
}

/* Under rcu_read_lock(). */
static int resolve_id(struct oae_node *node, const struct oae_addr *addr,
		      struct oae_port **port, u8 mac[ETH_ALEN])
{
	struct oae_neigh_where at;

	if (list_empty(&node->ports))
		return -ENODEV;
	if (addr->id == node->knobs.id)
		return -EINVAL;
	if (!oae_addr_find_id(node, addr, NULL, &at) || !refcount_inc_not_zero(&at.port->ref))
		return -EHOSTUNREACH;
	*port = at.port;
	memcpy(mac, at.mac, ETH_ALEN);
	return 0;
}

static int resolve_mac(struct oae_node *node, const struct oae_addr *addr, u8 vc,
		       struct oae_port **port, u8 mac[ETH_ALEN])
{
	enum resolve_claim why;
	struct oae_port *p = addr->dev[0] ? oae_port_find(node, addr->dev) :
					    resolve_port(node, addr, vc, &why);

	if (!p)
		return -ENODEV;
	oae_addr_under(addr, p, mac);
	if (ether_addr_equal_unaligned(mac, p->dev->dev_addr)) {
		oae_port_put(p);
		return -EINVAL;
	}
	*port = p;
	return 0;
}

/**
 * oae_addr_resolve() - find the port and the MAC that an address means
 * @node: the node
 * @addr: the address, which does not change meanwhile
 * @vc: virtual channel
 * @port: set to the port, with a reference, if 0 is returned
 * @mac: filled in if 0 is returned
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 0; -EDESTADDRREQ @addr is not set; -ENODEV no such port, or none at
 * all; -EHOSTUNREACH it is an id that was not heard; -EINVAL the port's own address,
 * or the node's own id.
 */
int oae_addr_resolve(struct oae_node *node, const struct oae_addr *addr, u8 vc,
		     struct oae_port **port, u8 mac[ETH_ALEN])
{
	int err;

	if (!addr->set)
		return -EDESTADDRREQ;
	rcu_read_lock();
	if (addr->id)
		err = resolve_id(node, addr, port, mac);
	else
		err = resolve_mac(node, addr, vc, port, mac);
	rcu_read_unlock();
	return err;
}

/* Does `target` name this port for this peer? */
static bool resolve_is_target(struct oae_node *node, const struct oae_port *port, const u8 *mac)
{
	struct oae_addr target;

	oae_target(node, &target);
	return target.dev[0] && oae_addr_covers(&target, port, mac);
}

/* The port of a tag is a guess: has its peer been heard at another one? */
static void resolve_guess(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	struct oae_port *port = NULL;
	enum resolve_claim why;
	struct oae_addr addr;
	u8 vc, mac[ETH_ALEN];

	if (!oae_guess_addr(tag, &addr, &vc))
		return;
	rcu_read_lock();
	/* The device of a tag that is not dead is there until this section ends. */
	if (!READ_ONCE(tag->dead) && !resolve_is_target(node, READ_ONCE(tag->key.port), addr.mac))
		port = resolve_port(node, &addr, vc, &why);
	if (port)
		oae_addr_under(&addr, port, mac);
	rcu_read_unlock();
	if (!port)
		return;
	if ((why == RESOLVE_HEARD || why == RESOLVE_SAID) && port != READ_ONCE(tag->key.port))
		oae_guess_move(tag, port, oae_kid(vc, mac));
	oae_port_put(port);
}

/**
 * oae_addr_used() - a tag is used that an address means
 * @addr: the address; nothing happens if it names a port or an id
 * @tag: the tag, perhaps dead
 *
 * If the address names no port, and its peer has not answered yet, that may be heard at another
 * one than was thought: then the tag goes there.
 *
 * Context: process, may sleep; takes tag->lock.
 */
void oae_addr_used(const struct oae_addr *addr, struct oae_tag *tag)
{
	if (addr->dev[0] || addr->id)
		return;
	/* Listed before the look: whoever is heard from now on has it looked for again. */
	if (oae_guess_add(tag, addr))
		resolve_guess(tag);
}

/**
 * oae_addr_asks() - a peer asks for a link where there is none: it may be the peer of a tag at
 *	another port
 * @port: the port that heard it
 * @kid: vc and address
 *
 * It can hear what is sent to it there: it has named a cookie.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 *
 * Return: the tag, which has moved to the port; or NULL.
 */
struct oae_tag *oae_addr_asks(struct oae_port *port, u64 kid)
{
	struct oae_tag *tag = oae_guess_of(port->node, kid);
	u8 mac[ETH_ALEN];

	oae_kid_mac(kid, mac);
	if (!tag || resolve_is_target(port->node, READ_ONCE(tag->key.port), mac))
		return NULL;
	/* A stranger with a route does not take the place of a neighbour that is heard. */
	if (port->udp && !oae_udp_configured(port, mac) &&
	    oae_neigh_silent(port->node, READ_ONCE(tag->key.port), mac) != U32_MAX)
		return NULL;
	oae_guess_move(tag, port, kid);
	return oae_tag_find(port, kid) == tag ? tag : NULL;
}

/**
 * oae_addr_heard() - a neighbour was heard somewhere: it may be the peer of tags at another port
 * @node: the node
 *
 * Context: process, may sleep; takes tag->lock; one at a time.
 */
void oae_addr_heard(struct oae_node *node)
{
	oae_guesses_for_each(node, resolve_guess);
}
