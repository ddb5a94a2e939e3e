// SPDX-License-Identifier: GPL-2.0
/* One end of a link: its users, its clock, and what may happen to it. See end.h. */
#include <stdlib.h>
#include "end.h"
#include "../../modoae/link/link_int.h"

/* The link's random has no context; a run sets this. */
static u64 core_rng;

/* Sometimes 0: ltags and incarnations must not be. */
static u32 core_random(void)
{
	u32 v;

	core_rng ^= core_rng << 13;
	core_rng ^= core_rng >> 7;
	core_rng ^= core_rng << 17;
	v = core_rng * 0x2545f4914f6cdd1dULL >> 32;
	return v >> 28 ? v : 0;
}

/**
 * end_init() - an end whose link is CLOSED
 * @e: the end
 * @seed: of the link's random
 * @mtu: of its port
 * @start: of its counters
 */
void end_init(struct end *e, u64 seed, u16 mtu, u32 start)
{
	memset(e, 0, sizeof(*e));
	core_rng = seed * 0x9e3779b97f4a7c15ULL | 1;
	e->now = 1ULL << 40;
	e->latest = e->now;
	e->rcvbuf = 2;
	e->reply = 8;
	e->vc = 3;
	e->cfg.stall_min = END_MS;
	e->cfg.stall_max = 40 * END_MS;
	e->cfg.keepalive = 100 * END_MS;
	e->cfg.dead = 500 * END_MS;
	e->cfg.max_len = 65536;
	e->cfg.random = core_random;
	oae_link_init(&e->link, &e->cfg, e->vc, mtu, start);
	oae_link_lend_swaps(&e->link, &e->swaps);
}

/* --- users --- */

/* What a transaction says: no two are alike. */
static void content(u32 id, u32 off, u16 len, u8 *buf)
{
	u32 i;

	for (i = 0; i < len; i++)
		buf[i] = (id * 31 + off + i) * 2654435761U >> 24;
}

u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id,
	    unsigned int slice, u32 off, u32 len, u64 *first)
{
	u8 buf[END_MTU_MAX];

	(void)ev;
	(void)tx;
	content(id, off, len, buf);
	if (!slice)
		*first = oae_first_bytes(buf, len);
	return oae_slice_hash(buf, len, slice);
}

static void fill_post(struct end *e, struct end_post *p)
{
	h_cut(&e->ev, (struct h_tx *)p, p->id, p->cut, &p->post);
	p->post.reply = p->reply;
}

/* --- what the harness wants to know --- */

void h_fail(struct h_event *ev, u64 id, const char *why)
{
	char text[160];

	(void)ev;
	h_text(text, sizeof(text), why, id);
	fuzz_breach("%s", text);
}

/* A handle is one of ours, or it is not looked at. */
struct h_tx *h_find(struct h_event *ev, h_id id)
{
	const struct end *e = ev->world;
	unsigned int i;

	for (i = 0; i < e->nposts; i++)
		if (e->post[i]->id == id)
			return (struct h_tx *)e->post[i];
	return NULL;
}

/* A transaction has ended: it is freed once the event is over. */
void h_told(struct h_event *ev, struct h_tx *tx, h_id id, int err)
{
	static const char *const text[] = { "COMMITTED", "REVERSED", "UNKNOWN" };
	struct end *e = ev->world;
	unsigned int i;

	fuzz_say("    #%u %s %s", (u32)id, text[tx->outcome],
		 err ? strerror(err) : "");
	for (i = 0; e->post[i] != (struct end_post *)tx; i++)
		;
	e->nposts--;
	memmove(&e->post[i], &e->post[i + 1],
		(e->nposts - i) * sizeof(e->post[0]));
	e->done[e->ndone++] = (struct end_post *)tx;
}

void h_noted(struct h_event *ev, u8 note)
{
	(void)ev;
	fuzz_say("    %s", oae_note_name(note));
}

