// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control (doc/architecture.md, How much is under way): how many frames with a content
 * are under way, how that number grows, and what a loss leaves of it. A guess that was wrong is in
 * test_link_overtaken.c.
 */
#include "one_window.h"

#define MOST	(OAE_WINDOW_MAX * OAE_MAX_SLICES)

static unsigned int cwnd(void)
{
	struct oae_link_view v;

	oae_link_show(&l, &v);
	return v.cwnd;
}

/* The network is known to bear so many frames: slow start is over. */
static void bears(u16 n)
{
	l.cong.cwnd = n;
	l.cong.ssthresh = n;
}

/* The round trip: the shortest of late, and the smoothed one. */
static void trips(u64 shortest, u64 smoothed)
{
	l.rtt.srtt = 0;
	oae_rtt_sample(&l, shortest * MS);
	l.rtt.srtt = smoothed * MS;
}

/* An answer that has heard all but so many of the last OFFER's frames, and measures nothing. */
static void hears_but(unsigned int n, u64 have)
{
	rcv(BUT(answer_to(OAE_ACK, l.tx + 1), f.ack -= n, f.have = have, f.marks = 0));
}

/* --- how many --- */

/* Ten at first. The others follow as numbers are heard, from the midst of an OFFER, too. */
WINDOW_TEST(test_first)
{
	assert_int_equal(cwnd(), 10);
	post(&h[1], 64, 0);
	assert_int_equal(offered(1)->slices, PART(0, 10));
	bears(10);
	hears_but(6, PART(0, 4));
	assert_int_equal(offered(1)->slices, PART(10, 4));
	/* As many as were heard, and one more. */
	hears_but(4, PART(0, 10));
	assert_int_equal(offered(1)->slices, PART(14, 7));
	/* What was lost goes with the others, the lowest first. */
	hears_but(3, PART(0, 18) & ~(1ULL << 15));
	assert_int_equal(cwnd(), 5);
	assert_int_equal(offered(1)->slices, 1 << 15 | 1 << 21);
}

/* Several transactions share it. */
WINDOW_TEST(test_shared)
{
	post(&h[1], 4, 0);
	post(&h[2], 4, 0);
	post(&h[3], 4, 0);
	assert_int_equal(offered(3)->slices, PART(0, 2));
	post(&h[4], 4, 0);
	assert_null(sent(OAE_OFFER));
	bears(10);
	reflect(1);
	assert_int_equal(offered(3)->slices, PART(2, 2));
	assert_int_equal(offered(4)->slices, PART(0, 2));
}

/* An express has no other way. */
WINDOW_TEST(test_express)
{
	post(&h[1], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(1)->slices, PART(0, 10));
	hears_but(0, PART(0, 10));
	assert_int_equal(offered(1)->slices, PART(10, 20));
	assert_true(offered(1)->frame.flags & OAE_F_EXPRESS);
}

/* All of it may go, up to all slices there can be. */
WINDOW_TEST(test_whole)
{
	bears(64);
	post(&h[1], 64, 0);
	assert_int_equal(offered(1)->slices, ~0ULL);
}

/* ASK goes whatever is under way. */
WINDOW_TEST(test_ask_goes)
{
	bears(1);
	post(&h[1], 2, 0);
	assert_int_equal(offered(1)->slices, 1);
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(sent(OAE_ASK)->frame.seq, 1);
	assert_null(sent(OAE_OFFER));

	/* So does one since an answer is lost. */
	open_window(state);
	post(&h[1], 2, 0);
	post_some(2, 7);
	bears(1);
	rcv(BUT(answer_to(OAE_REFLECT, 4), f.map = 1 << 2));
	assert_int_equal(sent(OAE_ASK)->frame.seq, 1);

	/* That something below is lost, and may not go, does not keep it. */
	open_window(state);
	post_some(1, 8);
	bears(1);
	rcv(BUT(answer_to(OAE_REFLECT, 5), f.map = 1 << 2));
	assert_null(sent(OAE_OFFER));
	assert_int_equal(sent(OAE_ASK)->frame.seq, 2);
}

