/* SPDX-License-Identifier: GPL-2.0 */
/* Internal to the files of the link, which link.h lists. */
#ifndef OAE_LINK_INT_H
#define OAE_LINK_INT_H

#include "link.h"

#define OAE_FAST_BACKOFF 7	/* failures that double the PTO each */
#define OAE_MAX_BACKOFF	39	/* up to here every second failure doubles it */
#define OAE_CLOCK_STEP	1000000000ULL	/* ns; a larger step back: a new clock */
#define OAE_MIN_SLICE	(OAE_MIN_MTU - OAE_HDR_LEN)
#define OAE_MTU_NS	600000000000ULL	/* ns until it is asked whether more gets through */
#define OAE_FORGET_DEAD	8	/* dead times until a link that is down is forgotten */
#define OAE_RUN_MAX	0x40000000U	/* transactions of a run, each way */
#define OAE_RECALL_BACK	0xffff	/* of oae_lane.recalled: it is posted again */
#define OAE_NUMBER_MAP	32	/* numbers before the newest one that an answer tells of */
#define OAE_PUMP_SENDS	(OAE_MAX_SENDS - 2)	/* the others are for COMMIT and the like */

static inline bool oae_frozen(const struct oae_link *l)
{
	return l->state == OAE_SYNC_SENT || l->state == OAE_SYNC_RECD;
}

/* CLOSE is out, and repeated until it is answered. */
static inline bool oae_close_out(const struct oae_link *l)
{
	return l->closing && l->close_sent;
}

/* What a writer is told of a transaction that is reversed since the link closes. */
static inline int oae_close_err(const struct oae_link *l)
{
	return l->closing ? OAE_E_SHUTDOWN : OAE_E_PEER_CLOSED;
}

/* Transaction numbers wrap: compare them by their distance. */
static inline s32 oae_dist(u32 from, u32 to)
{
	return (s32)(to - from);
}

/* The highest of some slices. */
static inline u64 oae_slice_highest(u64 slices)
{
	while (slices & (slices - 1))
		slices &= slices - 1;
	return slices;
}

static inline u64 oae_slice_mask(unsigned int nslices)
{
	return ~0ULL >> (OAE_MAX_SLICES - nslices);
}

/*
 * The place of a number of this end. `base` changes with tx when the counters begin
 * anew, so that what is offered stays where it is.
 */
static inline u32 oae_place(const struct oae_link *l, u32 seq)
{
	return l->pair ? (seq - l->base) & (l->npairs - 1) : 0;
}

/* The lane of a number of this end. */
static inline struct oae_lane *oae_lane(const struct oae_link *l, u32 seq)
{
	return l->pair ? &l->pair[oae_place(l, seq)]->lane :
			 (struct oae_lane *)&l->offer;
}

/* The lane of tx + 1. */
static inline struct oae_lane *oae_first_lane(const struct oae_link *l)
{
	return oae_lane(l, l->tx + 1);
}

/* What is here of a number of the peer. */
static inline struct oae_hold *oae_hold_of(const struct oae_link *l, u32 seq)
{
	return l->pair ? &l->pair[seq & (l->npairs - 1)]->hold :
			 (struct oae_hold *)&l->hold;
}

static inline struct oae_hold *oae_first_hold(const struct oae_link *l)
{
	return oae_hold_of(l, l->rx + 1);
}

/* The number of places for what is held. */
static inline unsigned int oae_hold_places(const struct oae_link *l)
{
	return l->pair ? l->npairs : 1;
}

/* Was anything of the number seen in this run? */
static inline bool oae_hold_begun(const struct oae_hold *h)
{
	return h->state != OAE_HOLD_NONE && h->state != OAE_HOLD_KEPT;
}

/* Post @i of those that stepped aside for a half. */
static inline struct oae_post *oae_aside(const struct oae_link *l, unsigned int i)
{
	return l->pair ? &l->pair[i]->aside : (struct oae_post *)&l->swaps->aside;
}

static inline bool oae_post_express(const struct oae_post *p)
{
	return p->flags & OAE_POST_EXPRESS;
}

/* Is it made of several, which are offered one by one if it cannot be (protocol 4.12)? */
static inline bool oae_post_several(const struct oae_post *p)
{
	return p->kind == OAE_PACK || p->flags & OAE_POST_JOINED;
}

