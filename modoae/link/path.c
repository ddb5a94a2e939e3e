// SPDX-License-Identifier: GPL-2.0
/*
 * Paths (doc/protocol.md section 4.14): which of them a frame goes by, which is in use,
 * and which frames are believed by which. Pure, see path.h.
 *
 * Numbers, attempts and ltags know nothing of paths: a copy that comes by another one is
 * a duplicate, which the link takes like any other. So the rules here decide only how
 * soon two ends find each other, never what becomes of a transaction. There is one
 * exception: a new incarnation of the peer is believed only by the path in use, as long
 * as the present one may be there.
 */
#include "path.h"
#include "link_int.h"

#define PATH_WAIT_MAX	64	/* keepalive times until a path that failed is taken again */
#define PATH_NEVER	8	/* and it never was one */
#define PATH_LOST	250	/* and it will not come back */
#define PATH_STEADY	16	/* keepalive times in use: earlier failures are forgotten */

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
	ps->peer_inc = l->peer_inc;
	ps->moved = l->tx + l->rx - 1;
	ps->rows = l->rows;
	ps->half_rows = l->half_rows;
	ps->mtu = mtu;
	ps->peer_mtu = l->peer_mtu;
	own->there = true;
	own->up = up;
	own->proven = true;
	own->good = true;
	own->mtu = mtu;
	own->heard = l->peer_ltag;
	own->used_at = now;
	ps->watch.froze = OAE_PATHS_MAX;
	oae_watch_begin(ps, l);
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
	if (ps->resolved == i)
		ps->resolved = OAE_PATH_OWN;
	if (ps->home == i)
		ps->home = OAE_PATH_OWN;
	ps->avoid &= ~(1U << i);
	if (ps->counted == i)
		ps->counted = OAE_PATHS_MAX;
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
	if (l->state == OAE_CLOSED) {
		ps->peer_inc = 0;
		ps->home = OAE_PATH_OWN;
		ps->path[OAE_PATH_OWN].proven = true;
		ps->path[OAE_PATH_OWN].good = true;
		ps->path[OAE_PATH_OWN].heard = 0;
	}
	if (!l->peer_inc || l->peer_inc == ps->peer_inc)
		return;
	ps->peer_inc = l->peer_inc;
	ps->home = ps->used;
	ps->avoid = 0;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		ps->path[i].proven = i == ps->used;
		ps->path[i].good &= i == ps->used;
		ps->path[i].heard = i == ps->used ? l->peer_ltag : 0;
		ps->path[i].nonce = 0;
		ps->path[i].offer_row = 0;
		ps->path[i].half_row = 0;
		ps->path[i].cut = 0;
	}
}

static bool path_is_sync(const struct oae_frame *f)
{
	return f->opcode == OAE_SYNC || f->opcode == OAE_SYNC_ACK ||
	       f->opcode == OAE_SYNC_CHK;
}

/*
 * A refusal at a frozen end, or a CLOSE_ACK that is not of an end whose counters fit:
 * whoever has no link sends them, too (protocol 4.6).
 */
static bool path_is_end(const struct oae_link *l, const struct oae_frame *f)
{
	if (f->opcode == OAE_CLOSE)
		return f->reason && oae_frozen(l);
	return f->opcode == OAE_CLOSE_ACK &&
	       (f->tx != l->rx || f->rx != l->tx || l->nheld);
}

/**
 * oae_path_claim() - is a SYNC that comes from elsewhere than the path in use about this
 *	link?
 * @l: the link, not CLOSED
 * @inc: incarnation of its sender
 * @peer_inc: that of this end, as its sender knows it
 *
 * Whoever says that it is the peer, and is another incarnation of it, would have this
 * end drop what it holds. So it is believed only once the present one was asked by all
 * paths, and was silent for the dead time: the link is down. But if the present
 * incarnation names this end's, it is the peer; and if none is known yet, whoever names
 * this end's has heard the SYNC of this link.
 *
 * Return: true if so.
 */
