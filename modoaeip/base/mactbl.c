// SPDX-License-Identifier: GPL-2.0
/*
 * The table of nodes: which zone a node is in (doc/gateway.md section 5).
 * rules/claim.c decides what an event means for an entry. This file finds,
 * inserts, removes and counts entries, and queues what is to be announced.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "base.h"

#define FRESH_MS	100	/* refreshed less than this ago: no lock */
#define WALK_BATCH	256	/* entries between two cond_resched() */

/* The default compare function calls memcmp() with a length unknown to the compiler. */
static int mactbl_other_mac(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct oaeip_node *node = obj;

	return node->mac != *(const u64 *)arg->key;
}

static const struct rhashtable_params node_params = {
	.head_offset = offsetof(struct oaeip_node, hash),
	.key_offset = offsetof(struct oaeip_node, mac),
	.key_len = sizeof(u64),
	.obj_cmpfn = mactbl_other_mac,
	.automatic_shrinking = true,
};

static struct oaeip_node *mactbl_find(struct oaeip_mactbl *tbl, u64 mac)
{
	return rhashtable_lookup(&tbl->nodes, &mac, node_params);
}

/**
 * oaeip_mactbl_find() - find a node
 * @map: the map
 * @mac: MAC address of the node
 *
 * Context: any; RCU read lock held, which keeps the entry.
 *
 * Return: the entry or NULL.
 */
struct oaeip_node *oaeip_mactbl_find(struct oaeip_map *map, const u8 *mac)
{
	return mactbl_find(map->tbl, ether_addr_to_u64(mac));
}

/**
 * oaeip_mactbl_lookup_zone() - the zone of a node
 * @gw: the gateway
 * @mac: MAC address of the node
 * @zone: set to the number of the zone if the node is known
 *
 * Context: any.
 *
 * Return: true if the node is known.
 */
bool oaeip_mactbl_lookup_zone(struct oaeip_gw *gw, const u8 *mac, u16 *zone)
{
	struct oaeip_node *node = NULL;
	struct oaeip_map *map;

	rcu_read_lock();
	map = rcu_dereference(gw->map);
	if (map)
		node = oaeip_mactbl_find(map, mac);
	if (node)
		*zone = READ_ONCE(node->owner.zone);
	rcu_read_unlock();
	return node;
}
EXPORT_SYMBOL_FOR_BENCH(oaeip_mactbl_lookup_zone);

/* Log a change of a node; the knob verbose enables it. */
static void mactbl_log_node(struct oaeip_gw *gw, u64 key, const char *what, u16 zone)
{
	u8 mac[ETH_ALEN];

	if (likely(!oaeip_says(gw, 1)))
		return;
	u64_to_ether_addr(key, mac);
	net_info_ratelimited("node %pM %s zone %u\n", mac, what, zone);
}

static void mactbl_log_conflict(const struct oaeip_gw *gw, u64 key, u16 has, u16 claims)
{
	u8 mac[ETH_ALEN];

	if (likely(!oaeip_says(gw, 2)))
		return;
	u64_to_ether_addr(key, mac);
	net_info_ratelimited("node %pM of zone %u is claimed by zone %u\n", mac,
			     has, claims);
}

static struct oaeip_node *mactbl_insert(struct oaeip_gw *gw, struct oaeip_mactbl *tbl,
					struct oaeip_zone *zone, u64 mac,
					const struct oaeip_owner *owner)
{
	struct oaeip_node *node;

	if (atomic_inc_return(&zone->nodes) > READ_ONCE(gw->knobs.max_nodes)) {
		oaeip_count(gw, OAEIP_S_TABLE_FULL);
		goto refuse;
	}
	node = kzalloc(sizeof(*node), GFP_ATOMIC);
	if (!node)
		goto no_memory;
	node->mac = mac;
	node->owner = *owner;
	if (rhashtable_insert_fast(&tbl->nodes, &node->hash, node_params)) {
		kfree(node);
		goto no_memory;
	}
	oaeip_count(gw, OAEIP_S_NODES_LEARNED);
	mactbl_log_node(gw, mac, "is in", zone->id);
	return node;
no_memory:
	oaeip_no_memory(gw);
refuse:
	atomic_dec(&zone->nodes);
	return NULL;
}

