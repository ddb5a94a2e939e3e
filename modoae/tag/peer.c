// SPDX-License-Identifier: GPL-2.0
/*
 * Who comes from elsewhere, and one link a peer. A PATH frame names a link, and proves that its
 * sender is the peer. A SYNC comes by a port and from an address that are not a link's, or a link
 * is about to be opened to them, and they may be another path of the link. Or it is the other way
 * round, and a path makes way for a link (doc/protocol.md section 4.14).
 *
 * Peers by their id: two hosts have one link on a channel, whichever of their ports and
 * addresses it was opened by, and whoever opened it (doc/protocol.md section 4.14).
 *
 * Neighbours say which address is whose (4.13). That is claimed, not proven, so it says
 * only where to ask: an answer with a proof shows that the link's peer is there.
 */
#include "path.h"

#include <linux/etherdevice.h>

#define PEER_WAIT_MS	1000	/* for an answer from there */
#define PEER_LOOK_MS	10	/* nobody is woken when a link opens, which may be asked then */

/* The tag with a link by a port and an address, be it direct or through a gateway. */
static struct oae_tag *path_tag_by(struct oae_port *port, u64 kid)
{
	return oae_path_tag(port, kid) ?: oae_path_tag(port, kid | OAE_KID_VIA);
}

/* Ports with the address that a frame names that are looked at: a stranger may have sent it. */
#define NAMED_PORTS	16

/*
 * The tag that a PATH frame names, or NULL. A device and its VLANs have the same address: the
 * port by which it came is among those that are looked at. If an end has another address now,
 * it may be known by that which the frame came by; and whoever tells of a place names the link
 * by nothing else.
 */
static noinline_for_stack struct oae_tag *path_tag_named(struct oae_port *by, const u8 *from,
							 const struct oae_frame *f)
{
	struct oae_port *port[NAMED_PORTS];
	struct oae_tag *tag = NULL;
	unsigned int i, n;
	u64 kid;

	if (!is_valid_ether_addr(f->path.from) || !is_valid_ether_addr(from))
		return NULL;
	kid = oae_kid(f->vc, f->path.from);
	if (ether_addr_equal(by->addr, f->path.to))
		tag = path_tag_by(by, kid);
	n = tag ? 0 : oae_ports_of_addr(by->node, f->path.to, port, NAMED_PORTS);
	for (i = 0; i < n && !tag; i++)
		if (!READ_ONCE(port[i]->removed))
			tag = path_tag_by(port[i], kid);
	if (tag)
		return tag;
	return path_tag_by(by, oae_kid(f->vc, from));
}

/*
 * The index of the path by which a PATH frame came whose proof holds; a probe makes one.
 * OAE_PATHS_MAX or an error: it is none.
 */
static int path_of_frame(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			 const u8 *from, const u8 *by, const struct oae_frame *f)
{
	bool via = f->flags & OAE_F_VIA;
	u64 kid = oae_kid(f->vc, from);
	int i;

	/* By the own path it may come either way. */
	if (tag->key.port == port && tag->key.kid == kid)
		return OAE_PATH_OWN;
	if (via)
		kid |= OAE_KID_VIA;
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = oae_alias_add(tag, port, kid, OAE_ALIAS_HEARD);
	if (!via || i < 0 || i >= OAE_PATHS_MAX)
		return i;
	/* A path is for one gateway, and that of the port may be another by now. */
	oae_tag_path_gateways(tag, ev);
	return ether_addr_equal(tag->paths->alias[i]->gw, by) ? i : -ENOENT;
}

/* A PATH frame whose proof holds. False: it is of no use. */
static bool path_rcv_proven(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			    const u8 *from, const u8 *by, const struct oae_frame *f)
{
	int i;

	if (f->path.role == OAE_PATH_PLACE)
		return oae_path_place(tag, ev, f);
	if (f->path.role != OAE_PATH_ANSWER && f->path.role != OAE_PATH_PROBE)
		return false;
	if (!oae_tag_paths_begin(tag, ev))
		return false;
	i = path_of_frame(tag, ev, port, from, by, f);
	if (i < 0 || i >= OAE_PATHS_MAX)
		return false;
	/* This came to an address that the port is about to leave: path_port_renaming(). */
	if (!ether_addr_equal(port->addr, port->dev->dev_addr))
		return false;
	if (!oae_conn_path_rcv(&ev->conn, i, f, ev->now, &ev->a))
		return false;
	if (f->path.role == OAE_PATH_PROBE) {
		ev->out.answer |= 1U << i;
		ev->out.nonce = f->path.nonce;
		ev->out.own_via = f->flags & OAE_F_VIA;
	}
	return true;
}

