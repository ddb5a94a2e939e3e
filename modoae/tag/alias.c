// SPDX-License-Identifier: GPL-2.0
/*
 * Aliases: where the paths of a tag lead that are not its own (doc/protocol.md section
 * 4.14).
 *
 * A tag is found by its own port and its peer's address. For each other path there is an
 * alias in a table of its own, in which a frame is looked up for which there is no tag.
 * A link without such a path has none. One more table has the tags by the incarnations of
 * their peers: a peer may know a path that this end has forgotten, or have a new address.
 *
 * An alias is in the table as long as its tag is not dead and its port not removed.
 * Readers of the table are in an RCU read-side section: alias and tag are freed after
 * one, and so is the port, of which the alias has a reference.
 */
#include "path.h"

#include <linux/etherdevice.h>
#include <linux/slab.h>

#define ALIAS_KEY_LEN	offsetofend(struct oae_tag_key, port)

static const struct rhashtable_params alias_params = {
	.head_offset = offsetof(struct oae_alias, hash),
	.key_offset = offsetof(struct oae_alias, key),
	.key_len = ALIAS_KEY_LEN,
	.automatic_shrinking = true,
};

static const struct rhashtable_params peer_params = {
	.head_offset = offsetof(struct oae_tag, met.hash),
	.key_offset = offsetof(struct oae_tag, met.peer_inc),
	.key_len = sizeof(u64),
	.automatic_shrinking = true,
};

/**
 * oae_path_find() - find the tag to which a path leads
 * @port: the port that received a frame for which there is no tag
 * @kid: key id of its vc and its source, OAE_KID_VIA if it has VIA
 * @index: set to the index of the path, valid as long as oae_path_before() finds it so
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_path_find(struct oae_port *port, u64 kid, unsigned int *index)
{
	struct oae_tag_key key = { .port = port, .kid = kid };
	struct oae_alias *alias = rhashtable_lookup(&port->node->aliases, &key,
						    alias_params);

	if (!alias)
		return NULL;
	*index = READ_ONCE(alias->index);
	return alias->tag;
}

/*
 * The tag with a link, not CLOSED, by a port and an address, be it by its own path or by another;
 * or NULL. OAE_KID_VIA: through the port's gateway, but by no own path. Under RCU.
 */
struct oae_tag *oae_path_tag(struct oae_port *port, u64 kid)
{
	struct oae_tag *tag = oae_tag_find(port, kid);
	unsigned int i;

	if (!tag || oae_link_closed(&tag->link))
		tag = oae_path_find(port, kid, &i);
	return tag && !oae_link_closed(&tag->link) ? tag : NULL;
}

static bool path_is_proven(const struct oae_tag *tag, const struct oae_port *port, u64 kid)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int i = oae_tag_path_index(tag, port, kid);

	return i != OAE_PATHS_MAX && ps->path[i].proven;
}

/**
 * oae_path_proven() - find the link that has a proven path by a port to an address
 * @port: the port
 * @kid: channel and address
 *
 * A link that has not met its peer has proven nothing.
 *
 * Context: any but hard interrupts; under rcu_read_lock(); takes tag->lock.
 *
 * Return: its tag, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_path_proven(struct oae_port *port, u64 kid)
{
	struct oae_tag *tag = oae_path_tag(port, kid) ?: oae_path_tag(port, kid | OAE_KID_VIA);
	struct oae_link_mark mark;
	bool proven;

	if (!tag)
		return NULL;
	oae_tag_lock(tag);
	oae_link_mark(&tag->link, &mark);
	proven = mark.peer_inc &&
		 (!tag->paths || path_is_proven(tag, port, kid) ||
		  path_is_proven(tag, port, kid | OAE_KID_VIA));
	oae_tag_unlock(tag);
	return proven ? tag : NULL;
}

static void alias_free(struct rcu_head *rcu)
{
	struct oae_alias *alias = container_of(rcu, struct oae_alias, rcu);

	oae_port_put(alias->key.port);
	kfree(alias);
}

/**
 * oae_path_of_peer() - find the tag whose link has a peer of this incarnation
 * @node: the node
 * @peer_inc: the peer's incarnation, which it has for one link alone
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, whose peer takes paths, or which has some, valid in this RCU read-side critical
 * section; or NULL. A hint: nothing of the tag is locked.
 */