/* Nothing of tx + 1 is in flight, and so no timer asks: one goes. */
WINDOW_TEST(test_one_may_go)
{
	post_some(1, 2);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.ack = 1));
	bears(1);
	post_some(3, 3);
	assert_null(sent(OAE_OFFER));
	rcv(BUT(answer_to(OAE_REFUSE, 2), f.reason = OAE_R_TOO_BIG, f.ack = 1));
	assert_int_equal(offered(2)->frame.kind, OAE_VOID);
	assert_null(offered(3));
}

/* What the timer has offered again waits for its turn, too. */
WINDOW_TEST(test_unparked)
{
	post(&h[1], 2, 0);
	post(&h[2], 2, 0);
	refuse_number(2, OAE_R_BUSY);
	ack_number(1, 1);
	bears(1);
	fire_at(l.park_at);
	assert_null(offered(2));
	rcv(answer_to(OAE_REFLECT, 1));
	assert_non_null(offered(2));
}

/* Whatever a state says, one of a transaction goes, and an answer sets it right. */
WINDOW_TEST(test_any_state)
{
	struct oae_post p = { .handle = &h[2], .len = 5000, .slice_max = 5000, .nslices = 1 };

	l.cong.out = l.number.sent + 5000;
	l.cong.cwnd = 0;
	post(&h[1], 3, 0);
	assert_int_equal(offered(1)->slices, 1);

	open_window(state);
	l.number.acked = l.number.sent + 5;
	post(&h[1], 3, 0);
	assert_int_equal(offered(1)->slices, 7);

	open_window(state);
	l.cong.out = l.number.sent + 5000;
	post_some(1, 2);
	assert_non_null(offered(2));

	/* Of what is cut anew, too, whatever was sent meanwhile. */
	open_window(state);
	bears(2);
	post(&h[1], 1, 0);
	post_it(&p);
	assert_int_equal(ncuts, 1);
	assert_int_equal(offered(2)->nslices, 4);
	assert_int_equal(offered(2)->slices, 1);
}

/* A question that was sent last is not counted; one that was before a content is. */
WINDOW_TEST(test_questions)
{
	unsigned int i;

	bears(3);
	post_some(1, 2);
	for (i = 0; i < 20; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	post_some(3, 3);
	assert_non_null(offered(3));
	post_some(4, 4);
	assert_null(sent(OAE_OFFER));
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.ack = l.number.sent, f.map = ~0U));
	assert_non_null(offered(4));
}

/* --- ANSWER --- */

/* Which slices of number 1 ask for an answer, sent one after the other? */
static u64 marked(void)
{
	struct oae_send s = *offered(1);
	u64 marks = 0;
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		if (!(s.slices >> i & 1))
			continue;
		oae_send_slice(&s, i);
		if (s.frame.marks)
			marks |= 1ULL << i;
		s.frame.pn++;
	}
	return marks;
}

/* Four times in a window; not after each frame, nor too seldom. The last always does. */
WINDOW_TEST(test_marks)
{
	static const struct {
		u16 cwnd;
		unsigned int each;
	} says[] = { { 1, 2 }, { 4, 2 }, { 11, 2 }, { 12, 3 }, { 24, 6 }, { 64, 16 },
		     { MOST, 16 } };
	unsigned int i, k;
	u64 want;

	for (i = 0; i < ARRAY_SIZE(says); i++) {
		open_window(state);
		bears(says[i].cwnd);
		post(&h[1], 63, 0);
		want = oae_slice_highest(offered(1)->slices);
		/* Slice k has the number k + 1. */
		for (k = says[i].each; k <= 63; k += says[i].each)
			want |= 1ULL << (k - 1) & offered(1)->slices;
		assert_int_equal(marked(), want);
	}
	/* By the number, whatever went before. */
	open_window(state);
	clear();
	oae_link_ask(&l, &a);
	bears(24);
	post(&h[1], 20, 0);
	assert_int_equal(marked(), 1 << 4 | 1 << 10 | 1 << 16 | 1 << 19);
}

/* The last slice of all says how many there are; the last that is sent asks for an answer. */
TEST(test_what_slices_say)
{
	static const struct {
		u8 i, flags, marks;
	} says[] = { { 0, 0, 0 }, { 2, 0, OAE_M_ANSWER }, { 3, OAE_F_LAST, OAE_M_ANSWER } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(says); i++) {
		struct oae_send s = { .frame.pn = 1, .slices = i < 2 ? 5 : 8, .nslices = 4,
				      .each = 2 };

		oae_send_slice(&s, says[i].i);
		assert_int_equal(s.frame.slice, says[i].i);
		assert_int_equal(s.frame.flags, says[i].flags);
		assert_int_equal(s.frame.marks, says[i].marks);
	}
}

