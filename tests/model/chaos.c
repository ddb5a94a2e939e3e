// SPDX-License-Identifier: GPL-2.0
/*
 * From any state at all back to a legal one (G5): both ends begin anywhere,
 * frames of any kind are in flight, and in fair weather they must find back,
 * settle what there is, and be a link again.
 *
 * What the state means: transaction k of an end is committed there if its tx is
 * k or more, offered if it is tx + 1; delivered at the other end if rx is k or
 * more, held if it is rx + 1. So it may well say that one was committed and
 * never delivered. That cannot be undone; but then a user must have been told:
 * UNKNOWN, broken, peer_new, held_lost or unconfirmed. A half that is not what
 * is offered is a transaction of its own, after all those.
 */
#include <stdlib.h>
#include <xxhash.h>
#include "model.h"

#define EACH		4	/* transactions that each end may know of */
#define PATIENCE	400	/* events until the end, or there is none */

static const struct m_scenario chaos = {
	.name = "chaos", .posts = { "", "" }, .cap = M_CAP, .slices = 1,
};

static const struct m_scenario chaos_dice = {
	.name = "chaos-dice", .posts = { "es", "es" }, .cap = M_CAP, .slices = 1,
	.dup = true, .cancel = true, .dead = true, .probe = true, .port = true,
};

/* What an end is made of. */
struct part {
	bool tag;
	u8 state;		/* 0 SYNC_SENT, 1 SYNC_RECD, 2 OPEN */
	u8 peer_ltag;		/* 0 the peer's, 1 an old one, 2 none */
	u8 peer_inc;		/* likewise */
	u8 heard;		/* likewise */
	u8 tx, rx;
	u8 offer;		/* see offers[] */
	u8 hold;		/* see holds[] */
	u8 hold_kind;		/* enum oae_kind, if its sender does not say */
	u8 half;		/* not offered, not lent: 0 none, 1 posted, 2 waiting */
	bool next;
	u8 close_sent, peer_closing;	/* enum oae_closing */
	bool confirmed, await_done, last_express, closing;
	bool down, asked, ready_due, crossed, turn;
	bool aside, unwanted;
	u8 void_in;		/* 1 the offer is recalled, 2 to be posted again */
	bool said;
	/* Of the initiator and the timer, all of them any number. */
	u8 due, asks, reflects;
	bool resume, offered;
	u64 sent;
};

static const struct {
	u8 kind, flags, state;
} offers[] = {
	{ OAE_MESSAGE, 0, OAE_OFFER_NONE },
	{ OAE_MESSAGE, 0, OAE_OFFER_OUT },
	{ OAE_MESSAGE, OAE_POST_EXPRESS, OAE_OFFER_OUT },
	{ OAE_MESSAGE, 0, OAE_OFFER_PARKED },
	{ OAE_SWAP, 0, OAE_OFFER_OUT },
	{ OAE_VERB, 0, OAE_OFFER_OUT },
	{ OAE_VERB, 0, OAE_OFFER_PARKED },
	{ OAE_MESSAGE, OAE_POST_EXPRESS, OAE_OFFER_PARKED },
};

#define OFFERS		8
#define OFFER_HALF	4
#define OFFER_VERB	5

static const u8 holds[] = {
	OAE_HOLD_NONE, OAE_HOLD_HELD, OAE_HOLD_HELD, OAE_HOLD_REFUSED,
	OAE_HOLD_KEPT,
};

#define HOLDS		5

static u8 id_of(unsigned int from, unsigned int k)
{
	return 1 + from * EACH + k - 1;
}

static u8 half_id_of(unsigned int who)
{
	return 1 + 2 * EACH + who;
}

static u32 some_ltag(u8 which, u32 current, unsigned int whose)
{
	return which == 2 ? 0 : which == 1 ? 50 + whose : current;
}

/* What is held was offered by the other end, unless that knows better. */
static u8 kind_held(struct m_world *w, u8 id, u8 kind)
{
	struct m_tx *tx = &w->tx[id - 1];

	if (!tx->at_link)
		tx->kind = kind;
	return tx->kind;
}

