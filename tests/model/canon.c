// SPDX-License-Identifier: GPL-2.0
/*
 * When two states are one: names of ltags, incarnations and attempts and the
 * order of frames make no difference. A state is packed into bytes, and
 * unpacked to go on from. reduce.c has been here before.
 */
#include "model.h"

struct names {
	unsigned int n;
	u64 v[2 * M_CAP + 8];
};

struct naming {
	struct names ltag[2], inc[2];	/* by whose they are */
	bool open;			/* new ones get a name */
};

#define NAMELESS	0x7f

static u8 name_in(struct names *s, u64 v, bool open)
{
	unsigned int i;

	if (!v)
		return 0;
	for (i = 0; i < s->n; i++)
		if (s->v[i] == v)
			return i + 1;
	if (!open)
		return NAMELESS;
	s->v[s->n++] = v;
	return s->n;
}

static u8 name_ltag(struct naming *s, unsigned int whose, u32 ltag)
{
	if (ltag & M_COOKIE)
		return 0x80 | name_in(&s->ltag[!whose], ltag & ~M_COOKIE,
				      s->open);
	return name_in(&s->ltag[whose], ltag, s->open);
}

static u8 name_inc(struct naming *s, unsigned int whose, u64 inc)
{
	return name_in(&s->inc[whose], inc, s->open);
}

static u32 ltag_named(u8 name)
{
	return name & 0x80 ? M_COOKIE | (name & 0x7f) : name;
}

/*
 * Attempts of one direction keep their order, and which is next to which.
 */
static void rename_attempts(struct m_world *w, unsigned int from)
{
	unsigned int n = 0, i, last, next, name;
	u8 *at[2 * M_CAP + 2];

	at[n++] = &w->end[from].link.attempt;
	at[n++] = &w->end[!from].link.hold.attempt;
	for (i = 0; i < w->to[!from].n; i++)
		if (w->to[!from].f[i].opcode == OAE_OFFER ||
		    w->to[!from].f[i].opcode == OAE_REVERSE)
			at[n++] = &w->to[!from].f[i].attempt;
	for (i = 0; i < w->to[from].n; i++)
		if (w->to[from].f[i].opcode == OAE_REFLECT ||
		    w->to[from].f[i].opcode == OAE_REFUSE)
			at[n++] = &w->to[from].f[i].attempt;
	/* Mostly there are one or two values: the least above the last, each. */
	for (last = 0, name = 0;; last = next) {
		next = 256;
		for (i = 0; i < n; i++)
			if (*at[i] > last && *at[i] < next)
				next = *at[i];
		if (next == 256)
			break;
		name += next - last > 1 ? 2 : 1;
		/* No name is above its value: none is renamed twice. */
		for (i = 0; i < n; i++)
			if (*at[i] == next)
				*at[i] = name;
	}
}

/* --- bytes ----------------------------------------------------------------------------- */

#define FRAME_BYTES	18
#define LINK_BYTES	21	/* and the slots, and the way */
#define WAY_BYTES	2

/* Another MTU may cut a transaction in two. */
static unsigned int slots(const struct m_scenario *sc)
{
	return (sc->mtu || sc->cut) && sc->slices < 2 ? 2 : sc->slices;
}

static unsigned int link_bytes(const struct m_scenario *sc)
{
	return LINK_BYTES + slots(sc) + (sc->ways ? WAY_BYTES : 0);
}

static u8 mtu_code(u16 mtu)
{
	return mtu == M_MTU_WIDE ? 2 : mtu == M_MTU_VIA ? 3 : !!mtu;
}

static u16 mtu_coded(u8 code)
{
	static const u16 mtus[] = { 0, M_MTU_NARROW, M_MTU_WIDE, M_MTU_VIA };

	return mtus[code & 3];
}

