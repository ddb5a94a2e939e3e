// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs: the module's parameters, and what they do once they are set. base/knob.c
 * parses and stores them.
 *
 * A knob acts on the gateway of the namespace of the calling task. The values
 * given to insmod go into a template that every new gateway copies. `dev` and
 * `gwips` of it apply only to the namespace in which insmod runs. All functions
 * here run under gw->knob_lock, so writes do not overlap; on the template, under
 * kernel_param_lock.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "ctl.h"

/* Room for the longest list: 64 items of two addresses are 3583 characters. */
#define OAEIP_GWIPS_SIZE	4096

static struct {
	struct oaeip_knobs knobs;
	bool shut;
	char dev[IFNAMSIZ];
	char gwips[OAEIP_GWIPS_SIZE];
} oaeip_template = {
	.knobs = {
#define OAEIP_KNOB(_name, _min, _max, _default, _unit, _text) ._name = _default,
#define OAEIP_KNOB_OR_0(_name, _min, _max, _default, _unit, _text) ._name = _default,
#include "../base/knobs.h"
	},
};

static enum {
	OAEIP_LOADING,		/* no gateway yet: knobs act on the template */
	OAEIP_LIVE,
	OAEIP_STOPPED,
} oaeip_knobs_state;

/* --- numbers ------------------------------------------------------------------ */

static struct mutex *knobs_lock(void *owner)
{
	struct oaeip_gw *gw = owner;

	return &gw->knob_lock;
}

static void *knobs_numbers(void *owner)
{
	struct oaeip_gw *gw = owner;

	return gw ? &gw->knobs : &oaeip_template.knobs;
}

/* The tunnel's sockets are opened by what several knobs set; net/socket.c logs why not. */
static int knobs_tunnel_refuse(struct oae_refusal *why, const char *knob,
			       const char *val, int err)
{
	if (err != -EADDRINUSE && err != -EADDRNOTAVAIL)
		return err;
	why->logged = true;
	return oae_refuse(why, knob, val, err,
			  "needs a UDP port that is free at this gateway's addresses: see the knob port");
}

/*
 * Exchange the UDP port, which the tunnel's sockets are bound to. net/socket.c logs the
 * failure, since other knobs open them too.
 */
static int knobs_port_exchange(struct oaeip_gw *gw, unsigned int *port)
{
	unsigned int before = gw->knobs.port;
	int err = 0;

	rtnl_lock();
	if (*port != before) {
		WRITE_ONCE(gw->knobs.port, *port);
		*port = before;
		err = oaeip_reconfigure(gw);
	}
	rtnl_unlock();
	return err;
}

/* The knob `port`: as every number, and the sockets are opened anew. */
static int knobs_apply_port(void *owner, struct oae_setting *s,
			    struct oae_refusal *why)
{
	int err;

	if (!owner) {
		oaeip_template.knobs.port = s->number;
		return 0;
	}
	err = knobs_port_exchange(owner, &s->number);
	if (!err)
		return 0;
	why->logged = true;
	return oae_refuse(why, "port", s->val, err,
			  "takes a UDP port that is free at this gateway's addresses");
}

/* The most nodes a zone in a namespace that any user can create: they are charged to nobody. */
#define OAEIP_USERS_NODES	4096

static int knobs_check_user(void *owner, const struct oae_setting *s, unsigned int n,
			    struct oae_refusal *why)
{
	const struct oaeip_gw *gw = owner;
	unsigned int i;

	for (i = 0; i < n && oae_net_is_users(gw->net); i++) {
		if (s[i].knob->apply ||
		    s[i].knob->offset != offsetof(struct oaeip_knobs, max_nodes) ||
		    s[i].number <= OAEIP_USERS_NODES)
			continue;
		why->setting = &s[i];
		return oae_refuse(why, "max_nodes", s[i].val, -ERANGE, "takes up to "
				  __stringify(OAEIP_USERS_NODES)
				  " in a namespace of another user namespace than the first");
	}
	return 0;
}

