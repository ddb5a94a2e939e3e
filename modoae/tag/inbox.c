// SPDX-License-Identifier: GPL-2.0
/*
 * The inbox of a tag: transactions that were delivered, and wait to be read.
 *
 * It has a lock of its own, that of its queue. The link delivers under tag->lock and
 * that, a reader takes under that alone. What a reader has taken it ends, or gives back
 * to the head of the queue; it may keep it until then, and its room with it.
 *
 * A reader starts an event only if the link or the tag waits for it: the peer was
 * refused and waits for room, or the tag is dead and waits until all is read. As
 * the two sides share no lock, each one writes its own state, then reads the
 * other's, with a full barrier in between:
 *
 *	inbox_made_room()	run_refused(), oae_tag_retire()
 *	  (room was made)	  (the peer was refused; the tag died)
 *	  smp_mb()		  smp_mb()
 *	  refused, or dead?	  is there room; is anything unread?
 *
 * At least one of them sees the other's write.
 */
#include "event.h"

#include "ring.h"

#define USUAL_OF	4	/* the last transaction's part of the mean, inverse */

/* Count @n transactions that were delivered, of @len bytes, in skbs of @size bytes. */
static void inbox_delivered(struct oae_tag *tag, unsigned int n, unsigned int len,
			    unsigned int size)
	__must_hold(&tag->inbox.q.lock)
{
	tag->kept_bytes -= size;
	tag->inbox.usual += ((long)size - (long)tag->inbox.usual) / USUAL_OF;
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

/**
 * oae_inbox_put() - deliver a transaction: move its slices into the inbox (protocol 4.2)
 * @tag: the tag, with all slices in oae_tag_slots()
 * @seq: number of the transaction
 * @nslices: number of slices
 *
 * The caller wakes readers after unlocking.
 *
 * Context: under tag->lock, BH off; takes the inbox's lock.
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
		size += skb->truesize;
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

/**
 * oae_inbox_put_pack() - deliver the messages of a pack: move it into the inbox
 * @tag: the tag, with the pack in the first of oae_tag_slots()
 * @seq: number of the pack
 *
 * The caller wakes readers after unlocking.
 *
 * Context: under tag->lock, BH off; takes the inbox's lock.
 */
void oae_inbox_put_pack(struct oae_tag *tag, u32 seq)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	struct sk_buff *skb = slot[0];
	unsigned int n = oae_pack_begin_read(skb);

	lockdep_assert_held(&tag->lock);
	slot[0] = NULL;
	spin_lock(&tag->inbox.q.lock);
	OAE_RCV_CB(skb)->number = (u32)tag->ndelivered + 1;
	__skb_queue_tail(&tag->inbox.q, skb);
	inbox_delivered(tag, n, skb->len - OAE_RCV_CB(skb)->off, skb->truesize);
	oae_count_n(tag->node, OAE_S_UNPACKED, n);
	spin_unlock(&tag->inbox.q.lock);
	inbox_fresh(tag);
}

/**
 * oae_inbox_places() - how many more transactions there is room for (protocol 4.11)
 * @tag: the tag
 *
 * rcvbuf is in bytes, and nobody knows how long a transaction will be. So those that
 * are begun, and the next ones, are taken to be like the last ones; and what is gathered
 * and held has a bound of its own, whatever they are like.
 *
 * Context: under tag->lock, BH off.
 *
 * Return: an estimate, 0 if nothing more may be taken; and OAE_ROOM_FULL.
 */
u32 oae_inbox_places(const struct oae_tag *tag)
{
	u32 rcvbuf = READ_ONCE(tag->node->knobs.rcvbuf), taken = oae_link_taken(&tag->link);
	size_t usual = tag->inbox.usual + 1, unread = READ_ONCE(tag->inbox.bytes);
	size_t kept = max_t(size_t, tag->kept_bytes, taken * usual);
	u32 full = tag->kept_bytes < rcvbuf ? 0 : OAE_ROOM_FULL;

	if (unread >= rcvbuf)
		return full;
	if (unread + kept >= rcvbuf)
		return full | 1;
	/* The link counts what is held against these places. */
	return full | (taken + 1 + (u32)((rcvbuf - unread - kept) / usual));
}

static size_t inbox_size(const struct sk_buff *skb)
{
	size_t size = 0;

	for (; skb; skb = skb->next)
		size += skb->truesize;
	return size;
}

/* The oldest of what a ring has left, see left.c; NULL: there is no memory. */
static struct sk_buff *inbox_next_left(struct oae_tag *tag, struct sk_buff *left)
	__must_hold(&tag->inbox.q.lock)
{
	u32 bytes;
	struct sk_buff *first = oae_left_take(left, &bytes);

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
	struct sk_buff *first = oae_pack_read(pack);

	if (!first)
		return NULL;
	oae_add(&tag->inbox.bytes, first->truesize);
	if (!OAE_RCV_CB(pack)->pack_n) {
		oae_add(&tag->inbox.bytes, -pack->truesize);
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

/**
 * oae_inbox_put_left() - put what a ring has left back to the head of the queue
 * @tag: the tag
 * @left: what stands for it, from left.c
 * @n: transactions
 * @bytes: memory that they take
 *
 * Context: process; takes the inbox's lock, and tag->lock.
 */
void oae_inbox_put_left(struct oae_tag *tag, struct sk_buff *left, u32 n, u32 bytes)
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

/**
 * oae_inbox_drop() - take all unread transactions, to be dropped
 * @tag: the tag
 * @lost: the skbs are added here
 *
 * Context: under tag->lock, BH off; takes the inbox's lock.
 *
 * Return: number of transactions.
 */
unsigned int oae_inbox_drop(struct oae_tag *tag, struct sk_buff_head *lost)
{
	unsigned int n;

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

	/* Pairs with the smp_mb() in run_refused(), and with that in oae_tag_retire(). */
	smp_mb();
	if (likely(attached && !READ_ONCE(tag->dead) &&
		   !(oae_link_owes_ready(&tag->link) && oae_inbox_room(tag))))
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

/**
 * oae_inbox_give_back() - put what was taken back to the head of the queue
 * @tag: the tag that the file is attached to
 * @skb: from oae_inbox_take(); the next read gets it
 *
 * Context: process; takes the inbox's lock.
 */
void oae_inbox_give_back(struct oae_tag *tag, struct sk_buff *skb)
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
	oae_attach_readable(tag);
}
