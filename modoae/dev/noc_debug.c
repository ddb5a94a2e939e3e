// SPDX-License-Identifier: GPL-2.0
/*
 * noc_debug: a link that echo and cat can drive, in /sys/kernel/debug/modoae and in
 * /proc/net/modoae.
 *
 * An open file belongs to a namespace: in debugfs to the opener's, in /proc to that
 * of the directory. It keeps the values of target and vci at the time of opening. A
 * write is one transaction and returns when its outcome is known. A read returns what
 * has arrived, a transaction at a time, then end-of-file.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "dev.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uio.h>

static struct dentry *dir;

struct noc_file {
	struct net *net;		/* with a reference */
	struct oae_addr target;
	u8 vc;
	struct oae_pool pool;		/* memory for short messages */
	spinlock_t lock;		/* what follows; no lock nests in it */
	struct oae_tag *tag;		/* sent on last, with a reference; NULL none */
	struct oae_port *port;		/* where the target was last, with a reference; NULL none */
	u8 mac[ETH_ALEN];		/* and what it was there */
};

/* Open a file of @net, to which the caller has a reference; the file gets its own. */
static int noc_open_net(struct net *net, struct inode *inode, struct file *file)
{
	struct oae_node *node = oae_node(net);
	struct noc_file *nf;

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	nf = kzalloc(sizeof(*nf), GFP_KERNEL_ACCOUNT);
	if (!nf)
		return -ENOMEM;
	nf->net = get_net(net);
	nf->vc = READ_ONCE(node->knobs.vci);
	oae_pool_init(&nf->pool);
	spin_lock_init(&nf->lock);
	oae_target(node, &nf->target);
	file->private_data = nf;
	return nonseekable_open(inode, file);
}

static int noc_open(struct inode *inode, struct file *file)
{
	return noc_open_net(current->nsproxy->net_ns, inode, file);
}

/* The tag to send on, with a reference, of which this takes another; or NULL. */
static void noc_set_tag(struct noc_file *nf, struct oae_tag *tag)
{
	struct oae_tag *old;

	if (tag)
		refcount_inc(&tag->ref);
	spin_lock(&nf->lock);
	old = nf->tag;
	nf->tag = tag;
	spin_unlock(&nf->lock);
	if (old)
		oae_tag_put(old);
}

/*
 * The tag that was sent on last, with a reference, if it still has its link, and that has met
 * its peer; or NULL.
 */
static struct oae_tag *noc_last_tag(struct noc_file *nf)
{
	struct oae_tag *tag;

	spin_lock(&nf->lock);
	tag = nf->tag;
	if (tag)
		refcount_inc(&tag->ref);
	spin_unlock(&nf->lock);
	if (!tag || (!READ_ONCE(tag->dead) && !oae_link_closed(&tag->link) && oae_tag_met(tag)))
		return tag;
	oae_tag_put(tag);
	return NULL;
}

/* Find where the target is, and remember it. As oae_addr_resolve(). */
static int noc_resolve(struct noc_file *nf, struct oae_port **port, u8 mac[ETH_ALEN])
{
	int err = oae_addr_resolve(oae_node(nf->net), &nf->target, nf->vc, port, mac);
	struct oae_port *old;

	if (err)
		return err;
	oae_port_get(*port);
	spin_lock(&nf->lock);
	old = nf->port;
	nf->port = *port;
	memcpy(nf->mac, mac, ETH_ALEN);
	spin_unlock(&nf->lock);
	if (old)
		oae_port_put(old);
	return 0;
}

/* Where it was last, if that port is still there: to look for it may be a walk over all ports. */
static int noc_where(struct noc_file *nf, struct oae_port **port, u8 mac[ETH_ALEN])
{
	bool there;

	spin_lock(&nf->lock);
	*port = nf->port;
	there = *port && !READ_ONCE((*port)->removed);
	if (there) {
		oae_port_get(*port);
		memcpy(mac, nf->mac, ETH_ALEN);
	}
	spin_unlock(&nf->lock);
	return there ? 0 : noc_resolve(nf, port, mac);
}

static int noc_release(struct inode *inode, struct file *file)
{
	struct noc_file *nf = file->private_data;

	oae_pool_exit(&nf->pool);
	noc_set_tag(nf, NULL);
	if (nf->port)
		oae_port_put(nf->port);
	put_net(nf->net);
	kfree(nf);
	return 0;
}

