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
#include "tag.h"

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
	init_waitqueue_head(&tag->half_wait);
	init_waitqueue_head(&tag->confirm_wait);
	init_waitqueue_head(&tag->poll_wait);
}

/**
 * oae_attach_add() - a file attaches
 * @tag: the tag, locked, not dead
 * @c: the file
 */
void oae_attach_add(struct oae_tag *tag, struct oae_client *c)
{
	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->rcvq.lock);
	list_add_tail(&c->list, &tag->files);
	oae_unclaimed_sort(tag);
	spin_unlock(&tag->rcvq.lock);
	c->nlost = tag->nlost;
	c->nevents = tag->nevents;
	tag->unheard = false;
	oae_fresh_del(tag);
}

/**
 * oae_client_init() - a file with no transaction
 * @c: the file. Context: any; nobody else knows the file yet.
 */
void oae_client_init(struct oae_client *c)
{
	unsigned int i;

	for (i = 0; i < OAE_STREAMS; i++) {
		c->stream[i].txns = RB_ROOT_CACHED;
		INIT_LIST_HEAD(&c->stream[i].pending);
	}
	c->due = RB_ROOT_CACHED;
	init_waitqueue_head(&c->wait);
	init_waitqueue_head(&c->room_wait);
	c->next_id = 1;
}

