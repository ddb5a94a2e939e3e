// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "oaegw": the knobs of the gateway of the socket's
 * namespace. doc/netlink/oaegw.yaml specifies it.
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

static int netlink_knobs_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return oae_knob_netlink_dump(&netlink_family, netlink_gw(cb->skb), skb,
				     cb);
}

static int netlink_knobs_set(struct sk_buff *skb, struct genl_info *info)
{
	return oae_knob_netlink_set(&netlink_family, netlink_gw(skb), info);
}

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = OAE_NL_GW_KNOB_GET,
		.doit = netlink_knob_get,
		.start = oae_knob_netlink_start,
		.dumpit = netlink_knobs_dump,
		.policy = oae_knob_get_policy,
		.maxattr = ARRAY_SIZE(oae_knob_get_policy) - 1,
	}, {
		.cmd = OAE_NL_GW_KNOB_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_knobs_set,
		.policy = oae_knob_set_policy,
		.maxattr = ARRAY_SIZE(oae_knob_set_policy) - 1,
	},
};

static struct genl_family netlink_family __ro_after_init = {
	.name = OAE_NL_GW_FAMILY,
	.version = OAE_NL_GW_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
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
	return genl_register_family(&netlink_family);
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
	genl_unregister_family(&netlink_family);
}
