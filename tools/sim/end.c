// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a link: the shell around the core, as the module is one. The actions
 * are carried out by tests/harness; here is what a slice, a post and a timer are.
 */
#include <stdlib.h>
#include "sim.h"

/* Of all that is set anew for an event, only this is looked at before. */
static struct oae_actions *begin(struct world *w, struct end *e)
{
	w->n.calls++;
	w->ev = (struct h_event){
		.world = w, .end = end_h(e), .peer = end_h(end_peer(w, e)),
		.a = &w->act, .now = w->now, .rcvbuf = w->cfg->rcvbuf,
		.max_len = w->knobs.max_len, .stop = w->why[0] != '\0',
	};
	h_begin(&w->ev);
	return &w->act;
}

/* So much for the event. */
static void over(struct world *w)
{
	struct h_event *ev = &w->ev;

	h_check(ev);
	w->n.calls += ev->calls;
	w->n.excused += ev->excused;
	ev->f = NULL;
}

void h_timer(struct h_event *ev)
{
	struct world *w = ev->world;

	wheel_put(&w->wheel, ev->end->timer_at, EVENT_REF(KIND_TIMER, 0),
		  end_index(w, end_of(ev->end)));
}

/**
 * end_free_slices() - forget all slices kept of a number
 * @w: the world
 * @e: the end
 * @seq: the number
 */
void end_free_slices(struct world *w, struct end *e, u32 seq)
{
	struct kept *k = end_kept(e, seq);
	u64 have = e->have[h_lane(seq)];
	unsigned int i;

	if (have & 1)
		content_drop(w, &k->slice);
	if (k->more) {
		for (i = 1; i < OAE_MAX_SLICES; i++)
			if (have >> i & 1)
				content_drop(w, &k->more[i - 1]);
		free(k->more);
		k->more = NULL;
	}
}

/**
 * end_free() - free all that an end has
 * @w: the world
 * @e: the end
 */
void end_free(struct world *w, struct end *e)
{
	u32 i;

	for (i = 0; i < H_LANES; i++) {
		end_free_slices(w, e, i);
		words_release(w, e, i);
	}
	free(e->place);
}

void h_drop(struct h_event *ev)
{
	struct end *e = end_of(ev->end);

	end_free_slices(ev->world, e, ev->seq);
	words_release(ev->world, e, ev->seq);
}

/* Places are found when they are wanted, and kept: most links may have no window. */
struct oae_pair **h_places(struct h_event *ev)
{
	struct end *e = end_of(ev->end);
	struct oae_pair **table;
	unsigned int i;

	if (!e->place)
		e->place = need(malloc(H_LANES * (sizeof(*e->place) + sizeof(*table))));
	memset(e->place, 0, H_LANES * sizeof(*e->place));
	table = (struct oae_pair **)(e->place + H_LANES);
	for (i = 0; i < H_LANES; i++)
		table[i] = &e->place[i];
	return table;
}

void h_keep(struct h_event *ev, unsigned int slice)
{
	struct kept *k = end_kept(end_of(ev->end), ev->seq);
	struct slice *s = &k->slice;

	if (slice) {
		if (!k->more)
			k->more = need(calloc(OAE_MAX_SLICES - 1, sizeof(*s)));
		s = &k->more[slice - 1];
	}
	s->hash = ev->f->payload_hash;
	content_keep(ev->world, s, ev->raw);
}

u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice)
{
	const struct kept *k = end_kept(end_of(ev->end), seq);

	if (!slice)
		return k->slice.hash;
	return k->more ? k->more[slice - 1].hash : 0;
}

struct h_tx *h_find(struct h_event *ev, h_id id)
{
	struct world *w = ev->world;
	struct tx *tx = tx_find(w, id);

	/* Of another link. */
	if (!tx || (tx->end ^ end_index(w, end_of(ev->end))) > 1)
		return NULL;
	return (struct h_tx *)tx;
}

u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id,
	    unsigned int slice, u32 off, u32 len, u64 *first)
{
	(void)tx;
	*first = id;		/* the first word of the content */
	return content_hash(ev->world, id, off, len, slice);
}

