// SPDX-License-Identifier: GPL-2.0
/*
 * Writers that wait for room in the queues of a tag and of a file.
 *
 * A transaction takes a place in its tag's queue (messages with verbs, or swaps)
 * and, if a file sent it, in that file's queue. A writer waits for room in the
 * queue that is full, exclusively: room wakes one writer, so many waiting writers
 * cost no more than one. Until that one has looked, room wakes no other: a writer that gets no
 * processor holds up those behind it, as the holder of a lock would.
 *
 * No wake-up gets lost: a writer that has waited passes the wake-up on when it
 * leaves, whether it has queued something or not. So while there is room and a
 * writer waits, some writer is awake. A writer that has not waited may overtake
 * those that wait.
 */
#include "event.h"

#include <linux/poll.h>
#include <linux/sched/signal.h>

static bool room_shut(const struct oae_tag *tag)
{
	return READ_ONCE(tag->dead) || READ_ONCE(tag->node->knobs.shut);
}

/**
 * oae_room() - may a writer try to queue one more transaction?
 * @tag: the tag
 * @c: the writer's file; NULL for noc_debug
 * @swap: the queue for halves, which is apart from that for all others
 *
 * Context: any.
 *
 * Return: true if there is room, or if the attempt will fail at once.
 */
bool oae_room(const struct oae_tag *tag, const struct oae_client *c, bool swap)
{
	unsigned int n = swap ? READ_ONCE(tag->nhalf) : READ_ONCE(tag->nsnd);

	if (room_shut(tag))
		return true;
	return n < READ_ONCE(tag->node->knobs.sndq) && (!c || oae_client_room(c));
}

/* The wait queue for room in a tag's queue; the tag has, or had, users. */
static wait_queue_head_t *room_line(struct oae_tag *tag, bool swap)
{
	return swap ? &tag->users->half_wait : &tag->users->write_wait;
}

/*
 * The wait queue for the room that is missing; NULL: there is room. Each look at a queue is the
 * only one: a writer that sleeps in a line has seen since it joined that the room is missing.
 */
static wait_queue_head_t *room_wanting(struct oae_tag *tag, struct oae_client *c, bool swap)
{
	if (c && !room_shut(tag) && !oae_client_room(c))
		return &c->room_wait;
	return oae_room(tag, NULL, swap) ? NULL : room_line(tag, swap);
}

/* A writer that is woken stays the first in its line until it leaves that. */
static int room_woken(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	default_wake_function(wait, mode, sync, key);
	return 1;
}

/* Wait for room. 0: try again; -OAE_E_SIGNAL, -OAE_E_DEADLINE. */
int oae_room_wait(struct oae_tag *tag, struct oae_client *c, bool swap, long *left)
{
	wait_queue_head_t *line = room_wanting(tag, c, swap), *before;
	DEFINE_WAIT_FUNC(wait, room_woken);
	int err = 0;

	while (!err && line) {
		prepare_to_wait_exclusive(line, &wait, TASK_INTERRUPTIBLE);
		if (room_wanting(tag, c, swap) != line) {
			;	/* there is room now, or another queue is full */
		} else if (signal_pending(current)) {
			err = -OAE_E_SIGNAL;
		} else {
			*left = schedule_timeout(*left);
			if (!*left)
				err = -OAE_E_DEADLINE;
		}
		finish_wait(line, &wait);
		before = line;
		/*
		 * Leaving this wait queue for the other: pass the wake-up on. A writer that
		 * leaves it for good uses the room, and passes on what is left then. If it
		 * did so before, each that is woken would wake the next.
		 */
		line = room_wanting(tag, c, swap);
		if (line && line != before) {
			oae_room_wake(tag, swap);
			oae_room_wake_client(tag, c);
		}
	}
	return err;
}

/* Wake the first writer that waits for a tag's room, if there is any. */
void oae_room_wake(struct oae_tag *tag, bool swap)
{
	wait_queue_head_t *line = room_line(tag, swap);

	if (wq_has_sleeper(line) && oae_room(tag, NULL, swap))
		wake_up_interruptible(line);
}

/* Wake the first writer that waits for a file's room; the file may be NULL. */
void oae_room_wake_client(struct oae_tag *tag, struct oae_client *c)
{
	if (c && wq_has_sleeper(&c->room_wait) &&
	    (room_shut(tag) || oae_client_room(c)))
		wake_up_interruptible(&c->room_wait);
}

/**
 * oae_room_client() - wake a writer and the pollers of a file with room again
 * @tag: the file's tag
 * @c: the file
 *
 * Context: any but hard interrupts; under tag->lock or not.
 */
void oae_room_client(struct oae_tag *tag, struct oae_client *c)
{
	oae_room_wake_client(tag, c);
	if (wq_has_sleeper(&tag->users->poll_wait))
		wake_up_poll(&tag->users->poll_wait, EPOLLOUT | EPOLLWRNORM);
}
