// SPDX-License-Identifier: GPL-2.0
/* The encapsulation header, and a frame's outline: every cause to drop one. */
#include "unit.h"
#include "../../modoaeip/rules/encap.h"

/* Version 1, DATA, zone 2 to zone 3, 60 bytes behind it. */
static const u8 good[OAEIP_HDR_LEN] = { 0x11, 0, 0, 2, 0, 3, 0, 60 };

/* A buffer of just these bytes, so that one read too many is seen (ASan). */
static enum oaeip_bad encap(struct oaeip_encap *e, const u8 *b, size_t have,
			    size_t total)
{
	u8 *buf = malloc(have + !have);
	enum oaeip_bad bad;

	memcpy(buf, b, have);
	memset(e, 0xa5, sizeof(*e));
	bad = oaeip_encap_parse(e, buf, have, total);
	free(buf);
	return bad;
}

static enum oaeip_bad changed(unsigned int at, u8 to)
{
	struct oaeip_encap e;
	u8 b[OAEIP_HDR_LEN];

	memcpy(b, good, sizeof(b));
	b[at] = to;
	return encap(&e, b, sizeof(b), 68);
}

TEST(test_encap_good)
{
	struct oaeip_encap e;

	assert_int_equal(encap(&e, good, 8, 68), OAEIP_OK);
	assert_int_equal(e.type, OAEIP_DATA);
	assert_int_equal(e.src_zone, 2);
	assert_int_equal(e.dst_zone, 3);
	assert_int_equal(e.length, 60);
	assert_int_equal(changed(0, 0x12), OAEIP_OK);
}

TEST(test_encap_length)
{
	struct oaeip_encap e;
	size_t n;

	for (n = 0; n < 8; n++)
		assert_int_equal(encap(&e, good, n, n), OAEIP_BAD_SHORT);
	assert_int_equal(encap(&e, good, 8, 7), OAEIP_BAD_SHORT);
	for (n = 8; n < 2000; n++)
		assert_int_equal(encap(&e, good, 8, n),
				 n < 68 ? OAEIP_BAD_SHORT :
				 n > 68 ? OAEIP_BAD_LONG : OAEIP_OK);
	assert_int_equal(encap(&e, good, 8, 8 + 65536 + 60), OAEIP_BAD_LONG);
}

TEST(test_encap_first_byte)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		assert_int_equal(changed(OAEIP_OFF_VER_TYPE, i),
				 i >> 4 != 1 ? OAEIP_BAD_VERSION :
				 i == 0x11 || i == 0x12 ? OAEIP_OK :
							  OAEIP_BAD_TYPE);
}

TEST(test_encap_flags)
{
	unsigned int i;

	for (i = 1; i < 256; i++)
		assert_int_equal(changed(OAEIP_OFF_FLAGS, i), OAEIP_BAD_FLAGS);
}

TEST(test_encap_zones)
{
	struct oaeip_encap e, out;
	unsigned int s, d;
	u8 b[8];

	for (s = 0; s < 70; s++)
		for (d = 0; d < 70; d++) {
			e = (struct oaeip_encap){ OAEIP_CONTROL, s, d, 0 };
			oaeip_encap_build(&e, b);
			assert_int_equal(encap(&out, b, 8, 8),
					 s && d && s != d && s <= 64 &&
					 d <= 64 ? OAEIP_OK : OAEIP_BAD_ZONE);
		}
	assert_int_equal(changed(OAEIP_OFF_SRC_ZONE, 1), OAEIP_BAD_ZONE);
	assert_int_equal(changed(OAEIP_OFF_DST_ZONE, 1), OAEIP_BAD_ZONE);
}

/* What was wrong first is what is said. */
TEST(test_encap_order)
{
	u8 b[8] = { 0x2f, 1, 0, 0, 0, 0, 0xff, 0xff };
	struct oaeip_encap e;

	assert_int_equal(encap(&e, b, 7, 7), OAEIP_BAD_SHORT);
	assert_int_equal(encap(&e, b, 8, 8), OAEIP_BAD_VERSION);
	b[0] = 0x1f;
	assert_int_equal(encap(&e, b, 8, 8), OAEIP_BAD_TYPE);
	b[0] = 0x11;
	assert_int_equal(encap(&e, b, 8, 8), OAEIP_BAD_FLAGS);
	b[1] = 0;
	assert_int_equal(encap(&e, b, 8, 8), OAEIP_BAD_ZONE);
	b[3] = 1;
	b[5] = 2;
	assert_int_equal(encap(&e, b, 8, 8), OAEIP_BAD_SHORT);
}

