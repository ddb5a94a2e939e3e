// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters, except for those that are numbers, which are in knobs.c.
 *
 * A parameter acts on the node of the task that reads or writes it. The values that
 * insmod is given go into a template, from which every node starts (knobs.c); `dev`, `target`
 * and `id` apply only to the namespace that insmod runs in. node->knob_lock serialises all
 * writes to a node, except for `dev`: that may wait for peers or for modprobe, so it drops
 * knob_lock meanwhile, and is serialised by node->dev_lock.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "ctl.h"

/* What insmod was given that is in no struct oae_knobs, or behind a pointer there. */
static char params_dev[512];
static struct oae_udp_peers params_udp_peers;

static enum {
	OAE_LOADING,		/* parameters act on the template */
	OAE_LIVE,
	OAE_STOPPED,
} oae_params_state;		/* under kernel_param_lock */

/**
 * oae_params_owner() - find the node that a parameter acts on
 * @owner: set to the caller's node, or NULL for the template
 * @write: the parameter is to be changed
 *
 * Context: process; under kernel_param_lock.
 *
 * Return: 0; -EPERM the caller may not change it; -ENODEV another task is still
 * loading the module, or it is being unloaded.
 */
int oae_params_owner(void **owner, bool write)
{
	struct oae_node *node;

	*owner = NULL;
	switch (oae_params_state) {
	case OAE_LOADING:
		/* The files in sysfs appear after insmod has set its parameters. */
		if (write && THIS_MODULE->mkobj.mp)
			break;
		return 0;
	case OAE_LIVE:
		node = oae_node_current();
		*owner = node;
		if (write && !ns_capable(node->net->user_ns, CAP_NET_ADMIN))
			return -EPERM;
		return 0;
	case OAE_STOPPED:
		break;
	}
	return -ENODEV;
}

/* Bind and release devices. Under node->dev_lock alone. */
static int params_dev_set(struct oae_node *node, char *val,
			  struct oae_refusal *why)
{
	bool going;
	int err;

	err = oae_ports_set(node, val, &going, why);
	if (going)
		oae_ports_release(node, READ_ONCE(node->knobs.linger_ms));
	if (err)
		return err;
	mutex_lock(&node->knob_lock);
	oae_target_bound(node);
	mutex_unlock(&node->knob_lock);
	return 0;
}

/* Serialise changes of a node's ports, without knob_lock: no other knob is set with `dev`. */
static int params_dev_use(struct oae_node *node, char *val,
			  struct oae_refusal *why)
{
	int err;

	mutex_unlock(&node->knob_lock);
	err = mutex_lock_killable(&node->dev_lock);
	if (!err) {
		/* The module, whose exit waits for this, may be on its way out by now. */
		err = READ_ONCE(oae_params_state) == OAE_LIVE ?
		      params_dev_set(node, val, why) : -ENODEV;
		mutex_unlock(&node->dev_lock);
	}
	mutex_lock(&node->knob_lock);
	return err;
}

static int params_parse_dev(void *owner, struct oae_setting *s,
			    struct oae_refusal *why)
{
	if (!owner && strlen(s->val) >= sizeof(params_dev))
		return oae_refuse(why, "dev", s->val, -EINVAL,
				  "takes up to 511 characters at load");
	return 0;
}

static int params_apply_dev(void *owner, struct oae_setting *s,
			    struct oae_refusal *why)
{
	if (owner)
		return params_dev_use(owner, s->val, why);
	strscpy(params_dev, s->val, sizeof(params_dev));
	return 0;
}

static int params_print_dev(void *owner, char *buf, size_t size)
{
	if (owner)
		return oae_ports_print(owner, buf, size);
	return scnprintf(buf, size, "%s", params_dev);
}

#define OAE_ADDR_TAKES "[DEV/]ADDR, ADDR being 24 bits in hex, a whole unicast MAC, or id: and an id in hex"
#define OAE_TARGET_TAKES "takes " OAE_ADDR_TAKES "; 0 for none"