/* --- how it grows --- */

/* One more with each number that is heard: twice as many with each round trip. */
WINDOW_TEST(test_slow_start)
{
	post(&h[1], 64, 0);
	hears_but(0, PART(0, 10));
	assert_int_equal(cwnd(), 20);
	hears_but(12, PART(0, 18));
	assert_int_equal(cwnd(), 28);
	hears_but(0, PART(0, 46));
	assert_int_equal(cwnd(), 28 + 28);
}

/* Until ssthresh; and there is a limit. */
WINDOW_TEST(test_slow_start_ends)
{
	unsigned int more;

	l.cong.ssthresh = 15;
	post(&h[1], 64, 0);
	hears_but(5, PART(0, 5));
	assert_int_equal(cwnd(), 15);
	hears_but(5, PART(0, 15));
	assert_int_equal(cwnd(), 15);

	for (more = 0; more < 2; more++) {
		open_window(state);
		bears(MOST - 1 + more);
		l.cong.ssthresh = MOST;
		l.number.acked = l.number.sent - MOST;
		l.cong.recover = l.number.acked;
		post_some(1, 1);
		reflect(1);
		assert_int_equal(cwnd(), MOST);
	}
}

/* Only if it limits: half of it was under way, at least. */
WINDOW_TEST(test_slow_start_limits)
{
	post(&h[1], 4, 0);
	hears_but(1, PART(0, 3));
	assert_int_equal(cwnd(), 10);

	open_window(state);
	post(&h[1], 5, 0);
	hears_but(1, PART(0, 4));
	assert_int_equal(cwnd(), 14);
}

/* What was heard that has no content counts no more than what was under way. */
WINDOW_TEST(test_growth_counts_contents)
{
	unsigned int i;

	post(&h[1], 5, 0);
	for (i = 0; i < 20; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.ack = l.number.sent, f.map = ~0U));
	assert_int_equal(cwnd(), 15);
}

/* From there on one more with each round trip. */
WINDOW_TEST(test_avoidance)
{
	bears(10);
	post(&h[1], 64, 0);
	hears_but(5, PART(0, 5));
	assert_int_equal(cwnd(), 10);
	hears_but(5, PART(0, 10));
	assert_int_equal(cwnd(), 11);
	hears_but(6, PART(0, 15));
	assert_int_equal(cwnd(), 11);
	hears_but(5, PART(0, 21));
	assert_int_equal(cwnd(), 12);
}

/* But not if fewer were under way than might have been. */
WINDOW_TEST(test_avoidance_limits)
{
	unsigned int i;

	bears(4);
	for (i = 0; i < 20; i++) {
		post_some(1, 1);
		reflect(l.tx + 1);
	}
	assert_int_equal(cwnd(), 4);
}

/* Three frames wait in queues: with every other round trip. */
WINDOW_TEST(test_avoidance_queue)
{
	bears(10);
	trips(71, 100);
	post(&h[1], 64, 0);
	hears_but(0, PART(0, 10));
	assert_int_equal(cwnd(), 11);

	open_window(state);
	bears(10);
	trips(70, 100);
	post(&h[1], 64, 0);
	hears_but(0, PART(0, 10));
	assert_int_equal(cwnd(), 10);
	hears_but(0, PART(0, 20));
	assert_int_equal(cwnd(), 11);
	hears_but(0, PART(0, 31));
	assert_int_equal(cwnd(), 11);
	hears_but(0, PART(0, 42));
	assert_int_equal(cwnd(), 12);
	/* A path may have become shorter. */
	trips(70, 60);
	hears_but(0, PART(0, 54));
	assert_int_equal(cwnd(), 13);
}

/* --- what a loss leaves --- */

/* Of so many under way the first is lost, before a window was heard. */
static unsigned int loses_one(u16 n)
{
	bears(n);
	post(&h[1], 64, 0);
	hears_but(hweight64(oae_lane(&l, 1)->sent) - 1, 0);
	assert_int_equal(l.cong.ssthresh, l.cong.cwnd);
	return cwnd();
}

