// SPDX-License-Identifier: GPL-2.0
/*
 * UDP ports: which MAC an address has, which endpoint a MAC has, and from whom a
 * datagram is believed (doc/protocol.md section 4.15).
 */
#include "unit.h"
#include "../../modoae/link/udpmap.h"

#define PATIENCE	3000

static struct oae_udp_end v4(u8 a, u8 b, u8 c, u8 d, u16 port)
{
	return (struct oae_udp_end){ .addr = { a, b, c, d }, .port = port };
}

static struct oae_udp_end v6(u8 first, u8 second, u8 last, u16 port)
{
	struct oae_udp_end end = { .addr = { first, second }, .port = port, .v6 = true };

	end.addr[13] = 1;
	end.addr[14] = 2;
	end.addr[15] = last;
	return end;
}

static void assert_same(struct oae_udp_end a, struct oae_udp_end b)
{
	assert_true(oae_udp_same(&a, &b));
	assert_true(oae_udp_same(&b, &a));
}

static void assert_differ(struct oae_udp_end a, struct oae_udp_end b)
{
	assert_false(oae_udp_same(&a, &b));
	assert_false(oae_udp_same(&b, &a));
}

TEST(test_same)
{
	assert_same(v4(10, 1, 2, 3, 7), v4(10, 1, 2, 3, 7));
	assert_differ(v4(10, 1, 2, 3, 7), v4(10, 1, 2, 3, 8));
	assert_differ(v4(10, 1, 2, 3, 7), v4(10, 1, 2, 4, 7));
	assert_same(v6(0xfd, 0, 1, 7), v6(0xfd, 0, 1, 7));
	assert_differ(v6(0xfd, 0, 1, 7), v6(0xfd, 0, 2, 7));
	assert_differ((struct oae_udp_end){ .port = 7 },
		      (struct oae_udp_end){ .port = 7, .v6 = true });
}

TEST(test_usable)
{
	static const struct {
		u8 addr[OAE_UDP_V6_LEN];
		bool v6, usable;
	} table[] = {
		{ { 10, 0, 0, 1 }, false, true },
		{ { 127, 0, 0, 1 }, false, true },
		{ { 223, 255, 255, 255 }, false, true },
		{ { 0, 0, 0, 1 }, false, false },
		{ { 224, 0, 0, 1 }, false, false },
		{ { 255, 255, 255, 255 }, false, false },
		{ { 0xfd, [15] = 1 }, true, true },
		{ { 0x20, 1, [15] = 1 }, true, true },
		{ { [15] = 1 }, true, true },
		{ { 0xfe, 0xc0, [15] = 1 }, true, true },
		{ { [15] = 0 }, true, false },
		{ { 0xff, 2, [15] = 1 }, true, false },
		{ { 0xfe, 0x80, [15] = 1 }, true, false },
		{ { 0xfe, 0xbf, [15] = 1 }, true, false },
		{ { [10] = 0xff, [11] = 0xff, [12] = 10 }, true, false },
		{ { 1, [10] = 0xff, [11] = 0xff, [12] = 10 }, true, true },
	};
	struct oae_udp_end end;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		memcpy(end.addr, table[i].addr, sizeof(end.addr));
		end.v6 = table[i].v6;
		end.port = 1;
		assert_int_equal(oae_udp_usable(&end), table[i].usable);
		end.port = 0;
		assert_false(oae_udp_usable(&end));
	}
}

TEST(test_mac)
{
	static const u8 of_v4[] = { 2, 0x0a, 0xe0, 1, 2, 3 }, of_v6[] = { 2, 0x0a, 0xe0, 1, 2, 9 };
	struct oae_udp_end end = v4(10, 1, 2, 3, 7);
	u8 mac[OAE_UDP_MAC_LEN];

	oae_udp_mac(&end, mac);
	assert_memory_equal(mac, of_v4, sizeof(mac));
	end = v6(0xfd, 0, 9, 7);
	oae_udp_mac(&end, mac);
	assert_memory_equal(mac, of_v6, sizeof(mac));
}

static struct oae_udp_end mapped(struct oae_udp_end local, u32 oui, u32 low24)
{
	u8 mac[] = { oui >> 16, oui >> 8, oui, low24 >> 16, low24 >> 8, low24 };
	struct oae_udp_end end;

	oae_udp_map(&local, mac, &end);
	return end;
}

TEST(test_map)
{
	assert_same(mapped(v4(10, 1, 2, 3, 7), OAE_UDP_OUI, 0x040506), v4(10, 4, 5, 6, 7));
	assert_same(mapped(v6(0xfd, 9, 9, 7), OAE_UDP_OUI, 0x010208), v6(0xfd, 9, 8, 7));
	/* Another's OUI, and itself. */
	assert_int_equal(mapped(v4(10, 1, 2, 3, 7), OAE_UDP_OUI + 1, 0x040506).port, 0);
	assert_int_equal(mapped(v4(10, 1, 2, 3, 7), OAE_UDP_OUI, 0x010203).port, 0);
	assert_int_equal(mapped((struct oae_udp_end){ .addr = { [15] = 1 }, .port = 7, .v6 = true },
				OAE_UDP_OUI, 0).port, 0);
}

