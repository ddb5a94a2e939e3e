// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family "oae": links, knobs, ports, neighbours and counters of the
 * node of the socket's namespace. include/uapi/oae_netlink.h has the commands,
 * doc/netlink/oae.yaml specifies them.
 *
 * netlink_ops.h is made of that: policies, which list what a request may have, and commands.
 * Requests run in parallel, but the core of generic netlink holds a lock meanwhile
 * that loading a module with a family waits for. So a request waits for nobody
 * longer than a second.
 */

#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/sock.h>

#include "../base/knob_netlink.h"
#include "ctl.h"
#include "netlink.h"

static struct oae_node *netlink_node(const struct sk_buff *skb)
{
	return oae_node(sock_net(skb->sk));
}

/* The header of one message of a dump. */
static void *netlink_dump_put(struct sk_buff *skb, struct netlink_callback *cb,
			      u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &oae_netlink_family, NLM_F_MULTI, cmd);
}

/* End a message of a dump, which may have not fitted. */
static int netlink_dump_end(struct sk_buff *skb, struct netlink_callback *cb, void *hdr,
			    bool fits)
{
	if (!fits) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	/* NLM_F_DUMP_INTR is said once, so in a message that stays. */
	genl_dump_check_consistent(cb, hdr);
	genlmsg_end(skb, hdr);
	return 0;
}

/* A message of a dump: all fields that @view has. */
static int netlink_dump_fields(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			       const struct oae_field *fields, const void *view)
{
	void *hdr = netlink_dump_put(skb, cb, cmd);

	return hdr ? netlink_dump_end(skb, cb, hdr, oae_fields_put(fields, skb, view)) : -EMSGSIZE;
}

/* Begin a dump. A module whose init fails goes, whoever has a dump half read. */
static int netlink_dump_begin(struct netlink_callback *cb)
{
	return READ_ONCE(THIS_MODULE->state) == MODULE_STATE_LIVE ? 0 : -ENODEV;
}

/* --- links -------------------------------------------------------------------- */

/* A dump of links: where it is, and which links it shows. */
struct netlink_links {
	struct rhashtable_iter walk;
	bool done;
	char port[IFNAMSIZ];
	u64 kid;
	u64 kid_mask;
};

static u64 netlink_link_kid(struct nlattr **attrs, u64 *mask)
{
	static const u8 none[ETH_ALEN];
	const struct nlattr *peer = attrs[OAE_NL_LINK_PEER];
	const struct nlattr *vc = attrs[OAE_NL_LINK_VC];

	*mask = (vc ? 0xffULL << 56 : 0) | (peer ? GENMASK_ULL(47, 0) : 0);
	return oae_kid(vc ? nla_get_u8(vc) : 0, peer ? nla_data(peer) : none);
}

static int netlink_links_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = oae_dump_attrs(cb);
	struct netlink_links *d;
	int err;

	err = netlink_dump_begin(cb);
	if (err)
		return err;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	if (attrs[OAE_NL_LINK_PORT])
		strscpy(d->port, nla_data(attrs[OAE_NL_LINK_PORT]),
			sizeof(d->port));
	d->kid = netlink_link_kid(attrs, &d->kid_mask);
	rhashtable_walk_enter(&netlink_node(cb->skb)->tags, &d->walk);
	cb->args[0] = (long)d;
	cb->seq = 1;
	return 0;
}

static int netlink_links_done(struct netlink_callback *cb)
{
	struct netlink_links *d = (void *)cb->args[0];

	rhashtable_walk_exit(&d->walk);
	kfree(d);
	return 0;
}

static int netlink_link_put(struct sk_buff *skb, struct netlink_callback *cb,
			    struct oae_tag *tag)
{
	struct oae_tag_view v;

	oae_tag_look(tag, &v);
	return netlink_dump_fields(skb, cb, OAE_NL_LINK_GET, oae_link_fields, &v);
}

static bool netlink_link_wanted(const struct netlink_links *d,
				const struct oae_tag *tag)
{
	return (tag->key.kid & d->kid_mask) == (d->kid & d->kid_mask) &&
	       (!d->port[0] || !strncmp(d->port, tag->key.port->dev->name,
					IFNAMSIZ));
}