static void knobs_changed(void *owner, const struct oae_setting *s,
			  unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!s[i].knob->apply) {
			oaeip_kick(owner, 0);
			return;
		}
	}
}

/* --- the others ---------------------------------------------------------------- */

#define OAEIP_DEV_TAKES "takes an Ethernet device, not loopback nor in a bond or bridge, with an MTU of at least 140"

static_assert(OAE_MIN_MTU + OAE_VIA_LEN == 140);

static int knobs_apply_dev(void *owner, struct oae_setting *s,
			   struct oae_refusal *why)
{
	int err;

	if (owner)
		err = oaeip_port_set(owner, s->val);
	else
		err = strscpy(oaeip_template.dev, s->val, IFNAMSIZ) < 0 ?
		      -ENODEV : 0;
	if (err == -ENODEV)
		return oae_refuse(why, "dev", s->val, err,
				  "there is no such net device in this network namespace");
	if (err == -EINVAL)
		return oae_refuse(why, "dev", s->val, err, OAEIP_DEV_TAKES);
	return knobs_tunnel_refuse(why, "dev", s->val, err);
}

static int knobs_print_dev(void *owner, char *buf, size_t size)
{
	if (owner)
		return oaeip_port_print(owner, buf, size);
	return scnprintf(buf, size, "%s", oaeip_template.dev);
}

#define OAEIP_GWIPS_TAKES "takes A,B,... an item a zone: a unicast IPv4 or IPv6 address, or one of each joined by +"

static int knobs_gwips_refuse(struct oae_refusal *why, const char *val, int err)
{
	switch (err) {
	case -EINVAL:
		return oae_refuse(why, "gwips", val, err, OAEIP_GWIPS_TAKES);
	case -E2BIG:
		return oae_refuse(why, "gwips", val, err,
				  "takes up to " __stringify(OAEIP_MAX_ZONES) " zones");
	case -EEXIST:
		return oae_refuse(why, "gwips", val, err,
				  "takes an address once");
	}
	return err;
}

/* The list becomes an array in s->data, their number s->number. */
static int knobs_parse_gwips(void *owner, struct oae_setting *s,
			     struct oae_refusal *why)
{
	char *text;
	int err;

	s->data = kcalloc(OAEIP_MAX_ZONES, sizeof(struct oaeip_addrs),
			  GFP_KERNEL_ACCOUNT);
	text = kstrdup(s->val, GFP_KERNEL);	/* strsep() modifies it */
	if (!s->data || !text) {
		kfree(text);
		return -ENOMEM;
	}
	err = oaeip_gwips_parse(s->data, &s->number, text);
	kfree(text);
	if (err)
		return knobs_gwips_refuse(why, s->val, err);
	if (!owner && strlen(s->val) >= OAEIP_GWIPS_SIZE)
		return oae_refuse(why, "gwips", s->val, -E2BIG,
				  "takes up to 4095 characters at load");
	return 0;
}

static int knobs_apply_gwips(void *owner, struct oae_setting *s,
			     struct oae_refusal *why)
{
	struct oaeip_addrs *addrs = s->data;
	int err;

	if (owner) {
		err = oaeip_gwips_exchange(owner, &addrs, &s->number);
		s->data = addrs;
		return knobs_tunnel_refuse(why, "gwips", s->val, err);
	}
	strscpy(oaeip_template.gwips, s->val, OAEIP_GWIPS_SIZE);
	return 0;
}

static int knobs_print_gwips(void *owner, char *buf, size_t size)
{
	if (owner)
		return oaeip_gwips_print(owner, buf, size);
	return scnprintf(buf, size, "%s", oaeip_template.gwips);
}

#define OAEIP_MACTBL_TAKES "takes anything: asks the zone and all gateways anew"

static int knobs_apply_mactbl(void *owner, struct oae_setting *s,
			      struct oae_refusal *why)
{
	if (owner)
		oaeip_serve_refresh(owner);
	return 0;
}

