// SPDX-License-Identifier: GPL-2.0
/* The node: the module's state for a network namespace. */

#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "base.h"

unsigned int oae_net_id __read_mostly;
struct workqueue_struct *oae_wq;

/**
 * oae_works_start() - make the queue of the module's works
 *
 * A work may wait for a lock of its node or for RTNL. It is not to stall those of others,
 * which share the kernel's own queues.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_works_start(void)
{
	/* WQ_UNBOUND: any CPU will do, and 7.x warns without a choice. */
	oae_wq = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	return oae_wq ? 0 : -ENOMEM;
}

/**
 * oae_works_stop() - free the queue of the module's works
 *
 * Context: process, may sleep; all works are cancelled.
 */
void oae_works_stop(void)
{
	destroy_workqueue(oae_wq);
}

/**
 * oae_node() - the node of a namespace
 * @net: the namespace, which the caller keeps alive
 *
 * Context: any.
 *
 * Return: its node; NULL while the namespace is being set up.
 */
struct oae_node *oae_node(struct net *net)
{
	return net_generic(net, oae_net_id);
}

/**
 * oae_node_current() - the node of the current task's namespace
 *
 * The task must not be exiting: it has no namespace then.
 *
 * Context: process.
 *
 * Return: the node.
 */
struct oae_node *oae_node_current(void)
{
	return oae_node(current->nsproxy->net_ns);
}
EXPORT_SYMBOL_FOR_BENCH(oae_node_current);

/* Frames come once a port is bound, and find this then. */
static int node_found_make(struct oae_node *node)
{
	int cpu;

	if (node->found)
		return 0;
	node->found = alloc_percpu_gfp(struct oae_found_last, GFP_KERNEL_ACCOUNT);
	if (!node->found)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		local_lock_init(per_cpu_ptr(&node->found->lock, cpu));
	return 0;
}

/**
 * oae_node_use() - allocate what a node needs once it has a port
 * @node: the node
 *
 * A namespace without a port never pays for counters, event log, news, neighbours and
 * what finds tags fast. They stay until the namespace is gone, charged to the memory cgroup of
 * the task that binds the first port.
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_node_use(struct oae_node *node)
{
	lockdep_assert_held(&node->dev_lock);
	return oae_stats_make(node) ?: oae_evlog_make(node) ?:
	       node_found_make(node) ?: oae_news_make(node) ?: oae_neigh_make(node) ?:
	       oae_ports_make(node);
}

/**
 * oae_node_swap_id() - set the id of a node (protocol 4.13)
 * @node: the node
 * @id: the id; 0: that of the first port that it has ever bound, or will bind. Set to
 *	the one before, whatever is returned
 * @force: even if the node has a port
 *
 * An id that others may have heard stays. What is set already may be set again.
 *
 * Context: process, may sleep; takes RTNL.
 *
 * Return: 0; -EBUSY the node has a port.
 */
int oae_node_swap_id(struct oae_node *node, u64 *id, bool force)
{
	u64 before, want;
	int err = 0;

	rtnl_lock();
	before = node->knobs.id;
	want = *id ?: node->auto_id;
	if (want != before && !force && !list_empty(&node->ports))
		err = -EBUSY;
	else
		node->knobs.id = want;
	rtnl_unlock();
	*id = before;
	return err;
}

/**
 * oae_node_first_port() - a port is being bound: the first one gives the node its id
 * @node: the node
 * @mac: address of the port
 *
 * Context: under RTNL.
 */
void oae_node_first_port(struct oae_node *node, const u8 *mac)
{
	ASSERT_RTNL();
	if (!node->auto_id)
		node->auto_id = oae_id_of_mac(mac);
	if (!node->knobs.id)
		node->knobs.id = node->auto_id;
}

/**
 * oae_node_init() - initialise the node of a new namespace
 * @node: the node, zeroed, not published yet
 * @net: the namespace
 *
 * The layers above initialise their own members: tags, knobs.
 *
 * Context: process, may sleep.
 */
void oae_node_init(struct oae_node *node, struct net *net)
{
	node->net = net;
	INIT_LIST_HEAD(&node->list);
	mutex_init(&node->dev_lock);
	mutex_init(&node->knob_lock);
	INIT_LIST_HEAD(&node->ports);
	INIT_LIST_HEAD(&node->udps);
	seqlock_init(&node->addr_lock);
	xa_init_flags(&node->regions, XA_FLAGS_ACCOUNT);
	xa_init_flags(&node->by_dev, XA_FLAGS_ACCOUNT);
	get_random_bytes(&node->cookie_key, sizeof(node->cookie_key));
	get_random_bytes(&node->inc, sizeof(node->inc));
	node->inc |= !node->inc;
	atomic64_set(&node->stranger_window, 0);
	atomic64_set(&node->retired, 0);
	mutex_init(&node->reader);
	init_waitqueue_head(&node->noc_wait);
	init_waitqueue_head(&node->tags_wait);
	skb_queue_head_init(&node->step_q);
}

/**
 * oae_node_exit() - free what is left of a node
 * @node: the node, whose counters, event log and news are no longer used
 *
 * Context: process, may sleep.
 */
void oae_node_exit(struct oae_node *node)
{
	xa_destroy(&node->regions);
	if (node->by_addr.ht.tbl)
		rhltable_destroy(&node->by_addr);
	oae_neigh_exit(node);
	oae_news_exit(node);
	free_percpu(node->found);
	free_percpu(node->evlog);
	free_percpu(node->stats);
}
