// SPDX-License-Identifier: GPL-2.0
/* A peer of version 1: its SYNC is answered in its own format (doc/protocol.md section 2.6). */
#include "frame_util.h"
#include "../../modoae/link/older.h"

/* Of the last version 1, on the wire: its SYNC, and the CLOSE that turned such a peer away. */
static const char sync1[] =
	"1a015a10002000001122334455667788fffffffe01020304ffffffff00000000"
	"64753623c71c69b3102030405060708090a0b0c0d0e0f001cafe000100010000"
	"fffffff005dc0000";
static const char close1[] =
	"1a045a00000000005566778811223344"
	"0000000000000000ffffffff00000007";

#define HELD	0x10	/* the only flag of its SYNC */

static u8 answer[OAE_OLDER_HDR];

static void unhex(const char *text, u8 *to)
{
	unsigned int byte;

	for (; sscanf(text, "%2x", &byte) == 1; text += 2)
		*to++ = byte;
}

static void sign1(u8 *b, size_t payload)
{
	put_unaligned_be64(0, b + 32);
	put_unaligned_be64(spec_xxh64(b, 40, spec_xxh64(b + 40, payload, 0)), b + 32);
}

static bool turned_away(const u8 *b, size_t len)
{
	u8 *copy = malloc(len + !len);
	bool yes;

	memcpy(copy, b, len);
	memset(answer, 0xa5, sizeof(answer));
	yes = oae_older_turn_away(copy, len, answer);
	free(copy);
	return yes;
}

TEST(test_sync)
{
	u8 b[OAE_OLDER_SYNC], want[OAE_OLDER_HDR];

	unhex(sync1, b);
	unhex(close1, want);
	sign1(want, 0);
	assert_true(turned_away(b, sizeof(b)));
	assert_memory_equal(answer, want, sizeof(want));
	/* A peer that holds nothing says no flag. */
	b[3] = 0;
	sign1(b, 32);
	assert_true(turned_away(b, sizeof(b)));
}

/* All else is silence: each bit of the header that says something else, each length. */
TEST(test_others)
{
	u8 b[OAE_OLDER_SYNC + 1] = { 0 };
	unsigned int at, bit, n;

	unhex(sync1, b);
	for (n = 0; n <= sizeof(b); n++)
		assert_int_equal(turned_away(b, n), n == OAE_OLDER_SYNC);
	for (at = 0; at < OAE_OLDER_SYNC; at++) {
		for (bit = 0; bit < 8; bit++) {
			b[at] ^= 1 << bit;
			assert_false(turned_away(b, OAE_OLDER_SYNC));
			b[at] ^= 1 << bit;
		}
	}
	for (n = 0; n < 256; n++) {
		b[0] = n;
		sign1(b, 32);
		assert_int_equal(turned_away(b, OAE_OLDER_SYNC), n == 0x1a);
		b[0] = 0x1a;
		b[1] = n;
		sign1(b, 32);
		assert_int_equal(turned_away(b, OAE_OLDER_SYNC), n == OAE_SYNC);
		b[1] = OAE_SYNC;
		b[3] = n;
		sign1(b, 32);
		assert_int_equal(turned_away(b, OAE_OLDER_SYNC), !(n & ~HELD));
		b[3] = 0;
		b[5] = n;
		sign1(b, 32);
		assert_int_equal(turned_away(b, OAE_OLDER_SYNC), n == 32);
		b[5] = 32;
	}
}

/* What answers it is answered by nobody, and is no frame of this version. */
TEST(test_no_end)
{
	u8 b[OAE_OLDER_SYNC];

	unhex(sync1, b);
	assert_true(turned_away(b, sizeof(b)));
	memcpy(w.b, answer, sizeof(answer));
	w.len = sizeof(answer);
	assert_int_equal(parse(&out, &w), OAE_BAD_SHORT);
	assert_false(turned_away(w.b, w.len));
}

UNIT_MAIN("a peer of version 1")
