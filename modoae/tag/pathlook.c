// SPDX-License-Identifier: GPL-2.0
/*
 * Paths come, change and go (doc/protocol.md section 4.14): with the ports here, and the link
 * with them; by the link's timer, which looks for others, has them probed and gives some up;
 * and through gateways (*Through a gateway*): each end tells the other at which of its addresses
 * it is behind one, and tries those that it was told through the gateway of each of its ports.
 *
 * A path is one through a certain gateway: by that it is proven, and to that its frames go.
 * If the port has another one now, nothing is known of the way through it.
 */
#include "path.h"

#include <linux/etherdevice.h>

/*
 * A port will have another address: by a tag's paths there nothing is sent from the new one
 * before the peer has been asked from there. (Else it answers that it has no such link, or makes
 * another for the SYNC of a stranger.)
 */
static void path_port_renaming(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		if (ps->used == i && ps->path[i].proven)
			ether_addr_copy(tag->paths->was, port->addr);
		oae_conn_renaming(&ev->conn, i, ev->now, &ev->a);
	}
}

/* A port has another address: a tag's paths by it are probed from there. */
static void path_port_renamed(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		oae_conn_renamed(&ev->conn, i, ev->now, &ev->a);
		if (ps->path[i].up)
			oae_tag_path_probe(tag, ev, i);
	}
	oae_conn_reviewed(&ev->conn, false, ev->now, &ev->a);
}

/* Does the link go on if its own port has another address? */
static bool path_may_keep(struct oae_tag *tag, struct oae_run *ev)
{
	return oae_link_knows_paths(&tag->link) && !tag->way.via &&
	       oae_tag_paths_begin(tag, ev);
}

/**
 * oae_path_address_before() - a port will have another address, and its frames come from the old
 *	one until then
 * @tag: the tag; nothing happens if it has no path by the port
 * @arg: the port
 *
 * A link whose own port it is goes on if the peer takes paths, and is not behind a gateway.
 *
 * Context: process; takes tag->lock.
 */
void oae_path_address_before(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	/* Only under the lock a tag has one port: oae_tag_rekey(). */
	oae_run_enter(tag, &ev);
	if (tag->key.port == port ? path_may_keep(tag, &ev) : tag->paths && !tag->dead)
		path_port_renaming(tag, &ev, port);
	oae_run_leave(tag, &ev);
}

/* The own port has another address. */
static void path_own_renamed(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	oae_tag_rank(tag);
	if (!path_may_keep(tag, ev)) {
		oae_link_renamed(&tag->link, ev->now, &ev->a);
		return;
	}
	path_port_renamed(tag, ev, port);
	oae_link_go_on(&tag->link, ev->now, &ev->a);
}

/**
 * oae_path_address() - a port has another address, and its frames come from that
 * @tag: the tag; nothing happens if it has no path by the port
 * @arg: the port
 *
 * The peer learns the new address by a probe, and finds the same end there. If the link does not
 * go on (oae_path_address_before()) this is a new end to it.
 *
 * Context: process; takes tag->lock.
 */
void oae_path_address(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	if (tag->key.port == port)
		path_own_renamed(tag, &ev, port);
	else if (tag->paths && !tag->dead)
		path_port_renamed(tag, &ev, port);
	oae_run_leave(tag, &ev);
}

/* The path that the link moves to, now that its own port goes; OAE_PATHS_MAX none. */
static unsigned int path_next_own(const struct oae_tag *tag)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int i, best = OAE_PATHS_MAX;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || !ps->path[i].up || !ps->path[i].proven ||
		    READ_ONCE(oae_tag_path_port(tag, i)->removed))
			continue;
		if (i == ps->used)
			return i;
		if (best == OAE_PATHS_MAX || ps->path[i].good > ps->path[best].good ||
		    (ps->path[i].good == ps->path[best].good &&
		     oae_path_mtu(&ps->path[i]) > oae_path_mtu(&ps->path[best])))
			best = i;
	}
	return best;
}

