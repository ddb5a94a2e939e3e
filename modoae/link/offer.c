// SPDX-License-Identifier: GPL-2.0
/*
 * The initiator (doc/protocol.md section 4.1): offers the content of a number. pump.c says
 * what is offered when, answer.c what becomes of it, mtu.c how long its slices are. Pure, see
 * link.h.
 */
#include "link_int.h"

/**
 * oae_offer_out() - send slices of the content of a number (protocol 4.1)
 * @l: the link, OPEN
 * @seq: the number; its lane is OUT then
 * @slices: the slices, bit n for slice n; as many are sent as the network bears (4.11), and
 *	the last of them asks for an answer
 * @now: ns
 * @a: actions
 */
void oae_offer_out(struct oae_link *l, u32 seq, u64 slices, u64 now,
		   struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_OFFER);
	struct oae_lane *n = oae_lane(l, seq);

	/* Whatever a state may say that was sent. */
	slices = slices & oae_slice_mask(n->p.nslices) ?: oae_slice_mask(n->p.nslices);
	if (n->p.kind == OAE_MESSAGE)
		slices = oae_window_part(l, &n->p, slices);
	if (n->resume)
		s->frame.flags |= OAE_F_RESUME;
	if (oae_post_express(&n->p))
		s->frame.flags |= OAE_F_EXPRESS;
	if (n->p.kind == OAE_VOID) {
		/* No payload, so the frame is complete. */
		s->frame.flags |= OAE_F_LAST;
		s->frame.marks = OAE_M_ANSWER;
		s->frame.payload_hash = oae_slice_hash("", 0, 0);
	}
	s->frame.seq = seq;
	s->frame.kind = n->p.kind;
	s->handle = n->p.kind == OAE_VOID ? NULL : n->p.handle;
	s->slices = slices;
	s->slice_max = n->p.slice_max;
	s->nslices = n->p.nslices;
	s->frame.pn = oae_number_next(l, hweight64(slices));

	if (n->p.kind == OAE_VOID)
		oae_note(a, OAE_N_VOIDED);
	else if (n->again)
		oae_note(a, OAE_N_REOFFERED);
	else
		oae_note_of(a, OAE_N_OFFERED, n->p.handle);
	n->state = OAE_OFFER_OUT;
	n->again = true;
	n->offered = true;
	n->at = now;
	n->sent = slices;
	n->pn = (u32)l->pn;
	n->asked = 0;
	n->asks = false;
	if (seq - l->tx > l->given)
		l->given = seq - l->tx;
	l->active_at = now;
}

/**
 * oae_offer_ask() - ask what the peer has of a number in flight (protocol 4.1)
 * @l: the link, OPEN
 * @seq: its number; its lane was offered in this run
 * @now: ns
 * @a: actions
 */
void oae_offer_ask(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_ASK);
	struct oae_lane *n = oae_lane(l, seq);

	if (oae_post_express(&n->p))
		s->frame.flags |= OAE_F_EXPRESS;
	s->frame.seq = seq;
	s->frame.kind = n->p.kind;
	n->asked = s->frame.pn;
	l->ask_at = now;
}

/* All of a content is about to be offered, perhaps not for the first time. */
static void offer_begins(struct oae_link *l, struct oae_lane *n, u64 now)
{
	n->ready = false;
	n->repeated = false;
	if (n == oae_first_lane(l))
		l->grown_at = now;
}

/* Slices that get through would be too many: EMSGSIZE. */
static void offer_end_too_long(struct oae_link *l, struct oae_lane *n, u64 now,
			       struct oae_actions *a)
{
	struct oae_post p = n->p;

	p.nslices = 0;
	n->state = OAE_OFFER_SLICING;
	oae_link_resliced(l, &p, now, a);
}

/* True: the slices do not fit, and the caller was asked to cut them anew. */
static bool offer_wants_slicing(struct oae_link *l, struct oae_lane *n, u64 now,
				struct oae_actions *a)
{
	bool message = n->p.kind == OAE_MESSAGE;
	u16 max = oae_link_slice_max(l);

	if (!oae_mtu_fits(l, &n->p)) {
		offer_end_too_long(l, n, now, a);
		return true;
	}
	if (n->p.slice_max <= max && (message || n->p.nslices == 1))
		return false;
	n->state = OAE_OFFER_SLICING;
	oae_op(a, OAE_OP_RESLICE)->handle = n->p.handle;
	return true;
}

/**
 * oae_offer_too_long() - reverse what is too long for a frame, or for 64: EMSGSIZE
 * @l: the link
 * @seq: its number; it is not in flight
 * @now: ns
 * @a: actions
 */
void oae_offer_too_long(struct oae_link *l, u32 seq, u64 now,
			struct oae_actions *a)
{
	oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
	oae_offer_pump(l, now, a);
}

/*
 * The peer says that it has no room for the next number, and the last time all slices were
 * sent for nothing then: is LAST alone to ask for room (protocol 4.11)? RESUME says that it
 * is alone.
 */
static bool offer_asks(const struct oae_link *l, const struct oae_lane *n, bool clean)
{
	return l->wary && clean && n->p.kind == OAE_MESSAGE && !oae_post_express(&n->p) &&
	       oae_dist(l->tx, l->room_to) <= 0;
}

