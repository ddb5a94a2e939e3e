// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs at one end, whose peer and whose words are played by hand (doc/protocol.md
 * section 4.10). Two ends, with words, are in test_link_words.c.
 */
#include "one_link.h"

#define REPLY	24

static void post_verb(char *handle)
{
	post_kind(handle, OAE_VERB, CUT, REPLY);
}

/* The peer offers one, and it is computed. */
static void held(u8 attempt)
{
	rcv(offer_kind(attempt, OAE_VERB));
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	computed(0, REPLY);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
}

/* The initiator: what is offered, and what answers it. */
LINK_TEST(test_initiator)
{
	const struct oae_send *s;

	post_verb(&x);
	s = sent(OAE_OFFER);
	assert_int_equal(s->frame.kind, OAE_VERB);
	assert_int_equal(s->frame.flags, 0);
	assert_int_equal(s->slices, 1);
	assert_int_equal(s->nslices, 1);
	assert_ptr_equal(s->handle, &x);
	peer_lag = 1;
	rcv(answer_kind(OAE_VERB, REPLY));
	assert_ptr_equal(op(OAE_OP_RESULT)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_RESULT) < op(OAE_OP_COMPLETE));
	assert_non_null(sent(OAE_COMMIT));
}

/* An answer of another length or kind is not that of this request. */
LINK_TEST(test_answer_that_does_not_fit)
{
	static const struct {
		u8 kind;
		u16 more;
	} wrong[] = {
		{ OAE_VERB, REPLY - 1 }, { OAE_VERB, REPLY + 1 },
		{ OAE_SWAP, REPLY }, { OAE_MESSAGE, 0 },
	};
	unsigned int i;

	post_verb(&x);
	for (i = 0; i < 4; i++) {
		rcv(answer_kind(wrong[i].kind, wrong[i].more));
		assert_int_equal(noted(OAE_N_MISMATCH), 1);
		assert_int_equal(count_op(OAE_OP_RESULT), 0);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2 + i);
	}
	rcv(answer_kind(OAE_VERB, REPLY));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* Each way to be refused for good, and what the writer is told. */
LINK_TEST(test_refused)
{
	static const struct {
		u16 reason;
		int err;
	} refused[] = {
		{ OAE_R_NO_REGION, ENXIO }, { OAE_R_RANGE, ERANGE },
		{ OAE_R_ACCESS, EACCES }, { OAE_R_BAD_VERB, EBADMSG },
		{ OAE_R_TOO_BIG, EMSGSIZE }, { OAE_R_KIND, EOPNOTSUPP },
		{ OAE_R_NONE, EOPNOTSUPP }, { OAE_R_POLICY, EOPNOTSUPP },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		post_verb(&x);
		refuse(refused[i].reason);
		assert_reversed(&x, refused[i].err);
		assert_int_equal(noted(OAE_N_REJECTED), 1);
		assert_int_equal(a.nsends, 0);
	}
}

/* CONFLICT parks: it is offered again on READY, else after eight probe timeouts. */
LINK_TEST(test_parked)
{
	u64 due;

	post_verb(&x);
	refuse(OAE_R_CONFLICT);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_int_equal(noted(OAE_N_PARKED), 1);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VERB);
	refuse(OAE_R_CONFLICT);
	due = now + 8 * oae_link_pto(&l);
	fire_at(due - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(due);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 3);
	refuse(OAE_R_CONFLICT);
	assert_int_equal(cancel(&x), 0);	/* not in flight */
	assert_true(ended(&x, OAE_REVERSED));
	assert_null(sent(OAE_REVERSE));
}

/* READY overtakes its refusal: what is refused then is offered again at once, once. */
LINK_TEST(test_ready_overtakes)
{
	post_verb(&x);
	rcv(BUT(frame(OAE_READY), f.seq = l.tx + 1));
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_CONFLICT);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	refuse(OAE_R_BUSY);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);

	/* One for another transaction says nothing of this one. */
	fire_at(now + cfg.keepalive);
	rcv(BUT(frame(OAE_READY), f.seq = l.tx));
	refuse(OAE_R_BUSY);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
}

/* Request and answer must each fit into a frame, that of now. */
LINK_TEST(test_too_long)
{
	u16 max = oae_link_slice_max(&l);

	post_kind(&x, OAE_VERB, max + 1, 8);
	assert_reversed(&x, OAE_E_TOO_BIG);
	post_kind(&x, OAE_VERB, 8, max - OAE_REFLECT_LEN + 1);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(a.nsends, 0);
	post_kind(&x, OAE_VERB, max, max - OAE_REFLECT_LEN);
	assert_non_null(sent(OAE_OFFER));

	/* Offered again through a smaller port, it does not fit any more, for now. */
	post(&y, 1, 0);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 1000));
	assert_int_equal(count_op(OAE_OP_RESLICE), 0);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_OFFER));
	fire_at(now + cfg.dead - 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_int_equal(count_op(OAE_OP_RESLICE), 0);
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
}

