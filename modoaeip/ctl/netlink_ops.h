/* SPDX-License-Identifier: GPL-2.0 */
/* Made by tools/netlinkgen of doc/netlink/oaegw.yaml. Included behind the functions it names. */

static const struct nla_policy netlink_knob_get_policy[] = {
	[OAE_NL_KNOB_NAME] = { .type = NLA_NUL_STRING, .len = 63 },
};

static const struct nla_policy netlink_setting_policy[] = {
	[OAE_NL_KNOB_NAME] = { .type = NLA_NUL_STRING, .len = 63 },
	[OAE_NL_KNOB_VALUE] = { .type = NLA_NUL_STRING, .len = 4095 },
};

static const struct nla_policy netlink_knob_set_policy[] = {
	[OAE_NL_KNOB_SETTING] = NLA_POLICY_NESTED(netlink_setting_policy),
};

static const struct nla_policy netlink_no_policy[] = {
	[1] = { .type = NLA_REJECT },
};

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = OAE_NL_GW_KNOB_GET,
		.doit = netlink_knob_get,
		.start = oae_knob_netlink_start,
		.dumpit = netlink_knob_get_dump,
		.policy = netlink_knob_get_policy,
		.maxattr = ARRAY_SIZE(netlink_knob_get_policy) - 1,
	}, {
		.cmd = OAE_NL_GW_KNOB_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_knob_set,
		.policy = netlink_knob_set_policy,
		.maxattr = ARRAY_SIZE(netlink_knob_set_policy) - 1,
	}, {
		.cmd = OAE_NL_GW_EVENT_GET,
		.doit = netlink_event_get,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	},
};
