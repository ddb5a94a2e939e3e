// SPDX-License-Identifier: GPL-2.0
/*
 * Several messages, or verbs, as one transaction (doc/protocol.md section 4.12): what is
 * said and what is learned, held and refused, handed back and taken back; and the format.
 */
#include "one_link.h"
#include "../../modoae/link/link_int.h"
#include "../../modoae/link/pack.h"

#define PLACES	4

static struct oae_pair place[PLACES], *pair[PLACES];
static char h[8];		/* handles */

/* The peer's caps: it takes packs, or not; its window. */
static u32 caps(bool packs, u8 window)
{
	return (packs ? OAE_CAPS_PACK : 0) | (window - 1);
}

static void open_with(bool mine, bool theirs, u8 window)
{
	struct oae_frame f;
	unsigned int i;

	one_link(NULL);
	cfg.window = window;
	cfg.pack = mine;
	new_link();
	clear();
	oae_link_open(&l, now, &a);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.caps, caps(mine, window));
	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	f.tx = PEER_START;
	f.sync.caps = caps(theirs, window);
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
	if (window == 1)
		return;
	memset(place, 0, sizeof(place));
	for (i = 0; i < PLACES; i++)
		pair[i] = &place[i];
	clear();
	oae_link_lend(&l, pair, PLACES, now, &a);
}

static int open_packs(void **state)
{
	(void)state;
	open_with(true, true, 1);
	return 0;
}

static int open_wide(void **state)
{
	(void)state;
	open_with(true, true, PLACES);
	return 0;
}

#define PACK_TEST(test)		UNIT_TEST(test, open_packs, NULL)
#define WINDOW_TEST(test)	UNIT_TEST(test, open_wide, NULL)

static struct oae_post pack_of(char *handle, u16 len)
{
	return (struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = len,
		.slice_max = len, .nslices = 1, .kind = OAE_PACK,
	};
}

static void post_pack(char *handle, u16 len)
{
	struct oae_post p = pack_of(handle, len);

	post_it(&p);
}

/* Several verbs, and an answer to all. */
static void post_joined(char *handle, u16 len, u16 reply)
{
	struct oae_post p = pack_of(handle, len);

	p.kind = OAE_VERB;
	p.flags = OAE_POST_JOINED;
	p.reply = reply;
	post_it(&p);
}

/* The peer has frozen and resolved; it takes packs or not, and of that length. */
static void anew_with(bool packs, u8 window, u16 mtu)
{
	port_down();
	rcv(BUT(resolved(), f.sync.caps = caps(packs, window), f.sync.mtu = mtu));
	assert_int_equal(l.state, OAE_OPEN);
}

/* An answer to a number of mine. */
static struct oae_frame answer_to(u8 opcode, u32 seq)
{
	struct oae_frame f = answer(opcode);

	f.seq = seq;
	f.kind = oae_lane(&l, seq)->p.kind;
	f.length = opcode == OAE_REFLECT ? OAE_REFLECT_LEN : 0;
	return f;
}

static void reflect_void(u32 seq)
{
	const struct oae_post *p = &oae_lane(&l, seq)->p;

	assert_int_equal(p->kind, OAE_VOID);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.reflect.digest = p->digest,
		f.reflect.first = p->first));
}

static void refuse_for(u32 seq, u16 reason)
{
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = reason, f.map = ~0U));
}

/* What was handed back, in the order of the ops. */
static void assert_back(const char *const *handle, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < a.nops; i++) {
		if (a.op[i].type != OAE_OP_BACK)
			continue;
		assert_true(n);
		assert_ptr_equal(a.op[i].handle, *handle);
		handle++;
		n--;
	}
	assert_int_equal(n, 0);
}

#define BACK(...) \
	assert_back((const char *const[]){ __VA_ARGS__ }, \
		    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static const struct oae_op *back_of(const char *handle)
{
	unsigned int i;

	for (i = 0; i < a.nops; i++)
		if (a.op[i].type == OAE_OP_BACK && a.op[i].handle == handle)
			return &a.op[i];
	return NULL;
}

static int take_back(char *handle)
{
	clear();
	return oae_link_take_back(&l, handle, now, &a);
}

/* The last event has offered nothing under this number. */
static void assert_void_at(u32 seq)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_OFFER && a.send[i].frame.seq == seq) {
			assert_int_equal(a.send[i].frame.kind, OAE_VOID);
			assert_null(a.send[i].handle);
			return;
		}
	fail_msg("number %u is not offered", seq);
}

