// SPDX-License-Identifier: GPL-2.0
/*
 * The numbers of frames, and which of them the peer has heard (doc/protocol.md section 4.16).
 */
#include "one_window.h"

/* A question with a number: a slice of what never becomes complete. */
static void hear(u32 pn)
{
	rcv(BUT(slice(0, 0), f.pn = pn));
}

/* What an answer says now, to a copy of the newest question. */
static void assert_says(u32 ack, u32 map)
{
	rcv(BUT(frame(OAE_COMMIT), f.flags = OAE_F_WANT_DONE, f.pn = ack));
	assert_int_equal(sent(OAE_DONE)->frame.ack, ack);
	assert_int_equal(sent(OAE_DONE)->frame.map, map);
	assert_int_equal(sent(OAE_DONE)->frame.marks, 0);
}

/* Each frame of a question has the next number; others have none. */
LINK_TEST(test_counted)
{
	post(&x, 3, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.pn, 1);
	ack(6);
	assert_int_equal(sent(OAE_OFFER)->frame.pn, 4);		/* slice 0 */
	cancel(&x);
	assert_int_equal(sent(OAE_OFFER)->frame.pn, 5);		/* nothing in its place */
	fire_at(now + 10 * MS);
	assert_int_equal(sent(OAE_ASK)->frame.pn, 6);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(sent(OAE_COMMIT)->frame.pn, 7);
	rcv(frame(OAE_SYNC));
	assert_int_equal(sent(OAE_SYNC_ACK)->frame.pn, 0);
	assert_int_equal(sent(OAE_SYNC_ACK)->frame.map, 0);
}

LINK_TEST(test_said)
{
	unsigned int i;

	assert_says(0, 0);
	hear(1);
	assert_says(1, 0);
	hear(3);
	assert_says(3, 2);
	/* Late, and twice. */
	hear(2);
	assert_says(3, 3);
	hear(2);
	hear(3);
	assert_says(3, 3);
	for (i = 4; i <= 33; i++)
		hear(i);
	assert_says(33, ~0U);
	hear(35);
	assert_says(35, ~0U << 1);
	/* The oldest of which it tells, and one that is older. */
	hear(67);
	assert_says(67, 1U << 31);
	hear(36);
	assert_says(67, 1U << 31 | 1U << 30);
	hear(34);
	assert_says(67, 1U << 31 | 1U << 30);
	/* So much later that nothing is told of those before. */
	hear(100);
	assert_says(100, 0);
	hear(100 + (1U << 31) - 1);
	assert_says(100 + (1U << 31) - 1, 0);
	hear(5);
	assert_says(5, 0);
}

/* At once is only what is sent in the event that has heard the newest. */
LINK_TEST(test_now)
{
	rcv(BUT(slice(0, OAE_F_LAST), f.pn = 2));
	assert_int_equal(sent(OAE_REFLECT)->frame.ack, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.marks, OAE_M_NOW);
	/* The same frame once more; one that was overtaken. */
	rcv(BUT(slice(0, OAE_F_LAST), f.pn = 2));
	assert_int_equal(sent(OAE_REFLECT)->frame.marks, 0);
	rcv(BUT(slice(0, OAE_F_LAST), f.pn = 1));
	assert_int_equal(sent(OAE_REFLECT)->frame.marks, 0);
	rcv(BUT(frame(OAE_COMMIT), f.tx++, f.flags = OAE_F_WANT_DONE, f.pn = 3));
	assert_int_equal(sent(OAE_DONE)->frame.marks, OAE_M_NOW);
}

/* READY comes of itself; the answer of a verb belongs to the frame that is being handled. */
LINK_TEST(test_now_later)
{
	rcv_settling(BUT(slice(0, OAE_F_LAST), f.pn = 1));
	assert_int_equal(sent(OAE_REFUSE)->frame.marks, OAE_M_NOW);
	words_free();
	assert_int_equal(sent(OAE_READY)->frame.ack, 1);
	assert_int_equal(sent(OAE_READY)->frame.marks, 0);
	computes(0, 8);
	rcv(BUT(offer_kind(OAE_VERB), f.pn = 2));
	assert_int_equal(sent(OAE_REFLECT)->frame.ack, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.marks, OAE_M_NOW);
}

