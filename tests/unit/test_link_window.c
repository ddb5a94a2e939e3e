// SPDX-License-Identifier: GPL-2.0
/*
 * Several transactions under way on one link, each way (doc/protocol.md section 4.11):
 * what is committed, offered again, refused, held, and for how many there are places.
 */
#include "one_link.h"
#include "../../modoae/link/link_int.h"

#define PLACES	8

static struct oae_pair place[PLACES], *pair[PLACES];
static char h[2 * PLACES];		/* handles */

static void lend(u32 room)
{
	unsigned int i;

	memset(place, 0, sizeof(place));
	for (i = 0; i < PLACES; i++)
		pair[i] = &place[i];
	clear();
	oae_link_lend(&l, pair, PLACES, room, now, &a);
	assert_false(a.overflow);
}

/* A link whose run has a window, if both ends have one. */
static void open_wide(u8 mine, u8 theirs)
{
	struct oae_frame f;

	one_link(NULL);
	cfg.window = mine;
	new_link();
	clear();
	oae_link_open(&l, now, &a);
	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	f.tx = PEER_START;
	f.sync.caps = theirs - 1;
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
}

static int open_window(void **state)
{
	(void)state;
	open_wide(PLACES, PLACES);
	lend(PLACES);
	return 0;
}

#define WINDOW_TEST(test)	UNIT_TEST(test, open_window, NULL)

/* The next run has a window, too. */
static void anew_wide(void)
{
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
}

/* An answer to what is offered under a number of mine, the first is 1. */
static struct oae_frame answer_to(u8 opcode, u32 seq)
{
	const struct oae_lane *n = oae_lane(&l, seq);
	struct oae_frame f = frame(opcode);

	f.seq = seq;
	f.attempt = n->attempt;
	f.kind = n->p.kind;
	if (opcode == OAE_REFLECT) {
		f.reflect.digest = n->p.digest;
		f.reflect.first = n->p.first;
		f.length = OAE_REFLECT_LEN + n->p.reply;
	}
	return f;
}

static void reflect(u32 seq)
{
	rcv(answer_to(OAE_REFLECT, seq));
}

static void refuse_number(u32 seq, u16 reason)
{
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = reason));
}

/* The peer has room for the numbers up to this. */
static void ready(u32 seq)
{
	rcv(BUT(frame(OAE_READY), f.seq = seq));
}

static void post_some(unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		post(&h[from], 1, 0);
}

/* Many commits: the network bears a whole window. */
static void grow(void)
{
	unsigned int i;

	for (i = 0; i < PLACES; i++) {
		post(&x, 1, 0);
		reflect(l.tx + 1);
	}
	assert_int_equal(oae_window_limit(&l), PLACES);
}

/* The OFFER of a number in the last event. */
static const struct oae_send *offered(u32 seq)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_OFFER && a.send[i].frame.seq == seq)
			return &a.send[i];
	return NULL;
}

/* A slice of the peer's number so far above what is delivered here; the room here. */
static void take(u32 above, u8 attempt, u8 kind, u32 room)
{
	struct oae_frame f = slice(attempt, 0, OAE_F_LAST);

	f.seq = l.rx + above;
	f.kind = kind;
	if (kind == OAE_VOID)
		f.length = 0;
	clear();
	oae_link_rcv(&l, &f, room, now, &a);
	assert_false(a.overflow);
}

static void assert_refused(u32 above, u16 reason)
{
	const struct oae_send *s = sent(OAE_REFUSE);

	assert_non_null(s);
	assert_int_equal(s->frame.seq, l.rx + above);
	assert_int_equal(s->frame.reason, reason);
}

/* A slice of one that has more than one. */
static void take_slice(u32 above, u8 attempt, u16 index, u8 flags, u32 room)
{
	struct oae_frame f = slice(attempt, index, flags);

	f.seq = l.rx + above;
	clear();
	oae_link_rcv(&l, &f, room, now, &a);
	assert_false(a.overflow);
}

/* The peer has committed so many of those that are held. */
static void commit_to(u32 n)
{
	rcv(BUT(frame(OAE_COMMIT), f.tx += n, f.seq = f.tx));
}

static void read_one(u32 room)
{
	clear();
	oae_link_drained(&l, room, now, &a);
}

/* --- how many --- */

TEST(test_smaller_window)
{
	open_wide(8, 3);
	lend(PLACES);
	assert_int_equal(oae_window_limit(&l), 3);
	/* A loss leaves half of these. */
	post(&h[1], 3, 0);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(l.cwnd, 1);
	open_wide(3, 8);
	lend(PLACES);
	assert_int_equal(oae_window_limit(&l), 3);
	open_wide(8, 1);
	lend(PLACES);
	assert_int_equal(oae_window_limit(&l), 1);
}

/* Four at first, one more with each commit; after a freeze one, then fewer at a time. */
WINDOW_TEST(test_limit)
{
	unsigned int i;

	assert_int_equal(oae_window_limit(&l), 4);
	post_some(1, 5);
	assert_int_equal(l.given, 4);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(oae_window_limit(&l), 5);
	assert_non_null(offered(5));

	open_window(state);
	anew_wide();
	for (i = 1; i <= 2; i++) {
		assert_int_equal(oae_window_limit(&l), i);
		post(&x, 1, 0);
		reflect(l.tx + 1);
	}
	/* Half of the four that were too many: from here one a window. */
	assert_int_equal(oae_window_limit(&l), 2);
	post(&x, 1, 0);
	reflect(l.tx + 1);
	assert_int_equal(oae_window_limit(&l), 3);
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
	lend(PLACES);
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

/* Whoever knows no ltag, or is no peer with a window, has no places lent. */
TEST(test_places_for)
{
	struct oae_frame o;

	open_wide(PLACES, PLACES);
	o = slice(1, 0, OAE_F_LAST);
	assert_false(lacks_for(o));
	assert_true(lacks_for(BUT(o, f.seq++)));
	/* The number before may be committed by the same frame. */
	assert_true(lacks_for(BUT(o, f.seq += PLACES)));
	assert_false(lacks_for(BUT(o, f.seq += PLACES + 1)));
	assert_false(lacks_for(BUT(o, f.seq--)));
	assert_false(lacks_for(BUT(o, f.seq++, f.src_ltag++)));
	assert_false(lacks_for(BUT(o, f.seq++, f.dst_ltag++)));
	lend(1);
	assert_false(lacks_for(BUT(o, f.seq++)));
	open_wide(PLACES, 1);
	o = slice(1, 0, OAE_F_LAST);
	assert_false(lacks_for(BUT(o, f.seq++)));
}

/* An event sends a few; the others are not forgotten. */
WINDOW_TEST(test_more)
{
	unsigned int i, n;

	grow();
	post_some(1, PLACES);
	anew_wide();
	for (i = l.tx + 2; i <= l.tx + PLACES; i++)
		assert_null(offered(i));
	l.cwnd = PLACES;
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
	ready(l.tx + PLACES);
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

	grow();
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
	assert_null(sent(OAE_REVERSE));
	s = offered(1);
	assert_int_equal(s->frame.kind, OAE_VOID);
	assert_int_equal(s->frame.attempt, 2);
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

/* An attempt belongs to the number: the next content of it goes on. */
TEST(test_attempts_move)
{
	open_link(state);
	post(&x, 2, 0);
	cancel(&x);
	lend(PLACES);
	post(&y, 2, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	/* Another content than the first: no RESUME. */
	anew();
	assert_false(sent(OAE_OFFER)->frame.flags & OAE_F_RESUME);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
}

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

/* Contents that move down while frozen are not resumed: the numbers had others. */
WINDOW_TEST(test_moved_down)
{
	post(&h[1], 1, 0);
	post(&h[2], 2, 0);
	post(&h[3], 2, 0);
	port_down();
	assert_int_equal(cancel(&h[1]), 0);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_true(offered(1)->handle == &h[2]);
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
	reflect(1);
	assert_true(offered(2)->handle == &h[3]);
	assert_false(offered(2)->frame.flags & OAE_F_RESUME);
}

/* Each number that has had one content is resumed, not only the next one. */
WINDOW_TEST(test_resumed)
{
	post(&x, 1, 0);
	reflect(1);
	post(&h[1], 2, 0);
	post(&h[2], 2, 0);
	post(&h[3], 2, 0);
	assert_int_equal(cancel(&h[3]), 0);
	post(&h[4], 2, 0);
	anew_wide();
	assert_true(offered(2)->frame.flags & OAE_F_RESUME);
	reflect(2);
	assert_true(offered(3)->frame.flags & OAE_F_RESUME);
	/* There was another before. */
	assert_true(offered(4)->handle == &h[4]);
	assert_false(offered(4)->frame.flags & OAE_F_RESUME);
}

/*
 * An express that was in flight keeps its number, and what was posted behind it waits, as
 * long as an earlier run may deliver it. Nobody takes it back.
 */
WINDOW_TEST(test_express_stays)
{
	post(&x, 1, OAE_POST_EXPRESS);
	post_some(1, 1);
	assert_null(sent(OAE_OFFER));
	port_down();
	assert_int_equal(cancel(&x), -EINPROGRESS);
	/* The peer is frozen, and may still open into the run before. */
	rcv(BUT(resolved(), f.opcode = OAE_SYNC, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(offered(1)->handle == &x);
	assert_int_equal(a.nsends, 2);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	anew_wide();
	assert_true(offered(1)->handle == &x);
	assert_null(offered(2));
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.rx++));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_true(offered(2)->handle == &h[1]);
}

/* The next run has no window: a number has one content, and then another. */
WINDOW_TEST(test_narrow)
{
	post_some(1, 2);
	anew();
	assert_non_null(offered(1));
	assert_null(offered(2));
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(sent(OAE_REVERSE)->frame.attempt, 1);
	assert_true(offered(1)->handle == &h[2]);
	assert_int_equal(offered(1)->frame.attempt, 2);
}

/* Two step aside for a half: without READY the first is parked again, not the last. */
WINDOW_TEST(test_narrow_aside)
{
	post_some(1, 2);
	anew();
	refuse_number(1, OAE_R_BUSY);
	post_half(&x);
	assert_true(offered(1)->handle == &x);
	rcv(BUT(answer_to(OAE_REFLECT, 1), f.length += CUT));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_null(sent(OAE_OFFER));
	ready(2);
	assert_true(offered(2)->handle == &h[1]);
	reflect(2);
	assert_true(offered(3)->handle == &h[2]);
}

/* Nothing, in place of what is reversed, keeps its number, and does not step aside. */
WINDOW_TEST(test_void_aside)
{
	grow();
	post_some(1, 3);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	assert_int_equal(cancel(&h[2]), 0);
	assert_int_equal(offered(l.tx + 2)->frame.kind, OAE_VOID);
	post_half(&x);
	assert_int_equal(l.naside, 2);
	assert_true(oae_aside(&l, 0)->handle == &h[1]);
	assert_true(oae_aside(&l, 1)->handle == &h[3]);
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

/* Passed by three: offered again, LAST alone, with RESUME. */
WINDOW_TEST(test_passed)
{
	/* No other content was ever offered under this number. */
	l.dirty = 0;
	post(&h[1], 2, 0);
	post_some(2, 4);
	reflect(2);
	reflect(3);
	assert_null(sent(OAE_OFFER));
	reflect(4);
	assert_int_equal(offered(1)->frame.attempt, 2);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 2);
	assert_int_equal(oae_window_limit(&l), 2);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	assert_int_equal(noted(OAE_N_STALL), 0);
}

/* A refusal passes what was offered before, too. */
WINDOW_TEST(test_passed_by_refusals)
{
	post_some(1, 4);
	refuse_number(2, OAE_R_TOO_BIG);
	refuse_number(3, OAE_R_TOO_BIG);
	assert_null(offered(1));
	refuse_number(4, OAE_R_TOO_BIG);
	assert_non_null(offered(1));
}

/* Nor does what passes wait for another event if it is offered again itself. */
WINDOW_TEST(test_passed_at_once)
{
	post_some(1, 3);
	post(&h[4], 2, 0);
	reflect(2);
	reflect(3);
	rcv(BUT(answer_to(OAE_REFUSE, 4), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_non_null(offered(4));
	assert_non_null(offered(1));

	open_window(state);
	post_some(1, 4);
	reflect(2);
	reflect(3);
	ready(4);
	refuse_number(4, OAE_R_BUSY);
	assert_non_null(offered(4));
	assert_non_null(offered(1));
}

/* What was offered before it passes nothing. */
WINDOW_TEST(test_not_passed)
{
	post_some(1, 4);
	reflect(1);
	reflect(2);
	reflect(3);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.tx, 3);
}

/* All losses of one window are one. */
WINDOW_TEST(test_halved_once)
{
	unsigned int i;
	u32 tx;

	grow();
	tx = l.tx;
	i = l.cwnd;
	post_some(1, 5);
	reflect(tx + 3);
	reflect(tx + 4);
	reflect(tx + 5);
	assert_non_null(offered(tx + 1));
	assert_non_null(offered(tx + 2));
	assert_int_equal(l.cwnd, i / 2);
}

/* Four are under way; all but the first are answered, and that is offered again. */
static u32 pass_first(void)
{
	u32 seq = l.tx + 1;

	post_some(1, 4);
	reflect(seq + 1);
	reflect(seq + 2);
	assert_null(sent(OAE_OFFER));
	reflect(seq + 3);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	return seq;
}

static void reflect_late(u32 seq, u8 attempt)
{
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.attempt = attempt));
}

/* What was passed was overtaken, not lost: the window is what it was, and it takes more to pass. */
WINDOW_TEST(test_overtaken)
{
	u8 cwnd, ssthresh;
	unsigned int i;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	ssthresh = l.ssthresh;
	seq = pass_first();
	assert_int_equal(l.cwnd, cwnd / 2);
	assert_int_equal(oae_window_passed(&l), 3);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(l.ssthresh, ssthresh);
	/* Half of the window, at most. */
	assert_int_equal(oae_window_passed(&l), cwnd / 2);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 6);
	/* Once only. */
	reflect_late(seq, 1);
	assert_int_equal(oae_window_passed(&l), 6);
	reflect(seq);
	assert_int_equal(l.tx, seq + 3);
	l.cwnd = PLACES;
	post_some(1, 5);
	seq = l.tx + 1;
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	assert_null(sent(OAE_OFFER));
	reflect(seq + 4);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	/* Two of them at once. */
	reflect(seq);
	l.cwnd = PLACES;
	l.room_to = l.tx + PLACES;
	seq = l.tx + 1;
	post_some(1, 6);
	cwnd = l.cwnd;
	for (i = 2; i < 6; i++)
		reflect(seq + i);
	assert_non_null(offered(seq));
	assert_non_null(offered(seq + 1));
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	port_down();
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 3);
}