/**
 * oae_path_rcv() - handle a PATH frame (protocol 4.14)
 * @port: the port that received it
 * @from: its sender: the Ethernet source, or with VIA the original one
 * @by: the Ethernet source
 * @f: the frame, parsed and verified; with VIA it was let in (4.8)
 *
 * It names the link by the addresses of the path that its sender uses. Whoever does not
 * know both incarnations gets no answer.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_path_rcv(struct oae_port *port, const u8 *from, const u8 *by, const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	struct oae_tag *tag = path_tag_named(port, from, f);
	struct oae_run ev oae_uninit;
	bool good;

	if (!tag) {
		oae_count(node, OAE_S_BAD_PATH);
		return;
	}
	oae_run_enter(tag, &ev);
	oae_path_keys(tag, &ev.out);
	good = !tag->dead && oae_link_knows_paths(&tag->link) && f->path.nonce &&
	       f->path.proof == oae_path_proof(f, &ev.out, from, port->addr) &&
	       path_rcv_proven(tag, &ev, port, from, by, f);
	if (!good)
		oae_count(node, OAE_S_BAD_PATH);
	oae_run_leave(tag, &ev);
	/* A program that opens a link by these addresses may wait to hear whose they are. */
	if (good)
		wake_up(&node->tags_wait);
}

/*
 * Is there a path of the link by a port and an address? 1 it is proven; 0 that is not known yet,
 * and is being asked; -ENOENT it is none.
 */
static int path_ask(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port, u64 kid)
{
	struct oae_paths *ps;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return oae_tag_opening(tag) ? 0 : -ENOENT;
	if (!oae_link_knows_paths(&tag->link))
		return oae_link_state(&tag->link) < OAE_OPEN ? 0 : -ENOENT;
	if (!oae_tag_paths_begin(tag, ev))
		return -ENOENT;
	ps = &tag->paths->paths;
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = oae_alias_add(tag, port, kid, OAE_ALIAS_SAID);
	if (i < 0 || oae_path_nobody(ps, i, &tag->link, ev->now))
		return -ENOENT;
	if (ps->path[i].proven)
		return 1;
	if (oae_path_due(ps, i, &tag->link, ev->now))
		oae_tag_path_probe(tag, ev, i);
	return 0;
}

/*
 * Is there a path of a link by a port and an address? 1: it is proven; 0: that is not known yet,
 * and is being asked: node->tags_wait is woken when it is proven; -ENOENT: it is none.
 */
static int path_try(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	struct oae_run ev oae_uninit;
	int is;

	oae_run_enter(tag, &ev);
	is = path_ask(tag, &ev, port, kid);
	oae_run_leave(tag, &ev);
	return is;
}

/**
 * oae_path_strange() - is a SYNC by a path one that admission decides about?
 * @tag: the tag
 * @index: of the path
 * @f: the frame
 *
 * Its sender has not proven that it is the peer, and may be a new incarnation of it.
 *
 * Context: softirq, or BH off; under rcu_read_lock(). A hint: nothing of the tag is locked.
 *
 * Return: true if so.
 */
bool oae_path_strange(const struct oae_tag *tag, unsigned int index,
		      const struct oae_frame *f)
{
	/* Pairs with the smp_store_release() in oae_tag_paths_begin(). */
	const struct oae_tag_paths *p = READ_ONCE(tag->paths);

	return f->opcode == OAE_SYNC && p && oae_path_is_strange(&p->paths, index, &tag->link, f);
}

/*
 * A SYNC from elsewhere: the index of the path that it came by; -EBUSY it is put off; -ENOENT
 * it is not from the link's peer.
 */
