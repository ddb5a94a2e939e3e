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

/* Only an express, and only when either end has died. */
static void is_unknown(struct world *w, struct end *e, struct tx *tx)
{
	struct end *p = end_peer(w, e);

	window(w)->unknown++;
	if (!(tx->flags & OAE_POST_EXPRESS) || !tx->offered)
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
	/* An express that is on its way may arrive; nothing else may. */
	if ((tx->flags & OAE_POST_EXPRESS) && tx->at_link && !tx->delivered)
		tx->lost = true;
	else
		tx_free(w, tx);
}

/* What is delivered must be somebody's, and its turn (G1, G2). */
static struct tx *whose(struct world *w, struct end *e, u64 id, u32 len,
			const char *wrong)
{
	struct tx *tx = tx_find(w, id);

	if (wrong)
		violation(w, e, "G1: #%llu delivered %s", TX_SERIAL(id), wrong);
	else if (id == e->last_id)
		violation(w, e, "G1: #%llu delivered twice", TX_SERIAL(id));
	else if (id < e->last_id)
		violation(w, e, "G1: #%llu delivered after #%llu",
			  TX_SERIAL(id), TX_SERIAL(e->last_id));
	else if (!tx)
		violation(w, e, "G2: #%llu delivered, was reversed, or lost with its sender",
			  TX_SERIAL(id));
	else if (tx->end != (end_index(w, e) ^ 1))
		violation(w, e, "G1: #%llu delivered, of another link",
			  TX_SERIAL(id));
	else if (tx->len != len)
		violation(w, e, "G1: #%llu delivered with %u bytes of %u",
			  TX_SERIAL(id), len, tx->len);
	else if (!(tx->flags & OAE_POST_EXPRESS) && !tx->ended)
		violation(w, e, "G2: #%llu delivered, was not committed",
			  TX_SERIAL(id));
	else
		return tx;
	return NULL;
}

/**
 * check_delivered() - the reader gets a transaction
 * @w: the world
 * @e: the end
 * @n: how many of the slices kept it is said to be
 */
void check_delivered(struct world *w, struct end *e, unsigned int n)
{
	struct end *p = end_peer(w, e);
	const char *wrong = NULL;
	struct tx *tx;
	u32 len;
	u64 id;

	if (!n || n > OAE_MAX_SLICES ||
	    e->have != ~0ULL >> (OAE_MAX_SLICES - n)) {
		violation(w, e, "G1: delivered without all of %u slices", n);
		return;
	}
	id = content_delivered(w, e, n, &len, &wrong);
	end_free_slices(w, e);
	say(w, e, "#%llu delivered", TX_SERIAL(id));
	tx = whose(w, e, id, len, wrong);
	if (!tx)
		return;
	/* Its sender may have died since: a late frame had the commit. */
	if (tx->excused) {
		if (!e->owes_held_lost)
			violation(w, e, "#%llu delivered, was given up",
				  TX_SERIAL(id));
		e->owes_held_lost = false;
		w->n.excused--;
	}
	w->n.delivered++;
	tx->delivered = true;
	e->last_id = id;
	if (p->committed == id)
		p->committed = TX_NONE;
	if (tx->ended || tx->lost)
		tx_free(w, tx);
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
	for (i = 0; i < w->nends; i++) {
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
