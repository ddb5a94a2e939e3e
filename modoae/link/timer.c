// SPDX-License-Identifier: GPL-2.0
/*
 * The link's one timer (doc/protocol.md section 4.4). Pure, see link.h.
 *
 * The timer only detects failures; no exchange of frames waits for it. Its rules:
 *
 *   frozen       SYNC again at again_at; no answer since asked_at for the
 *                dead time: the link is down
 *   in flight    no progress of what is offered, held, or waits for DONE, for
 *                the stall time: freeze; with a window, remind the peer of what
 *                is offered first
 *   parked       offer again at park_at, in case READY was lost
 *   waiting      offer a half that is WAITING again at swaps->again_at
 *   closing      CLOSE again at again_at, unless it waits for what is held
 *   settling     offer and take new transactions again at settle_until
 *   else         nothing heard for the keepalive time: probe; a probe not
 *                answered for the dead time: the link is down
 *
 * oae_now() makes sure that time never goes back between two events, although the
 * clocks of two CPUs may differ. So no difference of times is negative here.
 *
 * The timer is armed lazily: an event never moves it to a later time. When it fires
 * early its handler arms it anew. So an exchange of frames does not touch it.
 */
#include "link_int.h"

#define PEAK_TIMES	16	/* keepalive times */

/*
 * Number of failures that count for the stall time. In a row of fruitless failures
 * only those after OAE_HOPELESS count, as long as the row lasts; and none if there is
 * another path.
 */
static unsigned int timer_failures(const struct oae_link *l)
{
	unsigned int n = l->backoff;

	if (l->others != OAE_OTHERS_NONE)
		return n < OAE_MAX_BACKOFF ? n : OAE_MAX_BACKOFF;
	if (oae_first_lane(l)->state == OAE_OFFER_OUT && l->fruitless > OAE_HOPELESS)
		n += l->fruitless - OAE_HOPELESS;
	if (l->half.state == OAE_HALF_LENT && l->half.fruitless > OAE_HOPELESS)
		n += l->half.fruitless - OAE_HOPELESS;
	return n < OAE_MAX_BACKOFF ? n : OAE_MAX_BACKOFF;
}

/* The stall time @t, at most @max, doubled with each failure that counts. */
static u64 timer_doubled(const struct oae_link *l, u64 t, u64 max)
{
	/* The first failure in a row may be just a lost frame: it does not count. */
	unsigned int n = timer_failures(l), fast = n > 1 ? n - 1 : 0, slow = 0;
	u64 dead = l->cfg->dead;

	if (fast >= OAE_FAST_BACKOFF) {
		slow = (n - OAE_FAST_BACKOFF) / 2;
		fast = OAE_FAST_BACKOFF - 1;
	}
	t <<= fast;
	t = t < max ? t : max;
	/* There is no point in waiting longer than the dead time. */
	dead = t < dead ? dead : t;
	t <<= slow;
	return t < dead ? t : dead;
}

/*
 * The stall time: no progress for so long is a failure. Inline, since every event
 * arms the timer.
 *
 * Derived from the measured round trip, and not less than the longest of late, within the
 * knobs but never less than two round trips, and doubled with each failure since the last
 * progress. After many failures the stall time exceeds the knobs, since the round trip may
 * be longer than any measured (protocol 4.4).
 */
static inline u64 timer_stall(const struct oae_link *l)
{
	u64 max = l->cfg->stall_max, least = 2 * l->srtt;
	u64 t = l->srtt ? l->srtt + 4 * l->rttvar : max / 10;

	if (t < l->cfg->stall_min)
		t = l->cfg->stall_min;
	if (t < oae_peak(&l->longest))
		t = oae_peak(&l->longest);
	if (t < least)
		t = least;
	if (max < least)
		max = least;
	if (l->backoff || l->fruitless || l->half.fruitless)
		return timer_doubled(l, t, max);
	return t < max ? t : max;
}

/**
 * oae_link_stall() - the stall time, see timer_stall()
 * @l: the link
 *
 * Return: ns.
 */
u64 oae_link_stall(const struct oae_link *l)
{
	return timer_stall(l);
}

/**
 * oae_first_again() - interval between the first SYNC, or CLOSE, and the second
 * @l: the link
 *
 * Return: ns: the stall time, at most a quarter of the dead time.
 */
u64 oae_first_again(const struct oae_link *l)
{
	u64 t = oae_link_stall(l);

	return t < l->cfg->dead / 4 ? t : l->cfg->dead / 4;
}

