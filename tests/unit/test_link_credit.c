// SPDX-License-Identifier: GPL-2.0
/*
 * Credit (doc/protocol.md section 4.11): what the peer grants and this end charges; what this end
 * grants, and drops if it was not; what is blocked, and when READY is due. And what is refused for
 * now, of several.
 */
#include "one_window.h"

#define MSG	5			/* what a slice of BYTES costs, units of a grant */
#define BYTES	(MSG * OAE_GRANT_UNIT - OAE_SLICE_COST)
#define U(n)	((n) * OAE_GRANT_UNIT)

/* The next run: this is granted at first, and by each frame until a test says another. */
static void granted(u16 units)
{
	grant = units;
	anew_wide();
}

static void post_flags(char *handle, u8 nslices, u8 flags)
{
	post_it(&(struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = BYTES * nslices,
		.slice_max = BYTES, .nslices = nslices, .flags = flags,
	});
}

/* It costs MSG. */
static void post_msg(unsigned int i)
{
	post_flags(&h[i], 1, 0);
}

static void post_msgs(unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		post_msg(from);
}

/* The peer has delivered up to this number, and grants so much above it. */
static void done(u32 rx, u16 units)
{
	rcv(BUT(frame(OAE_DONE), f.rx = rx, f.grant = units));
}

/* The peer holds a number, and has delivered nothing of this run. */
static void reflect_lag(u32 seq, u32 rx)
{
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = rx));
}

static void assert_says_blocked(void)
{
	const struct oae_send *s = sent(OAE_COMMIT);

	assert_non_null(s);
	assert_int_equal(s->frame.marks, OAE_M_BLOCKED);
	assert_int_equal(s->frame.flags, OAE_F_WANT_DONE);
	assert_int_equal(s->frame.seq, l.tx);
	assert_null(sent(OAE_OFFER));
}

/* What waits for a verb that is parked is not blocked: nothing would be offered anyway. */
WINDOW_TEST(test_parked_unblocked)
{
	granted(0);
	post_verb(&h[1]);
	post_msg(2);
	clear();
	oae_link_ask(&l, &a);
	assert_int_equal(sent(OAE_COMMIT)->frame.marks, OAE_M_BLOCKED);
	refuse_number(1, OAE_R_CONFLICT);
	clear();
	oae_link_ask(&l, &a);
	assert_int_equal(sent(OAE_COMMIT)->frame.marks, 0);
}

/* What the peer has is not sent, though it was not sent yet. */
WINDOW_TEST(test_had_already)
{
	anew_narrow();
	post_flags(&h[1], 3, 0);
	assert_int_equal(offered(1)->slices, 1);
	ack_number(1, 3);
	assert_int_equal(offered(1)->slices, 4);
}

/* Places that are lent once more change nothing, by a clock that jumped back either. */
WINDOW_TEST(test_lent_again)
{
	now -= 100000 * MS;
	clear();
	oae_link_lend(&l, pair, PLACES, now, &a);
	assert_true(l.timer.at);
}

/* --- what is charged --- */

/* As much is given as is granted, and not a unit more. */
WINDOW_TEST(test_fits)
{
	granted(3 * MSG);
	post_msgs(1, 3);
	assert_non_null(offered(3));
	post_msg(4);
	assert_int_equal(a.nsends, 0);

	granted(3 * MSG - 1);
	assert_non_null(offered(1));
	assert_non_null(offered(2));
	assert_null(offered(3));
	assert_int_equal(l.given, 2);
}

/* Each slice costs. */
WINDOW_TEST(test_slices)
{
	granted(4 * MSG);
	post_flags(&h[1], 3, 0);
	post_msg(2);
	assert_non_null(offered(2));
	granted(4 * MSG - 1);
	assert_non_null(offered(1));
	assert_null(offered(2));
}

