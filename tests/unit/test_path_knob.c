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
 * G1 to G3. sim_path.c does what the shell does with paths. Here is who is let in, and what is
 * done to ports (modoae/tag/peer.c, alias.c, pathlook.c).
 *
 *	OAE_KNOB_SEEDS	how many runs (default 400)
 *	OAE_KNOB_RUN	only this one, with its last events
 */
#include "unit.h"
#include "sim_path.h"
#include "../../modoae/link/admission.h"

#define DEFAULT_SEEDS	400
#define PHASES		8
#define KEEPALIVE	(100 * SIM_MS)
#define DEAD		(500 * SIM_MS)
#define SOON		(2 * DEAD + 3 * KEEPALIVE) /* until a commit, if all lines are good */
#define COOKIE_NS	(200 * SIM_MS)		/* as in sim_shell.c */

static struct sim world;
static bool neighbours;		/* they are heard */
static bool closing;		/* an end has closed the link, perhaps while it was down */
static bool crashed;		/* an end is another incarnation, so what it had is lost */
static u64 quiet[2];		/* until then nobody is put off */
static unsigned long settled, shrunk, moved, renamed, conflicts, seconds;

/* --- admission --------------------------------------------------------------------- */

static u32 cookie(const struct sim_end *e, u32 src_ltag, u64 when)
{
	u64 in[3] = { e->cookie_key, src_ltag, when };

	return oae_cookie(oae_xxh64(in, sizeof(in), 0));
}

/* A path_try(): 1 proven, 0 it is asked, -1 none. */
static int try_path(struct sim_end *e, unsigned int line, u8 peer)
{
	struct sim_paths *pe = sim_paths_of(e);
	int i;

	if (!oae_link_knows_paths(&e->link))
		return oae_link_state(&e->link) < OAE_OPEN ? 0 : -1;
	i = sim_path_of(e, line, peer);
	if (i == OAE_PATHS_MAX)
		i = sim_path_add(e, line, peer, false, false);
	if (i < 0 || oae_path_nobody(&pe->ps, i, &e->link, e->w->now))
		return -1;
	if (pe->ps.path[i].proven)
		return 1;
	if (oae_path_due(&pe->ps, i, &e->link, e->w->now))
		sim_path_probe(e, i);
	return 0;
}

/* path_claimed(): the path, -1 it is put off, -2 it is another's. */
static int claimed(struct sim_end *e, unsigned int line, u8 peer, const struct oae_frame *f)
{
	bool pair = f->sync.inc == e->link.peer.inc && f->sync.peer_inc == e->link.inc;
	struct sim_paths *pe = sim_paths_of(e);
	int i;

	sim_paths_begin(e);
	if (!oae_path_claim(&pe->ps, &e->link, f->sync.inc, f->sync.peer_inc)) {
		if (e->link.peer.inc)
			return try_path(e, line, peer) < 0 && f->sync.inc != e->link.peer.inc ?
				       -2 : -1;
		oae_path_claimed(&pe->ps, f);
		return e->link.down ? -2 : -1;
	}
	i = sim_path_of(e, line, peer);
	if (i == OAE_PATHS_MAX)
		i = sim_path_add(e, line, peer, true, pair);
	if (i < 0)
		return -1;
	if (f->sync.peer_inc == e->link.inc &&
	    f->sync.inc == (e->link.peer.inc ? e->link.peer.inc : f->sync.inc))
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
	struct sim_paths *pe = sim_paths_of(e);
	struct oae_admission v;
	int i = -2;

	oae_admission(&who, f, &v);
	if (v.verdict == OAE_ADMIT_TAG) {
		if (!e->tag) {
			pe->next_line = line;
			pe->next_peer = peer;
			return true;
		}
		if (sim_path_of(e, line, peer) != OAE_PATHS_MAX ||
		    f->sync.inc == e->link.peer.inc ||
		    (pe->knob > 1 && neighbours && f->sync.caps & OAE_CAPS_PATHS))
			i = claimed(e, line, peer, f);
		if (i >= 0) {
			pe->arrived = i;
			pe->believed = true;
			return true;
		}
		if (i == -2) {
			seconds++;
			if (f->sync.inc == e->link.peer.inc)
				sim_fail(e->w, "%c: a second link is made, by %u", 'A' + e->who,
					 line);
			return false;
		}
		conflicts++;
		if (e->w->now < quiet[e->who])
			return false;
		quiet[e->who] = e->w->now + SIM_MS;
		oae_admission_conflict(&who, f, &v);
	}
	if (v.verdict == OAE_ADMIT_ANSWER || v.verdict == OAE_ADMIT_EXPECTED)
		sim_line_put(e, line, peer, &v.answer, NULL, 0);
	return false;
}

