// SPDX-License-Identifier: GPL-2.0
/*
 * Two or three lines between the ends, and what the shell does to have a link go by
 * them (4.14; modoae/tag/path.h): the rules are those of modoae/link/path*.c, and they are
 * asked in the order of modoae/link/conn.c. A path of
 * either end is a line. Line 0 gives the link its name; by which index a path is known,
 * which is proven and which is in use is what oae_path_*() says.
 *
 * PATH frames are not in flight: they do nothing but to make a path proven, good or
 * silent. That a probe has come, that it was answered, and that two were not, are
 * events, which may be at any time at which they may be at all. A probe is of two ends
 * that have the same pair of incarnations.
 *
 * Times are left out: a path that has failed may be taken again at once, or never. So
 * are paths that are forgotten since they were silent for long, and what comes from
 * elsewhere than a path in use and is for admission then: it is dropped.
 */
#include "model.h"

#define NONE	OAE_PATHS_MAX

/**
 * m_line_mtu() - what an end's port carries by a line
 * @w: the world
 * @e: the end
 * @line: the line
 *
 * Return: bytes behind the Ethernet header.
 */
u16 m_line_mtu(const struct m_world *w, const struct m_end *e, unsigned int line)
{
	return line && w->sc->shorter ? M_MTU_NARROW : m_mtu(e);
}

/**
 * m_line_via() - does a line go through a gateway?
 * @w: the world
 * @line: the line
 *
 * Return: true if so.
 */
bool m_line_via(const struct m_world *w, unsigned int line)
{
	return line && w->sc->via;
}

/**
 * m_line_rank() - how much an end wants a line
 * @w: the world
 * @e: the end
 * @line: the line
 *
 * Return: what was said by hand.
 */
enum oae_path_rank m_line_rank(const struct m_world *w, const struct m_end *e,
			       unsigned int line)
{
	return w->sc->differ && line == e->who ? OAE_PATH_PREFERRED : OAE_PATH_NORMAL;
}

static bool port_up(const struct m_end *e, unsigned int line)
{
	return !(e->unplugged >> line & 1);
}

/* The index of the path by a line. */
static unsigned int path_by(const struct m_end *e, unsigned int line)
{
	const struct m_path_end *pe = &e->path;
	unsigned int i;

	if (!pe->begun)
		return line == pe->line[OAE_PATH_OWN] ? OAE_PATH_OWN : NONE;
	for (i = 0; i < M_LINES; i++)
		if (pe->ps.path[i].there && pe->line[i] == line)
			return i;
	return NONE;
}

struct oae_paths *h_paths(struct h_event *ev)
{
	struct m_path_end *pe = &((struct m_end *)ev->end)->path;

	return pe->begun ? &pe->ps : NULL;
}

static void begin(const struct m_world *w, struct m_end *e)
{
	struct m_path_end *pe = &e->path;
	unsigned int line = pe->line[OAE_PATH_OWN];

	if (pe->begun)
		return;
	pe->begun = true;
	oae_paths_init(&pe->ps, &e->link, m_line_mtu(w, e, line), port_up(e, line), M_NOW);
	pe->ps.path[OAE_PATH_OWN].rank = m_line_rank(w, e, line);
	pe->ps.path[OAE_PATH_OWN].via = m_line_via(w, line);
}

static unsigned int add(const struct m_world *w, struct m_end *e, unsigned int line)
{
	struct m_path_end *pe = &e->path;
	int i;

	begin(w, e);
	i = oae_path_add(&pe->ps, m_line_mtu(w, e, line), port_up(e, line));
	if (i < 0 || i >= M_LINES)
		return NONE;
	pe->line[i] = line;
	pe->ps.path[i].rank = m_line_rank(w, e, line);
	pe->ps.path[i].via = m_line_via(w, line);
	return i;
}

/**
 * m_cookie() - the cookie of an end without a tag for its peer's ltag, by a line
 * @src: the ltag
 * @line: the line
 *
 * Return: the cookie.
 */
u32 m_cookie(u32 src, unsigned int line)
{
	return M_COOKIE | line << 29 | src;
}

/**
 * m_path_line() - the line that an end's own frames go by
 * @e: the end, with a tag
 *
 * Return: which one.
 */
unsigned int m_path_line(const struct m_end *e)
{
	return e->path.line[e->path.begun ? e->path.ps.used : OAE_PATH_OWN];
}

/**
 * m_path_is() - does a line lead to an end's tag?
 * @e: the end
 * @line: the line that a frame has come by
 *
 * Return: false if the frame is one for admission (4.6).
 */