static int knobs_print_mactbl(void *owner, char *buf, size_t size)
{
	struct oaeip_mactbl *tbl = owner ? oaeip_mactbl_get(owner) : NULL;
	int n = tbl ? oaeip_mactbl_show(tbl, buf, size) : 0;

	oaeip_mactbl_put(tbl);
	return n;
}

#define OAEIP_SHUTDOWN_TAKES "takes 1 (say good-bye and stand by) or 0 (serve again)"

static int knobs_parse_shutdown(void *owner, struct oae_setting *s,
				struct oae_refusal *why)
{
	s->number = !strcmp(s->val, "1");
	if (!s->number && strcmp(s->val, "0"))
		return oae_refuse(why, "shutdown", s->val, -EINVAL,
				  OAEIP_SHUTDOWN_TAKES);
	return 0;
}

static int knobs_apply_shutdown(void *owner, struct oae_setting *s,
				struct oae_refusal *why)
{
	bool shut = s->number;
	int err;

	if (owner) {
		err = oaeip_shutdown_exchange(owner, &shut);
		s->number = shut;
		return knobs_tunnel_refuse(why, "shutdown", s->val, err);
	}
	oaeip_template.shut = s->number;
	return 0;
}

static int knobs_print_shutdown(void *owner, char *buf, size_t size)
{
	struct oaeip_gw *gw = owner;

	return scnprintf(buf, size, "%d",
			 gw ? READ_ONCE(gw->shut) : oaeip_template.shut);
}

/* --- parameters ---------------------------------------------------------------- */

/*
 * Find the target of a knob: *owner is the calling task's gateway, or NULL for the
 * template. -EPERM: the task lacks CAP_NET_ADMIN. -ENODEV: the module is being
 * unloaded, or it is being loaded and the write does not come from insmod.
 */
static int knobs_owner(void **owner, bool write)
{
	struct oaeip_gw *gw;

	*owner = NULL;
	switch (oaeip_knobs_state) {
	case OAEIP_LOADING:
		/* A write by another task: insmod's come before the sysfs files. */
		if (write && THIS_MODULE->mkobj.mp)
			break;
		return 0;
	case OAEIP_LIVE:
		gw = oaeip_gw_current();
		*owner = gw;
		if (write && !ns_capable(gw->net->user_ns, CAP_NET_ADMIN))
			return -EPERM;
		return 0;
	case OAEIP_STOPPED:
		break;
	}
	return -ENODEV;
}

static const struct oae_knob_class knob_class = {
	.owner = knobs_owner,
	.lock = knobs_lock,
	.numbers = knobs_numbers,
	.check = knobs_check_user,
	.changed = knobs_changed,
};

