// SPDX-License-Identifier: GPL-2.0
/*
 * Paths (doc/protocol.md section 4.14): which ones a link has, for which incarnation of the
 * peer they are proven, and which are forgotten (doc/architecture.md, *Which path an end
 * chooses*). Pure, see path.h.
 *
 * Numbers and ltags know nothing of paths: a copy that comes by another one is
 * a duplicate, which the link takes like any other. So the rules here and in path*.c decide
 * only how soon two ends find each other, never what becomes of a transaction. There is one
 * exception: a new incarnation of the peer is believed only by the path in use, as long
 * as the present one may be there (pathheard.c).
 */
#include "path.h"
#include "link_int.h"

#define PATH_NEVER	8	/* missed probes until one not proven is forgotten, at most */
#define PATH_LOST	250	/* and one that was, and will not come back */

/**
 * oae_paths_init() - a link has its own path and no other
 * @ps: the paths
 * @l: the link
 * @mtu: what its port carries, bytes behind the Ethernet header
 * @up: whether the port carries frames
 * @now: ns
 */
void oae_paths_init(struct oae_paths *ps, const struct oae_link *l, u16 mtu, bool up,
		    u64 now)
{
	struct oae_path *own = &ps->path[OAE_PATH_OWN];

	memset(ps, 0, sizeof(*ps));
	ps->inc = l->inc;
	ps->peer_inc = l->peer.inc;
	own->there = true;
	own->up = up;
	own->proven = true;
	own->good = true;
	own->mtu = mtu;
	own->heard = l->peer.ltag;
	own->used_at = now;
	oae_count_begin(ps, l);
}

/**
 * oae_path_add() - add a path, of which nothing is known
 * @ps: the paths
 * @mtu: what its port carries, bytes behind the Ethernet header
 * @up: whether the port carries frames
 *
 * Return: its index, or -ENOSPC.
 */
int oae_path_add(struct oae_paths *ps, u16 mtu, bool up)
{
	struct oae_path *p;
	unsigned int i;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (p->there)
			continue;
		memset(p, 0, sizeof(*p));
		p->there = true;
		p->up = up;
		p->mtu = mtu;
		return i;
	}
	return -ENOSPC;
}

/**
 * oae_path_del() - forget a path; if it was in use, the link's own path is
 * @ps: the paths
 * @i: its index, not OAE_PATH_OWN
 */
void oae_path_del(struct oae_paths *ps, unsigned int i)
{
	memset(&ps->path[i], 0, sizeof(ps->path[i]));
	if (ps->used == i) {
		ps->used = OAE_PATH_OWN;
		ps->why = OAE_WHY_OWN;
		ps->agreed = false;
	}
	if (ps->home == i)
		ps->home = OAE_PATH_OWN;
	if (ps->asked == i)
		ps->asked = ps->used;
	ps->leave_at = 0;
	if (ps->limit == i)
		ps->limit = OAE_PATHS_MAX;
}

/**
 * oae_path_set_mtu() - the port of a path carries another length, perhaps
 * @p: the path
 * @mtu: bytes behind the Ethernet header
 *
 * So what did not get through may do now.
 */
void oae_path_set_mtu(struct oae_path *p, u16 mtu)
{
	if (p->mtu == mtu)
		return;
	p->mtu = mtu;
	p->pmtu = 0;
}

/* The link is down. */
static void paths_doubt(struct oae_paths *ps)
{
	unsigned int i;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		if (i == ps->used || !ps->path[i].via)
			continue;
		ps->path[i].proven = false;
		ps->path[i].good = false;
		ps->path[i].nonce = 0;
	}
}

/**
 * oae_paths_pair() - paths are proven for an incarnation of the peer: look whether it is
 *	still the same
 * @ps: the paths
 * @l: the link, after an event
 *
 * For another one only the path in use is: by that it was heard. If this end has drawn
 * its own anew the peer is where it was. A link that is CLOSED has heard nobody, and
 * begins by its own path.
 *
 * A link that is down has perhaps lost its peer, and whoever is there now does not know which
 * SYNC are about one link: by gateways nobody hears who his neighbours are. So by a gateway
 * that is not in use none goes there before a probe was answered.
 */
