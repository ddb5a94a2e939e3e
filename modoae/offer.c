// SPDX-License-Identifier: GPL-2.0
/*
 * The initiator (doc/protocol.md section 4.1): offers one transaction at a
 * time, commits it when the reflection says what was said, or reverses it.
 *
 * What is being offered is always transaction tx + 1. By offer.state:
 *
 *   NONE     nothing; the next post goes out at once
 *   SLICING  waits for oae_link_resliced(): the slices no longer fit the MTU
 *   OUT      in flight; while frozen: its fate is what resolving decides
 *   PARKED   refused for want of room or a free word: not in flight, offered
 *            again on READY or after the keepalive interval. A half that is
 *            posted does not wait for that: what is parked steps aside for it.
 */
#include "link_int.h"

static void offer_out(struct oae_link *l, u64 slices, u8 flags, u64 now,
		      struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_OFFER);

	if (l->offer.p.flags & OAE_POST_EXPRESS)
		flags |= OAE_F_EXPRESS;
	s->frame.flags |= flags;
	s->frame.seq = l->tx + 1;
	s->frame.attempt = l->attempt;
	s->frame.kind = l->offer.p.kind;
	s->handle = l->offer.p.handle;
	s->slices = slices;
	s->slice_max = l->offer.p.slice_max;
	s->nslices = l->offer.p.nslices;

	oae_note(a, l->offer.again ? OAE_N_REOFFERED : OAE_N_OFFERED);
	l->offer.state = OAE_OFFER_OUT;
	l->offer.again = true;
	l->offer.at = now;
	l->active_at = now;
}

/*
 * False: the attempts of this run are used up, and the link froze. What was not
 * in flight is not: an express may be reversed still.
 */
static bool next_attempt(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->attempt == 0xff) {
		if (l->offer.state != OAE_OFFER_OUT)
			l->offer.state = OAE_OFFER_PARKED;
		oae_freeze(l, OAE_N_ATTEMPTS, now, a);
		return false;
	}
	l->attempt++;
	return true;
}

/* True: the slices do not fit, and the caller was asked for better ones. */
static bool wants_slicing(struct oae_link *l, struct oae_actions *a)
{
	if (l->offer.p.slice_max <= oae_link_slice_max(l) &&
	    (l->offer.p.kind == OAE_MESSAGE || l->offer.p.nslices == 1))
		return false;
	l->offer.state = OAE_OFFER_SLICING;
	oae_op(a, OAE_OP_RESLICE)->handle = l->offer.p.handle;
	return true;
}

/**
 * oae_fits_frame() - does a post fit into frames, and its answer into one?
 * @l: the link
 * @p: the post; a message is cut to fit
 *
 * Return: true if so.
 */
bool oae_fits_frame(const struct oae_link *l, const struct oae_post *p)
{
	u32 max = oae_link_slice_max(l);
	u32 reply = p->kind == OAE_SWAP ? p->len : p->reply;

	return p->kind == OAE_MESSAGE ||
	       (p->len <= max && reply + OAE_REFLECT_LEN <= max);
}

/*
 * Is there a half that may be offered? When closing there is none; but one that
 * was lent may just have come back.
 */
static bool half_posted(const struct oae_link *l)
{
	return l->half.state == OAE_HALF_POSTED && !l->closing &&
	       !l->peer_closing;
}

/* The half that is posted, and what else waits, take turns. */
static bool take_next(struct oae_link *l)
{
	if (half_posted(l) &&
	    (l->half.turn || l->aside.valid || !l->next_valid)) {
		l->offer.p = l->half.p;
		l->offer.again = l->half.again;
		l->half.state = OAE_HALF_OFFERED;
		l->half.crossed = false;
		l->half.again = true;
		l->half.turn = false;
		return true;
	}
	if (!l->next_valid || l->aside.valid)
		return false;
	l->offer.p = l->next;
	l->offer.again = false;
	l->next_valid = false;
	l->half.turn = true;
	return true;
}

