/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an end of a link keeps. Private to the files of the link, as link.h lists them; a part has
 * the name of the file that keeps it.
 */
#ifndef OAE_STATE_H
#define OAE_STATE_H

#include "oae_types.h"
#include "post.h"

struct oae_link_cfg;

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
	bool again : 1;
	bool ready : 1;
	bool doubt : 1;
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
 * struct oae_number - the numbers of frames (protocol 4.16), see number.c
 * @heard: of the peer's newest question, 0 none; on the wire it wraps
 * @sent: of the own last question in this run
 * @acked: the newest of these that the peer has heard
 * @map: which questions before @heard were heard, as an answer says
 * @now: @heard was heard in this event
 * @reorder: frames overtake each other
 */
struct oae_number {
	u64 heard;
	u64 sent;
	u32 acked;
	u32 map;
	bool now;
	bool reorder;
};

/**
 * struct oae_rtt - the round trip, see rtt.c
 * @srtt: smoothed, ns; 0 unmeasured
 * @rttvar: how much it varies, ns
 * @since: when the time of late began, ns
 * @longest: since @since, and in as long before that, ns
 * @shortest: likewise, its bits inverted
 * @guessed: @srtt is that of a probe
 */
struct oae_rtt {
	u64 srtt;
	u64 rttvar;
	u64 since;
	u32 longest[2];
	u32 shortest[2];
	bool guessed;
};

/* The greatest of late of what is measured: @longest, or @shortest. */
static inline u32 oae_peak(const u32 of[2])
{
	return of[0] > of[1] ? of[0] : of[1];
}

/**
 * struct oae_cong - how many frames may be under way, see congestion.c
 * @out: number of the last frame with a content
 * @recover: a loss of a frame up to here is the same as the last one
 * @cwnd: frames with a content that the network bears
 * @ssthresh: up to here @cwnd doubles with each round trip
 * @acked: frames that were heard since @cwnd grew
 * @undo: @cwnd before a loss that is a guess, 0 none
 */
struct oae_cong {
	u32 out;
	u32 recover;
	u16 cwnd;
	u16 ssthresh;
	u16 acked;
	u16 undo;
};

/**
 * struct oae_credit - what may be sent (protocol 4.11), see credit.c
 * @granted: what all of the peer above rx may cost, bytes
 * @gathered: what that costs which is here of it
 * @grant: what all of this end above peer.rx may cost, bytes
 * @charged: what it costs
 * @due: the peer is blocked, and nothing is granted: READY must follow
 * @blocked: what is next costs more than the peer grants
 * @said_blocked: and it was told
 */
struct oae_credit {
	u32 granted;
	u32 gathered;
	u32 grant;
	u32 charged;
	bool due;
	bool blocked;
	bool said_blocked;
};

/**
 * struct oae_mtu - what the path carries (protocol 4.17), see mtu.c
 * @here: the port of this end, bytes behind the Ethernet header, VIA not counted
 * @there: the same of the peer's; 0 unknown
 * @path: what gets through, if that is less; 0 all does
 * @search: this size is asked for, 0 none
 * @most: the longest slices that this peer was sent, or could be
 * @longs: long frames of tx + 1 in a row that were not heard
 * @tries: of @search
 * @too_long: what is next waits, since it is so for the path in use
 * @too_long_at: since when, ns; 0 it is not
 * @path_at: when @path was found, or what is longer asked for, ns
 * @search_pn: numbers of the long questions about @search
 */
struct oae_mtu {
	u16 here;
	u16 there;
	u16 path;
	u16 search;
	u16 most;
	u8 longs;
	u8 tries : 4;
	bool too_long : 1;
	u64 too_long_at;
	u64 path_at;
	u32 search_pn[OAE_MTU_TRIES];
};

