// SPDX-License-Identifier: GPL-2.0
/*
 * What an end is held to, whatever its peer says, beside what tests/harness holds
 * every end to: see end.h. The peer may lie, so this is not about what it was told,
 * but about what this end may make of it:
 *
 *   - each transaction ends with an outcome that the event allows
 *   - COMMITTED only for a reflection of what was offered last, word for word,
 *     an express that the peer says it has delivered, or a half that was lent for
 *     what the peer says is committed
 *   - delivered, taken or applied is what was reflected, whole, when the peer says it is committed
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

static struct end_post *at_link(struct end *e, const void *handle)
{
	return (struct end_post *)h_at_link(&e->ev, H_OF(handle));
}

static bool just_ended(const struct end *e, const void *handle)
{
	unsigned int i;

	for (i = 0; i < e->ndone; i++)
		if (e->done[i]->id == H_OF(handle))
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
	       f->reflect.first == p->post.first && f->kind == p->kind &&
	       (p->kind != OAE_VERB ||
		f->length == OAE_REFLECT_LEN + p->reply);
}

/* This half went out in a REFLECT. */
static bool was_lent(const struct end *e, const struct end_post *p)
{
	return e->before.half.state == OAE_HALF_LENT &&
	       e->before.half.p.handle == H_HANDLE(p->id);
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

static void check_reversed(const struct end *e, const struct end_post *p)
{
	const struct oae_frame *f = e->f;
	bool refused = f && f->opcode == OAE_REFUSE && of_this_run(e) &&
		       f->seq == e->last.seq && f->attempt == e->last.attempt;
	/* Too long for this run, which the peer is seen to be in (4.3). */
	bool proved = f && f->opcode != OAE_SYNC &&
		      (e->resliced || (of_this_run(e) && e->before.offer.doubt &&
				       !e->before.offer.attempt));

	if (e->before.offer.state != OAE_OFFER_OUT ||
	    e->before.offer.p.handle != H_HANDLE(p->id) || !p->offered ||
	    !(p->flags & OAE_POST_EXPRESS))
		return;
	/* In flight: only by the peer's word that it did not take it. */
	if (!refused && !proved)
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
		if (e->take == p) {
			e->take = NULL;
			break;
		}
		if ((p->kind != OAE_MESSAGE) != (e->result == p))
			fuzz_breach("#%u committed, with or without RESULT",
				    p->id);
		e->result = NULL;
		if (e->commits++)
			fuzz_breach("#%u committed, %u at once", p->id,
				    e->commits);
		if ((!p->offered && p->kind != OAE_SWAP) ||
		    (!reflects(e, p) && !resolves_express(e, p)))
			fuzz_breach("#%u committed, but why?", p->id);
		break;
	case OAE_REVERSED:
		check_reversed(e, p);
		break;
	case OAE_UNKNOWN:
		if (!other_ends(e) || (!p->offered && p->kind != OAE_SWAP))
			fuzz_breach("#%u UNKNOWN, and nobody died", p->id);
	}
}

static void check_keep(struct end *e, unsigned int n)
{
	if (!of_this_run(e) || e->keeps++)
		fuzz_breach("KEEP of slice %u, which is not this frame's", n);
	if (e->f->seq != e->before.rx + e->deliveries + 1 &&
	    !(resolves(e) && e->f->seq - e->link.rx <= 1))
		fuzz_breach("KEEP of a slice of transaction %u", e->f->seq);
}

