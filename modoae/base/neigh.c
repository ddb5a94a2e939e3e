// SPDX-License-Identifier: GPL-2.0
/*
 * The table of neighbours: hosts heard on the segments of the ports (doc/protocol.md
 * section 4.13). link/neigh.c decides what a HELLO means; announce.c says HELLO.
 *
 * Whoever is on a segment can claim anything, so the table is bounded, in all and for each id,
 * and so is the rate of entries that are new or change. If it is full, a new entry takes the
 * place of the one that was silent longest: first among those that were heard once, then among
 * all. One that there is a link to stays.
 *
 * What readers compare, port, address, id and incarnation, never changes in an entry: if it
 * is to change, another entry takes its place.
 */

#include <linux/etherdevice.h>
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "base.h"

#define NEIGH_TRIES	4	/* entries looked at for one that may give way */

/**
 * struct oae_neighbour - an entry
 * @by_where: in oae_neighbours.by_where
 * @by_id: in oae_neighbours.by_id
 * @age: in oae_neighbours.once or .often
 * @port: the port that heard it; not gone, as long as the entry is there
 * @mac: its address there
 * @slot: its place in oae_neighbours.slot
 * @what: what it said; heard and again change under the lock
 * @rcu: frees it
 */
struct oae_neighbour {
	struct hlist_node by_where;
	struct hlist_node by_id;
	struct list_head age;
	struct oae_port *port;
	u8 mac[ETH_ALEN] __aligned(2);
	u16 slot;
	struct oae_neigh what;
	struct rcu_head rcu;
};

/**
 * oae_neigh_make() - make the table of a node, if there is none
 * @node: the node, without a port yet
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_neigh_make(struct oae_node *node)
{
	struct oae_neighbours *n;

	if (node->neigh)
		return 0;
	n = kvzalloc(sizeof(*n), GFP_KERNEL_ACCOUNT);
	if (!n)
		return -ENOMEM;
	n->node = node;
	n->seed = get_random_u32();
	spin_lock_init(&n->lock);
	atomic64_set(&n->new_window, 0);
	INIT_LIST_HEAD(&n->once);
	INIT_LIST_HEAD(&n->often);
	timer_setup(&n->timer, oae_announce_timer, 0);
	/* Publishes the empty table. Pairs with the acquire in neigh_of(). */
	smp_store_release(&node->neigh, n);
	return 0;
}

/**
 * oae_neigh_exit() - free the table of a node
 * @node: the node, which has no port any more
 *
 * Context: process, may sleep.
 */
void oae_neigh_exit(struct oae_node *node)
{
	if (!node->neigh)
		return;
	/* Without a port the timer does not start itself again. */
	oae_timer_end(&node->neigh->timer);
	WARN_ON_ONCE(node->neigh->count);
	kvfree(node->neigh);
	node->neigh = NULL;
}

/* For readers who may come before the first port. */
static struct oae_neighbours *neigh_of(const struct oae_node *node)
{
	/* Pairs with the smp_store_release() in oae_neigh_make(). */
	return smp_load_acquire(&node->neigh);
}

static struct hlist_head *neigh_where_bucket(struct oae_neighbours *n,
					     const struct oae_port *port, const u8 *mac)
{
	u32 hash = jhash_3words(get_unaligned_be32(mac), get_unaligned_be16(mac + 4),
				hash_ptr(port, 32), n->seed);

	return &n->by_where[hash % OAE_NEIGH_BUCKETS];
}

static struct hlist_head *neigh_id_bucket(struct oae_neighbours *n, u64 id)
{
	return &n->by_id[jhash_2words(id >> 32, id, n->seed) % OAE_NEIGH_BUCKETS];
}

/* Under rcu_read_lock() or n->lock. */
static struct oae_neighbour *neigh_find(struct oae_neighbours *n, const struct oae_port *port,
					const u8 *mac)
{
	struct oae_neighbour *e;

	hlist_for_each_entry_rcu(e, neigh_where_bucket(n, port, mac), by_where,
				 lockdep_is_held(&n->lock))
		if (e->port == port && !memcmp(e->mac, mac, ETH_ALEN))
			return e;
	return NULL;
}