struct oae_tag *oae_path_of_peer(struct oae_node *node, u64 peer_inc)
{
	return rhashtable_lookup(&node->peers, &peer_inc, peer_params);
}

/**
 * oae_path_of_pair() - find the tag whose link is one between two incarnations
 * @node: the node
 * @inc: that of this end, not 0
 * @peer_inc: the peer's, not 0
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: as oae_path_of_peer().
 */
struct oae_tag *oae_path_of_pair(struct oae_node *node, u64 inc, u64 peer_inc)
{
	struct oae_tag *tag = oae_path_of_peer(node, peer_inc);

	return tag && READ_ONCE(tag->met.inc) == inc ? tag : NULL;
}

/*
 * An event is over: have the tag be found by the incarnation of its peer, which may come from an
 * address that nobody knows, whether or not the link has another path.
 */
void oae_path_met(struct oae_tag *tag)
{
	struct oae_link_mark mark;
	int err;

	lockdep_assert_held(&tag->lock);
	oae_link_mark(&tag->link, &mark);
	if (tag->dead || oae_link_closed(&tag->link) ||
	    (!tag->paths && !oae_link_knows_paths(&tag->link)))
		mark.peer_inc = 0;
	WRITE_ONCE(tag->met.inc, mark.inc);
	WRITE_ONCE(tag->forlorn, oae_link_down(&tag->link) && !oae_link_in_doubt(&tag->link));
	if (likely(tag->met.peer_inc == mark.peer_inc))
		return;
	if (tag->met.peer_inc)
		rhashtable_remove_fast(&tag->node->peers, &tag->met.hash, peer_params);
	tag->met.peer_inc = mark.peer_inc;
	if (!mark.peer_inc)
		return;
	err = rhashtable_lookup_insert_fast(&tag->node->peers, &tag->met.hash, peer_params);
	if (!err)
		return;
	/* A later event tries again. The link that has it may be about to go. */
	tag->met.peer_inc = 0;
	if (err != -EEXIST)
		oae_count(tag->node, OAE_S_NO_MEMORY);
}

/* Take an alias out of the table that its tag has no more. */
void oae_alias_free_later(struct oae_node *node, struct oae_alias *alias)
{
	rhashtable_remove_fast(&node->aliases, &alias->hash, alias_params);
	atomic_dec(&node->naliases);
	call_rcu(&alias->rcu, alias_free);
}

/* Forget a path, and where it leads; not the own one. */
void oae_alias_del(struct oae_tag *tag, unsigned int i)
{
	struct oae_alias *alias = tag->paths->alias[i];

	lockdep_assert_held(&tag->lock);
	if (!alias)
		return;
	tag->paths->alias[i] = NULL;
	tag->paths->said &= ~(1U << i);
	oae_path_del(&tag->paths->paths, i);
	oae_alias_free_later(tag->node, alias);
}

/* The way of a tag may have changed, and so has its own path. */
void oae_tag_path_own(struct oae_tag *tag)
{
	struct oae_path *own = &tag->paths->paths.path[OAE_PATH_OWN];

	lockdep_assert_held(&tag->lock);
	own->via = tag->way.via;
	oae_path_set_mtu(own, oae_tag_way_mtu(tag));
}

/* Have room for paths, which the event has from now on. False: no memory. */
bool oae_tag_paths_begin(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_tag_paths *p;

	lockdep_assert_held(&tag->lock);
	if (likely(tag->paths))
		return true;
	p = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return false;
	}
	ev->now = oae_paths_now(&p->paths, &tag->link, ev->now);
	oae_paths_init(&p->paths, &tag->link, oae_tag_way_mtu(tag),
		       READ_ONCE(tag->key.port->up), ev->now);
	/* Pairs with the READ_ONCE() in oae_path_strange(), which looks without the lock. */
	smp_store_release(&tag->paths, p);
	ev->conn.paths = &p->paths;
	oae_tag_path_own(tag);
	return true;
}

