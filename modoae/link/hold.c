// SPDX-License-Identifier: GPL-2.0
/*
 * The responder (doc/protocol.md sections 4.2 and 4.11): gathers the slices of an
 * offer, holds the transaction, reflects it, and delivers it when the initiator has
 * committed. It never decides. Pure, see link.h.
 *
 * What is held is above rx, and in a run without a window it is rx + 1. By the state
 * of a number:
 *
 *   NONE      no slice is here
 *   PARTIAL   some slices of hold.attempt are here
 *   ASKED     a verb: the caller is asked to compute it
 *   HELD      all slices are here and were reflected; waits for the commit
 *   REFUSED   hold.attempt was refused, and stays refused: the initiator no longer
 *             counts it as in flight, so a late copy must not be taken
 *   REVERSED  hold.attempt was reversed, likewise
 *   KEPT      slices of an earlier run, for an offer with RESUME
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
	if (h->takes_room && l->ntaken)
		l->ntaken--;
	h->takes_room = false;
}

/* The number is not held, or not any more. */
static void hold_not_firm(struct oae_link *l, u32 seq)
{
	if (oae_dist(seq, l->firm) >= 0)
		l->firm = seq - 1;
}

/* Forget slices and attempt, as if the number had never been offered. */
static void hold_reset(struct oae_link *l, struct oae_hold *h)
{
	hold_leave(l, h);
	h->state = OAE_HOLD_NONE;
	h->have = 0;
	h->len = 0;
	h->nslices = 0;
	h->attempt = 0;
}

/**
 * oae_hold_discard() - drop what is held or gathered of a number
 * @l: the link
 * @seq: the number
 * @a: actions
 */
void oae_hold_discard(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);

	/* A half is lent for rx + 1 only. */
	if (seq == l->rx + 1)
		oae_half_back(l, a);
	hold_not_firm(l, seq);
	if (h->have)
		oae_op(a, OAE_OP_DISCARD)->seq = seq;
	hold_reset(l, h);
}

/* Was the known attempt seen in this run? */
static bool hold_begun(const struct oae_hold *h)
{
	return h->state != OAE_HOLD_NONE && h->state != OAE_HOLD_KEPT;
}

/* The number of places for what is held. */
static unsigned int hold_places(const struct oae_link *l)
{
	return l->pair ? l->npairs : 1;
}

/**
 * oae_hold_discard_all() - drop all that is held or gathered
 * @l: the link
 * @a: actions
 */
void oae_hold_discard_all(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = hold_places(l);

	for (i = 1; i <= n; i++)
		oae_hold_discard(l, l->rx + i, a);
}

/*
 * Keep the slices of a number that is undecided at the end of a run, for RESUME. A
 * single slice is not kept: the initiator sends the LAST slice in any case.
 */
static void hold_keep(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);
	bool slices = h->state == OAE_HOLD_PARTIAL || h->state == OAE_HOLD_HELD ||
		      h->state == OAE_HOLD_KEPT;

	if (!slices || !h->have || h->nslices == 1) {
		oae_hold_discard(l, seq, a);
		return;
	}
	hold_leave(l, h);
	hold_not_firm(l, seq);
	h->state = OAE_HOLD_KEPT;
	h->attempt = 0;
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
	u32 i, n = hold_places(l);

	for (i = 1; i <= n; i++) {
		if (oae_hold_of(l, l->rx + i)->state == OAE_HOLD_HELD)
			continue;
		if (i == 1)
			hold_keep(l, l->rx + i, a);
		else
			oae_hold_discard(l, l->rx + i, a);
	}
}

/**
 * oae_hold_resolved() - what is held still was not committed (protocol 4.5)
 * @l: the link, which resolves
 * @a: actions
 */
