// SPDX-License-Identifier: GPL-2.0
/*
 * Room for several transactions (doc/protocol.md section 4.11): what is refused without, and
 * when it is offered again; what either end says of it, and when READY is due.
 */
#include "one_window.h"

/* --- what is refused --- */

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
	ready(l.tx + 6);
	assert_non_null(offered(l.tx + 1));
	assert_non_null(offered(l.tx + 2));
	assert_non_null(offered(l.tx + 6));
}

/* A REFLECT says how far there is room, and nothing is offered beyond; but for the next. */
WINDOW_TEST(test_room_told)
{
	u32 tx;

	tx = l.tx;
	post_some(1, 2);
	rcv(BUT(answer_to(OAE_REFLECT, tx + 1), f.rx = tx, f.room = 2));
	post_some(3, 3);
	assert_null(sent(OAE_OFFER));
	rcv(BUT(answer_to(OAE_REFLECT, tx + 2), f.rx = tx + 1, f.room = 1));
	assert_non_null(offered(tx + 3));
	/* It says nothing. */
	rcv(BUT(answer_to(OAE_REFLECT, tx + 3), f.rx = tx + 2, f.room = 0));
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

	l.cwnd = 80;
	tx = l.tx;
	post(&h[1], 40, 0);
	refuse_number(tx + 1, OAE_R_BUSY);
	ready(tx + 1);
	assert_int_equal(offered(tx + 1)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, tx + 1), f.rx = tx, f.room = room));
	return tx + 2;
}

static void assert_asks(u32 seq)
{
	assert_int_equal(offered(seq)->slices, 1ULL << 39);
	assert_int_equal(offered(seq)->frame.flags, 0);
}

/* So LAST asks for room, if none was heard of. */
WINDOW_TEST(test_asks_for_room)
{
	u32 seq = refused_long(1);
	u16 cwnd;

	post(&h[2], 40, 0);
	assert_asks(seq);
	/* There is none: this was not sent for nothing, but the next is asked for again. */
	l.wary = false;
	refuse_number(seq, OAE_R_BUSY);
	assert_false(l.wary);
	l.wary = true;
	ready(seq);
	assert_int_equal(offered(seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.room = 1));
	post(&h[3], 40, 0);
	assert_asks(++seq);
	/* There is some: all go out, since none was lost. */
	ack_number(seq, 1ULL << 39 | 2);
	assert_int_equal(offered(seq)->slices, ~2ULL & ~0ULL >> 25);
	assert_int_equal(offered(seq)->frame.flags, 0);
	assert_in_range(l.cwnd, 80, 200);
	/* What was lost of them is another matter. */
	cwnd = l.cwnd;
	ack_number(seq, 1ULL << 39 | 3);
	assert_int_equal(offered(seq)->slices, ~3ULL & ~0ULL >> 25);
	assert_in_range(l.cwnd, cwnd / 2, cwnd - 1);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.room = 1));
	post(&h[4], 40, 0);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
}

/* It does not ask: there is room; it never was refused, or is short, or alone. */
WINDOW_TEST(test_does_not_ask)
{
	u32 seq = refused_long(2);

	post(&h[2], 40, 0);
	assert_int_equal(offered(seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.room = 1));
	post(&h[3], 1, 0);
	assert_int_equal(offered(++seq)->slices, 1);
	assert_int_equal(offered(seq)->frame.flags, 0);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq - 1, f.room = 1));
	post(&h[4], 40, OAE_POST_EXPRESS);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
	rcv(BUT(answer_to(OAE_REFLECT, seq), f.rx = seq, f.room = 1));
	l.wary = false;
	l.room_to = l.tx;
	post(&h[5], 40, 0);
	assert_int_equal(offered(++seq)->slices, ~0ULL >> 24);
}

/* What this end says of it: what is held is no room, what is unread neither. */
WINDOW_TEST(test_tell_room)
{
	take(1, OAE_MESSAGE, 3);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 3);
	take(2, OAE_MESSAGE, 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 2);
	take(2, OAE_MESSAGE, 2 | OAE_ROOM_FULL);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 2);
	take(1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, PLACES);
	/* When more can arrive, what is held is committed. */
	take(1, OAE_MESSAGE, PLACES + 2);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, PLACES + 2);
	take(1, OAE_MESSAGE, 3 * PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 2 * PLACES);
}

