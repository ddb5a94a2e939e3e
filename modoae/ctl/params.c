// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters, except for the knobs, which are in knobs.c.
 *
 * A parameter acts on the node of the task that reads or writes it. The values that
 * insmod is given go into a template, from which every node starts; `dev` and
 * `target` apply only to the namespace that insmod runs in. kernel_param_lock
 * serialises all writes, except for `dev`: that may wait for peers, so it drops
 * kernel_param_lock meanwhile, and is serialised by node->dev_lock.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "ctl.h"

static struct {
	struct oae_addr target;
	struct oae_addr peers[OAE_MAX_PEERS];
	unsigned int npeers;
	u8 nhmac[ETH_ALEN];
	int step;
	bool shut;
	char dev[512];
} oae_template;

static enum {
	OAE_LOADING,		/* parameters act on the template */
	OAE_LIVE,
	OAE_STOPPED,
} oae_params_state;

/**
 * oae_params_node() - find the node that a parameter acts on
 * @node: set to the caller's node, or NULL for the template
 * @write: the parameter is to be changed
 *
 * Context: process; under kernel_param_lock.
 *
 * Return: 0; -EPERM the caller may not change it; -ENODEV another task is still
 * loading the module, or it is being unloaded.
 */
int oae_params_node(struct oae_node **node, bool write)
{
	*node = NULL;
	switch (oae_params_state) {
	case OAE_LOADING:
		/* The files in sysfs appear after insmod has set its parameters. */
		if (write && THIS_MODULE->mkobj.mp)
			break;
		return 0;
	case OAE_LIVE:
		*node = oae_node_current();
		if (write && !ns_capable((*node)->net->user_ns, CAP_NET_ADMIN))
			return -EPERM;
		return 0;
	case OAE_STOPPED:
		break;
	}
	return -ENODEV;
}

/* Writes that have dropped kernel_param_lock for a while; under that lock. */
static unsigned int oae_params_away;
static DECLARE_WAIT_QUEUE_HEAD(oae_params_wait);

/*
 * Drop kernel_param_lock during a write, so that other parameters can be read and
 * written. oae_params_stop() waits for oae_params_return().
 */
static void oae_params_leave(void)
{
	oae_params_away++;
	kernel_param_unlock(THIS_MODULE);
}

/* Take kernel_param_lock again after oae_params_leave(). */
static void oae_params_return(void)
{
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(oae_params_away, oae_params_away - 1);
	wake_up(&oae_params_wait);
}

/**
 * oae_params_init() - initialise the parameters of a new node from the template
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_params_init(struct oae_node *node)
{
	memcpy(node->peers, oae_template.peers, sizeof(node->peers));
	node->npeers = oae_template.npeers;
	ether_addr_copy(node->nhmac, oae_template.nhmac);
	node->step = oae_template.step;
	node->shut = oae_template.shut;
}

/* A parameter is a function to set it and one to get it. */
struct oae_param {
	int (*set)(struct oae_node *node, char *val);
	int (*get)(struct oae_node *node, char *buf, size_t size);
};

