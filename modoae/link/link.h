/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link: one end of a bilateral alternating-bit link.
 *
 * Pure: events go in (a frame, a post, a cancel, the timer, ...), actions come
 * out. Nothing here allocates, locks, reads a clock or sends. The caller holds
 * whatever lock protects the link, gives the time (by a clock that may step back
 * a little), and afterwards carries the actions out: struct oae_op first and in
 * order, under the same lock, then struct oae_send without it.
 *
 * The rules are those of doc/protocol.md section 4. Which file holds which:
 *   link.c   the events
 *   timer.c  when something counts as a failure
 *   close.c  closing, and the end of a link
 *   offer.c  the initiator: offer, commit, reverse
 *   hold.c   the responder: slices, hold, reflect, deliver
 *   half.c   swaps: the half that is posted, offered, lent
 *   sync.c   freezing and resolving
 *   show.c   what others may know of a link
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

/* Why a transaction that is not committed is not. Positive errno values. */
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
#define OAE_E_RANGE		ERANGE		/* reversed: verb, behind its end */
#define OAE_E_ACCESS		EACCES		/* reversed: verb, not permitted */
#define OAE_E_BAD_VERB		EBADMSG		/* reversed: verb, not readable */
#define OAE_E_UNKNOWN		EOWNERDEAD	/* unknown: an end of the link died */

/**
 * struct oae_link_cfg - what the knobs say, the same for the whole of an event
 * @stall_min: least stall time, ns
 * @stall_max: greatest stall time, ns, unless two round trips are longer or
 *	failure follows failure; also the first one, before any round trip was
 *	measured, is a tenth of it
 * @keepalive: ns of silence after which an idle peer is probed, also how long
 *	a refused transaction stays parked without READY
 * @dead: ns without an answer after which a link is down
 * @max_len: largest transaction held, bytes
 * @random: 32 unpredictable bits; any context the link's events come in
 */
struct oae_link_cfg {
	u64 stall_min;
	u64 stall_max;
	u64 keepalive;
	u64 dead;
	u32 max_len;
	u32 (*random)(void);
};

#define OAE_POST_EXPRESS	0x01	/* deliver at once, not reversible */
#define OAE_POST_CONFIRM	0x02	/* ask for DONE after the commit */

/**
 * struct oae_post - a transaction to offer; the payload stays with the caller
 * @handle: the caller's; comes back in actions
 * @digest: oae_whole_digest() of its slices
 * @first: oae_first_bytes()
 * @len: bytes
 * @slice_max: the longest slice, bytes
 * @nslices: 1 to OAE_MAX_SLICES
 * @kind: enum oae_kind
 * @flags: OAE_POST_*; none with a SWAP or a VERB but CONFIRM
 * @reply: VERB: bytes of the answer
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

/* What happened, to be counted and logged. Every dropped frame has one. */
enum oae_note {
#define OAE_NOTE(_id, _name, _text) OAE_N_##_id,
#include "notes.h"
	OAE_NOTE_END
};

enum oae_op_type {
	OAE_OP_NOTE,		/* @note happened */
	OAE_OP_KEEP,		/* keep this frame's payload as slice @slice */
	OAE_OP_DISCARD,		/* free all slices kept */
	OAE_OP_DELIVER,		/* the slices kept, 0 to @slice - 1, to the reader */
	OAE_OP_RESULT,		/* behind this REFLECT's own body: for @handle */
	OAE_OP_TAKE,		/* swap: what is kept as slice 0 is for @handle */
	OAE_OP_VERB,		/* compute slice 0, then oae_link_computed() */
	OAE_OP_APPLY,		/* verb: carry slice 0 out, and free it */
	OAE_OP_COMPLETE,	/* @handle ended: @outcome, @err */
	OAE_OP_CONFIRMED,	/* the last committed one is known delivered */
	OAE_OP_RESLICE,		/* cut @handle anew: oae_link_cut(), then
				 * oae_link_resliced()
				 */
	OAE_OP_TIMER,		/* (re)arm it: when the event's clock says @at, ns */
	OAE_OP_FLUSH,		/* end all that is queued: reversed, @err */
	OAE_OP_GONE,		/* the link is CLOSED and may be forgotten */
};

