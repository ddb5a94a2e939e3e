/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulated network of the compiled links: the world, and who does what.
 *
 *	workload -> queue -> [link] == wire, faults == [link] -> reader
 *
 *	config options units	what was asked
 *	topo			which nodes a link joins
 *	wheel pool rng		events, things by number, dice
 *	wire			frames in flight, and what happens to them
 *	end stranger		the shell around a link, as the module is one
 *	tx content		transactions and what they say
 *	work fate		what users do; crashes, flaps, cuts
 *	cable paths outage	links with several cables: faults, paths, what comes of them
 *	check			what comes of the promises, which tests/harness checks
 *	run			a run from beginning to end
 *	trace			the story of one link
 *	series hist		figures over time
 *	report json svg		what is shown
 *
 * One thread, and nothing depends on addresses, clocks or the order of memory:
 * the same options give the same bytes.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>
#include "link.h"
#include "../../tests/harness/harness.h"
#include "cable.h"
#include "config.h"
#include "pool.h"
#include "rng.h"
#include "series.h"
#include "topo.h"
#include "wheel.h"

#define SIM_START	NS_MS	/* 0 means "not" to the links */

/* Transactions are found by their id: a serial number and where it lies. */
#define TX_BITS		24
#define TX_NONE		0
#define TX_INDEX(id)	((u32)(id) & ((1 << TX_BITS) - 1))
#define TX_SERIAL(id)	((unsigned long long)((id) >> TX_BITS))
#define TX_HANDLE(id)	((void *)(uintptr_t)(id))
#define TX_OF(handle)	((u64)(uintptr_t)(handle))

struct tx {
	struct h_tx;		/* of a verb, other is its answer */
	u64 id;			/* TX_NONE: not in use */
	u64 posted;		/* when */
	u32 end;
	u16 cut;		/* bytes a slice */
	bool unknown;		/* ended, and may still be delivered */
	bool proof;		/* of the last phase: must be committed */
} __attribute__((aligned(64)));

/* A slice kept: what of which transaction; --bytes: the bytes themselves. */
struct slice {
	u64 id;
	u64 hash;
	u32 off;
	u32 len;
	u8 *data;
};

/* A frame in flight. With --bytes the frame is made of data on arrival. */
struct flight {
	u64 id;			/* OFFER: whose slice; REFLECT: half, or answer */
	u32 off;
	u16 len;		/* bytes at data */
	bool bad;		/* bits were flipped */
	u8 cable;
	struct oae_frame f;
	u8 *data;
} __attribute__((aligned(64)));

/* What is kept of a number. */
struct kept {
	struct slice slice;	/* slice 0 */
	struct slice *more;	/* the others, while there are any */
};

/* Transactions that a link has, but for its half. */
#define AT_LINK		(H_LANES + 2)

struct end {
	struct kept kept_of[H_LANES];
	u64 last_due;		/* of what it sent: a wire keeps the order */
	u64 at_link[AT_LINK];	/* offered, next, aside */
	u64 half_at_link;
	struct oae_pair *place;	/* of the window, once it has one */
	u64 verb[H_LANES];	/* held, of each number */
	u64 answer[H_LANES];	/* what its word was */
	u64 frozen_at;		/* 0 not */
	struct cabling *cabling;	/* NULL: there is one cable */
	u32 latency;
	u32 nhalves;		/* not ended */
	u32 under_way;		/* likewise, of all kinds */
	u32 wait_next;		/* of those that wait for words, + 1 */
	bool waits;
	u8 hasty;		/* times the timer was armed for at once */
	u8 ports_down;		/* flaps under way */
	u8 cuts;		/* likewise */
	bool alive;		/* its node is up */
	bool traced;
	struct h_end;
} __attribute__((aligned(64)));

#define NODE_WORDS	4

struct node {
	u64 cookie_key;
	u64 word[NODE_WORDS];	/* one more with each verb */
	u32 holder[NODE_WORDS];	/* the end whose verb has reserved it, + 1 */
	u32 wait_first, wait_last;	/* ends, + 1 */
	bool down;
};

enum sim_phase {
	PHASE_WORK,
	PHASE_SETTLE,		/* no faults any more: all must end */
	PHASE_DRAIN,		/* the last late frames */
	PHASE_PROVE,		/* every link is a link again: atomic ... */
	PHASE_EXPRESS,		/* ... and express, once all know their peer */
	PHASE_SWAP,		/* ... and halves */
	PHASE_VERB,		/* ... and verbs, if there were any before */
	PHASE_DONE,
};

