// SPDX-License-Identifier: GPL-2.0
/*
 * What an end is held to, whatever its peer says: see end.h. The peer may lie, so
 * this is not about what it was told, but about what this end may make of it:
 *
 *   - each transaction ends once, and with an outcome that the event allows
 *   - COMMITTED only for a reflection of what was offered last, word for word,
 *     or an express that the peer says it has delivered
 *   - delivered is what was reflected, whole, when the peer says it is committed
 *   - what is kept is what the link thinks, and within the limits
 *   - what it sends is good, true, and of this run
 *   - it has a timer, unless CLOSED
 */
#include "end.h"

/* No timer is set farther away than any of the fuzzer's knobs allows. */
#define TIMER_FAR	(1000 * END_MS)

static bool frozen(const struct oae_link *l)
{
	return l->state == OAE_SYNC_SENT || l->state == OAE_SYNC_RECD;
}

static bool is_sync(u8 opcode)
{
	return opcode >= OAE_SYNC && opcode <= OAE_SYNC_CHK;
}

static u64 mask(unsigned int nslices)
{
	return nslices ? ~0ULL >> (64 - nslices) : 0;
}

/* A handle is one of ours, or it is not looked at. */
static struct end_post *at_link(const struct end *e, const void *handle)
{
	unsigned int i;

	for (i = 0; i < e->nposts; i++)
		if (e->post[i] == handle)
			return e->post[i]->at_link ? e->post[i] : NULL;
	return NULL;
}

static bool just_ended(const struct end *e, const void *handle)
{
	unsigned int i;

	for (i = 0; i < e->ndone; i++)
		if (e->done[i] == handle)
			return true;
	return false;
}

/* Neither end is the one that it was before the event. */
static bool other_ends(const struct end *e)
{
	return e->link.state == OAE_CLOSED || e->link.inc != e->before.inc ||
	       e->link.peer_inc != e->before.peer_inc;
}

/**
 * end_slots_digest() - the digest of the slices that are here
 * @e: the end
 * @n: how many make up the whole
 *
 * Return: their digest.
 */
u64 end_slots_digest(const struct end *e, unsigned int n)
{
	u64 hash[OAE_MAX_SLICES];
	unsigned int i;

	for (i = 0; i < n; i++)
		hash[i] = e->slot[i].hash;
	return oae_whole_digest(hash, n);
}

/* --- what the frame of this event may lead to --- */

/* It names this end's ltag, and when there is a run, the peer's as well. */
static bool of_this_run(const struct end *e)
{
	const struct oae_frame *f = e->f;

	if (!f || f->dst_ltag != e->before.ltag)
		return false;
	if (e->before.state == OAE_OPEN || !is_sync(f->opcode))
		return f->src_ltag == e->before.peer_ltag;
	return true;
}

/* May its tx and rx be taken for the peer's? They may be about another me. */
static bool resolves(const struct end *e)
{
	u8 opcode = e->f->opcode;

	return frozen(&e->before) &&
	       (opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
		opcode == OAE_OFFER || opcode == OAE_COMMIT);
}

static bool same_ends(const struct end *e)
{
	const struct oae_frame *f = e->f;
	u64 inc = is_sync(f->opcode) ? f->sync.inc : frozen(&e->before) ?
		  e->before.heard.inc : e->before.peer_inc;

	return inc == e->before.peer_inc;
}

/* The peer says that it has committed this one. */
static bool says_committed(const struct end *e, u32 seq)
{
	const struct oae_frame *f = e->f;

	if (!of_this_run(e) || !same_ends(e))
		return false;
	if (frozen(&e->before) && !resolves(e))
		return false;
	if (is_sync(f->opcode) && f->sync.peer_inc != e->before.inc)
		return resolves(e) && f->sync.start == seq;
	return f->opcode != OAE_SYNC_CHK && f->opcode != OAE_NOLINK &&
	       f->opcode != OAE_HELLO && f->tx == seq;
}

