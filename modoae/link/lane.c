// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes: what is offered under the numbers of this end's window (doc/protocol.md
 * section 4.11), and how a content leaves its number. Pure, see link.h.
 *
 * The numbers above tx that have a content are tx + 1 to tx + nlanes. Of these, `given`
 * were offered in this run: their numbers are fixed. By the state of a lane:
 *
 *   NONE       nothing is offered under the number
 *   QUEUED     to be offered, for the first time in this run or again
 *   OUT        in flight; while frozen: resolving decides the outcome
 *   REFLECTED  the peer holds it; those below it are to be committed first
 *   PARKED     refused for lack of a free word, or since the peer settles: offered again on READY,
 *              or later.
 *              An express is in flight all the same
 *
 * The window of a run is the smaller of what both ends say in their SYNCs. The places for its
 * numbers are lent by the caller. A link that has no use for more than one number has none.
 */
#include "link_int.h"

/* Nothing, in place of what was reversed. */
static void lane_void_post(struct oae_post *p)
{
	u64 hash = oae_slice_hash("", 0, 0);

	memset(p, 0, sizeof(*p));
	p->digest = oae_whole_digest(&hash, 1);
	p->nslices = 1;
	p->kind = OAE_VOID;
}

/**
 * oae_lane_append() - put a content under the next number
 * @l: the link, with a place that is free
 * @p: the content; copied
 *
 * Return: its lane, QUEUED.
 */
struct oae_lane *oae_lane_append(struct oae_link *l, const struct oae_post *p)
{
	struct oae_lane *n = oae_lane(l, l->tx + ++l->nlanes);

	n->p = *p;
	n->state = OAE_OFFER_QUEUED;
	n->due = OAE_DUE_NOT;
	n->again = false;
	n->ready = false;
	n->doubt = false;
	n->offered = false;
	n->recalled = 0;
	n->refused = 0;
	n->lacks = 0;
	n->rest = 0;
	return n;
}

/**
 * oae_lane_not_due() - a lane need not be offered again
 * @l: the link
 * @n: the lane
 */
void oae_lane_not_due(struct oae_link *l, struct oae_lane *n)
{
	if (n->due)
		l->ndue--;
	n->due = OAE_DUE_NOT;
}

/**
 * oae_lane_due() - a lane is to be offered again, by oae_offer_pump()
 * @l: the link
 * @n: the lane
 * @due: how, not OAE_DUE_NOT
 */
void oae_lane_due(struct oae_link *l, struct oae_lane *n, enum oae_due due)
{
	if (!n->due)
		l->ndue++;
	n->due = due;
}

/**
 * oae_lane_unpark() - a lane is about to leave PARKED, if it is
 * @l: the link
 * @n: the lane; the caller sets its state
 */
void oae_lane_unpark(struct oae_link *l, struct oae_lane *n)
{
	if (n->state == OAE_OFFER_PARKED && l->nparked)
		l->nparked--;
}

/*
 * Remove the content of a number. Those above it move down: their numbers are not
 * given, or not any more, since the link is frozen.
 */
static void lane_remove(struct oae_link *l, u32 seq)
{
	u32 last = l->tx + l->nlanes;
	struct oae_lane *n = oae_lane(l, seq), *next;

	l->mtu.too_long_at = 0;
	oae_lane_not_due(l, n);
	oae_lane_unpark(l, n);
	if (seq - l->tx <= l->given)
		l->given--;
	for (; seq != last; seq++, n = next) {
		next = oae_lane(l, seq + 1);
		*n = *next;
	}
	n->state = OAE_OFFER_NONE;
	n->due = OAE_DUE_NOT;
	l->nlanes--;
}

/* Offer nothing under a number that was given: it is reflected as any other (protocol 4.1). */
static void lane_void(struct oae_link *l, u32 seq)
{
	struct oae_lane *n = oae_lane(l, seq);

	oae_lane_unpark(l, n);
	lane_void_post(&n->p);
	n->recalled = 0;
	n->state = OAE_OFFER_QUEUED;
	n->refused = 0;
	n->doubt = false;
	n->ready = false;
	n->rest = 0;
	oae_lane_due(l, n, OAE_DUE_ALL);
}

