// SPDX-License-Identifier: GPL-2.0
/* What the shell does with the paths of an end: see sim_path.h. */
#include "sim_path.h"

struct sim_paths sim_paths[2];
struct sim_path_sums sim_path_sums;

/* --- which paths there are --------------------------------------------------------- */

/**
 * sim_path_of() - the path by which a frame came
 * @e: the end
 * @line: by this line
 * @peer: from this address there
 *
 * Return: its index; OAE_PATHS_MAX none.
 */
unsigned int sim_path_of(const struct sim_end *e, unsigned int line, u8 peer)
{
	const struct sim_paths *pe = sim_paths_of(e);
	unsigned int i;

	if (!pe->begun)
		return line == pe->line[OAE_PATH_OWN] && peer == pe->peer[OAE_PATH_OWN] ?
		       OAE_PATH_OWN : OAE_PATHS_MAX;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (pe->ps.path[i].there && pe->line[i] == line && pe->peer[i] == peer)
			break;
	return i;
}

/**
 * sim_paths_count() - how many paths an end has
 * @pe: its paths
 *
 * Return: as many.
 */
unsigned int sim_paths_count(const struct sim_paths *pe)
{
	unsigned int i, n = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		n += pe->ps.path[i].there;
	return n;
}

/**
 * sim_path_add() - one more path; another one may make way for it
 * @e: the end
 * @line: by this line
 * @peer: to this address there
 * @heard: the peer has asked by it
 * @pair: it knows both incarnations, so the knob does not matter
 *
 * Return: its index; -1 there is no place.
 */
int sim_path_add(struct sim_end *e, unsigned int line, u8 peer, bool heard, bool pair)
{
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int spare = oae_path_spare(&pe->ps, heard);
	int i;

	if (spare == OAE_PATHS_MAX && heard && pe->ps.used != OAE_PATH_OWN &&
	    e->link.state < OAE_OPEN)
		spare = pe->ps.used;
	if (!sim_lines[line].there[e->who])
		return -1;
	if (sim_paths_count(pe) >= (pair ? OAE_PATHS_MAX : pe->knob)) {
		if (spare == OAE_PATHS_MAX)
			return -1;
		sim_say(e->w, "  %c: path by %u makes way", 'A' + e->who, pe->line[spare]);
		oae_path_del(&pe->ps, spare);
	}
	i = oae_path_add(&pe->ps, e->mtu, sim_line_up(e, line));
	if (i < 0)
		return -1;
	pe->line[i] = line;
	pe->peer[i] = peer;
	return i;
}

/**
 * sim_paths_begin() - an end is to have paths, if it has none
 * @e: the end, whose peer knows paths; its event is under way, or none is
 */
void sim_paths_begin(struct sim_end *e)
{
	struct sim_paths *pe = sim_paths_of(e);

	if (pe->begun)
		return;
	pe->begun = true;
	e->w->ev.conn.paths = &pe->ps;
	pe->was = 0;
	e->w->ev.now = oae_paths_now(&pe->ps, &e->link, e->w->ev.now);
	oae_paths_init(&pe->ps, &e->link, e->mtu, sim_line_up(e, pe->line[OAE_PATH_OWN]),
		       e->w->ev.now);
}

/* The own paths of the two ends need not be the same, and then both may be the higher. */
static bool is_higher(const struct sim_end *e)
{
	return sim_lines[sim_paths_of(e)->line[OAE_PATH_OWN]].higher == (e->who == B);
}

bool h_higher(struct h_event *ev)
{
	return is_higher((const struct sim_end *)ev->end);
}

/**
 * sim_path_rank() - the own path is another one: is this end the senior by it?
 * @e: the end
 */
void sim_path_rank(struct sim_end *e)
{
	oae_link_rank(&e->link, is_higher(e));
}

void sim_path_tag(struct sim_end *e)
{
	struct sim_paths *pe = sim_paths_of(e);

	pe->begun = false;
	pe->looked_at = e->w->now;
	pe->line[OAE_PATH_OWN] = pe->next_line;
	pe->peer[OAE_PATH_OWN] = pe->next_peer;
	sim_path_rank(e);
}