bool oae_path_claim(const struct oae_link *l, u64 inc, u64 peer_inc)
{
	if (l->down && l->peer_inc)
		return true;
	return peer_inc == l->inc && (!l->peer_inc || inc == l->peer_inc);
}

/**
 * oae_path_is_strange() - is a SYNC by a path one that admission decides about (4.6)?
 * @ps: the paths
 * @i: index of the path
 * @l: the link, not CLOSED
 * @f: the SYNC
 *
 * Its sender has not shown that it is the peer, or that it hears this end.
 *
 * Return: true if so.
 */
bool oae_path_is_strange(const struct oae_paths *ps, unsigned int i,
			 const struct oae_link *l, const struct oae_frame *f)
{
	if (f->sync.inc == l->peer_inc)
		return !ps->path[i].proven;
	if (i == ps->used)
		return false;
	return !oae_path_claim(l, f->sync.inc, f->sync.peer_inc) ||
	       (f->sync.peer_inc != l->inc && f->dst_ltag != l->ltag);
}

/**
 * oae_path_heard() - a frame has come by a path: before the link takes it
 * @ps: the paths
 * @i: index of the path
 * @l: the link, not CLOSED
 * @f: the frame, parsed and verified
 *
 * Records the ltag that the peer has shown there: a SYNC by this path names it, and so
 * tells the peer that this path was heard. That the peer resolves only by a SYNC that
 * names its current ltag keeps two paths that are one-way crosswise from resolving.
 *
 * Return: false: drop the frame.
 */
bool oae_path_heard(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		    const struct oae_frame *f)
{
	struct oae_path *p = &ps->path[i];

	if (i != ps->used && path_is_sync(f) && f->sync.inc != l->peer_inc) {
		if (!oae_path_claim(l, f->sync.inc, f->sync.peer_inc))
			return false;
	} else if (!p->proven) {
		return false;
	}
	/*
	 * Nor does it end a link that nobody has at the other end of another path: there
	 * may be a link at that of the peer's own one, with something to be decided. Nor at
	 * that of its own one, if it is not in use: the peer may have moved.
	 */
	if (!l->down && path_is_end(l, f) &&
	    (i != ps->home || (f->opcode == OAE_CLOSE && i != ps->used)))
		return false;
	/* Until SYNC is repeated for the first time. */
	if (ps->avoid & 1U << i && oae_frozen(l) && !l->repeated && path_is_sync(f))
		return false;
	if (path_is_sync(f) || oae_link_is_run(l, f))
		p->heard = f->src_ltag;
	return true;
}

/**
 * oae_path_names() - the ltag of the peer that a SYNC names
 * @ps: the paths
 * @i: index of the path that it goes by
 * @l: the link, after the event that sends it
 *
 * A frozen end names what it has heard by that path. An OPEN end names only what it has
 * learned: an ltag that it has answered with SYNC_CHK is that of a frozen peer, which
 * would resolve by counters that can still move.
 *
 * Return: the ltag, 0 none.
 */
u32 oae_path_names(const struct oae_paths *ps, unsigned int i, const struct oae_link *l)
{
	return oae_frozen(l) ? ps->path[i].heard : l->peer_ltag;
}

/*
 * A frame that its sender sends of its own accord, so by the path that it uses. A SYNC of
 * the run is that only if it is a probe. One that the peer sent when it was frozen looks
 * the same, and went by all paths; but it comes when others do.
 */
static bool path_is_initiative(const struct oae_paths *ps, const struct oae_link *l,
			       const struct oae_frame *f, u64 now)
{
	if (f->opcode == OAE_SYNC)
		return now >= ps->watch.heard_at + l->cfg->keepalive / 2;
	return f->opcode == OAE_OFFER || f->opcode == OAE_COMMIT || f->opcode == OAE_READY ||
	       f->opcode == OAE_REVERSE;
}

