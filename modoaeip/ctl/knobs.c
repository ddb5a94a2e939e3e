// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs: the module's parameters.
 *
 * A knob acts on the gateway of the namespace of the calling task. The values
 * given to insmod go into a template that every new gateway copies. `dev` and
 * `gwips` of it apply only to the namespace in which insmod runs. All functions
 * here run under kernel_param_lock, so writes do not overlap.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ratelimit.h>
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

/* A knob: a number from min to max, unless set and get are given. */
struct oaeip_knob {
	int (*set)(struct oaeip_gw *gw, char *val);
	int (*get)(struct oaeip_gw *gw, char *buf, size_t size);
	unsigned int offset;	/* in struct oaeip_knobs */
	unsigned int min;
	unsigned int max;
	bool or_zero;
	const char *unit;
	const char *name;
};

/* Log a refused value and what is accepted instead. Returns @err. */
static int knobs_refuse(const char *knob, const char *val, int err,
			const char *accepted)
{
	/* More than the usual 10, so a script that sets all knobs sees every refusal. */
	static DEFINE_RATELIMIT_STATE(rs, 5 * HZ, 100);

	if (oae_may_log_current() && __ratelimit(&rs))
		pr_err("%s: \"%*pE\" refused (%d): %s\n", knob,
		       (int)min_t(size_t, strlen(val), 64), val, err,
		       accepted);
	return err;
}

/* --- numbers ------------------------------------------------------------------ */

static unsigned int *knobs_number_at(const struct oaeip_knob *knob,
				     struct oaeip_gw *gw)
{
	struct oaeip_knobs *knobs = gw ? &gw->knobs : &oaeip_template.knobs;

	return (void *)knobs + knob->offset;
}

static int knobs_number_parse(const struct oaeip_knob *knob, const char *val,
			      unsigned int *v)
{
	char accepted[80];
	int err;

	err = kstrtouint(val, strncasecmp(val, "0x", 2) ? 10 : 16, v);
	if (!err && (*v < knob->min || *v > knob->max) &&
	    !(knob->or_zero && !*v))
		err = -ERANGE;
	if (!err)
		return 0;
	scnprintf(accepted, sizeof(accepted),
		  "takes %sa number from %u to %u%s%s", knob->or_zero ? "0 or " : "",
		  knob->min, knob->max, *knob->unit ? ", " : "", knob->unit);
	return knobs_refuse(knob->name, val, err, accepted);
}

/*
 * Set the UDP port, which the tunnel's sockets are bound to. On failure the old
 * sockets come back. net/socket.c logs the failure, since other knobs open them too.
 */
static int knobs_port_use(struct oaeip_gw *gw, unsigned int port)
{
	unsigned int old = gw->knobs.port;
	int err = 0;

	rtnl_lock();
	if (port != old) {
		WRITE_ONCE(gw->knobs.port, port);
		err = oaeip_reconfigure(gw);
	}
	if (err) {
		WRITE_ONCE(gw->knobs.port, old);
		oaeip_reconfigure(gw);
	}
	rtnl_unlock();
	return err;
}

static int knobs_number_set(const struct oaeip_knob *knob, struct oaeip_gw *gw,
			    const char *val)
{
	unsigned int *at = knobs_number_at(knob, gw);
	unsigned int v;
	int err;

	err = knobs_number_parse(knob, val, &v);
	if (err)
		return err;
	if (gw && at == &gw->knobs.port)
		return knobs_port_use(gw, v);
	WRITE_ONCE(*at, v);
	if (gw)
		oaeip_kick(gw, 0);
	return 0;
}

/* --- the others ---------------------------------------------------------------- */

static int knobs_set_dev(struct oaeip_gw *gw, char *val)
{
	char accepted[100];
	int err;

	if (gw)
		err = oaeip_port_set(gw, val);
	else
		err = strscpy(oaeip_template.dev, val, IFNAMSIZ) < 0 ?
		      -ENODEV : 0;
	if (err == -ENODEV)
		return knobs_refuse("dev", val, err,
				    "takes a net device of this namespace");
	if (err != -EINVAL)
		return err;
	scnprintf(accepted, sizeof(accepted),
		  "takes an Ethernet device, not loopback nor in a bond or bridge, with an MTU of at least %d",
		  OAE_MIN_MTU + OAE_VIA_LEN);
	return knobs_refuse("dev", val, err, accepted);
}

