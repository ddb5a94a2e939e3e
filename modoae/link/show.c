// SPDX-License-Identifier: GPL-2.0
/*
 * Queries: names of states and notes, and the state of a link for people and
 * programs. Nothing here changes a link. Pure, see link.h.
 */
#include "link_int.h"

static const char *const state_names[OAE_STATE_END] = {
	[OAE_CLOSED] = "CLOSED",
	[OAE_SYNC_SENT] = "SYNC_SENT",
	[OAE_SYNC_RECD] = "SYNC_RECD",
	[OAE_OPEN] = "OPEN",
	[OAE_CLOSE_SENT] = "CLOSE_SENT",
	[OAE_CLOSE_RECD] = "CLOSE_RECD",
};

static const char *const note_names[OAE_NOTE_END] = {
#define OAE_NOTE(_id, _name, _text) _name,
#include "notes.h"
};

/**
 * oae_state_name() - the name of a state, for people
 * @state: a state
 *
 * Return: the name, "?" if there is none.
 */
const char *oae_state_name(enum oae_state state)
{
	return state < OAE_STATE_END ? state_names[state] : "?";
}

/**
 * oae_note_name() - the name of a note, for people and programs
 * @note: a note
 *
 * Return: the name, "?" if there is none.
 */
const char *oae_note_name(enum oae_note note)
{
	return note < OAE_NOTE_END ? note_names[note] : "?";
}

/* Number of this end's transactions that the link has. What was reversed is none any more. */
static u8 show_pending(const struct oae_link *l)
{
	u8 n = l->next_valid + l->naside +
	       (l->half.state != OAE_HALF_NONE && l->half.state != OAE_HALF_OFFERED);
	const struct oae_lane *lane;
	u32 i;

	for (i = 1; i <= l->nlanes; i++) {
		lane = oae_lane(l, l->tx + i);
		n += lane->p.kind != OAE_VOID || lane->recalled;
	}
	return n;
}

/**
 * oae_link_show() - get the state of a link, for people and programs
 * @l: the link
 * @v: filled in
 */
void oae_link_show(const struct oae_link *l, struct oae_link_view *v)
{
	v->state = oae_link_state(l);
	v->offer = oae_first_lane(l)->state;
	v->hold = oae_first_hold(l)->state;
	v->vc = l->vc;
	v->pending = show_pending(l);
	v->lanes = l->given;
	v->window = l->win;
	v->cwnd = l->cong.cwnd;
	v->ssthresh = l->cong.ssthresh;
	v->down = l->down;
	v->half = l->half.state != OAE_HALF_NONE;
	v->doubt = oae_frozen(l) && oae_link_undecided(l);
	v->slice_max = oae_link_slice_max(l);
	v->peer_max_len = l->peer.max_len;
	v->tx = l->tx;
	v->rx = l->rx;
	v->srtt = l->rtt.srtt;
	v->min_rtt = oae_cong_base(l);
}

/* No answer: a peer that is down is given up anew by each post. */
static void show_unanswered(const struct oae_link *l, struct oae_link_waits *w)
{
	u64 dead = l->cfg->dead, since = oae_silent_since(l);

	w->why = OAE_WAIT_ANSWER;
	w->since = l->down ? l->down_at - (l->down_at < dead ? 0 : dead) : since;
	w->until = !l->down || oae_has_posts(l) ? since + dead : 0;
}

/* The reason why the next number waits. False: nothing is under way. */
static bool show_offered(const struct oae_link *l, struct oae_link_waits *w)
{
	const struct oae_lane *n = oae_first_lane(l);

	if (l->credit.said_blocked) {
		w->why = OAE_WAIT_ROOM;
		w->since = l->waits_at;
		return true;
	}
	if (!l->nlanes)
		return false;
	w->why = n->refused == OAE_R_CONFLICT ? OAE_WAIT_WORDS :
		 n->refused ? OAE_WAIT_ROOM : OAE_WAIT_FLIGHT;
	w->since = n->refused ? l->waits_at : n->at;
	if (w->since < l->timer.moved_at)
		w->since = l->timer.moved_at;
	return true;
}

/* The reason why the half of this end waits. False: the peer was not asked for its half yet. */
static bool show_half(const struct oae_link *l, struct oae_link_waits *w)
{
	if (l->half.state == OAE_HALF_LENT) {
		w->why = OAE_WAIT_FLIGHT;
		w->since = l->timer.held_at;
	} else if (l->half.state != OAE_HALF_NONE && l->half.refused) {
		w->why = OAE_WAIT_HALF;
		w->since = l->swaps->posted_at;
	}
	return w->why;
}

