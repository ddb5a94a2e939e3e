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
	struct oae_msg *pack = oae_msg_alloc(&r->pool, len, GFP_ATOMIC | __GFP_NOWARN);
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
	INIT_LIST_HEAD(&pack->members);
	pack->post.kind = OAE_PACK;
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

/*
 * Post to a link what was taken for it in a row. True: some was refused, so more may be taken, and
 * no event of a link says so.
 */
static bool take_post(struct oae_ring_link *link, struct list_head *msgs)
{
	struct oae_msg *msg, *next;
	bool refused;

	if (list_empty(msgs))
		return false;
	take_told(link->ring);
	oae_tag_send_ring(link->tag, msgs);
	/* What is left was refused. */
	refused = !list_empty(msgs);
	list_for_each_entry_safe(msg, next, msgs, list) {
		list_del_init(&msg->list);
		take_refuse(msg);
	}
	return refused;
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
	oae_ring_out(r, *link, msg);
	r->taken += msg->txn.room;
	return msg;
}

/*
 * Take some of the chunks that the program has published; it is the caller's turn. True: there
 * are more, and they may be taken.
 */
bool oae_ring_take_some(struct oae_rings *r)
{
	struct oae_ring_link *link, *last = NULL;
	u64 before = r->taken;
	struct oae_msg *msg;
	unsigned int n = 0, bytes = 0;
	LIST_HEAD(msgs);
	bool refused;
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
	refused = take_post(last, &msgs);
	if (r->taken != before)
		oae_ring_wake(r, false);
	return refused || n >= OAE_RING_BATCH || bytes >= OAE_RING_BYTES;
}

/* The first that has not ended, from position @from on, with references; or NULL. */
static struct oae_msg *take_next_out(struct oae_rings *r, u64 from)
{
	struct oae_msg *msg = NULL;
	struct oae_txn *txn;

	spin_lock_bh(&r->out_lock);
	list_for_each_entry(txn, &r->out, list) {
		if (txn->id < from)
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
		oae_ring_untime(r, txn);
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

/* Reverse what is due. */
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