void oae_hold_resolved(struct oae_link *l, struct oae_actions *a)
{
	u32 i, n = hold_places(l);

	hold_keep(l, l->rx + 1, a);
	for (i = 2; i <= n; i++)
		oae_hold_discard(l, l->rx + i, a);
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

	if (n > (s32)hold_places(l))
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
 * A number above a refused one waits for the reader here; or, if this end closes, for the peer
 * to hear of that: CLOSE is repeated until the peer closes, too.
 *
 * Return: true if something is held, and all below it is not refused.
 */
bool oae_hold_stalled(const struct oae_link *l)
{
	const struct oae_hold *h;
	u32 i, n = hold_places(l);

	if (!l->nheld)
		return false;
	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (h->state == OAE_HOLD_HELD)
			return true;
		if (h->state == OAE_HOLD_REFUSED &&
		    (l->ready_due || (l->closing && !l->peer_closing)))
			return false;
	}
	return true;
}

/* All from rx + 1 to the number that this returns is held. */
static u32 hold_firm(struct oae_link *l)
{
	u32 n = hold_places(l);

	if (l->firm - l->rx > n)
		l->firm = l->rx;
	while (l->firm - l->rx < n &&
	       oae_hold_of(l, l->firm + 1)->state == OAE_HOLD_HELD)
		l->firm++;
	return l->firm;
}

/* Is there room for a number that has none yet (protocol 4.11)? */
static bool hold_room(const struct oae_link *l, u32 seq, u32 room)
{
	if (seq == l->rx + 1)
		return oae_room_places(room);
	return oae_room_places(room) > l->ntaken && !(room & OAE_ROOM_FULL);
}

/*
 * Is another slice one too many? A number was begun when there was room; nobody knew
 * how long it would be. The next one is never cut short, or nothing would go on. A pack
 * is many messages, which take far more than the frame that they came in.
 */
static bool hold_too_much(const struct oae_link *l, const struct oae_hold *h,
			  const struct oae_frame *f, u32 room)
{
	if (!(room & OAE_ROOM_FULL) || f->seq == l->rx + 1)
		return false;
	return f->kind == OAE_PACK || (h->have && !(h->have & 1ULL << f->slice));
}

/*
 * The number of places that there may be: those of the window are lent when the peer
 * offers a number that needs one, so it must hear of them before. Without memory for
 * them it hears of the next number only.
 */
static unsigned int hold_places_yet(const struct oae_link *l)
{
	if (l->pair)
		return l->npairs < l->window ? l->npairs : l->window;
	return l->unplaced ? 1 : l->window;
}

/* Does a number need no more room, or none at all? */
static bool hold_has_room(const struct oae_link *l, u32 seq)
{
	const struct oae_hold *h = oae_hold_of(l, seq);

	/* What has no place yet has nothing else. */
	if (seq - l->rx > hold_places(l))
		return false;
	return h->takes_room || h->state == OAE_HOLD_HELD ||
	       (h->kind == OAE_VERB && hold_begun(h));
}

/* For how many of the next @n numbers there is room; for one always, so READY says. */
static u32 hold_roomy(const struct oae_link *l, u32 room, u32 n)
{
	u32 left = hold_room(l, l->rx + 2, room) ? oae_room_places(room) - l->ntaken : 0;
	u32 i;

	if (left >= n)
		return n;
	for (i = 1; i <= n; i++) {
		if (hold_has_room(l, l->rx + i))
			continue;
		if (left)
			left--;
		else if (i > 1)
			break;
	}
	return i > n ? n : i > 1 ? i - 1 : 1;
}

/**
 * oae_hold_highest() - the highest number that READY can name
 * @l: the link
 * @room: places for unread transactions; OAE_ROOM_FULL
 *
 * Return: the number, at least rx + 1.
 */
u32 oae_hold_highest(const struct oae_link *l, u32 room)
{
	/* A peer without a window knows READY for its only number. */
	if (!oae_link_windowed(l))
		return l->rx + 1;
	return l->rx + hold_roomy(l, room, hold_places_yet(l));
}

