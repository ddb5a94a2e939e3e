// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs: the parameters that are numbers, or a choice of words that stand for
 * numbers. The table base/knobs.h has their ranges; the code is the same for all.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ctl.h"

/* The values that insmod was given: every node starts with these. */
static struct oae_knobs oae_defaults = {
#define OAE_KNOB(_name, _min, _max, _default, _unit, _text) ._name = _default,
#define OAE_CHOICE(_name, _default, _text) ._name = _default,
#include "../base/knobs.h"
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

static u32 knobs_random(void)
{
	return get_random_u32();
}

/* Convert the knobs to the units of the core. */
static void knobs_cfg_fill(struct oae_link_cfg *cfg, const struct oae_knobs *k)
{
	cfg->stall_min = (u64)k->stall_min_us * NSEC_PER_USEC;
	cfg->stall_max = (u64)k->stall_max_us * NSEC_PER_USEC;
	cfg->keepalive = (u64)k->keepalive_ms * NSEC_PER_MSEC;
	cfg->dead = (u64)k->dead_ms * NSEC_PER_MSEC;
	cfg->max_len = k->max_len;
	cfg->random = knobs_random;
}

/*
 * Publish a new configuration for the core. An event uses one configuration from
 * begin to end: a u64 that changes while it is read may tear on 32-bit machines.
 */
static void knobs_cfg_update(struct oae_node *node)
{
	struct oae_link_cfg *old, *new;

	/* All writers of knobs hold kernel_param_lock. */
	old = rcu_dereference_protected(node->cfg, true);
	new = &node->cfgs[old == &node->cfgs[0]];
	knobs_cfg_fill(new, &node->knobs);
	if (!memcmp(old, new, sizeof(*new)))
		return;
	rcu_assign_pointer(node->cfg, new);
	/* Wait for readers of the old configuration. Each write pays one grace period. */
	synchronize_rcu_expedited();
}

/**
 * oae_knobs_init() - initialise the knobs of a new node with those of insmod
 * @node: the node, not published yet
 *
 * Context: process.
 */
void oae_knobs_init(struct oae_node *node)
{
	node->knobs = oae_defaults;
	knobs_cfg_fill(&node->cfgs[0], &node->knobs);
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

/* Check the relations between knobs. */
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
	knobs_cfg_update(node);
	if (knob->words == oae_use_gw_words)
		oae_node_way_use_gw(node);
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
	err = oae_knob_set_node(kp->arg, node, strim(copy));
	kfree(copy);
	return err;
}

static int oae_knob_get(char *buf, const struct kernel_param *kp)
{
	const struct oae_knob *knob = kp->arg;
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
 * oae_knobs_check_defaults() - check the relations between the knobs of insmod
 *
 * Checked once all are known, since insmod sets them one after the other.
 *
 * Context: process.
 *
 * Return: 0; -EINVAL, which is logged.
 */
int oae_knobs_check_defaults(void)
{
	char val[12];

	scnprintf(val, sizeof(val), "%u", oae_defaults.stall_min_us);
	return oae_knobs_check(&oae_defaults, "stall_min_us", val);
}

#define OAE_KNOB(_name, _min, _max, _default, _unit, _text)		\
	static const struct oae_knob oae_knob_##_name = {		\
		.name = #_name,						\
		.offset = offsetof(struct oae_knobs, _name),		\
		.min = _min,						\
		.max = _max,						\
		.unit = _unit,						\
	};								\
	module_param_cb(_name, &oae_knob_ops, (void *)&oae_knob_##_name,	\
			0644);						\
	MODULE_PARM_DESC(_name, _text " (" #_min " to " #_max		\
				", default " #_default ")");
#define OAE_CHOICE(_name, _default, _text)				\
	static const struct oae_knob oae_knob_##_name = {		\
		.name = #_name,						\
		.offset = offsetof(struct oae_knobs, _name),		\
		.max = ARRAY_SIZE(oae_##_name##_words) - 1,		\
		.words = oae_##_name##_words,				\
	};								\
	module_param_cb(_name, &oae_knob_ops, (void *)&oae_knob_##_name,	\
			0644);						\
	MODULE_PARM_DESC(_name, _text);
#include "../base/knobs.h"
