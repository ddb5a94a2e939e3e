// SPDX-License-Identifier: GPL-2.0
/*
 * What an end is held to, whatever its peer says, beside what tests/harness holds
 * every end to: see end.h. The peer may lie, so this is not about what it was told,
 * but about what this end may make of it:
 *
 *   - each transaction ends with an outcome that the event allows
 *   - COMMITTED only in order, for a reflection of what was offered last under its number,
 *     word for word, an express that the peer says it has delivered, or a half that was lent for
 *     what the peer says is committed
 *   - delivered, taken or applied is what was reflected, whole, when the peer says it is committed
 *   - what is kept is what the link thinks, and within the limits
 *   - what it sends is good, true, and of this run
 *   - it has a timer, unless CLOSED
 */
#include "end.h"
#include "../../modoae/link/link_int.h"

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
	       e->link.peer.inc != e->before.peer.inc;
}

/**
 * end_slots_digest() - the digest of the slices that are here
 * @e: the end
 * @seq: of which number
 * @n: how many make up the whole
 *
 * Return: their digest.
 */
u64 end_slots_digest(const struct end *e, u32 seq, unsigned int n)
{
	u64 hash[OAE_MAX_SLICES];
	unsigned int i;

	for (i = 0; i < n; i++)
		hash[i] = e->slot[h_lane(seq)][i].hash;
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
		return f->src_ltag == e->before.peer.ltag;
	return true;
}

/* May its tx and rx be taken for the peer's? They may be about another me. */
static bool resolves(const struct end *e)
{
	u8 opcode = e->f->opcode;

	return frozen(&e->before) &&
	       (opcode == OAE_SYNC || opcode == OAE_SYNC_ACK ||
		opcode == OAE_OFFER || opcode == OAE_COMMIT || opcode == OAE_ASK);
}

static bool same_ends(const struct end *e)
{
	const struct oae_frame *f = e->f;
	u64 inc = is_sync(f->opcode) ? f->sync.inc : frozen(&e->before) ?
		  e->before.heard.inc : e->before.peer.inc;

	return inc == e->before.peer.inc;
}

/* Is it this one, or above it? */
static bool reaches(u32 seq, u32 tx)
{
	return oae_dist(seq, tx) >= 0 && oae_dist(seq, tx) < H_LANES;
}

/* Are its tx and rx those of a run? */
static bool says_counters(const struct end *e)
{
	u8 opcode = e->f->opcode;

	if (is_sync(opcode) && e->f->sync.peer_inc != e->before.inc)
		return false;
	return opcode != OAE_SYNC_CHK && opcode != OAE_NOLINK && opcode != OAE_HELLO &&
	       opcode != OAE_PATH;
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
		return resolves(e) && reaches(seq, f->sync.start);
	return says_counters(e) && reaches(seq, f->tx);
}

/* What went out last under the number of this frame. */
static const struct end_offer *last_of(const struct end *e)
{
	return &e->last[h_lane(e->f->seq)];
}

/* The reflection of just this offer. */
static bool reflects(const struct end *e, const struct end_post *p)
{
	const struct oae_frame *f = e->f;
	const struct end_offer *last;

	if (e->before.state != OAE_OPEN || !of_this_run(e) || f->opcode != OAE_REFLECT)
		return false;
	last = last_of(e);
	return last->id == p->id && last->src_ltag == f->dst_ltag &&
	       last->dst_ltag == f->src_ltag && last->seq == f->seq &&
	       f->reflect.digest == p->post.digest &&
	       f->reflect.first == p->post.first && f->kind == p->kind &&
	       (p->kind != OAE_VERB ||
		f->length == OAE_REFLECT_LEN + p->reply);
}

/* Its lane before the event; NULL: it had none. */
static const struct oae_lane *lane_before(const struct end *e, const struct end_post *p)
{
	u32 seq;

	if (!oae_lane_find(&e->before, H_HANDLE(p->id), &seq))
		return NULL;
	return oae_lane(&e->before, seq);
}

/* It waited for those below it to be committed: check_reflected() has seen why. */
static bool was_reflected(const struct end *e, const struct end_post *p)
{
	const struct oae_lane *n = lane_before(e, p);

	return e->before.state == OAE_OPEN && of_this_run(e) && n &&
	       n->state == OAE_OFFER_REFLECTED && e->f->opcode == OAE_REFLECT;
}