/* What will be cut into more slices for the path costs as much. */
WINDOW_TEST(test_cut_anew)
{
	struct oae_post p = {
		.handle = &h[2], .digest = DIGEST, .first = 1, .len = 1200, .slice_max = 1452,
		.nslices = 1,
	};

	/* Of two slices, with the other one. */
	granted((1200 + 2 * OAE_SLICE_COST + U(1) - 1) / U(1) + MSG - 1);
	rcv(BUT(resolved(), f.opcode = OAE_SYNC, f.sync.mtu = 700, f.sync.caps = PLACES - 1));
	rcv(BUT(frame(OAE_SYNC_ACK), f.sync.mtu = 700, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	post_msg(1);
	post_it(&p);
	assert_int_equal(ncuts, 0);
	done(0, grant + 1);
	assert_int_equal(ncuts, 1);
	assert_int_equal(offered(2)->nslices, 2);
	assert_int_equal(l.credit.charged, U(MSG) + 1200 + 2 * OAE_SLICE_COST);
}

/* What is committed and not delivered is charged; so it is said that something is not granted. */
WINDOW_TEST(test_committed)
{
	granted(2 * MSG);
	post_msgs(1, 3);
	assert_null(sent(OAE_OFFER));
	reflect_lag(1, 0);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_says_blocked();
	done(1, MSG);
	assert_null(sent(OAE_OFFER));
	done(1, 2 * MSG);
	assert_non_null(offered(3));
}

/* The same with a window of one. */
LINK_TEST(test_committed_narrow)
{
	granted(MSG);
	post_msg(1);
	rcv(answer(OAE_REFLECT));
	post_msg(2);
	assert_says_blocked();
	done(1, MSG);
	assert_non_null(sent(OAE_OFFER));
	rcv(BUT(answer(OAE_REFLECT), f.rx = 1));
	post_msg(3);
	assert_says_blocked();
	done(2, MSG);
	assert_non_null(sent(OAE_OFFER));
}

/* If nothing is charged anything goes, however long it is, unless nothing is granted. */
WINDOW_TEST(test_nothing_charged)
{
	granted(1);
	post_flags(&h[1], 5, 0);
	assert_int_equal(offered(1)->slices, 31);
	post_msg(2);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_says_blocked();
	done(1, 1);
	assert_non_null(offered(2));

	granted(0);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(a.nsends, 2);
	assert_says_blocked();
}

/* What costs nothing charges nothing. */
WINDOW_TEST(test_costs_nothing)
{
	granted(0);
	post_verbs(1, 2);
	assert_non_null(offered(2));
	post_msg(3);
	assert_null(sent(OAE_OFFER));
	done(0, 1);
	assert_non_null(offered(3));
}

/* Of a grant that is left over in part, less than a unit is none. */
WINDOW_TEST(test_less_than_a_unit)
{
	granted(1);
	post(&h[1], 1, 0);
	l.credit.grant = COST(1, CUT) + U(1) - 1;
	reflect(1);
	post_msg(2);
	done(1, 0);
	assert_null(sent(OAE_OFFER));
	done(1, 1);
	assert_non_null(offered(2));
}

/* A pack costs as a message does. */
WINDOW_TEST(test_pack)
{
	grant = 0;
	port_down();
	rcv(BUT(resolved(), f.sync.caps = (PLACES - 1) | OAE_CAPS_PACK));
	post_kind(&x, OAE_PACK, BYTES, 0);
	assert_says_blocked();
	done(0, 1);
	assert_int_equal(offered(1)->frame.kind, OAE_PACK);
	post_msg(1);
	done(0, 2 * MSG - 1);
	assert_null(sent(OAE_OFFER));
	done(0, 2 * MSG);
	assert_non_null(offered(2));
}

/* An express is charged until its REFLECT; that says what is granted above it. */
WINDOW_TEST(test_express)
{
	granted(3 * MSG);
	post_flags(&x, 1, OAE_POST_EXPRESS);
	post_msg(1);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.rx = 1, f.grant = 0));
	assert_non_null(offered(2));
	post_msg(2);
	assert_non_null(offered(3));
	post_msg(3);
	assert_null(sent(OAE_OFFER));

	open_window(state);
	granted(1);
	post_flags(&x, 1, OAE_POST_EXPRESS);
	post_msg(1);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.rx = 1, f.grant = 1));
	assert_non_null(offered(2));
}

/* So does the REFLECT of one that is recalled too late. */
WINDOW_TEST(test_express_recalled)
{
	granted(1);
	post_flags(&x, 1, OAE_POST_EXPRESS);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	post_msg(1);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.kind = OAE_MESSAGE, f.rx = 1, f.grant = 1));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_non_null(offered(2));
}

/* What was reversed is charged until nothing is reflected in its place. */
WINDOW_TEST(test_void_charged)
{
	granted(2 * MSG);
	post_msgs(1, 3);
	assert_int_equal(cancel(&h[2]), 0);
	assert_int_equal(offered(2)->frame.kind, OAE_VOID);
	assert_null(offered(3));
	reflect_lag(2, 0);
	assert_non_null(offered(3));
	/* It is of no number that is confirmed. */
	reflect_lag(1, 0);
	assert_int_equal(l.tx, 2);
	done(2, MSG);
	post_msg(4);
	assert_null(offered(4));
	done(2, 2 * MSG);
	assert_non_null(offered(4));
}

/* The same without places. */
LINK_TEST(test_void_charged_narrow)
{
	granted(1);
	post_msg(1);
	assert_int_equal(cancel(&h[1]), 0);
	post_msg(2);
	assert_null(sent(OAE_OFFER));
	rcv(answer(OAE_REFLECT));
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[2]);
}

/* --- what is granted --- */

/* Above another number than the last one that the peer is known to have delivered: of no use. */
WINDOW_TEST(test_granted_above)
{
	granted(2 * MSG);
	post_msgs(1, 2);
	reflect_lag(1, 0);
	reflect_lag(2, 0);
	done(2, 0);
	post_msg(3);
	assert_says_blocked();
	done(1, 0xffff);
	done(0, 0xffff);
	assert_int_equal(a.nsends, 0);
	done(2, 1);
	assert_non_null(offered(3));
}

/* Of two above the same number the larger holds. */
WINDOW_TEST(test_granted_before)
{
	granted(2 * MSG);
	done(0, 3 * MSG);
	done(0, MSG);
	post_msgs(1, 3);
	assert_non_null(offered(3));
	post_msg(4);
	assert_null(sent(OAE_OFFER));
}

/* It falls by the cost of what is delivered, if nothing else is said. */
WINDOW_TEST(test_granted_less)
{
	granted(4 * MSG);
	post_msgs(1, 2);
	reflect_lag(1, 0);
	done(1, 0);
	post_msgs(3, 4);
	assert_non_null(offered(4));
	post_msg(5);
	assert_null(sent(OAE_OFFER));
	/* All that was charged is, and no more. */
	done(1, 4 * MSG - 1);
	assert_null(sent(OAE_OFFER));
	done(1, 4 * MSG);
	assert_non_null(offered(5));
}

