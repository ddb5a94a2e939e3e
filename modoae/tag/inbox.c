// SPDX-License-Identifier: GPL-2.0
/*
 * The inbox: what has been delivered and has not been read.
 *
 * Each tag keeps its own transactions, under its own lock; the node only knows
 * which tags have some. Softirq tells it over a lock-free list, so delivering
 * takes no lock wider than the tag's; node->reading_lock is for those who empty
 * that list. Readers take turns under node->reader, and tags take turns with
 * each reader; but one that has died is read to its end first, for the peer's
 * next tag has what the peer sent later.
 *
 * A tag that has died and has nothing unread is taken off the lists at once:
 * perhaps nobody ever reads here.
 *
 * A transaction is nslices skbs in a row, each one slice's payload; the first
 * says how many they are.
 */
#include "tag.h"

#include <linux/uio.h>

/**
 * oae_inbox_announce() - tell the node's readers that a tag has something
 * @tag: the tag, locked; no file is attached to it
 *
 * The caller wakes node->read_wait after unlocking. Context: BH disabled.
 */
void oae_inbox_announce(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (!READ_ONCE(tag->nrcv))
		return;
	if (!tag->is_ready) {
		tag->is_ready = true;
		refcount_inc(&tag->ref);
		llist_add(&tag->ready, &tag->node->ready);
	}
	if (tag->unheard)
		oae_fresh_add(tag);
}

/**
 * oae_inbox_empty() - is there nothing to read?
 * @node: the node
 *
 * A hint for poll: a reader in between may change the answer. Any context.
 *
 * Return: true if nothing is unread.
 */
bool oae_inbox_empty(struct oae_node *node)
{
	return llist_empty(&node->ready) && list_empty(&node->reading) &&
	       !READ_ONCE(node->unread);
}

/*
 * Bring the tags that softirq has announced into the order they came in. Each is
 * moved once for each time that it announces itself.
 */
static void collect(struct oae_node *node)
{
	struct llist_node *new = llist_del_all(&node->ready);
	struct oae_tag *tag, *next;

	lockdep_assert_held(&node->reading_lock);
	new = llist_reverse_order(new);
	llist_for_each_entry_safe(tag, next, new, ready)
		list_add_tail(&tag->reading, &node->reading);
}

/**
 * oae_inbox_again() - a tag that was taken off the list has more
 * @tag: the tag, locked; the list has the caller's reference again
 *
 * Context: BH disabled.
 */
void oae_inbox_again(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	spin_lock(&node->reading_lock);
	if (tag->dead)
		list_add(&tag->reading, &node->reading);
	else
		list_add_tail(&tag->reading, &node->reading);
	spin_unlock(&node->reading_lock);
}

/**
 * oae_inbox_forget() - a tag that is dead and has nothing unread is of no interest
 * @tag: the tag, locked
 *
 * Context: BH disabled, RCU read lock held.
 */
void oae_inbox_forget(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;
	bool listed;

	lockdep_assert_held(&tag->lock);
	if (!tag->is_ready)
		return;
	spin_lock(&node->reading_lock);
	collect(node);
	/* If not, a reader has it in hand, and will find nothing. */
	listed = !list_empty(&tag->reading);
	if (listed)
		list_del_init(&tag->reading);
	spin_unlock(&node->reading_lock);
	if (!listed)
		return;
	tag->is_ready = false;
	oae_tag_put(tag);
}

/* The tag whose turn it is, with the list's reference, or NULL. */
static struct oae_tag *next_tag(struct oae_node *node)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->reading_lock);
	collect(node);
	tag = list_first_entry_or_null(&node->reading, struct oae_tag, reading);
	if (tag)
		list_del_init(&tag->reading);
	spin_unlock_bh(&node->reading_lock);
	return tag;
}

/* The next transaction, from each tag in turn: its skbs linked by ->next. */
static struct sk_buff *next_unread(struct oae_node *node)
{
	struct oae_tag *tag;
	struct sk_buff *skb;
	bool more;

	while ((tag = next_tag(node))) {
		skb = oae_tag_take(tag, &more);
		if (!more)
			oae_tag_put(tag);
		if (skb)
			return skb;
	}
	return NULL;
}

/**
 * oae_inbox_read() - read from one transaction
 * @node: the node
 * @to: where to
 *
 * Never crosses the end of a transaction; what does not fit stays for the next
 * read. Context: process, may sleep; takes node->reader.
 *
 * Return: bytes; 0 nothing is unread; -EFAULT, -EINTR.
 */
ssize_t oae_inbox_read(struct oae_node *node, struct iov_iter *to)
{
	struct sk_buff *skb;
	ssize_t done = 0;

	if (mutex_lock_interruptible(&node->reader))
		return -EINTR;
	/* A transaction without a byte is no reason to say end-of-file. */
	while (!done && iov_iter_count(to)) {
		if (!node->unread) {
			node->unread_off = 0;
			WRITE_ONCE(node->unread, next_unread(node));
			if (!node->unread)
				break;
			oae_count(node, OAE_S_READ);
		}
		while (node->unread && iov_iter_count(to)) {
			unsigned int n;

			skb = node->unread;
			n = min_t(size_t, skb->len - node->unread_off,
				  iov_iter_count(to));
			if (skb_copy_datagram_iter(skb, node->unread_off, to,
						   n)) {
				done = done ?: -EFAULT;
				goto out;
			}
			done += n;
			node->unread_off += n;
			if (node->unread_off < skb->len)
				break;
			WRITE_ONCE(node->unread, skb->next);
			node->unread_off = 0;
			skb_mark_not_on_list(skb);
			consume_skb(skb);
		}
	}
out:
	mutex_unlock(&node->reader);
	return done;
}

/**
 * oae_inbox_purge() - drop all that is unread
 * @node: the node; nothing is delivered to it any more
 *
 * Context: process, may sleep.
 */
void oae_inbox_purge(struct oae_node *node)
{
	struct sk_buff *skb;

	mutex_lock(&node->reader);
	do {
		kfree_skb_list(node->unread);
		node->unread = NULL;
		skb = next_unread(node);
		node->unread = skb;
		if (skb)
			oae_count(node, OAE_S_UNREAD_LOST);
	} while (skb);
	mutex_unlock(&node->reader);
}
