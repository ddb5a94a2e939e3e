// SPDX-License-Identifier: GPL-2.0
/*
 * What no rule will ever look at again is left out of a state: times, which are
 * anything here; members of no meaning where the link stands; frames that can
 * do nothing any more.
 */
#include "model.h"

/*
 * Of a lane in flight: what would be sent again. What is told by the numbers of frames only
 * changes how many may be under way.
 */
static void reduce_lane(const struct m_scenario *sc, const struct oae_link *l,
			struct oae_lane *n)
{
	n->at = M_NOW;
	n->pn = 0;
	n->asked = 0;
	n->lacks = 0;
	n->refused = 0;
	n->lost = false;
	n->repeated = false;
	if (n->recalled != OAE_RECALL_BACK)
		n->recalled = n->recalled ? OAE_E_SIGNAL : 0;
	if (n->state != OAE_OFFER_OUT || l->state != OAE_OPEN) {
		n->sent = 0;
		n->rest = 0;
		n->ready = false;
	}
	if (n->state == OAE_OFFER_NONE)
		n->resume = false;
	/* Numbers are given anew in the next run. */
	if (l->state != OAE_OPEN) {
		n->due = OAE_DUE_NOT;
		n->offered = false;
		n->resume = false;
	}
	/* Of an express it says that it is in flight. */
	if (!oae_post_express(&n->p))
		n->again = false;
	/* Only what may be too long for any cut. */
	if (!sc->most)
		n->doubt = false;
}

/* The network bears all that the window has, or as many frames as the scenario says. */
static void reduce_window(const struct m_scenario *sc, struct oae_link *l)
{
	unsigned int i;

	if (l->state != OAE_OPEN) {
		l->given = 0;
		l->ndue = 0;
	}
	l->number.reorder = false;
	l->cong.recover = 0;
	l->cong.out = 0;
	l->cong.undo = 0;
	l->cong.cwnd = sc->parts ?: OAE_WINDOW_MAX * OAE_MAX_SLICES;
	l->cong.ssthresh = l->cong.cwnd;
	l->cong.acked = 0;
	/* What is in their place has a place of its own now. */
	if (l->pair) {
		memset(&l->offer, 0, sizeof(l->offer));
		memset(&l->hold, 0, sizeof(l->hold));
		memset(&l->swaps->aside, 0, sizeof(l->swaps->aside));
	}
	m_credit_reduce(sc, l);
	for (i = 0; i < l->npairs; i++)
		reduce_lane(sc, l, &l->pair[i]->lane);
	reduce_lane(sc, l, &l->offer);
	if (m_windows(sc))
		return;
	l->heard.window = 1;
}

/*
 * What the path carries. A search is none of a state: that it has found something is an event. So
 * is that what is too long has waited for long; meanwhile nothing looks whether it waits.
 */
static void reduce_length(const struct m_scenario *sc, struct oae_link *l)
{
	l->mtu.search = 0;
	memset(l->mtu.search_pn, 0, sizeof(l->mtu.search_pn));
	l->mtu.tries = 0;
	l->mtu.longs = 0;
	l->mtu.too_long = false;
	l->mtu.path_at = M_NOW;
	if (!m_too_long(sc))
		l->mtu.too_long_at = 0;
	else if (l->mtu.too_long_at)
		l->mtu.too_long_at = M_NOW - l->mtu.too_long_at < l->cfg->dead ? M_NOW : 0;
	/* A message is only cut. */
	if (!m_too_long(sc))
		l->mtu.most = oae_link_slice_max(l);
}

/**
 * m_reduce_link() - leave out of a link what no rule looks at
 * @sc: the scenario
 * @l: the link, with a tag
 */
