// SPDX-License-Identifier: GPL-2.0
/*
 * The link that the parameter `target` opens. It is wanted (protocol 4.4): opened
 * before there is anything to send, and kept asking while the peer does not answer.
 * Nothing here waits for the peer.
 *
 * A target may be an id that was not heard yet. When it is heard, in softirq, work opens
 * the link.
 *
 * kernel_param_lock protects node->wanted, the tag of this link. It may be dead, or its
 * link closed: then the next write to `target`, or the next transaction, opens another.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "ctl.h"

/* Open the link to @addr on `vci`. The tag with a reference, or an ERR_PTR(). */
static struct oae_tag *target_open(struct oae_node *node,
				   const struct oae_addr *addr)
{
	u8 vc = READ_ONCE(node->knobs.vci), mac[ETH_ALEN];
	struct oae_port *port;
	struct oae_tag *tag;
	int err;

	do {
		err = oae_addr_resolve(node, addr, &port, mac);
		if (err)
			return ERR_PTR(err);
		tag = oae_peer_tag(port, oae_kid(vc, mac));
		oae_port_put(port);
		if (IS_ERR(tag))
			return tag;
		err = oae_tag_want(tag);
		if (err)
			oae_tag_put(tag);
	} while (err == -ESTALE);
	return err ? ERR_PTR(err) : tag;
}

/* @tag, with a reference, or NULL, is wanted from now on, and no other. */
static void target_replace(struct oae_node *node, struct oae_tag *tag, bool close)
{
	struct oae_tag *old = node->wanted;

	node->wanted = tag;
	if (!old)
		return;
	if (old != tag)
		oae_tag_unwant(old, close);
	oae_tag_put(old);
}

/**
 * oae_target_set() - set `target`, and open the link to it
 * @node: the node
 * @addr: the new value; not set: close the link to the former target, unless a file is
 *	attached to it
 *
 * The link to a former target stays if there is a new one. Without a port for @addr, while
 * the node is shut, or if @addr is an id that was not heard, the link is opened by
 * oae_target_bound().
 *
 * Context: process, may sleep; under kernel_param_lock; takes tag->lock.
 *
 * Return: 0; -EINVAL the port's own address; -ENOBUFS max_tags are there; -ENOMEM. On
 * failure nothing has changed.
 */
int oae_target_set(struct oae_node *node, const struct oae_addr *addr)
{
	struct oae_tag *tag = NULL;

	if (addr->set && !READ_ONCE(node->shut))
		tag = target_open(node, addr);
	if (IS_ERR(tag)) {
		if (PTR_ERR(tag) != -ENODEV && PTR_ERR(tag) != -ESHUTDOWN &&
		    PTR_ERR(tag) != -EHOSTUNREACH)
			return PTR_ERR(tag);
		tag = NULL;
	}
	write_seqlock_bh(&node->addr_lock);
	node->target = *addr;
	write_sequnlock_bh(&node->addr_lock);
	target_replace(node, tag, !addr->set);
	return 0;
}

/**
 * oae_target_bound() - open the link to `target` if it could not be opened when it was set
 * @node: the node, whose ports or neighbours have changed, or which is no longer shut
 *
 * A link that cannot be opened now is opened by the first transaction.
 *
 * Context: process, may sleep; under kernel_param_lock; takes tag->lock.
 */
void oae_target_bound(struct oae_node *node)
{
	struct oae_tag *tag = node->wanted;
	bool there;

	/* The link may move to another port meanwhile. */
	rcu_read_lock();
	there = tag && !READ_ONCE(READ_ONCE(tag->key.port)->removed);
	rcu_read_unlock();
	if (!node->target.set || READ_ONCE(node->shut) || there)
		return;
	tag = target_open(node, &node->target);
	if (!IS_ERR(tag))
		target_replace(node, tag, false);
}

static void target_work(struct work_struct *work)
{
	struct oae_node *node = container_of(work, struct oae_node, target_work);

	kernel_param_lock(THIS_MODULE);
	oae_target_bound(node);
	kernel_param_unlock(THIS_MODULE);
}

/* A neighbour is new. Context: softirq. */
static void target_heard(struct oae_node *node, u64 id)
{
	struct oae_addr target;

	oae_target(node, &target);
	if (target.id == id)
		schedule_work(&node->target_work);
}

/**
 * oae_target_init() - initialise what opens the link of `target`
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_target_init(struct oae_node *node)
{
	INIT_WORK(&node->target_work, target_work);
	node->id_heard = target_heard;
}

/**
 * oae_target_exit() - forget the link that `target` has opened
 * @node: the node, whose parameters nobody sets any more, and which has no port
 *
 * Context: process, may sleep; takes kernel_param_lock.
 */
void oae_target_exit(struct oae_node *node)
{
	/* Without a port no neighbour is heard that would start it again. */
	cancel_work_sync(&node->target_work);
	target_replace(node, NULL, false);
}
