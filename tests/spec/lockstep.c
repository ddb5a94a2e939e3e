// SPDX-License-Identifier: GPL-2.0
/*
 * Specification and core side by side. Reads what spin says when it runs
 * doc/spec/link.pml at random (-DTRACE), an event after the other:
 *
 *	EV A rcv 6 0 1 2 0 0 1 1 0 2 2 0 0 0 0 0	what happens at an end
 *	DO A send 7 0 2 1 0 0 1 1 0 2		and what comes of it, in order
 *	DO A deliver 1
 *	AT A 3 2 1 ... .		where that leaves the end
 *
 * gives the same event to a compiled link, and compares what it sends,
 * delivers, ends and remembers. The numbers that the specification draws for
 * ltags and incarnations are the link's random numbers.
 *
 * At the first difference it says what either has, and exits 1. At the end it
 * prints how often each sort of event and effect occurred: "count NAME N".
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "../../modoae/link/link_int.h"

#define NOW		1000000000000ULL	/* always; the timers' times move */
#define LONG_AGO	(NOW / 2)
#define MS		1000000ULL

#define PN		1000	/* of the last question of each lane, before each event */
#define PASSED		3	/* later numbers that were heard: a frame was lost */

#define WINDOW		4	/* that of the specification, when it is run at random */
#define PLACES		8	/* as many are lent, so that some are never used */

/* What the specification calls 1 of what is granted, bytes; a message costs COST of that. */
#define UNIT		512
#define COST		2
#define MESSAGE_LEN	(COST * UNIT - OAE_SLICE_COST)

#define LINE		160
#define EFFECTS		16
#define DRAWS		8
#define STORY		12	/* events before the difference to show */
#define COUNTS		64

/* What comes of an event: a line each, sends apart, for they come last. */
struct effects {
	unsigned int ndo, nsend;
	char did[EFFECTS][LINE];
	char sent[EFFECTS][LINE];
};

static struct oae_link link_of[2];
static struct oae_swaps swaps_of[2];
static struct oae_pair place[2][PLACES], *table[2][PLACES];
static u64 held_id[2][PLACES];	/* what is kept of a number, by its place */
static int others, verbs;	/* each end's halves come after these; the first are verbs */
static int lanes;		/* the most that the specification has */
static int window;		/* what the next ltag says, 0 not drawn */
static struct oae_link_cfg cfg;

static u32 draws[DRAWS];
static unsigned int ndraws, drawn;

static char story[STORY][LINE];
static unsigned long events, compared;

static struct {
	char name[48];
	unsigned long n;
} counts[COUNTS];

static void count(const char *name)
{
	unsigned int i;

	for (i = 0; i < COUNTS - 1 && counts[i].n; i++)
		if (!strcmp(counts[i].name, name))
			break;
	snprintf(counts[i].name, sizeof(counts[i].name), "%s", name);
	counts[i].n++;
}

