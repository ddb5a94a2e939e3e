/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names and bounds. The names are those of doc/protocol.md and of the core;
 * the numbers are the core's too, so that a trace can be compared with it.
 *
 * A configuration is a set of -D macros, spin's command line, all optional:
 *
 *	N_A N_B		transactions posted at A, at B
 *	HALVES_A HALVES_B	halves of a swap posted at A, at B
 *	VERBS		the first so many of each end's transactions are verbs
 *	EXPRESS		0 none of them is, 1 all, 2 each as its writer likes
 *	CONFIRM		a writer may ask for DONE
 *	CANCEL		a writer may take its transaction back
 *	LOSS DUP	frames may be lost, doubled, at any time (always reordered)
 *	K		so many frames wait on a wire at most, each way
 *	CREDIT		what an inbox has room for; 0: what is granted is left out
 *	COST		what a message takes of that
 *	FOR_NOW		an offer may be refused for now: the end settles, or words are reserved
 *	UNASKED		the last offer of a message may not ask for an answer
 *	FOR_GOOD	a verb may be refused for good
 *	STALL		a timer may notice a failure where there is none
 *	PROBE PORT	the timers of an idle link; a port may go down
 *	DEAD		so many times an end may find its peer dead
 *	CRASH_A CRASH_B	so many times an end may die and know nothing any more
 *	CLOSES		so many times a user may close the link
 *	WINDOW		lanes (protocol 4.11)
 *	WIN_A WIN_B	the window of A, of B; WINDOW if not said
 *	CHANGE		an ltag may say a smaller one
 *	LOST		an answer may show that a frame about another lane was lost
 *	NUMBERS		the highest number that an end gives before the search stops
 *	BREAK_RULE	leave out one of the five rules at the end of protocol 4.5;
 *			1 the peer's ltag, 6 one's own is not looked at. Of those of 4.11:
 *			7 the commit is no prefix, 8 what is reversed stays reflected,
 *			9 what is held stays so in the next run, 10 a late copy takes the
 *			place of nothing, 11 an express that was refused may be reversed;
 *			12 what is committed is not charged, 13 what was granted above an
 *			older rx counts, 14 BLOCKED is not repeated, 15 a grant falls
 *	KEEP_DEAD	leave frames on the wire that no rule looks at any more
 *	UNFIT		counters that do not fit are no error by themselves
 *	LIVE		faults stop at any time, and then the ends must settle
 *	TRACE		for spin's simulation: say what happens, by dice
 *	TELL		for spin -t: say what happened
 */

#ifndef N_A
#define N_A		1
#endif
#ifndef N_B
#define N_B		0
#endif
#ifndef HALVES_A
#define HALVES_A	0
#endif
#ifndef HALVES_B
#define HALVES_B	0
#endif
#ifndef VERBS
#define VERBS		0
#endif
#ifndef EXPRESS
#define EXPRESS		0
#endif
#ifndef CONFIRM
#define CONFIRM		0
#endif
#ifndef CANCEL
#define CANCEL		0
#endif
#ifndef LOSS
#define LOSS		1
#endif
#ifndef DUP
#define DUP		1
#endif
#ifndef K
#define K		2
#endif
#ifndef CREDIT
#define CREDIT		0
#endif
#ifndef COST
#define COST		1
#endif
#ifndef FOR_NOW
#define FOR_NOW		0
#endif
#ifndef UNASKED
#define UNASKED		0
#endif
#ifndef FOR_GOOD
#define FOR_GOOD	0
#endif
#ifndef STALL
#define STALL		1
#endif
#ifndef PROBE
#define PROBE		0
#endif
#ifndef PORT
#define PORT		0
#endif
#ifndef DEAD
#define DEAD		0
#endif
#ifndef CRASH_A
#define CRASH_A		0
#endif
#ifndef CRASH_B
#define CRASH_B		0
#endif
#ifndef CLOSES
#define CLOSES		0
#endif
#ifndef WINDOW
#define WINDOW		1
#endif
#ifndef WIN_A
#define WIN_A		WINDOW
#endif
#ifndef WIN_B
#define WIN_B		WINDOW
#endif
#ifndef CHANGE
#define CHANGE		0
#endif
#ifndef LOST
#define LOST		0
#endif
#ifndef BREAK_RULE
#define BREAK_RULE	0
#endif
#ifndef KEEP_DEAD
#define KEEP_DEAD	(BREAK_RULE == 1 || BREAK_RULE == 2 || BREAK_RULE == 6)
#endif
#ifndef LIVE
#define LIVE		0
#endif

