// SPDX-License-Identifier: GPL-2.0
/*
 * Outcomes of a file's transactions: collecting outcomes, and reversing transactions
 * by request or at their deadline.
 *
 * A file's transactions are kept in the order of queueing, in two streams
 * (client.c). Only the first transaction of a stream can be collected.
 */
#include "dev.h"

#include <linux/poll.h>
#include <linux/uaccess.h>

/* Interval of retries, if a transaction cannot be reversed at its deadline. */
#define AGAIN_NS	(100 * NSEC_PER_MSEC)

/**
 * oae_file_leave() - stop waiting for a transaction: it will be collected
 * @tag: its tag
 * @msg: the transaction, to which the file gets a reference
 *
 * Context: process; takes tag->lock.
 *
 * Return: false if it has ended already, and the caller takes the outcome.
 */
bool oae_file_leave(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_txn *txn = &msg->txn;
	bool left;

	oae_tag_lock(tag);
	left = !txn->ended;
	if (left) {
		txn->waited = false;
		oae_msg_get(msg);
		if (txn->due.expires)
			oae_client_time(txn->client, txn);
	}
	oae_tag_unlock(tag);
	return left;
}

/**
 * oae_file_restore() - put back an outcome that could not be copied to the program
 * @tag: its tag
 * @msg: a transaction that has ended and is on no stream; the file takes over a
 *	reference
 *
 * Context: process; takes tag->lock.
 */
void oae_file_restore(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_client *c = msg->txn.client;

	oae_tag_lock(tag);
	msg->txn.waited = false;
	oae_client_restored(c, msg);
	oae_tag_unlock(tag);
	wake_up_poll(&c->wait, EPOLLPRI);
}

/**
 * oae_file_untold() - have an outcome collected that a call could not copy out
 * @tag: the tag of the transaction
 * @msg: the transaction, with the caller's reference: committed or, if @nonblock,
 *	queued
 * @nonblock: the outcome will be collected anyway
 *
 * The program unmapped its result buffer during the call.
 *
 * Context: process; takes tag->lock.
 *
 * Return: what the call returns instead of -EFAULT: -EOVERFLOW or -EINPROGRESS.
 */
int oae_file_untold(struct oae_tag *tag, struct oae_msg *msg, bool nonblock)
{
	if (nonblock)
		return -EINPROGRESS;
	oae_msg_get(msg);
	oae_file_restore(tag, msg);
	return -EOVERFLOW;
}

/* The next outcome to collect: the older of the streams' first, if ended; or NULL. */
static struct oae_msg *next_outcome(struct oae_file *f)
{
	struct oae_txn *txn, *next = NULL;
	unsigned int i;

	for (i = 0; i < OAE_STREAMS; i++) {
		txn = oae_stream_first(&f->client.stream[i]);
		if (txn && txn->ended && (!next || txn->id < next->id))
			next = txn;
	}
	return next ? oae_txn_msg(next) : NULL;
}

static u32 outcome_result_len(const struct oae_msg *msg)
{
	if (msg->outcome != OAE_COMMITTED || !msg->result)
		return 0;
	return msg->post.kind == OAE_VERB ? oae_verb_result_len(msg) :
					    msg->result->len;
}

static int outcome_put_result(const struct oae_msg *msg, void __user *to)
{
	return msg->post.kind == OAE_VERB ? oae_verb_put_result(msg, to) :
					    oae_skb_to_user(msg->result, to);
}

/* Take the next outcome, if its result fits in @room bytes; with the reference. */
static struct oae_msg *take_outcome(struct oae_file *f, struct oae_tag *tag,
				    u32 room, u32 *needed)
{
	struct oae_msg *msg;
	bool full;

	oae_tag_lock(tag);
	full = !oae_client_room(&f->client);
	msg = next_outcome(f);
	*needed = msg ? outcome_result_len(msg) : 0;
	if (*needed > room)
		msg = NULL;
	if (msg)
		oae_client_collected(&f->client, msg);
	oae_tag_unlock(tag);
	if (msg && full)
		oae_room_client(tag, &f->client);
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
	return len ? outcome_put_result(msg, u64_to_user_ptr(c->buf + off)) : 0;
}

