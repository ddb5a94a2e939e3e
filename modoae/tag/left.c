// SPDX-License-Identifier: GPL-2.0
/*
 * What a program had not passed when its file was closed: it goes back to the head of the
 * inboxes of its links, for the next reader. The pages of the dead ring are kept as that part
 * of the inboxes, so closing allocates nothing. An skb stands for all chunks of a link;
 * whoever reads takes one message of it at a time.
 *
 * No program maps the ring any more, so the handles in the chunks are used to chain those
 * of a link: each is the offset of the next one.
 */
#include "event.h"

#include <linux/slab.h>

#include "ring.h"

#define LEFT_SLICE	16384U		/* bytes of an skb */

static struct oae_chunk *left_chunk(const struct oae_ring_link *link, u32 at)
{
	return oae_twice_at(&link->ring->rx, at);
}

static void left_dropped(struct sk_buff *skb)
{
	struct oae_ring_link *link = OAE_RCV_CB(skb)->left;

	skb->destructor = NULL;
	OAE_RCV_CB(skb)->left = NULL;
	oae_ring_link_put(link);
}

/**
 * oae_left_make() - allocate what will stand for the chunks of a link
 *
 * Context: process, may sleep.
 *
 * Return: the skb; NULL if there is no memory.
 */
struct sk_buff *oae_left_make(void)
{
	return alloc_skb(0, OAE_GFP_USER);
}

/* The skb is to go to the inbox: from now on it has the reference. */
static struct sk_buff *left_ready(struct oae_ring_link *link)
{
	struct sk_buff *skb = link->left;

	link->left = NULL;
	refcount_inc(&link->ref);
	OAE_RCV_CB(skb)->left = link;
	OAE_RCV_CB(skb)->nslices = 1;
	OAE_RCV_CB(skb)->len = left_chunk(link, link->left_at)->len;
	OAE_RCV_CB(skb)->kept = false;
	skb->destructor = left_dropped;
	return skb;
}

/* Chain the chunk at @pos behind the others of its link. */
static void left_chain(struct oae_rings *r, u64 pos)
{
	struct oae_chunk *chunk = oae_twice_at(&r->rx, pos);
	struct oae_ring_link *link = xa_load(&r->links, chunk->link);
	u32 at = pos & (r->rx.size - 1);

	if (WARN_ON_ONCE(!link))
		return;
	if (!link->left_n)
		link->left_at = at;
	else
		left_chunk(link, link->left_last)->link = at;
	link->left_last = at;
	link->left_n++;
	link->left_bytes += oae_chunk_size(chunk->len);
}

/**
 * oae_left_give_back() - give what was not passed back to the inboxes
 * @r: the rings, stopped and closed; no program maps them
 *
 * Context: process, may sleep; takes inboxes' locks, and tag->lock.
 */
void oae_left_give_back(struct oae_rings *r)
{
	struct oae_ring_link *link;
	unsigned long i;
	u64 pos;

	for (pos = r->passed; pos != r->filled;) {
		const struct oae_chunk *chunk = oae_twice_at(&r->rx, pos);
		u64 next = pos + oae_chunk_size(chunk->len);

		left_chain(r, pos);
		pos = next;
		cond_resched();
	}
	xa_for_each(&r->links, i, link) {
		if (!link->left_n)
			continue;
		oae_count_n(r->node, OAE_S_GIVEN_BACK, link->left_n);
		oae_inbox_put_left(link->tag, left_ready(link), link->left_n, link->left_bytes);
	}
}

/* @len bytes at @from in skbs, linked by ->next; NULL: there is no memory. */
static struct sk_buff *left_copy(const void *from, u32 len, u32 *n)
{
	struct sk_buff *first = NULL, **at = &first, *skb;
	u32 part;

	for (*n = 0; len; len -= part, from += part, ++*n) {
		part = min(len, LEFT_SLICE);
		skb = alloc_skb(part, GFP_ATOMIC | __GFP_NOWARN);
		if (!skb) {
			kfree_skb_list(first);
			return NULL;
		}
		skb_put_data(skb, from, part);
		*at = skb;
		at = &skb->next;
	}
	return first;
}

/**
 * oae_left_take() - take the first message of those that were left
 * @left: from oae_left_make(), in an inbox
 * @bytes: set to how much less memory the others take
 *
 * Context: under the inbox's lock, BH off.
 *
 * Return: its skbs, linked by ->next; NULL if there is no memory. OAE_RCV_CB(@left)->left
 * is NULL if it was the last.
 */
struct sk_buff *oae_left_take(struct sk_buff *left, u32 *bytes)
{
	struct oae_ring_link *link = OAE_RCV_CB(left)->left;
	const struct oae_chunk *chunk = left_chunk(link, link->left_at);
	struct sk_buff *skb;
	u32 n;

	skb = left_copy(chunk + 1, chunk->len, &n);
	if (!skb)
		return NULL;
	OAE_RCV_CB(skb)->nslices = n;
	OAE_RCV_CB(skb)->len = chunk->len;
	OAE_RCV_CB(skb)->number = chunk->number;
	OAE_RCV_CB(skb)->left = NULL;
	*bytes = oae_chunk_size(chunk->len);
	if (--link->left_n) {
		link->left_at = chunk->link;
		OAE_RCV_CB(left)->len = left_chunk(link, link->left_at)->len;
	} else {
		left_dropped(left);
	}
	return skb;
}
