// SPDX-License-Identifier: GPL-2.0
/* One end of the simulation: the shell around a link. See sim.h. */
#include "sim.h"
#include "../../modoae/link/admission.h"

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
	e->mtu = SIM_MTU;
	e->port_up = true;
	e->rcvbuf = 8;
	e->cookie_key = sim_rand(w);
	e->cfg.stall_min = 1 * SIM_MS;
	e->cfg.stall_max = 40 * SIM_MS;
	e->cfg.keepalive = 100 * SIM_MS;
	e->cfg.dead = 500 * SIM_MS;
	e->cfg.max_len = SIM_MAX_LEN;
}

u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id,
	    unsigned int slice, u32 off, u32 len, u64 *first)
{
	u8 buf[SIM_MTU_MAX];

	(void)id;
	sim_content(ev->world, (const struct sim_tx *)tx, off, len, buf);
	if (!slice)
		*first = oae_first_bytes(buf, len);
	return oae_slice_hash(buf, len, slice);
}

void h_post(struct h_event *ev, struct h_tx *htx, h_id id, u16 max,
	    struct oae_post *p)
{
	struct sim_tx *tx = (struct sim_tx *)htx;

	if (max) {
		tx->cut = max;
		sim_say(ev->world, "  #%u cut to %u bytes", (u32)id, max);
	}
	h_cut(ev, htx, id, tx->cut, p);
	if (tx->kind == OAE_VERB)
		p->reply = tx->reply;
}

u16 h_compute(struct h_event *ev, u16 *reply)
{
	struct sim_end *e = (struct sim_end *)ev->end;
	h_id id = h_whose(ev, 1, OAE_VERB);
	struct sim_tx *tx;
	u16 reason;

	if (!id)
		return OAE_R_BAD_VERB;
	tx = &e->w->tx[id - 1];
	reason = sim_verb_compute(e, ev->seq, tx);
	sim_say(e->w, "  %c: #%u computed: %s", name(e), (u32)id,
		reason == OAE_R_CONFLICT ? "CONFLICT" :
		reason ? "refused" : tx->taken ? "taken" : "not taken");
	*reply = tx->reply;
	return reason;
}

/* By the clock of this event, and it fires on its processor. */
void h_timer(struct h_event *ev)
{
	struct sim_end *e = (struct sim_end *)ev->end;

	e->timer_at = e->w->now + e->timer_at - e->w->clock;
	e->armed_second = e->w->clock < e->w->now;
	(void)ev;
}

/* A slice, or with a REFLECT the half that is lent, or the answer; or zeros. */
void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *htx, h_id id)
{
	struct sim_end *e = (struct sim_end *)ev->end;
	struct sim_tx *tx = (struct sim_tx *)htx, *verb;
	u8 more[SIM_MTU_MAX];
	unsigned int i;
	u16 n = 0;

	(void)id;
	if (f->opcode == OAE_OFFER && !tx) {
		/* Nothing. */
	} else if (f->opcode == OAE_OFFER) {
		n = f->length;
		sim_content(e->w, tx, f->slice * tx->cut, n, more);
	} else if (tx) {
		n = tx->len;
		sim_content(e->w, tx, 0, n, more);
	} else if (f->opcode == OAE_ASK) {
		n = f->length;
		memset(more, 0, n);
	} else if (f->opcode == OAE_REFLECT && f->kind == OAE_VERB) {
		n = f->length - OAE_REFLECT_LEN;
		verb = e->verb[h_lane(f->seq)];
		if (n != verb->reply) {
			h_fail(ev, verb->id, "REFLECT of # with another answer");
			return;
		}
		for (i = 0; i < n / sizeof(u64); i++)
			put_unaligned_be64(verb->answer[i],
					   more + i * sizeof(u64));
	}
	if (sim_path_send)
		sim_path_send(e, f, n ? more : NULL, n);
	else
		sim_transmit(e, f, n ? more : NULL, n);
}

/*
 * What the link does not set must not matter. An event is on either of two
 * processors, and the clock of the second is behind.
 */
static struct h_event *begin(struct sim_end *e, bool firing)
{
	struct sim *w = e->w;
	struct h_event *ev = &w->ev;

