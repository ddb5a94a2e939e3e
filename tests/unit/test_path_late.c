// SPDX-License-Identifier: GPL-2.0
/*
 * An offer of which the peer was reminded, or for which the link froze: was it lost, or late?
 * (doc/protocol.md section 4.14, Loss).
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
	assert_int_equal(out->lost, 2);
}

WIDE_TEST(test_reminded)
{
	remind();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	/* It is answered, and nothing else was. */
	hear(0, answer_back(OAE_REFLECT, 0, 0));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(out->lost, 2);
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
	/* The next one is another loss. */
	post(&y, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	stepped(OAE_OPEN);
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 3);
	/* Slices miss, for which the window shrinks: the same loss. */
	remind();
	l.given++;	/* and more was offered meanwhile */
	hear(0, answer_back(OAE_REFUSE, OAE_R_GAP, 0));
	assert_int_equal(l.recover, l.tx + 2);
	assert_int_equal(out->lost, 2);
	/* And so it is if what is sent again is lost. */
	fire_at(now + oae_link_stall(&l));
	assert_non_null(sent(OAE_OFFER));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	assert_int_equal(ps.watch.asked, OAE_PATHS_MAX);
}

/* The answer to the reminder tells of the same loss, though more was offered meanwhile. */
WIDE_TEST(test_reminder_counts_once)
{
	remind();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
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

	/* The reminder told of nothing, since the port was down. */
	wide(state);
	ps.path[0].up = false;
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	fire_at(now + oae_link_stall(&l));
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 0);
	out->judged = true;
	reflect_above(0);
	assert_int_equal(out->lost, 1);
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
	assert_int_equal(out->lost, 1);
	/* Another answer, or to something else; and slices do miss. */
	remind();
	watch(answer_back(OAE_REFLECT, 0, 0));
	watch(BUT(answer_back(OAE_REFLECT, 0, 1), f.seq--));
	watch(answer_back(OAE_READY, 0, 1));
	watch(answer_back(OAE_REFUSE, OAE_R_GAP, 1));
	assert_int_equal(out->lost, 2);
	/* Before the link had paths. */
	remind();
	oae_watch_begin(&ps, &l);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
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

/* What froze the run before is not taken back by what is late in this one. */
WIDE_TEST(test_late_in_this_run)
{
	remind();
	ps.watch.froze = 0;
	ps.watch.whose = OAE_LOSS_OUT;
	ps.watch.asked = OAE_PATHS_MAX;
	watch(answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 2);
}

/* A number that is held here is offered again. */
static void again(void)
{
	two(NULL);
	l.srtt = 2 * MS;
	hear(0, slice(1, 0, OAE_F_LAST));
	now += 3 * MS;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 1);
	in->lost = 2;
}

WATCH_TEST(test_told_late)
{
	again();
	/* Elsewhere; before that number; and it is committed. */
	hear(1, frame(OAE_COMMIT));
	watch(BUT(frame(OAE_COMMIT), f.tx--));
	watch(BUT(frame(OAE_COMMIT), f.tx++));
	assert_int_equal(in->lost, 2);
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* It is doubled on its way. */
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* That path is not in use any more; another run. */
	again();
	ps.used = 1;
	ps.path[1].loss.way[OAE_LOSS_IN].lost = 1;
	hear(1, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 2);
	assert_int_equal(ps.path[1].loss.way[OAE_LOSS_IN].lost, 1);
	again();
	oae_watch_begin(&ps, &l);
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 2);
	/* It has not been held: that was lost. */
	two(NULL);
	hear(0, slice(1, 0, 0));
	hear(0, BUT(slice(2, 1, OAE_F_LAST), f.slice = 1));
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
	/* Too much is under way for it to count. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	now += MS;
	in->peak = 1;
	ps.watch.top = l.rx + 40;
	hear(0, slice(2, 0, OAE_F_LAST));
	assert_int_equal(in->lost, 0);
	in->lost = 1;
	hear(0, frame(OAE_COMMIT));
	assert_int_equal(in->lost, 1);
}

/* The peer freezes, and waits for an answer that is late, or lost. */
WATCH_TEST(test_again_and_frozen)
{
	again();
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 1);
	/* This end does: the commit is lost. */
	again();
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 2);
	/* It was committed, and what is held now is the next. */
	again();
	hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
	hear(0, BUT(slice(1, 0, OAE_F_LAST), f.tx = l.rx));
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
	/* It was taken back, and nothing is held. */
	again();
	hear(0, BUT(frame(OAE_REVERSE), f.seq = l.rx + 1, f.attempt = 2));
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
	/* Or it is another path that is in use. */
	again();
	ps.watch.again_by = 1;
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(in->lost, 2);
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
		assert_int_equal(out->lost, 1);
		watch(answer_back(OAE_REFLECT, 0, 1));
		assert_int_equal(out->lost, 1);
	}
}