__attribute__((format(printf, 1, 2), noreturn))
static void differs(const char *fmt, ...)
{
	unsigned long i = events > STORY ? events - STORY : 0;
	va_list ap;

	printf("the specification and the core differ at event %lu\n", events);
	for (; i < events; i++)
		printf("    %s\n", story[i % STORY]);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

static u32 next_draw(void)
{
	if (drawn == ndraws)
		differs("the core draws a number, the specification has none");
	return draws[drawn++];
}

/* --- contents, frames ------------------------------------------------------- */

static u8 kind_of(int id)
{
	return !id ? OAE_VOID : id > others ? OAE_SWAP : id <= verbs ? OAE_VERB : OAE_MESSAGE;
}

/* Bytes behind the body of a REFLECT: a half is as long as any content. */
static u16 reply_len(u8 kind)
{
	return kind == OAE_MESSAGE || kind == OAE_VOID ? 0 : sizeof(u64);
}

static u16 len_of(u8 kind)
{
	return kind == OAE_VOID ? 0 : kind == OAE_MESSAGE ? MESSAGE_LEN : sizeof(u64);
}

/* Content 0 is nothing. */
static u64 slice_hash(u64 id)
{
	return oae_slice_hash(&id, id ? sizeof(id) : 0, 0);
}

static u64 digest(u64 id)
{
	u64 hash = slice_hash(id);

	return oae_whole_digest(&hash, 1);
}

/* A frame as both sides write it; flag, one and two are what the opcode has. */
struct said {
	int op, flag, src, dst, tx, rx, seq, one, two, grant;
};

/* Of the content the frame has the kind only. */
static bool says_kind(int op)
{
	return op == OAE_ASK || op == OAE_ACK || op == OAE_REFUSE;
}

static void say_frame(char *line, const struct said *s)
{
	int n = snprintf(line, LINE, "send %s%s ltags %d>%d tx %d rx %d",
			 oae_opcode_name(s->op), s->flag ? "!" : "", s->src,
			 s->dst, s->tx, s->rx);

	if (s->op <= OAE_SYNC_CHK)
		snprintf(line + n, LINE - n, " window %d inc %d knows %d grant %d", s->seq,
			 s->one, s->two, s->grant);
	else
		snprintf(line + n, LINE - n, " seq %d %s %d, %d grant %d", s->seq,
			 says_kind(s->op) ? "kind" : "content", s->one, s->two, s->grant);
}

static const u16 reasons[] = { OAE_R_BUSY, OAE_R_NO_HALF, OAE_R_CONFLICT, OAE_R_RANGE };

#define REASONS		((int)(sizeof(reasons) / sizeof(reasons[0])))

/* What is reflected of a number that is delivered is an express, whatever was heard since. */
static u8 reflected_kind(int seq, int rx, int id)
{
	return rx >= seq ? OAE_MESSAGE : kind_of(id);
}

static void to_frame(const struct said *s, struct oae_frame *f)
{
	memset(f, 0, sizeof(*f));
	f->opcode = s->op;
	f->hdr_len = OAE_HDR_LEN;
	f->src_ltag = s->src;
	f->dst_ltag = s->dst;
	f->tx = s->tx;
	f->rx = s->rx;
	f->seq = s->seq;
	f->grant = s->grant * UNIT / OAE_GRANT_UNIT;
	switch (s->op) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		f->sync.inc = s->one;
		f->sync.peer_inc = s->two;
		f->sync.caps = s->seq - 1;
		f->seq = 0;
		f->sync.max_len = cfg.max_len;
		f->sync.mtu = 1500;
		break;
	case OAE_OFFER:
		f->flags = OAE_F_LAST | (s->flag ? OAE_F_EXPRESS : 0);
		f->marks = OAE_M_ANSWER;
		f->kind = kind_of(s->one);
		f->length = len_of(f->kind);
		f->payload_hash = slice_hash(s->one);
		f->first = s->one;
		break;
	case OAE_ASK:
		f->flags = s->flag ? OAE_F_EXPRESS : 0;
		f->kind = kind_of(s->one);
		break;
	case OAE_ACK:
		f->kind = kind_of(s->one);
		break;
	case OAE_REFLECT:
		f->kind = reflected_kind(s->seq, s->rx, s->one);
		f->length = OAE_REFLECT_LEN + reply_len(f->kind);
		f->reflect.digest = digest(s->one);
		f->reflect.first = s->one;
		break;
	case OAE_CLOSE:
		f->flags = s->flag ? OAE_F_LAST : 0;
		break;
	case OAE_COMMIT:
		f->flags = s->flag ? OAE_F_WANT_DONE : 0;
		f->marks = s->one ? OAE_M_BLOCKED : 0;
		break;
	case OAE_REFUSE:
		f->kind = kind_of(s->one);
		f->reason = reasons[s->two];
		break;
	}
}

/* The newest question was heard; and of those before it all, or none. */
static void says_heard(struct oae_frame *f, bool arrived)
{
	if (!oae_is_answer(f->opcode))
		return;
	f->ack = PN;
	f->map = arrived ? ~0U : 0;
}

