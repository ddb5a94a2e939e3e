// SPDX-License-Identifier: GPL-2.0
/*
 * Several transactions under way on one link, each way (doc/protocol.md section 4.11): how
 * many, what is committed, what becomes of them in the next run, and the places lent for
 * them. What is lost of them is in test_link_repair.c and test_link_overtaken.c, what is
 * granted in test_link_credit.c, what is held in test_link_window_hold.c.
 */
#include "one_window.h"

/* --- how many --- */

TEST(test_smaller_window)
{
	open_wide(8, 3);
	lend();
	assert_int_equal(oae_window_limit(&l), 3);
	open_wide(3, 8);
	lend();
	assert_int_equal(oae_window_limit(&l), 3);
	open_wide(8, 1);
	lend();
	assert_int_equal(oae_window_limit(&l), 1);
}

/* A window is under way, of a small network less. */
WINDOW_TEST(test_limit)
{
	post_some(1, PLACES + 1);
	assert_int_equal(l.given, PLACES);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_non_null(offered(PLACES + 1));

	open_window(state);
	l.cong.cwnd = 3;
	post_some(1, 4);
	assert_int_equal(l.given, 3);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_non_null(offered(4));
}

/* The next one waits since it is the first, not since it was offered. */
WINDOW_TEST(test_waits_since)
{
	struct oae_link_waits w;

	post_some(1, 2);
	now += MS;
	reflect(1);
	oae_link_waits(&l, now, &w);
	assert_int_equal(w.why, OAE_WAIT_FLIGHT);
	assert_int_equal(w.since, now);
}

/* Without places there is a window of one, until they are lent. */
TEST(test_places)
{
	open_wide(PLACES, PLACES);
	post_some(1, 1);
	assert_non_null(offered(1));
	assert_int_equal(oae_link_lacks(&l), 0);
	post_some(2, 2);
	assert_null(offered(2));
	assert_int_equal(oae_link_lacks(&l), PLACES);
	lend();
	assert_non_null(offered(2));
	assert_int_equal(oae_link_lacks(&l), 0);
	/* What went out before is where it was. */
	reflect(1);
	assert_true(ended(&h[1], OAE_COMMITTED));
}

static bool lacks_for(struct oae_frame f)
{
	return oae_link_lacks_for(&l, &f);
}

/* Whoever knows no ltag, or is a peer with a window of one, has no places lent. */
TEST(test_places_for)
{
	struct oae_frame o;

	open_wide(PLACES, PLACES);
	o = slice(0, OAE_F_LAST);
	assert_false(lacks_for(o));
	assert_true(lacks_for(BUT(o, f.seq++)));
	/* The number before may be committed by the same frame. */
	assert_true(lacks_for(BUT(o, f.seq += PLACES)));
	assert_false(lacks_for(BUT(o, f.seq += PLACES + 1)));
	assert_false(lacks_for(BUT(o, f.seq--)));
	assert_false(lacks_for(BUT(o, f.seq++, f.src_ltag++)));
	assert_false(lacks_for(BUT(o, f.seq++, f.dst_ltag++)));
	lend();
	assert_false(lacks_for(BUT(o, f.seq++)));
	open_wide(PLACES, 1);
	o = slice(0, OAE_F_LAST);
	assert_false(lacks_for(BUT(o, f.seq++)));
}

/* An event sends a few; the others are not forgotten. */
WINDOW_TEST(test_more)
{
	unsigned int i, n;

	post_some(1, PLACES);
	anew_narrow();
	for (i = l.tx + 2; i <= l.tx + PLACES; i++)
		assert_null(offered(i));
	l.cong.cwnd = PLACES;
	reflect(l.tx + 1);
	n = a.nsends;
	assert_in_range(n, 2, OAE_MAX_SENDS - 1);
	assert_true(oae_link_more(&l));
	clear();
	oae_link_pump(&l, now, &a);
	assert_int_equal(n + a.nsends, PLACES - 1);
	assert_false(oae_link_more(&l));

	/* The same of what is offered again. */
	for (i = 1; i < PLACES; i++)
		refuse_number(l.tx + i, OAE_R_BUSY);
	ready();
	assert_in_range(a.nsends, 2, PLACES - 2);
	assert_true(oae_link_more(&l));
	n = a.nsends;
	clear();
	oae_link_pump(&l, now, &a);
	assert_int_equal(n + a.nsends, PLACES - 1);
}

