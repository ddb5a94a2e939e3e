/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link: one end of a bilateral alternating-bit link.
 *
 * Pure: events go in (a frame, a post, a cancel, the timer, ...), actions come
 * out. Nothing here allocates, locks, reads a clock or sends. The caller holds
 * the lock that protects the link, passes the time (of a clock that may step back
 * a little), and afterwards carries out the actions: each struct oae_op in order
 * under the same lock, then each struct oae_send without the lock.
 *
 * The rules are those of doc/protocol.md section 4, by file:
 *   link.c   the events
 *   actions.c what an event has done
 *   timer.c  the timer: failures, probes, link down
 *   rtt.c    the round trip, and the probe timeout
 *   close.c  closing, and the end of a link
 *   lane.c   the numbers of the window, their contents and places
 *   offer.c  the initiator: what is offered next, and taken back by the user
 *   answer.c reflected, refused, committed
 *   mtu.c    what a path carries
 *   number.c the numbers of frames, and which the peer has heard
 *   congestion.c  how many frames may be under way
 *   credit.c how much the peer may send, and this end may
 *   hold.c   the responder: gather the slices of an offer, reflect or refuse it; deliver
 *   half.c   swaps: the half that is posted, offered, lent
 *   freeze.c freezing
 *   sync.c   resolving
 *   show.c   queries for people and programs
 */
#ifndef OAE_LINK_H
#define OAE_LINK_H

#include "oae_types.h"
#include "frame.h"
#include "post.h"
#include "state.h"

/* The states shown to people; CLOSE_* are OPEN with a CLOSE on its way. */
enum oae_state {
	OAE_CLOSED,
	OAE_SYNC_SENT,		/* frozen, the peer's ltag not yet heard */
	OAE_SYNC_RECD,		/* frozen, the peer's ltag heard */
	OAE_OPEN,
	OAE_CLOSE_SENT,
	OAE_CLOSE_RECD,
	OAE_STATE_END
};

/**
 * struct oae_link_cfg - values of the knobs, constant during an event
 * @stall_min: minimum of the probe timeout, ns
 * @stall_max: maximum of the probe timeout, ns, unless two round trips are longer or
 *	many failures follow each other. A tenth of it is the probe timeout before any
 *	round trip was measured.
 * @keepalive: silence after which an idle peer is probed, ns; also the time that a
 *	refused transaction stays parked without READY
 * @dead: time without an answer after which a link is down, ns
 * @max_len: largest transaction held, bytes
 * @window: the most transactions under way in either direction, 1 to OAE_WINDOW_MAX;
 *	a new value is used from the next freeze on
 * @pack: take packs, and make them; likewise
 * @paths: say that other paths than the link's own are taken; likewise
 * @random: returns 32 unpredictable bits; called in the context of the event
 */
struct oae_link_cfg {
	u64 stall_min;
	u64 stall_max;
	u64 keepalive;
	u64 dead;
	u32 max_len;
	u8 window;
	bool pack;
	bool paths;
	u32 (*random)(void);
};

/* Notes, to be counted and logged. Every dropped frame has one. */
enum oae_note {
#define OAE_NOTE(_id, _name, _text) OAE_N_##_id,
#include "notes.h"
	OAE_NOTE_END
};

enum oae_op_type {
	OAE_OP_NOTE,		/* count and log @note; OFFERED: of @handle */
	OAE_OP_KEEP,		/* keep this frame's payload as slice @slice of @seq,
				 * with its @hash
				 */
	OAE_OP_DISCARD,		/* free all slices kept of @seq */
	OAE_OP_DELIVER,		/* deliver the slices 0 to @slice - 1 of @seq */
	OAE_OP_UNPACK,		/* deliver the messages of the pack in slice 0 of @seq */
	OAE_OP_RESULT,		/* the data behind this REFLECT's body is @handle's result */
	OAE_OP_TAKE,		/* swap: slice 0 of @seq is @handle's result */
	OAE_OP_APPLY,		/* apply the verb in slice 0 of @seq, and free that */
	OAE_OP_COMPLETE,	/* @handle has ended: @outcome, @err */
	OAE_OP_BACK,		/* take @handle back: it is to be posted again, before
				 * all others. A pack as its messages, joined
				 * verbs as these, and if @refused each of them
				 * alone
				 */
	OAE_OP_CONFIRMED,	/* the commits up to @seq are known to be delivered */
	OAE_OP_TIMER,		/* (re)arm the timer for @at, ns, of the event's clock */
	OAE_OP_FLUSH,		/* reverse all queued messages, @err */
	OAE_OP_GONE,		/* the link is CLOSED and may be forgotten */
};

