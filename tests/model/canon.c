// SPDX-License-Identifier: GPL-2.0
/*
 * When two states are one: names of ltags and incarnations and the order of frames make no
 * difference. A state is packed into bytes, and
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
		return 0x80 | ltag >> 29 << 5 |
		       name_in(&s->ltag[!whose], ltag & M_LTAG, s->open);
	return name_in(&s->ltag[whose], ltag, s->open);
}

static u8 name_inc(struct naming *s, unsigned int whose, u64 inc)
{
	return name_in(&s->inc[whose], inc, s->open);
}

static u32 ltag_named(u8 name)
{
	return name & 0x80 ? m_cookie(name & 0x1f, name >> 5 & 3) : name;
}

/* Another MTU may cut a transaction in two. */
static unsigned int slots(const struct m_scenario *sc)
{
	return m_lengths(sc) && sc->slices < 2 ? 2 : sc->slices;
}

/* --- bytes ----------------------------------------------------------------------------- */

#define FRAME_BYTES	18
#define LINK_BYTES	22	/* and of each number */
#define WAY_BYTES	2
#define PATH_BYTES	2	/* and of each line */
#define LINE_BYTES	3
#define LANE_BYTES	5
#define HOLD_BYTES	7	/* and the slots */

/* Numbers that are looked at, of each end. */
static unsigned int numbers(const struct m_scenario *sc)
{
	return m_windows(sc) ? H_LANES : 1;
}

static unsigned int link_bytes(const struct m_scenario *sc)
{
	return LINK_BYTES + numbers(sc) * (LANE_BYTES + HOLD_BYTES + slots(sc)) +
	       (sc->ways ? WAY_BYTES : 0) + (sc->rcvbuf ? M_CREDIT_BYTES : 0) +
	       (sc->lines ? PATH_BYTES + sc->lines * LINE_BYTES : 0);
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
	b[2] = f->reason | f->kind << 4;
	b[3] = f->slice | f->line << 6;
	b[4] = f->piece;
	b[5] = f->first;
	b[6] = f->opcode == OAE_REFLECT ? f->reply :
	       f->opcode == OAE_OFFER || f->opcode == OAE_COMMIT ? f->marks : f->have;
	b[7] = f->digest >> 8;
	b[8] = f->digest;
	b[9] = f->tx - sc->start;
	b[10] = f->rx - sc->start;
	b[11] = f->seq - sc->start;
	b[12] = mtu_code(f->mtu) | f->caps << 2;
	b[13] = name_ltag(s, !to, f->src);
	b[14] = name_ltag(s, to, f->dst);
	b[15] = name_inc(s, !to, f->inc);
	b[16] = name_inc(s, to, f->peer_inc);
	b[17] = f->grant;
}

