// SPDX-License-Identifier: GPL-2.0
/*
 * Events: what happens to a tag's link, and carrying its actions out.
 *
 * Every event goes the same way: under the tag's lock the link is stepped and
 * its ops are applied; the lock is dropped; whoever waits is told; its frames
 * are sent. BH is off and RCU held from the first to the last of these, so a
 * port or a tag that goes away meanwhile is not freed under it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "tag.h"

#include <linux/etherdevice.h>
#include <linux/sched/clock.h>
#include <net/dst.h>
#include <net/xfrm.h>

#include "../base/trace.h"

#define STEP_TIMER_NS	(100 * NSEC_PER_MSEC)	/* timers while stepping */
#define OAE_UNUSED_DEAD	8	/* dead times until an unused link is closed */
#define MORE_NS		(10 * NSEC_PER_USEC)	/* until what is left over */

/* One event: what it leads to. */
struct event {
	struct oae_actions a;
	u64 now;
	struct sk_buff *skb;		/* what came in; NULL once kept or sent */
	struct list_head done;		/* messages that ended */
	enum oae_state before;
	struct list_head wake;		/* tags whose verbs may come again */
	struct sk_buff *reply;		/* REFLECT, but for its header */
	bool wake_reader;
	bool wake_writer;
	bool via;			/* its frames go through the gateway */
};

static void discard_slots(struct oae_tag *tag)
{
	unsigned int i;

	for (i = 0; i < OAE_MAX_SLICES; i++) {
		kfree_skb(tag->slot[i]);
		tag->slot[i] = NULL;
	}
}

/* Keep the payload that came in; nothing else of the skb is needed. */
static struct sk_buff *keep(struct event *ev, unsigned int hdr_len)
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
static void set_result(struct oae_msg *msg, struct sk_buff *skb)
{
	kfree_skb(msg->result);
	msg->result = skb;
}

/* The verb that has come is held, or refused. */
static void compute_verb(struct oae_tag *tag, struct event *ev)
{
	u16 reason, reply = 0;
	bool again;

	reason = oae_region_compute(tag, &reply, &again);
	oae_link_computed(&tag->link, reason, reply, ev->now, &ev->a);
	if (again)
		oae_link_drained(&tag->link, ev->now, &ev->a);
}

static void end_msg(struct oae_tag *tag, struct event *ev,
		    struct oae_msg *msg, u8 outcome, int err)
{
	struct oae_node *node = tag->node;

	msg->outcome = outcome;
	msg->err = err;
	msg->t_end = ev->now;
	list_add_tail(&msg->list, &ev->done);
	if (msg->txn.file && oae_attach_ended(tag, msg))
		ev->wake_writer = true;

	switch (outcome) {
	case OAE_COMMITTED:
		tag->ncommitted++;
		oae_count(node, OAE_S_COMMITTED);
		break;
	case OAE_REVERSED:
		tag->nreversed++;
		oae_count(node, OAE_S_REVERSED);
		break;
	default:
		tag->nunknown++;
		oae_count(node, OAE_S_UNKNOWN);
	}
	oae_evlog_add(node, ev->now, tag->key.kid, OAE_EV_OUTCOME, outcome,
		      ev->before, oae_link_state(&tag->link),
		      oae_link_tx(&tag->link));
	trace_oae_outcome(tag->key.kid, outcome, err, oae_link_tx(&tag->link));
}

/* It is in a queue of its tag no more. */
static void dequeue(struct oae_tag *tag, struct event *ev, struct oae_msg *msg)
{
	list_del(&msg->list);
	msg->queued = false;
	oae_add(oae_tag_nqueued(tag, msg), -1);
	ev->wake_writer = true;
}

/*
 * All that is queued is to be reversed: a few with each event, beginning with
 * this one. Should another reason come meanwhile, the first one stands.
 */
static void flush_queues(struct oae_tag *tag, int err)
{
	if (list_empty(&tag->flushq))
		tag->flush_err = err;
	list_splice_tail_init(&tag->sndq, &tag->flushq);
	list_splice_tail_init(&tag->halfq, &tag->flushq);
}

static void flush_some(struct oae_tag *tag, struct event *ev)
{
	struct oae_msg *msg, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(msg, next, &tag->flushq, list) {
		if (n++ == OAE_BATCH)
			break;
		dequeue(tag, ev, msg);
		end_msg(tag, ev, msg, OAE_REVERSED, tag->flush_err);
	}
}

