// SPDX-License-Identifier: GPL-2.0
/*
 * Losses among several transactions under way, which are offered again (doc/protocol.md
 * section 4.11): others pass it, or the peer is reminded of it; at last the link stalls.
 */
#include "one_window.h"

/* --- what others pass --- */

/* Passed by three: offered again, LAST alone, with RESUME. */
WINDOW_TEST(test_passed)
{
	/* No other content was ever offered under this number. */
	l.dirty = 0;
	post(&h[1], 2, 0);
	post_some(2, 4);
	reflect(2);
	reflect(3);
	assert_null(sent(OAE_OFFER));
	reflect(4);
	assert_int_equal(offered(1)->frame.attempt, 2);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 2);
	assert_int_equal(oae_window_limit(&l), 2);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	assert_int_equal(noted(OAE_N_STALL), 0);
}

/* A refusal passes what was offered before, too. */
WINDOW_TEST(test_passed_by_refusals)
{
	post_some(1, 4);
	refuse_number(2, OAE_R_TOO_BIG);
	refuse_number(3, OAE_R_TOO_BIG);
	assert_null(offered(1));
	refuse_number(4, OAE_R_TOO_BIG);
	assert_non_null(offered(1));
}

/* Nor does what passes wait for another event if it is offered again itself. */
WINDOW_TEST(test_passed_at_once)
{
	post_some(1, 3);
	post(&h[4], 2, 0);
	reflect(2);
	reflect(3);
	rcv(BUT(answer_to(OAE_REFUSE, 4), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_non_null(offered(4));
	assert_non_null(offered(1));

	open_window(state);
	post_some(1, 4);
	reflect(2);
	reflect(3);
	ready(4);
	refuse_number(4, OAE_R_BUSY);
	assert_non_null(offered(4));
	assert_non_null(offered(1));
}

/* What was offered before it passes nothing. */
WINDOW_TEST(test_not_passed)
{
	post_some(1, 4);
	reflect(1);
	reflect(2);
	reflect(3);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.tx, 3);
}

/* All losses of one window are one. */
WINDOW_TEST(test_halved_once)
{
	unsigned int i;
	u32 tx;

	grow();
	tx = l.tx;
	i = l.cwnd;
	post_some(1, 5);
	reflect(tx + 3);
	reflect(tx + 4);
	reflect(tx + 5);
	assert_non_null(offered(tx + 1));
	assert_non_null(offered(tx + 2));
	assert_int_equal(l.cwnd, i / 2);
}

/* --- what the peer is reminded of --- */

/* Progress below is progress: the stall time begins anew. */
WINDOW_TEST(test_stall_moves)
{
	u64 began = now;

	post_some(1, 2);
	now += oae_link_stall(&l) - 1;
	reflect(1);
	assert_true(began + oae_link_stall(&l) >= now);
	fire_at(began + oae_link_stall(&l));
	assert_int_equal(l.state, OAE_OPEN);
	assert_null(offered(2));
	fire_at(now + 1000 * MS);
	assert_non_null(offered(2));
	fire_at(now + 1000 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/*
 * LAST of the lowest number is lost, and nothing above it will show that: it is offered
 * again, once, and freezes when it would have without.
 */
WINDOW_TEST(test_reminded)
{
	unsigned int before;
	u64 stall, half;
	u32 seq;

	grow();
	before = l.cwnd;
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	half = stall / 2;
	assert_true(half > 2 * l.srtt);
	seq = l.tx + 1;
	post(&h[1], 3, 0);
	fire_at(now + half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	assert_true(offered(seq)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(seq)->slices, 4);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	/* It may be late: nothing is known to be lost. */
	assert_int_equal(l.cwnd, before);
	/* With two eighths more for the other two slices. */
	fire_at(now + stall + stall / 4 - half - 1);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Of many slices a reminder may be lost, too: later and later, and no later than without. */
WINDOW_TEST(test_reminded_again)
{
	u64 stall, half, began;
	u32 seq;

	grow();
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	half = stall / 2;
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	began = now;
	fire_at(began + half);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	fire_at(began + 3 * half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(began + 3 * half);
	assert_int_equal(offered(seq)->frame.attempt, 3);
	fire_at(began + 7 * half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(began + 7 * half);
	assert_true(offered(seq)->slices == 1ULL << 39);
	/* Of 40 slices it is 1 + 39 / 8 stall times: too few for a fourth, and its answer. */
	fire_at(began + stall + stall * 39 / 8 - 1);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* With 9 slices there is just time for a second one, with 8 there is not. */
WINDOW_TEST(test_reminded_twice)
{
	u64 half;

	l.srtt = MS / 4;
	l.rttvar = MS;
	half = oae_link_stall(&l) / 2;
	post(&h[1], 9, 0);
	fire_at(now + half);
	fire_at(now + 2 * half);
	assert_int_equal(offered(1)->frame.attempt, 3);
	fire_at(now + half);
	assert_int_equal(noted(OAE_N_STALL), 1);

	open_window(state);
	l.srtt = MS / 4;
	l.rttvar = MS;
	post(&h[1], 8, 0);
	fire_at(now + half);
	fire_at(now + 3 * half);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Where the stall time is two round trips, the reminder has these, and so has its answer. */
WINDOW_TEST(test_reminded_far)
{
	grow();
	l.srtt = 100 * MS;
	l.rttvar = 0;
	assert_int_equal(oae_link_stall(&l), 200 * MS);
	post_some(1, 1);
	fire_at(now + 200 * MS - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_non_null(sent(OAE_OFFER));
	fire_at(now + 200 * MS - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What the reminder shows to be lost halves the window. */
WINDOW_TEST(test_reminded_lost)
{
	unsigned int before;
	u32 seq;

	grow();
	before = l.cwnd;
	seq = l.tx + 1;
	post(&h[1], 3, 0);
	fire_at(now + oae_link_stall(&l));
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(offered(seq)->slices, 7);
	assert_int_equal(l.cwnd, before / 2);
	/* It was answered, so it may be offered once more. */
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(seq)->frame.attempt, 4);
}

/*
 * The answer to a reminder says as much of what was offered above: that was sent before it,
 * and long ago. Without it there would be a reminder for each, one after the other.
 */
WINDOW_TEST(test_reminded_passes)
{
	unsigned int before;
	u32 tx;

	grow();
	tx = l.tx;
	before = l.cwnd;
	post_some(1, 3);
	fire_at(now + oae_link_stall(&l));
	assert_non_null(offered(tx + 1));
	post_some(4, 4);
	reflect(tx + 1);
	assert_int_equal(offered(tx + 2)->frame.attempt, 2);
	assert_int_equal(offered(tx + 3)->frame.attempt, 2);
	/* That was offered after it. */
	assert_null(offered(tx + 4));
	assert_int_equal(l.cwnd, before / 2);
}

/* It is a loss of the offer, or of its answer; unless that has come, late. */
WINDOW_TEST(test_reminded_reflected)
{
	unsigned int before;

	grow();
	before = l.cwnd;
	post_some(1, 1);
	fire_at(now + oae_link_stall(&l));
	reflect(l.tx + 1);
	assert_int_equal(l.cwnd, before / 2);

	open_window(state);
	grow();
	before = l.cwnd;
	post_some(1, 1);
	fire_at(now + oae_link_stall(&l));
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--));
	reflect(l.tx + 1);
	assert_true(l.cwnd >= before);
}

/*
 * The peer may have kept another content of the number, so it drops what it has. All slices
 * would be a burst whose end a short queue loses each time.
 */
WINDOW_TEST(test_reminded_dirty)
{
	post(&h[1], 20, 0);
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->frame.attempt, 2);
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP, f.gap_map = (1 << 19) - 1));
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19 | 0xff);
	/* By now it has nothing else. */
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->frame.attempt, 4);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19);

	/* Nor has it in the next run; but once this is cut anew that may be another. */
	anew_wide();
	assert_int_equal(offered(1)->slices, 1 << 19);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP, f.gap_map = (1 << 19) - 1));
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_BUSY));
	oae_lane(&l, 1)->p.slice_max = 0xffff;
	ready(1);
	assert_int_equal(op(OAE_OP_RESLICE)->handle == &h[1], 1);
	oae_lane(&l, 1)->p.slice_max = 100;
	{
		struct oae_post p = oae_lane(&l, 1)->p;

		oae_link_resliced(&l, &p, now, &a);
	}
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->slices, 1 << 19);
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
}

