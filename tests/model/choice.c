// SPDX-License-Identifier: GPL-2.0
/* Which events may happen, and which one does in fair weather. */
#include "model.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static bool frozen(const struct oae_link *l)
{
	return l->state == OAE_SYNC_SENT || l->state == OAE_SYNC_RECD;
}

static bool may_stall(const struct oae_link *l)
{
	return m_awaits(l) || m_holds(l);
}

/* To a link that goes direct, by way of a gateway. */
static bool may_forge(const struct m_end *e)
{
	return e->gw.known && e->way.gen == e->gw.gen && !e->way.via &&
	       !e->way.lost && !m_way_late(&e->link);
}

static unsigned int users(const struct m_world *w, unsigned int who, u16 *acts)
{
	const struct m_end *e = &w->end[who];
	const char *posts = w->sc->posts[who];
	unsigned int n = 0, i, next = w->posted[who];

	if (next < strlen(posts) && posts[next] == M_OPENING) {
		acts[n++] = M_ACT(M_OPEN, who, next);
	} else if (next < strlen(posts) && posts[next] == M_WANTING) {
		acts[n++] = M_ACT(M_WANT, who, next);
	} else if (next < strlen(posts) && posts[next] == M_HALF) {
		if (!e->tag || oae_link_wants_half(&e->link))
			acts[n++] = M_ACT(M_POST_HALF, who, next);
	} else if (next < strlen(posts) &&
		   (!e->tag || oae_link_wants(&e->link))) {
		if (posts[next] == M_VERB)
			acts[n++] = M_ACT(M_POST_VERB, who, next);
		else if (posts[next] != M_EXPRESS)
			acts[n++] = M_ACT(M_POST, who, next);
		if (posts[next] == M_EXPRESS || posts[next] == M_EITHER)
			acts[n++] = M_ACT(M_POST_EXPRESS, who, next);
	}
	for (i = 0; w->sc->cancel && i < w->ntx; i++)
		if (w->tx[i].from == who && w->tx[i].at_link)
			acts[n++] = M_ACT(M_CANCEL, who, i + 1);
	for (i = e->queue.first; w->sc->cancel && i; i = w->tx[i - 1].next)
		acts[n++] = M_ACT(M_CANCEL, who, i);
	if (e->tag && e->link.wanted)
		acts[n++] = M_ACT(M_UNWANT, who, 0);
	if (e->unread)
		acts[n++] = M_ACT(M_READ, who, 0);
	if (w->conflict && !e->word_busy && !e->word_wanted &&
	    (!e->computed || m_windows(w->sc)))
		acts[n++] = M_ACT(M_RESERVE, who, 0);
	if (e->word_busy)
		acts[n++] = M_ACT(M_FREE, who, 0);
	if (w->close && e->tag && !e->link.closing)
		acts[n++] = M_ACT(M_CLOSE, who, 0);
	return n;
}

static unsigned int fates(const struct m_world *w, unsigned int who, u16 *acts)
{
	const struct m_end *e = &w->end[who];
	unsigned int n = 0;

	if (w->crash && e->tag)
		acts[n++] = M_ACT(M_CRASH, who, 0);
	if (w->kill && e->tag)
		acts[n++] = M_ACT(M_KILL, who, 0);
	if (w->rename && e->tag && w->sc->settle && !e->link.settle_until)
		acts[n++] = M_ACT(M_SETTLE, who, 0);
	if (w->rename && e->tag &&
	    (!w->sc->settle || m_settled(&e->link)))
		acts[n++] = M_ACT(M_RENAME, who, 0);
	if (w->sc->forge && !w->sc->lines && (!e->tag || may_forge(e))) {
		acts[n++] = M_ACT(M_FORGE, who, 0);
		acts[n++] = M_ACT(M_FORGE, who, 1);
	}
	if (w->sc->ways && !e->gw.known)
		acts[n++] = M_ACT(M_HELLO, who, 0);
	if (w->leave && e->gw.known)
		acts[n++] = M_ACT(M_LEAVE, who, 0);
	if (w->shrink)
		acts[n++] = M_ACT(M_WINDOW, who, 0);
	if (w->mtu)
		acts[n++] = M_ACT(M_MTU, who, 0);
	if (w->sc->port && e->tag && e->link.state == OAE_OPEN)
		acts[n++] = M_ACT(M_PORT, who, 0);
	return n;
}