/* Counters that no peer has, or a grant as large as there is: neither does harm. */
WINDOW_TEST(test_hostile)
{
	granted(0);
	post_msg(1);
	done(1, 0xffff);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_says_blocked();
	done(0, 0xffff);
	assert_non_null(offered(1));
	assert_int_equal(l.credit.grant, U(0xffff));
	post_flags(&h[2], 12, 0);
	assert_non_null(offered(2));
	assert_int_equal(l.credit.charged, 13 * U(MSG));
}

/* --- a new run --- */

/* It begins with what is committed and not delivered; what was given before is given anew. */
WINDOW_TEST(test_new_run)
{
	granted(0xffff);
	post_msgs(1, 5);
	reflect_lag(1, 0);
	reflect_lag(2, 0);
	reflect_lag(3, 0);
	peer_lag = 2;
	granted(3 * MSG);
	assert_int_equal(l.peer.rx, 1);
	assert_non_null(offered(4));
	assert_null(offered(5));
	done(2, 3 * MSG);
	assert_non_null(offered(5));
}

LINK_TEST(test_new_run_narrow)
{
	post_msg(1);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	granted(MSG);
	post_msg(2);
	assert_says_blocked();
	peer_lag = 0;
	done(1, 1);
	assert_non_null(sent(OAE_OFFER));
}

/* One COMMIT says that something is not granted, and asks for DONE. */
LINK_TEST(test_new_run_blocked)
{
	post_msg(1);
	rcv(answer(OAE_REFLECT));
	peer_lag = 1;
	confirm();
	post_msg(2);
	granted(0);
	assert_says_blocked();
	assert_int_equal(a.nsends, 2);
	assert_non_null(sent(OAE_SYNC_ACK));
	/* It was said in the run before, and is in this one. */
	granted(0);
	assert_says_blocked();
}

/* A data frame that overtakes the SYNC_ACK says what is granted, too. */
WINDOW_TEST(test_new_run_by_data)
{
	port_down();
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0x77,
		f.sync.caps = PLACES - 1));
	grant = MSG;
	rcv(frame(OAE_COMMIT));
	assert_int_equal(l.state, OAE_OPEN);
	post_msg(1);
	assert_non_null(offered(1));
	post_msg(2);
	assert_null(sent(OAE_OFFER));
}

/* What is in doubt while the link settles is offered again only if it is granted. */
LINK_TEST(test_new_run_settling)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_link(state);
		post_flags(&x, 1, OAE_POST_EXPRESS);
		port_down();
		oae_link_settle(&l, now + 100 * MS, now, &a);
		rcv(BUT(resolved(), f.grant = i));
		assert_int_equal(!!sent(OAE_OFFER), i);
	}
}

/* --- numbers and places --- */

/* As many as fit are under way, whatever their numbers are: no charge is lost or left. */
static void run_through(u32 start, u8 window)
{
	unsigned int i, most = window > 1 ? 3 : 1;
	u32 seq = start;

	one_link(NULL);
	cfg.window = window;
	oae_link_init(&l, &cfg, 7, 1500, start);
	clear();
	oae_link_open(&l, now, &a);
	grant = most * MSG;
	rcv(BUT(frame(OAE_SYNC), f.src_ltag = 0x5000, f.tx = PEER_START,
		f.sync.caps = window - 1));
	if (window > 1)
		lend();
	for (i = 1; i <= most; i++) {
		post_msg(i);
		assert_non_null(offered(start + i));
	}
	for (; i < 40; i++) {
		post_msg(i % PLACES);
		assert_null(sent(OAE_OFFER));
		seq++;
		reflect_lag(seq, seq - 1);
		assert_null(sent(OAE_OFFER));
		done(seq, most * MSG);
		assert_non_null(offered(seq + most));
	}
}

TEST(test_wraps)
{
	run_through(0, 1);
	run_through(0, PLACES);
	run_through(0xfffffff0, 1);
	run_through(0xfffffff0, PLACES);
}

/* What numbers cost moves to the places that are lent. */
TEST(test_lend)
{
	open_wide(PLACES, PLACES);
	grant = 2 * MSG;
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	post_msg(1);
	reflect_lag(1, 0);
	post_msg(2);
	assert_non_null(offered(2));
	post_msg(3);
	lend();
	assert_null(sent(OAE_OFFER));
	done(1, 2 * MSG - 1);
	assert_null(sent(OAE_OFFER));
	done(1, 2 * MSG);
	assert_non_null(offered(3));
	reflect_lag(2, 1);
	done(2, MSG);
	post_msg(4);
	assert_null(sent(OAE_OFFER));
	done(2, 2 * MSG);
	assert_non_null(offered(4));
}

