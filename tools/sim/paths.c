// SPDX-License-Identifier: GPL-2.0
/*
 * The paths of an end with several cables. The rules are the module's, link/path*.c; here
 * is what its shell does around them (modoae/tag/path.h). Each cable is a path: both
 * ends have heard of each other at all of them. A link's own path is the cable by which
 * its tag was made, the first one if this end opens it.
 *
 * All ports carry frames of one length: a path carries less only if that is found (4.17). A frame
 * is of one link in any case, so a PATH has no need to name it.
 */
#include "admission.h"
#include "sim.h"

static struct end_paths *of(const struct end *e)
{
	return &e->cabling->paths[e->who];
}

/**
 * paths_used() - by which cable an end sends of its own accord
 * @e: the end, with several cables
 *
 * Return: the cable.
 */
unsigned int paths_used(const struct end *e)
{
	const struct end_paths *ep = of(e);

	return ep->cable[ep->begun ? ep->ps.used : OAE_PATH_OWN];
}

/* The path by a cable, OAE_PATHS_MAX if there is none. */
static unsigned int path_by(const struct end *e, unsigned int cable)
{
	const struct end_paths *ep = of(e);
	unsigned int i;

	if (!ep->begun)
		return ep->cable[OAE_PATH_OWN] == cable ? OAE_PATH_OWN : OAE_PATHS_MAX;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (ep->ps.path[i].there && ep->cable[i] == cable)
			break;
	return i;
}

/**
 * paths_prove() - does an end know that its peer is at the other end of a cable?
 * @e: the end, with several cables
 * @cable: which
 *
 * Return: true if so.
 */
bool paths_prove(const struct end *e, unsigned int cable)
{
	unsigned int i = path_by(e, cable);

	return e->tag && of(e)->begun && i < OAE_PATHS_MAX && of(e)->ps.path[i].proven;
}

/**
 * paths_tag() - an end's tag is made
 * @e: the end, with several cables
 * @cable: that gives the link its name
 */
void paths_tag(struct end *e, unsigned int cable)
{
	struct end_paths *ep = of(e);

	ep->begun = false;
	ep->looked_at = 0;
	ep->cable[OAE_PATH_OWN] = cable;
}

static void begin(struct world *w, struct end *e)
{
	struct end_paths *ep = of(e);

	if (ep->begun)
		return;
	ep->begun = true;
	w->ev.conn.paths = &ep->ps;
	oae_paths_init(&ep->ps, &e->link, w->cfg->mtu, end_port_up(e, ep->cable[OAE_PATH_OWN]),
		       w->now);
}

static unsigned int add(struct world *w, struct end *e, unsigned int cable)
{
	int i = oae_path_add(&of(e)->ps, w->cfg->mtu, end_port_up(e, cable));

	if (i < 0)
		return OAE_PATHS_MAX;
	of(e)->cable[i] = cable;
	w->n.cable.found++;
	return i;
}

struct oae_paths *h_paths(struct h_event *ev)
{
	const struct end *e = end_of(ev->end);

	return e->tag && e->cabling && of(e)->begun ? &of(e)->ps : NULL;
}

void h_paths_end(struct h_event *ev)
{
	const struct oae_paths *ps = ev->conn.paths;
	const struct end *e = end_of(ev->end);
	struct world *w = ev->world;

	if (!ps)
		return;
	w->n.cable.turns += ev->conn.turned;
	if (ev->conn.turned)
		say(w, e, "uses cable %u", paths_used(e));
	if (ev->conn.before < OAE_OPEN || oae_link_state(&e->link) >= OAE_OPEN ||
	    oae_link_closed(&e->link))
		return;
	w->n.cable.freezes++;
}

/* Who knows both incarnations may have sent it. The module's is SipHash, with them as key. */
static u64 proof(const struct end *e, unsigned int cable, u8 from, const struct oae_frame *f)
{
	u64 a = e->link.inc, b = e->link.peer.inc;
	u64 in[] = { a < b ? a : b, a < b ? b : a, f->path.nonce,
		     (u64)f->path.mtu << 32 | f->path.role << 16 | cable << 8 | from };

	return oae_xxh64(in, sizeof(in), 0);
}

static void probe(struct world *w, struct end *e, unsigned int path, u8 role, u64 nonce)
{
	u16 mtu = oae_path_carries(&of(e)->ps.path[path]);
	struct oae_frame f = {
		.opcode = OAE_PATH, .vc = e->link.vc, .hdr_len = OAE_HDR_LEN,
		.path = { .role = role, .mtu = mtu, .nonce = nonce },
	};
	unsigned int cable = of(e)->cable[path];

	f.path.proof = proof(e, cable, e->who, &f);
	w->n.cable.probes++;
	wire_put(w, e, cable, &f, TX_NONE, 0);
}

static void receive_probe(struct world *w, struct end *e, unsigned int cable,
			  const struct oae_frame *f)
{
	struct h_event *ev = &w->ev;
	unsigned int i;
	bool good;

	if (!e->tag || !oae_link_knows_paths(&e->link) || !f->path.nonce ||
	    f->path.proof != proof(e, cable, !e->who, f)) {
		w->n.cable.strays++;
		return;
	}
	end_begin(w, e);
	begin(w, e);
	i = path_by(e, cable);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = add(w, e, cable);
	good = i != OAE_PATHS_MAX && oae_conn_path_rcv(&ev->conn, i, f, w->now, ev->a);
	if (good && f->path.role == OAE_PATH_PROBE)
		probe(w, e, i, OAE_PATH_ANSWER, f->path.nonce);
	end_finish(w);
}