static void path_use(struct oae_paths *ps, unsigned int i, enum oae_path_why why, u64 now)
{
	ps->used = i;
	ps->why = why;
	ps->agreed = false;
	ps->told_at = now;
	ps->watch.mixed_at = now;
	ps->path[i].used_at = now;
	ps->path[i].good = true;
	ps->path[i].missed = 0;
}

/* A path in use has failed. */
static void path_fail(struct oae_path *p, u64 keepalive, u64 now)
{
	p->good = false;
	if (!p->wait || now - p->used_at >= PATH_STEADY * keepalive)
		p->wait = keepalive;
	else if (p->wait < PATH_WAIT_MAX * keepalive)
		p->wait *= 2;
	p->not_before = now + p->wait;
	p->nonce = 0;
}

/*
 * Does a frame that came by the path in use show that the peer uses that, too? At the junior
 * what the senior sends by it does; at the senior an answer, since it has reached the junior
 * by it, which follows.
 */
static void path_agree(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		       const struct oae_frame *f)
{
	if (i != ps->used || l->state != OAE_OPEN || !oae_link_is_run(l, f))
		return;
	switch (f->opcode) {
	case OAE_OFFER:
	case OAE_COMMIT:
	case OAE_READY:
	case OAE_REVERSE:
		ps->agreed |= !l->senior;
		break;
	case OAE_REFLECT:
	case OAE_REFUSE:
	case OAE_DONE:
		ps->agreed |= l->senior;
		break;
	}
}

/* True: another path is in use now. */
static bool path_stepped(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
			 const struct oae_frame *f, enum oae_state before, u64 now)
{
	bool resolved = before < OAE_OPEN && l->state == OAE_OPEN;
	u64 keepalive = l->cfg->keepalive;
	enum oae_path_why why = OAE_WHY_PEER;
	unsigned int was = ps->used;

	/* Another incarnation of the peer is at the other end of this path. */
	if (resolved && i != was && l->peer_inc != ps->peer_inc)
		path_use(ps, i, OAE_WHY_PEER, now);
	oae_paths_pair(ps, l);
	if (resolved)
		ps->resolved = i;
	/* What had failed there is over: nobody probes the path in use. */
	if (resolved && i == ps->used)
		ps->path[i].good = true;
	/* What is resolved by a path is used there, up or not: its MTU is the link's now. */
	if (i == ps->used || (!ps->path[i].up && !resolved) || !ps->path[i].proven)
		return ps->used != was;
	if (!resolved && (l->senior || before < OAE_OPEN || l->state != OAE_OPEN ||
			  !oae_link_is_run(l, f) || !path_is_initiative(ps, l, f, now)))
		return ps->used != was;
	if (resolved) {
		why = ps->path[ps->used].up ? OAE_WHY_SILENCE : OAE_WHY_CARRIER;
		path_fail(&ps->path[ps->used], keepalive, now);
	}
	path_use(ps, i, why, now);
	return true;
}

/**
 * oae_path_stepped() - the link has taken a frame that came by a path
 * @ps: the paths
 * @i: index of the path
 * @l: the link, after the event
 * @f: the frame
 * @before: state of the link before the event
 * @now: ns
 *
 * The path by which the link has resolved is in use from now on: the frame said that
 * the peer has heard this end there. So is, at the junior, the path by which the senior
 * sends of its own accord.
 *
 * Return: true if another path is in use now.
 */
bool oae_path_stepped(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		      const struct oae_frame *f, enum oae_state before, u64 now)
{
	bool turned;

	if (before < OAE_OPEN)
		ps->agreed = false;
	turned = path_stepped(ps, i, l, f, before, now);
	path_agree(ps, i, l, f);
	return turned;
}

/**
 * oae_path_astray() - does the junior send by another path than the senior?
 * @ps: the paths
 * @i: index of the path by which a frame came
 * @l: the link, which has taken it
 * @f: the frame
 * @now: ns
 *
 * The ends may resolve by two paths, and what says which one is used may be lost. So the
 * senior says it again, in any frame that is of its own accord; at most once in two round
 * trips, since the answer takes one.
 *
 * Return: true: send one, by oae_link_speak().
 */
