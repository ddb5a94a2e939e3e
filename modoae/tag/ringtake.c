// SPDX-License-Identifier: GPL-2.0
/*
 * Taking chunks from a program's tx ring: each becomes a message that is posted to its link,
 * and its outcome is written into the chunk. Room in the ring is given back in order.
 *
 * A chunk is the program's memory, which may change at any time: the header is read once,
 * the bytes are copied before they are hashed, and nothing of it is read later.
 */
#include "event.h"

#include "ring.h"
#include "../link/pack.h"

#define TAKE_AGAIN_NS	NSEC_PER_MSEC			/* without memory */
#define CANCEL_AGAIN_NS	(100 * NSEC_PER_MSEC)		/* what cannot be reversed when due */

/*
 * Read the header of the chunk at @pos, of @left bytes, and check it. The body may be in rx:
 * that is memory of the rings all the same, whatever the program passes meanwhile.
 */
static int take_read(struct oae_rings *r, u64 pos, u64 left, struct oae_taken *t)
{
	const u64 *at = oae_twice_at(&r->tx, pos);
	u64 word[2] = { READ_ONCE(at[0]), READ_ONCE(at[1]) }, from, passed, filled;
	u32 body;

	BUILD_BUG_ON(sizeof(word) != sizeof(t->head));
	if (left < sizeof(word))
		return -EPROTO;
	memcpy(&t->head, word, sizeof(word));
	body = t->head.flags & OAE_CHUNK_FORWARD ? sizeof(from) : t->head.len;
	if (!t->head.len || t->head.flags & ~(OAE_CHUNK_EXPRESS | OAE_CHUNK_FORWARD) ||
	    oae_chunk_size(body) > left)
		return -EPROTO;
	t->size = oae_chunk_size(body);
	t->body = at + 2;
	if (!(t->head.flags & OAE_CHUNK_FORWARD))
		return 0;
	from = READ_ONCE(at[2]);
	/* The older of the two first: what is between them is filled in. */
	passed = READ_ONCE(r->passed);
	filled = READ_ONCE(r->filled);
	/* More than the ring was passed and filled in between the two reads. */
	if (from - passed > filled - passed ||
	    t->head.len > min_t(u64, filled - from, r->rx.size))
		return -EPROTO;
	t->body = oae_twice_at(&r->rx, from);
	return 0;
}

/* How many more may be taken? If none, the end of another one asks again. */
static u32 take_may(const struct oae_rings *r)
{
	u32 queue = READ_ONCE(r->queue), bytes = READ_ONCE(r->queue_bytes);
	u32 nout = READ_ONCE(r->nout);

	/* Memory that is charged to nobody, unlike the rings, and not more than these. */
	if (READ_ONCE(r->memory) >= (size_t)r->tx.size + r->rx.size)
		return 0;
	return nout < queue && (!bytes || READ_ONCE(r->nbytes) < bytes) ? queue - nout : 0;
}

/* A message with the bytes of a chunk; one that is too long is refused, and has none. */
static struct oae_msg *take_message(struct oae_rings *r, const struct oae_taken *t)
{
	bool fits = t->head.len <= READ_ONCE(r->node->knobs.max_len);
	struct oae_msg *msg = oae_msg_alloc(&r->pool, fits ? t->head.len : 1,
					    GFP_ATOMIC | __GFP_NOWARN);
	const void *from = t->body;
	unsigned int i;

	if (!msg)
		return NULL;
	if (!fits)
		msg->err = OAE_E_TOO_BIG;
	for (i = 0; fits && i < msg->npieces; i++) {
		const struct bio_vec *p = &msg->piece[i];

		memcpy(page_address(p->bv_page) + p->bv_offset, from, p->bv_len);
		from += p->bv_len;
	}
	if (t->head.flags & OAE_CHUNK_EXPRESS)
		msg->post.flags |= OAE_POST_EXPRESS;
	msg->txn.room = t->size;
	msg->txn.ring_n = 1;
	return msg;
}