/* Built, it is these bytes; read back, it is the same. */
TEST(test_encap_round_trip)
{
	struct oaeip_encap in = { OAEIP_DATA, 2, 3, 60 }, out;
	unsigned int i;
	u8 b[8];

	memset(b, 0xff, sizeof(b));
	oaeip_encap_build(&in, b);
	assert_memory_equal(b, good, sizeof(b));
	for (i = 0; i < 65536; i++) {
		in.type = 1 + i % 2;
		in.src_zone = 1 + i % 63;
		in.dst_zone = 64;
		in.length = i;
		oaeip_encap_build(&in, b);
		assert_int_equal(encap(&out, b, 8, 8 + i), OAEIP_OK);
		assert_int_equal(out.type, in.type);
		assert_int_equal(out.src_zone, in.src_zone);
		assert_int_equal(out.dst_zone, in.dst_zone);
		assert_int_equal(out.length, in.length);
	}
}

/* A frame on the wire. */
struct wire {
	u8 b[512];
	size_t len;
};

static const u8 mac_a[6] = { 2, 0, 0, 0, 0, 0xa };
static const u8 mac_b[6] = { 2, 0, 0, 0, 0, 0xb };

/* A frame from a to b; a HELLO has no VIA and its body. */
static struct wire frame(u8 opcode)
{
	bool via = opcode != OAE_HELLO;
	struct wire w = { .len = via ? 60 : 48 };
	size_t body = opcode == OAE_OFFER ? 100 : via ? 0 : OAE_HELLO_LEN;

	memset(w.b, 0xee, sizeof(w.b));
	w.b[OAE_OFF_VER_EXT] = via ? 0x23 : 0x20;
	w.b[OAE_OFF_OPCODE] = opcode;
	w.b[OAE_OFF_VC] = 0x5a;
	w.b[OAE_OFF_FLAGS] = via ? OAE_F_VIA : 0;
	put_unaligned_be16(body, w.b + OAE_OFF_LENGTH);
	memcpy(w.b + OAE_OFF_VIA_DST, mac_b, 6);
	memcpy(w.b + OAE_OFF_VIA_SRC, mac_a, 6);
	w.len += body;
	return w;
}

static struct oaeip_outline o;	/* what was read last */

static enum oaeip_bad outline(const struct wire *w, size_t have, size_t total)
{
	u8 *buf = malloc(have + !have);
	enum oaeip_bad bad;

	memcpy(buf, w->b, have);
	memset(&o, 0xa5, sizeof(o));
	bad = oaeip_outline_parse(&o, buf, have, total);
	if (!bad && o.via) {
		assert_ptr_equal(o.via_dst, buf + OAE_OFF_VIA_DST);
		assert_ptr_equal(o.via_src, buf + OAE_OFF_VIA_SRC);
	} else if (!bad) {
		assert_null(o.via_dst);
		assert_null(o.via_src);
	}
	free(buf);
	return bad;
}

/* Of a frame as it is, with what a gateway has to have at hand. */
static enum oaeip_bad look(const struct wire *w)
{
	return outline(w, w->len < OAEIP_OUTLINE_LEN ? w->len : OAEIP_OUTLINE_LEN, w->len);
}

TEST(test_outline_good)
{
	struct wire w;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op++) {
		w = frame(op);
		assert_int_equal(outline(&w, 60, w.len), OAEIP_OK);
		assert_int_equal(o.opcode, op);
		assert_int_equal(o.vc, 0x5a);
		assert_int_equal(o.via, op != OAE_HELLO);
	}
}

TEST(test_outline_length)
{
	struct wire offer = frame(OAE_OFFER), hello = frame(OAE_HELLO);
	size_t n;

	for (n = 0; n < 300; n++) {
		bool enough = n >= offer.len;

		assert_int_equal(outline(&offer, n, n),
				 !enough ? OAEIP_BAD_SHORT : n > offer.len ?
				 OAEIP_BAD_LONG : OAEIP_OK);
		enough = n >= hello.len;
		assert_int_equal(outline(&hello, n, n),
				 !enough ? OAEIP_BAD_SHORT : n > hello.len ?
				 OAEIP_BAD_LONG : OAEIP_OK);
	}
	for (n = 0; n < OAEIP_OUTLINE_LEN; n++)
		assert_int_equal(outline(&offer, n, offer.len),
				 OAEIP_BAD_SHORT);
	assert_int_equal(outline(&hello, 48, hello.len), OAEIP_OK);
	assert_int_equal(outline(&offer, 60, 59), OAEIP_BAD_SHORT);
}

