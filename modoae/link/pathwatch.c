// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames went by the path in use, and which of them were lost (doc/protocol.md
 * section 4.14, *Loss*); pathloss.c judges that. Pure, see path.h.
 *
 * A path is judged by what the peer confirms, or says was not confirmed to it, never by
 * what is heard there alone. So both ends learn of a loss, whoever offers:
 *
 *   the initiator   a frame of a window is lost (4.11); the peer misses slices; or a
 *                   reminder is answered, and what it reminds of was not
 *   the responder   a later attempt of a number comes that was not refused: the offer
 *                   was lost; or its reflection, if the peer does not say otherwise
 *
 * All that is lost among the numbers under way at the time of the first loss is one.
 */
#include "path.h"
#include "link_int.h"

/*
 * Frames that were under way when another path was taken into use overtake each other. Of
 * a run that is over none is taken.
 */
static bool watch_settled(const struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	return !ps->watch.mixed_at || now >= ps->watch.mixed_at + l->cfg->keepalive / 4;
}

/* True: it counts. */
static bool watch_lost(struct oae_paths *ps, const struct oae_link *l,
		       enum oae_loss_whose whose, unsigned int under_way, u64 now)
{
	return watch_settled(ps, l, now) &&
	       oae_loss_lost(&ps->path[ps->used].loss, whose, under_way ?: 1);
}

static bool watch_is_reminded(const struct oae_link *l)
{
	const struct oae_lane *n = oae_first_lane(l);

	return n->state == OAE_OFFER_OUT && n->reminded;
}

/**
 * oae_watch_forgotten() - a path is gone: what it has lost is not taken back from the next
 *	one that has its index
 * @ps: the paths
 * @i: its index
 */
void oae_watch_forgotten(struct oae_paths *ps, unsigned int i)
{
	struct oae_path_watch *w = &ps->watch;

	if (w->again_by == i)
		w->again_by = OAE_PATHS_MAX;
	if (w->asked == i)
		w->asked = OAE_PATHS_MAX;
	if (w->lost_by == i)
		w->lost_by = OAE_PATHS_MAX;
}

/**
 * oae_watch_begin() - a run begins
 * @ps: the paths
 * @l: the link
 */
void oae_watch_begin(struct oae_paths *ps, const struct oae_link *l)
{
	struct oae_path_watch *w = &ps->watch;

	w->out_to = l->recover;
	/*
	 * An offer of the run before may be made by its last slice first, to learn
	 * which ones are kept: if others are missing, nothing is lost.
	 */
	w->gap_to = l->tx + l->nlanes;
	w->asked = OAE_PATHS_MAX;
	w->again_by = OAE_PATHS_MAX;
	w->lost_by = OAE_PATHS_MAX;
	w->reminded = watch_is_reminded(l);
	if (w->top - l->rx > OAE_WINDOW_MAX)
		w->top = l->rx;
	w->in_to = w->top;
	w->heard_at = l->now;
	w->mixed_at = 0;
}

/*
 * Are the slices that are here those of an offer in parts, and none was lost? Then the
 * peer sends the next part. What is lost just before LAST looks the same.
 */
static bool watch_is_part(const struct oae_link *l, const struct oae_hold *h)
{
	u64 have;

	/* Their number is known by LAST. */
	if (!oae_link_windowed(l) || !h->nslices)
		return false;
	have = h->have & ~(1ULL << (h->nslices - 1));
	/* LAST alone has asked for room. */
	if (h->asked && !have)
		return true;
	if (h->nslices <= OAE_PART_LEAST)
		return false;
	/* The lowest ones, without a gap, and enough for a part. */
	return !(have & (have + 1)) && have >> (OAE_PART_LEAST - 2);
}

/*
 * Has the peer offered anew what it had offered, and this end had not refused? If this
 * end was slow, it reads the reminder (4.11) right after what it reminds of.
 */
static bool watch_is_repeat(const struct oae_link *l, const struct oae_frame *f, u64 now)
{
	const struct oae_hold *h = oae_hold_of(l, f->seq);

	if (f->seq - l->rx > (l->pair ? l->npairs : 1))	/* has no place, and was refused */
		return false;
	/* What takes the place of another content is the next attempt, and no loss. */
	if (f->attempt < 2 || f->attempt == h->attempt || f->kind == OAE_VOID)
		return false;
	switch (h->state) {
	case OAE_HOLD_NONE:
		return true;
	case OAE_HOLD_PARTIAL:
		return !watch_is_part(l, h);
	case OAE_HOLD_HELD:
		return h->kind == f->kind && f->kind != OAE_PACK &&
		       now >= h->at + l->srtt / 2;
	default:
		return false;
	}
}

