// SPDX-License-Identifier: GPL-2.0
/*
 * Paths that are taken no more, and again: two links over several lines, and the knob `paths`.
 *
 *	KNOB     lowered and raised at either end, at both, at any time; to 1 and to others
 *	LINES    good, slow, lossy, with frames that are very late; or one without a carrier
 *	PORTS    are released and bound again, so that the own paths of the ends differ
 *	ADDRESS  of a port: another one, while a link goes by it
 *	REBOOTS  of one end, now and then; or one end closes
 *	USERS    messages, verbs and halves all the time
 *
 * No second link is made beside one whose two ends live, and nothing that was held is lost. As
 * long as all lines carry frames all that is posted is committed, soon. tests/harness watches
 * G1 to G3. What the shell does with paths is done here (modoae/tag/path*.c, probe.c, claim.c,
 * alias.c), but for their MTU.
 *
 *	OAE_KNOB_SEEDS	how many runs (default 400)
 *	OAE_KNOB_RUN	only this one, with its last events
 */
#include "unit.h"
#include "sim.h"
#include "../../modoae/link/path.h"
#include "../../modoae/link/admission.h"

#define LINES_MAX	4
#define DEFAULT_SEEDS	400
#define PHASES		8
#define KEEPALIVE	(100 * SIM_MS)
#define DEAD		(500 * SIM_MS)
#define SOON		(2 * DEAD + 3 * KEEPALIVE) /* until a commit, if all lines are good */
#define COOKIE_NS	(200 * SIM_MS)		/* as in sim_shell.c */
#define NAMES		8			/* addresses of a port, in turns */

static struct {
	struct sim_faults to[2];
	bool up[2];			/* the carrier at each end */
	bool there[2];			/* the port is bound */
	bool higher;			/* the address of B is that of the senior */
	u8 name[2];			/* which address its frames come from */
	u8 device[2];			/* and which the device has */
} lines[LINES_MAX];

/* The paths of an end, as in struct oae_tag_paths. */
static struct path_end {
	unsigned int knob;
	bool begun;
	struct oae_paths ps;
	unsigned int line[OAE_PATHS_MAX];
	u8 peer[OAE_PATHS_MAX];		/* the address there */
	u8 was;				/* that the peer knows of this end, plus 1 */
	u64 looked_at;
	u64 claimed;
	u64 quiet;			/* until then nobody is put off */
	/* The event under way. */
	int back;
	enum oae_state before;
	bool ended, late;
	unsigned int arrived;
	/* The tag to be made is for these. */
	unsigned int next_line;
	u8 next_peer;
} ends[2];

static struct sim world;
static unsigned int nlines;
static bool neighbours;		/* they are heard */
static bool closing;		/* an end has closed the link, perhaps while it was down */
static bool crashed;		/* an end is another incarnation, so what it had is lost */
static unsigned long settled, shrunk, moved, renamed, conflicts, seconds;

static struct path_end *of(const struct sim_end *e)
{
	return &ends[e->who];
}

static bool port_up(const struct sim_end *e, unsigned int line)
{
	return lines[line].up[e->who] && lines[line].there[e->who];
}

/* --- frames ------------------------------------------------------------------------ */

static void put(struct sim_end *e, unsigned int line, u8 to, const struct oae_frame *f,
		const u8 *more, u16 n)
{
	struct sim *w = e->w;

	if (!port_up(e, line))
		return;
	w->by_line = line | lines[line].name[e->who] << 2 | to << 5;
	w->faults[!e->who] = lines[line].to[!e->who];
	if (w->trace)
		sim_say(w, "  %c by %u:", 'A' + e->who, line);
	sim_transmit(e, f, more, n);
	w->by_line = 0;
	w->faults[!e->who] = lines[0].to[!e->who];
}

static unsigned int path_of(const struct sim_end *e, unsigned int line, u8 peer)
{
	const struct path_end *pe = of(e);
	unsigned int i;

	if (!pe->begun)
		return line == pe->line[OAE_PATH_OWN] && peer == pe->peer[OAE_PATH_OWN] ?
		       OAE_PATH_OWN : OAE_PATHS_MAX;
	for (i = 0; i < OAE_PATHS_MAX; i++)
		if (pe->ps.path[i].there && pe->line[i] == line && pe->peer[i] == peer)
			break;
	return i;
}

static unsigned int count(const struct path_end *pe)
{
	unsigned int i, n = 0;

	for (i = 0; i < OAE_PATHS_MAX; i++)
		n += pe->ps.path[i].there;
	return n;
}

