/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose turn it is to work on a ring, ring_turn(). Anything that may have made work adds
 * 1 to a counter. Whoever finds it 0 works: it reads the counter, works, and subtracts what
 * it read, until the counter is 0; all others go. The closer says that it closes, issues a
 * full barrier, and waits until the counter is 0.
 *
 * Two processors have EVENTS events each, the third closes if CLOSES. Shown: one works at
 * a time, and sees what the one before it left; no event is forgotten; nobody works on a
 * ring that is gone. WRONG leaves something out, see tests/spec/run.
 */
#ifndef EVENTS
#define EVENTS	2
#endif
#ifndef CLOSES
#define CLOSES	1
#endif
#ifndef WRONG
#define WRONG	0
#endif

#define CLOSER		2
#define PROCESSORS	3

#define HAPPENED(p)	(p)	/* events of a processor */
#define POSITION	2	/* of the ring: events that were dealt with */
#define CLOSED		3
#define LOCATIONS	4

#define STORES(X)	X(0, HAPPENED(0)) X(1, HAPPENED(1)) X(0, POSITION) X(1, POSITION)	\
			X(CLOSER, CLOSED)
#define LOADS(X)	X(0, HAPPENED(1)) X(1, HAPPENED(0)) X(0, POSITION) X(1, POSITION)	\
			X(CLOSER, POSITION) X(0, CLOSED) X(1, CLOSED)
#define acquired(l)	0

#include "memory.pml"

/* The counter: atomic, a full barrier before it and after it. */
byte turn;
byte working, position;		/* how many do; what POSITION is */
bool gone;

inline enter(p)
{
	atomic {
		if
		:: WRONG == 1
		:: else -> barrier(p)
		fi;
		first = !turn;
		turn++
	}
}

/* How often it was asked for until now: an acquire load. */
inline note(p, n)
{
	atomic {
		n = turn;
		if
		:: WRONG == 9
		:: else -> newer(p)
		fi
	}
}

inline leave(p, n)
{
	atomic {
		if
		:: WRONG == 2
		:: else -> barrier(p)
		fi;
		if
		:: WRONG == 3 -> turn = 0
		:: else -> turn = turn - n
		fi;
		more = turn
	}
}

inline work(p)
{
	assert(!working && !gone);
	working = 1;
	load(p, POSITION, at_);
	assert(at_ == position);
	load(p, HAPPENED(0), a);
	load(p, HAPPENED(1), b);
	position = a + b;
	store(p, POSITION, a + b);
	assert(!gone);
	working = 0;
	a = 0;
	b = 0;
	at_ = 0
}

proctype events(byte me)
{
	byte n, noted, a, b, at_, more;
	bool first, closed;

	do
	:: n == EVENTS -> break
	:: else ->
		n++;
		if
		:: WRONG == 4 -> load(me, CLOSED, closed)
		:: WRONG == 5
		:: else -> store(me, HAPPENED(me), n)
		fi;
		enter(me);
		if
		:: WRONG == 5 -> store(me, HAPPENED(me), n)
		:: else
		fi;
		more = first;
		first = 0;
		do
		:: !more -> break
		:: else ->
			note(me, noted);
			if
			:: WRONG == 4
			:: else -> load(me, CLOSED, closed)
			fi;
			if
			:: closed
			:: else -> work(me)
			fi;
			leave(me, noted);
			noted = 0
		od
	od
}

proctype closer()
{
	byte at_;

	store(CLOSER, CLOSED, 1);
	if
	:: WRONG == 6
	:: else -> barrier(CLOSER)
	fi;
	if
	:: WRONG == 7
	:: else -> !turn
	fi;
	if
	:: WRONG == 8
	:: else -> barrier(CLOSER)
	fi;
	load(CLOSER, POSITION, at_);
	assert(at_ == position);
	gone = 1
}

init
{
	atomic {
		run events(0);
		run events(1);
		if
		:: CLOSES -> run closer()
		:: else
		fi
	}
	turn == 0 && _nr_pr == (MEMORY == 0 -> 1 : 2);
	assert(gone || position == 2 * EVENTS)
}
