// SPDX-License-Identifier: GPL-2.0
/*
 * Setting and showing knobs: one path for insmod, writes to /sys/module, and
 * netlink. modoaeip has this file, too: modoaeip/base/knob.c includes it.
 *
 * Several knobs are set in three steps: each value is parsed, their relations are
 * checked, all are applied. Only the last step changes anything. A value that is
 * refused is reported in struct oae_refusal, in words; the caller passes them on,
 * to the kernel log or to netlink.
 *
 * The kernel calls a parameter's functions under kernel_param_lock, which all namespaces
 * share. So they drop it before they take the owner's lock, and take it again once they
 * hold no lock: nobody takes it under another lock, nor waits with it. What it protected
 * stays safe: the owner's knobs are under the owner's lock, whoever sets them; the template
 * is written by insmod alone, which keeps kernel_param_lock; the namespace is kept by the
 * calling task; and the module by the open file in sysfs, while oae_knobs_drain() has its
 * exit wait for the owners' last users.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "knob.h"
#include "netdev.h"

/**
 * oae_refuse() - say why a value is refused
 * @why: filled in
 * @knob: the knob
 * @val: the value
 * @err: negative errno for the writer
 * @accepted: a constant, the end of a sentence: which values are accepted
 *
 * Context: any.
 *
 * Return: @err.
 */
int oae_refuse(struct oae_refusal *why, const char *knob, const char *val,
	       int err, const char *accepted)
{
	why->knob = knob;
	why->val = val;
	why->accepted = accepted;
	why->err = err;
	return err;
}

/**
 * oae_refusal_log() - write to the kernel log why a value is refused
 * @why: the reason; nothing is written if there are no words
 *
 * Logs only if the writer may administer the machine: see oae_may_log_current().
 *
 * Context: process.
 */
void oae_refusal_log(const struct oae_refusal *why)
{
	/* More than the default burst of 10: a script may set every knob at once. */
	static DEFINE_RATELIMIT_STATE(rs, 5 * HZ, 100);

	if (why->accepted && !why->logged && oae_may_log_current() &&
	    __ratelimit(&rs))
		pr_err("%s: \"%*pE\" refused (%d): %s\n", why->knob,
		       (int)min_t(size_t, strlen(why->val), 64), why->val,
		       why->err, why->accepted);
}

static unsigned int *knob_number(const struct oae_knob *knob, void *owner)
{
	return knob->class->numbers(owner) + knob->offset;
}

static int knob_parse_word(struct oae_setting *s)
{
	const struct oae_knob *knob = s->knob;

	for (s->number = 0; s->number <= knob->max; s->number++)
		if (!strcmp(s->val, knob->words[s->number]))
			return 0;
	return -EINVAL;
}

/* Of a size, K, M or G behind it: by how many bits it is more. Leaves the digits in @digits. */
static unsigned int knob_unit(const char *val, char *digits, size_t room)
{
	static const char units[] = "KMG";
	size_t len = strlen(val);
	const char *unit = len && len <= room ? strchr(units, toupper(val[len - 1])) : NULL;

	if (!unit)
		return 0;
	strscpy(digits, val, len);
	return 10 * (unit - units + 1);
}

static int knob_parse_number(struct oae_setting *s)
{
	const struct oae_knob *knob = s->knob;
	const char *val = s->val;
	unsigned int shift = 0;
	char digits[16];
	int err;

	if (knob->size)
		shift = knob_unit(val, digits, sizeof(digits));
	if (shift)
		val = digits;
	err = kstrtouint(val, strncasecmp(val, "0x", 2) ? 10 : 16, &s->number);
	if (!err && s->number > UINT_MAX >> shift)
		err = -ERANGE;
	s->number <<= shift;
	if (err || (knob->or_zero && !s->number))
		return err;
	return s->number < knob->min || s->number > knob->max ? -ERANGE : 0;
}

static int knob_parse(void *owner, struct oae_setting *s,
		      struct oae_refusal *why)
{
	const struct oae_knob *knob = s->knob;
	int err;

