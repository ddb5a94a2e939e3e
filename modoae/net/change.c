// SPDX-License-Identifier: GPL-2.0
/*
 * A port has changed: its tags are told, and those with a path by it.
 *
 * RTNL is everybody's, so under it tags are told only if the node has few. Of many a work tells
 * them, without RTNL but for the moment in which a port takes another address. Until a tag is
 * told, what it sends by a port that is down or gone is lost, as if the cable were cut.
 *
 * Tags are told how the port is by then: of changes that follow each other fast, a tag may see
 * the last one only. node->changing is held while tags are told, so they hear of one change after
 * the other.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>

#include "net.h"

#define CHANGE_MANY_MS	20	/* the longest that many links may settle under RTNL */

/*
 * Tell the port's own tags, and those that have a path by it, in one walk: a tag may have another
 * own path meanwhile.
 */
static void change_tell(struct oae_port *port, void (*tell)(struct oae_tag *tag, long arg))
{
	bool paths;

	/* The change before the look. Pairs with the barrier in oae_alias_add(). */
	smp_mb();
	paths = atomic_read(&port->node->naliases);
	oae_tags_for_each(port->node, paths ? NULL : port, tell, (long)port);
}

/* From now on frames come from the device's address. Under RTNL. */
static void change_take_address(struct oae_port *port)
{
	u8 old[ETH_ALEN] __aligned(2);

	ASSERT_RTNL();
	if (port->gone)
		return;
	oae_port_unindex(port);
	/* Frames of earlier events are sent without tag->lock: they are out then. */
	synchronize_net();
	oae_port_way_leave(port);
	ether_addr_copy(old, port->addr);
	ether_addr_copy(port->addr, port->dev->dev_addr);
	/* Without it links are found by the port that a frame comes by. */
	if (oae_port_index(port))
		oae_count(port->node, OAE_S_NO_MEMORY);
	oae_news_port(port, "address");
	oae_announce_moved(port, old);
}

/*
 * The device has a new address: the port's links synchronise under that (protocol 4.5, 4.14).
 * Until each of them is told, their frames come from the old one. So does what tells gateway and
 * neighbours that the old one is left: not before, since a driver may refuse the new one, and
 * nobody says so.
 */
static void change_address(struct oae_port *port, bool rtnl)
{
	change_tell(port, oae_path_address_before);
	if (!rtnl)
		rtnl_lock();
	change_take_address(port);
	if (!rtnl)
		rtnl_unlock();
	change_tell(port, oae_path_address);
	if (READ_ONCE(port->gone))
		return;
	oae_port_way_announce(port);
}

/* The link goes on by another port, if it can; else it ends. */
static void change_tag_leave(struct oae_tag *tag, long err)
{
	if (!oae_path_move(tag))
		oae_tag_kill(tag, err);
}

static void change_port_free(struct rcu_head *rcu)
{
	struct oae_port *port = container_of(rcu, struct oae_port, rcu);

	dev_put(port->dev);
	oae_port_put(port);
}

/* The port is gone: steps 5 and 6 of release.c. */
static void change_gone(struct oae_port *port)
{
	oae_tags_for_each(port->node, port, change_tag_leave, port->gone_err);
	change_tell(port, oae_tag_port);
	oae_news_port(port, "released");
	if (oae_node_says(port->node))
		pr_info("port %s released\n", port->dev->name);
	/* A reader that has seen a tag alive may look at the device until then. */
	call_rcu(&port->rcu, change_port_free);
}

static void change_settle(struct oae_port *port)
{
	u64 ns = READ_ONCE(port->settle_ns);

	/* It may be too late. */
	if (!ns)
		return;
	oae_tags_for_each(port->node, port, oae_tag_settle, ns);
	WRITE_ONCE(port->settle_ns, 0);
	wake_up(&port->node->tags_wait);
}

/* The next port whose tags are to be told, with a reference, and of what; NULL none. */
static struct oae_port *change_next(struct oae_node *node, unsigned int *changes)
{
	struct oae_port *port;

	spin_lock(&node->change_lock);
	port = list_first_entry_or_null(&node->changed, struct oae_port, changed);
	if (port) {
		list_del_init(&port->changed);
		*changes = port->changes;
		port->changes = 0;
	}
	spin_unlock(&node->change_lock);
	return port;
}

/* @rtnl: the caller holds it. Under node->changing. */
static void change_all(struct oae_node *node, bool rtnl)
{
	struct oae_port *port;
	unsigned int changes;

	lockdep_assert_held(&node->changing);
	while ((port = change_next(node, &changes))) {
		if (changes & OAE_CHANGE_GONE) {
			change_gone(port);
		} else {
			if (changes & OAE_CHANGE_SETTLE)
				change_settle(port);
			if (changes & OAE_CHANGE_ADDRESS)
				change_address(port, rtnl);
			if (changes & OAE_CHANGE_MTU)
				change_tell(port, oae_tag_port_mtu);
			if (changes & OAE_CHANGE_STATE)
				change_tell(port, oae_tag_port);
		}
		oae_port_put(port);
	}
}

