// SPDX-License-Identifier: GPL-2.0
/* One end of the simulation: the shell around a link. See sim.h. */
#include "sim.h"

/* How long a cookie is good for, at least; at most twice that. */
#define COOKIE_NS	(200 * SIM_MS)

static char name(const struct sim_end *e)
{
	return 'A' + e->who;
}

void sim_end_init(struct sim *w, unsigned int who)
{
	struct sim_end *e = &w->end[who];

	e->w = w;
	e->who = who;
	e->mtu = SIM_MTU_MAX;
	e->port_up = true;
	e->rcvbuf = 8;
	e->cookie_key = sim_rand(w);
	e->cfg.stall_min = 1 * SIM_MS;
	e->cfg.stall_max = 40 * SIM_MS;
	e->cfg.keepalive = 100 * SIM_MS;
	e->cfg.dead = 500 * SIM_MS;
	e->cfg.max_len = SIM_MAX_LEN;
}

static void fill_post(struct sim_tx *tx, struct oae_post *p)
{
	u64 hash[OAE_MAX_SLICES];
	u8 slice[SIM_MTU_MAX];
	u32 off, n, i = 0;

	memset(p, 0, sizeof(*p));
	p->handle = tx;
	p->len = tx->len;
	p->slice_max = tx->cut < tx->len ? tx->cut : tx->len;
	p->kind = tx->kind;
	p->flags = tx->flags;
	if (tx->kind == OAE_VERB)
		p->reply = sim_verb_reply(tx);
	for (off = 0; off < tx->len; off += n, i++) {
		n = tx->len - off < tx->cut ? tx->len - off : tx->cut;
		sim_content(tx, off, n, slice);
		hash[i] = oae_slice_hash(slice, n, i);
		if (!i)
			p->first = oae_first_bytes(slice, n);
	}
	p->nslices = i;
	p->digest = oae_whole_digest(hash, i);
}

/* Halves have a queue of their own. True: it was there. */
static bool unqueue(struct sim_end *e, const struct sim_tx *tx)
{
	bool half = tx->kind == OAE_SWAP;
	struct sim_tx **q = half ? e->halves : e->queue;
	unsigned int *n = half ? &e->nhalves : &e->nqueue;
	unsigned int i;

	for (i = 0; i < *n && q[i] != tx; i++)
		;
	if (i == *n)
		return false;
	(*n)--;
	memmove(&q[i], &q[i + 1], (*n - i) * sizeof(q[0]));
	return true;
}

static void flush_queue(struct sim_end *e, int err)
{
	struct sim_tx *tx;

	while (e->nqueue || e->nhalves) {
		tx = e->nqueue ? e->queue[0] : e->halves[0];
		unqueue(e, tx);
		sim_ended(e, tx, OAE_REVERSED, err);
	}
}

/* What is behind the body of the REFLECT that is being received. */
static void result(struct sim_end *e, struct sim_tx *tx)
{
	u16 own = OAE_REFLECT_LEN;

	if (!e->f || e->f->opcode != OAE_REFLECT || e->f->length <= own)
		sim_fail(e->w, "RESULT, and there is none in the frame");
	else if (!tx || !tx->at_link)
		sim_fail(e->w, "RESULT for what the link has not got");
	else
		sim_result(e, tx, e->frame->buf + e->f->hdr_len + own,
			   e->f->length - own);
}

static void verb(struct sim_end *e, struct oae_actions *a, u64 now)
{
	struct sim_tx *tx = sim_kept(e, 1, OAE_VERB);
	u16 reason;

	if (!tx)
		return;
	reason = sim_verb_compute(e, tx);
	sim_say(e->w, "  %c: #%u computed: %s", name(e), (u32)tx->id,
		reason == OAE_R_CONFLICT ? "CONFLICT" :
		reason ? "refused" : tx->taken ? "taken" : "not taken");
	oae_link_computed(&e->link, reason, sim_verb_reply(tx), now, a);
}