/* The reflection of just this offer. */
static bool reflects(const struct end *e, const struct end_post *p)
{
	const struct oae_frame *f = e->f;

	return e->before.state == OAE_OPEN && of_this_run(e) &&
	       f->opcode == OAE_REFLECT && e->last.id == p->id &&
	       e->last.src_ltag == f->dst_ltag &&
	       e->last.dst_ltag == f->src_ltag && e->last.seq == f->seq &&
	       e->last.attempt == f->attempt &&
	       f->reflect.digest == p->post.digest &&
	       f->reflect.first == p->post.first;
}

/* Resolving shows that an express was delivered. */
static bool resolves_express(const struct end *e, const struct end_post *p)
{
	const struct oae_frame *f = e->f;

	return p->flags & OAE_POST_EXPRESS && of_this_run(e) && resolves(e) &&
	       same_ends(e) && f->rx == e->before.tx + 1 &&
	       (!is_sync(f->opcode) || f->sync.peer_inc == e->before.inc);
}

/* --- ops --- */

static void check_reversed(const struct end *e, const struct end_post *p,
			   int err)
{
	const struct oae_frame *f = e->f;
	bool refused = f && f->opcode == OAE_REFUSE && of_this_run(e) &&
		       f->seq == e->last.seq && f->attempt == e->last.attempt;

	if (!err)
		fuzz_breach("#%u reversed, and no reason why", p->id);
	if (e->before.offer.state != OAE_OFFER_OUT ||
	    e->before.offer.p.handle != p || !p->offered ||
	    !(p->flags & OAE_POST_EXPRESS))
		return;
	/* In flight: only by the peer's word that it did not take it. */
	if (!refused && !e->resliced)
		fuzz_breach("express #%u reversed in flight", p->id);
}

static void check_complete(struct end *e, const struct oae_op *op)
{
	const struct end_post *p = at_link(e, op->handle);

	if (!p)
		fuzz_breach("COMPLETE of what the link has not got%s",
			    just_ended(e, op->handle) ? ": it has ended" : "");
	switch (op->outcome) {
	case OAE_COMMITTED:
		if (op->err || e->commits++)
			fuzz_breach("#%u committed, err %d, %u at once", p->id,
				    op->err, e->commits);
		if (!p->offered || (!reflects(e, p) && !resolves_express(e, p)))
			fuzz_breach("#%u committed, but why?", p->id);
		break;
	case OAE_REVERSED:
		check_reversed(e, p, op->err);
		break;
	case OAE_UNKNOWN:
		if (op->err != OAE_E_UNKNOWN)
			fuzz_breach("#%u UNKNOWN, err %d", p->id, op->err);
		if (!p->offered)
			fuzz_breach("#%u UNKNOWN, and was never offered", p->id);
		if (!e->broken && !(p->flags & OAE_POST_EXPRESS))
			fuzz_breach("#%u UNKNOWN, and is no express", p->id);
		if (!other_ends(e))
			fuzz_breach("#%u UNKNOWN, and nobody died", p->id);
		break;
	default:
		fuzz_breach("no such outcome: %u", op->outcome);
	}
}

static void check_keep(struct end *e, unsigned int n)
{
	if (!of_this_run(e) || e->f->opcode != OAE_OFFER || n != e->f->slice ||
	    e->kept++)
		fuzz_breach("KEEP of slice %u, which is not this frame's", n);
	if (e->f->seq != e->before.rx + e->deliveries + 1 &&
	    !(resolves(e) && e->f->seq - e->link.rx <= 1))
		fuzz_breach("KEEP of a slice of transaction %u", e->f->seq);
	if (e->slot[n].used)
		fuzz_breach("KEEP of slice %u, which is there", n);
}

static void check_deliver(struct end *e, unsigned int n)
{
	u32 seq = e->before.rx + e->deliveries + 1;
	const struct oae_frame *f = e->f;
	bool express, held = e->before.hold.state == OAE_HOLD_HELD && !e->deliveries;
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++)
		if (e->slot[i].used != (i < n))
			fuzz_breach("delivered %u slices, and slice %u is %s",
				    n, i, i < n ? "not there" : "there");
	if (!n)
		fuzz_breach("delivered nothing");
	if (held && says_committed(e, seq)) {
		if (end_slots_digest(e, n) != e->reflected ||
		    e->slot[0].first != e->reflected_first)
			fuzz_breach("delivered what was not reflected");
		return;
	}
	if (!of_this_run(e))
		fuzz_breach("%u delivered, and the frame is of no run", seq);
	/* The first slice of an attempt says what it is. */
	express = e->before.hold.express &&
		  f->attempt == e->before.hold.attempt;
	if (f->opcode != OAE_OFFER ||
	    !(express || f->flags & OAE_F_EXPRESS) ||
	    !(f->seq == seq || (resolves(e) && f->seq == e->link.rx)))
		fuzz_breach("%u delivered, but why?", seq);
	e->owes_reflect = true;
}