/* A path that was said to be lossy is so under another index. */
static void path_said_moves(struct oae_tag_paths *tp, unsigned int i)
{
	bool said = tp->said & 1U << i;

	tp->said &= ~(1U << i | 1U << OAE_PATH_OWN);
	tp->said |= said << OAE_PATH_OWN;
}

/* A path becomes the own one, of which nothing is left. False: there is a tag, or no memory. */
static bool path_become_own(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	struct oae_alias *to = tag->paths->alias[i];
	struct oae_tag_key key;
	u16 mtu;

	key = to->key;
	key.kid &= ~OAE_KID_VIA;
	if (oae_tag_rekey(tag, &key))
		return false;
	tag->way.about = to->way.about;
	/* A frame that finds the alias yet is one by the own path: oae_path_before(). */
	tag->paths->alias[i] = NULL;
	path_said_moves(tag->paths, i);
	oae_tag_rank(tag);
	oae_conn_move(&ev->conn, i, ev->now, &ev->a);
	oae_alias_free_later(tag->node, to);
	oae_count(tag->node, OAE_S_LINKS_MOVED);
	oae_run_apply(tag, ev);
	mtu = oae_tag_way_begin(tag, tag->paths->paths.path[OAE_PATH_OWN].via);
	ev->via = tag->way.via;
	if (tag->paths->paths.used == OAE_PATH_OWN)
		oae_link_set_mtu(&tag->link, mtu, ev->now, &ev->a);
	/*
	 * Whoever tells the port's own tags that it has changed may have missed this one. The key
	 * before the look. Pairs with the smp_mb() in change_tell().
	 */
	smp_mb();
	if (oae_tag_path_review(tag, ev, OAE_PATH_OWN))
		oae_link_port_up(&tag->link, ev->now, &ev->a);
	return true;
}

/*
 * The path in use, which is not the own one, becomes that; of the own one nothing is left. False:
 * it cannot be now.
 */
static bool path_own_gone(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int used = tag->paths->paths.used;

	lockdep_assert_held(&tag->lock);
	/* Whoever removes the port looks for its tags once. */
	return !READ_ONCE(oae_tag_path_port(tag, used)->removed) &&
	       path_become_own(tag, ev, used);
}

/*
 * A link is to have no other path: that in use becomes the own one. False: it cannot be now. The
 * own paths of the two ends need not be the same, so both take the one that they use; but not
 * before this end knows that the other uses it, too. (Else each asks where the other has no link,
 * both make new ones, and what was committed last is lost.)
 */
static bool path_settle(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int used = tag->paths->paths.used;

	lockdep_assert_held(&tag->lock);
	if (!tag->paths->paths.agreed) {
		if (oae_link_senior(&tag->link))
			oae_link_ask(&tag->link, &ev->a);
		return false;
	}
	return used == OAE_PATH_OWN || path_own_gone(tag, ev);
}

static bool path_move(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int i;

	/* It has left since it was looked for: path_settle(). */
	if (!READ_ONCE(tag->key.port->removed))
		return true;
	if (!tag->paths || tag->dead || oae_link_closed(&tag->link))
		return false;
	i = path_next_own(tag);
	return i != OAE_PATHS_MAX && path_become_own(tag, ev, i);
}

/**
 * oae_path_move() - the own port of a tag goes: the link goes on by another path
 * @tag: the tag, to which the caller has a reference
 *
 * From now on that is its own path, and it is found in the table by that.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: false if it has no other path.
 */
bool oae_path_move(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;
	bool moved;

	oae_run_enter(tag, &ev);
	moved = path_move(tag, &ev);
	oae_run_leave(tag, &ev);
	return moved;
}

