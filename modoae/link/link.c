// SPDX-License-Identifier: GPL-2.0
/*
 * The link's events: each is passed to the file that has its rules. Pure, see
 * link.h.
 */
#include "link_int.h"

/**
 * oae_op() - add an op to the actions
 * @a: actions
 * @type: type of the op
 *
 * Return: the op; the caller sets the members that its type uses.
 */
struct oae_op *oae_op(struct oae_actions *a, enum oae_op_type type)
{
	struct oae_op *op;

	if (a->nops == OAE_MAX_OPS && a->full)
		a->full(a);
	if (a->nops == OAE_MAX_OPS) {
		a->overflow = true;
		a->nops--;
	}
	op = &a->op[a->nops++];
	op->type = type;
	return op;
}

/**
 * oae_note() - add a note to the actions, to be counted and logged
 * @a: actions
 * @note: the note
 */
void oae_note(struct oae_actions *a, enum oae_note note)
{
	oae_op(a, OAE_OP_NOTE)->note = note;
}

/**
 * oae_notes() - add a note that counts more than once
 * @a: actions
 * @note: the note
 * @n: how often, may be 0
 */
void oae_notes(struct oae_actions *a, enum oae_note note, u32 n)
{
	while (n--)
		oae_note(a, note);
}

/**
 * oae_note_of() - add a note about a transaction
 * @a: actions
 * @note: the note
 * @handle: of the transaction
 */
void oae_note_of(struct oae_actions *a, enum oae_note note, void *handle)
{
	struct oae_op *op = oae_op(a, OAE_OP_NOTE);

	op->note = note;
	op->handle = handle;
}

/**
 * oae_complete() - add the outcome of a transaction to the actions
 * @a: actions
 * @handle: of the transaction
 * @outcome: the outcome
 * @err: why it is not committed, positive errno; 0 if it is
 */
void oae_complete(struct oae_actions *a, void *handle,
		  enum oae_outcome outcome, int err)
{
	struct oae_op *op = oae_op(a, OAE_OP_COMPLETE);

	op->handle = handle;
	op->outcome = outcome;
	op->err = err;
}

/**
 * oae_send() - add a frame to the actions, with counters and ltags filled in
 * @l: the link
 * @a: actions
 * @opcode: opcode of the frame
 *
 * Return: the send. The caller sets what only some opcodes have (body, handle,
 * slices, and the number of an OFFER); all other fields of the header are 0.
 */
struct oae_send *oae_send(struct oae_link *l, struct oae_actions *a,
			  enum oae_opcode opcode)
{
	struct oae_send *s;
	struct oae_frame *f;

	if (a->nsends == OAE_MAX_SENDS) {
		a->overflow = true;
		a->nsends--;
	}
	s = &a->send[a->nsends++];
	f = &s->frame;
	/* No memset(): most of a frame is a body that few opcodes have. */
	f->opcode = opcode;
	f->vc = l->vc;
	f->flags = 0;
	f->kind = 0;
	f->hdr_len = OAE_HDR_LEN;
	f->length = 0;
	f->slice = 0;
	f->grant = l->granted / OAE_GRANT_UNIT;
	f->reason = 0;
	f->marks = 0;
	f->src_ltag = l->ltag;
	f->dst_ltag = l->peer_ltag;
	f->tx = l->tx;
	f->rx = l->rx;
	f->seq = 0;
	f->pn = 0;
	f->map = 0;
	f->payload_hash = 0;
	if (opcode == OAE_COMMIT || opcode == OAE_ASK)
		f->pn = oae_number_next(l, 1);
	else if (oae_is_answer(opcode))
		oae_number_says(l, f);
	return s;
}

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
	l->mtu = mtu;
	l->start = start;
	l->tx = start;
	l->peer_rx = start;
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
	if (f->dst_ltag == l->ltag && f->src_ltag == l->peer_ltag && f->reason)
		oae_link_end(l, OAE_E_REFUSED, a);
	else
		oae_note(a, OAE_N_FROZEN);
}

static void link_rcv_commit(struct oae_link *l, const struct oae_frame *f,
			    struct oae_actions *a)
{
	/* DONE says what is granted. If that is nothing, READY follows. */
	if (f->marks & OAE_M_BLOCKED)
		l->credit_due = l->granted < OAE_GRANT_UNIT && !l->closing;
	if (f->flags & OAE_F_WANT_DONE && oae_dist(f->tx, l->rx) >= 0)
		oae_send(l, a, OAE_DONE)->frame.seq = l->rx;
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
	if (f->dst_ltag != l->ltag || f->src_ltag != l->peer_ltag) {
		oae_note(a, OAE_N_OLD_RUN);
		return;
	}
	if (f->opcode == OAE_CLOSE_ACK) {
		/* The peer may have forgotten its counters: do not look at them. */
		if (oae_close_out(l))
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
	if (!oae_number_rcv(l, f, now, a))
		return;
	if (l->search && oae_is_answer(f->opcode) && !oae_mtu_heard(l, f, now, a))
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
		if (!l->peer_closing)
			oae_drop_posts(l, OAE_E_PEER_CLOSED, a);
		l->peer_closing = true;
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
	return l->state != OAE_CLOSED && !l->closing && !l->peer_closing;
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
	if (l->peer_closing)
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
 * oae_link_ask() - say where this end stands, and have the peer answer
 * @l: the link
 * @a: actions
 */
void oae_link_ask(struct oae_link *l, struct oae_actions *a)
{
	struct oae_send *s;

	if (l->state != OAE_OPEN)
		return;
	s = oae_send(l, a, OAE_COMMIT);
	s->frame.seq = l->tx;
	s->frame.flags |= OAE_F_WANT_DONE;
	if (l->blocked)
		s->frame.marks = OAE_M_BLOCKED;
}