/* The half that this end has, if that is not what it offers. */
static void a_half(struct m_world *w, unsigned int who, const struct part *p,
		   bool lent)
{
	struct oae_link *l = &w->end[who].link;
	u8 id = half_id_of(who);
	struct m_tx *tx = &w->tx[id - 1];

	tx->at_link = true;
	m_fill_post(w, id, &l->swaps->half);
	if (!lent) {
		l->half.state = p->half == 1 ? OAE_HALF_POSTED : OAE_HALF_WAITING;
		return;
	}
	l->half.state = OAE_HALF_LENT;
	tx->lent = true;
	tx->offered_to = l->peer.inc;
	tx->unwanted = p->unwanted;
	l->swaps->cancelled = p->unwanted ? OAE_E_SIGNAL : 0;
	/* The other end has committed what is held, and so has taken this. */
	tx->delivered = w->tx[id_of(!who, p->rx + 1) - 1].ended;
}

static void a_hold(struct m_world *w, unsigned int who, const struct part *p)
{
	struct m_end *e = &w->end[who];
	struct oae_link *l = &e->link;
	u8 id = id_of(!who, p->rx + 1);

	l->hold.state = holds[p->hold];
	l->hold.said = p->said;
	l->hold.reason = OAE_R_BUSY;
	l->hold.digest = m_whole(id, 1);
	l->hold.first = id;
	if (l->hold.state != OAE_HOLD_HELD && l->hold.state != OAE_HOLD_KEPT)
		return;
	e->slot[h_lane(l->rx + 1)][0] = M_PIECE(id, 1);
	l->hold.have = 1;
	l->hold.nslices = 1;
	l->hold.len = M_LEN;
	if (l->hold.state != OAE_HOLD_HELD)
		return;
	l->nheld = 1;
	l->hold.kind = kind_held(w, id, p->hold_kind);
	/* Nothing can be lent by who offers its half, and it cannot be held. */
	if (l->hold.kind == OAE_SWAP && offers[p->offer].kind == OAE_SWAP) {
		memset(e->slot, 0, sizeof(e->slot));
		memset(&l->hold, 0, sizeof(l->hold));
		l->nheld = 0;
		return;
	}
	if (l->hold.kind == OAE_VERB)
		e->computed = 1ULL << h_lane(l->rx + 1);
	if (l->hold.kind == OAE_SWAP)
		a_half(w, who, p, true);
	l->hold.reply = l->hold.kind == OAE_SWAP ? M_LEN :
			l->hold.kind == OAE_VERB ? M_ANSWER : 0;
}

/* Nothing took the place of what is offered: of an express that is still to be decided. */
static void a_void(struct m_world *w, unsigned int who, u8 id, const struct part *p)
{
	struct oae_link *l = &w->end[who].link;
	bool express = offers[p->offer].flags & OAE_POST_EXPRESS;

	if (!p->void_in || offers[p->offer].kind == OAE_SWAP || (!express && p->state != 2))
		return;
	m_fill_void(w, express ? id : 0, &l->offer.p);
	l->nvoid = !express;
	l->nparked = 0;
	l->offer.state = OAE_OFFER_OUT;
	if (express) {
		l->offer.recalled = p->void_in == 1 ? OAE_E_SIGNAL : OAE_RECALL_BACK;
		return;
	}
	w->tx[id - 1].at_link = false;
	w->tx[id - 1].ended = true;
	w->tx[id - 1].outcome = OAE_REVERSED;
}

