// SPDX-License-Identifier: GPL-2.0
/*
 * Outcomes of what a file of /dev/oae has queued: collecting them, and having
 * them reversed, by request or by deadline.
 *
 * A file's transactions stand in the order in which they were queued, in two
 * streams (attach.c); what is collected is always the first of one.
 */
#include "chardev.h"

#include <linux/poll.h>
#include <linux/uaccess.h>

/* What could not be reversed when its deadline passed is tried again. */
#define AGAIN_NS	(100 * NSEC_PER_MSEC)

/**
 * oae_file_leave() - nobody waits for a transaction any more: it is collected
 * @tag: its tag
 * @msg: the transaction, which the file gets a reference to
 *
 * Context: process, no lock held.
 *
 * Return: false if it has ended already, and is the caller's.
 */
bool oae_file_leave(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_txn *txn = &msg->txn;
	bool left;

	spin_lock_bh(&tag->lock);
	left = !txn->ended;
	if (left) {
		txn->waited = false;
		oae_msg_get(msg);
		if (txn->deadline)
			oae_file_arm(txn->file, txn->deadline);
	}
	spin_unlock_bh(&tag->lock);
	return left;
}

/**
 * oae_file_restore() - an outcome that could not be told is to be collected
 * @tag: its tag
 * @msg: a transaction that has ended and is on no stream; with a reference for
 *	the file
 *
 * Context: process, no lock held.
 */
void oae_file_restore(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_file *f = msg->txn.file;
	struct list_head *stream = oae_file_stream(f, msg), *at;

	spin_lock_bh(&tag->lock);
	msg->txn.waited = false;
	list_for_each(at, stream)
		if (list_entry(at, struct oae_txn, list)->id > msg->txn.id)
			break;
	list_add_tail(&msg->txn.list, at);
	oae_add(&f->nqueued, 1);
	oae_add(&f->nbytes, msg->post.len);
	spin_unlock_bh(&tag->lock);
	wake_up_poll(&f->wait, EPOLLPRI);
}

/**
 * oae_file_untold() - the memory went away to which a call was to tell the end
 * @tag: the tag of the transaction
 * @msg: the transaction, with the caller's reference: committed or, if @nonblock,
 *	queued
 * @nonblock: it is collected in any case
 *
 * Context: process, no lock held.
 *
 * Return: what the call says instead of EFAULT: -EOVERFLOW or -EINPROGRESS.
 */
int oae_file_untold(struct oae_tag *tag, struct oae_msg *msg, bool nonblock)
{
	if (nonblock)
		return -EINPROGRESS;
	oae_msg_get(msg);
	oae_file_restore(tag, msg);
	return -EOVERFLOW;
}

/* The outcome to collect next: the elder of the streams' first, if it is there. */
static struct oae_msg *next_outcome(struct oae_file *f)
{
	struct oae_txn *txn, *next = NULL;
	unsigned int i;

	for (i = 0; i < OAE_STREAMS; i++) {
		txn = list_first_entry_or_null(&f->stream[i], struct oae_txn,
					       list);
		if (txn && oae_txn_ready(txn) && (!next || txn->id < next->id))
			next = txn;
	}
	return next ? oae_txn_msg(next) : NULL;
}

static u32 result_len(const struct oae_msg *msg)
{
	if (msg->outcome != OAE_COMMITTED || !msg->result)
		return 0;
	return msg->post.kind == OAE_VERB ? oae_verb_result_len(msg) :
					    msg->result->len;
}

static int put_result(const struct oae_msg *msg, void __user *to)
{
	return msg->post.kind == OAE_VERB ? oae_verb_put_result(msg, to) :
					    oae_skb_to_user(msg->result, to);
}

