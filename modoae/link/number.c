// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers of frames (doc/protocol.md section 4.16): each question of a run has the next
 * one, and each answer says which the peer has heard. Pure, see link.h.
 */
#include "link_int.h"

/**
 * oae_number_begin() - begin a run: nothing is numbered yet, nothing was heard
 * @l: the link, about to be OPEN
 */
void oae_number_begin(struct oae_link *l)
{
	l->number.sent = 0;
	l->number.heard = 0;
	l->number.map = 0;
	l->number.now = false;
	l->number.acked = 0;
}

/**
 * oae_number_next() - take the next numbers
 * @l: the link, OPEN
 * @n: how many frames of a question go out, 1 or more
 *
 * Return: the number of the first, as it is sent.
 */
u32 oae_number_next(struct oae_link *l, unsigned int n)
{
	l->number.sent += n;
	return (u32)l->number.sent - n + 1;
}

/**
 * oae_number_says() - an answer says which questions were heard
 * @l: the link
 * @f: the answer
 */
void oae_number_says(const struct oae_link *l, struct oae_frame *f)
{
	f->ack = (u32)l->number.heard;
	f->map = l->number.map;
	f->marks = l->number.now ? OAE_M_NOW : 0;
}

/**
 * oae_number_heard() - does an answer say that a question was heard?
 * @f: the answer
 * @pn: number of the question
 *
 * Return: false if it was not, or not yet. Of a question that is too old for the answer to
 * tell of it that is not known: true.
 */
bool oae_number_heard(const struct oae_frame *f, u32 pn)
{
	s32 back = oae_dist(pn, f->ack);

	if (back <= 0 || back > OAE_NUMBER_MAP)
		return back >= 0;
	return f->map >> (back - 1) & 1;
}

/* A question has come. An answer of this event is at once only to one that is new. */
static void number_heard(struct oae_link *l, u32 pn)
{
	struct oae_number *n = &l->number;
	s32 ahead = oae_dist((u32)n->heard, pn);
	u64 before = n->map;

	/* To those before it belongs the newest until now. */
	before = before << 1 | (n->heard ? 1 : 0);
	if (ahead > OAE_NUMBER_MAP)
		n->map = 0;
	else if (ahead > 0)
		n->map = (u32)(before << (ahead - 1));
	else if (ahead < 0 && ahead >= -OAE_NUMBER_MAP)
		n->map |= 1U << (-ahead - 1);
	if (ahead <= 0)
		return;
	n->heard += ahead;
	n->now = true;
}

/**
 * oae_number_was_sent() - can the peer have heard this number?
 * @l: the link, OPEN
 * @ack: the number, as an answer of this run names it
 *
 * It may have wrapped on the wire, so it is one of the last 2^31 that were sent, or 0, before the
 * first was heard.
 *
 * Return: true if so.
 */
bool oae_number_was_sent(const struct oae_link *l, u32 ack)
{
	u32 back = (u32)l->number.sent - ack;

	return back <= l->number.sent && back < 1U << 31;
}

/**
 * oae_number_rcv() - note the number of a question, or look at what an answer has heard
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame, any
 *
 * Return: false if the peer has heard what was never sent.
 */
bool oae_number_rcv(struct oae_link *l, const struct oae_frame *f)
{
	if (oae_is_question(f->opcode)) {
		number_heard(l, f->pn);
		return true;
	}
	if (!oae_is_answer(f->opcode))
		return true;
	if (!oae_number_was_sent(l, f->ack))
		return false;
	if (oae_dist(l->number.acked, f->ack) > 0) {
		oae_cong_acked(l, f->ack);
		l->number.acked = f->ack;
	}
	return true;
}