struct oae_op {
	u8 type;
	u8 note;
	u8 outcome;
	union {
		u8 slice;
		bool refused;
	};
	union {
		int err;
		u32 seq;
	};
	union {
		void *handle;
		u64 at;
		u64 hash;
	};
};

/**
 * struct oae_send - a frame to send
 * @frame: the frame. For an OFFER the caller calls oae_send_slice() for each slice, and fills
 *	in length and payload_hash. For a REFLECT whose length is not 0 the caller
 *	fills in payload_hash, over the body and the data behind it.
 * @handle: OFFER: the post to send slices of, NULL for a VOID; REFLECT of a SWAP: the
 *	half whose bytes follow the body. (In a REFLECT of a VERB the answer follows.)
 * @slices: OFFER: the slices to send, bit n for slice n
 * @slice_max: OFFER: length of each slice but the last, bytes
 * @nslices: OFFER: number of slices of the post
 * @each: OFFER: a slice asks for an answer if this divides its number
 */
struct oae_send {
	struct oae_frame frame;
	void *handle;
	u64 slices;
	u16 slice_max;
	u8 nslices;
	u8 each;
};

/**
 * oae_send_slice() - the next slice of an OFFER
 * @s: the OFFER, not of a VOID
 * @i: index of the slice, the lowest first; the frame gets it, and what only some slices say
 */
static inline void oae_send_slice(struct oae_send *s, unsigned int i)
{
	s->frame.slice = i;
	if (i == s->nslices - 1U)
		s->frame.flags |= OAE_F_LAST;
	s->frame.marks = s->slices >> i == 1 || !(s->frame.pn % s->each) ? OAE_M_ANSWER : 0;
}

/*
 * Limits for one event, on the stack. An event may end, or deliver, as many
 * transactions as the window has: then full() carries out what there is so far. It
 * offers a few; oae_link_more() says that there are others.
 */
#define OAE_MAX_OPS	18
#define OAE_MAX_SENDS	6

/**
 * struct oae_actions - the actions of an event
 * @nops: number of ops; the caller sets it to 0 before the event
 * @done: ops that were carried out, likewise
 * @nsends: number of frames to send, likewise
 * @overflow: never true: a bug in the link
 * @full: carries out the ops, and sets @nops and @done to 0; NULL only if the link
 *	has no window
 * @hashes: copies the hashes of the slices 0 to @n - 1 kept of @seq, which came with
 *	OAE_OP_KEEP; leaves out those that are not kept
 * @post_hashes: copies the hashes of all slices of a post, as it is cut
 * @verb: carries out the ops, and computes the verb in slice 0 of @seq (protocol 4.10). Returns 0,
 *	and in @reply the length of the answer, which the caller keeps; or why the verb is refused,
 *	enum oae_reason; BUSY: there is no memory for it
 * @cut: cuts a post anew, into slices of at most @max bytes; nslices is 0 if it needs more than
 *	OAE_MAX_SLICES
 * @told: the frame that this event resolves against, if that has told which slices of tx + 1 the
 *	peer keeps; the caller sets it to NULL
 * @op: the ops
 * @send: the frames
 */
