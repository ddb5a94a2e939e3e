// SPDX-License-Identifier: GPL-2.0
/*
 * Which links there are: the table of tags, the memory of an entry, and the lists that one may
 * be on. Of shares of max_tags, and which tag gives way, the rules are in link/admission.c
 * (doc/protocol.md section 4.6): each reason to give way has a list, the oldest entry first, so
 * there is nothing to search. The events that change a tag's state move it between the lists.
 *
 * Links in doubt are listed at the port of the path that they use: a port that is about to go
 * down has them say what they have committed (4.5), and has no time to look for them among all
 * others. A tag is listed by the event after which its link is in doubt. It stays listed until
 * the timer finds that there is nothing to be listed for: a link at work is in doubt most of the
 * time, so its frames find it listed.
 */
#include "path.h"

#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#define TAG_KEY_LEN	offsetofend(struct oae_tag_key, port)

/* Padding is not initialised: with it two equal keys would differ. */
static_assert(sizeof(u64) + sizeof(struct oae_port *) == TAG_KEY_LEN);

static const struct rhashtable_params tag_params = {
	.head_offset = offsetof(struct oae_tag, hash),
	.key_offset = offsetof(struct oae_tag, key),
	.key_len = TAG_KEY_LEN,
	.automatic_shrinking = true,
};

/**
 * oae_kid() - the key id of a tag
 * @vc: virtual channel
 * @mac: address of the peer
 *
 * Context: any.
 *
 * Return: vc in the top byte, the address in the low 48 bits.
 */
u64 oae_kid(u8 vc, const u8 mac[ETH_ALEN])
{
	return (u64)vc << 56 | (u64)get_unaligned_be16(mac) << 32 |
	       get_unaligned_be32(mac + 2);
}
EXPORT_SYMBOL_FOR_BENCH(oae_kid);

/**
 * oae_kid_mac() - the peer's address in a key id
 * @kid: key id
 * @mac: filled in
 *
 * Context: any.
 */
void oae_kid_mac(u64 kid, u8 mac[ETH_ALEN])
{
	put_unaligned_be16(kid >> 32, mac);
	put_unaligned_be32(kid, mac + 2);
}

/* A slab of their own: a size of kmalloc() would be far larger. */
static struct kmem_cache *table_cache;

static void table_tag_free(struct rcu_head *rcu)
{
	struct oae_tag *tag = container_of(rcu, struct oae_tag, rcu);

	/* oae_tag_retire() cannot cancel a timer whose function is running. */
	hrtimer_cancel(&tag->timer);
	oae_port_put(tag->key.port);
	tag->node->tag_free(tag);
	/* Each slice that was kept has been given back, as long as it was then. */
	WARN_ON_ONCE(tag->kept);
	kmem_cache_free(table_cache, tag);
}

/**
 * oae_tag_put() - drop a reference to a tag
 * @tag: the tag, freed after RCU with the last reference
 *
 * Context: any.
 */
void oae_tag_put(struct oae_tag *tag)
{
	if (refcount_dec_and_test(&tag->ref))
		call_rcu(&tag->rcu, table_tag_free);
}
EXPORT_SYMBOL_FOR_BENCH(oae_tag_put);

/* A CLOSED tag leaves the table, and all lists of what is in it. Its reference is the caller's. */
void oae_tag_remove(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	rhashtable_remove_fast(&tag->node->tags, &tag->hash, tag_params);
	/* Counted once it is out. Pairs with the acquire in oae_tag_of_frame(). */
	smp_mb__before_atomic();
	atomic64_inc(&tag->node->retired);
	spin_lock(&tag->node->all_lock);
	list_del_init(&tag->all);
	spin_unlock(&tag->node->all_lock);
	oae_share_own(tag);
	oae_count(tag->node, OAE_S_TAGS_GONE);
}

/* Give a tag that is not in the table another key, and count it at that port. */
static void table_set_key(struct oae_tag *tag, const struct oae_tag_key *key)
{
	struct oae_port *old = tag->key.port;

	if (tag->open) {
		atomic_dec(&old->nopen);
		atomic_inc(&key->port->nopen);
	}
	if (tag->settling) {
		atomic_dec(&old->nsettling);
		atomic_inc(&key->port->nsettling);
	}
	WRITE_ONCE(tag->key.port, key->port);
	WRITE_ONCE(tag->key.kid, key->kid);
}

static int table_insert_as(struct oae_tag *tag, const struct oae_tag_key *key)
{
	table_set_key(tag, key);
	return rhashtable_lookup_insert_fast(&tag->node->tags, &tag->hash, tag_params);
}

/*
 * Have a tag found by another port and address; its old port may be `removed`. A reader of that
 * in an RCU read-side section may use it to the end of that. On failure the tag has its old key.
 * Without memory, or if in that moment there is a tag of that, it may be found by nothing, until
 * it is killed with its port. -EEXIST: there is a tag.
 */
