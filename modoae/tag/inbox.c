// SPDX-License-Identifier: GPL-2.0
/*
 * The inbox of a tag: transactions that were delivered, and wait to be read; and the memory for
 * what is gathered and held until then.
 *
 * It has a lock of its own, that of its queue. The link delivers under tag->lock and
 * that, a reader takes under that alone. What a reader has taken it ends, or gives back
 * to the head of the queue; it may keep it until then, and its room with it.
 *
 * A reader starts an event only if the link or the tag waits for it: the peer is blocked,
 * since nothing is granted, or the tag is dead and waits until all is read. As
 * the two sides share no lock, each one writes its own state, then reads the
 * other's, with a full barrier in between:
 *
 *	inbox_made_room()	run_blocked(), oae_tag_retire()
 *	  (room was made)	  (the peer is blocked; the tag died)
 *	  smp_mb()		  smp_mb()
 *	  blocked, or dead?	  is there room; is anything unread?
 *
 * At least one of them sees the other's write.
 *
 * What a program had not passed of its ring when its file was closed goes back to the head of the
 * inboxes of its links, for the next reader. The pages of the dead ring are kept as that part
 * of the inboxes, so closing allocates nothing. An skb stands for all chunks of a link;
 * whoever reads takes one message of it at a time. No program maps the ring any more, so the
 * handles in the chunks are used to chain those of a link: each is the offset of the next one.
 *
 * Memory that a tag has only while something is under way: places of the window
 * (protocol 4.11), which it lends its link for the numbers beyond the next one, with the
 * slices kept for them; and, without such places, a table for the slices of the next
 * one. Both are freed when the link has been idle.
 */
#include "event.h"

#include <linux/log2.h>
#include <linux/slab.h>

#include "ring.h"
#include "../link/pack.h"

#define LEFT_SLICE	16384U		/* bytes of an skb of what a ring has left */

/* What an skb takes of rcvbuf (protocol 4.11). */
static u32 inbox_cost(const struct sk_buff *skb)
{
	return skb->len + OAE_SLICE_COST;
}

static size_t inbox_size(const struct sk_buff *skb)
{
	size_t size = 0;

	for (; skb; skb = skb->next)
		size += inbox_cost(skb);
	return size;
}

/* Count @n transactions that were delivered, of @len bytes, which take @size of rcvbuf. */
static void inbox_delivered(struct oae_tag *tag, unsigned int n, unsigned int len,
			    unsigned int size)
	__must_hold(&tag->inbox.q.lock)
{
	oae_add(&tag->inbox.bytes, size);
	if (!tag->inbox.n)
		WRITE_ONCE(tag->inbox.since, (u32)jiffies);
	oae_add(&tag->inbox.n, n);
	oae_unclaimed_sort(tag);
	tag->ndelivered += n;
	tag->used = true;
	/* Counted before a reader can see the transactions. */
	oae_count_n(tag->node, OAE_S_DELIVERED, n);
	oae_count_n(tag->node, OAE_S_DELIVERED_BYTES, len);
}

static void inbox_fresh(struct oae_tag *tag)
{
	if (tag->unheard && !oae_tag_attached(tag))
		oae_fresh_add(tag);
}

/* The length of the next message of a delivered pack. */
static u32 pack_next_len(const struct sk_buff *pack)
{
	return get_unaligned_be16(pack->data + oae_pack_head_len(OAE_RCV_CB(pack)->pack_at));
}

/* Have the messages of a held pack read, one after the other. How many they are. */
static unsigned int pack_begin_read(struct sk_buff *pack)
{
	struct oae_rcv_cb *cb = OAE_RCV_CB(pack);
	unsigned int n = pack->data[OAE_PACK_OFF_COUNT];

	cb->pack_n = n;
	cb->pack_at = 0;
	cb->off = oae_pack_head_len(n);
	cb->nslices = 1;
	cb->len = pack_next_len(pack);
	cb->left = NULL;
	return n;
}

/* Go on to the next message of a delivered pack; oae_rcv_cb.pack_n is 0 if there is none. */
void oae_pack_pass(struct sk_buff *pack)
{
	struct oae_rcv_cb *cb = OAE_RCV_CB(pack);

	cb->off += cb->len;
	cb->number++;
	cb->pack_at++;
	if (--cb->pack_n)
		cb->len = pack_next_len(pack);
}

