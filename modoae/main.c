// SPDX-License-Identifier: GPL-2.0
/*
 * Start-up in order, and its exact unwinding: of a node when a namespace is created
 * and destroyed, of the module when it is loaded and unloaded.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "ctl/ctl.h"
#include "../include/oae_version.h"

static LIST_HEAD(oae_nodes);
static DEFINE_MUTEX(oae_nodes_lock);

static int __net_init oae_net_init(struct net *net)
{
	struct oae_node *node = oae_node(net);
	int err;

	oae_node_init(node, net);
	node->news_send = oae_event_send;
	node->neigh_linked = oae_tags_to;
	oae_unclaimed_init(node);
	oae_changes_init(node);
	oae_release_init(node);
	oae_target_init(node);

	err = oae_knobs_init(node);
	if (err)
		return err;
	err = oae_tags_init(node, oae_tag_timer, oae_tag_free);
	if (err)
		goto exit_knobs;
	err = oae_procfs_init(node);
	if (err)
		goto exit_tags;

	mutex_lock(&oae_nodes_lock);
	list_add_tail(&node->list, &oae_nodes);
	mutex_unlock(&oae_nodes_lock);
	return 0;

exit_tags:
	oae_tags_exit(node);
exit_knobs:
	oae_knobs_exit(node);
	return err;
}

/*
 * Remove the nodes of dying namespaces from the list, and their proc files. No
 * program can use these nodes any more. True if a node has a port or the device of one,
 * and so perhaps links to close.
 */
static bool __net_exit oae_nodes_leave(struct list_head *nets)
{
	struct oae_node *node;
	bool any = false;
	struct net *net;

	list_for_each_entry(net, nets, exit_list) {
		node = oae_node(net);
		mutex_lock(&oae_nodes_lock);
		list_del(&node->list);
		mutex_unlock(&oae_nodes_lock);
		oae_procfs_exit(node);
		oae_release_exit(node);
	}
	/* With RTNL held no removal of a port is under way. */
	rtnl_lock();
	list_for_each_entry(net, nets, exit_list) {
		node = oae_node(net);
		if (list_empty(&node->ports) && list_empty(&node->udps) && !node->every)
			continue;
		WRITE_ONCE(node->knobs.shut, true);
		any = true;
	}
	rtnl_unlock();
	return any;
}

/* Close the links while the devices still exist; do not wait for the peers. */
static void __net_exit oae_nodes_close(struct list_head *nets)
{
	struct net *net;
	unsigned int n;

	/* Afterwards every reader that saw `shut` false has made its tag. */
	synchronize_net();
	list_for_each_entry(net, nets, exit_list)
		oae_links_close(oae_node(net));
	do {
		LIST_HEAD(going);

		n = 0;
		rtnl_lock();
		list_for_each_entry(net, nets, exit_list)
			n += oae_ports_collect(oae_node(net), &going, true, OAE_BATCH - n);
		oae_ports_detach(&going, OAE_E_SHUTDOWN);
		rtnl_unlock();
		cond_resched();
	} while (n == OAE_BATCH);
	do {
		n = 0;
		rtnl_lock();
		list_for_each_entry(net, nets, exit_list)
			n += oae_udp_sweep(oae_node(net), OAE_BATCH - n);
		rtnl_unlock();
		cond_resched();
	} while (n == OAE_BATCH);
}

/* Namespaces that are destroyed together share the waits. */
static void __net_exit oae_net_exit_batch(struct list_head *nets)
{
	struct oae_node *node;
	struct net *net;

	if (oae_nodes_leave(nets))
		oae_nodes_close(nets);
	list_for_each_entry(net, nets, exit_list) {
		node = oae_node(net);
		oae_changes_exit(node);
		oae_step_purge(node, NULL);
		oae_noc_purge(node);
		oae_target_exit(node);
		oae_tags_exit(node);
		oae_aliases_exit(node);
		oae_guesses_exit(node);
	}
	rcu_barrier();		/* tags being freed may count in the node */
	list_for_each_entry(net, nets, exit_list) {
		oae_knobs_exit(oae_node(net));
		oae_node_exit(oae_node(net));
	}
}

/*
 * Registered as a pernet device, not a pernet subsystem: a dying namespace exits
 * the pernet devices first, so its net devices can still send a CLOSE.
 */
static struct pernet_operations oae_net_ops = {
	.init = oae_net_init,
	.exit_batch = oae_net_exit_batch,
	.id = &oae_net_id,
	.size = sizeof(struct oae_node),
};

/*
 * Close the links of all nodes; the nodes share the wait of linger_ms. Meanwhile namespaces come
 * and go: a node stays in its place on the list as long as its namespace is kept.
 */