int oae_tag_rekey(struct oae_tag *tag, const struct oae_tag_key *key)
{
	struct oae_tag_key old = tag->key;
	int err;

	lockdep_assert_held(&tag->lock);
	if (rhashtable_lookup_fast(&tag->node->tags, key, tag_params))
		return -EEXIST;
	rhashtable_remove_fast(&tag->node->tags, &tag->hash, tag_params);
	/* What a CPU found last it finds no more. Pairs with the acquire in oae_tag_of_frame(). */
	smp_mb__before_atomic();
	atomic64_inc(&tag->node->retired);
	err = table_insert_as(tag, key);
	if (err) {
		if (err != -EEXIST)
			oae_count(tag->node, OAE_S_NO_MEMORY);
		if (table_insert_as(tag, &old))
			oae_count(tag->node, OAE_S_NO_MEMORY);
		return err;
	}
	oae_port_get(key->port);
	oae_port_put(old.port);
	return 0;
}

/**
 * oae_tag_find() - find a tag
 * @port: its port
 * @kid: its key id
 *
 * Context: any; under rcu_read_lock().
 *
 * Return: the tag, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_tag_find(struct oae_port *port, u64 kid)
{
	struct oae_tag_key key = { .port = port, .kid = kid };

	return rhashtable_lookup(&port->node->tags, &key, tag_params);
}

/**
 * oae_tag_of_frame() - find a tag, first among those that this CPU found last
 * @port: its port, which has received a frame
 * @kid: its key id
 *
 * What a CPU found stands as long as no tag of the node was retired since. A CPU that
 * sees the old number of retired tags began its RCU read-side section before the grace
 * period that frees the tag. A CPU that sees the new number finds the tag nowhere: it is
 * counted once it is out of the table. The lock is for PREEMPT_RT, where BH may be off for
 * two on one CPU: a tag and a number are read and written together.
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_tag_of_frame(struct oae_port *port, u64 kid)
{
	unsigned int slot = hash_64(kid, OAE_FOUND_BITS);
	struct oae_node *node = port->node;
	struct oae_found found;
	u64 retired;

	local_lock_nested_bh(&node->found->lock);
	found = *this_cpu_ptr(&node->found->slot[slot]);
	local_unlock_nested_bh(&node->found->lock);
	/* Pairs with the barrier in oae_tag_remove(). */
	retired = atomic64_read_acquire(&node->retired);
	if (likely(found.tag && found.retired == retired && found.tag->key.kid == kid &&
		   found.tag->key.port == port))
		return found.tag;
	found.tag = oae_tag_find(port, kid);
	found.retired = retired;
	if (found.tag) {
		local_lock_nested_bh(&node->found->lock);
		*this_cpu_ptr(&node->found->slot[slot]) = found;
		local_unlock_nested_bh(&node->found->lock);
	}
	return found.tag;
}

/* The tag did not go into the table, or is dead. */
static void share_give_back(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	tag->counted = false;
	if (tag->stranger)
		atomic_dec(&node->nstrangers);
	atomic_dec(&node->ntags);
}

/*
 * Count a tag that is about to go into the table. -ENOBUFS: max_tags is reached; -EDQUOT: the
 * strangers' share is.
 */
static int share_take(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	unsigned int strangers = 0;
	int err;

	if (tag->stranger)
		strangers = atomic_inc_return(&node->nstrangers);
	err = oae_share_room(atomic_inc_return(&node->ntags), strangers,
			     READ_ONCE(node->knobs.max_tags));
	if (err)
		share_give_back(tag);
	else
		tag->counted = true;
	return err;
}

static enum oae_spare share_why_spare(const struct oae_tag *tag)
{
	const struct oae_claims c = {
		.attached = oae_tag_attached(tag),
		.dead = tag->dead,
		.unread = oae_inbox_count(tag),
		.stranger = tag->stranger,
		.queued = oae_tag_queued(tag),
		.closed = oae_link_closed(&tag->link),
		.down = oae_link_down(&tag->link),
	};

	return oae_share_spare(&c);
}

/*
 * A dead tag counts in max_tags as long as it has what was delivered: unread, or taken by a file,
 * which may give it back.
 */
static void share_count_dead(struct oae_tag *tag)
{
	bool keeps = READ_ONCE(tag->inbox.bytes);

	if (tag->counted == keeps)
		return;
	if (!keeps) {
		share_give_back(tag);
		return;
	}
	/* A reader's buffer was bad: what seemed to be read is unread again. */
	tag->counted = true;
	atomic_inc(&tag->node->ntags);
}

