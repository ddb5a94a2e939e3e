// SPDX-License-Identifier: GPL-2.0
/* A network with links at its edge, event by event. See sim_flow.h. */
#include <stdarg.h>
#include <stdlib.h>
#include "sim_flow.h"
#include "../../modoae/link/admission.h"
#include "../../modoae/link/pack.h"

#define COOKIE_NS	(200 * FLOW_MS)

enum flow_kind { FLOW_FRAME, FLOW_TIMER, FLOW_READ };

/* The links' random has no context; a run sets this. */
static u64 core_rng;

static u64 xorshift(u64 *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dULL;
}

static u32 core_random(void)
{
	return xorshift(&core_rng) >> 32 | 1;
}

static u64 upto(struct flow *w, u64 n)
{
	return (xorshift(&w->rng) >> 16) % n;
}

static bool chance(struct flow *w, unsigned int of)
{
	return of && upto(w, FLOW_OF) < of;
}

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static struct flow_end *here(const struct h_event *ev)
{
	return (struct flow_end *)ev->end;
}

/* The index of an end in events. */
static u32 index_of(const struct flow *w, const struct flow_end *e)
{
	return (e->both - w->pair) * 2 + e->who;
}

/* --- events ------------------------------------------------------------------------ */

static bool earlier(const struct flow_event *a, const struct flow_event *b)
{
	return a->when < b->when || (a->when == b->when && a->order < b->order);
}

static void put(struct flow *w, u64 when, enum flow_kind kind, u32 index)
{
	struct flow_event ev = { .when = when, .order = w->order++, .kind = kind, .index = index };
	unsigned int i = w->nheap++, up;

	if (w->nheap > w->heap_room) {
		w->heap_room = 2 * w->heap_room + 1024;
		w->heap = need(realloc(w->heap, w->heap_room * sizeof(*w->heap)));
	}
	for (; i; i = up) {
		up = (i - 1) / 2;
		if (!earlier(&ev, &w->heap[up]))
			break;
		w->heap[i] = w->heap[up];
	}
	w->heap[i] = ev;
}

static struct flow_event take(struct flow *w)
{
	struct flow_event first = w->heap[0], last = w->heap[--w->nheap];
	unsigned int i = 0, down;

	while ((down = 2 * i + 1) < w->nheap) {
		if (down + 1 < w->nheap && earlier(&w->heap[down + 1], &w->heap[down]))
			down++;
		if (!earlier(&w->heap[down], &last))
			break;
		w->heap[i] = w->heap[down];
		i = down;
	}
	w->heap[i] = last;
	return first;
}

/* --- lines ------------------------------------------------------------------------- */

static u32 new_pkt(struct flow *w)
{
	unsigned int n = w->npkts, i;

	if (!w->nspare) {
		w->npkts = 2 * n + 1024;
		w->pkt = need(realloc(w->pkt, w->npkts * sizeof(*w->pkt)));
		w->spare = need(realloc(w->spare, w->npkts * sizeof(*w->spare)));
		for (i = n; i < w->npkts; i++)
			w->spare[w->nspare++] = i;
	}
	return w->spare[--w->nspare];
}

static struct flow_way *way_of(struct flow *w, const struct flow_pkt *p)
{
	return &w->pair[p->pair].to[p->path][p->to];
}

static u64 on_line(u16 len)
{
	u64 n = len + FLOW_FRAMING;

	return n < FLOW_SHORTEST ? FLOW_SHORTEST : n;
}

/* How long a frame that is sent now is on its way. */
static u64 delay_of(const struct flow_like *x, u64 now)
{
	unsigned int n = 0;

	if (!x->each)
		return x->delay;
	while (n < FLOW_DELAYS && x->delays[n])
		n++;
	return x->delays[now / x->each % n];
}

/* False: the queue is full. */
static bool through_queue(struct flow *w, struct flow_line *l, u64 n, u64 *sent)
{
	const struct flow_like *x = &l->like;

	*sent = w->now;
	if (!x->byte)
		return true;
	while (l->n && l->done[l->first] <= w->now) {
		l->first = (l->first + 1) % FLOW_QUEUE;
		l->n--;
	}
	if (l->n >= (x->queue ? x->queue : FLOW_QUEUE))
		return false;
	l->busy = (l->busy > w->now ? l->busy : w->now) + n * x->byte;
	l->done[(l->first + l->n++) % FLOW_QUEUE] = l->busy;
	*sent = l->busy;
	return true;
}

