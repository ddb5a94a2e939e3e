// SPDX-License-Identifier: GPL-2.0
/*
 * Synchronising (doc/protocol.md section 4.5): freezing after a failure, comparing
 * the counters of both ends, and resolving what was in flight. Pure, see link.h.
 *
 * Five rules here look optional and are not (see the end of protocol 4.5; the explorer
 * finds a counterexample without each). Data frames must match both ltags. An end
 * resolves only against a frame that names its own current ltag. An OPEN end answers
 * a SYNC that repeats the known ltag. SYNC carries both incarnations. An express that
 * was offered to an incarnation that died ends UNKNOWN.
 */
#include "link_int.h"

#define SYNC_GUESS	4	/* of the longest PTO, for a round trip that is a guess */

static void sync_draw_ltag(struct oae_link *l)
{
	u32 old = l->ltag;

	do {
		l->ltag = l->cfg->random();
	} while (!l->ltag || l->ltag == old);
}

static void sync_draw_inc(struct oae_link *l)
{
	do {
		l->inc = (u64)l->cfg->random() << 32 | l->cfg->random();
	} while (!l->inc);
	l->by_inc = false;
	l->heard.met = false;
}

/**
 * oae_send_sync() - send SYNC, SYNC_ACK or SYNC_CHK
 * @l: the link
 * @opcode: one of these
 * @dst_ltag: the ltag to name, 0 unknown
 * @a: actions
 */
void oae_send_sync(struct oae_link *l, enum oae_opcode opcode, u32 dst_ltag,
		   struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, opcode);

	if (opcode == OAE_SYNC && l->syncs < 2)
		l->syncs++;
	s->frame.dst_ltag = dst_ltag;
	s->frame.sync.inc = l->inc;
	s->frame.sync.peer_inc = l->peer_inc;
	s->frame.sync.caps = l->window - 1;
	if (l->packs)
		s->frame.sync.caps |= OAE_CAPS_PACK;
	if (l->paths)
		s->frame.sync.caps |= OAE_CAPS_PATHS | OAE_CAPS_GATEWAY;
	if (l->by_inc)
		s->frame.sync.caps |= OAE_CAPS_MET;
	s->frame.sync.max_len = l->cfg->max_len;
	s->frame.sync.start = l->start;
	s->frame.sync.mtu = oae_link_mtu(l);
	s->frame.sync.kept = 0;
	s->frame.sync.hash = 0;
	s->frame.sync.last = 0;
	if (opcode != OAE_SYNC_CHK)
		oae_hold_tell(l, &s->frame, a);
}

/**
 * oae_ask() - send SYNC now, again after the probe timeout, then ever more slowly
 * @l: the link, frozen
 * @now: ns
 * @a: actions
 */
void oae_ask(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->again_iv = oae_first_again(l);
	l->again_at = now + l->again_iv;
	oae_send_sync(l, OAE_SYNC, l->peer_ltag, a);
}

/* Begin to synchronise, with a new ltag: frames to the old ltag are void. */
static void begin_sync(struct oae_link *l, enum oae_state state, u64 now,
		       struct oae_actions *a)
{
	sync_draw_ltag(l);
	oae_lane_froze(l);
	if (l->leaving)
		l->settle_until = 0;
	l->leaving = false;
	l->window = l->cfg->window ? l->cfg->window : 1;
	l->packs = l->cfg->pack;
	l->paths = l->cfg->paths;
	l->sync_at = now;
	l->syncs = 0;
	l->search = 0;
	l->blocked = false;
	l->said_blocked = false;
	l->state = state;
	l->close_sent = false;
	/* What the timer has asked, nobody has answered. */
	if (!l->asked_at || (l->silent_at && l->silent_at < l->asked_at))
		l->asked_at = l->silent_at ?: now;
	l->silent_at = 0;
	l->asks = 0;
	oae_ask(l, now, a);
}

/**
 * oae_freeze() - freeze after a failure, and begin to synchronise (protocol 4.5)
 * @l: the link, OPEN
 * @why: the note for the failure
 * @now: ns
 * @a: actions
 */
void oae_freeze(struct oae_link *l, enum oae_note why, u64 now,
		struct oae_actions *a)
{
	oae_note(a, why);
	oae_hold_froze(l, a);
	oae_cong_froze(l);
	/* Only the end that noticed the failure backs off. */
	if (why != OAE_N_PEER_FROZE && l->backoff < OAE_MAX_BACKOFF)
		l->backoff++;
	begin_sync(l, OAE_SYNC_SENT, now, a);
}

