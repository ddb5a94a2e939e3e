// SPDX-License-Identifier: GPL-2.0
/* What the simulation holds the links to: G1 to G3 and G6. See sim.h. */
#include "sim.h"

static char name(const struct sim_end *e)
{
	return 'A' + e->who;
}

static struct sim_end *peer(const struct sim_end *e)
{
	return &e->w->end[!e->who];
}

/*
 * What a transaction says. No two are alike, and no two words of one, so any
 * mixture of slices shows. The first word is the id.
 */
void sim_content(const struct sim_tx *tx, u32 off, u32 len, u8 *buf)
{
	u64 word = 0;
	u32 i;

	for (i = off; i < off + len; i++) {
		if (i == off || !(i & 7))
			word = htobe64(i < 8 ? tx->id :
				       (tx->id << 32 | i >> 3) *
				       0x9e3779b97f4a7c15ULL);
		buf[i - off] = ((const u8 *)&word)[i & 7];
	}
}

void sim_free_slots(struct sim_end *e)
{
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++)
		e->slot[i].used = false;
}

/* What is refused for good has its reason in it, or its length. */
static void check_refused(const struct sim_end *e, const struct sim_tx *tx,
			  int err)
{
	switch (err) {
	case EOPNOTSUPP:
	case ENXIO:
	case ERANGE:
	case EACCES:
	case EBADMSG:
		if (!tx->refusal || err != sim_verb_errno(tx))
			sim_fail(e->w, "#%u refused: %s", (u32)tx->id,
				 strerror(err));
		break;
	case EMSGSIZE:
		/* A half of any length, and a verb if it is to be refused so. */
		if (tx->kind == OAE_VERB && tx->refusal != OAE_R_TOO_BIG &&
		    tx->len <= OAE_MIN_MTU - OAE_HDR_LEN)
			sim_fail(e->w, "#%u is not too big", (u32)tx->id);
		if (tx->kind == OAE_SWAP &&
		    tx->len <= OAE_MIN_MTU - OAE_HDR_LEN - OAE_REFLECT_LEN)
			sim_fail(e->w, "#%u is not too big", (u32)tx->id);
	}
}

/* The one and only outcome of a transaction (G3). */
void sim_ended(struct sim_end *e, struct sim_tx *tx, u8 outcome, int err)
{
	struct sim *w = e->w;
	struct sim_end *p = peer(e);

	if (w->trace)
		sim_say(w, "  %c: #%u %s %s", name(e), (u32)tx->id,
			outcome == OAE_COMMITTED ? "COMMITTED" :
			outcome == OAE_REVERSED ? "REVERSED" : "UNKNOWN",
			err ? strerror(err) : "");
	if (tx->ended || tx->from != e->who) {
		sim_fail(w, "G3: #%u ends twice", (u32)tx->id);
		return;
	}
	tx->ended = true;
	tx->at_link = false;
	tx->outcome = outcome;
	tx->err = err;
	tx->ended_at = w->now;
	w->outcomes[outcome]++;
	if (!err != (outcome == OAE_COMMITTED))
		sim_fail(w, "#%u: outcome %u with err %d", (u32)tx->id,
			 outcome, err);

	switch (outcome) {
	case OAE_COMMITTED:
		if (tx->kind == OAE_SWAP && !tx->other)
			sim_fail(w, "G2: half #%u committed, and none came for it",
				 (u32)tx->id);
		/* One that was lent: the other end's was what was offered. */
		if (tx->lent) {
			if (!tx->delivered)
				sim_fail(w, "G2: half #%u committed, and not taken",
					 (u32)tx->id);
			break;
		}
		if (e->committed && !e->committed->delivered &&
		    !e->committed->excused)
			sim_fail(w, "G2: #%u committed, #%u before it is not delivered",
				 (u32)tx->id, (u32)e->committed->id);
		if ((tx->flags & OAE_POST_EXPRESS) && !tx->delivered)
			sim_fail(w, "G2: express #%u committed, not delivered",
				 (u32)tx->id);
		if (tx->kind == OAE_VERB && !tx->answered)
			sim_fail(w, "G2: verb #%u committed, and no answer came",
				 (u32)tx->id);
		e->committed = tx;
		if (!tx->delivered &&
		    !(p->tag && p->link.inc == e->link.peer_inc)) {
			/* The reflection of one that has died since. */
			tx->excused = true;
			e->owes_unconfirmed = true;
		}
		break;
	case OAE_REVERSED:
		if (tx->delivered)
			sim_fail(w, "G2: #%u reversed after delivery",
				 (u32)tx->id);
		check_refused(e, tx, err);
		break;
	default:
		/*
		 * Only an express or a half that is lent, and only when either
		 * end has died.
		 */
		if (!((tx->flags & OAE_POST_EXPRESS) && tx->offered) &&
		    !tx->lent)
			sim_fail(w, "G3: #%u UNKNOWN, but could be reversed",
				 (u32)tx->id);
		if (p->tag &&
		    p->link.inc == (tx->lent ? tx->lent_to : tx->offered_to) &&
		    e->link.state != OAE_CLOSED && !w->hostile)
			sim_fail(w, "G3: #%u UNKNOWN, and nobody died",
				 (u32)tx->id);
	}
}

