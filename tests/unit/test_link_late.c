// SPDX-License-Identifier: GPL-2.0
/*
 * Frames out of place: late, doubled, of another attempt or content than what
 * is here, or of a peer that does not count as it should. And what the frames
 * of this end say, to the last field (doc/protocol.md 4.1 to 4.3).
 */
#include "one_window.h"

#define X	OAE_F_EXPRESS
#define END	OAE_F_LAST

static void assert_nothing_but(u8 note)
{
	assert_int_equal(noted(note), 1);
	assert_int_equal(a.nops, 1);
	assert_int_equal(a.nsends, 0);
}

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
			rcv(slice(1, i, 0));
		rcv(BUT(slice(1, n - 1, END), f.payload_hash++));
		assert_int_equal(count_op(OAE_OP_KEEP), 0);
		assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(n));
		commit(0);
	}
}

/* The hash of what has just come is not with the caller yet, who may keep it no more. */
LINK_TEST(test_hash_of_last)
{
	rcv(slice(1, 1, END));
	rcv(BUT(slice(1, 0, 0), f.payload_hash = 7));
	assert_int_equal(op(OAE_OP_KEEP)->hash, 7);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest ==
		    oae_whole_digest((const u64[]){ 7, 1001 }, 2));
}

/* An express that was delivered is reflected again, and says the same. */
LINK_TEST(test_express_again)
{
	struct oae_frame f[2] = { slice(1, 0, X), slice(1, 1, X | END) };
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
	assert_int_equal(again.attempt, 1);
	assert_true(again.reflect.digest == digest_of(2));
	assert_true(again.reflect.first == 77);

	/* With the next one gathered here, what was heard of it is not said. */
	rcv(slice(1, 0, 0));
	rcv(f[1]);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

LINK_TEST(test_atomic_not_again)
{
	struct oae_frame f = slice(1, 0, END);

	rcv(f);
	commit(0);
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);
	f.flags |= X;
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);

	f = slice(1, 0, X | END);
	rcv(f);
	f.flags &= ~X;
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* A REVERSE that comes late takes nothing back but what it is about. */
LINK_TEST(test_reverse_late)
{
	struct oae_frame f = answer(OAE_REVERSE), old;

	f.attempt = 2;
	f.seq = l.rx + 1;
	old = f;
	rcv(slice(3, 0, END));
	commit(0);
	rcv(slice(1, 0, END));
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	rcv(old);				/* of the one delivered */
	assert_nothing_but(OAE_N_OLD_SEQ);
	f.seq = l.rx + 2;
	rcv(f);
	assert_nothing_but(OAE_N_OLD_SEQ);
	commit(0);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);

	rcv(slice(3, 0, END));
	f.seq = l.rx + 1;
	rcv(f);					/* of an attempt before */
	assert_nothing_but(OAE_N_OLD_SEQ);
	f.attempt = 3;
	rcv(f);
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	rcv(slice(3, 0, END));			/* and stays so */
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
}

/* REVERSE comes first, then what it took back. */
LINK_TEST(test_reverse_early)
{
	struct oae_frame f = answer(OAE_REVERSE);

	f.seq = l.rx + 1;
	f.attempt = 4;
	rcv(f);
	assert_int_equal(a.nsends, 0);
	rcv(slice(4, 0, END));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(slice(3, 0, END));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(slice(5, 0, END));
	assert_int_equal(noted(OAE_N_HELD), 1);
}

LINK_TEST(test_slices_disagree)
{
	rcv(slice(1, 3, 0));
	rcv(slice(1, 2, END));			/* 3 is behind it */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(1, 4, END));
	assert_int_equal(sent(OAE_ACK)->frame.have, 0x18);
	rcv(slice(1, 5, END));			/* another LAST */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(1, 5, 0));			/* behind LAST */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(1, 4, 0));			/* LAST, and is not */
	assert_nothing_but(OAE_N_BAD_SLICE);
	rcv(slice(1, 3, 0));
	assert_nothing_but(OAE_N_DUP_SLICE);
	rcv(slice(1, 0, 0));
	rcv(slice(1, 1, 0));
	assert_int_equal(a.nsends, 0);
	rcv(slice(1, 2, 0));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(5));
	commit(0);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 5);
}

