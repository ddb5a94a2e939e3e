/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link between two ends, as doc/protocol.md sections 3 and 4 have it: what
 * may happen, one event at a time. README.md here says what is modelled, what
 * is left out and how to run it.
 *
 *	names.pml	bounds, names, the state of an end
 *	wire.pml	frames on their way; fresh numbers
 *	promises.pml	G1 to G3 as assertions
 *	rules.pml	the rules
 */

#include "names.pml"

/* For loops and arithmetic within one event. */
hidden byte i, j, k;
hidden int v;

/* What the event is, and what chance has decided about it. */
byte ev, slot;
byte room;			/* the inbox has room for as much */
byte lost;			/* a frame about this lane is taken for lost: 1 + the lane */
bit arrived;			/* but its OFFER was heard: the answer is lost */
byte less;			/* a new ltag says a window that is so much smaller */
bit keep, kind, ask_done, close_again;
bit unasked, for_good, for_now;	/* see names.pml */

#define EV_RCV		1	/* a frame arrives */
#define EV_LOSE		2	/* or never does */
#define EV_POST		3	/* a user wants a transaction */
#define EV_CANCEL	4	/* a user wants what is offered back */
#define EV_CANCEL_NEXT	5	/* or what waits behind it */
#define EV_ROOM		6	/* the reader has made room, and the peer is blocked */
#define EV_STALL	7	/* timer: no progress of what is under way */
#define EV_ASK		8	/* timer: no answer: ask for it */
#define EV_REFLECT	9	/* timer: no commit of what is held: reflect it again */
#define EV_SYNC		10	/* timer: SYNC again */
#define EV_RETRY	11	/* timer: parked or blocked, and no READY */
#define EV_RETRY_HALF	12	/* timer: the peer had no half, it may have one now */
#define EV_PROBE	13	/* timer: nothing heard */
#define EV_CLOSE_AGAIN	14	/* timer: CLOSE again */
#define EV_DEAD		15	/* timer: no answer for the dead time */
#define EV_FORGET	16	/* timer: dead for long, and nothing in doubt */
#define EV_PORT		17	/* the port goes down */
#define EV_CRASH	18	/* the end dies */
#define EV_CLOSE	19	/* a user closes the link */
#define EV_POST_HALF	20	/* a user posts a half */
#define EV_CANCEL_HALF	21	/* or wants it back */
#define EV_MORE		22	/* there was more to offer than an event sends */
#define EV_READY	23	/* words are free, or the end that settled goes on */
#define EV_UNCLOSED	24	/* timer: the peer has not said CLOSE again */

byte crashes[2], closes, deads;
byte turn;			/* calm: 1 + the end whose timer may fire */

#include "wire.pml"
#include "promises.pml"
#include "rules.pml"

#ifdef TRACE
#include "dice.pml"
#else
#define ODDS(of)	1
#define most		CREDIT
#define next_turn()	skip
#define pass()		false
#define weather()	skip
#define enough()	skip
#endif

/* --- what each event does ------------------------------------------------------- */

/* An answer is waited for: to what is in flight; or DONE, which that would say, too. */
#define awaits()	(L.state == OPEN && (L.offer[0].state == OFFER_OUT || L.await_done))
/* A failure noticed at an OPEN end, whatever it is. */
#define failing()	(awaits() || hold_stalls())
/* What waits for a number that was refused waits for READY of this end. */
#define blocks(n)	(refused(n) && L.ready_due)
#define stalls_from(n, above) (held(n) || (!blocks(n) && (above)))
#if WINDOW == 1
#define stalls()	held(0)
#elif WINDOW == 2
#define stalls()	stalls_from(0, held(1))
#elif WINDOW == 3
#define stalls()	stalls_from(0, stalls_from(1, held(2)))
#else
#define stalls()	stalls_from(0, stalls_from(1, stalls_from(2, held(3))))
#endif
#define hold_stalls()	(L.state == OPEN && stalls())

/* No answer: all that may be reversed is. */
inline go_down()
{
	L.down = 1;
	offer_drop_all();
	drop_next();
	half_drop();
	if
	:: L.closing || !L.peer_inc -> ending = 1
	:: else
	fi
}

inline open()
{
	fresh_inc();
	L.inc = fresh;
	begin = SYNC_SENT
}

inline wake()
{
	if
	:: L.state == CLOSED -> open()
	:: L.state != CLOSED && L.down && !has_posts() ->
		/* It may be back. */
		L.asked = 1;
		send_sync(SYNC, L.peer_ltag)
	:: else
	fi
}

