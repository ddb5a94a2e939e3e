// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs in a window (doc/protocol.md section 4.11): what is computed, in which order, and
 * what is void above one that is reversed. One verb at a time is in test_link_verb.c.
 */
#include "one_window.h"

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
 * One is reversed: what the peer has computed above it is void, and is offered anew once
 * the peer has heard of that; messages need not wait.
 */
WINDOW_TEST(test_verb_reversed)
{
	post_verbs(1, 2);
	post_some(3, 3);
	reflect(2);
	reflect(3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_null(offered(2));
	assert_null(offered(3));
	post_verb(&h[4]);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(l.tx, 1);
	assert_int_equal(offered(2)->frame.attempt, 2);
	assert_non_null(offered(4));
	assert_null(offered(3));
	/* The first answer comes again. */
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.attempt = 1));
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	reflect(2);
	assert_int_equal(l.tx, 3);
}

/* A message is reversed: no verb rests on it. */
WINDOW_TEST(test_verb_above_message)
{
	post_some(1, 1);
	post_verbs(2, 2);
	reflect(2);
	assert_int_equal(cancel(&h[1]), 0);
	post_verb(&h[3]);
	assert_non_null(offered(3));
	reflect(1);
	assert_int_equal(l.tx, 2);
}

/* Two are reversed: what is above both waits for both. */
WINDOW_TEST(test_verbs_reversed)
{
	post_verbs(1, 3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(cancel(&h[2]), 0);
	assert_non_null(offered(2));
	reflect(1);
	assert_null(offered(3));
	reflect(2);
	assert_int_equal(offered(3)->frame.attempt, 2);
}

/* What was refused was not computed; but of what had no place a copy may be late. */
WINDOW_TEST(test_verb_refused_reversed)
{
	post_verbs(1, 2);
	refuse_number(1, OAE_R_CONFLICT);
	assert_int_equal(cancel(&h[1]), 0);
	reflect(1);
	assert_null(offered(2));

	open_window(state);
	post_verbs(1, 2);
	refuse_number(1, OAE_R_RANGE);
	assert_reversed(&h[1], OAE_E_RANGE);
	reflect(1);
	assert_null(offered(2));

	open_window(state);
	post_verbs(1, 2);
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(cancel(&h[1]), 0);
	reflect(1);
	assert_int_equal(offered(2)->frame.attempt, 2);
}

/* A verb that is parked above one that is reversed waits as well. */
WINDOW_TEST(test_verb_parked_above)
{
	post_verbs(1, 2);
	refuse_number(2, OAE_R_CONFLICT);
	assert_int_equal(cancel(&h[1]), 0);
	now += cfg.keepalive;
	clear();
	oae_offer_unpark(&l, now, &a);
	assert_null(offered(2));
	ready(2);
	assert_null(offered(2));
	reflect(1);
	assert_int_equal(offered(2)->frame.attempt, 2);
}

/*
 * So does one that has waited since the run before, although there is room for it now; a
 * message does not wait.
 */
WINDOW_TEST(test_verb_queued_above)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_window(state);
		post_verbs(1, 2);
		if (i)
			post_some(3, 3);
		else
			post_verbs(3, 3);
		anew_wide();
		/* The peer has room for the next one only. */
		rcv(BUT(answer_to(OAE_REFLECT, 1), f.room = 2));
		assert_int_equal(l.tx, 1);
		assert_non_null(offered(2));
		assert_null(offered(3));
		assert_int_equal(cancel(&h[2]), 0);
		assert_int_equal(offered(2)->frame.kind, OAE_VOID);
		ready(PLACES);
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
	anew_wide();
	assert_int_equal(offered(1)->frame.kind, OAE_VERB);
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

	grow();
	post_verbs(1, 4);
	for (i = 2; i <= 4; i++)
		ack_number(l.tx + i, 1);
	assert_int_equal(offered(l.tx + 1)->frame.attempt, 1);
	assert_null(offered(l.tx + 2));
	/* Nothing that is below says that one is lost. */
	for (i = 0; i < 5; i++) {
		refuse_number(l.tx + 1, OAE_R_CONFLICT);
		ready(l.tx + PLACES);
		assert_null(offered(l.tx + 2));
		assert_null(sent(OAE_ASK));
	}
	reflect(l.tx + 1);
	assert_null(sent(OAE_OFFER));
	/* It is computed now; its answer is lost. */
	l.cwnd = PLACES;
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
	assert_int_equal(s->frame.attempt, 1);
	assert_true(s->frame.have == 1);
}

