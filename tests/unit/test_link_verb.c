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
static void held(void)
{
	computes(0, REPLY);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(nverbs, 1);
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
	rcv(answer_kind(OAE_VERB, REPLY));
	assert_ptr_equal(op(OAE_OP_RESULT)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_RESULT) < op(OAE_OP_COMPLETE));
	assert_non_null(sent(OAE_COMMIT));
}

/* An answer of another length is not that of this request: the link freezes. */
LINK_TEST(test_answer_that_does_not_fit)
{
	static const u16 wrong[] = { REPLY - 1, REPLY + 1 };
	unsigned int i;

	post_verb(&x);
	for (i = 0; i < 2; i++) {
		rcv(answer_kind(OAE_VERB, wrong[i]));
		assert_int_equal(noted(OAE_N_MISMATCH), 1);
		assert_int_equal(count_op(OAE_OP_RESULT), 0);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		assert_int_equal(l.state, OAE_SYNC_SENT);
		rcv(resolved());
		assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	}
	rcv(answer_kind(OAE_VERB, REPLY));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* One of another kind is not of what is offered now. */
LINK_TEST(test_answer_of_another_kind)
{
	static const u8 wrong[] = { OAE_SWAP, OAE_MESSAGE, OAE_VOID, OAE_PACK };
	unsigned int i;

	post_verb(&x);
	for (i = 0; i < 4; i++) {
		rcv(answer_kind(wrong[i], REPLY));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
		rcv(BUT(answer(OAE_REFUSE), f.kind = wrong[i], f.reason = OAE_R_RANGE));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
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
		assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
		rcv(answer(OAE_REFLECT));
		assert_int_equal(l.tx, i + 1);
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
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VERB);
	assert_int_equal(a.nsends, 1);
	refuse(OAE_R_CONFLICT);
	due = now + 8 * oae_link_pto(&l);
	fire_at(due - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(due);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	refuse(OAE_R_CONFLICT);
	assert_int_equal(cancel(&x), 0);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
}

/* READY overtakes its refusal: what is refused then is offered again at once, once. */
LINK_TEST(test_ready_overtakes)
{
	post_verb(&x);
	rcv(frame(OAE_READY));
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_CONFLICT);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
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
	assert_int_equal(ncuts, 0);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_OFFER));
	fire_at(now + cfg.dead - 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_int_equal(ncuts, 0);
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

/* The responder: computed, held, and applied by the commit. */
LINK_TEST(test_responder)
{
	const struct oae_send *s;

	held();
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(last_verb, l.rx + 1);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.kind, OAE_VERB);
	assert_int_equal(s->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(s->frame.seq, l.rx + 1);
	assert_int_equal(noted(OAE_N_HELD), 1);
	assert_true(l.timer.at && l.timer.at <= now + oae_link_pto(&l));

	rcv(offer_kind(OAE_VERB));		/* the same answer */
	assert_int_equal(nverbs, 0);
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

/* Refused by who computes, for good: that stays the answer. For now: it is computed anew. */
LINK_TEST(test_computed_refused)
{
	static const u16 reasons[] = {
		OAE_R_CONFLICT, OAE_R_NO_REGION, OAE_R_RANGE, OAE_R_ACCESS,
		OAE_R_BAD_VERB, OAE_R_TOO_BIG, OAE_R_KIND,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		computes(reasons[i], 0);
		rcv(offer_kind(OAE_VERB));
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, reasons[i]);
		assert_int_equal(sent(OAE_REFUSE)->frame.kind, OAE_VERB);
		assert_int_equal(count_op(OAE_OP_DISCARD), 1);
		assert_int_equal(noted(OAE_N_REFUSED), 1);
		assert_null(sent(OAE_REFLECT));
		rcv(offer_kind(OAE_VERB));
		assert_int_equal(nverbs, reasons[i] == OAE_R_CONFLICT);
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, reasons[i]);
		rcv(offer_kind(OAE_VOID));
		assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
		rcv(offer_kind(OAE_VERB));		/* late */
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(nverbs + a.nsends, 0);
		commit(0);
	}
}

