// SPDX-License-Identifier: GPL-2.0
/*
 * Events: stepping a tag's link, and carrying out its ops. The events here are a
 * frame, the timer, a post, a cancel and room for the reader; those that open, close
 * or kill a link are in life.c.
 *
 * Every event has the same steps. Under tag->lock the link is stepped and its ops
 * are applied. Then the lock is dropped, the frames are sent, and sleepers are
 * woken. BH is off and the RCU read lock held from the first step to the last, so a
 * port or a tag that is removed meanwhile is not freed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "path.h"
#include "ring.h"

#include <linux/sched/clock.h>
#include <net/dst.h>
#include <net/xfrm.h>

#define STEP_TIMER_NS	(100 * NSEC_PER_MSEC)	/* timers while stepping */
#define OAE_UNUSED_DEAD	8	/* dead times until an unused link is closed */
#define MORE_NS		(10 * NSEC_PER_USEC)	/* until the next OAE_BATCH */

/* Take the received skb for its payload behind @body, and drop what else it refers to. */
static struct sk_buff *run_keep(struct oae_run *ev, unsigned int body)
{
	struct sk_buff *skb = ev->skb;

	ev->skb = NULL;
	skb_pull(skb, ev->hdr_len + body);
	skb_orphan(skb);
	skb_dst_drop(skb);
	secpath_reset(skb);
	nf_reset_ct(skb);
	skb->dev = NULL;
	return skb;
}

/* Set the result of a swap or a verb, which ends with this event. */
static void run_set_result(struct oae_msg *msg, struct sk_buff *skb)
{
	kfree_skb(msg->result);
	msg->result = skb;
	msg->result_at = OAE_ANSWER_HDR_LEN;
}

static void run_discard_slots(struct oae_tag *tag, u32 seq)
{
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	unsigned int i, n = oae_tag_nslots(tag);

	for (i = 0; i < n; i++) {
		if (!slot[i])
			continue;
		tag->kept--;
		kfree_skb(slot[i]);
		slot[i] = NULL;
	}
}

/* Keep this frame's payload as a slice. */
static void run_keep_slice(struct oae_tag *tag, struct oae_run *ev,
			   const struct oae_op *op)
{
	struct sk_buff *skb = run_keep(ev, 0);

	OAE_KEPT_CB(skb)->hash = op->hash;
	/* There is a slot: oae_tag_rcv() has seen to that. */
	oae_tag_slots(tag, op->seq)[op->slice] = skb;
	tag->kept++;
}

/* The half that is held is the result of this end's. */
static void run_take(struct oae_tag *tag, const struct oae_op *op)
{
	struct sk_buff **slot = oae_tag_slots(tag, op->seq);

	tag->kept--;
	run_set_result(op->handle, slot[0]);
	slot[0] = NULL;
}

/* A message has ended, or each of a pack. */
static void run_ended(struct oae_tag *tag, struct oae_run *ev, struct oae_msg *msg,
		      u8 outcome, int err)
{
	if (likely(!oae_msg_is_pack(msg)))
		oae_tell_ended(tag, ev, msg, outcome, err);
	else
		oae_pack_ended(tag, ev, msg, outcome, err);
}

