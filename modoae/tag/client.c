// SPDX-License-Identifier: GPL-2.0
/*
 * A tag's view of the attached files of /dev/oae: their queued and ended
 * transactions, and the events to report to them.
 *
 * All of it is under tag->lock, which every event takes anyway, so sending and
 * ending a transaction take no further lock. A call that waits for a transaction
 * takes its outcome. Any other transaction stays on the file's stream, with a
 * reference, until it is collected or the file is closed.
 */
#include "event.h"

#include "ring.h"

#include <linux/poll.h>

/* Attach a file to a tag that is not dead. */
void oae_attach_add(struct oae_tag *tag, struct oae_client *c)
{
	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->inbox.q.lock);
	list_add_tail(&c->list, &tag->users->files);
	oae_unclaimed_sort(tag);
	spin_unlock(&tag->inbox.q.lock);
	c->nlost = tag->nlost;
	c->nevents = tag->users->nevents;
	tag->unheard = false;
	oae_fresh_del(tag);
}

/**
 * oae_client_init() - initialise a file, with no transaction
 * @c: the file, not published yet
 *
 * Context: any.
 */
void oae_client_init(struct oae_client *c)
{
	unsigned int i;

	for (i = 0; i < OAE_STREAMS; i++) {
		c->stream[i].txns = RB_ROOT_CACHED;
		INIT_LIST_HEAD(&c->stream[i].pending);
	}
	timerqueue_init_head(&c->due);
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

/* Counter of the ended transactions just before @txn, which is pending. */
static u32 *client_stream_gap(struct oae_stream *s, struct oae_txn *txn)
{
	return list_is_first(&txn->list, &s->pending) ?
	       &s->ready : &list_prev_entry(txn, list)->ready;
}

/* @txn has ended. If it @stays, it is collected later; otherwise remove it. */
static void client_stream_end(struct oae_stream *s, struct oae_txn *txn, bool stays)
{
	*client_stream_gap(s, txn) += txn->ready + stays;
	list_del(&txn->list);
	if (!stays)
		rb_erase_cached(&txn->node, &s->txns);
}

/**
 * oae_stream_below() - find a transaction by number
 * @s: the stream
 * @id: a number
 *
 * Context: under tag->lock, BH off.
 *
 * Return: the transaction with the greatest number below @id, or NULL.
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
	if (timerqueue_node_queued(&txn->due))
		timerqueue_del(&c->due, &txn->due);
}

/* @msg has come to the streams (@n is 1), or has left them (-1). */
static void client_count(struct oae_client *c, const struct oae_msg *msg, int n)
{
	oae_add(&c->nqueued, n);
	oae_add(&c->nbytes, n * (size_t)msg->post.len);
}

/*
 * Detach up to OAE_BATCH transactions from a file that is closed, with its references; the link
 * carries on with those that have not ended. True: there are more.
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

/* Detach a file without a transaction. True: something is unread, which noc_debug may read now. */
bool oae_attach_del(struct oae_tag *tag, struct oae_client *c)
{
	bool unread;

	lockdep_assert_held(&tag->lock);
	spin_lock(&tag->inbox.q.lock);
	list_del(&c->list);
	oae_unclaimed_sort(tag);
	unread = tag->is_ready;
	spin_unlock(&tag->inbox.q.lock);
	if (oae_tag_attached(tag))
		return false;
	tag->doubt = false;
	tag->unheard = true;
	if (unread)
		oae_fresh_add(tag);
	return unread;
}

/* Account a transaction to its file, before it is queued. -EAGAIN: the file's queue is full. */
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
	client_count(c, msg, 1);
	oae_add(&c->npending, 1);
	if (!txn->waited)
		oae_msg_get(msg);	/* the file's, until it is collected */
	if (txn->due.expires && !txn->waited)
		oae_client_time(c, txn);
	return 0;
}

