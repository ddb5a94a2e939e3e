/* SPDX-License-Identifier: GPL-2.0 */
/* Made by tools/netlinkgen of doc/netlink/oae.yaml. Included behind the functions it names. */

static const struct nla_policy netlink_link_get_policy[] = {
	[OAE_NL_LINK_PORT] = { .type = NLA_NUL_STRING, .len = 15 },
	[OAE_NL_LINK_PEER] = NLA_POLICY_EXACT_LEN(6),
	[OAE_NL_LINK_VC] = { .type = NLA_U8 },
};

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

static const struct nla_policy netlink_port_add_policy[] = {
	[OAE_NL_PORT_NAME] = { .type = NLA_NUL_STRING, .len = 55 },
};

static const struct nla_policy netlink_path_set_policy[] = {
	[OAE_NL_PATH_PORT] = { .type = NLA_NUL_STRING, .len = 15 },
	[OAE_NL_PATH_PEER] = NLA_POLICY_EXACT_LEN(6),
	[OAE_NL_PATH_VC] = { .type = NLA_U8 },
	[OAE_NL_PATH_BY] = { .type = NLA_NUL_STRING, .len = 15 },
	[OAE_NL_PATH_TO] = NLA_POLICY_EXACT_LEN(6),
	[OAE_NL_PATH_RANK] = { .type = NLA_NUL_STRING, .len = 15 },
};

static const struct genl_ops netlink_ops[] = {
	{
		.cmd = OAE_NL_LINK_GET,
		.start = netlink_links_start,
		.dumpit = netlink_link_get_dump,
		.done = netlink_links_done,
		.policy = netlink_link_get_policy,
		.maxattr = ARRAY_SIZE(netlink_link_get_policy) - 1,
	}, {
		.cmd = OAE_NL_LINK_CLOSE,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_link_close,
		.policy = netlink_link_get_policy,
		.maxattr = ARRAY_SIZE(netlink_link_get_policy) - 1,
	}, {
		.cmd = OAE_NL_KNOB_GET,
		.doit = netlink_knob_get,
		.start = netlink_knobs_start,
		.dumpit = netlink_knob_get_dump,
		.policy = netlink_knob_get_policy,
		.maxattr = ARRAY_SIZE(netlink_knob_get_policy) - 1,
	}, {
		.cmd = OAE_NL_KNOB_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_knob_set,
		.policy = netlink_knob_set_policy,
		.maxattr = ARRAY_SIZE(netlink_knob_set_policy) - 1,
	}, {
		.cmd = OAE_NL_PORT_GET,
		.start = netlink_dump_begin,
		.dumpit = netlink_port_get_dump,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	}, {
		.cmd = OAE_NL_PORT_ADD,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_port_add,
		.policy = netlink_port_add_policy,
		.maxattr = ARRAY_SIZE(netlink_port_add_policy) - 1,
	}, {
		.cmd = OAE_NL_PORT_DEL,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_port_del,
		.policy = netlink_port_add_policy,
		.maxattr = ARRAY_SIZE(netlink_port_add_policy) - 1,
	}, {
		.cmd = OAE_NL_STATS_GET,
		.start = netlink_dump_begin,
		.dumpit = netlink_stats_get_dump,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	}, {
		.cmd = OAE_NL_EVENT_GET,
		.doit = netlink_event_get,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	}, {
		.cmd = OAE_NL_NEIGHBOUR_GET,
		.start = netlink_dump_begin,
		.dumpit = netlink_neighbour_get_dump,
		.policy = netlink_no_policy,
		.maxattr = ARRAY_SIZE(netlink_no_policy) - 1,
	}, {
		.cmd = OAE_NL_PATH_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = netlink_path_set,
		.policy = netlink_path_set_policy,
		.maxattr = ARRAY_SIZE(netlink_path_set_policy) - 1,
	},
};