/* The next number has had no other content, and what follows under one has not been answered. */
WINDOW_TEST(test_reminded_next)
{
	post_some(1, 1);
	reflect(1);
	post(&h[2], 20, 0);
	fire_at(now + oae_link_stall(&l));
	assert_true(offered(2)->frame.flags & OAE_F_RESUME);
	rcv(BUT(answer_to(OAE_REFUSE, 2), f.reason = OAE_R_GAP, f.gap_map = 1));
	port_down();
	assert_int_equal(cancel(&h[2]), 0);
	post(&h[3], 20, 0);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(2)->slices, 1 << 19);
	assert_false(offered(2)->frame.flags & OAE_F_RESUME);
}

/* An express goes out alone, and is not offered again: it stalls. */
WINDOW_TEST(test_alone_not_reminded)
{
	post(&h[1], 1, OAE_POST_EXPRESS);
	fire_at(now + 1000 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What the peer was reminded of is answered late: so long takes the answer to the reminder. */
WINDOW_TEST(test_reminded_late)
{
	u64 began, stall;

	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	now = began + stall - 1;
	/* Not of the next number, nor the one before. */
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--, f.seq++));
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt -= 2));
	assert_int_equal(l.srtt, MS / 100);
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--));
	assert_int_equal(l.srtt, stall - 1);
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	fire_at(began + stall / 2 + stall - 1);
	assert_int_equal(l.state, OAE_OPEN);
	rcv(answer_to(OAE_REFLECT, l.tx + 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(l.nlanes, 0);
}

/* An answer to one of the attempts of the run before. */
static struct oae_frame answer_before(u8 opcode, u8 attempt)
{
	return BUT(frame(opcode), f.src_ltag = l.late.peer_ltag, f.dst_ltag = l.late.ltag,
		   f.seq = l.tx + 1, f.attempt = attempt);
}

/* The peer is reminded, and the link froze: how long was left to it. */
static u64 remind_and_freeze(void)
{
	u64 began, stall;

	open_window(NULL);
	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	fire_at(began + stall);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	now = began + 2 * stall;
	return stall;
}

/* Then the answer comes to what was offered first, or to the reminder alone. */
TEST(test_reminded_froze_late)
{
	u64 stall = remind_and_freeze();

	rcv(answer_before(OAE_REFLECT, 3));
	rcv(answer_before(OAE_COMMIT, 1));
	rcv(BUT(answer_before(OAE_REFLECT, 1), f.seq++));
	assert_int_equal(l.srtt, MS / 100);
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, 2 * stall);
	now += stall;
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, 2 * stall);

	stall = remind_and_freeze();
	rcv(answer_before(OAE_REFUSE, 2));
	assert_int_equal(l.srtt, stall + stall / 2);
	now += stall;
	rcv(answer_before(OAE_REFUSE, 2));
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, stall + stall / 2);

	/* Of several reminders it is the first one whose answer may be measured. */
	open_window(NULL);
	grow();
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	post(&h[1], 40, 0);
	fire_at(now + stall / 2);
	fire_at(now + stall);
	fire_at(now + 2 * stall);
	assert_int_equal(oae_first_lane(&l)->reminded, 3);
	now += stall;
	rcv(BUT(answer_before(OAE_REFUSE, 2), f.src_ltag = l.peer_ltag, f.dst_ltag = l.ltag));
	assert_int_equal(l.srtt, 4 * stall);

	/* By another clock nobody knows. */
	remind_and_freeze();
	fire_at(now - 10000 * MS);
	now += 10100 * MS;
	rcv(answer_before(OAE_REFLECT, 1));
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, MS / 100);
}