void h_post(struct h_event *ev, struct h_tx *htx, h_id id, u16 max,
	    struct oae_post *p)
{
	struct end *e = end_of(ev->end);
	struct tx *tx = (struct tx *)htx;

	unsigned int i = 0;

	if (max) {
		tx->cut = max;
	} else if (tx->kind == OAE_SWAP) {
		e->half_at_link = id;
	} else {
		while (i < AT_LINK - 1 && e->at_link[i])
			i++;
		e->at_link[i] = id;
	}
	h_cut(ev, htx, id, tx->cut, p);
	p->reply = tx->kind == OAE_VERB ? sizeof(u64) : 0;
}

u16 h_compute(struct h_event *ev, u16 *reply)
{
	struct end *e = end_of(ev->end);
	struct world *w = ev->world;
	struct tx *tx = tx_find(w, end_kept(e, ev->seq)->slice.id);
	u16 reason;

	*reply = sizeof(u64);
	/* It may be a late one: of a sender that has crashed, or reversed it. */
	if (!tx)
		return OAE_R_BAD_VERB;
	reason = words_compute(w, e, ev->seq, tx);
	say(w, e, "#%llu computed: %s", TX_SERIAL(tx->id),
	    reason ? "CONFLICT" : "reserved");
	return reason;
}

/* A slice, or with a REFLECT the half that is lent, or the answer. */
void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *htx, h_id id)
{
	struct end *e = end_of(ev->end);
	struct tx *tx = (struct tx *)htx;
	struct world *w = ev->world;
	u32 off;

	if (f->opcode == OAE_OFFER && !tx) {
		/* Nothing, in place of what was reversed. */
		f->first = 0;
		wire_send(w, e, f, TX_NONE, 0);
	} else if (f->opcode == OAE_OFFER) {
		off = f->slice * tx->cut;
		f->payload_hash = content_hash(w, id, off, f->length, f->slice);
		f->first = f->slice ? 0 : id;
		wire_send(w, e, f, id, off);
	} else if (f->opcode == OAE_REFLECT && f->kind == OAE_VERB) {
		wire_send(w, e, f, e->answer[h_lane(f->seq)], 0);
	} else {
		wire_send(w, e, f, id, 0);
	}
}

/* Links with several cables prefer each another one, by their vc. */
static void make_tag(struct world *w, struct end *e, unsigned int cable)
{
	u8 vc = e->cabling ? (end_index(w, e) >> 1) % OAE_PATHS_MAX : 0;

	oae_link_init(&e->link, &w->knobs, vc, w->cfg->mtu, 0);
	oae_link_rank(&e->link, end_index(w, e) & 1);
	memset(&e->swaps, 0, sizeof(e->swaps));
	oae_link_lend_swaps(&e->link, &e->swaps);
	e->tag = true;
	e->timer_at = 0;
	if (e->cabling)
		paths_tag(e, cable);
}

/* Users want more; the link is opened for what they want. */
void h_more(struct h_event *ev)
{
	struct end *e = end_of(ev->end);
	struct world *w = ev->world;

	if (e->under_way < w->refill)
		work_more(w, e);
	if (e->tag || !(e->queue.first || e->halves.first) || ev->stop)
		return;
	make_tag(w, e, 0);
	ev->calls++;
	oae_link_open(&e->link, w->now, &w->act);
	h_ops(ev);
}

static void finish(struct world *w)
{
	h_finish(&w->ev);
	over(w);
}

/**
 * end_begin() - begin an event that is none of sim.h's
 * @w: the world
 * @e: the end, with a tag; end_finish() follows
 */
void end_begin(struct world *w, struct end *e)
{
	begin(w, e);
}

/**
 * end_finish() - end it: ops, posts, sends
 * @w: the world
 */
void end_finish(struct world *w)
{
	finish(w);
}

/**
 * end_enqueue() - a user wants a transaction; end_run() is to follow
 * @w: the world
 * @e: the end
 * @tx: the transaction
 *
 * Return: false if the queue is full; then the transaction is no more.
 */