static void from_send(const struct oae_send *send, struct said *s)
{
	const struct oae_frame *f = &send->frame;
	u8 flags = f->flags;

	*s = (struct said){ f->opcode, 0, f->src_ltag, f->dst_ltag, f->tx, f->rx, f->seq, 0, 0,
			    f->grant * OAE_GRANT_UNIT / UNIT };
	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		s->one = f->sync.inc;
		s->two = f->sync.peer_inc;
		s->seq = f->sync.caps + 1;
		if (f->sync.start || f->sync.mtu != 1500 ||
		    f->sync.max_len != cfg.max_len)
			s->one = -1;
		break;
	case OAE_OFFER:
		s->flag = !!(flags & OAE_F_EXPRESS);
		flags &= ~OAE_F_EXPRESS;
		if (f->kind == OAE_VOID)
			/* The shell has nothing to add. */
			flags ^= OAE_F_LAST;
		s->one = (uintptr_t)send->handle;
		if (send->slices != 1 || send->nslices != 1 || f->kind != kind_of(s->one) ||
		    (f->kind == OAE_VOID && f->marks != OAE_M_ANSWER))
			s->one = -1;
		break;
	case OAE_ASK:
		s->flag = !!(flags & OAE_F_EXPRESS);
		flags &= ~OAE_F_EXPRESS;
		s->one = f->kind;
		break;
	case OAE_ACK:
		s->one = f->kind;
		s->two = f->have ? -1 : 0;
		break;
	case OAE_REFLECT:
		s->one = f->reflect.first;
		if (f->reflect.digest != digest(f->reflect.first) ||
		    f->kind != reflected_kind(f->seq, f->rx, s->one) ||
		    (f->length ? f->length - OAE_REFLECT_LEN : 0) !=
			    reply_len(f->kind))
			s->one = -1;
		if (f->kind == OAE_SWAP)
			s->two = (uintptr_t)send->handle;
		break;
	case OAE_CLOSE:
		s->flag = !!(flags & OAE_F_LAST);
		flags &= ~OAE_F_LAST;
		break;
	case OAE_COMMIT:
		s->flag = !!(flags & OAE_F_WANT_DONE);
		flags &= ~OAE_F_WANT_DONE;
		s->one = !!(f->marks & OAE_M_BLOCKED);
		break;
	}
	if (f->opcode == OAE_REFUSE) {
		s->one = f->kind;
		while (s->two < REASONS && f->reason != reasons[s->two])
			s->two++;
	} else if (f->reason) {
		s->flag = -1;
	}
	/* No other flag, and no kind where it says nothing. */
	if (flags || (f->kind && f->opcode != OAE_OFFER && f->opcode != OAE_REFLECT &&
		      !says_kind(f->opcode)))
		s->flag = -1;
}

/* --- what the core does ------------------------------------------------------ */

/* The event under way. */
static struct {
	int who;
	const struct said *s;
	struct effects *x;
	u16 reason;		/* why a verb is refused */
} now_at;

__attribute__((format(printf, 2, 3)))
static void did(struct effects *x, const char *fmt, ...)
{
	va_list ap;

	if (x->ndo == EFFECTS)
		differs("too many effects");
	va_start(ap, fmt);
	vsnprintf(x->did[x->ndo++], LINE, fmt, ap);
	va_end(ap);
}

static const char *outcome_name(unsigned int outcome)
{
	static const char *const names[] = { "COMMITTED", "REVERSED", "UNKNOWN" };

	return outcome < OAE_OUTCOME_END ? names[outcome] : "?";
}

static int kept(int who, u32 seq)
{
	return held_id[who][seq % PLACES];
}

static void one_op(int who, const struct oae_op *op, const struct said *s,
		   struct effects *x)
{
	switch (op->type) {
	case OAE_OP_KEEP:
		held_id[who][op->seq % PLACES] = s->one;
		break;
	case OAE_OP_DELIVER:
		did(x, "deliver %d", kept(who, op->seq));
		break;
	case OAE_OP_RESULT:
		if (kind_of((uintptr_t)op->handle) == OAE_SWAP)
			did(x, "swap %d %d", (int)(uintptr_t)op->handle, s->two);
		else
			did(x, "answer %d", (int)(uintptr_t)op->handle);
		break;
	case OAE_OP_TAKE:
		did(x, "swap %d %d", (int)(uintptr_t)op->handle, kept(who, op->seq));
		break;
	case OAE_OP_APPLY:
		did(x, "apply %d", kept(who, op->seq));
		break;
	case OAE_OP_COMPLETE:
		did(x, "end %d %s", (int)(uintptr_t)op->handle,
		    outcome_name(op->outcome));
		break;
	case OAE_OP_BACK:
		did(x, "back %d", (int)(uintptr_t)op->handle);
		break;
	case OAE_OP_CONFIRMED:
		did(x, "confirmed");
		break;
	case OAE_OP_GONE:
		did(x, "gone");
		break;
	case OAE_OP_NOTE:
		if (op->note == OAE_N_BROKEN)
			did(x, "broken");
		else if (op->note == OAE_N_IMPOSSIBLE)
			did(x, "impossible");
		break;
	}
}

