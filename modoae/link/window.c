// SPDX-License-Identifier: GPL-2.0
/*
 * The window (doc/protocol.md section 4.11): how many transactions may be under way,
 * and the places for them, which the caller lends. Pure, see link.h.
 *
 * The window of a run is the smaller of what both ends say in their SYNCs. How much of it is
 * used follows the network: it grows with what is committed, and shrinks when a frame is
 * lost. A link that has no use for more than one number has no places.
 */
#include "link_int.h"

#define WINDOW_FIRST	4	/* transactions under way at first */
#define WINDOW_RESTART	8	/* slices of one at once, after a freeze */
#define WINDOW_PASSED	3	/* later numbers that show that a frame was lost, at least */
#define WINDOW_REORDER	24	/* and at most */

/**
 * oae_window_limit() - how many numbers may be under way now
 * @l: the link
 *
 * One always: its REFLECT, or READY, says for how many others there is room.
 *
 * Return: 1 without places.
 */
unsigned int oae_window_limit(const struct oae_link *l)
{
	unsigned int n = l->cwnd;
	s32 room = oae_dist(l->tx, l->room_to);

	if (!l->pair || room <= 1)
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
		l->burst = OAE_MAX_SLICES;
		l->burst_thresh = OAE_MAX_SLICES;
	}
	if (l->cwnd > l->win)
		l->cwnd = l->win;
	l->cwnd_acked = 0;
	l->undo_cwnd = 0;
	l->recover = l->tx;
	l->burst_pn = 0;
	l->room_to = l->tx + OAE_WINDOW_MAX;
	l->unplaced = 0;
	l->more = false;
	/* More places than before may be needed. */
	l->lacking = l->pair && l->win > 1 && l->npairs < l->window;
}

static void window_halve(struct oae_link *l)
{
	l->ssthresh = l->cwnd / 2 ? l->cwnd / 2 : 1;
	l->cwnd_acked = 0;
}

static u8 window_half_burst(unsigned int slices)
{
	return slices / 2 > OAE_PART_LEAST ? slices / 2 : OAE_PART_LEAST;
}

/**
 * oae_window_froze() - the link froze: begin with a few slices of one transaction again
 * @l: the link
 */
void oae_window_froze(struct oae_link *l)
{
	if (!l->cwnd)
		return;
	window_halve(l);
	l->cwnd = 1;
	l->undo_cwnd = 0;
	l->reorder = 0;
	l->burst_thresh = window_half_burst(l->burst);
	if (l->burst > WINDOW_RESTART)
		l->burst = WINDOW_RESTART;
}

/**
 * oae_window_answered() - the slices of an OFFER have arrived: send more at once
 * @l: the link
 * @n: the lane
 *
 * As many more until about half of what was too much, then one. It tells nothing if there
 * were fewer than could have been sent.
 */
void oae_window_answered(struct oae_link *l, const struct oae_lane *n)
{
	unsigned int sent;

	if (l->burst >= OAE_MAX_SLICES || n->p.nslices == 1)
		return;
	sent = hweight64(n->sent);
	if (sent < l->burst)
		return;
	sent = l->burst + (l->burst < l->burst_thresh ? sent : 1);
	l->burst = sent < OAE_MAX_SLICES ? sent : OAE_MAX_SLICES;
}

/**
 * oae_window_committed() - a transaction is committed: use more of the window
 * @l: the link
 * @p: what was committed
 *
 * One more with each commit until about half of what was too much, then one more with
 * each window. If the network does not bear all slices of one, it bears no second one.
 */
void oae_window_committed(struct oae_link *l, const struct oae_post *p)
{
	if (l->cwnd >= l->win || p->nslices > l->burst)
		return;
	if (l->cwnd < l->ssthresh || ++l->cwnd_acked >= l->cwnd) {
		l->cwnd++;
		l->cwnd_acked = 0;
	}
}

/* One transaction at a time is too much: fewer of its slices. */
static void window_lost_slices(struct oae_link *l, const struct oae_lane *n)
{
	unsigned int slices = n->p.nslices < l->burst ? n->p.nslices : l->burst;

	if (slices == 1 || oae_dist(l->burst_pn, n->pn) <= 0)
		return;
	l->burst_pn = (u32)l->pn;
	l->burst = window_half_burst(slices);
	l->burst_thresh = l->burst;
}

