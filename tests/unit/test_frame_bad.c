// SPDX-License-Identifier: GPL-2.0
/* Frames that must be dropped: each cause of DESIGN section 3, each boundary. */
#include "frame_util.h"

TEST(test_short)
{
	size_t whole;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		make(op);
		whole = w.len;
		for (w.len = 0; w.len < whole; w.len++)
			assert_int_equal(parse(&out, &w), OAE_BAD_SHORT);
	}
	/* All there, but too little of it in one piece to be read. */
	make(OAE_SYNC);
	assert_int_equal(oae_frame_parse(&out, w.b, w.len - 1, w.len),
			 OAE_BAD_SHORT);
	assert_int_equal(oae_frame_parse(&out, w.b, w.len, w.len - 1),
			 OAE_BAD_SHORT);
}

TEST(test_padding)
{
	size_t whole;
	u8 op;

	/* The shortest frame is longer than Ethernet pads: none has padding. */
	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		make(op);
		whole = w.len;
		assert_true(whole > 46);
		for (w.len = whole + 1; w.len < whole + 100; w.len++)
			assert_int_equal(receive(&out, &w), OAE_BAD_LONG);
	}
}

TEST(test_version)
{
	unsigned int v;

	for (v = 0; v < 16; v++) {
		make(OAE_DONE);
		w.b[0] = v << 4;
		sign(&w);
		assert_int_equal(receive(&out, &w), v == OAE_VERSION ?
				 OAE_BAD_NONE : OAE_BAD_VERSION);
	}
}

TEST(test_hlen)
{
	unsigned int n;

	for (n = 0; n < 16; n++) {
		make(OAE_OFFER);
		w.b[0] = OAE_VERSION << 4 | n;
		sign(&w);
		assert_int_equal(receive(&out, &w),
				 !n ? OAE_BAD_NONE : OAE_BAD_HLEN);
		/* With VIA it is three words, and nothing else. */
		f.flags |= OAE_F_VIA;
		w = build(&f);
		w.b[0] = OAE_VERSION << 4 | n;
		sign(&w);
		assert_int_equal(receive(&out, &w),
				 n == 3 ? OAE_BAD_NONE : OAE_BAD_HLEN);
	}
}

TEST(test_opcode)
{
	unsigned int op;

	for (op = 0; op < 256; op++) {
		if (op && op < OAE_OPCODE_END && op != FREE_OPCODE) {
			assert_string_not_equal(oae_opcode_name(op), "?");
			continue;
		}
		assert_string_equal(oae_opcode_name(op), "?");
		make(OAE_DONE);
		w.b[OAE_OFF_OPCODE] = op;
		sign(&w);
		assert_int_equal(receive(&out, &w), OAE_BAD_OPCODE);
	}
}

TEST(test_flags)
{
	f = sample(OAE_DONE);
	f.flags = OAE_F_ALL & ~OAE_F_VIA & ~OAE_F_AUTH;
	w = build(&f);
	assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
	assert_int_equal(out.flags, f.flags);

	w.b[OAE_OFF_FLAGS] |= 0x80;
	sign(&w);
	assert_int_equal(receive(&out, &w), OAE_BAD_FLAGS);
}

/* A keyed digest, and there is no key: not to be taken for a plain one. */
TEST(test_auth)
{
	f = sample(OAE_DONE);
	f.flags = OAE_F_AUTH;
	w = build(&f);
	assert_int_equal(receive(&out, &w), OAE_BAD_AUTH);
}

/* One bit of one byte, any: such a frame is never taken. */
TEST(test_flip_every_bit)
{
	unsigned int bit;
	size_t at;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		make(op);
		for (at = 0; at < w.len; at++) {
			for (bit = 0; bit < 8; bit++) {
				w.b[at] ^= 1 << bit;
				assert_int_not_equal(receive(&out, &w),
						     OAE_BAD_NONE);
				w.b[at] ^= 1 << bit;
			}
		}
		/* Of the digest and the payload: by the digest, but for what a SYNC keeps free. */
		for (at = OAE_OFF_DIGEST; at < w.len; at++) {
			size_t off = at - OAE_HDR_LEN;
			bool free = op <= OAE_SYNC_CHK && at >= OAE_HDR_LEN + OAE_SYNC_OFF_ZERO &&
				    (off < OAE_SYNC_OFF_KEPT || off >= OAE_SYNC_OFF_ZERO2);

			w.b[at] ^= 0x10;
			assert_int_equal(receive(&out, &w),
					 free ? OAE_BAD_FIELD : OAE_BAD_DIGEST);
			w.b[at] ^= 0x10;
		}
		assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
	}
}

