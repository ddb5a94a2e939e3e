// SPDX-License-Identifier: GPL-2.0
/*
 * An express that was offered is recalled: nothing is offered in its place, and what
 * the peer says of its number tells whether it was delivered (doc/protocol.md 4.3).
 */
#include "one_window.h"

#define X	OAE_POST_EXPRESS

/* Nothing was told to the writer yet, and nothing but this goes out. */
static void assert_recalled(void)
{
	const struct oae_send *s = sent(OAE_OFFER);

	assert_int_equal(count_op(OAE_OP_COMPLETE) + count_op(OAE_OP_BACK), 0);
	assert_non_null(s);
	assert_null(s->handle);
	assert_int_equal(s->frame.kind, OAE_VOID);
	assert_int_equal(s->frame.seq, l.tx + 1);
	assert_int_equal(s->frame.flags, OAE_F_LAST);
	assert_int_equal(s->frame.marks, OAE_M_ANSWER);
	assert_true(oae_link_undecided(&l));
}

static void post_express(void)
{
	post(&x, 2, X);
	assert_true(sent(OAE_OFFER)->handle == &x);
}

static void recall(void)
{
	assert_int_equal(cancel(&x), -EINPROGRESS);
}

static void recalled(void)
{
	post_express();
	recall();
	assert_recalled();
}

/* The peer holds nothing in place of the express. */
static void reflect_nothing(void)
{
	rcv(answer(OAE_REFLECT));
}

/* The peer says that it has delivered the express, once more. */
static struct oae_frame delivered(void)
{
	struct oae_frame f = answer(OAE_REFLECT);

	f.kind = OAE_MESSAGE;
	f.reflect.digest = DIGEST;
	f.reflect.first = 1;
	f.rx = f.seq;
	return f;
}

/* The peer froze as well, and still is: it may open into another run yet. */
static struct oae_frame asked_by_sync(void)
{
	struct oae_frame f = frame(OAE_SYNC);

	f.src_ltag = l.peer.ltag + 0x100;
	return f;
}

/* All is over, and as before: what is posted goes out, a verb, too. */
static void assert_goes_on(void)
{
	rcv(frame(OAE_DONE));
	assert_false(oae_link_in_doubt(&l));
	post_kind(&y, OAE_VERB, CUT, REPLY);
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &y);
	rcv(answer_kind(OAE_VERB, REPLY));
	assert_true(ended(&y, OAE_COMMITTED));
}

static void assert_told_reversed(void)
{
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	assert_goes_on();
}

static void assert_told_committed(void)
{
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	assert_int_equal(l.tx, 1);
	assert_goes_on();
}

/* --- in flight --- */

LINK_TEST(test_reversed)
{
	recalled();
	reflect_nothing();
	assert_int_equal(sent(OAE_COMMIT)->frame.tx, 1);
	assert_told_reversed();
}

/* The answer to the express itself, or to what came too late in its place. */
LINK_TEST(test_committed)
{
	recalled();
	rcv(delivered());
	assert_null(sent(OAE_COMMIT));
	assert_told_committed();
}

/* Whatever else is said of the express is late, or says nothing. */
LINK_TEST(test_late_answers)
{
	recalled();
	/* It was held, and a REFLECT of an express that is not delivered is none. */
	rcv(BUT(delivered(), f.rx--));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	rcv(BUT(delivered(), f.seq++, f.rx = l.tx));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	rcv(BUT(answer(OAE_REFUSE), f.kind = OAE_MESSAGE, f.reason = OAE_R_BUSY));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	rcv(BUT(answer(OAE_REFUSE), f.kind = OAE_MESSAGE, f.reason = OAE_R_TOO_BIG));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	rcv(BUT(answer(OAE_ACK), f.kind = OAE_MESSAGE, f.have = 1));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
	reflect_nothing();
	assert_told_reversed();
}

