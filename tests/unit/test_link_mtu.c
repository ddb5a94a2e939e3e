// SPDX-License-Identifier: GPL-2.0
/*
 * What a path carries (doc/protocol.md 4.17, and doc/architecture.md): when it is asked, by which
 * frames, and what becomes of what is too long.
 */
#include "one_window.h"

#define SECOND		(1000 * MS)
#define AGAIN		(600 * SECOND)	/* until it is asked whether more gets through */

#define LONG	(1500 - OAE_HDR_LEN)	/* bytes of a frame of the port */
#define SHORT	(OAE_MIN_MTU - OAE_HDR_LEN)	/* what is longer is long */

static void post_message(char *handle, u32 len, u16 slice_max)
{
	post_it(&(struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = len,
		.slice_max = slice_max, .nslices = (len + slice_max - 1) / slice_max,
	});
}

/* It was cut to what the link says, and offered. */
static void cut_anew(char *handle, u32 len)
{
	u16 max = oae_link_cut(&l, OAE_MESSAGE, len);

	assert_int_equal(ncuts, 1);
	assert_ptr_equal(last_cut, handle);
	assert_ptr_equal(sent(OAE_OFFER)->handle, handle);
	assert_int_equal(sent(OAE_OFFER)->nslices, (len + max - 1) / max);
}

/* X waits for so long, and is reversed then. */
static void waits_until(u64 at)
{
	fire_at(at - 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	fire_at(at);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* Nothing of what is offered is heard: the third time it is asked why. */
static void doubts(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		assert_null(probe());
		ack(0);
	}
	assert_non_null(probe());
}

/* The link carries so much from now on, and is OPEN. */
static void carries(u16 mtu)
{
	post_message(&x, LONG, LONG);
	doubts();
	gets_through(mtu);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	rcv(resolved());
	assert_int_equal(oae_link_slice_max(&l), mtu - OAE_HDR_LEN);
	cut_anew(&x, LONG);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* The peer has died, and is there again. It has heard of this end. */
static struct oae_frame next_peer(void)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.src_ltag += 0x100;
	f.tx = PEER_START;
	f.rx = l.start;
	f.sync.inc++;
	return f;
}

/* --- doubt --- */

/* Two questions: a long one of the size, and a short one behind it. */
LINK_TEST(test_doubt)
{
	const struct oae_frame *f;

	post_message(&x, LONG, LONG);
	doubts();
	f = probe();
	assert_int_equal(f->length, LONG);
	assert_int_equal(f->seq, l.tx + 1);
	assert_int_equal(f->kind, OAE_MESSAGE);
	f = &a.send[1].frame;
	assert_int_equal(f->opcode, OAE_ASK);
	assert_int_equal(f->length, 1);
	assert_int_equal(f->seq, l.tx + 1);
	assert_int_equal(f->pn, probe()->pn + 1);
	/* What was not heard is sent again, as ever. */
	assert_non_null(sent(OAE_OFFER));
	assert_int_equal(a.nsends, 3);
}

/* It is asked about what is in flight, or the answer would be of no use. */
LINK_TEST(test_which_kind)
{
	post_kind(&x, OAE_VERB, LONG, 8);
	doubts();
	assert_int_equal(probe()->kind, OAE_VERB);
	assert_int_equal(a.send[1].frame.kind, OAE_VERB);
}

/* What the peer asks is no answer, whatever its number. */
LINK_TEST(test_no_answer)
{
	post_message(&x, LONG, LONG);
	doubts();
	rcv(BUT(slice(0, OAE_F_LAST), f.pn = probe()->pn + 1));
	assert_null(probe());
	assert_non_null(sent(OAE_REFLECT));
}

/* A freeze does not end the row. */
LINK_TEST(test_over_freezes)
{
	post_message(&x, LONG, LONG);
	ack(0);
	anew();
	ack(0);
	anew();
	assert_null(probe());
	ack(0);
	assert_int_equal(probed(), 1500);
}

/* The peer has these slices, and the network bears three of the others at a time. */
static void ack_of_three(u64 have)
{
	l.cong.cwnd = 6;
	l.cong.ssthresh = 6;
	ack(have);
}

/* As many as there are. */
static void ack_of_all(u64 have)
{
	l.cong.cwnd = 2 * OAE_MAX_SLICES;
	ack(have);
}

/* What comes through does: some of what was sent, more than before of all, or a commit. */
TEST(test_what_ends_doubt)
{
	static const u64 have[] = { 1, 1 << 9, 0 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(have); i++) {
		open_link(NULL);
		l.cong.cwnd = 3;
		post_message(&x, 1000, 100);
		ack_of_three(0);
		ack_of_three(0);
		if (have[i]) {
			ack_of_three(have[i]);
		} else {
			rcv(BUT(answer(OAE_REFLECT), f.map = ~0U));
			l.cong.cwnd = 3;
			post_message(&x, 1000, 100);
		}
		for (k = 0; k < 3; k++) {
			assert_null(probe());
			ack_of_three(have[i]);
		}
		assert_int_equal(probed(), 1500);
	}
}

/* LAST of several may be short: that it comes, or does not, says nothing. */
LINK_TEST(test_last_says_nothing)
{
	unsigned int i;

	post_message(&x, 2 * LONG + 1, LONG);
	for (i = 0; i < 4; i++)
		ack_of_all(4);
	assert_null(probe());
	ack_of_all(4);
	assert_non_null(probe());

	/* In the next run LAST alone is missing, and goes: the row neither grows nor ends. */
	open_link(NULL);
	post_message(&x, 2 * LONG + 1, LONG);
	ack_of_all(1);
	ack_of_all(1);
	for (i = 0; i < 10; i++) {
		port_down();
		rcv(keeps(3, OAE_SYNC_NO_LAST));
		assert_int_equal(sent(OAE_OFFER)->slices, 4);
		ack_of_all(1);
		assert_null(probe());
	}
	for (i = 0; i < 7; i++)
		ack_of_all(1);
	assert_null(probe());
	ack_of_all(1);
	assert_int_equal(probed(), 1500);
}

/* But it may be long: then it counts if it was sent alone, and is lost. */
LINK_TEST(test_long_last)
{
	unsigned int i;

	post_message(&x, LONG + SHORT + 1, LONG);
	for (i = 0; i < 9; i++)
		ack_of_all(1);
	assert_null(probe());
	ack_of_all(1);
	assert_int_equal(probed(), 1500);

	/* That it has come once more says nothing. */
	open_link(NULL);
	post_message(&x, 2 * LONG + SHORT + 1, LONG);
	for (i = 0; i < 5; i++) {
		ack(4);
		assert_null(probe());
		port_down();
		rcv(keeps(3, OAE_SYNC_NO_LAST));
		assert_int_equal(sent(OAE_OFFER)->slices, 4);
	}
}

/* Short frames, and those of a number above, are no reason. */
LINK_TEST(test_what_is_long)
{
	unsigned int i;
	u16 len;

	for (len = SHORT; len <= SHORT + 1; len++) {
		open_link(NULL);
		post_message(&x, len, LONG);
		for (i = 0; i < 3; i++)
			ack(0);
		assert_int_equal(!probe(), len == SHORT);
		/* So of several slices. */
		open_link(NULL);
		post_message(&x, 3 * len, len);
		for (i = 0; i < (len == SHORT ? 5 : 3); i++)
			ack_of_all(0);
		assert_int_equal(!probe(), len == SHORT);
	}
	/* And what a verb asks. */
	open_link(NULL);
	post_kind(&x, OAE_VERB, SHORT + 1, 8);
	for (i = 0; i < 3; i++)
		rcv(BUT(answer(OAE_ACK), f.kind = OAE_VERB));
	assert_int_equal(probed(), 1500);
	assert_int_equal(probe()->kind, OAE_VERB);
}

WINDOW_TEST(test_not_the_first)
{
	unsigned int i;

	post_message(&h[1], LONG, LONG);
	post_message(&h[2], LONG, LONG);
	for (i = 0; i < 5; i++) {
		ack_number(l.tx + 2, 0);
		assert_null(probe());
	}
	/* And a VOID has no length. */
	cancel(&h[1]);
	for (i = 0; i < 5; i++) {
		ack_number(l.tx + 1, 0);
		assert_null(probe());
	}
}

/* What is refused has come; but not what is below it. */
WINDOW_TEST(test_refused)
{
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		open_window(NULL);
		post_message(&h[1], LONG, LONG);
		post_message(&h[2], LONG, LONG);
		ack_number(l.tx + 1, 0);
		ack_number(l.tx + 1, 0);
		refuse_number(l.tx + i, OAE_R_BUSY);
		ready();
		ack_number(l.tx + 1, 0);
		assert_int_equal(!probe(), i == 1);
	}
}

