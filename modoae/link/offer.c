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
 * @slices: the slices, bit n for slice n; as many are sent as may be under way (4.11), and
 *	the last of them asks for an answer. The rest is due
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
	n->rest = slices;
	slices = oae_cong_part(l, slices);
	n->rest &= ~slices;
	if (n->rest)
		oae_lane_due(l, n, OAE_DUE_REST);
	if (n->resume)
		s->frame.flags |= OAE_F_RESUME;
	if (oae_post_express(&n->p))
		s->frame.flags |= OAE_F_EXPRESS;
	if (n->p.kind == OAE_VOID) {
		/* No payload, so the frame is complete. */
		s->frame.flags = OAE_F_LAST;
		s->frame.marks = OAE_M_ANSWER;
		s->frame.payload_hash = oae_slice_hash("", 0, 0);
	}
	s->frame.seq = seq;
	s->frame.kind = n->p.kind;
	s->handle = n->p.kind == OAE_VOID ? NULL : n->p.handle;
	s->slices = slices;
	s->slice_max = n->p.slice_max;
	s->nslices = n->p.nslices;
	s->each = oae_cong_each(l);
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
	l->out_pn = n->pn;
	n->asked = 0;
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
	n->lost = false;
	n->repeated = false;
	if (n == oae_first_lane(l))
		l->grown_at = now;
}

/* What has a number is too long for a frame, or for 64: EMSGSIZE. */
static void offer_too_long(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);

	if (!n->doubt) {
		oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
		return;
	}
	/* An express in doubt: oae_offer_sure() reverses it. */
	n->state = OAE_OFFER_OUT;
	/* Its slices are gone: force cutting anew. */
	n->p.slice_max = 0xffff;
	n->at = now;
	l->given = 1;
}

/* True: the slices do not fit, and the caller was asked to cut them anew. */
static bool offer_wants_slicing(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	bool message = n->p.kind == OAE_MESSAGE;
	u16 max = oae_link_slice_max(l);

	if (!oae_mtu_fits(l, &n->p)) {
		offer_too_long(l, seq, now, a);
		return true;
	}
	if (n->p.slice_max <= max && (message || n->p.nslices == 1))
		return false;
	n->state = OAE_OFFER_SLICING;
	oae_op(a, OAE_OP_RESLICE)->handle = n->p.handle;
	return true;
}

/*
 * The slices of tx + 1 that the peer keeps, if this event resolves, and they are of the content
 * that the number gets (protocol 4.1); 0 none. A LAST of another index is of a longer, or a shorter
 * content that begins like this one.
 */
static u64 offer_kept(const struct oae_link *l, u32 seq, struct oae_actions *a)
{
	const struct oae_post *p = &oae_lane(l, seq)->p;
	const struct oae_frame *f = a->told;
	u64 hash[OAE_MAX_SLICES] oae_uninit;

	if (!f || seq != l->tx + 1 || p->kind != OAE_MESSAGE || p->nslices == 1 ||
	    f->sync.kept & ~oae_slice_mask(p->nslices) ||
	    (f->sync.last != OAE_SYNC_NO_LAST && f->sync.last != p->nslices - 1))
		return 0;
	a->post_hashes(a, p, hash);
	return oae_kept_hash(f->sync.kept, hash) == f->sync.hash ? f->sync.kept : 0;
}

/**
 * oae_offer_number() - offer the content of a number, all of it (protocol 4.1)
 * @l: the link, OPEN
 * @seq: the number
 * @now: ns
 * @a: actions
 *
 * Slices that the peer keeps of it are not sent, and its frames have RESUME in this run. LAST goes
 * if no slice is missing, or if the peer keeps that slice as one in the midst of a longer content.
 */
void oae_offer_number(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	u64 slices, last_slice;

	if (oae_post_several(&n->p) && !oae_mtu_several(l, &n->p)) {
		oae_offer_hand_back(l, seq, false, a);
		return;
	}
	oae_lane_unpark(l, n);
	oae_lane_not_due(l, n);
	if (offer_wants_slicing(l, seq, now, a))
		return;
	offer_begins(l, n, now);
	slices = oae_slice_mask(n->p.nslices);
	last_slice = 1ULL << (n->p.nslices - 1);
	if (!n->offered) {
		u64 kept = offer_kept(l, seq, a);

		n->resume = kept;
		if (kept && a->told->sync.last == OAE_SYNC_NO_LAST)
			kept &= ~last_slice;
		slices &= ~kept;
		oae_credit_give(l, seq);
	}
	oae_offer_out(l, seq, slices ?: last_slice, now, a);
}

/* Send what is left of an offer in flight, or was lost; or ask for its answer. */
static void offer_go_on(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);

	if (n->due == OAE_DUE_ASK) {
		oae_lane_not_due(l, n);
		oae_note(a, OAE_N_ASKED);
		oae_offer_ask(l, seq, now, a);
		return;
	}
	oae_lane_not_due(l, n);
	n->repeated = n->lost;
	n->lost = false;
	oae_offer_out(l, seq, n->rest, now, a);
}

/**
 * oae_offer_again() - offer what has a number once more
 * @l: the link, OPEN
 * @seq: the number
 * @now: ns
 * @a: actions
 */
void oae_offer_again(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);

	if (n->due >= OAE_DUE_REST && n->state == OAE_OFFER_OUT)
		offer_go_on(l, seq, now, a);
	else
		oae_offer_number(l, seq, now, a);
}

/**
 * oae_offer_sure() - the peer has left all earlier runs (protocol 4.3)
 * @l: the link, OPEN, with an express in doubt; the peer's rx is this end's tx
 * @a: actions
 *
 * So no late frame can make the peer deliver an express of an earlier run. An express
 * that could not be offered in this run has waited for this, and is reversed.
 */
void oae_offer_sure(struct oae_link *l, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);

	n->doubt = false;
	if (!n->offered && n->state == OAE_OFFER_OUT)
		oae_offer_drop(l, l->tx + 1, OAE_REVERSED, OAE_E_TOO_BIG, a);
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
		offer_too_long(l, seq, now, a);
	} else {
		n->lacks = 0;
		n->p = *p;
		n->resume = false;
		if (l->state == OAE_OPEN) {
			offer_begins(l, n, now);
			oae_credit_give(l, seq);
			oae_offer_out(l, seq, oae_slice_mask(p->nslices), now, a);
		} else {
			/* The run has ended meanwhile: resolving offers the post. */
			n->state = n->doubt ? OAE_OFFER_OUT : OAE_OFFER_QUEUED;
		}
	}
	oae_finish(l, now, a);
}