static void check_deliver(struct end *e, unsigned int n)
{
	u32 seq = e->before.rx + e->deliveries + 1;
	const struct oae_frame *f = e->f;
	bool express, held = e->before.hold.state == OAE_HOLD_HELD && !e->deliveries;

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

/* A half or a verb that was held is handed over. */
static void check_hand_over(const struct end *e, u8 kind)
{
	u32 seq = e->before.rx + e->deliveries + 1;

	if (e->before.hold.state != OAE_HOLD_HELD || e->deliveries ||
	    e->before.hold.kind != kind || !says_committed(e, seq))
		fuzz_breach("%u handed over, but why?", seq);
	if (e->reflected != end_slots_digest(e, 1) ||
	    e->slot[0].first != e->reflected_first)
		fuzz_breach("handed over what was not reflected");
}

static void check_result(struct end *e, const void *handle)
{
	const struct end_post *p = at_link(e, handle);

	if (!p || e->result || !reflects(e, p))
		fuzz_breach("RESULT, but of what?");
	e->result = p;
}

static void check_take(struct end *e, const void *handle)
{
	const struct end_post *p = at_link(e, handle);

	if (!p || !was_lent(e, p))
		fuzz_breach("TAKE for what was not lent");
	check_hand_over(e, OAE_SWAP);
	e->take = p;
}

/* May this op be? It is not yet carried out. */
void h_before(struct h_event *ev, const struct oae_op *op)
{
	struct end *e = ev->world;

	switch (op->type) {
	case OAE_OP_NOTE:
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
		if (!e->have[0])
			fuzz_breach("DISCARD of nothing");
		break;
	case OAE_OP_DELIVER:
		check_deliver(e, op->slice);
		break;
	case OAE_OP_COMPLETE:
		check_complete(e, op);
		break;
	case OAE_OP_RESULT:
		check_result(e, op->handle);
		break;
	case OAE_OP_TAKE:
		check_take(e, op->handle);
		break;
	case OAE_OP_APPLY:
		check_hand_over(e, OAE_VERB);
		break;
	case OAE_OP_VERB:
		if (!of_this_run(e) || !e->keeps)
			fuzz_breach("VERB, and there is none");
		break;
	case OAE_OP_TIMER:
		if (op->at <= e->now)
			fuzz_breach("TIMER in the past");
		break;
	case OAE_OP_GONE:
		if (e->link.state != OAE_CLOSED || e->nposts)
			fuzz_breach("GONE, but not all has ended");
		break;
	}
}

/* --- what is sent --- */

static const u8 zeros[END_MTU_MAX];

/* A receiver takes it for what it is; with n bytes behind the protocol's own. */
static void check_good(const struct oae_frame *f, const u8 *payload, size_t n)
{
	u8 buf[OAE_PARSE_MAX + END_MTU_MAX];
	size_t len = oae_frame_build(f, buf);
	struct oae_frame g;
	enum oae_bad bad;

	memcpy(buf + len, payload, n);
	len += n;
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
	*last = (struct end_offer){
		.id = p->id,
		.src_ltag = f->src_ltag,
		.dst_ltag = f->dst_ltag,
		.seq = f->seq,
		.attempt = f->attempt,
	};

	g.slice = s->nslices - 1;
	g.length = p->len - g.slice * p->cut;
	g.flags |= OAE_F_LAST;
	g.payload_hash = oae_slice_hash(zeros, g.length, g.slice);
	check_good(&g, zeros, g.length);
}

/* The half that is lent, or the answer: behind the body of its REFLECT. */
static void check_more(struct end *e, const struct oae_send *s)
{
	u8 all[OAE_REFLECT_LEN + END_MTU_MAX] = { 0 };
	const struct oae_link *l = &e->link;
	const struct end_post *p = at_link(e, s->handle);
	struct oae_frame f = s->frame;
	u16 n = f.length - OAE_REFLECT_LEN;

	if (l->hold.state != OAE_HOLD_HELD || l->hold.kind != f.kind ||
	    f.seq != l->rx + 1 || f.length <= OAE_REFLECT_LEN ||
	    f.length > oae_link_slice_max(l))
		fuzz_breach("REFLECT with %u bytes, kind %u", f.length, f.kind);
	if (f.kind == OAE_SWAP &&
	    (!p || l->half.p.handle != s->handle || n != p->len))
		fuzz_breach("REFLECT with another half");
	/* Again it is the same. */
	if (f.kind == OAE_VERB &&
	    n != (e->before.hold.state == OAE_HOLD_HELD && !e->keeps ?
		  e->reflected_more : e->reply))
		fuzz_breach("REFLECT with another answer");
	e->reflected_more = n;
	oae_reflect_body(&f, all);
	f.payload_hash = oae_slice_hash(all, f.length, 0);
	check_good(&f, zeros, n);
}

static void check_reflect(struct end *e, const struct oae_send *s)
{
	const struct oae_frame *f = &s->frame;
	const struct oae_link *l = &e->link;
	u64 digest;

	if (f->kind != OAE_MESSAGE)
		check_more(e, s);
	else
		check_good(f, zeros, 0);

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
	/* A peer that closes has forgotten what it offered. */
	if (e->gone)
		return;
	if (!f->gap_map || f->gap_map != (mask(e->link.hold.nslices) & ~e->have[0]))
		fuzz_breach("REFUSE GAP names %llx",
			    (unsigned long long)f->gap_map);
}

/* May this be sent? The ops of this event are carried out. */
void h_before_send(struct h_event *ev, const struct oae_send *s)
{
	struct end *e = ev->world;
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
	if (f->opcode == OAE_REFLECT) {
		check_reflect(e, s);
		return;
	}
	check_good(f, zeros, 0);
	if (f->opcode == OAE_REFUSE && f->reason == OAE_R_GAP)
		check_gap(e, f);
}

/* --- after the event --- */

static void check_slots(const struct end *e)
{
	const struct oae_link *l = &e->link;

	if (e->kept[0] != l->hold.len)
		fuzz_breach("%u bytes here; the link has %u", e->kept[0],
			    l->hold.len);
	if (l->hold.nslices && e->have[0] & ~mask(l->hold.nslices))
		fuzz_breach("slices %llx of %u", (unsigned long long)e->have[0],
			    l->hold.nslices);
	if (l->hold.state == OAE_HOLD_HELD &&
	    (e->have[0] != mask(l->hold.nslices) ||
	     e->reflected != end_slots_digest(e, l->hold.nslices)))
		fuzz_breach("held, but not whole, or not reflected");
	if (e->result || e->take)
		fuzz_breach("RESULT or TAKE, and not committed");
}

static void check_posts(struct end *e)
{
	const struct oae_link *l = &e->link;
	unsigned int i, n = 0;

	for (i = 0; i < e->nposts; i++)
		n += e->post[i]->at_link;
	if (n != (l->offer.state != OAE_OFFER_NONE) + l->next_valid +
		 l->naside +
		 (l->half.state != OAE_HALF_NONE &&
		  l->half.state != OAE_HALF_OFFERED))
		fuzz_breach("%u transactions at the link, which has others", n);
	if (l->offer.state != OAE_OFFER_NONE &&
	    !at_link(e, l->offer.p.handle))
		fuzz_breach("offered is what the link has not got");
	if (l->next_valid && !at_link(e, l->next.handle))
		fuzz_breach("next is what the link has not got");
	if (l->naside && !at_link(e, l->aside.handle))
		fuzz_breach("aside is what the link has not got");
	if (l->offer.state == OAE_OFFER_SLICING)
		fuzz_breach("waits for slices that it has got");
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
	if (l->half.state == OAE_HALF_WAITING &&
	    e->timer_at > l->half.again_at && e->timer_at > e->latest + 1)
		fuzz_breach("a half waits, and no timer for it");
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
	check_timer(e);
}