/* This half went out in a REFLECT. */
static bool was_lent(const struct end *e, const struct end_post *p)
{
	return e->before.half.state == OAE_HALF_LENT &&
	       e->before.swaps->half.handle == H_HANDLE(p->id);
}

/* Resolving shows that an express was delivered, or the answer to nothing in its place does. */
static bool tells_express(const struct end *e, const struct end_post *p)
{
	const struct oae_lane *n = lane_before(e, p);
	const struct oae_frame *f = e->f;

	if (!(p->flags & OAE_POST_EXPRESS) || !of_this_run(e) || f->rx != e->before.tx + 1)
		return false;
	if (e->before.state == OAE_OPEN)
		return n && n->recalled && f->opcode == OAE_REFLECT;
	return resolves(e) && same_ends(e) &&
	       (!is_sync(f->opcode) || f->sync.peer_inc == e->before.inc);
}

/* --- ops --- */

/*
 * The peer has refused this express for good, or reflected nothing in its place; or it closes, and
 * takes nothing above a number below this one.
 */
static bool peer_has_not(const struct end *e, const struct oae_lane *n)
{
	const struct oae_frame *f = e->f;

	if (!f || !of_this_run(e))
		return false;
	if (f->opcode == OAE_CLOSE)
		return !f->reason && f->seq == e->before.tx;
	if (f->seq != last_of(e)->seq)
		return false;
	return n->recalled ? f->opcode == OAE_REFLECT && f->kind == OAE_VOID :
			     f->opcode == OAE_REFUSE && f->kind == OAE_MESSAGE;
}

static void check_reversed(const struct end *e, const struct end_post *p, int err)
{
	const struct oae_lane *n = lane_before(e, p);
	const struct oae_frame *f = e->f;
	/* Too long for this run, which the peer is seen to be in (4.3), or was before. */
	bool open = n && !n->offered && e->before.state == OAE_OPEN;
	bool proved = (open && !n->doubt) ||
		      (n && f && f->opcode != OAE_SYNC && of_this_run(e) &&
		       (open || (resolves(e) && f->rx == e->before.tx && err == OAE_E_TOO_BIG)));

	if (!n || oae_lane_reversible(n) || !p->offered ||
	    !(p->flags & OAE_POST_EXPRESS))
		return;
	/* Only by the peer's word that it did not take it. */
	if (!peer_has_not(e, n) && !proved)
		fuzz_breach("express #%u reversed, and was offered", p->id);
}

/* A verb that has its answer may wait for those below it. */
static bool waits(const struct end_post *p)
{
	return p->kind == OAE_VERB && p->answered;
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
		if ((p->kind != OAE_MESSAGE) != (e->result == p || waits(p)))
			fuzz_breach("#%u committed, with or without RESULT",
				    p->id);
		e->result = NULL;
		if (++e->commits > e->before.win)
			fuzz_breach("#%u committed, %u at once", p->id,
				    e->commits);
		if ((!p->offered && p->kind != OAE_SWAP) ||
		    (!reflects(e, p) && !was_reflected(e, p) && !tells_express(e, p)))
			fuzz_breach("#%u committed, but why?", p->id);
		break;
	case OAE_REVERSED:
		check_reversed(e, p, op->err);
		break;
	case OAE_UNKNOWN:
		if (!other_ends(e) || (!p->offered && p->kind != OAE_SWAP))
			fuzz_breach("#%u UNKNOWN, and nobody died", p->id);
	}
}

/*
 * What the frame is about is whole now: a slice was kept, or one that was here is said to be
 * LAST. A verb above it may have waited for that.
 */
static bool made_whole(const struct end *e)
{
	/* An express is delivered by now. */
	return e->keeps || e->link.rx != e->before.rx ||
	       (oae_hold_of(&e->before, e->f->seq)->state != OAE_HOLD_HELD &&
		oae_hold_of(&e->link, e->f->seq)->state == OAE_HOLD_HELD);
}

void end_check_verb(const struct end *e)
{
	if (!of_this_run(e) || !made_whole(e))
		fuzz_breach("a verb is computed, and there is none");
}