/* Fields out of their range, the digest being right. */
TEST(test_field)
{
	static const struct {
		u8 opcode;
		u8 off;
		u8 bytes;
		u32 value;
		enum oae_bad bad;
	} cases[] = {
		/* length: what the opcode says, or what is there */
		{ OAE_SYNC, OAE_OFF_LENGTH, 2, 63, OAE_BAD_LONG },
		{ OAE_SYNC, OAE_OFF_LENGTH, 2, 65, OAE_BAD_SHORT },
		{ OAE_OFFER, OAE_OFF_LENGTH, 2, 0xffff, OAE_BAD_SHORT },
		{ OAE_OFFER, OAE_OFF_LENGTH, 2, 10, OAE_BAD_LONG },
		{ OAE_ACK, OAE_OFF_LENGTH, 2, 5, OAE_BAD_LONG },
		{ OAE_ACK, OAE_OFF_LENGTH, 2, 9, OAE_BAD_SHORT },
		{ OAE_ASK, OAE_OFF_LENGTH, 2, 1, OAE_BAD_SHORT },
		{ OAE_REFLECT, OAE_OFF_LENGTH, 2, 8, OAE_BAD_LONG },
		{ OAE_DONE, OAE_OFF_LENGTH, 2, 1, OAE_BAD_SHORT },
		/* slice: an OFFER's, below 64 */
		{ OAE_OFFER, OAE_OFF_SLICE, 1, 0, OAE_BAD_NONE },
		{ OAE_OFFER, OAE_OFF_SLICE, 1, 63, OAE_BAD_NONE },
		{ OAE_OFFER, OAE_OFF_SLICE, 1, 64, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_SLICE, 1, 0xff, OAE_BAD_FIELD },
		{ OAE_REFLECT, OAE_OFF_SLICE, 1, 1, OAE_BAD_FIELD },
		{ OAE_SYNC, OAE_OFF_SLICE, 1, 1, OAE_BAD_FIELD },
		{ OAE_ASK, OAE_OFF_SLICE, 1, 1, OAE_BAD_FIELD },
		{ OAE_ACK, OAE_OFF_SLICE, 1, 1, OAE_BAD_FIELD },
		/* ltags: the sender of a SYNC_* has one */
		{ OAE_SYNC, OAE_OFF_SRC_LTAG, 4, 0, OAE_BAD_FIELD },
		{ OAE_SYNC_ACK, OAE_OFF_SRC_LTAG, 4, 0, OAE_BAD_FIELD },
		{ OAE_SYNC_CHK, OAE_OFF_SRC_LTAG, 4, 0, OAE_BAD_FIELD },
		{ OAE_SYNC, OAE_OFF_DST_LTAG, 4, 0, OAE_BAD_NONE },
		{ OAE_NOLINK, OAE_OFF_SRC_LTAG, 4, 0, OAE_BAD_NONE },
		/* kinds */
		{ OAE_OFFER, OAE_OFF_KIND, 1, OAE_SWAP, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_KIND, 1, OAE_VERB, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_KIND, 1, OAE_VOID, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_KIND, 1, OAE_KIND_END, OAE_BAD_FIELD },
		{ OAE_REFLECT, OAE_OFF_KIND, 1, OAE_SWAP, OAE_BAD_FIELD },
		{ OAE_REFLECT, OAE_OFF_KIND, 1, OAE_VOID, OAE_BAD_NONE },
		{ OAE_REFLECT, OAE_OFF_KIND, 1, OAE_KIND_END, OAE_BAD_FIELD },
		{ OAE_COMMIT, OAE_OFF_KIND, 1, 255, OAE_BAD_FIELD },
		{ OAE_ASK, OAE_OFF_KIND, 1, OAE_VOID, OAE_BAD_NONE },
		{ OAE_ASK, OAE_OFF_KIND, 1, OAE_KIND_END, OAE_BAD_FIELD },
		{ OAE_ACK, OAE_OFF_KIND, 1, OAE_VERB, OAE_BAD_NONE },
		{ OAE_ACK, OAE_OFF_KIND, 1, OAE_KIND_END, OAE_BAD_FIELD },
		/* reasons: 2 is none of a REFUSE's */
		{ OAE_REFUSE, OAE_OFF_REASON, 1, OAE_R_NONE, OAE_BAD_FIELD },
		{ OAE_REFUSE, OAE_OFF_REASON, 1, 2, OAE_BAD_FIELD },
		{ OAE_REFUSE, OAE_OFF_REASON, 1, OAE_R_POLICY, OAE_BAD_FIELD },
		{ OAE_REFUSE, OAE_OFF_REASON, 1, OAE_R_BAD_VERB, OAE_BAD_NONE },
		{ OAE_REFUSE, OAE_OFF_REASON, 1, OAE_REASON_END, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_R_NONE, OAE_BAD_NONE },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_R_FULL, OAE_BAD_NONE },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_R_BUSY, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_R_NO_REGION, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_R_BAD_VERB, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, OAE_REASON_END, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_REASON, 1, 0xff, OAE_BAD_FIELD },
		/* marks: NOW is an answer's, ANSWER an OFFER's, BLOCKED a COMMIT's; no others */
		{ OAE_REFLECT, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_NONE },
		{ OAE_REFUSE, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_NONE },
		{ OAE_READY, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_NONE },
		{ OAE_DONE, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_NONE },
		{ OAE_ACK, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_NONE },
		{ OAE_ACK, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_FIELD },
		{ OAE_DONE, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_FIELD },
		{ OAE_DONE, OAE_OFF_MARKS, 1, 0x81, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_MARKS, 1, 0, OAE_BAD_NONE },
		{ OAE_OFFER, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_NONE },
		{ OAE_OFFER, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_FIELD },
		{ OAE_OFFER, OAE_OFF_MARKS, 1, OAE_M_ANSWER | OAE_M_BLOCKED, OAE_BAD_FIELD },
		{ OAE_ASK, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_FIELD },
		{ OAE_ASK, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_FIELD },
		{ OAE_COMMIT, OAE_OFF_MARKS, 1, 0, OAE_BAD_NONE },
		{ OAE_COMMIT, OAE_OFF_MARKS, 1, OAE_M_BLOCKED, OAE_BAD_NONE },
		{ OAE_COMMIT, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_FIELD },
		{ OAE_COMMIT, OAE_OFF_MARKS, 1, OAE_M_BLOCKED | 0x08, OAE_BAD_FIELD },
		{ OAE_READY, OAE_OFF_MARKS, 1, OAE_M_BLOCKED, OAE_BAD_FIELD },
		{ OAE_SYNC, OAE_OFF_MARKS, 1, OAE_M_BLOCKED, OAE_BAD_FIELD },
		{ OAE_SYNC, OAE_OFF_MARKS, 1, OAE_M_ANSWER, OAE_BAD_FIELD },
		{ OAE_SYNC_ACK, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_FIELD },
		{ OAE_NOLINK, OAE_OFF_MARKS, 1, OAE_M_NOW, OAE_BAD_FIELD },
		/* numbers: of a question; of an answer both; of others none */
		{ OAE_OFFER, OAE_OFF_PN, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_COMMIT, OAE_OFF_PN, 4, 0, OAE_BAD_NONE },
		{ OAE_OFFER, OAE_OFF_MAP, 4, 0x80000000, OAE_BAD_FIELD },
		{ OAE_REFUSE, OAE_OFF_ACK, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_REFUSE, OAE_OFF_MAP, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_ASK, OAE_OFF_PN, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_ASK, OAE_OFF_MAP, 4, 1, OAE_BAD_FIELD },
		{ OAE_ACK, OAE_OFF_ACK, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_ACK, OAE_OFF_MAP, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_SYNC, OAE_OFF_PN, 4, 1, OAE_BAD_FIELD },
		{ OAE_SYNC_CHK, OAE_OFF_MAP, 4, 1, OAE_BAD_FIELD },
		{ OAE_CLOSE, OAE_OFF_PN, 4, 1, OAE_BAD_FIELD },
		{ OAE_CLOSE_ACK, OAE_OFF_PN, 4, 1, OAE_BAD_FIELD },
		{ OAE_HELLO, OAE_OFF_PN, 4, 1, OAE_BAD_FIELD },
		{ OAE_NOLINK, OAE_OFF_MAP, 4, 1, OAE_BAD_FIELD },
		{ OAE_PATH, OAE_OFF_PN, 4, 1, OAE_BAD_FIELD },
		/* what a SYNC keeps free */
		{ OAE_SYNC, OAE_HDR_LEN + OAE_SYNC_OFF_ZERO, 1, 1, OAE_BAD_FIELD },
		{ OAE_SYNC, OAE_HDR_LEN + 39, 1, 1, OAE_BAD_FIELD },
		{ OAE_SYNC_ACK, OAE_HDR_LEN + 57, 1, 1, OAE_BAD_FIELD },
		{ OAE_SYNC_CHK, OAE_HDR_LEN + OAE_SYNC_LEN - 1, 1, 1, OAE_BAD_FIELD },
		/* slices that are kept, and the last of them */
		{ OAE_SYNC, OAE_HDR_LEN + OAE_SYNC_OFF_KEPT, 4, 0xffffffff, OAE_BAD_NONE },
		{ OAE_SYNC, OAE_HDR_LEN + OAE_SYNC_OFF_LAST, 1, 0, OAE_BAD_NONE },
		{ OAE_SYNC_ACK, OAE_HDR_LEN + OAE_SYNC_OFF_LAST, 1, 63, OAE_BAD_NONE },
		{ OAE_SYNC, OAE_HDR_LEN + OAE_SYNC_OFF_LAST, 1, 64, OAE_BAD_FIELD },
		{ OAE_SYNC_CHK, OAE_HDR_LEN + OAE_SYNC_OFF_LAST, 1, 254, OAE_BAD_FIELD },
		{ OAE_SYNC_ACK, OAE_HDR_LEN + OAE_SYNC_OFF_LAST, 1, 255, OAE_BAD_NONE },
	};
	size_t i;
	u8 *p;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make(cases[i].opcode);
		p = w.b + cases[i].off;
		if (cases[i].bytes == 1)
			*p = cases[i].value;
		else if (cases[i].bytes == 2)
			put_unaligned_be16(cases[i].value, p);
		else
			put_unaligned_be32(cases[i].value, p);
		if (parse(&out, &w) != cases[i].bad)
			fail_msg("case %zu: %s, offset %u = %u: %d, not %d", i,
				 oae_opcode_name(cases[i].opcode),
				 cases[i].off, cases[i].value,
				 parse(&out, &w), cases[i].bad);
		if (cases[i].bad == OAE_BAD_NONE) {
			sign(&w);
			assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
		}
	}
}

