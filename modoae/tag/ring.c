// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of a file, and the links that are on them: how they begin and end, and how the rx
 * ring is filled. What was delivered to its links moves from their inboxes to the ring, which
 * makes room in the inboxes as a read does. Links take turns.
 *
 * A message becomes unread under the lock of its inbox, then the link is listed as ready.
 * The filler takes a link off the list, then looks at the inbox until it is empty:
 *
 *	oae_ring_deliver()		fill_link()
 *	  (a message was delivered)	  (the link is off the list)
 *	  smp_mb()			  smp_mb()
 *	  is the link listed?		  is anything unread?
 */
#include "event.h"

#include <linux/poll.h>
#include <linux/slab.h>

#include "ring.h"

#define FILL_LINK	16			/* messages of a link until the next link's turn */
#define FILL_AGAIN_NS	NSEC_PER_MSEC		/* without memory */

/* The first link that may have something unread, off the list; or NULL. */
static struct oae_ring_link *fill_next(struct oae_rings *r)
{
	struct oae_ring_link *link;

	if (list_empty_careful(&r->ready))
		return NULL;
	spin_lock(&r->ready_lock);
	link = list_first_entry_or_null(&r->ready, struct oae_ring_link, ready);
	if (link) {
		list_del_init(&link->ready);
		WRITE_ONCE(link->listed, false);
	}
	spin_unlock(&r->ready_lock);
	return link;
}

/*
 * A link that is off goes: nothing finds it by its handle, or lists it, any more. The turn to
 * fill in is the caller's, or the rings are stopped. Twice is no harm as long as there is a
 * reference.
 */
static void fill_let_go(struct oae_rings *r, struct oae_ring_link *link)
{
	if (!xa_erase_bh(&r->links, link->handle))
		return;
	spin_lock_bh(&r->ready_lock);
	list_del_init(&link->ready);
	/* For good: oae_ring_list() leaves it alone. */
	WRITE_ONCE(link->listed, true);
	spin_unlock_bh(&r->ready_lock);
	oae_ring_link_put(link);
}

/* A chunk that is in rx: the kernel wrote it, and nobody else can. */
static const struct oae_chunk *fill_chunk(const struct oae_rings *r, u64 pos)
{
	return oae_twice_at(&r->rx, pos);
}

/* Look how far the program has passed chunks, @most of them. True: there were more. */
static bool fill_pass(struct oae_rings *r, unsigned int most)
{
	/* The program has read what it passed, before it is overwritten. */
	u64 to = oae_pos_load_acquire(&r->program->passed), left = to - r->passed, size;
	struct oae_ring_link *link = NULL;
	const struct oae_chunk *chunk;

	if (left > r->filled - r->passed)
		goto broken;
	for (; left && most; most--) {
		chunk = fill_chunk(r, r->passed);
		size = oae_chunk_size(chunk->len);
		if (size > left)
			goto broken;
		if (!link || link->handle != chunk->link)
			link = xa_load(&r->links, chunk->link);
		/* It goes with its last chunk. */
		if (!WARN_ON_ONCE(!link) && !--link->unpassed && unlikely(READ_ONCE(link->off))) {
			fill_let_go(r, link);
			link = NULL;
		}
		left -= size;
		WRITE_ONCE(r->passed, r->passed + size);
	}
	return left;
broken:
	oae_ring_break(r, EPROTO);
	return false;
}

static size_t fill_room(const struct oae_rings *r)
{
	return r->rx.size - (r->filled - r->passed);
}

/* Begin a chunk; where its bytes go. */
static u8 *fill_begin(struct oae_rings *r, struct oae_ring_link *link,
		      const struct oae_rcv_cb *cb)
{
	struct oae_chunk *chunk = oae_twice_at(&r->rx, r->filled);

	*chunk = (struct oae_chunk){ .len = cb->len, .link = link->handle, .number = cb->number };
	WRITE_ONCE(r->filled, r->filled + oae_chunk_size(cb->len));
	link->unpassed++;
	return (u8 *)(chunk + 1);
}

/* What cannot be copied was not kept: net/rcv.c. */
static void fill_copy(const struct sk_buff *skb, unsigned int off, u8 *to, unsigned int len)
{
	if (unlikely(skb_copy_bits(skb, off, to, len)))
		memset(to, 0, len);
}

/* Write what was taken, one message or all of a pack, and free it. How many it were. */
static unsigned int fill_write(struct oae_rings *r, struct oae_ring_link *link,
			       struct sk_buff *skb)
{
	const struct oae_rcv_cb *cb = OAE_RCV_CB(skb);
	unsigned int n = cb->pack_n ?: 1;
	struct sk_buff *next;
	u8 *at;

	oae_count_n(r->node, OAE_S_READ, n);
	while (cb->pack_n) {
		fill_copy(skb, cb->off, fill_begin(r, link, cb), cb->len);
		oae_pack_pass(skb);
		if (!cb->pack_n) {
			oae_xmit_spare(skb);
			return n;
		}
	}
	at = fill_begin(r, link, cb);
	for (; skb; skb = next) {
		next = skb->next;
		skb_mark_not_on_list(skb);
		fill_copy(skb, 0, at, skb->len);
		at += skb->len;
		oae_xmit_spare(skb);
	}
	return n;
}

/*
 * There is no room for the next message. True: there is by now, or more of what was passed
 * is to be looked at.
 */
