// SPDX-License-Identifier: GPL-2.0
/*
 * The node: what the module keeps of a network namespace. What is not accepted
 * of an administrator is logged here too, for all layers.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "base.h"

unsigned int oae_net_id __read_mostly;

/**
 * oae_node() - the node of a namespace
 * @net: the namespace
 *
 * Context: any, while the namespace lives.
 *
 * Return: its node; NULL while the namespace is being made.
 */
struct oae_node *oae_node(struct net *net)
{
	return net_generic(net, oae_net_id);
}

/**
 * oae_node_current() - the node of whoever calls
 *
 * Context: process, in a task that is not exiting.
 *
 * Return: the node of its namespace.
 */
struct oae_node *oae_node_current(void)
{
	return oae_node(current->nsproxy->net_ns);
}
EXPORT_SYMBOL_FOR_BENCH(oae_node_current);

/**
 * oae_node_use() - make what a node needs as soon as it has a port
 * @node: which; a namespace that has no port costs little
 *
 * Context: process, may sleep; under node->dev_lock. It stays until the namespace
 * goes, and is counted against the memory cgroup of whoever binds the port.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_node_use(struct oae_node *node)
{
	lockdep_assert_held(&node->dev_lock);
	return oae_stats_make(node) ?: oae_evlog_make(node);
}

/**
 * oae_node_init() - the state of a new namespace
 * @node: its node, zeroed
 * @net: the namespace
 *
 * Those above set up what is theirs of it: tags, what knobs say.
 *
 * Context: process; nobody else knows the node yet.
 */
void oae_node_init(struct oae_node *node, struct net *net)
{
	node->net = net;
	INIT_LIST_HEAD(&node->list);
	mutex_init(&node->dev_lock);
	INIT_LIST_HEAD(&node->ports);
	seqlock_init(&node->addr_lock);
	xa_init(&node->regions);
	get_random_bytes(&node->cookie_key, sizeof(node->cookie_key));
	atomic64_set(&node->stranger_window, 0);
	mutex_init(&node->reader);
	init_waitqueue_head(&node->noc_wait);
	init_waitqueue_head(&node->tags_wait);
	skb_queue_head_init(&node->step_q);
}

/**
 * oae_node_exit() - free what is left of a node
 * @node: which; nothing is counted or noted in it any more
 *
 * Context: process, may sleep.
 */
void oae_node_exit(struct oae_node *node)
{
	xa_destroy(&node->regions);
	oae_evlog_exit(node);
	free_percpu(node->stats);
}

/**
 * oae_refuse() - log a value that is not accepted, if it was the administrator's
 * @knob: its knob
 * @val: the value
 * @err: the negative errno that the writer gets
 * @accepted: what would be accepted, as the rest of a sentence
 *
 * Context: process.
 *
 * Return: @err.
 */
int oae_refuse(const char *knob, const char *val, int err,
	       const char *accepted)
{
	/* More than the usual 10: a script that sets all knobs shall see all. */
	static DEFINE_RATELIMIT_STATE(rs, 5 * HZ, 100);

	if (oae_may_log_current() && __ratelimit(&rs))
		pr_err("%s: \"%*pE\" refused (%d): %s\n", knob,
		       (int)min_t(size_t, strlen(val), 64), val, err,
		       accepted);
	return err;
}
