// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: a transaction being sent, its payload in page pieces.
 *
 * A slice is only a view of the payload: slicing anew for another MTU costs
 * hashing, not copying. A frame refers to the pieces by page fragments, so the
 * payload is copied once, from the writer, whatever happens to the link.
 *
 * A piece is a page or, if the message is longer and memory is not fragmented, several
 * contiguous pages: fewer slices then are in two pieces. It is charged to the writer.
 * Short pieces share a page only with others of the same file, so a pinned page is
 * always charged to its own writer.
 */
#include "base.h"

#include <linux/mm.h>
#include <linux/slab.h>

#define SMALLEST_SLICE	(OAE_MIN_MTU - OAE_HDR_LEN)
/* Keeps the fragments of a slice below MAX_SKB_FRAGS. */
#define LONGEST_SLICE	60000

/**
 * oae_pool_init() - initialise a pool, without a page
 * @pool: the pool, not published yet
 *
 * Context: any.
 */
void oae_pool_init(struct oae_pool *pool)
{
	spin_lock_init(&pool->lock);
	pool->page = NULL;
}
EXPORT_SYMBOL_FOR_BENCH(oae_pool_init);

/**
 * oae_pool_exit() - release a pool's page
 * @pool: the pool, no longer used. Pieces taken from it stay valid.
 *
 * Context: any.
 */
void oae_pool_exit(struct oae_pool *pool)
{
	if (pool->page)
		put_page(pool->page);
}
EXPORT_SYMBOL_FOR_BENCH(oae_pool_exit);

/* Take a piece of @len bytes from the pool's page. False if too little is left. */
static bool msg_pool_take(struct oae_pool *pool, struct bio_vec *piece,
			  unsigned int len)
{
	bool taken = false;

	spin_lock(&pool->lock);
	if (pool->page) {
		/* Only the pool has a reference: all pieces were freed. */
		if (page_ref_count(pool->page) == 1)
			pool->off = 0;
		taken = pool->off + len <= OAE_PIECE;
	}
	if (taken) {
		get_page(pool->page);
		piece->bv_page = pool->page;
		piece->bv_offset = pool->off;
		pool->off += ALIGN(len, SMP_CACHE_BYTES);
	}
	spin_unlock(&pool->lock);
	return taken;
}

static bool msg_pool_refill(struct oae_pool *pool, gfp_t gfp)
{
	struct page *page = alloc_page(gfp);

	if (!page)
		return false;
	spin_lock(&pool->lock);
	swap(page, pool->page);
	pool->off = 0;
	spin_unlock(&pool->lock);
	if (page)
		put_page(page);
	return true;
}

/* Memory for a piece of a page or more. NULL is no failure if it is more. */
static struct page *msg_pages(unsigned int len, gfp_t gfp)
{
	if (len <= OAE_PIECE)
		return alloc_page(gfp);
	/* Contiguous pages only if they are at hand. */
	gfp &= ~(__GFP_DIRECT_RECLAIM | __GFP_RETRY_MAYFAIL);
	return alloc_pages(gfp | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
			   get_order(len));
}

static bool msg_add_piece(struct oae_msg *msg, struct oae_pool *pool,
			  unsigned int len, gfp_t gfp)
{
	struct bio_vec *piece = &msg->piece[msg->npieces];

	if (len <= OAE_PIECE / 2) {
		while (!msg_pool_take(pool, piece, len))
			if (!msg_pool_refill(pool, gfp))
				return false;
	} else {
		piece->bv_page = msg_pages(len, gfp);
		if (!piece->bv_page)
			return false;
		piece->bv_offset = 0;
	}
	piece->bv_len = len;
	msg->npieces++;
	return true;
}

/**
 * oae_msg_memory() - how much memory does a message of oae_msg_alloc() take by itself?
 * @msg: the message
 *
 * Context: any.
 *
 * Return: bytes, with what its pieces leave free of their pages, and without oae_msg_shared().
 */
size_t oae_msg_memory(const struct oae_msg *msg)
{
	size_t size = struct_size(msg, piece, msg->npieces);
	unsigned int i, len;

	for (i = 0; i < msg->npieces; i++) {
		len = msg->piece[i].bv_len;
		if (len > OAE_PIECE / 2)
			size += PAGE_SIZE << get_order(len);
	}
	return size;
}

/**
 * oae_msg_shared() - the page that a message of oae_msg_alloc() shares with others of its pool
 * @msg: the message
 *
 * Context: any.
 *
 * Return: the page of its last piece; NULL: it has that for itself.
 */
