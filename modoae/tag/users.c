// SPDX-License-Identifier: GPL-2.0
/*
 * Who uses a tag here, and who might: the memory that a tag has for users, writers that wait for
 * room in queues, and tags that no file is attached to.
 *
 * What a tag has for those who use it here: the files attached, wait queues, events to be
 * told, and what swaps need. Most links of a host with very many have no user, and are
 * used by few of their tags at a time; so it is made for the first one, and goes with the
 * tag.
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
 *
 * Listeners are told which tags without a file a peer has opened (dev/listen.c), and
 * noc_debug reads what is unread in any of them (dev/noc_debug.c).
 *
 * Listeners read node->fresh, which is kept in the order in which the links came
 * up, with or without a listener. Each tag is reported once. It is reported again
 * if the peer has a new incarnation, or is heard from after the last file has
 * detached. The list has no references: a tag that gets a file, or dies, is removed
 * under its own lock.
 *
 * Unread data stays with its tag. The node lists the tag exactly as long as
 * something is unread in it and no file is attached. Softirq adds a tag to the
 * lock-free list node->ready, so delivery takes no lock wider than the tag's.
 * Readers, and any function that removes a tag, first move node->ready to
 * node->reading. The two lists have a reference to each tag.
 */
#include "event.h"

#include <linux/poll.h>
#include <linux/sched/signal.h>

static struct kmem_cache *users_cache;

static struct oae_users *users_alloc(struct oae_tag *tag)
{
	struct oae_users *u = kmem_cache_zalloc(users_cache, OAE_GFP_USER);

	if (!u)
		return NULL;
	INIT_LIST_HEAD(&u->files);
	INIT_LIST_HEAD(&u->halfq);
	INIT_LIST_HEAD(&u->ringq);
	INIT_LIST_HEAD(&u->guess);
	u->tag = tag;
	init_waitqueue_head(&u->read_wait);
	init_waitqueue_head(&u->poll_wait);
	init_waitqueue_head(&u->write_wait);
	init_waitqueue_head(&u->half_wait);
	init_waitqueue_head(&u->confirm_wait);
	return u;
}

/* Have a tag ready for users. -ENOMEM. */
int oae_users_make(struct oae_tag *tag)
{
	struct oae_users *u;

	if (oae_tag_users(tag))
		return 0;
	u = users_alloc(tag);
	if (!u) {
		oae_count(tag->node, OAE_S_NO_MEMORY);
		return -ENOMEM;
	}
	oae_tag_lock(tag);
	if (!tag->users) {
		oae_link_lend_swaps(&tag->link, &u->swaps);
		/* Whoever sees it sees lists and wait queues. Pairs with oae_tag_users(). */
		smp_store_release(&tag->users, u);
		u = NULL;
	}
	oae_tag_unlock(tag);
	if (u)
		kmem_cache_free(users_cache, u);
	return 0;
}

/* The tag is about to be freed. */
void oae_users_free(struct oae_tag *tag)
{
	if (tag->users)
		kmem_cache_free(users_cache, tag->users);
}

/**
 * oae_users_start() - make the slab
 *
 * Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int oae_users_start(void)
{
	users_cache = kmem_cache_create("oae_users", sizeof(struct oae_users), 0, 0, NULL);
	return users_cache ? 0 : -ENOMEM;
}

/**
 * oae_users_stop() - free the slab
 *
 * Context: process, may sleep; after rcu_barrier().
 */
void oae_users_stop(void)
{
	kmem_cache_destroy(users_cache);
}

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

/**
 * oae_unclaimed_init() - initialise a node's lists of unclaimed tags
 * @node: the node, not published yet
 *
 * Context: any.
 */
void oae_unclaimed_init(struct oae_node *node)
{
	spin_lock_init(&node->unclaimed_lock);
	INIT_LIST_HEAD(&node->fresh);
	init_waitqueue_head(&node->fresh_wait);
	init_llist_head(&node->ready);
	INIT_LIST_HEAD(&node->reading);
}

/**
 * oae_fresh_add() - report a tag to listeners
 * @tag: the tag, without a file
 *
 * Context: under tag->lock, BH off; takes node->unclaimed_lock.
 */
void oae_fresh_add(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	tag->unheard = false;
	spin_lock(&node->unclaimed_lock);
	if (list_empty(&tag->fresh) && !tag->dead)
		list_add_tail(&tag->fresh, &node->fresh);
	spin_unlock(&node->unclaimed_lock);
	if (wq_has_sleeper(&node->fresh_wait))
		wake_up_interruptible_poll(&node->fresh_wait,
					   EPOLLIN | EPOLLRDNORM);
}

/* Do not report a tag to listeners any more. */
void oae_fresh_del(struct oae_tag *tag)
{
	lockdep_assert_held(&tag->lock);
	if (list_empty_careful(&tag->fresh))
		return;
	spin_lock(&tag->node->unclaimed_lock);
	list_del_init(&tag->fresh);
	spin_unlock(&tag->node->unclaimed_lock);
}

/* Move the tags from node->ready to node->reading, in the order of their arrival. */
static void unclaimed_collect(struct oae_node *node)
{
	struct llist_node *new = llist_del_all(&node->ready);
	struct oae_tag *tag, *next;

	lockdep_assert_held(&node->unclaimed_lock);
	new = llist_reverse_order(new);
	/* The two are the same memory: the next is known before this one is moved. */
	llist_for_each_entry_safe(tag, next, new, ready)
		list_add_tail(&tag->reading, &node->reading);
}

/* A tag's unread transactions or its files have changed: list it for noc_debug, or remove it. */
void oae_unclaimed_sort(struct oae_tag *tag)
{
	bool wanted = tag->inbox.n && !oae_tag_attached(tag);
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->inbox.q.lock);
	if (wanted == tag->is_ready)
		return;
	tag->is_ready = wanted;
	if (wanted) {
		refcount_inc(&tag->ref);
		llist_add(&tag->ready, &node->ready);
		return;
	}
	spin_lock(&node->unclaimed_lock);
	unclaimed_collect(node);
	list_del(&tag->reading);
	spin_unlock(&node->unclaimed_lock);
	oae_tag_put(tag);
}

/**
 * oae_unclaimed_next() - the tag that noc_debug reads from next
 * @node: the node
 *
 * The tags take turns. But a dead tag is read to its end first, since whatever the
 * peer's next tag has was sent later.
 *
 * Context: process; takes node->unclaimed_lock.
 *
 * Return: the tag, with a reference; NULL nothing is unread.
 */
struct oae_tag *oae_unclaimed_next(struct oae_node *node)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->unclaimed_lock);
	unclaimed_collect(node);
	tag = list_first_entry_or_null(&node->reading, struct oae_tag, reading);
	if (tag) {
		refcount_inc(&tag->ref);
		if (!READ_ONCE(tag->dead))
			list_move_tail(&tag->reading, &node->reading);
	}
	spin_unlock_bh(&node->unclaimed_lock);
	return tag;
}

/**
 * oae_unclaimed_any() - is anything unread in a tag without a file?
 * @node: the node
 *
 * A hint for poll: a reader may change the answer meanwhile.
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool oae_unclaimed_any(const struct oae_node *node)
{
	return !llist_empty(&node->ready) || !list_empty(&node->reading);
}
