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
	words_release(w, e);
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
	unsigned int i = 0;

	while (i < 2 && e->at_link[i] != tx->id)
		i++;
	e->at_link[i] = TX_NONE;
}

static void ended(struct world *w, struct end *e, struct tx *tx, u8 outcome,
		  int err)
{
	e->under_way--;
	e->nhalves -= tx->kind == OAE_SWAP;
	check_ended(w, e, tx, outcome, err);
	work_ended(w, e);
}

static struct tx *dequeue(struct world *w, struct end *e, u64 *queue)
{
	struct tx *tx = tx_find(w, *queue);

	*queue = tx->next;
	e->nqueue--;
	return tx;
}

/* Take one out of the middle. False: it is not there. */
static bool unqueue(struct world *w, struct end *e, u64 id)
{
	bool half = tx_find(w, id)->kind == OAE_SWAP;
	u64 *at = half ? &e->halves : &e->queue, last = TX_NONE;
	u64 *last_of = half ? &e->halves_last : &e->queue_last;

	while (*at && *at != id) {
		last = *at;
		at = &tx_find(w, last)->next;
	}
	if (!*at)
		return false;
	*at = tx_find(w, id)->next;
	if (*last_of == id)
		*last_of = last;
	e->nqueue--;
	return true;
}

static void flush(struct world *w, struct end *e, int err)
{
	while (e->queue)
		ended(w, e, dequeue(w, e, &e->queue), OAE_REVERSED, err);
	while (e->halves)
		ended(w, e, dequeue(w, e, &e->halves), OAE_REVERSED, err);
}

static void reslice(struct world *w, struct end *e, struct tx *tx)
{
	struct oae_post p = { .handle = TX_HANDLE(tx->id) };

	tx->cut = oae_link_cut(&e->link, tx->len);
	if (tx->len <= (u32)OAE_MAX_SLICES * tx->cut)
		tx_post(w, tx, &p);
	w->n.calls++;
	oae_link_resliced(&e->link, &p, w->now, &w->act);
}

static void compute(struct world *w, struct end *e)
{
	struct tx *tx = tx_find(w, e->have & 1 ? e->slice.id : TX_NONE);
	u16 reason;

	/* It may be a late one: of a sender that has crashed, or reversed it. */
	if (!tx) {
		reason = OAE_R_BAD_VERB;
	} else {
		reason = words_compute(w, e, tx);
		say(w, e, "#%llu computed: %s", TX_SERIAL(tx->id),
		    reason ? "CONFLICT" : "reserved");
	}
	w->n.calls++;
	oae_link_computed(&e->link, reason, sizeof(u64), w->now, &w->act);
}

