// SPDX-License-Identifier: GPL-2.0
/*
 * What the user takes back (doc/protocol.md sections 4.1 and 4.12): a transaction, or a
 * part of one. Pure, see link.h.
 */
#include "link_int.h"

/**
 * oae_link_cancel() - reverse a transaction (protocol 4.1, step 5)
 * @l: the link
 * @handle: of the transaction
 * @err: error for the writer, positive errno
 * @now: ns
 * @a: actions; OAE_OP_COMPLETE is among them if 0 is returned
 *
 * Return: 0; -EINPROGRESS an express that was offered, or a half that is lent: the outcome comes
 * later. The express is recalled (protocol 4.3), and a half that comes back is reversed. -ENOENT
 * the link does not have this transaction.
 */
int oae_link_cancel(struct oae_link *l, const void *handle, int err, u64 now,
		    struct oae_actions *a)
{
	bool reversible;
	unsigned int i;
	u32 seq;

	if (l->next_valid && l->next.handle == handle) {
		now = oae_now(l, now);
		oae_offer_drop_next(l, err, a);
		oae_finish(l, now, a);
		return 0;
	}
	if (oae_half_idle(l) && l->swaps->half.handle == handle) {
		now = oae_now(l, now);
		oae_half_drop(l, OAE_REVERSED, err, a);
		oae_finish(l, now, a);
		return 0;
	}
	if (l->half.state == OAE_HALF_LENT && l->swaps->half.handle == handle) {
		l->swaps->cancelled = err;
		return -EINPROGRESS;
	}
	for (i = 0; i < l->naside; i++)
		if (oae_aside(l, i)->handle == handle) {
			oae_offer_drop_aside(l, i, err, a);
			return 0;
		}
	if (!oae_lane_find(l, handle, &seq))
		return -ENOENT;

	now = oae_now(l, now);
	reversible = oae_lane_reversible(oae_lane(l, seq));
	if (reversible)
		oae_offer_drop(l, seq, OAE_REVERSED, err, a);
	else
		oae_lane_recall(l, seq, err);
	oae_finish(l, now, a);
	return reversible ? 0 : -EINPROGRESS;
}

/**
 * oae_link_take_back() - give a content back, and all above it (protocol 4.12)
 * @l: the link
 * @handle: of the content, a pack or joined verbs, one of which is reversed
 * @now: ns
 * @a: actions; OAE_OP_BACK follows for each
 *
 * The caller posts what is left of them again.
 *
 * Return: 0; -ENOENT the link does not have this content.
 */
int oae_link_take_back(struct oae_link *l, const void *handle, u64 now,
		       struct oae_actions *a)
{
	unsigned int i;
	u32 seq;

	if (l->next_valid && l->next.handle == handle) {
		oae_offer_next_back(l, a);
		return 0;
	}
	for (i = 0; i < l->naside; i++)
		if (oae_aside(l, i)->handle == handle) {
			oae_offer_aside_back(l, i, a);
			return 0;
		}
	if (!oae_lane_find(l, handle, &seq))
		return -ENOENT;

	now = oae_now(l, now);
	oae_offer_hand_back(l, seq, false, a);
	oae_finish(l, now, a);
	return 0;
}
