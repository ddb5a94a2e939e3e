// SPDX-License-Identifier: GPL-2.0
/*
 * Tags whose port is a guess: the address named none, and nobody was heard with it (doc/protocol.md
 * section 4.13). When its peer is heard at another port, a tag goes there, unless the peer has
 * answered meanwhile. net/resolve.c finds the port.
 *
 * Such a tag is on node->guesses, until its link is open, or it leaves the table.
 */
#include "event.h"

/* Has the peer of a tag's link ever answered? Under tag->lock. */
static bool guess_met(const struct oae_tag *tag)
{
	struct oae_link_mark mark;

	oae_link_mark(&tag->link, &mark);
	return mark.peer_inc;
}

/**
 * oae_guess_del() - the port of a tag is a guess no more, or the tag leaves the table
 * @tag: the tag; nothing happens if it is not listed
 *
 * Context: under tag->lock, BH off.
 */
void oae_guess_del(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	lockdep_assert_held(&tag->lock);
	if (!tag->users || list_empty(&tag->users->guess))
		return;
	spin_lock(&node->guess_lock);
	list_del_init(&tag->users->guess);
	spin_unlock(&node->guess_lock);
}

/**
 * oae_guess_add() - the port of a tag is a guess, unless somebody has named it
 * @tag: the tag
 * @low24: the address has 24 bits, which stand under the OUI of each port
 *
 * Without memory the port stays what it is.
 *
 * Context: process, may sleep; takes tag->lock.
 *
 * Return: true if the tag is listed.
 */
bool oae_guess_add(struct oae_tag *tag, bool low24)
{
	struct oae_node *node = tag->node;
	bool listed = false;

	if (oae_users_make(tag))
		return false;
	oae_tag_lock(tag);
	if (!tag->dead && !tag->users->port_named && !guess_met(tag)) {
		tag->users->low24 = low24;
		spin_lock(&node->guess_lock);
		if (list_empty(&tag->users->guess))
			list_add_tail(&tag->users->guess, &node->guesses);
		spin_unlock(&node->guess_lock);
		listed = true;
	}
	oae_tag_unlock(tag);
	return listed;
}

/**
 * oae_guess_never() - somebody who uses a tag has named its port
 * @tag: the tag, which has users
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_guess_never(struct oae_tag *tag)
{
	oae_tag_lock(tag);
	tag->users->port_named = true;
	oae_guess_del(tag);
	oae_tag_unlock(tag);
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
	is = tag->users && !list_empty(&tag->users->guess);
	if (is) {
		addr->set = true;
		addr->low24 = tag->users->low24;
		oae_kid_mac(tag->key.kid, addr->mac);
		*vc = tag->key.kid >> 56;
	}
	oae_tag_unlock(tag);
	return is;
}

/**
 * oae_guess_move() - the peer of a tag was heard at another port
 * @tag: the tag; nothing happens if its peer has answered meanwhile
 * @port: the port
 * @kid: channel and address of the peer there; nothing happens if a link has them
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_guess_move(struct oae_tag *tag, struct oae_port *port, u64 kid)
{
	struct oae_tag_key key = { .port = port, .kid = kid };
	struct oae_run ev oae_uninit;
	unsigned int i;
	u16 mtu;

	oae_run_enter(tag, &ev);
	/* Whoever removes the port looks for its tags once. */
	if (!tag->dead && !tag->paths && !guess_met(tag) && !READ_ONCE(port->removed) &&
	    !oae_path_find(port, kid, &i) && !oae_tag_rekey(tag, &key)) {
		oae_tag_rank(tag);
		mtu = oae_tag_way_begin(tag, false);
		ev.via = tag->way.via;
		oae_link_set_mtu(&tag->link, mtu, ev.now, &ev.a);
		/*
		 * Whoever tells the port's own tags that it has changed may have missed this one.
		 * The key before the look. Pairs with the smp_mb() in change_tell().
		 */
		smp_mb();
		if (READ_ONCE(port->up))
			oae_link_port_up(&tag->link, ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
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
