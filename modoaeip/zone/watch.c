// SPDX-License-Identifier: GPL-2.0
/* Notifiers: changes of net devices and of this host's addresses. */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "zone.h"

/* --- devices ------------------------------------------------------------------- */

static int watch_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct oaeip_gw *gw = oaeip_gw(dev_net(dev));
	struct oaeip_port *port;

	if (!gw || !READ_ONCE(gw->ready))
		return NOTIFY_DONE;
	port = rtnl_dereference(gw->port);
	if (!port || port->dev != dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_PRE_TYPE_CHANGE:	/* Ethernet no more, perhaps; or that is refused */
		oaeip_port_hush(gw);
		break;
	case NETDEV_POST_TYPE_CHANGE:
		if (oae_dev_is_ethernet(dev))
			break;
		fallthrough;
	case NETDEV_UNREGISTER:	/* or moved to another namespace, or module unload */
		if (oaeip_says(gw, 0) &&
		    (event == NETDEV_POST_TYPE_CHANGE ||
		     dev->reg_state == NETREG_UNREGISTERING))
			pr_warn("device %s is gone: standing by\n", dev->name);
		oaeip_port_gone(gw);
		break;
	case NETDEV_CHANGEADDR:	/* nodes know the gateway by this address */
		oaeip_reconfigure(gw);
		break;
	case NETDEV_UP:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
		oaeip_serve_refresh(gw);
		break;
	}
	return NOTIFY_DONE;
}

/*
 * When it is unregistered it is called with NETDEV_UNREGISTER once more for every
 * device, so no device is bound afterwards.
 */
struct notifier_block oaeip_netdev_nb = {
	.notifier_call = watch_netdev_event,
};

/* --- addresses that come and go ----------------------------------------------- */

static int watch_inet_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct in_ifaddr *ifa = ptr;

	oaeip_kick_reconf(oaeip_gw(dev_net(ifa->ifa_dev->dev)));
	return NOTIFY_DONE;
}

static struct notifier_block inet_nb = {
	.notifier_call = watch_inet_event,
};

#if IS_ENABLED(CONFIG_IPV6)
/*
 * Called when an address is added. The address is usable only after duplicate address
 * detection, which calls nobody: the periodic work checks for that.
 */
static int watch_inet6_event(struct notifier_block *nb, unsigned long event,
			     void *ptr)
{
	struct inet6_ifaddr *ifa = ptr;

	oaeip_kick_reconf(oaeip_gw(dev_net(ifa->idev->dev)));
	return NOTIFY_DONE;
}

static struct notifier_block inet6_nb = {
	.notifier_call = watch_inet6_event,
};
#endif

/**
 * oaeip_watch_addresses() - register the address notifiers
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -errno of the registration.
 */
int oaeip_watch_addresses(void)
{
	int err;

	err = register_inetaddr_notifier(&inet_nb);
	if (err)
		return err;
#if IS_ENABLED(CONFIG_IPV6)
	err = register_inet6addr_notifier(&inet6_nb);
	if (err)
		unregister_inetaddr_notifier(&inet_nb);
#endif
	return err;
}

/**
 * oaeip_unwatch_addresses() - unregister the address notifiers
 *
 * Context: process, may sleep.
 */
void oaeip_unwatch_addresses(void)
{
#if IS_ENABLED(CONFIG_IPV6)
	unregister_inet6addr_notifier(&inet6_nb);
#endif
	unregister_inetaddr_notifier(&inet_nb);
}
