// SPDX-License-Identifier: GPL-2.0
/* What must hold in every state: G1 to G3, G6, and nothing impossible. */
#include "model.h"

/**
 * m_breach() - is it G1 or G2 that is broken?
 * @why: what is
 *
 * Return: true if so. From an arbitrary state these may be, if a user is told;
 * nothing else may.
 */
bool m_breach(const char *why)
{
	return why[0] == 'G' && (why[1] == '1' || why[1] == '2');
}

/**
 * m_fail() - something is not as it must be; the first counts
 * @w: the world
 * @id: of which transaction, 0 of none
 * @why: what; begins with the promise, if it is one
 */
void m_fail(struct m_world *w, u8 id, const char *why)
{
	/* What may be never hides what may not. */
	if (w->why && !(w->arbitrary && m_breach(w->why) && !m_breach(why)))
		return;
	w->why = why;
	w->why_id = id;
}

static struct m_tx *last_committed(struct m_world *w, unsigned int who)
{
	u8 id = w->end[who].committed;

	return id ? &w->tx[id - 1] : NULL;
}

static bool in_doubt(const struct m_tx *tx)
{
	return tx && !tx->delivered && !tx->excused;
}

static void in_order(struct m_world *w, unsigned int who, u8 id)
{
	struct m_end *e = &w->end[who], *p = &w->end[!who];
	struct m_tx *tx = &w->tx[id - 1];

	/* Lent: it went out before, when the other end's was committed. */
	if (tx->kind == OAE_SWAP && tx->offered) {
		if (!tx->delivered && !w->arbitrary)
			m_fail(w, id, "G2: a lent half is committed, and nobody took it");
		return;
	}
	/* From an arbitrary state: as long as it ends so. */
	if (!w->arbitrary && in_doubt(last_committed(w, who)))
		m_fail(w, id, "G2: committed, and the one before it is not delivered");
	if (!w->arbitrary && tx->flags & OAE_POST_EXPRESS && !tx->delivered)
		m_fail(w, id, "G2: an express is committed and not delivered");
	e->committed = id;
	if (!tx->delivered && !(p->tag && p->link.inc == e->link.peer_inc)) {
		/* The reflection of one that has died since. */
		tx->excused = true;
		e->owes_unconfirmed = true;
	}
}

/**
 * m_ended() - a transaction has got its outcome (G3)
 * @w: the world
 * @who: at which end
 * @id: which
 * @outcome: enum oae_outcome
 * @err: why, positive errno
 */
void m_ended(struct m_world *w, unsigned int who, u8 id, u8 outcome, int err)
{
	struct m_end *e = &w->end[who], *p = &w->end[!who];
	struct m_tx *tx = &w->tx[id - 1];
	bool out = tx->offered && (tx->kind == OAE_SWAP ||
				   tx->flags & OAE_POST_EXPRESS);
	static const char *const names[] = { "COMMITTED", "REVERSED", "UNKNOWN" };

	if (m_story)
		fprintf(m_story, "      %c: #%u is %s%s%s\n", 'A' + who, id,
			names[outcome], err ? ": " : "",
			err ? strerror(err) : "");
	if (outcome == OAE_UNKNOWN)
		w->reported = true;
	if (tx->ended || tx->from != who)
		m_fail(w, id, "G3: ends twice");
	if (!err != (outcome == OAE_COMMITTED))
		m_fail(w, id, "an outcome with the wrong errno");
	if (!w->arbitrary && tx->kind != OAE_MESSAGE &&
	    !tx->got != (outcome != OAE_COMMITTED))
		m_fail(w, id, "G2: committed without the other's half or the answer, or it came and this is not");
	tx->ended = true;
	tx->at_link = false;
	tx->outcome = outcome;
	switch (outcome) {
	case OAE_COMMITTED:
		in_order(w, who, id);
		break;
	case OAE_REVERSED:
		/* Until it has heard of the other, an end cannot know better. */
		if (w->arbitrary && !e->compared)
			tx->excused = true;
		else if (tx->delivered && !(w->arbitrary && tx->excused))
			m_fail(w, id, "G2: reversed after it was delivered");
		break;
	default:
		/* Numbers that do not fit: nothing can be relied on. */
		if (w->arbitrary)
			break;
		if (!out)
			m_fail(w, id, "G3: UNKNOWN, but it could be reversed");
		if (p->tag && p->link.inc == tx->offered_to &&
		    e->link.state != OAE_CLOSED && !e->renamed)
			m_fail(w, id, "G3: UNKNOWN, and nobody died");
	}
}