bool oae_path_astray(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f, u64 now)
{
	if (i == ps->used || !l->senior || l->state != OAE_OPEN ||
	    !oae_link_is_run(l, f) || !path_is_initiative(ps, l, f, now) ||
	    now < ps->told_at + 2 * l->srtt)
		return false;
	ps->told_at = now;
	return true;
}

/**
 * oae_paths_all() - which paths does a SYNC of a freeze go by?
 * @ps: the paths
 * @l: the link
 * @but: a set of indices, without these
 *
 * All that are up and proven. If the link is down that is the own path, too: to there it was
 * opened, and whoever is there now may know nothing of what was proven.
 *
 * Return: a set of indices.
 */
unsigned int oae_paths_all(const struct oae_paths *ps, const struct oae_link *l,
			   unsigned int but)
{
	unsigned int i, all = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (ps->path[i].there && ps->path[i].up &&
		    (ps->path[i].proven || (l->down && i == OAE_PATH_OWN)))
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
 * What begins a freeze, and what is repeated in it, goes by all that are proven; what
 * answers goes back; all else goes by the path in use.
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
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
	case OAE_REFLECT:
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

/**
 * oae_path_hopeless() - has a path been silent for so long that it may be forgotten?
 * @ps: the paths
 * @i: its index
 *
 * Return: true if so; never for the path in use, nor the link's own.
 */
bool oae_path_hopeless(const struct oae_paths *ps, unsigned int i)
{
	const struct oae_path *p = &ps->path[i];

	return p->there && i != OAE_PATH_OWN && i != ps->used &&
	       p->missed >= (p->proven ? PATH_LOST : PATH_NEVER);
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
 * oae_path_renamed() - a path has another address here: it has to be proven anew
 * @ps: the paths
 * @i: its index
 *
 * The peer finds nothing at the old address, and does not know the new one.
 */
void oae_path_renamed(struct oae_paths *ps, unsigned int i)
{
	struct oae_path *p = &ps->path[i];

	p->proven = false;
	p->good = false;
	p->nonce = 0;
	p->missed = 0;
	p->probed_at = 0;
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
		path_use(ps, i, OAE_WHY_CARRIER, now);
	ps->path[OAE_PATH_OWN] = ps->path[i];
	if (ps->used == i)
		ps->used = OAE_PATH_OWN;
	/* The own one of before is gone. */
	ps->avoid &= ~(1U << OAE_PATH_OWN);
	if (turned)
		ps->counted = OAE_PATHS_MAX;
	else if (ps->counted == i)
		ps->counted = OAE_PATH_OWN;
	oae_path_del(ps, i);
	return turned;
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
		if (!p->there || p->good || i == ps->used)
			continue;
		if (p->proven ? p->missed >= PATH_NEVER : heard)
			return i;
		if (heard && last == OAE_PATHS_MAX)
			last = i;
	}
	return last;
}

/* What counts before the MTU: the rank; and a path that loses frames is next to the worst. */
static unsigned int path_class(const struct oae_path *p)
{
	if (p->rank == OAE_PATH_AVOID)
		return 0;
	if (p->loss.lossy)
		return 1;
	return p->rank == OAE_PATH_PREFERRED ? 3 : 2;
}

/* Is a path to be preferred to another? A gateway has other things to do. */
static bool path_better(const struct oae_path *p, const struct oae_path *than)
{
	if (path_class(p) != path_class(than))
		return path_class(p) > path_class(than);
	if (p->via != than->via)
		return than->via;
	return p->mtu > than->mtu;
}

/* The best path but @but, or OAE_PATHS_MAX. */
static unsigned int paths_other(const struct oae_paths *ps, unsigned int but)
{
	unsigned int i, best = OAE_PATHS_MAX;
	const struct oae_path *p;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (i == but || !p->there || !p->up || !p->proven || !p->good)
			continue;
		if (best == OAE_PATHS_MAX || path_better(p, &ps->path[best]))
			best = i;
	}
	return best;
}

