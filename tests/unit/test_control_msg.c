// SPDX-License-Identifier: GPL-2.0
/* Control messages between gateways: what is built is read back, or refused. */
#include "unit.h"
#include "../../modoaeip/rules/control_msg.h"

#define MOST	OAEIP_CONTROL_MAX

static struct oaeip_control c;	/* what was read last */

static enum oaeip_bad parse(const u8 *b, size_t have, size_t total)
{
	u8 *buf = malloc(have + !have);
	enum oaeip_bad bad;

	memcpy(buf, b, have);
	memset(&c, 0xa5, sizeof(c));
	bad = oaeip_control_parse(&c, buf, have, total);
	if (!bad)
		assert_ptr_equal(c.nodes, c.count ? buf + OAEIP_CTL_LEN :
						      NULL);
	free(buf);
	return bad;
}

/* A good message of each op, with so many nodes if it has any. */
static size_t message(u8 *b, u8 op, unsigned int count)
{
	struct oaeip_control c = {
		.op = op,
		.count = op == OAEIP_NODES ? count : 0,
		.inc = 0x01020304,
		.serial = 0xfffffff0,
		.life = 175,
		.seen = op == OAEIP_BEAT ? 1472 : 0,
	};
	unsigned int i;
	u8 mac[6] = { 2 };

	for (i = 0; i < c.count; i++) {
		put_unaligned_be16(i, mac + 4);
		oaeip_node_put(b, i, mac, i % 3);
	}
	return oaeip_control_build(&c, b);
}

TEST(test_golden)
{
	static const u8 nodes[] = {
		2, 0, 0, 2, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xf0, 0, 175, 0, 0,
		2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1, 0,
	};
	static const u8 beat[] = {
		1, 0, 0, 0, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xf0, 0, 175, 5, 0xc0,
	};
	u8 b[MOST];

	memset(b, 0xff, sizeof(b));
	assert_int_equal(message(b, OAEIP_NODES, 2), sizeof(nodes));
	assert_memory_equal(b, nodes, sizeof(nodes));
	assert_int_equal(message(b, OAEIP_BEAT, 0), sizeof(beat));
	assert_memory_equal(b, beat, sizeof(beat));
}

TEST(test_round_trip)
{
	unsigned int i, n;
	u8 op, flags, b[MOST];
	const u8 *mac;
	size_t len;

	for (op = OAEIP_BEAT; op < OAEIP_OP_END; op++) {
		for (n = 1; n <= (op == OAEIP_NODES ? 150 : 1); n++) {
			len = message(b, op, n);
			assert_int_equal(len, 16 + (op == 2 ? 8 * n : 0));
			assert_int_equal(parse(b, len, len), OAEIP_OK);
			assert_int_equal(c.op, op);
			assert_int_equal(c.count, op == OAEIP_NODES ? n : 0);
			assert_int_equal(c.inc, 0x01020304);
			assert_int_equal(c.serial, 0xfffffff0);
			assert_int_equal(c.life, 175);
			assert_int_equal(c.seen, op == OAEIP_BEAT ? 1472 : 0);
		}
	}
	message(b, OAEIP_NODES, 150);
	assert_int_equal(oaeip_control_parse(&c, b, MOST, MOST), OAEIP_OK);
	for (i = 0; i < 150; i++) {
		mac = oaeip_node_get(&c, i, &flags);
		assert_int_equal(flags, i % 3);
		assert_int_equal(mac[0], 2);
		assert_int_equal(get_unaligned_be16(mac + 4), i);
	}
}

TEST(test_length)
{
	u8 op, b[2 * MOST] = { 0 };
	size_t n, len;

	for (op = OAEIP_BEAT; op < OAEIP_OP_END; op++) {
		len = message(b, op, 3);
		for (n = 0; n < 100; n++) {
			assert_int_equal(parse(b, n, n),
					 n < len ? OAEIP_BAD_SHORT :
					 n > len && op != OAEIP_PROBE ?
					 OAEIP_BAD_LONG : OAEIP_OK);
			if (n >= len)
				continue;
			/* It is there, but not to be read. */
			assert_int_equal(parse(b, n, len), OAEIP_BAD_SHORT);
		}
		assert_int_equal(parse(b, len, len - 1), OAEIP_BAD_SHORT);
	}
	/* Of a PROBE the beginning does. */
	message(b, OAEIP_PROBE, 0);
	assert_int_equal(parse(b, 16, 65000), OAEIP_OK);
	assert_int_equal(parse(b, MOST, 65000), OAEIP_OK);
}

TEST(test_op)
{
	unsigned int op;
	u8 b[MOST];

	for (op = 0; op < 256; op++) {
		message(b, OAEIP_ASK, 0);
		b[OAEIP_CTL_OFF_OP] = op;
		assert_int_equal(parse(b, 16, 16),
				 !op || op > 5 ? OAEIP_BAD_OP : op == 2 ?
				 OAEIP_BAD_COUNT : OAEIP_OK);
	}
}

