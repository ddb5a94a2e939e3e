// SPDX-License-Identifier: GPL-2.0
/*
 * The initiator (doc/protocol.md section 4.1): offers one transaction at a time,
 * commits it when the REFLECT matches what was offered, or reverses it. Pure, see
 * link.h.
 *
 * The transaction offered is always tx + 1. By offer.state:
 *
 *   NONE     nothing is offered; the next post goes out at once
 *   SLICING  waits for oae_link_resliced(): the slices no longer fit the MTU
 *   OUT      in flight; while frozen: resolving decides the outcome
 *   PARKED   refused for lack of room or of a free word: not in flight, offered again
 *            on READY or after the keepalive interval. A half that is posted does not
 *            wait for that: the parked transaction steps aside.
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
	l->offer.ready = false;
	l->offer.at = now;
	l->offer.unseen = slices & ~(1ULL << (l->offer.p.nslices - 1));
	l->active_at = now;
}

/*
 * Count an attempt. False: the attempts of this run are used up, and the link froze. A
 * transaction that was not in flight is parked, so an express can still be reversed.
 */
static bool offer_next_attempt(struct oae_link *l, u64 now, struct oae_actions *a)
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

/* Slices that get through would be too many: EMSGSIZE. */
static void offer_end_hopeless(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_post p = l->offer.p;

	p.nslices = 0;
	l->offer.state = OAE_OFFER_SLICING;
	oae_link_resliced(l, &p, now, a);
}

/* True: the slices do not fit, and the caller was asked to cut them anew. */
static bool offer_wants_slicing(struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool message = l->offer.p.kind == OAE_MESSAGE;
	u16 max = oae_link_cut(l, l->offer.p.kind, l->offer.p.len);

	if (l->offer.hopeless) {
		offer_end_hopeless(l, now, a);
		return true;
	}
	if (l->offer.p.slice_max <= max && (message || l->offer.p.nslices == 1))
		return false;
	l->offer.state = OAE_OFFER_SLICING;
	oae_op(a, OAE_OP_RESLICE)->handle = l->offer.p.handle;
	return true;
}

/**
 * oae_fits_frame() - does a half or a verb, and its answer, fit into one frame each?
 * @l: the link
 * @p: the post; a message always fits, since it is cut
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
 * Is there a half to offer? Not while closing, even if a half that was lent has just
 * come back.
 */
static bool offer_half_posted(const struct oae_link *l)
{
	return l->half.state == OAE_HALF_POSTED && !oae_takes_nothing(l) &&
	       !l->peer_closing;
}

/* Another transaction is offered: after a while, try longer slices again. */
static void offer_new_content(struct oae_link *l, u64 now)
{
	l->fruitless = 0;
	l->offer.hopeless = false;
	if (l->cut && now - l->cut_at >= OAE_CUT_NS)
		l->cut = 0;
}

/* Take the next post: the half and the other posts take turns (protocol 4.9). */
static bool offer_take_next(struct oae_link *l)
{
	if (offer_half_posted(l) &&
	    (l->half.turn || l->aside.valid || !l->next_valid)) {
		l->offer.p = l->half.p;
		l->offer.again = l->half.again;
		l->half.state = OAE_HALF_OFFERED;
		l->half.crossed = false;
		l->half.again = true;
		l->half.turn = false;
		return true;
	}
	if (!l->next_valid || l->aside.valid || l->settle_until)
		return false;
	l->offer.p = l->next;
	l->offer.again = false;
	l->next_valid = false;
	l->half.turn = true;
	return true;
}

/* A parked post steps aside for a half (protocol 4.9). */
static void offer_step_aside(struct oae_link *l)
{
	if (l->state != OAE_OPEN || l->offer.state != OAE_OFFER_PARKED ||
	    !offer_half_posted(l))
		return;
	l->aside.p = l->offer.p;
	l->aside.valid = true;
	l->aside.ready = false;
	l->offer.state = OAE_OFFER_NONE;
	l->clean = false;
}