/**
 * oae_link_wait() - do not repeat SYNC before somebody far away can have answered it
 * @l: the link, frozen
 * @wait: how long that may take, ns; no more than a quarter of the dead time counts
 * @now: ns
 */
void oae_link_wait(struct oae_link *l, u64 wait, u64 now)
{
	if (wait > l->cfg->dead / 4)
		wait = l->cfg->dead / 4;
	if (l->again_iv >= wait)
		return;
	l->again_iv = wait;
	l->again_at = now + wait;
}

/*
 * The stall time of an offer; @t is that of one slice. Each further slice adds to
 * it, since the answer comes after the last one. The addition is bounded: the time to
 * send a slice does not grow with the round trip.
 */
static u64 timer_offer_stall(const struct oae_link *l, unsigned int nslices, u64 t)
{
	u64 most = l->cfg->stall_max / 8;

	return t + (t < most ? t : most) * (nslices - 1) / 8;
}

/*
 * When the peer is reminded: after half of the stall time, so that a link with a path that
 * is dead freezes no later than without. A reminder that was not needed costs a frame: it
 * does not wait for many slices.
 */
static u64 timer_remind_after(const struct oae_link *l, u64 stall)
{
	return stall / 2 > 2 * l->srtt ? stall / 2 : 2 * l->srtt;
}

/*
 * Is the offer in flight to be offered once more before the link freezes (protocol
 * 4.11)? Its last frames may be lost, or its answer, and nothing be in flight above it
 * whose answer would show that. So may be the reminder: if many slices take that long,
 * there is another one. What goes out alone is not offered twice without need. A peer that
 * closes would refuse what it holds, though its answer may be late only.
 */
static bool timer_may_remind(const struct oae_link *l, const struct oae_lane *n, u64 stall)
{
	if (l->peer_closing || !oae_link_windowed(l) || oae_post_barrier(&n->p))
		return false;
	return !n->reminded || timer_remind_after(l, stall) << (n->reminded + 1) <=
			       timer_offer_stall(l, n->p.nslices, stall);
}

/*
 * When the offer in flight stalls, unless tx moves or it is offered again. What is
 * above it may be answered meanwhile: that alone is no progress. @n is out.
 */
static u64 timer_offer_at(const struct oae_link *l, const struct oae_lane *n,
			  u64 stall)
{
	u64 since = n->at > l->moved_at ? n->at : l->moved_at;
	u64 early = timer_remind_after(l, stall);
	u64 whole = timer_offer_stall(l, n->p.nslices, stall), spent;

	if (timer_may_remind(l, n, stall))
		return since + (early << n->reminded);
	/* Before the last reminder, which is answered as soon as the offer itself was. */
	spent = (early << n->reminded) - early;
	if (n->reminded && whole < spent + early)
		return since + early;
	return since + whole - spent;
}

/*
 * When what is held stalls. As long as the next number is not held, the peer may be sending
 * it anew, and nobody here knows in how many slices. With a window the peer reminds this
 * end of what it holds if the answer is lost, so that is waited for.
 */
static u64 timer_held_at(const struct oae_link *l, u64 stall)
{
	bool next = oae_first_hold(l)->state == OAE_HOLD_HELD;

	if (next && oae_link_windowed(l))
		return l->held_at + 2 * stall;
	return l->held_at + timer_offer_stall(l, next ? 1 : OAE_MAX_SLICES, stall);
}

/*
 * Is DONE alone waited for? The answer to an offer in flight says as much, and that may have
 * many slices.
 */
static bool timer_awaits_done(const struct oae_link *l)
{
	return l->await_done && oae_first_lane(l)->state != OAE_OFFER_OUT;
}

/**
 * oae_peak_add() - measure once more
 * @p: the greatest of the last PEAK_TIMES to twice as many keepalive times
 * @l: the link
 * @v: what was measured
 */
void oae_peak_add(struct oae_peak *p, const struct oae_link *l, u32 v)
{
	u64 times = PEAK_TIMES * l->cfg->keepalive, age = l->now - p->since;

	if (age >= times) {
		p->of[1] = age < 2 * times ? p->of[0] : 0;
		p->of[0] = 0;
		p->since = l->now;
	}
	if (v > p->of[0])
		p->of[0] = v;
}

static void timer_longest(struct oae_link *l, u64 rtt)
{
	oae_peak_add(&l->longest, l, rtt < ~0U ? rtt : ~0U);
}

/**
 * oae_rtt_sample() - update the smoothed round trip with a measurement
 * @l: the link
 * @rtt: the measured round trip, ns. One above the dead time is ignored, as that of
 *	a clock that jumped.
 */
