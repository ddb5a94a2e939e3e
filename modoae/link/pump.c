// SPDX-License-Identifier: GPL-2.0
/*
 * What the initiator offers next (doc/protocol.md sections 4.1, 4.9 and 4.11): what is
 * due again, then what waits, as far as the window allows. A half and an express go out
 * alone. Pure, see link.h.
 */
#include "link_int.h"

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
	if (l->nvoid && l->next.kind == OAE_VERB)
		return false;
	l->blocked = blocked;
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
		n->again = true;
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
	return p->len > l->peer_max_len || !oae_mtu_fits(l, p);
}

/* Is what is next too long for the path, and may it be carried soon? */
static bool pump_too_long(struct oae_link *l, const struct oae_lane *n, u64 now)
{
	return oae_lane_reversible(n) && n->p.len <= l->peer_max_len &&
	       !oae_mtu_fits(l, &n->p) && oae_mtu_waits(l, &n->p, now);
}

/*
 * Offer what has a number for the first time in this run. False: the link waits, for
 * new slices or since it froze.
 */
static bool pump_give(struct oae_link *l, bool fresh, u64 now,
		      struct oae_actions *a)
{
	u32 seq = l->tx + l->given + 1;
	struct oae_lane *n = oae_lane(l, seq);
	bool dropped;

	/* It is about to be cut: what is carried may have changed once more since it was asked. */
	if (n->state == OAE_OFFER_SLICING)
		return false;
	l->too_long = pump_too_long(l, n, now);
	if (l->too_long)
		return false;
	if (fresh) {
		if (pump_too_big(l, &n->p)) {
			oae_offer_drop(l, seq, OAE_REVERSED, OAE_E_TOO_BIG, a);
			return true;
		}
		oae_offer_number(l, seq, now, a);
		return l->state == OAE_OPEN && n->state == OAE_OFFER_OUT;
	}
	dropped = !oae_mtu_fits(l, &n->p);
	oae_offer_again(l, seq, now, a);
	return l->state == OAE_OPEN && (dropped || n->state == OAE_OFFER_OUT);
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
	       oae_lane(l, l->tx + l->given + 1)->p.kind == OAE_VERB;
}

/* Is what has a lane, and would be given its number, not granted? */
static bool pump_blocked(struct oae_link *l)
{
	l->blocked = l->nlanes > l->given &&
		     !oae_credit_may(l, &oae_lane(l, l->tx + l->given + 1)->p);
	return l->blocked;
}

/* May another number be given? Not beyond the window, nor past what is parked. */
static bool pump_may_give(struct oae_link *l)
{
	return l->given < oae_window_limit(l) && !l->nparked && oae_cong_may(l) &&
	       !pump_barrier_out(l) && !pump_verb_waits(l) &&
	       !(l->settle_until && l->nlanes > l->given) && !pump_blocked(l);
}

static void pump(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->more = false;
	l->blocked = false;
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
	bool was = l->too_long;

	if (l->state == OAE_OPEN)
		l->too_long = false;
	pump(l, now, a);
	a->told = NULL;
	if (l->blocked || l->said_blocked || l->await_done)
		oae_offer_blocked(l, now, a);
	if (l->say_commit && l->state == OAE_OPEN && a->nsends == nsends &&
	    !oae_link_all_confirmed(l))
		oae_send_commit(l, a);
	l->say_commit = false;
	if (l->too_long && !was)
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
	oae_hold_compute(l, a);
	oae_finish(l, now, a);
}
