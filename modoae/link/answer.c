// SPDX-License-Identifier: GPL-2.0
/*
 * The answers to an offer (doc/protocol.md sections 4.1 and 4.11): it is reflected and
 * committed, in order, or refused. Pure, see link.h.
 */
#include "link_int.h"

#define ANSWER_PARKED	8	/* probe timeouts until a READY is taken to be lost */

/* An express was recalled, and the peer says that it was not delivered. */
static void answer_recalled(struct oae_link *l, const struct oae_lane *n, struct oae_actions *a)
{
	if (n->recalled == OAE_RECALL_BACK)
		oae_offer_back(l, n->p.handle, a);
	else
		oae_complete(a, n->p.handle, OAE_REVERSED, n->recalled);
}

/* Commit the transaction of tx + 1. */
static void answer_committed(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);
	bool express = oae_post_express(&n->p);
	bool confirm = n->p.kind != OAE_VOID && n->p.flags & OAE_POST_CONFIRM;

	if (n->recalled)
		answer_recalled(l, n, a);
	else if (n->p.kind != OAE_VOID)
		oae_complete(a, n->p.handle, OAE_COMMITTED, 0);
	if (n->p.kind == OAE_SWAP)
		l->half.state = OAE_HALF_NONE;
	oae_lane_not_due(l, n);
	n->state = OAE_OFFER_NONE;
	n->doubt = false;
	l->tx++;
	l->nlanes--;
	if (l->given)
		l->given--;
	l->backoff = 0;
	l->mtu.longs = 0;
	l->mtu.too_long_at = 0;
	l->park_iv = 0;
	l->timer.moved_at = now;
	if (express) {
		oae_credit_confirmed(l, l->tx);
		l->peer.rx = l->tx;
		/* With it all before it is delivered. */
		if (confirm || l->await_done)
			oae_op(a, OAE_OP_CONFIRMED)->seq = l->tx;
		l->await_done = false;
	} else if (confirm || l->settle_until || oae_link_closing(l)) {
		oae_await_done(l, now);
	}
}

/**
 * oae_offer_was_express() - commit the express of tx + 1, since the peer has delivered it
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * Perhaps nothing was offered in its place, too late.
 */
void oae_offer_was_express(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);

	n->recalled = 0;
	oae_lane_unpark(l, n);
	n->p.kind = OAE_MESSAGE;
	n->p.flags |= OAE_POST_EXPRESS;
	answer_committed(l, now, a);
}

/**
 * oae_offer_delivered() - record what the peer has delivered
 * @l: the link
 * @seq: the last number that it has, not before the last one known
 * @a: actions
 */
void oae_offer_delivered(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	oae_credit_confirmed(l, seq);
	l->peer.rx = seq;
	if (l->await_done && oae_dist(l->done_seq, seq) >= 0) {
		l->await_done = false;
		oae_op(a, OAE_OP_CONFIRMED)->seq = l->done_seq;
	}
}

/**
 * oae_offer_done() - DONE is not waited for any more, if it says that much
 * @l: the link
 * @seq: the last number that the peer has delivered; that is recorded already
 *
 * A blocked link waits for DONE though all is known to be delivered (protocol 4.11).
 */
void oae_offer_done(struct oae_link *l, u32 seq)
{
	if (oae_dist(l->done_seq, seq) >= 0)
		l->await_done = false;
}

/**
 * oae_offer_confirm() - want to know that tx is delivered
 * @l: the link, not CLOSED
 * @now: ns
 */
void oae_offer_confirm(struct oae_link *l, u64 now)
{
	if (l->await_done && l->done_seq == l->tx)
		return;
	oae_await_done(l, now);
	/* The answer to an offer in flight confirms it, too; so does resolving. */
	l->say_commit = oae_first_lane(l)->state != OAE_OFFER_OUT;
}

/**
 * oae_link_confirm() - ask the peer to confirm the delivery of tx
 * @l: the link
 * @now: ns
 * @a: actions; OAE_OP_CONFIRMED comes with this event or a later one, unless
 *	oae_link_all_confirmed() is true already
 */
void oae_link_confirm(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED)
		return;
	now = oae_now(l, now);
	oae_offer_confirm(l, now);
	oae_finish(l, now, a);
}