static void an_end(struct m_world *w, unsigned int who, const struct part *p)
{
	struct m_end *e = &w->end[who];
	struct oae_link *l = &e->link;
	u8 id = id_of(who, p->tx + 1);

	if (!p->tag)
		return;
	e->tag = true;
	l->state = OAE_SYNC_SENT + p->state;
	l->ltag = 10 + who;
	l->peer.ltag = some_ltag(p->peer_ltag, 10 + !who, !who);
	l->inc = 20 + who;
	l->peer.inc = some_ltag(p->peer_inc, 20 + !who, !who);
	l->heard.inc = some_ltag(p->heard, 20 + !who, !who);
	l->heard.mtu = M_MTU_WIDE;
	l->heard.max_len = l->cfg->max_len;
	l->mtu.there = M_MTU_WIDE;
	l->peer.max_len = l->cfg->max_len;
	l->tx = p->tx;
	l->rx = p->rx;
	l->peer.rx = l->tx - !p->confirmed;
	l->await_done = p->await_done;
	l->last_express = p->last_express;
	l->closing = p->closing;
	l->close_sent = p->close_sent;
	l->peer.closing = p->peer_closing;
	l->down = p->down;
	l->asked_at = p->asked || p->state != 2;
	l->ready_due = p->ready_due;
	l->timer.asks = p->asks;
	l->timer.reflects = p->reflects;
	l->half.turn = p->turn;
	if (p->offer) {
		w->tx[id - 1].kind = offers[p->offer].kind;
		w->tx[id - 1].flags = offers[p->offer].flags;
		w->tx[id - 1].at_link = true;
		w->tx[id - 1].offered = offers[p->offer].kind != OAE_SWAP;
		w->tx[id - 1].offered_to = l->peer.inc;
		m_fill_post(w, id, &l->offer.p);
		l->offer.state = offers[p->offer].state;
		l->offer.again = true;
		l->nlanes = 1;
		l->given = 1;
		l->nparked = l->offer.state == OAE_OFFER_PARKED;
		l->offer.due = p->due;
		l->ndue = !!p->due;
		l->offer.resume = p->resume;
		l->offer.sent = p->sent;
		l->offer.offered = p->offered;
		a_void(w, who, id, p);
	}
	if (offers[p->offer].kind == OAE_SWAP) {
		l->swaps->half = l->offer.p;
		l->half.state = OAE_HALF_OFFERED;
		l->half.crossed = p->crossed;
		if (p->aside && !p->next) {
			w->tx[id].at_link = true;
			m_fill_post(w, id + 1, &l->swaps->aside);
			l->naside = 1;
		}
	}
	if (p->next) {
		w->tx[id].at_link = true;
		m_fill_post(w, id + 1, &l->next);
		l->next_valid = true;
	}
}

/* What is committed and delivered, by what both ends say. */
static void histories(struct m_world *w, const struct part p[2])
{
	unsigned int from, k;

	for (from = A; from <= B; from++) {
		for (k = 1; k <= EACH; k++) {
			struct m_tx *tx = &w->tx[id_of(from, k) - 1];

			memset(tx, 0, sizeof(*tx));
			tx->from = from;
			tx->n = 1;
			tx->len = M_LEN;
			if (p[from].tag && k <= p[from].tx) {
				tx->ended = true;
				tx->outcome = OAE_COMMITTED;
				w->end[from].committed = id_of(from, k);
			}
			tx->delivered = p[!from].tag && k <= p[!from].rx;
		}
		w->tx[half_id_of(from) - 1] = (struct m_tx){
			.from = from, .kind = OAE_SWAP, .n = 1, .len = M_LEN,
		};
	}
}

static void begin(struct m_world *w, const struct m_scenario *sc,
		  const struct part p[2])
{
	unsigned int i;

	m_random_from(1000);
	m_init(w, sc);
	w->arbitrary = true;
	w->ntx = 2 * EACH + 2;
	histories(w, p);
	for (i = A; i <= B; i++)
		an_end(w, i, &p[i]);
	/* Of a kind that its sender says. */
	for (i = A; i <= B; i++) {
		if (!p[i].tag)
			continue;
		a_hold(w, i, &p[i]);
		if (p[i].half && w->end[i].link.half.state == OAE_HALF_NONE)
			a_half(w, i, &p[i], false);
	}
	for (i = A; i <= B; i++)
		m_credit_unpack(sc, &w->end[i].link, NULL);
	m_reduce(w);
}

/* While a story is told, so many steps of it. */
static FILE *told;
static unsigned int left;

static void step(struct m_world *w, u16 act)
{
	if (told && left && left--)
		m_tell_step(w, act, told);
	else
		m_step(w, act);
}

static u64 dice;

static unsigned int upto(unsigned int n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice * 0x2545f4914f6cdd1dULL >> 33) % n;
}

