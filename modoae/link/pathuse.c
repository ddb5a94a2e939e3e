// SPDX-License-Identifier: GPL-2.0
/*
 * Which path is in use (doc/protocol.md section 4.14): another one if it has failed, and the best
 * one in the end. Pure, see path.h.
 */
#include "path.h"
#include "link_int.h"

#define PATH_WAIT_MAX	64	/* keepalive times until a path that failed is taken again */
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
	       (oae_path_mtu(p) == oae_path_mtu(&ps->path[ps->used]) || !p->wait ||
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
	u64 keepalive = l->cfg->keepalive;
	unsigned int i, n = 0, wanted;

	if (!oae_link_takes_paths(l) || now - used->used_at < keepalive / 2)
		return false;
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		p = &ps->path[i];
		if (!path_is_worth(ps, i, keepalive, now) || (best && path_better(best, p)))
			continue;
		n = !best || path_better(p, best) ? 1 : n + 1;
		best = p;
	}
	/* By hand it may become shorter, or to be direct; for what the path loses it may not. */
	if (!n || (path_is_fine(ps, ps->used, now) && oae_path_mtu(best) < oae_path_mtu(used) &&
		   best->rank <= used->rank && best->via >= used->via))
		return false;
	wanted = l->vc % n;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (path_is_worth(ps, i, keepalive, now) && !path_better(best, &ps->path[i]) &&
		    !wanted--)
			break;
	if (i == ps->used || i == OAE_PATHS_MAX)
		return false;
	oae_path_use(ps, i, path_why(&ps->path[i], used), now);
	return true;
}
