/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The explorer: every state that two compiled links can get into.
 *
 * A state is both ends (the very struct oae_link that the kernel runs), the
 * frames in flight and what has become of each transaction. A step is one
 * event: a frame arrives, once or not for the last time, or is lost; a user
 * posts or cancels; a timer fires; a machine crashes ... Time is not counted:
 * a timer that may fire at all may fire at any time, before or after anything
 * else, so whatever the clocks say is covered.
 *
 * Ltags and incarnations are only ever compared for equality, so they are
 * renamed by first appearance, and states that differ in nothing else are one.
 *
 * Nor do frames have numbers. What is told by numbers is an event, which may happen at any
 * time: that a frame of an offer seems lost, or its answer (M_HINT); that more frames may be under
 * way (M_MORE); that an answer is to an earlier question than the last (M_OLD), or to that.
 *
 *	world.c   what tests/harness wants to know of the two ends; the wire between
 *	weather.c which ways or lines carry frames
 *	way.c     the two ways (4.8)
 *	path.c    the lines between the ends, and the paths by them (4.14)
 *	event.c   what happens when an event does
 *	choice.c  which events may happen
 *	check.c   what the explorer adds to what must hold (tests/harness)
 *	reduce.c  what of a state does not matter
 *	canon.c   when two states are one
 *	digest.c  digests, by number
 *	search.c  all states, breadth first; and from each a way to the end
 *	corrupt.c frames that change on their way
 *	story.c   the way to a violation, in words
 *	scenario.c what is explored: who posts what, and what may go wrong
 *	chaos.c   from any state at all back to a legal one (G5)
 *	main.c    the command
 */
#ifndef OAE_MODEL_H
#define OAE_MODEL_H

#include <stdio.h>
#include "../../modoae/link/admission.h"
#include "../../modoae/link/link_int.h"
#include "../../modoae/link/path.h"
#include "../../modoae/link/way.h"
#include "../harness/harness.h"

#define M_TXS		30		/* transactions of a run, and of its proof */
#define M_CAP		4		/* frames in flight, each way, at most */
#define M_SLICES	3
#define M_LINES		3		/* lines between the ends, at most */
#define M_ACTS		128		/* events that a state may have */
#define M_PACKED	1024		/* bytes of a state, at most */

#define M_NOW		1000000000000000ULL	/* it is always now */
#define M_AGE		100000000000000ULL	/* longer than any time of a knob */
#define M_LATE		20000000000ULL	/* two probes, not yet dead */

#define M_MTU_WIDE	256
#define M_MTU_NARROW	128
#define M_MTU_VIA	(M_MTU_WIDE - OAE_VIA_LEN)	/* through the gateway */
#define M_VAIN		8		/* questions, or REFLECTs, of the timer: it gives up */
#define M_LEN		150		/* bytes of every transaction, see m_len() */
#define M_NO_LAST	63		/* OAE_SYNC_NO_LAST */
#define M_ANSWER	16		/* bytes of every verb's answer */

/* The cookie of an end without a tag for its peer's ltag (4.6). */
#define M_COOKIE	0x80000000U
#define M_NOBODY	(M_COOKIE - 1)	/* an ltag that nobody has */
#define M_LTAG		0x1fffffffU	/* of a cookie: whose it is; between them the line */

enum { A, B };

/* What posts may be; a letter each in a scenario's list. */
enum m_kind {
	M_ATOMIC = 'a',
	M_EXPRESS = 'x',
	M_EITHER = 'e',			/* one or the other */
	M_CONFIRM = 'c',		/* atomic, with DONE asked for */
	M_HALF = 's',			/* a half of a swap */
	M_VERB = 'v',			/* adds 1 to the other end's word */
	M_OPENING = 'o',		/* nothing: the link is opened */
	M_WANTING = 'w',		/* nothing: it is opened, and wanted (4.4) */
};

