// SPDX-License-Identifier: GPL-2.0
/*
 * What a tag knows of the files of /dev/oae that are attached to it, and what it
 * tells them: their transactions that are queued and ended, and their events.
 *
 * All of it is under tag->lock, which an event takes in any case: so sending and
 * ending a transaction takes no other lock. A transaction that a call waits for
 * is the call's; any other stays on its file's stream, with a reference, until it
 * is collected or the file closed.
 */
#include "chardev.h"

#include <linux/poll.h>

/**
 * oae_attach_init() - a tag with no file
 * @tag: the tag. Context: any; nobody else knows the tag yet.
 */
void oae_attach_init(struct oae_tag *tag)
{
	INIT_LIST_HEAD(&tag->files);
	INIT_LIST_HEAD(&tag->fresh);
	init_waitqueue_head(&tag->read_wait);
	init_waitqueue_head(&tag->write_wait);
	init_waitqueue_head(&tag->poll_wait);
}

/**
 * oae_attach_add() - a file attaches
 * @tag: the tag, locked, not dead
 * @f: the file
 */
void oae_attach_add(struct oae_tag *tag, struct oae_file *f)
{
	lockdep_assert_held(&tag->lock);
	list_add_tail(&f->list, &tag->files);
	f->nlost = tag->nlost;
	tag->unheard = false;
	oae_fresh_del(tag);
}

/**
 * oae_attach_del() - a file goes; what it has queued goes on without it
 * @tag: the tag, locked
 * @f: the file
 * @left: gets its transactions, by oae_txn.list, with the file's references
 *
 * Return: true if what is unread was announced to the node's readers.
 */
bool oae_attach_del(struct oae_tag *tag, struct oae_file *f,
		    struct list_head *left)
{
	struct oae_txn *txn;
	unsigned int i;

	lockdep_assert_held(&tag->lock);
	for (i = 0; i < OAE_STREAMS; i++) {
		list_for_each_entry(txn, &f->stream[i], list)
			WRITE_ONCE(txn->file, NULL);
		list_splice_tail_init(&f->stream[i], left);
	}
	list_del(&f->list);
	if (!list_empty(&tag->files))
		return false;
	tag->doubt = false;
	tag->unheard = true;
	oae_inbox_announce(tag);
	return tag->nrcv;
}

/**
 * oae_attach_queue() - a file's transaction is about to be queued
 * @tag: the tag, locked
 * @msg: the transaction, with a file
 *
 * Return: 0; -EAGAIN the file has queued as much as it may.
 */
int oae_attach_queue(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_txn *txn = &msg->txn;
	struct oae_file *f = txn->file;

	lockdep_assert_held(&tag->lock);
	if (!oae_file_room(f))
		return -EAGAIN;
	txn->id = f->next_id++;
	list_add_tail(&txn->list, oae_file_stream(f, msg));
	oae_add(&f->nqueued, 1);
	oae_add(&f->nbytes, msg->post.len);
	oae_add(&f->npending, 1);
	if (txn->deadline && !txn->waited)
		oae_file_arm(f, txn->deadline);
	return 0;
}

/**
 * oae_file_arm() - see that the timer fires at a deadline
 * @f: the file, its tag locked
 * @deadline: ktime, ns
 */
void oae_file_arm(struct oae_file *f, u64 deadline)
{
	if (f->timer_at && f->timer_at <= deadline)
		return;
	f->timer_at = deadline;
	hrtimer_start(&f->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_SOFT);
}

/**
 * oae_file_unlink() - a transaction is its file's business no more
 * @f: the file, its tag locked
 * @msg: on one of its streams
 */
void oae_file_unlink(struct oae_file *f, struct oae_msg *msg)
{
	list_del(&msg->txn.list);
	oae_add(&f->nqueued, -1);
	oae_add(&f->nbytes, -(size_t)msg->post.len);
	if (!msg->txn.ended)
		oae_add(&f->npending, -1);
}

/**
 * oae_file_collectable() - is there an outcome to collect?
 * @f: the file, its tag locked
 *
 * Return: true if so: that of the first of a stream.
 */
bool oae_file_collectable(struct oae_file *f)
{
	struct oae_txn *txn;
	unsigned int i;

	for (i = 0; i < OAE_STREAMS; i++) {
		txn = list_first_entry_or_null(&f->stream[i], struct oae_txn,
					       list);
		if (txn && oae_txn_ready(txn))
			return true;
	}
	return false;
}

/**
 * oae_attach_ended() - the outcome of a file's transaction is known
 * @tag: the tag, locked
 * @msg: the transaction, with a file
 *
 * Who waits, or polls, is told by oae_attach_tell() after unlocking.
 *
 * Return: true if the file has room again and had none.
 */
bool oae_attach_ended(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_txn *txn = &msg->txn;
	struct oae_file *f = txn->file;
	bool full = !oae_file_room(f);

	lockdep_assert_held(&tag->lock);
	oae_add(&f->npending, -1);
	txn->ended = true;
	if (txn->waited && (!msg->result || msg->result->len <= txn->room)) {
		oae_file_unlink(f, msg);
		/* One behind it may have been waiting for its turn. */
		txn->tell = oae_file_collectable(f);
		return full;
	}
	if (txn->waited) {
		/* Too long for who waits: collected instead. */
		txn->waited = false;
		oae_msg_get(msg);
	}
	txn->tell = true;
	return false;
}