/* Cut anew as messages are, requests are not: nothing asks for it. */
LINK_TEST(test_parked_too_long)
{
	post_kind(&x, OAE_VERB, 1200, 8);
	refuse(OAE_R_CONFLICT);
	port_down();
	rcv(BUT(resolved(), f.sync.mtu = 1000));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	fire_at(now + cfg.dead);
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_int_equal(l.offer.state, OAE_OFFER_NONE);
}

/* The responder: asked, held, and applied by the commit. */
LINK_TEST(test_responder)
{
	const struct oae_send *s;

	rcv(offer_kind(1, OAE_VERB));
	assert_int_equal(l.hold.state, OAE_HOLD_ASKED);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_true(op(OAE_OP_KEEP) < op(OAE_OP_VERB));
	assert_int_equal(a.nsends, 0);
	computed(0, REPLY);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.kind, OAE_VERB);
	assert_int_equal(s->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(s->frame.seq, l.rx + 1);
	assert_int_equal(s->frame.attempt, 1);
	assert_int_equal(noted(OAE_N_HELD), 1);
	assert_true(l.timer_at && l.timer_at <= now + oae_link_pto(&l));

	rcv(offer_kind(1, OAE_VERB));		/* the same answer */
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);

	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD) + count_op(OAE_OP_DELIVER), 0);
	assert_int_equal(l.rx, PEER_START + 1);
	commit(0);				/* once */
	assert_int_equal(count_op(OAE_OP_APPLY), 0);
}

/* Refused by who computes: each reason goes out, and stays the answer. */
LINK_TEST(test_computed_refused)
{
	static const u16 reasons[] = {
		OAE_R_CONFLICT, OAE_R_NO_REGION, OAE_R_RANGE, OAE_R_ACCESS,
		OAE_R_BAD_VERB, OAE_R_TOO_BIG, OAE_R_KIND,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		rcv(offer_kind(1 + i, OAE_VERB));
		computed(reasons[i], 0);
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, reasons[i]);
		assert_int_equal(sent(OAE_REFUSE)->frame.kind, OAE_VERB);
		assert_int_equal(sent(OAE_REFUSE)->frame.attempt, 1 + i);
		assert_int_equal(count_op(OAE_OP_DISCARD), 1);
		assert_int_equal(noted(OAE_N_REFUSED), 1);
		assert_null(sent(OAE_REFLECT));
		rcv(offer_kind(1 + i, OAE_VERB));
		assert_int_equal(count_op(OAE_OP_VERB), 0);
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, reasons[i]);
	}
}

/* READY for CONFLICT, once, and for nothing else. */
LINK_TEST(test_ready)
{
	rcv(offer_kind(1, OAE_VERB));
	computed(OAE_R_ACCESS, 0);
	drained();
	assert_int_equal(a.nsends, 0);
	rcv(offer_kind(2, OAE_VERB));
	computed(OAE_R_CONFLICT, 0);
	drained();
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
	drained();
	assert_int_equal(a.nsends, 0);
	held(3);
}

/* The answer must fit into a REFLECT. */
LINK_TEST(test_answer_too_long)
{
	u16 max = oae_link_slice_max(&l) - OAE_REFLECT_LEN;

	rcv(offer_kind(1, OAE_VERB));
	computed(0, max + 1);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	rcv(offer_kind(2, OAE_VERB));
	computed(0, max);
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + max);
}

/* Each way in which one that is held is dropped: DISCARD, and never APPLY. */
LINK_TEST(test_dropped)
{
	held(1);
	rcv(BUT(frame(OAE_REVERSE), f.seq = l.rx + 1, f.attempt = 1));
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_APPLY), 0);

	held(2);				/* a higher attempt, computed anew */
	rcv(offer_kind(3, OAE_VERB));
	assert_true(op(OAE_OP_DISCARD) < op(OAE_OP_VERB));
	computed(0, REPLY);
	rcv(slice(4, 0, OAE_F_LAST));		/* a message instead */
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);

	held(5);				/* resolved: it was not committed */
	port_down();
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.hold.state, OAE_HOLD_NONE);

	held(1);				/* or it was */
	port_down();
	rcv(BUT(resolved(), f.tx++));
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);

	held(1);				/* its sender has died */
	port_down();
	rcv(BUT(resolved(), f.sync.inc++, f.tx = f.sync.start));
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);

	held(1);
	renamed();
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);

	open_link(NULL);
	held(1);
	kill_link(OAE_E_CANCEL);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_APPLY), 0);
}

