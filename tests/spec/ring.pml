/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control pages of rings, include/uapi/oae.h: a program P that appends N_TX chunks to
 * tx and reads N_RX chunks of rx, and the kernel K. Each sleeps when it has nothing to do,
 * and is woken by the other one only. ECHO: a chunk of tx needs one read from rx.
 *
 * Shown: both come to their end, so no wake-up is lost; no bytes are read before they are
 * visible or after they were overwritten, nor an outcome before it is there.
 *
 * A chunk's bytes are one byte, its number. SLOTS of them are a ring. WRONG leaves
 * something out, see tests/spec/run.
 */
#ifndef N_TX
#define N_TX	2
#endif
#ifndef N_RX
#define N_RX	0
#endif
#ifndef SLOTS
#define SLOTS	1
#endif
#ifndef WRONG
#define WRONG	0
#endif

#define P		0
#define K		1
#define PROCESSORS	2

/* The program's words, the kernel's, the chunks. */
#define PUBLISHED	0
#define WANTS_ROOM	1	/* P waits for room or outcomes in tx */
#define PASSED		2
#define WANTS_DATA	3	/* P waits for data in rx */
#define ENDED		4
#define K_WANTS_DATA	5	/* K waits for data in tx */
#define FILLED		6
#define K_WANTS_ROOM	7	/* K waits for room in rx */
#define TX(n)		(8 + (n) % SLOTS)
#define RESULT(n)	(8 + SLOTS + (n) % SLOTS)
#define RX(n)		(8 + 2 * SLOTS + (n) % SLOTS)
#define LOCATIONS	(8 + 3 * SLOTS)

#if SLOTS == 1
#define CHUNKS(X, p, of)	X(p, of(0))
#else
#define CHUNKS(X, p, of)	X(p, of(0)) X(p, of(1))
#endif
#define STORES(X)	X(P, PUBLISHED) X(P, WANTS_ROOM) X(P, PASSED) X(P, WANTS_DATA)	\
			CHUNKS(X, P, TX) CHUNKS(X, P, RESULT)				\
			X(K, ENDED) X(K, K_WANTS_DATA) X(K, FILLED) X(K, K_WANTS_ROOM)	\
			CHUNKS(X, K, RESULT) CHUNKS(X, K, RX)
#define LOADS(X)	X(K, PUBLISHED) X(K, WANTS_ROOM) X(K, PASSED) X(K, WANTS_DATA)	\
			CHUNKS(X, K, TX)						\
			X(P, ENDED) X(P, K_WANTS_DATA) X(P, FILLED) X(P, K_WANTS_ROOM)	\
			CHUNKS(X, P, RESULT) CHUNKS(X, P, RX)
#define acquired(l)	(((l) == PUBLISHED && WRONG != 21) || ((l) == ENDED && WRONG != 22) || \
			 ((l) == FILLED && WRONG != 23))

#include "memory.pml"

/* Which side leaves it out: 1 to 9 the program's, 11 to 19 the kernel's. */
#define wrong(p, n)	(WRONG == (p) * 10 + (n))

/*
 * P is on the kernel's queue of sleepers: a wake-up before that is lost. K is woken by a
 * call that looks at the words in any case.
 */
bool woken[2];

inline wake(p)
{
	woken[p] = 1
}

/* Publish a position, and wake who waits for it. */
inline tell(p, word, position, wants, other)
{
	if
	:: wrong(p, 1) -> store(p, word, position)
	:: else -> release(p, word, position)
	fi;
	if
	:: wrong(p, 2)
	:: else -> barrier(p)
	fi;
	load(p, wants, w);
	if
	:: w -> wake(other)
	:: else
	fi;
	w = 0
}

/*
 * Say by the words for what, look again, sleep. room and data: whether there is a wait for
 * that; have_room and have_data: what would end it.
 */
inline idle(p, room, wants_room, have_room, data, wants_data, have_data)
{
	if
	:: room -> store(p, wants_room, 1)
	:: else
	fi;
	if
	:: data -> store(p, wants_data, 1)
	:: else
	fi;
	if
	:: p == P && !wrong(p, 6) -> woken[p] = 0
	:: else
	fi;
	if
	:: wrong(p, 3)
	:: else -> barrier(p)
	fi;
	if
	:: !wrong(p, 4) && (have_room || have_data)
	:: else ->
		if
		:: wrong(p, 5) && room -> store(p, wants_room, 0)
		:: wrong(p, 5) && data -> store(p, wants_data, 0)
		:: else
		fi;
		if
		:: wrong(p, 6) -> woken[p] = 0
		:: else
		fi;
		woken[p] -> woken[p] = 0
	fi;
	if
	:: room -> store(p, wants_room, 0)
	:: else
	fi;
	if
	:: data -> store(p, wants_data, 0)
	:: else
	fi
}

#ifdef ECHO
#define to_publish	(published < passed)
#else
#define to_publish	(published < N_TX)
#endif
#define to_collect	(collected < published)
#define p_room		(to_publish && published - collected < SLOTS)
#define p_ended		(to_collect && sees(P, ENDED) > collected)
#define p_data		(passed < N_RX && sees(P, FILLED) > passed)

active proctype program()
{
	byte published, collected, passed, w;

	do
	:: p_ended ->
		load(P, RESULT(collected), w);
		assert(w == collected + 1);
		w = 0;
		collected++
	:: p_room ->
		store(P, TX(published), published + 1);
		store(P, RESULT(published), 0);
		published++;
		tell(P, PUBLISHED, published, K_WANTS_DATA, K)
	:: p_data ->
		passed++;
		expect(P, RX(passed - 1), passed);
		tell(P, PASSED, passed, K_WANTS_ROOM, K)
	:: !p_ended && !p_room && !p_data && (to_collect || passed < N_RX) ->
		idle(P, to_collect, WANTS_ROOM, p_ended, passed < N_RX, WANTS_DATA, p_data)
	:: collected == N_TX && passed == N_RX -> break
	od
}

#define k_room		(filled < N_RX && filled - sees(K, PASSED) < SLOTS)
#define k_data		(taken < N_TX && sees(K, PUBLISHED) > taken)

active proctype kernel()
{
	byte taken, ended, filled, w;

	do
	:: k_data ->
		taken++;
		expect(K, TX(taken - 1), taken)
	:: ended < taken ->
		ended++;
		store(K, RESULT(ended - 1), ended);
		tell(K, ENDED, ended, WANTS_ROOM, P)
	:: k_room ->
		store(K, RX(filled), filled + 1);
		filled++;
		tell(K, FILLED, filled, WANTS_DATA, P)
	:: !k_data && !k_room && ended == taken && (taken < N_TX || filled < N_RX) ->
		idle(K, filled < N_RX, K_WANTS_ROOM, k_room, taken < N_TX, K_WANTS_DATA, k_data)
	:: ended == N_TX && filled == N_RX -> break
	od
}