static int path_add(struct sim_end *e, unsigned int line, u8 peer, bool heard, bool pair)
{
	struct path_end *pe = of(e);
	unsigned int spare = oae_path_spare(&pe->ps, heard);
	int i;

	if (spare == OAE_PATHS_MAX && heard && pe->ps.used != OAE_PATH_OWN &&
	    e->link.state < OAE_OPEN)
		spare = pe->ps.used;
	if (!lines[line].there[e->who])
		return -1;
	if (count(pe) >= (pair ? OAE_PATHS_MAX : pe->knob)) {
		if (spare == OAE_PATHS_MAX)
			return -1;
		sim_say(e->w, "  %c: path by %u makes way", 'A' + e->who, pe->line[spare]);
		oae_path_del(&pe->ps, spare);
	}
	i = oae_path_add(&pe->ps, SIM_MTU_MAX, port_up(e, line));
	if (i < 0)
		return -1;
	pe->line[i] = line;
	pe->peer[i] = peer;
	return i;
}

static void begin_paths(struct sim_end *e)
{
	struct path_end *pe = of(e);

	if (pe->begun)
		return;
	pe->begun = true;
	pe->was = 0;
	pe->claimed = 0;
	oae_paths_init(&pe->ps, &e->link, SIM_MTU_MAX, port_up(e, pe->line[OAE_PATH_OWN]),
		       e->w->now);
}

/* The own paths of the two ends need not be the same, and then both may be the higher. */
static bool is_higher(const struct sim_end *e)
{
	return lines[of(e)->line[OAE_PATH_OWN]].higher == (e->who == B);
}

bool h_higher(struct h_event *ev)
{
	return is_higher((const struct sim_end *)ev->end);
}

static void rank(struct sim_end *e)
{
	oae_link_rank(&e->link, is_higher(e));
}

void sim_path_tag(struct sim_end *e)
{
	struct path_end *pe = of(e);

	pe->begun = false;
	pe->looked_at = e->w->now;
	pe->line[OAE_PATH_OWN] = pe->next_line;
	pe->peer[OAE_PATH_OWN] = pe->next_peer;
	rank(e);
}

static void event_ends(struct sim_end *e)
{
	struct path_end *pe = of(e);

	if (pe->ended || !pe->begun)
		return;
	pe->ended = true;
	oae_paths_pair(&pe->ps, &e->link);
	oae_paths_ended(&pe->ps, &e->link, pe->before, e->w->now);
	oae_watch_stepped(&pe->ps, &e->link, pe->before, e->w->now);
}

void sim_path_begin(struct sim_end *e)
{
	struct path_end *pe = of(e);

	event_ends(e);
	if (!e->tag)
		pe->begun = false;
	pe->back = -1;
	pe->before = e->tag ? e->link.state : OAE_CLOSED;
	pe->ended = false;
}

/* --- probes ------------------------------------------------------------------------ */

static void name_it(u8 addr[6], unsigned int who, unsigned int line, u8 name)
{
	const u8 a[6] = { 2, 0, 0, who, line, name };

	memcpy(addr, a, 6);
}

static void probe(struct sim_end *e, unsigned int i, u8 role, u64 nonce)
{
	struct path_end *pe = of(e);
	unsigned int by = role == OAE_PATH_PROBE ? pe->ps.used : i;
	struct oae_frame f = {
		.opcode = OAE_PATH, .vc = e->w->vc, .hdr_len = OAE_HDR_LEN,
		.path = {
			.role = role, .mtu = SIM_MTU_MAX, .nonce = nonce,
			.proof = e->link.inc ^ e->link.peer_inc,
		},
	};
	u8 name = lines[pe->line[by]].name[e->who];

	if (by == pe->ps.used && !pe->ps.path[by].proven && pe->was && role == OAE_PATH_PROBE)
		name = pe->was - 1;
	name_it(f.path.to, !e->who, pe->line[by], pe->peer[by]);
	name_it(f.path.from, e->who, pe->line[by], name);
	put(e, pe->line[i], pe->peer[i], &f, NULL, 0);
}

static void send_probe(struct sim_end *e, unsigned int i)
{
	u64 nonce = sim_rand(e->w) | 1;

	oae_path_probed(&of(e)->ps, i, nonce, e->w->now);
	probe(e, i, OAE_PATH_PROBE, nonce);
}

/* Does a PATH frame name this end's link? */
static bool named(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	unsigned int l = f->path.to[4];

	if (f->path.to[3] == e->who && l < nlines && lines[l].there[e->who] &&
	    lines[l].name[e->who] == f->path.to[5] &&
	    path_of(e, l, f->path.from[5]) != OAE_PATHS_MAX)
		return true;
	return path_of(e, line, peer) != OAE_PATHS_MAX;
}

static void probe_rcv(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	struct path_end *pe = of(e);
	bool before;
	int i;

	if (!e->tag || !oae_link_knows_paths(&e->link) || !named(e, line, peer, f) ||
	    f->path.proof != (e->link.inc ^ e->link.peer_inc))
		return;
	begin_paths(e);
	i = path_of(e, line, peer);
	if (i == OAE_PATHS_MAX && f->path.role == OAE_PATH_PROBE)
		i = path_add(e, line, peer, true, false);
	if (i < 0 || i == OAE_PATHS_MAX || !pe->ps.path[i].up ||
	    lines[line].name[e->who] != lines[line].device[e->who])
		return;
	before = pe->ps.path[i].proven;
	if (f->path.role == OAE_PATH_PROBE) {
		pe->ps.path[i].proven = true;
		probe(e, i, OAE_PATH_ANSWER, f->path.nonce);
	} else if (!oae_path_answered(&pe->ps, i, f->path.nonce, e->w->now)) {
		return;
	}
	if (!before)
		sim_happens(e, "path proven", oae_link_port_up);
}