/**
 * oae_attach_tell() - wake who polls a file, or closes it
 * @msg: a transaction that has ended
 *
 * Context: RCU read lock held since before the tag was unlocked, no lock held.
 */
void oae_attach_tell(struct oae_msg *msg)
{
	struct oae_file *f = READ_ONCE(msg->txn.file);

	if (f && wq_has_sleeper(&f->wait))
		wake_up_poll(&f->wait, EPOLLPRI);
}

/**
 * oae_attach_readable() - wake who waits for something to read
 * @tag: the tag, which now has something; one that sleeps, and all who poll
 *
 * Context: any, tag->lock held or not.
 */
void oae_attach_readable(struct oae_tag *tag)
{
	/* Who is about to sleep sees what there is, or is seen here. */
	smp_mb();
	/* barrier: above */
	if (waitqueue_active(&tag->read_wait))
		wake_up_interruptible(&tag->read_wait);
	/* barrier: above */
	if (waitqueue_active(&tag->poll_wait))
		wake_up_poll(&tag->poll_wait, EPOLLIN | EPOLLRDNORM);
}

/**
 * oae_attach_writable() - wake who waits for room, or for confirmation
 * @tag: the tag
 *
 * Context: any, tag->lock held or not.
 */
void oae_attach_writable(struct oae_tag *tag)
{
	/* As in oae_attach_readable(). */
	smp_mb();
	/* barrier: above */
	if (waitqueue_active(&tag->write_wait))
		wake_up_interruptible(&tag->write_wait);
	/* barrier: above */
	if (waitqueue_active(&tag->poll_wait))
		wake_up_poll(&tag->poll_wait, EPOLLOUT | EPOLLWRNORM);
}

static void tell_event(struct oae_tag *tag, u32 events)
{
	struct oae_file *f;

	list_for_each_entry(f, &tag->files, list) {
		f->events |= events;
		wake_up_poll(&f->wait, EPOLLPRI | EPOLLRDBAND);
	}
}

static u32 froze(struct oae_tag *tag)
{
	if (!oae_undecided(&tag->link))
		return 0;
	tag->doubt = true;
	return OAE_EVENT_DOUBT;
}

static u32 settled(struct oae_tag *tag)
{
	bool doubt = tag->doubt;

	tag->doubt = false;
	return doubt ? OAE_EVENT_SETTLED : 0;
}

static u32 note_events(struct oae_tag *tag, enum oae_note note)
{
	switch (note) {
	case OAE_N_OPENED:
		return OAE_EVENT_UP | settled(tag);
	case OAE_N_UP:
		return OAE_EVENT_UP;
	case OAE_N_RESOLVED:
		return settled(tag);
	case OAE_N_DOWN:
		return OAE_EVENT_DOWN;
	case OAE_N_STALL:
	case OAE_N_PEER_FROZE:
	case OAE_N_NOLINK:
	case OAE_N_ATTEMPTS:
	case OAE_N_WORN:
	case OAE_N_PORT:
	case OAE_N_IMPOSSIBLE:
		return froze(tag);
	case OAE_N_PEER_NEW:
		return OAE_EVENT_PEER_NEW;
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
		return OAE_EVENT_LOST;
	case OAE_N_GONE:
		return OAE_EVENT_CLOSED | settled(tag);
	default:
		return 0;
	}
}

/* What listeners want to know of a tag that no file is attached to. */
static void note_fresh(struct oae_tag *tag, enum oae_note note)
{
	if ((note == OAE_N_OPENED && tag->by_peer && tag->unheard) ||
	    note == OAE_N_PEER_NEW)
		oae_fresh_add(tag);
	/* Who has closed may have left something to read. */
	if (note == OAE_N_GONE && !tag->nrcv)
		oae_fresh_del(tag);
}

/**
 * oae_attach_note() - something rare has happened to a link
 * @tag: its tag, locked
 * @note: what
 */
void oae_attach_note(struct oae_tag *tag, enum oae_note note)
{
	u32 events;

	lockdep_assert_held(&tag->lock);
	if (note == OAE_N_RESOLVED)
		tag->nhealed++;
	else if (note == OAE_N_UNCONFIRMED)
		tag->nlost++;
	if (list_empty(&tag->files)) {
		note_fresh(tag, note);
	} else {
		events = note_events(tag, note);
		if (events)
			tell_event(tag, events);
	}
	if (note == OAE_N_GONE)
		tag->by_peer = false;
}

/**
 * oae_attach_dead() - a tag has died; its files are told if its port went
 * @tag: the tag, locked
 */
void oae_attach_dead(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	oae_fresh_del(tag);
	tell_event(tag, OAE_EVENT_DEAD);
	wake_up_interruptible_all(&tag->read_wait);
	wake_up_interruptible_all(&tag->write_wait);
	wake_up_poll(&tag->poll_wait, EPOLLIN | EPOLLHUP);
}
