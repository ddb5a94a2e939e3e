// SPDX-License-Identifier: GPL-2.0
/* Carries out what the link asks for: ops, posts, sends. See harness.h. */
#include <stdio.h>
#include <string.h>
#include "harness.h"
#include "../../modoae/link/link_int.h"

/* The event that an op is added to. */
static struct h_event *now_running;

static void full(struct oae_actions *a)
{
	(void)a;
	h_ops(now_running);
}

static void hashes(struct oae_actions *a, u32 seq, unsigned int n, u64 *hash)
{
	unsigned int i;

	(void)a;
	for (i = 0; i < n; i++)
		hash[i] = h_hash(now_running, seq, i);
}

static void post_hashes(struct oae_actions *a, const struct oae_post *p, u64 *hash)
{
	h_id id = H_OF(p->handle);
	struct h_tx *tx = h_at_link(now_running, id);
	u32 off, n, i = 0;
	u64 first;

	(void)a;
	if (!tx || tx->kind != OAE_MESSAGE || tx->len != p->len) {
		h_fail(now_running, id, "the hashes of #, which the link has not got");
		memset(hash, 0, p->nslices * sizeof(*hash));
		return;
	}
	for (off = 0; i < p->nslices; off += n, i++) {
		n = tx->len - off < p->slice_max ? tx->len - off : p->slice_max;
		hash[i] = h_slice(now_running, tx, id, i, off, n, &first);
	}
}

static u16 verb(struct oae_actions *a, u32 seq, u16 *reply)
{
	struct h_event *ev = now_running;
	struct h_end *e = ev->end;
	u16 reason;
	u32 at;

	(void)a;
	h_ops(ev);
	ev->seq = seq;
	if (!(e->have[h_lane(seq)] & 1) || h_verb_here(ev)) {
		h_fail(ev, 0, "VERB of what is none, or is computed already");
		return OAE_R_KIND;
	}
	for (at = e->link.rx + 1; at != seq; at++)
		if (oae_hold_of(&e->link, at)->state != OAE_HOLD_HELD)
			h_fail(ev, 0, "VERB, and not all below it is held");
	reason = h_compute(ev, reply);
	/* DISCARD frees the words if the answer does not fit. */
	e->computed |= (u64)!reason << h_lane(seq);
	return reason;
}

static void cut(struct oae_actions *a, struct oae_post *p, u16 max)
{
	struct h_event *ev = now_running;
	h_id id = H_OF(p->handle);
	struct h_tx *tx = h_at_link(ev, id);

	(void)a;
	if (!tx || tx->kind != OAE_MESSAGE) {
		h_fail(ev, id, "# is to be cut anew, and is no message");
		return;
	}
	h_post(ev, tx, id, max, p);
	ev->calls++;
}

/**
 * h_begin() - begin an event, with no actions
 * @ev: the event
 */
void h_begin(struct h_event *ev)
{
	ev->a->nops = 0;
	ev->a->done = 0;
	ev->a->nsends = 0;
	ev->a->overflow = false;
	ev->a->full = full;
	ev->a->hashes = hashes;
	ev->a->post_hashes = post_hashes;
	ev->a->verb = verb;
	ev->a->cut = cut;
	ev->a->told = NULL;
	now_running = ev;
	ev->now = oae_conn_begin(&ev->conn, &ev->end->link, h_paths ? h_paths(ev) : NULL,
				 ev->now);
	ev->stopped = ev->end->tag && ev->end->link.closing;
	if (!ev->end->tag)
		ev->conn.before = OAE_CLOSED;
}

/**
 * h_text() - a violation as text
 * @buf: filled in
 * @len: bytes of @buf
 * @why: as passed to h_fail()
 * @id: replaces "#"
 */
void h_text(char *buf, size_t len, const char *why, u64 id)
{
	const char *at = strchr(why, '#');

	if (at)
		snprintf(buf, len, "%.*s#%llu%s", (int)(at - why), why,
			 (unsigned long long)id, at + 1);
	else
		snprintf(buf, len, "%s", why);
}

/**
 * h_at_link() - find a transaction that this end's link has
 * @ev: the event
 * @id: its name
 *
 * Return: the transaction; NULL if the link does not have it.
 */
struct h_tx *h_at_link(struct h_event *ev, h_id id)
{
	struct h_tx *tx = id ? h_find(ev, id) : NULL;

	return tx && tx->at_link && tx->from == ev->end->who ? tx : NULL;
}

/**
 * h_free_slots() - free the kept slices of a number, and its reserved words
 * @ev: the event; its seq is the number
 */