/* So it is if the answer comes before it was offered again, since that waits. */
WINDOW_TEST(test_overtaken_before)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 6);
	seq = l.tx + 1;
	refuse_number(seq, OAE_R_BUSY);
	reflect(seq + 2);
	reflect(seq + 3);
	reflect(seq + 4);
	assert_int_equal(oae_lane(&l, seq + 1)->attempt, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect(seq + 1);
	assert_int_equal(oae_lane(&l, seq + 1)->state, OAE_OFFER_REFLECTED);
	assert_int_equal(l.cwnd, cwnd);
}

/* What several are overtaken by at once, is doubled once. */
WINDOW_TEST(test_overtaken_several)
{
	unsigned int i;
	u32 seq;

	grow();
	post_some(1, 7);
	seq = l.tx + 1;
	for (i = 4; i < 7; i++)
		reflect(seq + i);
	for (i = 0; i < 4; i++)
		assert_int_equal(offered(seq + i)->frame.attempt, 2);
	for (i = 0; i < 4; i++)
		reflect_late(seq + i, 1);
	assert_int_equal(l.reorder, 6);
}

/* An answer that is doubled on its way says nothing of another number. */
WINDOW_TEST(test_overtaken_doubled)
{
	unsigned int i;
	u32 seq;
	u8 cwnd;

	grow();
	cwnd = l.cwnd;
	post_some(1, 8);
	seq = l.tx + 1;
	for (i = 1; i < 4; i++)
		reflect(seq + i);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	l.reorder = 0;
	/* These were offered before the first was again, and so pass the fifth only. */
	for (i = 5; i < 8; i++)
		reflect(seq + i);
	assert_int_equal(oae_lane(&l, seq + 4)->guessed, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
}

/* Nor does an answer in the next run, though the attempts are counted from one again. */
WINDOW_TEST(test_overtaken_run_before)
{
	unsigned int i;
	u32 seq;

	grow();
	post_some(1, PLACES);
	seq = l.tx + 1;
	for (i = 5; i < 8; i++)
		reflect(seq + i);
	assert_int_equal(oae_lane(&l, seq + 4)->guessed, 1);
	anew_wide();
	l.cwnd = PLACES;
	do {
		clear();
		oae_link_pump(&l, now, &a);
	} while (oae_link_more(&l));
	for (i = 1; i < 4; i++)
		reflect(seq + i);
	assert_int_equal(l.cwnd, PLACES / 2);
	reflect(seq + 4);
	assert_int_equal(l.cwnd, PLACES / 2);
	assert_int_equal(l.reorder, 0);
}

/* A later loss in the same window counts. */
WINDOW_TEST(test_lost_after_overtaken)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 4);
	post(&h[5], 3, 0);
	seq = l.tx + 1;
	reflect(seq + 1);
	reflect(seq + 2);
	reflect(seq + 3);
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 4), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(l.cwnd, cwnd / 2);
}

/* The network has shown that it bears the run's window, not more: half of that remains. */
WINDOW_TEST(test_window_is_all)
{
	unsigned int i;

	for (i = 0; i < 2 * OAE_WINDOW_MAX; i++) {
		post(&x, 1, 0);
		reflect(l.tx + 1);
		l.room_to = l.tx + OAE_WINDOW_MAX;
	}
	assert_int_equal(l.cwnd, PLACES);
	pass_first();
	assert_int_equal(l.cwnd, PLACES / 2);
}

/* It was no guess alone: the window stays small. */
WINDOW_TEST(test_overtaken_and_lost)
{
	u8 cwnd;
	u32 seq;

	grow();
	cwnd = l.cwnd;
	post_some(1, 2);
	post(&h[3], 3, 0);
	post_some(4, 6);
	seq = l.tx + 1;
	reflect(seq + 3);
	reflect(seq + 4);
	reflect(seq + 5);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	assert_int_equal(offered(seq + 1)->frame.attempt, 2);
	assert_int_equal(l.cwnd, cwnd / 2);
	/* LAST of the third was sent again; now slices that were sent are lost, too. */
	rcv(BUT(answer_to(OAE_REFUSE, seq + 2), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(offered(seq + 2)->slices, 7);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 2), f.reason = OAE_R_GAP, f.gap_map = 3));
	reflect_late(seq, 1);
	assert_int_equal(l.cwnd, cwnd / 2);
}

/* An answer to what was offered anew for another reason tells nothing. */
WINDOW_TEST(test_not_overtaken)
{
	u8 cwnd;
	u32 seq;

	grow();
	seq = pass_first();
	cwnd = l.cwnd;
	/* GAP: a slice of it did not come. */
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.attempt = 1));
	assert_int_equal(l.cwnd, cwnd);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest++));
	assert_int_equal(offered(seq)->frame.attempt, 3);
	reflect_late(seq, 2);
	assert_int_equal(l.cwnd, cwnd);
	assert_int_equal(oae_window_passed(&l), 3);
	/* In the next run nothing is known of it. */
	l.dirty = 0;
	assert_int_equal(oae_lane(&l, seq)->guessed, 1);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest++));
	reflect_late(seq, 1);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 3);
	/* Nor of the next content that has its place. */
	for (seq = l.tx + 1; l.nlanes;)
		reflect(l.tx + 1);
	l.room_to = l.tx + OAE_WINDOW_MAX;
	seq = pass_first();
	reflect(seq);
	for (seq += PLACES; l.tx + 1 != seq;) {
		post_some(1, 1);
		reflect(l.tx + 1);
	}
	post_some(1, 1);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest++));
	reflect_late(seq, 1);
	l.cwnd = OAE_WINDOW_MAX;
	assert_int_equal(oae_window_passed(&l), 3);
}

