// SPDX-License-Identifier: GPL-2.0
/*
 * The values of all knobs: what insmod was given, from which every node starts. And the knobs that
 * are numbers, or a choice of words that stand for numbers: what they do once they are set. The
 * table base/knobs.h has their ranges; base/knob.c parses and stores them.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "ctl.h"

/* The values that insmod was given: every node starts with these, but for `target` and `id`. */
static struct oae_knobs oae_defaults = {
#define OAE_KNOB(_name, _min, _max, _default, _unit, _text) ._name = _default,
#define OAE_CHOICE(_name, _takes, _default, _text) ._name = _default,
#include "../base/knobs.h"
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

/*
 * The most in a namespace that any user can create. RTNL, which is everybody's, is held for a walk
 * over all tags, and what frames have made is charged to nobody.
 */
static const struct {
	unsigned int offset;
	unsigned int most;
	const char *accepted;
} knobs_users_most[] = {
	{ offsetof(struct oae_knobs, max_tags), 4096,
	  "takes up to 4096 in a namespace of another user namespace than the first" },
	{ offsetof(struct oae_knobs, rcvbuf), 1048576,
	  "takes up to 1048576 in a namespace of another user namespace than the first" },
};

/**
 * oae_knobs_of() - the values that a parameter acts on
 * @owner: a node, or NULL for what insmod is given
 *
 * Context: any; struct oae_knobs says what protects them.
 *
 * Return: the values.
 */
struct oae_knobs *oae_knobs_of(void *owner)
{
	struct oae_node *node = owner;

	return node ? &node->knobs : &oae_defaults;
}

static unsigned int *knobs_at(struct oae_knobs *k, unsigned int offset)
{
	return (void *)k + offset;
}

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
	cfg->window = k->window;
	cfg->pack = k->pack;
	cfg->paths = k->paths > 1;
	cfg->random = knobs_random;
}

/*
 * Publish a new configuration for the core. An event uses one configuration from
 * begin to end: a u64 that changes while it is read may tear on 32-bit machines.
 */
static void knobs_cfg_update(struct oae_node *node)
{
	struct oae_link_cfg *old, *new;

	old = rcu_dereference_protected(node->cfg, lockdep_is_held(&node->knob_lock));
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
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_knobs_init(struct oae_node *node)
{
	struct oae_udp_peers *peers = rcu_dereference_protected(oae_defaults.udp_peers, true);
	unsigned int i, *at;

	node->knobs = oae_defaults;
	node->knobs.id = 0;
	memset(&node->knobs.target, 0, sizeof(node->knobs.target));
	if (peers) {
		peers = kmemdup(peers, sizeof(*peers), GFP_KERNEL_ACCOUNT);
		if (!peers)
			return -ENOMEM;
	}
	RCU_INIT_POINTER(node->knobs.udp_peers, peers);
	for (i = 0; oae_net_is_users(node->net) && i < ARRAY_SIZE(knobs_users_most); i++) {
		at = knobs_at(&node->knobs, knobs_users_most[i].offset);
		*at = min(*at, knobs_users_most[i].most);
	}
	knobs_cfg_fill(&node->cfgs[0], &node->knobs);
	RCU_INIT_POINTER(node->cfg, &node->cfgs[0]);
	return 0;
}

/**
 * oae_knobs_exit() - free what the knobs of a node have allocated
 * @node: the node, which has no port and whose knobs nobody sets any more
 *
 * Context: process.
 */
void oae_knobs_exit(struct oae_node *node)
{
	kfree(rcu_dereference_protected(node->knobs.udp_peers, true));
}

static struct mutex *knobs_lock(void *owner)
{
	struct oae_node *node = owner;

	return &node->knob_lock;
}

static void *knobs_numbers(void *owner)
{
	return oae_knobs_of(owner);
}

/* Check the relations between knobs. */
static int knobs_check(unsigned int stall_min_us, unsigned int stall_max_us, const char *name,
		       const char *val, struct oae_refusal *why)
{
	if (stall_min_us > stall_max_us)
		return oae_refuse(why, name, val, -EINVAL,
				  "takes stall_min_us not above stall_max_us");
	return 0;
}

static int knobs_check_user(const struct oae_setting *s, struct oae_refusal *why)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs_users_most); i++)
		if (s->knob->offset == knobs_users_most[i].offset &&
		    s->number > knobs_users_most[i].most)
			return oae_refuse(why, s->knob->name, s->val, -ERANGE,
					  knobs_users_most[i].accepted);
	return 0;
}

