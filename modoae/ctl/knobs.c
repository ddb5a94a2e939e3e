// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs: the parameters that are numbers, or a choice of words that stands for
 * one. A table says what each accepts; the code is the same for all.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ctl.h"

/* max_len: what 64 slices in jumbo frames carry, and not more than this. */
#define OAE_MAX_LEN	262144

/* What insmod said: every node starts with these. */
static struct oae_knobs oae_defaults = {
	.tag_seq = 1,
	.stall_min_us = 1000,
	.stall_max_us = 200000,
	.keepalive_ms = 1000,
	.dead_ms = 5000,
	.linger_ms = 500,
	.max_tags = 1024,
	.max_len = 65536,
	.sndq = 64,
	.rcvbuf = 262144,
	.stranger_pps = 200,
	.doubt_s = 3600,
	.use_gw = OAE_GW_AUTO,
	.region_max = 1048576,
};

struct oae_knob {
	const char *name;
	unsigned int offset;	/* in struct oae_knobs */
	unsigned int min;
	unsigned int max;
	const char *unit;
	const char *const *words;	/* written instead of a number */
};

static const char *const oae_accept_words[] = {
	[OAE_ACCEPT_ANY] = "any",
	[OAE_ACCEPT_PEERS] = "peers",
	[OAE_ACCEPT_NONE] = "none",
};

static const char *const oae_use_gw_words[] = {
	[OAE_GW_NEVER] = "0",
	[OAE_GW_ALWAYS] = "1",
	[OAE_GW_AUTO] = "auto",
};

/* clang-format off: it takes the braces for a block */
#define OAE_KNOB(_name, _min, _max, _unit)				\
	{ #_name, offsetof(struct oae_knobs, _name), _min, _max, _unit, NULL }
/* clang-format on */

static const struct oae_knob oae_knobs_table[] = {
	OAE_KNOB(vci, 0, 255, "decimal or 0x hex"),
	OAE_KNOB(tag_seq, 0, UINT_MAX, ""),
	OAE_KNOB(verbose, 0, 2, ""),
	OAE_KNOB(drop_pct, 0, 100, "percent"),
	OAE_KNOB(express, 0, 1, ""),
	OAE_KNOB(deadline_ms, 0, 3600000, "ms, 0 for none"),
	OAE_KNOB(stall_min_us, 50, 1000000, "us"),
	OAE_KNOB(stall_max_us, 1000, 10000000, "us"),
	OAE_KNOB(keepalive_ms, 10, 600000, "ms"),
	OAE_KNOB(dead_ms, 50, 3600000, "ms"),
	OAE_KNOB(linger_ms, 0, 10000, "ms"),
	OAE_KNOB(max_tags, 1, 65536, "links"),
	OAE_KNOB(max_len, 1, OAE_MAX_LEN, "bytes"),
	OAE_KNOB(sndq, 1, 4096, "transactions"),
	OAE_KNOB(rcvbuf, 4096, 16777216, "bytes"),
	OAE_KNOB(stranger_pps, 0, 100000, "answers a second"),
	OAE_KNOB(doubt_s, 0, 604800, "s, 0 for ever"),
	OAE_KNOB(region_max, 8, 67108864, "bytes"),
	{ "use_gw", offsetof(struct oae_knobs, use_gw), 0, OAE_GW_AUTO, "",
	  oae_use_gw_words },
	{ "accept", offsetof(struct oae_knobs, accept), 0, OAE_ACCEPT_NONE, "",
	  oae_accept_words },
};

static const struct oae_knob *oae_knob_find(const struct kernel_param *kp)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(oae_knobs_table) - 1; i++)
		if (!strcmp(kp->name, oae_knobs_table[i].name))
			break;
	return &oae_knobs_table[i];
}

static u32 oae_random(void)
{
	return get_random_u32();
}