/* The part that does not wait; half at least, and nine tenths at most. */
WINDOW_TEST(test_loss_leaves)
{
	static const struct {
		u64 shortest, smoothed;
		unsigned int leaves;
	} says[] = { { 40, 100, 10 }, { 50, 100, 10 }, { 72, 100, 14 }, { 92, 100, 18 },
		     { 99, 100, 18 }, { 110, 100, 18 }, { 310, 400, 15 } };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(says); i++) {
		open_window(state);
		trips(says[i].shortest, says[i].smoothed);
		assert_int_equal(loses_one(20), says[i].leaves);
	}
	/* Nothing was measured. */
	open_window(state);
	assert_int_equal(loses_one(21), 10);
	open_window(state);
	trips(100, 100);
	l.rtt.guessed = true;
	assert_int_equal(loses_one(20), 10);
	open_window(state);
	trips(100, 100);
	oae_cong_turned(&l);
	assert_int_equal(loses_one(20), 10);
}

/* One at least. */
WINDOW_TEST(test_loss_leaves_one)
{
	bears(1);
	post(&h[1], 64, 0);
	hears_but(0, PART(0, 1));
	hears_but(0, PART(0, 3));
	bears(1);
	hears_but(3, PART(0, 2));
	assert_int_equal(cwnd(), 1);
}

/* What was sent before the last OFFER is lost, too. */
WINDOW_TEST(test_lost_before)
{
	bears(10);
	post(&h[1], 64, 0);
	hears_but(5, PART(0, 5));
	hears_but(0, PART(0, 15) & ~(1ULL << 7));
	assert_int_equal(offered(1)->slices & PART(0, 15), 1 << 7);
}

/* What was counted for the next step is forgotten. */
WINDOW_TEST(test_loss_counts_anew)
{
	bears(10);
	post(&h[1], 64, 0);
	hears_but(5, PART(1, 4));
	assert_int_equal(l.cong.acked, 0);
}

/* All losses of what was sent before the first was known are one. */
WINDOW_TEST(test_loss_once)
{
	bears(20);
	post(&h[1], 64, 0);
	hears_but(15, PART(1, 4));
	assert_int_equal(cwnd(), 10);
	/* More are under way than may be now. */
	assert_null(sent(OAE_OFFER));
	hears_but(12, PART(1, 7) & ~(1ULL << 6));
	assert_int_equal(l.cong.undo, 20);
	hears_but(0, PART(1, 19) & ~(1ULL << 6 | 1ULL << 19));
	assert_int_equal(cwnd(), 10);
	assert_int_equal(offered(1)->slices, 1 | 1 << 6 | 1 << 19 | PART(20, 7));
	/* What was sent since is another. */
	hears_but(9, PART(1, 19) & ~(1ULL << 6 | 1ULL << 19));
	assert_int_equal(cwnd(), 5);
}

/* What ASK shows is no guess: so no part of that loss is. */
WINDOW_TEST(test_loss_for_sure)
{
	bears(20);
	post(&h[1], 64, 0);
	hears_but(15, PART(1, 4));
	assert_int_equal(l.cong.undo, 20);
	fire_at(now + oae_link_pto(&l));
	ack_number(1, PART(1, 18));
	assert_in_range(cwnd(), 10, 11);
	assert_int_equal(l.cong.undo, 0);
}

/* Nothing grows as long as what is heard was sent before the loss was known. */
WINDOW_TEST(test_no_growth_in_loss)
{
	bears(20);
	post(&h[1], 64, 0);
	hears_but(15, PART(1, 4));
	l.cong.ssthresh = MOST;
	hears_but(0, PART(1, 19));
	assert_int_equal(cwnd(), 10);
	hears_but(9, PART(0, 20));
	assert_int_equal(cwnd(), 11);
}

/* However many numbers ago the last loss was, the next one counts. */
WINDOW_TEST(test_loss_long_ago)
{
	unsigned int i;

	bears(20);
	post(&h[1], 64, 0);
	hears_but(0, PART(1, 19));
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.map = ~0U));
	for (i = 0; i < 3; i++) {
		l.number.sent += 1U << 30;
		rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent));
	}
	bears(20);
	post(&h[2], 20, 0);
	hears_but(19, 0);
	assert_int_equal(cwnd(), 10);
}