static int knobs_check_set(void *owner, const struct oae_setting *s,
			   unsigned int n, struct oae_refusal *why)
{
	const struct oae_node *node = owner;
	unsigned int min = node->knobs.stall_min_us, max = node->knobs.stall_max_us, i;
	int err;

	for (i = 0; i < n; i++) {
		if (s[i].knob->apply)
			continue;
		why->setting = &s[i];
		err = oae_net_is_users(node->net) ? knobs_check_user(&s[i], why) : 0;
		if (err)
			return err;
	}
	for (i = 0; i < n; i++) {
		if (s[i].knob->apply)
			continue;
		if (s[i].knob->offset == offsetof(struct oae_knobs, stall_min_us))
			min = s[i].number;
		else if (s[i].knob->offset == offsetof(struct oae_knobs, stall_max_us))
			max = s[i].number;
		else
			continue;
		why->setting = &s[i];
	}
	return knobs_check(min, max, why->setting->knob->name, why->setting->val, why);
}

static void knobs_more_room(struct oae_tag *tag, long unused)
{
	oae_tell_writers(tag);
}

static void knobs_changed(void *owner, const struct oae_setting *s,
			  unsigned int n)
{
	unsigned int i;

	knobs_cfg_update(owner);
	for (i = 0; i < n; i++)
		if (s[i].knob->words == oae_use_gw_words)
			oae_node_way_use_gw(owner);
		else if (s[i].knob->offset == offsetof(struct oae_knobs, discover) &&
			 !s[i].knob->apply)
			oae_announce_changed(owner);
		else if (s[i].knob->offset == offsetof(struct oae_knobs, sndq) && !s[i].knob->apply)
			oae_tags_for_each(owner, NULL, knobs_more_room, 0);
}

const struct oae_knob_class oae_knob_class = {
	.owner = oae_params_owner,
	.lock = knobs_lock,
	.numbers = knobs_numbers,
	.check = knobs_check_set,
	.changed = knobs_changed,
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
	struct oae_refusal why = {};
	char val[12];
	int err;

	scnprintf(val, sizeof(val), "%u", oae_defaults.stall_min_us);
	err = knobs_check(oae_defaults.stall_min_us, oae_defaults.stall_max_us, "stall_min_us",
			  val, &why);
	if (err)
		oae_refusal_log(&why);
	return err;
}

#define OAE_KNOB(_name, _min, _max, _default, _unit, _text)		\
	static const struct oae_knob oae_knob_##_name = {		\
		.class = &oae_knob_class,				\
		.name = #_name,						\
		.accepted = OAE_TAKES_NUMBER("", _min, _max, _unit),	\
		.offset = offsetof(struct oae_knobs, _name),		\
		.min = _min,						\
		.max = _max,						\
		.size = !__builtin_strcmp(_unit, OAE_BYTES),		\
	};								\
	OAE_KNOB_PARAM(_name, oae_knob_##_name, 0644);			\
	MODULE_PARM_DESC(_name, _text " (" #_min " to " #_max		\
				", default " #_default ")");
#define OAE_CHOICE(_name, _takes, _default, _text)			\
	static const struct oae_knob oae_knob_##_name = {		\
		.class = &oae_knob_class,				\
		.name = #_name,						\
		.accepted = _takes,					\
		.offset = offsetof(struct oae_knobs, _name),		\
		.max = ARRAY_SIZE(oae_##_name##_words) - 1,		\
		.words = oae_##_name##_words,				\
	};								\
	OAE_KNOB_PARAM(_name, oae_knob_##_name, 0644);			\
	MODULE_PARM_DESC(_name, _text);
#include "../base/knobs.h"
