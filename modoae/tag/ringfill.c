// SPDX-License-Identifier: GPL-2.0
/*
 * Filling a program's rx ring: what was delivered to its links moves from their inboxes to
 * the ring, which makes room in the inboxes as a read does. Links take turns.
 *
 * A message becomes unread under the lock of its inbox, then the link is listed as ready.
 * The filler takes a link off the list, then looks at the inbox until it is empty:
 *
 *	oae_ring_deliver()		fill_link()
 *	  (a message was delivered)	  (the link is off the list)
 *	  smp_mb()			  smp_mb()
 *	  is the link listed?		  is anything unread?
 */
#include "event.h"

#include "ring.h"

#define FILL_LINK	16			/* messages of a link until the next link's turn */
#define FILL_AGAIN_NS	NSEC_PER_MSEC		/* without memory */

static void fill_list(struct oae_ring_link *link)
{
	struct oae_rings *r = link->ring;

	spin_lock(&r->ready_lock);
	if (!link->listed) {
		link->listed = true;
		list_add_tail(&link->ready, &r->ready);
	}
	spin_unlock(&r->ready_lock);
}

/* The first link that may have something unread, off the list; or NULL. */
static struct oae_ring_link *fill_next(struct oae_rings *r)
{
	struct oae_ring_link *link;

	if (list_empty_careful(&r->ready))
		return NULL;
	spin_lock(&r->ready_lock);
	link = list_first_entry_or_null(&r->ready, struct oae_ring_link, ready);
	if (link) {
		list_del_init(&link->ready);
		WRITE_ONCE(link->listed, false);
	}
	spin_unlock(&r->ready_lock);
	return link;
}

/**
 * oae_ring_let_go() - a link goes: nothing finds it by its handle, or lists it, any more
 * @r: the rings
 * @link: the link, which is off; twice is no harm as long as there is a reference
 *
 * Context: process, or BH off; the turn to fill in is the caller's, or the rings are stopped.
 */
void oae_ring_let_go(struct oae_rings *r, struct oae_ring_link *link)
{
	if (!xa_erase_bh(&r->links, link->handle))
		return;
	spin_lock_bh(&r->ready_lock);
	list_del_init(&link->ready);
	/* For good: fill_list() leaves it alone. */
	WRITE_ONCE(link->listed, true);
	spin_unlock_bh(&r->ready_lock);
	oae_ring_link_put(link);
}

/* A chunk that is in rx: the kernel wrote it, and nobody else can. */
static const struct oae_chunk *fill_chunk(const struct oae_rings *r, u64 pos)
{
	return oae_twice_at(&r->rx, pos);
}

/**
 * oae_ring_pass() - look how far the program has passed chunks
 * @r: the rings; it is the caller's turn to fill in
 * @most: this many chunks at most
 *
 * Context: process, or BH off; under rcu_read_lock(), or the rings are stopped.
 *
 * Return: true if there were more.
 */
bool oae_ring_pass(struct oae_rings *r, unsigned int most)
{
	/* The program has read what it passed, before it is overwritten. */
	u64 to = oae_pos_load_acquire(&r->program->passed), left = to - r->passed, size;
	struct oae_ring_link *link = NULL;
	const struct oae_chunk *chunk;

	if (left > r->filled - r->passed)
		goto broken;
	for (; left && most; most--) {
		chunk = fill_chunk(r, r->passed);
		size = oae_chunk_size(chunk->len);
		if (size > left)
			goto broken;
		if (!link || link->handle != chunk->link)
			link = xa_load(&r->links, chunk->link);
		/* It goes with its last chunk. */
		if (!WARN_ON_ONCE(!link) && !--link->unpassed && unlikely(READ_ONCE(link->off))) {
			oae_ring_let_go(r, link);
			link = NULL;
		}
		left -= size;
		WRITE_ONCE(r->passed, r->passed + size);
	}
	return left;
broken:
	oae_ring_break(r, EPROTO);
	return false;
}

static size_t fill_room(const struct oae_rings *r)
{
	return r->rx.size - (r->filled - r->passed);
}

/* Begin a chunk; where its bytes go. */
static u8 *fill_begin(struct oae_rings *r, struct oae_ring_link *link,
		      const struct oae_rcv_cb *cb)
{
	struct oae_chunk *chunk = oae_twice_at(&r->rx, r->filled);

	*chunk = (struct oae_chunk){ .len = cb->len, .link = link->handle, .number = cb->number };
	WRITE_ONCE(r->filled, r->filled + oae_chunk_size(cb->len));
	link->unpassed++;
	return (u8 *)(chunk + 1);
}

/* What cannot be copied was not kept: net/rcv.c. */
static void fill_copy(const struct sk_buff *skb, unsigned int off, u8 *to, unsigned int len)
{
	if (unlikely(skb_copy_bits(skb, off, to, len)))
		memset(to, 0, len);
}