/* Whose bytes these are; they must be all of its. */
static struct sim_tx *whose(struct sim_end *e, const u8 *got, u32 len, u8 kind)
{
	static u8 said[OAE_MAX_SLICES * SIM_MTU_MAX];
	struct sim *w = e->w;
	struct sim_tx *tx;
	u64 id;

	id = len < sizeof(id) ? 0 : get_unaligned_be64(got);
	if (!id || id > w->ntx) {
		sim_fail(w, "G1: here is what nobody sent");
		return NULL;
	}
	tx = &w->tx[id - 1];
	sim_content(tx, 0, tx->len, said);
	if (tx->from == e->who || tx->kind != kind || tx->len != len ||
	    memcmp(got, said, len)) {
		sim_fail(w, "G1: #%u is altered", (u32)id);
		return NULL;
	}
	return tx;
}

/**
 * sim_kept() - what is kept
 * @e: the end
 * @n: slices of it
 * @kind: that it is of
 *
 * Return: whose it is; NULL if it is not whole, and that has been said.
 */
struct sim_tx *sim_kept(struct sim_end *e, unsigned int n, u8 kind)
{
	static u8 got[OAE_MAX_SLICES * SIM_MTU_MAX];
	unsigned int i;
	u32 len = 0;

	for (i = 0; i < n; i++) {
		if (!e->slot[i].used) {
			sim_fail(e->w, "G1: slice %u of %u is not here", i, n);
			return NULL;
		}
		memcpy(got + len, e->slot[i].data, e->slot[i].len);
		len += e->slot[i].len;
	}
	return whose(e, got, len, kind);
}

/* It is the other end's now, for good (G1, G2). Halves are a stream of their own. */
static void arrived(struct sim_end *e, struct sim_tx *tx, u64 *last)
{
	struct sim *w = e->w;

	if (tx->delivered)
		sim_fail(w, "G1: #%u delivered twice", (u32)tx->id);
	if (tx->id <= *last)
		sim_fail(w, "G1: #%u delivered after #%u", (u32)tx->id,
			 (u32)*last);
	if (tx->ended && tx->outcome == OAE_REVERSED)
		sim_fail(w, "G2: #%u delivered, was reversed", (u32)tx->id);
	tx->delivered = true;
	*last = tx->id;
	w->delivered++;
}

/* What was held is handed over. */
static void handed_over(struct sim_end *e, struct sim_tx *tx, u64 *last)
{
	struct sim *w = e->w;

	sim_free_slots(e);
	if (!(tx->flags & OAE_POST_EXPRESS) &&
	    !(tx->ended && tx->outcome == OAE_COMMITTED))
		sim_fail(w, "G2: #%u delivered, was not committed",
			 (u32)tx->id);
	/* Its sender may have died since: a late frame had the commit. */
	if (tx->excused) {
		if (!e->owes_held_lost)
			sim_fail(w, "#%u delivered, was given up",
				 (u32)tx->id);
		e->owes_held_lost = false;
	}
	arrived(e, tx, last);
}

/* The reader gets a message. */
void sim_deliver(struct sim_end *e, unsigned int n)
{
	struct sim_tx *tx = sim_kept(e, n, OAE_MESSAGE);

	if (!tx)
		return;
	sim_say(e->w, "  %c: #%u delivered", name(e), (u32)tx->id);
	e->unread++;
	handed_over(e, tx, &e->last_id);
}