static void change_work(struct work_struct *work)
{
	oae_changes_finish(container_of(work, struct oae_node, change_work));
}

/**
 * oae_change_add() - a port has changed, and its tags are to be told
 * @port: the port
 * @change: OAE_CHANGE_*
 *
 * Tells nobody yet: oae_changes_tell().
 *
 * Context: process; under RTNL.
 */
void oae_change_add(struct oae_port *port, unsigned int change)
{
	struct oae_node *node = port->node;

	ASSERT_RTNL();
	spin_lock(&node->change_lock);
	port->changes |= change;
	if (list_empty(&port->changed)) {
		list_add_tail(&port->changed, &node->changed);
		oae_port_get(port);
	}
	spin_unlock(&node->change_lock);
}

/**
 * oae_changes_later() - have the tags of a node be told of its ports' changes soon
 * @node: the node
 *
 * Context: process.
 */
void oae_changes_later(struct oae_node *node)
{
	queue_work(oae_wq, &node->change_work);
}

/**
 * oae_changes_tell() - tell the tags of a node of its ports' changes; if they are many, soon
 * @node: the node
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 */
void oae_changes_tell(struct oae_node *node)
{
	ASSERT_RTNL();
	/* Whoever tells already may want RTNL. */
	if (atomic_read(&node->ntags) > OAE_FEW_TAGS || !mutex_trylock(&node->changing)) {
		oae_changes_later(node);
		return;
	}
	change_all(node, true);
	mutex_unlock(&node->changing);
}

/**
 * oae_changes_finish() - tell the tags of a node of its ports' changes, all of them
 * @node: the node
 *
 * Afterwards all tags have been told of all that was added before.
 *
 * Context: process, may sleep; takes RTNL and tag->lock.
 */
void oae_changes_finish(struct oae_node *node)
{
	mutex_lock(&node->changing);
	change_all(node, false);
	mutex_unlock(&node->changing);
}

/**
 * oae_port_settle() - the links of a port settle before its address changes (protocol 4.5)
 * @port: the port
 * @us: for how long at most
 *
 * That ends by itself if the change is refused. Many links do not have so much time.
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 */
void oae_port_settle(struct oae_port *port, u64 us)
{
	struct oae_node *node = port->node;

	if (atomic_read(&node->ntags) > OAE_FEW_TAGS)
		us = min_t(u64, us, CHANGE_MANY_MS * USEC_PER_MSEC);
	WRITE_ONCE(port->settle_ns, 2 * us * NSEC_PER_USEC);
	oae_change_add(port, OAE_CHANGE_SETTLE);
	oae_changes_tell(node);
	wait_event_timeout(node->tags_wait,
			   !READ_ONCE(port->settle_ns) && !atomic_read(&port->nsettling),
			   usecs_to_jiffies(us));
	WRITE_ONCE(port->settle_ns, 0);
}

static void change_hushed_work(struct work_struct *work)
{
	struct oae_node *node = container_of(work, struct oae_node, hushed_work);
	struct oae_port *port;

	rtnl_lock();
	/* Those that go are not on the list any more. */
	list_for_each_entry(port, &node->ports, list)
		WRITE_ONCE(port->mute, false);
	rtnl_unlock();
}

/**
 * oae_port_hush() - the kind of a port's device is about to change
 * @port: the port
 *
 * Meanwhile nothing is sent there: headers of another kind may be longer than the room for them.
 * That ends by itself, once RTNL is free: nobody says that the change is refused.
 *
 * Context: process, may sleep; under RTNL.
 */
void oae_port_hush(struct oae_port *port)
{
	ASSERT_RTNL();
	WRITE_ONCE(port->mute, true);
	synchronize_net();
	queue_work(oae_wq, &port->node->hushed_work);
}

/**
 * oae_changes_init() - initialise what tells the tags of a node
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_changes_init(struct oae_node *node)
{
	mutex_init(&node->changing);
	spin_lock_init(&node->change_lock);
	INIT_LIST_HEAD(&node->changed);
	INIT_WORK(&node->change_work, change_work);
	INIT_WORK(&node->hushed_work, change_hushed_work);
}

/**
 * oae_changes_exit() - tell all tags what is left, and end the work
 * @node: the node, which has no port any more
 *
 * Context: process, may sleep, not under RTNL.
 */
void oae_changes_exit(struct oae_node *node)
{
	oae_changes_finish(node);
	cancel_work_sync(&node->change_work);
	cancel_work_sync(&node->hushed_work);
}
