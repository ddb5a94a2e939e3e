// SPDX-License-Identifier: GPL-2.0
/*
 * How long a link waits before it asks, reflects again, or gives up (doc/protocol.md section
 * 4.4): what is progress and what is not, and by another clock.
 */
#include "one_window.h"

/* Before anything was measured: a tenth of stall_max. */
#define PTO	(4 * MS)

/* Fire as armed until this goes out: when was that? */
static u64 goes_at(u8 opcode)
{
	do
		fire_at(l.timer.at);
	while (!sent(opcode) && l.state == OAE_OPEN);
	assert_non_null(sent(opcode));
	return now;
}

/* Fire as armed until the link freezes: when was that? */
static u64 freezes_at(void)
{
	while (l.state == OAE_OPEN)
		fire_at(l.timer.at);
	return now;
}

/* The peer hears a question of another sort, and says so. */
static void answered(void)
{
	clear();
	oae_link_ask(&l, &a);
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent));
}

/* The same so many times, half a probe timeout apart. */
static void answered_often(unsigned int n)
{
	while (n--) {
		fire_at(now + PTO / 2);
		answered();
	}
}

/* --- progress --- */

/* What is held waits anew for the peer once that begins what is below it. */
WINDOW_TEST(test_held_and_begun)
{
	u64 began;

	take(2, OAE_MESSAGE);
	now += PTO;
	began = now;
	take_slice(1, 0, 0);
	assert_int_equal(goes_at(OAE_REFLECT), began + 2 * PTO);
}

/* What is above tx + 1 may be offered anew as often as it likes: no progress of that. */
WINDOW_TEST(test_progress_above)
{
	u64 began = now;
	unsigned int i;

	post_some(1, 2);
	for (i = 0; i < 31; i++) {
		fire_at(now + PTO / 2);
		l.cong.cwnd = PLACES;
		refuse_number(2, OAE_R_BUSY);
		ready();
		assert_non_null(offered(2));
		answered();
	}
	assert_int_equal(freezes_at(), began + PTO / 2 + 16 * PTO);
}

/* That tx moves is. */
WINDOW_TEST(test_progress_below)
{
	u64 began = now;

	post_some(1, 2);
	answered_often(10);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.marks = 0));
	assert_true(ended(&h[1], OAE_COMMITTED));
	while (now < began + 17 * PTO)
		fire_at(l.timer.at);
	assert_int_equal(l.state, OAE_OPEN);
	began = now;
	answered_often(32);
	assert_int_equal(freezes_at(), began + PTO / 2 + 16 * PTO);
}

/* The timer is armed for the end of what makes no progress. */
LINK_TEST(test_progress_in_time)
{
	u64 began = now;

	post(&x, 3, 0);
	answered_often(32);
	fire_at(now);
	assert_int_equal(freezes_at(), began + PTO / 2 + 16 * PTO);
}

/* What was reflected again tells of no round trip; what follows does. */
LINK_TEST(test_held_again)
{
	rcv(slice(0, OAE_F_LAST));
	now += MS;
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
	assert_non_null(sent(OAE_REFLECT));
	now += MS;
	commit(0);
	assert_int_equal(l.rtt.srtt, 0);
	rcv(slice(0, OAE_F_LAST));
	now += 2 * MS;
	commit(0);
	assert_int_equal(l.rtt.srtt, (2 * MS) | 1);
}

/* It is not for what is held above what this end refuses, since it settles. */
WINDOW_TEST(test_held_up_in_time)
{
	take_settling(1, OAE_MESSAGE);
	assert_refused(1, OAE_R_BUSY);
	take(2, OAE_VOID);
	assert_non_null(sent(OAE_REFLECT));
	fire_at(now + 10 * PTO);
	assert_int_equal(a.nsends, 0);
	assert_true(l.timer.at > now + PTO);
}

/* And for the dead time of what is asked first, whatever else is in vain. */
LINK_TEST(test_silence_in_time)
{
	u64 asked;

	cfg.stall_min = cfg.stall_max;
	cfg.dead = 1000 * MS;
	post(&x, 1, 0);
	asked = goes_at(OAE_ASK);
	freezes_at();
	assert_true(l.down);
	assert_int_equal(now, asked + cfg.dead);
}

/* An answer that is older than the last one puts off nothing; in another run all is new. */
LINK_TEST(test_answered_late)
{
	u64 at;

	post(&x, 1, 0);
	now += PTO / 2;
	answered();
	at = now;
	now += PTO / 4;
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent - 1));
	assert_int_equal(goes_at(OAE_ASK), at + PTO);
	anew();
	now += PTO / 2;
	answered();
	at = now;
	assert_int_equal(goes_at(OAE_ASK), at + PTO);
}

