// SPDX-License-Identifier: GPL-2.0
/*
 * Synchronising (doc/protocol.md section 4.5): freezing after a failure,
 * finding out where both ends stand, and resolving what was in flight.
 *
 * Five things here look optional and are not (protocol 4.5, and the
 * explorer shows why): data frames must match both ltags; an end resolves only
 * against a frame that names its own current ltag; an OPEN end answers a SYNC
 * that repeats the known ltag; SYNC carries both incarnations; an express once
 * offered to an incarnation that died ends UNKNOWN.
 */
#include "link_int.h"

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
}

/**
 * oae_send_sync() - send SYNC, SYNC_ACK or SYNC_CHK
 * @l: the link
 * @opcode: which
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
	if (l->hold.state == OAE_HOLD_HELD)
		s->frame.flags |= OAE_F_HELD;
	s->frame.sync.inc = l->inc;
	s->frame.sync.peer_inc = l->peer_inc;
	s->frame.sync.caps = 0;
	s->frame.sync.max_len = l->cfg->max_len;
	s->frame.sync.start = l->start;
	s->frame.sync.mtu = l->mtu;
}

/**
 * oae_ask() - ask now, again after the stall time, then ever more slowly
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

/* A new run begins: whatever was sent to the ltag of before is void. */
static void begin_sync(struct oae_link *l, enum oae_state state, u64 now,
		       struct oae_actions *a)
{
	sync_draw_ltag(l);
	l->sync_at = now;
	l->syncs = 0;
	l->state = state;
	l->close_sent = false;
	if (!l->asked_at)
		l->asked_at = now;
	oae_ask(l, now, a);
}

/**
 * oae_freeze() - the link has failed: stop, and compare where both ends stand
 * @l: the link, OPEN
 * @why: what to note
 * @now: ns
 * @a: actions
 */
void oae_freeze(struct oae_link *l, enum oae_note why, u64 now,
		struct oae_actions *a)
{
	oae_note(a, why);
	oae_late_begin(l);
	if (why == OAE_N_STALL || why == OAE_N_PEER_FROZE)
		oae_stalled(l, now, a);
	if (l->hold.state != OAE_HOLD_HELD)
		oae_hold_keep(l, a);
	/* Whoever noticed it waits longer the next time. */
	if (why != OAE_N_PEER_FROZE && l->backoff < OAE_MAX_BACKOFF)
		l->backoff++;
	begin_sync(l, OAE_SYNC_SENT, now, a);
}

/* The peer's ltag, and what it said of itself along with it. */
static void sync_learn(struct oae_link *l, const struct oae_frame *f)
{
	l->peer_ltag = f->src_ltag;
	l->heard.inc = f->sync.inc;
	l->heard.max_len = f->sync.max_len;
	l->heard.start = f->sync.start;
	l->heard.mtu = f->sync.mtu;
}

/**
 * oae_link_open() - begin to open a link
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
 * oae_link_accept() - a stranger's SYNC was admitted
 * @l: the link, CLOSED
 * @sync: the SYNC that named a valid cookie, or came from a configured peer
 * @now: ns
 * @a: actions
 *
 * The link draws an ltag of its own: the cookie as the ltag would let a
 * replayed SYNC bring an old run back to life.
 */
void oae_link_accept(struct oae_link *l, const struct oae_frame *sync, u64 now,
		     struct oae_actions *a)
{
	if (l->state != OAE_CLOSED)
		return;
	now = oae_now(l, now);
	sync_draw_inc(l);
	sync_learn(l, sync);
	begin_sync(l, OAE_SYNC_RECD, now, a);
	oae_finish(l, now, a);
}

/* Both counters start again; whoever relied on them is told. */
static void sync_forget_run(struct oae_link *l, struct oae_actions *a)
{
	if (l->hold.state == OAE_HOLD_HELD)
		oae_note(a, OAE_N_HELD_LOST);
	/* The dead may have used it. */
	if (l->half.state == OAE_HALF_LENT)
		oae_half_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	oae_hold_discard(l, a);
	if (!l->confirmed)
		oae_note(a, OAE_N_UNCONFIRMED);
	l->tx = l->start;
	l->confirmed = true;
	l->await_done = false;
	l->clean = false;
	l->last_express = false;
	l->unseen = false;
	l->peer_closing = false;
}

/* As an end that nobody knows: both counters and the incarnation are new. */
static void sync_begin_anew(struct oae_link *l, u64 now, struct oae_actions *a)
{
	sync_forget_run(l, a);
	sync_draw_inc(l);
	l->peer_inc = 0;
	l->rx = 0;
	begin_sync(l, OAE_SYNC_SENT, now, a);
}

