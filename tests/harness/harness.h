/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every program around the compiled link needs: its actions are carried
 * out here (carry.c), and what it promises is checked here (promise.c). The
 * unit simulation, the explorer, the fuzzers and oaesim are its users.
 *
 *	carry.c		which op does what, the queue, what is sent
 *	promise.c	G1 to G4 and G6, as it happens
 *
 * Nothing here allocates, and no struct holds a pointer: a world may be copied.
 * What the payload is, is the user's: bytes, a hash, or the name of a slice. The
 * user defines the functions named last here; the linker binds them, so that they
 * are inlined where the program is compiled as one.
 */
#ifndef OAE_HARNESS_H
#define OAE_HARNESS_H

#include "../../modoae/link/link.h"

/* Names of transactions: later ones are greater, 0 is none. */
#ifndef h_id
#define h_id	u64
#endif

#define H_HANDLE(id)	((void *)(uintptr_t)(id))
#define H_OF(handle)	((h_id)(uintptr_t)(handle))

/* One transaction, as its user and fate see it. */
struct h_tx {
	u64 offered_to;		/* the peer's incarnation when it was first offered, or lent */
	h_id other;		/* SWAP: the half that came for it. VERB: the user's */
	h_id next;		/* in its queue */
	u32 len;
	u8 from;		/* which end, 0 or 1 */
	u8 kind;		/* enum oae_kind */
	u8 flags;		/* OAE_POST_* */
	u8 outcome;
	bool at_link : 1;	/* else in the queue, or ended */
	bool ended : 1;
	bool lost : 1;		/* its sender crashed: nobody to tell */
	bool delivered : 1;	/* taken, applied */
	bool excused : 1;	/* committed, and an end died undelivered */
	bool offered : 1;	/* and not refused since; a half never */
	bool lent : 1;		/* SWAP: went out in a REFLECT */
	bool answered : 1;	/* SWAP, VERB: what it is for has come */
	bool unwanted : 1;	/* SWAP: asked back while lent */
};

struct h_queue {
	h_id first, last;
};

/* One end of a link. */
struct h_end {
	struct oae_link link;
	u64 timer_at;		/* 0 not armed */
	u64 have;		/* slices kept, bit n for slice n */
	h_id committed;		/* last committed from here */
	h_id last_id, last_half;	/* last delivered here */
	struct h_queue queue;	/* messages and verbs */
	struct h_queue halves;
	u32 queued;		/* in both queues */
	u32 kept;		/* bytes */
	u32 unread;
	u8 who;			/* 0 or 1 */
	bool undelivered;	/* committed is, or was given up so */
	bool tag;		/* there is a link */
	bool computed;		/* a verb is: words are reserved */
	bool renamed;		/* its address has changed */
	bool compared;		/* has heard where the other stands */
	bool owes_unconfirmed;	/* notes that must still come */
	bool owes_held_lost;
};

/**
 * struct h_event - an event at one end, from its beginning until all is sent
 * @world: the user's
 * @end: where it is
 * @peer: the other end; NULL if that is hostile: then nothing is known of it
 * @a: the actions
 * @f: the frame that comes in, or NULL
 * @raw: the same in the user's form
 * @now: by the clock of this event
 * @rcvbuf: what may be unread, 0 anything
 * @max_len: what may be kept, bytes; 0 anything
 * @anything: the world began anywhere: what the ends knew then may be wrong
 * @hostile: frames were forged
 * @stop: h_fail() sets it to end the event; nothing more is carried out
 * @broken: BROKEN was noted
 * @before: committed before that which is now, and undelivered
 * @excused: how many more are given up than before
 * @calls: of the link's functions, but for the event's own
 * @most: ops at once
 */
struct h_event {
	void *world;
	struct h_end *end, *peer;
	struct oae_actions *a;
	const struct oae_frame *f;
	const void *raw;
	u64 now;
	u32 rcvbuf, max_len;
	bool anything, hostile, stop, broken;
	h_id before;
	int excused;
	unsigned int calls, most;
};

