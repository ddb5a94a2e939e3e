// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (doc/protocol.md sections 4.2, 4.10 and 4.11): the slices of an offer are gathered,
 * and it is held and reflected, or refused. What is held is delivered when the initiator has
 * committed: the responder never decides. Pure, see link.h.
 *
 * Numbers that are held are above rx. By the state of a number:
 *
 *   NONE      no slice is here
 *   PARTIAL   some slices are here
 *   HELD      all slices are here and were reflected; waits for the commit
 *   REFUSED   for good, until nothing takes its place; or for now: once the initiator was told
 *             what it offers is judged anew
 *   KEPT      slices of an earlier run, for an offer with RESUME; each SYNC tells of them
 *   WAITS     a verb is here, and is computed once all numbers below it are held
 */
#include "link_int.h"

/* The number is held no more, and takes no room any more. */
static void hold_leave(struct oae_link *l, struct oae_hold *h)
{
	if (h->state == OAE_HOLD_HELD && l->nheld)
		l->nheld--;
	if (h->state == OAE_HOLD_WAITS && l->nwait)
		l->nwait--;
	oae_credit_left(l, h);
}

/* Forget the slices, as if the number had never been offered. */
static void hold_reset(struct oae_link *l, struct oae_hold *h)
{
	hold_leave(l, h);
	h->state = OAE_HOLD_NONE;
	h->have = 0;
	h->len = 0;
	h->nslices = 0;
}

/* Drop what is held or gathered of a number. */
static void hold_discard(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);

	/* A half is lent for rx + 1 only. */
	if (seq == l->rx + 1)
		oae_half_back(l, a);
	if (h->have)
		oae_op(a, OAE_OP_DISCARD)->seq = seq;
	hold_reset(l, h);
}

/**
 * oae_hold_discard_all() - drop all that is held or gathered
 * @l: the link
 * @a: actions
 */
void oae_hold_discard_all(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = oae_hold_places(l);

	for (i = 1; i <= n; i++)
		hold_discard(l, l->rx + i, a);
}

/*
 * Are there slices that a freeze leaves, for RESUME? A single slice is not kept: something
 * is sent in any case.
 */
static bool hold_keeps(const struct oae_hold *h)
{
	bool slices = h->state == OAE_HOLD_PARTIAL || h->state == OAE_HOLD_HELD ||
		      h->state == OAE_HOLD_KEPT;

	return slices && h->have && h->nslices != 1;
}

/* The caller has no hash yet of what this event has kept. */
static void hold_hashes(u32 seq, unsigned int n, u64 *hash, struct oae_actions *a)
{
	unsigned int i;

	a->hashes(a, seq, n, hash);
	for (i = a->done; i < a->nops; i++)
		if (a->op[i].type == OAE_OP_KEEP && a->op[i].seq == seq)
			hash[a->op[i].slice] = a->op[i].hash;
}

/**
 * oae_hold_tell() - tell which slices of rx + 1 are kept if the link freezes (protocol 2.3)
 * @l: the link
 * @f: a SYNC or SYNC_ACK
 * @a: actions
 */
void oae_hold_tell(const struct oae_link *l, struct oae_frame *f, struct oae_actions *a)
{
	const struct oae_hold *h = oae_first_hold(l);
	u64 hash[OAE_MAX_SLICES] oae_uninit;

	if (!hold_keeps(h))
		return;
	hold_hashes(l->rx + 1, fls64(h->have), hash, a);
	f->sync.kept = h->have;
	f->sync.hash = oae_kept_hash(h->have, hash);
	f->sync.last = h->nslices ? h->nslices - 1 : OAE_SYNC_NO_LAST;
}

/* Keep the slices of a number that is undecided at the end of a run. */
static void hold_keep(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);

	if (!hold_keeps(h)) {
		hold_discard(l, seq, a);
		return;
	}
	hold_leave(l, h);
	h->state = OAE_HOLD_KEPT;
}