/* The link is about to take it; sim_path_begin() follows. */
static bool taken(struct sim_end *e, unsigned int i, const struct oae_frame *f)
{
	of(e)->arrived = i;
	of(e)->late = oae_watch_heard(&of(e)->ps, i, &e->link, f, e->w->now);
	return true;
}

/* --- admission --------------------------------------------------------------------- */

static u32 cookie(const struct sim_end *e, u32 src_ltag, u64 when)
{
	u64 in[3] = { e->cookie_key, src_ltag, when };

	return oae_cookie(oae_xxh64(in, sizeof(in), 0));
}

/* A path_try(): 1 proven, 0 it is asked, -1 none. */
static int try_path(struct sim_end *e, unsigned int line, u8 peer)
{
	struct path_end *pe = of(e);
	int i;

	if (!oae_link_knows_paths(&e->link))
		return oae_link_state(&e->link) < OAE_OPEN ? 0 : -1;
	i = path_of(e, line, peer);
	if (i == OAE_PATHS_MAX)
		i = path_add(e, line, peer, false, false);
	if (i < 0 || oae_path_nobody(&pe->ps, i, &e->link, e->w->now))
		return -1;
	if (pe->ps.path[i].proven)
		return 1;
	if (oae_path_due(&pe->ps, i, &e->link, e->w->now))
		send_probe(e, i);
	return 0;
}

/* path_claimed(): the path, -1 it is put off, -2 it is another's. */
static int claimed(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	bool pair = f->sync.inc == e->link.peer_inc && f->sync.peer_inc == e->link.inc;
	struct path_end *pe = of(e);
	int i;

	begin_paths(e);
	if (!oae_path_claim(&e->link, f->sync.inc, f->sync.peer_inc)) {
		if (e->link.peer_inc)
			return try_path(e, line, peer) < 0 ? -2 : -1;
		pe->claimed = f->sync.inc;
		return e->link.down ? -2 : -1;
	}
	i = path_of(e, line, peer);
	if (i == OAE_PATHS_MAX)
		i = path_add(e, line, peer, true, pair);
	if (i < 0)
		return -1;
	if (f->sync.peer_inc == e->link.inc &&
	    f->sync.inc == (e->link.peer_inc ? e->link.peer_inc : f->sync.inc))
		pe->ps.path[i].proven = true;
	return oae_path_heard(&pe->ps, i, &e->link, f) ? i : -1;
}

/*
 * Not by a path of the link: admission (net/admit.c). True: the link takes it, or a tag is to be
 * made.
 */
static bool admit(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	u64 when = e->w->now / COOKIE_NS;
	const struct oae_asker who = {
		.cookie = { cookie(e, f->src_ltag, when), cookie(e, f->src_ltag, when - 1) },
		.accept = OAE_ACCEPT_ANY,
	};
	struct path_end *pe = of(e);
	struct oae_admission v;
	int i = -2;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_TAG) {
		if (!e->tag) {
			pe->next_line = line;
			pe->next_peer = peer;
			return true;
		}
		if (path_of(e, line, peer) != OAE_PATHS_MAX ||
		    (f->sync.inc == e->link.peer_inc && f->sync.peer_inc == e->link.inc) ||
		    (pe->knob > 1 && neighbours && f->sync.caps & OAE_CAPS_PATHS))
			i = claimed(e, line, peer, f);
		if (i >= 0)
			return taken(e, i, f);
		if (i == -2) {
			seconds++;
			if (f->sync.inc == e->link.peer_inc && f->sync.peer_inc == e->link.inc)
				sim_fail(e->w, "%c: a second link is made, by %u", 'A' + e->who,
					 line);
			return false;
		}
		conflicts++;
		if (e->w->now < pe->quiet)
			return false;
		pe->quiet = e->w->now + SIM_MS;
		oae_admission_conflict(&who, f, &v);
	}
	if (v.verdict == OAE_ADMIT_ANSWER || v.verdict == OAE_ADMIT_EXPECTED)
		put(e, line, peer, &v.answer, NULL, 0);
	return false;
}

bool sim_path_before(struct sim_end *e, const struct sim_pkt *p, const struct oae_frame *f)
{
	unsigned int line = p->by_line & 3, i;
	u8 peer = p->by_line >> 2 & 7, to = p->by_line >> 5;
	struct path_end *pe = of(e);

	if (!port_up(e, line))
		return false;
	/* A frame for the address of before may be on its way still. */
	if (to != lines[line].device[e->who] &&
	    (to != lines[line].name[e->who] || sim_upto(e->w, 2)))
		return false;
	if (f->opcode == OAE_PATH) {
		probe_rcv(e, line, peer, f);
		return false;
	}
	i = e->tag ? path_of(e, line, peer) : OAE_PATHS_MAX;
	if (i == OAE_PATHS_MAX || (pe->begun && f->opcode == OAE_SYNC &&
				   oae_path_is_strange(&pe->ps, i, &e->link, f)))
		return admit(e, line, peer, f);
	if (!pe->begun)
		return true;
	if (oae_path_heard(&pe->ps, i, &e->link, f))
		return taken(e, i, f);
	sim_say(e->w, "  %c: not believed by %u", 'A' + e->who, line);
	return false;
}