bool sim_path_before(struct sim_end *e, const struct sim_pkt *p, const struct oae_frame *f)
{
	unsigned int line = p->by_line & 3, i;
	u8 peer = p->by_line >> 2 & 7, to = p->by_line >> 5;
	struct sim_paths *pe = sim_paths_of(e);

	if (!sim_line_up(e, line))
		return false;
	/* A frame for the address of before may be on its way still. */
	if (to != sim_lines[line].device[e->who] &&
	    (to != sim_lines[line].name[e->who] || sim_upto(e->w, 2)))
		return false;
	if (!sim_path_came(e, line, peer, f))
		return false;
	i = e->tag ? sim_path_of(e, line, peer) : OAE_PATHS_MAX;
	if (i == OAE_PATHS_MAX || (pe->begun && f->opcode == OAE_SYNC &&
				   oae_path_is_strange(&pe->ps, i, &e->link, f)))
		return admit(e, line, peer, f);
	pe->arrived = i;
	return true;
}

/* --- the shell: which paths there are -------------------------------------------------- */

static void become_own(struct sim_end *e, unsigned int i)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct h_event *ev = &e->w->ev;

	sim_say(e->w, "  %c: own path is that by %u", 'A' + e->who, pe->line[i]);
	pe->line[OAE_PATH_OWN] = pe->line[i];
	pe->peer[OAE_PATH_OWN] = pe->peer[i];
	sim_path_rank(e);
	oae_conn_move(&ev->conn, i, ev->now, ev->a);
}

static bool settle(struct sim_end *e, struct oae_actions *a)
{
	struct sim_paths *pe = sim_paths_of(e);

	if (!pe->ps.agreed) {
		if (oae_link_senior(&e->link))
			oae_link_ask(&e->link, a);
		return false;
	}
	if (pe->ps.used != OAE_PATH_OWN)
		become_own(e, pe->ps.used);
	settled++;
	return true;
}

void sim_paths_shrink(struct sim_end *e, struct oae_actions *a)
{
	struct sim_paths *pe = sim_paths_of(e);
	bool takes = oae_link_takes_paths(&e->link);
	unsigned int i, most = takes ? pe->knob : 1;

	if (most == 1 && takes) {
		sim_say(e->w, "  %c: freezes, to have one path", 'A' + e->who);
		oae_link_port_down(&e->link, e->w->now, a);
		return;
	}
	if (!pe->begun || sim_paths_count(pe) <= most)
		return;
	if (most == 1 && !settle(e, a))
		return;
	for (i = OAE_PATHS_MAX - 1; i > OAE_PATH_OWN && sim_paths_count(pe) > most; i--) {
		if (i == pe->ps.used || !pe->ps.path[i].there ||
		    (most > 1 && oae_path_busy(&pe->ps, i)))
			continue;
		sim_say(e->w, "  %c: forgets path by %u", 'A' + e->who, pe->line[i]);
		oae_path_del(&pe->ps, i);
		shrunk++;
	}
}

/* --- ports ----------------------------------------------------------------------------- */

static unsigned int next_own(const struct sim_end *e)
{
	const struct sim_paths *pe = sim_paths_of(e);
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

/* A port is released; if it is the own one, the link has another path. */
static void release(struct sim_end *e, unsigned int line)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct h_event *ev;

	if (!sim_lines[line].there[e->who] || !e->tag || !pe->begun)
		return;
	if (pe->line[OAE_PATH_OWN] == line && next_own(e) == OAE_PATHS_MAX)
		return;
	sim_say(e->w, "%c: port %u is released", 'A' + e->who, line);
	sim_lines[line].there[e->who] = false;
	moved++;
	if (pe->line[OAE_PATH_OWN] == line) {
		ev = sim_begin(e);
		become_own(e, next_own(e));
		sim_finish(ev);
	}
	sim_line_review(e, line, NULL);
}

static void rename_begins(struct sim_end *e, unsigned int line)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct h_event *ev = sim_begin(e);
	unsigned int i;

	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != line)
			continue;
		if (pe->ps.used == i && pe->ps.path[i].proven)
			pe->was = sim_lines[line].name[e->who] + 1;
		oae_conn_renaming(&ev->conn, i, ev->now, ev->a);
	}
	sim_finish(ev);
}