/**
 * oae_hold_froze() - the link freezes: only what is held may still be committed
 * @l: the link
 * @a: actions
 *
 * Of what was gathered, only rx + 1 is kept.
 */
void oae_hold_froze(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = oae_hold_places(l);

	for (i = 1; i <= n; i++) {
		if (oae_hold_of(l, l->rx + i)->state == OAE_HOLD_HELD)
			continue;
		if (i == 1)
			hold_keep(l, l->rx + i, a);
		else
			hold_discard(l, l->rx + i, a);
	}
}

/**
 * oae_hold_resolved() - what is held still was not committed (protocol 4.5)
 * @l: the link, which resolves
 * @a: actions
 */
void oae_hold_resolved(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = oae_hold_places(l);

	hold_keep(l, l->rx + 1, a);
	for (i = 2; i <= n; i++)
		hold_discard(l, l->rx + i, a);
	l->firm = l->rx;
}

/**
 * oae_hold_has() - are the next numbers held?
 * @l: the link
 * @n: how many, more than 0
 *
 * Return: true if rx + 1 to rx + @n are.
 */
bool oae_hold_has(const struct oae_link *l, s32 n)
{
	s32 i;

	if (n > (s32)oae_hold_places(l))
		return false;
	for (i = 1; i <= n; i++)
		if (oae_hold_of(l, l->rx + i)->state != OAE_HOLD_HELD)
			return false;
	return true;
}

/**
 * oae_hold_stalled() - does anything held wait for the peer?
 * @l: the link
 *
 * A number above a refused one waits for READY of this end.
 *
 * Return: true if something is held, and all below it is not refused.
 */
bool oae_hold_stalled(const struct oae_link *l)
{
	const struct oae_hold *h;
	u32 i, n = oae_hold_places(l);

	if (!l->nheld)
		return false;
	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (h->state == OAE_HOLD_HELD)
			return true;
		if (h->state == OAE_HOLD_REFUSED && l->ready_due)
			return false;
	}
	return true;
}

/* Progress of the held ones: their waits begin anew. */
static void hold_moved(struct oae_link *l, u64 now)
{
	l->timer.held_at = now;
	l->timer.reflects = 0;
}

/**
 * oae_hold_ready() - words are free: READY, if the peer was refused for now
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_hold_ready(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN || !l->ready_due)
		return;
	l->ready_due = false;
	hold_moved(l, now);
	oae_send(l, a, OAE_READY);
}

/* How far is all held, without a gap? rx: not even the next one. */
static u32 hold_firm(struct oae_link *l)
{
	u32 n = oae_hold_places(l);

	if (l->firm - l->rx > n)
		l->firm = l->rx;
	while (l->firm - l->rx < n &&
	       oae_hold_of(l, l->firm + 1)->state == OAE_HOLD_HELD)
		l->firm++;
	return l->firm;
}

/**
 * oae_hold_stop() - take nothing more: drop all above what is held without a gap (protocol 4.7)
 * @l: the link, OPEN, which closes
 * @a: actions
 *
 * Return: the last number that is held so; rx if none is. It stays so until the run ends.
 */
u32 oae_hold_stop(struct oae_link *l, struct oae_actions *a)
{
	u32 seq, last = hold_firm(l), n = oae_hold_places(l);

	for (seq = last + 1; seq - l->rx <= n; seq++)
		hold_discard(l, seq, a);
	return last;
}

/* Hand the committed transaction over to the swap, the region or the reader. */
static void hold_hand_over(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	const struct oae_hold *h = oae_hold_of(l, seq);
	struct oae_op *op;

	switch (h->kind) {
	case OAE_SWAP:
		op = oae_op(a, OAE_OP_TAKE);
		op->seq = seq;
		op->handle = l->swaps->half.handle;
		oae_complete(a, l->swaps->half.handle, OAE_COMMITTED, 0);
		l->half.state = OAE_HALF_NONE;
		break;
	case OAE_VERB:
		oae_op(a, OAE_OP_APPLY)->seq = seq;
		break;
	case OAE_VOID:
		break;
	case OAE_PACK:
		oae_op(a, OAE_OP_UNPACK)->seq = seq;
		break;
	default:
		op = oae_op(a, OAE_OP_DELIVER);
		op->slice = h->nslices;
		op->seq = seq;
	}
}

