// SPDX-License-Identifier: GPL-2.0
/*
 * The link's one timer (doc/protocol.md section 4.4). Pure, see link.h.
 *
 * The timer only detects failures; no exchange of frames waits for it. Its rules:
 *
 *   frozen       SYNC again at again_at; no answer since asked_at for the
 *                dead time: the link is down
 *   asking       tx + 1 is in flight, or DONE is waited for, and nothing new was
 *                answered for the probe timeout: ask; no answer to that either:
 *                freeze
 *   in flight    answers come, and no progress of tx + 1: count; often: freeze
 *   held         no commit of what is held: reflect it again; no progress: freeze
 *   parked       offer again at park_at, in case READY was lost; or say BLOCKED
 *   waiting      offer a half that is WAITING again at swaps->again_at
 *   closing      CLOSE again at again_at
 *   peer closes  nothing for twice the keepalive time, and no CLOSE again: it does not;
 *                freeze
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

#define TIMER_ASKS	6	/* questions without an answer until the link freezes */
#define TIMER_LONGS	2	/* REFLECTs that are long in vain until the path is asked */
#define TIMER_REFLECTS	8	/* REFLECTs without progress of what is held, likewise */
#define TIMER_PATIENCE	16	/* probe timeouts without progress, likewise */

/*
 * How long to wait for an answer to question @n of a row, ns; 0: before the first. So that all
 * took twice as long each time, but no more than a quarter of the dead time longer.
 */
static u64 timer_interval(const struct oae_link *l, u64 first, unsigned int n)
{
	u64 most = l->cfg->dead / 4;

	/* No row is longer, whatever a state says. */
	if (n > TIMER_REFLECTS)
		n = TIMER_REFLECTS;
	if (n > 1)
		first <<= n - 1;
	return first < most ? first : most;
}

/* Is an answer waited for? To what is in flight; or DONE, which the answer to that says as well. */
static bool timer_awaits(const struct oae_link *l)
{
	return oae_first_lane(l)->state == OAE_OFFER_OUT || l->await_done;
}

static u64 timer_later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* When tx + 1 was offered, or has got on since. */
static u64 timer_got_on(const struct oae_link *l)
{
	return timer_later(l->timer.moved_at, l->timer.grown_at);
}

/* When the peer is asked, or after the last time, when that is given up. */
static u64 timer_ask_at(const struct oae_link *l, u64 pto)
{
	const struct oae_lane *n = oae_first_lane(l);
	u64 since = l->done_at;

	if (l->timer.asks)
		since = l->timer.ask_at;
	else if (n->state == OAE_OFFER_OUT)
		since = timer_later(n->at, l->timer.moved_at);
	return timer_later(since, l->timer.answered_at) + timer_interval(l, pto, l->timer.asks);
}

/* Do answers come that say nothing new of tx + 1? @at: when that is counted once more. */
static bool timer_stuck(const struct oae_link *l, u64 pto, u64 *at)
{
	*at = l->timer.stuck_at + pto;
	return oae_first_lane(l)->state == OAE_OFFER_OUT && l->timer.answered_at > timer_got_on(l);
}

/* When what is held is reflected again, or after the last time, when that is given up. */
static u64 timer_reflect_at(const struct oae_link *l, u64 pto)
{
	return (l->timer.reflects ? l->timer.reflect_at : l->timer.held_at) +
	       timer_interval(l, 2 * pto, l->timer.reflects);
}

/**
 * oae_silent_since() - when was asked what nobody has answered since?
 * @l: the link
 *
 * Return: ns, of the first SYNC, probe or CLOSE, or the first question of the timer; 0 all is
 * answered.
 */
u64 oae_silent_since(const struct oae_link *l)
{
	u64 silent = l->timer.silent_at;

	return silent && (!l->asked_at || silent < l->asked_at) ? silent : l->asked_at;
}

/**
 * oae_timer_answered() - an answer has heard something new: nothing is asked for it
 * @l: the link
 * @now: ns
 */
