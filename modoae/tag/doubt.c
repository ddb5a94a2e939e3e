// SPDX-License-Identifier: GPL-2.0
/*
 * Links in doubt, listed at the port of the path that they use: a port that is about to go
 * down has them say what they have committed (doc/protocol.md section 4.5), and has no time to
 * look for them among all others.
 *
 * A tag is listed by the event after which its link is in doubt. It stays listed until the
 * timer finds that there is nothing to be listed for: a link at work is in doubt most of the
 * time, so its frames find it listed.
 */
#include "path.h"

#define DOUBT_LEAVE_NS	NSEC_PER_SEC	/* a link that does not freeze goes on after that */
#define DOUBT_TELL_NS	(20 * NSEC_PER_MSEC)	/* the longest that links are told under RTNL */

/* If the port is about to go down, the link leaves. */
static void doubt_list(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_port *port = oae_tag_used_port(tag);
	bool leaving;

	spin_lock(&port->doubt_lock);
	list_add_tail(&tag->doubt_list, &port->doubt);
	tag->doubt_at = port;
	/* Else oae_doubt_leave() finds the tag. */
	leaving = port->leaving;
	spin_unlock(&port->doubt_lock);
	if (unlikely(leaving)) {
		oae_link_leave(&tag->link, ev->now + DOUBT_LEAVE_NS, ev->now, &ev->a);
		oae_run_apply(tag, ev);
	}
}

/**
 * oae_doubt_unlist() - a link is in doubt no more, or its tag leaves the table
 * @tag: the tag; nothing happens if it is not listed
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
void oae_doubt_unlist(struct oae_tag *tag)
{
	struct oae_port *port = tag->doubt_at;

	if (!port)
		return;
	spin_lock(&port->doubt_lock);
	list_del(&tag->doubt_list);
	spin_unlock(&port->doubt_lock);
	tag->doubt_at = NULL;
}

/**
 * oae_doubt_look() - an event is over: list its tag if the link is in doubt
 * @tag: the tag; if it is listed already, another path may be in use now
 * @ev: the event; its frames can still be added to
 *
 * Context: under tag->lock, BH off; under rcu_read_lock().
 */
void oae_doubt_look(struct oae_tag *tag, struct oae_run *ev)
{
	/* A link that is CLOSED leaves its paths: nobody would tell it that their ports go. */
	if (tag->doubt_at &&
	    (tag->doubt_at != oae_tag_used_port(tag) || oae_link_closed(&tag->link)))
		oae_doubt_unlist(tag);
	if (!tag->doubt_at && !tag->dead && oae_link_in_doubt(&tag->link))
		doubt_list(tag, ev);
}

static void doubt_leave(struct oae_tag *tag, struct oae_port *port)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	/* It may go by another port by now, or be listed for what is over. */
	if (tag->doubt_at == port && oae_link_in_doubt(&tag->link))
		oae_link_leave(&tag->link, ev.now + DOUBT_LEAVE_NS, ev.now, &ev.a);
	else if (tag->doubt_at == port)
		oae_doubt_unlist(tag);
	oae_run_leave(tag, &ev);
}

/**
 * oae_doubt_until() - for how long links in doubt may be told, from now on
 *
 * Context: any.
 *
 * Return: until when, ns.
 */
u64 oae_doubt_until(void)
{
	return ktime_get_ns() + DOUBT_TELL_NS;
}

/**
 * oae_doubt_leave() - a port is about to go down, or to be released
 * @port: the port, which carries frames yet; nothing happens if that was said already
 * @until: from oae_doubt_until(); ports that go together share the time
 *
 * The links in doubt say what they have committed, and commit nothing more. RTNL is everybody's:
 * of very many links the last ones are left as they are.
 *
 * Context: process, may sleep; under RTNL; takes tag->lock.
 */
void oae_doubt_leave(struct oae_port *port, u64 until)
{
	struct oae_tag *tag;
	LIST_HEAD(todo);

	if (port->leaving)
		return;
	spin_lock_bh(&port->doubt_lock);
	port->leaving = true;
	list_splice_init(&port->doubt, &todo);
	while ((tag = list_first_entry_or_null(&todo, struct oae_tag, doubt_list))) {
		list_move_tail(&tag->doubt_list, &port->doubt);
		/* The table has a reference: oae_tag_retire(). */
		refcount_inc(&tag->ref);
		spin_unlock_bh(&port->doubt_lock);
		doubt_leave(tag, port);
		oae_tag_put(tag);
		cond_resched();
		spin_lock_bh(&port->doubt_lock);
		if (ktime_get_ns() > until)
			break;
	}
	list_splice(&todo, &port->doubt);
	spin_unlock_bh(&port->doubt_lock);
}

/**
 * oae_doubt_stays() - the port is down, and its links are frozen: it may come up again
 * @port: the port
 *
 * Context: process; under RTNL.
 */
void oae_doubt_stays(struct oae_port *port)
{
	spin_lock_bh(&port->doubt_lock);
	port->leaving = false;
	spin_unlock_bh(&port->doubt_lock);
}