static void check_keep(struct end *e, u32 seq, unsigned int n)
{
	const struct oae_link *l = &e->link;
	bool closed = l->state == OAE_CLOSED, froze = frozen(l);
	/* What the event has done since: the link may have ended, or another run begun. */
	u32 most = closed || froze ? H_LANES : l->window;
	u32 rx = closed ? e->before.rx : l->rx;

	if (!of_this_run(e) || e->keeps++ || seq != e->f->seq)
		fuzz_breach("KEEP of slice %u, which is not this frame's", n);
	/* An express is delivered by now. */
	if (seq - rx > most)
		fuzz_breach("KEEP of a slice of transaction %u", seq);
}

/* What stands here of a number was held before the event, and reflected so. */
static bool check_same(const struct end *e, u32 seq, unsigned int n)
{
	const struct end_answer *said = &e->said[h_lane(seq)];

	return said->reflected && end_slots_digest(e, seq, n) == said->digest &&
	       e->slot[h_lane(seq)][0].first == said->first;
}

static void check_deliver(struct end *e, u32 seq, unsigned int n)
{
	const struct oae_hold *h = oae_hold_of(&e->before, seq);
	const struct oae_frame *f = e->f;
	bool express;

	if (!other_ends(e) && e->before.rx - seq < H_LANES)
		fuzz_breach("%u delivered, and is not the next", seq);
	if (h->state == OAE_HOLD_HELD && says_committed(e, seq)) {
		if (!check_same(e, seq, n))
			fuzz_breach("delivered what was not reflected");
		return;
	}
	if (!of_this_run(e))
		fuzz_breach("%u delivered, and the frame is of no run", seq);
	/* The first slice says what it is. */
	express = h->state == OAE_HOLD_PARTIAL && h->express;
	if (f->opcode != OAE_OFFER ||
	    !(express || f->flags & OAE_F_EXPRESS) ||
	    !(f->seq == seq || (resolves(e) && f->seq == e->link.rx)))
		fuzz_breach("%u delivered, but why?", seq);
	e->owes_reflect = true;
}

/* A half or a verb that was held is handed over. */
static void check_hand_over(struct end *e, u32 seq, u8 kind)
{
	const struct oae_hold *h = oae_hold_of(&e->before, seq);

	if (h->state != OAE_HOLD_HELD || h->kind != kind || !says_committed(e, seq))
		fuzz_breach("%u handed over, but why?", seq);
	if (!check_same(e, seq, 1))
		fuzz_breach("handed over what was not reflected");
}

static void check_result(struct end *e, const void *handle)
{
	const struct end_post *p = at_link(e, handle);

	if (!p || e->result || !reflects(e, p))
		fuzz_breach("RESULT, but of what?");
	if (p->kind != OAE_VERB)
		e->result = p;
}

static void check_take(struct end *e, u32 seq, const void *handle)
{
	const struct end_post *p = at_link(e, handle);

	if (!p || !was_lent(e, p))
		fuzz_breach("TAKE for what was not lent");
	check_hand_over(e, seq, OAE_SWAP);
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
		    !at_link(e, op->handle) && !just_ended(e, op->handle))
			fuzz_breach("OFFERED, but nothing is");
		break;
	case OAE_OP_KEEP:
		check_keep(e, op->seq, op->slice);
		break;
	case OAE_OP_DISCARD:
		if (!e->have[h_lane(op->seq)] &&
		    oae_hold_of(&e->before, op->seq)->kind != OAE_VOID)
			fuzz_breach("DISCARD of nothing");
		break;
	case OAE_OP_DELIVER:
		check_deliver(e, op->seq, op->slice);
		break;
	case OAE_OP_COMPLETE:
		check_complete(e, op);
		break;
	case OAE_OP_RESULT:
		check_result(e, op->handle);
		break;
	case OAE_OP_TAKE:
		check_take(e, op->seq, op->handle);
		break;
	case OAE_OP_APPLY:
		check_hand_over(e, op->seq, OAE_VERB);
		break;
	case OAE_OP_TIMER:
		if (op->at <= e->now)
			fuzz_breach("TIMER in the past");
		e->dead = e->cfg.dead;
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