/**
 * oae_hold_refused_to() - does READY say anything new?
 * @l: the link
 * @seq: the number that it would name
 *
 * Return: true if a number up to that stands refused.
 */
bool oae_hold_refused_to(const struct oae_link *l, u32 seq)
{
	for (; seq != l->rx; seq--)
		if (oae_hold_of(l, seq)->state == OAE_HOLD_REFUSED ||
		    l->unplaced >> seq % OAE_WINDOW_MAX & 1)
			return true;
	return false;
}

/**
 * oae_hold_wants_words() - does the peer wait for words, whatever room there is?
 * @l: the link
 *
 * Return: true if what is to be held next is a verb that was refused with CONFLICT.
 */
bool oae_hold_wants_words(const struct oae_link *l)
{
	u32 i, n = hold_places(l);
	const struct oae_hold *h;

	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (h->state != OAE_HOLD_HELD)
			return h->state == OAE_HOLD_REFUSED &&
			       h->reason == OAE_R_CONFLICT;
	}
	return false;
}

/**
 * oae_hold_refused_above() - is READY due for more numbers than it can name now?
 * @l: the link
 * @seq: the number that it names
 *
 * Return: true if a higher number stands refused.
 */
bool oae_hold_refused_above(const struct oae_link *l, u32 seq)
{
	u32 n = hold_places(l);

	if (l->unplaced)
		return true;
	while (seq - l->rx < n)
		if (oae_hold_of(l, ++seq)->state == OAE_HOLD_REFUSED)
			return true;
	return false;
}

/**
 * oae_hold_placed() - the numbers refused for want of a place have one now
 * @l: the link, with new places
 */
void oae_hold_placed(struct oae_link *l)
{
	u32 i, n = hold_places(l);
	struct oae_hold *h;

	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (l->unplaced >> (l->rx + i) % OAE_WINDOW_MAX & 1 &&
		    h->state == OAE_HOLD_NONE) {
			h->state = OAE_HOLD_REFUSED;
			h->reason = OAE_R_BUSY;
			/* Whatever it is: for most there must be room. */
			h->kind = OAE_MESSAGE;
		}
	}
	l->unplaced = 0;
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
		l->ndelivered++;
		break;
	default:
		op = oae_op(a, OAE_OP_DELIVER);
		op->slice = h->nslices;
		op->seq = seq;
		l->ndelivered++;
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
	l->rx++;
	l->last_express = h->express;
	l->unseen = h->express;
	l->last_kind = h->kind;
	l->backoff = 0;
	l->active_at = now;
	l->held_at = now;
	hold_reset(l, h);
}

/* @room: for how many numbers above rx there is room; 0 says nothing of it. */
static void hold_send_reflect(struct oae_link *l, u32 seq, const struct oae_hold *h,
			      u8 attempt, u8 kind, u32 room, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFLECT);

	s->frame.seq = seq;
	s->frame.attempt = attempt;
	s->frame.kind = kind;
	s->frame.reason = room;
	s->frame.reflect.digest = h->digest;
	s->frame.reflect.first = h->first;
	if (kind != OAE_SWAP && kind != OAE_VERB)
		return;
	s->handle = kind == OAE_SWAP ? l->swaps->half.handle : NULL;
	s->frame.length = OAE_REFLECT_LEN + h->reply;
}

static void hold_send_refuse(struct oae_link *l, u32 seq, const struct oae_hold *h,
			     u16 reason, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_REFUSE);

	s->frame.seq = seq;
	s->frame.attempt = h->attempt;
	s->frame.kind = h->kind;
	s->frame.reason = reason;
	if (reason == OAE_R_GAP)
		s->frame.gap_map = oae_slice_mask(h->nslices) & ~h->have;
}