/* The kernel log, where a person may want to know: see the knob verbose. */
static void say(const struct oae_tag *tag, enum oae_note note)
{
	unsigned int verbose = READ_ONCE(tag->node->knobs.verbose);
	u8 peer[ETH_ALEN];

	if (!oae_may_log(tag->node->net))
		return;
	switch (note) {
	case OAE_N_BROKEN:
	case OAE_N_UNCONFIRMED:
	case OAE_N_HELD_LOST:
		break;		/* something could not be saved: always */
	case OAE_N_OPENED:
	case OAE_N_DOWN:
	case OAE_N_UP:
	case OAE_N_PEER_NEW:
	case OAE_N_GONE:
		if (!verbose)
			return;
		break;
	default:
		if (verbose < 2)
			return;
	}
	oae_kid_mac(tag->key.kid, peer);
	net_info_ratelimited("port %s peer %pM vc %u: %s: %s\n",
			     tag->key.port->dev->name, peer,
			     (unsigned int)(tag->key.kid >> 56),
			     oae_note_name(note),
			     oae_stat_text(OAE_S_NOTE + note));
}

static void apply_note(struct oae_tag *tag, struct event *ev,
		       const struct oae_op *op)
{
	struct oae_msg *msg;

	oae_count(tag->node, OAE_S_NOTE + op->note);
	switch (op->note) {
	case OAE_N_OFFERED:
		msg = oae_link_offered(&tag->link);
		msg->t_offer = ev->now;
		break;
	case OAE_N_HELD:
	case OAE_N_LENT:
		break;
	default:
		oae_evlog_add(tag->node, ev->now, tag->key.kid, OAE_EV_NOTE,
			      op->note, ev->before, oae_link_state(&tag->link),
			      oae_link_tx(&tag->link));
		say(tag, op->note);
		oae_attach_note(tag, op->note);
	}
}

static void apply_op(struct oae_tag *tag, struct event *ev,
		     const struct oae_op *op, unsigned int hdr_len)
{
	struct oae_msg *msg = op->handle;

	switch (op->type) {
	case OAE_OP_NOTE:
		apply_note(tag, ev, op);
		break;
	case OAE_OP_KEEP:
		tag->slot[op->slice] = keep(ev, hdr_len);
		break;
	case OAE_OP_DISCARD:
		oae_region_decided(tag, false, &ev->wake);
		discard_slots(tag);
		break;
	case OAE_OP_VERB:
		compute_verb(tag, ev);
		break;
	case OAE_OP_APPLY:
		tag->used = true;
		oae_region_decided(tag, true, &ev->wake);
		discard_slots(tag);
		break;
	case OAE_OP_TAKE:
		set_result(msg, tag->slot[0]);
		tag->slot[0] = NULL;
		break;
	case OAE_OP_RESULT:
		set_result(msg, keep(ev, hdr_len + OAE_REFLECT_LEN));
		break;
	case OAE_OP_DELIVER:
		oae_inbox_add(tag, op->slice);
		ev->wake_reader = true;
		break;
	case OAE_OP_COMPLETE:
		end_msg(tag, ev, msg, op->outcome, op->err);
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
		flush_queues(tag, op->err);
		break;
	case OAE_OP_GONE:
		ev->wake_writer = true;
		break;
	}
}

/* Apply the ops so far; one may lead to more. */
static void apply(struct oae_tag *tag, struct event *ev, unsigned int hdr_len)
{
	struct oae_op op;
	unsigned int i;

	for (i = 0; i < ev->a.nops; i++) {
		op = ev->a.op[i];
		apply_op(tag, ev, &op, hdr_len);
	}
	ev->a.nops = 0;
}

static void feed_one(struct oae_tag *tag, struct event *ev,
		     struct list_head *queue)
{
	struct oae_msg *msg = list_first_entry(queue, struct oae_msg, list);
	int err;

	dequeue(tag, ev, msg);
	err = oae_link_post(&tag->link, &msg->post, ev->now, &ev->a);
	if (err)
		end_msg(tag, ev, msg, OAE_REVERSED, -err);
	apply(tag, ev, 0);
}

