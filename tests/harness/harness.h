/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The harness around the compiled link. Its users are the unit simulation, the
 * explorer, the fuzzers and oaesim.
 *
 *	carry.c		carries out the link's actions: ops, the queue, sends
 *	promise.c	checks G1 to G4 and G6 after each of them
 *
 * The harness does not allocate, and its structs hold no pointers, so a user may
 * copy its world. Payloads belong to the user: bytes, a hash, or the name of a
 * slice. The user defines the functions at the end of this file; the linker binds
 * them, so they are inlined where a program is compiled as one unit.
 */
#ifndef OAE_HARNESS_H
#define OAE_HARNESS_H

#include "../../modoae/link/conn.h"

/* The name of a transaction: later names are greater, 0 is none. */
#ifndef h_id
#define h_id	u64
#endif

/* Transactions under way, each way, at most: a power of two. */
#ifndef H_LANES
#define H_LANES 1
#endif

/* As many places an end has; H_PAIRS 1: it has none, and h_places() is to find them. */
#ifndef H_PAIRS
#define H_PAIRS H_LANES
#endif

#define H_HANDLE(id)	((void *)(uintptr_t)(id))
#define H_OF(handle)	((h_id)(uintptr_t)(handle))

/* One transaction: its parameters, where it is, and what has become of it. */
struct h_tx {
	u64 offered_to;		/* the peer's incarnation at the first OFFER, or the lending */
	h_id other;		/* SWAP: the half received in exchange. VERB: the user's */
	h_id next;		/* in its queue */
	u32 len;
	u8 from;		/* sending end, 0 or 1 */
	u8 kind;		/* enum oae_kind */
	u8 flags;		/* OAE_POST_* */
	u8 outcome;
	bool at_link : 1;	/* otherwise queued, or ended */
	bool ended : 1;
	bool lost : 1;		/* its sender crashed: no outcome is reported */
	bool delivered : 1;	/* or taken, or applied */
	bool excused : 1;	/* committed, and lost because an end died */
	bool offered : 1;	/* since it was posted last; never set for a half */
	bool lent : 1;		/* SWAP: went out in a REFLECT */
	bool answered : 1;	/* SWAP, VERB: the other half or the answer has come */
	bool unwanted : 1;	/* SWAP: cancelled while lent */
};

struct h_queue {
	h_id first, last;
};

static inline unsigned int h_lane(u32 seq)
{
	return seq % H_LANES;
}

/* One end of a link. */
struct h_end {
	struct oae_link link;
	u64 timer_at;		/* 0: not armed */
	struct oae_pair pair[H_PAIRS];	/* lent to the link */
	struct oae_swaps swaps;	/* likewise */
	struct oae_pair *pairs[H_PAIRS];
	u64 have[H_LANES];	/* kept slices of each number, bit n for slice n */
	u32 kept[H_LANES];	/* bytes */
	h_id committed;		/* last one committed by this end */
	h_id undelivered[H_LANES];	/* committed, and not delivered yet, in order */
	h_id last_id, last_half;	/* last ones delivered to this end */
	struct h_queue queue;	/* messages and verbs */
	struct h_queue halves;
	u32 queued;		/* in both queues */
	u32 unread;
	u8 who;			/* 0 or 1 */
	u8 nundelivered;
	bool tag;		/* the link exists */
	u64 computed;		/* verbs, bit h_lane() of each: their words are reserved */
	bool renamed;		/* its address has changed */
	bool compared;		/* has resolved against the other end's counters */
	u8 owes_unconfirmed;	/* so many notes must still come */
	u8 owes_held_lost;
};

/**
 * struct h_event - an event at one end, until all its frames are sent
 * @world: the user's
 * @end: the end where it happens
 * @peer: the other end; NULL if it is hostile, and so its state unknown
 * @a: the actions
 * @conn: the event of the link with its paths
 * @f: the received frame, or NULL
 * @raw: the same frame in the user's form
 * @now: the event's clock, ns
 * @rcvbuf: limit of unread transactions, 0: none
 * @max_len: limit of kept bytes, 0: none
 * @anything: the world began in an arbitrary state; what the ends knew then may be wrong
 * @hostile: frames were forged
 * @stop: set by h_fail() to end the event; nothing more is carried out
 * @broken: BROKEN was noted
 * @seq: the number that an op is about
 * @before: the oldest of @end->undelivered, for which there was no room any more, or 0
 * @excused: change in the number of excused transactions
 * @calls: calls into the link, without the event's own
 * @most: most ops at once
 */
struct h_event {
	void *world;
	struct h_end *end, *peer;
	struct oae_actions *a;
	struct oae_conn conn;
	const struct oae_frame *f;
	const void *raw;
	u64 now;
	u32 rcvbuf, max_len;
	bool anything, hostile, stop, broken, stopped;
	u32 seq;
	h_id before;
	int excused;
	unsigned int calls, most;
};

/* carry.c */
void h_begin(struct h_event *ev);
void h_ops(struct h_event *ev);
void h_enqueue(struct h_event *ev, struct h_tx *tx, h_id id);
void h_requeue(struct h_event *ev, struct h_tx *tx, h_id id);
bool h_unqueue(struct h_event *ev, const struct h_tx *tx, h_id id);
struct h_tx *h_dequeue(struct h_event *ev, struct h_queue *q, h_id *id);
void h_feed(struct h_event *ev);
void h_sends(struct h_event *ev);
void h_finish(struct h_event *ev);
int h_cancel(struct h_event *ev, h_id id, int err);
struct h_tx *h_at_link(struct h_event *ev, h_id id);
void h_free_slots(struct h_event *ev);
void h_lend(struct h_event *ev);
void h_reclaim(struct h_event *ev);
void h_cut(struct h_event *ev, const struct h_tx *tx, h_id id, u16 cut,
	   struct oae_post *p);
