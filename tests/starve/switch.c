// SPDX-License-Identifier: GPL-2.0
/*
 * oaestarve: says which allocations of the modules under test fail. Only for
 * `make starve`; starve.h is the other half.
 *
 * In /sys/kernel/debug/oaestarve:
 *   sites	a line a site: number, module, where, function, call, how often it
 *		was asked, and refused; kept while the modules come and go
 *   fail	`off`; `site N SKIP COUNT`: the next SKIP times it is granted, then
 *		refused COUNT times; `also N`: that one, too, until all of these are used;
 *		`random PER_MILLE SEED`: any, at random;
 *		`move`: none, but the head of an skb moves wherever it may
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "starve.h"

#define SITES_MAX	512

/* What is known of a site; the number of the first is 1. */
struct record {
	char module[16];
	char file[32];
	char function[48];
	char call[32];
	unsigned int line;
	unsigned int index;	/* in its module */
	unsigned int asked;
	unsigned int failed;
};

static struct record record[SITES_MAX];
static unsigned int nrecords;

static struct {
	unsigned int site;	/* the one to fail, or 0 */
	DECLARE_BITMAP(also, SITES_MAX + 1);	/* others, as long as count is not 0 */
	unsigned int skip;
	unsigned int count;
	unsigned int per_mille;
	u32 seed;
	bool move;
} fail;

/* All of the above. Sites are asked in any context. */
static DEFINE_RAW_SPINLOCK(lock);

static struct dentry *dir;

/* The last two parts of a path. */
static const char *short_path(const char *path)
{
	const char *p = path + strlen(path);
	int slashes = 0;

	while (p > path && slashes < 2)
		if (*--p == '/')
			slashes++;
	return slashes == 2 ? p + 1 : p;
}

static unsigned int number_of(const struct starve_site *site,
			      unsigned int index)
{
	struct record *r;
	unsigned int i;

	for (i = 0; i < nrecords; i++)
		if (record[i].index == index &&
		    !strcmp(record[i].module, site->module))
			return i + 1;
	if (nrecords == SITES_MAX) {
		pr_err("more than %u sites\n", SITES_MAX);
		return SITES_MAX;
	}
	r = &record[nrecords++];
	strscpy(r->module, site->module, sizeof(r->module));
	strscpy(r->file, short_path(site->file), sizeof(r->file));
	strscpy(r->function, site->function, sizeof(r->function));
	strscpy(r->call, site->call, sizeof(r->call));
	r->line = site->line;
	r->index = index;
	return nrecords;
}

static bool refuse(unsigned int number)
{
	if (fail.per_mille) {
		fail.seed = fail.seed * 1664525 + 1013904223;
		return (fail.seed >> 8) % 1000 < fail.per_mille;
	}
	if (!fail.count)
		return false;
	if (number != fail.site)
		return test_bit(number, fail.also);
	if (fail.skip) {
		fail.skip--;
		return false;
	}
	fail.count--;
	return true;
}

/**
 * starve_fails() - is there no memory for this one?
 * @site: which
 * @first: of all in its module
 * @end: behind the last of them
 *
 * Context: any.
 *
 * Return: true if it shall fail.
 */
bool starve_fails(struct starve_site *site, struct starve_site *first,
		  struct starve_site *end)
{
	unsigned long flags;
	struct record *r;
	bool yes;

	raw_spin_lock_irqsave(&lock, flags);
	if (!site->number) {
		/* The module has just been loaded. */
		unsigned int i;

		for (i = 0; first + i < end; i++)
			first[i].number = number_of(&first[i], i);
	}
	r = &record[site->number - 1];
	r->asked++;
	yes = refuse(site->number);
	r->failed += yes;
	raw_spin_unlock_irqrestore(&lock, flags);
	return yes;
}
EXPORT_SYMBOL_GPL(starve_fails);

/**
 * starve_moved() - an skb is to be changed in a way for which its head may move
 * @skb: the skb
 *
 * Whoever kept a pointer into the old head is found out, if told to.
 *
 * Context: any.
 *
 * Return: @skb.
 */
struct sk_buff *starve_moved(struct sk_buff *skb)
{
	if (READ_ONCE(fail.move) && !skb_shared(skb))
		pskb_expand_head(skb, 0, 0, GFP_ATOMIC);
	return skb;
}
EXPORT_SYMBOL_GPL(starve_moved);

static int sites_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(nrecords); i++)
		seq_printf(m, "%u %s %s:%u %s %s %u %u\n", i + 1,
			   record[i].module, record[i].file, record[i].line,
			   record[i].function, record[i].call,
			   READ_ONCE(record[i].asked),
			   READ_ONCE(record[i].failed));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sites);

static ssize_t fail_write(struct file *file, const char __user *from,
			  size_t len, loff_t *pos)
{
	unsigned int a, b, c;
	unsigned long flags;
	char text[64];

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = 0;

	raw_spin_lock_irqsave(&lock, flags);
	if (strncmp(text, "also", 4))
		memset(&fail, 0, sizeof(fail));
	if (sscanf(text, "also %u", &a) == 1 && a <= SITES_MAX) {
		__set_bit(a, fail.also);
	} else if (sscanf(text, "site %u %u %u", &a, &b, &c) == 3 && a <= SITES_MAX) {
		fail.site = a;
		fail.skip = b;
		fail.count = c;
	} else if (sscanf(text, "random %u %u", &a, &b) == 2) {
		fail.per_mille = a;
		fail.seed = b;
	} else if (!strncmp(text, "move", 4)) {
		fail.move = true;
	} else if (strncmp(text, "off", 3)) {
		len = -EINVAL;
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return len;
}

static const struct file_operations fail_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fail_write,
};

static int __init starve_init(void)
{
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("sites", 0400, dir, NULL, &sites_fops);
	debugfs_create_file("fail", 0200, dir, NULL, &fail_fops);
	return 0;
}

static void __exit starve_exit(void)
{
	debugfs_remove(dir);
}

module_init(starve_init);
module_exit(starve_exit);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("the modoae authors");
MODULE_DESCRIPTION("Makes allocations of modoae and modoaeip fail, for tests");
