// SPDX-License-Identifier: GPL-2.0
/*
 * One end of a link: the shell around the core, as the module is one. Queue,
 * slices, reader, timer. What the link does is told to check.c as it happens.
 */
#include <stdlib.h>
#include "sim.h"

/* Of all that is set anew for an event, only this is looked at before. */
static struct oae_actions *begin(struct world *w)
{
	struct oae_actions *a = &w->act;

	w->n.calls++;
	a->nops = 0;
	a->nsends = 0;
	a->overflow = false;
	return a;
}

static void timer_at(struct world *w, struct end *e, u64 at)
{
	if (!at)
		violation(w, e, "TIMER at 0");
	e->timer_at = at;
	wheel_put(&w->wheel, at, EVENT_REF(KIND_TIMER, 0), end_index(w, e));
}

/**
 * end_free_slices() - forget all slices kept
 * @w: the world
 * @e: the end
 */
void end_free_slices(struct world *w, struct end *e)
{
	unsigned int i;

	if (e->have & 1)
		content_drop(w, &e->slice);
	if (e->more) {
		for (i = 1; i < OAE_MAX_SLICES; i++)
			if (e->have >> i & 1)
				content_drop(w, &e->more[i - 1]);
		free(e->more);
		e->more = NULL;
	}
	e->have = 0;
	e->kept = 0;
}

static void keep(struct world *w, struct end *e, unsigned int slice)
{
	const struct flight *p = w->arriving;
	struct slice *s = &e->slice;

	if (!p || p->f.opcode != OAE_OFFER || p->f.slice != slice ||
	    e->have >> slice & 1) {
		violation(w, e, "KEEP of slice %u: not this frame's", slice);
		return;
	}
	if (slice) {
		if (!e->more)
			e->more = need(calloc(OAE_MAX_SLICES - 1, sizeof(*s)));
		s = &e->more[slice - 1];
	}
	content_keep(w, s, p);
	e->have |= 1ULL << slice;
	e->kept += s->len;
}

/* The shell's own of a transaction that leaves the link. */
static void left_link(struct end *e, struct tx *tx)
{
	tx->at_link = false;
	if (e->at_link[0] == tx->id)
		e->at_link[0] = TX_NONE;
	else
		e->at_link[1] = TX_NONE;
}

static void ended(struct world *w, struct end *e, struct tx *tx, u8 outcome,
		  int err)
{
	e->under_way--;
	check_ended(w, e, tx, outcome, err);
	work_ended(w, e);
}

static struct tx *dequeue(struct world *w, struct end *e)
{
	struct tx *tx = tx_find(w, e->queue);

	e->queue = tx->next;
	e->nqueue--;
	return tx;
}

/* Take one out of the middle. False: it is not there. */
static bool unqueue(struct world *w, struct end *e, u64 id)
{
	u64 *at = &e->queue, last = TX_NONE;

	while (*at && *at != id) {
		last = *at;
		at = &tx_find(w, last)->next;
	}
	if (!*at)
		return false;
	*at = tx_find(w, id)->next;
	if (e->queue_last == id)
		e->queue_last = last;
	e->nqueue--;
	return true;
}

static void flush(struct world *w, struct end *e, int err)
{
	while (e->queue)
		ended(w, e, dequeue(w, e), OAE_REVERSED, err);
}

static void reslice(struct world *w, struct end *e, struct tx *tx)
{
	struct oae_post p = { .handle = TX_HANDLE(tx->id) };

	tx->cut = oae_link_slice_max(&e->link);
	if (tx->len <= (u32)OAE_MAX_SLICES * tx->cut)
		tx_post(w, tx, &p);
	w->n.calls++;
	oae_link_resliced(&e->link, &p, w->now, &w->act);
}

/* COMPLETE and RESLICE name a transaction that the link has. */
static void tx_op(struct world *w, struct end *e, const struct oae_op *op)
{
	struct tx *tx = tx_find(w, TX_OF(op->handle));

	if (!tx || !tx->at_link || tx->end != end_index(w, e)) {
		violation(w, e, "G3: #%llu ends, and the link has not got it",
			  TX_SERIAL(TX_OF(op->handle)));
	} else if (op->type == OAE_OP_RESLICE) {
		reslice(w, e, tx);
	} else {
		left_link(e, tx);
		ended(w, e, tx, op->outcome, op->err);
	}
}