	if (knob->parse)
		return knob->parse(owner, s, why);
	if (knob->print)
		return 0;
	err = knob->words ? knob_parse_word(s) : knob_parse_number(s);
	return err ? oae_refuse(why, knob->name, s->val, err, knob->accepted) :
		     0;
}

static int knobs_parse(void *owner, struct oae_setting *s, unsigned int n,
		       struct oae_refusal *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		why->setting = &s[i];
		err = knob_parse(owner, &s[i], why);
	}
	return err;
}

/* Store the values that only have to be stored, and keep those before; or the reverse. */
static void knobs_swap(void *owner, struct oae_setting *s, unsigned int n)
{
	unsigned int i, *at, before;

	for (i = 0; i < n; i++) {
		if (s[i].knob->apply)
			continue;
		at = knob_number(s[i].knob, owner);
		before = *at;
		WRITE_ONCE(*at, s[i].number);
		s[i].number = before;
	}
}

/* Apply the knobs whose turn it is, up to the first that fails. */
static int knobs_try(void *owner, struct oae_setting *s, unsigned int n,
		     enum oae_knob_order order, struct oae_refusal *why)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		if (!s[i].knob->apply || s[i].knob->order != order)
			continue;
		why->setting = &s[i];
		s[i].applied = true;
		err = s[i].knob->apply(owner, &s[i], why);
	}
	return err;
}

/*
 * Exchange once more what was exchanged, that which failed included, the last one first.
 * Nothing is allocated for that, for memory may be what lacks.
 */
static void knobs_undo(void *owner, struct oae_setting *s, unsigned int n)
{
	struct oae_refusal why = {};

	while (n--)
		if (s[n].applied && s[n].knob->order == OAE_KNOB_EXCHANGED)
			s[n].knob->apply(owner, &s[n], &why);
}

/* Check relations, then first what only has to be stored: what else is set may depend on it. */
static int knobs_apply(void *owner, struct oae_setting *s, unsigned int n,
		       struct oae_refusal *why)
{
	const struct oae_knob_class *class = s->knob->class;
	int err;

	err = owner && class->check ? class->check(owner, s, n, why) : 0;
	if (err)
		return err;
	knobs_swap(owner, s, n);
	err = knobs_try(owner, s, n, OAE_KNOB_EXCHANGED, why);
	if (!err)
		err = knobs_try(owner, s, n, OAE_KNOB_FINAL, why);
	if (!err)
		err = knobs_try(owner, s, n, OAE_KNOB_SURE, why);
	if (err) {
		knobs_undo(owner, s, n);
		knobs_swap(owner, s, n);
	} else if (owner) {
		class->changed(owner, s, n);
	}
	return err;
}

static void knob_lock(const struct oae_knob *knob, void *owner)
{
	if (owner)
		mutex_lock(knob->class->lock(owner));
}

static void knob_unlock(const struct oae_knob *knob, void *owner)
{
	if (owner)
		mutex_unlock(knob->class->lock(owner));
}

/**
 * oae_knobs_set() - set knobs of one owner: all, or none
 * @owner: node or gateway, NULL for the template
 * @s: the settings, of one class, each knob once; their values may be modified
 * @n: number of settings, at least 1
 * @why: if refused: why
 *
 * Context: process, may sleep; takes the owner's lock; for the template under
 * kernel_param_lock.
 *
 * Return: 0, or a negative errno.
 */
int oae_knobs_set(void *owner, struct oae_setting *s, unsigned int n,
		  struct oae_refusal *why)
{
	unsigned int i;
	int err;

	err = knobs_parse(owner, s, n, why);
	if (!err) {
		knob_lock(s->knob, owner);
		err = knobs_apply(owner, s, n, why);
		knob_unlock(s->knob, owner);
	}
	for (i = 0; i < n; i++)
		kfree(s[i].data);
	return err;
}

/**
 * oae_knob_print() - print the value of a knob
 * @knob: the knob
 * @owner: node or gateway, NULL for the template
 * @buf: the output
 * @size: size of @buf, bytes
 *
 * Context: process, may sleep; takes the owner's lock; for the template under
 * kernel_param_lock.
 *
 * Return: characters written, without a terminating 0.
 */
