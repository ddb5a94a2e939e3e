// SPDX-License-Identifier: GPL-2.0
/*
 * Any bytes as a frame. What frame.c says of them must be what doc/protocol.md
 * section 2 says, written here once more and on its own, cause by cause; what it
 * accepts must build to the same bytes again. The buffer ends where what may be
 * read does, so that a byte too many is seen.
 *
 * The input is a head of four bytes, then the frame from behind the Ethernet
 * header:
 *
 *   0     what is made right first, and how much of it can be read: see HEAD_*
 *   1     a number of bytes for HEAD_SPLIT
 *   2, 3  bytes for HEAD_MORE
 */
#include <stdlib.h>
#include "fuzz.h"
#include "../unit/frame_util.h"

/* A digest, or a length, cannot be guessed. */
#define HEAD_DIGEST	0x01	/* make the digest right */
#define HEAD_LENGTH	0x02	/* make the length right */
/* As in rcv.c, where the head of an skb holds less than the frame. */
#define HEAD_SPLIT	0x04	/* only so many bytes can be read */
#define HEAD_PULL	0x08	/* or OAE_PARSE_MAX, which it sees to */
#define HEAD_MORE	0x10	/* so many bytes of payload that are elsewhere */

const size_t fuzz_head = 4, fuzz_record = 1;

