// SPDX-License-Identifier: GPL-2.0
/*
 * Frames out of place: late, doubled, of another content than what is here, or
 * of a peer that does not count as it should. And what the frames of this end
 * say, to the last field (doc/protocol.md 4.1 to 4.3).
 */
#include "one_window.h"

#define X	OAE_F_EXPRESS
#define END	OAE_F_LAST

static void assert_nothing_but_sync(u8 note)
{
	assert_int_equal(noted(note), 1);
	assert_int_equal(count_op(OAE_OP_NOTE), 1);
	assert_int_equal(count_op(OAE_OP_COMPLETE) + count_op(OAE_OP_FLUSH), 0);
	assert_true(sent(OAE_SYNC) && a.nsends == 1);
}

static u64 digest_of(unsigned int nslices)
{
	u64 hash[OAE_MAX_SLICES];
	unsigned int i;

	for (i = 0; i < nslices; i++)
		hash[i] = 1000 + i;
	return oae_whole_digest(hash, nslices);
}

/* A copy of a slice that is here is dropped, whatever it says: so its hash is, too. */
LINK_TEST(test_copy_of_slice)
{
	unsigned int i, n;

	for (n = 1; n <= 2; n++) {
		for (i = 0; i < n; i++)
			rcv(slice(i, 0));
		rcv(BUT(slice(n - 1, END), f.payload_hash++));
		assert_int_equal(count_op(OAE_OP_KEEP), 0);
		assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(n));
		commit(0);
	}
}

/* The hash of what has just come is not with the caller yet, who may keep it no more. */
LINK_TEST(test_hash_of_last)
{
	rcv(slice(1, END));
	rcv(BUT(slice(0, 0), f.payload_hash = 7));
	assert_int_equal(op(OAE_OP_KEEP)->hash, 7);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest ==
		    oae_whole_digest((const u64[]){ 7, 1001 }, 2));
}

/* An express that was delivered is reflected again, and says the same. */
LINK_TEST(test_express_again)
{
	struct oae_frame f[2] = { slice(0, X), slice(1, X | END) };
	struct oae_frame again;

	rcv(f[0]);
	rcv(f[1]);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 2);
	rcv(f[0]);				/* which does not ask for an answer */
	assert_nothing_but(OAE_N_REFLECTED_AGAIN);
	rcv(f[1]);
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	again = sent(OAE_REFLECT)->frame;
	assert_int_equal(again.seq, f[1].seq);
	assert_int_equal(again.kind, OAE_MESSAGE);
	assert_true(again.reflect.digest == digest_of(2));
	assert_true(again.reflect.first == 77);

	/* With the next one gathered here, what was heard of it is not said. */
	rcv(slice(0, 0));
	rcv(f[1]);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

LINK_TEST(test_atomic_not_again)
{
	struct oae_frame f = slice(0, END);

	rcv(f);
	commit(0);
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);
	f.flags |= X;
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);

	f = slice(0, X | END);
	rcv(f);
	f.flags &= ~X;
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* What may be here of a number when nothing takes its place. */
enum {
	EMPTY, GATHERED, OF_BEFORE, HELD, HELD_MANY, VERB_COMPUTED, HALF_LENT,
	FOR_NOW, FOR_NOW_UNSAID, FOR_GOOD, HERE_END
};

static void get_here(unsigned int what)
{
	open_link(NULL);
	switch (what) {
	case GATHERED:
	case OF_BEFORE:
		rcv(slice(1, 0));
		if (what == OF_BEFORE)
			anew();
		break;
	case HELD_MANY:
		rcv(slice(1, 0));
		rcv(slice(2, 0));
		rcv(slice(0, 0));
		rcv(slice(3, END));
		break;
	case HELD:
		rcv(slice(0, END));
		break;
	case VERB_COMPUTED:
		computes(0, REPLY);
		rcv(offer_kind(OAE_VERB));
		break;
	case HALF_LENT:
		post_half(&x);
		rcv(offer_kind(OAE_SWAP));
		assert_int_equal(noted(OAE_N_LENT), 1);
		break;
	case FOR_NOW:
	case FOR_NOW_UNSAID:
		rcv_settling(slice(0, what == FOR_NOW ? END : 0));
		break;
	case FOR_GOOD:
		computes(OAE_R_ACCESS, 0);
		rcv(offer_kind(OAE_VERB));
		break;
	}
}

