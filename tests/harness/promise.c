// SPDX-License-Identifier: GPL-2.0
/*
 * Checks G1 to G4 and G6 of doc/guarantees.md while events happen. See harness.h.
 *
 * The state of a hostile peer is unknown. The outcomes of one transaction at the
 * two ends are not compared then; only the promises of one end to its own user
 * are checked. In a world that began in an arbitrary state the ends may have been
 * wrong before; they are checked for what they do from then on.
 */
#include <stdio.h>
#include <string.h>
#include "harness.h"
#include "../../modoae/link/link_int.h"

static bool in_doubt(const struct h_tx *tx)
{
	return tx && !tx->delivered && !tx->excused;
}

/* Of those that an end has committed: how many the other may still deliver. */
static unsigned int undelivered(struct h_event *ev, const struct h_end *e)
{
	unsigned int i, n = 0;

	for (i = 0; i < e->nundelivered; i++)
		n += in_doubt(h_find(ev, e->undelivered[i]));
	return n;
}

static void excuse(struct h_event *ev, struct h_tx *tx)
{
	tx->excused = true;
	ev->excused++;
}

/* The peer is alive, and still the incarnation @inc. */
static bool knows_peer(const struct h_event *ev, u64 inc)
{
	return ev->peer->tag && ev->peer->link.inc == inc;
}

/* --- what is kept, offered, lent --- */

/**
 * h_keeps() - KEEP: the payload of the received frame is kept
 * @ev: the event
 * @op: the op
 */
void h_keeps(struct h_event *ev, const struct oae_op *op)
{
	unsigned int i = h_lane(ev->seq), slice = op->slice;
	struct h_end *e = ev->end;

	if (!ev->f || ev->f->opcode != OAE_OFFER || slice != ev->f->slice ||
	    ev->seq != ev->f->seq || slice >= OAE_MAX_SLICES ||
	    op->hash != ev->f->payload_hash || e->have[i] >> slice & 1) {
		h_fail(ev, 0, "KEEP of a slice that is not this frame's");
		return;
	}
	h_keep(ev, slice);
	e->have[i] |= 1ULL << slice;
	e->kept[i] += ev->f->length;
}

/**
 * h_offers() - an OFFER goes out
 * @ev: the event
 * @s: the OFFER
 *
 * Return: the offered transaction; NULL if the link does not have it.
 */
struct h_tx *h_offers(struct h_event *ev, const struct oae_send *s)
{
	h_id id = H_OF(s->handle);
	struct h_tx *tx = h_at_link(ev, id);

	if (!tx || !s->slices || !s->nslices) {
		h_fail(ev, id, "OFFER of #, which the link has not got, or of no slice");
		return NULL;
	}
	if (s->frame.kind != tx->kind)
		h_fail(ev, id, "OFFER of # as another kind");
	if (s->nslices != 1 + (tx->len - 1) / s->slice_max ||
	    s->slices >> (s->nslices - 1) > 1)
		h_fail(ev, id, "OFFER of # with slices beyond the last");
	if (tx->kind == OAE_SWAP) {
		if (tx->lent)
			h_fail(ev, id, "G2: half # is offered while it is lent");
	} else if (!tx->offered) {
		tx->offered = true;
		tx->offered_to = ev->end->link.peer.inc;
	} else if (tx->flags & OAE_POST_EXPRESS &&
		   tx->offered_to != ev->end->link.peer.inc) {
		h_fail(ev, id, "G1: express # offered to another incarnation");
	}
	return tx;
}

/**
 * h_lends() - a REFLECT goes out, possibly with a half or an answer
 * @ev: the event
 * @s: the REFLECT
 */
void h_lends(struct h_event *ev, const struct oae_send *s)
{
	u16 n = s->frame.length ? s->frame.length - OAE_REFLECT_LEN : 0;
	h_id id = H_OF(s->handle);
	struct h_tx *tx;

	switch (s->frame.kind) {
	case OAE_SWAP:
		tx = h_at_link(ev, id);
		if (!tx || tx->kind != OAE_SWAP) {
			h_fail(ev, id, "G2: lends #, which it has not got");
			return;
		}
		if (n != tx->len)
			h_fail(ev, id, "a REFLECT with too much or too little of half #");
		tx->lent = true;
		tx->offered_to = ev->end->link.peer.inc;
		break;
	case OAE_VERB:
		ev->seq = s->frame.seq;
		if (!h_verb_here(ev))
			h_fail(ev, 0, "G2: a REFLECT answers a verb that is not computed");
		break;
	default:
		if (n)
			h_fail(ev, 0, "a REFLECT of a message with more behind it");
	}
}