/* A frame comes to a line: it is lost, or it has a time at which it comes out. */
static void enter(struct flow *w, u32 i)
{
	struct flow_pkt *p = &w->pkt[i];
	struct flow_way *way = way_of(w, p);
	struct flow_line *l = p->hop ? way->shared : &way->way;
	u64 n = on_line(p->len), due;
	const struct flow_like *x;

	if (l->like.other && way->turn++ & 1)
		l = &way->other;
	x = &l->like;
	if (chance(w, x->lose) || !through_queue(w, l, n, &due)) {
		l->dropped++;
		w->spare[w->nspare++] = i;
		return;
	}
	l->bytes += n;
	due += delay_of(x, due);
	if (x->jitter)
		due += upto(w, x->jitter);
	if (x->every && due % x->every < x->hold)
		due += x->hold - due % x->every;
	if (chance(w, x->late)) {
		due += upto(w, x->very_late);
	} else {
		due = due < l->last ? l->last : due;
		l->last = due;
	}
	put(w, due, FLOW_FRAME, i);
}

static void transmit(struct flow_end *e, unsigned int path, const struct oae_frame *f, u64 id)
{
	struct flow_pair *pair = e->both;
	struct flow *w = e->w;
	struct flow_pkt *p;
	u32 i = new_pkt(w);

	p = &w->pkt[i];
	p->f = *f;
	p->id = id;
	p->pair = pair - w->pair;
	p->to = !e->who;
	p->path = path;
	p->hop = 0;
	p->len = OAE_HDR_LEN;
	p->len += f->opcode == OAE_OFFER || f->opcode == OAE_ASK ? f->length :
								    oae_frame_body_len(f);
	p->f.hdr_len = OAE_HDR_LEN;
	e->frames++;
	e->slices += f->opcode == OAE_OFFER;
	pair->to[path][p->to].frames++;
	enter(w, i);
}

/* --- transactions, for the harness --------------------------------------------------- */

static void fail(struct flow *w, const struct flow_end *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void fail(struct flow *w, const struct flow_end *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (w->why[0])
		return;
	n = snprintf(w->why, sizeof(w->why), "%.3f ms, link %d, %c: ", (double)w->now / FLOW_MS,
		     (int)(e->both - w->pair), 'A' + e->who);
	va_start(ap, fmt);
	vsnprintf(w->why + n, sizeof(w->why) - n, fmt, ap);
	va_end(ap);
}

void h_fail(struct h_event *ev, u64 id, const char *why)
{
	char text[160];

	h_text(text, sizeof(text), why, id);
	fail(ev->world, here(ev), "%s", text);
	ev->stop = true;
}

/* A name says which end has posted it, and whether it is a pack. */
static u64 name_of(u64 serial, bool pack, unsigned int who)
{
	return serial << 2 | pack << 1 | who;
}

static struct flow_tx *tx_of(struct h_event *ev, h_id id)
{
	struct flow_end *e = &here(ev)->both->end[id & 1];

	return id & 2 ? &e->pack[(id >> 2) % FLOW_PACKS] : &e->ring[(id >> 2) % FLOW_RING];
}

struct h_tx *h_find(struct h_event *ev, h_id id)
{
	struct flow_tx *tx = tx_of(ev, id);

	return id && tx->id == id ? (struct h_tx *)tx : NULL;
}

/* A transaction of a pack. */
static struct flow_tx *member(struct h_event *ev, const struct flow_tx *pack, unsigned int i)
{
	return tx_of(ev, pack->member + (i << 2));
}

static u64 hash_of(h_id id, unsigned int slice, u32 len)
{
	u64 in[2] = { id, (u64)slice << 32 | len };

	return oae_xxh64(in, sizeof(in), 0);
}

u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id, unsigned int slice, u32 off,
	    u32 len, u64 *first)
{
	(void)ev;
	(void)tx;
	(void)off;
	*first = id;
	return hash_of(id, slice, len);
}

