// SPDX-License-Identifier: GPL-2.0
/*
 * How many slices of one transaction are sent at once (doc/protocol.md section 4.11): a long
 * one goes out in parts, each with LAST.
 */
#include "one_window.h"

/* No more slices are sent again at once than the peer has, but eight. */
WINDOW_TEST(test_burst)
{
	post(&h[1], 40, 0);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7ffffffffc));
	assert_int_equal(offered(1)->slices, 0x80000003fcULL);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7ffffffc00));
	assert_int_equal(offered(1)->slices, 0x8000000000ULL | 0x7ffULL << 10);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7fffe00000));
	assert_int_equal(offered(1)->slices, 0xffffe00000);
}

/* The peer has all slices of the last part but these of it, and not the rest. */
static void gap(u32 seq, u64 lost)
{
	const struct oae_lane *n = oae_lane(&l, seq);
	u64 sent = offered(seq)->slices, all = ~0ULL >> (64 - n->p.nslices);
	static u64 have;

	if (n->attempt == 1)
		have = 0;
	have |= sent & ~lost;
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = all & ~have));
}

/* One transaction is too much: a few of its slices, then more and more. */
WINDOW_TEST(test_parts)
{
	u32 seq;

	anew_wide();
	assert_int_equal(l.burst, 8);
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 7));
	assert_int_equal(offered(seq)->frame.flags & OAE_F_RESUME, 0);
	gap(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(7, 8));
	assert_true(offered(seq)->frame.flags & OAE_F_RESUME);
	/* As many as the peer has. */
	assert_int_equal(l.burst, 16);
	gap(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(15, 15));
	assert_int_equal(l.burst, 16);
	/* One was lost: half of that. */
	gap(seq, 1ULL << 20);
	assert_int_equal(l.burst, 8);
	assert_int_equal(offered(seq)->slices, PART(30, 6) | 1ULL << 20);
	/* Now one more each time. */
	gap(seq, 0);
	assert_int_equal(l.burst, 9);
	assert_int_equal(offered(seq)->slices, PART(36, 3));
	/* Fewer than there might have been: that tells nothing. */
	reflect(seq);
	assert_int_equal(l.burst, 9);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(oae_window_limit(&l), 1);
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
		gap(seq, 1);
	assert_int_equal(l.burst, 4);
	assert_int_equal(offered(seq)->slices, PART(15, 2) | 1);
	assert_int_equal(l.tx, seq - 1);
}

/* While several are under way fewer of them are, with all slices each. */
WINDOW_TEST(test_parts_last)
{
	u32 seq = l.tx + 1;

	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 39));
	gap(seq, 1ULL << 38);
	assert_int_equal(l.burst, 64);
	assert_int_equal(l.cwnd, 2);
	l.recover = l.tx;
	gap(seq, 1ULL << 38);
	assert_int_equal(l.cwnd, 1);
	assert_int_equal(l.burst, 64);
	/* Half of what is there, not of what could be. */
	gap(seq, 1ULL << 38);
	assert_int_equal(l.burst, 20);
	/* A message of one slice has no parts. */
	reflect(seq);
	post(&h[2], 1, 0);
	fire_at(now + 1000 * MS);
	l.burst = 20;
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.burst, 20);
}

/* All that was sent before the last loss was lost with it. */
WINDOW_TEST(test_parts_same_loss)
{
	u32 seq = l.tx + 1;

	l.cwnd = 2;
	post(&h[1], 40, 0);
	post(&h[2], 40, 0);
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.cwnd, 1);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.burst, 64);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
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

/* LAST is short, if it is sent more than once; the others are about as long as they can be. */
WINDOW_TEST(test_parts_cut)
{
	u16 max = oae_link_slice_max(&l);
	u32 len;

	assert_int_equal(max, 1452);
	l.burst = 8;
	for (len = 8 * max + 1; len <= 63U * max; len += 67) {
		u32 n = (len + max - 1) / max, cut = oae_link_cut_new(&l, OAE_MESSAGE, len);

		assert_in_range(cut, max / 2, max);
		assert_int_equal((len + cut - 1) / cut, n + 1);
		assert_in_range(len - n * cut, 1, n);
	}
	/* It goes out once, or one more would be too many. */
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 8 * max), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 63 * max + 1), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 0), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_VERB, 9 * max), max);
	/* A slice may not be shorter than the shortest. */
	l.cut = OAE_MIN_SLICE;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * OAE_MIN_SLICE), OAE_MIN_SLICE);
	l.cut = 0;
	/* Nothing is known yet, or there are no parts. */
	l.burst = 0;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * max), max);
	l.burst = 8;
	l.win = 1;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * max), max);
}

/* Another express must not be mixed with it. */
WINDOW_TEST(test_parts_express)
{
	anew_wide();
	post(&h[1], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 39));
}

/* A run without a window knows no parts. */
TEST(test_parts_without)
{
	open_wide(PLACES, PLACES);
	lend(PLACES);
	port_down();
	rcv(resolved());
	post(&h[1], 40, 0);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 39));
}

/* GAP tells how long a round trip is; a part has one each. */
WINDOW_TEST(test_parts_measured)
{
	u32 seq;

	anew_wide();
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	l.srtt = 0;
	now += 3 * MS;
	gap(seq, 0);
	assert_int_equal(l.srtt, 3 * MS | 1);
}

/* A part that is lost whole: what is here from those before it is kept. */
WINDOW_TEST(test_parts_kept)
{
	take_slice(1, 1, 0, 0, PLACES);
	take_slice(1, 1, 3, OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 6);
	take_slice(1, 3, 1, OAE_F_RESUME, PLACES);
	take_slice(1, 3, 3, OAE_F_RESUME | OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 4);
	/* Without RESUME it is another content. */
	take_slice(1, 4, 3, OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 7);
}

UNIT_MAIN("parts")
