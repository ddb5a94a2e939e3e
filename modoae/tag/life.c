// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a tag's link, as others decide it: opened from here or by the peer,
 * closed, killed; and what becomes of its port.
 */
#include "event.h"

#include <linux/etherdevice.h>

/* Of two crossing swaps, that of the higher address stands. */
static void life_rank(struct oae_tag *tag)
{
	u8 peer[ETH_ALEN];

	oae_kid_mac(tag->key.kid, peer);
	oae_link_rank(&tag->link, memcmp(tag->key.port->dev->dev_addr, peer,
					 ETH_ALEN) > 0);
}

/* A CLOSED link is about to open, and begins this way. */
static void life_start(struct oae_tag *tag, struct oae_run *ev, bool via)
{
	if (!oae_link_closed(&tag->link))
		return;
	life_rank(tag);
	oae_link_set_mtu(&tag->link, oae_path_begin(tag, via), ev->now, &ev->a);
	ev->via = tag->way.via;
}

/**
 * oae_tag_open() - open a CLOSED link from here: it is not a stranger's any more
 * @tag: the tag, locked
 * @ev: the event
 */
void oae_tag_open(struct oae_tag *tag, struct oae_run *ev)
{
	oae_share_own(tag);
	life_start(tag, ev, false);
	oae_link_open(&tag->link, ev->now, &ev->a);
}

/**
 * oae_tag_accept() - open the link of an admitted stranger
 * @tag: its tag, the link CLOSED
 * @sync: its SYNC
 *
 * Context: softirq, RCU read lock held, no other lock.
 *
 * Return: 0; -ESTALE the tag is gone.
 */
int oae_tag_accept(struct oae_tag *tag, const struct oae_frame *sync)
{
	struct oae_run ev;
	int err = 0;

	oae_run_enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else {
		if (oae_link_closed(&tag->link)) {
			tag->used = !list_empty(&tag->files);
			tag->accepted = ev.now;
		}
		life_start(tag, &ev, sync->flags & OAE_F_VIA);
		tag->by_peer = true;
		tag->unheard = true;
		oae_link_accept(&tag->link, sync, ev.now, &ev.a);
	}
	oae_run_log_frame(tag, &ev, sync);
	oae_run_leave(tag, &ev);
	return err;
}

/**
 * oae_tag_close() - close a tag's link once what is in flight has ended
 * @tag: the tag
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_close(struct oae_tag *tag)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	oae_link_close(&tag->link, ev.now, &ev.a);
	/* If the node is shut, whoever waits for room is told, open or not. */
	oae_attach_shut(tag);
	ev.wake_writer = true;
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_kill() - end a tag now
 * @tag: the tag; out of the table afterwards. What is unread stays readable.
 * @err: what writers are told whose transactions are reversed, positive errno
 *
 * Context: process, may sleep, no lock held but RTNL; the caller has a reference.
 */
void oae_tag_kill(struct oae_tag *tag, int err)
{
	struct oae_run ev;
	bool more;

	oae_run_enter(tag, &ev);
	oae_link_kill(&tag->link, err, ev.now, &ev.a);
	oae_run_apply(tag, &ev);
	oae_queue_flush(tag, err);
	oae_tag_retire(tag, true);
	oae_run_leave(tag, &ev);
	/* Nothing is queued on the dead: so much, and no more. */
	do {
		cond_resched();
		oae_run_enter(tag, &ev);
		more = !list_empty(&tag->flushq);
		oae_run_leave(tag, &ev);
	} while (more);
}

/**
 * oae_tag_give_way() - a tag that another one needs the place of
 * @tag: the tag
 * @spare: why it may, when that was asked; nothing happens if it is not so now
 *
 * One that is dead loses what is unread. One that is CLOSED is dead after this,
 * and one that is down, too: what it held or had in doubt is lost and counted.
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_give_way(struct oae_tag *tag, enum oae_spare spare)
{
	struct sk_buff_head lost;
	struct oae_run ev;

	__skb_queue_head_init(&lost);
	oae_run_enter(tag, &ev);
	if (tag->spare != spare) {
		;
	} else if (spare == OAE_SPARE_DEAD) {
		oae_count_n(tag->node, OAE_S_UNREAD_LOST,
			    oae_unread_drop(tag, &lost));
	} else {
		oae_count(tag->node, OAE_S_GAVE_WAY);
		oae_link_kill(&tag->link, OAE_E_DOWN, ev.now, &ev.a);
		oae_run_apply(tag, &ev);
		oae_queue_flush(tag, OAE_E_DOWN);
		oae_tag_retire(tag, true);
	}
	oae_run_leave(tag, &ev);
	__skb_queue_purge(&lost);
}

/**
 * oae_tag_port_up() - the tag's port carries frames again
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_port_up(struct oae_tag *tag)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	oae_link_port_up(&tag->link, ev.now, &ev.a);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_port_down() - the tag's port carries no frames
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_port_down(struct oae_tag *tag)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	oae_link_port_down(&tag->link, ev.now, &ev.a);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_settle() - the tag's port is about to have another address
 * @tag: the tag
 * @ns: so long nothing new is offered or taken, unless the address changes
 *
 * A link that is down cannot settle and does not try. The port counts those that
 * still have something in doubt; node->tags_wait is woken when one has not.
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_settle(struct oae_tag *tag, u64 ns)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	if (!oae_link_down(&tag->link) && !oae_link_closed(&tag->link)) {
		oae_link_settle(&tag->link, ev.now + ns, ev.now, &ev.a);
		if (!tag->settling) {
			tag->settling = true;
			atomic_inc(&tag->key.port->nsettling);
		}
	}
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_renamed() - the tag's port has another address
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_renamed(struct oae_tag *tag)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	life_rank(tag);
	oae_link_renamed(&tag->link, ev.now, &ev.a);
	oae_run_leave(tag, &ev);
}

/**
 * oae_tag_way() - what the tag's way carries may have changed
 * @tag: the tag
 * @about: what the gateway said of it; NULL: the port has another MTU
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_way(struct oae_tag *tag, const struct oae_about *about)
{
	struct oae_run ev;

	oae_run_enter(tag, &ev);
	if (about)
		tag->way.about = *about;
	oae_path_update(tag, ev.now, &ev.a);
	ev.via = tag->way.via;
	oae_run_leave(tag, &ev);
}
