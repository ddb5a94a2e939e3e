// SPDX-License-Identifier: GPL-2.0
/* What happens when an event does. */
#include "model.h"

/* What the inbox has free, bytes: a transaction of several slices costs more than one of one. */
static u32 room(const struct m_world *w, const struct m_end *e)
{
	u32 each = M_LEN + w->sc->slices * OAE_SLICE_COST;

	each = (each + OAE_GRANT_UNIT - 1) / OAE_GRANT_UNIT * OAE_GRANT_UNIT;
	if (!w->sc->rcvbuf)
		return ~0U;
	return e->unread < w->sc->rcvbuf ? (w->sc->rcvbuf - e->unread) * each : 0;
}

/* An event ends: a link that is not OPEN may have asked. */
static void over(struct m_world *w, unsigned int who, struct h_event *ev)
{
	struct m_end *e = &w->end[who];

	if (w->sc->ways && e->tag && oae_link_state(&e->link) < OAE_OPEN)
		oae_way_asked(&e->way, ev->a);
	h_finish(ev);
	/* The next frame would tell the link, whatever it is. */
	if (e->tag)
		oae_credit_free(&e->link, room(w, e));
}

static void new_post(struct m_world *w, unsigned int who, u8 kind, u8 flags)
{
	struct m_end *e = &w->end[who];
	struct m_tx *tx = &w->tx[w->ntx++];
	struct oae_actions a;
	struct h_event ev;
	struct oae_post p;

	memset(tx, 0, sizeof(*tx));
	tx->from = who;
	tx->kind = kind;
	tx->flags = flags;
	tx->len = m_len(w->sc, w->ntx);
	tx->n = kind == OAE_MESSAGE ? w->sc->slices : 1;
	if (tx->len < M_LEN)
		tx->n--;
	tx->at_link = true;
	w->posted[who]++;
	m_event(&ev, w, who, &a);
	if (!e->tag) {
		m_make_tag(w, who, 0, 0);
		oae_link_open(&e->link, M_NOW, &a);
	}
	m_fill_post(w, w->ntx, &p);
	if (oae_link_post(&e->link, &p, M_NOW, &a))
		m_fail(w, w->ntx, "wants a post, and refuses it");
	over(w, who, &ev);
}

static void open_link(struct m_world *w, unsigned int who, bool want)
{
	struct oae_actions a;
	struct h_event ev;

	m_event(&ev, w, who, &a);
	if (!w->end[who].tag) {
		m_make_tag(w, who, 0, 0);
		oae_link_open(&w->end[who].link, M_NOW, &a);
	}
	if (want)
		oae_link_want(&w->end[who].link, true);
	over(w, who, &ev);
}

static void take_back(struct m_world *w, unsigned int who, u8 id)
{
	struct oae_actions a;
	struct h_event ev;

	m_event(&ev, w, who, &a);
	h_cancel(&ev, id, OAE_E_SIGNAL);
}

/* A frame for no tag (4.6), or by a line that leads to none. */
static void stranger(struct m_world *w, unsigned int who,
		     const struct m_frame *m, bool refused)
{
	const struct oae_asker asker = {
		.cookie = { m_cookie(m->src, m->line) }, .shut = refused,
	};
	const struct oae_ways p = m_ways(&w->end[who]);
	struct oae_admission v;
	struct oae_actions a;
	struct oae_frame f;
	struct h_event ev;
	struct m_frame r;

	m_frame_of(m, w->sc, who, &f);
	oae_admission(&asker, &f, &v);
	if (v.verdict == OAE_ADMIT_TAG) {
		/* It would be a link of its own, by the name of this line. */
		if (w->end[who].tag)
			return;
		m_make_tag(w, who, f.flags, m->line);
		m_event(&ev, w, who, &a);
		oae_link_accept(&w->end[who].link, &f, room(w, &w->end[who]), M_NOW, &a);
		over(w, who, &ev);
		return;
	}
	if (v.verdict == OAE_ADMIT_DROP)
		return;
	memset(&r, 0, sizeof(r));
	r.opcode = v.answer.opcode;
	r.reason = v.answer.reason;
	r.src = v.answer.src_ltag;
	r.dst = v.answer.dst_ltag;
	r.line = m->line;
	if (oae_ways_back(&p, &f) == OAE_GO_VIA)
		r.flags = OAE_F_VIA;
	/* Its seq no rule looks at. */
	m_to_wire(w, !who, &r);
}