/* Nothing is asked for as all else is, and not as an express. */
LINK_TEST(test_asked_for)
{
	recalled();
	fire_at(now + 10 * MS);
	assert_int_equal(sent(OAE_ASK)->frame.kind, OAE_VOID);
	assert_int_equal(sent(OAE_ASK)->frame.flags, 0);
	ack(0);
	assert_recalled();
	reflect_nothing();
	assert_told_reversed();
}

/* What is behind it waits: an express is alone, and so is what takes its place. */
WINDOW_TEST(test_alone)
{
	u32 tx;

	tx = l.tx;
	post(&x, 2, X);
	post_some(1, 1);
	recall();
	assert_recalled();
	assert_int_equal(a.nsends, 1);
	reflect(tx + 1);
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_true(offered(tx + 2)->handle == &h[1]);
	post_some(2, 3);
	assert_true(sent(OAE_OFFER)->handle == &h[3]);
}

/* Once more, for another reason: the writer is told the first one. */
LINK_TEST(test_twice)
{
	recalled();
	clear();
	assert_int_equal(oae_link_cancel(&l, &x, OAE_E_DEADLINE, now, &a), -EINPROGRESS);
	assert_int_equal(a.nsends, 0);
	reflect_nothing();
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_int_equal(cancel(&x), -ENOENT);
	assert_goes_on();
}

/* What the peer has never been offered is reversed at once. */
LINK_TEST(test_never_offered)
{
	post(&y, 1, 0);
	post(&x, 1, X);
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);

	open_link(state);
	port_down();
	post(&x, 1, X);
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);
	rcv(resolved());
	assert_null(sent(OAE_OFFER));
}

/* With it all before it is delivered: whoever has asked for that is told. */
LINK_TEST(test_confirms)
{
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_false(oae_link_all_confirmed(&l));
	post_express();
	clear();
	oae_link_confirm(&l, now, &a);
	assert_null(op(OAE_OP_CONFIRMED));
	rcv(delivered());
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(op(OAE_OP_CONFIRMED)->seq, l.tx);
	assert_true(oae_link_all_confirmed(&l));
}

/* Refused for good it was never delivered: its writer is told at once. */
LINK_TEST(test_refused_for_good)
{
	post_express();
	refuse(OAE_R_TOO_BIG);
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	reflect_nothing();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_goes_on();
}

/* It was delivered, as rx says, but with other contents than were offered. */
LINK_TEST(test_delivered_other)
{
	post_express();
	rcv(BUT(delivered(), f.reflect.digest++));
	assert_int_equal(noted(OAE_N_MISMATCH), 1);
	assert_int_equal(noted(OAE_N_BROKEN), 1);
	assert_true(ended(&x, OAE_UNKNOWN));
}

/* No honest peer refuses nothing. Even so, nothing is left of that once the express has ended. */
LINK_TEST(test_refused_delivered)
{
	recalled();
	refuse(OAE_R_BUSY);
	rcv(delivered());
	assert_told_committed();
}

/* Who has asked for the delivery hears of it, as with any express. */
LINK_TEST(test_confirmed)
{
	post(&x, 1, X | OAE_POST_CONFIRM);
	recall();
	rcv(delivered());
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
	assert_told_committed();

	/* Of nothing there is no delivery to hear of. */
	open_link(state);
	post(&x, 1, X | OAE_POST_CONFIRM);
	recall();
	reflect_nothing();
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 0);
	assert_goes_on();
}

/* --- parked --- */

/* A late copy may find room: so what is parked is recalled as well. */
LINK_TEST(test_parked)
{
	unsigned int found;

	for (found = 0; found < 2; found++) {
		open_link(state);
		post_express();
		refuse(OAE_R_BUSY);
		recall();
		assert_recalled();
		if (found)
			rcv(delivered());
		else
			reflect_nothing();
		if (found)
			assert_told_committed();
		else
			assert_told_reversed();
	}
}