/* A pack of the first @n chunks of the batch, with @len bytes. */
static struct oae_msg *take_pack(struct oae_rings *r, unsigned int n, u32 len)
{
	struct oae_msg *pack = oae_msg_alloc_pack(OAE_PACK, len);
	const struct oae_taken *t = r->batch;
	unsigned int i;
	u8 *head, *at;

	if (!pack)
		return NULL;
	head = oae_msg_data(pack);
	at = head + oae_pack_head_len(n);
	oae_pack_begin(head, n);
	for (i = 0; i < n; i++, t++) {
		oae_pack_add(head, i, t->head.len);
		memcpy(at, t->body, t->head.len);
		at += t->head.len;
		pack->txn.room += t->size;
		if (t->head.flags & OAE_CHUNK_FORWARD)
			pack->txn.ring_forward |= BIT_ULL(i);
	}
	timerqueue_init(&pack->txn.due);
	pack->txn.ring_n = n;
	oae_msg_slice(pack, len);
	return pack;
}

/* The link that a chunk is for, with a reference; NULL: there is none. */
static struct oae_ring_link *take_link(struct oae_rings *r, u32 handle)
{
	struct oae_ring_link *link = xa_load(&r->links, handle);

	/* It may go at any time: RCU keeps it, and the reference from here on. */
	if (!link || READ_ONCE(link->off) || !refcount_inc_not_zero(&link->ref))
		return NULL;
	return link;
}

/*
 * Read the first chunk of @left bytes, and those after it that can be in a pack with it, @most
 * at most. @link is set to their link, with a reference, and @len to the length of the pack.
 * How many; -EPROTO the first is bad, and there is no reference.
 */
static int take_batch(struct oae_rings *r, u64 left, u32 most, struct oae_ring_link **link,
		      u32 *len)
{
	struct oae_taken *t = r->batch;
	u64 pos = r->taken;
	u32 max = 0;
	int n;

	if (take_read(r, pos, left, t))
		return -EPROTO;
	*link = take_link(r, t->head.link);
	if (*link && !READ_ONCE((*link)->express))
		max = min_t(u32, oae_link_pack_max(&(*link)->tag->link), OAE_PIECE);
	max = min(max, READ_ONCE(r->node->knobs.max_len));
	most = min_t(u32, most, OAE_PACK_MSGS);
	*len = OAE_PACK_HDR_LEN;
	for (n = 0; n < most; n++, t++) {
		if (n && (left < sizeof(t->head) || take_read(r, pos, left, t) ||
			  t->head.link != r->batch->head.link))
			break;
		if (t->head.flags & OAE_CHUNK_EXPRESS || t->head.len > max ||
		    *len + OAE_PACK_LEN_LEN + t->head.len > max)
			break;
		*len += OAE_PACK_LEN_LEN + t->head.len;
		pos += t->size;
		left -= t->size;
	}
	return max(n, 1);
}

/* What is out takes so much more memory, or less. */
static void take_count(struct oae_rings *r, const struct oae_msg *msg, int n)
{
	lockdep_assert_held(&r->out_lock);
	oae_add(&r->nbytes, n * (long)msg->post.len);
	oae_add(&r->memory, n * (long)(sizeof(*msg) + msg->post.len));
}

/* @msg is taken: it is on the list until it has ended. The reference to the link is its own. */
static void take_out(struct oae_rings *r, struct oae_ring_link *link, struct oae_msg *msg)
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
	take_count(r, msg, 1);
	if (ms) {
		msg->txn.due.expires = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
		if (timerqueue_add(&r->due, &msg->txn.due))
			hrtimer_start(&r->due_timer, ns_to_ktime(msg->txn.due.expires),
				      HRTIMER_MODE_ABS_SOFT);
	}
	spin_unlock(&r->out_lock);
}

