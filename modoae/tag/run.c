// SPDX-License-Identifier: GPL-2.0
/*
 * Events: stepping a tag's link, and carrying its ops out. What happens is a frame,
 * the timer, a post, a cancel, room, here; what becomes of the link as a whole is
 * life.c's.
 *
 * Every event goes the same way: under the tag's lock the link is stepped and
 * its ops are applied; the lock is dropped; whoever waits is told; its frames
 * are sent. BH is off and RCU held from the first to the last of these, so a
 * port or a tag that goes away meanwhile is not freed under it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "event.h"

#include <linux/sched/clock.h>
#include <net/dst.h>
#include <net/xfrm.h>

#define STEP_TIMER_NS	(100 * NSEC_PER_MSEC)	/* timers while stepping */
#define OAE_UNUSED_DEAD	8	/* dead times until an unused link is closed */
#define MORE_NS		(10 * NSEC_PER_USEC)	/* until what is left over */

static void run_discard_slots(struct oae_tag *tag)
{
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		kfree_skb(tag->slot[i]);
		tag->slot[i] = NULL;
	}
}

/* Keep the payload that came in; nothing else of the skb is needed. */
static struct sk_buff *run_keep(struct oae_run *ev, unsigned int hdr_len)
{
	struct sk_buff *skb = ev->skb;

	ev->skb = NULL;
	skb_pull(skb, hdr_len);
	skb_orphan(skb);
	skb_dst_drop(skb);
	secpath_reset(skb);
	nf_reset_ct(skb);
	skb->dev = NULL;
	return skb;
}

/* What a swap or a verb yields; the message ends with this event. */
static void run_set_result(struct oae_msg *msg, struct sk_buff *skb)
{
	kfree_skb(msg->result);
	msg->result = skb;
}

/* The verb that has come is held, or refused. */
static void run_compute_verb(struct oae_tag *tag, struct oae_run *ev)
{
	u16 reason, reply = 0;
	bool again;

	reason = oae_region_compute(tag, &reply, &again);
	oae_link_computed(&tag->link, reason, reply, ev->now, &ev->a);
	if (again)
		oae_link_drained(&tag->link, ev->now, &ev->a);
}