/*
 * The lane of the offer in flight that this frame answers; NULL: there is none. What was refused
 * may be held after all, by a late copy.
 */
static struct oae_lane *answer_lane(struct oae_link *l, const struct oae_frame *f, u64 now,
				    struct oae_actions *a)
{
	u32 i = f->seq - l->tx - 1;
	struct oae_lane *n = oae_lane(l, f->seq);

	if (i >= l->given ||
	    (n->state != OAE_OFFER_OUT &&
	     !(n->state == OAE_OFFER_PARKED && f->opcode == OAE_REFLECT))) {
		oae_note(a, OAE_N_OLD_SEQ);
		return NULL;
	}
	if (f->kind != n->p.kind) {
		oae_note(a, OAE_N_OLD_CONTENT);
		return NULL;
	}
	/* If it does not say what DONE would, that is waited for from now on. */
	l->done_at = now;
	return n;
}

/* Slices of a number in flight are lost: send them again. @guess: they may have been overtaken. */
static void answer_lost(struct oae_link *l, struct oae_lane *n, u64 slices, u32 pn, bool guess,
			struct oae_actions *a)
{
	n->rest |= slices;
	n->lost |= guess;
	oae_lane_due(l, n, OAE_DUE_REST);
	oae_cong_lost(l, pn, guess);
	oae_note(a, OAE_N_REPAIRED);
}

/*
 * The peer has heard numbers behind the last one about a lane, and has not answered that. Either
 * the frame is lost, and is sent again; or the answer is, and is asked for. A few numbers are
 * waited for, since frames overtake each other. A verb cannot be answered before what is below it
 * is.
 */
static void answer_passed(struct oae_link *l, const struct oae_frame *f, struct oae_actions *a)
{
	s32 enough = oae_cong_passed(l);
	u32 seq, last = l->tx + l->given;
	struct oae_lane *n;

	for (seq = l->tx; seq != last;) {
		n = oae_lane(l, ++seq);
		if (n->state != OAE_OFFER_OUT || n->due ||
		    (seq == f->seq && f->opcode == OAE_REFUSE) ||
		    oae_dist(oae_lane_pn(n), f->ack) < enough ||
		    (oae_kind_is(n->p.kind, OAE_T_RESTS) && oae_dist(seq, f->seq) < 0))
			continue;
		if (n->asked || oae_number_heard(f, n->pn)) {
			oae_lane_due(l, n, OAE_DUE_ASK);
			continue;
		}
		answer_lost(l, n, oae_slice_highest(n->sent), n->pn, true, a);
	}
}

/**
 * oae_lane_overtaken() - does a frame show that what is sent again had not been lost?
 * @n: a lane in flight
 * @f: an answer about it
 *
 * Return: true if it is reflected, and nothing of the repeat has been heard.
 */
bool oae_lane_overtaken(const struct oae_lane *n, const struct oae_frame *f)
{
	if (f->opcode != OAE_REFLECT)
		return false;
	return n->lost ||
	       (n->repeated && !oae_number_heard(f, n->pn - hweight64(n->sent) + 1));
}

/* Was what was sent again lost? If not the window is what it was. */
static void answer_undo(struct oae_link *l, const struct oae_lane *n, const struct oae_frame *f)
{
	if (oae_lane_overtaken(n, f))
		oae_cong_overtaken(l);
	else if (n->repeated)
		l->cong.undo = 0;
}

/*
 * Does a REFLECT say that the express was delivered that nothing was offered in place of? That rx
 * is not beyond what is offered oae_run_progress() has seen.
 */
static bool answer_tells_express(const struct oae_link *l, const struct oae_frame *f)
{
	return oae_first_lane(l)->recalled && f->rx == l->tx + 1;
}

/* Does the REFLECT match the offer, and does a verb's answer have its length? */
static bool answer_reflects(const struct oae_post *p, const struct oae_frame *f)
{
	u32 reply = f->length - OAE_REFLECT_LEN;

	return f->reflect.digest == p->digest && f->reflect.first == p->first &&
	       (p->kind != OAE_VERB || reply == p->reply);
}

/*
 * The round trip of a number's last OFFER, if that was answered at once (protocol 4.16). If ASK
 * was, it took as long as since the last one, or longer: a guess, as long as nothing was measured.
 */