/* --- what is committed --- */

WINDOW_TEST(test_prefix)
{
	post_some(1, 3);
	reflect(2);
	assert_int_equal(l.tx, 0);
	assert_false(op(OAE_OP_COMPLETE));
	/* Reflected is reflected. */
	refuse_number(2, OAE_R_BUSY);
	assert_int_equal(noted(OAE_N_PARKED), 0);
	reflect(1);
	assert_int_equal(l.tx, 2);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_true(op(OAE_OP_COMPLETE)->handle == &h[1]);
	assert_int_equal(sent(OAE_COMMIT)->frame.tx, 2);
}

/* What was committed and is not known to be delivered, up to a window. */
WINDOW_TEST(test_unconfirmed)
{
	peer_lag = 2;
	post_some(1, 2);
	reflect(1);
	reflect(2);
	assert_int_equal(l.tx, 2);
	assert_false(oae_link_all_confirmed(&l));
	renamed();
	assert_int_equal(noted(OAE_N_UNCONFIRMED), 2);
}

/* A peer cannot hold a number that is more than a window above what it has delivered. */
WINDOW_TEST(test_unconfirmed_bound)
{
	unsigned int i;

	post_some(1, 1);
	reflect(1);
	for (i = 1; i < PLACES; i++) {
		peer_lag = i;
		post_some(1, 1);
		reflect(l.tx + 1);
	}
	assert_int_equal(l.state, OAE_OPEN);
	post_some(2, 2);
	peer_lag = PLACES;
	reflect(l.tx + 1);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_false(op(OAE_OP_COMPLETE));
	renamed();
	assert_int_equal(noted(OAE_N_UNCONFIRMED), PLACES);
}

/* DONE confirms what it says, and no more; a late frame takes nothing back. */
WINDOW_TEST(test_done)
{
	peer_lag = 2;
	post_some(1, 2);
	reflect(1);
	reflect(2);
	confirm();
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	peer_lag = 1;
	rcv(frame(OAE_DONE));
	assert_false(op(OAE_OP_CONFIRMED));
	peer_lag = 0;
	rcv(frame(OAE_DONE));
	assert_int_equal(op(OAE_OP_CONFIRMED)->seq, 2);
	peer_lag = 1;
	rcv(frame(OAE_DONE));
	assert_true(oae_link_all_confirmed(&l));
}

/* A number that was given is not given back: nothing takes its place. */
WINDOW_TEST(test_void)
{
	const struct oae_send *s;

	post_some(1, 2);
	reflect(2);
	assert_int_equal(cancel(&h[1]), 0);
	assert_reversed(&h[1], OAE_E_SIGNAL);
	s = offered(1);
	assert_int_equal(s->frame.kind, OAE_VOID);
	assert_true(s->frame.flags & OAE_F_LAST);
	assert_null(s->handle);
	assert_int_equal(cancel(NULL), -ENOENT);
	reflect(1);
	assert_int_equal(l.tx, 2);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
	assert_true(ended(&h[2], OAE_COMMITTED));
}

/* What was reflected, and is reversed then, is not reflected any more. */
WINDOW_TEST(test_void_reflected)
{
	post_some(1, 2);
	reflect(2);
	assert_int_equal(cancel(&h[2]), 0);
	assert_int_equal(offered(2)->frame.kind, OAE_VOID);
	reflect(1);
	assert_int_equal(l.tx, 1);
}

/* --- the next run --- */