static void one_op(struct world *w, struct end *e, const struct oae_op *op)
{
	switch (op->type) {
	case OAE_OP_NOTE:
		check_note(w, e, op->note);
		break;
	case OAE_OP_KEEP:
		keep(w, e, op->slice);
		break;
	case OAE_OP_DISCARD:
		end_free_slices(w, e);
		break;
	case OAE_OP_DELIVER:
		check_delivered(w, e, op->slice);
		if (w->cfg->read_time && !e->unread++)
			wheel_put(&w->wheel, w->now + w->cfg->read_time,
				  EVENT_REF(KIND_READ, 0), end_index(w, e));
		break;
	case OAE_OP_COMPLETE:
	case OAE_OP_RESLICE:
		tx_op(w, e, op);
		break;
	case OAE_OP_CONFIRMED:
		check_confirmed(w, e);
		break;
	case OAE_OP_TIMER:
		timer_at(w, e, op->at);
		break;
	case OAE_OP_FLUSH:
		flush(w, e, op->err);
		break;
	case OAE_OP_GONE:
		if (e->queue)
			violation(w, e, "GONE without FLUSH");
		check_died(w, e);
		break;
	default:
		violation(w, e, "no such op: %u", op->type);
	}
}

/* The ops so far, in order; one may lead to more. */
static void apply(struct world *w, struct end *e)
{
	struct oae_op op;
	unsigned int i;

	for (i = 0; i < w->act.nops && !w->why[0]; i++) {
		op = w->act.op[i];
		one_op(w, e, &op);
	}
	w->act.nops = 0;
}

static void make_tag(struct world *w, struct end *e)
{
	oae_link_init(&e->link, &w->knobs, 0, w->cfg->mtu, 0);
	e->tag = true;
	e->timer_at = 0;
}

/* Give the link what it wants; open it if need be. */
static void feed(struct world *w, struct end *e)
{
	struct oae_post p;
	struct tx *tx;
	int err;

	if (e->under_way < w->refill)
		work_more(w, e);
	while (e->queue && !w->why[0]) {
		if (!e->tag) {
			make_tag(w, e);
			w->n.calls++;
			oae_link_open(&e->link, w->now, &w->act);
			apply(w, e);
		}
		if (!oae_link_wants(&e->link))
			return;
		tx = dequeue(w, e);
		tx->at_link = true;
		e->at_link[e->at_link[0] ? 1 : 0] = tx->id;
		tx_post(w, tx, &p);
		w->n.calls++;
		err = oae_link_post(&e->link, &p, w->now, &w->act);
		if (err)
			violation(w, e, "wants, but post says %d", err);
		apply(w, e);
	}
}

static void send_offer(struct world *w, struct end *e, struct oae_send *s)
{
	struct tx *tx = tx_find(w, TX_OF(s->handle));
	struct oae_frame *f = &s->frame;
	unsigned int i, last;
	u8 flags = f->flags;

	if (!tx || tx->ended || !s->slices) {
		violation(w, e, "OFFER of what has ended, or of no slice");
		return;
	}
	check_offered(w, e, tx);
	last = s->nslices - 1;
	if (s->slices >> last > 1 || last != (tx->len - 1) / tx->cut)
		violation(w, e, "OFFER of slices beyond the last");
	for (i = 0; i <= last; i++) {
		if (!(s->slices >> i & 1))
			continue;
		f->slice = i;
		f->length = i < last ? tx->cut : tx->len - last * tx->cut;
		f->flags = flags | (i == last ? OAE_F_LAST : 0);
		f->payload_hash = content_hash(w, tx->id, i * tx->cut,
					       f->length, i);
		f->first = i ? 0 : tx->id;
		wire_send(w, e, f, tx->id, i * tx->cut);
	}
}