/* What is parked lets a half pass. */
static void step_aside(struct oae_link *l)
{
	if (l->state != OAE_OPEN || l->offer.state != OAE_OFFER_PARKED ||
	    !half_posted(l))
		return;
	l->aside.p = l->offer.p;
	l->aside.valid = true;
	l->aside.ready = false;
	l->offer.state = OAE_OFFER_NONE;
	l->clean = false;
}

/* The half is through: what was parked is parked again, or offered. */
static void step_back(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->aside.valid || l->offer.state != OAE_OFFER_NONE)
		return;
	l->offer.p = l->aside.p;
	l->offer.again = true;
	l->offer.state = OAE_OFFER_PARKED;
	l->aside.valid = false;
	/* Under this number the peer has no slice of it: nothing to resume. */
	l->clean = false;
	if (l->state == OAE_OPEN && l->aside.ready)
		oae_offer_again(l, now, a);
}

/**
 * oae_offer_pump() - offer the next post if nothing is being offered
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_offer_pump(struct oae_link *l, u64 now, struct oae_actions *a)
{
	step_back(l, now, a);
	step_aside(l);
	while (l->state == OAE_OPEN && l->offer.state == OAE_OFFER_NONE &&
	       take_next(l)) {
		if (l->offer.p.len > l->peer_max_len ||
		    !oae_fits_frame(l, &l->offer.p)) {
			oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
			continue;
		}
		if (wants_slicing(l, a) || !next_attempt(l, now, a))
			return;
		offer_out(l, oae_slice_mask(l->offer.p.nslices), 0, now, a);
	}
	/* The half for which it stepped aside may have been too long. */
	step_back(l, now, a);
}

/**
 * oae_offer_again() - offer the same transaction as a new attempt
 * @l: the link, OPEN, with something offered or parked
 * @now: ns
 * @a: actions
 *
 * The first attempt of a run asks with the LAST slice alone what the peer has
 * kept, if the transaction has had one content only.
 */
void oae_offer_again(struct oae_link *l, u64 now, struct oae_actions *a)
{
	unsigned int n = l->offer.p.nslices;
	bool resume = l->offer.again && l->clean && !l->attempt && n > 1;

	if (!oae_fits_frame(l, &l->offer.p)) {
		oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
		oae_offer_pump(l, now, a);
		return;
	}
	if (wants_slicing(l, a) || !next_attempt(l, now, a))
		return;
	if (resume)
		offer_out(l, 1ULL << (n - 1), OAE_F_RESUME, now, a);
	else
		offer_out(l, oae_slice_mask(n), 0, now, a);
}

/* Cut as it must be now it is too long for this run, and not in flight. */
static void too_long(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
	oae_offer_pump(l, now, a);
}

/**
 * oae_offer_sure() - the peer has left the runs before this one
 * @l: the link, OPEN; the peer's rx is my tx
 * @now: ns
 * @a: actions
 *
 * So no frame of those will make it deliver what is offered (protocol 4.3). An
 * express that could not be offered in this run, where the first attempt is 1,
 * has waited for that.
 */
void oae_offer_sure(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->offer.doubt)
		return;
	l->offer.doubt = false;
	if (!l->attempt)
		too_long(l, now, a);
}

/**
 * oae_link_resliced() - the answer to OAE_OP_RESLICE
 * @l: the link
 * @p: the post as cut to oae_link_slice_max(); nslices 0 if that takes more
 *	than OAE_MAX_SLICES
 * @now: ns
 * @a: actions, the same list that held the OAE_OP_RESLICE
 */
void oae_link_resliced(struct oae_link *l, const struct oae_post *p, u64 now,
		       struct oae_actions *a)
{
	now = oae_now(l, now);
	if (l->offer.state != OAE_OFFER_SLICING ||
	    l->offer.p.handle != p->handle)
		return;
	if (!p->nslices || (p->kind != OAE_MESSAGE && p->nslices > 1)) {
		if (l->offer.doubt) {
			/* Not reversed before oae_offer_sure(). */
			l->offer.state = OAE_OFFER_OUT;
			l->offer.at = now;
		} else {
			too_long(l, now, a);
		}
	} else {
		/* Other slices are another content to a peer that kept some. */
		l->clean = false;
		l->offer.p = *p;
		if (next_attempt(l, now, a))
			offer_out(l, oae_slice_mask(p->nslices), 0, now, a);
	}
	/* The timer was armed before it was known what goes out. */
	oae_finish(l, now, a);
}