/* Nothing stands for what was reversed once the run is over: nothing waits any more. */
WINDOW_TEST(test_void_froze)
{
	post_some(1, 1);
	cancel(&h[1]);
	port_down();
	fire_at(now + cfg.dead);
	assert_int_equal(noted(OAE_N_DOWN), 1);
	/* A post has the dead time to find the peer. */
	post_some(2, 2);
	assert_non_null(sent(OAE_SYNC));
	fire_at(now + cfg.dead / 2);
	assert_false(op(OAE_OP_COMPLETE));
	fire_at(now + cfg.dead / 2);
	assert_reversed(&h[2], OAE_E_DOWN);
	fire_at(now + OAE_FORGET_DEAD * cfg.dead);
	assert_non_null(op(OAE_OP_GONE));
}

/* --- what is lost --- */

/* Nothing of the numbers of a run is left in the next one. */
WINDOW_TEST(test_void_goes)
{
	post_some(1, 2);
	cancel(&h[1]);
	anew_wide();
	assert_int_equal(offered(1)->frame.kind, OAE_MESSAGE);
	assert_true(offered(1)->handle == &h[2]);
	assert_null(offered(2));
}

/* Contents move down while the link is frozen. */
WINDOW_TEST(test_moved_down)
{
	post(&h[1], 1, 0);
	post(&h[2], 2, 0);
	post(&h[3], 2, 0);
	port_down();
	assert_int_equal(cancel(&h[1]), 0);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_true(offered(1)->handle == &h[2]);
	assert_true(offered(2)->handle == &h[3]);
}

/*
 * An express that was in flight keeps its number, and what was posted behind it waits, as
 * long as an earlier run may deliver it.
 */
WINDOW_TEST(test_express_stays)
{
	post(&x, 1, OAE_POST_EXPRESS);
	post_some(1, 1);
	assert_null(sent(OAE_OFFER));
	port_down();
	/* The peer is frozen, and may still open into the run before. */
	rcv(BUT(resolved(), f.opcode = OAE_SYNC, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(offered(1)->handle == &x);
	assert_int_equal(a.nsends, 2);
	anew_wide();
	assert_true(offered(1)->handle == &x);
	assert_null(offered(2));
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(2)->handle == &h[1]);
}

/* x was offered, and is wanted back while the link is frozen. */
static void recall_frozen(void)
{
	open_window(NULL);
	post(&x, 1, OAE_POST_EXPRESS);
	post_some(1, 1);
	port_down();
	assert_int_equal(cancel(&x), -EINPROGRESS);
	assert_null(op(OAE_OP_COMPLETE));
}

/* If it is wanted back it keeps its number, too: nothing is offered there in each run. */
WINDOW_TEST(test_express_recalled)
{
	unsigned int i;

	recall_frozen();
	rcv(BUT(resolved(), f.opcode = OAE_SYNC, f.sync.caps = PLACES - 1));
	for (i = 0; i < 2; i++) {
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(offered(1)->frame.kind, OAE_VOID);
		assert_null(offered(1)->handle);
		assert_null(offered(2));
		anew_wide();
	}
	reflect(1);
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_true(offered(2)->handle == &h[1]);

	/* The peer had delivered it, and says so: as an answer, or when it resolves. */
	recall_frozen();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.kind = OAE_MESSAGE, f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(2)->handle == &h[1]);

	recall_frozen();
	rcv(BUT(resolved(), f.rx++, f.sync.caps = PLACES - 1));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(2)->handle == &h[1]);

	/* The peer has died: nobody knows. */
	recall_frozen();
	rcv(BUT(resolved(), f.tx = PEER_START, f.rx = 0, f.sync.inc++, f.sync.caps = PLACES - 1));
	assert_true(ended(&x, OAE_UNKNOWN));
	assert_true(offered(1)->handle == &h[1]);
}

/* The next run has a window of one: nothing, too, is committed before the next is offered. */
WINDOW_TEST(test_narrow)
{
	post_some(1, 2);
	anew();
	assert_non_null(offered(1));
	assert_null(offered(2));
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_null(offered(2));
	reflect(1);
	assert_int_equal(l.tx, 1);
	assert_true(offered(2)->handle == &h[2]);
}