/* So many events, any that may be. */
static void weather(struct m_world *w, unsigned int n)
{
	u16 acts[M_ACTS];
	unsigned int i;

	for (; n; n--) {
		i = m_enabled(w, acts);
		if (!i)
			return;
		step(w, acts[upto(i)]);
		m_reduce(w);
	}
}

static void settle(struct m_world *w, struct m_chaos *r)
{
	unsigned int steps;
	int act;

	for (steps = 0; (act = m_fair(w)) >= 0; steps++) {
		if (steps == PATIENCE) {
			m_fail(w, 0, "G5: no way back to a legal state");
			return;
		}
		step(w, act);
		m_reduce(w);
	}
	r->steps += steps;
	if (steps > r->worst)
		r->worst = steps;
}

/* Each transaction: one outcome, and what broke a promise was reported. */
static void judge(struct m_world *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		const struct m_tx *tx = &w->tx[i];

		if (tx->at_link && (tx->kind != OAE_SWAP || m_half_of(w, !tx->from)))
			m_fail(w, i + 1, "G3: has no outcome in the end");
		if (tx->ended && tx->outcome == OAE_COMMITTED &&
		    !tx->delivered && !tx->excused)
			m_fail(w, i + 1, "G2: committed and never delivered");
	}
}

/*
 * A half that waits for one starts afresh: what the state said of it, delivered
 * or given up, was reported if it was wrong. Those that have ended may have any
 * number.
 */
static void halves_afresh(struct m_world *w, bool wrong)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		if (w->tx[i].kind != OAE_SWAP || (w->tx[i].at_link && !wrong))
			continue;
		w->tx[i].excused = false;
		w->tx[i].delivered = false;
	}
}

/* What the state said to be committed, and was never delivered, was reported. */
static void never_delivered(struct m_world *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++)
		if (w->tx[i].ended && w->tx[i].outcome == OAE_COMMITTED && !w->tx[i].delivered)
			w->tx[i].excused = true;
}

/* Find back, ask each other once (an idle end does in time), and be a link. */
static void recover(struct m_world *w, struct m_chaos *r, bool lies)
{
	unsigned int who;

	settle(w, r);
	for (who = A; who <= B; who++) {
		if (!w->end[who].tag)
			continue;
		step(w, M_ACT(M_AGAIN, who, 0));
		settle(w, r);
	}
	judge(w);
	r->runs++;
	/* If frames lie, so may outcomes, until the ends have found back. */
	if (w->why && m_breach(w->why) && (w->reported || lies)) {
		r->reported++;
		w->why = NULL;
	}
	if (w->why)
		return;
	halves_afresh(w, w->reported || lies);
	w->arbitrary = false;
	never_delivered(w);
	m_prove(w, NULL);
}

static void tell(struct m_world *w, unsigned int any, bool lies,
		 FILE *out)
{
	struct m_chaos ignore = { 0 };

	told = out;
	left = 40;
	m_tell_world(w, out);
	weather(w, any);
	recover(w, &ignore, lies);
	told = NULL;
}

/* Some events by dice, then fair weather. */
static bool one(struct m_world *w, struct m_chaos *r, unsigned int any,
		bool lies, FILE *out)
{
	static struct m_world first;
	u64 before = dice;

	first = *w;
	weather(w, any);
	recover(w, r, lies);
	if (!w->why)
		return true;
	fprintf(out, "VIOLATION from an arbitrary state: %s\n",
		m_words(w->why, w->why_id));
	r->violated = true;
	m_random_from(1000);
	dice = before;
	tell(&first, any, lies, out);
	return false;
}

/* The digits of a number, to bases that may differ. */
static unsigned int digit(unsigned long *n, unsigned int base)
{
	unsigned int d = *n % base;

	*n /= base;
	return d;
}

