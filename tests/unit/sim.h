/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two compiled links, a wire between them, and around each the shell that the
 * kernel module is: queue, slots, reader, timer, admission of strangers.
 *
 *	users -> queue -> [link A] == wire, both ways == [link B] -> reader
 *
 * Frames cross as real bytes (build, perhaps flip bits, parse, verify). What a
 * link does is checked against the promises G1 to G3 as it happens; the first
 * breach is kept in sim->why and ends the run.
 *
 * test_random.c drives it by dice; test_link_rules.c drives it by hand, frame
 * by frame; tests/fuzz/fuzz_pair.c by what a fuzzer comes up with.
 */
#ifndef OAE_SIM_H
#define OAE_SIM_H

#include <stdio.h>
#include "../../modoae/link.h"

#define SIM_US		1000ULL
#define SIM_MS		1000000ULL

#define SIM_MTU_MAX	256
#define SIM_MAX_LEN	8192		/* bytes of a transaction */
#define SIM_WIRE	320		/* frames in flight, each way */
#define SIM_TXS		512
#define SIM_STEPS	100000		/* frames and timers of one run */
#define SIM_TRACE	60		/* lines of a failing run to show */
#define SIM_LINE	200

enum { A, B };

/* One transaction as its user sees it. */
struct sim_tx {
	u64 id;			/* its place in sim->tx, and so in time, + 1 */
	u32 len;
	u32 cut;		/* bytes a slice */
	u8 from;
	u8 kind;
	u8 flags;		/* OAE_POST_* */
	bool at_link;		/* else in the queue, or ended */
	bool ended;
	u8 outcome;
	int err;
	bool lost;		/* its sender crashed: nobody to tell */
	bool delivered;
	bool excused;		/* committed, and an end died undelivered */
	bool offered;
	u64 offered_to;		/* the peer's incarnation then, as known */
};

struct sim_slot {
	bool used;
	u16 len;
	u8 data[SIM_MTU_MAX];
};

struct sim_pkt {
	u64 due;
	u16 len;
	bool flipped;
	u8 buf[SIM_MTU_MAX + OAE_PARSE_MAX];
};

/* What the wire does to frames, each way. Chances are in 1024ths. */
struct sim_faults {
	unsigned int lose, dup, flip, late;
	u64 delay;		/* least */
	u64 jitter;		/* added at random: reorders */
	u64 very_late;		/* what a late one takes at most */
};

struct sim_end {
	struct sim *w;
	unsigned int who;
	bool tag;		/* there is a link */
	struct oae_link link;
	struct oae_link_cfg cfg;
	struct sim_tx *queue[SIM_TXS];
	unsigned int nqueue;
	struct sim_slot slot[OAE_MAX_SLICES];
	unsigned int unread, rcvbuf;
	u64 timer_at;		/* 0 not armed */
	unsigned int hasty;	/* times it was armed for at once */
	u16 mtu;
	bool port_up;
	bool shut;		/* turns strangers away */
	bool trusts;		/* its peer needs no cookie */
	u64 cookie_key;
	u64 last_id;		/* last delivered here */
	struct sim_tx *committed;	/* last committed from here */
	bool owes_unconfirmed;	/* a note that must still come */
	bool owes_held_lost;
	const struct sim_pkt *frame;	/* being received: for KEEP */
	const struct oae_frame *f;
};

struct sim_wire {
	unsigned int n;
	struct sim_pkt *p[SIM_WIRE];	/* by due */
};

struct sim {
	u64 now;
	u8 vc;
	u64 rng;
	struct sim_end end[2];
	struct sim_wire to[2];		/* frames on their way to an end */
	struct sim_faults faults[2];	/* of sim_wire.to[] */
	struct sim_pkt pool[2 * SIM_WIRE];
	struct sim_pkt *spare[2 * SIM_WIRE];
	unsigned int nspare;
	struct sim_tx tx[SIM_TXS];
	unsigned int ntx;
	bool wild;			/* starts of counters at random */
	bool hostile;			/* frames were forged: BROKEN may be */
	unsigned long events, frames, steps;
	unsigned long notes[OAE_NOTE_END];
	unsigned long outcomes[OAE_OUTCOME_END];
	unsigned long delivered;
	char why[SIM_LINE];		/* the first breach, "" none */
	bool trace;
	char line[SIM_TRACE][SIM_LINE];
	unsigned long nlines;
};

/* sim.c: the world */
void sim_init(struct sim *w, u64 seed);
u64 sim_rand(struct sim *w);
unsigned int sim_upto(struct sim *w, unsigned int n);
bool sim_chance(struct sim *w, unsigned int in1024);
void sim_fail(struct sim *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sim_say(struct sim *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void sim_print_trace(const struct sim *w, FILE *out);
const char *sim_frame_text(const struct oae_frame *f, char *buf, size_t len);
void sim_transmit(struct sim_end *e, const struct oae_frame *f,
		  const struct sim_tx *tx);
u64 sim_next_event(const struct sim *w);
void sim_event(struct sim *w);
void sim_run(struct sim *w, u64 until);
struct sim_pkt *sim_take(struct sim *w, unsigned int to, unsigned int i);
void sim_arrive(struct sim *w, unsigned int to, struct sim_pkt *p);
void sim_again(struct sim *w, unsigned int to, unsigned int i, u64 due);

/* sim_shell.c: an end */
void sim_end_init(struct sim *w, unsigned int who);
struct sim_tx *sim_post(struct sim_end *e, u32 len, u32 cut, u8 kind,
			u8 flags);
void sim_cancel(struct sim_end *e, struct sim_tx *tx);
void sim_receive(struct sim_end *e, const struct sim_pkt *p,
		 const struct oae_frame *f);
void sim_read(struct sim_end *e);
void sim_timer(struct sim_end *e);
void sim_close(struct sim_end *e);
void sim_kill(struct sim_end *e);
void sim_crash(struct sim_end *e);
void sim_port(struct sim_end *e, bool up);
void sim_mtu(struct sim_end *e, u16 mtu);

/* sim_check.c: the promises */
void sim_content(const struct sim_tx *tx, u32 off, u32 len, u8 *buf);
void sim_free_slots(struct sim_end *e);
void sim_ended(struct sim_end *e, struct sim_tx *tx, u8 outcome, int err);
void sim_deliver(struct sim_end *e, unsigned int n);
void sim_died(struct sim_end *e);
void sim_note(struct sim_end *e, u8 what);
void sim_check(struct sim *w);
bool sim_settled(const struct sim *w);
void sim_check_end(struct sim *w);

/* sim_settle.c: how a run ends */
void sim_calm(struct sim *w);
void sim_settle(struct sim *w, const char *what);
void sim_prove_open(struct sim *w);

#endif /* OAE_SIM_H */