inline post_half()
{
	posted_halves[me]++;
	k = others(me) + posted_halves[me];
	T(me, k) = T_LIVE;
	SAY(printf("EV %c post %d 0 0\n", NAME(me), k));
	wake();
	L.half_id = others(me) + posted_halves[me];
	L.half = HALF_POSTED
}

inline post()
{
	if
	:: L.nback ->
		/* What came back is posted before all else. */
		n = L.back[0].id;
		kind = L.back[0].express;
		ask_done = L.back[0].confirm;
		L.nback--;
		L.back[0].id = L.back[1].id;
		L.back[0].express = L.back[1].express;
		L.back[0].confirm = L.back[1].confirm;
		L.back[1].id = 0;
		L.back[1].express = 0;
		L.back[1].confirm = 0
	:: else ->
		posted[me]++;
		n = posted[me];
		T(me, n) = T_LIVE
	fi;
	SAY(printf("EV %c post %d %d %d\n", NAME(me), n, kind, ask_done));
	wake();
	L.next_id = n;
	L.next_express = kind;
	L.next_confirm = ask_done
}

inline cancel()
{
	SAY(printf("EV %c cancel %d\n", NAME(me), L.offer[slot].id));
	if
	:: reversible(slot) -> offer_drop(slot)
	:: else -> lane_recall(slot, RECALL_REVERSE)
	fi
}

/* For the trace. */
inline say_state()
{
	SAY(printf("AT %c %d %d %d %d %d %d %d %d", NAME(me), L.state, L.ltag,
		   L.peer_ltag, L.inc, L.peer_inc, L.heard_inc, L.tx, L.rx));
	SAY(printf(" %d %d %d %d %d %d %d %d %d %d", L.down, L.asked, L.closing,
		   L.close_sent, L.peer_closing, L.peer_rx, L.await_done,
		   L.last_express, L.unseen, L.ready_due));
	SAY(printf(" %d %d %d %d", L.half, L.half_id, L.half == HALF_OFFERED && L.half_crossed,
		   L.half_turn));
	SAY(printf(" %d %d %d", L.naside, L.half_unwanted, L.next_id));
	SAY(printf(" %d %d %d %d %d", (L.state == CLOSED -> 0 : L.window),
		   (L.win -> L.win : 1), L.nlanes, L.given, L.more));
	/* Between two runs nothing is granted here. */
	SAY(printf(" %d %d %d %d %d %d", L.granted, (L.state == OPEN -> L.grant : 0),
		   (L.state == OPEN -> charged() : 0), L.blocked, L.said_blocked,
		   L.credit_due));
	n = 0;
	do
	:: n < WINDOW ->
		SAY(printf(" %d %d %d %d %d", L.offer[n].state, L.offer[n].id,
			   L.offer[n].recalled, L.offer[n].due,
			   L.offer[n].state == OFFER_OUT && L.offer[n].ready));
		SAY(printf(" %d %d %d %d", L.hold[n].state,
			   (held(n) -> L.hold[n].id : 0), held(n) && L.hold[n].express,
			   refused(n) && L.hold[n].said));
		SAY(printf(" %d", L.aside[n].id));
		n++
	:: else -> break
	od;
	SAY(printf(" .\n"))
}

inline begin_run()
{
	if
	:: begin ->
		fresh_ltag();
		L.ltag = fresh;
		L.window = (me == A -> WIN_A : WIN_B);
		L.window = (L.window > less -> L.window - less : 1);
		SAY(printf("DO %c window %d\n", NAME(me), L.window));
		L.state = begin;
		L.asked = 1;
		send_sync(SYNC, L.peer_ltag);
		begin = 0
	:: else
	fi
}

/* What every event ends with: a new run if it asked for one, offers, closing. */
inline finish()
{
	begin_run();
	if
	:: going_down ->
		go_down();
		going_down = 0
	:: else
	fi;
	close_drop()
}

inline finish_closing()
{
	close_step();
	if
	:: ending -> end_link()
	:: else
	fi
}

inline tidy()
{
	/* Lent, and another held for it: both or neither. */
	assert(G2 || (L.half == HALF_LENT) ==
	       (held(0) && is_half(1 - me, L.hold[0].id)));
	transmit();
	drop_dead(A);
	drop_dead(B);
#ifdef TRACE
	if
	:: ev != EV_LOSE -> say_state()
	:: else
	fi;
#endif
	rename_ltags();
	ev = 0;
	slot = 0;
	room = 0;
	lost = 0;
	arrived = 0;
	less = 0;
	unasked = 0;
	for_good = 0;
	for_now = 0;
	keep = 0;
	kind = 0;
	ask_done = 0;
	close_again = 0
}

