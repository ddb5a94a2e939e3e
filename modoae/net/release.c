// SPDX-License-Identifier: GPL-2.0
/*
 * A port goes, or its links close.
 *
 * A port is always removed in these steps:
 *   1. `removed` is set, so no new tag is made on the port. If there is time (a
 *	user asked for the removal, and the device stays), its links are closed. But a link
 *	that has a path by another port goes on by that.
 *   2. Links in doubt say what they have committed, as they did when the device was about to
 *	go down. `gone` is set, the packet handler removed. synchronize_net(): afterwards no
 *	frame is being received, and no reader that saw the port alive is still
 *	making a tag.
 *   3. Frames held for single-stepping are dropped, neighbours heard at the port are
 *	forgotten. Gateway and neighbours are told.
 *   4. `mute` is set. synchronize_net(): afterwards nobody is sending there, and the device may
 *	move to another namespace.
 *   5. The tags are killed, but for those with a path by another port (change.c).
 *   6. After a grace period no reader that saw a tag alive looks at the device: it is released.
 *	The port itself is freed with its last tag.
 * Steps 2 to 4 run under RTNL and never wait for a peer or a program. Ports that are
 * removed at the same time take the steps together and share the waits, OAE_BATCH at a time.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/rtnetlink.h>

#include "net.h"

static void release_tag_close(struct oae_tag *tag, long unused)
{
	oae_tag_close(tag);
}

/* Begin to close the link of a port marked `removed`, unless it goes on by another one. */
static void release_tag_removed(struct oae_tag *tag, long unused)
{
	bool removed;

	rcu_read_lock();
	removed = READ_ONCE(READ_ONCE(tag->key.port)->removed);
	rcu_read_unlock();
	if (removed && !oae_path_move(tag))
		oae_tag_close(tag);
}

/**
 * oae_links_close() - begin to close all links of a node (protocol 4.7)
 * @node: the node, with `shut` set and a grace period past since then
 *
 * Does not wait for the links.
 *
 * Context: process, may sleep.
 */
void oae_links_close(struct oae_node *node)
{
	oae_tags_for_each(node, NULL, release_tag_close, 0);
}

static void release_close_work(struct work_struct *work)
{
	oae_links_close(container_of(work, struct oae_node, close_work));
}

/**
 * oae_node_close() - refuse new links, and begin to close all others
 * @node: the node
 *
 * Does not wait for the links. Netlink's core may hold a lock of everybody's, so of many links a
 * work closes them.
 *
 * Context: process, may sleep.
 */
void oae_node_close(struct oae_node *node)
{
	WRITE_ONCE(node->knobs.shut, true);
	/* Afterwards every reader that saw `shut` false has made its tag. */
	synchronize_net();
	if (atomic_read(&node->ntags) > OAE_FEW_TAGS)
		queue_work(oae_wq, &node->close_work);
	else
		oae_links_close(node);
}

/**
 * oae_node_reopen() - let links be opened again
 * @node: the node; all its links begin to close before, if that is not over yet
 *
 * Context: process, may sleep.
 */
void oae_node_reopen(struct oae_node *node)
{
	flush_work(&node->close_work);
	WRITE_ONCE(node->knobs.shut, false);
}

/**
 * oae_ports_collect() - collect the ports of a node that are to be removed
 * @node: the node
 * @going: the ports are added here, for oae_ports_detach()
 * @all: all ports, and none is bound any more; else only those that are marked
 *	`removed`
 * @max: so many at most
 *
 * RTNL must stay held until oae_ports_detach(). It is everybody's, so many ports go some at a time:
 * OAE_BATCH, of all nodes.
 *
 * Context: process; under RTNL.
 *
 * Return: how many there were.
 */
unsigned int oae_ports_collect(struct oae_node *node, struct list_head *going, bool all,
			       unsigned int max)
{
	struct oae_port *port;
	unsigned int n = 0;

	ASSERT_RTNL();
	if (all)
		node->every = false;
	list_for_each_entry(port, &node->ports, list) {
		if (n == max)
			break;
		if (!all && !port->removed)
			continue;
		list_add_tail(&port->going, going);
		n++;
	}
	return n;
}

