// SPDX-License-Identifier: GPL-2.0
/*
 * What an event of a link does with a ring: a link that has something unread is listed,
 * outcomes are written into chunks, the program is woken, and there is a turn to take more
 * chunks, or to fill some in. And what of a ring is out: taken, and not ended.
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
#include "../link/pack.h"

#define MORE_NS		(10 * NSEC_PER_USEC)	/* until the next rounds */
#define ROUNDS		4			/* of one turn */

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

/* A link's port is gone, or the link is taken off its rings. */
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

/* Have rings stand still for good. */
void oae_ring_break(struct oae_rings *r, int err)
{
	if (cmpxchg(&r->error, 0, err))
		return;
	oae_count(r->node, OAE_S_RINGS_BROKEN);
	WRITE_ONCE(r->kernel->error, err);
	wake_up_poll(r->wait, EPOLLERR | EPOLLIN | EPOLLOUT);
}

/* A position of rx, or of tx, was stored: wake the program, if it waits. */
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

/*
 * Do some work of rings, unless somebody is at it, who does it then. After some rounds the timer
 * goes on. Under no tag->lock.
 */
static void ring_turn(struct oae_rings *r, struct oae_turn *turn)
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
			       (round >= ROUNDS || turn->work(r));
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
	ring_turn(r, &r->take);
	/* The filler may have a link off the list, and have looked at the words before. */
	filling = atomic_read(&r->fill.n);
	/* The turn before the list: a link is listed again before the turn ends. */
	smp_rmb();
	if (filling || !list_empty_careful(&r->ready))
		ring_turn(r, &r->fill);
	rcu_read_unlock_bh();
}

/* A turn left something to do. */
enum hrtimer_restart oae_ring_more(struct hrtimer *timer)
{
	oae_ring_look(container_of(timer, struct oae_rings, more));
	return HRTIMER_NORESTART;
}

/* A link may have something unread. */
void oae_ring_list(struct oae_ring_link *link)
{
	struct oae_rings *r = link->ring;

	spin_lock(&r->ready_lock);
	if (!link->listed) {
		link->listed = true;
		list_add_tail(&link->ready, &r->ready);
	}
	spin_unlock(&r->ready_lock);
}

/*
 * Something may be unread in a link's inbox, which was written before this by a full barrier.
 * Under no tag->lock.
 */
void oae_ring_deliver(struct oae_ring_link *link)
{
	rcu_read_lock_bh();
	if (!READ_ONCE(link->listed))
		oae_ring_list(link);
	ring_turn(link->ring, &link->ring->fill);
	rcu_read_unlock_bh();
}

/* The page that what is out shares with those beside it, or NULL. */
static const struct page *out_page(const struct oae_rings *r, const struct list_head *at)
{
	return at == &r->out ? NULL :
	       oae_msg_shared(oae_txn_msg(list_entry(at, struct oae_txn, list)));
}

/*
 * How many more pages are shared with this one than without it? A page is of messages that are
 * in a row, as they were taken: it is kept as long as one of them is out.
 */
static int out_pages(const struct oae_rings *r, const struct list_head *at)
{
	const struct page *page = out_page(r, at);
	const struct page *before = out_page(r, at->prev), *behind = out_page(r, at->next);

	return !!page - (page && page == before) - (page && page == behind) +
	       (before && before == behind);
}

/* A message that is on the list takes so much memory: from now on, or no more. */
static void out_count(struct oae_rings *r, const struct oae_msg *msg, int n)
{
	long memory = oae_msg_memory(msg) + out_pages(r, &msg->txn.list) * (long)PAGE_SIZE;

	lockdep_assert_held(&r->out_lock);
	oae_add(&r->nbytes, n * (long)msg->post.len);
	oae_add(&r->memory, n * memory);
}