/**
 * struct m_scenario - what is explored
 * @name: one word
 * @posts: of A and of B: a letter (enum m_kind) a transaction, in order
 * @cap: frames in flight in each direction, or, where there are two ways or more lines
 *	than one, in all; one more is lost
 * @slices: of each transaction that is a message
 * @most: slices that a transaction may have at most, 0: M_SLICES; what would
 *	take more is too long for a narrow port
 * @cancel: users take back what may be reversed
 * @dup: a frame may arrive any number of times
 * @dead: the peer may be given up for dead
 * @probe: idle ends ask
 * @port: the port may go down at any time
 * @rcvbuf: transactions unread for which there is room; 0: for any number
 * @crash: machines that stop and come back
 * @kill: ends of the link that are torn down, and may come back
 * @close: times that a user closes the link
 * @rename: times that a port's address changes
 * @settle: and only when the end has settled before
 * @mtu: times that a port's MTU changes
 * @cut: times that a search has found that a path carries short frames only (4.17); it may
 *	be wrong
 * @conflict: times that a verb of some other link has the word reserved
 * @forge: SYNCs are forged in the peer's name, to an end without a tag (4.6); by who says
 *	that it is a gateway, where there are ways, to one that goes direct (4.8); and by
 *	another line, where there are lines, to one that uses one (4.14)
 * @ways: there are two, direct and through a gateway, which both ends know at first
 * @refuse: SYNCs that are refused by an end without a tag (4.6)
 * @lines: so many lines are between the ends (4.14), 0: one, and no other path is taken
 * @vc: the link's, by which it has its turn among paths
 * @own: in fair weather line 0 is whole, by which alone some ends can be found
 * @waits: times decide how it comes to rest, for which an end must have been silent: what
 *	fair weather leads to is not looked at
 * @cross: in fair weather no line is whole: the ends go down, and find back when one is
 * @drops: a line may drop long frames
 * @choose: ends go to paths of their choice, so they remember which of them are good
 * @differ: A prefers line 0, and B line 1
 * @shorter: all lines but line 0 carry less
 * @via: and all but line 0 go through a gateway
 * @carrier: times that an end's port is unplugged
 * @leave: times that an end is told that its gateway leaves; it may come again
 * @window: transactions under way, each way; 0 is 1
 * @parts: slices of a transaction that the network bears at once, 0: all
 * @begins: the second transaction, of three slices, begins with the first, of two
 * @narrow: times that an end's window becomes 1, or what it was
 * @start: tx before the first transaction
 * @opened: begin with a link that is OPEN at both ends
 * @calm: no frame is lost, and none takes too long
 * @walks: so many walks lead to where a frame of an earlier run is under way; the search
 *	begins in all states on them
 * @levels: and ends so many events later, 0: when all is seen
 * @raw: leave no frame out and nothing of it (reduce.c relies on the very rules
 *	that say which frames do nothing)
 */
struct m_scenario {
	const char *name;
	const char *posts[2];
	u8 cap;
	u8 slices, most;
	bool settle, cancel, dup, dead, probe, port, forge, ways;
	bool own, cross, drops, choose, differ, shorter, via, waits;
	u8 rcvbuf;
	u8 crash, kill, close, rename, mtu, cut, conflict, leave, refuse;
	u8 lines, vc, carrier;
	u8 window, parts, narrow;
	bool begins;
	u32 start;
	u16 walks;
	u8 levels;
	bool opened, calm, raw;
};

#define M_PLENTY	255

/* A frame in flight. */
struct m_frame {
	u64 inc, peer_inc;
	u32 src, dst;
	u32 tx, rx, seq;
	u16 mtu;
	u16 digest;		/* REFLECT, SYNC: number of the digest, see m_digest() */
	u8 opcode, flags, reason;
	u8 kind;		/* of questions and answers about a content: enum oae_kind */
	u8 slice;		/* SYNC: the last of those that are kept */
	u8 piece;		/* OFFER: which transaction, cut how: M_PIECE() */
	u8 first;		/* REFLECT, OFFER: of which transaction */
	u8 have;		/* ACK: slices that are here; SYNC: that are kept */
	u8 marks;		/* OFFER: OAE_M_ANSWER, COMMIT: OAE_M_BLOCKED, or none */
	u8 grant;		/* M_PLENTY: as much as can be said */
	u8 caps;
	u8 reply;		/* REFLECT: the half that is given, or 1 + the word */
	u8 line;		/* that it goes by */
};

/* Slices are named by transaction and by into how many it was cut. */
#define M_PIECE(id, n)	((id) << 2 | (n))
#define M_PIECE_ID(p)	((p) >> 2)
#define M_PIECE_N(p)	((p) & 3)

/* A half's other is the half it took; a verb's is 1 + the word. */
struct m_tx {
	struct h_tx;
	u8 n;			/* slices, as cut last */
};

/* The paths of an end's link. */
struct m_path_end {
	struct oae_paths ps;
	u8 line[M_LINES];	/* of each path */
	bool begun;		/* it has, or had, other paths than its own */
};