static void answer_took(struct oae_link *l, const struct oae_lane *n,
			const struct oae_frame *f, u64 now)
{
	if (!(f->marks & OAE_M_NOW))
		return;
	if ((u32)(n->pn - f->ack) < hweight64(n->sent))
		oae_rtt_sample(l, now - n->at);
	else if (n->asked && (!l->rtt.srtt || l->rtt.guessed) && oae_dist(n->pn, f->ack) > 0)
		oae_rtt_guess(l, now - l->timer.ask_at);
}

/* It is not what was offered. Of an express that was delivered nothing else is known. */
static void answer_mismatch(struct oae_link *l, const struct oae_lane *n, u64 now,
			    struct oae_actions *a)
{
	if (oae_post_express(&n->p)) {
		oae_note(a, OAE_N_MISMATCH);
		oae_broken(l, now, a);
		return;
	}
	oae_freeze(l, OAE_N_MISMATCH, now, a);
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
	struct oae_lane *n;
	u32 tx = l->tx;

	if (answer_tells_express(l, f)) {
		oae_offer_was_express(l, now, a);
		oae_credit_heard(l, f);
		return;
	}
	n = answer_lane(l, f, now, a);
	if (!n) {
		/* The peer holds what is committed here, and has not heard of that. */
		if (oae_dist(f->seq, l->tx) >= 0 && oae_dist(f->rx, f->seq) > 0)
			l->say_commit = true;
		return;
	}
	/* Of a commit the peer might not hear; of an express it need not. */
	if (l->leaving && !oae_post_express(&n->p)) {
		oae_note(a, OAE_N_FROZEN);
		return;
	}
	/*
	 * A number is held within a window above what is delivered. So no more than a
	 * window is ever committed and not confirmed, whatever a peer says.
	 */
	if (f->seq - f->rx > l->win) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return;
	}
	if (!answer_reflects(&n->p, f)) {
		answer_mismatch(l, n, now, a);
		return;
	}

	answer_took(l, n, f, now);
	answer_undo(l, n, f);
	if (oae_kind_is(n->p.kind, OAE_T_ANSWER))
		oae_op(a, OAE_OP_RESULT)->handle = n->p.handle;
	oae_lane_unpark(l, n);
	n->state = OAE_OFFER_REFLECTED;
	oae_lane_not_due(l, n);
	if (n->p.kind == OAE_VOID && l->nvoid)
		l->nvoid--;
	answer_passed(l, f, a);
	if (n->p.kind == OAE_VOID)
		oae_credit_void(l, f->seq);
	/* In order: what is above the first gap waits. */
	while (l->given && oae_first_lane(l)->state == OAE_OFFER_REFLECTED)
		answer_committed(l, now, a);
	/* Of an express, that it is delivered is known only now. */
	oae_credit_heard(l, f);
	l->say_commit = l->tx != tx;
}

/* The error for a transaction that was refused for good. */
static int answer_refused_err(u16 reason)
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

/* Does the peer miss less than when it last said so? Then something has got through. */
static bool answer_gap_shrinks(struct oae_lane *n, u64 missing)
{
	u8 before = n->lacks;

	n->lacks = hweight64(missing);
	return n->lacks < before;
}

static u32 answer_last_len(const struct oae_post *p)
{
	return p->len - (p->nslices - 1) * p->slice_max;
}

/*
 * Has something of tx + 1 come through? LAST may be shorter than the others: if it alone has, it
 * says nothing of their length, and nothing was learned if it was sent alone.
 */
static void answer_progress(struct oae_link *l, struct oae_lane *n, u64 missing, u64 now,
			    struct oae_actions *a)
{
	u64 sent = n->sent & ~(1ULL << (n->p.nslices - 1)), lost = missing & n->sent;

	if (answer_last_len(&n->p) <= OAE_MIN_SLICE)
		lost &= sent;
	if (answer_gap_shrinks(n, missing) || (missing & sent) != sent) {
		l->mtu.longs = 0;
		l->timer.grown_at = now;
		l->mtu.too_long_at = 0;
	} else if (lost) {
		oae_mtu_lost(l, &n->p, hweight64(lost), a);
	}
}

