// SPDX-License-Identifier: GPL-2.0
/*
 * Who uses a tag here, and who might: the memory that a tag has for users, and tags that no
 * file is attached to.
 *
 * What a tag has for those who use it here: the files attached, wait queues, events to be
 * told, and what swaps need. Most links of a host with very many have no user, and are
 * used by few of their tags at a time; so it is made for the first one, and goes with the
 * tag.
 *
 * Listeners are told which tags without a file a peer has opened (dev/listen.c), and
 * noc_debug reads what is unread in any of them (dev/noc_debug.c).
 *
 * Listeners read node->fresh, which is kept in the order in which the links came
 * up, with or without a listener. Each tag is reported once. It is reported again
 * if the peer has a new incarnation, or is heard from after the last file has
 * detached. The list has no references: a tag that gets a file, or dies, is removed
 * under its own lock.
 *
 * Unread data stays with its tag. The node lists the tag exactly as long as
 * something is unread in it and no file is attached. Softirq adds a tag to the
 * lock-free list node->ready, so delivery takes no lock wider than the tag's.
 * Readers, and any function that removes a tag, first move node->ready to
 * node->reading. The two lists have a reference to each tag.
 */
#include "event.h"

#include <linux/poll.h>

static struct kmem_cache *users_cache;

static struct oae_users *users_alloc(struct oae_tag *tag)
{
	struct oae_users *u = kmem_cache_zalloc(users_cache, OAE_GFP_USER);

	if (!u)
		return NULL;
	INIT_LIST_HEAD(&u->files);
	INIT_LIST_HEAD(&u->halfq);
	INIT_LIST_HEAD(&u->ringq);
	INIT_LIST_HEAD(&u->guess);
	u->tag = tag;
	init_waitqueue_head(&u->read_wait);
	init_waitqueue_head(&u->poll_wait);
	init_waitqueue_head(&u->write_wait);
	init_waitqueue_head(&u->half_wait);
	init_waitqueue_head(&u->confirm_wait);
	return u;
}

/* Have a tag ready for users. -ENOMEM. */
int oae_users_make(struct oae_tag *tag)
{
	struct oae_users *u;

	if (oae_tag_users(tag))
		return 0;
	u = users_alloc(tag);
	if (!u) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	oae_tag_lock(tag);
	if (!tag->users) {
		oae_link_lend_swaps(&tag->link, &u->swaps);
		/* Whoever sees it sees lists and wait queues. Pairs with oae_tag_users(). */
		smp_store_release(&tag->users, u);
		u = NULL;
	}
	oae_tag_unlock(tag);
	if (u)
		kmem_cache_free(users_cache, u);
	return 0;
}

/* The tag is about to be freed. */
void oae_users_free(struct oae_tag *tag)
{
	if (tag->users)
		kmem_cache_free(users_cache, tag->users);
}

/**
 * oae_users_start() - make the slab
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_users_start(void)
{
	users_cache = kmem_cache_create("oae_users", sizeof(struct oae_users), 0, 0, NULL);
	return users_cache ? 0 : -ENOMEM;
}

/**
 * oae_users_stop() - free the slab
 *
 * Context: process, may sleep; after rcu_barrier().
 */
void oae_users_stop(void)
{
	kmem_cache_destroy(users_cache);
}

/**
 * oae_unclaimed_init() - initialise a node's lists of unclaimed tags
 * @node: the node, not published yet
 *
 * Context: any.
 */
void oae_unclaimed_init(struct oae_node *node)
{
	spin_lock_init(&node->unclaimed_lock);
	INIT_LIST_HEAD(&node->fresh);
	init_waitqueue_head(&node->fresh_wait);
	init_llist_head(&node->ready);
	INIT_LIST_HEAD(&node->reading);
}

/**
 * oae_fresh_add() - report a tag to listeners
 * @tag: the tag, without a file
 *
 * Context: under tag->lock, BH off; takes node->unclaimed_lock.
 */
void oae_fresh_add(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	tag->unheard = false;
	spin_lock(&node->unclaimed_lock);
	if (list_empty(&tag->fresh) && !tag->dead)
		list_add_tail(&tag->fresh, &node->fresh);
	spin_unlock(&node->unclaimed_lock);
	if (wq_has_sleeper(&node->fresh_wait))
		wake_up_interruptible_poll(&node->fresh_wait,
					   EPOLLIN | EPOLLRDNORM);
}

/* Do not report a tag to listeners any more. */
void oae_fresh_del(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (list_empty_careful(&tag->fresh))
		return;
	spin_lock(&tag->node->unclaimed_lock);
	list_del_init(&tag->fresh);
	spin_unlock(&tag->node->unclaimed_lock);
}

/* Move the tags from node->ready to node->reading, in the order of their arrival. */
static void unclaimed_collect(struct oae_node *node)
{
	struct llist_node *new = llist_del_all(&node->ready);
	struct oae_tag *tag, *next;

	lockdep_assert_held(&node->unclaimed_lock);
	new = llist_reverse_order(new);
	/* The two are the same memory: the next is known before this one is moved. */
	llist_for_each_entry_safe(tag, next, new, ready)
		list_add_tail(&tag->reading, &node->reading);
}

/* A tag's unread transactions or its files have changed: list it for noc_debug, or remove it. */
void oae_unclaimed_sort(struct oae_tag *tag)
{
	bool wanted = tag->inbox.n && !oae_tag_attached(tag);
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->inbox.q.lock);
	if (wanted == tag->is_ready)
		return;
	tag->is_ready = wanted;
	if (wanted) {
		refcount_inc(&tag->ref);
		llist_add(&tag->ready, &node->ready);
		return;
	}
	spin_lock(&node->unclaimed_lock);
	unclaimed_collect(node);
	list_del(&tag->reading);
	spin_unlock(&node->unclaimed_lock);
	oae_tag_put(tag);
}

/**
 * oae_unclaimed_next() - the tag that noc_debug reads from next
 * @node: the node
 *
 * The tags take turns. But a dead tag is read to its end first, since whatever the
 * peer's next tag has was sent later.
 *
 * Context: process; takes node->unclaimed_lock.
 *
 * Return: the tag, with a reference; NULL nothing is unread.
 */
struct oae_tag *oae_unclaimed_next(struct oae_node *node)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->unclaimed_lock);
	unclaimed_collect(node);
	tag = list_first_entry_or_null(&node->reading, struct oae_tag, reading);
	if (tag) {
		refcount_inc(&tag->ref);
		if (!READ_ONCE(tag->dead))
			list_move_tail(&tag->reading, &node->reading);
	}
	spin_unlock_bh(&node->unclaimed_lock);
	return tag;
}

/**
 * oae_unclaimed_any() - is anything unread in a tag without a file?
 * @node: the node
 *
 * A hint for poll: a reader may change the answer meanwhile.
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_unclaimed_any(const struct oae_node *node)
{
	return !llist_empty(&node->ready) || !list_empty(&node->reading);
}