struct m_end {
	struct h_end;
	u8 slot[H_LANES][M_SLICES];	/* pieces kept of each number, 0 none */
	bool single;		/* its window is 1 now */
	bool narrow;		/* its port's MTU */
	u8 word;		/* what verbs add to */
	u8 answer[H_LANES];	/* of each verb that is held */
	bool word_busy;		/* by one of another link */
	bool word_wanted;	/* by one of another link that was refused */
	struct oae_gw gw;	/* its port's gateway */
	struct oae_way way;	/* its tag's */
	bool goes_via;		/* what is sent in this event */
	bool wanted;		/* its link was, before this event */
	struct m_path_end path;
	u8 unplugged;		/* lines whose port here is down */
};

struct m_chan {
	unsigned int n;
	struct m_frame f[M_CAP];
};

struct m_world {
	const struct m_scenario *sc;
	struct m_end end[2];
	struct m_chan to[2];	/* frames on their way to an end */
	struct m_tx tx[M_TXS];
	u8 ntx;
	u8 posted[2];
	u8 crash, kill, close, rename, mtu, cut, conflict, leave, refuse;	/* left */
	u8 carrier;		/* likewise */
	u8 shrink;
	u8 weather;		/* of this event: which ways carry frames */
	bool impostor;		/* what comes in is from one */
	bool arbitrary;		/* did not begin at the beginning (chaos.c) */
	bool reported;		/* a user has been told that it began so */
	const char *why;	/* the first breach */
	int why_id;		/* of which transaction, 0 of none */
};

/* May a path carry another length than before? */
static inline bool m_lengths(const struct m_scenario *sc)
{
	return sc->mtu || sc->cut || sc->shorter;
}

/* May something be too long, which then waits? A message is cut. */
static inline bool m_too_long(const struct m_scenario *sc)
{
	return m_lengths(sc) && (strpbrk(sc->posts[A], "sv") || strpbrk(sc->posts[B], "sv"));
}

/* Does a link send short frames only? */
static inline bool m_short(const struct oae_link *l)
{
	return oae_link_slice_max(l) == M_MTU_NARROW - OAE_HDR_LEN;
}

/* Are there runs with a window? */
static inline bool m_windows(const struct m_scenario *sc)
{
	return sc->window > 1;
}

static inline bool m_is_sync(u8 opcode)
{
	return opcode >= OAE_SYNC && opcode <= OAE_SYNC_CHK;
}

/* CLOSE is out and not answered. */
static inline bool m_close_out(const struct oae_link *l)
{
	return l->closing && l->close_sent;
}

/* Nothing new, and nothing in doubt: it may become another end. */
static inline bool m_settled(const struct oae_link *l)
{
	return l->settle_until && !oae_link_in_doubt(l);
}

/* Does the timer ask? For what is in flight, or for DONE. */
static inline bool m_awaits(const struct oae_link *l)
{
	return l->state == OAE_OPEN &&
	       (oae_first_lane(l)->state == OAE_OFFER_OUT || l->await_done);
}

/* Does the timer reflect again? */
static inline bool m_holds(const struct oae_link *l)
{
	return l->state == OAE_OPEN && oae_hold_stalled(l);
}

/* An event: what, at which end (or on the way to it), and which. */
enum m_what {
	M_DELIVER, M_REPEAT, M_OLD, M_LOSE,
	M_POST, M_POST_EXPRESS, M_POST_HALF, M_POST_VERB, M_CANCEL, M_READ,
	M_RESERVE, M_FREE,
	M_STALL, M_AGAIN, M_DEAD, M_FORGET, M_RETRY, M_RETRY_HALF,
	M_FOUND, M_WAITED, M_SETTLE, M_SETTLED,
	M_PORT, M_CRASH, M_KILL, M_CLOSE, M_RENAME, M_MTU,
	M_FORGE, M_HELLO, M_LEAVE,
	M_BOTH_AGAIN,		/* M_AGAIN, of both ends */
	M_OPEN, M_WANT, M_UNWANT, M_REFUSE, M_WINDOW,
	M_ASK, M_REFLECT,	/* of the timer, before M_STALL */
	M_HINT,			/* a frame of an offer seems lost, or its answer: M_HINT_OF() */
	M_MORE,			/* more of what is due may be under way */
	M_PATH_LOOK, M_PATH_PROBED, M_PATH_ANSWERED, M_PATH_SILENT, M_PATH_BACK,
	M_PATH_LEFT, M_PATH_SAYS, M_CARRIER,
	M_WHAT_END
};