/* End number n of those within a bound; false if there is none. */
static bool part_of(unsigned long n, unsigned int bound, struct part *p)
{
	memset(p, 0, sizeof(*p));
	if (!n--)
		return true;
	p->tag = true;
	p->state = digit(&n, 3);
	p->peer_ltag = digit(&n, 2);
	p->peer_inc = digit(&n, bound > 0 ? 3 : 2);
	p->heard = p->peer_inc;
	p->tx = digit(&n, bound > 1 ? 3 : 2);
	p->rx = digit(&n, bound > 1 ? 3 : 2);
	p->offer = digit(&n, 3);
	p->hold = digit(&n, 2);
	p->confirmed = bound > 0 ? digit(&n, 2) : true;
	p->closing = bound > 0 ? digit(&n, 2) : false;
	p->last_express = bound > 1 ? digit(&n, 2) : false;
	return !n;
}

/* The same, of halves and verbs. */
static bool kinds_of(unsigned long n, unsigned int bound, struct part *p)
{
	static const u8 some[] = { 0, OFFER_HALF, OFFER_VERB };

	memset(p, 0, sizeof(*p));
	if (!n--)
		return true;
	p->tag = true;
	p->state = digit(&n, 3);
	p->tx = digit(&n, 2);
	p->rx = digit(&n, 2);
	p->offer = some[digit(&n, 3)];
	p->hold_kind = digit(&n, 3);
	p->hold = p->hold_kind ? 1 : 0;
	p->half = digit(&n, bound > 0 ? 3 : 2);
	p->peer_ltag = bound > 0 ? digit(&n, 2) : 0;
	p->peer_inc = digit(&n, bound > 0 ? 3 : 2);
	p->heard = p->peer_inc;
	p->confirmed = true;
	return !n;
}

static struct m_chaos all_pairs(bool (*part)(unsigned long n,
					     unsigned int bound,
					     struct part *p),
				unsigned int bound, FILE *out)
{
	struct m_chaos r = { 0 };
	static struct m_world w;
	struct part p[2];
	unsigned long i, j;

	for (i = 0; part(i, bound, &p[A]); i++) {
		/* The two ends are alike. */
		for (j = 0; j <= i && part(j, bound, &p[B]); j++) {
			begin(&w, &chaos, p);
			if (!one(&w, &r, 0, false, out))
				return r;
		}
	}
	return r;
}

/**
 * m_chaos_kinds() - each pair of ends with halves and verbs
 * @out: where a violation is told
 *
 * Return: what was seen.
 */
struct m_chaos m_chaos_kinds(FILE *out)
{
	return all_pairs(kinds_of, 1, out);
}

/**
 * m_chaos_all() - each pair of ends within a bound
 * @bound: 0 to 2
 * @out: where a violation is told
 *
 * Return: what was seen.
 */
struct m_chaos m_chaos_all(unsigned int bound, FILE *out)
{
	return all_pairs(part_of, bound, out);
}

/* --- frames in flight ------------------------------------------------------------- */

static const u8 opcodes[] = {
	OAE_SYNC, OAE_SYNC_ACK, OAE_SYNC_CHK, OAE_CLOSE, OAE_CLOSE_ACK,
	OAE_OFFER, OAE_REFLECT, OAE_COMMIT, OAE_REFUSE, OAE_READY,
	OAE_DONE, OAE_NOLINK, OAE_ASK, OAE_ACK,
};

/* What a frame to an end says. */
struct saying {
	u8 opcode, flags, kind, reason, have;
	u8 tx, rx, seq;
	bool old_src, old_dst, old_inc, old_peer_inc, no_answer;
};

static u64 void_digest(void)
{
	u64 hash = oae_slice_hash("", 0, 0);

	return oae_whole_digest(&hash, 1);
}

static struct m_frame a_frame(unsigned int to, const struct saying *s)
{
	struct m_frame f;
	u8 id;

