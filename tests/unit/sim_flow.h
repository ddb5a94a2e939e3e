/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links in time, as a network sees them: frames have a length, lines a rate and a queue, and
 * many links may share a line.
 *
 *	users -> link -> line of this path -> (line that all share) -> link -> reader
 *
 * Frames are passed on as struct oae_frame, and a slice as its name: there are no bytes.
 * tests/harness carries out what a link does, and looks after G1 to G3. Everything that is
 * seen of a link is what link.h and path.h offer to be shown, and its notes.
 */
#ifndef OAE_SIM_FLOW_H
#define OAE_SIM_FLOW_H

#include <stdio.h>
#include "../harness/harness.h"

#define FLOW_US		1000ULL
#define FLOW_MS		1000000ULL
#define FLOW_S		1000000000ULL

#define FLOW_MTU	1500
#define FLOW_PATHS	2
#define FLOW_PAIRS	64		/* links, at most */
#define FLOW_RING	4096		/* transactions of an end that may be asked for */
#define FLOW_PACKS	512		/* and packs */
#define FLOW_QUEUE	1024		/* frames before a line, at most */
#define FLOW_DELAYS	4
#define FLOW_OF		100000		/* chances are in this many */
#define FLOW_FRAMING	38		/* bytes of Ethernet's own, preamble and gap too */
#define FLOW_SHORTEST	84		/* and the shortest frame with them */

/**
 * struct flow_like - what a line is like, one way
 * @byte: ns that it takes to send a byte, 0 none
 * @delay: ns on the way
 * @jitter: ns more, at most; they stay in order
 * @queue: frames before it, at most; 0: FLOW_QUEUE
 * @one_way: what follows is so to B only
 * @lose: chance that a frame is lost, in FLOW_OF
 * @late: chance that it is overtaken
 * @very_late: ns by which, at most
 * @hold: frames are held for so long, ns, and then come at once
 * @every: each time this has passed, ns; 0 never
 * @delays: in turn the delay is each of these, ns; the first 0 ends them
 * @each: for so long, ns
 * @other: half of the frames go by a second line, whose delay is this much longer, ns; 0: none do
 */
struct flow_like {
	u64 byte;
	u64 delay;
	u64 jitter;
	unsigned int queue;
	bool one_way;
	unsigned int lose;
	unsigned int late;
	u64 very_late;
	u64 hold, every;
	u64 delays[FLOW_DELAYS];
	u64 each;
	u64 other;
};

/**
 * struct flow_line - a line, one way
 * @like: what it is like
 * @busy: it sends until then
 * @last: when the last frame comes that is in order
 * @done: when each of the frames is sent that are queued, a ring
 * @first: the oldest of them
 * @n: how many there are
 * @dropped: frames that the queue had no room for
 * @bytes: that it has carried
 */
struct flow_line {
	struct flow_like like;
	u64 busy;
	u64 last;
	u64 done[FLOW_QUEUE];
	unsigned int first, n;
	unsigned long dropped;
	u64 bytes;
};

/* A path of a link, one way: by @way, by turns by @other if that is so, and then by @shared. */
struct flow_way {
	struct flow_line way, other;
	struct flow_line *shared;
	unsigned int turn;
	unsigned long frames;	/* put on it */
};

/**
 * struct flow_work - what the user of an end posts
 * @deep: so many transactions wait at a time; 0: nothing is posted
 * @most: so many wait or are under way, at most; 0 any
 * @len: their length, bytes
 * @often: each so many is of @long_len, 0 none
 * @long_len: bytes
 * @len_to: not 0: a length at random, from @len up to this one
 * @read: ns that the reader needs for one, 0 none
 */
struct flow_work {
	unsigned int deep, most;
	u32 len, len_to;
	unsigned int often;
	u32 long_len;
	u64 read;
};

/* PACK: @n transactions, the first one's name is @member, and the others follow it. */
struct flow_tx {
	struct h_tx;
	u64 id;
	u64 member;
	u32 cut;
	u8 n;
};

/* A slice that is kept: whose. */
struct flow_slice {
	u64 id;
	u64 hash;
	u16 len;
};

struct flow_end {
	struct h_end;
	struct flow *w;
	struct flow_pair *both;
	struct oae_link_cfg cfg;
	struct flow_work work;
	struct oae_paths ps;
	bool begun;			/* it has @ps */
	u8 line[OAE_PATHS_MAX];
	u8 said;			/* set of the paths that are lossy */
	u64 looked_at;
	u64 cookie_key;
	u64 serial, packs;		/* transactions posted, packs made */
	u32 under_way;
	u32 rcvbuf;			/* bytes */
	u32 unread_bytes;
	u32 unread_len[FLOW_RING];	/* of each that is unread, a ring */
	u32 read_first;
	u64 read_at;
	unsigned int hasty;
	struct flow_tx ring[FLOW_RING];
	struct flow_tx pack[FLOW_PACKS];
	struct flow_slice kept_of[H_LANES][OAE_MAX_SLICES];
	/* Figures. */
	unsigned long frames, slices, needed, commits, lossy;
	u64 bytes;			/* committed */
	u64 wire;			/* and what these take on a line, slices alone, bytes */
	unsigned long notes[OAE_NOTE_END];
};

/* A link, both ends; @to: by path and end that it leads to. */
struct flow_pair {
	struct flow_end end[2];
	struct flow_way to[FLOW_PATHS][2];
};

struct flow_pkt {
	struct oae_frame f;
	u64 id;				/* OFFER: whose slice */
	u16 len;			/* behind the Ethernet header */
	u16 pair;
	u8 to, path, hop;
};

struct flow_event {
	u64 when;
	u64 order;
	u32 kind : 2;			/* enum flow_kind */
	u32 index : 30;
};

/**
 * struct flow - the world
 * @now: ns
 * @rng: of its dice
 * @npairs: links
 * @npaths: of each
 * @pair: the links
 * @shared: lines that all of them go by, to each end
 * @heap: what will happen, the first of it in front
 * @order: of events at the same time
 * @pkt: frames on their way, and @spare ones
 * @ev: the event under way
 * @act: and its actions
 * @events: that there were
 * @why: the first breach, "" none
 */
struct flow {
	u64 now;
	u64 rng;
	unsigned int npairs, npaths;
	struct flow_pair *pair;
	struct flow_line shared[2];	/* to each end */
	struct flow_event *heap;
	unsigned int nheap, heap_room;
	u64 order;
	struct flow_pkt *pkt;
	u32 *spare;
	unsigned int npkts, nspare;
	struct h_event ev;
	struct oae_actions act;
	unsigned long events;
	char why[200];
};

enum { A, B };

/**
 * struct flow_net - what a world is like
 * @seed: of its dice and of the links'
 * @pairs: links
 * @paths: of each
 * @like: what each way of each path is like
 * @shared: so is a line that all frames to B, or to A, go by then; its byte 0: there is none
 * @work: of all A, of all B
 * @window: of both ends
 * @pack: they pack
 * @rcvbuf: bytes
 */
struct flow_net {
	u64 seed;
	unsigned int pairs, paths;
	struct flow_like like[FLOW_PATHS];
	struct flow_like shared[2];
	struct flow_work work[2];
	u8 window;
	bool pack;
	u32 rcvbuf;
};

struct flow *flow_new(const struct flow_net *net);
void flow_free(struct flow *w);
void flow_run(struct flow *w, u64 until);
bool flow_open(const struct flow *w);
bool flow_proven(const struct flow *w);
unsigned int flow_used(const struct flow_end *e);
unsigned long flow_freezes(const struct flow_end *e);

#endif /* OAE_SIM_FLOW_H */