/* Nor does the reminder help: the same loss, unless the answer to it is late. */
WIDE_TEST(test_reminded_freezes)
{
	remind();
	fire_at(now + 1000 * MS);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt));
	assert_int_equal(out->lost, 1);
	/* The answer before that was late: what is lost is the reminder, or its answer. */
	remind();
	hear(0, answer_back(OAE_REFLECT, 0, 1));
	assert_int_equal(out->lost, 1);
	fire_at(now + 1000 * MS);
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 2);
	/* It was late, too. */
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt + 1));
	assert_int_equal(out->lost, 1);
}

/* An answer is overdue, and the link freezes. */
WATCH_TEST(test_freeze)
{
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(out->lost, 1);
	assert_int_equal(in->lost, 0);
	/* Frozen still. */
	stepped(OAE_SYNC_SENT);
	assert_int_equal(out->lost, 1);
	/* The answer was late. */
	watch(BUT(answer(OAE_REFLECT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.attempt = l.late_attempt));
	assert_int_equal(out->lost, 0);
	assert_int_equal(ps.watch.froze, OAE_PATHS_MAX);
}

WATCH_TEST(test_freeze_held)
{
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 1);
	/* The late frame commits. */
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx));
	assert_int_equal(in->lost, 1);
	/* Of the run that froze. */
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag + 1,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx + 1));
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag + 1, f.tx = l.late.rx + 1));
	assert_int_equal(in->lost, 1);
	watch(BUT(frame(OAE_COMMIT), f.src_ltag = l.late.peer_ltag,
		  f.dst_ltag = l.late.ltag, f.tx = l.late.rx + 1));
	assert_int_equal(in->lost, 0);
}

WATCH_TEST(test_freeze_of_the_peer)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		two(NULL);
		hear(0, slice(1, 0, OAE_F_LAST));
		/* It is held; delivered; delivered just now; and something is offered. */
		if (i)
			hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
		l.srtt = 2 * MS;
		now += i == 2 ? 4 * MS - 1 : 4 * MS;
		if (i == 3)
			post(&x, 1, 0);
		hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
		assert_int_equal(l.state, OAE_SYNC_RECD);
		assert_int_equal(in->lost, i == 1 || i == 3);
	}
	/* This end has offered long ago. */
	two(NULL);
	post(&x, 1, 0);
	oae_watch_offered(&ps, &l, 1);
	l.srtt = 2 * MS;
	now += 4 * MS;
	hear(0, BUT(frame(OAE_SYNC), f.src_ltag += 0x100));
	assert_int_equal(out->lost, 1);
	assert_int_equal(in->lost, 0);
	/* This end freezes, for another reason. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	hear(0, BUT(frame(OAE_COMMIT), f.tx++, f.seq = f.tx));
	l.srtt = 2 * MS;
	now += 4 * MS;
	port_down();
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
}

WATCH_TEST(test_freezes_without_a_loss)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		two(NULL);
		if (i)
			post(&x, 1, 0);
		oae_watch_offered(&ps, &l, 1);
		l.srtt = i == 1 ? 0 : 2 * MS;
		/* Nothing under way; never measured; not overdue; the port is down. */
		now += i == 2 ? 4 * MS - 1 : 4 * MS;
		ps.path[0].up = i != 3;
		port_down();
		stepped(OAE_OPEN);
		assert_int_equal(out->lost, 0);
		assert_int_equal(ps.watch.froze, OAE_PATHS_MAX);
	}
	/* It ends: nothing is lost. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = MS;
	now += 10 * MS;
	kill_link(OAE_E_SIGNAL);
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
	/* It does not freeze. */
	two(NULL);
	hear(0, slice(1, 0, OAE_F_LAST));
	l.srtt = MS;
	now += 10 * MS;
	stepped(OAE_OPEN);
	assert_int_equal(in->lost, 0);
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