/* Two step aside for a half, and come back in order. */
WINDOW_TEST(test_narrow_aside)
{
	post_some(1, 2);
	anew();
	refuse_number(1, OAE_R_BUSY);
	post_half(&x);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	reflect(1);
	assert_true(offered(2)->handle == &x);
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.length += CUT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(3)->handle == &h[1]);
	reflect(3);
	assert_true(offered(4)->handle == &h[2]);
}

/* --- what goes alone, and what is in doubt --- */

/* Nothing, in place of what is reversed, keeps its number, and does not step aside. */
WINDOW_TEST(test_void_aside)
{
	post_some(1, 3);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	assert_int_equal(cancel(&h[2]), 0);
	assert_int_equal(offered(l.tx + 2)->frame.kind, OAE_VOID);
	post_half(&x);
	assert_int_equal(l.naside, 2);
	assert_true(oae_aside(&l, 0)->handle == &h[1]);
	assert_true(oae_aside(&l, 1)->handle == &h[3]);
}

/* A message that is refused after others stepped aside was below them, and comes back first. */
WINDOW_TEST(test_aside_twice)
{
	post_some(1, 3);
	refuse_number(l.tx + 2, OAE_R_BUSY);
	post_half(&x);
	assert_int_equal(l.naside, 2);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	assert_int_equal(l.naside, 3);
	reflect(3);
	reflect(2);
	reflect(1);
	assert_true(offered(4)->handle == &x);
	rcv(BUT(answer_to(OAE_REFLECT, 4), f.length += CUT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(5)->handle == &h[1]);
	assert_true(offered(6)->handle == &h[2]);
	assert_true(offered(7)->handle == &h[3]);
}

/* One of those that stepped aside is reversed: the others come back, in their order. */
WINDOW_TEST(test_aside_reversed)
{
	post_some(1, 3);
	refuse_number(1, OAE_R_BUSY);
	post_half(&x);
	assert_int_equal(cancel(&h[1]), 0);
	assert_reversed(&h[1], OAE_E_SIGNAL);
	for (; l.nlanes > 1 || !offered(4); reflect(l.tx + 1))
		assert_true(l.tx < 4);
	rcv(BUT(answer_to(OAE_REFLECT, 4), f.length += CUT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(5)->handle == &h[2]);
	assert_true(offered(6)->handle == &h[3]);
}

/* What waits behind a half that is taken back goes out, whatever else is under way. */
WINDOW_TEST(test_half_taken_back)
{
	post_some(1, 1);
	post_half(&x);
	post_some(2, 2);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(cancel(&x), 0);
	assert_reversed(&x, OAE_E_SIGNAL);
	assert_true(offered(2)->handle == &h[2]);
	/* Its turn is over: the next half is the next. */
	post_half(&y);
	post_some(3, 3);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	reflect(2);
	assert_true(offered(3)->handle == &y);
}

/* Behind an express nothing goes out, nor before those in front of it have ended. */
WINDOW_TEST(test_barrier)
{
	post_some(1, 1);
	post(&x, 1, OAE_POST_EXPRESS);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_true(offered(2)->handle == &x);
	post_some(2, 2);
	assert_null(sent(OAE_OFFER));
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.rx++));
	assert_true(offered(3)->handle == &h[2]);
}

/* What is in flight above the next number is in doubt as well. */
WINDOW_TEST(test_in_doubt)
{
	post_some(1, 2);
	refuse_number(1, OAE_R_BUSY);
	assert_true(oae_link_undecided(&l));
	open_window(state);
	post_some(1, 1);
	refuse_number(1, OAE_R_BUSY);
	assert_false(oae_link_undecided(&l));
}

/* --- what is shown --- */