static void assert_reflects_nothing(void)
{
	const struct oae_send *s = sent(OAE_REFLECT);

	assert_non_null(s);
	assert_int_equal(s->frame.seq, l.rx + 1);
	assert_int_equal(s->frame.kind, OAE_VOID);
	assert_int_equal(s->frame.length, 0);
	assert_true(s->frame.reflect.digest == nothing_digest());
}

/* Nothing takes the place of whatever is here, and what comes of that is late. */
TEST(test_void_replaces)
{
	unsigned int what;
	bool held;

	for (what = EMPTY; what < HERE_END; what++) {
		get_here(what);
		held = what >= HELD && what <= HALF_LENT;
		rcv_settling(offer_kind(OAE_VOID));
		assert_reflects_nothing();
		assert_int_equal(noted(OAE_N_DROPPED), held);
		assert_int_equal(noted(OAE_N_TAKEN_BACK), what == HALF_LENT);
		assert_int_equal(count_op(OAE_OP_DISCARD),
				 held || what == GATHERED || what == OF_BEFORE);

		rcv(slice(0, END));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(slice(2, 0));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(slice(0, X | END));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(offer_kind(OAE_VERB));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(BUT(offer_kind(OAE_VOID), f.marks = 0));
		assert_nothing_but(OAE_N_REFLECTED_AGAIN);
		rcv(offer_kind(OAE_VOID));
		assert_reflects_nothing();

		commit(0);
		assert_int_equal(count_op(OAE_OP_DELIVER) + count_op(OAE_OP_APPLY) +
				 count_op(OAE_OP_TAKE) + count_op(OAE_OP_DISCARD), 0);
		rcv(BUT(offer_kind(OAE_VOID), f.seq--));
		assert_nothing_but(OAE_N_OLD_SEQ);
		rcv(slice(0, END));
		assert_int_equal(noted(OAE_N_HELD), 1);
	}
}

/* It outlives a freeze as what is held does: the peer may have committed it. */
LINK_TEST(test_void_resolved)
{
	u32 rx = l.rx;

	rcv(slice(0, END));
	rcv(offer_kind(OAE_VOID));
	port_down();
	rcv(BUT(resolved(), f.tx++));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_rx(&l), rx + 1);
	assert_int_equal(count_op(OAE_OP_DELIVER), 0);

	/* Not committed: in the next run the number may have another content. */
	rcv(offer_kind(OAE_VOID));
	anew();
	rcv(slice(0, END));
	assert_int_equal(noted(OAE_N_HELD), 1);
}

/* Frames of another content than what is here take no place of it: no honest peer sends them. */
LINK_TEST(test_other_content)
{
	rcv(slice(0, 0));
	rcv(offer_kind(OAE_VERB));
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(1, END));
	assert_non_null(sent(OAE_REFLECT));
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(nverbs + count_op(OAE_OP_DISCARD), 0);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_MESSAGE);
	commit(0);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 2);
}

/* This end settles: who has not asked is told once it asks, and then it is judged anew. */
LINK_TEST(test_refused_for_now)
{
	const struct oae_frame unasked = slice(1, 0), last = slice(2, END);

	rcv_settling(unasked);
	assert_int_equal(noted(OAE_N_REFUSED), 1);
	assert_int_equal(a.nsends, 0);
	/* It is over. The peer would not know which slices came after that. */
	rcv(slice(0, 0));
	assert_nothing_but(OAE_N_OLD_CONTENT);
	rcv(last);
	assert_int_equal(count_op(OAE_OP_KEEP), 0);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	/* It has been told: all that comes of it counts. */
	rcv(unasked);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
	assert_int_equal(a.nsends, 0);
	rcv(last);
	assert_int_equal(sent(OAE_ACK)->frame.have, 6);
	rcv(slice(0, 0));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(3));
}