static void hold_refuse(struct oae_link *l, u32 seq, u16 reason,
			struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, seq);
	u8 attempt = h->attempt;

	oae_hold_discard(l, seq, a);
	h->attempt = attempt;
	h->state = OAE_HOLD_REFUSED;
	h->reason = reason;
	if ((reason == OAE_R_BUSY || reason == OAE_R_CONFLICT) && !l->closing)
		l->ready_due = true;
	if (reason == OAE_R_BUSY && !l->closing)
		l->busy_due = true;
	oae_note(a, OAE_N_REFUSED);
	hold_send_refuse(l, seq, h, reason, a);
}

/* Does a slice fit to those that are here, and to their number? */
static bool hold_fits(const struct oae_hold *h, const struct oae_frame *f)
{
	unsigned int n = f->slice + 1;

	if (f->flags & OAE_F_LAST)
		return (!h->nslices || h->nslices == n) && !(h->have & ~oae_slice_mask(n));
	return !h->nslices || n < h->nslices;
}

/*
 * Do the slices that are here count for this attempt (protocol 4.2, step 2)? Within a
 * run without a window only those of the attempt just before it do. After a freeze the
 * initiator sets RESUME only if the transaction has had one content only. With a window
 * those of any attempt do: slices of another cut do not match, and all are sent then.
 * Slices that contradict the new one are not of its content, whatever the initiator
 * believes. (Else LAST is dropped, and never answered.)
 */
static bool hold_resumes(const struct oae_link *l, const struct oae_hold *h,
			 const struct oae_frame *f)
{
	if (!(f->flags & OAE_F_RESUME) || !h->have || !hold_fits(h, f))
		return false;
	if (h->express != !!(f->flags & OAE_F_EXPRESS) || h->kind != f->kind)
		return false;
	if (h->state == OAE_HOLD_KEPT)
		return true;
	if (h->state != OAE_HOLD_PARTIAL && h->state != OAE_HOLD_HELD)
		return false;
	return oae_link_windowed(l) || f->attempt == h->attempt + 1;
}

/*
 * Is this a new attempt of the verb that is held? In a run with a window no other verb
 * follows under its number, so what was computed stands.
 */
static bool hold_same_verb(const struct oae_link *l, const struct oae_hold *h,
			   const struct oae_frame *f)
{
	return oae_link_windowed(l) && h->state == OAE_HOLD_HELD &&
	       h->kind == OAE_VERB && f->kind == OAE_VERB &&
	       h->digest == oae_whole_digest(&f->payload_hash, 1) && h->len == f->length;
}

/*
 * A verb that is held was reversed: what was computed above it may rest on it. The
 * initiator offers it anew.
 */
static void hold_drop_above(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	struct oae_hold *h;
	u8 attempt;
	u32 at;

	for (at = l->rx + hold_places(l); at != seq; at--) {
		h = oae_hold_of(l, at);
		if (h->state != OAE_HOLD_HELD || h->kind != OAE_VERB)
			continue;
		attempt = h->attempt;
		oae_note(a, OAE_N_DROPPED);
		oae_hold_discard(l, at, a);
		h->attempt = attempt;
		h->state = OAE_HOLD_REVERSED;
	}
}

/* Begin an attempt that is newer than any seen. False: it was refused. */
static bool hold_begin_attempt(struct oae_link *l, const struct oae_frame *f,
			       u32 room, u64 now, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, f->seq);
	/* Within a window, what had room once has it again. */
	bool had_room = h->takes_room && oae_link_windowed(l);

	if (hold_same_verb(l, h, f)) {
		h->attempt = f->attempt;
		return true;
	}
	if (h->state == OAE_HOLD_HELD && h->kind == OAE_VERB)
		hold_drop_above(l, f->seq, a);
	if (!hold_resumes(l, h, f)) {
		oae_hold_discard(l, f->seq, a);
		h->express = f->flags & OAE_F_EXPRESS;
		h->kind = f->kind;
	} else if (h->state == OAE_HOLD_HELD) {
		l->nheld--;
		hold_not_firm(l, f->seq);
	}
	/* What is held above it waits for the peer again. */
	if (l->nheld)
		l->held_at = now;
	h->state = OAE_HOLD_PARTIAL;
	h->attempt = f->attempt;
	h->asked = !h->have && f->flags & OAE_F_RESUME;

	if (!oae_kind_is_read(f->kind))
		return true;
	if (!had_room && !hold_room(l, f->seq, room)) {
		hold_refuse(l, f->seq, OAE_R_BUSY, a);
		return false;
	}
	if (!h->takes_room)
		l->ntaken++;
	h->takes_room = true;
	return true;
}