static void run_apply_op(struct oae_tag *tag, struct oae_run *ev,
			 const struct oae_op *op)
{
	struct oae_msg *msg = op->handle;

	switch (op->type) {
	case OAE_OP_NOTE:
		oae_tell_note(tag, ev, op);
		break;
	case OAE_OP_KEEP:
		run_keep_slice(tag, ev, op);
		break;
	case OAE_OP_DISCARD:
		oae_region_decided(tag, op->seq, false, &ev->wake);
		run_discard_slots(tag, op->seq);
		break;
	case OAE_OP_APPLY:
		tag->used = true;
		oae_region_decided(tag, op->seq, true, &ev->wake);
		run_discard_slots(tag, op->seq);
		break;
	case OAE_OP_TAKE:
		run_take(tag, op);
		break;
	case OAE_OP_RESULT:
		run_set_result(msg, run_keep(ev, OAE_REFLECT_LEN));
		break;
	case OAE_OP_DELIVER:
		oae_inbox_put(tag, op->seq, op->slice);
		ev->wake_reader = true;
		break;
	case OAE_OP_UNPACK:
		oae_inbox_put_pack(tag, op->seq);
		ev->wake_reader = true;
		break;
	case OAE_OP_COMPLETE:
		run_ended(tag, ev, msg, op->outcome, op->err);
		break;
	case OAE_OP_BACK:
		oae_pack_back(tag, msg, op->refused);
		break;
	case OAE_OP_TIMER:
		/*
		 * 1 us later, so that the timer does not fire before the link's
		 * time: the link's clock may be ahead of that of the hrtimer.
		 */
		hrtimer_start(&tag->timer,
			      ns_to_ktime(op->at - ev->clock + NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
		break;
	case OAE_OP_FLUSH:
		oae_queue_flush(tag, op->err);
		break;
	case OAE_OP_CONFIRMED:
	case OAE_OP_GONE:
		ev->wake_writer = true;
		break;
	}
}

/* Apply the ops so far. An op may add further ops. */
void oae_run_apply(struct oae_tag *tag, struct oae_run *ev)
{
	struct oae_actions *a = &ev->a;
	struct oae_op op;

	lockdep_assert_held(&tag->lock);
	/* An op may add so many that they are applied in its midst: run_full(). */
	while (a->done < a->nops) {
		op = a->op[a->done++];
		run_apply_op(tag, ev, &op);
	}
	a->nops = 0;
	a->done = 0;
}

/* The link wants the hash of several slices that are kept. */
static void run_hashes(struct oae_actions *a, u32 seq, unsigned int n, u64 *hash)
{
	struct oae_tag *tag = container_of(a, struct oae_run, a)->tag;
	struct sk_buff **slot = oae_tag_slots(tag, seq);
	unsigned int i;

	for (i = 0; i < n; i++)
		if (slot[i])
			hash[i] = OAE_KEPT_CB(slot[i])->hash;
}

/* And of those of a message that is sent. */
static void run_post_hashes(struct oae_actions *a, const struct oae_post *p, u64 *hash)
{
	const struct oae_msg *msg = p->handle;

	memcpy(hash, msg->hash, p->nslices * sizeof(*hash));
}

/* The link wants a verb computed, whose slice may be kept by an op of this event. */
static u16 run_verb(struct oae_actions *a, u32 seq, u16 *reply)
{
	struct oae_run *ev = container_of(a, struct oae_run, a);
	u16 reason;
	bool again;

	oae_run_apply(ev->tag, ev);
	reason = oae_region_compute(ev->tag, seq, reply, &again);
	ev->ready |= again;
	return reason;
}

/* The link can carry less, or more, than when a message was cut. */
static void run_cut(struct oae_actions *a, struct oae_post *p, u16 max)
{
	struct oae_msg *msg = p->handle;

	oae_msg_slice(msg, max);
	*p = msg->post;
}

/* It was refused only to let others go first. */
static noinline void run_ready(struct oae_tag *tag, struct oae_run *ev)
{
	oae_link_ready(&tag->link, ev->now, &ev->a);
	oae_run_apply(tag, ev);
}

/* There is no place for another op. */
static void run_full(struct oae_actions *a)
{
	struct oae_run *ev = container_of(a, struct oae_run, a);

	oae_run_apply(ev->tag, ev);
}

/* The own path is in use again. */
static void run_own_mtu(struct oae_conn *c)
{
	struct oae_run *ev = container_of(c, struct oae_run, conn);

	oae_tag_way_update(ev->tag, ev);
}

/* The link lacks places of its window. */
static noinline void run_lend(struct oae_tag *tag, struct oae_run *ev)
{
	oae_places_lend(tag, ev);
	oae_run_apply(tag, ev);
}

static void run_feed_one(struct oae_tag *tag, struct oae_run *ev,
			 struct list_head *queue)
{
	struct oae_msg *msg = NULL;
	int err;

	if (!list_is_singular(queue) && (queue == &tag->sndq || queue == &tag->users->ringq))
		msg = oae_pack_make(tag, ev, queue);
	if (!msg) {
		msg = list_first_entry(queue, struct oae_msg, list);
		oae_queue_del(tag, ev, msg);
		if (unlikely(msg->txn.ring_n > 1) &&
		    (msg->alone || msg->post.len > oae_link_pack_max(&tag->link))) {
			if (!oae_ring_dissolve(tag, msg))
				oae_tell_ended(tag, ev, msg, OAE_REVERSED, ENOMEM);
			return;
		}
	}
	err = oae_link_post(&tag->link, &msg->post, ev->now, &ev->a);
	if (err)
		run_ended(tag, ev, msg, OAE_REVERSED, -err);
	oae_run_apply(tag, ev);
}

/* A queue with a message that the link has room for, or NULL. */
static struct list_head *run_wanted(struct oae_tag *tag)
{
	if (unlikely(tag->users && tag->users->nring) && !list_empty(&tag->users->ringq) &&
	    oae_link_wants(&tag->link)) {
		/* The ring and all others take turns. */
		tag->users->ring_next = !tag->users->ring_next;
		if (tag->users->ring_next || list_empty(&tag->sndq))
			return &tag->users->ringq;
	}
	if (!list_empty(&tag->sndq) && oae_link_wants(&tag->link))
		return &tag->sndq;
	if (unlikely(tag->nhalf) && !list_empty(&tag->users->halfq) &&
	    oae_link_wants_half(&tag->link))
		return &tag->users->halfq;
	return NULL;
}

/*
 * Post as many messages as the link has room for, and reverse those in flushq. The
 * link may refuse each of many messages, so one event handles OAE_BATCH of them; the
 * timer continues with the remainder.
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

/* The port's gateway has changed since the tag's last event: update the way. */
static noinline void run_refresh_way(struct oae_tag *tag, struct oae_run *ev)
{
	oae_tag_way_refresh(tag, ev);
	oae_run_apply(tag, ev);
}

/* Begin an event. The caller has disabled BH and holds the RCU read lock. */
static __always_inline void run_begin(struct oae_tag *tag, struct oae_run *ev)
	__acquires(&tag->lock)
{
	spin_lock(&tag->lock);
	ev->a.nops = 0;
	ev->a.done = 0;
	ev->a.nsends = 0;
	ev->a.overflow = false;
	ev->a.full = run_full;
	ev->a.hashes = run_hashes;
	ev->a.post_hashes = run_post_hashes;
	ev->a.verb = run_verb;
	ev->a.cut = run_cut;
	ev->a.told = NULL;
	ev->tag = tag;
	oae_link_use(&tag->link,
		     rcu_dereference_check(tag->node->cfg,
					   rcu_read_lock_bh_held()));
	ev->clock = local_clock();
	ev->now = oae_conn_begin(&ev->conn, &tag->link,
				 tag->paths ? &tag->paths->paths : NULL, ev->clock);
	ev->conn.own_mtu = run_own_mtu;
	ev->skb = NULL;
	INIT_LIST_HEAD(&ev->done);
	INIT_LIST_HEAD(&ev->wake);
	ev->wake_reader = false;
	ev->wake_writer = false;
	ev->ready = false;
	ev->via = tag->way.via;
	ev->out.any = false;
	ev->out.probe = 0;
	ev->out.answer = 0;
	ev->out.tell = false;
	ev->out.own_via = false;
	ev->out.nonce = 0;
	if (unlikely(tag->way.gen != READ_ONCE(tag->key.port->gw.gen)))
		run_refresh_way(tag, ev);
}

/* fsync waits: ask the peer to confirm what is committed. */
static noinline void run_confirm(struct oae_tag *tag, struct oae_run *ev)
{
	oae_link_confirm(&tag->link, ev->now, &ev->a);
	oae_run_apply(tag, ev);
	ev->wake_writer = true;
}

/* True: the link has settled or given up, and no longer counts in nsettling. */
static noinline bool run_settle_end(struct oae_tag *tag)
{
	if (oae_link_settling(&tag->link))
		return false;
	tag->settling = false;
	atomic_dec(&tag->key.port->nsettling);
	return true;
}

/* Count open links: the end of the module and of a port wait for them to close. */
static noinline void run_count_open(struct oae_tag *tag, bool open)
{
	int n = open ? 1 : -1;

	tag->open = open;
	atomic_add(n, &tag->key.port->nopen);
	atomic_add(n, &tag->node->nopen);
}

/* A CLOSED link is about to open: set its rank, its way and its MTU. */
void oae_tag_begin(struct oae_tag *tag, struct oae_run *ev, bool via)
{
	if (!oae_link_closed(&tag->link))
		return;
	WRITE_ONCE(tag->opening, 0);
	oae_tag_rank(tag);
	oae_link_set_mtu(&tag->link, oae_tag_way_begin(tag, via), ev->now,
			 &ev->a);
	ev->via = tag->way.via;
}

/* Open a CLOSED link from here: the tag is not a stranger's any more. */
void oae_tag_open(struct oae_tag *tag, struct oae_run *ev)
{
	lockdep_assert_held(&tag->lock);
	oae_share_own(tag);
	oae_tag_begin(tag, ev, false);
	oae_link_open(&tag->link, ev->now, &ev->a);
}

/* The link of `target` was closing when that was set, and is CLOSED: protocol 4.4. */
static noinline void run_reopen(struct oae_tag *tag, struct oae_run *ev)
{
	tag->reopen = false;
	if (tag->dead || READ_ONCE(tag->node->knobs.shut))
		return;
	tag->used = true;
	oae_tag_open(tag, ev);
	oae_link_want(&tag->link, true);
	oae_run_apply(tag, ev);
}

/* A link that is in doubt now, and whose port is about to go down, leaves. */
static noinline void run_look_doubt(struct oae_tag *tag, struct oae_run *ev)
{
	oae_doubt_look(tag, ev);
	oae_run_apply(tag, ev);
}

/*
 * Remove a CLOSED tag from the table, if nothing keeps it there. @kill: nor do a file, unread
 * transactions, and messages that are being reversed.
 */
void oae_tag_retire(struct oae_tag *tag, bool kill)
{
	lockdep_assert_held(&tag->lock);
	if (tag->dead || !oae_link_closed(&tag->link) ||
	    ((oae_tag_queued(tag) || oae_inbox_count(tag) ||
	      oae_tag_attached(tag)) && !kill))
		return;
	WRITE_ONCE(tag->dead, true);
	/* `dead` before the look at inbox.n. Pairs with the smp_mb() in inbox_made_room(). */
	smp_mb();
	oae_attach_dead(tag);
	hrtimer_try_to_cancel(&tag->timer);
	oae_tag_remove(tag);
	oae_region_leave(tag);
	oae_guess_del(tag);
	oae_doubt_unlist(tag);
	oae_path_leave(tag);
	/* The table's reference. RCU keeps the tag until the caller is done. */
	oae_tag_put(tag);
}

/* End an event: apply its ops, drop tag->lock, send its frames, wake sleepers. */
static void run_end(struct oae_tag *tag, struct oae_run *ev)
	__releases(&tag->lock)
{
	struct oae_node *node = tag->node;
	enum oae_state after;
	unsigned int i;
	bool gone, open, settled;

	oae_run_apply(tag, ev);
	if (unlikely(ev->ready))
		run_ready(tag, ev);
	run_feed(tag, ev);
	if (unlikely(oae_link_lacks(&tag->link))) {
		run_lend(tag, ev);
		run_feed(tag, ev);
	}
	ev->more = oae_link_more(&tag->link);
	if (unlikely(oae_link_closed(&tag->link)) && tag->reopen)
		run_reopen(tag, ev);
	if (unlikely(tag->nconfirm))
		run_confirm(tag, ev);
	if (unlikely(!tag->doubt_at || tag->paths))
		run_look_doubt(tag, ev);
	WARN_ON_ONCE(ev->a.overflow);

	after = oae_link_state(&tag->link);
	if (unlikely(after != OAE_OPEN || ev->conn.before != OAE_OPEN) && !tag->paths)
		oae_path_met(tag);
	for (i = 0; i < ev->a.nsends; i++) {
		const struct oae_send *send = &ev->a.send[i];

		if (oae_out_carries(send))
			oae_out_keep(tag, ev, send);
		oae_evlog_add(tag->key.port, ev->now, tag->key.kid, OAE_EV_SEND,
			      send->frame.opcode, ev->conn.before, after,
			      send->frame.seq);
	}
	gone = after == OAE_CLOSED && ev->conn.before != OAE_CLOSED;
	open = !oae_link_closed(&tag->link);
	if (unlikely(tag->open != open))
		run_count_open(tag, open);
	if (unlikely(after < OAE_OPEN))
		oae_way_asked(&tag->way, &ev->a);
	/* Before the tag retires, and its paths with it: the last frame has to go by one. */
	if (unlikely(tag->paths || ev->out.tell))
		oae_path_end(tag, ev);
	if (unlikely(!open || oae_link_down(&tag->link) || tag->spare)) {
		oae_tag_retire(tag, false);
		oae_share_sort(tag);
	}
	settled = unlikely(tag->settling) && run_settle_end(tag);
	spin_unlock(&tag->lock);

	/*
	 * Send first: the peer works while sleepers here are woken. Who looks without
	 * being woken sees the new state since tag->lock was dropped, so nobody can
	 * count on either order.
	 */
	/* First of all what lets the peer believe the rest. */
	if (unlikely(ev->out.probe | ev->out.answer | ev->out.tell))
		oae_path_send_probes(tag, ev);
	if (ev->a.nsends)
		oae_out_send(tag, ev);
	if (ev->wake_reader || ev->wake_writer || !list_empty(&ev->done))
		oae_tell_all(tag, ev);
	if (gone || settled)
		wake_up(&node->tags_wait);
	if (unlikely(!list_empty(&ev->wake)))
		oae_run_wake_verbs(&ev->wake);
}

/* Begin an event. */
void oae_run_enter(struct oae_tag *tag, struct oae_run *ev)
	__acquires(RCU_BH) __acquires(&tag->lock)
{
	rcu_read_lock_bh();
	run_begin(tag, ev);
}

/* An event sends a few offers: as long as there are more, events follow. */
static void run_more(struct oae_tag *tag, struct oae_run *ev)
{
	while (unlikely(ev->more)) {
		run_begin(tag, ev);
		oae_link_pump(&tag->link, ev->now, &ev->a);
		run_end(tag, ev);
	}
}

/* End an event: apply, unlock, send frames, wake sleepers. */
void oae_run_leave(struct oae_tag *tag, struct oae_run *ev)
	__releases(&tag->lock) __releases(RCU_BH)
{
	lockdep_assert_held(&tag->lock);
	run_end(tag, ev);
	run_more(tag, ev);
	rcu_read_unlock_bh();
}

/**
 * oae_run_wake_verbs() - words are free: send READY to the peers of tags that wait for them
 * @tags: from oae_region_decided(), or of a region that closes; empty then
 *
 * Context: any but hard interrupts, BH off; under rcu_read_lock(); takes tag->lock.
 */
void oae_run_wake_verbs(struct list_head *tags)
{
	struct oae_run ev oae_uninit;
	struct oae_tag *tag;

	while ((tag = oae_region_woken(tags))) {
		run_begin(tag, &ev);
		oae_region_awake(tag);
		oae_link_ready(&tag->link, ev.now, &ev.a);
		run_end(tag, &ev);
		run_more(tag, &ev);
		oae_tag_put(tag);
	}
}

/*
 * The way by which a frame came may turn the tag's way (protocol 4.8). False: the
 * frame came through the gateway while the peer is heard direct, and is dropped.
 */
static noinline bool run_unusual(struct oae_tag *tag, struct oae_run *ev,
				 const struct oae_frame *f)
{
	bool taken = oae_tag_way_heard(tag, ev, f);

	oae_run_apply(tag, ev);
	return taken;
}

/* The peer is blocked. A reader that made room just now may not have seen that: look again. */
static noinline void run_blocked(struct oae_tag *tag, struct oae_run *ev)
{
	oae_run_apply(tag, ev);
	/* credit_due before the look at inbox.bytes. Pairs with inbox_made_room(). */
	smp_mb();
	oae_run_room(tag, ev);
}

/* A frame of a tag that has, or had, other paths than its own. False: drop it. */
static noinline bool run_by_path(struct oae_tag *tag, struct oae_run *ev,
				 const struct sk_buff *skb, const struct oae_frame *f,
				 unsigned int path)
{
	return tag->paths && oae_path_before(tag, ev, skb, f, path);
}

/*
 * A SYNC of the peer of another link, at one that has not met its peer: two addresses are one
 * node's. It would take this one for the next incarnation of this end, and drop what it holds. If
 * that link is down, and loses nothing, the peer may have no other way to this end.
 */
static noinline bool run_of_another(struct oae_tag *tag, const struct oae_frame *f)
{
	const struct oae_tag *other;
	struct oae_link_mark mark;

	lockdep_assert_held(&tag->lock);
	oae_link_mark(&tag->link, &mark);
	if (mark.peer_inc || !f->sync.inc)
		return false;
	other = oae_path_of_peer(tag->node, f->sync.inc);
	if (!other || other == tag || READ_ONCE(other->forlorn))
		return false;
	oae_count(tag->node, OAE_S_ID_CONFLICT);
	return true;
}

/* The event of a frame that its path lets in; what the link does not keep stays @ev's. */
static void run_frame(struct oae_tag *tag, struct oae_run *ev, struct oae_frame *f)
{
	if (unlikely(f->opcode == OAE_OFFER &&
		     oae_link_lacks_for(&tag->link, f)))
		run_lend(tag, ev);
	/* To the link it is a frame that was lost on its way. */
	if (unlikely(f->opcode == OAE_OFFER && f->slice &&
		     !oae_places_slot(tag, f)))
		return;
	if (f->kind == OAE_PACK && f->opcode == OAE_OFFER &&
	    oae_link_is_run(&tag->link, f) && !oae_pack_check(ev, f))
		return;
	/* A way is one of the own path. Which path that is now was looked up under the lock. */
	if (likely(oae_way_is_usual(&tag->way, f)) || ev->conn.back > OAE_PATH_OWN ||
	    run_unusual(tag, ev, f))
		oae_conn_rcv(&ev->conn, f, oae_inbox_free(tag), ev->now, &ev->a);
	if (unlikely(oae_link_owes_credit(&tag->link)))
		run_blocked(tag, ev);
	oae_run_log(tag, ev, OAE_EV_FRAME, f->opcode, f->seq);
}

/**
 * oae_tag_rcv() - handle a received frame
 * @tag: the tag
 * @skb: the frame, data at the base header; consumed
 * @f: the parsed and verified header; changed
 * @path: index of the path that it came by, from oae_path_find(); OAE_PATH_OWN
 *
 * The skb is the event's from the first step to the last, so it is freed in one place: an
 * answer, or what else the event sends, may have used it.
 *
 * Context: softirq, under rcu_read_lock(); takes tag->lock.
 */
void oae_tag_rcv(struct oae_tag *tag, struct sk_buff *skb,
		 struct oae_frame *f, unsigned int path)
{
	struct oae_run ev oae_uninit;

	run_begin(tag, &ev);
	ev.skb = skb;
	ev.hdr_len = f->hdr_len;
	if (unlikely(oae_is_sync(f->opcode)) && run_of_another(tag, f))
		;
	else if (likely(!tag->paths && !path) || run_by_path(tag, &ev, skb, f, path))
		run_frame(tag, &ev, f);
	run_end(tag, &ev);
	oae_xmit_spare(ev.skb);
	run_more(tag, &ev);
}

/* Tell the link if there is room. */
void oae_run_room(struct oae_tag *tag, struct oae_run *ev)
{
	lockdep_assert_held(&tag->lock);
	oae_link_made_room(&tag->link, oae_inbox_free(tag), ev->now, &ev->a);
}

/*
 * Close a link that the peer has opened and that was never used: a forged SYNC may
 * have opened it (protocol 4.4).
 */
static void run_close_unused(struct oae_tag *tag, struct oae_run *ev)
{
	u32 unused = OAE_UNUSED_DEAD * READ_ONCE(tag->node->knobs.dead_ms);
	u32 age = (u32)jiffies - tag->accepted;

	if (likely(tag->used) || !tag->by_peer ||
	    age < msecs_to_jiffies(unused) ||
	    !oae_link_idle(&tag->link) || oae_inbox_count(tag))
		return;
	oae_count(tag->node, OAE_S_NEVER_USED);
	oae_run_apply(tag, ev);
	oae_link_close(&tag->link, ev->now, &ev->a);
}

/**
 * oae_tag_timer() - handle the timer of a tag's link
 * @timer: oae_tag.timer
 *
 * Context: softirq; takes tag->lock.
 *
 * Return: HRTIMER_NORESTART; the link arms the timer itself.
 */
enum hrtimer_restart oae_tag_timer(struct hrtimer *timer)
{
	struct oae_tag *tag = container_of(timer, struct oae_tag, timer);
	struct oae_run ev oae_uninit;

	/* BH is off in a soft timer, but not every kernel's RCU waits for that. */
	rcu_read_lock();
	run_begin(tag, &ev);
	if (tag->dead) {
		;
	} else if (READ_ONCE(tag->node->knobs.step)) {
		/* Single-stepping is slow: a late frame is no failure. */
		hrtimer_start(timer, ns_to_ktime(STEP_TIMER_NS),
			      HRTIMER_MODE_REL_SOFT);
	} else if (oae_link_early(&tag->link, ev.now)) {
		/* The timer fired for the remainder of a batch, see run_feed(). */
		hrtimer_start(timer, ns_to_ktime(oae_link_timer_at(&tag->link) -
						 ev.clock + NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
	} else {
		oae_tag_way_timer(tag, &ev);
		if (oae_link_unheard(&tag->link))
			oae_waits_mark(tag);
		oae_link_timer(&tag->link, ev.now, &ev.a);
		oae_path_timer(tag, &ev);
		run_close_unused(tag, &ev);
		if (ev.a.nsends)
			oae_run_log(tag, &ev, OAE_EV_TIMER, 0,
				    oae_link_tx(&tag->link) + 1);
	}
	if (oae_link_idle(&tag->link))
		oae_places_reclaim(tag);
	if (!oae_link_in_doubt(&tag->link))
		oae_doubt_unlist(tag);
	run_end(tag, &ev);
	run_more(tag, &ev);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}