void m_reduce_link(const struct m_scenario *sc, struct oae_link *l)
{
	l->timer.at = M_NOW + 1;
	l->heard_at = M_NOW;
	l->active_at = M_NOW;
	if (!sc->ways || !m_way_late(l))
		l->asked_at = l->asked_at ? M_NOW : 0;
	else
		l->asked_at = M_NOW - M_LATE;
	l->again_at = M_NOW + M_AGE;
	l->again_iv = 1;
	l->park_at = M_NOW + M_AGE;
	l->done_at = M_NOW;
	l->down_at = M_NOW;
	l->hold.at = M_NOW;
	l->swaps->again_at = M_NOW + M_AGE;
	/* Where there are lines, each answer has heard something new. */
	l->number.sent = 0;
	l->number.acked = sc->lines ? ~0U : 0;
	l->number.heard = 0;
	l->number.map = 0;
	l->rtt.srtt = 0;
	l->rtt.guessed = false;
	l->rtt.rttvar = 0;
	memset(l->rtt.longest, 0, sizeof(l->rtt.longest));
	l->backoff = 0;
	l->settle_until = l->settle_until ? M_NOW + M_AGE : 0;
	l->firm = l->rx;
	l->run_tx = l->tx;
	l->run_rx = l->rx;
	reduce_length(sc, l);
	l->timer.moved_at = M_NOW;
	l->timer.grown_at = M_NOW;
	l->timer.answered_at = M_NOW;
	l->timer.ask_at = M_NOW;
	l->timer.silent_at = 0;
	l->timer.held_at = M_NOW;
	l->timer.reflect_at = M_NOW;
	l->timer.stuck_at = M_NOW;
	l->timer.stuck = 0;
	l->waits_at = M_NOW;
	l->swaps->posted_at = M_NOW;
	/* A note tells them apart, nothing else. */
	l->half.again = false;
	l->half.refused = false;
	if (l->half.state == OAE_HALF_NONE)
		memset(&l->swaps->half, 0, sizeof(l->swaps->half));
	if (l->half.state != OAE_HALF_OFFERED)
		l->half.crossed = false;
	if (l->half.state != OAE_HALF_LENT)
		l->swaps->cancelled = 0;
	if (!l->naside)
		memset(&l->swaps->aside, 0, sizeof(l->swaps->aside));
	if (!l->await_done)
		l->done_seq = l->tx;
	reduce_window(sc, l);
	if (!l->next_valid)
		memset(&l->next, 0, sizeof(l->next));
	/* Only what may be forgotten. */
	if (!sc->dead && !sc->ways)
		l->unseen = false;
	/* All that is offered fits either way. */
	if (sc->ways) {
		l->heard.mtu = l->heard.mtu ? M_MTU_WIDE : 0;
		l->mtu.there = l->mtu.there ? M_MTU_WIDE : 0;
	}
}

/* A tag looks at its way anew, and all stays as it is. */
static void reduce_way(struct m_end *e)
{
	struct m_end v = *e;
	struct oae_actions a;

	a.nops = 0;
	a.nsends = 0;
	m_way_refresh(&v, &a);
	if (v.way.via == e->way.via && v.link.mtu.here == e->link.mtu.here)
		e->way.gen = e->gw.gen;
}

/*
 * The timer may ask, reflect or give up as often as it likes, so all that matters is whether
 * it has asked by all paths.
 */
static void reduce_timer(struct oae_link *l)
{
	l->timer.asks = m_awaits(l) && l->timer.asks > 1 ? 2 : 0;
	l->timer.reflects = 0;
}

/* May an end still learn this ltag of its peer? */
static bool learnable(const struct m_chan *c, u32 src)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (m_is_sync(c->f[i].opcode) && c->f[i].src == src)
			return true;
	return false;
}

/* Does an OPEN end ask, so that whatever comes in is an answer? */
static bool asks(const struct m_world *w, const struct oae_link *l)
{
	return l->asked_at || w->sc->probe || w->close || l->closing;
}

/* May an end that has a tag be without one, now or later? */
static bool may_forget(const struct m_world *w)
{
	const struct m_scenario *sc = w->sc;

	return w->crash || sc->kill || sc->close || sc->dead || sc->refuse || sc->ways;
}

/*
 * Do frames of a run that can do nothing any more stay out of a state? Not where they
 * say by which line, or which way, the peer sends.
 */
static bool leans(const struct m_world *w)
{
	return !w->sc->raw && !w->arbitrary && !w->sc->lines && !w->sc->ways;
}

/* Is the frame of the run that this end is in? */
static bool of_run(const struct m_end *e, const struct m_frame *f)
{
	return e->tag && e->link.state == OAE_OPEN && f->dst == e->link.ltag &&
	       f->src == e->link.peer.ltag;
}

/* An OFFER of a number, or of a content, that is over; or an ASK. */
static bool offer_spent(const struct oae_link *l, const struct m_frame *f)
{
	const struct oae_hold *h = oae_hold_of(l, f->seq);
	s32 i = oae_dist(l->rx, f->seq);

	if (i > (s32)(l->pair ? l->npairs : 1))
		return false;
	if (i <= 0)
		return i || !l->last_express ||
		       (!(f->flags & OAE_F_EXPRESS) && f->kind != OAE_VOID);
	if (h->state != OAE_HOLD_HELD)
		return false;
	if (f->kind != OAE_VOID && h->kind == OAE_VOID)
		return true;
	return f->opcode == OAE_OFFER && f->kind == h->kind && !(f->marks & OAE_M_ANSWER);
}