/**
 * oae_path_failed() - a path has failed: its port is down
 * @ps: the paths
 * @i: its index
 * @l: the link
 * @now: ns
 *
 * Return: true if it was in use, and another one is now. If there is no other that is
 * good it stays in use.
 */
bool oae_path_failed(struct oae_paths *ps, unsigned int i, const struct oae_link *l, u64 now)
{
	struct oae_path *p = &ps->path[i];
	unsigned int other;

	if (ps->used != i) {
		p->good = false;
		return false;
	}
	path_fail(p, l->cfg->keepalive, now);
	other = paths_other(ps, i);
	if (other == OAE_PATHS_MAX)
		return false;
	path_use(ps, other, OAE_WHY_CARRIER, now);
	return true;
}

/* May a path be used instead of that which is? */
static bool path_is_fine(const struct oae_paths *ps, unsigned int i, u64 now)
{
	const struct oae_path *p = &ps->path[i];

	return p->there && p->up && p->proven && p->good &&
	       (i == ps->used || (p->rtt && now >= p->not_before));
}

/*
 * May it be used, with what it costs to go there? If it carries another length, that is a
 * freeze: so not to a path that has failed, and may do so again soon.
 */
static bool path_is_worth(const struct oae_paths *ps, unsigned int i, u64 keepalive, u64 now)
{
	const struct oae_path *p = &ps->path[i];

	return path_is_fine(ps, i, now) &&
	       (p->mtu == ps->path[ps->used].mtu || !p->wait ||
		now - p->good_at >= PATH_STEADY * keepalive);
}

/* Why is a path better than the one in use? */
static enum oae_path_why path_why(const struct oae_path *p, const struct oae_path *used)
{
	if (p->rank == used->rank && used->loss.lossy && !p->loss.lossy)
		return OAE_WHY_LOSS;
	if (path_class(p) != path_class(used))
		return OAE_WHY_RANK;
	if (p->wait || p->loss.row)
		return OAE_WHY_BACK;
	if (p->via != used->via)
		return OAE_WHY_RANK;
	return p->mtu > used->mtu ? OAE_WHY_MTU : OAE_WHY_SPREAD;
}

/**
 * oae_paths_back() - the senior goes over to the path that it prefers
 * @ps: the paths
 * @l: the link
 * @now: ns
 *
 * Of the best paths the links of a pair take each another one, by their vc. One that loses
 * frames is left for another that carries as much. A path that has failed is taken again
 * after a while that doubles each time. The junior follows the first frame.
 *
 * Return: true if another path is in use now.
 */
bool oae_paths_back(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	const struct oae_path *used = &ps->path[ps->used], *best = NULL, *p;
	u64 keepalive = l->cfg->keepalive;
	unsigned int i, n = 0, wanted;

	if (l->state != OAE_OPEN || !l->senior ||
	    now - used->used_at < keepalive / 2)
		return false;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (!path_is_worth(ps, i, keepalive, now) || (best && path_better(best, p)))
			continue;
		n = !best || path_better(p, best) ? 1 : n + 1;
		best = p;
	}
	/* By hand it may become shorter, or to be direct; for what the path loses it may not. */
	if (!n || (path_is_fine(ps, ps->used, now) && best->mtu < used->mtu &&
		   best->rank <= used->rank && best->via >= used->via))
		return false;
	wanted = l->vc % n;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (path_is_worth(ps, i, keepalive, now) && !path_better(best, &ps->path[i]) &&
		    !wanted--)
			break;
	if (i == ps->used || i == OAE_PATHS_MAX)
		return false;
	path_use(ps, i, path_why(&ps->path[i], used), now);
	return true;
}
