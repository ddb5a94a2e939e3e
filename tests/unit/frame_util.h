/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests of frames: samples, and the hash from its specification. */
#ifndef OAE_FRAME_UTIL_H
#define OAE_FRAME_UTIL_H

#include "unit.h"
#include "../../modoae/link/frame.h"

#define BUF		2048

/* A frame on the wire. */
struct wire {
	u8 b[BUF];
	size_t len;
};

/*
 * XXH64 once more, from its specification and byte by byte, so that what is on
 * the wire does not depend on the code of the core.
 */
#define P1	0x9e3779b185ebca87ULL
#define P2	0xc2b2ae3d27d4eb4fULL
#define P3	0x165667b19e3779f9ULL
#define P4	0x85ebca77c2b2ae63ULL
#define P5	0x27d4eb2f165667c5ULL

static inline u64 rotl(u64 v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static inline u64 le(const u8 *p, unsigned int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static inline u64 lane(u64 acc, u64 in)
{
	return rotl(acc + in * P2, 31) * P1;
}

static inline u64 spec_xxh64(const void *data, size_t len, u64 seed)
{
	u64 v[4] = { seed + P1 + P2, seed + P2, seed, seed - P1 };
	const u8 *p = data;
	size_t left = len;
	unsigned int i;
	u64 h;

	if (left >= 32) {
		for (; left >= 32; left -= 32)
			for (i = 0; i < 4; i++, p += 8)
				v[i] = lane(v[i], le(p, 8));
		h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) +
		    rotl(v[3], 18);
		for (i = 0; i < 4; i++)
			h = (h ^ lane(0, v[i])) * P1 + P4;
	} else {
		h = seed + P5;
	}
	h += len;
	for (; left >= 8; left -= 8, p += 8)
		h = rotl(h ^ lane(0, le(p, 8)), 27) * P1 + P4;
	for (; left >= 4; left -= 4, p += 4)
		h = rotl(h ^ le(p, 4) * P1, 23) * P2 + P3;
	for (; left; left--, p++)
		h = rotl(h ^ *p * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

static const char payload[] = "This is what I heard you say.";

#define FREE_OPCODE	11	/* it is none */

/* The opcode behind this one: the tests take them all. */
static inline u8 next_opcode(u8 op)
{
	return op + 1 == FREE_OPCODE ? op + 2 : op + 1;
}

/* One frame of each opcode, every field that it may use in use. */
static inline struct oae_frame sample(u8 opcode)
{
	struct oae_frame f = {
		.opcode = opcode,
		.vc = 0x5a,
		.src_ltag = 0x11223344,
		.dst_ltag = 0x55667788,
		.tx = 0xfffffffe,
		.rx = 0x01020304,
		.seq = 0xffffffff,
	};

	if (opcode != OAE_HELLO && opcode != OAE_NOLINK && opcode != OAE_PATH)
		f.grant = 0xa001;

	switch (opcode) {
	case OAE_SYNC:
	case OAE_SYNC_ACK:
	case OAE_SYNC_CHK:
		f.sync.inc = 0x1020304050607080ULL;
		f.sync.peer_inc = 0x90a0b0c0d0e0f001ULL;
		f.sync.caps = 0xcafe0001;
		f.sync.max_len = 0x00010000;
		f.sync.start = 0xfffffff0;
		f.sync.mtu = 1500;
		f.sync.kept = 0xfedcba9876543210ULL;
		f.sync.hash = 0x1122334455667788ULL;
		f.sync.last = 63;
		break;
	case OAE_CLOSE:
		f.reason = OAE_R_POLICY;
		break;
	case OAE_OFFER:
		f.flags = OAE_F_EXPRESS | OAE_F_LAST | OAE_F_RESUME;
		f.marks = OAE_M_ANSWER;
		f.pn = 0xfffffffd;
		f.kind = OAE_MESSAGE;
		f.slice = 63;
		f.length = sizeof(payload);
		f.payload_hash = oae_slice_hash(payload, sizeof(payload), 63);
		break;
	case OAE_REFLECT:
		f.marks = OAE_M_NOW;
		f.ack = 0x80000001;
		f.map = 0x8000000f;
		f.reflect.digest = 0x0123456789abcdefULL;
		f.reflect.first = 0xfedcba9876543210ULL;
		break;
	case OAE_COMMIT:
		f.flags = OAE_F_WANT_DONE;
		f.marks = OAE_M_BLOCKED;
		f.pn = 3;
		break;
	case OAE_REFUSE:
		f.ack = 4;
		f.map = 7;
		f.reason = OAE_R_BUSY;
		break;
	case OAE_ASK:
		f.flags = OAE_F_EXPRESS;
		f.pn = 5;
		break;
	case OAE_ACK:
		f.ack = 6;
		f.map = 0x40000001;
		f.marks = OAE_M_NOW;
		f.have = 0x8000000000000001ULL;
		break;
	case OAE_HELLO:
		f.hello.flags = OAE_HELLO_GATEWAY | OAE_HELLO_ABOUT;
		f.hello.zone = 0x0102;
		f.hello.mtu = 1432;
		f.hello.epoch = 0xfedc;
		f.hello.inc = 0xa0b0c0d0;
		f.hello.life = 35;
		f.hello.node_life = 300;
		memcpy(f.hello.about, "\x02\x0a\xe0\x00\x00\x07", 6);
		break;
	case OAE_PATH:
		f.path.role = OAE_PATH_ANSWER;
		f.path.mtu = 8999;
		memcpy(f.path.to, "\x02\x0a\xe0\x00\x00\x08", 6);
		memcpy(f.path.from, "\x02\x0a\xe0\x00\x00\x09", 6);
		f.path.nonce = 0x1122334455667789ULL;
		f.path.proof = 0xfedcba9876543211ULL;
		break;
	}
	return f;
}

static inline struct wire build(const struct oae_frame *f)
{
	struct wire w;

	memset(&w, 0xee, sizeof(w));
	w.len = oae_frame_build(f, w.b);
	if (f->opcode == OAE_OFFER || f->opcode == OAE_ASK) {
		memcpy(w.b + w.len, payload, f->length);
		w.len += f->length;
	} else if (f->opcode == OAE_REFLECT && f->length > OAE_REFLECT_LEN) {
		memcpy(w.b + w.len, payload, f->length - OAE_REFLECT_LEN);
		w.len += f->length - OAE_REFLECT_LEN;
	}
	return w;
}

/* The hash of a REFLECT's body and of so much of payload[] behind it. */
static inline u64 reflect_hash(const struct oae_frame *f, u16 more)
{
	u8 all[OAE_REFLECT_LEN + sizeof(payload)];

	oae_reflect_body(f, all);
	memcpy(all + OAE_REFLECT_LEN, payload, more);
	return oae_slice_hash(all, OAE_REFLECT_LEN + more, 0);
}

/* What is built, what it is on the wire, and what is read of that. */
static struct oae_frame f, out;
static struct wire w;

static inline void make(u8 opcode)
{
	f = sample(opcode);
	w = build(&f);
}

/* An OFFER or a REFLECT of a half or a verb: one slice, and what answers it. */
static inline struct oae_frame sample_kind(u8 opcode, u8 kind)
{
	struct oae_frame f = sample(opcode);

	f.kind = kind;
	if (opcode == OAE_OFFER) {
		f.flags = OAE_F_LAST;
		f.slice = 0;
		f.payload_hash = oae_slice_hash(payload, f.length, 0);
	} else if (opcode == OAE_REFLECT) {
		f.length = OAE_REFLECT_LEN + sizeof(payload);
		f.payload_hash = reflect_hash(&f, sizeof(payload));
	}
	return f;
}

static inline enum oae_bad parse(struct oae_frame *f, const struct wire *w)
{
	return oae_frame_parse(f, w->b, w->len, w->len);
}

/* What a receiver does: parse, hash, verify. */
static inline enum oae_bad receive(struct oae_frame *f, const struct wire *w)
{
	enum oae_bad bad = parse(f, w);

	if (bad)
		return bad;
	return oae_frame_verify(f, w->b, oae_slice_hash(w->b + f->hdr_len,
							f->length, f->slice));
}

/* The digest made right again after a field was changed by hand. */
static inline void sign(struct wire *w)
{
	size_t hdr = 48 + (w->b[0] & 15) * 4;
	u8 slice = w->b[OAE_OFF_SLICE];
	u16 len = get_unaligned_be16(w->b + OAE_OFF_LENGTH);

	put_unaligned_be64(0, w->b + OAE_OFF_DIGEST);
	put_unaligned_be64(spec_xxh64(w->b, hdr,
				      spec_xxh64(w->b + hdr, len, slice)),
			   w->b + OAE_OFF_DIGEST);
}

#endif /* OAE_FRAME_UTIL_H */
