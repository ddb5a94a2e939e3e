// SPDX-License-Identifier: GPL-2.0
/*
 * Start-up in order and its exact unwinding: of a gateway, with its network
 * namespace; of the module, at load and unload.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <net/net_namespace.h>

#include "ctl/ctl.h"
#include "../include/oae_version.h"

static int __net_init oaeip_gw_init(struct net *net)
{
	struct oaeip_gw *gw = oaeip_gw(net);
	int err;

	gw->net = net;
	mutex_init(&gw->knob_lock);
	atomic_set(&gw->serial, 0);
	atomic64_set(&gw->zone_window, 0);
	atomic64_set(&gw->tunnel_window, 0);
	oaeip_serve_setup(gw);
	oaeip_zone_setup(gw);
	oaeip_knobs_init(gw);

	/* Charged to the memory cgroup of whoever makes the namespace. */
	gw->stats = alloc_percpu_gfp(struct oaeip_stats, GFP_KERNEL_ACCOUNT);
	if (!gw->stats)
		return -ENOMEM;
	err = oaeip_procfs_init(gw);
	if (err) {
		free_percpu(gw->stats);
		return err;
	}
	/* Last: from here on notifiers and knobs use the gateway. */
	WRITE_ONCE(gw->ready, true);
	return 0;
}

static void __net_exit oaeip_gw_exit(struct net *net)
{
	struct oaeip_gw *gw = oaeip_gw(net);

	oaeip_procfs_exit(gw);
	oaeip_zone_stop(gw);
}

static void __net_exit oaeip_gw_exit_batch(struct list_head *nets)
{
	struct net *net;

	synchronize_rcu();	/* readers that saw ready have queued gw->reconf */
	list_for_each_entry(net, nets, exit_list)
		oaeip_zone_end(oaeip_gw(net));
	list_for_each_entry(net, nets, exit_list)
		free_percpu(oaeip_gw(net)->stats);
}

/*
 * A pernet device, not a subsystem: devices exit first when a namespace is
 * destroyed, so the net devices can still carry the BYE.
 */
static struct pernet_operations oaeip_net_ops = {
	.init = oaeip_gw_init,
	.exit = oaeip_gw_exit,
	.exit_batch = oaeip_gw_exit_batch,
	.id = &oaeip_net_id,
	.size = sizeof(struct oaeip_gw),
};

static int __init oaeip_init(void)
{
	int err;

	err = oaeip_port_init();
	if (err)
		return err;
	err = oaeip_kick_init();
	if (err)
		return err;
	err = register_pernet_device(&oaeip_net_ops);
	if (err)
		goto kick_exit;
	err = register_netdevice_notifier(&oaeip_netdev_nb);
	if (err)
		goto unregister_pernet;
	err = oaeip_watch_addresses();
	if (err)
		goto unwatch_devices;
	err = oaeip_knobs_start();
	if (err)
		goto unwatch_addresses;
	err = oaeip_netlink_init();
	if (err)
		goto unwatch_addresses;
	pr_info("loaded\n");
	return 0;

unwatch_addresses:
	oaeip_knobs_stop();
	oaeip_zone_unload();
	oaeip_unwatch_addresses();
unwatch_devices:
	unregister_netdevice_notifier(&oaeip_netdev_nb);
unregister_pernet:
	unregister_pernet_device(&oaeip_net_ops);
kick_exit:
	oaeip_kick_exit();
	rcu_barrier();
	return err;
}

static void __exit oaeip_exit(void)
{
	oaeip_netlink_exit();
	oaeip_knobs_stop();
	oaeip_zone_unload();
	oaeip_unwatch_addresses();
	unregister_netdevice_notifier(&oaeip_netdev_nb);
	unregister_pernet_device(&oaeip_net_ops);
	oaeip_kick_exit();
	rcu_barrier();		/* kfree_rcu() and call_rcu() still pending */
	pr_info("unloaded\n");
}

module_init(oaeip_init);
module_exit(oaeip_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("the modoae authors");
MODULE_DESCRIPTION("Gateway that carries atomic links between Ethernet zones over IP");
MODULE_VERSION(OAE_RELEASE);
