// SPDX-License-Identifier: GPL-2.0
/*
 * What the responder holds (doc/protocol.md sections 4.2 and 4.11): kept, dropped, kept over a
 * freeze, and delivered when the initiator has committed. It never decides. Pure, see link.h.
 *
 * Numbers that are held are above rx. By the state of a number:
 *
 *   NONE      no slice is here
 *   PARTIAL   some slices are here
 *   ASKED     a verb: the caller is asked to compute it
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
		oae_hold_discard(l, l->rx + i, a);
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
		oae_hold_discard(l, seq, a);
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
	u32 i, n = oae_hold_places(l);

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
 * A number above a refused one waits for the reader here; or, if this end closes, for the peer
 * to hear of that: CLOSE is repeated until the peer closes, too.
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
		if (h->state == OAE_HOLD_REFUSED &&
		    (l->ready_due || (l->closing && !l->peer_closing)))
			return false;
	}
	return true;
}

/**
 * oae_hold_moved() - what is held makes progress
 * @l: the link
 * @now: ns
 */
void oae_hold_moved(struct oae_link *l, u64 now)
{
	l->held_at = now;
	l->reflects = 0;
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
	oae_hold_moved(l, now);
	oae_send(l, a, OAE_READY);
}

/**
 * oae_hold_firm() - how far is all held, without a gap?
 * @l: the link
 *
 * Return: the number; all from rx + 1 to it are held; rx: not even the next one.
 */
u32 oae_hold_firm(struct oae_link *l)
{
	u32 n = oae_hold_places(l);

	if (l->firm - l->rx > n)
		l->firm = l->rx;
	while (l->firm - l->rx < n &&
	       oae_hold_of(l, l->firm + 1)->state == OAE_HOLD_HELD)
		l->firm++;
	return l->firm;
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
	oae_hold_moved(l, now);
	hold_reset(l, h);
}