static unsigned int be(const u8 *p, unsigned int n)
{
	unsigned int v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* Section 2.3: what OFFER and REFLECT of each kind look like. */
static bool kind_fits(const u8 *b)
{
	unsigned int length = be(b + 4, 2);

	if (b[1] == 7)
		return b[7] == 1 || b[7] == 2 ? length > 16 : length == 16;
	/* All but messages: slice 0, LAST, not EXPRESS, not RESUME; only a VOID is empty. */
	return !b[7] || (!length == (b[7] == 3) && !b[6] &&
			  (b[3] & 0x07) == 0x02);
}

/*
 * Section 2.3 and 2.4: which length and reason an opcode may have.
 * Where a field has no meaning but "otherwise 0" the receiver does not insist
 * on it, but for slice.
 */
static bool fields_fit(const u8 *b)
{
	unsigned int opcode = b[1], kind = b[7];
	unsigned int length = be(b + 4, 2), reason = b[30];
	bool slices = opcode == 6;
	bool question = opcode == 6 || opcode == 8 || opcode == 16;
	bool answer = opcode == 7 || opcode == 9 || opcode == 10 || opcode == 12 ||
		      opcode == 17;
	bool grants = opcode != 13 && opcode != 14 && opcode != 15;
	u8 marks = answer ? 1 : opcode == 6 ? 2 : opcode == 8 ? 4 : 0;

	if (kind > 4 || reason > 12 || (be(b + 28, 2) && !grants))
		return false;
	if (b[31] & ~marks || (be(b + 36, 4) && !answer) ||
	    (be(b + 32, 4) && !answer && !question))
		return false;
	if (b[6] > (slices ? 63 : 0))
		return false;

	switch (opcode) {
	case 1:
	case 2:
	case 3:
		return length == 64 && be(b + 8, 4);
	case 4:
		return !length && (!reason || reason == 7 || reason == 8);
	case 6:
	case 7:
		return kind_fits(b);
	case 13:
		return length == 24;
	case 15:
		return length == 32 && !(b[3] & 0x20);
	case 9:
		return reason && reason != 2 && reason != 7 && reason != 8 && !length;
	case 16:
		return true;
	case 17:
		return length == 8;
	default:
		return !length;
	}
}

/* Bytes that must be readable: what of the payload is the protocol's own. */
static unsigned int own_body(const u8 *b)
{
	switch (b[1]) {
	case 1:
	case 2:
	case 3:
		return 64;
	case 7:
		return 16;
	case 13:
		return 24;
	case 15:
		return 32;
	case 17:
		return 8;
	default:
		return 0;
	}
}

/* Section 2.6, in its order, up to the digest. */
static enum oae_bad expected(const u8 *b, size_t have, size_t total)
{
	size_t hdr, need, i;

	if (have < 48)
		return OAE_BAD_SHORT;
	if (b[0] >> 4 != 2)
		return OAE_BAD_VERSION;
	hdr = 48 + (b[0] & 15) * 4;
	if (b[3] & 0x90)
		return OAE_BAD_FLAGS;
	if (b[1] < 1 || b[1] == 11 || b[1] > 17)
		return OAE_BAD_OPCODE;
	if (hdr != (b[3] & 0x20 ? 60 : 48))
		return OAE_BAD_HLEN;
	need = hdr + be(b + 4, 2);
	if (total < need)
		return OAE_BAD_SHORT;
	if (total > need && total > 46)
		return OAE_BAD_LONG;
	if (!fields_fit(b))
		return OAE_BAD_FIELD;
	if (have < hdr + own_body(b))
		return OAE_BAD_SHORT;
	/* What a SYNC keeps free, and the last slice, or none. */
	for (i = 30; b[1] <= 3 && i < 64; i++)
		if ((i < 40 || i > 56) && b[hdr + i])
			return OAE_BAD_FIELD;
	if (b[1] <= 3 && b[hdr + 56] > 63 && b[hdr + 56] < 255)
		return OAE_BAD_FIELD;
	return OAE_BAD_NONE;
}

/* Each field is the bytes at its offset. */
static void check_fields(const struct oae_frame *f, const u8 *b, size_t have)
{
	const u8 *p = b + f->hdr_len;
	u8 first[8] = { 0 };

	if (f->opcode != b[1] || f->vc != b[2] || f->flags != b[3] ||
	    f->hdr_len != 48 + (b[0] & 15) * 4 || f->length != be(b + 4, 2) ||
	    f->slice != b[6] || f->src_ltag != be(b + 8, 4) ||
	    f->dst_ltag != be(b + 12, 4) || f->tx != be(b + 16, 4) ||
	    f->rx != be(b + 20, 4) || f->seq != be(b + 24, 4) ||
	    f->kind != b[7] || f->grant != be(b + 28, 2) || f->reason != b[30] ||
	    f->marks != b[31] ||
	    f->pn != be(b + 32, 4) || f->ack != f->pn || f->map != be(b + 36, 4))
		fuzz_breach("a field is not what the frame says");
	if (b[3] & 0x20 && memcmp(f->via, b + 48, 12))
		fuzz_breach("via is not what the frame says");
	if (b[1] <= 3 && (f->sync.max_len != be(p + 20, 4) ||
			  f->sync.start != be(p + 24, 4) ||
			  f->sync.mtu != be(p + 28, 2) || f->sync.last != p[56] ||
			  f->sync.kept != get_unaligned_be64(p + 40) ||
			  f->sync.hash != get_unaligned_be64(p + 48)))
		fuzz_breach("a field of SYNC is not what the frame says");
	if (b[1] == 13 && p[0] & 0x10 &&
	    (f->hello.flags != p[0] || f->hello.mtu != be(p + 4, 2) ||
	     f->hello.id != get_unaligned_be64(p + 8) ||
	     f->hello.node_inc != get_unaligned_be64(p + 16)))
		fuzz_breach("a field of HELLO NODE is not what the frame says");
	if (b[1] == 13 && !(p[0] & 0x10) &&
	    (f->hello.flags != p[0] || f->hello.zone != be(p + 2, 2) ||
	     f->hello.mtu != be(p + 4, 2) || f->hello.epoch != be(p + 6, 2) ||
	     f->hello.inc != be(p + 8, 4) || f->hello.life != be(p + 12, 2) ||
	     f->hello.node_life != be(p + 14, 2) ||
	     memcmp(f->hello.about, p + 16, 6)))
		fuzz_breach("a field of HELLO is not what the frame says");
	if (b[1] == 15 &&
	    (f->path.role != p[0] || f->path.mtu != be(p + 2, 2) ||
	     memcmp(f->path.to, p + 4, 6) || memcmp(f->path.from, p + 10, 6) ||
	     f->path.nonce != get_unaligned_be64(p + 16) ||
	     f->path.proof != get_unaligned_be64(p + 24)))
		fuzz_breach("a field of PATH is not what the frame says");
	if (b[1] == 6 && !f->slice && have >= f->hdr_len + 8U) {
		memcpy(first, p, f->length < 8 ? f->length : 8);
		if (f->first != get_unaligned_be64(first))
			fuzz_breach("the first bytes are others");
	}
}

/* Does build() have all that it needs? Else the length is not the same. */
static bool builds(const u8 *b, unsigned int hdr)
{
	if (b[1] == 13 && b[hdr] & 0x10)
		return !b[hdr + 1] && !be(b + hdr + 2, 2) && !be(b + hdr + 6, 2);
	if (b[1] == 13)
		return !b[hdr + 1] && !be(b + hdr + 22, 2);
	if (b[1] == 15)
		return !b[hdr + 1];
	return b[1] == 6 || b[1] == 7 || b[1] == 16 || be(b + 4, 2) == own_body(b);
}

/* Built again, it is the same, but for a digest that was wrong. */
static void check_round_trip(struct oae_frame *f, const u8 *b, bool good)
{
	u8 again[OAE_PARSE_MAX];
	size_t len, body = own_body(b);

	len = oae_frame_build(f, again);
	if (len != f->hdr_len + body)
		fuzz_breach("built to %zu bytes, not %zu", len,
			    f->hdr_len + body);
	if (!builds(b, f->hdr_len))
		return;
	if (memcmp(again, b, 40) || memcmp(again + 48, b + 48, len - 48))
		fuzz_breach("built to other bytes");
	if (good && memcmp(again + 40, b + 40, 8))
		fuzz_breach("built with another digest");
}

/* The digest, when the payload is all here. */
static void check_digest(struct oae_frame *f, const u8 *b, const u8 *readable,
			 size_t have)
{
	u64 hash = spec_xxh64(b + f->hdr_len, f->length, f->slice);
	enum oae_bad bad, want = OAE_BAD_NONE;
	u8 hdr[60];

	if (hash != oae_slice_hash(b + f->hdr_len, f->length, f->slice))
		fuzz_breach("the hash of the payload is another");
	memcpy(hdr, b, f->hdr_len);
	memset(hdr + 40, 0, 8);
	if (b[3] & 0x40)
		want = OAE_BAD_AUTH;
	else if (spec_xxh64(hdr, f->hdr_len, hash) !=
		 get_unaligned_be64(b + 40))
		want = OAE_BAD_DIGEST;

	bad = oae_frame_verify(f, readable, hash);
	if (bad != want)
		fuzz_breach("verify says %d, and should %d", bad, want);
	f->payload_hash = hash;
	check_fields(f, b, have);
	check_round_trip(f, b, !bad);
	if (!bad)
		fuzz_say("good, and built to the same again");
	else
		fuzz_say("%s", bad == OAE_BAD_AUTH ? "keyed" : "wrong digest");
}

static void repair(u8 *b, size_t size, u8 how)
{
	struct wire w;
	size_t hdr;

	if (size < 48 || size > sizeof(w.b))
		return;
	hdr = 48 + (b[0] & 15) * 4;
	if (hdr > size)
		return;
	if (how & HEAD_LENGTH)
		put_unaligned_be16(size - hdr, b + 4);
	if (how & HEAD_DIGEST && hdr + be(b + 4, 2) <= size) {
		memcpy(w.b, b, size);
		w.len = size;
		sign(&w);
		memcpy(b, w.b, size);
	}
}

/**
 * LLVMFuzzerTestOneInput() - libFuzzer's call: run one input
 * @data: the input
 * @size: its bytes
 *
 * Return: 0.
 */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	size_t have, total;
	struct oae_frame f;
	enum oae_bad bad, want;
	u8 *all, *buf;

	if (size < fuzz_head)
		return 0;
	total = size - fuzz_head;
	all = malloc(total + 1);
	memcpy(all, data + fuzz_head, total);
	repair(all, total, data[0]);

	have = total;
	if (data[0] & HEAD_SPLIT && data[1] < have)
		have = data[1];
	else if (data[0] & HEAD_PULL && have > OAE_PARSE_MAX)
		have = OAE_PARSE_MAX;
	if (data[0] & HEAD_MORE)
		total += be(data + 2, 2);
	buf = malloc(have);
	memcpy(buf, all, have);

	memset(&f, 0xa5, sizeof(f));
	bad = oae_frame_parse(&f, buf, have, total);
	want = expected(all, have, total);
	fuzz_say("%zu bytes, %zu of them here: cause %d", total, have, bad);
	if (bad != want)
		fuzz_breach("parse says %d, and should %d", bad, want);
	if (!bad) {
		fuzz_say_frame("it says", &f);
		check_fields(&f, buf, have);
		if (!(data[0] & HEAD_MORE))
			check_digest(&f, all, buf, have);
	}
	free(buf);
	free(all);
	return 0;
}