static void rename_ends(struct sim_end *e, unsigned int line)
{
	struct sim_paths *pe = sim_paths_of(e);
	struct h_event *ev = sim_begin(e);
	unsigned int i;

	sim_path_rank(e);
	for (i = 0; i < OAE_PATHS_MAX; i++) {
		if (!pe->ps.path[i].there || pe->line[i] != line)
			continue;
		oae_conn_renamed(&ev->conn, i, ev->now, ev->a);
		if (pe->ps.path[i].up)
			sim_path_probe(e, i);
	}
	oae_conn_reviewed(&ev->conn, false, ev->now, ev->a);
	oae_link_go_on(&e->link, ev->now, ev->a);
	sim_finish(ev);
}

/* --- the users ------------------------------------------------------------------------ */

static struct sim_tx *half_at[2];
static u64 half_till[2];
static u64 down_until;		/* what was posted before may have found no line */
static u64 both_at;		/* since then each end has a half */
static u64 good_from;		/* since then all has been good */
static bool swapping;		/* all the time */
static unsigned int idle;	/* how long an end does nothing, at most */

void sim_user_judge(struct sim *w, const struct sim_tx *tx)
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
	sim_paths_of(e)->next_line = line;
	sim_paths_of(e)->next_peer = sim_lines[line].name[!e->who];
}

