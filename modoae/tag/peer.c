// SPDX-License-Identifier: GPL-2.0
/*
 * Peers by their id: two hosts have one link on a channel, whichever of their ports and
 * addresses it was opened by, and whoever opened it (doc/protocol.md section 4.14).
 *
 * Neighbours say which address is whose (4.13). That is claimed, not proven, so it says
 * only where to ask: an answer with a proof shows that the link's peer is there.
 */
#include "event.h"

#define PEER_WAIT_MS	1000	/* for an answer from there */
#define PEER_LOOK_MS	10	/* nobody is woken when a link opens, which may be asked then */

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
				   (is = oae_path_try(tag, port, kid)) != 0,
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
	return peer_tag(port, kid, more, oae_path_try);
}

/**
 * oae_peer_claim() - a SYNC has come for which a tag is to be made: is there a link to
 *	that peer, which it is about?
 * @port: the port that received it
 * @kid: key id of its vc and its source, OAE_KID_VIA if it has VIA
 * @f: the frame, parsed and verified; it names a cookie
 * @none: set to whether there was no link that it may be about
 *
 * A SYNC that names the incarnations of both ends of a link is about that, whoever takes paths
 * now, and whatever was heard: of its paths this end may have forgotten one that the peer uses.
 * (Else that makes a link of its own, which the peer takes for this end's next incarnation, and
 * drops what it holds.)
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

	if (!tag && f->sync.peer_inc)
		tag = oae_path_of_pair(port->node, f->sync.peer_inc, f->sync.inc);
	if (!tag && f->sync.caps & OAE_CAPS_PATHS && !(kid & OAE_KID_VIA))
		tag = peer_link(port, kid);
	*none = !tag;
	return tag ? oae_path_claim_rcv(tag, port, kid, f) : -ENOENT;
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
