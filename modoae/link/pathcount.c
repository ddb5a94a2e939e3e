// SPDX-License-Identifier: GPL-2.0
/*
 * Which questions of this end went by the path in use, and which of them were lost, by their
 * numbers (doc/architecture.md, *Which path an end chooses*); pathloss.c judges that. Pure, see
 * path.h.
 *
 * An end judges the path that it asks by, from what the answers say: no frame is lost as long as
 * an answer may still say that it was heard. Each answer tells of OAE_NUMBER_MAP numbers and one.
 */
#include "path.h"
#include "link_int.h"

#define COUNT_ONE	64	/* numbers of which all losses are one, at most */

/**
 * oae_count_begin() - a run begins
 * @ps: the paths
 * @l: the link
 *
 * If the link had no paths before, nobody knows what its earlier questions went by.
 */
void oae_count_begin(struct oae_paths *ps, const struct oae_link *l)
{
	struct oae_path_count *c = &ps->count;

	c->newest = (u32)l->number.sent;
	c->since = (u32)l->number.sent;
	c->known = (u32)l->number.sent;
	c->counts = false;
}

/**
 * oae_count_turned() - another path is in use
 * @ps: the paths
 * @l: the link, after the event
 */
void oae_count_turned(struct oae_paths *ps, const struct oae_link *l)
{
	struct oae_path_count *c = &ps->count;

	c->since = (u32)l->number.sent;
	c->counts = false;
}

/*
 * Is no queue on the way nearly full? What that loses says nothing of the path. The round trip is
 * nearer to the shortest then than to the longest.
 */
static bool count_is_fair(const struct oae_link *l)
{
	const struct oae_rtt *r = &l->rtt;

	/* A guess is no measure: the way may be as short as can be. srtt is odd, to be no 0. */
	return r->guessed ||
	       2 * (r->srtt & ~1ULL) <= (u64)oae_peak(r->longest) + (u32)~oae_peak(r->shortest);
}

/* A question is lost, or its answer. What is lost soon after it is part of the same loss. */
static void count_lost(struct oae_paths *ps, const struct oae_link *l, u32 pn)
{
	struct oae_path_count *c = &ps->count;
	u32 sent = (u32)l->number.sent;

	if (oae_dist(c->known, pn) <= 0 || oae_dist(c->since, pn) <= 0)
		return;
	c->known = sent - pn < COUNT_ONE ? sent : pn + COUNT_ONE;
	c->counts = count_is_fair(l);
	if (c->counts)
		oae_loss_lost(&ps->path[ps->used].loss);
}

/*
 * A lane that seemed to be lost is answered, so others have overtaken it: by more numbers, perhaps,
 * than an answer tells of. So nothing was lost.
 */
static void count_overtaken(struct oae_paths *ps, const struct oae_link *l,
			    const struct oae_frame *f)
{
	const struct oae_lane *n = oae_lane(l, f->seq);

	if (f->seq - l->tx - 1 >= l->given || n->state != OAE_OFFER_OUT ||
	    f->kind != n->p.kind || !oae_lane_overtaken(n, f))
		return;
	if (ps->count.counts)
		oae_loss_undone(&ps->path[ps->used].loss);
	ps->count.counts = false;
}

/* The newest number is another: of those that no answer tells of any more all is known. */
static void count_passed(struct oae_paths *ps, const struct oae_link *l, u32 ahead)
{
	const struct oae_path_count *c = &ps->count;
	u32 n = ahead < OAE_NUMBER_MAP + 1 ? ahead : OAE_NUMBER_MAP + 1;
	u32 pn = c->newest - OAE_NUMBER_MAP;
	u64 heard = (u64)c->heard << 1 | 1;	/* bit 32: pn */

	for (; n && oae_dist(c->since, pn) <= 0; pn++)
		n--;
	if (!n)
		return;
	if (count_is_fair(l))
		oae_loss_frames(&ps->path[ps->used].loss, n);
	for (; n--; pn++)
		if (!(heard >> (c->newest - pn) & 1))
			count_lost(ps, l, pn);
}

/*
 * A mark that is far behind means no more than one that is less so. (Else numbers wrap, and it is
 * ahead.)
 */
static u32 count_trails(u32 mark, u32 newest)
{
	return oae_dist(mark, newest) > 2 * COUNT_ONE ? newest - 2 * COUNT_ONE : mark;
}

static bool count_was_heard(const struct oae_path_count *c, u32 pn)
{
	u32 back = c->newest - pn;

	return !back || (back <= OAE_NUMBER_MAP && c->heard >> (back - 1) & 1);
}

/*
 * A number that was asked for by ASK is reflected, or refused. What was offered was heard, and its
 * answer has not come: so that was lost.
 */
static void count_answer(struct oae_paths *ps, const struct oae_link *l, const struct oae_frame *f)
{
	const struct oae_lane *n = oae_lane(l, f->seq);

	if (f->opcode != OAE_REFLECT && f->opcode != OAE_REFUSE)
		return;
	if (f->seq - l->tx - 1 < l->given && n->state == OAE_OFFER_OUT &&
	    f->kind == n->p.kind && n->asked && oae_number_heard(f, n->asked) &&
	    count_was_heard(&ps->count, n->pn))
		count_lost(ps, l, n->pn);
}

/**
 * oae_count_heard() - a frame has come: before the link takes it
 * @ps: the paths
 * @i: index of the path
 * @l: the link
 * @f: the frame, which oae_path_heard() lets the link take
 */
void oae_count_heard(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f)
{
	struct oae_path_count *c = &ps->count;
	s32 ahead = oae_dist(c->newest, f->ack);

	if (!oae_is_answer(f->opcode) || l->state != OAE_OPEN || !oae_link_is_run(l, f) ||
	    !oae_number_was_sent(l, f->ack))
		return;
	/* The peer forgets nothing: what an answer that was overtaken says is known. */
	if (ahead > 0) {
		count_passed(ps, l, ahead);
		c->newest = f->ack;
		c->heard = f->map;
		c->since = count_trails(c->since, c->newest);
		c->known = count_trails(c->known, c->newest);
	} else if (!ahead) {
		c->heard |= f->map;
	}
	/* By another path it may overtake the one that seems lost. */
	if (i == ps->used)
		count_answer(ps, l, f);
	count_overtaken(ps, l, f);
}

/**
 * oae_count_time() - the timer has fired: paths that were lossy are tried again
 * @ps: the paths
 * @l: the link
 * @now: ns
 */
void oae_count_time(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		oae_loss_time(&ps->path[i].loss, i == ps->used, l->cfg->keepalive, now);
}