static void watch_offer(struct oae_paths *ps, const struct oae_link *l,
			const struct oae_frame *f, u64 now)
{
	struct oae_path_loss *loss = &ps->path[ps->used].loss;
	struct oae_path_watch *w = &ps->watch;
	unsigned int under_way;

	/* One that is above all windows is dropped. */
	if (f->seq - l->rx - 1 >= OAE_WINDOW_MAX)
		return;
	if (oae_dist(w->top, f->seq) > 0)
		w->top = f->seq;
	under_way = oae_dist(f->tx, w->top) > 0 ? w->top - f->tx : 1;
	oae_loss_frames(loss, OAE_LOSS_IN, 1, under_way);
	if (oae_dist(w->in_to, f->seq) <= 0 || !watch_is_repeat(l, f, now))
		return;
	w->in_to = w->top;
	if (oae_hold_of(l, f->seq)->state == OAE_HOLD_HELD) {
		w->again = f->seq;
		w->again_by = ps->used;
		return;
	}
	watch_lost(ps, l, OAE_LOSS_IN, under_way, now);
}

/* A loss of this end's offers. It may be taken back as long as the window's guess stands (4.11). */
static void watch_lost_out(struct oae_paths *ps, const struct oae_link *l,
			   unsigned int under_way, u64 now)
{
	struct oae_path_watch *w = &ps->watch;

	w->lost_by = watch_settled(ps, l, now) ? ps->used : OAE_PATHS_MAX;
	w->lost_counts = watch_lost(ps, l, OAE_LOSS_OUT, under_way, now);
}

static void watch_gap(struct oae_paths *ps, const struct oae_link *l,
		      const struct oae_frame *f, u64 now)
{
	struct oae_path_watch *w = &ps->watch;
	const struct oae_lane *n = oae_lane(l, f->seq);
	bool known;

	/*
	 * A verb that waits for what is below it is refused with GAP, too. A GAP that has
	 * been overtaken by the REFLECT of what it misses tells of no loss.
	 */
	if (f->seq - l->tx - 1 >= l->given || n->p.kind != OAE_MESSAGE ||
	    n->state != OAE_OFFER_OUT)
		return;
	/* A slice that was not sent was not lost. */
	if (f->attempt == n->attempt && !n->reminded && !(f->gap_map & n->unseen))
		return;
	/* Nor may be what the peer was reminded of: it may be under way. */
	known = n->reminded || oae_dist(w->out_to, f->seq) <= 0;
	if (!known && oae_dist(w->gap_to, f->seq) <= 0)
		return;
	/* Known or not: the window may shrink for it. */
	w->out_to = l->tx + l->given;
	if (known)
		return;
	watch_lost_out(ps, l, l->given, now);
}

/*
 * The peer has offered again what is held. If it has the reflection, it says at once that the
 * number is not committed, which it does not of its own accord otherwise. If it says nothing
 * until that is committed, then the reflection was lost.
 */
static void watch_again(struct oae_paths *ps, const struct oae_link *l,
			const struct oae_frame *f, u64 now)
{
	struct oae_path_watch *w = &ps->watch;
	s32 behind = oae_dist(f->tx, w->again);

	if (w->again_by != ps->used || behind > 1)
		return;
	if (behind == 1) {
		if (f->opcode == OAE_COMMIT)
			w->again_by = OAE_PATHS_MAX;
		return;
	}
	w->again_by = OAE_PATHS_MAX;
	watch_lost(ps, l, OAE_LOSS_IN, 1, now);
}

/* Is this an answer to what the peer was reminded of? A GAP tells of a loss, however late. */
static bool watch_is_answer(const struct oae_link *l, const struct oae_frame *f)
{
	return watch_is_reminded(l) && f->seq == l->tx + 1 &&
	       (f->opcode == OAE_REFLECT ||
		(f->opcode == OAE_REFUSE && f->reason != OAE_R_GAP));
}

/* Is it one to what was offered before a reminder? */
static bool watch_is_needless(const struct oae_link *l, const struct oae_frame *f)
{
	const struct oae_lane *n = oae_first_lane(l);

	return watch_is_answer(l, f) && n->attempt != f->attempt &&
	       n->attempt - f->attempt <= n->reminded;
}

/* Is this the answer to what others were answered before, and that so seemed to be lost? */
static bool watch_is_overtaken(const struct oae_link *l, const struct oae_frame *f)
{
	const struct oae_lane *n = oae_lane(l, f->seq);

	return f->seq - l->tx - 1 < l->given && n->state == OAE_OFFER_OUT &&
	       oae_lane_overtaken(n, f);
}

/*
 * All that was taken to be lost with it is one loss, if that was one, and counts. If others of
 * it were lost for all that, the window shrinks again once their repeats are answered.
 */
static void watch_undone(struct oae_paths *ps, const struct oae_link *l)
{
	struct oae_path_loss *loss = &ps->path[ps->used].loss;
	struct oae_path_watch *w = &ps->watch;

	if (w->lost_by == ps->used) {
		oae_loss_undone(loss, OAE_LOSS_OUT);
		if (w->lost_counts)
			oae_loss_not_lost(loss, OAE_LOSS_OUT);
	}
	/* The window forgets when it shrank last: oae_link.recover moves, and no loss moved it. */
	w->out_to = l->tx;
	w->lost_by = OAE_PATHS_MAX;
}

