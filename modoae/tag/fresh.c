// SPDX-License-Identifier: GPL-2.0
/*
 * Links that a peer has opened, and no file is attached to: news to listeners.
 *
 * Such tags stand in node->fresh in the order in which they came up, whether or
 * not anybody listens; dev/listen.c takes them off. A tag is news again when the
 * peer's end is a new one, or is heard of after the last file has let go.
 *
 * The list has no references: a tag that is attached to, or dies, is taken off
 * under its own lock.
 */
#include "tag.h"

#include <linux/poll.h>

/**
 * oae_fresh_init() - nothing is news
 * @node: a node that nobody else knows yet
 */
void oae_fresh_init(struct oae_node *node)
{
	INIT_LIST_HEAD(&node->fresh);
	spin_lock_init(&node->fresh_lock);
	init_waitqueue_head(&node->fresh_wait);
}

/**
 * oae_fresh_add() - a tag is news to listeners
 * @tag: the tag, locked; no file is attached to it, and it is not dead
 */
void oae_fresh_add(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	tag->unheard = false;
	spin_lock(&node->fresh_lock);
	if (list_empty(&tag->fresh) && !tag->dead)
		list_add_tail(&tag->fresh, &node->fresh);
	spin_unlock(&node->fresh_lock);
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
	spin_lock(&tag->node->fresh_lock);
	list_del_init(&tag->fresh);
	spin_unlock(&tag->node->fresh_lock);
}
