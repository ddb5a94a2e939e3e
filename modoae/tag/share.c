// SPDX-License-Identifier: GPL-2.0
/*
 * Who may have a tag, and which gives way (doc/protocol.md section 4.6).
 *
 * max_tags bounds the tags in the table and those that are dead and have
 * something unread, together. Of these, tags made for strangers get three
 * quarters: the rest is for configured peers and for local use. A tag stays a
 * stranger's when a program here uses its link, or a server would spend on
 * strangers what is kept from them.
 *
 * When there is no room, one that nobody uses gives way. There is a list for
 * each reason, the longest there first, so that nothing is searched for:
 *   DEAD		its port is gone, or it gave way; what is unread is lost
 *   CLOSED	a stranger's that left something unread; dead after that
 *   DOWN	a stranger's that is away, in doubt; dead after that
 * A tag moves between the lists in the events that change its state.
 */
#include "tag.h"

#include <linux/jiffies.h>

#define CLOSED_DEAD	8	/* dead times until a CLOSED one may give way */

/**
 * oae_share_init() - no tags
 * @node: a node that nobody else knows yet
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

/* Three quarters, to the nearest, and not none. */
static unsigned int strangers_most(unsigned int max_tags)
{
	return max((3 * max_tags + 1) / 4, 1U);
}

/**
 * oae_share_take() - a tag is about to go into the table: is there room?
 * @tag: the tag, which nobody else knows yet
 *
 * Context: any, no lock.
 *
 * Return: 0, and it is counted; -ENOBUFS max_tags; -EDQUOT the strangers' share.
 */
int oae_share_take(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	unsigned int most = READ_ONCE(node->knobs.max_tags);

	if (atomic_inc_return(&node->ntags) > most) {
		atomic_dec(&node->ntags);
		return -ENOBUFS;
	}
	if (tag->stranger &&
	    atomic_inc_return(&node->nstrangers) > strangers_most(most)) {
		atomic_dec(&node->nstrangers);
		atomic_dec(&node->ntags);
		return -EDQUOT;
	}
	tag->counted = true;
	return 0;
}

/**
 * oae_share_give_back() - it did not go into the table
 * @tag: the tag, for which oae_share_take() returned 0
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
 * oae_share_own() - a tag is no stranger's any more
 * @tag: the tag, locked: opened here, or dead
 */
void oae_share_own(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (!tag->stranger)
		return;
	tag->stranger = false;
	atomic_dec(&tag->node->nstrangers);
}

static enum oae_spare why_spare(const struct oae_tag *tag)
{
	if (!list_empty(&tag->files))
		return OAE_SPARE_NOT;
	if (tag->dead)
		return tag->nrcv ? OAE_SPARE_DEAD : OAE_SPARE_NOT;
	if (!tag->stranger || tag->nsnd || tag->nhalf)
		return OAE_SPARE_NOT;
	if (oae_link_closed(&tag->link))
		return OAE_SPARE_CLOSED;
	return oae_link_down(&tag->link) ? OAE_SPARE_DOWN : OAE_SPARE_NOT;
}

static void move(struct oae_tag *tag, enum oae_spare spare)
{
	struct oae_node *node = tag->node;

	spin_lock(&node->spare_lock);
	list_del_init(&tag->yield);
	if (spare)
		list_add_tail(&tag->yield, &node->spare[spare]);
	tag->spare_since = get_jiffies_64();
	spin_unlock(&node->spare_lock);
	tag->spare = spare;
}

/**
 * oae_share_sort() - put a tag on the list where it belongs now
 * @tag: the tag, locked; after all else that an event does to it
 *
 * One that is dead and read to its end is let go of.
 *
 * Context: BH disabled, RCU read lock held.
 */
void oae_share_sort(struct oae_tag *tag)
{
	enum oae_spare spare = why_spare(tag);

	lockdep_assert_held(&tag->lock);
	if (spare != tag->spare)
		move(tag, spare);
	if (!tag->dead || tag->nrcv)
		return;
	oae_inbox_forget(tag);
	if (tag->counted) {
		tag->counted = false;
		atomic_dec(&tag->node->ntags);
	}
}

/* The first of a list, with a reference, if it has been there for @age jiffies. */
static struct oae_tag *first(struct oae_node *node, enum oae_spare spare,
			     u64 age)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->spare_lock);
	tag = list_first_entry_or_null(&node->spare[spare], struct oae_tag,
				       yield);
	if (tag && (time_before64(get_jiffies_64(), tag->spare_since + age) ||
		    !refcount_inc_not_zero(&tag->ref)))
		tag = NULL;
	spin_unlock_bh(&node->spare_lock);
	return tag;
}

static bool give_way(struct oae_node *node, enum oae_spare spare, u64 age)
{
	struct oae_tag *tag = first(node, spare, age);

	if (!tag)
		return false;
	oae_tag_give_way(tag, spare);
	oae_tag_put(tag);
	return true;
}

/**
 * oae_share_make_room() - let a tag give way
 * @node: where
 * @err: what there is no room in, as oae_share_take() said
 *
 * A dead tag takes no room in the strangers' share.
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: true if it is worth to try again.
 */
bool oae_share_make_room(struct oae_node *node, int err)
{
	unsigned int dead_ms = READ_ONCE(node->knobs.dead_ms);
	unsigned int doubt_s = READ_ONCE(node->knobs.doubt_s);

	if (err == -ENOBUFS && give_way(node, OAE_SPARE_DEAD, 0))
		return true;
	if (give_way(node, OAE_SPARE_CLOSED,
		     CLOSED_DEAD * (u64)msecs_to_jiffies(dead_ms)))
		return true;
	return doubt_s && give_way(node, OAE_SPARE_DOWN, (u64)doubt_s * HZ);
}
