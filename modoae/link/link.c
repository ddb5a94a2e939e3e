// SPDX-License-Identifier: GPL-2.0
/*
 * The link's events: each is passed to the file that has its rules. Pure, see
 * link.h.
 */
#include "link_int.h"

/**
 * oae_link_init() - initialise a link, CLOSED
 * @l: the link
 * @cfg: values of the knobs, until the next oae_link_use()
 * @vc: virtual channel
 * @mtu: bytes after the Ethernet header, OAE_MIN_MTU or more
 * @start: tx before the first transaction
 */
void oae_link_init(struct oae_link *l, const struct oae_link_cfg *cfg, u8 vc,
		   u16 mtu, u32 start)
{
	memset(l, 0, sizeof(*l));
	l->cfg = cfg;
	l->vc = vc;
	l->mtu.here = mtu;
	l->start = start;
	l->tx = start;
	l->peer.rx = start;
	l->window = cfg->window ? cfg->window : 1;
	l->win = 1;
	l->packs = cfg->pack;
	l->paths = cfg->paths;
}

/**
 * oae_link_rank() - set the rank of this end, by addresses
 * @l: the link
 * @higher: this end's address is the higher one
 *
 * It decides which end is the senior, whose offer stands if two swaps cross (protocol
 * 4.9), unless their incarnations do.
 */
void oae_link_rank(struct oae_link *l, bool higher)
{
	l->rank = higher;
	oae_set_senior(l);
}

/*
 * A CLOSE at a frozen end: the peer may refuse the link as such (protocol 4.6). It
 * refuses a SYNC that named what this end knows of it. One that answers an earlier SYNC
 * is late: this end has heard of an end there since, which may have the link by now.
 */
static void link_rcv_turned_away(struct oae_link *l, const struct oae_frame *f,
				 struct oae_actions *a)
{
	if (f->dst_ltag == l->ltag && f->src_ltag == l->peer.ltag && f->reason)
		oae_link_end(l, OAE_E_REFUSED, a);
	else
		oae_note(a, OAE_N_FROZEN);
}

static void link_rcv_commit(struct oae_link *l, const struct oae_frame *f,
			    struct oae_actions *a)
{
	/* DONE says what is granted. If that is nothing, READY follows. */
	if (f->marks & OAE_M_BLOCKED)
		l->credit.due = l->credit.granted < OAE_GRANT_UNIT;
	if (f->flags & OAE_F_WANT_DONE && oae_dist(f->tx, l->rx) >= 0)
		oae_send(l, a, OAE_DONE)->frame.seq = l->rx;
}

/* The numbers that a frame has, or tells of. False: the link froze. */
static bool link_rcv_number(struct oae_link *l, const struct oae_frame *f, u64 now,
			    struct oae_actions *a)
{
	u32 acked = l->number.acked;

	if (!oae_number_rcv(l, f)) {
		oae_freeze(l, OAE_N_IMPOSSIBLE, now, a);
		return false;
	}
	if (l->number.acked != acked)
		oae_timer_answered(l, now);
	if (l->mtu.search && oae_is_answer(f->opcode) && oae_mtu_heard(l, f, now, a)) {
		oae_freeze(l, OAE_N_PORT, now, a);
		return false;
	}
	return true;
}

static void link_rcv_data(struct oae_link *l, const struct oae_frame *f, u64 now,
			  struct oae_actions *a)
{
	if (l->state != OAE_OPEN && !oae_resolve_by_data(l, f, now, a)) {
		if (f->opcode == OAE_CLOSE)
			link_rcv_turned_away(l, f, a);
		else
			oae_note(a, OAE_N_FROZEN);
		return;
	}
	if (f->dst_ltag != l->ltag || f->src_ltag != l->peer.ltag) {
		oae_note(a, OAE_N_OLD_RUN);
		return;
	}
	if (f->opcode == OAE_CLOSE_ACK) {
		/* The peer may have forgotten its counters: do not look at them. */
		if (l->closing && l->close_sent == OAE_CLOSING_LAST)
			oae_link_end(l, OAE_E_SHUTDOWN, a);
		else
			oae_note(a, OAE_N_OLD_SEQ);
		return;
	}
	if (f->opcode == OAE_CLOSE && f->reason) {
		/* The peer has no link; its answer to the next SYNC decides. */
		oae_freeze(l, OAE_N_NOLINK, now, a);
		return;
	}
	if (!oae_run_progress(l, f, now, a))
		return;
	if (!link_rcv_number(l, f, now, a))
		return;