/**
 * oae_hold_deliver() - deliver what is held of rx + 1 (protocol 4.2, step 4)
 * @l: the link; rx + 1 is HELD
 * @now: ns
 * @a: actions
 */
void oae_hold_deliver(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct oae_hold *h = oae_first_hold(l);

	hold_hand_over(l, l->rx + 1, a);
	oae_credit_delivered(l, h);
	l->rx++;
	l->last_express = h->express;
	l->unseen = h->express;
	l->backoff = 0;
	l->active_at = now;
	hold_moved(l, now);
	hold_reset(l, h);
}

static void hold_send_reflect(struct oae_link *l, u32 seq, const struct oae_hold *h,
			      u8 kind, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFLECT);

	s->frame.seq = seq;
	s->frame.kind = kind;
	s->frame.reflect.digest = h->digest;
	s->frame.reflect.first = h->first;
	if (!oae_kind_is(kind, OAE_T_ANSWER))
		return;
	s->handle = kind == OAE_SWAP ? l->swaps->half.handle : NULL;
	s->frame.length = OAE_REFLECT_LEN + h->reply;
}

static void hold_send_refuse(struct oae_link *l, u32 seq, u8 kind, u16 reason,
			     struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFUSE);

	s->frame.seq = seq;
	s->frame.kind = kind;
	s->frame.reason = reason;
}

/* The slices that are here of what a frame is about. */
static void hold_send_ack(struct oae_link *l, const struct oae_frame *f, u64 have,
			  struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_ACK);

	oae_note(a, OAE_N_GAP);
	s->frame.seq = f->seq;
	s->frame.kind = f->kind;
	s->frame.have = have;
}

/* Does the initiator want an answer? */
static bool hold_is_asked(const struct oae_frame *f)
{
	return f->opcode == OAE_ASK || f->marks & OAE_M_ANSWER;
}

/* Refuse what is offered under a number. If that is not asked for, the peer is told later. */
static void hold_refuse(struct oae_link *l, u32 seq, u16 reason, bool said,
			struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);

	hold_discard(l, seq, a);
	h->state = OAE_HOLD_REFUSED;
	h->reason = reason;
	h->said = said;
	if (reason == OAE_R_BUSY || reason == OAE_R_CONFLICT)
		l->ready_due = true;
	oae_note(a, OAE_N_REFUSED);
	if (said)
		hold_send_refuse(l, seq, h->kind, reason, a);
}

/* Is what was refused judged anew? Not before the peer has heard of it, nor if it was for good. */
static bool hold_judges_anew(const struct oae_hold *h)
{
	return h->said && oae_is_for_now(h->reason);
}

/* Is this the first of what is offered? Nothing (VOID) takes the place of all else. */
static bool hold_is_new(const struct oae_hold *h, const struct oae_frame *f)
{
	return !oae_hold_begun(h) || (f->kind == OAE_VOID && h->kind != OAE_VOID) ||
	       (h->state == OAE_HOLD_REFUSED && hold_judges_anew(h));
}

/* Does a slice fit to those that are here, and to their number? */
static bool hold_fits(const struct oae_hold *h, const struct oae_frame *f)
{
	unsigned int n = f->slice + 1;

	if (f->flags & OAE_F_LAST)
		return (!h->nslices || h->nslices == n) && !(h->have & ~oae_slice_mask(n));
	return !h->nslices || n < h->nslices;
}