static void take_untime(struct oae_rings *r, struct oae_txn *txn)
{
	lockdep_assert_held(&r->out_lock);
	if (timerqueue_node_queued(&txn->due))
		timerqueue_del(&r->due, &txn->due);
}

/* The neighbour of a transaction that is out, if that has ended; else NULL. */
static struct oae_txn *take_ended(struct oae_rings *r, struct list_head *at)
{
	struct oae_txn *txn = list_entry(at, struct oae_txn, list);

	return at != &r->out && txn->ended ? txn : NULL;
}

/*
 * A transaction has ended. It goes if it is the first, or else stands for those beside it that
 * have ended as well: so no end takes long, however many wait for one that does not. What goes
 * is to be freed by @gone.
 */
static void take_end(struct oae_rings *r, struct oae_txn *txn, struct list_head *gone)
{
	struct oae_txn *other;

	lockdep_assert_held(&r->out_lock);
	txn->ended = true;
	oae_add(&r->nout, -(u32)txn->ring_n);
	take_count(r, oae_txn_msg(txn), -1);
	other = take_ended(r, txn->list.prev);
	if (other) {
		other->room += txn->room;
		list_move_tail(&txn->list, gone);
		txn = other;
	}
	other = take_ended(r, txn->list.next);
	if (other) {
		txn->room += other->room;
		list_move_tail(&other->list, gone);
	}
	if (!list_is_first(&txn->list, &r->out))
		return;
	list_move_tail(&txn->list, gone);
	WRITE_ONCE(r->ended, txn->id + txn->room);
	/* Outcomes before the position. */
	oae_pos_store_release(&r->kernel->ended, r->ended);
}

/* Bytes of chunk @i of a pack in tx. */
static u64 take_size(const struct oae_msg *pack, unsigned int i)
{
	if (pack->txn.ring_forward & BIT_ULL(i))
		return oae_chunk_size(sizeof(u64));
	return oae_chunk_size(get_unaligned_be16(oae_msg_data(pack) + oae_pack_head_len(i)));
}

/* Write the outcome into each chunk. */
static void take_tell(struct oae_rings *r, const struct oae_msg *msg)
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
			pos += take_size(msg, i);
	}
}

/**
 * oae_ring_ended() - a transaction of a ring has ended: tell the program
 * @msg: the transaction, with its outcome; not with the link
 *
 * The caller then calls oae_ring_took(), once for all in a row of the same ring.
 *
 * Context: BH off; under rcu_read_lock(); under no tag->lock.
 *
 * Return: its ring, which RCU keeps.
 */
struct oae_rings *oae_ring_ended(struct oae_msg *msg)
{
	struct oae_rings *r = msg->txn.ring;
	struct oae_txn *txn, *next;
	LIST_HEAD(gone);

	spin_lock(&r->out_lock);
	take_tell(r, msg);
	take_untime(r, &msg->txn);
	take_end(r, &msg->txn, &gone);
	spin_unlock(&r->out_lock);
	list_for_each_entry_safe(txn, next, &gone, list) {
		INIT_LIST_HEAD(&txn->list);
		if (txn->ring_link)
			oae_ring_link_put(txn->ring_link);
		oae_msg_put(oae_txn_msg(txn));
	}
	return r;
}

/**
 * oae_ring_took() - after transactions of a ring have ended: wake the program, take more
 * @r: the ring
 *
 * Context: BH off; under rcu_read_lock(); under no tag->lock.
 */
void oae_ring_took(struct oae_rings *r)
{
	oae_ring_wake(r, false);
	/* If the kernel waits for chunks, who publishes some rings the bell. */
	if (!READ_ONCE(r->kernel->wants_data))
		oae_ring_turn(r, &r->take, oae_ring_take_some);
	if (unlikely(READ_ONCE(r->closed)))
		wake_up_all(&r->closer);
}