/**
 * oae_lane_recall() - offer nothing in place of an express that was offered (protocol 4.3)
 * @l: the link
 * @seq: its number, of a lane that is not reversible
 * @err: what its writer is told if it was not delivered, positive errno; OAE_RECALL_BACK it is
 *	posted again
 *
 * The peer may have delivered it. What it says of its number tells; the caller pumps.
 */
void oae_lane_recall(struct oae_link *l, u32 seq, u16 err)
{
	struct oae_lane *n = oae_lane(l, seq);
	void *handle = n->p.handle;
	u8 confirm = n->p.flags & OAE_POST_CONFIRM;

	if (!n->recalled) {
		lane_void(l, seq);
		n->p.handle = handle;
		n->p.flags = confirm;
		/* Resolving offers it: it is in flight as before. */
		if (l->state != OAE_OPEN)
			n->state = OAE_OFFER_OUT;
	}
	/* The first reason is told. */
	if (!n->recalled || n->recalled == OAE_RECALL_BACK)
		n->recalled = err;
}

/**
 * oae_lane_clear() - take the content of a number away from it (protocol 4.1)
 * @l: the link
 * @seq: the number, of a lane with a content
 *
 * A number that was given keeps its place: nothing is offered under it instead. Otherwise the
 * contents above it move down.
 */
void oae_lane_clear(struct oae_link *l, u32 seq)
{
	if (l->state == OAE_OPEN && seq - l->tx <= l->given) {
		lane_void(l, seq);
		l->nvoid++;
	} else {
		lane_remove(l, seq);
	}
}

/**
 * oae_lane_find() - find the number of a post
 * @l: the link
 * @handle: of the post
 * @seq: the number, if there is one
 *
 * Return: true if the post is the content of a lane.
 */
bool oae_lane_find(const struct oae_link *l, const void *handle, u32 *seq)
{
	u32 last = l->tx + l->nlanes;

	for (*seq = l->tx; *seq != last;) {
		const struct oae_lane *n = oae_lane(l, ++*seq);

		if (n->p.handle == handle && (n->p.kind != OAE_VOID || n->recalled))
			return true;
	}
	return false;
}

/**
 * oae_lane_parked() - find the lowest number that is parked
 * @l: the link
 * @seq: the number, if there is one
 *
 * Return: true if something is parked.
 */
bool oae_lane_parked(const struct oae_link *l, u32 *seq)
{
	u32 last = l->tx + l->nlanes;

	for (*seq = l->tx; l->nparked && *seq != last;)
		if (oae_lane(l, ++*seq)->state == OAE_OFFER_PARKED)
			return true;
	return false;
}

/**
 * oae_lane_froze() - the run is over: nothing stands for what was reversed in it
 * @l: the link, frozen
 *
 * The numbers are given anew in the next run (protocol 4.5). A link that is down has
 * nothing to offer, then, if all of it was reversed.
 */
void oae_lane_froze(struct oae_link *l)
{
	u32 seq;

	/* From the top, so that nothing moves that is yet to be looked at. */
	for (seq = l->tx + l->nlanes; seq != l->tx; seq--) {
		const struct oae_lane *n = oae_lane(l, seq);

		if (n->p.kind == OAE_VOID && !n->recalled)
			lane_remove(l, seq);
	}
}

/**
 * oae_offer_requeue() - a new run: its numbers are given anew (protocol 4.5)
 * @l: the link, which resolves
 *
 * An express that was offered keeps its number, and the caller offers it at once.
 */
void oae_offer_requeue(struct oae_link *l)
{
	struct oae_lane *n;
	u32 seq;

	for (seq = l->tx + l->nlanes; seq != l->tx; seq--) {
		n = oae_lane(l, seq);
		oae_lane_not_due(l, n);
		n->offered = false;
		n->state = OAE_OFFER_QUEUED;
	}
	l->given = 0;
	l->nparked = 0;
	l->nvoid = 0;
}

