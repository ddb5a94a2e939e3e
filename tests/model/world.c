// SPDX-License-Identifier: GPL-2.0
/* The explorer's own part of its two ends, and the wire between them. */
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

#define CFG \
	.stall_min = 1000000, .stall_max = 1000000000, .keepalive = 10000000000, \
	.dead = 100000000000, .max_len = 4096, .random = m_random

/* Of each end: a window of one, and that of the scenario. */
static const struct oae_link_cfg cfg = { CFG, .window = 1 };
static struct oae_link_cfg wide = { CFG, .window = 1 };

/**
 * m_fix() - a world was copied: let its links point into it
 * @w: the world
 */
void m_fix(struct m_world *w)
{
	unsigned int i, k;

	wide.window = w->sc->window ? w->sc->window : 1;
	wide.paths = w->sc->lines;
	for (i = A; i <= B; i++) {
		struct m_end *e = &w->end[i];

		e->link.cfg = e->single ? &cfg : &wide;
		if (e->link.swaps)
			e->link.swaps = &e->swaps;
		if (e->link.pair)
			e->link.pair = e->pairs;
		for (k = 0; k < H_LANES; k++)
			e->pairs[k] = &e->pair[k];
	}
}

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

	e->who = who;
	memset(&e->way, 0, sizeof(e->way));
	memset(&e->path, 0, sizeof(e->path));
	wide.window = w->sc->window ? w->sc->window : 1;
	wide.paths = w->sc->lines;
	oae_link_init(&e->link, e->single ? &cfg : &wide, w->sc->vc, m_mtu(e), w->sc->start);
	oae_link_rank(&e->link, who == B);
	memset(&e->swaps, 0, sizeof(e->swaps));
	oae_link_lend_swaps(&e->link, &e->swaps);
}

#define OPENING	1000	/* steps; two ends that never come to rest are for the search to find */

/* The link is OPEN at both ends, and nothing has been posted. */
static void open_both(struct m_world *w)
{
	int act = M_ACT(M_OPEN, A, 0);
	unsigned int i;

	for (i = 0; act >= 0 && i < OPENING; i++, act = m_fair(w)) {
		m_step(w, act);
		m_reduce(w);
	}
	w->posted[A] = 0;
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
	w->leave = sc->leave;
	w->refuse = sc->refuse;
	w->shrink = sc->narrow;
	w->carrier = sc->carrier;
	m_link_init(w, A);
	m_link_init(w, B);
	if (sc->ways) {
		m_gateway(&w->end[A], 0);
		m_gateway(&w->end[B], 0);
	}
	if (sc->opened)
		open_both(w);
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
	if (!m_carries(w, to, f)) {
		if (m_story)
			fprintf(m_story, "      ... where nothing comes through\n");
		return;
	}
	for (i = 0; w->sc->dup && i < c->n; i++)
		if (!memcmp(&c->f[i], f, sizeof(*f)))
			return;
	if (!m_wire_full(w, to))
		c->f[c->n++] = *f;
	else if (m_story)
		fprintf(m_story, "      ... which is lost\n");
}

/* What comes behind the body of a REFLECT. */
static u16 reply_len(u8 kind)
{
	return kind == OAE_SWAP ? M_LEN : kind == OAE_VERB ? M_ANSWER : 0;
}

/**
 * m_frame_long() - is a frame too long for M_MTU_NARROW?
 * @m: the frame
 *
 * Return: true if so.
 */
bool m_frame_long(const struct m_frame *m)
{
	unsigned int len = 0;

	if (m->opcode == OAE_OFFER && m->piece)
		len = M_LEN / M_PIECE_N(m->piece);
	else if (m->opcode == OAE_REFLECT)
		len = OAE_REFLECT_LEN + reply_len(m->kind);
	return len + OAE_HDR_LEN > M_MTU_NARROW;
}

