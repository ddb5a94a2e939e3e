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
	l->offer.unseen = slices & ~(1ULL << (l->offer.p.nslices - 1));
	l->active_at = now;
}

/*
 * False: the attempts of this run are used up, and the link froze. What was not
 * in flight is not: an express may be reversed still.
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

/* True: the slices do not fit, and the caller was asked for better ones. */
static bool offer_wants_slicing(struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool message = l->offer.p.kind == OAE_MESSAGE;
	u16 max = message ? oae_link_cut(l, l->offer.p.len) :
			    oae_link_slice_max(l);

	if (l->offer.hopeless) {
		struct oae_post p = l->offer.p;

		/* Slices that do get through are too many. */
		p.nslices = 0;
		l->offer.state = OAE_OFFER_SLICING;
		oae_link_resliced(l, &p, now, a);
		return true;
	}
	if (l->offer.p.slice_max <= max && (message || l->offer.p.nslices == 1))
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
static bool offer_half_posted(const struct oae_link *l)
{
	return l->half.state == OAE_HALF_POSTED && !oae_takes_nothing(l) &&
	       !l->peer_closing;
}

/* Frames as long as a port carries are tried again. */
static void offer_new_content(struct oae_link *l, u64 now)
{
	l->fruitless = 0;
	l->offer.hopeless = false;
	if (l->cut && now - l->cut_at >= OAE_CUT_NS)
		l->cut = 0;
}

/* The half that is posted, and what else waits, take turns. */
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

/* What is parked lets a half pass. */
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

/* The half is through: what was parked is parked again, or offered. */
static void offer_step_back(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->aside.valid || l->offer.state != OAE_OFFER_NONE)
		return;
	l->offer.p = l->aside.p;
	offer_new_content(l, now);
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
	/* The half for which it stepped aside may have been too long. */
	offer_step_back(l, now, a);
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

	if (l->settle_until && l->offer.state == OAE_OFFER_PARKED) {
		/* Whatever asked for it, READY or a new run, asks once. */
		l->park_at = l->settle_until;
		return;
	}
	if (!oae_fits_frame(l, &l->offer.p)) {
		oae_offer_drop(l, OAE_REVERSED, OAE_E_TOO_BIG, a);
		oae_offer_pump(l, now, a);
		return;
	}
	if (offer_wants_slicing(l, now, a) || !offer_next_attempt(l, now, a))
		return;
	if (resume)
		offer_out(l, 1ULL << (n - 1), OAE_F_RESUME, now, a);
	else
		offer_out(l, oae_slice_mask(n), 0, now, a);
}

/* Cut as it must be now it is too long for this run, and not in flight. */
static void offer_too_long(struct oae_link *l, u64 now, struct oae_actions *a)
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
		offer_too_long(l, now, a);
}

/* The longest frame of an exchange, without its header. */
static u32 offer_longest(const struct oae_post *p)
{
	u32 reply = p->kind == OAE_SWAP ? p->len : p->reply;

	if (p->kind == OAE_MESSAGE)
		return p->slice_max < p->len ? p->slice_max : p->len;
	return p->len > reply + OAE_REFLECT_LEN ? p->len :
						  reply + OAE_REFLECT_LEN;
}

/* The shortest slices of a message that are few enough. */
static u32 offer_shortest(u32 len)
{
	u32 least = (len + OAE_MAX_SLICES - 1) / OAE_MAX_SLICES;

	return least > OAE_MIN_SLICE ? least : OAE_MIN_SLICE;
}

/**
 * oae_link_cut() - how long the slices of a message may be
 * @l: the link; who asks without its lock may hear what was, or will be
 * @len: bytes of the message
 *
 * As long as ports carry, unless such frames do not get through; but in any case
 * as long as 64 of them must be.
 *
 * Return: bytes of payload in one frame.
 */
u16 oae_link_cut(const struct oae_link *l, u32 len)
{
	u16 max = oae_link_slice_max(l), cut = READ_ONCE(l->cut);

	if (!cut)
		return max;
	if (cut < offer_shortest(len))
		cut = offer_shortest(len);
	return cut < max ? cut : max;
}

/*
 * One more fruitless failure in a row, and when the row began. More of them than
 * it takes are counted if so long a frame may be too long: see oae_link_stall().
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
 * Is what cannot be cut smaller too big, after such a row? EMSGSIZE is for good,
 * failures may come every few ms, and a link heals by itself: a short row is no
 * proof.
 */
