// SPDX-License-Identifier: GPL-2.0
/*
 * By which paths a frame goes (doc/protocol.md section 4.14).
 */
#include "three_paths.h"

/* An ASK with so many bytes behind it. */
static unsigned int out_long(u16 length)
{
	const struct oae_frame f = { .opcode = OAE_ASK, .length = length };

	return oae_paths_out(&ps, &l, &f, -1, OAE_OPEN);
}

PATH_TEST(test_out)
{
	static const u8 answer[OAE_OPCODE_END] = {
		[OAE_SYNC_ACK] = 1, [OAE_SYNC_CHK] = 1, [OAE_REFLECT] = 1,
		[OAE_REFUSE] = 1, [OAE_DONE] = 1, [OAE_ACK] = 1, [OAE_CLOSE_ACK] = 1,
	};
	static const enum oae_state states[] = { OAE_SYNC_SENT, OAE_SYNC_RECD, OAE_OPEN };
	unsigned int i, before;
	u8 opcode;
	int back;

	ps.used = 2;
	for (opcode = 1; opcode < OAE_OPCODE_END; opcode++) {
		for (i = 0; i < ARRAY_SIZE(states); i++) {
			l.state = states[i];
			for (before = OAE_SYNC_SENT; before <= OAE_CLOSE_RECD; before++) {
				for (back = -1; back < 3; back++) {
					unsigned int is = out(opcode, back, before), to = 1 << 2;

					if (back >= 0 && answer[opcode])
						to = 1 << back;
					/* Where it is known whether there is a link. */
					if (opcode == OAE_CLOSE)
						to |= 1 << OAE_PATH_OWN;
					if (opcode == OAE_SYNC && l.state != OAE_OPEN)
						to = before >= OAE_OPEN || back < 0 ?
						     ALL : 1U << back;
					/* Of what the peer may not have heard by the other. */
					if (opcode == OAE_COMMIT && back >= 0)
						to |= 1 << back;
					assert_int_equal(is, to);
				}
			}
		}
	}
}

/* What the timer reflects again goes by all. */
PATH_TEST(test_reflected_again)
{
	ps.used = 2;
	l.timer.reflects = 1;
	assert_int_equal(out(OAE_REFLECT, -1, OAE_OPEN), ALL);
	assert_int_equal(out(OAE_REFLECT, 1, OAE_OPEN), 1 << 1);
}

/* What is asked for the second time goes by all; not what an event says of a frame. */
PATH_TEST(test_asked_again)
{
	static const u8 asks[] = { OAE_ASK, OAE_COMMIT };
	unsigned int i;

	ps.used = 2;
	for (i = 0; i < ARRAY_SIZE(asks); i++) {
		l.timer.asks = 1;
		assert_int_equal(out(asks[i], -1, OAE_OPEN), 1 << 2);
		l.timer.asks = 2;
		assert_int_equal(out(asks[i], -1, OAE_OPEN), ALL);
		assert_int_equal(out(asks[i], 1, OAE_OPEN), asks[i] == OAE_ASK ? 4 : 6);
		ps.path[1].proven = false;
		assert_int_equal(out(asks[i], -1, OAE_OPEN), 0x5);
		ps.path[1].proven = true;
	}
	/* A probe of the length that the path in use carries says nothing of others. */
	assert_int_equal(out_long(1), 1 << 2);
	assert_int_equal(out_long(1452), 1 << 2);
	assert_int_equal(out(OAE_OFFER, -1, OAE_OPEN), 1 << 2);
	l.timer.reflects = 1;
	ps.path[1].up = false;
	assert_int_equal(out(OAE_REFLECT, -1, OAE_OPEN), 0x5);
}

PATH_TEST(test_sync_goes_by)
{
	l.state = OAE_SYNC_SENT;
	/* It carries frames, is proven, is there. Whether it was good does not matter. */
	ps.path[1].good = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), ALL);
	ps.path[1].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0x5);
	ps.path[1].up = true;
	ps.path[1].proven = false;
	assert_int_equal(out(OAE_SYNC, 2, OAE_OPEN), 0x5);
	oae_path_del(&ps, 2);
	ps.path[2].up = true;
	ps.path[2].proven = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x1);
	/* By none: then by that in use, where the peer knows this end. */
	ps.path[0].up = false;
	ps.used = 1;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0);
	ps.path[1].proven = true;
	ps.path[1].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x2);
	/* An open link sends this one to a peer that is silent. */
	l.state = OAE_OPEN;
	ps.used = 0;
	assert_int_equal(out(OAE_SYNC, 2, OAE_OPEN), 0x1);
	/* From the second one in a row on by all: the first may have been lost. */
	ps.path[0].up = true;
	ps.path[1].up = true;
	l.asked_at = l.now;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x1);
	l.asked_at = l.now - 1;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x3);
	ps.path[1].proven = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x1);
}

/* A peer that has begun anew knows nothing of what was proven. */
PATH_TEST(test_down_asks)
{
	unsigned int i;

	l.state = OAE_SYNC_SENT;
	for (i = 0; i < 3; i++)
		ps.path[i].proven = false;
	ps.path[OAE_PATH_OWN].via = true;
	ps.path[2].via = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0);
	l.down = true;
	/* By gateways nobody hears who his neighbours are. */
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0x3);
	ps.path[OAE_PATH_OWN].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0x2);
	ps.path[2].proven = true;
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), 0x6);
}

UNIT_MAIN("path_out")