/* The frame as the link sees it when it arrives. */
void m_frame_of(const struct m_frame *m, const struct m_scenario *sc,
		unsigned int to, struct oae_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->opcode = m->opcode;
	f->hdr_len = OAE_HDR_LEN;
	f->flags = m->flags;
	f->kind = m->kind;
	f->reason = m->reason;
	f->grant = m->grant == M_PLENTY ? 0xffff : m->grant;
	f->src_ltag = m->src;
	f->dst_ltag = m->dst;
	f->tx = m->tx;
	f->rx = m->rx;
	f->seq = m->seq;
	if (m->flags & OAE_F_VIA)
		m_via_mark(f, to);
	if (m_is_sync(m->opcode)) {
		f->length = OAE_SYNC_LEN;
		f->sync.inc = m->inc;
		f->sync.peer_inc = m->peer_inc;
		f->sync.mtu = m->mtu;
		f->sync.caps = m->caps;
		/* A cookie comes without these. */
		f->sync.max_len = m->mtu ? cfg.max_len : 0;
		f->sync.start = m->mtu ? sc->start : 0;
		f->sync.kept = m->have;
		f->sync.hash = m->have ? m_digest_value(m->digest) : 0;
		f->sync.last = m->slice == M_NO_LAST ? OAE_SYNC_NO_LAST : m->slice;
	} else if (m->opcode == OAE_OFFER) {
		f->slice = m->slice;
		f->marks = m->marks;
		if (m->kind == OAE_VOID) {
			f->payload_hash = oae_slice_hash("", 0, 0);
			return;
		}
		f->length = M_LEN / M_PIECE_N(m->piece);
		f->payload_hash = m_slice_hash(m->piece, m->slice);
		f->first = m->slice ? 0 : M_PIECE_ID(m->piece);
	} else if (m->opcode == OAE_REFLECT) {
		f->length = OAE_REFLECT_LEN + reply_len(m->kind);
		f->reflect.digest = m_digest_value(m->digest);
		f->reflect.first = m->first;
	} else if (m->opcode == OAE_ACK) {
		f->length = OAE_ACK_LEN;
		f->have = m->have;
	} else if (m->opcode == OAE_COMMIT) {
		f->marks = m->marks;
	}
}

/* What is sent, as it is kept while in flight. */
static void send_frame(const struct h_event *ev, const struct oae_frame *f, u8 piece, u8 reply)
{
	struct m_world *w = ev->world;
	unsigned int who = ev->end->who;
	struct m_frame m;

	if (w->sc->ways)
		m_check_sent(w, who, f);
	memset(&m, 0, sizeof(m));
	m.opcode = f->opcode;
	m.flags = f->flags;
	if (w->end[who].goes_via)
		m.flags |= OAE_F_VIA;
	m.reason = f->reason;
	m.grant = w->sc->rcvbuf && f->grant < M_PLENTY ? f->grant : M_PLENTY;
	m.src = f->src_ltag;
	m.dst = f->dst_ltag;
	m.tx = f->tx;
	m.rx = f->rx;
	m.seq = f->seq;
	if (m_is_sync(f->opcode)) {
		m.inc = f->sync.inc;
		m.peer_inc = f->sync.peer_inc;
		m.mtu = f->sync.mtu;
		m.caps = f->sync.caps;
		m.have = f->sync.kept;
		m.digest = m.have ? m_digest(f->sync.hash) : 0;
		m.slice = f->sync.last == OAE_SYNC_NO_LAST ? M_NO_LAST : f->sync.last;
	} else if (f->opcode == OAE_OFFER) {
		m.kind = f->kind;
		m.slice = f->slice;
		m.piece = piece;
		m.marks = f->marks;
	} else if (f->opcode == OAE_REFLECT) {
		m.digest = m_digest(f->reflect.digest);
		m.first = f->reflect.first;
		m.kind = f->kind;
		m.reply = reply;
	} else if (f->opcode == OAE_ASK || f->opcode == OAE_REFUSE) {
		m.kind = f->kind;
	} else if (f->opcode == OAE_ACK) {
		m.kind = f->kind;
		m.have = f->have;
	} else if (f->opcode == OAE_COMMIT) {
		m.marks = f->marks;
	}
	if (w->sc->lines)
		m_path_send(w, &w->end[who], ev, &m);
	else
		m_to_wire(w, !who, &m);
}

/* --- an end ---------------------------------------------------------------------- */

/**
 * m_piece() - how the slices of a transaction are named
 * @w: the world
 * @id: which
 *
 * Return: the name of its pieces, as it is cut.
 */
u8 m_piece(const struct m_world *w, u8 id)
{
	if (w->sc->begins && id == 1)
		return M_PIECE(2, M_SLICES);
	return M_PIECE(id, w->tx[id - 1].n);
}

