// SPDX-License-Identifier: GPL-2.0
/*
 * Tags that no file is attached to. Listeners are told which of them a peer has
 * opened (dev/listen.c), and noc_debug reads what is unread in any of them
 * (dev/noc_debug.c).
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

/**
 * oae_fresh_del() - do not report a tag to listeners any more
 * @tag: the tag
 *
 * Context: under tag->lock, BH off; takes node->unclaimed_lock.
 */
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

/**
 * oae_unclaimed_sort() - list a tag for noc_debug, or remove it from the list
 * @tag: the tag, kept by RCU or a reference; its unread transactions or its files
 *	have changed
 *
 * Context: under inbox.q.lock, BH off; takes node->unclaimed_lock.
 */
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