void sim_path_after(struct sim_end *e, const struct oae_frame *f)
{
	struct path_end *pe = of(e);

	if (!pe->begun)
		return;
	pe->back = pe->arrived;
	if (oae_path_stepped(&pe->ps, pe->back, &e->link, f, pe->before, e->w->now))
		sim_say(e->w, "  %c: path by %u is in use", 'A' + e->who,
			pe->line[pe->ps.used]);
	else if (oae_path_astray(&pe->ps, pe->back, &e->link, f, e->w->now) || pe->late)
		oae_link_speak(&e->link, &e->w->act);
}

/* --- the shell: which paths there are -------------------------------------------------- */

static void become_own(struct sim_end *e, unsigned int i, struct oae_actions *a)
{
	struct path_end *pe = of(e);
	bool turned;

	sim_say(e->w, "  %c: own path is that by %u", 'A' + e->who, pe->line[i]);
	pe->line[OAE_PATH_OWN] = pe->line[i];
	pe->peer[OAE_PATH_OWN] = pe->peer[i];
	turned = oae_paths_move(&pe->ps, i, e->w->now);
	rank(e);
	if (turned)
		oae_link_port_down(&e->link, e->w->now, a);
}

static bool settle(struct sim_end *e, struct oae_actions *a)
{
	struct path_end *pe = of(e);

	if (!pe->ps.agreed) {
		if (oae_link_senior(&e->link))
			oae_link_ask(&e->link, a);
		return false;
	}
	if (pe->ps.used != OAE_PATH_OWN)
		become_own(e, pe->ps.used, a);
	settled++;
	return true;
}

static void shrink(struct sim_end *e, struct oae_actions *a)
{
	struct path_end *pe = of(e);
	bool takes = oae_link_takes_paths(&e->link);
	unsigned int i, most = takes ? pe->knob : 1;

	if (most == 1 && takes) {
		sim_say(e->w, "  %c: freezes, to have one path", 'A' + e->who);
		oae_link_port_down(&e->link, e->w->now, a);
		return;
	}
	if (!pe->begun || count(pe) <= most)
		return;
	if (most == 1 && !settle(e, a))
		return;
	for (i = OAE_PATHS_MAX - 1; i > OAE_PATH_OWN && count(pe) > most; i--) {
		if (i == pe->ps.used || !pe->ps.path[i].there)
			continue;
		sim_say(e->w, "  %c: forgets path by %u", 'A' + e->who, pe->line[i]);
		oae_path_del(&pe->ps, i);
		shrunk++;
	}
}

void sim_path_timer(struct sim_end *e, struct oae_actions *a)
{
	struct path_end *pe = of(e);
	u64 now = e->w->now;
	unsigned int i;

	if (oae_link_state(&e->link) == OAE_OPEN)
		shrink(e, a);
	if (!oae_link_knows_paths(&e->link))
		return;
	if (now - pe->looked_at >= KEEPALIVE) {
		pe->looked_at = now;
		begin_paths(e);
		for (i = 0; i < nlines; i++)
			if (lines[i].there[e->who] && lines[i].there[!e->who] &&
			    path_of(e, i, lines[i].name[!e->who]) == OAE_PATHS_MAX)
				path_add(e, i, lines[i].name[!e->who], false, false);
		for (i = 1; i < OAE_PATHS_MAX; i++)
			if (oae_path_hopeless(&pe->ps, i))
				oae_path_del(&pe->ps, i);
	}
	for (i = 0; pe->begun && i < OAE_PATHS_MAX; i++)
		if (oae_path_due(&pe->ps, i, &e->link, now))
			send_probe(e, i);
	if (pe->begun)
		oae_watch_time(&pe->ps, &e->link, now);
	if (pe->begun && oae_paths_back(&pe->ps, &e->link, now)) {
		sim_say(e->w, "  %c: back to path by %u", 'A' + e->who, pe->line[pe->ps.used]);
		oae_link_speak(&e->link, a);
	}
}