/* --- the search --- */

/* Three tries of each size, and each is progress. */
LINK_TEST(test_sizes)
{
	static const u16 sizes[] = { 1500, 1400, 1280, 576, 256, 128 };
	unsigned int i, try;
	struct oae_frame late;
	u64 until;

	post_message(&x, LONG, LONG);
	doubts();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (try = 0; try < 3; try++) {
			assert_int_equal(probed(), sizes[i]);
			late = probe_answer(false);
			for (until = now + 7 * MS; l.timer.at < until;)
				fire_at(l.timer.at);
			now = until;
			rcv(late);
			assert_int_equal(l.state, OAE_OPEN);
		}
	}
	/* Not even that: nothing is known. */
	assert_null(probe());
	assert_int_equal(oae_link_slice_max(&l), LONG);
	/* And another row, which the last answer has begun. */
	ack(0);
	assert_null(probe());
	ack(0);
	assert_int_equal(probed(), 1500);
}

/* The first size is what the link carries, whoever says so. */
TEST(test_first_size)
{
	static const struct {
		u16 port;
		u16 peer;
		u16 first;
		u16 next;
	} cases[] = {
		{ 4000, 4000, 4000, 1500 },
		{ 4000, 1501, 1501, 1500 },
		{ 1300, 1500, 1300, 1280 },
		{ 1500, 1000, 1000, 576 },
		{ 1500, 130, 130, 128 },
		{ 129, 1500, 129, 128 },
	};
	unsigned int i, try;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		open_link(NULL);
		set_mtu(cases[i].port);
		port_down();
		rcv(BUT(resolved(), f.sync.mtu = cases[i].peer));
		post_message(&x, cases[i].first - OAE_HDR_LEN, cases[i].first - OAE_HDR_LEN);
		doubts();
		for (try = 0; try < 3; try++) {
			assert_int_equal(probed(), cases[i].first);
			rcv(probe_answer(false));
		}
		assert_int_equal(probed(), cases[i].next);
	}
}

/* An answer from before says nothing, nor does one that is of later questions only. */
LINK_TEST(test_which_answers)
{
	struct oae_frame late;
	unsigned int i;

	post_message(&x, LONG, LONG);
	doubts();
	late = probe_answer(false);
	rcv(BUT(late, f.ack -= 2));
	assert_int_equal(a.nsends, 0);
	/* The long one itself was heard, before the short one: all is as it was. */
	rcv(BUT(late, f.ack--));
	assert_null(probe());
	rcv(BUT(late, f.map = 1));
	assert_int_equal(l.state, OAE_OPEN);
	doubts();

	/* Neither was heard: once more, and that was no try. */
	for (i = 0; i < 5; i++) {
		ack(0);
		assert_int_equal(probed(), 1500);
	}
	/* The short one was, as the map of an answer to a later one says. */
	for (i = 0; i < 3; i++) {
		assert_int_equal(probed(), 1500);
		ack(0);
		rcv(BUT(probe_answer(false), f.map = 1U << (l.number.sent - f.ack - 1),
			f.ack = l.number.sent));
	}
	assert_int_equal(probed(), 1400);
	ack(0);
	rcv(BUT(probe_answer(false), f.map = 3U << (l.number.sent - f.ack - 1),
		f.ack = l.number.sent));
	assert_null(probe());
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1400);
}

