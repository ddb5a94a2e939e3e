// SPDX-License-Identifier: GPL-2.0
/*
 * What a freeze leaves of a message (doc/protocol.md sections 2.3, 4.1 and 4.2): each SYNC tells
 * which slices are kept, and where they are of what is offered then, they are not sent again.
 */
#include "one_window.h"

#define END	OAE_F_LAST

/* The run that follows has a window. */
static struct oae_frame wide(u64 kept, u8 last)
{
	return BUT(keeps(kept, last), f.sync.caps = PLACES - 1);
}

static void assert_told(u8 opcode, u64 kept, u8 last)
{
	const struct oae_frame *f = &sent(opcode)->frame;

	assert_true(f->sync.kept == kept);
	assert_true(f->sync.hash == (kept ? hash_of(kept) : 0));
	assert_int_equal(f->sync.last, last);
}

static void probe_me(void)
{
	rcv(frame(OAE_SYNC));
}

static void assert_offered(u64 slices, bool resumes)
{
	assert_non_null(offered(l.tx + 1));
	assert_int_equal(offered(l.tx + 1)->slices, slices);
	assert_int_equal(offered(l.tx + 1)->frame.flags, resumes ? OAE_F_RESUME : 0);
}

/* --- the responder --- */

/* Slices of a message are told of at any time: gathered, held, kept. */
WINDOW_TEST(test_told)
{
	probe_me();
	assert_told(OAE_SYNC_ACK, 0, 0);
	rcv(slice(1, 0));
	probe_me();
	assert_told(OAE_SYNC_ACK, 2, OAE_SYNC_NO_LAST);
	rcv(slice(3, END));
	probe_me();
	assert_told(OAE_SYNC_ACK, 10, 3);
	/* Another SYNC of the run that was. */
	rcv(BUT(frame(OAE_SYNC), f.src_ltag++, f.dst_ltag++));
	assert_told(OAE_SYNC_CHK, 0, 0);
	port_down();
	assert_told(OAE_SYNC, 10, 3);
	rcv(resolved());
	assert_told(OAE_SYNC_ACK, 10, 3);
	probe_me();
	assert_told(OAE_SYNC_ACK, 10, 3);
	rcv(slice(0, OAE_F_RESUME));
	rcv(slice(2, OAE_F_RESUME));
	assert_non_null(sent(OAE_REFLECT));
	probe_me();
	assert_told(OAE_SYNC_ACK, 15, 3);
	port_down();
	assert_told(OAE_SYNC, 15, 3);
	rcv(BUT(resolved(), f.tx++));		/* it was committed */
	assert_told(OAE_SYNC_ACK, 0, 0);
}

/* What is one slice, or refused, or another number, or nothing, is not kept. */
WINDOW_TEST(test_not_told)
{
	rcv(slice(0, END));
	probe_me();
	assert_told(OAE_SYNC_ACK, 0, 0);
	commit(0);
	take(2, OAE_MESSAGE);
	rcv(BUT(slice(0, 0), f.seq++));
	probe_me();
	assert_told(OAE_SYNC_ACK, 0, 0);
	rcv(slice(0, 0));
	rcv(offer_kind(OAE_VOID));
	probe_me();
	assert_told(OAE_SYNC_ACK, 0, 0);
	commit(0);
	commit(0);
	rcv(slice(1, 0));
	rcv(slice(2, END));
	probe_me();
	assert_told(OAE_SYNC_ACK, 6, 2);
	port_down();
	rcv(resolved());
	rcv_settling(slice(1, END));
	probe_me();
	assert_told(OAE_SYNC_ACK, 0, 0);
	renamed();
	assert_told(OAE_SYNC, 0, 0);
}

/* The slice that came with the frame that ends the run, which nobody has stored yet. */
WINDOW_TEST(test_told_at_once)
{
	u64 hash[] = { 1000, 5555 };

	rcv(slice(0, END));
	take_slice(2, 0, 0);
	l.run_rx = l.rx + 1 - OAE_RUN_MAX;
	rcv(BUT(slice(1, 0), f.seq++, f.tx++, f.payload_hash = 5555));
	assert_int_equal(noted(OAE_N_WORN), 1);
	assert_true(sent(OAE_SYNC)->frame.sync.kept == 3);
	assert_true(sent(OAE_SYNC)->frame.sync.hash == oae_whole_digest(hash, 2));
}

