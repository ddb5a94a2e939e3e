// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of a tag: messages that wait until the link has room for them, and
 * delivered transactions that wait to be read.
 *
 * The messages are under tag->lock: queueing one is an event of the link, which
 * may offer it at once.
 *
 * The unread transactions have a lock of their own, tag->rcvq.lock. The link
 * delivers under tag->lock and rcvq.lock, a reader takes under rcvq.lock alone. A
 * reader starts an event only if the link or the tag waits for it: the peer was
 * refused and waits for room, or the tag is dead and waits until all is read. As
 * the two sides share no lock, each one writes its own state, then reads the
 * other's, with a full barrier in between:
 *
 *	queue_made_room()	run_refused(), oae_tag_retire()
 *	  (room was made)	  (the peer was refused; the tag died)
 *	  smp_mb()		  smp_mb()
 *	  refused, or dead?	  is there room; is anything unread?
 *
 * At least one of them sees the other's write.
 */
#include "event.h"

#define USUAL_OF	4	/* the last transaction's part of the mean, inverse */

/**
 * oae_tag_lock() - lock a tag, to look at it or its clients outside of an event
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_lock(struct oae_tag *tag)
	__acquires(&tag->lock)
{
	spin_lock_bh(&tag->lock);
}

/**
 * oae_tag_unlock() - unlock a tag
 * @tag: the tag, locked by oae_tag_lock()
 *
 * Context: under tag->lock, BH off; drops tag->lock.
 */
void oae_tag_unlock(struct oae_tag *tag)
	__releases(&tag->lock)
{
	spin_unlock_bh(&tag->lock);
}

/**
 * oae_queue_del() - remove a message from its queue
 * @tag: the tag
 * @ev: the event
 * @msg: the message, queued
 *
 * Context: under tag->lock, BH off.
 */
void oae_queue_del(struct oae_tag *tag, struct oae_run *ev,
		   struct oae_msg *msg)
{
	list_del(&msg->list);
	msg->queued = false;
	oae_tag_count_queued(tag, msg, -1);
	ev->wake_writer = true;
}

/**
 * oae_queue_flush() - mark all queued messages to be reversed
 * @tag: the tag
 * @err: error for the writers, positive errno
 *
 * This event and the next ones reverse a few each: oae_queue_flush_some(). If
 * another flush begins meanwhile, the first @err stands.
 *
 * Context: under tag->lock, BH off.
 */
void oae_queue_flush(struct oae_tag *tag, int err)
{
	if (list_empty(&tag->flushq))
		tag->flush_err = err;
	list_splice_tail_init(&tag->sndq, &tag->flushq);
	if (tag->users)
		list_splice_tail_init(&tag->users->halfq, &tag->flushq);
}

/**
 * oae_queue_flush_some() - reverse up to OAE_BATCH of the messages in flushq
 * @tag: the tag
 * @ev: the event
 *
 * Context: under tag->lock, BH off.
 */
void oae_queue_flush_some(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_msg *msg, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(msg, next, &tag->flushq, list) {
		if (n++ == OAE_BATCH)
			break;
		oae_queue_del(tag, ev, msg);
		oae_tell_ended(tag, ev, msg, OAE_REVERSED, tag->flush_err);
	}
}

/**
 * oae_tag_send() - queue a message, and open the link if it is CLOSED
 * @tag: the tag
 * @msg: the message, cut into slices; on success the link takes a reference
 *
 * A tag that was made for this message is removed if the message is not queued.
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 0; -EAGAIN the tag's or the file's queue is full; -ESHUTDOWN the node is
 * shut; -EMSGSIZE the message takes more than OAE_MAX_SLICES; -ESTALE the tag is
 * dead, or its slices may be longer now: find or make the tag, and cut the
 * message, again.
 */
int oae_tag_send(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_node *node = tag->node;
	struct oae_run ev oae_uninit;
	int err = 0;

	oae_run_enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (!msg->post.nslices) {
		/* -ESTALE: the way has been found to carry longer slices. */
		err = msg->post.slice_max < oae_link_slice_max(&tag->link) ?
		      -ESTALE : -EMSGSIZE;
	} else if (READ_ONCE(node->shut)) {
		err = -ESHUTDOWN;
	} else if (oae_tag_nqueued(tag, msg) >= READ_ONCE(node->knobs.sndq) ||
		   (msg->txn.client && oae_attach_queue(tag, msg))) {
		err = -EAGAIN;
	} else {
		oae_msg_get(msg);
		list_add_tail(&msg->list, oae_tag_queue(tag, msg));
		msg->queued = true;
		oae_tag_count_queued(tag, msg, 1);
		oae_count(node, OAE_S_POSTED);
		tag->used = true;
		if (oae_link_closed(&tag->link))
			oae_tag_open(tag, &ev);
		oae_run_log(tag, &ev, OAE_EV_POST, 0, oae_link_tx(&tag->link) + 1);
	}
	oae_run_leave(tag, &ev);
	return err;
}
EXPORT_SYMBOL_FOR_BENCH(oae_tag_send);