static void mactbl_remove(struct oaeip_gw *gw, struct oaeip_map *map,
			  struct oaeip_node *node, u16 zone)
{
	struct oaeip_zone *z = oaeip_zone_get(map, zone);

	if (z)
		atomic_dec(&z->nodes);
	mactbl_log_node(gw, node->mac, "is no more in", zone);
	rhashtable_remove_fast(&map->tbl->nodes, &node->hash, node_params);
	kfree_rcu(node, rcu);
}

/* An event: a node, and its entry before. */
struct event {
	struct oaeip_gw *gw;
	struct oaeip_map *map;
	struct oaeip_zone *from;	/* reporting zone; NULL: node or timer */
	u64 mac;
	struct oaeip_node *node;	/* NULL: no entry */
	struct oaeip_owner blank;	/* owner of a node without an entry */
	struct oaeip_owner *owner;
	u16 was;
	struct oaeip_rules rules;
};

static void mactbl_begin(struct event *ev, struct oaeip_gw *gw, struct oaeip_map *map,
			 struct oaeip_zone *from, u64 mac)
{
	lockdep_assert_held(&map->tbl->nodes_lock);
	ev->gw = gw;
	ev->map = map;
	ev->from = from;
	ev->mac = mac;
	ev->node = mactbl_find(map->tbl, mac);
	memset(&ev->blank, 0, sizeof(ev->blank));
	ev->owner = ev->node ? &ev->node->owner : &ev->blank;
	ev->was = ev->owner->zone;
	ev->rules.mine = map->mine->id;
	ev->rules.hello_ms = READ_ONCE(gw->knobs.hello_ms);
	ev->rules.node_life_ms = oaeip_node_life(gw);
	ev->rules.data_life_ms = READ_ONCE(gw->knobs.refresh_ms) * 7 / 2;
}

/* Queue a change of the node for announcement to @zone; 0: to all. */
static void mactbl_say(struct event *ev, u16 zone, u8 flags)
{
	struct oaeip_mactbl *tbl = ev->map->tbl;

	lockdep_assert_held(&tbl->nodes_lock);
	if (tbl->nchanges < OAEIP_MAX_CHANGES)
		tbl->change[tbl->nchanges++] = (struct oaeip_change) {
			.mac = ev->mac,
			.zone = zone,
			.flags = flags,
		};
	else
		tbl->tell_all = true;	/* announcing all nodes covers the change */
	oaeip_kick(ev->gw, 5);
}

static bool mactbl_make(struct event *ev)
{
	struct oaeip_zone *zone = oaeip_zone_get(ev->map, ev->owner->zone);

	ev->node = zone ? mactbl_insert(ev->gw, ev->map->tbl, zone, ev->mac,
					ev->owner) : NULL;
	if (!ev->node)
		return false;
	if (ev->owner->local)
		mactbl_say(ev, 0, 0);
	return true;
}

/* The entry stays, and the zone that owns the node changes. */
static void mactbl_moved(struct event *ev)
{
	struct oaeip_zone *old = oaeip_zone_get(ev->map, ev->was);
	struct oaeip_zone *new = oaeip_zone_get(ev->map, ev->owner->zone);

	if (old == new)
		return;
	if (old)
		atomic_dec(&old->nodes);
	if (new)
		atomic_inc(&new->nodes);
	mactbl_log_node(ev->gw, ev->mac, "is now in", ev->owner->zone);
}

