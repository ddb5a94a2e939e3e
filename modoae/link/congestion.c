// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control (doc/architecture.md, *How much is under way*; what the peer relies on is in
 * doc/protocol.md section 4.11): how many frames with a content may be under way. Pure, see
 * link.h.
 *
 * The algorithm is AIMD in frames: slow start, then one frame more with each round trip; as TCP
 * Veno does (Fu and Liew, 2003), with every other one while frames of this link wait in queues. A
 * loss leaves the part of the window that does not wait, as in H-TCP (Leith and Shorten, 2004).
 * What is under way is counted as FACK does (Mathis and Mahdavi, 1996): all that was sent since
 * the newest number that was heard.
 */
#include "link_int.h"

#define CONG_FIRST	10	/* frames under way at first (RFC 6928), and after a failure */
#define CONG_BACKLOG	3	/* frames of this link in queues, from which on it grows slower */
#define CONG_PASSED	3	/* numbers that are heard before a frame counts as lost */
#define CONG_REORDER	16	/* as many if frames overtake each other */
#define CONG_EACH	16	/* after as many frames an answer is asked for, at most */
#define CONG_MOST	(OAE_WINDOW_MAX * OAE_MAX_SLICES)

/* Frames with a content that no answer has looked past. */
static u32 cong_flight(const struct oae_link *l)
{
	const struct oae_number *nr = &l->number;
	s32 n = oae_dist(nr->acked, l->cong.out), most = oae_dist(nr->acked, (u32)nr->sent);

	/* Whatever a state says, no more than there are numbers. */
	if (n > most)
		n = most;
	return n > 0 ? n : 0;
}

/**
 * oae_cong_may() - how many frames with a content may go now
 * @l: the link, OPEN
 *
 * If tx + 1 is not in flight no timer asks for what is under way: one may go.
 *
 * Return: that many.
 */
unsigned int oae_cong_may(const struct oae_link *l)
{
	u32 flight = cong_flight(l);

	if (flight < l->cong.cwnd)
		return l->cong.cwnd - flight;
	return oae_first_lane(l)->state != OAE_OFFER_OUT;
}

/**
 * oae_cong_part() - which slices of an offer may go now
 * @l: the link, OPEN; one may go at least
 * @slices: those that are to be sent, bit n for slice n
 *
 * Return: the lowest of them.
 */
u64 oae_cong_part(const struct oae_link *l, u64 slices)
{
	unsigned int n = oae_cong_may(l);
	u64 rest = slices;

	if (n >= OAE_MAX_SLICES)
		return slices;
	for (; rest && n; n--)
		rest &= rest - 1;
	return slices & ~rest;
}

/**
 * oae_cong_each() - after how many frames is an answer asked for?
 * @l: the link
 *
 * Four times a window, so that one goes on although the last frame is lost.
 *
 * Return: that many.
 */
u8 oae_cong_each(const struct oae_link *l)
{
	u32 n = l->cong.cwnd / 4;

	return n < 2 ? 2 : n < CONG_EACH ? n : CONG_EACH;
}

/**
 * oae_cong_begin() - begin a run
 * @l: the link, about to be OPEN
 */
void oae_cong_begin(struct oae_link *l)
{
	struct oae_cong *c = &l->cong;

	if (!c->cwnd) {
		c->cwnd = CONG_FIRST;
		c->ssthresh = CONG_MOST;
	}
	c->acked = 0;
	c->undo = 0;
	c->out = 0;
	c->recover = 0;
}

/**
 * oae_cong_turned() - another path is in use: of that nothing is known
 * @l: the link
 */
void oae_cong_turned(struct oae_link *l)
{
	struct oae_cong *c = &l->cong;

	if (c->cwnd > CONG_FIRST)
		c->cwnd = CONG_FIRST;
	c->ssthresh = CONG_MOST;
	c->undo = 0;
	l->number.reorder = false;
	oae_rtt_turned(l);
}

/**
 * oae_cong_froze() - the link froze
 * @l: the link
 */
void oae_cong_froze(struct oae_link *l)
{
	struct oae_cong *c = &l->cong;

	if (c->cwnd > 1)
		c->ssthresh = c->cwnd / 2;
	if (c->cwnd > CONG_FIRST)
		c->cwnd = CONG_FIRST;
	l->number.reorder = false;
}