static void pack_frame(struct naming *s, const struct m_scenario *sc,
		       unsigned int to, const struct m_frame *f,
		       u8 b[FRAME_BYTES])
{
	b[0] = f->opcode;
	b[1] = f->flags;
	b[2] = f->attempt;
	b[3] = f->reason | f->kind << 4;
	b[4] = f->slice;
	b[5] = f->piece;
	b[6] = f->first;
	b[7] = f->opcode == OAE_REFLECT ? f->reply : f->gap;
	b[8] = f->digest >> 8;
	b[9] = f->digest;
	b[10] = f->tx - sc->start;
	b[11] = f->rx - sc->start;
	b[12] = f->seq - sc->start;
	b[13] = mtu_code(f->mtu);
	b[14] = name_ltag(s, !to, f->src);
	b[15] = name_ltag(s, to, f->dst);
	b[16] = name_inc(s, !to, f->inc);
	b[17] = name_inc(s, to, f->peer_inc);
}

static void unpack_frame(const struct m_scenario *sc, const u8 *b,
			 struct m_frame *f)
{
	f->opcode = b[0];
	f->flags = b[1];
	f->attempt = b[2];
	f->reason = b[3] & 15;
	f->kind = b[3] >> 4;
	f->slice = b[4];
	f->piece = b[5];
	f->first = b[6];
	f->gap = f->opcode == OAE_REFLECT ? 0 : b[7];
	f->reply = f->opcode == OAE_REFLECT ? b[7] : 0;
	f->digest = b[8] << 8 | b[9];
	f->tx = sc->start + (s32)(int8_t)b[10];
	f->rx = sc->start + (s32)(int8_t)b[11];
	f->seq = sc->start + (s32)(int8_t)b[12];
	f->mtu = mtu_coded(b[13]);
	f->src = ltag_named(b[14]);
	f->dst = ltag_named(b[15]);
	f->inc = b[16];
	f->peer_inc = b[17];
}

static void sort(u8 b[][FRAME_BYTES], struct m_frame *f, unsigned int n)
{
	unsigned int i, j;

	for (i = 1; i < n; i++) {
		for (j = i; j && memcmp(b[j - 1], b[j], FRAME_BYTES) > 0; j--) {
			u8 swap[FRAME_BYTES];
			struct m_frame g = f[j];

			memcpy(swap, b[j], FRAME_BYTES);
			memcpy(b[j], b[j - 1], FRAME_BYTES);
			memcpy(b[j - 1], swap, FRAME_BYTES);
			f[j] = f[j - 1];
			f[j - 1] = g;
		}
	}
}

/* First by what has a name already, then name the rest in that order. */
static u8 *pack_chan(struct naming *s, struct m_world *w, unsigned int to,
		     u8 *out)
{
	struct m_chan *c = &w->to[to];
	u8 b[M_CAP][FRAME_BYTES];
	unsigned int i;

	s->open = false;
	for (i = 0; i < c->n; i++)
		pack_frame(s, w->sc, to, &c->f[i], b[i]);
	sort(b, c->f, c->n);
	s->open = true;
	for (i = 0; i < c->n; i++)
		pack_frame(s, w->sc, to, &c->f[i], b[i]);
	sort(b, c->f, c->n);
	*out++ = c->n;
	memcpy(out, b, c->n * FRAME_BYTES);
	return out + c->n * FRAME_BYTES;
}

static const u8 *unpack_chan(const struct m_scenario *sc, struct m_chan *c,
			     const u8 *in)
{
	unsigned int i;

	c->n = *in++;
	memset(c->f, 0, c->n * sizeof(c->f[0]));
	for (i = 0; i < c->n; i++, in += FRAME_BYTES)
		unpack_frame(sc, in, &c->f[i]);
	return in;
}

/* Frames that are usual have VIA, or have not, or none is. */
static u8 *pack_way(const struct m_end *e, u8 *out)
{
	const struct oae_way *way = &e->way;

	*out++ = way->via | way->wish << 1 | way->lost << 2 |
		 (way->gen != e->gw.gen) << 3 | m_way_late(&e->link) << 4;
	*out++ = way->asked | (!way->usual ? 0 :
			       way->usual == OAE_F_VIA ? 1 : 2) << 4;
	return out;
}

static const u8 *unpack_way(struct m_end *e, const u8 *in)
{
	static const u8 usual[] = { 0, OAE_F_VIA, (u8)~OAE_F_VIA };
	struct oae_way *way = &e->way;

	way->via = *in & 1;
	way->wish = *in >> 1 & 1;
	way->lost = *in >> 2 & 1;
	way->gen = e->gw.gen - (*in >> 3 & 1);
	if (*in++ >> 4 & 1)
		e->link.asked_at = M_NOW - M_LATE;
	way->asked = *in & 15;
	way->usual = usual[*in++ >> 4];
	return in;
}

