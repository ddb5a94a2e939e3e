// SPDX-License-Identifier: GPL-2.0
/*
 * What programs have a tag do: a file attaches, posts transactions, takes them back, waits for
 * confirmation, detaches. Each is an event of the link, which may offer at once what is posted.
 */
#include "event.h"

/* @msg has come to its queue. */
static void queue_added(struct oae_tag *tag, struct oae_msg *msg)
{
	msg->queued = true;
	oae_tag_count_queued(tag, msg, 1);
	oae_count_n(tag->node, OAE_S_POSTED, msg->txn.ring_n ?: 1);
}

static void queue_posted(struct oae_tag *tag, struct oae_run *ev)
{
	tag->used = true;
	if (oae_link_closed(&tag->link))
		oae_tag_open(tag, ev);
	oae_run_log(tag, ev, OAE_EV_POST, 0, oae_link_tx(&tag->link) + 1);
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
		err = msg->post.slice_max < oae_link_port_max(&tag->link) ?
		      -ESTALE : -EMSGSIZE;
	} else if (READ_ONCE(node->knobs.shut)) {
		err = -ESHUTDOWN;
	} else if (oae_tag_nqueued(tag, msg) >= READ_ONCE(node->knobs.sndq) ||
		   (msg->txn.client && oae_attach_queue(tag, msg))) {
		err = -EAGAIN;
	} else {
		oae_msg_get(msg);
		list_add_tail(&msg->list, oae_tag_queue(tag, msg));
		queue_added(tag, msg);
		queue_posted(tag, &ev);
	}
	oae_run_leave(tag, &ev);
	return err;
}
EXPORT_SYMBOL_FOR_BENCH(oae_tag_send);

/* A transaction of a file is not even queued: keep what is waited for. */
static void post_refused(struct oae_tag *tag, struct oae_client *c)
{
	oae_tag_lock(tag);
	oae_waits_look(tag, &c->waited);
	oae_tag_unlock(tag);
}

/**
 * oae_room_send() - cut a transaction and queue it, once there is room
 * @tag: the tag
 * @msg: the transaction; on success the link takes a reference
 * @nonblock: do not wait for room
 * @left: time limit, jiffies; set to the time left
 *
 * A retry does not hash the message again unless the length of slices changes.
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EAGAIN no room; -OAE_E_SIGNAL, -OAE_E_DEADLINE while waiting for
 * room; -ESTALE the tag is gone; -ENOMEM; else what oae_tag_send() returns. Nothing is
 * queued unless 0 is returned.
 */
int oae_room_send(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		  long *left)
{
	bool swap = msg->post.kind == OAE_SWAP, waited = false;
	struct oae_client *c = msg->txn.client;
	int err;

	for (;;) {
		oae_msg_slice(msg, oae_link_cut(&tag->link, msg->post.kind,
						msg->post.len));
		err = oae_tag_send(tag, msg);
		if (err == -ESTALE && !READ_ONCE(tag->dead))
			continue;	/* longer slices: cut anew */
		if (err != -EAGAIN || nonblock)
			break;
		err = oae_users_make(tag);
		if (err)
			break;
		waited = true;
		err = oae_room_wait(tag, c, swap, left);
		if (err && c)
			post_refused(tag, c);
		if (err)
			break;
	}
	if (waited) {
		oae_room_wake(tag, swap);
		oae_room_wake_client(tag, c);
	}
	return err;
}

/* Why a message of a ring cannot be queued, negative errno; 0 it can. */
static int queue_refuses(struct oae_tag *tag, struct oae_msg *msg)
{
	u32 now = oae_link_port_max(&tag->link);

	/* A pack that is too long by now is dissolved before it is posted. */
	if (tag->dead)
		return -ENODEV;
	if (READ_ONCE(tag->node->knobs.shut))
		return -OAE_E_SHUTDOWN;
	/* The way has been found to carry longer slices. */
	if (!msg->post.nslices && msg->post.slice_max < now)
		oae_msg_slice(msg, now);
	return msg->post.nslices ? 0 : -OAE_E_TOO_BIG;
}

/*
 * Queue messages of a ring, and open the link if it is CLOSED. For those that are queued the link
 * takes over a reference; those that are not are left, with oae_msg.err.
 */
void oae_tag_send_ring(struct oae_tag *tag, struct list_head *msgs)
{
	struct oae_run ev oae_uninit;
	struct oae_msg *msg, *next;
	bool any = false;

	/* Hashed without the lock. */
	list_for_each_entry(msg, msgs, list)
		if (msg->post.kind == OAE_MESSAGE)
			oae_msg_slice(msg, oae_link_cut(&tag->link, OAE_MESSAGE,
							msg->post.len));
	oae_run_enter(tag, &ev);
	list_for_each_entry_safe(msg, next, msgs, list) {
		msg->err = -queue_refuses(tag, msg);
		if (msg->err)
			continue;
		list_move_tail(&msg->list, &tag->users->ringq);
		queue_added(tag, msg);
		any = true;
	}
	if (any)
		queue_posted(tag, &ev);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_cancel() - reverse a message (protocol 4.1, step 5)
 * @tag: its tag
 * @msg: the message
 * @err: error for the writer, positive errno
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 0 the message is reversed; -EINPROGRESS that is not known yet: an express that was
 * offered, or a half that is lent; -ENOENT it has ended already.
 */
int oae_tag_cancel(struct oae_tag *tag, struct oae_msg *msg, int err)
{
	struct oae_run ev oae_uninit;
	int r = 0;

	oae_run_enter(tag, &ev);
	oae_waits_mark(tag);
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
	oae_waits_mark(tag);
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

static int queue_attach(struct oae_tag *tag, struct oae_run *ev, struct oae_client *c,
			const struct oae_addr *addr, bool open)
{
	if (open && READ_ONCE(tag->node->knobs.shut))
		return -ESHUTDOWN;
	oae_attach_add(tag, c);
	oae_guess_use(tag, addr);
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
 * @addr: the address that the file is attached to
 * @port: the port that it means
 * @kid: channel and address there, by which the tag was found
 * @open: open the link if it is CLOSED
 *
 * A tag that was made for this file is removed if the file is not attached.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: 0; -ESTALE the tag is dead, or has moved: look again; -ESHUTDOWN the node is shut, and
 * @open; -ENOMEM.
 */
int oae_tag_attach(struct oae_tag *tag, struct oae_client *c, const struct oae_addr *addr,
		   const struct oae_port *port, u64 kid, bool open)
{
	struct oae_run ev oae_uninit;
	int err = oae_users_make(tag);

	oae_run_enter(tag, &ev);
	if (!err && (tag->dead || oae_guess_moved(tag, port, kid)))
		err = -ESTALE;
	if (!err)
		err = queue_attach(tag, &ev, c, addr, open);
	oae_tag_gave_up(tag);
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
