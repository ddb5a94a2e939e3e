// SPDX-License-Identifier: GPL-2.0
/*
 * How many slices of one transaction are sent at once (doc/protocol.md section 4.11): a long
 * one goes out in parts, whose last frames are answered.
 */
#include "one_window.h"

/* The peer has all slices of the last part but these of it, and not the rest. */
static void part_lost(u32 seq, u64 lost)
{
	static u64 have;
	u64 part = offered(seq)->slices;

	if (part & 1 && !(oae_lane(&l, seq)->repeated))
		have = 0;
	have |= part & ~lost;
	ack_number(seq, have);
}

/* One transaction is too much: a few of its slices, then more and more. */
WINDOW_TEST(test_parts)
{
	u32 seq;

	anew_wide();
	assert_int_equal(l.burst, 8);
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 8));
	part_lost(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(8, 16));
	/* Twice as many as have come. */
	assert_int_equal(l.burst, 16);
	part_lost(seq, 0);
	assert_int_equal(l.burst, 32);
	assert_int_equal(offered(seq)->slices, PART(24, 16));
	/* One was lost: half of that. */
	part_lost(seq, 1ULL << 30);
	assert_int_equal(l.burst, 16);
	assert_int_equal(offered(seq)->slices, 1ULL << 30);
	/* Fewer than there might have been: that tells nothing. */
	reflect(seq);
	assert_int_equal(l.burst, 16);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(oae_window_limit(&l), 1);
	/* Now one more each time. */
	post(&h[2], 40, 0);
	assert_int_equal(offered(++seq)->slices, PART(0, 16));
	part_lost(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(16, 17));
	part_lost(seq, 0);
	assert_int_equal(l.burst, 18);
	assert_int_equal(offered(seq)->slices, PART(33, 7));
}

/* With a window of one, too. */
WINDOW_TEST(test_parts_alone)
{
	port_down();
	rcv(BUT(resolved(), f.sync.caps = 0));
	assert_int_equal(l.state, OAE_OPEN);
	post(&h[1], 40, 0);
	assert_int_equal(sent(OAE_OFFER)->slices, PART(0, 8));
}

/* What was not sent was not lost. */
WINDOW_TEST(test_parts_not_sent)
{
	u8 cwnd = l.cwnd;

	l.burst = 8;
	l.burst_thresh = 4;
	post(&h[1], 40, 0);
	ack_number(1, PART(0, 8));
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(l.burst, 9);
	assert_false(oae_lane(&l, 1)->repeated);
	ack_number(1, PART(0, 16));
	assert_int_equal(l.cwnd, cwnd / 2);
	assert_true(oae_lane(&l, 1)->repeated);
}

/* A row of losses leaves four, however many there are. */
WINDOW_TEST(test_parts_least)
{
	unsigned int i;
	u32 seq;

	anew_wide();
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	for (i = 0; i < 5; i++)
		part_lost(seq, 1);
	assert_int_equal(l.burst, 4);
	assert_int_equal(offered(seq)->slices, PART(20, 3) | 1);
	assert_int_equal(l.tx, seq - 1);
}

/* While several are under way fewer of them are, with all slices each. */
WINDOW_TEST(test_parts_last)
{
	u32 seq = l.tx + 1;

	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 40));
	part_lost(seq, 1ULL << 38);
	assert_int_equal(l.burst, 64);
	assert_int_equal(l.cwnd, 2);
	l.recover = l.tx;
	part_lost(seq, 1ULL << 38);
	assert_int_equal(l.cwnd, 1);
	assert_int_equal(l.burst, 64);
	/* Half of what is there, not of what could be. */
	part_lost(seq, 1ULL << 38);
	assert_int_equal(l.burst, 20);
	/* A message of one slice has no parts. */
	reflect(seq);
	post(&h[2], 1, 0);
	ack_number(seq + 1, 0);
	assert_int_equal(l.burst, 20);
}

/* All that was sent before the last loss was lost with it. */
WINDOW_TEST(test_parts_same_loss)
{
	u64 have = PART(1, 39);
	u32 seq = l.tx + 1;

	l.cwnd = 2;
	post(&h[1], 40, 0);
	post(&h[2], 40, 0);
	ack_number(seq, have);
	assert_int_equal(l.cwnd, 1);
	ack_number(seq + 1, have);
	assert_int_equal(l.burst, 64);
	ack_number(seq + 1, have);
	assert_int_equal(l.burst, 20);
}

/* Messages that the network bears may be several at a time, whatever the others are. */
WINDOW_TEST(test_parts_beside)
{
	anew_wide();
	post(&h[1], 1, 0);
	reflect(l.tx + 1);
	assert_int_equal(oae_window_limit(&l), 2);
	assert_int_equal(l.burst, 8);
}

/* Another express must not be mixed with it. */
WINDOW_TEST(test_parts_express)
{
	anew_wide();
	post(&h[1], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 40));
}

/* ACK tells how long a round trip is; a part has one each. */
WINDOW_TEST(test_parts_measured)
{
	u32 seq;

	anew_wide();
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	l.srtt = 0;
	now += 3 * MS;
	part_lost(seq, 0);
	assert_int_equal(l.srtt, 3 * MS | 1);
}

/* Here: what has come is gathered, whenever it was sent. */
WINDOW_TEST(test_parts_kept)
{
	struct oae_frame f;

	take_slice(1, 0, 0, PLACES);
	assert_int_equal(a.nsends, 0);
	f = BUT(slice(1, 0), f.marks = OAE_M_ANSWER);
	rcv(f);
	assert_int_equal(sent(OAE_ACK)->frame.have, 3);
	/* Nothing new: whoever asks is answered. */
	rcv(f);
	assert_int_equal(noted(OAE_N_DUP_SLICE), 0);
	assert_int_equal(sent(OAE_ACK)->frame.have, 3);
	take_slice(1, 3, OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_ACK)->frame.have, 0xb);
	take_slice(1, 2, 0, PLACES);
	assert_non_null(sent(OAE_REFLECT));
}

/* The last slice of all says how many there are; the last that is sent asks for an answer. */
TEST(test_what_slices_say)
{
	static const struct {
		u8 i, flags, marks;
	} says[] = { { 0, 0, 0 }, { 2, 0, OAE_M_ANSWER }, { 3, OAE_F_LAST, OAE_M_ANSWER } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(says); i++) {
		struct oae_send s = { .slices = i < 2 ? 5 : 8, .nslices = 4 };

		oae_send_slice(&s, says[i].i);
		assert_int_equal(s.frame.slice, says[i].i);
		assert_int_equal(s.frame.flags, says[i].flags);
		assert_int_equal(s.frame.marks, says[i].marks);
	}
}

UNIT_MAIN("parts")