/* The next outcome, its result in no more than @room bytes; it is the caller's. */
static struct oae_msg *take_outcome(struct oae_file *f, struct oae_tag *tag,
				    u32 room, u32 *needed)
{
	struct oae_msg *msg;
	bool full;

	spin_lock_bh(&tag->lock);
	full = !oae_file_room(f);
	msg = next_outcome(f);
	*needed = msg ? result_len(msg) : 0;
	if (*needed > room)
		msg = NULL;
	if (msg)
		oae_file_unlink(f, msg);
	spin_unlock_bh(&tag->lock);
	if (msg && full)
		oae_attach_writable(tag);
	return msg;
}

static int put_outcome(const struct oae_msg *msg, struct oae_collect *c,
		       u32 off, u32 len)
{
	struct oae_outcome_rec __user *recs = u64_to_user_ptr(c->recs);
	struct oae_outcome_rec r = {
		.id = msg->txn.id,
		.result = msg->outcome,
		.kind = msg->post.kind,
		.err = msg->err,
		.off = len ? off : 0,
		.len = len,
	};

	if (copy_to_user(&recs[c->got], &r, sizeof(r)))
		return -EFAULT;
	return len ? put_result(msg, u64_to_user_ptr(c->buf + off)) : 0;
}

static int collect(struct oae_file *f, struct oae_tag *tag,
		   struct oae_collect *c)
{
	struct oae_msg *msg;
	u32 off, len;

	while (c->got < c->max) {
		off = ALIGN(c->buf_used, sizeof(u64));
		msg = take_outcome(f, tag,
				   off < c->buf_len ? c->buf_len - off : 0,
				   &len);
		if (!msg && len && !c->got) {
			c->buf_used = len;
			return -EOVERFLOW;
		}
		if (!msg)
			break;
		if (put_outcome(msg, c, off, len)) {
			oae_file_restore(tag, msg);
			return c->got ? 0 : -EFAULT;
		}
		oae_msg_put(msg);
		c->got++;
		if (len)
			c->buf_used = off + len;
	}
	return 0;
}

/**
 * oae_file_collect() - OAE_COLLECT
 * @f: the file
 * @arg: see uapi/oae.h
 *
 * Context: process, may sleep on the caller's memory only.
 *
 * Return: 0; -EOVERFLOW no room for the first result; -EFAULT, -ENOTCONN,
 * -EDESTADDRREQ.
 */
