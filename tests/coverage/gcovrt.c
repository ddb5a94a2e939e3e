// SPDX-License-Identifier: GPL-2.0
/*
 * gcovrt: keeps what modules count that gcc built with -fprofile-arcs. Only for
 * `make coverage`; a stock kernel has no CONFIG_GCOV_KERNEL, and runs no constructors.
 *
 * With -fprofile-info-section gcc needs none: it leaves a pointer to the struct gcov_info
 * of each object in a section, whose ends info.lds names. They are looked up when a module
 * comes. What it has counted when it goes is added up here, by the object's name.
 *
 * /sys/kernel/debug/gcovrt has all of it as words, the numbers in hex:
 *   object VERSION STAMP CHECKSUM NAME		an object, NAME as gcc calls its .gcda
 *   function IDENT LINENO CFG COUNT...		a function of it, and what it counted
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#if __GNUC__ < 12
#error "gcc 11 and older leave something else"
#endif
#define KINDS	(__GNUC__ >= 14 ? 9 : 8)	/* of counters */

/* What gcc leaves, as its gcov.h has it. Only counters of the first kind are in use. */
struct gcov_fn_info {
	const struct gcov_info *key;
	u32 ident;
	u32 lineno_checksum;
	u32 cfg_checksum;
	struct {
		u32 n;
		u64 *values;
	} counts;
};

struct gcov_info {
	u32 version;
	struct gcov_info *next;
	u32 stamp;
	u32 checksum;
	const char *name;
	void *merge[KINDS];
	u32 n_functions;
	const struct gcov_fn_info *const *functions;
};

/* A module that is loaded. */
struct live {
	struct list_head list;
	const struct module *module;
	struct gcov_info **start, **stop;
};

/* An object, for ever. Of each function IDENT, LINENO, CFG, how many counts, the counts. */
struct kept {
	struct list_head list;
	u32 version, stamp, checksum;
	char *name;
	size_t n_words;
	u64 words[];
};

/* Both lists, and what has been counted. */
static DEFINE_MUTEX(lock);
static LIST_HEAD(lives);
static LIST_HEAD(objects);

static struct dentry *file;

/* Objects name it. Nobody calls it; it makes the modules depend on this one. */
void __gcov_merge_add(u64 *counters, u32 n)
{
}
EXPORT_SYMBOL_GPL(__gcov_merge_add);

static struct kept *find(const struct gcov_info *info)
{
	struct kept *k;

	list_for_each_entry(k, &objects, list)
		if (k->stamp == info->stamp && k->checksum == info->checksum &&
		    !strcmp(k->name, info->name))
			return k;
	return NULL;
}

/* Room for what an object counts: then none is needed when its module goes. */
static int prepare(const struct gcov_info *info)
{
	size_t n_words = 0;
	struct kept *k;
	u64 *to;
	u32 i;

	if (find(info))
		return 0;
	for (i = 0; i < info->n_functions; i++)
		n_words += 4 + info->functions[i]->counts.n;
	k = kvzalloc(struct_size(k, words, n_words), GFP_KERNEL);
	if (!k)
		return -ENOMEM;
	k->name = kstrdup(info->name, GFP_KERNEL);
	if (!k->name) {
		kvfree(k);
		return -ENOMEM;
	}
	k->version = info->version;
	k->stamp = info->stamp;
	k->checksum = info->checksum;
	k->n_words = n_words;
	to = k->words;
	for (i = 0; i < info->n_functions; i++) {
		const struct gcov_fn_info *f = info->functions[i];

		*to++ = f->ident;
		*to++ = f->lineno_checksum;
		*to++ = f->cfg_checksum;
		*to++ = f->counts.n;
		to += f->counts.n;
	}
	list_add_tail(&k->list, &objects);
	return 0;
}