/* A transaction that was not posted to a link is reversed, for the reason in @msg->err. */
static void take_refuse(struct oae_msg *msg)
{
	msg->outcome = OAE_REVERSED;
	oae_ring_ended(msg);
	oae_msg_put(msg);
}

/* Before any of it can end: ended <= taken. */
static void take_told(struct oae_rings *r)
{
	/* All reads of the chunks before the position. */
	oae_pos_store_release(&r->kernel->taken, r->taken);
}

/* Post to a link what was taken for it in a row. */
static void take_post(struct oae_ring_link *link, struct list_head *msgs)
{
	struct oae_msg *msg, *next;

	if (list_empty(msgs))
		return;
	take_told(link->ring);
	oae_tag_send_ring(link->tag, msgs);
	/* What is left was refused. */
	list_for_each_entry_safe(msg, next, msgs, list) {
		list_del_init(&msg->list);
		take_refuse(msg);
	}
}

/* Nothing is published that is not taken. True: there is by now. */
static bool take_wait(struct oae_rings *r)
{
	WRITE_ONCE(r->kernel->wants_data, 1);
	/* The word before the last look. Pairs with the program's barrier. */
	smp_mb();
	if (READ_ONCE(r->program->published) == r->taken)
		return false;
	WRITE_ONCE(r->kernel->wants_data, 0);
	return true;
}

/* How much is published and not taken, bytes; -EPROTO it cannot be. */
static s64 take_left(struct oae_rings *r)
{
	/* Before the chunks; and before `ended`, which the program saw before it published. */
	u64 left = oae_pos_load_acquire(&r->program->published) - r->taken;

	if (left % OAE_CHUNK_ALIGN || left > r->tx.size - (r->taken - READ_ONCE(r->ended)))
		return -EPROTO;
	return left;
}

/*
 * Take the first chunk of @left bytes, or some together. NULL: there is no memory, or the
 * rings are broken.
 */
static struct oae_msg *take_next(struct oae_rings *r, u64 left, u32 most,
				 struct oae_ring_link **link)
{
	struct oae_msg *msg;
	u32 len;
	int n;

	n = take_batch(r, left, most, link, &len);
	if (n < 0) {
		oae_ring_break(r, EPROTO);
		return NULL;
	}
	msg = n > 1 ? take_pack(r, n, len) : NULL;
	/* As of write(): what has no memory for a pack goes by itself. */
	if (!msg)
		msg = take_message(r, r->batch);
	if (!msg) {
		if (*link)
			oae_ring_link_put(*link);
		oae_count(r->node, OAE_S_NO_MEMORY);
		hrtimer_start(&r->more, ns_to_ktime(TAKE_AGAIN_NS), HRTIMER_MODE_REL_SOFT);
		return NULL;
	}
	if (!*link)
		msg->err = ENOTCONN;
	take_out(r, *link, msg);
	r->taken += msg->txn.room;
	return msg;
}

/**
 * oae_ring_take_some() - take some of the chunks that the program has published
 * @r: the rings; it is the caller's turn
 *
 * Context: BH off; under rcu_read_lock(); under no tag->lock.
 *
 * Return: true if there are more, and they may be taken.
 */
bool oae_ring_take_some(struct oae_rings *r)
{
	struct oae_ring_link *link, *last = NULL;
	u64 before = r->taken;
	struct oae_msg *msg;
	unsigned int n = 0, bytes = 0;
	LIST_HEAD(msgs);
	s64 left = 0;
	u32 most;

	if (r->kernel->wants_data) {
		WRITE_ONCE(r->kernel->wants_data, 0);
		/* The word before the look at what is out. Pairs with that in oae_ring_wake(). */
		smp_mb();
	}
	while (n < OAE_RING_BATCH && bytes < OAE_RING_BYTES && (most = take_may(r)) != 0) {
		left = take_left(r);
		if (left < 0)
			oae_ring_break(r, EPROTO);
		if (left < 0 || (!left && !take_wait(r)))
			break;
		if (!left)
			continue;
		msg = take_next(r, left, most, &link);
		if (!msg)
			break;
		n += msg->txn.ring_n;
		bytes += msg->post.len;
		if (msg->err) {
			take_told(r);
			take_refuse(msg);
			continue;
		}
		if (link != last)
			take_post(last, &msgs);
		last = link;
		list_add_tail(&msg->list, &msgs);
	}
	take_post(last, &msgs);
	if (r->taken != before)
		oae_ring_wake(r, false);
	return n >= OAE_RING_BATCH || bytes >= OAE_RING_BYTES;
}

