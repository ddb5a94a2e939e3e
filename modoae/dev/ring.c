// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of /dev/oae: making and mapping them, putting links on them, the doorbell, poll.
 * include/uapi/oae.h documents the interface, under Rings.
 */
#include "dev.h"

#include <linux/compat.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "../tag/ring.h"

/* Offsets for mmap: what is mapped, above any offset in it. Below 1 are a file's words. */
#define RING_AREA_SHIFT		40

enum ring_area {
	RING_PROGRAM	= 1,
	RING_KERNEL	= 2,
	RING_TX		= 3,
	RING_RX		= 4,
};

static u64 ring_offset(enum ring_area area)
{
	return (u64)area << RING_AREA_SHIFT;
}

/* The rings of a file, or NULL. */
static struct oae_rings *ring_of(const struct oae_file *f)
{
	/* Pairs with the smp_store_release() in ring_make(). */
	return smp_load_acquire(&f->rings);
}

/**
 * oae_ring_busy() - has a file no read() and write(), since it has rings or is on some?
 * @f: the file
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_ring_busy(struct oae_file *f)
{
	struct oae_ring_link *on;
	bool busy;

	if (ring_of(f))
		return true;
	if (likely(!READ_ONCE(f->on)))
		return false;
	/* It may be replaced, once its rings are closed. */
	rcu_read_lock();
	on = READ_ONCE(f->on);
	/* Pairs with the release in oae_ring_stop(). */
	busy = !smp_load_acquire(&on->ring->returned);
	rcu_read_unlock();
	return busy;
}

static bool ring_size_ok(u32 size)
{
	return is_power_of_2(size) && size >= OAE_RING_MIN && size <= OAE_RING_MAX;
}

/* Put the link of @f on rings. Under @f->setup. */
static int ring_put_on(struct oae_rings *r, struct oae_file *f)
{
	struct oae_ring_link *link, *old = f->on;

	/* Pairs with the release in oae_ring_stop(). */
	if (old && !smp_load_acquire(&old->ring->returned))
		return -EBUSY;
	link = oae_ring_link_make(r, f->tag, &f->client, &f->taken);
	if (IS_ERR(link))
		return PTR_ERR(link);
	WRITE_ONCE(f->on, link);
	oae_ring_options(f);
	if (old)
		oae_ring_link_put(old);
	return 0;
}

static void ring_end(struct oae_rings *r)
{
	oae_ring_stop(r);
	oae_ring_close(r);
	oae_ring_put(r);
}

static int ring_make(struct oae_file *f, struct oae_ring *a)
{
	struct oae_node *node = oae_file_node(f);
	struct oae_rings *r;
	int err = 0;

	if (f->rings)
		return -EEXIST;
	if (f->listening)
		return -EDESTADDRREQ;
	if (a->rx_size < 2 * oae_chunk_size(READ_ONCE(node->knobs.max_len)))
		return -EMSGSIZE;
	r = oae_ring_make(node, a->tx_size, a->rx_size, &f->client.wait);
	if (IS_ERR(r))
		return PTR_ERR(r);
	r->queue = f->opt.queue;
	r->queue_bytes = f->opt.queue_bytes;
	if (f->tag)
		err = ring_put_on(r, f);
	if (err) {
		ring_end(r);
		return err;
	}
	a->link = f->tag ? f->on->handle : 0;
	/* Pairs with the smp_load_acquire() in ring_of(). */
	smp_store_release(&f->rings, r);
	return 0;
}

/**
 * oae_ring_ioctl_make() - OAE_RING
 * @f: the file
 * @arg: see uapi/oae.h
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL, -EMSGSIZE sizes; -EEXIST, -EBUSY, -EDESTADDRREQ, -EOPNOTSUPP, -ENOMEM,
 * -EFAULT.
 */