/*
 * Find or make the tag to send on; with a reference. A link that the file has sent on is
 * still meant when its addresses have changed.
 */
static struct oae_tag *noc_tag(struct noc_file *nf)
{
	struct oae_tag *tag = noc_last_tag(nf);
	struct oae_port *port;
	u8 mac[ETH_ALEN];
	int err;

	if (tag)
		return tag;
	err = noc_resolve(nf, &port, mac);
	if (err)
		return ERR_PTR(err);
	tag = oae_peer_tag(port, oae_kid(nf->vc, mac));
	oae_port_put(port);
	if (IS_ERR(tag))
		return tag;
	oae_addr_used(&nf->target, tag);
	noc_set_tag(nf, tag);
	return tag;
}

/* Send a message. If the tag has died meanwhile, make it anew and try again. */
static int noc_send(struct noc_file *nf, struct oae_msg *msg, bool nonblock)
{
	struct oae_node *node = oae_node(nf->net);
	long left = oae_send_within(msg, READ_ONCE(node->knobs.deadline_ms));
	struct oae_tag *tag;
	int err;

	do {
		tag = noc_tag(nf);
		if (IS_ERR(tag))
			return PTR_ERR(tag);
		err = oae_send_transact(tag, msg, nonblock, &left, 0);
		if (err)
			oae_tag_gave_up(tag);
		oae_tag_put(tag);
	} while (err == -ESTALE);
	return err;
}

static ssize_t noc_write(struct file *file, struct iov_iter *from)
{
	struct noc_file *nf = file->private_data;
	bool nonblock = file->f_flags & O_NONBLOCK;
	struct oae_node *node = oae_node(nf->net);
	size_t len = iov_iter_count(from);
	struct oae_msg *msg;
	int err;

	if (!len)
		return 0;
	if (len > READ_ONCE(node->knobs.max_len))
		return -EMSGSIZE;
	msg = oae_send_msg(&nf->pool, from);
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	if (READ_ONCE(node->knobs.express))
		msg->post.flags |= OAE_POST_EXPRESS;
	err = noc_send(nf, msg, nonblock);
	oae_msg_put(msg);
	return err ?: len;
}

static ssize_t noc_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return noc_write(iocb->ki_filp, from);
}

/*
 * The next transaction, taken from the tags in turn: its slices, linked by ->next; NULL
 * nothing is unread; ERR_PTR(-ENOMEM).
 */
static struct sk_buff *noc_next(struct oae_node *node)
{
	struct sk_buff *skb = NULL;
	struct oae_tag *tag;

	while (!skb && (tag = oae_unclaimed_next(node)) != NULL) {
		if (oae_inbox_take(tag, NULL, SIZE_MAX, 0, &skb) == -ENOMEM)
			skb = ERR_PTR(-ENOMEM);
		oae_tag_put(tag);
	}
	return skb;
}

/* Read from one transaction. The remainder is returned by the next read. */
static ssize_t noc_read_some(struct oae_node *node, struct iov_iter *to)
{
	size_t n, left;

	n = oae_read_copy(node->rest, node->rest_off, to);
	node->rest_off += n;
	left = OAE_RCV_CB(node->rest)->len - node->rest_off;
	if (!left) {
		oae_read_free(node->rest);
		WRITE_ONCE(node->rest, NULL);
	}
	return n || !left ? n : -EFAULT;
}

static ssize_t noc_read(struct file *file, struct iov_iter *to)
{
	struct noc_file *nf = file->private_data;
	struct oae_node *node = oae_node(nf->net);
	struct sk_buff *next;
	ssize_t done = 0;

	if (mutex_lock_interruptible(&node->reader))
		return -ERESTARTSYS;
	/* A transaction of 0 bytes must not look like end-of-file. */
	while (!done && iov_iter_count(to)) {
		if (!node->rest) {
			next = noc_next(node);
			if (IS_ERR(next))
				done = PTR_ERR(next);
			if (IS_ERR_OR_NULL(next))
				break;
			node->rest_off = 0;
			WRITE_ONCE(node->rest, next);
			oae_count(node, OAE_S_READ);
		}
		done = noc_read_some(node, to);
	}
	mutex_unlock(&node->reader);
	return done;
}

static ssize_t noc_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return noc_read(iocb->ki_filp, to);
}

/**
 * oae_noc_purge() - drop all unread transactions of a node
 * @node: the node, without ports and open files
 *
 * Context: process, may sleep.
 */