/* The queue that the link has room for the first of, or NULL. */
static struct list_head *wanted(struct oae_tag *tag)
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
static void feed(struct oae_tag *tag, struct event *ev)
{
	struct list_head *queue;
	unsigned int n;

	if (unlikely(!list_empty(&tag->flushq)))
		flush_some(tag, ev);
	for (n = 0; n < OAE_BATCH && (queue = wanted(tag)); n++)
		feed_one(tag, ev, queue);
	if (unlikely(n == OAE_BATCH || !list_empty(&tag->flushq)) && !tag->dead)
		hrtimer_start(&tag->timer, ns_to_ktime(MORE_NS),
			      HRTIMER_MODE_REL_SOFT);
}

/* The ways from the tag's port may have changed since its last event. */
static noinline void refresh_way(struct oae_tag *tag, struct event *ev)
{
	oae_path_update(tag, ev->now, &ev->a);
	apply(tag, ev, 0);
	ev->via = tag->way_via;
}

/* An event begins. The caller has BH off, and RCU. */
static __always_inline void begin(struct oae_tag *tag, struct event *ev)
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
	ev->via = tag->way_via;
	if (unlikely(tag->way_gen != READ_ONCE(tag->key.port->gw.gen)))
		refresh_way(tag, ev);
}

/*
 * The frames to the peer @dest go to the gateway instead, which @dest is then.
 * False: there is none, and they are gone.
 */
static noinline bool through_gateway(struct oae_tag *tag, struct event *ev,
				     u8 dest[ETH_ALEN])
{
	struct oae_port *port = tag->key.port;
	struct oae_send *send = ev->a.send;
	unsigned int i, frames = 0;

	for (i = 0; i < ev->a.nsends; i++)
		oae_path_mark(port, dest, &send[i].frame);
	if (oae_path_gateway(port, dest))
		return true;
	for (i = 0; i < ev->a.nsends; i++) {
		if (send[i].frame.opcode == OAE_OFFER) {
			frames += hweight64(send[i].slices);
			oae_msg_put(send[i].handle);
		} else {
			frames++;
		}
	}
	kfree_skb(ev->reply);
	oae_count_n(tag->node, OAE_S_NO_GATEWAY, frames);
	return false;
}

/* A REFLECT that carries a half or an answer. */
static bool has_reply(const struct oae_send *send)
{
	return send->frame.opcode == OAE_REFLECT && send->frame.length;
}

/* What such a REFLECT carries, while it is sure to stay what it is. */
static void make_reply(struct oae_tag *tag, struct event *ev,
		       const struct oae_send *send)
{
	struct oae_msg *half = send->handle;
	const u8 *answer = NULL;
	unsigned int len = 0;

	if (send->frame.kind == OAE_VERB)
		answer = oae_region_answer(tag, &len);
	kfree_skb(ev->reply);
	ev->reply = oae_xmit_reply(tag->key.port, len);
	if (!ev->reply)
		return;
	if (answer)
		skb_put_data(ev->reply, answer, len);
	else
		oae_msg_fill(half, half->post.len, 0, ev->reply);
}

static void send_all(struct oae_tag *tag, struct event *ev)
{
	struct oae_port *port = tag->key.port;
	struct oae_send *send;
	u8 dest[ETH_ALEN];
	unsigned int i;

	if (!ev->a.nsends)
		return;
	oae_kid_mac(tag->key.kid, dest);
	if (unlikely(ev->via) && !through_gateway(tag, ev, dest))
		return;
	for (i = 0; i < ev->a.nsends; i++) {
		send = &ev->a.send[i];
		if (send->frame.opcode == OAE_OFFER) {
			oae_xmit_offer(port, dest, send, &ev->skb);
			oae_msg_put(send->handle);
		} else if (unlikely(has_reply(send))) {
			if (ev->reply)
				oae_xmit_reflect(port, dest, &send->frame,
						 ev->reply);
			ev->reply = NULL;
		} else {
			oae_xmit_frame(port, dest, &send->frame, &ev->skb);
		}
	}
}

static void tell_readers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	/* Seen to have no file, or one: who comes or goes looks for itself. */
	if (!list_empty(&tag->files))
		oae_attach_readable(tag);
	else if (wq_has_sleeper(&node->read_wait))
		wake_up_interruptible(&node->read_wait);
}