/* May @addr be the target? A missing port is no error: it may be bound later. */
static int params_target_check(struct oae_node *node,
			       const struct oae_addr *addr, const char *val,
			       struct oae_refusal *why)
{
	struct oae_port *port;
	u8 mac[ETH_ALEN];
	int err;

	err = oae_addr_resolve(node, addr, READ_ONCE(node->knobs.vci), &port, mac);
	if (err == -EINVAL)
		return oae_refuse(why, "target", val, err,
				  "takes another address than the port's own, another id than the node's");
	if (!err)
		oae_port_put(port);
	return 0;
}

static int params_parse_target(void *owner, struct oae_setting *s,
			       struct oae_refusal *why)
{
	struct oae_addr addr;
	int err;

	err = oae_addr_parse(&addr, strcmp(s->val, "0") ? s->val : "");
	if (err)
		return oae_refuse(why, "target", s->val, err, OAE_TARGET_TAKES);
	return owner ? params_target_check(owner, &addr, s->val, why) : 0;
}

static int params_apply_target(void *owner, struct oae_setting *s,
			       struct oae_refusal *why)
{
	struct oae_addr addr;
	int err;

	oae_addr_parse(&addr, strcmp(s->val, "0") ? s->val : "");
	if (owner) {
		err = oae_target_set(owner, &addr);
		if (err == -ENOBUFS)
			oae_refuse(why, "target", s->val, err,
				   "there are max_tags links: close some, or set max_tags higher");
		return err;
	}
	oae_knobs_of(NULL)->target = addr;
	return 0;
}

static int params_print_target(void *owner, char *buf, size_t size)
{
	return oae_addr_print(&oae_knobs_of(owner)->target, buf, size);
}

#define OAE_PEERS_TAKES "takes a comma-separated list of " OAE_ADDR_TAKES

/* The list becomes an array in s->data, their number s->number. */
static int params_parse_peers(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	struct oae_addr *peers;
	char *item, *rest = *s->val ? s->val : NULL;
	int err;

	peers = kcalloc(OAE_MAX_PEERS, sizeof(*peers), GFP_KERNEL);
	if (!peers)
		return -ENOMEM;
	s->data = peers;
	while ((item = strsep(&rest, ",")) != NULL) {
		item = strim(item);
		if (s->number == OAE_MAX_PEERS)
			return oae_refuse(why, "peers", item, -E2BIG,
					  "takes up to "
					  __stringify(OAE_MAX_PEERS)
					  " addresses");
		err = *item ? oae_addr_parse(&peers[s->number++], item) :
			      -EINVAL;
		if (err)
			return oae_refuse(why, "peers", item, err,
					  OAE_PEERS_TAKES);
	}
	return 0;
}

static void params_keep_peers(struct oae_knobs *k, const struct oae_setting *s)
{
	memcpy(k->peers, s->data, sizeof(k->peers));
	WRITE_ONCE(k->npeers, s->number);
}

static int params_apply_peers(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	struct oae_node *node = owner;

	if (!node) {
		params_keep_peers(oae_knobs_of(NULL), s);
		return 0;
	}
	write_seqlock_bh(&node->addr_lock);
	params_keep_peers(&node->knobs, s);
	write_sequnlock_bh(&node->addr_lock);
	return 0;
}

static int params_print_peers(void *owner, char *buf, size_t size)
{
	const struct oae_knobs *k = oae_knobs_of(owner);
	unsigned int i;
	int n = 0;

	for (i = 0; i < k->npeers; i++) {
		if (i)
			n += scnprintf(buf + n, size - n, ",");
		n += oae_addr_print(&k->peers[i], buf + n, size - n);
	}
	return n;
}

#define OAE_UDP_PEERS_TAKES						\
	"takes a comma-separated list of ADDR[:PORT] and [ADDR6]:PORT, ADDR being unicast"

/* No two may have the same MAC: one of them would never be used. */
static bool params_udp_peer_twice(const struct oae_udp_end *ends, unsigned int n)
{
	u8 mac[ETH_ALEN], other[ETH_ALEN];
	unsigned int i;

	oae_udp_mac(&ends[n], mac);
	for (i = 0; i < n; i++) {
		oae_udp_mac(&ends[i], other);
		if (ends[i].v6 == ends[n].v6 && !memcmp(mac, other, ETH_ALEN))
			return true;
	}
	return false;
}