/**
 * oae_broken() - the two ends cannot both be right: start again
 * @l: the link, not CLOSED
 * @now: ns
 * @a: actions
 *
 * New incarnations on both sides: this one draws its own, and the peer, to
 * which this end is new, starts again as well. What is in flight ends UNKNOWN,
 * since nothing the peer says about it can be relied on.
 */
void oae_broken(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_note(a, OAE_N_BROKEN);
	if (l->offer.state == OAE_OFFER_OUT)
		oae_offer_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	sync_begin_anew(l, now, a);
}

/**
 * oae_link_renamed() - the port has another address
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * By its address a peer knows an end, so this is a new one from now on. Were
 * it to keep its incarnation and take the old address again later, it would
 * meet the end there that knows it, with counters of long ago. What is offered
 * atomically was not committed, and is offered anew; what the peer's end for
 * the old address holds stays there and is dropped.
 */
void oae_link_renamed(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED)
		return;
	now = oae_now(l, now);
	oae_note(a, OAE_N_PORT);
	if (l->offer.state == OAE_OFFER_OUT && !oae_offer_reversible(l))
		oae_offer_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	l->settle_until = 0;
	l->peer_ltag = 0;
	l->heard.inc = 0;
	sync_begin_anew(l, now, a);
	oae_finish(l, now, a);
}

/* The peer's end is not the one known before. */
static void sync_new_peer(struct oae_link *l, const struct oae_frame *f,
			  struct oae_actions *a)
{
	/* Counters, and nobody they are of: no event leads there, but say it. */
	if (l->peer_inc || l->tx != l->start || l->rx)
		oae_note(a, OAE_N_PEER_NEW);
	/* The dead may have delivered it. */
	if (l->offer.state == OAE_OFFER_OUT && !oae_offer_reversible(l))
		oae_offer_drop(l, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	sync_forget_run(l, a);
	oae_offer_uncut(l);
	l->rx = f->sync.start;
	l->peer_inc = f->sync.inc;
}

/* What an end may find when it resolves; see the table in the protocol. */
static bool sync_fits(const struct oae_link *l, s32 in, s32 out)
{
	switch (in) {
	case 0:
		break;
	case 1:		/* the peer has committed what I hold */
		if (l->hold.state != OAE_HOLD_HELD)
			return false;
		break;
	case -1:	/* an express that the peer does not know of yet */
		if (!l->last_express)
			return false;
		break;
	default:
		return false;
	}

	switch (out) {
	case 0:
		return true;
	case -1:	/* the peer is about to deliver what I committed */
		return !l->confirmed;
	case 1:		/* it has delivered my express */
		return l->offer.state == OAE_OFFER_OUT &&
		       !oae_offer_reversible(l);
	default:
		return false;
	}
}

static void sync_heard(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->heard_at = now;
	l->asked_at = 0;
	if (l->down) {
		l->down = false;
		oae_note(a, OAE_N_UP);
	}
}

static void sync_opened(struct oae_link *l, const struct oae_frame *f, u64 now,
			struct oae_actions *a)
{
	oae_note(a, l->peer_mtu ? OAE_N_RESOLVED : OAE_N_OPENED);
	/* Sent once, it is what was answered. No time: a clock that is behind. */
	if (l->syncs == 1 && now > l->sync_at)
		oae_rtt_sample(l, now - l->sync_at);
	sync_learn(l, f);
	l->peer_max_len = f->sync.max_len;
	if (l->peer_mtu && l->peer_mtu != f->sync.mtu)
		oae_offer_uncut(l);
	l->peer_mtu = f->sync.mtu < OAE_MIN_MTU ? OAE_MIN_MTU : f->sync.mtu;
	l->state = OAE_OPEN;
	l->attempt = 0;
	l->again_at = 0;
	l->ready_due = false;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	l->active_at = now;
	sync_heard(l, now, a);
}

/*
 * Resolve against a SYNC or SYNC_ACK that names my current ltag: what was in
 * flight is committed or reversed, and the link is open again.
 */
static void sync_resolve(struct oae_link *l, const struct oae_frame *f, u64 now,
			 struct oae_actions *a)
{
	u32 peer_tx = f->tx, peer_rx = f->rx;
	s32 in, out;