void h_keep(struct h_event *ev, unsigned int n)
{
	struct end *e = ev->world;
	struct end_slot *s = &end_slots(e, ev->seq)[n];

	s->hash = oae_slice_hash(e->payload, e->f->length, n);
	s->first = oae_first_bytes(e->payload, e->f->length);
}

u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice)
{
	return end_slots(ev->world, seq)[slice].hash;
}

void h_drop(struct h_event *ev)
{
	struct end *e = ev->world;

	memset(end_slots(e, ev->seq), 0, sizeof(e->slot[0]));
}

void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id)
{
	struct end *e = ev->world;
	unsigned int n = __builtin_popcountll(e->have[h_lane(ev->seq)]);

	(void)tx;
	(void)id;
	e->delivered = end_slots_digest(e, ev->seq, n);
	e->deliveries++;
	e->unread += op == OAE_OP_DELIVER;
	fuzz_say("    %s, %u slices", op == OAE_OP_DELIVER ? "delivered" :
		 op == OAE_OP_TAKE ? "taken" : "applied", n);
}

u16 h_compute(struct h_event *ev, u16 *reply)
{
	struct end *e = ev->world;

	end_check_verb(e);
	fuzz_say("    computed: %u, %u bytes", e->verdict, e->reply);
	e->answer[h_lane(ev->seq)] = e->reply;
	*reply = e->reply;
	return e->verdict;
}

void h_post(struct h_event *ev, struct h_tx *tx, h_id id, u16 max,
	    struct oae_post *p)
{
	struct end_post *post = (struct end_post *)tx;
	struct end *e = ev->world;

	if (max) {
		post->cut = max;
		fill_post(e, post);
		fuzz_say("    #%u cut to %u slices", (u32)id,
			 post->post.nslices);
	}
	*p = post->post;
}

void h_gone(struct h_event *ev)
{
	struct end *e = ev->world;

	e->gone = true;
}

/* The link as it is now, with its places. */
static void remember(struct end *e)
{
	unsigned int i;

	e->before = e->link;
	e->swaps_before = e->swaps;
	e->before.swaps = &e->swaps_before;
	if (!e->link.pair)
		return;
	memcpy(e->pair_before, e->pair, sizeof(e->pair));
	for (i = 0; i < H_LANES; i++)
		e->pairs_before[i] = &e->pair_before[i];
	e->before.pair = e->pairs_before;
}

static void begin(struct end *e)
{
	/* What the link does not set must not matter. */
	memset(&e->a, 0xa5, sizeof(e->a));
	e->ev = (struct h_event){
		.world = e, .end = (struct h_end *)e, .a = &e->a, .now = e->now,
		.hostile = true, .rcvbuf = e->rcvbuf, .max_len = e->max_len,
	};
	h_begin(&e->ev);
	remember(e);
	e->f = NULL;
	e->ndone = 0;
	e->result = NULL;
	e->take = NULL;
	e->commits = 0;
	e->deliveries = 0;
	e->keeps = 0;
	e->gone = false;
	e->owes_reflect = false;
}

/* So much for the event. */
static void over(struct end *e)
{
	h_check(&e->ev);
	end_check(e);
	while (e->ndone)
		free(e->done[--e->ndone]);
}

static void finish(struct end *e)
{
	if (e->link.state != OAE_CLOSED)
		e->tag = true;
	h_finish(&e->ev);
	over(e);
}

/* --- events --- */

/**
 * end_post() - a user wants a transaction; opens the link if need be
 * @e: the end
 * @len: bytes, at least 1
 * @cut: bytes a slice, at least 1
 * @kind: enum oae_kind
 * @flags: OAE_POST_*
 * @reply: VERB: bytes of the answer
 *
 * Return: the transaction, which may have ended; NULL if too many wait.
 */