void oae_timer_answered(struct oae_link *l, u64 now)
{
	/* For as long as no answer came there could be no progress. */
	if (l->timer.answered_at <= timer_got_on(l)) {
		l->timer.stuck_at = now;
		l->timer.stuck = 0;
	}
	l->timer.answered_at = now;
	l->timer.asks = 0;
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
	l->timer.at = 0;
	l->heard_at = now;
	l->rtt.since = now;
	l->active_at = now;
	l->asked_at = l->asked_at ? now : 0;
	l->again_at = now;
	l->park_at = now;
	l->waits_at = now;
	l->done_at = now;
	l->down_at = now;
	l->settle_until = l->settle_until ? now : 0;
	l->sync_at = now;
	l->mtu.path_at = now;
	l->mtu.too_long_at = l->mtu.too_long_at ? now : 0;
	l->timer.moved_at = now;
	l->timer.grown_at = now;
	l->timer.answered_at = now;
	l->timer.stuck_at = now;
	l->timer.silent_at = l->timer.silent_at ? now : 0;
	l->timer.ask_at = now;
	l->timer.held_at = now;
	l->timer.reflect_at = now;
	l->offer.at = now;
	l->hold.at = now;
	for (i = 0; i < l->npairs; i++) {
		l->pair[i]->lane.at = now;
		l->pair[i]->hold.at = now;
	}
	if (l->swaps) {
		l->swaps->again_at = now;
		l->swaps->posted_at = now;
	}
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
	return now < l->timer.at && now + OAE_CLOCK_STEP >= l->now;
}

/*
 * Until when the peer counts as closing, unless something goes on, or it says CLOSE again. It says
 * that once a keepalive time at least, and one CLOSE may be lost.
 */
static u64 timer_closes_until(const struct oae_link *l)
{
	return l->active_at + timer_later(2 * l->cfg->keepalive, 4 * oae_pto(l));
}

/* Is READY waited for, which may be lost? While DONE is, that is asked for. */
static bool timer_repeats(const struct oae_link *l)
{
	return l->nparked || (l->credit.said_blocked && !l->await_done);
}

/* The time at which the timer must fire at the latest, ns; 0: never. */
static u64 timer_deadline(const struct oae_link *l, u64 now)
{
	u64 at, t, pto;

	if (l->state == OAE_CLOSED)
		return 0;
	if (l->state != OAE_OPEN) {
		t = l->asked_at + l->cfg->dead;
		return l->again_at < t || l->down ? l->again_at : t;
	}

	pto = oae_pto(l);
	at = l->again_at;
	if (!oae_close_out(l) && at < l->heard_at + l->cfg->keepalive)
		at = l->heard_at + l->cfg->keepalive;
	if (l->asked_at && l->asked_at + l->cfg->dead < at)
		at = l->asked_at + l->cfg->dead;
	if (l->timer.silent_at && l->timer.silent_at + l->cfg->dead < at)
		at = l->timer.silent_at + l->cfg->dead;
	if (l->peer.closing && timer_closes_until(l) < at)
		at = timer_closes_until(l);
	if (timer_repeats(l) && l->park_at < at)
		at = l->park_at;
	if (l->half.state == OAE_HALF_WAITING && l->swaps->again_at < at)
		at = l->swaps->again_at;
	if (l->settle_until && l->settle_until < at)
		at = l->settle_until;
	if (timer_awaits(l) && timer_ask_at(l, pto) < at)
		at = timer_ask_at(l, pto);
	if (timer_stuck(l, pto, &t) && t < at)
		at = t;
	if (l->nheld && timer_reflect_at(l, pto) < at && oae_hold_stalled(l))
		at = timer_reflect_at(l, pto);
	if ((l->mtu.path || l->mtu.too_long) && oae_mtu_timer_at(l) < at)
		at = oae_mtu_timer_at(l);
	/* While a link is in use its timer fires often, so an offer need not arm it. */
	if (now - l->active_at < pto && now + pto < at)
		at = now + pto;
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
	oae_link_wake(l, at, a);
}

/* The longest interval between two questions whether the peer is there, ns. */
static u64 timer_slowest(const struct oae_link *l)
{
	u64 most = l->cfg->keepalive;

	return l->down || most < l->cfg->dead / 4 ? most : l->cfg->dead / 4;
}

/**
 * oae_repeat() - set when SYNC, or CLOSE, is sent again, should it not be answered
 * @l: the link
 * @again: it is sent again now: the interval doubles
 * @now: ns
 */
void oae_repeat(struct oae_link *l, bool again, u64 now)
{
	u64 slowest = timer_slowest(l);

	if (!again)
		l->again_iv = oae_first_again(l);
	else
		l->again_iv = l->again_iv * 2 < slowest ? l->again_iv * 2 : slowest;
	l->again_at = now + l->again_iv;
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
	if (l->closing || (!l->peer.inc && !l->wanted))
		oae_link_end(l, OAE_E_DOWN, a);
}

