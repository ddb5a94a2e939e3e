// SPDX-License-Identifier: GPL-2.0
/*
 * Resolving (doc/protocol.md section 4.5): the counters of both ends are compared, and what was in
 * flight is decided. freeze.c does what is before that. Pure, see link.h.
 *
 * Five rules here look optional and are not (see the end of protocol 4.5; the explorer
 * finds a counterexample without each). Data frames must match both ltags. An end
 * resolves only against a frame that names its own current ltag. An OPEN end answers
 * a SYNC that repeats the known ltag. SYNC carries both incarnations. An express that
 * was offered to an incarnation that died ends UNKNOWN.
 */
#include "link_int.h"

#define SYNC_GUESS	4	/* of the longest PTO, for a round trip that is a guess */

/* The peer has a new incarnation. */
static void sync_new_peer(struct oae_link *l, const struct oae_frame *f,
			  struct oae_actions *a)
{
	/* No event leads to counters without a known peer; note them nevertheless. */
	if (l->peer.inc || l->tx != l->start || l->rx)
		oae_note(a, OAE_N_PEER_NEW);
	/* The old incarnation may have delivered the express. */
	if (oae_express_out(l))
		oae_offer_drop(l, l->tx + 1, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	oae_forget_run(l, a);
	oae_mtu_forget(l);
	l->mtu.most = 0;
	l->rx = f->sync.start;
	l->peer.inc = f->sync.inc;
	l->by_inc = false;
}

/* Are these differences of the counters allowed? The two tables of protocol 4.5. */
static bool sync_fits(const struct oae_link *l, s32 in, s32 out)
{
	/* The peer has committed what this end holds. */
	if (in > 0 && !oae_hold_has(l, in))
		return false;
	/* An express that the peer does not know of yet. */
	if (in < 0 && (in < -1 || !l->last_express))
		return false;
	/* The peer has delivered the express in flight. */
	if (out > 0)
		return out == 1 && oae_express_out(l);
	/* The peer is about to deliver what this end has committed. */
	return oae_dist(l->peer.rx, l->tx + out) >= 0;
}

static void sync_heard(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->heard_at = now;
	l->asked_at = 0;
	l->timer.silent_at = 0;
	if (l->down) {
		l->down = false;
		oae_note(a, OAE_N_UP);
	}
}

/*
 * How long the answer took since the first SYNC, ns; 0 if the clock is behind. If that was sent
 * only once it is a round trip. Else nobody knows which one was answered: it is a guess, as long as
 * there is nothing better, and a small one. (With none, each link freezes that is opened by a long
 * way.)
 */
static void sync_took(struct oae_link *l, u64 took)
{
	u64 most = l->cfg->stall_max / SYNC_GUESS;

	if (!took)
		return;
	if (l->syncs == 1)
		oae_rtt_sample(l, took);
	else if (!l->rtt.srtt)
		oae_rtt_guess(l, took < most ? took : most);
}

static void sync_opened(struct oae_link *l, const struct oae_frame *f, u64 now,
			struct oae_actions *a)
{
	oae_note(a, l->mtu.there ? OAE_N_RESOLVED : OAE_N_OPENED);
	sync_took(l, now - l->sync_at);
	oae_freeze_learn(l, f);
	l->peer.max_len = f->sync.max_len;
	l->peer.packs = l->heard.packs;
	l->peer.paths = l->heard.paths;
	l->peer.gateway = l->heard.gateway;
	if (l->heard.met || (l->paths && l->peer.paths))
		l->by_inc = true;
	oae_set_senior(l);
	l->mtu.there = f->sync.mtu < OAE_MIN_MTU ? OAE_MIN_MTU : f->sync.mtu;
	l->state = OAE_OPEN;
	l->again_at = 0;
	l->ready_due = false;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	l->active_at = now;
	l->timer.moved_at = now;
	oae_mtu_changed(l);
	oae_window_begin(l);
	oae_cong_begin(l);
	oae_number_begin(l);
	sync_heard(l, now, a);
}

/*
 * Resolve against a SYNC or SYNC_ACK that names this end's current ltag: decide what
 * was held or in flight, and open the link (protocol 4.5).
 */
static void sync_resolve(struct oae_link *l, const struct oae_frame *f, u64 now,
			 struct oae_actions *a)
{
	u32 peer_tx = f->tx, peer_rx = f->rx;
	bool settles = l->settle_until && !l->closing, was_out;
	s32 in, out, i;

