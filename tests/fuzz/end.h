/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a link, and all that must hold there whatever comes: the peer, the
 * clock and the users are the fuzzer's. tests/harness carries out what the link
 * wants; what it cannot know of a peer that lies is in end_check.c.
 */
#ifndef OAE_END_H
#define OAE_END_H

#include "fuzz.h"
#include "../harness/harness.h"

#define END_US		1000ULL
#define END_MS		1000000ULL

#define END_POSTS	12		/* users that wait, at most */
#define END_MTU_MAX	1500

/* A transaction of a user of this end. */
struct end_post {
	struct h_tx;
	u32 id;
	u16 cut;		/* bytes a slice */
	u16 reply;		/* VERB: bytes of the answer */
	struct oae_post post;	/* as cut now */
};

/* A slice kept: what matters of it. */
struct end_slot {
	u64 hash;
	u64 first;
};

/* What the offer of a number that went out last was. */
struct end_offer {
	u32 id;			/* of the transaction, 0 nothing (VOID), or none yet */
	u32 src_ltag, dst_ltag, seq;
	u64 digest;
	u8 kind, flags;
};

/* What was said of a number that the peer has offered. */
struct end_answer {
	u32 src_ltag, dst_ltag, seq;
	u64 digest, first;	/* reflected last */
	bool reflected, nothing;
	bool refused;		/* for good */
};

struct end {
	struct h_end;
	struct oae_link_cfg cfg;
	struct oae_actions a;
	struct h_event ev;
	u64 now;
	u64 latest;			/* that now ever was */
	u8 vc;

	struct end_post *post[END_POSTS];	/* all that have not ended */
	unsigned int nposts;
	u32 nids;			/* given so far */
	struct end_slot slot[H_LANES][OAE_MAX_SLICES];	/* of each number */
	unsigned int rcvbuf;
	u16 verdict;			/* on the next verb: enum oae_reason */
	u16 reply;			/* bytes of its answer */
	u16 answer[H_LANES];	/* bytes of the answer to the verb of a number, as computed */
	u32 max_len;			/* the largest the knob has been */
	u64 dead;			/* the knob, when the timer was armed last */

	/* What happened before, for what may happen now. */
	struct end_offer last[H_LANES];	/* by its number */
	struct end_answer said[H_LANES];	/* likewise */

	/* The event under way. */
	struct oae_link before;
	struct oae_swaps swaps_before;
	struct oae_pair pair_before[H_LANES], *pairs_before[H_LANES];
	const struct oae_frame *f;	/* NULL: not a frame */
	const u8 *payload;
	struct end_post *done[2 * END_POSTS];	/* ended in it */
	unsigned int ndone;
	unsigned int commits, deliveries, keeps;
	bool gone;
	const struct end_post *result, *take;	/* for the COMPLETE behind */
	bool owes_reflect;		/* for an express, of what was delivered */
	u64 delivered;			/* its digest */
};

enum end_event {
	END_DRAINED, END_CONFIRM, END_OPEN, END_CLOSE, END_KILL, END_PORT_UP,
	END_PORT_DOWN, END_RENAMED
};

/* Of the slices of a number. */
static inline struct end_slot *end_slots(struct end *e, u32 seq)
{
	return e->slot[h_lane(seq)];
}

/* end.c */
void end_init(struct end *e, u64 seed, u16 mtu, u32 start);
void end_fini(struct end *e);
struct end_post *end_post(struct end *e, u32 len, u16 cut, u8 kind, u8 flags,
			  u16 reply);
void end_post_unasked(struct end *e);
void end_cancel(struct end *e, struct end_post *p, int err);
void end_rcv(struct end *e, const struct oae_frame *f, const u8 *payload);
void end_read(struct end *e);
void end_event(struct end *e, enum end_event what);
void end_timer(struct end *e);
void end_mtu(struct end *e, u16 mtu);
void end_reclaim(struct end *e);
void end_later(struct end *e, s64 ns);

/* end_check.c */
void end_check(struct end *e);
void end_check_verb(const struct end *e);
u64 end_slots_digest(const struct end *e, u32 seq, unsigned int n);

#endif /* OAE_END_H */