/* Is it about this number, in the run in which that was offered last? */
static bool is_of(const struct end_offer *last, const struct oae_frame *f)
{
	return last->src_ltag == f->src_ltag && last->dst_ltag == f->dst_ltag &&
	       last->seq == f->seq;
}

/* In a run a number has one content, and perhaps nothing (VOID) after it. */
static void check_content(const struct end_offer *last, const struct end_offer *next)
{
	if (!next->id)
		return;
	if (!last->id)
		fuzz_breach("OFFER of #%u as %u, which is nothing", next->id, next->seq);
	if (last->id != next->id || last->digest != next->digest || last->flags != next->flags)
		fuzz_breach("OFFER of #%u as %u, which is #%u, or not as before", next->id,
			    next->seq, last->id);
}

static void check_offer(struct end *e, const struct oae_send *s)
{
	struct end_post *p = at_link(e, s->handle);
	const struct oae_frame *f = &s->frame;
	struct end_offer *last = &e->last[h_lane(f->seq)];
	bool nothing = f->kind == OAE_VOID;
	struct end_offer next = {
		.id = p ? p->id : 0,
		.src_ltag = f->src_ltag,
		.dst_ltag = f->dst_ltag,
		.seq = f->seq,
		.digest = p ? p->post.digest : 0,
		.kind = f->kind,
		.flags = f->flags,
	};
	struct oae_send g = *s;

	if (f->seq - f->tx - 1 >= oae_link_window(&e->link))
		fuzz_breach("OFFER of %u, tx %u", f->seq, f->tx);
	if (nothing && (s->handle || s->slices != 1))
		fuzz_breach("OFFER of nothing, which is something");
	if (!p && !nothing)
		fuzz_breach("OFFER of what the link has not got");
	if (p && (!s->slices || s->slices & ~mask(p->post.nslices) ||
		  s->nslices != p->post.nslices ||
		  s->slice_max != p->post.slice_max ||
		  s->slice_max > oae_link_slice_max(&e->link)))
		fuzz_breach("OFFER of slices %llx of %u",
			    (unsigned long long)s->slices, s->nslices);
	if (is_of(last, f))
		check_content(last, &next);
	if (p && !f->flags != !(p->flags & OAE_POST_EXPRESS))
		if (!(f->flags & OAE_F_RESUME))
			fuzz_breach("OFFER of %u, flags %x", f->seq, f->flags);
	if (f->flags & OAE_F_RESUME && f->seq != e->link.run_tx + 1)
		fuzz_breach("OFFER of %u, of which no earlier run has left any", f->seq);
	*last = next;

	if (nothing) {
		if (f->marks != OAE_M_ANSWER)
			fuzz_breach("OFFER of nothing that wants no answer");
		check_good(f, zeros, 0);
		return;
	}
	oae_send_slice(&g, 63 - __builtin_clzll(s->slices));
	if (g.frame.marks != OAE_M_ANSWER)
		fuzz_breach("OFFER that wants no answer");
	g.frame.length = g.frame.flags & OAE_F_LAST ? p->len - g.frame.slice * p->cut : p->cut;
	g.frame.payload_hash = oae_slice_hash(zeros, g.frame.length, g.frame.slice);
	check_good(&g.frame, zeros, g.frame.length);
}

/* The half that is lent, or the answer: behind the body of its REFLECT. */
static void check_more(struct end *e, const struct oae_send *s)
{
	u8 all[OAE_REFLECT_LEN + END_MTU_MAX] = { 0 };
	const struct oae_link *l = &e->link;
	const struct end_post *p = at_link(e, s->handle);
	const struct oae_hold *h = oae_hold_of(l, s->frame.seq);
	struct oae_frame f = s->frame;
	u16 n = f.length - OAE_REFLECT_LEN;

	if (h->state != OAE_HOLD_HELD || h->kind != f.kind ||
	    (f.seq != l->rx + 1 && f.kind != OAE_VERB) || f.length <= OAE_REFLECT_LEN ||
	    f.length > oae_link_slice_max(l))
		fuzz_breach("REFLECT with %u bytes, kind %u", f.length, f.kind);
	if (f.kind == OAE_SWAP &&
	    (!p || l->swaps->half.handle != s->handle || n != p->len))
		fuzz_breach("REFLECT with another half");
	if (f.kind == OAE_VERB && n != e->answer[h_lane(f.seq)])
		fuzz_breach("REFLECT with another answer");
	oae_reflect_body(&f, all);
	f.payload_hash = oae_slice_hash(all, f.length, 0);
	check_good(&f, zeros, n);
}

