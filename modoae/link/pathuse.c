// SPDX-License-Identifier: GPL-2.0
/*
 * Which path is in use (doc/protocol.md section 4.14; doc/architecture.md, *Which path an end
 * chooses*): another one if it has failed, and the best one in the end. Pure, see path.h.
 */
#include "path.h"
#include "link_int.h"

#define PATH_WAIT_MAX	64	/* keepalive times until a path that failed is taken again */
#define PATH_IDLE	4	/* of a keepalive time, until an idle link leaves a path */
#define PATH_STEADY	16	/* keepalive times in use: earlier failures are forgotten */

/**
 * oae_path_use() - take a path into use
 * @ps: the paths
 * @i: its index
 * @why: why
 * @now: ns
 */
void oae_path_use(struct oae_paths *ps, unsigned int i, enum oae_path_why why, u64 now)
{
	ps->used = i;
	ps->why = why;
	ps->agreed = false;
	ps->leave_at = 0;
	ps->path[i].used_at = now;
	ps->path[i].good = true;
	ps->path[i].missed = 0;
}

/**
 * oae_path_fail() - a path in use has failed: for how long is it not taken again?
 * @p: the path
 * @keepalive: the knob, ns
 * @now: ns
 */
void oae_path_fail(struct oae_path *p, u64 keepalive, u64 now)
{
	p->good = false;
	if (!p->wait || now - p->used_at >= PATH_STEADY * keepalive)
		p->wait = keepalive;
	else if (p->wait < PATH_WAIT_MAX * keepalive)
		p->wait *= 2;
	p->not_before = now + p->wait;
	p->nonce = 0;
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
	return oae_path_mtu(p) > oae_path_mtu(than);
}

/* For what is too long for the path in use the length comes first, but for what was set by hand. */
static bool path_better_for(const struct oae_link *l, const struct oae_path *p,
			    const struct oae_path *than)
{
	if (l->mtu.too_long && p->rank == than->rank && oae_path_mtu(p) != oae_path_mtu(than))
		return oae_path_mtu(p) > oae_path_mtu(than);
	return path_better(p, than);
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
	oae_path_fail(p, l->cfg->keepalive, now);
	other = paths_other(ps, i);
	if (other == OAE_PATHS_MAX)
		return false;
	oae_path_use(ps, other, OAE_WHY_CARRIER, now);
	return true;
}

/* Is this the answer to what was asked for the second time, or to a probe that was? */
static bool path_asked_again(const struct oae_link *l, const struct oae_frame *f)
{
	/* The probes of two ends cross: the peer's ends the own one. */
	if (f->opcode == OAE_SYNC_ACK || f->opcode == OAE_SYNC)
		return l->asked_at;
	return l->timer.asks > 1 && oae_dist(l->number.acked, f->ack) > 0 &&
	       oae_number_was_sent(l, f->ack);
}

/**
 * oae_path_answers() - an answer has come by a path: does it come by the one in use?
 * @ps: the paths
 * @i: index of the path
 * @l: the link, before it takes the frame
 * @f: the frame, any
 * @now: ns
 *
 * What the timer has asked for the second time went by all paths. If it is answered by another
 * one, the peer is there, and the path in use is silent: it has as long as a round trip may
 * take, and is left then. (Else a host that pauses moves its links.)
 *
 * Return: when oae_paths_silent() is to be asked, ns; 0: not for this frame.
 */
