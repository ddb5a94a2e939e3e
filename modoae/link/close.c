// SPDX-License-Identifier: GPL-2.0
/*
 * Closing (doc/protocol.md section 4.7), settling (4.5), and the end of a link. Pure,
 * see link.h.
 *
 * CLOSE says up to which number this end holds all, and that it takes none above that: the peer
 * reverses those. What is in flight here ends, and what is committed is confirmed; then CLOSE says
 * LAST. The peer answers once it has nothing undecided, too, and both ends forget the link.
 */
#include "link_int.h"

/**
 * oae_link_end() - end the link at once: it becomes CLOSED
 * @l: the link
 * @err: error for the writers of reversed transactions, positive errno
 * @a: actions
 */
void oae_link_end(struct oae_link *l, int err, struct oae_actions *a)
{
	struct oae_pair **pair = l->pair;
	struct oae_swaps *swaps = l->swaps;
	u8 npairs = l->npairs;
	unsigned int i;
	bool rank;

	/* Its numbers are void, so nothing is offered in place of what is dropped. */
	l->state = OAE_CLOSED;
	oae_offer_drop_all(l, err, a);
	if (oae_express_out(l))
		oae_offer_drop(l, l->tx + 1, OAE_UNKNOWN, OAE_E_UNKNOWN, a);
	oae_drop_posts(l, err, a);
	oae_forget_run(l, a);
	oae_note(a, OAE_N_GONE);
	rank = l->rank;
	oae_link_init(l, l->cfg, l->vc, l->mtu.here, l->start);
	oae_link_rank(l, rank);
	l->swaps = swaps;
	if (pair) {
		for (i = 0; i < npairs; i++)
			memset(pair[i], 0, sizeof(*pair[i]));
		l->pair = pair;
		l->npairs = npairs;
	}
	oae_op(a, OAE_OP_GONE);
}

/**
 * oae_close_drop() - reverse what waits for words, for credit, or for its turn
 * @l: the link, OPEN, closed here or by the peer
 * @a: actions
 */
void oae_close_drop(struct oae_link *l, struct oae_actions *a)
{
	const struct oae_lane *n;
	int err = oae_close_err(l);
	u32 seq;

	for (seq = l->tx + l->nlanes; seq != l->tx; seq--) {
		n = oae_lane(l, seq);
		if (n->p.kind == OAE_VOID || (n->state != OAE_OFFER_PARKED &&
					      n->state != OAE_OFFER_QUEUED))
			continue;
		if (oae_lane_reversible(n))
			oae_offer_drop(l, seq, OAE_REVERSED, err, a);
		else
			oae_lane_recall(l, seq, err);
	}
	if (oae_half_idle(l))
		oae_half_drop(l, OAE_REVERSED, err, a);
}

/* Is all that this end has offered decided, and its delivery known? */
static bool close_done(const struct oae_link *l)
{
	return !l->nlanes && oae_link_all_confirmed(l);
}

/* Send CLOSE, unless that was said in this run, and is not to be repeated yet. */
static void close_say(struct oae_link *l, u64 now, struct oae_actions *a)
{
	enum oae_closing says = close_done(l) ? OAE_CLOSING_LAST : OAE_CLOSING_SAID;
	bool again = l->close_sent == says;
	struct oae_send *s;

	if (again && now < l->again_at)
		return;
	oae_repeat(l, again, now);
	l->close_sent = says;
	s = oae_send(l, a, OAE_CLOSE);
	s->frame.seq = oae_hold_stop(l, a);
	if (says == OAE_CLOSING_LAST)
		s->frame.flags = OAE_F_LAST;
	/* Probe, too: a peer in another run drops the CLOSE. */
	if (again)
		oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
	if (!l->asked_at && (again || says == OAE_CLOSING_LAST))
		l->asked_at = now;
}

/**
 * oae_close_step() - continue closing, as far as what is in flight allows
 * @l: the link, OPEN, closed here or by the peer
 * @now: ns
 * @a: actions
 */
void oae_close_step(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!l->nlanes && !oae_link_all_confirmed(l) &&
	    !(l->await_done && l->done_seq == l->tx)) {
		oae_await_done(l, now);
		oae_send_commit(l, false, a);
	}
	if (l->peer.closing == OAE_CLOSING_LAST && close_done(l) && !l->nheld) {
		oae_send(l, a, OAE_CLOSE_ACK);
		oae_link_end(l, OAE_E_PEER_CLOSED, a);
	} else if (l->closing) {
		close_say(l, now, a);
	}
}

/* The peer takes no number above @last in this run: its content is reversed, and it is not used. */
static void close_cut(struct oae_link *l, u32 last, struct oae_actions *a)
{
	const struct oae_lane *n;
	int err = oae_close_err(l);
	u32 seq;

	/* From the top, so that nothing moves that is yet to be looked at. */
	for (seq = l->tx + l->nlanes; oae_dist(last, seq) > 0; seq--) {
		n = oae_lane(l, seq);
		if (seq - l->tx <= l->given) {
			oae_credit_void(l, seq);
			l->given--;
		}
		if (n->p.kind != OAE_VOID) {
			oae_offer_drop(l, seq, OAE_REVERSED, err, a);
			continue;
		}
		if (n->recalled)
			oae_complete(a, n->p.handle, OAE_REVERSED,
				     n->recalled == OAE_RECALL_BACK ? err : n->recalled);
		else if (n->state != OAE_OFFER_REFLECTED && l->nvoid)
			l->nvoid--;
		oae_lane_clear(l, seq);
	}
}