/*
 * Take the next message of a delivered pack, in an skb of its own: so rcvbuf counts what it
 * takes. NULL: there is no memory.
 */
static struct sk_buff *pack_read(struct sk_buff *pack)
{
	const struct oae_rcv_cb *cb = OAE_RCV_CB(pack);
	struct sk_buff *skb = oae_xmit_kept(cb->len);

	if (!skb)
		return NULL;
	if (skb_copy_bits(pack, cb->off, skb_put(skb, cb->len), cb->len)) {
		kfree_skb(skb);
		return NULL;
	}
	skb->next = NULL;
	*OAE_RCV_CB(skb) = (struct oae_rcv_cb){
		.nslices = 1, .len = cb->len, .number = cb->number,
	};
	oae_pack_pass(pack);
	return skb;
}

/*
 * Deliver a transaction: move its slices into the inbox (protocol 4.2). The caller wakes readers
 * after unlocking.
 */
void oae_inbox_put(struct oae_tag *tag, u32 seq, unsigned int nslices)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	struct sk_buff *skb, *first = slot[0];
	unsigned int i, len = 0, size = 0;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->inbox.q.lock);
	for (i = 0; i < nslices; i++) {
		skb = slot[i];
		slot[i] = NULL;
		len += skb->len;
		size += inbox_cost(skb);
		tag->kept--;
		*OAE_RCV_CB(skb) = (struct oae_rcv_cb){};
		__skb_queue_tail(&tag->inbox.q, skb);
	}
	OAE_RCV_CB(first)->nslices = nslices;
	OAE_RCV_CB(first)->len = len;
	OAE_RCV_CB(first)->number = (u32)tag->ndelivered + 1;
	inbox_delivered(tag, 1, len, size);
	spin_unlock(&tag->inbox.q.lock);
	inbox_fresh(tag);
}

/*
 * Deliver the messages of a pack: move it into the inbox. The caller wakes readers after
 * unlocking.
 */
void oae_inbox_put_pack(struct oae_tag *tag, u32 seq)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	struct sk_buff *skb = slot[0];
	unsigned int n = pack_begin_read(skb);

	lockdep_assert_held(&tag->lock);
	slot[0] = NULL;
	tag->kept--;
	spin_lock(&tag->inbox.q.lock);
	OAE_RCV_CB(skb)->number = (u32)tag->ndelivered + 1;
	__skb_queue_tail(&tag->inbox.q, skb);
	inbox_delivered(tag, n, skb->len - OAE_RCV_CB(skb)->off, inbox_cost(skb));
	oae_count_n(tag->node, OAE_S_UNPACKED, n);
	spin_unlock(&tag->inbox.q.lock);
	inbox_fresh(tag);
}

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

/*
 * Take the first message of those that were left, as skbs linked by ->next; the others take
 * @bytes less memory. NULL: there is no memory. OAE_RCV_CB(@left)->left is NULL after the last.
 */
static struct sk_buff *left_take(struct sk_buff *left, u32 *bytes)
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

/* The oldest of what a ring has left, NULL: there is no memory. */
static struct sk_buff *inbox_next_left(struct oae_tag *tag, struct sk_buff *left)
	__must_hold(&tag->inbox.q.lock)
{
	u32 bytes;
	struct sk_buff *first = left_take(left, &bytes);

	if (!first)
		return NULL;
	oae_add(&tag->inbox.bytes, inbox_size(first) - bytes);
	if (!OAE_RCV_CB(left)->left) {
		__skb_unlink(left, &tag->inbox.q);
		kfree_skb(left);
	}
	return first;
}

/* The next message of a pack; NULL: there is no memory. */
static struct sk_buff *inbox_next_of_pack(struct oae_tag *tag, struct sk_buff *pack)
	__must_hold(&tag->inbox.q.lock)
{
	struct sk_buff *first = pack_read(pack);

	if (!first)
		return NULL;
	oae_add(&tag->inbox.bytes, inbox_cost(first));
	if (!OAE_RCV_CB(pack)->pack_n) {
		oae_add(&tag->inbox.bytes, -inbox_cost(pack));
		__skb_unlink(pack, &tag->inbox.q);
		kfree_skb(pack);
	}
	return first;
}

