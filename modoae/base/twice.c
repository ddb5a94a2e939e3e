// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that lies twice in a row, in the kernel and in a program: what wraps at its end is
 * contiguous all the same.
 */
#include "base.h"

#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "twice.h"

/*
 * Pages that cannot be charged to a memory cgroup, since they are mapped, count as locked
 * memory of the user.
 */
static int twice_charge(struct oae_twice *t, unsigned long pages)
{
#if !OAE_HAS_ACCOUNT_MAPPED
	unsigned long most = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	/* Not get_uid(): free_uid() is not exported there. */
	t->cred = get_current_cred();
	t->charged = pages;
	if (atomic_long_add_return(pages, &t->cred->user->locked_vm) > most &&
	    !capable(CAP_IPC_LOCK))
		return -ENOMEM;
#endif
	return 0;
}

static void twice_uncharge(struct oae_twice *t)
{
	if (!t->cred)
		return;
	atomic_long_sub(t->charged, &t->cred->user->locked_vm);
	put_cred(t->cred);
	t->cred = NULL;
}

static void twice_put_pages(struct page **page, unsigned long n)
{
	while (n--)
		put_page(page[n]);
}

/* @n pages, each of them at @i and at @n + @i, with a reference for either. */
static int twice_get_pages(struct page **page, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		page[i] = fatal_signal_pending(current) ? NULL :
			  alloc_page(OAE_GFP_MAPPED | __GFP_ZERO);
		if (!page[i]) {
			twice_put_pages(page, i);
			return -ENOMEM;
		}
		cond_resched();
	}
	for (i = 0; i < n; i++) {
		page[n + i] = page[i];
		get_page(page[i]);
	}
	return 0;
}

static int twice_map(struct oae_twice *t, unsigned long n)
{
	struct page **page = kvmalloc_array(2 * n, sizeof(*page), OAE_GFP_USER);
	int err;

	if (!page)
		return -ENOMEM;
	err = twice_get_pages(page, n);
	if (err) {
		kvfree(page);
		return err;
	}
	/* On success the array and the references are vfree()'s. */
	t->base = vmap(page, 2 * n, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (t->base)
		return 0;
	twice_put_pages(page, 2 * n);
	kvfree(page);
	return -ENOMEM;
}

/**
 * oae_twice_make() - allocate
 * @t: filled in
 * @size: bytes, a power of two, a page or more
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_twice_make(struct oae_twice *t, u32 size)
{
	unsigned long n = size >> PAGE_SHIFT;
	int err = twice_charge(t, n);

	t->size = size;
	if (!err)
		err = twice_map(t, n);
	if (err)
		twice_uncharge(t);
	return err;
}

/**
 * oae_twice_free() - free; pages that a program has mapped are freed when it unmaps them
 * @t: from oae_twice_make(), or zeroed
 *
 * Context: any but hard interrupts.
 */
void oae_twice_free(struct oae_twice *t)
{
	vfree(t->base);
	t->base = NULL;
	twice_uncharge(t);
}

/**
 * oae_twice_page() - the page at an offset, for a fault
 * @t: the memory
 * @pgoff: pages from its beginning
 *
 * Context: any.
 *
 * Return: the page, with a reference; NULL beyond the second copy.
 */
struct page *oae_twice_page(const struct oae_twice *t, unsigned long pgoff)
{
	struct page *page;

	if (pgoff >= 2UL * t->size >> PAGE_SHIFT)
		return NULL;
	page = vmalloc_to_page(t->base + (pgoff << PAGE_SHIFT));
	get_page(page);
	return page;
}