/*
 * Somebody says SYNC in the peer's name, naming nothing, or a cookie that was for
 * another: a frame that costs nothing, and makes no tag.
 */
static void forged(struct m_world *w, unsigned int who, unsigned int old)
{
	struct m_frame f;

	memset(&f, 0, sizeof(f));
	f.opcode = OAE_SYNC;
	f.src = m_random();
	f.inc = m_random();
	f.mtu = M_MTU_WIDE;
	if (old)
		f.dst = M_COOKIE | w->end[!who].link.ltag;
	stranger(w, who, &f, false);
	if (w->end[who].tag)
		m_fail(w, 0, "4.6: a forged SYNC makes a tag");
}

/* An answer to what was asked before the last question about its number. */
static void is_old(struct oae_link *l, const struct oae_frame *f)
{
	l->number.sent = 1;
	oae_lane(l, f->seq)->pn = 1;
}

static void deliver(struct m_world *w, unsigned int to, struct m_frame m, bool old)
{
	struct m_end *e = &w->end[to];
	struct oae_actions a;
	struct oae_frame f;
	struct h_event ev;
	u32 free = room(w, e);
	bool known;

	m_frame_of(&m, w->sc, to, &f);
	if (old)
		is_old(&e->link, &f);
	if (w->sc->ways && !m_let_in(e, &f))
		return;
	if (w->sc->lines && e->unplugged >> m.line & 1)
		return;
	if (!e->tag || (w->sc->lines && !m_path_is(e, m.line))) {
		stranger(w, to, &m, false);
		return;
	}
	/* Too long for this port. */
	if (e->narrow && m_frame_long(&m))
		return;
	known = w->end[!to].tag && w->end[!to].link.peer.inc == e->link.inc;
	m_event(&ev, w, to, &a);
	ev.f = &f;
	ev.raw = &m;
	if (w->sc->lines && !m_path_heard(e, &ev, m.line)) {
		over(w, to, &ev);
		return;
	}
	if (m.opcode == OAE_OFFER && oae_link_lacks_for(&e->link, &f))
		h_lend(&ev);
	if (!w->sc->ways || m_way_heard(w, to, &ev))
		oae_conn_rcv(&ev.conn, &f, free, M_NOW, &a);
	over(w, to, &ev);
	if (!e->tag && known && f.opcode == OAE_CLOSE && f.reason)
		m_fail(w, 0, "4.6: turned away by an end that has the link");
}

/*
 * Who says that it is a gateway says SYNC in the peer's name, to a link that goes
 * direct. As long as the way is not lost nothing comes of it.
 */
static void impostor(struct m_world *w, unsigned int who, u32 names)
{
	const struct m_end *e = &w->end[who];
	u32 own = e->link.ltag, peer = e->link.peer.ltag;
	struct m_frame f;

	memset(&f, 0, sizeof(f));
	f.opcode = OAE_SYNC;
	f.flags = OAE_F_VIA;
	f.src = m_random();
	f.inc = m_random();
	f.mtu = M_MTU_WIDE;
	f.dst = names;
	w->impostor = true;
	deliver(w, who, f, false);
	w->impostor = false;
	if (e->way.via || e->link.ltag != own || e->link.peer.ltag != peer)
		m_fail(w, 0, "4.8: whoever says that it is a gateway is believed, and the peer is heard direct");
}

/*
 * Somebody who hears what goes by a line, and knows what this end knows of the peer, says
 * there that he is the peer, in another incarnation.
 */
static void clone(struct m_world *w, unsigned int who, unsigned int line)
{
	const struct oae_link *l = &w->end[who].link;
	const struct m_frame f = {
		.opcode = OAE_SYNC, .line = line, .mtu = M_MTU_WIDE,
		.caps = OAE_CAPS_PATHS | (l->heard.window - 1),
		.src = m_random(), .dst = l->ltag, .inc = m_random(), .peer_inc = l->inc,
	};

	deliver(w, who, f, false);
}