/* And to more of them, wherever the counters begin: some are committed, some given. */
TEST(test_lend_more)
{
	static struct oae_pair more[2 * PLACES], *table[2 * PLACES];
	unsigned int i, again;
	u32 tx;

	for (again = 0; again < 2; again++) {
		open_wide(2 * PLACES, 2 * PLACES);
		lend();
		if (again) {
			/* tx is 0 again, and what is offered stays where it is. */
			post_msg(1);
			reflect(1);
			done(1, 0xffff);
			renamed();
			rcv(BUT(resolved(), f.tx = PEER_START, f.sync.caps = 2 * PLACES - 1));
		}
		l.cong.cwnd = 100;
		tx = l.tx;
		post_msgs(1, PLACES);
		for (i = 1; i <= PLACES; i++)
			reflect_lag(tx + i, tx);
		post_msgs(1, PLACES - 1);
		assert_int_equal(l.credit.charged, (2 * PLACES - 1) * U(MSG));
		memset(more, 0, sizeof(more));
		for (i = 0; i < 2 * PLACES; i++)
			table[i] = &more[i];
		clear();
		oae_link_lend(&l, table, 2 * PLACES, now, &a);
		for (i = 1; i <= PLACES; i++) {
			done(tx + i, 0);
			assert_int_equal(l.credit.charged, (2 * PLACES - 1 - i) * U(MSG));
		}
		for (i = 1; i < PLACES; i++) {
			reflect_lag(tx + PLACES + i, tx + PLACES);
			done(tx + PLACES + i, 0);
			assert_int_equal(l.credit.charged, (PLACES - 1 - i) * U(MSG));
		}
	}
}

/* Places are not taken back as long as they say what is charged. */
WINDOW_TEST(test_reclaim)
{
	post_msg(1);
	reflect_lag(1, 0);
	assert_null(oae_link_reclaim(&l));
	done(1, 0xffff);
	assert_ptr_equal(oae_link_reclaim(&l), pair);

	/* What was given in a run that is over is charged no more. */
	open_window(state);
	post_msg(1);
	port_down();
	assert_int_equal(cancel(&h[1]), 0);
	assert_ptr_equal(oae_link_reclaim(&l), pair);
}