/* Of the lane of tx + 1 + @i: enum oae_due. */
#define M_HINT_OF(i, due)	((i) << 1 | ((due) == OAE_DUE_ASK))

#define M_ACT(what, e, arg)	((what) << 5 | (e) << 4 | (arg))
#define M_ACT_IN(act, weather)	((act) | (weather) << 12)
#define M_ACT_WEATHER(act)	((act) >> 12)
#define M_ACT_WHAT(act)		((act) >> 5 & 127)
#define M_ACT_END(act)		((act) >> 4 & 1)
#define M_ACT_ARG(act)		((act) & 15)

/* world.c */
extern FILE *m_story;			/* words of a step go here, if anywhere */
extern unsigned long m_seen[OAE_NOTE_END];
u32 m_random(void);
void m_random_from(u32 first);
void m_init(struct m_world *w, const struct m_scenario *sc);
void m_link_init(struct m_world *w, unsigned int who);
u16 m_mtu(const struct m_end *e);
bool m_frame_long(const struct m_frame *m);
void m_to_wire(struct m_world *w, unsigned int to, const struct m_frame *f);
void m_frame_of(const struct m_frame *m, const struct m_scenario *sc,
		unsigned int to, struct oae_frame *f);
u8 m_piece(const struct m_world *w, u8 id);
u32 m_len(const struct m_scenario *sc, u8 id);
void m_fill_post(const struct m_world *w, u8 id, struct oae_post *p);
void m_fill_void(const struct m_world *w, u8 id, struct oae_post *p);
void m_queue(struct m_world *w, u8 id);
void m_remember(struct m_world *w);
void m_fix(struct m_world *w);
void m_event(struct h_event *ev, struct m_world *w, unsigned int who,
	     struct oae_actions *a);
void m_make_tag(struct m_world *w, unsigned int who, u8 flags, unsigned int line);

/* weather.c */
unsigned int m_weathers(const struct m_scenario *sc, unsigned int *first);
const char *m_weather_name(const struct m_scenario *sc, unsigned int weather);
bool m_carries(const struct m_world *w, unsigned int to, const struct m_frame *f);
bool m_line_whole(const struct m_world *w, unsigned int line);
bool m_line_drops(const struct m_world *w, unsigned int line);
bool m_none_whole(const struct m_world *w);
unsigned int m_mended(unsigned int line);
bool m_wire_full(const struct m_world *w, unsigned int to);

/* way.c */
void m_gateway(struct m_end *e, u8 flags);
struct oae_ways m_ways(const struct m_end *e);
void m_via_mark(struct oae_frame *f, unsigned int to);
bool m_let_in(const struct m_end *e, const struct oae_frame *f);
void m_way_begin(struct m_end *e, bool via);
bool m_way_refresh(struct m_end *e, struct oae_actions *a);
bool m_way_late(const struct oae_link *l);
bool m_way_heard(struct m_world *w, unsigned int who, struct h_event *ev);
void m_way_timer(struct m_end *e, struct oae_actions *a);
void m_check_sent(struct m_world *w, unsigned int who,
		  const struct oae_frame *f);
void m_check_way(struct m_world *w, unsigned int who);

/* path.c */
bool m_line_via(const struct m_world *w, unsigned int line);
u16 m_line_mtu(const struct m_world *w, const struct m_end *e, unsigned int line);
enum oae_path_rank m_line_rank(const struct m_world *w, const struct m_end *e,
			       unsigned int line);
u32 m_cookie(u32 src, unsigned int line);
unsigned int m_path_line(const struct m_end *e);
bool m_path_known(const struct m_world *w, unsigned int line);
bool m_path_is(const struct m_end *e, unsigned int line);
bool m_path_heard(struct m_end *e, struct h_event *ev, unsigned int line);
void m_path_send(struct m_world *w, struct m_end *e, const struct h_event *ev,
		 const struct m_frame *m);
bool m_path_may(const struct m_world *w, unsigned int who, enum m_what what,
		unsigned int line);
void m_path_look(struct m_world *w, unsigned int who, enum m_what what, unsigned int line);
#define M_CREDIT_BYTES	(2 * H_LANES + 5)

