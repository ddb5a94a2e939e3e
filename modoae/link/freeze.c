// SPDX-License-Identifier: GPL-2.0
/*
 * Freezing after a failure (doc/protocol.md section 4.5): what an end forgets, and how it asks
 * where the other one stands. Pure, see link.h.
 */
#include "link_int.h"

static void freeze_draw_ltag(struct oae_link *l)
{
	u32 old = l->ltag;

	do {
		l->ltag = l->cfg->random();
	} while (!l->ltag || l->ltag == old);
}

static void freeze_draw_inc(struct oae_link *l)
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
	s->frame.sync.peer_inc = l->peer.inc;
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
	oae_repeat(l, false, now);
	oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
}

/* Begin to synchronise, with a new ltag: frames to the old ltag are void. */
static void freeze_begin(struct oae_link *l, enum oae_state state, u64 now,
			 struct oae_actions *a)
{
	freeze_draw_ltag(l);
	oae_lane_froze(l);
	if (l->leaving)
		l->settle_until = 0;
	l->leaving = false;
	l->window = l->cfg->window ? l->cfg->window : 1;
	l->packs = l->cfg->pack;
	l->paths = l->cfg->paths;
	l->sync_at = now;
	l->syncs = 0;
	l->mtu.search = 0;
	l->credit.blocked = false;
	l->credit.said_blocked = false;
	l->state = state;
	l->close_sent = OAE_CLOSING_NOT;
	/* A peer that closes says so in each run. */
	l->peer.closing = OAE_CLOSING_NOT;
	/* Nobody has answered the questions of the timer. */
	l->asked_at = oae_silent_since(l) ?: now;
	l->timer.silent_at = 0;
	l->timer.asks = 0;
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
	freeze_begin(l, OAE_SYNC_SENT, now, a);
}

/**
 * oae_freeze_learn() - record the peer's ltag, and what else its SYNC said
 * @l: the link
 * @f: the SYNC, SYNC_ACK or SYNC_CHK
 */
void oae_freeze_learn(struct oae_link *l, const struct oae_frame *f)
{
	l->peer.ltag = f->src_ltag;
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
	if (l->by_inc && l->inc != l->peer.inc)
		l->senior = l->inc > l->peer.inc;
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
	freeze_draw_inc(l);
	freeze_begin(l, OAE_SYNC_SENT, now, a);
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
	freeze_draw_inc(l);
	oae_freeze_learn(l, sync);
	freeze_begin(l, OAE_SYNC_RECD, now, a);
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
	oae_notes(a, OAE_N_UNCONFIRMED, l->tx - l->peer.rx);
	/* Offered contents stay in their places. */
	l->base += l->start - l->tx;
	l->tx = l->start;
	l->peer.rx = l->start;
	l->await_done = false;
	l->last_express = false;
	l->unseen = false;
}

/* Begin as a new end: with new counters and a new incarnation. */
static void freeze_begin_anew(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_forget_run(l, a);
	freeze_draw_inc(l);
	l->peer.inc = 0;
	l->rx = 0;
	freeze_begin(l, OAE_SYNC_SENT, now, a);
}

/* Offers in flight end UNKNOWN. */
static void freeze_drop_undecided(struct oae_link *l, struct oae_actions *a)
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
	freeze_drop_undecided(l, a);
	freeze_begin_anew(l, now, a);
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
	l->peer.ltag = 0;
	l->heard.inc = 0;
	freeze_begin_anew(l, now, a);
	oae_finish(l, now, a);
}