/* It says so of places that are not lent yet, too, or nobody would ever ask for them. */
TEST(test_tell_places)
{
	open_wide(PLACES, PLACES);
	take(1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, PLACES);
	commit_to(1);
	take(1, OAE_MESSAGE, 3);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 3);

	/* There was no memory for them. */
	open_wide(PLACES, PLACES);
	take(2, OAE_MESSAGE, PLACES);
	assert_refused(2, OAE_R_BUSY);
	take(1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, 1);
	lend(3 * PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);
	take(1, OAE_MESSAGE, PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, PLACES);

	/* There are some, and fewer than the window has. */
	open_wide(2 * PLACES, 2 * PLACES);
	lend(PLACES);
	take(1, OAE_MESSAGE, 4 * PLACES);
	assert_int_equal(sent(OAE_REFLECT)->frame.room, PLACES);
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
	u64 began, pto = oae_link_pto(&l), wait = 8 * pto;
	unsigned int i;

	post(&h[1], 3, 0);
	for (i = 0; i < 3; i++) {
		began = now;
		refuse_number(1, OAE_R_BUSY);
		assert_int_equal(l.park_at, began + wait);
		fire_at(began + wait);
		assert_int_equal(offered(1)->slices, 4);
		assert_int_equal(offered(1)->frame.flags, 0);
		wait = 2 * wait < cfg.keepalive ? 2 * wait : cfg.keepalive;
	}
	assert_int_equal(l.park_iv, 4 * 8 * pto < cfg.keepalive ? 4 * 8 * pto : cfg.keepalive);

	/* There was room meanwhile, so it begins anew. */
	refuse_number(1, OAE_R_BUSY);
	ready(1);
	assert_int_equal(offered(1)->slices, 7);
	refuse_number(1, OAE_R_BUSY);
	assert_int_equal(l.park_at, now + 8 * pto);
}

/* LAST alone was sent: that the others are missing is no loss. */
WINDOW_TEST(test_gap_of_last)
{
	unsigned int before = l.cwnd;

	post(&h[1], 3, 0);
	refuse_number(l.tx + 1, OAE_R_BUSY);
	fire_at(l.park_at);
	ack_number(l.tx + 1, 4);
	assert_int_equal(offered(l.tx + 1)->slices, 3);
	assert_int_equal(l.cwnd, before);
	ack_number(l.tx + 1, 6);
	assert_in_range(l.cwnd, before / 2, before - 1);
}

/* LAST alone is on its way, or lost: no other goes until it is known that there is room. */
WINDOW_TEST(test_last_alone)
{
	post(&h[1], 3, 0);
	refuse_number(1, OAE_R_BUSY);
	fire_at(l.park_at);
	assert_int_equal(offered(1)->slices, 4);
	rcv(BUT(answer_to(OAE_ACK, 1), f.ack--));
	assert_null(sent(OAE_OFFER));
	ack_number(1, 0);
	assert_int_equal(offered(1)->slices, 4);
}

/* --- what there is room for --- */

/* The next is judged by what is unread alone, what is above it by all. */
WINDOW_TEST(test_room)
{
	take(2, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));
	take(3, OAE_MESSAGE, 1);
	assert_refused(3, OAE_R_BUSY);
	take(1, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));
	/* What had room once has it. */
	take(2, OAE_MESSAGE, 1);
	assert_non_null(sent(OAE_REFLECT));

	/* READY names what there is room for, and is due for the others. */
	read_one(1);
	assert_null(sent(OAE_READY));
	assert_true(oae_link_owes_ready(&l));
	take(5, OAE_MESSAGE, 1);
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
	take(1, OAE_MESSAGE, 2);
	take(2, OAE_MESSAGE, 2);
	assert_non_null(sent(OAE_REFLECT));
}