/* A message of a pack that is dissolved. */
static struct oae_msg *take_member(const struct oae_msg *pack, const u8 *from, u16 len)
{
	struct oae_msg *msg = oae_msg_alloc_pack(OAE_MESSAGE, len);

	if (!msg)
		return NULL;
	memcpy(oae_msg_data(msg), from, len);
	timerqueue_init(&msg->txn.due);
	msg->txn.due.expires = pack->txn.due.expires;
	msg->txn.ring = pack->txn.ring;
	msg->txn.ring_link = pack->txn.ring_link;
	msg->txn.ring_n = 1;
	msg->alone = pack->alone;
	msg->t_offer = pack->t_offer;
	return msg;
}

/* The messages of a pack, in @to, by their position. False: there is no memory. */
static bool take_members(const struct oae_msg *pack, struct list_head *to)
{
	unsigned int i, n = pack->txn.ring_n;
	const u8 *head = oae_msg_data(pack), *at = head + oae_pack_head_len(n);
	u64 pos = pack->txn.id;
	struct oae_msg *msg;
	u16 len;

	for (i = 0; i < n; i++, at += len) {
		len = get_unaligned_be16(head + oae_pack_head_len(i));
		msg = take_member(pack, at, len);
		if (!msg)
			return false;
		msg->txn.id = pos;
		msg->txn.room = take_size(pack, i);
		pos += msg->txn.room;
		list_add_tail(&msg->list, to);
	}
	return true;
}

/* In the place of a pack that is out are its messages. */
static void take_replace(struct oae_rings *r, struct oae_msg *pack, struct list_head *msgs)
{
	struct oae_msg *msg;

	spin_lock(&r->out_lock);
	take_count(r, pack, -1);
	list_for_each_entry(msg, msgs, list) {
		refcount_inc(&msg->txn.ring_link->ref);
		oae_msg_get(msg);
		list_add_tail(&msg->txn.list, &pack->txn.list);
		take_count(r, msg, 1);
		if (timerqueue_node_queued(&pack->txn.due))
			timerqueue_add(&r->due, &msg->txn.due);
	}
	list_del_init(&pack->txn.list);
	take_untime(r, &pack->txn);
	spin_unlock(&r->out_lock);
	oae_ring_link_put(pack->txn.ring_link);
	oae_msg_put(pack);
}

/**
 * oae_ring_dissolve() - queue the messages of a ring's pack, each by itself
 * @tag: the tag
 * @ev: the event
 * @pack: the pack, of its queue; the link's reference is dropped
 *
 * It is too long for a frame by now, or the peer refuses it. Without memory it is reversed.
 *
 * Context: under tag->lock, BH off.
 */
void oae_ring_dissolve(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *pack)
{
	struct oae_msg *msg, *next;
	LIST_HEAD(msgs);

	if (!take_members(pack, &msgs)) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		list_for_each_entry_safe(msg, next, &msgs, list)
			oae_msg_put(msg);
		oae_tell_ended(tag, ev, pack, OAE_REVERSED, ENOMEM);
		return;
	}
	take_replace(pack->txn.ring, pack, &msgs);
	list_for_each_entry(msg, &msgs, list) {
		oae_msg_slice(msg, oae_link_cut(&tag->link, OAE_MESSAGE, msg->post.len));
		msg->queued = true;
		oae_tag_count_queued(tag, msg, 1);
	}
	list_splice(&msgs, &tag->users->ringq);
	oae_msg_put(pack);
}

