// SPDX-License-Identifier: GPL-2.0
/*
 * A frame that comes by a path (doc/protocol.md section 4.14): is it believed there, and does it
 * say which path the peer uses? Pure, see path.h.
 */
#include "path.h"
#include "link_int.h"

#define PATH_ASKS	2	/* without an answer: a peer that loses nothing is gone */

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

/* Was the present incarnation found to be gone, and not heard since? Not by another clock. */
static bool path_is_gone(const struct oae_paths *ps, const struct oae_link *l)
{
	return ps->gone && l->heard_at < ps->gone_at && ps->gone_at <= l->now;
}

/**
 * oae_path_claim() - is a SYNC that comes from elsewhere than the path in use about this
 *	link?
 * @ps: the paths
 * @l: the link, not CLOSED
 * @inc: incarnation of its sender
 * @peer_inc: that of this end, as its sender knows it
 *
 * Whoever says that it is the peer, and is another incarnation of it, would have this
 * end drop what it holds. So it is believed only once the present one was asked by all
 * paths, and was silent for the dead time: the link is down; or if nothing is lost with the
 * present one, which was silent for a while: oae_path_gone(). But if the present
 * incarnation names this end's, it is the peer; and if none is known yet, whoever names
 * this end's has heard the SYNC of this link.
 *
 * Return: true if so.
 */
bool oae_path_claim(const struct oae_paths *ps, const struct oae_link *l, u64 inc,
		    u64 peer_inc)
{
	if ((l->down || path_is_gone(ps, l)) && l->peer.inc)
		return true;
	return peer_inc == l->inc && (!l->peer.inc || inc == l->peer.inc);
}

/* Is the peer heard by another path than that in use? */
static bool path_other_good(const struct oae_paths *ps)
{
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (i != ps->used && ps->path[i].good)
			return true;
	return false;
}

/**
 * oae_path_gone() - a neighbour with the id of the peer shows another incarnation, from
 *	elsewhere: is the present one gone?
 * @ps: the paths
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * The present one is asked, at most four times in the while that it has to answer, and twice
 * at least, the last time a quarter of it before its end. If it does not, and nothing would be
 * lost with it, the link freezes. From then on another incarnation is believed, as if the link
 * were down, until the present one is heard.
 *
 * Return: true if so.
 */
bool oae_path_gone(struct oae_paths *ps, struct oae_link *l, u64 now, struct oae_actions *a)
{
	u64 least = 2 * oae_link_pto(l), wait = l->cfg->keepalive / 4, last;

	if (!l->peer.inc || path_other_good(ps) || oae_would_lose(l))
		return false;
	now = oae_now(l, now);
	if (wait < least)
		wait = least;
	/* To the last question, too, it has time to answer. */
	last = wait - wait / 4;
	if (ps->gone_at > now)		/* by another clock */
		ps->gone_at = 0;
	if (l->heard_at >= ps->gone_at) {
		if (ps->gone_at && now - ps->gone_at < wait)
			return false;
		ps->gone_at = now;
		ps->gone_asks = 0;
		ps->gone = false;
	}
	if (ps->gone_asks >= PATH_ASKS && now - ps->gone_at >= wait) {
		ps->gone = true;
		if (l->state == OAE_OPEN)
			oae_freeze(l, OAE_N_STALL, now, a);
	} else if (now - ps->gone_at >= ps->gone_asks * (wait / 4) &&
		   (now - ps->gone_at <= last || ps->gone_asks < PATH_ASKS)) {
		if (now - ps->gone_at > last)
			ps->gone_at = now - last;
		ps->gone_asks++;
		oae_probe(l, now, a);
	}
	oae_finish(l, now, a);
	return ps->gone;
}