	*ev = (struct h_event){
		.world = w, .end = (struct h_end *)e,
		.peer = (struct h_end *)&w->end[!e->who], .a = &w->act,
		.now = w->now, .hostile = w->hostile,
		.stop = w->why[0] != '\0',
	};
	if (e->clock_back && e->clock_back < ev->now &&
	    (firing ? e->armed_second : sim_upto(w, 2)))
		ev->now -= e->clock_back;
	w->clock = ev->now;
	memset(&w->act, 0xa5, sizeof(w->act));
	h_begin(ev);
	return ev;
}

/* So much for the event. */
static void over(struct h_event *ev)
{
	struct sim *w = ev->world;

	if (ev->most > w->max_ops)
		w->max_ops = ev->most;
	if (ev->a->nsends > w->max_sends)
		w->max_sends = ev->a->nsends;
	sim_check(w);
}

static void finish(struct h_event *ev)
{
	h_finish(ev);
	over(ev);
}

/**
 * sim_begin() - begin an event that is none of sim.h's
 * @e: the end, with a tag
 *
 * Return: the event.
 */
struct h_event *sim_begin(struct sim_end *e)
{
	return begin(e, false);
}

/**
 * sim_finish() - end it: ops, posts, sends
 * @ev: from sim_begin()
 */
void sim_finish(struct h_event *ev)
{
	finish(ev);
}

static void make_tag(struct sim_end *e)
{
	static const u32 starts[] = { 0, 0xfffffffe, 0xffffffff, 0x7fffffff };
	u32 start = e->w->wild ? starts[sim_upto(e->w, 4)] : 0;
	struct h_event *ev;

	/* A shell may forget a tag that is gone, or use it again. */
	if (e->link.cfg && e->link.state == OAE_CLOSED &&
	    sim_upto(e->w, 2)) {
		ev = begin(e, false);
		oae_link_set_mtu(&e->link, e->mtu, ev->now, ev->a);
		finish(ev);
	} else {
		oae_link_init(&e->link, &e->cfg, e->w->vc, e->mtu, start);
		memset(&e->swaps, 0, sizeof(e->swaps));
		oae_link_lend_swaps(&e->link, &e->swaps);
	}
	oae_link_rank(&e->link, e->who == B);
	e->tag = true;
	e->timer_at = 0;
	if (sim_path_tag)
		sim_path_tag(e);
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
	struct h_event *ev;
	struct sim_tx *tx;
	bool closed;

	if (w->ntx == w->txs)
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
	sim_say(w, "%c: post #%u, %s%u bytes by %u%s", name(e), (u32)tx->id,
		kind == OAE_SWAP ? "half, " : kind == OAE_VERB ? "verb, " : "",
		len, cut, flags & OAE_POST_EXPRESS ? ", express" : "");
	closed = !e->tag;
	if (closed)
		make_tag(e);
	ev = begin(e, false);
	h_enqueue(ev, (struct h_tx *)tx, tx->id);
	if (closed)
		oae_link_open(&e->link, ev->now, ev->a);
	finish(ev);
	return tx;
}

/* A user wants its transaction back. */
void sim_cancel(struct sim_end *e, struct sim_tx *tx)
{
	struct h_event *ev;

	if (tx->ended || tx->lost || !e->tag)
		return;
	sim_say(e->w, "%c: cancel #%u", name(e), (u32)tx->id);
	ev = begin(e, false);
	if (tx->pack)
		sim_pack_cancel(e, ev, tx, OAE_E_SIGNAL);
	else
		h_cancel(ev, tx->id, OAE_E_SIGNAL);
	over(ev);
}

static u32 cookie(const struct sim_end *e, u32 src_ltag, u64 when)
{
	u64 in[3] = { e->cookie_key, src_ltag, when };

	return oae_cookie(oae_xxh64(in, sizeof(in), 0));
}

/* What the inbox has free, bytes: each message there costs more than that. */
static u32 room(const struct sim_end *e)
{
	return e->unread < e->rcvbuf ? (e->rcvbuf - e->unread) * OAE_SLICE_COST : 0;
}

/* A frame for no tag. */
static void stranger(struct sim_end *e, const struct oae_frame *f)
{
	u64 when = e->w->now / COOKIE_NS;
	const struct oae_asker who = {
		.cookie = { cookie(e, f->src_ltag, when),
			    cookie(e, f->src_ltag, when - 1) },
		.shut = e->shut,
	};
	struct oae_admission v;
	struct h_event *ev;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_TAG) {
		make_tag(e);
		ev = begin(e, false);
		oae_link_accept(&e->link, f, room(e), ev->now, ev->a);
		finish(ev);
	} else if (v.verdict != OAE_ADMIT_DROP) {
		sim_transmit(e, &v.answer, NULL, 0);
	}
}