/* What the peer offers next: a pack. */
static struct oae_frame offer_pack(bool unfit)
{
	return BUT(offer_kind(OAE_PACK), f.unfit = unfit);
}

/* --- what is said --- */

TEST(test_said)
{
	open_with(true, true, 1);
	assert_int_equal(oae_link_pack_max(&l), 1500 - OAE_HDR_LEN);
	open_with(true, false, 1);
	assert_int_equal(oae_link_pack_max(&l), 0);
	open_with(false, true, 1);
	assert_int_equal(oae_link_pack_max(&l), 0);
	/* The window is said beside it. */
	open_with(true, true, 3);
	assert_int_equal(l.win, 3);
}

PACK_TEST(test_said_when_frozen)
{
	port_down();
	assert_int_equal(oae_link_pack_max(&l), 0);
	cfg.pack = false;
	/* Until the next ltag packs are taken, but not made. */
	fire_at(l.timer.at);
	assert_true(sent(OAE_SYNC)->frame.sync.caps & OAE_CAPS_PACK);
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1)));
	assert_int_equal(oae_link_pack_max(&l), 0);
	rcv(offer_pack(false));
	assert_non_null(sent(OAE_REFLECT));
	port_down();
	assert_false(sent(OAE_SYNC)->frame.sync.caps & OAE_CAPS_PACK);
}

PACK_TEST(test_said_by_data)
{
	port_down();
	/* The SYNC told the ltag, and this frame has overtaken the SYNC_ACK. */
	rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0x77,
		f.sync.caps = caps(true, 1)));
	rcv(frame(OAE_COMMIT));
	assert_int_equal(l.state, OAE_OPEN);
	assert_int_equal(oae_link_pack_max(&l), 1500 - OAE_HDR_LEN);
}

PACK_TEST(test_max)
{
	anew_with(true, 1, 200);
	assert_int_equal(oae_link_pack_max(&l), 200 - OAE_HDR_LEN);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1), f.sync.max_len = 100));
	assert_int_equal(oae_link_pack_max(&l), 100);
}

/* --- held, or refused --- */

PACK_TEST(test_held)
{
	rcv(offer_pack(false));
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_PACK);
	assert_int_equal(sent(OAE_REFLECT)->frame.length, 0);
	commit(0);
	assert_int_equal(op(OAE_OP_UNPACK)->seq, PEER_START + 1);
	assert_null(op(OAE_OP_DELIVER));
}

PACK_TEST(test_refused_settling)
{
	rcv_settling(offer_pack(false));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_BUSY);
	words_free();
	assert_non_null(sent(OAE_READY));
}

PACK_TEST(test_malformed)
{
	rcv(offer_pack(true));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_KIND);
	assert_int_equal(count_op(OAE_OP_DISCARD), 1);
	words_free();
	assert_int_equal(a.nsends, 0);
}

TEST(test_not_taken)
{
	open_with(false, true, 1);
	rcv(offer_pack(false));
	assert_int_equal(sent(OAE_REFUSE)->frame.reason, OAE_R_KIND);
}

WINDOW_TEST(test_held_in_the_window)
{
	rcv(BUT(offer_pack(false), f.seq++));
	assert_non_null(sent(OAE_REFLECT));
	rcv(offer_pack(false));
	rcv(BUT(frame(OAE_COMMIT), f.tx += 2));
	assert_int_equal(count_op(OAE_OP_UNPACK), 2);
}

/* --- handed back --- */

PACK_TEST(test_refused_for_good)
{
	post_pack(&h[1], 80);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_PACK);
	post_pack(&h[2], 80);
	refuse_for(1, OAE_R_TOO_BIG);
	BACK(&h[2], &h[1]);
	assert_true(back_of(&h[1])->refused);
	assert_false(back_of(&h[2])->refused);
	assert_null(op(OAE_OP_COMPLETE));
	assert_void_at(1);
	post(&h[1], 1, 0);
	assert_null(sent(OAE_OFFER));
	reflect_void(1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
}