/* RESUME: slices of an earlier run, of the same sort, and no others. */
LINK_TEST(test_resume)
{
	unsigned int what;

	for (what = 0; what < 5; what++) {
		u8 flags = END | (what == 4 ? 0 : OAE_F_RESUME) |
			   (what == 2 ? X : 0);
		u8 first = what == 3 ? X : 0;

		open_link(state);
		rcv(slice(1, 0, first));
		if (what != 1)
			anew();
		rcv(slice(what == 1 ? 2 : 1, 1, flags));
		assert_int_equal(count_op(OAE_OP_DISCARD), !!what);
		assert_int_equal(!!sent(OAE_REFLECT), !what);
		if (what)
			assert_int_equal(sent(OAE_ACK)->frame.have, 2);
	}
}

/* What is kept and lies behind LAST is of another content, whatever RESUME says. */
LINK_TEST(test_resume_behind_last)
{
	rcv(slice(1, 1, 0));
	anew();
	rcv(slice(1, 0, END | OAE_F_RESUME));
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(1));
}

/* LAST says how many slices there are, ANSWER asks: each may be without the other. */
LINK_TEST(test_answer_asks)
{
	rcv(BUT(slice(1, 2, END), f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(BUT(slice(1, 0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(noted(OAE_N_GAP), 1);
	assert_int_equal(a.nsends, 1);
	assert_int_equal(sent(OAE_ACK)->frame.have, 5);
	assert_int_equal(sent(OAE_ACK)->frame.seq, l.rx + 1);
	assert_int_equal(sent(OAE_ACK)->frame.attempt, 1);
	/* A copy asks as well. */
	rcv(BUT(slice(1, 2, END), f.marks = OAE_M_ANSWER));
	assert_int_equal(sent(OAE_ACK)->frame.have, 5);
	/* What completes it is answered in any case. */
	rcv(slice(1, 1, 0));
	assert_non_null(sent(OAE_REFLECT));
	rcv(BUT(slice(1, 2, END), f.marks = 0));
	assert_nothing_but(OAE_N_REFLECTED_AGAIN);
	rcv(BUT(slice(1, 0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);
	/* And a refusal. */
	rcv_room(BUT(slice(2, 1, 0), f.marks = 0), false);
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	rcv(BUT(slice(2, 2, END), f.marks = 0));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(BUT(slice(2, 0, 0), f.marks = OAE_M_ANSWER));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
}

/* What have you of this? Of a number so far above what is delivered here. */
static struct oae_frame ask(u32 above, u8 attempt)
{
	struct oae_frame f = frame(OAE_ASK);

	f.seq = l.rx + above;
	f.attempt = attempt;
	return f;
}

static void assert_has(u32 above, u8 attempt, u64 have)
{
	const struct oae_send *s = sent(OAE_ACK);

	assert_true(s && a.nsends == 1);
	assert_int_equal(s->frame.seq, l.rx + above);
	assert_int_equal(s->frame.attempt, attempt);
	assert_true(s->frame.have == have);
}

/* ASK, in each state of a number. It changes none. */
LINK_TEST(test_ask)
{
	rcv(ask(1, 1));				/* nothing has come */
	assert_has(1, 1, 0);
	assert_int_equal(l.hold.state, OAE_HOLD_NONE);
	rcv(slice(2, 1, 0));
	rcv(ask(1, 2));
	assert_has(1, 2, 2);
	rcv(ask(1, 3));				/* not of this attempt */
	assert_has(1, 3, 0);
	assert_int_equal(l.hold.attempt, 2);
	rcv(ask(1, 1));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(BUT(ask(1, 2), f.kind = OAE_VERB));
	assert_int_equal(sent(OAE_ACK)->frame.kind, OAE_VERB);

	/* Of an earlier run: OFFER with RESUME finds it, ASK does not. */
	anew();
	assert_int_equal(l.hold.state, OAE_HOLD_KEPT);
	rcv(ask(1, 1));
	assert_has(1, 1, 0);
	assert_int_equal(l.hold.state, OAE_HOLD_KEPT);
	rcv(slice(1, 2, END | OAE_F_RESUME));
	assert_has(1, 1, 6);
	rcv(slice(1, 0, OAE_F_RESUME));
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	rcv(ask(1, 1));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.attempt, 1);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(3));
	rcv(ask(1, 2));				/* a newer one is not here */
	assert_has(1, 2, 0);
	assert_int_equal(l.hold.state, OAE_HOLD_HELD);
	commit(0);
	rcv(ask(0, 1));				/* delivered, and no express */
	assert_nothing_but(OAE_N_OLD_SEQ);

	rcv_room(slice(3, 0, END), false);
	rcv(ask(1, 3));				/* though there is room now */
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	assert_int_equal(sent(OAE_REFUSE)->frame.attempt, 3);
	rcv(BUT(answer(OAE_REVERSE), f.seq = l.rx + 1, f.attempt = 4));
	rcv(ask(1, 4));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(ask(2, 1));				/* no number of a run without a window */
	assert_nothing_but(OAE_N_OLD_SEQ);
}

/* An express that was delivered is reflected again, if ASK says that it is one. */
LINK_TEST(test_ask_express)
{
	rcv(slice(1, 0, X | END));
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	rcv(ask(0, 1));
	assert_nothing_but(OAE_N_OLD_SEQ);
	rcv(BUT(ask(0, 1), f.flags = X));
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest_of(1));
	assert_int_equal(count_op(OAE_OP_DELIVER), 0);
}

/* A verb that is being computed is there, and has no answer yet. */
LINK_TEST(test_ask_computed)
{
	rcv(offer_kind(1, OAE_VERB));
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	rcv(ask(1, 1));
	assert_has(1, 1, 1);
}

/* So is one that waits for what is below it. */
WINDOW_TEST(test_ask_waits)
{
	take(2, 1, OAE_VERB, PLACES);
	assert_has(2, 1, 1);			/* ANSWER asks that, too */
	rcv(BUT(offer_kind(1, OAE_VERB), f.seq++, f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(BUT(ask(2, 1), f.kind = OAE_VERB));
	assert_has(2, 1, 1);
	assert_int_equal(sent(OAE_ACK)->frame.kind, OAE_VERB);
	rcv(ask(1, 1));
	assert_has(1, 1, 0);
	rcv(ask(PLACES, 1));
	assert_has(PLACES, 1, 0);
	rcv(ask(PLACES + 1, 1));
	assert_nothing_but(OAE_N_OLD_SEQ);
	take_verb(1, 1);
	computed(0, REPLY);
	rcv(ask(2, 1));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VERB);
	assert_int_equal(sent(OAE_REFLECT)->frame.length, OAE_REFLECT_LEN + REPLY);
}

/* There is no place for the number yet: refused, as its offer would be. */
WINDOW_TEST(test_ask_unplaced)
{
	open_wide(PLACES, PLACES);
	rcv(BUT(slice(1, 0, END), f.seq++, f.marks = 0));
	assert_int_equal(a.nsends, 0);
	rcv(ask(2, 1));
	assert_int_equal(noted(OAE_N_REFUSED), 1);
	assert_refused(2, OAE_R_BUSY);
	lend(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);
}

/* As OFFER and COMMIT do: it says that the peer has resolved against this end. */
LINK_TEST(test_ask_resolves)
{
	rcv(slice(1, 1, 0));
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.src_ltag = l.peer_ltag + 0x100, f.dst_ltag = 1));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	rcv(frame(OAE_ACK));
	assert_nothing_but(OAE_N_FROZEN);
	rcv(BUT(ask(1, 1), f.src_ltag--));
	assert_int_equal(l.state, OAE_SYNC_RECD);
	rcv(ask(1, 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(noted(OAE_N_RESOLVED), 1);
	assert_int_equal(sent(OAE_ACK)->frame.have, 0);
}

/* As many slices as there may be, and none of them LAST. */
LINK_TEST(test_never_last)
{
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		rcv(slice(1, i, 0));
		assert_int_equal(a.nsends, 0);
	}
	assert_int_equal(l.hold.state, OAE_HOLD_PARTIAL);
}

/* The next OFFER carries the commit, and nothing else does. */
LINK_TEST(test_one_frame)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
	assert_int_equal(a.nsends, 1);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->frame.tx, 1);
}

/* Taken back: the one behind it has its turn at once, with its number. */
LINK_TEST(test_cancelled)
{
	post(&x, 1, 0);
	post(&y, 1, 0);
	clear();
	assert_int_equal(oae_link_cancel(&l, &x, OAE_E_SIGNAL, now, &a), 0);
	assert_true(ended(&x, OAE_REVERSED));
	assert_int_equal(sent(OAE_REVERSE)->frame.seq, 1);
	assert_int_equal(sent(OAE_REVERSE)->frame.attempt, 1);
	assert_true(sent(OAE_OFFER)->handle == &y);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 1);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
}

/* Attempts used up: frozen, and nothing of it is sent in between. */
LINK_TEST(test_last_attempt)
{
	unsigned int i;

	post(&x, 3, 0);
	for (i = 2; i <= 255; i++) {
		refuse(OAE_R_BUSY);
		rcv(frame(OAE_READY));
		assert_int_equal(sent(OAE_OFFER)->frame.attempt, i);
	}
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_int_equal(a.nsends, 1);
	assert_non_null(sent(OAE_SYNC));

	open_link(state);
	post(&x, 1, 0);
	l.offer.attempt = 255;			/* as if by cancelling */
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_true(a.nsends == 1 && sent(OAE_SYNC));

	open_link(state);
	l.offer.attempt = 255;
	post(&x, 1, 0);
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_true(a.nsends == 1 && sent(OAE_SYNC));
}

/* What the peer has is believed as far as there are slices; the attempt stays. */
LINK_TEST(test_ack_map)
{
	post(&x, 4, 0);
	ack(~2ULL);
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	ack(~0ULL);				/* all: it is not reflected yet */
	assert_int_equal(a.nops + a.nsends, 0);
	ack(1ULL << 5);				/* there is no such slice */
	assert_int_equal(noted(OAE_N_GAP_HEARD), 1);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
	assert_false(sent(OAE_OFFER)->slices & ~15ULL);
	rcv(BUT(answer(OAE_ACK), f.attempt++));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(BUT(answer(OAE_ACK), f.seq++));
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
	rcv(BUT(answer(OAE_ACK), f.ack--, f.have = 1));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	assert_int_equal(l.pn, 3);
	clear();
	oae_link_ask(&l, &a);
	/* Not heard is the third, though the fourth is. */
	rcv(BUT(answer(OAE_ACK), f.map = 6, f.have = 1));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
	rcv(BUT(answer(OAE_ACK), f.map = 1, f.have = 5));
	assert_int_equal(sent(OAE_OFFER)->slices, 2);
	/* ASK was heard, and not what it asks for. */
	fire_at(now + 10 * MS);
	assert_int_equal(sent(OAE_ASK)->frame.pn, 6);
	rcv(BUT(answer(OAE_ACK), f.ack = 4, f.have = 5));
	assert_nothing_but(OAE_N_OLD_ATTEMPT);
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

	grow();
	tx = l.tx;
	post_verbs(1, 2);
	post_some(3, 5);
	ack_number(tx + 2, 1);
	assert_int_equal(a.nsends, 0);
	reflect(tx + 5);
	assert_non_null(offered(tx + 1));
	assert_null(offered(tx + 2));
}

/* All frames of an attempt say RESUME, or none. */
LINK_TEST(test_resume_stays)
{
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	post(&x, 4, 0);
	anew();
	assert_int_equal(sent(OAE_OFFER)->slices, 8);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_RESUME);
	ack(0);					/* LAST was lost */
	assert_int_equal(sent(OAE_OFFER)->slices, 8);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_RESUME);
	ack(12);
	assert_int_equal(sent(OAE_OFFER)->slices & ~3ULL, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_RESUME);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
	ack(7);
	assert_int_equal(sent(OAE_OFFER)->slices, 8);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);
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