/* Does all that is unread of a pack fit, with what a ring needs beside? */
static bool inbox_fits(const struct sk_buff *pack, size_t max)
{
	const struct oae_rcv_cb *cb = OAE_RCV_CB(pack);

	return pack->len - cb->off + cb->pack_n * oae_chunk_size(OAE_CHUNK_ALIGN - 1) <= max;
}

/* The oldest delivered transaction, off the queue: its skbs, linked by ->next. */
static struct sk_buff *inbox_dequeue(struct oae_tag *tag)
	__must_hold(&tag->inbox.q.lock)
{
	struct sk_buff *first = NULL, **link = &first, *skb;
	u32 n = 0;

	do {
		skb = __skb_dequeue(&tag->inbox.q);
		if (!skb)
			break;
		if (!first)
			n = OAE_RCV_CB(skb)->nslices;
		*link = skb;
		link = &skb->next;
	} while (--n);
	return first;
}

/* The oldest unread transaction: its skbs, linked by ->next; NULL: there is no memory. */
static struct sk_buff *inbox_next(struct oae_tag *tag, size_t max, unsigned int how)
	__must_hold(&tag->inbox.q.lock)
{
	struct sk_buff *first = skb_peek(&tag->inbox.q);
	const struct oae_rcv_cb *cb = OAE_RCV_CB(first);
	u32 n = 1;

	lockdep_assert_held(&tag->inbox.q.lock);
	if (unlikely(cb->left)) {
		first = inbox_next_left(tag, first);
	} else if (cb->pack_n && !(how & OAE_TAKE_PACK && inbox_fits(first, max))) {
		first = inbox_next_of_pack(tag, first);
	} else {
		n = cb->pack_n ?: 1;
		first = inbox_dequeue(tag);
	}
	if (first) {
		OAE_RCV_CB(first)->kept = how & OAE_TAKE_KEEP;
		WRITE_ONCE(tag->inbox.since, (u32)jiffies);
		if (!(how & OAE_TAKE_KEEP))
			oae_add(&tag->inbox.bytes, -inbox_size(first));
		oae_add(&tag->inbox.n, -n);
		oae_unclaimed_sort(tag);
	}
	return first;
}

/* Put what a ring has left back to the head of the queue: @n transactions that take @bytes. */
static void inbox_put_left(struct oae_tag *tag, struct sk_buff *left, u32 n, u32 bytes)
{
	struct oae_run ev oae_uninit;

	spin_lock_bh(&tag->inbox.q.lock);
	__skb_queue_head(&tag->inbox.q, left);
	oae_add(&tag->inbox.bytes, bytes);
	if (!tag->inbox.n)
		WRITE_ONCE(tag->inbox.since, (u32)jiffies);
	oae_add(&tag->inbox.n, n);
	oae_unclaimed_sort(tag);
	spin_unlock_bh(&tag->inbox.q.lock);
	oae_attach_readable(tag);
	/* A dead tag counts in max_tags again. The barrier is that of oae_attach_readable(). */
	if (READ_ONCE(tag->dead)) {
		oae_run_enter(tag, &ev);
		oae_run_leave(tag, &ev);
	}
}

/*
 * Give what was not passed back to the inboxes. The rings are stopped and closed, and no program
 * maps them.
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
		inbox_put_left(link->tag, left_ready(link), link->left_n, link->left_bytes);
	}
}

/* Take all unread transactions, to be dropped. How many they are. */
unsigned int oae_inbox_drop(struct oae_tag *tag, struct sk_buff_head *lost)
{
	unsigned int n;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->inbox.q.lock);
	n = tag->inbox.n;
	skb_queue_splice_init(&tag->inbox.q, lost);
	WRITE_ONCE(tag->inbox.bytes, 0);
	WRITE_ONCE(tag->inbox.n, 0);
	oae_unclaimed_sort(tag);
	spin_unlock(&tag->inbox.q.lock);
	return n;
}

/**
 * oae_inbox_len() - length of the oldest unread transaction
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes the inbox's lock.
 *
 * Return: bytes; 0 nothing is unread.
 */
