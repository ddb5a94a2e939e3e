// SPDX-License-Identifier: GPL-2.0
/*
 * A half at one end, whose peer is played by hand (doc/protocol.md section 4.9):
 * what two honest ends never do as well. Both ends are in test_link_swap.c.
 */
#include "one_link.h"

static char h;		/* a handle more */

/* Its number was given: nothing is offered there, and committed. */
static void nothing_instead(void)
{
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	assert_null(sent(OAE_OFFER)->handle);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(noted(OAE_N_OLD_CONTENT) + noted(OAE_N_OLD_SEQ), 0);
}

static void waiting(char *handle)
{
	post_half(handle);
	refuse(OAE_R_NO_HALF);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	nothing_instead();
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

static void lend(char *handle)
{
	waiting(handle);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
}

/* There is room for a half and for something else, each on its own. */
LINK_TEST(test_room)
{
	struct oae_post p = {
		.handle = &y, .len = 1, .slice_max = 1, .nslices = 1,
		.kind = OAE_SWAP,
	};

	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
	post_half(&x);				/* offered */
	assert_true(oae_link_wants(&l) && !oae_link_wants_half(&l));
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -EAGAIN);
	assert_int_equal(a.nops + a.nsends, 0);
	post(&y, 1, 0);				/* waits */
	assert_false(oae_link_wants(&l) || oae_link_wants_half(&l));
	rcv(answer_kind(OAE_SWAP, 5));
	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
	rcv(answer(OAE_REFLECT));

	lend(&h);
	assert_false(oae_link_wants_half(&l));
	commit(0);
	assert_true(oae_link_wants_half(&l));
	close_link();
	assert_false(oae_link_wants(&l) || oae_link_wants_half(&l));
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -ESHUTDOWN);
}

/* As long as no memory is lent for a half there is room for none; all else goes on. */
LINK_TEST(test_unlent)
{
	struct oae_post p = {
		.handle = &y, .len = 1, .slice_max = 1, .nslices = 1,
		.kind = OAE_SWAP,
	};

	oae_link_lend_swaps(&l, NULL);
	assert_true(oae_link_wants(&l) && !oae_link_wants_half(&l));
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -EAGAIN);
	assert_int_equal(a.nops + a.nsends, 0);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	now -= 5000 * MS;			/* another clock */
	rcv(offer_kind(OAE_MESSAGE));
	assert_non_null(sent(OAE_REFLECT));
	computes(0, 8);
	rcv(BUT(offer_kind(OAE_VERB), f.seq++, f.tx++));
	assert_int_equal(nverbs, 1);
	assert_null(sent(OAE_REFLECT)->handle);

	/* Memory that was lent outlives the link. */
	oae_link_lend_swaps(&l, &lent_swaps);
	assert_true(oae_link_wants_half(&l));
	kill_link(OAE_E_SHUTDOWN);
	clear();
	oae_link_open(&l, now, &a);
	assert_true(oae_link_wants_half(&l));
}

/* Neither a half nor a verb is ever express. */
LINK_TEST(test_no_express)
{
	struct oae_post p = {
		.handle = &x, .len = 1, .slice_max = 1, .nslices = 1,
		.flags = OAE_POST_EXPRESS,
	};

	for (p.kind = OAE_SWAP; p.kind <= OAE_VERB; p.kind++) {
		clear();
		assert_int_equal(oae_link_post(&l, &p, now, &a), -EINVAL);
		assert_int_equal(a.nops + a.nsends, 0);
	}
	assert_true(oae_link_wants(&l) && oae_link_wants_half(&l));
}

