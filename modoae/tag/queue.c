// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of a tag: what waits to be sent, until the link has room for it, and what
 * is delivered, until it is read.
 *
 * What waits to be sent is under tag->lock: each message that is queued is an event
 * of the link, which may offer it at once.
 *
 * What is unread has a lock of its own, that of the queue tag->rcvq: the link
 * delivers under tag->lock and that one, a reader takes under that one alone. A
 * reader begins an event only if it matters to the link or the tag: the peer was
 * refused and waits for room, or the tag is dead and waits to be read to its end.
 * As the two sides share no lock, each first says what it has done and then looks
 * what the other one did, with a full barrier in between:
 *
 *	reader: room made		event: the peer refused; or the tag dies
 *		smp_mb()			smp_mb()
 *		does anybody wait?		is there room; is anything unread?
 *
 * One of them at least sees the other's.
 */
#include "event.h"

/**
 * oae_tag_lock() - look at a tag, or at its clients, outside of an event
 * @tag: the tag
 *
 * Context: any but hard interrupts, no lock held; after this tag->lock is, BH off.
 */
void oae_tag_lock(struct oae_tag *tag)
	__acquires(&tag->lock)
{
	spin_lock_bh(&tag->lock);
}

/**
 * oae_tag_unlock() - that was all
 * @tag: the tag, locked by oae_tag_lock()
 */
void oae_tag_unlock(struct oae_tag *tag)
	__releases(&tag->lock)
{
	spin_unlock_bh(&tag->lock);
}

/**
 * oae_queue_del() - a message is in a queue of its tag no more
 * @tag: the tag, locked
 * @ev: the event
 * @msg: the message, queued
 */
void oae_queue_del(struct oae_tag *tag, struct oae_run *ev,
		   struct oae_msg *msg)
{
	list_del(&msg->list);
	msg->queued = false;
	oae_add(oae_tag_nqueued(tag, msg), -1);
	ev->wake_writer = true;
}

/**
 * oae_queue_flush() - all that is queued is to be reversed
 * @tag: the tag, locked
 * @err: why, positive errno
 *
 * A few with each event, beginning with this one: oae_queue_flush_some(). Should
 * another reason come meanwhile, the first one stands.
 */
void oae_queue_flush(struct oae_tag *tag, int err)
{
	if (list_empty(&tag->flushq))
		tag->flush_err = err;
	list_splice_tail_init(&tag->sndq, &tag->flushq);
	list_splice_tail_init(&tag->halfq, &tag->flushq);
}

/**
 * oae_queue_flush_some() - reverse a few of what is to be
 * @tag: the tag, locked
 * @ev: the event
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
 * oae_tag_send() - queue a message; a CLOSED link is opened
 * @tag: the tag
 * @msg: a message that has been cut; on success the link takes a reference
 *
 * Context: any but hard interrupts, no lock held.
 *
 * A tag made for this message alone is forgotten when it is not queued.
 *
 * Return: 0; -EAGAIN the queue is full, or its file's; -ESHUTDOWN the node is
 * shut; -EMSGSIZE it takes more than OAE_MAX_SLICES; -ESTALE the tag is gone, or
 * its slices may be longer now: find or make it, and cut the message, again.
 */
int oae_tag_send(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_node *node = tag->node;
	struct oae_run ev;
	int err = 0;

	oae_run_enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (!msg->post.nslices) {
		/* Or was its way found to carry more just now? */
		err = msg->post.slice_max < oae_link_slice_max(&tag->link) ?
		      -ESTALE : -EMSGSIZE;
	} else if (READ_ONCE(node->shut)) {
		err = -ESHUTDOWN;
	} else if (*oae_tag_nqueued(tag, msg) >= READ_ONCE(node->knobs.sndq)) {
		err = -EAGAIN;
	} else if (msg->txn.client && oae_attach_queue(tag, msg)) {
		err = -EAGAIN;
	} else {
		oae_msg_get(msg);
		list_add_tail(&msg->list, oae_tag_queue(tag, msg));
		msg->queued = true;
		oae_add(oae_tag_nqueued(tag, msg), 1);
		oae_count(node, OAE_S_POSTED);
		tag->used = true;
		if (oae_link_closed(&tag->link))
			oae_tag_open(tag, &ev);
		oae_run_log(tag, &ev, OAE_EV_POST);
	}
	oae_run_leave(tag, &ev);
	return err;
}
EXPORT_SYMBOL_FOR_BENCH(oae_tag_send);

/**
 * oae_tag_cancel() - reverse a message
 * @tag: its tag
 * @msg: the message
 * @err: what its writer is told, positive errno
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: 0 it ends reversed; -EINPROGRESS an express in flight, or a half that
 * is lent; -ENOENT it has ended already.
 */
int oae_tag_cancel(struct oae_tag *tag, struct oae_msg *msg, int err)
{
	struct oae_run ev;
	int r = 0;

	oae_run_enter(tag, &ev);
	if (msg->queued) {
		oae_queue_del(tag, &ev, msg);
		oae_tell_ended(tag, &ev, msg, OAE_REVERSED, err);
	} else {
		r = oae_run_cancel(tag, &ev, msg, err);
	}
	oae_run_log(tag, &ev, OAE_EV_CANCEL);
	oae_run_leave(tag, &ev);
	return r;
}