/* Each frame of a link grants something, or nothing; no other frame does. */
TEST(test_grant)
{
	static const u16 grants[] = { 0, 1, 0xff, 0x100, 0xffff };
	unsigned int i;
	bool none;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op = next_opcode(op)) {
		none = op == OAE_HELLO || op == OAE_NOLINK || op == OAE_PATH;
		for (i = 0; i < ARRAY_SIZE(grants); i++) {
			make(op);
			put_unaligned_be16(grants[i], w.b + OAE_OFF_GRANT);
			sign(&w);
			assert_int_equal(receive(&out, &w),
					 none && i ? OAE_BAD_FIELD : OAE_BAD_NONE);
			assert_int_equal(out.grant, grants[i]);
		}
	}
}

/* Of the reasons only those of its own, though the length be right. */
TEST(test_refuse_reason)
{
	u16 reason;

	for (reason = 0; reason <= OAE_REASON_END; reason++) {
		f = sample(OAE_REFUSE);
		f.reason = reason;
		w = build(&f);
		assert_int_equal(receive(&out, &w),
				 reason >= OAE_R_BUSY &&
				 reason < OAE_REASON_END && reason != 2 &&
				 reason != OAE_R_POLICY && reason != OAE_R_FULL ?
				 OAE_BAD_NONE : OAE_BAD_FIELD);
	}
}