struct oae_op {
	u8 type;
	u8 note;
	u8 outcome;
	u8 slice;
	int err;
	union {
		void *handle;
		u64 at;
	};
};

/**
 * struct oae_send - a frame to send
 * @frame: the frame; for an OFFER the caller fills in length, slice, LAST and
 *	payload_hash of each; for a REFLECT whose length is not 0, payload_hash,
 *	which covers the body and what comes behind it
 * @handle: OFFER: whose slices; REFLECT of a SWAP: whose bytes come behind its
 *	body. That of a VERB: the answer does
 * @slices: OFFER: which of them, bit n for slice n
 * @slice_max: OFFER: bytes of each but the last
 * @nslices: OFFER: how many there are in all
 */
struct oae_send {
	struct oae_frame frame;
	void *handle;
	u64 slices;
	u16 slice_max;
	u8 nslices;
};

/* Of one event; a random walk has seen 11 and 4. They lie on the stack. */
#define OAE_MAX_OPS	16
#define OAE_MAX_SENDS	6

/* What an event leads to. Set both counts to 0 before the event. */
struct oae_actions {
	unsigned int nops;
	unsigned int nsends;
	bool overflow;		/* never: a bug in the link */
	struct oae_op op[OAE_MAX_OPS];
	struct oae_send send[OAE_MAX_SENDS];
};

enum oae_offer_state {
	OAE_OFFER_NONE,
	OAE_OFFER_SLICING,	/* waiting for oae_link_resliced() */
	OAE_OFFER_OUT,		/* in flight */
	OAE_OFFER_PARKED,	/* refused, may be reversed freely */
};

enum oae_hold_state {
	OAE_HOLD_NONE,
	OAE_HOLD_PARTIAL,	/* some slices of this attempt are here */
	OAE_HOLD_ASKED,		/* a verb, waiting for oae_link_computed() */
	OAE_HOLD_HELD,		/* all are, and were reflected */
	OAE_HOLD_REFUSED,	/* this attempt was refused */
	OAE_HOLD_REVERSED,	/* this attempt was reversed */
	OAE_HOLD_KEPT,		/* slices of an earlier run, for RESUME */
};

/* The half that this end has posted (protocol 4.9). */
enum oae_half_state {
	OAE_HALF_NONE,
	OAE_HALF_POSTED,	/* to be offered */
	OAE_HALF_OFFERED,	/* is what is offered */
	OAE_HALF_WAITING,	/* the peer had none */
	OAE_HALF_LENT,		/* the peer's is held, this one reflected */
};

/**
 * struct oae_link - one end of a link; the members are the link's own
 *
 * May be copied with memcpy (the explorer does): it holds no pointer into
 * itself.
 */
struct oae_link {
	const struct oae_link_cfg *cfg;
	u64 inc;		/* own incarnation */
	u64 peer_inc;		/* the peer's, 0 unknown */
	struct {		/* what came with peer_ltag */
		u64 inc;
		u32 max_len;
		u32 start;
		u16 mtu;
	} heard;
	u32 ltag;
	u32 peer_ltag;
	u32 tx;			/* last committed */
	u32 rx;			/* last delivered */
	u32 start;		/* tx before the first transaction */
	u32 run_tx;		/* tx and rx when this run began */
	u32 run_rx;
	u32 peer_max_len;
	u16 mtu;
	u16 peer_mtu;		/* 0 unknown */
	u16 cut;		/* longest slice that seems to pass, 0 any */
	u8 vc;
	bool senior;		/* of two crossing swaps, mine stands */
	u8 state;		/* CLOSED, SYNC_SENT, SYNC_RECD or OPEN */
	u8 attempt;		/* of tx + 1, this run */
	u8 backoff;		/* failures since the last progress */
	u8 fruitless;		/* of them: SYNCs pass, what is offered does not */
	bool down;
	bool closing;		/* closed here */
	bool close_sent;
	bool peer_closing;
	bool confirmed;		/* the peer is known to have delivered tx */
	bool await_done;
	bool clean;		/* tx + 1 has had one content only */
	bool last_express;	/* rx was an express */
	bool unseen;		/* and the peer was not seen to commit it */
	bool ready_due;		/* refused BUSY: READY when there is room */
	bool next_valid;
	u8 last_kind;		/* kind of the express at rx */