/* With RESUME they count, whatever else the frame says; without they are dropped, for good. */
WINDOW_TEST(test_taken)
{
	rcv(slice(0, OAE_F_EXPRESS));
	anew();
	rcv(slice(1, END | OAE_F_RESUME));
	assert_int_equal(count_op(OAE_OP_DISCARD), 0);
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == hash_of(3));
	assert_int_equal(count_op(OAE_OP_DELIVER), 0);
	commit(0);
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 2);

	rcv(slice(0, 0));
	anew();
	rcv(slice(1, END | OAE_F_EXPRESS | OAE_F_RESUME));
	assert_int_equal(op(OAE_OP_DELIVER)->slice, 2);

	rcv(slice(0, 0));
	anew();
	rcv(slice(2, 0));
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	rcv(slice(1, END | OAE_F_RESUME));
	assert_int_equal(noted(OAE_N_BAD_SLICE), 1);
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
	assert_int_equal(sent(OAE_ACK)->frame.have, 4);

	anew();
	rcv(offer_kind(OAE_VOID));
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	anew();
	rcv(slice(0, END | OAE_F_RESUME));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == hash_of(1));
}

/* All are here: the last one again, and that is answered. */
WINDOW_TEST(test_taken_whole)
{
	rcv(slice(0, 0));
	rcv(slice(1, END));
	anew();
	rcv(slice(1, END | OAE_F_RESUME));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == hash_of(3));
}

/* --- the initiator --- */

/*
 * What is missing is sent, and of nothing that is missing LAST. That goes, too, if the peer has not
 * heard that it is the last one: it keeps what begins like this, and is longer.
 */
WINDOW_TEST(test_resumes)
{
	static const struct {
		u64 kept;
		u8 last;
		u64 sent;
	} cases[] = {
		{ 1, OAE_SYNC_NO_LAST, 14 },
		{ 8, 3, 7 },
		{ 7, OAE_SYNC_NO_LAST, 8 },
		{ 10, 3, 5 },
		{ 15, 3, 8 },
		{ 15, OAE_SYNC_NO_LAST, 8 },
		{ 11, OAE_SYNC_NO_LAST, 12 },
		{ 8, OAE_SYNC_NO_LAST, 15 },
	};
	unsigned int i;

	post(&h[1], 4, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		port_down();
		rcv(wide(cases[i].kept, cases[i].last));
		assert_offered(cases[i].sent, true);
		/* A SYNC tells as well. */
		port_down();
		rcv(BUT(wide(cases[i].kept, cases[i].last), f.opcode = OAE_SYNC));
		assert_offered(cases[i].sent, true);
	}
	anew_wide();
	assert_offered(15, false);
	/* No more at once than the network bears. */
	assert_int_equal(cancel(&h[1]), 0);
	post(&h[2], 40, 0);
	port_down();
	rcv(wide(2, OAE_SYNC_NO_LAST));
	assert_offered(PART(0, 11) & ~2ULL, true);
}

/* They are not of what is offered now. */
WINDOW_TEST(test_no_resume)
{
	static const struct {
		u64 kept;
		u8 last;
	} cases[] = {
		{ 3, 2 },			/* of a shorter one, which begins like this */
		{ 15, 4 },			/* of a longer one */
		{ 31, OAE_SYNC_NO_LAST },
	};
	unsigned int i;

	post(&h[1], 4, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		port_down();
		rcv(wide(cases[i].kept, cases[i].last));
		assert_offered(15, false);
	}
	port_down();
	rcv(BUT(wide(3, OAE_SYNC_NO_LAST), f.sync.hash++));
	assert_offered(15, false);
	/* The peer means another incarnation of this end. */
	port_down();
	rcv(BUT(wide(3, OAE_SYNC_NO_LAST), f.sync.peer_inc++));
	assert_offered(15, false);
	/* One slice. */
	assert_int_equal(cancel(&h[1]), 0);
	post(&h[2], 1, 0);
	port_down();
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_offered(1, false);
	/* No message. */
	assert_int_equal(cancel(&h[2]), 0);
	post_kind(&h[3], OAE_VERB, CUT, 8);
	port_down();
	rcv(wide(1, 0));
	assert_offered(1, false);
}