/**
 * oae_tag_cancel() - reverse a message (protocol 4.1, step 5)
 * @tag: its tag
 * @msg: the message
 * @err: error for the writer, positive errno
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 0 the message is reversed; -EINPROGRESS it cannot be: an express in
 * flight, or a half that is lent; -ENOENT it has ended already.
 */
int oae_tag_cancel(struct oae_tag *tag, struct oae_msg *msg, int err)
{
	struct oae_run ev oae_uninit;
	int r = 0;

	oae_run_enter(tag, &ev);
	if (msg->queued) {
		oae_queue_del(tag, &ev, msg);
		oae_tell_ended(tag, &ev, msg, OAE_REVERSED, err);
	} else if (msg->pack) {
		oae_pack_cancel(tag, &ev, msg, err);
	} else {
		r = oae_link_cancel(&tag->link, msg, err, ev.now, &ev.a);
	}
	oae_run_log(tag, &ev, OAE_EV_CANCEL, 0, oae_link_tx(&tag->link) + 1);
	oae_run_leave(tag, &ev);
	return r;
}

/**
 * oae_tag_cancel_queued() - reverse messages that are not yet posted to the link
 * @tag: their tag
 * @msg: messages, with the caller's references; those not queued are skipped
 * @n: number of messages, at most OAE_BATCH
 * @err: error for the writers, positive errno
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_cancel_queued(struct oae_tag *tag, struct oae_msg *const *msg,
			   unsigned int n, int err)
{
	struct oae_run ev oae_uninit;
	unsigned int i;

	oae_run_enter(tag, &ev);
	for (i = 0; i < n; i++) {
		if (!msg[i]->queued)
			continue;
		oae_queue_del(tag, &ev, msg[i]);
		oae_tell_ended(tag, &ev, msg[i], OAE_REVERSED, err);
	}
	oae_run_log(tag, &ev, OAE_EV_CANCEL, 0, oae_link_tx(&tag->link) + 1);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_confirming() - begin or end waiting for confirmation of delivery
 * @tag: the tag
 * @waiters: 1 begin, -1 end
 *
 * While a caller waits, the link asks the peer to confirm what is committed, and
 * oae_users.confirm_wait is woken.
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_confirming(struct oae_tag *tag, int waiters)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	tag->nconfirm += waiters;
	oae_run_leave(tag, &ev);
}

static int queue_attach(struct oae_tag *tag, struct oae_run *ev, struct oae_client *c, bool open)
{
	if (tag->dead)
		return -ESTALE;
	if (open && READ_ONCE(tag->node->shut))
		return -ESHUTDOWN;
	oae_attach_add(tag, c);
	tag->used = true;
	if (open && oae_link_closed(&tag->link)) {
		oae_tag_open(tag, ev);
		oae_run_log(tag, ev, OAE_EV_POST, 0, oae_link_tx(&tag->link) + 1);
	}
	return 0;
}

/**
 * oae_tag_attach() - attach a file to a tag, and pin the tag
 * @tag: the tag; the file takes over the caller's reference
 * @c: the file
 * @open: open the link if it is CLOSED
 *
 * A tag that was made for this file is removed if the file is not attached.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: 0; -ESTALE the tag is dead; -ESHUTDOWN the node is shut, and @open; -ENOMEM.
 */
int oae_tag_attach(struct oae_tag *tag, struct oae_client *c, bool open)
{
	struct oae_run ev oae_uninit;
	int err = oae_users_make(tag);

	oae_run_enter(tag, &ev);
	if (!err)
		err = queue_attach(tag, &ev, c, open);
	oae_run_leave(tag, &ev);
	return err;
}

/**
 * oae_tag_detach() - detach a file from its tag
 * @tag: the tag
 * @c: the file, no longer used; its queued transactions go on without it
 *
 * After the last file, noc_debug may read what is unread.
 *
 * Context: process, may sleep; takes tag->lock.
 */
void oae_tag_detach(struct oae_tag *tag, struct oae_client *c)
{
	struct oae_txn *txn, *next;
	struct oae_run ev oae_uninit;
	LIST_HEAD(left);
	bool more;

	do {
		oae_run_enter(tag, &ev);
		more = oae_attach_leave(tag, c, &left);
		if (!more) {
			ev.wake_reader = oae_attach_del(tag, c);
			ev.wake_writer = true;
		}
		oae_run_leave(tag, &ev);
		/* Freeing may take long, so it is done without the lock. */
		list_for_each_entry_safe(txn, next, &left, list)
			oae_msg_put(container_of(txn, struct oae_msg, txn));
		INIT_LIST_HEAD(&left);
		cond_resched();
	} while (more);
}