/*
 * The answer to a reminder comes, and none to what was offered before it: so that was lost, or
 * its answer. The window may shrink for it.
 */
static void watch_reminder(struct oae_paths *ps, const struct oae_link *l,
			   const struct oae_frame *f, u64 now)
{
	struct oae_path_watch *w = &ps->watch;

	if (!watch_is_answer(l, f) || f->attempt != oae_first_lane(l)->attempt)
		return;
	if (w->asked == ps->used && oae_dist(w->out_to, f->seq) > 0) {
		w->lost_by = OAE_PATHS_MAX;
		watch_lost(ps, l, OAE_LOSS_OUT, l->given, now);
	}
	w->asked = OAE_PATHS_MAX;
	w->out_to = l->tx + l->given;
}

/**
 * oae_watch_heard() - a frame has come by a path: before the link takes it
 * @ps: the paths
 * @i: index of the path
 * @l: the link
 * @f: the frame, which oae_path_heard() lets the link take
 * @now: ns
 *
 * The peer counts a later attempt of what it holds as a loss, and cannot know that its answer
 * was only late, or read late, or overtaken. So it is told.
 *
 * Return: true: it was. Once the link has taken the frame, tell, by oae_link_speak().
 */
bool oae_watch_heard(struct oae_paths *ps, unsigned int i, const struct oae_link *l,
		     const struct oae_frame *f, u64 now)
{
	struct oae_path_watch *w = &ps->watch;
	bool late, overtaken;

	if (i != ps->used || l->state != OAE_OPEN || !oae_link_is_run(l, f))
		return false;
	w->heard_at = now;
	late = watch_is_needless(l, f);
	overtaken = watch_is_overtaken(l, f);
	if (overtaken && l->undo_cwnd)
		watch_undone(ps, l);
	if (late)
		w->asked = OAE_PATHS_MAX;
	watch_again(ps, l, f, now);
	watch_reminder(ps, l, f, now);
	if (f->opcode == OAE_OFFER)
		watch_offer(ps, l, f, now);
	else if (f->opcode == OAE_REFUSE && f->reason == OAE_R_GAP)
		watch_gap(ps, l, f, now);
	return late || overtaken;
}

/*
 * Has the peer been reminded in this event? Then what was offered is not answered within the
 * stall time. It is lost, or the peer slow: then the answer comes, before that to the reminder.
 */
static void watch_reminded(struct oae_paths *ps, const struct oae_link *l)
{
	struct oae_path_watch *w = &ps->watch;
	bool reminded = watch_is_reminded(l);

	if (reminded == w->reminded)
		return;
	w->reminded = reminded;
	w->asked = reminded && ps->path[ps->used].up && l->srtt ? ps->used : OAE_PATHS_MAX;
}

/*
 * The window shrinks once for all that was under way at the time. A GAP, or a reminder, may have
 * told of it before.
 */
static void watch_recovers(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	struct oae_path_watch *w = &ps->watch;

	if (oae_dist(w->out_to, l->recover) <= 0)
		return;
	w->out_to = l->recover;
	watch_lost_out(ps, l, 2 * l->ssthresh, now);
}

/**
 * oae_watch_stepped() - an event of the link ends
 * @ps: the paths
 * @l: the link, after the event
 * @before: its state before the event
 * @now: ns
 */
void oae_watch_stepped(struct oae_paths *ps, const struct oae_link *l, enum oae_state before,
		       u64 now)
{
	if (l->state != OAE_OPEN)
		return;
	if (before < OAE_OPEN) {
		oae_watch_begin(ps, l);
		return;
	}
	watch_recovers(ps, l, now);
	watch_reminded(ps, l);
	/* No guess stands (4.11), so no loss is taken back. */
	if (!l->undo_cwnd)
		ps->watch.lost_by = OAE_PATHS_MAX;
}

/**
 * oae_watch_offered() - the link sends an offer by the path in use
 * @ps: the paths
 * @l: the link, after the event
 * @frames: slices of the offer that are sent
 */
void oae_watch_offered(struct oae_paths *ps, const struct oae_link *l, unsigned int frames)
{
	oae_loss_frames(&ps->path[ps->used].loss, OAE_LOSS_OUT, frames, l->given ?: 1);
}

/**
 * oae_watch_time() - the timer has fired: paths that were lossy are tried again
 * @ps: the paths
 * @l: the link
 * @now: ns
 */
void oae_watch_time(struct oae_paths *ps, const struct oae_link *l, u64 now)
{
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		oae_loss_time(&ps->path[i].loss, i == ps->used, l->cfg->keepalive, now);
}