int oae_ring_ioctl_make(struct oae_file *f, struct oae_ring __user *arg)
{
	struct oae_ring a;
	int err;

	BUILD_BUG_ON(sizeof(struct oae_ring_program) > PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct oae_ring_kernel) > PAGE_SIZE);
	BUILD_BUG_ON(sizeof(struct oae_chunk) % OAE_CHUNK_ALIGN);
	if (!IS_ENABLED(CONFIG_64BIT) || in_compat_syscall() || PAGE_SIZE > OAE_RING_MIN)
		return -EOPNOTSUPP;
	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	if (a.flags || !ring_size_ok(a.tx_size) || !ring_size_ok(a.rx_size))
		return -EINVAL;
	mutex_lock(&f->setup);
	err = ring_make(f, &a);
	mutex_unlock(&f->setup);
	if (err)
		return err;
	a.program = ring_offset(RING_PROGRAM);
	a.kernel = ring_offset(RING_KERNEL);
	a.tx = ring_offset(RING_TX);
	a.rx = ring_offset(RING_RX);
	return copy_to_user(arg, &a, sizeof(a)) ? -EFAULT : 0;
}

static int ring_add(struct oae_rings *r, struct oae_file *f, struct oae_file *g, u32 *handle)
{
	int err;

	if (g == f)
		return -EEXIST;
	if (!net_eq(g->net, f->net))
		return -EXDEV;
	mutex_lock(&g->setup);
	err = IS_ERR(oae_file_tag(g)) ? PTR_ERR(oae_file_tag(g)) : 0;
	if (!err)
		err = g->rings ? -EBUSY : ring_put_on(r, g);
	if (!err)
		*handle = g->on->handle;
	mutex_unlock(&g->setup);
	return err;
}

/**
 * oae_ring_ioctl_add() - OAE_RING_ADD
 * @f: the file
 * @arg: see uapi/oae.h
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOENT the file has no rings; -EBADF, -EINVAL no such file, or not one of these;
 * -ENOTCONN, -EDESTADDRREQ it is not attached; -EBUSY, -EEXIST, -EXDEV, -ENOSPC, -ENOMEM,
 * -EFAULT.
 */
int oae_ring_ioctl_add(struct oae_file *f, struct oae_ring_add __user *arg)
{
	struct oae_rings *r = ring_of(f);
	struct oae_ring_add a;
	struct oae_file *g;
	struct file *file;
	int err;

	if (!r)
		return -ENOENT;
	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	file = fget(a.fd);
	if (!file)
		return -EBADF;
	g = oae_file_of(file);
	err = g ? ring_add(r, f, g, &a.link) : -EINVAL;
	if (!err && copy_to_user(arg, &a, sizeof(a)))
		err = -EFAULT;
	fput(file);
	return err;
}

/**
 * oae_ring_options() - the options of a file have changed
 * @f: the file, perhaps with rings, or on a ring
 *
 * Context: process, may sleep; under @f->setup.
 */
void oae_ring_options(struct oae_file *f)
{
	struct oae_rings *r = f->rings;

	if (f->on) {
		WRITE_ONCE(f->on->deadline_ms, f->opt.deadline_ms);
		WRITE_ONCE(f->on->express, !!(f->opt.flags & OAE_OPT_EXPRESS));
	}
	if (r) {
		WRITE_ONCE(r->queue, f->opt.queue);
		WRITE_ONCE(r->queue_bytes, f->opt.queue_bytes);
		/* More may be taken now. */
		oae_ring_look(r);
	}
}

/**
 * oae_ring_release() - end the rings of a file that is closed, or take its link off others
 * @f: the file
 *
 * Waits as long as linger_ms says for what was taken, unless the process is dying.
 *
 * Context: process, may sleep.
 */
void oae_ring_release(struct oae_file *f)
{
	unsigned int ms = f->opt.linger_ms;

	if (f->on && !f->rings)
		oae_ring_link_leave(f->on);
	if (f->rings) {
		oae_ring_stop(f->rings);
		if (ms && ms != OAE_LINGER_BACKGROUND &&
		    !(current->flags & (PF_EXITING | PF_KTHREAD)))
			oae_ring_linger(f->rings, min(ms, OAE_LINGER_MAX));
		if (ms != OAE_LINGER_BACKGROUND)
			oae_ring_cancel(f->rings, OAE_E_CANCEL);
		oae_ring_close(f->rings);
		oae_ring_put(f->rings);
	}
	if (f->on)
		oae_ring_link_put(f->on);
}