/*
 * A long question may be overtaken by short ones that were sent later. It says that its size
 * gets through whenever it is heard, and nothing of a smaller one.
 */
LINK_TEST(test_overtaken)
{
	struct oae_frame late, last;

	post_message(&x, LONG, LONG);
	doubts();
	late = probe_answer(false);
	rcv(late);
	assert_int_equal(probed(), 1500);
	last = probe_answer(false);
	rcv(BUT(late, f.map = 1));
	rcv(last);
	assert_null(probe());
	assert_int_equal(l.state, OAE_OPEN);

	open_link(state);
	post_message(&x, LONG, LONG);
	doubts();
	rcv(probe_answer(false));
	rcv(probe_answer(false));
	last = probe_answer(false);
	rcv(last);
	assert_int_equal(probed(), 1400);
	rcv(BUT(last, f.map = 1));
	assert_int_equal(a.nsends, 0);
	assert_int_equal(l.state, OAE_OPEN);
}

/* Whatever a state says of tries: a size has three, from there on. */
LINK_TEST(test_tries_wild)
{
	unsigned int i;

	post_message(&x, LONG, LONG);
	doubts();
	l.mtu.tries = OAE_MTU_TRIES;
	l.mtu.search_pn[0] = probe()->pn;
	for (i = 0; i < 3; i++) {
		assert_int_equal(probed(), 1500);
		rcv(probe_answer(false));
	}
	assert_int_equal(probed(), 1400);
}

/* Whatever else it says is heard, too. */
LINK_TEST(test_answer_from_before)
{
	post_message(&x, LONG, LONG);
	doubts();
	rcv(BUT(answer(OAE_REFLECT), f.ack = 1));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* So many questions ago an answer can tell of them: the next cannot, and they are sent again. */
TEST(test_too_old)
{
	unsigned int later, i;

	for (later = 31; later <= 33; later++) {
		open_link(NULL);
		post_message(&x, LONG, LONG);
		doubts();
		for (i = 0; i < 5 && probe(); i++) {
			assert_int_equal(probed(), 1500);
			l.number.sent = probe()->pn + later;
			rcv(BUT(answer(OAE_ACK), f.map = ~0U));
			assert_int_equal(!probe(), later < 33);
		}
		assert_int_equal(l.state, OAE_OPEN);
	}
}

/* A freeze ends the search. What was not heard counts on. */
LINK_TEST(test_freeze_ends_search)
{
	post_message(&x, LONG, LONG);
	doubts();
	rcv(probe_answer(false));
	rcv(probe_answer(false));
	port_down();
	assert_null(probe());
	rcv(resolved());
	assert_null(probe());
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent));
	assert_null(probe());
	ack(0);
	/* From its beginning. */
	assert_int_equal(probed(), 1500);
	gets_through(1500);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), LONG);
}

/* Nobody has room for two more frames in one event: the next one that doubts asks. */
LINK_TEST(test_no_room)
{
	unsigned int i;

	computes(0, 1000);
	rcv(offer_kind(OAE_VERB));
	post(&x, 1, 0);
	for (i = 0; i < 3; i++) {
		do {
			fire_at(l.timer.at);
			assert_in_range(a.nsends, 0, 2);
		} while (!sent(OAE_REFLECT));
		assert_non_null(sent(OAE_ASK));
		assert_null(probe());
	}
	/* What was not sent is not answered. */
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(probe());
	while (!sent(OAE_REFLECT))
		fire_at(l.timer.at);
	assert_int_equal(probed(), 1500);
}

/* --- found --- */

/* The first size does: the row was loss, all goes on, and it takes another row to ask again. */
LINK_TEST(test_gets_through)
{
	unsigned int i;

	post_message(&x, LONG, LONG);
	for (i = 0; i < 2; i++) {
		doubts();
		rcv(probe_answer(false));
		rcv(probe_answer(false));
		gets_through(1500);
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(noted(OAE_N_CUT), 0);
		assert_int_equal(oae_link_slice_max(&l), LONG);
	}
	/* What else such an answer says counts, too. */
	doubts();
	rcv(BUT(answer(OAE_REFLECT), f.ack = probe()->pn + 1, f.map = 1));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* Another does: it freezes, SYNC says so, and the message is cut anew. */
LINK_TEST(test_found)
{
	post_message(&x, LONG, LONG);
	doubts();
	gets_through(576);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(noted(OAE_N_CUT), 1);
	assert_int_equal(noted(OAE_N_PORT), 1);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 576);
	assert_int_equal(oae_link_mtu(&l), 576);
	rcv(resolved());
	cut_anew(&x, LONG);
	assert_int_equal(sent(OAE_OFFER)->nslices, 3);
	assert_int_equal(sent(OAE_OFFER)->slice_max, 576 - OAE_HDR_LEN);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));

	/* What is posted now is cut so at once, and each SYNC says it. */
	assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 2000), 576 - OAE_HDR_LEN);
	assert_int_equal(oae_link_port_max(&l), LONG);
	port_down();
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 576);
	/* And it may be even less. */
	rcv(resolved());
	post_message(&x, 500, 500);
	doubts();
	assert_int_equal(probed(), 576);
	gets_through(256);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 256);
}