	switch (f->opcode) {
	case OAE_OFFER:
		oae_rcv_offer(l, f, now, a);
		break;
	case OAE_ASK:
		oae_rcv_ask(l, f, a);
		if (f->length)
			oae_mtu_asked(l, f, now, a);
		break;
	case OAE_REFLECT:
		oae_rcv_reflect(l, f, now, a);
		break;
	case OAE_ACK:
		oae_rcv_ack(l, f, now, a);
		break;
	case OAE_REFUSE:
		oae_rcv_refuse(l, f, now, a);
		break;
	case OAE_COMMIT:
		link_rcv_commit(l, f, a);
		break;
	case OAE_DONE:
		oae_offer_done(l, f->rx);
		break;
	case OAE_READY:
		oae_offer_ready(l);
		break;
	case OAE_CLOSE:
		oae_rcv_close(l, f, now, a);
		break;
	}
}

/**
 * oae_link_rcv() - handle a received frame
 * @l: the link
 * @f: the frame, parsed and verified
 * @room: bytes that the inbox has free; each slice there costs OAE_SLICE_COST beside its own
 * @now: ns
 * @a: actions
 */
void oae_link_rcv(struct oae_link *l, const struct oae_frame *f, u32 room,
		  u64 now, struct oae_actions *a)
{
	now = oae_now(l, now);
	if (l->state == OAE_CLOSED) {
		oae_note(a, OAE_N_OLD_RUN);
		return;
	}
	oae_credit_free(l, room);

	switch (f->opcode) {
	case OAE_SYNC:
		oae_rcv_sync(l, f, now, a);
		break;
	case OAE_SYNC_ACK:
		oae_rcv_sync_ack(l, f, now, a);
		break;
	case OAE_SYNC_CHK:
		oae_rcv_sync_chk(l, f, now, a);
		break;
	case OAE_NOLINK:
		if (l->state == OAE_OPEN && f->dst_ltag == l->ltag)
			oae_freeze(l, OAE_N_NOLINK, now, a);
		else
			oae_note(a, OAE_N_OLD_RUN);
		break;
	case OAE_HELLO:
	case OAE_PATH:		/* whoever has the paths takes it before */
		oae_note(a, OAE_N_IDLE_HELLO);
		break;
	default:
		link_rcv_data(l, f, now, a);
	}
	oae_finish(l, now, a);
}

static bool link_takes_posts(const struct oae_link *l)
{
	return l->state != OAE_CLOSED && !l->closing && !l->peer.closing;
}

/**
 * oae_link_wants() - is there room for a post that is no half?
 * @l: the link
 *
 * Return: true if oae_link_post() would take such a post.
 */
bool oae_link_wants(const struct oae_link *l)
{
	return link_takes_posts(l) && !l->next_valid;
}

/**
 * oae_link_wants_half() - is there room for a half?
 * @l: the link
 *
 * Return: true if oae_link_post() would take a half.
 */
bool oae_link_wants_half(const struct oae_link *l)
{
	return link_takes_posts(l) && l->swaps && l->half.state == OAE_HALF_NONE;
}

/* The place where a post waits for its turn; NULL: the place is taken. */
static struct oae_post *link_waiting_place(struct oae_link *l, u8 kind)
{
	if (kind == OAE_SWAP)
		return l->swaps && l->half.state == OAE_HALF_NONE ? &l->swaps->half : NULL;
	return l->next_valid ? NULL : &l->next;
}

/**
 * oae_link_post() - offer a transaction, now or when its turn comes (protocol 4.1)
 * @l: the link
 * @p: the post; copied
 * @now: ns
 * @a: actions
 *
 * Return: 0; -ENOTCONN the link is CLOSED; -ESHUTDOWN or -EPIPE it is closing, by
 * this end or by the peer; -EAGAIN another post waits already, or there is no memory lent
 * for a half; -EINVAL no slices, or too many, or flags that are not of its kind.
 */
int oae_link_post(struct oae_link *l, const struct oae_post *p, u64 now,
		  struct oae_actions *a)
{
	struct oae_post *place;