static void halves(struct sim *w, unsigned int i)
{
	struct sim_end *e = &w->end[i];

	if (half_at[i] && (half_at[i]->ended || half_at[i]->lost)) {
		sim_user_judge(w, half_at[i]);
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

void sim_users_act(struct sim *w)
{
	unsigned int i;

	for (i = 0; i < 2 && !w->why[0]; i++) {
		struct sim_end *e = &w->end[i];

		sim_user_ended(w, i, idle * SIM_MS);
		if (swapping)
			halves(w, i);
		if (sim_user_is_busy(w, i))
			continue;
		if (!swapping)
			halves(w, i);
		if (!e->tag && w->end[!i].tag)
			target(e, sim_paths[!i].line[OAE_PATH_OWN]);
		sim_user_posts(w, i);
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

void sim_users_look(struct sim *w, u64 soon)
{
	u64 at = both_at > good_from ? both_at : good_from;

	lost_nothing(w);
	if (!soon)
		good_from = w->now;
	else if (half_at[A] && half_at[B] && !half_at[A]->ended && !half_at[B]->ended &&
		 w->now > at + soon)
		sim_fail(w, "all is good, and two halves are not swapped");
}

static void live(struct sim *w, u64 until, bool good, u64 seed)
{
	sim_users_live(w, until, good ? SOON : 0, seed);
}

/* --- what happens ----------------------------------------------------------------------- */

static void knob(struct sim_end *e, unsigned int n)
{
	if (sim_paths_of(e)->knob == n)
		return;
	sim_say(e->w, "%c: paths %u", 'A' + e->who, n);
	sim_paths_of(e)->knob = n;
	e->cfg.paths = n > 1;
}

static void calm(struct sim *w)
{
	unsigned int line;

	for (line = 0; line < sim_nlines; line++)
		sim_line_calm(w, line);
}

/* A port is bound again. */
static void bind_again(struct sim_end *e, unsigned int line)
{
	sim_lines[line].there[e->who] = true;
	sim_line_review(e, line, "port bound");
}

/* Both take as many paths as there are lines, and know them. */
static void know_all(struct sim *w, u64 seed)
{
	unsigned int i;
	u64 since = w->now;

	calm(w);
	for (i = 0; i < 2; i++) {
		knob(&w->end[i], OAE_PATHS_MAX);
		sim_users[i].good_at = w->now;
		/* What they say is said when they freeze. */
		if (w->end[i].tag)
			sim_happens(&w->end[i], "freezes", oae_link_port_down);
	}
	while (!w->why[0] && !sim_paths_proven() && w->ntx <= SIM_TXS - 20) {
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

	for (line = 0; line < sim_nlines; line++)
		for (i = 0; i < 2; i++) {
			struct sim_faults *to = &sim_lines[line].to[i];

			to->delay = sim_upto(w, 2) ? 5 * SIM_US : sim_upto(w, 3) * SIM_MS;
			to->jitter = sim_upto(w, 2) ? 0 : 3 * SIM_MS;
			to->lose = sim_upto(w, 2) ? 0 : sim_upto(w, 150);
			to->dup = sim_upto(w, 2) ? 0 : 100;
			to->late = sim_upto(w, 2) ? 0 : 60;
			to->very_late = 400 * SIM_MS;
			w->faults[i] = sim_lines[0].to[i];
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
		line = sim_upto(w, sim_nlines);
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
			sim_line_carrier(&w->end[who], line, !sim_lines[line].up[who]);
			break;
		case 7:
			sim_lines[line].to[who].lose = 1024;
			w->faults[who] = sim_lines[0].to[who];
			break;
		case 8:
			rename_port(w, seed);
			break;
		case 9:
			release(&w->end[who], line);
			live(w, w->now + sim_upto(w, 30) * SIM_MS, false, seed);
			bind_again(&w->end[who], line);
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
		sim_users[i].good_at = w->now;
	live(w, w->now + 2 * SOON, true, seed);
	down_until = w->now;
}

static void ports(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2), line = sim_upto(w, sim_nlines);

	if (sim_upto(w, 4))
		line = sim_paths[who].line[OAE_PATH_OWN];
	release(&w->end[who], line);
	live(w, w->now + sim_upto(w, 300) * SIM_MS, true, seed);
	bind_again(&w->end[who], line);
}

static void rename_port(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2), line = sim_upto(w, sim_nlines);
	struct sim_end *e = &w->end[who], *p = &w->end[!who];

	/* Otherwise this is a new end to its peer. */
	if (!e->tag || !p->tag || !sim_paths_of(e)->begun || sim_paths_of(e)->knob == 1 ||
	    sim_paths_of(p)->knob == 1 || !oae_link_knows_paths(&e->link) ||
	    !oae_link_knows_paths(&p->link))
		return;
	renamed++;
	sim_lines[line].device[who] = (sim_lines[line].name[who] + 1) % SIM_NAMES;
	sim_say(w, "%c: address changes", 'A' + e->who);
	rename_begins(e, line);
	live(w, w->now + sim_upto(w, 3) * 50 * SIM_US, false, seed);
	sim_lines[line].name[who] = sim_lines[line].device[who];
	sim_say(w, "%c: address has changed", 'A' + who);
	if (e->tag)
		rename_ends(e, line);
	sim_users[A].good_at = w->now;
	sim_users[B].good_at = w->now;
	live(w, w->now + sim_upto(w, 100) * SIM_MS, down_until != ~0ULL, seed);
}

static void reboot(struct sim *w, u64 seed)
{
	unsigned int who = sim_upto(w, 2);
	struct sim_end *e = &w->end[who];
	const struct sim_paths *peer = &sim_paths[!who];

	down_until = ~0ULL;
	crashed = true;
	sim_crash(e);
	sim_paths_of(e)->begun = false;
	knob(e, draw_knob(w));
	target(e, w->end[!who].tag ? peer->line[peer->begun ? peer->ps.used : 0] : 0);
	live(w, w->now + sim_upto(w, 3 * DEAD / SIM_MS) * SIM_MS, false, seed);
}

static void one_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i, j, kinds;

	sim_init(w, seed);
	w->trace = trace;
	w->now = 1000 * SIM_MS;
	sim_lines_init(2 + seed % 3);
	w->vc = sim_upto(w, 8);
	neighbours = sim_upto(w, 4);
	swapping = !sim_upto(w, 4);
	both_at = 0;
	good_from = 0;
	kinds = sim_upto(w, 3);
	closing = false;
	crashed = false;
	idle = 100;
	memset(quiet, 0, sizeof(quiet));
	for (i = 0; i < 2; i++) {
		half_at[i] = NULL;
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = sim_upto(w, 2) ? 1 : 4;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
		for (j = 0; j < SIM_LINES; j++)
			sim_lines[j].higher = sim_upto(w, 2);
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
		sim_users[i].good_at = w->now;
	live(w, w->now + 100 * SIM_MS, true, seed);
	sim_settle(w, "in the end");
	for (i = 0; i < 2; i++)
		if (sim_users[i].at && !w->why[0])
			sim_user_judge(w, sim_users[i].at);
	w->steps = 0;
	for (i = 0; i < 2; i++)
		if (!w->end[i].tag)
			target(&w->end[i],
			       w->end[!i].tag ? sim_paths[!i].line[OAE_PATH_OWN] : 0);
	if (!w->why[0])
		sim_prove_open(w);
	lost_nothing(w);
}

/* --- an address that changes while the peer is not reached ------------------------------ */

/* A link by as many lines, which both ends know, and nothing is under way. */
static void known_link(struct sim *w, u64 seed, unsigned int nlines)
{
	unsigned int i;

	sim_init(w, seed);
	w->now = 1000 * SIM_MS;
	w->wild = true;
	sim_lines_init(nlines);
	neighbours = true;
	memset(quiet, 0, sizeof(quiet));
	for (i = 0; i < 2; i++) {
		w->end[i].cfg.paths = true;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
	}
	for (i = 0; i < nlines; i++)
		sim_line_calm(w, i);
	sim_post(&w->end[A], 40, 40, OAE_MESSAGE, 0);
	sim_run(w, w->now + 10 * KEEPALIVE);
	sim_read(&w->end[B]);
	assert_true(sim_paths_proven());
}

/* A has committed, B does not hear of that, and both are down; then A's address is another one. */
static struct sim_tx *renamed_in_doubt(struct sim *w, u64 seed)
{
	struct sim_tx *tx;

	known_link(w, seed, 1);
	tx = sim_post(&w->end[A], 40, 40, OAE_MESSAGE, 0);
	while (!tx->ended)
		sim_event(w);
	assert_int_equal(tx->outcome, OAE_COMMITTED);
	sim_lines[0].to[B].lose = 1024;
	while (w->to[B].n)
		sim_take(w, B, 0);
	sim_run(w, w->now + 3 * DEAD + 3 * KEEPALIVE);
	assert_true(w->end[A].link.down && w->end[B].link.down);
	assert_false(tx->delivered);
	sim_lines[0].to[A].lose = 1024;
	sim_lines[0].device[A] = 1;
	rename_begins(&w->end[A], 0);
	sim_lines[0].name[A] = 1;
	rename_ends(&w->end[A], 0);
	sim_run(w, w->now + 2 * KEEPALIVE);
	/* B knows nothing of the new address: A is the first to ask. */
	sim_run(w, w->end[A].timer_at - 1);
	return tx;
}

/* Both ends live, so what was committed is delivered. */
TEST(test_address_changes_in_doubt)
{
	const struct sim_tx *tx;
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		tx = renamed_in_doubt(&world, seed);
		sim_line_calm(&world, 0);
		sim_run(&world, world.now + 4 * KEEPALIVE);
		assert_string_equal(world.why, "");
		assert_int_equal(world.notes[OAE_N_BROKEN], 0);
		assert_true(tx->delivered);
		sim_settle(&world, "in the end");
		sim_prove_open(&world);
		assert_string_equal(world.why, "");
	}
}

/* The peer has died meanwhile. Its next incarnation is found, and finds this end. */
TEST(test_address_changes_and_peer_dies)
{
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		renamed_in_doubt(&world, seed);
		oae_link_want(&world.end[A].link, true);
		sim_crash(&world.end[B]);
		sim_line_calm(&world, 0);
		if (seed & 1) {
			target(&world.end[B], 0);
			sim_post(&world.end[B], 40, 40, OAE_MESSAGE, 0);
		}
		sim_run(&world, world.now + 4 * KEEPALIVE);
		assert_int_equal(oae_link_state(&world.end[A].link), OAE_OPEN);
		assert_int_equal(oae_link_state(&world.end[B].link), OAE_OPEN);
		sim_settle(&world, "in the end");
		sim_prove_open(&world);
		assert_string_equal(world.why, "");
	}
}

/*
 * An end that has met nobody yet names whoever asks it from elsewhere. It has delivered nothing of
 * that end, wherever the numbers of that begin.
 */
TEST(test_claimed_has_delivered_nothing)
{
	struct sim_tx *tx;
	u64 seed;

	for (seed = 1; seed <= 20; seed++) {
		known_link(&world, seed, 2);
		sim_line_carrier(&world.end[A], 0, false);
		sim_crash(&world.end[B]);
		sim_paths[B].begun = false;
		sim_lines[1].to[A].lose = 1024;
		sim_run(&world, world.now + 2 * DEAD);
		assert_true(world.end[A].link.down);
		/* B asks by one line, where it is not heard, and A by the other. */
		target(&world.end[B], 0);
		tx = sim_post(&world.end[B], 40, 40, OAE_MESSAGE, 0);
		sim_lines[1].to[A].lose = 0;
		sim_run(&world, world.now + 2 * KEEPALIVE);
		sim_line_carrier(&world.end[A], 0, true);
		sim_run(&world, world.now + 4 * KEEPALIVE);
		assert_string_equal(world.why, "");
		assert_int_equal(world.notes[OAE_N_BROKEN], 0);
		assert_true(tx->delivered);
		sim_settle(&world, "in the end");
		sim_prove_open(&world);
		assert_string_equal(world.why, "");
	}
}

/* --- addresses that change, and ends that die, while little gets through -------------------- */

static bool ends_die;

static void cut_line(struct sim *w, unsigned int line)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct sim_faults *to = &sim_lines[line].to[i];

		to->lose = sim_upto(w, 4) ? 1024 : sim_upto(w, 700);
		to->late = sim_upto(w, 3) ? 0 : 100;
		to->dup = sim_upto(w, 3) ? 0 : 100;
		to->very_late = 700 * SIM_MS;
		w->faults[i] = sim_lines[0].to[i];
	}
	if (!sim_upto(w, 3))
		sim_line_carrier(&w->end[sim_upto(w, 2)], line, !sim_upto(w, 3));
}