struct end_post *end_post(struct end *e, u32 len, u16 cut, u8 kind, u8 flags,
			  u16 reply)
{
	struct end_post *p;

	if (e->nposts == END_POSTS || len > (u32)OAE_MAX_SLICES * cut)
		return NULL;
	p = calloc(1, sizeof(*p));
	p->id = ++e->nids;
	p->len = len;
	p->cut = cut;
	p->kind = kind;
	p->flags = flags;
	p->reply = reply;
	fill_post(e, p);
	fuzz_say("post #%u, %u bytes in %u slices, kind %u%s%s", p->id, len,
		 p->post.nslices, kind,
		 flags & OAE_POST_EXPRESS ? ", express" : "",
		 flags & OAE_POST_CONFIRM ? ", confirm" : "");
	begin(e);
	e->post[e->nposts++] = p;
	h_enqueue(&e->ev, (struct h_tx *)p, p->id);
	if (e->link.state == OAE_CLOSED)
		oae_link_open(&e->link, e->now, &e->a);
	finish(e);
	return p;
}

/**
 * end_post_unasked() - a post that the link did not ask for, or a bad one
 * @e: the end
 *
 * Must change nothing.
 */
void end_post_unasked(struct end *e)
{
	struct oae_post p = {
		.handle = H_HANDLE(~0U), .nslices = 1, .len = 1,
		.kind = e->nids >> 1 & 1 ? OAE_SWAP : OAE_MESSAGE,
	};
	int err, want = 0;

	fuzz_say("post, unasked");
	begin(e);
	if (p.kind == OAE_SWAP ? oae_link_wants_half(&e->link) :
				 oae_link_wants(&e->link)) {
		p.nslices = e->nids & 1 ? 0 : OAE_MAX_SLICES + 1;
		want = -EINVAL;
	} else if (e->link.state == OAE_CLOSED) {
		want = -ENOTCONN;
	} else if (e->link.closing) {
		want = -ESHUTDOWN;
	} else if (e->link.peer.closing) {
		want = -EPIPE;
	} else {
		want = -EAGAIN;
	}
	err = oae_link_post(&e->link, &p, e->now, &e->a);
	if (err != want)
		fuzz_breach("post says %d, and should %d", err, want);
	e->before.pair = e->link.pair;
	e->before.swaps = e->link.swaps;
	if (e->a.nops || e->a.nsends ||
	    memcmp(&e->link, &e->before, sizeof(e->link)))
		fuzz_breach("a post that was refused changes something");
	finish(e);
}

/**
 * end_cancel() - a user wants its transaction back
 * @e: the end
 * @p: the transaction
 * @err: what its user is told
 */
void end_cancel(struct end *e, struct end_post *p, int err)
{
	u32 seq;
	bool flying = oae_lane_find(&e->link, H_HANDLE(p->id), &seq) &&
		      !oae_lane_reversible(oae_lane(&e->link, seq));
	bool lent = e->link.half.state == OAE_HALF_LENT &&
		    e->link.swaps->half.handle == H_HANDLE(p->id);
	int want = flying || lent ? -EINPROGRESS : 0;
	int r;

	fuzz_say("cancel #%u", p->id);
	begin(e);
	r = h_cancel(&e->ev, p->id, err);
	if (r != want)
		fuzz_breach("cancel says %d, and should %d", r, want);
	over(e);
}

/**
 * end_rcv() - a frame comes in
 * @e: the end
 * @f: the frame, good
 * @payload: OFFER: its @f->length bytes; what a REFLECT has is not looked at
 *
 * For a CLOSED link the shell answers; the SYNC of a trusted peer opens it.
 */
void end_rcv(struct end *e, const struct oae_frame *f, const u8 *payload)
{
	u32 room = e->unread < e->rcvbuf ? (e->rcvbuf - e->unread) * OAE_SLICE_COST : 0;

	fuzz_say_frame("frame", f);
	begin(e);
	e->f = f;
	e->payload = payload;
	e->ev.f = f;
	if (e->link.state == OAE_CLOSED && f->opcode == OAE_SYNC)
		oae_link_accept(&e->link, f, room, e->now, &e->a);
	else
		oae_link_rcv(&e->link, f, room, e->now, &e->a);
	finish(e);
}

