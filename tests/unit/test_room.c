// SPDX-License-Identifier: GPL-2.0
/*
 * Writers that wait for room: oae_room_wait() of modoae/tag/room.c, among all orders of what
 * others do between any two of its reads. Nobody may sleep for ever while there is room.
 *
 *	the writer	oae_room_send(), of a file with a queue of its own
 *	another one	waits behind it, of another file; what it does once it is awake is its own
 *	a third one	of the writer's file, posts, and its transactions end
 *	a fourth one	of another file, has filled the tag's queue
 *
 * room.h is room.c without what it includes, see the Makefile. An order is a list of choices;
 * each run takes the next one.
 */
#include <limits.h>
#include <string.h>
#include "room_util.h"
#include "unit.h"

#define SNDQ		1	/* places in the tag's queue */
#define QUEUE		1	/* in that of the writer's file */
#define DEEDS		4	/* of others, in one run */
#define KINDS		5	/* of these */
#define CHOICES		256
static struct oae_node node;
static struct oae_users users;
static struct oae_tag tag;
static struct oae_client client;

/* The order. */
static unsigned int choice[CHOICES], of[CHOICES], nchoices, at;
static unsigned int deeds;
static bool quiet;		/* others do nothing, while what they did is looked at */

/* The others. */
static bool fourth;		/* is in the tag's queue */
static unsigned int third;	/* 0 nowhere, 1 in both queues, 2 in that of the file */
static struct wait_queue_entry other;
static bool other_waits;

static const char *lost;

static unsigned int choose(unsigned int n)
{
	if (at == nchoices) {
		assert_true(nchoices < CHOICES);
		choice[nchoices] = 0;
		of[nchoices++] = n;
	}
	assert_int_equal(of[at], n);
	return choice[at++];
}

static bool next_order(void)
{
	while (nchoices && choice[nchoices - 1] + 1 == of[nchoices - 1])
		nchoices--;
	if (nchoices)
		choice[nchoices - 1]++;
	return nchoices;
}

static int default_wake_function(struct wait_queue_entry *wait, unsigned int mode, int sync,
				 void *key)
{
	bool was = wait->awake;

	(void)mode, (void)sync, (void)key;
	wait->awake = true;
	return !was;
}

/* All are exclusive. */
static void wake_up_interruptible(wait_queue_head_t *line)
{
	unsigned int i;

	for (i = 0; i < line->n; i++)
		if (line->q[i]->func(line->q[i], TASK_INTERRUPTIBLE, 0, NULL))
			return;
}

static bool wq_has_sleeper(const wait_queue_head_t *line)
{
	return line->n;
}

/* Nobody polls here. */
static void wake_up_poll(wait_queue_head_t *line, unsigned int what)
{
	(void)line;
	(void)what;
}

static void leave(wait_queue_head_t *line, struct wait_queue_entry *wait)
{
	if (line->n && line->q[0] == wait)
		line->q[0] = line->q[--line->n];
	else if (line->n == 2 && line->q[1] == wait)
		line->n--;
}

static void join(wait_queue_head_t *line, struct wait_queue_entry *wait)
{
	if ((line->n && line->q[0] == wait) || (line->n == 2 && line->q[1] == wait))
		return;
	line->q[line->n++] = wait;
}

/* What an event of the tag does when a message has left the queue: oae_attach_writable(). */
static void left_queue(void)
{
	tag.nsnd--;
	oae_room_wake(&tag, false);
}

static void third_ends(void)
{
	if (third == 1)
		left_queue();
	third = 0;
	client.nqueued--;
	oae_room_wake_client(&tag, &client);
}

static void fourth_ends(void)
{
	fourth = false;
	left_queue();
}

static bool may(unsigned int deed)
{
	switch (deed) {
	case 0:
		return fourth;
	case 1:
		return !third && tag.nsnd < SNDQ && client.nqueued < QUEUE;
	case 2:
		return third == 1;
	case 3:
		return third == 2;
	default:
		return !other_waits && tag.nsnd >= SNDQ;
	}
}

static void deed(unsigned int which)
{
	switch (which) {
	case 0:
		fourth_ends();
		break;
	case 1:
		tag.nsnd++;
		client.nqueued++;
		third = 1;
		break;
	case 2:
		third = 2;
		left_queue();
		break;
	case 3:
		third_ends();
		break;
	default:
		other_waits = true;
		join(&users.write_wait, &other);
	}
}

