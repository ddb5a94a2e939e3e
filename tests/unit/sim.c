// SPDX-License-Identifier: GPL-2.0
/* The world of the simulation: dice, wire, time, trace. See sim.h. */
#include <stdarg.h>
#include <stdlib.h>
#include "sim.h"

/* The links' random has no context; a run sets this. */
static u64 core_rng;

static u64 xorshift(u64 *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dULL;
}

u64 sim_rand(struct sim *w)
{
	return xorshift(&w->rng) >> 16;
}

/* 0 to n - 1. */
unsigned int sim_upto(struct sim *w, unsigned int n)
{
	return n ? sim_rand(w) % n : 0;
}

bool sim_chance(struct sim *w, unsigned int in1024)
{
	return in1024 && sim_upto(w, 1024) < in1024;
}

/* Sometimes 0: ltags and incarnations must not be. */
static u32 core_random(void)
{
	u32 v = xorshift(&core_rng) >> 32;

	return v >> 27 ? v : 0;
}

void sim_fail(struct sim *w, const char *fmt, ...)
{
	va_list ap;

	if (w->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
	sim_say(w, "*** %s", w->why);
}

void sim_say(struct sim *w, const char *fmt, ...)
{
	char *line = w->line[w->nlines % SIM_TRACE];
	va_list ap;
	int n;

	if (!w->trace)
		return;
	n = snprintf(line, SIM_LINE, "%10.3f ms  ", (double)w->now / SIM_MS);
	va_start(ap, fmt);
	vsnprintf(line + n, SIM_LINE - n, fmt, ap);
	va_end(ap);
	w->nlines++;
}

void sim_print_trace(const struct sim *w, FILE *out)
{
	unsigned long i = w->nlines > SIM_TRACE ? w->nlines - SIM_TRACE : 0;

	for (; i < w->nlines; i++)
		fprintf(out, "%s\n", w->line[i % SIM_TRACE]);
}

const char *sim_frame_text(const struct oae_frame *f, char *buf, size_t len)
{
	int n;

	n = snprintf(buf, len, "%s %08x>%08x tx %u rx %u",
		     oae_opcode_name(f->opcode), f->src_ltag, f->dst_ltag,
		     f->tx, f->rx);
	if (f->seq)
		n += snprintf(buf + n, len - n, " seq %u", f->seq);
	if (f->kind)
		n += snprintf(buf + n, len - n, " %s",
			      f->kind == OAE_SWAP ? "swap" :
			      f->kind == OAE_VERB ? "verb" :
			      f->kind == OAE_PACK ? "pack" : "void");
	if (f->opcode == OAE_OFFER)
		n += snprintf(buf + n, len - n, " slice %u", f->slice);
	if (f->opcode == OAE_REFUSE)
		n += snprintf(buf + n, len - n, " reason %u", f->reason);
	if (f->opcode >= OAE_SYNC && f->opcode <= OAE_SYNC_CHK)
		n += snprintf(buf + n, len - n, " inc %04x/%04x start %u",
			      (u16)f->sync.inc, (u16)f->sync.peer_inc,
			      f->sync.start);
	if (oae_is_sync(f->opcode) && f->sync.kept)
		n += snprintf(buf + n, len - n, " keeps %llx, last %u",
			      (unsigned long long)f->sync.kept, f->sync.last);
	if (f->opcode == OAE_ASK && f->length)
		n += snprintf(buf + n, len - n, " of %u bytes", f->length);
	snprintf(buf + n, len - n, "%s%s%s%s",
		 f->flags & OAE_F_EXPRESS ? " EXPRESS" : "",
		 f->flags & OAE_F_LAST ? " LAST" : "",
		 f->flags & OAE_F_RESUME ? " RESUME" : "",
		 f->flags & OAE_F_WANT_DONE ? " WANT_DONE" : "");
	return buf;
}

/**
 * sim_init() - a wire without faults, two ends without a tag
 * @w: the world
 * @seed: of its dice and of the links'
 */
void sim_init(struct sim *w, u64 seed)
{
	unsigned int i;

	memset(w, 0, offsetof(struct sim, pool));
	w->ntx = 0;
	w->wild = false;
	w->hostile = false;
	w->refusals = 0;
	w->max_ops = 0;
	w->max_sends = 0;
	w->swaps = 0;
	w->verbs = 0;
	w->joined = 0;
	w->packs = 0;
	w->events = 0;
	w->steps = 0;
	w->frames = 0;
	w->fell = 0;
	w->delivered = 0;
	w->why[0] = '\0';
	w->trace = false;
	w->nlines = 0;
	memset(w->notes, 0, sizeof(w->notes));
	memset(w->outcomes, 0, sizeof(w->outcomes));
	w->rng = oae_xxh64(&seed, sizeof(seed), 1) | 1;
	core_rng = oae_xxh64(&seed, sizeof(seed), 2) | 1;
	w->now = SIM_MS;
	w->vc = 3;
	w->wire = SIM_WIRE;
	w->txs = SIM_TXS;
	w->nspare = 2 * SIM_WIRE_MAX;
	for (i = 0; i < w->nspare; i++)
		w->spare[i] = &w->pool[i];
	for (i = 0; i < 2; i++) {
		w->faults[i].delay = 10 * SIM_US;
		sim_end_init(w, i);
		w->end[i].cfg.random = core_random;
	}
}

/* A frame leaves the wire; the caller gives it to sim_arrive() or not. */
struct sim_pkt *sim_take(struct sim *w, unsigned int to, unsigned int i)
{
	struct sim_wire *wire = &w->to[to];
	struct sim_pkt *p = wire->p[i];

	wire->n--;
	memmove(&wire->p[i], &wire->p[i + 1],
		(wire->n - i) * sizeof(wire->p[0]));
	w->spare[w->nspare++] = p;
	return p;
}

static void enqueue(struct sim *w, unsigned int to, struct sim_pkt *p)
{
	struct sim_wire *wire = &w->to[to];
	unsigned int i = wire->n++;

	/* Almost always near the end, and equal ones stay in order. */
	for (; i && wire->p[i - 1]->due > p->due; i--)
		wire->p[i] = wire->p[i - 1];
	wire->p[i] = p;
}

/* The same frame once more, at its own time. */
void sim_again(struct sim *w, unsigned int to, unsigned int i, u64 due)
{
	struct sim_pkt *p;

	if (w->to[to].n == w->wire)
		return;
	p = w->spare[--w->nspare];
	*p = *w->to[to].p[i];
	p->due = due;
	enqueue(w, to, p);
}

/* When the line has sent it; false: the queue before the line is full. */
static bool through_queue(struct sim *w, unsigned int to, u64 *sent)
{
	const struct sim_faults *x = &w->faults[to];
	struct sim_wire *wire = &w->to[to];
	u64 at = w->now + x->load;

	if (!x->frame)
		return true;
	if (at < wire->busy)
		at = wire->busy;
	if (at - w->now > x->queue)
		return false;
	wire->busy = at + x->frame;
	*sent = wire->busy;
	return true;
}

static void to_wire(struct sim *w, unsigned int to, const u8 *buf, u16 len)
{
	const struct sim_faults *x = &w->faults[to];
	u64 sent = w->now;
	struct sim_pkt *p;
	unsigned int bits;

	if (w->to[to].n == w->wire || (x->hole && len > x->hole) ||
	    !through_queue(w, to, &sent)) {
		w->fell++;
		return;
	}
	p = w->spare[--w->nspare];
	memcpy(p->buf, buf, len);
	p->len = len;
	p->by_line = w->by_line;
	p->due = sent + x->delay;
	if (x->jitter)
		p->due += sim_rand(w) % x->jitter;
	if (sim_chance(w, x->late))
		p->due += sim_rand(w) % x->very_late;
	p->flipped = sim_chance(w, x->flip);
	for (bits = p->flipped ? 1 + sim_upto(w, 3) : 0; bits; bits--) {
		unsigned int at = sim_upto(w, len);

		/* Each in another byte than the last, so none undoes one. */
		p->buf[at] = buf[at] ^ 1 << sim_upto(w, 8);
	}
	enqueue(w, to, p);
}

/**
 * sim_transmit() - an end puts a frame on the wire
 * @e: the end
 * @f: the frame
 * @more: what is behind the protocol's own body, if anything is
 * @n: bytes of it
 */
void sim_transmit(struct sim_end *e, const struct oae_frame *f,
		  const u8 *more, u16 n)
{
	struct sim *w = e->w;
	unsigned int to = !e->who;
	u8 buf[2 * SIM_MTU_MAX + OAE_PARSE_MAX];
	struct oae_frame out = *f;
	u8 payload[OAE_REFLECT_LEN + SIM_MTU_MAX];
	u16 len, own = 0;
	char text[160];

	if (more) {
		if (f->opcode == OAE_REFLECT) {
			oae_reflect_body(f, payload);
			own = OAE_REFLECT_LEN;
		}
		memcpy(payload + own, more, n);
		out.payload_hash = oae_slice_hash(payload, own + n, f->slice);
	}
	len = oae_frame_build(&out, buf);
	if (more) {
		memcpy(buf + len, more, n);
		len += n;
	}
	if (len > e->mtu) {
		sim_say(w, "  %c too long for its port", 'A' + e->who);
		return;
	}
	w->frames++;
	if (!e->port_up)
		return;
	if (sim_chance(w, w->faults[to].lose)) {
		if (w->trace)
			sim_say(w, "  %c lost %s", 'A' + e->who,
				sim_frame_text(f, text, sizeof(text)));
		return;
	}
	if (w->trace)
		sim_say(w, "  %c sends %s", 'A' + e->who,
			sim_frame_text(f, text, sizeof(text)));
	to_wire(w, to, buf, len);
	if (sim_chance(w, w->faults[to].dup))
		to_wire(w, to, buf, len);
}

/* The bytes at an end's port: what a flipped bit hit must not get further. */
void sim_arrive(struct sim *w, unsigned int to, struct sim_pkt *p)
{
	struct sim_end *e = &w->end[to];
	enum oae_bad bad;
	struct oae_frame f;
	char text[160];

	w->events++;
	if (!e->port_up || p->len > e->mtu)
		return;
	bad = oae_frame_parse(&f, p->buf, p->len, p->len);
	if (!bad)
		bad = oae_frame_verify(&f, p->buf,
				       oae_slice_hash(p->buf + f.hdr_len,
						      f.length, f.slice));
	if (p->flipped) {
		if (!bad)
			sim_fail(w, "a damaged frame was taken for good");
		return;
	}
	if (bad) {
		sim_fail(w, "an undamaged frame was dropped: cause %d", bad);
		return;
	}
	if (w->trace)
		sim_say(w, "%c < %s", 'A' + to,
			sim_frame_text(&f, text, sizeof(text)));
	sim_receive(e, p, &f);
	sim_check(w);
}

/* When the next frame or timer is due; all ones: never. */
u64 sim_next_event(const struct sim *w)
{
	u64 at = ~0ULL;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (w->to[i].n && w->to[i].p[0]->due < at)
			at = w->to[i].p[0]->due;
		if (w->end[i].timer_at && w->end[i].timer_at < at)
			at = w->end[i].timer_at;
	}
	return at;
}

/* Let the next frame or timer happen. */
void sim_event(struct sim *w)
{
	u64 at = sim_next_event(w);
	unsigned int i;

	if (at == ~0ULL)
		return;
	if (++w->steps > SIM_STEPS)
		sim_fail(w, "no end of events: a timer that does nothing?");
	if (at > w->now)
		w->now = at;
	for (i = 0; i < 2; i++) {
		if (w->to[i].n && w->to[i].p[0]->due <= at) {
			sim_arrive(w, i, sim_take(w, i, 0));
			return;
		}
	}
	for (i = 0; i < 2; i++) {
		if (w->end[i].timer_at && w->end[i].timer_at <= at) {
			sim_timer(&w->end[i]);
			return;
		}
	}
}

/* Let everything happen that is due until then. */
void sim_run(struct sim *w, u64 until)
{
	while (!w->why[0] && sim_next_event(w) <= until)
		sim_event(w);
	if (w->now < until)
		w->now = until;
}