	if (f->sync.peer_inc != l->inc) {
		/* It speaks of another me: to this one its counters mean 0. */
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

	oae_answered(l, now, in == 1, out == 1);
	if (in == 1)
		oae_hold_deliver(l, now, a);
	else
		oae_hold_keep(l, a);
	if (in == 0)
		l->unseen = false;
	if (out == 1)
		oae_offer_committed(l, now, a);
	if (out == 0)
		oae_offer_delivered(l, a);
	/*
	 * The peer may be frozen still, and open into an earlier run, whose
	 * SYNC_ACK and express are on their way.
	 */
	l->offer.doubt = f->opcode == OAE_SYNC && !oae_offer_reversible(l);

	sync_opened(l, f, now, a);
	oae_send_sync(l, OAE_SYNC_ACK, l->peer_ltag, a);

	/* In this run nobody owes a READY for what stepped aside. */
	l->aside.ready = true;
	if (l->offer.state != OAE_OFFER_NONE)
		oae_offer_again(l, now, a);
	else
		oae_offer_pump(l, now, a);
	l->done_at = now;
	if (l->await_done && l->offer.state != OAE_OFFER_OUT)
		oae_send_commit(l, a);
}

/**
 * oae_resolve_by_data() - a data frame has overtaken the SYNC_ACK before it
 * @l: the link, frozen
 * @f: a data frame
 * @now: ns
 * @a: actions
 *
 * A peer that sends data naming both current ltags has resolved against a SYNC
 * of mine; its counters cannot have moved since, for I am frozen. So the frame
 * says all that the SYNC_ACK said, but for what the SYNC that told me its ltag
 * had said already.
 *
 * Return: true if the link is open now.
 */
bool oae_resolve_by_data(struct oae_link *l, const struct oae_frame *f,
			 u64 now, struct oae_actions *a)
{
	struct oae_frame ack = {
		.opcode = OAE_SYNC_ACK,
		.src_ltag = f->src_ltag,
		.tx = f->tx,
		.rx = f->rx,
	};

	/* Of what opens a run, only these; others are said by strangers too. */
	if (f->opcode != OAE_OFFER && f->opcode != OAE_COMMIT)
		return false;
	if (f->dst_ltag != l->ltag || f->src_ltag != l->peer_ltag ||
	    !l->heard.inc)
		return false;
	ack.sync.inc = l->heard.inc;
	ack.sync.peer_inc = l->inc;
	ack.sync.max_len = l->heard.max_len;
	ack.sync.start = l->heard.start;
	ack.sync.mtu = l->heard.mtu;
	sync_resolve(l, &ack, now, a);
	return l->state == OAE_OPEN;
}

/**
 * oae_run_progress() - take the peer's tx and rx from a frame of this run
 * @l: the link, OPEN; the frame matches both ltags
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * Any frame of this run may carry a commit of what is held (protocol 4.2,
 * step 4) and the word that what was committed is delivered.
 *
 * Return: false if no legal state sends this, and the link froze.
 */
bool oae_run_progress(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a)
{
	s32 in = oae_dist(l->rx, f->tx);
	s32 out = oae_dist(l->tx, f->rx);

	sync_heard(l, now, a);
	/* Older ones are frames that were delayed: they say nothing new. */
	if ((in > 0 && !sync_fits(l, in, 0)) || (out > 0 && !sync_fits(l, 0, out))) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return false;
	}
	if (in == 1) {
		oae_rtt_sample(l, now - l->hold.at);
		oae_hold_deliver(l, now, a);
	}
	if (in == 0)
		l->unseen = false;
	if (out == 0 && !l->confirmed)
		oae_offer_delivered(l, a);
	if (out == 0 && f->opcode != OAE_SYNC)
		oae_offer_sure(l, now, a);
	return true;
}

/*
 * A SYNC_* of this run at an OPEN end. One sent before its sender resolved may
 * still speak of another incarnation of me: then its counters are not of this
 * run. But an ltag has only one incarnation behind it.
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

/* The peer's ltag is another than I know: its run has failed, and so mine. */
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
		/* A probe, or my SYNC_ACK was lost: always answered. */
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
 * oae_rcv_sync() - the peer says where it stands, and wants an answer
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
 * oae_rcv_sync_ack() - the peer has resolved; so may a frozen end
 * @l: the link, not CLOSED
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * An OPEN end that has asked may hear that the peer, OPEN too, has another ltag
 * than it knows: the peer froze once more and resolved against an older SYNC.
 * Neither end would see any progress, and an idle one would never know why.
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
 * oae_rcv_sync_chk() - the peer's ltag is another than the one I named
 * @l: the link, not CLOSED
 * @f: the frame
 * @now: ns
 * @a: actions
 *
 * An OPEN end gets one, naming its ltag, when it probed a peer that has
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