bool end_enqueue(struct world *w, struct end *e, struct tx *tx)
{
	struct h_event ev = { .world = w, .end = end_h(e) };

	if (e->queued >= w->cfg->sndq) {
		tx_free(w, tx);
		return false;
	}
	h_enqueue(&ev, (struct h_tx *)tx, tx->id);
	e->nhalves += tx->kind == OAE_SWAP;
	e->under_way++;
	say(w, e, "post #%llu, %s%u bytes by %u%s", TX_SERIAL(tx->id),
	    tx->kind == OAE_SWAP ? "a half, " :
	    tx->kind == OAE_VERB ? "a verb, " : "",
	    tx->len, tx->cut, tx->flags & OAE_POST_EXPRESS ? ", express" : "");
	return true;
}

/**
 * end_run() - users have done something at an end
 * @w: the world
 * @e: the end
 */
void end_run(struct world *w, struct end *e)
{
	begin(w, e);
	w->n.calls--;	/* no event but those that feed() makes */
	finish(w);
}

/* What the inbox has free, bytes: each message there costs more than that. */
static u32 room(const struct world *w, const struct end *e)
{
	u32 n = e->unread < w->cfg->rcvbuf ? w->cfg->rcvbuf - e->unread : 0;

	return n < ~0U / OAE_SLICE_COST ? n * OAE_SLICE_COST : ~0U;
}

/**
 * end_receive() - a good frame has come in
 * @w: the world
 * @e: the end
 * @p: the frame
 */
void end_receive(struct world *w, struct end *e, const struct flight *p)
{
	if (e->cabling && !paths_before(w, e, p))
		return;
	if (!e->tag) {
		stranger(w, e, p->cable, &p->f);
		return;
	}
	begin(w, e);
	w->ev.f = &p->f;
	w->ev.raw = p;
	if (e->cabling && !paths_heard(w, e, p)) {
		finish(w);
		return;
	}
	if (p->f.opcode == OAE_OFFER && oae_link_lacks_for(&e->link, &p->f))
		h_lend(&w->ev);
	oae_conn_rcv(&w->ev.conn, &p->f, room(w, e), w->now, &w->act);
	finish(w);
	/* A reader that takes no time has read what was delivered. */
	if (!w->cfg->read_time && e->tag && oae_link_owes_credit(&e->link)) {
		oae_link_made_room(&e->link, room(w, e), w->now, begin(w, e));
		finish(w);
	}
}

/**
 * end_accept() - a stranger has shown a valid cookie
 * @w: the world
 * @e: the end, without a tag
 * @cable: by which it came
 * @f: the SYNC
 */
void end_accept(struct world *w, struct end *e, unsigned int cable,
		const struct oae_frame *f)
{
	make_tag(w, e, cable);
	oae_link_accept(&e->link, f, room(w, e), w->now, begin(w, e));
	finish(w);
}

/**
 * end_timer() - the timer may have fired
 * @w: the world
 * @e: the end; nothing happens if its timer is armed for another time
 */
void end_timer(struct world *w, struct end *e)
{
	if (!e->tag || e->timer_at != w->now)
		return;
	say(w, e, "timer");
	e->timer_at = 0;
	oae_link_timer(&e->link, w->now, begin(w, e));
	if (e->cabling)
		paths_timer(w, e);
	finish(w);
	if (e->cabling)
		paths_probe(w, e);
	/* At once again may be rounding; again and again is a storm. */
	if (e->timer_at && e->timer_at <= w->now + NS_US)
		e->hasty++;
	else
		e->hasty = 0;
	if (e->hasty > 3)
		violation(w, e, "the timer fires without end");
}

/**
 * end_read() - the reader has taken one
 * @w: the world
 * @e: the end
 */
void end_read(struct world *w, struct end *e)
{
	if (!e->unread)
		return;
	if (--e->unread)
		wheel_put(&w->wheel, w->now + w->cfg->read_time,
			  EVENT_REF(KIND_READ, 0), end_index(w, e));
	if (!e->tag)
		return;
	oae_link_made_room(&e->link, room(w, e), w->now, begin(w, e));
	finish(w);
}