static void hold_begin(struct oae_link *l, struct oae_hold *h, u64 now,
		       struct oae_actions *a)
{
	h->state = OAE_HOLD_HELD;
	l->nheld++;
	l->held_at = now;
	if (h->kind != OAE_VOID)
		oae_note(a, OAE_N_HELD);
}

/*
 * What a REFLECT says of room: for how many numbers above rx. When they arrive, what is
 * held here is committed, and there are as many places above it.
 */
static u32 hold_says(const struct oae_link *l, u32 room)
{
	u32 n = hold_places_yet(l);

	if (!oae_link_windowed(l))
		return 0;
	return hold_roomy(l, room, n < l->window ? n : 2 * n);
}

/* Have a verb computed. */
static void hold_ask(struct oae_link *l, u32 seq, struct oae_actions *a)
{
	oae_hold_of(l, seq)->state = OAE_HOLD_ASKED;
	l->asking = true;
	l->asked = seq;
	oae_op(a, OAE_OP_VERB)->seq = seq;
}

/**
 * oae_hold_compute() - have the next verb computed that has waited (protocol 4.11)
 * @l: the link
 * @a: actions
 *
 * oae_link_computed() goes on with the one after that. An event answers a few.
 */
void oae_hold_compute(struct oae_link *l, struct oae_actions *a)
{
	u32 seq;

	l->more_verbs = false;
	if (!l->nwait || l->asking || l->state != OAE_OPEN)
		return;
	seq = hold_firm(l) + 1;
	if (seq - l->rx > hold_places(l) ||
	    oae_hold_of(l, seq)->state != OAE_HOLD_WAITS)
		return;
	if (a->nsends >= OAE_PUMP_SENDS) {
		l->more_verbs = true;
		return;
	}
	l->nwait--;
	/* An end that closes, or settles, takes nothing that it does not hold. */
	if (oae_takes_nothing(l)) {
		oae_hold_of(l, seq)->state = OAE_HOLD_PARTIAL;
		hold_refuse(l, seq, OAE_R_BUSY, a);
	} else {
		hold_ask(l, seq, a);
	}
}

/*
 * A pack cannot be held. If there is no memory for its messages, READY follows when there
 * is room, and not at once: room is not what is missing.
 */
static void hold_refuse_pack(struct oae_link *l, const struct oae_frame *f,
			     struct oae_actions *a)
{
	bool busy_due = l->busy_due;

