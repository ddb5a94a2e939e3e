// SPDX-License-Identifier: GPL-2.0
/*
 * What a path loses: how soon it is found lossy, and that a good one is not (doc/architecture.md,
 * Which path an end chooses). The arithmetic that pathloss.c gives is checked by trying.
 */
#include "unit.h"
#include "../../modoae/link/pathloss.h"

#define KEEPALIVE	1000000000ULL

static struct oae_path_loss p;
static u64 dice;

static int fresh(void **unused)
{
	(void)unused;
	memset(&p, 0, sizeof(p));
	dice = 88172645463325252ULL;
	return 0;
}

#define LOSS_TEST(test)	UNIT_TEST(test, fresh, NULL)

/* xorshift64*: true once in 2^32 / @rate. */
static bool once_in(u32 rate)
{
	dice ^= dice >> 12;
	dice ^= dice << 25;
	dice ^= dice >> 27;
	return (u32)(dice * 2685821657736338717ULL >> 32) < rate;
}

/* So many in a million, for once_in(). */
static u32 per_million(u64 n)
{
	return (n << 32) / 1000000;
}

/* @most frames, one after the other; how many until it is lossy, @most if it never is. */
static unsigned int until_lossy(u32 rate, unsigned int most)
{
	unsigned int n;

	for (n = 0; n < most && !p.lossy; n++) {
		oae_loss_frames(&p, 1);
		if (once_in(rate))
			oae_loss_lost(&p);
	}
	return n;
}

static void lose(unsigned int n)
{
	while (n--) {
		oae_loss_frames(&p, 1);
		oae_loss_lost(&p);
	}
}

LOSS_TEST(test_found)
{
	unsigned int i, sum = 0, longest = 0, n;

	for (i = 0; i < 1000; i++) {
		memset(&p, 0, sizeof(p));
		n = until_lossy(per_million(5000), 30000);
		assert_true(p.lossy);
		/* At 1000 frames a second within the 30 s that are promised. */
		assert_true(n < 30000);
		sum += n;
		longest = n > longest ? n : longest;
	}
	print_message("0.5 %%: found after %u frames, %u at most\n", sum / 1000, longest);
	assert_in_range(sum / 1000, 2000, 4500);
}

LOSS_TEST(test_no_false_alarm)
{
	static const unsigned int rates[] = { 0, 10, 100, 500 };
	unsigned int i;

	/* An hour of 3000 frames a second. */
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		memset(&p, 0, sizeof(p));
		assert_int_equal(until_lossy(per_million(rates[i]), 10800000), 10800000);
	}
	/* One of 513 is as much as may be: losses and frames outweigh each other. */
	for (i = 0; i < 100000; i++) {
		oae_loss_frames(&p, 512);
		oae_loss_lost(&p);
	}
	assert_false(p.lossy);
}

LOSS_TEST(test_ten)
{
	lose(9);
	assert_false(p.lossy);
	/* The tenth, but for the frames in between. */
	lose(1);
	assert_false(p.lossy);
	lose(1);
	assert_true(p.lossy);
	assert_int_equal(p.row, 1);
}

LOSS_TEST(test_bounded_window)
{
	/* 5120 frames forget whatever was. */
	lose(10);
	oae_loss_frames(&p, 5119);
	assert_int_equal(p.score, 0);
	lose(10);
	assert_false(p.lossy);
}

LOSS_TEST(test_undone)
{
	lose(10);
	oae_loss_undone(&p);
	assert_int_equal(p.lost, 9);
	lose(1);
	assert_false(p.lossy);
	memset(&p, 0, sizeof(p));
	oae_loss_undone(&p);
	assert_int_equal(p.lost, 0);
	assert_int_equal(p.score, 0);
}