/* carry.c */
void h_begin(struct h_event *ev);
void h_ops(struct h_event *ev);
void h_enqueue(struct h_event *ev, struct h_tx *tx, h_id id);
bool h_unqueue(struct h_event *ev, const struct h_tx *tx, h_id id);
struct h_tx *h_dequeue(struct h_event *ev, struct h_queue *q, h_id *id);
void h_feed(struct h_event *ev);
void h_sends(struct h_event *ev);
void h_finish(struct h_event *ev);
int h_cancel(struct h_event *ev, h_id id, int err);
struct h_tx *h_at_link(struct h_event *ev, h_id id);
void h_free_slots(struct h_event *ev);
void h_cut(struct h_event *ev, const struct h_tx *tx, h_id id, u16 cut,
	   struct oae_post *p);
void h_text(char *buf, size_t len, const char *why, u64 id);

/* promise.c */
void h_note(struct h_event *ev, u8 note);
void h_keeps(struct h_event *ev, unsigned int slice);
struct h_tx *h_offers(struct h_event *ev, const struct oae_send *s);
void h_lends(struct h_event *ev, const struct oae_send *s);
void h_refused(struct h_event *ev);
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
 * The user's part.
 */

/* A breach; in @why, "#" stands for the transaction: see h_text(). */
void h_fail(struct h_event *ev, u64 id, const char *why);
/* Of either end; NULL if there is none, or nothing can happen to it any more. */
struct h_tx *h_find(struct h_event *ev, h_id id);
void h_noted(struct h_event *ev, u8 note);
/* Keep the payload of @ev->f. Free all slices kept; words are free, too. */
void h_keep(struct h_event *ev, unsigned int slice);
void h_drop(struct h_event *ev);
/* The verb in slice 0: a reason not to hold it; or the bytes of its answer. */
u16 h_compute(struct h_event *ev, u16 *reply);
/* Delivered, taken or applied; @tx is NULL if the peer is hostile. */
void h_arrived(struct h_event *ev, u8 op, struct h_tx *tx, h_id id);
/* It has ended, and its user is told. */
void h_told(struct h_event *ev, struct h_tx *tx, h_id id, int err);
/* As the link wants it; cut anew to at most @max bytes a slice if that is not 0. */
void h_post(struct h_event *ev, struct h_tx *tx, h_id id, u16 max,
	    struct oae_post *p);

/*
 * What a user need not have.
 */
#define H_OPTIONAL	__attribute__((weak))

/* Before an op is carried out, or a send. */
H_OPTIONAL void h_before(struct h_event *ev, const struct oae_op *op);
H_OPTIONAL void h_before_send(struct h_event *ev, const struct oae_send *s);
/* Before the link gets what is in the queue. */
H_OPTIONAL void h_more(struct h_event *ev);
/* For h_cut(): the hash of a slice; of the first, also the first bytes. */
H_OPTIONAL u64 h_slice(struct h_event *ev, const struct h_tx *tx, h_id id,
		       unsigned int slice, u32 off, u32 len, u64 *first);
/* To the wire, filled in; @tx: OFFER: whose slice; REFLECT: the half behind it. */
H_OPTIONAL void h_send(struct h_event *ev, struct oae_frame *f, struct h_tx *tx,
		       h_id id);
/* Whose are the slices kept? 0: nobody's, and that has been said. */
H_OPTIONAL h_id h_whose(struct h_event *ev, unsigned int n, u8 kind);
/* The name of the half behind a REFLECT; of an answer, whether it is right. */
H_OPTIONAL h_id h_answer(struct h_event *ev, struct h_tx *tx, h_id id);
/* The timer is armed: @ev->end->timer_at. */
H_OPTIONAL void h_timer(struct h_event *ev);
/* The link is no more. */
H_OPTIONAL void h_gone(struct h_event *ev);

#endif /* OAE_HARNESS_H */