/* The answer that freezes the link says nothing else: what it reflects is not committed. */
LINK_TEST(test_found_by_reflect)
{
	unsigned int i;

	post_message(&x, LONG, LONG);
	doubts();
	for (i = 0; i < 3; i++)
		rcv(probe_answer(false));
	assert_int_equal(probed(), 1400);
	rcv(BUT(answer(OAE_REFLECT), f.ack = probe()->pn + 1, f.map = 1));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(a.nsends, 1);
}

/* The peer carries less, and that gets through: this end says what it did. */
LINK_TEST(test_found_what_peer_says)
{
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	post_message(&x, 500, 500);
	doubts();
	assert_int_equal(probed(), 576);
	gets_through(576);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_mtu(&l), 1500);
}

/* Both ends cut for the smaller of what they say; each says what it has found itself. */
LINK_TEST(test_both_ways)
{
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	port_down();
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1500);
	rcv(BUT(resolved(), f.sync.mtu = 1500));
	assert_int_equal(oae_link_slice_max(&l), LONG);
	carries(1280);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	port_down();
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1280);
}

/* The answer to a verb is too long, or the half: who reflects it for the second time asks. */
TEST(test_reflect_too_long)
{
	static const struct {
		u8 kind;
		u16 more;
		bool asks;
	} cases[] = {
		{ OAE_VERB, SHORT - OAE_REFLECT_LEN, false },
		{ OAE_VERB, SHORT - OAE_REFLECT_LEN + 1, true },
		{ OAE_SWAP, SHORT - OAE_REFLECT_LEN, false },
		{ OAE_SWAP, SHORT - OAE_REFLECT_LEN + 1, true },
		{ OAE_MESSAGE, 0, false },
	};
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		open_link(NULL);
		if (cases[i].kind == OAE_SWAP) {
			post_kind(&x, OAE_SWAP, cases[i].more, 0);
			refuse(OAE_R_NO_HALF);
			rcv(answer(OAE_REFLECT));	/* of nothing in its place */
		}
		computes(0, cases[i].more);
		rcv(offer_kind(cases[i].kind));
		assert_non_null(sent(OAE_REFLECT));
		for (k = 1; k <= 3; k++) {
			do
				fire_at(l.timer.at);
			while (!sent(OAE_REFLECT));
			assert_int_equal(!probe(), !cases[i].asks || k == 1);
		}
		if (!cases[i].asks)
			continue;
		assert_int_equal(probe()->seq, l.tx + 1);
		assert_int_equal(probe()->kind, OAE_MESSAGE);
		/* The next asks the same once more: it takes an answer to that to go on. */
		for (k = 0; k < 4; k++) {
			assert_int_equal(probed(), 1500);
			rcv(probe_answer(false));
		}
		assert_int_equal(probed(), 1400);
		do
			fire_at(l.timer.at);
		while (!sent(OAE_REFLECT));
		assert_int_equal(probed(), 1400);
		gets_through(1280);
		assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1280);
	}
}

/* --- again --- */

/* The timer fires as it is armed, and nobody says anything of length: when is it asked? */
static u64 asks_again(void)
{
	for (fire_at(l.timer.at); !probe(); fire_at(l.timer.at))
		if (noted(OAE_N_PROBE))
			rcv(frame(OAE_SYNC_ACK));
	return now;
}

/* After ten minutes, from what the port carries on, and so on until that gets through. */
LINK_TEST(test_again)
{
	u64 found = now;
	unsigned int i;

	carries(576);
	/* Whenever the peer is probed. */
	now += 30 * MS;
	rcv(frame(OAE_SYNC_ACK));
	for (i = 1; i <= 2; i++) {
		assert_int_equal(asks_again(), found + i * AGAIN);
		assert_int_equal(probed(), 1500);
		gets_through(576);
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	}
	/* Some more. */
	assert_int_equal(asks_again(), found + 3 * AGAIN);
	gets_through(1400);
	assert_int_equal(noted(OAE_N_CUT), 0);
	assert_int_equal(noted(OAE_N_PORT), 1);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1400);
	rcv(resolved());
	/* Nobody answers: it is asked again in time, from the beginning. */
	found = now;
	assert_int_equal(asks_again(), found + AGAIN);
	for (i = 0; i < 3; i++)
		rcv(probe_answer(false));
	assert_int_equal(probed(), 1400);
	assert_int_equal(asks_again(), found + 2 * AGAIN);
	assert_int_equal(probed(), 1500);
	/* All. */
	gets_through(1500);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1500);
	rcv(resolved());
	assert_int_equal(oae_link_slice_max(&l), LONG);
	/* That is not asked for again. */
	found = now;
	while (now < found + 2 * AGAIN) {
		fire_at(l.timer.at);
		assert_null(probe());
		if (noted(OAE_N_PROBE))
			rcv(frame(OAE_SYNC_ACK));
	}
}

/* By another clock all that begins anew. */
LINK_TEST(test_another_clock)
{
	u64 began = now - 5 * SECOND;

	carries(576);
	fire_at(began);
	assert_null(probe());
	assert_int_equal(oae_link_slice_max(&l), 576 - OAE_HDR_LEN);
	assert_int_equal(asks_again(), began + AGAIN);
	gets_through(256);
	rcv(resolved());
	post_kind(&x, OAE_VERB, 500, 8);
	began = now - 5 * SECOND;
	fire_at(began);
	waits_until(began + cfg.dead);
}

/* A link that has always carried so much has done so by any clock. */
LINK_TEST(test_another_clock_not_shrunk)
{
	fire_at(now - 5 * SECOND);
	post_kind(&x, OAE_VERB, LONG + 1, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* What the port here carries is asked for, whatever the peer says; each end says its own. */
LINK_TEST(test_again_for_port)
{
	carries(1280);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	asks_again();
	assert_int_equal(probed(), 1500);
	/* As before, and more than is offered: the peer need not know. */
	gets_through(1280);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_mtu(&l), 1280);
	asks_again();
	gets_through(1500);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1500);
}