/* Carry the ops out that there are: at the end, or when there are too many. */
static void carry_out(struct oae_actions *a)
{
	unsigned int i;

	for (i = 0; i < a->nops; i++)
		one_op(now_at.who, &a->op[i], now_at.s, now_at.x);
	a->nops = 0;
}

/* Each transaction is one slice, and none is offered as what it was not. */
static void kept_hashes(struct oae_actions *a, u32 seq, unsigned int n, u64 *hash)
{
	(void)a;
	(void)seq;
	(void)n;
	(void)hash;
}

static void post_hashes(struct oae_actions *a, const struct oae_post *p, u64 *hash)
{
	(void)a;
	(void)p;
	(void)hash;
}

static void collect(struct oae_actions *a, struct effects *x)
{
	struct said sent;
	unsigned int i;

	if (a->overflow)
		differs("the core's actions overflow");
	carry_out(a);
	for (i = 0; i < a->nsends; i++) {
		from_send(&a->send[i], &sent);
		say_frame(x->sent[x->nsend++], &sent);
	}
}

/* Since when all that is under way has waited. */
static void set_since(struct oae_link *l, u64 at)
{
	unsigned int i;

	l->offer.at = at;
	l->hold.at = at;
	l->timer.moved_at = at;
	l->timer.answered_at = at;
	l->timer.ask_at = at;
	l->timer.held_at = at;
	l->timer.reflect_at = at;
	l->done_at = at;
	for (i = 0; i < l->npairs; i++) {
		l->pair[i]->lane.at = at;
		l->pair[i]->hold.at = at;
	}
}

/*
 * The specification always uses the whole window, and chance says of what lane a frame was lost:
 * so many numbers behind it were heard.
 */
static void set_window(struct oae_link *l, int lost)
{
	struct oae_lane *n;
	u32 i;

	l->cong.cwnd = OAE_WINDOW_MAX * OAE_MAX_SLICES;
	l->cong.ssthresh = l->cong.cwnd;
	l->number.reorder = false;
	l->cong.undo = 0;
	l->number.sent = PN;
	l->offer.pn = PN;
	l->offer.asked = 0;
	for (i = 0; i < l->npairs; i++) {
		n = &l->pair[(l->tx + 1 + i - l->base) % l->npairs]->lane;
		n->pn = i + 1 == (u32)lost ? PN - PASSED : PN;
		n->asked = 0;
	}
}

/* A machine begins. */
static void begin(int who)
{
	struct oae_link *l = &link_of[who];
	struct oae_actions a = { 0 };
	unsigned int i;

	oae_link_init(l, &cfg, 0, 1500, 0);
	oae_link_rank(l, who == 1);
	memset(&swaps_of[who], 0, sizeof(swaps_of[who]));
	oae_link_lend_swaps(l, &swaps_of[who]);
	if (lanes == 1)
		return;
	memset(place[who], 0, sizeof(place[who]));
	for (i = 0; i < PLACES; i++)
		table[who][i] = &place[who][i];
	oae_link_lend(l, table[who], PLACES, NOW, &a);
}