/* Bits of a field: ltag, transaction number, incarnation or content. */
#ifdef TRACE
#define LTAGS	32
#define W_L	6	/* also a cookie's */
#define W_T	8
#define W_I	5
#define W_WHAT	30	/* 6 + 3 W_T: opcode, flag; tx, rx, seq */
#define W_BODY	14	/* 2 W_I + W_G */
#define W_G	4	/* what is granted */
#define W_LTAGS	12	/* 2 W_L */
#else
#define LTAGS	16
#define W_L	5
#define W_T	2
#define W_I	3
#define W_WHAT	12
#define W_LTAGS	10
#if CREDIT
#define W_BODY	9
#define W_G	3
#else
#define W_BODY	6
#define W_G	0
#endif
#endif

/*
 * An ltag is a number from 1; 0 is unknown. What is drawn is the least number
 * that nobody knows and no frame names: as good as 32 random bits, which are
 * only ever compared. The cookie for a stranger's ltag is COOKIE + that ltag.
 */
#define COOKIE	LTAGS
#ifndef NUMBERS
#define NUMBERS	((1 << W_T) - 1)
#endif
#define INCS	(1 << W_I)

/* Frames on a wire: K that wait, and those that one event adds. */
#ifndef CAP
#if WINDOW > 1
#define CAP	(K + 8)
#else
#define CAP	(K + 5)
#endif
#endif
#define OUTS	6

#define A	0
#define B	1

/* States of an end. */
#define CLOSED		0
#define SYNC_SENT	1
#define SYNC_RECD	2
#define OPEN		3

/* offer: states */
#define OFFER_NONE	0
#define OFFER_OUT	1
#define OFFER_PARKED	2
#define OFFER_REFLECTED	3
#define OFFER_QUEUED	4

/* offer: how it is due */
#define DUE_NOT		0
#define DUE_ALL		1
#define DUE_REST	3	/* since its frame seems lost */
#define DUE_ASK		4	/* by ASK, since the answer seems lost */

/* hold: states */
#define HOLD_NONE	0
#define HOLD_HELD	2
#define HOLD_REFUSED	3

/* offer: what becomes of an express in place of which nothing is offered */
#define RECALL_REVERSE	1	/* if it was not delivered its writer is told so */
#define RECALL_BACK	2	/* it is posted again, after a half */

/* half: states */
#define HALF_NONE	0
#define HALF_POSTED	1
#define HALF_OFFERED	2
#define HALF_WAITING	3
#define HALF_LENT	4

/* Why an offer is refused; for good: RANGE. */
#define BUSY		0
#define NO_HALF		1
#define CONFLICT	2
#define RANGE		3

/* Opcodes. */
#define SYNC		1
#define SYNC_ACK	2
#define SYNC_CHK	3
#define CLOSE		4
#define CLOSE_ACK	5
#define OFFER		6
#define REFLECT		7
#define COMMIT		8
#define REFUSE		9
#define READY		10
#define DONE		12
#define NOLINK		14
#define ASK		16
#define ACK		17

/* What is offered under a number of this end: struct oae_lane. */
typedef lane {
	unsigned state : 3;		/* OFFER_* */
	unsigned id : W_I;		/* its content; 0: VOID, in place of what was reversed */
	bit express;
	bit confirm;
	unsigned recalled : 2;		/* RECALL_*: VOID is offered in place of this express */
	bit ready;			/* READY came since the last OFFER */
	unsigned due : 3;		/* DUE_*: to be offered again */
};

/* What is here of a number of the peer: struct oae_hold. */
typedef hold_of {
	unsigned state : 3;		/* HOLD_* */
	unsigned id : W_I;		/* 0: VOID */
	bit express;
	bit said;			/* REFUSED: so the peer was told */
	unsigned reason : 2;		/* why it was refused */
};

/* What stepped aside for a half, or is to be posted again. */
typedef post_of {
	unsigned id : W_I;
	bit express;
	bit confirm;
};

/* An express, and what waited behind it. */
#define BACKS	2