/* A half and a verb are one slice, some bytes long; neither express nor resumed. */
TEST(test_one_slice)
{
	static const struct {
		u8 flags;
		u8 slice;
		u8 len;
		enum oae_bad bad;
	} cases[] = {
		{ OAE_F_LAST, 0, 1, OAE_BAD_NONE },
		{ OAE_F_LAST, 0, 30, OAE_BAD_NONE },
		{ OAE_F_LAST | OAE_F_WANT_DONE, 0, 8, OAE_BAD_NONE },
		{ OAE_F_LAST, 0, 0, OAE_BAD_FIELD },
		{ OAE_F_LAST, 1, 8, OAE_BAD_FIELD },
		{ 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_F_LAST | OAE_F_EXPRESS, 0, 8, OAE_BAD_FIELD },
		{ OAE_F_LAST | OAE_F_RESUME, 0, 8, OAE_BAD_FIELD },
	};
	u8 kind;
	size_t i;

	for (kind = OAE_SWAP; kind <= OAE_VERB; kind++) {
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			f = sample_kind(OAE_OFFER, kind);
			f.flags = cases[i].flags;
			f.slice = cases[i].slice;
			f.length = cases[i].len;
			f.payload_hash = oae_slice_hash(payload, f.length,
							f.slice);
			w = build(&f);
			if (receive(&out, &w) != cases[i].bad)
				fail_msg("kind %u, case %zu: %d, not %d", kind,
					 i, receive(&out, &w), cases[i].bad);
		}
	}
}