/* The list becomes a struct oae_udp_peers in s->data. */
static int params_parse_udp_peers(void *owner, struct oae_setting *s,
				  struct oae_refusal *why)
{
	char *item, *rest = *s->val ? s->val : NULL;
	struct oae_udp_peers *peers;
	int err;

	peers = kzalloc(sizeof(*peers), GFP_KERNEL_ACCOUNT);
	if (!peers)
		return -ENOMEM;
	s->data = peers;
	while ((item = strsep(&rest, ",")) != NULL) {
		item = strim(item);
		if (peers->n == OAE_MAX_PEERS)
			return oae_refuse(why, "udp_peers", item, -E2BIG,
					  "takes up to "
					  __stringify(OAE_MAX_PEERS) " endpoints");
		err = oae_udp_parse(&peers->end[peers->n], item);
		if (err)
			return oae_refuse(why, "udp_peers", item, err,
					  OAE_UDP_PEERS_TAKES);
		if (params_udp_peer_twice(peers->end, peers->n))
			return oae_refuse(why, "udp_peers", item, -EEXIST,
					  "has the low 24 bits of another address");
		peers->n++;
	}
	return 0;
}

static int params_apply_udp_peers(void *owner, struct oae_setting *s,
				  struct oae_refusal *why)
{
	struct oae_udp_peers *old, *new = s->data;
	struct oae_node *node = owner;

	if (!node) {
		/* Nobody frees it, should insmod fail later. */
		params_udp_peers = *new;
		RCU_INIT_POINTER(oae_knobs_of(NULL)->udp_peers, new->n ? &params_udp_peers : NULL);
		return 0;
	}
	old = rcu_dereference_protected(node->knobs.udp_peers, lockdep_is_held(&node->knob_lock));
	if (new->n)
		s->data = NULL;		/* the node's now */
	else
		new = NULL;
	rcu_assign_pointer(node->knobs.udp_peers, new);
	/* Pairs with the smp_load_acquire() in peer_judge(): who sees it sees the list. */
	smp_store_release(&node->udp_gen, node->udp_gen + 1);
	if (old)
		kfree_rcu(old, rcu);
	return 0;
}

static int params_print_udp_peers(void *owner, char *buf, size_t size)
{
	const struct oae_udp_peers *peers;
	struct oae_node *node = owner;
	unsigned int i;
	int n = 0;

	peers = rcu_dereference_protected(oae_knobs_of(node)->udp_peers,
					  !node || lockdep_is_held(&node->knob_lock));
	for (i = 0; peers && i < peers->n; i++) {
		if (i)
			n += scnprintf(buf + n, size - n, ",");
		n += oae_udp_print(&peers->end[i], buf + n, size - n);
	}
	return n;
}

#define OAE_NHMAC_TAKES "takes auto, or a gateway's whole unicast MAC"

/* The address is zero for auto. */
static int params_nhmac_parse(struct oae_addr *addr, const char *val)
{
	memset(addr, 0, sizeof(*addr));
	if (!strcmp(val, "auto"))
		return 0;
	return oae_addr_parse(addr, val) || !addr->set || addr->low24 || addr->id ||
	       addr->dev[0] ? -EINVAL : 0;
}

static int params_parse_nhmac(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	struct oae_addr addr;

	if (params_nhmac_parse(&addr, s->val))
		return oae_refuse(why, "nhmac", s->val, -EINVAL,
				  OAE_NHMAC_TAKES);
	if (owner && addr.set && oae_port_is_own(owner, addr.mac))
		return oae_refuse(why, "nhmac", s->val, -EINVAL,
				  "takes another address than a port's own");
	return 0;
}