/* A peer that has died leaves nothing in the places. */
WINDOW_TEST(test_reclaim_new_peer)
{
	unsigned int i;

	post_msgs(1, 3);
	for (i = 1; i <= 3; i++)
		reflect_lag(i, 0);
	take_slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS);
	take_slice(3, 0, OAE_F_LAST);
	take_slice(4, 0, 0);
	assert_int_equal(l.rx, PEER_START + 1);
	assert_int_equal(l.nheld, 1);
	port_down();
	assert_null(oae_link_reclaim(&l));
	rcv(BUT(resolved(), f.tx = PEER_START, f.rx = 0, f.sync.inc++, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_ptr_equal(oae_link_reclaim(&l), pair);
}

/* What the link's own two have cost before others were lent is nobody's cost now. */
TEST(test_reclaim_old)
{
	open_wide(PLACES, PLACES);
	grant = MSG;
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	post_msg(1);
	lend();
	reflect(1);
	done(1, MSG);
	post_verbs(2, 3);
	reflect_lag(2, 1);
	reflect_lag(3, 1);
	assert_null(oae_link_reclaim(&l));
	done(2, MSG);
	assert_ptr_equal(oae_link_reclaim(&l), pair);
	post_msg(4);
	assert_non_null(offered(4));
	done(3, MSG);
	assert_int_equal(l.credit.charged, U(MSG));
	reflect_lag(4, 3);
	post_msg(5);
	assert_says_blocked();
}

/* --- what is blocked --- */

/* It is said once, and DONE or READY says that it may go. */
WINDOW_TEST(test_blocked)
{
	unsigned int ready;
	struct oae_link_waits w;

	for (ready = 0; ready < 2; ready++) {
		open_window(state);
		granted(0);
		post_msg(1);
		assert_int_equal(a.nsends, 1);
		assert_says_blocked();
		oae_link_waits(&l, now, &w);
		assert_int_equal(w.why, OAE_WAIT_ROOM);
		assert_int_equal(w.since, now);
		/* That it has been heard says nothing new, nor does what the peer offers. */
		done(0, 0);
		assert_int_equal(a.nsends, 0);
		assert_false(l.await_done);
		take(1, OAE_MESSAGE);
		assert_int_equal(a.nsends, 1);
		if (ready)
			rcv(BUT(frame(OAE_READY), f.grant = 1));
		else
			done(0, 1);
		assert_int_equal(a.nsends, 1);
		assert_non_null(offered(1));
		oae_link_waits(&l, now, &w);
		assert_int_equal(w.why, OAE_WAIT_FLIGHT);
	}
}

/* Whatever frame grants more. */
WINDOW_TEST(test_blocked_any)
{
	granted(0);
	post_msg(1);
	grant = 1;
	take(1, OAE_MESSAGE);
	assert_non_null(sent(OAE_REFLECT));
	assert_non_null(offered(1));

	granted(0);
	assert_says_blocked();
	grant = 1;
	rcv(BUT(frame(OAE_SYNC_ACK), f.sync.caps = PLACES - 1));
	assert_non_null(offered(1));
}

/* As long as anything is in flight its answers say what is granted. */
WINDOW_TEST(test_blocked_in_flight)
{
	granted(0);
	post_verb(&x);
	post_msg(1);
	assert_int_equal(a.nsends, 0);
	refuse_number(1, OAE_R_RANGE);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_null(sent(OAE_COMMIT));
	reflect(1);
	assert_int_equal(a.nsends, 1);
	assert_says_blocked();
}

/* READY that grants too little: it is said once more. */
WINDOW_TEST(test_blocked_again)
{
	granted(0);
	post_msg(1);
	rcv(frame(OAE_READY));
	assert_int_equal(a.nsends, 1);
	assert_says_blocked();
}

/* So is each COMMIT, for whatever reason it is sent. */
WINDOW_TEST(test_blocked_asks)
{
	granted(MSG);
	post_msg(1);
	reflect_lag(1, 0);
	assert_int_equal(sent(OAE_COMMIT)->frame.marks, 0);
	post_msg(2);
	assert_says_blocked();
	clear();
	oae_link_ask(&l, &a);
	assert_says_blocked();
	done(1, 1);
	assert_non_null(offered(2));
	clear();
	oae_link_ask(&l, &a);
	assert_int_equal(sent(OAE_COMMIT)->frame.marks, 0);
}

/* It is said again after eight probe timeouts, then later and later; READY begins that anew. */
LINK_TEST(test_blocked_timer)
{
	u64 pto = oae_link_pto(&l), wait = 8 * pto;
	unsigned int i;

	granted(0);
	post_msg(1);
	for (i = 0; i < 4; i++) {
		done(0, 0);
		fire_at(now + wait - 1);
		assert_int_equal(a.nsends, 0);
		assert_true(l.timer.at <= now + 1);
		fire_at(now + 1);
		assert_int_equal(a.nsends, 1);
		assert_says_blocked();
		wait = 2 * wait < cfg.keepalive ? 2 * wait : cfg.keepalive;
		cfg.keepalive = 1000 * MS;
		cfg.dead = 4000 * MS;
	}
	assert_true(wait > 16 * pto);
	rcv(frame(OAE_READY));
	assert_says_blocked();
	done(0, 0);
	fire_at(now + 8 * pto);
	assert_says_blocked();
}

/* DONE that would confirm something does not come: the timer asks, and gives the run up. */
LINK_TEST(test_blocked_unanswered)
{
	unsigned int i;

	granted(1);
	post_msg(1);
	rcv(answer(OAE_REFLECT));
	post_msg(2);
	assert_says_blocked();
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(noted(OAE_N_ASKED), 1);
	assert_says_blocked();
	for (i = 0; i < 40 && l.state == OAE_OPEN; i++)
		fire_at(l.timer.at);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What is blocked is taken back: nothing is said any more. */
LINK_TEST(test_blocked_cancel)
{
	granted(0);
	post_msg(1);
	done(0, 0);
	assert_int_equal(cancel(&h[1]), 0);
	assert_reversed(&h[1], OAE_E_SIGNAL);
	fire_at(now + 8 * oae_link_pto(&l));
	assert_null(sent(OAE_COMMIT));
	post_verb(&x);
	assert_non_null(sent(OAE_OFFER));
}

/* The post behind what is blocked is: that stays so. */
WINDOW_TEST(test_blocked_cancel_next)
{
	granted(0xffff);
	post_msgs(1, PLACES + 1);
	granted(0);
	assert_says_blocked();
	assert_int_equal(cancel(&h[PLACES + 1]), 0);
	assert_int_equal(a.nsends, 0);
	grant = 1;
	rcv(BUT(frame(OAE_SYNC_ACK), f.sync.caps = PLACES - 1));
	assert_ptr_equal(offered(1)->handle, &h[1]);
}

/* What is blocked has a lane, and is taken back: what is blocked later waits since then. */
WINDOW_TEST(test_blocked_cancel_lane)
{
	struct oae_link_waits w;

	post_msg(1);
	granted(0);
	assert_says_blocked();
	done(0, 0);
	fire_at(now + 8 * oae_link_pto(&l));
	assert_says_blocked();
	done(0, 0);
	assert_int_equal(cancel(&h[1]), 0);
	now += 5 * MS;
	post_msg(2);
	assert_says_blocked();
	oae_link_waits(&l, now, &w);
	assert_int_equal(w.since, now);
	assert_int_equal(l.park_at, now + 8 * oae_link_pto(&l));
}

/* A half does not wait for what is blocked. */
WINDOW_TEST(test_blocked_half)
{
	granted(0);
	post_msg(1);
	post_half(&x);
	assert_int_equal(a.nsends, 1);
	assert_ptr_equal(offered(1)->handle, &x);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.length += CUT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_says_blocked();
	done(1, 1);
	assert_non_null(offered(2));

	/* Nor if that has a lane already: it steps aside, and comes back. */
	open_window(state);
	post_msgs(1, 2);
	granted(0);
	assert_says_blocked();
	post_half(&x);
	assert_ptr_equal(offered(1)->handle, &x);
	assert_int_equal(offered(1)->frame.kind, OAE_SWAP);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.length += CUT, f.grant = 2 * MSG));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_ptr_equal(offered(2)->handle, &h[1]);
	assert_ptr_equal(offered(3)->handle, &h[2]);
}

/* What is granted does not step aside: it goes first. */
WINDOW_TEST(test_granted_half)
{
	granted(MSG);
	post_msg(1);
	post_half(&x);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.naside, 0);
	reflect(1);
	assert_ptr_equal(offered(2)->handle, &x);

	/* Nor if it is the network that does not bear it yet. */
	open_window(state);
	post_msgs(1, 2);
	anew_narrow();
	assert_null(offered(2));
	post_half(&x);
	assert_int_equal(l.naside, 0);
}

/* Nothing, in place of what is reversed, goes. */
WINDOW_TEST(test_blocked_void)
{
	granted(1);
	post_msgs(1, 2);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
}

/* While the link settles nothing new is offered, and nothing said of it. */
WINDOW_TEST(test_blocked_settling)
{
	granted(0);
	clear();
	oae_link_settle(&l, now + 100 * MS, now, &a);
	post_msg(1);
	assert_int_equal(a.nsends, 0);
	clear();
	oae_link_go_on(&l, now, &a);
	assert_says_blocked();
}