unsigned int oae_inbox_len(struct oae_tag *tag)
{
	const struct sk_buff *skb;
	unsigned int len = 0;

	spin_lock_bh(&tag->inbox.q.lock);
	skb = skb_peek(&tag->inbox.q);
	if (skb)
		len = OAE_RCV_CB(skb)->len;
	spin_unlock_bh(&tag->inbox.q.lock);
	return len;
}

/*
 * A transaction was read: start an event if the link or the tag waits for that. A
 * tag without a file always gets the event, since its link may be CLOSED and wait
 * until all is read.
 */
static void inbox_made_room(struct oae_tag *tag, bool attached)
{
	struct oae_run ev oae_uninit;

	/* Pairs with the smp_mb() in run_blocked(), and with that in oae_tag_retire(). */
	smp_mb();
	if (likely(attached && !READ_ONCE(tag->dead) &&
		   !(oae_link_owes_credit(&tag->link) && oae_inbox_free(tag))))
		return;
	oae_run_enter(tag, &ev);
	oae_run_room(tag, &ev);
	oae_run_leave(tag, &ev);
}

/**
 * oae_inbox_take() - take the oldest unread transaction
 * @tag: the tag
 * @c: the reading file, which is attached; NULL for noc_debug
 * @max: size of the reader's buffer, bytes
 * @how: OAE_TAKE_*
 * @skb: set to the slices, linked by ->next; NULL the tag is dead and all is read
 *
 * Context: process; takes the inbox's lock and tag->lock.
 *
 * Return: 0; -EAGAIN nothing is unread, or noc_debug may not read since a file is
 * attached; -EMSGSIZE the transaction is longer than @max, and not taken; -ENOMEM it is of
 * what a ring has left, and not taken.
 */
int oae_inbox_take(struct oae_tag *tag, const struct oae_client *c, size_t max, unsigned int how,
		   struct sk_buff **skb)
{
	struct sk_buff *first;
	int err = 0;

	*skb = NULL;
	spin_lock_bh(&tag->inbox.q.lock);
	first = skb_peek(&tag->inbox.q);
	/* A dead tag delivers nothing more, so this is the end. */
	if (!first)
		err = READ_ONCE(tag->dead) ? 0 : -EAGAIN;
	else if (!c && oae_tag_attached(tag))
		err = -EAGAIN;
	else if (OAE_RCV_CB(first)->len > max)
		err = -EMSGSIZE;
	else
		*skb = inbox_next(tag, max, how);
	if (first && !err && !*skb)
		err = -ENOMEM;
	spin_unlock_bh(&tag->inbox.q.lock);
	/* The file of a ring's link may have gone meanwhile. */
	if (*skb && !(how & OAE_TAKE_KEEP))
		inbox_made_room(tag, c && oae_tag_attached(tag));
	return err;
}

/**
 * oae_inbox_done() - a reader needs no longer what it has kept
 * @tag: the tag that the file is attached to
 * @skb: from oae_inbox_take() with OAE_TAKE_KEEP; the caller frees it
 *
 * Context: process; takes the inbox's lock and tag->lock.
 */
void oae_inbox_done(struct oae_tag *tag, const struct sk_buff *skb)
{
	spin_lock_bh(&tag->inbox.q.lock);
	oae_add(&tag->inbox.bytes, -inbox_size(skb));
	spin_unlock_bh(&tag->inbox.q.lock);
	inbox_made_room(tag, true);
}

/* Put what was taken back to the head of the queue. The caller wakes readers. */
void oae_inbox_untake(struct oae_tag *tag, struct sk_buff *skb)
{
	size_t size = OAE_RCV_CB(skb)->kept ? 0 : inbox_size(skb);
	struct sk_buff_head back;
	struct sk_buff *next;

	__skb_queue_head_init(&back);
	for (; skb; skb = next) {
		next = skb->next;
		__skb_queue_tail(&back, skb);
	}
	spin_lock_bh(&tag->inbox.q.lock);
	skb_queue_splice(&back, &tag->inbox.q);
	oae_add(&tag->inbox.bytes, size);
	oae_add(&tag->inbox.n, 1);
	oae_unclaimed_sort(tag);
	spin_unlock_bh(&tag->inbox.q.lock);
}