void oae_rtt_sample(struct oae_link *l, u64 rtt)
{
	u64 err;

	if (rtt > l->cfg->dead)
		return;
	timer_longest(l, rtt);
	if (!l->srtt || l->rtt_guessed) {
		l->srtt = rtt | 1;
		l->rttvar = rtt / 2;
		l->rtt_guessed = false;
		return;
	}
	err = rtt > l->srtt ? rtt - l->srtt : l->srtt - rtt;
	l->rttvar += (err >> 2) - (l->rttvar >> 2);
	l->srtt += (rtt >> 3) - (l->srtt >> 3);
	l->srtt |= 1;
}

/**
 * oae_late_begin() - record what late answers may come, as the run ends, or the peer is
 *	reminded
 * @l: the link, still OPEN
 */
void oae_late_begin(struct oae_link *l)
{
	const struct oae_lane *n = oae_first_lane(l);
	const struct oae_hold *h = oae_first_hold(l);

	l->late.ltag = l->ltag;
	l->late.peer_ltag = l->peer_ltag;
	l->late.hold_at = h->state == OAE_HOLD_HELD ? h->at : 0;
	l->late.tx = l->tx;
	l->late.rx = l->rx;
	if (n->state == OAE_OFFER_OUT && n->reminded) {
		/* The answer that was late then may come yet. */
		if (n->reminded == 1)
			l->late.again_at = n->at;
		return;
	}
	l->late.again_at = 0;
	l->late.offer_at = n->state == OAE_OFFER_OUT ? n->at : 0;
	l->late_attempt = n->attempt;
}

/* The stall time was too short for this round trip: use that one. */
static void timer_late_sample(struct oae_link *l, u64 rtt)
{
	if (rtt > l->cfg->dead)
		return;
	timer_longest(l, rtt);
	if (rtt <= l->srtt)
		return;
	l->srtt = rtt;
	l->rttvar = rtt / 2;
	l->rtt_guessed = false;
}

/**
 * oae_rtt_guess() - the link goes by another path, or its first, which may be a long way
 * @l: the link
 * @rtt: a round trip, perhaps, ns: of one probe, or of one of several SYNCs. The first
 *	measurement by the link itself takes its place
 */
void oae_rtt_guess(struct oae_link *l, u64 rtt)
{
	if (rtt <= l->srtt || rtt > l->cfg->dead)
		return;
	l->srtt = rtt;
	l->rttvar = rtt / 2;
	l->rtt_guessed = true;
}

/**
 * oae_late_rcv() - measure the round trip by a late answer (protocol 4.4)
 * @l: the link
 * @f: a data frame of another run, or an answer to another attempt, which is dropped
 * @now: ns
 *
 * It may be the answer that this end waited for, before the run was over, or the peer was
 * reminded. It only says how long the round trip is.
 */
void oae_late_rcv(struct oae_link *l, const struct oae_frame *f, u64 now)
{
	u64 at;

	if (f->dst_ltag != l->late.ltag || f->src_ltag != l->late.peer_ltag)
		return;
	at = oae_late_answered(l, f);
	if (at) {
		timer_late_sample(l, now - at);
		l->late.offer_at = 0;
		l->late.again_at = 0;
		/* The frames do get through: the stall time was too short. */
		oae_cut_row_ends(l);
	}
	if (l->late.hold_at && oae_dist(l->late.rx, f->tx) > 0) {
		timer_late_sample(l, now - l->late.hold_at);
		l->late.hold_at = 0;
	}
}

/**
 * oae_new_clock() - start all waits anew, since the clock has stepped back far
 * @l: the link
 * @now: time of the new clock, ns
 */
void oae_new_clock(struct oae_link *l, u64 now)
{
	unsigned int i;

	l->now = now;
	l->timer_at = 0;
	l->heard_at = now;
	l->longest.since = now;
	l->active_at = now;
	l->asked_at = l->asked_at ? now : 0;
	l->again_at = now;
	l->park_at = now;
	l->refused_at = now;
	l->done_at = now;
	l->down_at = now;
	l->settle_until = l->settle_until ? now : 0;
	l->sync_at = now;
	l->cut_at = now;
	l->fruitless_at = now;
	l->moved_at = now;
	l->held_at = now;
	l->offer.at = now;
	l->hold.at = now;
	for (i = 0; i < l->npairs; i++) {
		l->pair[i]->lane.at = now;
		l->pair[i]->hold.at = now;
	}
	if (l->swaps) {
		l->swaps->again_at = now;
		l->swaps->posted_at = now;
		l->swaps->fruitless_at = now;
	}
	l->late.offer_at = 0;
	l->late.again_at = 0;
	l->late.hold_at = 0;
}