/* Make sure that the timer fires at @at or earlier. */
static void client_arm(struct oae_client *c, u64 at)
{
	if (c->timer_at && c->timer_at <= at)
		return;
	c->timer_at = at;
	hrtimer_start(&c->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

/**
 * oae_client_time() - let the file's timer reverse a transaction at its deadline
 * @c: the file
 * @txn: the transaction, with a deadline, that no call waits for
 *
 * Context: under tag->lock, BH off.
 */
void oae_client_time(struct oae_client *c, struct oae_txn *txn)
{
	timerqueue_add(&c->due, &txn->due);
	client_arm(c, txn->due.expires);
}

/**
 * oae_client_due() - take the transactions that are due, and arm the timer anew
 * @c: the file, whose timer has fired
 * @now: ktime, ns
 * @again: ktime, ns: new deadline of the transactions that are due, in case they
 *	cannot be reversed now
 * @msg: filled with the messages, with a reference each
 * @max: size of @msg; if more are due the timer fires again at once
 *
 * Context: under tag->lock, BH off.
 *
 * Return: number of messages.
 */
unsigned int oae_client_due(struct oae_client *c, u64 now, u64 again,
			    struct oae_msg **msg, unsigned int max)
{
	struct timerqueue_node *first;
	struct oae_txn *txn;
	unsigned int n = 0;

	c->timer_at = 0;
	while ((first = timerqueue_getnext(&c->due))) {
		if (first->expires > now || n == max) {
			client_arm(c, max_t(u64, first->expires, now));
			break;
		}
		txn = container_of(first, struct oae_txn, due);
		client_untime(c, txn);
		txn->due.expires = again;
		oae_client_time(c, txn);
		msg[n] = oae_txn_msg(txn);
		oae_msg_get(msg[n++]);
	}
	return n;
}

/**
 * oae_client_collected() - remove a collected transaction from its stream
 * @c: the file
 * @msg: the first transaction of a stream, ended
 *
 * Context: under tag->lock, BH off.
 */
void oae_client_collected(struct oae_client *c, struct oae_msg *msg)
{
	struct oae_stream *s = oae_client_stream(c, msg);

	rb_erase_cached(&msg->txn.node, &s->txns);
	s->ready--;
	client_count(c, msg, -1);
}

/**
 * oae_client_restored() - put a transaction back on its stream
 * @c: the file
 * @msg: a transaction that has ended and is in no stream
 *
 * The walk is short: older pending transactions are all with the link, which
 * takes only a few at a time.
 *
 * Context: under tag->lock, BH off.
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
	client_count(c, msg, 1);
}

/**
 * oae_client_uncollected() - how many outcomes can be collected?
 * @c: the file
 *
 * A stream is collected in order: an outcome behind a pending transaction has to
 * wait.
 *
 * Context: under tag->lock, BH off.
 *
 * Return: number of outcomes.
 */
u32 oae_client_uncollected(const struct oae_client *c)
{
	unsigned int i;
	u32 n = 0;

	for (i = 0; i < OAE_STREAMS; i++)
		n += c->stream[i].ready;
	return n;
}

/* Is what the link waited for why a transaction was reversed? */
static bool client_was_waiting(int err)
{
	return err == OAE_E_DEADLINE || err == OAE_E_SIGNAL || err == OAE_E_CANCEL ||
	       err == OAE_E_DOWN;
}

/*
 * Record that a file's transaction has ended; oae_attach_tell() wakes after unlocking. True: the
 * file's queue was full and has room again.
 */
bool oae_attach_ended(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_txn *txn = &msg->txn;
	struct oae_client *c = txn->client;
	bool full = !oae_client_room(c), stays;

	lockdep_assert_held(&tag->lock);
	if (unlikely(msg->outcome == OAE_REVERSED)) {
		memset(&c->waited, 0, sizeof(c->waited));
		if (client_was_waiting(msg->err))
			c->waited = tag->users->waited;
	}
	stays = !txn->waited || (msg->result && oae_msg_result_len(msg) > txn->room);
	oae_add(&c->npending, -1);
	client_untime(c, txn);
	WRITE_ONCE(txn->ended, true);
	client_stream_end(oae_client_stream(c, msg), txn, stays);
	if (!stays) {
		client_count(c, msg, -1);
		if (full)
			oae_room_wake_client(tag, c);
		/* An ended transaction behind this one can be collected now. */
		txn->tell = oae_client_uncollected(c);
		return full;
	}
	if (txn->waited) {
		/* The waiting call has no room for the result: it is collected. */
		txn->waited = false;
		oae_msg_get(msg);
	}
	txn->tell = true;
	return false;
}

/*
 * Wake pollers of a file, and a task that closes it. RCU has kept the file since before the tag
 * was unlocked.
 */
void oae_attach_tell(struct oae_msg *msg)
{
	/* Pairs with the WRITE_ONCE() in oae_attach_leave(). */
	struct oae_client *c = READ_ONCE(msg->txn.client);

	if (c && wq_has_sleeper(&c->wait))
		wake_up_poll(&c->wait, EPOLLPRI);
}

/*
 * Something is unread: wake one waiting reader and all pollers, or fill a ring. Under no
 * tag->lock.
 */
void oae_attach_readable(struct oae_tag *tag)
{
	struct oae_ring_link *link;
	struct oae_users *u;

	/*
	 * The data before the look at the wait queues, and at the ring. Pairs with the
	 * smp_mb() in file_poll(), with that of wait_event in io_read_next(), and with that
	 * in fill_link().
	 */
	smp_mb();
	u = oae_tag_users(tag);
	if (!u)
		return;
	if (unlikely(rcu_access_pointer(u->ring))) {
		rcu_read_lock_bh();
		link = rcu_dereference_bh(u->ring);
		if (link)
			oae_ring_deliver(link);
		rcu_read_unlock_bh();
	}
	/* Ordered by the smp_mb() above; pairs with io_read_next(). */
	if (waitqueue_active(&u->read_wait))
		wake_up_interruptible(&u->read_wait);
	/* Ordered by the smp_mb() above; pairs with file_poll(). */
	if (waitqueue_active(&u->poll_wait))
		wake_up_poll(&u->poll_wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * There may be room, or commits are confirmed: wake one waiting writer, all pollers and all of
 * fsync.
 */
void oae_attach_writable(struct oae_tag *tag)
{
	struct oae_users *u;

	/*
	 * The new state before the look at the wait queues. Pairs with the smp_mb()
	 * in file_poll(), with that of prepare_to_wait_exclusive() in
	 * oae_room_wait(), and with that of wait_event in oae_file_fsync().
	 */
	smp_mb();
	u = oae_tag_users(tag);
	if (!u)
		return;
	/* Ordered by the smp_mb() above; pairs with oae_file_fsync(). */
	if (waitqueue_active(&u->confirm_wait))
		wake_up_interruptible(&u->confirm_wait);
	/* Ordered by the smp_mb() above; pairs with oae_room_wait(). */
	if (waitqueue_active(&u->write_wait))
		oae_room_wake(tag, false);
	/* Ordered by the smp_mb() above; pairs with oae_room_wait(). */
	if (waitqueue_active(&u->half_wait))
		oae_room_wake(tag, true);
	/* Ordered by the smp_mb() above; pairs with file_poll(). */
	if (waitqueue_active(&u->poll_wait))
		wake_up_poll(&u->poll_wait, EPOLLOUT | EPOLLWRNORM);
}

/* Events are stamped once for all: each file compares them with its own nevents. */
static void client_tell_event(struct oae_users *u, u32 events)
{
	unsigned int i;

	BUILD_BUG_ON(BIT(OAE_EVENTS - 1) != OAE_EVENT_LOST);
	u->nevents++;
	for (i = 0; i < OAE_EVENTS; i++)
		if (events & BIT(i))
			u->last_event[i] = u->nevents;
	wake_up_poll(&u->poll_wait, EPOLLPRI | EPOLLRDBAND);
}

/**
 * oae_client_events() - events since the file's last OAE_STATUS
 * @c: the file
 * @tag: its tag
 *
 * Context: under tag->lock, BH off.
 *
 * Return: OAE_EVENT_*.
 */
u32 oae_client_events(const struct oae_client *c, const struct oae_tag *tag)
{
	u32 events = c->events;
	unsigned int i;

	for (i = 0; i < OAE_EVENTS; i++)
		if (tag->users->last_event[i] > c->nevents)
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
	case OAE_N_MISMATCH:
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

/* Events of a tag without a file that listeners are told. */
static void client_note_fresh(struct oae_tag *tag, enum oae_note note)
{
	if ((note == OAE_N_OPENED && tag->by_peer && tag->unheard) ||
	    note == OAE_N_PEER_NEW)
		oae_fresh_add(tag);
	/* The peer may have closed with transactions still unread here. */
	if (note == OAE_N_GONE && !oae_inbox_count(tag))
		oae_fresh_del(tag);
}

/* Report a note of the link to files, or to listeners. */
void oae_attach_note(struct oae_tag *tag, enum oae_note note)
{
	u32 events;

	lockdep_assert_held(&tag->lock);
	if (note == OAE_N_OPENED)
		oae_guess_del(tag);
	else if (note == OAE_N_RESOLVED)
		tag->nhealed++;
	else if (note == OAE_N_REPAIRED)
		tag->nrepaired++;
	else if (note == OAE_N_UNCONFIRMED)
		tag->nlost++;
	if (!oae_tag_attached(tag)) {
		client_note_fresh(tag, note);
	} else {
		events = client_note_events(tag, note);
		if (events)
			client_tell_event(tag->users, events);
	}
	if (note == OAE_N_GONE)
		tag->by_peer = false;
}

/* Report a tag's death to its files, and wake all waiters. */
void oae_attach_dead(struct oae_tag *tag)
{
	struct oae_users *u = tag->users;
	struct oae_ring_link *link;

	lockdep_assert_held(&tag->lock);
	oae_fresh_del(tag);
	if (!u)
		return;
	client_tell_event(u, OAE_EVENT_DEAD);
	wake_up_interruptible_all(&u->read_wait);
	wake_up_interruptible_all(&u->write_wait);
	wake_up_interruptible_all(&u->half_wait);
	wake_up_interruptible_all(&u->confirm_wait);
	wake_up_poll(&u->poll_wait, EPOLLIN | EPOLLHUP);
	link = rcu_dereference_protected(u->ring, lockdep_is_held(&tag->lock));
	if (link)
		oae_ring_link_dead(link);
	oae_attach_shut(tag);
}

/*
 * Wake a writer of each file that waits for room which will never come: the tag is dead, or the
 * node is shut. That one passes the wake-up on.
 */
void oae_attach_shut(struct oae_tag *tag)
{
	struct oae_client *c;

	lockdep_assert_held(&tag->lock);
	if (!tag->users)
		return;
	list_for_each_entry(c, &tag->users->files, list)
		oae_room_wake_client(tag, c);
}
