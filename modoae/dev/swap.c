// SPDX-License-Identifier: GPL-2.0
/*
 * OAE_SWAP_HALF: give a half and take the peer's. The rules of swaps are in
 * link/half.c.
 */
#include "dev.h"

#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

/**
 * oae_skb_to_user() - copy the data of an skb to a program
 * @skb: the skb
 * @to: destination
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -EFAULT.
 */
int oae_skb_to_user(struct sk_buff *skb, void __user *to)
{
	struct iov_iter iter;
	struct iovec iov;

	oae_user_iter(&iter, READ, &iov, to, skb->len);
	return skb_copy_datagram_iter(skb, 0, &iter, skb->len) ? -EFAULT : 0;
}

/*
 * Check that a buffer is writable, without changing it: a program may want its own
 * half replaced in place.
 */
static int swap_probe(u8 __user *to, u32 len)
{
	u32 at, n;
	u8 c;

	for (at = 0; at < len; at += n) {
		n = PAGE_SIZE - offset_in_page(to + at);
		if (get_user(c, to + at) || put_user(c, to + at))
			return -EFAULT;
	}
	return len && (get_user(c, to + len - 1) ||
		       put_user(c, to + len - 1)) ? -EFAULT : 0;
}

static struct oae_msg *swap_half(struct oae_file *f, const struct oae_swap *s)
{
	struct oae_msg *msg;
	struct iov_iter from;
	struct iovec iov;

	oae_user_iter(&from, WRITE, &iov, u64_to_user_ptr(s->give),
		      s->give_len);
	msg = oae_send_msg(&f->pool, &from);
	if (IS_ERR(msg))
		return msg;
	msg->post.kind = OAE_SWAP;
	msg->txn.room = s->take_len;
	return msg;
}

static int swap_check(const struct oae_tag *tag, const struct oae_swap *s)
{
	if (s->flags & ~OAE_NONBLOCK || s->zero || !s->give_len ||
	    (s->take_len && !s->take))
		return -EINVAL;
	if (s->give_len > oae_link_port_max(&tag->link) - OAE_REFLECT_LEN)
		return -EMSGSIZE;
	return 0;
}

/* Copy the peer's half to the program. -EOVERFLOW: no room, it is collected. */
static int swap_put_half(struct oae_msg *msg, struct oae_swap *s)
{
	s->take_len = msg->result ? msg->result->len : 0;
	if (!msg->txn.waited)
		return -EOVERFLOW;
	return s->take_len ? oae_skb_to_user(msg->result,
					     u64_to_user_ptr(s->take)) : 0;
}

/**
 * oae_file_swap() - OAE_SWAP_HALF
 * @f: the file
 * @arg: see uapi/oae.h
 * @nonblock: O_NONBLOCK is set
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EOVERFLOW swapped, and the peer's half is to be collected; else an
 * errno of the table in uapi/oae.h.
 */
int oae_file_swap(struct oae_file *f, struct oae_swap __user *arg,
		  bool nonblock)
{
	struct oae_tag *tag = oae_file_tag(f);
	struct oae_msg *msg;
	struct oae_swap s;
	int err;

	if (IS_ERR(tag))
		return PTR_ERR(tag);
	if (copy_from_user(&s, arg, sizeof(s)))
		return -EFAULT;
	err = swap_check(tag, &s);
	if (err)
		return err;
	nonblock |= s.flags & OAE_NONBLOCK;
	/* Check that the results are writable before the swap begins. */
	if (copy_to_user(arg, &s, sizeof(s)) ||
	    (!nonblock && swap_probe(u64_to_user_ptr(s.take),
				     min_t(u32, s.take_len, U16_MAX))))
		return -EFAULT;
	msg = swap_half(f, &s);
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	err = oae_file_transact(f, tag, msg, nonblock);
	if (!err && !nonblock)
		err = swap_put_half(msg, &s);
	s.id = msg->txn.id;
	if (s.id && copy_to_user(arg, &s, sizeof(s)) && !err)
		err = -EFAULT;
	if (s.id && err == -EFAULT)
		err = oae_file_untold(tag, msg, nonblock);
	oae_msg_put(msg);
	return err;
}