/**
 * m_len() - how long a transaction is
 * @sc: the scenario
 * @id: which
 *
 * Return: bytes.
 */
u32 m_len(const struct m_scenario *sc, u8 id)
{
	return sc->begins && id == 1 ? M_LEN / M_SLICES * (M_SLICES - 1) : M_LEN;
}

void m_fill_post(const struct m_world *w, u8 id, struct oae_post *p)
{
	const struct m_tx *tx = &w->tx[id - 1];

	memset(p, 0, sizeof(*p));
	p->handle = H_HANDLE(id);
	p->digest = m_whole(m_piece(w, id), tx->n);
	p->first = M_PIECE_ID(m_piece(w, id));
	p->len = m_len(w->sc, id);
	p->slice_max = (p->len + tx->n - 1) / tx->n;
	p->nslices = tx->n;
	p->kind = tx->kind;
	p->reply = tx->kind == OAE_VERB ? M_ANSWER : 0;
	p->flags = tx->flags;
}

/**
 * m_fill_void() - nothing, in place of what was reversed
 * @w: the world
 * @id: of which an express that was recalled; 0: of nothing that matters any more
 * @p: out
 */
void m_fill_void(const struct m_world *w, u8 id, struct oae_post *p)
{
	u64 hash = oae_slice_hash("", 0, 0);

	memset(p, 0, sizeof(*p));
	p->digest = oae_whole_digest(&hash, 1);
	p->nslices = 1;
	p->kind = OAE_VOID;
	p->handle = H_HANDLE(id);
	if (id)
		p->flags = w->tx[id - 1].flags & OAE_POST_CONFIRM;
}

/**
 * m_queue() - a transaction waits at its end, behind all others there, to be posted again
 * @w: the world
 * @id: which
 */
void m_queue(struct m_world *w, u8 id)
{
	struct m_end *e = &w->end[w->tx[id - 1].from];

	if (e->queue.first)
		w->tx[e->queue.last - 1].next = id;
	else
		e->queue.first = id;
	e->queue.last = id;
	e->queued++;
}

static struct m_end *here(const struct h_event *ev)
{
	return (struct m_end *)ev->end;
}

struct h_tx *h_find(struct h_event *ev, h_id id)
{
	struct m_world *w = ev->world;

	return id && id <= w->ntx ? (struct h_tx *)&w->tx[id - 1] : NULL;
}

/* The link wants it cut to what its ports carry now. */
void h_post(struct h_event *ev, struct h_tx *htx, h_id id, u16 max,
	    struct oae_post *p)
{
	struct m_tx *tx = (struct m_tx *)htx;
	struct m_world *w = ev->world;
	u8 n = 1;

	while (max && M_LEN / n > max)
		n++;
	if (max && !(w->sc->most && n > w->sc->most))
		tx->n = n;
	m_fill_post(w, id, p);
	if (max && n != tx->n)
		p->nslices = 0;
}

void h_keep(struct h_event *ev, unsigned int slice)
{
	const struct m_frame *m = ev->raw;

	here(ev)->slot[h_lane(ev->seq)][slice] = m->piece;
}

u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice)
{
	return m_slice_hash(here(ev)->slot[h_lane(seq)][slice], slice);
}

u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id, unsigned int slice, u32 off,
	    u32 len, u64 *first)
{
	(void)tx;
	(void)off;
	(void)len;
	(void)first;
	return m_slice_hash(m_piece(ev->world, id), slice);
}

void h_drop(struct h_event *ev)
{
	memset(here(ev)->slot[h_lane(ev->seq)], 0, M_SLICES);
}

/*
 * The verb that is kept: nobody else may have the word, or wait for it. It works on what
 * those that are held below it make of the word.
 */
u16 h_compute(struct h_event *ev, u16 *reply)
{
	struct m_end *e = here(ev);

	if (!M_PIECE_ID(e->slot[h_lane(ev->seq)][0]))
		h_fail(ev, 0, "VERB of what is none");
	if (e->word_busy || e->word_wanted)
		return OAE_R_CONFLICT;
	e->answer[h_lane(ev->seq)] = e->word + __builtin_popcountll(e->computed);
	*reply = M_ANSWER;
	return OAE_R_NONE;
}

