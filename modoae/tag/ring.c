// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of a file, and the links that are on them: how they begin and end.
 *
 * A ring looks for work at the end of events of its links, so in the midst of one look
 * another may be asked for: on this CPU, by a transaction that ends at once, or on
 * another one. Who comes while somebody is at it leaves a note, and that one goes round
 * once more. So nobody waits, and no lock is held while a link is called.
 */
#include "event.h"

#include <linux/poll.h>
#include <linux/slab.h>

#include "ring.h"

#define MORE_NS		(10 * NSEC_PER_USEC)	/* until the next rounds */
#define ROUNDS		4			/* of one turn */

static struct page *ring_page(void)
{
	return alloc_page(OAE_GFP_MAPPED | __GFP_ZERO);
}

static enum hrtimer_restart ring_more(struct hrtimer *timer)
{
	oae_ring_look(container_of(timer, struct oae_rings, more));
	return HRTIMER_NORESTART;
}

static void ring_free(struct rcu_head *rcu)
{
	struct oae_rings *r = container_of(rcu, struct oae_rings, rcu);

	oae_twice_free(&r->tx);
	oae_twice_free(&r->rx);
	if (r->program)
		put_page(virt_to_page(r->program));
	if (r->kernel)
		put_page(virt_to_page(r->kernel));
	oae_pool_exit(&r->pool);
	xa_destroy(&r->links);
	kfree(r);
}

/**
 * oae_ring_put() - drop a reference to rings
 * @r: the rings, freed after RCU with the last reference
 *
 * Context: any but hard interrupts.
 */
void oae_ring_put(struct oae_rings *r)
{
	if (refcount_dec_and_test(&r->ref))
		call_rcu(&r->rcu, ring_free);
}

static int ring_alloc_pages(struct oae_rings *r, u32 tx_size, u32 rx_size)
{
	struct page *program = ring_page(), *kernel = ring_page();
	int err;

	if (program)
		r->program = page_address(program);
	if (kernel)
		r->kernel = page_address(kernel);
	if (!program || !kernel)
		return -ENOMEM;
	err = oae_twice_make(&r->tx, tx_size);
	return err ?: oae_twice_make(&r->rx, rx_size);
}

/**
 * oae_ring_make() - make the rings of a file, without a link
 * @node: the file's node
 * @tx_size: bytes, a power of two
 * @rx_size: bytes, a power of two
 * @wait: woken when there is something for the program
 *
 * Context: process, may sleep.
 *
 * Return: the rings, with a reference; ERR_PTR(-ENOMEM).
 */