/* The index of the path by a port to an address, OAE_PATHS_MAX none. */
unsigned int oae_tag_path_index(const struct oae_tag *tag, const struct oae_port *port,
				u64 kid)
{
	unsigned int i;

	lockdep_assert_held(&tag->lock);
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (tag->paths->paths.path[i].there && oae_tag_path_port(tag, i) == port &&
		    oae_tag_path_kid(tag, i) == kid)
			break;
	return i;
}

/* How many paths there are, the own one included. */
unsigned int oae_tag_paths_count(const struct oae_tag *tag)
{
	unsigned int i, n = 0;

	lockdep_assert_held(&tag->lock);
	for (i = 0; i < OAE_PATHS_MAX; i++)
		n += tag->paths->paths.path[i].there;
	return n;
}

/* The path that makes way for another; at the worst that in use, if the link is frozen. */
static unsigned int path_spare(const struct oae_tag *tag, bool heard)
{
	const struct oae_paths *ps = &tag->paths->paths;
	unsigned int spare = oae_path_spare(ps, heard);

	if (spare == OAE_PATHS_MAX && heard && ps->used != OAE_PATH_OWN &&
	    oae_link_state(&tag->link) < OAE_OPEN)
		return ps->used;
	return spare;
}

/* Measure a path as it is now. False: it goes through another gateway than before. */
static bool alias_measure(struct oae_alias *alias, struct oae_path *p, bool *up)
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

/* What is true of a path that is being added. */
static void alias_measure_new(struct oae_alias *alias, struct oae_path *p)
{
	alias_measure(alias, p, &p->up);
	p->via = alias->way.via;
}

/* The place of what was said by hand of a path, or a free one; NULL: there is none. */
static struct oae_path_wish *path_wish(const struct oae_tag *tag, const struct oae_port *port,
				       u64 kid)
{
	struct oae_path_wish *wish, *spare = NULL;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		wish = &tag->paths->wish[i];
		if (wish->rank == OAE_PATH_NORMAL)
			spare = wish;
		else if (wish->ifindex == port->dev->ifindex && wish->kid == kid)
			return wish;
	}
	return spare;
}

/* The rank that was given to a path by hand, be it there or not. */
static s8 path_wished(const struct oae_tag *tag, const struct oae_port *port, u64 kid)
{
	const struct oae_path_wish *wish = path_wish(tag, port, kid);

	lockdep_assert_held(&tag->lock);
	return wish ? wish->rank : OAE_PATH_NORMAL;
}

/*
 * Add a path, and return its index. -ENOSPC: there are as many as there may be; -EEXIST: it is,
 * or belongs to, another link's; -ENODEV: the port is being removed, or may not be used so;
 * -ENOMEM.
 */