/* LAST alone asks only where slices may have been kept: first in a run. */
LINK_TEST(test_offered_again_whole)
{
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	post(&x, 4, 0);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);

	anew();
	assert_int_equal(sent(OAE_OFFER)->slices, 8);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_RESUME);
	refuse(OAE_R_BUSY);
	rcv(frame(OAE_READY));
	assert_int_equal(sent(OAE_OFFER)->slices, 15);

	open_link(state);			/* waits: nobody has kept any */
	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	port_down();
	post(&x, 4, 0);
	rcv(resolved());
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
	assert_int_equal(count_op(OAE_OP_RESLICE) + count_op(OAE_OP_COMPLETE), 0);
	refuse(OAE_R_TOO_BIG);
	assert_true(ended(&x, OAE_REVERSED));
	p.len++;
	post_it(&p);
	assert_true(ended(&x, OAE_REVERSED) && !a.nsends);
	p.len--;
	p.slice_max++;
	post_it(&p);
	assert_int_equal(count_op(OAE_OP_RESLICE), 1);

	cfg.max_len = 2 * SLICE;
	rcv(slice(1, 0, 0));
	rcv(slice(1, 1, END));
	assert_non_null(sent(OAE_REFLECT));
	rcv(slice(2, 0, 0));
	rcv(slice(2, 1, 0));
	rcv(slice(2, 2, END));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_TOO_BIG);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(count_op(OAE_OP_KEEP), 0);
	assert_int_equal(a.nsends, 1);

	new_link();
	assert_false(oae_link_wants(&l));
}

