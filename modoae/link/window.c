// SPDX-License-Identifier: GPL-2.0
/*
 * The window (doc/protocol.md section 4.11): how many transactions may be under way,
 * and the places for them, which the caller lends. Pure, see link.h.
 *
 * A run has a window if both ends say so in their SYNCs. How much of it is used
 * follows the network: it grows with what is committed, and shrinks when a frame is
 * lost. A link that has no use for a window has no places.
 */
#include "link_int.h"

#define WINDOW_FIRST	4	/* transactions under way at first */

/**
 * oae_window_limit() - how many numbers may be under way now
 * @l: the link
 *
 * One always: its REFLECT, or READY, says for how many others there is room.
 *
 * Return: 1 in a run without a window, or without places.
 */
unsigned int oae_window_limit(const struct oae_link *l)
{
	unsigned int n = l->win < l->cwnd ? l->win : l->cwnd;
	s32 room = oae_dist(l->tx, l->room_to);

	if (!oae_link_windowed(l) || !l->pair || room <= 1)
		return 1;
	if (n > l->npairs)
		n = l->npairs;
	return n < (u32)room ? n : (u32)room;
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
	if (!l->cwnd) {
		l->cwnd = WINDOW_FIRST;
		l->ssthresh = OAE_WINDOW_MAX;
	}
	l->cwnd_acked = 0;
	l->recover = l->tx;
	l->room_to = l->tx + OAE_WINDOW_MAX;
	l->unplaced = 0;
	l->more = false;
	/* More places than before may be needed. */
	l->lacking = l->pair && oae_link_windowed(l) && l->npairs < l->window;
}

static void window_halve(struct oae_link *l)
{
	l->ssthresh = l->cwnd / 2 ? l->cwnd / 2 : 1;
	l->cwnd_acked = 0;
}

/**
 * oae_window_froze() - the link froze: begin with one transaction again
 * @l: the link
 */
void oae_window_froze(struct oae_link *l)
{
	if (!l->cwnd)
		return;
	window_halve(l);
	l->cwnd = 1;
}

/**
 * oae_window_committed() - a transaction is committed: use more of the window
 * @l: the link
 *
 * One more with each commit until about half of what was too much, then one more with
 * each window.
 */
void oae_window_committed(struct oae_link *l)
{
	if (l->cwnd >= OAE_WINDOW_MAX || !oae_link_windowed(l))
		return;
	if (l->cwnd < l->ssthresh || ++l->cwnd_acked >= l->cwnd) {
		l->cwnd++;
		l->cwnd_acked = 0;
	}
}

/**
 * oae_window_lost() - a frame of a number was lost: use half of the window
 * @l: the link
 * @seq: the number
 *
 * All losses among the numbers given at the time of the first are one.
 */
void oae_window_lost(struct oae_link *l, u32 seq)
{
	if (oae_dist(l->recover, seq) <= 0)
		return;
	l->recover = l->tx + l->given;
	window_halve(l);
	l->cwnd = l->ssthresh;
}

/* Copy what is under way to other places. */
static void window_move(struct oae_link *l, struct oae_pair **pair, unsigned int n)
{
	u32 seq, last = l->tx + l->nlanes + !l->nlanes, mask = n - 1;
	const struct oae_hold *h;
	u64 dirty = 0;
	unsigned int i;

	/* The attempts belong to the number, even to one that has no content. */
	for (seq = l->tx + 1; seq - l->tx <= last - l->tx; seq++) {
		pair[seq & mask]->lane = *oae_lane(l, seq);
		dirty |= (l->dirty >> oae_place(l, seq) & 1) << (seq & mask);
	}
	for (i = 0; i < l->naside; i++)
		pair[i]->aside = *oae_aside(l, i);
	/* An express at rx may be reflected again. */
	h = oae_hold_of(l, l->rx);
	pair[l->rx & mask]->hold.digest = h->digest;
	pair[l->rx & mask]->hold.first = h->first;
	for (seq = l->rx + 1; seq - l->rx <= (l->pair ? l->npairs : 1); seq++)
		pair[seq & mask]->hold = *oae_hold_of(l, seq);
	l->dirty = dirty;
}

/**
 * oae_link_lend() - lend a link places for its window
 * @l: the link; oae_link_lacks() has said how many
 * @pair: table of the places, which are filled with zeros; oae_link_reclaim() returns
 *	it
 * @n: number of places, a power of two
 * @room: places for unread transactions
 * @now: ns
 * @a: actions
 *
 * The caller frees places lent before.
 */
void oae_link_lend(struct oae_link *l, struct oae_pair **pair, unsigned int n,
		   u32 room, u64 now, struct oae_actions *a)
{
	l->lacking = false;
	if (l->pair && n <= l->npairs)
		return;
	now = oae_now(l, now);
	window_move(l, pair, n);
	l->pair = pair;
	l->npairs = n;
	l->base = 0;
	oae_hold_placed(l);
	oae_link_made_room(l, room, now, a);
	oae_offer_pump(l, now, a);
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
	u32 place;

	if (!pair || l->nlanes || l->naside || l->last_express)
		return NULL;
	place = oae_place(l, l->tx + 1);
	/* A bit beyond the last place stands for no number. */
	if (l->dirty & ~(1ULL << place) & ~0ULL >> (OAE_WINDOW_MAX - l->npairs))
		return NULL;
	for (i = 0; i < l->npairs; i++)
		if (pair[i]->hold.state != OAE_HOLD_NONE || pair[i]->hold.have)
			return NULL;
	l->offer = *oae_first_lane(l);
	memset(&l->hold, 0, sizeof(l->hold));
	l->dirty = l->dirty >> place & 1;
	l->pair = NULL;
	l->npairs = 0;
	l->base = 0;
	return pair;
}