/* Down, and posted anew: with another address, too, what was asked before does not count. */
LINK_TEST(test_silent_renamed)
{
	u64 began;

	post(&x, 1, 0);
	while (!l.down)
		fire_at(l.timer.at);
	now += 1000 * MS;
	post(&y, 1, 0);
	began = now;
	renamed();
	while (l.nlanes || l.next_valid)
		fire_at(l.timer.at);
	assert_in_range(now, began + cfg.dead, began + cfg.dead + cfg.keepalive);
}

/* Of what is held the lowest is reflected again, alone. */
WINDOW_TEST(test_lowest_reflected)
{
	take(1, OAE_MESSAGE);
	take(2, OAE_MESSAGE);
	goes_at(OAE_REFLECT);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.seq, l.rx + 1);
}

/* --- what is asked --- */

/* What is refused is not in flight: DONE is asked for, not that. */
LINK_TEST(test_done_beside_parked)
{
	post(&x, 1, 0);
	rcv(BUT(answer(OAE_REFLECT), f.marks = 0));
	peer_lag = 1;
	confirm();
	post(&y, 1, 0);
	refuse(OAE_R_BUSY);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	goes_at(OAE_COMMIT);
	assert_null(sent(OAE_ASK));
}

/* The answer to nothing, in place of what is taken back, says what DONE would. */
LINK_TEST(test_done_after_cancel)
{
	post(&x, 1, 0);
	rcv(BUT(answer(OAE_REFLECT), f.marks = 0));
	peer_lag = 1;
	confirm();
	post(&y, 1, 0);
	now += PTO / 2;
	cancel(&y);
	assert_null(sent(OAE_COMMIT));
	assert_int_equal(goes_at(OAE_ASK), 1000000 * MS + PTO / 2 + PTO);
	assert_null(sent(OAE_COMMIT));
	peer_lag = 0;
	rcv(answer(OAE_REFLECT));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
}

/* What is in flight does. */
WINDOW_TEST(test_done_beside_others)
{
	post_some(1, 1);
	reflect(1);
	peer_lag = 1;
	confirm();
	post_some(2, 3);
	refuse_number(3, OAE_R_BUSY);
	assert_int_equal(l.await_done, 1);
	assert_null(sent(OAE_COMMIT));
}

/* The answer to ASK took as long as since that, and nothing else is known of the way. */
WINDOW_TEST(test_asked_took)
{
	unsigned int i;

	post_some(1, 4);
	for (i = 2; i <= 4; i++) {
		now += MS;
		rcv(BUT(answer_to(OAE_REFLECT, i), f.marks = 0, f.map = ~0U));
	}
	assert_non_null(sent(OAE_ASK));
	now += 2 * MS;
	reflect(1);
	assert_int_equal(l.rtt.srtt, 2 * MS);
}

/* Something is asked for by its number; this is out. */
static void asked_for(unsigned int n)
{
	unsigned int i;

	post(&h[n], 2, 0);
	for (i = 0; i < 3; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	post(&h[n + 1], 1, 0);
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 2), f.marks = 0, f.map = ~0U));
	assert_non_null(sent(OAE_ASK));
}

/* It is a guess, which the next one may make longer; not what is measured. */
WINDOW_TEST(test_asked_guess)
{
	asked_for(1);
	now += 2 * MS;
	reflect(1);
	assert_int_equal(l.rtt.srtt, 2 * MS);
	asked_for(3);
	now += 5 * MS;
	reflect(3);
	assert_int_equal(l.rtt.srtt, 5 * MS);
	post(&x, 1, 0);
	now += MS;
	reflect(5);
	assert_int_equal(l.rtt.srtt, MS | 1);
	asked_for(6);
	now += 5 * MS;
	reflect(6);
	assert_int_equal(l.rtt.srtt, MS | 1);
}

/* Nor does it tell how long that took: what answers an earlier question, or one that was no ASK. */
WINDOW_TEST(test_asked_other)
{
	asked_for(1);
	now += 2 * MS;
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.ack = oae_lane(&l, 1)->pn - 2));
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(l.rtt.srtt, 0);
	post(&x, 1, 0);
	clear();
	oae_link_ask(&l, &a);
	now += 2 * MS;
	rcv(BUT(answer_to(OAE_REFLECT, 3), f.ack = l.number.sent));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(l.rtt.srtt, 0);
}