enum sim_kind {
	KIND_FRAME,		/* index: flight; end: where to */
	KIND_TIMER,
	KIND_POST,
	KIND_READ,
	KIND_READY,		/* words are free */
	KIND_CANCEL,		/* index: tx; end: low bits of its serial */
	KIND_FATE,		/* index: which of config's */
	KIND_CRASH_DICE,
	KIND_FLAP_DICE,
	KIND_REBOOT,		/* end: the node */
	KIND_UP,		/* end: of the link */
	KIND_MENDED,
	KIND_STOP,		/* the time for work is over */
	KIND_LOOK,		/* has all settled? */
	KIND_CABLE_DICE,
	KIND_CABLE_MENDED,	/* index: the cable; end: of the link */
};

struct counts {
	u64 posted, delivered, excused, turned_away, in_progress;
	u64 outcome[OAE_OUTCOME_END], lost;
	u64 taken, applied, conflicts;
	u64 crashes, flaps, cuts, closes;
	u64 frames, arrived, no_port, dropped, cut, corrupt, dup, reordered;
	u64 no_node;
	struct cable_counts cable;
	u64 calls;		/* oae_link_*(): the link events */
	u64 note[OAE_NOTE_END];
};

/* Of the event of an end with several cables that is under way. */
struct path_probes {
	u8 by;			/* bit n: path n */
	u64 nonce;
};

#define WHY_LEN		200

struct world {
	const struct config *cfg;
	struct oae_link_cfg knobs;
	struct topo topo;
	struct end *ends;
	struct node *nodes;
	u32 nends;
	u64 now;
	struct wheel wheel;
	struct pool flights, txs;
	u64 serial;
	struct rng wire_rng, flip_rng, work_rng, fate_rng, cable_rng;
	u32 refill;		/* transactions an end keeps under way */
	u64 post_mean, post_at;	/* 2^-20 ns, of those at random times */
	bool calm;		/* no faults any more */
	bool odd_wire;		/* frames may be doubled, altered, late */
	enum sim_phase phase;
	u64 stopped_at, settle_by, settled_at, drain_until;
	u64 under_way;		/* transactions not ended */
	u64 to_prove, proven;
	struct h_event ev;	/* the event of a link under way */
	struct path_probes probes;
	u64 ncables, cable_bytes;
	struct counts n, report;	/* now; and before the proof */
	struct series series;
	struct window unseen;	/* what happens during the proof */
	struct hist heal;
	struct hist failover[CABLE_FAULTS];	/* until a commit by another cable */
	struct census at_stop;
	u8 *scratch;		/* a transaction as bytes */
	u8 *spare_data;		/* buffers for frames as bytes */
	struct trace *trace;
	char why[WHY_LEN];	/* the first breach, "" none */
	u32 why_link;
	u64 why_at;
	struct oae_actions act;
};

static inline u32 end_index(const struct world *w, const struct end *e)
{
	return e - w->ends;
}

/* The harness' part of an end, and the end that it is part of. */
static inline struct h_end *end_h(struct end *e)
{
	return (struct h_end *)&e->link;
}

static inline struct end *end_of(struct h_end *e)
{
	return (struct end *)((char *)e - offsetof(struct end, link));
}

static inline struct end *end_peer(const struct world *w, const struct end *e)
{
	return &w->ends[end_index(w, e) ^ 1];
}

/* Does the port of a cable carry frames? */
static inline bool end_port_up(const struct end *e, unsigned int cable)
{
	return !e->ports_down &&
	       !(e->cabling && e->cabling->cable[cable].fault == CABLE_CARRIER);
}

/* What is here of a number of the peer. */
static inline struct kept *end_kept(struct end *e, u32 seq)
{
	return &e->kept_of[h_lane(seq)];
}

static inline void swap_pointers(void **a, void **b)
{
	void *c = *a;

	*a = *b;
	*b = c;
}

/* main.c */
void die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void *need(void *memory);

/* run.c */
struct world *world_new(const struct config *cfg);
void world_run(struct world *w);
void world_free(struct world *w);

/* tx.c */
struct tx *tx_new(struct world *w, struct end *e);
struct tx *tx_find(const struct world *w, u64 id);
void tx_free(struct world *w, struct tx *tx);

/* content.c */
void content_bytes(u64 id, u32 off, u32 len, u8 *buf);
u64 content_hash(struct world *w, u64 id, u32 off, u32 len, u16 slice);
void content_keep(struct world *w, struct slice *s, const struct flight *p);
void content_drop(struct world *w, struct slice *s);
u64 content_delivered(struct world *w, const struct kept *k, unsigned int n,
		      u32 *len, const char **wrong);

/* wire.c */
u8 *wire_data(struct world *w);
void wire_data_free(struct world *w, u8 *data);
void wire_put(struct world *w, struct end *e, unsigned int cable,
	      const struct oae_frame *f, u64 id, u32 off);
void wire_send(struct world *w, struct end *e, const struct oae_frame *f,
	       u64 id, u32 off);
void wire_arrive(struct world *w, struct end *e, u32 flight);