/* Between two reads of the writer. */
static void others(void)
{
	unsigned int can[KINDS], n, i;

	while (!quiet && deeds < DEEDS) {
		for (i = 0, n = 0; i < KINDS; i++)
			if (may(i))
				can[n++] = i;
		i = choose(n + 1);
		if (!i)
			return;
		deeds++;
		quiet = true;
		deed(can[i - 1]);
		quiet = false;
	}
}

#define READ_ONCE(x)	(others(), (x))

static bool oae_client_room(const struct oae_client *c)
{
	return READ_ONCE(c->nqueued) < QUEUE;
}

static void prepare_to_wait_exclusive(wait_queue_head_t *line, struct wait_queue_entry *wait,
				      int how)
{
	(void)how;
	others();
	join(line, wait);
	wait->awake = false;
}

static void finish_wait(wait_queue_head_t *line, struct wait_queue_entry *wait)
{
	others();
	leave(line, wait);
	wait->awake = true;
}

static struct wait_queue_entry *writer;	/* as it sleeps */
static bool signalled;

#define current			NULL
#define signal_pending(task)	(signalled = signalled || choose(2))

static bool room_now(const struct oae_client *c)
{
	return tag.nsnd < SNDQ && (!c || client.nqueued < QUEUE);
}

/* All that is under way ends: only a wake-up of that can end the sleep. */
static void all_end(void)
{
	quiet = true;
	if (fourth)
		fourth_ends();
	if (third)
		third_ends();
	quiet = false;
}

static long schedule_timeout(long left)
{
	others();
	if (writer->awake)
		return left;
	if (choose(2))
		return 0;
	if (other_waits && !other.awake && room_now(NULL))
		lost = "the other one sleeps, and there is room for it";
	all_end();
	if (!writer->awake && !(other_waits && other.awake)) {
		if (room_now(&client))
			lost = "the writer sleeps for ever, and there is room";
		return 0;
	}
	return writer->awake ? left : 0;
}

/* The writer's entry is on its stack. */
#define DEFINE_WAIT_FUNC(name, function) \
	struct wait_queue_entry name = { .func = function }; \
	writer = &name

#include "room.h"

/* As oae_room_send() does it. */
static int send(void)
{
	long left = LONG_MAX;
	bool waited = false;
	int err;

	for (;;) {
		others();
		err = room_now(&client) ? 0 : -EAGAIN;
		if (!err) {
			tag.nsnd++;
			client.nqueued++;
		}
		if (err != -EAGAIN)
			break;
		waited = true;
		err = oae_room_wait(&tag, &client, false, &left);
		if (err)
			break;
	}
	if (waited) {
		oae_room_wake(&tag, false);
		oae_room_wake_client(&tag, &client);
	}
	return err;
}

static int sleeps_on(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	return default_wake_function(wait, mode, sync, key);
}

static void one_order(void)
{
	int err;

	memset(&users, 0, sizeof(users));
	memset(&client, 0, sizeof(client));
	memset(&tag, 0, sizeof(tag));
	node.knobs = (struct oae_knobs){ .sndq = SNDQ };
	tag.node = &node;
	tag.users = &users;
	tag.nsnd = 1;
	fourth = true;
	third = 0;
	other = (struct wait_queue_entry){ .func = sleeps_on };
	other_waits = false;
	deeds = 0;
	at = 0;
	signalled = false;
	quiet = false;
	err = send();
	if (lost || !err)
		return;
	/* It has left, and has posted nothing. */
	all_end();
	if (other_waits && !other.awake && room_now(NULL))
		lost = "the other one sleeps for ever, and there is room";
}

TEST(test_no_wake_up_is_lost)
{
	unsigned long n = 0;

	do {
		one_order();
		n++;
	} while (!lost && next_order());
	if (lost) {
		unsigned int i;

		fprintf(stderr, "order %lu:", n);
		for (i = 0; i < at; i++)
			fprintf(stderr, " %u", choice[i]);
		fprintf(stderr, "\n");
		fail_msg("%s", lost);
	}
	printf("%lu orders\n", n);
}

UNIT_MAIN("room")
