/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings: a stream into and out of a program (include/uapi/oae.h, Rings). A ring is one more
 * reader and one more writer of its links: ringtake.c posts what a program has published,
 * ring.c takes from the inboxes. inbox.c gives back what a dead program had not passed.
 */
#ifndef OAE_RING_H
#define OAE_RING_H

#include <linux/xarray.h>

#include "tag.h"
#include "../base/twice.h"

struct oae_run;

struct oae_rings;

/**
 * struct oae_turn - work that one does at a time: ringout.c
 * @n: how often it was asked for since somebody began it; 0 nobody is at it
 * @work: some of the work; true if there is more
 */
struct oae_turn {
	atomic_t n;
	bool (*work)(struct oae_rings *r);
};

/**
 * struct oae_taken - a chunk of tx as it was when it was read, once
 * @head: its header
 * @body: its bytes, in tx or rx
 * @size: what it takes in tx, bytes
 */
struct oae_taken {
	struct oae_chunk head;
	const void *body;
	u32 size;
};

/**
 * struct oae_rings - the rings of a file
 * @node: of the file; not used once @closed
 * @ref: the file's, and each link's
 * @closed: the file is being closed: nothing is taken or filled in any more
 * @returned: what was not passed is in its links' inboxes again: their files have read()
 * @error: positive errno: the same without the file's being closed
 * @queue: the most transactions that are taken and have not ended
 * @queue_bytes: the most bytes in them, 0 no limit
 * @wait: of the file: its program waits for either ring
 * @sleepers: calls that wait there, for each of the program's words by which it says so
 * @closer: who closes the file waits here for turns to end
 * @program: the words of the program, in a page; each is read once where it is used
 * @kernel: the words of the kernel, in a page
 * @tx: the program's chunks
 * @rx: the kernel's
 * @links: struct oae_ring_link by handle
 * @nlinks: the last handle; under @ready_lock
 * @nalive: links that are on, and whose port is there
 * @more: a turn left something to do
 * @take: whose turn it is to take chunks; has the members down to @pool
 * @taken: what oae_ring_kernel has; that is never read
 * @batch: chunks that go together
 * @pool: memory of short messages
 * @out_lock: members down to @due_timer
 * @out: what was taken and has not ended: oae_msg.txn.list, in order. One that has stands between
 *	others for all that have there
 * @nout: transactions that have not ended
 * @nbytes: bytes of these
 * @memory: what these take, bytes
 * @ended: what oae_ring_kernel has
 * @due: those with a deadline: oae_txn.due
 * @due_timer: reverses those
 * @fill: whose turn it is to fill in chunks; has the members down to @passed
 * @filled: what oae_ring_kernel has
 * @passed: what oae_ring_program had when it was last looked at, and was right
 * @ready_lock: members that follow
 * @ready: links that may have something unread, oae_ring_link.ready
 * @rcu: for call_rcu()
 */
struct oae_rings {
	struct oae_node *node;
	refcount_t ref;
	bool closed;
	bool returned;
	u32 error;
	u32 queue;
	u32 queue_bytes;
	wait_queue_head_t *wait;
	atomic_t sleepers[2];		/* tx, rx */
	wait_queue_head_t closer;
	struct oae_ring_program *program;
	struct oae_ring_kernel *kernel;
	struct oae_twice tx;
	struct oae_twice rx;
	struct xarray links;
	u32 nlinks;
	atomic_t nalive;
	struct hrtimer more;

	struct oae_turn take;
	u64 taken;
	struct oae_taken batch[OAE_PACK_MSGS];
	struct oae_pool pool;
	spinlock_t out_lock;		/* nests in tag->lock */
	struct list_head out;
	u32 nout;
	size_t nbytes;
	size_t memory;
	u64 ended;
	struct timerqueue_head due;
	struct hrtimer due_timer;

	struct oae_turn fill;
	u64 filled;
	u64 passed;
	spinlock_t ready_lock;		/* no lock nests in it */
	struct list_head ready;
	struct rcu_head rcu;
};