/**
 * oae_offer_drop() - end a transaction that has a number
 * @l: the link
 * @seq: its number
 * @outcome: its outcome
 * @err: why it is not committed, positive errno
 * @a: actions
 *
 * If the number was given in this run, nothing is offered in its place; the caller
 * pumps. What the peer has computed above a verb may rest on that: all above it is posted again
 * then, in its order.
 */
void oae_offer_drop(struct oae_link *l, u32 seq, enum oae_outcome outcome, int err,
		    struct oae_actions *a)
{
	const struct oae_lane *n = oae_lane(l, seq);
	u32 i = seq - l->tx;

	oae_complete(a, n->p.handle, outcome, err);
	if (n->p.kind == OAE_SWAP)
		l->half.state = OAE_HALF_NONE;
	if (oae_kind_is(n->p.kind, OAE_T_RESTS) && l->state == OAE_OPEN && i <= l->given &&
	    i != l->nlanes)
		oae_offer_hand_back(l, seq + 1, false, a);
	oae_lane_clear(l, seq);
}

/**
 * oae_offer_drop_all() - reverse all that has a number and can be reversed
 * @l: the link
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop_all(struct oae_link *l, int err, struct oae_actions *a)
{
	const struct oae_lane *n;
	u32 seq;

	/* From the top, so that nothing moves. */
	for (seq = l->tx + l->nlanes; seq != l->tx; seq--) {
		n = oae_lane(l, seq);
		if (n->p.kind == OAE_VOID)
			continue;
		if (oae_lane_reversible(n))
			oae_offer_drop(l, seq, OAE_REVERSED, err, a);
	}
}

/**
 * oae_offer_withdraw() - take back the offer of a half: it is POSTED again
 * @l: the link; a half is offered
 */
void oae_offer_withdraw(struct oae_link *l)
{
	l->half.state = OAE_HALF_POSTED;
	oae_lane_clear(l, l->tx + 1);
}

/* A link that closes takes no post: there what would go back is reversed. */
static void lane_back(const struct oae_link *l, void *handle, bool refused,
		      struct oae_actions *a)
{
	struct oae_op *op;

	if (oae_link_closing(l)) {
		oae_complete(a, handle, OAE_REVERSED, oae_close_err(l));
		return;
	}
	op = oae_op(a, OAE_OP_BACK);
	op->handle = handle;
	op->refused = refused;
}

/**
 * oae_offer_next_back() - hand the post that waits behind the lanes back to the caller
 * @l: the link
 * @a: actions
 */
void oae_offer_next_back(struct oae_link *l, struct oae_actions *a)
{
	if (l->next_valid)
		lane_back(l, l->next.handle, false, a);
	l->next_valid = false;
}

/**
 * oae_offer_aside_back() - hand back what stepped aside, and the post behind it
 * @l: the link
 * @i: the first of those that stepped aside that is handed back
 * @a: actions
 */
void oae_offer_aside_back(struct oae_link *l, unsigned int i, struct oae_actions *a)
{
	oae_offer_next_back(l, a);
	for (; l->naside > i; l->naside--)
		lane_back(l, oae_aside(l, l->naside - 1)->handle, false, a);
}

/**
 * oae_offer_back() - hand a content that was alone back to the caller, and the post behind it
 * @l: the link
 * @handle: of the content
 * @a: actions
 */
void oae_offer_back(struct oae_link *l, void *handle, struct oae_actions *a)
{
	oae_offer_next_back(l, a);
	lane_back(l, handle, false, a);
}

/**
 * oae_offer_hand_back() - hand a content, and all above it, back to the caller
 * @l: the link
 * @seq: the number of the content
 * @refused: it was refused for good
 * @a: actions
 *
 * A pack, or joined verbs, that cannot be offered as they are become several contents. All
 * above keeps its place behind them, so it goes back, too, and is posted again (protocol
 * 4.12).
 */
void oae_offer_hand_back(struct oae_link *l, u32 seq, bool refused,
			 struct oae_actions *a)
{
	const struct oae_lane *n;
	u32 at;