/* --- outcomes (G2, G3) --- */

static void not_undelivered(struct h_end *e, unsigned int i)
{
	for (e->nundelivered--; i < e->nundelivered; i++)
		e->undelivered[i] = e->undelivered[i + 1];
}

static void committed(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct h_end *e = ev->end;

	if (!ev->peer)
		return;
	/* The other end's half was the one offered. */
	if (tx->lent) {
		if (!tx->delivered && !ev->anything)
			h_fail(ev, id, "G2: half # was lent and is committed, and nobody took it");
		return;
	}
	/* The peer holds as many as the window has. */
	if (!ev->anything && undelivered(ev, e) >= e->link.win)
		h_fail(ev, id, "G2: # committed, and too many before it are not delivered");
	if (!ev->anything && tx->flags & OAE_POST_EXPRESS && !tx->delivered)
		h_fail(ev, id, "G2: express # committed, not delivered");
	ev->before = e->nundelivered == H_LANES ? e->undelivered[0] : 0;
	if (ev->before)
		not_undelivered(e, 0);
	e->committed = id;
	if (!tx->delivered)
		e->undelivered[e->nundelivered++] = id;
	/* Reflected by an incarnation that has died since. */
	if (!tx->delivered && !knows_peer(ev, e->link.peer.inc)) {
		excuse(ev, tx);
		e->owes_unconfirmed++;
	}
}

/* Only for an express or a lent half, and only when an end has died. */
static void unknown(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct h_end *e = ev->end;

	/* The counters contradict each other: nothing can be relied on. */
	if (ev->anything || ev->broken)
		return;
	if (!(tx->flags & OAE_POST_EXPRESS && tx->offered) && !tx->lent)
		h_fail(ev, id, "G3: # UNKNOWN, but it could be reversed");
	if (ev->peer && knows_peer(ev, tx->offered_to) &&
	    e->link.state != OAE_CLOSED && !e->renamed && !ev->hostile)
		h_fail(ev, id, "G3: # UNKNOWN, and nobody died");
}

/**
 * h_ended() - the outcome of a transaction, of which there is only one
 * @ev: the event
 * @tx: the transaction
 * @id: its name
 * @outcome: enum oae_outcome
 * @err: why, positive errno; 0 if committed
 */
void h_ended(struct h_event *ev, struct h_tx *tx, h_id id, u8 outcome, int err)
{
	if (tx->ended || tx->from != ev->end->who ||
	    outcome >= OAE_OUTCOME_END) {
		h_fail(ev, id, "G3: # ends twice, or with no outcome");
		return;
	}
	if (!err != (outcome == OAE_COMMITTED) ||
	    (err == OAE_E_UNKNOWN) != (outcome == OAE_UNKNOWN))
		h_fail(ev, id, "G3: the outcome of # has the wrong errno");
	/*
	 * A verb that was answered waits for those below it, and may be reversed; and of a peer
	 * whose counters contradict themselves nothing is known.
	 */
	if (!ev->anything && tx->kind != OAE_MESSAGE && tx->kind != OAE_PACK &&
	    tx->answered != (outcome == OAE_COMMITTED) &&
	    !(H_LANES > 1 && tx->kind == OAE_VERB &&
	      (outcome == OAE_REVERSED || (outcome == OAE_UNKNOWN && ev->broken))))
		h_fail(ev, id, "G2: # committed, and what it is for has not come; or it came, and # is not");
	tx->ended = true;
	tx->at_link = false;
	tx->outcome = outcome;
	switch (outcome) {
	case OAE_COMMITTED:
		committed(ev, tx, id);
		break;
	case OAE_REVERSED:
		/* An end that has not resolved yet cannot know better. */
		if (ev->anything && !ev->end->compared)
			excuse(ev, tx);
		else if (tx->delivered && !(ev->anything && tx->excused))
			h_fail(ev, id, "G2: # reversed after it was delivered");
		break;
	default:
		unknown(ev, tx, id);
	}
	h_told(ev, tx, id, err);
}