static bool fill_wait_room(struct oae_rings *r)
{
	u64 passed = r->passed;

	if (fill_pass(r, OAE_RING_BATCH) || r->passed != passed)
		return true;
	if (r->filled == r->passed) {
		oae_ring_break(r, EMSGSIZE);
		return false;
	}
	WRITE_ONCE(r->kernel->wants_room, 1);
	/* The word before the last look. Pairs with the program's barrier. */
	smp_mb();
	if (!fill_pass(r, OAE_RING_BATCH) && r->passed == passed)
		return false;
	WRITE_ONCE(r->kernel->wants_room, 0);
	return true;
}

/*
 * Move messages of a link that is off the list, until rx is filled to position @to. The link is
 * listed again if more may be unread.
 * True: go on with the next link.
 */
static bool fill_link(struct oae_rings *r, struct oae_ring_link *link, unsigned int *n, u64 to)
{
	unsigned int most = min_t(unsigned int, *n + FILL_LINK, OAE_RING_BATCH);
	struct sk_buff *skb;
	size_t room;
	int err;

	/* Off the list before the look. Pairs with the barrier in oae_attach_readable(). */
	smp_mb();
	/* It may have gone just now, with what the program passed. */
	while (*n < most && r->filled < to && !READ_ONCE(link->off)) {
		room = fill_room(r);
		if (room < oae_chunk_size(1))
			err = -EMSGSIZE;
		else
			err = oae_inbox_take(link->tag, link->client,
					     room - sizeof(struct oae_chunk), OAE_TAKE_PACK, &skb);
		if (err == -EMSGSIZE && fill_wait_room(r))
			continue;
		if (err == -ENOMEM) {
			oae_count(r->node, OAE_S_NO_MEMORY);
			hrtimer_start(&r->more, ns_to_ktime(FILL_AGAIN_NS), HRTIMER_MODE_REL_SOFT);
		}
		if (err == -EMSGSIZE || err == -ENOMEM) {
			oae_ring_list(link);
			return false;
		}
		if (err || !skb)
			return true;
		*n += fill_write(r, link, skb);
	}
	oae_ring_list(link);
	return true;
}

/* Fill in some of what was delivered. True: there may be more, and room for it. */
static bool fill_some(struct oae_rings *r)
{
	struct oae_ring_link *link;
	u64 before = r->filled, to = before + OAE_RING_BYTES;
	unsigned int n = 0;

	if (unlikely(r->kernel->wants_room))
		WRITE_ONCE(r->kernel->wants_room, 0);
	while (n < OAE_RING_BATCH && r->filled < to && (link = fill_next(r)) != NULL) {
		if (unlikely(READ_ONCE(link->off))) {
			if (!link->unpassed)
				fill_let_go(r, link);
		} else if (!fill_link(r, link, &n, to)) {
			break;
		}
	}
	if (r->filled != before) {
		/* The chunks before the position. */
		oae_pos_store_release(&r->kernel->filled, r->filled);
		oae_ring_wake(r, true);
	}
	return n >= OAE_RING_BATCH || r->filled >= to;
}

static struct page *ring_page(void)
{
	return alloc_page(OAE_GFP_MAPPED | __GFP_ZERO);
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
	r->take.work = oae_ring_take_some;
	r->fill.work = fill_some;
	hrtimer_setup(&r->more, oae_ring_more, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
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
	struct oae_ring_link *link;
	unsigned long i;

	WRITE_ONCE(r->closed, true);
	/* `closed` before the look at turns. Pairs with the atomics in ring_turn(). */
	smp_mb();
	wait_event(r->closer, !atomic_read(&r->take.n) && !atomic_read(&r->fill.n));
	hrtimer_cancel(&r->more);
	while (fill_pass(r, OAE_RING_BATCH))
		cond_resched();
	oae_left_give_back(r);
	/* Only now, so that nothing newer is read first. Pairs with oae_ring_busy(). */
	smp_store_release(&r->returned, true);
	xa_for_each(&r->links, i, link) {
		oae_attach_readable(link->tag);
		oae_attach_writable(link->tag);
	}
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
	xa_for_each(&r->links, i, link)
		oae_ring_link_leave(link);
	xa_for_each(&r->links, i, link)
		fill_let_go(r, link);
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
 * @taken: what that has taken to read: it goes back, and so is the ring's, unless this fails
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: the link on the ring, with a reference of the file; ERR_PTR(-EBUSY) it is on a
 * ring already, -ENOSPC there are no handles left, -ENOMEM.
 */
struct oae_ring_link *oae_ring_link_make(struct oae_rings *r, struct oae_tag *tag,
					 const struct oae_client *c, struct sk_buff **taken)
{
	struct oae_ring_link *link = kzalloc(sizeof(*link), OAE_GFP_USER);
	struct sk_buff *skb;
	int err;

	if (!link)
		return ERR_PTR(-ENOMEM);
	link->ring = r;
	link->tag = tag;
	link->client = c;
	INIT_LIST_HEAD(&link->ready);
	refcount_set(&link->ref, 2);
	link->left = alloc_skb(0, OAE_GFP_USER);
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
	if (rcu_dereference_protected(tag->users->ring, lockdep_is_held(&tag->lock))) {
		err = -EBUSY;
	} else {
		/* Before anything newer is filled in. */
		skb = xchg(taken, NULL);
		if (skb)
			oae_inbox_untake(tag, skb);
		rcu_assign_pointer(tag->users->ring, link);
	}
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