u64 oae_path_answers(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f, u64 now)
{
	u64 wait = oae_link_pto(l), longest = oae_peak(l->rtt.longest);

	if (!oae_link_takes_paths(l) || !oae_link_is_run(l, f) ||
	    (!oae_is_answer(f->opcode) && f->opcode != OAE_SYNC_ACK && f->opcode != OAE_SYNC))
		return 0;
	if (i == ps->used) {
		/* These answer no question. */
		if (f->opcode != OAE_READY && f->opcode != OAE_SYNC)
			ps->leave_at = 0;
		return 0;
	}
	if (ps->leave_at || !ps->path[i].up || !path_asked_again(l, f))
		return 0;
	/* Nothing is urgent on an idle link, whose longest round trip may be of long ago. */
	if (!oae_is_answer(f->opcode) && wait < l->cfg->keepalive / PATH_IDLE)
		wait = l->cfg->keepalive / PATH_IDLE;
	else if (oae_is_answer(f->opcode) && longest && wait > longest)
		wait = longest;
	ps->other = i;
	ps->leave_at = now + wait;
	return ps->leave_at;
}

/**
 * oae_paths_silent() - the timer has fired: is the path in use left, since it is silent?
 * @ps: the paths
 * @l: the link
 * @now: ns
 *
 * Return: true if another one is in use now. No freeze is needed.
 */
bool oae_paths_silent(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	const struct oae_path *p = &ps->path[ps->other];

	if (!ps->leave_at || now < ps->leave_at)
		return false;
	ps->leave_at = 0;
	if (!oae_link_takes_paths(l) || !p->up || !p->proven)
		return false;
	oae_path_fail(&ps->path[ps->used], l->cfg->keepalive, now);
	oae_path_use(ps, ps->other, OAE_WHY_SILENCE, now);
	return true;
}

/* May a path be used instead of that which is? What is too long for that does not wait. */
static bool path_is_fine(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
			 u64 now)
{
	const struct oae_path *p = &ps->path[i];

	return p->there && p->up && p->proven && p->good &&
	       (i == ps->used || (p->rtt && (now >= p->not_before || l->mtu.too_long)));
}

/*
 * May it be used, with what it costs to go there? If it carries less, that is a freeze: so not to
 * a path that has failed, and may do so again soon.
 */
static bool path_is_worth(const struct oae_paths *ps, unsigned int i, const struct oae_link *l,
			  u64 now)
{
	const struct oae_path *p = &ps->path[i];

	return path_is_fine(ps, i, l, now) &&
	       (oae_path_mtu(p) >= oae_path_mtu(&ps->path[ps->used]) || !p->wait ||
		now - p->good_at >= PATH_STEADY * l->cfg->keepalive);
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
	return oae_path_mtu(p) > oae_path_mtu(used) ? OAE_WHY_MTU : OAE_WHY_SPREAD;
}

/**
 * oae_paths_back() - an end goes over to the path that it prefers
 * @ps: the paths
 * @l: the link
 * @now: ns
 *
 * Of the best paths the links of a pair take each another one, by their vc. One that loses
 * frames is left for another that carries as much. A path that has failed is taken again
 * after a while that doubles each time. Each end chooses for its own questions.
 *
 * Return: true if another path is in use now.
 */
bool oae_paths_back(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	const struct oae_path *used = &ps->path[ps->used], *best = NULL, *p;
	unsigned int i, n = 0, wanted;

	if (!oae_link_takes_paths(l) ||
	    (now - used->used_at < l->cfg->keepalive / 2 && !l->mtu.too_long))
		return false;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (!path_is_worth(ps, i, l, now) || (best && path_better_for(l, best, p)))
			continue;
		n = !best || path_better_for(l, p, best) ? 1 : n + 1;
		best = p;
	}
	/* By hand it may become shorter, or to be direct; for what the path loses it may not. */
	if (!n || (path_is_fine(ps, ps->used, l, now) && oae_path_mtu(best) < oae_path_mtu(used) &&
		   best->rank <= used->rank && best->via >= used->via))
		return false;
	wanted = l->vc % n;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (path_is_worth(ps, i, l, now) &&
		    !path_better_for(l, best, &ps->path[i]) && !wanted--)
			break;
	if (i == ps->used || i == OAE_PATHS_MAX)
		return false;
	oae_path_use(ps, i, path_why(&ps->path[i], used), now);
	return true;
}