/*
 * Cut anew, it is another content to a peer that kept slices of the old cut.
 * And only what was asked for, while it is asked for, is taken.
 */
LINK_TEST(test_resliced)
{
	struct oae_post p = {
		.handle = &x, .len = 2000, .slice_max = 1000, .nslices = 2,
	};

	post(&y, 1, 0);
	rcv(answer(OAE_REFLECT));
	post_it(&p);
	p.slice_max = 500;
	p.nslices = 4;
	resliced(&p);	/* nobody asked */
	assert_int_equal(a.nops + a.nsends, 0);
	anew();
	assert_int_equal(sent(OAE_OFFER)->frame.flags, OAE_F_RESUME);

	set_mtu(600);
	rcv(resolved());
	assert_true(op(OAE_OP_RESLICE)->handle == &x);
	assert_false(sent(OAE_OFFER));
	p.handle = &y;
	resliced(&p);	/* for another */
	assert_int_equal(a.nops + a.nsends, 0);
	p.handle = &x;
	oae_link_resliced(&l, &p, now, &a);
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->slice_max, 500);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);

	anew();
	assert_int_equal(sent(OAE_OFFER)->slices, 15);
	assert_int_equal(sent(OAE_OFFER)->frame.flags, 0);

	/* It cannot be cut so: reversed, and the next one's turn. */
	post(&y, 1, 0);
	set_mtu(200);
	rcv(resolved());
	assert_int_equal(count_op(OAE_OP_RESLICE), 1);
	p.nslices = 0;
	oae_link_resliced(&l, &p, now, &a);
	assert_true(ended(&x, OAE_REVERSED));
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
	f.src_ltag = l.peer_ltag;
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
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
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
	peer_lag = 1;
	rcv(answer(OAE_REFLECT));
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
	assert_int_equal(s->frame.attempt, 1);
	assert_int_equal(s->frame.vc, 7);
	assert_int_equal(s->frame.src_ltag, l.ltag);
	assert_int_equal(s->frame.dst_ltag, l.peer_ltag);

	rcv(BUT(slice(5, 0, END), f.kind = OAE_VERB));
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	assert_int_equal(a.nsends, 0);
	computed(OAE_R_KIND, 0);
	assert_int_equal(a.nsends, 1);
	f = sent(OAE_REFUSE)->frame;
	assert_int_equal(f.reason, OAE_R_KIND);
	assert_int_equal(f.kind, OAE_VERB);
	assert_int_equal(f.seq, PEER_START + 1);
	assert_int_equal(f.attempt, 5);

	rcv(slice(6, 0, END));
	f = sent(OAE_REFLECT)->frame;
	assert_int_equal(f.seq, PEER_START + 1);
	assert_int_equal(f.attempt, 6);
	assert_true(f.reflect.digest == digest_of(1) && f.reflect.first == 77);

	port_down();
	f = sent(OAE_SYNC)->frame;
	assert_int_equal(f.flags, 0);
	assert_int_equal(f.tx, 0);
	assert_int_equal(f.rx, PEER_START);
	assert_true(f.sync.inc == l.inc && f.sync.peer_inc == PEER_INC);
	assert_int_equal(f.sync.caps, 0);
	assert_int_equal(f.sync.max_len, 10000);
	assert_int_equal(f.sync.mtu, 1500);
	rcv(BUT(resolved(), f.tx++));	/* delivered by resolving */

	rcv(slice(1, 0, END));
	commit(OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_DONE)->frame.seq, l.rx);
	assert_int_equal(sent(OAE_DONE)->frame.rx, PEER_START + 2);
}

UNIT_MAIN("frames out of place")
