// SPDX-License-Identifier: GPL-2.0
/*
 * Paths that carry SYNC, but not what is offered (doc/protocol.md section 4.14, *Avoid*), as
 * behind a switch that drops long frames: which they are, and which of them a freeze avoids.
 * Pure, see path.h.
 *
 * A row of fruitless failures (4.1) is one of a path. The link counts that of the path in use;
 * those of the others are kept here until something ends the row.
 */
#include "path.h"
#include "link_int.h"

#define AVOID_FREEZES	2	/* freezes without anything between them: try another path */

/*
 * All that a freeze may turn to for what does not get through. Not what is known to be silent; but
 * one that was left, since it failed, may be probed next in a long time.
 */
static unsigned int avoid_others(const struct oae_paths *ps)
{
	unsigned int i, others = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		const struct oae_path *p = &ps->path[i];

		if (i != ps->used && p->there && p->up && p->proven &&
		    p->missed < OAE_PATH_MISSES)
			others |= 1U << i;
	}
	return others;
}

/* A row of a path, or that of the path in use: of what is offered, and of a half. */
struct avoid_row {
	u8 offer;
	u8 half;
	u64 since;
};

static bool avoid_is_long(struct avoid_row row)
{
	return row.offer >= OAE_FRUITLESS || row.half >= OAE_FRUITLESS;
}

static bool avoid_is_hopeless(const struct oae_link *l, struct avoid_row row, u64 now)
{
	/* It may be of another clock. */
	if (row.since > now)
		return false;
	return oae_cut_hopeless(l, row.offer > row.half ? row.offer : row.half, row.since, now);
}

static struct avoid_row avoid_row_of(const struct oae_path *p)
{
	return (struct avoid_row){ p->offer_row, p->half_row, p->row_since };
}

/* Of two rows the later one counts: nothing is given up too soon. */
static struct avoid_row avoid_row(const struct oae_link *l)
{
	u64 half = l->half.fruitless ? l->swaps->fruitless_at : 0;
	u64 offer = l->fruitless ? l->fruitless_at : 0;

	return (struct avoid_row){ l->fruitless, l->half.fruitless, offer > half ? offer : half };
}

/* Does what fails by the path in use fail for the third time, and is it still to get through? */
static bool avoid_counts(const struct oae_link *l)
{
	return l->fruitless >= OAE_FRUITLESS ||
	       (l->half.fruitless >= OAE_FRUITLESS && l->half.state == OAE_HALF_LENT);
}

/* By which paths may that get through which does not by the one in use? @set: these. */
static enum oae_others avoid_untried(const struct oae_paths *ps, const struct oae_link *l,
				     u64 now, unsigned int *set)
{
	unsigned int i, others = avoid_others(ps), fresh = 0, hopeful = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!(others & 1U << i))
			continue;
		if (!avoid_is_long(avoid_row_of(&ps->path[i])))
			fresh |= 1U << i;
		if (!avoid_is_hopeless(l, avoid_row_of(&ps->path[i]), now))
			hopeful |= 1U << i;
	}
	*set = fresh ?: hopeful;
	return fresh ? OAE_OTHERS_NEW : hopeful ? OAE_OTHERS_TRIED : OAE_OTHERS_NONE;
}

/* Which paths does a freeze leave, since the row of the one in use is long? 0: all. */
static unsigned int avoid_left(const struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	const struct avoid_row row = avoid_row(l);
	enum oae_others others;
	unsigned int set;

	if (!avoid_counts(l))
		return 0;
	others = avoid_untried(ps, l, now, &set);
	if (others == OAE_OTHERS_TRIED && row.offer < OAE_HOPELESS && row.half < OAE_HOPELESS)
		return 0;
	return set;
}

/* The path in use is another one, and so are the rows, and what is too long for it. */
static void avoid_turn(struct oae_paths *ps, struct oae_link *l, u64 now)
{
	const struct oae_path *p = &ps->path[ps->used];
	const struct avoid_row row = avoid_row(l);
	struct oae_path *was;

	if (ps->counted < OAE_PATHS_MAX) {
		was = &ps->path[ps->counted];
		was->offer_row = row.offer;
		was->half_row = row.half;
		was->row_since = row.since;
		/* Without a carrier it may lead elsewhere next. */
		was->cut = was->up ? l->cut : 0;
	}
	l->fruitless = p->offer_row;
	l->fruitless_at = p->row_since;
	l->half.fruitless = p->half_row;
	if (l->swaps)
		l->swaps->fruitless_at = p->row_since;
	l->cut = p->cut;
	l->cut_at = now;
	oae_rtt_guess(l, p->rtt);
	ps->counted = ps->used;
	ps->rows_kept = true;
}