static void one_op(struct sim_end *e, struct oae_actions *a,
		   const struct oae_op *op, u64 now)
{
	struct sim *w = e->w;
	struct oae_post p;
	struct sim_tx *tx;
	struct sim_slot *s;

	switch (op->type) {
	case OAE_OP_NOTE:
		sim_note(e, op->note);
		break;
	case OAE_OP_KEEP:
		if (!e->f || e->f->opcode != OAE_OFFER ||
		    op->slice != e->f->slice || e->slot[op->slice].used) {
			sim_fail(w, "KEEP of slice %u: not this frame's",
				 op->slice);
			break;
		}
		s = &e->slot[op->slice];
		s->used = true;
		s->len = e->f->length;
		memcpy(s->data, e->frame->buf + e->f->hdr_len, s->len);
		break;
	case OAE_OP_DISCARD:
		sim_free_slots(e);
		sim_verb_drop(e);
		break;
	case OAE_OP_DELIVER:
		sim_deliver(e, op->slice);
		break;
	case OAE_OP_RESULT:
		result(e, op->handle);
		break;
	case OAE_OP_TAKE:
		sim_take_half(e, op->handle);
		break;
	case OAE_OP_VERB:
		verb(e, a, now);
		break;
	case OAE_OP_APPLY:
		sim_apply(e);
		break;
	case OAE_OP_COMPLETE:
		tx = op->handle;
		if (!tx || !tx->at_link)
			sim_fail(w, "COMPLETE of what the link has not got");
		else
			sim_ended(e, tx, op->outcome, op->err);
		break;
	case OAE_OP_CONFIRMED:
		if (!e->committed || !e->committed->delivered)
			sim_fail(w, "CONFIRMED, but not delivered");
		break;
	case OAE_OP_RESLICE:
		tx = op->handle;
		if (!tx || !tx->at_link || tx->kind != OAE_MESSAGE) {
			sim_fail(w, "RESLICE of what the link has not got");
			break;
		}
		tx->cut = oae_link_cut(&e->link, tx->len);
		sim_say(w, "  %c: #%u cut to %u bytes", name(e), (u32)tx->id,
			tx->cut);
		if (tx->len > OAE_MAX_SLICES * tx->cut) {
			memset(&p, 0, sizeof(p));
			p.handle = tx;
		} else {
			fill_post(tx, &p);
		}
		oae_link_resliced(&e->link, &p, now, a);
		break;
	case OAE_OP_TIMER:
		if (!op->at)
			sim_fail(w, "TIMER at 0");
		/* By the clock of this event, and it fires on its processor. */
		e->timer_at = w->now + op->at - now;
		e->armed_second = now < w->now;
		break;
	case OAE_OP_FLUSH:
		flush_queue(e, op->err);
		break;
	case OAE_OP_GONE:
		if (e->nqueue || e->nhalves)
			sim_fail(w, "GONE without FLUSH");
		sim_died(e);
		break;
	default:
		sim_fail(w, "no such op: %u", op->type);
	}
}

/* A REFLECT with more behind its body: the half that is lent, or the answer. */
static void send_answer(struct sim_end *e, const struct oae_send *s)
{
	const struct sim_tx *tx = s->frame.kind == OAE_SWAP ? s->handle :
							      e->verb;
	u16 n = s->frame.length - OAE_REFLECT_LEN;
	u8 more[SIM_MTU_MAX];
	unsigned int i;

	if (!tx || tx->kind != s->frame.kind ||
	    (tx->kind == OAE_SWAP && tx->ended)) {
		sim_fail(e->w, "REFLECT with an answer that is not here");
		return;
	}
	if (n != (tx->kind == OAE_SWAP ? tx->len : sim_verb_reply(tx))) {
		sim_fail(e->w, "REFLECT of #%u with %u bytes", (u32)tx->id, n);
		return;
	}
	if (tx->kind == OAE_SWAP)
		sim_content(tx, 0, n, more);
	for (i = 0; tx->kind == OAE_VERB && i < n / sizeof(u64); i++)
		put_unaligned_be64(tx->answer[i], more + i * sizeof(u64));
	sim_transmit(e, &s->frame, more, n);
}

static void one_send(struct sim_end *e, const struct oae_send *s)
{
	struct sim_tx *tx = s->handle;
	struct oae_frame f = s->frame;
	u8 slice[SIM_MTU_MAX];
	unsigned int i, last;

	if (f.opcode == OAE_REFLECT && f.length) {
		send_answer(e, s);
		return;
	}
	if (f.opcode != OAE_OFFER) {
		sim_transmit(e, &f, NULL, 0);
		return;
	}
	if (!tx || tx->ended || !s->slices) {
		sim_fail(e->w, "OFFER of what has ended, or of no slice");
		return;
	}
	if (!tx->offered) {
		tx->offered = true;
		tx->offered_to = e->link.peer_inc;
	} else if ((tx->flags & OAE_POST_EXPRESS) &&
		   tx->offered_to != e->link.peer_inc) {
		sim_fail(e->w, "G1: express #%u offered to another incarnation",
			 (u32)tx->id);
	}
	last = (tx->len - 1) / tx->cut;
	if (s->slices >> last > 1)
		sim_fail(e->w, "OFFER of slices beyond the last");
	for (i = 0; i <= last; i++) {
		if (!(s->slices >> i & 1))
			continue;
		f.slice = i;
		f.length = i < last ? tx->cut : tx->len - last * tx->cut;
		f.flags = s->frame.flags | (i == last ? OAE_F_LAST : 0);
		sim_content(tx, i * tx->cut, f.length, slice);
		sim_transmit(e, &f, slice, f.length);
	}
}