/* The record of the answers about a number in this run; a new one at its first frame. */
static struct end_answer *answer_of(struct end *e, const struct oae_frame *f)
{
	struct end_answer *said = &e->said[h_lane(f->seq)];

	if (said->src_ltag != f->src_ltag || said->dst_ltag != f->dst_ltag ||
	    said->seq != f->seq)
		*said = (struct end_answer){
			.src_ltag = f->src_ltag, .dst_ltag = f->dst_ltag, .seq = f->seq,
		};
	return said;
}

/* An answer that reflects, or refuses for good, stays the same in a run, until VOID comes. */
static void check_answer(struct end *e, const struct oae_frame *f)
{
	struct end_answer *said = answer_of(e, f);
	bool nothing = f->kind == OAE_VOID;

	if (said->nothing && !nothing)
		fuzz_breach("REFLECT of %u, which was nothing", f->seq);
	if (said->refused && !nothing)
		fuzz_breach("REFLECT of %u, which was refused for good", f->seq);
	if (said->reflected && !nothing && (f->reflect.digest != said->digest ||
					    f->reflect.first != said->first))
		fuzz_breach("REFLECT of %u, which was another content", f->seq);
	said->reflected = true;
	said->nothing = nothing;
	said->digest = f->reflect.digest;
	said->first = f->reflect.first;
}

static void check_refuse(struct end *e, const struct oae_frame *f)
{
	struct end_answer *said = answer_of(e, f);

	if (f->kind != OAE_VOID && said->nothing)
		fuzz_breach("REFUSE of %u, which was nothing", f->seq);
	if (f->reason != OAE_R_BUSY && f->reason != OAE_R_NO_HALF && f->reason != OAE_R_CONFLICT)
		said->refused = true;
}

static void check_reflect(struct end *e, const struct oae_send *s)
{
	const struct oae_frame *f = &s->frame;
	const struct oae_link *l = &e->link;
	const struct oae_hold *h = oae_hold_of(l, f->seq);
	u64 digest, empty = oae_slice_hash("", 0, 0);
	bool here = f->seq - l->rx - 1 < l->window;

	if (f->kind == OAE_SWAP || f->kind == OAE_VERB)
		check_more(e, s);
	else
		check_good(f, zeros, 0);
	check_answer(e, f);

	if (here && h->state == OAE_HOLD_HELD && h->kind == OAE_VOID) {
		if (f->kind != OAE_VOID || f->reflect.first ||
		    f->reflect.digest != oae_whole_digest(&empty, 1))
			fuzz_breach("REFLECT of nothing, which is something");
		return;
	}
	if (here && h->state == OAE_HOLD_HELD) {
		digest = end_slots_digest(e, f->seq, h->nslices);
		if (f->reflect.first != end_slots(e, f->seq)->first)
			fuzz_breach("REFLECT of other first bytes");
	} else if (e->owes_reflect && f->seq == f->rx) {
		digest = e->delivered;
		e->owes_reflect = false;
	} else {
		/* Of an express that was delivered; a link that has ended knows no more. */
		if (e->gone)
			return;
		if (f->seq != l->rx || !l->last_express)
			fuzz_breach("REFLECT of %u, which is not held", f->seq);
		return;
	}
	if (f->reflect.digest != digest)
		fuzz_breach("REFLECT of what is not here");
}

/* An ASK is about a number in flight, or a probe: about tx + 1, no longer than the port carries. */
static void check_ask(const struct end *e, const struct oae_frame *f)
{
	const struct end_offer *last = &e->last[h_lane(f->seq)];
	bool probes = f->length && f->seq == f->tx + 1;
	struct oae_frame g = *f;

	if (f->length > e->link.mtu.here - OAE_HDR_LEN || (f->length && !probes))
		fuzz_breach("ASK for %u with %u bytes", f->seq, f->length);
	g.payload_hash = oae_slice_hash(zeros, f->length, 0);
	check_good(&g, zeros, f->length);
	if (probes && !f->kind && !f->flags && !f->marks)
		return;
	if (f->marks || !is_of(last, f) || last->kind != f->kind ||
	    (!probes && (f->flags ^ last->flags) & OAE_F_EXPRESS))
		fuzz_breach("ASK for %u, kind %u, which was not offered last", f->seq, f->kind);
}