int oae_knob_print(const struct oae_knob *knob, void *owner, char *buf,
		   size_t size)
{
	unsigned int v;
	int n;

	if (knob->print) {
		knob_lock(knob, owner);
		n = knob->print(owner, buf, size);
		knob_unlock(knob, owner);
		return n;
	}
	v = READ_ONCE(*knob_number(knob, owner));
	if (knob->words)
		return scnprintf(buf, size, "%s", knob->words[v]);
	return scnprintf(buf, size, "%u", v);
}

/* Functions of parameters that have dropped kernel_param_lock; under that lock. */
static unsigned int knob_away;
static DECLARE_WAIT_QUEUE_HEAD(knob_wait);

/* Drop kernel_param_lock while a parameter's function acts on @owner; not for the template. */
static void knob_leave(const void *owner)
{
	if (!owner)
		return;
	WRITE_ONCE(knob_away, knob_away + 1);
	kernel_param_unlock(THIS_MODULE);
}

/* The function holds no lock any more. */
static void knob_return(const void *owner)
{
	if (!owner)
		return;
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(knob_away, knob_away - 1);
	/* Under the lock: oae_knobs_drain() takes it before the module goes. */
	wake_up(&knob_wait);
}

/**
 * oae_knobs_drain() - wait until no parameter's function acts on an owner any more
 *
 * The class returns no owner any more. Each of those under way ends without the caller.
 *
 * Context: process, may sleep; takes kernel_param_lock.
 */
void oae_knobs_drain(void)
{
	kernel_param_lock(THIS_MODULE);
	while (knob_away) {
		kernel_param_unlock(THIS_MODULE);
		wait_event(knob_wait, !READ_ONCE(knob_away));
		kernel_param_lock(THIS_MODULE);
	}
	kernel_param_unlock(THIS_MODULE);
}

static int knob_param_set(const char *val, const struct kernel_param *kp)
{
	const struct oae_knob *knob = kp->arg;
	struct oae_setting s = { .knob = knob };
	struct oae_refusal why = {};
	void *owner;
	char *copy;
	int err;

	err = knob->class->owner(&owner, true);
	if (err)
		return err;
	copy = kstrdup(val, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	s.val = strim(copy);
	knob_leave(owner);
	err = oae_knobs_set(owner, &s, 1, &why);
	knob_return(owner);
	if (err)
		oae_refusal_log(&why);
	kfree(copy);
	return err;
}

static int knob_param_get(char *buf, const struct kernel_param *kp)
{
	const struct oae_knob *knob = kp->arg;
	void *owner;
	int n;

	n = knob->class->owner(&owner, false);
	if (n)
		return n;
	knob_leave(owner);
	n = oae_knob_print(knob, owner, buf, PAGE_SIZE - 1);
	knob_return(owner);
	if (!n || buf[n - 1] != '\n')	/* a table has one already */
		buf[n++] = '\n';
	return n;
}

const struct kernel_param_ops oae_knob_param_ops = {
	.set = knob_param_set,
	.get = knob_param_get,
};

/**
 * oae_knob_at() - a knob of a module by its place among the parameters
 * @module: THIS_MODULE
 * @i: the place, from 0
 *
 * Context: any.
 *
 * Return: the knob; NULL: that parameter is no knob; -ENOENT as a pointer: there
 * are no more parameters.
 */
const struct oae_knob *oae_knob_at(const struct module *module,
				   unsigned int i)
{
	const struct kernel_param *kp;

	if (i >= module->num_kp)
		return ERR_PTR(-ENOENT);
	kp = &module->kp[i];
	return kp->ops == &oae_knob_param_ops ? kp->arg : NULL;
}

/**
 * oae_knob_find() - a knob of a module by name
 * @module: THIS_MODULE
 * @name: the name
 *
 * Context: any.
 *
 * Return: the knob, or NULL.
 */
const struct oae_knob *oae_knob_find(const struct module *module,
				     const char *name)
{
	const struct oae_knob *knob;
	unsigned int i;

	for (i = 0; !IS_ERR(knob = oae_knob_at(module, i)); i++)
		if (knob && !strcmp(knob->name, name))
			return knob;
	return NULL;
}