/**
 * h_confirmed() - CONFIRMED: the last commit is delivered
 * @ev: the event
 */
void h_confirmed(struct h_event *ev)
{
	struct h_end *e = ev->end;

	/*
	 * A VOID may be all that was committed, perhaps in a run before this one. The event
	 * may have ended the link.
	 */
	if (ev->peer && !ev->anything && e->link.state != OAE_CLOSED &&
	    ((!e->committed && H_LANES == 1) ||
	     undelivered(ev, e) > e->link.tx - ev->seq))
		h_fail(ev, e->committed, "CONFIRMED, and # is not delivered");
}

/* --- deliveries (G1, G2) --- */

/* A transaction has arrived for good. Halves are a stream of their own. */
static void arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id)
{
	struct h_end *e = ev->end;
	bool half = tx->kind == OAE_SWAP;
	unsigned int i;
	h_id *last = half ? &e->last_half : &e->last_id;

	if (tx->delivered)
		h_fail(ev, id, "G1: # delivered twice");
	/* Halves have no numbers, so an arbitrary start does not order them. */
	else if (id <= *last && !(half && ev->anything) && !h_several(tx))
		h_fail(ev, id, "G1: # delivered after one that is younger");
	if (tx->ended && tx->outcome == OAE_REVERSED &&
	    !(ev->anything && tx->excused))
		h_fail(ev, id, "G2: # delivered, was reversed");
	/* Its sender has died, and a late frame carried the commit. */
	if (tx->excused && !ev->anything) {
		if (!e->owes_held_lost)
			h_fail(ev, id, "G2: # delivered, was given up");
		else
			e->owes_held_lost--;
		ev->excused--;
	}
	tx->delivered = true;
	for (i = 0; i < ev->peer->nundelivered; i++)
		if (ev->peer->undelivered[i] == id)
			not_undelivered(ev->peer, i);
	if (!h_several(tx))
		*last = id;
	h_arrived(ev, op, tx, id);
}

/* Two halves are swapped for good; neither may be swapped with a third. */
static void swapped(struct h_event *ev, struct h_tx *tx, h_id id,
		    struct h_tx *its, h_id other)
{
	if (tx->kind != OAE_SWAP || its->kind != OAE_SWAP ||
	    tx->from == its->from)
		h_fail(ev, id, "G1: # is swapped with what is no half of the other end");
	else if (!ev->anything &&
		 (tx->other || (its->other && its->other != id)))
		h_fail(ev, id, "G2: # is swapped twice, or with a third");
	tx->other = other;
	tx->answered = true;
}

/**
 * h_hand_over() - DELIVER, UNPACK, TAKE or APPLY: the held transaction is committed
 * @ev: the event
 * @op: the op; UNPACK: the user orders the messages
 * @n: number of slices
 * @mine: TAKE: the half lent for it
 */