/* --- what this end grants --- */

static u16 says(u8 opcode)
{
	assert_non_null(sent(opcode));
	return sent(opcode)->frame.grant;
}

static struct oae_frame ask_me(void)
{
	return BUT(frame(OAE_ASK), f.seq = l.rx + 1);
}

/* What this end grants, as it says when it is asked. */
static u16 grants(void)
{
	rcv(BUT(frame(OAE_COMMIT), f.flags = OAE_F_WANT_DONE));
	return says(OAE_DONE);
}

/* What it grants first, in this test, and no more is free later. */
static void grant_once(u32 bytes)
{
	l.credit.granted = 0;
	inbox = bytes;
	assert_int_equal(grants(), bytes / OAE_GRANT_UNIT);
	inbox = 0;
}

/* Each frame says it, whole units of it. */
WINDOW_TEST(test_grants_each)
{
	grant_once(U(100) + U(1) - 1);
	post_msg(1);
	assert_int_equal(says(OAE_OFFER), 100);
	fire_at(now + oae_link_pto(&l));
	assert_int_equal(says(OAE_ASK), 100);
	reflect(1);
	assert_int_equal(says(OAE_COMMIT), 100);
	take(1, OAE_MESSAGE);
	assert_int_equal(says(OAE_REFLECT), 100);
	rcv(BUT(ask_me(), f.seq++));
	assert_int_equal(says(OAE_ACK), 100);
	computes(OAE_R_CONFLICT, 0);
	take(2, OAE_VERB);
	assert_int_equal(says(OAE_REFUSE), 100);
	words_free();
	assert_int_equal(says(OAE_READY), 100);
	port_down();
	assert_int_equal(says(OAE_SYNC), 100);
	rcv(resolved());
	assert_int_equal(says(OAE_SYNC_ACK), 100);
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0x77));
	assert_int_equal(says(OAE_SYNC_CHK), 100);
	rcv(frame(OAE_DONE));
	close_link();
	assert_int_equal(says(OAE_CLOSE), 100);
	rcv(peer_closes(0, true));
	assert_int_equal(says(OAE_CLOSE_ACK), 100);
}

/* An end that is opened to says so at once. */
TEST(test_grants_accept)
{
	struct oae_frame f;

	one_link(NULL);
	new_link();
	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	clear();
	oae_link_accept(&l, &f, U(7), now, &a);
	assert_int_equal(says(OAE_SYNC), 7);
}

/* Not more than a frame can say. */
LINK_TEST(test_grants_most)
{
	assert_int_equal(grants(), 0xffff);
	l.credit.granted = 0;
	inbox = ~0U;
	assert_int_equal(grants(), 0xffff);
	l.credit.granted = 0;
	inbox = U(0xffff);
	assert_int_equal(grants(), 0xffff);
	l.credit.granted = 0;
	inbox = U(0xffff) - 1;
	assert_int_equal(grants(), 0xfffe);
}

/* It falls by what is delivered, and never by anything else; and rises to what is free. */
WINDOW_TEST(test_grants_less)
{
	grant_once(U(20));
	take(1, OAE_MESSAGE);
	take_slice(2, 0, 0);
	take_slice(2, 1, OAE_F_LAST);
	take(3, OAE_VOID);
	take_verb(4);
	assert_int_equal(grants(), 20);
	commit_to(1);
	assert_int_equal(grants(), (U(20) - COST(1, SLICE)) / U(1));
	commit_to(1);
	assert_int_equal(grants(), (U(20) - COST(3, SLICE)) / U(1));
	commit_to(2);
	assert_int_equal(grants(), (U(20) - COST(3, SLICE)) / U(1));
	inbox = U(12);
	assert_int_equal(grants(), 12);
	inbox = U(11);
	assert_int_equal(grants(), 12);

	/* An express at once. */
	rcv(slice(0, OAE_F_LAST | OAE_F_EXPRESS));
	assert_int_equal(says(OAE_REFLECT), (U(12) - COST(1, SLICE)) / U(1));
}

/* What is reversed, or the end of a run, takes nothing off. */
WINDOW_TEST(test_grants_reversed)
{
	grant_once(U(20));
	take(1, OAE_MESSAGE);
	take(1, OAE_VOID);
	commit_to(1);
	assert_int_equal(grants(), 20);
	take(1, OAE_MESSAGE);
	anew_wide();
	assert_int_equal(says(OAE_SYNC_ACK), 20);
	/* But what resolving delivers does. */
	take(1, OAE_MESSAGE);
	port_down();
	rcv(BUT(resolved(), f.tx++, f.sync.caps = PLACES - 1));
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_int_equal(says(OAE_SYNC_ACK), (U(20) - COST(1, SLICE)) / U(1));
}

/* An exception costs more than was granted: nothing is left. */
WINDOW_TEST(test_grants_nothing)
{
	grant_once(U(1));
	take(1, OAE_MESSAGE);
	assert_non_null(sent(OAE_REFLECT));
	commit_to(1);
	assert_int_equal(grants(), 0);
	take(1, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_NOT_GRANTED), 1);
	/* Less than a unit is nothing as well. */
	open_window(state);
	grant_once(U(5));
	take(1, OAE_MESSAGE);
	commit_to(1);
	assert_int_equal(l.credit.granted, U(5) - COST(1, SLICE));
	assert_int_equal(grants(), 0);
	take(1, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_NOT_GRANTED), 1);
}

/* --- what was not granted --- */