/* A verb that was held is carried out. */
void sim_apply(struct sim_end *e)
{
	struct sim_tx *tx = sim_kept(e, 1, OAE_VERB);

	if (!tx)
		return;
	sim_say(e->w, "  %c: #%u applied", name(e), (u32)tx->id);
	handed_over(e, tx, &e->last_id);
	sim_verb_apply(e, tx);
}

/* The peer's half, which was held, is for the one that was lent. */
void sim_take_half(struct sim_end *e, struct sim_tx *mine)
{
	struct sim_tx *tx = sim_kept(e, 1, OAE_SWAP);

	if (!tx)
		return;
	sim_say(e->w, "  %c: #%u takes #%u", name(e),
		mine ? (u32)mine->id : 0, (u32)tx->id);
	if (!mine || !mine->at_link || !mine->lent || mine->other ||
	    tx->other != mine) {
		sim_fail(e->w, "G2: #%u is not what was lent for #%u",
			 mine ? (u32)mine->id : 0, (u32)tx->id);
		return;
	}
	mine->other = tx;
	e->w->swaps++;
	handed_over(e, tx, &e->last_half);
}

/* What came with the REFLECT: the peer's half, or the answer to a verb. */
void sim_result(struct sim_end *e, struct sim_tx *tx, const u8 *more, u16 len)
{
	struct sim *w = e->w;
	struct sim_tx *half;
	unsigned int i;

	switch (tx->kind) {
	case OAE_SWAP:
		half = whose(e, more, len, OAE_SWAP);
		if (!half)
			return;
		sim_say(w, "  %c: #%u takes #%u", name(e), (u32)tx->id,
			(u32)half->id);
		if (tx->other || half->other)
			sim_fail(w, "G1: #%u and #%u: one has another",
				 (u32)tx->id, (u32)half->id);
		if (half->ended && half->outcome != OAE_UNKNOWN)
			sim_fail(w, "G2: #%u taken, has ended", (u32)half->id);
		tx->other = half;
		arrived(e, half, &e->last_half);
		break;
	case OAE_VERB:
		if (len != sim_verb_reply(tx))
			sim_fail(w, "#%u: an answer of %u bytes", (u32)tx->id,
				 len);
		for (i = 0; i < len / sizeof(u64) && !w->why[0]; i++)
			if (get_unaligned_be64(more + i * sizeof(u64)) !=
			    tx->answer[i])
				sim_fail(w, "#%u: another answer", (u32)tx->id);
		tx->answered = true;
		break;
	default:
		sim_fail(w, "RESULT for #%u, a message", (u32)tx->id);
	}
}

/*
 * This end's link dies. What it had committed, or was to deliver, may be lost;
 * but an end that lives on must say so.
 */
void sim_died(struct sim_end *e)
{
	struct sim_end *p = peer(e);

	if (e->committed && !e->committed->delivered &&
	    !e->committed->excused) {
		e->committed->excused = true;
		p->owes_held_lost = p->tag;
	}
	if (p->committed && !p->committed->delivered &&
	    !p->committed->excused) {
		p->committed->excused = true;
		p->owes_unconfirmed = p->tag;
	}
	e->owes_held_lost = false;
	e->owes_unconfirmed = false;
	sim_free_slots(e);
	sim_verb_drop(e);
	e->timer_at = 0;
	e->tag = false;
}

void sim_note(struct sim_end *e, u8 what)
{
	struct sim *w = e->w;

	sim_say(w, "  %c: note %s", name(e), oae_note_name(what));
	if (what >= OAE_NOTE_END) {
		sim_fail(w, "no such note: %u", what);
		return;
	}
	w->notes[what]++;
	switch (what) {
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
		if (!w->hostile)
			sim_fail(w, "between two honest ends: %s",
				 oae_note_name(what));
		break;
	}
}