	if (f->sync.peer_inc != l->inc) {
		/* Its counters belong to an old incarnation of this end. */
		peer_tx = f->sync.start;
		peer_rx = l->start;
	}
	if (f->sync.inc != l->peer.inc)
		sync_new_peer(l, f, a);

	in = oae_dist(l->rx, peer_tx);
	out = oae_dist(l->tx, peer_rx);
	if (!sync_fits(l, in, out)) {
		oae_freeze_learn(l, f);
		oae_broken(l, now, a);
		return;
	}

	for (i = 0; i < in; i++)
		oae_hold_deliver(l, now, a);
	oae_hold_resolved(l, a);
	if (in == 0)
		l->unseen = false;
	if (out == 1)
		oae_offer_was_express(l, now, a);
	else
		oae_offer_delivered(l, peer_rx, a);
	/*
	 * The peer that sent a SYNC is still frozen. It may open into an earlier
	 * run, whose SYNC_ACK and express are on their way (protocol 4.3).
	 */
	oae_first_lane(l)->doubt = f->opcode == OAE_SYNC && oae_express_out(l);
	was_out = oae_first_lane(l)->state == OAE_OFFER_OUT;

	sync_opened(l, f, now, a);
	oae_offer_requeue(l);
	oae_credit_begin(l, f);
	oae_send_sync(l, OAE_SYNC_ACK, l->peer.ltag, a);

	/* What the peer keeps is of the number that it has told of, and of this end. */
	if (f->sync.kept && f->sync.peer_inc == l->inc && f->rx == l->tx)
		a->told = f;
	/* Other than an express, what is too long now can wait; so can all that is not granted. */
	if (settles && oae_credit_may(l, &oae_first_lane(l)->p) &&
	    (oae_express_out(l) || (was_out && oae_mtu_fits(l, &oae_first_lane(l)->p))))
		oae_offer_again(l, l->tx + 1, now, a);
	l->done_at = now;
	l->say_commit = l->await_done;
}

/**
 * oae_resolve_by_data() - resolve against a data frame that has overtaken the SYNC_ACK
 * @l: the link, frozen
 * @f: a data frame
 * @now: ns
 * @a: actions
 *
 * A peer that sends data naming both current ltags has resolved against a SYNC of this
 * end. Its counters cannot have moved since, as this end is frozen. So the data frame
 * has all that the SYNC_ACK said, except for what the SYNC that told the peer's ltag had
 * said already (protocol 4.5).
 *
 * Return: true if the link is OPEN now.
 */
bool oae_resolve_by_data(struct oae_link *l, const struct oae_frame *f,
			 u64 now, struct oae_actions *a)
{
	struct oae_frame ack = {
		.opcode = OAE_SYNC_ACK,
		.src_ltag = f->src_ltag,
		.tx = f->tx,
		.rx = f->rx,
		.grant = f->grant,
	};

	/* Only these begin a run. Ends without a link send other opcodes, too. */
	if (f->opcode != OAE_OFFER && f->opcode != OAE_COMMIT && f->opcode != OAE_ASK)
		return false;
	if (f->dst_ltag != l->ltag || f->src_ltag != l->peer.ltag ||
	    !l->heard.inc)
		return false;
	ack.sync.inc = l->heard.inc;
	ack.sync.peer_inc = l->inc;
	ack.sync.max_len = l->heard.max_len;
	ack.sync.start = l->heard.start;
	ack.sync.mtu = l->heard.mtu;
	ack.sync.caps = l->heard.window - 1;
	if (l->heard.packs)
		ack.sync.caps |= OAE_CAPS_PACK;
	if (l->heard.paths)
		ack.sync.caps |= OAE_CAPS_PATHS;
	if (l->heard.gateway)
		ack.sync.caps |= OAE_CAPS_GATEWAY;
	if (l->heard.met)
		ack.sync.caps |= OAE_CAPS_MET;
	sync_resolve(l, &ack, now, a);
	return l->state == OAE_OPEN;
}

/**
 * oae_run_progress() - take the peer's tx and rx from a frame of this run (protocol 3)
 * @l: the link, OPEN; the frame matches both ltags
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * Any frame of this run may commit what is held (protocol 4.2, step 4), and may
 * confirm the delivery of what was committed.
 *
 * Return: false if the counters are impossible, and the link froze.
 */
bool oae_run_progress(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	s32 in = oae_dist(l->rx, f->tx);
	s32 out = oae_dist(l->tx, f->rx), i;

	sync_heard(l, now, a);
	/* Smaller counters are those of a delayed frame: nothing new. */
	if ((in > 0 && !sync_fits(l, in, 0)) || (out > 0 && !sync_fits(l, 0, out))) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return false;
	}
	/* If it was reflected again nobody knows which one was answered. */
	if (in > 0 && !oae_first_hold(l)->again)
		oae_rtt_sample(l, now - oae_first_hold(l)->at);
	for (i = 0; i < in; i++)
		oae_hold_deliver(l, now, a);
	if (in == 0)
		l->unseen = false;
	if (out <= 0 && oae_dist(l->peer.rx, f->rx) > 0)
		oae_offer_delivered(l, f->rx, a);
	oae_credit_heard(l, f);
	if (out == 0 && f->opcode != OAE_SYNC && oae_first_lane(l)->doubt)
		oae_offer_sure(l, a);
	return true;
}