void sim_path_send(struct sim_end *e, const struct oae_frame *f, const u8 *more, u16 n)
{
	struct path_end *pe = of(e);
	struct oae_frame out = *f;
	unsigned int to, i;

	if (!pe->begun) {
		put(e, pe->line[OAE_PATH_OWN], pe->peer[OAE_PATH_OWN], f, more, n);
		return;
	}
	event_ends(e);
	if (f->opcode == OAE_OFFER)
		oae_watch_offered(&pe->ps, &e->link, 1);
	if (f->opcode == OAE_SYNC && !pe->ps.peer_inc && !f->sync.peer_inc)
		out.sync.peer_inc = pe->claimed;
	to = oae_paths_out(&pe->ps, &e->link, f->opcode, e->w->ev.f ? pe->back : -1,
			   pe->before);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		struct oae_frame one = out;

		if (!(to & 1U << i) || !pe->ps.path[i].there)
			continue;
		if (f->opcode == OAE_SYNC) {
			one.dst_ltag = oae_path_names(&pe->ps, i, &e->link);
			if (!pe->ps.path[i].proven)
				one.sync.peer_inc = 0;
		}
		put(e, pe->line[i], pe->peer[i], &one, more, n);
	}
}

/* --- ports ----------------------------------------------------------------------------- */

static struct sim_end *whose;
static unsigned int which;

/* The port of a path has changed. */
static void review(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct path_end *pe = of(whose);
	bool came = false, up, was;
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != which)
			continue;
		was = pe->ps.path[i].up;
		up = port_up(whose, which);
		if (up != was)
			pe->ps.path[i].probed_at = 0;
		pe->ps.path[i].up = up;
		if (!up && pe->ps.used == i) {
			oae_path_failed(&pe->ps, i, l, now);
			oae_link_port_down(l, now, a);
		}
		came |= up && !was;
		if (!lines[which].there[whose->who] && i != OAE_PATH_OWN)
			oae_path_del(&pe->ps, i);
	}
	if (came)
		oae_link_port_up(l, now, a);
}

static void carrier(struct sim_end *e, unsigned int line, bool up)
{
	if (lines[line].up[e->who] == up)
		return;
	lines[line].up[e->who] = up;
	if (!e->tag || !lines[line].there[e->who])
		return;
	whose = e;
	which = line;
	sim_say(e->w, "%c: line %u %s", 'A' + e->who, line, up ? "up" : "down");
	if (of(e)->begun)
		sim_happens(e, NULL, review);
	else if (of(e)->line[OAE_PATH_OWN] == line)
		sim_happens(e, NULL, up ? oae_link_port_up : oae_link_port_down);
}

static unsigned int next_own(const struct sim_end *e)
{
	const struct path_end *pe = of(e);
	unsigned int i, best = OAE_PATHS_MAX;

	for (i = 1; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || !pe->ps.path[i].up || !pe->ps.path[i].proven ||
		    pe->line[i] == pe->line[OAE_PATH_OWN])
			continue;
		if (i == pe->ps.used)
			return i;
		if (best == OAE_PATHS_MAX || pe->ps.path[i].good > pe->ps.path[best].good)
			best = i;
	}
	return best;
}

static void move(struct oae_link *l, u64 now, struct oae_actions *a)
{
	(void)l;
	(void)now;
	become_own(whose, next_own(whose), a);
}

/* A port is released; if it is the own one, the link has another path. */
static void release(struct sim_end *e, unsigned int line)
{
	struct path_end *pe = of(e);

	if (!lines[line].there[e->who] || !e->tag || !pe->begun)
		return;
	if (pe->line[OAE_PATH_OWN] == line && next_own(e) == OAE_PATHS_MAX)
		return;
	sim_say(e->w, "%c: port %u is released", 'A' + e->who, line);
	lines[line].there[e->who] = false;
	moved++;
	whose = e;
	which = line;
	if (pe->line[OAE_PATH_OWN] == line)
		sim_happens(e, NULL, move);
	sim_happens(e, NULL, review);
}

static void rename_begins(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct path_end *pe = of(whose);
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != which)
			continue;
		if (pe->ps.used == i && pe->ps.path[i].proven)
			pe->was = lines[which].name[whose->who] + 1;
		oae_path_renamed(&pe->ps, i);
		if (pe->ps.used != i)
			continue;
		oae_path_failed(&pe->ps, i, l, now);
		oae_link_port_down(l, now, a);
	}
}

static void rename_ends(struct oae_link *l, u64 now, struct oae_actions *a)
{
	struct path_end *pe = of(whose);
	unsigned int i;

	rank(whose);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != which)
			continue;
		oae_path_renamed(&pe->ps, i);
		if (pe->ps.used == i)
			oae_link_port_down(l, now, a);
		if (pe->ps.path[i].up)
			send_probe(whose, i);
	}
	oae_link_go_on(l, now, a);
}

/* --- the users ------------------------------------------------------------------------ */

static struct sim_tx *now_at[2], *half_at[2];
static u64 think[2], half_till[2];
static u64 good_at[2];		/* since then all has been good, or something committed */
static u64 down_until;		/* what was posted before may have found no line */
static u64 slowest, slowest_seed;
static u64 both_at;		/* since then each end has a half */
static u64 good_from;		/* since then all has been good */
static bool swapping;		/* all the time */
static unsigned int idle;	/* how long an end does nothing, at most */