void h_post(struct h_event *ev, struct h_tx *htx, h_id id, u16 max, struct oae_post *p)
{
	struct flow_tx *tx = (struct flow_tx *)htx;

	tx->cut = max;
	if (!max)
		tx->cut = tx->n ? tx->len :
				  oae_link_cut(&ev->end->link, tx->kind, tx->len);
	h_cut(ev, htx, id, tx->cut, p);
}

u16 h_compute(struct h_event *ev, u16 *reply)
{
	(void)ev;
	(void)reply;
	return OAE_R_BAD_VERB;
}

static struct flow_slice *kept(struct h_event *ev, u32 seq, unsigned int slice)
{
	return &here(ev)->kept_of[h_lane(seq)][slice];
}

void h_keep(struct h_event *ev, unsigned int slice)
{
	const struct flow_pkt *p = ev->raw;

	*kept(ev, ev->seq, slice) = (struct flow_slice){
		.id = p->id, .hash = ev->f->payload_hash, .len = ev->f->length,
	};
}

u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice)
{
	return kept(ev, seq, slice)->hash;
}

void h_drop(struct h_event *ev)
{
	(void)ev;
}

h_id h_whose(struct h_event *ev, unsigned int n, u8 kind)
{
	h_id id = kept(ev, ev->seq, 0)->id;
	unsigned int i;

	(void)kind;
	for (i = 0; i < n; i++) {
		const struct flow_slice *s = kept(ev, ev->seq, i);

		if (s->id != id || s->hash != hash_of(id, i, s->len)) {
			h_fail(ev, id, "G1: # is altered");
			return 0;
		}
	}
	return id;
}

/* What a message costs. */
static u32 size_of(u32 len)
{
	return len + OAE_SLICE_COST * (1 + len / FLOW_MTU);
}

static void read_next(struct flow_end *e)
{
	e->read_at = e->w->now + e->work.read;
	put(e->w, e->read_at, FLOW_READ, index_of(e->w, e));
}

/* Each of a pack is delivered, in its place. */
static void unpacked(struct h_event *ev, struct flow_tx *pack)
{
	unsigned int i;

	for (i = 0; i < pack->n; i++) {
		struct flow_tx *tx = member(ev, pack, i);

		if (tx->delivered || tx->id <= ev->end->last_id)
			h_fail(ev, tx->id, "G1: # delivered twice, or after one that is younger");
		tx->delivered = true;
		ev->end->last_id = tx->id;
	}
}

void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id)
{
	struct flow_end *e = here(ev);
	u32 size = size_of(tx->len);

	(void)op;
	(void)id;
	if (tx->kind == OAE_PACK)
		unpacked(ev, (struct flow_tx *)tx);
	if (!e->work.read)
		return;
	e->unread_len[(e->read_first + e->unread++) % FLOW_RING] = size;
	e->unread_bytes += size;
	if (e->unread == 1)
		read_next(e);
}

void h_told(struct h_event *ev, struct h_tx *htx, h_id id, int err)
{
	struct flow_tx *tx = (struct flow_tx *)htx;
	struct flow_end *e = here(ev);
	unsigned int n = (tx->len + tx->cut - 1) / tx->cut, i;
	u32 last = tx->len - (n - 1) * tx->cut;

	(void)id;
	for (i = 0; i < tx->n; i++) {
		if (member(ev, tx, i)->ended)
			h_fail(ev, id, "G3: # ends twice, in a pack");
		member(ev, tx, i)->ended = true;
		member(ev, tx, i)->outcome = tx->outcome;
	}
	e->under_way -= tx->n ? tx->n : 1;
	if (err)
		return;
	e->commits += tx->n ? tx->n : 1;
	e->needed += n;
	e->bytes += tx->n ? tx->len - oae_pack_head_len(tx->n) : tx->len;
	for (i = 0; i < n; i++)
		e->wire += on_line(OAE_HDR_LEN + (i < n - 1 ? tx->cut : last));
}

void h_noted(struct h_event *ev, u8 note)
{
	here(ev)->notes[note]++;
}

void h_timer(struct h_event *ev)
{
	struct flow_end *e = here(ev);

	put(ev->world, e->timer_at, FLOW_TIMER, index_of(ev->world, e));
}

/* As modoae/tag/inbox.c reckons it. */
static u32 room(const struct flow_end *e)
{
	return e->unread_bytes < e->rcvbuf ? e->rcvbuf - e->unread_bytes : 0;
}