/**
 * end_check_op() - may this op be?
 * @e: the end, the op not yet applied
 * @op: the op
 */
void end_check_op(struct end *e, const struct oae_op *op)
{
	unsigned int i, used = 0;

	switch (op->type) {
	case OAE_OP_NOTE:
		if (op->note >= OAE_NOTE_END)
			fuzz_breach("no such note: %u", op->note);
		if (op->note == OAE_N_BROKEN)
			e->broken = true;
		/* The shell looks at it. */
		if (op->note == OAE_N_OFFERED &&
		    !at_link(e, e->link.offer.p.handle) &&
		    !just_ended(e, e->link.offer.p.handle))
			fuzz_breach("OFFERED, but nothing is");
		break;
	case OAE_OP_KEEP:
		check_keep(e, op->slice);
		break;
	case OAE_OP_DISCARD:
		for (i = 0; i < OAE_MAX_SLICES; i++)
			used += e->slot[i].used;
		if (!used)
			fuzz_breach("DISCARD of nothing");
		break;
	case OAE_OP_DELIVER:
		check_deliver(e, op->slice);
		break;
	case OAE_OP_COMPLETE:
		check_complete(e, op);
		break;
	case OAE_OP_RESLICE:
		if (!at_link(e, op->handle))
			fuzz_breach("RESLICE of what the link has not got");
		break;
	case OAE_OP_TIMER:
		if (op->at <= e->now)
			fuzz_breach("TIMER in the past");
		break;
	case OAE_OP_GONE:
		if (e->link.state != OAE_CLOSED || e->nposts)
			fuzz_breach("GONE, but not all has ended");
		break;
	case OAE_OP_CONFIRMED:
	case OAE_OP_FLUSH:
		break;
	default:
		fuzz_breach("no such op: %u", op->type);
	}
}

/* --- what is sent --- */

/* A receiver takes it for what it is. */
static void check_good(const struct oae_frame *f, const u8 *payload)
{
	u8 buf[OAE_PARSE_MAX + END_MTU_MAX];
	size_t len = oae_frame_build(f, buf);
	struct oae_frame g;
	enum oae_bad bad;

	if (payload) {
		memcpy(buf + len, payload, f->length);
		len += f->length;
	}
	bad = oae_frame_parse(&g, buf, len, len);
	if (!bad)
		bad = oae_frame_verify(&g, buf,
				       oae_slice_hash(buf + g.hdr_len, g.length,
						      g.slice));
	if (bad)
		fuzz_breach("a frame is sent that is bad: cause %d", bad);
}

static void check_offer(struct end *e, const struct oae_send *s)
{
	static const u8 zeros[END_MTU_MAX];
	struct end_post *p = at_link(e, s->handle);
	const struct oae_frame *f = &s->frame;
	struct end_offer *last = &e->last;
	struct oae_frame g = *f;

	if (!p)
		fuzz_breach("OFFER of what the link has not got");
	if (!s->slices || s->slices & ~mask(p->post.nslices) ||
	    s->nslices != p->post.nslices ||
	    s->slice_max != p->post.slice_max ||
	    s->slice_max > oae_link_slice_max(&e->link))
		fuzz_breach("OFFER of slices %llx of %u",
			    (unsigned long long)s->slices, s->nslices);
	if (last->src_ltag == f->src_ltag && last->dst_ltag == f->dst_ltag &&
	    last->seq == f->seq && last->attempt >= f->attempt)
		fuzz_breach("OFFER %u.%u after %u.%u", f->seq, f->attempt,
			    last->seq, last->attempt);
	if (f->seq != f->tx + 1 || !f->flags != !(p->flags & OAE_POST_EXPRESS))
		if (!(f->flags & OAE_F_RESUME))
			fuzz_breach("OFFER of %u, flags %x", f->seq, f->flags);
	if (p->offered && p->flags & OAE_POST_EXPRESS &&
	    p->offered_to != e->link.peer_inc)
		fuzz_breach("express #%u offered to another incarnation", p->id);
	*last = (struct end_offer){
		.id = p->id,
		.src_ltag = f->src_ltag,
		.dst_ltag = f->dst_ltag,
		.seq = f->seq,
		.attempt = f->attempt,
	};
	p->offered = true;
	p->offered_to = e->link.peer_inc;

	g.slice = s->nslices - 1;
	g.length = p->len - g.slice * p->cut;
	g.flags |= OAE_F_LAST;
	g.payload_hash = oae_slice_hash(zeros, g.length, g.slice);
	check_good(&g, zeros);
}

