// SPDX-License-Identifier: GPL-2.0
/*
 * Nothing (VOID) in place of what was reversed, with a window of one (doc/protocol.md
 * sections 4.1 and 4.2), and while places are lent or taken back. With a larger window it is
 * in test_link_window.c, of halves in test_link_half.c, of packs in test_link_pack.c.
 */
#include "one_window.h"

/* A run with a window of one, in which places may be lent. */
static int open_narrow(void **state)
{
	(void)state;
	open_wide(PLACES, 1);
	return 0;
}

/* A run with a larger window, before any place is lent. */
static int open_unlent(void **state)
{
	(void)state;
	open_wide(PLACES, PLACES);
	return 0;
}

#define NARROW_TEST(test)	UNIT_TEST(test, open_narrow, NULL)
#define UNLENT_TEST(test)	UNIT_TEST(test, open_unlent, NULL)

/* The last event has offered nothing under this number, and no more than that. */
static void assert_void(u32 seq)
{
	assert_int_equal(a.nsends, 1);
	assert_non_null(offered(seq));
	assert_int_equal(offered(seq)->frame.kind, OAE_VOID);
	assert_int_equal(offered(seq)->frame.flags, OAE_F_LAST);
	assert_int_equal(offered(seq)->frame.marks, OAE_M_ANSWER);
	assert_null(offered(seq)->handle);
}

static void asked_for(u32 seq, u8 kind)
{
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(sent(OAE_ASK)->frame.seq, seq);
	assert_int_equal(sent(OAE_ASK)->frame.kind, kind);
}

/* --- the initiator --- */

/* What is parked may wait for long: nothing, in its place, does not. */
NARROW_TEST(test_parked_cancelled)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	fire_at(l.timer.at);
	assert_true(l.timer.at > now + oae_link_pto(&l));
	assert_int_equal(cancel(&x), 0);
	assert_void(1);
	assert_true(l.timer.at <= now + oae_link_pto(&l));
}

/* Whatever has become of it so far: the next one waits for the commit of nothing. */
NARROW_TEST(test_cancelled)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		open_narrow(state);
		post(&x, 3, 0);
		post(&y, 1, 0);
		if (i == 1)
			ack_number(1, 5);
		if (i == 2)
			refuse_number(1, OAE_R_BUSY);
		if (i == 3)
			asked_for(1, OAE_MESSAGE);
		assert_int_equal(cancel(&x), 0);
		assert_reversed(&x, OAE_E_SIGNAL);
		assert_void(1);
		assert_int_equal(cancel(&x), -ENOENT);
		/* What the peer has said of the content. */
		rcv(BUT(answer_kind(OAE_MESSAGE, 0), f.seq = 1, f.length = 0));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		rcv(BUT(answer_to(OAE_ACK, 1), f.kind = OAE_MESSAGE, f.have = 3));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		rcv(BUT(answer_to(OAE_REFUSE, 1), f.kind = OAE_MESSAGE, f.reason = OAE_R_BUSY));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		ready();
		assert_int_equal(a.nsends, 0);
		assert_int_equal(oae_link_tx(&l), 0);
		reflect(1);
		assert_int_equal(oae_link_tx(&l), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		assert_ptr_equal(offered(2)->handle, &y);
		assert_int_equal(offered(2)->frame.tx, 1);
	}
}

/* Refused for good: the same, and its user is told at once. */
NARROW_TEST(test_refused)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	refuse_number(1, OAE_R_TOO_BIG);
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_void(1);
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &y);
}

/* Without another to carry it the commit of nothing goes out by itself. */
NARROW_TEST(test_committed)
{
	post(&x, 1, 0);
	cancel(&x);
	reflect(1);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, 1);
	assert_true(oae_link_idle(&l));
	assert_false(oae_link_undecided(&l));
}

/* The frame is lost, then its answer is: it is asked for like any other. */
NARROW_TEST(test_lost)
{
	post(&x, 1, 0);
	cancel(&x);
	asked_for(1, OAE_VOID);
	ack_number(1, 0);
	assert_void(1);
	asked_for(1, OAE_VOID);
	reflect(1);
	assert_int_equal(oae_link_tx(&l), 1);
}