/* end.c */
bool end_enqueue(struct world *w, struct end *e, struct tx *tx);
void end_run(struct world *w, struct end *e);
void end_receive(struct world *w, struct end *e, const struct flight *p);
void end_accept(struct world *w, struct end *e, unsigned int cable,
		const struct oae_frame *f);
void end_timer(struct world *w, struct end *e);
void end_read(struct world *w, struct end *e);
void end_ready(struct world *w, struct end *e);
void end_give_up(struct world *w, struct end *e);
void end_cancel(struct world *w, struct tx *tx);
void end_close(struct world *w, struct end *e);
void end_port(struct world *w, struct end *e, unsigned int cable, bool up);
void end_begin(struct world *w, struct end *e);
void end_finish(struct world *w);
void end_ports(struct world *w, struct end *e, bool up);
void end_crash(struct world *w, struct end *e);
void end_free_slices(struct world *w, struct end *e, u32 seq);
void end_free(struct world *w, struct end *e);

/* words.c */
u16 words_compute(struct world *w, struct end *e, u32 seq, struct tx *tx);
void words_apply(struct world *w, struct end *e, u32 seq);
void words_release(struct world *w, struct end *e, u32 seq);
void words_crash(struct world *w, struct node *n);

/* stranger.c */
void stranger(struct world *w, struct end *e, unsigned int cable,
	      const struct oae_frame *f);

/* cable.c */
const char *cable_fault_name(enum cable_fault fault);
enum cable_fault cable_fault_named(const char *name, size_t len);
void cables_lay(struct world *w);
void cables_free(struct world *w);
void cables_start(struct world *w);
void cable_dice(struct world *w);
void cable_fails(struct world *w, struct end *e, unsigned int cable, enum cable_fault fault,
		 u64 lasts);
void cable_mended(struct world *w, struct end *e, unsigned int cable);
bool cable_loses(struct world *w, const struct end *e, unsigned int cable,
		 const struct oae_frame *f);

/* paths.c */
unsigned int paths_used(const struct end *e);
bool paths_prove(const struct end *e, unsigned int cable);
void paths_tag(struct end *e, unsigned int cable);
bool paths_before(struct world *w, struct end *e, const struct flight *p);
bool paths_heard(struct world *w, struct end *e, const struct flight *p);
void paths_timer(struct world *w, struct end *e);
void paths_probe(struct world *w, struct end *e);
void paths_port(struct world *w, struct end *e, unsigned int cable, bool up);
void paths_send(struct world *w, struct end *e, const struct oae_frame *f, u64 id, u32 off);

/* outage.c */
void outage_begin(struct world *w, const struct end *e, unsigned int cable,
		  enum cable_fault fault);
void outage_mended(struct world *w, const struct end *e, unsigned int cable);
void outage_void(const struct end *e);
void outage_committed(struct world *w, const struct end *e);
void outage_down(struct world *w, const struct end *e);
void census_take(const struct world *w, struct census *c);

/* check.c */
void violation(struct world *w, const struct end *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void check_lost(struct world *w, struct end *e, struct tx *tx);
bool check_settled(const struct world *w, u32 *link);
void check_fair_weather(struct world *w);
void check_end(struct world *w);

/* work.c */
const char *work_name(enum work_kind kind);
void work_start(struct world *w);
void work_event(struct world *w, u32 end);
void work_more(struct world *w, struct end *e);
void work_ended(struct world *w, struct end *e);
void work_revived(struct world *w, struct end *e);
void work_prove(struct world *w);

/* fate.c */
void fate_start(struct world *w);
void fate_event(struct world *w, u32 index);
void fate_crash_dice(struct world *w);
void fate_flap_dice(struct world *w);
void fate_reboot(struct world *w, u32 node);
void fate_up(struct world *w, u32 end);
void fate_mended(struct world *w, u32 end);
void fate_calm(struct world *w);

/* trace.c */
struct trace *trace_new(u32 lines);
void trace_free(struct trace *t);
void trace_say(struct world *w, const struct end *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void trace_frame(struct world *w, const struct end *e, unsigned int cable,
		 const char *what, const struct oae_frame *f);
u32 trace_count(const struct trace *t);
const char *trace_line(const struct trace *t, u32 i);

/* The arguments are not looked at unless the link is traced. */
#define say(w, e, ...)						\
do {								\
	if (__builtin_expect((e)->traced, 0))			\
		trace_say(w, e, __VA_ARGS__);			\
} while (0)

/* report.c, json.c, svg.c */
void report_text(const struct world *w, FILE *out);
void report_story(const struct world *w, FILE *out);
void report_latency(const struct world *w, struct hist *h);
void report_json(const struct world *w, const struct world *story, FILE *out);
bool report_svg(const struct world *w, const char *file);
void report_bench(const struct world *w, double seconds, double by_clock, FILE *out);

/* progress.c */
void progress_begin(const struct config *c);
void progress_show(const struct world *w);
void progress_end(void);

#endif /* SIM_H */