static void tell_writers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	oae_attach_writable(tag);
	if (wq_has_sleeper(&node->write_wait))
		wake_up_interruptible(&node->write_wait);
}

static void tell_all(struct oae_tag *tag, struct event *ev)
{
	struct oae_msg *msg, *next;

	list_for_each_entry_safe(msg, next, &ev->done, list) {
		INIT_LIST_HEAD(&msg->list);
		if (msg->complete)
			msg->complete(msg);
		else
			complete(&msg->done);
		if (msg->txn.tell)
			oae_attach_tell(msg);
		oae_msg_put(msg);
	}
	if (ev->wake_writer)
		tell_writers(tag);
	if (ev->wake_reader)
		tell_readers(tag);
}

/* Somebody waits until what is committed is confirmed. */
static noinline void confirm(struct oae_tag *tag, struct event *ev)
{
	oae_link_confirm(&tag->link, ev->now, &ev->a);
	apply(tag, ev, 0);
	ev->wake_writer = true;
}

/* True: nothing of it is in doubt any more, or it gave up, and is not counted. */
static noinline bool settle_end(struct oae_tag *tag)
{
	if (oae_link_settling(&tag->link))
		return false;
	tag->settling = false;
	atomic_dec(&tag->key.port->nsettling);
	return true;
}

/* The link has opened, or closed: for who waits until all have. */
static noinline void count_open(struct oae_tag *tag, bool open)
{
	int n = open ? 1 : -1;

	tag->open = open;
	atomic_add(n, &tag->key.port->nopen);
	atomic_add(n, &tag->node->nopen);
}

static void wake_verbs(struct list_head *tags);

/* The event's consequences; the lock is dropped. */
static void end(struct oae_tag *tag, struct event *ev, unsigned int hdr_len)
	__releases(&tag->lock)
{
	struct oae_node *node = tag->node;
	enum oae_state after;
	unsigned int i;
	bool gone, open, settled;

	apply(tag, ev, hdr_len);
	feed(tag, ev);
	if (unlikely(tag->nconfirm))
		confirm(tag, ev);
	WARN_ON_ONCE(ev->a.overflow);

	after = oae_link_state(&tag->link);
	for (i = 0; i < ev->a.nsends; i++) {
		const struct oae_send *send = &ev->a.send[i];

		if (send->frame.opcode == OAE_OFFER)
			oae_msg_get(send->handle);
		else if (unlikely(has_reply(send)))
			make_reply(tag, ev, send);
		oae_evlog_add(node, ev->now, tag->key.kid, OAE_EV_SEND,
			      send->frame.opcode, ev->before, after,
			      send->frame.seq);
	}
	gone = after == OAE_CLOSED && ev->before != OAE_CLOSED;
	open = !oae_link_closed(&tag->link);
	if (unlikely(tag->open != open))
		count_open(tag, open);
	if (unlikely(after < OAE_OPEN))
		oae_path_asked(tag, &ev->a);
	if (unlikely(!open || oae_link_down(&tag->link) || tag->spare)) {
		oae_tag_retire(tag, false);
		oae_share_sort(tag);
	}
	settled = unlikely(tag->settling) && settle_end(tag);
	spin_unlock(&tag->lock);

	/* Who is woken on another processor starts while the frames are made. */
	tell_all(tag, ev);
	send_all(tag, ev);
	if (gone || settled)
		wake_up(&node->tags_wait);
	if (unlikely(!list_empty(&ev->wake)))
		wake_verbs(&ev->wake);
}

/* The same for events that do not come in softirq. */
static void enter(struct oae_tag *tag, struct event *ev)
	__acquires(RCU_BH) __acquires(&tag->lock)
{
	rcu_read_lock_bh();
	begin(tag, ev);
}

static void leave(struct oae_tag *tag, struct event *ev)
	__releases(&tag->lock) __releases(RCU_BH)
{
	end(tag, ev, 0);
	rcu_read_unlock_bh();
}

/* Words are free that the peers of these tags were refused for. */
static void wake_verbs(struct list_head *tags)
{
	struct oae_tag *tag, *next;
	struct event ev;

	list_for_each_entry_safe(tag, next, tags, wake) {
		begin(tag, &ev);
		/* From here on it may be listed again. */
		list_del_init(&tag->wake);
		oae_link_drained(&tag->link, ev.now, &ev.a);
		end(tag, &ev, 0);
		oae_tag_put(tag);
	}
}