/* What the other end sent arrives for good; #id is not seen here before. */
static void arrived(struct m_world *w, unsigned int who, u8 id)
{
	struct m_end *e = &w->end[who];
	struct m_tx *tx = &w->tx[id - 1];
	bool half = tx->kind == OAE_SWAP;
	unsigned int i;

	if (m_story)
		fprintf(m_story, "      %c: #%u is delivered\n", 'A' + who, id);
	if (tx->delivered)
		m_fail(w, id, "G1: delivered twice");
	/* Halves are a stream of their own, which has no numbers. */
	for (i = id; i < w->ntx && !(half && w->arbitrary); i++)
		if (w->tx[i].from != who && w->tx[i].delivered &&
		    half == (w->tx[i].kind == OAE_SWAP))
			m_fail(w, id, "G1: delivered after one that is younger");
	if (tx->ended && tx->outcome == OAE_REVERSED &&
	    !(w->arbitrary && tx->excused))
		m_fail(w, id, "G2: delivered after it was reversed");
	/* Its sender may have died since: a late frame had the commit. */
	if (tx->excused && !w->arbitrary) {
		if (!e->owes_held_lost)
			m_fail(w, id, "G2: delivered after it was given up");
		e->owes_held_lost = false;
	}
	tx->delivered = true;
}

/* What is held is committed. Return: which it is; 0 if it is not whole. */
static u8 held(struct m_world *w, unsigned int who, unsigned int n, u8 kind)
{
	struct m_end *e = &w->end[who];
	u8 piece = e->slot[0], id = M_PIECE_ID(piece);
	struct m_tx *tx = &w->tx[id - 1];
	unsigned int i;

	for (i = 0; i < n && i < M_SLICES; i++)
		if (!piece || e->slot[i] != piece)
			break;
	memset(e->slot, 0, sizeof(e->slot));
	if (i < n || n != M_PIECE_N(piece) || !id || id > w->ntx ||
	    tx->from == who || tx->kind != kind) {
		m_fail(w, id, "G1: what is delivered is not what was sent");
		return 0;
	}
	if (!w->arbitrary && !(tx->flags & OAE_POST_EXPRESS) &&
	    !(tx->ended && tx->outcome == OAE_COMMITTED))
		m_fail(w, id, "G2: delivered, but not committed");
	return id;
}

/**
 * m_delivered() - the reader gets a message (G1, G2)
 * @w: the world
 * @who: at which end
 * @n: slices
 */
void m_delivered(struct m_world *w, unsigned int who, unsigned int n)
{
	u8 id = held(w, who, n, OAE_MESSAGE);

	if (!id)
		return;
	arrived(w, who, id);
	if (w->sc->rcvbuf)
		w->end[who].unread++;
}

/* Two halves are swapped: neither may be with a third. */
static void swapped(struct m_world *w, u8 mine, u8 its)
{
	struct m_tx *m = &w->tx[mine - 1], *t = &w->tx[its - 1];

	if (m->kind != OAE_SWAP || t->kind != OAE_SWAP || m->from == t->from)
		m_fail(w, mine, "G1: what is swapped are not two halves");
	else if (!w->arbitrary && (m->got || (t->got && t->got != mine)))
		m_fail(w, mine, "G2: swapped twice, or with a third");
	m->got = its;
}

/**
 * m_taken() - a half that was lent is committed: it takes the one held
 * @w: the world
 * @who: at which end
 * @half: the one that was lent
 */
void m_taken(struct m_world *w, unsigned int who, u8 half)
{
	u8 id = held(w, who, 1, OAE_SWAP);

	if (!id)
		return;
	if (!w->arbitrary && w->tx[id - 1].got != half)
		m_fail(w, half, "G2: takes one that has taken another");
	if (!w->tx[half - 1].offered)
		m_fail(w, half, "G2: takes, and was not lent");
	swapped(w, half, id);
	arrived(w, who, id);
}

/**
 * m_applied() - a verb that was held is committed: the word changes
 * @w: the world
 * @who: at which end
 */
void m_applied(struct m_world *w, unsigned int who)
{
	struct m_end *e = &w->end[who];
	u8 id = held(w, who, 1, OAE_VERB);

	if (!e->word_held)
		m_fail(w, id, "G2: applied to a word that is not reserved");
	e->word_held = false;
	if (!id)
		return;
	if (!w->arbitrary && w->tx[id - 1].got != 1 + e->word)
		m_fail(w, id, "G2: the word is not what the answer said");
	e->word++;
	arrived(w, who, id);
}

/**
 * m_result() - what came behind a REFLECT is for #id, which is committed by it
 * @w: the world
 * @who: at which end
 * @id: which
 * @f: the REFLECT
 */