/**
 * end_ready() - words are free that a verb was refused for
 * @w: the world
 * @e: the end that refused it
 */
void end_ready(struct world *w, struct end *e)
{
	if (!e->tag)
		return;
	oae_link_ready(&e->link, w->now, begin(w, e));
	finish(w);
}

/**
 * end_give_up() - no work any more: halves that nobody has one for are taken back
 * @w: the world
 * @e: the end
 */
void end_give_up(struct world *w, struct end *e)
{
	const struct end *p = end_peer(w, e);
	struct tx *tx;

	while (e->nhalves && e->nhalves == e->under_way && !p->nhalves &&
	       !w->why[0]) {
		tx = tx_find(w, e->halves.first ? e->halves.first :
						  e->half_at_link);
		if (!tx || tx->lent)
			return;
		end_cancel(w, tx);
	}
}

/**
 * end_cancel() - a writer wants its transaction back
 * @w: the world
 * @tx: which, not ended
 */
void end_cancel(struct world *w, struct tx *tx)
{
	struct end *e = &w->ends[tx->end];

	say(w, e, "cancel #%llu", TX_SERIAL(tx->id));
	begin(w, e);
	/* Of one in the queue the link does not know. */
	if (!tx->at_link)
		w->n.calls--;
	if (h_cancel(&w->ev, tx->id, OAE_E_SIGNAL))
		w->n.in_progress++;
	over(w);
}

/**
 * end_close() - an end's user closes the link
 * @w: the world
 * @e: the end
 */
void end_close(struct world *w, struct end *e)
{
	if (!e->tag)
		return;
	say(w, e, "close");
	oae_link_close(&e->link, w->now, begin(w, e));
	finish(w);
}

/**
 * end_port() - a port has gone down, or come up
 * @w: the world
 * @e: the end
 * @cable: of which, 0 if there is one
 * @up: which of both
 */
void end_port(struct world *w, struct end *e, unsigned int cable, bool up)
{
	say(w, e, "port %s", up ? "up" : "down");
	if (!e->tag)
		return;
	begin(w, e);
	if (e->cabling)
		paths_port(w, e, cable, up);
	else if (up)
		oae_link_port_up(&e->link, w->now, &w->act);
	else
		oae_link_port_down(&e->link, w->now, &w->act);
	finish(w);
}

/**
 * end_ports() - all ports of an end have gone down, or come up
 * @w: the world
 * @e: the end
 * @up: which of both; those of a cable without a carrier stay down
 */
void end_ports(struct world *w, struct end *e, bool up)
{
	unsigned int i;

	if (!e->cabling) {
		end_port(w, e, 0, up);
		return;
	}
	for (i = 0; i < e->cabling->n; i++)
		if (e->cabling->cable[i].fault != CABLE_CARRIER)
			end_port(w, e, i, up);
}

/**
 * end_crash() - a machine stops: its users and its memory with it
 * @w: the world
 * @e: one of its ends
 */
void end_crash(struct world *w, struct end *e)
{
	struct h_event *ev = &w->ev;
	unsigned int i;
	h_id id;

	say(w, e, "crash");
	begin(w, e);
	w->n.calls--;
	for (i = 0; i < AT_LINK; i++) {
		if (e->at_link[i])
			check_lost(w, e, tx_find(w, e->at_link[i]));
		e->at_link[i] = TX_NONE;
	}
	if (e->half_at_link)
		check_lost(w, e, tx_find(w, e->half_at_link));
	e->half_at_link = TX_NONE;
	while (e->queue.first)
		check_lost(w, e, (struct tx *)h_dequeue(ev, &e->queue, &id));
	while (e->halves.first)
		check_lost(w, e, (struct tx *)h_dequeue(ev, &e->halves, &id));
	e->under_way = 0;
	e->nhalves = 0;
	e->unread = 0;
	e->alive = false;
	if (e->tag)
		h_died(ev);
	w->n.excused += ev->excused;
}
