/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The promises of doc/guarantees.md, as assertions on what the users of the two
 * ends see. Nothing here is part of a link.
 */

#if N_A + HALVES_A > N_B + HALVES_B
#define NTX	(N_A + HALVES_A)
#else
#define NTX	(N_B + HALVES_B)
#endif

/* What has become of a transaction, as one sees who sees both ends. */
#define T_NEW		0
#define T_LIVE		1	/* posted, no outcome */
#define T_DELIVERED	2	/* the same, and the reader has it */
#define T_COMMITTED	3	/* its writer was told, the reader has not got it */
#define T_DONE		4	/* it has */
#define T_REVERSED	5
#define T_UNKNOWN	6
#define T_LOST		7	/* its writer died without an outcome */
#define T_EXCUSED	8	/* committed, and an end died before delivery */

/* Outcomes, as in the core. */
#define COMMITTED	0
#define REVERSED	1
#define UNKNOWN		2

byte t[2 * NTX];		/* of A's transactions, its halves last, then of B's */
byte posted[2];			/* so many of them that are no halves */
byte posted_halves[2];
byte last_id[2];		/* the last one delivered at an end */
byte last_half[2];
hidden byte undelivered;
byte took[2];			/* what an end's half took that the other has not heard of */

#define T(who, id)	t[(who) * NTX + (id) - 1]

/*
 * Never set. They stand in the assertions to tell in pan's report which promise
 * is broken; FITS: two honest ends never find counters that do not fit; GRANT: what
 * was granted is taken.
 */
hidden byte G1, G2, G3, FITS, GRANT;

/* Without it one sees what becomes of ends that start again for no reason. */
#ifdef UNFIT
#define unfit()		skip
#else
#define unfit()		assert(FITS)
#endif

inline delivered(txn, at_once)
{
	if
	:: is_half(1 - me, txn) ->
		assert(G1 || (txn) > last_half[me])
	:: else ->
		assert(G1 || (txn) > last_id[me])
	fi;
	assert(G2 || T(1 - me, txn) != T_REVERSED);
	assert(G2 || (at_once) || T(1 - me, txn) == T_COMMITTED ||
	       T(1 - me, txn) == T_EXCUSED);
	if
	:: T(1 - me, txn) == T_LIVE -> T(1 - me, txn) = T_DELIVERED
	:: else -> T(1 - me, txn) = T_DONE
	fi;
	if
	:: is_half(1 - me, txn) -> last_half[me] = txn
	:: else -> last_id[me] = txn
	fi
}

/* The initiator of a swap has the half that was lent. */
inline swapped(mine, its)
{
	SAY(printf("DO %c swap %d %d\n", NAME(me), mine, its));
	assert(G1 || ((its) > last_half[me] && is_half(1 - me, its)));
	assert(G2 || (T(1 - me, its) != T_REVERSED && T(1 - me, its) != T_DELIVERED));
	if
	:: T(1 - me, its) == T_LIVE -> T(1 - me, its) = T_DELIVERED
	:: else
	fi;
	last_half[me] = its;
	took[me] = its
}

/* The other's half that is held is for the one that was lent: both or neither. */
inline taken(mine, its)
{
	SAY(printf("DO %c swap %d %d\n", NAME(me), mine, its));
	assert(G2 || took[1 - me] == (mine) || T(1 - me, its) == T_EXCUSED);
	took[1 - me] = 0;
	delivered(its, 0)
}

/* Was the end that this was offered to the one that is there now? */
#define peer_lives()	(PEER.state != CLOSED && PEER.inc == L.offered_to)
#define lender_lives()	(PEER.state != CLOSED && PEER.inc == L.lent_to)

inline reversed(txn)
{
	SAY(printf("DO %c end %d %d\n", NAME(me), txn, REVERSED));
	assert(G3 || T(me, txn) == T_LIVE || T(me, txn) == T_DELIVERED);
	assert(G2 || T(me, txn) == T_LIVE);
	T(me, txn) = T_REVERSED
}

inline unknown(txn, going)
{
	SAY(printf("DO %c end %d %d\n", NAME(me), txn, UNKNOWN));
	assert(G3 || T(me, txn) == T_LIVE || T(me, txn) == T_DELIVERED);
	assert(G3 || ((L.offer[0].express || L.offer[0].recalled) && (going || !peer_lives())));
	T(me, txn) = (T(me, txn) == T_DELIVERED -> T_DONE : T_UNKNOWN)
}

