// SPDX-License-Identifier: GPL-2.0
/*
 * Paths through gateways (doc/protocol.md section 4.14, *Through a gateway*): each end tells
 * the other at which of its addresses it is behind one, and tries those that it was told
 * through the gateway of each of its ports.
 *
 * A path is one through a certain gateway: by that it is proven, and to that its frames go.
 * If the port has another one now, nothing is known of the way through it.
 */
#include "path.h"

#include <linux/etherdevice.h>

#define GW_PORTS	8	/* of a node, behind a gateway, that are told of and tried */
#define GW_PATHS	3	/* of a link, that are tried from here: others need room, too */
#define GW_TOLD		8	/* keepalive times in a row in which the peer is told */
#define GW_SELDOM	16	/* and then once in so many */

/* The ports with a gateway that is used. */
static unsigned int gw_ports(const struct oae_node *node, struct oae_port **to)
{
	struct oae_ways ways;
	struct oae_port *port;
	unsigned int n = 0;

	list_for_each_entry_rcu(port, &node->ports, list) {
		if (n == GW_PORTS || READ_ONCE(port->removed) || !READ_ONCE(port->up) ||
		    !READ_ONCE(port->gw.known))
			continue;
		oae_port_ways(port, &ways);
		if (oae_ways_has(&ways, true))
			to[n++] = port;
	}
	return n;
}

/* Measure a path as it is now. False: it goes through another gateway than before. */
static bool gw_measure(struct oae_alias *alias, struct oae_path *p, bool *up)
{
	struct oae_port *port = alias->key.port;
	bool via = alias->key.kid & OAE_KID_VIA, same = true;
	struct oae_ways ways;

	oae_port_ways(port, &ways);
	alias->way.gen = ways.gw.gen;
	alias->way.via = via;
	*up = READ_ONCE(port->up) && !READ_ONCE(port->removed) && oae_ways_has(&ways, via);
	oae_path_set_mtu(p, oae_way_mtu(&alias->way, &ways));
	if (via && *up) {
		same = ether_addr_equal(alias->gw, ways.gw.mac);
		ether_addr_copy(alias->gw, ways.gw.mac);
	}
	return same;
}

/**
 * oae_alias_measure() - find out what is true of a path that is being added
 * @alias: where it leads
 * @p: the path; @up, @mtu and @via are set
 *
 * Context: under tag->lock.
 */
void oae_alias_measure(struct oae_alias *alias, struct oae_path *p)
{
	gw_measure(alias, p, &p->up);
	p->via = alias->way.via;
}

/**
 * oae_tag_path_own() - the way of a tag may have changed, and so has its own path
 * @tag: the tag, with paths
 *
 * Context: under tag->lock.
 */
void oae_tag_path_own(struct oae_tag *tag)
{
	struct oae_path *own = &tag->paths->paths.path[OAE_PATH_OWN];

	own->via = tag->way.via;
	oae_path_set_mtu(own, oae_tag_way_mtu(tag));
}

/**
 * oae_tag_path_review() - the port of a path has changed, or its gateway
 * @tag: the tag, with paths
 * @ev: the event; oae_conn_reviewed() follows
 * @i: index of the path
 *
 * Context: under tag->lock.
 *
 * Return: true if its port carries frames now, and did not before.
 */
bool oae_tag_path_review(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	struct oae_alias *alias = tag->paths->alias[i];
	const struct oae_port *port = tag->key.port;
	bool up, same = true;

	if (alias) {
		same = gw_measure(alias, &tag->paths->paths.path[i], &up);
	} else {
		up = READ_ONCE(port->up) && !READ_ONCE(port->removed);
		oae_tag_path_own(tag);
	}
	return oae_conn_review(&ev->conn, i, up, same, ev->now, &ev->a);
}

/**
 * oae_tag_path_gateways() - look whether the gateways of paths have changed
 * @tag: the tag, with paths
 * @ev: the event
 *
 * Context: under tag->lock.
 */
void oae_tag_path_gateways(struct oae_tag *tag, struct oae_run *ev)
{
	bool came = false, any = false;
	const struct oae_alias *alias;
	unsigned int i;

	oae_tag_path_own(tag);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		alias = tag->paths->alias[i];
		if (!alias || alias->way.gen == READ_ONCE(alias->key.port->gw.gen))
			continue;
		any = true;
		came |= oae_tag_path_review(tag, ev, i);
	}
	if (any)
		oae_conn_reviewed(&ev->conn, came, ev->now, &ev->a);
}

/**
 * oae_path_about() - a gateway has said what it carries to the peer of a path
 * @port: the port
 * @kid: channel and address of that peer
 * @about: from the gateway's HELLO ABOUT
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock(); takes tag->lock.
 */