/* What is said: the offer, and the half that answers one. */
LINK_TEST(test_what_is_said)
{
	const struct oae_send *s;

	post_half(&x);
	s = sent(OAE_OFFER);
	assert_int_equal(s->frame.kind, OAE_SWAP);
	assert_int_equal(s->frame.flags, 0);	/* LAST is for the caller */
	assert_int_equal(s->slices, 1);
	assert_ptr_equal(s->handle, &x);
	refuse(OAE_R_NO_HALF);
	assert_int_equal(noted(OAE_N_PARKED), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	nothing_instead();

	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(noted(OAE_N_LENT), 1);
	assert_int_equal(noted(OAE_N_HELD), 1);
	s = sent(OAE_REFLECT);
	assert_int_equal(s->frame.kind, OAE_SWAP);
	assert_int_equal(s->frame.length, OAE_REFLECT_LEN + CUT);
	assert_ptr_equal(s->handle, &x);

	commit(0);
	assert_ptr_equal(op(OAE_OP_TAKE)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_TAKE) < op(OAE_OP_COMPLETE));
	assert_int_equal(count_op(OAE_OP_DELIVER) + count_op(OAE_OP_DISCARD), 0);
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* By the REFLECT it is committed, and what came with it is its. */
LINK_TEST(test_result)
{
	post_half(&x);
	rcv(answer_kind(OAE_SWAP, 1));		/* of any length but none */
	assert_ptr_equal(op(OAE_OP_RESULT)->handle, &x);
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(op(OAE_OP_RESULT) < op(OAE_OP_COMPLETE));
	assert_non_null(sent(OAE_COMMIT));
	assert_int_equal(l.half.state, OAE_HALF_NONE);
}

/* A REFLECT of another kind is not of this offer. */
LINK_TEST(test_reflect_of_another_kind)
{
	static const struct {
		u8 kind;
		u16 more;
	} wrong[] = {
		{ OAE_MESSAGE, 0 }, { OAE_VERB, CUT }, { OAE_VOID, 0 },
	};
	unsigned int i;

	post_half(&x);
	for (i = 0; i < 3; i++) {
		rcv(answer_kind(wrong[i].kind, wrong[i].more));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		assert_int_equal(count_op(OAE_OP_COMPLETE) + a.nsends, 0);
	}
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
}

/* NO_HALF: what waits goes out under the next number, and the half later. */
LINK_TEST(test_no_half_lets_pass)
{
	post_half(&x);
	post(&y, 2, 0);
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_NO_HALF);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, l.tx + 1);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	nothing_instead();
	assert_int_equal(l.tx, 1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 2);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&y, OAE_COMMITTED));
}

/* The two streams take turns: none waits for more than one of the other. */
LINK_TEST(test_turns)
{
	static const u8 kinds[] = { OAE_MESSAGE, OAE_SWAP, OAE_MESSAGE, OAE_SWAP,
				    OAE_MESSAGE, OAE_SWAP };
	u8 kind = OAE_MESSAGE;
	unsigned int i;

	post(&x, 1, 0);
	for (i = 0; i < 6; i++) {
		assert_int_equal(kind, kinds[i]);
		/* Both wait, whichever is out. */
		if (oae_link_wants_half(&l))
			post_half(&h);
		if (oae_link_wants(&l))
			post(&y, 1, 0);
		rcv(kind ? answer_kind(kind, 8) : answer(OAE_REFLECT));
		assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
		assert_int_equal(a.nsends, 1);
		kind = sent(OAE_OFFER)->frame.kind;
	}
}

/* A half that is alone, or a message that is, does not wait for its turn. */
LINK_TEST(test_no_turns)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		post_half(&h);
		assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_SWAP);
		rcv(answer_kind(OAE_SWAP, 8));
	}
	for (i = 0; i < 3; i++) {
		post(&x, 1, 0);
		assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_MESSAGE);
		rcv(answer(OAE_REFLECT));
	}
}

