// SPDX-License-Identifier: GPL-2.0
/*
 * Swaps (doc/protocol.md section 4.9): the half that this end has posted, and
 * what becomes of it. Offering it is offer.c's, holding the peer's hold.c's.
 *
 * By half.state:
 *
 *   NONE     none is posted
 *   POSTED   to be offered when its turn comes
 *   OFFERED  it is what is offered
 *   WAITING  the peer had none; the peer's own offer will ask for it
 *   LENT     it went out in the REFLECT of what is held: the peer decides
 */
#include "link_int.h"

/**
 * oae_half_drop() - a half ends otherwise than committed
 * @l: the link; half.state is neither NONE nor OFFERED
 * @outcome: OAE_REVERSED or OAE_UNKNOWN
 * @err: positive errno
 * @a: actions
 */
void oae_half_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		   struct oae_actions *a)
{
	oae_complete(a, l->half.p.handle, outcome, err);
	l->half.state = OAE_HALF_NONE;
}

/**
 * oae_half_end() - this end cannot know or have the peer's half any more
 * @l: the link
 * @err: why a half that nobody has is reversed, positive errno
 * @a: actions
 *
 * The dead may have used one that is lent. One that is offered ends with the
 * offer.
 */
void oae_half_end(struct oae_link *l, int err, struct oae_actions *a)
{
	if (l->half.state == OAE_HALF_LENT)
		oae_half_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	else if (oae_half_idle(l))
		oae_half_drop(l, OAE_REVERSED, err, a);
}

/**
 * oae_half_refused() - the peer has none to give for the one offered
 * @l: the link; half.state is OFFERED
 * @now: ns
 * @a: actions
 *
 * Unless the peer's own offer came meanwhile, and was refused because of this
 * one: then there is one by now.
 */
void oae_half_refused(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_note(a, OAE_N_PARKED);
	oae_offer_withdraw(l);
	if (l->half.crossed)
		return;
	l->half.state = OAE_HALF_WAITING;
	l->half.again_at = now + l->cfg->keepalive;
}

/**
 * oae_half_lend() - answer the peer's half with the one that is posted here
 * @l: the link
 * @a: actions
 *
 * Return: true if it is lent; else there is none to lend.
 */
bool oae_half_lend(struct oae_link *l, struct oae_actions *a)
{
	if (l->half.state == OAE_HALF_OFFERED) {
		/* Crossed: the senior's stands. */
		if (l->senior) {
			l->half.crossed = true;
			return false;
		}
		oae_offer_withdraw(l);
	}
	if (!oae_half_idle(l))
		return false;
	if (!oae_fits_frame(l, &l->half.p)) {
		oae_half_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
		return false;
	}
	oae_note(a, OAE_N_LENT);
	l->half.state = OAE_HALF_LENT;
	return true;
}

/**
 * oae_half_back() - what was held for it is dropped: a lent half is here again
 * @l: the link
 * @a: actions
 *
 * Its user may have wanted it back meanwhile: then nobody gets it any more.
 */
void oae_half_back(struct oae_link *l, struct oae_actions *a)
{
	if (l->half.state != OAE_HALF_LENT)
		return;
	oae_note(a, OAE_N_TAKEN_BACK);
	if (l->half.cancelled)
		oae_half_drop(l, OAE_REVERSED, l->half.cancelled, a);
	else
		l->half.state = OAE_HALF_POSTED;
}