/* The last step of an event: put a tag on the list for its present state. */
void oae_share_sort(struct oae_tag *tag)
{
	enum oae_spare spare = share_why_spare(tag);
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	if (spare != tag->spare) {
		spin_lock(&node->spare_lock);
		list_del_init(&tag->yield);
		if (spare)
			list_add_tail(&tag->yield, &node->spare[spare]);
		tag->spare_since = jiffies;
		spin_unlock(&node->spare_lock);
		tag->spare = spare;
	}
	if (tag->dead)
		share_count_dead(tag);
}

/* If the port is about to go down, the link leaves. */
static void doubt_list(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port = oae_tag_used_port(tag);
	bool leaving;

	spin_lock(&port->doubt_lock);
	list_add_tail(&tag->doubt_list, &port->doubt);
	tag->doubt_at = port;
	/* Else oae_doubt_leave() finds the tag. */
	leaving = port->leaving;
	spin_unlock(&port->doubt_lock);
	if (unlikely(leaving))
		oae_link_leave(&tag->link, ev->now + OAE_DOUBT_LEAVE_NS, ev->now, &ev->a);
}

/* A link is in doubt no more, or its tag leaves the table. */
void oae_doubt_unlist(struct oae_tag *tag)
{
	struct oae_port *port = tag->doubt_at;

	lockdep_assert_held(&tag->lock);
	if (!port)
		return;
	spin_lock(&port->doubt_lock);
	list_del(&tag->doubt_list);
	spin_unlock(&port->doubt_lock);
	tag->doubt_at = NULL;
}

/*
 * An event is over: list its tag if the link is in doubt. If it is listed, another path may be in
 * use now. The event's frames can still be added to.
 */
void oae_doubt_look(struct oae_tag *tag, struct oae_run *ev)
{
	lockdep_assert_held(&tag->lock);
	/* A link that is CLOSED leaves its paths: nobody would tell it that their ports go. */
	if (tag->doubt_at &&
	    (tag->doubt_at != oae_tag_used_port(tag) || oae_link_closed(&tag->link)))
		oae_doubt_unlist(tag);
	if (!tag->doubt_at && !tag->dead && oae_link_in_doubt(&tag->link))
		doubt_list(tag, ev);
}