static void check_reflect(struct end *e, const struct oae_frame *f)
{
	const struct oae_link *l = &e->link;
	u64 digest;

	if (l->hold.state == OAE_HOLD_HELD && f->seq == l->rx + 1) {
		digest = end_slots_digest(e, l->hold.nslices);
		if (f->reflect.first != e->slot[0].first)
			fuzz_breach("REFLECT of other first bytes");
	} else if (e->owes_reflect && f->seq == f->rx) {
		digest = e->delivered;
		e->owes_reflect = false;
	} else {
		/* Of an express that was delivered. */
		if (f->seq != l->rx || !l->last_express)
			fuzz_breach("REFLECT of %u, which is not held", f->seq);
		return;
	}
	if (f->reflect.digest != digest)
		fuzz_breach("REFLECT of what is not here");
	e->reflected = digest;
	e->reflected_first = f->reflect.first;
}

static void check_gap(const struct end *e, const struct oae_frame *f)
{
	u64 have = 0;
	unsigned int i;

	/* A peer that closes has forgotten what it offered. */
	if (e->gone)
		return;
	for (i = 0; i < OAE_MAX_SLICES; i++)
		have |= (u64)e->slot[i].used << i;
	if (!f->gap_map || f->gap_map != (mask(e->link.hold.nslices) & ~have))
		fuzz_breach("REFUSE GAP names %llx",
			    (unsigned long long)f->gap_map);
}

/**
 * end_check_send() - may this be sent?
 * @e: the end, the ops of this event applied
 * @s: the frame, or the frames
 */
void end_check_send(struct end *e, const struct oae_send *s)
{
	const struct oae_frame *f = &s->frame;

	fuzz_say_frame("    ->", f);
	if (f->vc != e->vc)
		fuzz_breach("sent on vc %u", f->vc);
	if (frozen(&e->link) && f->src_ltag == e->link.ltag &&
	    !is_sync(f->opcode))
		fuzz_breach("data sent while frozen");
	/* It may have moved on since, in this event. */
	if (e->link.state == OAE_OPEN && f->src_ltag == e->link.ltag &&
	    (e->link.tx - f->tx > e->commits ||
	     e->link.rx - f->rx > e->deliveries))
		fuzz_breach("sent with counters that are not so");
	if (f->opcode == OAE_OFFER) {
		check_offer(e, s);
		return;
	}
	check_good(f, NULL);
	if (f->opcode == OAE_REFLECT)
		check_reflect(e, f);
	else if (f->opcode == OAE_REFUSE && f->reason == OAE_R_GAP)
		check_gap(e, f);
}

/* --- after the event --- */

static void check_slots(const struct end *e)
{
	const struct oae_link *l = &e->link;
	unsigned int i;
	u64 have = 0;
	u32 len = 0;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		have |= (u64)e->slot[i].used << i;
		len += e->slot[i].len;
	}
	if (have != l->hold.have || len != l->hold.len)
		fuzz_breach("slices here %llx, %u bytes; the link has %llx, %u",
			    (unsigned long long)have, len,
			    (unsigned long long)l->hold.have, l->hold.len);
	if (l->hold.nslices && have & ~mask(l->hold.nslices))
		fuzz_breach("slices %llx of %u", (unsigned long long)have,
			    l->hold.nslices);
	if (len > e->max_len)
		fuzz_breach("G6: %u bytes held, %u allowed", len, e->max_len);
	/* An OFFER may deliver one and be held; there was room when it came. */
	if (e->unread > e->rcvbuf + 1)
		fuzz_breach("G6: %u unread", e->unread);
	if (l->hold.state == OAE_HOLD_HELD &&
	    (have != mask(l->hold.nslices) ||
	     e->reflected != end_slots_digest(e, l->hold.nslices)))
		fuzz_breach("held, but not whole, or not reflected");
}

