// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of max_tags, and which tag gives way (doc/protocol.md section 4.6): the
 * counts and the lists for the rules of link/admission.c.
 *
 * Each reason to give way has a list, the oldest entry first, so there is nothing
 * to search. The events that change a tag's state move it between the lists.
 */
#include "event.h"

#include <linux/ktime.h>

/**
 * oae_share_init() - initialise the counts and lists of a node
 * @node: the node, not published yet
 *
 * Context: any.
 */
void oae_share_init(struct oae_node *node)
{
	unsigned int i;

	atomic_set(&node->ntags, 0);
	atomic_set(&node->nstrangers, 0);
	spin_lock_init(&node->spare_lock);
	for (i = 0; i < OAE_SPARE_END; i++)
		INIT_LIST_HEAD(&node->spare[i]);
}

/**
 * oae_share_give_back() - undo oae_share_take()
 * @tag: the tag, which did not go into the table, or is dead
 *
 * Context: any.
 */
void oae_share_give_back(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	tag->counted = false;
	if (tag->stranger)
		atomic_dec(&node->nstrangers);
	atomic_dec(&node->ntags);
}

/**
 * oae_share_take() - count a tag that is about to go into the table (protocol 4.6)
 * @tag: the tag, not published yet
 *
 * Context: any.
 *
 * Return: 0 and the tag is counted; -ENOBUFS max_tags is reached; -EDQUOT the
 * strangers' share is.
 */
int oae_share_take(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	unsigned int strangers = 0;
	int err;

	if (tag->stranger)
		strangers = atomic_inc_return(&node->nstrangers);
	err = oae_share_room(atomic_inc_return(&node->ntags), strangers,
			     READ_ONCE(node->knobs.max_tags));
	if (err)
		oae_share_give_back(tag);
	else
		tag->counted = true;
	return err;
}

/**
 * oae_share_own() - stop counting a tag as a stranger's
 * @tag: the tag: its link is being opened here, or it is dead
 *
 * Context: under tag->lock, BH off.
 */
void oae_share_own(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (!tag->stranger)
		return;
	tag->stranger = false;
	atomic_dec(&tag->node->nstrangers);
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
		oae_share_give_back(tag);
		return;
	}
	/* A reader's buffer was bad: what seemed to be read is unread again. */
	tag->counted = true;
	atomic_inc(&tag->node->ntags);
}

/**
 * oae_share_sort() - put a tag on the list for its present state
 * @tag: the tag
 *
 * The last step of an event.
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
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

/* The first tag of a list gives way, if it has been there for @age ns. */
static bool share_give_way(struct oae_node *node, enum oae_spare spare, u64 age)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->spare_lock);
	tag = list_first_entry_or_null(&node->spare[spare], struct oae_tag,
				       yield);
	if (tag && ((u32)jiffies - tag->spare_since < nsecs_to_jiffies(age) ||
		    !refcount_inc_not_zero(&tag->ref)))
		tag = NULL;
	spin_unlock_bh(&node->spare_lock);
	if (!tag)
		return false;
	oae_tag_give_way(tag, spare);
	oae_tag_put(tag);
	return true;
}

/**
 * oae_share_make_room() - make a tag give way (protocol 4.6)
 * @node: the node
 * @err: what oae_share_take() returned
 *
 * Context: any but hard interrupts, no lock held; takes tag->lock.
 *
 * Return: true if oae_share_take() is worth another try.
 */
bool oae_share_make_room(struct oae_node *node, int err)
{
	unsigned int dead_ms = READ_ONCE(node->knobs.dead_ms);
	unsigned int doubt_s = READ_ONCE(node->knobs.doubt_s);
	enum oae_spare spare;
	u64 ms;

	for (spare = OAE_SPARE_DEAD; spare < OAE_SPARE_END; spare++)
		if (oae_share_yields(spare, err, dead_ms, doubt_s, &ms) &&
		    share_give_way(node, spare, ms * NSEC_PER_MSEC))
			return true;
	return false;
}