/* Carry out a verdict. True: the reporting zone owns the node. */
static bool mactbl_settle(struct event *ev, enum oaeip_verdict verdict)
{
	struct oaeip_gw *gw = ev->gw;
	struct oaeip_owner *o = ev->owner;
	u16 speaker = ev->from ? ev->from->id : ev->map->mine->id;

	switch (verdict) {
	case OAEIP_NEW:
		if (ev->node)
			mactbl_moved(ev);
		else if (!mactbl_make(ev))
			return false;
		break;
	case OAEIP_TAKEN:
		mactbl_moved(ev);
		break;
	case OAEIP_REFRESHED:
		break;
	case OAEIP_KEPT:
		mactbl_say(ev, o->rival, 0);
		break;
	case OAEIP_CLAIM_IT:
		oaeip_count(gw, OAEIP_S_CONFLICT);
		mactbl_log_conflict(gw, ev->mac, o->zone, speaker);
		mactbl_say(ev, o->zone, OAEIP_NODE_CLAIM);
		return false;
	case OAEIP_CONFLICT:
		oaeip_count(gw, OAEIP_S_CONFLICT);
		return false;
	case OAEIP_OWN_CLAIMED:
		oaeip_count(gw, OAEIP_S_OWN_CLAIMED);
		mactbl_log_conflict(gw, ev->mac, o->zone, speaker);
		return false;
	case OAEIP_NOT_HERE:
		mactbl_say(ev, ev->from->id, OAEIP_NODE_GONE);
		return false;
	case OAEIP_OLD:
		oaeip_count(gw, OAEIP_S_OLD_CONTROL);
		return false;
	case OAEIP_LOST:
		mactbl_say(ev, 0, OAEIP_NODE_GONE);
		fallthrough;
	case OAEIP_GONE:
		if (ev->node)
			mactbl_remove(gw, ev->map, ev->node, ev->was);
		return false;
	case OAEIP_YIELDED:
		mactbl_say(ev, 0, OAEIP_NODE_GONE);
		mactbl_moved(ev);
		ev->node->inc = oaeip_zone_get(ev->map, o->zone)->speaker.inc;
		return false;
	case OAEIP_NOTHING:
	case OAEIP_VERDICT_END:
		return false;
	}
	if (ev->from && ev->node)
		ev->node->inc = ev->from->speaker.inc;
	return true;
}

/* True, and counted: no node can have the address of the gateway itself. */
static bool mactbl_my_own(struct oaeip_gw *gw, const u8 *mac)
{
	struct oaeip_port *port = rcu_dereference(gw->port);

	if (likely(!port || !ether_addr_equal(port->dev->dev_addr, mac)))
		return false;
	oaeip_count(gw, OAEIP_S_BAD_MAC);
	return true;
}

/**
 * oaeip_mactbl_local() - handle a frame or HELLO from a node of the own zone
 * @gw: the gateway, serving
 * @map: its map
 * @mac: MAC address of the node
 * @leaving: the frame is a HELLO LEAVING
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 *
 * Return: true if the node belongs to the own zone according to the table.
 */
bool oaeip_mactbl_local(struct oaeip_gw *gw, struct oaeip_map *map,
			const u8 *mac, bool leaving)
{
	u64 key = ether_addr_to_u64(mac);
	struct oaeip_node *node = mactbl_find(map->tbl, key);
	enum oaeip_verdict verdict;
	u64 now = oaeip_now();
	struct event ev;
	bool ok;

	if (likely(node && !leaving && READ_ONCE(node->owner.local) &&
		   !READ_ONCE(node->owner.doubt) &&
		   now - READ_ONCE(node->owner.heard) < FRESH_MS))
		return true;
	if (mactbl_my_own(gw, mac))
		return false;
	spin_lock_bh(&map->tbl->nodes_lock);
	mactbl_begin(&ev, gw, map, NULL, key);
	if (leaving)
		verdict = oaeip_claim_leaving(ev.owner, now);
	else
		verdict = oaeip_claim_local(ev.owner, &ev.rules, now);
	if (verdict == OAEIP_LOST)
		oaeip_count(gw, OAEIP_S_NODES_GONE);
	ok = mactbl_settle(&ev, verdict);
	spin_unlock_bh(&map->tbl->nodes_lock);
	return ok;
}