void h_hand_over(struct h_event *ev, u8 op, unsigned int n, h_id mine)
{
	static const u8 kinds[] = {
		[OAE_OP_DELIVER] = OAE_MESSAGE, [OAE_OP_TAKE] = OAE_SWAP,
		[OAE_OP_APPLY] = OAE_VERB, [OAE_OP_UNPACK] = OAE_PACK,
	};
	struct h_tx *tx = NULL, *half = mine ? h_find(ev, mine) : NULL;
	struct h_end *e = ev->end;
	unsigned int i = h_lane(ev->seq);
	bool computed = h_verb_here(ev);
	h_id id = 0;

	if (!n || n > OAE_MAX_SLICES || e->have[i] != ~0ULL >> (64 - n))
		h_fail(ev, 0, "G1: delivered, and not all slices are here, or more");
	else if (ev->peer)
		id = h_whose(ev, n, kinds[op]);
	/* h_arrived() frees the words of a verb. */
	if (op == OAE_OP_APPLY && !computed)
		h_fail(ev, id, "G2: # applied, and was not computed");
	if (half && !half->lent)
		h_fail(ev, mine, "G2: # takes, and was not lent");
	if (id)
		tx = h_find(ev, id);
	if (!ev->peer) {
		if (half)
			half->answered = true;
		h_arrived(ev, op, NULL, 0);
	} else if (!id) {
		;
	} else if (!tx) {
		h_fail(ev, id, id <= (op == OAE_OP_TAKE ? e->last_half : e->last_id) ?
		       "G1: # delivered twice, or after one that is younger" :
		       "G2: # delivered, was reversed, or lost with its sender");
	} else if (tx->from == e->who || tx->kind != kinds[op] ||
		   tx->len != e->kept[i]) {
		h_fail(ev, id, "G1: # delivered to whom it is not for, as another kind, or not all of it");
		tx = NULL;
	} else if (!ev->anything && !(tx->flags & OAE_POST_EXPRESS) &&
		   !(tx->ended && tx->outcome == OAE_COMMITTED)) {
		h_fail(ev, id, "G2: # delivered, was not committed");
	}
	if (!tx || ev->stop) {
		h_free_slots(ev);
		return;
	}
	if (half) {
		if (!ev->anything && tx->other != mine)
			h_fail(ev, mine, "G2: # takes one that has taken another");
		swapped(ev, half, mine, tx, id);
	}
	arrived(ev, op, tx, id);
	h_free_slots(ev);
}

/**
 * h_result() - RESULT: a REFLECT brought the half or the answer for a transaction
 * @ev: the event
 * @tx: the transaction, committed by it
 * @id: its name
 */
void h_result(struct h_event *ev, struct h_tx *tx, h_id id)
{
	const struct oae_frame *f = ev->f;
	struct h_tx *half;
	h_id its;

	if (!f || f->opcode != OAE_REFLECT || tx->kind == OAE_MESSAGE ||
	    f->kind != tx->kind || f->length <= OAE_REFLECT_LEN ||
	    (tx->answered && !ev->anything &&
	     !(H_LANES > 1 && tx->kind == OAE_VERB))) {
		h_fail(ev, id, "G1: RESULT for #, and there is none");
		return;
	}
	its = ev->peer ? h_answer(ev, tx, id) : 1;
	if (!ev->peer || tx->kind != OAE_SWAP || !its) {
		tx->answered = its;
		return;
	}
	half = h_find(ev, its);
	if (!half) {
		h_fail(ev, its, "G1: # was taken, and nobody sent it");
		return;
	}
	if (half->ended && half->outcome != OAE_UNKNOWN && !ev->anything)
		h_fail(ev, its, "G2: half # taken, has ended");
	swapped(ev, tx, id, half, its);
	arrived(ev, OAE_OP_RESULT, half, its);
}

/* --- deaths --- */

/**
 * h_new_end() - an end becomes another incarnation
 * @ev: the event, at that end
 *
 * Its commits and its deliveries may be lost; an end that lives on must note that.
 */
void h_new_end(struct h_event *ev)
{
	struct h_end *e = ev->end, *p = ev->peer;
	struct h_tx *tx;
	unsigned int i;

	for (i = 0; i < e->nundelivered; i++) {
		tx = h_find(ev, e->undelivered[i]);
		if (!in_doubt(tx))
			continue;
		excuse(ev, tx);
		p->owes_held_lost += p->tag;
	}
	for (i = 0; i < p->nundelivered; i++) {
		tx = h_find(ev, p->undelivered[i]);
		if (!in_doubt(tx))
			continue;
		excuse(ev, tx);
		p->owes_unconfirmed += p->tag;
	}
}

/**
 * h_died() - this end's link is gone, or its machine with it
 * @ev: the event
 */
void h_died(struct h_event *ev)
{
	struct h_end *e = ev->end;

	if (ev->peer)
		h_new_end(ev);
	e->owes_held_lost = 0;
	e->owes_unconfirmed = 0;
	for (ev->seq = 0; ev->seq < H_LANES; ev->seq++)
		h_free_slots(ev);
	e->timer_at = 0;
	e->tag = false;
	if (h_gone)
		h_gone(ev);
}