/* Write what was taken, one message or all of a pack, and free it. How many it were. */
static unsigned int fill_write(struct oae_rings *r, struct oae_ring_link *link,
			       struct sk_buff *skb)
{
	const struct oae_rcv_cb *cb = OAE_RCV_CB(skb);
	unsigned int n = cb->pack_n ?: 1;
	struct sk_buff *next;
	u8 *at;

	oae_count_n(r->node, OAE_S_READ, n);
	while (cb->pack_n) {
		fill_copy(skb, cb->off, fill_begin(r, link, cb), cb->len);
		oae_pack_pass(skb);
		if (!cb->pack_n) {
			oae_xmit_spare(skb);
			return n;
		}
	}
	at = fill_begin(r, link, cb);
	for (; skb; skb = next) {
		next = skb->next;
		skb_mark_not_on_list(skb);
		fill_copy(skb, 0, at, skb->len);
		at += skb->len;
		oae_xmit_spare(skb);
	}
	return n;
}

/*
 * There is no room for the next message. True: there is by now, or more of what was passed
 * is to be looked at.
 */
static bool fill_wait_room(struct oae_rings *r)
{
	u64 passed = r->passed;

	if (oae_ring_pass(r, OAE_RING_BATCH) || r->passed != passed)
		return true;
	if (r->filled == r->passed) {
		oae_ring_break(r, EMSGSIZE);
		return false;
	}
	WRITE_ONCE(r->kernel->wants_room, 1);
	/* The word before the last look. Pairs with the program's barrier. */
	smp_mb();
	if (!oae_ring_pass(r, OAE_RING_BATCH) && r->passed == passed)
		return false;
	WRITE_ONCE(r->kernel->wants_room, 0);
	return true;
}

/*
 * Move messages of a link that is off the list, until rx is filled to position @to. The link is
 * listed again if more may be unread.
 * True: go on with the next link.
 */
static bool fill_link(struct oae_rings *r, struct oae_ring_link *link, unsigned int *n, u64 to)
{
	unsigned int most = min_t(unsigned int, *n + FILL_LINK, OAE_RING_BATCH);
	struct sk_buff *skb;
	size_t room;
	int err;

	/* Off the list before the look. Pairs with the barrier in oae_attach_readable(). */
	smp_mb();
	/* It may have gone just now, with what the program passed. */
	while (*n < most && r->filled < to && !READ_ONCE(link->off)) {
		room = fill_room(r);
		if (room < oae_chunk_size(1))
			err = -EMSGSIZE;
		else
			err = oae_inbox_take(link->tag, link->client,
					     room - sizeof(struct oae_chunk), OAE_TAKE_PACK, &skb);
		if (err == -EMSGSIZE && fill_wait_room(r))
			continue;
		if (err == -ENOMEM) {
			oae_count(r->node, OAE_S_NO_MEMORY);
			hrtimer_start(&r->more, ns_to_ktime(FILL_AGAIN_NS), HRTIMER_MODE_REL_SOFT);
		}
		if (err == -EMSGSIZE || err == -ENOMEM) {
			fill_list(link);
			return false;
		}
		if (err || !skb)
			return true;
		*n += fill_write(r, link, skb);
	}
	fill_list(link);
	return true;
}

/**
 * oae_ring_fill_some() - fill in some of what was delivered
 * @r: the rings; it is the caller's turn
 *
 * Context: BH off; under rcu_read_lock(); under no tag->lock.
 *
 * Return: true if there may be more, and room for it.
 */
bool oae_ring_fill_some(struct oae_rings *r)
{
	struct oae_ring_link *link;
	u64 before = r->filled, to = before + OAE_RING_BYTES;
	unsigned int n = 0;

	if (unlikely(r->kernel->wants_room))
		WRITE_ONCE(r->kernel->wants_room, 0);
	while (n < OAE_RING_BATCH && r->filled < to && (link = fill_next(r)) != NULL) {
		if (unlikely(READ_ONCE(link->off))) {
			if (!link->unpassed)
				oae_ring_let_go(r, link);
		} else if (!fill_link(r, link, &n, to)) {
			break;
		}
	}
	if (r->filled != before) {
		/* The chunks before the position. */
		oae_pos_store_release(&r->kernel->filled, r->filled);
		oae_ring_wake(r, true);
	}
	return n >= OAE_RING_BATCH || r->filled >= to;
}

/**
 * oae_ring_deliver() - something may be unread in a link's inbox
 * @link: the link on the ring
 *
 * Context: any but hard interrupts; under no tag->lock, but rcu_read_lock() or a
 * reference. The inbox before this by a full barrier.
 */
void oae_ring_deliver(struct oae_ring_link *link)
{
	rcu_read_lock_bh();
	if (!READ_ONCE(link->listed))
		fill_list(link);
	oae_ring_turn(link->ring, &link->ring->fill, oae_ring_fill_some);
	rcu_read_unlock_bh();
}