/**
 * oaeip_mactbl_data() - handle the source of a DATA frame from another zone
 * @gw: the gateway, serving
 * @map: its map
 * @from: the zone that the frame came from
 * @mac: MAC address of the node that sent it
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 *
 * Return: true if the node belongs to that zone according to the table.
 */
bool oaeip_mactbl_data(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, const u8 *mac)
{
	u64 key = ether_addr_to_u64(mac);
	struct oaeip_node *node = mactbl_find(map->tbl, key);
	u64 now = oaeip_now();
	struct event ev;
	bool ok;

	if (likely(node && READ_ONCE(node->owner.zone) == from->id &&
		   now - READ_ONCE(node->owner.heard) < FRESH_MS))
		return true;
	if (mactbl_my_own(gw, mac))
		return false;
	spin_lock_bh(&map->tbl->nodes_lock);
	mactbl_begin(&ev, gw, map, from, key);
	if (ev.owner->local) {
		/* The source is in the own zone, as is the destination. */
		oaeip_count(gw, OAEIP_S_LOOP);
		ok = false;
	} else {
		ok = mactbl_settle(&ev, oaeip_claim_data(ev.owner, &ev.rules,
							 from->id, now));
	}
	spin_unlock_bh(&map->tbl->nodes_lock);
	return ok;
}

/**
 * oaeip_mactbl_hear() - place a control message in the order of its sender's
 * @map: the map of a gateway that serves
 * @from: zone of the gateway that sent the message
 * @msg: the message
 *
 * Marks the nodes of the zone for the next sweep: those of the previous
 * incarnation are removed, and after BYE those of the current one. The marks are
 * set under the lock that determined the order, since another CPU may handle
 * another message of the same gateway at the same time.
 *
 * Context: softirq; takes nodes_lock.
 *
 * Return: the result of oaeip_speaker_hear().
 */
enum oaeip_hearing oaeip_mactbl_hear(struct oaeip_map *map,
				     struct oaeip_zone *from,
				     const struct oaeip_control *msg)
{
	enum oaeip_hearing hearing;

	spin_lock_bh(&map->tbl->nodes_lock);
	hearing = oaeip_speaker_hear(&from->speaker, msg, oaeip_now());
	if (hearing == OAEIP_HEAR_NEW && from->speaker.inc_before)
		WRITE_ONCE(from->stale, true);
	if (hearing == OAEIP_HEAR_NEXT && msg->op == OAEIP_BYE) {
		WRITE_ONCE(from->dead_inc, msg->inc);
		WRITE_ONCE(from->heard, 0);
		WRITE_ONCE(from->stale, true);
	}
	spin_unlock_bh(&map->tbl->nodes_lock);
	return hearing;
}

/**
 * oaeip_mactbl_told() - handle one node of a NODES message
 * @gw: the gateway, serving
 * @map: its map
 * @from: zone of the gateway that sent the message
 * @msg: the message
 * @i: index of the node in the message
 * @claimed: set to the MAC address of the node if it belongs to the own zone and
 *	is to be asked; to NULL if not
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 *
 * Return: 0; -ESTALE: another incarnation has become current meanwhile, and the
 * rest of the message is void.
 */
