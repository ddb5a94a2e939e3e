// SPDX-License-Identifier: GPL-2.0
/*
 * What comes of the promises that tests/harness checks: who is told what, what is
 * counted, and which transactions need not be remembered any more.
 */
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
	w->ev.stop = true;
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

void h_fail(struct h_event *ev, u64 id, const char *why)
{
	char text[WHY_LEN];

	h_text(text, sizeof(text), why, TX_SERIAL(id));
	violation(ev->world, end_of(ev->end), "%s", text);
	ev->stop = true;
}

/* The one before may have been given up with an end that died. */
static void is_committed(struct world *w, struct tx *tx, u64 before)
{
	struct tx *old = tx_find(w, before);
	struct window *win = window(w);

	win->committed++;
	hist_add(&win->latency, w->now - tx->posted);
	/* One that was lent: the other end's was what was offered. */
	if (tx->lent) {
		tx_free(w, tx);
		return;
	}
	if (old)
		tx_free(w, old);
	if (tx->delivered)
		tx_free(w, tx);
}

void h_told(struct h_event *ev, struct h_tx *htx, h_id id, int err)
{
	static const char *const said[] = { "COMMITTED", "REVERSED", "UNKNOWN" };
	struct end *e = end_of(ev->end);
	struct tx *tx = (struct tx *)htx;
	struct world *w = ev->world;
	u8 outcome = tx->outcome;
	unsigned int i;

	say(w, e, "#%llu %s%s%s", TX_SERIAL(id), said[outcome],
	    err ? ": " : "", err ? strerror(err) : "");
	for (i = 0; i < AT_LINK; i++)
		if (e->at_link[i] == id)
			e->at_link[i] = TX_NONE;
	if (e->half_at_link == id)
		e->half_at_link = TX_NONE;
	e->under_way--;
	e->nhalves -= tx->kind == OAE_SWAP;
	if (tx->proof) {
		w->proven++;
		if (outcome != OAE_COMMITTED)
			h_fail(ev, id, "no faults, but # is not committed");
	}
	w->under_way--;
	w->n.outcome[outcome]++;
	switch (outcome) {
	case OAE_COMMITTED:
		if (e->cabling)
			outage_committed(w, e);
		is_committed(w, tx, ev->before);
		break;
	case OAE_REVERSED:
		window(w)->reversed++;
		/* What is delivered of it from now on is not found. */
		tx_free(w, tx);
		break;
	default:
		window(w)->unknown++;
		if (tx->delivered)
			tx_free(w, tx);
		else
			tx->unknown = true;
	}
	work_ended(w, e);
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

static h_id whose(struct h_event *ev, h_id id, const char *wrong)
{
	if (!wrong && id)
		return id;
	violation(ev->world, end_of(ev->end), "G1: #%llu delivered %s",
		  TX_SERIAL(id), wrong ? wrong : "and is nobody's");
	return TX_NONE;
}

h_id h_whose(struct h_event *ev, unsigned int n, u8 kind)
{
	const char *wrong = NULL;
	u32 len;
	u64 id;

	(void)kind;
	id = content_delivered(ev->world, end_kept(end_of(ev->end), ev->seq), n, &len,
			       &wrong);
	return whose(ev, id, wrong);
}

h_id h_answer(struct h_event *ev, struct h_tx *tx, h_id id)
{
	const struct flight *p = ev->raw;
	struct world *w = ev->world;
	const char *wrong = NULL;
	const struct h_tx *half;
	u64 got = p->id;
	u32 n = p->f.length - OAE_REFLECT_LEN;

	if (p->data) {
		const u8 *more = p->data + p->f.hdr_len + OAE_REFLECT_LEN;

		got = n < sizeof(got) ? TX_NONE : get_unaligned_be64(more);
		if (tx->kind == OAE_SWAP) {
			content_bytes(got, 0, n, w->scratch);
			if (memcmp(w->scratch, more, n))
				wrong = "altered";
		}
	}
	if (tx->kind == OAE_SWAP) {
		half = h_find(ev, got);
		if (half && half->len != n)
			wrong = "with another length";
		say(w, end_of(ev->end), "#%llu takes #%llu", TX_SERIAL(id),
		    TX_SERIAL(got));
		return whose(ev, got, wrong);
	}
	if (got != tx->other)
		h_fail(ev, id, "#: another answer than was computed");
	return 1;
}

void h_arrived(struct h_event *ev, u8 op, struct h_tx *htx, h_id id)
{
	struct end *e = end_of(ev->end);
	struct tx *tx = (struct tx *)htx;
	struct world *w = ev->world;

	w->n.delivered++;
	w->n.taken += tx->kind == OAE_SWAP;
	if (op == OAE_OP_DELIVER)
		say(w, e, "#%llu delivered", TX_SERIAL(id));
	else if (op == OAE_OP_TAKE)
		say(w, e, "#%llu takes #%llu", TX_SERIAL(tx->other),
		    TX_SERIAL(id));
	if (op == OAE_OP_APPLY) {
		say(w, e, "#%llu applied", TX_SERIAL(id));
		if (e->verb[h_lane(ev->seq)] != id)
			h_fail(ev, id, "# applied, and was not computed last");
		words_apply(w, e, ev->seq);
	}
	if (tx->ended || tx->lost)
		tx_free(w, tx);
	if (op == OAE_OP_DELIVER && w->cfg->read_time && !e->unread++)
		wheel_put(&w->wheel, w->now + w->cfg->read_time,
			  EVENT_REF(KIND_READ, 0), end_index(w, e));
}

void h_gone(struct h_event *ev)
{
	end_of(ev->end)->frozen_at = 0;
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

void h_noted(struct h_event *ev, u8 note)
{
	struct end *e = end_of(ev->end);
	struct world *w = ev->world;

	w->n.note[note]++;
	say(w, e, "note %s", oae_note_name(note));
	switch (note) {
	case OAE_N_STALL:
	case OAE_N_PEER_FROZE:
	case OAE_N_NOLINK:
	case OAE_N_WORN:
	case OAE_N_PORT:
		froze(w, e);
		break;
	case OAE_N_OPENED:
	case OAE_N_RESOLVED:
		healed(w, e);
		break;
	case OAE_N_DOWN:
		if (e->cabling)
			outage_down(w, e);
		break;
	}
}

/* With several cables an end asks often, and of so many ends some always do. */
static bool settled(const struct end *e)
{
	const struct oae_link *l = &e->link;

	if (h_idle((const struct h_end *)l))
		return true;
	return e->cabling && oae_link_state(l) == OAE_OPEN && !l->nlanes && !l->nheld;
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
		if (!settled(e))
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
	    c->crash_rate || c->flap_rate || c->cable_rate ||
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
	struct h_event ev = { .world = w };
	struct tx *tx;
	u32 i;

	for (i = 0; i < w->txs.made; i++) {
		tx = pool_at(&w->txs, i);
		if (!tx->id || tx->lost || tx->unknown)
			continue;
		ev.end = end_h(&w->ends[tx->end]);
		h_check_tx(&ev, (struct h_tx *)tx, tx->id);
	}
	/* An idle end learns of a death by the proof at the latest. */
	for (i = 0; i < w->nends && w->phase > PHASE_DRAIN; i++) {
		ev.end = end_h(&w->ends[i]);
		h_check_owed(&ev);
	}
	if (w->n.posted != w->n.outcome[OAE_COMMITTED] +
				   w->n.outcome[OAE_REVERSED] +
				   w->n.outcome[OAE_UNKNOWN] + w->n.lost)
		violation(w, &w->ends[0], "G3: outcomes do not sum up to what was posted");
}