/* It is refused anew, too: said, or not. ASK asks, and changes nothing else. */
LINK_TEST(test_refused_again)
{
	rcv_settling(slice(2, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	rcv_settling(slice(0, 0));
	assert_int_equal(noted(OAE_N_REFUSED), 1);
	assert_int_equal(a.nsends, 0);
	rcv(slice(1, 0));
	assert_nothing_but(OAE_N_OLD_CONTENT);
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	rcv(slice(1, 0));
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
}

/* A half that is missing, and words that are reserved, are for now as well. */
LINK_TEST(test_refused_for_now_others)
{
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_NO_HALF);
	post_half(&x);
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_SWAP);

	open_link(state);
	computes(OAE_R_CONFLICT, 0);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_CONFLICT);
	computes(0, REPLY);
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(nverbs, 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VERB);
}

/* For good: said at once, again to whoever asks, and nothing but nothing changes it. */
LINK_TEST(test_refused_for_good)
{
	unsigned int i;

	cfg.max_len = 2 * SLICE;
	rcv(slice(0, 0));
	rcv(slice(1, 0));
	rcv(slice(2, 0));			/* which has not asked */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_KEEP), 0);
	for (i = 0; i < 2; i++) {
		rcv(slice(3, 0));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(slice(4, END));
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
		assert_int_equal(count_op(OAE_OP_KEEP), 0);
		rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
		assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	}
	rcv(offer_kind(OAE_VOID));
	assert_reflects_nothing();

	/* Of a run: in the next the number may have another content. */
	open_link(state);
	computes(OAE_R_ACCESS, 0);
	rcv(offer_kind(OAE_VERB));
	rcv(offer_kind(OAE_VERB));
	assert_int_equal(nverbs, 0);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_ACCESS);
	anew();
	rcv(slice(0, END));
	assert_int_equal(noted(OAE_N_HELD), 1);
}

LINK_TEST(test_slices_disagree)
{
	rcv(slice(3, 0));
	rcv(slice(2, END));			/* 3 is behind it */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(4, END));
	assert_int_equal(sent(OAE_ACK)->frame.have, 0x18);
	rcv(slice(5, END));			/* another LAST */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(5, 0));			/* behind LAST */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(4, 0));			/* LAST, and is not */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(3, 0));
	assert_nothing_but(OAE_N_DUP_SLICE);
	rcv(slice(0, 0));
	rcv(slice(1, 0));
	assert_int_equal(a.nsends, 0);
	rcv(slice(2, 0));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(5));
	commit(0);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 5);
}