static void post(struct h_event *ev, struct flow_end *e)
{
	const struct flow_work *work = &e->work;
	u64 id = name_of(++e->serial, false, e->who);
	struct flow_tx *tx = &e->ring[e->serial % FLOW_RING];

	*tx = (struct flow_tx){ .id = id };
	tx->from = e->who;
	tx->kind = OAE_MESSAGE;
	tx->len = work->len;
	if (work->len_to)
		tx->len += upto(e->w, work->len_to - work->len + 1);
	if (work->often && !(e->serial % work->often))
		tx->len = work->long_len;
	h_enqueue(ev, (struct h_tx *)tx, id);
	e->under_way++;
}

void h_more(struct h_event *ev)
{
	struct flow_end *e = here(ev);

	while (e->tag && e->queued < e->work.deep &&
	       (!e->work.most || e->under_way < e->work.most))
		post(ev, e);
}

struct h_tx *h_pack(struct h_event *ev, h_id *id)
{
	u32 max = oae_link_pack_max(&ev->end->link), len = OAE_PACK_HDR_LEN;
	struct flow_end *e = here(ev);
	h_id first = e->queue.first, at = first;
	struct flow_tx *pack;
	unsigned int n = 0, i;

	/* What came back is in order, and may have a gap in it. */
	for (; n < OAE_PACK_MSGS && at == first + (n << 2); n++, at = tx_of(ev, at)->next) {
		len += tx_of(ev, at)->len + OAE_PACK_LEN_LEN;
		if (len > max)
			break;
	}
	if (n < 2)
		return NULL;
	pack = &e->pack[++e->packs % FLOW_PACKS];
	*pack = (struct flow_tx){ .id = name_of(e->packs, true, e->who), .member = first, .n = n };
	pack->from = e->who;
	pack->kind = OAE_PACK;
	pack->len = oae_pack_head_len(n);
	for (i = 0; i < n; i++)
		pack->len += ((struct flow_tx *)h_dequeue(ev, &e->queue, id))->len;
	*id = pack->id;
	return (struct h_tx *)pack;
}

void h_dissolve(struct h_event *ev, struct h_tx *htx, h_id id, bool refused)
{
	struct flow_tx *pack = (struct flow_tx *)htx, *tx;
	unsigned int i;

	(void)id;
	(void)refused;
	pack->at_link = false;
	pack->lost = true;
	for (i = pack->n; i--;) {
		tx = member(ev, pack, i);
		h_requeue(ev, (struct h_tx *)tx, tx->id);
	}
}

/* --- paths: one for each line, and no other ------------------------------------------ */

static unsigned int path_by(const struct flow_end *e, unsigned int line)
{
	unsigned int i;

	if (!e->begun)
		return line ? OAE_PATHS_MAX : OAE_PATH_OWN;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (e->ps.path[i].there && e->line[i] == line)
			break;
	return i;
}

static unsigned int add_path(struct flow_end *e, unsigned int line)
{
	int i = oae_path_add(&e->ps, FLOW_MTU, true);

	if (i < 0)
		return OAE_PATHS_MAX;
	e->line[i] = line;
	return i;
}

static void begin_paths(struct flow_end *e)
{
	struct h_event *ev = &e->w->ev;

	if (e->begun)
		return;
	e->begun = true;
	e->line[OAE_PATH_OWN] = 0;
	ev->conn.paths = &e->ps;
	ev->now = oae_paths_now(&e->ps, &e->link, ev->now);
	oae_paths_init(&e->ps, &e->link, FLOW_MTU, true, ev->now);
}

struct oae_paths *h_paths(struct h_event *ev)
{
	struct flow_end *e = here(ev);

	if (!e->tag)
		e->begun = false;
	return e->begun ? &e->ps : NULL;
}

static void send_path(struct flow_end *e, unsigned int i, u8 role, u64 nonce)
{
	struct oae_link_mark m;
	struct oae_frame f = {
		.opcode = OAE_PATH,
		.path = { .role = role, .mtu = FLOW_MTU, .nonce = nonce },
	};

	oae_link_mark(&e->link, &m);
	f.path.proof = m.inc ^ m.peer_inc;
	transmit(e, e->line[i], &f, 0);
}

