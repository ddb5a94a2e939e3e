// SPDX-License-Identifier: GPL-2.0
/*
 * Which questions went by a path, and which of them were lost, as answers say
 * (doc/architecture.md, Which path an end chooses). Whether there are too many is tested in
 * test_path_loss.c.
 */
#include "one_window.h"
#include "../../modoae/link/conn.h"

static struct oae_paths ps;
static struct oae_conn c;
static struct oae_path_loss *loss;	/* of the path in use */

static void carry_out(struct oae_actions *some)
{
	some->nops = 0;
	some->done = 0;
}

/* A link with a window of one, or a larger one, and two paths. */
static int begin_paths(void)
{
	oae_paths_init(&ps, &l, 1500, true, now);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	ps.path[1].proven = true;
	loss = &ps.path[0].loss;
	return 0;
}

static int two(void **state)
{
	open_link(state);
	return begin_paths();
}

static int wide(void **state)
{
	open_window(state);
	l.rtt.srtt = 2 * MS;
	return begin_paths();
}

#define COUNT_TEST(test)	UNIT_TEST(test, two, NULL)
#define WIDE_TEST(test)		UNIT_TEST(test, wide, NULL)

static void begin(void)
{
	clear();
	a.full = carry_out;
	oae_conn_begin(&c, &l, &ps, now);
}

static void end(void)
{
	oae_conn_end(&c);
}

static void hear_by(unsigned int i, struct oae_frame f)
{
	begin();
	assert_true(oae_conn_heard(&c, i, &f, now, &a));
	oae_conn_rcv(&c, &f, 1, now, &a);
	end();
}

static void hear(struct oae_frame f)
{
	hear_by(0, f);
}

/* This end sends a question that does nothing else. */
static void ask(unsigned int n)
{
	while (n--) {
		begin();
		oae_link_ask(&l, &a);
		end();
	}
}

/* The peer says which it has heard: DONE does nothing else. */
static void heard(u32 ack, u32 map)
{
	hear(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = ack, f.map = map));
}

/* A run begins. */
static void judge(void)
{
	l.number.sent = 0;
	oae_count_begin(&ps, &l);
}

/* Nothing is known of a number before no later answer can say that it was heard. */
COUNT_TEST(test_heard)
{
	judge();
	ask(100);
	heard(32, ~0U);
	assert_int_equal(loss->sent, 0);
	heard(33, ~0U);
	assert_int_equal(loss->sent, 0);
	heard(34, ~0U);
	assert_int_equal(loss->sent, 1);
	heard(40, ~0U);
	assert_int_equal(loss->sent, 7);
	/* An older answer, and one that says the same. */
	heard(38, ~0U);
	heard(40, ~0U);
	assert_int_equal(loss->sent, 7);
	heard(73, ~0U);
	assert_int_equal(loss->sent, 40);
	/* Of those between nobody has told: nothing is known of 74 and 75. */
	heard(100, ~0U);
	assert_int_equal(loss->sent, 67);
	assert_int_equal(loss->lost, 0);
}

COUNT_TEST(test_far_ahead)
{
	judge();
	ask(200);
	heard(33, ~0U);
	heard(150, ~0U);
	assert_int_equal(loss->sent, 33);
	assert_int_equal(loss->lost, 0);
	heard(183, ~0U);
	assert_int_equal(loss->sent, 66);
	assert_int_equal(loss->lost, 0);
	/* Nothing that was said of 1 to 33 is said of others. */
	judge();
	ask(200);
	heard(33, ~0U);
	heard(99, 3);
	heard(132, ~0U);
	assert_int_equal(loss->lost, 1);
}

COUNT_TEST(test_lost)
{
	judge();
	ask(200);
	heard(10, ~0U & ~(1U << 4));	/* all but 5 */
	heard(37, ~0U & ~(1U << 31));
	assert_int_equal(loss->sent, 4);
	assert_int_equal(loss->lost, 0);
	heard(38, ~0U);
	assert_int_equal(loss->sent, 5);
	assert_int_equal(loss->lost, 1);
	/* A frame that is lost soon after it is the same loss: up to 64 later. */
	heard(69, 0);
	heard(102, 0);
	assert_int_equal(loss->lost, 1);
	assert_int_equal(ps.count.known, 5 + 64);
	heard(135, ~0U);
	assert_int_equal(loss->lost, 2);
	assert_int_equal(ps.count.known, 70 + 64);
}