/* No honest peer refuses nothing. */
NARROW_TEST(test_not_refused)
{
	static const u16 reasons[] = { OAE_R_TOO_BIG, OAE_R_KIND, OAE_R_RANGE };
	unsigned int i;

	post(&x, 1, 0);
	cancel(&x);
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		refuse_number(1, reasons[i]);
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
	}
	reflect(1);
	assert_int_equal(oae_link_tx(&l), 1);
}

/* One that waits behind has no number: it goes without leaving anything. */
NARROW_TEST(test_next_cancelled)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	assert_int_equal(cancel(&y), 0);
	assert_reversed(&y, OAE_E_SIGNAL);
	assert_int_equal(a.nsends, 0);
	reflect(1);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(sent(OAE_OFFER));
}

/* A verb waits behind a verb that is reversed, as what else does. */
NARROW_TEST(test_verb_cancelled)
{
	post_verb(&x);
	post_verb(&y);
	assert_int_equal(cancel(&x), 0);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_void(1);
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &y);
}

/* --- the responder --- */

/* VOID takes the place of what is here, whatever that is; and no content takes its place. */
NARROW_TEST(test_replaces)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		open_narrow(state);
		if (i == 0)
			take_slice(1, 1, 0);
		if (i == 1)
			take(1, OAE_MESSAGE);
		if (i == 2)
			take_settling(1, OAE_MESSAGE);
		if (i == 3)
			take_verb(1);
		/* It is taken at any time. */
		take_settling(1, OAE_VOID);
		assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
		assert_true(sent(OAE_REFLECT)->frame.reflect.digest == nothing_digest());
		assert_int_equal(noted(OAE_N_DROPPED), i & 1);
		assert_int_equal(count_op(OAE_OP_DISCARD), i != 2);
		take_slice(1, 0, 0);
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(a.nsends + count_op(OAE_OP_KEEP), 0);
		rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1, f.kind = OAE_MESSAGE));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(a.nsends, 0);
		rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1, f.kind = OAE_VOID));
		assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
		commit_to(1);
		assert_int_equal(oae_link_rx(&l), PEER_START + 1);
		assert_int_equal(count_op(OAE_OP_DELIVER) + count_op(OAE_OP_APPLY), 0);
	}
}

/* Asked for before it came, there is nothing of it, whatever is here else. */
NARROW_TEST(test_asked_before)
{
	take(1, OAE_MESSAGE);
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1, f.kind = OAE_VOID));
	assert_int_equal(sent(OAE_ACK)->frame.kind, OAE_VOID);
	assert_true(sent(OAE_ACK)->frame.have == 0);
	commit_to(1);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
}

/* --- places are lent in the midst --- */

/* Nothing is under way, and something waits: it need not any more; but a verb has to. */
UNLENT_TEST(test_lent)
{
	post(&x, 1, 0);
	cancel(&x);
	post(&y, 1, 0);
	assert_null(sent(OAE_OFFER));
	lend();
	assert_ptr_equal(offered(2)->handle, &y);
	assert_null(offered(1));
	reflect(2);
	assert_int_equal(oae_link_tx(&l), 0);
	reflect(1);
	assert_int_equal(oae_link_tx(&l), 2);
	assert_true(ended(&y, OAE_COMMITTED));

	open_unlent(state);
	post(&x, 1, 0);
	cancel(&x);
	post_verb(&y);
	lend();
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &y);
}

/* Without a place it is as if it was lost. */
UNLENT_TEST(test_lent_dropped)
{
	take(2, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_NO_PLACE), 1);
	assert_int_equal(a.nsends + count_op(OAE_OP_KEEP), 0);
	assert_int_equal(oae_link_lacks(&l), PLACES);
	lend();
	assert_int_equal(a.nsends, 0);
	take(2, OAE_MESSAGE);
	assert_non_null(sent(OAE_REFLECT));
}

/* What was in flight when places were lent is not, once it has ended and they are taken back. */
UNLENT_TEST(test_lent_in_flight)
{
	post_verb(&x);
	lend();
	reflect(1);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_ptr_equal(oae_link_reclaim(&l), pair);
	clear();
	oae_link_confirm(&l, now, &a);
	assert_non_null(sent(OAE_COMMIT));
}