/* These name a transaction that the link has. */
static void tx_op(struct world *w, struct end *e, const struct oae_op *op)
{
	struct tx *tx = tx_find(w, TX_OF(op->handle));

	if (!tx || !tx->at_link || tx->end != end_index(w, e)) {
		violation(w, e, "G3: #%llu ends, and the link has not got it",
			  TX_SERIAL(TX_OF(op->handle)));
	} else if (op->type == OAE_OP_RESLICE) {
		reslice(w, e, tx);
	} else if (op->type == OAE_OP_RESULT) {
		check_result(w, e, tx, w->arriving);
	} else if (op->type == OAE_OP_TAKE) {
		check_taken(w, e, tx);
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
	case OAE_OP_VERB:
		compute(w, e);
		break;
	case OAE_OP_APPLY:
		check_applied(w, e);
		break;
	case OAE_OP_COMPLETE:
	case OAE_OP_RESLICE:
	case OAE_OP_RESULT:
	case OAE_OP_TAKE:
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
		if (e->queue || e->halves)
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
	oae_link_rank(&e->link, end_index(w, e) & 1);
	e->tag = true;
	e->timer_at = 0;
}

/* The next that the link has room for. */
static struct tx *wanted(struct world *w, struct end *e)
{
	struct tx *tx;

	if (e->queue && oae_link_wants(&e->link)) {
		tx = dequeue(w, e, &e->queue);
		e->at_link[e->at_link[0] ? 1 : 0] = tx->id;
		return tx;
	}
	if (e->halves && oae_link_wants_half(&e->link)) {
		tx = dequeue(w, e, &e->halves);
		e->at_link[2] = tx->id;
		return tx;
	}
	return NULL;
}

/* Give the link what it wants; open it if need be. */
static void feed(struct world *w, struct end *e)
{
	struct oae_post p;
	struct tx *tx;
	int err;

	if (e->under_way < w->refill)
		work_more(w, e);
	while ((e->queue || e->halves) && !w->why[0]) {
		if (!e->tag) {
			make_tag(w, e);
			w->n.calls++;
			oae_link_open(&e->link, w->now, &w->act);
			apply(w, e);
		}
		tx = wanted(w, e);
		if (!tx)
			return;
		tx->at_link = true;
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

/* A REFLECT with more behind its body: the half that is lent, or the answer. */
static void send_answer(struct world *w, struct end *e, const struct oae_send *s)
{
	const struct oae_frame *f = &s->frame;
	const struct tx *tx = tx_find(w, TX_OF(s->handle));
	u32 n = f->length - OAE_REFLECT_LEN;

	if (f->kind == OAE_VERB) {
		if (!e->verb || n != sizeof(u64))
			violation(w, e, "REFLECT without an answer");
		wire_send(w, e, f, e->answer, 0);
		return;
	}
	if (!tx || tx->ended || tx->kind != OAE_SWAP || n != tx->len)
		violation(w, e, "REFLECT without a half");
	else
		wire_send(w, e, f, tx->id, 0);
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
		else if (a->send[i].frame.opcode == OAE_REFLECT &&
			 a->send[i].frame.length)
			send_answer(w, e, &a->send[i]);
		else
			wire_send(w, e, &a->send[i].frame, TX_NONE, 0);
	}
	/* A refusal is as good as never offered: it was not delivered. */
	if (e->tag && e->link.offer.state == OAE_OFFER_PARKED) {
		tx = tx_find(w, TX_OF(e->link.offer.p.handle));
		if (tx)
			tx->offered = false;
	}
	if (e->tag && e->link.aside.valid) {
		tx = tx_find(w, TX_OF(e->link.aside.p.handle));
		if (tx)
			tx->offered = false;
	}
	check_half(w, e);
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
	u64 *queue, *last;

	if (e->nqueue >= w->cfg->sndq) {
		tx_free(w, tx);
		return false;
	}
	queue = tx->kind == OAE_SWAP ? &e->halves : &e->queue;
	last = tx->kind == OAE_SWAP ? &e->halves_last : &e->queue_last;
	if (*queue)
		tx_find(w, *last)->next = tx->id;
	else
		*queue = tx->id;
	*last = tx->id;
	e->nhalves += tx->kind == OAE_SWAP;
	e->nqueue++;
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
 * end_ready() - words are free that a verb was refused for
 * @w: the world
 * @e: the end that refused it
 */
void end_ready(struct world *w, struct end *e)
{
	if (!e->tag)
		return;
	oae_link_drained(&e->link, w->now, begin(w));
	finish(w, e);
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
		tx = tx_find(w, e->halves ? e->halves : e->at_link[2]);
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
		if (!(tx->flags & OAE_POST_EXPRESS && tx->offered) && !tx->lent)
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
	for (i = 0; i < 3; i++) {
		if (e->at_link[i])
			check_lost(w, e, tx_find(w, e->at_link[i]));
		e->at_link[i] = TX_NONE;
	}
	while (e->queue)
		check_lost(w, e, dequeue(w, e, &e->queue));
	while (e->halves)
		check_lost(w, e, dequeue(w, e, &e->halves));
	e->under_way = 0;
	e->nhalves = 0;
	e->unread = 0;
	e->alive = false;
	if (e->tag)
		check_died(w, e);
}