/* Nothing is due; then the event makes the one thing due that it is about. */
static void set_times(struct oae_link *l, const char *event)
{
	set_since(l, NOW);
	l->timer.asks = 0;
	l->timer.reflects = 0;
	l->timer.grown_at = NOW;
	l->timer.silent_at = 0;
	l->heard_at = NOW;
	l->down_at = NOW;
	l->park_at = 2 * NOW;
	l->again_at = 2 * NOW;
	l->swaps->again_at = 2 * NOW;
	l->asked_at = l->asked_at ? NOW : 0;

	if (!strcmp(event, "stall")) {
		/* It has asked for the last time. */
		set_since(l, LONG_AGO);
		l->timer.asks = 6;
		l->timer.reflects = 8;
	} else if (!strcmp(event, "ask")) {
		set_since(l, LONG_AGO);
		l->timer.held_at = NOW;
	} else if (!strcmp(event, "reflect")) {
		l->timer.held_at = LONG_AGO;
	} else if (!strcmp(event, "sync") || !strcmp(event, "close_again")) {
		l->again_at = NOW;
	} else if (!strcmp(event, "retry")) {
		l->park_at = NOW;
	} else if (!strcmp(event, "retry_half")) {
		l->swaps->again_at = NOW;
	} else if (!strcmp(event, "probe")) {
		l->again_at = NOW;
		l->heard_at = LONG_AGO;
	} else if (!strcmp(event, "unclosed")) {
		l->active_at = LONG_AGO;
	} else if (!strcmp(event, "dead")) {
		if (l->asked_at)
			l->asked_at = LONG_AGO;
		else
			l->timer.silent_at = LONG_AGO;
	} else if (!strcmp(event, "forget")) {
		l->down_at = LONG_AGO;
	} else {
		differs("no such event: %s", event);
	}
}

static void want(struct oae_link *l, const int *arg, struct oae_actions *a)
{
	struct oae_post p = {
		.handle = (void *)(uintptr_t)arg[0],
		.digest = digest(arg[0]),
		.first = arg[0],
		.len = len_of(kind_of(arg[0])),
		.slice_max = len_of(kind_of(arg[0])),
		.nslices = 1,
		.kind = kind_of(arg[0]),
		.reply = kind_of(arg[0]) == OAE_VERB ? sizeof(u64) : 0,
		.flags = (arg[1] ? OAE_POST_EXPRESS : 0) |
			 (arg[2] ? OAE_POST_CONFIRM : 0),
	};
	int err;

	if (l->state == OAE_CLOSED)
		oae_link_open(l, NOW, a);
	err = oae_link_post(l, &p, NOW, a);
	if (err)
		differs("post\n    specification: 0\n    core:          %d", err);
}

/* What chance has decided, behind the frame that arrives. */
enum {
	ARG_ROOM = sizeof(struct said) / sizeof(int),
	ARG_LOST,
	ARG_ARRIVED,
	ARG_UNASKED,
	ARG_FOR_GOOD,
	ARG_FOR_NOW,
};

/* A frame arrives. If the end refuses for now what that offers, it settles for so long. */
static void arrive(struct oae_link *l, const struct said *s, const int *arg,
		   struct oae_actions *a)
{
	struct oae_frame f;
	bool settles = arg[ARG_FOR_NOW] && kind_of(s->one) == OAE_MESSAGE;
	bool said = l->credit.said_blocked;
	bool awaits = l->await_done && oae_dist(l->done_seq, l->peer.rx) >= 0;

	to_frame(s, &f);
	says_heard(&f, arg[ARG_ARRIVED]);
	if (arg[ARG_UNASKED])
		f.marks = 0;
	now_at.reason = arg[ARG_FOR_GOOD] ? OAE_R_RANGE : arg[ARG_FOR_NOW] ? OAE_R_CONFLICT : 0;
	l->settle_until = settles ? 2 * NOW : 0;
	oae_link_rcv(l, &f, arg[ARG_ROOM] * UNIT, NOW, a);
	if (!l->settle_until)
		return;
	/* It offers nothing meanwhile, and so it was not blocked for as long. */
	l->settle_until = 0;
	if (said && l->state == OAE_OPEN) {
		l->credit.said_blocked = true;
		l->await_done |= awaits;
	}
	oae_link_pump(l, NOW, a);
}

static u16 compute(struct oae_actions *a, u32 seq, u16 *reply)
{
	(void)a;
	(void)seq;
	*reply = sizeof(u64);
	return now_at.reason;
}

static void happen(int who, const char *event, const int *arg,
		   struct effects *x)
{
	struct oae_link *l = &link_of[who];
	struct said s = { 0 };
	struct oae_actions a;
	struct oae_frame f;
	int err, lost;