/**
 * oae_offer_number() - offer the content of a number, all of it (protocol 4.1)
 * @l: the link, OPEN
 * @seq: the number
 * @fresh: the content has never been offered
 * @now: ns
 * @a: actions
 *
 * If the number has had one content only, what a run sends first of it is the LAST slice alone,
 * with RESUME, to learn which slices the peer has kept. LAST alone goes, too, to ask for room.
 */
void oae_offer_number(struct oae_link *l, u32 seq, bool fresh, u64 now,
		      struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	bool clean = !(l->dirty >> oae_place(l, seq) & 1);
	bool first = !fresh && n->again && !n->offered, asks = fresh && offer_asks(l, n, clean);
	bool last = n->due == OAE_DUE_LAST || asks || (first && clean);

	if (oae_post_several(&n->p) && !oae_mtu_several(l, &n->p)) {
		oae_offer_hand_back(l, seq, false, a);
		return;
	}
	oae_lane_unpark(l, n);
	oae_lane_not_due(l, n);
	if (offer_wants_slicing(l, n, now, a))
		return;
	offer_begins(l, n, now);
	last = last && n->p.kind == OAE_MESSAGE && n->p.nslices > 1;
	if (!n->offered)
		n->resume = last && clean;
	oae_offer_out(l, seq, last ? 1ULL << (n->p.nslices - 1) : oae_slice_mask(n->p.nslices),
		      now, a);
	n->asks = asks;
}

/* The last frame seems to be lost, or the answer: send it once more, or ask for that. */
static void offer_repeat(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	u64 last, rest = n->sent;

	if (n->due == OAE_DUE_ASK) {
		oae_lane_not_due(l, n);
		oae_note(a, OAE_N_ASKED);
		oae_offer_ask(l, seq, now, a);
		return;
	}
	do {
		last = rest;
		rest &= rest - 1;
	} while (rest);
	oae_lane_not_due(l, n);
	oae_offer_out(l, seq, last, now, a);
	n->repeated = true;
}

/**
 * oae_offer_again() - offer what has a number once more
 * @l: the link, OPEN
 * @seq: the number
 * @now: ns
 * @a: actions
 *
 * What no longer fits a frame is reversed, and the caller pumps. That is not done here:
 * there may be a window of them, and the pump is where they come from.
 */
void oae_offer_again(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);

	if (l->settle_until && n->state == OAE_OFFER_PARKED) {
		/* READY, or the new run, will not come again: use the timer. */
		l->park_at = l->settle_until;
		return;
	}
	if (n->due >= OAE_DUE_REPEAT && n->state == OAE_OFFER_OUT)
		offer_repeat(l, seq, now, a);
	else if (oae_lane_reversible(n) && !oae_mtu_fits(l, &n->p))
		oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
	else
		oae_offer_number(l, seq, false, now, a);
}

/**
 * oae_offer_sure() - the peer has left all earlier runs (protocol 4.3)
 * @l: the link, OPEN, with an express in doubt; the peer's rx is this end's tx
 * @now: ns
 * @a: actions
 *
 * So no late frame can make the peer deliver an express of an earlier run. An express
 * that could not be offered in this run has waited for this, and is reversed.
 */
void oae_offer_sure(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);

	n->doubt = false;
	if (!n->offered)
		oae_offer_too_long(l, l->tx + 1, now, a);
}

/* The lane that waits for new slices; NULL: this post does not. */
static struct oae_lane *offer_slicing(const struct oae_link *l, const void *handle,
				      u32 *seq)
{
	struct oae_lane *n;

	if (!oae_lane_find(l, handle, seq))
		return NULL;
	n = oae_lane(l, *seq);
	return n->state == OAE_OFFER_SLICING ? n : NULL;
}

/**
 * oae_link_resliced() - complete OAE_OP_RESLICE
 * @l: the link
 * @p: the post, cut to oae_link_cut(); nslices is 0 if it needs more than
 *	OAE_MAX_SLICES
 * @now: ns
 * @a: actions, the same list that held the OAE_OP_RESLICE
 */
void oae_link_resliced(struct oae_link *l, const struct oae_post *p, u64 now,
		       struct oae_actions *a)
{
	struct oae_lane *n;
	u32 seq;

	n = offer_slicing(l, p->handle, &seq);
	if (!n)
		return;
	now = oae_now(l, now);
	if (!p->nslices || (p->kind != OAE_MESSAGE && p->nslices > 1)) {
		if (n->doubt) {
			/* An express in doubt: oae_offer_sure() reverses it. */
			n->state = OAE_OFFER_OUT;
			/* Its slices are gone: force cutting anew. */
			n->p.slice_max = 0xffff;
			n->at = now;
			l->given = 1;
		} else {
			oae_offer_too_long(l, seq, now, a);
		}
	} else {
		/* Slices that the peer has kept do not fit the new ones: no RESUME. */
		oae_lane_dirty(l, seq);
		n->lacks = 0;
		n->p = *p;
		n->resume = false;
		if (l->state == OAE_OPEN) {
			offer_begins(l, n, now);
			oae_offer_out(l, seq, oae_slice_mask(p->nslices), now, a);
		} else {
			/* The run has ended meanwhile: resolving offers the post. */
			n->state = n->doubt ? OAE_OFFER_OUT : OAE_OFFER_QUEUED;
		}
		oae_offer_pump(l, now, a);
	}
	/* The timer was armed before the offer went out. */
	oae_finish(l, now, a);
}