static struct oae_tag *table_tag_alloc(struct oae_port *port, u64 kid, bool stranger,
				       gfp_t gfp)
{
	struct oae_node *node = port->node;
	struct oae_tag *tag = kmem_cache_zalloc(table_cache, gfp);

	if (!tag)
		return NULL;
	tag->key.port = oae_port_get(port);
	tag->key.kid = kid;
	tag->node = node;
	tag->stranger = stranger;
	refcount_set(&tag->ref, 2);	/* the table's, the caller's */
	spin_lock_init(&tag->lock);
	hrtimer_setup(&tag->timer, node->tag_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	INIT_LIST_HEAD(&tag->sndq);
	INIT_LIST_HEAD(&tag->flushq);
	INIT_LIST_HEAD(&tag->all);
	INIT_LIST_HEAD(&tag->yield);
	skb_queue_head_init(&tag->inbox.q);
	INIT_LIST_HEAD(&tag->fresh);
	tag->born = local_clock();
	return tag;
}

/* Add a tag to node->all. It is in the table already, so it may be dead by now. */
static void table_tag_list(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	spin_lock_bh(&node->all_lock);
	if (!READ_ONCE(tag->dead))
		list_add(&tag->all, &node->all);
	spin_unlock_bh(&node->all_lock);
}

static int table_tag_insert(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	int err;

	if (READ_ONCE(tag->key.port->removed))
		return -ENODEV;
	oae_link_init(&tag->link, rcu_dereference(node->cfg), tag->key.kid >> 56,
		      oae_tag_way_begin(tag, false),
		      READ_ONCE(node->knobs.tag_seq) - 1);
	err = share_take(tag);
	if (err)
		return err;
	err = rhashtable_lookup_insert_fast(&node->tags, &tag->hash,
					    tag_params);
	if (err)
		share_give_back(tag);
	else
		table_tag_list(tag);
	/* rhashtable has several errors for a table that cannot grow now. */
	if (err == -EBUSY || err == -E2BIG)
		err = -ENOMEM;
	return err;
}

/*
 * Find a tag or add one, its link CLOSED, with a reference for the caller. -ENODEV: the port is
 * being removed; -ENOBUFS: max_tags is reached; -EDQUOT: the strangers' share of it is; -ENOMEM.
 */
struct oae_tag *oae_tag_add(struct oae_port *port, u64 kid, bool stranger, gfp_t gfp)
{
	struct oae_node *node = port->node;
	struct oae_tag *tag, *old;
	int err;

	rcu_read_lock();
	old = oae_tag_find(port, kid);
	if (old && refcount_inc_not_zero(&old->ref)) {
		rcu_read_unlock();
		return old;
	}
	rcu_read_unlock();

	tag = table_tag_alloc(port, kid, stranger, gfp);
	if (!tag) {
		oae_count(node, OAE_S_NO_MEMORY);
		return ERR_PTR(-ENOMEM);
	}
	do {
		old = NULL;
		/* oae_ports_detach() sets `removed`, waits for RCU, then kills the tags. */
		rcu_read_lock();
		err = table_tag_insert(tag);
		if (err == -EEXIST) {
			old = oae_tag_find(port, kid);
			if (old && !refcount_inc_not_zero(&old->ref))
				old = NULL;
		}
		rcu_read_unlock();
	} while (err == -EEXIST && !old);

	if (!err) {
		oae_count(node, OAE_S_TAGS_MADE);
		return tag;
	}
	oae_port_put(port);
	kmem_cache_free(table_cache, tag);
	if (err == -ENOMEM)
		oae_count(node, OAE_S_NO_MEMORY);
	return old ?: ERR_PTR(err);
}

/*
 * The next few tags behind @place in node->all, with a reference each. Returns
 * their number, or more than OAE_BATCH at the end of the list.
 */
static unsigned int table_next_tags(struct oae_node *node,
				    const struct oae_port *port,
				    struct list_head *place, struct oae_tag **batch)
{
	unsigned int seen, n = 0;
	struct oae_tag *tag;

	spin_lock_bh(&node->all_lock);
	for (seen = 0; seen < OAE_BATCH && place->next != &node->all; seen++) {
		tag = list_entry(place->next, struct oae_tag, all);
		list_move(place, &tag->all);
		if ((!port || tag->key.port == port) &&
		    refcount_inc_not_zero(&tag->ref))
			batch[n++] = tag;
	}
	if (!seen)
		list_del(place);
	spin_unlock_bh(&node->all_lock);
	return seen ? n : OAE_BATCH + 1;
}

/**
 * oae_tags_for_each() - call a function on the tags of a node
 * @node: the node
 * @port: only the tags of this port; NULL all
 * @fn: the function, called with a reference to the tag and without tag->lock
 * @arg: for @fn
 *
 * Tags that are made meanwhile are left out. The caller may hold node->knob_lock or RTNL.
 *
 * Context: process, may sleep.
 */
void oae_tags_for_each(struct oae_node *node, const struct oae_port *port,
		       void (*fn)(struct oae_tag *tag, long arg), long arg)
{
	struct oae_tag *batch[OAE_BATCH];
	LIST_HEAD(place);
	unsigned int n, i;

	mutex_lock(&node->walking);
	spin_lock_bh(&node->all_lock);
	list_add(&place, &node->all);
	spin_unlock_bh(&node->all_lock);
	while ((n = table_next_tags(node, port, &place, batch)) <= OAE_BATCH) {
		for (i = 0; i < n; i++) {
			fn(batch[i], arg);
			oae_tag_put(batch[i]);
		}
		cond_resched();
	}
	mutex_unlock(&node->walking);
}

/**
 * oae_tags_init() - make a node's table of tags
 * @node: the node
 * @timer: function of oae_tag.timer
 * @free: frees what others keep in a tag that is about to be freed; in RCU's callback
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int oae_tags_init(struct oae_node *node,
		  enum hrtimer_restart (*timer)(struct hrtimer *timer),
		  void (*free)(struct oae_tag *tag))
{
	unsigned int i;

	atomic_set(&node->ntags, 0);
	atomic_set(&node->nstrangers, 0);
	spin_lock_init(&node->spare_lock);
	for (i = 0; i < OAE_SPARE_END; i++)
		INIT_LIST_HEAD(&node->spare[i]);
	node->tag_timer = timer;
	node->tag_free = free;
	INIT_LIST_HEAD(&node->all);
	spin_lock_init(&node->all_lock);
	spin_lock_init(&node->opening_lock);
	spin_lock_init(&node->guess_lock);
	INIT_LIST_HEAD(&node->guesses);
	mutex_init(&node->walking);
	return rhashtable_init(&node->tags, &tag_params);
}

/**
 * oae_tags_exit() - free a node's table of tags
 * @node: the node, which has no port and so no tag any more
 *
 * Context: process, may sleep.
 */
void oae_tags_exit(struct oae_node *node)
{
	WARN_ON(atomic_read(&node->ntags) || atomic_read(&node->nstrangers));
	rhashtable_destroy(&node->tags);
}

/**
 * oae_tags_start() - make the slab of tags
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_tags_start(void)
{
	table_cache = kmem_cache_create("oae_tag", sizeof(struct oae_tag), 0, 0, NULL);
	return table_cache ? 0 : -ENOMEM;
}

/**
 * oae_tags_stop() - free the slab of tags
 *
 * Context: process, may sleep; after rcu_barrier().
 */
void oae_tags_stop(void)
{
	kmem_cache_destroy(table_cache);
}