/* Under way, how many may be, and how many both ends agreed on. */
WINDOW_TEST(test_shown)
{
	struct oae_link_view v;
	unsigned int i;

	post_some(1, 3);
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 3);
	assert_int_equal(v.cwnd, 4);
	assert_int_equal(v.window, PLACES);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = 1));
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 1);
	assert_int_equal(v.cwnd, 1);
	assert_int_equal(v.window, 2);
	for (i = 1; i <= 3; i++)
		reflect(i);
	oae_link_show(&l, &v);
	assert_int_equal(v.lanes, 0);
	assert_int_equal(v.cwnd, 2);
	assert_int_equal(v.window, 2);
}

/* Progress below is progress: the stall time begins anew. */
WINDOW_TEST(test_stall_moves)
{
	u64 began = now;

	post_some(1, 2);
	now += oae_link_stall(&l) - 1;
	reflect(1);
	assert_true(began + oae_link_stall(&l) >= now);
	fire_at(began + oae_link_stall(&l));
	assert_int_equal(l.state, OAE_OPEN);
	assert_null(offered(2));
	fire_at(now + 1000 * MS);
	assert_non_null(offered(2));
	fire_at(now + 1000 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/*
 * LAST of the lowest number is lost, and nothing above it will show that: it is offered
 * again, once, and freezes when it would have without.
 */
WINDOW_TEST(test_reminded)
{
	unsigned int before;
	u64 stall, half;
	u32 seq;

	grow();
	before = l.cwnd;
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	half = stall / 2;
	assert_true(half > 2 * l.srtt);
	seq = l.tx + 1;
	post(&h[1], 3, 0);
	fire_at(now + half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	assert_true(offered(seq)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(seq)->slices, 4);
	assert_int_equal(noted(OAE_N_REPAIRED), 1);
	/* It may be late: nothing is known to be lost. */
	assert_int_equal(l.cwnd, before);
	/* With two eighths more for the other two slices. */
	fire_at(now + stall + stall / 4 - half - 1);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Of many slices a reminder may be lost, too: later and later, and no later than without. */
WINDOW_TEST(test_reminded_again)
{
	u64 stall, half, began;
	u32 seq;

	grow();
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	half = stall / 2;
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	began = now;
	fire_at(began + half);
	assert_int_equal(offered(seq)->frame.attempt, 2);
	fire_at(began + 3 * half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(began + 3 * half);
	assert_int_equal(offered(seq)->frame.attempt, 3);
	fire_at(began + 7 * half - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(began + 7 * half);
	assert_true(offered(seq)->slices == 1ULL << 39);
	/* Of 40 slices it is 1 + 39 / 8 stall times: too few for a fourth, and its answer. */
	fire_at(began + stall + stall * 39 / 8 - 1);
	assert_null(sent(OAE_OFFER));
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* With 9 slices there is just time for a second one, with 8 there is not. */
WINDOW_TEST(test_reminded_twice)
{
	u64 half;

	l.srtt = MS / 4;
	l.rttvar = MS;
	half = oae_link_stall(&l) / 2;
	post(&h[1], 9, 0);
	fire_at(now + half);
	fire_at(now + 2 * half);
	assert_int_equal(offered(1)->frame.attempt, 3);
	fire_at(now + half);
	assert_int_equal(noted(OAE_N_STALL), 1);

	open_window(state);
	l.srtt = MS / 4;
	l.rttvar = MS;
	post(&h[1], 8, 0);
	fire_at(now + half);
	fire_at(now + 3 * half);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* Where the stall time is two round trips, the reminder has these, and so has its answer. */
WINDOW_TEST(test_reminded_far)
{
	grow();
	l.srtt = 100 * MS;
	l.rttvar = 0;
	assert_int_equal(oae_link_stall(&l), 200 * MS);
	post_some(1, 1);
	fire_at(now + 200 * MS - 1);
	assert_null(sent(OAE_OFFER));
	fire_at(now + 1);
	assert_non_null(sent(OAE_OFFER));
	fire_at(now + 200 * MS - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What the reminder shows to be lost halves the window. */
WINDOW_TEST(test_reminded_lost)
{
	unsigned int before;
	u32 seq;

	grow();
	before = l.cwnd;
	seq = l.tx + 1;
	post(&h[1], 3, 0);
	fire_at(now + oae_link_stall(&l));
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(offered(seq)->slices, 7);
	assert_int_equal(l.cwnd, before / 2);
	/* It was answered, so it may be offered once more. */
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(seq)->frame.attempt, 4);
}

/*
 * The answer to a reminder says as much of what was offered above: that was sent before it,
 * and long ago. Without it there would be a reminder for each, one after the other.
 */
WINDOW_TEST(test_reminded_passes)
{
	unsigned int before;
	u32 tx;

	grow();
	tx = l.tx;
	before = l.cwnd;
	post_some(1, 3);
	fire_at(now + oae_link_stall(&l));
	assert_non_null(offered(tx + 1));
	post_some(4, 4);
	reflect(tx + 1);
	assert_int_equal(offered(tx + 2)->frame.attempt, 2);
	assert_int_equal(offered(tx + 3)->frame.attempt, 2);
	/* That was offered after it. */
	assert_null(offered(tx + 4));
	assert_int_equal(l.cwnd, before / 2);
}

/* It is a loss of the offer, or of its answer; unless that has come, late. */
WINDOW_TEST(test_reminded_reflected)
{
	unsigned int before;

	grow();
	before = l.cwnd;
	post_some(1, 1);
	fire_at(now + oae_link_stall(&l));
	reflect(l.tx + 1);
	assert_int_equal(l.cwnd, before / 2);

	open_window(state);
	grow();
	before = l.cwnd;
	post_some(1, 1);
	fire_at(now + oae_link_stall(&l));
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--));
	reflect(l.tx + 1);
	assert_true(l.cwnd >= before);
}

/*
 * The peer may have kept another content of the number, so it drops what it has. All slices
 * would be a burst whose end a short queue loses each time.
 */
WINDOW_TEST(test_reminded_dirty)
{
	post(&h[1], 20, 0);
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->frame.attempt, 2);
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP, f.gap_map = (1 << 19) - 1));
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19 | 0xff);
	/* By now it has nothing else. */
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->frame.attempt, 4);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	assert_int_equal(offered(1)->slices, 1 << 19);

	/* Nor has it in the next run; but once this is cut anew that may be another. */
	anew_wide();
	assert_int_equal(offered(1)->slices, 1 << 19);
	assert_true(offered(1)->frame.flags & OAE_F_RESUME);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP, f.gap_map = (1 << 19) - 1));
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_BUSY));
	oae_lane(&l, 1)->p.slice_max = 0xffff;
	ready(1);
	assert_int_equal(op(OAE_OP_RESLICE)->handle == &h[1], 1);
	oae_lane(&l, 1)->p.slice_max = 100;
	{
		struct oae_post p = oae_lane(&l, 1)->p;

		oae_link_resliced(&l, &p, now, &a);
	}
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(1)->slices, 1 << 19);
	assert_false(offered(1)->frame.flags & OAE_F_RESUME);
}

/* The next number has had no other content, and what follows under one has not been answered. */
WINDOW_TEST(test_reminded_next)
{
	post_some(1, 1);
	reflect(1);
	post(&h[2], 20, 0);
	fire_at(now + oae_link_stall(&l));
	assert_true(offered(2)->frame.flags & OAE_F_RESUME);
	rcv(BUT(answer_to(OAE_REFUSE, 2), f.reason = OAE_R_GAP, f.gap_map = 1));
	port_down();
	assert_int_equal(cancel(&h[2]), 0);
	post(&h[3], 20, 0);
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(offered(2)->slices, 1 << 19);
	assert_false(offered(2)->frame.flags & OAE_F_RESUME);
}

/* An express goes out alone, and is not offered again: it stalls. */
WINDOW_TEST(test_alone_not_reminded)
{
	post(&h[1], 1, OAE_POST_EXPRESS);
	fire_at(now + 1000 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What the peer was reminded of is answered late: so long takes the answer to the reminder. */
WINDOW_TEST(test_reminded_late)
{
	u64 began, stall;

	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	now = began + stall - 1;
	/* Not of the next number, nor the one before. */
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--, f.seq++));
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt -= 2));
	assert_int_equal(l.srtt, MS / 100);
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt--));
	assert_int_equal(l.srtt, stall - 1);
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	fire_at(began + stall / 2 + stall - 1);
	assert_int_equal(l.state, OAE_OPEN);
	rcv(answer_to(OAE_REFLECT, l.tx + 1));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(l.nlanes, 0);
}

/* An answer to one of the attempts of the run before. */
static struct oae_frame answer_before(u8 opcode, u8 attempt)
{
	return BUT(frame(opcode), f.src_ltag = l.late.peer_ltag, f.dst_ltag = l.late.ltag,
		   f.seq = l.tx + 1, f.attempt = attempt);
}

/* The peer is reminded, and the link froze: how long was left to it. */
static u64 remind_and_freeze(void)
{
	u64 began, stall;

	open_window(NULL);
	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	fire_at(began + stall);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	now = began + 2 * stall;
	return stall;
}