/* After the half, the post that stepped aside is parked again, or offered. */
static void offer_step_back(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->aside.valid || l->offer.state != OAE_OFFER_NONE)
		return;
	l->offer.p = l->aside.p;
	offer_new_content(l, now);
	l->offer.again = true;
	l->offer.state = OAE_OFFER_PARKED;
	l->aside.valid = false;
	/* The peer has no slices of this post under this number: no RESUME. */
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
	offer_step_back(l, now, a);
	offer_step_aside(l);
	while (l->state == OAE_OPEN && l->offer.state == OAE_OFFER_NONE &&
	       offer_take_next(l)) {
		offer_new_content(l, now);
		if (l->offer.p.len > l->peer_max_len ||
		    !oae_fits_frame(l, &l->offer.p)) {
			oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
			continue;
		}
		if (offer_wants_slicing(l, now, a) || !offer_next_attempt(l, now, a))
			return;
		offer_out(l, oae_slice_mask(l->offer.p.nslices), 0, now, a);
	}
	/* The half for which a post stepped aside may have been too long. */
	offer_step_back(l, now, a);
}

/* Reverse an offer that is too long for a frame, or for 64, and is not in flight. */
static void offer_too_long(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
	oae_offer_pump(l, now, a);
}

/**
 * oae_offer_again() - offer the same transaction as a new attempt
 * @l: the link, OPEN, with a transaction offered or parked
 * @now: ns
 * @a: actions
 *
 * If the transaction has had one content only, the first attempt of a run sends only
 * the LAST slice, with RESUME, to learn which slices the peer has kept.
 */
void oae_offer_again(struct oae_link *l, u64 now, struct oae_actions *a)
{
	unsigned int n = l->offer.p.nslices;
	bool resume = l->offer.again && l->clean && !l->attempt && n > 1;

	if (l->settle_until && l->offer.state == OAE_OFFER_PARKED) {
		/* READY, or the new run, will not come again: use the timer. */
		l->park_at = l->settle_until;
		return;
	}
	if (!oae_fits_frame(l, &l->offer.p)) {
		offer_too_long(l, now, a);
		return;
	}
	if (offer_wants_slicing(l, now, a) || !offer_next_attempt(l, now, a))
		return;
	if (resume)
		offer_out(l, 1ULL << (n - 1), OAE_F_RESUME, now, a);
	else
		offer_out(l, oae_slice_mask(n), 0, now, a);
}

/**
 * oae_offer_sure() - the peer has left all earlier runs (protocol 4.3)
 * @l: the link, OPEN, with an express in doubt; the peer's rx is this end's tx
 * @now: ns
 * @a: actions
 *
 * So no late frame can make the peer deliver an express of an earlier run. An express
 * that could not be offered in this run (its attempt is still 0) has waited for this,
 * and is reversed.
 */
void oae_offer_sure(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->offer.doubt = false;
	if (!l->attempt)
		offer_too_long(l, now, a);
}

/* The longest payload of a frame for this post, offer and answer, bytes. */
static u32 offer_longest(const struct oae_post *p)
{
	u32 reply = p->kind == OAE_SWAP ? p->len : p->reply;

	if (p->kind == OAE_MESSAGE)
		return p->slice_max < p->len ? p->slice_max : p->len;
	return p->len > reply + OAE_REFLECT_LEN ? p->len :
						  reply + OAE_REFLECT_LEN;
}

/* The shortest slices with which a message needs at most OAE_MAX_SLICES. */
static u32 offer_shortest(u32 len)
{
	u32 least = (len + OAE_MAX_SLICES - 1) / OAE_MAX_SLICES;

	return least > OAE_MIN_SLICE ? least : OAE_MIN_SLICE;
}