/* While an end closes it is reversed, with what waits behind it. */
PACK_TEST(test_refused_closing)
{
	unsigned int peer;

	for (peer = 0; peer < 2; peer++) {
		open_packs(state);
		post_pack(&h[1], 80);
		if (peer)
			rcv(peer_closes(1, false));
		else
			close_link();
		refuse_for(1, OAE_R_TOO_BIG);
		assert_null(op(OAE_OP_BACK));
		assert_reversed(&h[1], peer ? OAE_E_PEER_CLOSED : OAE_E_SHUTDOWN);
	}
}

WINDOW_TEST(test_refused_in_the_window)
{
	post(&h[1], 1, 0);
	post_pack(&h[2], 80);
	post(&h[3], 1, 0);
	rcv(answer_to(OAE_REFLECT, 3));
	refuse_for(2, OAE_R_KIND);
	/* What is above goes out again behind the messages of the pack. */
	BACK(&h[3], &h[2]);
	assert_true(back_of(&h[2])->refused);
	assert_false(back_of(&h[3])->refused);
	assert_int_equal(oae_lane(&l, 2)->p.kind, OAE_VOID);
	assert_int_equal(oae_lane(&l, 3)->p.kind, OAE_VOID);
	assert_ptr_equal(oae_lane(&l, 1)->p.handle, &h[1]);
	/* Refused for now is no reason. */
	post_pack(&h[4], 80);
	refuse_for(4, OAE_R_BUSY);
	assert_null(op(OAE_OP_BACK));
}

PACK_TEST(test_new_run)
{
	/* As long as it fits, a pack is offered again. */
	post_pack(&h[1], 80);
	anew_with(true, 1, 120);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	/* A shorter frame; then none at all. */
	anew_with(true, 1, 119);
	assert_non_null(sent(OAE_OFFER));
	assert_int_equal(OAE_MIN_MTU - OAE_HDR_LEN, 80);
	post_pack(&h[2], 100);
	rcv(answer_to(OAE_REFLECT, 1));
	BACK(&h[2]);
	assert_null(sent(OAE_OFFER));
	assert_false(back_of(&h[2])->refused);
	post_pack(&h[3], 80);
	post_kind(&h[4], OAE_VERB, 40, 8);
	anew_with(false, 1, 1500);
	BACK(&h[4], &h[3]);
}

PACK_TEST(test_max_len_shrinks)
{
	post_pack(&h[1], 80);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1), f.sync.max_len = 79));
	BACK(&h[1]);
	/* The same of one that was never offered. */
	post(&h[2], 1, 0);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1)));
	post_pack(&h[3], 80);
	port_down();
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1), f.sync.max_len = 79));
	rcv(answer_to(OAE_REFLECT, 1));
	BACK(&h[3]);
	assert_false(ended(&h[3], OAE_REVERSED));
}

WINDOW_TEST(test_new_run_in_the_window)
{
	post(&h[1], 1, 0);
	post_pack(&h[2], 80);
	post(&h[3], 1, 0);
	l.cong.cwnd = 1;
	anew_with(false, PLACES, 1500);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	rcv(answer_to(OAE_REFLECT, 1));
	BACK(&h[3], &h[2]);
	/* They have no numbers in this run, so none is void. */
	assert_int_equal(l.nlanes, 0);
}

/* Nothing of what is offered is heard, until it is asked why. */
static void not_heard(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		assert_null(probe());
		rcv(answer_to(OAE_ACK, l.tx + 1));
	}
}

/* Frames of that length do not get through: packs are cut like messages. */
PACK_TEST(test_cut)
{
	post_pack(&h[1], 1400);
	not_heard();
	gets_through(1400);
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1)));
	BACK(&h[1]);
	assert_int_equal(oae_link_pack_max(&l), 1400 - OAE_HDR_LEN);
}

/* --- taken back --- */