/* The timer of a frozen end: send SYNC again, detect that the peer does not answer. */
static void frozen_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 dead = l->cfg->dead;

	if (now - l->asked_at >= dead && (!l->down || oae_has_posts(l)))
		timer_go_down(l, now, a);
	if (l->down && now - l->down_at >= OAE_FORGET_DEAD * dead &&
	    !l->wanted && !oae_link_in_doubt(l) && !oae_has_posts(l))
		oae_link_end(l, OAE_E_DOWN, a);
	if (l->state == OAE_CLOSED || now < l->again_at)
		return;

	oae_repeat(l, true, now);
	oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
}

/* Has asking been in vain, or what the peer does answer? */
static bool timer_gives_up(const struct oae_link *l, u64 pto, u64 now)
{
	u64 at;

	return (timer_awaits(l) && l->timer.asks >= TIMER_ASKS && now >= timer_ask_at(l, pto)) ||
	       (timer_stuck(l, pto, &at) && now >= at && l->timer.stuck >= TIMER_PATIENCE - 1) ||
	       (l->nheld && l->timer.reflects >= TIMER_REFLECTS &&
		now >= timer_reflect_at(l, pto) && oae_hold_stalled(l));
}

/* A timer that fires late counts once: an end that stood still has seen nothing meanwhile. */
static void timer_count(struct oae_link *l, u64 pto, u64 now)
{
	u64 at;

	if (!timer_stuck(l, pto, &at) || now < at)
		return;
	l->timer.stuck++;
	l->timer.stuck_at = now;
}

/* Nothing new was answered: ask what the peer has of tx + 1, or whether it has delivered. */
static void timer_ask(struct oae_link *l, u64 pto, u64 now, struct oae_actions *a)
{
	const struct oae_lane *n = oae_first_lane(l);

	if (!timer_awaits(l) || now < timer_ask_at(l, pto))
		return;
	if (!l->timer.silent_at)
		l->timer.silent_at = now;
	l->timer.asks++;
	l->timer.ask_at = now;
	oae_note(a, OAE_N_ASKED);
	/* An express that this run cannot carry waits for any answer. */
	if (n->state == OAE_OFFER_OUT && n->offered)
		oae_offer_ask(l, l->tx + 1, now, a);
	else
		oae_link_ask(l, a);
}

/* The commit of a number that is held does not come: the REFLECT was lost, or the COMMIT. */
static void timer_reflect(struct oae_link *l, u64 pto, u64 now, struct oae_actions *a)
{
	if (now < timer_reflect_at(l, pto) || !oae_hold_stalled(l))
		return;
	l->timer.reflects++;
	l->timer.reflect_at = now;
	oae_note(a, OAE_N_REFLECTED_AGAIN);
	/* It may be too long. */
	if (oae_hold_reflect(l, a) > OAE_MIN_SLICE && l->timer.reflects >= TIMER_LONGS)
		oae_mtu_doubt(l, a);
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
	oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
}

static void open_timer(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 pto = oae_pto(l);

	if ((l->peer.closing && now >= timer_closes_until(l)) ||
	    timer_gives_up(l, pto, now)) {
		oae_freeze(l, OAE_N_STALL, now, a);
		return;
	}
	if ((l->asked_at && now - l->asked_at >= l->cfg->dead) ||
	    (l->timer.silent_at && now - l->timer.silent_at >= l->cfg->dead)) {
		oae_freeze(l, OAE_N_STALL, now, a);
		frozen_timer(l, now, a);
		return;
	}
	if (l->settle_until && now >= l->settle_until)
		oae_settled(l, now, a);
	timer_count(l, pto, now);
	timer_ask(l, pto, now, a);
	timer_reflect(l, pto, now, a);
	oae_mtu_timer(l, now, a);
	if (timer_repeats(l) && now >= l->park_at)
		oae_offer_unpark(l, now);
	if (l->half.state == OAE_HALF_WAITING && now >= l->swaps->again_at)
		l->half.state = OAE_HALF_POSTED;
	/* CLOSE is repeated, with a probe: the link needs no other. */
	if (!oae_close_out(l) && now - l->heard_at >= l->cfg->keepalive &&
	    now >= l->again_at) {
		l->again_at = now + timer_slowest(l);
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
	l->timer.at = 0;
	if (l->state == OAE_OPEN)
		open_timer(l, now, a);
	else if (oae_frozen(l))
		frozen_timer(l, now, a);
	oae_finish(l, now, a);
}
