// SPDX-License-Identifier: GPL-2.0
/* Frames: what is built is read back, and is what DESIGN section 3 says. */
#include "frame_util.h"

static void hex(const struct wire *w, char *out)
{
	size_t i;

	for (i = 0; i < w->len; i++)
		sprintf(out + 2 * i, "%02x", w->b[i]);
}

TEST(test_spec_hash)
{
	u8 data[300];
	struct oae_xxh64 x;
	unsigned int i, n;

	/* Known answers, from the xxHash specification's test vectors. */
	assert_true(spec_xxh64("", 0, 0) == 0xef46db3751d8e999ULL);
	assert_true(spec_xxh64("abc", 3, 0) == 0x44bc2cf5ad770999ULL);
	for (i = 0; i < sizeof(data); i++) {
		data[i] = i * 7 + 1;
		assert_true(spec_xxh64(data, i, i * P1) ==
			    oae_xxh64(data, i, i * P1));
	}
	/* In pieces: of each length, and a short one before and behind it. */
	for (i = 0; i < 100; i++) {
		for (n = 0; n < 3; n++) {
			oae_xxh64_begin(&x, i);
			oae_xxh64_add(&x, data, n * 13);
			oae_xxh64_add(&x, data + n * 13, i);
			oae_xxh64_add(&x, data + n * 13 + i, n * 7);
			assert_true(oae_xxh64_end(&x) ==
				    spec_xxh64(data, n * 20 + i, i));
		}
	}
}

TEST(test_round_trip)
{
	struct oae_frame in, out;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		in = sample(op);
		w = build(&in);
		memset(&out, 0x55, sizeof(out));
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);

		assert_int_equal(out.opcode, in.opcode);
		assert_int_equal(out.vc, in.vc);
		assert_int_equal(out.flags, in.flags);
		assert_int_equal(out.kind, in.kind);
		assert_int_equal(out.hdr_len, OAE_HDR_LEN);
		assert_int_equal(out.slice, in.slice);
		assert_int_equal(out.reason, in.reason);
		assert_int_equal(out.marks, in.marks);
		assert_int_equal(out.pn, in.pn);
		assert_int_equal(out.map, in.map);
		assert_int_equal(out.src_ltag, in.src_ltag);
		assert_int_equal(out.dst_ltag, in.dst_ltag);
		assert_int_equal(out.tx, in.tx);
		assert_int_equal(out.rx, in.rx);
		assert_int_equal(out.seq, in.seq);
		assert_int_equal(out.length, w.len - OAE_HDR_LEN);

		switch (op) {
		case OAE_SYNC:
		case OAE_SYNC_ACK:
		case OAE_SYNC_CHK:
			assert_true(out.sync.inc == in.sync.inc);
			assert_true(out.sync.peer_inc == in.sync.peer_inc);
			assert_int_equal(out.sync.caps, in.sync.caps);
			assert_int_equal(out.sync.max_len, in.sync.max_len);
			assert_int_equal(out.sync.start, in.sync.start);
			assert_int_equal(out.sync.mtu, in.sync.mtu);
			assert_true(out.sync.kept == in.sync.kept);
			assert_true(out.sync.hash == in.sync.hash);
			assert_int_equal(out.sync.last, in.sync.last);
			break;
		case OAE_OFFER:
			assert_true(out.payload_hash == in.payload_hash);
			break;
		case OAE_REFLECT:
			assert_true(out.reflect.digest == in.reflect.digest);
			assert_true(out.reflect.first == in.reflect.first);
			break;
		case OAE_ACK:
			assert_true(out.have == in.have);
			break;
		case OAE_PATH:
			assert_int_equal(out.path.role, in.path.role);
			assert_int_equal(out.path.mtu, in.path.mtu);
			assert_memory_equal(out.path.to, in.path.to, 6);
			assert_memory_equal(out.path.from, in.path.from, 6);
			assert_true(out.path.nonce == in.path.nonce);
			assert_true(out.path.proof == in.path.proof);
			break;
		}
	}
}

/* A half and a verb: the OFFER, and the REFLECT with more behind its body. */
TEST(test_kinds)
{
	static const char *const reflected[] = {
		[OAE_SWAP] =
			"20075a00002e00011122334455667788"
			"fffffffe01020304ffffffffa0010001"
			"800000018000000fb2fc97c41fe66b37"
			"0123456789abcdeffedcba9876543210"
			"54686973206973207768617420492068"
			"6561726420796f75207361792e00",
		[OAE_VERB] =
			"20075a00002e00021122334455667788"
			"fffffffe01020304ffffffffa0010001"
			"800000018000000f171bb52cf5949b81"
			"0123456789abcdeffedcba9876543210"
			"54686973206973207768617420492068"
			"6561726420796f75207361792e00",
	};
	char text[2 * BUF + 1];
	struct wire copy;
	u8 kind;

	for (kind = OAE_SWAP; kind <= OAE_VERB; kind++) {
		f = sample_kind(OAE_OFFER, kind);
		w = build(&f);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.kind, kind);
		assert_int_equal(out.length, sizeof(payload));
		assert_true(out.first == oae_first_bytes(payload, 8));
		assert_true(out.payload_hash == f.payload_hash);

		f = sample_kind(OAE_REFLECT, kind);
		w = build(&f);
		copy = w;
		sign(&copy);
		assert_memory_equal(w.b, copy.b, w.len);
		hex(&w, text);
		assert_string_equal(text, reflected[kind]);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.kind, kind);
		assert_int_equal(out.length, OAE_REFLECT_LEN + sizeof(payload));
		assert_true(out.reflect.digest == f.reflect.digest);
		assert_true(out.reflect.first == f.reflect.first);
		assert_true(out.payload_hash == f.payload_hash);
	}
}

