// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions under way. One is kept until nothing can be wrong about it any
 * more; a frame or an op that speaks of it later names an id that is not found.
 */
#include "sim.h"

/**
 * tx_new() - a user makes a transaction
 * @w: the world
 * @e: the end it is posted at
 *
 * Return: it, with the next serial number; length and flags are the caller's.
 */
struct tx *tx_new(struct world *w, struct end *e)
{
	u32 i = pool_get(&w->txs);
	struct tx *tx = pool_at(&w->txs, i);

	memset(tx, 0, sizeof(*tx));
	tx->id = ++w->serial << TX_BITS | i;
	tx->posted = w->now;
	tx->end = end_index(w, e);
	tx->from = e->who;
	return tx;
}

/**
 * tx_find() - a transaction by its id
 * @w: the world
 * @id: what is said to be one
 *
 * Return: NULL if it has come to its end, or never was.
 */
struct tx *tx_find(const struct world *w, u64 id)
{
	struct tx *tx;

	if (!id || TX_INDEX(id) >= w->txs.made)
		return NULL;
	tx = pool_at(&w->txs, TX_INDEX(id));
	return tx->id == id ? tx : NULL;
}

/**
 * tx_free() - nothing can happen to a transaction any more
 * @w: the world
 * @tx: which
 */
void tx_free(struct world *w, struct tx *tx)
{
	pool_put(&w->txs, TX_INDEX(tx->id));
	tx->id = TX_NONE;
}

/**
 * tx_post() - a transaction as the link wants it
 * @w: the world
 * @tx: which
 * @p: filled in
 */
void tx_post(struct world *w, const struct tx *tx, struct oae_post *p)
{
	u64 hash[OAE_MAX_SLICES];
	u32 off, n, i = 0;

	p->handle = TX_HANDLE(tx->id);
	p->len = tx->len;
	p->slice_max = tx->cut < tx->len ? tx->cut : tx->len;
	p->kind = tx->kind;
	p->reply = tx->kind == OAE_VERB ? sizeof(u64) : 0;
	p->flags = tx->flags;
	p->first = tx->id;	/* the first word of the content */
	for (off = 0; off < tx->len; off += n, i++) {
		n = tx->len - off < tx->cut ? tx->len - off : tx->cut;
		hash[i] = content_hash(w, tx->id, off, n, i);
	}
	p->nslices = i;
	p->digest = oae_whole_digest(hash, i);
}
