// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a tag's link: opening from here or by the peer, closing, killing,
 * and changes of its port.
 */
#include "path.h"

#include <linux/slab.h>

#define OPENING_MS	100	/* from finding no link to a peer to opening one */
#define DOUBT_TELL_NS	(20 * NSEC_PER_MSEC)	/* the longest that links are told under RTNL */

/**
 * oae_tag_free() - free what others keep in a tag
 * @tag: the tag, which nobody else has
 *
 * Context: any: an RCU callback.
 */
void oae_tag_free(struct oae_tag *tag)
{
	oae_places_free(tag);
	kfree(tag->paths);
	oae_region_free(tag);
	oae_users_free(tag);
}

/*
 * Is somebody about to open a tag's link? Whoever has not done it within a while does not do it.
 */
bool oae_tag_opening(const struct oae_tag *tag)
{
	return !READ_ONCE(tag->dead) &&
	       oae_opening_still(READ_ONCE(tag->opening), jiffies, msecs_to_jiffies(OPENING_MS));
}

/**
 * oae_tag_gave_up() - whoever was about to open a tag's link does not do so
 * @tag: the tag; nothing happens if its link is not CLOSED
 *
 * (Else a SYNC from elsewhere is put off for nothing.)
 *
 * Context: any.
 */
void oae_tag_gave_up(struct oae_tag *tag)
{
	if (oae_link_closed(&tag->link))
		WRITE_ONCE(tag->opening, 0);
}

/**
 * oae_tag_not_opened() - a tag was made to open its link, which is not done after all
 * @tag: the tag; it goes, unless it has a link or something else keeps it
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_not_opened(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_accept() - open a link for an admitted peer (protocol 4.6)
 * @tag: the peer's tag, its link CLOSED; nothing is opened if it is dead
 * @sync: the peer's SYNC
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_tag_accept(struct oae_tag *tag, const struct oae_frame *sync)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	if (!tag->dead) {
		if (oae_link_closed(&tag->link)) {
			tag->used = oae_tag_attached(tag);
			tag->accepted = jiffies;
			tag->by_peer = true;
			tag->unheard = true;
		}
		oae_tag_begin(tag, &ev, sync->flags & OAE_F_VIA);
		oae_link_accept(&tag->link, sync, oae_inbox_free(tag), ev.now, &ev.a);
	}
	oae_run_log(tag, &ev, OAE_EV_FRAME, sync->opcode, sync->seq);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_want() - open a tag's link, and keep it asking when it is down
 * @tag: the tag, which is not a stranger's any more
 *
 * A link that is closing is opened again when it is CLOSED.
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: 0; -ESTALE the tag is dead; -ESHUTDOWN the node is shut.
 */
int oae_tag_want(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;
	int err = 0;

	oae_run_enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (READ_ONCE(tag->node->knobs.shut)) {
		err = -ESHUTDOWN;
	} else {
		tag->used = true;
		oae_share_own(tag);
		if (oae_link_closed(&tag->link)) {
			oae_tag_open(tag, &ev);
			oae_run_log(tag, &ev, OAE_EV_POST, 0,
				    oae_link_tx(&tag->link) + 1);
		}
		oae_link_want(&tag->link, true);
		tag->reopen = oae_link_closing(&tag->link);
	}
	oae_tag_gave_up(tag);
	oae_run_leave(tag, &ev);
	return err;
}

/* True: nobody is attached. One event at a time has room on the stack. */
static noinline_for_stack bool life_unwant(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;
	bool attached;

	oae_run_enter(tag, &ev);
	oae_link_want(&tag->link, false);
	tag->reopen = false;
	attached = oae_tag_attached(tag);
	oae_run_leave(tag, &ev);
	return !attached;
}

/**
 * oae_tag_unwant() - let a link that is down end like any other
 * @tag: the tag, perhaps dead
 * @close: close the link as well, unless a file is attached
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_unwant(struct oae_tag *tag, bool close)
{
	if (life_unwant(tag) && close)
		oae_tag_close(tag);
}

/**
 * oae_tag_met() - has the peer of a tag's link ever answered?
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: true if so.
 */