static int netlink_link_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct netlink_links *d = (void *)cb->args[0];
	const struct rhash_head *at;
	struct oae_tag *tag;
	int err = 0;

	if (d->done)
		return 0;
	/*
	 * Since the last message the table may have been resized: links come once
	 * more. Or the link at which the walk stopped has gone: the walk may miss one.
	 */
	at = d->walk.p;
	if (rhashtable_walk_start_check(&d->walk) || (at && !d->walk.p))
		cb->seq++;
	/* The link that did not fit into the last message, or the first one. */
	tag = rhashtable_walk_peek(&d->walk);
	for (; tag; tag = rhashtable_walk_next(&d->walk)) {
		if (IS_ERR(tag)) {
			cb->seq++;	/* resized just now */
			continue;
		}
		err = netlink_link_wanted(d, tag) ?
		      netlink_link_put(skb, cb, tag) : 0;
		if (err)
			break;
	}
	rhashtable_walk_stop(&d->walk);
	d->done = !err;
	return skb->len ?: err;
}

static int netlink_link_close(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *port = info->attrs[OAE_NL_LINK_PORT];
	const struct nlattr *peer = info->attrs[OAE_NL_LINK_PEER];
	const struct nlattr *vc = info->attrs[OAE_NL_LINK_VC];
	struct oae_addr addr = { .set = true };
	int err;

	if (!peer) {
		NL_SET_ERR_MSG(info->extack, "needs the address of a peer");
		return -EINVAL;
	}
	memcpy(addr.mac, nla_data(peer), ETH_ALEN);
	if (port)
		strscpy(addr.dev, nla_data(port), sizeof(addr.dev));
	err = oae_links_close_to(netlink_node(skb), &addr,
				 vc ? nla_get_u8(vc) : 0);
	if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, peer,
				    "there is no such link");
	return err;
}

/* --- knobs -------------------------------------------------------------------- */

static int netlink_knob_get(struct sk_buff *skb, struct genl_info *info)
{
	return oae_knob_netlink_get(&oae_netlink_family, netlink_node(skb), info);
}

static int netlink_knobs_start(struct netlink_callback *cb)
{
	return netlink_dump_begin(cb) ?: oae_knob_netlink_start(cb);
}

static int netlink_knob_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return oae_knob_netlink_dump(&oae_netlink_family, netlink_node(cb->skb),
				     skb, cb);
}

static int netlink_knob_set(struct sk_buff *skb, struct genl_info *info)
{
	return oae_knob_netlink_set(&oae_netlink_family, netlink_node(skb), info);
}

/* --- ports -------------------------------------------------------------------- */

static const char *netlink_port_state(const struct net_device *dev)
{
	if (!netif_running(dev))
		return "down";
	return netif_carrier_ok(dev) ? "up" : "no carrier";
}

static int netlink_port_put(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct net_device *dev)
{
	void *hdr = netlink_dump_put(skb, cb, OAE_NL_PORT_GET);

	if (!hdr)
		return -EMSGSIZE;
	return netlink_dump_end(skb, cb, hdr,
				!nla_put_string(skb, OAE_NL_PORT_NAME,
						dev->name) &&
				!nla_put(skb, OAE_NL_PORT_ADDRESS, ETH_ALEN,
					 dev->dev_addr) &&
				!nla_put_string(skb, OAE_NL_PORT_STATE,
						netlink_port_state(dev)) &&
				!nla_put_u32(skb, OAE_NL_PORT_MTU,
					     READ_ONCE(dev->mtu)));
}

/* args[0]: ports that were shown already. One that goes meanwhile may hide another. */
static int netlink_port_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct oae_node *node = netlink_node(cb->skb);
	struct oae_port *port;
	long i = 0;
	int err = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list) {
		if (READ_ONCE(port->removed) || i++ < cb->args[0])
			continue;
		err = netlink_port_put(skb, cb, port->dev);
		if (err)
			break;
		cb->args[0]++;
	}
	rcu_read_unlock();
	return skb->len ?: err;
}

/*
 * A work releases ports: of each it may be all tags that are told. Other families may wait while
 * a request does, so root of a user namespace gets less time, ms: for links to close, and until
 * the ports are gone.
 */
static unsigned int netlink_time(const struct oae_node *node, unsigned int ms,
				 unsigned int of_users)
{
	return node->net->user_ns == &init_user_ns ? ms : of_users;
}

