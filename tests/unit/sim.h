/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two compiled links, a wire between them, and around each the shell that the
 * kernel module is: queue, slots, reader, timer, admission of strangers.
 *
 *	users -> queues -> [link A] == wire, both ways == [link B] -> reader, words
 *
 * Users post messages, halves of swaps, and verbs on the words of the other end.
 * Frames cross as real bytes (build, perhaps flip bits, parse, verify). What a
 * link does is carried out, and checked against the promises G1 to G3 as it
 * happens, in tests/harness; the first breach is kept in sim->why and ends the run.
 *
 * test_random.c drives it by dice; test_link_rules.c drives it by hand, frame
 * by frame; tests/fuzz/fuzz_pair.c by what a fuzzer comes up with.
 */
#ifndef OAE_SIM_H
#define OAE_SIM_H

#include <stdio.h>
#include "../harness/harness.h"

#define SIM_US		1000ULL
#define SIM_MS		1000000ULL

/* Of a run, unless the test chooses others. */
#define SIM_MTU		256
#define SIM_MAX_LEN	8192		/* bytes of a transaction */
#define SIM_WIRE	320		/* frames in flight, each way */
#define SIM_TXS		512
/* At most. */
#define SIM_MTU_MAX	1500
#define SIM_WIRE_MAX	1500
#define SIM_TXS_MAX	4096

#define SIM_STEPS	100000		/* frames and timers of one run */
#define SIM_PACK	6		/* messages in a pack, at most */
#define SIM_WORDS	8		/* exposed by an end */
#define SIM_VERB_WORDS	3		/* that one verb works on, at most */
#define SIM_ANSWER	(1 + SIM_PACK * SIM_VERB_WORDS)	/* words of an answer, at most */
#define SIM_TRACE	60		/* lines of a failing run to show */
#define SIM_LINE	200

enum { A, B };

/* One transaction as its user sees it; its name is its place in sim->tx, + 1. */
struct sim_tx {
	struct h_tx;
	u64 id;
	u64 posted_at, ended_at;
	u32 cut;		/* bytes a slice */
	int err;
	h_id pack;		/* that it is in, or 0 */
	bool alone;		/* not to be in a pack, nor joined */
	/* PACK, and verbs that are joined */
	u8 n;
	h_id member[SIM_PACK];
	/* VERB: of joined ones what is computed, told and answered together */
	u16 reply;		/* bytes of the answer */
	u8 code, word, words;	/* enum sim_code, on which words */
	u8 refusal;		/* enum oae_reason: always refused so */
	bool taken;		/* as computed last: it changes words */
	u64 operand[SIM_VERB_WORDS], expect[SIM_VERB_WORDS];
	u64 answer[SIM_ANSWER];	/* as computed last */
	u64 got[SIM_ANSWER];	/* as its user was told */
	u64 after[SIM_VERB_WORDS];	/* what the words will be */
};

/* What a verb does; all return what the words were, but for WRITE. */
enum sim_code { SIM_READ, SIM_WRITE, SIM_ADD, SIM_CAS, SIM_CODE_END };

/* Who has reserved a word: the link, or somebody else on this machine. */
enum sim_by { SIM_FREE, SIM_LINK, SIM_OTHER };

struct sim_slot {
	u16 len;
	u8 data[SIM_MTU_MAX];
};

struct sim_pkt {
	u64 due;
	u16 len;
	u8 by_line;		/* that it came by */
	bool flipped;
	u8 buf[SIM_MTU_MAX + OAE_PARSE_MAX];
};

/* What the wire does to frames, each way. Chances are in 1024ths. */
struct sim_faults {
	unsigned int lose, dup, flip, late;
	u64 delay;		/* least */
	u64 jitter;		/* added at random: reorders */
	u64 very_late;		/* what a late one takes at most */
	u64 frame;		/* that the line is busy with each, 0 not */
	u64 queue;		/* before the line, in time: more are lost */
	u64 load;		/* of it, always taken by others */
	u16 hole;		/* longer ones are lost, 0 none */
};

struct sim_end {
	struct h_end;
	struct sim *w;
	struct oae_link_cfg cfg;
	unsigned int rcvbuf;
	u64 clock_back;		/* by how much an event's clock may be behind */
	bool armed_second;	/* the timer was, on the second processor */
	unsigned int hasty;	/* times it was armed for at once */
	u16 mtu;
	bool port_up;
	bool shut;		/* turns strangers away */
	u64 cookie_key;
	u64 word[SIM_WORDS];	/* exposed to the peer */
	u64 model[SIM_WORDS];	/* what they must be: verbs one by one */
	u8 by[SIM_WORDS];	/* enum sim_by */
	bool wanted[SIM_WORDS];	/* by somebody else, once the link has it no more */
	struct sim_tx *verb[H_LANES];	/* held under each number, or NULL */
	bool refused_verb;	/* with CONFLICT: READY when words are free */
};

struct sim_wire {
	unsigned int n;
	struct sim_pkt *p[SIM_WIRE_MAX];	/* by due */
	u64 busy;			/* the line, until then */
};