void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *tx, h_id id)
{
	struct flow_end *e = here(ev);
	unsigned int to, i;

	if (f->opcode == OAE_OFFER && tx) {
		f->payload_hash = hash_of(id, f->slice, f->length);
		f->first = f->slice ? 0 : id;
	}
	if (!e->begun) {
		transmit(e, 0, f, id);
		return;
	}
	to = oae_conn_out(&ev->conn, f);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		struct oae_frame one;

		if (!(to & 1U << i) || !e->ps.path[i].there)
			continue;
		one = *f;
		if (f->opcode == OAE_SYNC) {
			one.dst_ltag = oae_path_names(&e->ps, i, &e->link);
			if (!e->ps.path[i].proven)
				one.sync.peer_inc = 0;
		}
		transmit(e, e->line[i], &one, id);
	}
}

/* --- the events of an end ------------------------------------------------------------- */

static struct h_event *begin(struct flow_end *e)
{
	struct flow *w = e->w;

	w->ev = (struct h_event){
		.world = w, .end = (struct h_end *)e,
		.peer = (struct h_end *)&e->both->end[!e->who], .a = &w->act, .now = w->now,
		.max_len = e->cfg.max_len, .stop = w->why[0] != '\0',
	};
	h_begin(&w->ev);
	return &w->ev;
}

/* As the shell says it of a path. */
static void watch_lossy(struct flow_end *e)
{
	unsigned int i;

	for (i = 0; e->begun && i < OAE_PATHS_MAX; i++) {
		bool lossy = e->ps.path[i].there && e->ps.path[i].loss.lossy;

		if (lossy == !!(e->said & 1U << i))
			continue;
		e->said ^= 1U << i;
		e->lossy += lossy;
	}
}

static void finish(struct h_event *ev)
{
	struct flow_end *e = here(ev);

	h_finish(ev);
	watch_lossy(e);
	/* It is a test of time: now and then is enough. */
	if (!(e->w->events & 63))
		h_check(ev);
}

static void make_tag(struct flow_end *e)
{
	oae_link_init(&e->link, &e->cfg, 0, FLOW_MTU, 0);
	memset(&e->swaps, 0, sizeof(e->swaps));
	oae_link_lend_swaps(&e->link, &e->swaps);
	oae_link_rank(&e->link, e->who == B);
	e->tag = true;
	e->timer_at = 0;
	e->begun = false;
	e->said = 0;
}

static u32 cookie(const struct flow_end *e, u32 src_ltag, u64 when)
{
	u64 in[3] = { e->cookie_key, src_ltag, when };

	return oae_cookie(oae_xxh64(in, sizeof(in), 0));
}

static void stranger(struct flow_end *e, unsigned int line, const struct oae_frame *f)
{
	u64 when = e->w->now / COOKIE_NS;
	const struct oae_asker who = {
		.cookie = { cookie(e, f->src_ltag, when), cookie(e, f->src_ltag, when - 1) },
	};
	struct oae_admission v;
	struct h_event *ev;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_TAG && !line) {
		make_tag(e);
		ev = begin(e);
		oae_link_accept(&e->link, f, room(e), ev->now, ev->a);
		finish(ev);
	} else if (v.verdict == OAE_ADMIT_ANSWER || v.verdict == OAE_ADMIT_EXPECTED) {
		transmit(e, line, &v.answer, 0);
	}
}

static void made_room(struct flow_end *e)
{
	struct h_event *ev;

	if (!e->tag)
		return;
	ev = begin(e);
	oae_link_made_room(&e->link, room(e), ev->now, ev->a);
	finish(ev);
}

static void path_rcv(struct flow_end *e, unsigned int line, const struct oae_frame *f)
{
	struct oae_link_mark m;
	struct h_event *ev;
	unsigned int i;
	bool good;

	oae_link_mark(&e->link, &m);
	if (!e->tag || !oae_link_knows_paths(&e->link) || f->path.proof != (m.inc ^ m.peer_inc))
		return;
	ev = begin(e);
	begin_paths(e);
	i = path_by(e, line);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = add_path(e, line);
	good = i != OAE_PATHS_MAX && oae_conn_path_rcv(&ev->conn, i, f, ev->now, ev->a);
	if (good && f->path.role == OAE_PATH_PROBE)
		send_path(e, i, OAE_PATH_ANSWER, f->path.nonce);
	finish(ev);
}

