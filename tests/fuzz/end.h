/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One end of a link, and all that must hold there whatever comes: the peer, the
 * clock and the users are the fuzzer's. end.c is the shell, as event.c is in the
 * module; end_check.c is what the link is held to.
 */
#ifndef OAE_END_H
#define OAE_END_H

#include "fuzz.h"

#define END_US		1000ULL
#define END_MS		1000000ULL

#define END_POSTS	12		/* users that wait, at most */
#define END_MTU_MAX	1500

/* A transaction of a user of this end. Its address is the link's handle. */
struct end_post {
	u32 id;
	u32 len;
	u16 cut;		/* bytes a slice */
	u8 kind;
	u8 flags;		/* OAE_POST_* */
	u16 reply;		/* VERB: bytes of the answer */
	bool at_link;		/* else in the queue */
	bool ended;
	bool offered;		/* and not refused since: the peer may have it */
	u64 offered_to;		/* the peer's incarnation then, as known */
	struct oae_post post;	/* as cut now */
};

/* A slice kept: what matters of it. */
struct end_slot {
	bool used;
	u16 len;
	u64 hash;
	u64 first;
};

/* What the offer that went out last was. */
struct end_offer {
	u32 id;			/* of the transaction, 0 none yet */
	u32 src_ltag, dst_ltag, seq;
	u8 attempt;
};

struct end {
	struct oae_link link;
	struct oae_link_cfg cfg;
	struct oae_actions a;
	u64 now;
	u64 latest;			/* that now ever was */
	u64 timer_at;			/* 0 not armed */
	u8 vc;

	struct end_post *post[END_POSTS];	/* all that have not ended */
	unsigned int nposts;
	u32 last_id;
	struct end_slot slot[OAE_MAX_SLICES];
	unsigned int unread, rcvbuf;
	u16 verdict;			/* on the next verb: enum oae_reason */
	u16 reply;			/* bytes of its answer */
	u16 reflected_more;		/* that REFLECT said last */
	bool computed;			/* words are reserved */
	u32 max_len;			/* the largest the knob has been */

	/* What happened before, for what may happen now. */
	struct end_offer last;
	u64 reflected;			/* digest that REFLECT said last */
	u64 reflected_first;

	/* The event under way. */
	struct oae_link before;
	const struct oae_frame *f;	/* NULL: not a frame */
	const u8 *payload;
	struct end_post *done[2 * END_POSTS];	/* ended in it */
	unsigned int ndone;
	unsigned int commits, deliveries, kept;
	bool broken, resliced, gone;
	const void *result, *take;	/* RESULT, TAKE: for the COMPLETE behind */
	bool owes_reflect;		/* for an express, of what was delivered */
	u64 delivered;			/* its digest */
};

/* end.c */
void end_init(struct end *e, u64 seed, u16 mtu, u32 start);
void end_fini(struct end *e);
struct end_post *end_post(struct end *e, u32 len, u16 cut, u8 kind, u8 flags,
			  u16 reply);
void end_post_unasked(struct end *e);
void end_cancel(struct end *e, struct end_post *p, int err);
void end_rcv(struct end *e, const struct oae_frame *f, const u8 *payload);
void end_read(struct end *e);
void end_drained(struct end *e);
void end_confirm(struct end *e);
void end_timer(struct end *e);
void end_open(struct end *e);
void end_close(struct end *e);
void end_kill(struct end *e);
void end_port(struct end *e, bool up);
void end_renamed(struct end *e);
void end_mtu(struct end *e, u16 mtu);
void end_later(struct end *e, s64 ns);

/* end_check.c */
void end_check_op(struct end *e, const struct oae_op *op);
void end_check_send(struct end *e, const struct oae_send *s);
void end_check(struct end *e);
u64 end_slots_digest(const struct end *e, unsigned int n);

#endif /* OAE_END_H */