static int params_apply_nhmac(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	struct oae_node *node = owner;
	struct oae_addr addr;

	params_nhmac_parse(&addr, s->val);
	if (!node) {
		/* insmod holds kernel_param_lock: no RTNL. */
		ether_addr_copy(oae_knobs_of(NULL)->nhmac, addr.mac);
		return 0;
	}
	rtnl_lock();
	ether_addr_copy(node->knobs.nhmac, addr.mac);
	oae_node_way_nhmac(node);
	rtnl_unlock();
	return 0;
}

static int params_print_nhmac(void *owner, char *buf, size_t size)
{
	struct oae_node *node = owner;
	const u8 *nhmac = oae_knobs_of(node)->nhmac;
	int n;

	if (!is_zero_ether_addr(nhmac))
		return scnprintf(buf, size, "%pM", nhmac);
	n = scnprintf(buf, size, "auto");
	if (node)
		n += oae_node_way_print(node, buf + n, size - n);
	return n;
}

#define OAE_ID_TAKES "takes 13 to 16 digits in hex, not less than 1 and 12 zeros; 0 for that of the first port bound"

/* The id is 0 for automatic. */
static int params_id_parse(u64 *id, const char *val)
{
	*id = 0;
	if (!*val)
		return 0;
	return kstrtou64(val, 16, id) || (*id && *id < OAE_ID_LEAST) ? -EINVAL : 0;
}

/* The id goes into s->data; s->number is 1 once there is the id of before. */
static int params_parse_id(void *owner, struct oae_setting *s,
			   struct oae_refusal *why)
{
	u64 *id = kzalloc(sizeof(*id), GFP_KERNEL);

	if (!id)
		return -ENOMEM;
	s->data = id;
	if (params_id_parse(id, s->val))
		return oae_refuse(why, "id", s->val, -EINVAL, OAE_ID_TAKES);
	return 0;
}

static int params_apply_id(void *owner, struct oae_setting *s,
			   struct oae_refusal *why)
{
	bool undo = s->number;
	u64 *id = s->data;

	s->number = 1;
	if (!owner)
		swap(oae_knobs_of(NULL)->id, *id);
	else if (oae_node_swap_id(owner, id, undo))
		return oae_refuse(why, "id", s->val, -EBUSY,
				  "is set while no port is bound");
	return 0;
}

static int params_print_id(void *owner, char *buf, size_t size)
{
	u64 id = oae_knobs_of(owner)->id;

	return scnprintf(buf, size, id ? "%016llx" : "%llx", id);
}

#define OAE_WKSTEP_TAKES "takes 0 (run), 1 to 100 (frames a step), then s (one step)"
#define OAE_STEP_ONCE	101	/* s */

static int params_parse_wkstep(void *owner, struct oae_setting *s,
			       struct oae_refusal *why)
{
	const struct oae_node *node = owner;

	if (!strcmp(s->val, "s") && node && READ_ONCE(node->knobs.step))
		s->number = OAE_STEP_ONCE;
	else if (kstrtouint(s->val, 10, &s->number) || s->number > 100)
		return oae_refuse(why, "wkstep", s->val, -EINVAL,
				  OAE_WKSTEP_TAKES);
	return 0;
}

static int params_apply_wkstep(void *owner, struct oae_setting *s,
			       struct oae_refusal *why)
{
	if (s->number == OAE_STEP_ONCE)
		oae_step_once(owner);
	else if (owner)
		oae_step_set(owner, s->number);
	else
		oae_knobs_of(NULL)->step = s->number;
	return 0;
}

static int params_print_wkstep(void *owner, char *buf, size_t size)
{
	return scnprintf(buf, size, "%d", oae_knobs_of(owner)->step);
}

#define OAE_SHUTDOWN_TAKES "takes 1 (close all links) or 0 (let them again)"

static int params_parse_shutdown(void *owner, struct oae_setting *s,
				 struct oae_refusal *why)
{
	s->number = !strcmp(s->val, "1");
	if (!s->number && strcmp(s->val, "0"))
		return oae_refuse(why, "shutdown", s->val, -EINVAL,
				  OAE_SHUTDOWN_TAKES);
	return 0;
}