/*
 * Handle a SYNC_* of this run at an OPEN end. If its sender had not resolved yet, it
 * may name an old incarnation of this end, and its counters are not of this run. But
 * an ltag belongs to only one incarnation of the peer. False: the link froze.
 */
static bool sync_progress(struct oae_link *l, const struct oae_frame *f,
			  u64 now, struct oae_actions *a)
{
	if (f->sync.inc != l->peer.inc) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return false;
	}
	if (f->sync.peer_inc != l->inc)
		return true;
	return oae_run_progress(l, f, now, a);
}

/* The peer has a new ltag, so it froze: freeze as well. */
static void sync_peer_froze(struct oae_link *l, const struct oae_frame *f, u64 now,
			    struct oae_actions *a)
{
	oae_freeze_learn(l, f);
	oae_freeze(l, OAE_N_PEER_FROZE, now, a);
	l->state = OAE_SYNC_RECD;
}

/* SYNC at an OPEN end. */
static void open_sync(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	if (f->src_ltag == l->peer.ltag) {
		/* A probe, or the last SYNC_ACK was lost: always answered. */
		if (f->dst_ltag == l->ltag && !sync_progress(l, f, now, a))
			return;
		oae_send_sync(l, OAE_SYNC_ACK, f->src_ltag, a);
	} else if (f->dst_ltag == l->ltag) {
		sync_peer_froze(l, f, now, a);
	} else {
		oae_note(a, OAE_N_STALE_SYNC);
		oae_send_sync(l, OAE_SYNC_CHK, f->src_ltag, a);
	}
}

/**
 * oae_rcv_sync() - handle SYNC (protocol 4.5)
 * @l: the link, not CLOSED
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_sync(struct oae_link *l, const struct oae_frame *f, u64 now,
		  struct oae_actions *a)
{
	if (l->state == OAE_OPEN) {
		open_sync(l, f, now, a);
	} else if (f->dst_ltag == l->ltag) {
		sync_resolve(l, f, now, a);
	} else {
		oae_freeze_learn(l, f);
		l->state = OAE_SYNC_RECD;
		oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
	}
}

/**
 * oae_rcv_sync_ack() - handle SYNC_ACK: the peer has resolved (protocol 4.5)
 * @l: the link, not CLOSED
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * The answer to an OPEN end's probe may show an unknown ltag of the peer, which is OPEN
 * as well: the peer froze once more, and resolved against an older SYNC. The ends are in
 * two runs, without any progress, and an idle end would not notice; so it freezes.
 */
void oae_rcv_sync_ack(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	if (f->dst_ltag != l->ltag)
		oae_note(a, OAE_N_STALE_SYNC);
	else if (oae_frozen(l))
		sync_resolve(l, f, now, a);
	else if (f->src_ltag == l->peer.ltag)
		sync_progress(l, f, now, a);
	else if (l->asked_at)
		sync_peer_froze(l, f, now, a);
	else
		oae_note(a, OAE_N_STALE_SYNC);
}

/**
 * oae_rcv_sync_chk() - handle SYNC_CHK: the peer has another ltag (protocol 4.5)
 * @l: the link, not CLOSED
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * An OPEN end gets a SYNC_CHK that names its ltag if it probed a peer that has
 * forgotten the link: then the run is over.
 */
void oae_rcv_sync_chk(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	if (f->dst_ltag != l->ltag ||
	    (l->state == OAE_OPEN &&
	     (!l->asked_at || f->src_ltag == l->peer.ltag))) {
		oae_note(a, OAE_N_STALE_SYNC);
		return;
	}
	oae_freeze_learn(l, f);
	if (l->state == OAE_OPEN) {
		oae_freeze(l, OAE_N_NOLINK, now, a);
		return;
	}
	l->state = OAE_SYNC_RECD;
	oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
}