/**
 * oae_window_lost() - a frame of a number was lost: use half of the window
 * @l: the link
 * @seq: the number
 *
 * All losses among the numbers given at the time of the first are one; of a single one,
 * all of an OFFER.
 */
void oae_window_lost(struct oae_link *l, u32 seq)
{
	l->undo_cwnd = 0;
	if (l->cwnd == 1) {
		window_lost_slices(l, oae_lane(l, seq));
		return;
	}
	if (oae_dist(l->recover, seq) <= 0)
		return;
	l->recover = l->tx + l->given;
	l->burst_pn = (u32)l->pn;
	window_halve(l);
	l->cwnd = l->ssthresh;
}

/**
 * oae_window_passed() - after how many later numbers is a frame lost, and not overtaken?
 * @l: the link
 *
 * No more than about half of what may be under way: the others have to be answered.
 *
 * Return: that many.
 */
unsigned int oae_window_passed(const struct oae_link *l)
{
	unsigned int n = l->reorder, most = l->cwnd / 2;

	if (n > most)
		n = most;
	return n > WINDOW_PASSED ? n : WINDOW_PASSED;
}

/**
 * oae_window_guessed() - the peer has heard so many later numbers that a frame was probably lost
 * @l: the link
 * @seq: its number
 */
void oae_window_guessed(struct oae_link *l, u32 seq)
{
	u8 cwnd = l->cwnd, ssthresh = l->ssthresh, undo_cwnd = l->undo_cwnd;
	u8 burst = l->burst;

	oae_window_lost(l, seq);
	if (l->cwnd == cwnd && (undo_cwnd || l->burst == burst)) {
		/* The same loss as the one before, though fewer slices may go out. */
		l->undo_cwnd = undo_cwnd;
		return;
	}
	l->undo_cwnd = cwnd;
	l->undo_ssthresh = ssthresh;
	l->undo_burst = burst;
}

/**
 * oae_window_overtaken() - what was taken to be lost has been answered
 * @l: the link
 *
 * Frames overtake each other here: wait for more numbers the next time. If there was no
 * loss beside that, the window is what it was; all that was overtaken at once is one.
 */
void oae_window_overtaken(struct oae_link *l)
{
	unsigned int n;

	if (!l->undo_cwnd)
		return;
	if (l->cwnd < l->undo_cwnd)
		l->cwnd = l->undo_cwnd;
	if (l->ssthresh < l->undo_ssthresh)
		l->ssthresh = l->undo_ssthresh;
	if (l->burst < l->undo_burst)
		l->burst = l->undo_burst;
	if (l->burst_thresh < l->undo_burst)
		l->burst_thresh = l->undo_burst;
	/* Twice as many as it took with that window. */
	n = 2 * oae_window_passed(l);
	if (n > WINDOW_REORDER)
		n = WINDOW_REORDER;
	if (l->reorder < n)
		l->reorder = n;
	l->undo_cwnd = 0;
	/* A later loss is no part of one that was none. */
	l->recover = l->tx;
}

/**
 * oae_window_repaired() - what was taken to be lost was lost: its repeat has been answered
 * @l: the link
 * @seq: its number
 *
 * That counts, though another lane that seemed to be lost with it was overtaken.
 */
void oae_window_repaired(struct oae_link *l, u32 seq)
{
	l->undo_cwnd = 0;
	/* It has not counted only if that was undone. Of slices it has. */
	if (l->cwnd > 1)
		oae_window_lost(l, seq);
}

/**
 * oae_window_part() - which slices of an offer the network bears at once
 * @l: the link
 * @p: what is offered
 * @slices: its slices that are to be sent, bit n for slice n
 *
 * The peer answers the last of them, and the rest follows.
 *
 * Return: the lowest of them. An express is sent whole.
 */
u64 oae_window_part(const struct oae_link *l, const struct oae_post *p, u64 slices)
{
	u64 rest = slices;
	unsigned int n;

	if (p->nslices <= l->burst || oae_post_express(p))
		return slices;
	for (n = l->burst; rest && n; n--)
		rest &= rest - 1;
	return slices & ~rest;
}

/* Copy what is under way to other places. */
static void window_move(struct oae_link *l, struct oae_pair **pair, unsigned int n)
{
	u32 seq, last = l->tx + l->nlanes + !l->nlanes, mask = n - 1;
	const struct oae_hold *h;
	u64 dirty = 0;
	unsigned int i;

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