/* A frame comes; once the peer is heard direct, an impostor is tried on a copy. */
static void receive(struct m_world *w, unsigned int to, struct m_frame m, bool old)
{
	struct m_end *e = &w->end[to];
	bool peer = w->sc->ways && w->sc->forge && e->tag &&
		    m.dst == e->link.ltag && !(m.flags & OAE_F_VIA);
	static struct m_world v;
	FILE *story = m_story;

	deliver(w, to, m, old);
	/* To an end that has probed, only a frame of this run is an answer. */
	if (!peer || !e->tag || m_way_late(&e->link) || w->why)
		return;
	v = *w;
	m_story = NULL;
	impostor(&v, to, 0);
	m_story = story;
	if (v.why)
		m_fail(w, v.why_id, v.why);
}

static void take(struct m_chan *c, unsigned int i)
{
	memmove(&c->f[i], &c->f[i + 1], (--c->n - i) * sizeof(c->f[0]));
}

/* No answer came, for so long that the timer asks. */
static void no_answer(struct oae_link *l)
{
	oae_first_lane(l)->at = M_NOW - M_AGE;
	l->timer.moved_at = M_NOW - M_AGE;
	l->done_at = M_NOW - M_AGE;
	l->timer.answered_at = M_NOW - M_AGE;
	l->timer.ask_at = M_NOW - M_AGE;
}

/* Nothing that is held was committed, for so long that it is reflected again. */
static void no_commit(struct oae_link *l)
{
	l->timer.held_at = M_NOW - M_AGE;
	l->timer.reflect_at = M_NOW - M_AGE;
}

/* So often, and in vain. */
static void no_progress(struct oae_link *l)
{
	no_answer(l);
	no_commit(l);
	l->timer.asks = M_VAIN;
	l->timer.reflects = M_VAIN;
}

/* Let just this time be up, and have the timer look. */
static void timer(struct m_world *w, unsigned int who, enum m_what what, unsigned int arg)
{
	struct oae_link *l = &w->end[who].link;
	bool closing = l->closing, wanted = l->wanted;
	struct oae_actions a;
	struct h_event ev;
	u64 inc = l->inc;

	switch (what) {
	case M_ASK:
		/* By all paths, or not. */
		l->timer.asks = arg;
		no_answer(l);
		break;
	case M_REFLECT:
		no_commit(l);
		break;
	case M_WAITED:
		l->mtu.too_long_at = M_NOW - M_AGE;
		break;
	case M_STALL:
		no_progress(l);
		break;
	case M_DEAD:
		if (l->asked_at)
			l->asked_at = M_NOW - M_AGE;
		else
			l->timer.silent_at = M_NOW - M_AGE;
		break;
	case M_FORGET:
		l->down_at = M_NOW - M_AGE;
		break;
	case M_RETRY:
		l->park_at = M_NOW;
		break;
	case M_RETRY_HALF:
		l->swaps->again_at = M_NOW;
		break;
	case M_SETTLED:
		l->settle_until = M_NOW;
		break;
	default:
		l->again_at = M_NOW;
		if (!m_close_out(l))
			l->heard_at = M_NOW - M_AGE;
		l->active_at = M_NOW - M_AGE;
		/* For the second time. */
		if ((w->sc->ways || w->sc->lines) && l->state == OAE_OPEN && l->asked_at)
			l->asked_at = M_NOW - M_LATE;
	}
	m_event(&ev, w, who, &a);
	if (w->sc->ways)
		m_way_timer(&w->end[who], &a);
	oae_link_timer(l, M_NOW, &a);
	over(w, who, &ev);
	if (!w->end[who].tag && !closing)
		m_forgot(w, who, inc);
	if (!w->end[who].tag && !closing && wanted)
		m_fail(w, 0, "4.4: a wanted link ends, and nobody has ended it");
}