/* Under node->dev_lock. */
static int netlink_port_set(struct oae_node *node, char *change,
			    struct oae_refusal *why)
{
	bool going;
	int err;

	err = oae_ports_set(node, change, &going, why);
	if (!err) {
		mutex_lock(&node->knob_lock);
		oae_target_bound(node);
		mutex_unlock(&node->knob_lock);
	}
	if (going)
		oae_ports_release_later(node, min(READ_ONCE(node->knobs.linger_ms),
						  netlink_time(node, 800, 20)));
	return err;
}

/* False: another change is under way, perhaps by a work. */
static bool netlink_port_lock(struct oae_node *node)
{
	if (!mutex_trylock(&node->dev_lock))
		return false;
	if (!node->releasing)
		return true;
	mutex_unlock(&node->dev_lock);
	return false;
}

/* A request that has ports released finds them gone, unless that takes too long. */
static void netlink_port_wait(struct oae_node *node)
{
	wait_event_killable_timeout(node->released_wait, !READ_ONCE(node->releasing),
				    msecs_to_jiffies(netlink_time(node, 1000, 250)));
}

static bool netlink_port_valid(const char *name)
{
	if (strchr(name, ','))
		return false;
	return dev_valid_name(name) || !strncmp(name, "udp:", 4);
}

static int netlink_port_change(struct genl_info *info, char sign)
{
	const struct nlattr *name = info->attrs[OAE_NL_PORT_NAME];
	struct oae_node *node = oae_node(genl_info_net(info));
	struct oae_refusal why = {};
	char change[OAE_UDP_TEXT + 1];
	int err;

	if (!name) {
		NL_SET_ERR_MSG(info->extack, "needs the name of a net device");
		return -EINVAL;
	}
	/* More than one would be a list. */
	if (!netlink_port_valid(nla_data(name))) {
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "takes the name of one net device, or udp:ADDR[:PORT]");
		return -EINVAL;
	}
	snprintf(change, sizeof(change), "%c%s", sign,
		 (const char *)nla_data(name));
	if (!netlink_port_lock(node)) {
		NL_SET_ERR_MSG(info->extack,
			       "another change of the ports is under way");
		return -EBUSY;
	}
	err = netlink_port_set(node, change, &why);
	mutex_unlock(&node->dev_lock);
	netlink_port_wait(node);
	if (err)
		oae_netlink_refuse(info, name, &why);
	return err;
}

static int netlink_port_add(struct sk_buff *skb, struct genl_info *info)
{
	return netlink_port_change(info, '+');
}

static int netlink_port_del(struct sk_buff *skb, struct genl_info *info)
{
	return netlink_port_change(info, '-');
}

/* --- neighbours ----------------------------------------------------------------- */

/* args[0]: the next place in the table */
static int netlink_neighbour_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct oae_node *node = netlink_node(cb->skb);
	unsigned int at = cb->args[0];
	struct oae_neigh_view v;
	int err = 0;

	rcu_read_lock();
	for (; oae_neigh_at(node, &at, &v); at++) {
		err = netlink_dump_fields(skb, cb, OAE_NL_NEIGHBOUR_GET, oae_neighbour_fields,
					  &v);
		if (err)
			break;
	}
	rcu_read_unlock();
	cb->args[0] = at;
	return skb->len ?: err;
}

/* --- paths ---------------------------------------------------------------------- */

static bool netlink_names(const struct nlattr *name, const struct oae_port *port)
{
	return !name || !strncmp(nla_data(name), port->dev->name, IFNAMSIZ);
}

/* 0: there was one, and it is set. */
static int netlink_path_rank(struct oae_node *node, struct oae_tag *tag, struct nlattr **attrs,
			     enum oae_path_rank rank)
{
	const struct nlattr *to = attrs[OAE_NL_PATH_TO];
	struct oae_port *port;
	int err = -ENOENT, one;

	list_for_each_entry_rcu(port, &node->ports, list) {
		if (READ_ONCE(port->removed) || !netlink_names(attrs[OAE_NL_PATH_BY], port))
			continue;
		one = oae_path_rank(tag, port, to ? nla_data(to) : NULL, rank);
		if (one != -ENOENT)
			err = one;
	}
	return err;
}