/* The senior: by the addresses; by the incarnations if both ends take other paths. */
LINK_TEST(test_senior)
{
	unsigned int bits;
	int more;

	for (bits = 0; bits < 8; bits++) {
		for (more = -1; more <= 1; more++) {
			bool higher = bits & 1, by_inc = (bits & 6) == 6 && more;

			one_link(NULL);
			cfg.paths = bits & 2;
			new_link();
			oae_link_rank(&l, higher);
			clear();
			oae_link_open(&l, now, &a);
			rcv(BUT(frame(OAE_SYNC), f.src_ltag = 0x5000, f.tx = PEER_START,
				f.sync.inc = l.inc + more,
				f.sync.caps = bits & 4 ? OAE_CAPS_PATHS : 0));
			assert_int_equal(l.state, OAE_OPEN);
			assert_int_equal(l.senior, by_inc ? more < 0 : higher);
			oae_link_rank(&l, !higher);
			assert_int_equal(l.senior, by_inc ? more < 0 : !higher);
			/* They still do when this end takes no other paths any more. */
			cfg.paths = false;
			clear();
			oae_link_port_down(&l, now, &a);
			rcv(BUT(frame(OAE_SYNC), f.src_ltag = 0x5001, f.sync.inc = l.inc + more));
			assert_int_equal(l.state, OAE_OPEN);
			assert_int_equal(l.senior, by_inc ? more < 0 : !higher);
			/* With another incarnation of the peer that is over. */
			oae_link_port_down(&l, now, &a);
			rcv(BUT(frame(OAE_SYNC), f.src_ltag = 0x5002,
				f.sync.inc = l.inc + 9 * more + 9));
			assert_int_equal(l.senior, !higher);
		}
	}
}

/* An end that takes no paths any more was told that both had taken them. */
LINK_TEST(test_senior_told)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct oae_frame sync;

		one_link(NULL);
		new_link();
		oae_link_rank(&l, true);
		clear();
		oae_link_open(&l, now, &a);
		sync = BUT(frame(OAE_SYNC), f.src_ltag = 0x5000, f.tx = PEER_START,
			   f.sync.inc = l.inc + 9, f.sync.caps = OAE_CAPS_MET);
		/* Of this incarnation; of another one; and data have overtaken the SYNC_ACK. */
		if (i == 1)
			sync.sync.peer_inc = 77;
		if (i == 2)
			sync.dst_ltag = 0;
		rcv(sync);
		if (i == 2)
			rcv(BUT(frame(OAE_COMMIT), f.tx = PEER_START, f.seq = PEER_START));
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(l.senior, i == 1);
		/* It says so itself from now on, unless it begins anew. */
		port_down();
		assert_int_equal(!!(sent(OAE_SYNC)->frame.sync.caps & OAE_CAPS_MET), i != 1);
		renamed();
		assert_false(sent(OAE_SYNC)->frame.sync.caps & OAE_CAPS_MET);
		assert_false(l.heard.met);
	}
}

/* Crossing: the senior refuses, the junior gives way. */
LINK_TEST(test_rank)
{
	oae_link_rank(&l, true);
	post_half(&x);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	assert_int_equal(sent(OAE_REFUSE)->frame.kind, OAE_SWAP);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	assert_true(l.half.crossed);
	rcv(offer_kind(OAE_SWAP));		/* again: the same answer */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	refuse(OAE_R_NO_HALF);
	nothing_instead();
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_false(l.half.crossed);
	refuse(OAE_R_NO_HALF);		/* once only */
	nothing_instead();
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	/* It was refused for now: what is offered again is judged anew. */
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	commit(0);
	assert_true(ended(&x, OAE_COMMITTED));

	oae_link_rank(&l, false);
	post_half(&x);
	rcv(offer_kind(OAE_SWAP));
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	/* What answers the one that was withdrawn is old. */
	rcv(answer_kind(OAE_SWAP, 8));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	rcv(BUT(answer(OAE_REFUSE), f.kind = OAE_SWAP, f.reason = OAE_R_NO_HALF));
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(l.tx, 3);
	assert_null(sent(OAE_OFFER));
	commit(0);
	assert_true(ended(&x, OAE_COMMITTED));
}

/* What waits behind a half that gives way goes out: it is lent, not offered. */
LINK_TEST(test_way_given_lets_pass)
{
	post_half(&x);
	post(&y, 1, 0);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(a.nsends, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_SWAP);
	nothing_instead();
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
}

/* NO_HALF is no want of words: READY does not follow. */
LINK_TEST(test_no_ready)
{
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	words_free();
	assert_int_equal(a.nsends, 0);
}