/* LAST says how many slices there are, ANSWER asks: each may be without the other. */
LINK_TEST(test_answer_asks)
{
	rcv(BUT(slice(2, END), f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(BUT(slice(0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(noted(OAE_N_GAP), 1);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_ACK)->frame.have, 5);
	assert_int_equal(sent(OAE_ACK)->frame.seq, l.rx + 1);
	/* A copy asks as well. */
	rcv(BUT(slice(2, END), f.marks = OAE_M_ANSWER));
	assert_int_equal(sent(OAE_ACK)->frame.have, 5);
	/* What completes it is answered in any case. */
	rcv(slice(1, 0));
	assert_non_null(sent(OAE_REFLECT));
	rcv(BUT(slice(2, END), f.marks = 0));
	assert_nothing_but(OAE_N_REFLECTED_AGAIN);
	rcv(BUT(slice(0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);
	/* And a refusal, though it is over. */
	commit(0);
	rcv_settling(BUT(slice(2, END), f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(BUT(slice(0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
}

/* What have you of this? Of a number so far above what is delivered here. */
static struct oae_frame ask(u32 above)
{
	struct oae_frame f = frame(OAE_ASK);

	f.seq = l.rx + above;
	return f;
}

static void assert_has(u32 above, u64 have)
{
	const struct oae_send *s = sent(OAE_ACK);

	assert_true(s && a.nsends == 1);
	assert_int_equal(s->frame.seq, l.rx + above);
	assert_true(s->frame.have == have);
}

/* ASK, in each state of a number. It changes none. */
LINK_TEST(test_ask)
{
	rcv(ask(1));				/* nothing has come */
	assert_has(1, 0);
	rcv(slice(1, 0));
	rcv(ask(1));
	assert_has(1, 2);
	rcv(BUT(ask(1), f.kind = OAE_VOID));	/* nor has nothing */
	assert_has(1, 0);
	assert_int_equal(sent(OAE_ACK)->frame.kind, OAE_VOID);
	rcv(ask(1));
	assert_has(1, 2);

	/* Of an earlier run: OFFER with RESUME finds it, ASK does not. */
	anew();
	rcv(ask(1));
	assert_has(1, 0);
	rcv(slice(2, END | OAE_F_RESUME));
	assert_has(1, 6);
	rcv(slice(0, OAE_F_RESUME));
	assert_non_null(sent(OAE_REFLECT));
	rcv(ask(1));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(3));
	rcv(BUT(ask(1), f.kind = OAE_VOID));	/* which was lost */
	assert_has(1, 0);
	commit(0);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 3);
	rcv(ask(0));				/* delivered, and no express */
	assert_nothing_but(OAE_N_OLD_SEQ);

	rcv_settling(slice(0, END));
	rcv(ask(1));				/* though it is over */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	rcv(BUT(ask(1), f.kind = OAE_VOID));
	assert_has(1, 0);
	rcv(offer_kind(OAE_VOID));
	rcv(BUT(ask(1), f.kind = OAE_VOID));
	assert_reflects_nothing();
	rcv(ask(1));
	assert_nothing_but(OAE_N_OLD_CONTENT);
	rcv(ask(2));				/* beyond a window of one */
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* An express that was delivered is reflected again, if ASK says that it is one. */
LINK_TEST(test_ask_express)
{
	rcv(slice(0, X | END));
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	rcv(ask(0));
	assert_nothing_but(OAE_N_OLD_SEQ);
	rcv(BUT(ask(0), f.flags = X));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(1));
	assert_int_equal(count_op(OAE_OP_DELIVER), 0);
}

/* A verb that waits for what is below it is there, and has no answer yet. */
WINDOW_TEST(test_ask_waits)
{
	take(2, OAE_VERB);
	assert_has(2, 1);			/* ANSWER asks that, too */
	rcv(BUT(offer_kind(OAE_VERB), f.seq++, f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(BUT(ask(2), f.kind = OAE_VERB));
	assert_has(2, 1);
	assert_int_equal(sent(OAE_ACK)->frame.kind, OAE_VERB);
	rcv(ask(1));
	assert_has(1, 0);
	rcv(ask(PLACES));
	assert_has(PLACES, 0);
	rcv(ask(PLACES + 1));
	assert_nothing_but(OAE_N_OLD_SEQ);
	computes(0, REPLY);
	take(1, OAE_VERB);
	assert_int_equal(nverbs, 2);
	rcv(ask(2));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VERB);
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + REPLY);
}

/* There is no place for the number yet: as if it was lost, as its offer would be. */
WINDOW_TEST(test_ask_unplaced)
{
	open_wide(PLACES, PLACES);
	rcv(slice(0, END));
	rcv(ask(2));
	assert_nothing_but(OAE_N_NO_PLACE);
	lend();
	rcv(ask(2));
	assert_has(2, 0);
}

/* As OFFER and COMMIT do: it says that the peer has resolved against this end. */
LINK_TEST(test_ask_resolves)
{
	rcv(slice(1, 0));
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.src_ltag = l.peer.ltag + 0x100, f.dst_ltag = 1));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	rcv(frame(OAE_ACK));
	assert_nothing_but(OAE_N_FROZEN);
	rcv(BUT(ask(1), f.src_ltag--));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	rcv(ask(1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(noted(OAE_N_RESOLVED), 1);
	assert_int_equal(sent(OAE_ACK)->frame.have, 0);
}

/* As many slices as there may be, and none of them LAST. */
LINK_TEST(test_never_last)
{
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		rcv(slice(i, 0));
		assert_int_equal(a.nsends, 0);
	}
	assert_int_equal(l.hold.state, OAE_HOLD_PARTIAL);
}

/* The next OFFER carries the commit, and nothing else does. */
LINK_TEST(test_one_frame)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	assert_int_equal(a.nsends, 1);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->frame.tx, 1);
}

/* Taken back: nothing is offered in its place, and the one behind it waits for that. */
LINK_TEST(test_cancelled)
{
	struct oae_frame late;
	const struct oae_send *s;

	post(&x, 2, 0);
	late = answer(OAE_REFLECT);
	post(&y, 1, 0);
	assert_int_equal(cancel(&x), 0);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(noted(OAE_N_VOIDED), 1);
	s = sent(OAE_OFFER);
	assert_int_equal(a.nsends, 1);
	assert_null(s->handle);
	assert_int_equal(s->frame.kind, OAE_VOID);
	assert_int_equal(s->frame.seq, 1);
	assert_int_equal(s->frame.flags, END);
	assert_int_equal(s->frame.marks, OAE_M_ANSWER);
	assert_int_equal(s->frame.length, 0);
	assert_true(s->frame.payload_hash == oae_slice_hash("", 0, 0));
	assert_int_equal(cancel(&x), -ENOENT);

	/* Whatever is said of what was taken back is late. */
	rcv(late);
	assert_nothing_but(OAE_N_OLD_CONTENT);
	rcv(BUT(late, f.opcode = OAE_REFUSE, f.reason = OAE_R_TOO_BIG));
	assert_nothing_but(OAE_N_OLD_CONTENT);
	rcv(BUT(late, f.opcode = OAE_ACK, f.have = 1));
	assert_nothing_but(OAE_N_OLD_CONTENT);

	rcv(answer(OAE_REFLECT));
	assert_int_equal(count_op(OAE_OP_COMPLETE), 0);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 2);
	assert_int_equal(sent(OAE_OFFER)->frame.tx, 1);
}

/* An answer of another kind than what is offered is of no use, whatever it says. */
LINK_TEST(test_answer_of_another_kind)
{
	static const u8 kinds[] = { OAE_SWAP, OAE_VERB, OAE_VOID, OAE_PACK };
	unsigned int i;

	post(&x, 2, 0);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		rcv(BUT(answer(OAE_REFLECT), f.kind = kinds[i]));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(BUT(answer(OAE_REFUSE), f.kind = kinds[i], f.reason = OAE_R_TOO_BIG));
		assert_nothing_but(OAE_N_OLD_CONTENT);
		rcv(BUT(answer(OAE_ACK), f.kind = kinds[i], f.have = 1));
		assert_nothing_but(OAE_N_OLD_CONTENT);
	}
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
}

/*
 * Refused for now, by a peer that has not heard what was offered last: that may have been taken.
 * Refused for good is that, whenever it was said.
 */
LINK_TEST(test_refused_before)
{
	static const u8 for_now[] = { OAE_R_BUSY, OAE_R_NO_HALF, OAE_R_CONFLICT };
	unsigned int i;

	post(&x, 3, 0);
	for (i = 0; i < ARRAY_SIZE(for_now); i++) {
		rcv(BUT(answer(OAE_REFUSE), f.ack--, f.reason = for_now[i]));
		assert_nothing_but(OAE_N_OLD_CONTENT);
	}
	refuse(OAE_R_BUSY);
	assert_int_equal(noted(OAE_N_PARKED), 1);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	/* The same refusal once more, as ASK has it. */
	rcv(BUT(answer(OAE_REFUSE), f.ack = 3, f.reason = OAE_R_BUSY));
	assert_nothing_but(OAE_N_OLD_CONTENT);
	/* What is newer than the offer counts: here it is a question of another sort. */
	clear();
	oae_link_ask(&l, &a);
	refuse(OAE_R_BUSY);
	assert_int_equal(noted(OAE_N_PARKED), 1);
	rcv(frame(OAE_READY));
	rcv(BUT(answer(OAE_REFUSE), f.ack = 1, f.reason = OAE_R_TOO_BIG));
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* More than a window is never committed and unconfirmed: the peer cannot hold a number beyond. */
LINK_TEST(test_reflect_beyond_window)
{
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	post(&y, 1, 0);
	rcv(BUT(answer(OAE_REFLECT), f.rx--));
	assert_nothing_but_sync(OAE_N_IMPOSSIBLE);
	rcv(resolved());
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&y, OAE_COMMITTED));
}

/* A late copy of what is parked has found room: it is held, and READY is of no use any more. */
LINK_TEST(test_parked_is_held)
{
	post(&x, 2, 0);
	refuse(OAE_R_BUSY);
	post(&y, 1, 0);
	rcv(BUT(answer(OAE_ACK), f.have = 1));
	assert_nothing_but(OAE_N_OLD_SEQ);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(sent(OAE_OFFER)->handle == &y);
	rcv(frame(OAE_READY));
	assert_int_equal(a.nsends, 0);
	fire_at(now + 1);
	assert_int_equal(a.nsends, 0);
}

/* A REFLECT of what was not said: of what is atomic resolving decides, and nothing is kept. */
LINK_TEST(test_mismatch)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_link(state);
		post(&y, 1, 0);
		rcv(answer(OAE_REFLECT));
		post(&x, 4, 0);
		rcv(BUT(answer(OAE_REFLECT), f.reflect.digest ^= i, f.reflect.first ^= !i));
		assert_nothing_but_sync(OAE_N_MISMATCH);
		assert_int_equal(l.state, OAE_SYNC_SENT);
		rcv(resolved());
		assert_int_equal(sent(OAE_OFFER)->slices, 15);
		assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
		rcv(answer(OAE_REFLECT));
		assert_true(ended(&x, OAE_COMMITTED));
	}

	/* A verb's answer must have its length, too. */
	open_link(state);
	post_kind(&x, OAE_VERB, CUT, REPLY);
	rcv(answer_kind(OAE_VERB, REPLY + 8));
	assert_nothing_but_sync(OAE_N_MISMATCH);

	/* The peer has delivered an express: nobody knows which. */
	open_link(state);
	post(&x, 1, X);
	rcv(BUT(answer(OAE_REFLECT), f.reflect.digest++));
	assert_int_equal(noted(OAE_N_MISMATCH), 1);
	assert_int_equal(noted(OAE_N_BROKEN), 1);
	assert_true(ended(&x, OAE_UNKNOWN));
}

