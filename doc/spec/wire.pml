/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire: two bags of frames, one to each end. A frame is taken out of any
 * place; it may be lost, or taken and left there too. Two that are alike are
 * one: the second is a copy or is lost, and both may happen at any time.
 *
 * Bags are kept sorted, and ltags are renamed after each event in the order in
 * which they are met, so that states which differ by names alone are one.
 */

typedef packet {
	unsigned what : W_WHAT;
	unsigned body : W_BODY;
	unsigned ltags : W_LTAGS;
};

typedef bag {
	byte n;
	packet p[CAP];
};

bag wire[2];			/* the frames on their way to an end */

/* The frame being handled: struct oae_frame. inc is id to an OFFER, a REFLECT. */
hidden byte f_op, f_src, f_dst, f_tx, f_rx, f_seq, f_inc, f_peer_inc;
hidden byte f_flag;		/* OFFER, ASK: EXPRESS; COMMIT: WANT_DONE; CLOSE: LAST */
hidden byte f_grant;		/* what all numbers above its rx may cost */
#define f_id	f_inc		/* ASK, ACK, REFUSE: it says of what kind that is */
#define f_half	f_peer_inc	/* REFLECT of a half: the one that is lent */
#define f_reason f_peer_inc	/* REFUSE */
#define f_blocked f_inc		/* COMMIT: BLOCKED */

/* What this event sends. */
hidden packet out[OUTS];
hidden byte nout;

#define is_answer(op)	((op) == REFLECT || (op) == REFUSE || (op) == ACK)

#define MASK(w)		((1 << (w)) - 1)
#define SRC(p)		((p.ltags >> W_L) & MASK(W_L))
#define DST(p)		(p.ltags & MASK(W_L))

/* Macros, since an inline takes no member of a structure. */
#define send_all(op, flag, src, dst, tx_, rx_, seq_, one, two, grant_)		\
	assert(nout < OUTS);							\
	out[nout].what = ((((((((op) << 1) | (flag)) << W_T) | (tx_)) << W_T) |	\
			   (rx_)) << W_T) | (seq_);				\
	out[nout].body = ((((grant_) << W_I) | (one)) << W_I) | (two);		\
	out[nout].ltags = ((src) << W_L) | (dst);				\
	nout++;									\
	SAY(printf("DO %c send %d %d %d %d %d %d %d %d %d %d\n", NAME(me), op,	\
		   flag, src, dst, tx_, rx_, seq_, one, two, grant_))

/* Without a link nothing is granted. */
#define send_as(op, flag, src, dst, tx_, rx_, seq_, one, two)			\
	send_all(op, flag, src, dst, tx_, rx_, seq_, one, two, 0)

#define send_own(op, flag, seq_, one, two)					\
	send_all(op, flag, L.ltag, L.peer_ltag, L.tx, L.rx, seq_, one, two, L.granted)

/* A frame of this run. */
#define send(op, flag, seq_, id)						\
	send_own(op, flag, seq_, id, 0)

/* What a data frame has its number in has the window here. */
#define send_sync(op, dst)							\
	send_all(op, 0, L.ltag, dst, L.tx, L.rx, L.window, L.inc, L.peer_inc, L.granted)
#define f_window f_seq

/* The i-th of those on their way to me becomes the frame being handled. */
inline unpack()
{
	v = wire[me].p[slot].what;
	f_op = v >> (3 * W_T + 1);
	f_flag = (v >> (3 * W_T)) & 1;
	f_tx = (v >> (2 * W_T)) & MASK(W_T);
	f_rx = (v >> W_T) & MASK(W_T);
	f_seq = v & MASK(W_T);
	v = wire[me].p[slot].body;
	f_grant = v >> (2 * W_I);
	f_inc = (v >> W_I) & MASK(W_I);
	f_peer_inc = v & MASK(W_I);
	f_src = SRC(wire[me].p[slot]);
	f_dst = DST(wire[me].p[slot]);
}

#define copy_packet(to, from) \
	to.what = from.what; to.body = from.body; to.ltags = from.ltags

inline take_out(to, which)
{
	k = which;
	wire[to].n--;
	do
	:: k < wire[to].n ->
		copy_packet(wire[to].p[k], wire[to].p[k + 1]);
		k++
	:: else -> break
	od;
	wire[to].p[k].what = 0;
	wire[to].p[k].body = 0;
	wire[to].p[k].ltags = 0
}

#define same(p, q)	(p.what == q.what && p.body == q.body && p.ltags == q.ltags)
#define before(p, q)	(p.what < q.what || (p.what == q.what && \
			 (p.body < q.body || (p.body == q.body && p.ltags < q.ltags))))

/* What was sent i-th is put where it belongs in the other end's bag. */
inline put(to)
{
	k = 0;
	do
	:: k < wire[to].n && before(wire[to].p[k], out[i]) -> k++
	:: else -> break
	od;
	if
	:: k < wire[to].n && same(wire[to].p[k], out[i])
	:: else ->
		assert(wire[to].n < CAP);
		j = wire[to].n;
		do
		:: j > k ->
			copy_packet(wire[to].p[j], wire[to].p[j - 1]);
			j--
		:: else -> break
		od;
		copy_packet(wire[to].p[k], out[i]);
		wire[to].n++
	fi
}

/* All that was sent goes out to the other end. */
inline transmit()
{
	i = 0;
	do
	:: i < nout ->
		put(1 - me);
		i++
	:: else -> break
	od;
	nout = 0
}

/*
 * Fresh numbers: the least that occurs nowhere. A cookie stands for the ltag
 * that it was made of.
 */
hidden int used;
hidden byte fresh;