/* In the next run a parked one is offered first, and is in doubt as one in flight. */
LINK_TEST(test_parked_and_frozen)
{
	post_express();
	refuse(OAE_R_BUSY);
	port_down();
	assert_true(oae_link_undecided(&l));
	post(&y, 1, 0);
	rcv(resolved());
	assert_true(sent(OAE_OFFER)->handle == &x);
	refuse(OAE_R_BUSY);
	port_down();
	rcv(BUT(resolved(), f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* --- over a freeze --- */

/* Recalled before a freeze, 1 or 2: while frozen; 2: parked before. */
static void recalled_over_freeze(void **state, unsigned int when)
{
	open_link(state);
	post_express();
	if (when == 2)
		refuse(OAE_R_BUSY);
	if (when)
		port_down();
	recall();
	if (!when)
		port_down();
}

/* Nothing is offered in the next run. */
TEST(test_resolved_undelivered)
{
	unsigned int when;

	for (when = 0; when < 3; when++) {
		recalled_over_freeze(state, when);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		assert_null(sent(OAE_OFFER));
		rcv(resolved());
		assert_recalled();
		reflect_nothing();
		assert_told_reversed();
	}
}

TEST(test_resolved_delivered)
{
	unsigned int when;

	for (when = 0; when < 3; when++) {
		recalled_over_freeze(state, when);
		rcv(BUT(resolved(), f.rx++));
		assert_int_equal(l.state, OAE_OPEN);
		assert_null(sent(OAE_OFFER));
		assert_told_committed();
	}
}

/* Run after run: it is offered as nothing in each, and does not come back. */
LINK_TEST(test_many_runs)
{
	unsigned int i;

	recalled();
	for (i = 0; i < 3; i++) {
		anew();
		assert_recalled();
	}
	/* Late, of a run before: it says nothing. */
	rcv(BUT(delivered(), f.dst_ltag--));
	assert_int_equal(noted(OAE_N_OLD_RUN), 1);
	reflect_nothing();
	assert_told_reversed();
}

/* The peer may still deliver the express in the run before: it will say so. */
TEST(test_in_doubt)
{
	unsigned int what;

	for (what = 0; what < 4; what++) {
		open_link(state);
		post_express();
		port_down();
		if (what & 1) {
			recall();
			rcv(asked_by_sync());
		} else {
			rcv(asked_by_sync());
			assert_true(sent(OAE_OFFER)->handle == &x);
			recall();
		}
		assert_recalled();
		if (what & 2) {
			rcv(frame(OAE_SYNC_ACK));	/* it has not, and will not */
			assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
			reflect_nothing();
			assert_told_reversed();
		} else {
			rcv(BUT(frame(OAE_SYNC_ACK), f.rx++));
			assert_int_equal(l.state, OAE_OPEN);
			assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
			rcv(delivered());
			assert_told_committed();
		}
	}
}

/* One that does not fit 64 short frames. */
static void post_long_express(void)
{
	rcv(BUT(asked_by_sync(), f.sync.max_len = 10000));
	rcv(BUT(frame(OAE_SYNC_ACK), f.sync.max_len = 10000));
	post_it(&(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = 6000, .slice_max = 1000,
		.nslices = 6, .flags = X,
	});
	assert_non_null(sent(OAE_OFFER));
}

/* Too long for this run it waited for a proof: nothing in its place is not too long. */
LINK_TEST(test_in_doubt_too_long)
{
	post_long_express();
	set_mtu(128);
	rcv(BUT(asked_by_sync(), f.sync.max_len = 10000));
	assert_int_equal(l.state, OAE_OPEN);
	assert_null(sent(OAE_OFFER));
	recall();
	assert_recalled();
	rcv(frame(OAE_SYNC_ACK));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	reflect_nothing();
	assert_told_reversed();
}

/* A link that is down reverses what it can: not this. */
LINK_TEST(test_down)
{
	recalled();
	post(&y, 1, 0);
	while (!l.down)
		fire_at(l.timer.at);
	assert_true(ended(&y, OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	rcv(resolved());
	assert_recalled();
	reflect_nothing();
	assert_told_reversed();
}

/* --- an end dies --- */

/* Another incarnation of the peer: nobody knows what the one before has delivered. */
TEST(test_new_peer)
{
	unsigned int parked;

	for (parked = 0; parked < 2; parked++) {
		open_link(state);
		post_express();
		if (parked)
			refuse(OAE_R_BUSY);
		recall();
		port_down();
		rcv(BUT(resolved(), f.sync.inc++, f.sync.start = 500, f.tx = 500));
		assert_int_equal(noted(OAE_N_PEER_NEW), 1);
		assert_true(ended(&x, OAE_UNKNOWN));
		assert_null(sent(OAE_OFFER));
		assert_goes_on();
	}
}

/* Nor does who gives this end up. */
TEST(test_end_dies)
{
	unsigned int how;

	for (how = 0; how < 4; how++) {
		open_link(state);
		recalled();
		switch (how) {
		case 0:
			kill_link(OAE_E_CANCEL);
			break;
		case 1:
			renamed();
			break;
		case 2:
			port_down();
			rcv(BUT(resolved(), f.tx += 1000));
			assert_int_equal(noted(OAE_N_BROKEN), 1);
			break;
		case 3:
			/* It is only nothing that the peer has not heard right. */
			rcv(BUT(answer(OAE_REFLECT), f.reflect.digest++));
			assert_int_equal(noted(OAE_N_MISMATCH), 1);
			assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
			rcv(resolved());
			assert_recalled();
			reflect_nothing();
			assert_told_reversed();
			continue;
		}
		assert_true(ended(&x, OAE_UNKNOWN));
		assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_UNKNOWN);
	}
}

/* --- closing, leaving, settling --- */

/* An end that closes waits for the answer. A parked express it recalls itself. */
TEST(test_closing)
{
	unsigned int parked, found;

	for (parked = 0; parked < 2; parked++)
		for (found = 0; found < 2; found++) {
			open_link(state);
			post_express();
			if (parked)
				refuse(OAE_R_BUSY);
			else
				recall();
			close_link();
			if (parked)
				assert_recalled();
			assert_int_equal(sent(OAE_CLOSE)->frame.flags, 0);
			if (found)
				rcv(delivered());
			else
				reflect_nothing();
			if (found)
				assert_true(ended(&x, OAE_COMMITTED));
			else
				assert_reversed(&x, parked ? OAE_E_SHUTDOWN : OAE_E_SIGNAL);
			if (!found)
				rcv(frame(OAE_DONE));
			assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
		}
}

/* CLOSE says that the peer has not delivered it, and will not: that is told at once. */
TEST(test_peer_closing)
{
	static const int told[] = { OAE_E_PEER_CLOSED, OAE_E_PEER_CLOSED, OAE_E_SIGNAL };
	unsigned int how;

	for (how = 0; how < ARRAY_SIZE(told); how++) {
		open_link(state);
		post_express();
		if (how == 1)
			refuse(OAE_R_BUSY);
		if (how == 2)
			recall();
		rcv(peer_closes(0, true));
		assert_reversed(&x, told[how]);
		assert_null(sent(OAE_OFFER));
		assert_non_null(sent(OAE_CLOSE_ACK));
	}
}

/* Or that it has: only the answer, which may be lost, tells of what. */
TEST(test_peer_closing_delivered)
{
	struct oae_frame f;

	open_link(state);
	post_express();
	recall();
	f = peer_closes(1, true);
	f.rx++;
	rcv(f);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_null(sent(OAE_CLOSE_ACK));
	rcv(delivered());
	assert_true(ended(&x, OAE_COMMITTED));
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* An express that stepped aside for a half is posted again, unless the peer closes meanwhile. */
TEST(test_peer_closing_aside)
{
	open_link(state);
	post_express();
	refuse(OAE_R_BUSY);
	post_half(&y);
	assert_recalled();
	rcv(peer_closes(0, false));
	assert_reversed(&y, OAE_E_PEER_CLOSED);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
}

/* It was recalled over a freeze: the next run's CLOSE tells as well. */
TEST(test_peer_closing_next_run)
{
	open_link(state);
	post_express();
	recall();
	rcv(peer_closes(1, false));
	anew();
	assert_recalled();
	rcv(peer_closes(0, true));
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* As the port goes down nothing is committed of which the peer would have to hear. */
LINK_TEST(test_leaving)
{
	unsigned int found;

	for (found = 0; found < 2; found++) {
		open_link(state);
		recalled();
		clear();
		oae_link_leave(&l, now + 1000 * MS, now, &a);
		if (found) {
			rcv(delivered());
			assert_true(ended(&x, OAE_COMMITTED));
			continue;
		}
		reflect_nothing();
		assert_int_equal(noted(OAE_N_FROZEN), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
		anew();
		assert_recalled();
		reflect_nothing();
		assert_told_reversed();
	}
}

/* It is in doubt until it is told, so an end that settles goes on with it. */
LINK_TEST(test_settling)
{
	post_express();
	clear();
	oae_link_settle(&l, now + 1000 * MS, now, &a);
	recall();
	assert_recalled();
	assert_true(oae_link_settling(&l));
	anew();
	assert_recalled();
	reflect_nothing();
	assert_reversed(&x, OAE_E_SIGNAL);
	rcv(frame(OAE_DONE));
	assert_false(oae_link_settling(&l));
}

/* So it does if the express is parked: a new run hears of it first. */
LINK_TEST(test_settling_parked)
{
	post_express();
	refuse(OAE_R_BUSY);
	clear();
	oae_link_settle(&l, now + 1000 * MS, now, &a);
	anew();
	assert_true(sent(OAE_OFFER) && sent(OAE_OFFER)->handle == &x);
}

/*
 * READY comes while this end settles: what was parked may have been delivered, by a late copy.
 * It is in doubt as before, and offered again at once.
 */
LINK_TEST(test_settling_ready)
{
	unsigned int found;

	for (found = 0; found < 2; found++) {
		open_link(state);
		post_express();
		refuse(OAE_R_BUSY);
		clear();
		oae_link_settle(&l, now + 1000 * MS, now, &a);
		rcv(frame(OAE_READY));
		assert_true(sent(OAE_OFFER)->handle == &x);
		if (found) {
			rcv(delivered());
			assert_true(ended(&x, OAE_COMMITTED));
			continue;
		}
		recall();
		assert_recalled();
		anew();
		assert_recalled();
	}
}

/*
 * This run cannot carry the express. The proof that the peer has not delivered it ends it: the
 * end that settles asks for that, and is told by whoever has resolved already.
 */
LINK_TEST(test_settling_too_long)
{
	unsigned int frozen;

	for (frozen = 0; frozen < 2; frozen++) {
		open_link(state);
		post_long_express();
		clear();
		oae_link_settle(&l, now + 1000 * MS, now, &a);
		set_mtu(128);
		rcv(BUT(asked_by_sync(), f.opcode = frozen ? OAE_SYNC : OAE_SYNC_ACK));
		assert_int_equal(l.state, OAE_OPEN);
		if (frozen) {
			assert_true(oae_link_settling(&l));
			fire_at(l.timer.at);
			assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
			rcv(frame(OAE_DONE));
		}
		assert_reversed(&x, OAE_E_TOO_BIG);
	}
}

/* --- for a half --- */

/* An express is parked, a post waits behind it, and a half is to go before both. */
static void half_before(void)
{
	post_express();
	refuse(OAE_R_BUSY);
	post(&h[1], 1, 0);
	post_half(&y);
	assert_recalled();
}

/* It was not delivered: it is posted again, before what was behind it. */
LINK_TEST(test_back)
{
	const struct oae_op *back;
	unsigned int i, n = 0;

	half_before();
	reflect_nothing();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(count_op(OAE_OP_BACK), 2);
	for (i = 0; i < a.nops; i++) {
		back = &a.op[i];
		if (back->type != OAE_OP_BACK)
			continue;
		/* The last one first: each goes before those that went back already. */
		assert_true(back->handle == (n++ ? &x : &h[1]));
		assert_false(back->refused);
	}
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_SWAP);
	/* And behind the half it goes out as what it was. */
	post(&x, 2, X);
	rcv(answer_kind(OAE_SWAP, CUT));
	assert_true(ended(&y, OAE_COMMITTED));
	assert_true(sent(OAE_OFFER)->handle == &x);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_EXPRESS);
	rcv(BUT(answer(OAE_REFLECT), f.rx = f.seq));
	assert_true(ended(&x, OAE_COMMITTED));
}

/* It was delivered: nothing comes back. */
LINK_TEST(test_back_delivered)
{
	half_before();
	rcv(delivered());
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_true(sent(OAE_OFFER)->handle == &y);
	rcv(answer_kind(OAE_SWAP, CUT));
	assert_true(sent(OAE_OFFER)->handle == &h[1]);
}

/* Cancelled meanwhile: its writer is told, and it does not come back. */
LINK_TEST(test_back_cancelled)
{
	half_before();
	recall();
	assert_int_equal(a.nsends, 0);
	reflect_nothing();
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* Over a freeze; or the peer dies, and then it is UNKNOWN. */
LINK_TEST(test_back_frozen)
{
	half_before();
	anew();
	assert_recalled();
	reflect_nothing();
	assert_int_equal(count_op(OAE_OP_BACK), 2);
	assert_true(sent(OAE_OFFER)->handle == &y);

	open_link(state);
	half_before();
	port_down();
	rcv(BUT(resolved(), f.sync.inc++, f.sync.start = 500, f.tx = 500));
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_true(sent(OAE_OFFER)->handle == &y);
}

/* --- the responder --- */

/* Delivered: whoever offers nothing instead, or asks for that, is told of the express. */
LINK_TEST(test_responder)
{
	struct oae_frame express = slice(0, OAE_F_LAST | OAE_F_EXPRESS);
	struct oae_frame nothing = offer_kind(OAE_VOID), told;

	rcv(express);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	told = sent(OAE_REFLECT)->frame;
	rcv(nothing);
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	assert_int_equal(sent(OAE_REFLECT)->frame.seq, express.seq);
	assert_int_equal(sent(OAE_REFLECT)->frame.rx, express.seq);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == told.reflect.digest);
	assert_true(sent(OAE_REFLECT)->frame.reflect.first == told.reflect.first);
	rcv(BUT(frame(OAE_ASK), f.seq = express.seq, f.kind = OAE_VOID));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	rcv(BUT(nothing, f.marks = 0));
	assert_int_equal(a.nsends, 0);
	/* In the next run, too. */
	port_down();
	rcv(BUT(resolved(), f.tx--));
	assert_int_equal(l.state, OAE_OPEN);
	rcv(BUT(offer_kind(OAE_VOID), f.seq--, f.tx--));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	assert_int_equal(sent(OAE_REFLECT)->frame.rx, express.seq);
	/* The initiator has heard of it, and goes on: what was said is over. */
	rcv(slice(0, 0));
	rcv(BUT(offer_kind(OAE_VOID), f.seq--));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_int_equal(a.nsends, 0);
}

/* Not delivered yet: nothing takes its place, and a late copy finds that. */
LINK_TEST(test_responder_in_time)
{
	rcv(slice(0, OAE_F_EXPRESS));
	rcv(offer_kind(OAE_VOID));
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
	rcv(slice(0, OAE_F_EXPRESS));
	rcv(slice(1, OAE_F_EXPRESS | OAE_F_LAST));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(count_op(OAE_OP_DELIVER) + a.nsends, 0);
	commit(0);
	rcv(BUT(slice(0, OAE_F_EXPRESS | OAE_F_LAST), f.seq--));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
}

UNIT_MAIN("an express is recalled")