/* A freeze without a reminder has one answer that may be late. */
TEST(test_froze_late_once)
{
	remind_and_freeze();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	l.srtt = MS / 100;
	assert_int_equal(oae_lane(&l, l.tx + 1)->attempt, 1);
	now += MS;
	port_down();
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, MS / 100);
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, MS);
}

/* A hold is measured when it is committed, as ever, though the peer was reminded meanwhile. */
WINDOW_TEST(test_reminded_held)
{
	u64 began, stall;

	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	rcv(slice(1, 0, OAE_F_LAST));
	assert_int_equal(l.nheld, 1);
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	now = began + stall - 1;
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt -= 2, f.tx++));
	assert_int_equal(l.nheld, 0);
	assert_in_range(l.srtt, MS / 100 + 1, stall / 2);
}

/* A peer that closes would refuse what it holds: its answer may be on its way. */
WINDOW_TEST(test_closing_not_reminded)
{
	u64 stall;

	grow();
	stall = oae_link_stall(&l);
	post(&h[1], 1, 0);
	rcv(frame(OAE_CLOSE));
	fire_at(now + stall - 1);
	assert_null(sent(OAE_OFFER));
	rcv(answer_to(OAE_REFLECT, l.tx + 1));
	assert_true(ended(&h[1], OAE_COMMITTED));
	/* Without an answer it stalls. */
	open_window(NULL);
	post(&h[1], 1, 0);
	rcv(frame(OAE_CLOSE));
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/*
 * Nobody who waits for DONE freezes before the offer does whose answer says it, too. If that
 * does not say it, DONE is waited for from then on.
 */
WINDOW_TEST(test_reminded_done)
{
	u64 stall, asked;
	u32 seq;

	grow();
	seq = l.tx + 1;
	stall = oae_link_stall(&l);
	post(&h[1], 40, 0);
	asked = now + 1;
	now = asked;
	confirm();
	assert_true(l.await_done);
	fire_at(asked + stall - 1);
	assert_non_null(offered(seq));
	fire_at(asked + 2 * stall);
	assert_int_equal(offered(seq)->frame.attempt, 3);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = l.peer_rx));
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_true(l.await_done);
	asked = now;
	stall = oae_link_stall(&l);
	fire_at(asked + stall - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(asked + stall);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* A reminder may be one attempt too many: then nothing else goes out. */
WINDOW_TEST(test_reminded_attempts)
{
	post_some(1, 2);
	refuse_number(2, OAE_R_BUSY);
	oae_lane(&l, 1)->attempt = 0xff;
	l.park_at = now;
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_null(sent(OAE_OFFER));
}

UNIT_MAIN("what is lost")