const struct page *oae_msg_shared(const struct oae_msg *msg)
{
	const struct bio_vec *last = &msg->piece[msg->npieces - 1];

	return last->bv_len > OAE_PIECE / 2 ? NULL : last->bv_page;
}

static void msg_drop_pieces(struct oae_msg *msg)
{
	while (msg->npieces)
		put_page(msg->piece[--msg->npieces].bv_page);
}

/* False: there is no memory for all; those that were added stay. */
static bool msg_add_pieces(struct oae_msg *msg, struct oae_pool *pool,
			   unsigned int piece_len, gfp_t gfp)
{
	unsigned int n, left;

	msg->piece_len = piece_len;
	for (left = msg->post.len; left; left -= n) {
		n = min(left, piece_len);
		if (!msg_add_piece(msg, pool, n, gfp))
			return false;
	}
	return true;
}

/* Long pieces, if there is memory for them; else pages. */
static bool msg_fill_pieces(struct oae_msg *msg, struct oae_pool *pool, gfp_t gfp)
{
	if (msg->post.len > OAE_PIECE) {
		if (msg_add_pieces(msg, pool, OAE_LONG_PIECE, gfp))
			return true;
		msg_drop_pieces(msg);
	}
	return msg_add_pieces(msg, pool, OAE_PIECE, gfp);
}

/**
 * oae_msg_alloc() - allocate a message, its payload not yet filled in
 * @pool: the sending file's pool
 * @len: bytes of payload, 1 or more
 * @gfp: OAE_GFP_USER for a program, or GFP_KERNEL
 *
 * The caller fills msg->piece[], then calls oae_msg_slice().
 *
 * Context: any but hard interrupts, may sleep if @gfp says so; takes pool->lock.
 *
 * Return: the message with one reference; NULL if there is no memory.
 */
struct oae_msg *oae_msg_alloc(struct oae_pool *pool, size_t len, gfp_t gfp)
{
	unsigned int npieces = DIV_ROUND_UP(len, OAE_PIECE);
	unsigned int nhash = min_t(size_t, OAE_MAX_SLICES,
				   DIV_ROUND_UP(len, SMALLEST_SLICE));
	size_t size = ALIGN(struct_size((struct oae_msg *)0, piece, npieces),
			    sizeof(u64));
	struct oae_msg *msg;

	msg = kzalloc(size + nhash * sizeof(u64), gfp);
	if (!msg)
		return NULL;
	msg->hash = (void *)msg + size;
	INIT_LIST_HEAD(&msg->list);
	refcount_set(&msg->ref, 1);
	init_completion(&msg->done);
	timerqueue_init(&msg->txn.due);
	msg->post.handle = msg;
	msg->post.len = len;
	msg->post.kind = OAE_MESSAGE;

	if (!msg_fill_pieces(msg, pool, gfp)) {
		oae_msg_put(msg);
		return NULL;
	}
	return msg;
}
EXPORT_SYMBOL_FOR_BENCH(oae_msg_alloc);

/**
 * oae_msg_alloc_pack() - allocate a pack, or joined verbs, not yet filled in
 * @kind: OAE_PACK or OAE_VERB, which have one slice
 * @len: bytes of payload, at most OAE_PIECE
 *
 * The caller fills oae_msg_data(), then calls oae_msg_slice().
 *
 * Context: any but hard interrupts.
 *
 * Return: the message with one reference, without members; NULL if there is no memory.
 */
struct oae_msg *oae_msg_alloc_pack(enum oae_kind kind, unsigned int len)
{
	size_t size = ALIGN(struct_size((struct oae_msg *)0, piece, 1), sizeof(u64));
	struct oae_msg *msg = kzalloc(size + sizeof(u64), GFP_ATOMIC | __GFP_NOWARN);
	void *data = msg ? netdev_alloc_frag(len) : NULL;

	if (!data) {
		kfree(msg);
		return NULL;
	}
	msg->hash = (void *)msg + size;
	INIT_LIST_HEAD(&msg->list);
	INIT_LIST_HEAD(&msg->members);
	refcount_set(&msg->ref, 1);
	msg->post.handle = msg;
	msg->post.len = len;
	msg->post.kind = kind;
	msg->npieces = 1;
	msg->piece_len = OAE_PIECE;
	msg->piece[0].bv_page = virt_to_head_page(data);
	msg->piece[0].bv_offset = data - page_address(msg->piece[0].bv_page);
	msg->piece[0].bv_len = len;
	return msg;
}

/**
 * oae_msg_get() - take a reference
 * @msg: the message
 *
 * Context: any.
 */