void oae_paths_pair(struct oae_paths *ps, const struct oae_link *l)
{
	unsigned int i;

	if (l->inc != ps->inc)
		for (i = 0; i < OAE_PATHS_MAX; i++)
			ps->path[i].nonce = 0;
	ps->inc = l->inc;
	if (l->down && !ps->down)
		paths_doubt(ps);
	ps->down = l->down;
	if (l->state == OAE_CLOSED || l->peer.inc)
		ps->claimed = 0;
	if (l->state == OAE_CLOSED) {
		ps->peer_inc = 0;
		ps->home = OAE_PATH_OWN;
		ps->path[OAE_PATH_OWN].proven = true;
		ps->path[OAE_PATH_OWN].good = true;
		ps->path[OAE_PATH_OWN].heard = 0;
	}
	if (!l->peer.inc || l->peer.inc == ps->peer_inc)
		return;
	ps->peer_inc = l->peer.inc;
	ps->home = ps->used;
	ps->asked = ps->used;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		ps->path[i].proven = i == ps->used;
		ps->path[i].good &= i == ps->used;
		ps->path[i].heard = i == ps->used ? l->peer.ltag : 0;
		ps->path[i].nonce = 0;
		ps->path[i].far = 0;
		ps->path[i].pmtu = 0;
	}
}

/**
 * oae_path_renamed() - a path has another address here: it has to be proven anew
 * @ps: the paths
 * @i: its index
 *
 * The peer finds nothing at the old address, and does not know the new one. What was heard at the
 * old one is not named from the new one: a SYNC by a path that is not proven names no incarnation,
 * and with the peer's ltag it would be that of an end that has not met the peer.
 */
void oae_path_renamed(struct oae_paths *ps, unsigned int i)
{
	struct oae_path *p = &ps->path[i];

	p->proven = false;
	p->good = false;
	p->nonce = 0;
	p->missed = 0;
	p->probed_at = 0;
	p->heard = 0;
}

/**
 * oae_paths_move() - a path becomes the own one, of which nothing is left
 * @ps: the paths
 * @i: its index, not OAE_PATH_OWN
 * @now: ns
 *
 * Return: true if another path is in use now.
 */
bool oae_paths_move(struct oae_paths *ps, unsigned int i, u64 now)
{
	bool turned = ps->used == OAE_PATH_OWN;

	if (turned)
		oae_path_use(ps, i, OAE_WHY_CARRIER, now);
	ps->path[OAE_PATH_OWN] = ps->path[i];
	if (ps->used == i)
		ps->used = OAE_PATH_OWN;
	/* The own one of before is gone. */
	if (turned)
		ps->limit = OAE_PATHS_MAX;
	else if (ps->limit == i)
		ps->limit = OAE_PATH_OWN;
	oae_path_del(ps, i);
	return turned;
}

/* Another clock: all waits begin again. What was never is 0, and stays so. */
static void paths_new_clock(struct oae_paths *ps, u64 now)
{
	struct oae_path *p;
	unsigned int i;

	ps->gone_at = 0;
	ps->leave_at = 0;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		p->probed_at = p->probed_at ? now : 0;
		p->not_before = p->not_before ? now + p->wait : 0;
		p->used_at = p->used_at ? now : 0;
		p->good_at = now;
		p->pmtu_at = now;
		/* oae_loss_time() begins again. */
		p->loss.until = 0;
	}
}

/**
 * oae_paths_now() - an event begins: its time is not before that of the last one
 *	(architecture.md, *The clock*)
 * @ps: the paths
 * @l: the link
 * @now: by the event's clock, ns
 *
 * Return: ns; by another clock, from now on, if that is far behind.
 */
u64 oae_paths_now(struct oae_paths *ps, struct oae_link *l, u64 now)
{
	u64 was = l->now;

	now = oae_now(l, now);
	if (now < was)
		paths_new_clock(ps, now);
	return now;
}

/* Missed probes until a path is forgotten that is not proven: as many as fit the dead time. */
static unsigned int path_never(const struct oae_link *l)
{
	unsigned int n;

	for (n = OAE_PATH_MISSES + 1; n < PATH_NEVER; n++)
		if (n * l->cfg->keepalive >= l->cfg->dead)
			break;
	return n;
}

/**
 * oae_path_hopeless() - has a path been silent for so long that it may be forgotten?
 * @ps: the paths
 * @i: its index
 * @l: the link
 *
 * Return: true if so; never for the path in use, nor for the link's own if that is proven.
 */
bool oae_path_hopeless(const struct oae_paths *ps, unsigned int i, const struct oae_link *l)
{
	const struct oae_path *p = &ps->path[i];

	if (!p->there || i == ps->used || (i == OAE_PATH_OWN && p->proven))
		return false;
	return p->missed >= (p->proven ? PATH_LOST : path_never(l));
}

