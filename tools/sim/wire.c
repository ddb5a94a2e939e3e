// SPDX-License-Identifier: GPL-2.0
/*
 * The wires: frames in flight, and what happens to them.
 *
 * A wire keeps the order of what is sent on it, jitter or not; a frame that is
 * reordered is held back, and others overtake it. Without --bytes what arrives
 * is the struct oae_frame that was sent, and one with flipped bits is dropped on
 * arrival, since the digest finds it; with --bytes the digest has to.
 */
#include <stdlib.h>
#include "sim.h"

/**
 * wire_data() - a buffer for a frame as bytes
 * @w: the world
 *
 * Return: room for what the MTU allows.
 */
u8 *wire_data(struct world *w)
{
	u8 *data = w->spare_data;

	if (!data)
		return need(malloc(w->cfg->mtu + OAE_PARSE_MAX));
	memcpy(&w->spare_data, data, sizeof(w->spare_data));
	return data;
}

/**
 * wire_data_free() - give a buffer back
 * @w: the world
 * @data: the buffer
 */
void wire_data_free(struct world *w, u8 *data)
{
	memcpy(data, &w->spare_data, sizeof(w->spare_data));
	w->spare_data = data;
}

/* Most of a frame is a body that few have. */
static void copy_frame(struct oae_frame *to, const struct oae_frame *f)
{
	const size_t head = offsetof(struct oae_frame, sync);

	memcpy(to, f, head + sizeof(f->first));
	if (f->opcode == OAE_REFLECT)
		to->reflect.first = f->reflect.first;
	else if (f->opcode <= OAE_SYNC_CHK)
		to->sync = f->sync;
	else if (f->opcode == OAE_PATH)
		to->path = f->path;
}

/* What is behind the body of a REFLECT, and the hash of both. */
static void put_answer(struct world *w, struct flight *p)
{
	u16 n = p->f.length - OAE_REFLECT_LEN;
	u8 *more = w->scratch + OAE_REFLECT_LEN;

	oae_reflect_body(&p->f, w->scratch);
	if (p->f.kind == OAE_SWAP)
		content_bytes(p->id, 0, n, more);
	else
		put_unaligned_be64(p->id, more);
	p->f.payload_hash = oae_slice_hash(w->scratch, p->f.length, 0);
}

/* What is behind the header of an ASK, and its hash. */
static void put_zeros(struct flight *p)
{
	u8 *zeros = memset(p->data + OAE_HDR_LEN, 0, p->f.length);

	p->f.payload_hash = oae_slice_hash(zeros, p->f.length, 0);
}

static void to_bytes(struct world *w, struct flight *p)
{
	u16 len;

	p->data = wire_data(w);
	if (p->f.opcode == OAE_REFLECT && p->f.length)
		put_answer(w, p);
	else if (p->f.opcode == OAE_ASK)
		put_zeros(p);
	len = oae_frame_build(&p->f, p->data);
	if (p->f.opcode == OAE_REFLECT && p->f.length) {
		memcpy(p->data + len, w->scratch + OAE_REFLECT_LEN,
		       p->f.length - OAE_REFLECT_LEN);
		len += p->f.length - OAE_REFLECT_LEN;
	} else if (p->f.opcode == OAE_OFFER) {
		content_bytes(p->id, p->off, p->f.length, p->data + len);
		len += p->f.length;
	} else if (p->f.opcode == OAE_ASK) {
		len += p->f.length;
	}
	p->len = len;
	if (p->bad) {
		/* Up to three, each in another byte: none undoes one. */
		unsigned int n = 1 + rng_below(&w->flip_rng, 3);
		u32 at = rng_below(&w->flip_rng, len);

		for (; n; n--, at = (at + 1 + len / 4) % len)
			p->data[at] ^= 1 << rng_below(&w->flip_rng, 8);
	}
}

static void launch(struct world *w, struct end *e, unsigned int cable,
		   const struct oae_frame *f, u64 id, u32 off, u64 due, bool bad)
{
	u32 i = pool_get(&w->flights);
	struct flight *p = pool_at(&w->flights, i);

	p->id = id;
	p->off = off;
	p->bad = bad;
	p->cable = cable;
	copy_frame(&p->f, f);
	if (w->cfg->bytes)
		to_bytes(w, p);
	wheel_put(&w->wheel, due, EVENT_REF(KIND_FRAME, i),
		  end_index(w, e) ^ 1);
}