/* The peer can have heard what was sent, or nothing. */
LINK_TEST(test_impossible)
{
	static const u8 opcodes[] = { OAE_REFLECT, OAE_REFUSE, OAE_READY, OAE_DONE, OAE_ACK };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		open_link(state);
		post(&x, 2, 0);
		rcv(BUT(frame(opcodes[i]), f.seq = 99, f.ack = 0, f.map = ~0U));
		assert_int_equal(l.state, OAE_OPEN);
		rcv(BUT(frame(opcodes[i]), f.seq = 99, f.ack = 2));
		assert_int_equal(l.state, OAE_OPEN);
		rcv(BUT(frame(opcodes[i]), f.seq = 99, f.ack = 3));
		assert_int_equal(l.state, OAE_SYNC_SENT);
		assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
		assert_false(ended(&x, OAE_COMMITTED));

		open_link(state);
		rcv(BUT(frame(opcodes[i]), f.seq = 99, f.ack = ~0U));
		assert_int_equal(l.state, OAE_SYNC_SENT);
	}
	/* What a question says there is its own number. */
	open_link(state);
	rcv(BUT(frame(OAE_COMMIT), f.pn = 1000));
	assert_int_equal(l.state, OAE_OPEN);
}

/* On the wire the numbers wrap. */
LINK_TEST(test_wrap)
{
	l.number.sent = (1ULL << 32) - 1;
	post(&x, 2, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.pn, 0);
	rcv(BUT(frame(OAE_DONE), f.ack = ~0U));
	rcv(BUT(frame(OAE_DONE), f.ack = 1));
	rcv(BUT(frame(OAE_DONE), f.ack = 1 - (1U << 31) + 1));
	assert_int_equal(l.state, OAE_OPEN);
	rcv(BUT(frame(OAE_DONE), f.ack = 1 - (1U << 31)));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	open_link(state);
	/* A number that is 0 on the wire is one that was heard. */
	hear((1U << 31) - 1);
	hear(~0U - 1);
	hear(~0U);
	hear(0);
	assert_says(0, 3);
	hear(1);
	assert_says(1, 7);
	hear(2);
	assert_says(2, 15);
	/* A CLOSE is no answer: its 0 is no ack. */
	open_link(state);
	l.number.sent = 1ULL << 31;
	rcv(peer_closes(0, true));
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 0);
	assert_int_equal(oae_link_state(&l), OAE_CLOSED);
}

/* A run begins with the first number, and has heard none. */
LINK_TEST(test_next_run)
{
	post(&x, 5, 0);
	hear(6);
	hear(7);
	anew();
	assert_int_equal(sent(OAE_OFFER)->frame.pn, 1);
	assert_says(0, 0);
}

static u64 measured(void)
{
	struct oae_link_view v;

	oae_link_show(&l, &v);
	return v.srtt;
}

/* A round trip is that of an answer that was sent at once, to the last frame of the offer. */
WINDOW_TEST(test_round_trip)
{
	u64 before = measured();

	post(&h[1], 2, 0);
	now += 5 * MS;
	post(&h[2], 1, 0);
	now += 2 * MS;
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.marks = 0));
	assert_int_equal(measured(), before);
	post(&h[3], 1, 0);
	now += 2 * MS;
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.ack++));
	assert_int_equal(measured(), before);
	now += MS;
	l.rtt.srtt = 0;
	rcv(answer_to(OAE_REFLECT, 3));
	assert_int_equal(measured(), 3 * MS | 1);
	/* An ACK says as much; of an ASK that is not known. */
	post(&h[4], 2, 0);
	now += 4 * MS;
	l.rtt.srtt = 0;
	ack_number(4, 1);
	assert_int_equal(measured(), 4 * MS | 1);
	fire_at(now + 40 * MS);
	assert_non_null(sent(OAE_ASK));
	now += MS;
	reflect(4);
	assert_int_equal(measured(), 4 * MS | 1);
}

UNIT_MAIN("numbers of frames")
