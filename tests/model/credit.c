// SPDX-License-Identifier: GPL-2.0
/*
 * Credit (doc/protocol.md section 4.11): what it is of a state. Where an inbox has room for any
 * number it is none: then all is granted, and nothing is charged.
 */
#include "model.h"

#define PLENTY	(0xffffU * OAE_GRANT_UNIT)

/* Each number costs so many slices, and M_LEN bytes. */
static u8 slices_of(u32 cost)
{
	return cost / OAE_SLICE_COST;
}

/**
 * m_credit_reduce() - leave out what does not count
 * @sc: the scenario
 * @l: the link
 */
void m_credit_reduce(const struct m_scenario *sc, struct oae_link *l)
{
	u32 last = l->state == OAE_OPEN ? l->tx + l->given : l->tx, cost[2 * H_LANES] = { 0 };
	unsigned int i;

	if (sc->rcvbuf)
		for (i = 0; l->peer.rx + i != last; i++)
			cost[i] = *h_cost(l, l->peer.rx + i + 1);
	if (!m_windows(sc))
		l->base = 0;
	memset(l->cost, 0, sizeof(l->cost));
	for (i = 0; i < l->npairs; i++)
		memset(l->pair[i]->cost, 0, sizeof(l->pair[i]->cost));
	l->credit.charged = 0;
	for (i = 0; l->peer.rx + i != last; i++) {
		*h_cost(l, l->peer.rx + i + 1) = cost[i];
		l->credit.charged += cost[i];
	}
	if (!sc->rcvbuf) {
		l->credit.granted = PLENTY;
		l->credit.grant = PLENTY;
	}
	if (l->state == OAE_OPEN)
		return;
	l->credit.charged = 0;
	l->credit.grant = 0;
	l->credit.blocked = false;
	l->credit.said_blocked = false;
	l->credit.due = false;
}

/**
 * m_credit_back() - all numbers of a link become smaller
 * @l: the link, whose numbers are less already
 * @n: by so much, a multiple of H_LANES
 */
void m_credit_back(struct oae_link *l, u32 n)
{
	unsigned int i;

	if (!(n & l->npairs))
		return;
	for (i = 0; i < l->npairs; i++) {
		u32 *c = l->pair[i]->cost, swap = c[0];

		c[0] = c[1];
		c[1] = swap;
	}
}

/**
 * m_grants() - does a frame grant more than is known, or may it do so later?
 * @sc: the scenario
 * @l: the link that it goes to
 * @f: the frame, of its run
 *
 * Return: true if so.
 */
bool m_grants(const struct m_scenario *sc, const struct oae_link *l, const struct m_frame *f)
{
	return sc->rcvbuf && f->rx == l->peer.rx && f->grant * OAE_GRANT_UNIT > l->credit.grant;
}

static u8 *put(u8 *out, u32 v)
{
	*out++ = v >> 8;
	*out++ = v;
	return out;
}

static u32 get(const u8 *in)
{
	return in[0] << 8 | in[1];
}

/**
 * m_credit_pack() - the credit of a link, as bytes
 * @l: the link
 * @out: M_CREDIT_BYTES
 *
 * Return: what is behind them.
 */
u8 *m_credit_pack(const struct oae_link *l, u8 *out)
{
	u32 last = l->state == OAE_OPEN ? l->tx + l->given : l->tx, seq;

	memset(out, 0, M_CREDIT_BYTES);
	for (seq = l->peer.rx; seq != last;) {
		seq++;
		out[seq - l->peer.rx - 1] = slices_of(*h_cost((struct oae_link *)l, seq));
	}
	out = put(out + 2 * H_LANES, l->credit.granted);
	out = put(out, l->credit.grant);
	*out++ = l->credit.blocked | l->credit.said_blocked << 1 | l->credit.due << 2;
	return out;
}

/**
 * m_credit_unpack() - the other way round
 * @sc: the scenario
 * @l: the link, with its numbers and what is gathered
 * @in: M_CREDIT_BYTES; or none, if that is none of a state
 *
 * Return: what is behind them.
 */
const u8 *m_credit_unpack(const struct m_scenario *sc, struct oae_link *l, const u8 *in)
{
	u32 last = l->state == OAE_OPEN ? l->tx + l->given : l->tx, seq, i;
	const struct oae_hold *h;

	l->credit.gathered = 0;
	for (i = 1; i <= (l->pair ? l->npairs : 1u); i++) {
		h = oae_hold_of(l, l->rx + i);
		if (oae_hold_begun(h) && oae_kind_is(h->kind, OAE_T_READ))
			l->credit.gathered += h->len +
					      __builtin_popcountll(h->have) * OAE_SLICE_COST;
	}
	l->credit.charged = 0;
	l->credit.granted = PLENTY;
	l->credit.grant = l->state == OAE_OPEN ? PLENTY : 0;
	if (!sc->rcvbuf)
		return in;
	for (seq = l->peer.rx; seq != last;) {
		u32 cost = *in++;

		cost = cost ? M_LEN + cost * OAE_SLICE_COST : 0;
		*h_cost(l, ++seq) = cost;
		if (l->state == OAE_OPEN)
			l->credit.charged += cost;
	}
	in += 2 * H_LANES - (last - l->peer.rx);
	l->credit.granted = get(in);
	l->credit.grant = get(in + 2);
	l->credit.blocked = in[4] & 1;
	l->credit.said_blocked = in[4] >> 1 & 1;
	l->credit.due = in[4] >> 2 & 1;
	return in + 5;
}