/* The peer asks for a length. */
static void asked_for(u16 mtu)
{
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1, f.length = mtu - OAE_HDR_LEN));
	assert_non_null(sent(OAE_ACK));
}

/* What the peer asks for is more than gets through from here: perhaps it would by now. */
LINK_TEST(test_peer_asks)
{
	u64 asked;

	now += cfg.keepalive;
	asked_for(1500);
	assert_null(probe());
	carries(576);
	asked_for(1500);
	now += cfg.keepalive / 2 - 1;
	asked_for(1500);
	assert_null(probe());
	now++;
	asked_for(576);
	assert_null(probe());
	asked = now;
	asked_for(577);
	assert_int_equal(probed(), 1500);
	/* It does, and once is enough. */
	now += cfg.keepalive;
	asked_for(1500);
	assert_null(probe());
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent));
	gets_through(576);
	assert_int_equal(asks_again(), asked + AGAIN);
}

/* Something is offered, and something held: the timer asks, and reflects again, in one event. */
static void asks_and_reflects(void)
{
	rcv(slice(0, OAE_F_LAST));
	post(&x, 1, 0);
	do {
		assert_null(probe());
		fire_at(l.timer.at);
	} while (!sent(OAE_ASK) || !sent(OAE_REFLECT));
}

/* If it is time to ask again, and the event has no room, the next one asks. */
LINK_TEST(test_again_no_room)
{
	u64 found, took;

	carries(576);
	took = now;
	asks_and_reflects();
	took = now - took;

	open_link(NULL);
	found = now;
	carries(576);
	fire_at(found + AGAIN - took);
	rcv(frame(OAE_SYNC_ACK));
	asks_and_reflects();
	assert_int_equal(now, found + AGAIN);
	assert_null(probe());
	fire_at(l.timer.at);
	assert_int_equal(now, found + AGAIN + 1);
	assert_int_equal(probed(), 1500);
}

/* --- too long --- */

static void go_by(u16 mtu, u16 far, u16 pmtu, u64 pmtu_at)
{
	clear();
	oae_link_go_by(&l, &(struct oae_carries){ mtu, far, pmtu, pmtu_at }, now, &a);
}