/* Caused by forged frames only. */
static void honest(struct h_event *ev, const char *why)
{
	if (ev->peer && !ev->anything && !ev->hostile)
		h_fail(ev, 0, why);
}

/**
 * h_note() - NOTE: an end reports what happened
 * @ev: the event
 * @note: enum oae_note
 */
void h_note(struct h_event *ev, u8 note)
{
	struct h_end *e = ev->end;
	struct h_tx *tx;

	if (note >= OAE_NOTE_END) {
		h_fail(ev, 0, "no such note");
		return;
	}
	h_noted(ev, note);
	switch (note) {
	case OAE_N_OPENED:
	case OAE_N_RESOLVED:
		e->compared = true;
		break;
	case OAE_N_UNCONFIRMED:
		e->owes_unconfirmed -= !!e->owes_unconfirmed;
		break;
	case OAE_N_HELD_LOST:
		e->owes_held_lost -= !!e->owes_held_lost;
		break;
	case OAE_N_HELD:
		if (ev->stopped && e->link.state == OAE_OPEN)
			h_fail(ev, 0, "an end that closes takes what it did not hold");
		break;
	case OAE_N_TAKEN_BACK:
		tx = e->link.swaps->half.handle ?
			     h_find(ev, H_OF(e->link.swaps->half.handle)) : NULL;
		if (tx)
			tx->lent = false;
		break;
	case OAE_N_BROKEN:
		ev->broken = true;
		honest(ev, "between two honest ends: broken");
		break;
	case OAE_N_IMPOSSIBLE:
		honest(ev, "between two honest ends: impossible");
		break;
	case OAE_N_MISMATCH:
		honest(ev, "between two honest ends: mismatch");
		break;
	case OAE_N_BAD_SLICE:
		honest(ev, "between two honest ends: bad_slice");
		break;
	case OAE_N_NOT_GRANTED:
		honest(ev, "between two honest ends: not_granted");
		break;
	}
}

/* --- after each event --- */

/* Is anything parked that could step aside? */
static bool parked(const struct oae_link *l)
{
	const struct oae_lane *n;
	u32 i;

	for (i = 1; i <= l->nlanes; i++) {
		n = oae_lane(l, l->tx + i);
		if (n->state == OAE_OFFER_PARKED && n->p.kind != OAE_VOID)
			return true;
	}
	return false;
}

/* Half, offer and hold agree on their kinds. */
static void check_kinds(struct h_event *ev)
{
	const struct h_end *e = ev->end;
	const struct oae_link *l = &e->link;
	const struct oae_lane *n = oae_first_lane(l);
	const struct oae_hold *h = oae_first_hold(l);
	bool held = e->tag && h->state == OAE_HOLD_HELD;
	bool lent = l->half.state == OAE_HALF_LENT;
	bool offered = l->nlanes && n->p.kind == OAE_SWAP;
	h_id id = l->half.state == OAE_HALF_NONE ? 0 : H_OF(l->swaps->half.handle);
	struct h_tx *tx;

	if (lent != (held && h->kind == OAE_SWAP))
		h_fail(ev, id, "half # is lent, and no other held for it, or the other way");
	if ((l->half.state == OAE_HALF_OFFERED) != offered ||
	    (offered && H_OF(n->p.handle) != id))
		h_fail(ev, id, "half # is offered, and is not what is offered, or the other way");
	if (l->state == OAE_OPEN && !ev->anything &&
	    l->half.state == OAE_HALF_POSTED && !l->closing &&
	    !l->peer.closing && !l->settle_until && parked(l))
		h_fail(ev, id, "G4: half # waits for what is parked");
	if (l->state == OAE_OPEN && !ev->anything && !l->settle_until &&
	    !l->nlanes &&
	    (l->half.state == OAE_HALF_POSTED || (l->next_valid && !l->credit.said_blocked)))
		h_fail(ev, id, "G4: what waits is not offered");
	/*
	 * The numbers that were given end before the half is offered: nothing takes their place.
	 */
	if (l->naside && !offered && !ev->anything && !l->nlanes && l->state == OAE_OPEN)
		h_fail(ev, 0, "one stands aside, and for no half");
	if (!e->tag || l->half.state == OAE_HALF_NONE)
		return;
	tx = h_at_link(ev, id);
	if (!tx || tx->kind != OAE_SWAP)
		h_fail(ev, id, "half # is not here, and the link has it");
	else if (tx->lent != lent)
		h_fail(ev, id, "half # went out, and is not lent");
	else if (tx->unwanted && !lent)
		h_fail(ev, id, "half # was asked back, and is posted again");
}