/* The page at an offset for mmap, with a reference; NULL there is none. */
static struct page *ring_page(const struct oae_rings *r, unsigned long pgoff)
{
	unsigned long at = pgoff & ((1UL << (RING_AREA_SHIFT - PAGE_SHIFT)) - 1);
	struct page *page = NULL;

	switch (pgoff >> (RING_AREA_SHIFT - PAGE_SHIFT)) {
	case RING_TX:
		return oae_twice_page(&r->tx, at);
	case RING_RX:
		return oae_twice_page(&r->rx, at);
	case RING_PROGRAM:
		page = at ? NULL : virt_to_page(r->program);
		break;
	case RING_KERNEL:
		page = at ? NULL : virt_to_page(r->kernel);
		break;
	}
	if (page)
		get_page(page);
	return page;
}

static vm_fault_t ring_fault(struct vm_fault *vmf)
{
	const struct oae_file *f = vmf->vma->vm_file->private_data;

	vmf->page = ring_page(ring_of(f), vmf->pgoff);
	return vmf->page ? 0 : VM_FAULT_SIGBUS;
}

static const struct vm_operations_struct ring_vm_ops = {
	.fault = ring_fault,
};

/**
 * oae_ring_is_area() - is an offset for mmap one of rings, rather than of words?
 * @pgoff: pages
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_ring_is_area(unsigned long pgoff)
{
	return IS_ENABLED(CONFIG_64BIT) && pgoff >> (RING_AREA_SHIFT - PAGE_SHIFT);
}

/* Is a range of pages within one area? */
static bool ring_has(const struct oae_rings *r, unsigned long pgoff, unsigned long n)
{
	struct page *first = ring_page(r, pgoff), *last = ring_page(r, pgoff + n - 1);

	if (first)
		put_page(first);
	if (last)
		put_page(last);
	return first && last &&
	       pgoff >> (RING_AREA_SHIFT - PAGE_SHIFT) ==
	       (pgoff + n - 1) >> (RING_AREA_SHIFT - PAGE_SHIFT);
}

/**
 * oae_ring_mmap() - map a part of the rings
 * @f: the file
 * @vma: the mapping; keeps the file open
 *
 * Pages come by fault. What the kernel writes can never be made writable. A child has no
 * mapping.
 *
 * Context: process, may sleep; under mmap_lock.
 *
 * Return: 0; -ENXIO the file has no rings, or not there; -EINVAL the mapping is not shared;
 * -EACCES it is to be writable and may not.
 */
int oae_ring_mmap(struct oae_file *f, struct vm_area_struct *vma)
{
	unsigned long area = vma->vm_pgoff >> (RING_AREA_SHIFT - PAGE_SHIFT);
	struct oae_rings *r = ring_of(f);

	if (!r || !ring_has(r, vma->vm_pgoff, vma_pages(vma)))
		return -ENXIO;
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (area == RING_KERNEL || area == RING_RX) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		oae_vm_read_only(vma);
	}
	oae_vm_fixed(vma);
	oae_vm_not_for_child(vma);
	vma->vm_ops = &ring_vm_ops;
	return 0;
}

/* What a call waits for, of OAE_BELL_*, as far as it is true. */
static u32 ring_true(const struct oae_rings *r, const struct oae_bell *b)
{
	u32 is = 0;

	if ((s64)(READ_ONCE(r->kernel->filled) - b->filled) > 0)
		is |= OAE_BELL_FILLED;
	if ((s64)(READ_ONCE(r->kernel->taken) - b->taken) >= 0)
		is |= OAE_BELL_TAKEN;
	if ((s64)(READ_ONCE(r->kernel->ended) - b->ended) >= 0)
		is |= OAE_BELL_ENDED;
	return is & b->flags;
}