/* All that was sent by then is one loss, if that is less. */
COUNT_TEST(test_one_loss)
{
	judge();
	ask(40);
	heard(3, 1);			/* 1 is lost */
	heard(36, ~0U);
	assert_int_equal(loss->lost, 1);
	assert_int_equal(ps.count.known, 40);
	ask(40);
	heard(44, ~0U & ~1U & ~(1U << 4));	/* 43, and 39 */
	heard(80, ~0U);
	assert_int_equal(loss->lost, 2);
}

/* Late, but not lost: an answer says so before none can any more. */
COUNT_TEST(test_late)
{
	judge();
	ask(100);
	heard(20, ~0U & ~(1U << 9) & ~(1U << 3));	/* 10 and 16 are missing */
	heard(30, ~0U & ~(1U << 13));
	heard(30, ~0U & ~1U);
	/* Sent before. */
	heard(29, 0);
	heard(10, 0);
	heard(63, ~0U);
	assert_int_equal(loss->sent, 30);
	assert_int_equal(loss->lost, 0);
}

/* What went before, by another path or in another run, is nothing to the one in use. */
COUNT_TEST(test_turned)
{
	judge();
	ask(50);
	begin();
	oae_path_use(&ps, 1, OAE_WHY_BACK, now);
	c.turned++;
	end();
	heard(50, 0);
	ask(50);
	heard(100, ~0U);
	assert_int_equal(loss->sent + loss->lost, 0);
	loss = &ps.path[1].loss;
	ask(10);
	heard(110, ~0U);
	assert_int_equal(loss->sent, 10);
	assert_int_equal(loss->lost, 0);
}

/* Frames that say nothing of this run's questions. */
COUNT_TEST(test_no_answers)
{
	struct oae_path_count before;

	judge();
	ask(50);
	heard(40, ~0U);
	before = ps.count;
	hear(BUT(frame(OAE_DONE), f.src_ltag++, f.ack = 45));
	hear(BUT(frame(OAE_COMMIT), f.pn = 45));
	assert_memory_equal(&before, &ps.count, sizeof(before));
	/* What was not sent is impossible, and freezes. */
	hear(BUT(frame(OAE_DONE), f.ack = 51));
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_memory_equal(&before, &ps.count, sizeof(before));
}

/* The number wraps on the wire. */
COUNT_TEST(test_wraps)
{
	judge();
	l.number.sent = 0xffffffffULL - 20;
	oae_count_begin(&ps, &l);
	ask(60);
	heard((u32)l.number.sent - 20, ~0U & ~(1U << 2));
	heard((u32)l.number.sent, ~0U & ~(1U << 22));
	assert_int_equal(loss->sent, 20);
	ask(20);
	heard((u32)l.number.sent, ~0U);
	assert_int_equal(loss->sent, 40);
	assert_int_equal(loss->lost, 1);
}

/* A run may ask more than 2^31 times. */
COUNT_TEST(test_half_way)
{
	unsigned int i;

	judge();
	for (i = 0; i < 5; i++) {
		l.number.sent += 0x20000000;
		heard(l.number.sent, ~0U);
	}
	loss->sent = 0;
	ask(60);
	heard((u32)l.number.sent - 20, ~0U & ~(1U << 2));
	heard((u32)l.number.sent, ~0U & ~(1U << 22));
	ask(20);
	heard((u32)l.number.sent, ~0U);
	assert_int_equal(loss->sent, 73);
	assert_int_equal(loss->lost, 1);
}

COUNT_TEST(test_begins_high)
{
	judge();
	l.number.sent = 0x90000000;
	oae_count_begin(&ps, &l);
	ask(60);
	heard((u32)l.number.sent - 20, ~0U & ~(1U << 2));
	heard((u32)l.number.sent, ~0U & ~(1U << 22));
	ask(20);
	heard((u32)l.number.sent, ~0U);
	assert_int_equal(loss->lost, 1);
}

/* A link gets its second path in the midst of a run. */
COUNT_TEST(test_begins_late)
{
	judge();
	ask(50);
	begin_paths();
	ask(50);
	heard(60, 0);
	heard(93, ~0U);
	assert_int_equal(loss->sent, 10);
	assert_int_equal(loss->lost, 1);
}

/* The answer to what is offered first. */
static struct oae_frame reflection(void)
{
	return answer_to(OAE_REFLECT, l.tx + 1);
}