/* Begin what is offered under a number. */
static void hold_begin_content(struct oae_link *l, const struct oae_frame *f, u64 now,
			       struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, f->seq);

	if (h->state == OAE_HOLD_HELD)
		oae_note(a, OAE_N_DROPPED);
	/* With RESUME what an earlier run has left is of this content. */
	if (!(f->flags & OAE_F_RESUME))
		hold_discard(l, f->seq, a);
	h->express = f->flags & OAE_F_EXPRESS;
	h->kind = f->kind;
	/* Numbers that are held above it wait for the peer again. */
	if (l->nheld)
		hold_moved(l, now);
	h->state = OAE_HOLD_PARTIAL;
	if (h->have)
		oae_credit_resumed(l, h);
}

static void hold_begin(struct oae_link *l, struct oae_hold *h, u64 now,
		       struct oae_actions *a)
{
	h->again = false;
	h->state = OAE_HOLD_HELD;
	l->nheld++;
	hold_moved(l, now);
	if (h->kind != OAE_VOID)
		oae_note(a, OAE_N_HELD);
}

/* Compute a verb: it is held and reflected, or refused. */
static void hold_verb(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);
	u16 reply = 0, reason = a->verb(a, seq, &reply);

	/* Without memory for it: as if its frame was lost. */
	if (reason == OAE_R_BUSY) {
		hold_discard(l, seq, a);
		return;
	}
	/* The way back is that of the question, which may carry more than the one in use. */
	if (!reason && reply + OAE_REFLECT_LEN > l->mtu.most)
		reason = OAE_R_TOO_BIG;
	if (reason) {
		hold_refuse(l, seq, reason, true, a);
		return;
	}
	hold_begin(l, h, now, a);
	h->reply = reply;
	hold_send_reflect(l, seq, h, OAE_VERB, a);
}

/**
 * oae_hold_compute() - compute the verbs that have waited (protocol 4.10)
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * An event answers a few. If there are more, oae_link_more() says so.
 */
void oae_hold_compute(struct oae_link *l, u64 now, struct oae_actions *a)
{
	u32 seq;

	l->more_verbs = false;
	while (l->nwait && l->state == OAE_OPEN) {
		seq = hold_firm(l) + 1;
		if (seq - l->rx > oae_hold_places(l) ||
		    oae_hold_of(l, seq)->state != OAE_HOLD_WAITS)
			return;
		if (a->nsends >= OAE_PUMP_SENDS) {
			l->more_verbs = true;
			return;
		}
		l->nwait--;
		oae_hold_of(l, seq)->state = OAE_HOLD_PARTIAL;
		/* An end that settles takes nothing that it does not hold. */
		if (l->settle_until)
			hold_refuse(l, seq, OAE_R_BUSY, true, a);
		else
			hold_verb(l, seq, now, a);
	}
}

/*
 * The digest of what is here. The caller has the hashes of the slices; if this frame's
 * was not here before, its hash is not among them yet.
 */
static u64 hold_digest_of_many(const struct oae_hold *h, const struct oae_frame *f,
			       bool fresh, struct oae_actions *a)
{
	u64 hash[OAE_MAX_SLICES] oae_uninit;

	a->hashes(a, f->seq, h->nslices, hash);
	if (fresh)
		hash[f->slice] = f->payload_hash;
	return oae_whole_digest(hash, h->nslices);
}

/* Of nothing the caller has nothing. */
static u64 hold_digest(const struct oae_hold *h, const struct oae_frame *f, bool fresh,
		       struct oae_actions *a)
{
	if (h->nslices == 1 && (fresh || f->kind == OAE_VOID))
		return oae_whole_digest(&f->payload_hash, 1);
	return hold_digest_of_many(h, f, fresh, a);
}

