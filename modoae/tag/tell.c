// SPDX-License-Identifier: GPL-2.0
/*
 * Telling users: the outcome of a message, what happened to a link, and that there
 * is something to read or room to write. Whoever sleeps is woken after the event,
 * when tag->lock has been dropped.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "event.h"

#include <linux/etherdevice.h>
#include <linux/poll.h>

#include "../base/trace.h"

/**
 * oae_tell_ended() - the outcome of a message is known
 * @tag: its tag, locked
 * @ev: the event
 * @msg: the message, in no queue, which the link has not or has no more
 * @outcome: enum oae_outcome
 * @err: why it is not committed, positive errno; 0 it is
 */
void oae_tell_ended(struct oae_tag *tag, struct oae_run *ev,
		    struct oae_msg *msg, u8 outcome, int err)
{
	struct oae_node *node = tag->node;

	msg->outcome = outcome;
	msg->err = err;
	msg->t_end = ev->now;
	list_add_tail(&msg->list, &ev->done);
	if (msg->txn.client && oae_attach_ended(tag, msg))
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

/* The kernel log, where a person may want to know: see the knob verbose. */
static void tell_say(const struct oae_tag *tag, enum oae_note note)
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

/**
 * oae_tell_note() - something happened to a link: counted, logged, told
 * @tag: its tag, locked
 * @ev: the event
 * @note: what
 */
void oae_tell_note(struct oae_tag *tag, struct oae_run *ev, enum oae_note note)
{
	struct oae_msg *msg;

	oae_count(tag->node, OAE_S_NOTE + note);
	switch (note) {
	case OAE_N_OFFERED:
		msg = oae_link_offered(&tag->link);
		msg->t_offer = ev->now;
		break;
	case OAE_N_HELD:
	case OAE_N_LENT:
		break;
	default:
		oae_evlog_add(tag->node, ev->now, tag->key.kid, OAE_EV_NOTE,
			      note, ev->before, oae_link_state(&tag->link),
			      oae_link_tx(&tag->link));
		tell_say(tag, note);
		oae_attach_note(tag, note);
	}
}

static void tell_readers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	/* Seen to have no file, or one: who comes or goes looks for itself. */
	if (!list_empty(&tag->files))
		oae_attach_readable(tag);
	else if (wq_has_sleeper(&node->noc_wait))
		wake_up_poll(&node->noc_wait, EPOLLIN | EPOLLRDNORM);
}

static void tell_writers(struct oae_tag *tag)
{
	struct oae_node *node = tag->node;

	oae_attach_writable(tag);
	if (wq_has_sleeper(&node->noc_wait))
		wake_up_poll(&node->noc_wait, EPOLLOUT | EPOLLWRNORM);
}

/**
 * oae_tell_all() - wake whoever an event concerns
 * @tag: the tag, not locked any more
 * @ev: the event
 *
 * Context: BH off, RCU read lock held since the event began.
 */
void oae_tell_all(struct oae_tag *tag, struct oae_run *ev)
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