struct oae_rings *oae_ring_make(struct oae_node *node, u32 tx_size, u32 rx_size,
				wait_queue_head_t *wait)
{
	static struct lock_class_key pool_key;
	struct oae_rings *r = kzalloc(sizeof(*r), OAE_GFP_USER);
	int err;

	if (!r)
		return ERR_PTR(-ENOMEM);
	r->node = node;
	r->wait = wait;
	refcount_set(&r->ref, 1);
	init_waitqueue_head(&r->closer);
	xa_init_flags(&r->links, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	oae_pool_init(&r->pool);
	/* A pool of softirqs, unlike those of files. */
	lockdep_set_class(&r->pool.lock, &pool_key);
	spin_lock_init(&r->out_lock);
	spin_lock_init(&r->ready_lock);
	INIT_LIST_HEAD(&r->out);
	INIT_LIST_HEAD(&r->ready);
	timerqueue_init_head(&r->due);
	hrtimer_setup(&r->more, ring_more, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	hrtimer_setup(&r->due_timer, oae_ring_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	err = ring_alloc_pages(r, tx_size, rx_size);
	if (err) {
		oae_ring_put(r);
		return ERR_PTR(err);
	}
	r->kernel->wants_data = 1;
	return r;
}

/**
 * oae_ring_stop() - let nothing be taken and filled in any more, and nobody be at it
 * @r: the rings
 *
 * A chunk that was published and is not taken never happened. Messages that were delivered and
 * are not passed go back to the inboxes: before the links leave, so other rings find them there.
 *
 * Context: process, may sleep; takes each link's tag->lock.
 */
void oae_ring_stop(struct oae_rings *r)
{
	WRITE_ONCE(r->closed, true);
	/* `closed` before the look at turns. Pairs with the atomics in oae_ring_turn(). */
	smp_mb();
	wait_event(r->closer, !atomic_read(&r->take.n) && !atomic_read(&r->fill.n));
	hrtimer_cancel(&r->more);
	while (oae_ring_pass(r, OAE_RING_BATCH))
		cond_resched();
	oae_left_give_back(r);
}

/**
 * oae_ring_linger() - wait until all that was taken has ended
 * @r: the rings, stopped
 * @ms: for so long at most, ms
 *
 * Context: process, may sleep.
 */
void oae_ring_linger(struct oae_rings *r, unsigned int ms)
{
	wait_event_killable_timeout(r->closer, !READ_ONCE(r->nout), msecs_to_jiffies(ms));
}

/**
 * oae_ring_close() - end the rings of a file that is being closed
 * @r: the rings, stopped; the caller keeps its reference
 *
 * Transactions that were taken go on without the file.
 *
 * Context: process, may sleep; takes each link's tag->lock.
 */
void oae_ring_close(struct oae_rings *r)
{
	struct oae_ring_link *link;
	unsigned long i;

	hrtimer_cancel(&r->due_timer);
	xa_for_each(&r->links, i, link) {
		oae_ring_link_leave(link);
		/* Its file has read() again. */
		oae_attach_readable(link->tag);
	}
	xa_for_each(&r->links, i, link)
		oae_ring_let_go(r, link);
}

/* The next handle. Several files may be put on at a time. */
static int link_handle(struct oae_rings *r, u32 *handle)
{
	int err = 0;

	spin_lock_bh(&r->ready_lock);
	if (r->nlinks == U32_MAX)
		err = -ENOSPC;
	else
		*handle = ++r->nlinks;
	spin_unlock_bh(&r->ready_lock);
	return err;
}

/**
 * oae_ring_link_make() - put a link on rings
 * @r: the rings
 * @tag: the link
 * @c: its file, which is attached
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: the link on the ring, with a reference of the file; ERR_PTR(-EBUSY) it is on a
 * ring already, -ENOSPC there are no handles left, -ENOMEM.
 */
struct oae_ring_link *oae_ring_link_make(struct oae_rings *r, struct oae_tag *tag,
					 const struct oae_client *c)
{
	struct oae_ring_link *link = kzalloc(sizeof(*link), OAE_GFP_USER);
	int err;

	if (!link)
		return ERR_PTR(-ENOMEM);
	link->ring = r;
	link->tag = tag;
	link->client = c;
	INIT_LIST_HEAD(&link->ready);
	refcount_set(&link->ref, 2);
	link->left = oae_left_make();
	err = link->left ? 0 : -ENOMEM;
	if (!err)
		err = link_handle(r, &link->handle);
	if (!err)
		err = xa_insert_bh(&r->links, link->handle, link, GFP_KERNEL);
	if (err) {
		kfree_skb(link->left);
		kfree(link);
		return ERR_PTR(err);
	}
	refcount_inc(&r->ref);
	refcount_inc(&tag->ref);
	oae_tag_lock(tag);
	if (rcu_dereference_protected(tag->users->ring, lockdep_is_held(&tag->lock)))
		err = -EBUSY;
	else
		rcu_assign_pointer(tag->users->ring, link);
	if (!err && !tag->dead) {
		link->alive = true;
		atomic_inc(&r->nalive);
	}
	oae_tag_unlock(tag);
	if (err) {
		xa_erase_bh(&r->links, link->handle);
		oae_ring_link_put(link);
		oae_ring_link_put(link);
		return ERR_PTR(err);
	}
	/* Messages may be unread already. */
	oae_ring_deliver(link);
	return link;
}

/**
 * oae_ring_link_dead() - a link's port is gone, or the link is taken off its rings
 * @link: the link on the ring
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
void oae_ring_link_dead(struct oae_ring_link *link)
{
	struct oae_rings *r = link->ring;

	lockdep_assert_held(&link->tag->lock);
	if (!link->alive)
		return;
	link->alive = false;
	/* The file is there as long as its rings are not closed. */
	if (atomic_dec_and_test(&r->nalive) && !READ_ONCE(r->closed))
		wake_up_poll(r->wait, EPOLLIN | EPOLLHUP);
}

/**
 * oae_ring_link_leave() - take a link off its rings; twice is no harm
 * @link: the link on the ring
 *
 * Chunks of it that are in rx are still the program's.
 *
 * Context: process; takes tag->lock.
 */
void oae_ring_link_leave(struct oae_ring_link *link)
{
	struct oae_tag *tag = link->tag;

	rcu_read_lock();
	oae_tag_lock(tag);
	if (rcu_access_pointer(tag->users->ring) == link)
		RCU_INIT_POINTER(tag->users->ring, NULL);
	oae_ring_link_dead(link);
	oae_tag_unlock(tag);
	rcu_read_unlock();
	if (READ_ONCE(link->off))
		return;
	WRITE_ONCE(link->off, true);
	/* `off` before the look at `listed`. Pairs with the smp_mb() in fill_link(). */
	smp_mb();
	/* The filler lets it go, now or with its last chunk. */
	oae_ring_deliver(link);
}

/**
 * oae_ring_link_put() - drop a reference to a link on a ring
 * @link: freed after RCU with the last reference
 *
 * Context: any but hard interrupts.
 */
void oae_ring_link_put(struct oae_ring_link *link)
{
	if (!refcount_dec_and_test(&link->ref))
		return;
	kfree_skb(link->left);
	oae_tag_put(link->tag);
	oae_ring_put(link->ring);
	kfree_rcu(link, rcu);
}

/**
 * oae_ring_break() - have rings stand still for good
 * @r: the rings
 * @err: why, positive errno
 *
 * Context: any but hard interrupts.
 */
void oae_ring_break(struct oae_rings *r, int err)
{
	if (cmpxchg(&r->error, 0, err))
		return;
	oae_count(r->node, OAE_S_RINGS_BROKEN);
	WRITE_ONCE(r->kernel->error, err);
	wake_up_poll(r->wait, EPOLLERR | EPOLLIN | EPOLLOUT);
}

/**
 * oae_ring_turn() - do some work of rings, unless somebody is at it, who does it then
 * @r: the rings
 * @turn: whose turn it is
 * @work: some of the work. True: there is more
 *
 * After some rounds the timer goes on.
 *
 * Context: BH off; under rcu_read_lock(); under no tag->lock.
 */
void oae_ring_turn(struct oae_rings *r, struct oae_turn *turn, bool (*work)(struct oae_rings *r))
{
	unsigned int round = 0;
	bool more;
	int noted;

	/* A full barrier, as is each atomic operation here that returns a value. */
	if (atomic_fetch_inc(&turn->n))
		return;
	do {
		/* Before the loads of the work: what is subtracted has been looked at. */
		noted = atomic_read_acquire(&turn->n);
		do {
			more = !READ_ONCE(r->closed) && !READ_ONCE(r->error) &&
			       (round >= ROUNDS || work(r));
		} while (more && round++ < ROUNDS);
		/* Before the turn ends: oae_ring_stop() waits for that, then cancels. */
		if (more)
			hrtimer_start(&r->more, ns_to_ktime(MORE_NS), HRTIMER_MODE_REL_SOFT);
	} while (atomic_sub_return(noted, &turn->n));
	if (unlikely(READ_ONCE(r->closed)))
		wake_up_all(&r->closer);
}

/**
 * oae_ring_look() - look for work in both rings
 * @r: the rings
 *
 * Context: any but hard interrupts; under no tag->lock.
 */
void oae_ring_look(struct oae_rings *r)
{
	bool filling;

	rcu_read_lock_bh();
	oae_ring_turn(r, &r->take, oae_ring_take_some);
	/* The filler may have a link off the list, and have looked at the words before. */
	filling = atomic_read(&r->fill.n);
	/* The turn before the list: a link is listed again before the turn ends. */
	smp_rmb();
	if (filling || !list_empty_careful(&r->ready))
		oae_ring_turn(r, &r->fill, oae_ring_fill_some);
	rcu_read_unlock_bh();
}

/**
 * oae_ring_wake() - wake the program, if it waits
 * @r: the rings, a position of which was stored
 * @rx: which position: one of rx, or of tx
 *
 * Context: any but hard interrupts; under rcu_read_lock().
 */
void oae_ring_wake(struct oae_rings *r, bool rx)
{
	const u32 *wants = rx ? &r->program->wants_data : &r->program->wants_room;

	/*
	 * The position before the look at who waits. Pairs with the program's barrier, and
	 * with that of wait_event in ring_wait().
	 */
	smp_mb();
	/* The file is there: RCU frees it later. */
	if ((!READ_ONCE(*wants) && !atomic_read(&r->sleepers[rx])) || READ_ONCE(r->closed))
		return;
	/* Ordered by the smp_mb() above. */
	if (waitqueue_active(r->wait))
		wake_up_poll(r->wait, rx ? EPOLLIN | EPOLLRDNORM : EPOLLOUT | EPOLLWRNORM);
}