int oaeip_mactbl_told(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *from, const struct oaeip_control *msg,
		      unsigned int i, const u8 **claimed)
{
	enum oaeip_verdict verdict;
	u64 now = oaeip_now();
	struct event ev;
	const u8 *mac;
	u8 flags;

	*claimed = NULL;
	mac = oaeip_node_get(msg, i, &flags);
	if (mactbl_my_own(gw, mac))
		return 0;
	spin_lock_bh(&map->tbl->nodes_lock);
	if (msg->inc != from->speaker.inc) {
		spin_unlock_bh(&map->tbl->nodes_lock);
		oaeip_count(gw, OAEIP_S_OLD_CONTROL);
		return -ESTALE;
	}
	mactbl_begin(&ev, gw, map, from, ether_addr_to_u64(mac));
	verdict = oaeip_claim_nodes(ev.owner, &ev.rules, &from->speaker, msg, flags,
				    now);
	if (verdict == OAEIP_GONE)
		oaeip_count(gw, OAEIP_S_NODES_GONE);
	mactbl_settle(&ev, verdict);
	spin_unlock_bh(&map->tbl->nodes_lock);
	if (verdict == OAEIP_OWN_CLAIMED)
		*claimed = mac;
	return 0;
}

/* True if the entry was announced by an incarnation that has ended. */
static bool mactbl_orphan(const struct oaeip_node *node, const struct oaeip_zone *zone,
			  u64 stale)
{
	return stale & BIT_ULL(zone->id - 1) && !node->owner.local &&
	       (node->inc != zone->speaker.inc || node->inc == zone->dead_inc);
}

static void mactbl_check(struct oaeip_gw *gw, struct oaeip_map *map,
			 struct oaeip_node *node, u64 stale)
{
	struct oaeip_zone *zone;
	struct event ev;

	spin_lock_bh(&map->tbl->nodes_lock);
	mactbl_begin(&ev, gw, map, NULL, node->mac);
	/* The node may have been removed, and inserted anew, meanwhile. */
	if (ev.node != node)
		goto unlock;
	zone = oaeip_zone_get(map, ev.was);
	if (zone && mactbl_orphan(node, zone, stale)) {
		oaeip_count(gw, OAEIP_S_NODES_GONE);
		mactbl_settle(&ev, oaeip_claim_zone_gone(ev.owner, zone->id));
	} else {
		enum oaeip_verdict verdict;

		verdict = oaeip_claim_check(ev.owner, &ev.rules, oaeip_now());
		if (verdict == OAEIP_GONE || verdict == OAEIP_LOST)
			oaeip_count(gw, OAEIP_S_NODES_EXPIRED);
		else if (ev.owner->doubt)
			oaeip_kick_doubt(gw, oaeip_claim_due(ev.owner, &ev.rules));
		mactbl_settle(&ev, verdict);
	}
unlock:
	spin_unlock_bh(&map->tbl->nodes_lock);
}

/**
 * oaeip_mactbl_sweep() - remove entries that have expired
 * @gw: the gateway, serving
 * @map: its map
 *
 * Context: process, may sleep; takes nodes_lock.
 */