/**
 * oae_guess_move() - the peer of a tag was heard at another port
 * @tag: the tag; nothing happens if its peer has answered meanwhile, or somebody has named the port
 * @port: the port
 * @kid: channel and address of the peer there; nothing happens if a link has them
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_guess_move(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	struct oae_tag_key key = { .port = port, .kid = kid };
	struct oae_run ev oae_uninit;
	unsigned int i;
	u16 mtu;

	oae_run_enter(tag, &ev);
	/* Whoever removes the port looks for its tags once. */
	if (oae_guess_may_move(tag, kid) && !READ_ONCE(port->removed) &&
	    !oae_path_find(port, kid, &i) && !oae_tag_rekey(tag, &key)) {
		oae_guess_relist(tag);
		oae_tag_rank(tag);
		mtu = oae_tag_way_begin(tag, false);
		ev.via = tag->way.via;
		oae_link_set_mtu(&tag->link, mtu, ev.now, &ev.a);
		/*
		 * Whoever tells the port's own tags that it has changed may have missed this one.
		 * The key before the look. Pairs with the smp_mb() in change_tell().
		 */
		smp_mb();
		if (READ_ONCE(port->up))
			oae_link_port_up(&tag->link, ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
}

/* A port has changed: a tag's paths by it, the own one as well. */
void oae_path_port_event(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	bool gone = READ_ONCE(port->removed), came = false;
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	lockdep_assert_held(&tag->lock);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		came |= oae_tag_path_review(tag, ev, i);
		if (gone && i != OAE_PATH_OWN)
			oae_alias_del(tag, i);
	}
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

/* Is a place that where the own path leads, with no other port here to go there by? */
static bool gw_is_own(const struct oae_tag *tag, const u8 *place)
{
	struct oae_port *port[GW_PORTS];
	unsigned int n = gw_ports(tag->node, port);
	u8 own[ETH_ALEN];

	oae_kid_mac(tag->key.kid, own);
	return ether_addr_equal(own, place) && (!n || (n == 1 && port[0] == tag->key.port));
}

/*
 * The peer has told where it is behind a gateway, and its id. False: it is malformed, or there is
 * no memory.
 */
bool oae_path_place(struct oae_tag *tag, struct oae_run *ev, const struct oae_frame *f)
{
	struct oae_tag_paths *tp;
	struct oae_link_mark mark;
	unsigned int i;

	lockdep_assert_held(&tag->lock);
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

/*
 * Try where the peer is behind a gateway. One path a time: each port, and each place, has its
 * turn.
 */
static void gw_look(struct oae_tag *tag)
{
	struct oae_tag_paths *tp = tag->paths;
	struct oae_port *port[GW_PORTS];
	struct oae_link_mark mark;
	unsigned int i, n, at;
	u64 kid;

	lockdep_assert_held(&tag->lock);
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

/*
 * A keepalive time is over: have the peer told, when the event ends, where this end is behind a
 * gateway. One of the ports each time; that may be lost, so each is told of again.
 */
static void gw_tell(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port[GW_PORTS];
	unsigned int n;

	lockdep_assert_held(&tag->lock);
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

/*
 * Where the peer was heard. Its id is remembered: the neighbour at the path in use may
 * have left, or have another address now.
 */
static unsigned int path_neighbours(struct oae_tag *tag, struct oae_neigh_where *where,
				    unsigned int max)
{
	unsigned int used = tag->paths ? tag->paths->paths.used : OAE_PATH_OWN;
	const struct oae_port *port = tag->paths ? oae_tag_path_port(tag, used) : tag->key.port;
	u64 kid = tag->paths ? oae_tag_path_kid(tag, used) : tag->key.kid, id;
	u8 mac[ETH_ALEN];

	oae_kid_mac(kid, mac);
	id = oae_neigh_id(tag->node, port, mac);
	if (id) {
		tag->peer_id = id;
		return oae_neigh_others(tag->node, port, mac, where, max);
	}
	return tag->peer_id ? oae_neigh_of_id(tag->node, tag->peer_id, where, max) : 0;
}

/*
 * Where else the peer was heard: each such place is a path to be tried. There may be more of
 * them than paths, since whoever claims the peer's id makes some: so each has its turn.
 */
static void path_look(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_neigh_where where[OAE_NEIGH_AN_ID], *at;
	unsigned int i, n, first;
	u64 kid;

	n = path_neighbours(tag, where, ARRAY_SIZE(where));
	if (!n || !oae_tag_paths_begin(tag, ev))
		return;
	first = tag->paths->turn;
	for (i = 0; i < n; i++) {
		at = &where[(first + i) % n];
		kid = oae_kid(tag->key.kid >> 56, at->mac);
		if (oae_tag_path_index(tag, at->port, kid) == OAE_PATHS_MAX &&
		    oae_alias_add(tag, at->port, kid, OAE_ALIAS_SAID) >= 0)
			tag->paths->turn = (first + i + 1) % n;
	}
}

/*
 * The knob has been lowered: fewer paths, or that in use alone. Then the peer has to know before
 * another is forgotten, which it may use, or go over to: a new run says so. It has to know, too,
 * if there is no other: with another address it would count on being found there by a probe.
 */
static void path_shrink(struct oae_tag *tag, struct oae_run *ev)
{
	bool takes = oae_link_takes_paths(&tag->link);
	unsigned int most = takes ? READ_ONCE(tag->node->knobs.paths) : 1, i;
	struct oae_paths *ps;

	if (most == 1 && takes) {
		oae_link_port_down(&tag->link, ev->now, &ev->a);
		return;
	}
	if (!tag->paths || oae_tag_paths_count(tag) <= most)
		return;
	ps = &tag->paths->paths;
	if (most == 1 && !path_settle(tag, ev))
		return;
	for (i = OAE_PATHS_MAX - 1; i > OAE_PATH_OWN && oae_tag_paths_count(tag) > most; i--)
		if (i != ps->used && (most == 1 || !oae_path_busy(ps, i)))
			oae_alias_del(tag, i);
}

/*
 * Paths that have been silent for long make room for others. Where the peer was, before it came
 * from elsewhere, nobody looks for it again before a neighbour is heard there.
 */
static void path_tidy(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;
	u8 mac[ETH_ALEN];

	/* The own one last: another one takes its index. */
	for (i = OAE_PATHS_MAX; i-- > OAE_PATH_OWN;) {
		if (!oae_path_hopeless(ps, i, &tag->link) ||
		    (i == OAE_PATH_OWN && oae_link_state(&tag->link) != OAE_OPEN))
			continue;
		if (oae_path_was_used(ps, i)) {
			oae_kid_mac(oae_tag_path_kid(tag, i), mac);
			oae_neigh_gone(tag->node, oae_tag_path_port(tag, i), mac);
		}
		if (i == OAE_PATH_OWN)
			path_own_gone(tag, ev);
		else
			oae_alias_del(tag, i);
	}
}

/* The link's timer has fired: look for paths and probe them. */
void oae_path_timer(struct oae_tag *tag, struct oae_run *ev)
{
	u32 now = jiffies, keepalive = msecs_to_jiffies(READ_ONCE(tag->node->knobs.keepalive_ms));

	lockdep_assert_held(&tag->lock);
	if (oae_link_state(&tag->link) == OAE_OPEN)
		path_shrink(tag, ev);
	if (!oae_link_knows_paths(&tag->link))
		return;
	if (now - tag->paths_at >= keepalive) {
		tag->paths_at = now;
		path_look(tag, ev);
		gw_look(tag);
		gw_tell(tag, ev);
		if (tag->paths)
			path_tidy(tag, ev);
	}
	if (!tag->paths)
		return;
	oae_tag_path_gateways(tag, ev);
	ev->out.probe |= oae_conn_timer(&ev->conn, oae_path_nonce(tag, ev), ev->now, &ev->a);
}