/* Does the peer still hold what was committed here? COMMIT says so again. */
static bool committed_again(const struct oae_link *l, const struct m_frame *f)
{
	return f->opcode == OAE_REFLECT && oae_dist(f->seq, l->tx) >= 0 &&
	       oae_dist(f->rx, f->seq) > 0;
}

static bool answer_spent(const struct oae_link *l, const struct m_frame *f)
{
	const struct oae_lane *n = oae_lane(l, f->seq);

	if (oae_dist(l->tx, f->seq) <= 0)
		return !committed_again(l, f);
	if (f->seq - l->tx > l->given)
		return false;
	if (n->recalled)
		return f->opcode != OAE_REFLECT && f->kind != OAE_VOID;
	return n->state == OAE_OFFER_REFLECTED || (n->p.kind == OAE_VOID && f->kind != OAE_VOID);
}

/* Has the frame, which is of this run, nothing to say but its counters? */
static bool all_said(const struct m_scenario *sc, const struct oae_link *l,
		     const struct m_frame *f)
{
	switch (f->opcode) {
	case OAE_OFFER:
	case OAE_ASK:
		return offer_spent(l, f);
	case OAE_REFLECT:
	case OAE_REFUSE:
	case OAE_ACK:
		return answer_spent(l, f);
	case OAE_COMMIT:
		return !(f->flags & OAE_F_WANT_DONE) && !f->marks;
	case OAE_READY:
		return false;
	case OAE_SYNC_ACK:
		return f->inc == l->peer.inc && f->peer_inc == l->inc;
	case OAE_DONE:
		return !sc->rcvbuf;
	default:
		return false;
	}
}

/* Do the counters of a frame of this run say anything new? */
static bool counts(const struct m_world *w, const struct oae_link *l,
		   const struct m_frame *f)
{
	return oae_dist(l->rx, f->tx) >= !l->unseen ||
	       oae_dist(l->peer.rx, f->rx) > 0 || w->sc->most || m_grants(w->sc, l, f) ||
	       asks(w, l);
}

/**
 * m_spent() - can a frame do nothing any more?
 * @w: the world
 * @to: the end that it goes to
 * @f: the frame
 *
 * Numbers and counters do not go back within a run, nor does a content come back, so what
 * does nothing now never will; search.c looks whether it does nothing. That it may bring places
 * for a window does not count.
 *
 * Return: true if so.
 */
bool m_spent(const struct m_world *w, unsigned int to, const struct m_frame *f)
{
	const struct m_end *e = &w->end[to];
	const struct oae_link *l = &e->link;

	if (!leans(w) || !e->tag)
		return false;
	/* Of an answer to a probe an OPEN end learns another ltag, or its counters. */
	if ((f->opcode == OAE_SYNC_CHK || f->opcode == OAE_SYNC_ACK) &&
	    l->state == OAE_OPEN && f->dst == l->ltag &&
	    (f->opcode == OAE_SYNC_CHK || f->src != l->peer.ltag))
		return f->src == l->peer.ltag || !asks(w, l);
	if (of_run(e, f))
		return all_said(w->sc, l, f) && !counts(w, l, f);
	if (f->opcode < OAE_OFFER || f->opcode == OAE_CLOSE ||
	    f->opcode == OAE_CLOSE_ACK || f->opcode == OAE_NOLINK)
		return false;
	/* An OPEN end learns no other ltag of its peer. */
	return f->dst == l->ltag ? l->state == OAE_OPEN : !may_forget(w);
}

/* All that it brings is COMMIT, however long ago its number was committed. */
static void reduce_committed(const struct oae_link *l, struct m_frame *f)
{
	*f = (struct m_frame){
		.opcode = OAE_REFLECT, .src = f->src, .dst = f->dst, .seq = l->tx,
		.tx = f->tx, .rx = f->rx, .grant = f->grant,
	};
	if (oae_dist(l->peer.rx, f->rx) < 0)
		f->rx = oae_dist(l->peer.rx, l->tx) > 0 ? l->peer.rx : l->tx - 1;
}

/* Of a frame of this run, only what is new of its counters is looked at. */
static void reduce_counters(const struct m_scenario *sc, const struct oae_link *l,
			    struct m_frame *f)
{
	if (!m_grants(sc, l, f) && oae_dist(l->peer.rx, f->rx) <= 0)
		f->grant = sc->rcvbuf ? 0 : M_PLENTY;
	if (oae_dist(l->rx, f->tx) < 0)
		f->tx = l->rx - l->unseen;
	if (committed_again(l, f)) {
		reduce_committed(l, f);
		return;
	}
	if (!sc->most && oae_dist(l->peer.rx, f->rx) < 0)
		f->rx = l->peer.rx;
	if (all_said(sc, l, f))
		*f = (struct m_frame){
			.opcode = OAE_COMMIT, .src = f->src, .dst = f->dst,
			.tx = f->tx, .rx = f->rx, .grant = f->grant,
		};
}