/* From now on the word is waited for that tx is delivered. */
static inline void oae_await_done(struct oae_link *l, u64 now)
{
	l->await_done = true;
	l->done_seq = l->tx;
	l->done_at = now;
}

/* Is an offer refused for now, and not for good? Then what is offered again may be taken. */
static inline bool oae_is_for_now(u16 reason)
{
	return reason == OAE_R_BUSY || reason == OAE_R_NO_HALF || reason == OAE_R_CONFLICT;
}

/* Does this post go out alone, once all others have ended (protocol 4.3 and 4.9)? */
static inline bool oae_post_barrier(const struct oae_post *p)
{
	return oae_post_express(p) || oae_kind_is(p->kind, OAE_T_ALONE);
}

/* An express that was offered cannot be reversed at once: the peer may have delivered it. */
static inline bool oae_lane_reversible(const struct oae_lane *n)
{
	return !n->recalled && !(oae_post_express(&n->p) && n->again);
}

/* Such an express is the only one: it waits until all others have ended. */
static inline bool oae_express_out(const struct oae_link *l)
{
	return l->nlanes && !oae_lane_reversible(oae_first_lane(l));
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
	return l->next_valid || l->naside || oae_half_idle(l) ||
	       l->nlanes > oae_express_out(l);
}

/* The number of the last question about a lane. */
static inline u32 oae_lane_pn(const struct oae_lane *n)
{
	return n->asked ?: n->pn;
}

/* actions.c */
struct oae_op *oae_op(struct oae_actions *a, enum oae_op_type type);
void oae_note(struct oae_actions *a, enum oae_note note);
void oae_notes(struct oae_actions *a, enum oae_note note, u32 n);
void oae_note_of(struct oae_actions *a, enum oae_note note, void *handle);
struct oae_send *oae_send(struct oae_link *l, struct oae_actions *a,
			  enum oae_opcode opcode);
void oae_complete(struct oae_actions *a, void *handle,
		  enum oae_outcome outcome, int err);
void oae_send_commit(struct oae_link *l, bool ask, struct oae_actions *a);

/* rtt.c */
u64 oae_pto_doubled(const struct oae_link *l, u64 t, u64 max);
void oae_rtt_sample(struct oae_link *l, u64 rtt);
u64 oae_first_again(const struct oae_link *l);
void oae_rtt_guess(struct oae_link *l, u64 rtt);
void oae_rtt_turned(struct oae_link *l);

/*
 * The probe timeout (PTO): an answer that takes longer is asked for. Inline, since every event
 * arms the timer.
 *
 * Derived from the measured round trip, within the knobs but never less than two round
 * trips, and doubled with each failure since the last progress. After many failures it exceeds
 * the knobs, since the round trip may be longer than any measured (architecture.md,
 * *When an answer is late*).
 */
static inline u64 oae_pto(const struct oae_link *l)
{
	u64 max = l->cfg->stall_max, least = 2 * l->rtt.srtt;
	u64 t = l->rtt.srtt ? l->rtt.srtt + 4 * l->rtt.rttvar : max / 10;

	if (t < l->cfg->stall_min)
		t = l->cfg->stall_min;
	if (t < least)
		t = least;
	if (max < least)
		max = least;
	if (l->backoff)
		return oae_pto_doubled(l, t, max);
	return t < max ? t : max;
}

/* show.c */
bool oae_would_lose(const struct oae_link *l);