static void run_apply_op(struct oae_tag *tag, struct oae_run *ev,
			 const struct oae_op *op, unsigned int hdr_len)
{
	struct oae_msg *msg = op->handle;

	switch (op->type) {
	case OAE_OP_NOTE:
		oae_tell_note(tag, ev, op->note);
		break;
	case OAE_OP_KEEP:
		tag->slot[op->slice] = run_keep(ev, hdr_len);
		break;
	case OAE_OP_DISCARD:
		oae_region_decided(tag, false, &ev->wake);
		run_discard_slots(tag);
		break;
	case OAE_OP_VERB:
		run_compute_verb(tag, ev);
		break;
	case OAE_OP_APPLY:
		tag->used = true;
		oae_region_decided(tag, true, &ev->wake);
		run_discard_slots(tag);
		break;
	case OAE_OP_TAKE:
		run_set_result(msg, tag->slot[0]);
		tag->slot[0] = NULL;
		break;
	case OAE_OP_RESULT:
		run_set_result(msg, run_keep(ev, hdr_len + OAE_REFLECT_LEN));
		break;
	case OAE_OP_DELIVER:
		oae_unread_add(tag, op->slice);
		ev->wake_reader = true;
		break;
	case OAE_OP_COMPLETE:
		oae_tell_ended(tag, ev, msg, op->outcome, op->err);
		break;
	case OAE_OP_CONFIRMED:
		ev->wake_writer = true;
		break;
	case OAE_OP_RESLICE:
		oae_msg_slice(msg, msg->post.kind == OAE_MESSAGE ?
				   oae_link_cut(&tag->link, msg->post.len) :
				   oae_link_slice_max(&tag->link));
		oae_link_resliced(&tag->link, &msg->post, ev->now, &ev->a);
		break;
	case OAE_OP_TIMER:
		/*
		 * A little later, lest it fire before the link's time. That may
		 * be ahead of this clock, by which the timer counts.
		 */
		hrtimer_start(&tag->timer,
			      ns_to_ktime(op->at - ev->now + NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
		break;
	case OAE_OP_FLUSH:
		oae_queue_flush(tag, op->err);
		break;
	case OAE_OP_GONE:
		ev->wake_writer = true;
		break;
	}
}

/* Apply the ops so far; one may lead to more. */
static void run_apply(struct oae_tag *tag, struct oae_run *ev, unsigned int hdr_len)
{
	struct oae_op op;
	unsigned int i;

	for (i = 0; i < ev->a.nops; i++) {
		op = ev->a.op[i];
		run_apply_op(tag, ev, &op, hdr_len);
	}
	ev->a.nops = 0;
}

static void run_feed_one(struct oae_tag *tag, struct oae_run *ev,
			 struct list_head *queue)
{
	struct oae_msg *msg = list_first_entry(queue, struct oae_msg, list);
	int err;

	oae_queue_del(tag, ev, msg);
	err = oae_link_post(&tag->link, &msg->post, ev->now, &ev->a);
	if (err)
		oae_tell_ended(tag, ev, msg, OAE_REVERSED, -err);
	run_apply(tag, ev, 0);
}

/* The queue that the link has room for the first of, or NULL. */
static struct list_head *run_wanted(struct oae_tag *tag)
{
	if (!list_empty(&tag->sndq) && oae_link_wants(&tag->link))
		return &tag->sndq;
	if (!list_empty(&tag->halfq) && oae_link_wants_half(&tag->link))
		return &tag->halfq;
	return NULL;
}

/*
 * Give the link what it has room for, and reverse what is to be. It may refuse
 * one after the other, and much may be queued: a few now, the others when the
 * timer fires, after others have had their turn.
 */
static void run_feed(struct oae_tag *tag, struct oae_run *ev)
{
	struct list_head *queue;
	unsigned int n;

	if (unlikely(!list_empty(&tag->flushq)))
		oae_queue_flush_some(tag, ev);
	for (n = 0; n < OAE_BATCH && (queue = run_wanted(tag)); n++)
		run_feed_one(tag, ev, queue);
	if (unlikely(n == OAE_BATCH || !list_empty(&tag->flushq)) && !tag->dead)
		hrtimer_start(&tag->timer, ns_to_ktime(MORE_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/* The ways from the tag's port may have changed since its last event. */
static noinline void run_refresh_way(struct oae_tag *tag, struct oae_run *ev)
{
	oae_path_update(tag, ev->now, &ev->a);
	run_apply(tag, ev, 0);
	ev->via = tag->way.via;
}

/* An event begins. The caller has BH off, and RCU. */
static __always_inline void run_begin(struct oae_tag *tag, struct oae_run *ev)
	__acquires(&tag->lock)
{
	spin_lock(&tag->lock);
	ev->a.nops = 0;
	ev->a.nsends = 0;
	ev->a.overflow = false;
	ev->now = local_clock();
	oae_link_use(&tag->link,
		     rcu_dereference_check(tag->node->cfg,
					   rcu_read_lock_bh_held()));
	ev->skb = NULL;
	INIT_LIST_HEAD(&ev->done);
	INIT_LIST_HEAD(&ev->wake);
	ev->reply = NULL;
	ev->before = oae_link_state(&tag->link);
	ev->wake_reader = false;
	ev->wake_writer = false;
	ev->via = tag->way.via;
	if (unlikely(tag->way.gen != READ_ONCE(tag->key.port->gw.gen)))
		run_refresh_way(tag, ev);
}

/* Somebody waits until what is committed is confirmed. */
static noinline void run_confirm(struct oae_tag *tag, struct oae_run *ev)
{
	oae_link_confirm(&tag->link, ev->now, &ev->a);
	run_apply(tag, ev, 0);
	ev->wake_writer = true;
}

/* True: nothing of it is in doubt any more, or it gave up, and is not counted. */
static noinline bool run_settle_end(struct oae_tag *tag)
{
	if (oae_link_settling(&tag->link))
		return false;
	tag->settling = false;
	atomic_dec(&tag->key.port->nsettling);
	return true;
}

/* The link has opened, or closed: for who waits until all have. */
static noinline void run_count_open(struct oae_tag *tag, bool open)
{
	int n = open ? 1 : -1;

	tag->open = open;
	atomic_add(n, &tag->key.port->nopen);
	atomic_add(n, &tag->node->nopen);
}

static void run_wake_verbs(struct list_head *tags);

/* The event's consequences; the lock is dropped. */
static void run_end(struct oae_tag *tag, struct oae_run *ev, unsigned int hdr_len)
	__releases(&tag->lock)
{
	struct oae_node *node = tag->node;
	enum oae_state after;
	unsigned int i;
	bool gone, open, settled;

	run_apply(tag, ev, hdr_len);
	run_feed(tag, ev);
	if (unlikely(tag->nconfirm))
		run_confirm(tag, ev);
	WARN_ON_ONCE(ev->a.overflow);

	after = oae_link_state(&tag->link);
	for (i = 0; i < ev->a.nsends; i++) {
		const struct oae_send *send = &ev->a.send[i];

		oae_out_keep(tag, ev, send);
		oae_evlog_add(node, ev->now, tag->key.kid, OAE_EV_SEND,
			      send->frame.opcode, ev->before, after,
			      send->frame.seq);
	}
	gone = after == OAE_CLOSED && ev->before != OAE_CLOSED;
	open = !oae_link_closed(&tag->link);
	if (unlikely(tag->open != open))
		run_count_open(tag, open);
	if (unlikely(after < OAE_OPEN))
		oae_way_asked(&tag->way, &ev->a);
	if (unlikely(!open || oae_link_down(&tag->link) || tag->spare)) {
		oae_tag_retire(tag, false);
		oae_share_sort(tag);
	}
	settled = unlikely(tag->settling) && run_settle_end(tag);
	spin_unlock(&tag->lock);

	/* Who is woken on another processor starts while the frames are made. */
	oae_tell_all(tag, ev);
	if (ev->a.nsends)
		oae_out_send(tag, ev);
	if (gone || settled)
		wake_up(&node->tags_wait);
	if (unlikely(!list_empty(&ev->wake)))
		run_wake_verbs(&ev->wake);
}

/**
 * oae_run_enter() - an event begins that does not come in softirq
 * @tag: the tag
 * @ev: filled in
 *
 * Context: any but hard interrupts, no lock held; after this tag->lock is.
 */
void oae_run_enter(struct oae_tag *tag, struct oae_run *ev)
	__acquires(RCU_BH) __acquires(&tag->lock)
{
	rcu_read_lock_bh();
	run_begin(tag, ev);
}

/**
 * oae_run_leave() - an event is complete: its consequences
 * @tag: the tag, locked by oae_run_enter(), and unlocked here
 * @ev: the event
 */
void oae_run_leave(struct oae_tag *tag, struct oae_run *ev)
	__releases(&tag->lock) __releases(RCU_BH)
{
	run_end(tag, ev, 0);
	rcu_read_unlock_bh();
}

/* Words are free that the peers of these tags were refused for. */
static void run_wake_verbs(struct list_head *tags)
{
	struct oae_tag *tag, *next;
	struct oae_run ev;

	list_for_each_entry_safe(tag, next, tags, wake) {
		run_begin(tag, &ev);
		/* From here on it may be listed again. */
		list_del_init(&tag->wake);
		oae_link_drained(&tag->link, ev.now, &ev.a);
		run_end(tag, &ev, 0);
		oae_tag_put(tag);
	}
}

/**
 * oae_run_apply() - apply the ops so far, before the link gets another event
 * @tag: the tag, locked
 * @ev: the event, of no frame
 */
void oae_run_apply(struct oae_tag *tag, struct oae_run *ev)
{
	run_apply(tag, ev, 0);
}

static void run_log_event(struct oae_tag *tag, struct oae_run *ev,
			  enum oae_ev_kind kind, u8 what, u32 seq)
{
	oae_evlog_add(tag->node, ev->now, tag->key.kid, kind, what, ev->before,
		      oae_link_state(&tag->link), seq);
}

/**
 * oae_run_log() - log an event that no frame began
 * @tag: the tag, locked
 * @ev: the event
 * @kind: what; of the next transaction, if of any
 */
void oae_run_log(struct oae_tag *tag, struct oae_run *ev,
		 enum oae_ev_kind kind)
{
	run_log_event(tag, ev, kind, 0, oae_link_tx(&tag->link) + 1);
}

/**
 * oae_run_log_frame() - log a frame that is an event
 * @tag: the tag, locked
 * @ev: the event
 * @f: the frame
 */
void oae_run_log_frame(struct oae_tag *tag, struct oae_run *ev,
		       const struct oae_frame *f)
{
	run_log_event(tag, ev, OAE_EV_FRAME, f->opcode, f->seq);
}

/*
 * Which way a frame came may say which way to go (protocol 4.8). False: it came
 * from where the peer is not.
 */
static noinline bool run_unusual(struct oae_tag *tag, struct oae_run *ev,
				 const struct oae_frame *f)
{
	enum oae_go go = oae_path_heard(tag, f, ev->now, &ev->a);

	ev->via = go == OAE_GO_VIA;
	run_apply(tag, ev, 0);
	return go != OAE_GO_NOWHERE;
}

/*
 * The peer was refused, perhaps for want of room. A reader that made some just now
 * has not seen that it waits: look again.
 */
static noinline void run_refused(struct oae_tag *tag, struct oae_run *ev,
				 unsigned int hdr_len)
{
	if (!oae_link_owes_ready(&tag->link))
		return;
	run_apply(tag, ev, hdr_len);
	/* Pairs with the one in queue_made_room(). */
	smp_mb();
	oae_run_room(tag, ev);
}

/**
 * oae_tag_rcv() - a frame for a tag
 * @tag: the tag
 * @skb: the frame, data at the base header; consumed
 * @f: what it says
 *
 * Context: softirq, RCU read lock held, no other lock.
 */
void oae_tag_rcv(struct oae_tag *tag, struct sk_buff *skb,
		 const struct oae_frame *f)
{
	struct oae_run ev;
	bool room;

	run_begin(tag, &ev);
	ev.skb = skb;
	room = oae_unread_room(tag);
	if (likely(oae_way_is_usual(&tag->way, f)) ||
	    run_unusual(tag, &ev, f))
		oae_link_rcv(&tag->link, f, room, ev.now, &ev.a);
	if (unlikely(!room))
		run_refused(tag, &ev, f->hdr_len);
	oae_run_log_frame(tag, &ev, f);
	run_end(tag, &ev, f->hdr_len);
	consume_skb(ev.skb);
}

/**
 * oae_run_cancel() - reverse a message that the link has
 * @tag: the tag, locked
 * @ev: the event
 * @msg: the message
 * @err: what its writer is told, positive errno
 *
 * Return: see oae_link_cancel().
 */
int oae_run_cancel(struct oae_tag *tag, struct oae_run *ev,
		   struct oae_msg *msg, int err)
{
	return oae_link_cancel(&tag->link, msg, err, ev->now, &ev->a);
}

/**
 * oae_run_room() - something was read
 * @tag: the tag, locked
 * @ev: the event
 */
void oae_run_room(struct oae_tag *tag, struct oae_run *ev)
{
	if (oae_unread_room(tag))
		oae_link_drained(&tag->link, ev->now, &ev->a);
}

/*
 * A link that the peer has opened and that nobody has used, or is about to: it
 * may be that neither end wanted it (protocol 4.4).
 */
static void run_close_unused(struct oae_tag *tag, struct oae_run *ev)
{
	u64 dead = READ_ONCE(tag->node->knobs.dead_ms) * (u64)NSEC_PER_MSEC;
	s64 age = ev->now - tag->accepted;

	if (likely(tag->used) || !tag->by_peer ||
	    age < (s64)(OAE_UNUSED_DEAD * dead) ||
	    !oae_link_idle(&tag->link) || READ_ONCE(tag->nrcv))
		return;
	oae_count(tag->node, OAE_S_NEVER_USED);
	run_apply(tag, ev, 0);
	oae_link_close(&tag->link, ev->now, &ev->a);
}

/**
 * oae_tag_timer() - the timer of a tag's link fired
 * @timer: of the tag
 *
 * Context: softirq, no lock held.
 *
 * Return: HRTIMER_NORESTART: the link arms it anew.
 */
enum hrtimer_restart oae_tag_timer(struct hrtimer *timer)
{
	struct oae_tag *tag = container_of(timer, struct oae_tag, timer);
	struct oae_run ev;

	/* A soft timer: BH is off, but that is not RCU to every kernel. */
	rcu_read_lock();
	run_begin(tag, &ev);
	if (tag->dead) {
		;
	} else if (READ_ONCE(tag->node->step)) {
		/* Whoever single-steps is slow: that is no failure. */
		hrtimer_start(timer, ns_to_ktime(STEP_TIMER_NS),
			      HRTIMER_MODE_REL_SOFT);
	} else if (oae_link_early(&tag->link, ev.now)) {
		/* It fired for what was left over. */
		hrtimer_start(timer, ns_to_ktime(oae_link_timer_at(&tag->link) -
						 ev.now + NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	} else {
		oae_path_timer(tag, ev.now, &ev.a);
		ev.via = tag->way.via;
		oae_link_timer(&tag->link, ev.now, &ev.a);
		run_close_unused(tag, &ev);
		if (ev.a.nsends)
			oae_run_log(tag, &ev, OAE_EV_TIMER);
	}
	run_end(tag, &ev, 0);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}
