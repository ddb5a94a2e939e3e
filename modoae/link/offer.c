// SPDX-License-Identifier: GPL-2.0
/*
 * The offers of the initiator (doc/protocol.md sections 4.1, 4.9 and 4.11): what is due again, then
 * what waits, as far as window and credit allow. A half and an express go out alone. answer.c says
 * what becomes of it, mtu.c how long its slices are. Pure, see link.h.
 */
#include "link_int.h"

/*
 * Send slices of the content of a number: its lane is OUT then. As many are sent as may be under
 * way (4.11), and the last of them asks for an answer. The rest is due.
 */
static void offer_out(struct oae_link *l, u32 seq, u64 slices, u64 now,
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
	n->pn = (u32)l->number.sent;
	l->cong.out = n->pn;
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
	l->timer.ask_at = now;
}

/* All of a content is about to be offered, perhaps not for the first time. */
static void offer_begins(struct oae_link *l, struct oae_lane *n, u64 now)
{
	n->ready = false;
	n->lost = false;
	n->repeated = false;
	if (n == oae_first_lane(l))
		l->timer.grown_at = now;
}

/* The content of a number is too long for a frame, or for 64: EMSGSIZE. */
static void offer_too_long(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);

	if (!n->doubt) {
		oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
		return;
	}
	/* An express in doubt: oae_offer_sure() reverses it. */
	n->state = OAE_OFFER_OUT;
	/* Its slices may be gone: force cutting anew. */
	n->p.slice_max = 0xffff;
	n->at = now;
	l->given = 1;
}

/* A content is as it can be carried, cut anew if need be. False: it is too long, which is told. */
static bool offer_cut(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	bool several = n->p.nslices > 1 && !oae_kind_is(n->p.kind, OAE_T_CUT);
	bool fits = oae_mtu_fits(l, &n->p);

	if (fits && (several || n->p.slice_max > oae_link_slice_max(l))) {
		a->cut(a, &n->p, oae_link_cut(l, n->p.kind, n->p.len));
		n->lacks = 0;
		/* What the peer keeps is of other slices. */
		a->told = NULL;
	}
	if (fits && n->p.nslices)
		return true;
	offer_too_long(l, seq, now, a);
	return false;
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

	if (!f || seq != l->tx + 1 || !oae_kind_is(p->kind, OAE_T_CUT) || p->nslices == 1 ||
	    f->sync.kept & ~oae_slice_mask(p->nslices) ||
	    (f->sync.last != OAE_SYNC_NO_LAST && f->sync.last != p->nslices - 1))
		return 0;
	a->post_hashes(a, p, hash);
	return oae_kept_hash(f->sync.kept, hash) == f->sync.hash ? f->sync.kept : 0;
}

/*
 * Offer the content of a number, all of it (protocol 4.1). Slices that the peer keeps of it are not
 * sent, and its frames have RESUME in this run. LAST goes if no slice is missing, or if the peer
 * keeps that slice as one in the midst of a longer content.
 */