/* One end of the link: struct oae_link. */
typedef end {
	unsigned state : 2;
	unsigned ltag : W_L;
	unsigned peer_ltag : W_L;
	unsigned inc : W_I;
	unsigned peer_inc : W_I;
	unsigned heard_inc : W_I;	/* what came with peer_ltag */
	unsigned tx : W_T;		/* last committed */
	unsigned rx : W_T;		/* last delivered */
	unsigned peer_rx : W_T;		/* last that the peer is known to have delivered */
	unsigned done_seq : W_T;	/* await_done: for this one */
	bit down;
	bit asked;			/* asked and unanswered */
	bit closing;			/* closed here */
	unsigned close_sent : 2;	/* CLOSE in this run: 1 sent, 2 with LAST */
	unsigned peer_closing : 2;	/* the same of the peer */
	bit await_done;
	bit last_express;		/* rx was an express */
	bit unseen;			/* and the peer was not seen to commit it */
	bit ready_due;			/* refused for now: READY must follow */
	unsigned last_id : W_I;		/* what an express at rx is reflected as */

	unsigned window : 3;		/* of this end, as said with this ltag */
	unsigned heard_window : 3;	/* the peer's, which came with peer_ltag */
	unsigned win : 3;		/* of this run: the smaller of both */
	unsigned nlanes : 3;		/* numbers above tx that have a content */
	unsigned given : 3;		/* of these, offered in this run */
	bit asks;			/* calm: the timer has asked, and nothing came of it */
	bit more;			/* there was more to offer than an event sends */
	unsigned granted : 4;		/* what all of the peer above rx may cost */
	unsigned grant : 4;		/* what all of this end above peer_rx may cost */
	unsigned costs : 8;		/* bit n: number peer_rx + 1 + n is charged */
	bit blocked;			/* what is next is not granted */
	bit said_blocked;		/* and the peer was told */
	bit credit_due;			/* the peer is blocked, and nothing is granted: likewise */
	lane offer[WINDOW];		/* of tx + 1 and the next ones */
	hold_of hold[WINDOW];		/* of rx + 1 and the next ones */

	unsigned next_id : W_I;		/* waits behind the lanes; 0 none */
	bit next_express;
	bit next_confirm;

	unsigned half : 3;		/* HALF_*: the half that is posted */
	unsigned half_id : W_I;
	bit half_crossed;		/* the peer's was refused because of it */
	bit half_turn;			/* what was offered last was no half */
	bit half_unwanted;		/* lent, and shall not come back */

	unsigned naside : 3;
	post_of aside[WINDOW];		/* parked, and above that; a half is what is offered */

	/* Not the link's: what is to be posted again, before all else. */
	unsigned nback : 2;
	post_of back[BACKS];

	/* Whom an express was first offered to. */
	unsigned offered_to : W_I;
	unsigned lent_to : W_I;		/* and the half */
};

end e[2];

/* The end whose turn it is, and the other. */
byte me;
#define L	e[me]
#define PEER	e[1 - me]

#define frozen()	(L.state == SYNC_SENT || L.state == SYNC_RECD)
#define content(n)	(L.offer[n].recalled -> 0 : L.offer[n].id)
/* An express that was offered cannot be reversed at once: the peer may have delivered it. */
#define may_reverse(n)	(BREAK_RULE == 11 && L.offer[n].state == OFFER_PARKED)
#define reversible(n)	(!L.offer[n].recalled && (!L.offer[n].express || may_reverse(n)))
#define express_out()	(L.nlanes && !reversible(0))
#define half_idle()	(L.half == HALF_POSTED || L.half == HALF_WAITING)
#define has_posts()	(L.next_id || L.naside || half_idle() || L.nlanes > express_out())
#define wants()		(!L.closing && !L.peer_closing && !L.next_id)
#define confirmed()	(L.peer_rx == L.tx)
#define wants_half()	(!L.closing && !L.peer_closing && L.half == HALF_NONE)

/* Is it so for any lane, or for what is here of any number? */
#if WINDOW == 1
#define any(is)		(is(0))
#elif WINDOW == 2
#define any(is)		(is(0) || is(1))
#elif WINDOW == 3
#define any(is)		(is(0) || is(1) || is(2))
#elif WINDOW == 4
#define any(is)		(is(0) || is(1) || is(2) || is(3))
#else
#error WINDOW is 1 to 4
#endif
#define parked(n)	(L.offer[n].state == OFFER_PARKED)
#define held(n)		(L.hold[n].state == HOLD_HELD)
/* Is all held up to this one? */
#if WINDOW == 1
#define firm(n)		held(0)
#elif WINDOW == 2
#define firm(n)		(held(0) && ((n) < 1 || held(1)))
#elif WINDOW == 3
#define firm(n)		(held(0) && ((n) < 1 || held(1)) && ((n) < 2 || held(2)))
#else
#define firm(n)		(held(0) && ((n) < 1 || held(1)) && ((n) < 2 || held(2)) && \
			 ((n) < 3 || held(3)))
#endif
#define refused(n)	(L.hold[n].state == HOLD_REFUSED)

/* Of two crossing halves the one of the senior stands. */
#define senior()	(me == B)

/* What it is says its number: an end's messages and verbs come first. */
#define others(who)	(who == A -> N_A : N_B)
#define halves(who)	(who == A -> HALVES_A : HALVES_B)
#define is_half(who, n)	((n) > others(who))
#define is_verb(who, n)	((n) && (n) <= VERBS && (n) <= others(who))
#define is_message(who, n) ((n) && !is_half(who, n) && !is_verb(who, n))

/* The faults have stopped. */
bit calm;

/* An end has used all numbers that the search has. */
bit beyond;

#if defined(TRACE) || defined(TELL)
#define SAY(text...)	text
#else
#define SAY(text...)	skip
#endif
#define NAME(who)	('A' + who)