static int oae_param_set(const char *val, const struct kernel_param *kp)
{
	const struct oae_param *param = kp->arg;
	struct oae_node *node;
	char *copy;
	int err;

	err = oae_params_node(&node, true);
	if (err)
		return err;
	copy = kstrdup(val, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	err = param->set(node, strim(copy));
	kfree(copy);
	return err;
}

static int oae_param_get(char *buf, const struct kernel_param *kp)
{
	const struct oae_param *param = kp->arg;
	struct oae_node *node;
	int n;

	n = oae_params_node(&node, false);
	if (n)
		return n;
	n = param->get(node, buf, PAGE_SIZE - 1);
	buf[n++] = '\n';
	return n;
}

static const struct kernel_param_ops oae_param_ops = {
	.set = oae_param_set,
	.get = oae_param_get,
};

/* Bind and release devices. Drops kernel_param_lock while links are closing. */
static int params_dev_set(struct oae_node *node, char *val)
{
	bool going;
	int err;

	err = oae_ports_set(node, val, &going);
	if (going) {
		oae_params_leave();
		oae_ports_release(node);
		oae_params_return();
	}
	return err;
}

/* Serialise changes of a node's ports, without kernel_param_lock while waiting. */
static int params_dev_use(struct oae_node *node, char *val)
{
	struct oae_node *same;
	int err;

	oae_params_leave();
	err = mutex_lock_killable(&node->dev_lock);
	oae_params_return();
	if (err)
		return err;
	/* The module may be on its way out by now. */
	err = oae_params_node(&same, true);
	if (!err)
		err = params_dev_set(node, val);
	mutex_unlock(&node->dev_lock);
	return err;
}

static int params_set_dev(struct oae_node *node, char *val)
{
	if (node)
		return params_dev_use(node, val);
	if (strscpy(oae_template.dev, val, sizeof(oae_template.dev)) < 0)
		return oae_refuse("dev", val, -EINVAL,
				  "takes up to 511 characters at load");
	return 0;
}

static int params_get_dev(struct oae_node *node, char *buf, size_t size)
{
	if (node)
		return oae_ports_print(node, buf, size);
	return scnprintf(buf, size, "%s", oae_template.dev);
}

#define OAE_ADDR_ACCEPTED "[DEV/]ADDR, ADDR being 24 bits in hex or a whole unicast MAC"

static int params_target_use(struct oae_node *node, const struct oae_addr *addr,
			     const char *val)
{
	struct oae_port *port;
	u8 mac[ETH_ALEN];
	int err;

	/* A missing port is no error: it may be bound later. */
	err = oae_addr_resolve(node, addr, &port, mac);
	if (err == -EINVAL)
		return oae_refuse("target", val, err,
				  "takes another address than the port's own");
	if (!err)
		oae_port_put(port);

	write_seqlock_bh(&node->addr_lock);
	node->target = *addr;
	write_sequnlock_bh(&node->addr_lock);
	return 0;
}

static int params_set_target(struct oae_node *node, char *val)
{
	struct oae_addr addr;
	int err;

	err = oae_addr_parse(&addr, val);
	if (err)
		return oae_refuse("target", val, err,
				  "takes " OAE_ADDR_ACCEPTED);
	if (node)
		return params_target_use(node, &addr, val);
	oae_template.target = addr;
	return 0;
}

static int params_get_target(struct oae_node *node, char *buf, size_t size)
{
	return oae_addr_print(node ? &node->target : &oae_template.target, buf,
			      size);
}

static int params_peers_parse(struct oae_addr *peers, char *val)
{
	unsigned int n = 0;
	char *item;
	int err;

	if (!*val)
		return 0;
	while ((item = strsep(&val, ",")) != NULL) {
		item = strim(item);
		if (n == OAE_MAX_PEERS)
			return oae_refuse("peers", item, -E2BIG,
					  "takes up to "
					  __stringify(OAE_MAX_PEERS)
					  " addresses");
		err = *item ? oae_addr_parse(&peers[n++], item) : -EINVAL;
		if (err)
			return oae_refuse("peers", item, err,
					  "takes a comma-separated list of "
					  OAE_ADDR_ACCEPTED);
	}
	return n;
}

static int params_set_peers(struct oae_node *node, char *val)
{
	struct oae_addr *peers;
	int n;

	peers = kcalloc(OAE_MAX_PEERS, sizeof(*peers), GFP_KERNEL);
	if (!peers)
		return -ENOMEM;
	n = params_peers_parse(peers, val);
	if (n < 0)
		goto out;
	if (node) {
		write_seqlock_bh(&node->addr_lock);
		memcpy(node->peers, peers, sizeof(node->peers));
		WRITE_ONCE(node->npeers, n);
		write_sequnlock_bh(&node->addr_lock);
	} else {
		memcpy(oae_template.peers, peers, sizeof(oae_template.peers));
		oae_template.npeers = n;
	}
out:
	kfree(peers);
	return min(n, 0);
}

static int params_get_peers(struct oae_node *node, char *buf, size_t size)
{
	const struct oae_addr *p = node ? node->peers : oae_template.peers;
	unsigned int i, count = node ? node->npeers : oae_template.npeers;
	int n = 0;

	for (i = 0; i < count; i++) {
		if (i)
			n += scnprintf(buf + n, size - n, ",");
		n += oae_addr_print(&p[i], buf + n, size - n);
	}
	return n;
}

static int params_set_nhmac(struct oae_node *node, char *val)
{
	u8 *nhmac = node ? node->nhmac : oae_template.nhmac;
	struct oae_addr addr = {};

	if (strcmp(val, "auto") &&
	    (oae_addr_parse(&addr, val) || !addr.set || addr.low24 ||
	     addr.dev[0]))
		return oae_refuse("nhmac", val, -EINVAL,
				  "takes auto, or a gateway's whole unicast MAC");
	if (node && addr.set && oae_port_is_own(node, addr.mac))
		return oae_refuse("nhmac", val, -EINVAL,
				  "takes another address than a port's own");
	ether_addr_copy(nhmac, addr.mac);
	if (node)
		oae_node_way_nhmac(node);
	return 0;
}

static int params_get_nhmac(struct oae_node *node, char *buf, size_t size)
{
	const u8 *nhmac = node ? node->nhmac : oae_template.nhmac;
	int n;

	if (!is_zero_ether_addr(nhmac))
		return scnprintf(buf, size, "%pM", nhmac);
	n = scnprintf(buf, size, "auto");
	if (node)
		n += oae_node_way_print(node, buf + n, size - n);
	return n;
}

static int params_set_wkstep(struct oae_node *node, char *val)
{
	unsigned int step;

	if (!strcmp(val, "s") && node && node->step) {
		oae_step_once(node);
		return 0;
	}
	if (kstrtouint(val, 10, &step) || step > 100)
		return oae_refuse("wkstep", val, -EINVAL,
				  "takes 0 (run), 1 to 100 (frames a step), then s (one step)");
	if (node)
		oae_step_set(node, step);
	else
		oae_template.step = step;
	return 0;
}

static int params_get_wkstep(struct oae_node *node, char *buf, size_t size)
{
	return scnprintf(buf, size, "%d",
			 node ? node->step : oae_template.step);
}

static int params_set_shutdown(struct oae_node *node, char *val)
{
	bool shut = !strcmp(val, "1");

	if (!shut && strcmp(val, "0"))
		return oae_refuse("shutdown", val, -EINVAL,
				  "takes 1 (close all links) or 0 (let them again)");
	if (!node)
		oae_template.shut = shut;
	else if (shut)
		oae_node_close(node);
	else
		WRITE_ONCE(node->shut, false);
	return 0;
}

static int params_get_shutdown(struct oae_node *node, char *buf, size_t size)
{
	return scnprintf(buf, size, "%d",
			 node ? node->shut : oae_template.shut);
}

static int params_set_stats(struct oae_node *node, char *val)
{
	return oae_refuse("stats", val, -EPERM, "is for reading");
}

static int params_get_stats(struct oae_node *node, char *buf, size_t size)
{
	static const unsigned int shown[] = {
		OAE_S_RX_FRAMES, OAE_S_TX_FRAMES, OAE_S_POSTED,
		OAE_S_COMMITTED, OAE_S_REVERSED, OAE_S_UNKNOWN,
		OAE_S_DELIVERED, OAE_S_READ,
	};
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

static int params_set_ethertype(struct oae_node *node, char *val)
{
	unsigned int v;

	if (node)
		return oae_refuse("ethertype", val, -EPERM,
				  "is set when the module is loaded");
	if (kstrtouint(val, 0, &v) || v < ETH_P_802_3_MIN || v > 0xffff)
		return oae_refuse("ethertype", val, -EINVAL,
				  "takes a number from 0x0600 to 0xffff");
	oae_ethertype = v;
	return 0;
}

static int params_get_ethertype(struct oae_node *node, char *buf, size_t size)
{
	return scnprintf(buf, size, "0x%04x", oae_ethertype);
}

#define OAE_PARAM(_name, _mode)						\
	static const struct oae_param oae_param_##_name = {		\
		.set = params_set_##_name,				\
		.get = params_get_##_name,				\
	};								\
	module_param_cb(_name, &oae_param_ops, (void *)&oae_param_##_name, _mode)

OAE_PARAM(dev, 0644);
MODULE_PARM_DESC(dev, "net devices bound: a,b these and no others; +a or -a one more or less; the caller's namespace");
OAE_PARAM(target, 0644);
MODULE_PARM_DESC(target, "peer that noc_debug sends to: [DEV/]24 bits in hex under the port's OUI, or a whole MAC");
OAE_PARAM(peers, 0644);
MODULE_PARM_DESC(peers, "up to 64 peers for accept=peers, comma-separated, each written like target");
OAE_PARAM(nhmac, 0644);
MODULE_PARM_DESC(nhmac, "the gateway's MAC, on all ports, or auto: learned from its HELLO; shows the one in use (default auto)");
OAE_PARAM(wkstep, 0644);
MODULE_PARM_DESC(wkstep, "single-stepping: 0 run freely, 1 to 100 frames a step, s one step (default 0)");
OAE_PARAM(shutdown, 0644);
MODULE_PARM_DESC(shutdown, "1 closes all links and refuses new ones, 0 lets them again (default 0)");
OAE_PARAM(stats, 0444);
MODULE_PARM_DESC(stats, "a summary in one line; all counters are in /proc/net/modoae/stats");
OAE_PARAM(ethertype, 0444);
MODULE_PARM_DESC(ethertype, "EtherType of the frames, at load (0x0600 to 0xffff, default 0x88b5)");

/**
 * oae_params_start() - let the parameters act on nodes from now on
 *
 * Binds `dev` and sets `target` in the caller's namespace, with the values of
 * insmod. On failure the ports bound so far are released with the node.
 *
 * Context: process, may sleep; takes dev_lock, kernel_param_lock and RTNL.
 *
 * Return: 0, or the negative errno of the value at fault, which is logged.
 */
int oae_params_start(void)
{
	struct oae_node *node = oae_node_current();
	char target[64];
	int err;

	mutex_lock(&node->dev_lock);
	kernel_param_lock(THIS_MODULE);
	err = oae_knobs_check_defaults();
	if (!err)
		err = params_dev_set(node, strim(oae_template.dev));
	if (!err) {
		oae_addr_print(&oae_template.target, target, sizeof(target));
		err = params_target_use(node, &oae_template.target, target);
	}
	if (!err)
		oae_params_state = OAE_LIVE;
	kernel_param_unlock(THIS_MODULE);
	mutex_unlock(&node->dev_lock);
	return err;
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
	oae_params_state = OAE_STOPPED;
	while (oae_params_away) {
		kernel_param_unlock(THIS_MODULE);
		wait_event(oae_params_wait, !READ_ONCE(oae_params_away));
		kernel_param_lock(THIS_MODULE);
	}
	kernel_param_unlock(THIS_MODULE);
}