#define OAEIP_OTHER(_name, _parse, _takes, _order, _hidden, _text)		\
	static const struct oae_knob knob_##_name = {			\
		.class = &knob_class,					\
		.name = #_name,						\
		.accepted = _takes,					\
		.hidden = _hidden,					\
		.order = _order,					\
		.parse = _parse,					\
		.apply = knobs_apply_##_name,				\
		.print = knobs_print_##_name,				\
	};								\
	OAE_KNOB_PARAM(_name, knob_##_name, 0644);			\
	MODULE_PARM_DESC(_name, _text)

OAEIP_OTHER(dev, NULL, OAEIP_DEV_TAKES, OAE_KNOB_FINAL, false,
	    "Ethernet device of the zone, empty for none; the caller's namespace");
OAEIP_OTHER(gwips, knobs_parse_gwips, OAEIP_GWIPS_TAKES, OAE_KNOB_EXCHANGED, false,
	    "gateways, comma-separated, one item for each of up to 64 zones: an IPv4 or an IPv6 address, or one of each joined by +");
OAEIP_OTHER(mactbl, NULL, OAEIP_MACTBL_TAKES, OAE_KNOB_SURE, true,
	    "reading shows the beginning of /proc/net/modoaeip/mactbl, writing asks the zone and all gateways anew");
OAEIP_OTHER(shutdown, knobs_parse_shutdown, OAEIP_SHUTDOWN_TAKES, OAE_KNOB_EXCHANGED, false,
	    "1 says good-bye and stands by, 0 serves again (default 0)");

#define OAEIP_NUMBER(_name, _takes, _min, _max, _zero)			\
	static const struct oae_knob knob_##_name = {			\
		.class = &knob_class,					\
		.name = #_name,						\
		.accepted = _takes,					\
		.offset = offsetof(struct oaeip_knobs, _name),		\
		.min = _min,						\
		.max = _max,						\
		.or_zero = _zero,					\
		.order = OAE_KNOB_EXCHANGED,				\
		.apply = offsetof(struct oaeip_knobs, _name) ==		\
				 offsetof(struct oaeip_knobs, port) ?	\
			 knobs_apply_port : NULL,			\
	};								\
	OAE_KNOB_PARAM(_name, knob_##_name, 0644)
#define OAEIP_KNOB(_name, _min, _max, _default, _unit, _text)		\
	OAEIP_NUMBER(_name, OAE_TAKES_NUMBER("", _min, _max, _unit),	\
		     _min, _max, false);				\
	MODULE_PARM_DESC(_name, _text " (" #_min " to " #_max		\
				", default " #_default ")");
#define OAEIP_KNOB_OR_0(_name, _min, _max, _default, _unit, _text)	\
	OAEIP_NUMBER(_name, OAE_TAKES_NUMBER("0 or ", _min, _max, _unit), \
		     _min, _max, true);					\
	MODULE_PARM_DESC(_name, _text " (0, " #_min " to " #_max	\
				", default " #_default ")");
#include "../base/knobs.h"

/**
 * oaeip_knobs_init() - initialise a new gateway's knobs from the template
 * @gw: the gateway
 *
 * Copies the numbers and `shutdown`; oaeip_knobs_start() sets the rest.
 *
 * Context: process; @gw is not published yet.
 */
void oaeip_knobs_init(struct oaeip_gw *gw)
{
	gw->knobs = oaeip_template.knobs;
	if (oae_net_is_users(gw->net))
		gw->knobs.max_nodes = min_t(unsigned int, gw->knobs.max_nodes,
					    OAEIP_USERS_NODES);
	gw->shut = oaeip_template.shut;
}

/* Set a knob as it was given to insmod, if it was. */
static int knobs_start(struct oaeip_gw *gw, const struct oae_knob *knob,
		       char *val)
{
	struct oae_setting s = { .knob = knob, .val = val };
	struct oae_refusal why = {};
	int err;

	if (!*val)
		return 0;
	err = oae_knobs_set(gw, &s, 1, &why);
	if (err)
		oae_refusal_log(&why);
	return err;
}

/**
 * oaeip_knobs_start() - let the knobs act on gateways from now on
 *
 * Sets `dev` and `gwips` as given to insmod, in the namespace of the calling task.
 * On failure, destroying the gateway undoes what was set.
 *
 * Context: process, may sleep; takes gw->knob_lock and RTNL, and kernel_param_lock
 * without them.
 *
 * Return: 0, or the errno of the refused value, which was logged.
 */
int oaeip_knobs_start(void)
{
	struct oaeip_gw *gw = oaeip_gw_current();
	int err;

	/* This order starts the gateway once, and does not log that no device is set. */
	err = knobs_start(gw, &knob_dev, oaeip_template.dev);
	if (!err)
		err = knobs_start(gw, &knob_gwips, oaeip_template.gwips);
	if (err)
		return err;
	kernel_param_lock(THIS_MODULE);
	oaeip_knobs_state = OAEIP_LIVE;
	kernel_param_unlock(THIS_MODULE);
	return 0;
}

/**
 * oaeip_knobs_stop() - let the knobs return ENODEV from now on
 *
 * A write in progress ends before this function returns.
 *
 * Context: process, may sleep; takes kernel_param_lock.
 */
void oaeip_knobs_stop(void)
{
	kernel_param_lock(THIS_MODULE);
	oaeip_knobs_state = OAEIP_STOPPED;
	kernel_param_unlock(THIS_MODULE);
	oae_knobs_drain();
}
