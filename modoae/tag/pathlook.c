// SPDX-License-Identifier: GPL-2.0
/*
 * Looking for paths, by the link's timer: which are tried, when each is probed, and which
 * are given up (doc/protocol.md section 4.14).
 */
#include "path.h"

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
	if (most == 1 && !oae_path_settle(tag, ev))
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
			oae_path_own_gone(tag, ev);
		else
			oae_alias_del(tag, i);
	}
}

/**
 * oae_path_timer() - look for paths and probe them; called when the link's timer fires
 * @tag: the tag
 * @ev: the event
 *
 * Context: softirq, under tag->lock.
 */
void oae_path_timer(struct oae_tag *tag, struct oae_run *ev)
{
	u32 now = jiffies, keepalive = msecs_to_jiffies(READ_ONCE(tag->node->knobs.keepalive_ms));

	if (oae_link_state(&tag->link) == OAE_OPEN)
		path_shrink(tag, ev);
	if (!oae_link_knows_paths(&tag->link))
		return;
	if (now - tag->paths_at >= keepalive) {
		tag->paths_at = now;
		path_look(tag, ev);
		oae_path_gw_look(tag);
		oae_path_gw_tell(tag, ev);
		if (tag->paths)
			path_tidy(tag, ev);
	}
	if (!tag->paths)
		return;
	oae_tag_path_gateways(tag, ev);
	ev->out.probe |= oae_conn_timer(&ev->conn, oae_path_nonce(tag, ev), ev->now, &ev->a);
}