/* What a module has counted since the last time is added up. */
static void gather(const struct live *live)
{
	struct gcov_info **info;

	for (info = live->start; info < live->stop; info++) {
		struct kept *k = find(*info);
		u64 *to = k->words;
		u32 i, j;

		for (i = 0; i < (*info)->n_functions; i++) {
			const struct gcov_fn_info *f = (*info)->functions[i];

			to += 4;
			for (j = 0; j < f->counts.n; j++)
				*to++ += xchg(&f->counts.values[j], 0);
		}
	}
}

static void *symbol(struct module *module, const char *name)
{
	struct mod_kallsyms *all = rcu_dereference_raw(module->kallsyms);
	unsigned int i;

	for (i = 0; i < all->num_symtab; i++)
		if (!strcmp(all->strtab + all->symtab[i].st_name, name))
			return (void *)all->symtab[i].st_value;
	return NULL;
}

static int come(struct module *module)
{
	struct gcov_info **start = symbol(module, "__start_gcov_info");
	struct gcov_info **stop = symbol(module, "__stop_gcov_info");
	struct gcov_info **info;
	struct live *live;

	if (!start || !stop)
		return 0;
	live = kzalloc(sizeof(*live), GFP_KERNEL);
	if (!live)
		return -ENOMEM;
	for (info = start; info < stop; info++) {
		if (prepare(*info)) {
			kfree(live);
			return -ENOMEM;
		}
	}
	live->module = module;
	live->start = start;
	live->stop = stop;
	list_add_tail(&live->list, &lives);
	return 0;
}

static void go(const struct module *module)
{
	struct live *live, *next;

	list_for_each_entry_safe(live, next, &lives, list) {
		if (live->module == module) {
			gather(live);
			list_del(&live->list);
			kfree(live);
		}
	}
}

static int notice(struct notifier_block *nb, unsigned long what, void *module)
{
	int error = 0;

	mutex_lock(&lock);
	if (what == MODULE_STATE_COMING)
		error = come(module);
	else if (what == MODULE_STATE_GOING)
		go(module);
	mutex_unlock(&lock);
	return notifier_from_errno(error);
}

static struct notifier_block notifier = { .notifier_call = notice };

static void *counts_start(struct seq_file *m, loff_t *pos)
{
	struct live *live;

	mutex_lock(&lock);
	list_for_each_entry(live, &lives, list)
		gather(live);
	return seq_list_start(&objects, *pos);
}

static void *counts_next(struct seq_file *m, void *v, loff_t *pos)
{
	return seq_list_next(v, &objects, pos);
}

static void counts_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&lock);
}

static int counts_show(struct seq_file *m, void *v)
{
	const struct kept *k = list_entry(v, struct kept, list);
	const u64 *word = k->words;

	seq_printf(m, "object %x %x %x %s\n", k->version, k->stamp, k->checksum, k->name);
	while (word < k->words + k->n_words) {
		u64 n = word[3];

		seq_printf(m, "function %llx %llx %llx", word[0], word[1], word[2]);
		for (word += 4; n; n--)
			seq_printf(m, " %llx", *word++);
		seq_putc(m, '\n');
	}
	return 0;
}

static const struct seq_operations counts_sops = {
	.start = counts_start,
	.next = counts_next,
	.stop = counts_stop,
	.show = counts_show,
};
DEFINE_SEQ_ATTRIBUTE(counts);

static int __init gcovrt_init(void)
{
	int error = register_module_notifier(&notifier);

	if (!error)
		file = debugfs_create_file(KBUILD_MODNAME, 0400, NULL, NULL, &counts_fops);
	return error;
}

static void __exit gcovrt_exit(void)
{
	struct kept *k, *next;

	debugfs_remove(file);
	unregister_module_notifier(&notifier);
	list_for_each_entry_safe(k, next, &objects, list) {
		kfree(k->name);
		kvfree(k);
	}
}

module_init(gcovrt_init);
module_exit(gcovrt_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("the modoae authors");
MODULE_DESCRIPTION("Keeps what modoae and modoaeip count, for tests");