static u8 *pack_end(struct naming *s, const struct m_world *w,
		    unsigned int who, u8 *out)
{
	const struct m_end *e = &w->end[who];
	const struct oae_link *l = &e->link;
	u32 start = w->sc->start;
	unsigned int i;

	*out++ = e->tag | e->narrow << 1 | e->owes_unconfirmed << 2 |
		 e->owes_held_lost << 3 | e->renamed << 4 | e->word_busy << 5 |
		 e->word << 6;
	*out++ = e->unread | e->committed << 4;
	if (!e->tag)
		return out;
	*out++ = name_ltag(s, who, l->ltag);
	*out++ = name_ltag(s, !who, l->peer_ltag);
	*out++ = name_inc(s, who, l->inc);
	*out++ = name_inc(s, !who, l->peer_inc);
	*out++ = name_inc(s, !who, l->heard.inc);
	*out++ = mtu_code(l->heard.mtu) | mtu_code(l->mtu) << 2 |
		 mtu_code(l->peer_mtu) << 4 |
		 (l->offer.state == OAE_OFFER_OUT && l->offer.ready) << 6 |
		 l->wanted << 7;
	*out++ = l->tx - start;
	*out++ = l->rx - start;
	*out++ = l->state | l->down << 3 | l->closing << 4 |
		 l->close_sent << 5 | l->peer_closing << 6 |
		 l->confirmed << 7;
	*out++ = l->await_done | l->clean << 1 | l->last_express << 2 |
		 l->ready_due << 3 | !!l->asked_at << 4 | l->offer.again << 5 |
		 l->hold.express << 6 | l->offer.doubt << 7;
	*out++ = l->attempt;
	*out++ = (uintptr_t)l->offer.p.handle | l->offer.state << 4 |
		 l->offer.p.nslices << 6;
	*out++ = (l->next_valid ? (uintptr_t)l->next.handle : 0) |
		 (uintptr_t)l->half.p.handle << 4;
	*out++ = l->half.state | l->half.crossed << 3 | l->half.turn << 4 |
		 l->unseen << 5 | l->hold.kind << 6;
	*out++ = (uintptr_t)l->aside.p.handle | l->aside.ready << 4 |
		 !!l->half.cancelled << 5 | !!l->cut << 6 |
		 l->offer.hopeless << 7;
	*out++ = l->hold.state | l->hold.nslices << 4 |
		 !!l->settle_until << 7;
	*out++ = l->hold.attempt;
	*out++ = l->hold.reason;
	i = l->hold.digest ? m_digest(l->hold.digest) : 0;
	*out++ = i >> 8;
	*out++ = i;
	*out++ = l->hold.first;
	for (i = 0; i < slots(w->sc); i++)
		*out++ = e->slot[i];
	return w->sc->ways ? pack_way(e, out) : out;
}

static void unpack_slots(const struct m_scenario *sc, struct m_end *e,
			 const u8 *in)
{
	struct oae_link *l = &e->link;
	unsigned int i;

	for (i = 0; i < slots(sc); i++) {
		e->slot[i] = in[i];
		if (!in[i])
			continue;
		l->hold.have |= 1ULL << i;
		l->hold.hash[i] = m_slice_hash(in[i], i);
		l->hold.len += M_LEN / M_PIECE_N(in[i]);
	}
}