void oaeip_mactbl_sweep(struct oaeip_gw *gw, struct oaeip_map *map)
{
	struct rhashtable_iter iter;
	struct oaeip_node *node;
	unsigned int i, n = 0;
	u64 stale = 0;

	BUILD_BUG_ON(OAEIP_MAX_ZONES > 64);
	for (i = 0; i < map->n; i++)
		if (xchg(&map->zone[i].stale, false))
			stale |= BIT_ULL(i);
	rhashtable_walk_enter(&map->tbl->nodes, &iter);
	rhashtable_walk_start(&iter);
	while ((node = rhashtable_walk_next(&iter))) {
		if (IS_ERR(node))	/* resized: some entries come twice */
			continue;
		mactbl_check(gw, map, node, stale);
		if (++n % WALK_BATCH)
			continue;
		if (READ_ONCE(gw->leaving))	/* as in serve_tell_all() */
			break;
		rhashtable_walk_stop(&iter);
		cond_resched();
		rhashtable_walk_start(&iter);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
}

/**
 * oaeip_mactbl_mine() - put the next nodes of the own zone into a message
 * @iter: a walk of the table, entered by the caller
 * @buf: a NODES message with room for @max nodes
 * @max: most nodes to put
 *
 * Context: process.
 *
 * Return: number of nodes; less than @max: the walk is over.
 */
unsigned int oaeip_mactbl_mine(struct rhashtable_iter *iter, u8 *buf,
			       unsigned int max)
{
	struct oaeip_node *node;
	unsigned int n = 0;
	u8 mac[ETH_ALEN];

	rhashtable_walk_start(iter);
	while (n < max && (node = rhashtable_walk_next(iter))) {
		if (IS_ERR(node) || !READ_ONCE(node->owner.local))
			continue;
		u64_to_ether_addr(node->mac, mac);
		oaeip_node_put(buf, n++, mac, 0);
	}
	rhashtable_walk_stop(iter);
	return n;
}

/**
 * oaeip_mactbl_show() - print the beginning of a table
 * @tbl: the table, of which the caller has a reference
 * @buf: the buffer
 * @size: bytes at @buf; lines that do not fit are left out
 *
 * Context: process.
 *
 * Return: characters written.
 */
size_t oaeip_mactbl_show(struct oaeip_mactbl *tbl, char *buf, size_t size)
{
	struct rhashtable_iter iter;
	struct oaeip_node *node;
	u8 mac[ETH_ALEN];
	size_t n = 0;

	rhashtable_walk_enter(&tbl->nodes, &iter);
	rhashtable_walk_start(&iter);
	while (size - n > 40 && (node = rhashtable_walk_next(&iter))) {
		if (IS_ERR(node))
			continue;
		u64_to_ether_addr(node->mac, mac);
		n += scnprintf(buf + n, size - n, "%s%pM %u %s", n ? "\n" : "",
			       mac, READ_ONCE(node->owner.zone),
			       READ_ONCE(node->owner.local) ? "local" :
							      "remote");
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return n;
}

static void mactbl_free_node(void *node, void *unused)
{
	kfree(node);
}

static void mactbl_free_work(struct work_struct *work)
{
	struct oaeip_mactbl *tbl = container_of(work, struct oaeip_mactbl, free);

	rhashtable_free_and_destroy(&tbl->nodes, mactbl_free_node, NULL);
	kfree(tbl);
}

/**
 * oaeip_mactbl_make() - make a table
 *
 * Context: process, may sleep.
 *
 * Return: an empty table with one reference; NULL: no memory.
 */
struct oaeip_mactbl *oaeip_mactbl_make(void)
{
	struct oaeip_mactbl *tbl = kzalloc(sizeof(*tbl), GFP_KERNEL_ACCOUNT);

	if (!tbl)
		return NULL;
	if (rhashtable_init(&tbl->nodes, &node_params)) {
		kfree(tbl);
		return NULL;
	}
	spin_lock_init(&tbl->nodes_lock);
	refcount_set(&tbl->refs, 1);
	INIT_WORK(&tbl->free, mactbl_free_work);
	return tbl;
}

/**
 * oaeip_mactbl_get() - the table that is in use, for a reader
 * @gw: the gateway
 *
 * Context: any.
 *
 * Return: the table, with a reference; NULL: none, the gateway has no map.
 */
struct oaeip_mactbl *oaeip_mactbl_get(struct oaeip_gw *gw)
{
	struct oaeip_mactbl *tbl = NULL;
	struct oaeip_map *map;

	rcu_read_lock();
	map = rcu_dereference(gw->map);
	if (map) {
		/* The map has a reference until its readers are gone. */
		tbl = map->tbl;
		refcount_inc(&tbl->refs);
	}
	rcu_read_unlock();
	return tbl;
}

/**
 * oaeip_mactbl_put() - release a reference
 * @tbl: the table; NULL: nothing
 *
 * With the last one a work frees the table and its nodes: there may be a million, and
 * the caller may hold RTNL.
 *
 * Context: any; no frame is looked up any more if it is the last.
 */
void oaeip_mactbl_put(struct oaeip_mactbl *tbl)
{
	if (tbl && refcount_dec_and_test(&tbl->refs))
		oaeip_kick_work(&tbl->free);
}
