// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (doc/protocol.md section 4.2): gathers the slices of an offer, holds
 * the transaction, reflects it, and delivers it when the initiator has committed. It
 * never decides. Pure, see link.h.
 *
 * The transaction held is always rx + 1. By hold.state:
 *
 *   NONE      no slice is here
 *   PARTIAL   some slices of hold.attempt are here
 *   ASKED     a verb: the caller is asked to compute it
 *   HELD      all slices are here and were reflected; waits for the commit
 *   REFUSED   hold.attempt was refused, and stays refused: the initiator no longer
 *             counts it as in flight, so a late copy must not be taken
 *   REVERSED  hold.attempt was reversed, likewise
 *   KEPT      slices of an earlier run, for an offer with RESUME
 */
#include "link_int.h"

/* Forget slices and attempt, as if rx + 1 had never been offered. */
static void hold_reset(struct oae_link *l)
{
	l->hold.state = OAE_HOLD_NONE;
	l->hold.have = 0;
	l->hold.len = 0;
	l->hold.nslices = 0;
	l->hold.attempt = 0;
}

/**
 * oae_hold_discard() - drop what is held or gathered
 * @l: the link
 * @a: actions
 */
void oae_hold_discard(struct oae_link *l, struct oae_actions *a)
{
	oae_half_back(l, a);
	if (l->hold.have)
		oae_op(a, OAE_OP_DISCARD);
	hold_reset(l);
}

/**
 * oae_hold_keep() - keep the slices of a run that ended undecided, for RESUME
 * @l: the link; what is held was not committed
 * @a: actions
 *
 * A single slice is not kept: the initiator sends the LAST slice in any case.
 */
void oae_hold_keep(struct oae_link *l, struct oae_actions *a)
{
	bool slices = l->hold.state == OAE_HOLD_PARTIAL ||
		      l->hold.state == OAE_HOLD_HELD ||
		      l->hold.state == OAE_HOLD_KEPT;

	if (!slices || !l->hold.have || l->hold.nslices == 1) {
		oae_hold_discard(l, a);
		return;
	}
	l->hold.state = OAE_HOLD_KEPT;
	l->hold.attempt = 0;
}

/* Hand the committed transaction over to the swap, the region or the reader. */
static void hold_hand_over(struct oae_link *l, struct oae_actions *a)
{
	switch (l->hold.kind) {
	case OAE_SWAP:
		oae_op(a, OAE_OP_TAKE)->handle = l->half.p.handle;
		oae_complete(a, l->half.p.handle, OAE_COMMITTED, 0);
		l->half.state = OAE_HALF_NONE;
		break;
	case OAE_VERB:
		oae_op(a, OAE_OP_APPLY);
		break;
	default:
		oae_op(a, OAE_OP_DELIVER)->slice = l->hold.nslices;
	}
}

/**
 * oae_hold_deliver() - deliver what is held, and advance rx (protocol 4.2, step 4)
 * @l: the link; hold.state is HELD
 * @now: ns
 * @a: actions
 */
void oae_hold_deliver(struct oae_link *l, u64 now, struct oae_actions *a)
{
	hold_hand_over(l, a);
	l->rx++;
	l->last_express = l->hold.express;
	l->unseen = l->hold.express;
	l->last_kind = l->hold.kind;
	l->backoff = 0;
	l->active_at = now;
	hold_reset(l);
}

static void hold_send_reflect(struct oae_link *l, u32 seq, u8 attempt, u8 kind,
			      struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFLECT);

	s->frame.seq = seq;
	s->frame.attempt = attempt;
	s->frame.kind = kind;
	s->frame.reflect.digest = l->hold.digest;
	s->frame.reflect.first = l->hold.first;
	if (kind == OAE_MESSAGE)
		return;
	s->handle = l->half.p.handle;
	s->frame.length = OAE_REFLECT_LEN + l->hold.reply;
}

static void hold_send_refuse(struct oae_link *l, u16 reason, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFUSE);

	s->frame.seq = l->rx + 1;
	s->frame.attempt = l->hold.attempt;
	s->frame.kind = l->hold.kind;
	s->frame.reason = reason;
	if (reason == OAE_R_GAP)
		s->frame.gap_map = oae_slice_mask(l->hold.nslices) &
				   ~l->hold.have;
}

static void hold_refuse(struct oae_link *l, u16 reason, struct oae_actions *a)
{
	u8 attempt = l->hold.attempt;

	oae_hold_discard(l, a);
	l->hold.attempt = attempt;
	l->hold.state = OAE_HOLD_REFUSED;
	l->hold.reason = reason;
	if ((reason == OAE_R_BUSY || reason == OAE_R_CONFLICT) && !l->closing)
		l->ready_due = true;
	oae_note(a, OAE_N_REFUSED);
	hold_send_refuse(l, reason, a);
}

