// SPDX-License-Identifier: GPL-2.0
/*
 * A frame out of a record. The peer sees into the end, so that what it says is
 * often just what fits, or just next to it. All zeros fits in everything.
 *
 *   1   opcode; which grant
 *   2   ltags and counters: 0-1 dst_ltag, 2-3 src_ltag, 4-5 tx, 6-7 rx
 *   3   0-1 seq, 5-7 kind
 *   4   flags; 5-6 the number, or what was heard; 7 NOW, BLOCKED
 *   5   what the opcode has: see body()
 *   6   a byte for it
 */
#include "hostile.h"
#include "../../modoae/link/link_int.h"

#define BITS(byte, from, n)	((byte) >> (from) & ((1 << (n)) - 1))

/**
 * hostile_init() - a peer that has said nothing
 * @h: the peer
 */
void hostile_init(struct hostile *h)
{
	memset(h, 0, sizeof(*h));
	h->ltag = 0x1001;
	h->inc = 0xa000000000000001ULL;
}

/* This, the one before, the one after, one of a window, or far from it. */
static u32 near(u32 v, unsigned int how, u8 far)
{
	u32 other = v + (far & 0x80 ? (u32)far << 24 | far : far % 16);
	const u32 values[] = { v, v + 1, v - 1, other };

	return values[how];
}

static u32 dst_ltag(const struct hostile *h, const struct end *e,
		    unsigned int how)
{
	const u32 values[] = { e->link.ltag, h->end_old_ltag, 0, ~e->link.ltag };

	return values[how];
}

static u32 src_ltag(struct hostile *h, const struct end *e, unsigned int how)
{
	switch (how) {
	case 1:
		h->old_ltag = h->ltag;
		return ++h->ltag;
	case 2:
		return h->old_ltag;
	case 3:
		return e->link.ltag;
	default:
		return e->link.peer.ltag ? e->link.peer.ltag : h->ltag;
	}
}

/* Is it an answer to what the end offers? */
static bool is_about_lane(u8 opcode)
{
	return opcode == OAE_REFLECT || opcode == OAE_REFUSE || opcode == OAE_ACK;
}

static u8 kind(const struct end *e, bool answer, u32 seq, unsigned int how)
{
	const struct oae_lane *n = oae_lane(&e->link, seq);
	bool offered = n->state != OAE_OFFER_NONE;
	const u8 values[8] = {
		[0] = answer && offered ? n->p.kind : OAE_MESSAGE, [4] = OAE_VOID,
		[5] = oae_hold_of(&e->link, seq)->kind, [6] = OAE_SWAP, [7] = OAE_VERB,
	};

	return values[how];		/* the others: OAE_MESSAGE, 0 */
}

/* Slices of what the end offers next: none, LAST, all, or one that is another. */
static void sync_kept(const struct oae_post *p, unsigned int how, struct oae_frame *f)
{
	unsigned int i, n, last = p->nslices - 1;
	u64 hash[OAE_MAX_SLICES], first;
	u32 off;

	/* What is not cut yet may be longer than any frame. */
	if (!how || !p->nslices || p->kind != OAE_MESSAGE || p->slice_max > END_MTU_MAX)
		return;
	for (i = 0, off = 0; i <= last; i++, off += n) {
		n = p->len - off < p->slice_max ? p->len - off : p->slice_max;
		hash[i] = h_slice(NULL, NULL, H_OF(p->handle), i, off, n, &first);
	}
	f->sync.kept = how == 2 ? ~0ULL >> (63 - last) : 1ULL << last;
	f->sync.hash = oae_kept_hash(f->sync.kept, hash) + (how == 3);
	f->sync.last = last;
}

static void sync_body(struct hostile *h, const struct end *e, u8 how, u8 raw,
		      struct oae_frame *f)
{
	static const u32 max_lens[] = { 65536, 0, 100, 0xffffffff };
	static const u16 mtus[] = { 1500, 0, 128, 200, 65535, 1499, 9000, 127 };
	const struct oae_link *l = &e->link;
	const u64 peer_incs[] = { l->inc, 0, ~l->inc, ~l->inc };
	u64 incs[] = { 0, 0, 0, l->inc };