/*
 * What the link does not set must not matter. An event is on either of two
 * processors, and the clock of the second is behind.
 */
static void begin(struct sim_end *e, struct oae_actions *a)
{
	e->clock = e->w->now;
	if (e->clock_back && e->clock_back < e->clock &&
	    (e->firing ? e->armed_second : sim_upto(e->w, 2)))
		e->clock -= e->clock_back;
	memset(a, 0xa5, sizeof(*a));
	a->nops = 0;
	a->nsends = 0;
	a->overflow = false;
}

/* The ops so far, in order; one may lead to more. */
static void apply(struct sim_end *e, struct oae_actions *a)
{
	struct oae_op op;
	unsigned int i;

	for (i = 0; i < a->nops && !e->w->why[0]; i++) {
		op = a->op[i];
		one_op(e, a, &op, e->clock);
	}
	if (a->nops > e->w->max_ops)
		e->w->max_ops = a->nops;
	a->nops = 0;
}

/* The next post that the link has room for. */
static struct sim_tx *wanted(struct sim_end *e)
{
	if (e->nqueue && oae_link_wants(&e->link))
		return e->queue[0];
	if (e->nhalves && oae_link_wants_half(&e->link))
		return e->halves[0];
	return NULL;
}

/* Give the link what it wants. */
static void feed(struct sim_end *e, struct oae_actions *a)
{
	struct sim_tx *tx;
	struct oae_post p;
	int err;

	while (e->tag && !e->w->why[0] && (tx = wanted(e))) {
		fill_post(tx, &p);
		unqueue(e, tx);
		tx->at_link = true;
		err = oae_link_post(&e->link, &p, e->clock, a);
		if (err)
			sim_fail(e->w, "wants, but post says %d", err);
		apply(e, a);
	}
}

/* What the link did with what it has, as far as it matters later. */
static void look(struct sim_end *e)
{
	struct oae_link *l = &e->link;
	struct sim_tx *tx;

	if (!e->tag)
		return;
	/* A refusal is as good as never offered: it was not delivered. */
	if (l->offer.state == OAE_OFFER_PARKED)
		((struct sim_tx *)l->offer.p.handle)->offered = false;
	if (l->aside.valid)
		((struct sim_tx *)l->aside.p.handle)->offered = false;
	if (l->aside.valid)
		((struct sim_tx *)l->aside.p.handle)->offered = false;
	if (l->half.state == OAE_HALF_NONE)
		return;
	tx = l->half.p.handle;
	if (l->half.state == OAE_HALF_LENT && !tx->lent)
		tx->lent_to = l->peer_inc;
	tx->lent = l->half.state == OAE_HALF_LENT;
}

/* Every event ends so: ops, posts, and then all that is to be sent. */
static void finish(struct sim_end *e, struct oae_actions *a)
{
	unsigned int i;

	apply(e, a);
	feed(e, a);
	if (a->overflow)
		sim_fail(e->w, "actions overflow");
	for (i = 0; i < a->nsends && !e->w->why[0]; i++)
		one_send(e, &a->send[i]);
	if (a->nsends > e->w->max_sends)
		e->w->max_sends = a->nsends;
	look(e);
	sim_check(e->w);
}

static void make_tag(struct sim_end *e)
{
	static const u32 starts[] = { 0, 0xfffffffe, 0xffffffff, 0x7fffffff };
	u32 start = e->w->wild ? starts[sim_upto(e->w, 4)] : 0;
	struct oae_actions a;

	/* A shell may forget a tag that is gone, or use it again. */
	if (e->link.cfg && e->link.state == OAE_CLOSED &&
	    sim_upto(e->w, 2)) {
		begin(e, &a);
		oae_link_set_mtu(&e->link, e->mtu, e->clock, &a);
		finish(e, &a);
	} else {
		oae_link_init(&e->link, &e->cfg, e->w->vc, e->mtu, start);
	}
	oae_link_rank(&e->link, e->who == B);
	e->tag = true;
	e->timer_at = 0;
}