	/* The last one first: each is put before those that went back already. */
	oae_offer_aside_back(l, 0, a);
	for (at = l->tx + l->nlanes; at != seq - 1; at--) {
		n = oae_lane(l, at);
		if (n->p.kind == OAE_VOID)
			continue;
		lane_back(l, n->p.handle, refused && at == seq, a);
		oae_lane_clear(l, at);
	}
}

/**
 * oae_offer_drop_next() - reverse the post that waits behind the offer, if any
 * @l: the link
 * @err: positive errno
 * @a: actions
 */
void oae_offer_drop_next(struct oae_link *l, int err, struct oae_actions *a)
{
	if (!l->next_valid)
		return;
	l->next_valid = false;
	oae_complete(a, l->next.handle, OAE_REVERSED, err);
}

/**
 * oae_window_limit() - how many numbers may be under way now
 * @l: the link
 *
 * Return: 1 without places.
 */
unsigned int oae_window_limit(const struct oae_link *l)
{
	if (!l->pair)
		return 1;
	return l->win < l->npairs ? l->win : l->npairs;
}

/**
 * oae_window_begin() - begin a run: its window is the smaller of both ends'
 * @l: the link, about to be OPEN
 */
void oae_window_begin(struct oae_link *l)
{
	l->win = l->window < l->heard.window ? l->window : l->heard.window;
	if (!l->win)
		l->win = 1;
	l->more = false;
	/* More places than before may be needed. */
	l->lacking = l->pair && l->win > 1 && l->npairs < l->window;
}

/* Copy what is under way to other places. */
static void window_move(struct oae_link *l, struct oae_pair **pair, unsigned int n)
{
	u32 seq, last = l->tx + l->nlanes, mask = n - 1;
	const struct oae_hold *h;
	unsigned int i;

	for (seq = l->tx + 1; seq - l->tx <= last - l->tx; seq++)
		pair[seq & mask]->lane = *oae_lane(l, seq);
	oae_credit_move(l, pair, n);
	for (i = 0; i < l->naside; i++)
		pair[i]->aside = *oae_aside(l, i);
	/* An express at rx may be reflected again. */
	h = oae_hold_of(l, l->rx);
	pair[l->rx & mask]->hold.digest = h->digest;
	pair[l->rx & mask]->hold.first = h->first;
	for (seq = l->rx + 1; seq - l->rx <= (l->pair ? l->npairs : 1); seq++)
		pair[seq & mask]->hold = *oae_hold_of(l, seq);
}

/**
 * oae_link_lend() - lend a link places for its window
 * @l: the link; oae_link_lacks() has said how many
 * @pair: table of the places, which are filled with zeros; oae_link_reclaim() returns
 *	it
 * @n: number of places, a power of two
 * @now: ns
 * @a: actions
 *
 * The caller frees places lent before.
 */
void oae_link_lend(struct oae_link *l, struct oae_pair **pair, unsigned int n,
		   u64 now, struct oae_actions *a)
{
	l->lacking = false;
	if (l->pair && n <= l->npairs)
		return;
	now = oae_now(l, now);
	window_move(l, pair, n);
	l->pair = pair;
	l->npairs = n;
	l->base = 0;
	oae_finish(l, now, a);
}

/**
 * oae_link_reclaim() - get the places of a link back that has no use for them
 * @l: the link
 *
 * Return: the places; NULL if there are none, or some are in use.
 */
struct oae_pair **oae_link_reclaim(struct oae_link *l)
{
	struct oae_pair **pair = l->pair;
	unsigned int i;

	if (!pair || l->nlanes || l->naside || l->last_express)
		return NULL;
	/* The link's own say what two numbers cost, and the next one is given soon. */
	if (l->tx - l->peer.rx > 1 || oae_credit_committed(l))
		return NULL;
	for (i = 0; i < l->npairs; i++)
		if (pair[i]->hold.state != OAE_HOLD_NONE || pair[i]->hold.have)
			return NULL;
	l->offer = *oae_first_lane(l);
	memset(&l->hold, 0, sizeof(l->hold));
	memset(l->cost, 0, sizeof(l->cost));
	l->pair = NULL;
	l->npairs = 0;
	l->base = 0;
	return pair;
}