void h_free_slots(struct h_event *ev)
{
	unsigned int i = h_lane(ev->seq);

	h_drop(ev);
	ev->end->have[i] = 0;
	ev->end->kept[i] = 0;
	ev->end->computed &= ~(1ULL << i);
}

/**
 * h_lend() - lend the link the places for its window
 * @ev: the event
 */
void h_lend(struct h_event *ev)
{
	struct h_end *e = ev->end;
	struct oae_pair **pairs = e->pairs;
	unsigned int i;

	if (H_LANES < 2 || e->link.pair)
		return;
	if (h_places)
		pairs = h_places(ev);
	else
		memset(e->pair, 0, sizeof(e->pair));
	for (i = 0; i < H_PAIRS && !h_places; i++)
		e->pairs[i] = &e->pair[i];
	ev->calls++;
	oae_link_lend(&e->link, pairs, H_LANES, ev->now, ev->a);
}

/**
 * h_reclaim() - take the places back that the link does not use
 * @ev: the event, before anything else in it
 */
void h_reclaim(struct h_event *ev)
{
	struct h_end *e = ev->end;
	bool had = e->link.pair;
	struct oae_pair **pairs = oae_link_reclaim(&e->link);

	if (pairs != (had && !e->link.pair ? e->pairs : NULL))
		h_fail(ev, 0, "other places are taken back, or none although they are gone");
}

/**
 * h_cut() - describe a transaction for the link, each slice hashed
 * @ev: the event
 * @tx: the transaction
 * @id: its name
 * @cut: bytes of each slice but the last
 * @p: filled in; nslices is 0 if more than OAE_MAX_SLICES were needed
 */
void h_cut(struct h_event *ev, const struct h_tx *tx, h_id id, u16 cut,
	   struct oae_post *p)
{
	u64 hash[OAE_MAX_SLICES];
	u32 off, n, i = 0;

	memset(p, 0, sizeof(*p));
	p->handle = H_HANDLE(id);
	p->len = tx->len;
	p->slice_max = cut < tx->len ? cut : tx->len;
	p->kind = tx->kind;
	p->flags = tx->flags;
	if (tx->len > (u32)OAE_MAX_SLICES * cut)
		return;
	for (off = 0; off < tx->len; off += n, i++) {
		n = tx->len - off < cut ? tx->len - off : cut;
		hash[i] = h_slice(ev, tx, id, i, off, n, &p->first);
	}
	p->nslices = i;
	p->digest = oae_whole_digest(hash, i);
}

/* --- the queues: one for halves, one for all else --- */

static struct h_queue *queue_of(struct h_event *ev, const struct h_tx *tx)
{
	return tx->kind == OAE_SWAP ? &ev->end->halves : &ev->end->queue;
}

/**
 * h_enqueue() - append a transaction to its queue at this end
 * @ev: the event
 * @tx: the transaction
 * @id: its name
 */
void h_enqueue(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct h_queue *q = queue_of(ev, tx);

	tx->next = 0;
	if (q->first)
		h_find(ev, q->last)->next = id;
	else
		q->first = id;
	q->last = id;
	ev->end->queued++;
}

/**
 * h_requeue() - put a transaction before all that is queued at this end
 * @ev: the event
 * @tx: the transaction
 * @id: its name
 */
void h_requeue(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct h_queue *q = queue_of(ev, tx);

	if (tx->delivered && !ev->anything)
		h_fail(ev, id, "G1: # is posted again, and was delivered");
	tx->offered = false;
	tx->at_link = false;
	tx->next = q->first;
	if (!q->first)
		q->last = id;
	q->first = id;
	ev->end->queued++;
}

/**
 * h_dequeue() - take the first transaction of a queue
 * @ev: the event
 * @q: the queue, not empty
 * @id: set to its name
 *
 * Return: the transaction.
 */
struct h_tx *h_dequeue(struct h_event *ev, struct h_queue *q, h_id *id)
{
	struct h_tx *tx = h_find(ev, q->first);

	*id = q->first;
	q->first = tx->next;
	ev->end->queued--;
	return tx;
}

/**
 * h_unqueue() - remove a transaction from its queue
 * @ev: the event
 * @tx: the transaction
 * @id: its name
 *
 * Return: false if it is not there.
 */
bool h_unqueue(struct h_event *ev, const struct h_tx *tx, h_id id)
{
	struct h_queue *q = queue_of(ev, tx);
	h_id *at = &q->first, last = 0;

	while (*at && *at != id) {
		last = *at;
		at = &h_find(ev, last)->next;
	}
	if (!*at)
		return false;
	*at = tx->next;
	if (q->last == id)
		q->last = last;
	ev->end->queued--;
	return true;
}