void m_result(struct m_world *w, unsigned int who, u8 id,
	      const struct m_frame *f)
{
	struct m_end *e = &w->end[who], *p = &w->end[!who];
	struct m_tx *tx = &w->tx[id - 1];

	if (!f || f->opcode != OAE_REFLECT || f->kind != tx->kind ||
	    tx->kind == OAE_MESSAGE || !f->reply ||
	    (tx->kind == OAE_SWAP && f->reply > w->ntx)) {
		m_fail(w, id, "G1: a result that is none");
		return;
	}
	if (tx->kind == OAE_SWAP) {
		swapped(w, id, f->reply);
		arrived(w, who, f->reply);
		return;
	}
	tx->got = f->reply;
	/* Nothing happens to the word until this is heard there. */
	if (!w->arbitrary && p->tag && p->link.inc == e->link.peer_inc &&
	    (!p->word_held || p->word + 1 != f->reply ||
	     M_PIECE_ID(p->slot[0]) != id))
		m_fail(w, id, "G2: the answer is not about the word as it is");
}

/**
 * m_lent() - a half goes out in a REFLECT
 * @w: the world
 * @who: at which end
 * @half: which
 */
void m_lent(struct m_world *w, unsigned int who, u8 half)
{
	struct m_tx *tx = &w->tx[half - 1];

	if (!half || half > w->ntx || tx->kind != OAE_SWAP ||
	    tx->from != who || !tx->at_link) {
		m_fail(w, half, "G2: lends what it has not got");
		return;
	}
	tx->offered = true;
	tx->offered_to = w->end[who].link.peer_inc;
}

/**
 * m_new_end() - an end of the link is another one from now on
 * @w: the world
 * @who: which
 *
 * What it had committed, or was to deliver, may be lost; but an end that lives
 * on must say so.
 */
void m_new_end(struct m_world *w, unsigned int who)
{
	struct m_end *p = &w->end[!who];
	struct m_tx *mine = last_committed(w, who);
	struct m_tx *its = last_committed(w, !who);

	if (in_doubt(mine)) {
		mine->excused = true;
		p->owes_held_lost = p->tag;
	}
	if (in_doubt(its)) {
		its->excused = true;
		p->owes_unconfirmed = p->tag;
	}
}

/**
 * m_died() - an end of the link is no more
 * @w: the world
 * @who: which
 */
void m_died(struct m_world *w, unsigned int who)
{
	struct m_end *e = &w->end[who];
	unsigned int i;

	if (m_story)
		fprintf(m_story, "      %c has forgotten the link\n", 'A' + who);
	m_new_end(w, who);
	/* What it claimed to have is gone before the other could hear of it. */
	for (i = 0; w->arbitrary && !e->compared && i < w->ntx; i++) {
		w->tx[i].excused = true;
		if (w->tx[i].from != who)
			w->tx[i].delivered = false;
	}
	e->owes_held_lost = false;
	e->owes_unconfirmed = false;
	memset(e->slot, 0, sizeof(e->slot));
	e->tag = false;
	m_link_init(w, who);
}

/**
 * m_forgot() - an end has forgotten the link because nobody answers, and lives
 * @w: the world
 * @who: which
 * @inc: its incarnation
 *
 * It may not be the reason why the other will not know what became of
 * something.
 */
void m_forgot(struct m_world *w, unsigned int who, u64 inc)
{
	unsigned int i;

	/* What it began with may say anything of what the other knows. */
	for (i = 0; i < w->ntx && !w->arbitrary; i++) {
		struct m_tx *tx = &w->tx[i];

		if (tx->from != who && tx->at_link && tx->offered &&
		    tx->delivered && tx->offered_to == inc)
			m_fail(w, i + 1, "G3: forgotten, and its sender does not know that it is delivered");
	}
}

/**
 * m_noted() - an end notes that something happened
 * @w: the world
 * @who: which end
 * @note: what
 */
void m_noted(struct m_world *w, unsigned int who, u8 note)
{
	struct m_end *e = &w->end[who];
	u8 half;

	if (note >= OAE_NOTE_END) {
		m_fail(w, 0, "no such note");
		return;
	}
	if (m_story)
		fprintf(m_story, "      %c notes: %s\n", 'A' + who,
			oae_note_name(note));
	m_seen[note]++;
	switch (note) {
	case OAE_N_OPENED:
	case OAE_N_RESOLVED:
		e->compared = true;
		break;
	case OAE_N_UNCONFIRMED:
		e->owes_unconfirmed = false;
		w->reported = true;
		break;
	case OAE_N_HELD_LOST:
		e->owes_held_lost = false;
		w->reported = true;
		break;
	case OAE_N_PEER_NEW:
		w->reported = true;
		break;
	case OAE_N_HELD:
		if (e->link.closing)
			m_fail(w, 0, "an end that closes takes what it did not hold");
		break;
	case OAE_N_TAKEN_BACK:
		half = (uintptr_t)e->link.half.p.handle;
		if (half)
			w->tx[half - 1].offered = false;
		break;
	case OAE_N_BROKEN:
	case OAE_N_IMPOSSIBLE:
		w->reported = true;
		fallthrough;
	case OAE_N_MISMATCH:
	case OAE_N_BAD_SLICE:
		if (!w->arbitrary)
			m_fail(w, 0, "two honest ends, and yet: broken, impossible, mismatch or bad_slice");
		break;
	}
}