/**
 * oae_cong_base() - the shortest round trip of late
 * @l: the link
 *
 * Return: ns; 0 none was measured.
 */
u32 oae_cong_base(const struct oae_link *l)
{
	u32 peak = oae_peak(l->rtt.shortest);

	return peak ? ~peak : 0;
}

/* Do frames of this link wait in queues, which makes the round trip longer? */
static bool cong_backlogged(const struct oae_link *l)
{
	const struct oae_rtt *r = &l->rtt;
	u32 base = oae_cong_base(l);

	return r->srtt > base && l->cong.cwnd * (r->srtt - base) >= CONG_BACKLOG * r->srtt;
}

/*
 * What a loss leaves of the window. What waits in queues goes; a half stays, and a tenth goes, as
 * the loss may be by chance, or not. Without a measure a half is all that stays.
 */
static u16 cong_left(const struct oae_link *l)
{
	const struct oae_rtt *r = &l->rtt;
	u32 trip = r->srtt < ~0U ? r->srtt : ~0U, base = r->guessed ? 0 : oae_cong_base(l), n;
	u16 least = l->cong.cwnd / 2, most = l->cong.cwnd - l->cong.cwnd / 10;

	/* So the product has 32 bits: those of 64 are not divided everywhere. */
	for (; trip >> 18; trip >>= 1)
		base >>= 1;
	n = trip ? l->cong.cwnd * base / trip : 0;
	if (n > most)
		n = most;
	return n > least ? n : least;
}

/**
 * oae_cong_acked() - an answer has heard something new
 * @l: the link, before it takes the number
 * @ack: the number
 *
 * The window grows only if it is what limits.
 */
void oae_cong_acked(struct oae_link *l, u32 ack)
{
	struct oae_cong *c = &l->cong;
	u32 flight = cong_flight(l), n = oae_dist(l->number.acked, ack);

	/* A mark that is far behind means no more than one that is less so. (Else numbers wrap.) */
	if (oae_dist(c->recover, ack) > 4 * CONG_MOST)
		c->recover = ack - 2 * CONG_MOST;
	if (c->cwnd >= CONG_MOST || oae_dist(c->recover, ack) <= 0)
		return;
	if (n > flight)
		n = flight;
	if (c->cwnd < c->ssthresh) {
		if (2 * flight >= c->cwnd)
			c->cwnd = c->cwnd + n < CONG_MOST ? c->cwnd + n : CONG_MOST;
		return;
	}
	if (flight < c->cwnd)
		return;
	c->acked += n;
	if (c->acked < (cong_backlogged(l) ? 2U * c->cwnd : c->cwnd))
		return;
	c->acked = 0;
	c->cwnd++;
}

/**
 * oae_cong_lost() - a frame with a content is lost
 * @l: the link, OPEN
 * @pn: its number
 * @guess: others may only have overtaken it
 *
 * All losses of what was sent before the first was known are one.
 */
void oae_cong_lost(struct oae_link *l, u32 pn, bool guess)
{
	struct oae_cong *c = &l->cong;
	u16 cwnd = c->cwnd;

	if (oae_dist(c->recover, pn) <= 0) {
		if (!guess)
			c->undo = 0;
		return;
	}
	c->recover = (u32)l->number.sent;
	c->undo = guess ? cwnd : 0;
	c->cwnd = cong_left(l);
	if (!c->cwnd)
		c->cwnd = 1;
	c->ssthresh = c->cwnd;
	c->acked = 0;
}

/**
 * oae_cong_passed() - how many later numbers are heard before a frame counts as lost?
 * @l: the link
 *
 * Return: that many.
 */
s32 oae_cong_passed(const struct oae_link *l)
{
	return l->number.reorder ? CONG_REORDER : CONG_PASSED;
}

/**
 * oae_cong_overtaken() - what was taken to be lost was overtaken
 * @l: the link
 *
 * The window is what it was, and more numbers are waited for from now on.
 */
void oae_cong_overtaken(struct oae_link *l)
{
	struct oae_cong *c = &l->cong;

	l->number.reorder = true;
	if (c->cwnd < c->undo) {
		c->cwnd = c->undo;
		c->ssthresh = c->undo;
	}
	c->undo = 0;
	/* A later loss is no part of one that was none. */
	c->recover = l->number.acked;
}