	if (!p->nslices || p->nslices > OAE_MAX_SLICES)
		return -EINVAL;
	if (p->kind != OAE_MESSAGE && p->flags & OAE_POST_EXPRESS)
		return -EINVAL;
	if (p->kind != OAE_VERB && p->flags & OAE_POST_JOINED)
		return -EINVAL;
	if (l->state == OAE_CLOSED)
		return -ENOTCONN;
	if (l->closing)
		return -OAE_E_SHUTDOWN;
	if (l->peer.closing)
		return -OAE_E_PEER_CLOSED;
	place = link_waiting_place(l, p->kind);
	if (!place)
		return -EAGAIN;
	now = oae_now(l, now);

	if (l->down && !oae_has_posts(l)) {
		/* The peer may be back: do not wait for the long interval. */
		l->asked_at = now;
		oae_ask(l, now, a);
	}
	*place = *p;
	if (p->kind == OAE_SWAP) {
		l->half.state = OAE_HALF_POSTED;
		l->half.again = false;
		l->half.refused = false;
		l->swaps->posted_at = now;
		l->swaps->cancelled = 0;
	} else {
		l->next_valid = true;
	}
	oae_finish(l, now, a);
	return 0;
}

/**
 * oae_link_ready() - words are free: READY, if the peer was refused for now
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_link_ready(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN || !l->ready_due || l->settle_until)
		return;
	now = oae_now(l, now);
	oae_hold_ready(l, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_port_up() - handle that the port carries frames again
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_link_port_up(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (!oae_frozen(l))
		return;
	now = oae_now(l, now);
	l->backoff = 0;
	oae_mtu_forget(l);
	oae_ask(l, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_port_down() - freeze an OPEN link: the port carries no frames
 * @l: the link
 * @now: ns
 * @a: actions
 */
void oae_link_port_down(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN)
		return;
	now = oae_now(l, now);
	oae_freeze(l, OAE_N_PORT, now, a);
	oae_finish(l, now, a);
}

/**
 * oae_link_set_mtu() - set the MTU of the link's way
 * @l: the link
 * @mtu: bytes after the Ethernet header, OAE_MIN_MTU or more
 * @now: ns
 * @a: actions
 *
 * If the MTU changes an OPEN link freezes (protocol 4.8), so that the peer learns
 * the MTU and what is in flight is cut anew.
 */
void oae_link_set_mtu(struct oae_link *l, u16 mtu, u64 now,
		      struct oae_actions *a)
{
	if (l->mtu.here == mtu)
		return;
	l->mtu.here = mtu;
	oae_mtu_forget(l);
	oae_link_port_down(l, now, a);
}

/* Another length is carried: a shorter one needs a freeze, since what is offered is cut anew. */
static void link_turned(struct oae_link *l, u16 was, u64 now, struct oae_actions *a)
{
	if (l->state != OAE_OPEN)
		return;
	if (oae_link_slice_max(l) < was) {
		oae_link_port_down(l, now, a);
		return;
	}
	now = oae_now(l, now);
	oae_mtu_changed(l);
	oae_finish(l, now, a);
}

/**
 * oae_link_set_far() - set what the peer carries by the path in use, as it has said there
 * @l: the link
 * @far: bytes behind the Ethernet header; 0 it has not said it
 * @now: ns
 * @a: actions
 */
void oae_link_set_far(struct oae_link *l, u16 far, u64 now, struct oae_actions *a)
{
	u16 was = oae_link_slice_max(l);

	if (!far || far == l->mtu.there || !l->mtu.there)
		return;
	l->mtu.there = far;
	link_turned(l, was, now, a);
}

/**
 * oae_link_go_by() - the link goes by another path (protocol 4.14)
 * @l: the link
 * @c: what that carries
 * @now: ns
 * @a: actions
 *
 * An OPEN link freezes if that is less than before.
 */
void oae_link_go_by(struct oae_link *l, const struct oae_carries *c, u64 now,
		    struct oae_actions *a)
{
	u16 was = oae_link_slice_max(l);

	oae_mtu_forget(l);
	l->mtu.here = c->mtu;
	l->mtu.path = c->pmtu;
	l->mtu.path_at = c->pmtu_at;
	if (c->far && l->mtu.there)
		l->mtu.there = c->far;
	link_turned(l, was, now, a);
}