static int params_apply_shutdown(void *owner, struct oae_setting *s,
				 struct oae_refusal *why)
{
	struct oae_node *node = owner;

	if (!node) {
		oae_knobs_of(NULL)->shut = s->number;
	} else if (s->number) {
		oae_node_close(node);
	} else {
		oae_node_reopen(node);
		oae_target_bound(node);
	}
	return 0;
}

static int params_print_shutdown(void *owner, char *buf, size_t size)
{
	return scnprintf(buf, size, "%d", oae_knobs_of(owner)->shut);
}

#define OAE_STATS_TAKES "is for reading"

static int params_parse_stats(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	return oae_refuse(why, "stats", s->val, -EPERM, OAE_STATS_TAKES);
}

#define params_apply_stats	NULL

static int params_print_stats(void *owner, char *buf, size_t size)
{
	static const unsigned int shown[] = {
		OAE_S_RX_FRAMES, OAE_S_TX_FRAMES, OAE_S_POSTED,
		OAE_S_COMMITTED, OAE_S_REVERSED, OAE_S_UNKNOWN,
		OAE_S_DELIVERED, OAE_S_READ,
	};
	struct oae_node *node = owner;
	unsigned int i;
	int n;

	if (!node)
		return 0;
	n = scnprintf(buf, size, "tags %d", atomic_read(&node->ntags));
	for (i = 0; i < ARRAY_SIZE(shown); i++)
		n += scnprintf(buf + n, size - n, " %s %llu",
			       oae_stat_name(shown[i]),
			       oae_stat_read(node, shown[i]));
	return n;
}

#define OAE_ETHERTYPE_TAKES "is set when the module is loaded"

static int params_parse_ethertype(void *owner, struct oae_setting *s,
				  struct oae_refusal *why)
{
	if (owner)
		return oae_refuse(why, "ethertype", s->val, -EPERM,
				  OAE_ETHERTYPE_TAKES);
	if (kstrtouint(s->val, 0, &s->number) ||
	    s->number < ETH_P_802_3_MIN || s->number > 0xffff)
		return oae_refuse(why, "ethertype", s->val, -EINVAL,
				  "takes a number from 0x0600 to 0xffff");
	return 0;
}

static int params_apply_ethertype(void *owner, struct oae_setting *s,
				  struct oae_refusal *why)
{
	oae_ethertype = s->number;
	return 0;
}

static int params_print_ethertype(void *owner, char *buf, size_t size)
{
	return scnprintf(buf, size, "0x%04x", oae_ethertype);
}