/* What may happen to the lines, and to what an end knows of its paths. */
static unsigned int lines(const struct m_world *w, unsigned int who, u16 *acts)
{
	static const u8 of_path[] = { M_PATH_LOOK, M_PATH_PROBED, M_PATH_SAYS };
	static const u8 of_choice[] = { M_PATH_ANSWERED, M_PATH_SILENT };
	unsigned int n = 0, line, i;

	for (line = 0; line < w->sc->lines; line++) {
		for (i = 0; i < COUNT(of_path); i++)
			if (m_path_may(w, who, of_path[i], line))
				acts[n++] = M_ACT(of_path[i], who, line);
		for (i = 0; i < COUNT(of_choice) && w->sc->choose; i++)
			if (m_path_may(w, who, of_choice[i], line))
				acts[n++] = M_ACT(of_choice[i], who, line);
		if (w->sc->forge && m_path_may(w, who, M_FORGE, line))
			acts[n++] = M_ACT(M_FORGE, who, line);
		if (w->carrier || w->end[who].unplugged >> line & 1)
			acts[n++] = M_ACT(M_CARRIER, who, line);
	}
	if (w->sc->lines && w->sc->choose && m_path_may(w, who, M_PATH_BACK, 0))
		acts[n++] = M_ACT(M_PATH_BACK, who, 0);
	if (w->sc->lines && m_path_may(w, who, M_PATH_LEFT, 0))
		acts[n++] = M_ACT(M_PATH_LEFT, who, 0);
	return n;
}

/* The peer has heard numbers behind the last frame of an offer, and has not answered that. */
static unsigned int hints(const struct m_world *w, unsigned int who, u16 *acts)
{
	const struct oae_link *l = &w->end[who].link;
	unsigned int n = 0, i;

	if (!w->end[who].tag || l->state != OAE_OPEN || w->sc->calm)
		return 0;
	if (w->sc->parts && (l->ndue || l->next_valid))
		acts[n++] = M_ACT(M_MORE, who, 0);
	for (i = 0; i < l->given; i++) {
		const struct oae_lane *lane = oae_lane(l, l->tx + 1 + i);

		if (lane->state != OAE_OFFER_OUT || lane->due || !lane->offered)
			continue;
		acts[n++] = M_ACT(M_HINT, who, M_HINT_OF(i, OAE_DUE_REST));
		acts[n++] = M_ACT(M_HINT, who, M_HINT_OF(i, OAE_DUE_ASK));
	}
	return n;
}

/* An answer that does not count if it is to an earlier question than the last. */
static bool may_be_old(const struct m_world *w, unsigned int to, const struct m_frame *f)
{
	const struct oae_link *l = &w->end[to].link;
	const struct oae_lane *n = oae_lane(l, f->seq);

	if (f->opcode != OAE_ACK && (f->opcode != OAE_REFUSE || f->reason > OAE_R_CONFLICT))
		return false;
	return w->end[to].tag && l->state == OAE_OPEN && f->dst == l->ltag &&
	       f->src == l->peer.ltag && f->seq - l->tx - 1 < l->given &&
	       n->state == OAE_OFFER_OUT && n->p.kind == f->kind;
}

static unsigned int timers(const struct m_world *w, unsigned int who, u16 *acts)
{
	const struct oae_link *l = &w->end[who].link;
	unsigned int n = 0;

	if (!w->end[who].tag)
		return 0;
	if (m_awaits(l) && !w->sc->calm)
		acts[n++] = M_ACT(M_ASK, who, 0);
	if (m_awaits(l) && w->end[who].path.begun && !w->sc->calm)
		acts[n++] = M_ACT(M_ASK, who, 1);
	if (m_holds(l) && !w->sc->calm)
		acts[n++] = M_ACT(M_REFLECT, who, 0);
	if (may_stall(l) && !w->sc->calm)
		acts[n++] = M_ACT(M_STALL, who, 0);
	if (w->cut && l->state == OAE_OPEN && !m_short(l))
		acts[n++] = M_ACT(M_FOUND, who, 0);
	if (l->state == OAE_OPEN && l->mtu.path)
		acts[n++] = M_ACT(M_FOUND, who, 1);
	if (l->mtu.too_long_at)
		acts[n++] = M_ACT(M_WAITED, who, 0);
	/* Long before an end probes, it has seen no progress. */
	if (frozen(l) || m_close_out(l) || l->peer.closing || w->sc->probe ||
	    (w->sc->ways && !may_stall(l)))
		acts[n++] = M_ACT(M_AGAIN, who, 0);
	if ((w->sc->dead && (l->asked_at || l->timer.asks)) || (w->sc->ways && m_way_late(l)))
		acts[n++] = M_ACT(M_DEAD, who, 0);
	if (frozen(l) && l->down && (w->sc->dead || !w->sc->lines))
		acts[n++] = M_ACT(M_FORGET, who, 0);
	if (l->nparked || (l->credit.said_blocked && !l->await_done))
		acts[n++] = M_ACT(M_RETRY, who, 0);
	if (l->half.state == OAE_HALF_WAITING)
		acts[n++] = M_ACT(M_RETRY_HALF, who, 0);
	if (l->settle_until && l->state == OAE_OPEN)
		acts[n++] = M_ACT(M_SETTLED, who, 0);
	return n;
}