/* Cookies that an end gave out before it crashed are good for nothing. */
static void void_cookies(struct m_world *w, unsigned int who)
{
	unsigned int i;

	if (w->end[!who].link.peer.ltag & M_COOKIE)
		w->end[!who].link.peer.ltag = m_random();
	for (i = 0; i < w->to[who].n; i++)
		if (w->to[who].f[i].dst & M_COOKIE)
			w->to[who].f[i].dst = 0;
	for (i = 0; i < w->to[!who].n; i++)
		if (w->to[!who].f[i].src & M_COOKIE)
			w->to[!who].f[i].src = m_random();
}

/* A machine stops: its users and its memory with it. */
static void crash(struct m_world *w, unsigned int who)
{
	struct h_event ev;
	unsigned int i;

	m_event(&ev, w, who, NULL);
	w->crash--;
	for (i = 0; i < w->ntx; i++)
		if (w->tx[i].from == who && w->tx[i].at_link) {
			w->tx[i].at_link = false;
			w->tx[i].lost = true;
		}
	while (w->end[who].queue.first) {
		h_id id;

		h_dequeue(&ev, &w->end[who].queue, &id);
		w->tx[id - 1].lost = true;
	}
	w->end[who].unread = 0;
	w->end[who].word = 0;
	w->end[who].computed = 0;
	w->end[who].word_busy = false;
	w->end[who].word_wanted = false;
	memset(&w->end[who].gw, 0, sizeof(w->end[who].gw));
	void_cookies(w, who);
	m_path_crashed(&w->end[!who]);
	if (w->end[who].tag)
		h_died(&ev);
}

/* The event is an answer, whatever it is: what is sent again goes by the path in use. */
static void hint(struct h_event *ev, unsigned int arg)
{
	struct oae_link *l = &ev->end->link;
	struct oae_lane *n = oae_lane(l, l->tx + 1 + (arg >> 1));

	if (ev->conn.paths)
		ev->conn.back = ev->conn.paths->used;
	if (arg & 1) {
		oae_lane_due(l, n, OAE_DUE_ASK);
	} else {
		n->rest |= oae_slice_highest(n->sent);
		oae_lane_due(l, n, OAE_DUE_REST);
	}
	oae_finish(l, M_NOW, ev->a);
}

static void other_event(struct m_world *w, unsigned int who, enum m_what what,
			unsigned int arg)
{
	struct m_end *e = &w->end[who];
	struct oae_actions a;
	struct h_event ev;

	m_event(&ev, w, who, &a);
	switch (what) {
	case M_READ:
		e->unread--;
		if (e->tag)
			oae_link_made_room(&e->link, room(w, e), M_NOW, &a);
		break;
	case M_RESERVE:
		w->conflict--;
		e->word_wanted = true;
		break;
	case M_FREE:
		/* It was a verb like the others. */
		e->word_busy = false;
		e->word++;
		if (e->tag)
			oae_link_ready(&e->link, M_NOW, &a);
		break;
	case M_PORT:
		oae_link_port_down(&e->link, M_NOW, &a);
		break;
	case M_KILL:
		w->kill--;
		oae_link_kill(&e->link, OAE_E_SHUTDOWN, M_NOW, &a);
		break;
	case M_CLOSE:
		w->close--;
		oae_link_close(&e->link, M_NOW, &a);
		break;
	case M_SETTLE:
		oae_link_settle(&e->link, M_NOW + M_AGE, M_NOW, &a);
		break;
	case M_RENAME:
		w->rename--;
		e->renamed = true;
		/* Settled, it leaves nothing behind. */
		if (!w->sc->settle)
			h_new_end(&ev);
		oae_link_renamed(&e->link, M_NOW, &a);
		break;
	case M_HINT:
		hint(&ev, arg);
		break;
	case M_MORE:
		oae_link_pump(&e->link, M_NOW, &a);
		break;
	case M_FOUND:
		/* What a search finds in this weather is so, else it is a hint. */
		if (!arg && !w->weather)
			w->cut--;
		if (oae_mtu_found(&e->link, arg ? e->link.mtu.here : M_MTU_NARROW, M_NOW, &a))
			oae_freeze(&e->link, OAE_N_PORT, M_NOW, &a);
		oae_finish(&e->link, M_NOW, &a);
		break;
	case M_PATH_BACK:
		oae_conn_back(&ev.conn, M_NOW, &a);
		break;
	case M_PATH_LEFT:
		m_path_left(&ev);
		break;
	case M_PATH_PROBED:
	case M_PATH_ANSWERED:
	case M_PATH_SAYS:
		m_path_rcv(w, &ev, what, arg);
		break;
	case M_CARRIER:
		if (!(e->unplugged >> arg & 1))
			w->carrier--;
		m_path_carrier(e, &ev, arg);
		break;
	case M_WINDOW:
		w->shrink--;
		e->single = !e->single;
		m_fix(w);
		break;
	case M_MTU:
		w->mtu--;
		e->narrow = !e->narrow;
		if (e->tag)
			oae_link_set_mtu(&e->link, m_mtu(e), M_NOW, &a);
		break;
	default:
		break;
	}
	over(w, who, &ev);
}

