// SPDX-License-Identifier: GPL-2.0
/*
 * The outcome of an event: ops, notes, outcomes, frames. Pure, see link.h.
 */
#include "link_int.h"

/**
 * oae_op() - add an op to the actions
 * @a: actions
 * @type: type of the op
 *
 * Return: the op; the caller sets the members that its type uses.
 */
struct oae_op *oae_op(struct oae_actions *a, enum oae_op_type type)
{
	struct oae_op *op;

	if (a->nops == OAE_MAX_OPS && a->full)
		a->full(a);
	if (a->nops == OAE_MAX_OPS) {
		a->overflow = true;
		a->nops--;
	}
	op = &a->op[a->nops++];
	op->type = type;
	return op;
}

/**
 * oae_note() - add a note to the actions, to be counted and logged
 * @a: actions
 * @note: the note
 */
void oae_note(struct oae_actions *a, enum oae_note note)
{
	oae_op(a, OAE_OP_NOTE)->note = note;
}

/**
 * oae_notes() - add a note that counts more than once
 * @a: actions
 * @note: the note
 * @n: how often, may be 0
 */
void oae_notes(struct oae_actions *a, enum oae_note note, u32 n)
{
	while (n--)
		oae_note(a, note);
}

/**
 * oae_note_of() - add a note about a transaction
 * @a: actions
 * @note: the note
 * @handle: of the transaction
 */
void oae_note_of(struct oae_actions *a, enum oae_note note, void *handle)
{
	struct oae_op *op = oae_op(a, OAE_OP_NOTE);

	op->note = note;
	op->handle = handle;
}

/**
 * oae_complete() - add the outcome of a transaction to the actions
 * @a: actions
 * @handle: of the transaction
 * @outcome: the outcome
 * @err: why it is not committed, positive errno; 0 if it is
 */
void oae_complete(struct oae_actions *a, void *handle,
		  enum oae_outcome outcome, int err)
{
	struct oae_op *op = oae_op(a, OAE_OP_COMPLETE);

	op->handle = handle;
	op->outcome = outcome;
	op->err = err;
}

/**
 * oae_send() - add a frame to the actions, with counters and ltags filled in
 * @l: the link
 * @a: actions
 * @opcode: opcode of the frame
 *
 * Return: the send. The caller sets what only some opcodes have (body, handle,
 * slices, and the number of an OFFER); all other fields of the header are 0.
 */
struct oae_send *oae_send(struct oae_link *l, struct oae_actions *a,
			  enum oae_opcode opcode)
{
	struct oae_send *s;
	struct oae_frame *f;

	if (a->nsends == OAE_MAX_SENDS) {
		a->overflow = true;
		a->nsends--;
	}
	s = &a->send[a->nsends++];
	f = &s->frame;
	/* No memset(): most of a frame is a body that few opcodes have. */
	f->opcode = opcode;
	f->vc = l->vc;
	f->flags = 0;
	f->kind = 0;
	f->hdr_len = OAE_HDR_LEN;
	f->length = 0;
	f->slice = 0;
	f->grant = l->credit.granted / OAE_GRANT_UNIT;
	f->reason = 0;
	f->marks = 0;
	f->src_ltag = l->ltag;
	f->dst_ltag = l->peer.ltag;
	f->tx = l->tx;
	f->rx = l->rx;
	f->seq = 0;
	f->pn = 0;
	f->map = 0;
	f->payload_hash = 0;
	if (opcode == OAE_COMMIT || opcode == OAE_ASK)
		f->pn = oae_number_next(l, 1);
	else if (oae_is_answer(opcode))
		oae_number_says(l, f);
	return s;
}

/**
 * oae_link_wake() - have the timer fire, for whoever has the link
 * @l: the link, not CLOSED
 * @at: ns; earlier is possible
 * @a: actions
 */
void oae_link_wake(struct oae_link *l, u64 at, struct oae_actions *a)
{
	if (l->timer.at && l->timer.at <= at)
		return;
	l->timer.at = at;
	oae_op(a, OAE_OP_TIMER)->at = at;
}

/**
 * oae_send_commit() - send COMMIT, since no OFFER carries the commit
 * @l: the link, OPEN
 * @ask: have the peer answer, whether or not DONE is waited for
 * @a: actions
 */
void oae_send_commit(struct oae_link *l, bool ask, struct oae_actions *a)
{
	struct oae_send *s = oae_send(l, a, OAE_COMMIT);

	s->frame.seq = l->tx;
	if (ask || l->await_done || l->credit.blocked)
		s->frame.flags |= OAE_F_WANT_DONE;
	if (l->credit.blocked)
		s->frame.marks = OAE_M_BLOCKED;
}

/**
 * oae_link_ask() - say where this end stands, and have the peer answer
 * @l: the link
 * @a: actions
 */
void oae_link_ask(struct oae_link *l, struct oae_actions *a)
{
	if (l->state == OAE_OPEN)
		oae_send_commit(l, true, a);
}