static int knobs_get_dev(struct oaeip_gw *gw, char *buf, size_t size)
{
	if (gw)
		return oaeip_port_print(gw, buf, size);
	return scnprintf(buf, size, "%s", oaeip_template.dev);
}

static int knobs_gwips_parse(struct oaeip_addrs *addrs, unsigned int *n,
			     const char *val)
{
	char *text;
	int err;

	text = kstrdup(val, GFP_KERNEL);	/* strsep() modifies it */
	if (!text)
		return -ENOMEM;
	err = oaeip_gwips_parse(addrs, n, text);
	kfree(text);
	switch (err) {
	case -EINVAL:
		return knobs_refuse("gwips", val, err,
				    "takes A,B,... an item a zone: a unicast IPv4 or IPv6 address, or one of each joined by +");
	case -E2BIG:
		return knobs_refuse("gwips", val, err,
				    "takes up to " __stringify(OAEIP_MAX_ZONES) " zones");
	case -EEXIST:
		return knobs_refuse("gwips", val, err, "takes an address once");
	}
	return err;
}

static int knobs_set_gwips(struct oaeip_gw *gw, char *val)
{
	struct oaeip_addrs *addrs;
	unsigned int n;
	int err;

	addrs = kcalloc(OAEIP_MAX_ZONES, sizeof(*addrs), GFP_KERNEL);
	if (!addrs)
		return -ENOMEM;
	err = knobs_gwips_parse(addrs, &n, val);
	if (!err && gw)
		err = oaeip_gwips_set(gw, addrs, n);
	else if (!err && strscpy(oaeip_template.gwips, val,
				 OAEIP_GWIPS_SIZE) < 0)
		err = knobs_refuse("gwips", val, -E2BIG,
				   "takes up to 4095 characters at load");
	kfree(addrs);
	return err;
}

static int knobs_get_gwips(struct oaeip_gw *gw, char *buf, size_t size)
{
	if (gw)
		return oaeip_gwips_print(gw, buf, size);
	return scnprintf(buf, size, "%s", oaeip_template.gwips);
}

static int knobs_set_mactbl(struct oaeip_gw *gw, char *val)
{
	if (gw)
		oaeip_serve_refresh(gw);
	return 0;
}

static int knobs_get_mactbl(struct oaeip_gw *gw, char *buf, size_t size)
{
	return gw ? oaeip_mactbl_show(gw, buf, size) : 0;
}

static int knobs_set_shutdown(struct oaeip_gw *gw, char *val)
{
	bool shut = !strcmp(val, "1");

	if (!shut && strcmp(val, "0"))
		return knobs_refuse("shutdown", val, -EINVAL,
				    "takes 1 (say good-bye and stand by) or 0 (serve again)");
	if (gw)
		return oaeip_shutdown_set(gw, shut);
	oaeip_template.shut = shut;
	return 0;
}

static int knobs_get_shutdown(struct oaeip_gw *gw, char *buf, size_t size)
{
	return scnprintf(buf, size, "%d",
			 gw ? READ_ONCE(gw->shut) : oaeip_template.shut);
}

/* --- parameters ---------------------------------------------------------------- */

/*
 * Find the target of a knob: *gw is the calling task's gateway, or NULL for the
 * template. -EPERM: the task lacks CAP_NET_ADMIN. -ENODEV: the module is being
 * unloaded, or it is being loaded and the write does not come from insmod.
 */
static int knobs_whose(struct oaeip_gw **gw, bool write)
{
	*gw = NULL;
	switch (oaeip_knobs_state) {
	case OAEIP_LOADING:
		/* A write by another task: insmod's come before the sysfs files. */
		if (write && THIS_MODULE->mkobj.mp)
			break;
		return 0;
	case OAEIP_LIVE:
		*gw = oaeip_gw_current();
		if (write && !ns_capable((*gw)->net->user_ns, CAP_NET_ADMIN))
			return -EPERM;
		return 0;
	case OAEIP_STOPPED:
		break;
	}
	return -ENODEV;
}