/* The knobs in the units of the core. */
static void oae_cfg_fill(struct oae_link_cfg *cfg, const struct oae_knobs *k)
{
	cfg->stall_min = (u64)k->stall_min_us * NSEC_PER_USEC;
	cfg->stall_max = (u64)k->stall_max_us * NSEC_PER_USEC;
	cfg->keepalive = (u64)k->keepalive_ms * NSEC_PER_MSEC;
	cfg->dead = (u64)k->dead_ms * NSEC_PER_MSEC;
	cfg->max_len = k->max_len;
	cfg->random = oae_random;
}

/*
 * An event goes by one state of the knobs from its beginning to its end: 64 bits
 * that are written while they are read may be half of each on 32-bit machines.
 */
static void oae_cfg_update(struct oae_node *node)
{
	struct oae_link_cfg *old, *new;

	/* Under kernel_param_lock, like all that writes knobs. */
	old = rcu_dereference_protected(node->cfg, true);
	new = &node->cfgs[old == &node->cfgs[0]];
	oae_cfg_fill(new, &node->knobs);
	if (!memcmp(old, new, sizeof(*new)))
		return;
	rcu_assign_pointer(node->cfg, new);
	/* Until nobody goes by the old one. Who sets many knobs sets them one by one. */
	synchronize_rcu_expedited();
}

/**
 * oae_knobs_init() - give a new node the knobs that insmod was given
 * @node: which
 *
 * Context: process; nobody else knows the node yet.
 */
void oae_knobs_init(struct oae_node *node)
{
	node->knobs = oae_defaults;
	oae_cfg_fill(&node->cfgs[0], &node->knobs);
	RCU_INIT_POINTER(node->cfg, &node->cfgs[0]);
}

static unsigned int *oae_knob_at(const struct oae_knob *knob,
				 struct oae_knobs *knobs)
{
	return (void *)knobs + knob->offset;
}

static int oae_knob_parse(const struct oae_knob *knob, const char *val,
			  unsigned int *v)
{
	int err;

	if (knob->words) {
		for (*v = 0; *v <= knob->max; ++*v)
			if (!strcmp(val, knob->words[*v]))
				return 0;
		return -EINVAL;
	}
	err = kstrtouint(val, strncasecmp(val, "0x", 2) ? 10 : 16, v);
	if (err)
		return err;
	return *v < knob->min || *v > knob->max ? -ERANGE : 0;
}

static int oae_knob_refuse(const struct oae_knob *knob, const char *val,
			   int err)
{
	char accepted[96];

	if (knob->words)
		scnprintf(accepted, sizeof(accepted), "takes %s, %s or %s",
			  knob->words[0], knob->words[1], knob->words[2]);
	else
		scnprintf(accepted, sizeof(accepted),
			  "takes a number from %u to %u%s%s", knob->min,
			  knob->max, *knob->unit ? ", " : "", knob->unit);
	return oae_refuse(knob->name, val, err, accepted);
}

/* What one knob asks of another; checked when all are known. */
static int oae_knobs_check(const struct oae_knobs *k, const char *name,
			   const char *val)
{
	if (k->stall_min_us > k->stall_max_us)
		return oae_refuse(name, val, -EINVAL,
				  "takes stall_min_us not above stall_max_us");
	return 0;
}

static int oae_knob_set_node(const struct oae_knob *knob,
			     struct oae_node *node, const char *val)
{
	struct oae_knobs k = node ? node->knobs : oae_defaults;
	unsigned int v;
	int err;

	err = oae_knob_parse(knob, val, &v);
	if (err)
		return oae_knob_refuse(knob, val, err);
	if (!node) {
		*oae_knob_at(knob, &oae_defaults) = v;
		return 0;
	}
	*oae_knob_at(knob, &k) = v;
	err = oae_knobs_check(&k, knob->name, val);
	if (err)
		return err;
	WRITE_ONCE(*oae_knob_at(knob, &node->knobs), v);
	oae_cfg_update(node);
	if (knob->words == oae_use_gw_words)
		oae_path_use_gw(node);
	return 0;
}

