// SPDX-License-Identifier: GPL-2.0
/*
 * What the explorer adds to the promises, which tests/harness checks: what
 * slices, halves and answers are here, and what is told.
 */
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

/**
 * m_words() - a breach in words
 * @why: as m_fail() got it
 * @id: likewise
 *
 * Return: the words, until the next call.
 */
const char *m_words(const char *why, u8 id)
{
	static char text[160];

	h_text(text, sizeof(text), why, id);
	if (id && !strchr(why, '#'))
		snprintf(text, sizeof(text), "#%u: %s", id, why);
	return text;
}

void h_fail(struct h_event *ev, u64 id, const char *why)
{
	m_fail(ev->world, id, why);
}

void h_told(struct h_event *ev, struct h_tx *tx, h_id id, int err)
{
	static const char *const names[] = { "COMMITTED", "REVERSED", "UNKNOWN" };
	struct m_world *w = ev->world;

	if (m_story)
		fprintf(m_story, "      %c: #%u is %s%s%s\n",
			'A' + ev->end->who, id, names[tx->outcome],
			err ? ": " : "", err ? strerror(err) : "");
	if (tx->outcome == OAE_UNKNOWN)
		w->reported = true;
}

/* Which is what is kept? All slices must be of one. */
h_id h_whose(struct h_event *ev, unsigned int n, u8 kind)
{
	const struct m_end *e = (const struct m_end *)ev->end;
	struct m_world *w = ev->world;
	const u8 *slot = e->slot[h_lane(ev->seq)];
	u8 piece = slot[0], id = M_PIECE_ID(piece);
	unsigned int i, all = M_PIECE_N(piece);

	(void)kind;
	if (w->sc->begins && piece == m_piece(w, 1) && n == M_SLICES - 1) {
		id = 1;
		all = n;
	}
	for (i = 0; i < n && i < M_SLICES; i++)
		if (!piece || slot[i] != piece)
			break;
	if (i == n && n == all && id && id <= w->ntx)
		return id;
	m_fail(w, id, "G1: what is delivered is not what was sent");
	return 0;
}

h_id h_answer(struct h_event *ev, struct h_tx *tx, h_id id)
{
	const struct m_end *p = (const struct m_end *)ev->peer;
	const struct m_frame *m = ev->raw;
	unsigned int lane = h_lane(m->seq);
	struct m_world *w = ev->world;

	if (!m->reply || (tx->kind == OAE_SWAP && m->reply > w->ntx)) {
		m_fail(w, id, "G1: a result that is none");
		return 0;
	}
	if (tx->kind == OAE_SWAP)
		return m->reply;
	tx->other = m->reply;
	/* It is held until this is heard there, and the answer stays what it is. */
	if (!w->arbitrary && p->tag && p->link.inc == ev->end->link.peer.inc &&
	    (!(p->computed >> lane & 1) || p->answer[lane] + 1 != m->reply ||
	     M_PIECE_ID(p->slot[lane][0]) != id))
		m_fail(w, id, "G2: the answer is not about the word as it is");
	return m->reply;
}

void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id)
{
	struct m_end *e = (struct m_end *)ev->end;
	struct m_world *w = ev->world;

	if (m_story)
		fprintf(m_story, "      %c: #%u is delivered\n", 'A' + e->who,
			id);
	if (op == OAE_OP_DELIVER && w->sc->rcvbuf)
		e->unread++;
	if (op != OAE_OP_APPLY)
		return;
	if (!w->arbitrary && tx->other != 1 + e->word)
		m_fail(w, id, "G2: the word is not what the answer said");
	e->word++;
}

void h_gone(struct h_event *ev)
{
	struct m_world *w = ev->world;
	unsigned int i, who = ev->end->who;

	if (m_story)
		fprintf(m_story, "      %c has forgotten the link\n", 'A' + who);
	/* What it claimed to have is gone before the other could hear of it. */
	for (i = 0; w->arbitrary && !ev->end->compared && i < w->ntx; i++) {
		w->tx[i].excused = true;
		if (w->tx[i].from != who)
			w->tx[i].delivered = false;
	}
	w->end[who].wanted = false;
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

		if (tx->from != who && tx->at_link && tx->delivered &&
		    (tx->offered || tx->lent) && tx->offered_to == inc)
			m_fail(w, i + 1, "G3: forgotten, and its sender does not know that it is delivered");
	}
}

void h_noted(struct h_event *ev, u8 note)
{
	struct m_world *w = ev->world;

	if (m_story)
		fprintf(m_story, "      %c notes: %s\n", 'A' + ev->end->who,
			oae_note_name(note));
	m_seen[note]++;
	switch (note) {
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
	case OAE_N_PEER_NEW:
	case OAE_N_BROKEN:
	case OAE_N_IMPOSSIBLE:
		w->reported = true;
		break;
	}
}

/* Do those that were given back wait in their order? */
static bool in_order(const struct m_world *w, const struct m_end *e)
{
	h_id id = e->queue.first;

	for (; id; id = w->tx[id - 1].next)
		if (w->tx[id - 1].next && w->tx[id - 1].next < id)
			return false;
	return true;
}

/**
 * m_check() - what must be so after every event
 * @w: the world
 */
void m_check(struct m_world *w)
{
	struct h_event ev;
	unsigned int who;

	m_event(&ev, w, A, NULL);
	for (who = A; who <= B; who++) {
		const struct oae_link *l = &w->end[who].link;
		u8 half = m_half_of(w, who);

		ev.end = (struct h_end *)&w->end[who];
		ev.peer = (struct h_end *)&w->end[!who];
		h_check(&ev);
		if (!in_order(w, &w->end[who]))
			m_fail(w, 0, "G1: given back, and to be posted again in another order");
		if (w->end[who].wanted && !l->wanted)
			m_fail(w, 0, "4.4: a wanted link is not wanted any more");
		if (w->sc->ways && w->end[who].tag)
			m_check_way(w, who);
		if (w->sc->lines && w->end[who].tag)
			m_check_path(w, who);
		if (half != (l->half.state == OAE_HALF_NONE ? 0 : H_OF(l->swaps->half.handle)))
			m_fail(w, half, "the half that the link has is not the one posted");
	}
}

/**
 * m_check_end() - what must be so when all is quiet
 * @w: the world
 */
void m_check_end(struct m_world *w)
{
	struct h_event ev;
	unsigned int i;

	for (i = 0; i < w->ntx; i++) {
		struct m_tx *tx = &w->tx[i];

		m_event(&ev, w, tx->from, NULL);
		/* A half may wait for as long as the other end has none. */
		if (tx->kind != OAE_SWAP || !tx->at_link)
			h_check_tx(&ev, (struct h_tx *)tx, i + 1);
		else if (m_half_of(w, !tx->from))
			m_fail(w, i + 1, "G5: both ends have a half, and do not swap");
	}
	for (i = A; i <= B; i++) {
		m_event(&ev, w, i, NULL);
		h_check_owed(&ev);
	}
}