/**
 * oae_tag_cancel_queued() - reverse those that are queued and the link has not
 * @tag: their tag
 * @msg: messages, the caller's references
 * @n: how many, not more than OAE_BATCH
 * @err: what their writers are told, positive errno
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_cancel_queued(struct oae_tag *tag, struct oae_msg *const *msg,
			   unsigned int n, int err)
{
	struct oae_run ev;
	unsigned int i;

	oae_run_enter(tag, &ev);
	for (i = 0; i < n; i++) {
		if (!msg[i]->queued)
			continue;
		oae_queue_del(tag, &ev, msg[i]);
		oae_tell_ended(tag, &ev, msg[i], OAE_REVERSED, err);
	}
	oae_run_log(tag, &ev, OAE_EV_CANCEL);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_confirming() - somebody begins or ceases to wait for confirmation
 * @tag: the tag
 * @waiters: 1 begins: the peer is asked whenever it has not said that all is
 *	delivered, and tag->confirm_wait is woken; -1 ceases
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_confirming(struct oae_tag *tag, int waiters)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	tag->nconfirm += waiters;
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_attach() - a file becomes an end of a tag's link, and pins the tag
 * @tag: the tag, of which the file gets the caller's reference
 * @c: the file
 * @open: open the link if it is CLOSED
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: 0; -ESTALE the tag is gone; -ESHUTDOWN the node is shut, and @open.
 */
int oae_tag_attach(struct oae_tag *tag, struct oae_client *c, bool open)
{
	struct oae_run ev;
	int err = 0;

	oae_run_enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (open && READ_ONCE(tag->node->shut)) {
		err = -ESHUTDOWN;
	} else {
		oae_attach_add(tag, c);
		tag->used = true;
		if (open && oae_link_closed(&tag->link)) {
			oae_tag_open(tag, &ev);
			oae_run_log(tag, &ev, OAE_EV_POST);
		}
	}
	oae_run_leave(tag, &ev);
	return err;
}

/**
 * oae_tag_detach() - a file goes
 * @tag: its tag
 * @c: the file; what it has queued goes on without it
 *
 * With the last file what is unread is for noc_debug again. Context: process, no
 * lock held.
 */
void oae_tag_detach(struct oae_tag *tag, struct oae_client *c)
{
	struct oae_txn *txn, *next;
	struct oae_run ev;
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
		/* Perhaps long: not under the lock. */
		list_for_each_entry_safe(txn, next, &left, list)
			oae_msg_put(container_of(txn, struct oae_msg, txn));
		INIT_LIST_HEAD(&left);
		cond_resched();
	} while (more);
}

/**
 * oae_unread_add() - a transaction is delivered: its slices go to the reader
 * @tag: the tag, locked; its slices are all in tag->slot
 * @nslices: how many
 *
 * The caller wakes who reads after unlocking. Context: BH disabled.
 */
void oae_unread_add(struct oae_tag *tag, unsigned int nslices)
{
	struct sk_buff *skb, *first = tag->slot[0];
	unsigned int i, len = 0, size = 0;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->rcvq.lock);
	for (i = 0; i < nslices; i++) {
		skb = tag->slot[i];
		tag->slot[i] = NULL;
		len += skb->len;
		size += skb->truesize;
		OAE_RCV_CB(skb)->nslices = 0;
		__skb_queue_tail(&tag->rcvq, skb);
	}
	OAE_RCV_CB(first)->nslices = nslices;
	OAE_RCV_CB(first)->len = len;
	oae_add(&tag->rcv_bytes, size);
	oae_add(&tag->nrcv, 1);
	oae_unclaimed_sort(tag);
	tag->ndelivered++;
	tag->used = true;
	/* Who reads it finds that it was counted. */
	oae_count(tag->node, OAE_S_DELIVERED);
	oae_count_n(tag->node, OAE_S_DELIVERED_BYTES, len);
	spin_unlock(&tag->rcvq.lock);

	if (tag->unheard && list_empty(&tag->files))
		oae_fresh_add(tag);
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
 * oae_unread_drop() - nobody will read what is unread
 * @tag: the tag, locked
 * @lost: gets it
 *
 * Context: BH disabled.
 *
 * Return: how many transactions.
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
 * oae_unread_len() - how long is the oldest unread transaction?
 * @tag: the tag
 *
 * Context: any but hard interrupts; under tag->lock or no lock.
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
 * Something was read: an event, if anybody waited for that. Without a file a tag
 * that is CLOSED waits to be read to its end, too.
 */
static void queue_made_room(struct oae_tag *tag, bool attached)
{
	struct oae_run ev;

	/* Pairs with those in run_refused() and in oae_tag_retire(). */
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
 * @c: for this file, which is attached; NULL for noc_debug, if none is
 * @max: bytes that it may have
 * @skb: its skbs, linked by ->next; NULL the tag is dead and all is read
 *
 * Context: process, no tag's lock held.
 *
 * Return: 0; -EAGAIN nothing is unread, or not for @c; -EMSGSIZE longer than that,
 * and not taken.
 */
int oae_tag_read(struct oae_tag *tag, const struct oae_client *c, size_t max,
		 struct sk_buff **skb)
{
	struct sk_buff *first;
	int err = 0;

	*skb = NULL;
	spin_lock_bh(&tag->rcvq.lock);
	first = skb_peek(&tag->rcvq);
	/* What was delivered before it died would be there by now. */
	if (!first)
		err = READ_ONCE(tag->dead) ? 0 : -EAGAIN;
	else if (!c && !list_empty(&tag->files))
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
 * oae_tag_unread() - give a transaction back that could not be read after all
 * @tag: the tag that the file is attached to
 * @skb: what oae_tag_read() gave: the next to be read again
 *
 * Context: process, no tag's lock held.
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