/* One bit of an answer behind a REFLECT's body: the digest covers it. */
TEST(test_flip_answer)
{
	unsigned int bit;
	size_t at;

	f = sample_kind(OAE_REFLECT, OAE_VERB);
	w = build(&f);
	for (at = 0; at < w.len; at++) {
		for (bit = 0; bit < 8; bit++) {
			w.b[at] ^= 1 << bit;
			assert_int_not_equal(receive(&out, &w), OAE_BAD_NONE);
			w.b[at] ^= 1 << bit;
		}
	}
	for (at = OAE_HDR_LEN; at < w.len; at++) {
		w.b[at] ^= 1;
		assert_int_equal(receive(&out, &w), OAE_BAD_DIGEST);
		w.b[at] ^= 1;
	}
	assert_int_equal(receive(&out, &w), OAE_BAD_NONE);
}

/* Bodies whose length agrees with the header, but not with the opcode. */
TEST(test_body_length)
{
	static const struct {
		u8 opcode;
		u16 reason;
		u8 kind;
		u16 len;
		enum oae_bad bad;
	} cases[] = {
		{ OAE_SYNC, 0, 0, 63, OAE_BAD_FIELD },
		{ OAE_SYNC, 0, 0, 65, OAE_BAD_FIELD },
		{ OAE_SYNC_ACK, 0, 0, 0, OAE_BAD_FIELD },
		{ OAE_SYNC_CHK, 0, 0, 100, OAE_BAD_FIELD },
		{ OAE_OFFER, 0, 0, 0, OAE_BAD_NONE },
		{ OAE_OFFER, 0, 0, 1000, OAE_BAD_NONE },
		{ OAE_REFLECT, 0, OAE_MESSAGE, 15, OAE_BAD_FIELD },
		{ OAE_REFLECT, 0, OAE_MESSAGE, 17, OAE_BAD_FIELD },
		{ OAE_REFLECT, 0, OAE_SWAP, 15, OAE_BAD_FIELD },
		{ OAE_REFLECT, 0, OAE_SWAP, 16, OAE_BAD_FIELD },
		{ OAE_REFLECT, 0, OAE_SWAP, 17, OAE_BAD_NONE },
		{ OAE_REFLECT, 0, OAE_VERB, 16, OAE_BAD_FIELD },
		{ OAE_REFLECT, 0, OAE_VERB, 17, OAE_BAD_NONE },
		{ OAE_REFLECT, 0, OAE_SWAP, 116, OAE_BAD_NONE },
		{ OAE_REFLECT, 0, OAE_VERB, 24, OAE_BAD_NONE },
		{ OAE_REFUSE, OAE_R_BUSY, 0, 8, OAE_BAD_FIELD },
		{ OAE_REFUSE, OAE_R_BUSY, 0, 0, OAE_BAD_NONE },
		{ OAE_ASK, 0, 0, 0, OAE_BAD_NONE },
		{ OAE_ASK, 0, 0, 8, OAE_BAD_NONE },
		{ OAE_ASK, 0, 0, 1452, OAE_BAD_NONE },
		{ OAE_ACK, 0, 0, 0, OAE_BAD_FIELD },
		{ OAE_ACK, 0, 0, 7, OAE_BAD_FIELD },
		{ OAE_ACK, 0, 0, 8, OAE_BAD_NONE },
		{ OAE_ACK, 0, 0, 9, OAE_BAD_FIELD },
		{ OAE_CLOSE, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_CLOSE_ACK, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_COMMIT, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_READY, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_DONE, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_NOLINK, 0, 0, 8, OAE_BAD_FIELD },
		{ OAE_HELLO, 0, 0, 0, OAE_BAD_FIELD },
		{ OAE_HELLO, 0, 0, 23, OAE_BAD_FIELD },
		{ OAE_HELLO, 0, 0, 25, OAE_BAD_FIELD },
		{ OAE_PATH, 0, 0, 0, OAE_BAD_FIELD },
		{ OAE_PATH, 0, 0, 31, OAE_BAD_FIELD },
		{ OAE_PATH, 0, 0, 32, OAE_BAD_NONE },
		{ OAE_PATH, 0, 0, 33, OAE_BAD_FIELD },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		make(cases[i].opcode);
		w.b[OAE_OFF_KIND] = cases[i].kind;
		w.b[OAE_OFF_REASON] = cases[i].reason;
		put_unaligned_be16(cases[i].len, w.b + OAE_OFF_LENGTH);
		w.len = OAE_HDR_LEN + cases[i].len;
		sign(&w);
		if (receive(&out, &w) != cases[i].bad)
			fail_msg("case %zu: %s with %u bytes: %d, not %d", i,
				 oae_opcode_name(cases[i].opcode),
				 cases[i].len, receive(&out, &w),
				 cases[i].bad);
	}
}

/* Nothing that comes in is read beyond its end, whatever it says (ASan). */
TEST(test_any_bytes)
{
	u64 rng = 1;
	unsigned int i;
	size_t len, j;

	for (i = 0; i < 100000; i++) {
		len = i % (OAE_PARSE_MAX + 1);
		u8 buf[len + 1];

		for (j = 0; j < len; j++) {
			rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
			buf[j] = rng >> 33;
		}
		/* Often a good beginning, else few get far. */
		if (len > 4) {
			buf[0] = i & 1 ? 0x20 : i & 2 ? 0x23 : buf[0];
			buf[1] = i & 4 ? buf[1] % OAE_OPCODE_END : buf[1];
			buf[3] = i & 8 ? buf[3] & 0x3f : buf[3];
			buf[4] = i & 16 ? 0 : buf[4];
		}
		if (!oae_frame_parse(&f, buf, len, len + i % 3 * 100))
			assert_int_equal(oae_frame_verify(&f, buf, i),
					 f.flags & OAE_F_AUTH ? OAE_BAD_AUTH :
								OAE_BAD_DIGEST);
	}
}

UNIT_MAIN("malformed frames")