/* There is room again. */
static void made_room(struct sim_end *e)
{
	struct h_event *ev;

	if (!e->tag)
		return;
	ev = begin(e, false);
	oae_link_made_room(&e->link, room(e), ev->now, ev->a);
	finish(ev);
}

void sim_receive(struct sim_end *e, const struct sim_pkt *p,
		 struct oae_frame *f)
{
	struct h_event *ev;

	if (sim_path_before && !sim_path_before(e, p, f))
		return;
	if (!e->tag) {
		stranger(e, f);
		return;
	}
	ev = begin(e, false);
	ev->raw = p;
	ev->f = f;
	if (sim_path_heard && !sim_path_heard(ev)) {
		finish(ev);
		return;
	}
	if (f->opcode == OAE_OFFER && f->kind == OAE_PACK)
		f->unfit = sim_pack_unfit(e, p->buf + f->hdr_len, f->length);
	if (f->opcode == OAE_OFFER && oae_link_lacks_for(&e->link, f) &&
	    (e->w->rich || sim_upto(e->w, 4)))
		h_lend(ev);
	oae_conn_rcv(&ev->conn, f, room(e), ev->now, ev->a);
	finish(ev);
	/* A reader that made room meanwhile may not have seen that the peer is blocked. */
	if (e->tag && oae_link_owes_credit(&e->link))
		made_room(e);
}

/* The reader takes one. */
void sim_read(struct sim_end *e)
{
	if (!e->unread)
		return;
	sim_say(e->w, "%c: read", name(e));
	e->unread--;
	made_room(e);
}

/* An event that has nothing but its name; @what is said. */
void sim_happens(struct sim_end *e, const char *what,
		 void (*happens)(struct oae_link *, u64, struct oae_actions *))
{
	struct h_event *ev;

	if (what)
		sim_say(e->w, "%c: %s", name(e), what);
	if (!e->tag)
		return;
	ev = begin(e, false);
	happens(&e->link, ev->now, ev->a);
	finish(ev);
}

/* There are free words. */
void sim_drained(struct sim_end *e)
{
	struct h_event *ev;

	if (!e->tag)
		return;
	ev = begin(e, false);
	oae_link_ready(&e->link, ev->now, ev->a);
	finish(ev);
}

/* The timer fires; also when it need not have. */
void sim_timer(struct sim_end *e)
{
	struct h_event *ev;

	if (!e->tag)
		return;
	sim_say(e->w, "%c: timer", name(e));
	if (e->timer_at <= e->w->now)
		e->timer_at = 0;
	ev = begin(e, true);
	oae_link_timer(&e->link, ev->now, ev->a);
	if (sim_path_timer)
		sim_path_timer(e, ev->a);
	finish(ev);
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
	if (e->tag)
		sim_happens(e, "close", oae_link_close);
}

/* The knob `window` is another one; places that are not used are taken back. */
void sim_window(struct sim_end *e, u8 window)
{
	struct h_event *ev;

	sim_say(e->w, "%c: window %u", name(e), window);
	e->cfg.window = window;
	if (!e->tag)
		return;
	ev = begin(e, false);
	h_reclaim(ev);
	finish(ev);
}

void sim_kill(struct sim_end *e)
{
	struct h_event *ev;

	if (!e->tag)
		return;
	sim_say(e->w, "%c: kill", name(e));
	ev = begin(e, false);
	oae_link_kill(&e->link, OAE_E_SHUTDOWN, ev->now, ev->a);
	finish(ev);
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
	memset(&e->queue, 0, sizeof(e->queue));
	memset(&e->halves, 0, sizeof(e->halves));
	e->queued = 0;
	e->unread = 0;
	e->cookie_key = sim_rand(w);
	if (e->tag)
		h_died(begin(e, false));
	sim_words_reset(e);
	e->link.cfg = NULL;
}

void sim_port(struct sim_end *e, bool up)
{
	e->port_up = up;
	sim_happens(e, up ? "port up" : "port down",
		    up ? oae_link_port_up : oae_link_port_down);
}

void sim_mtu(struct sim_end *e, u16 mtu)
{
	struct h_event *ev;

	sim_say(e->w, "%c: mtu %u", name(e), mtu);
	e->mtu = mtu;
	if (!e->tag)
		return;
	ev = begin(e, false);
	oae_link_set_mtu(&e->link, mtu, ev->now, ev->a);
	finish(ev);
}