/* With a number: nothing takes its place, all above it and what waits comes back, too. */
WINDOW_TEST(test_taken_back)
{
	unsigned int i;

	/* In flight, refused for now, or reflected. */
	for (i = 0; i < 3; i++) {
		open_wide(NULL);
		post(&h[1], 1, 0);
		post_pack(&h[2], 80);
		post(&h[3], 1, 0);
		post_pack(&h[4], 80);
		post(&h[5], 1, 0);
		if (i == 1)
			refuse_for(2, OAE_R_BUSY);
		if (i == 2)
			rcv(answer_to(OAE_REFLECT, 2));
		assert_int_equal(take_back(&h[2]), 0);
		BACK(&h[5], &h[4], &h[3], &h[2]);
		assert_false(back_of(&h[2])->refused);
		assert_null(op(OAE_OP_COMPLETE));
		assert_int_equal(a.nsends, 3);
		assert_void_at(2);
		assert_void_at(3);
		assert_void_at(4);
		assert_int_equal(take_back(&h[2]), -ENOENT);
		/* A late answer to what was there. */
		rcv(BUT(answer_to(OAE_REFLECT, 2), f.kind = OAE_PACK));
		assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
		/* What is left of it goes on, above. */
		post_pack(&h[2], 60);
		rcv(answer_to(OAE_REFLECT, 1));
		assert_true(ended(&h[1], OAE_COMMITTED));
		assert_ptr_equal(sent(OAE_OFFER)->handle, &h[2]);
		assert_int_equal(sent(OAE_OFFER)->frame.seq, 5);
		reflect_void(4);
		reflect_void(3);
		rcv(answer_to(OAE_REFLECT, 5));
		assert_int_equal(l.tx, 1);
		reflect_void(2);
		assert_int_equal(l.tx, 5);
		assert_int_equal(count_op(OAE_OP_COMPLETE), 1);
		assert_true(ended(&h[2], OAE_COMMITTED));
	}
}

/* With a window of one: what is left of it waits until nothing, in its place, is committed. */
PACK_TEST(test_taken_back_alone)
{
	post_pack(&h[1], 80);
	post_pack(&h[2], 80);
	assert_int_equal(take_back(&h[1]), 0);
	BACK(&h[2], &h[1]);
	assert_void_at(1);
	post_pack(&h[1], 60);
	assert_null(sent(OAE_OFFER));
	reflect_void(1);
	assert_int_equal(l.tx, 1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 2);
}

/* Nothing does not wait as long as what was parked there. */
PACK_TEST(test_taken_back_parked_long)
{
	post_pack(&h[1], 80);
	rcv(BUT(answer_to(OAE_REFUSE, 1), f.reason = OAE_R_BUSY));
	fire_at(l.timer.at);
	assert_true(l.timer.at > now + oae_link_pto(&l));
	assert_int_equal(take_back(&h[1]), 0);
	assert_void_at(1);
	assert_true(l.timer.at <= now + oae_link_pto(&l));
}

/* Behind what has a number, it has none. */
PACK_TEST(test_taken_back_next)
{
	post_pack(&h[1], 80);
	post_pack(&h[2], 80);
	assert_int_equal(take_back(&h[2]), 0);
	BACK(&h[2]);
	assert_int_equal(a.nsends, 0);
	assert_true(oae_link_wants(&l));
	rcv(answer_to(OAE_REFLECT, 1));
	assert_true(ended(&h[1], OAE_COMMITTED));
	assert_null(sent(OAE_OFFER));
}

/* It stepped aside for a half: those behind it come back, those before it do not. */
WINDOW_TEST(test_taken_back_aside)
{
	post(&h[1], 1, 0);
	post_pack(&h[2], 80);
	post(&h[3], 1, 0);
	refuse_for(1, OAE_R_BUSY);
	post_half(&x);
	post_pack(&h[4], 80);
	assert_int_equal(take_back(&h[2]), 0);
	BACK(&h[4], &h[3], &h[2]);
	assert_int_equal(a.nsends, 0);
	assert_int_equal(take_back(&h[2]), -ENOENT);
	/* The half is not one of them. */
	reflect_void(3);
	reflect_void(2);
	reflect_void(1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &x);
	refuse_for(4, OAE_R_NO_HALF);
	reflect_void(4);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 5);
	assert_int_equal(a.nsends, 1);
}