/* timer.c */
void oae_probe(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_repeat(struct oae_link *l, bool again, u64 now);
void oae_new_clock(struct oae_link *l, u64 now);
u64 oae_silent_since(const struct oae_link *l);
void oae_timer_answered(struct oae_link *l, u64 now);
void oae_arm(struct oae_link *l, u64 now, struct oae_actions *a);

/* close.c */
void oae_link_end(struct oae_link *l, int err, struct oae_actions *a);
void oae_drop_posts(struct oae_link *l, int err, struct oae_actions *a);
void oae_close_drop(struct oae_link *l, struct oae_actions *a);
void oae_close_step(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_rcv_close(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a);
void oae_settled(struct oae_link *l, u64 now, struct oae_actions *a);

/* lane.c */
void oae_window_begin(struct oae_link *l);
unsigned int oae_window_limit(const struct oae_link *l);
struct oae_lane *oae_lane_append(struct oae_link *l, const struct oae_post *p);
void oae_lane_not_due(struct oae_link *l, struct oae_lane *n);
void oae_lane_due(struct oae_link *l, struct oae_lane *n, enum oae_due due);
void oae_lane_unpark(struct oae_link *l, struct oae_lane *n);
void oae_lane_clear(struct oae_link *l, u32 seq);
void oae_lane_recall(struct oae_link *l, u32 seq, u16 err);
bool oae_lane_find(const struct oae_link *l, const void *handle, u32 *seq);
bool oae_lane_parked(const struct oae_link *l, u32 *seq);
void oae_lane_froze(struct oae_link *l);
void oae_offer_requeue(struct oae_link *l);
void oae_offer_drop(struct oae_link *l, u32 seq, enum oae_outcome outcome, int err,
		    struct oae_actions *a);
void oae_offer_drop_all(struct oae_link *l, int err, struct oae_actions *a);
void oae_offer_withdraw(struct oae_link *l);
void oae_offer_back(struct oae_link *l, void *handle, struct oae_actions *a);
void oae_offer_next_back(struct oae_link *l, struct oae_actions *a);
void oae_offer_aside_back(struct oae_link *l, unsigned int i, struct oae_actions *a);
void oae_offer_hand_back(struct oae_link *l, u32 seq, bool refused,
			 struct oae_actions *a);
void oae_offer_drop_next(struct oae_link *l, int err, struct oae_actions *a);

/* offer.c */
void oae_offer_pump(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_drop_aside(struct oae_link *l, unsigned int i, int err,
			  struct oae_actions *a);
void oae_offer_ask(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a);
void oae_offer_again(struct oae_link *l, u32 seq, u64 now, struct oae_actions *a);
void oae_offer_sure(struct oae_link *l, struct oae_actions *a);

/* mtu.c */
bool oae_mtu_found(struct oae_link *l, u16 mtu, u64 now, struct oae_actions *a);
bool oae_mtu_fits(const struct oae_link *l, const struct oae_post *p);
bool oae_mtu_waits(struct oae_link *l, const struct oae_post *p, u64 now);
bool oae_mtu_several(const struct oae_link *l, const struct oae_post *p);
void oae_mtu_forget(struct oae_link *l);
void oae_mtu_changed(struct oae_link *l);
void oae_mtu_doubt(struct oae_link *l, struct oae_actions *a);
void oae_mtu_lost(struct oae_link *l, const struct oae_post *p, unsigned int lost,
		  struct oae_actions *a);
bool oae_mtu_heard(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a);
void oae_mtu_asked(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a);
u64 oae_mtu_timer_at(const struct oae_link *l);
void oae_mtu_timer(struct oae_link *l, u64 now, struct oae_actions *a);

/* answer.c */
void oae_offer_was_express(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_delivered(struct oae_link *l, u32 seq, struct oae_actions *a);
void oae_offer_done(struct oae_link *l, u32 seq);
void oae_offer_confirm(struct oae_link *l, u64 now);
void oae_rcv_reflect(struct oae_link *l, const struct oae_frame *f, u64 now,
		     struct oae_actions *a);
void oae_rcv_refuse(struct oae_link *l, const struct oae_frame *f, u64 now,
		    struct oae_actions *a);
void oae_rcv_ack(struct oae_link *l, const struct oae_frame *f, u64 now,
		 struct oae_actions *a);
bool oae_lane_overtaken(const struct oae_lane *n, const struct oae_frame *f);
void oae_offer_ready(struct oae_link *l);
void oae_offer_blocked(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_offer_unpark(struct oae_link *l, u64 now);

/* number.c */
void oae_number_begin(struct oae_link *l);
u32 oae_number_next(struct oae_link *l, unsigned int n);
void oae_number_says(const struct oae_link *l, struct oae_frame *f);
bool oae_number_heard(const struct oae_frame *f, u32 pn);
bool oae_number_was_sent(const struct oae_link *l, u32 ack);
bool oae_number_rcv(struct oae_link *l, const struct oae_frame *f);

/* congestion.c */
void oae_cong_begin(struct oae_link *l);
void oae_cong_froze(struct oae_link *l);
unsigned int oae_cong_may(const struct oae_link *l);
u64 oae_cong_part(const struct oae_link *l, u64 slices);
void oae_cong_acked(struct oae_link *l, u32 ack);
void oae_cong_lost(struct oae_link *l, u32 pn, bool guess);
u8 oae_cong_each(const struct oae_link *l);
u32 oae_cong_base(const struct oae_link *l);
s32 oae_cong_passed(const struct oae_link *l);
void oae_cong_overtaken(struct oae_link *l);

/* hold.c */
void oae_hold_deliver(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_hold_compute(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_rcv_offer(struct oae_link *l, const struct oae_frame *f, u64 now,
		   struct oae_actions *a);
void oae_rcv_ask(struct oae_link *l, const struct oae_frame *f, struct oae_actions *a);
u32 oae_hold_reflect(struct oae_link *l, struct oae_actions *a);
bool oae_hold_has(const struct oae_link *l, s32 n);
void oae_hold_discard_all(struct oae_link *l, struct oae_actions *a);
void oae_hold_froze(struct oae_link *l, struct oae_actions *a);
void oae_hold_resolved(struct oae_link *l, struct oae_actions *a);
bool oae_hold_stalled(const struct oae_link *l);
u32 oae_hold_stop(struct oae_link *l, struct oae_actions *a);
void oae_hold_ready(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_hold_tell(const struct oae_link *l, struct oae_frame *f, struct oae_actions *a);

/* credit.c */
void oae_credit_free(struct oae_link *l, u32 room);
bool oae_credit_keep(struct oae_link *l, const struct oae_hold *h, u32 len);
void oae_credit_resumed(struct oae_link *l, const struct oae_hold *h);
void oae_credit_left(struct oae_link *l, const struct oae_hold *h);
void oae_credit_delivered(struct oae_link *l, const struct oae_hold *h);
bool oae_credit_may(const struct oae_link *l, const struct oae_post *p);
void oae_credit_give(struct oae_link *l, u32 seq);
void oae_credit_void(struct oae_link *l, u32 seq);
void oae_credit_confirmed(struct oae_link *l, u32 seq);
u32 oae_credit_committed(const struct oae_link *l);
void oae_credit_move(struct oae_link *l, struct oae_pair **pair, unsigned int n);
void oae_credit_heard(struct oae_link *l, const struct oae_frame *f);
void oae_credit_begin(struct oae_link *l, const struct oae_frame *f);

/* half.c */
void oae_half_drop(struct oae_link *l, enum oae_outcome outcome, int err,
		   struct oae_actions *a);
void oae_half_refused(struct oae_link *l, u64 now, struct oae_actions *a);
bool oae_half_lend(struct oae_link *l, struct oae_actions *a);
void oae_half_back(struct oae_link *l, struct oae_actions *a);

/* freeze.c */
void oae_set_senior(struct oae_link *l);
void oae_freeze_learn(struct oae_link *l, const struct oae_frame *f);
void oae_send_sync(struct oae_link *l, enum oae_opcode opcode, u32 dst_ltag,
		   struct oae_actions *a);
void oae_ask(struct oae_link *l, u64 now, struct oae_actions *a);
void oae_freeze(struct oae_link *l, enum oae_note why, u64 now,
		struct oae_actions *a);
void oae_forget_run(struct oae_link *l, struct oae_actions *a);
void oae_broken(struct oae_link *l, u64 now, struct oae_actions *a);

/* sync.c */
void oae_rcv_sync(struct oae_link *l, const struct oae_frame *f, u64 now,
		  struct oae_actions *a);
void oae_rcv_sync_ack(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);
void oae_rcv_sync_chk(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);
bool oae_resolve_by_data(struct oae_link *l, const struct oae_frame *f,
			 u64 now, struct oae_actions *a);
bool oae_run_progress(struct oae_link *l, const struct oae_frame *f, u64 now,
		      struct oae_actions *a);

/*
 * Every event begins with this: its time is never before that of the last event,
 * although the clocks of two CPUs may differ a little (architecture.md, *The clock*).
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
 * The last step of every event: offer what may be offered, end a run that has used up its
 * numbers, continue closing, arm the timer.
 */
static inline void oae_finish(struct oae_link *l, u64 now, struct oae_actions *a)
{
	bool closes = l->closing || l->peer.closing;

	if (closes && l->state == OAE_OPEN)
		oae_close_drop(l, a);
	oae_offer_pump(l, now, a);
	l->number.now = false;
	if (oae_worn(l))
		oae_freeze(l, OAE_N_WORN, now, a);
	if (closes && l->state == OAE_OPEN)
		oae_close_step(l, now, a);
	oae_arm(l, now, a);
}

#endif /* OAE_LINK_INT_H */