static void oae_linger(void)
{
	unsigned long start = jiffies;
	struct oae_node *node;
	unsigned int ms, spent;

	mutex_lock(&oae_nodes_lock);
	list_for_each_entry(node, &oae_nodes, list)
		WRITE_ONCE(node->knobs.shut, true);
	synchronize_net();
	list_for_each_entry(node, &oae_nodes, list)
		oae_links_close(node);
	list_for_each_entry(node, &oae_nodes, list) {
		ms = READ_ONCE(node->knobs.linger_ms);
		spent = jiffies_to_msecs(jiffies - start);
		if (spent >= ms || !atomic_read(&node->nopen) || !maybe_get_net(node->net))
			continue;
		mutex_unlock(&oae_nodes_lock);
		wait_event_timeout(node->tags_wait, !atomic_read(&node->nopen),
				   msecs_to_jiffies(ms - spent));
		mutex_lock(&oae_nodes_lock);
		put_net(node->net);
	}
	mutex_unlock(&oae_nodes_lock);
}

/*
 * Release all ports of all nodes at once, and their UDP devices. The notifier would do it one by
 * one as it is unregistered, and the end of a node would do the devices: oae_nodes_leave().
 */
static void oae_release(void)
{
	struct oae_node *node;
	unsigned int n;

	mutex_lock(&oae_nodes_lock);
	do {
		LIST_HEAD(going);

		n = 0;
		rtnl_lock();
		list_for_each_entry(node, &oae_nodes, list)
			n += oae_ports_collect(node, &going, true, OAE_BATCH - n);
		oae_ports_detach(&going, OAE_E_SHUTDOWN);
		rtnl_unlock();
		cond_resched();
	} while (n == OAE_BATCH);
	do {
		n = 0;
		rtnl_lock();
		list_for_each_entry(node, &oae_nodes, list)
			n += oae_udp_sweep(node, OAE_BATCH - n);
		rtnl_unlock();
		cond_resched();
	} while (n == OAE_BATCH);
	mutex_unlock(&oae_nodes_lock);
}

static void __init oae_log_loaded(void)
{
	struct oae_node *node = oae_node_current();
	struct oae_port *port;
	bool any = false;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list) {
		pr_info("loaded, port %s %pM\n", port->dev->name,
			port->dev->dev_addr);
		any = true;
	}
	rcu_read_unlock();
	if (!any)
		pr_info("loaded, no port\n");
}

static int __init oae_init(void)
{
	int err;

	err = oae_works_start();
	if (err)
		return err;
	err = oae_tags_start();
	if (err)
		goto stop_works;
	err = oae_users_start();
	if (err)
		goto stop_tags;
	oae_xmit_init();
	err = oae_udp_init();
	if (err)
		goto stop_users;
	err = register_pernet_device(&oae_net_ops);
	if (err)
		goto exit_udp;
	err = register_netdevice_notifier(&oae_netdev_nb);
	if (err)
		goto unregister_pernet;
	err = oae_params_start();
	if (err)
		goto stop_params;
	err = oae_netlink_init();
	if (err)
		goto stop_params;
	/*
	 * The files come last: an open file does not keep a module whose init
	 * fails. oae_debugfs_init() does not fail.
	 */
	err = misc_register(&oae_chardev);
	if (err)
		goto exit_netlink;
	oae_debugfs_init();
	oae_log_loaded();
	return 0;

exit_netlink:
	oae_netlink_exit();
stop_params:
	oae_params_stop();
	unregister_netdevice_notifier(&oae_netdev_nb);
unregister_pernet:
	unregister_pernet_device(&oae_net_ops);
	rcu_barrier();
exit_udp:
	oae_udp_exit();
stop_users:
	oae_xmit_exit();
	oae_users_stop();
stop_tags:
	oae_tags_stop();
stop_works:
	oae_works_stop();
	return err;
}

static void __exit oae_exit(void)
{
	oae_netlink_exit();
	oae_params_stop();
	oae_linger();
	misc_deregister(&oae_chardev);
	oae_debugfs_exit();
	oae_release();
	unregister_netdevice_notifier(&oae_netdev_nb);
	unregister_pernet_device(&oae_net_ops);
	rcu_barrier();		/* call_rcu() functions are in this module */
	oae_udp_exit();
	oae_xmit_exit();
	oae_users_stop();
	oae_tags_stop();
	oae_works_stop();
	pr_info("unloaded\n");
}

module_init(oae_init);
module_exit(oae_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("the modoae authors");
MODULE_DESCRIPTION("Atomic links over Ethernet");
MODULE_VERSION(OAE_RELEASE);