	memset(&a, 0xa5, sizeof(a));
	a.nops = 0;
	a.done = 0;
	a.nsends = 0;
	a.overflow = false;
	a.full = carry_out;
	a.hashes = kept_hashes;
	a.post_hashes = post_hashes;
	a.verb = compute;
	a.told = NULL;
	now_at.who = who;
	now_at.s = &s;
	now_at.x = x;
	cfg.window = window ? window : l->window;
	if (!strcmp(event, "rcv") || !strcmp(event, "accept"))
		memcpy(&s, arg, sizeof(s));
	/* What a frame is about was heard. */
	lost = strcmp(event, "rcv") || l->tx + arg[ARG_LOST] == (u32)s.seq ? 0 : arg[ARG_LOST];
	set_window(l, lost);
	if (!strcmp(event, "rcv")) {
		arrive(l, &s, arg, &a);
	} else if (!strcmp(event, "accept")) {
		to_frame(&s, &f);
		oae_link_accept(l, &f, arg[ARG_ROOM] * UNIT, NOW, &a);
	} else if (!strcmp(event, "post")) {
		want(l, arg, &a);
	} else if (!strcmp(event, "cancel")) {
		err = oae_link_cancel(l, (void *)(uintptr_t)arg[0],
				      OAE_E_SIGNAL, NOW, &a);
		if (err == -EINPROGRESS)
			err = 0;
		if (err)
			differs("cancel\n    specification: 0\n    core:          %d",
				err);
	} else if (!strcmp(event, "room")) {
		oae_link_made_room(l, arg[0] * UNIT, NOW, &a);
	} else if (!strcmp(event, "ready")) {
		oae_link_ready(l, NOW, &a);
	} else if (!strcmp(event, "more")) {
		oae_link_pump(l, NOW, &a);
	} else if (!strcmp(event, "port")) {
		oae_link_port_down(l, NOW, &a);
	} else if (!strcmp(event, "close")) {
		oae_link_close(l, NOW, &a);
	} else if (!strcmp(event, "crash")) {
		begin(who);
	} else {
		set_times(l, event);
		oae_link_timer(l, NOW, &a);
	}
	collect(&a, x);
}

/* --- what the specification says ------------------------------------------- */

static void heard_draw(u32 n)
{
	if (ndraws == DRAWS)
		differs("too many draws");
	draws[ndraws++] = n;
}

/* A line "DO": an effect, or a number that was drawn. */
static void heard_effect(const char *what, const int *arg, struct effects *x)
{
	char name[48];
	struct said s;

	if (!strcmp(what, "ltag")) {
		heard_draw(arg[0]);
	} else if (!strcmp(what, "inc")) {
		/* Of an incarnation's two halves. */
		heard_draw(0);
		heard_draw(arg[0]);
	} else if (!strcmp(what, "window")) {
		window = arg[0];
	} else if (!strcmp(what, "send")) {
		memcpy(&s, arg, sizeof(s));
		if (x->nsend == EFFECTS)
			differs("too many sends");
		if (says_kind(s.op))
			s.one = kind_of(s.one);
		say_frame(x->sent[x->nsend++], &s);
		snprintf(name, sizeof(name), "send-%s%s", oae_opcode_name(s.op),
			 s.op == OAE_COMMIT && s.one ? "-BLOCKED" : "");
		count(name);
	} else if (!strcmp(what, "deliver")) {
		did(x, "deliver %d", arg[0]);
		count(what);
	} else if (!strcmp(what, "swap")) {
		did(x, "swap %d %d", arg[0], arg[1]);
		count(what);
	} else if (!strcmp(what, "answer") || !strcmp(what, "apply") ||
		   !strcmp(what, "back")) {
		did(x, "%s %d", what, arg[0]);
		count(what);
	} else if (!strcmp(what, "end")) {
		did(x, "end %d %s", arg[0], outcome_name(arg[1]));
		count(outcome_name(arg[1]));
	} else {
		did(x, "%s", what);
		count(what);
	}
}

/* In the order of say_state() of link.pml: the link's, then each lane's. */
static const char *const state_field[] = {
	"state", "ltag", "peer_ltag", "inc", "peer_inc", "heard.inc", "tx", "rx",
	"down", "asked", "closing", "close_sent", "peer_closing", "peer_rx",
	"await_done", "last_express", "unseen", "ready_due", "half.state", "half",
	"crossed", "turn", "naside", "cancelled", "next", "window", "win", "nlanes",
	"given", "more", "granted", "grant", "charged", "blocked", "said_blocked", "credit_due",
};

static const char *const lane_field[] = {
	"offer.state", "offered", "recalled", "due", "offer.ready", "hold.state", "held",
	"held express", "said", "aside",
};

