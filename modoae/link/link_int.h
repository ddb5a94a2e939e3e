/* SPDX-License-Identifier: GPL-2.0 */
/* Internal to the files of the link, which link.h lists. */
#ifndef OAE_LINK_INT_H
#define OAE_LINK_INT_H

#include "link.h"

#define OAE_FAST_BACKOFF 7	/* failures that double the stall time each */
#define OAE_MAX_BACKOFF	39	/* up to here every second failure doubles it */
#define OAE_CLOCK_STEP	1000000000ULL	/* ns; a larger step back: a new clock */
#define OAE_MIN_SLICE	(OAE_MIN_MTU - OAE_HDR_LEN)
#define OAE_FRUITLESS	3	/* fruitless failures until slices are cut smaller */
#define OAE_HOPELESS	16	/* the same until an uncuttable offer is too big */
#define OAE_CUT_NS	600000000000ULL	/* ns until longer slices are tried again */
#define OAE_FORGET_DEAD	8	/* dead times until a link that is down is forgotten */
#define OAE_RUN_MAX	0x40000000U	/* transactions of a run, each way */

static inline bool oae_frozen(const struct oae_link *l)
{
	return l->state == OAE_SYNC_SENT || l->state == OAE_SYNC_RECD;
}

/* An end that closes, or settles, takes nothing that it does not hold. */
static inline bool oae_takes_nothing(const struct oae_link *l)
{
	return l->closing || l->settle_until;
}

/* CLOSE is out, and repeated until it is answered. */
static inline bool oae_close_out(const struct oae_link *l)
{
	return l->closing && l->close_sent;
}

/* Transaction numbers wrap: compare them by their distance. */
static inline s32 oae_dist(u32 from, u32 to)
{
	return (s32)(to - from);
}

static inline u64 oae_slice_mask(unsigned int nslices)
{
	return ~0ULL >> (OAE_MAX_SLICES - nslices);
}

/* An express in flight cannot be reversed: the peer may have delivered it. */
static inline bool oae_offer_reversible(const struct oae_link *l)
{
	return !(l->offer.p.flags & OAE_POST_EXPRESS) ||
	       l->offer.state != OAE_OFFER_OUT;
}

/* The half is neither offered nor lent, so it can be reversed freely. */
static inline bool oae_half_idle(const struct oae_link *l)
{
	return l->half.state == OAE_HALF_POSTED ||
	       l->half.state == OAE_HALF_WAITING;
}

/* Does the link have any post that can be reversed? */
static inline bool oae_has_posts(const struct oae_link *l)
{
	return l->next_valid || l->aside.valid || oae_half_idle(l) ||
	       (l->offer.state != OAE_OFFER_NONE && oae_offer_reversible(l));
}

/* link.c */
struct oae_op *oae_op(struct oae_actions *a, enum oae_op_type type);
void oae_note(struct oae_actions *a, enum oae_note note);
struct oae_send *oae_send(struct oae_link *l, struct oae_actions *a,
			  enum oae_opcode opcode);
void oae_complete(struct oae_actions *a, void *handle,
		  enum oae_outcome outcome, int err);

/* timer.c */
void oae_new_clock(struct oae_link *l, u64 now);
void oae_rtt_sample(struct oae_link *l, u64 rtt);
void oae_late_begin(struct oae_link *l);
void oae_late_rcv(struct oae_link *l, const struct oae_frame *f, u64 now);
u64 oae_first_again(const struct oae_link *l);
void oae_arm(struct oae_link *l, u64 now, struct oae_actions *a);

/* close.c */
void oae_link_end(struct oae_link *l, int err, struct oae_actions *a);
void oae_drop_posts(struct oae_link *l, int err, struct oae_actions *a);
void oae_close_step(struct oae_link *l, u64 now, struct oae_actions *a);

/* offer.c */
void oae_offer_pump(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_again(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_committed(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		    struct oae_actions *a);
void oae_offer_drop_next(struct oae_link *l, int err, struct oae_actions *a);
void oae_offer_drop_aside(struct oae_link *l, int err, struct oae_actions *a);
void oae_offer_delivered(struct oae_link *l, struct oae_actions *a);
void oae_settled(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_sure(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_withdraw(struct oae_link *l);
void oae_stalled(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_answered(struct oae_link *l, u64 now, bool in, bool out);
void oae_offer_uncut(struct oae_link *l);
void oae_send_commit(struct oae_link *l, struct oae_actions *a);
bool oae_fits_frame(const struct oae_link *l, const struct oae_post *p);
void oae_rcv_reflect(struct oae_link *l, const struct oae_frame *f, u64 now,
		     struct oae_actions *a);
void oae_rcv_refuse(struct oae_link *l, const struct oae_frame *f, u64 now,
		    struct oae_actions *a);

/* hold.c */
void oae_hold_deliver(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_hold_discard(struct oae_link *l, struct oae_actions *a);
void oae_hold_keep(struct oae_link *l, struct oae_actions *a);
void oae_rcv_offer(struct oae_link *l, const struct oae_frame *f, bool room,
		   u64 now, struct oae_actions *a);
void oae_rcv_reverse(struct oae_link *l, const struct oae_frame *f,
		     struct oae_actions *a);

/* half.c */
void oae_half_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		   struct oae_actions *a);
void oae_half_refused(struct oae_link *l, u64 now, struct oae_actions *a);
bool oae_half_lend(struct oae_link *l, struct oae_actions *a);
void oae_half_back(struct oae_link *l, struct oae_actions *a);

/* sync.c */
void oae_forget_run(struct oae_link *l, struct oae_actions *a);
void oae_broken(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_freeze(struct oae_link *l, enum oae_note why, u64 now,
		struct oae_actions *a);
void oae_send_sync(struct oae_link *l, enum oae_opcode opcode, u32 dst_ltag,
		   struct oae_actions *a);
void oae_rcv_sync(struct oae_link *l, const struct oae_frame *f, u64 now,
		  struct oae_actions *a);
void oae_rcv_sync_ack(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);
void oae_rcv_sync_chk(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);
void oae_ask(struct oae_link *l, u64 now, struct oae_actions *a);
bool oae_resolve_by_data(struct oae_link *l, const struct oae_frame *f,
			 u64 now, struct oae_actions *a);
bool oae_run_progress(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);

/*
 * Every event begins with this: its time is never before that of the last event,
 * although the clocks of two CPUs may differ a little (protocol 4.4).
 */
static inline u64 oae_now(struct oae_link *l, u64 now)
{
	if (now >= l->now)
		l->now = now;
	else if (l->now - now > OAE_CLOCK_STEP)
		oae_new_clock(l, now);
	return l->now;
}

/*
 * Has the run used up its numbers? They wrap, so a frame that is delayed by 2^32
 * transactions must belong to another run (protocol 4.5).
 */
static inline bool oae_worn(const struct oae_link *l)
{
	return l->state == OAE_OPEN && (l->tx - l->run_tx >= OAE_RUN_MAX ||
					l->rx - l->run_rx >= OAE_RUN_MAX);
}

/*
 * The last step of every event: end a run that has used up its numbers, continue
 * closing, arm the timer.
 */
static inline void oae_finish(struct oae_link *l, u64 now, struct oae_actions *a)
{
	if (oae_worn(l))
		oae_freeze(l, OAE_N_WORN, now, a);
	if (l->state == OAE_OPEN && (l->closing || l->peer_closing))
		oae_close_step(l, now, a);
	oae_arm(l, now, a);
}

#endif /* OAE_LINK_INT_H */