/* --- freezes, and other paths --- */

/* A freeze leaves ten, and slow start up to half. */
WINDOW_TEST(test_freeze)
{
	bears(40);
	l.number.reorder = true;
	anew_wide();
	assert_int_equal(cwnd(), 10);
	assert_int_equal(l.cong.ssthresh, 20);
	assert_false(l.number.reorder);
	post(&h[1], 40, 0);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 10));

	/* Fewer, if it was fewer. */
	bears(6);
	anew_wide();
	assert_int_equal(cwnd(), 6);
	assert_int_equal(l.cong.ssthresh, 3);
	bears(1);
	anew_wide();
	assert_int_equal(cwnd(), 1);
	assert_int_equal(l.cong.ssthresh, 1);
}

/* What is under way in a run, and what was lost in it, is nothing to the next. */
WINDOW_TEST(test_freeze_forgets)
{
	bears(20);
	post(&h[1], 64, 0);
	hears_but(15, PART(1, 4));
	l.cong.acked = 9;
	anew_wide();
	assert_int_equal(l.cong.undo, 0);
	assert_int_equal(l.cong.acked, 0);
	bears(20);
	ack_number(1, 0);
	assert_int_equal(cwnd(), 10);
}

/* A question is no content, though the run before has had such a number. */
WINDOW_TEST(test_freeze_idle)
{
	unsigned int i;

	bears(20);
	post(&h[1], 20, 0);
	reflect(1);
	anew_wide();
	for (i = 0; i < 5; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	bears(20);
	post(&h[2], 20, 0);
	assert_int_equal(offered(2)->slices, PART(0, 20));
}

/* By another clock the shortest round trip is known as long as ever. */
WINDOW_TEST(test_clock)
{
	trips(10, 10);
	fire_at(now - 100000 * MS);
	oae_rtt_sample(&l, 30 * MS);
	assert_int_equal(oae_cong_base(&l), 10 * MS);
}

/* Another path is new: slow start, and what was measured is forgotten. */
WINDOW_TEST(test_turned)
{
	bears(40);
	trips(70, 100);
	l.number.reorder = true;
	l.cong.undo = 50;
	oae_cong_turned(&l);
	assert_int_equal(cwnd(), 10);
	assert_int_equal(l.cong.ssthresh, MOST);
	assert_int_equal(l.cong.undo, 0);
	assert_false(l.number.reorder);
	assert_int_equal(oae_peak(l.rtt.longest), 0);
	assert_int_equal(oae_peak(l.rtt.shortest), 0);
	l.cong.cwnd = 3;
	oae_cong_turned(&l);
	assert_int_equal(cwnd(), 3);
}

/* --- what comes here in parts --- */

/* ACK tells how long a round trip is, each part's; so does one from its midst. */
WINDOW_TEST(test_parts_measured)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		open_window(state);
		post(&h[1], 40, 0);
		l.rtt.srtt = 0;
		now += 3 * MS;
		rcv(BUT(answer_to(OAE_ACK, 1), f.have = 1, f.ack -= i ? 9 : 0,
			f.marks = i < 2 ? OAE_M_NOW : 0));
		assert_int_equal(l.rtt.srtt, i < 2 ? 3 * MS | 1 : 0);
	}
}

/* What has come is gathered, whenever it was sent. */
WINDOW_TEST(test_parts_kept)
{
	struct oae_frame f;

	take_slice(1, 0, 0);
	assert_int_equal(a.nsends, 0);
	f = BUT(slice(1, 0), f.marks = OAE_M_ANSWER);
	rcv(f);
	assert_int_equal(sent(OAE_ACK)->frame.have, 3);
	/* Nothing new: whoever asks is answered. */
	rcv(f);
	assert_int_equal(noted(OAE_N_DUP_SLICE), 0);
	assert_int_equal(sent(OAE_ACK)->frame.have, 3);
	take_slice(1, 3, OAE_F_LAST);
	assert_int_equal(sent(OAE_ACK)->frame.have, 0xb);
	take_slice(1, 2, 0);
	assert_non_null(sent(OAE_REFLECT));
}

UNIT_MAIN("congestion")
