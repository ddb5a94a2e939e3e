// SPDX-License-Identifier: GPL-2.0
/*
 * For how many numbers the responder has room and places (doc/protocol.md sections 4.2 and 4.11):
 * what REFLECT and READY say of that. Pure, see link.h.
 */
#include "link_int.h"

/**
 * oae_hold_room() - is there room for a number that has none yet (protocol 4.11)?
 * @l: the link
 * @seq: the number
 * @room: places for unread transactions; OAE_ROOM_FULL
 *
 * Return: true if there is.
 */
bool oae_hold_room(const struct oae_link *l, u32 seq, u32 room)
{
	if (seq == l->rx + 1)
		return oae_room_places(room);
	return oae_room_places(room) > l->ntaken && !(room & OAE_ROOM_FULL);
}

/**
 * oae_hold_too_much() - is another slice one too many?
 * @l: the link
 * @h: what is here of its number
 * @f: the slice
 * @room: places for unread transactions; OAE_ROOM_FULL
 *
 * A number was begun when there was room; nobody knew how long it would be. The next one is
 * never cut short, or nothing would go on.
 *
 * Return: true if it is.
 */
bool oae_hold_too_much(const struct oae_link *l, const struct oae_hold *h,
		       const struct oae_frame *f, u32 room)
{
	if (!(room & OAE_ROOM_FULL) || f->seq == l->rx + 1)
		return false;
	return h->have && !(h->have & 1ULL << f->slice);
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

	/* A number without a place has no room either. */
	if (seq - l->rx > oae_hold_places(l))
		return false;
	return h->takes_room || h->state == OAE_HOLD_HELD ||
	       (h->kind == OAE_VERB && oae_hold_begun(h));
}

/* For how many of the next @n numbers there is room; for one always, so READY says. */
static u32 hold_roomy(const struct oae_link *l, u32 room, u32 n)
{
	u32 left = oae_hold_room(l, l->rx + 2, room) ? oae_room_places(room) - l->ntaken : 0;
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
	u32 i, n = oae_hold_places(l);
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
	u32 n = oae_hold_places(l);

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
	u32 i, n = oae_hold_places(l);
	struct oae_hold *h;

	for (i = 1; i <= n; i++) {
		h = oae_hold_of(l, l->rx + i);
		if (l->unplaced >> (l->rx + i) % OAE_WINDOW_MAX & 1 &&
		    h->state == OAE_HOLD_NONE) {
			h->state = OAE_HOLD_REFUSED;
			h->reason = OAE_R_BUSY;
			h->said = true;
			/* Whatever it is: for most there must be room. */
			h->kind = OAE_MESSAGE;
		}
	}
	l->unplaced = 0;
}

/**
 * oae_hold_says() - what a REFLECT says of room (protocol 4.11)
 * @l: the link
 * @room: places for unread transactions; OAE_ROOM_FULL
 *
 * When it arrives, what is held here is committed, and there are as many places above it.
 *
 * Return: for how many numbers above rx there is room; 0 says nothing of it.
 */
u32 oae_hold_says(const struct oae_link *l, u32 room)
{
	u32 n = hold_places_yet(l);

	return hold_roomy(l, room, n < l->window ? n : 2 * n);
}