/* Record the peer's ltag, and what else its SYNC said. */
static void sync_learn(struct oae_link *l, const struct oae_frame *f)
{
	l->peer_ltag = f->src_ltag;
	l->heard.inc = f->sync.inc;
	l->heard.max_len = f->sync.max_len;
	l->heard.start = f->sync.start;
	l->heard.mtu = f->sync.mtu;
	l->heard.window = (f->sync.caps & OAE_CAPS_WINDOW) + 1;
	l->heard.packs = f->sync.caps & OAE_CAPS_PACK;
	l->heard.paths = f->sync.caps & OAE_CAPS_PATHS;
	l->heard.gateway = f->sync.caps & OAE_CAPS_GATEWAY;
	l->heard.met = f->sync.caps & OAE_CAPS_MET && f->sync.peer_inc == l->inc;
}

/**
 * oae_set_senior() - find out which end is the senior (protocol 4.9)
 * @l: the link
 *
 * With paths, the two ends may know the link by different addresses, and addresses change.
 * Of a pair of incarnations both ends know the same. That stays so when an end takes paths
 * no more: it has not forgotten them yet. It may have done so before it resolved for the
 * first time: then the other end says that both took them.
 */
void oae_set_senior(struct oae_link *l)
{
	if (l->by_inc && l->inc != l->peer_inc)
		l->senior = l->inc > l->peer_inc;
	else
		l->senior = l->rank;
}

/**
 * oae_link_open() - begin to open a link (protocol 4.5)
 * @l: the link, CLOSED
 * @now: ns
 * @a: actions
 */