/* A number has one kind: a slice of another is not of it. */
LINK_TEST(test_kinds_disagree)
{
	u8 kind;

	waiting(&x);
	rcv(slice(0, 0));
	assert_int_equal(l.hold.state, OAE_HOLD_PARTIAL);
	for (kind = OAE_SWAP; kind <= OAE_VERB; kind++) {
		rcv(offer_kind(kind));
		assert_int_equal(noted(OAE_N_BAD_SLICE), 1);
		assert_int_equal(a.nsends + nverbs, 0);
		assert_int_equal(l.half.state, OAE_HALF_WAITING);
	}
	rcv(slice(1, OAE_F_LAST));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	commit(0);
	/* Nor do slices of a message, of the run before, serve a half. */
	rcv(slice(0, 0));
	anew();
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(l.half.state, OAE_HALF_LENT);
}

/* A peer that has nothing of a half gets it once more. */
LINK_TEST(test_ack)
{
	post_half(&x);
	ack(0);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_SWAP);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	ack(1);					/* it has it, and will say more */
	assert_int_equal(a.nsends, 0);
}

/* Larger than what this end takes at all. */
LINK_TEST(test_max_len)
{
	struct oae_frame f = offer_kind(OAE_SWAP);

	waiting(&x);
	cfg.max_len = SLICE - 1;
	rcv(f);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	/* That is for good. */
	cfg.max_len = SLICE;
	rcv(f);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	rcv(offer_kind(OAE_VOID));
	commit(0);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
}

/* Refused for good, for whatever reason. */
LINK_TEST(test_refused)
{
	static const struct {
		u16 reason;
		int err;
	} refused[] = {
		{ OAE_R_TOO_BIG, EMSGSIZE }, { OAE_R_KIND, EOPNOTSUPP },
		{ OAE_R_NO_REGION, ENXIO }, { OAE_R_RANGE, ERANGE },
		{ OAE_R_ACCESS, EACCES }, { OAE_R_BAD_VERB, EBADMSG },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		post_half(&x);
		refuse(refused[i].reason);
		assert_reversed(&x, refused[i].err);
		assert_int_equal(noted(OAE_N_REJECTED), 1);
		assert_int_equal(l.half.state, OAE_HALF_NONE);
		nothing_instead();
	}
	/* BUSY and CONFLICT make no sense, and park it. */
	post_half(&x);
	refuse(OAE_R_BUSY);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	rcv(offer_kind(OAE_SWAP));		/* given way even so */
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	nothing_instead();
}

/* The keepalive interval, and not a moment sooner; not while frozen. */
LINK_TEST(test_again_at)
{
	u64 due = now + cfg.keepalive;

	waiting(&x);
	assert_true(l.timer.at <= due);
	fire_at(due - 1);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	assert_int_equal(l.timer.at, due);
	fire_at(due);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
	assert_int_equal(noted(OAE_N_REOFFERED), 1);
	refuse(OAE_R_NO_HALF);
	nothing_instead();
	due = now + cfg.keepalive;

	port_down();
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
	rcv(resolved());
	assert_null(sent(OAE_OFFER));
	fire_at(due);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
}

/* Another address: what is lent nobody can tell, what is offered is offered anew. */
LINK_TEST(test_renamed)
{
	lend(&x);
	renamed();
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, OAE_E_UNKNOWN);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	post_half(&x);
	renamed();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);

	open_link(NULL);
	waiting(&x);
	renamed();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

/* Counters that do not fit: what is in flight or lent ends UNKNOWN. */
LINK_TEST(test_broken)
{
	lend(&x);
	port_down();
	rcv(BUT(resolved(), f.tx += 2));
	assert_int_equal(noted(OAE_N_BROKEN), 1);
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	post_half(&x);
	port_down();
	rcv(BUT(resolved(), f.rx += 2));
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	open_link(NULL);
	waiting(&x);
	port_down();
	rcv(BUT(resolved(), f.rx += 2));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);
}

