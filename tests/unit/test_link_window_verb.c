// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs in a window (doc/protocol.md section 4.11): what is computed, in which order, and
 * what is void above one that is reversed. One verb at a time is in test_link_verb.c.
 */
#include "one_window.h"

/* The handles from the one to the other go back, the last one first. */
static void assert_back(unsigned int last, unsigned int first)
{
	unsigned int i;

	assert_int_equal(count_op(OAE_OP_BACK), last - first + 1);
	for (i = 0; i < a.nops; i++)
		if (a.op[i].type == OAE_OP_BACK)
			assert_true(a.op[i].handle == &h[last--]);
}

/* Nothing is offered under these numbers. */
static void assert_voids(u32 from, u32 to)
{
	assert_int_equal(a.nsends, to - from + 1);
	for (; from <= to; from++) {
		assert_int_equal(offered(from)->frame.kind, OAE_VOID);
		assert_null(offered(from)->handle);
	}
}

/* The answer to a number of the peer. */
static const struct oae_send *answered(u32 above)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_REFLECT &&
		    a.send[i].frame.seq == l.rx + above)
			return &a.send[i];
	return NULL;
}

/* Each has its result, and is committed in its turn. */
WINDOW_TEST(test_verbs)
{
	post_verbs(1, 3);
	assert_non_null(offered(3));
	reflect(2);
	assert_true(op(OAE_OP_RESULT)->handle == &h[2]);
	assert_int_equal(l.tx, 0);
	reflect(1);
	assert_true(op(OAE_OP_RESULT)->handle == &h[1]);
	assert_int_equal(l.tx, 2);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
}

/*
 * One is reversed: what the peer has computed above it may rest on it. All above is posted
 * again, in its order; a verb goes out when the peer has nothing of all that any more.
 */