/* For the dead time it waits, and what is behind it, in order; then EMSGSIZE. */
LINK_TEST(test_too_long_waits)
{
	u64 shrunk;

	carries(576);
	shrunk = now;
	post_kind(&x, OAE_VERB, 600, 8);
	assert_int_equal(a.nsends, 0);
	post(&y, 1, 0);
	assert_int_equal(a.nsends, 0);
	fire_at(shrunk + cfg.dead - 1);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_true(l.timer.at <= shrunk + cfg.dead);
	fire_at(shrunk + cfg.dead);
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	rcv(answer(OAE_REFLECT));
	/* By now it is known. */
	post_kind(&x, OAE_VERB, 600, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* A freeze meanwhile makes that neither longer nor shorter. */
LINK_TEST(test_waits_over_freezes)
{
	u64 shrunk;

	carries(576);
	shrunk = now;
	post_kind(&x, OAE_VERB, 600, 8);
	now += cfg.dead / 2;
	anew();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	/* Nor what the link went by while it was frozen. */
	port_down();
	go_by(1500, 1500, 0, 0);
	go_by(1500, 1500, 576, shrunk);
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	waits_until(shrunk + cfg.dead);
}

/* It is asked once in a keepalive time whether more gets through; then it goes, and in order. */
LINK_TEST(test_too_long_asks)
{
	u64 shrunk;

	carries(576);
	shrunk = now;
	post_kind(&x, OAE_VERB, 600, 8);
	post(&y, 1, 0);
	now += 30 * MS;
	rcv(frame(OAE_SYNC_ACK));
	assert_int_equal(asks_again(), shrunk + cfg.keepalive);
	assert_int_equal(probed(), 1500);
	gets_through(576);
	assert_int_equal(asks_again(), shrunk + 2 * cfg.keepalive);
	gets_through(1400);
	rcv(resolved());
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	rcv(answer_kind(OAE_VERB, 8));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	rcv(answer(OAE_REFLECT));
	/* What was carried ever waits, from when it is next. */
	now += cfg.dead;
	post_kind(&x, OAE_VERB, 1400, 8);
	waits_until(now + cfg.dead);
	/* By now it is known. */
	post_kind(&x, OAE_VERB, 1400, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* Taken back, it is nothing to ask for. */
LINK_TEST(test_too_long_taken_back)
{
	u64 found = now;

	carries(576);
	post_kind(&x, OAE_VERB, 600, 8);
	cancel(&x);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(asks_again(), found + AGAIN);
}

/* What never fitted does not wait; nor is there anything to wait for with a new peer. */
LINK_TEST(test_never_fitted)
{
	post_kind(&x, OAE_VERB, LONG + 1, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
	carries(576);
	post_kind(&x, OAE_VERB, 600, 8);
	port_down();
	rcv(BUT(next_peer(), f.sync.mtu = 400));
	assert_int_equal(l.state, OAE_OPEN);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* Longer than the peer takes at all: that is no matter of paths. */
LINK_TEST(test_longer_than_max)
{
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576, f.sync.max_len = 700));
	post_kind(&x, OAE_VERB, 701, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
	post_kind(&x, OAE_VERB, 700, 8);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* If the port is what is short there is nothing to ask: the timer has no more to do. */
LINK_TEST(test_short_port_waits)
{
	u64 shrunk;

	set_mtu(576);
	rcv(resolved());
	shrunk = now;
	/* Another port carried more. */
	assert_int_equal(oae_link_port_max(&l), LONG);
	post_kind(&x, OAE_VERB, 600, 8);
	/* But to look for another path, at once. */
	assert_int_equal(l.timer.at, now + 1);
	now += 2 * oae_link_pto(&l);
	fire_at(now);
	assert_null(probe());
	assert_int_equal(l.timer.at, shrunk + cfg.keepalive);
	fire_at(shrunk + cfg.keepalive);
	assert_null(probe());
}

/* But it is armed for the end of the wait. */
LINK_TEST(test_short_port_ends)
{
	u64 until;

	set_mtu(576);
	rcv(resolved());
	now += 30 * MS;
	post_kind(&x, OAE_VERB, 600, 8);
	for (until = now + cfg.dead; now < until;) {
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		fire_at(l.timer.at);
		if (noted(OAE_N_PROBE))
			rcv(frame(OAE_SYNC_ACK));
	}
	assert_int_equal(now, until);
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* If the peer says less it is asked whether it is right, in time. */
LINK_TEST(test_short_peer_asks)
{
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	post_kind(&x, OAE_VERB, 600, 8);
	fire_at(now + 1);
	assert_int_equal(probed(), 1500);
}

/* Each waits from when it is next. */
LINK_TEST(test_next_waits)
{
	carries(576);
	post_kind(&x, OAE_VERB, 600, 8);
	post_kind(&y, OAE_VERB, 600, 8);
	now += cfg.dead / 2;
	cancel(&x);
	now += cfg.dead - 1;
	fire_at(now);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	fire_at(now + 1);
	assert_reversed(&y, OAE_E_TOO_BIG);
}

/* What a path would have carried that the link left before it was OPEN was never carried. */
LINK_TEST(test_most)
{
	port_down();
	go_by(1600, 1600, 0, 0);
	go_by(1500, 1500, 0, 0);
	rcv(resolved());
	post_kind(&x, OAE_VERB, LONG + 1, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
	/* By that which it was OPEN it was. */
	go_by(1600, 1600, 0, 0);
	go_by(1500, 1500, 0, 0);
	rcv(resolved());
	post_kind(&x, OAE_VERB, LONG + 1, 8);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* Which are too long: requests, answers, halves with what comes back, more than 64 slices. */
TEST(test_what_is_too_long)
{
	const u16 max = 128 - OAE_HDR_LEN;
	const struct {
		u8 kind;
		u32 len;
		u16 reply;
	} fits[] = {
		{ OAE_VERB, max, 8 },
		{ OAE_VERB, 8, max - OAE_REFLECT_LEN },
		{ OAE_SWAP, max - OAE_REFLECT_LEN, 0 },
		{ OAE_MESSAGE, max * OAE_MAX_SLICES, 0 },
	};
	unsigned int i, more;

	for (i = 0; i < ARRAY_SIZE(fits); i++) {
		for (more = 0; more < 2; more++) {
			open_link(NULL);
			l.peer.max_len = 10000;
			set_mtu(OAE_MIN_MTU);
			rcv(BUT(resolved(), f.sync.max_len = 10000));
			if (fits[i].kind == OAE_MESSAGE)
				post_message(&x, fits[i].len + more, LONG);
			else if (fits[i].reply > 8)
				post_kind(&x, fits[i].kind, fits[i].len, fits[i].reply + more);
			else
				post_kind(&x, fits[i].kind, fits[i].len + more, fits[i].reply);
			assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
			assert_int_equal(!sent(OAE_OFFER), more);
			if (!more)
				continue;
			assert_int_equal(ncuts, 0);
			fire_at(now + cfg.dead);
			assert_reversed(&x, OAE_E_TOO_BIG);
		}
	}
}

/* A message of more than 64 slices is cut for the port, and waits for that. */
LINK_TEST(test_message_waits)
{
	l.peer.max_len = 10000;
	post_message(&x, 6000, LONG);
	ack_of_all(0);
	ack_of_all(0);
	assert_null(probe());
	ack_of_all(0);
	gets_through(128);
	rcv(BUT(resolved(), f.sync.max_len = 10000));
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 64 * SHORT), SHORT);
	assert_int_equal(oae_link_cut(&l, OAE_MESSAGE, 64 * SHORT + 1), LONG);
	assert_int_equal(oae_link_cut(&l, OAE_VERB, 64 * SHORT + 1), SHORT);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(ncuts + count_op(OAE_OP_COMPLETE), 0);
	asks_again();
	gets_through(1500);
	rcv(BUT(resolved(), f.sync.max_len = 10000));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->nslices, 5);
}

/* A half that is too long is not lent; once that is for good, EMSGSIZE. */
LINK_TEST(test_half_waits)
{
	unsigned int i;

	post_kind(&x, OAE_SWAP, 800, 0);
	refuse(OAE_R_NO_HALF);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	for (i = 0; i < 2; i++) {
		rcv(offer_kind(OAE_SWAP));
		assert_null(sent(OAE_REFLECT));
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
		assert_int_equal(count_op(OAE_OP_COMPLETE), i);
		now += cfg.dead;
	}
	assert_reversed(&x, OAE_E_TOO_BIG);
	/* How long that has waited is nothing to the next. */
	go_by(1500, 1500, 0, 0);
	go_by(1500, 576, 0, 0);
	rcv(BUT(resolved(), f.sync.mtu = 576));
	post_kind(&y, OAE_VERB, 600, 8);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* One that is offered, and waits since then, ends once. */
LINK_TEST(test_half_offered_waits)
{
	post_kind(&x, OAE_SWAP, 800, 0);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	now += cfg.dead;
	rcv(offer_kind(OAE_SWAP));
	assert_null(sent(OAE_REFLECT));
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
}

/* What is above the one that is too long waits behind it. */
WINDOW_TEST(test_window_waits)
{
	unsigned int i;

	post_kind(&h[1], OAE_VERB, 80, 8);
	post_kind(&h[2], OAE_VERB, 600, 8);
	post_kind(&h[3], OAE_VERB, 80, 8);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1, f.sync.mtu = 576));
	assert_non_null(offered(l.tx + 1));
	assert_null(offered(l.tx + 2));
	assert_null(offered(l.tx + 3));
	now += cfg.dead - 1;
	reflect(l.tx + 1);
	assert_int_equal(a.nsends, 1);		/* a COMMIT */
	/* It is next since then. */
	fire_at(now + cfg.dead - 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	fire_at(now + 1);
	assert_reversed(&h[2], OAE_E_TOO_BIG);
	for (i = 0; i < 3 && l.nlanes; i++)
		reflect(l.tx + 1);
	assert_true(ended(&h[3], OAE_COMMITTED));
}

/* --- ports, paths and peers --- */

/* What was found is forgotten: another port, one that is back, another peer. */
TEST(test_forgotten)
{
	enum { MTU, BACK, PEER, SAME, END } what;

	for (what = 0; what < END; what++) {
		open_link(NULL);
		carries(576);
		post_message(&x, 500, 500);
		ack(0);
		ack(0);
		port_down();
		if (what == MTU)
			set_mtu(1400);
		clear();
		if (what == BACK)
			oae_link_port_up(&l, now, &a);
		rcv(what == PEER ? next_peer() : resolved());
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(oae_link_mtu(&l), what == SAME ? 576 : what == MTU ? 1400 : 1500);
		/* The row, too. */
		ack(0);
		assert_int_equal(!probe(), what != SAME);
	}
}

/* Another MTU of the port freezes an OPEN link; the same does not. */
LINK_TEST(test_port)
{
	set_mtu(1500);
	assert_int_equal(l.state, OAE_OPEN);
	set_mtu(1400);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1400);
}

/* To a path that carries more, or as much, a link goes without a freeze. */
LINK_TEST(test_go_by)
{
	u64 found;

	carries(576);
	post_kind(&x, OAE_VERB, 600, 8);
	post(&y, 1, 0);
	go_by(1400, 1300, 0, 0);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), 1300 - OAE_HDR_LEN);
	/* What was too long goes at once. */
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	rcv(answer_kind(OAE_VERB, 8));
	rcv(answer(OAE_REFLECT));
	assert_int_equal(oae_link_mtu(&l), 1400);
	/* And what is so now never fitted. */
	post_kind(&x, OAE_VERB, LONG + 1, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
	go_by(1300, 1500, 0, 0);
	assert_int_equal(l.state, OAE_OPEN);
	/* Less, since not all gets through: what is known of the path is the link's. */
	found = now - SECOND;
	go_by(1500, 1500, 1280, found);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1280);
	rcv(resolved());
	assert_int_equal(asks_again(), found + AGAIN);
	assert_int_equal(probed(), 1500);
	gets_through(1280);
	/* The peer's port is what is short. */
	go_by(1500, 1000, 0, 0);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 1500);
}

/* The timer is armed for what was too long, and goes out there. */
LINK_TEST(test_go_by_timer)
{
	carries(576);
	post_kind(&x, OAE_VERB, 600, 8);
	fire_at(now + 20 * MS);
	assert_null(sent(OAE_OFFER));
	assert_true(l.timer.at > now + oae_link_pto(&l));
	go_by(1400, 1300, 0, 0);
	assert_non_null(sent(OAE_OFFER));
	assert_true(l.timer.at <= now + oae_link_pto(&l));
}

/* A search by another path is over here, and a row of failures is none. */
LINK_TEST(test_go_by_forgets)
{
	post_message(&x, LONG, LONG);
	doubts();
	go_by(1500, 1500, 0, 0);
	assert_int_equal(l.state, OAE_OPEN);
	rcv(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = l.number.sent));
	assert_null(probe());
	ack(0);
	ack(0);
	go_by(1500, 0, 0, 0);
	doubts();
}

static void set_far(u16 far)
{
	clear();
	oae_link_set_far(&l, far, now, &a);
}

/* What the peer carries there: it freezes for less only. Nothing said is nothing. */
LINK_TEST(test_far)
{
	set_far(0);
	set_far(1500);
	assert_int_equal(l.state, OAE_OPEN);
	set_far(1000);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	rcv(BUT(resolved(), f.sync.mtu = 1000));
	post_kind(&x, OAE_VERB, 1000, 8);
	assert_null(sent(OAE_OFFER));
	set_far(1400);
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_slice_max(&l), 1400 - OAE_HDR_LEN);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	/* Nor does a path say anything of which nothing is known. */
	go_by(1500, 0, 0, 0);
	assert_int_equal(oae_link_slice_max(&l), 1400 - OAE_HDR_LEN);
}