/* Who else has the id of a HELLO. Returns the number of entries with it, @but included. */
static unsigned int neigh_rivals(struct oae_neighbours *n, const struct oae_neighbour *but,
				 const struct oae_frame *f, u64 now, struct oae_rivals *who)
{
	struct oae_neighbour *e;
	unsigned int count = 0;

	who->own = f->hello.id == n->node->knobs.id;
	who->own_inc = n->node->inc;
	hlist_for_each_entry(e, neigh_id_bucket(n, f->hello.id), by_id) {
		if (e->what.id != f->hello.id)
			continue;
		count++;
		if (e == but || oae_neigh_stale(&e->what, now))
			continue;
		if (e->what.inc == f->hello.node_inc)
			who->same = true;
		else
			who->other = true;
	}
	return count;
}

static void neigh_tell(const struct oae_neighbour *e, const char *what)
{
	struct oae_news news = {
		.now = local_clock(),
		.what = what,
		.id = e->what.id,
	};

	memcpy(news.port, e->port->name, IFNAMSIZ);
	ether_addr_copy(news.mac, e->mac);
	oae_news_add(e->port->node, &news);
}

static void neigh_del(struct oae_neighbours *n, struct oae_neighbour *e)
{
	lockdep_assert_held(&n->lock);
	hlist_del_rcu(&e->by_where);
	hlist_del_rcu(&e->by_id);
	list_del(&e->age);
	RCU_INIT_POINTER(n->slot[e->slot], NULL);
	__clear_bit(e->slot, n->used);
	n->count--;
	kfree_rcu(e, rcu);
}

static void neigh_forget(struct oae_neighbours *n, struct oae_neighbour *e)
{
	neigh_tell(e, "gone");
	neigh_del(n, e);
}

/* The entry was heard just now, or is spared for another reason. */
static void neigh_touch(struct oae_neighbours *n, struct oae_neighbour *e)
{
	list_move_tail(&e->age, e->what.again ? &n->often : &n->once);
}

static bool neigh_linked(struct oae_neighbours *n, const struct oae_neighbour *e)
{
	return n->node->neigh_linked && n->node->neigh_linked(e->port, e->mac);
}

/* Have an entry give way to another. False: none does. */
static bool neigh_evict(struct oae_neighbours *n)
{
	struct oae_neighbour *e;
	unsigned int i;

	for (i = 0; i < NEIGH_TRIES; i++) {
		e = list_first_entry_or_null(&n->once, struct oae_neighbour, age) ?:
		    list_first_entry(&n->often, struct oae_neighbour, age);
		if (!neigh_linked(n, e)) {
			neigh_forget(n, e);
			return true;
		}
		/* Whoever has a link has been heard more than once. */
		e->what.again = true;
		neigh_touch(n, e);
	}
	return false;
}

/*
 * Is there room for one more entry, where @of_id have the same id; or with @old, for another in
 * its place? Each is news, and may have a link's other paths looked for.
 */
static bool neigh_room(struct oae_neighbours *n, const struct oae_neighbour *old,
		       unsigned int of_id)
{
	if (old)
		return oae_limit_allows(&n->new_window, OAE_NEIGH_NEW_PPS);
	return of_id < OAE_NEIGH_AN_ID &&
	       oae_limit_allows(&n->new_window, OAE_NEIGH_NEW_PPS) &&
	       (n->count < OAE_NEIGH_MOST || neigh_evict(n));
}

static void neigh_add(struct oae_neighbours *n, struct oae_neighbour *e)
{
	e->slot = find_first_zero_bit(n->used, OAE_NEIGH_MOST);
	__set_bit(e->slot, n->used);
	n->count++;
	list_add_tail(&e->age, e->what.again ? &n->often : &n->once);
	hlist_add_head_rcu(&e->by_where, neigh_where_bucket(n, e->port, e->mac));
	hlist_add_head_rcu(&e->by_id, neigh_id_bucket(n, e->what.id));
	rcu_assign_pointer(n->slot[e->slot], e);
}

/* Put an entry into the table, in the place of @old if there is one. False: counted. */
static bool neigh_put(struct oae_neighbours *n, struct oae_neighbour *old,
		      struct oae_port *port, const u8 *mac, const struct oae_neigh *what,
		      unsigned int of_id)
{
	struct oae_neighbour *e;

	if (!neigh_room(n, old, of_id)) {
		oae_count(n->node, OAE_S_NEIGHBOUR_FULL);
		return false;
	}
	e = kzalloc(sizeof(*e), GFP_ATOMIC | __GFP_NOWARN);
	if (!e) {
		oae_count(n->node, OAE_S_NO_MEMORY);
		return false;
	}
	e->port = port;
	ether_addr_copy(e->mac, mac);
	e->what = *what;
	if (old)
		neigh_del(n, old);
	neigh_add(n, e);
	neigh_tell(e, old ? "changed" : "new");
	return true;
}