/**
 * sim_post() - a user wants a transaction; opens the link if need be
 * @e: the end
 * @len: bytes, 8 or more
 * @cut: bytes a slice; a half and a verb are one
 * @kind: enum oae_kind
 * @flags: OAE_POST_*
 *
 * Return: the transaction; NULL if there have been too many.
 */
struct sim_tx *sim_post(struct sim_end *e, u32 len, u32 cut, u8 kind, u8 flags)
{
	struct sim *w = e->w;
	struct oae_actions a;
	struct sim_tx *tx;

	if (w->ntx == SIM_TXS)
		return NULL;
	if (kind != OAE_MESSAGE)
		cut = len;
	if (cut * OAE_MAX_SLICES < len)
		cut = (len + OAE_MAX_SLICES - 1) / OAE_MAX_SLICES;
	tx = &w->tx[w->ntx++];
	memset(tx, 0, sizeof(*tx));
	tx->id = w->ntx;
	tx->posted_at = w->now;
	tx->len = len;
	tx->cut = cut;
	tx->from = e->who;
	tx->kind = kind;
	tx->flags = flags;
	if (kind == OAE_VERB)
		sim_verb_draw(e, tx);
	if (kind == OAE_SWAP)
		e->halves[e->nhalves++] = tx;
	else
		e->queue[e->nqueue++] = tx;
	sim_say(w, "%c: post #%u, %s%u bytes by %u%s", name(e), (u32)tx->id,
		kind == OAE_SWAP ? "half, " : kind == OAE_VERB ? "verb, " : "",
		len, cut, flags & OAE_POST_EXPRESS ? ", express" : "");
	begin(e, &a);
	if (!e->tag) {
		make_tag(e);
		oae_link_open(&e->link, e->clock, &a);
	}
	finish(e, &a);
	return tx;
}

/* A user wants its transaction back. */
void sim_cancel(struct sim_end *e, struct sim_tx *tx)
{
	struct sim *w = e->w;
	struct oae_actions a;
	bool mine = tx->at_link;
	int err;

	if (tx->ended || tx->lost || !e->tag)
		return;
	sim_say(w, "%c: cancel #%u", name(e), (u32)tx->id);
	begin(e, &a);
	err = oae_link_cancel(&e->link, tx, OAE_E_SIGNAL, e->clock, &a);
	finish(e, &a);
	switch (err) {
	case 0:
		if (!mine || !tx->ended || tx->outcome != OAE_REVERSED ||
		    tx->err != OAE_E_SIGNAL)
			sim_fail(w, "cancel said 0, but #%u is not reversed",
				 (u32)tx->id);
		break;
	case -EINPROGRESS:
		if (!mine || tx->ended ||
		    !(tx->lent ||
		      (tx->flags & OAE_POST_EXPRESS && tx->offered)))
			sim_fail(w, "cancel of #%u: EINPROGRESS", (u32)tx->id);
		break;
	case -ENOENT:
		if (mine || !unqueue(e, tx)) {
			sim_fail(w, "cancel of #%u: ENOENT", (u32)tx->id);
			break;
		}
		sim_ended(e, tx, OAE_REVERSED, OAE_E_SIGNAL);
		break;
	default:
		sim_fail(w, "cancel says %d", err);
	}
}

static u32 cookie(const struct sim_end *e, u32 src_ltag, u64 when)
{
	u64 in[3] = { e->cookie_key, src_ltag, when };

	return XXH64(in, sizeof(in), 0) >> 33 | 1;
}

/* A frame for no tag: no memory but for one that named a cookie. */
static void stranger(struct sim_end *e, const struct oae_frame *f)
{
	u64 when = e->w->now / COOKIE_NS;
	struct oae_frame r = { .vc = f->vc, .dst_ltag = f->src_ltag };
	struct oae_actions a;

	switch (f->opcode) {
	case OAE_SYNC:
		if (e->shut) {
			r.opcode = OAE_CLOSE;
			r.reason = OAE_R_POLICY;
			r.src_ltag = f->dst_ltag;
			break;
		}
		if (f->dst_ltag == cookie(e, f->src_ltag, when) ||
		    f->dst_ltag == cookie(e, f->src_ltag, when - 1)) {
			make_tag(e);
			begin(e, &a);
			oae_link_accept(&e->link, f, e->clock, &a);
			finish(e, &a);
			return;
		}
		r.opcode = OAE_SYNC_CHK;
		r.src_ltag = cookie(e, f->src_ltag, when);
		break;
	case OAE_CLOSE:
		if (f->reason)
			return;
		r.opcode = OAE_CLOSE_ACK;
		r.src_ltag = f->dst_ltag;
		break;
	case OAE_OFFER:
	case OAE_REFLECT:
	case OAE_COMMIT:
	case OAE_REFUSE:
	case OAE_READY:
	case OAE_REVERSE:
	case OAE_DONE:
		r.opcode = OAE_NOLINK;
		r.src_ltag = f->dst_ltag;
		break;
	default:
		return;
	}
	sim_transmit(e, &r, NULL, 0);
}