/**
 * struct oae_timer - what the timer goes by (protocol 4.4), see timer.c; times in ns
 * @at: when it fires, 0 not armed
 * @moved_at: when tx moved
 * @grown_at: when the peer had more of tx + 1, or it was offered
 * @answered_at: when an answer has last heard something new
 * @stuck_at: the first such one since @moved_at, @grown_at; or @stuck grew
 * @ask_at: last ASK, or question of the timer
 * @silent_at: the first one since the peer was heard, 0 none
 * @held_at: last progress of what is held
 * @reflect_at: last REFLECT of the timer, if @reflects
 * @asks: its questions in a row: nothing new was answered
 * @reflects: its REFLECTs, since @held_at
 * @stuck: probe timeouts that this end has seen pass without progress
 */
struct oae_timer {
	u64 at;
	u64 moved_at;
	u64 grown_at;
	u64 answered_at;
	u64 stuck_at;
	u64 ask_at;
	u64 silent_at;
	u64 held_at;
	u64 reflect_at;
	u8 asks;
	u8 reflects;
	u8 stuck;
};

/**
 * struct oae_link_peer - the other end, as far as this one knows
 * @inc: its incarnation, 0 unknown
 * @ltag: by which it is called in this run
 * @rx: the last number that it is known to have delivered
 * @max_len: the longest transaction that it takes, bytes
 * @closing: enum oae_closing: what its CLOSE has said in this run
 * @packs: it takes packs
 * @paths: it takes other paths
 * @gateway: and such through gateways
 */
struct oae_link_peer {
	u64 inc;
	u32 ltag;
	u32 rx;
	u32 max_len;
	u8 closing;
	bool packs;
	bool paths;
	bool gateway;
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
	u64 now;		/* latest time of an event, ns */
	u64 heard_at;		/* last frame of the peer in this run */
	u64 active_at;		/* last time something was in flight */
	u64 asked_at;		/* first unanswered SYNC, probe or CLOSE, 0 none */
	u64 again_at;		/* next SYNC, probe or CLOSE */
	u64 settle_until;	/* settling until then, 0 not */
	struct oae_timer timer;
	struct oae_number number;
	struct oae_rtt rtt;
	struct oae_link_peer peer;

	u32 ltag;
	u32 tx;			/* last committed */
	u32 rx;			/* last delivered */
	u32 run_tx;		/* tx when this run began */
	u32 run_rx;		/* rx when this run began */
	u32 done_seq;		/* DONE was asked for this one */
	u8 vc;
	u8 state;		/* CLOSED, SYNC_SENT, SYNC_RECD or OPEN */
	u8 backoff;		/* failures since the last progress */
	bool senior;		/* of two crossing swaps, that of this end stands */
	bool down;
	bool ready_due;		/* refused BUSY or CONFLICT: READY must follow */
	bool next_valid;
	bool closing : 1;	/* closed here */
	bool await_done : 1;
	bool last_express : 1;	/* transaction rx was an express */
	bool unseen : 1;	/* and the peer was not seen to commit it */
	bool packs : 1;		/* this end takes packs, as said with this ltag */

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
	bool say_commit : 1;	/* COMMIT, at the end of the event, unless an offer goes out */
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
	bool paths : 1;		/* this end takes other paths, as said with this ltag */
	bool by_inc : 1;	/* both did once: their incarnations say who is the senior */
	u8 syncs : 2;		/* SYNCs sent with this ltag, at most 2 */
	u32 start;		/* tx before the first transaction */
	u32 base;		/* of the lanes: see oae_place() */
	u32 cost[2];		/* without @pair: as in struct oae_pair */
	u32 firm;		/* known: all from rx + 1 to here is held */
	struct oae_cong cong;
	struct oae_credit credit;
	struct oae_mtu mtu;

	struct oae_lane offer;	/* the lane of tx + 1, without @pair */
	struct oae_hold hold;	/* of rx + 1, without @pair */

	/* Members that are seldom looked at. */
	struct oae_post next;	/* waits behind the lanes, if next_valid */
	struct oae_swaps *swaps;	/* NULL: takes no half */
	u64 inc;		/* own incarnation */
	struct {		/* from the SYNC that told peer.ltag */
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
};

#endif /* OAE_STATE_H */