/* READY for CONFLICT, once, and for nothing else. */
LINK_TEST(test_ready)
{
	computes(OAE_R_ACCESS, 0);
	rcv(offer_kind(OAE_VERB));
	words_free();
	assert_int_equal(a.nsends, 0);
	rcv(offer_kind(OAE_VOID));
	commit(0);
	computes(OAE_R_CONFLICT, 0);
	rcv(offer_kind(OAE_VERB));
	words_free();
	assert_int_equal(sent(OAE_READY)->frame.seq, 0);
	words_free();
	assert_int_equal(a.nsends, 0);
	held();
}

/* There is no memory for it: as if it was lost, and it is computed when it comes again. */
LINK_TEST(test_no_memory)
{
	computes(OAE_R_BUSY, 0);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(a.nsends, 0);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	words_free();
	assert_int_equal(a.nsends, 0);
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1, f.kind = OAE_VERB));
	assert_true(sent(OAE_ACK)->frame.have == 0);
	held();
}

/* The answer must fit into a REFLECT. */
LINK_TEST(test_answer_too_long)
{
	u16 max = oae_link_slice_max(&l) - OAE_REFLECT_LEN;

	computes(0, max + 1);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	rcv(offer_kind(OAE_VOID));
	commit(0);
	computes(0, max);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + max);
}

/* Each way in which one that is held is dropped: DISCARD, and never APPLY. */
LINK_TEST(test_dropped)
{
	held();
	rcv(offer_kind(OAE_VOID));		/* nothing instead */
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 0);

	held();				/* resolved: it was not committed */
	port_down();
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.hold.state, OAE_HOLD_NONE);

	held();				/* or it was */
	port_down();
	rcv(BUT(resolved(), f.tx++));
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);

	held();				/* its sender has died */
	port_down();
	rcv(BUT(resolved(), f.sync.inc++, f.tx = f.sync.start));
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);

	held();
	renamed();
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);

	open_link(NULL);
	held();
	kill_link(OAE_E_CANCEL);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_APPLY), 0);
}

/* Down, it is kept: no protocol can tell what was decided. */
LINK_TEST(test_down)
{
	held();
	port_down();
	fire_at(now + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	fire_at(now + 100 * cfg.dead);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	assert_true(oae_link_in_doubt(&l));
}

/* An OFFER that carries the commit of one, and is another: in this order. */
LINK_TEST(test_one_after_the_other)
{
	held();
	computes(0, 8);
	rcv(BUT(offer_kind(OAE_VERB), f.tx++, f.seq++));
	assert_true(op(OAE_OP_APPLY) < op(OAE_OP_KEEP));
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + 8);
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
}

/* Closing: LAST waits for what this end has offered, not for what it holds. */
LINK_TEST(test_close)
{
	held();
	close_link();
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx + 1);
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);

	open_link(NULL);
	post(&x, 1, 0);
	close_link();
	assert_int_equal(sent(OAE_CLOSE)->frame.seq, l.rx);
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, 0);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(a.nsends, 0);
	rcv(answer(OAE_REFLECT));
	assert_non_null(sent(OAE_COMMIT));
	rcv(frame(OAE_DONE));
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
}

/* Closed there: what is held is not cut off by CLOSE_ACK. */
LINK_TEST(test_close_recd)
{
	post(&x, 1, 0);
	rcv(peer_closes(1, false));
	assert_int_equal(oae_link_state(&l), OAE_CLOSE_RECD);
	held();
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(sent(OAE_CLOSE_ACK));
	commit(0);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);
	assert_null(sent(OAE_CLOSE_ACK));
	rcv(peer_closes(0, true));
	assert_non_null(sent(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);

	/* Nor by one that lies. */
	open_link(NULL);
	post(&x, 1, 0);
	rcv(peer_closes(1, true));
	rcv(answer(OAE_REFLECT));
	assert_null(sent(OAE_CLOSE_ACK));
	held();
	assert_null(sent(OAE_CLOSE_ACK));
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
	rcv(peer_closes(0, true));
	assert_non_null(sent(OAE_COMMIT));
	peer_lag = 0;
	computes(OAE_R_NO_REGION, 0);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(nverbs, 1);
	assert_non_null(sent(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_CLOSED);
}

UNIT_MAIN("a verb at one end")