static int netlink_paths_rank(struct oae_node *node, struct nlattr **attrs,
			      enum oae_path_rank rank)
{
	const struct nlattr *vc = attrs[OAE_NL_PATH_VC];
	u64 kid = oae_kid(vc ? nla_get_u8(vc) : 0, nla_data(attrs[OAE_NL_PATH_PEER]));
	struct oae_port *port;
	struct oae_tag *tag;
	int err = -ENOENT, one;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &node->ports, list) {
		tag = netlink_names(attrs[OAE_NL_PATH_PORT], port) ? oae_tag_find(port, kid) : NULL;
		one = tag ? netlink_path_rank(node, tag, attrs, rank) : -ENOENT;
		if (one != -ENOENT)
			err = one;
	}
	rcu_read_unlock();
	return err;
}

static int netlink_path_set(struct sk_buff *skb, struct genl_info *info)
{
	static const char *const words[] = { "avoid", "normal", "preferred" };
	const struct nlattr *rank = info->attrs[OAE_NL_PATH_RANK];
	unsigned int word = 0;
	int err;

	if (!info->attrs[OAE_NL_PATH_PEER] || !info->attrs[OAE_NL_PATH_BY] || !rank) {
		NL_SET_ERR_MSG(info->extack, "needs the address of a peer, a port, and a rank");
		return -EINVAL;
	}
	while (word < ARRAY_SIZE(words) && strcmp(words[word], nla_data(rank)))
		word++;
	if (word == ARRAY_SIZE(words)) {
		NL_SET_ERR_MSG_ATTR(info->extack, rank, "takes preferred, normal or avoid");
		return -EINVAL;
	}
	err = netlink_paths_rank(netlink_node(skb), info->attrs, OAE_PATH_AVOID + (int)word);
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[OAE_NL_PATH_BY],
				    "there is no such path");
	else if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[OAE_NL_PATH_BY],
				    "as many paths as there may be have another rank than normal");
	return err;
}

/* --- counters ------------------------------------------------------------------ */

static int netlink_stat_put(struct sk_buff *skb, struct netlink_callback *cb,
			    unsigned int stat)
{
	struct oae_node *node = netlink_node(cb->skb);
	void *hdr = netlink_dump_put(skb, cb, OAE_NL_STATS_GET);

	if (!hdr)
		return -EMSGSIZE;
	return netlink_dump_end(skb, cb, hdr,
				!nla_put_string(skb, OAE_NL_STAT_NAME,
						oae_stat_name(stat)) &&
				!nla_put_u64_64bit(skb, OAE_NL_STAT_VALUE,
						   oae_stat_read(node, stat),
						   OAE_NL_STAT_PAD) &&
				!nla_put_string(skb, OAE_NL_STAT_TEXT,
						oae_stat_text(stat)));
}

/* args[0]: the next counter */
static int netlink_stats_get_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	int err = 0;

	for (; cb->args[0] < OAE_STAT_END; cb->args[0]++) {
		if (cb->args[0] == OAE_S_BAD + OAE_BAD_NONE)
			continue;
		err = netlink_stat_put(skb, cb, cb->args[0]);
		if (err)
			break;
	}
	return skb->len ?: err;
}

/* --- the family ---------------------------------------------------------------- */

static int netlink_event_get(struct sk_buff *skb, struct genl_info *info)
{
	struct oae_news_state state;

	oae_news_state(netlink_node(skb), &state);
	return oae_netlink_last_event(&oae_netlink_family, info, state.sent, state.missed);
}

#include "netlink_ops.h"

/* netlink_event.c sends to the first, and only one. */
static const struct genl_multicast_group netlink_groups[] = {
	{ .name = OAE_NL_GROUP_LINK },
};

struct genl_family oae_netlink_family __ro_after_init = {
	.name = OAE_NL_FAMILY,
	.version = OAE_NL_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.mcgrps = netlink_groups,
	.n_mcgrps = ARRAY_SIZE(netlink_groups),
};

/**
 * oae_netlink_init() - make the family known to user space
 *
 * The parameters must act on nodes already.
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int __init oae_netlink_init(void)
{
	int err = genl_register_family(&oae_netlink_family);

	if (!err)
		oae_event_live(true);
	return err;
}

/**
 * oae_netlink_exit() - remove the family
 *
 * Waits for requests under way. A dump keeps the module until it has ended.
 *
 * Context: process, may sleep.
 */
void oae_netlink_exit(void)
{
	oae_event_live(false);
	genl_unregister_family(&oae_netlink_family);
}