	hold_refuse(l, f->seq, l->packs ? f->unfit : OAE_R_KIND, a);
	l->busy_due = busy_due;
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
		 bool fresh, u32 room, u64 now, struct oae_actions *a)
{
	h->at = now;
	l->active_at = now;
	h->digest = hold_digest(h, f, fresh, a);
	switch (f->kind) {
	case OAE_SWAP:
		if (!oae_half_lend(l, a)) {
			hold_refuse(l, f->seq, OAE_R_NO_HALF, a);
			return;
		}
		h->reply = l->swaps->half.len;
		break;
	case OAE_VERB:
		if (hold_firm(l) + 1 == f->seq) {
			hold_ask(l, f->seq, a);
			return;
		}
		/* A verb below it may be missing, and what it does not be known. */
		h->state = OAE_HOLD_WAITS;
		l->nwait++;
		oae_note(a, OAE_N_GAP);
		hold_send_refuse(l, f->seq, h, OAE_R_GAP, a);
		return;
	case OAE_PACK:
		if (f->unfit || !l->packs) {
			hold_refuse_pack(l, f, a);
			return;
		}
		break;
	}
	hold_begin(l, h, now, a);
	if (h->express)
		oae_hold_deliver(l, now, a);
	hold_send_reflect(l, f->seq, h, f->attempt, f->kind, hold_says(l, room), a);
	oae_hold_compute(l, a);
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
	struct oae_hold *h = oae_hold_of(l, l->asked);
	u32 seq = l->asked;

	if (!l->asking)
		return;
	l->asking = false;
	if (h->state != OAE_HOLD_ASKED)
		return;
	now = oae_now(l, now);
	if (!reason && reply + OAE_REFLECT_LEN > oae_link_slice_max(l))
		reason = OAE_R_TOO_BIG;
	if (reason) {
		hold_refuse(l, seq, reason, a);
	} else {
		hold_begin(l, h, now, a);
		h->reply = reply;
		hold_send_reflect(l, seq, h, h->attempt, OAE_VERB,
				  hold_says(l, l->room), a);
		oae_hold_compute(l, a);
	}
	/* The answers go first, so link_rcv_data() left the pump to this. */
	if (!l->asking)
		oae_offer_pump(l, now, a);
	/* Closing, and the timer, depend on the state set here. */
	oae_finish(l, now, a);
}