bool m_path_is(const struct m_end *e, unsigned int line)
{
	return e->tag && path_by(e, line) != NONE;
}

/**
 * m_path_heard() - a frame has come: is it believed where it comes from?
 * @e: the end; the line leads to its tag
 * @ev: the event
 * @line: the line that the frame has come by
 *
 * Return: false: drop the frame.
 */
bool m_path_heard(struct m_end *e, struct h_event *ev, unsigned int line)
{
	if (oae_conn_heard(&ev->conn, path_by(e, line), ev->f, M_NOW, ev->a))
		return true;
	if (m_story)
		fprintf(m_story, "      ... which %c does not believe\n", 'A' + e->who);
	return false;
}

void h_paths_end(struct h_event *ev)
{
	const struct m_end *e = (const struct m_end *)ev->end;

	if (m_story && ev->conn.paths && ev->conn.turned)
		fprintf(m_story, "      %c uses line %u\n", 'A' + e->who, m_path_line(e));
}

static void put(struct m_world *w, struct m_end *e, struct m_frame *f, unsigned int line)
{
	f->line = line;
	if (!port_up(e, line))
		return;
	/* The port does not take it. */
	if (m_line_mtu(w, e, line) == M_MTU_NARROW && m_frame_long(f))
		return;
	m_to_wire(w, !e->who, f);
}

/**
 * m_path_send() - a frame goes out, by whichever lines
 * @w: the world
 * @e: from which end
 * @ev: the event
 * @m: the frame
 */
void m_path_send(struct m_world *w, struct m_end *e, const struct h_event *ev,
		 const struct m_frame *m)
{
	const struct m_path_end *pe = &e->path;
	const struct oae_paths *ps = &pe->ps;
	/* No ASK is long here. */
	const struct oae_frame as_sent = { .opcode = m->opcode };
	struct m_frame f = *m;
	unsigned int to, i;

	if (!pe->begun) {
		/* The last frame of a link that is forgotten now answers this one. */
		put(w, e, &f, !e->tag && ev->raw ? ((const struct m_frame *)ev->raw)->line :
						   pe->line[OAE_PATH_OWN]);
		return;
	}
	to = oae_conn_out(&ev->conn, &as_sent);
	for (i = 0; i < M_LINES; i++) {
		if (!(to & 1U << i) || !ps->path[i].there)
			continue;
		f = *m;
		if (m->opcode == OAE_SYNC)
			f.dst = oae_path_names(ps, i, &e->link);
		if (oae_is_sync(m->opcode))
			f.mtu = oae_path_carries(&ps->path[i]);
		put(w, e, &f, pe->line[i]);
	}
}

/* --- what happens to paths --- */

/* Has the peer's probe, whenever it was sent, the proof that this end wants? */
static bool probes(const struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who], *p = &w->end[!who];

	return e->tag && p->tag && oae_link_knows_paths(&e->link) &&
	       e->link.inc == p->link.peer.inc && e->link.peer.inc == p->link.inc;
}

static bool may_answer(const struct m_world *w, unsigned int who, unsigned int line,
		       const struct oae_path *path, unsigned int i)
{
	const struct m_end *p = &w->end[!who];
	unsigned int its = path_by(p, line);

	return probes(w, who) && oae_path_due(&w->end[who].path.ps, i, &w->end[who].link, M_NOW) &&
	       p->path.begun && its != NONE && p->path.ps.path[its].proven && port_up(p, line) &&
	       !(path->proven && path->good && path->rtt);
}

/**
 * m_path_known() - is a line proven at both ends, and for both of them?
 * @w: the world
 * @line: which one
 *
 * Return: true if so.
 */
bool m_path_known(const struct m_world *w, unsigned int line)
{
	const struct m_end *a = &w->end[A], *b = &w->end[B];
	unsigned int i = path_by(a, line), j = path_by(b, line);

	return a->tag && b->tag && a->path.begun && b->path.begun && i != NONE && j != NONE &&
	       a->path.ps.path[i].proven && b->path.ps.path[j].proven &&
	       a->link.inc == b->link.peer.inc && b->link.inc == a->link.peer.inc;
}

/* What the peer says in a probe that it carries by a line. */
static u16 said_mtu(const struct m_world *w, unsigned int who, unsigned int line)
{
	const struct m_end *p = &w->end[!who];
	unsigned int its = path_by(p, line);

	if (p->path.begun && its != NONE)
		return oae_path_carries(&p->path.ps.path[its]);
	return m_line_mtu(w, p, line);
}

