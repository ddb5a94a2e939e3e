// SPDX-License-Identifier: GPL-2.0
/*
 * Credit (doc/protocol.md section 4.11): each frame says how many bytes its sender grants for the
 * numbers above its rx. The initiator charges what these numbers cost, and the responder keeps
 * nothing beyond what it has granted. Pure, see link.h.
 *
 * The grant is the free space of the inbox. Only the cost of deliveries makes it smaller, so
 * nothing that was offered in time is dropped.
 */
#include "link_int.h"

#define CREDIT_MOST	(0xffffU * OAE_GRANT_UNIT)	/* that a frame can say */

static u32 credit_slices(u32 len, u32 nslices)
{
	return len + nslices * OAE_SLICE_COST;
}

static void credit_less(u32 *credit, u32 cost)
{
	*credit -= cost < *credit ? cost : *credit;
}

/* The cost of the slices of a number. Those of an earlier run are of no number of this one yet. */
static u32 credit_here(const struct oae_hold *h)
{
	if (!oae_hold_begun(h) || !oae_kind_is(h->kind, OAE_T_READ))
		return 0;
	return credit_slices(h->len, hweight64(h->have));
}

/**
 * oae_credit_free() - the inbox has so much free: that is granted, unless more is already
 * @l: the link
 * @room: bytes
 */
void oae_credit_free(struct oae_link *l, u32 room)
{
	room = room < CREDIT_MOST ? room & ~(OAE_GRANT_UNIT - 1) : CREDIT_MOST;
	if (l->credit.granted < room)
		l->credit.granted = room;
}

/**
 * oae_credit_keep() - a slice is about to be kept, if the peer was granted that much
 * @l: the link
 * @h: what is here of its number
 * @len: bytes of the slice
 *
 * If nothing else costs anything, one content may cost more than what is granted.
 *
 * Return: false if it was not.
 */
bool oae_credit_keep(struct oae_link *l, const struct oae_hold *h, u32 len)
{
	u32 cost = credit_slices(len, 1);

	if (!oae_kind_is(h->kind, OAE_T_READ))
		return true;
	if (l->credit.gathered + cost > l->credit.granted &&
	    (l->credit.gathered != credit_here(h) || l->credit.granted < OAE_GRANT_UNIT))
		return false;
	l->credit.gathered += cost;
	return true;
}

/**
 * oae_credit_resumed() - slices of an earlier run are of the content that begins
 * @l: the link
 * @h: what is here of its number, PARTIAL
 */
void oae_credit_resumed(struct oae_link *l, const struct oae_hold *h)
{
	l->credit.gathered += credit_here(h);
}

/**
 * oae_credit_left() - what is here of a number is about to leave it
 * @l: the link
 * @h: what is here
 */
void oae_credit_left(struct oae_link *l, const struct oae_hold *h)
{
	credit_less(&l->credit.gathered, credit_here(h));
}

/**
 * oae_credit_delivered() - a number is about to be delivered: so much less is granted above it
 * @l: the link
 * @h: what is here of it
 */
void oae_credit_delivered(struct oae_link *l, const struct oae_hold *h)
{
	credit_less(&l->credit.granted, credit_here(h));
}

/* The cost of a content, as this run cuts it. */
static u32 credit_cost(const struct oae_link *l, const struct oae_post *p)
{
	u32 n = p->nslices, cut;

	if (!oae_kind_is(p->kind, OAE_T_READ))
		return 0;
	if (oae_kind_is(p->kind, OAE_T_CUT) && p->slice_max > oae_link_slice_max(l)) {
		cut = oae_link_cut(l, p->kind, p->len);
		n = (p->len + cut - 1) / cut;
	}
	return credit_slices(p->len, n);
}

/**
 * oae_credit_may() - may a content be given a number?
 * @l: the link
 * @p: the content
 *
 * Return: true if it fits into what the peer grants with all that is charged; and if nothing is
 * charged, and something granted.
 */
bool oae_credit_may(const struct oae_link *l, const struct oae_post *p)
{
	u32 cost = credit_cost(l, p);

	return !cost || l->credit.charged + cost <= l->credit.grant ||
	       (!l->credit.charged && l->credit.grant >= OAE_GRANT_UNIT);
}

