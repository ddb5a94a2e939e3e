// SPDX-License-Identifier: GPL-2.0
/*
 * Tags that no file is attached to, for two who look for such: listeners want to
 * know which of them a peer has opened (dev/listen.c), noc_debug reads what is
 * unread in any of them (dev/noc_debug.c).
 *
 * News stands in node->fresh, in the order in which the links came up, whether or
 * not anybody listens. Each tag is told once. It is news again when the peer's end
 * is a new one, or is heard of after the last file has let go. That list has no
 * references: a tag that is attached to, or dies, is taken off under its own lock.
 *
 * What is unread stays with its tag. The node knows which tags have some: a tag is
 * listed exactly as long as something is unread in it and no file is attached. It
 * is softirq that finds something new, and says so on a lock-free list: delivering
 * takes no lock wider than the tag's. Whoever reads, attaches or drops moves what
 * is said there to node->reading. The list has a reference to each tag.
 */
#include "tag.h"

#include <linux/poll.h>

/**
 * oae_unclaimed_init() - there are no tags
 * @node: a node that nobody else knows yet
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
 * oae_fresh_add() - a tag is news to listeners
 * @tag: the tag, locked; no file is attached to it
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
 * oae_fresh_del() - a tag is no news
 * @tag: the tag, locked
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

/* Bring the tags that were said to have something into the order they came in. */
static void unclaimed_collect(struct oae_node *node)
{
	struct llist_node *new = llist_del_all(&node->ready);
	struct oae_tag *tag, *next;

	lockdep_assert_held(&node->unclaimed_lock);
	new = llist_reverse_order(new);
	llist_for_each_entry_safe(tag, next, new, ready)
		list_add_tail(&tag->reading, &node->reading);
}

/**
 * oae_unclaimed_sort() - list a tag for noc_debug if it is to be, or take it off
 * @tag: the tag, its rcvq locked; something was delivered, read or dropped, or a
 *	file has come or gone
 *
 * Context: BH disabled; RCU read lock held, or a reference to the tag.
 */
void oae_unclaimed_sort(struct oae_tag *tag)
{
	bool wanted = tag->nrcv && list_empty(&tag->files);
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->rcvq.lock);
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
 * They take turns; but one that has died is read to its end first, for the peer's
 * next tag has what the peer sent later.
 *
 * Context: process, no lock held but node->reader.
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
 * oae_unclaimed_any() - is there anything unread that is no file's?
 * @node: the node
 *
 * A hint for poll: a reader in between may change the answer. Any context.
 *
 * Return: true if so.
 */
bool oae_unclaimed_any(const struct oae_node *node)
{
	return !llist_empty(&node->ready) || !list_empty(&node->reading);
}