static void receive(struct flow_end *e, const struct flow_pkt *p, struct oae_frame *f)
{
	struct h_event *ev;
	unsigned int i;

	if (f->opcode == OAE_PATH) {
		path_rcv(e, p->path, f);
		return;
	}
	i = e->tag ? path_by(e, p->path) : OAE_PATHS_MAX;
	if (i == OAE_PATHS_MAX) {
		if (!e->tag)
			stranger(e, p->path, f);
		return;
	}
	ev = begin(e);
	ev->raw = p;
	ev->f = f;
	if (!oae_conn_heard(&ev->conn, i, f, ev->now, ev->a)) {
		finish(ev);
		return;
	}
	if (f->opcode == OAE_OFFER && oae_link_lacks_for(&e->link, f))
		h_lend(ev);
	oae_conn_rcv(&ev->conn, f, room(e), ev->now, ev->a);
	finish(ev);
}

static void arrive(struct flow *w, u32 i)
{
	struct flow_pkt p;

	if (!w->pkt[i].hop && way_of(w, &w->pkt[i])->shared) {
		w->pkt[i].hop = 1;
		enter(w, i);
		return;
	}
	p = w->pkt[i];
	w->spare[w->nspare++] = i;
	receive(&w->pair[p.pair].end[p.to], &p, &p.f);
}

/* Where else the peer is: by every line. */
static void look(struct flow_end *e)
{
	unsigned int i;

	e->looked_at = e->w->now;
	begin_paths(e);
	for (i = 0; i < e->w->npaths; i++)
		if (path_by(e, i) == OAE_PATHS_MAX)
			add_path(e, i);
	for (i = 1; i < OAE_PATHS_MAX; i++)
		if (oae_path_hopeless(&e->ps, i, &e->link))
			oae_path_del(&e->ps, i);
}

static void fires(struct flow_end *e)
{
	struct h_event *ev;
	unsigned int probed = 0, i;
	u64 nonce = 0;

	e->timer_at = 0;
	ev = begin(e);
	oae_link_timer(&e->link, ev->now, ev->a);
	if (e->tag && oae_link_knows_paths(&e->link)) {
		if (!e->begun || e->w->now - e->looked_at >= e->cfg.keepalive)
			look(e);
		nonce = (xorshift(&e->w->rng) & ~(u64)(OAE_PATHS_MAX - 1)) | OAE_PATHS_MAX;
		probed = oae_conn_timer(&ev->conn, nonce, ev->now, ev->a);
	}
	finish(ev);
	for (i = 0; i < OAE_PATHS_MAX && e->begun; i++)
		if (probed & 1U << i)
			send_path(e, i, OAE_PATH_PROBE, nonce + i);
	e->hasty = e->timer_at && e->timer_at <= e->w->now + FLOW_US ? e->hasty + 1 : 0;
	if (e->hasty > 3)
		fail(e->w, e, "the timer fires without end");
}

static void reader(struct flow_end *e)
{
	e->unread_bytes -= e->unread_len[e->read_first];
	e->read_first = (e->read_first + 1) % FLOW_RING;
	if (--e->unread)
		read_next(e);
	made_room(e);
}

/* --- the world -------------------------------------------------------------------------- */

static void lay(struct flow_way *way, unsigned int who, const struct flow_like *like,
		struct flow_line *shared)
{
	way->way.like = *like;
	if (who == A && like->one_way) {
		way->way.like.lose = 0;
		way->way.like.late = 0;
		way->way.like.every = 0;
	}
	way->other.like = way->way.like;
	way->other.like.delay += like->other;
	way->shared = shared->like.byte ? shared : NULL;
}

static void make_end(struct flow *w, struct flow_pair *pair, unsigned int who,
		     const struct flow_net *net)
{
	struct flow_end *e = &pair->end[who];

	e->w = w;
	e->both = pair;
	e->who = who;
	e->work = net->work[who];
	e->rcvbuf = net->rcvbuf;
	e->cookie_key = xorshift(&w->rng);
	e->cfg = (struct oae_link_cfg){
		.stall_min = FLOW_MS, .stall_max = 200 * FLOW_MS, .keepalive = 1000 * FLOW_MS,
		.dead = 5000 * FLOW_MS, .max_len = 65536,
		.window = net->window, .pack = net->pack, .paths = true,
		.random = core_random,
	};
}