void m_credit_reduce(const struct m_scenario *sc, struct oae_link *l);
void m_credit_back(struct oae_link *l, u32 n);
bool m_grants(const struct m_scenario *sc, const struct oae_link *l, const struct m_frame *f);
u8 *m_credit_pack(const struct oae_link *l, u8 *out);
const u8 *m_credit_unpack(const struct m_scenario *sc, struct oae_link *l, const u8 *in);
void m_path_rcv(const struct m_world *w, struct h_event *ev, enum m_what what,
		unsigned int line);
void m_path_carrier(struct m_end *e, struct h_event *ev, unsigned int line);
void m_path_left(struct h_event *ev);
void m_path_crashed(struct m_end *e);
void m_path_reduce(struct m_world *w, unsigned int who);
void m_path_reduce_frame(const struct m_world *w, unsigned int to, struct m_frame *f);
void m_check_path(struct m_world *w, unsigned int who);
void m_check_paths(struct m_world *w);

/* event.c */
void m_step(struct m_world *w, u16 act);

/* choice.c */
unsigned int m_enabled(const struct m_world *w, u16 acts[M_ACTS]);
u8 m_half_of(const struct m_world *w, unsigned int who);
bool m_same_run(const struct m_world *w);
bool m_matched(const struct m_world *w);
int m_fair(const struct m_world *w);

/* check.c */
bool m_breach(const char *why);
void m_fail(struct m_world *w, u8 id, const char *why);
const char *m_words(const char *why, u8 id);
void m_forgot(struct m_world *w, unsigned int who, u64 inc);
void m_check(struct m_world *w);
void m_check_end(struct m_world *w);

/* digest.c */
void m_digests(void);
u16 m_digest(u64 digest);
u64 m_digest_value(u16 number);
u64 m_slice_hash(u8 piece, unsigned int slice);
u64 m_whole(u8 piece, u8 n);

/* reduce.c */
void m_reduce_link(const struct m_scenario *sc, struct oae_link *l);
bool m_spent(const struct m_world *w, unsigned int to, const struct m_frame *f);
void m_reduce(struct m_world *w);

/* canon.c */
unsigned int m_pack(struct m_world *w, u8 buf[M_PACKED]);
void m_unpack(struct m_world *w, const struct m_scenario *sc, const u8 *buf);

/* search.c */
struct m_result {
	unsigned long states, steps, ends;
	unsigned int depth;	/* the longest shortest way to a state */
	unsigned int fair;	/* the longest way from a state to the end */
	unsigned long bytes;
	bool violated;
	bool full;		/* out of room: not all was seen */
	bool near;		/* as asked for: from the farther states fair weather alone */
};

struct m_limits {
	bool progress;		/* said on stderr */
	unsigned long near;	/* states in which all happens that may, 0: in all */
	unsigned long states;
	unsigned long bytes;
};

void m_prove(struct m_world *w, FILE *out);
struct m_result m_search(const struct m_scenario *sc,
			 const struct m_limits *limits, FILE *out);

/* story.c */
const char *m_act_name(const struct m_world *w, u16 act, char *buf, size_t len);
const char *m_frame_name(const struct m_frame *f, unsigned int to, char *buf,
			 size_t len);
const char *m_end_name(const struct m_world *w, unsigned int who, char *buf,
		       size_t len);
void m_tell_world(const struct m_world *w, FILE *out);
void m_tell_step(struct m_world *w, u16 act, FILE *out);
void m_tell(const struct m_scenario *sc, const u16 *acts, unsigned int n,
	    unsigned int more, unsigned int weather, FILE *out);

/* corrupt.c */
extern unsigned long m_flips;	/* bits flipped so far */
bool m_corrupt(const struct m_scenario *sc, unsigned int to,
	       const struct m_frame *m);

/* scenario.c */
extern const struct m_scenario m_quick[], m_more[], m_deep[];

/* chaos.c */
struct m_chaos {
	unsigned long runs, steps;
	unsigned long reported;	/* a promise was broken, and a user told so */
	unsigned int worst;	/* events until all is well again */
	bool violated;
};

struct m_chaos m_chaos_all(unsigned int bound, FILE *out);
struct m_chaos m_chaos_kinds(FILE *out);
struct m_chaos m_chaos_frames(FILE *out);
struct m_chaos m_chaos_kind_frames(FILE *out);
struct m_chaos m_chaos_dice(unsigned long runs, u64 seed, FILE *out);

#endif /* OAE_MODEL_H */