/* Whether or not there is room. */
static void drained(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_link_made_room(l, OAE_SLICE_COST, now, a);
	oae_link_ready(l, now, a);
}

static void kill_link(struct oae_link *l, u64 now, struct oae_actions *a)
{
	oae_link_kill(l, OAE_E_CANCEL, now, a);
}

/**
 * end_event() - what has no more to it than its name
 * @e: the end
 * @what: DRAINED: there is room, which there need not be; CONFIRM: a user asks
 *	whether what is committed is delivered; KILL: the link dies, and everything ended
 */
void end_event(struct end *e, enum end_event what)
{
	static const struct {
		const char *name;
		void (*happens)(struct oae_link *l, u64 now, struct oae_actions *a);
	} events[] = {
		[END_DRAINED] = { "drained", drained },
		[END_CONFIRM] = { "confirm", oae_link_confirm },
		[END_OPEN] = { "open", oae_link_open },
		[END_CLOSE] = { "close", oae_link_close },
		[END_KILL] = { "kill", kill_link },
		[END_PORT_UP] = { "port up", oae_link_port_up },
		[END_PORT_DOWN] = { "port down", oae_link_port_down },
		[END_RENAMED] = { "renamed", oae_link_renamed },
	};
	struct oae_link *l = &e->link;
	bool open = l->state != OAE_CLOSED;

	fuzz_say("%s", events[what].name);
	begin(e);
	events[what].happens(l, e->now, &e->a);
	if (what == END_CONFIRM && l->state != OAE_CLOSED && !oae_link_all_confirmed(l) &&
	    !l->await_done)
		fuzz_breach("asked to confirm, and does not");
	if (what == END_KILL) {
		h_ops(&e->ev);
		if (l->state != OAE_CLOSED || e->nposts || e->gone != open)
			fuzz_breach("killed, but not all has ended");
	}
	finish(e);
}

/**
 * end_read() - the reader takes one
 * @e: the end
 */
void end_read(struct end *e)
{
	if (!e->unread)
		return;
	fuzz_say("read");
	e->unread--;
	if (e->unread < e->rcvbuf)
		end_event(e, END_DRAINED);
}

/**
 * end_timer() - the timer fires; it may be early
 * @e: the end
 *
 * One that is armed for at once over and over is a storm.
 */
void end_timer(struct end *e)
{
	unsigned int hasty = 0;

	do {
		fuzz_say("timer");
		begin(e);
		e->timer_at = 0;
		oae_link_timer(&e->link, e->now, &e->a);
		finish(e);
		if (!e->timer_at || e->timer_at > e->now + END_US)
			return;
		end_later(e, END_US);
	} while (++hasty < 5);
	fuzz_breach("the timer fires without end");
}

/**
 * end_mtu() - its port has another MTU
 * @e: the end
 * @mtu: at least OAE_MIN_MTU
 */
void end_mtu(struct end *e, u16 mtu)
{
	fuzz_say("mtu %u", mtu);
	begin(e);
	oae_link_set_mtu(&e->link, mtu, e->now, &e->a);
	finish(e);
}

/**
 * end_reclaim() - memory lacks: the places of a window that are not used are taken back
 * @e: the end
 */
void end_reclaim(struct end *e)
{
	fuzz_say("reclaim");
	begin(e);
	h_reclaim(&e->ev);
	finish(e);
}

/**
 * end_later() - time passes, or the clock jumps
 * @e: the end
 * @ns: may be negative
 */
void end_later(struct end *e, s64 ns)
{
	if (!ns)
		return;
	e->now += ns;
	if (e->now > e->latest)
		e->latest = e->now;
	fuzz_say("  %+.3f ms", (double)ns / END_MS);
}

/**
 * end_fini() - the end of a run
 * @e: the end; killed, so that nothing may be left
 */
void end_fini(struct end *e)
{
	end_event(e, END_KILL);
}