/* With a window of one places change nothing. */
NARROW_TEST(test_lent_narrow)
{
	post(&x, 1, 0);
	cancel(&x);
	post(&y, 1, 0);
	assert_int_equal(oae_link_lacks(&l), 0);
	lend();
	assert_int_equal(a.nsends, 0);
	assert_null(oae_link_reclaim(&l));
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &y);
}

/* What stepped aside for a half comes back after it. */
UNLENT_TEST(test_lent_aside)
{
	post(&x, 2, 0);
	refuse_number(1, OAE_R_BUSY);
	post_half(&y);
	assert_void(1);
	lend();
	assert_int_equal(a.nsends, 0);
	assert_null(oae_link_reclaim(&l));
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &y);
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.length += CUT));
	assert_true(ended(&y, OAE_COMMITTED));
	assert_ptr_equal(offered(3)->handle, &x);
	assert_int_equal(offered(3)->slices, 3);
	assert_null(oae_link_reclaim(&l));
	reflect(3);
	assert_true(ended(&x, OAE_COMMITTED));
	rcv(frame(OAE_DONE));
	assert_ptr_equal(oae_link_reclaim(&l), pair);
	post(&x, 1, 0);
	reflect(4);
	assert_true(ended(&x, OAE_COMMITTED));
}

/* As long as something stands aside the places are in use, even if no number is. */
TEST(test_reclaim_aside)
{
	open_unlent(state);
	lend();
	post(&x, 2, 0);
	refuse_number(1, OAE_R_BUSY);
	post_half(&y);
	port_down();
	assert_null(oae_link_reclaim(&l));
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_ptr_equal(oae_link_reclaim(&l), pair);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_ptr_equal(offered(1)->handle, &y);
}

/* An express that is wanted back. */
UNLENT_TEST(test_lent_recalled)
{
	unsigned int delivered;

	for (delivered = 0; delivered < 2; delivered++) {
		open_unlent(state);
		post(&x, 1, OAE_POST_EXPRESS);
		assert_int_equal(cancel(&x), -EINPROGRESS);
		assert_void(1);
		post(&y, 1, 0);
		lend();
		assert_int_equal(a.nsends, 0);
		assert_null(oae_link_reclaim(&l));
		if (delivered)
			rcv(BUT(answer_to(OAE_REFLECT, 1), f.kind = OAE_MESSAGE, f.rx++));
		else
			reflect(1);
		assert_true(ended(&x, delivered ? OAE_COMMITTED : OAE_REVERSED));
		assert_ptr_equal(offered(2)->handle, &y);
	}
}

/* What is held of the peer moves, too: nothing, and what was refused and not said. */
UNLENT_TEST(test_lent_held)
{
	take(1, OAE_MESSAGE);
	take(1, OAE_VOID);
	lend();
	take(1, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(a.nsends, 0);
	assert_null(oae_link_reclaim(&l));
	commit_to(1);
	assert_int_equal(oae_link_rx(&l), PEER_START + 1);
	assert_ptr_equal(oae_link_reclaim(&l), pair);

	open_unlent(state);
	rcv_settling(slice(0, 0));
	assert_int_equal(a.nsends, 0);
	lend();
	/* A late copy is not taken before the peer has heard. */
	take_slice(1, 0, 0);
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	take_slice(1, 1, OAE_F_LAST);
	assert_refused(1, OAE_R_BUSY);
	take_slice(1, 0, 0);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	take_slice(1, 1, OAE_F_LAST);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
}

/* Places are taken back, and lent anew, between nothing and what follows it. */
TEST(test_reclaimed)
{
	open_unlent(state);
	lend();
	post(&x, 1, 0);
	cancel(&x);
	reflect(1);
	assert_ptr_equal(oae_link_reclaim(&l), pair);
	post(&x, 1, 0);
	assert_int_equal(offered(2)->frame.kind, OAE_MESSAGE);
	lend();
	cancel(&x);
	assert_void(2);
	post(&y, 1, 0);
	assert_ptr_equal(offered(3)->handle, &y);
	reflect(3);
	reflect(2);
	assert_int_equal(oae_link_tx(&l), 3);
}

UNIT_MAIN("nothing in its place")