/* Before the peer has said anything by SYNC, a path does not say it either. */
TEST(test_far_unknown)
{
	one_link(NULL);
	set_far(1000);
	go_by(1500, 1000, 0, 0);
	assert_int_equal(oae_link_slice_max(&l), LONG);
	assert_null(sent(OAE_SYNC));
}

/* An express that waits for a longer path was never offered: it is reversed at once. */
LINK_TEST(test_express_waits)
{
	l.peer.max_len = 10000;
	carries(128);
	l.peer.max_len = 10000;
	post_it(&(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = 6000, .slice_max = LONG,
		.nslices = 5, .flags = OAE_POST_EXPRESS,
	});
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_null(sent(OAE_OFFER));
}

/* An express that cannot be sent in this run: a longer path is asked for, and not about that. */
LINK_TEST(test_express_not_sent)
{
	l.peer.max_len = 10000;
	post_it(&(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = 6000, .slice_max = LONG,
		.nslices = 5, .flags = OAE_POST_EXPRESS,
	});
	go_by(1500, 1500, 128, now - AGAIN + MS);
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.sync.max_len = 10000));
	assert_int_equal(l.state, OAE_OPEN);
	assert_null(sent(OAE_OFFER));
	/* It may be delivered: it is not reversed, nor is there a way to cut it. */
	assert_int_equal(count_op(OAE_OP_COMPLETE) + ncuts, 0);
	fire_at(now + MS);
	assert_int_equal(probed(), 1500);
	assert_int_equal(probe()->flags, 0);
	gets_through(1500);
}