inline event()
{
	begin = 0;
	commit = 0;
	by_data = 0;
	resolving = 0;
	going_down = 0;
	ending = 0;
	nout = 0;
	f_src = 0;
	f_inc = 0;
	if
	:: ev == EV_RCV ->
		unpack();
		if
		:: !keep -> take_out(me, slot)
		:: else
		fi;
		rcv()
	:: ev == EV_LOSE -> take_out(me, slot)
	:: ev == EV_POST -> post()
	:: ev == EV_CANCEL -> cancel()
	:: ev == EV_CANCEL_NEXT ->
		SAY(printf("EV %c cancel %d\n", NAME(me), L.next_id));
		reversed(L.next_id);
		L.next_id = 0;
		L.next_express = 0;
		L.next_confirm = 0
	:: ev == EV_MORE -> SAY(printf("EV %c more\n", NAME(me)))
	:: ev == EV_POST_HALF -> post_half()
	:: ev == EV_CANCEL_HALF ->
		SAY(printf("EV %c cancel %d\n", NAME(me), L.half_id));
		if
		:: L.half == HALF_LENT -> L.half_unwanted = 1
		:: else -> half_drop()
		fi
	:: ev == EV_RETRY_HALF ->
		SAY(printf("EV %c retry_half\n", NAME(me)));
		L.half = HALF_POSTED
	:: ev == EV_ROOM ->
		SAY(printf("EV %c room %d\n", NAME(me), room));
		made_room()
	:: ev == EV_READY ->
		SAY(printf("EV %c ready\n", NAME(me)));
		say_ready()
	:: ev == EV_PORT ->
		SAY(printf("EV %c port\n", NAME(me)));
		freeze(SYNC_SENT)
	:: ev == EV_CRASH ->
		SAY(printf("EV %c crash\n", NAME(me)));
		crashes[me]++;
		bereave();
		end_reset()
	:: ev == EV_CLOSE ->
		SAY(printf("EV %c close\n", NAME(me)));
		closes++;
		drop_next();
		half_drop();
		L.closing = 1;
		if
		:: !L.peer_inc || L.down -> ending = 1
		:: else
		fi
	:: else
	fi
}

/* If the event is the timer's. */
inline timer_step()
{
	if
	:: ev == EV_STALL ->
		SAY(printf("EV %c stall\n", NAME(me)));
		freeze(SYNC_SENT)
	:: ev == EV_ASK ->
		SAY(printf("EV %c ask\n", NAME(me)));
		L.asks = calm;
		if
		:: L.offer[0].state == OFFER_OUT -> L.offer[0].due = DUE_ASK
		:: else -> send(COMMIT, 1, L.tx, L.blocked)
		fi
	:: ev == EV_REFLECT ->
		SAY(printf("EV %c reflect\n", NAME(me)));
		L.asks = calm;
		reflect_again()
	:: ev == EV_SYNC ->
		SAY(printf("EV %c sync\n", NAME(me)));
		send_sync(SYNC, L.peer_ltag)
	:: ev == EV_RETRY ->
		SAY(printf("EV %c retry\n", NAME(me)));
		if
		:: any(parked) ->
			n = 0;
			do
			:: !parked(n) -> n++
			:: else -> break
			od;
			unpark(n)
		:: else -> L.said_blocked = 0
		fi
	:: ev == EV_PROBE ->
		SAY(printf("EV %c probe\n", NAME(me)));
		L.asked = 1;
		send_sync(SYNC, L.peer_ltag)
	:: ev == EV_CLOSE_AGAIN ->
		SAY(printf("EV %c close_again\n", NAME(me)));
		close_again = 1
	:: ev == EV_UNCLOSED ->
		SAY(printf("EV %c unclosed\n", NAME(me)));
		freeze(SYNC_SENT)
	:: ev == EV_DEAD ->
		SAY(printf("EV %c dead\n", NAME(me)));
		deads++;
		going_down = 1;
		if
		:: L.state == OPEN -> freeze(SYNC_SENT)
		:: else
		fi
	:: ev == EV_FORGET ->
		SAY(printf("EV %c forget\n", NAME(me)));
		/* Not before its sender knows that it is delivered. */
		assert(!((PEER.offer[0].express || PEER.offer[0].recalled) &&
			 PEER.peer_inc == L.inc && PEER.tx + 1 == L.rx));
		ending = 1
	:: else
	fi
}