/* Then the answer comes to what was offered first, or to the reminder alone. */
TEST(test_reminded_froze_late)
{
	u64 stall = remind_and_freeze();

	rcv(answer_before(OAE_REFLECT, 3));
	rcv(answer_before(OAE_COMMIT, 1));
	rcv(BUT(answer_before(OAE_REFLECT, 1), f.seq++));
	assert_int_equal(l.srtt, MS / 100);
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, 2 * stall);
	now += stall;
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, 2 * stall);

	stall = remind_and_freeze();
	rcv(answer_before(OAE_REFUSE, 2));
	assert_int_equal(l.srtt, stall + stall / 2);
	now += stall;
	rcv(answer_before(OAE_REFUSE, 2));
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, stall + stall / 2);

	/* Of several reminders it is the first one whose answer may be measured. */
	open_window(NULL);
	grow();
	l.srtt = MS / 4;
	l.rttvar = MS;
	stall = oae_link_stall(&l);
	post(&h[1], 40, 0);
	fire_at(now + stall / 2);
	fire_at(now + stall);
	fire_at(now + 2 * stall);
	assert_int_equal(oae_first_lane(&l)->reminded, 3);
	now += stall;
	rcv(BUT(answer_before(OAE_REFUSE, 2), f.src_ltag = l.peer_ltag, f.dst_ltag = l.ltag));
	assert_int_equal(l.srtt, 4 * stall);

	/* By another clock nobody knows. */
	remind_and_freeze();
	fire_at(now - 10000 * MS);
	now += 10100 * MS;
	rcv(answer_before(OAE_REFLECT, 1));
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, MS / 100);
}

/* A freeze without a reminder has one answer that may be late. */
TEST(test_froze_late_once)
{
	remind_and_freeze();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	l.srtt = MS / 100;
	assert_int_equal(oae_lane(&l, l.tx + 1)->attempt, 1);
	now += MS;
	port_down();
	rcv(answer_before(OAE_REFLECT, 2));
	assert_int_equal(l.srtt, MS / 100);
	rcv(answer_before(OAE_REFLECT, 1));
	assert_int_equal(l.srtt, MS);
}

/* A hold is measured when it is committed, as ever, though the peer was reminded meanwhile. */
WINDOW_TEST(test_reminded_held)
{
	u64 began, stall;

	grow();
	l.srtt = MS / 100;
	l.rttvar = 0;
	stall = oae_link_stall(&l);
	began = now;
	rcv(slice(1, 0, OAE_F_LAST));
	assert_int_equal(l.nheld, 1);
	post_some(1, 1);
	fire_at(began + stall / 2);
	assert_non_null(sent(OAE_OFFER));
	now = began + stall - 1;
	rcv(BUT(answer_to(OAE_REFLECT, l.tx + 1), f.attempt -= 2, f.tx++));
	assert_int_equal(l.nheld, 0);
	assert_in_range(l.srtt, MS / 100 + 1, stall / 2);
}

/* A peer that closes would refuse what it holds: its answer may be on its way. */
WINDOW_TEST(test_closing_not_reminded)
{
	u64 stall;

	grow();
	stall = oae_link_stall(&l);
	post(&h[1], 1, 0);
	rcv(frame(OAE_CLOSE));
	fire_at(now + stall - 1);
	assert_null(sent(OAE_OFFER));
	rcv(answer_to(OAE_REFLECT, l.tx + 1));
	assert_true(ended(&h[1], OAE_COMMITTED));
	/* Without an answer it stalls. */
	open_window(NULL);
	post(&h[1], 1, 0);
	rcv(frame(OAE_CLOSE));
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/*
 * Nobody who waits for DONE freezes before the offer does whose answer says it, too. If that
 * does not say it, DONE is waited for from then on.
 */
WINDOW_TEST(test_reminded_done)
{
	u64 stall, asked;
	u32 seq;

	grow();
	seq = l.tx + 1;
	stall = oae_link_stall(&l);
	post(&h[1], 40, 0);
	asked = now + 1;
	now = asked;
	confirm();
	assert_true(l.await_done);
	fire_at(asked + stall - 1);
	assert_non_null(offered(seq));
	fire_at(asked + 2 * stall);
	assert_int_equal(offered(seq)->frame.attempt, 3);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = l.peer_rx));
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_true(l.await_done);
	asked = now;
	stall = oae_link_stall(&l);
	fire_at(asked + stall - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(asked + stall);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* A reminder may be one attempt too many: then nothing else goes out. */
WINDOW_TEST(test_reminded_attempts)
{
	post_some(1, 2);
	refuse_number(2, OAE_R_BUSY);
	oae_lane(&l, 1)->attempt = 0xff;
	l.park_at = now;
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_null(sent(OAE_OFFER));
}

/* No more slices are sent again at once than the peer has, but eight. */
WINDOW_TEST(test_burst)
{
	post(&h[1], 40, 0);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7ffffffffc));
	assert_int_equal(offered(1)->slices, 0x80000003fcULL);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7ffffffc00));
	assert_int_equal(offered(1)->slices, 0x8000000000ULL | 0x7ffULL << 10);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_GAP,
		f.gap_map = 0x7fffe00000));
	assert_int_equal(offered(1)->slices, 0xffffe00000);
}

/* --- parts --- */

/* The peer has all slices of the last part but these of it, and not the rest. */
static void gap(u32 seq, u64 lost)
{
	const struct oae_lane *n = oae_lane(&l, seq);
	u64 sent = offered(seq)->slices, all = ~0ULL >> (64 - n->p.nslices);
	static u64 have;

	if (n->attempt == 1)
		have = 0;
	have |= sent & ~lost;
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = all & ~have));
}

/* So many of the lowest that are missing, and LAST of 40. */
#define PART(from, n)	(((1ULL << (n)) - 1) << (from) | 1ULL << 39)

/* One transaction is too much: a few of its slices, then more and more. */
WINDOW_TEST(test_parts)
{
	u32 seq;

	anew_wide();
	assert_int_equal(l.burst, 8);
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 7));
	assert_int_equal(offered(seq)->frame.flags & OAE_F_RESUME, 0);
	gap(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(7, 8));
	assert_true(offered(seq)->frame.flags & OAE_F_RESUME);
	/* As many as the peer has. */
	assert_int_equal(l.burst, 16);
	gap(seq, 0);
	assert_int_equal(offered(seq)->slices, PART(15, 15));
	assert_int_equal(l.burst, 16);
	/* One was lost: half of that. */
	gap(seq, 1ULL << 20);
	assert_int_equal(l.burst, 8);
	assert_int_equal(offered(seq)->slices, PART(30, 6) | 1ULL << 20);
	/* Now one more each time. */
	gap(seq, 0);
	assert_int_equal(l.burst, 9);
	assert_int_equal(offered(seq)->slices, PART(36, 3));
	/* Fewer than there might have been: that tells nothing. */
	reflect(seq);
	assert_int_equal(l.burst, 9);
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_int_equal(oae_window_limit(&l), 1);
}

/* A row of losses leaves four, however many there are. */
WINDOW_TEST(test_parts_least)
{
	unsigned int i;
	u32 seq;

	anew_wide();
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	for (i = 0; i < 5; i++)
		gap(seq, 1);
	assert_int_equal(l.burst, 4);
	assert_int_equal(offered(seq)->slices, PART(15, 2) | 1);
	assert_int_equal(l.tx, seq - 1);
}

/* While several are under way fewer of them are, with all slices each. */
WINDOW_TEST(test_parts_last)
{
	u32 seq = l.tx + 1;

	post(&h[1], 40, 0);
	assert_int_equal(offered(seq)->slices, PART(0, 39));
	gap(seq, 1ULL << 38);
	assert_int_equal(l.burst, 64);
	assert_int_equal(l.cwnd, 2);
	l.recover = l.tx;
	gap(seq, 1ULL << 38);
	assert_int_equal(l.cwnd, 1);
	assert_int_equal(l.burst, 64);
	/* Half of what is there, not of what could be. */
	gap(seq, 1ULL << 38);
	assert_int_equal(l.burst, 20);
	/* What has one slice has no parts. */
	reflect(seq);
	post(&h[2], 1, 0);
	fire_at(now + 1000 * MS);
	l.burst = 20;
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.burst, 20);
}

/* All that was sent before the last loss was lost with it. */
WINDOW_TEST(test_parts_same_loss)
{
	u32 seq = l.tx + 1;

	l.cwnd = 2;
	post(&h[1], 40, 0);
	post(&h[2], 40, 0);
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.cwnd, 1);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.burst, 64);
	rcv(BUT(answer_to(OAE_REFUSE, seq + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.burst, 20);
}

/* What is small enough for the network may be several at a time, whatever the others are. */
WINDOW_TEST(test_parts_beside)
{
	anew_wide();
	post(&h[1], 1, 0);
	reflect(l.tx + 1);
	assert_int_equal(oae_window_limit(&l), 2);
	assert_int_equal(l.burst, 8);
}

/* LAST is short, if it is sent more than once; the others are about as long as they can be. */
WINDOW_TEST(test_parts_cut)
{
	u16 max = oae_link_slice_max(&l);
	u32 len;

	assert_int_equal(max, 1460);
	l.burst = 8;
	for (len = 8 * max + 1; len <= 63U * max; len += 67) {
		u32 n = (len + max - 1) / max, cut = oae_link_cut_new(&l, OAE_MESSAGE, len);

		assert_in_range(cut, max / 2, max);
		assert_int_equal((len + cut - 1) / cut, n + 1);
		assert_in_range(len - n * cut, 1, n);
	}
	/* It goes out once, or one more would be too many. */
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 8 * max), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 63 * max + 1), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 0), max);
	assert_int_equal(oae_link_cut_new(&l, OAE_VERB, 9 * max), max);
	/* A slice may not be shorter than the shortest. */
	l.cut = OAE_MIN_SLICE;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * OAE_MIN_SLICE), OAE_MIN_SLICE);
	l.cut = 0;
	/* Nothing is known yet, or there are no parts. */
	l.burst = 0;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * max), max);
	l.burst = 8;
	l.win = 1;
	assert_int_equal(oae_link_cut_new(&l, OAE_MESSAGE, 9 * max), max);
}

/* Another express must not be mixed with it. */
WINDOW_TEST(test_parts_express)
{
	anew_wide();
	post(&h[1], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 39));
}