/*
 * Do the slices that are here count for this attempt (protocol 4.2, step 2)? Within a
 * run only those of the attempt just before it do. After a freeze the initiator sets
 * RESUME only if the transaction has had one content only.
 */
static bool hold_resumes(const struct oae_link *l, const struct oae_frame *f)
{
	if (!(f->flags & OAE_F_RESUME) || !l->hold.have)
		return false;
	if (l->hold.express != !!(f->flags & OAE_F_EXPRESS) ||
	    l->hold.kind != f->kind)
		return false;
	if (l->hold.state == OAE_HOLD_KEPT)
		return true;
	return (l->hold.state == OAE_HOLD_PARTIAL ||
		l->hold.state == OAE_HOLD_HELD) &&
	       f->attempt == l->hold.attempt + 1;
}

/* Was hold.attempt seen in this run? */
static bool hold_begun(const struct oae_link *l)
{
	return l->hold.state != OAE_HOLD_NONE && l->hold.state != OAE_HOLD_KEPT;
}

/* Begin an attempt that is newer than any seen. False: it was refused. */
static bool hold_begin_attempt(struct oae_link *l, const struct oae_frame *f,
			       bool room, struct oae_actions *a)
{
	if (!hold_resumes(l, f)) {
		oae_hold_discard(l, a);
		l->hold.express = f->flags & OAE_F_EXPRESS;
		l->hold.kind = f->kind;
	}
	l->hold.state = OAE_HOLD_PARTIAL;
	l->hold.attempt = f->attempt;

	/* Only a message needs room: swaps and verbs are not read. */
	if (!room && f->kind == OAE_MESSAGE) {
		hold_refuse(l, OAE_R_BUSY, a);
		return false;
	}
	return true;
}

/* All slices are here: hold the transaction and reflect it, or refuse it. */
static void hold(struct oae_link *l, const struct oae_frame *f, u64 now,
		 struct oae_actions *a)
{
	u32 seq = f->seq;

	l->hold.at = now;
	l->active_at = now;
	l->hold.digest = oae_whole_digest(l->hold.hash, l->hold.nslices);
	switch (f->kind) {
	case OAE_SWAP:
		if (!oae_half_lend(l, a)) {
			hold_refuse(l, OAE_R_NO_HALF, a);
			return;
		}
		l->hold.reply = l->half.p.len;
		break;
	case OAE_VERB:
		l->hold.state = OAE_HOLD_ASKED;
		oae_op(a, OAE_OP_VERB);
		return;
	}
	l->hold.state = OAE_HOLD_HELD;
	oae_note(a, OAE_N_HELD);
	if (l->hold.express)
		oae_hold_deliver(l, now, a);
	hold_send_reflect(l, seq, f->attempt, f->kind, a);
}

/**
 * oae_link_computed() - complete OAE_OP_VERB (protocol 4.10)
 * @l: the link
 * @reason: 0, or why the verb is refused, enum oae_reason
 * @reply: length of the answer, which the caller keeps, bytes
 * @now: ns
 * @a: actions, the same list that held the OAE_OP_VERB
 */
void oae_link_computed(struct oae_link *l, u16 reason, u16 reply, u64 now,
		       struct oae_actions *a)
{
	if (l->hold.state != OAE_HOLD_ASKED)
		return;
	now = oae_now(l, now);
	if (!reason && reply + OAE_REFLECT_LEN > oae_link_slice_max(l))
		reason = OAE_R_TOO_BIG;
	if (reason) {
		hold_refuse(l, reason, a);
	} else {
		l->hold.state = OAE_HOLD_HELD;
		l->hold.reply = reply;
		oae_note(a, OAE_N_HELD);
		hold_send_reflect(l, l->rx + 1, l->hold.attempt, OAE_VERB, a);
	}
	/* The answer goes first, so link_rcv_data() left the pump to this. */
	oae_offer_pump(l, now, a);
	/* Closing, and the timer, depend on the state set here. */
	oae_finish(l, now, a);
}

/* Keep a slice of the present attempt. False: drop the frame. */
static bool hold_keep_slice(struct oae_link *l, const struct oae_frame *f,
			    struct oae_actions *a)
{
	unsigned int n = f->slice + 1;