	memset(&f, 0, sizeof(f));
	f.opcode = s->opcode;
	f.flags = s->flags;
	f.src = some_ltag(s->old_src, 10 + !to, !to);
	f.dst = some_ltag(s->old_dst, 10 + to, to);
	f.tx = s->tx;
	f.rx = s->rx;
	f.grant = M_PLENTY;
	if (m_is_sync(f.opcode)) {
		f.inc = some_ltag(s->old_inc, 20 + !to, !to);
		f.peer_inc = some_ltag(s->old_peer_inc, 20 + to, to);
		f.mtu = M_MTU_WIDE;
		return f;
	}
	f.seq = s->seq;
	if (f.opcode == OAE_OFFER) {
		f.kind = s->kind;
		if (s->kind != OAE_MESSAGE)
			f.flags = 0;
		f.flags |= OAE_F_LAST;
		f.marks = s->no_answer ? 0 : OAE_M_ANSWER;
		f.piece = M_PIECE(id_of(!to, s->seq), 1);
	} else if (f.opcode == OAE_REFLECT) {
		id = id_of(to, s->seq);
		f.digest = m_digest(s->kind == OAE_VOID ? void_digest() : m_whole(id, 1));
		f.first = s->kind == OAE_VOID ? 0 : id;
		f.kind = s->kind;
		f.reply = s->kind == OAE_SWAP ? half_id_of(!to) : s->kind == OAE_VERB;
	} else if (f.opcode == OAE_REFUSE) {
		f.reason = s->reason;
		f.kind = s->kind;
	} else if (f.opcode == OAE_ASK || f.opcode == OAE_ACK) {
		f.kind = s->kind;
		f.have = f.opcode == OAE_ACK ? s->have : 0;
	}
	return f;
}

/* Saying number n; false if there is none. */
static bool saying_of(unsigned long n, struct saying *s)
{
	memset(s, 0, sizeof(*s));
	s->reason = OAE_R_BUSY;
	s->opcode = opcodes[digit(&n, sizeof(opcodes))];
	s->tx = digit(&n, 2);
	s->rx = digit(&n, 2);
	s->old_src = digit(&n, 2);
	s->old_dst = digit(&n, 2);
	if (m_is_sync(s->opcode)) {
		s->old_inc = digit(&n, 2);
		s->old_peer_inc = digit(&n, 2);
	} else {
		s->seq = 1 + digit(&n, 2);
		s->flags = digit(&n, 2) ? OAE_F_EXPRESS | OAE_F_WANT_DONE : 0;
	}
	return !n;
}

/* The same, of what halves and verbs are about. */
static bool kind_saying_of(unsigned long n, struct saying *s)
{
	static const u8 about[] = {
		OAE_OFFER, OAE_REFLECT, OAE_REFUSE, OAE_ASK, OAE_ACK,
	};
	static const u8 reasons[] = { 0, OAE_R_NO_HALF, OAE_R_CONFLICT, OAE_R_BUSY };

	memset(s, 0, sizeof(*s));
	s->opcode = about[digit(&n, sizeof(about))];
	s->kind = 1 + digit(&n, 3);
	s->reason = reasons[s->kind];
	s->tx = digit(&n, 2);
	s->rx = digit(&n, 2);
	s->seq = 1 + digit(&n, 2);
	return !n;
}

/**
 * m_chaos_kind_frames() - each pair of ends with halves and verbs, and a frame
 * @out: where a violation is told
 *
 * Return: what was seen.
 */
struct m_chaos m_chaos_kind_frames(FILE *out)
{
	struct m_chaos r = { 0 };
	static struct m_world w;
	struct saying s;
	struct part p[2];
	unsigned long i, j, k;

	for (i = 0; kinds_of(i, 0, &p[A]); i++) {
		for (j = 0; kinds_of(j, 0, &p[B]); j++) {
			for (k = 0; kind_saying_of(k, &s); k++) {
				begin(&w, &chaos, p);
				w.to[B].f[w.to[B].n++] = a_frame(B, &s);
				m_reduce(&w);
				if (w.to[B].n && !one(&w, &r, 0, true, out))
					return r;
			}
		}
	}
	return r;
}

/**
 * m_chaos_frames() - each pair of ends within the least bound, and a frame
 * @out: where a violation is told
 *
 * The ends know each other's ltags: otherwise the frame is as good as lost.
 *
 * Return: what was seen.
 */
struct m_chaos m_chaos_frames(FILE *out)
{
	struct m_chaos r = { 0 };
	static struct m_world w;
	struct saying s;
	struct part p[2];
	unsigned long i, j, k;