inline resolve_step()
{
	if
	:: resolving -> resolve()
	:: else
	fi
}

/* The frame itself, once it has resolved the link or found it open. */
inline frame()
{
	if
	:: ev == EV_RCV && f_op >= CLOSE && f_op != NOLINK -> rcv_data()
	:: else
	fi
}

/* --- when each may happen ------------------------------------------------------- */

/* More than K frames wait: before all else one of them must go. */
#define quiet()		(wire[A].n == 0 && wire[B].n == 0)
#define full(to)	(!calm && wire[to].n > K)
#define crowded()	(full(A) || full(B) || e[A].more || e[B].more || beyond)
#define in_doubt()	(any(held) || !confirmed() || L.unseen || express_out())

/*
 * As a fault a timer fires at any time; otherwise when nothing is on its way,
 * and at both ends in turn: none has its timer forever after the other's.
 */
#define timer()		(!crowded() && (calm -> quiet() && !(turn && turn != 1 + id && \
						!idle(1 - id)) : STALL || quiet()))

#undef L
#define L	e[id]
#define opcode_at(n)	(wire[id].p[n].what >> (3 * W_T + 1))

/*
 * Were SYNC_CHK to overtake CLOSE_ACK every time, and CLOSE the SYNC_ACK, two
 * ends could open and close for ever.
 */
#define acks_close(n)	(opcode_at(n) == CLOSE_ACK)
#define overtakes(n)	(CLOSES && calm && opcode_at(n) == SYNC_CHK &&	\
			 (acks_close(1) || acks_close(2) || acks_close(3) || \
			  acks_close(4) || acks_close(5)))

/* Not before what it has asked is answered. */
#define retries()	(any(parked) || (L.said_blocked && !L.await_done && BREAK_RULE != 14))

/* What may be asked back. */
#define cancellable(n)	(L.offer[n].id && L.offer[n].recalled != RECALL_REVERSE)

inline choose_room(some, least)
{
	room = ((some) -> most : CREDIT);
	do
	:: (some) && room > 0 -> room--
	:: break
	od;
	room = (room > least -> room : least)
}

