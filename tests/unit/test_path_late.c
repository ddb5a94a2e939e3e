// SPDX-License-Identifier: GPL-2.0
/*
 * An offer of which the peer was reminded: was it lost, or late? (doc/protocol.md section 4.14,
 * Loss).
 */
#include "one_watched.h"

/* A frame comes by a path, before the link takes it. */
static void watch(struct oae_frame f)
{
	oae_watch_heard(&ps, 0, &l, &f, now);
}

/* Something is offered, and not answered: the peer is reminded. */
static void remind(void)
{
	wide(NULL);
	post(&x, 3, 0);
	oae_watch_offered(&ps, &l, 3);
	out->lost = 1;
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
}

/* It counts once the reminder is answered, and what it reminds of was not. */
WIDE_TEST(test_reminded)
{
	remind();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(out->lost, 2);
	/* The next one is another loss. */
	post(&y, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	hear(0, answer_back(OAE_REFUSE, OAE_R_BUSY, 0));
	assert_int_equal(out->lost, 3);
	/* Doubled on its way. */
	watch(answer_back(OAE_REFUSE, OAE_R_BUSY, 0));
	assert_int_equal(out->lost, 3);
	/* Slices miss, for which the window shrinks: they may be under way. */
	remind();
	l.given++;	/* and more was offered meanwhile */
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(l.recover, l.tx + 2);
	assert_int_equal(out->lost, 1);
}

/* Whatever becomes of the link. */
WIDE_TEST(test_frozen)
{
	remind();
	fire_at(now + 1000 * MS);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	assert_int_equal(in->lost, 0);
	/* An answer to what another path has lost. */
	remind();
	ps.watch.asked = 1;
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 1);
}

/* The answer to the second reminder; to the first one, and to what both remind of. */
WIDE_TEST(test_reminded_twice)
{
	unsigned int back;

	for (back = 0; back < 3; back++) {
		wide(NULL);
		post(&x, 40, 0);
		oae_watch_offered(&ps, &l, 40);
		fire_at(now + oae_link_stall(&l));
		stepped(OAE_OPEN);
		fire_at(now + 2 * oae_link_stall(&l));
		stepped(OAE_OPEN);
		assert_int_equal(oae_first_lane(&l)->reminded, 2);
		watch(answer_back(OAE_REFLECT, 0, back));
		watch(answer_back(OAE_REFLECT, 0, 0));
		assert_int_equal(out->lost, !back);
	}
	/* An answer to what the peer was not reminded of: another content, long ago. */
	remind();
	oae_first_lane(&l)->attempt += 5;
	watch(answer_back(OAE_REFLECT, 0, 2));
	watch(answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 2);
}

/* The answer to the reminder tells of the same loss, though more was offered meanwhile. */
WIDE_TEST(test_reminder_counts_once)
{
	remind();
	stepped(OAE_OPEN);
	out->judged = true;
	post(&y, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(l.recover, l.tx + 1);
	assert_int_equal(out->lost, 2);
}

/* The peer was reminded of one, and four more are offered. */
static void remind_and_offer(void)
{
	unsigned int i;

	remind();
	l.cwnd = PLACES;
	for (i = 0; i < 4; i++)
		post(&h[i], 1, 0);
	oae_watch_offered(&ps, &l, 4);
	out->judged = true;
}

/* The answer to a number, so many above tx + 1. */
static void reflect_above(unsigned int above)
{
	hear(0, answer_to(OAE_REFLECT, l.tx + 1 + above));
}

/* Of those one is lost. */
static void lose_another(unsigned int above)
{
	u32 lost = out->lost, seq = l.tx + 1 + above;
	unsigned int i;

	for (i = 1; i < 4; i++) {
		out->judged = true;
		hear(0, answer_to(OAE_REFLECT, seq + i));
	}
	assert_true(oae_lane(&l, seq)->guessed);
	assert_int_equal(out->lost, lost + 1);
}

/* Only the answer to the reminder makes what is lost then a part of what is known. */
WIDE_TEST(test_no_answer_to_the_reminder)
{
	/* The peer was slow. */
	remind_and_offer();
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 1);
	lose_another(1);

	/* The answer to another one. */
	remind_and_offer();
	post(&h[4], 1, 0);
	reflect_above(1);
	lose_another(2);

	/* It was not reminded, and a loss is known. */
	wide(state);
	l.cwnd = PLACES;
	post(&x, 1, 0);
	ps.watch.out_to = l.tx + 1;
	out->lost = 0;
	for (unsigned int i = 0; i < 4; i++)
		post(&h[i], 1, 0);
	reflect_above(0);
	lose_another(0);

	/* The port was down. */
	wide(state);
	ps.path[0].up = false;
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	out->judged = true;
	reflect_above(0);
	assert_int_equal(out->lost, 0);
}

