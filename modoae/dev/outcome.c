// SPDX-License-Identifier: GPL-2.0
/*
 * Outcomes of what a file of /dev/oae has queued: collecting them, and having
 * them reversed, by request or by deadline.
 *
 * A file's transactions stand in the order in which they were queued, in two
 * streams (client.c); what is collected is always the first of one.
 */
#include "dev.h"

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

	oae_tag_lock(tag);
	left = !txn->ended;
	if (left) {
		txn->waited = false;
		oae_msg_get(msg);
		if (txn->deadline)
			oae_client_time(txn->client, txn);
	}
	oae_tag_unlock(tag);
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
	struct oae_client *c = msg->txn.client;

	oae_tag_lock(tag);
	msg->txn.waited = false;
	oae_client_restored(c, msg);
	oae_tag_unlock(tag);
	wake_up_poll(&c->wait, EPOLLPRI);
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

/* The next outcome, its result in no more than @room bytes; it is the caller's. */
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
	err = outcome_collect(f, tag, &c);
	if (err != -EFAULT && copy_to_user(arg, &c, sizeof(c)))
		return -EFAULT;
	return err;
}

/*
 * Reverse some, and give the references back: first what the link has not got
 * yet, in one go, then the few that it has. The number of those that cannot be.
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
 * Those of a stream that have not ended, the newest first, with a reference
 * each. Looks at a few with numbers below *@below, and lowers that; to 0 once
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

/* From the newest to the oldest: so those that go nevertheless are the oldest. */
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
	unsigned int i, kept = 0;

	for (i = swaps_only; i < OAE_STREAMS; i++)
		kept += outcome_cancel_stream(tag, &f->client.stream[i], err);
	return kept ? -EINPROGRESS : 0;
}

/* One that has not ended, with a reference, or NULL. */
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
	return outcome_cancel_one(f, tag, id);
}

/**
 * oae_file_timer() - a deadline of what no call waits for has passed
 * @timer: of the file
 *
 * Deals with a few: if more are due, it fires again at once, after others have
 * had their turn. Context: softirq, no lock held.
 *
 * Return: HRTIMER_NORESTART: it is armed anew if there are others.
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