/**
 * oae_inbox_give_back() - put what was taken back to the head of the queue
 * @tag: the tag that the file is attached to
 * @skb: from oae_inbox_take(); the next read gets it
 *
 * Context: process; takes the inbox's lock.
 */
void oae_inbox_give_back(struct oae_tag *tag, struct sk_buff *skb)
{
	oae_inbox_untake(tag, skb);
	oae_attach_readable(tag);
}

static void places_free(struct oae_pair **table, unsigned int n)
{
	unsigned int i;

	for (i = 0; table && i < n; i++)
		if (table[i])
			kfree(container_of(table[i], struct oae_tag_place, pair));
	kfree(table);
}

static struct oae_pair **places_make(unsigned int n)
{
	struct oae_tag_place *place;
	struct oae_pair **table;
	unsigned int i;

	table = kcalloc(n, sizeof(*table), GFP_ATOMIC | __GFP_NOWARN);
	for (i = 0; table && i < n; i++) {
		place = kzalloc(sizeof(*place), GFP_ATOMIC | __GFP_NOWARN);
		if (!place) {
			places_free(table, n);
			return NULL;
		}
		table[i] = &place->pair;
	}
	return table;
}

/* The slots are empty. */
static void places_free_slots(struct oae_tag *tag)
{
	kfree(tag->slot);
	tag->slot = NULL;
}

/*
 * Lend a tag's link the places that it lacks. Without memory the link does without, and a later
 * event tries again. Ops so far were carried out, those from here are the caller's.
 */
void oae_places_lend(struct oae_tag *tag, struct oae_run *ev)
{
	unsigned int n = roundup_pow_of_two(oae_link_window(&tag->link));
	unsigned int i, had = oae_link_places(&tag->link, NULL);
	struct oae_pair **table, **old;
	struct sk_buff **from, **to;
	u32 seq;

	lockdep_assert_held(&tag->lock);
	if (had >= n)
		return;
	table = places_make(n);
	if (!table) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return;
	}
	/* What is kept goes to the new place of its number. */
	seq = oae_link_rx(&tag->link);
	for (i = had ? had : 1; i; i--) {
		seq++;
		from = oae_tag_slots(tag, seq);
		to = container_of(table[seq & (n - 1)], struct oae_tag_place,
				  pair)->slot;
		memcpy(to, from, oae_tag_nslots(tag) * sizeof(*from));
		memset(from, 0, oae_tag_nslots(tag) * sizeof(*from));
		oae_region_move(tag, seq, container_of(table[seq & (n - 1)],
						       struct oae_tag_place, pair));
	}
	oae_link_places(&tag->link, &old);
	oae_link_lend(&tag->link, table, n, ev->now, &ev->a);
	places_free(old, had);
	places_free_slots(tag);
}

/*
 * Have a slot for a slice that is not the first. False: there is no memory. True: there is one,
 * or the link drops the frame in any case.
 */
bool oae_places_slot(struct oae_tag *tag, const struct oae_frame *f)
{
	lockdep_assert_held(&tag->lock);
	if (oae_tag_nslots(tag) > f->slice || !oae_link_is_run(&tag->link, f))
		return true;
	tag->slot = kcalloc(OAE_MAX_SLICES, sizeof(*tag->slot), GFP_ATOMIC | __GFP_NOWARN);
	if (!tag->slot) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return false;
	}
	swap(tag->slot[0], tag->only);
	return true;
}

/* Free the places of an idle link. */
void oae_places_reclaim(struct oae_tag *tag)
{
	unsigned int n = oae_link_places(&tag->link, NULL);

	lockdep_assert_held(&tag->lock);
	oae_region_idle(tag);
	if (n)
		places_free(oae_link_reclaim(&tag->link), n);
	else if (!tag->kept)
		places_free_slots(tag);
}

/* Free the places of a tag that is gone; nothing is kept in them. */
void oae_places_free(struct oae_tag *tag)
{
	struct oae_pair **table;
	unsigned int n = oae_link_places(&tag->link, &table);

	places_free(table, n);
	places_free_slots(tag);
}