	struct {
		struct oae_post p;
		u64 at;		/* last progress */
		u64 unseen;	/* slices sent last, but for LAST */
		u8 state;	/* enum oae_offer_state */
		bool hopeless;	/* whole, it is too long for the path */
		bool again;	/* was offered before */
		bool doubt;	/* an express: an earlier run may deliver it */
	} offer;
	struct oae_post next;

	struct {		/* parked, and a half is what is offered */
		struct oae_post p;
		bool valid;
		bool ready;	/* READY came for it */
	} aside;

	struct {
		struct oae_post p;
		int cancelled;	/* LENT: it shall not come back, errno */
		u64 again_at;	/* WAITING: offered again, in any case */
		u64 fruitless_at; /* first of those that fruitless counts */
		u8 state;	/* enum oae_half_state */
		u8 fruitless;	/* lent, and SYNCs pass, but no commit */
		bool again;	/* was offered before */
		bool crossed;	/* the peer's was refused because of mine */
		bool turn;	/* what was offered last was no half */
	} half;

	struct {
		u64 have;	/* slices here, bit n for slice n */
		u64 digest;
		u64 first;
		u64 at;
		u32 len;
		u16 reason;
		u16 reply;	/* bytes behind the REFLECT's own body */
		u8 state;	/* enum oae_hold_state */
		u8 attempt;
		u8 nslices;	/* 0 until LAST is here */
		u8 kind;
		bool express;
		u64 hash[OAE_MAX_SLICES];
	} hold;

	/* Times, ns, and the one timer. */
	u64 now;		/* the latest that an event has seen */
	u64 timer_at;		/* when it fires, 0 not armed */
	u64 heard_at;		/* last word of the peer in this run */
	u64 active_at;		/* last time something was in flight */
	u64 asked_at;		/* asked and unanswered since, 0 not */
	u64 again_at;		/* next SYNC, probe or CLOSE */
	u64 again_iv;		/* and the interval after it */
	u64 park_at;
	u64 done_at;
	u64 down_at;
	u64 settle_until;	/* nothing new before this, 0 any time */
	u64 sync_at;		/* first SYNC of this ltag */
	u64 waited;		/* what was offered had, when it froze; 0 none */
	u64 waited_held;	/* the same for what was held */
	u64 cut_at;
	u64 fruitless_at;	/* first of those that fruitless counts */
	u64 srtt;		/* smoothed round trip, 0 unmeasured */
	u64 rttvar;
	u8 syncs;		/* how many of this ltag, 2 for more */

	struct {		/* the run before, for answers that come late */
		u32 ltag;
		u32 peer_ltag;
		u64 offer_at;	/* what was offered, 0 nothing */
		u64 hold_at;	/* what was held, 0 nothing */
		u32 tx;
		u32 rx;
		u8 attempt;
	} late;
};

void oae_link_init(struct oae_link *l, const struct oae_link_cfg *cfg, u8 vc,
		   u16 mtu, u32 start);