/**
 * oae_link_early() - has the timer fired before its time?
 * @l: the link
 * @now: ns
 *
 * If the clock has stepped back far (oae_now()) the answer is no: the link must see
 * the new time, or the timer would be put off for as long as the clock stepped back.
 *
 * Return: true if so; the caller arms the timer for the remaining time.
 */
bool oae_link_early(const struct oae_link *l, u64 now)
{
	return now < l->timer_at && now + OAE_CLOCK_STEP >= l->now;
}

/* CLOSE is repeated, with a probe: the link needs no other. */
static bool timer_repeats_close(const struct oae_link *l)
{
	return oae_close_out(l) && !oae_close_waits(l);
}

/* The time at which the timer must fire at the latest, ns; 0: never. */
static u64 timer_deadline(const struct oae_link *l, u64 now)
{
	const struct oae_lane *n;
	u64 at, t, stall;

	if (l->state == OAE_CLOSED)
		return 0;
	if (l->state != OAE_OPEN) {
		t = l->asked_at + l->cfg->dead;
		return l->again_at < t || l->down ? l->again_at : t;
	}

	stall = timer_stall(l);
	at = l->again_at;
	if (!timer_repeats_close(l) && at < l->heard_at + l->cfg->keepalive)
		at = l->heard_at + l->cfg->keepalive;
	if (l->asked_at && l->asked_at + l->cfg->dead < at)
		at = l->asked_at + l->cfg->dead;
	if (l->nparked && l->park_at < at)
		at = l->park_at;
	if (l->half.state == OAE_HALF_WAITING && l->swaps->again_at < at)
		at = l->swaps->again_at;
	if (l->settle_until && l->settle_until < at)
		at = l->settle_until;
	n = oae_first_lane(l);
	if (n->state == OAE_OFFER_OUT) {
		t = timer_offer_at(l, n, stall);
		at = t < at ? t : at;
	}
	if (l->nheld && timer_held_at(l, stall) < at && oae_hold_stalled(l))
		at = timer_held_at(l, stall);
	if (timer_awaits_done(l) && l->done_at + stall < at)
		at = l->done_at + stall;
	/* While a link is in use its timer fires often, so an offer need not arm it. */
	if (now - l->active_at < stall && now + stall < at)
		at = now + stall;
	return at;
}

/**
 * oae_arm() - arm the timer, if it would fire too late or not at all
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_arm(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 at = timer_deadline(l, now);

	if (!at)
		return;
	/* Overdue: as soon as possible. It stays so, since the timer is never put off. */
	if (at <= now)
		at = now + 1;
	if (l->timer_at && l->timer_at <= at)
		return;
	l->timer_at = at;
	oae_op(a, OAE_OP_TIMER)->at = l->timer_at;
}

/**
 * oae_link_undecided() - is there a transaction whose outcome this end does not know?
 * @l: the link
 *
 * Return: true if a transaction is held or in flight.
 */
bool oae_link_undecided(const struct oae_link *l)
{
	return l->nheld || oae_first_lane(l)->state == OAE_OFFER_OUT ||
	       (l->nlanes > 1 && oae_frozen(l)) || l->given > 1;
}

/**
 * oae_link_in_doubt() - may there be a transaction whose outcome an end does not know?
 * @l: the link
 *
 * Return: true if a transaction is undecided here, or may be undecided at the peer:
 * committed and not known to be delivered, or delivered and not known to be
 * committed.
 */
bool oae_link_in_doubt(const struct oae_link *l)
{
	return oae_link_undecided(l) || !oae_link_all_confirmed(l) || l->unseen;
}

/**
 * oae_would_lose() - would a transaction be lost with the present incarnation of the peer?
 * @l: the link
 *
 * An atomic offer would not: the next incarnation gets it.
 *
 * Return: true if something is held, committed and not known to be delivered, delivered
 * and not known to be committed, or an express is in flight.
 */
bool oae_would_lose(const struct oae_link *l)
{
	return l->nheld || oae_express_out(l) || !oae_link_all_confirmed(l) || l->unseen;
}