/* Handle a HELLO under the lock. False: its sender is not heard; else @news: is it new there? */
static bool neigh_hear(struct oae_neighbours *n, struct oae_port *port, const u8 *from,
		       const struct oae_frame *f, u64 now, bool *news)
{
	struct oae_neighbour *e = neigh_find(n, port, from);
	struct oae_neigh what = {};
	struct oae_rivals who = {};
	unsigned int of_id = neigh_rivals(n, e, f, now, &who);

	if (e)
		what = e->what;
	switch (oae_neigh_hear(&what, &who, f, now)) {
	case OAE_HEARD_NOTHING:
		break;
	case OAE_HEARD_SAME:
		WRITE_ONCE(e->what.heard, now);
		e->what.again = true;
		neigh_touch(n, e);
		return true;
	case OAE_HEARD_NEW:
	case OAE_HEARD_CHANGED:
		*news = neigh_put(n, e, port, from, &what, of_id);
		return *news;
	case OAE_HEARD_LEFT:
		neigh_forget(n, e);
		break;
	case OAE_HEARD_CONFLICT:
		oae_count(n->node, OAE_S_ID_CONFLICT);
		break;
	}
	return false;
}

/**
 * oae_neigh_rcv() - handle a HELLO of a host (protocol 4.13)
 * @port: the port that received it
 * @from: the Ethernet source
 * @f: the frame, GOOD by oae_hello_check_node()
 *
 * A host that is new is answered, soon and together with others.
 *
 * Context: softirq, under rcu_read_lock().
 */
void oae_neigh_rcv(struct oae_port *port, const u8 *from, const struct oae_frame *f)
{
	struct oae_node *node = port->node;
	struct oae_neighbours *n = node->neigh;
	bool heard, news = false;

	oae_count(node, OAE_S_NODE_HEARD);
	spin_lock_bh(&n->lock);
	heard = neigh_hear(n, port, from, f, ktime_get_ns(), &news);
	spin_unlock_bh(&n->lock);
	if (news)
		oae_announce_to(port);
	if (heard)
		node->heard(node, port, from, news);
}

/**
 * oae_neigh_drop() - forget the neighbours that were heard at a port
 * @node: the node, which has had a port
 * @port: the port, which hears nobody any more; NULL: all ports
 *
 * A grace period later nobody refers to the port by them.
 *
 * Context: any but hard interrupts.
 */
void oae_neigh_drop(struct oae_node *node, const struct oae_port *port)
{
	struct oae_neighbours *n = node->neigh;
	struct oae_neighbour *e;
	unsigned int i;

	spin_lock_bh(&n->lock);
	for_each_set_bit(i, n->used, OAE_NEIGH_MOST) {
		e = rcu_dereference_protected(n->slot[i], lockdep_is_held(&n->lock));
		if (!port || e->port == port)
			neigh_forget(n, e);
	}
	spin_unlock_bh(&n->lock);
}

/**
 * oae_neigh_gone() - forget the neighbour at an address, until it says HELLO again
 * @node: the node
 * @port: the port that heard it
 * @mac: its address there
 *
 * Context: any but hard interrupts.
 */
void oae_neigh_gone(struct oae_node *node, const struct oae_port *port, const u8 *mac)
{
	struct oae_neighbours *n = node->neigh;
	struct oae_neighbour *e;

	spin_lock_bh(&n->lock);
	e = neigh_find(n, port, mac);
	if (e)
		neigh_forget(n, e);
	spin_unlock_bh(&n->lock);
}

/**
 * oae_neigh_age() - forget the neighbours that were silent for too long
 * @n: the table
 * @now: ns
 *
 * Context: softirq.
 *
 * Return: true if any are left.
 */
bool oae_neigh_age(struct oae_neighbours *n, u64 now)
{
	struct oae_neighbour *e;
	unsigned int i;
	bool left;

	spin_lock_bh(&n->lock);
	for_each_set_bit(i, n->used, OAE_NEIGH_MOST) {
		e = rcu_dereference_protected(n->slot[i], lockdep_is_held(&n->lock));
		if (oae_neigh_stale(&e->what, now))
			neigh_forget(n, e);
	}
	left = n->count;
	spin_unlock_bh(&n->lock);
	return left;
}

static void neigh_where(const struct oae_neighbour *e, struct oae_neigh_where *to)
{
	to->port = e->port;
	to->mtu = e->what.mtu;
	ether_addr_copy(to->mac, e->mac);
}