/**
 * m_enabled() - what may happen next
 * @w: the world
 * @acts: out
 *
 * Return: how many.
 */
unsigned int m_enabled(const struct m_world *w, u16 acts[M_ACTS])
{
	unsigned int n = 0, who, i;

	for (who = A; who <= B; who++) {
		for (i = 0; i < w->to[who].n; i++) {
			acts[n++] = M_ACT(M_DELIVER, who, i);
			if (w->sc->dup)
				acts[n++] = M_ACT(M_REPEAT, who, i);
			if (may_be_old(w, who, &w->to[who].f[i]))
				acts[n++] = M_ACT(M_OLD, who, i);
			if (!w->sc->calm)
				acts[n++] = M_ACT(M_LOSE, who, i);
			if (w->refuse && !w->end[who].tag &&
			    w->to[who].f[i].opcode == OAE_SYNC)
				acts[n++] = M_ACT(M_REFUSE, who, i);
		}
		n += users(w, who, acts + n);
		n += fates(w, who, acts + n);
		n += lines(w, who, acts + n);
		n += timers(w, who, acts + n);
		n += hints(w, who, acts + n);
	}
	return n;
}

/**
 * m_half_of() - the half that an end's link has
 * @w: the world
 * @who: which end
 *
 * Return: which, 0 if none.
 */
u8 m_half_of(const struct m_world *w, unsigned int who)
{
	unsigned int i;

	for (i = 0; i < w->ntx; i++)
		if (w->tx[i].from == who && w->tx[i].kind == OAE_SWAP &&
		    w->tx[i].at_link)
			return i + 1;
	return 0;
}

/**
 * m_same_run() - are both ends OPEN in the same run?
 * @w: the world
 *
 * Return: true if so.
 */
bool m_same_run(const struct m_world *w)
{
	const struct oae_link *a = &w->end[A].link, *b = &w->end[B].link;

	return w->end[A].tag && w->end[B].tag &&
	       oae_link_state(a) == OAE_OPEN && oae_link_state(b) == OAE_OPEN &&
	       a->ltag == b->peer.ltag && b->ltag == a->peer.ltag &&
	       a->inc == b->peer.inc && b->inc == a->peer.inc;
}

/**
 * m_matched() - do both ends know each other?
 * @w: the world
 *
 * Return: true if both have a tag, both are OPEN in the same run, and none of
 * them waits for an answer.
 */
bool m_matched(const struct m_world *w)
{
	return m_same_run(w) && !w->end[A].link.asked_at && !w->end[B].link.asked_at;
}

/* In fair weather, one after the other; each -1 if there is nothing to do. */

#define BY(what, line)	((what) | (line) << 8)
#define QUIET		64	/* frames, until nothing more comes of a question */

static int reads(const struct m_world *w, unsigned int who)
{
	return w->end[who].unread ? M_READ : -1;
}

static int frees(const struct m_world *w, unsigned int who)
{
	return w->end[who].word_busy ? M_FREE : -1;
}

/* A frame on its way arrives, or in this weather does not; -1 there is none. */
static int arrives(const struct m_world *w)
{
	/* The fuller wire first, lest it overflow: that were a loss. */
	unsigned int who = w->to[B].n > w->to[A].n ? B : A;

	if (!w->to[who].n)
		return -1;
	return M_ACT_IN(M_ACT(m_carries(w, who, &w->to[who].f[0]) ? M_DELIVER : M_LOSE, who, 0),
			w->weather);
}

/* What an end waits for. */
static bool same(const struct m_end *e, const struct m_end *v)
{
	const struct oae_link *l = &e->link, *m = &v->link;

	return v->tag && m->state == l->state && m->tx == l->tx && m->rx == l->rx &&
	       oae_first_lane(m)->state == oae_first_lane(l)->state &&
	       m->await_done == l->await_done && m->nheld == l->nheld &&
	       v->path.ps.leave_at == e->path.ps.leave_at && !m->asked_at == !l->asked_at;
}