static void judge(struct sim *w, const struct sim_tx *tx)
{
	if (tx->lost || tx->outcome == OAE_COMMITTED)
		return;
	if (tx->err == OAE_E_DOWN && tx->posted_at < down_until)
		return;
	if (closing && (tx->err == OAE_E_SHUTDOWN || tx->err == OAE_E_PEER_CLOSED))
		return;
	if (crashed && tx->outcome == OAE_UNKNOWN)
		return;
	if (tx->kind == OAE_SWAP && tx->err == OAE_E_SIGNAL)
		return;
	sim_fail(w, "#%u is reversed: %s", (u32)tx->id, strerror(tx->err));
}

static void target(struct sim_end *e, unsigned int line)
{
	of(e)->next_line = line;
	of(e)->next_peer = lines[line].name[!e->who];
}

static void halves(struct sim *w, unsigned int i)
{
	struct sim_end *e = &w->end[i];

	if (half_at[i] && (half_at[i]->ended || half_at[i]->lost)) {
		judge(w, half_at[i]);
		half_at[i] = NULL;
	}
	if (half_at[i]) {
		if (w->now > half_till[i] && !half_at[!i]) {
			half_till[i] = w->now + 50 * SIM_MS;
			sim_cancel(e, half_at[i]);
		}
	} else if (e->tag && sim_chance(w, swapping ? 1024 : 100) && w->ntx < SIM_TXS - 40) {
		half_at[i] = sim_post(e, 16 + sim_upto(w, 8), 0, OAE_SWAP, 0);
		half_till[i] = w->now + (20 + sim_upto(w, 300)) * SIM_MS;
		both_at = w->now;
	}
}

static void users(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		struct sim_end *e = &w->end[i];

		while (e->unread)
			sim_read(e);
		if (now_at[i] && (now_at[i]->ended || now_at[i]->lost)) {
			judge(w, now_at[i]);
			if (now_at[i]->outcome == OAE_COMMITTED)
				good_at[i] = w->now;
			now_at[i] = NULL;
			think[i] = w->now + sim_rand(w) % (idle * SIM_MS);
		}
		if (swapping)
			halves(w, i);
		if (now_at[i] || w->now < think[i] || w->ntx > SIM_TXS - 20)
			continue;
		if (!swapping)
			halves(w, i);
		if (!e->tag && w->end[!i].tag)
			target(e, of(&w->end[!i])->line[OAE_PATH_OWN]);
		if (sim_chance(w, 200))
			now_at[i] = sim_post(e, 16 + sim_upto(w, 8), 0, OAE_VERB, 0);
		else
			now_at[i] = sim_post(e, 8 + sim_upto(w, 400), 150, OAE_MESSAGE,
					     sim_chance(w, 200) ? OAE_POST_CONFIRM : 0);
		if (good_at[i] < w->now)
			good_at[i] = w->now;
	}
}

static void lost_nothing(struct sim *w)
{
	if (!crashed && (w->notes[OAE_N_HELD_LOST] || w->notes[OAE_N_UNCONFIRMED] ||
			 w->notes[OAE_N_PEER_NEW]))
		sim_fail(w, "something is lost, and both ends live");
	if (w->notes[OAE_N_BROKEN] || w->notes[OAE_N_IMPOSSIBLE])
		sim_fail(w, "broken, or impossible");
}

/* Let all happen until then. */
static void live(struct sim *w, u64 until, bool good, u64 seed)
{
	unsigned int i;
	u64 at;

	while (!w->why[0] && w->now < until) {
		users(w);
		at = sim_next_event(w);
		for (i = 0; i < 2; i++)
			if (!now_at[i] && think[i] > w->now && think[i] < at)
				at = think[i];
		at = at < until ? at : until;
		sim_run(w, at > w->now ? at : w->now);
		w->steps = 0;
		lost_nothing(w);
		for (i = 0; i < 2 && good; i++) {
			if (!now_at[i] || now_at[i]->ended || w->now < good_at[i])
				continue;
			at = w->now - good_at[i];
			if (at > slowest) {
				slowest = at;
				slowest_seed = seed;
			}
			if (at > SOON)
				sim_fail(w, "%c: all is good, and nothing is committed for %llu ms",
					 'A' + i, (unsigned long long)(at / SIM_MS));
		}
		at = both_at > good_from ? both_at : good_from;
		if (!good)
			good_from = w->now;
		else if (half_at[A] && half_at[B] && !half_at[A]->ended && !half_at[B]->ended &&
			 w->now > at + SOON)
			sim_fail(w, "all is good, and two halves are not swapped");
	}
}

/* --- what happens ----------------------------------------------------------------------- */

static void knob(struct sim_end *e, unsigned int n)
{
	if (of(e)->knob == n)
		return;
	sim_say(e->w, "%c: paths %u", 'A' + e->who, n);
	of(e)->knob = n;
	e->cfg.paths = n > 1;
}

