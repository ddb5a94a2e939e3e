/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chances, for spin's simulation: left to itself spin takes each event that may
 * happen as likely as any other, and links that only ever fail show little. A
 * run has a climate: how likely each kind of event is, in 64ths of a turn.
 */
#ifndef STEPS
#define STEPS	300
#endif

byte dice;
short steps, passes;
byte loss, dup, fornow, scarce, most, posts, cancels, drain, timers, dead, port, crash, close;

#define ODDS(of)	(calm || dice < of)

inline roll()
{
	dice = 0;
	if :: dice = 0 :: dice = 16 :: dice = 32 :: dice = 48 fi;
	if :: skip :: dice = dice + 4 :: dice = dice + 8 :: dice = dice + 12 fi;
	if :: skip :: dice = dice + 1 :: dice = dice + 2 :: dice = dice + 3 fi
}

inline next_turn()
{
	roll();
	steps++
}

/* Nothing happens at this turn. */
inline pass()
{
	!calm;
	passes++;
	roll()
}

inline weather()
{
	if :: loss = 0 :: loss = 0 :: loss = 3 :: loss = 12 :: loss = 40 fi;
	if :: dup = 0 :: dup = 4 :: dup = 20 :: dup = 50 fi;
	if :: fornow = 0 :: fornow = 0 :: fornow = 8 :: fornow = 32 fi;
	/* With a reader that makes room for a few the peer is blocked now and then. */
	scarce = 64;
	if :: most = CREDIT; scarce = 8 :: most = CREDIT :: most = 2 * COST + 1
	   :: most = COST :: most = 1 :: most = 0 fi;
	if :: posts = 5 :: posts = 15 :: posts = 50 fi;
	if :: cancels = 0 :: cancels = 2 :: cancels = 10 :: cancels = 30 fi;
	if :: drain = 3 :: drain = 20 fi;
	if :: timers = 1 :: timers = 2 :: timers = 8 :: timers = 20 fi;
	if :: dead = 0 :: dead = 0 :: dead = 2 :: dead = 12 fi;
	if :: port = 0 :: port = 0 :: port = 3 fi;
	if :: crash = 0 :: crash = 0 :: crash = 2 :: crash = 5 fi;
	if :: close = 0 :: close = 0 :: close = 2 :: close = 10 fi;
	roll()
}

/* Then the faults end, and the ends settle. */
#define enough()	(steps >= STEPS || passes >= 20 * STEPS)