/* Its number was not given in this run: so it is not nothing, and those above it come back. */
WINDOW_TEST(test_taken_back_not_given)
{
	post(&h[1], 1, 0);
	post_pack(&h[2], 80);
	post(&h[3], 1, 0);
	l.cong.cwnd = 1;
	anew_with(true, PLACES, 1500);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	assert_int_equal(a.nsends, 2);
	assert_int_equal(take_back(&h[2]), 0);
	BACK(&h[3], &h[2]);
	assert_int_equal(a.nsends, 0);
	rcv(answer_to(OAE_REFLECT, 1));
	assert_null(sent(OAE_OFFER));
	post_pack(&h[2], 60);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 2);
}

/* Frozen: there is no number to be nothing, and the next run has none either. */
WINDOW_TEST(test_taken_back_frozen)
{
	post_pack(&h[1], 80);
	post(&h[2], 1, 0);
	post_pack(&h[3], 80);
	port_down();
	assert_int_equal(take_back(&h[1]), 0);
	BACK(&h[3], &h[2], &h[1]);
	assert_int_equal(a.nsends, 0);
	post_pack(&h[4], 60);
	rcv(BUT(resolved(), f.sync.caps = caps(true, PLACES)));
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[4]);
}

/* --- joined verbs --- */

TEST(test_join_max)
{
	/* To the peer it is a verb like any other. */
	open_with(true, false, 1);
	assert_int_equal(oae_link_join_max(&l), 1500 - OAE_HDR_LEN);
	port_down();
	assert_int_equal(oae_link_join_max(&l), 0);
	rcv(BUT(resolved(), f.sync.max_len = 80));
	assert_int_equal(oae_link_join_max(&l), 80);
	open_with(false, true, 1);
	assert_int_equal(oae_link_join_max(&l), 0);
}

PACK_TEST(test_joined_kind)
{
	struct oae_post p = pack_of(&h[1], 80);

	p.flags = OAE_POST_JOINED;
	clear();
	assert_int_equal(oae_link_post(&l, &p, now, &a), -EINVAL);
	p.kind = OAE_MESSAGE;
	assert_int_equal(oae_link_post(&l, &p, now, &a), -EINVAL);
}

static void joined_refused(u16 reason)
{
	open_with(true, true, 1);
	post_joined(&h[1], 80, 40);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VERB);
	post_kind(&h[2], OAE_VERB, 40, 8);
	refuse_for(1, reason);
	BACK(&h[2], &h[1]);
	assert_true(back_of(&h[1])->refused);
	assert_false(back_of(&h[2])->refused);
	assert_null(op(OAE_OP_COMPLETE));
	assert_void_at(1);
	/* One alone has its outcome. */
	post_kind(&h[1], OAE_VERB, 40, 8);
	assert_null(sent(OAE_OFFER));
	reflect_void(1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	refuse_for(2, OAE_R_CONFLICT);
	assert_null(op(OAE_OP_BACK));
	rcv(frame(OAE_READY));
	refuse_for(2, OAE_R_RANGE);
	assert_true(ended(&h[1], OAE_REVERSED));
}

/* One of them is not permitted; or some words are reserved, each at another time. */
TEST(test_joined_refused)
{
	joined_refused(OAE_R_RANGE);
	joined_refused(OAE_R_CONFLICT);
}

/* A link that closes offers nothing in their place, too, before CLOSE says LAST. */
PACK_TEST(test_joined_taken_back_closing)
{
	post_joined(&h[1], 80, 40);
	close_link();
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, 0);
	assert_int_equal(take_back(&h[1]), 0);
	assert_reversed(&h[1], OAE_E_SHUTDOWN);
	assert_void_at(1);
	reflect_void(1);
	assert_non_null(sent(OAE_COMMIT));
	assert_null(sent(OAE_CLOSE));
	rcv(frame(OAE_DONE));
	assert_int_equal(sent(OAE_CLOSE)->frame.flags, OAE_F_LAST);
}

/* What rests on them waits until nothing of them is there. */
WINDOW_TEST(test_joined_taken_back)
{
	post_joined(&h[1], 80, 40);
	post_kind(&h[2], OAE_VERB, 40, 8);
	rcv(BUT(answer_to(OAE_REFLECT, 2), f.length += 8));
	assert_int_equal(take_back(&h[1]), 0);
	BACK(&h[2], &h[1]);
	assert_int_equal(sent(OAE_OFFER)->frame.kind, OAE_VOID);
	post_joined(&h[1], 60, 32);
	assert_null(sent(OAE_OFFER));
	reflect_void(2);
	assert_null(sent(OAE_OFFER));
	reflect_void(1);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	assert_int_equal(sent(OAE_OFFER)->frame.seq, 3);
}