/* A half in each state, and the link is killed: why, and what is said. */
LINK_TEST(test_killed)
{
	lend(&x);
	post(&y, 1, 0);
	kill_link(OAE_E_CANCEL);
	assert_true(ended(&y, OAE_REVERSED));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_int_equal(noted(OAE_N_HELD_LOST), 1);
	assert_int_equal(noted(OAE_N_TAKEN_BACK), 0);
	assert_true(op(OAE_OP_DISCARD) < op(OAE_OP_GONE));
	assert_int_equal(l.half.state, OAE_HALF_NONE);

	/* The rank outlives the link. */
	oae_link_rank(&l, true);
	clear();
	oae_link_open(&l, now, &a);
	post_half(&x);
	assert_int_equal(l.half.state, OAE_HALF_POSTED);
	kill_link(OAE_E_CANCEL);
	assert_true(ended(&x, OAE_REVERSED));
	assert_true(l.senior);
}

/* What is parked lets a half pass, and is offered again when that is through. */
LINK_TEST(test_aside)
{
	u64 due = now + cfg.keepalive;

	post(&x, 3, 0);
	refuse(OAE_R_BUSY);
	post(&y, 1, 0);
	post_half(&h);
	assert_true(l.naside);
	assert_false(oae_link_wants(&l));
	nothing_instead();
	assert_int_equal(l.tx, 1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	rcv(answer_kind(OAE_SWAP, 8));
	assert_true(ended(&h, OAE_COMMITTED));
	/* Without RESUME: under this number the peer has nothing of it. */
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 3);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	refuse(OAE_R_BUSY);
	assert_int_equal(l.offer.state, OAE_OFFER_PARKED);
	rcv(frame(OAE_READY));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);

	/* READY comes while the half is out, which the peer has none for. */
	refuse(OAE_R_CONFLICT);
	post_half(&h);
	nothing_instead();
	rcv(frame(OAE_READY));
	assert_null(sent(OAE_OFFER));
	refuse(OAE_R_NO_HALF);
	nothing_instead();
	assert_ptr_equal(sent(OAE_OFFER)->handle, &y);
	assert_int_equal(l.half.state, OAE_HALF_WAITING);

	/* And after the keepalive interval in any case. */
	refuse(OAE_R_BUSY);
	due = now + cfg.keepalive;
	fire_at(due);
	assert_non_null(sent(OAE_OFFER));
}

/* x is parked and steps aside for h. */
static void step_aside(void)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	post_half(&h);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
}

/* It can be reversed all the while, for whatever reason. */
LINK_TEST(test_aside_reversed)
{
	step_aside();
	assert_int_equal(cancel(&x), 0);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(a.nsends, 0);
	rcv(answer(OAE_REFLECT));
	rcv(answer_kind(OAE_SWAP, 8));
	assert_int_equal(l.offer.state, OAE_OFFER_NONE);

	step_aside();
	rcv(answer(OAE_REFLECT));
	close_link();
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);

	open_link(NULL);
	step_aside();
	rcv(peer_closes(0, false));
	assert_reversed(&x, OAE_E_PEER_CLOSED);

	open_link(NULL);
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	post(&y, 1, 0);
	post_half(&h);
	kill_link(OAE_E_CANCEL);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);

	open_link(NULL);
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	post(&y, 1, 0);
	post_half(&h);
	port_down();
	fire_at(now + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);
}

/* A parked express may have been delivered: it steps aside once it is known that it was not. */
LINK_TEST(test_aside_express)
{
	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY);
	post_half(&h);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	nothing_instead();
	assert_ptr_equal(op(OAE_OP_BACK)->handle, &x);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);

	/* Its user wants it back meanwhile. */
	open_link(NULL);
	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY);
	post_half(&h);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	rcv(answer(OAE_REFLECT));
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);

	/* It was delivered. */
	open_link(NULL);
	post(&x, 1, OAE_POST_EXPRESS);
	refuse(OAE_R_BUSY);
	post_half(&h);
	rcv(BUT(answer_kind(OAE_MESSAGE, 0), f.rx++, f.length = 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(count_op(OAE_OP_BACK), 0);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 2);
}

