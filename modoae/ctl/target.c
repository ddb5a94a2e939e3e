// SPDX-License-Identifier: GPL-2.0
/*
 * The link that the parameter `target` opens. It is wanted (protocol 4.4): opened
 * before there is anything to send, and kept asking while the peer does not answer.
 * Nothing here waits for the peer.
 *
 * A target may be an id that was not heard yet, or an address that names no port and is heard
 * at another one than was thought. When it is heard, in softirq, work opens the link, and moves
 * those of files that are at the wrong port (net/resolve.c). So does
 * work if neighbours say that the address is one of a peer that there is
 * a link to: that is asked there first, for a second at most.
 *
 * node->knob_lock protects node->wanted, the tag of this link. It may be dead, or its
 * link closed: then the next write to `target`, or the next transaction, opens another.
 */
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "ctl.h"

#define TARGET_ASK_MS	1000	/* for so long is a peer asked whether it is there, too */
#define TARGET_LOOK_MS	10
#define TARGET_AGAIN_MS	100	/* a neighbour may say the same as often as it likes */

/* Open the link to @addr on `vci`. The tag with a reference, or an ERR_PTR(). */
static struct oae_tag *target_open(struct oae_node *node, const struct oae_addr *addr,
				   bool more)
{
	u8 vc = READ_ONCE(node->knobs.vci), mac[ETH_ALEN];
	struct oae_port *port;
	struct oae_tag *tag;
	int err;

	do {
		err = oae_addr_resolve(node, addr, vc, &port, mac);
		if (err)
			return ERR_PTR(err);
		tag = oae_peer_tag_now(port, oae_kid(vc, mac), more);
		oae_port_put(port);
		if (IS_ERR(tag))
			return tag;
		err = oae_tag_want(tag);
		if (err)
			oae_tag_put(tag);
	} while (err == -ESTALE);
	return err ? ERR_PTR(err) : tag;
}

/* The same, but if a peer has been asked, work tries again. Under node->knob_lock. */
static struct oae_tag *target_try(struct oae_node *node, const struct oae_addr *addr)
{
	struct oae_tag *tag;

	if (!node->target_asking)
		node->target_until = jiffies + msecs_to_jiffies(TARGET_ASK_MS);
	tag = target_open(node, addr, time_before(jiffies, node->target_until));
	node->target_asking = tag == ERR_PTR(-EAGAIN);
	if (node->target_asking)
		queue_delayed_work(oae_wq, &node->target_work,
				   msecs_to_jiffies(TARGET_LOOK_MS));
	return tag;
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
 * oae_target_bound(). So it is, soon, if a peer is being asked whether it is there.
 *
 * Context: process, may sleep; under node->knob_lock; takes tag->lock.
 *
 * Return: 0; -EINVAL the port's own address; -ENOBUFS max_tags are there; -ENOMEM. On
 * failure nothing has changed.
 */
int oae_target_set(struct oae_node *node, const struct oae_addr *addr)
{
	struct oae_tag *tag = NULL;

	lockdep_assert_held(&node->knob_lock);
	node->target_asking = false;
	if (addr->set && !READ_ONCE(node->knobs.shut))
		tag = target_try(node, addr);
	if (IS_ERR(tag)) {
		if (PTR_ERR(tag) != -ENODEV && PTR_ERR(tag) != -ESHUTDOWN &&
		    PTR_ERR(tag) != -EHOSTUNREACH && PTR_ERR(tag) != -EAGAIN)
			return PTR_ERR(tag);
		tag = NULL;
	}
	write_seqlock_bh(&node->addr_lock);
	node->knobs.target = *addr;
	write_sequnlock_bh(&node->addr_lock);
	target_replace(node, tag, !addr->set);
	return 0;
}

/* Is the link of `target` there, or was it, where its peer is? */
static bool target_stays(struct oae_tag *tag)
{
	bool there;

	if (!tag)
		return false;
	/* The link may move to another port meanwhile. */
	rcu_read_lock();
	there = !READ_ONCE(READ_ONCE(tag->key.port)->removed);
	rcu_read_unlock();
	return there && (oae_link_closed(&tag->link) || oae_tag_met(tag));
}

/**
 * oae_target_bound() - open the link to `target` if it could not be opened when it was set
 * @node: the node, whose ports or neighbours have changed, or which is no longer shut
 *
 * A link that cannot be opened now is opened by the first transaction.
 *
 * Context: process, may sleep; under node->knob_lock; takes tag->lock.
 */
void oae_target_bound(struct oae_node *node)
{
	struct oae_tag *tag;

	lockdep_assert_held(&node->knob_lock);
	if (!node->knobs.target.set || READ_ONCE(node->knobs.shut) || target_stays(node->wanted))
		return;
	tag = target_try(node, &node->knobs.target);
	if (!IS_ERR(tag))
		target_replace(node, tag, false);
}

static void target_work(struct work_struct *work)
{
	struct oae_node *node = container_of(to_delayed_work(work), struct oae_node,
					     target_work);

	/* First of all: a file's link to `target` is the one that is meant. */
	oae_addr_heard(node);
	mutex_lock(&node->knob_lock);
	oae_target_bound(node);
	mutex_unlock(&node->knob_lock);
}

/*
 * A neighbour was heard at a port. Even if that is no news, it may be the port where the address
 * was heard last, and was not before. Context: softirq, under rcu_read_lock().
 */
static void target_heard(struct oae_node *node, struct oae_port *port, const u8 *mac, bool news)
{
	struct oae_addr target;

	oae_target(node, &target);
	if (!oae_addr_covers(&target, port, mac) && !oae_guess_any(node))
		return;
	if (news)
		mod_delayed_work(oae_wq, &node->target_work, 0);
	else
		queue_delayed_work(oae_wq, &node->target_work, msecs_to_jiffies(TARGET_AGAIN_MS));
}

/**
 * oae_target_init() - initialise what opens the link of `target`
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_target_init(struct oae_node *node)
{
	INIT_DELAYED_WORK(&node->target_work, target_work);
	node->heard = target_heard;
}

/**
 * oae_target_exit() - forget the link that `target` has opened
 * @node: the node, whose parameters nobody sets any more, and which has no port
 *
 * Context: process, may sleep; waits for a work that takes node->knob_lock.
 */
void oae_target_exit(struct oae_node *node)
{
	/* Without a port no neighbour is heard that would start it again. */
	cancel_delayed_work_sync(&node->target_work);
	target_replace(node, NULL, false);
}