void oae_noc_purge(struct oae_node *node)
{
	struct oae_tag *tag;

	kfree_skb_list(node->rest);
	node->rest = NULL;
	while ((tag = oae_unclaimed_next(node)) != NULL) {
		oae_tag_drop_unread(tag);
		oae_tag_put(tag);
	}
}

/* Would a write be queued at once? Does not make a tag. */
static bool noc_room(struct noc_file *nf)
{
	struct oae_tag *tag = noc_last_tag(nf);
	struct oae_port *port;
	u8 mac[ETH_ALEN];
	bool room;

	if (tag) {
		room = oae_room(tag, NULL, false);
		oae_tag_put(tag);
		return room;
	}
	if (noc_where(nf, &port, mac))
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

	poll_wait(file, &node->noc_wait, wait);
	if (READ_ONCE(node->rest) || oae_unclaimed_any(node))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (noc_room(nf))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

static const struct file_operations noc_fops = {
	.owner = THIS_MODULE,
	.open = noc_open,
	.release = noc_release,
	.write_iter = noc_write_iter,
	.read_iter = noc_read_iter,
	.poll = noc_poll,
};

/*
 * The file in /proc. An open proc file holds neither the module nor its namespace, so
 * the open file takes references of its own: somebody may sleep in poll() on it.
 */

static int noc_proc_open(struct inode *inode, struct file *file)
{
	struct oae_node *node = pde_data(inode);
	struct net *net;
	int err;

	/* A module whose init fails goes, whoever refers to it. */
	if (READ_ONCE(THIS_MODULE->state) != MODULE_STATE_LIVE ||
	    !try_module_get(THIS_MODULE))
		return -ENODEV;
	net = maybe_get_net(node->net);
	err = net ? noc_open_net(net, inode, file) : -ENODEV;
	if (net)
		put_net(net);
	if (err)
		module_put(THIS_MODULE);
	return err;
}

static int noc_proc_release(struct inode *inode, struct file *file)
{
	noc_release(inode, file);
	/* remove_proc_subtree() waits for this function to return. */
	module_put(THIS_MODULE);
	return 0;
}

static ssize_t noc_proc_read(struct file *file, char __user *buf, size_t size,
			     loff_t *pos)
{
	struct iov_iter to;
	struct iovec iov;

	oae_user_iter(&to, READ, &iov, buf, size);
	return noc_read(file, &to);
}

static ssize_t noc_proc_write(struct file *file, const char __user *buf,
			      size_t size, loff_t *pos)
{
	struct iov_iter from;
	struct iovec iov;

	oae_user_iter(&from, WRITE, &iov, (char __user *)buf, size);
	return noc_write(file, &from);
}

static const struct proc_ops noc_proc_ops = {
	.proc_open = noc_proc_open,
	.proc_release = noc_proc_release,
	.proc_read = noc_proc_read,
	.proc_write = noc_proc_write,
	.proc_poll = noc_poll,
};

/**
 * oae_noc_proc_make() - make noc_debug in /proc
 * @node: its node
 * @dir: its directory, which is removed before the node goes
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_noc_proc_make(struct oae_node *node, struct proc_dir_entry *dir)
{
	return proc_create_data("noc_debug", 0600, dir, &noc_proc_ops, node) ?
	       0 : -ENOMEM;
}

/**
 * oae_debugfs_init() - make the debugfs files
 *
 * Without debugfs, or without memory, there are no files.
 *
 * Context: process, may sleep.
 */
void oae_debugfs_init(void)
{
	struct dentry *file;

	dir = debugfs_create_dir("modoae", NULL);
	/*
	 * debugfs_create_file() does not forward read_iter() and write_iter(). The
	 * unsafe variant lacks only the protection against removal of an open file,
	 * which oae_debugfs_exit() does not need.
	 */
	file = debugfs_create_file_unsafe("noc_debug", 0600, dir, NULL,
					  &noc_fops);
	if (dir == ERR_PTR(-ENOMEM) || file == ERR_PTR(-ENOMEM))
		pr_err("noc_debug: no memory for it, so there is none\n");
}

/**
 * oae_debugfs_exit() - remove the debugfs files
 *
 * No file is open, since an open file pins the module.
 *
 * Context: process, may sleep.
 */
void oae_debugfs_exit(void)
{
	debugfs_remove(dir);
}
