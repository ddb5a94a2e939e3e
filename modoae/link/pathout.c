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
 *
 * All that are up and proven. If the link is down those are, too, that are not proven: whoever
 * is there now may know nothing of what was. By a gateway that holds for the own path alone:
 * paths_doubt().
 *
 * Return: a set of indices.
 */
unsigned int oae_paths_all(const struct oae_paths *ps, const struct oae_link *l)
{
	unsigned int i, all = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (ps->path[i].there && ps->path[i].up &&
		    (ps->path[i].proven ||
		     (l->down && (i == OAE_PATH_OWN || !ps->path[i].via))))
			all |= 1U << i;
	/*
	 * The port would not take it, but whoever counts finds it. By a path in use that is
	 * not proven the peer does not know this end's address: it is probed first.
	 */
	return all ?: ps->path[ps->used].proven || l->down ? 1U << ps->used : 0;
}

/* Was the probe before this one not answered? */
static bool out_again(const struct oae_link *l)
{
	return l->asked_at && l->asked_at < l->now;
}

/**
 * oae_paths_out() - which paths does a frame go by?
 * @ps: the paths
 * @l: the link, after the event that sends the frame
 * @f: the frame
 * @back: index of the path by which the frame came that the event was about; -1 none
 * @before: state of the link before the event
 *
 * What begins a freeze, and what is repeated in it, goes by all that are proven; so does what the
 * timer asks for the second time, or reflects again. What answers goes back; all else goes by
 * the path in use, and so does ASK if it is a probe of the length that this carries.
 *
 * Return: a set of indices.
 */
unsigned int oae_paths_out(const struct oae_paths *ps, const struct oae_link *l,
			   const struct oae_frame *f, int back, enum oae_state before)
{
	switch (f->opcode) {
	case OAE_SYNC:
		if (l->state == OAE_OPEN)	/* a probe */
			return out_again(l) ? oae_paths_all(ps, l) : 1U << ps->used;
		if (before >= OAE_OPEN || back < 0)
			return oae_paths_all(ps, l);
		return 1U << back;
	case OAE_CLOSE:
		/* Only by that is the answer of an end without the link believed. */
		return 1U << ps->used | 1U << ps->home;
	case OAE_ASK:
		if (f->length)
			break;
		fallthrough;
	case OAE_COMMIT:
		if (back < 0)
			return l->asks > 1 ? oae_paths_all(ps, l) : 1U << ps->used;
		/* To a REFLECT unasked: the first may have been lost by the path in use. */
		return 1U << ps->used | (f->opcode == OAE_COMMIT ? 1U << back : 0);
	case OAE_REFLECT:
		if (back < 0 && l->reflects)
			return oae_paths_all(ps, l);
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