void oae_path_about(struct oae_port *port, u64 kid, const struct oae_about *about)
{
	struct oae_run ev oae_uninit;
	struct oae_tag *tag;
	unsigned int i;

	if (likely(!atomic_read(&port->node->naliases)))
		return;
	tag = oae_path_find(port, kid | OAE_KID_VIA, &i);
	if (!tag)
		return;
	oae_run_enter(tag, &ev);
	i = tag->paths ? oae_tag_path_index(tag, port, kid | OAE_KID_VIA) : OAE_PATHS_MAX;
	if (i != OAE_PATHS_MAX) {
		tag->paths->alias[i]->way.about = *about;
		oae_conn_reviewed(&ev.conn, oae_tag_path_review(tag, &ev, i), ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
}

/* Is a place that where the own path leads, with no other port here to go there by? */
static bool gw_is_own(const struct oae_tag *tag, const u8 *place)
{
	struct oae_port *port[GW_PORTS];
	unsigned int n = gw_ports(tag->node, port);
	u8 own[ETH_ALEN];

	oae_kid_mac(tag->key.kid, own);
	return ether_addr_equal(own, place) && (!n || (n == 1 && port[0] == tag->key.port));
}

/**
 * oae_path_place() - the peer has told where it is behind a gateway, and its id
 * @tag: the tag
 * @ev: the event
 * @f: the frame, whose proof holds
 *
 * Context: under tag->lock; under rcu_read_lock().
 *
 * Return: false: it is malformed, or there is no memory.
 */
bool oae_path_place(struct oae_tag *tag, struct oae_run *ev, const struct oae_frame *f)
{
	struct oae_tag_paths *tp;
	struct oae_link_mark mark;
	unsigned int i;

	if (!is_valid_ether_addr(f->path.from) || f->path.nonce < OAE_ID_LEAST)
		return false;
	tag->peer_id = f->path.nonce;
	/* Most links through gateways need nothing of this. */
	if (gw_is_own(tag, f->path.from))
		return true;
	if (!oae_tag_paths_begin(tag, ev))
		return false;
	tp = tag->paths;
	oae_link_mark(&tag->link, &mark);
	if (tp->place_inc != mark.peer_inc)
		tp->nplaces = 0;
	tp->place_inc = mark.peer_inc;
	for (i = 0; i < tp->nplaces; i++)
		if (ether_addr_equal(tp->place[i], f->path.from))
			return true;
	if (tp->nplaces < OAE_PATH_PLACES)
		i = tp->nplaces++;
	else
		i = tp->place_turn++ % OAE_PATH_PLACES;
	ether_addr_copy(tp->place[i], f->path.from);
	return true;
}

/* As many paths through gateways as are tried at a time. */
static bool gw_enough(const struct oae_tag *tag)
{
	const struct oae_path *p;
	unsigned int i, n = 0;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		p = &tag->paths->paths.path[i];
		n += p->there && p->via;
	}
	return n >= GW_PATHS;
}

/**
 * oae_path_gw_look() - try where the peer is behind a gateway
 * @tag: the tag
 *
 * One path a time: each port, and each place, has its turn.
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
void oae_path_gw_look(struct oae_tag *tag)
{
	struct oae_tag_paths *tp = tag->paths;
	struct oae_port *port[GW_PORTS];
	struct oae_link_mark mark;
	unsigned int i, n, at;
	u64 kid;

	if (!tp || !tp->nplaces || !oae_link_knows_gateway(&tag->link) || gw_enough(tag))
		return;
	oae_link_mark(&tag->link, &mark);
	if (tp->place_inc != mark.peer_inc)
		return;
	n = gw_ports(tag->node, port) * tp->nplaces;
	for (i = 0; i < n; i++) {
		at = (tp->gw_turn + i) % n;
		kid = oae_kid(tag->key.kid >> 56, tp->place[at % tp->nplaces]) | OAE_KID_VIA;
		if (oae_tag_path_index(tag, port[at / tp->nplaces], kid) != OAE_PATHS_MAX ||
		    oae_alias_add(tag, port[at / tp->nplaces], kid,
				  OAE_ALIAS_SAID) < 0)
			continue;
		tp->gw_turn = at + 1;
		return;
	}
}

/**
 * oae_path_gw_tell() - have the peer told, when the event ends, where this end is behind a
 *	gateway
 * @tag: the tag
 * @ev: the event: the timer has fired, and the keepalive time is over
 *
 * By the path in use. One of the ports each time; that may be lost, so each is told of again.
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
void oae_path_gw_tell(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port[GW_PORTS];
	unsigned int n;

	if (!oae_link_knows_gateway(&tag->link) || oae_link_state(&tag->link) != OAE_OPEN) {
		tag->told = 0;
		return;
	}
	n = gw_ports(tag->node, port);
	if (n != tag->gw_ports)
		tag->told = 0;
	tag->gw_ports = n;
	if (!n)
		return;
	/* A byte counts it, and begins again behind a multiple. */
	tag->told = tag->told < 15 * GW_SELDOM ? tag->told + 1 : GW_SELDOM + 1;
	if (tag->told > GW_TOLD && tag->told % GW_SELDOM)
		return;
	ev->out.tell = true;
	oae_path_keys(tag, &ev->out);
	ether_addr_copy(ev->out.place, port[tag->tell_turn++ % n]->addr);
}