/* A MAC and its address lead to each other, for hosts that share the upper bits. */
TEST(test_there_and_back)
{
	struct oae_udp_end local = v4(10, 0, 0, 1, 7), peer = v4(10, 99, 1, 2, 7), end;
	u8 mac[OAE_UDP_MAC_LEN];

	oae_udp_mac(&peer, mac);
	oae_udp_map(&local, mac, &end);
	assert_same(end, peer);
}

TEST(test_overhead)
{
	assert_int_equal(oae_udp_overhead(false), 44);
	assert_int_equal(oae_udp_overhead(true), 64);
}

#define FIXED	v4(10, 0, 0, 1, 1)
#define MAPPED	v4(10, 0, 0, 2, 2)
#define HEARD	v4(10, 0, 0, 3, 3)
#define OTHER	v4(10, 0, 0, 4, 4)
#define NONE	((struct oae_udp_end){ .port = 0 })

static enum oae_udp_verdict judge(struct oae_udp_end fixed, struct oae_udp_end map,
				  struct oae_udp_end learned, u32 silent,
				  struct oae_udp_end from)
{
	struct oae_udp_known known = {
		.fixed = fixed, .mapped = map, .learned = learned,
		.silent = silent, .patience = PATIENCE,
	};

	return oae_udp_judge(&known, &from);
}

TEST(test_judge_configured)
{
	u32 silent;

	for (silent = 0; silent <= 2 * PATIENCE; silent += PATIENCE) {
		assert_int_equal(judge(FIXED, MAPPED, NONE, silent, FIXED), OAE_UDP_LEARN);
		assert_int_equal(judge(FIXED, MAPPED, FIXED, silent, FIXED), OAE_UDP_KNOWN);
		/* It was elsewhere before it was configured. */
		assert_int_equal(judge(FIXED, MAPPED, HEARD, silent, FIXED), OAE_UDP_LEARN);
		assert_int_equal(judge(FIXED, MAPPED, HEARD, silent, HEARD), OAE_UDP_REFUSE);
		assert_int_equal(judge(FIXED, MAPPED, NONE, silent, MAPPED), OAE_UDP_REFUSE);
		assert_int_equal(judge(FIXED, MAPPED, FIXED, silent, OTHER), OAE_UDP_REFUSE);
	}
}

TEST(test_judge_learned)
{
	assert_int_equal(judge(NONE, MAPPED, NONE, 0, OTHER), OAE_UDP_LEARN);
	assert_int_equal(judge(NONE, NONE, NONE, 0, OTHER), OAE_UDP_LEARN);
	assert_int_equal(judge(NONE, MAPPED, HEARD, 0, HEARD), OAE_UDP_KNOWN);
	assert_int_equal(judge(NONE, MAPPED, HEARD, 0, OTHER), OAE_UDP_REFUSE);
	assert_int_equal(judge(NONE, NONE, HEARD, PATIENCE - 1, OTHER), OAE_UDP_REFUSE);
	assert_int_equal(judge(NONE, MAPPED, HEARD, PATIENCE, OTHER), OAE_UDP_LEARN);
	/* Where its MAC says, it is believed at once. */
	assert_int_equal(judge(NONE, MAPPED, HEARD, 0, MAPPED), OAE_UDP_LEARN);
	assert_int_equal(judge(NONE, MAPPED, MAPPED, 0, OTHER), OAE_UDP_REFUSE);
}

TEST(test_whither)
{
	struct oae_udp_known known = { .fixed = FIXED, .mapped = MAPPED, .learned = HEARD };

	assert_same(*oae_udp_whither(&known), FIXED);
	known.fixed = NONE;
	assert_same(*oae_udp_whither(&known), HEARD);
	known.learned = NONE;
	assert_same(*oae_udp_whither(&known), MAPPED);
	known.mapped = NONE;
	assert_null(oae_udp_whither(&known));
}

TEST(test_head)
{
	u8 head[OAE_UDP_HDR_LEN];
	unsigned int len = OAE_UDP_HDR_LEN + OAE_HDR_LEN;

	memset(head, 0xff, sizeof(head));
	oae_udp_head_build(head);
	assert_int_equal(head[0], 0x11);
	assert_int_equal(head[1], 0);
	assert_int_equal(head[2], 0xff);
	assert_true(oae_udp_head_good(head, len));
	assert_true(oae_udp_head_good(head, 65535));
	assert_false(oae_udp_head_good(head, len - 1));
	assert_false(oae_udp_head_good(NULL, 0));
	head[1] = 1;
	assert_false(oae_udp_head_good(head, len));
	head[1] = 0;
	head[0] = 0x21;
	assert_false(oae_udp_head_good(head, len));
	head[0] = 0x12;
	assert_false(oae_udp_head_good(head, len));
}

UNIT_MAIN("udpmap")