/* Count @n transactions that were delivered, of @len bytes, in skbs of @size bytes. */
static void queue_delivered(struct oae_tag *tag, unsigned int n, unsigned int len,
			    unsigned int size)
	__must_hold(&tag->rcvq.lock)
{
	tag->kept_bytes -= size;
	tag->usual_bytes += ((long)size - (long)tag->usual_bytes) / USUAL_OF;
	oae_add(&tag->rcv_bytes, size);
	oae_add(&tag->nrcv, n);
	oae_unclaimed_sort(tag);
	tag->ndelivered += n;
	tag->used = true;
	/* Counted before a reader can see the transactions. */
	oae_count_n(tag->node, OAE_S_DELIVERED, n);
	oae_count_n(tag->node, OAE_S_DELIVERED_BYTES, len);
}

static void queue_fresh(struct oae_tag *tag)
{
	if (tag->unheard && !oae_tag_attached(tag))
		oae_fresh_add(tag);
}

/**
 * oae_unread_add() - deliver a transaction: move its slices to rcvq (protocol 4.2)
 * @tag: the tag, with all slices in oae_tag_slots()
 * @seq: number of the transaction
 * @nslices: number of slices
 *
 * The caller wakes readers after unlocking.
 *
 * Context: under tag->lock, BH off; takes rcvq.lock.
 */
void oae_unread_add(struct oae_tag *tag, u32 seq, unsigned int nslices)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	struct sk_buff *skb, *first = slot[0];
	unsigned int i, len = 0, size = 0;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->rcvq.lock);
	for (i = 0; i < nslices; i++) {
		skb = slot[i];
		slot[i] = NULL;
		len += skb->len;
		size += skb->truesize;
		OAE_RCV_CB(skb)->nslices = 0;
		__skb_queue_tail(&tag->rcvq, skb);
	}
	OAE_RCV_CB(first)->nslices = nslices;
	OAE_RCV_CB(first)->len = len;
	queue_delivered(tag, 1, len, size);
	spin_unlock(&tag->rcvq.lock);
	queue_fresh(tag);
}

/**
 * oae_unread_add_pack() - deliver the messages of a pack: move them to rcvq
 * @tag: the tag, with the messages in the first of oae_tag_slots()
 * @seq: number of the pack
 *
 * The caller wakes readers after unlocking.
 *
 * Context: under tag->lock, BH off; takes rcvq.lock.
 */
void oae_unread_add_pack(struct oae_tag *tag, u32 seq)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	struct sk_buff *skb, *next;
	unsigned int n = 0, len = 0, size = 0;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->rcvq.lock);
	for (skb = slot[0]; skb; skb = next, n++) {
		next = skb->next;
		len += skb->len;
		size += skb->truesize;
		OAE_RCV_CB(skb)->nslices = 1;
		OAE_RCV_CB(skb)->len = skb->len;
		__skb_queue_tail(&tag->rcvq, skb);
	}
	slot[0] = NULL;
	queue_delivered(tag, n, len, size);
	oae_count_n(tag->node, OAE_S_UNPACKED, n);
	spin_unlock(&tag->rcvq.lock);
	queue_fresh(tag);
}

/**
 * oae_unread_places() - how many more transactions there is room for (protocol 4.11)
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
u32 oae_unread_places(const struct oae_tag *tag)
{
	u32 rcvbuf = READ_ONCE(tag->node->knobs.rcvbuf), taken = oae_link_taken(&tag->link);
	size_t usual = tag->usual_bytes + 1, unread = READ_ONCE(tag->rcv_bytes);
	size_t kept = max_t(size_t, tag->kept_bytes, taken * usual);
	u32 full = tag->kept_bytes < rcvbuf ? 0 : OAE_ROOM_FULL;

	if (unread >= rcvbuf)
		return full;
	if (unread + kept >= rcvbuf)
		return full | 1;
	/* The link counts what is held against these places. */
	return full | (taken + 1 + (u32)((rcvbuf - unread - kept) / usual));
}