/**
 * oae_offer_drop() - what is offered ends otherwise than committed
 * @l: the link
 * @outcome: OAE_REVERSED or OAE_UNKNOWN
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		    struct oae_actions *a)
{
	oae_complete(a, l->offer.p.handle, outcome, err);
	if (l->offer.p.kind == OAE_SWAP)
		l->half.state = OAE_HALF_NONE;
	l->offer.state = OAE_OFFER_NONE;
	l->offer.doubt = false;
	/* tx + 1 will have another content now. */
	l->clean = false;
}

/**
 * oae_offer_withdraw() - the half that is offered is only posted again
 * @l: the link; what is offered is a half
 */
void oae_offer_withdraw(struct oae_link *l)
{
	l->half.state = OAE_HALF_POSTED;
	l->offer.state = OAE_OFFER_NONE;
	l->clean = false;
}

/**
 * oae_offer_drop_next() - the post that waits behind the offer is reversed
 * @l: the link
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop_next(struct oae_link *l, int err, struct oae_actions *a)
{
	if (!l->next_valid)
		return;
	l->next_valid = false;
	oae_complete(a, l->next.handle, OAE_REVERSED, err);
}

/**
 * oae_offer_drop_aside() - what is parked beside a half is reversed
 * @l: the link
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop_aside(struct oae_link *l, int err, struct oae_actions *a)
{
	if (!l->aside.valid)
		return;
	l->aside.valid = false;
	oae_complete(a, l->aside.p.handle, OAE_REVERSED, err);
}

/**
 * oae_offer_committed() - what is offered is committed, tx moves on
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_offer_committed(struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool express = l->offer.p.flags & OAE_POST_EXPRESS;

	oae_complete(a, l->offer.p.handle, OAE_COMMITTED, 0);
	if (l->offer.p.kind == OAE_SWAP)
		l->half.state = OAE_HALF_NONE;
	l->offer.state = OAE_OFFER_NONE;
	l->offer.doubt = false;
	l->tx++;
	l->attempt = 0;
	l->clean = true;
	l->backoff = 0;
	l->confirmed = express;
	l->await_done = !express && ((l->offer.p.flags & OAE_POST_CONFIRM) ||
				     l->closing || l->peer_closing);
	l->done_at = now;
	if (express && (l->offer.p.flags & OAE_POST_CONFIRM))
		oae_op(a, OAE_OP_CONFIRMED);
}

/**
 * oae_offer_delivered() - the peer says it has delivered tx
 * @l: the link
 * @a: actions
 */
void oae_offer_delivered(struct oae_link *l, struct oae_actions *a)
{
	l->confirmed = true;
	if (l->await_done) {
		l->await_done = false;
		oae_op(a, OAE_OP_CONFIRMED);
	}
}

/**
 * oae_send_commit() - what is committed, in a frame of its own
 * @l: the link, OPEN
 * @a: actions
 */
void oae_send_commit(struct oae_link *l, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_COMMIT);

	s->frame.seq = l->tx;
	if (l->await_done)
		s->frame.flags |= OAE_F_WANT_DONE;
}

/**
 * oae_link_confirm() - ask whether what is committed is delivered
 * @l: the link
 * @now: ns
 * @a: actions; OAE_OP_CONFIRMED comes with this event or a later one, unless
 *	link.confirmed says already that it is
 */
void oae_link_confirm(struct oae_link *l, u64 now, struct oae_actions *a)
{
	now = oae_now(l, now);
	if (l->state == OAE_CLOSED || l->confirmed || l->await_done)
		return;
	l->await_done = true;
	l->done_at = now;
	/* The answer to what is in flight says it as well; so does resolving. */
	if (l->state == OAE_OPEN && l->offer.state != OAE_OFFER_OUT)
		oae_send_commit(l, a);
	oae_finish(l, now, a);
}

