// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to the paths of a tag when ports go, come, or have another address
 * (doc/protocol.md section 4.14).
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

static bool path_move(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int i;

	/* It has left since it was looked for: oae_path_settle(). */
	if (!READ_ONCE(tag->key.port->removed))
		return true;
	if (!tag->paths || tag->dead || oae_link_closed(&tag->link))
		return false;
	i = path_next_own(tag);
	return i != OAE_PATHS_MAX && path_become_own(tag, ev, i);
}

/**
 * oae_path_settle() - a link is to have no other path: that in use becomes the own one
 * @tag: the tag, with paths
 * @ev: the event
 *
 * The own paths of the two ends need not be the same, so both take the one that they use; but
 * not before this end knows that the other uses it, too. (Else each asks where the other has no
 * link, both make new ones, and what was committed last is lost.)
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 *
 * Return: false: it cannot be now.
 */
bool oae_path_settle(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int used = tag->paths->paths.used;

	if (!tag->paths->paths.agreed) {
		if (oae_link_senior(&tag->link))
			oae_link_ask(&tag->link, &ev->a);
		return false;
	}
	return used == OAE_PATH_OWN || oae_path_own_gone(tag, ev);
}

/**
 * oae_path_own_gone() - the path in use becomes the own one, of which nothing is left
 * @tag: the tag, with paths; another path than the own one is in use
 * @ev: the event
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 *
 * Return: false: it cannot be now.
 */
bool oae_path_own_gone(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int used = tag->paths->paths.used;

	/* Whoever removes the port looks for its tags once. */
	return !READ_ONCE(oae_tag_path_port(tag, used)->removed) &&
	       path_become_own(tag, ev, used);
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
 * oae_path_port_event() - a port has changed: a tag's paths by it, the own one as well
 * @tag: the tag, with paths
 * @ev: the event
 * @port: the port
 *
 * Context: process; under tag->lock.
 */
void oae_path_port_event(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	bool gone = READ_ONCE(port->removed), came = false;
	struct oae_paths *ps = &tag->paths->paths;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!ps->path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		came |= oae_tag_path_review(tag, ev, i);
		if (gone && i != OAE_PATH_OWN)
			oae_alias_del(tag, i);
	}
	oae_conn_reviewed(&ev->conn, came, ev->now, &ev->a);
}