static const u8 *unpack_link(struct m_world *w, unsigned int who, const u8 *in)
{
	struct m_end *e = &w->end[who];
	struct oae_link *l = &e->link;
	u32 start = w->sc->start;
	u8 offer, next, half, aside;

	l->ltag = ltag_named(*in++);
	l->peer_ltag = ltag_named(*in++);
	l->inc = *in++;
	l->peer_inc = *in++;
	l->heard.inc = *in++;
	l->heard.mtu = mtu_coded(*in & 3);
	l->heard.max_len = l->heard.mtu ? l->cfg->max_len : 0;
	l->heard.start = l->heard.mtu ? start : 0;
	l->mtu = mtu_coded(*in >> 2 & 3);
	l->peer_mtu = mtu_coded(*in >> 4 & 3);
	l->offer.ready = *in >> 6 & 1;
	l->wanted = *in++ >> 7;
	l->peer_max_len = l->peer_mtu ? l->cfg->max_len : 0;
	l->tx = start + (s32)(int8_t)*in++;
	l->rx = start + (s32)(int8_t)*in++;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	l->state = *in & 7;
	l->down = *in >> 3 & 1;
	l->closing = *in >> 4 & 1;
	l->close_sent = *in >> 5 & 1;
	l->peer_closing = *in >> 6 & 1;
	l->confirmed = *in++ >> 7;
	l->await_done = *in & 1;
	l->clean = *in >> 1 & 1;
	l->last_express = *in >> 2 & 1;
	l->ready_due = *in >> 3 & 1;
	l->asked_at = *in >> 4 & 1 ? M_NOW : 0;
	l->offer.again = *in >> 5 & 1;
	l->hold.express = *in >> 6 & 1;
	l->offer.doubt = *in++ >> 7;
	l->attempt = *in++;
	offer = *in & 15;
	l->offer.state = *in++ >> 4 & 3;
	next = *in & 15;
	half = *in++ >> 4;
	l->half.state = *in & 7;
	l->half.crossed = *in >> 3 & 1;
	l->half.turn = *in >> 4 & 1;
	l->unseen = *in >> 5 & 1;
	l->hold.kind = *in++ >> 6;
	aside = *in & 15;
	l->aside.valid = aside;
	l->aside.ready = *in >> 4 & 1;
	l->half.cancelled = *in >> 5 & 1 ? OAE_E_SIGNAL : 0;
	l->cut = *in >> 6 & 1 ? M_MTU_NARROW - OAE_HDR_LEN : 0;
	l->offer.hopeless = *in++ >> 7;
	l->hold.state = *in & 15;
	l->hold.nslices = *in >> 4 & 7;
	l->settle_until = *in++ >> 7;
	l->hold.attempt = *in++;
	l->hold.reason = *in++;
	l->hold.digest = m_digest_value(in[0] << 8 | in[1]);
	in += 2;
	l->hold.first = *in++;
	unpack_slots(w->sc, e, in);
	in += slots(w->sc);
	if (w->sc->ways)
		in = unpack_way(e, in);
	if (offer)
		m_fill_post(w, offer, &l->offer.p);
	l->next_valid = next;
	if (next)
		m_fill_post(w, next, &l->next);
	if (half)
		m_fill_post(w, half, &l->half.p);
	if (aside)
		m_fill_post(w, aside, &l->aside.p);
	if (l->hold.state == OAE_HOLD_HELD && l->hold.kind == OAE_SWAP)
		l->hold.reply = M_LEN;
	if (l->hold.state == OAE_HOLD_HELD && l->hold.kind == OAE_VERB)
		l->hold.reply = M_ANSWER;
	e->computed = l->hold.state == OAE_HOLD_HELD &&
		       l->hold.kind == OAE_VERB;
	m_reduce_link(w->sc, l);
	return in;
}

static u8 *pack_txs(struct naming *s, const struct m_world *w, u8 *out)
{
	unsigned int i;

	*out++ = w->ntx;
	*out++ = w->posted[A] | w->posted[B] << 4;
	*out++ = w->crash | w->kill << 2 | w->close << 4 | w->rename << 6;
	*out++ = w->mtu | w->cut << 2 | w->conflict << 4 | w->refuse << 6;
	if (w->sc->ways)
		*out++ = w->end[A].gw.known | w->end[B].gw.known << 1 |
			 w->leave << 2;
	for (i = 0; i < w->ntx; i++) {
		const struct m_tx *tx = &w->tx[i];

		*out++ = tx->from | tx->at_link << 1 | tx->ended << 2 |
			 tx->lost << 3 | tx->delivered << 4 |
			 tx->excused << 5 | (tx->offered | tx->lent) << 6 |
			 tx->unwanted << 7;
		*out++ = tx->outcome | tx->n << 2 | tx->flags << 4 |
			 tx->kind << 6;
		*out++ = name_inc(s, !tx->from, tx->offered_to) |
			 tx->other << 4;
	}
	return out;
}

