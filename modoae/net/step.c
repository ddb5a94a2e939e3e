// SPDX-License-Identifier: GPL-2.0
/*
 * Single-stepping: frames received wait in node->step_q for the user to let
 * them in, one step (node->step frames) at a time.
 */

#include <linux/rcupdate.h>
#include <linux/skbuff.h>

#include "net.h"

#define OAE_STEP_MAX	512	/* frames held a node */

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
 * oae_step_hold() - hold a frame just received, if the node is single-stepping
 * @port: where it came in
 * @skb: the frame; the step queue's if true is returned
 * @rcv: what lets the frame in when its step has come; in softirq's place, with
 *	BH off and RCU held, and the port not gone
 *
 * Context: softirq, under rcu_read_lock(). While held frames are let go, new ones still
 * queue up behind them, so that none overtakes.
 *
 * Return: true when the frame was taken: held, or dropped and counted.
 */
bool oae_step_hold(struct oae_port *port, struct sk_buff *skb,
		   void (*rcv)(struct oae_port *port, struct sk_buff *skb))
{
	struct oae_node *node = port->node;
	struct sk_buff_head *q = &node->step_q;
	bool hold, room;

	if (!READ_ONCE(node->step))
		return false;

	spin_lock_bh(&q->lock);
	hold = node->step != 0;
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

/* Let the oldest frame in; false when there is none. */
static bool oae_step_feed(struct oae_node *node)
{
	struct oae_port *port;
	struct sk_buff *skb;

	local_bh_disable();
	rcu_read_lock();	/* before the look at `gone`, see netdev.c */
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

/* Run freely from now on, if nothing is held any more or @force. */
static bool oae_step_run(struct oae_node *node, bool force)
{
	bool done;

	spin_lock_bh(&node->step_q.lock);
	done = force || skb_queue_empty(&node->step_q);
	if (done)
		WRITE_ONCE(node->step, 0);
	spin_unlock_bh(&node->step_q.lock);
	return done;
}

/**
 * oae_step_set() - set the step size
 * @node: whose
 * @step: frames a step; 0 lets in all that is held, in order, then runs freely
 *
 * Context: process, may sleep; under kernel_param_lock.
 */
void oae_step_set(struct oae_node *node, int step)
{
	unsigned int fed = 0;

	if (step) {
		WRITE_ONCE(node->step, step);
		return;
	}
	/* Frames may come as fast as they are let in: not for ever. */
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
 * @node: whose
 *
 * Context: process, may sleep; under kernel_param_lock.
 */
void oae_step_once(struct oae_node *node)
{
	int n = READ_ONCE(node->step);

	while (n-- > 0 && oae_step_feed(node))
		cond_resched();
}

/**
 * oae_step_purge() - drop the frames held
 * @node: whose
 * @port: of this port, or NULL for all
 *
 * Context: process. For @port, no frame may come in any more.
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