/* No answer for the dead time: the link is down. Reverse all that can be reversed. */
static void timer_go_down(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->down) {
		l->down = true;
		l->down_at = now;
		oae_note(a, OAE_N_DOWN);
	}
	oae_offer_drop_all(l, OAE_E_DOWN, a);
	oae_drop_posts(l, OAE_E_DOWN, a);
	if (l->closing || (!l->peer_inc && !l->wanted))
		oae_link_end(l, OAE_E_DOWN, a);
}

/* The timer of a frozen end: send SYNC again, detect that the peer does not answer. */
static void frozen_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 dead = l->cfg->dead, slowest;

	if (now - l->asked_at >= dead && (!l->down || oae_has_posts(l)))
		timer_go_down(l, now, a);
	if (l->down && now - l->down_at >= OAE_FORGET_DEAD * dead &&
	    !l->wanted && !oae_link_in_doubt(l) && !oae_has_posts(l))
		oae_link_end(l, OAE_E_DOWN, a);
	if (l->state == OAE_CLOSED || now < l->again_at)
		return;

	slowest = l->cfg->keepalive;
	if (!l->down && slowest > dead / 4)
		slowest = dead / 4;
	l->again_iv = l->again_iv * 2 < slowest ? l->again_iv * 2 : slowest;
	l->again_at = now + l->again_iv;
	l->repeated = true;
	oae_send_sync(l, OAE_SYNC, l->peer_ltag, a);
}

static bool timer_stalled(const struct oae_link *l, u64 now)
{
	const struct oae_lane *n = oae_first_lane(l);
	u64 stall = oae_link_stall(l);

	return (n->state == OAE_OFFER_OUT && !timer_may_remind(l, n, stall) &&
		now >= timer_offer_at(l, n, stall)) ||
	       (l->nheld && now >= timer_held_at(l, stall) && oae_hold_stalled(l)) ||
	       (timer_awaits_done(l) && now - l->done_at >= stall);
}

/*
 * Remind the peer of tx + 1: LAST is enough to learn what it has of it. (All slices would be
 * a burst of which a short queue loses the end again.) No loss is known yet: the answer may
 * be late.
 */
static void timer_remind(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_lane *n = oae_first_lane(l);
	u64 stall = timer_stall(l);
	u8 reminded = n->reminded;

	if (n->state != OAE_OFFER_OUT || !timer_may_remind(l, n, stall) ||
	    now < timer_offer_at(l, n, stall))
		return;
	oae_late_begin(l);
	l->late.hold_at = 0;
	oae_note(a, OAE_N_REPAIRED);
	oae_lane_due(l, n, OAE_DUE_LAST);
	oae_offer_again(l, l->tx + 1, now, a);
	n->reminded = reminded + 1;
}

/**
 * oae_probe() - ask whether the peer is there; nothing happens unless the link is OPEN
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_probe(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN)
		return;
	if (!l->asked_at)
		l->asked_at = now;
	oae_note(a, OAE_N_PROBE);
	oae_send_sync(l, OAE_SYNC, l->peer_ltag, a);
}

static void open_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 slowest = l->cfg->dead / 4;

	if (timer_stalled(l, now)) {
		oae_freeze(l, OAE_N_STALL, now, a);
		return;
	}
	if (l->asked_at && now - l->asked_at >= l->cfg->dead) {
		oae_freeze(l, OAE_N_STALL, now, a);
		frozen_timer(l, now, a);
		return;
	}
	if (l->settle_until && now >= l->settle_until)
		oae_settled(l, now, a);
	timer_remind(l, now, a);
	/* The attempts may have been used up. */
	if (l->state != OAE_OPEN)
		return;
	if (l->nparked && now >= l->park_at)
		oae_offer_unpark(l, now, a);
	if (l->half.state == OAE_HALF_WAITING && now >= l->swaps->again_at)
		l->half.state = OAE_HALF_POSTED;
	/* A safety net: no event leaves a post waiting while nothing is offered. */
	oae_offer_pump(l, now, a);
	if (!timer_repeats_close(l) && now - l->heard_at >= l->cfg->keepalive &&
	    now >= l->again_at) {
		if (slowest > l->cfg->keepalive)
			slowest = l->cfg->keepalive;
		l->again_at = now + slowest;
		oae_probe(l, now, a);
	}
}

/**
 * oae_link_timer() - handle the timer
 * @l: the link
 * @now: ns; too early is harmless
 * @a: actions
 */
void oae_link_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	now = oae_now(l, now);
	l->timer_at = 0;
	if (l->state == OAE_OPEN)
		open_timer(l, now, a);
	else if (oae_frozen(l))
		frozen_timer(l, now, a);
	oae_finish(l, now, a);
}