static void log_event(struct oae_tag *tag, struct event *ev,
		      enum oae_ev_kind kind, u8 what, u32 seq)
{
	oae_evlog_add(tag->node, ev->now, tag->key.kid, kind, what, ev->before,
		      oae_link_state(&tag->link), seq);
}

/* An event that no frame began: of the next transaction, if of any. */
static void log_next(struct oae_tag *tag, struct event *ev,
		     enum oae_ev_kind kind)
{
	log_event(tag, ev, kind, 0, oae_link_tx(&tag->link) + 1);
}

/*
 * Which way a frame came may say which way to go (protocol 4.8). False: it came
 * from where the peer is not.
 */
static noinline bool unusual(struct oae_tag *tag, struct event *ev,
			     const struct oae_frame *f)
{
	bool taken = oae_path_heard(tag, f, ev->now, &ev->a, &ev->via);

	apply(tag, ev, 0);
	return taken;
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
	struct event ev;

	begin(tag, &ev);
	ev.skb = skb;
	if (likely((f->flags & OAE_F_VIA) == tag->way_usual) ||
	    unusual(tag, &ev, f))
		oae_link_rcv(&tag->link, f, oae_inbox_room(tag), ev.now,
			     &ev.a);
	log_event(tag, &ev, OAE_EV_FRAME, f->opcode, f->seq);
	end(tag, &ev, f->hdr_len);
	consume_skb(ev.skb);
}

/* Of two crossing swaps, that of the higher address stands. */
static void rank(struct oae_tag *tag)
{
	u8 peer[ETH_ALEN];

	oae_kid_mac(tag->key.kid, peer);
	oae_link_rank(&tag->link, memcmp(tag->key.port->dev->dev_addr, peer,
					 ETH_ALEN) > 0);
}

/* A CLOSED link is about to open, and begins this way. */
static void start(struct oae_tag *tag, struct event *ev, bool via)
{
	if (!oae_link_closed(&tag->link))
		return;
	rank(tag);
	oae_link_set_mtu(&tag->link, oae_path_begin(tag, via), ev->now, &ev->a);
	ev->via = tag->way_via;
}

