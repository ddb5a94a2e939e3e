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

enum oae_outcome {
	OAE_COMMITTED,
	OAE_REVERSED,
	OAE_UNKNOWN,
	OAE_OUTCOME_END
};

/* Why a transaction was not committed. Positive errno values. */
#define OAE_E_SIGNAL		EINTR		/* reversed: a signal */
#define OAE_E_CANCEL		ECANCELED	/* reversed: asked for, or port removed */
#define OAE_E_DEADLINE		ETIME		/* reversed: deadline passed */
#define OAE_E_DOWN		ENOLINK		/* reversed: no answer for dead_ms */
#define OAE_E_SHUTDOWN		ESHUTDOWN	/* reversed: closed at this end */
#define OAE_E_PEER_CLOSED	EPIPE		/* reversed: closed by the peer */
#define OAE_E_REFUSED		ECONNREFUSED	/* reversed: the peer's policy */
#define OAE_E_TOO_BIG		EMSGSIZE	/* reversed: larger than a limit */
#define OAE_E_KIND		EOPNOTSUPP	/* reversed: kind not served there */
#define OAE_E_NO_REGION		ENXIO		/* reversed: verb, no such region */
#define OAE_E_RANGE		ERANGE		/* reversed: verb, behind the region's end */
#define OAE_E_ACCESS		EACCES		/* reversed: verb, not permitted */
#define OAE_E_BAD_VERB		EBADMSG		/* reversed: verb, malformed */
#define OAE_E_UNKNOWN		EOWNERDEAD	/* unknown: an end of the link died */

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

#define OAE_POST_EXPRESS	0x01	/* deliver at once, not reversible */
#define OAE_POST_CONFIRM	0x02	/* ask for DONE after the commit */
#define OAE_POST_JOINED		0x04	/* VERB: several of the caller's, see OAE_OP_BACK */

/**
 * struct oae_post - a transaction to offer; the payload stays with the caller
 * @handle: of the caller, returned in actions
 * @digest: oae_whole_digest() of its slices
 * @first: oae_first_bytes()
 * @len: bytes
 * @slice_max: the longest slice, bytes
 * @nslices: 1 to OAE_MAX_SLICES
 * @kind: enum oae_kind
 * @flags: OAE_POST_*; for all kinds but MESSAGE and VERB only CONFIRM
 * @reply: VERB: length of the answer, bytes
 */