/**
 * flow_new() - a world, in which each A opens its link
 * @net: what it is like
 *
 * Return: the world.
 */
struct flow *flow_new(const struct flow_net *net)
{
	struct flow *w = need(calloc(1, sizeof(*w)));
	unsigned int i, j, who;
	struct h_event *ev;

	w->rng = oae_xxh64(&net->seed, sizeof(net->seed), 1) | 1;
	core_rng = oae_xxh64(&net->seed, sizeof(net->seed), 2) | 1;
	w->now = 1000 * FLOW_MS;
	w->npairs = net->pairs;
	w->npaths = net->paths;
	w->pair = need(calloc(w->npairs, sizeof(*w->pair)));
	for (who = 0; who < 2; who++)
		w->shared[who].like = net->shared[who];
	for (i = 0; i < w->npairs; i++) {
		for (who = 0; who < 2; who++) {
			make_end(w, &w->pair[i], who, net);
			for (j = 0; j < w->npaths; j++)
				lay(&w->pair[i].to[j][who], who, &net->like[j], &w->shared[who]);
		}
	}
	for (i = 0; i < w->npairs; i++) {
		struct flow_end *e = &w->pair[i].end[A];

		make_tag(e);
		ev = begin(e);
		oae_link_open(&e->link, ev->now, ev->a);
		finish(ev);
	}
	return w;
}

void flow_free(struct flow *w)
{
	free(w->pair);
	free(w->heap);
	free(w->pkt);
	free(w->spare);
	free(w);
}

/**
 * flow_run() - let everything happen that is due until then
 * @w: the world
 * @until: then, ns
 */
void flow_run(struct flow *w, u64 until)
{
	while (!w->why[0] && w->nheap && w->heap[0].when <= until) {
		struct flow_event ev = take(w);
		struct flow_end *e;

		w->events++;
		w->now = ev.when > w->now ? ev.when : w->now;
		if (ev.kind == FLOW_FRAME) {
			arrive(w, ev.index);
			continue;
		}
		e = &w->pair[ev.index / 2].end[ev.index & 1];
		if (ev.kind == FLOW_READ && e->read_at == ev.when && e->unread)
			reader(e);
		else if (ev.kind == FLOW_TIMER && e->tag && e->timer_at == ev.when)
			fires(e);
	}
	if (!w->why[0] && w->now < until)
		w->now = until;
}

/* Are all links OPEN at both ends? */
bool flow_open(const struct flow *w)
{
	unsigned int i;

	for (i = 0; i < 2 * w->npairs; i++) {
		const struct flow_end *e = &w->pair[i / 2].end[i & 1];

		if (!e->tag || oae_link_state(&e->link) != OAE_OPEN)
			return false;
	}
	return true;
}

/* Do all ends know all paths? */
bool flow_proven(const struct flow *w)
{
	unsigned int i, j, n;

	for (i = 0; i < 2 * w->npairs; i++) {
		const struct flow_end *e = &w->pair[i / 2].end[i & 1];

		for (j = 0, n = 0; e->begun && j < OAE_PATHS_MAX; j++)
			n += e->ps.path[j].there && e->ps.path[j].proven && e->ps.path[j].good;
		if (n < w->npaths)
			return false;
	}
	return true;
}

/**
 * flow_used() - by which line an end asks
 * @e: the end
 *
 * Return: the line.
 */
unsigned int flow_used(const struct flow_end *e)
{
	return e->begun ? e->line[e->ps.used] : 0;
}

/**
 * flow_freezes() - how often an end has frozen of its own accord
 * @e: the end
 *
 * Return: as often.
 */
unsigned long flow_freezes(const struct flow_end *e)
{
	static const u8 froze[] = {
		OAE_N_STALL, OAE_N_MISMATCH, OAE_N_NOLINK, OAE_N_IMPOSSIBLE,
	};
	unsigned long n = 0;
	unsigned int i;

	for (i = 0; i < sizeof(froze); i++)
		n += e->notes[froze[i]];
	return n;
}