/* A CLOSED link is opened here: it is not a stranger's any more. */
static void open_here(struct oae_tag *tag, struct event *ev)
{
	oae_share_own(tag);
	start(tag, ev, false);
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
	struct event ev;
	int err = 0;

	begin(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else {
		if (oae_link_closed(&tag->link)) {
			tag->used = !list_empty(&tag->files);
			tag->accepted = ev.now;
		}
		start(tag, &ev, sync->flags & OAE_F_VIA);
		tag->by_peer = true;
		tag->unheard = true;
		oae_link_accept(&tag->link, sync, ev.now, &ev.a);
	}
	log_event(tag, &ev, OAE_EV_FRAME, sync->opcode, sync->seq);
	end(tag, &ev, 0);
	return err;
}

/**
 * oae_tag_send() - queue a message; a CLOSED link is opened
 * @tag: the tag
 * @msg: a message that has been cut; on success the link takes a reference
 *
 * Context: any but hard interrupts, no lock held.
 *
 * A tag made for this message alone is forgotten when it is not queued.
 *
 * Return: 0; -EAGAIN the queue is full, or its file's; -ESHUTDOWN the node is
 * shut; -EMSGSIZE it takes more than OAE_MAX_SLICES; -ESTALE the tag is gone, or
 * its slices may be longer now: find or make it, and cut the message, again.
 */
int oae_tag_send(struct oae_tag *tag, struct oae_msg *msg)
{
	struct oae_node *node = tag->node;
	struct event ev;
	int err = 0;

	enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (!msg->post.nslices) {
		/* Or was its way found to carry more just now? */
		err = msg->post.slice_max < oae_link_slice_max(&tag->link) ?
		      -ESTALE : -EMSGSIZE;
	} else if (READ_ONCE(node->shut)) {
		err = -ESHUTDOWN;
	} else if (*oae_tag_nqueued(tag, msg) >= READ_ONCE(node->knobs.sndq)) {
		err = -EAGAIN;
	} else if (msg->txn.file && oae_attach_queue(tag, msg)) {
		err = -EAGAIN;
	} else {
		oae_msg_get(msg);
		list_add_tail(&msg->list, oae_tag_queue(tag, msg));
		msg->queued = true;
		oae_add(oae_tag_nqueued(tag, msg), 1);
		oae_count(node, OAE_S_POSTED);
		tag->used = true;
		if (oae_link_closed(&tag->link))
			open_here(tag, &ev);
		log_next(tag, &ev, OAE_EV_POST);
	}
	leave(tag, &ev);
	return err;
}
EXPORT_SYMBOL_GPL(oae_tag_send);

/**
 * oae_tag_cancel() - reverse a message
 * @tag: its tag
 * @msg: the message
 * @err: what its writer is told, positive errno
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: 0 it ends reversed; -EINPROGRESS an express in flight, or a half that
 * is lent; -ENOENT it has ended already.
 */
int oae_tag_cancel(struct oae_tag *tag, struct oae_msg *msg, int err)
{
	struct event ev;
	int r = 0;

	enter(tag, &ev);
	if (msg->queued) {
		dequeue(tag, &ev, msg);
		end_msg(tag, &ev, msg, OAE_REVERSED, err);
	} else {
		r = oae_link_cancel(&tag->link, msg, err, ev.now, &ev.a);
	}
	log_next(tag, &ev, OAE_EV_CANCEL);
	leave(tag, &ev);
	return r;
}

/**
 * oae_tag_cancel_queued() - reverse those that are queued and the link has not
 * @tag: their tag
 * @msg: messages, the caller's references
 * @n: how many, not more than OAE_BATCH
 * @err: what their writers are told, positive errno
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_cancel_queued(struct oae_tag *tag, struct oae_msg *const *msg,
			   unsigned int n, int err)
{
	struct event ev;
	unsigned int i;

	enter(tag, &ev);
	for (i = 0; i < n; i++) {
		if (!msg[i]->queued)
			continue;
		dequeue(tag, &ev, msg[i]);
		end_msg(tag, &ev, msg[i], OAE_REVERSED, err);
	}
	log_next(tag, &ev, OAE_EV_CANCEL);
	leave(tag, &ev);
}

/**
 * oae_tag_confirming() - somebody begins or ceases to wait for confirmation
 * @tag: the tag
 * @waiters: 1 begins: the peer is asked whenever it has not said that all is
 *	delivered, and tag->confirm_wait is woken; -1 ceases
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_confirming(struct oae_tag *tag, int waiters)
{
	struct event ev;

	enter(tag, &ev);
	tag->nconfirm += waiters;
	leave(tag, &ev);
}

/**
 * oae_tag_attach() - a file becomes an end of a tag's link, and pins the tag
 * @tag: the tag, of which the file gets the caller's reference
 * @f: the file
 * @open: open the link if it is CLOSED
 *
 * Context: any but hard interrupts, no lock held.
 *
 * Return: 0; -ESTALE the tag is gone; -ESHUTDOWN the node is shut, and @open.
 */
int oae_tag_attach(struct oae_tag *tag, struct oae_file *f, bool open)
{
	struct event ev;
	int err = 0;

	enter(tag, &ev);
	if (tag->dead) {
		err = -ESTALE;
	} else if (open && READ_ONCE(tag->node->shut)) {
		err = -ESHUTDOWN;
	} else {
		oae_attach_add(tag, f);
		tag->used = true;
		if (open && oae_link_closed(&tag->link)) {
			open_here(tag, &ev);
			log_next(tag, &ev, OAE_EV_POST);
		}
	}
	leave(tag, &ev);
	return err;
}

/**
 * oae_tag_detach() - a file goes
 * @tag: its tag
 * @f: the file; what it has queued goes on without it
 *
 * With the last file what is unread is for noc_debug again. Context: process, no
 * lock held.
 */
void oae_tag_detach(struct oae_tag *tag, struct oae_file *f)
{
	struct oae_txn *txn, *next;
	struct event ev;
	LIST_HEAD(left);
	bool more;

	do {
		enter(tag, &ev);
		more = oae_attach_leave(tag, f, &left);
		if (!more) {
			ev.wake_reader = oae_attach_del(tag, f);
			ev.wake_writer = true;
		}
		leave(tag, &ev);
		/* Perhaps long: not under the lock. */
		list_for_each_entry_safe(txn, next, &left, list)
			oae_msg_put(container_of(txn, struct oae_msg, txn));
		INIT_LIST_HEAD(&left);
		cond_resched();
	} while (more);
}

/* The oldest unread transaction: its skbs, linked by ->next, or NULL. */
static struct sk_buff *take(struct oae_tag *tag)
{
	struct sk_buff *first = NULL, **link = &first, *skb;
	u32 n = 0;

	do {
		skb = __skb_dequeue(&tag->rcvq);
		if (!skb)
			break;
		if (!first)
			n = OAE_RCV_CB(skb)->nslices;
		tag->rcv_bytes -= skb->truesize;
		*link = skb;
		link = &skb->next;
	} while (--n);
	if (first)
		oae_add(&tag->nrcv, -1);
	return first;
}

/**
 * oae_tag_take() - take the oldest unread transaction
 * @tag: the tag, which the caller took off the list of those with some
 * @more: whether more is unread: the tag is on the list again, with the
 *	reference; if not, it announces itself anew
 *
 * One with a file attached has none for others. Context: process, no tag's lock
 * held.
 *
 * Return: its skbs, linked by ->next, or NULL.
 */
struct sk_buff *oae_tag_take(struct oae_tag *tag, bool *more)
{
	struct sk_buff *first = NULL;
	struct event ev;

	*more = false;
	enter(tag, &ev);
	if (list_empty(&tag->files)) {
		first = take(tag);
		*more = tag->nrcv;
	}
	if (*more)
		oae_inbox_again(tag);
	else
		tag->is_ready = false;
	if (oae_inbox_room(tag))
		oae_link_drained(&tag->link, ev.now, &ev.a);
	leave(tag, &ev);
	return first;
}

/**
 * oae_tag_read() - take the oldest unread transaction, for a file
 * @tag: the tag that the file is attached to
 * @max: bytes that it may have
 * @skb: its skbs, linked by ->next; NULL the tag is dead and all is read
 *
 * Context: process, no tag's lock held.
 *
 * Return: 0; -EAGAIN nothing is unread; -EMSGSIZE longer than that, and not
 * taken.
 */
int oae_tag_read(struct oae_tag *tag, size_t max, struct sk_buff **skb)
{
	struct sk_buff *first;
	struct event ev;
	int err = 0;

	*skb = NULL;
	enter(tag, &ev);
	first = skb_peek(&tag->rcvq);
	if (!first) {
		err = tag->dead ? 0 : -EAGAIN;
	} else if (OAE_RCV_CB(first)->len > max) {
		err = -EMSGSIZE;
	} else {
		*skb = take(tag);
		if (oae_inbox_room(tag))
			oae_link_drained(&tag->link, ev.now, &ev.a);
	}
	leave(tag, &ev);
	return err;
}

/**
 * oae_tag_unread() - give a transaction back that could not be read after all
 * @tag: the tag that the file is attached to
 * @skb: what oae_tag_read() gave: the next to be read again
 *
 * Context: process, no tag's lock held.
 */
void oae_tag_unread(struct oae_tag *tag, struct sk_buff *skb)
{
	struct sk_buff_head back;
	struct sk_buff *next;
	struct event ev;

	__skb_queue_head_init(&back);
	enter(tag, &ev);
	for (; skb; skb = next) {
		next = skb->next;
		tag->rcv_bytes += skb->truesize;
		__skb_queue_tail(&back, skb);
	}
	skb_queue_splice(&back, &tag->rcvq);
	oae_add(&tag->nrcv, 1);
	ev.wake_reader = true;
	leave(tag, &ev);
}

/*
 * A link that the peer has opened and that nobody has used, or is about to: it
 * may be that neither end wanted it (protocol 4.4).
 */
static void close_unused(struct oae_tag *tag, struct event *ev)
{
	u64 dead = READ_ONCE(tag->node->knobs.dead_ms) * (u64)NSEC_PER_MSEC;
	s64 age = ev->now - tag->accepted;

	if (likely(tag->used) || !tag->by_peer ||
	    age < (s64)(OAE_UNUSED_DEAD * dead) ||
	    !oae_link_idle(&tag->link) || tag->nrcv)
		return;
	oae_count(tag->node, OAE_S_NEVER_USED);
	apply(tag, ev, 0);
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
	struct event ev;

	/* A soft timer: BH is off, but that is not RCU to every kernel. */
	rcu_read_lock();
	begin(tag, &ev);
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
		ev.via = tag->way_via;
		oae_link_timer(&tag->link, ev.now, &ev.a);
		close_unused(tag, &ev);
		if (ev.a.nsends)
			log_next(tag, &ev, OAE_EV_TIMER);
	}
	end(tag, &ev, 0);
	rcu_read_unlock();
	return HRTIMER_NORESTART;
}