/* One of the events that may happen at this end now. */
inline choose()
{
	if
	:: wire[id].n > 0 && !beyond && !L.more && (full(id) || !full(1 - id)) ->
		/* Any of them. */
		do
		:: slot + 1 < wire[id].n -> slot++
		:: !overtakes(slot) -> break
		od;
		if
		:: !full(1 - id) -> ev = EV_RCV
		:: LOSS && !calm && (full(id) || ODDS(loss)) -> ev = EV_LOSE
		:: DUP && !calm && !crowded() && ODDS(dup) -> ev = EV_RCV; keep = 1
		fi;
		choose_room(CREDIT && !calm && ev == EV_RCV && ODDS(scarce), 0);
		if
		:: true
		:: FOR_NOW && !calm && ev == EV_RCV && opcode_at(slot) == OFFER &&
		   L.state == OPEN && ODDS(fornow) -> for_now = 1
		fi;
		if
		:: true
		:: UNASKED && !calm && ev == EV_RCV && opcode_at(slot) == OFFER -> unasked = 1
		:: FOR_GOOD && !calm && ev == EV_RCV && opcode_at(slot) == OFFER -> for_good = 1
		fi;
		do
		:: LOST && !calm && ev == EV_RCV && lost < WINDOW &&
		   is_answer(opcode_at(slot)) -> lost++
		:: break
		od;
		if
		:: true
		:: lost -> arrived = 1
		fi
	:: !crowded() && (L.nback || posted[id] < (id == A -> N_A : N_B)) && wants() &&
	   ODDS(posts) ->
		ev = EV_POST;
		if
		:: EXPRESS != 1 || is_verb(id, posted[id] + 1)
		:: EXPRESS != 0 && !is_verb(id, posted[id] + 1) -> kind = 1
		fi;
		if
		:: true
		:: CONFIRM -> ask_done = 1
		fi
	:: L.more && !beyond -> ev = EV_MORE
	:: !crowded() && CANCEL && !calm && cancellable(0) && ODDS(cancels) ->
		ev = EV_CANCEL
#if WINDOW > 1
	:: !crowded() && CANCEL && !calm && cancellable(1) && ODDS(cancels) ->
		ev = EV_CANCEL;
		slot = 1
#endif
#if WINDOW > 2
	:: !crowded() && CANCEL && !calm && cancellable(2) && ODDS(cancels) ->
		ev = EV_CANCEL;
		slot = 2
#endif
#if WINDOW > 3
	:: !crowded() && CANCEL && !calm && cancellable(3) && ODDS(cancels) ->
		ev = EV_CANCEL;
		slot = 3
#endif
	:: !crowded() && CANCEL && !calm && L.next_id && ODDS(cancels) ->
		ev = EV_CANCEL_NEXT
	:: !crowded() && posted_halves[id] < halves(id) && wants_half() &&
	   ODDS(posts) -> ev = EV_POST_HALF
	:: !crowded() && CANCEL && !calm && (half_idle() ||
	   (L.half == HALF_LENT && !L.half_unwanted)) && ODDS(cancels) ->
		ev = EV_CANCEL_HALF
	:: !crowded() && L.state == OPEN && L.credit_due && ODDS(drain) ->
		ev = EV_ROOM;
		choose_room(!calm, 1)
	:: !crowded() && L.state == OPEN && L.ready_due && ODDS(drain) -> ev = EV_READY
	:: timer() && awaits() && !L.asks && ODDS(timers) -> ev = EV_ASK
	:: timer() && hold_stalls() && !L.asks && ODDS(timers) -> ev = EV_REFLECT
	:: timer() && failing() && (calm -> L.asks : 1) && ODDS(timers) ->
		ev = EV_STALL
	:: timer() && frozen() && ODDS(timers) -> ev = EV_SYNC
	:: timer() && L.state == OPEN && retries() && ODDS(timers) -> ev = EV_RETRY
	:: timer() && L.state == OPEN && L.half == HALF_WAITING &&
	   (calm -> !failing() && e[1 - id].half != HALF_NONE : 1) && ODDS(timers) ->
		ev = EV_RETRY_HALF
	:: timer() && L.state == OPEN && !L.close_sent &&
	   (calm -> L.asked : PROBE) && ODDS(timers) -> ev = EV_PROBE
	:: timer() && L.state == OPEN && L.close_sent && ODDS(timers) ->
		ev = EV_CLOSE_AGAIN
	:: timer() && !calm && L.state == OPEN && L.peer_closing && ODDS(timers) ->
		ev = EV_UNCLOSED
	:: !crowded() && deads < DEAD && !calm && ODDS(dead) &&
	   ((frozen() && (!L.down || has_posts())) ||
	    (L.state == OPEN && L.asked) || awaits()) -> ev = EV_DEAD
	:: !crowded() && DEAD && !calm && frozen() && L.down && !in_doubt() &&
	   !has_posts() && ODDS(dead) -> ev = EV_FORGET
	:: !crowded() && PORT && !calm && L.state == OPEN && ODDS(port) ->
		ev = EV_PORT
	:: !crowded() && !calm && L.state != CLOSED && ODDS(crash) &&
	   crashes[id] < (id == A -> CRASH_A : CRASH_B) -> ev = EV_CRASH
	:: !crowded() && !calm && L.state != CLOSED && !L.closing &&
	   closes < CLOSES && ODDS(close) -> ev = EV_CLOSE
	fi;
	/* For whatever begins a new run. */
	if
	:: true
	:: CHANGE && !calm -> less = 1
#if WINDOW > 2
	:: CHANGE && !calm -> less = 2
#endif
#if WINDOW > 3
	:: CHANGE && !calm -> less = 3
#endif
	fi
}

proctype End(byte id)
{
	do
	:: atomic {
		choose();
		d_step {
			me = id;
			if
			:: calm && ev >= EV_STALL && ev <= EV_CLOSE_AGAIN ->
				turn = 2 - id
			:: else
			fi;
			event()
		};
		/* In steps, since spin limits the length of one. */
		d_step { v = 0; timer_step() };
		d_step { v = 0; resolve_step() };
		d_step { v = 0; frame() };
		d_step { v = 0; finish() };
		d_step { v = 0; pump_step() };
		d_step { v = 0; finish_closing() };
		d_step { v = 0; tidy() };
		next_turn()
	   }
	:: atomic { pass() }
	:: d_step { calm && settled() -> check_settled(); v = 0 } -> break
	:: beyond -> break
	od
}

init
{
	atomic {
		weather();
		run End(A);
		run End(B)
	};
#if LIVE
	enough();
	calm = 1;
	/* From here on whatever may happen must come to an end. */
accept_calm:
	settled() || beyond
#else
	false
#endif
}