/* The peer has told of what this end has committed since. */
WINDOW_TEST(test_no_resume_behind)
{
	post(&x, 2, 0);
	reflect(1);
	post(&h[1], 2, 0);
	port_down();
	rcv(BUT(wide(3, 1), f.rx--));
	assert_offered(3, false);
	/* Of tx + 1 only, though that above it is the same. */
	post(&h[2], 2, 0);
	port_down();
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_offered(2, true);
	assert_int_equal(offered(l.tx + 2)->slices, 3);
	assert_int_equal(offered(l.tx + 2)->frame.flags, 0);
}

/* An express that the peer has delivered: what it keeps is of the next number. */
WINDOW_TEST(test_behind_express)
{
	post(&x, 2, OAE_POST_EXPRESS);
	post(&h[1], 2, 0);
	port_down();
	rcv(BUT(wide(1, OAE_SYNC_NO_LAST), f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_offered(2, true);
}

/* Another content has the number now, whatever the one before was. */
WINDOW_TEST(test_another)
{
	post(&h[1], 2, 0);
	post(&h[2], 2, 0);
	port_down();
	unlike = &h[2];
	assert_int_equal(cancel(&h[1]), 0);
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_ptr_equal(offered(1)->handle, &h[2]);
	assert_offered(3, false);
	/* What was never offered, too, may be what the peer keeps. */
	port_down();
	assert_int_equal(cancel(&h[2]), 0);
	post(&h[3], 2, 0);
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_offered(2, true);
}

/* It counts for what the number gets in the event that resolves, and for nothing later. */
WINDOW_TEST(test_later)
{
	struct oae_post p = {
		.handle = &h[1], .digest = DIGEST, .first = 1, .len = 2 * CUT,
		.slice_max = CUT, .nslices = 2,
	};

	port_down();
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_int_equal(oae_link_post(&l, &p, now, &a), 0);
	assert_offered(3, false);
}

/* A data frame tells nothing, and what a SYNC had told before counts no more. */
WINDOW_TEST(test_by_data)
{
	post(&h[1], 2, 0);
	port_down();
	rcv(BUT(wide(1, OAE_SYNC_NO_LAST), f.opcode = OAE_SYNC, f.dst_ltag++));
	rcv(BUT(frame(OAE_ASK), f.seq = l.rx + 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_offered(3, false);
}

/* Cut anew it is another content; that this run would resume is no matter. */
WINDOW_TEST(test_cut_anew)
{
	struct oae_post p = {
		.handle = &h[1], .digest = DIGEST, .first = 1, .len = 2000,
		.slice_max = 1000, .nslices = 2,
	};

	post_it(&p);
	port_down();
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_offered(2, true);
	set_mtu(600);
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_int_equal(ncuts, 1);
	assert_offered(15, false);
}

/* All frames of the number have RESUME in this run, also once the peer keeps nothing any more. */
WINDOW_TEST(test_stays)
{
	post(&h[1], 4, 0);
	port_down();
	rcv(wide(1, OAE_SYNC_NO_LAST));
	assert_offered(14, true);
	ack_number(1, 0);			/* all of it was lost */
	assert_offered(14, true);
	ack_number(1, 11);
	assert_offered(4, true);
	refuse_number(1, OAE_R_BUSY);
	l.cong.cwnd = 10;
	ready();
	assert_offered(15, true);
	/* Nothing, in its place, has not. */
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_int_equal(offered(1)->frame.flags, OAE_F_LAST);
}

UNIT_MAIN("what a freeze leaves")