/* What is behind a REFLECT's body need not be readable; the body must. */
TEST(test_reflect_paged)
{
	size_t have;

	f = sample_kind(OAE_REFLECT, OAE_SWAP);
	w = build(&f);
	assert_int_equal(oae_frame_body_len(&f), OAE_REFLECT_LEN);
	for (have = OAE_HDR_LEN; have <= w.len; have++)
		assert_int_equal(oae_frame_parse(&out, w.b, have, w.len),
				 have < OAE_HDR_LEN + OAE_REFLECT_LEN ?
				 OAE_BAD_SHORT : OAE_BAD_NONE);
	/* Without more, length and digest are made here, whatever is said. */
	f = sample(OAE_REFLECT);
	f.payload_hash = 5;
	for (f.length = 0; f.length <= OAE_REFLECT_LEN; f.length++) {
		w = build(&f);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.length, OAE_REFLECT_LEN);
	}
}

/* Each bit of each number is carried: one after the other is set alone. */
TEST(test_every_bit)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		f = sample(OAE_COMMIT);
		f.src_ltag = 1U << i;
		f.dst_ltag = 1U << (i + 1) % 32;
		f.tx = 1U << (i + 2) % 32;
		f.rx = 1U << (i + 3) % 32;
		f.seq = 1U << (i + 4) % 32;
		f.vc = 1U << i % 8;
		w = build(&f);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.src_ltag, f.src_ltag);
		assert_int_equal(out.dst_ltag, f.dst_ltag);
		assert_int_equal(out.tx, f.tx);
		assert_int_equal(out.rx, f.rx);
		assert_int_equal(out.seq, f.seq);
		assert_int_equal(out.vc, f.vc);
	}
}

/* The wire may not change unnoticed: one frame of each opcode, byte by byte. */
static const char *const golden[OAE_OPCODE_END] = {
	[OAE_SYNC] =
		"20015a00004000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"000000000000000099ecafb28e78d2c9"
		"102030405060708090a0b0c0d0e0f001"
		"cafe000100010000fffffff005dc0000"
		"0000000000000000fedcba9876543210"
		"11223344556677883f00000000000000",
	[OAE_SYNC_ACK] =
		"20025a00004000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"0000000000000000287a7b2a1181f7e0"
		"102030405060708090a0b0c0d0e0f001"
		"cafe000100010000fffffff005dc0000"
		"0000000000000000fedcba9876543210"
		"11223344556677883f00000000000000",
	[OAE_SYNC_CHK] =
		"20035a00004000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"0000000000000000ff9554fda8d53ff8"
		"102030405060708090a0b0c0d0e0f001"
		"cafe000100010000fffffff005dc0000"
		"0000000000000000fedcba9876543210"
		"11223344556677883f00000000000000",
	[OAE_CLOSE] =
		"20045a00000000001122334455667788"
		"fffffffe01020304ffffffffa0010700"
		"0000000000000000a10b06c5edd33234",
	[OAE_CLOSE_ACK] =
		"20055a00000000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"00000000000000002cff1e916edddce9",
	[OAE_OFFER] =
		"20065a07001e3f001122334455667788"
		"fffffffe01020304ffffffffa0010002"
		"fffffffd00000000955f2c9f5c461a4e"
		"54686973206973207768617420492068"
		"6561726420796f75207361792e00",
	[OAE_REFLECT] =
		"20075a00001000001122334455667788"
		"fffffffe01020304ffffffffa0010001"
		"800000018000000f35ad8d73304c1a97"
		"0123456789abcdeffedcba9876543210",
	[OAE_COMMIT] =
		"20085a08000000001122334455667788"
		"fffffffe01020304ffffffffa0010004"
		"000000030000000039bf468e8840fd9c",
	[OAE_REFUSE] =
		"20095a00000000001122334455667788"
		"fffffffe01020304ffffffffa0010100"
		"0000000400000007f5f0acfc61ee78f7",
	[OAE_READY] =
		"200a5a00000000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"00000000000000000299766a42476733",
	[OAE_DONE] =
		"200c5a00000000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"0000000000000000e3a28f46c6e0d139",
	[OAE_HELLO] =
		"200d5a00001800001122334455667788"
		"fffffffe01020304ffffffff00000000"
		"00000000000000005d8cb225344fe2aa"
		"090001020598fedca0b0c0d00023012c"
		"020ae00000070000",
	[OAE_NOLINK] =
		"200e5a00000000001122334455667788"
		"fffffffe01020304ffffffff00000000"
		"00000000000000009a24b00edba4ee7c",
	[OAE_PATH] =
		"200f5a00002000001122334455667788"
		"fffffffe01020304ffffffff00000000"
		"00000000000000003b7bd3e42843c6be"
		"02002327020ae0000008020ae0000009"
		"1122334455667789fedcba9876543211",
	[OAE_ASK] =
		"20105a01000000001122334455667788"
		"fffffffe01020304ffffffffa0010000"
		"0000000500000000bb3997d78b872779",
	[OAE_ACK] =
		"20115a00000800001122334455667788"
		"fffffffe01020304ffffffffa0010001"
		"00000006400000013c6f53ae00128666"
		"8000000000000001",
};