static void assert_dropped(void)
{
	assert_int_equal(noted(OAE_N_NOT_GRANTED), 1);
	assert_int_equal(count_op(OAE_OP_KEEP) + a.nsends, 0);
}

static void assert_kept(void)
{
	assert_int_equal(noted(OAE_N_NOT_GRANTED), 0);
	assert_int_equal(count_op(OAE_OP_KEEP), 1);
}

static void assert_has(u64 have)
{
	rcv(ask_me());
	assert_true(sent(OAE_ACK)->frame.have == have);
}

/* A slice that would cost more is dropped, as if it was lost; the exact amount is kept. */
WINDOW_TEST(test_not_granted)
{
	u32 two = COST(2, SLICE);

	take(2, OAE_VERB);			/* costs nothing */
	grant_once(U(1));
	l.credit.granted = COST(3, SLICE) - 1;
	take(3, OAE_MESSAGE);
	assert_kept();
	take_slice(1, 0, 0);
	assert_kept();
	take_slice(1, 1, OAE_F_LAST);
	assert_dropped();
	assert_has(1);
	l.credit.granted++;
	take_slice(1, 1, OAE_F_LAST);
	assert_kept();
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(l.credit.gathered, two + COST(1, SLICE));
}

/* Nor does a LAST that was dropped say how many slices there are. */
WINDOW_TEST(test_last_not_granted)
{
	grant_once(0);
	take_slice(1, 1, OAE_F_LAST);
	assert_dropped();
	inbox = U(20);
	take_slice(1, 2, OAE_F_LAST);
	assert_kept();
}

/* What frames say is granted, in whole units. */
WINDOW_TEST(test_whole_units)
{
	assert_int_not_equal(COST(2, SLICE) % U(1), 0);
	grant_once(COST(2, SLICE));
	take(2, OAE_MESSAGE);
	assert_kept();
	take_slice(1, 0, 0);
	assert_dropped();
}

/* One slice counts once, however often it comes. */
WINDOW_TEST(test_granted_once)
{
	grant_once(U(1));
	l.credit.granted = COST(2, SLICE);
	take(2, OAE_MESSAGE);
	take(2, OAE_MESSAGE);
	take_slice(1, 0, 0);
	take_slice(1, 0, 0);
	assert_int_equal(noted(OAE_N_DUP_SLICE), 1);
	rcv(BUT(slice(0, 0), f.marks = OAE_M_ANSWER));
	assert_true(sent(OAE_ACK)->frame.have == 1);
	take_slice(1, 1, OAE_F_LAST);
	assert_dropped();
}

/* If nothing else costs anything, one content may cost more; if anything is granted. */
WINDOW_TEST(test_one_costs_more)
{
	unsigned int i;

	grant_once(U(1));
	for (i = 0; i < 3; i++) {
		take_slice(2, i, 0);
		assert_kept();
	}
	take_slice(1, 0, 0);
	assert_dropped();
	take_slice(2, 3, OAE_F_LAST);
	assert_kept();
	take(1, OAE_VOID);
	commit_to(2);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_int_equal(l.credit.gathered, 0);
}

/* A pack costs as a message does; all else costs nothing, and needs no grant. */
WINDOW_TEST(test_kinds_granted)
{
	l.packs = true;
	grant_once(0);
	take(1, OAE_PACK);
	assert_dropped();
	take(1, OAE_VOID);
	assert_non_null(sent(OAE_REFLECT));
	take_verb(2);
	assert_non_null(sent(OAE_REFLECT));
	commit_to(2);
	post_half(&x);
	take(1, OAE_SWAP);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_SWAP);
	assert_int_equal(l.credit.gathered, 0);
}

/* What leaves its number costs nothing any more: reversed, refused, lost with the run. */
WINDOW_TEST(test_leaves)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		open_window(state);
		grant_once(U(1));
		take(2, OAE_MESSAGE);
		take_slice(1, 0, 0);
		assert_dropped();
		if (i == 0)
			take(2, OAE_VOID);
		if (i == 1)
			anew_wide();
		if (i == 2)
			renamed();
		if (i == 3) {
			/* It grows too long. */
			anew_wide();
			cfg.max_len = SLICE;
			take_slice(2, 0, 0);
			take_slice(2, 1, 0);
			assert_refused(2, OAE_R_TOO_BIG);
		}
		assert_int_equal(l.credit.gathered, 0);
		if (i == 2)
			continue;
		take_slice(1, 0, 0);
		assert_kept();
	}
}

/* What an earlier run has left costs once an OFFER with RESUME says that it is of its content. */
WINDOW_TEST(test_resumed)
{
	grant_once(U(1));
	l.credit.granted = COST(3, SLICE);
	take_slice(1, 0, 0);
	take_slice(1, 1, 0);
	anew_wide();
	assert_int_equal(l.credit.gathered, 0);
	take(2, OAE_MESSAGE);
	assert_kept();
	take_slice(1, 2, OAE_F_LAST | OAE_F_RESUME);
	assert_dropped();
	assert_int_equal(l.credit.gathered, COST(3, SLICE));
	assert_has(3);
	l.credit.granted += COST(1, SLICE);
	take_slice(1, 2, OAE_F_LAST | OAE_F_RESUME);
	assert_kept();
	commit_to(2);
	assert_int_equal(l.credit.gathered, 0);
	assert_int_equal(l.credit.granted, 0);

	/* Without RESUME it is of no content any more. */
	grant_once(U(20));
	take_slice(1, 0, 0);
	anew_wide();
	take(2, OAE_MESSAGE);
	take_slice(1, 1, OAE_F_LAST);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	assert_int_equal(l.credit.gathered, COST(2, SLICE));
}