/* The header's length and 65535 are more than a datagram's length can say. */
TEST(test_outline_too_long)
{
	struct wire w = frame(OAE_OFFER);
	unsigned int n;

	for (n = 65480; n < 65536; n++) {
		put_unaligned_be16(n, w.b + OAE_OFF_LENGTH);
		assert_int_equal(outline(&w, 60, 60 + n),
				 n > 65535 - 60 ? OAEIP_BAD_LONG : OAEIP_OK);
		assert_int_equal(outline(&w, 60, 59 + n),
				 OAEIP_BAD_SHORT);
	}
}

TEST(test_outline_header)
{
	struct wire w = frame(OAE_COMMIT), h = frame(OAE_HELLO);
	unsigned int i;

	for (i = 0; i < 256; i++) {
		w.b[0] = i;
		assert_int_equal(look(&w), i >> 4 != 2 ? OAEIP_BAD_VERSION :
				 i != 0x23 ? OAEIP_BAD_HLEN : OAEIP_OK);
		h.b[0] = i;
		assert_int_equal(look(&h), i >> 4 != 2 ? OAEIP_BAD_VERSION :
				 i != 0x20 ? OAEIP_BAD_HLEN : OAEIP_OK);
	}
	w = frame(OAE_COMMIT);
	for (i = 0; i < 256; i++) {
		w.b[OAE_OFF_FLAGS] = i;
		assert_int_equal(look(&w), i & 0x90 ? OAEIP_BAD_FLAGS :
				 i & 0x20 ? OAEIP_OK : OAEIP_BAD_HLEN);
	}
	w = frame(OAE_COMMIT);
	for (i = 0; i < 256; i++) {
		w.b[OAE_OFF_OPCODE] = i;
		assert_int_equal(look(&w), i && i != 13 && i < OAE_OPCODE_END ? OAEIP_OK :
							 OAEIP_BAD_OPCODE);
	}
}

/* Without VIA only a HELLO is for a gateway; that one must not have it. */
TEST(test_outline_via)
{
	struct wire w;
	u8 op;

	for (op = OAE_SYNC; op < OAE_OPCODE_END; op++) {
		w = frame(OAE_HELLO);
		w.b[OAE_OFF_OPCODE] = op;
		assert_int_equal(look(&w),
				 op == OAE_HELLO ? OAEIP_OK : OAEIP_BAD_VIA);
		w = frame(OAE_OFFER);
		w.b[OAE_OFF_OPCODE] = op;
		assert_int_equal(look(&w), op == OAE_HELLO ? OAEIP_BAD_OPCODE : OAEIP_OK);
	}
}

TEST(test_outline_mac)
{
	unsigned int i, at;
	struct wire w;

	for (at = OAE_OFF_VIA_DST; at <= OAE_OFF_VIA_SRC; at += 6) {
		w = frame(OAE_OFFER);
		for (i = 0; i < 256; i++) {
			w.b[at] = i;
			assert_int_equal(look(&w), i & 1 ? OAEIP_BAD_MAC :
							   OAEIP_OK);
		}
		memset(w.b + at, 0, 6);
		assert_int_equal(look(&w), OAEIP_BAD_MAC);
		for (i = 0; i < 6; i++) {
			memset(w.b + at, 0, 6);
			w.b[at + i] = 2;
			assert_int_equal(look(&w), OAEIP_OK);
		}
	}
	w = frame(OAE_OFFER);
	memcpy(w.b + OAE_OFF_VIA_DST, mac_a, 6);
	assert_int_equal(look(&w), OAEIP_BAD_MAC);
	for (i = 0; i < 6; i++) {
		w = frame(OAE_OFFER);
		memcpy(w.b + OAE_OFF_VIA_DST, mac_a, 6);
		w.b[OAE_OFF_VIA_DST + i] ^= 0x80;
		assert_int_equal(look(&w), OAEIP_OK);
	}
}

UNIT_MAIN("encapsulation")
