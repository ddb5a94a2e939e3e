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
