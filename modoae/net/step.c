// SPDX-License-Identifier: GPL-2.0
/*
 * Single-stepping: received frames wait in node->step_q until the user lets them
 * in, one step (node->knobs.step frames) at a time.
 */

#include <linux/rcupdate.h>
#include <linux/skbuff.h>

#include "net.h"

#define OAE_STEP_MAX	512	/* the most frames held in a node */

/* In skb->cb while a frame is in the queue. */
struct oae_step_cb {
	struct oae_port *port;	/* a reference */
	void (*rcv)(struct oae_port *port, struct sk_buff *skb);
};

static struct oae_step_cb *oae_step_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct oae_step_cb) > sizeof(skb->cb));
	return (struct oae_step_cb *)skb->cb;
}

/**
 * oae_step_hold() - hold a received frame, if the node is single-stepping
 * @port: the port that received the frame
 * @skb: the frame; consumed if true is returned
 * @rcv: called to let the frame in, with BH off, under rcu_read_lock(), the port
 *	not gone
 *
 * While held frames are being let in, new frames still queue behind them, so the
 * order is kept.
 *
 * Context: softirq, under rcu_read_lock(); takes step_q.lock.
 *
 * Return: true if the frame was taken: held, or dropped and counted.
 */
bool oae_step_hold(struct oae_port *port, struct sk_buff *skb,
		   void (*rcv)(struct oae_port *port, struct sk_buff *skb))
{
	struct oae_node *node = port->node;
	struct sk_buff_head *q = &node->step_q;
	bool hold, room;

	if (!READ_ONCE(node->knobs.step))
		return false;

	spin_lock_bh(&q->lock);
	hold = node->knobs.step != 0;
	room = skb_queue_len(q) < OAE_STEP_MAX;
	if (hold && room) {
		oae_step_cb(skb)->port = oae_port_get(port);
		oae_step_cb(skb)->rcv = rcv;
		__skb_queue_tail(q, skb);
	}
	spin_unlock_bh(&q->lock);

	if (hold && !room) {
		oae_count(node, OAE_S_STEP_DROP);
		kfree_skb(skb);
	}
	return hold;
}

/* Let the oldest frame in. False: there is none. */
static bool oae_step_feed(struct oae_node *node)
{
	struct oae_port *port;
	struct sk_buff *skb;

	local_bh_disable();
	rcu_read_lock();	/* before reading `gone`: see struct oae_port */
	spin_lock(&node->step_q.lock);
	skb = __skb_dequeue(&node->step_q);
	spin_unlock(&node->step_q.lock);
	if (skb) {
		port = oae_step_cb(skb)->port;
		if (READ_ONCE(port->gone))
			kfree_skb(skb);
		else
			oae_step_cb(skb)->rcv(port, skb);
		oae_port_put(port);
	}
	rcu_read_unlock();
	local_bh_enable();
	return skb;
}

/* Stop single-stepping, if nothing is held any more or @force. */
static bool oae_step_run(struct oae_node *node, bool force)
{
	bool done;

	spin_lock_bh(&node->step_q.lock);
	done = force || skb_queue_empty(&node->step_q);
	if (done)
		WRITE_ONCE(node->knobs.step, 0);
	spin_unlock_bh(&node->step_q.lock);
	return done;
}

/**
 * oae_step_set() - set the step size
 * @node: the node
 * @step: frames a step; 0 lets in all held frames, in order, then runs freely
 *
 * Context: process, may sleep; under node->knob_lock.
 */
void oae_step_set(struct oae_node *node, int step)
{
	unsigned int fed = 0;

	if (step) {
		WRITE_ONCE(node->knobs.step, step);
		return;
	}
	/* Bounded, since frames may arrive as fast as they are let in. */
	while (!oae_step_run(node, fed >= 4 * OAE_STEP_MAX)) {
		oae_step_feed(node);
		fed++;
		cond_resched();
	}
	while (oae_step_feed(node))
		cond_resched();
}

/**
 * oae_step_once() - let the frames of one step in
 * @node: the node
 *
 * Context: process, may sleep; under node->knob_lock.
 */
void oae_step_once(struct oae_node *node)
{
	int n = READ_ONCE(node->knobs.step);

	while (n-- > 0 && oae_step_feed(node))
		cond_resched();
}

/**
 * oae_step_purge() - drop held frames
 * @node: the node
 * @port: drop those of this port, which receives no more frames; NULL all
 *
 * Context: process; takes step_q.lock.
 */
void oae_step_purge(struct oae_node *node, const struct oae_port *port)
{
	struct sk_buff *skb, *next;
	struct sk_buff_head drop;

	__skb_queue_head_init(&drop);
	spin_lock_bh(&node->step_q.lock);
	skb_queue_walk_safe(&node->step_q, skb, next) {
		if (port && oae_step_cb(skb)->port != port)
			continue;
		__skb_unlink(skb, &node->step_q);
		__skb_queue_tail(&drop, skb);
	}
	spin_unlock_bh(&node->step_q.lock);

	while ((skb = __skb_dequeue(&drop)) != NULL) {
		oae_port_put(oae_step_cb(skb)->port);
		kfree_skb(skb);
	}
}
