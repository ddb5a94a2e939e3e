// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "oaegw": the knobs of the gateway of the socket's
 * namespace, and which was its last event (base/event.c). doc/netlink/oaegw.yaml specifies it;
 * netlink_ops.h is made of that.
 */

#include <linux/module.h>
#include <net/sock.h>

#include "../../modoae/base/knob_netlink.h"
#include "ctl.h"

static struct genl_family netlink_family;

static struct oaeip_gw *netlink_gw(const struct sk_buff *skb)
{
	return oaeip_gw(sock_net(skb->sk));
}

static int netlink_knob_get(struct sk_buff *skb, struct genl_info *info)
{
	return oae_knob_netlink_get(&netlink_family, netlink_gw(skb), info);
}

static int netlink_knob_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return oae_knob_netlink_dump(&netlink_family, netlink_gw(cb->skb), skb,
				     cb);
}

static int netlink_knob_set(struct sk_buff *skb, struct genl_info *info)
{
	return oae_knob_netlink_set(&netlink_family, netlink_gw(skb), info);
}

static int netlink_event_get(struct sk_buff *skb, struct genl_info *info)
{
	u64 missed, number = oaeip_event_last(netlink_gw(skb), &missed);

	return oae_netlink_last_event(&netlink_family, info, number, missed);
}

#include "netlink_ops.h"

/* base/event.c sends to the first, and only one. */
static const struct genl_multicast_group netlink_groups[] = {
	{ .name = OAE_NL_GW_GROUP },
};

static struct genl_family netlink_family __ro_after_init = {
	.name = OAE_NL_GW_FAMILY,
	.version = OAE_NL_GW_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.mcgrps = netlink_groups,
	.n_mcgrps = ARRAY_SIZE(netlink_groups),
};

/**
 * oaeip_netlink_init() - make the family known to user space
 *
 * The knobs must act on gateways already.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int __init oaeip_netlink_init(void)
{
	int err = genl_register_family(&netlink_family);

	if (!err)
		oaeip_event_family(&netlink_family);
	return err;
}

/**
 * oaeip_netlink_exit() - remove the family
 *
 * Waits for requests under way. A dump keeps the module until it has ended.
 *
 * Context: process, may sleep.
 */
void oaeip_netlink_exit(void)
{
	oaeip_event_family(NULL);
	genl_unregister_family(&netlink_family);
}