static const u8 *unpack_txs(struct m_world *w, const u8 *in)
{
	unsigned int i;

	w->ntx = *in++;
	w->posted[A] = *in & 15;
	w->posted[B] = *in++ >> 4;
	w->crash = *in & 3;
	w->kill = *in >> 2 & 3;
	w->close = *in >> 4 & 3;
	w->rename = *in++ >> 6;
	w->mtu = *in & 3;
	w->cut = *in >> 2 & 3;
	w->conflict = *in >> 4 & 3;
	w->refuse = *in++ >> 6;
	if (w->sc->ways) {
		for (i = A; i <= B; i++)
			if (*in >> i & 1)
				m_gateway(&w->end[i], 0);
		w->leave = *in++ >> 2;
	}
	for (i = 0; i < w->ntx; i++) {
		struct m_tx *tx = &w->tx[i];

		tx->from = *in & 1;
		tx->at_link = *in >> 1 & 1;
		tx->ended = *in >> 2 & 1;
		tx->lost = *in >> 3 & 1;
		tx->delivered = *in >> 4 & 1;
		tx->excused = *in >> 5 & 1;
		tx->lent = *in >> 6 & 1;
		tx->unwanted = *in++ >> 7;
		tx->outcome = *in & 3;
		tx->n = *in >> 2 & 3;
		tx->flags = *in >> 4 & 3;
		tx->kind = *in++ >> 6;
		/* Halves are lent, anything else is offered. */
		tx->offered = tx->lent && tx->kind != OAE_SWAP;
		tx->lent = tx->lent && tx->kind == OAE_SWAP;
		tx->offered_to = *in & 15;
		tx->other = *in++ >> 4;
		tx->answered = tx->other;
		tx->len = M_LEN;
	}
	return in;
}

/**
 * m_pack() - the bytes of a state; its attempts and frames change names and
 *	places on the way
 * @w: the world, reduced
 * @buf: out
 *
 * Return: how many.
 */
unsigned int m_pack(struct m_world *w, u8 buf[M_PACKED])
{
	struct naming s;
	unsigned int i;
	u8 *out = buf;

	for (i = A; i <= B; i++) {
		s.ltag[i].n = 0;
		s.inc[i].n = 0;
		rename_attempts(w, i);
	}
	s.open = true;
	for (i = A; i <= B; i++) {
		if (!w->end[i].tag)
			continue;
		name_ltag(&s, i, w->end[i].link.ltag);
		name_inc(&s, i, w->end[i].link.inc);
	}
	out = pack_end(&s, w, A, out);
	out = pack_end(&s, w, B, out);
	out = pack_txs(&s, w, out);
	out = pack_chan(&s, w, A, out);
	out = pack_chan(&s, w, B, out);
	return out - buf;
}

/**
 * m_unpack() - the state that the bytes are of
 * @w: out
 * @sc: the scenario
 * @buf: as m_pack() made them
 */
void m_unpack(struct m_world *w, const struct m_scenario *sc, const u8 *buf)
{
	const u8 *in = buf, *link[2];
	unsigned int i;

	memset(w, 0, offsetof(struct m_world, to));
	w->sc = sc;
	w->arbitrary = false;
	w->reported = false;
	w->why = NULL;
	w->weather = 0;
	for (i = A; i <= B; i++) {
		struct m_end *e = &w->end[i];

		e->tag = *in & 1;
		e->narrow = *in >> 1 & 1;
		e->owes_unconfirmed = *in >> 2 & 1;
		e->owes_held_lost = *in >> 3 & 1;
		e->renamed = *in >> 4 & 1;
		e->word_busy = *in >> 5 & 1;
		e->word = *in++ >> 6;
		e->unread = *in & 15;
		e->committed = *in++ >> 4;
		m_link_init(w, i);
		link[i] = in;
		if (e->tag)
			in += link_bytes(sc);
	}
	in = unpack_txs(w, in);
	in = unpack_chan(sc, &w->to[A], in);
	in = unpack_chan(sc, &w->to[B], in);
	/* Last: a post is made of what its transaction is. */
	for (i = A; i <= B; i++)
		if (w->end[i].tag)
			unpack_link(w, i, link[i]);
}