/* A run without a window knows no parts. */
TEST(test_parts_without)
{
	open_wide(PLACES, PLACES);
	lend(PLACES);
	port_down();
	rcv(resolved());
	post(&h[1], 40, 0);
	assert_int_equal(offered(l.tx + 1)->slices, PART(0, 39));
}

/* GAP tells how long a round trip is; a part has one each. */
WINDOW_TEST(test_parts_measured)
{
	u32 seq;

	anew_wide();
	seq = l.tx + 1;
	post(&h[1], 40, 0);
	l.srtt = 0;
	now += 3 * MS;
	gap(seq, 0);
	assert_int_equal(l.srtt, 3 * MS | 1);
}

/* A part that is lost whole: what is here from those before it is kept. */
WINDOW_TEST(test_parts_kept)
{
	take_slice(1, 1, 0, 0, PLACES);
	take_slice(1, 1, 3, OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 6);
	take_slice(1, 3, 1, OAE_F_RESUME, PLACES);
	take_slice(1, 3, 3, OAE_F_RESUME | OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 4);
	/* Without RESUME it is another content. */
	take_slice(1, 4, 3, OAE_F_LAST, PLACES);
	assert_int_equal(sent(OAE_REFUSE)->frame.gap_map, 7);
}

/* --- what is refused --- */

/* While one is parked nothing new goes out, and nothing above it again. */
WINDOW_TEST(test_parked)
{
	grow();
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
	/* The lane that was passed has halved the window. */
	l.cwnd = PLACES;
	ready(l.tx + 6);
	assert_non_null(offered(l.tx + 1));
	assert_non_null(offered(l.tx + 2));
	assert_non_null(offered(l.tx + 6));
}

/* A REFLECT says how far there is room, and nothing is offered beyond; but for the next. */
WINDOW_TEST(test_room_told)
{
	u32 tx;

	grow();
	tx = l.tx;
	post_some(1, 2);
	rcv(BUT(answer_to(OAE_REFLECT, tx + 1), f.rx = tx, f.reason = 2));
	post_some(3, 3);
	assert_null(sent(OAE_OFFER));
	rcv(BUT(answer_to(OAE_REFLECT, tx + 2), f.rx = tx + 1, f.reason = 1));
	assert_non_null(offered(tx + 3));
	/* It says nothing. */
	rcv(BUT(answer_to(OAE_REFLECT, tx + 3), f.rx = tx + 2, f.reason = 0));
	post_some(4, 4);
	assert_non_null(offered(tx + 4));
	post_some(5, 5);
	assert_null(sent(OAE_OFFER));
	ready(tx + 5);
	assert_non_null(offered(tx + 5));
	post_some(6, 6);
	assert_null(sent(OAE_OFFER));
}

/* A long one was refused: its slices were sent for nothing. It is committed later. */
static u32 refused_long(u8 room)
{
	u32 tx;

	grow();
	tx = l.tx;
	post(&h[1], 40, 0);
	refuse_number(tx + 1, OAE_R_BUSY);
	ready(tx + 1);
	assert_int_equal(offered(tx + 1)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, tx + 1), f.rx = tx, f.reason = room));
	return tx + 2;
}

static void assert_asks(u32 seq)
{
	assert_int_equal(offered(seq)->slices, 1ULL << 39);
	assert_int_equal(offered(seq)->frame.flags, OAE_F_RESUME);
}

/* So LAST asks for room, if none was heard of. */
WINDOW_TEST(test_asks_for_room)
{
	u32 seq = refused_long(1);

	post(&h[2], 40, 0);
	assert_asks(seq);
	/* There is none: this was not sent for nothing, but the next is asked for again. */
	l.wary = false;
	refuse_number(seq, OAE_R_BUSY);
	assert_false(l.wary);
	l.wary = true;
	ready(seq);
	assert_int_equal(offered(seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.reason = 1));
	post(&h[3], 40, 0);
	assert_asks(++seq);
	/* There is some: all go out, since none was lost. */
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = ~0ULL >> 25));
	assert_int_equal(offered(seq)->slices, ~0ULL >> 24);
	assert_int_equal(offered(seq)->frame.flags, OAE_F_RESUME);
	/* What was lost of them is another matter. */
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = OAE_R_GAP, f.gap_map = ~0ULL >> 25));
	assert_int_equal(offered(seq)->slices, PART(0, 8));
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.reason = 1));
	post(&h[4], 40, 0);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
}

/* It does not ask: there is room; it never was refused, or is short, or alone. */
WINDOW_TEST(test_does_not_ask)
{
	u32 seq = refused_long(2);

	post(&h[2], 40, 0);
	assert_int_equal(offered(seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.reason = 1));
	post(&h[3], 1, 0);
	assert_int_equal(offered(++seq)->slices, 1);
	assert_int_equal(offered(seq)->frame.flags, 0);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.reason = 1));
	post(&h[4], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq, f.reason = 1));
	/* The peer may have slices of another content. */
	oae_lane_dirty(&l, seq + 1);
	l.room_to = l.tx;
	post(&h[5], 40, 0);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.reason = 1));
	l.wary = false;
	post(&h[6], 40, 0);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
}

/* What this end says of it: what is held is no room, what is unread neither. */
WINDOW_TEST(test_tell_room)
{
	take(1, 1, OAE_MESSAGE, 3);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 3);
	take(2, 1, OAE_MESSAGE, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 2);
	take(2, 1, OAE_MESSAGE, 2 | OAE_ROOM_FULL);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 2);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, PLACES);
	/* When more can arrive, what is held is committed. */
	take(1, 1, OAE_MESSAGE, PLACES + 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, PLACES + 2);
	take(1, 1, OAE_MESSAGE, 3 * PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 2 * PLACES);
}

/* It says so of places that are not lent yet, too, or nobody would ever ask for them. */
TEST(test_tell_places)
{
	open_wide(PLACES, PLACES);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, PLACES);
	commit_to(1);
	take(1, 1, OAE_MESSAGE, 3);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 3);

	/* There was no memory for them. */
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, PLACES);
	assert_refused(2, OAE_R_BUSY);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, 1);
	lend(3 * PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);
	take(1, 2, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, PLACES);

	/* There are some, and fewer than the window has. */
	open_wide(2 * PLACES, 2 * PLACES);
	lend(PLACES);
	take(1, 1, OAE_MESSAGE, 4 * PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.reason, PLACES);
}

/* READY brings back what it names; the keepalive the lowest. */
WINDOW_TEST(test_ready)
{
	post_some(1, 3);
	refuse_number(1, OAE_R_BUSY);
	refuse_number(2, OAE_R_BUSY);
	refuse_number(3, OAE_R_BUSY);
	ready(2);
	assert_non_null(offered(1));
	assert_non_null(offered(2));
	assert_null(offered(3));
	refuse_number(1, OAE_R_BUSY);
	fire_at(l.park_at);
	assert_non_null(offered(1));
	assert_null(offered(3));
}

/* READY is lost: LAST asks whether there is room, later and later. */
WINDOW_TEST(test_parked_asks)
{
	u64 began, stall = oae_link_stall(&l), wait = 8 * stall;
	unsigned int i;

	l.dirty = 0;
	post(&h[1], 3, 0);
	for (i = 0; i < 3; i++) {
		began = now;
		refuse_number(1, OAE_R_BUSY);
		assert_int_equal(l.park_at, began + wait);
		fire_at(began + wait);
		assert_int_equal(offered(1)->slices, 4);
		assert_true(offered(1)->frame.flags & OAE_F_RESUME);
		wait = 2 * wait < cfg.keepalive ? 2 * wait : cfg.keepalive;
	}
	assert_int_equal(l.park_iv, 4 * 8 * stall < cfg.keepalive ? 4 * 8 * stall :
								    cfg.keepalive);

	/* There was room meanwhile, so it begins anew. */
	refuse_number(1, OAE_R_BUSY);
	ready(1);
	assert_int_equal(offered(1)->slices, 7);
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(l.park_at, now + 8 * stall);
}

/* LAST alone was sent: that the others are missing is no loss. */
WINDOW_TEST(test_gap_of_last)
{
	unsigned int before;

	grow();
	before = l.cwnd;
	post(&h[1], 3, 0);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	fire_at(l.park_at);
	rcv(BUT(answer_to(OAE_REFUSE, l.tx + 1), f.reason = OAE_R_GAP, f.gap_map = 3));
	assert_int_equal(offered(l.tx + 1)->slices, 7);
	assert_int_equal(l.cwnd, before);
	rcv(BUT(answer_to(OAE_REFUSE, l.tx + 1), f.reason = OAE_R_GAP, f.gap_map = 1));
	assert_int_equal(l.cwnd, before / 2);
}

/* --- what is held --- */

WINDOW_TEST(test_delivered_in_order)
{
	const struct oae_op *o;
	u32 rx = l.rx;

	take(2, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.seq, rx + 2);
	take(1, 1, OAE_MESSAGE, PLACES);
	commit_to(2);
	assert_int_equal(count_op(OAE_OP_DELIVER), 2);
	o = op(OAE_OP_DELIVER);
	assert_int_equal(o->seq, rx + 1);
	assert_int_equal(l.rx, rx + 2);
}

/* All that is committed must be here. */
WINDOW_TEST(test_impossible)
{
	unsigned int i;

	take(2, 1, OAE_MESSAGE, PLACES);
	commit_to(2);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_false(op(OAE_OP_DELIVER));

	open_window(state);
	for (i = 1; i <= PLACES; i++)
		take(i, 1, OAE_MESSAGE, PLACES);
	commit_to(PLACES + 1);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_false(op(OAE_OP_DELIVER));
}

WINDOW_TEST(test_held_lost)
{
	take(1, 1, OAE_MESSAGE, PLACES);
	take(2, 1, OAE_MESSAGE, PLACES);
	renamed();
	assert_int_equal(noted(OAE_N_HELD_LOST), 2);
}

/* Nothing counts as nothing. */
WINDOW_TEST(test_void_held)
{
	take(1, 1, OAE_VOID, 0);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(noted(OAE_N_HELD), 0);
	assert_false(op(OAE_OP_KEEP));
	commit_to(1);
	assert_false(op(OAE_OP_DELIVER));

	/* Without a window there is none. */
	open_link(state);
	take(1, 1, OAE_VOID, 1);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	assert_null(sent(OAE_REFLECT));
}