/* An ACK says which slices are here; one about VOID, that none are. */
static void check_ack(const struct end *e, const struct oae_frame *f)
{
	const struct oae_hold *h = oae_hold_of(&e->link, f->seq);
	u64 have = 0;

	/* A peer that closes has forgotten what it offered. */
	if (e->gone)
		return;
	if (oae_hold_begun(h) && (h->kind == OAE_VOID || f->kind != OAE_VOID))
		have = e->have[h_lane(f->seq)];
	if (f->have != have)
		fuzz_breach("ACK of %llx, here is %llx", (unsigned long long)f->have,
			    (unsigned long long)have);
}

/* By how much a counter may have moved since a frame of this event was made. */
static u32 moved(const struct end *e, u32 now, u32 then, u32 n)
{
	return other_ends(e) ? n : now - then;
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
	    (e->link.tx - f->tx > moved(e, e->link.tx, e->before.tx, e->commits) ||
	     e->link.rx - f->rx > moved(e, e->link.rx, e->before.rx, e->deliveries)))
		fuzz_breach("sent with counters that are not so");
	if (f->opcode == OAE_OFFER) {
		check_offer(e, s);
		return;
	}
	if (f->opcode == OAE_REFLECT) {
		check_reflect(e, s);
		return;
	}
	if (f->opcode == OAE_ASK) {
		check_ask(e, f);
		return;
	}
	check_good(f, zeros, 0);
	if (f->opcode == OAE_ACK)
		check_ack(e, f);
	else if (f->opcode == OAE_REFUSE)
		check_refuse(e, f);
}

/* --- after the event --- */

static void check_hold(const struct end *e, u32 seq)
{
	const struct oae_hold *h = oae_hold_of(&e->link, seq);
	u64 have = e->have[h_lane(seq)];

	if (h->kind == OAE_VOID)
		return;
	if (e->kept[h_lane(seq)] != h->len)
		fuzz_breach("%u bytes here of %u; the link has %u", e->kept[h_lane(seq)], seq,
			    h->len);
	if (h->nslices && have & ~mask(h->nslices))
		fuzz_breach("slices %llx of %u", (unsigned long long)have, h->nslices);
	if (h->state == OAE_HOLD_HELD &&
	    (have != mask(h->nslices) ||
	     !check_same(e, seq, h->nslices)))
		fuzz_breach("%u is held, but not whole, or not reflected", seq);
}

static void check_slots(const struct end *e)
{
	const struct oae_link *l = &e->link;
	u32 i, n = l->pair ? l->npairs : 1;

	for (i = 1; i <= n; i++)
		check_hold(e, l->rx + i);
	if (e->result || e->take)
		fuzz_breach("RESULT or TAKE, and not committed");
}

/* A lane is reflected by a frame that says what was offered last, and stays so. */
static void check_reflected(const struct end *e, u32 seq)
{
	const struct oae_lane *n = oae_lane(&e->link, seq), *b = oae_lane(&e->before, seq);
	const struct oae_frame *f = e->f;

	if (n->state != OAE_OFFER_REFLECTED)
		return;
	if (!other_ends(e) && seq - e->before.tx <= e->before.nlanes &&
	    b->state == OAE_OFFER_REFLECTED && b->p.handle == n->p.handle &&
	    b->p.kind == n->p.kind)
		return;
	if (!f || f->opcode != OAE_REFLECT || !of_this_run(e) || f->seq != seq ||
	    f->reflect.digest != n->p.digest ||
	    f->reflect.first != n->p.first || f->kind != n->p.kind)
		fuzz_breach("%u is reflected, but why?", seq);
}