struct oae_post {
	void *handle;
	u64 digest;
	u64 first;
	u32 len;
	u16 slice_max;
	u8 nslices;
	u8 kind;
	u8 flags;
	u16 reply;
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

enum oae_offer_state {
	OAE_OFFER_NONE,
	OAE_OFFER_OUT,		/* in flight */
	OAE_OFFER_PARKED,	/* refused for now */
	OAE_OFFER_REFLECTED,	/* waits until those below it are committed */
	OAE_OFFER_QUEUED,	/* to be offered, for the first time in this run or again */
};

#define OAE_MTU_TRIES	3	/* of each size that is asked for */

enum oae_hold_state {
	OAE_HOLD_NONE,
	OAE_HOLD_PARTIAL,	/* some slices are here */
	OAE_HOLD_HELD,		/* all slices are here, and were reflected */
	OAE_HOLD_REFUSED,	/* refused, for now or for good */
	OAE_HOLD_KEPT,		/* slices of an earlier run, for RESUME */
	OAE_HOLD_WAITS,		/* a verb: not all below it is held */
};

/* The half that this end has posted (protocol 4.9). */
enum oae_half_state {
	OAE_HALF_NONE,
	OAE_HALF_POSTED,	/* to be offered */
	OAE_HALF_OFFERED,	/* the half is the transaction offered */
	OAE_HALF_WAITING,	/* the peer had no half */
	OAE_HALF_LENT,		/* the peer's half is held, this one reflected */
};

/* What CLOSE has said in this run (protocol 4.7). */
enum oae_closing {
	OAE_CLOSING_NOT,
	OAE_CLOSING_SAID,	/* up to which number its sender takes what is offered */
	OAE_CLOSING_LAST,	/* and that nothing of its sender is undecided */
};

/* How a lane is to be offered again. */
enum oae_due {
	OAE_DUE_NOT,
	OAE_DUE_ALL,		/* all of it */
	OAE_DUE_REST,		/* the slices that are to be sent */
	OAE_DUE_ASK,		/* by ASK: the answer seems lost */
};

/**
 * struct oae_lane - the initiator's side of a number of its window (protocol 4.11)
 * @p: what is offered under the number
 * @at: when it was offered last, ns
 * @rest: slices that are to be sent: they were not, or are lost
 * @sent: slices of the last OFFER, the last of which has @pn
 * @pn: number of the last frame of that
 * @asked: that of the last ASK since then, 0 none
 * @state: enum oae_offer_state
 * @due: enum oae_due
 * @again: was offered before
 * @ready: READY came since; its refusal may be late
 * @doubt: an express that an earlier run may deliver
 * @recalled: nothing, in place of an express that was offered: what its writer is told if it was
 *	not delivered, positive errno; OAE_RECALL_BACK it is posted again; 0 it is no such
 * @offered: in this run
 * @refused: why the peer has refused this content for now, enum oae_reason; 0 it has not
 * @lacks: slices that the peer missed when it last said so; 0 it has not, of this content
 * @resume: its frames have RESUME in this run
 * @lost: @rest has some that seem lost
 * @repeated: the last OFFER repeats such
 */
struct oae_lane {
	struct oae_post p;
	u64 at;
	u64 rest;
	u64 sent;
	u32 pn;
	u32 asked;
	u16 recalled;
	u8 state;
	u8 due;
	u8 refused;
	u8 lacks;
	bool again;
	bool ready;
	bool doubt;
	bool offered : 1;
	bool resume : 1;
	bool lost : 1;
	bool repeated : 1;
};

/**
 * struct oae_hold - the responder's side of a number of the peer's window
 * @have: slices here, bit n for slice n
 * @digest: of the transaction
 * @first: its first bytes
 * @at: when all slices were here, ns
 * @len: bytes
 * @reason: REFUSED: enum oae_reason
 * @reply: bytes behind the REFLECT's body
 * @state: enum oae_hold_state
 * @nslices: 0 until LAST is here
 * @kind: enum oae_kind
 * @express: to be delivered at the OFFER
 * @again: was reflected more than once
 * @said: REFUSED: so the peer was told
 */
struct oae_hold {
	u64 have;
	u64 digest;
	u64 first;
	u64 at;
	u32 len;
	u16 reason;
	u16 reply;
	u8 state;
	u8 nslices;
	u8 kind;
	bool express;
	bool again;
	bool said;
};

/**
 * struct oae_peak - the greatest of a measure of late: see oae_peak_add()
 * @of: since @since, and as long before
 * @since: ns
 */
struct oae_peak {
	u32 of[2];
	u64 since;
};

static inline u32 oae_peak(const struct oae_peak *p)
{
	return p->of[0] > p->of[1] ? p->of[0] : p->of[1];
}

/**
 * struct oae_pair - a place of the window, both ways; the caller lends them: oae_link_lend()
 * @lane: of a number of this end
 * @hold: of a number of the peer
 * @aside: stepped aside for a half
 * @cost: of the last two numbers of this end that have had this place, bytes
 */
struct oae_pair {
	struct oae_lane lane;
	struct oae_hold hold;
	struct oae_post aside;
	u32 cost[2];
};

/**
 * struct oae_swaps - what a link needs for swaps. Lent by oae_link_lend_swaps()
 * @half: that this end has posted
 * @aside: the post that stepped aside for it, without oae_link.pair
 * @again_at: WAITING: time to offer the half again, ns
 * @posted_at: when the half was posted, ns
 * @cancelled: LENT: reverse the half if it comes back, errno
 */
struct oae_swaps {
	struct oae_post half;
	struct oae_post aside;
	u64 again_at;
	u64 posted_at;
	int cancelled;
};

/**
 * struct oae_link - one end of a link; the members are private to link/
 *
 * May be copied with memcpy(), as the explorer does: no members but @pair and @swaps
 * point anywhere.
 */
struct oae_link {
	/* What a frame, or a post, looks at. */
	const struct oae_link_cfg *cfg;
	struct oae_pair **pair;	/* NULL: `offer` and `hold` are the only places */

	/* Times, ns, and the one timer. */
	u64 now;		/* latest time of an event */
	u64 timer_at;		/* when the timer fires, 0 not armed */
	u64 heard_at;		/* last frame of the peer in this run */
	u64 active_at;		/* last time something was in flight */
	u64 asked_at;		/* first unanswered SYNC, probe or CLOSE, 0 none */
	u64 again_at;		/* next SYNC, probe or CLOSE */
	u64 moved_at;		/* when tx moved */
	u64 grown_at;		/* when the peer had more of tx + 1, or it was offered */
	u64 answered_at;	/* when an answer has last heard something new */
	u64 stuck_at;		/* the first such one since @moved_at, @grown_at; or @stuck grew */
	u64 ask_at;		/* last ASK, or question of the timer */
	u64 silent_at;		/* the first one since the peer was heard, 0 none */
	u64 held_at;		/* last progress of what is held */
	u64 reflect_at;		/* last REFLECT of the timer, if @reflects */
	u64 settle_until;	/* settling until then, 0 not */
	u64 srtt;		/* smoothed round trip, 0 unmeasured */
	u64 rttvar;
	struct oae_peak longest;	/* round trip, ns */