/**
 * oae_rcv_close() - handle CLOSE without a reason (protocol 4.7)
 * @l: the link, OPEN; the frame is of this run
 * @f: the frame
 * @now: ns
 * @a: actions
 */
void oae_rcv_close(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a)
{
	/* It holds what was offered in this run. */
	if (f->seq - l->tx > l->given) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return;
	}
	l->active_at = now;
	if (!l->peer.closing)
		oae_drop_posts(l, OAE_E_PEER_CLOSED, a);
	if (f->flags & OAE_F_LAST)
		l->peer.closing = OAE_CLOSING_LAST;
	else if (!l->peer.closing)
		l->peer.closing = OAE_CLOSING_SAID;
	close_cut(l, f->seq, a);
}

/**
 * oae_drop_posts() - reverse the posts that wait: the link is closing, down, or gone
 * @l: the link
 * @err: error for the writers, positive errno
 * @a: actions
 */
void oae_drop_posts(struct oae_link *l, int err, struct oae_actions *a)
{
	while (l->naside)
		oae_offer_drop_aside(l, 0, err, a);
	oae_offer_drop_next(l, err, a);
	if (oae_half_idle(l))
		oae_half_drop(l, OAE_REVERSED, err, a);
	oae_op(a, OAE_OP_FLUSH)->err = err;
}

/**
 * oae_link_close() - begin to close the link (protocol 4.7)
 * @l: the link
 * @now: ns
 * @a: actions; OAE_OP_GONE comes now or with a later event
 */
void oae_link_close(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED || l->closing)
		return;
	now = oae_now(l, now);
	oae_note(a, OAE_N_CLOSE);
	oae_drop_posts(l, OAE_E_SHUTDOWN, a);
	l->closing = true;
	/* Never open, or down: there is no peer to wait for. */
	if (!l->peer.inc || l->down)
		oae_link_end(l, OAE_E_SHUTDOWN, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_settle() - settle, before the address changes (protocol 4.5)
 * @l: the link
 * @until: end of settling, whether or not the link has settled, ns
 * @now: ns
 * @a: actions
 *
 * Until then nothing new is offered or taken. What is committed is confirmed, and the
 * peer is asked whether it knows that an express was delivered. The link has settled
 * once oae_link_in_doubt() returns false.
 */
void oae_link_settle(struct oae_link *l, u64 until, u64 now,
		     struct oae_actions *a)
{
	if (l->state == OAE_CLOSED)
		return;
	now = oae_now(l, now);
	l->settle_until = until;
	if (l->state == OAE_OPEN && l->unseen) {
		if (!l->asked_at)
			l->asked_at = now;
		oae_send_sync(l, OAE_SYNC, l->peer.ltag, a);
	}
	oae_offer_confirm(l, now);
	oae_finish(l, now, a);
}

/**
 * oae_link_leave() - the port is about to go down, or to be gone, and carries frames yet
 *	(protocol 4.5)
 * @l: the link
 * @until: end of that, should the link not freeze, ns
 * @now: ns
 * @a: actions
 *
 * The last commit is said once more, since nobody may be able to say it afterwards. For
 * the same reason nothing is committed from now on, and nothing new offered or taken, until
 * the link freezes.
 */
void oae_link_leave(struct oae_link *l, u64 until, u64 now,
		    struct oae_actions *a)
{
	if (l->state != OAE_OPEN)
		return;
	now = oae_now(l, now);
	l->leaving = true;
	l->settle_until = until;
	if (!oae_link_all_confirmed(l))
		oae_await_done(l, now);
	oae_send_commit(l, false, a);
	oae_finish(l, now, a);
}

/**
 * oae_settled() - end settling: take new transactions again
 * @l: the link, OPEN or frozen
 * @now: ns
 * @a: actions
 */
void oae_settled(struct oae_link *l, u64 now, struct oae_actions *a)
{
	l->settle_until = 0;
	l->leaving = false;
	oae_hold_ready(l, now, a);
}

/**
 * oae_link_go_on() - end settling, since the link goes on with the new address
 * @l: the link
 * @now: ns
 * @a: actions
 *
 * A frozen link offers and takes again as soon as it resolves.
 */
void oae_link_go_on(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state == OAE_CLOSED || !l->settle_until)
		return;
	now = oae_now(l, now);
	oae_settled(l, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_kill() - end the link at once, without telling the peer
 * @l: the link
 * @err: error for the writers of reversed transactions, positive errno
 * @now: ns
 * @a: actions
 */
void oae_link_kill(struct oae_link *l, int err, u64 now,
		   struct oae_actions *a)
{
	now = oae_now(l, now);
	if (l->state != OAE_CLOSED)
		oae_link_end(l, err, a);
	oae_finish(l, now, a);
}