bool oae_tag_met(struct oae_tag *tag)
{
	struct oae_link_mark mark;

	oae_tag_lock(tag);
	oae_link_mark(&tag->link, &mark);
	oae_tag_unlock(tag);
	return mark.peer_inc;
}

/**
 * oae_tag_by_peer() - has the peer opened a tag's link?
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes tag->lock.
 *
 * Return: true if so, whoever uses it now.
 */
bool oae_tag_by_peer(struct oae_tag *tag)
{
	bool by_peer;

	oae_tag_lock(tag);
	by_peer = tag->by_peer;
	oae_tag_unlock(tag);
	return by_peer;
}

/**
 * oae_tag_close() - begin to close a tag's link (protocol 4.7)
 * @tag: the tag
 *
 * Transactions in flight end first.
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_close(struct oae_tag *tag)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	oae_link_close(&tag->link, ev.now, &ev.a);
	tag->reopen = false;
	/* If the node is shut, wake writers that wait for room, even if CLOSED. */
	oae_attach_shut(tag);
	ev.wake_writer = true;
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_kill() - end a tag's link at once and remove the tag from the table
 * @tag: the tag, to which the caller has a reference
 * @err: error for the writers of reversed transactions, positive errno
 *
 * Unread transactions stay readable. The caller may hold RTNL.
 *
 * Context: process, may sleep; takes tag->lock.
 */
void oae_tag_kill(struct oae_tag *tag, long err)
{
	struct oae_run ev oae_uninit;
	bool more;

	oae_run_enter(tag, &ev);
	oae_waits_mark(tag);
	oae_link_kill(&tag->link, err, ev.now, &ev.a);
	oae_run_apply(tag, &ev);
	oae_queue_flush(tag, err);
	oae_tag_retire(tag, true);
	oae_run_leave(tag, &ev);
	/* A dead tag takes no messages, so this ends. */
	do {
		cond_resched();
		oae_run_enter(tag, &ev);
		more = !list_empty(&tag->flushq);
		oae_run_leave(tag, &ev);
	} while (more);
}

/**
 * oae_tag_drop_unread() - drop all unread transactions of a tag, and count them
 * @tag: the tag
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_drop_unread(struct oae_tag *tag)
{
	struct sk_buff_head lost;
	struct oae_run ev oae_uninit;

	__skb_queue_head_init(&lost);
	oae_run_enter(tag, &ev);
	oae_count_n(tag->node, OAE_S_UNREAD_LOST, oae_inbox_drop(tag, &lost));
	oae_run_leave(tag, &ev);
	__skb_queue_purge(&lost);
}

/*
 * Free a tag's place for another one (protocol 4.6), if the reason still holds. A dead tag loses
 * its unread transactions. A tag whose link is CLOSED or down dies; what a link that is down
 * holds or has in doubt is lost, and counted.
 */
static void life_give_way(struct oae_tag *tag, enum oae_spare spare)
{
	struct sk_buff_head lost;
	struct oae_run ev oae_uninit;

	__skb_queue_head_init(&lost);
	oae_run_enter(tag, &ev);
	if (tag->spare != spare) {
		;
	} else if (spare == OAE_SPARE_DEAD) {
		oae_count_n(tag->node, OAE_S_UNREAD_LOST,
			    oae_inbox_drop(tag, &lost));
	} else {
		oae_count(tag->node, OAE_S_GAVE_WAY);
		oae_waits_mark(tag);
		oae_link_kill(&tag->link, OAE_E_DOWN, ev.now, &ev.a);
		oae_run_apply(tag, &ev);
		oae_queue_flush(tag, OAE_E_DOWN);
		oae_tag_retire(tag, true);
	}
	oae_run_leave(tag, &ev);
	__skb_queue_purge(&lost);
}

/* The first tag of a list gives way, if it has been there for @age ns. */
static bool share_give_way(struct oae_node *node, enum oae_spare spare, u64 age)
{
	struct oae_tag *tag;

	spin_lock_bh(&node->spare_lock);
	tag = list_first_entry_or_null(&node->spare[spare], struct oae_tag,
				       yield);
	if (tag && ((u32)jiffies - tag->spare_since < nsecs_to_jiffies(age) ||
		    !refcount_inc_not_zero(&tag->ref)))
		tag = NULL;
	spin_unlock_bh(&node->spare_lock);
	if (!tag)
		return false;
	life_give_way(tag, spare);
	oae_tag_put(tag);
	return true;
}