/*
 * To the module these would be the addresses of another link. There is none: whoever
 * asks is shown a cookie, and no tag is made of it.
 */
static void receive_other(struct world *w, struct end *e, unsigned int cable,
			  const struct oae_frame *f)
{
	const struct oae_asker who = { .cookie = { 1, 1 } };
	struct oae_admission a;

	w->n.cable.strays++;
	oae_admission(&who, f, &a);
	if (a.verdict == OAE_ADMIT_ANSWER)
		wire_put(w, e, cable, &a.answer, TX_NONE, 0);
}

/**
 * paths_before() - a frame has come in
 * @w: the world
 * @e: the end, with several cables
 * @p: the frame
 *
 * Return: false if it is not the link's.
 */
bool paths_before(struct world *w, struct end *e, const struct flight *p)
{
	const struct oae_frame *f = &p->f;
	struct end_paths *ep = of(e);
	unsigned int i;

	if (f->opcode == OAE_PATH) {
		receive_probe(w, e, p->cable, f);
		return false;
	}
	if (!e->tag)
		return true;
	i = path_by(e, p->cable);
	if (i == OAE_PATHS_MAX) {
		receive_other(w, e, p->cable, f);
		return false;
	}
	/* It may be the peer in another incarnation, which is to go on asking. */
	if (!ep->begun || f->opcode != OAE_SYNC || oae_path_heard(&ep->ps, i, &e->link, f) ||
	    !oae_path_is_strange(&ep->ps, i, &e->link, f))
		return true;
	w->n.cable.put_off++;
	receive_other(w, e, p->cable, f);
	return false;
}

/**
 * paths_heard() - the link is about to take a frame
 * @w: the world, with its event
 * @e: the end, with several cables
 * @p: the frame, which paths_before() lets in
 *
 * Return: false: it is not believed where it comes from.
 */
bool paths_heard(struct world *w, struct end *e, const struct flight *p)
{
	if (oae_conn_heard(&w->ev.conn, path_by(e, p->cable), &p->f, w->now, &w->act))
		return true;
	say(w, e, "does not believe that by cable %u", p->cable);
	w->n.cable.strays++;
	return false;
}

/* Where else the peer is; and what was silent for long is forgotten. */
static void look(struct world *w, struct end *e)
{
	struct end_paths *ep = of(e);
	unsigned int i;

	ep->looked_at = w->now;
	begin(w, e);
	for (i = 0; i < e->cabling->n; i++)
		if (path_by(e, i) == OAE_PATHS_MAX)
			add(w, e, i);
	for (i = OAE_PATH_OWN + 1; i < OAE_PATHS_MAX; i++) {
		if (!oae_path_hopeless(&ep->ps, i, &e->link))
			continue;
		w->n.cable.forgotten++;
		oae_path_del(&ep->ps, i);
	}
}

/**
 * paths_timer() - the link's timer has fired
 * @w: the world
 * @e: the end, with several cables
 */
void paths_timer(struct world *w, struct end *e)
{
	struct end_paths *ep = of(e);

	if (!oae_link_knows_paths(&e->link))
		return;
	if (!ep->looked_at || w->now - ep->looked_at >= w->knobs.keepalive)
		look(w, e);
	w->probes.nonce = (rng_next(&w->cable_rng) & ~7ULL) | OAE_PATHS_MAX;
	w->probes.by = oae_conn_timer(&w->ev.conn, w->probes.nonce, w->now, &w->act);
}

/**
 * paths_probe() - send what paths_timer() has decided to, behind the event's frames
 * @w: the world
 * @e: the end, with several cables
 */
void paths_probe(struct world *w, struct end *e)
{
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX && e->tag; i++)
		if (w->probes.by >> i & 1)
			probe(w, e, i, OAE_PATH_PROBE, w->probes.nonce + i);
	w->probes.by = 0;
}

/**
 * paths_port() - a port has gone down, or come up
 * @w: the world
 * @e: the end, with several cables
 * @cable: of which
 * @up: which of both
 */
void paths_port(struct world *w, struct end *e, unsigned int cable, bool up)
{
	unsigned int i = path_by(e, cable);
	struct h_event *ev = &w->ev;

	if (i == OAE_PATHS_MAX)
		return;
	if (!of(e)->begun) {
		(up ? oae_link_port_up : oae_link_port_down)(&e->link, w->now, &w->act);
		return;
	}
	up = oae_conn_review(&ev->conn, i, up, true, w->now, ev->a);
	oae_conn_reviewed(&ev->conn, up, w->now, ev->a);
}

/**
 * paths_send() - send a frame of a link by the paths that it is for
 * @w: the world
 * @e: the end, with several cables
 * @f: the frame
 * @id: as for wire_send()
 * @off: likewise
 */
void paths_send(struct world *w, struct end *e, const struct oae_frame *f, u64 id, u32 off)
{
	struct end_paths *ep = of(e);
	unsigned int to, i;
	struct oae_frame copy;

	if (!ep->begun) {
		wire_put(w, e, ep->cable[OAE_PATH_OWN], f, id, off);
		return;
	}
	to = oae_conn_out(&w->ev.conn, f);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!(to >> i & 1) || !ep->ps.path[i].there)
			continue;
		if (!oae_is_sync(f->opcode)) {
			wire_put(w, e, ep->cable[i], f, id, off);
			continue;
		}
		copy = *f;
		if (f->opcode == OAE_SYNC)
			copy.dst_ltag = oae_path_names(&ep->ps, i, &e->link);
		copy.sync.mtu = oae_path_carries(&ep->ps.path[i]);
		wire_put(w, e, ep->cable[i], &copy, id, off);
	}
}