/**
 * oae_link_cut() - length of the slices of a transaction (protocol 4.1)
 * @l: the link; without its lock the result is a hint
 * @kind: OAE_MESSAGE, OAE_SWAP or OAE_VERB; only a message is cut
 * @len: its bytes
 *
 * The longest that the ports carry. For a message less if frames of that length do not
 * get through, but not so short that it needs more than OAE_MAX_SLICES.
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_cut(const struct oae_link *l, u8 kind, u32 len)
{
	u16 max = oae_link_slice_max(l), cut = READ_ONCE(l->cut);

	if (!cut || kind != OAE_MESSAGE)
		return max;
	if (cut < offer_shortest(len))
		cut = offer_shortest(len);
	return cut < max ? cut : max;
}

/*
 * Count a fruitless failure in a row, and record when the row began. If a frame of
 * @len bytes may be too long for the path, the count goes on above OAE_HOPELESS, for
 * oae_link_stall().
 */
static void offer_count_fruitless(u8 *row, u64 *since, u32 len, u64 now)
{
	u8 most = OAE_HOPELESS;

	if (len > OAE_MIN_SLICE)
		most += OAE_MAX_BACKOFF;
	if (!*row)
		*since = now;
	if (*row < most)
		++*row;
}

/*
 * Does this row of failures prove that a post that cannot be cut is too big? EMSGSIZE
 * is for good, failures may come every few ms, and a link heals by itself. So a row
 * that lasted for less than the dead time is no proof.
 */
static bool offer_is_hopeless(const struct oae_link *l, u8 row, u64 since, u64 now)
{
	return row >= OAE_HOPELESS && now - since >= l->cfg->dead;
}

/*
 * SYNCs are answered, but the offer is not: cut smaller (protocol 4.1). A post that
 * cannot be cut may be marked hopeless; oae_link_resliced() then reverses it. True: the
 * offer will be cut anew.
 */
static bool offer_cut_smaller(struct oae_link *l, u64 now, struct oae_actions *a)
{
	static const u16 usual[] = { 1500, 1400, 1280, 576, 256, OAE_MIN_MTU };
	const struct oae_post *p = &l->offer.p;
	u32 is = offer_longest(p), least = offer_shortest(p->len), i = 0;

	if (is <= OAE_MIN_SLICE)
		return false;
	if (p->kind == OAE_MESSAGE && is > least) {
		while (usual[i] >= is + OAE_HDR_LEN)
			i++;
		l->cut = usual[i] - OAE_HDR_LEN;
		if (l->cut < least)
			l->cut = least;
		l->fruitless = 0;
	} else if (offer_is_hopeless(l, l->fruitless, l->fruitless_at, now) &&
		   !l->offer.hopeless) {
		l->offer.hopeless = true;
	} else {
		return false;
	}
	l->cut_at = now;
	oae_note(a, OAE_N_CUT);
	return true;
}

/**
 * oae_stalled() - record a stall, and cut smaller if stalls are fruitless
 * @l: the link, still OPEN, about to freeze
 * @now: ns
 * @a: actions
 *
 * If stalls go on although SYNCs are answered, long frames do not get through
 * (protocol 4.1).
 */
void oae_stalled(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->offer.state == OAE_OFFER_OUT) {
		l->waited = now - l->offer.at;
		/* The time that longer slices had does not count any more. */
		if (l->fruitless >= OAE_FRUITLESS && offer_cut_smaller(l, now, a))
			l->waited = 0;
	}
	if (l->half.state == OAE_HALF_LENT) {
		l->waited_held = now - l->hold.at;
		/* The half in the REFLECT is too long, not the peer's half. */
		if (offer_is_hopeless(l, l->half.fruitless, l->half.fruitless_at,
				      now) &&
		    l->half.p.len + OAE_REFLECT_LEN > OAE_MIN_SLICE &&
		    !l->half.cancelled) {
			l->half.cancelled = OAE_E_TOO_BIG;
			oae_note(a, OAE_N_CUT);
		}
	}
}