/* What is kept of each number is what the link has of it. */
static void check_kept(struct h_event *ev)
{
	const struct h_end *e = ev->end;
	const struct oae_link *l = &e->link;
	unsigned int i, held = 0, parked = 0, due = 0, waits = 0, voids = 0, n;
	const struct oae_lane *lane;
	const struct oae_hold *h;
	bool firm = true, verb;
	u32 seq;
	u64 have;

	n = l->pair ? l->npairs : 1;
	for (i = 1; i <= n; i++) {
		seq = l->rx + i;
		h = oae_hold_of(l, seq);
		have = e->tag && h->kind != OAE_VOID ? h->have : 0;
		held += h->state == OAE_HOLD_HELD;
		waits += h->state == OAE_HOLD_WAITS;
		verb = e->tag && h->state == OAE_HOLD_HELD && h->kind == OAE_VERB;
		if ((e->computed >> h_lane(seq) & 1) != verb)
			h_fail(ev, 0, "words are reserved, and no verb is held, or the other way");
		if (e->tag && firm && h->state == OAE_HOLD_WAITS && !oae_link_more(l))
			h_fail(ev, 0, "G4: a verb waits, and all below it is held");
		firm &= h->state == OAE_HOLD_HELD;
		if (e->have[h_lane(seq)] != have)
			h_fail(ev, 0, "G6: slices kept are not what the link has");
		if (ev->max_len && e->kept[h_lane(seq)] > ev->max_len)
			h_fail(ev, 0, "G6: more kept than there may be");
	}
	if (!e->tag)
		return;
	if (held != l->nheld || waits != l->nwait)
		h_fail(ev, 0, "the link has miscounted what it holds");
	for (i = 1; i <= l->nlanes; i++) {
		lane = oae_lane(l, l->tx + i);
		parked += lane->state == OAE_OFFER_PARKED;
		due += !!lane->due;
		voids += lane->p.kind == OAE_VOID && !lane->recalled &&
			 lane->state != OAE_OFFER_REFLECTED;
	}
	if (l->state == OAE_OPEN && voids != l->nvoid)
		h_fail(ev, 0, "the link has miscounted for what verbs wait");
	if (l->state == OAE_OPEN && (parked != l->nparked || due != l->ndue))
		h_fail(ev, 0, "the link has miscounted what is parked or due");
	if (l->given > l->nlanes)
		h_fail(ev, 0, "more numbers are given than have a content");
}

/* What is charged, and gathered, is what the numbers say. */
static void check_credit(struct h_event *ev)
{
	struct oae_link *l = &ev->end->link;
	u32 seq, charged = 0, gathered = 0, i, cost;
	const struct oae_hold *h;
	unsigned int some = 0;

	for (seq = l->peer.rx; l->state == OAE_OPEN && seq != l->tx + l->given;)
		charged += *h_cost(l, ++seq);
	if (l->state == OAE_OPEN && charged != l->credit.charged)
		h_fail(ev, 0, "the link has miscounted what it charges");
	for (i = 1; i <= (l->pair ? l->npairs : 1u); i++) {
		h = oae_hold_of(l, l->rx + i);
		if (!oae_hold_begun(h) || !oae_kind_is(h->kind, OAE_T_READ))
			continue;
		cost = h->len + __builtin_popcountll(h->have) * OAE_SLICE_COST;
		gathered += cost;
		some += !!cost;
	}
	if (gathered != l->credit.gathered)
		h_fail(ev, 0, "the link has miscounted what it gathers");
	if (gathered > l->credit.granted && some > 1)
		h_fail(ev, 0, "G6: more is gathered than was granted");
}