/* Every event ends so: ops, posts, and then all that is to be sent. */
static void finish(struct world *w, struct end *e)
{
	struct oae_actions *a = &w->act;
	unsigned int i;
	struct tx *tx;

	apply(w, e);
	feed(w, e);
	if (a->overflow)
		violation(w, e, "actions overflow");
	for (i = 0; i < a->nsends && !w->why[0]; i++) {
		if (a->send[i].frame.opcode == OAE_OFFER)
			send_offer(w, e, &a->send[i]);
		else
			wire_send(w, e, &a->send[i].frame, TX_NONE, 0);
	}
	/* A refusal is as good as never offered: it was not delivered. */
	if (e->tag && e->link.offer.state == OAE_OFFER_PARKED) {
		tx = tx_find(w, TX_OF(e->link.offer.p.handle));
		if (tx)
			tx->offered = false;
	}
	check_state(w, e);
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
	if (e->nqueue >= w->cfg->sndq) {
		tx_free(w, tx);
		return false;
	}
	if (e->queue)
		tx_find(w, e->queue_last)->next = tx->id;
	else
		e->queue = tx->id;
	e->queue_last = tx->id;
	e->nqueue++;
	e->under_way++;
	say(w, e, "post #%llu, %u bytes by %u%s", TX_SERIAL(tx->id), tx->len,
	    tx->cut, tx->flags & OAE_POST_EXPRESS ? ", express" : "");
	return true;
}

/**
 * end_run() - users have done something at an end
 * @w: the world
 * @e: the end
 */
void end_run(struct world *w, struct end *e)
{
	begin(w);
	w->n.calls--;	/* no event but those that feed() makes */
	finish(w, e);
}

/**
 * end_receive() - a good frame has come in
 * @w: the world
 * @e: the end
 * @p: the frame
 */
void end_receive(struct world *w, struct end *e, const struct flight *p)
{
	if (!e->tag) {
		stranger(w, e, &p->f);
		return;
	}
	w->arriving = p;
	oae_link_rcv(&e->link, &p->f, e->unread < w->cfg->rcvbuf, w->now,
		     begin(w));
	finish(w, e);
	w->arriving = NULL;
}

/**
 * end_accept() - a stranger has shown a valid cookie
 * @w: the world
 * @e: the end, without a tag
 * @f: the SYNC
 */
void end_accept(struct world *w, struct end *e, const struct oae_frame *f)
{
	make_tag(w, e);
	oae_link_accept(&e->link, f, w->now, begin(w));
	finish(w, e);
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
	oae_link_timer(&e->link, w->now, begin(w));
	finish(w, e);
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
	oae_link_drained(&e->link, w->now, begin(w));
	finish(w, e);
}

/**
 * end_cancel() - a writer wants its transaction back
 * @w: the world
 * @tx: which, not ended
 */
void end_cancel(struct world *w, struct tx *tx)
{
	struct end *e = &w->ends[tx->end];
	u64 id = tx->id;
	int err;

	say(w, e, "cancel #%llu", TX_SERIAL(id));
	if (!tx->at_link) {
		if (!unqueue(w, e, id))
			violation(w, e, "#%llu is nowhere", TX_SERIAL(id));
		else
			ended(w, e, tx, OAE_REVERSED, OAE_E_SIGNAL);
		end_run(w, e);
		return;
	}
	err = oae_link_cancel(&e->link, TX_HANDLE(id), OAE_E_SIGNAL, w->now,
			      begin(w));
	if (err == -EINPROGRESS) {
		w->n.in_progress++;
		if (!(tx->flags & OAE_POST_EXPRESS) || !tx->offered)
			violation(w, e, "cancel of #%llu: EINPROGRESS",
				  TX_SERIAL(id));
	}
	finish(w, e);
	if (err ? err != -EINPROGRESS : !!tx_find(w, id))
		violation(w, e, "cancel of #%llu says %d", TX_SERIAL(id), err);
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
	oae_link_close(&e->link, w->now, begin(w));
	finish(w, e);
}

/**
 * end_port() - a port has gone down, or come up
 * @w: the world
 * @e: the end
 * @up: which of both
 */
void end_port(struct world *w, struct end *e, bool up)
{
	say(w, e, "port %s", up ? "up" : "down");
	if (!e->tag)
		return;
	if (up)
		oae_link_port_up(&e->link, w->now, begin(w));
	else
		oae_link_port_down(&e->link, w->now, begin(w));
	finish(w, e);
}

/**
 * end_crash() - a machine stops: its users and its memory with it
 * @w: the world
 * @e: one of its ends
 */
void end_crash(struct world *w, struct end *e)
{
	unsigned int i;

	say(w, e, "crash");
	for (i = 0; i < 2; i++) {
		if (e->at_link[i])
			check_lost(w, e, tx_find(w, e->at_link[i]));
		e->at_link[i] = TX_NONE;
	}
	while (e->queue)
		check_lost(w, e, dequeue(w, e));
	e->under_way = 0;
	e->unread = 0;
	e->alive = false;
	if (e->tag)
		check_died(w, e);
}
