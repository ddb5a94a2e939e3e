// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/modoae/noc_debug: a link that echo and cat can drive.
 *
 * An open file belongs to the opener's namespace and to the target and vci of
 * that moment. A write is one transaction and returns when its outcome is
 * known; a read gives what has arrived, a transaction at a time, and then
 * end-of-file.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dev.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

static struct dentry *dir;

struct noc_file {
	struct net *net;		/* a reference: it outlives the file */
	struct oae_addr target;
	u8 vc;
	struct oae_pool pool;		/* of short messages */
};

static int noc_open(struct inode *inode, struct file *file)
{
	struct net *net = current->nsproxy->net_ns;
	struct oae_node *node = oae_node(net);
	struct noc_file *nf;

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	nf = kzalloc(sizeof(*nf), GFP_KERNEL);
	if (!nf)
		return -ENOMEM;
	nf->net = get_net(net);
	nf->vc = READ_ONCE(node->knobs.vci);
	oae_pool_init(&nf->pool);
	oae_target(node, &nf->target);
	file->private_data = nf;
	return nonseekable_open(inode, file);
}

static int noc_release(struct inode *inode, struct file *file)
{
	struct noc_file *nf = file->private_data;

	oae_pool_exit(&nf->pool);
	put_net(nf->net);
	kfree(nf);
	return 0;
}

/* The tag to send on, made if need be; a reference for the caller. */
static struct oae_tag *noc_tag(struct noc_file *nf)
{
	struct oae_node *node = oae_node(nf->net);
	struct oae_port *port;
	struct oae_tag *tag;
	u8 mac[ETH_ALEN];
	int err;

	err = oae_addr_resolve(node, &nf->target, &port, mac);
	if (err)
		return ERR_PTR(err);
	tag = oae_tag_make(port, oae_kid(nf->vc, mac), GFP_KERNEL);
	oae_port_put(port);
	return tag;
}

static struct oae_msg *noc_msg(struct noc_file *nf, const char __user *buf,
			       size_t len)
{
	struct oae_msg *msg = oae_msg_alloc(&nf->pool, len, OAE_GFP_USER);
	unsigned int i;

	if (!msg)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < msg->npieces; i++) {
		struct oae_piece *p = &msg->piece[i];

		if (copy_from_user(page_address(p->page) + p->off, buf,
				   p->len)) {
			oae_msg_put(msg);
			return ERR_PTR(-EFAULT);
		}
		buf += p->len;
	}
	if (READ_ONCE(oae_node(nf->net)->knobs.express))
		msg->post.flags |= OAE_POST_EXPRESS;
	return msg;
}

/* Queue it, waiting for room if asked to. 0, or nothing was queued. */
static int noc_queue(struct noc_file *nf, struct oae_msg *msg, bool nonblock,
		     long *left, struct oae_tag **tagp)
{
	struct oae_tag *tag;
	int err;

	for (;;) {
		tag = noc_tag(nf);
		if (IS_ERR(tag))
			return PTR_ERR(tag);
		err = oae_room_send(tag, msg, nonblock, left);
		if (!err) {
			*tagp = tag;
			return 0;
		}
		oae_tag_put(tag);
		if (err != -ESTALE)
			return err;
	}
}

/* Wait for the outcome; a signal or the deadline reverses what it can. */
static int noc_wait(struct oae_tag *tag, struct oae_msg *msg, long left)
{
	int why;

	left = wait_for_completion_interruptible_timeout(&msg->done, left);
	if (left <= 0) {
		why = left ? OAE_E_SIGNAL : OAE_E_DEADLINE;
		if (oae_tag_cancel(tag, msg, why) == -EINPROGRESS)
			return -EINPROGRESS;
		/* It has ended, or is just being ended on another CPU. */
		wait_for_completion(&msg->done);
	}
	return msg->outcome == OAE_COMMITTED ? 0 : -msg->err;
}

/* How long a write may take, jiffies. */
static long noc_deadline(const struct oae_node *node)
{
	unsigned int ms = READ_ONCE(node->knobs.deadline_ms);

	return ms ? msecs_to_jiffies(ms) : MAX_SCHEDULE_TIMEOUT;
}

static ssize_t noc_write(struct file *file, const char __user *buf,
			 size_t len, loff_t *pos)
{
	struct noc_file *nf = file->private_data;
	struct oae_node *node = oae_node(nf->net);
	bool nonblock = file->f_flags & O_NONBLOCK;
	struct oae_msg *msg;
	struct oae_tag *tag;
	long left;
	int err;

	if (!len)
		return 0;
	if (len > READ_ONCE(node->knobs.max_len))
		return -EMSGSIZE;
	msg = noc_msg(nf, buf, len);
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	left = noc_deadline(node);
	err = noc_queue(nf, msg, nonblock, &left, &tag);
	if (!err) {
		if (!nonblock)
			err = noc_wait(tag, msg, left);
		oae_tag_put(tag);
	}
	oae_msg_put(msg);
	return err ?: len;
}

static ssize_t noc_read(struct file *file, char __user *buf, size_t len,
			loff_t *pos)
{
	struct noc_file *nf = file->private_data;
	struct iov_iter to;
	struct iovec iov;

	oae_user_dest(&to, &iov, buf, len);
	return oae_inbox_read(oae_node(nf->net), &to);
}

/* Would a write be queued at once? Asking makes no tag. */
static bool noc_room(struct noc_file *nf)
{
	struct oae_node *node = oae_node(nf->net);
	struct oae_port *port;
	struct oae_tag *tag;
	u8 mac[ETH_ALEN];
	bool room;

	if (oae_addr_resolve(node, &nf->target, &port, mac))
		return false;
	rcu_read_lock();
	tag = oae_tag_find(port, oae_kid(nf->vc, mac));
	room = !tag || oae_room(tag, NULL, false);
	rcu_read_unlock();
	oae_port_put(port);
	return room;
}

static __poll_t noc_poll(struct file *file, poll_table *wait)
{
	struct noc_file *nf = file->private_data;
	struct oae_node *node = oae_node(nf->net);
	__poll_t mask = 0;

	poll_wait(file, &node->read_wait, wait);
	poll_wait(file, &node->write_wait, wait);
	if (!oae_inbox_empty(node))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (noc_room(nf))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static const struct file_operations noc_fops = {
	.owner = THIS_MODULE,
	.open = noc_open,
	.release = noc_release,
	.write = noc_write,
	.read = noc_read,
	.poll = noc_poll,
};

/**
 * oae_debugfs_init() - make the debugfs files
 *
 * Without debugfs, or memory for them, there are none. Context: process.
 */
void oae_debugfs_init(void)
{
	struct dentry *file;

	dir = debugfs_create_dir("modoae", NULL);
	file = debugfs_create_file("noc_debug", 0600, dir, NULL, &noc_fops);
	if (dir == ERR_PTR(-ENOMEM) || file == ERR_PTR(-ENOMEM))
		pr_err("noc_debug: no memory for it, so there is none\n");
}

/**
 * oae_debugfs_exit() - remove the debugfs files
 *
 * No file is open: each holds the module. Context: process.
 */
void oae_debugfs_exit(void)
{
	debugfs_remove(dir);
}