/* A SYNC whose counters will not be looked at. */
static bool sync_counts(const struct m_end *e, const struct m_frame *f)
{
	return e->tag && f->dst == e->link.ltag &&
	       (e->link.state != OAE_OPEN || f->src == e->link.peer.ltag);
}

/*
 * A frame to @to: leave out what will not be looked at. An ltag that is not
 * the current one will never be it again.
 *
 * Return: false if nothing of it will be.
 */
static bool reduce_frame(const struct m_world *w, unsigned int to,
			 struct m_frame *f)
{
	const struct m_end *e = &w->end[to], *p = &w->end[!to];
	bool to_run = e->tag && f->dst == e->link.ltag;
	bool from_run = p->tag && f->src == p->link.ltag;
	bool known = to_run && (from_run || f->src == e->link.peer.ltag ||
				learnable(&w->to[to], f->src));

	if (w->sc->ways && f->mtu)
		f->mtu = M_MTU_WIDE;
	if (m_spent(w, to, f))
		return false;
	if (leans(w) && of_run(e, f) && f->opcode != OAE_CLOSE &&
	    f->opcode != OAE_CLOSE_ACK && f->opcode != OAE_SYNC_CHK)
		reduce_counters(w->sc, &e->link, f);
	switch (f->opcode) {
	case OAE_SYNC:
		if (!to_run && f->dst != m_cookie(f->src, f->line))
			f->dst = w->sc->shorter && f->dst ? M_NOBODY : 0;
		break;
	case OAE_SYNC_CHK:
		f->tx = 0;
		f->rx = 0;
		f->peer_inc = 0;
		if (!to_run && w->sc->lines) {
			m_path_reduce_frame(w, to, f);
			return true;
		}
		return to_run;
	case OAE_SYNC_ACK:
		if (!to_run && w->sc->lines) {
			m_path_reduce_frame(w, to, f);
			return true;
		}
		if (!to_run)
			return false;
		break;
	case OAE_NOLINK:
		/* Only a way looks whose it is. */
		if (!w->sc->ways || !known)
			f->src = 0;
		return to_run;
	case OAE_CLOSE_ACK:
		return to_run;
	case OAE_CLOSE:
		/* An end without a tag does not answer it. */
		if (f->reason)
			return to_run;
		if (to_run)
			return known;
		f->seq = 0;
		f->flags &= OAE_F_VIA;
		if (f->dst != p->link.peer.ltag)
			f->dst = 0;
		return from_run;
	default:
		if (to_run) {
			if (f->opcode == OAE_COMMIT || f->opcode == OAE_DONE)
				f->seq = 0;
			if (known || !w->sc->ways)
				return known;
			/* All it can do now is to turn the way. */
			*f = (struct m_frame){
				.opcode = OAE_COMMIT, .flags = f->flags & OAE_F_VIA,
				.src = M_NOBODY, .dst = f->dst,
			};
			return true;
		}
		/* All it can bring now is NOLINK. */
		if (from_run)
			*f = (struct m_frame){
				.opcode = OAE_COMMIT, .flags = f->flags & OAE_F_VIA,
				.src = f->src, .line = f->line,
			};
		return from_run;
	}

	/* What is kept is looked at by an end that resolves. */
	if (!w->arbitrary && (!to_run || e->link.state == OAE_OPEN)) {
		f->have = 0;
		f->digest = 0;
		f->slice = 0;
	}
	/* Counters of another incarnation are not looked at. */
	if (!e->tag || f->peer_inc != e->link.inc ||
	    (leans(w) && !sync_counts(e, f))) {
		f->peer_inc = 0;
		f->tx = 0;
		f->rx = 0;
	}
	return true;
}

static void reduce_chan(struct m_world *w, unsigned int to)
{
	struct m_chan *c = &w->to[to];
	unsigned int i, j, n = 0;

	for (i = 0; i < c->n; i++) {
		struct m_frame f = c->f[i];

		if (!w->sc->raw && !reduce_frame(w, to, &f))
			continue;
		for (j = 0; w->sc->dup && j < n; j++)
			if (!memcmp(&c->f[j], &f, sizeof(f)))
				break;
		if (!w->sc->dup || j == n)
			c->f[n++] = f;
	}
	c->n = n;
}