/* When a frame arrives that keeps its place. */
static u64 in_order(struct world *w, struct end *e, unsigned int cable)
{
	u64 *last = e->cabling ? &e->cabling->cable[cable].last_due[e->who] : &e->last_due;
	u64 due = w->now + e->latency;

	if (w->cfg->jitter)
		due += rng_below(&w->wire_rng, w->cfg->jitter);
	if (due < *last)
		due = *last;
	*last = due;
	return due;
}

/* A wire that loses, alters, doubles and holds back. */
static void odd_wire(struct world *w, struct end *e, unsigned int cable,
		     const struct oae_frame *f, u64 id, u32 off)
{
	const struct config *c = w->cfg;
	struct rng *r = &w->wire_rng;
	u64 due;
	bool bad;

	if (rng_chance(r, c->loss)) {
		w->n.dropped++;
		trace_frame(w, e, cable, "lost ", f);
		return;
	}
	bad = rng_chance(r, c->corrupt);
	due = in_order(w, e, cable);
	if (rng_chance(r, c->reorder)) {
		w->n.reordered++;
		due += 1 + rng_below(r, c->reorder_by);
	}
	trace_frame(w, e, cable, bad ? "sends, altered on the way, " : "sends ", f);
	launch(w, e, cable, f, id, off, due, bad);
	if (rng_chance(r, c->dup)) {
		w->n.dup++;
		due += 1 + rng_below(r, e->latency);
		trace_frame(w, e, cable, "sends, doubled, ", f);
		launch(w, e, cable, f, id, off, due, false);
	}
}

/**
 * wire_put() - an end puts a frame on a cable
 * @w: the world
 * @e: the end
 * @cable: which, 0 if there is one
 * @f: the frame
 * @id: OFFER: whose slice it is; REFLECT: the half, or the answer to a verb
 * @off: OFFER: where the slice begins
 */
void wire_put(struct world *w, struct end *e, unsigned int cable,
	      const struct oae_frame *f, u64 id, u32 off)
{
	w->n.frames++;
	if (!end_port_up(e, cable)) {
		w->n.no_port++;
		return;
	}
	if (e->cuts) {
		w->n.cut++;
		trace_frame(w, e, cable, "into the cut wire ", f);
		return;
	}
	if (e->cabling && cable_loses(w, e, cable, f)) {
		w->n.cable.lost++;
		trace_frame(w, e, cable, "into the faulty cable ", f);
		return;
	}
	if (w->odd_wire) {
		odd_wire(w, e, cable, f, id, off);
		return;
	}
	trace_frame(w, e, cable, "sends ", f);
	launch(w, e, cable, f, id, off, in_order(w, e, cable), false);
}

/**
 * wire_send() - an end's link sends a frame
 * @w: the world
 * @e: the end
 * @f: the frame
 * @id: as for wire_put()
 * @off: likewise
 */
void wire_send(struct world *w, struct end *e, const struct oae_frame *f,
	       u64 id, u32 off)
{
	if (e->cabling)
		paths_send(w, e, f, id, off);
	else
		wire_put(w, e, 0, f, id, off);
}

/* False: the digest, or another check, has found what is wrong with it. */
static bool read_bytes(struct world *w, struct end *e, struct flight *p)
{
	enum oae_bad bad;

	bad = oae_frame_parse(&p->f, p->data, p->len, p->len);
	if (!bad)
		bad = oae_frame_verify(&p->f, p->data,
				       oae_slice_hash(p->data + p->f.hdr_len,
						      p->f.length,
						      p->f.slice));
	if (!bad && p->bad)
		violation(w, e, "an altered frame was taken for good");
	if (bad && !p->bad)
		violation(w, e, "a good frame was dropped: cause %d", bad);
	return !bad;
}

/**
 * wire_arrive() - a frame is at the other end of the wire
 * @w: the world
 * @e: that end
 * @flight: which
 */
void wire_arrive(struct world *w, struct end *e, u32 flight)
{
	struct flight *p = pool_at(&w->flights, flight);
	bool good = true;

	if (!e->alive) {
		w->n.no_node++;
		good = false;
	} else if (!end_port_up(e, p->cable)) {
		w->n.no_port++;
		good = false;
	} else {
		w->n.arrived++;
		if (w->cfg->bytes)
			good = read_bytes(w, e, p);
		if (p->bad) {
			w->n.corrupt++;
			good = false;
		}
	}
	if (good) {
		trace_frame(w, e, p->cable, "< ", &p->f);
		end_receive(w, e, p);
	}
	if (p->data)
		wire_data_free(w, p->data);
	p->data = NULL;
	pool_put(&w->flights, flight);
}