inline note_used(n)
{
	used = used | (1 << ((n) & (LTAGS - 1)))
}

inline least_unused(limit)
{
	fresh = 1;
	do
	:: fresh < limit && ((used >> fresh) & 1) -> fresh++
	:: else -> break
	od;
	assert(fresh < limit)
}

inline fresh_ltag()
{
	used = 0;
	note_used(e[0].ltag);
	note_used(e[0].peer_ltag);
	note_used(e[1].ltag);
	note_used(e[1].peer_ltag);
	i = 0;
	do
	:: i < nout ->
		note_used(SRC(out[i]));
		note_used(DST(out[i]));
		i++
	:: else -> break
	od;
	j = 0;
	do
	:: j < 2 ->
		i = 0;
		do
		:: i < wire[j].n ->
			note_used(SRC(wire[j].p[i]));
			note_used(DST(wire[j].p[i]));
			i++
		:: else -> break
		od;
		j++
	:: else -> break
	od;
	note_used(f_src);
	least_unused(LTAGS);
	SAY(printf("DO %c ltag %d\n", NAME(me), fresh))
}

inline note_inc(n)
{
	used = used | (1 << (n))
}

inline packet_incs(what_, body_)
{
	v = (what_) >> (3 * W_T + 1);
	if
	:: v >= SYNC && v <= SYNC_CHK ->
		note_inc(((body_) >> W_I) & MASK(W_I));
		note_inc((body_) & MASK(W_I))
	:: else
	fi
}

inline end_incs(n)
{
	note_inc(e[n].inc);
	note_inc(e[n].peer_inc);
	note_inc(e[n].heard_inc);
	note_inc(e[n].offered_to);
	note_inc(e[n].lent_to)
}

inline fresh_inc()
{
	used = 0;
	end_incs(0);
	end_incs(1);
	i = 0;
	do
	:: i < nout ->
		packet_incs(out[i].what, out[i].body);
		i++
	:: else -> break
	od;
	j = 0;
	do
	:: j < 2 ->
		i = 0;
		do
		:: i < wire[j].n ->
			packet_incs(wire[j].p[i].what, wire[j].p[i].body);
			i++
		:: else -> break
		od;
		j++
	:: else -> break
	od;
	note_inc(f_inc);
	least_unused(INCS);
	SAY(printf("DO %c inc %d\n", NAME(me), fresh))
}

#ifdef TRACE
#define rename_ltags()	skip
#define drop_dead(to)	skip
#else
/*
 * No rule will ever look at these again: they name an ltag of the receiver's
 * that it will not have again; or they are of another run than the one that it
 * is OPEN in. But a data frame with the sender's ltag of now can still be
 * answered with NOLINK, by an end that has forgotten the link.
 */
#define MORTAL(who)	(CLOSES || DEAD || (who == A -> CRASH_A : CRASH_B))
#define is_data(op)	(op >= CLOSE && op != NOLINK)
#define dead(to)	((op != SYNC && dst != e[to].ltag &&			\
			  !(is_data(op) && MORTAL(to) && src == e[1 - to].ltag)) || \
			 (is_data(op) && e[to].state == OPEN &&			\
			  src != e[to].peer_ltag &&				\
			  !(MORTAL(to) && src == e[1 - to].ltag)))

hidden byte op, src, dst;

inline drop_dead(to)
{
	i = 0;
	do
	:: i < wire[to].n ->
		op = wire[to].p[i].what >> (3 * W_T + 1);
		src = SRC(wire[to].p[i]);
		dst = DST(wire[to].p[i]);
		if
		:: dead(to) && !KEEP_DEAD ->
			take_out(to, i)
		:: else ->
			if
			:: op == SYNC && dst != e[to].ltag && dst != (COOKIE | src) &&
			   !KEEP_DEAD ->
				/* Of whom it names only that is looked at. */
				wire[to].p[i].ltags = src << W_L
			:: else
			fi;
			i++
		fi
	:: else -> break
	od
}

hidden byte name[LTAGS];
hidden byte names;
hidden packet tmp;

/* The name of an ltag, by the order in which they are met. */
inline renamed(n)
{
	if
	:: (n) ->
		if
		:: !name[(n) & (LTAGS - 1)] ->
			names++;
			name[(n) & (LTAGS - 1)] = names
		:: else
		fi;
		v = name[(n) & (LTAGS - 1)] | ((n) & COOKIE)
	:: else -> v = 0
	fi
}

inline rename_bag(to)
{
	i = 0;
	do
	:: i < wire[to].n ->
		renamed(SRC(wire[to].p[i]));
		used = v << W_L;
		renamed(DST(wire[to].p[i]));
		wire[to].p[i].ltags = used | v;
		/* Keep it sorted. */
		j = i;
		do
		:: j > 0 && before(wire[to].p[j], wire[to].p[j - 1]) ->
			copy_packet(tmp, wire[to].p[j]);
			copy_packet(wire[to].p[j], wire[to].p[j - 1]);
			copy_packet(wire[to].p[j - 1], tmp);
			j--
		:: else -> break
		od;
		i++
	:: else -> break
	od
}

inline rename_ltags()
{
	i = 0;
	do
	:: i < LTAGS -> name[i] = 0; i++
	:: else -> break
	od;
	names = 0;
	renamed(e[0].ltag);
	e[0].ltag = v;
	renamed(e[1].ltag);
	e[1].ltag = v;
	renamed(e[0].peer_ltag);
	e[0].peer_ltag = v;
	renamed(e[1].peer_ltag);
	e[1].peer_ltag = v;
	rename_bag(0);
	rename_bag(1)
}
#endif
