// SPDX-License-Identifier: GPL-2.0
/*
 * The link that the parameter `target` opens. It is wanted (protocol 4.4): opened
 * before there is anything to send, and kept asking while the peer does not answer.
 * Nothing here waits for the peer.
 *
 * kernel_param_lock protects node->wanted, the tag of this link. It may be dead, or its
 * link closed: then the next write to `target`, or the next transaction, opens another.
 */
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
		tag = oae_tag_make(port, oae_kid(vc, mac), false, OAE_GFP_USER);
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
 * The link to a former target stays if there is a new one. Without a port for @addr, or
 * while the node is shut, the link is opened by oae_target_bound().
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
 * @node: the node, whose ports have changed, or which is no longer shut
 *
 * A link that cannot be opened now is opened by the first transaction.
 *
 * Context: process, may sleep; under kernel_param_lock; takes tag->lock.
 */
void oae_target_bound(struct oae_node *node)
{
	struct oae_tag *tag = node->wanted;

	if (!node->target.set || READ_ONCE(node->shut) ||
	    (tag && !READ_ONCE(tag->key.port->removed)))
		return;
	tag = target_open(node, &node->target);
	if (!IS_ERR(tag))
		target_replace(node, tag, false);
}

/**
 * oae_target_exit() - forget the link that `target` has opened
 * @node: the node, whose parameters nobody sets any more
 *
 * Context: process.
 */
void oae_target_exit(struct oae_node *node)
{
	target_replace(node, NULL, false);
}