void oae_link_open(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_CLOSED)
		return;
	now = oae_now(l, now);
	sync_draw_inc(l);
	begin_sync(l, OAE_SYNC_SENT, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_accept() - begin to open a link for an admitted peer (protocol 4.6)
 * @l: the link, CLOSED
 * @sync: the SYNC that named a valid cookie
 * @room: bytes that the inbox has free
 * @now: ns
 * @a: actions
 *
 * The link draws an ltag of its own: if the cookie were the ltag, a replayed SYNC could
 * bring an old run back to life.
 */
void oae_link_accept(struct oae_link *l, const struct oae_frame *sync, u32 room,
		     u64 now, struct oae_actions *a)
{
	if (l->state != OAE_CLOSED)
		return;
	now = oae_now(l, now);
	oae_credit_free(l, room);
	sync_draw_inc(l);
	sync_learn(l, sync);
	begin_sync(l, OAE_SYNC_RECD, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_forget_run() - forget the counters, and note what is lost with them
 * @l: the link
 * @a: actions
 *
 * A half that is lent ends UNKNOWN (protocol 4.9, step 5).
 */
void oae_forget_run(struct oae_link *l, struct oae_actions *a)
{
	oae_notes(a, OAE_N_HELD_LOST, l->nheld);
	/* The peer may have committed the half. */
	if (l->half.state == OAE_HALF_LENT)
		oae_half_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	oae_hold_discard_all(l, a);
	oae_notes(a, OAE_N_UNCONFIRMED, l->tx - l->peer_rx);
	/* What is offered stays in its place. */
	l->base += l->start - l->tx;
	l->tx = l->start;
	l->peer_rx = l->start;
	l->await_done = false;
	l->last_express = false;
	l->unseen = false;
	l->peer_closing = false;
}

/* Begin as a new end: with new counters and a new incarnation. */
static void sync_begin_anew(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_forget_run(l, a);
	sync_draw_inc(l);
	l->peer_inc = 0;
	l->rx = 0;
	begin_sync(l, OAE_SYNC_SENT, now, a);
}

/* What is in flight ends UNKNOWN. */
static void sync_drop_undecided(struct oae_link *l, struct oae_actions *a)
{
	const struct oae_lane *n;
	u32 seq;

	for (seq = l->tx + l->nlanes; seq != l->tx; seq--) {
		n = oae_lane(l, seq);
		if (!oae_lane_reversible(n) ||
		    (n->p.kind != OAE_VOID && (n->state == OAE_OFFER_OUT ||
					       n->state == OAE_OFFER_REFLECTED)))
			oae_offer_drop(l, seq, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	}
}

/**
 * oae_broken() - start again, since the two ends cannot both be right (protocol 4.5)
 * @l: the link, not CLOSED
 * @now: ns
 * @a: actions
 *
 * This end draws a new incarnation, so to the peer it is a new end, and the peer starts
 * again as well. What is in flight ends UNKNOWN: whatever the peer says about it cannot
 * be relied on.
 */
void oae_broken(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_note(a, OAE_N_BROKEN);
	sync_drop_undecided(l, a);
	sync_begin_anew(l, now, a);
}

/**
 * oae_link_renamed() - begin as a new end: the port has a new address (protocol 4.5)
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * A peer knows an end by its address, so this is a new end from now on. If it kept its
 * incarnation and later got its old address back, it would meet the peer's tag for the
 * old address, with outdated counters. A transaction offered atomically was not
 * committed, and is offered anew; the peer's tag for the old address drops what it
 * holds.
 */
void oae_link_renamed(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED)
		return;
	now = oae_now(l, now);
	oae_note(a, OAE_N_PORT);
	if (oae_express_out(l))
		oae_offer_drop(l, l->tx + 1, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	l->settle_until = 0;
	l->peer_ltag = 0;
	l->heard.inc = 0;
	sync_begin_anew(l, now, a);
	oae_finish(l, now, a);
}

/* The peer has a new incarnation. */
static void sync_new_peer(struct oae_link *l, const struct oae_frame *f,
			  struct oae_actions *a)
{
	/* No event leads to counters without a known peer; note them nevertheless. */
	if (l->peer_inc || l->tx != l->start || l->rx)
		oae_note(a, OAE_N_PEER_NEW);
	/* The old incarnation may have delivered the express. */
	if (oae_express_out(l))
		oae_offer_drop(l, l->tx + 1, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	oae_forget_run(l, a);
	oae_mtu_forget(l);
	l->most = 0;
	l->rx = f->sync.start;
	l->peer_inc = f->sync.inc;
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
	return oae_dist(l->peer_rx, l->tx + out) >= 0;
}

static void sync_heard(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->heard_at = now;
	l->asked_at = 0;
	l->silent_at = 0;
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
	else if (!l->srtt)
		oae_rtt_guess(l, took < most ? took : most);
}

static void sync_opened(struct oae_link *l, const struct oae_frame *f, u64 now,
			struct oae_actions *a)
{
	oae_note(a, l->peer_mtu ? OAE_N_RESOLVED : OAE_N_OPENED);
	sync_took(l, now - l->sync_at);
	sync_learn(l, f);
	l->peer_max_len = f->sync.max_len;
	l->peer_packs = l->heard.packs;
	l->peer_paths = l->heard.paths;
	l->peer_gateway = l->heard.gateway;
	if (l->heard.met || (l->paths && l->peer_paths))
		l->by_inc = true;
	oae_set_senior(l);
	l->peer_mtu = f->sync.mtu < OAE_MIN_MTU ? OAE_MIN_MTU : f->sync.mtu;
	l->state = OAE_OPEN;
	l->again_at = 0;
	l->ready_due = false;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	l->active_at = now;
	l->moved_at = now;
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
	bool settles = l->settle_until, was_out;
	s32 in, out, i;

	if (f->sync.peer_inc != l->inc) {
		/* Its counters belong to an old incarnation of this end. */
		peer_tx = f->sync.start;
		peer_rx = l->start;
	}
	if (f->sync.inc != l->peer_inc)
		sync_new_peer(l, f, a);

	in = oae_dist(l->rx, peer_tx);
	out = oae_dist(l->tx, peer_rx);
	if (!sync_fits(l, in, out)) {
		sync_learn(l, f);
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
	oae_send_sync(l, OAE_SYNC_ACK, l->peer_ltag, a);

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
	if (f->dst_ltag != l->ltag || f->src_ltag != l->peer_ltag ||
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
	if (out <= 0 && oae_dist(l->peer_rx, f->rx) > 0)
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
	if (f->sync.inc != l->peer_inc) {
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
	sync_learn(l, f);
	oae_freeze(l, OAE_N_PEER_FROZE, now, a);
	l->state = OAE_SYNC_RECD;
}

/* SYNC at an OPEN end. */
static void open_sync(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	if (f->src_ltag == l->peer_ltag) {
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
		sync_learn(l, f);
		l->state = OAE_SYNC_RECD;
		oae_send_sync(l, OAE_SYNC, l->peer_ltag, a);
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
	else if (f->src_ltag == l->peer_ltag)
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
	     (!l->asked_at || f->src_ltag == l->peer_ltag))) {
		oae_note(a, OAE_N_STALE_SYNC);
		return;
	}
	sync_learn(l, f);
	if (l->state == OAE_OPEN) {
		oae_freeze(l, OAE_N_NOLINK, now, a);
		return;
	}
	l->state = OAE_SYNC_RECD;
	oae_send_sync(l, OAE_SYNC, l->peer_ltag, a);
}