/**
 * m_path_may() - may this happen to a path?
 * @w: the world
 * @who: at which end
 * @what: the event
 * @line: the line
 *
 * Return: true if so, and if it makes a difference.
 */
bool m_path_may(const struct m_world *w, unsigned int who, enum m_what what,
		unsigned int line)
{
	const struct m_end *e = &w->end[who];
	unsigned int i = path_by(e, line);
	const struct oae_path *path = e->path.begun && i != NONE ? &e->path.ps.path[i] : NULL;
	struct oae_paths ps;

	switch (what) {
	case M_PATH_LOOK:
		return e->tag && i == NONE && oae_link_knows_paths(&e->link);
	case M_PATH_PROBED:
		return port_up(e, line) && probes(w, who) && (i == NONE || (path && !path->proven));
	case M_PATH_ANSWERED:
		return path && may_answer(w, who, line, path, i);
	case M_PATH_SAYS:
		return m_lengths(w->sc) && path && path->proven && m_path_known(w, line) &&
		       port_up(e, line) && path->far != said_mtu(w, who, line);
	case M_PATH_SILENT:
		return path && path->good &&
		       oae_link_knows_paths(&e->link) &&
		       oae_path_due(&e->path.ps, i, &e->link, M_NOW);
	case M_FORGE:
		/* Not where the peer is looked for (4.14, A new incarnation). */
		return path && i != e->path.ps.used && e->link.peer.inc && !e->link.down;
	case M_PATH_LEFT:
		return e->tag && e->path.begun && e->path.ps.leave_at;
	case M_PATH_BACK:
		if (!e->tag || !e->path.begun)
			return false;
		ps = e->path.ps;
		return oae_paths_back(&ps, &e->link, M_NOW);
	default:
		return false;
	}
}

/**
 * m_path_look() - an end finds a line of which it has no path, or one to be silent
 * @w: the world
 * @who: at which end
 * @what: the event: M_PATH_LOOK or M_PATH_SILENT
 * @line: the line
 */
void m_path_look(struct m_world *w, unsigned int who, enum m_what what, unsigned int line)
{
	struct m_end *e = &w->end[who];
	unsigned int i = path_by(e, line), n;

	if (what == M_PATH_LOOK) {
		add(w, e, line);
		return;
	}
	/* The third probe finds the first two unanswered. */
	for (n = 0; n < 3; n++)
		oae_path_probed(&e->path.ps, i, 1, M_NOW);
}

/**
 * m_path_rcv() - a probe has come, or the answer to one
 * @w: the world
 * @ev: the event
 * @what: which of both: M_PATH_ANSWERED, or M_PATH_PROBED or M_PATH_SAYS
 * @line: the line that it has come by
 */
void m_path_rcv(const struct m_world *w, struct h_event *ev, enum m_what what,
		unsigned int line)
{
	struct m_end *e = (struct m_end *)ev->end;
	struct oae_frame f = {
		.path = { .role = OAE_PATH_PROBE, .mtu = said_mtu(w, e->who, line) },
	};
	unsigned int i = path_by(e, line);

	begin(w, e);
	ev->conn.paths = &e->path.ps;
	if (i == NONE)
		i = add(w, e, line);
	if (what == M_PATH_ANSWERED) {
		oae_path_probed(&e->path.ps, i, 1, M_NOW);
		f.path.role = OAE_PATH_ANSWER;
		f.path.nonce = 1;
	}
	oae_conn_path_rcv(&ev->conn, i, &f, M_NOW, ev->a);
}

/**
 * m_path_carrier() - a carrier comes or goes
 * @e: the end
 * @ev: the event
 * @line: of which line
 */
void m_path_carrier(struct m_end *e, struct h_event *ev, unsigned int line)
{
	unsigned int i = path_by(e, line);
	bool up = !port_up(e, line), came;

	e->unplugged ^= 1 << line;
	if (!e->tag || i == NONE)
		return;
	if (e->path.begun) {
		came = oae_conn_review(&ev->conn, i, up, true, M_NOW, ev->a);
		oae_conn_reviewed(&ev->conn, came, M_NOW, ev->a);
	} else if (up) {
		oae_link_port_up(&e->link, M_NOW, ev->a);
	} else {
		oae_link_port_down(&e->link, M_NOW, ev->a);
	}
}

/**
 * m_path_crashed() - the peer crashes: its cookies are good for nothing
 * @e: the end that has them
 */
void m_path_crashed(struct m_end *e)
{
	unsigned int i;

	for (i = 0; i < M_LINES; i++)
		if (e->path.ps.path[i].heard & M_COOKIE)
			e->path.ps.path[i].heard = M_NOBODY;
}