PACK_TEST(test_joined_new_run)
{
	/* As long as request and answer fit. */
	post_joined(&h[1], 80, 80);
	anew_with(false, 1, 80 + OAE_REFLECT_LEN + OAE_HDR_LEN);
	assert_ptr_equal(sent(OAE_OFFER)->handle, &h[1]);
	/* An answer that does not; then a request. */
	anew_with(false, 1, 80 + OAE_REFLECT_LEN + OAE_HDR_LEN - 1);
	BACK(&h[1]);
	assert_false(back_of(&h[1])->refused);
	anew_with(true, 1, 1500);
	post_joined(&h[2], 80, 8);
	port_down();
	rcv(BUT(resolved(), f.sync.max_len = 79));
	BACK(&h[2]);
	/* The same of one that was never offered. */
	post(&h[3], 1, 0);
	anew_with(true, 1, 1500);
	post_joined(&h[4], 200, 8);
	port_down();
	rcv(BUT(resolved(), f.sync.max_len = 199));
	rcv(answer_to(OAE_REFLECT, 1));
	BACK(&h[4]);
	assert_false(ended(&h[4], OAE_REVERSED));
}

/* Long frames do not get through: they are cut apart. */
TEST(test_joined_cut)
{
	open_with(true, true, 1);
	post_joined(&h[1], 1400, 8);
	not_heard();
	gets_through(1400);
	rcv(BUT(resolved(), f.sync.caps = caps(true, 1)));
	BACK(&h[1]);
	assert_int_equal(oae_link_join_max(&l), 1400 - OAE_HDR_LEN);
}

/* --- the format --- */

/* With no byte to be read beyond what is there. */
static unsigned int parse(const u8 *head, u32 len, u16 *msg_len)
{
	u32 here = len < OAE_PACK_HEAD_MAX ? len : OAE_PACK_HEAD_MAX;
	u8 *exact = malloc(here);
	unsigned int n;

	memcpy(exact, head, here);
	n = oae_pack_parse(exact, len, msg_len);
	free(exact);
	return n;
}

TEST(test_format)
{
	u8 buf[OAE_PACK_HEAD_MAX] = { 0 };
	u16 len[OAE_PACK_MSGS];
	unsigned int i;

	assert_int_equal(oae_pack_head_len(3), 8);
	oae_pack_begin(buf, 3);
	oae_pack_add(buf, 0, 1);
	oae_pack_add(buf, 1, 0x102);
	oae_pack_add(buf, 2, 7);
	assert_int_equal(parse(buf, 8 + 0x10a, len), 3);
	assert_int_equal(len[0], 1);
	assert_int_equal(len[1], 0x102);
	assert_int_equal(len[2], 7);
	assert_int_equal(parse(buf, 8 + 0x109, len), 0);
	assert_int_equal(parse(buf, 8 + 0x10b, len), 0);
	/* Shorter than its header, or than the least header. */
	assert_int_equal(parse(buf, 7, len), 0);
	assert_int_equal(parse(buf, 1, len), 0);
	oae_pack_add(buf, 1, 0);
	assert_int_equal(parse(buf, 8 + 8, len), 0);
	oae_pack_add(buf, 1, 1);
	assert_int_equal(parse(buf, 8 + 9, len), 3);
	buf[OAE_PACK_OFF_ZERO] = 1;
	assert_int_equal(parse(buf, 8 + 9, len), 0);
	buf[OAE_PACK_OFF_ZERO] = 0;
	oae_pack_begin(buf, 0);
	assert_int_equal(parse(buf, 2, len), 0);
	for (i = 0; i < OAE_PACK_MSGS; i++)
		oae_pack_add(buf, i, 1);
	oae_pack_begin(buf, OAE_PACK_MSGS);
	assert_int_equal(parse(buf, sizeof(buf) + OAE_PACK_MSGS, len), OAE_PACK_MSGS);
	oae_pack_begin(buf, OAE_PACK_MSGS + 1);
	assert_int_equal(parse(buf, sizeof(buf) + 2 + OAE_PACK_MSGS + 1, len), 0);
}

UNIT_MAIN("packs")