/* What the peer has is believed as far as there are slices. */
LINK_TEST(test_ack_map)
{
	post(&x, 4, 0);
	ack(~2ULL);
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	ack(~0ULL);				/* all: it is not reflected yet */
	assert_int_equal(a.nops + a.nsends, 0);
	ack(1ULL << 5);				/* there is no such slice */
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_false(sent(OAE_OFFER)->slices & ~15ULL);
	rcv(BUT(answer(OAE_ACK), f.seq++));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_int_equal(noted(OAE_N_GAP_HEARD), 0);
}

/* A late REFLECT of what is delivered is answered with nothing, whatever is committed since. */
LINK_TEST(test_reflect_of_delivered)
{
	struct oae_frame late;

	post(&x, 1, 0);
	late = answer(OAE_REFLECT);
	rcv(late);
	late.rx = late.seq;
	post(&y, 1, 0);
	rcv(BUT(answer(OAE_REFLECT), f.rx = late.seq));
	assert_non_null(sent(OAE_COMMIT));
	rcv(late);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* Of nothing that is there, what was sent is sent again. */
LINK_TEST(test_ack_of_nothing)
{
	post(&x, 4, 0);
	ack(11);
	assert_int_equal(sent(OAE_OFFER)->slices, 4);
	ack(0);
	assert_int_equal(sent(OAE_OFFER)->slices, 4);
}

/* An ACK of a peer that has heard neither what was sent last, nor ASK, tells nothing of that. */
LINK_TEST(test_ack_old)
{
	post(&x, 3, 0);
	rcv(BUT(answer(OAE_ACK), f.ack--, f.have = 3, f.marks = 0));
	assert_nothing_but(OAE_N_GAP_HEARD);
	assert_int_equal(l.number.sent, 3);
	clear();
	oae_link_ask(&l, &a);
	/* The second is missing, and the third was sent after it. */
	rcv(BUT(answer(OAE_ACK), f.map = 5, f.have = 5));
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
	assert_int_equal(l.number.sent, 5);
	/* That is about what was sent before. */
	rcv(BUT(answer(OAE_ACK), f.ack = 4, f.have = 5));
	assert_nothing_but(OAE_N_GAP_HEARD);
	rcv(BUT(answer(OAE_ACK), f.ack = 4, f.have = 7));
	assert_int_equal(a.nops + a.nsends, 0);
	/* ASK was heard, and not what it asks for. */
	fire_at(now + 10 * MS);
	assert_int_equal(sent(OAE_ASK)->frame.pn, 6);
	ack(5);
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
	/* The other way round. */
	fire_at(now + 10 * MS);
	assert_int_equal(sent(OAE_ASK)->frame.pn, 8);
	rcv(BUT(answer(OAE_ACK), f.ack--, f.have = 5));
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
}

/* A verb that waits for what is below it was answered: what is asked later counts from then. */
WINDOW_TEST(test_ack_of_waiting)
{
	u32 tx;

	tx = l.tx;
	post_verbs(1, 2);
	post_some(3, 5);
	ack_number(tx + 2, 1);
	assert_int_equal(a.nsends, 0);
	reflect(tx + 5);
	assert_non_null(offered(tx + 1));
	assert_null(offered(tx + 2));
}

/* What was offered again is lost, and ASK finds the refusal of before: it is sent once more. */
LINK_TEST(test_refused_since)
{
	post(&x, 3, 0);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	clear();
	oae_link_ask(&l, &a);
	rcv(BUT(answer(OAE_REFUSE), f.reason = OAE_R_BUSY));
	assert_int_equal(noted(OAE_N_PARKED), 0);
	assert_int_equal(sent(OAE_OFFER)->slices, 7);
	refuse(OAE_R_BUSY);
	assert_int_equal(noted(OAE_N_PARKED), 1);
}

/* A REFLECT of what is committed: the peer has not heard of that, or it is late. */
LINK_TEST(test_reflect_of_committed)
{
	struct oae_frame late;

	post(&x, 1, 0);
	late = answer(OAE_REFLECT);
	rcv(late);
	assert_true(ended(&x, OAE_COMMITTED));
	rcv(late);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_COMMIT)->frame.tx, l.tx);
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, 0);
	rcv(BUT(late, f.rx++));			/* it has delivered it */
	assert_nothing_but(OAE_N_OLD_SEQ);
	rcv(BUT(late, f.seq++, f.rx++));	/* not committed */
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* READY says that there is room: nothing asks for it, and all slices go. */
LINK_TEST(test_offered_again_whole)
{
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	post(&x, 4, 0);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
}