WINDOW_TEST(test_verb_reversed)
{
	post_verbs(1, 2);
	post_some(3, 3);
	post_verbs(4, 4);
	reflect(2);
	reflect(3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_true(ended(&h[1], OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	assert_back(4, 2);
	assert_voids(1, 4);
	post_verb(&h[2]);
	assert_null(sent(OAE_OFFER));
	reflect(4);
	reflect(2);
	/* The first answer comes again. */
	rcv(BUT(answer_kind(OAE_VERB, REPLY), f.seq = 3));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	reflect(1);
	assert_int_equal(l.tx, 2);
	assert_null(sent(OAE_OFFER));
	reflect(3);
	assert_int_equal(l.tx, 4);
	assert_true(offered(5)->handle == &h[2]);
	post_some(3, 3);
	assert_true(offered(6)->handle == &h[3]);
	post_verb(&h[4]);
	assert_true(offered(7)->handle == &h[4]);
}

/* A message is reversed: no verb rests on it. But a new one waits; messages do not. */
WINDOW_TEST(test_verb_above_message)
{
	post_some(1, 1);
	post_verbs(2, 2);
	reflect(2);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	post_some(4, 4);
	assert_non_null(offered(3));
	post_verb(&h[3]);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(l.tx, 2);
	assert_true(offered(4)->handle == &h[3]);
}

/* Two are reversed: what is posted again waits for both. */
WINDOW_TEST(test_verbs_reversed)
{
	post_verbs(1, 3);
	assert_int_equal(cancel(&h[2]), 0);
	assert_back(3, 3);
	assert_voids(2, 3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_voids(1, 1);
	post_verb(&h[3]);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_null(sent(OAE_OFFER));
	reflect(3);
	assert_null(sent(OAE_OFFER));
	reflect(2);
	assert_true(offered(4)->handle == &h[3]);
}

/* For good or for now refused, or without a number of its own yet: it is the same. */
WINDOW_TEST(test_verb_refused_reversed)
{
	static const u16 reasons[] = { OAE_R_CONFLICT, OAE_R_BUSY, OAE_R_RANGE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		open_window(state);
		post_verbs(1, 2);
		refuse_number(1, reasons[i]);
		if (reasons[i] != OAE_R_RANGE)
			assert_int_equal(cancel(&h[1]), 0);
		assert_true(ended(&h[1], OAE_REVERSED));
		assert_back(2, 2);
		assert_voids(1, 2);
	}
}

/* What waits behind all that goes back first, so that it comes last. */
WINDOW_TEST(test_verb_next_back)
{
	open_wide(PLACES, 4);
	lend();
	post_verbs(1, 4);
	post_some(5, 5);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(cancel(&h[2]), 0);
	assert_back(5, 3);
	assert_voids(2, 4);
	assert_true(oae_link_wants(&l));
}

/* A number that was not given is given back: nothing above it is void. */
WINDOW_TEST(test_verb_not_given)
{
	post_verbs(1, 3);
	anew_narrow();
	assert_non_null(offered(1));
	assert_null(offered(2));
	assert_int_equal(cancel(&h[2]), 0);
	assert_int_equal(count_op(OAE_OP_BACK) + a.nsends, 0);
	reflect(1);
	assert_true(offered(2)->handle == &h[3]);
}

/* A verb that is parked above one that is reversed goes back as well; READY does not bring it. */
WINDOW_TEST(test_verb_parked_above)
{
	post_verbs(1, 2);
	refuse_number(2, OAE_R_CONFLICT);
	assert_int_equal(cancel(&h[1]), 0);
	assert_back(2, 2);
	assert_voids(1, 2);
	ready();
	assert_int_equal(a.nsends, 0);
}

/*
 * A verb waits, too, that has no number yet in this run, although the network bears it now; a
 * message does not.
 */
WINDOW_TEST(test_verb_queued_above)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_window(state);
		post_some(1, 2);
		if (i)
			post_some(3, 3);
		else
			post_verbs(3, 3);
		anew_narrow();
		l.cong.cwnd = 0;
		reflect(1);
		assert_int_equal(l.tx, 1);
		assert_non_null(offered(2));
		assert_null(offered(3));
		assert_int_equal(cancel(&h[2]), 0);
		assert_int_equal(offered(2)->frame.kind, OAE_VOID);
		l.cong.cwnd = PLACES;
		ready();
		assert_int_equal(!!offered(3), i);
		reflect(2);
		assert_int_equal(!!offered(3), !i);
	}
}

/* A new run: nothing of all that matters. */
WINDOW_TEST(test_verb_anew)
{
	post_verbs(1, 2);
	assert_int_equal(cancel(&h[1]), 0);
	assert_back(2, 2);
	post_verb(&h[2]);
	assert_null(sent(OAE_OFFER));
	anew_wide();
	assert_true(offered(1)->handle == &h[2]);
	reflect(1);
	assert_int_equal(l.tx, 1);
	assert_true(ended(&h[2], OAE_COMMITTED));
	post_verbs(1, 2);
	assert_non_null(offered(2 + 1));
}

/* The peer has it, but not what is below: that one is lost. */
WINDOW_TEST(test_verb_waits)
{
	unsigned int i;

	post_verbs(1, 4);
	for (i = 2; i <= 4; i++)
		ack_number(l.tx + i, 1);
	assert_null(offered(l.tx + 2));
	/* Nothing that is below says that one is lost. */
	for (i = 0; i < 5; i++) {
		refuse_number(l.tx + 1, OAE_R_CONFLICT);
		ready();
		assert_null(offered(l.tx + 2));
		assert_null(sent(OAE_ASK));
	}
	reflect(l.tx + 1);
	assert_null(sent(OAE_OFFER));
	/* It is computed now; its answer is lost. */
	post_verbs(5, 7);
	reflect(l.tx + 2);
	reflect(l.tx + 3);
	assert_null(offered(l.tx + 1));
	reflect(l.tx + 4);
	assert_int_equal(sent(OAE_ASK)->frame.seq, l.tx + 1);
	assert_null(sent(OAE_OFFER));
}

/* All of it is here. */
static void assert_waits(u32 above)
{
	const struct oae_send *s = sent(OAE_ACK);

	assert_non_null(s);
	assert_int_equal(s->frame.seq, l.rx + above);
	assert_true(s->frame.have == 1);
}

/* Here: it is computed when all below it is held, and in order. */
WINDOW_TEST(test_compute_in_order)
{
	computes(0, REPLY);
	take(3, OAE_VERB);
	assert_waits(3);
	assert_int_equal(nverbs, 0);
	/* Asked again, it still waits. */
	take(3, OAE_VERB);
	assert_waits(3);
	take(2, OAE_VERB);
	assert_waits(2);
	take(1, OAE_MESSAGE);
	assert_int_equal(nverbs, 2);
	assert_int_equal(last_verb, l.rx + 3);
	assert_int_equal(a.send[0].frame.seq, l.rx + 1);
	assert_int_equal(a.send[1].frame.seq, l.rx + 2);
	assert_int_equal(answered(2)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(answered(3)->frame.length, OAE_REFLECT_LEN + REPLY);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_APPLY), 2);
}

/* One that is refused holds up those above it. */
WINDOW_TEST(test_compute_refused)
{
	take(3, OAE_VERB);
	take(2, OAE_VERB);
	computes(OAE_R_CONFLICT, 0);
	take(1, OAE_MESSAGE);
	assert_refused(2, OAE_R_CONFLICT);
	assert_int_equal(nverbs, 1);
	words_free();
	assert_non_null(sent(OAE_READY));
	computes(0, REPLY);
	take(2, OAE_VERB);
	assert_int_equal(nverbs, 2);
	assert_non_null(answered(2));
	assert_non_null(answered(3));
}

/* What is looked at before an event goes on: the first of those held may be one that waits. */
WINDOW_TEST(test_waits_shown)
{
	struct oae_link_view v;
	unsigned int i;

	computes(0, REPLY);
	for (i = 2; i <= PLACES; i++)
		take(i, OAE_VERB);
	take(1, OAE_VERB);
	assert_true(oae_link_more(&l));
	commit_to(nverbs);
	oae_link_show(&l, &v);
	assert_int_equal(v.hold, OAE_HOLD_WAITS);
}

/* An event answers a few; the others are not forgotten. */
WINDOW_TEST(test_compute_more)
{
	unsigned int i, n;

	computes(0, REPLY);
	for (i = 2; i <= PLACES; i++)
		take(i, OAE_VERB);
	take(1, OAE_VERB);
	n = nverbs;
	assert_in_range(n, 2, OAE_MAX_SENDS);
	while (oae_link_more(&l)) {
		clear();
		oae_link_pump(&l, now, &a);
		n += nverbs;
	}
	assert_int_equal(n, PLACES);
	assert_int_equal(l.nheld, PLACES);
}

/* A verb that is held is offered again: what was computed stands, whatever else is said there. */
WINDOW_TEST(test_compute_once)
{
	take_verb(1);
	take_verb(2);
	take(1, OAE_VERB);
	assert_int_equal(nverbs, 0);
	assert_false(op(OAE_OP_DISCARD));
	assert_int_equal(answered(1)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(l.nheld, 2);
	rcv(BUT(offer_kind(OAE_VERB), f.payload_hash++));
	assert_int_equal(nverbs, 0);
	assert_false(op(OAE_OP_DISCARD));
	assert_int_equal(answered(1)->frame.kind, OAE_VERB);
	take(1, OAE_MESSAGE);
	assert_false(op(OAE_OP_DISCARD));
	assert_int_equal(answered(1)->frame.kind, OAE_VERB);
}

/* Nothing in its place: it is dropped, and what is held above it is not. */
WINDOW_TEST(test_compute_void)
{
	take_verb(1);
	take(2, OAE_MESSAGE);
	take_verb(3);
	take(1, OAE_VOID);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(op(OAE_OP_DISCARD)->seq, l.rx + 1);
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(answered(1)->frame.kind, OAE_VOID);
	assert_int_equal(l.nheld, 3);
	/* Nothing takes the place of that. */
	take(1, OAE_VERB);
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(nverbs + a.nsends, 0);
	take(3, OAE_VOID);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_int_equal(count_op(OAE_OP_APPLY), 0);
}

/* An end that settles takes nothing that has waited; one that closes has dropped it. */
WINDOW_TEST(test_compute_settling)
{
	take(2, OAE_VERB);
	take_settling(1, OAE_VOID);
	assert_int_equal(nverbs, 0);
	assert_refused(2, OAE_R_BUSY);

	open_window(state);
	take(2, OAE_VERB);
	close_link();
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.nwait, 0);
	take(1, OAE_VOID);
	assert_int_equal(nverbs + a.nsends, 0);
}

/* The run ends: what waits is forgotten. */
WINDOW_TEST(test_compute_froze)
{
	take(2, OAE_VERB);
	anew_wide();
	assert_int_equal(l.nwait, 0);
	take(1, OAE_MESSAGE);
	assert_int_equal(nverbs, 0);
	take_verb(2);
}

/* Between the runs nothing rests on it: what is above keeps its place. */
WINDOW_TEST(test_reversed_frozen)
{
	post_verb(&h[1]);
	post(&h[2], 1, 0);
	port_down();
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_ptr_equal(offered(1)->handle, &h[2]);
}

UNIT_MAIN("verbs in a window")