/**
 * oae_tag_close() - close a tag's link once what is in flight has ended
 * @tag: the tag
 *
 * Context: any but hard interrupts, no lock held.
 */
void oae_tag_close(struct oae_tag *tag)
{
	struct event ev;

	enter(tag, &ev);
	oae_link_close(&tag->link, ev.now, &ev.a);
	/* If the node is shut, whoever waits for room is told, open or not. */
	oae_attach_shut(tag);
	ev.wake_writer = true;
	leave(tag, &ev);
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
	struct event ev;
	bool more;

	enter(tag, &ev);
	oae_link_kill(&tag->link, err, ev.now, &ev.a);
	apply(tag, &ev, 0);
	flush_queues(tag, err);
	oae_tag_retire(tag, true);
	leave(tag, &ev);
	/* Nothing is queued on the dead: so much, and no more. */
	do {
		cond_resched();
		enter(tag, &ev);
		more = !list_empty(&tag->flushq);
		leave(tag, &ev);
	} while (more);
}

/* All that is unread, and how many transactions. */
static unsigned int drop_unread(struct oae_tag *tag, struct sk_buff_head *lost)
{
	unsigned int n = tag->nrcv;

	skb_queue_splice_init(&tag->rcvq, lost);
	tag->rcv_bytes = 0;
	WRITE_ONCE(tag->nrcv, 0);
	return n;
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
	struct event ev;

	__skb_queue_head_init(&lost);
	enter(tag, &ev);
	if (tag->spare != spare) {
		;
	} else if (spare == OAE_SPARE_DEAD) {
		oae_count_n(tag->node, OAE_S_UNREAD_LOST,
			    drop_unread(tag, &lost));
	} else {
		oae_count(tag->node, OAE_S_GAVE_WAY);
		oae_link_kill(&tag->link, OAE_E_DOWN, ev.now, &ev.a);
		apply(tag, &ev, 0);
		flush_queues(tag, OAE_E_DOWN);
		oae_tag_retire(tag, true);
	}
	leave(tag, &ev);
	__skb_queue_purge(&lost);
}

