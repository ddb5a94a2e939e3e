// SPDX-License-Identifier: GPL-2.0
/* Writing, reading and fsync of /dev/oae. */
#include "dev.h"

#include <linux/uaccess.h>
#include <linux/uio.h>

/**
 * oae_file_write_iter() - write one transaction
 * @iocb: the call
 * @from: the payload
 *
 * Context: process, may sleep.
 *
 * Return: bytes, committed or, with O_NONBLOCK, queued; else an errno of the
 * table in uapi/oae.h.
 */
ssize_t oae_file_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct oae_file *f = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_filp->f_flags & O_NONBLOCK;
	struct oae_tag *tag = oae_file_tag(f);
	size_t len = iov_iter_count(from);
	struct oae_msg *msg;
	int err;

	if (unlikely(oae_ring_busy(f)))
		return -EBUSY;
	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (!len)
		return -EINVAL;
	if (len > READ_ONCE(tag->node->knobs.max_len))
		return -EMSGSIZE;
	/* Waiting for the outcome may sleep, which IOCB_NOWAIT forbids. */
	if (!nonblock && iocb->ki_flags & IOCB_NOWAIT)
		return -EAGAIN;
	if (nonblock && !oae_room(tag, &f->client, false))
		return -EAGAIN;
	msg = oae_send_msg(&f->pool, from);
	if (IS_ERR(msg)) {
		err = PTR_ERR(msg);
	} else {
		if (READ_ONCE(f->opt.flags) & OAE_OPT_EXPRESS)
			msg->post.flags |= OAE_POST_EXPRESS;
		err = oae_file_transact(f, tag, msg, nonblock);
		oae_msg_put(msg);
	}
	if (!err)
		return len;
	iov_iter_revert(from, len - iov_iter_count(from));
	return err;
}

/**
 * oae_read_copy() - copy a transaction, or part of it, to a reader
 * @skb: the slices, linked by ->next
 * @off: offset of the first byte to copy
 * @to: destination; as much is copied as fits
 *
 * Context: process, may sleep.
 *
 * Return: bytes copied; fewer than fit and remain if @to faults.
 */
size_t oae_read_copy(const struct sk_buff *skb, size_t off, struct iov_iter *to)
{
	size_t n, done = 0;

	for (; skb && iov_iter_count(to); skb = skb->next) {
		if (off >= skb->len) {
			off -= skb->len;
			continue;
		}
		n = min(skb->len - off, iov_iter_count(to));
		if (skb_copy_datagram_iter(skb, off, to, n))
			break;
		done += n;
		off = 0;
	}
	return done;
}

/**
 * oae_read_free() - free a transaction that was read
 * @skb: the slices, linked by ->next
 *
 * Context: process.
 */
void oae_read_free(struct sk_buff *skb)
{
	struct sk_buff *next;

	local_bh_disable();
	for (; skb; skb = next) {
		next = skb->next;
		skb_mark_not_on_list(skb);
		oae_xmit_spare(skb);
	}
	local_bh_enable();
}

/* Take the next transaction, and wait for it unless @nonblock. NULL: end of file. */
static int io_read_next(struct oae_file *f, struct oae_tag *tag, size_t max,
			bool keep, bool nonblock, struct sk_buff **skb)
{
	int err;

	for (;;) {
		err = oae_inbox_take(tag, &f->client, max, keep ? OAE_TAKE_KEEP : 0, skb);
		if (err != -EAGAIN || nonblock)
			return err;
		if (unlikely(READ_ONCE(f->opt.spin_us)))
			oae_spin(READ_ONCE(f->opt.spin_us),
				 oae_inbox_count(tag) || READ_ONCE(tag->dead));
		/* Exclusive: each delivery wakes one reader. */
		if (wait_event_interruptible_exclusive(tag->users->read_wait,
						       oae_inbox_count(tag) ||
						       READ_ONCE(tag->dead)))
			return -ERESTARTSYS;
	}
}

/* A file needs no longer what it has kept: @skb, or NULL. */
static void io_done(struct oae_tag *tag, struct sk_buff *skb)
{
	if (!skb)
		return;
	oae_inbox_done(tag, skb);
	oae_count(tag->node, OAE_S_READ);
	oae_read_free(skb);
}

/* A woken reader passes the wake-up on if data remains. */
static void io_wake_next(struct oae_tag *tag)
{
	if (wq_has_sleeper(&tag->users->read_wait))
		wake_up_interruptible(&tag->users->read_wait);
}

static ssize_t io_read_tag(struct oae_file *f, struct oae_tag *tag,
			   struct iov_iter *to, bool nonblock)
{
	bool keep = READ_ONCE(f->opt.flags) & OAE_OPT_TAKE;
	size_t max = iov_iter_count(to);
	struct sk_buff *skb;
	size_t done;
	int err;

