// SPDX-License-Identifier: GPL-2.0
/*
 * The window (doc/protocol.md section 4.11): how many transactions may be under way,
 * and the places for them, which the caller lends. Pure, see link.h.
 *
 * The window of a run is the smaller of what both ends say in their SYNCs. How many frames of
 * that may be under way is congestion.c's. A link that has no use for more than one number has no
 * places.
 */
#include "link_int.h"

/**
 * oae_window_limit() - how many numbers may be under way now
 * @l: the link
 *
 * Return: 1 without places.
 */
unsigned int oae_window_limit(const struct oae_link *l)
{
	if (!l->pair)
		return 1;
	return l->win < l->npairs ? l->win : l->npairs;
}

/**
 * oae_window_begin() - begin a run: its window is the smaller of both ends'
 * @l: the link, about to be OPEN
 */
void oae_window_begin(struct oae_link *l)
{
	l->win = l->window < l->heard.window ? l->window : l->heard.window;
	if (!l->win)
		l->win = 1;
	l->more = false;
	/* More places than before may be needed. */
	l->lacking = l->pair && l->win > 1 && l->npairs < l->window;
}

/* Copy what is under way to other places. */
static void window_move(struct oae_link *l, struct oae_pair **pair, unsigned int n)
{
	u32 seq, last = l->tx + l->nlanes, mask = n - 1;
	const struct oae_hold *h;
	unsigned int i;

	for (seq = l->tx + 1; seq - l->tx <= last - l->tx; seq++)
		pair[seq & mask]->lane = *oae_lane(l, seq);
	oae_credit_move(l, pair, n);
	for (i = 0; i < l->naside; i++)
		pair[i]->aside = *oae_aside(l, i);
	/* An express at rx may be reflected again. */
	h = oae_hold_of(l, l->rx);
	pair[l->rx & mask]->hold.digest = h->digest;
	pair[l->rx & mask]->hold.first = h->first;
	for (seq = l->rx + 1; seq - l->rx <= (l->pair ? l->npairs : 1); seq++)
		pair[seq & mask]->hold = *oae_hold_of(l, seq);
}

/**
 * oae_link_lend() - lend a link places for its window
 * @l: the link; oae_link_lacks() has said how many
 * @pair: table of the places, which are filled with zeros; oae_link_reclaim() returns
 *	it
 * @n: number of places, a power of two
 * @now: ns
 * @a: actions
 *
 * The caller frees places lent before.
 */
void oae_link_lend(struct oae_link *l, struct oae_pair **pair, unsigned int n,
		   u64 now, struct oae_actions *a)
{
	l->lacking = false;
	if (l->pair && n <= l->npairs)
		return;
	now = oae_now(l, now);
	window_move(l, pair, n);
	l->pair = pair;
	l->npairs = n;
	l->base = 0;
	oae_finish(l, now, a);
}

/**
 * oae_link_reclaim() - get the places of a link back that has no use for them
 * @l: the link
 *
 * Return: the places; NULL if there are none, or some are in use.
 */
struct oae_pair **oae_link_reclaim(struct oae_link *l)
{
	struct oae_pair **pair = l->pair;
	unsigned int i;

	if (!pair || l->nlanes || l->naside || l->last_express)
		return NULL;
	/* The link's own say what two numbers cost, and the next one is given soon. */
	if (l->tx - l->peer_rx > 1 || oae_credit_committed(l))
		return NULL;
	for (i = 0; i < l->npairs; i++)
		if (pair[i]->hold.state != OAE_HOLD_NONE || pair[i]->hold.have)
			return NULL;
	l->offer = *oae_first_lane(l);
	memset(&l->hold, 0, sizeof(l->hold));
	memset(l->cost, 0, sizeof(l->cost));
	l->pair = NULL;
	l->npairs = 0;
	l->base = 0;
	return pair;
}