	if (BITS(how, 0, 2) == 1)
		h->inc++;
	incs[0] = l->peer.inc ? l->peer.inc : h->inc;
	incs[1] = h->inc;
	f->sync.inc = incs[BITS(how, 0, 2)];
	f->sync.peer_inc = peer_incs[BITS(how, 2, 2)];
	f->sync.start = BITS(how, 4, 2) ? near(l->rx, BITS(how, 4, 2), raw) : 0;
	f->sync.max_len = max_lens[BITS(how, 6, 2)];
	f->sync.mtu = mtus[BITS(raw, 0, 3)];
	f->sync.caps = BITS(raw, 3, 3);
	sync_kept(&oae_first_lane(l)->p, BITS(raw, 6, 2), f);
}

/* Bytes that are not the same for another slice, transaction or variant. */
static void offer_body(struct hostile *h, u8 how, u8 raw, struct oae_frame *f)
{
	unsigned int i;

	f->slice = how & 63;
	f->length = BITS(how, 6, 1) ? raw * 5 : raw;
	if (f->kind == OAE_VOID)
		f->length = 0;
	else if (f->kind != OAE_MESSAGE && !f->length)
		f->length = 16;
	for (i = 0; i < f->length; i++)
		h->payload[i] = i * 7 + f->slice + f->seq * 3 + (how >> 7);
	f->payload_hash = oae_slice_hash(h->payload, f->length, f->slice);
}

static void reflect_body(struct hostile *h, const struct oae_link *l, u8 how,
			 struct oae_frame *f)
{
	const struct oae_post *p = &oae_lane(l, f->seq)->p;
	u8 all[OAE_REFLECT_LEN + END_MTU_MAX];
	u16 more = 16;

	f->reflect.digest = p->digest + BITS(how, 0, 1);
	f->reflect.first = p->first + BITS(how, 1, 1);
	if (f->kind == OAE_MESSAGE || f->kind == OAE_VOID)
		return;
	if (f->kind == OAE_VERB)
		more = p->reply;
	more += BITS(how, 2, 1);
	if (more > END_MTU_MAX)
		more = END_MTU_MAX;
	memset(h->payload, how, more);
	oae_reflect_body(f, all);
	memcpy(all + OAE_REFLECT_LEN, h->payload, more);
	f->length = OAE_REFLECT_LEN + more;
	f->payload_hash = oae_slice_hash(all, f->length, 0);
}

static void body(struct hostile *h, const struct end *e, u8 how, u8 raw,
		 struct oae_frame *f)
{
	static const u16 turned_away[] = { 0, OAE_R_POLICY, 0, OAE_R_FULL };
	static const u16 refused[] = {
		OAE_R_BUSY, OAE_R_RANGE, OAE_R_NO_HALF, OAE_R_CONFLICT,
		OAE_R_TOO_BIG, OAE_R_KIND, OAE_R_NO_REGION, OAE_R_BAD_VERB,
	};
	const u16 asked[] = { 0, 1, raw, END_MTU_MAX };

	switch (f->opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		sync_body(h, e, how, raw, f);
		break;
	case OAE_OFFER:
		offer_body(h, how, raw, f);
		break;
	case OAE_REFLECT:
		reflect_body(h, &e->link, how, f);
		break;
	case OAE_REFUSE:
		f->reason = refused[BITS(how, 0, 3)];
		break;
	case OAE_ASK:
		f->length = asked[BITS(how, 0, 2)];
		f->payload_hash = oae_slice_hash(h->payload, f->length, 0);
		break;
	case OAE_ACK:
		f->have = ((u64)raw << 56 | raw) >> BITS(how, 3, 5);
		break;
	case OAE_CLOSE:
		f->reason = turned_away[BITS(how, 0, 2)];
		f->flags = BITS(how, 2, 1) ? OAE_F_LAST : 0;
		f->seq = e->link.tx + BITS(how, 3, 3);
		break;
	}
}