int oae_file_collect(struct oae_file *f, struct oae_collect __user *arg)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_collect c;
	int err;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (copy_from_user(&c, arg, sizeof(c)))
		return -EFAULT;
	c.got = 0;
	c.buf_used = 0;
	/* What is taken must be told. */
	if (copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	err = collect(f, tag, &c);
	if (err != -EFAULT && copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	return err;
}

/* Which of a file's transactions that have not ended are meant. */
struct wanted {
	u64 after;	/* numbers above this one */
	u64 due;	/* with a deadline not after this; 0 any */
	bool swaps_only;
};

static bool is_wanted(const struct oae_txn *txn, const struct wanted *w)
{
	if (txn->ended || txn->id <= w->after)
		return false;
	return !w->due || (txn->deadline && txn->deadline <= w->due &&
			   !txn->waited);
}

/* The first of a stream, with a reference, or NULL. */
static struct oae_msg *find_wanted(struct oae_tag *tag,
				   const struct list_head *stream,
				   const struct wanted *w)
{
	struct oae_msg *msg = NULL;
	struct oae_txn *txn;

	spin_lock_bh(&tag->lock);
	list_for_each_entry(txn, stream, list) {
		if (!is_wanted(txn, w))
			continue;
		msg = oae_txn_msg(txn);
		oae_msg_get(msg);
		break;
	}
	spin_unlock_bh(&tag->lock);
	return msg;
}

/*
 * Reverse all that are wanted: first what the link has not got yet, in one go;
 * then the few that it has. The number of those that cannot be.
 */
static unsigned int cancel_wanted(struct oae_file *f, struct oae_tag *tag,
				  struct wanted *w, int err)
{
	unsigned int i, kept = 0;
	struct oae_msg *msg;

	oae_tag_cancel_queued(tag, f, w->due, w->swaps_only, err);
	for (i = w->swaps_only; i < OAE_STREAMS; i++) {
		w->after = 0;
		while ((msg = find_wanted(tag, &f->stream[i], w))) {
			if (oae_tag_cancel(tag, msg, err) == -EINPROGRESS)
				kept++;
			w->after = msg->txn.id;
			oae_msg_put(msg);
		}
	}
	return kept;
}

/**
 * oae_file_cancel_all() - reverse all of a file's transactions that can be
 * @f: the file
 * @tag: its tag
 * @err: what is said of them, positive errno
 * @swaps_only: no others
 *
 * Context: process, no lock held.
 *
 * Return: 0; -EINPROGRESS some cannot.
 */
int oae_file_cancel_all(struct oae_file *f, struct oae_tag *tag, int err,
			bool swaps_only)
{
	struct wanted w = { .swaps_only = swaps_only };

	return cancel_wanted(f, tag, &w, err) ? -EINPROGRESS : 0;
}

static int cancel_one(struct oae_file *f, struct oae_tag *tag, u64 id)
{
	struct wanted w = { .after = id - 1 };
	struct oae_msg *msg;
	unsigned int i;
	int err;

	for (i = 0; i < OAE_STREAMS; i++) {
		msg = find_wanted(tag, &f->stream[i], &w);
		err = -ENOENT;
		if (msg && msg->txn.id == id)
			err = oae_tag_cancel(tag, msg, OAE_E_CANCEL);
		if (msg)
			oae_msg_put(msg);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

/**
 * oae_file_cancel() - OAE_CANCEL
 * @f: the file
 * @arg: the number of a transaction, or 0
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOENT no such, or it has ended; -EINPROGRESS it cannot be
 * reversed; -EFAULT, -ENOTCONN, -EDESTADDRREQ.
 */
int oae_file_cancel(struct oae_file *f, const u64 __user *arg)
{
	struct oae_tag *tag = oae_file_tag(f);
	u64 id;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (copy_from_user(&id, arg, sizeof(id)))
		return -EFAULT;
	if (!id)
		return oae_file_cancel_all(f, tag, OAE_E_CANCEL, false);
	return cancel_one(f, tag, id);
}

/* Arm for the next deadline; what could not be reversed has another one. */
static void rearm(struct oae_file *f, struct oae_tag *tag, u64 now)
{
	struct oae_txn *txn;
	unsigned int i;
	u64 at = 0;

	spin_lock_bh(&tag->lock);
	for (i = 0; i < OAE_STREAMS; i++)
		list_for_each_entry(txn, &f->stream[i], list) {
			if (txn->ended || txn->waited || !txn->deadline)
				continue;
			if (txn->deadline <= now)
				txn->deadline = now + AGAIN_NS;
			if (!at || txn->deadline < at)
				at = txn->deadline;
		}
	if (at)
		oae_file_arm(f, at);
	spin_unlock_bh(&tag->lock);
}

/**
 * oae_file_timer() - a deadline of what no call waits for has passed
 * @timer: of the file
 *
 * Context: softirq, no lock held.
 *
 * Return: HRTIMER_NORESTART: it is armed anew if there are others.
 */
enum hrtimer_restart oae_file_timer(struct hrtimer *timer)
{
	struct oae_file *f = container_of(timer, struct oae_file, timer);
	struct oae_tag *tag = oae_file_tag(f);
	struct wanted w = { .due = ktime_get_ns() };

	spin_lock_bh(&tag->lock);
	f->timer_at = 0;
	spin_unlock_bh(&tag->lock);
	cancel_wanted(f, tag, &w, OAE_E_DEADLINE);
	rearm(f, tag, w.due);
	return HRTIMER_NORESTART;
}