/* The half, and the word: what the link says of them is what is so. */
static void check_kinds(struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];
	const struct oae_link *l = &e->link;
	u8 half = m_half_of(w, who), its = (uintptr_t)l->half.p.handle;
	bool held = e->tag && l->hold.state == OAE_HOLD_HELD;

	if (half != (l->half.state == OAE_HALF_NONE ? 0 : its))
		m_fail(w, half, "the half that the link has is not the one posted");
	if ((l->half.state == OAE_HALF_LENT) !=
	    (held && l->hold.kind == OAE_SWAP))
		m_fail(w, half, "a half is lent, and no other held for it, or the other way");
	if (half && w->tx[half - 1].offered != (l->half.state == OAE_HALF_LENT))
		m_fail(w, half, "a half went out, and is not lent");
	if ((l->half.state == OAE_HALF_OFFERED) !=
	    (l->offer.state != OAE_OFFER_NONE && l->offer.p.kind == OAE_SWAP))
		m_fail(w, half, "a half is offered, and is not what is offered");
	if (!w->arbitrary && l->state == OAE_OPEN &&
	    l->offer.state == OAE_OFFER_PARKED &&
	    l->half.state == OAE_HALF_POSTED && !l->closing && !l->peer_closing)
		m_fail(w, half, "a half waits for what is parked");
	if (l->half.state != OAE_HALF_NONE && l->half.state != OAE_HALF_LENT &&
	    half && w->tx[half - 1].unwanted)
		m_fail(w, half, "a half that was asked back is posted again");
	if (e->word_held != (held && l->hold.kind == OAE_VERB))
		m_fail(w, 0, "a word is reserved, and no verb is held, or the other way");
	if (l->hold.state == OAE_HOLD_ASKED)
		m_fail(w, 0, "a verb was computed, and is still asked for");
	if (e->tag && l->senior != (who == B))
		m_fail(w, 0, "the ends have forgotten who is senior");
}

/**
 * m_check() - what must be so after every event
 * @w: the world
 */
void m_check(struct m_world *w)
{
	unsigned int who, i;

	for (who = A; who <= B; who++) {
		const struct m_end *e = &w->end[who];
		const struct oae_link *l = &e->link;
		u64 have = 0;

		for (i = 0; i < M_SLICES; i++)
			have |= (u64)!!e->slot[i] << i;
		if (have != (e->tag ? l->hold.have : 0))
			m_fail(w, 0, "G6: slices kept are not what the link has");
		/* An OFFER may deliver the one before it and be held itself. */
		if (w->sc->rcvbuf && e->unread > w->sc->rcvbuf + 1)
			m_fail(w, 0, "G6: more unread than there is room for");
		if (e->tag && (l->state == OAE_CLOSED || !l->timer_at))
			m_fail(w, 0, "a tag without a timer");
		if (e->tag && !l->ltag)
			m_fail(w, 0, "a tag without an ltag");
		check_kinds(w, who);
	}
}

/* Swapped: also the other is, but for what the dead know. */
static void check_swapped(struct m_world *w, u8 id)
{
	const struct m_tx *tx = &w->tx[id - 1], *p;

	if (!tx->got)
		return;
	p = &w->tx[tx->got - 1];
	if (p->got != id && !p->lost &&
	    !(p->ended && p->outcome == OAE_UNKNOWN))
		m_fail(w, id, "G2: swapped, and the other's half is not");
}

/**
 * m_check_end() - what must be so when all is quiet
 * @w: the world
 */
void m_check_end(struct m_world *w)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		const struct m_tx *tx = &w->tx[i];

		if (tx->kind == OAE_SWAP)
			check_swapped(w, i + 1);
		if (tx->kind == OAE_SWAP && tx->at_link) {
			if (m_half_of(w, !tx->from))
				m_fail(w, i + 1, "G5: both ends have a half, and do not swap");
		} else if (!tx->ended && !tx->lost) {
			m_fail(w, i + 1, "G3: has no outcome in the end");
		}
		if (tx->ended && tx->outcome == OAE_COMMITTED &&
		    !tx->delivered && !tx->excused)
			m_fail(w, i + 1, "G2: committed and never delivered");
	}
	for (i = A; i <= B; i++) {
		if (w->end[i].owes_unconfirmed)
			m_fail(w, 0, "a loss was never noted as unconfirmed");
		if (w->end[i].owes_held_lost)
			m_fail(w, 0, "a loss was never noted as held_lost");
	}
}