static bool offer_is_hopeless(const struct oae_link *l, u8 row, u64 since, u64 now)
{
	return row >= OAE_HOPELESS && now - since >= l->cfg->dead;
}

/*
 * SYNCs are answered, what is offered is not: cut smaller. Whether what does not
 * fit then is reversed says oae_link_resliced(). True: it will be cut anew.
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
 * oae_stalled() - the link freezes, for want of progress
 * @l: the link, OPEN still
 * @now: ns
 * @a: actions
 *
 * If that goes on and SYNCs are answered, long frames do not get through.
 */
void oae_stalled(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->offer.state == OAE_OFFER_OUT) {
		l->waited = now - l->offer.at;
		/* How long the longer ones had counts no more. */
		if (l->fruitless >= OAE_FRUITLESS && offer_cut_smaller(l, now, a))
			l->waited = 0;
	}
	if (l->half.state == OAE_HALF_LENT) {
		l->waited_held = now - l->hold.at;
		/* It is what is too long, not the peer's. */
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
 * oae_answered() - the link resolves: was a SYNC faster than all else?
 * @l: the link
 * @now: ns
 * @in: what was held was committed
 * @out: what was offered was taken
 *
 * If it was answered in less time than what was offered, or held, had before,
 * that may be too long for the path; but it need not wait longer next time.
 */
void oae_answered(struct oae_link *l, u64 now, bool in, bool out)
{
	u64 took = now - l->sync_at;
	bool offered = !out && l->waited && took <= l->waited;
	bool held = !in && l->waited_held && took <= l->waited_held;

	if (offered)
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
 * oae_offer_uncut() - the path may be another: nothing is known of it
 * @l: the link
 */
void oae_offer_uncut(struct oae_link *l)
{
	l->cut = 0;
	l->fruitless = 0;
	l->offer.hopeless = false;
}

/**
 * oae_link_resliced() - the answer to OAE_OP_RESLICE
 * @l: the link
 * @p: the post as cut to oae_link_cut(); nslices 0 if that takes more
 *	than OAE_MAX_SLICES
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
			/* Not reversed before oae_offer_sure(). */
			l->offer.state = OAE_OFFER_OUT;
			/* The slices it had are no more: cut anew. */
			l->offer.p.slice_max = 0xffff;
			l->offer.at = now;
		} else {
			offer_too_long(l, now, a);
		}
	} else {
		/* Other slices are another content to a peer that kept some. */
		l->clean = false;
		l->offer.p = *p;
		/* A run that is worn has ended meanwhile: resolving offers it. */
		if (l->state != OAE_OPEN)
			l->offer.state = OAE_OFFER_PARKED;
		else if (offer_next_attempt(l, now, a))
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
				     oae_takes_nothing(l) || l->peer_closing);
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
	if (l->state == OAE_CLOSED || l->confirmed || l->await_done)
		return;
	now = oae_now(l, now);
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
static bool offer_reflects(const struct oae_post *p, const struct oae_frame *f)
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

/* Why a transaction that was refused for good is reversed. */
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
 * Nothing of what was sent has come, but for LAST, which may be short: if that
 * goes on, longer slices do not get through. True: nothing more is sent. The link
 * froze, to be cut anew; or it will, by the stall time, for it is not yet known.
 */
static bool offer_gap_is_fruitless(struct oae_link *l, u64 missing, u64 now,
				   struct oae_actions *a)
{
	if ((missing & l->offer.unseen) != l->offer.unseen) {
		l->fruitless = 0;
		return false;
	}
	/* LAST alone was asked: that says nothing. */
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
	if (f->reason != OAE_R_GAP)
		l->fruitless = 0;

	switch (f->reason) {
	case OAE_R_GAP:
		missing = f->gap_map & oae_slice_mask(l->offer.p.nslices);
		oae_note(a, OAE_N_GAP_HEARD);
		if (!missing || offer_gap_is_fruitless(l, missing, now, a) ||
		    !offer_next_attempt(l, now, a))
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
		oae_offer_drop(l, OAE_REVERSED, offer_refused_err(f->reason), a);
		oae_offer_pump(l, now, a);
	}
}
