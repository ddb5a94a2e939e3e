/* SPDX-License-Identifier: GPL-2.0 */
/* What room.c has from the kernel and the shell, as test_room tries it. */
#ifndef ROOM_UTIL_H
#define ROOM_UTIL_H

#include <errno.h>
#include <stdbool.h>

#define OAE_E_SIGNAL	EINTR
#define OAE_E_DEADLINE	ETIME

enum { TASK_INTERRUPTIBLE = 1, EPOLLOUT = 4, EPOLLWRNORM = 0x100 };

struct wait_queue_entry {
	int (*func)(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key);
	bool awake;
};

struct wait_queue_head {
	struct wait_queue_entry *q[2];		/* the writer, and the other one behind it */
	unsigned int n;
};

#define wait_queue_head_t	struct wait_queue_head

struct oae_knobs {
	unsigned int sndq;
	bool shut;
};

struct oae_node {
	struct oae_knobs knobs;
};

struct oae_users {
	wait_queue_head_t write_wait, half_wait, poll_wait;
};

struct oae_tag {
	struct oae_node *node;
	struct oae_users *users;
	unsigned int nsnd, nhalf;
	bool dead;
};

struct oae_client {
	wait_queue_head_t room_wait;
	unsigned int nqueued;
};

bool oae_room(const struct oae_tag *tag, const struct oae_client *c, bool swap);
void oae_room_wake(struct oae_tag *tag, bool swap);
void oae_room_wake_client(struct oae_tag *tag, struct oae_client *c);
void oae_room_client(struct oae_tag *tag, struct oae_client *c);

#endif /* ROOM_UTIL_H */