static void one_dies(struct sim *w)
{
	unsigned int who = sim_upto(w, 2);
	const struct sim_paths *peer = &sim_paths[!who];

	crashed = true;
	sim_crash(&w->end[who]);
	sim_paths[who].begun = false;
	target(&w->end[who], w->end[!who].tag ? peer->line[peer->begun ? peer->ps.used : 0] : 0);
	if (!w->end[!who].tag)
		target(&w->end[!who], 0);
}

static void happens(struct sim *w, u64 seed)
{
	switch (sim_upto(w, 6)) {
	case 0:
		cut_line(w, sim_upto(w, sim_nlines));
		break;
	case 1:
		if (ends_die && sim_upto(w, 2))
			one_dies(w);
		break;
	case 2:
		live(w, w->now + sim_upto(w, 700) * SIM_MS, false, seed);
		break;
	default:
		rename_port(w, seed);
	}
	live(w, w->now + sim_upto(w, sim_upto(w, 2) ? 300 : 5) * SIM_MS, false, seed);
}

static void addresses_run(struct sim *w, u64 seed, bool trace)
{
	unsigned int i, n;

	sim_init(w, seed);
	w->trace = trace;
	w->wild = true;
	w->now = 1000 * SIM_MS;
	sim_lines_init(1 + seed % 3);
	neighbours = sim_upto(w, 2);
	swapping = !sim_upto(w, 4);
	both_at = 0;
	good_from = 0;
	closing = false;
	crashed = false;
	idle = 100;
	down_until = 0;
	memset(quiet, 0, sizeof(quiet));
	for (i = 0; i < 2; i++) {
		half_at[i] = NULL;
		w->end[i].cfg.paths = true;
		w->end[i].cfg.window = sim_upto(w, 2) ? 1 : 4;
		w->end[i].cfg.keepalive = KEEPALIVE;
		w->end[i].cfg.dead = DEAD;
	}
	know_all(w, seed);
	while (!w->why[0] && w->ntx < SIM_TXS / 2) {
		idle = 1 + sim_upto(w, 300);
		down_until = ~0ULL;
		live(w, w->now + sim_upto(w, 200) * 10 * SIM_US, false, seed);
		for (i = 0; i < sim_nlines; i++)
			cut_line(w, i);
		for (n = 1 + sim_upto(w, 6); n && !w->why[0]; n--)
			happens(w, seed);
		calm(w);
		live(w, w->now + 4 * DEAD, false, seed);
		for (i = 0; i < 2; i++)
			sim_users[i].good_at = w->now;
		live(w, w->now + SOON, true, seed);
	}
	if (w->why[0])
		return;
	sim_settle(w, "in the end");
	w->steps = 0;
	if (!w->why[0])
		sim_prove_open(w);
	lost_nothing(w);
}

TEST(test_addresses)
{
	u64 seeds = sim_env("OAE_KNOB_SEEDS", DEFAULT_SEEDS) / 2, only = sim_env("OAE_KNOB_RUN", 0);
	struct sim_sums sums;

	for (ends_die = false;; ends_die = true) {
		assert_int_equal(sim_seeds(&world, seeds, only, addresses_run, &sums), 0);
		if (ends_die)
			break;
	}
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
	printf("a commit after at most %.1f ms (seed %llu)\n",
	       (double)sim_path_sums.slowest / SIM_MS,
	       (unsigned long long)sim_path_sums.slowest_seed);
	assert_int_equal(failed, 0);
}

UNIT_MAIN("the knob paths, in time")