static int knob_set(const char *val, const struct kernel_param *kp)
{
	const struct oaeip_knob *knob = kp->arg;
	struct oaeip_gw *gw;
	char *copy, *text;
	int err;

	err = knobs_whose(&gw, true);
	if (err)
		return err;
	copy = kstrdup(val, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	text = strim(copy);
	err = knob->set ? knob->set(gw, text) : knobs_number_set(knob, gw, text);
	kfree(copy);
	return err;
}

static int knob_get(char *buf, const struct kernel_param *kp)
{
	const struct oaeip_knob *knob = kp->arg;
	struct oaeip_gw *gw;
	int n;

	n = knobs_whose(&gw, false);
	if (n)
		return n;
	if (!knob->get)
		return scnprintf(buf, PAGE_SIZE, "%u\n", *knobs_number_at(knob, gw));
	n = knob->get(gw, buf, PAGE_SIZE - 1);
	if (!n || buf[n - 1] != '\n')	/* a table has one already */
		buf[n++] = '\n';
	return n;
}

static const struct kernel_param_ops knob_ops = {
	.set = knob_set,
	.get = knob_get,
};

#define OAEIP_PARAM(_name)						\
	module_param_cb(_name, &knob_ops, (void *)&knob_##_name, 0644)

#define OAEIP_OTHER(_name, _text)					\
	static const struct oaeip_knob knob_##_name = {			\
		.set = knobs_set_##_name,					\
		.get = knobs_get_##_name,					\
	};								\
	OAEIP_PARAM(_name);						\
	MODULE_PARM_DESC(_name, _text)

OAEIP_OTHER(dev, "Ethernet device of the zone, empty for none; the caller's namespace");
OAEIP_OTHER(gwips,
	    "gateways, comma-separated, one item for each of up to 64 zones: an IPv4 or an IPv6 address, or one of each joined by +");
OAEIP_OTHER(mactbl,
	    "reading shows the beginning of /proc/net/modoaeip/mactbl, writing asks the zone and all gateways anew");
OAEIP_OTHER(shutdown, "1 says good-bye and stands by, 0 serves again (default 0)");

#define OAEIP_NUMBER(_name, _min, _max, _zero, _unit)			\
	static const struct oaeip_knob knob_##_name = {			\
		.offset = offsetof(struct oaeip_knobs, _name),		\
		.min = _min,						\
		.max = _max,						\
		.or_zero = _zero,					\
		.unit = _unit,						\
		.name = #_name,						\
	};								\
	OAEIP_PARAM(_name)
#define OAEIP_KNOB(_name, _min, _max, _default, _unit, _text)		\
	OAEIP_NUMBER(_name, _min, _max, false, _unit);			\
	MODULE_PARM_DESC(_name, _text " (" #_min " to " #_max		\
				", default " #_default ")");
#define OAEIP_KNOB_OR_0(_name, _min, _max, _default, _unit, _text)	\
	OAEIP_NUMBER(_name, _min, _max, true, _unit);			\
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
	gw->shut = oaeip_template.shut;
}

/**
 * oaeip_knobs_start() - let the knobs act on gateways from now on
 *
 * Sets `dev` and `gwips` as given to insmod, in the namespace of the calling task.
 * On failure, destroying the gateway undoes what was set.
 *
 * Context: process, may sleep; takes kernel_param_lock and RTNL.
 *
 * Return: 0, or the errno of the refused value, which was logged.
 */
int oaeip_knobs_start(void)
{
	struct oaeip_gw *gw = oaeip_gw_current();
	int err = 0;

	kernel_param_lock(THIS_MODULE);
	/* This order starts the gateway once, and does not log that no device is set. */
	if (*oaeip_template.dev)
		err = knobs_set_dev(gw, oaeip_template.dev);
	if (!err && *oaeip_template.gwips)
		err = knobs_set_gwips(gw, oaeip_template.gwips);
	if (!err)
		oaeip_knobs_state = OAEIP_LIVE;
	kernel_param_unlock(THIS_MODULE);
	return err;
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
}