/* Limits are what may still be. */
LINK_TEST(test_limits)
{
	struct oae_post p = {
		.handle = &x, .len = 5000, .slice_max = 1500 - OAE_HDR_LEN,
		.nslices = 4,
	};

	clear();
	assert_int_equal(oae_link_post(&l, &(struct oae_post){ 0 }, now, &a), -EINVAL);
	assert_int_equal(oae_link_post(&l, &(struct oae_post){ .nslices = 65 },
				       now, &a), -EINVAL);
	assert_int_equal(a.nops + a.nsends, 0);
	assert_true(oae_link_wants(&l));
	assert_int_equal(oae_link_post(&l, &p, now, &a), 0);
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(ncuts + count_op(OAE_OP_COMPLETE), 0);
	refuse(OAE_R_TOO_BIG);
	assert_true(ended(&x, OAE_REVERSED));
	rcv(answer(OAE_REFLECT));
	p.len++;
	post_it(&p);
	assert_true(ended(&x, OAE_REVERSED) && !a.nsends);
	p.len--;
	p.slice_max++;
	post_it(&p);
	assert_int_equal(ncuts, 1);

	cfg.max_len = 2 * SLICE;
	rcv(slice(0, 0));
	rcv(slice(1, END));
	assert_non_null(sent(OAE_REFLECT));

	new_link();
	assert_false(oae_link_wants(&l));
}