/* Keep a slice of the present attempt. False: drop the frame. */
static bool hold_keep_slice(struct oae_link *l, struct oae_hold *h,
			    const struct oae_frame *f, struct oae_actions *a)
{
	struct oae_op *op;

	/* All slices of an attempt have the same kind. */
	if (f->kind != h->kind || !hold_fits(h, f)) {
		oae_note(a, OAE_N_BAD_SLICE);
		return false;
	}
	if (f->flags & OAE_F_LAST)
		h->nslices = f->slice + 1;

	if (h->have & 1ULL << f->slice) {
		/* LAST again is how the initiator asks what is missing. */
		if (!(f->flags & OAE_F_LAST))
			oae_note(a, OAE_N_DUP_SLICE);
		return true;
	}
	if ((u64)h->len + f->length > l->cfg->max_len) {
		hold_refuse(l, f->seq, OAE_R_TOO_BIG, a);
		return false;
	}

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

/* An offer of transaction rx: reflect an express again (protocol 4.3). */
static void hold_offer_delivered(struct oae_link *l, const struct oae_frame *f,
				 struct oae_actions *a)
{
	const struct oae_hold *h = l->pair ? oae_hold_of(l, l->rx) : &l->hold;

	if (!l->last_express || !(f->flags & OAE_F_EXPRESS) ||
	    oae_first_hold(l)->have) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	oae_note(a, OAE_N_REFLECTED_AGAIN);
	if (f->flags & OAE_F_LAST)
		hold_send_reflect(l, f->seq, h, f->attempt, l->last_kind, 0, a);
}

/* May this number be offered to this end? A half and an express are alone. */
static bool hold_in_window(const struct oae_link *l, const struct oae_frame *f)
{
	u32 i = f->seq - l->rx;

	if (i == 1)
		return f->kind != OAE_VOID || oae_link_windowed(l);
	return oae_link_windowed(l) && i && i <= l->window &&
	       !(f->flags & OAE_F_EXPRESS) && f->kind != OAE_SWAP;
}

/* There is no place for this number yet: refuse it, and keep nothing of it. */
static void hold_no_place(struct oae_link *l, const struct oae_frame *f,
			  struct oae_actions *a)
{
	struct oae_send *s;

	l->lacking = true;
	l->unplaced |= 1ULL << f->seq % OAE_WINDOW_MAX;
	if (!l->closing) {
		l->ready_due = true;
		l->busy_due = true;
	}
	if (!(f->flags & OAE_F_LAST))
		return;
	oae_note(a, OAE_N_REFUSED);
	s = oae_send(l, a, OAE_REFUSE);
	s->frame.seq = f->seq;
	s->frame.attempt = f->attempt;
	s->frame.kind = f->kind;
	s->frame.reason = OAE_R_BUSY;
}

/**
 * oae_rcv_offer() - handle a slice of an offer (protocol 4.2, steps 1 to 3 and 5)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @room: places for unread transactions; OAE_ROOM_FULL
 * @now: ns
 * @a: actions
 */
void oae_rcv_offer(struct oae_link *l, const struct oae_frame *f, u32 room,
		   u64 now, struct oae_actions *a)
{
	struct oae_hold *h = oae_hold_of(l, f->seq);
	bool fresh;

	if (f->seq == l->rx) {
		hold_offer_delivered(l, f, a);
		return;
	}
	if (!hold_in_window(l, f)) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	if (f->seq - l->rx > hold_places(l)) {
		hold_no_place(l, f, a);
		return;
	}
	if (f->attempt < h->attempt) {
		oae_note(a, OAE_N_OLD_ATTEMPT);
		return;
	}
	if ((f->attempt > h->attempt || !hold_begun(h)) &&
	    !hold_begin_attempt(l, f, room, now, a))
		return;

	switch (h->state) {
	case OAE_HOLD_REVERSED:
		oae_note(a, OAE_N_OLD_ATTEMPT);
		return;
	case OAE_HOLD_REFUSED:
		oae_note(a, OAE_N_OLD_ATTEMPT);
		if (f->flags & OAE_F_LAST)
			hold_send_refuse(l, f->seq, h, h->reason, a);
		return;
	case OAE_HOLD_HELD:
		oae_note(a, OAE_N_REFLECTED_AGAIN);
		if (f->flags & OAE_F_LAST)
			hold_send_reflect(l, f->seq, h, f->attempt, h->kind,
					  hold_says(l, room), a);
		return;
	case OAE_HOLD_WAITS:
		oae_note(a, OAE_N_GAP);
		hold_send_refuse(l, f->seq, h, OAE_R_GAP, a);
		return;
	default:
		break;
	}

	/*
	 * An end that closes takes nothing that it does not hold. Otherwise a peer
	 * that always has more to send would keep CLOSE from ever going out. No
	 * READY follows. An end that settles refuses, too, and sends READY later.
	 * Nothing, in place of what was reversed, is not new.
	 */
	if (oae_takes_nothing(l) && f->kind != OAE_VOID) {
		hold_refuse(l, f->seq,
			    f->kind == OAE_SWAP ? OAE_R_NO_HALF : OAE_R_BUSY, a);
		return;
	}
	if (hold_too_much(l, h, f, room)) {
		hold_refuse(l, f->seq, OAE_R_BUSY, a);
		return;
	}
	fresh = !(h->have >> f->slice & 1);
	if (!hold_keep_slice(l, h, f, a))
		return;
	if (h->nslices && h->have == oae_slice_mask(h->nslices)) {
		hold(l, h, f, fresh, room, now, a);
	} else if (f->flags & OAE_F_LAST) {
		oae_note(a, OAE_N_GAP);
		hold_send_refuse(l, f->seq, h, OAE_R_GAP, a);
	}
}

/**
 * oae_rcv_reverse() - handle REVERSE: drop an attempt (protocol 4.2, step 5)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @a: actions
 *
 * A run with a window has none: another content follows under the number.
 */
void oae_rcv_reverse(struct oae_link *l, const struct oae_frame *f,
		     struct oae_actions *a)
{
	struct oae_hold *h = oae_first_hold(l);

	if (f->seq != l->rx + 1 || f->attempt < h->attempt || oae_link_windowed(l)) {
		oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	if (h->state == OAE_HOLD_HELD)
		oae_note(a, OAE_N_DROPPED);
	oae_hold_discard(l, l->rx + 1, a);
	h->attempt = f->attempt;
	h->state = OAE_HOLD_REVERSED;
}
