// SPDX-License-Identifier: GPL-2.0
/* The shell around the two links of the explorer, and the wire between them. */
#include "model.h"

/* Words of what a step does go here, if anywhere. */
FILE *m_story;
/* How often each note was heard, over all steps. */
unsigned long m_seen[OAE_NOTE_END];

static u32 fresh;

/* No draw is ever like one before: ltags and incarnations do not collide. */
u32 m_random(void)
{
	return fresh++;
}

void m_random_from(u32 first)
{
	fresh = first;
}

static const struct oae_link_cfg cfg = {
	.stall_min = 1000000,
	.stall_max = 1000000000,
	.keepalive = 10000000000,
	.dead = 100000000000,
	.max_len = 4096,
	.random = m_random,
};

/**
 * m_mtu() - what an end's port carries
 * @e: the end
 *
 * Return: bytes behind the Ethernet header.
 */
u16 m_mtu(const struct m_end *e)
{
	return e->narrow ? M_MTU_NARROW : M_MTU_WIDE;
}

void m_link_init(struct m_world *w, unsigned int who)
{
	struct m_end *e = &w->end[who];

	oae_link_init(&e->link, &cfg, 0, m_mtu(e), w->sc->start);
	oae_link_rank(&e->link, who == B);
}

/* Nothing has happened yet. */
void m_init(struct m_world *w, const struct m_scenario *sc)
{
	memset(w, 0, sizeof(*w));
	w->sc = sc;
	w->crash = sc->crash;
	w->kill = sc->kill;
	w->close = sc->close;
	w->rename = sc->rename;
	w->mtu = sc->mtu;
	w->cut = sc->cut;
	w->conflict = sc->conflict;
	m_link_init(w, A);
	m_link_init(w, B);
}

/* --- the wire ------------------------------------------------------------------ */

/* A set: what may arrive any number of times need not be there twice. */
void m_to_wire(struct m_world *w, unsigned int to, const struct m_frame *f)
{
	struct m_chan *c = &w->to[to];
	unsigned int i;
	char text[160];

	if (m_story)
		fprintf(m_story, "      %c sends %s\n", 'A' + !to,
			m_frame_name(f, to, text, sizeof(text)));
	for (i = 0; w->sc->dup && i < c->n; i++)
		if (!memcmp(&c->f[i], f, sizeof(*f)))
			return;
	if (c->n < w->sc->cap)
		c->f[c->n++] = *f;
	else if (m_story)
		fprintf(m_story, "      ... which is lost\n");
}

/* What comes behind the body of a REFLECT. */
static u16 reply_len(u8 kind)
{
	return kind == OAE_SWAP ? M_LEN : kind == OAE_VERB ? M_ANSWER : 0;
}

/* The frame as the link sees it when it arrives. */
void m_frame_of(const struct m_frame *m, const struct m_scenario *sc,
		struct oae_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->opcode = m->opcode;
	f->hdr_len = OAE_HDR_LEN;
	f->flags = m->flags;
	f->attempt = m->attempt;
	f->kind = m->kind;
	f->reason = m->reason;
	f->src_ltag = m->src;
	f->dst_ltag = m->dst;
	f->tx = m->tx;
	f->rx = m->rx;
	f->seq = m->seq;
	if (m_is_sync(m->opcode)) {
		f->length = OAE_SYNC_LEN;
		f->sync.inc = m->inc;
		f->sync.peer_inc = m->peer_inc;
		f->sync.mtu = m->mtu;
		/* A cookie comes without these. */
		f->sync.max_len = m->mtu ? cfg.max_len : 0;
		f->sync.start = m->mtu ? sc->start : 0;
	} else if (m->opcode == OAE_OFFER) {
		f->slice = m->slice;
		f->length = M_LEN / M_PIECE_N(m->piece);
		f->payload_hash = m_slice_hash(m->piece, m->slice);
		f->first = m->slice ? 0 : M_PIECE_ID(m->piece);
	} else if (m->opcode == OAE_REFLECT) {
		f->length = OAE_REFLECT_LEN + reply_len(m->kind);
		f->reflect.digest = m_digest_value(m->digest);
		f->reflect.first = m->first;
	} else if (m->opcode == OAE_REFUSE && m->reason == OAE_R_GAP) {
		f->length = OAE_GAP_LEN;
		f->gap_map = m->gap;
	}
}