/* Under way, how many frames may be, and how many numbers both ends agreed on. */
WINDOW_TEST(test_shown)
{
	struct oae_link_view v;
	unsigned int i;

	post_some(1, 3);
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 3);
	assert_int_equal(v.cwnd, 10);
	assert_int_equal(v.window, PLACES);
	port_down();
	l.cong.cwnd = 300;
	rcv(BUT(resolved(), f.sync.caps = 1));
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 2);
	assert_int_equal(v.cwnd, 300);
	assert_int_equal(v.window, 2);
	for (i = 1; i <= 3; i++)
		reflect(i);
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 0);
	assert_int_equal(v.window, 2);
}

/* --- places --- */

/* What is held, and what is remembered of an express, moves to the places lent. */
TEST(test_lend_held)
{
	u64 digest;

	open_wide(PLACES, PLACES);
	take(1, OAE_MESSAGE);
	lend();
	commit_to(1);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);

	open_wide(PLACES, PLACES);
	rcv(slice(0, OAE_F_LAST | OAE_F_EXPRESS));
	digest = sent(OAE_REFLECT)->frame.reflect.digest;
	lend();
	rcv(BUT(slice(0, OAE_F_LAST | OAE_F_EXPRESS), f.seq--));
	assert_true(sent(OAE_REFLECT)->frame.reflect.digest == digest);
	assert_int_equal(sent(OAE_REFLECT)->frame.reflect.first, 77);
}

/* So does what is offered, wherever its counters begin. */
TEST(test_lend_offered)
{
	open_wide(PLACES, PLACES);
	post(&x, 1, 0);
	reflect(1);
	renamed();
	rcv(BUT(resolved(), f.tx = PEER_START, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(l.tx, 0);
	post(&y, 1, 0);
	lend();
	reflect(1);
	assert_true(ended(&y, OAE_COMMITTED));
}

static struct oae_pair **reclaim(void)
{
	return oae_link_reclaim(&l);
}

/* Places that are in use are not taken back. */
WINDOW_TEST(test_reclaim)
{
	assert_ptr_equal(reclaim(), pair);
	assert_null(reclaim());
	post_some(1, 1);
	reflect(1);
	assert_int_equal(l.tx, 1);

	open_window(state);
	post_some(1, 1);
	assert_null(reclaim());
	assert_int_equal(cancel(&h[1]), 0);
	assert_null(reclaim());
	reflect(1);
	assert_ptr_equal(reclaim(), pair);

	open_window(state);
	take(2, OAE_MESSAGE);
	assert_null(reclaim());

	open_window(state);
	rcv(slice(0, OAE_F_LAST | OAE_F_EXPRESS));
	assert_null(reclaim());
}

static char *deepest;

/* Carries ops out, one at a time, and looks how deep the stack is. */
static void look_down(struct oae_actions *some)
{
	char *here = __builtin_frame_address(0);

	if (!deepest || here < deepest)
		deepest = here;
	some->nops = OAE_MAX_OPS - 1;
}

/* How deep the stack gets if so many verbs no longer fit a frame, bytes. */
static size_t depth_of_too_long(unsigned int n)
{
	unsigned int i;

	for (i = 1; i <= n; i++)
		post_kind(&h[i], OAE_VERB, 1000, 0);
	clear();
	oae_link_set_mtu(&l, 500, now, &a);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	clear();
	a.nops = OAE_MAX_OPS;
	a.full = look_down;
	deepest = NULL;
	now += cfg.dead;
	oae_link_timer(&l, now, &a);
	assert_int_equal(l.nlanes, 0);
	return (char *)__builtin_frame_address(0) - deepest;
}

/* A kernel's stack is short: many verbs take no more of it than a few. */
WINDOW_TEST(test_too_long_stack)
{
	size_t two;

	two = depth_of_too_long(2);
	open_window(state);
	assert_int_equal(depth_of_too_long(PLACES), two);
}

/* A link that ends keeps its places, for whoever frees them. */
WINDOW_TEST(test_end)
{
	post_some(1, 2);
	kill_link(OAE_E_CANCEL);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
	assert_int_equal(a.nsends, 0);
	assert_ptr_equal(l.pair, pair);
}

UNIT_MAIN("window")