static void check_posts(const struct end *e)
{
	const struct oae_link *l = &e->link;
	unsigned int i, n = 0;

	for (i = 0; i < e->nposts; i++)
		n += e->post[i]->at_link;
	if (n != (l->offer.state != OAE_OFFER_NONE) + l->next_valid)
		fuzz_breach("%u transactions at the link, which has others", n);
	if (l->offer.state != OAE_OFFER_NONE &&
	    !at_link(e, l->offer.p.handle))
		fuzz_breach("offered is what the link has not got");
	if (l->next_valid && !at_link(e, l->next.handle))
		fuzz_breach("next is what the link has not got");
	if (l->offer.state == OAE_OFFER_SLICING)
		fuzz_breach("waits for slices that it has got");
	if (l->state == OAE_OPEN && l->offer.state == OAE_OFFER_NONE &&
	    l->next_valid)
		fuzz_breach("G4: open, and does not offer what waits");
}

static void check_counters(const struct end *e)
{
	const struct oae_link *l = &e->link;

	if (other_ends(e))
		return;
	if (l->rx != e->before.rx + e->deliveries)
		fuzz_breach("rx %u, was %u, %u delivered", l->rx, e->before.rx,
			    e->deliveries);
	if (l->tx != e->before.tx + e->commits)
		fuzz_breach("tx %u, was %u, %u committed", l->tx, e->before.tx,
			    e->commits);
}

/* 4.4: what is in flight for the stall time is a failure, and noticed. */
static void check_timer(const struct end *e)
{
	const struct oae_link *l = &e->link;
	u64 stall = oae_link_stall(l);
	u64 more = stall * (l->offer.p.nslices - 1) / 8;

	if (!e->timer_at || e->timer_at != l->timer_at)
		fuzz_breach("no timer, or another");
	if (!l->close_sent && e->timer_at > e->latest + TIMER_FAR)
		fuzz_breach("the timer is far away");
	if (l->state != OAE_OPEN)
		return;
	/* The clock may have gone back: then it is the later time. */
	if (l->offer.state == OAE_OFFER_OUT &&
	    e->timer_at > e->latest + stall + more)
		fuzz_breach("offered, and no timer for it");
	if (l->hold.state == OAE_HOLD_HELD && e->timer_at > e->latest + stall)
		fuzz_breach("held, and no timer for it");
	if (l->await_done && e->timer_at > e->latest + stall)
		fuzz_breach("DONE asked for, and no timer for it");
}

/**
 * end_check() - what must be so after every event
 * @e: the end
 */
void end_check(struct end *e)
{
	const struct oae_link *l = &e->link;
	struct end_post *p;

	if (l->state > OAE_OPEN || oae_link_state(l) >= OAE_STATE_END)
		fuzz_breach("state %u", l->state);
	if (e->owes_reflect)
		fuzz_breach("an express delivered, and not reflected");
	if (e->gone != (l->state == OAE_CLOSED &&
			e->before.state != OAE_CLOSED))
		fuzz_breach("GONE is not said, or too often");
	check_slots(e);
	check_posts(e);
	check_counters(e);
	if (l->state == OAE_CLOSED) {
		if (e->nposts)
			fuzz_breach("CLOSED, with %u transactions", e->nposts);
		return;
	}
	if (!l->ltag || !l->inc)
		fuzz_breach("ltag or incarnation 0");
	check_timer(e);
	/* Refused is as good as never offered: it was not delivered. */
	p = at_link(e, l->offer.p.handle);
	if (p && l->offer.state == OAE_OFFER_PARKED)
		p->offered = false;
}