/* Whether room is owed, and not only READY: a word that is free is no room. */
WINDOW_TEST(test_owes_room)
{
	take(1, OAE_VERB, PLACES);
	computed(OAE_R_CONFLICT, 0);
	assert_true(oae_link_owes_ready(&l));
	assert_false(oae_link_owes_room(&l));
	take(2, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	read_one(PLACES);
	assert_false(oae_link_owes_room(&l));

	/* A new run owes nothing, nor does an end that closes. */
	take(2, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	anew_wide();
	assert_false(oae_link_owes_room(&l));
	take(1, OAE_MESSAGE, 0);
	assert_true(oae_link_owes_room(&l));
	close_link();
	assert_false(oae_link_owes_room(&l));
	take(1, OAE_MESSAGE, 1);
	assert_false(oae_link_owes_room(&l));

	/* No place is no room. */
	open_wide(PLACES, PLACES);
	take(2, OAE_MESSAGE, 1);
	assert_true(oae_link_owes_room(&l));
}

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
	take(2, OAE_MESSAGE, 1);
	take(3, OAE_MESSAGE, 1);
	assert_refused(3, OAE_R_BUSY);
	take(1, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	made_room(PLACES);
	assert_null(sent(OAE_READY));
	assert_true(oae_link_owes_ready(&l));
	/* The words are free. */
	read_one(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 2);
	take_verb(1);
	made_room(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);

	/* What is held below it is not in its way. */
	open_window(state);
	take_verb(1);
	take(2, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	take(3, OAE_MESSAGE, 0);
	made_room(PLACES);
	assert_null(sent(OAE_READY));

	/* Without places, too. */
	open_link(state);
	rcv(offer_kind(OAE_VERB));
	computed(OAE_R_CONFLICT, 0);
	made_room(1);
	assert_null(sent(OAE_READY));
	drained();
	assert_non_null(sent(OAE_READY));
	rcv_room(slice(0, OAE_F_LAST), false);
	made_room(1);
	assert_non_null(sent(OAE_READY));

	/* A number is one that has had no place, whatever was refused there before. */
	open_wide(PLACES, PLACES);
	take(1, OAE_VERB, 1);
	computed(OAE_R_CONFLICT, 0);
	take_verb(1);
	take(2, OAE_MESSAGE, 1);
	commit_to(1);
	lend(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
}

/* A clock that jumped back, and an event that changes nothing: the link has its timer. */
WINDOW_TEST(test_nothing_by_another_clock)
{
	take(2, OAE_MESSAGE, 1);
	take(3, OAE_MESSAGE, 1);
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

	take(1, OAE_MESSAGE, 1);
	f = slice(0, OAE_F_LAST);
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
			take(i, OAE_MESSAGE, room);
		f = slice(0, OAE_F_LAST);
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

/* A number without a place is refused, and gets its READY. */
TEST(test_no_place)
{
	open_wide(PLACES, PLACES);
	take(2, OAE_MESSAGE, 1);
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
	take(2, OAE_MESSAGE, 1);
	take(1, OAE_MESSAGE, 0);
	read_one(1);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 1);
	assert_true(oae_link_owes_ready(&l));

	/* As the window moves on, it has one. */
	open_wide(2 * PLACES, 2 * PLACES);
	lend(PLACES);
	take(PLACES + 1, OAE_MESSAGE, PLACES);
	assert_refused(PLACES + 1, OAE_R_BUSY);
	assert_int_equal(oae_link_lacks(&l), 2 * PLACES);
	read_one(PLACES);
	assert_null(sent(OAE_READY));
	take(1, OAE_MESSAGE, PLACES);
	commit_to(1);
	read_one(PLACES);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + PLACES);

	/* If there is room for it, at once. */
	open_wide(PLACES, PLACES);
	take(2, OAE_MESSAGE, 2);
	lend(2);
	assert_int_equal(sent(OAE_READY)->frame.seq, l.rx + 2);

	/* In the next run nothing is refused yet. */
	open_wide(PLACES, PLACES);
	take(2, OAE_MESSAGE, 1);
	anew_wide();
	take(1, OAE_MESSAGE, 0);
	assert_refused(1, OAE_R_BUSY);
	read_one(1);
	assert_false(oae_link_owes_ready(&l));
}

/*
 * A number is begun when there is room, and grows until there is none: only the next one
 * is never cut short. What is refused so is offered again once there is room.
 */
WINDOW_TEST(test_full)
{
	take_slice(1, 0, 0, PLACES);
	take_slice(2, 0, 0, PLACES);
	assert_null(sent(OAE_REFUSE));
	take_slice(1, 1, OAE_F_LAST, PLACES | OAE_ROOM_FULL);
	assert_non_null(sent(OAE_REFLECT));
	/* Of what is here already there is not more. */
	take_slice(2, 0, 0, PLACES | OAE_ROOM_FULL);
	assert_null(sent(OAE_REFUSE));
	/* That there is not is said to whoever asks. */
	take_slice(2, 1, 0, PLACES | OAE_ROOM_FULL);
	assert_int_equal(noted(OAE_N_REFUSED), 1);
	assert_int_equal(a.nsends, 0);
	take_slice(2, 2, OAE_F_LAST, PLACES | OAE_ROOM_FULL);
	assert_refused(2, OAE_R_BUSY);
	/* Nor is another begun. */
	take(3, OAE_MESSAGE, PLACES | OAE_ROOM_FULL);
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
	take(2, OAE_PACK, PLACES | OAE_ROOM_FULL);
	assert_refused(2, OAE_R_BUSY);
	assert_true(oae_link_owes_room(&l));
	take(1, OAE_PACK, PLACES | OAE_ROOM_FULL);
	assert_non_null(sent(OAE_REFLECT));
	take(2, OAE_PACK, PLACES);
	assert_non_null(sent(OAE_REFLECT));
}

UNIT_MAIN("room")
