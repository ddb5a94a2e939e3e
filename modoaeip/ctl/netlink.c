// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "oaegw": the knobs of the gateway of the socket's
 * namespace, and which was its last event (base/event.c). doc/netlink/oaegw.yaml specifies it.
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

static int netlink_event_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;
	u64 number, missed;
	void *hdr;

	number = oaeip_event_last(netlink_gw(skb), &missed);
	reply = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	hdr = genlmsg_put_reply(reply, info, &netlink_family, 0,
				OAE_NL_GW_EVENT_GET);
	if (!hdr ||
	    nla_put_u64_64bit(reply, OAE_NL_EVENT_NUMBER, number,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(reply, OAE_NL_EVENT_MISSED, missed,
			      OAE_NL_EVENT_PAD)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, hdr);
	return genlmsg_reply(reply, info);
}

/* No attribute is taken. Not every kernel says so where there is no policy. */
static const struct nla_policy netlink_no_policy[] = {
	[1] = { .type = NLA_REJECT },
};

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
	}, {
		.cmd = OAE_NL_GW_EVENT_GET,
		.doit = netlink_event_get,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	},
};

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