/*
 * Which slices that were sent would have been heard before @f was sent? Those of the last OFFER
 * have one number after the other, and all others are older. @passed: so many numbers are waited
 * for.
 */
static u64 answer_looks_past(const struct oae_lane *n, const struct oae_frame *f, s32 passed)
{
	s32 k = oae_dist(n->pn, f->ack) + hweight64(n->sent) - passed;
	u64 in_flight = n->sent;

	if (k < 0)
		return 0;
	for (; k && in_flight; k--)
		in_flight &= in_flight - 1;
	return ~(in_flight | n->rest);
}

/* The peer misses slices. Of what was sent, and would have been heard, they are lost. */
static void answer_send_rest(struct oae_link *l, struct oae_lane *n, const struct oae_frame *f,
			     u64 have, u64 now, struct oae_actions *a)
{
	u64 all = oae_slice_mask(n->p.nslices), missing = all & ~have, lost;
	bool certain = n->asked && oae_number_heard(f, n->asked);

	oae_note(a, OAE_N_GAP_HEARD);
	if (f->seq == l->tx + 1 && oae_dist(n->pn, f->ack) >= 0)
		answer_progress(l, n, missing, now, a);
	n->rest &= ~have;
	/* Nothing of this run is there; perhaps what an earlier one has left is. */
	if (!have)
		missing = n->sent & all ?: all;
	if (certain)
		lost = ~n->rest;
	else
		lost = answer_looks_past(n, f, l->number.reorder ? oae_cong_passed(l) : 0);
	lost &= missing;
	if (lost)
		answer_lost(l, n, lost, n->pn, !certain, a);
	else if (n->rest)
		oae_lane_due(l, n, OAE_DUE_REST);
	else if (!n->asked && oae_dist(n->pn, f->ack) >= 0)
		/* Too few numbers are behind it: the answer to another one tells. */
		oae_lane_due(l, n, OAE_DUE_ASK);
	else
		oae_lane_not_due(l, n);
}

/*
 * READY may be lost: what is parked is offered again. Soon, since the reader may have made
 * room long ago; then later and later, since it may be slow.
 */
static void answer_park_until(struct oae_link *l, u64 now)
{
	u64 most = l->cfg->keepalive;

	if (!l->park_iv)
		l->park_iv = ANSWER_PARKED * oae_first_again(l);
	if (l->park_iv > most)
		l->park_iv = most;
	l->park_at = now + l->park_iv;
}

/* Parked contents are to be offered again. */
static void answer_unpark(struct oae_link *l, struct oae_lane *n)
{
	oae_lane_unpark(l, n);
	/* An express is in flight all the time, and so in doubt. */
	n->state = oae_lane_reversible(n) ? OAE_OFFER_QUEUED : OAE_OFFER_OUT;
	oae_lane_due(l, n, OAE_DUE_ALL);
}

/* The words of a lane are reserved, or the peer settles. */
static void answer_park(struct oae_link *l, struct oae_lane *n, const struct oae_frame *f,
			u64 now, struct oae_actions *a)
{
	if (n->refused != f->reason && f->seq == l->tx + 1)
		l->waits_at = now;
	n->refused = f->reason;
	oae_lane_not_due(l, n);
	n->state = OAE_OFFER_PARKED;
	if (!l->nparked++)
		answer_park_until(l, now);
	oae_note(a, OAE_N_PARKED);
	/* READY has overtaken the refusal: no other will follow. */
	if (n->ready)
		answer_unpark(l, n);
}

