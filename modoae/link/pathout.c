// SPDX-License-Identifier: GPL-2.0
/*
 * By which paths a frame goes (doc/protocol.md section 4.14). Pure, see path.h.
 */
#include "path.h"
#include "link_int.h"

/**
 * oae_paths_all() - which paths does a SYNC of a freeze go by?
 * @ps: the paths
 * @l: the link
 * @but: a set of indices, without these
 *
 * All that are up and proven. If the link is down those are, too, that are not proven: whoever
 * is there now may know nothing of what was. By a gateway that holds for the own path alone:
 * paths_doubt().
 *
 * Return: a set of indices.
 */
unsigned int oae_paths_all(const struct oae_paths *ps, const struct oae_link *l,
			   unsigned int but)
{
	unsigned int i, all = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (ps->path[i].there && ps->path[i].up &&
		    (ps->path[i].proven ||
		     (l->down && (i == OAE_PATH_OWN || !ps->path[i].via))))
			all |= 1U << i;
	all &= ~but;
	/*
	 * The port would not take it, but whoever counts finds it. By a path in use that is
	 * not proven the peer does not know this end's address: it is probed first.
	 */
	return all ?: ps->path[ps->used].proven || l->down ? 1U << ps->used : 0;
}

/**
 * oae_paths_out() - which paths does a frame go by?
 * @ps: the paths
 * @l: the link, after the event that sends the frame
 * @opcode: the frame's
 * @back: index of the path by which the frame came that the event was about; -1 none
 * @before: state of the link before the event
 *
 * What begins a freeze, and what is repeated in it, goes by all that are proven; so does what the
 * timer asks for the second time, or reflects again. What answers goes back; all else goes by
 * the path in use.
 *
 * Return: a set of indices.
 */
unsigned int oae_paths_out(const struct oae_paths *ps, const struct oae_link *l,
			   u8 opcode, int back, enum oae_state before)
{
	switch (opcode) {
	case OAE_SYNC:
		if (l->state == OAE_OPEN)	/* a probe */
			break;
		if (before >= OAE_OPEN)
			return oae_paths_all(ps, l, ps->avoid);
		if (back < 0)
			return oae_paths_all(ps, l, 0);
		return 1U << back;
	case OAE_CLOSE:
		/* Only by that is the answer of an end without the link believed. */
		return 1U << ps->used | 1U << ps->home;
	case OAE_ASK:
	case OAE_COMMIT:
		if (back < 0)
			return l->asks > 1 ? oae_paths_all(ps, l, 0) : 1U << ps->used;
		/* To a REFLECT unasked: the first may have been lost by the path in use. */
		return 1U << ps->used | (opcode == OAE_COMMIT ? 1U << back : 0);
	case OAE_REFLECT:
		if (back < 0 && l->reflects)
			return oae_paths_all(ps, l, 0);
		if (back >= 0)
			return 1U << back;
		break;
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
	case OAE_ACK:
	case OAE_REFUSE:
	case OAE_DONE:
	case OAE_CLOSE_ACK:
		if (back >= 0)
			return 1U << back;
		break;
	}
	return 1U << ps->used;
}
