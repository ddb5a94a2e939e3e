// SPDX-License-Identifier: GPL-2.0
/*
 * Room in queues: queueing what a program sends, and waiting until it fits.
 *
 * A transaction takes a place in its tag's queue (messages with verbs, or swaps)
 * and, if it is of a file, in that file's. A writer waits where room is wanting,
 * in line, and room wakes one: a crowd of writers costs what one of them costs.
 *
 * No wake-up gets lost, because a writer that has waited passes it on when it
 * leaves, whether it has queued something or not: where room remains, the next in
 * line is woken. So while there is room and somebody in line, somebody is on the
 * way. A writer that comes along and takes the room takes it from all of them.
 */
#include "tag.h"

#include <linux/poll.h>
#include <linux/sched/signal.h>

static bool oae_room_shut(const struct oae_tag *tag)
{
	return READ_ONCE(tag->dead) || READ_ONCE(tag->node->shut);
}

/**
 * oae_room() - may a writer try to queue one more?
 * @tag: where
 * @c: its file; NULL none
 * @swap: a half; they do not wait for the others, nor these for them
 *
 * Context: any, no lock needed.
 *
 * Return: true if there is room, or there will never be: to be told so.
 */
bool oae_room(const struct oae_tag *tag, const struct oae_client *c, bool swap)
{
	unsigned int n = READ_ONCE(*(swap ? &tag->nhalf : &tag->nsnd));

	if (oae_room_shut(tag))
		return true;
	return n < READ_ONCE(tag->node->knobs.sndq) && (!c || oae_client_room(c));
}

/* The line for a tag's room. */
static wait_queue_head_t *oae_room_line(struct oae_tag *tag, bool swap)
{
	return swap ? &tag->half_wait : &tag->write_wait;
}

/* The line to stand in; NULL: there is room. */
static wait_queue_head_t *oae_room_wanting(struct oae_tag *tag,
					   struct oae_client *c, bool swap)
{
	if (oae_room(tag, c, swap))
		return NULL;
	return c && !oae_client_room(c) ? &c->room_wait :
					oae_room_line(tag, swap);
}

/* 0: try again; -OAE_E_SIGNAL, -OAE_E_DEADLINE. */
static int oae_room_wait(struct oae_tag *tag, struct oae_client *c, bool swap,
			 long *left)
{
	wait_queue_head_t *line;
	DEFINE_WAIT(wait);
	int err = 0;

	while (!err && (line = oae_room_wanting(tag, c, swap)) != NULL) {
		prepare_to_wait_exclusive(line, &wait, TASK_INTERRUPTIBLE);
		if (oae_room_wanting(tag, c, swap) != line) {
			;	/* there is room now, or another line */
		} else if (signal_pending(current)) {
			err = -OAE_E_SIGNAL;
		} else {
			*left = schedule_timeout(*left);
			if (!*left)
				err = -OAE_E_DEADLINE;
		}
		finish_wait(line, &wait);
		/* Off to another line: room that is here is the next one's. */
		if (oae_room_wanting(tag, c, swap) != line) {
			oae_room_wake(tag, swap);
			if (c)
				oae_room_wake_client(tag, c);
		}
	}
	return err;
}

/**
 * oae_room_wake() - wake the first in the line for a tag's room, if there is any
 * @tag: the tag
 * @swap: the line for halves
 *
 * Context: any, tag->lock held or not.
 */
void oae_room_wake(struct oae_tag *tag, bool swap)
{
	wait_queue_head_t *line = oae_room_line(tag, swap);

	if (wq_has_sleeper(line) && oae_room(tag, NULL, swap))
		wake_up_interruptible(line);
}

/**
 * oae_room_wake_client() - wake the first in the line for a file's room
 * @tag: the file's tag
 * @c: the file
 *
 * Context: any, tag->lock held or not.
 */
void oae_room_wake_client(struct oae_tag *tag, struct oae_client *c)
{
	if (wq_has_sleeper(&c->room_wait) &&
	    (oae_room_shut(tag) || oae_client_room(c)))
		wake_up_interruptible(&c->room_wait);
}

/**
 * oae_room_client() - a file may have room again
 * @tag: the file's tag
 * @c: the file. Whoever polls is told, too.
 *
 * Context: any, tag->lock held or not.
 */
void oae_room_client(struct oae_tag *tag, struct oae_client *c)
{
	oae_room_wake_client(tag, c);
	if (wq_has_sleeper(&tag->poll_wait))
		wake_up_poll(&tag->poll_wait, EPOLLOUT | EPOLLWRNORM);
}

/**
 * oae_room_send() - cut a transaction and queue it, once there is room
 * @tag: the tag
 * @msg: the transaction; on success the link takes a reference
 * @nonblock: do not wait for room
 * @left: jiffies that it may take; what is left of them
 *
 * It is hashed once for each length of slices, however often it is tried.
 *
 * Context: process, may sleep, no lock held.
 *
 * Return: 0; -EAGAIN no room; -OAE_E_SIGNAL, -OAE_E_DEADLINE while waiting for it;
 * -ESTALE the tag is gone; else what oae_tag_send() returns. Unless it is 0,
 * nothing was queued.
 */
int oae_room_send(struct oae_tag *tag, struct oae_msg *msg, bool nonblock,
		  long *left)
{
	bool swap = msg->post.kind == OAE_SWAP, waited = false;
	struct oae_client *c = msg->txn.client;
	int err;

	for (;;) {
		oae_msg_slice(msg, msg->post.kind == OAE_MESSAGE ?
				   oae_link_cut(&tag->link, msg->post.len) :
				   oae_link_slice_max(&tag->link));
		err = oae_tag_send(tag, msg);
		if (err == -ESTALE && !READ_ONCE(tag->dead))
			continue;	/* longer slices: cut anew */
		if (err != -EAGAIN || nonblock)
			break;
		waited = true;
		err = oae_room_wait(tag, c, swap, left);
		if (err)
			break;
	}
	if (waited) {
		oae_room_wake(tag, swap);
		if (c)
			oae_room_wake_client(tag, c);
	}
	return err;
}