/* The oldest unread transaction: its skbs, linked by ->next, or NULL. */
static struct sk_buff *queue_take(struct oae_tag *tag)
	__must_hold(&tag->rcvq.lock)
{
	struct sk_buff *first = NULL, **link = &first, *skb;
	size_t size = 0;
	u32 n = 0;

	lockdep_assert_held(&tag->rcvq.lock);
	do {
		skb = __skb_dequeue(&tag->rcvq);
		if (!skb)
			break;
		if (!first)
			n = OAE_RCV_CB(skb)->nslices;
		size += skb->truesize;
		*link = skb;
		link = &skb->next;
	} while (--n);
	if (first) {
		oae_add(&tag->rcv_bytes, -size);
		oae_add(&tag->nrcv, -1);
		oae_unclaimed_sort(tag);
	}
	return first;
}

/**
 * oae_unread_drop() - take all unread transactions, to be dropped
 * @tag: the tag
 * @lost: the skbs are added here
 *
 * Context: under tag->lock, BH off; takes rcvq.lock.
 *
 * Return: number of transactions.
 */
unsigned int oae_unread_drop(struct oae_tag *tag, struct sk_buff_head *lost)
{
	unsigned int n;

	spin_lock(&tag->rcvq.lock);
	n = tag->nrcv;
	skb_queue_splice_init(&tag->rcvq, lost);
	WRITE_ONCE(tag->rcv_bytes, 0);
	WRITE_ONCE(tag->nrcv, 0);
	oae_unclaimed_sort(tag);
	spin_unlock(&tag->rcvq.lock);
	return n;
}

/**
 * oae_unread_len() - length of the oldest unread transaction
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes rcvq.lock.
 *
 * Return: bytes; 0 nothing is unread.
 */
unsigned int oae_unread_len(struct oae_tag *tag)
{
	const struct sk_buff *skb;
	unsigned int len = 0;

	spin_lock_bh(&tag->rcvq.lock);
	skb = skb_peek(&tag->rcvq);
	if (skb)
		len = OAE_RCV_CB(skb)->len;
	spin_unlock_bh(&tag->rcvq.lock);
	return len;
}

/*
 * A transaction was read: start an event if the link or the tag waits for that. A
 * tag without a file always gets the event, since its link may be CLOSED and wait
 * until all is read.
 */
static void queue_made_room(struct oae_tag *tag, bool attached)
{
	struct oae_run ev oae_uninit;

	/* Pairs with the smp_mb() in run_refused(), and with that in oae_tag_retire(). */
	smp_mb();
	if (likely(attached && !READ_ONCE(tag->dead) &&
		   !(oae_link_owes_ready(&tag->link) && oae_unread_room(tag))))
		return;
	oae_run_enter(tag, &ev);
	oae_run_room(tag, &ev);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_read() - take the oldest unread transaction
 * @tag: the tag
 * @c: the reading file, which is attached; NULL for noc_debug
 * @max: size of the reader's buffer, bytes
 * @skb: set to the slices, linked by ->next; NULL the tag is dead and all is read
 *
 * Context: process; takes rcvq.lock and tag->lock.
 *
 * Return: 0; -EAGAIN nothing is unread, or noc_debug may not read since a file is
 * attached; -EMSGSIZE the transaction is longer than @max, and not taken.
 */
int oae_tag_read(struct oae_tag *tag, const struct oae_client *c, size_t max,
		 struct sk_buff **skb)
{
	struct sk_buff *first;
	int err = 0;

	*skb = NULL;
	spin_lock_bh(&tag->rcvq.lock);
	first = skb_peek(&tag->rcvq);
	/* A dead tag delivers nothing more, so this is the end. */
	if (!first)
		err = READ_ONCE(tag->dead) ? 0 : -EAGAIN;
	else if (!c && oae_tag_attached(tag))
		err = -EAGAIN;
	else if (OAE_RCV_CB(first)->len > max)
		err = -EMSGSIZE;
	else
		*skb = queue_take(tag);
	spin_unlock_bh(&tag->rcvq.lock);
	if (*skb)
		queue_made_room(tag, c);
	return err;
}

/**
 * oae_tag_unread() - put back a transaction that could not be copied out
 * @tag: the tag that the file is attached to
 * @skb: from oae_tag_read(); the next read gets it again
 *
 * Context: process; takes rcvq.lock.
 */
void oae_tag_unread(struct oae_tag *tag, struct sk_buff *skb)
{
	struct sk_buff_head back;
	struct sk_buff *next;
	size_t size = 0;

	__skb_queue_head_init(&back);
	for (; skb; skb = next) {
		next = skb->next;
		size += skb->truesize;
		__skb_queue_tail(&back, skb);
	}
	spin_lock_bh(&tag->rcvq.lock);
	skb_queue_splice(&back, &tag->rcvq);
	oae_add(&tag->rcv_bytes, size);
	oae_add(&tag->nrcv, 1);
	spin_unlock_bh(&tag->rcvq.lock);
	oae_attach_readable(tag);
}