static int outcome_collect(struct oae_file *f, struct oae_tag *tag,
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
 * Sleeps only in page faults on the program's memory.
 *
 * Context: process, may sleep.
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
	/* Check that @arg is writable before taking outcomes. */
	if (copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	err = outcome_collect(f, tag, &c);
	if (err != -EFAULT && copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	return err;
}

/*
 * Reverse transactions, and drop the references: first those not yet posted to the
 * link, in one event, then the few that the link has. Returns the number of those
 * that cannot be reversed.
 */
static unsigned int outcome_cancel_some(struct oae_tag *tag, struct oae_msg **msg,
					unsigned int n, int err)
{
	unsigned int i, kept = 0;

	if (!n)
		return 0;
	oae_tag_cancel_queued(tag, msg, n, err);
	for (i = 0; i < n; i++) {
		if (!READ_ONCE(msg[i]->txn.ended) &&
		    oae_tag_cancel(tag, msg[i], err) == -EINPROGRESS)
			kept++;
		oae_msg_put(msg[i]);
	}
	return kept;
}

/*
 * Find pending transactions of a stream, the newest first, with a reference each.
 * Looks at up to OAE_BATCH with numbers below *@below and lowers that; to 0 once
 * there are no more.
 */
static unsigned int outcome_find_pending(struct oae_tag *tag, struct oae_stream *s,
					 u64 *below, struct oae_msg *msg[OAE_BATCH])
{
	unsigned int seen, n = 0;
	struct oae_txn *txn;
	u64 first;

	oae_tag_lock(tag);
	txn = list_first_entry_or_null(&s->pending, struct oae_txn, list);
	first = txn ? txn->id : U64_MAX;
	txn = oae_stream_below(s, *below);
	*below = 0;
	for (seen = 0; txn && txn->id >= first; seen++) {
		if (seen == OAE_BATCH) {
			*below = txn->id + 1;
			break;
		}
		if (!txn->ended) {
			msg[n] = oae_txn_msg(txn);
			oae_msg_get(msg[n++]);
		}
		txn = rb_entry_safe(rb_prev(&txn->node), struct oae_txn, node);
	}
	oae_tag_unlock(tag);
	return n;
}

/* From the newest to the oldest: those sent meanwhile are the oldest, in order. */
static unsigned int outcome_cancel_stream(struct oae_tag *tag, struct oae_stream *s,
					  int err)
{
	struct oae_msg *msg[OAE_BATCH];
	unsigned int n, kept = 0;
	u64 below = U64_MAX;

	while (below) {
		n = outcome_find_pending(tag, s, &below, msg);
		kept += outcome_cancel_some(tag, msg, n, err);
		cond_resched();
	}
	return kept;
}

/**
 * oae_file_cancel_all() - reverse as many of a file's transactions as possible
 * @f: the file
 * @tag: its tag
 * @err: error of their outcomes, positive errno
 * @swaps_only: reverse only swaps
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: 0; -EINPROGRESS some cannot be reversed.
 */
int oae_file_cancel_all(struct oae_file *f, struct oae_tag *tag, int err,
			bool swaps_only)
{
	unsigned int i, kept = 0;

	for (i = swaps_only; i < OAE_STREAMS; i++)
		kept += outcome_cancel_stream(tag, &f->client.stream[i], err);
	return kept ? -EINPROGRESS : 0;
}

/* The pending transaction with this number, with a reference, or NULL. */
static struct oae_msg *outcome_find(struct oae_file *f, struct oae_tag *tag, u64 id)
{
	struct oae_msg *msg = NULL;
	struct oae_txn *txn;
	unsigned int i;

	oae_tag_lock(tag);
	for (i = 0; i < OAE_STREAMS && !msg; i++) {
		txn = oae_stream_below(&f->client.stream[i], id + 1);
		if (txn && txn->id == id && !txn->ended) {
			msg = oae_txn_msg(txn);
			oae_msg_get(msg);
		}
	}
	oae_tag_unlock(tag);
	return msg;
}

static int outcome_cancel_one(struct oae_file *f, struct oae_tag *tag, u64 id)
{
	struct oae_msg *msg = outcome_find(f, tag, id);
	int err;

	if (!msg)
		return -ENOENT;
	err = oae_tag_cancel(tag, msg, OAE_E_CANCEL);
	oae_msg_put(msg);
	return err;
}

/**
 * oae_file_cancel() - OAE_CANCEL
 * @f: the file
 * @arg: the number of a transaction, or 0 for all
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOENT there is no such transaction, or it has ended; -EINPROGRESS it
 * cannot be reversed; -EFAULT, -ENOTCONN, -EDESTADDRREQ.
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
	return outcome_cancel_one(f, tag, id);
}

/**
 * oae_file_timer() - reverse transactions whose deadline has passed
 * @timer: oae_client.timer of the file
 *
 * Handles up to OAE_BATCH transactions that no call waits for. If more are due the
 * timer fires again at once.
 *
 * Context: softirq; takes tag->lock.
 *
 * Return: HRTIMER_NORESTART; oae_client_due() arms the timer anew if needed.
 */
enum hrtimer_restart oae_file_timer(struct hrtimer *timer)
{
	struct oae_file *f = container_of(timer, struct oae_file, client.timer);
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_msg *msg[OAE_BATCH];
	u64 now = ktime_get_ns();
	unsigned int n;

	oae_tag_lock(tag);
	n = oae_client_due(&f->client, now, now + AGAIN_NS, msg,
			   ARRAY_SIZE(msg));
	oae_tag_unlock(tag);
	outcome_cancel_some(tag, msg, n, OAE_E_DEADLINE);
	return HRTIMER_NORESTART;
}