/* For how long, ms. */
static u64 neigh_silent(const struct oae_neighbour *e)
{
	s64 silent = ktime_get_ns() - READ_ONCE(e->what.heard);

	return silent > 0 ? div_u64(silent, NSEC_PER_MSEC) : 0;
}

/* Where @id was heard, of incarnation @inc unless that is 0, and other than as @but. */
static unsigned int neigh_places(struct oae_neighbours *n, u64 id, u64 inc,
				 const struct oae_neighbour *but,
				 struct oae_neigh_where *to, unsigned int max)
{
	struct oae_neighbour *e;
	unsigned int i = 0;

	hlist_for_each_entry_rcu(e, neigh_id_bucket(n, id), by_id) {
		if (i == max)
			break;
		if (e == but || e->what.id != id || (inc && e->what.inc != inc) ||
		    READ_ONCE(e->port->removed))
			continue;
		neigh_where(e, &to[i++]);
	}
	return i;
}

/**
 * oae_neigh_others() - where else a node was heard
 * @node: this node
 * @port: a port of it
 * @mac: where the node was heard at @port
 * @to: filled in: the other ports and addresses at which a node with the same id and
 *	incarnation was heard
 * @max: room in @to
 *
 * The id is claimed, not proven: each place has to be proven before it is used.
 *
 * Context: any but hard interrupts; under rcu_read_lock(), in which the ports in @to are
 * valid.
 *
 * Return: how many were filled in; 0 also if the node is not known.
 */
unsigned int oae_neigh_others(struct oae_node *node, const struct oae_port *port,
			      const u8 *mac, struct oae_neigh_where *to, unsigned int max)
{
	struct oae_neighbours *n = neigh_of(node);
	struct oae_neighbour *self = n ? neigh_find(n, port, mac) : NULL;

	if (!self)
		return 0;
	return neigh_places(n, self->what.id, self->what.inc, self, to, max);
}

/**
 * oae_neigh_of_id() - where a node was heard
 * @node: this node
 * @id: what the other says its id is
 * @to: filled in, as by oae_neigh_others()
 * @max: room in @to
 *
 * Context: as for oae_neigh_others().
 *
 * Return: how many were filled in.
 */
unsigned int oae_neigh_of_id(struct oae_node *node, u64 id, struct oae_neigh_where *to,
			     unsigned int max)
{
	struct oae_neighbours *n = neigh_of(node);

	return n ? neigh_places(n, id, 0, NULL, to, max) : 0;
}

/**
 * oae_neigh_id() - the id of the node that was heard somewhere
 * @node: this node
 * @port: a port of it
 * @mac: where the other was heard at @port
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: what it says its id is; 0 it is not known.
 */
u64 oae_neigh_id(struct oae_node *node, const struct oae_port *port, const u8 *mac)
{
	struct oae_neighbours *n = neigh_of(node);
	struct oae_neighbour *e = n ? neigh_find(n, port, mac) : NULL;

	return e ? e->what.id : 0;
}

/**
 * oae_neigh_silent() - for how long was nobody heard at a place?
 * @node: this node
 * @port: a port of it
 * @mac: the address there
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: ms; U32_MAX: it is no neighbour's.
 */
u32 oae_neigh_silent(struct oae_node *node, const struct oae_port *port, const u8 *mac)
{
	struct oae_neighbours *n = neigh_of(node);
	struct oae_neighbour *e = n ? neigh_find(n, port, mac) : NULL;

	return e ? min_t(u64, neigh_silent(e), U32_MAX - 1) : U32_MAX;
}

/**
 * oae_neigh_at() - a walk over the neighbours
 * @node: the node
 * @at: where the walk is, from 0; set to the place of the neighbour
 * @view: filled in
 *
 * The caller adds 1 to @at for the next one. One that is there all the time is seen once.
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 *
 * Return: false if there are no more.
 */
bool oae_neigh_at(struct oae_node *node, unsigned int *at, struct oae_neigh_view *view)
{
	struct oae_neighbours *n = neigh_of(node);
	struct oae_neighbour *e;

	for (; n && *at < OAE_NEIGH_MOST; ++*at) {
		e = rcu_dereference(n->slot[*at]);
		if (!e)
			continue;
		view->id = e->what.id;
		view->inc = e->what.inc;
		neigh_where(e, &view->where);
		view->port = view->where.port->dev->name;
		view->heard = neigh_silent(e);
		return true;
	}
	return false;
}