/**
 * oae_answered() - count a fruitless failure, when the link resolves (protocol 4.1)
 * @l: the link
 * @now: ns
 * @in: what was held was committed
 * @out: what was offered was taken
 *
 * If the SYNC was answered in less time than the offer, or the hold, had before, its
 * frames may be too long for the path. Such a failure does not make the stall time
 * longer. What the peer holds has got through, and only the answer is lost. That says
 * nothing of the offer, unless it is a verb, whose answer is its own.
 */
void oae_answered(struct oae_link *l, u64 now, bool in, bool out)
{
	u64 took = now - l->sync_at;
	bool offered = !out && l->waited && took <= l->waited;
	bool held = !in && l->waited_held && took <= l->waited_held;
	bool through = l->heard.held && l->offer.p.kind != OAE_VERB;

	if (offered && !through)
		offer_count_fruitless(&l->fruitless, &l->fruitless_at,
				      offer_longest(&l->offer.p), now);
	if (held)
		offer_count_fruitless(&l->half.fruitless, &l->half.fruitless_at,
				      l->half.p.len + OAE_REFLECT_LEN, now);
	if ((offered || held) && l->backoff > 2)
		l->backoff--;
	l->waited = 0;
	l->waited_held = 0;
}

/**
 * oae_offer_uncut() - forget which frames are too long: the path may have changed
 * @l: the link
 */
void oae_offer_uncut(struct oae_link *l)
{
	l->cut = 0;
	l->fruitless = 0;
	l->offer.hopeless = false;
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
	if (l->offer.state != OAE_OFFER_SLICING ||
	    l->offer.p.handle != p->handle)
		return;
	now = oae_now(l, now);
	if (!p->nslices || (p->kind != OAE_MESSAGE && p->nslices > 1)) {
		if (l->offer.doubt) {
			/* An express in doubt: oae_offer_sure() reverses it. */
			l->offer.state = OAE_OFFER_OUT;
			/* Its slices are gone: force cutting anew. */
			l->offer.p.slice_max = 0xffff;
			l->offer.at = now;
		} else {
			offer_too_long(l, now, a);
		}
	} else {
		/* Slices that the peer has kept do not fit the new ones: no RESUME. */
		l->clean = false;
		l->offer.p = *p;
		/* The run has ended meanwhile: resolving offers the post. */
		if (l->state != OAE_OPEN)
			l->offer.state = OAE_OFFER_PARKED;
		else if (offer_next_attempt(l, now, a))
			offer_out(l, oae_slice_mask(p->nslices), 0, now, a);
	}
	/* The timer was armed before the offer went out. */
	oae_finish(l, now, a);
}

/**
 * oae_offer_drop() - end the transaction offered
 * @l: the link
 * @outcome: its outcome
 * @err: why it is not committed, positive errno; 0 if it is
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
 * oae_offer_withdraw() - take back the offer of a half: it is POSTED again
 * @l: the link; a half is offered
 */
void oae_offer_withdraw(struct oae_link *l)
{
	l->half.state = OAE_HALF_POSTED;
	l->offer.state = OAE_OFFER_NONE;
	l->clean = false;
}

/**
 * oae_offer_drop_next() - reverse the post that waits behind the offer, if any
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
 * oae_offer_drop_aside() - reverse the post that stepped aside for a half, if any
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
 * oae_offer_committed() - commit the transaction offered, and advance tx
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_offer_committed(struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool express = l->offer.p.flags & OAE_POST_EXPRESS;

	oae_offer_drop(l, OAE_COMMITTED, 0, a);
	l->tx++;
	l->attempt = 0;
	l->clean = true;
	l->backoff = 0;
	l->confirmed = express;
	l->await_done = !express && ((l->offer.p.flags & OAE_POST_CONFIRM) ||
				     oae_takes_nothing(l) || l->peer_closing);
	l->done_at = now;
	if (express && (l->offer.p.flags & OAE_POST_CONFIRM))
		oae_op(a, OAE_OP_CONFIRMED);
}

/**
 * oae_offer_delivered() - record that the peer has delivered tx
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
 * oae_send_commit() - send COMMIT, since no OFFER carries the commit
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
 * oae_link_confirm() - ask the peer to confirm the delivery of tx
 * @l: the link
 * @now: ns
 * @a: actions; OAE_OP_CONFIRMED comes with this event or a later one, unless
 *	link.confirmed is set already
 */
