// SPDX-License-Identifier: GPL-2.0
/*
 * Swaps (doc/protocol.md section 4.9): the states of the half that this end has
 * posted. offer.c offers it, hold.c takes the peer's half. Pure, see link.h.
 *
 * By half.state:
 *
 *   NONE     no half is posted
 *   POSTED   to be offered when its turn comes
 *   OFFERED  the half is the transaction offered, see offer.state
 *   WAITING  the peer had no half; its own offer will ask for this one
 *   LENT     sent in the REFLECT for the peer's half, which is held: the peer decides
 *
 * Many links have no half ever. The memory for one is the caller's: oae_link_lend_swaps().
 */
#include "link_int.h"

/**
 * oae_half_drop() - end a half, reversed or unknown
 * @l: the link; half.state is neither NONE nor OFFERED
 * @outcome: OAE_REVERSED or OAE_UNKNOWN
 * @err: positive errno
 * @a: actions
 */
void oae_half_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		   struct oae_actions *a)
{
	oae_complete(a, l->swaps->half.handle, outcome, err);
	l->half.state = OAE_HALF_NONE;
	l->mtu.too_long_at = 0;
}

/**
 * oae_half_refused() - the peer has no half (protocol 4.9, step 2)
 * @l: the link; half.state is OFFERED
 * @now: ns
 * @a: actions
 *
 * The half is WAITING. But if the peer's own offer was refused because of this one,
 * the peer has a half by now, so this one is POSTED again.
 */
void oae_half_refused(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_note(a, OAE_N_PARKED);
	l->half.refused = true;
	oae_offer_withdraw(l);
	if (l->half.crossed)
		return;
	l->half.state = OAE_HALF_WAITING;
	l->swaps->again_at = now + l->cfg->keepalive;
}

/**
 * oae_half_lend() - lend the own half to the peer's offer (protocol 4.9, step 3)
 * @l: the link
 * @a: actions
 *
 * Return: true if the half is lent; false if there is none to lend.
 */
bool oae_half_lend(struct oae_link *l, struct oae_actions *a)
{
	if (l->half.state != OAE_HALF_NONE && !oae_mtu_fits(l, &l->swaps->half)) {
		if (oae_half_idle(l) && !oae_mtu_waits(l, &l->swaps->half, l->now))
			oae_half_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
		return false;
	}
	if (l->half.state == OAE_HALF_OFFERED) {
		/* The two offers crossed: that of the senior stands. */
		if (l->senior) {
			l->half.crossed = true;
			return false;
		}
		oae_offer_withdraw(l);
	}
	if (!oae_half_idle(l))
		return false;
	oae_note(a, OAE_N_LENT);
	l->half.state = OAE_HALF_LENT;
	return true;
}

/**
 * oae_half_back() - take back a lent half, if any (protocol 4.9, step 5)
 * @l: the link, which drops the peer's half
 * @a: actions
 *
 * The half is POSTED again, or reversed if it was cancelled while it was lent.
 */
void oae_half_back(struct oae_link *l, struct oae_actions *a)
{
	if (l->half.state != OAE_HALF_LENT)
		return;
	oae_note(a, OAE_N_TAKEN_BACK);
	if (l->swaps->cancelled)
		oae_half_drop(l, OAE_REVERSED, l->swaps->cancelled, a);
	else
		l->half.state = OAE_HALF_POSTED;
}