static void flush(struct h_event *ev, struct h_queue *q, int err)
{
	struct h_tx *tx;
	h_id id;

	while (q->first) {
		tx = h_dequeue(ev, q, &id);
		h_ended(ev, tx, id, OAE_REVERSED, err);
	}
}

/* The next queued transaction that the link has room for. */
static struct h_tx *wanted(struct h_event *ev, h_id *id)
{
	struct h_end *e = ev->end;
	struct h_tx *pack = NULL;
	struct h_queue *q;

	if (e->queue.first && oae_link_wants(&e->link))
		q = &e->queue;
	else if (e->halves.first && oae_link_wants_half(&e->link))
		q = &e->halves;
	else
		return NULL;
	if (q == &e->queue && h_pack)
		pack = h_pack(ev, id);
	return pack ? pack : h_dequeue(ev, q, id);
}

/**
 * h_feed() - post queued transactions while the link has room
 * @ev: the event
 */
void h_feed(struct h_event *ev)
{
	struct oae_post p;
	struct h_tx *tx;
	h_id id;

	if (h_more)
		h_more(ev);
	while (!ev->stop && ev->end->tag && (tx = wanted(ev, &id))) {
		tx->at_link = true;
		h_post(ev, tx, id, 0, &p);
		ev->calls++;
		if (oae_link_post(&ev->end->link, &p, ev->now, ev->a))
			h_fail(ev, id, "the link wants #, and refuses it");
		h_ops(ev);
	}
}

/* --- ops --- */

/* Ops that name a transaction of the link. */
static void op_of_tx(struct h_event *ev, const struct oae_op *op)
{
	h_id id = H_OF(op->handle);
	struct h_tx *tx = h_at_link(ev, id);

	if (!tx) {
		h_fail(ev, id, "G3: # ends or is asked for, and the link has not got it");
		return;
	}
	switch (op->type) {
	case OAE_OP_RESULT:
		h_result(ev, tx, id);
		break;
	case OAE_OP_TAKE:
		h_hand_over(ev, op->type, 1, id);
		break;
	case OAE_OP_BACK:
		/* It would wait for the end of the link. */
		if (oae_link_closing(&ev->end->link))
			h_fail(ev, id, "G4: # goes back, and the link takes no post");
		if (h_several(tx))
			h_dissolve(ev, tx, id, op->refused);
		else
			h_requeue(ev, tx, id);
		break;
	default:
		h_ended(ev, tx, id, op->outcome, op->err);
	}
}

static void one_op(struct h_event *ev, const struct oae_op *op)
{
	struct h_end *e = ev->end;

	ev->seq = op->seq;
	switch (op->type) {
	case OAE_OP_NOTE:
		h_note(ev, op->note);
		break;
	case OAE_OP_KEEP:
		h_keeps(ev, op);
		break;
	case OAE_OP_DISCARD:
		h_free_slots(ev);
		break;
	case OAE_OP_DELIVER:
	case OAE_OP_APPLY:
	case OAE_OP_UNPACK:
		h_hand_over(ev, op->type,
			    op->type == OAE_OP_DELIVER ? op->slice : 1, 0);
		break;
	case OAE_OP_RESULT:
	case OAE_OP_TAKE:
	case OAE_OP_COMPLETE:
	case OAE_OP_BACK:
		op_of_tx(ev, op);
		break;
	case OAE_OP_CONFIRMED:
		h_confirmed(ev);
		break;
	case OAE_OP_TIMER:
		if (!op->at)
			h_fail(ev, 0, "TIMER at 0");
		e->timer_at = op->at;
		if (h_timer)
			h_timer(ev);
		break;
	case OAE_OP_FLUSH:
		flush(ev, &e->queue, op->err);
		flush(ev, &e->halves, op->err);
		break;
	case OAE_OP_GONE:
		if (e->queue.first || e->halves.first)
			h_fail(ev, 0, "GONE without FLUSH");
		h_died(ev);
		ev->conn.paths = NULL;
		break;
	default:
		h_fail(ev, 0, "no such op");
	}
}

/**
 * h_ops() - carry out all ops in order; an op may add more
 * @ev: the event
 */