static void calm(struct sim *w)
{
	unsigned int line, i;

	for (line = 0; line < nlines; line++)
		for (i = 0; i < 2; i++) {
			lines[line].to[i] = (struct sim_faults){
				.delay = 10 * SIM_US * (1 + line),
			};
			w->faults[i] = lines[0].to[i];
			lines[line].there[i] = true;
			carrier(&w->end[i], line, true);
			whose = &w->end[i];
			which = line;
			if (w->end[i].tag && of(whose)->begun)
				sim_happens(whose, NULL, review);
		}
}

static bool all_proven(void)
{
	unsigned int who, i, n;

	for (who = 0; who < 2; who++) {
		for (i = 0, n = 0; ends[who].begun && i < OAE_PATHS_MAX; i++)
			n += ends[who].ps.path[i].there && ends[who].ps.path[i].proven &&
			     ends[who].ps.path[i].good;
		if (n < nlines)
			return false;
	}
	return true;
}

/* Both take as many paths as there are lines, and know them. */
static void know_all(struct sim *w, u64 seed)
{
	unsigned int i;
	u64 since = w->now;

	calm(w);
	for (i = 0; i < 2; i++) {
		knob(&w->end[i], OAE_PATHS_MAX);
		good_at[i] = w->now;
		/* What they say is said when they freeze. */
		if (w->end[i].tag)
			sim_happens(&w->end[i], "freezes", oae_link_port_down);
	}
	while (!w->why[0] && !all_proven() && w->ntx <= SIM_TXS - 20) {
		live(w, w->now + 10 * SIM_MS, true, seed);
		/* It was frozen, and said that it takes none. */
		for (i = 0; i < 2; i++)
			if (w->end[i].tag && !w->end[i].link.paths)
				sim_happens(&w->end[i], "freezes", oae_link_port_down);
		if (w->now > since + 4 * SOON)
			sim_fail(w, "a path that is good is not known to be");
	}
	down_until = w->now;
}

/* They carry frames, somehow. */
static void weather(struct sim *w)
{
	unsigned int line, i;

	for (line = 0; line < nlines; line++)
		for (i = 0; i < 2; i++) {
			struct sim_faults *to = &lines[line].to[i];

			to->delay = sim_upto(w, 2) ? 5 * SIM_US : sim_upto(w, 3) * SIM_MS;
			to->jitter = sim_upto(w, 2) ? 0 : 3 * SIM_MS;
			to->lose = sim_upto(w, 2) ? 0 : sim_upto(w, 150);
			to->dup = sim_upto(w, 2) ? 0 : 100;
			to->late = sim_upto(w, 2) ? 0 : 60;
			to->very_late = 400 * SIM_MS;
			w->faults[i] = lines[0].to[i];
		}
}

static unsigned int draw_knob(struct sim *w)
{
	return sim_upto(w, 2) ? 1 : 1 + sim_upto(w, 4);
}

static void rename_port(struct sim *w, u64 seed);

static void knobs(struct sim *w, u64 seed, bool ports)
{
	unsigned int n = 1 + sim_upto(w, 8), i, who, line;

	for (i = 0; i < n && !w->why[0]; i++) {
		who = sim_upto(w, 2);
		line = sim_upto(w, nlines);
		if (sim_upto(w, 3))
			weather(w);
		switch (sim_upto(w, ports ? 11 : 5)) {
		case 0:
			knob(&w->end[who], 8);
			break;
		case 1:
			knob(&w->end[A], draw_knob(w));
			knob(&w->end[B], draw_knob(w));
			break;
		case 5:
		case 6:
			carrier(&w->end[who], line, !lines[line].up[who]);
			break;
		case 7:
			lines[line].to[who].lose = 1024;
			w->faults[who] = lines[0].to[who];
			break;
		case 8:
			rename_port(w, seed);
			break;
		case 9:
			release(&w->end[who], line);
			live(w, w->now + sim_upto(w, 30) * SIM_MS, false, seed);
			lines[line].there[who] = true;
			whose = &w->end[who];
			which = line;
			sim_happens(whose, "port bound", review);
			break;
		case 10:
			closing = true;
			crashed = true;
			sim_close(&w->end[who]);
			break;
		default:
			knob(&w->end[who], draw_knob(w));
			break;
		}
		idle = 1 + sim_upto(w, 300);
		live(w, w->now + sim_rand(w) % ((sim_upto(w, 2) ? 400 : 20) * SIM_MS), !ports,
		     seed);
	}
}

static void restore(struct sim *w, u64 seed)
{
	unsigned int i;

	calm(w);
	for (i = 0; i < 2; i++)
		good_at[i] = w->now;
	live(w, w->now + 2 * SOON, true, seed);
	down_until = w->now;
}

static void ports(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2), line = sim_upto(w, nlines);

	if (sim_upto(w, 4))
		line = ends[who].line[OAE_PATH_OWN];
	release(&w->end[who], line);
	live(w, w->now + sim_upto(w, 300) * SIM_MS, true, seed);
	lines[line].there[who] = true;
	whose = &w->end[who];
	which = line;
	sim_happens(whose, "port bound", review);
}

