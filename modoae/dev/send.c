// SPDX-License-Identifier: GPL-2.0
/*
 * Sending, for all calls: copy a program's data to a message, queue the message on
 * a tag, and wait for the outcome.
 *
 * The exchange of frames often ends in softirq before the sender gets to sleep;
 * then the sender does not sleep. No lock is held while a task sleeps here.
 */
#include "dev.h"

#include <linux/string.h>
#include <linux/uio.h>

/**
 * oae_send_msg() - make a message
 * @pool: the sender's pool
 * @from: the payload, one byte or more
 *
 * Context: process, may sleep.
 *
 * Return: the message with one reference; -ENOMEM; -EFAULT, and @from has advanced.
 */
struct oae_msg *oae_send_msg(struct oae_pool *pool, struct iov_iter *from)
{
	const struct bio_vec *p;
	struct oae_msg *msg;
	unsigned int i;

	msg = oae_msg_alloc(pool, iov_iter_count(from), OAE_GFP_USER);
	if (!msg)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < msg->npieces; i++) {
		p = &msg->piece[i];
		if (copy_from_iter(page_address(p->bv_page) + p->bv_offset,
				   p->bv_len, from) != p->bv_len) {
			oae_msg_put(msg);
			return ERR_PTR(-EFAULT);
		}
	}
	return msg;
}

/**
 * oae_send_bytes() - make a message of what is in the kernel already
 * @pool: the sender's pool
 * @from: the payload
 * @len: its length, bytes; 1 or more
 *
 * Context: process, may sleep.
 *
 * Return: the message with one reference; NULL if there is no memory.
 */
struct oae_msg *oae_send_bytes(struct oae_pool *pool, const u8 *from, size_t len)
{
	const struct bio_vec *p;
	struct oae_msg *msg;
	unsigned int i;

	msg = oae_msg_alloc(pool, len, OAE_GFP_USER);
	if (!msg)
		return NULL;
	for (i = 0; i < msg->npieces; i++) {
		p = &msg->piece[i];
		memcpy(page_address(p->bv_page) + p->bv_offset, from, p->bv_len);
		from += p->bv_len;
	}
	return msg;
}

/**
 * oae_send_within() - set the deadline of a message
 * @msg: the message
 * @ms: time until the deadline, ms; 0 none
 *
 * Context: any.
 *
 * Return: time until the deadline, jiffies, for oae_send_transact().
 */
long oae_send_within(struct oae_msg *msg, u32 ms)
{
	if (!ms)
		return MAX_SCHEDULE_TIMEOUT;
	msg->txn.due.expires = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
	return min_t(unsigned long, msecs_to_jiffies(ms), MAX_JIFFY_OFFSET);
}

/* Wait for the outcome. A signal or the deadline reverses @msg, if possible. */
static int oae_send_wait(struct oae_tag *tag, struct oae_msg *msg, long left)
{
	int why;

	left = wait_for_completion_interruptible_timeout(&msg->done, left);
	if (left <= 0) {
		why = left ? OAE_E_SIGNAL : OAE_E_DEADLINE;
		if (oae_tag_cancel(tag, msg, why) == -EINPROGRESS &&
		    (!msg->txn.client || oae_file_leave(tag, msg)))
			return -EINPROGRESS;
		/* @msg has ended, or another CPU is about to complete it. */
		wait_for_completion(&msg->done);
	}
	return msg->outcome == OAE_COMMITTED ? 0 : -msg->err;
}

/**
 * oae_send_transact() - queue a transaction, and wait for its outcome
 * @tag: its tag
 * @msg: the transaction, filled in; the caller keeps its reference
 * @nonblock: wait neither for room nor for the outcome. A file's outcome is
 *	collected later; that of noc_debug is not reported.
 * @left: time limit, jiffies; set to the time left
 * @spin_us: for so long it looks for the outcome before it sleeps, us
 *
 * What a signal has reversed begins again where the handler says so, or there is none:
 * not with a deadline, which the call would have anew.
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINPROGRESS the outcome is not known yet, and is treated as with
 * @nonblock; -EAGAIN no room; -ESTALE the tag is dead, and nothing was queued;
 * -ERESTARTSYS it was reversed by a signal; else an errno of the table in uapi/oae.h.
 */
int oae_send_transact(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		      long *left, u32 spin_us)
{
	bool restart = *left == MAX_SCHEDULE_TIMEOUT;
	int err;

	msg->txn.waited = !nonblock;
	err = oae_room_send(tag, msg, nonblock, left);
	if (!err && !nonblock && unlikely(spin_us))
		oae_spin(spin_us, completion_done(&msg->done));
	if (!err && !nonblock)
		err = oae_send_wait(tag, msg, *left);
	return err == -OAE_E_SIGNAL && restart ? -ERESTARTSYS : err;
}

/**
 * oae_file_transact() - send a transaction of a file
 * @f: the file
 * @tag: its tag
 * @msg: the transaction, filled in; the caller keeps its reference
 * @nonblock: as for oae_send_transact()
 *
 * Context: process, may sleep.
 *
 * Return: like oae_send_transact(), but -ENODEV instead of -ESTALE. If msg->txn.id
 * is 0, nothing was queued.
 */
int oae_file_transact(struct oae_file *f, struct oae_tag *tag,
		      struct oae_msg *msg, bool nonblock)
{
	long left = oae_send_within(msg, READ_ONCE(f->opt.deadline_ms));
	int err;

	msg->txn.client = &f->client;
	err = oae_send_transact(tag, msg, nonblock, &left, READ_ONCE(f->opt.spin_us));
	return err == -ESTALE ? -ENODEV : err;
}
