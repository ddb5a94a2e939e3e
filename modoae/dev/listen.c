// SPDX-License-Identifier: GPL-2.0
/*
 * Listening: a reading listener takes the first matching tag from node->fresh, so
 * each tag is reported once, to one listener.
 */
#include "dev.h"

#include <linux/etherdevice.h>
#include <linux/uio.h>

static bool listen_matches(const struct oae_file *f, const struct oae_tag *tag)
{
	return (!f->port || f->port == tag->key.port) &&
	       (tag->key.kid & f->kid_mask) == f->kid;
}

/* Take the first tag that the file listens for, with a reference, or NULL. */
static struct oae_tag *listen_take(struct oae_file *f, struct oae_peer *peer)
{
	struct oae_node *node = oae_file_node(f);
	struct oae_tag *tag, *found = NULL;

	spin_lock_bh(&node->unclaimed_lock);
	list_for_each_entry(tag, &node->fresh, fresh) {
		if (!listen_matches(f, tag))
			continue;
		found = tag;
		refcount_inc(&tag->ref);
		list_del_init(&tag->fresh);
		memset(peer, 0, sizeof(*peer));
		/* A tag on the list is not dead, so its device exists. */
		strscpy(peer->port, tag->key.port->dev->name,
			sizeof(peer->port));
		oae_kid_mac(tag->key.kid, peer->peer);
		peer->vc = tag->key.kid >> 56;
		break;
	}
	spin_unlock_bh(&node->unclaimed_lock);
	return found;
}

/* Put back a tag that could not be copied to the program. */
static void listen_give_back(struct oae_tag *tag)
{
	oae_tag_lock(tag);
	if (!oae_tag_attached(tag))
		oae_fresh_add(tag);
	oae_tag_unlock(tag);
}

/**
 * oae_listen_dead() - is the listener's port gone?
 * @f: the listening file
 *
 * Context: any.
 *
 * Return: true if the file listens on one port, and that is gone.
 */
bool oae_listen_dead(const struct oae_file *f)
{
	return f->port && READ_ONCE(f->port->gone);
}

/**
 * oae_listen_count() - number of new peers that a listener can read
 * @f: the listening file
 *
 * Context: any but hard interrupts; takes node->unclaimed_lock.
 *
 * Return: number of peers.
 */
unsigned int oae_listen_count(struct oae_file *f)
{
	struct oae_node *node = oae_file_node(f);
	const struct oae_tag *tag;
	unsigned int n = 0;

	spin_lock_bh(&node->unclaimed_lock);
	list_for_each_entry(tag, &node->fresh, fresh)
		n += listen_matches(f, tag);
	spin_unlock_bh(&node->unclaimed_lock);
	return n;
}

/* Read as many new peers as there are and fit, without waiting. */
static ssize_t listen_read_some(struct oae_file *f, struct iov_iter *to)
{
	struct oae_peer peer;
	struct oae_tag *tag;
	ssize_t done = 0;
	bool copied;

	while (iov_iter_count(to) >= sizeof(peer)) {
		tag = listen_take(f, &peer);
		if (!tag)
			break;
		copied = copy_to_iter(&peer, sizeof(peer), to) == sizeof(peer);
		if (!copied)
			listen_give_back(tag);
		oae_tag_put(tag);
		if (!copied)
			return done ?: -EFAULT;
		done += sizeof(peer);
	}
	return done;
}

/**
 * oae_listen_read() - read struct oae_peer of new peers
 * @f: the listening file
 * @to: destination
 * @nonblock: do not wait for a peer
 *
 * Context: process, may sleep.
 *
 * Return: bytes; 0 the port is gone; -EMSGSIZE no room for one peer; -EAGAIN,
 * -ERESTARTSYS, -EFAULT.
 */
ssize_t oae_listen_read(struct oae_file *f, struct iov_iter *to, bool nonblock)
{
	struct oae_node *node = oae_file_node(f);
	ssize_t done;

	if (iov_iter_count(to) < sizeof(struct oae_peer))
		return -EMSGSIZE;
	for (;;) {
		done = listen_read_some(f, to);
		if (done || oae_listen_dead(f))
			return done;
		if (nonblock)
			return -EAGAIN;
		if (wait_event_interruptible(node->fresh_wait,
					     oae_listen_count(f) ||
					     oae_listen_dead(f)))
			return -ERESTARTSYS;
	}
}

/**
 * oae_listen_start() - let a file listen
 * @f: the file, neither attached nor listening
 * @a: the peers to listen for, checked
 *
 * Context: process; under f->setup.
 *
 * Return: 0; -ENODEV no such port.
 */
int oae_listen_start(struct oae_file *f, const struct oae_attach *a)
{
	u64 mask = 0;

	if (a->port[0]) {
		rcu_read_lock();
		f->port = oae_port_find(oae_file_node(f), a->port);
		rcu_read_unlock();
		if (!f->port)
			return -ENODEV;
	}
	strscpy(f->port_name, a->port, sizeof(f->port_name));
	if (!(a->flags & OAE_ATTACH_ANY_VC))
		mask |= 0xffULL << 56;
	if (!is_zero_ether_addr(a->peer))
		mask |= GENMASK_ULL(47, 0);
	f->kid = oae_kid(a->vc, a->peer) & mask;
	f->kid_mask = mask;
	/* Pairs with the smp_load_acquire() in oae_file_tag(). */
	smp_store_release(&f->listening, true);
	return 0;
}