TEST(test_golden)
{
	char text[2 * BUF + 1];
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		make(op);
		hex(&w, text);
		assert_string_equal(text, golden[op]);
	}
}

/* Digests by the words of DESIGN section 3, with the hash from above. */
TEST(test_digest_definition)
{
	struct wire copy;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		make(op);
		copy = w;
		sign(&copy);
		assert_memory_equal(w.b, copy.b, w.len);
	}
	/* The payload's hash is seeded with the slice: none fits elsewhere. */
	make(OAE_OFFER);
	assert_int_equal(parse(&out, &w), OAE_BAD_NONE);
	assert_int_equal(oae_frame_verify(&out, w.b,
					  oae_slice_hash(payload,
							 sizeof(payload), 62)),
			 OAE_BAD_DIGEST);
}

TEST(test_whole_digest)
{
	u64 hash[OAE_MAX_SLICES];
	u8 be[sizeof(hash)];
	unsigned int i, j;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		hash[i] = oae_slice_hash(payload, sizeof(payload), i);
		assert_true(hash[i] == spec_xxh64(payload, sizeof(payload), i));
		for (j = 0; j < 8; j++)
			be[8 * i + j] = hash[i] >> (56 - 8 * j);
		assert_true(oae_whole_digest(hash, i + 1) ==
			    spec_xxh64(be, 8 * (i + 1), 0));
	}
	assert_true(oae_slice_hash("", 0, 0) == 0xef46db3751d8e999ULL);
}

TEST(test_first_bytes)
{
	assert_true(oae_first_bytes("abcdefghi", 9) == 0x6162636465666768ULL);
	assert_true(oae_first_bytes("abcdefghi", 8) == 0x6162636465666768ULL);
	assert_true(oae_first_bytes("abcdefghi", 3) == 0x6162630000000000ULL);
	assert_true(oae_first_bytes("", 0) == 0);
}

/* OFFER of slice 0: parse has the first bytes, also of a short one. */
TEST(test_offer_first)
{
	unsigned int len;

	for (len = 0; len < sizeof(payload); len++) {
		f = sample(OAE_OFFER);
		f.slice = 0;
		f.length = len;
		f.payload_hash = oae_slice_hash(payload, len, 0);
		w = build(&f);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_true(out.first == oae_first_bytes(payload, len));
	}
}

/* The payload of an OFFER, or of an ASK, need not be readable: only the header is. */
TEST(test_paged)
{
	static const u8 opcodes[] = { OAE_OFFER, OAE_ASK };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		f = sample(opcodes[i]);
		f.length = sizeof(payload);
		f.payload_hash = oae_slice_hash(payload, f.length, f.slice);
		w = build(&f);
		assert_int_equal(oae_frame_parse(&out, w.b, OAE_HDR_LEN, w.len), OAE_BAD_NONE);
		assert_int_equal(out.length, sizeof(payload));
	}
}

/* A probe of length: whatever is behind the header of an ASK is under the digest, and no more. */
TEST(test_long_ask)
{
	static const u16 lengths[] = { 1, 8, sizeof(payload) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		f = sample(OAE_ASK);
		f.length = lengths[i];
		f.payload_hash = oae_slice_hash(payload, f.length, 0);
		w = build(&f);
		assert_int_equal(w.len, OAE_HDR_LEN + f.length);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.length, f.length);
		assert_int_equal(out.pn, f.pn);
		w.b[w.len - 1] ^= 1;
		assert_int_equal(receive(&out, &w), OAE_BAD_DIGEST);
	}
}

TEST(test_via)
{
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		f = sample(op);
		f.flags |= OAE_F_VIA;
		memcpy(f.via, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02",
		       OAE_VIA_LEN);
		w = build(&f);
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		assert_int_equal(out.hdr_len, OAE_HDR_LEN + OAE_VIA_LEN);
		assert_memory_equal(out.via, f.via, OAE_VIA_LEN);
		assert_memory_equal(w.b + OAE_OFF_VIA_DST, f.via, OAE_VIA_LEN);

		/* The addresses are under the digest. */
		w.b[OAE_OFF_VIA_SRC] ^= 1;
		assert_int_equal(receive(&out, &w), OAE_BAD_DIGEST);
	}
}

UNIT_MAIN("frames")