/* --- a peer that lies --- */

/* Whatever acks and maps say: one pair an answer, of a size that there is, and no harm. */
LINK_TEST(test_lies)
{
	static const u16 sizes[] = { 0, 1500, 1400, 1280, 576, 256, 128 };
	unsigned int i, k, n;
	u32 dice = 1;

	post_message(&x, LONG, LONG);
	for (i = 0; i < 20000; i++) {
		dice = dice * 1664525 + 1013904223;
		if (l.state != OAE_OPEN) {
			rcv(BUT(resolved(), f.sync.mtu = dice >> 8));
			continue;
		}
		rcv(BUT(answer(OAE_ACK), f.have = dice >> 16 & 1, f.map = dice * 7,
			f.ack = dice >> 28 ? l.number.sent - (dice >> 20 & 63) : dice));
		for (k = 0, n = 0; k < a.nsends; k++)
			n += a.send[k].frame.opcode == OAE_ASK;
		assert_true(n == 0 || n == 2);
		for (k = 0; k < ARRAY_SIZE(sizes) && sizes[k] != probed(); k++)
			;
		assert_true(k < ARRAY_SIZE(sizes) || probed() == l.mtu.there);
		assert_in_range(oae_link_slice_max(&l), SHORT, LONG);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	}
}

/* Both ends have found that less gets through: they grow back all the same. */
LINK_TEST(test_both_found)
{
	carries(576);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 576));
	asks_again();
	assert_int_equal(probed(), 1500);
}

/* The peer may have delivered it. */
LINK_TEST(test_probe_of_express)
{
	post_it(&(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = LONG, .slice_max = LONG,
		.nslices = 1, .flags = OAE_POST_EXPRESS,
	});
	doubts();
	assert_int_equal(probe()->flags & OAE_F_EXPRESS, OAE_F_EXPRESS);
}

/* What is refused has come through. */
LINK_TEST(test_refused_came_through)
{
	post_message(&x, LONG, LONG);
	ack(0);
	ack(0);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_non_null(sent(OAE_OFFER));
	ack(0);
	assert_null(probe());
}

/* The port here carries more than the peer's: what that says is a size, too. */
LINK_TEST(test_back_to_the_peers_mtu)
{
	set_mtu(9216);
	rcv(BUT(resolved(), f.sync.mtu = 4000));
	post_message(&x, 4000 - OAE_HDR_LEN, 4000 - OAE_HDR_LEN);
	doubts();
	assert_int_equal(probed(), 4000);
	gets_through(1500);
	rcv(BUT(resolved(), f.sync.mtu = 4000));
	cut_anew(&x, 4000 - OAE_HDR_LEN);
	rcv(answer(OAE_REFLECT));
	asks_again();
	assert_int_equal(probed(), 9216);
	gets_through(4000);
	rcv(BUT(resolved(), f.sync.mtu = 4000));
	assert_int_equal(oae_link_slice_max(&l), 4000 - OAE_HDR_LEN);
}

/* What was too long is carried, slice by slice; then the path is short for a moment. */
LINK_TEST(test_carried_meanwhile)
{
	l.peer.max_len = 10000;
	go_by(1500, 1500, 128, now);
	rcv(BUT(resolved(), f.sync.max_len = 10000));
	post_message(&x, 4 * LONG, LONG);
	assert_null(sent(OAE_OFFER));
	go_by(1500, 1500, 0, 0);
	assert_non_null(sent(OAE_OFFER));
	now += cfg.dead / 2;
	ack(3);
	now += cfg.dead / 2;
	ack(7);
	go_by(1500, 1500, 128, now);
	rcv(BUT(resolved(), f.sync.max_len = 10000));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* What was in flight while the link settles waits, too. */
LINK_TEST(test_settling_waits)
{
	post_kind(&x, OAE_VERB, 600, 8);
	clear();
	oae_link_settle(&l, now + 2 * SECOND, now, &a);
	go_by(1500, 1500, 576, now);
	rcv(resolved());
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

/* The question may have come by a path that carries the answer. */
LINK_TEST(test_answer_goes_back)
{
	go_by(1500, 1500, 576, now);
	rcv(resolved());
	computes(0, 1000);
	rcv(offer_kind(OAE_VERB));
	assert_non_null(sent(OAE_REFLECT));
	commit(0);
	computes(0, LONG);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
}

/* CLOSE does not wait for what is too long. */
LINK_TEST(test_close)
{
	go_by(1500, 1500, 576, now);
	rcv(resolved());
	post_kind(&x, OAE_VERB, 600, 8);
	close_link();
	assert_reversed(&x, OAE_E_SHUTDOWN);
	assert_non_null(sent(OAE_CLOSE));
}

/* A half was too long to be lent, and is no more: what is too long next waits from then on. */
LINK_TEST(test_half_is_no_more)
{
	post_kind(&x, OAE_SWAP, 600, 0);
	refuse(OAE_R_NO_HALF);
	go_by(1500, 1500, 576, now);
	rcv(resolved());
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	cancel(&x);
	go_by(1500, 1500, 0, 0);
	now += SECOND;
	rcv(frame(OAE_SYNC_ACK));
	now += cfg.dead;
	rcv(frame(OAE_SYNC_ACK));
	go_by(1500, 1500, 576, now);
	rcv(resolved());
	post_kind(&y, OAE_VERB, 600, 8);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
}

UNIT_MAIN("what a path carries")