/* Is this an answer to what is in flight? */
static bool answers_offer(const struct oae_link *l, const struct oae_frame *f,
			  struct oae_actions *a)
{
	if (l->offer.state != OAE_OFFER_OUT || f->seq != l->tx + 1) {
		oae_note(a, OAE_N_OLD_SEQ);
		return false;
	}
	if (f->attempt != l->attempt) {
		oae_note(a, OAE_N_OLD_ATTEMPT);
		return false;
	}
	return true;
}

/* Is it what was said, and the answer, if one is due, of the right kind? */
static bool reflects(const struct oae_post *p, const struct oae_frame *f)
{
	u32 reply = f->length - OAE_REFLECT_LEN;

	return f->kind == p->kind && f->reflect.digest == p->digest &&
	       f->reflect.first == p->first &&
	       (p->kind != OAE_VERB || reply == p->reply);
}

/**
 * oae_rcv_reflect() - what the peer heard (protocol 4.1, step 3)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_reflect(struct oae_link *l, const struct oae_frame *f, u64 now,
		     struct oae_actions *a)
{
	if (!answers_offer(l, f, a))
		return;
	if (!reflects(&l->offer.p, f)) {
		oae_note(a, OAE_N_MISMATCH);
		if (l->offer.p.flags & OAE_POST_EXPRESS)
			oae_broken(l, now, a);
		else
			oae_offer_again(l, now, a);
		return;
	}

	oae_rtt_sample(l, now - l->offer.at);
	if (l->offer.p.kind != OAE_MESSAGE)
		oae_op(a, OAE_OP_RESULT)->handle = l->offer.p.handle;
	oae_offer_committed(l, now, a);
	oae_offer_pump(l, now, a);
	/* The next offer carries the commit; an express needs none. */
	if (l->state == OAE_OPEN && l->offer.state != OAE_OFFER_OUT &&
	    !l->confirmed)
		oae_send_commit(l, a);
}

/* Why a transaction that was refused for good is reversed. */
static int refused_err(u16 reason)
{
	switch (reason) {
	case OAE_R_TOO_BIG:
		return OAE_E_TOO_BIG;
	case OAE_R_NO_REGION:
		return OAE_E_NO_REGION;
	case OAE_R_RANGE:
		return OAE_E_RANGE;
	case OAE_R_ACCESS:
		return OAE_E_ACCESS;
	case OAE_R_BAD_VERB:
		return OAE_E_BAD_VERB;
	default:
		return OAE_E_KIND;
	}
}

/**
 * oae_rcv_refuse() - the peer does not take the offer (protocol 4.1, step 2)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_refuse(struct oae_link *l, const struct oae_frame *f, u64 now,
		    struct oae_actions *a)
{
	u64 missing;

	if (!answers_offer(l, f, a))
		return;

	switch (f->reason) {
	case OAE_R_GAP:
		missing = f->gap_map & oae_slice_mask(l->offer.p.nslices);
		oae_note(a, OAE_N_GAP_HEARD);
		if (!missing || !next_attempt(l, now, a))
			return;
		/* LAST goes with them: it is the question what is missing. */
		missing |= 1ULL << (l->offer.p.nslices - 1);
		/* Only of a message can anything miss; a peer may lie. */
		offer_out(l, missing, l->offer.p.kind == OAE_MESSAGE ?
			  OAE_F_RESUME : 0, now, a);
		return;
	case OAE_R_NO_HALF:
		if (l->offer.p.kind == OAE_SWAP) {
			oae_half_refused(l, now, a);
			oae_offer_pump(l, now, a);
			return;
		}
		fallthrough;
	case OAE_R_BUSY:
	case OAE_R_CONFLICT:
		l->offer.state = OAE_OFFER_PARKED;
		l->park_at = now + l->cfg->keepalive;
		oae_note(a, OAE_N_PARKED);
		oae_offer_pump(l, now, a);
		return;
	default:
		oae_note(a, OAE_N_REJECTED);
		oae_offer_drop(l, OAE_REVERSED, refused_err(f->reason), a);
		oae_offer_pump(l, now, a);
	}
}
