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
	w->outcomes[outcome]++;
	if (!err != (outcome == OAE_COMMITTED))
		sim_fail(w, "#%u: outcome %u with err %d", (u32)tx->id,
			 outcome, err);

	switch (outcome) {
	case OAE_COMMITTED:
		if (e->committed && !e->committed->delivered &&
		    !e->committed->excused)
			sim_fail(w, "G2: #%u committed, #%u before it is not delivered",
				 (u32)tx->id, (u32)e->committed->id);
		if ((tx->flags & OAE_POST_EXPRESS) && !tx->delivered)
			sim_fail(w, "G2: express #%u committed, not delivered",
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
		break;
	default:
		/* Only an express, and only when either end has died. */
		if (!(tx->flags & OAE_POST_EXPRESS) || !tx->offered)
			sim_fail(w, "G3: #%u UNKNOWN, but could be reversed",
				 (u32)tx->id);
		if (p->tag && p->link.inc == tx->offered_to &&
		    e->link.state != OAE_CLOSED && !w->hostile)
			sim_fail(w, "G3: #%u UNKNOWN, and nobody died",
				 (u32)tx->id);
	}
}

/* The reader gets a transaction (G1, G2). */
void sim_deliver(struct sim_end *e, unsigned int n)
{
	static u8 got[OAE_MAX_SLICES * SIM_MTU_MAX];
	static u8 said[OAE_MAX_SLICES * SIM_MTU_MAX];
	struct sim *w = e->w;
	struct sim_tx *tx;
	u32 len = 0;
	unsigned int i;
	u64 id;

	for (i = 0; i < n; i++) {
		if (!e->slot[i].used) {
			sim_fail(w, "G1: delivered without slice %u of %u", i, n);
			return;
		}
		memcpy(got + len, e->slot[i].data, e->slot[i].len);
		len += e->slot[i].len;
	}
	sim_free_slots(e);
	e->unread++;
	w->delivered++;

	id = get_unaligned_be64(got);
	if (len < sizeof(id) || !id || id > w->ntx) {
		sim_fail(w, "G1: delivered what nobody sent");
		return;
	}
	tx = &w->tx[id - 1];
	sim_say(w, "  %c: #%u delivered", name(e), (u32)id);
	sim_content(tx, 0, tx->len, said);
	if (tx->from == e->who || tx->len != len || memcmp(got, said, len))
		sim_fail(w, "G1: #%u delivered altered", (u32)id);
	if (tx->delivered)
		sim_fail(w, "G1: #%u delivered twice", (u32)id);
	if (id <= e->last_id)
		sim_fail(w, "G1: #%u delivered after #%u", (u32)id,
			 (u32)e->last_id);
	if (tx->ended && tx->outcome == OAE_REVERSED)
		sim_fail(w, "G2: #%u delivered, was reversed", (u32)id);
	if (!(tx->flags & OAE_POST_EXPRESS) &&
	    !(tx->ended && tx->outcome == OAE_COMMITTED))
		sim_fail(w, "G2: #%u delivered, was not committed", (u32)id);
	/* Its sender may have died since: a late frame had the commit. */
	if (tx->excused) {
		if (!e->owes_held_lost)
			sim_fail(w, "#%u delivered, was given up", (u32)id);
		e->owes_held_lost = false;
	}
	tx->delivered = true;
	e->last_id = id;
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