struct sim {
	u64 now;
	u64 clock;		/* of the processor that the event is on */
	u8 vc;
	u8 by_line;			/* by which frames go out now; 0 if there is one */
	u64 rng;
	struct sim_end end[2];
	struct sim_wire to[2];		/* frames on their way to an end */
	struct sim_faults faults[2];	/* of sim_wire.to[] */
	unsigned int wire;		/* frames in flight, each way, at most */
	unsigned int txs;		/* transactions, at most */
	/* From here on sim_init() sets what it has to, one by one. */
	struct sim_pkt pool[2 * SIM_WIRE_MAX];
	struct sim_slot slot[2][H_LANES][OAE_MAX_SLICES];
	struct sim_pkt *spare[2 * SIM_WIRE_MAX];
	unsigned int nspare;
	struct h_event ev;		/* the one under way */
	struct oae_actions act;
	struct sim_tx tx[SIM_TXS_MAX];
	unsigned int ntx;
	bool wild;			/* starts of counters at random */
	bool hostile;			/* frames were forged: BROKEN may be */
	unsigned int refusals;		/* of verbs and packs, in 1024 */
	unsigned int max_ops, max_sends;	/* of one event */
	unsigned long swaps, verbs, packs;	/* taken, applied, unpacked */
	unsigned long joined;			/* applied together */
	unsigned long events, frames, steps;
	bool rich;			/* there is always memory for places */
	unsigned long fell;		/* frames that the wire had no room for */
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
		  const u8 *more, u16 len);
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
		 struct oae_frame *f);
void sim_read(struct sim_end *e);
void sim_timer(struct sim_end *e);
void sim_close(struct sim_end *e);
void sim_window(struct sim_end *e, u8 window);
void sim_kill(struct sim_end *e);
void sim_crash(struct sim_end *e);
void sim_port(struct sim_end *e, bool up);
void sim_mtu(struct sim_end *e, u16 mtu);
void sim_drained(struct sim_end *e);
struct h_event *sim_begin(struct sim_end *e);
void sim_finish(struct h_event *ev);
void sim_happens(struct sim_end *e, const char *what,
		 void (*happens)(struct oae_link *, u64, struct oae_actions *));

/*
 * Optional for the user, who has more than one line, and paths: a tag is made; a frame has
 * come (false: drop it), in the midst of its event, too; the timer has fired; a frame goes
 * out.
 */
H_OPTIONAL void sim_path_tag(struct sim_end *e);
H_OPTIONAL bool sim_path_before(struct sim_end *e, const struct sim_pkt *p,
				const struct oae_frame *f);
H_OPTIONAL bool sim_path_heard(struct h_event *ev);
H_OPTIONAL void sim_path_timer(struct sim_end *e, struct oae_actions *a);
H_OPTIONAL void sim_path_send(struct sim_end *e, const struct oae_frame *f, const u8 *more,
			      u16 n);

/* sim_words.c: words, and verbs on them */
void sim_verb_draw(struct sim_end *e, struct sim_tx *tx);
int sim_verb_errno(const struct sim_tx *tx);
struct sim_tx *sim_part(const struct sim *w, struct sim_tx *tx, unsigned int i);
u16 sim_verb_compute(struct sim_end *e, u32 seq, struct sim_tx *tx);
void sim_verb_apply(struct sim_end *e, u32 seq, struct sim_tx *tx);
void sim_verb_drop(struct sim_end *e, u32 seq);
void sim_words_reset(struct sim_end *e);
void sim_words_check(struct sim_end *e);
void sim_other(struct sim_end *e, unsigned int word);

/* sim_pack.c: packs */
void sim_pack_content(struct sim *w, const struct sim_tx *pack, u32 off, u32 len, u8 *buf);
void sim_pack_ended(struct h_event *ev, struct sim_tx *pack, int err);
void sim_pack_arrived(struct h_event *ev, struct sim_tx *pack);
h_id sim_pack_whose(struct h_event *ev, const u8 *got, u32 len);
u16 sim_pack_unfit(struct sim_end *e, const u8 *payload, u32 len);
void sim_pack_cancel(struct sim_end *e, struct h_event *ev, struct sim_tx *tx, int err);
void sim_pack_check(struct sim *w, struct sim_tx *pack);

/* sim_check.c: contents, and what is told to whom */
void sim_content(struct sim *w, const struct sim_tx *tx, u32 off, u32 len, u8 *buf);
void sim_check(struct sim *w);
bool sim_settled(const struct sim *w);
void sim_check_end(struct sim *w);

/* sim_settle.c: how a run ends */
void sim_calm(struct sim *w);
void sim_settle(struct sim *w, const char *what);
void sim_prove_open(struct sim *w);

/**
 * struct sim_sums - what has happened in many runs
 * @runs: how many
 * @ended: transactions, by outcome
 * @down: how often an end has found that the link was down
 * @seconds: of the processor
 */
struct sim_sums {
	u64 runs;
	unsigned long ended[OAE_OUTCOME_END];
	unsigned long down;
	double seconds;
};

/* sim_seeds.c: many runs */
u64 sim_env(const char *name, u64 otherwise);
unsigned int sim_seeds(struct sim *w, u64 most, u64 only,
		       void (*run)(struct sim *w, u64 seed, bool trace), struct sim_sums *sums);

#endif /* OAE_SIM_H */