/* The number of a question, or what an answer says of them; true or not. */
static void numbers(const struct oae_link *l, u8 how, u8 raw, struct oae_frame *f)
{
	u32 next = l->number.heard + 1;
	const u32 pns[] = { next, next - 1, next - 2, near(next, 3, raw) };
	const u32 acks[] = { l->number.sent, l->number.sent + 1, 0, near(l->number.sent, 3, raw) };

	if (oae_is_question(f->opcode)) {
		f->pn = pns[BITS(how, 5, 2)];
		/* Most of what is offered wants an answer. */
		if (f->opcode == OAE_OFFER && !BITS(how, 7, 1))
			f->marks = OAE_M_ANSWER;
		if (f->opcode == OAE_COMMIT && BITS(how, 7, 1))
			f->marks = OAE_M_BLOCKED;
	} else if (oae_is_answer(f->opcode)) {
		f->ack = acks[BITS(how, 5, 2)];
		f->map = raw * 0x01010101U;
		f->marks = BITS(how, 7, 1) ? OAE_M_NOW : 0;
	}
}

/* All, nothing, something; or just what the end has charged, or less than that. */
static u16 grant(const struct oae_link *l, u8 opcode, unsigned int how)
{
	u16 charged = l->credit.charged / OAE_GRANT_UNIT;
	const u16 values[] = { 0xffff, 0, 4, charged, charged + 4, charged - 1, 1, 0xffff };

	if (opcode == OAE_HELLO || opcode == OAE_NOLINK || opcode == OAE_PATH)
		return 0;
	return values[how % 8];
}

/**
 * hostile_frame() - make the frame that a record asks for
 * @h: the peer
 * @e: the end it is for
 * @r: the record
 * @f: what the end's parser made of it; an OFFER's payload is in @h
 *
 * Return: false if the parser does not take it.
 */
bool hostile_frame(struct hostile *h, const struct end *e, const u8 *r,
		   struct oae_frame *f)
{
	u8 opcode = OAE_SYNC + r[1] % (OAE_OPCODE_END - OAE_SYNC);
	bool answer = is_about_lane(opcode);
	u32 seq = near((answer ? e->link.tx : e->link.rx) + 1, BITS(r[3], 0, 2), r[6]);
	u8 buf[OAE_PARSE_MAX + END_MTU_MAX];
	struct oae_frame g = {
		.opcode = opcode,
		.vc = e->vc,
		.flags = r[4] & ~(OAE_F_VIA | OAE_F_AUTH) & OAE_F_ALL,
		.dst_ltag = dst_ltag(h, e, BITS(r[2], 0, 2)),
		.src_ltag = src_ltag(h, e, BITS(r[2], 2, 2)),
		.tx = near(e->link.rx, BITS(r[2], 4, 2), r[6]),
		.rx = near(e->link.tx, BITS(r[2], 6, 2), r[6]),
		.seq = seq,
		.grant = grant(&e->link, opcode, r[1] / (OAE_OPCODE_END - OAE_SYNC)),
		.kind = kind(e, answer, seq, BITS(r[3], 5, 3)),
	};
	size_t len, more;

	if (h->end_ltag != e->link.ltag) {
		h->end_old_ltag = h->end_ltag;
		h->end_ltag = e->link.ltag;
	}
	/* A half or a verb is one slice, without being asked. */
	if (opcode == OAE_OFFER && g.kind != OAE_MESSAGE)
		g.flags ^= OAE_F_LAST;
	body(h, e, r[5], r[6], &g);
	numbers(&e->link, r[4], r[6], &g);
	len = oae_frame_build(&g, buf);
	more = g.length - (g.length ? oae_frame_body_len(&g) : 0);
	memcpy(buf + len, h->payload, more);
	len += more;
	if (oae_frame_parse(f, buf, len, len))
		return false;
	return !oae_frame_verify(f, buf, oae_slice_hash(buf + f->hdr_len,
							f->length, f->slice));
}