void oae_link_rank(struct oae_link *l, bool senior);
void oae_link_open(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_accept(struct oae_link *l, const struct oae_frame *sync, u64 now,
		     struct oae_actions *a);
void oae_link_rcv(struct oae_link *l, const struct oae_frame *f, bool room,
		  u64 now, struct oae_actions *a);
int oae_link_post(struct oae_link *l, const struct oae_post *p, u64 now,
		  struct oae_actions *a);
bool oae_link_wants(const struct oae_link *l);
bool oae_link_wants_half(const struct oae_link *l);
int oae_link_cancel(struct oae_link *l, const void *handle, int err, u64 now,
		    struct oae_actions *a);
void oae_link_resliced(struct oae_link *l, const struct oae_post *p, u64 now,
		       struct oae_actions *a);
void oae_link_computed(struct oae_link *l, u16 reason, u16 reply, u64 now,
		       struct oae_actions *a);
void oae_link_drained(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_confirm(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_timer(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_close(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_kill(struct oae_link *l, int err, u64 now,
		   struct oae_actions *a);
void oae_link_port_up(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_port_down(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_settle(struct oae_link *l, u64 until, u64 now,
		     struct oae_actions *a);
void oae_link_renamed(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_link_set_mtu(struct oae_link *l, u16 mtu, u64 now,
		      struct oae_actions *a);

/* What each event asks; without the caller's lock the answer is a hint. */

static inline bool oae_link_closed(const struct oae_link *l)
{
	return READ_ONCE(l->state) == OAE_CLOSED;
}

/* No answer for dead_ms: the peer is away. */
static inline bool oae_link_down(const struct oae_link *l)
{
	return l->down;
}

/* The number of the last transaction that was committed from here. */
static inline u32 oae_link_tx(const struct oae_link *l)
{
	return l->tx;
}

/* The handle of what OAE_N_OFFERED was noted for. */
static inline void *oae_link_offered(const struct oae_link *l)
{
	return l->offer.p.handle;
}

/* The peer was refused and waits: oae_link_drained() when there is room. */
static inline bool oae_link_owes_ready(const struct oae_link *l)
{
	return READ_ONCE(l->ready_due);
}

/* When the timer is to fire, by the event's clock, ns; 0 it is not armed. */
static inline u64 oae_link_timer_at(const struct oae_link *l)
{
	return l->timer_at;
}

/* What the knobs say now, for the event that begins. */
static inline void oae_link_use(struct oae_link *l,
				const struct oae_link_cfg *cfg)
{
	l->cfg = cfg;
}

enum oae_state oae_link_state(const struct oae_link *l);
/**
 * struct oae_link_view - what people and programs see of a link
 * @state: see oae_link_state()
 * @offer: enum oae_offer_state
 * @hold: enum oae_hold_state
 * @vc: virtual channel
 * @pending: transactions of this end that the link has and that have not ended
 * @down: no answer for dead_ms
 * @half: a half of this end is posted
 * @doubt: frozen, with something undecided
 * @slice_max: see oae_link_slice_max()
 * @peer_max_len: the longest transaction that the peer holds
 * @tx: last committed
 * @rx: last delivered
 * @srtt: smoothed round trip, ns
 */
struct oae_link_view {
	enum oae_state state;
	u8 offer;
	u8 hold;
	u8 vc;
	u8 pending;
	bool down;
	bool half;
	bool doubt;
	u16 slice_max;
	u32 peer_max_len;
	u32 tx;
	u32 rx;
	u64 srtt;
};

/* How far an end had committed, and towards which incarnation of the peer. */
struct oae_link_mark {
	u64 inc;
	u64 peer_inc;
	u32 tx;
};

void oae_link_show(const struct oae_link *l, struct oae_link_view *v);
bool oae_link_idle(const struct oae_link *l);
bool oae_link_settling(const struct oae_link *l);
void oae_link_mark(const struct oae_link *l, struct oae_link_mark *m);
bool oae_link_confirmed(const struct oae_link *l,
			const struct oae_link_mark *m);
bool oae_link_undecided(const struct oae_link *l);
bool oae_link_in_doubt(const struct oae_link *l);
u16 oae_link_slice_max(const struct oae_link *l);
u16 oae_link_cut(const struct oae_link *l, u32 len);
bool oae_link_early(const struct oae_link *l, u64 now);
u64 oae_link_stall(const struct oae_link *l);
const char *oae_state_name(enum oae_state state);
const char *oae_note_name(enum oae_note note);

#endif /* OAE_LINK_H */