/* Would anything come of it, until it is quiet again? It is tried. */
static bool helps(const struct m_world *w, unsigned int who, u16 act)
{
	unsigned long seen[OAE_NOTE_END];
	static struct m_world v;
	FILE *story = m_story;
	unsigned int steps;
	bool helped;
	int next;

	v = *w;
	m_story = NULL;
	memcpy(seen, m_seen, sizeof(seen));
	m_step(&v, M_ACT_IN(act, w->weather));
	m_reduce(&v);
	for (steps = 0; steps < QUIET && (next = arrives(&v)) >= 0; steps++) {
		m_step(&v, next);
		m_reduce(&v);
	}
	helped = v.why != w->why || !same(&w->end[who], &v.end[who]);
	memcpy(m_seen, seen, sizeof(seen));
	m_story = story;
	return helped;
}

static int questions(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	if (!e->tag || !m_awaits(&e->link))
		return -1;
	if (helps(w, who, M_ACT(M_ASK, who, 0)))
		return M_ASK;
	return e->path.begun && helps(w, who, M_ACT(M_ASK, who, 1)) ? BY(M_ASK, 1) : -1;
}

static int reflects(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && m_holds(&e->link) && helps(w, who, M_ACT(M_REFLECT, who, 0)) ?
		M_REFLECT : -1;
}

/* A search finds that long frames do not get through. That they do, it finds much later. */
static int finds(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return w->sc->drops && e->tag && may_stall(&e->link) && !m_short(&e->link) &&
		m_line_drops(w, m_path_line(e)) ? M_FOUND : -1;
}

/* The wait of a transaction that is too long is over. */
static int waits(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && e->link.mtu.too_long_at ? M_WAITED : -1;
}

static int stalls(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && may_stall(&e->link) ? M_STALL : -1;
}

static int hears(const struct m_world *w, unsigned int who)
{
	const struct m_frame via = { .flags = OAE_F_VIA };

	return w->sc->ways && !w->end[who].gw.known &&
	       m_carries(w, who, &via) ? M_HELLO : -1;
}

/*
 * An OPEN end whose peer closes a link of another run than this end's, or is another
 * incarnation of it that asks, and by another line: it finds out by its own probes, and the
 * peer's turns do not wait for it.
 */
static int doubts(const struct m_world *w, unsigned int who)
{
	const struct oae_link *l = &w->end[who].link, *p = &w->end[!who].link;

	if (!w->sc->lines || !w->end[who].tag)
		return -1;
	/* Once it is down it believes whoever asks. */
	if (frozen(l) && !l->down &&
	    (!w->end[!who].tag || l->peer.inc != p->inc))
		return l->syncs >= 2 ? M_DEAD : M_AGAIN;
	if (!w->end[!who].tag || l->state != OAE_OPEN ||
	    m_close_out(l) || (!m_close_out(p) && l->peer.inc == p->inc) ||
	    (l->peer.ltag == p->ltag && p->peer.ltag == l->ltag))
		return -1;
	return l->asked_at ? M_DEAD : M_AGAIN;
}

/* Without a way to the peer an end finds out only by itself. */
static int wonders(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who], *p = &w->end[!who];

	return w->sc->ways && e->tag && e->link.state == OAE_OPEN &&
	       !m_way_late(&e->link) && p->tag && frozen(&p->link) ?
		       M_AGAIN : -1;
}

static int asks(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who], *p = &w->end[!who];

	if (!e->tag || !frozen(&e->link))
		return -1;
	/* Neither end's turns wait for the other's. */
	return (w->sc->ways || w->sc->lines) && p->tag && frozen(&p->link) ?
		M_BOTH_AGAIN : M_AGAIN;
}

static int closes(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && m_close_out(&e->link) ? M_AGAIN : -1;
}

/* Nobody says again that it closes: it does not. */
static int reopens(const struct m_world *w, unsigned int who)
{
	const struct oae_link *l = &w->end[who].link, *p = &w->end[!who].link;

	return w->end[who].tag && l->state == OAE_OPEN && l->peer.closing && !m_close_out(l) &&
	       !(w->end[!who].tag && m_close_out(p)) ? M_AGAIN : -1;
}

static int retries(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];
	const struct oae_link *l = &e->link;

	return e->tag && (l->nparked || (l->credit.said_blocked && !l->await_done)) ? M_RETRY : -1;
}

/* A half that nobody has one for may wait for ever. */
static int retries_half(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && e->link.half.state == OAE_HALF_WAITING &&
	       m_half_of(w, !who) ? M_RETRY_HALF : -1;
}

