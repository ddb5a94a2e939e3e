/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of several processors, for ring.pml and turn.pml. MEMORY:
 *
 *	0 SC	every store is seen at once
 *	1 TSO	a processor's stores wait in a queue; its loads overtake them (x86)
 *	2 WEAK	stores become visible in any order, loads may return an old value, and a
 *		load may complete after later stores, but for what barriers order. A store
 *		that is visible to one other processor is visible to all (arm64, RISC-V)
 *
 * A model defines PROCESSORS and LOCATIONS; STORES(X) and LOADS(X), a list of X(p, l)
 * for each location l that processor p stores to, loads from; and acquired(l): the
 * loads of l are acquire loads.
 */
#ifndef MEMORY
#define MEMORY	2
#endif

byte mem[LOCATIONS];

#define bit(l)		(1 << (l))

#if MEMORY == 0

#define store(p, l, v)	mem[l] = v
#define release(p, l, v)	mem[l] = v
#define load(p, l, v)	v = mem[l]
#define barrier(p)	skip
#define newer(p)	skip
#define sees(p, l)	mem[l]

#elif MEMORY == 1

/* Location and value. A processor that has filled its queue waits for it. */
chan queue[PROCESSORS] = [4] of { byte, byte };
byte copy[PROCESSORS * LOCATIONS];		/* what a processor would load */

#define own(p, l)	copy[(p) * LOCATIONS + (l)]
#define sees(p, l)	own(p, l)
#define load(p, l, v)	v = own(p, l)
#define barrier(p)	empty(queue[p])
#define newer(p)	skip

inline store(p, l, v)
{
	atomic {
		queue[p]!l, v;
		own(p, l) = v
	}
}

#define release(p, l, v)	store(p, l, v)

#define CHANGED(p)	if :: queue[p]??[eval(l), _] :: else -> own(p, l) = v fi
#if PROCESSORS > 2
#define SEEN(p)		:: d_step { queue[p]?l, v -> mem[l] = v;		\
				CHANGED(0); CHANGED(1); CHANGED(2); l = 0; v = 0 }
#else
#define SEEN(p)		:: d_step { queue[p]?l, v -> mem[l] = v;		\
				CHANGED(0); CHANGED(1); l = 0; v = 0 }
#endif

active proctype memory()
{
	byte l, v;

end:	do
	SEEN(0)
	SEEN(1)
#if PROCESSORS > 2
	SEEN(2)
#endif
	od
}

#else

/*
 * What a processor would load from each location; which of its stores are not visible
 * yet, and which others must be visible before each of them.
 */
byte copy[PROCESSORS * LOCATIONS];
short buffered[PROCESSORS];
short before[PROCESSORS * LOCATIONS];
byte late_at[PROCESSORS], late_is[PROCESSORS];	/* a load under way, and what it must return */

#define own(p, l)	copy[(p) * LOCATIONS + (l)]
#define after(p, l)	before[(p) * LOCATIONS + (l)]
#define is_buffered(p, l)	(buffered[p] & bit(l))
#define sees(p, l)	own(p, l)

inline store(p, l, v)
{
	d_step {
		own(p, l) = v;
		buffered[p] = buffered[p] | bit(l)
	}
}

/* After all loads and stores before it. */
inline release(p, l, v)
{
	d_step {
		!late_is[p] ->
		after(p, l) = after(p, l) | (buffered[p] & ~bit(l));
		own(p, l) = v;
		buffered[p] = buffered[p] | bit(l)
	}
}

inline load(p, l, v)
{
	v = own(p, l)
}

inline renew(p)
{
	at = 0;
	do
	:: at < LOCATIONS ->
		if
		:: !is_buffered(p, at) -> own(p, at) = mem[at]
		:: else
		fi;
		at++
	:: else -> break
	od;
	at = 0
}

/* After an acquire load of what is always seen at once. */
inline newer(p)
{
	d_step {
		renew(p)
	}
}

inline barrier(p)
{
	d_step {
		!buffered[p] && !late_is[p] ->
		renew(p)
	}
}

#define SEEN(p, l)	:: d_step { is_buffered(p, l) && !(after(p, l) & buffered[p]) ->	\
				mem[l] = own(p, l); after(p, l) = 0;			\
				buffered[p] = buffered[p] & ~bit(l) }
/* What an acquire load returns is no newer than what later loads return. */
#define NEWER(p, l)	:: d_step { !is_buffered(p, l) && own(p, l) != mem[l] ->		\
				if :: acquired(l) -> renew(p)				\
				   :: else -> own(p, l) = mem[l] fi }
#define LATE(p)		:: d_step { late_is[p] ->					\
				assert(own(p, late_at[p]) == late_is[p]);		\
				late_at[p] = 0; late_is[p] = 0 }

byte at;

active proctype memory()
{
end:	do
	STORES(SEEN)
	LOADS(NEWER)
	LATE(0)
	LATE(1)
	od
}

#endif

/* A load that must return a value, whenever it completes. */
#if MEMORY == 2
#define expect(p, l, v)	d_step { !late_is[p] -> late_at[p] = l; late_is[p] = v }
#else
#define expect(p, l, v)	assert(mem[l] == v)
#endif