/* Numbers beyond the window, and barriers above the next, are not taken. */
TEST(test_not_in_window)
{
	struct oae_frame f;

	open_wide(4, 4);
	lend(PLACES);
	take(5, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	take(2, 1, OAE_SWAP, PLACES);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	f = slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS);
	f.seq++;
	rcv(f);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	take(4, 1, OAE_MESSAGE, PLACES);
	assert_non_null(sent(OAE_REFLECT));

	/* A number is not given back. */
	rcv(BUT(frame(OAE_REVERSE), f.seq = l.rx + 1, f.attempt = 1));
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
}

/* The next is judged by what is unread alone, what is above it by all. */
WINDOW_TEST(test_room)
{
	take(2, 1, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));
	take(3, 1, OAE_MESSAGE, 1);
	assert_refused(3, OAE_R_BUSY);
	take(1, 1, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));
	/* What had room once has it. */
	take(2, 2, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));

	/* READY names what there is room for, and is due for the others. */
	read_one(1);
	assert_null(sent(OAE_READY));
	assert_true(oae_link_owes_ready(&l));
	take(5, 1, OAE_MESSAGE, 1);
	read_one(3);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 3);
	assert_true(oae_link_owes_ready(&l));
	read_one(3);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 3);
	read_one(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);
	assert_false(oae_link_owes_ready(&l));

	/* What was delivered takes the room that it was promised, and no more. */
	commit_to(2);
	take(1, 2, OAE_MESSAGE, 2);
	take(2, 1, OAE_MESSAGE, 2);
	assert_non_null(sent(OAE_REFLECT));
}

/* Whether room is owed, and not only READY: a word that is free is no room. */
WINDOW_TEST(test_owes_room)
{
	take(1, 1, OAE_VERB, PLACES);
	computed(OAE_R_CONFLICT, 0);
	assert_true(oae_link_owes_ready(&l));
	assert_false(oae_link_owes_room(&l));
	take(2, 1, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	read_one(PLACES);
	assert_false(oae_link_owes_room(&l));

	/* A new run owes nothing, nor does an end that closes. */
	take(2, 2, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	anew_wide();
	assert_false(oae_link_owes_room(&l));
	take(1, 1, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	close_link();
	assert_false(oae_link_owes_room(&l));
	take(1, 2, OAE_MESSAGE, 1);
	assert_false(oae_link_owes_room(&l));

	/* No place is no room. */
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, 1);
	assert_true(oae_link_owes_room(&l));
}

static void take_verb(u32 above, u8 attempt);

static void made_room(u32 room)
{
	clear();
	oae_link_made_room(&l, room, now, &a);
}

/*
 * Room is not what a verb waits for whose words are reserved: READY would bring it back
 * to be refused again, for ever.
 */
WINDOW_TEST(test_room_for_words)
{
	take(2, 1, OAE_MESSAGE, 1);
	take(3, 1, OAE_MESSAGE, 1);
	assert_refused(3, OAE_R_BUSY);
	take(1, 1, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	made_room(PLACES);
	assert_null(sent(OAE_READY));
	assert_true(oae_link_owes_ready(&l));
	/* The words are free. */
	read_one(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 2);
	take_verb(1, 2);
	made_room(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);

	/* What is held below it is not in its way. */
	open_window(state);
	take_verb(1, 1);
	take(2, 1, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	take(3, 1, OAE_MESSAGE, 0);
	made_room(PLACES);
	assert_null(sent(OAE_READY));

	/* Without a window, too. */
	open_link(state);
	rcv(offer_kind(1, OAE_VERB));
	computed(OAE_R_CONFLICT, 0);
	made_room(1);
	assert_null(sent(OAE_READY));
	drained();
	assert_non_null(sent(OAE_READY));
	rcv_room(slice(2, 0, OAE_F_LAST), false);
	made_room(1);
	assert_non_null(sent(OAE_READY));

	/* A number is one that has had no place, whatever was refused there before. */
	open_wide(PLACES, PLACES);
	take(1, 1, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	take_verb(1, 2);
	take(2, 1, OAE_MESSAGE, 1);
	commit_to(1);
	lend(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
}

/* A clock that jumped back, and an event that changes nothing: the link has its timer. */
WINDOW_TEST(test_nothing_by_another_clock)
{
	take(2, 1, OAE_MESSAGE, 1);
	take(3, 1, OAE_MESSAGE, 1);
	assert_refused(3, OAE_R_BUSY);
	now -= 100000 * MS;
	read_one(1);
	assert_null(sent(OAE_READY));
	assert_int_not_equal(l.timer_at, 0);
	now -= 100000 * MS;
	lend(1);
	assert_int_not_equal(l.timer_at, 0);
}

/* What an event delivers has the room that its OFFER would have had. */
WINDOW_TEST(test_room_once)
{
	struct oae_frame f;

	take(1, 1, OAE_MESSAGE, 1);
	f = slice(1, 0, OAE_F_LAST);
	f.seq++;
	f.tx++;
	rcv(f);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);
	assert_refused(1, OAE_R_BUSY);
}

/* The caller may carry ops out before the event is over. */
static void carry_out(struct oae_actions *some)
{
	some->nops = 0;
	some->done = 0;
}

/* However many an event delivers. */
TEST(test_room_of_many)
{
	static struct oae_pair many[OAE_WINDOW_MAX], *table[OAE_WINDOW_MAX];
	unsigned int i, room;
	struct oae_frame f;

	for (room = 40; room <= 41; room++) {
		open_wide(OAE_WINDOW_MAX, OAE_WINDOW_MAX);
		memset(many, 0, sizeof(many));
		for (i = 0; i < OAE_WINDOW_MAX; i++)
			table[i] = &many[i];
		clear();
		oae_link_lend(&l, table, OAE_WINDOW_MAX, room, now, &a);
		for (i = 1; i <= 40; i++)
			take(i, 1, OAE_MESSAGE, room);
		f = slice(1, 0, OAE_F_LAST);
		f.seq += 40;
		f.tx += 40;
		clear();
		a.full = carry_out;
		oae_link_rcv(&l, &f, room, now, &a);
		assert_int_equal(l.rx, PEER_START + 40);
		if (room == 40)
			assert_refused(1, OAE_R_BUSY);
		else
			assert_non_null(sent(OAE_REFLECT));
	}
}

/* What is held waits for the peer, but not above what the reader here holds up. */
WINDOW_TEST(test_held_stalls)
{
	take(2, 1, OAE_MESSAGE, 1);
	take(1, 1, OAE_MESSAGE, 0);
	assert_refused(1, OAE_R_BUSY);
	fire_at(now + 50 * MS);
	assert_int_equal(l.state, OAE_OPEN);
	read_one(1);
	fire_at(now + 50 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* Nor if no reader will make room any more: the peer puts nothing there, once it hears. */
	open_window(state);
	take(2, 1, OAE_MESSAGE, 1);
	take(1, 1, OAE_MESSAGE, 0);
	fire_at(now + 50 * MS);
	close_link();
	assert_non_null(sent(OAE_CLOSE));
	fire_at(now + 50 * MS);
	assert_int_equal(noted(OAE_N_STALL), 0);
	assert_non_null(sent(OAE_CLOSE));
	take(1, 2, OAE_VOID, 0);
	fire_at(now + 50 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* But CLOSE is not repeated to a peer that closes, too. */
	open_window(state);
	take(2, 1, OAE_MESSAGE, 1);
	take(1, 1, OAE_MESSAGE, 0);
	close_link();
	rcv(frame(OAE_CLOSE));
	assert_null(sent(OAE_CLOSE_ACK));
	fire_at(now + 50 * MS);
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* What is below may be sent again, in 64 slices, and then is committed in time. */
	open_window(state);
	take(2, 1, OAE_MESSAGE, 1);
	fire_at(now + 8 * oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_STALL), 0);
	fire_at(now + oae_link_stall(&l));
	assert_int_equal(noted(OAE_N_STALL), 1);

	/* The peer may offer it once more. */
	open_window(state);
	take(1, 1, OAE_MESSAGE, 1);
	fire_at(now + 2 * oae_link_stall(&l) - 1);
	assert_int_equal(l.state, OAE_OPEN);
	fire_at(now + 1);
	assert_int_equal(noted(OAE_N_STALL), 1);
}

/* What was committed before the freeze is delivered by resolving; the rest is not. */
WINDOW_TEST(test_resolved)
{
	u32 rx = l.rx;

	take(1, 1, OAE_MESSAGE, PLACES);
	take(2, 1, OAE_MESSAGE, PLACES);
	take(3, 1, OAE_MESSAGE, PLACES);
	port_down();
	rcv(BUT(resolved(), f.tx += 2, f.sync.caps = PLACES - 1));
	assert_int_equal(count_op(OAE_OP_DELIVER), 2);
	assert_int_equal(l.rx, rx + 2);
	commit_to(1);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
}

/* A number without a place is refused, and gets its READY. */
TEST(test_no_place)
{
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, 1);
	assert_refused(2, OAE_R_BUSY);
	assert_int_equal(oae_link_lacks(&l), PLACES);
	assert_true(oae_link_owes_ready(&l));
	read_one(1);
	assert_true(oae_link_owes_ready(&l));
	lend(1);
	assert_null(sent(OAE_READY));
	assert_true(oae_link_owes_ready(&l));
	read_one(2);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 2);
	assert_false(oae_link_owes_ready(&l));

	/* READY for another number does not settle it. */
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, 1);
	take(1, 1, OAE_MESSAGE, 0);
	read_one(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
	assert_true(oae_link_owes_ready(&l));

	/* As the window moves on, it has one. */
	open_wide(2 * PLACES, 2 * PLACES);
	lend(PLACES);
	take(PLACES + 1, 1, OAE_MESSAGE, PLACES);
	assert_refused(PLACES + 1, OAE_R_BUSY);
	assert_int_equal(oae_link_lacks(&l), 2 * PLACES);
	read_one(PLACES);
	assert_null(sent(OAE_READY));
	take(1, 1, OAE_MESSAGE, PLACES);
	commit_to(1);
	read_one(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);

	/* If there is room for it, at once. */
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, 2);
	lend(2);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 2);

	/* In the next run nothing is refused yet. */
	open_wide(PLACES, PLACES);
	take(2, 1, OAE_MESSAGE, 1);
	anew_wide();
	take(1, 1, OAE_MESSAGE, 0);
	assert_refused(1, OAE_R_BUSY);
	read_one(1);
	assert_false(oae_link_owes_ready(&l));
}

/* A run without a window: READY names the only number, whatever window this end has. */
TEST(test_ready_without_window)
{
	open_wide(PLACES, 1);
	lend(PLACES);
	take(1, 1, OAE_MESSAGE, 0);
	read_one(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
	assert_false(oae_link_owes_ready(&l));
}

/* --- places --- */

/* What is held, and what is remembered of an express, moves to the places lent. */
TEST(test_lend_held)
{
	u64 digest;

	open_wide(PLACES, PLACES);
	take(1, 1, OAE_MESSAGE, 1);
	lend(1);
	commit_to(1);
	assert_int_equal(count_op(OAE_OP_DELIVER), 1);

	open_wide(PLACES, PLACES);
	rcv(slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS));
	digest = sent(OAE_REFLECT)->frame.reflect.digest;
	lend(1);
	rcv(BUT(slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS), f.seq--));
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
	lend(1);
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
	reflect(1);
	assert_ptr_equal(reclaim(), pair);

	open_window(state);
	take(2, 1, OAE_MESSAGE, 1);
	assert_null(reclaim());

	open_window(state);
	rcv(slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS));
	assert_null(reclaim());
}