void oae_msg_get(struct oae_msg *msg)
{
	refcount_inc(&msg->ref);
}

/**
 * oae_msg_put() - drop a reference
 * @msg: the message, freed with the last reference
 *
 * Context: any but hard interrupts, interrupts on.
 */
void oae_msg_put(struct oae_msg *msg)
{
	if (!refcount_dec_and_test(&msg->ref))
		return;
	msg_drop_pieces(msg);
	if (msg->result) {
		local_bh_disable();
		oae_xmit_spare(msg->result);
		local_bh_enable();
	}
	kfree(msg);
}
EXPORT_SYMBOL_FOR_BENCH(oae_msg_put);

static const u8 *msg_addr(const struct bio_vec *v)
{
	return page_address(v->bv_page) + v->bv_offset;
}

/* Of @len bytes from @pos of the payload on, those that are in one piece. */
static struct bio_vec msg_part(const struct oae_msg *msg, unsigned int pos,
			       unsigned int len)
{
	struct bio_vec v = msg->piece[pos / msg->piece_len];
	unsigned int off = pos % msg->piece_len;

	v.bv_offset += off;
	v.bv_len = min(v.bv_len - off, len);
	return v;
}

static u64 msg_slice_hash(const struct oae_msg *msg, unsigned int slice)
{
	unsigned int slice_max = msg->post.slice_max;
	unsigned int left = oae_msg_slice_len(msg, slice_max, slice);
	unsigned int pos = slice * slice_max;
	struct bio_vec v = msg_part(msg, pos, left);
	struct oae_xxh64 state;

	if (v.bv_len == left)
		return oae_slice_hash(msg_addr(&v), left, slice);

	oae_xxh64_begin(&state, slice);
	for (; left; left -= v.bv_len, pos += v.bv_len) {
		v = msg_part(msg, pos, left);
		oae_xxh64_add(&state, msg_addr(&v), v.bv_len);
	}
	return oae_xxh64_end(&state);
}

/**
 * oae_msg_slice() - cut a message into slices and hash them (protocol 2.5, 4.1)
 * @msg: the message, not being sent
 * @slice_max: bytes of payload that fit into a frame
 *
 * Fills in msg->post; nslices is 0 if the message needs more than OAE_MAX_SLICES.
 * A message that already has slices of this length is not hashed again.
 *
 * Context: any.
 */
void oae_msg_slice(struct oae_msg *msg, unsigned int slice_max)
{
	struct oae_post *post = &msg->post;
	unsigned int i, n;

	slice_max = min_t(unsigned int, slice_max, LONGEST_SLICE);
	if (slice_max == post->slice_max)
		return;
	n = DIV_ROUND_UP(post->len, slice_max);
	post->slice_max = slice_max;
	post->nslices = n <= OAE_MAX_SLICES ? n : 0;
	if (!post->nslices)
		return;
	for (i = 0; i < n; i++)
		msg->hash[i] = msg_slice_hash(msg, i);
	post->digest = oae_whole_digest(msg->hash, n);
	post->first = oae_first_bytes(msg_addr(msg->piece),
				      oae_msg_slice_len(msg, slice_max, 0));
}
EXPORT_SYMBOL_FOR_BENCH(oae_msg_slice);

/**
 * oae_msg_slice_len() - length of one slice
 * @msg: the message
 * @slice_max: length of its slices, bytes
 * @slice: index, below the number of slices
 *
 * Context: any.
 *
 * Return: bytes.
 */
unsigned int oae_msg_slice_len(const struct oae_msg *msg,
			       unsigned int slice_max, unsigned int slice)
{
	return min(slice_max, msg->post.len - slice * slice_max);
}

/**
 * oae_msg_fill() - attach a slice's payload to a frame, as page fragments
 * @msg: the message
 * @slice_max: length of its slices when the frame was built, bytes; the message
 *	may have been cut anew since
 * @slice: index, below the number of slices
 * @skb: the frame: a header, no fragments yet
 *
 * Context: any.
 */
void oae_msg_fill(struct oae_msg *msg, unsigned int slice_max,
		  unsigned int slice, struct sk_buff *skb)
{
	unsigned int left = oae_msg_slice_len(msg, slice_max, slice);
	unsigned int pos = slice * slice_max;
	struct bio_vec v;

	for (; left; left -= v.bv_len, pos += v.bv_len) {
		v = msg_part(msg, pos, left);
		get_page(v.bv_page);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, v.bv_page,
				v.bv_offset, v.bv_len, v.bv_len);
	}
}