/* Numbers that are committed, and perhaps not delivered, share places with those that are given. */
static u32 *credit_of(const struct oae_link *l, u32 seq)
{
	u32 at = seq - l->base;

	if (!l->pair)
		return (u32 *)&l->cost[at & 1];
	return &l->pair[at & (l->npairs - 1)]->cost[!!(at & l->npairs)];
}

/**
 * oae_credit_give() - charge the content of a number that is given
 * @l: the link, OPEN
 * @seq: the number
 */
void oae_credit_give(struct oae_link *l, u32 seq)
{
	u32 cost = credit_cost(l, &oae_lane(l, seq)->p);

	*credit_of(l, seq) = cost;
	l->credit.charged += cost;
}

/**
 * oae_credit_void() - the peer keeps nothing of a number: nothing took its place there
 * @l: the link
 * @seq: the number, given
 */
void oae_credit_void(struct oae_link *l, u32 seq)
{
	credit_less(&l->credit.charged, *credit_of(l, seq));
	*credit_of(l, seq) = 0;
}

/**
 * oae_credit_confirmed() - the peer has delivered more, and grants so much less above that
 * @l: the link
 * @seq: the last number that it has delivered, at most OAE_WINDOW_MAX above peer.rx
 */
void oae_credit_confirmed(struct oae_link *l, u32 seq)
{
	u32 at;

	for (at = l->peer.rx; at != seq;) {
		credit_less(&l->credit.grant, *credit_of(l, ++at));
		oae_credit_void(l, at);
	}
}

/**
 * oae_credit_committed() - what does that cost which is committed, and perhaps not delivered?
 * @l: the link
 *
 * Return: bytes.
 */
u32 oae_credit_committed(const struct oae_link *l)
{
	u32 seq, cost = 0;

	for (seq = l->peer.rx; seq != l->tx;)
		cost += *credit_of(l, ++seq);
	return cost;
}

/**
 * oae_credit_move() - copy what numbers cost to other places
 * @l: the link, which has its places yet
 * @pair: the other ones, for a base of 0
 * @n: how many, a power of two, more than before
 */
void oae_credit_move(struct oae_link *l, struct oae_pair **pair, unsigned int n)
{
	u32 seq, last = l->tx + l->given;

	for (seq = l->peer.rx; seq != last;) {
		u32 cost = *credit_of(l, ++seq);

		pair[seq & (n - 1)]->cost[!!(seq & n)] = cost;
	}
}

/**
 * oae_credit_heard() - a frame of this run says what the peer grants
 * @l: the link
 * @f: the frame; peer.rx is not before its rx
 */
void oae_credit_heard(struct oae_link *l, const struct oae_frame *f)
{
	u32 grant = f->grant * OAE_GRANT_UNIT;

	if (f->rx == l->peer.rx && l->credit.grant < grant)
		l->credit.grant = grant;
	/* Whatever a state says that was charged. */
	if (!l->given && oae_link_all_confirmed(l))
		l->credit.charged = 0;
}

/**
 * oae_credit_begin() - begin a run: what is committed is charged, and nothing else
 * @l: the link, whose numbers are given anew
 * @f: the frame that it resolves against
 */
void oae_credit_begin(struct oae_link *l, const struct oae_frame *f)
{
	l->credit.charged = oae_credit_committed(l);
	/* An express that this run cannot carry is given its number, and costs nothing. */
	*credit_of(l, l->tx + 1) = 0;
	l->credit.grant = f->grant * OAE_GRANT_UNIT;
	l->credit.due = false;
}

/**
 * oae_link_made_room() - the inbox has room: READY, if the peer is blocked
 * @l: the link
 * @room: bytes
 * @now: ns
 * @a: actions
 */
void oae_link_made_room(struct oae_link *l, u32 room, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN || !l->credit.due || room < OAE_GRANT_UNIT)
		return;
	now = oae_now(l, now);
	l->credit.due = false;
	oae_credit_free(l, room);
	oae_send(l, a, OAE_READY);
	oae_finish(l, now, a);
}