/* An express that is too long for a while was not offered yet: it comes back as it was. */
LINK_TEST(test_aside_not_offered)
{
	struct oae_post p = {
		.handle = &x, .len = 40000, .slice_max = 1000, .nslices = 40,
		.flags = OAE_POST_EXPRESS,
	};

	port_down();
	rcv(BUT(resolved(), f.sync.max_len = p.len, f.sync.mtu = 576));
	post_it(&p);
	assert_null(sent(OAE_OFFER));
	port_down();
	rcv(BUT(resolved(), f.sync.max_len = p.len, f.sync.mtu = 576, f.grant = 0));
	grant = 0;
	post_half(&h);
	assert_int_equal(l.naside, 1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	refuse(OAE_R_NO_HALF);
	nothing_instead();
	assert_int_equal(l.naside, 0);
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);
}

/* Frozen beside it: offered again after the half, in any case. */
LINK_TEST(test_aside_frozen)
{
	post(&x, 2, 0);
	refuse(OAE_R_BUSY);
	post_half(&h);
	anew();
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 1);
	refuse(OAE_R_NO_HALF);
	nothing_instead();
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_int_equal(sent(OAE_OFFER)->slices, 3);
}

/* A half that is too long to pass: what stood aside for it is offered again. */
LINK_TEST(test_aside_for_nothing)
{
	post(&x, 1, 0);
	refuse(OAE_R_BUSY);
	post_kind(&h, OAE_SWAP, oae_link_slice_max(&l), 0);
	nothing_instead();
	assert_true(ended(&h, OAE_REVERSED));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	assert_false(l.naside);
}

/* A lent half that its user wanted back: reversed when it comes back. */
LINK_TEST(test_asked_back)
{
	lend(&x);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	rcv(offer_kind(OAE_VOID));
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_int_equal(l.half.state, OAE_HALF_NONE);
	assert_null(sent(OAE_OFFER));
	commit(0);

	/* Or committed, if it is; the next one is not asked back. */
	lend(&x);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	commit(0);
	assert_true(ended(&x, OAE_COMMITTED));
	lend(&x);
	anew();
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_int_equal(l.half.state, OAE_HALF_OFFERED);
}

/* oae_link_confirm(): asked once, when there is something to ask. */
LINK_TEST(test_confirm)
{
	confirm();				/* nothing committed */
	assert_int_equal(a.nops + a.nsends, 0);
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, 0);
	confirm();
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	assert_true(l.timer.at <= now + oae_link_pto(&l));
	confirm();				/* asked already */
	assert_int_equal(a.nops + a.nsends, 0);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
	assert_true(oae_link_all_confirmed(&l));

	/* With something in flight its answer says it. */
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	post(&y, 2, 0);
	confirm();
	assert_int_equal(a.nsends, 0);
	ack(2);
	assert_int_equal(a.nsends, 1);
	peer_lag = 0;
	refuse(OAE_R_BUSY);
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);

	/* Parked it is asked for. */
	open_link(NULL);
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	post(&y, 1, 0);
	refuse(OAE_R_BUSY);
	confirm();
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);

	/* And frozen, resolving says it. */
	port_down();
	peer_lag = 0;
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
}

/* A half that says as much is withdrawn: nothing, in its place, says it. */
LINK_TEST(test_confirm_crossed)
{
	oae_link_rank(&l, false);
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	post_half(&y);
	confirm();
	assert_int_equal(a.nsends, 0);
	rcv(offer_kind(OAE_SWAP));
	assert_non_null(sent(OAE_REFLECT));
	assert_null(sent(OAE_COMMIT));
	peer_lag = 0;
	nothing_instead();
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
}

LINK_TEST(test_confirm_frozen)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	port_down();
	confirm();
	assert_int_equal(a.nsends, 0);
	assert_true(l.await_done);
	rcv(resolved());			/* about to deliver */
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 0);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);

	kill_link(OAE_E_CANCEL);
	confirm();
	assert_int_equal(a.nops + a.nsends, 0);
}

UNIT_MAIN("a half at one end")