/* The first that has not ended, from position @from on, with references; or NULL. */
static struct oae_msg *take_next_out(struct oae_rings *r, u64 from)
{
	struct oae_msg *msg = NULL;
	struct oae_txn *txn;

	spin_lock_bh(&r->out_lock);
	list_for_each_entry(txn, &r->out, list) {
		if (txn->id < from || txn->ended)
			continue;
		msg = oae_txn_msg(txn);
		oae_msg_get(msg);
		refcount_inc(&txn->ring_link->ref);
		break;
	}
	spin_unlock_bh(&r->out_lock);
	return msg;
}

/* Drop the references to a transaction that was out. */
static void take_drop(struct oae_msg *msg)
{
	oae_ring_link_put(msg->txn.ring_link);
	oae_msg_put(msg);
}

static bool take_is_out(struct oae_rings *r, const struct oae_msg *msg)
{
	bool out;

	spin_lock_bh(&r->out_lock);
	out = !list_empty(&msg->txn.list);
	spin_unlock_bh(&r->out_lock);
	return out;
}

/**
 * oae_ring_cancel() - reverse what was taken and has not ended, as far as possible
 * @r: the rings, stopped
 * @err: error for the program, positive errno
 *
 * What is reversed leaves the list, so each look passes by few others.
 *
 * Context: process, may sleep; takes tag->lock of links.
 */
void oae_ring_cancel(struct oae_rings *r, int err)
{
	struct oae_msg *msg;
	u64 from = 0;

	while ((msg = take_next_out(r, from)) != NULL) {
		oae_tag_cancel(msg->txn.ring_link->tag, msg, err);
		/* In the place of a pack that was dissolved are its messages. */
		from = take_is_out(r, msg) ? msg->txn.id + 1 : msg->txn.id;
		take_drop(msg);
		cond_resched();
	}
}

/* Take what is due off the list, with references; and put it there again for later. */
static unsigned int take_due(struct oae_rings *r, struct oae_msg **msg, unsigned int max)
{
	struct timerqueue_node *first;
	u64 now = ktime_get_ns();
	struct oae_txn *txn;
	unsigned int n = 0;

	spin_lock(&r->out_lock);
	while ((first = timerqueue_getnext(&r->due)) && first->expires <= now && n < max) {
		txn = container_of(first, struct oae_txn, due);
		take_untime(r, txn);
		txn->due.expires = now + CANCEL_AGAIN_NS;
		timerqueue_add(&r->due, &txn->due);
		msg[n] = oae_txn_msg(txn);
		oae_msg_get(msg[n++]);
		refcount_inc(&txn->ring_link->ref);
	}
	if (first)
		hrtimer_start(&r->due_timer, ns_to_ktime(first->expires), HRTIMER_MODE_ABS_SOFT);
	spin_unlock(&r->out_lock);
	return n;
}

/**
 * oae_ring_due() - reverse what is due
 * @timer: oae_ring.due_timer
 *
 * Context: softirq; takes tag->lock of links.
 *
 * Return: HRTIMER_NORESTART; the timer is armed for the next.
 */
enum hrtimer_restart oae_ring_due(struct hrtimer *timer)
{
	struct oae_rings *r = container_of(timer, struct oae_rings, due_timer);
	struct oae_msg *msg[OAE_BATCH];
	unsigned int i, n = take_due(r, msg, ARRAY_SIZE(msg));

	for (i = 0; i < n; i++) {
		oae_tag_cancel(msg[i]->txn.ring_link->tag, msg[i], OAE_E_DEADLINE);
		take_drop(msg[i]);
	}
	return HRTIMER_NORESTART;
}
