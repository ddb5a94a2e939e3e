// SPDX-License-Identifier: GPL-2.0
/*
 * What the user takes back (doc/protocol.md sections 4.1 and 4.12): a transaction, or a
 * part of one. Pure, see link.h.
 */
#include "link_int.h"

/* Is the number in flight, and in a run in which REVERSE takes it back? */
static bool cancel_is_out(const struct oae_link *l, u32 seq)
{
	return l->state == OAE_OPEN && !oae_link_windowed(l) &&
	       oae_lane(l, seq)->state == OAE_OFFER_OUT;
}

/**
 * oae_send_reverse() - say that an attempt is reversed (protocol 4.1, step 5)
 * @l: the link, OPEN, in a run without a window
 * @seq: its number
 * @attempt: the attempt
 * @a: actions
 */
void oae_send_reverse(struct oae_link *l, u32 seq, u8 attempt, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REVERSE);

	s->frame.seq = seq;
	s->frame.attempt = attempt;
}

/**
 * oae_link_cancel() - reverse a transaction (protocol 4.1, step 5)
 * @l: the link
 * @handle: of the transaction
 * @err: error for the writer, positive errno
 * @now: ns
 * @a: actions; OAE_OP_COMPLETE is among them if 0 is returned
 *
 * Return: 0; -EINPROGRESS an express in flight or a half that is lent: the outcome
 * comes later, and a half that comes back is reversed; -ENOENT the link does not
 * have this transaction.
 */
int oae_link_cancel(struct oae_link *l, const void *handle, int err, u64 now,
		    struct oae_actions *a)
{
	unsigned int i;
	bool out;
	u32 seq;

	if (l->next_valid && l->next.handle == handle) {
		oae_offer_drop_next(l, err, a);
		return 0;
	}
	if (oae_half_idle(l) && l->swaps->half.handle == handle) {
		now = oae_now(l, now);
		oae_half_drop(l, OAE_REVERSED, err, a);
		/* A post behind it need not wait for those under way. */
		oae_offer_pump(l, now, a);
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
	if (!oae_lane_reversible(oae_lane(l, seq)))
		return -EINPROGRESS;

	now = oae_now(l, now);
	out = cancel_is_out(l, seq);
	oae_offer_drop(l, seq, OAE_REVERSED, err, a);
	if (out)
		oae_send_reverse(l, seq, oae_lane(l, seq)->attempt, a);
	oae_offer_pump(l, now, a);
	if (out)
		oae_ask_done(l, now, a);
	oae_finish(l, now, a);
	return 0;
}

/**
 * oae_link_replace() - offer another content in place of one (protocol 4.12)
 * @l: the link
 * @handle: of the content, a pack or joined verbs
 * @p: what takes its place: the pack without some of its messages; NULL: nothing does,
 *	and OAE_OP_BACK follows for the content and all that is above it
 * @now: ns
 * @a: actions
 *
 * The number of the pack, if it has one, is that of the new content: as its next attempt.
 * The caller has the pack back.
 *
 * Return: 0; -ENOENT the link does not have this content.
 */
int oae_link_replace(struct oae_link *l, const void *handle,
		     const struct oae_post *p, u64 now, struct oae_actions *a)
{
	struct oae_lane *n;
	unsigned int i;
	bool out;
	u32 seq;

	if (l->next_valid && l->next.handle == handle) {
		if (p)
			l->next = *p;
		else
			oae_offer_next_back(l, a);
		return 0;
	}
	for (i = 0; i < l->naside; i++)
		if (oae_aside(l, i)->handle == handle) {
			if (p)
				*oae_aside(l, i) = *p;
			else
				oae_offer_aside_back(l, i, a);
			return 0;
		}
	if (!oae_lane_find(l, handle, &seq))
		return -ENOENT;

	now = oae_now(l, now);
	if (!p) {
		/* Otherwise what is posted again is the next attempt. */
		out = cancel_is_out(l, seq) && (oae_takes_nothing(l) || l->peer_closing);
		oae_offer_hand_back(l, seq, false, a);
		if (out)
			oae_send_reverse(l, seq, oae_lane(l, seq)->attempt, a);
		oae_offer_pump(l, now, a);
		if (out)
			oae_ask_done(l, now, a);
		oae_finish(l, now, a);
		return 0;
	}
	n = oae_lane(l, seq);
	n->p = *p;
	oae_lane_dirty(l, seq);
	/* A content that is parked, or has no number yet, is offered when its turn comes. */
	if (n->state == OAE_OFFER_OUT || n->state == OAE_OFFER_REFLECTED) {
		n->state = OAE_OFFER_QUEUED;
		if (l->state == OAE_OPEN)
			oae_lane_due(l, n, OAE_DUE_ALL);
	}
	oae_offer_pump(l, now, a);
	oae_finish(l, now, a);
	return 0;
}