	u32 ltag;
	u32 peer_ltag;
	u32 tx;			/* last committed */
	u32 rx;			/* last delivered */
	u32 peer_rx;		/* last that the peer is known to have delivered */
	u32 run_tx;		/* tx when this run began */
	u32 run_rx;		/* rx when this run began */
	u32 done_seq;		/* DONE was asked for this one */
	u32 peer_max_len;
	u32 heard_map;		/* which questions before heard_pn were heard, as an answer says */
	u64 heard_pn;		/* of the peer's newest question, 0 none; on the wire it wraps */
	u64 pn;			/* number of the own last question in this run */
	u32 acked;		/* the newest of these that the peer has heard */
	u16 mtu;
	u16 peer_mtu;		/* 0 unknown */
	u16 pmtu;		/* what gets through, if that is less; 0 all does (protocol 4.17) */
	u16 search;		/* this size is asked for, 0 none */
	u16 most;		/* the longest slices that this peer was sent, or could be */
	u8 vc;
	u8 state;		/* CLOSED, SYNC_SENT, SYNC_RECD or OPEN */
	u8 backoff;		/* failures since the last progress */
	u8 longs;		/* long frames of tx + 1 in a row that were not heard */
	u8 search_tries;	/* of this size */
	bool senior;		/* of two crossing swaps, that of this end stands */
	bool down;
	bool ready_due;		/* refused BUSY or CONFLICT: READY must follow */
	bool credit_due;	/* the peer is blocked, and nothing is granted: likewise */
	bool next_valid;
	bool closing : 1;	/* closed here */
	bool await_done : 1;
	bool last_express : 1;	/* transaction rx was an express */
	bool unseen : 1;	/* and the peer was not seen to commit it */
	bool packs : 1;		/* this end takes packs, as said with this ltag */
	bool peer_packs : 1;	/* and the peer does */
	bool heard_now : 1;	/* heard_pn was heard in this event */

	/* The window (protocol 4.11). */
	u8 window;		/* of this end, as said with this ltag */
	u8 win;			/* of this run: the smaller of both */
	u8 npairs;		/* places at @pair, a power of two */
	u8 nlanes;		/* numbers above tx that have a content */
	u8 given;		/* of these, offered in this run */
	u8 nparked;
	u8 ndue;
	u8 naside;		/* posts that stepped aside */
	u8 nheld;		/* numbers above rx that are held */
	u8 nwait;		/* verbs that wait for what is below them */
	u8 nvoid;		/* VOIDs that are not reflected yet, but for that of an express */
	u8 asks;		/* questions of the timer in a row: nothing new was answered */
	u8 reflects;		/* the same of REFLECTs, since held_at */
	u8 stuck;		/* probe timeouts that this end has seen pass without progress */
	u16 cwnd;		/* frames with a content that the network bears */
	u16 ssthresh;		/* up to here cwnd doubles with each round trip */
	u16 cwnd_acked;		/* frames that were heard since cwnd grew */
	u16 undo_cwnd;		/* cwnd before a loss that is a guess, 0 none */
	bool blocked : 1;	/* what is next costs more than the peer grants */
	bool said_blocked : 1;	/* and it was told */
	bool say_commit : 1;	/* COMMIT, at the end of the event, unless an offer goes out */
	bool reorder : 1;	/* frames overtake each other */
	bool more : 1;		/* more could be offered: oae_link_more() */
	bool lacking : 1;	/* and that needs oae_link_lend() */
	bool more_verbs : 1;	/* more could be computed: oae_link_more() */
	bool leaving : 1;	/* settles, and commits nothing: the port is about to go down */
	struct {		/* the rest is in @swaps */
		u8 state;	/* enum oae_half_state */
		bool again : 1;	/* was offered before */
		bool refused : 1;	/* the peer had none, since this one was posted */
		bool crossed : 1;	/* the peer's offer was refused because of this one */
		bool turn : 1;	/* the last offer was no half, so this is next */
	} half;
	bool rank : 1;		/* this end's address is the higher one */
	bool wanted : 1;	/* down, it goes on asking, and is not forgotten */
	u8 close_sent : 2;	/* enum oae_closing: what CLOSE has said in this run */
	u8 peer_closing : 2;	/* the same of the peer */
	bool paths : 1;		/* this end takes other paths, as said with this ltag */
	bool peer_paths : 1;	/* and the peer does */
	bool by_inc : 1;	/* both did once: their incarnations say who is the senior */
	bool peer_gateway : 1;	/* and such through gateways */
	bool too_long : 1;	/* what is next waits, since it is so for the path in use */
	bool rtt_guessed : 1;	/* srtt is that of a probe */
	u8 syncs : 2;		/* SYNCs sent with this ltag, at most 2 */
	u32 start;		/* tx before the first transaction */
	u32 base;		/* of the lanes: see oae_place() */
	u32 granted;		/* what all of the peer above rx may cost, bytes (protocol 4.11) */
	u32 gathered;		/* what that costs which is here of it */
	u32 grant;		/* what all of this end above peer_rx may cost, bytes */
	u32 charged;		/* what it costs */
	u32 cost[2];		/* without @pair: as in struct oae_pair */
	u32 firm;		/* known: all from rx + 1 to here is held */