/* A number is offered, and asked for, since nothing is heard of it. */
static struct oae_frame ask_again(void)
{
	struct oae_frame f;

	judge();
	begin();
	assert_int_equal(oae_link_post(&l, &(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = 1, .slice_max = CUT,
		.nslices = 1 }, now, &a), 0);
	end();
	f = reflection();
	now += oae_link_pto(&l);
	begin();
	oae_link_timer(&l, now, &a);
	end();
	assert_int_equal(sent(OAE_ASK)->frame.pn, 2);
	return f;
}

/* It was heard, and the answer did not come. */
WIDE_TEST(test_answer_lost)
{
	ask_again();
	hear(BUT(reflection(), f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost, 1);
	assert_int_equal(ps.count.known, 2);
}

/* It came, if late; or the question was lost, of which numbers tell. */
WIDE_TEST(test_answer_late)
{
	struct oae_frame first = ask_again();

	hear(BUT(first, f.ack = 1, f.map = 0));
	hear(BUT(reflection(), f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost, 0);

	wide(state);
	ask_again();
	hear(BUT(reflection(), f.ack = 2, f.map = 0));
	assert_int_equal(loss->lost, 0);
	ask(40);
	heard(l.number.sent, ~0U);
	assert_int_equal(loss->lost, 1);

	/* A refusal is an answer; that slices are missing tells of questions. */
	wide(state);
	ask_again();
	hear(BUT(answer_to(OAE_REFUSE, l.tx + 1), f.reason = OAE_R_BUSY, f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost, 1);
	wide(state);
	ask_again();
	hear(BUT(answer_to(OAE_ACK, l.tx + 1), f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost, 0);
}

/* What has an answer, and is sent again for that, was not asked twice. */
WIDE_TEST(test_asked_once)
{
	judge();
	post(&x, 3, 0);
	hear(BUT(answer_to(OAE_ACK, l.tx + 1), f.have = 5, f.ack = 3, f.map = 1));
	assert_non_null(sent(OAE_OFFER));
	hear(BUT(reflection(), f.ack = l.number.sent, f.map = ~0U));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(loss->lost, 0);

	/* There was no room for it. */
	wide(state);
	judge();
	post(&x, 1, 0);
	hear(BUT(answer_to(OAE_REFUSE, l.tx + 1), f.reason = OAE_R_BUSY, f.ack = 1));
	hear(BUT(frame(OAE_READY), f.seq = l.tx + 1, f.ack = 1));
	assert_non_null(sent(OAE_OFFER));
	hear(BUT(reflection(), f.ack = l.number.sent, f.map = ~0U));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(loss->lost, 0);
}

/* What was in flight when a run ended, and is in the next one, was not asked there before. */
COUNT_TEST(test_asked_in_this_run)
{
	post(&x, 1, OAE_POST_EXPRESS);
	anew();
	assert_non_null(sent(OAE_OFFER));
	judge();
	l.number.sent = 1;
	hear(BUT(answer(OAE_REFLECT), f.ack = 1));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(loss->lost, 0);
}

/* By another path than that in use; of another number, or kind. */
WIDE_TEST(test_answer_of_none)
{
	ask_again();
	begin();
	oae_path_use(&ps, 1, OAE_WHY_BACK, now);
	c.turned++;
	end();
	hear_by(1, BUT(reflection(), f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost + ps.path[1].loss.lost, 0);

	/* By another path it overtakes what comes by that in use. */
	wide(state);
	ask_again();
	hear_by(1, BUT(reflection(), f.ack = 2, f.map = 1));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(loss->lost, 0);

	wide(state);
	ask_again();
	hear(BUT(reflection(), f.seq += 70, f.ack = 2, f.map = 1));
	hear(BUT(reflection(), f.kind = OAE_VOID, f.ack = 2, f.map = 1));
	hear(BUT(frame(OAE_DONE), f.seq = l.rx, f.ack = 2, f.map = 1));
	assert_int_equal(loss->lost, 0);
}

/* A round trip is now this long, and so is the smoothed one. */
static void trip(u64 ns)
{
	l.rtt.srtt = 0;
	oae_rtt_sample(&l, ns);
	ask(40);
	heard(l.number.sent, 0);
}

/* A full queue makes the round trip long: what it loses says nothing of the path. */
COUNT_TEST(test_queue)
{
	judge();
	ask(40);
	trip(MS);
	trip(MS);
	trip(5 * MS);
	loss->sent = 0;
	loss->lost = 0;
	trip(3 * MS + 2);
	trip(3 * MS + 2);
	assert_int_equal(loss->sent + loss->lost, 0);
	trip(3 * MS);
	assert_int_equal(loss->sent, 33);
	assert_int_equal(loss->lost, 1);
	/* As long as that is known: 16 to 32 keepalive times. */
	now += 33 * l.cfg->keepalive;
	l.now = now;
	trip(4 * MS);
	assert_int_equal(loss->sent, 66);
	/* By another path another length is long. */
	trip(MS);
	trip(5 * MS);
	begin();
	c.turned++;
	end();
	trip(5 * MS);
	loss->sent = 0;
	trip(5 * MS);
	assert_int_equal(loss->sent, 33);
	/* Nor does another run make it another. */
	trip(MS);
	judge();
	ask(40);
	loss->sent = 0;
	trip(5 * MS);
	trip(5 * MS);
	assert_int_equal(loss->sent, 0);
	/* A guess is no measure. */
	l.rtt.guessed = true;
	ask(40);
	heard(l.number.sent, 0);
	assert_int_equal(loss->sent, 33);
}

/* The first two of some lanes seem to be lost, since so many others were answered. */
static void pass(u32 first)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		post(&h[i], 1, 0);
	for (i = 2; i < 5; i++)
		hear(answer_to(OAE_REFLECT, first + i));
	assert_true(oae_lane(&l, first)->repeated);
	assert_true(oae_lane(&l, first + 1)->repeated);
}

/* The answer to it, of whose repeat nothing was heard. */
static struct oae_frame late(u32 seq)
{
	return BUT(answer_to(OAE_REFLECT, seq), f.ack--);
}

/* It is answered after all, others had overtaken it: the last loss was none. */
WIDE_TEST(test_overtaken)
{
	u32 first = l.tx + 1;

	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	assert_int_equal(loss->lost, 1);
	pass(first);
	hear(BUT(late(first), f.kind = OAE_VOID));
	assert_int_equal(loss->lost, 1);
	hear(late(first));
	assert_int_equal(loss->lost, 0);
	assert_int_equal(loss->score, 0);
	/* Once. */
	loss->lost = 5;
	hear(late(first + 1));
	assert_int_equal(loss->lost, 5);

	/* The repeat is answered: it was lost. */
	wide(state);
	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	pass(first);
	hear(answer_to(OAE_REFLECT, first));
	assert_true(ended(&h[0], OAE_COMMITTED));
	assert_int_equal(loss->lost, 1);

	/* It is refused: that tells nothing. */
	wide(state);
	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	pass(first);
	hear(BUT(late(first), f.opcode = OAE_REFUSE, f.reason = OAE_R_BUSY));
	assert_int_equal(loss->lost, 1);

	/* By another path, or in another run. */
	wide(state);
	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	judge();
	pass(first);
	hear(late(first));
	assert_int_equal(loss->lost, 1);
	wide(state);
	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	pass(first);
	begin();
	c.turned++;
	end();
	hear(late(first));
	assert_int_equal(loss->lost, 1);
}

/* What ASK has shown to be lost was: others that overtake the repeat change nothing of that. */
WIDE_TEST(test_asked_and_lost)
{
	judge();
	ask(80);
	heard(40, 0);
	heard(80, ~0U);
	assert_true(ps.count.counts);
	post(&x, 3, 0);
	now += oae_link_pto(&l);
	begin();
	oae_link_timer(&l, now, &a);
	end();
	assert_non_null(sent(OAE_ASK));
	hear(BUT(answer_to(OAE_ACK, l.tx + 1), f.have = 4, f.map = ~0U));
	assert_non_null(sent(OAE_OFFER));
	hear(BUT(reflection(), f.ack -= 2, f.map = ~0U));
	assert_true(ended(&x, OAE_COMMITTED));
	assert_int_equal(loss->lost, 1);
}

COUNT_TEST(test_time)
{
	const u64 keepalive = l.cfg->keepalive;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ps.path[i].loss.lossy = true;
		ps.path[i].loss.row = 1;
	}
	oae_count_time(&ps, &l, now);
	assert_int_equal(ps.path[1].loss.until, now + 64 * keepalive);
	now += 64 * keepalive;
	oae_count_time(&ps, &l, now);
	assert_true(ps.path[0].loss.lossy);
	assert_false(ps.path[1].loss.lossy);
}

UNIT_MAIN("path_count")