/*
 * Make a tag give way to one that oae_tag_add() had no place for, with @err. True: it is worth
 * another try.
 */
bool oae_share_make_room(struct oae_node *node, int err)
{
	unsigned int dead_ms = READ_ONCE(node->knobs.dead_ms);
	unsigned int doubt_s = READ_ONCE(node->knobs.doubt_s);
	enum oae_spare spare;
	u64 ms;

	for (spare = OAE_SPARE_DEAD; spare < OAE_SPARE_END; spare++)
		if (oae_share_yields(spare, err, dead_ms, doubt_s, &ms) &&
		    share_give_way(node, spare, ms * NSEC_PER_MSEC))
			return true;
	return false;
}

/**
 * oae_tag_settle() - settle before the port's address changes (protocol 4.5)
 * @tag: the tag
 * @ns: time without new offers and holds, unless the address changes earlier, ns
 *
 * A link that is down cannot settle and does not try. The port counts the tags
 * with something in doubt in nsettling; node->tags_wait is woken for each tag
 * that has settled.
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_settle(struct oae_tag *tag, long ns)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	if (!oae_link_down(&tag->link) && !oae_link_closed(&tag->link)) {
		oae_link_settle(&tag->link, ev.now + ns, ev.now, &ev.a);
		/* The waiter is woken for each that is counted. */
		if (!tag->settling && oae_link_settling(&tag->link)) {
			tag->settling = true;
			atomic_inc(&tag->key.port->nsettling);
		}
	}
	oae_run_leave(tag, &ev);
}

/* Does the tag hear of its own port? It has been told, or is about to be, that this goes. */
static bool life_is_own(const struct oae_tag *tag, const struct oae_port *port)
{
	/* Only under the lock a tag has one port: oae_tag_rekey(). */
	return tag->key.port == port && !READ_ONCE(port->removed);
}

/* The paths by a port that has changed, the own one as well. */
static void life_port_paths(struct oae_tag *tag, struct oae_run *ev, struct oae_port *port)
{
	if (tag->paths && !tag->dead && (tag->key.port != port || life_is_own(tag, port)))
		oae_path_port_event(tag, ev, port);
}

/**
 * oae_tag_port() - a port went up or down, or is being removed (protocol 4.5)
 * @tag: the tag; nothing happens if it has no path by the port
 * @arg: the port; if it is removed, and the tag's own, nothing happens either
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_port(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	life_port_paths(tag, &ev, port);
	if (!tag->paths && life_is_own(tag, port)) {
		if (READ_ONCE(port->up))
			oae_link_port_up(&tag->link, ev.now, &ev.a);
		else
			oae_link_port_down(&tag->link, ev.now, &ev.a);
	}
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_port_mtu() - a port has another MTU (protocol 4.5)
 * @tag: the tag; nothing happens if it has no path by the port
 * @arg: the port
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_port_mtu(struct oae_tag *tag, long arg)
{
	struct oae_port *port = (struct oae_port *)arg;
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	life_port_paths(tag, &ev, port);
	if (life_is_own(tag, port) && READ_ONCE(port->mtu) >= OAE_MIN_MTU &&
	    !oae_path_elsewhere(tag))
		oae_tag_way_update(tag, &ev);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_about() - find the MTU of the tag's way anew (protocol 4.8)
 * @tag: the tag
 * @about: from the gateway's HELLO ABOUT
 *
 * Context: any but hard interrupts; takes tag->lock.
 */
void oae_tag_about(struct oae_tag *tag, const struct oae_about *about)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	tag->way.about = *about;
	if (!oae_path_elsewhere(tag))
		oae_tag_way_update(tag, &ev);
	oae_run_leave(tag, &ev);
}

static void doubt_leave(struct oae_tag *tag, struct oae_port *port)
{
	struct oae_run ev oae_uninit;

	oae_run_enter(tag, &ev);
	/* It may go by another port by now, or be listed for what is over. */
	if (tag->doubt_at == port && oae_link_in_doubt(&tag->link))
		oae_link_leave(&tag->link, ev.now + OAE_DOUBT_LEAVE_NS, ev.now, &ev.a);
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