/**
 * struct oae_ring_link - a link on a ring
 * @ring: the ring, a reference
 * @tag: the link, a reference
 * @client: of the link's file; not used once @off
 * @handle: its number on the ring
 * @ref: of @ring->links; of each transaction that is out; of @left
 * @deadline_ms: see struct oae_options
 * @express: all messages are express
 * @off: it is about to go; a chunk of it may still be in rx
 * @alive: counts in @ring->nalive; under tag->lock
 * @listed: on @ring->ready, or gone: to be listed no more
 * @ready: in @ring->ready
 * @unpassed: chunks in rx that are not passed
 * @left: stands for these in the inbox, when the ring is dead. It has the reference then
 * @left_at: offset of the first of them in rx
 * @left_last: offset of the last
 * @left_n: how many of them are unread
 * @left_bytes: of these
 * @rcu: for kfree_rcu()
 */
struct oae_ring_link {
	struct oae_rings *ring;
	struct oae_tag *tag;
	const struct oae_client *client;
	u32 handle;
	refcount_t ref;
	u32 deadline_ms;
	bool express;
	bool off;
	bool alive;
	bool listed;
	struct list_head ready;
	u32 unpassed;
	struct sk_buff *left;
	u32 left_at;
	u32 left_last;
	u32 left_n;
	u32 left_bytes;
	struct rcu_head rcu;
};

/* Positions of the control pages. 32-bit kernels have no rings (dev/ring.c), but this file. */
#ifdef CONFIG_64BIT
/* Pairs with what the program does: uapi/oae.h, Rings. */
#define oae_pos_load_acquire(pos)		smp_load_acquire(pos)
/* Likewise. */
#define oae_pos_store_release(pos, value)	smp_store_release(pos, value)
#else
#define oae_pos_load_acquire(pos)		READ_ONCE(*(pos))
#define oae_pos_store_release(pos, value)	WRITE_ONCE(*(pos), value)
#endif

#define OAE_RING_BATCH	64	/* transactions of a round */
#define OAE_RING_BYTES	0x40000	/* and their bytes, but for the last one's */

/* A transaction that is out has no deadline any more, or another one. */
static inline void oae_ring_untime(struct oae_rings *r, struct oae_txn *txn)
{
	lockdep_assert_held(&r->out_lock);
	if (timerqueue_node_queued(&txn->due))
		timerqueue_del(&r->due, &txn->due);
}

/* Bytes of a chunk with a body of @len bytes. */
static inline u64 oae_chunk_size(u32 len)
{
	return sizeof(struct oae_chunk) + ALIGN((u64)len, OAE_CHUNK_ALIGN);
}

/* ring.c: the rings of a file, and what is filled in */
struct oae_rings *oae_ring_make(struct oae_node *node, u32 tx_size, u32 rx_size,
				wait_queue_head_t *wait);
void oae_ring_stop(struct oae_rings *r);
void oae_ring_linger(struct oae_rings *r, unsigned int ms);
void oae_ring_close(struct oae_rings *r);
struct oae_ring_link *oae_ring_link_make(struct oae_rings *r, struct oae_tag *tag,
					 const struct oae_client *c, struct sk_buff **taken);
void oae_ring_link_leave(struct oae_ring_link *link);

/* ringtake.c: what is taken */
bool oae_ring_take_some(struct oae_rings *r);
void oae_ring_cancel(struct oae_rings *r, int err);
enum hrtimer_restart oae_ring_due(struct hrtimer *timer);

/* ringout.c: what an event of a link does with rings */
void oae_ring_put(struct oae_rings *r);
void oae_ring_link_dead(struct oae_ring_link *link);
void oae_ring_link_put(struct oae_ring_link *link);
void oae_ring_break(struct oae_rings *r, int err);
void oae_ring_wake(struct oae_rings *r, bool rx);
void oae_ring_look(struct oae_rings *r);
enum hrtimer_restart oae_ring_more(struct hrtimer *timer);
void oae_ring_list(struct oae_ring_link *link);
void oae_ring_deliver(struct oae_ring_link *link);
void oae_ring_out(struct oae_rings *r, struct oae_ring_link *link, struct oae_msg *msg);
struct oae_rings *oae_ring_ended(struct oae_msg *msg);
void oae_ring_took(struct oae_rings *r);
bool oae_ring_dissolve(struct oae_tag *tag, struct oae_msg *pack);

#endif /* OAE_RING_H */