/**
 * m_path_left() - the timer looks whether the path in use is silent
 * @ev: the event; an answer has come by another path, and that was long enough ago
 */
void m_path_left(struct h_event *ev)
{
	if (!oae_paths_silent(ev->conn.paths, &ev->end->link, M_NOW))
		return;
	ev->conn.turned++;
	oae_conn_turned(&ev->conn, M_NOW, ev->a);
}

/* --- states --- */

/* An ltag that is not the peer's any more will never be. */
static u32 reduce_heard(const struct m_world *w, unsigned int who, u32 heard)
{
	const struct m_end *e = &w->end[who], *p = &w->end[!who];

	if (!heard || (heard & M_COOKIE ? (heard & M_LTAG) == e->link.ltag :
				       p->tag && heard == p->link.ltag))
		return heard;
	/* Where paths differ in length, a SYNC that names any ltag says something. */
	return w->sc->shorter ? M_NOBODY : 0;
}

/**
 * m_path_reduce() - leave out of an end's paths what no rule looks at
 * @w: the world
 * @who: the end
 */
void m_path_reduce(struct m_world *w, unsigned int who)
{
	struct m_end *e = &w->end[who];
	struct oae_paths *ps = &e->path.ps;
	unsigned int i;

	/* No path is ever lossy here, and none has to make way for another. */
	memset(&ps->count, 0, sizeof(ps->count));
	ps->asked = ps->used;
	if (!m_lengths(w->sc))
		ps->limit = ps->used;
	if (ps->leave_at)
		ps->leave_at = M_NOW;
	else
		ps->other = OAE_PATH_OWN;
	if (!w->sc->cross || !oae_frozen(&e->link))
		e->link.syncs = 2;
	for (i = 0; i < M_LINES; i++) {
		struct oae_path *path = &ps->path[i];

		if (!path->there) {
			memset(path, 0, sizeof(*path));
			if (i)
				e->path.line[i] = 0;
			continue;
		}
		memset(&path->loss, 0, sizeof(path->loss));
		path->missed = 0;
		path->nonce = 0;
		path->probed_at = 0;
		path->rtt = !!path->rtt;
		path->pmtu_at = M_NOW;
		if (!m_lengths(w->sc))
			path->far = 0;
		path->wait = 0;
		path->not_before = 0;
		path->used_at = 0;
		path->heard = reduce_heard(w, who, path->heard);
		/* It is looked at only to choose another one. */
		if (!w->sc->choose) {
			path->good = true;
			path->rtt = 1;
		}
	}
}

/**
 * m_path_reduce_frame() - leave out of a frame that does nothing to a link what does
 *	nothing to its paths
 * @w: the world
 * @to: the end that it goes to
 * @f: SYNC_ACK or SYNC_CHK that does not name the end's ltag
 *
 * It still says which ltag was last heard by its line.
 */
void m_path_reduce_frame(const struct m_world *w, unsigned int to, struct m_frame *f)
{
	const struct m_end *p = &w->end[!to];
	bool now = p->tag && f->src == p->link.ltag;

	*f = (struct m_frame){
		.opcode = OAE_SYNC_CHK, .src = now ? f->src : M_NOBODY, .dst = M_NOBODY,
		.inc = f->inc, .line = f->line,
	};
}

/* --- what 4.14 promises --- */

/**
 * m_check_path() - what must be so after every event
 * @w: the world
 * @who: of which end, with a tag
 */
void m_check_path(struct m_world *w, unsigned int who)
{
	const struct m_end *e = &w->end[who];
	const struct oae_path *used = &e->path.ps.path[e->path.ps.used];

	if (!e->path.begun)
		return;
	if (!used->there)
		m_fail(w, 0, "4.14: the path in use is not there");
	if (e->link.state == OAE_OPEN && e->link.mtu.here != used->mtu)
		m_fail(w, 0, "4.14: an OPEN link does not know what its path carries");
	if (e->link.mtu.path != e->path.ps.path[e->path.ps.limit].pmtu ||
	    (e->link.state == OAE_OPEN && e->path.ps.limit != e->path.ps.used))
		m_fail(w, 0, "4.17: what is found of a path is not kept for it");
}

/**
 * m_check_paths() - what must be so when both ends have said something
 * @w: the world, quiet
 */
void m_check_paths(struct m_world *w)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (!m_line_whole(w, m_path_line(&w->end[i])))
			m_fail(w, 0, "4.14: an end uses a line that is not whole");
}