/* The half that is posted, what is offered, and what is held go together. */
static void check_half(struct sim_end *e)
{
	const struct oae_link *l = &e->link;
	bool offered = l->offer.state != OAE_OFFER_NONE &&
		       l->offer.p.kind == OAE_SWAP;
	bool held = l->hold.state == OAE_HOLD_HELD &&
		    l->hold.kind == OAE_SWAP;

	if (offered != (l->half.state == OAE_HALF_OFFERED))
		sim_fail(e->w, "%c: half %u, offer %u of kind %u", name(e),
			 l->half.state, l->offer.state, l->offer.p.kind);
	if (held != (l->half.state == OAE_HALF_LENT))
		sim_fail(e->w, "%c: half %u, hold %u of kind %u", name(e),
			 l->half.state, l->hold.state, l->hold.kind);
	if (l->aside.valid && !offered)
		sim_fail(e->w, "%c: one stands aside, and for no half", name(e));
	if (l->hold.state == OAE_HOLD_ASKED)
		sim_fail(e->w, "%c: asked, and not answered", name(e));
	if (l->state == OAE_OPEN && l->offer.state == OAE_OFFER_NONE &&
	    (l->half.state == OAE_HALF_POSTED || l->next_valid))
		sim_fail(e->w, "G4: %c does not offer what waits", name(e));
}

/* What must be so after every event. */
void sim_check(struct sim *w)
{
	unsigned int i, j;
	u64 have;
	u32 len;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		struct sim_end *e = &w->end[i];

		for (have = 0, len = 0, j = 0; j < OAE_MAX_SLICES; j++) {
			if (!e->slot[j].used)
				continue;
			have |= 1ULL << j;
			len += e->slot[j].len;
		}
		if (have != (e->tag ? e->link.hold.have : 0))
			sim_fail(w, "%c: slots are not what the link has", name(e));
		/*
		 * One more than rcvbuf: an OFFER may deliver the one before it
		 * and be held itself, and there was room when it came.
		 */
		if (len > e->cfg.max_len || e->unread > e->rcvbuf + 1)
			sim_fail(w, "G6: %c: %u bytes, %u unread", name(e),
				 len, e->unread);
		if (e->tag && (e->link.state == OAE_CLOSED || !e->timer_at))
			sim_fail(w, "%c: state %u without a timer", name(e),
				 e->link.state);
		if (e->tag && !e->link.ltag)
			sim_fail(w, "%c: ltag 0", name(e));
		if (e->tag)
			check_half(e);
		sim_words_check(e);
	}
}

/*
 * Nothing under way: each end OPEN and idle, or without a tag. Slices of an
 * offer that was reversed may stay, for want of a REVERSE that arrived.
 */
bool sim_settled(const struct sim *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++)
		if (!w->tx[i].ended && !w->tx[i].lost)
			return false;
	for (i = 0; i < 2; i++) {
		const struct oae_link *l = &w->end[i].link;

		if (!w->end[i].tag)
			continue;
		if (oae_link_state(l) != OAE_OPEN || l->asked_at ||
		    l->offer.state != OAE_OFFER_NONE ||
		    l->hold.state == OAE_HOLD_HELD)
			return false;
	}
	return true;
}

/* What must be so at the end, once settled and both ends have talked. */
void sim_check_end(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		const struct sim_tx *tx = &w->tx[i];

		if (!tx->ended && !tx->lost)
			sim_fail(w, "G3: #%u has no outcome", (u32)tx->id);
		if (tx->ended && tx->outcome == OAE_COMMITTED &&
		    !tx->delivered && !tx->excused)
			sim_fail(w, "G2: #%u committed, never delivered",
				 (u32)tx->id);
		/* Both or neither; of one whose end has died, who knows. */
		if (tx->kind == OAE_SWAP && tx->delivered && tx->ended &&
		    tx->outcome == OAE_REVERSED)
			sim_fail(w, "G2: half #%u taken there, not given here",
				 (u32)tx->id);
		if (tx->other && tx->other->ended &&
		    tx->other->outcome == OAE_REVERSED)
			sim_fail(w, "G2: half #%u has #%u, which was reversed",
				 (u32)tx->id, (u32)tx->other->id);
		if (tx->kind == OAE_SWAP && tx->ended &&
		    tx->outcome == OAE_COMMITTED && !tx->excused &&
		    !tx->other->lost &&
		    (!tx->other->ended ||
		     tx->other->outcome != OAE_COMMITTED ||
		     tx->other->other != tx))
			sim_fail(w, "G2: half #%u has #%u, which has not",
				 (u32)tx->id, (u32)tx->other->id);
	}
	for (i = 0; i < 2; i++) {
		if (w->end[i].owes_unconfirmed)
			sim_fail(w, "%c never said UNCONFIRMED",
				 name(&w->end[i]));
		if (w->end[i].owes_held_lost)
			sim_fail(w, "%c never said HELD_LOST",
				 name(&w->end[i]));
	}
}
