// SPDX-License-Identifier: GPL-2.0
/*
 * Tags whose port is a guess: the address named none, and nobody was heard with it (doc/protocol.md
 * section 4.13). When its peer is heard at another port, or asks there for a link, a tag goes
 * there, unless the peer has answered meanwhile. net/resolve.c finds the port.
 *
 * Such a tag is on node->guesses, until its link is open, or it leaves the table.
 */
#include "event.h"

static const struct rhashtable_params guess_params = {
	.head_offset = offsetof(struct oae_users, by_kid),
	.key_offset = offsetof(struct oae_users, kid),
	.key_len = sizeof_field(struct oae_users, kid),
	.automatic_shrinking = true,
};

/* Has the peer of a tag's link ever answered? Under tag->lock. */
static bool guess_met(const struct oae_tag *tag)
{
	struct oae_link_mark mark;

	oae_link_mark(&tag->link, &mark);
	return mark.peer_inc;
}

/* Under tag->lock. */
static bool guess_is(const struct oae_tag *tag)
{
	return tag->users && !list_empty(&tag->users->guess);
}

/* Nothing happens if it is listed. Without memory no peer that asks finds it. Under tag->lock. */
static void guess_list(struct oae_tag *tag)
{
	struct oae_users *u = tag->users;
	struct oae_node *node = tag->node;

	spin_lock(&node->guess_lock);
	if (list_empty(&u->guess)) {
		u->kid = tag->key.kid;
		if (rhltable_insert(&node->guesses_by_kid, &u->by_kid, guess_params))
			oae_count(node, OAE_S_NO_MEMORY);
		list_add_tail(&u->guess, &node->guesses);
	}
	spin_unlock(&node->guess_lock);
}

/* The port of a tag is a guess no more, or the tag leaves the table. */
void oae_guess_del(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	if (!guess_is(tag))
		return;
	spin_lock(&node->guess_lock);
	rhltable_remove(&node->guesses_by_kid, &tag->users->by_kid, guess_params);
	list_del_init(&tag->users->guess);
	spin_unlock(&node->guess_lock);
}

/*
 * Somebody begins to use a tag. An id names the port that has heard it. 24 bits stand under the
 * OUI of each port, as long as no user of the tag has given the whole address.
 */
void oae_guess_use(struct oae_tag *tag, const struct oae_addr *addr)
{
	lockdep_assert_held(&tag->lock);
	if (addr->dev[0] || addr->id) {
		tag->users->port_named = true;
		oae_guess_del(tag);
	} else if (!addr->low24) {
		tag->users->whole = true;
	}
}

/*
 * Has a tag moved since it was found by this port and key id? One with paths is found by each of
 * them.
 */
bool oae_guess_moved(const struct oae_tag *tag, const struct oae_port *port, u64 kid)
{
	lockdep_assert_held(&tag->lock);
	return !tag->paths && (tag->key.port != port || tag->key.kid != kid);
}

/* May a tag go to where its peer was heard? Not once the peer has answered. */
bool oae_guess_may_move(const struct oae_tag *tag, u64 kid)
{
	lockdep_assert_held(&tag->lock);
	return guess_is(tag) && (!tag->users->whole || kid == tag->key.kid) && !tag->dead &&
	       !tag->paths && !guess_met(tag);
}

/* It has gone there: from now on it is found by its new key. */
void oae_guess_relist(struct oae_tag *tag)
{
	oae_guess_del(tag);
	guess_list(tag);
}

/**
 * oae_guess_add() - the port of a tag is a guess, unless somebody has named it
 * @tag: the tag
 * @addr: the address by which the tag was found
 *
 * Without memory the port stays what it is.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: true if the tag is listed.
 */