/* Are both links OPEN, and do both name this run? */
static bool one_run(const struct oae_link *a, const struct oae_link *b)
{
	return a->state == OAE_OPEN && b->state == OAE_OPEN && a->ltag == b->peer.ltag &&
	       b->ltag == a->peer.ltag;
}

/**
 * h_check() - invariants of an end, after every event
 * @ev: the event, at any end
 */
void h_check(struct h_event *ev)
{
	const struct h_end *e = ev->end;
	const struct oae_link *l = &e->link;

	check_kept(ev);
	check_credit(ev);
	/* One content may cost more than what is granted. */
	if (ev->rcvbuf && e->unread > ev->rcvbuf + 1)
		h_fail(ev, 0, "G6: more unread than there is room for");
	if (e->tag && (l->state == OAE_CLOSED || !e->timer_at || !l->timer.at))
		h_fail(ev, 0, "a tag without a timer, or closed");
	if (e->tag && (!l->ltag || !l->inc))
		h_fail(ev, 0, "a tag without an ltag, or without an incarnation");
	if (e->tag && ev->peer && l->rank != (h_higher ? h_higher(ev) : e->who))
		h_fail(ev, 0, "the ends have forgotten whose address is the higher one");
	/* By two own paths both may have the higher address. */
	if (e->tag && ev->peer && (l->by_inc || !h_higher) && one_run(l, &ev->peer->link) &&
	    l->senior == ev->peer->link.senior)
		h_fail(ev, 0, "both ends are senior, or none");
	/* The link of a crashed machine stays as it was. */
	if (e->tag || l->state == OAE_CLOSED)
		check_kinds(ev);
	else if (e->computed)
		h_fail(ev, 0, "words are reserved without a tag");
}

/* --- in the end --- */

/**
 * h_idle() - is nothing in progress at an end?
 * @e: the end
 *
 * Return: true if its link is OPEN and idle, or there is none.
 */
bool h_idle(const struct h_end *e)
{
	const struct oae_link *l = &e->link;

	return !e->tag || (oae_link_state(l) == OAE_OPEN && !l->asked_at &&
			   !l->nlanes && !l->nheld);
}

/* Both halves or neither; unknown if an end has died. */
static void check_swapped(struct h_event *ev, struct h_tx *tx, h_id id)
{
	struct h_tx *its = tx->other ? h_find(ev, tx->other) : NULL;

	if (its && its->other != id && !its->lost &&
	    !(its->ended && its->outcome == OAE_UNKNOWN))
		h_fail(ev, id, "G2: half # swapped, and the other's is not");
	if (ev->anything)
		return;
	if (tx->delivered && tx->ended && tx->outcome == OAE_REVERSED)
		h_fail(ev, id, "G2: half # taken there, not given here");
	if (!its)
		return;
	if (its->ended && its->outcome == OAE_REVERSED)
		h_fail(ev, id, "G2: half # has another, which was reversed");
	if (tx->ended && tx->outcome == OAE_COMMITTED && !tx->excused &&
	    !its->lost && !(its->ended && its->outcome == OAE_COMMITTED))
		h_fail(ev, id, "G2: half # committed, and the other's is not");
}

/**
 * h_check_tx() - invariants of a transaction, at the end of a run
 * @ev: any event
 * @tx: the transaction
 * @id: its name
 */
void h_check_tx(struct h_event *ev, struct h_tx *tx, h_id id)
{
	if (!tx->ended && !tx->lost)
		h_fail(ev, id, "G3: # has no outcome");
	if (tx->ended && tx->outcome == OAE_COMMITTED && !tx->delivered &&
	    !tx->excused)
		h_fail(ev, id, "G2: # committed, never delivered");
	if (tx->kind == OAE_SWAP)
		check_swapped(ev, tx, id);
}

/**
 * h_check_owed() - invariants of an end, at the end of a run: losses were noted
 * @ev: any event at it
 */
void h_check_owed(struct h_event *ev)
{
	if (ev->end->owes_unconfirmed)
		h_fail(ev, 0, "a loss was never noted as unconfirmed");
	if (ev->end->owes_held_lost)
		h_fail(ev, 0, "a loss was never noted as held_lost");
}