LOSS_TEST(test_shown)
{
	unsigned int i;

	assert_int_equal(oae_loss_shown(&p), 0);
	oae_loss_frames(&p, 199);
	oae_loss_lost(&p);
	oae_loss_frames(&p, 1);
	assert_int_equal(oae_loss_shown(&p), 500);
	memset(&p, 0, sizeof(p));
	for (i = 0; i < 100000; i++) {
		oae_loss_frames(&p, 1);
		if (i % 200 == 100)
			oae_loss_lost(&p);
	}
	/* Only what it has lost of late. */
	assert_in_range(oae_loss_shown(&p), 480, 520);
	for (i = 0; i < 100000; i++)
		oae_loss_frames(&p, 1);
	assert_in_range(oae_loss_shown(&p), 0, 20);
}

LOSS_TEST(test_probes)
{
	unsigned int i;

	/* Every fifth is missed: found within a minute or two. */
	for (i = 0; i < 120 && !p.lossy; i++)
		i % 5 ? oae_loss_answered(&p) : oae_loss_missed(&p);
	assert_true(p.lossy);
	/* Every tenth is not. */
	memset(&p, 0, sizeof(p));
	for (i = 0; i < 100000; i++)
		i % 10 ? oae_loss_answered(&p) : oae_loss_missed(&p);
	assert_false(p.lossy);
	/* Nor is a cable that was out, and out again soon: two each time, then it is silent. */
	oae_loss_missed(&p);
	oae_loss_missed(&p);
	oae_loss_answered(&p);
	oae_loss_missed(&p);
	assert_false(p.lossy);
	oae_loss_missed(&p);
	oae_loss_missed(&p);
	assert_true(p.lossy);
}

LOSS_TEST(test_in_use)
{
	unsigned int i;

	/* With no other to go to it stays lossy until that is made up for. */
	lose(12);
	assert_true(p.lossy);
	for (i = 0; i < 5119; i++)
		oae_loss_frames(&p, 1);
	assert_true(p.lossy);
	oae_loss_frames(&p, 1);
	assert_false(p.lossy);
	assert_int_equal(p.row, 1);
	/* A path that was lossy by its probes, too. */
	for (i = 0; i < 5; i++)
		oae_loss_missed(&p);
	assert_true(p.lossy);
	assert_int_equal(p.row, 2);
	assert_int_equal(p.probes, 32);
	for (i = 0; i < 5119; i++)
		oae_loss_frames(&p, 1);
	assert_true(p.lossy);
	oae_loss_frames(&p, 1);
	assert_false(p.lossy);
	oae_loss_missed(&p);
	assert_false(p.lossy);
	/* Many frames later it has never been. */
	for (i = 0; i < 70000; i++)
		oae_loss_frames(&p, 1);
	assert_int_equal(p.row, 0);
}

LOSS_TEST(test_tried_again)
{
	u64 now = 5000 * KEEPALIVE, wait = 64 * KEEPALIVE;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		lose(12);
		assert_true(p.lossy);
		/* As long as it is in use no time passes. */
		oae_loss_time(&p, true, KEEPALIVE, now);
		now += 100 * wait;
		oae_loss_time(&p, true, KEEPALIVE, now);
		oae_loss_time(&p, false, KEEPALIVE, now + wait - 1);
		assert_true(p.lossy);
		oae_loss_time(&p, false, KEEPALIVE, now + wait);
		assert_false(p.lossy);
		assert_int_equal(p.score, 0);
		if (i < 6)
			wait *= 2;
	}
	/* One that is found lossy while another is in use has its time, too. */
	memset(&p, 0, sizeof(p));
	for (i = 0; i < 4; i++)
		oae_loss_missed(&p);
	oae_loss_time(&p, false, KEEPALIVE, now);
	assert_true(p.lossy);
	oae_loss_time(&p, false, KEEPALIVE, now + 64 * KEEPALIVE - 1);
	assert_true(p.lossy);
	oae_loss_time(&p, false, KEEPALIVE, now + 64 * KEEPALIVE);
	assert_false(p.lossy);
}

UNIT_MAIN("path_loss")