/* All slices are here: hold the transaction and reflect it, or refuse it. */
static void hold(struct oae_link *l, struct oae_hold *h, const struct oae_frame *f,
		 bool fresh, u64 now, struct oae_actions *a)
{
	h->at = now;
	l->active_at = now;
	h->digest = hold_digest(h, f, fresh, a);
	switch (f->kind) {
	case OAE_SWAP:
		if (!oae_half_lend(l, a)) {
			hold_refuse(l, f->seq, OAE_R_NO_HALF, true, a);
			return;
		}
		h->reply = l->swaps->half.len;
		break;
	case OAE_VERB:
		if (hold_firm(l) + 1 == f->seq) {
			hold_verb(l, f->seq, now, a);
			oae_hold_compute(l, now, a);
			return;
		}
		/* A verb below it may be missing, and what it does not be known. */
		h->state = OAE_HOLD_WAITS;
		l->nwait++;
		hold_send_ack(l, f, h->have, a);
		return;
	case OAE_PACK:
		if (f->unfit || !l->packs) {
			hold_refuse(l, f->seq, OAE_R_KIND, true, a);
			return;
		}
		break;
	}
	hold_begin(l, h, now, a);
	if (h->express)
		oae_hold_deliver(l, now, a);
	hold_send_reflect(l, f->seq, h, f->kind, a);
	oae_hold_compute(l, now, a);
}

/* Keep a slice. False: drop the frame. */
static bool hold_keep_slice(struct oae_link *l, struct oae_hold *h,
			    const struct oae_frame *f, struct oae_actions *a)
{
	struct oae_op *op;
	bool fresh;

	/* All slices of a number have the same kind. */
	if (f->kind != h->kind || !hold_fits(h, f)) {
		oae_note(a, OAE_N_BAD_SLICE);
		return false;
	}
	fresh = !(h->have >> f->slice & 1);
	if (fresh && (u64)h->len + f->length > l->cfg->max_len) {
		hold_refuse(l, f->seq, OAE_R_TOO_BIG, true, a);
		return false;
	}
	/* As if it was lost. */
	if (fresh && !oae_credit_keep(l, h, f->length)) {
		oae_note(a, OAE_N_NOT_GRANTED);
		return false;
	}
	if (f->flags & OAE_F_LAST)
		h->nslices = f->slice + 1;
	if (!fresh) {
		if (!hold_is_asked(f))
			oae_note(a, OAE_N_DUP_SLICE);
		return true;
	}

	/* The peer has a message in flight: more comes before it closes. */
	if (l->peer.closing)
		l->active_at = l->now;
	h->have |= 1ULL << f->slice;
	h->len += f->length;
	if (!f->slice)
		h->first = f->first;
	/* Nothing is kept of nothing. */
	if (f->kind == OAE_VOID)
		return true;
	op = oae_op(a, OAE_OP_KEEP);
	op->slice = f->slice;
	op->seq = f->seq;
	op->hash = f->payload_hash;
	return true;
}

/* An offer of transaction rx, or of nothing instead: reflect an express again (protocol 4.3). */
static void hold_offer_delivered(struct oae_link *l, const struct oae_frame *f,
				 struct oae_actions *a)
{
	const struct oae_hold *h = l->pair ? oae_hold_of(l, l->rx) : &l->hold;

	if (!l->last_express || (!(f->flags & OAE_F_EXPRESS) && f->kind != OAE_VOID) ||
	    oae_first_hold(l)->have) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	oae_note(a, OAE_N_REFLECTED_AGAIN);
	if (hold_is_asked(f))
		hold_send_reflect(l, f->seq, h, OAE_MESSAGE, a);
}

/* May this number be offered to this end? A half and an express are alone. */
static bool hold_in_window(const struct oae_link *l, const struct oae_frame *f)
{
	u32 i = f->seq - l->rx;

	if (i == 1)
		return true;
	return i && i <= l->window && !(f->flags & OAE_F_EXPRESS) &&
	       !oae_kind_is(f->kind, OAE_T_ALONE);
}

