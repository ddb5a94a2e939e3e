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

/* Number of this end's transactions that the link has. */
static u8 show_pending(const struct oae_link *l)
{
	return l->next_valid + l->naside + l->nlanes +
	       (l->half.state != OAE_HALF_NONE &&
		l->half.state != OAE_HALF_OFFERED);
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
	v->cwnd = l->cwnd;
	v->window = l->win;
	v->down = l->down;
	v->half = l->half.state != OAE_HALF_NONE;
	v->doubt = oae_frozen(l) && oae_link_undecided(l);
	v->slice_max = oae_link_slice_max(l);
	v->peer_max_len = l->peer_max_len;
	v->tx = l->tx;
	v->rx = l->rx;
	v->srtt = l->srtt;
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
	m->peer_inc = l->peer_inc;
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
	return oae_dist(m->tx, l->peer_rx) >= 0 || l->inc != m->inc || l->peer_inc != m->peer_inc;
}
