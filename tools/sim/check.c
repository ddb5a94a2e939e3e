// SPDX-License-Identifier: GPL-2.0
/* What the network is held to: G1 to G3 and G6, as it happens. */
#include <stdarg.h>
#include "sim.h"

/**
 * violation() - a promise is broken: the run ends
 * @w: the world
 * @e: at an end of which link
 * @fmt: how
 */
void violation(struct world *w, const struct end *e, const char *fmt, ...)
{
	va_list ap;

	if (w->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
	w->why_link = end_index(w, e) >> 1;
	w->why_at = w->now;
	say(w, e, "*** %s", w->why);
}

/* The proof in the end is no part of the figures. */
static struct window *window(struct world *w)
{
	return w->phase >= PHASE_PROVE ? &w->unseen :
					 series_now(&w->series, w->now);
}

/**
 * check_offered() - an OFFER goes out
 * @w: the world
 * @e: the end
 * @tx: what is offered
 */
void check_offered(struct world *w, struct end *e, struct tx *tx)
{
	if (!tx->offered) {
		tx->offered = true;
		tx->offered_to = e->link.peer_inc;
	} else if ((tx->flags & OAE_POST_EXPRESS) &&
		   tx->offered_to != e->link.peer_inc) {
		violation(w, e, "G1: express #%llu offered to another incarnation",
			  TX_SERIAL(tx->id));
	}
}

/* The one before may have been given up with an end that died; no more. */
static void is_committed(struct world *w, struct end *e, struct tx *tx)
{
	struct end *p = end_peer(w, e);
	struct tx *old = tx_find(w, e->committed);
	struct window *win = window(w);

	win->committed++;
	hist_add(&win->latency, w->now - tx->posted);
	if (tx->kind != OAE_MESSAGE && !tx->answered)
		violation(w, e, "G2: #%llu committed, and nothing came for it",
			  TX_SERIAL(tx->id));
	/* One that was lent: the other end's was what was offered. */
	if (tx->lent) {
		if (!tx->delivered)
			violation(w, e, "G2: half #%llu committed, not taken",
				  TX_SERIAL(tx->id));
		tx_free(w, tx);
		return;
	}
	if (old) {
		if (!old->excused)
			violation(w, e, "G2: #%llu committed, #%llu before it is not delivered",
				  TX_SERIAL(tx->id), TX_SERIAL(old->id));
		tx_free(w, old);
	}
	e->committed = TX_NONE;
	if (tx->delivered) {
		tx_free(w, tx);
		return;
	}
	if (tx->flags & OAE_POST_EXPRESS)
		violation(w, e, "G2: express #%llu committed, not delivered",
			  TX_SERIAL(tx->id));
	e->committed = tx->id;
	if (!(p->tag && p->link.inc == e->link.peer_inc)) {
		/* The reflection of one that has died since. */
		tx->excused = true;
		w->n.excused++;
		e->owes_unconfirmed = true;
	}
}

/* Only an express or a half that is lent, and only when either end has died. */
static void is_unknown(struct world *w, struct end *e, struct tx *tx)
{
	struct end *p = end_peer(w, e);

	window(w)->unknown++;
	if (!(tx->flags & OAE_POST_EXPRESS && tx->offered) && !tx->lent)
		violation(w, e, "G3: #%llu UNKNOWN, but could be reversed",
			  TX_SERIAL(tx->id));
	if (p->tag && p->link.inc == tx->offered_to &&
	    e->link.state != OAE_CLOSED)
		violation(w, e, "G3: #%llu UNKNOWN, and nobody died",
			  TX_SERIAL(tx->id));
	if (tx->delivered)
		tx_free(w, tx);
	else
		tx->unknown = true;
}

/**
 * check_ended() - the one and only outcome of a transaction (G3)
 * @w: the world
 * @e: the end it was posted at
 * @tx: which
 * @outcome: enum oae_outcome
 * @err: why, 0 if committed
 */
void check_ended(struct world *w, struct end *e, struct tx *tx, u8 outcome,
		 int err)
{
	say(w, e, "#%llu %s%s%s", TX_SERIAL(tx->id),
	    outcome == OAE_COMMITTED ? "COMMITTED" :
	    outcome == OAE_REVERSED  ? "REVERSED" :
				       "UNKNOWN",
	    err ? ": " : "", err ? strerror(err) : "");
	if (tx->ended || outcome >= OAE_OUTCOME_END) {
		violation(w, e, "G3: #%llu ends twice", TX_SERIAL(tx->id));
		return;
	}
	if (outcome == OAE_COMMITTED ? err : !err)
		violation(w, e, "#%llu: outcome %u with error %d",
			  TX_SERIAL(tx->id), outcome, err);
	if (tx->proof) {
		w->proven++;
		if (outcome != OAE_COMMITTED)
			violation(w, e, "no faults, but #%llu is not committed",
				  TX_SERIAL(tx->id));
	}
	tx->ended = true;
	w->under_way--;
	w->n.outcome[outcome]++;

	switch (outcome) {
	case OAE_COMMITTED:
		is_committed(w, e, tx);
		break;
	case OAE_REVERSED:
		window(w)->reversed++;
		if (tx->delivered)
			violation(w, e, "G2: #%llu reversed after delivery",
				  TX_SERIAL(tx->id));
		/* What is delivered of it from now on is not found. */
		tx_free(w, tx);
		break;
	default:
		is_unknown(w, e, tx);
	}
}

/**
 * check_lost() - a transaction's users have crashed: there is nobody to tell
 * @w: the world
 * @e: the end it was posted at
 * @tx: which
 */
void check_lost(struct world *w, struct end *e, struct tx *tx)
{
	w->under_way--;
	w->n.lost++;
	window(w)->lost++;
	say(w, e, "#%llu lost with its sender", TX_SERIAL(tx->id));
	/* An express or a lent half on its way may arrive; nothing else may. */
	if ((tx->flags & OAE_POST_EXPRESS || tx->lent) && tx->at_link &&
	    !tx->delivered)
		tx->lost = true;
	else
		tx_free(w, tx);
}

/* What is delivered must be somebody's, and its turn (G1, G2). */
static struct tx *whose(struct world *w, struct end *e, u64 id, u32 len,
			u8 kind, const char *wrong)
{
	u64 last = kind == OAE_SWAP ? e->last_half : e->last_id;
	struct tx *tx = tx_find(w, id);

	if (wrong)
		violation(w, e, "G1: #%llu delivered %s", TX_SERIAL(id), wrong);
	else if (id == last)
		violation(w, e, "G1: #%llu delivered twice", TX_SERIAL(id));
	else if (id < last)
		violation(w, e, "G1: #%llu delivered after #%llu",
			  TX_SERIAL(id), TX_SERIAL(last));
	else if (!tx)
		violation(w, e, "G2: #%llu delivered, was reversed, or lost with its sender",
			  TX_SERIAL(id));
	else if (tx->end != (end_index(w, e) ^ 1))
		violation(w, e, "G1: #%llu delivered, of another link",
			  TX_SERIAL(id));
	else if (tx->kind != kind || tx->delivered)
		violation(w, e, "G1: #%llu delivered as another kind, or again",
			  TX_SERIAL(id));
	else if (tx->len != len)
		violation(w, e, "G1: #%llu delivered with %u bytes of %u",
			  TX_SERIAL(id), len, tx->len);
	else
		return tx;
	return NULL;
}

/* It is the other end's for good; halves are a stream of their own. */
static void arrived(struct world *w, struct end *e, struct tx *tx)
{
	w->n.delivered++;
	tx->delivered = true;
	if (tx->kind == OAE_SWAP)
		e->last_half = tx->id;
	else
		e->last_id = tx->id;
}

/* What is held is handed over: whose it is, NULL if something is wrong. */
static struct tx *kept(struct world *w, struct end *e, unsigned int n, u8 kind)
{
	const char *wrong = NULL;
	struct tx *tx;
	u32 len;
	u64 id;

	if (!n || n > OAE_MAX_SLICES ||
	    e->have != ~0ULL >> (OAE_MAX_SLICES - n)) {
		violation(w, e, "G1: delivered without all of %u slices", n);
		return NULL;
	}
	id = content_delivered(w, e, n, &len, &wrong);
	tx = whose(w, e, id, len, kind, wrong);
	if (tx && !(tx->flags & OAE_POST_EXPRESS) && !tx->ended) {
		violation(w, e, "G2: #%llu delivered, was not committed",
			  TX_SERIAL(id));
		return NULL;
	}
	return tx;
}

static void handed_over(struct world *w, struct end *e, struct tx *tx)
{
	struct end *p = end_peer(w, e);
	u64 id = tx->id;

	end_free_slices(w, e);
	/* Its sender may have died since: a late frame had the commit. */
	if (tx->excused) {
		if (!e->owes_held_lost)
			violation(w, e, "#%llu delivered, was given up",
				  TX_SERIAL(id));
		e->owes_held_lost = false;
		w->n.excused--;
	}
	arrived(w, e, tx);
	if (p->committed == id)
		p->committed = TX_NONE;
	if (tx->ended || tx->lost)
		tx_free(w, tx);
}

/**
 * check_delivered() - the reader gets a message
 * @w: the world
 * @e: the end
 * @n: how many of the slices kept it is said to be
 */
void check_delivered(struct world *w, struct end *e, unsigned int n)
{
	struct tx *tx = kept(w, e, n, OAE_MESSAGE);

	if (!tx)
		return;
	say(w, e, "#%llu delivered", TX_SERIAL(tx->id));
	handed_over(w, e, tx);
}

/**
 * check_applied() - the verb that is held is carried out
 * @w: the world
 * @e: the end
 */
void check_applied(struct world *w, struct end *e)
{
	struct tx *tx = kept(w, e, 1, OAE_VERB);

	if (!tx)
		return;
	say(w, e, "#%llu applied", TX_SERIAL(tx->id));
	if (e->verb != tx->id)
		violation(w, e, "#%llu applied, and was not computed last",
			  TX_SERIAL(tx->id));
	words_apply(w, e);
	handed_over(w, e, tx);
}

/**
 * check_taken() - the half that is held is for the one that was lent
 * @w: the world
 * @e: the end
 * @mine: the one that was lent
 */
void check_taken(struct world *w, struct end *e, struct tx *mine)
{
	struct tx *tx = kept(w, e, 1, OAE_SWAP);

	if (!tx)
		return;
	say(w, e, "#%llu takes #%llu", TX_SERIAL(mine->id), TX_SERIAL(tx->id));
	if (!mine->lent || mine->answered || tx->other != mine->id ||
	    mine->other != tx->id)
		violation(w, e, "G2: #%llu was not lent for #%llu",
			  TX_SERIAL(mine->id), TX_SERIAL(tx->id));
	mine->answered = true;
	w->n.taken++;
	handed_over(w, e, tx);
}

static void half_came(struct world *w, struct end *e, struct tx *tx, u64 id,
		      u32 len, const char *wrong)
{
	struct tx *half = whose(w, e, id, len, OAE_SWAP, wrong);

	if (!half)
		return;
	say(w, e, "#%llu takes #%llu", TX_SERIAL(tx->id), TX_SERIAL(half->id));
	tx->other = half->id;
	half->other = tx->id;
	w->n.taken++;
	arrived(w, e, half);
	if (half->ended || half->lost)
		tx_free(w, half);
}

/**
 * check_result() - what came behind the body of a REFLECT
 * @w: the world
 * @e: the end
 * @tx: what it was for
 * @p: the frame
 */
void check_result(struct world *w, struct end *e, struct tx *tx,
		  const struct flight *p)
{
	const char *wrong = NULL;
	u64 id;
	u32 n;

	if (!p || p->f.opcode != OAE_REFLECT || tx->answered ||
	    p->f.length <= OAE_REFLECT_LEN || p->f.kind != tx->kind) {
		violation(w, e, "RESULT for #%llu, and there is none",
			  TX_SERIAL(tx->id));
		return;
	}
	tx->answered = true;
	id = p->id;
	n = p->f.length - OAE_REFLECT_LEN;
	if (p->data) {
		const u8 *more = p->data + p->f.hdr_len + OAE_REFLECT_LEN;

		id = n < sizeof(id) ? TX_NONE : get_unaligned_be64(more);
		if (tx->kind == OAE_SWAP) {
			content_bytes(id, 0, n, w->scratch);
			if (memcmp(w->scratch, more, n))
				wrong = "altered";
		}
	}
	if (tx->kind == OAE_SWAP)
		half_came(w, e, tx, id, n, wrong);
	else if (id != tx->other)
		violation(w, e, "#%llu: another answer than was computed",
			  TX_SERIAL(tx->id));
}

/**
 * check_half() - what became of the half that an end has posted
 * @w: the world
 * @e: the end, after an event
 */
void check_half(struct world *w, struct end *e)
{
	const struct oae_link *l = &e->link;
	bool held = l->hold.state == OAE_HOLD_HELD;
	bool lent = l->half.state == OAE_HALF_LENT;
	bool offered = l->half.state == OAE_HALF_OFFERED;
	struct tx *tx;

	if (!e->tag)
		return;
	if (lent != (held && l->hold.kind == OAE_SWAP) ||
	    offered != (l->offer.state != OAE_OFFER_NONE &&
			l->offer.p.kind == OAE_SWAP))
		violation(w, e, "half %u, offer %u, hold %u", l->half.state,
			  l->offer.state, l->hold.state);
	if (!!e->verb != (held && l->hold.kind == OAE_VERB))
		violation(w, e, "words are %sreserved, hold %u",
			  e->verb ? "" : "not ", l->hold.state);
	if (l->half.state == OAE_HALF_NONE)
		return;
	tx = tx_find(w, TX_OF(l->half.p.handle));
	if (!tx || tx->id != e->at_link[2]) {
		violation(w, e, "a half that is not here");
		return;
	}
	if (l->half.state == OAE_HALF_LENT && !tx->lent)
		tx->offered_to = l->peer_inc;
	tx->lent = l->half.state == OAE_HALF_LENT;
}

/**
 * check_confirmed() - a writer hears that its commit was delivered
 * @w: the world
 * @e: the end
 */
void check_confirmed(struct world *w, struct end *e)
{
	if (e->committed)
		violation(w, e, "CONFIRMED, but #%llu is not delivered",
			  TX_SERIAL(e->committed));
}

static bool give_up(struct world *w, u64 id)
{
	struct tx *tx = tx_find(w, id);

	if (!tx || tx->excused)
		return false;
	tx->excused = true;
	w->n.excused++;
	return true;
}

/**
 * check_died() - an end's link dies, with or without its machine
 * @w: the world
 * @e: the end
 *
 * What it had committed, or was to deliver, may be lost; but an end that lives
 * on must say so.
 */
void check_died(struct world *w, struct end *e)
{
	struct end *p = end_peer(w, e);

	if (give_up(w, e->committed))
		p->owes_held_lost = p->tag;
	if (give_up(w, p->committed))
		p->owes_unconfirmed = p->tag;
	e->owes_held_lost = false;
	e->owes_unconfirmed = false;
	end_free_slices(w, e);
	e->timer_at = 0;
	e->frozen_at = 0;
	e->tag = false;
}

static void froze(struct world *w, struct end *e)
{
	if (e->frozen_at)
		return;
	e->frozen_at = w->now;
	window(w)->failures++;
}

static void healed(struct world *w, struct end *e)
{
	if (!e->frozen_at)
		return;
	if (w->phase < PHASE_PROVE)
		hist_add(&w->heal, w->now - e->frozen_at);
	e->frozen_at = 0;
	window(w)->resolved++;
}

/**
 * check_note() - count what a link notes
 * @w: the world
 * @e: the end
 * @note: enum oae_note
 */
void check_note(struct world *w, struct end *e, u8 note)
{
	if (note >= OAE_NOTE_END) {
		violation(w, e, "no such note: %u", note);
		return;
	}
	w->n.note[note]++;
	say(w, e, "note %s", oae_note_name(note));
	switch (note) {
	case OAE_N_STALL:
	case OAE_N_PEER_FROZE:
	case OAE_N_NOLINK:
	case OAE_N_ATTEMPTS:
	case OAE_N_WORN:
	case OAE_N_PORT:
		froze(w, e);
		break;
	case OAE_N_OPENED:
	case OAE_N_RESOLVED:
		healed(w, e);
		break;
	case OAE_N_UNCONFIRMED:
		e->owes_unconfirmed = false;
		break;
	case OAE_N_HELD_LOST:
		e->owes_held_lost = false;
		break;
	case OAE_N_BROKEN:
	case OAE_N_IMPOSSIBLE:
	case OAE_N_MISMATCH:
	case OAE_N_BAD_SLICE:
		violation(w, e, "between two honest ends: %s",
			  oae_note_name(note));
		break;
	}
}

/**
 * check_state() - what must be so after every event
 * @w: the world
 * @e: the end it was at
 */
void check_state(struct world *w, struct end *e)
{
	if (e->have != (e->tag ? e->link.hold.have : 0))
		violation(w, e, "the slices kept are not those the link has");
	/*
	 * One more than rcvbuf: an OFFER may deliver the one before it and be
	 * held itself, and there was room when it came.
	 */
	if (e->kept > w->knobs.max_len || e->unread > w->cfg->rcvbuf + 1)
		violation(w, e, "G6: %u bytes kept, %u unread", e->kept,
			  e->unread);
	if (e->tag && (e->link.state == OAE_CLOSED || !e->timer_at ||
		       !e->link.ltag))
		violation(w, e, "state %s, timer %s, ltag %08x",
			  oae_state_name(e->link.state),
			  e->timer_at ? "armed" : "not armed", e->link.ltag);
}

/**
 * check_settled() - is nothing under way any more?
 * @w: the world
 * @link: set to a link where something is
 *
 * Return: true if each end is OPEN and idle, or without a tag.
 */
bool check_settled(const struct world *w, u32 *link)
{
	u32 i;

	for (i = 0; i < w->nends; i++) {
		const struct end *e = &w->ends[i];

		*link = i >> 1;
		if (e->under_way)
			return false;
		if (e->tag && (oae_link_state(&e->link) != OAE_OPEN ||
			       e->link.asked_at ||
			       e->link.offer.state != OAE_OFFER_NONE ||
			       e->link.hold.state == OAE_HOLD_HELD))
			return false;
	}
	return !w->under_way;
}

/**
 * check_fair_weather() - without faults no link may have failed (G4)
 * @w: the world
 */
void check_fair_weather(struct world *w)
{
	const struct config *c = w->cfg;
	const u64 *note = w->n.note;

	if (c->loss || c->dup || c->corrupt || c->reorder || c->nfates ||
	    c->crash_rate || c->flap_rate ||
	    3 * (c->latency_max + c->jitter) > c->stall_min)
		return;
	if (note[OAE_N_STALL] || note[OAE_N_PEER_FROZE] ||
	    note[OAE_N_DOWN] || note[OAE_N_RESOLVED])
		violation(w, &w->ends[0], "G4: no faults, but a link failed");
}

/**
 * check_end() - what must be so when all is over
 * @w: the world, settled
 */
void check_end(struct world *w)
{
	const struct tx *tx;
	u32 i;

	for (i = 0; i < w->txs.made; i++) {
		tx = pool_at(&w->txs, i);
		if (!tx->id || tx->lost || tx->unknown)
			continue;
		if (!tx->ended)
			violation(w, &w->ends[tx->end], "G3: #%llu has no outcome",
				  TX_SERIAL(tx->id));
		else if (!tx->excused)
			violation(w, &w->ends[tx->end], "G2: #%llu committed, never delivered",
				  TX_SERIAL(tx->id));
	}
	/* An idle end learns of a death by the proof at the latest. */
	for (i = 0; i < w->nends && w->phase > PHASE_DRAIN; i++) {
		if (w->ends[i].owes_unconfirmed)
			violation(w, &w->ends[i], "never said UNCONFIRMED");
		if (w->ends[i].owes_held_lost)
			violation(w, &w->ends[i], "never said HELD_LOST");
	}
	if (w->n.posted != w->n.outcome[OAE_COMMITTED] +
				   w->n.outcome[OAE_REVERSED] +
				   w->n.outcome[OAE_UNKNOWN] + w->n.lost)
		violation(w, &w->ends[0], "G3: outcomes do not sum up to what was posted");
}