/**
 * oae_tag_port_up() - the tag's port carries frames again
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_port_up(struct oae_tag *tag)
{
	struct event ev;

	enter(tag, &ev);
	oae_link_port_up(&tag->link, ev.now, &ev.a);
	leave(tag, &ev);
}

/**
 * oae_tag_port_down() - the tag's port carries no frames
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_port_down(struct oae_tag *tag)
{
	struct event ev;

	enter(tag, &ev);
	oae_link_port_down(&tag->link, ev.now, &ev.a);
	leave(tag, &ev);
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
	struct event ev;

	enter(tag, &ev);
	if (!oae_link_down(&tag->link) && !oae_link_closed(&tag->link)) {
		oae_link_settle(&tag->link, ev.now + ns, ev.now, &ev.a);
		if (!tag->settling) {
			tag->settling = true;
			atomic_inc(&tag->key.port->nsettling);
		}
	}
	leave(tag, &ev);
}

/**
 * oae_tag_renamed() - the tag's port has another address
 * @tag: the tag. Context: any but hard interrupts, no lock held.
 */
void oae_tag_renamed(struct oae_tag *tag)
{
	struct event ev;

	enter(tag, &ev);
	rank(tag);
	oae_link_renamed(&tag->link, ev.now, &ev.a);
	leave(tag, &ev);
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
	struct event ev;

	enter(tag, &ev);
	if (about)
		tag->about = *about;
	oae_path_update(tag, ev.now, &ev.a);
	ev.via = tag->way_via;
	leave(tag, &ev);
}