/* A new peer: nothing is known of any number, until each has been committed. */
WINDOW_TEST(test_reclaim_later)
{
	unsigned int i;

	renamed();
	rcv(BUT(resolved(), f.tx = PEER_START, f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
	for (i = 1; i < PLACES; i++) {
		post_some(1, 1);
		reflect(i);
		assert_ptr_equal(reclaim(), i < PLACES - 1 ? NULL : pair);
	}
}

/* The attempts of the next number are kept, and that it had another content. */
TEST(test_reclaim_attempts)
{
	open_wide(PLACES, 1);
	lend(1);
	post(&x, 1, 0);
	cancel(&x);
	assert_ptr_equal(reclaim(), pair);
	post(&y, 2, 0);
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 2);
	anew();
	assert_false(sent(OAE_OFFER)->frame.flags & OAE_F_RESUME);
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
	struct oae_frame f;
	unsigned int i;

	for (i = 1; i <= n; i++)
		post_kind(&h[i], OAE_VERB, 1000, 0);
	clear();
	oae_link_set_mtu(&l, 500, now, &a);
	f = resolved();
	f.sync.caps = PLACES - 1;
	clear();
	a.nops = OAE_MAX_OPS;
	a.full = look_down;
	deepest = NULL;
	oae_link_rcv(&l, &f, PLACES, now, &a);
	assert_int_equal(l.nlanes, 0);
	return (char *)__builtin_frame_address(0) - deepest;
}

/* A kernel's stack is short: many verbs take no more of it than a few. */
WINDOW_TEST(test_too_long_stack)
{
	size_t two;

	l.cwnd = PLACES;
	two = depth_of_too_long(2);
	open_window(state);
	l.cwnd = PLACES;
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

/* --- verbs --- */

#define REPLY	16

static void post_verb(char *handle)
{
	post_kind(handle, OAE_VERB, CUT, REPLY);
}

static void post_verbs(unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		post_verb(&h[from]);
}

/* The verb that is to be computed. */
static u32 asked(void)
{
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	return op(OAE_OP_VERB)->seq;
}

/* It is taken, and computed at once. */
static void take_verb(u32 above, u8 attempt)
{
	take(above, attempt, OAE_VERB, PLACES);
	assert_int_equal(asked(), l.rx + above);
	computed(0, REPLY);
}

/* The answer to a number of the peer. */
static const struct oae_send *answered(u32 above)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_REFLECT &&
		    a.send[i].frame.seq == l.rx + above)
			return &a.send[i];
	return NULL;
}

/* Each has its result, and is committed in its turn. */
WINDOW_TEST(test_verbs)
{
	post_verbs(1, 3);
	assert_non_null(offered(3));
	reflect(2);
	assert_true(op(OAE_OP_RESULT)->handle == &h[2]);
	assert_int_equal(l.tx, 0);
	reflect(1);
	assert_true(op(OAE_OP_RESULT)->handle == &h[1]);
	assert_int_equal(l.tx, 2);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 2);
}

/*
 * One is reversed: what the peer has computed above it is void, and is offered anew once
 * the peer has heard of that; messages need not wait.
 */
WINDOW_TEST(test_verb_reversed)
{
	post_verbs(1, 2);
	post_some(3, 3);
	reflect(2);
	reflect(3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_null(offered(2));
	assert_null(offered(3));
	post_verb(&h[4]);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(l.tx, 1);
	assert_int_equal(offered(2)->frame.attempt, 2);
	assert_non_null(offered(4));
	assert_null(offered(3));
	/* The first answer comes again. */
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.attempt = 1));
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	reflect(2);
	assert_int_equal(l.tx, 3);
}

/* A message is reversed: no verb rests on it. */
WINDOW_TEST(test_verb_above_message)
{
	post_some(1, 1);
	post_verbs(2, 2);
	reflect(2);
	assert_int_equal(cancel(&h[1]), 0);
	post_verb(&h[3]);
	assert_non_null(offered(3));
	reflect(1);
	assert_int_equal(l.tx, 2);
}

/* Two are reversed: what is above both waits for both. */
WINDOW_TEST(test_verbs_reversed)
{
	post_verbs(1, 3);
	assert_int_equal(cancel(&h[1]), 0);
	assert_int_equal(cancel(&h[2]), 0);
	assert_non_null(offered(2));
	reflect(1);
	assert_null(offered(3));
	reflect(2);
	assert_int_equal(offered(3)->frame.attempt, 2);
}

/* What was refused was not computed; but of what had no place a copy may be late. */
WINDOW_TEST(test_verb_refused_reversed)
{
	post_verbs(1, 2);
	refuse_number(1, OAE_R_CONFLICT);
	assert_int_equal(cancel(&h[1]), 0);
	reflect(1);
	assert_null(offered(2));

	open_window(state);
	post_verbs(1, 2);
	refuse_number(1, OAE_R_RANGE);
	assert_reversed(&h[1], OAE_E_RANGE);
	reflect(1);
	assert_null(offered(2));

	open_window(state);
	post_verbs(1, 2);
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(cancel(&h[1]), 0);
	reflect(1);
	assert_int_equal(offered(2)->frame.attempt, 2);
}

/* A verb that is parked above one that is reversed waits as well. */
WINDOW_TEST(test_verb_parked_above)
{
	post_verbs(1, 2);
	refuse_number(2, OAE_R_CONFLICT);
	assert_int_equal(cancel(&h[1]), 0);
	now += cfg.keepalive;
	clear();
	oae_offer_unpark(&l, now, &a);
	assert_null(offered(2));
	ready(2);
	assert_null(offered(2));
	reflect(1);
	assert_int_equal(offered(2)->frame.attempt, 2);
}

/*
 * So does one that has waited since the run before, although there is room for it now; a
 * message does not wait.
 */
WINDOW_TEST(test_verb_queued_above)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_window(state);
		post_verbs(1, 2);
		if (i)
			post_some(3, 3);
		else
			post_verbs(3, 3);
		anew_wide();
		/* The peer has room for the next one only. */
		rcv(BUT(answer_to(OAE_REFLECT, 1), f.reason = 2));
		assert_int_equal(l.tx, 1);
		assert_non_null(offered(2));
		assert_null(offered(3));
		assert_int_equal(cancel(&h[2]), 0);
		assert_int_equal(offered(2)->frame.kind, OAE_VOID);
		ready(PLACES);
		assert_int_equal(!!offered(3), i);
		reflect(2);
		assert_int_equal(!!offered(3), !i);
	}
}

/* A new run: nothing of all that matters. */
WINDOW_TEST(test_verb_anew)
{
	post_verbs(1, 2);
	assert_int_equal(cancel(&h[1]), 0);
	anew_wide();
	assert_int_equal(offered(1)->frame.kind, OAE_VERB);
	reflect(1);
	assert_int_equal(l.tx, 1);
	assert_true(ended(&h[2], OAE_COMMITTED));
	post_verbs(1, 2);
	assert_non_null(offered(2 + 1));
}

/* The peer has it, but not what is below: that one is lost. */
WINDOW_TEST(test_verb_waits)
{
	unsigned int i;

	grow();
	post_verbs(1, 4);
	for (i = 2; i <= 4; i++)
		refuse_number(l.tx + i, OAE_R_GAP);
	assert_int_equal(offered(l.tx + 1)->frame.attempt, 2);
	assert_null(offered(l.tx + 2));
	/* Nothing that is below says that one is lost. */
	for (i = 0; i < 3; i++) {
		refuse_number(l.tx + 1, OAE_R_CONFLICT);
		ready(l.tx + PLACES);
		assert_null(offered(l.tx + 2));
	}
	reflect(l.tx + 1);
	assert_null(sent(OAE_OFFER));
	/* It is computed now; its answer is lost. */
	l.cwnd = PLACES;
	post_verbs(5, 7);
	reflect(l.tx + 2);
	reflect(l.tx + 3);
	assert_null(offered(l.tx + 1));
	reflect(l.tx + 4);
	assert_int_equal(offered(l.tx + 1)->frame.attempt, 2);
}