static int oae_knob_set(const char *val, const struct kernel_param *kp)
{
	struct oae_node *node;
	char *copy;
	int err;

	err = oae_params_node(&node, true);
	if (err)
		return err;
	copy = kstrdup(val, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	err = oae_knob_set_node(oae_knob_find(kp), node, strim(copy));
	kfree(copy);
	return err;
}

static int oae_knob_get(char *buf, const struct kernel_param *kp)
{
	const struct oae_knob *knob = oae_knob_find(kp);
	struct oae_node *node;
	unsigned int v;
	int err;

	err = oae_params_node(&node, false);
	if (err)
		return err;
	v = *oae_knob_at(knob, node ? &node->knobs : &oae_defaults);
	if (knob->words)
		return scnprintf(buf, PAGE_SIZE, "%s\n", knob->words[v]);
	return scnprintf(buf, PAGE_SIZE, "%u\n", v);
}

static const struct kernel_param_ops oae_knob_ops = {
	.set = oae_knob_set,
	.get = oae_knob_get,
};

/**
 * oae_knobs_check_defaults() - do the knobs that insmod was given fit together?
 *
 * Context: process. Not asked while they come in, one after the other.
 *
 * Return: 0 or -EINVAL, logged.
 */
int oae_knobs_check_defaults(void)
{
	char val[12];

	scnprintf(val, sizeof(val), "%u", oae_defaults.stall_min_us);
	return oae_knobs_check(&oae_defaults, "stall_min_us", val);
}

module_param_cb(vci, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(vci, "virtual channel that noc_debug sends on (0 to 255, default 0)");
module_param_cb(tag_seq, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(tag_seq, "number of the first transaction of a new link (default 1)");
module_param_cb(verbose, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(verbose, "kernel log: 0 errors and losses, 1 links and ports, 2 all that is out of the ordinary (default 0)");
module_param_cb(drop_pct, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(drop_pct, "percent of frames received to drop, for tests (default 0)");
module_param_cb(express, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(express, "1: noc_debug sends express, delivered at once and not reversible (default 0)");
module_param_cb(deadline_ms, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(deadline_ms, "ms after which a noc_debug write is reversed, 0 none (default 0)");
module_param_cb(stall_min_us, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(stall_min_us, "least us without progress before a link freezes (50 to 1000000, default 1000)");
module_param_cb(stall_max_us, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(stall_max_us, "greatest such us, not below stall_min_us (1000 to 10000000, default 200000)");
module_param_cb(keepalive_ms, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(keepalive_ms, "ms of silence before an idle peer is probed (10 to 600000, default 1000)");
module_param_cb(dead_ms, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(dead_ms, "ms without an answer before a link is down (50 to 3600000, default 5000)");
module_param_cb(linger_ms, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(linger_ms, "ms that unloading and releasing a device wait for links to close (0 to 10000, default 500)");
module_param_cb(max_tags, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(max_tags, "most links a namespace (1 to 65536, default 1024)");
module_param_cb(max_len, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(max_len, "largest transaction, bytes (1 to 262144, default 65536)");
module_param_cb(sndq, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(sndq, "most transactions queued to send a link (1 to 4096, default 64)");
module_param_cb(rcvbuf, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(rcvbuf, "most bytes delivered and not yet read a link (4096 to 16777216, default 262144)");
module_param_cb(stranger_pps, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(stranger_pps, "most answers a second to peers without a link (0 to 100000, default 200)");
module_param_cb(doubt_s, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(doubt_s, "s that a stranger's link that is down and in doubt is kept when others want its place, 0 for ever (0 to 604800, default 3600)");
module_param_cb(accept, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(accept, "peers that may open a link: any, peers (those in target and peers), none (default any)");
module_param_cb(use_gw, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(use_gw, "ways to peers: 0 direct, 1 through the gateway, auto direct first, the gateway when that stays silent (default auto)");
module_param_cb(region_max, &oae_knob_ops, NULL, 0644);
MODULE_PARM_DESC(region_max, "largest region that a file of /dev/oae exposes, bytes (8 to 67108864, default 1048576)");