/* What is sent, as it is kept while in flight. */
static void send_frame(struct m_world *w, unsigned int who,
		       const struct oae_frame *f, u8 slice, u8 piece,
		       u8 flags, u8 reply)
{
	struct m_frame m;

	memset(&m, 0, sizeof(m));
	m.opcode = f->opcode;
	/* No rule uses HELD: it is for people. */
	m.flags = (f->flags & ~OAE_F_HELD) | flags;
	m.attempt = f->attempt;
	m.reason = f->reason;
	m.src = f->src_ltag;
	m.dst = f->dst_ltag;
	m.tx = f->tx;
	m.rx = f->rx;
	m.seq = f->seq;
	if (m_is_sync(f->opcode)) {
		m.inc = f->sync.inc;
		m.peer_inc = f->sync.peer_inc;
		m.mtu = f->sync.mtu;
	} else if (f->opcode == OAE_OFFER) {
		m.kind = f->kind;
		m.slice = slice;
		m.piece = piece;
	} else if (f->opcode == OAE_REFLECT) {
		m.digest = m_digest(f->reflect.digest);
		m.first = f->reflect.first;
		m.kind = f->kind;
		m.reply = reply;
	} else if (f->opcode == OAE_REFUSE && f->reason == OAE_R_GAP) {
		m.gap = f->gap_map;
	}
	m_to_wire(w, !who, &m);
}

/* --- an end ---------------------------------------------------------------------- */

void m_fill_post(const struct m_world *w, u8 id, struct oae_post *p)
{
	const struct m_tx *tx = &w->tx[id - 1];

	memset(p, 0, sizeof(*p));
	p->handle = (void *)(uintptr_t)id;
	p->digest = m_whole(id, tx->n);
	p->first = id;
	p->len = M_LEN;
	p->slice_max = (M_LEN + tx->n - 1) / tx->n;
	p->nslices = tx->n;
	p->kind = tx->kind;
	p->reply = tx->kind == OAE_VERB ? M_ANSWER : 0;
	p->flags = tx->flags;
}

static u8 id_of(const void *handle)
{
	return (uintptr_t)handle;
}

static bool is_at_link(const struct m_world *w, u8 id)
{
	return id && id <= w->ntx && w->tx[id - 1].at_link;
}

/* The link wants it cut to what its ports carry now. */
static void reslice(struct m_world *w, unsigned int who, void *handle,
		    struct oae_actions *a)
{
	struct m_end *e = &w->end[who];
	u16 max = oae_link_cut(&e->link, M_LEN);
	struct oae_post p;
	u8 id = id_of(handle), n = 1;

	if (!is_at_link(w, id) || w->tx[id - 1].kind != OAE_MESSAGE) {
		m_fail(w, 0, "RESLICE of what the link has not got");
		return;
	}
	while (M_LEN / n > max)
		n++;
	if (w->sc->most && n > w->sc->most) {
		m_fill_post(w, id, &p);
		p.nslices = 0;
	} else {
		w->tx[id - 1].n = n;
		m_fill_post(w, id, &p);
	}
	oae_link_resliced(&e->link, &p, M_NOW, a);
}

/* The verb that is kept: nobody may wait for the word. */
static void compute(struct m_world *w, unsigned int who,
		    const struct m_frame *f, struct oae_actions *a)
{
	struct m_end *e = &w->end[who];
	u8 id = M_PIECE_ID(e->slot[0]);

	if (!f || f->opcode != OAE_OFFER || f->kind != OAE_VERB ||
	    e->slot[0] != f->piece || !id || e->word_held) {
		m_fail(w, id, "VERB of what is none, or is computed already");
		return;
	}
	e->word_held = !e->word_busy;
	oae_link_computed(&e->link, e->word_held ? 0 : OAE_R_CONFLICT,
			  e->word_held ? M_ANSWER : 0, M_NOW, a);
}

static void one_op(struct m_world *w, unsigned int who, struct oae_actions *a,
		   const struct oae_op *op, const struct m_frame *f)
{
	struct m_end *e = &w->end[who];
	u8 id;

	switch (op->type) {
	case OAE_OP_NOTE:
		m_noted(w, who, op->note);
		break;
	case OAE_OP_KEEP:
		if (!f || f->opcode != OAE_OFFER || op->slice != f->slice ||
		    e->slot[f->slice])
			m_fail(w, 0, "KEEP of a slice that is not this frame's");
		else
			e->slot[f->slice] = f->piece;
		break;
	case OAE_OP_DISCARD:
		memset(e->slot, 0, sizeof(e->slot));
		e->word_held = false;
		break;
	case OAE_OP_DELIVER:
		m_delivered(w, who, op->slice);
		break;
	case OAE_OP_VERB:
		compute(w, who, f, a);
		break;
	case OAE_OP_APPLY:
		m_applied(w, who);
		break;
	case OAE_OP_TAKE:
	case OAE_OP_RESULT:
		id = id_of(op->handle);
		if (!is_at_link(w, id))
			m_fail(w, 0, "TAKE or RESULT for what the link has not got");
		else if (op->type == OAE_OP_TAKE)
			m_taken(w, who, id);
		else
			m_result(w, who, id, f);
		break;
	case OAE_OP_COMPLETE:
		id = id_of(op->handle);
		if (!is_at_link(w, id))
			m_fail(w, 0, "COMPLETE of what the link has not got");
		else
			m_ended(w, who, id, op->outcome, op->err);
		break;
	case OAE_OP_CONFIRMED:
		if (!w->arbitrary &&
		    (!e->committed || !w->tx[e->committed - 1].delivered))
			m_fail(w, e->committed, "CONFIRMED, but not delivered");
		break;
	case OAE_OP_RESLICE:
		reslice(w, who, op->handle, a);
		break;
	case OAE_OP_GONE:
		m_died(w, who);
		break;
	case OAE_OP_TIMER:
	case OAE_OP_FLUSH:
		break;
	default:
		m_fail(w, 0, "no such op");
	}
}