/* What an answer is about is not asked for by what else that answer has heard. */
WINDOW_TEST(test_answered_and_passed)
{
	unsigned int what, i;
	u8 cwnd;

	for (what = 0; what < 3; what++) {
		open_window(NULL);
		post(&h[1], 3, 0);
		post_verb(&h[2]);
		for (i = 0; i < 4; i++) {
			clear();
			oae_link_ask(&l, &a);
		}
		cwnd = l.cong.cwnd;
		if (what == 0)		/* slices are missing: they are sent */
			rcv(BUT(answer_to(OAE_ACK, 1), f.ack = l.number.sent - 1, f.map = ~0U,
				f.have = 5));
		if (what == 1)		/* a verb that waits */
			rcv(BUT(answer_to(OAE_ACK, 2), f.ack = l.number.sent - 1, f.map = ~0U,
				f.have = 1));
		if (what == 2)		/* refused */
			rcv(BUT(answer_to(OAE_REFUSE, 2), f.reason = OAE_R_CONFLICT,
				f.ack = l.number.sent - 1, f.map = ~0U << 4 | 4));
		for (i = 0; i < a.nsends; i++)
			assert_int_not_equal(a.send[i].frame.seq, what ? 2 : 0);
		assert_int_equal(a.nsends, 1);
		if (what == 0)
			assert_int_equal(offered(1)->slices, 2);
		assert_int_equal(noted(OAE_N_REPAIRED), what != 1);
		if (what < 2)
			assert_int_equal(l.cong.cwnd, what ? cwnd : l.cong.cwnd);
	}
}

/* A refusal for good answers the number: that it has not heard its last frame is no loss. */
WINDOW_TEST(test_refused_and_passed)
{
	unsigned int i, cwnd = l.cong.cwnd;

	post(&h[1], 3, 0);
	for (i = 0; i < 4; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_TOO_BIG, f.ack = l.number.sent));
	assert_reversed(&h[1], OAE_E_TOO_BIG);
	assert_int_equal(noted(OAE_N_REPAIRED), 0);
	assert_int_equal(l.cong.cwnd, cwnd);
}

/* Nothing, in place of what was reversed, is to be answered as all else. */
WINDOW_TEST(test_void_asks)
{
	post_some(1, 2);
	cancel(&h[1]);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_int_equal(offered(1)->frame.marks, OAE_M_ANSWER);
}

/* What is lost, and waits for what is parked below it, is lost once. */
WINDOW_TEST(test_lost_and_waits)
{
	post_some(1, 6);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	reflect(l.tx + 3);
	reflect(l.tx + 4);
	assert_int_equal(noted(OAE_N_REPAIRED), 0);
	reflect(l.tx + 5);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	assert_null(offered(l.tx + 2));
	reflect(l.tx + 6);
	assert_int_equal(noted(OAE_N_REPAIRED), 0);
	ready();
	assert_non_null(offered(l.tx + 2));
}

/* A number that had another content: that the peer has nothing does not say that it will. */
LINK_TEST(test_nothing_is_there)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	post(&x, 3, 0);
	cancel(&x);
	anew();
	post(&y, 3, 0);
	ack(0);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	anew();
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
}

/* Slices that are lost in a run are no part of the loss of the run before. */
WINDOW_TEST(test_part_in_another_run)
{
	unsigned int i;

	for (i = 0; i < 50; i++) {
		clear();
		oae_link_ask(&l, &a);
	}
	post(&h[1], 8, 0);
	ack_number(1, 1);
	anew_wide();
	post(&h[2], 8, 0);
	reflect(l.tx + 1);
	l.cong.cwnd = 8;
	l.cong.ssthresh = 8;
	ack_number(l.tx + 1, 1);
	assert_int_equal(l.cong.cwnd, 4);
}

/* --- by another clock --- */

static u64 another_clock(void)
{
	fire_at(now - 100000 * MS);
	return now;
}

LINK_TEST(test_clock_asked)
{
	u64 began;

	post(&x, 1, 0);
	goes_at(OAE_ASK);
	began = another_clock();
	assert_int_equal(goes_at(OAE_ASK), began + PTO);
	answered();
	began = another_clock();
	assert_int_equal(goes_at(OAE_ASK), began + PTO);
}

LINK_TEST(test_clock_reflected)
{
	u64 began;

	rcv(slice(0, OAE_F_LAST));
	goes_at(OAE_REFLECT);
	began = another_clock();
	assert_int_equal(goes_at(OAE_REFLECT), began + 2 * PTO);
}

LINK_TEST(test_clock_grown)
{
	u64 began;

	post(&x, 3, 0);
	now += MS;
	rcv(BUT(answer(OAE_ACK), f.have = 1, f.marks = 0));
	began = another_clock();
	answered_often(31);
	assert_int_equal(freezes_at(), began + PTO / 2 + 16 * PTO);
}

/* Nothing was asked: the probe has the dead time. */
LINK_TEST(test_clock_silent)
{
	u64 began = another_clock();

	while (!l.down)
		fire_at(l.timer.at);
	assert_int_equal(now, began + 500 * MS);
}

UNIT_MAIN("how long a link waits")