bool oae_guess_add(struct oae_tag *tag, const struct oae_addr *addr)
{
	bool listed = false;

	if (oae_users_make(tag))
		return false;
	oae_tag_lock(tag);
	oae_guess_use(tag, addr);
	if (!tag->dead && !tag->users->port_named && !guess_met(tag)) {
		guess_list(tag);
		listed = true;
	}
	oae_tag_unlock(tag);
	return listed;
}

/**
 * oae_guess_addr() - the address that a tag was made for
 * @tag: the tag
 * @addr: filled in
 * @vc: set to its virtual channel
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: false if its port is no guess, or no more.
 */
bool oae_guess_addr(struct oae_tag *tag, struct oae_addr *addr, u8 *vc)
{
	bool is;

	memset(addr, 0, sizeof(*addr));
	oae_tag_lock(tag);
	is = guess_is(tag);
	if (is) {
		addr->set = true;
		addr->low24 = !tag->users->whole;
		oae_kid_mac(tag->key.kid, addr->mac);
		*vc = tag->key.kid >> 56;
	}
	oae_tag_unlock(tag);
	return is;
}

/**
 * oae_guess_any() - is the port of any tag a guess?
 * @node: the node
 *
 * Context: any but hard interrupts.
 *
 * Return: true if so.
 */
bool oae_guess_any(struct oae_node *node)
{
	bool any;

	spin_lock_bh(&node->guess_lock);
	any = !list_empty(&node->guesses);
	spin_unlock_bh(&node->guess_lock);
	return any;
}

/**
 * oae_guess_of() - find a tag whose port is a guess
 * @node: the node, which has a port
 * @kid: its key id
 *
 * Context: softirq, or BH off; under rcu_read_lock().
 *
 * Return: the tag, perhaps dead, valid in this RCU read-side critical section; or NULL.
 */
struct oae_tag *oae_guess_of(struct oae_node *node, u64 kid)
{
	struct rhlist_head *found = rhltable_lookup(&node->guesses_by_kid, &kid, guess_params);

	return found ? container_of(found, struct oae_users, by_kid)->tag : NULL;
}

/**
 * oae_guesses_make() - make a node's table of tags whose port is a guess, if there is none
 * @node: the node, which is about to have a port
 *
 * Context: process, may sleep; under node->dev_lock.
 *
 * Return: 0 or a negative errno.
 */
int oae_guesses_make(struct oae_node *node)
{
	lockdep_assert_held(&node->dev_lock);
	return node->guesses_by_kid.ht.tbl ?
		       0 : rhltable_init(&node->guesses_by_kid, &guess_params);
}

/**
 * oae_guesses_exit() - free a node's table of tags whose port is a guess
 * @node: the node, which has no tag any more
 *
 * Context: process, may sleep.
 */
void oae_guesses_exit(struct oae_node *node)
{
	WARN_ON(!list_empty(&node->guesses));
	if (node->guesses_by_kid.ht.tbl)
		rhltable_destroy(&node->guesses_by_kid);
}

/**
 * oae_guesses_for_each() - call a function on the tags whose port is a guess
 * @node: the node
 * @fn: the function, called with a reference to the tag and without tag->lock
 *
 * Tags that are listed meanwhile are left out.
 *
 * Context: process, may sleep; one at a time.
 */
void oae_guesses_for_each(struct oae_node *node, void (*fn)(struct oae_tag *tag))
{
	struct oae_users *u;
	struct oae_tag *tag;
	LIST_HEAD(todo);

	spin_lock_bh(&node->guess_lock);
	list_splice_init(&node->guesses, &todo);
	while ((u = list_first_entry_or_null(&todo, struct oae_users, guess))) {
		list_move_tail(&u->guess, &node->guesses);
		tag = u->tag;
		/* The table has a reference: oae_tag_retire(). */
		refcount_inc(&tag->ref);
		spin_unlock_bh(&node->guess_lock);
		fn(tag);
		oae_tag_put(tag);
		cond_resched();
		spin_lock_bh(&node->guess_lock);
	}
	spin_unlock_bh(&node->guess_lock);
}