static void client_stream_insert(struct oae_stream *s, struct oae_txn *txn)
{
	struct rb_node **at = &s->txns.rb_root.rb_node, *parent = NULL;
	bool first = true;

	while (*at) {
		parent = *at;
		if (txn->id < rb_entry(parent, struct oae_txn, node)->id) {
			at = &parent->rb_left;
		} else {
			at = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(&txn->node, parent, at);
	rb_insert_color_cached(&txn->node, &s->txns, first);
}

/* How many have ended between @txn, which has not, and the one before it. */
static u32 *client_stream_gap(struct oae_stream *s, struct oae_txn *txn)
{
	return list_is_first(&txn->list, &s->pending) ?
	       &s->ready : &list_prev_entry(txn, list)->ready;
}

/* It has ended, and is collected later; or it goes, if it does not stay. */
static void client_stream_end(struct oae_stream *s, struct oae_txn *txn, bool stays)
{
	*client_stream_gap(s, txn) += txn->ready + stays;
	list_del(&txn->list);
	if (!stays)
		rb_erase_cached(&txn->node, &s->txns);
}

/**
 * oae_stream_below() - find a transaction by number
 * @s: the stream, its tag locked
 * @id: a number
 *
 * Return: the one with the greatest number below that, or NULL.
 */
struct oae_txn *oae_stream_below(const struct oae_stream *s, u64 id)
{
	struct rb_node *at = s->txns.rb_root.rb_node;
	struct oae_txn *txn, *found = NULL;

	while (at) {
		txn = rb_entry(at, struct oae_txn, node);
		if (txn->id < id) {
			found = txn;
			at = at->rb_right;
		} else {
			at = at->rb_left;
		}
	}
	return found;
}

static void client_untime(struct oae_client *c, struct oae_txn *txn)
{
	if (txn->timed)
		rb_erase_cached(&txn->due, &c->due);
	txn->timed = false;
}

static void client_uncount(struct oae_client *c, const struct oae_msg *msg)
{
	oae_add(&c->nqueued, -1);
	oae_add(&c->nbytes, -(size_t)msg->post.len);
}

/**
 * oae_attach_leave() - some of what a file has queued goes on without it
 * @tag: the tag, locked
 * @c: the file, which nobody uses any more
 * @left: gets a few of its transactions, by oae_txn.list, with the file's
 *	references
 *
 * Return: true if there are more.
 */
bool oae_attach_leave(struct oae_tag *tag, struct oae_client *c,
		      struct list_head *left)
{
	struct oae_stream *s = c->stream;
	struct oae_txn *txn;
	unsigned int n;

	lockdep_assert_held(&tag->lock);
	for (n = 0; n < OAE_BATCH; n++) {
		txn = oae_stream_first(s);
		if (!txn && s == c->stream)
			txn = oae_stream_first(++s);
		if (!txn)
			return false;
		client_untime(c, txn);
		if (!txn->ended)
			list_del(&txn->list);
		rb_erase_cached(&txn->node, &s->txns);
		WRITE_ONCE(txn->client, NULL);
		list_add_tail(&txn->list, left);
	}
	return true;
}

/**
 * oae_attach_del() - a file goes
 * @tag: the tag, locked
 * @c: the file, which has no transaction any more
 *
 * Return: true if what is unread is noc_debug's now.
 */
bool oae_attach_del(struct oae_tag *tag, struct oae_client *c)
{
	bool unread;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->rcvq.lock);
	list_del(&c->list);
	oae_unclaimed_sort(tag);
	unread = tag->is_ready;
	spin_unlock(&tag->rcvq.lock);
	if (!list_empty(&tag->files))
		return false;
	tag->doubt = false;
	tag->unheard = true;
	if (unread)
		oae_fresh_add(tag);
	return unread;
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
	struct oae_client *c = txn->client;
	struct oae_stream *s;

	lockdep_assert_held(&tag->lock);
	if (!oae_client_room(c))
		return -EAGAIN;
	s = oae_client_stream(c, msg);
	txn->id = c->next_id++;
	txn->ready = 0;
	client_stream_insert(s, txn);
	list_add_tail(&txn->list, &s->pending);
	oae_add(&c->nqueued, 1);
	oae_add(&c->nbytes, msg->post.len);
	oae_add(&c->npending, 1);
	if (!txn->waited)
		oae_msg_get(msg);	/* the file's, until it is collected */
	if (txn->deadline && !txn->waited)
		oae_client_time(c, txn);
	return 0;
}

/* See that the timer fires then. */
static void client_arm(struct oae_client *c, u64 at)
{
	if (c->timer_at && c->timer_at <= at)
		return;
	c->timer_at = at;
	hrtimer_start(&c->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

/**
 * oae_client_time() - the file's timer is to reverse a transaction
 * @c: the file, its tag locked
 * @txn: the transaction: no call waits for it, and it has a deadline
 */
void oae_client_time(struct oae_client *c, struct oae_txn *txn)
{
	struct rb_node **at = &c->due.rb_root.rb_node, *parent = NULL;
	bool first = true;

	while (*at) {
		parent = *at;
		if (txn->deadline <
		    rb_entry(parent, struct oae_txn, due)->deadline) {
			at = &parent->rb_left;
		} else {
			at = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(&txn->due, parent, at);
	rb_insert_color_cached(&txn->due, &c->due, first);
	txn->timed = true;
	client_arm(c, txn->deadline);
}

/**
 * oae_client_due() - the timer has fired: what is due, and when it fires next
 * @c: the file, its tag locked
 * @now: ktime, ns
 * @again: ktime, ns: the new deadline of what is due, should it not be
 *	reversible now
 * @msg: gets the messages, with a reference each
 * @max: as many as fit there; the timer fires at once again if there are more
 *
 * Return: how many.
 */
unsigned int oae_client_due(struct oae_client *c, u64 now, u64 again,
			    struct oae_msg **msg, unsigned int max)
{
	struct rb_node *first;
	struct oae_txn *txn;
	unsigned int n = 0;

	c->timer_at = 0;
	while ((first = rb_first_cached(&c->due))) {
		txn = rb_entry(first, struct oae_txn, due);
		if (txn->deadline > now || n == max) {
			client_arm(c, max(txn->deadline, now));
			break;
		}
		client_untime(c, txn);
		txn->deadline = again;
		oae_client_time(c, txn);
		msg[n] = oae_txn_msg(txn);
		oae_msg_get(msg[n++]);
	}
	return n;
}

/**
 * oae_client_collected() - a transaction is its file's business no more
 * @c: the file, its tag locked
 * @msg: the first of one of its streams, ended
 */
void oae_client_collected(struct oae_client *c, struct oae_msg *msg)
{
	struct oae_stream *s = oae_client_stream(c, msg);

	rb_erase_cached(&msg->txn.node, &s->txns);
	s->ready--;
	client_uncount(c, msg);
}

/**
 * oae_client_restored() - a transaction is to be collected after all
 * @c: the file, its tag locked
 * @msg: a transaction that has ended, and is in no stream
 *
 * What has not ended and is older stands with the link: few.
 */
void oae_client_restored(struct oae_client *c, struct oae_msg *msg)
{
	struct oae_stream *s = oae_client_stream(c, msg);
	struct oae_txn *txn;
	u32 *ready = &s->ready;

	client_stream_insert(s, &msg->txn);
	list_for_each_entry(txn, &s->pending, list) {
		if (txn->id > msg->txn.id)
			break;
		ready = &txn->ready;
	}
	++*ready;
	oae_add(&c->nqueued, 1);
	oae_add(&c->nbytes, msg->post.len);
}

/**
 * oae_client_collectable() - is there an outcome to collect?
 * @c: the file, its tag locked
 *
 * Return: true if so: that of the first of a stream.
 */
bool oae_client_collectable(struct oae_client *c)
{
	return oae_client_uncollected(c);
}

/**
 * oae_client_uncollected() - how many outcomes can be collected?
 * @c: the file, its tag locked
 *
 * Those behind one that has not ended wait for it.
 *
 * Return: how many.
 */
u32 oae_client_uncollected(const struct oae_client *c)
{
	unsigned int i;
	u32 n = 0;

	for (i = 0; i < OAE_STREAMS; i++)
		n += c->stream[i].ready;
	return n;
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
	struct oae_client *c = txn->client;
	bool full = !oae_client_room(c), stays;

	lockdep_assert_held(&tag->lock);
	stays = !txn->waited || (msg->result && msg->result->len > txn->room);
	oae_add(&c->npending, -1);
	client_untime(c, txn);
	WRITE_ONCE(txn->ended, true);
	client_stream_end(oae_client_stream(c, msg), txn, stays);
	if (!stays) {
		client_uncount(c, msg);
		if (full)
			oae_room_wake_client(tag, c);
		/* One behind it may have been waiting for its turn. */
		txn->tell = oae_client_collectable(c);
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
	struct oae_client *c = READ_ONCE(msg->txn.client);

	if (c && wq_has_sleeper(&c->wait))
		wake_up_poll(&c->wait, EPOLLPRI);
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
 * oae_attach_writable() - wake one that waits for room, all that do for confirmation
 * @tag: the tag
 *
 * Context: any, tag->lock held or not.
 */
void oae_attach_writable(struct oae_tag *tag)
{
	/* As in oae_attach_readable(). */
	smp_mb();
	/* barrier: above */
	if (waitqueue_active(&tag->confirm_wait))
		wake_up_interruptible(&tag->confirm_wait);
	/* barrier: above */
	if (waitqueue_active(&tag->write_wait))
		oae_room_wake(tag, false);
	/* barrier: above */
	if (waitqueue_active(&tag->half_wait))
		oae_room_wake(tag, true);
	/* barrier: above */
	if (waitqueue_active(&tag->poll_wait))
		wake_up_poll(&tag->poll_wait, EPOLLOUT | EPOLLWRNORM);
}

/* Told to no file: each finds out for itself what is news to it. */
static void client_tell_event(struct oae_tag *tag, u32 events)
{
	unsigned int i;

	BUILD_BUG_ON(BIT(OAE_EVENTS - 1) != OAE_EVENT_LOST);
	tag->nevents++;
	for (i = 0; i < OAE_EVENTS; i++)
		if (events & BIT(i))
			tag->last_event[i] = tag->nevents;
	wake_up_poll(&tag->poll_wait, EPOLLPRI | EPOLLRDBAND);
}

/**
 * oae_client_events() - what has happened since a file has looked
 * @c: the file, its tag locked
 * @tag: its tag
 *
 * Return: OAE_EVENT_*.
 */
u32 oae_client_events(const struct oae_client *c, const struct oae_tag *tag)
{
	u32 events = c->events;
	unsigned int i;

	for (i = 0; i < OAE_EVENTS; i++)
		if (tag->last_event[i] > c->nevents)
			events |= BIT(i);
	return events;
}

static u32 client_froze(struct oae_tag *tag)
{
	if (!oae_link_undecided(&tag->link))
		return 0;
	tag->doubt = true;
	return OAE_EVENT_DOUBT;
}

static u32 client_settled(struct oae_tag *tag)
{
	bool doubt = tag->doubt;

	tag->doubt = false;
	return doubt ? OAE_EVENT_SETTLED : 0;
}

static u32 client_note_events(struct oae_tag *tag, enum oae_note note)
{
	switch (note) {
	case OAE_N_OPENED:
		return OAE_EVENT_UP | client_settled(tag);
	case OAE_N_UP:
		return OAE_EVENT_UP;
	case OAE_N_RESOLVED:
		return client_settled(tag);
	case OAE_N_DOWN:
		return OAE_EVENT_DOWN;
	case OAE_N_STALL:
	case OAE_N_PEER_FROZE:
	case OAE_N_NOLINK:
	case OAE_N_ATTEMPTS:
	case OAE_N_WORN:
	case OAE_N_PORT:
	case OAE_N_IMPOSSIBLE:
		return client_froze(tag);
	case OAE_N_PEER_NEW:
		return OAE_EVENT_PEER_NEW;
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
		return OAE_EVENT_LOST;
	case OAE_N_GONE:
		return OAE_EVENT_CLOSED | client_settled(tag);
	default:
		return 0;
	}
}

/* What listeners want to know of a tag that no file is attached to. */
static void client_note_fresh(struct oae_tag *tag, enum oae_note note)
{
	if ((note == OAE_N_OPENED && tag->by_peer && tag->unheard) ||
	    note == OAE_N_PEER_NEW)
		oae_fresh_add(tag);
	/* Who has closed may have left something to read. */
	if (note == OAE_N_GONE && !READ_ONCE(tag->nrcv))
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
		client_note_fresh(tag, note);
	} else {
		events = client_note_events(tag, note);
		if (events)
			client_tell_event(tag, events);
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
	client_tell_event(tag, OAE_EVENT_DEAD);
	wake_up_interruptible_all(&tag->read_wait);
	wake_up_interruptible_all(&tag->write_wait);
	wake_up_interruptible_all(&tag->half_wait);
	wake_up_interruptible_all(&tag->confirm_wait);
	wake_up_poll(&tag->poll_wait, EPOLLIN | EPOLLHUP);
	oae_attach_shut(tag);
}

/**
 * oae_attach_shut() - nothing more may be queued, and who waits for it is told
 * @tag: the tag, locked; dead, or its node is shut
 *
 * The first in the line for a file's room passes it on: room.c.
 */
void oae_attach_shut(struct oae_tag *tag)
{
	struct oae_client *c;

	lockdep_assert_held(&tag->lock);
	list_for_each_entry(c, &tag->files, list)
		oae_room_wake_client(tag, c);
}
