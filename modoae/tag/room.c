// SPDX-License-Identifier: GPL-2.0
/*
 * Room in queues: queueing what a program sends, and waiting until it fits.
 *
 * A transaction takes a place in its tag's queue (messages with verbs, or swaps)
 * and, if a file sent it, in that file's queue. A writer waits for room in the
 * queue that is full, exclusively: room wakes one writer, so many waiting writers
 * cost no more than one.
 *
 * No wake-up gets lost: a writer that has waited passes the wake-up on when it
 * leaves, whether it has queued something or not. So while there is room and a
 * writer waits, some writer is awake. A writer that has not waited may overtake
 * those that wait.
 */
#include "event.h"

#include <linux/poll.h>
#include <linux/sched/signal.h>

static bool oae_room_shut(const struct oae_tag *tag)
{
	return READ_ONCE(tag->dead) || READ_ONCE(tag->node->shut);
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

	if (oae_room_shut(tag))
		return true;
	return n < READ_ONCE(tag->node->knobs.sndq) && (!c || oae_client_room(c));
}

/* The wait queue for room in a tag's queue; the tag has, or had, users. */
static wait_queue_head_t *oae_room_line(struct oae_tag *tag, bool swap)
{
	return swap ? &tag->users->half_wait : &tag->users->write_wait;
}

/* The wait queue for the room that is missing; NULL: there is room. */
static wait_queue_head_t *oae_room_wanting(struct oae_tag *tag,
					   struct oae_client *c, bool swap)
{
	if (oae_room(tag, c, swap))
		return NULL;
	return c && !oae_client_room(c) ? &c->room_wait :
					oae_room_line(tag, swap);
}

/* Wait for room. 0: try again; -OAE_E_SIGNAL, -OAE_E_DEADLINE. */
static int oae_room_wait(struct oae_tag *tag, struct oae_client *c, bool swap,
			 long *left)
{
	wait_queue_head_t *line, *next;
	DEFINE_WAIT(wait);
	int err = 0;

	while (!err && (line = oae_room_wanting(tag, c, swap)) != NULL) {
		prepare_to_wait_exclusive(line, &wait, TASK_INTERRUPTIBLE);
		if (oae_room_wanting(tag, c, swap) != line) {
			;	/* there is room now, or another queue is full */
		} else if (signal_pending(current)) {
			err = -OAE_E_SIGNAL;
		} else {
			*left = schedule_timeout(*left);
			if (!*left)
				err = -OAE_E_DEADLINE;
		}
		finish_wait(line, &wait);
		/*
		 * Leaving this wait queue for the other: pass the wake-up on. A writer that
		 * leaves it for good uses the room, and passes on what is left then. If it
		 * did so before, each that is woken would wake the next.
		 */
		next = oae_room_wanting(tag, c, swap);
		if (next && next != line) {
			oae_room_wake(tag, swap);
			oae_room_wake_client(tag, c);
		}
	}
	return err;
}

/**
 * oae_room_wake() - wake the first writer that waits for a tag's room, if there is any
 * @tag: the tag
 * @swap: the queue for halves
 *
 * Context: any but hard interrupts; under tag->lock or not.
 */
void oae_room_wake(struct oae_tag *tag, bool swap)
{
	wait_queue_head_t *line = oae_room_line(tag, swap);

	if (wq_has_sleeper(line) && oae_room(tag, NULL, swap))
		wake_up_interruptible(line);
}

/**
 * oae_room_wake_client() - wake the first writer that waits for a file's room
 * @tag: the file's tag
 * @c: the file, or NULL
 *
 * Context: any but hard interrupts; under tag->lock or not.
 */
void oae_room_wake_client(struct oae_tag *tag, struct oae_client *c)
{
	if (c && wq_has_sleeper(&c->room_wait) &&
	    (oae_room_shut(tag) || oae_client_room(c)))
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

/**
 * oae_room_send() - cut a transaction and queue it, once there is room
 * @tag: the tag
 * @msg: the transaction; on success the link takes a reference
 * @nonblock: do not wait for room
 * @left: time limit, jiffies; set to the time left
 *
 * A retry does not hash the message again unless the length of slices changes.
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EAGAIN no room; -OAE_E_SIGNAL, -OAE_E_DEADLINE while waiting for
 * room; -ESTALE the tag is gone; -ENOMEM; else what oae_tag_send() returns. Nothing is
 * queued unless 0 is returned.
 */
int oae_room_send(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		  long *left)
{
	bool swap = msg->post.kind == OAE_SWAP, waited = false;
	struct oae_client *c = msg->txn.client;
	int err;

	for (;;) {
		oae_msg_slice(msg, oae_link_cut(&tag->link, msg->post.kind,
						msg->post.len));
		err = oae_tag_send(tag, msg);
		if (err == -ESTALE && !READ_ONCE(tag->dead))
			continue;	/* longer slices: cut anew */
		if (err != -EAGAIN || nonblock)
			break;
		err = oae_users_make(tag);
		if (err)
			break;
		waited = true;
		err = oae_room_wait(tag, c, swap, left);
		if (err && c)
			oae_waits_refused(tag, c);
		if (err)
			break;
	}
	if (waited) {
		oae_room_wake(tag, swap);
		oae_room_wake_client(tag, c);
	}
	return err;
}