/* Down, it is kept: no protocol can tell what was decided. */
LINK_TEST(test_down)
{
	held(1);
	port_down();
	fire_at(now + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	fire_at(now + 100 * cfg.dead);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	assert_true(oae_link_in_doubt(&l));
}

/* The link has dropped it before the answer was there. */
LINK_TEST(test_computed_dropped)
{
	rcv(offer_kind(1, OAE_VERB));
	assert_non_null(op(OAE_OP_VERB));
	port_down();
	clear();
	computed(0, REPLY);
	assert_int_equal(a.nsends, 0);
	assert_int_equal(l.nheld, 0);
}

/* An answer to a question that is not asked, or not any more. */
LINK_TEST(test_computed_unasked)
{
	struct oae_link before = l;

	clear();
	computed(0, REPLY);
	computed(OAE_R_CONFLICT, 0);
	assert_int_equal(a.nops + a.nsends, 0);
	assert_memory_equal(&l, &before, sizeof(l));

	/* Attempts used up by the half that came back: the answer went first. */
	post_half(&x);
	l.offer.attempt = 0xff;
	post(&y, 1, 0);
	rcv(offer_kind(1, OAE_SWAP));		/* y is offered, in vain */
	rcv(resolved());
	open_link(NULL);
	post_half(&x);
	refuse(OAE_R_NO_HALF);
	rcv(offer_kind(1, OAE_SWAP));
	l.offer.attempt = 0xff;
	rcv(offer_kind(2, OAE_VERB));		/* x is back */
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	assert_int_equal(noted(OAE_N_ATTEMPTS), 0);
	assert_int_equal(l.hold.state, OAE_HOLD_ASKED);
	clear();
	computed(0, REPLY);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
}

/* An OFFER that carries the commit of one, and is another: in this order. */
LINK_TEST(test_one_after_the_other)
{
	held(1);
	rcv(BUT(offer_kind(1, OAE_VERB), f.tx++, f.seq++));
	assert_true(op(OAE_OP_APPLY) < op(OAE_OP_KEEP));
	assert_true(op(OAE_OP_KEEP) < op(OAE_OP_VERB));
	computed(0, 8);
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + 8);
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
}

/* Closing: CLOSE waits until what is held, and what is being computed, ends. */
LINK_TEST(test_close)
{
	held(1);
	close_link();
	assert_null(sent(OAE_CLOSE));
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_non_null(sent(OAE_CLOSE));

	open_link(NULL);
	post(&x, 1, 0);
	close_link();
	rcv(offer_kind(1, OAE_VERB));
	assert_null(sent(OAE_CLOSE));
	rcv(answer(OAE_REFLECT));
	open_link(NULL);
	post_half(&x);
	refuse(OAE_R_NO_HALF);
	rcv(offer_kind(1, OAE_SWAP));
	close_link();
	rcv(offer_kind(2, OAE_VERB));		/* x comes back, and is reversed */
	assert_reversed(&x, OAE_E_SHUTDOWN);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	assert_true(sent(OAE_REFUSE) && sent(OAE_CLOSE));
}

/* Closed there: what is being computed is not cut off by CLOSE_ACK. */
LINK_TEST(test_close_recd)
{
	post(&x, 1, 0);
	rcv(frame(OAE_CLOSE));
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	rcv(offer_kind(1, OAE_VERB));
	computed(0, REPLY);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(sent(OAE_CLOSE_ACK));
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_non_null(sent(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);

	/* The offer itself says that all else is done. */
	open_link(NULL);
	post(&x, 1, 0);
	rcv(frame(OAE_CLOSE));
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	assert_null(sent(OAE_CLOSE_ACK));
	peer_lag = 0;
	rcv(offer_kind(1, OAE_VERB));
	assert_null(sent(OAE_CLOSE_ACK));
	computed(0, REPLY);
	assert_non_null(sent(OAE_REFLECT));
	commit(0);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* Refused, it holds the end of a link up no longer: no timer has to notice. */
LINK_TEST(test_refused_at_last)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	rcv(frame(OAE_CLOSE));
	assert_non_null(sent(OAE_COMMIT));
	peer_lag = 0;
	rcv(offer_kind(1, OAE_VERB));
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	assert_null(sent(OAE_CLOSE_ACK));
	computed(OAE_R_NO_REGION, 0);
	assert_non_null(sent(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);
}

UNIT_MAIN("a verb at one end")