/* --- READY --- */

static void blocked(void)
{
	rcv(BUT(frame(OAE_COMMIT), f.flags = OAE_F_WANT_DONE, f.marks = OAE_M_BLOCKED));
	assert_non_null(sent(OAE_DONE));
}

static void made_room(u32 bytes)
{
	clear();
	oae_link_made_room(&l, bytes, now, &a);
}

/* The peer is blocked, and DONE grants nothing: READY says when there is something. */
LINK_TEST(test_ready_owed)
{
	grant_once(U(1) - 1);
	made_room(U(1));
	assert_int_equal(a.nsends, 0);
	blocked();
	assert_int_equal(says(OAE_DONE), 0);
	assert_true(oae_link_owes_credit(&l));
	made_room(U(1) - 1);
	assert_int_equal(a.nsends, 0);
	assert_true(oae_link_owes_credit(&l));
	/* Words are none. */
	words_free();
	assert_int_equal(a.nsends, 0);
	made_room(U(3));
	assert_int_equal(a.nsends, 1);
	assert_int_equal(says(OAE_READY), 3);
	assert_int_equal(sent(OAE_READY)->frame.seq, 0);
	assert_false(oae_link_owes_credit(&l));
	made_room(U(4));
	assert_int_equal(a.nsends, 0);

	/* If anything is granted DONE says so, and that is all. */
	blocked();
	assert_int_equal(says(OAE_DONE), 3);
	assert_false(oae_link_owes_credit(&l));
}

/* A part of a unit is left: DONE says 0. */
LINK_TEST(test_ready_part)
{
	grant_once(U(5));
	rcv(slice(0, OAE_F_LAST));
	commit(0);
	blocked();
	assert_int_equal(says(OAE_DONE), 0);
	assert_true(oae_link_owes_credit(&l));
}

/* A peer that has not said that it is blocked needs none; nor does a new run. */
LINK_TEST(test_ready_not_owed)
{
	grant_once(0);
	assert_int_equal(grants(), 0);
	assert_false(oae_link_owes_credit(&l));
	blocked();
	port_down();
	made_room(U(4));
	assert_int_equal(a.nsends, 0);
	rcv(resolved());
	assert_false(oae_link_owes_credit(&l));
	blocked();
	assert_true(oae_link_owes_credit(&l));
}

/* A clock that jumped back: the link has its timer, whether READY is due or not. */
LINK_TEST(test_ready_by_another_clock)
{
	grant_once(0);
	blocked();
	now -= 100000 * MS;
	made_room(U(1));
	assert_non_null(sent(OAE_READY));
	assert_in_range(l.timer.at, now, now + cfg.dead);
	now -= 100000 * MS;
	made_room(U(1));
	words_free();
	assert_int_not_equal(l.timer.at, 0);
}

/* --- what is refused for now --- */

/* While one is parked nothing new goes out, and nothing above it again. */
WINDOW_TEST(test_parked)
{
	post_some(1, 5);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	post_some(6, 6);
	assert_null(sent(OAE_OFFER));
	reflect(l.tx + 3);
	reflect(l.tx + 4);
	reflect(l.tx + 5);
	assert_null(sent(OAE_OFFER));
	/* Nothing, in place of what is reversed, does not wait. */
	cancel(&h[4]);
	assert_int_equal(offered(l.tx + 4)->frame.kind, OAE_VOID);
	assert_int_equal(a.nsends, 1);
	ready();
	assert_non_null(offered(l.tx + 1));
	assert_non_null(offered(l.tx + 2));
	assert_non_null(offered(l.tx + 6));
}

/* READY brings back all, the timer the lowest, all slices of it. */
WINDOW_TEST(test_ready)
{
	post(&h[1], 3, 0);
	post_some(2, 3);
	refuse_number(1, OAE_R_BUSY);
	refuse_number(2, OAE_R_BUSY);
	refuse_number(3, OAE_R_BUSY);
	ready();
	assert_int_equal(offered(1)->slices, 7);
	assert_non_null(offered(2));
	assert_non_null(offered(3));
	refuse_number(1, OAE_R_BUSY);
	refuse_number(3, OAE_R_BUSY);
	fire_at(l.park_at);
	assert_int_equal(offered(1)->slices, 7);
	assert_null(offered(3));
}

/* READY is lost: later and later; a READY, or a commit, begins that anew. */
WINDOW_TEST(test_parked_asks)
{
	u64 began, pto = oae_link_pto(&l), wait = 8 * pto;
	unsigned int i;

	post(&h[1], 3, 0);
	for (i = 0; i < 3; i++) {
		began = now;
		refuse_number(1, OAE_R_BUSY);
		assert_int_equal(l.park_at, began + wait);
		fire_at(began + wait);
		assert_int_equal(offered(1)->slices, 7);
		wait = 2 * wait < cfg.keepalive ? 2 * wait : cfg.keepalive;
	}
	assert_int_equal(l.park_iv, 4 * 8 * pto < cfg.keepalive ? 4 * 8 * pto : cfg.keepalive);
	refuse_number(1, OAE_R_BUSY);
	ready();
	assert_int_equal(offered(1)->slices, 7);
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(l.park_at, now + 8 * pto);
}

UNIT_MAIN("credit")