/* By it a new incarnation is for the link to judge: who is heard there is the peer, or was. */
static bool path_is_usual(const struct oae_paths *ps, unsigned int i)
{
	return i == ps->used && ps->path[i].proven;
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
	if (f->sync.inc == l->peer.inc)
		return !ps->path[i].proven;
	if (path_is_usual(ps, i))
		return false;
	return !oae_path_claim(ps, l, f->sync.inc, f->sync.peer_inc) ||
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

	if (!path_is_usual(ps, i) && oae_is_sync(f->opcode) && f->sync.inc != l->peer.inc) {
		if (!oae_path_claim(ps, l, f->sync.inc, f->sync.peer_inc))
			return false;
	} else if (!p->proven) {
		return false;
	}
	/*
	 * Nor does it end a link that nobody has at the other end of another path: there
	 * may be a link at that of the peer's own one, with something to be decided. Nor at
	 * that of its own one, if it is not in use: the peer may have moved, and may have
	 * committed what is held here.
	 */
	if (!l->down && path_is_end(l, f) &&
	    (i != ps->home || (i != ps->used && (f->opcode == OAE_CLOSE || oae_would_lose(l)))))
		return false;
	if (oae_is_sync(f->opcode) || oae_link_is_run(l, f))
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
	return oae_frozen(l) ? ps->path[i].heard : l->peer.ltag;
}

/**
 * oae_path_claimed() - somebody who may be the peer asks from elsewhere, and the link has met none
 * @ps: the paths
 * @f: the SYNC, which is put off
 */
void oae_path_claimed(struct oae_paths *ps, const struct oae_frame *f)
{
	ps->claimed = f->sync.inc;
	ps->claimed_start = f->sync.start;
}

/**
 * oae_path_name_claimed() - as long as nothing is known of the peer: name whoever may be it
 * @ps: the paths, after the event that sends the frame
 * @f: the frame
 *
 * Nobody else has heard that incarnation, so the peer knows by this that it has opened the same
 * link. Nothing of it is delivered here yet. (Else it takes rx for that of an end that has met it,
 * and starts again, unless its numbers begin where rx does.)
 */
void oae_path_name_claimed(const struct oae_paths *ps, struct oae_frame *f)
{
	if (!ps->claimed || ps->peer_inc || f->opcode != OAE_SYNC || f->sync.peer_inc)
		return;
	f->sync.peer_inc = ps->claimed;
	f->rx = ps->claimed_start;
}

/* Is this the newest question of the peer? It asks by the path that it uses. */
static bool path_is_asked(const struct oae_link *l, const struct oae_frame *f)
{
	return l->state == OAE_OPEN && oae_link_is_run(l, f) && oae_is_question(f->opcode) &&
	       oae_dist((u32)l->number.heard, f->pn) >= 0;
}

/**
 * oae_path_asked() - a frame has come by a path: does the peer ask by that one?
 * @ps: the paths
 * @i: index of the path
 * @l: the link, before it takes the frame
 * @f: the frame
 */
void oae_path_asked(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		    const struct oae_frame *f)
{
	if (path_is_asked(l, f))
		ps->asked = i;
}

/*
 * Where the ends do not both take paths, both are to go by one: the junior follows the senior.
 * (Else one end forgets the path that the other uses.)
 */
static bool path_follows(const struct oae_link *l, const struct oae_frame *f,
			 enum oae_state before)
{
	return before >= OAE_OPEN && !oae_link_takes_paths(l) && !l->senior &&
	       path_is_asked(l, f);
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
	if (oae_is_question(f->opcode))
		ps->agreed |= !l->senior;
	else if (oae_is_answer(f->opcode) && f->opcode != OAE_READY)
		ps->agreed |= l->senior;
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
	if (resolved && i != was && l->peer.inc != ps->peer_inc)
		oae_path_use(ps, i, OAE_WHY_PEER, now);
	oae_paths_pair(ps, l);
	/* A failure there is over: nobody probes the path in use. */
	if (resolved && i == ps->used)
		ps->path[i].good = true;
	/* A path by which the link resolves is used, up or not: its MTU is the link's now. */
	if (i == ps->used || (!ps->path[i].up && !resolved) || !ps->path[i].proven)
		return ps->used != was;
	if (!resolved && !path_follows(l, f, before))
		return ps->used != was;
	if (resolved) {
		why = ps->path[ps->used].up ? OAE_WHY_SILENCE : OAE_WHY_CARRIER;
		oae_path_fail(&ps->path[ps->used], keepalive, now);
	}
	oae_path_use(ps, i, why, now);
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
 * the peer has heard this end there.
 *
 * Return: true if another path is in use now.
 */
bool oae_path_stepped(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		      const struct oae_frame *f, enum oae_state before, u64 now)
{
	bool turned;

	if (before < OAE_OPEN) {
		ps->agreed = false;
		ps->leave_at = 0;
	}
	turned = path_stepped(ps, i, l, f, before, now);
	path_agree(ps, i, l, f);
	return turned;
}