void oae_link_confirm(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED || l->confirmed || l->await_done)
		return;
	now = oae_now(l, now);
	l->await_done = true;
	l->done_at = now;
	/* The answer to an offer in flight confirms it, too; so does resolving. */
	if (l->state == OAE_OPEN && l->offer.state != OAE_OFFER_OUT)
		oae_send_commit(l, a);
	oae_finish(l, now, a);
}

/* Is this frame an answer to the offer in flight? */
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

/* Does the REFLECT match the offer, and does a verb's answer have its length? */
static bool offer_reflects(const struct oae_post *p, const struct oae_frame *f)
{
	u32 reply = f->length - OAE_REFLECT_LEN;

	return f->kind == p->kind && f->reflect.digest == p->digest &&
	       f->reflect.first == p->first &&
	       (p->kind != OAE_VERB || reply == p->reply);
}

/**
 * oae_rcv_reflect() - handle REFLECT: commit if it matches (protocol 4.1, step 3)
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
	if (!offer_reflects(&l->offer.p, f)) {
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

/* The error for a transaction that was refused for good. */
static int offer_refused_err(u16 reason)
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

/*
 * A GAP that names all slices but LAST, which may be shorter, is fruitless: after a
 * row of them, slices of that length do not get through (protocol 4.1). True: do not
 * answer the GAP. Either the link froze, to cut anew; or the row is no proof yet, and
 * the stall time ends the attempt.
 */
static bool offer_gap_is_fruitless(struct oae_link *l, u64 missing, u64 now,
				   struct oae_actions *a)
{
	if ((missing & l->offer.unseen) != l->offer.unseen) {
		l->fruitless = 0;
		return false;
	}
	/* Only LAST was sent: the GAP proves nothing. */
	if (!l->offer.unseen)
		return false;
	offer_count_fruitless(&l->fruitless, &l->fruitless_at, offer_longest(&l->offer.p),
			      now);
	if (l->fruitless < OAE_FRUITLESS)
		return false;
	if (offer_longest(&l->offer.p) <= offer_shortest(l->offer.p.len) &&
	    !offer_is_hopeless(l, l->fruitless, l->fruitless_at, now))
		return l->fruitless >= OAE_HOPELESS;
	oae_freeze(l, OAE_N_STALL, now, a);
	return true;
}

/**
 * oae_rcv_refuse() - handle REFUSE (protocol 4.1, step 2)
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
	if (f->reason != OAE_R_GAP)
		l->fruitless = 0;

	switch (f->reason) {
	case OAE_R_GAP:
		missing = f->gap_map & oae_slice_mask(l->offer.p.nslices);
		oae_note(a, OAE_N_GAP_HEARD);
		if (!missing || offer_gap_is_fruitless(l, missing, now, a) ||
		    !offer_next_attempt(l, now, a))
			return;
		/* LAST goes with them: it makes the peer answer. */
		missing |= 1ULL << (l->offer.p.nslices - 1);
		/* Only a message may have RESUME, whatever a hostile peer says. */
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
		/* READY has overtaken the refusal: no other will follow. */
		if (l->offer.ready) {
			oae_offer_again(l, now, a);
			return;
		}
		oae_offer_pump(l, now, a);
		return;
	default:
		oae_note(a, OAE_N_REJECTED);
		oae_offer_drop(l, OAE_REVERSED, offer_refused_err(f->reason), a);
		oae_offer_pump(l, now, a);
	}
}
