/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Knobs: what an administrator sets by name, whether with insmod, with a write to
 * /sys/module, or with netlink. Both modules include this header.
 */
#ifndef OAE_KNOB_H
#define OAE_KNOB_H

#include <linux/moduleparam.h>
#include <linux/types.h>

struct module;
struct mutex;
struct oae_knob;

/**
 * struct oae_setting - a knob and the value that it is to have
 * @knob: the knob
 * @val: the value without blanks around it; @knob's functions may modify it
 * @number: the value, if it is a number or stands for one
 * @data: of @knob's functions, freed with kfree()
 * @applied: @knob's apply() was called, and may have to be undone
 */
struct oae_setting {
	const struct oae_knob *knob;
	char *val;
	unsigned int number;
	void *data;
	bool applied;
};

/**
 * struct oae_refusal - why a value is refused, in words
 * @knob: the knob
 * @val: the value, or the part of it that is refused
 * @accepted: a constant, the end of a sentence: which values are accepted. NULL:
 *	there are no words for it
 * @err: negative errno
 * @logged: whoever refused has written to the kernel log
 * @setting: the setting at fault among those of one call of oae_knobs_set()
 */
struct oae_refusal {
	const char *knob;
	const char *val;
	const char *accepted;
	int err;
	bool logged;
	const struct oae_setting *setting;
};

/**
 * struct oae_knob_class - what the knobs of a module have in common
 * @owner: find the owner that a parameter acts on: a node, a gateway, or NULL for
 *	the template of insmod. 0 or a negative errno; under kernel_param_lock
 * @lock: the owner's lock, under which its knobs are set and printed
 * @numbers: the struct that holds the owner's numbers
 * @check: check the relations of the settings to each other and to what is set;
 *	NULL: there are none. Not called for the template
 * @changed: the owner's numbers have changed, and the settings have those of before;
 *	not called for the template
 */
struct oae_knob_class {
	int (*owner)(void **owner, bool write);
	struct mutex *(*lock)(void *owner);
	void *(*numbers)(void *owner);
	int (*check)(void *owner, const struct oae_setting *s, unsigned int n,
		     struct oae_refusal *why);
	void (*changed)(void *owner, const struct oae_setting *s,
			unsigned int n);
};

/**
 * enum oae_knob_order - when in a request a knob is applied, and what can be relied on
 * @OAE_KNOB_SURE: last, since it cannot fail, and is never undone
 * @OAE_KNOB_EXCHANGED: first. It may fail; whether it does or not, number and data of
 *	the setting are the value before. So the same call undoes it: it sets that
 *	value whatever it returns, for it has all that it needs
 * @OAE_KNOB_FINAL: after those. It may fail, and has changed nothing then; it could not
 *	be undone. A request sets at most one such knob
 */
enum oae_knob_order {
	OAE_KNOB_SURE,
	OAE_KNOB_EXCHANGED,
	OAE_KNOB_FINAL,
};

/**
 * struct oae_knob - a knob
 * @class: its module's
 * @name: name of the parameter
 * @accepted: a constant, the end of a sentence: which values are accepted
 * @offset: of a number: where in the struct of numbers
 * @min: of a number: the least
 * @max: of a number: the greatest; of words: the last
 * @or_zero: of a number: 0 is accepted, too
 * @size: of a number: bytes, and K, M or G may stand behind it, 1,024 times as many each
 * @words: a choice of words that stand for 0, 1, ...
 * @elsewhere: a constant: why netlink does not set it; NULL: it does
 * @hidden: netlink does not show it: a command and its table, no value
 * @order: when @apply is called, among those of a request
 * @parse: check the value, perhaps fill in number and data; NULL: a number or word,
 *	or with @print any text
 * @apply: set the value; NULL: a number or word that is only stored
 * @print: print the value, return the characters written; NULL: a number or word
 *
 * @apply and @print are called under the owner's lock, or for the template under
 * kernel_param_lock; @parse without a lock of the owner.
 */
struct oae_knob {
	const struct oae_knob_class *class;
	const char *name;
	const char *accepted;
	unsigned int offset;
	unsigned int min;
	unsigned int max;
	bool or_zero;
	bool size;
	const char *const *words;
	const char *elsewhere;
	bool hidden;
	enum oae_knob_order order;
	int (*parse)(void *owner, struct oae_setting *s,
		     struct oae_refusal *why);
	int (*apply)(void *owner, struct oae_setting *s,
		     struct oae_refusal *why);
	int (*print)(void *owner, char *buf, size_t size);
};

/* oae_knob.accepted of a number; all arguments are literals. */
#define OAE_TAKES_NUMBER(_or, _min, _max, _unit)			\
	(sizeof(_unit) > 1 ?						\
	 "takes " _or "a number from " #_min " to " #_max ", " _unit :	\
	 "takes " _or "a number from " #_min " to " #_max)

/* The unit of a size. */
#define OAE_BYTES	"bytes, also as 64K or 1M"

/* A parameter of the module that is this knob: a struct oae_knob. */
#define OAE_KNOB_PARAM(_name, _knob, _mode)				\
	module_param_cb(_name, &oae_knob_param_ops, (void *)&(_knob), _mode)

extern const struct kernel_param_ops oae_knob_param_ops;

int oae_refuse(struct oae_refusal *why, const char *knob, const char *val,
	       int err, const char *accepted);
void oae_refusal_log(const struct oae_refusal *why);
int oae_knobs_set(void *owner, struct oae_setting *s, unsigned int n,
		  struct oae_refusal *why);
int oae_knob_print(const struct oae_knob *knob, void *owner, char *buf,
		   size_t size);
void oae_knobs_drain(void);
const struct oae_knob *oae_knob_at(const struct module *module,
				   unsigned int i);
const struct oae_knob *oae_knob_find(const struct module *module,
				     const char *name);

#endif /* OAE_KNOB_H */