/**
 * oae_path_was_used() - is a path one of an earlier incarnation of the peer, by which nobody is
 *	heard?
 * @ps: the paths
 * @i: index of a path that is hopeless
 *
 * Return: true if so; false if it is one that was never in use, and may be some day.
 */
bool oae_path_was_used(const struct oae_paths *ps, unsigned int i)
{
	return !ps->path[i].proven && ps->path[i].used_at;
}

/**
 * oae_path_nobody() - is whoever is at the other end of a path not the peer?
 * @ps: the paths
 * @i: index of the path
 * @l: the link
 * @now: ns
 *
 * The peer is heard all the time, and would have answered the probes.
 *
 * Return: true if so.
 */
bool oae_path_nobody(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     u64 now)
{
	const struct oae_path *p = &ps->path[i];

	return !p->proven && p->missed >= OAE_PATH_MISSES && l->state == OAE_OPEN &&
	       now - l->heard_at < l->cfg->keepalive + l->cfg->keepalive / 2;
}

/**
 * oae_path_spare() - which path makes way for another, if there is no room?
 * @ps: the paths
 * @heard: the other end of the new one has just proven that it is the peer; else somebody
 *	claims that it is
 *
 * A path that was proven, and is silent as long as an unproven one may be, makes way for
 * any: if it is heard again it is proven again, and takes the place of one that is not.
 * For one that is proven at last any that is not good does: a peer whose addresses change
 * often leaves such paths behind.
 *
 * Return: its index; OAE_PATHS_MAX none.
 */
unsigned int oae_path_spare(const struct oae_paths *ps, bool heard)
{
	unsigned int i, last = OAE_PATHS_MAX;
	const struct oae_path *p;

	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (!p->there || p->good || oae_path_busy(ps, i))
			continue;
		if (p->proven ? p->missed >= PATH_NEVER : heard)
			return i;
		if (heard && last == OAE_PATHS_MAX)
			last = i;
	}
	return last;
}

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
			return l->timer.asks > 1 ? oae_paths_all(ps, l) : 1U << ps->used;
		/* To a REFLECT unasked: the first may have been lost by the path in use. */
		return 1U << ps->used | (f->opcode == OAE_COMMIT ? 1U << back : 0);
	case OAE_REFLECT:
		if (back < 0 && l->timer.reflects)
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

/**
 * oae_path_due() - is a path to be probed now?
 * @ps: the paths
 * @i: its index
 * @l: the link
 * @now: ns
 *
 * The path in use is not, once it is proven: the link itself notices what fails there.
 * A frozen link is in a hurry.
 */
bool oae_path_due(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		  u64 now)
{
	u64 keepalive = l->cfg->keepalive, wait = keepalive - keepalive / 8;
	const struct oae_path *p = &ps->path[i];

	if (oae_frozen(l) && !p->proven && !l->down)
		wait = keepalive / 8;
	return p->there && p->up && (i != ps->used || !p->proven) &&
	       (!p->probed_at || now - p->probed_at >= wait);
}

/**
 * oae_path_probed() - a probe is sent
 * @ps: the paths
 * @i: index of the path
 * @nonce: of the probe, not 0
 * @now: ns
 */
void oae_path_probed(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now)
{
	struct oae_path *p = &ps->path[i];

	if (p->nonce && p->missed < 255)
		p->missed++;
	/* A path that is silent altogether is not one that loses a little. */
	if (p->nonce && p->good)
		oae_loss_missed(&p->loss);
	if (p->missed >= OAE_PATH_MISSES)
		p->good = false;
	p->nonce = nonce;
	p->probed_at = now;
}

/**
 * oae_path_answered() - the answer to a probe has come, and its proof holds
 * @ps: the paths
 * @i: index of the path that it came by
 * @nonce: of the answer
 * @now: ns
 *
 * Return: false if it is not the answer to the last probe there.
 */
bool oae_path_answered(struct oae_paths *ps, unsigned int i, u64 nonce, u64 now)
{
	struct oae_path *p = &ps->path[i];

	if (!p->nonce || p->nonce != nonce)
		return false;
	p->nonce = 0;
	p->missed = 0;
	p->proven = true;
	if (!p->good)
		p->good_at = now;
	p->good = true;
	oae_loss_answered(&p->loss);
	p->rtt = now > p->probed_at ? now - p->probed_at : 1;
	return true;
}