struct oae_actions {
	unsigned int nops;
	unsigned int done;
	unsigned int nsends;
	bool overflow;
	void (*full)(struct oae_actions *a);
	void (*hashes)(struct oae_actions *a, u32 seq, unsigned int n, u64 *hash);
	void (*post_hashes)(struct oae_actions *a, const struct oae_post *p, u64 *hash);
	u16 (*verb)(struct oae_actions *a, u32 seq, u16 *reply);
	void (*cut)(struct oae_actions *a, struct oae_post *p, u16 max);
	const struct oae_frame *told;
	struct oae_op op[OAE_MAX_OPS];
	struct oae_send send[OAE_MAX_SENDS];
};

/**
 * struct oae_carries - what a path carries, bytes behind the Ethernet header
 * @mtu: the port here, VIA not counted
 * @far: the peer, as it has said there; 0 unknown
 * @pmtu: the longest frame that gets through, if that is less; 0 all do
 * @pmtu_at: when that was found, ns
 */
struct oae_carries {
	u16 mtu;
	u16 far;
	u16 pmtu;
	u64 pmtu_at;
};

void oae_link_init(struct oae_link *l, const struct oae_link_cfg *cfg, u8 vc,
		   u16 mtu, u32 start);
void oae_link_rank(struct oae_link *l, bool higher);
void oae_link_open(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_accept(struct oae_link *l, const struct oae_frame *sync, u32 room,
		     u64 now, struct oae_actions *a);
void oae_link_rcv(struct oae_link *l, const struct oae_frame *f, u32 room,
		  u64 now, struct oae_actions *a);
int oae_link_post(struct oae_link *l, const struct oae_post *p, u64 now,
		  struct oae_actions *a);
void oae_cong_turned(struct oae_link *l);
bool oae_link_wants(const struct oae_link *l);
bool oae_link_wants_half(const struct oae_link *l);
int oae_link_cancel(struct oae_link *l, const void *handle, int err, u64 now,
		    struct oae_actions *a);
int oae_link_take_back(struct oae_link *l, const void *handle, u64 now,
		       struct oae_actions *a);
void oae_link_ready(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_made_room(struct oae_link *l, u32 room, u64 now,
			struct oae_actions *a);
void oae_link_lend(struct oae_link *l, struct oae_pair **pair, unsigned int n,
		   u64 now, struct oae_actions *a);
struct oae_pair **oae_link_reclaim(struct oae_link *l);
void oae_link_pump(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_ask(struct oae_link *l, struct oae_actions *a);
void oae_link_confirm(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_timer(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_wake(struct oae_link *l, u64 at, struct oae_actions *a);
void oae_link_close(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_kill(struct oae_link *l, int err, u64 now,
		   struct oae_actions *a);
void oae_link_port_up(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_port_down(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_leave(struct oae_link *l, u64 until, u64 now,
		    struct oae_actions *a);
void oae_link_settle(struct oae_link *l, u64 until, u64 now,
		     struct oae_actions *a);
void oae_link_go_on(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_renamed(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_set_mtu(struct oae_link *l, u16 mtu, u64 now,
		      struct oae_actions *a);
void oae_link_set_far(struct oae_link *l, u16 far, u64 now, struct oae_actions *a);
void oae_link_go_by(struct oae_link *l, const struct oae_carries *c, u64 now,
		    struct oae_actions *a);

/* Queries of the event path. Without the caller's lock the answer is a hint. */

static inline bool oae_link_closed(const struct oae_link *l)
{
	return READ_ONCE(l->state) == OAE_CLOSED;
}

/* Is the link down: no answer for dead_ms? */
static inline bool oae_link_down(const struct oae_link *l)
{
	return l->down;
}

/* Is the link closing, by this end or by the peer? */
static inline bool oae_link_closing(const struct oae_link *l)
{
	return l->closing || l->peer.closing;
}

/* The number of the last transaction that this end has committed. */
static inline u32 oae_link_tx(const struct oae_link *l)
{
	return l->tx;
}

/* Is the peer blocked? Then call oae_link_made_room() once there is room. */
static inline bool oae_link_owes_credit(const struct oae_link *l)
{
	return READ_ONCE(l->credit.due);
}

/* The time for which the timer is armed, by the event's clock, ns; 0 not armed. */
static inline u64 oae_link_timer_at(const struct oae_link *l)
{
	return l->timer.at;
}

/* Shall the link go on asking when it is down? Not beyond its end (protocol 4.4). */
static inline void oae_link_want(struct oae_link *l, bool wanted)
{
	l->wanted = wanted;
}

/* Is the delivery of all that is committed known? */
static inline bool oae_link_all_confirmed(const struct oae_link *l)
{
	return l->peer.rx == l->tx;
}

/* Can more be offered or computed than an event sends? Then call oae_link_pump(). */
static inline bool oae_link_more(const struct oae_link *l)
{
	return l->more || l->more_verbs;
}

/* The number of places that oae_link_lend() should lend, 0 none. */
static inline unsigned int oae_link_lacks(const struct oae_link *l)
{
	return l->lacking ? l->window : 0;
}

/* The number of the last transaction that this end has delivered. */
static inline u32 oae_link_rx(const struct oae_link *l)
{
	return l->rx;
}

/* Is this a frame of the present run, for all that its ltags say? */
static inline bool oae_link_is_run(const struct oae_link *l, const struct oae_frame *f)
{
	return f->dst_ltag == l->ltag && f->src_ltag == l->peer.ltag;
}

/* Would this OFFER need places that are not lent? Not if it is dropped in any case. */
static inline bool oae_link_lacks_for(const struct oae_link *l, const struct oae_frame *f)
{
	return !l->pair && l->win > 1 && oae_link_is_run(l, f) &&
	       f->seq - l->rx - 2 < l->window;
}

/* The most transactions under way, each way, that this end has said it takes. */
static inline unsigned int oae_link_window(const struct oae_link *l)
{
	return l->window;
}

/* Number of places lent, and their table, which is NULL if there are none. */
static inline unsigned int oae_link_places(const struct oae_link *l,
					   struct oae_pair ***table)
{
	if (table)
		*table = l->pair;
	return l->npairs;
}

/* The place of a number of the peer; NULL: no places are lent. */
static inline struct oae_pair *oae_link_place(const struct oae_link *l, u32 seq)
{
	return l->pair ? l->pair[seq & (l->npairs - 1)] : NULL;
}

/* Is this the senior end (protocol 4.9)? */
static inline bool oae_link_senior(const struct oae_link *l)
{
	return l->senior;
}

/* Are other paths than the link's own taken, by both ends, in this run? */
static inline bool oae_link_takes_paths(const struct oae_link *l)
{
	return l->state == OAE_OPEN && l->paths && l->peer.paths;
}

/* Were they in the last run, with the peer that this end knows? */
static inline bool oae_link_knows_paths(const struct oae_link *l)
{
	return l->state != OAE_CLOSED && l->paths && l->peer.paths && l->peer.inc;
}

/* Does the peer take paths through gateways, too? As this end does. */
static inline bool oae_link_knows_gateway(const struct oae_link *l)
{
	return oae_link_knows_paths(l) && l->peer.gateway;
}

/* Lend a link the memory for a half, filled with zeros, as long as there is the link. */
static inline void oae_link_lend_swaps(struct oae_link *l, struct oae_swaps *swaps)
{
	l->swaps = swaps;
}

/* Set the values of the knobs, at the begin of an event. */
static inline void oae_link_use(struct oae_link *l,
				const struct oae_link_cfg *cfg)
{
	l->cfg = cfg;
}

/* The state of a link, for people: OPEN is CLOSE_SENT or CLOSE_RECD while closing. */
static inline enum oae_state oae_link_state(const struct oae_link *l)
{
	if (l->state != OAE_OPEN)
		return l->state;
	if (l->closing)
		return OAE_CLOSE_SENT;
	return l->peer.closing ? OAE_CLOSE_RECD : OAE_OPEN;
}

/**
 * struct oae_link_view - the state of a link, for people and programs
 * @state: see oae_link_state()
 * @offer: enum oae_offer_state
 * @hold: enum oae_hold_state
 * @vc: virtual channel
 * @pending: number of this end's transactions that the link has
 * @lanes: numbers under way
 * @window: numbers that both ends have agreed on, 1 for none but the next one; 0
 *	not known yet
 * @cwnd: frames with a content that may be under way
 * @ssthresh: up to here @cwnd doubles with each round trip
 * @down: no answer for dead_ms
 * @half: a half of this end is posted
 * @doubt: frozen, with something undecided
 * @slice_max: see oae_link_slice_max()
 * @peer_max_len: the longest transaction that the peer takes, bytes
 * @tx: number of the last transaction committed
 * @rx: number of the last transaction delivered
 * @srtt: smoothed round trip, ns
 * @min_rtt: the shortest of late, ns, 0 not known
 */
struct oae_link_view {
	enum oae_state state;
	u8 offer;
	u8 hold;
	u8 vc;
	u8 pending;
	u8 lanes;
	u8 window;
	u16 cwnd;
	u16 ssthresh;
	bool down;
	bool half;
	bool doubt;
	u16 slice_max;
	u32 peer_max_len;
	u32 tx;
	u32 rx;
	u64 srtt;
	u64 min_rtt;
};

/* The last commit of an end, with both incarnations. */
struct oae_link_mark {
	u64 inc;
	u64 peer_inc;
	u32 tx;
};

/* What a link waits for; uapi/oae.h has the same numbers. */
enum oae_wait {
	OAE_WAIT_NOTHING,
	OAE_WAIT_PORT,		/* the port here is down; this and the next two are the caller's */
	OAE_WAIT_CARRIER,	/* it has no carrier */
	OAE_WAIT_GATEWAY,	/* the gateway is not known */
	OAE_WAIT_ANSWER,	/* no answer of the peer */
	OAE_WAIT_SETTLING,	/* what is in doubt is settled first */
	OAE_WAIT_ROOM,		/* the peer grants too little */
	OAE_WAIT_WORDS,		/* words are reserved there */
	OAE_WAIT_HALF,		/* the peer has no half */
	OAE_WAIT_FLIGHT,	/* what is under way */
	OAE_WAIT_CONFIRM,	/* that the last commit is confirmed */
	OAE_WAIT_END
};

/**
 * struct oae_link_waits - what a link waits for
 * @why: enum oae_wait
 * @since: ns, by the clock of the link's events; 0 not known
 * @until: when this end gives up, ns; 0 never
 */
struct oae_link_waits {
	u8 why;
	u64 since;
	u64 until;
};

void oae_link_show(const struct oae_link *l, struct oae_link_view *v);
void oae_link_waits(const struct oae_link *l, u64 now, struct oae_link_waits *w);
bool oae_link_unheard(const struct oae_link *l);
bool oae_link_idle(const struct oae_link *l);
bool oae_link_settling(const struct oae_link *l);
void oae_link_mark(const struct oae_link *l, struct oae_link_mark *m);
bool oae_link_confirmed(const struct oae_link *l,
			const struct oae_link_mark *m);
bool oae_link_undecided(const struct oae_link *l);
bool oae_link_in_doubt(const struct oae_link *l);
u16 oae_link_mtu(const struct oae_link *l);
u16 oae_link_slice_max(const struct oae_link *l);
u16 oae_link_port_max(const struct oae_link *l);
u16 oae_link_cut(const struct oae_link *l, u8 kind, u32 len);
u32 oae_link_join_max(const struct oae_link *l);
u32 oae_link_pack_max(const struct oae_link *l);
bool oae_link_early(const struct oae_link *l, u64 now);
u64 oae_link_pto(const struct oae_link *l);
const char *oae_state_name(enum oae_state state);
const char *oae_note_name(enum oae_note note);

/* The state, or that the link is down, for people. */
static inline const char *oae_link_word(const struct oae_link_view *v)
{
	return v->down ? "DOWN" : oae_state_name(v->state);
}

#endif /* OAE_LINK_H */