/**
 * oae_link_waits() - what does the link wait for, since when, until when?
 * @l: the link
 * @now: ns
 * @w: filled in
 *
 * One answer, of several the one that the others wait for.
 */
void oae_link_waits(const struct oae_link *l, u64 now, struct oae_link_waits *w)
{
	u64 asked = oae_silent_since(l);

	memset(w, 0, sizeof(*w));
	if (l->state == OAE_CLOSED)
		return;
	if (oae_frozen(l) || (asked && now > asked && now - asked > oae_link_pto(l))) {
		show_unanswered(l, w);
	} else if (l->settle_until) {
		w->why = OAE_WAIT_SETTLING;
		w->until = l->settle_until;
	} else if (!show_half(l, w) && !show_offered(l, w) && l->await_done) {
		w->why = OAE_WAIT_CONFIRM;
		w->since = l->done_at;
	}
}

/**
 * oae_link_unheard() - does the link wait for an answer that does not come?
 * @l: the link
 *
 * Return: true if so: it may go down.
 */
bool oae_link_unheard(const struct oae_link *l)
{
	return oae_frozen(l) || oae_silent_since(l);
}

/**
 * oae_link_idle() - is the link OPEN, with nothing offered, held or refused?
 * @l: the link
 *
 * Posts that wait to be offered are not considered.
 *
 * Return: true if so.
 */
bool oae_link_idle(const struct oae_link *l)
{
	return oae_link_state(l) == OAE_OPEN &&
	       !l->nlanes && !l->nheld &&
	       oae_first_hold(l)->state == OAE_HOLD_NONE;
}

/**
 * oae_link_settling() - is the link still settling (protocol 4.5)?
 * @l: the link, for which oae_link_settle() was called
 *
 * Return: false if nothing is in doubt, or the link has given up.
 */
bool oae_link_settling(const struct oae_link *l)
{
	return l->state != OAE_CLOSED && !l->down && l->settle_until &&
	       oae_link_in_doubt(l);
}

/**
 * oae_link_mark() - mark the last commit of a link
 * @l: the link
 * @m: filled in, for oae_link_confirmed()
 */
void oae_link_mark(const struct oae_link *l, struct oae_link_mark *m)
{
	m->inc = l->inc;
	m->peer_inc = l->peer.inc;
	m->tx = l->tx;
}

/**
 * oae_link_confirmed() - is the delivery of all commits up to a mark settled?
 * @l: the link
 * @m: from oae_link_mark()
 *
 * Return: true if they are known to be delivered, or if an end of the link has a new
 * incarnation. In that case OAE_N_UNCONFIRMED was noted for what may be lost.
 */
bool oae_link_confirmed(const struct oae_link *l, const struct oae_link_mark *m)
{
	return oae_dist(m->tx, l->peer.rx) >= 0 || l->inc != m->inc || l->peer.inc != m->peer_inc;
}

/**
 * oae_link_undecided() - is there a transaction whose outcome this end does not know?
 * @l: the link
 *
 * Return: true if a transaction is held or in flight.
 */
bool oae_link_undecided(const struct oae_link *l)
{
	return l->nheld || oae_first_lane(l)->state == OAE_OFFER_OUT || oae_express_out(l) ||
	       (l->nlanes > 1 && oae_frozen(l)) || l->given > 1;
}

/**
 * oae_link_in_doubt() - may there be a transaction whose outcome an end does not know?
 * @l: the link
 *
 * Return: true if a transaction is undecided here, or may be undecided at the peer:
 * committed and not known to be delivered, or delivered and not known to be
 * committed.
 */
bool oae_link_in_doubt(const struct oae_link *l)
{
	return oae_link_undecided(l) || !oae_link_all_confirmed(l) || l->unseen;
}

/**
 * oae_would_lose() - would a transaction be lost with the present incarnation of the peer?
 * @l: the link
 *
 * An atomic offer would not: the next incarnation gets it.
 *
 * Return: true if something is held, committed and not known to be delivered, delivered
 * and not known to be committed, or an express is in flight.
 */
bool oae_would_lose(const struct oae_link *l)
{
	return l->nheld || oae_express_out(l) || !oae_link_all_confirmed(l) || l->unseen;
}