void sim_receive(struct sim_end *e, const struct sim_pkt *p,
		 const struct oae_frame *f)
{
	struct oae_actions a;

	if (!e->tag) {
		stranger(e, f);
		return;
	}
	begin(e, &a);
	e->frame = p;
	e->f = f;
	oae_link_rcv(&e->link, f, e->unread < e->rcvbuf, e->clock, &a);
	finish(e, &a);
	e->frame = NULL;
	e->f = NULL;
}

/* The reader takes one. */
void sim_read(struct sim_end *e)
{
	if (!e->unread)
		return;
	sim_say(e->w, "%c: read", name(e));
	e->unread--;
	sim_drained(e);
}

/* There is room again, or there are free words. */
void sim_drained(struct sim_end *e)
{
	struct oae_actions a;

	if (!e->tag)
		return;
	begin(e, &a);
	oae_link_drained(&e->link, e->clock, &a);
	finish(e, &a);
}

/* The timer fires; also when it need not have. */
void sim_timer(struct sim_end *e)
{
	struct oae_actions a;

	if (!e->tag)
		return;
	sim_say(e->w, "%c: timer", name(e));
	if (e->timer_at <= e->w->now)
		e->timer_at = 0;
	e->firing = true;
	begin(e, &a);
	e->firing = false;
	oae_link_timer(&e->link, e->clock, &a);
	finish(e, &a);
	/* At once again may be rounding; again and again is a storm. */
	if (e->timer_at && e->timer_at <= e->w->now + SIM_US)
		e->hasty++;
	else
		e->hasty = 0;
	if (e->hasty > 3)
		sim_fail(e->w, "%c: the timer fires without end", name(e));
}

void sim_close(struct sim_end *e)
{
	struct oae_actions a;

	if (!e->tag)
		return;
	sim_say(e->w, "%c: close", name(e));
	begin(e, &a);
	oae_link_close(&e->link, e->clock, &a);
	finish(e, &a);
}

void sim_kill(struct sim_end *e)
{
	struct oae_actions a;

	if (!e->tag)
		return;
	sim_say(e->w, "%c: kill", name(e));
	begin(e, &a);
	oae_link_kill(&e->link, OAE_E_SHUTDOWN, e->clock, &a);
	finish(e, &a);
	if (e->tag)
		sim_fail(e->w, "kill without GONE");
}

/* A machine stops: its users and its memory with it. */
void sim_crash(struct sim_end *e)
{
	struct sim *w = e->w;
	unsigned int i;

	sim_say(w, "%c: crash", name(e));
	for (i = 0; i < w->ntx; i++)
		if (w->tx[i].from == e->who && !w->tx[i].ended)
			w->tx[i].lost = true;
	e->nqueue = 0;
	e->nhalves = 0;
	e->unread = 0;
	e->cookie_key = sim_rand(w);
	if (e->tag)
		sim_died(e);
	sim_words_reset(e);
	e->link.cfg = NULL;
}

void sim_port(struct sim_end *e, bool up)
{
	struct oae_actions a;

	sim_say(e->w, "%c: port %s", name(e), up ? "up" : "down");
	e->port_up = up;
	if (!e->tag)
		return;
	begin(e, &a);
	if (up)
		oae_link_port_up(&e->link, e->clock, &a);
	else
		oae_link_port_down(&e->link, e->clock, &a);
	finish(e, &a);
}

void sim_mtu(struct sim_end *e, u16 mtu)
{
	struct oae_actions a;

	sim_say(e->w, "%c: mtu %u", name(e), mtu);
	e->mtu = mtu;
	if (!e->tag)
		return;
	begin(e, &a);
	oae_link_set_mtu(&e->link, mtu, e->clock, &a);
	finish(e, &a);
}