int oae_alias_add(struct oae_tag *tag, struct oae_port *port, u64 kid, enum oae_alias_why why)
{
	unsigned int spare = path_spare(tag, why != OAE_ALIAS_SAID), most = OAE_PATHS_MAX;
	struct oae_node *node = tag->node;
	struct oae_alias *alias;
	struct oae_ways ways;
	u8 mac[ETH_ALEN];
	int i, err;

	lockdep_assert_held(&tag->lock);
	/* The two ends have one key: a probe to another port of this node would prove it. */
	oae_kid_mac(kid, mac);
	if (oae_port_is_own(node, mac))
		return -EEXIST;
	oae_port_ways(port, &ways);
	if (tag->dead || READ_ONCE(port->removed) || !oae_ways_has(&ways, kid & OAE_KID_VIA))
		return -ENODEV;
	if (oae_tag_find(port, kid & ~OAE_KID_VIA))
		return -EEXIST;
	if (why != OAE_ALIAS_USED)
		most = READ_ONCE(node->knobs.paths);
	if (oae_tag_paths_count(tag) >= most) {
		if (spare == OAE_PATHS_MAX)
			return -ENOSPC;
		oae_alias_del(tag, spare);
	}
	alias = kzalloc(sizeof(*alias), GFP_ATOMIC | __GFP_NOWARN);
	if (!alias) {
		oae_count(node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	i = oae_path_add(&tag->paths->paths, 0, false);
	if (i < 0) {
		kfree(alias);
		return i;
	}
	alias->key.port = oae_port_get(port);
	alias->key.kid = kid;
	alias->tag = tag;
	alias->index = i;
	err = rhashtable_lookup_insert_fast(&node->aliases, &alias->hash, alias_params);
	if (err) {
		oae_path_del(&tag->paths->paths, i);
		oae_port_put(port);
		kfree(alias);
		if (err == -EEXIST)
			return err;
		oae_count(node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	atomic_inc(&node->naliases);
	tag->paths->alias[i] = alias;
	tag->paths->paths.path[i].rank = path_wished(tag, port, kid);
	/*
	 * The alias before these looks. Pairs with the smp_mb() in path_make_way(), and
	 * that in change_tell().
	 */
	smp_mb__after_atomic();
	alias_measure_new(alias, &tag->paths->paths.path[i]);
	if (oae_tag_find(port, kid & ~OAE_KID_VIA)) {
		oae_alias_del(tag, i);
		return -EEXIST;
	}
	oae_count(node, OAE_S_PATHS_MADE);
	return i;
}

/*
 * The port of a path has changed, or its gateway; oae_conn_reviewed() follows. True: the port
 * carries frames now, and did not before.
 */
bool oae_tag_path_review(struct oae_tag *tag, struct oae_run *ev, unsigned int i)
{
	struct oae_alias *alias = tag->paths->alias[i];
	const struct oae_port *port = tag->key.port;
	bool up, same = true;

	lockdep_assert_held(&tag->lock);
	if (alias) {
		same = alias_measure(alias, &tag->paths->paths.path[i], &up);
	} else {
		up = READ_ONCE(port->up) && !READ_ONCE(port->removed);
		oae_tag_path_own(tag);
	}
	return oae_conn_review(&ev->conn, i, up, same, ev->now, &ev->a);
}

/* Look whether the gateways of paths have changed. */
void oae_tag_path_gateways(struct oae_tag *tag, struct oae_run *ev)
{
	bool came = false, any = false;
	const struct oae_alias *alias;
	unsigned int i;

	lockdep_assert_held(&tag->lock);
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

/* A tag leaves the table: its aliases do, too. */
void oae_path_leave(struct oae_tag *tag)
{
	unsigned int i;

	lockdep_assert_held(&tag->lock);
	tag->peer_id = 0;
	oae_path_met(tag);
	for (i = OAE_PATH_OWN + 1; tag->paths && i < OAE_PATHS_MAX; i++)
		oae_alias_del(tag, i);
}

/* -ENOSPC: there is no room to keep it. */
static int path_rank_one(struct oae_tag *tag, unsigned int i, enum oae_path_rank rank)
{
	const struct oae_port *port = oae_tag_path_port(tag, i);
	struct oae_path_wish *wish = path_wish(tag, port, oae_tag_path_kid(tag, i));

	if (!wish && rank != OAE_PATH_NORMAL)
		return -ENOSPC;
	tag->paths->paths.path[i].rank = rank;
	if (!wish)
		return 0;
	wish->ifindex = port->dev->ifindex;
	wish->kid = oae_tag_path_kid(tag, i);
	wish->rank = rank;
	return 0;
}

/**
 * oae_path_rank() - say by hand how much paths of a link are wanted
 * @tag: the tag
 * @port: their port here
 * @mac: their address there; NULL: any
 * @rank: enum oae_path_rank
 *
 * Kept as long as the tag is. It counts for what this end asks, from the next event of the
 * timer on; see architecture.md, *Which path an end chooses*.
 *
 * Context: any but hard interrupts; under rcu_read_lock(); takes tag->lock.
 *
 * Return: 0; -ENOENT the link has no such path; -ENOSPC as many others have a rank as
 * there may be.
 */
int oae_path_rank(struct oae_tag *tag, const struct oae_port *port, const u8 *mac,
		  enum oae_path_rank rank)
{
	int err = -ENOENT;
	unsigned int i;
	u8 to[ETH_ALEN];

	oae_tag_lock(tag);
	for (i = 0; tag->paths && !tag->dead && i < OAE_PATHS_MAX; i++) {
		if (!tag->paths->paths.path[i].there || oae_tag_path_port(tag, i) != port)
			continue;
		oae_kid_mac(oae_tag_path_kid(tag, i), to);
		if (!mac || ether_addr_equal(mac, to))
			err = path_rank_one(tag, i, rank);
	}
	oae_tag_unlock(tag);
	return err;
}

static const char *const path_why_words[] = {
	[OAE_WHY_OWN] = "own",
	[OAE_WHY_RANK] = "rank",
	[OAE_WHY_CARRIER] = "carrier",
	[OAE_WHY_SILENCE] = "silence",
	[OAE_WHY_LOSS] = "loss",
	[OAE_WHY_BACK] = "back",
	[OAE_WHY_MTU] = "mtu",
	[OAE_WHY_SPREAD] = "spread",
	[OAE_WHY_PEER] = "peer",
};

static const char *const path_rank_words[] = {
	[OAE_PATH_AVOID - OAE_PATH_AVOID] = "avoid",
	[OAE_PATH_NORMAL - OAE_PATH_AVOID] = "normal",
	[OAE_PATH_PREFERRED - OAE_PATH_AVOID] = "preferred",
};

static_assert(ARRAY_SIZE(path_why_words) == OAE_WHY_END);
static_assert(ARRAY_SIZE(path_rank_words) == OAE_PATH_PREFERRED - OAE_PATH_AVOID + 1);

/* The gateway of a path that goes through one. */
static void path_gateway(const struct oae_tag *tag, unsigned int i, u8 *mac)
{
	const struct oae_alias *alias = tag->paths->alias[i];
	struct oae_ways ways;

	oae_port_ways(oae_tag_path_port(tag, i), &ways);
	ether_addr_copy(mac, alias ? alias->gw : ways.gw.mac);
}

/**
 * oae_path_show() - what people are shown of a path
 * @tag: the tag
 * @i: index of the path
 * @v: filled in
 *
 * Context: any but hard interrupts; under rcu_read_lock(); takes tag->lock.
 *
 * Return: false if there is no such path.
 */
bool oae_path_show(struct oae_tag *tag, unsigned int i, struct oae_path_view *v)
{
	struct oae_path *p;
	bool there = false;

	oae_tag_lock(tag);
	if (tag->paths && tag->paths->paths.path[i].there) {
		p = &tag->paths->paths.path[i];
		there = true;
		strscpy(v->port, oae_tag_path_port(tag, i)->name, sizeof(v->port));
		oae_kid_mac(oae_tag_path_kid(tag, i), v->mac);
		v->state = !p->up ? "down" : !p->proven ? "trying" : !p->good ? "silent" :
			   p->loss.lossy ? "lossy" : "good";
		v->loss = oae_loss_shown(&p->loss);
		v->used = tag->paths->paths.used == i;
		v->via = p->via;
		path_gateway(tag, i, v->gw);
		v->why = path_why_words[tag->paths->paths.why];
		v->rank = path_rank_words[p->rank - OAE_PATH_AVOID];
		v->mtu = oae_path_carries(p);
		v->rtt = p->rtt;
		v->used_at = p->used_at;
	}
	oae_tag_unlock(tag);
	return there;
}

/**
 * oae_aliases_make() - make a node's tables of paths and of peers, if there are none
 * @node: the node, which is about to have a port
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or a negative errno.
 */
int oae_aliases_make(struct oae_node *node)
{
	int err = 0;

	lockdep_assert_held(&node->dev_lock);
	if (!node->aliases.tbl)
		err = rhashtable_init(&node->aliases, &alias_params);
	if (!err && !node->peers.tbl)
		err = rhashtable_init(&node->peers, &peer_params);
	return err;
}

/**
 * oae_aliases_exit() - free a node's tables of paths and of peers
 * @node: the node, which has no tag any more
 *
 * Context: process, may sleep.
 */
void oae_aliases_exit(struct oae_node *node)
{
	WARN_ON(atomic_read(&node->naliases));
	if (node->aliases.tbl)
		rhashtable_destroy(&node->aliases);
	if (node->peers.tbl)
		rhashtable_destroy(&node->peers);
}