/**
 * sim_paths_proven() - do both ends know all lines?
 *
 * Return: true if so.
 */
bool sim_paths_proven(void)
{
	unsigned int who, i, n;

	for (who = 0; who < 2; who++) {
		const struct sim_paths *pe = &sim_paths[who];

		for (i = 0, n = 0; pe->begun && i < OAE_PATHS_MAX; i++)
			n += pe->ps.path[i].there && pe->ps.path[i].proven &&
			     pe->ps.path[i].good;
		if (n < sim_nlines)
			return false;
	}
	return true;
}

/* --- probes ------------------------------------------------------------------------ */

static void name_it(u8 addr[6], unsigned int who, unsigned int line, u8 name)
{
	const u8 a[6] = { 2, 0, 0, who, line, name };

	memcpy(addr, a, 6);
}

/* A PATH names the link by the path in use; an answer, by that which it goes by. */
static void send_path(struct sim_end *e, unsigned int i, u8 role, u64 nonce)
{
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int by = role == OAE_PATH_PROBE ? pe->ps.used : i;
	struct oae_frame f = {
		.opcode = OAE_PATH, .vc = e->w->vc, .hdr_len = OAE_HDR_LEN,
		.path = {
			.role = role, .mtu = oae_path_carries(&pe->ps.path[i]), .nonce = nonce,
			.proof = e->link.inc ^ e->link.peer.inc,
		},
	};
	u8 name = sim_lines[pe->line[by]].name[e->who];

	if (by == pe->ps.used && !pe->ps.path[by].proven && pe->was && role == OAE_PATH_PROBE)
		name = pe->was - 1;
	name_it(f.path.to, !e->who, pe->line[by], pe->peer[by]);
	name_it(f.path.from, e->who, pe->line[by], name);
	sim_line_put(e, pe->line[i], pe->peer[i], &f, NULL, 0);
}

/**
 * sim_path_probe() - ask by a path
 * @e: the end
 * @i: index of the path
 */
void sim_path_probe(struct sim_end *e, unsigned int i)
{
	u64 nonce = sim_rand(e->w) | 1;

	oae_path_probed(&sim_paths_of(e)->ps, i, nonce, e->w->ev.now);
	send_path(e, i, OAE_PATH_PROBE, nonce);
}

/* Does a PATH frame name this end's link? */
static bool is_named(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	unsigned int l = f->path.to[4];

	if (f->path.to[3] == e->who && l < sim_nlines && sim_lines[l].there[e->who] &&
	    sim_lines[l].name[e->who] == f->path.to[5] &&
	    sim_path_of(e, l, f->path.from[5]) != OAE_PATHS_MAX)
		return true;
	return sim_path_of(e, line, peer) != OAE_PATHS_MAX;
}

/* A PATH frame has come. */
static void rcv(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	struct h_event *ev;
	bool good;
	int i;

	if (!e->tag || !oae_link_knows_paths(&e->link) || !is_named(e, line, peer, f) ||
	    f->path.proof != (e->link.inc ^ e->link.peer.inc))
		return;
	sim_paths_begin(e);
	i = sim_path_of(e, line, peer);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = sim_path_add(e, line, peer, true, false);
	if (i < 0 || i == OAE_PATHS_MAX ||
	    sim_lines[line].name[e->who] != sim_lines[line].device[e->who])
		return;
	ev = sim_begin(e);
	good = oae_conn_path_rcv(&ev->conn, i, f, ev->now, ev->a);
	if (good && f->path.role == OAE_PATH_PROBE)
		send_path(e, i, OAE_PATH_ANSWER, f->path.nonce);
	sim_finish(ev);
}

/**
 * sim_path_came() - a frame has come to a port
 * @e: the end
 * @line: by this line
 * @peer: from this address there
 * @f: the frame
 *
 * Return: false: the port was down, or it was a PATH frame, and that is all.
 */