static int path_claimed(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port,
			u64 kid, const struct oae_frame *f)
{
	struct oae_link_mark mark;
	struct oae_paths *ps;
	bool is;
	int i;

	if (tag->dead || oae_link_closed(&tag->link))
		return oae_tag_opening(tag) ? -EBUSY : -ENOENT;
	if (!oae_tag_paths_begin(tag, ev))
		return -EBUSY;
	ps = &tag->paths->paths;
	oae_link_mark(&tag->link, &mark);
	/* Nobody else knows both. */
	is = mark.peer_inc && f->sync.inc == mark.peer_inc && f->sync.peer_inc == mark.inc;
	if (!oae_path_claim(ps, &tag->link, f->sync.inc, f->sync.peer_inc)) {
		/* The present incarnation is no other node, even if it has not answered there. */
		if (mark.peer_inc)
			return path_ask(tag, ev, port, kid) < 0 && f->sync.inc != mark.peer_inc ?
				       -ENOENT : -EBUSY;
		oae_path_claimed(ps, f);
		return oae_link_down(&tag->link) ? -ENOENT : -EBUSY;
	}
	i = oae_tag_path_index(tag, port, kid);
	if (i == OAE_PATHS_MAX)
		i = oae_alias_add(tag, port, kid, is ? OAE_ALIAS_USED : OAE_ALIAS_HEARD);
	if (i < 0)
		return -EBUSY;
	if (is || (f->sync.peer_inc == mark.inc && !mark.peer_inc))
		ps->path[i].proven = true;
	return oae_path_heard(ps, i, &tag->link, f) ? i : -EBUSY;
}

/* A SYNC of another incarnation of the peer, direct from elsewhere: is the present one gone? */
static bool path_gone(struct oae_tag *tag, struct oae_run *ev, u64 kid,
		      const struct oae_frame *f)
{
	struct oae_link_mark mark;

	if (tag->dead || oae_link_closed(&tag->link) || kid & OAE_KID_VIA || !tag->paths)
		return false;
	oae_link_mark(&tag->link, &mark);
	return f->sync.inc != mark.peer_inc &&
	       !oae_path_claim(&tag->paths->paths, &tag->link, f->sync.inc, f->sync.peer_inc) &&
	       oae_path_gone(&tag->paths->paths, &tag->link, ev->now, &ev->a);
}

/*
 * A SYNC has come from elsewhere than the link's paths, and its sender, who has named a cookie,
 * may be the peer. 0: the link has taken it; -EBUSY: it is put off, as its sender may be another
 * incarnation of the peer, and the present one may be there; -ENOENT: it is another node, or
 * there is no link.
 */
static int path_claim_rcv(struct oae_tag *tag, struct oae_port *port, u64 kid,
			  const struct oae_frame *f)
{
	struct oae_run ev oae_uninit;
	int i;

	oae_run_enter(tag, &ev);
	if (path_gone(tag, &ev, kid, f)) {
		/* The last probe of the present one goes elsewhere than the answer. */
		oae_run_leave(tag, &ev);
		oae_run_enter(tag, &ev);
	}
	i = path_claimed(tag, &ev, port, kid, f);
	if (i >= 0) {
		oae_conn_taken(&ev.conn, i, f, ev.now, &ev.a);
		oae_conn_rcv(&ev.conn, f, oae_inbox_free(tag), ev.now, &ev.a);
	}
	oae_run_log(tag, &ev, OAE_EV_FRAME, f->opcode, f->seq);
	oae_run_leave(tag, &ev);
	return min(i, 0);
}