static void rename_port(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2), line = sim_upto(w, nlines);
	struct sim_end *e = &w->end[who], *p = &w->end[!who];

	/* Otherwise this is a new end to its peer. */
	if (!e->tag || !p->tag || !of(e)->begun || of(e)->knob == 1 ||
	    of(p)->knob == 1 || !oae_link_knows_paths(&e->link) ||
	    !oae_link_knows_paths(&p->link))
		return;
	renamed++;
	whose = e;
	which = line;
	lines[line].device[who] = (lines[line].name[who] + 1) % NAMES;
	sim_happens(e, "address changes", rename_begins);
	live(w, w->now + sim_upto(w, 3) * 50 * SIM_US, false, seed);
	lines[line].name[who] = lines[line].device[who];
	whose = e;
	which = line;
	if (e->tag)
		sim_happens(e, "address has changed", rename_ends);
	good_at[A] = w->now;
	good_at[B] = w->now;
	live(w, w->now + sim_upto(w, 100) * SIM_MS, down_until != ~0ULL, seed);
}

static void reboot(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2);
	struct sim_end *e = &w->end[who], *p = &w->end[!who];

	down_until = ~0ULL;
	crashed = true;
	sim_crash(e);
	of(e)->begun = false;
	knob(e, draw_knob(w));
	target(e, p->tag ? of(p)->line[of(p)->begun ? of(p)->ps.used : 0] : 0);
	live(w, w->now + sim_upto(w, 3 * DEAD / SIM_MS) * SIM_MS, false, seed);
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i, j, kinds;

	sim_init(w, seed);
	w->trace = trace;
	w->now = 1000 * SIM_MS;
	nlines = 2 + seed % 3;
	w->vc = sim_upto(w, 8);
	neighbours = sim_upto(w, 4);
	swapping = !sim_upto(w, 4);
	both_at = 0;
	good_from = 0;
	kinds = sim_upto(w, 3);
	closing = false;
	crashed = false;
	idle = 100;
	memset(ends, 0, sizeof(ends));
	memset(lines, 0, sizeof(lines));
	for (i = 0; i < 2; i++) {
		now_at[i] = NULL;
		half_at[i] = NULL;
		think[i] = 0;
		w->end[i].cfg.paths = true;
		ends[i].knob = OAE_PATHS_MAX;
		ends[i].next_line = 0;
		w->end[i].cfg.window = sim_upto(w, 2) ? 1 : 4;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		for (j = 0; j < LINES_MAX; j++) {
			lines[j].up[i] = true;
			lines[j].there[i] = true;
			lines[j].higher = sim_upto(w, 2);
		}
	}
	down_until = 0;
	know_all(w, seed);
	for (i = 0; i < PHASES && !w->why[0]; i++) {
		switch (sim_upto(w, 8)) {
		case 0:
			know_all(w, seed);
			ports(w, seed);
			break;
		case 1:
			know_all(w, seed);
			rename_port(w, seed);
			break;
		case 2:
			know_all(w, seed);
			ports(w, seed);
			knobs(w, seed, false);
			break;
		case 3:
			if (kinds == 2) {
				reboot(w, seed);
				know_all(w, seed);
			}
			break;
		case 4:
			if (kinds >= 1) {
				down_until = ~0ULL;
				knobs(w, seed, true);
				restore(w, seed);
			}
			break;
		default:
			knobs(w, seed, false);
		}
	}
	if (w->why[0])
		return;
	calm(w);
	for (i = 0; i < 2; i++)
		good_at[i] = w->now;
	live(w, w->now + 100 * SIM_MS, true, seed);
	sim_settle(w, "in the end");
	for (i = 0; i < 2; i++)
		if (now_at[i] && !w->why[0])
			judge(w, now_at[i]);
	w->steps = 0;
	for (i = 0; i < 2; i++)
		if (!w->end[i].tag)
			target(&w->end[i], w->end[!i].tag ? ends[!i].line[OAE_PATH_OWN] : 0);
	if (!w->why[0])
		sim_prove_open(w);
	lost_nothing(w);
}

TEST(test_knob)
{
	u64 seeds = sim_env("OAE_KNOB_SEEDS", DEFAULT_SEEDS), only = sim_env("OAE_KNOB_RUN", 0);
	struct sim_sums sums;
	unsigned int failed = sim_seeds(&world, seeds, only, one_run, &sums);

	printf("%llu runs: %lu committed, %lu reversed, %lu unknown; %lu settled, %lu forgotten, %lu moved, %lu renamed, %lu conflicts, %lu second links, %lu times down, %.1f s\n",
	       (unsigned long long)sums.runs, sums.ended[OAE_COMMITTED],
	       sums.ended[OAE_REVERSED], sums.ended[OAE_UNKNOWN], settled, shrunk, moved,
	       renamed, conflicts, seconds, sums.down, sums.seconds);
	printf("a commit after at most %.1f ms (seed %llu)\n", (double)slowest / SIM_MS,
	       (unsigned long long)slowest_seed);
	assert_int_equal(failed, 0);
}

UNIT_MAIN("the knob paths, in time")