/* Do both ends know each other, as they are now? */
static bool acquainted(const struct m_world *w)
{
	const struct m_end *a = &w->end[A], *b = &w->end[B];

	return a->tag && b->tag && a->link.peer.inc == b->link.inc &&
	       b->link.peer.inc == a->link.inc;
}

/* Of the numbers of an end: smaller ones are under way nowhere, but in late frames. */
static u32 numbers_over(const struct m_world *w, unsigned int from)
{
	u32 first = w->end[from].link.peer.rx, rx = w->end[!from].link.rx;

	if (oae_dist(first, rx) < 0)
		first = rx;
	first -= w->sc->start;
	return (s32)first < 0 ? 0 : first / H_LANES * H_LANES;
}

static bool offers(const struct m_frame *f)
{
	return f->opcode == OAE_OFFER || f->opcode == OAE_ASK;
}

/* Is it about a number of its receiver's? */
static bool answers(const struct m_frame *f)
{
	return f->opcode == OAE_REFLECT || f->opcode == OAE_REFUSE ||
	       f->opcode == OAE_ACK || (f->opcode == OAE_CLOSE && f->seq);
}

/* Are the counters of a frame those of the incarnations that both ends have now? */
static bool counters_are_now(const struct m_world *w, unsigned int to, const struct m_frame *f)
{
	const struct oae_link *l = &w->end[to].link, *p = &w->end[!to].link;
	const struct m_chan *c = &w->to[to];
	unsigned int i;

	if (m_is_sync(f->opcode))
		return f->inc == p->inc && f->peer_inc == l->inc;
	if (f->src == p->ltag)
		return true;
	if (f->src == l->peer.ltag)
		return l->heard.inc == p->inc;
	for (i = 0; i < c->n; i++)
		if (m_is_sync(c->f[i].opcode) && c->f[i].src == f->src)
			return c->f[i].inc == p->inc;
	return true;
}

static void numbers_back(struct m_world *w, unsigned int from, u32 n)
{
	struct oae_link *l = &w->end[from].link, *p = &w->end[!from].link;
	unsigned int to, i;

	l->tx -= n;
	l->run_tx -= n;
	l->peer.rx -= n;
	l->done_seq -= n;
	p->rx -= n;
	p->run_rx -= n;
	m_credit_back(l, n);
	for (to = A; to <= B; to++)
		for (i = 0; i < w->to[to].n; i++) {
			struct m_frame *f = &w->to[to].f[i];

			if (!counters_are_now(w, to, f))
				continue;
			if (to != from)
				f->tx -= n;
			else
				f->rx -= n;
			if (to != from ? offers(f) : answers(f))
				f->seq -= n;
		}
}

/*
 * Numbers are only compared with each other, unless an end begins anew. Halves that are offered
 * again and again, and what steps aside for them, use up any number of them. All places stay
 * where they are.
 */
static void reduce_numbers(struct m_world *w)
{
	unsigned int i;
	u32 n;

	if (!leans(w) || !acquainted(w))
		return;
	for (i = A; i <= B; i++) {
		n = numbers_over(w, i);
		if (n && n < OAE_WINDOW_MAX)
			numbers_back(w, i, n);
	}
}

/* Turns are taken only where halves and others are posted. */
static bool takes_turns(const char *posts)
{
	return strchr(posts, M_HALF) && strspn(posts, "s") < strlen(posts);
}

/**
 * m_reduce() - leave out what no rule looks at
 * @w: the world
 */
void m_reduce(struct m_world *w)
{
	unsigned int i;

	m_fix(w);
	for (i = A; i <= B; i++)
		if (w->end[i].tag) {
			m_reduce_link(w->sc, &w->end[i].link);
			if (!w->arbitrary)
				reduce_timer(&w->end[i].link);
			if (!w->arbitrary && !takes_turns(w->sc->posts[i]))
				w->end[i].link.half.turn = false;
			if (w->end[i].way.gen != w->end[i].gw.gen)
				reduce_way(&w->end[i]);
			if (w->sc->lines)
				m_path_reduce(w, i);
		}
	for (i = A; i <= B; i++)
		reduce_chan(w, i);
	reduce_numbers(w);
	for (i = 0; i < w->ntx; i++) {
		struct m_tx *tx = &w->tx[i];

		if (tx->ended || tx->lost) {
			tx->offered = false;
			tx->lent = false;
			tx->unwanted = false;
		}
		if (!tx->lent &&
		    !(tx->offered && tx->flags & OAE_POST_EXPRESS))
			tx->offered_to = 0;
		if (tx->ended)
			tx->n = 0;
		/* Once delivered, in doubt no more. */
		if (tx->delivered && !w->arbitrary)
			tx->excused = false;
	}
}