static void offer_number(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_lane(l, seq);
	u64 slices, last_slice;

	if (oae_post_several(&n->p) && !oae_mtu_several(l, &n->p)) {
		oae_offer_hand_back(l, seq, false, a);
		return;
	}
	oae_lane_unpark(l, n);
	oae_lane_not_due(l, n);
	if (!offer_cut(l, seq, now, a))
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
	offer_out(l, seq, slices ?: last_slice, now, a);
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
	offer_out(l, seq, n->rest, now, a);
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
		offer_number(l, seq, now, a);
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

/* Is there a half to offer? A link that closes has reversed it. */
static bool pump_half_posted(const struct oae_link *l)
{
	return l->half.state == OAE_HALF_POSTED && !l->settle_until;
}

/* Is an express or a half in flight? It is alone. */
static bool pump_barrier_out(const struct oae_link *l)
{
	const struct oae_lane *n = oae_first_lane(l);

	return l->given && (n->recalled || oae_post_barrier(&n->p));
}

/* Take the next post: the half and the other posts take turns (protocol 4.9). */
static bool pump_take_next(struct oae_link *l)
{
	bool blocked = l->next_valid && !l->naside && !oae_credit_may(l, &l->next);
	struct oae_lane *n;

	if (pump_half_posted(l) &&
	    (l->half.turn || l->naside || !l->next_valid || blocked)) {
		/* It goes out alone. */
		if (l->nlanes)
			return false;
		n = oae_lane_append(l, &l->swaps->half);
		n->again = l->half.again;
		l->half.state = OAE_HALF_OFFERED;
		l->half.crossed = false;
		l->half.again = true;
		l->half.turn = false;
		return true;
	}
	if (!l->next_valid || l->naside || l->settle_until)
		return false;
	if (l->nlanes && oae_post_barrier(&l->next))
		return false;
	if (l->nvoid && oae_kind_is(l->next.kind, OAE_T_RESTS))
		return false;
	l->credit.blocked = blocked;
	if (blocked)
		return false;
	oae_lane_append(l, &l->next);
	l->next_valid = false;
	l->half.turn = true;
	return true;
}

/* A post steps aside, before those that did already. */
static void pump_aside_first(struct oae_link *l, const struct oae_post *p)
{
	unsigned int i;

	for (i = l->naside++; i; i--)
		*oae_aside(l, i) = *oae_aside(l, i - 1);
	*oae_aside(l, 0) = *p;
}

/* The lowest content that waits for words, or for credit. */
static bool pump_waits(const struct oae_link *l, u32 *seq)
{
	if (oae_lane_parked(l, seq))
		return true;
	*seq = l->tx + l->given + 1;
	return l->nlanes > l->given && !oae_credit_may(l, &oae_lane(l, *seq)->p);
}

/* A content that waits steps aside for a half, with all above it (protocol 4.9). */
static void pump_step_aside(struct oae_link *l)
{
	const struct oae_lane *n;
	u32 seq, at;

	if (l->state != OAE_OPEN || !pump_half_posted(l) || !pump_waits(l, &seq))
		return;
	/*
	 * From the top, since what is not given is removed. What stepped aside before
	 * was above.
	 */
	for (at = l->tx + l->nlanes; at != seq - 1; at--) {
		n = oae_lane(l, at);
		if (n->p.kind == OAE_VOID)
			continue;
		if (!oae_lane_reversible(n)) {
			/* Alone. Whether it was delivered is to be known first. */
			oae_lane_recall(l, at, OAE_RECALL_BACK);
			return;
		}
		pump_aside_first(l, &n->p);
		oae_lane_clear(l, at);
	}
}

/* After the half, what stepped aside is offered again, in order. */
static bool pump_step_back(struct oae_link *l)
{
	struct oae_lane *n;
	unsigned int i;

	if (!l->naside || l->nlanes || pump_half_posted(l))
		return false;
	for (i = 0; i < l->naside; i++) {
		n = oae_lane_append(l, oae_aside(l, i));
		/* An express that was offered has not stepped aside: it was recalled. */
		n->again = !oae_post_express(&n->p);
	}
	l->naside = 0;
	return true;
}

/**
 * oae_offer_drop_aside() - reverse a post that stepped aside for a half
 * @l: the link
 * @i: which of them
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop_aside(struct oae_link *l, unsigned int i, int err,
			  struct oae_actions *a)
{
	oae_complete(a, oae_aside(l, i)->handle, OAE_REVERSED, err);
	for (l->naside--; i < l->naside; i++)
		*oae_aside(l, i) = *oae_aside(l, i + 1);
}

/* Is a post longer than the peer takes, or than a frame? One of several is dissolved then. */
static bool pump_too_big(const struct oae_link *l, const struct oae_post *p)
{
	if (oae_post_several(p))
		return false;
	return p->len > l->peer.max_len || !oae_mtu_fits(l, p);
}

/* Is what is next too long for the path, and may it be carried soon? */
static bool pump_too_long(struct oae_link *l, const struct oae_lane *n, u64 now)
{
	return oae_lane_reversible(n) && n->p.len <= l->peer.max_len &&
	       !oae_mtu_fits(l, &n->p) && oae_mtu_waits(l, &n->p, now);
}

/* Offer what has a number for the first time in this run. False: the link waits. */
static bool pump_give(struct oae_link *l, bool fresh, u64 now,
		      struct oae_actions *a)
{
	u32 seq = l->tx + l->given + 1;
	struct oae_lane *n = oae_lane(l, seq);

	l->mtu.too_long = pump_too_long(l, n, now);
	if (l->mtu.too_long)
		return false;
	if (fresh) {
		if (pump_too_big(l, &n->p)) {
			oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
			return true;
		}
		offer_number(l, seq, now, a);
	} else {
		oae_offer_again(l, seq, now, a);
	}
	return l->state == OAE_OPEN;
}

/* Offer again what is due. False: the rest must wait. */
static bool pump_give_due(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u32 seq, last = l->tx + l->given;
	bool parked = false;
	struct oae_lane *n;

	for (seq = l->tx; l->ndue && seq != last;) {
		n = oae_lane(l, ++seq);
		parked |= n->state == OAE_OFFER_PARKED;
		if (!n->due || (parked && n->p.kind != OAE_VOID))
			continue;
		/* READY came while the link settles. */
		if (l->settle_until && n->state == OAE_OFFER_QUEUED && n->p.kind != OAE_VOID)
			continue;
		/* A question has no content. */
		if (n->due != OAE_DUE_ASK && !oae_cong_may(l))
			continue;
		if (a->nsends >= OAE_PUMP_SENDS) {
			l->more = true;
			return false;
		}
		oae_offer_again(l, seq, now, a);
		if (l->state != OAE_OPEN)
			return false;
	}
	return true;
}

/*
 * Does what would be given next wait until all that was reversed is nothing at the peer, too? A
 * verb does: what it would be computed on may be reversed.
 */
static bool pump_verb_waits(const struct oae_link *l)
{
	return l->nvoid && l->nlanes > l->given &&
	       oae_kind_is(oae_lane(l, l->tx + l->given + 1)->p.kind, OAE_T_RESTS);
}

/* Is what has a lane, and would be given its number, not granted? */
static bool pump_blocked(struct oae_link *l)
{
	l->credit.blocked = l->nlanes > l->given &&
		     !oae_credit_may(l, &oae_lane(l, l->tx + l->given + 1)->p);
	return l->credit.blocked;
}

/* May another number be given? Not beyond the window, nor past what is parked. */
static bool pump_may_give(struct oae_link *l)
{
	return l->given < oae_window_limit(l) && !l->nparked && oae_cong_may(l) &&
	       !pump_barrier_out(l) && !pump_verb_waits(l) &&
	       !(l->settle_until && l->nlanes > l->given) && !pump_blocked(l);
}

/* Is nothing offered, or posted? So it is at an end that only receives. */
static bool pump_idle(const struct oae_link *l)
{
	return !l->nlanes && !l->next_valid && !l->naside && l->half.state == OAE_HALF_NONE;
}

static void pump(struct oae_link *l, u64 now, struct oae_actions *a)
{
	pump_step_back(l);
	pump_step_aside(l);
	if (l->state != OAE_OPEN || (l->ndue && !pump_give_due(l, now, a)))
		return;
	do {
		while (l->state == OAE_OPEN && pump_may_give(l)) {
			bool fresh = l->nlanes == l->given;

			if (a->nsends >= OAE_PUMP_SENDS) {
				l->more = true;
				return;
			}
			if (fresh && !pump_take_next(l))
				break;
			if (!pump_give(l, fresh, now, a))
				return;
		}
		/* The half for which a post stepped aside may have been too long. */
	} while (l->state == OAE_OPEN && pump_step_back(l));
	if (!l->pair && l->next_valid && l->given && l->win > 1)
		l->lacking = true;
}

/**
 * oae_offer_pump() - offer what is due, and what waits, as far as the window allows
 * @l: the link, at the end of an event
 * @now: ns
 * @a: actions
 *
 * An event sends a few offers. If there are more, oae_link_more() says so. What is too long for
 * the path in use waits: the timer looks for another path at once. The commit of this event, or
 * what DONE is to confirm, goes with an offer, if there is one.
 */
void oae_offer_pump(struct oae_link *l, u64 now, struct oae_actions *a)
{
	unsigned int nsends = a->nsends;
	bool was = l->mtu.too_long;

	if (l->state == OAE_OPEN)
		l->mtu.too_long = false;
	l->more = false;
	l->credit.blocked = false;
	if (!pump_idle(l))
		pump(l, now, a);
	a->told = NULL;
	if (l->credit.blocked || l->credit.said_blocked || l->await_done)
		oae_offer_blocked(l, now, a);
	if (l->say_commit && l->state == OAE_OPEN && a->nsends == nsends &&
	    !oae_link_all_confirmed(l))
		oae_send_commit(l, false, a);
	l->say_commit = false;
	if (l->mtu.too_long && !was)
		oae_link_wake(l, now + 1, a);
}

/**
 * oae_link_pump() - offer more, or compute more, since an event sends only a few
 * @l: the link; oae_link_more() is true
 * @now: ns
 * @a: actions
 */
void oae_link_pump(struct oae_link *l, u64 now, struct oae_actions *a)
{
	now = oae_now(l, now);
	oae_hold_compute(l, now, a);
	oae_finish(l, now, a);
}

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
 * The caller posts what is left of them again. If the link is closing all are reversed instead, by
 * OAE_OP_COMPLETE.
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