/* A refusal ends its offer, or parks it. */
static void answer_refused(struct oae_link *l, struct oae_lane *n, const struct oae_frame *f,
			   u64 now, struct oae_actions *a)
{
	switch (f->reason) {
	case OAE_R_BUSY:
		answer_park(l, n, f, now, a);
		return;
	case OAE_R_NO_HALF:
		if (n->p.kind == OAE_SWAP) {
			oae_half_refused(l, now, a);
			return;
		}
		fallthrough;
	case OAE_R_CONFLICT:
		if (!oae_post_several(&n->p)) {
			answer_park(l, n, f, now, a);
			return;
		}
		/* They would wait for all their words at once, and others take them one by one. */
		oae_offer_hand_back(l, f->seq, true, a);
		return;
	default:
		if (n->p.kind == OAE_VOID) {
			/* No honest peer refuses nothing. */
			oae_note(a, OAE_N_OLD_CONTENT);
			return;
		}
		oae_note(a, OAE_N_REJECTED);
		if (oae_post_several(&n->p))
			oae_offer_hand_back(l, f->seq, true, a);
		else
			oae_offer_drop(l, f->seq, OAE_REVERSED,
				       answer_refused_err(f->reason), a);
	}
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
	struct oae_lane *n = answer_lane(l, f, now, a);

	if (!n)
		return;
	if (oae_is_for_now(f->reason) && oae_dist(n->pn, f->ack) < 0) {
		oae_note(a, OAE_N_OLD_CONTENT);
		return;
	}
	answer_passed(l, f, a);
	if (oae_is_for_now(f->reason) && !oae_number_heard(f, n->pn)) {
		/* It stands refused since before, and what was offered since is lost. */
		answer_send_rest(l, n, f, 0, now, a);
		return;
	}
	if (f->seq == l->tx + 1)
		l->mtu.longs = 0;
	answer_refused(l, n, f, now, a);
	/*
	 * It ends what was in flight. Did it say what DONE would (protocol 4.4)? That is not asked
	 * for while an offer is in flight, and a refusal of before the commit does not say it.
	 */
	l->say_commit = l->await_done && oae_first_lane(l)->state != OAE_OFFER_OUT;
}

/* All of a verb is there, and it waits for what is below it: as if it were asked for now. */
static void answer_waits(struct oae_link *l, struct oae_lane *n)
{
	oae_lane_not_due(l, n);
	n->asked = (u32)l->number.sent;
}

/**
 * oae_rcv_ack() - handle ACK: what the peer has of a number (protocol 4.1, step 2)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_ack(struct oae_link *l, const struct oae_frame *f, u64 now,
		 struct oae_actions *a)
{
	struct oae_lane *n = answer_lane(l, f, now, a);

	if (!n)
		return;
	answer_took(l, n, f, now);
	answer_passed(l, f, a);
	if (oae_slice_mask(n->p.nslices) & ~f->have)
		answer_send_rest(l, n, f, f->have, now, a);
	else
		answer_waits(l, n);
}

/**
 * oae_offer_ready() - handle READY: words are free, or more is granted (protocol 4.1)
 * @l: the link, OPEN; the frame is of this run
 *
 * READY may overtake the refusal that it is for.
 */
void oae_offer_ready(struct oae_link *l)
{
	u32 at, last = l->tx + l->given;
	struct oae_lane *n;

	for (at = l->tx; at != last;) {
		n = oae_lane(l, ++at);
		if (n->state == OAE_OFFER_OUT)
			n->ready = true;
		else if (n->state == OAE_OFFER_PARKED)
			answer_unpark(l, n);
	}
	l->park_iv = 0;
	l->credit.said_blocked = false;
}

/**
 * oae_offer_blocked() - say that what is next is not granted, if nothing else is under way
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * Transactions under way have answers, which say what is granted.
 */
void oae_offer_blocked(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->credit.blocked) {
		if (l->credit.said_blocked)
			l->park_iv = 0;
		l->credit.said_blocked = false;
		oae_offer_done(l, l->peer.rx);
		return;
	}
	if (l->credit.said_blocked || l->given || l->state != OAE_OPEN)
		return;
	l->credit.said_blocked = true;
	/* That it is said again changes nothing. */
	if (!l->park_iv)
		l->waits_at = now;
	oae_await_done(l, now);
	answer_park_until(l, now);
	oae_send_commit(l, false, a);
}

/**
 * oae_offer_unpark() - offer the lowest parked transaction, or say BLOCKED: READY may be lost
 * @l: the link, OPEN; something is parked, or not granted
 * @now: ns
 */
void oae_offer_unpark(struct oae_link *l, u64 now)
{
	u32 seq;

	l->park_iv *= 2;
	answer_park_until(l, now);
	if (oae_lane_parked(l, &seq))
		answer_unpark(l, oae_lane(l, seq));
	else
		l->credit.said_blocked = false;
}