/* Here: it is computed when all below it is held, and in order. */
WINDOW_TEST(test_compute_in_order)
{
	take(3, 1, OAE_VERB, PLACES);
	assert_waits(3);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	/* Asked again, it still waits. */
	take(3, 1, OAE_VERB, PLACES);
	assert_waits(3);
	take(2, 1, OAE_VERB, PLACES);
	assert_waits(2);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_non_null(answered(1));
	assert_int_equal(asked(), l.rx + 2);
	assert_null(answered(2));
	computed(0, REPLY);
	assert_int_equal(answered(2)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(count_op(OAE_OP_VERB), 2);
	computed(0, 2 * REPLY);
	assert_int_equal(answered(3)->frame.length, OAE_REFLECT_LEN + 2 * REPLY);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_APPLY), 2);
}

/* One that is refused holds up those above it. */
WINDOW_TEST(test_compute_refused)
{
	take(3, 1, OAE_VERB, PLACES);
	take(2, 1, OAE_VERB, PLACES);
	take(1, 1, OAE_MESSAGE, PLACES);
	computed(OAE_R_CONFLICT, 0);
	assert_refused(2, OAE_R_CONFLICT);
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	/* READY needs no room for it. */
	read_one(0);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 3);
	take_verb(2, 2);
	assert_non_null(answered(2));
	assert_int_equal(op(OAE_OP_VERB)[0].seq, l.rx + 2);
	computed(0, REPLY);
	assert_non_null(answered(3));
}

/* What is looked at before an event goes on: the first of those held may be one that waits. */
WINDOW_TEST(test_waits_shown)
{
	struct oae_link_view v;
	unsigned int i, n;

	for (i = 2; i <= PLACES; i++)
		take(i, 1, OAE_VERB, PLACES);
	take(1, 1, OAE_VERB, PLACES);
	for (n = 0; l.asking; n++)
		computed(0, REPLY);
	assert_true(oae_link_more(&l));
	commit_to(n);
	oae_link_show(&l, &v);
	assert_int_equal(v.hold, OAE_HOLD_WAITS);
}

/* An event answers a few; the others are not forgotten. */
WINDOW_TEST(test_compute_more)
{
	unsigned int i, n;

	for (i = 2; i <= PLACES; i++)
		take(i, 1, OAE_VERB, PLACES);
	take(1, 1, OAE_VERB, PLACES);
	for (n = 0; l.asking; n++)
		computed(0, REPLY);
	assert_in_range(n, 2, OAE_MAX_SENDS);
	while (oae_link_more(&l)) {
		clear();
		oae_link_pump(&l, now, &a);
		for (; l.asking; n++)
			computed(0, REPLY);
	}
	assert_int_equal(n, PLACES);
	assert_int_equal(l.nheld, PLACES);
}

/* A new attempt of a verb that is held: what was computed stands. */
WINDOW_TEST(test_compute_once)
{
	take_verb(1, 1);
	take_verb(2, 1);
	take(1, 2, OAE_VERB, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	assert_false(op(OAE_OP_DISCARD));
	assert_int_equal(answered(1)->frame.attempt, 2);
	assert_int_equal(answered(1)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(l.nheld, 2);
	/* A peer that says something else has it computed. */
	rcv(BUT(offer_kind(3, OAE_VERB), f.payload_hash++));
	assert_int_equal(asked(), l.rx + 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 2);
	computed(0, REPLY);
	assert_int_equal(l.nheld, 1);

	/* Without a window another verb may have the number. */
	open_link(state);
	rcv(offer_kind(1, OAE_VERB));
	computed(0, REPLY);
	rcv(offer_kind(2, OAE_VERB));
	assert_int_equal(asked(), l.rx + 1);
}

/* Nothing in its place: what was computed above it is dropped, and is offered anew. */
WINDOW_TEST(test_compute_anew)
{
	take_verb(1, 1);
	take(2, 1, OAE_MESSAGE, PLACES);
	take_verb(3, 1);
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(count_op(OAE_OP_DISCARD), 2);
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(l.nheld, 2);
	take(3, 1, OAE_VERB, PLACES);
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	assert_int_equal(a.nsends, 0);
	take_verb(3, 2);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);

	/* But a message is none of its business. */
	take(1, 1, OAE_MESSAGE, PLACES);
	take_verb(2, 1);
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(l.nheld, 2);
}

/* An end that closes takes nothing that has waited. */
WINDOW_TEST(test_compute_closing)
{
	take(2, 1, OAE_VERB, PLACES);
	close_link();
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	assert_refused(2, OAE_R_BUSY);
}

/* The run ends: what waits is forgotten. */
WINDOW_TEST(test_compute_froze)
{
	take(2, 1, OAE_VERB, PLACES);
	anew_wide();
	assert_int_equal(l.nwait, 0);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	take_verb(2, 1);
}

UNIT_MAIN("verbs in a window")