inline committed(txn)
{
	SAY(printf("DO %c end %d %d\n", NAME(me), txn, COMMITTED));
	assert(G3 || T(me, txn) == T_LIVE || T(me, txn) == T_DELIVERED);
	assert(G2 || !L.offer[0].express || T(me, txn) == T_DELIVERED);
	/* All that were committed before it are delivered, but for the window's. */
	undelivered = 0;
	i = 1;
	do
	:: i <= NTX ->
		undelivered = undelivered + (T(me, i) == T_COMMITTED);
		i++
	:: else -> break
	od;
	assert(G2 || undelivered < L.win);
	if
	:: T(me, txn) == T_DELIVERED -> T(me, txn) = T_DONE
	:: else ->
		/* Or it is the reflection of one that has died since. */
		T(me, txn) = (PEER.state != CLOSED && PEER.inc == L.peer_inc ->
			     T_COMMITTED : T_EXCUSED)
	fi
}

/* A half that is lent ends: the initiator has committed, or cannot be asked. */
inline lent_ended(outcome, going)
{
	SAY(printf("DO %c end %d %d\n", NAME(me), L.half_id, outcome));
	assert(G3 || T(me, L.half_id) == T_LIVE || T(me, L.half_id) == T_DELIVERED);
	assert(G2 || outcome != COMMITTED || T(me, L.half_id) == T_DELIVERED);
	assert(G3 || outcome != UNKNOWN || going || !lender_lives());
	T(me, L.half_id) = (T(me, L.half_id) == T_DELIVERED -> T_DONE : T_UNKNOWN)
}

/* An end dies undecided: what was committed, but not delivered, may be lost. */
inline excuse()
{
	i = 0;
	do
	:: i < 2 * NTX ->
		if
		:: t[i] == T_COMMITTED -> t[i] = T_EXCUSED
		:: else
		fi;
		i++
	:: else -> break
	od
}

/* A machine stops, and its writers with it. */
inline bereave()
{
	excuse();
	i = 1;
	do
	:: i <= NTX ->
		if
		:: T(me, i) == T_LIVE -> T(me, i) = T_LOST
		:: T(me, i) == T_DELIVERED -> T(me, i) = T_DONE
		:: else
		fi;
		i++
	:: else -> break
	od
}

/* One that nobody has another for may wait for ever. */
#define lone_half(who)	(e[who].half == HALF_NONE || \
			 (e[who].half == HALF_WAITING && e[1 - (who)].half == HALF_NONE))

/* Does any number of its peer stand so at this end? */
#define stands(who, n, how) (e[who].hold[n].state == how)
#if WINDOW == 1
#define here(who, how)	stands(who, 0, how)
#elif WINDOW == 2
#define here(who, how)	(stands(who, 0, how) || stands(who, 1, how))
#elif WINDOW == 3
#define here(who, how)	(stands(who, 0, how) || stands(who, 1, how) || stands(who, 2, how))
#else
#define here(who, how)	(stands(who, 0, how) || stands(who, 1, how) || \
			 stands(who, 2, how) || stands(who, 3, how))
#endif

#define idle(who)	(e[who].state == CLOSED || \
			 (e[who].state == OPEN && !e[who].asked && \
			  !e[who].closing && !e[who].peer_closing && \
			  !e[who].nlanes && !e[who].next_id && !e[who].more && !e[who].nback && \
			  lone_half(who) && !e[who].naside && !here(who, HOLD_HELD) && \
			  !e[who].await_done && !e[who].credit_due && !e[who].ready_due))

/* Nothing is under way and nothing is left to do. */
#define settled()	(idle(A) && idle(B) && wire[A].n == 0 && wire[B].n == 0 && \
			 posted[A] == N_A && posted[B] == N_B && all_halves(A) && all_halves(B))
#define all_halves(who)	(posted_halves[who] == halves(who) || e[who].half != HALF_NONE)

#define waits(who)	(e[who].half == HALF_WAITING -> (who) * NTX + e[who].half_id - 1 : 255)

/* In the end: each has its outcome, what is committed is delivered. */
inline check_settled()
{
	i = 0;
	do
	:: i < 2 * NTX ->
		assert(G3 || t[i] != T_DELIVERED);
		assert(G3 || t[i] != T_LIVE || waits(A) == i || waits(B) == i);
		assert(G2 || t[i] != T_COMMITTED);
		i++
	:: else -> break
	od
}