/* @msg is taken: it is on the list until it has ended. The reference to the link is its own. */
void oae_ring_out(struct oae_rings *r, struct oae_ring_link *link, struct oae_msg *msg)
{
	u32 ms = 0;

	msg->txn.id = r->taken;
	msg->txn.ring = r;
	msg->txn.ring_link = link;
	if (link) {
		ms = READ_ONCE(link->deadline_ms);
		if (READ_ONCE(link->express))
			msg->post.flags |= OAE_POST_EXPRESS;
	}
	oae_msg_get(msg);
	spin_lock(&r->out_lock);
	list_add_tail(&msg->txn.list, &r->out);
	oae_add(&r->nout, msg->txn.ring_n);
	out_count(r, msg, 1);
	if (ms) {
		msg->txn.due.expires = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
		if (timerqueue_add(&r->due, &msg->txn.due))
			hrtimer_start(&r->due_timer, ns_to_ktime(msg->txn.due.expires),
				      HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock(&r->out_lock);
}

/*
 * A transaction has ended, and goes. The position moves if it was the first; else the one before
 * it stands for its chunks, too: so no end takes long, however many wait for one that does not.
 */
static void out_end(struct oae_rings *r, struct oae_txn *txn)
{
	lockdep_assert_held(&r->out_lock);
	oae_add(&r->nout, -(u32)txn->ring_n);
	out_count(r, oae_txn_msg(txn), -1);
	if (!list_is_first(&txn->list, &r->out)) {
		list_prev_entry(txn, list)->room += txn->room;
		list_del_init(&txn->list);
		return;
	}
	list_del_init(&txn->list);
	WRITE_ONCE(r->ended, txn->id + txn->room);
	/* Outcomes before the position. */
	oae_pos_store_release(&r->kernel->ended, r->ended);
}

/* Bytes of chunk @i of a pack in tx. */
static u64 out_size(const struct oae_msg *pack, unsigned int i)
{
	if (pack->txn.ring_forward & BIT_ULL(i))
		return oae_chunk_size(sizeof(u64));
	return oae_chunk_size(get_unaligned_be16(oae_msg_data(pack) + oae_pack_head_len(i)));
}

/* Write the outcome into each chunk. */
static void out_tell(struct oae_rings *r, const struct oae_msg *msg)
{
	struct oae_chunk *chunk;
	u64 pos = msg->txn.id;
	unsigned int i;

	for (i = 0; i < msg->txn.ring_n; i++) {
		chunk = oae_twice_at(&r->tx, pos);
		WRITE_ONCE(chunk->err, msg->err);
		/* The reason before the result, for a program that waits for this one. */
		smp_wmb();
		WRITE_ONCE(chunk->result, OAE_CHUNK_ENDED | msg->outcome);
		if (msg->txn.ring_n > 1)
			pos += out_size(msg, i);
	}
}

/*
 * A transaction of a ring has ended: tell the program. oae_ring_took() follows, once for all in a
 * row of the same ring, which is returned.
 */
struct oae_rings *oae_ring_ended(struct oae_msg *msg)
{
	struct oae_rings *r = msg->txn.ring;

	spin_lock(&r->out_lock);
	out_tell(r, msg);
	oae_ring_untime(r, &msg->txn);
	out_end(r, &msg->txn);
	spin_unlock(&r->out_lock);
	if (msg->txn.ring_link)
		oae_ring_link_put(msg->txn.ring_link);
	oae_msg_put(msg);
	return r;
}

/* After transactions of a ring have ended: wake the program, take more. */
void oae_ring_took(struct oae_rings *r)
{
	oae_ring_wake(r, false);
	/* If the kernel waits for chunks, who publishes some rings the bell. */
	if (!READ_ONCE(r->kernel->wants_data))
		ring_turn(r, &r->take);
	if (unlikely(READ_ONCE(r->closed)))
		wake_up_all(&r->closer);
}

/* A message of a pack that is dissolved. */
static struct oae_msg *out_member(const struct oae_msg *pack, const u8 *from, u16 len)
{
	struct oae_msg *msg = oae_msg_alloc(&pack->txn.ring->pool, len,
					    GFP_ATOMIC | __GFP_NOWARN);

	if (!msg)
		return NULL;
	memcpy(oae_msg_data(msg), from, len);
	msg->txn.due.expires = pack->txn.due.expires;
	msg->txn.ring = pack->txn.ring;
	msg->txn.ring_link = pack->txn.ring_link;
	msg->txn.ring_n = 1;
	msg->alone = pack->alone;
	msg->t_offer = pack->t_offer;
	return msg;
}

/* The messages of a pack, in @to, by their position. False: there is no memory. */
static bool out_members(const struct oae_msg *pack, struct list_head *to)
{
	unsigned int i, n = pack->txn.ring_n;
	const u8 *head = oae_msg_data(pack), *at = head + oae_pack_head_len(n);
	u64 pos = pack->txn.id;
	struct oae_msg *msg;
	u16 len;

	for (i = 0; i < n; i++, at += len) {
		len = get_unaligned_be16(head + oae_pack_head_len(i));
		msg = out_member(pack, at, len);
		if (!msg)
			return false;
		msg->txn.id = pos;
		msg->txn.room = out_size(pack, i);
		pos += msg->txn.room;
		list_add_tail(&msg->list, to);
	}
	return true;
}

/* In the place of a pack that is out are its messages. */
static void out_replace(struct oae_rings *r, struct oae_msg *pack, struct list_head *msgs)
{
	struct oae_msg *msg = list_last_entry(msgs, struct oae_msg, list);
	struct list_head *behind;

	spin_lock(&r->out_lock);
	/* With those behind the pack that have ended meanwhile. */
	msg->txn.room = pack->txn.id + pack->txn.room - msg->txn.id;
	out_count(r, pack, -1);
	behind = pack->txn.list.next;
	list_del_init(&pack->txn.list);
	list_for_each_entry(msg, msgs, list) {
		refcount_inc(&msg->txn.ring_link->ref);
		oae_msg_get(msg);
		list_add_tail(&msg->txn.list, behind);
		out_count(r, msg, 1);
		if (timerqueue_node_queued(&pack->txn.due))
			timerqueue_add(&r->due, &msg->txn.due);
	}
	oae_ring_untime(r, &pack->txn);
	spin_unlock(&r->out_lock);
	oae_ring_link_put(pack->txn.ring_link);
	oae_msg_put(pack);
}

/*
 * Queue the messages of a ring's pack, each by itself: it is too long for a frame by now, or the
 * peer refuses it. False: there is no memory.
 */
bool oae_ring_dissolve(struct oae_tag *tag, struct oae_msg *pack)
{
	struct oae_msg *msg, *next;
	LIST_HEAD(msgs);

	lockdep_assert_held(&tag->lock);
	if (!out_members(pack, &msgs)) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		list_for_each_entry_safe(msg, next, &msgs, list)
			oae_msg_put(msg);
		return false;
	}
	out_replace(pack->txn.ring, pack, &msgs);
	list_for_each_entry(msg, &msgs, list) {
		oae_msg_slice(msg, oae_link_cut(&tag->link, OAE_MESSAGE, msg->post.len));
		msg->queued = true;
		oae_tag_count_queued(tag, msg, 1);
	}
	list_splice(&msgs, &tag->users->ringq);
	oae_msg_put(pack);
	return true;
}