TEST(test_count)
{
	unsigned int n;
	u8 op, b[MOST + 8];

	for (op = OAEIP_BEAT; op < OAEIP_OP_END; op++) {
		if (op == OAEIP_NODES)
			continue;
		message(b, op, 0);
		for (n = 1; n < 65536; n = 2 * n + 1) {
			put_unaligned_be16(n, b + OAEIP_CTL_OFF_COUNT);
			assert_int_equal(parse(b, 16, 16), OAEIP_BAD_COUNT);
		}
	}
	message(b, OAEIP_NODES, 150);
	oaeip_node_put(b, 150, b + OAEIP_CTL_LEN, 0);
	for (n = 0; n < 65536; n++) {
		put_unaligned_be16(n, b + OAEIP_CTL_OFF_COUNT);
		assert_int_equal(oaeip_control_parse(&c, b, MOST, MOST),
				 !n || n > 150 ? OAEIP_BAD_COUNT :
				 n < 150 ? OAEIP_BAD_LONG : OAEIP_OK);
	}
	put_unaligned_be16(151, b + OAEIP_CTL_OFF_COUNT);
	assert_int_equal(parse(b, MOST + 8, MOST + 8), OAEIP_BAD_COUNT);
}

TEST(test_field)
{
	u8 op, b[MOST];
	unsigned int i;
	size_t len;

	for (op = OAEIP_BEAT; op < OAEIP_OP_END; op++) {
		for (i = 1; i < 256; i++) {
			len = message(b, op, 1);
			b[OAEIP_CTL_OFF_ZERO] = i;
			assert_int_equal(parse(b, len, len),
					 OAEIP_BAD_FIELD);
		}
		len = message(b, op, 1);
		put_unaligned_be32(0, b + OAEIP_CTL_OFF_INC);
		assert_int_equal(parse(b, len, len), OAEIP_BAD_FIELD);
		len = message(b, op, 1);
		put_unaligned_be16(0, b + OAEIP_CTL_OFF_LIFE);
		assert_int_equal(parse(b, len, len), OAEIP_BAD_FIELD);
		for (i = 1; i < 65536; i = 2 * i) {
			len = message(b, op, 1);
			put_unaligned_be16(i, b + OAEIP_CTL_OFF_SEEN);
			assert_int_equal(parse(b, len, len),
					 op == OAEIP_BEAT ? OAEIP_OK :
							    OAEIP_BAD_FIELD);
		}
	}
	/* Each bit alone is not zero. */
	for (i = 0; i < 32; i++) {
		message(b, OAEIP_ASK, 0);
		put_unaligned_be32(1U << i, b + OAEIP_CTL_OFF_INC);
		put_unaligned_be16(1U << i % 16, b + OAEIP_CTL_OFF_LIFE);
		assert_int_equal(parse(b, 16, 16), OAEIP_OK);
		assert_int_equal(c.inc, 1U << i);
		assert_int_equal(c.life, 1U << i % 16);
	}
}

/* One bad node spoils the message, wherever it is. */
TEST(test_nodes)
{
	unsigned int at, i;
	size_t len;
	u8 b[MOST], *node;

	for (at = 0; at < 150; at++) {
		node = b + OAEIP_CTL_LEN + 8 * at;
		for (i = 0; i < 256; i++) {
			len = message(b, OAEIP_NODES, 150);
			node[OAEIP_NODE_OFF_FLAGS] = i;
			assert_int_equal(oaeip_control_parse(&c, b, len, len),
					 i <= 2 ? OAEIP_OK : OAEIP_BAD_FLAGS);
		}
		len = message(b, OAEIP_NODES, 150);
		node[OAEIP_NODE_OFF_ZERO] = 1;
		assert_int_equal(oaeip_control_parse(&c, b, len, len),
				 OAEIP_BAD_FIELD);
		len = message(b, OAEIP_NODES, 150);
		node[0] |= 1;
		assert_int_equal(oaeip_control_parse(&c, b, len, len),
				 OAEIP_BAD_MAC);
		memset(node, 0, 6);
		assert_int_equal(oaeip_control_parse(&c, b, len, len),
				 OAEIP_BAD_MAC);
	}
}

TEST(test_serial)
{
	unsigned int i;
	u32 a;

	for (i = 0; i < 32; i++)
		for (a = 0; a < 3; a++) {
			u32 b = (1U << i) - a;

			assert_false(oaeip_serial_newer(b, b));
			assert_true(oaeip_serial_newer(b + 1, b));
			assert_false(oaeip_serial_newer(b, b + 1));
			assert_true(oaeip_serial_newer(b + 0x7fffffff, b));
			assert_false(oaeip_serial_newer(b, b + 0x7fffffff));
		}
}

/* Nothing is read beyond the end, whatever it says (ASan). */
TEST(test_any_bytes)
{
	unsigned int i, good = 0;
	size_t len, j;
	u8 b[MOST];
	u64 rng = 1;

	for (i = 0; i < 100000; i++) {
		len = i % 64;
		for (j = 0; j < len; j++) {
			rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
			b[j] = rng >> 33;
		}
		/* Often a good beginning, else few get far. */
		if (i & 1)
			memset(b, 0, 4);
		if (i & 2)
			b[0] = 1 + i / 4 % 6;
		if (i & 4)
			b[3] = i / 8 % 8;
		if (i & 8)
			memset(b + 14, 0, 2);
		good += !parse(b, len, len + (i % 5 ? 0 : i % 7));
	}
	assert_true(good > 100);
}

UNIT_MAIN("control messages")