	/* What the last read gave is dealt with. */
	if (READ_ONCE(f->taken))
		io_done(tag, xchg(&f->taken, NULL));
	err = io_read_next(f, tag, max, keep, nonblock, &skb);
	if (err) {
		/* It may have been woken for what it does not take. */
		if (err != -EAGAIN && oae_inbox_count(tag))
			io_wake_next(tag);
		return err;
	}
	if (!skb)
		return 0;
	/* One frame may deliver two transactions, but wakes only one reader. */
	if (oae_inbox_count(tag))
		io_wake_next(tag);
	done = oae_read_copy(skb, 0, to);
	if (done < OAE_RCV_CB(skb)->len) {
		iov_iter_revert(to, max - iov_iter_count(to));
		oae_inbox_give_back(tag, skb);
		return -EFAULT;
	}
	if (keep) {
		/* Another thread may have read meanwhile. */
		io_done(tag, xchg(&f->taken, skb));
		return done;
	}
	oae_count(tag->node, OAE_S_READ);
	oae_read_free(skb);
	return done;
}

/**
 * oae_file_done() - OAE_DONE: what the last read gave is dealt with
 * @f: the file
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOENT the file keeps nothing; -ENOTCONN, -EDESTADDRREQ.
 */
int oae_file_done(struct oae_file *f)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct sk_buff *skb;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	skb = xchg(&f->taken, NULL);
	io_done(tag, skb);
	return skb ? 0 : -ENOENT;
}

/**
 * oae_file_read_iter() - read one transaction, or new peers of a listener
 * @iocb: the call
 * @to: destination
 *
 * Context: process, may sleep.
 *
 * Return: bytes; 0 the port is gone and all is read; -EMSGSIZE the transaction does
 * not fit, and stays unread; -EBUSY the file has rings; -EAGAIN, -ERESTARTSYS, -EFAULT,
 * -ENOTCONN, -ENOMEM.
 */
ssize_t oae_file_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct oae_file *f = iocb->ki_filp->private_data;
	bool nonblock = iocb->ki_filp->f_flags & O_NONBLOCK ||
			iocb->ki_flags & IOCB_NOWAIT;
	struct oae_tag *tag = oae_file_tag(f);

	if (unlikely(oae_ring_busy(f)))
		return -EBUSY;
	if (!IS_ERR(tag))
		return io_read_tag(f, tag, to, nonblock);
	if (PTR_ERR(tag) == -EDESTADDRREQ)
		return oae_listen_read(f, to, nonblock);
	return PTR_ERR(tag);
}

/**
 * oae_file_fionread() - FIONREAD: size of the buffer that a read needs
 * @f: the file
 * @arg: destination, bytes
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EFAULT, -ENOTCONN.
 */
int oae_file_fionread(struct oae_file *f, int __user *arg)
{
	struct oae_tag *tag = oae_file_tag(f);
	int n;

	if (PTR_ERR(tag) == -ENOTCONN)
		return -ENOTCONN;
	if (IS_ERR(tag))
		n = oae_listen_count(f) * sizeof(struct oae_peer);
	else
		n = oae_inbox_len(tag);
	return put_user(n, arg);
}

/* Is all that was committed up to @m delivered, or lost and counted in nlost? */
static bool io_synced(struct oae_tag *tag, const struct oae_link_mark *m)
{
	bool done;

	oae_tag_lock(tag);
	done = oae_link_confirmed(&tag->link, m);
	oae_tag_unlock(tag);
	return done;
}

/* Was anything lost since the file's last fsync? */
static int io_sync_result(struct oae_file *f, struct oae_tag *tag)
{
	bool lost;

	oae_tag_lock(tag);
	lost = f->client.nlost != tag->nlost;
	f->client.nlost = tag->nlost;
	oae_tag_unlock(tag);
	return lost ? -EPIPE : 0;
}

/**
 * oae_file_fsync() - wait until all that the link has committed is delivered
 * @file: the file
 * @start: ignored
 * @end: ignored
 * @datasync: ignored
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EPIPE the delivery of some of it will never be known; -ERESTARTSYS,
 * -ENOTCONN, -EDESTADDRREQ.
 */
int oae_file_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct oae_file *f = file->private_data;
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_link_mark m;
	int err = 0;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	oae_tag_lock(tag);
	oae_link_mark(&tag->link, &m);
	oae_tag_unlock(tag);
	if (!io_synced(tag, &m)) {
		oae_tag_confirming(tag, 1);
		err = wait_event_interruptible(tag->users->confirm_wait,
					       io_synced(tag, &m));
		oae_tag_confirming(tag, -1);
	}
	return err ?: io_sync_result(f, tag);
}