	/* All slices of an attempt have the same kind. */
	if (f->kind != l->hold.kind) {
		oae_note(a, OAE_N_BAD_SLICE);
		return false;
	}
	if (f->flags & OAE_F_LAST) {
		if ((l->hold.nslices && l->hold.nslices != n) ||
		    (l->hold.have & ~oae_slice_mask(n))) {
			oae_note(a, OAE_N_BAD_SLICE);
			return false;
		}
		l->hold.nslices = n;
	} else if (l->hold.nslices && n >= l->hold.nslices) {
		oae_note(a, OAE_N_BAD_SLICE);
		return false;
	}

	if (l->hold.have & 1ULL << f->slice) {
		/* LAST again is how the initiator asks what is missing. */
		if (!(f->flags & OAE_F_LAST))
			oae_note(a, OAE_N_DUP_SLICE);
		return true;
	}
	if ((u64)l->hold.len + f->length > l->cfg->max_len) {
		hold_refuse(l, OAE_R_TOO_BIG, a);
		return false;
	}

	l->hold.have |= 1ULL << f->slice;
	l->hold.hash[f->slice] = f->payload_hash;
	l->hold.len += f->length;
	if (!f->slice)
		l->hold.first = f->first;
	oae_op(a, OAE_OP_KEEP)->slice = f->slice;
	return true;
}

/* An offer of transaction rx: reflect an express again (protocol 4.3). */
static void hold_offer_delivered(struct oae_link *l, const struct oae_frame *f,
				 struct oae_actions *a)
{
	if (!l->last_express || !(f->flags & OAE_F_EXPRESS) || l->hold.have) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	oae_note(a, OAE_N_REFLECTED_AGAIN);
	if (f->flags & OAE_F_LAST)
		hold_send_reflect(l, f->seq, f->attempt, l->last_kind, a);
}

/**
 * oae_rcv_offer() - handle a slice of an offer (protocol 4.2, steps 1 to 3 and 5)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @room: the reader has room for one more transaction
 * @now: ns
 * @a: actions
 */
void oae_rcv_offer(struct oae_link *l, const struct oae_frame *f, bool room,
		   u64 now, struct oae_actions *a)
{
	if (f->seq == l->rx) {
		hold_offer_delivered(l, f, a);
		return;
	}
	if (f->seq != l->rx + 1) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	if (f->attempt < l->hold.attempt) {
		oae_note(a, OAE_N_OLD_ATTEMPT);
		return;
	}
	if ((f->attempt > l->hold.attempt || !hold_begun(l)) &&
	    !hold_begin_attempt(l, f, room, a))
		return;

	switch (l->hold.state) {
	case OAE_HOLD_REVERSED:
		oae_note(a, OAE_N_OLD_ATTEMPT);
		return;
	case OAE_HOLD_REFUSED:
		oae_note(a, OAE_N_OLD_ATTEMPT);
		if (f->flags & OAE_F_LAST)
			hold_send_refuse(l, l->hold.reason, a);
		return;
	case OAE_HOLD_HELD:
		oae_note(a, OAE_N_REFLECTED_AGAIN);
		if (f->flags & OAE_F_LAST)
			hold_send_reflect(l, f->seq, f->attempt, l->hold.kind, a);
		return;
	default:
		break;
	}

	/*
	 * An end that closes takes nothing that it does not hold. Otherwise a peer
	 * that always has more to send would keep CLOSE from ever going out. No
	 * READY follows. An end that settles refuses, too, and sends READY later.
	 */
	if (oae_takes_nothing(l)) {
		hold_refuse(l, f->kind == OAE_SWAP ? OAE_R_NO_HALF : OAE_R_BUSY, a);
		return;
	}
	if (!hold_keep_slice(l, f, a))
		return;
	if (l->hold.nslices &&
	    l->hold.have == oae_slice_mask(l->hold.nslices)) {
		hold(l, f, now, a);
	} else if (f->flags & OAE_F_LAST) {
		oae_note(a, OAE_N_GAP);
		hold_send_refuse(l, OAE_R_GAP, a);
	}
}

/**
 * oae_rcv_reverse() - handle REVERSE: drop an attempt (protocol 4.2, step 5)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @a: actions
 */
void oae_rcv_reverse(struct oae_link *l, const struct oae_frame *f,
		     struct oae_actions *a)
{
	if (f->seq != l->rx + 1 || f->attempt < l->hold.attempt) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	if (l->hold.state == OAE_HOLD_HELD)
		oae_note(a, OAE_N_DROPPED);
	oae_hold_discard(l, a);
	l->hold.attempt = f->attempt;
	l->hold.state = OAE_HOLD_REVERSED;
}