bool sim_path_came(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	if (!sim_line_up(e, line))
		return false;
	if (f->opcode == OAE_PATH)
		rcv(e, line, peer, f);
	return f->opcode != OAE_PATH;
}

/* --- an event ---------------------------------------------------------------------- */

struct oae_paths *h_paths(struct h_event *ev)
{
	struct sim_end *e = (struct sim_end *)ev->end;
	struct sim_paths *pe = sim_paths_of(e);

	if (!e->tag)
		pe->begun = false;
	return pe->begun ? &pe->ps : NULL;
}

/* The frame came by the path that sim_path_before() has found. */
bool sim_path_heard(struct h_event *ev)
{
	struct sim_paths *pe = sim_paths_of((struct sim_end *)ev->end);
	bool claimed = pe->believed;

	pe->believed = false;
	if (claimed)
		oae_conn_taken(&ev->conn, pe->arrived, ev->f, ev->now, ev->a);
	else if (!oae_conn_heard(&ev->conn, pe->arrived, ev->f, ev->now, ev->a))
		return false;
	return true;
}

void h_paths_end(struct h_event *ev)
{
	struct sim_end *e = (struct sim_end *)ev->end;
	struct sim_paths *pe = sim_paths_of(e);

	if (!ev->conn.paths)
		return;
	if (ev->conn.turned)
		sim_say(e->w, "  %c: path by %u is in use", 'A' + e->who, pe->line[pe->ps.used]);
	sim_path_sums.turned += ev->conn.turned;
}

/* Lines without a path get one, and what is hopeless is forgotten. */
static void look(struct sim_end *e)
{
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int i;

	sim_paths_begin(e);
	for (i = 0; i < sim_nlines; i++) {
		const struct sim_line *line = &sim_lines[i];

		if (line->there[e->who] && line->there[!e->who] &&
		    sim_path_of(e, i, line->name[!e->who]) == OAE_PATHS_MAX)
			sim_path_add(e, i, line->name[!e->who], false, false);
	}
	for (i = 1; i < OAE_PATHS_MAX; i++)
		if (oae_path_hopeless(&pe->ps, i, &e->link))
			oae_path_del(&pe->ps, i);
}

void sim_path_timer(struct sim_end *e, struct oae_actions *a)
{
	struct h_event *ev = &e->w->ev;
	struct sim_paths *pe = sim_paths_of(e);
	unsigned int i, probed;
	u64 nonce;

	if (sim_paths_shrink && oae_link_state(&e->link) == OAE_OPEN)
		sim_paths_shrink(e, a);
	if (!oae_link_knows_paths(&e->link))
		return;
	if (e->w->now - pe->looked_at >= e->cfg.keepalive) {
		pe->looked_at = e->w->now;
		look(e);
	}
	if (!pe->begun)
		return;
	nonce = sim_rand(e->w) | OAE_PATHS_MAX;
	probed = oae_conn_timer(&ev->conn, nonce, ev->now, a);
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (probed & 1U << i)
			send_path(e, i, OAE_PATH_PROBE, nonce + i);
}

void sim_path_send(struct sim_end *e, const struct oae_frame *f, const u8 *more, u16 n)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct oae_frame out = *f;
	unsigned int to, i;

	if (!pe->begun) {
		sim_line_put(e, pe->line[OAE_PATH_OWN], pe->peer[OAE_PATH_OWN], f, more, n);
		return;
	}
	oae_path_name_claimed(&pe->ps, &out);
	to = oae_conn_out(&e->w->ev.conn, f);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		struct oae_frame one = out;

		if (!(to & 1U << i) || !pe->ps.path[i].there)
			continue;
		if (f->opcode == OAE_SYNC) {
			one.dst_ltag = oae_path_names(&pe->ps, i, &e->link);
			/* A stranger is told nothing of the peer. */
			if (!pe->ps.path[i].proven)
				one.sync.peer_inc = 0;
		}
		if (oae_is_sync(f->opcode))
			one.sync.mtu = oae_path_carries(&pe->ps.path[i]);
		sim_line_put(e, pe->line[i], pe->peer[i], &one, more, n);
	}
}