/**
 * oae_ports_detach() - remove ports: steps 2 to 4 above
 * @going: ports, perhaps of several nodes
 * @err: error for the writers of reversed transactions, positive errno
 *
 * Of one port with few tags it takes the other steps, too. Else a work does, or
 * oae_changes_finish(): of each port it may be all tags that are told.
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 */
void oae_ports_detach(struct list_head *going, int err)
{
	bool one = list_is_singular(going);
	struct oae_port *port, *next;
	u64 until = oae_doubt_until();

	ASSERT_RTNL();
	if (list_empty(going))
		return;
	list_for_each_entry(port, going, going) {
		oae_doubt_leave(port, until);
		WRITE_ONCE(port->removed, true);
		WRITE_ONCE(port->gone, true);
		list_del_rcu(&port->list);
		oae_port_unindex(port);
		xa_erase(&port->node->by_dev, port->dev->ifindex);
		__dev_remove_pack(&port->pt);
	}
	synchronize_net();

	list_for_each_entry(port, going, going) {
		oae_step_purge(port->node, port);
		oae_neigh_drop(port->node, port);
		oae_port_way_leave(port);
		oae_announce_leave(port);
		WRITE_ONCE(port->mute, true);
		wake_up_interruptible_all(&port->node->fresh_wait);
	}
	synchronize_net();

	list_for_each_entry(port, going, going) {
		port->gone_err = err;
		oae_change_add(oae_port_get(port), OAE_CHANGE_GONE);
	}
	/* Without a reference it lasts no longer than until its tags have been told. */
	list_for_each_entry_safe(port, next, going, going) {
		if (one)
			oae_changes_tell(port->node);
		else
			oae_changes_later(port->node);
		oae_port_put(port);
	}
}

static bool release_removed_closed(struct oae_node *node)
{
	struct oae_port *port;
	bool closed = true;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list)
		if (READ_ONCE(port->removed) && atomic_read(&port->nopen))
			closed = false;
	rcu_read_unlock();
	return closed;
}

/* Links of other ports leave these before anything is lost there. */
static void release_removed_paths(struct oae_node *node)
{
	struct oae_port *port;

	rtnl_lock();
	list_for_each_entry(port, &node->ports, list)
		if (port->removed)
			oae_change_add(port, OAE_CHANGE_STATE);
	rtnl_unlock();
	oae_changes_finish(node);
}

/**
 * oae_ports_release() - remove the ports that oae_ports_set() has marked
 * @node: the node
 * @ms: time limit, ms
 *
 * First closes the links of these ports, all at once, and waits for that up to
 * @ms. node->knob_lock is not held, so other parameters can be set meanwhile.
 *
 * Context: process, may sleep; under node->dev_lock; takes RTNL and tag->lock.
 */
void oae_ports_release(struct oae_node *node, unsigned int ms)
{
	LIST_HEAD(going);
	bool more;

	/* Afterwards every reader that saw `removed` false has made its tag. */
	synchronize_net();
	oae_tags_for_each(node, NULL, release_tag_removed, 0);
	release_removed_paths(node);
	wait_event_timeout(node->tags_wait,
			   release_removed_closed(node) || READ_ONCE(node->ending),
			   msecs_to_jiffies(ms));

	do {
		INIT_LIST_HEAD(&going);
		rtnl_lock();
		/* A port whose device went meanwhile is not on the list any more. */
		more = oae_ports_collect(node, &going, false, OAE_BATCH) == OAE_BATCH;
		oae_ports_detach(&going, OAE_E_CANCEL);
		if (!more)
			more = oae_udp_sweep(node, OAE_BATCH) == OAE_BATCH;
		rtnl_unlock();
		cond_resched();
	} while (more);
	oae_changes_finish(node);
}

/**
 * oae_ports_released() - finish what oae_ports_release_later() has begun
 * @node: the node
 *
 * Context: process, may sleep; under node->dev_lock; takes RTNL and tag->lock.
 */
void oae_ports_released(struct oae_node *node)
{
	lockdep_assert_held(&node->dev_lock);
	if (!node->releasing)
		return;
	oae_ports_release(node, node->release_ms);
	WRITE_ONCE(node->releasing, false);
	wake_up(&node->released_wait);
}

static void release_work(struct work_struct *work)
{
	struct oae_node *node = container_of(work, struct oae_node, release_work);

	mutex_lock(&node->dev_lock);
	oae_ports_released(node);
	mutex_unlock(&node->dev_lock);
}

/**
 * oae_ports_release_later() - have a work remove the ports that oae_ports_set() has marked
 * @node: the node; until the work has done it, READ_ONCE(node->releasing), and
 *	node->released_wait is woken then
 * @ms: time limit for closing links, ms
 *
 * Context: process, may sleep; under node->dev_lock.
 */
void oae_ports_release_later(struct oae_node *node, unsigned int ms)
{
	lockdep_assert_held(&node->dev_lock);
	node->release_ms = ms;
	WRITE_ONCE(node->releasing, true);
	queue_work(oae_wq, &node->release_work);
}

/**
 * oae_release_init() - initialise what releases ports and closes links
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_release_init(struct oae_node *node)
{
	INIT_WORK(&node->release_work, release_work);
	INIT_WORK(&node->close_work, release_close_work);
	init_waitqueue_head(&node->released_wait);
}

/**
 * oae_release_exit() - end the works of a node; what they have not done the caller does
 * @node: the node, whose parameters and ports nobody changes any more
 *
 * Context: process, may sleep, not under RTNL.
 */
void oae_release_exit(struct oae_node *node)
{
	WRITE_ONCE(node->ending, true);
	wake_up(&node->tags_wait);
	cancel_work_sync(&node->release_work);
	cancel_work_sync(&node->close_work);
}