/* A path, direct or through a gateway, makes way for a link. */
static void path_yield_one(struct oae_port *port, u64 kid)
{
	struct oae_run ev oae_uninit;
	struct oae_tag *tag;
	unsigned int i;

	tag = oae_path_find(port, kid, &i);
	if (!tag)
		return;
	oae_run_enter(tag, &ev);
	i = tag->paths ? oae_tag_path_index(tag, port, kid) : OAE_PATHS_MAX;
	if (i != OAE_PATHS_MAX && i != OAE_PATH_OWN) {
		oae_conn_goes(&ev.conn, i, ev.now, &ev.a);
		oae_alias_del(tag, i);
		oae_conn_turned(&ev.conn, ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
}

/* Paths make way for a link of its own by the same addresses, whose tag is in the table. */
static void path_make_way(struct oae_port *port, u64 kid)
{
	/* The tag before the look. Pairs with the barrier in oae_alias_add(). */
	smp_mb();
	if (likely(!atomic_read(&port->node->naliases)))
		return;
	rcu_read_lock();
	path_yield_one(port, kid);
	path_yield_one(port, kid | OAE_KID_VIA);
	rcu_read_unlock();
}

/* Room may take two steps (a CLOSED tag dies, then its unread goes); twice that. */
#define MAKE_ROOM_TRIES	4

/**
 * oae_tag_make() - find a tag or make one, its link CLOSED
 * @port: its port; the caller keeps it alive
 * @kid: its key id
 * @stranger: the peer is neither configured nor wanted by a program here; its tag
 *	counts in the strangers' share of max_tags
 * @gfp: OAE_GFP_USER for a program, which pays for the tag; GFP_ATOMIC for a frame
 *
 * If there is no room another tag gives way, if one may (guarantees.md, G6).
 *
 * Context: any but hard interrupts, no lock held; takes the other tag's lock.
 *
 * Return: the tag with a reference for the caller; -ENODEV the port is being
 * removed; -ENOBUFS max_tags reached, or the strangers' share of it; -ENOMEM.
 */
struct oae_tag *oae_tag_make(struct oae_port *port, u64 kid, bool stranger, gfp_t gfp)
{
	unsigned int tries = MAKE_ROOM_TRIES;
	struct oae_tag *tag;
	int err;

	do {
		tag = oae_tag_add(port, kid, stranger, gfp);
		err = PTR_ERR_OR_ZERO(tag);
	} while ((err == -ENOBUFS || err == -EDQUOT) && tries-- &&
		 oae_share_make_room(port->node, err));
	if (!err)
		path_make_way(port, kid);
	return err == -EDQUOT ? ERR_PTR(-ENOBUFS) : tag;
}
EXPORT_SYMBOL_FOR_BENCH(oae_tag_make);

/**
 * oae_tags_to() - is there a link to a peer, on any channel?
 * @port: a port
 * @mac: the peer's address there
 *
 * Looks for each channel, and for paths. For rare events.
 *
 * Context: any; under rcu_read_lock().
 *
 * Return: true if so.
 */
bool oae_tags_to(struct oae_port *port, const u8 *mac)
{
	unsigned int vc, i;
	u64 kid;

	for (vc = 0; vc <= U8_MAX; vc++) {
		kid = oae_kid(vc, mac);
		if (oae_tag_find(port, kid) || oae_path_find(port, kid, &i))
			return true;
	}
	return false;
}

/*
 * The link to a peer, by an address at which the peer was heard elsewhere; or one that is about to
 * be opened. NULL: there is none.
 */
static struct oae_tag *peer_elsewhere(struct oae_port *port, u64 kid)
{
	struct oae_neigh_where where[OAE_NEIGH_AN_ID];
	struct oae_tag *tag;
	unsigned int i, n;
	u8 mac[ETH_ALEN];
	u64 there;

	oae_kid_mac(kid, mac);
	n = oae_neigh_others(port->node, port, mac, where, ARRAY_SIZE(where));
	for (i = 0; i < n; i++) {
		there = oae_kid(kid >> 56, where[i].mac);
		tag = oae_tag_find(where[i].port, there);
		if (!tag || !oae_tag_opening(tag))
			tag = oae_path_tag(where[i].port, there);
		if (tag)
			return tag;
	}
	return NULL;
}

/*
 * The link to a peer by an address that the link is not found by, its link not CLOSED, or about
 * to be opened; or NULL: there is none, or paths are not taken here.
 */
static struct oae_tag *peer_link(struct oae_port *port, u64 kid)
{
	if (READ_ONCE(port->node->knobs.paths) == 1)
		return NULL;
	return oae_path_tag(port, kid) ?: peer_elsewhere(port, kid);
}

/*
 * The link of @tag is about to be opened. False: so is another one to that peer, or it is open by
 * now. If a program and a frame open one at the same time, both have seen no link before.
 */
static bool peer_begin(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	struct oae_node *node = port->node;
	bool first;

	if (READ_ONCE(node->knobs.paths) == 1)
		return true;
	rcu_read_lock();
	spin_lock_bh(&node->opening_lock);
	first = !peer_elsewhere(port, kid);
	if (first)
		WRITE_ONCE(tag->opening, oae_opening_mark(jiffies));
	spin_unlock_bh(&node->opening_lock);
	rcu_read_unlock();
	return first;
}

/*
 * Does a link lead to a port and an address, where a node was heard with the id of its peer?
 * Anybody can say so; the peer alone can answer a probe there.
 */
static int peer_is_there(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	unsigned long end = jiffies + msecs_to_jiffies(PEER_WAIT_MS);
	int is;

	do {
		is = 0;
		wait_event_timeout(port->node->tags_wait,
				   (is = path_try(tag, port, kid)) != 0,
				   msecs_to_jiffies(PEER_LOOK_MS));
	} while (!is && time_before(jiffies, end));
	return is;
}

/* Whether a link leads there is found out by @try: 1 so it is, 0 not known, else -1. */
static struct oae_tag *peer_tag(struct oae_port *port, u64 kid, bool more,
				int (*try)(struct oae_tag *tag, struct oae_port *port, u64 kid))
{
	struct oae_tag *tag, *other;
	u64 there;
	int is;

again:
	there = kid;
	rcu_read_lock();
	tag = oae_tag_find(port, kid);
	if (tag && (oae_link_closed(&tag->link) || !refcount_inc_not_zero(&tag->ref)))
		tag = NULL;
	other = tag ? NULL : peer_link(port, kid);
	if (!tag && !other && READ_ONCE(port->node->knobs.paths) != 1) {
		there = kid | OAE_KID_VIA;
		other = oae_path_tag(port, there);
	}
	if (other && !refcount_inc_not_zero(&other->ref))
		other = NULL;
	rcu_read_unlock();
	if (other) {
		is = try(other, port, there);
		if (is > 0)
			return other;
		oae_tag_put(other);
		if (!is && more)
			return ERR_PTR(-EAGAIN);
	}
	if (tag)
		return tag;
	tag = oae_tag_make(port, kid, false, OAE_GFP_USER);
	if (IS_ERR(tag) || other || peer_begin(tag, port, kid))
		return tag;
	oae_tag_not_opened(tag);
	oae_tag_put(tag);
	goto again;
}

/**
 * oae_peer_tag() - find the tag for a peer, or make one, its link CLOSED
 * @port: a port; the caller keeps it alive
 * @kid: channel and address
 *
 * A link to the same peer by other addresses is the one that is meant. So it is if there is
 * a tag for these addresses without a link, which stays for what is unread or for a file: of
 * two links the peer would put off the second. Waits up to a second for the peer to say so.
 *
 * Context: process, no lock held, may sleep; takes another tag's lock.
 *
 * Return: as oae_tag_make().
 */
struct oae_tag *oae_peer_tag(struct oae_port *port, u64 kid)
{
	return peer_tag(port, kid, false, peer_is_there);
}

/**
 * oae_peer_tag_now() - the same, without waiting for a peer
 * @port: a port; the caller keeps it alive
 * @kid: channel and address
 * @more: the caller asks again
 *
 * Context: process, may sleep; takes another tag's lock.
 *
 * Return: as oae_tag_make(); with @more also -EAGAIN: the peer of a link was asked there.
 */
struct oae_tag *oae_peer_tag_now(struct oae_port *port, u64 kid, bool more)
{
	return peer_tag(port, kid, more, path_try);
}

/**
 * oae_peer_claim() - a SYNC has come for which a tag is to be made: is there a link to
 *	that peer, which it is about?
 * @port: the port that received it
 * @kid: key id of its vc and its source, OAE_KID_VIA if it has VIA
 * @f: the frame, parsed and verified; it names a cookie
 * @none: set to whether there was no link that it may be about
 *
 * A SYNC of the peer of a link is about that, whoever takes paths now, and whatever was heard: of
 * its paths this end may have forgotten one that the peer uses, or the peer has a new address,
 * from which it names no incarnation of this end yet. (Else that makes a link of its own, which
 * the peer takes for this end's next incarnation, and drops what it holds.)
 *
 * Otherwise a peer behind a gateway is heard by no neighbour, so there its path has to be known;
 * and whoever takes no paths has a link for each pair of addresses.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 *
 * Return: 0 the link has taken it; -ENOENT there is no link; -EBUSY there is one, and its
 * peer is another incarnation, which is there as far as is known.
 */
int oae_peer_claim(struct oae_port *port, u64 kid, const struct oae_frame *f,
		   bool *none)
{
	struct oae_tag *tag = oae_path_tag(port, kid);

	if (!tag)
		tag = oae_path_of_peer(port->node, f->sync.inc);
	if (!tag && f->sync.caps & OAE_CAPS_PATHS && !(kid & OAE_KID_VIA))
		tag = peer_link(port, kid);
	*none = !tag;
	return tag ? path_claim_rcv(tag, port, kid, f) : -ENOENT;
}

/**
 * oae_peer_begin() - a tag is about to be opened for a SYNC that is about no link
 * @tag: the tag, its link CLOSED
 * @port: its port
 * @kid: its key id
 * @f: the frame
 *
 * Context: softirq, under rcu_read_lock().
 *
 * Return: true; false a program is opening a link to that peer by other addresses.
 */
bool oae_peer_begin(struct oae_tag *tag, struct oae_port *port, u64 kid,
		    const struct oae_frame *f)
{
	return !(f->sync.caps & OAE_CAPS_PATHS) || f->flags & OAE_F_VIA ||
	       peer_begin(tag, port, kid);
}