void h_ops(struct h_event *ev)
{
	struct oae_actions *a = ev->a;
	struct oae_op op;

	/* An op may add so many that they are carried out in its midst. */
	now_running = ev;
	if (ev->most < a->nops)
		ev->most = a->nops;
	while (a->done < a->nops && !ev->stop) {
		op = a->op[a->done++];
		if (h_before)
			h_before(ev, &op);
		one_op(ev, &op);
	}
	a->nops = 0;
	a->done = 0;
}

/* --- what is sent --- */

static void send_offer(struct h_event *ev, struct oae_send *s)
{
	struct oae_frame *f = &s->frame;
	unsigned int i, last = s->nslices - 1;
	struct h_tx *tx;

	if (f->kind == OAE_VOID) {
		if (s->handle)
			h_fail(ev, 0, "a VOID of something");
		if (h_send)
			h_send(ev, f, NULL, 0);
		return;
	}
	tx = h_offers(ev, s);
	if (!tx || ev->stop || !h_send)
		return;
	for (i = 0; i <= last; i++) {
		if (!(s->slices >> i & 1))
			continue;
		oae_send_slice(s, i);
		f->length = i < last ? s->slice_max :
				       tx->len - last * s->slice_max;
		h_send(ev, f, tx, H_OF(s->handle));
		f->pn++;
	}
}

/**
 * h_sends() - send all frames, after the ops
 * @ev: the event
 */
void h_sends(struct h_event *ev)
{
	struct oae_send *s;
	h_id id;

	oae_conn_end(&ev->conn);
	if (h_paths_end)
		h_paths_end(ev);
	for (s = ev->a->send; s < ev->a->send + ev->a->nsends && !ev->stop; s++) {
		if (h_before_send)
			h_before_send(ev, s);
		if (s->frame.opcode == OAE_OFFER) {
			send_offer(ev, s);
			continue;
		}
		id = 0;
		if (s->frame.opcode == OAE_REFLECT) {
			h_lends(ev, s);
			if (s->frame.kind == OAE_SWAP)
				id = H_OF(s->handle);
		}
		if (h_send)
			h_send(ev, &s->frame, id ? h_find(ev, id) : NULL, id);
	}
}

/**
 * h_finish() - finish an event: ops, posts, sends
 * @ev: the event
 */
void h_finish(struct h_event *ev)
{
	struct oae_link *l = &ev->end->link;
	unsigned int n = 0;

	for (;;) {
		h_ops(ev);
		h_feed(ev);
		if (ev->a->overflow)
			h_fail(ev, 0, "actions overflow");
		h_sends(ev);
		if (ev->stop || !ev->end->tag)
			return;
		if (n++ > 2 * OAE_WINDOW_MAX)
			h_fail(ev, 0, "G4: there is always more to offer");
		/* The events that follow from this one. */
		h_begin(ev);
		ev->f = NULL;
		if (oae_link_lacks(l) && H_LANES > 1 && !l->pair)
			h_lend(ev);
		else if (oae_link_more(l))
			oae_link_pump(l, ev->now, ev->a);
		else
			return;
	}
}

/**
 * h_cancel() - cancel a transaction for its user
 * @ev: the event, with nothing else in it
 * @id: the transaction
 * @err: errno for the user
 *
 * Return: 0 if it has ended, -EINPROGRESS if its outcome is not known yet.
 */
int h_cancel(struct h_event *ev, h_id id, int err)
{
	struct h_tx *tx = h_find(ev, id);
	int r = -ENOENT;

	if (ev->end->tag)
		r = oae_link_cancel(&ev->end->link, H_HANDLE(id), err, ev->now,
				    ev->a);
	if ((r == -ENOENT) == tx->at_link ||
	    (r && r != -ENOENT && r != -EINPROGRESS)) {
		h_fail(ev, id, "cancel of # says what cannot be");
	} else if (r == -EINPROGRESS) {
		if (!tx->lent && !(tx->flags & OAE_POST_EXPRESS && tx->offered))
			h_fail(ev, id, "cancel of #: EINPROGRESS");
		tx->unwanted = tx->kind == OAE_SWAP;
	} else if (r) {
		if (!h_unqueue(ev, tx, id))
			h_fail(ev, id, "cancel of #, which is nowhere");
		h_ended(ev, tx, id, OAE_REVERSED, err);
		r = 0;
	}
	h_finish(ev);
	/* The user may have freed it already. */
	tx = h_find(ev, id);
	if (tx && tx->ended != !r)
		h_fail(ev, id, "cancel of # does not say whether it has ended");
	if (tx && tx->ended && tx->outcome != OAE_REVERSED)
		h_fail(ev, id, "# was cancelled, and is not reversed");
	return r;
}