	struct oae_lane offer;	/* the lane of tx + 1, without @pair */
	struct oae_hold hold;	/* of rx + 1, without @pair */

	/* Members that are seldom looked at. */
	struct oae_peak shortest;	/* round trip, ns, its bits inverted */
	u32 recover;		/* a loss of a frame up to here is the same as the last one */
	u32 out_pn;		/* number of the last frame with a content */
	struct oae_post next;	/* waits behind the lanes, if next_valid */
	struct oae_swaps *swaps;	/* NULL: takes no half */
	u64 inc;		/* own incarnation */
	u64 peer_inc;		/* the peer's, 0 unknown */
	struct {		/* from the SYNC that told peer_ltag */
		u64 inc;
		u32 max_len;
		u32 start;
		u16 mtu;
		u8 window;
		bool packs;	/* it takes packs */
		bool paths;	/* it takes other paths */
		bool gateway;	/* and such through gateways */
		bool met;	/* both ends took such, since these incarnations met */
	} heard;

	u64 again_iv;		/* interval after again_at */
	u64 park_at;		/* when to offer what is parked again, or to say BLOCKED */
	u64 park_iv;		/* interval before park_at; 0: it begins anew */
	u64 waits_at;		/* since when what is next waits for words, or for credit */
	u64 done_at;		/* when DONE was asked for */
	u64 down_at;		/* when the link went down */
	u64 sync_at;		/* first SYNC of this ltag */
	u64 pmtu_at;		/* when `pmtu` was found, or what is longer asked for */
	u64 too_long_at;	/* since when what is next is too long, 0 it is not */
	u32 search_pn[OAE_MTU_TRIES];	/* numbers of the long questions about `search` */
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
	return l->closing || l->peer_closing;
}

/* The number of the last transaction that this end has committed. */
static inline u32 oae_link_tx(const struct oae_link *l)
{
	return l->tx;
}

/* Is the peer blocked? Then call oae_link_made_room() once there is room. */
static inline bool oae_link_owes_credit(const struct oae_link *l)
{
	return READ_ONCE(l->credit_due);
}

/* The time for which the timer is armed, by the event's clock, ns; 0 not armed. */
static inline u64 oae_link_timer_at(const struct oae_link *l)
{
	return l->timer_at;
}

/* Shall the link go on asking when it is down? Not beyond its end (protocol 4.4). */
static inline void oae_link_want(struct oae_link *l, bool wanted)
{
	l->wanted = wanted;
}

/* Is the delivery of all that is committed known? */
static inline bool oae_link_all_confirmed(const struct oae_link *l)
{
	return l->peer_rx == l->tx;
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
	return f->dst_ltag == l->ltag && f->src_ltag == l->peer_ltag;
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
	return l->state == OAE_OPEN && l->paths && l->peer_paths;
}

/* Were they in the last run, with the peer that this end knows? */
static inline bool oae_link_knows_paths(const struct oae_link *l)
{
	return l->state != OAE_CLOSED && l->paths && l->peer_paths && l->peer_inc;
}

/* Does the peer take paths through gateways, too? As this end does. */
static inline bool oae_link_knows_gateway(const struct oae_link *l)
{
	return oae_link_knows_paths(l) && l->peer_gateway;
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
	return l->peer_closing ? OAE_CLOSE_RECD : OAE_OPEN;
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
