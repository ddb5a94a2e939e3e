/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The promises of doc/guarantees.md, as assertions on what the users of the two
 * ends see. Nothing here is part of a link.
 */

#if N_A > N_B
#define NTX	N_A
#else
#define NTX	N_B
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

byte t[2 * NTX];		/* of A's transactions, then of B's */
byte posted[2];			/* so many of them */
byte last_id[2];		/* the last one delivered at an end */

#define T(who, id)	t[(who) * NTX + (id) - 1]

/*
 * Never set. They stand in the assertions to tell in pan's report which promise
 * is broken; FITS: two honest ends never find counters that do not fit.
 */
hidden byte G1, G2, G3, FITS;

/* Without it one sees what becomes of ends that start again for no reason. */
#ifdef UNFIT
#define unfit()		skip
#else
#define unfit()		assert(FITS)
#endif

inline delivered(id, express)
{
	SAY(printf("DO %c deliver %d\n", NAME(me), id));
	assert(G1 || (id) > last_id[me]);
	assert(G2 || T(1 - me, id) != T_REVERSED);
	assert(G2 || (express) || T(1 - me, id) == T_COMMITTED ||
	       T(1 - me, id) == T_EXCUSED);
	if
	:: T(1 - me, id) == T_LIVE -> T(1 - me, id) = T_DELIVERED
	:: else -> T(1 - me, id) = T_DONE
	fi;
	last_id[me] = id
}

/* Was the end that this was offered to the one that is there now? */
#define peer_lives()	(PEER.state != CLOSED && PEER.inc == L.offered_to)

inline ended(id, outcome, going)
{
	SAY(printf("DO %c end %d %d\n", NAME(me), id, outcome));
	assert(G3 || T(me, id) == T_LIVE || T(me, id) == T_DELIVERED);
	if
	:: outcome == COMMITTED ->
		assert(G2 || !L.offer_express || T(me, id) == T_DELIVERED);
		i = 1;
		do
		:: i < (id) ->
			/* What was committed before it is delivered. */
			assert(G2 || T(me, i) != T_COMMITTED);
			i++
		:: else -> break
		od;
		if
		:: T(me, id) == T_DELIVERED -> T(me, id) = T_DONE
		:: else ->
			if
			:: PEER.state != CLOSED && PEER.inc == L.peer_inc ->
				T(me, id) = T_COMMITTED
			:: else ->
				/* The reflection of one that has died since. */
				T(me, id) = T_EXCUSED
			fi
		fi
	:: outcome == REVERSED ->
		assert(G2 || T(me, id) == T_LIVE);
		T(me, id) = T_REVERSED
	:: outcome == UNKNOWN ->
		assert(G3 || (L.offer_express && (going || !peer_lives())));
		if
		:: T(me, id) == T_DELIVERED -> T(me, id) = T_DONE
		:: else -> T(me, id) = T_UNKNOWN
		fi
	fi
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
	:: i <= posted[me] ->
		if
		:: T(me, i) == T_LIVE -> T(me, i) = T_LOST
		:: T(me, i) == T_DELIVERED -> T(me, i) = T_DONE
		:: else
		fi;
		i++
	:: else -> break
	od
}

#define idle(who)	(e[who].state == CLOSED || \
			 (e[who].state == OPEN && !e[who].asked && \
			  !e[who].closing && !e[who].peer_closing && \
			  e[who].offer == OFFER_NONE && !e[who].next_id && \
			  e[who].hold != HOLD_HELD && !e[who].await_done && !e[who].ready_due))

/* Nothing is under way and nothing is left to do. */
#define settled()	(idle(A) && idle(B) && wire[A].n == 0 && wire[B].n == 0 && \
			 posted[A] == N_A && posted[B] == N_B)

/* In the end: each has its outcome, what is committed is delivered. */
inline check_settled()
{
	i = 0;
	do
	:: i < 2 * NTX ->
		assert(G3 || (t[i] != T_LIVE && t[i] != T_DELIVERED));
		assert(G2 || t[i] != T_COMMITTED);
		i++
	:: else -> break
	od
}