#define NFIELDS	((int)(sizeof(state_field) / sizeof(state_field[0])))
#define NLANE	((int)(sizeof(lane_field) / sizeof(lane_field[0])))
#define NSTATE	(NFIELDS + WINDOW * NLANE)

/* As the specification has it. */
static int recalled(const struct oae_lane *n)
{
	return n->recalled == OAE_RECALL_BACK ? 2 : !!n->recalled;
}

static int id_of(const struct oae_post *p)
{
	return (uintptr_t)p->handle;
}

static void lane_of(const struct oae_link *l, int who, u32 i, int v[NLANE])
{
	u32 at = (l->tx + 1 + i - l->base) % PLACES, seq = l->rx + 1 + i;
	const struct oae_lane *n = l->pair ? &l->pair[at]->lane : &l->offer;
	const struct oae_hold *h = l->pair ? &l->pair[seq % PLACES]->hold : &l->hold;
	const struct oae_post *aside = l->pair ? &l->pair[i]->aside : &l->swaps->aside;
	bool held = h->state == OAE_HOLD_HELD;
	/* What was not granted begins a content, and leaves nothing of it. */
	bool none = h->state == OAE_HOLD_PARTIAL && !h->have;
	const int now[] = {
		n->state, n->state != OAE_OFFER_NONE ? id_of(&n->p) : 0,
		n->state != OAE_OFFER_NONE ? recalled(n) : 0, n->due,
		n->state == OAE_OFFER_OUT && n->ready,
		none ? OAE_HOLD_NONE : h->state,
		held && h->kind != OAE_VOID ? kept(who, seq) : 0, held && h->express,
		h->state == OAE_HOLD_REFUSED && h->said,
		i < l->naside ? id_of(aside) : 0,
	};

	memcpy(v, now, sizeof(now));
}

static void state_of(const struct oae_link *l, int who, int v[NSTATE])
{
	bool open = l->state == OAE_OPEN;
	const int now[] = {
		l->state, l->ltag, l->peer.ltag, l->inc, l->peer.inc, l->heard.inc, l->tx,
		l->rx, l->down, !!l->asked_at, l->closing, l->close_sent, l->peer.closing,
		l->peer.rx, l->await_done, l->last_express, l->unseen, l->ready_due,
		l->half.state, l->half.state ? id_of(&l->swaps->half) : 0,
		l->half.state == OAE_HALF_OFFERED && l->half.crossed, l->half.turn,
		l->naside,
		l->half.state == OAE_HALF_LENT && l->swaps->cancelled,
		l->next_valid ? id_of(&l->next) : 0,
		l->state == OAE_CLOSED ? 0 : l->window, l->win, l->nlanes, l->given, l->more,
		l->credit.granted / UNIT, open ? l->credit.grant / UNIT : 0,
		open ? l->credit.charged / UNIT : 0,
		l->credit.blocked, l->credit.said_blocked, l->credit.due,
	};
	int i;

	memcpy(v, now, sizeof(now));
	for (i = 0; i < lanes; i++)
		lane_of(l, who, i, v + NFIELDS + i * NLANE);
}

static void same_lines(const char *what, unsigned int nspec,
		       char spec[][LINE], unsigned int ncore, char core[][LINE])
{
	static const char none[] = "nothing";
	unsigned int i;

	for (i = 0; i < nspec || i < ncore; i++) {
		const char *a = i < nspec ? spec[i] : none;
		const char *b = i < ncore ? core[i] : none;

		if (strcmp(a, b))
			differs("%s %u\n    specification: %s\n    core:          %s",
				what, i + 1, a, b);
		compared++;
	}
}

static void same_state(int who, const int *arg)
{
	int v[NSTATE], i;

	state_of(&link_of[who], who, v);
	for (i = 0; i < NFIELDS + lanes * NLANE; i++)
		if (v[i] != arg[i])
			differs("%c's %s after it, lane %d\n    specification: %d\n    core:          %d",
				'A' + who, i < NFIELDS ? state_field[i] :
				lane_field[(i - NFIELDS) % NLANE],
				i < NFIELDS ? 0 : (i - NFIELDS) / NLANE, arg[i], v[i]);
}

/* --- the trace --------------------------------------------------------------- */