/**
 * m_step() - let an event happen
 * @w: the world
 * @act: one of those that m_enabled() gave for it
 *
 * A breach of a promise is then in @w->why.
 */
void m_step(struct m_world *w, u16 act)
{
	unsigned int who = M_ACT_END(act), arg = M_ACT_ARG(act);
	struct m_frame f;

	m_remember(w);
	w->weather = M_ACT_WEATHER(act);
	switch (M_ACT_WHAT(act)) {
	case M_DELIVER:
	case M_OLD:
		f = w->to[who].f[arg];
		take(&w->to[who], arg);
		receive(w, who, f, M_ACT_WHAT(act) == M_OLD);
		break;
	case M_FORGE:
		if (w->sc->lines)
			clone(w, who, arg);
		else if (w->end[who].tag)
			impostor(w, who, arg ? m_random() : 0);
		else
			forged(w, who, arg);
		break;
	case M_HELLO:
		m_gateway(&w->end[who], 0);
		break;
	case M_LEAVE:
		w->leave--;
		m_gateway(&w->end[who], OAE_HELLO_LEAVING);
		break;
	case M_REPEAT:
		receive(w, who, w->to[who].f[arg], false);
		break;
	case M_LOSE:
		take(&w->to[who], arg);
		break;
	case M_REFUSE:
		f = w->to[who].f[arg];
		take(&w->to[who], arg);
		w->refuse--;
		stranger(w, who, &f, true);
		break;
	case M_POST:
		new_post(w, who, OAE_MESSAGE,
			 arg < strlen(w->sc->posts[who]) &&
			 w->sc->posts[who][arg] == M_CONFIRM ?
				 OAE_POST_CONFIRM : 0);
		break;
	case M_POST_EXPRESS:
		new_post(w, who, OAE_MESSAGE, OAE_POST_EXPRESS);
		break;
	case M_OPEN:
		w->posted[who]++;
		open_link(w, who, false);
		break;
	case M_WANT:
		w->posted[who]++;
		open_link(w, who, true);
		break;
	case M_UNWANT:
		w->end[who].wanted = false;
		oae_link_want(&w->end[who].link, false);
		break;
	case M_POST_HALF:
		new_post(w, who, OAE_SWAP, 0);
		break;
	case M_POST_VERB:
		new_post(w, who, OAE_VERB, 0);
		break;
	case M_CANCEL:
		take_back(w, who, arg);
		break;
	case M_WAITED:
	case M_ASK:
	case M_REFLECT:
	case M_STALL:
	case M_AGAIN:
	case M_DEAD:
	case M_FORGET:
	case M_RETRY:
	case M_RETRY_HALF:
	case M_SETTLED:
		timer(w, who, M_ACT_WHAT(act), arg);
		break;
	case M_BOTH_AGAIN:
		timer(w, A, M_AGAIN, 0);
		timer(w, B, M_AGAIN, 0);
		break;
	case M_CRASH:
		crash(w, who);
		break;
	case M_PATH_LOOK:
	case M_PATH_SILENT:
		m_path_look(w, who, M_ACT_WHAT(act), arg);
		break;
	default:
		other_event(w, who, M_ACT_WHAT(act), arg);
	}
	/* Who waits for the word has it once no verb has. */
	for (who = A; who <= B; who++)
		if (w->end[who].word_wanted && !w->end[who].computed) {
			w->end[who].word_wanted = false;
			w->end[who].word_busy = true;
		}
	m_check(w);
}