static int settles(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	return e->tag && e->link.settle_until && e->link.state == OAE_OPEN ?
		       M_SETTLED : -1;
}

static int probes(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	if (!e->tag || (w->sc->ways && m_way_late(&e->link)))
		return -1;
	if (!w->sc->lines)
		return M_AGAIN;
	/* Whoever uses a line that is not whole finds out once it sends. */
	if (e->link.asked_at)
		return helps(w, who, M_ACT(M_AGAIN, who, 0)) ? M_AGAIN : -1;
	return m_same_run(w) ? -1 : M_AGAIN;
}

/* Nobody has answered the probes. */
static int dies(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];

	if (w->sc->lines)
		return e->tag && !m_matched(w) && e->link.asked_at && !m_same_run(w) ?
			M_DEAD : -1;
	return w->sc->ways && e->tag && m_way_late(&e->link) ? M_DEAD : -1;
}

/* Ports are plugged in again where that is of use. */
static int plugs(const struct m_world *w, unsigned int who)
{
	unsigned int i;

	for (i = 0; i < w->sc->lines; i++)
		if (w->end[who].unplugged >> i & 1 && m_line_whole(w, i))
			return BY(M_CARRIER, i);
	return -1;
}

/* Probes find out which lines are whole. */
static int proves(const struct m_world *w, unsigned int who)
{
	unsigned int i;

	for (i = 0; i < w->sc->lines; i++) {
		if (!m_line_whole(w, i)) {
			if (w->sc->choose && m_path_may(w, who, M_PATH_SILENT, i))
				return BY(M_PATH_SILENT, i);
			continue;
		}
		if (m_path_may(w, who, M_PATH_PROBED, i))
			return BY(M_PATH_PROBED, i);
		if (m_path_may(w, who, M_PATH_SAYS, i))
			return BY(M_PATH_SAYS, i);
		if (w->sc->choose && m_path_may(w, who, M_PATH_ANSWERED, i))
			return BY(M_PATH_ANSWERED, i);
	}
	return -1;
}

/* By the path in use nobody has answered, and by another one somebody has. */
static int leaves(const struct m_world *w, unsigned int who)
{
	return w->sc->lines && m_path_may(w, who, M_PATH_LEFT, 0) ? M_PATH_LEFT : -1;
}

static int returns(const struct m_world *w, unsigned int who)
{
	return w->sc->lines && w->sc->choose && m_path_may(w, who, M_PATH_BACK, 0) ?
		M_PATH_BACK : -1;
}

/*
 * No line is whole: each end asks, so that the second SYNC says what was heard since the
 * first, and goes down; an OPEN one finds out by its probe.
 */
static int despairs(const struct m_world *w, unsigned int who)
{
	const struct oae_link *l = &w->end[who].link;

	if (!w->end[who].tag || (frozen(l) && l->down))
		return -1;
	return (frozen(l) ? l->syncs >= 2 : !!l->asked_at) ? M_DEAD : M_AGAIN;
}

/**
 * m_fair() - what happens next in fair weather
 * @w: the world; its weather says which ways carry frames
 *
 * On these no frame is lost or repeated, readers read, timers fire when nothing else
 * goes on, and nobody wants anything new. From every state this must lead to
 * the end: nothing in flight, everything decided but a half that the other end
 * has none for, both ends OPEN or forgotten.
 *
 * Return: the event, -1 if this is the end.
 */
int m_fair(const struct m_world *w)
{
	static int (*const next[])(const struct m_world *w, unsigned int who) = {
		plugs, hears, reads, frees, leaves, questions, reflects, finds, stalls, wonders,
		proves, doubts, asks, closes, reopens, settles, retries, retries_half,
		returns, waits, probes, dies,
	};
	static int (*const no_line[])(const struct m_world *w, unsigned int who) = {
		reads, frees, leaves, questions, reflects, stalls, despairs,
	};
	bool none = m_none_whole(w);
	unsigned int who, i;
	int what;

	what = arrives(w);
	if (what >= 0)
		return what;
	for (i = 0; i < (none ? COUNT(no_line) : COUNT(next)); i++) {
		/* Whoever knows the other is content. */
		if (!none && next[i] == probes && m_matched(w) && !w->sc->lines)
			return -1;
		for (who = A; who <= B; who++) {
			what = (none ? no_line : next)[i](w, who);
			if (what >= 0)
				return M_ACT_IN(M_ACT(what & 255, who, what >> 8),
						w->weather);
		}
	}
	return -1;
}