#define ARGS	NSTATE

struct line {
	char tag[4];		/* EV, DO, AT */
	int who;
	char what[24];		/* not AT */
	int arg[ARGS];
};

static bool parse(const char *text, struct line *l)
{
	const char *at = text;
	char who;
	int n;

	memset(l, 0, sizeof(*l));
	if (sscanf(at, " %3[EVDOAT] %c%n", l->tag, &who, &n) != 2 ||
	    (who != 'A' && who != 'B'))
		return false;
	l->who = who - 'A';
	at += n;
	if (strcmp(l->tag, "AT")) {
		if (sscanf(at, " %23s%n", l->what, &n) != 1)
			return false;
		at += n;
	}
	for (n = 0; n < ARGS; n++) {
		char *end;

		l->arg[n] = strtol(at, &end, 10);
		if (end == at)
			break;
		at = end;
	}
	/* The last line may be cut off, if spin was told when to stop. */
	return strcmp(l->tag, "AT") || !strcmp(at, " .\n");
}

static void tell_event(const struct line *ev)
{
	char *text = story[events++ % STORY];
	char frame[LINE], name[48];

	if (!strcmp(ev->what, "rcv") || !strcmp(ev->what, "accept")) {
		say_frame(frame, (const struct said *)ev->arg);
		snprintf(text, LINE, "%c %s %.110s, room %d%s", 'A' + ev->who, ev->what,
			 frame + strlen("send "), ev->arg[ARG_ROOM],
			 ev->arg[ARG_FOR_NOW] ? ", not now" : "");
		snprintf(name, sizeof(name), "%s-%s", ev->what,
			 oae_opcode_name(ev->arg[0]));
		count(name);
	} else {
		snprintf(text, LINE, "%c %s %d", 'A' + ev->who, ev->what,
			 ev->arg[0]);
		count(ev->what);
	}
}

/* The event is complete: let it happen at the core, and compare. */
static void step(const struct line *ev, struct effects *spec, const int *state)
{
	struct oae_link *l = &link_of[ev->who];
	struct effects core = { 0 };
	bool was_open = l->state == OAE_OPEN;

	if (!strcmp(ev->what, "stranger")) {
		/* The shell's business: there is no link. */
		if (l->state != OAE_CLOSED)
			differs("the core has a link");
		return;
	}
	happen(ev->who, ev->what, ev->arg, &core);
	same_lines("effect", spec->ndo, spec->did, core.ndo, core.did);
	same_lines("frame", spec->nsend, spec->sent, core.nsend, core.sent);
	if (drawn != ndraws)
		differs("the core draws %u numbers, the specification %u", drawn,
			ndraws);
	same_state(ev->who, state);
	if (!was_open && l->state == OAE_OPEN && ev->arg[0] >= OAE_OFFER &&
	    !strcmp(ev->what, "rcv"))
		count("resolved-by-data");
}

int main(int argc, char **argv)
{
	struct effects spec = { 0 };
	struct line ev = { 0 }, l;
	char text[1024];
	unsigned int i;

	if (argc != 4)
		return 2;
	others = atoi(argv[1]);
	verbs = atoi(argv[2]);
	lanes = atoi(argv[3]);
	if (lanes < 1 || lanes > WINDOW)
		return 2;
	cfg = (struct oae_link_cfg){
		.stall_min = 1 * MS,
		.stall_max = 40 * MS,
		.keepalive = 100 * MS,
		.dead = 500 * MS,
		.max_len = 4096,
		.random = next_draw,
	};
	for (i = 0; i < 2; i++)
		begin(i);

	while (fgets(text, sizeof(text), stdin)) {
		if (!parse(text, &l))
			continue;
		if (!strcmp(l.tag, "EV")) {
			ev = l;
			memset(&spec, 0, sizeof(spec));
			ndraws = 0;
			drawn = 0;
			window = 0;
			tell_event(&ev);
		} else if (!strcmp(l.tag, "DO")) {
			heard_effect(l.what, l.arg, &spec);
		} else {
			step(&ev, &spec, l.arg);
		}
	}
	printf("compared %lu %lu\n", events, compared);
	for (i = 0; i < COUNTS && counts[i].n; i++)
		printf("count %s %lu\n", counts[i].name, counts[i].n);
	return 0;
}