void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *htx, h_id id)
{
	if (f->opcode == OAE_OFFER) {
		send_frame(ev, f, htx ? m_piece(ev->world, id) : 0, 0);
	} else if (f->opcode == OAE_REFLECT && f->kind == OAE_VERB) {
		if (f->length != OAE_REFLECT_LEN + M_ANSWER)
			h_fail(ev, 0, "REFLECT with too much or too little behind it");
		send_frame(ev, f, 0, 1 + here(ev)->answer[h_lane(f->seq)]);
	} else {
		send_frame(ev, f, 0, id);
	}
}

static void remember_kept(struct m_end *e)
{
	unsigned int lane, i;
	u32 seq;

	for (seq = e->link.rx + 1; seq - e->link.rx <= H_LANES; seq++) {
		lane = h_lane(seq);
		e->have[lane] = 0;
		e->kept[lane] = 0;
		for (i = 0; i < M_SLICES; i++) {
			u8 piece = e->slot[lane][i];

			e->have[lane] |= (piece ? 1ULL : 0) << i;
			e->kept[lane] += piece ? M_LEN / M_PIECE_N(piece) : 0;
		}
	}
}

/* What an end has committed and the other has not delivered, in order. */
static void remember_undelivered(const struct m_world *w, struct m_end *e)
{
	unsigned int i;

	e->nundelivered = 0;
	if (w->arbitrary) {
		if (e->committed && !w->tx[e->committed - 1].delivered)
			e->undelivered[e->nundelivered++] = e->committed;
		return;
	}
	for (i = 0; i < w->ntx; i++) {
		const struct m_tx *tx = &w->tx[i];

		if (tx->from == e->who && tx->ended && !tx->delivered &&
		    tx->outcome == OAE_COMMITTED && !tx->excused &&
		    e->nundelivered < H_LANES)
			e->undelivered[e->nundelivered++] = i + 1;
	}
}

/**
 * m_remember() - before every event: what follows from a state, and is not in it
 * @w: the world
 */
void m_remember(struct m_world *w)
{
	unsigned int i, who;

	m_fix(w);
	for (who = A; who <= B; who++) {
		struct m_end *e = &w->end[who];

		e->timer_at = e->link.timer.at;
		remember_kept(e);
		e->last_id = 0;
		e->last_half = 0;
		e->wanted = e->tag && e->link.wanted;
		remember_undelivered(w, e);
	}
	for (i = 0; i < w->ntx; i++) {
		struct m_end *e = &w->end[!w->tx[i].from];

		if (!w->tx[i].delivered)
			continue;
		if (w->tx[i].kind == OAE_SWAP)
			e->last_half = i + 1;
		else
			e->last_id = i + 1;
	}
}

/**
 * m_event() - an event begins
 * @ev: filled in; stays where it is until the event is over
 * @w: the world
 * @who: at which end
 * @a: for what the link will want
 */
void m_event(struct h_event *ev, struct m_world *w, unsigned int who,
	     struct oae_actions *a)
{
	*ev = (struct h_event){
		.world = w, .a = a, .now = M_NOW, .anything = w->arbitrary,
		.end = (struct h_end *)&w->end[who],
		.peer = (struct h_end *)&w->end[!who],
		.rcvbuf = w->sc->rcvbuf,
	};

	if (a)
		h_begin(ev);
	if (!w->sc->ways)
		return;
	if (a && w->end[who].tag && m_way_refresh(&w->end[who], a))
		h_ops(ev);
	w->end[who].goes_via = w->end[who].way.via;
}

/**
 * m_make_tag() - an end gets a tag, with a link that is CLOSED
 * @w: the world
 * @who: which end
 * @flags: OAE_F_VIA if it is for a frame that came through the gateway
 * @line: that gives the link its name
 */
void m_make_tag(struct m_world *w, unsigned int who, u8 flags, unsigned int line)
{
	m_link_init(w, who);
	w->end[who].path.line[OAE_PATH_OWN] = line;
	if (w->sc->lines)
		w->end[who].link.mtu.here = m_line_mtu(w, &w->end[who], line);
	if (w->sc->ways)
		m_way_begin(&w->end[who], flags & OAE_F_VIA);
	w->end[who].tag = true;
}