/* Here: it is computed when all below it is held, and in order. */
WINDOW_TEST(test_compute_in_order)
{
	take(3, 1, OAE_VERB, PLACES);
	assert_refused(3, OAE_R_GAP);
	assert_true(sent(OAE_REFUSE)->frame.gap_map == 0);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	/* Asked again, it still waits. */
	take(3, 1, OAE_VERB, PLACES);
	assert_refused(3, OAE_R_GAP);
	take(2, 1, OAE_VERB, PLACES);
	assert_refused(2, OAE_R_GAP);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_non_null(answered(1));
	assert_int_equal(asked(), l.rx + 2);
	assert_null(answered(2));
	computed(0, REPLY);
	assert_int_equal(answered(2)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(count_op(OAE_OP_VERB), 2);
	computed(0, 2 * REPLY);
	assert_int_equal(answered(3)->frame.length, OAE_REFLECT_LEN + 2 * REPLY);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_APPLY), 2);
}

/* One that is refused holds up those above it. */
WINDOW_TEST(test_compute_refused)
{
	take(3, 1, OAE_VERB, PLACES);
	take(2, 1, OAE_VERB, PLACES);
	take(1, 1, OAE_MESSAGE, PLACES);
	computed(OAE_R_CONFLICT, 0);
	assert_refused(2, OAE_R_CONFLICT);
	assert_int_equal(count_op(OAE_OP_VERB), 1);
	/* READY needs no room for it. */
	read_one(0);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 3);
	take_verb(2, 2);
	assert_non_null(answered(2));
	assert_int_equal(op(OAE_OP_VERB)[0].seq, l.rx + 2);
	computed(0, REPLY);
	assert_non_null(answered(3));
}

/* An event answers a few; the others are not forgotten. */
WINDOW_TEST(test_compute_more)
{
	unsigned int i, n;

	for (i = 2; i <= PLACES; i++)
		take(i, 1, OAE_VERB, PLACES);
	take(1, 1, OAE_VERB, PLACES);
	for (n = 0; l.asking; n++)
		computed(0, REPLY);
	assert_in_range(n, 2, OAE_MAX_SENDS);
	while (oae_link_more(&l)) {
		clear();
		oae_link_pump(&l, now, &a);
		for (; l.asking; n++)
			computed(0, REPLY);
	}
	assert_int_equal(n, PLACES);
	assert_int_equal(l.nheld, PLACES);
}

/* A new attempt of a verb that is held: what was computed stands. */
WINDOW_TEST(test_compute_once)
{
	take_verb(1, 1);
	take_verb(2, 1);
	take(1, 2, OAE_VERB, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	assert_false(op(OAE_OP_DISCARD));
	assert_int_equal(answered(1)->frame.attempt, 2);
	assert_int_equal(answered(1)->frame.length, OAE_REFLECT_LEN + REPLY);
	assert_int_equal(l.nheld, 2);
	/* A peer that says something else has it computed. */
	rcv(BUT(offer_kind(3, OAE_VERB), f.payload_hash++));
	assert_int_equal(asked(), l.rx + 1);
	assert_int_equal(count_op(OAE_OP_DISCARD), 2);
	computed(0, REPLY);
	assert_int_equal(l.nheld, 1);

	/* Without a window another verb may have the number. */
	open_link(state);
	rcv(offer_kind(1, OAE_VERB));
	computed(0, REPLY);
	rcv(offer_kind(2, OAE_VERB));
	assert_int_equal(asked(), l.rx + 1);
}

/* Nothing in its place: what was computed above it is dropped, and is offered anew. */
WINDOW_TEST(test_compute_anew)
{
	take_verb(1, 1);
	take(2, 1, OAE_MESSAGE, PLACES);
	take_verb(3, 1);
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(count_op(OAE_OP_DISCARD), 2);
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(l.nheld, 2);
	take(3, 1, OAE_VERB, PLACES);
	assert_int_equal(noted(OAE_N_OLD_ATTEMPT), 1);
	assert_int_equal(a.nsends, 0);
	take_verb(3, 2);
	commit_to(3);
	assert_int_equal(count_op(OAE_OP_APPLY), 1);

	/* But a message is none of its business. */
	take(1, 1, OAE_MESSAGE, PLACES);
	take_verb(2, 1);
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(l.nheld, 2);
}

/* An end that closes takes nothing that has waited. */
WINDOW_TEST(test_compute_closing)
{
	take(2, 1, OAE_VERB, PLACES);
	close_link();
	take(1, 2, OAE_VOID, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	assert_refused(2, OAE_R_BUSY);
}

/* The run ends: what waits is forgotten. */
WINDOW_TEST(test_compute_froze)
{
	take(2, 1, OAE_VERB, PLACES);
	anew_wide();
	assert_int_equal(l.nwait, 0);
	take(1, 1, OAE_MESSAGE, PLACES);
	assert_int_equal(count_op(OAE_OP_VERB), 0);
	take_verb(2, 1);
}

/* --- closing --- */

/* CLOSE does not wait for what is held above a number that was refused. */
WINDOW_TEST(test_close)
{
	take(2, 1, OAE_MESSAGE, 1);
	take(1, 1, OAE_MESSAGE, 0);
	close_link();
	assert_non_null(sent(OAE_CLOSE));
	/* The peer gives the number up. */
	take(1, 2, OAE_VOID, 0);
	assert_non_null(sent(OAE_REFLECT));
}

/* But a peer that closes is answered only when nothing is held. */
WINDOW_TEST(test_peer_closes)
{
	take(1, 1, OAE_MESSAGE, 1);
	rcv(frame(OAE_CLOSE));
	assert_null(sent(OAE_CLOSE_ACK));
	commit_to(1);
	assert_non_null(sent(OAE_CLOSE_ACK));
}

/* A verb is being computed, and both ends close: the peer is probed as always. */
WINDOW_TEST(test_close_computing)
{
	take(1, 1, OAE_VERB, PLACES);
	close_link();
	rcv(frame(OAE_CLOSE));
	assert_null(sent(OAE_CLOSE_ACK));
	fire_at(now + cfg.keepalive);
	assert_non_null(sent(OAE_SYNC));
	assert_int_equal(op(OAE_OP_TIMER)->at, l.again_at);
}

/* What waits is reversed at once, and nothing is offered in place of it. */
WINDOW_TEST(test_close_parked)
{
	post_some(1, 2);
	refuse_number(1, OAE_R_BUSY);
	close_link();
	assert_true(ended(&h[1], OAE_REVERSED));
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_null(sent(OAE_CLOSE));
}

/* So is a verb above it, which was in flight and would be offered anew. */
WINDOW_TEST(test_close_parked_verb)
{
	post_verbs(1, 3);
	reflect(3);
	rcv(frame(OAE_CLOSE));
	assert_false(op(OAE_OP_COMPLETE));
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(count_op(OAE_OP_COMPLETE), 3);
	assert_int_equal(offered(1)->frame.kind, OAE_VOID);
	assert_int_equal(offered(2)->frame.kind, OAE_VOID);
	assert_int_equal(offered(3)->frame.kind, OAE_VOID);
	reflect(3);
	reflect(2);
	assert_null(sent(OAE_OFFER));
	reflect(1);
	assert_int_equal(l.nlanes, 0);
}

/* The attempts are used up: the link freezes, and closes in the next run. */
WINDOW_TEST(test_close_used_up)
{
	post_some(1, 1);
	oae_lane(&l, 1)->attempt = 255;
	refuse_number(1, OAE_R_BUSY);
	close_link();
	assert_true(ended(&h[1], OAE_REVERSED));
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_null(sent(OAE_CLOSE));
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_non_null(sent(OAE_CLOSE));
}

/* So is what waits since the run before. */
WINDOW_TEST(test_close_queued)
{
	post_some(1, 2);
	anew_wide();
	assert_null(offered(2));
	close_link();
	assert_true(ended(&h[2], OAE_REVERSED));
}

/* DONE was asked for an earlier one: it is asked for again. */
WINDOW_TEST(test_close_confirms)
{
	peer_lag = 2;
	post_some(1, 1);
	reflect(1);
	confirm();
	post_some(2, 2);
	reflect(2);
	close_link();
	assert_true(sent(OAE_COMMIT)->frame.flags & OAE_F_WANT_DONE);
	assert_int_equal(sent(OAE_COMMIT)->frame.seq, 2);
}

/*
 * A number is begun when there is room, and grows until there is none: only the next one
 * is never cut short. What is refused so is offered again once there is room.
 */
WINDOW_TEST(test_full)
{
	take_slice(1, 1, 0, 0, PLACES);
	take_slice(2, 1, 0, 0, PLACES);
	assert_null(sent(OAE_REFUSE));
	take_slice(1, 1, 1, OAE_F_LAST, PLACES | OAE_ROOM_FULL);
	assert_non_null(sent(OAE_REFLECT));
	/* Of what is here already there is not more. */
	take_slice(2, 1, 0, 0, PLACES | OAE_ROOM_FULL);
	assert_null(sent(OAE_REFUSE));
	take_slice(2, 1, 1, OAE_F_LAST, PLACES | OAE_ROOM_FULL);
	assert_refused(2, OAE_R_BUSY);
	/* Nor is another begun. */
	take(3, 1, OAE_MESSAGE, PLACES | OAE_ROOM_FULL);
	assert_refused(3, OAE_R_BUSY);
	read_one(PLACES | OAE_ROOM_FULL);
	assert_null(sent(OAE_READY));
	commit_to(1);
	read_one(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);
}

/* The room that a slice had is not that of a pack, but for the next number. */
WINDOW_TEST(test_full_pack)
{
	l.packs = true;
	take_slice(1, 1, 0, 0, PLACES);
	take_slice(2, 1, 0, 0, PLACES);
	take(2, 2, OAE_PACK, PLACES | OAE_ROOM_FULL);
	assert_refused(2, OAE_R_BUSY);
	assert_true(oae_link_owes_room(&l));
	take(1, 2, OAE_PACK, PLACES | OAE_ROOM_FULL);
	assert_non_null(sent(OAE_REFLECT));
	take(2, 3, OAE_PACK, PLACES);
	assert_non_null(sent(OAE_REFLECT));
}

UNIT_MAIN("window")