void h_text(char *buf, size_t len, const char *why, u64 id);

/* promise.c */
void h_note(struct h_event *ev, u8 note);
void h_keeps(struct h_event *ev, const struct oae_op *op);
struct h_tx *h_offers(struct h_event *ev, const struct oae_send *s);
void h_lends(struct h_event *ev, const struct oae_send *s);
void h_ended(struct h_event *ev, struct h_tx *tx, h_id id, u8 outcome, int err);
void h_confirmed(struct h_event *ev);
void h_hand_over(struct h_event *ev, u8 op, unsigned int n, h_id mine);
void h_result(struct h_event *ev, struct h_tx *tx, h_id id);
void h_new_end(struct h_event *ev);
void h_died(struct h_event *ev);
void h_check(struct h_event *ev);
bool h_idle(const struct h_end *e);
void h_check_tx(struct h_event *ev, struct h_tx *tx, h_id id);
void h_check_owed(struct h_event *ev);

/*
 * Defined by the user.
 */

/* Report a violation; "#" in @why stands for the transaction: see h_text(). */
void h_fail(struct h_event *ev, u64 id, const char *why);
/* Find a transaction of either end; NULL if there is none, or it is finished with. */
struct h_tx *h_find(struct h_event *ev, h_id id);
void h_noted(struct h_event *ev, u8 note);
/* A pack, or joined verbs: the user has their order, and what becomes of the members. */
static inline bool h_several(const struct h_tx *tx)
{
	return tx->kind == OAE_PACK || tx->flags & OAE_POST_JOINED;
}

/* Is a computed verb held under @ev->seq? */
static inline bool h_verb_here(const struct h_event *ev)
{
	return ev->end->computed >> h_lane(ev->seq) & 1;
}

/* Keep the payload of @ev->f. Free what is kept of @ev->seq; if h_verb_here(), its words. */
void h_keep(struct h_event *ev, unsigned int slice);
void h_drop(struct h_event *ev);
/* The hash of a slice that is kept; anything if it is not. */
u64 h_hash(struct h_event *ev, u32 seq, unsigned int slice);
/* The hash of a slice that is sent; of slice 0 also its first bytes. */
u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id, unsigned int slice,
	    u32 off, u32 len, u64 *first);
/* Compute the verb in slice 0 of @ev->seq: the reason to refuse it, or 0 and its answer's bytes. */
u16 h_compute(struct h_event *ev, u16 *reply);
/* A transaction is delivered, taken or applied; @tx is NULL if the peer is hostile. */
void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id);
/* A transaction has ended; tell its user. */
void h_told(struct h_event *ev, struct h_tx *tx, h_id id, int err);
/* Describe @tx for the link; if @max is not 0, cut it anew to at most @max bytes a slice. */
void h_post(struct h_event *ev, struct h_tx *tx, h_id id, u16 max,
	    struct oae_post *p);

/* What a number of this end costs at the peer, as the link has it. */
static inline u32 *h_cost(struct oae_link *l, u32 seq)
{
	u32 at = seq - l->base;

	if (!l->pair)
		return &l->cost[at & 1];
	return &l->pair[at & (l->npairs - 1)]->cost[!!(at & l->npairs)];
}

/*
 * Optional for the user.
 */
#define H_OPTIONAL	__attribute__((weak))

/* Called before an op is carried out, or a frame sent. */
H_OPTIONAL void h_before(struct h_event *ev, const struct oae_op *op);
H_OPTIONAL void h_before_send(struct h_event *ev, const struct oae_send *s);
/*
 * A pack of the first of @ev->end->queue, or these joined, which are dequeued; NULL: the
 * first goes alone.
 */
H_OPTIONAL struct h_tx *h_pack(struct h_event *ev, h_id *id);
/* The link has given such a one back: h_requeue() its members, the last one first. */
H_OPTIONAL void h_dissolve(struct h_event *ev, struct h_tx *tx, h_id id, bool refused);

/* H_LANES places for the window of the link, filled with zeros. */
H_OPTIONAL struct oae_pair **h_places(struct h_event *ev);
/* The paths of @ev->end; NULL: it has its own one alone. Then: they are done with an event. */
H_OPTIONAL struct oae_paths *h_paths(struct h_event *ev);
H_OPTIONAL void h_paths_end(struct h_event *ev);
/* Called before queued transactions are posted. */
H_OPTIONAL void h_more(struct h_event *ev);
/* Send a complete frame; @tx: OFFER: its transaction; REFLECT: the half behind it. */
H_OPTIONAL void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *tx,
		       h_id id);
/* The transaction of the kept slices of @ev->seq; 0: none, and reported already. */
H_OPTIONAL h_id h_whose(struct h_event *ev, unsigned int n, u8 kind);
/* The half behind a REFLECT; for a verb's answer: nonzero if it is right. */
H_OPTIONAL h_id h_answer(struct h_event *ev, struct h_tx *tx, h_id id);
/* The timer was armed for @ev->end->timer_at. */
H_OPTIONAL void h_timer(struct h_event *ev);
/* Is this end's address the higher one, by its own path? That of B is if it is not there. */
H_OPTIONAL bool h_higher(struct h_event *ev);
/* The link is gone. */
H_OPTIONAL void h_gone(struct h_event *ev);

#endif /* OAE_HARNESS_H */