/* It is complete, or refused: the same answer again, to whoever asks. False: it is neither. */
static bool hold_answer_again(struct oae_link *l, struct oae_hold *h,
			      const struct oae_frame *f, struct oae_actions *a)
{
	bool asked = hold_is_asked(f);

	switch (h->state) {
	case OAE_HOLD_REFUSED:
		oae_note(a, OAE_N_OLD_CONTENT);
		if (!asked)
			return true;
		h->said = true;
		hold_send_refuse(l, f->seq, f->kind, h->reason, a);
		return true;
	case OAE_HOLD_HELD:
		oae_note(a, OAE_N_REFLECTED_AGAIN);
		if (!asked)
			return true;
		h->again = true;
		hold_send_reflect(l, f->seq, h, h->kind, a);
		return true;
	case OAE_HOLD_WAITS:
		if (asked)
			hold_send_ack(l, f, h->have, a);
		return true;
	default:
		return false;
	}
}

/* A number that may not be offered, or a content that is over: drop the frame. */
static bool hold_is_over(struct oae_link *l, const struct oae_frame *f, struct oae_actions *a)
{
	const struct oae_hold *h = oae_hold_of(l, f->seq);

	if (f->seq == l->rx) {
		hold_offer_delivered(l, f, a);
		return true;
	}
	/* It closes: what was held then can be committed, and nothing else comes. */
	if (!hold_in_window(l, f) || (l->closing && oae_dist(hold_firm(l), f->seq) > 0)) {
		oae_note(a, OAE_N_OLD_SEQ);
		return true;
	}
	/* There is no memory for its place: as if it was lost. */
	if (f->seq - l->rx > oae_hold_places(l)) {
		l->lacking = true;
		oae_note(a, OAE_N_NO_PLACE);
		return true;
	}
	/* Nothing has taken its place. */
	if (h->state == OAE_HOLD_HELD && h->kind == OAE_VOID && f->kind != OAE_VOID) {
		oae_note(a, OAE_N_OLD_CONTENT);
		return true;
	}
	return false;
}

/**
 * oae_rcv_ask() - handle ASK: what is here of a number (protocol 4.2, step 3)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @a: actions
 */
void oae_rcv_ask(struct oae_link *l, const struct oae_frame *f, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, f->seq);

	if (hold_is_over(l, f, a))
		return;
	/* Of this nothing has come in this run, whatever is here else. */
	if (!oae_hold_begun(h) || (f->kind == OAE_VOID && h->kind != OAE_VOID))
		hold_send_ack(l, f, 0, a);
	else if (!hold_answer_again(l, h, f, a))
		hold_send_ack(l, f, h->have, a);
}

/**
 * oae_hold_reflect() - reflect the lowest number that is held once more, unasked
 * @l: the link, OPEN
 * @a: actions
 *
 * Return: the payload of that, bytes; 0 if nothing is held.
 */
u32 oae_hold_reflect(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = oae_hold_places(l);
	struct oae_hold *h;

	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (h->state != OAE_HOLD_HELD)
			continue;
		h->again = true;
		hold_send_reflect(l, l->rx + i, h, h->kind, a);
		return oae_kind_is(h->kind, OAE_T_ANSWER) ? OAE_REFLECT_LEN + h->reply :
							    OAE_REFLECT_LEN;
	}
	return 0;
}

/**
 * oae_rcv_offer() - handle a slice of an offer (protocol 4.2, steps 1 to 3)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_offer(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, f->seq);
	bool fresh;

	if (hold_is_over(l, f, a))
		return;
	if (hold_is_new(h, f))
		hold_begin_content(l, f, now, a);
	if (hold_answer_again(l, h, f, a))
		return;

	/*
	 * An end that settles takes nothing that it does not hold, and sends READY later. Nothing,
	 * in place of what was reversed, is not new.
	 */
	if (l->settle_until && f->kind != OAE_VOID) {
		hold_refuse(l, f->seq, f->kind == OAE_SWAP ? OAE_R_NO_HALF : OAE_R_BUSY,
			    hold_is_asked(f), a);
		return;
	}
	fresh = !(h->have >> f->slice & 1);
	if (!hold_keep_slice(l, h, f, a))
		return;
	if (h->nslices && h->have == oae_slice_mask(h->nslices))
		hold(l, h, f, fresh, now, a);
	else if (hold_is_asked(f))
		hold_send_ack(l, f, h->have, a);
}