/* Why the rings stand still, negative errno; 0: they do not. */
static int ring_error(struct oae_rings *r)
{
	return -(int)READ_ONCE(r->error) ?: atomic_read(&r->nalive) ? 0 : -ENODEV;
}

static bool ring_may_return(struct oae_rings *r, const struct oae_bell *b)
{
	return ring_true(r, b) || ring_error(r);
}

static int ring_wait(struct oae_rings *r, const struct oae_bell *b)
{
	long left = b->timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT : msecs_to_jiffies(b->timeout_ms);

	/* Pairs with the smp_mb() in oae_ring_wake(), by that of wait_event. */
	if (b->flags & ~OAE_BELL_FILLED)
		atomic_inc(&r->sleepers[0]);
	if (b->flags & OAE_BELL_FILLED)
		atomic_inc(&r->sleepers[1]);
	left = wait_event_interruptible_timeout(*r->wait, ring_may_return(r, b), left);
	if (b->flags & ~OAE_BELL_FILLED)
		atomic_dec(&r->sleepers[0]);
	if (b->flags & OAE_BELL_FILLED)
		atomic_dec(&r->sleepers[1]);
	return left < 0 ? -EINTR : 0;
}

/**
 * oae_ring_bell() - OAE_RING_BELL: look at the program's words, and wait
 * @f: the file
 * @arg: see uapi/oae.h
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOENT the file has no rings; -EINVAL flags; -EPROTO, -EMSGSIZE the rings stand
 * still; -ENODEV no link is left; -EINTR, -EFAULT.
 */
int oae_ring_bell(struct oae_file *f, const struct oae_bell __user *arg)
{
	struct oae_rings *r = ring_of(f);
	struct oae_bell b;
	int err = 0;
	u32 us;

	if (!r)
		return -ENOENT;
	if (copy_from_user(&b, arg, sizeof(b)))
		return -EFAULT;
	if (b.flags & ~(OAE_BELL_FILLED | OAE_BELL_TAKEN | OAE_BELL_ENDED))
		return -EINVAL;
	oae_ring_look(r);
	if (!b.flags)
		return -(int)READ_ONCE(r->error);
	us = READ_ONCE(f->opt.spin_us);
	if (us)
		oae_spin(us, ring_may_return(r, &b));
	if (!ring_may_return(r, &b))
		err = ring_wait(r, &b);
	if (ring_true(r, &b) && !READ_ONCE(r->error))
		return 0;
	return ring_error(r) ?: err;
}

/**
 * oae_ring_poll() - what the program of rings can do
 * @f: the file
 *
 * There is room if half of tx is free. The words are the program's own.
 *
 * Context: any.
 *
 * Return: EPOLL*; 0 also if the file has no rings.
 */
__poll_t oae_ring_poll(struct oae_file *f)
{
	struct oae_rings *r = ring_of(f);
	__poll_t mask = 0;

	if (!r)
		return 0;
	if (READ_ONCE(r->kernel->filled) != READ_ONCE(r->program->passed))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(r->program->published) - READ_ONCE(r->kernel->ended) <= r->tx.size / 2)
		mask |= EPOLLOUT | EPOLLWRNORM;
	return READ_ONCE(r->error) ? mask | EPOLLERR : mask;
}

/**
 * oae_ring_show() - show the rings of a file in /proc/PID/fdinfo
 * @f: the file
 * @m: the destination
 *
 * Context: process, may sleep.
 */
void oae_ring_show(const struct oae_file *f, struct seq_file *m)
{
	struct oae_rings *r = ring_of(f);

	if (!r)
		return;
	seq_printf(m, "ring_tx:\t%u size, %llu ended, %llu taken, %llu published\n", r->tx.size,
		   READ_ONCE(r->ended), READ_ONCE(r->taken), READ_ONCE(r->program->published));
	seq_printf(m, "ring_rx:\t%u size, %llu passed, %llu filled\n", r->rx.size,
		   READ_ONCE(r->program->passed), READ_ONCE(r->filled));
	seq_printf(m, "ring_error:\t%u\n", READ_ONCE(r->error));
}