static void send_offer(struct m_world *w, unsigned int who,
		       const struct oae_send *s)
{
	struct m_end *e = &w->end[who];
	u8 id = id_of(s->handle);
	struct m_tx *tx;
	unsigned int i;

	if (!id || id > w->ntx || w->tx[id - 1].ended || !s->slices) {
		m_fail(w, 0, "OFFER of what has ended, or of no slice");
		return;
	}
	tx = &w->tx[id - 1];
	if (s->frame.kind != tx->kind)
		m_fail(w, id, "OFFER of another kind");
	if (tx->kind == OAE_SWAP) {
		if (tx->offered)
			m_fail(w, id, "G2: a half is offered while it is lent");
	} else if (!tx->offered) {
		tx->offered = true;
		tx->offered_to = e->link.peer_inc;
	} else if (tx->flags & OAE_POST_EXPRESS &&
		   tx->offered_to != e->link.peer_inc) {
		m_fail(w, id, "G1: an express is offered to another incarnation");
	}
	if (s->slices >> tx->n)
		m_fail(w, id, "OFFER of slices beyond the last");
	for (i = 0; i < tx->n; i++)
		if (s->slices >> i & 1)
			send_frame(w, who, &s->frame, i, M_PIECE(id, tx->n),
				   i == tx->n - 1U ? OAE_F_LAST : 0, 0);
}

static void send_reflect(struct m_world *w, unsigned int who,
			 const struct oae_send *s)
{
	struct m_end *e = &w->end[who];
	u16 more = s->frame.length ? s->frame.length - OAE_REFLECT_LEN : 0;
	u8 reply = 0;

	if (more != reply_len(s->frame.kind))
		m_fail(w, 0, "REFLECT with too much or too little behind it");
	if (s->frame.kind == OAE_SWAP) {
		reply = id_of(s->handle);
		m_lent(w, who, reply);
	} else if (s->frame.kind == OAE_VERB) {
		if (!e->word_held)
			m_fail(w, 0, "G2: the answer is about a word that is free");
		reply = 1 + e->word;
	}
	send_frame(w, who, &s->frame, 0, 0, 0, reply);
}

/**
 * m_begin() - before every event
 * @a: for what the link will want
 */
void m_begin(struct oae_actions *a)
{
	a->nops = 0;
	a->nsends = 0;
	a->overflow = false;
}

/**
 * m_finish() - after every event: what the link wants done, then what it sends
 * @w: the world
 * @who: at which end
 * @a: what it wants
 * @f: the frame that came in, or NULL
 */
void m_finish(struct m_world *w, unsigned int who, struct oae_actions *a,
	      const struct m_frame *f)
{
	struct m_end *e = &w->end[who];
	struct oae_op op;
	unsigned int i;

	for (i = 0; i < a->nops; i++) {
		op = a->op[i];
		one_op(w, who, a, &op, f);
	}
	if (a->overflow)
		m_fail(w, 0, "actions overflow");
	for (i = 0; i < a->nsends; i++) {
		if (a->send[i].frame.opcode == OAE_OFFER)
			send_offer(w, who, &a->send[i]);
		else if (a->send[i].frame.opcode == OAE_REFLECT)
			send_reflect(w, who, &a->send[i]);
		else
			send_frame(w, who, &a->send[i].frame, 0, 0, 0, 0);
	}
	/* A refusal is as good as never offered: it was not delivered. */
	if (e->tag && e->link.offer.state == OAE_OFFER_PARKED &&
	    e->link.offer.p.handle && e->link.offer.p.kind != OAE_SWAP)
		w->tx[id_of(e->link.offer.p.handle) - 1].offered = false;
	if (e->tag && e->link.aside.valid && e->link.aside.p.handle)
		w->tx[id_of(e->link.aside.p.handle) - 1].offered = false;
}

/**
 * m_make_tag() - an end gets a tag, with a link that is CLOSED
 * @w: the world
 * @who: which end
 */
void m_make_tag(struct m_world *w, unsigned int who)
{
	m_link_init(w, who);
	w->end[who].tag = true;
}