	for (i = 0; part_of(i, 0, &p[A]); i++) {
		for (j = 0; part_of(j, 0, &p[B]); j++) {
			if (p[A].peer_ltag || p[B].peer_ltag)
				continue;
			for (k = 0; saying_of(k, &s); k++) {
				begin(&w, &chaos, p);
				w.to[B].f[w.to[B].n++] = a_frame(B, &s);
				m_reduce(&w);
				if (w.to[B].n && !one(&w, &r, 0, false, out))
					return r;
			}
		}
	}
	return r;
}

/* --- by dice ------------------------------------------------------------------------- */

static void any_part(struct part *p)
{
	memset(p, 0, sizeof(*p));
	p->tag = upto(8);
	p->state = upto(3);
	p->peer_ltag = upto(4) ? 0 : upto(3);
	p->peer_inc = upto(2) ? 0 : upto(3);
	p->heard = upto(2) ? 0 : upto(3);
	p->tx = upto(EACH - 1);
	p->rx = upto(EACH - 1);
	p->offer = upto(2) ? upto(4) : upto(OFFERS);
	p->next = !upto(4);
	p->hold_kind = upto(2) ? OAE_MESSAGE : upto(OAE_VERB + 1);
	p->half = upto(2) ? 0 : upto(3);
	p->crossed = upto(2);
	p->turn = upto(2);
	p->aside = upto(2);
	p->unwanted = !upto(4);
	p->hold = upto(2) ? 0 : upto(HOLDS);
	p->said = upto(2);
	p->void_in = upto(4) ? 0 : 1 + upto(2);
	p->offered = upto(2);
	p->confirmed = upto(2);
	p->await_done = !upto(4);
	p->last_express = upto(2);
	p->closing = !upto(8);
	p->close_sent = upto(8) ? 0 : 1 + upto(2);
	p->peer_closing = upto(8) ? 0 : 1 + upto(2);
	p->down = !upto(8);
	p->asked = upto(2);
	p->ready_due = upto(2);
	p->due = upto(2) ? 0 : upto(OAE_DUE_ASK + 1);
	p->asks = upto(2) ? 0 : upto(256);
	p->reflects = upto(2) ? 0 : upto(256);
	p->resume = upto(2);
	p->sent = upto(4) ? 1 : upto(2) ? upto(4) : 1ULL << upto(64);
}

static void any_frames(struct m_world *w)
{
	unsigned int to, n;
	struct saying s;

	for (to = A; to <= B; to++) {
		for (n = upto(M_CAP + 1); n; n--) {
			s.opcode = opcodes[upto(sizeof(opcodes))];
			s.flags = upto(256) & (OAE_F_EXPRESS | OAE_F_RESUME |
					       OAE_F_WANT_DONE);
			s.kind = upto(2) ? OAE_MESSAGE : upto(OAE_VOID + 1);
			s.reason = upto(2) ? OAE_R_BUSY : upto(2) ?
				   OAE_R_NO_HALF : OAE_R_CONFLICT;
			s.tx = upto(EACH);
			s.rx = upto(EACH);
			s.seq = 1 + upto(EACH);
			s.old_src = !upto(4);
			s.old_dst = !upto(4);
			s.old_inc = !upto(4);
			s.old_peer_inc = !upto(4);
			s.no_answer = !upto(4);
			s.have = upto(4);
			w->to[to].f[w->to[to].n++] = a_frame(to, &s);
		}
	}
}

/**
 * m_chaos_dice() - any ends, any frames, and then any events for a while
 * @runs: how many
 * @seed: of the dice
 * @out: where a violation is told
 *
 * Return: what was seen.
 */
struct m_chaos m_chaos_dice(unsigned long runs, u64 seed, FILE *out)
{
	struct m_chaos r = { 0 };
	static struct m_world w;
	struct part p[2];

	while (r.runs < runs) {
		dice = XXH64(&seed, sizeof(seed), r.runs) | 1;
		any_part(&p[A]);
		any_part(&p[B]);
		begin(&w, &chaos_dice, p);
		any_frames(&w);
		m_reduce(&w);
		if (!one(&w, &r, upto(3) ? upto(40) : 0, true,
			 out)) {
			fprintf(out, "that was number %lu of seed %llu\n",
				r.runs - 1, (unsigned long long)seed);
			break;
		}
	}
	return r;
}