static void unpack_frame(const struct m_scenario *sc, const u8 *b,
			 struct m_frame *f)
{
	f->opcode = b[0];
	f->flags = b[1];
	f->reason = b[2] & 15;
	f->kind = b[2] >> 4;
	f->slice = b[3] & 63;
	f->line = b[3] >> 6;
	f->piece = b[4];
	f->first = b[5];
	f->have = f->opcode == OAE_ACK || m_is_sync(f->opcode) ? b[6] : 0;
	f->marks = f->opcode == OAE_OFFER || f->opcode == OAE_COMMIT ? b[6] : 0;
	f->reply = f->opcode == OAE_REFLECT ? b[6] : 0;
	f->digest = b[7] << 8 | b[8];
	f->tx = sc->start + (s32)(int8_t)b[9];
	f->rx = sc->start + (s32)(int8_t)b[10];
	f->seq = sc->start + (s32)(int8_t)b[11];
	f->mtu = mtu_coded(b[12] & 3);
	f->caps = b[12] >> 2;
	if (sc->lines && f->mtu)
		f->caps |= OAE_CAPS_PATHS;
	f->src = ltag_named(b[13]);
	f->dst = ltag_named(b[14]);
	f->inc = b[15];
	f->peer_inc = b[16];
	f->grant = b[17];
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

/* The incarnations that paths are proven for are those of the link. */
static u8 *pack_paths(struct naming *s, const struct m_world *w, unsigned int who, u8 *out)
{
	const struct m_path_end *pe = &w->end[who].path;
	const struct oae_link *l = &w->end[who].link;
	unsigned int i;

	*out++ = pe->begun | pe->ps.used << 1 | l->syncs << 4 | pe->line[OAE_PATH_OWN] << 6;
	*out++ = pe->ps.home | pe->ps.other << 2 | !!pe->ps.leave_at << 4 | pe->ps.limit << 5;
	for (i = 0; i < w->sc->lines; i++) {
		const struct oae_path *p = &pe->ps.path[i];

		*out++ = p->there | p->up << 1 | p->proven << 2 | p->good << 3 |
			 !!p->rtt << 4 | pe->line[i] << 5;
		*out++ = name_ltag(s, !who, p->heard);
		*out++ = mtu_code(p->far) | !!p->pmtu << 2;
	}
	return out;
}

static const u8 *unpack_paths(const struct m_world *w, struct m_end *e, const u8 *in)
{
	struct m_path_end *pe = &e->path;
	struct oae_link *l = &e->link;
	unsigned int i;

	l->paths = true;
	l->heard.paths = l->heard.mtu;
	l->peer.paths = l->mtu.there;
	l->by_inc = l->peer.paths;
	pe->begun = *in & 1;
	pe->ps.used = *in >> 1 & 3;
	l->syncs = *in >> 4 & 3;
	pe->line[OAE_PATH_OWN] = *in++ >> 6;
	pe->ps.asked = pe->ps.used;
	pe->ps.home = *in & 3;
	pe->ps.other = *in >> 2 & 3;
	pe->ps.leave_at = *in >> 4 & 1 ? M_NOW : 0;
	pe->ps.limit = *in++ >> 5;
	memset(&pe->ps.count, 0, sizeof(pe->ps.count));
	pe->ps.inc = l->inc;
	pe->ps.down = l->down;
	pe->ps.peer_inc = l->peer.inc;
	for (i = 0; i < w->sc->lines; i++, in += LINE_BYTES) {
		struct oae_path *p = &pe->ps.path[i];

		if (!(in[0] & 1))
			continue;
		pe->line[i] = in[0] >> 5;
		p->there = true;
		p->up = in[0] >> 1 & 1;
		p->proven = in[0] >> 2 & 1;
		p->good = in[0] >> 3 & 1;
		p->rtt = in[0] >> 4 & 1;
		p->heard = ltag_named(in[1]);
		p->far = mtu_coded(in[2]);
		p->pmtu = in[2] >> 2 ? M_MTU_NARROW : 0;
		p->mtu = m_line_mtu(w, e, pe->line[i]);
		p->via = m_line_via(w, pe->line[i]);
		p->rank = m_line_rank(w, e, pe->line[i]);
	}
	return in;
}

static u8 *pack_lane(const struct oae_link *l, u32 i, u8 *out)
{
	const struct oae_lane *n = oae_lane(l, l->tx + i);
	bool there = i <= (l->pair ? l->npairs : 1u);

	memset(out, 0, LANE_BYTES);
	if (there) {
		if (i <= l->nlanes) {
			out[0] = n->state << 1 | n->due << 4 | n->again << 7;
			out[1] = n->doubt | n->offered << 1 | (n->p.kind == OAE_VOID) << 2 |
				 n->sent << 3 | n->resume << 6 | n->ready << 7;
			out[2] = (uintptr_t)n->p.handle;
			out[3] = n->p.nslices | (!n->recalled ? 0 :
				 n->recalled == OAE_RECALL_BACK ? 2 : 1) << 4;
		}
		if (i <= l->naside)
			out[4] = (uintptr_t)oae_aside(l, i - 1)->handle;
	}
	return out + LANE_BYTES;
}

static u8 *pack_hold(const struct m_world *w, const struct m_end *e, u32 i, u8 *out)
{
	const struct oae_link *l = &e->link;
	u32 seq = l->rx + i;
	const struct oae_hold *h = oae_hold_of(l, seq);
	unsigned int k, n = HOLD_BYTES + slots(w->sc);
	bool there = i <= (l->pair ? l->npairs : 1u);
	bool whole = h->state == OAE_HOLD_HELD || h->state == OAE_HOLD_WAITS;
	bool refused = h->state == OAE_HOLD_REFUSED;

	memset(out, 0, n);
	if (!there)
		return out + n;
	out[0] = h->state | h->nslices << 3 | (h->have && h->express) << 7;
	out[1] = (refused ? h->reason : 0) | (h->have || oae_hold_begun(h) ? h->kind : 0) << 4;
	k = whole ? m_digest(h->digest) : 0;
	out[2] = k >> 8;
	out[3] = k;
	out[4] = h->have & 1 ? h->first : 0;
	out[5] = h->have | (refused && h->said) << 7;
	if (h->state == OAE_HOLD_HELD && h->kind == OAE_VERB)
		out[6] = e->answer[h_lane(seq)];
	for (k = 0; k < slots(w->sc); k++)
		out[HOLD_BYTES + k] = e->slot[h_lane(seq)][k];
	return out + n;
}

/* The place of an express at rx. */
static struct oae_hold *last_hold(const struct oae_link *l)
{
	return oae_hold_of(l, l->pair ? l->rx : l->rx + 1);
}

/* The window, and the numbers in it. */
static u8 *pack_window(const struct m_world *w, const struct m_end *e, u8 *out)
{
	const struct oae_link *l = &e->link;
	const struct oae_hold *last = last_hold(l);
	unsigned int i, k;

	*out++ = (l->pair ? 1 : 0) | l->lacking << 1 | l->more << 2 | l->nlanes << 4;
	*out++ = l->given | l->naside << 4;
	*out++ = l->window | l->win << 3 | (l->heard.window & 7) << 6;
	*out++ = (u8)(l->peer.rx - l->tx);
	*out++ = (u8)(l->done_seq - l->tx);
	*out++ = (l->heard.window >> 2) << 7;
	k = l->last_express && last->digest ? m_digest(last->digest) : 0;
	*out++ = k;
	*out++ = k >> 8;
	*out++ = k ? last->first : 0;
	for (i = 1; i <= numbers(w->sc); i++) {
		out = pack_lane(l, i, out);
		out = pack_hold(w, e, i, out);
	}
	return w->sc->rcvbuf ? m_credit_pack(l, out) : out;
}

static u8 *pack_end(struct naming *s, const struct m_world *w,
		    unsigned int who, u8 *out)
{
	const struct m_end *e = &w->end[who];
	const struct oae_link *l = &e->link;
	u32 start = w->sc->start;

	*out++ = e->tag | e->narrow << 1 | e->single << 2 | e->renamed << 3 |
		 e->word_busy << 4 | e->word_wanted << 5;
	*out++ = e->owes_unconfirmed | e->owes_held_lost << 4;
	*out++ = e->unread | e->word << 4;
	if (!e->tag)
		return out;
	*out++ = name_ltag(s, who, l->ltag);
	*out++ = name_ltag(s, !who, l->peer.ltag);
	*out++ = name_inc(s, who, l->inc);
	*out++ = name_inc(s, !who, l->peer.inc);
	*out++ = name_inc(s, !who, l->heard.inc);
	*out++ = mtu_code(l->heard.mtu) | mtu_code(l->mtu.here) << 2 |
		 mtu_code(l->mtu.there) << 4 |
		 mtu_code(l->mtu.most ? l->mtu.most + OAE_HDR_LEN : 0) << 6;
	*out++ = l->tx - start;
	*out++ = l->rx - start;
	*out++ = l->state | l->down << 2 | l->closing << 3 |
		 l->close_sent << 4 | l->peer.closing << 6;
	*out++ = l->await_done | l->last_express << 1 | l->ready_due << 2 |
		 !!l->asked_at << 3 | !!l->settle_until << 4 | l->wanted << 5 |
		 (l->mtu.path ? 1 : 0) << 6 | !!l->mtu.too_long_at << 7;
	*out++ = (l->next_valid ? (uintptr_t)l->next.handle : 0) |
		 (uintptr_t)l->swaps->half.handle << 4;
	*out++ = l->half.state | l->half.crossed << 3 | l->half.turn << 4 |
		 !!l->swaps->cancelled << 5 | l->unseen << 6;
	*out++ = l->timer.asks;
	out = pack_window(w, e, out);
	if (w->sc->lines)
		out = pack_paths(s, w, who, out);
	return w->sc->ways ? pack_way(e, out) : out;
}

static void unpack_lane(struct m_world *w, struct oae_link *l, u32 i, const u8 *in)
{
	struct oae_lane *n = oae_lane(l, l->tx + i);

	if (i > (l->pair ? l->npairs : 1u))
		return;
	memset(n, 0, sizeof(*n));
	if (i <= l->nlanes) {
		n->state = in[0] >> 1 & 7;
		n->due = in[0] >> 4 & 7;
		n->again = in[0] >> 7;
		n->doubt = in[1] & 1;
		n->offered = in[1] >> 1 & 1;
		n->sent = in[1] >> 3 & 7;
		n->resume = in[1] >> 6 & 1;
		n->ready = in[1] >> 7;
		n->recalled = in[3] >> 4 == 2 ? OAE_RECALL_BACK : in[3] >> 4 ? OAE_E_SIGNAL : 0;
		if (in[1] >> 2 & 1)
			m_fill_void(w, in[2], &n->p);
		else
			m_fill_post(w, in[2], &n->p);
		n->p.nslices = in[3] & 15;
		l->nparked += n->state == OAE_OFFER_PARKED;
		l->ndue += !!n->due;
		l->nvoid += n->p.kind == OAE_VOID && !n->recalled &&
			    n->state != OAE_OFFER_REFLECTED;
	}
	if (in[4])
		m_fill_post(w, in[4], oae_aside(l, i - 1));
}

static void unpack_hold(struct m_world *w, struct m_end *e, u32 i, const u8 *in)
{
	struct oae_link *l = &e->link;
	u32 seq = l->rx + i;
	struct oae_hold *h = oae_hold_of(l, seq);
	unsigned int k;
	u8 *slot = e->slot[h_lane(seq)];

	if (i > (l->pair ? l->npairs : 1u))
		return;
	memset(h, 0, sizeof(*h));
	h->state = in[0] & 7;
	h->nslices = in[0] >> 3 & 7;
	h->express = in[0] >> 7;
	h->reason = in[1] & 15;
	h->kind = in[1] >> 4;
	h->digest = m_digest_value(in[2] << 8 | in[3]);
	h->first = in[4];
	h->have = in[5] & 127;
	h->said = in[5] >> 7;
	for (k = 0; k < slots(w->sc); k++) {
		slot[k] = in[HOLD_BYTES + k];
		if (!slot[k])
			continue;
		h->len += M_LEN / M_PIECE_N(slot[k]);
	}
	if (h->state == OAE_HOLD_HELD && h->kind == OAE_SWAP)
		h->reply = M_LEN;
	if (h->state == OAE_HOLD_HELD && h->kind == OAE_VERB) {
		h->reply = M_ANSWER;
		e->computed |= 1ULL << h_lane(seq);
	}
	e->answer[h_lane(seq)] = in[6];
	l->nheld += h->state == OAE_HOLD_HELD;
	l->nwait += h->state == OAE_HOLD_WAITS;
}

static const u8 *unpack_window(struct m_world *w, unsigned int who, const u8 *in)
{
	struct m_end *e = &w->end[who];
	struct oae_link *l = &e->link;
	struct oae_hold *h;
	unsigned int i;
	u16 last;
	u8 first;

	if (in[0] & 1) {
		l->pair = e->pairs;
		l->npairs = H_LANES;
	}
	m_fix(w);
	l->lacking = in[0] >> 1 & 1;
	l->more = in[0] >> 2 & 1;
	l->nlanes = in[0] >> 4;
	l->given = in[1] & 15;
	l->naside = in[1] >> 4;
	l->window = in[2] & 7;
	l->win = in[2] >> 3 & 7;
	l->heard.window = in[2] >> 6 | in[5] >> 7 << 2;
	l->peer.rx = l->tx + (s32)(int8_t)in[3];
	l->done_seq = l->tx + (s32)(int8_t)in[4];
	last = in[6] | in[7] << 8;
	first = in[8];
	in += 9;
	for (i = 1; i <= numbers(w->sc); i++) {
		unpack_lane(w, l, i, in);
		in += LANE_BYTES;
		unpack_hold(w, e, i, in);
		in += HOLD_BYTES + slots(w->sc);
	}
	in = m_credit_unpack(w->sc, l, in);
	if (!last)
		return in;
	h = last_hold(l);
	h->digest = m_digest_value(last);
	h->first = first;
	return in;
}

static void unpack_link(struct m_world *w, unsigned int who, const u8 *in)
{
	struct m_end *e = &w->end[who];
	struct oae_link *l = &e->link;
	u32 start = w->sc->start;

	l->ltag = ltag_named(*in++);
	l->peer.ltag = ltag_named(*in++);
	l->inc = *in++;
	l->peer.inc = *in++;
	l->heard.inc = *in++;
	l->heard.mtu = mtu_coded(*in & 3);
	l->heard.max_len = l->heard.mtu ? l->cfg->max_len : 0;
	l->heard.start = l->heard.mtu ? start : 0;
	l->mtu.here = mtu_coded(*in >> 2 & 3);
	l->mtu.there = mtu_coded(*in >> 4 & 3);
	l->mtu.most = mtu_coded(*in++ >> 6);
	l->mtu.most -= l->mtu.most ? OAE_HDR_LEN : 0;
	l->peer.max_len = l->mtu.there ? l->cfg->max_len : 0;
	l->tx = start + (s32)(int8_t)*in++;
	l->rx = start + (s32)(int8_t)*in++;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	l->state = *in & 3;
	l->down = *in >> 2 & 1;
	l->closing = *in >> 3 & 1;
	l->close_sent = *in >> 4 & 3;
	l->peer.closing = *in++ >> 6;
	l->await_done = *in & 1;
	l->last_express = *in >> 1 & 1;
	l->ready_due = *in >> 2 & 1;
	l->asked_at = *in >> 3 & 1 ? M_NOW : 0;
	l->settle_until = *in >> 4 & 1;
	l->wanted = *in >> 5 & 1;
	l->mtu.path = *in >> 6 & 1 ? M_MTU_NARROW : 0;
	l->mtu.too_long_at = *in++ >> 7 ? M_NOW : 0;
	l->next_valid = *in & 15;
	if (l->next_valid)
		m_fill_post(w, *in & 15, &l->next);
	if (*in >> 4)
		m_fill_post(w, *in >> 4, &l->swaps->half);
	in++;
	l->half.state = *in & 7;
	l->half.crossed = *in >> 3 & 1;
	l->half.turn = *in >> 4 & 1;
	l->swaps->cancelled = *in >> 5 & 1 ? OAE_E_SIGNAL : 0;
	l->unseen = *in++ >> 6 & 1;
	l->timer.asks = *in++;
	in = unpack_window(w, who, in);
	if (w->sc->lines)
		in = unpack_paths(w, e, in);
	if (w->sc->ways)
		unpack_way(e, in);
	m_reduce_link(w->sc, l);
}

static u8 *pack_txs(struct naming *s, const struct m_world *w, u8 *out)
{
	unsigned int i;

	*out++ = w->ntx | w->shrink << 4;
	*out++ = w->posted[A] | w->posted[B] << 4;
	*out++ = w->crash | w->kill << 2 | w->close << 4 | w->rename << 6;
	*out++ = w->mtu | w->cut << 2 | w->conflict << 4 | w->refuse << 6;
	if (w->sc->ways)
		*out++ = w->end[A].gw.known | w->end[B].gw.known << 1 |
			 w->leave << 2;
	if (w->sc->lines)
		*out++ = w->end[A].unplugged | w->end[B].unplugged << 3 | w->carrier << 6;
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

	w->ntx = *in & 15;
	w->shrink = *in++ >> 4;
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
	if (w->sc->lines) {
		w->end[A].unplugged = *in & 7;
		w->end[B].unplugged = *in >> 3 & 7;
		w->carrier = *in++ >> 6;
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
		tx->len = m_len(w->sc, i + 1);
		tx->next = 0;
		/* It was given back, and waits behind those that were given back before. */
		if (!tx->at_link && !tx->ended && !tx->lost)
			m_queue(w, i + 1);
	}
	return in;
}

/**
 * m_pack() - the bytes of a state; its frames change places on the way
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

	m_fix(w);
	for (i = A; i <= B; i++) {
		s.ltag[i].n = 0;
		s.inc[i].n = 0;
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
		e->single = *in >> 2 & 1;
		e->renamed = *in >> 3 & 1;
		e->word_busy = *in >> 4 & 1;
		e->word_wanted = *in++ >> 5 & 1;
		e->owes_unconfirmed = *in & 15;
		e->owes_held_lost = *in++ >> 4;
		e->unread = *in & 15;
		e->word = *in++ >> 4;
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