/* Something has got through, or is no more: that ends the rows of all paths. */
static void avoid_rows_end(struct oae_paths *ps, const struct oae_link *l)
{
	bool offer = ps->rows != l->rows, half = ps->half_rows != l->half_rows, kept = false;
	unsigned int i;

	ps->rows = l->rows;
	ps->half_rows = l->half_rows;
	for (i = 0; ps->rows_kept && i < OAE_PATHS_MAX; i++) {
		if (offer)
			ps->path[i].offer_row = 0;
		if (half)
			ps->path[i].half_row = 0;
		kept |= ps->path[i].offer_row || ps->path[i].half_row;
	}
	ps->rows_kept = kept;
}

/*
 * The link has resolved by a path that was avoided: by no other was SYNC answered in time. Those
 * are tried again, but not for ever.
 */
static void avoid_unheard(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	unsigned int i, others = avoid_others(ps) & ~ps->avoid;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		struct oae_path *p = &ps->path[i];

		if (!(others & 1U << i))
			continue;
		if (l->fruitless >= OAE_FRUITLESS)
			oae_cut_count(&p->offer_row, &p->row_since, 0, now);
		if (l->half.fruitless >= OAE_FRUITLESS)
			oae_cut_count(&p->half_row, &p->row_since, 0, now);
	}
	ps->rows_kept |= others;
}

/*
 * The link has frozen. A path may be the fastest and carry nothing but SYNC: links resolve by it
 * again and again. It is the path that has won which is avoided after freezes without anything
 * between them: another may be in use by now, and was never tried.
 */
static void avoid_froze(struct oae_paths *ps, struct oae_link *l, u64 now)
{
	unsigned int all = oae_paths_all(ps, l, 0), left, i;
	u32 moved = l->tx + l->rx;
	u64 wait = 0;

	if (ps->moved != moved)
		ps->fruitless = 0;
	else if (ps->fruitless < AVOID_FREEZES)
		ps->fruitless++;
	ps->moved = moved;
	ps->avoid = 0;
	if (ps->fruitless == AVOID_FREEZES && all & ~(1U << ps->resolved)) {
		ps->avoid = 1U << ps->resolved;
		ps->fruitless = 0;
	}
	left = avoid_left(ps, l, now) & all;
	if (left & ~ps->avoid)
		ps->avoid |= all & ~left;
	if (!ps->avoid)
		return;
	/* What takes its time is to be heard before SYNC is repeated. */
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (all & ~ps->avoid & 1U << i && wait < 2 * ps->path[i].rtt)
			wait = 2 * ps->path[i].rtt;
	oae_link_wait(l, wait, now);
}

/**
 * oae_path_carries() - what a path carries is another length, perhaps
 * @p: the path; if it is in use, oae_paths_ended() does the same for the link
 * @mtu: bytes behind the Ethernet header
 *
 * So what did not get through may do now.
 */
void oae_path_carries(struct oae_path *p, u16 mtu)
{
	if (p->mtu == mtu)
		return;
	p->mtu = mtu;
	p->cut = 0;
	p->offer_row = 0;
	p->half_row = 0;
}

/**
 * oae_paths_ended() - an event of the link is over
 * @ps: the paths
 * @l: the link
 * @before: its state before the event
 * @now: ns
 *
 * If the link has frozen this decides which paths are avoided: before its SYNC goes out.
 */
void oae_paths_ended(struct oae_paths *ps, struct oae_link *l, enum oae_state before, u64 now)
{
	unsigned int set;

	now = oae_now(l, now);
	l->pathed = true;
	if (ps->rows != l->rows || ps->half_rows != l->half_rows)
		avoid_rows_end(ps, l);
	if (before < OAE_OPEN && l->state == OAE_OPEN && ps->avoid & 1U << ps->resolved)
		avoid_unheard(ps, l, now);
	if (ps->counted != ps->used)
		avoid_turn(ps, l, now);
	else if (ps->mtu != ps->path[ps->used].mtu || ps->peer_mtu != l->peer_mtu)
		oae_offer_uncut(l);
	ps->mtu = ps->path[ps->used].mtu;
	ps->peer_mtu = l->peer_mtu;
	if (before >= OAE_OPEN && oae_frozen(l))
		avoid_froze(ps, l, now);
	l->others = l->fruitless || l->half.fruitless ? avoid_untried(ps, l, now, &set) :
							OAE_OTHERS_NONE;
}