/* The peer was slow. */
WIDE_TEST(test_reminded_needlessly)
{
	remind();
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 1);
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(out->lost, 1);
	remind();
	watch(answer_back(OAE_REFUSE, OAE_R_BUSY, 1));
	watch(answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 1);
	/* Another answer, or to something else; and slices do miss. */
	remind();
	watch(BUT(answer_back(OAE_REFLECT, 0, 1), f.seq--));
	watch(BUT(answer_back(OAE_REFLECT, 0, 0), f.seq--));
	watch(answer_back(OAE_READY, 0, 1));
	watch(answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 2);
	remind();
	watch(answer_back(OAE_REFUSE, OAE_R_GAP, 1));
	watch(answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 1);
	/* Before the link had paths. */
	remind();
	oae_watch_begin(&ps, &l);
	stepped(OAE_OPEN);
	watch(answer_back(OAE_REFLECT, 0, 0));
	assert_int_equal(out->lost, 1);
}

/* Whoever counts a reminder as a loss, and cannot know better, is told that it is none. */
WIDE_TEST(test_late_is_told)
{
	struct oae_frame late;

	remind();
	late = answer_back(OAE_REFLECT, 0, 1);
	assert_true(oae_watch_heard(&ps, 0, &l, &late, now));
	/* So too if it does not count here. */
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
	assert_true(oae_watch_heard(&ps, 0, &l, &late, now));
	assert_false(oae_watch_heard(&ps, 1, &l, &late, now));
	late.attempt++;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
	/* It was offered again for another reason. */
	late.attempt--;
	oae_first_lane(&l)->reminded = 0;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
	oae_first_lane(&l)->reminded = 1;
	late.dst_ltag++;
	assert_false(oae_watch_heard(&ps, 0, &l, &late, now));
}

/* A number that is held here is offered again. */
static void again(void)
{
	two(NULL);
	l.srtt = 2 * MS;
	hear(0, slice(1, 0, OAE_F_LAST));
	now += 3 * MS;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 0);
	in->lost = 2;
}

/* If the peer says that it is not committed yet, then it had the reflection. */
WATCH_TEST(test_told_late)
{
	again();
	/* Elsewhere; before that number; and another frame. */
	hear(1, frame(OAE_COMMIT));
	watch(BUT(frame(OAE_COMMIT), f.tx--));
	hear(0, frame(OAE_DONE));
	assert_int_equal(ps.watch.again_by, 0);
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(ps.watch.again_by, OAE_PATHS_MAX);
	/* It is committed. */
	watch(BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 2);
	/* That path is not in use any more; another run. */
	again();
	ps.used = 1;
	ps.path[1].loss.way[OAE_LOSS_IN].judged = true;
	watch(BUT(frame(OAE_COMMIT), f.tx++));
	hear(1, BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 2);
	assert_int_equal(ps.path[1].loss.way[OAE_LOSS_IN].lost, 0);
	again();
	oae_watch_begin(&ps, &l);
	hear(0, BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 2);
}

/* If the number is committed, and it said nothing before, then the reflection was lost. */
WATCH_TEST(test_not_told)
{
	again();
	hear(0, BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 3);
	hear(0, BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 3);
	/* Any frame says so, and of any later number. */
	again();
	watch(BUT(frame(OAE_REFLECT), f.tx += 3));
	assert_int_equal(in->lost, 3);
	/* It was not held: that counts at once, and is not taken back. */
	two(NULL);
	hear(0, slice(1, 0, 0));
	hear(0, BUT(slice(2, 1, OAE_F_LAST), f.slice = 1));
	assert_int_equal(in->lost, 1);
	hear(0, frame(OAE_COMMIT));
	hear(0, BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 1);
}

WIDE_TEST(test_reminded_without_a_loss)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		wide(NULL);
		post(&x, 1, 0);
		oae_watch_offered(&ps, &l, 1);
		out->lost = 1;
		/* Never measured; the port is down; too much is under way. */
		l.srtt = i == 0 ? 0 : 2 * MS;
		ps.path[0].up = i != 1;
		out->judged = i != 2;
		fire_at(now + oae_link_stall(&l));
		assert_non_null(sent(OAE_OFFER));
		stepped(OAE_OPEN);
		watch(answer_back(OAE_REFLECT, 0, 0));
		assert_int_equal(out->lost, 1);
	}
}

WATCH_TEST(test_time)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ps.path[i].loss.lossy = true;
		ps.path[i].loss.row = 1;
	}
	oae_watch_time(&ps, &l, now);
	assert_int_equal(ps.path[1].loss.until, now + 64 * KEEPALIVE);
	now += 64 * KEEPALIVE;
	oae_watch_time(&ps, &l, now);
	assert_true(ps.path[0].loss.lossy);
	assert_false(ps.path[1].loss.lossy);
}

UNIT_MAIN("path_late")
