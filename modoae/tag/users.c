// SPDX-License-Identifier: GPL-2.0
/*
 * What a tag has for those who use it here: the files attached, wait queues, events to be
 * told, and what swaps need. Most links of a host with very many have no user, and are
 * used by few of their tags at a time; so it is made for the first one, and goes with the
 * tag.
 */
#include "event.h"

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

/**
 * oae_users_make() - have a tag ready for users
 * @tag: the tag
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: 0 or -ENOMEM.
 */
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

/**
 * oae_users_free() - free what there was for users
 * @tag: the tag, about to be freed
 *
 * Context: any.
 */
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