/* A message that is too long for the path now is cut anew, once, and all of it is offered. */
LINK_TEST(test_cut_anew)
{
	struct oae_post p = {
		.handle = &x, .len = 2000, .slice_max = 1000, .nslices = 2,
	};

	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	post_it(&p);
	assert_int_equal(ncuts, 0);
	set_mtu(600);
	rcv(resolved());
	assert_int_equal(ncuts, 1);
	assert_true(last_cut == &x);
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->slice_max, 600 - OAE_HDR_LEN);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);

	anew();
	assert_int_equal(ncuts, 0);
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);

	/* It cannot be cut so: reversed, and the next one's turn. */
	post(&y, 1, 0);
	uncuttable = &x;
	set_mtu(200);
	rcv(resolved());
	uncuttable = NULL;
	assert_reversed(&x, OAE_E_TOO_BIG);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(a.nsends, 2);		/* SYNC_ACK before it */
}

LINK_TEST(test_turned_away_late)
{
	struct oae_frame f;

	one_link(state);
	f = frame(OAE_CLOSE);
	f.reason = OAE_R_POLICY;
	f.dst_ltag ^= 1;
	rcv(f);
	assert_nothing_but(OAE_N_FROZEN);
	f.dst_ltag ^= 1;
	/* The answer to a SYNC that was sent before this end heard of the peer. */
	rcv(BUT(frame(OAE_SYNC_CHK), f.src_ltag = 0x5000));
	f.src_ltag = 0;
	rcv(f);
	assert_nothing_but(OAE_N_FROZEN);
	f.src_ltag = l.peer.ltag;
	rcv(f);
	assert_int_equal(count_op(OAE_OP_GONE), 1);

	open_link(state);			/* OPEN, it hears again */
	rcv(BUT(frame(OAE_CLOSE), f.reason = OAE_R_POLICY));
	assert_nothing_but_sync(OAE_N_NOLINK);
	assert_true(oae_link_wants(&l) && l.asked_at);
}