static void check_posts(struct end *e)
{
	const struct oae_link *l = &e->link;
	unsigned int i, n = 0, nothing = 0;

	for (i = 0; i < e->nposts; i++)
		n += e->post[i]->at_link;
	for (i = 1; i <= l->nlanes; i++) {
		const struct oae_lane *x = oae_lane(l, l->tx + i);

		nothing += x->p.kind == OAE_VOID && !x->recalled;
		if ((x->p.kind != OAE_VOID || x->recalled) && !at_link(e, x->p.handle))
			fuzz_breach("offered is what the link has not got");
		if (x->state == OAE_OFFER_NONE)
			fuzz_breach("a lane has nothing");
		if (l->state == OAE_OPEN)
			check_reflected(e, l->tx + i);
	}
	if (nothing && l->state != OAE_OPEN)
		fuzz_breach("something stands for what was reversed, and there is no run");
	if (n != l->nlanes - nothing + l->next_valid + l->naside +
		 (l->half.state != OAE_HALF_NONE &&
		  l->half.state != OAE_HALF_OFFERED))
		fuzz_breach("%u transactions at the link, which has others", n);
	if (l->next_valid && !at_link(e, l->next.handle))
		fuzz_breach("next is what the link has not got");
	for (i = 0; i < l->naside; i++)
		if (!at_link(e, oae_aside(l, i)->handle))
			fuzz_breach("aside is what the link has not got");
}

/* Nothing (VOID) may be committed, too, and be delivered. */
static void check_counters(const struct end *e)
{
	const struct oae_link *l = &e->link;
	u32 tx = l->tx - e->before.tx, rx = l->rx - e->before.rx;

	if (other_ends(e))
		return;
	if (rx < e->deliveries || rx - e->deliveries > H_LANES)
		fuzz_breach("rx %u, was %u, %u delivered", l->rx, e->before.rx,
			    e->deliveries);
	if (tx < e->commits || tx - e->commits > H_LANES)
		fuzz_breach("tx %u, was %u, %u committed", l->tx, e->before.tx,
			    e->commits);
}

/* How long the timer waits at most once it has asked @n times, the first time for @first. */
static u64 asks_in(const struct end *e, u64 first, unsigned int n)
{
	u64 dead = e->dead > e->cfg.dead ? e->dead : e->cfg.dead;
	u64 most = dead / 4, wait = first << (n ? n - 1 : 0);

	return wait < most ? wait : most;
}

/* 4.4: what is not answered for the probe timeout is asked for. */
static void check_timer(const struct end *e)
{
	const struct oae_link *l = &e->link;
	const struct oae_lane *n = oae_first_lane(l);
	u64 asks = e->latest + asks_in(e, oae_link_pto(l), l->timer.asks);
	u64 reflects = e->latest + asks_in(e, 2 * oae_link_pto(l), l->timer.reflects);

	if (!e->timer_at || e->timer_at != l->timer.at)
		fuzz_breach("no timer, or another");
	if (!l->close_sent && e->timer_at > e->latest + TIMER_FAR)
		fuzz_breach("the timer is far away");
	if (l->state != OAE_OPEN)
		return;
	/* The clock may have gone back: then it is the later time. */
	if (n->state == OAE_OFFER_OUT && e->timer_at > asks)
		fuzz_breach("offered, and no timer for it");
	if (l->nheld && oae_hold_stalled(l) && e->timer_at > reflects)
		fuzz_breach("held, and no timer for it");
	if ((l->nparked || (l->credit.said_blocked && !l->await_done)) &&
	    e->timer_at > l->park_at && e->timer_at > e->latest + 1)
		fuzz_breach("parked, or blocked, and no timer for it");
	if (l->half.state == OAE_HALF_WAITING &&
	    e->timer_at > l->swaps->again_at && e->timer_at > e->latest + 1)
		fuzz_breach("a half waits, and no timer for it");
	if (l->await_done && e->timer_at > asks)
		fuzz_breach("DONE asked for, and no timer for it");
}

/* 4.11: how many frames may be under way. */
static void check_window(const struct end *e)
{
	const struct oae_link *l = &e->link;

	if (l->state != OAE_OPEN)
		return;
	if (!l->cong.cwnd || l->cong.cwnd > OAE_WINDOW_MAX * OAE_MAX_SLICES)
		fuzz_breach("%u frames may be under way", l->cong.cwnd);
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
	check_window(e);
}