#define OAE_PARAM(_name, _mode, _takes, _elsewhere, _order)		\
	static const struct oae_knob oae_param_##_name = {		\
		.class = &oae_knob_class,				\
		.name = #_name,						\
		.accepted = _takes,					\
		.elsewhere = _elsewhere,				\
		.order = _order,					\
		.parse = params_parse_##_name,				\
		.apply = params_apply_##_name,				\
		.print = params_print_##_name,				\
	};								\
	OAE_KNOB_PARAM(_name, oae_param_##_name, _mode)

/* Waiting for links to close, without knob_lock: netlink has commands of its own. */
OAE_PARAM(dev, 0644, OAE_PORTS_TAKE,
	  "is changed by adding and deleting ports", OAE_KNOB_FINAL);
MODULE_PARM_DESC(dev, "net devices bound: a,b these and no others; +a or -a one more or less; *,-a every one but a, later ones too; udp:ADDR[:PORT] a UDP port on that address; the caller's namespace");
OAE_PARAM(target, 0644, OAE_TARGET_TAKES, NULL, OAE_KNOB_FINAL);
MODULE_PARM_DESC(target, "peer that noc_debug sends to, and whose link is opened: [DEV/]24 bits in hex under the port's OUI, or a whole MAC, or id: and an id; 0 for none");
OAE_PARAM(peers, 0644, OAE_PEERS_TAKES, NULL, OAE_KNOB_SURE);
MODULE_PARM_DESC(peers, "up to 64 peers for accept=peers, comma-separated, each written like target");
OAE_PARAM(udp_peers, 0644, OAE_UDP_PEERS_TAKES, NULL, OAE_KNOB_SURE);
MODULE_PARM_DESC(udp_peers, "up to 64 peers of UDP ports, comma-separated: ADDR[:PORT]; others are where their MAC says, or were heard");
OAE_PARAM(nhmac, 0644, OAE_NHMAC_TAKES, NULL, OAE_KNOB_SURE);
MODULE_PARM_DESC(nhmac, "the gateway's MAC, on all ports, or auto: learned from its HELLO; shows the one in use (default auto)");
OAE_PARAM(id, 0644, OAE_ID_TAKES, NULL, OAE_KNOB_EXCHANGED);
MODULE_PARM_DESC(id, "id of this node, in hex, the caller's namespace; 0: that of the first port bound (default 0)");
OAE_PARAM(wkstep, 0644, OAE_WKSTEP_TAKES, NULL, OAE_KNOB_SURE);
MODULE_PARM_DESC(wkstep, "single-stepping: 0 run freely, 1 to 100 frames a step, s one step (default 0)");
OAE_PARAM(shutdown, 0644, OAE_SHUTDOWN_TAKES, NULL, OAE_KNOB_SURE);
MODULE_PARM_DESC(shutdown, "1 closes all links and refuses new ones, 0 lets them again (default 0)");
OAE_PARAM(stats, 0444, OAE_STATS_TAKES, OAE_STATS_TAKES, OAE_KNOB_SURE);
MODULE_PARM_DESC(stats, "a summary in one line; all counters are in /proc/net/modoae/stats");
OAE_PARAM(ethertype, 0444, OAE_ETHERTYPE_TAKES, OAE_ETHERTYPE_TAKES, OAE_KNOB_SURE);
MODULE_PARM_DESC(ethertype, "EtherType of the frames, at load (0x0600 to 0xffff, default 0x88b5)");

/* Nobody else sets knobs of the node yet. What is refused is in @dev, or printed to @target. */
static int params_start_node(struct oae_node *node, char *dev, char *target, size_t size,
			     struct oae_refusal *why)
{
	const struct oae_addr *to = &oae_knobs_of(NULL)->target;
	u64 id = oae_knobs_of(NULL)->id;
	int err;

	err = oae_knobs_check_defaults() ?: oae_node_swap_id(node, &id, false);
	if (err)
		return err;
	mutex_lock(&node->dev_lock);
	err = params_dev_set(node, dev, why);
	mutex_unlock(&node->dev_lock);
	if (err)
		return err;
	oae_addr_print(to, target, size);
	err = params_target_check(node, to, target, why);
	if (err)
		return err;
	mutex_lock(&node->knob_lock);
	err = oae_target_set(node, to);
	mutex_unlock(&node->knob_lock);
	return err;
}

/**
 * oae_params_start() - let the parameters act on nodes from now on
 *
 * Binds `dev` and sets `target` in the caller's namespace, with the values of
 * insmod. On failure the ports bound so far are released with the node.
 *
 * Context: process, may sleep; takes dev_lock, knob_lock and RTNL, and kernel_param_lock
 * without any of them.
 *
 * Return: 0, or the negative errno of the value at fault, which is logged.
 */
int oae_params_start(void)
{
	struct oae_node *node = oae_node_current();
	struct oae_refusal why = {};
	char target[64], *dev;
	int err;

	/* Others read the template yet. */
	dev = kstrdup(params_dev, GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	err = params_start_node(node, strim(dev), target, sizeof(target), &why);
	if (err)
		oae_refusal_log(&why);
	kfree(dev);
	if (err)
		return err;
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(oae_params_state, OAE_LIVE);
	kernel_param_unlock(THIS_MODULE);
	return 0;
}

/**
 * oae_params_stop() - let the parameters return -ENODEV from now on
 *
 * Waits for writes under way.
 *
 * Context: process, may sleep; takes kernel_param_lock.
 */
void oae_params_stop(void)
{
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(oae_params_state, OAE_STOPPED);
	kernel_param_unlock(THIS_MODULE);
	oae_knobs_drain();
}