/* Confirmed: at once if it was express, once DONE has come if not. */
LINK_TEST(test_confirmed)
{
	post(&x, 1, OAE_POST_EXPRESS | OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
	post(&x, 1, OAE_POST_CONFIRM);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 0);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 1);
	rcv(frame(OAE_DONE));
	assert_int_equal(count_op(OAE_OP_CONFIRMED), 0);
}

/* Closing asks for DONE, once, and again after a probe timeout. */
LINK_TEST(test_close_asks)
{
	unsigned int i;
	u64 began;

	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, 0);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	now += 30 * MS;
	began = now;
	close_link();
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, l.tx);
	for (i = 0; i < 3; i++) {
		rcv(frame(OAE_READY));
		assert_int_equal(a.nsends, 0);
	}
	fire_at(began + oae_link_pto(&l) - 1);
	assert_int_equal(a.nsends, 0);
	fire_at(began + oae_link_pto(&l));
	assert_int_equal(sent(OAE_COMMIT)->frame.flags, OAE_F_WANT_DONE);
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_non_null(sent(OAE_CLOSE));
}

LINK_TEST(test_what_is_said)
{
	const struct oae_send *s;
	struct oae_frame f;

	post(&x, 3, OAE_POST_EXPRESS);
	s = sent(OAE_OFFER);
	assert_true(s->handle == &x);
	assert_int_equal(s->slices, 7);
	assert_int_equal(s->slice_max, CUT);
	assert_int_equal(s->nslices, 3);
	assert_int_equal(s->frame.flags, OAE_F_EXPRESS);
	assert_int_equal(s->frame.seq, 1);
	assert_int_equal(s->frame.vc, 7);
	assert_int_equal(s->frame.src_ltag, l.ltag);
	assert_int_equal(s->frame.dst_ltag, l.peer.ltag);

	computes(OAE_R_KIND, 0);
	rcv(BUT(slice(0, END), f.kind = OAE_VERB));
	assert_int_equal(nverbs, 1);
	assert_int_equal(a.nsends, 1);
	f = sent(OAE_REFUSE)->frame;
	assert_int_equal(f.reason, OAE_R_KIND);
	assert_int_equal(f.kind, OAE_VERB);
	assert_int_equal(f.seq, PEER_START + 1);

	rcv(offer_kind(OAE_VOID));
	commit(0);
	rcv(slice(0, END));
	f = sent(OAE_REFLECT)->frame;
	assert_int_equal(f.seq, PEER_START + 2);
	assert_int_equal(f.kind, OAE_MESSAGE);
	assert_true(f.reflect.digest == digest_of(1) && f.reflect.first == 77);

	port_down();
	f = sent(OAE_SYNC)->frame;
	assert_int_equal(f.flags, 0);
	assert_int_equal(f.tx, 0);
	assert_int_equal(f.rx, PEER_START + 1);
	assert_true(f.sync.inc == l.inc && f.sync.peer_inc == PEER_INC);
	assert_int_equal(f.sync.caps, 0);
	assert_int_equal(f.sync.max_len, 10000);
	assert_int_equal(f.sync.mtu, 1500);
	rcv(BUT(resolved(), f.tx++));	/* delivered by resolving */

	rcv(slice(0, END));
	commit(OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_DONE)->frame.seq, l.rx);
	assert_int_equal(sent(OAE_DONE)->frame.rx, PEER_START + 3);
}

UNIT_MAIN("frames out of place")
