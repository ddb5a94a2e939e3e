/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules of doc/protocol.md section 4, one end's view: L is this end, f_*
 * the frame. What every event ends with (a new run, closing) is asked for by
 * setting begin or commit, and done by the steps that link.pml lists.
 */

/* Begin a new run: 0, or the state to begin it in (4.5). */
hidden byte begin;
hidden byte resolving, by_data, by_seq, going_down;
hidden byte ending;		/* the link is forgotten */
hidden byte question;		/* ASK or OFFER */
hidden byte commit;		/* COMMIT, unless this event offers anything */
hidden byte sent_;		/* what it has sent before that */
hidden byte p_tx, p_rx;		/* the peer's counters, as resolving takes them */
hidden short in_, out_;		/* by how much they are ahead of mine */
hidden byte n, m, q;		/* lanes */
hidden byte gathered_;		/* what that costs which is here of the peer */

/* --- the responder, 4.2, 4.3 and 4.11 ------------------------------------- */

inline hold_reset(at)
{
	L.hold[at].state = HOLD_NONE;
	L.hold[at].id = 0;
	L.hold[at].express = 0;
	L.hold[at].said = 0;
	L.hold[at].reason = 0
}

/*
 * An end that never has a window reflects the last express again out of the only place
 * that it has: what is heard of the next number overwrites it.
 */
inline heard_content(txn)
{
#if WINDOW == 1
	L.last_id = (L.last_express -> txn : 0)
#else
	skip
#endif
}

#define credit_less(credit, by) ((credit) > (by) -> (credit) - (by) : 0)

/* --- a half, 4.9 --------------------------------------------------------------- */

inline half_none()
{
	L.half = HALF_NONE;
	L.half_id = 0;
	L.half_crossed = 0;
	L.half_unwanted = 0;
	L.lent_to = 0
}

/* A half that nobody has is reversed. */
inline half_drop()
{
	if
	:: half_idle() ->
		reversed(L.half_id);
		half_none()
	:: else
	fi
}

/* The dead may have used the one that is lent. */
inline half_unknown(going)
{
	if
	:: L.half == HALF_LENT ->
		lent_ended(UNKNOWN, going);
		half_none()
	:: else
	fi
}

/* What was held for it is dropped. */
inline half_back()
{
	if
	:: L.half == HALF_LENT && L.half_unwanted ->
		reversed(L.half_id);
		half_none()
	:: L.half == HALF_LENT && !L.half_unwanted ->
		L.half = HALF_POSTED;
		L.lent_to = 0
	:: else
	fi
}

/* --- lanes, 4.11 ---------------------------------------------------------------- */

#define copy_lane(to, from)							\
	L.offer[to].state = L.offer[from].state;				\
	L.offer[to].id = L.offer[from].id;					\
	L.offer[to].express = L.offer[from].express;				\
	L.offer[to].confirm = L.offer[from].confirm;				\
	L.offer[to].recalled = L.offer[from].recalled;				\
	L.offer[to].ready = L.offer[from].ready;				\
	L.offer[to].due = L.offer[from].due

inline lane_none(at)
{
	L.offer[at].state = OFFER_NONE;
	L.offer[at].id = 0;
	L.offer[at].express = 0;
	L.offer[at].confirm = 0;
	L.offer[at].recalled = 0;
	L.offer[at].ready = 0;
	L.offer[at].due = DUE_NOT
}

/* The contents above it move down. */
inline lane_remove(at)
{
	if
	:: at < L.given -> L.given--
	:: else
	fi;
	if
	:: at == 0 -> L.offered_to = 0
	:: else
	fi;
	m = at;
	do
	:: m + 1 < L.nlanes ->
		copy_lane(m, m + 1);
		m++
	:: else -> break
	od;
	lane_none(m);
	L.nlanes--
}

/* Nothing is offered under a number that was given, in place of what was reversed. */
inline lane_void(at)
{
	L.offer[at].id = 0;
	L.offer[at].express = 0;
	L.offer[at].confirm = 0;
	L.offer[at].ready = 0;
	if
	:: at == 0 -> L.offered_to = 0
	:: else
	fi;
	if
	:: BREAK_RULE == 8 && L.offer[at].state == OFFER_REFLECTED
	:: else ->
		L.offer[at].state = OFFER_QUEUED;
		L.offer[at].due = DUE_ALL
	fi
}

inline lane_clear(at)
{
	if
	:: L.state == OPEN && at < L.given -> lane_void(at)
	:: else -> lane_remove(at)
	fi
}

/*
 * Nothing is offered in place of an express that was offered. The peer may have delivered
 * it: what it says of the number tells.
 */
inline lane_recall(at, how)
{
	if
	:: !L.offer[at].recalled ->
		L.offer[at].express = 0;
		L.offer[at].ready = 0;
		L.offer[at].state = (L.state == OPEN -> OFFER_QUEUED : OFFER_OUT);
		L.offer[at].due = DUE_ALL
	:: else
	fi;
	L.offer[at].recalled = how
}

/* A new run: numbers are given anew; an express that was offered keeps its own. */
inline requeue()
{
	m = 0;
	do
	:: m < L.nlanes ->
		L.offer[m].due = DUE_NOT;
		L.offer[m].ready = 0;
		L.offer[m].state = OFFER_QUEUED;
		m++
	:: else -> break
	od;
	L.given = 0
}

/* In a run that is over nothing stands for what was reversed. */
inline drop_voids()
{
	q = L.nlanes;
	do
	:: q > 0 ->
		q--;
		if
		:: !L.offer[q].id -> lane_remove(q)
		:: else
		fi
	:: else -> break
	od
}

inline offer_withdraw()
{
	L.half = HALF_POSTED;
	lane_clear(0)
}

/* May the one that is here answer the peer's? Then k is 1. */
inline half_lend()
{
	if
	:: L.half == HALF_OFFERED && senior() -> L.half_crossed = 1
	:: L.half == HALF_OFFERED && !senior() -> offer_withdraw()
	:: else
	fi;
	k = half_idle();
	if
	:: k ->
		L.half = HALF_LENT;
		L.lent_to = L.peer_inc;
		L.half_crossed = 0
	:: else
	fi
}

/* --- the responder again ------------------------------------------------------- */

inline hold_deliver()
{
	L.asks = 0;
	if
	:: is_half(1 - me, L.hold[0].id) ->
		taken(L.half_id, L.hold[0].id);
		lent_ended(COMMITTED, 0);
		half_none()
	:: is_verb(1 - me, L.hold[0].id) ->
		SAY(printf("DO %c apply %d\n", NAME(me), L.hold[0].id));
		delivered(L.hold[0].id, 0)
	:: is_message(1 - me, L.hold[0].id) ->
		SAY(printf("DO %c deliver %d\n", NAME(me), L.hold[0].id));
		delivered(L.hold[0].id, L.hold[0].express);
		L.granted = credit_less(L.granted, COST)
	:: else	/* nothing */
	fi;
	L.rx++;
	L.last_express = L.hold[0].express;
	L.unseen = L.hold[0].express;
	L.last_id = (L.hold[0].express -> L.hold[0].id : 0);
	m = 0;
	do
	:: m + 1 < WINDOW ->
		L.hold[m].state = L.hold[m + 1].state;
		L.hold[m].id = L.hold[m + 1].id;
		L.hold[m].express = L.hold[m + 1].express;
		L.hold[m].said = L.hold[m + 1].said;
		L.hold[m].reason = L.hold[m + 1].reason;
		m++
	:: else -> break
	od;
	hold_reset(m)
}

/* All that the peer is heard to have committed: in_ numbers. */
inline deliver_all()
{
	q = 0;
	do
	:: q < in_ ->
		hold_deliver();
		q++
	:: else -> break
	od
}

/* Are the next numbers held, as many? The answer is k. */
inline hold_has(many)
{
	q = 0;
	do
	:: q < many && q < WINDOW && held(q) -> q++
	:: else -> break
	od;
	k = q == many
}

/* The inbox has room for as much: that is granted, unless more is already. */
inline credit_free()
{
#if CREDIT
	if
	:: room > L.granted || BREAK_RULE == 15 -> L.granted = room
	:: else
	fi
#else
	skip
#endif
}

/* What that costs which is here of the peer. */
inline count_gathered()
{
	gathered_ = 0;
	m = 0;
	do
	:: m < WINDOW ->
		gathered_ = gathered_ + (held(m) && is_message(1 - me, L.hold[m].id) -> COST : 0);
		m++
	:: else -> break
	od
}

/* If nothing else costs anything, one content may cost more than what is granted. */
#define was_granted()	(!CREDIT || gathered_ + COST <= L.granted || (!gathered_ && L.granted))

/* Words are free, or the end that settled goes on. */
inline say_ready()
{
	L.ready_due = 0;
	send(READY, 0, 0, 0)
}

/* The reader has made room, and the peer is blocked. */
inline made_room()
{
	L.credit_due = 0;
	credit_free();
	send(READY, 0, 0, 0)
}

inline reflect(seq_, txn)
{
	send_own(REFLECT, 0, seq_, txn, (is_half(1 - me, txn) -> L.half_id : 0))
}

/* What is held is not committed: the lowest of it once more. */
inline reflect_again()
{
	n = 0;
	do
	:: !held(n) -> n++
	:: else -> break
	od;
	reflect(L.rx + 1 + n, L.hold[n].id)
}

/* If that is not asked for, the peer is told later. */
inline refuse(why, asked_for)
{
	hold_reset(n);
	L.hold[n].state = HOLD_REFUSED;
	L.hold[n].reason = why;
	L.hold[n].said = asked_for;
	if
	:: why == BUSY || why == CONFLICT -> L.ready_due = 1
	:: else
	fi;
	if
	:: asked_for -> send_own(REFUSE, 0, f_seq, f_id, why)
	:: else
	fi
}

/* The first of what is offered under a number. */
inline begin_content()
{
	if
	:: n == 0 -> half_back()
	:: else
	fi;
	hold_reset(n);
	L.asks = 0;
	count_gathered();
	k = 1;
	if
	:: is_half(1 - me, f_id) || is_verb(1 - me, f_id) -> heard_content(f_id)
	:: else
	fi;
	if
	:: is_half(1 - me, f_id) -> half_lend()
	:: else
	fi;
	if
	:: is_half(1 - me, f_id) && !k -> refuse(NO_HALF, 1)
	:: is_verb(1 - me, f_id) && for_good -> refuse(RANGE, 1)
	:: is_verb(1 - me, f_id) && !for_good && for_now -> refuse(CONFLICT, 1)
	:: is_message(1 - me, f_id) && for_now -> refuse(BUSY, !unasked)
	:: is_message(1 - me, f_id) && !for_now && !was_granted() ->
		/* Dropped, and honest ends do not offer it. */
		assert(GRANT)
	:: else ->
		L.hold[n].state = HOLD_HELD;
		L.hold[n].id = f_id;
		L.hold[n].express = f_flag;
		heard_content(f_id);
		if
		:: f_flag -> hold_deliver()
		:: else
		fi;
		reflect(f_seq, f_id)
	fi
}

/* May this number be offered to this end? What goes out alone is next. */
#define in_window()	(in_ == 1 || (in_ > 1 && in_ <= L.window && !f_flag &&	\
				      (!f_id || is_message(1 - me, f_id))))

/* An end that closes: numbers held then can be committed, and nothing else comes. */
#define stopped(n)	(L.closing && !firm(n))
#define void_here(n)	(held(n) && !L.hold[n].id)
/* Nothing has taken its place. */
#define absorbed(n)	(f_id && void_here(n) && BREAK_RULE != 10)
/* Not before the peer has heard of it, nor if it was for good. */
#define judged_anew(n)	(refused(n) && L.hold[n].said && L.hold[n].reason != RANGE)
#define is_new(n)	(L.hold[n].state == HOLD_NONE || judged_anew(n) || \
			 (!f_id && !void_here(n)) || (f_id && void_here(n)))

/* It is held, or refused: the same answer again, to whoever asks. */
inline answer_again()
{
	if
	:: held(n) && !unasked -> reflect(f_seq, L.hold[n].id)
	:: refused(n) && !unasked ->
		L.hold[n].said = 1;
		send_own(REFUSE, 0, f_seq, f_id, L.hold[n].reason)
	:: else
	fi
}

/* An OFFER; or ASK, which has the same answers, and begins nothing. */
inline rcv_offer()
{
	in_ = f_seq - L.rx;
	n = (in_ > 0 -> in_ - 1 : 0);
	if
	:: in_ == 0 ->
		/* Of an express, or in its place; unless the next is held. */
		if
		:: L.last_express && (f_flag || !f_id) && !held(0) && !unasked ->
			/* What was heard since may be a half, but an express is given none. */
			send_own(REFLECT, 0, f_seq, L.last_id, 0)
		:: else
		fi
	:: in_ != 0 && (!in_window() || stopped(n) || absorbed(n))
	:: in_ != 0 && in_window() && !stopped(n) && !absorbed(n) ->
		if
		:: f_op == OFFER && is_new(n) -> begin_content()
		:: f_op == ASK && (L.hold[n].state == HOLD_NONE || (!f_id && !void_here(n))) ->
			/* Of this nothing is here. */
			send(ACK, 0, f_seq, f_id)
		:: else -> answer_again()
		fi
	fi
}

/* --- the initiator, 4.1 ------------------------------------------------------ */

/* --- credit, 4.11 ------------------------------------------------------------- */

#if BREAK_RULE == 12
#define charged_from()	(L.tx - L.peer_rx)
#else
#define charged_from()	0
#endif
#define charged_at(n)	((n) >= charged_from() && (n) < 2 * WINDOW && (L.costs >> (n)) & 1)
#define charged()	(COST * (charged_at(0) + charged_at(1) + charged_at(2) + charged_at(3) + \
				 charged_at(4) + charged_at(5) + charged_at(6) + charged_at(7)))

/* May this be given a number? If nothing is charged, and something granted, in any case. */
#define affords(txn)	(!CREDIT || !is_message(me, txn) || charged() + COST <= L.grant || \
			 (!charged() && L.grant))

/* What has a lane, and is next, is not granted. */
#define lane_blocked()	(L.nlanes > L.given && !affords(content(L.given)))

#define cost_bit(seq)	(1 << ((seq) - L.peer_rx - 1))

inline credit_give(seq)
{
#if CREDIT
	if
	:: is_message(me, content((seq) - L.tx - 1)) -> L.costs = L.costs | cost_bit(seq)
	:: else
	fi
#else
	skip
#endif
}

/* Nothing took its place at the peer. */
inline credit_void(seq)
{
	L.costs = L.costs & ~cost_bit(seq)
}

/* The peer has delivered more, and grants so much less above that. */
inline credit_confirmed(seq)
{
	do
	:: L.peer_rx < seq ->
		L.grant = credit_less(L.grant, (L.costs & 1 -> COST : 0));
		L.costs = L.costs >> 1;
		L.peer_rx++
	:: else -> break
	od
}

/* What was granted above another rx does not count. */
inline credit_heard()
{
	if
	:: (f_rx == L.peer_rx || BREAK_RULE == 13) && f_grant > L.grant -> L.grant = f_grant
	:: else
	fi
}

/* Only what is committed stays charged. */
inline credit_froze()
{
	L.grant = 0;
	L.blocked = 0;
	L.said_blocked = 0;
	L.costs = L.costs & ((1 << (L.tx - L.peer_rx)) - 1)
}

inline credit_begin()
{
	L.grant = f_grant;
	L.blocked = 0;
	L.said_blocked = 0;
	L.credit_due = 0
}

inline send_commit()
{
	send(COMMIT, (L.await_done || L.blocked), L.tx, L.blocked)
}

/* What is blocked waits for DONE though all is known to be delivered. */
inline offer_done(seq)
{
	if
	:: L.await_done && seq >= L.done_seq ->
		L.asks = 0;
		L.await_done = 0;
		L.done_seq = 0
	:: else
	fi
}

/* What is under way has answers, and they say what is granted. */
inline offer_blocked()
{
	if
	:: !L.blocked ->
		L.said_blocked = 0;
		offer_done(L.peer_rx)
	:: L.blocked && !L.said_blocked && !L.given && L.state == OPEN ->
		L.said_blocked = 1;
		L.await_done = 1;
		L.done_seq = L.tx;
		send_commit()
	:: else
	fi
}

/* --- the initiator again ------------------------------------------------------- */

/* The link has failed: stop, and compare where both ends stand. */
inline freeze(how)
{
	m = 0;
	do
	:: m < WINDOW ->
		if
		:: !held(m) -> hold_reset(m)
		:: else
		fi;
		m++
	:: else -> break
	od;
	drop_voids();
	credit_froze();
	L.asks = 0;
	L.close_sent = 0;
	L.peer_closing = 0;
	L.state = SYNC_SENT;
	begin = how
}

inline offer_lane(at)
{
	question = (L.offer[at].due == DUE_ASK -> ASK : OFFER);
	if
	:: L.tx + 1 + at > NUMBERS ->
		/* The search goes no further; only halves get that far. */
		assert(HALVES_A + HALVES_B);
		beyond = 1
	:: else ->
		if
		:: L.offer[at].due < DUE_REST ->
			L.offer[at].state = OFFER_OUT;
			L.offer[at].ready = 0
		:: else
		fi;
		L.offer[at].due = DUE_NOT;
		if
		:: at >= L.given ->
			L.given = at + 1;
			credit_give(L.tx + 1 + at)
		:: else
		fi;
		if
		:: !L.offered_to && L.offer[at].express -> L.offered_to = L.peer_inc
		:: else
		fi;
		send(question, L.offer[at].express, L.tx + 1 + at, content(at))
	fi
}

inline offer_drop(at)
{
	reversed(L.offer[at].id);
	if
	:: is_half(me, L.offer[at].id) -> half_none()
	:: else
	fi;
	lane_clear(at)
}

/* All that can be, from the top, so that nothing moves. */
inline offer_drop_all()
{
	n = L.nlanes;
	do
	:: n > 0 ->
		n--;
		if
		:: content(n) && reversible(n) -> offer_drop(n)
		:: else
		fi
	:: else -> break
	od
}

/* An express that was offered is alone. */
inline express_unknown(going)
{
	unknown(L.offer[0].id, going);
	lane_remove(0)
}

/* --- what the user has back, to post it again: not the link's -------------------- */

inline back_none()
{
	do
	:: L.nback > 0 ->
		L.nback--;
		L.back[L.nback].id = 0;
		L.back[L.nback].express = 0;
		L.back[L.nback].confirm = 0
	:: else -> break
	od
}

/* Before all that went back already. A link that closes takes it no more. */
inline hand_back(txn, express_, confirm_)
{
	SAY(printf("DO %c back %d\n", NAME(me), txn));
	assert(G2 || T(me, txn) == T_LIVE);
	if
	:: L.closing || L.peer_closing -> T(me, txn) = T_REVERSED
	:: else ->
		assert(L.nback < BACKS);
		m = L.nback;
		do
		:: m > 0 ->
			L.back[m].id = L.back[m - 1].id;
			L.back[m].express = L.back[m - 1].express;
			L.back[m].confirm = L.back[m - 1].confirm;
			m--
		:: else -> break
		od;
		L.back[0].id = txn;
		L.back[0].express = express_;
		L.back[0].confirm = confirm_;
		L.nback++
	fi
}

inline next_gone()
{
	L.next_id = 0;
	L.next_express = 0;
	L.next_confirm = 0
}

inline next_back()
{
	if
	:: L.next_id -> hand_back(L.next_id, L.next_express, L.next_confirm)
	:: else
	fi;
	next_gone()
}

inline drop_next()
{
	n = 0;
	do
	:: n < L.nback ->
		T(me, L.back[n].id) = T_REVERSED;
		n++
	:: else -> break
	od;
	back_none();
	n = 0;
	do
	:: n < L.naside ->
		reversed(L.aside[n].id);
		L.aside[n].id = 0;
		L.aside[n].express = 0;
		L.aside[n].confirm = 0;
		n++
	:: else -> break
	od;
	L.naside = 0;
	if
	:: L.next_id ->
		reversed(L.next_id);
		next_gone()
	:: else
	fi
}

/* Halves and what else waits take turns; what is parked lets a half pass. */
#define half_posted()	(L.half == HALF_POSTED)
#define next_blocked()	(L.next_id && !L.naside && !affords(L.next_id))
#define half_first()	(half_posted() && (L.half_turn || L.naside || !L.next_id || \
					   next_blocked()))

inline step_back()
{
	if
	:: L.naside && !L.nlanes && !half_posted() ->
		m = 0;
		do
		:: m < L.naside ->
			L.offer[m].id = L.aside[m].id;
			L.offer[m].express = L.aside[m].express;
			L.offer[m].confirm = L.aside[m].confirm;
			L.offer[m].state = OFFER_QUEUED;
			L.aside[m].id = 0;
			L.aside[m].express = 0;
			L.aside[m].confirm = 0;
			m++
		:: else -> break
		od;
		L.nlanes = L.naside;
		L.naside = 0
	:: else
	fi
}

/* A post steps aside, before those that did already. */
inline aside_first(at)
{
	assert(L.naside < WINDOW);
	m = L.naside;
	do
	:: m > 0 ->
		L.aside[m].id = L.aside[m - 1].id;
		L.aside[m].express = L.aside[m - 1].express;
		L.aside[m].confirm = L.aside[m - 1].confirm;
		m--
	:: else -> break
	od;
	L.aside[0].id = L.offer[at].id;
	L.aside[0].express = L.offer[at].express;
	L.aside[0].confirm = L.offer[at].confirm;
	L.naside++
}

inline step_aside()
{
	if
	:: L.state == OPEN && half_posted() && (any(parked) || lane_blocked()) ->
		/* The lowest that waits. */
		q = 0;
		do
		:: q < L.nlanes && !parked(q) -> q++
		:: else -> break
		od;
		q = (q < L.nlanes -> q : L.given);
		n = L.nlanes;
		do
		:: n > q ->
			n--;
			if
			:: content(n) && !reversible(n) ->
				/* Alone. Whether it was delivered is to be known first. */
				lane_recall(n, RECALL_BACK)
			:: content(n) && reversible(n) ->
				aside_first(n);
				lane_clear(n)
			:: else
			fi
		:: else -> break
		od
	:: else
	fi
}

/* What an event offers, at most: it sends other frames, too. */
#define PUMP_SENDS	(OUTS - 2)

/* Offer again what is due; but what is above one that is parked only if it is nothing. */
inline give_due()
{
	k = 0;
	q = 0;
	do
	:: q < L.given && L.state == OPEN && !L.more ->
		k = k || parked(q);
		if
		:: L.offer[q].due && !(k && content(q)) ->
			if
			:: nout >= PUMP_SENDS -> L.more = 1
			:: else -> offer_lane(q)
			fi
		:: else
		fi;
		q++
	:: else -> break
	od
}

/*
 * An express and a half are alone. Several verbs may be under way (4.11): that is left to
 * the explorer of tests/model, and no configuration has verbs and a window.
 */
#define barrier(id, express)	((express) || is_half(me, id))
#define may_give()	(L.state == OPEN && L.given < L.win && !any(parked) && \
			 !(L.given && (L.offer[0].recalled || \
				       barrier(L.offer[0].id, L.offer[0].express))))

/* Is there one that waits, and may it go now? Then k is 1. What is not granted may not. */
inline take_next()
{
	k = 0;
	n = L.nlanes;
	if
	:: half_first() && !n ->
		L.offer[n].id = L.half_id;
		L.half = HALF_OFFERED;
		L.half_crossed = 0;
		L.half_turn = 0;
		k = 1
	:: !half_first() && L.next_id && !L.naside &&
	   !(n && barrier(L.next_id, L.next_express)) && next_blocked() -> L.blocked = 1
	:: !half_first() && L.next_id && !L.naside &&
	   !(n && barrier(L.next_id, L.next_express)) && !next_blocked() ->
		L.half_turn = halves(me) > 0;
		L.offer[n].id = L.next_id;
		L.offer[n].express = L.next_express;
		L.offer[n].confirm = L.next_confirm;
		L.next_id = 0;
		L.next_express = 0;
		L.next_confirm = 0;
		k = 1
	:: else
	fi;
	if
	:: k ->
		L.offer[n].state = OFFER_QUEUED;
		L.nlanes++
	:: else
	fi
}

/* Numbers that have not been given yet in this run. */
inline give_new()
{
	do
	:: may_give() && !L.more ->
		L.blocked = lane_blocked();
		if
		:: L.blocked -> break
		:: !L.blocked && nout >= PUMP_SENDS -> L.more = 1
		:: else ->
			k = 1;
			if
			:: L.nlanes == L.given -> take_next()
			:: else
			fi;
			if
			:: k ->
				q = L.given;
				offer_lane(q)
			:: else -> break
			fi
		fi
	:: else -> break
	od
}

/* Offer what is due, and what waits. */
inline pump_step()
{
	if
	:: ev != EV_LOSE && !ending ->
		sent_ = nout;
		L.more = 0;
		L.blocked = 0;
		step_back();
		step_aside();
		give_due();
		give_new();
		offer_blocked();
		if
		:: commit && L.state == OPEN && nout == sent_ && !confirmed() -> send_commit()
		:: else
		fi
	:: else
	fi;
	commit = 0
}

#define confirmed_now()	SAY(printf("DO %c confirmed\n", NAME(me)))

inline offer_committed()
{
	if
	:: L.offer[0].recalled == RECALL_REVERSE -> reversed(L.offer[0].id)
	:: L.offer[0].recalled == RECALL_BACK ->
		next_back();
		hand_back(L.offer[0].id, 1, L.offer[0].confirm)
	:: content(0) -> committed(L.offer[0].id)
	:: else
	fi;
	if
	:: is_half(me, L.offer[0].id) -> half_none()
	:: else
	fi;
	assert(L.tx + 1 < (1 << W_T));
	L.tx++;
	if
	:: L.offer[0].express ->
		credit_confirmed(L.tx);
		L.done_seq = 0;
		if
		:: L.offer[0].confirm || L.await_done -> confirmed_now()
		:: else
		fi;
		L.await_done = 0
	:: !L.offer[0].express && ((L.offer[0].confirm && !L.offer[0].recalled) ||
				   L.closing || L.peer_closing) ->
		L.await_done = 1;
		L.done_seq = L.tx
	:: else
	fi;
	L.offered_to = 0;
	m = 0;
	do
	:: m + 1 < WINDOW ->
		copy_lane(m, m + 1);
		m++
	:: else -> break
	od;
	lane_none(m);
	L.nlanes--;
	if
	:: L.given -> L.given--
	:: else
	fi
}

/* The peer has delivered the express; nothing was perhaps offered in its place, too late. */
inline was_express()
{
	L.offer[0].recalled = 0;
	L.offer[0].express = 1;
	offer_committed()
}

#define same_kind(a, b)	(is_half(me, a) == is_half(me, b) && is_verb(me, a) == is_verb(me, b) && \
			 !(a) == !(b))

/* What was refused may be held after all, by a late copy. */
#define answers(n)	(L.offer[n].state == OFFER_OUT || (parked(n) && f_op == REFLECT))

/* The lane in flight that the frame answers is n; if there is none, n is WINDOW. */
inline answered()
{
	in_ = f_seq - L.tx - 1;
	n = WINDOW;
	if
	:: in_ >= 0 && in_ < L.given ->
		n = in_;
		if
		:: !answers(n) || !same_kind(f_id, content(n)) ->
			n = WINDOW
		:: else
		fi
	:: else
	fi;
	if
	:: n < WINDOW -> L.asks = 0
	:: else
	fi;
	/* So many later frames were heard that one about this lane must have been lost. */
	if
	:: n < WINDOW && lost && lost - 1 != n && lost <= L.given ->
		if
		:: L.offer[lost - 1].state == OFFER_OUT && !L.offer[lost - 1].due ->
			L.offer[lost - 1].due = (arrived -> DUE_ASK : DUE_REST)
		:: else
		fi
	:: else
	fi
}

/* That the express was delivered, in place of which nothing was offered. */
#define tells_express()	(L.offer[0].recalled && f_rx == L.tx + 1)

inline rcv_reflect()
{
	if
	:: tells_express() ->
		assert(FITS || f_id == L.offer[0].id);
		L.asks = 0;
		was_express();
		credit_heard()
	:: n < WINDOW && !tells_express() ->
		/* Between honest ends it is what was said. */
		assert(FITS || f_id == content(n));
		assert(FITS || f_seq - f_rx <= L.win);
		if
		:: is_half(me, f_id) -> swapped(f_id, f_half)
		:: is_verb(me, f_id) ->
			SAY(printf("DO %c answer %d\n", NAME(me), f_id))
		:: else
		fi;
		L.offer[n].state = OFFER_REFLECTED;
		L.offer[n].due = DUE_NOT;
		if
		:: !content(n) -> credit_void(f_seq)
		:: else
		fi;
		k = L.tx;
		q = 0;
		do
		:: BREAK_RULE == 7 && q < n ->
			L.offer[q].state = OFFER_REFLECTED;
			q++
		:: else -> break
		od;
		/* In order: what is above the first gap waits. */
		do
		:: L.given && L.offer[0].state == OFFER_REFLECTED -> offer_committed()
		:: else -> break
		od;
		/* Of an express, that it is delivered is known only now. */
		credit_heard();
		commit = L.tx != k
	:: n == WINDOW && !tells_express() && f_seq <= L.tx && f_seq > f_rx ->
		/* The peer holds it still: it has not heard of the commit. */
		commit = 1
	:: else
	fi
}

/* What is parked is to be offered again. */
inline unpark(at)
{
	L.offer[at].state = (reversible(at) -> OFFER_QUEUED : OFFER_OUT);
	L.offer[at].due = DUE_ALL
}

inline rcv_refuse()
{
	if
	:: is_half(me, f_id) ->
		/* The peer had none; but perhaps it has by now. */
		k = L.half_crossed;
		offer_withdraw();
		L.half_crossed = 0;
		if
		:: !k -> L.half = HALF_WAITING
		:: else
		fi
	:: !is_half(me, f_id) && f_reason == RANGE -> offer_drop(n)
	:: else ->
		L.offer[n].state = OFFER_PARKED;
		L.offer[n].due = DUE_NOT;
		/* READY has overtaken the refusal. */
		if
		:: L.offer[n].ready -> unpark(n)
		:: else
		fi
	fi;
	/* It may have been offered before the peer heard of what DONE is waited for. */
	commit = L.await_done && L.offer[0].state != OFFER_OUT
}

/* The peer has nothing of this: the same again. */
inline rcv_ack()
{
	L.offer[n].due = DUE_REST
}

/* More is granted, or words are free. */
inline rcv_ready()
{
	n = 0;
	do
	:: n < L.given ->
		if
		:: L.offer[n].state == OFFER_OUT -> L.offer[n].ready = 1
		:: L.offer[n].state == OFFER_PARKED -> unpark(n)
		:: else
		fi;
		n++
	:: else -> break
	od;
	L.said_blocked = 0
}

/* What is next is not granted: DONE says what is. If that is nothing, READY follows. */
inline rcv_commit()
{
	if
	:: f_blocked -> L.credit_due = !L.granted
	:: else
	fi;
	if
	:: f_flag && f_tx <= L.rx -> send(DONE, 0, L.rx, 0)
	:: else
	fi
}

/* The peer says what it has delivered last. */
inline offer_delivered(seq)
{
	credit_confirmed(seq);
	if
	:: L.await_done && L.peer_rx >= L.done_seq ->
		L.asks = 0;
		L.await_done = 0;
		L.done_seq = 0;
		confirmed_now()
	:: else
	fi
}

/* --- synchronising, 4.5 --------------------------------------------------------- */

inline learn()
{
	L.peer_ltag = f_src;
	L.heard_inc = f_inc;
	L.heard_window = f_window
}

/* What is held still was not committed. */
inline hold_resolved()
{
	half_back();
	m = 0;
	do
	:: m < WINDOW ->
		if
		:: BREAK_RULE == 9 && m > 0
		:: else -> hold_reset(m)
		fi;
		m++
	:: else -> break
	od
}

inline hold_drop()
{
	m = 0;
	do
	:: m < WINDOW ->
		hold_reset(m);
		m++
	:: else -> break
	od;
	L.last_id = 0
}

inline forget_run(going)
{
	half_unknown(going);
	L.last_express = 0;
	L.unseen = 0;
	hold_drop();
	L.costs = 0;
	L.tx = 0;
	L.peer_rx = 0;
	L.await_done = 0;
	L.done_seq = 0
}

/* Start again: the two ends cannot both be right. */
inline broken()
{
	SAY(printf("DO %c broken\n", NAME(me)));
	unfit();
	n = L.nlanes;
	do
	:: n > 0 ->
		n--;
		if
		:: !reversible(n) || (content(n) && (L.offer[n].state == OFFER_OUT ||
						     L.offer[n].state == OFFER_REFLECTED)) ->
			unknown(L.offer[n].id, 1);
			if
			:: is_half(me, L.offer[n].id) -> half_none()
			:: else
			fi;
			lane_remove(n)
		:: else
		fi
	:: else -> break
	od;
	drop_voids();
	forget_run(1);
	fresh_inc();
	L.inc = fresh;
	L.peer_inc = 0;
	L.rx = 0;
	L.close_sent = 0;
	L.peer_closing = 0;
	L.state = SYNC_SENT;
	begin = SYNC_SENT
}

inline heard()
{
	L.asked = 0;
	L.down = 0
}

/* The two tables of what an end may find; k says that in_ numbers are held. */
#define fits_in()	(in_ == 0 || (in_ > 0 && k) || (in_ == -1 && L.last_express))
#define fits_out()	(out_ > 0 -> out_ == 1 && express_out() : L.tx + out_ >= L.peer_rx)

/* The peer's end is not the one known before. */
inline new_peer()
{
	if
#if BREAK_RULE == 5
	:: 0
#else
	:: express_out() -> express_unknown(0)
#endif
	:: else -> L.offered_to = 0
	fi;
	forget_run(0);
	L.rx = 0;
	L.peer_inc = f_inc
}

/* Against the frame's tx, rx and incarnations. */
inline resolve()
{
	p_tx = f_tx;
	p_rx = f_rx;
#if BREAK_RULE != 4
	if
	:: f_peer_inc != L.inc ->
		/* It speaks of another me: to this one its counters mean 0. */
		p_tx = 0;
		p_rx = 0
	:: else
	fi;
#endif
	if
	:: f_inc != L.peer_inc -> new_peer()
	:: else
	fi;

	in_ = p_tx - L.rx;
	out_ = p_rx - L.tx;
	learn();
	hold_has(in_);
	if
	:: !fits_in() || !fits_out() -> broken()
	:: else ->
		deliver_all();
		hold_resolved();
		if
		:: in_ == 0 -> L.unseen = 0
		:: else
		fi;
		if
		:: out_ == 1 -> was_express()
		:: else -> offer_delivered(p_rx)
		fi;
		L.state = OPEN;
		L.ready_due = 0;
		L.win = (L.window < L.heard_window -> L.window : L.heard_window);
		requeue();
		credit_begin();
		L.more = 0;
		heard();
		send_sync(SYNC_ACK, L.peer_ltag);
		commit = L.await_done
	fi
}

inline impossible()
{
	SAY(printf("DO %c impossible\n", NAME(me)));
	unfit();
	freeze(SYNC_SENT)
}

/* What every frame of this run says with its tx and rx (section 3). */
inline run_progress()
{
	in_ = f_tx - L.rx;
	out_ = f_rx - L.tx;
	heard();
	hold_has(in_);
	if
	:: (in_ > 0 && !fits_in()) || (out_ > 0 && !fits_out()) ->
		impossible()
	:: else ->
		deliver_all();
		if
		:: in_ == 0 -> L.unseen = 0
		:: else
		fi;
		if
		:: out_ <= 0 && f_rx > L.peer_rx -> offer_delivered(f_rx)
		:: else
		fi;
		credit_heard()
	fi
}

#if BREAK_RULE == 4
#define of_this_me()	1
#else
#define of_this_me()	(f_peer_inc == L.inc)
#endif

inline sync_progress()
{
	if
	:: f_inc != L.peer_inc ->
		/* An ltag has only one incarnation behind it. */
		impossible()
	:: f_inc == L.peer_inc && of_this_me() -> run_progress()
	:: else
	fi
}

#if BREAK_RULE == 2
#define names_me()	1
#else
#define names_me()	(f_dst == L.ltag)
#endif

#if BREAK_RULE == 3
#define unanswered()	(f_dst != L.ltag)
#else
#define unanswered()	0
#endif

inline rcv_sync()
{
	if
	:: L.state != OPEN && names_me() -> resolving = 1
	:: L.state != OPEN && !names_me() ->
		learn();
		L.state = SYNC_RECD;
		send_sync(SYNC, L.peer_ltag)
	:: L.state == OPEN && f_src == L.peer_ltag && unanswered()
	:: L.state == OPEN && f_src == L.peer_ltag && !unanswered() ->
		/* A probe, or my SYNC_ACK was lost: always answered. */
		if
		:: f_dst == L.ltag -> sync_progress()
		:: else
		fi;
		if
		:: L.state == OPEN -> send_sync(SYNC_ACK, f_src)
		:: else
		fi
	:: L.state == OPEN && f_src != L.peer_ltag && f_dst == L.ltag ->
		/* The peer's run of this link has failed: so has mine. */
		learn();
		freeze(SYNC_RECD)
	:: else -> send_sync(SYNC_CHK, f_src)
	fi
}

inline rcv_sync_ack()
{
	if
	:: L.state != OPEN && names_me() -> resolving = 1
	:: L.state == OPEN && f_dst == L.ltag && f_src == L.peer_ltag ->
		sync_progress()
	:: L.state == OPEN && f_dst == L.ltag && f_src != L.peer_ltag && L.asked ->
		/* Both are OPEN, in two runs. */
		learn();
		freeze(SYNC_RECD)
	:: else
	fi
}

inline rcv_sync_chk()
{
	if
	:: f_dst == L.ltag && L.state != OPEN ->
		learn();
		L.state = SYNC_RECD;
		send_sync(SYNC, L.peer_ltag)
	:: f_dst == L.ltag && L.state == OPEN && L.asked && f_src != L.peer_ltag ->
		/* The peer has forgotten the link. */
		learn();
		freeze(SYNC_SENT)
	:: else
	fi
}

/* --- closing, 4.7; the end of an end ----------------------------------------------- */

inline end_reset()
{
	L.state = CLOSED;
	L.ltag = 0;
	L.peer_ltag = 0;
	L.inc = 0;
	L.peer_inc = 0;
	L.heard_inc = 0;
	L.heard_window = 0;
	L.window = 0;
	L.win = 0;
	L.more = 0;
	L.asks = 0;
	L.down = 0;
	L.asked = 0;
	L.closing = 0;
	L.close_sent = 0;
	L.peer_closing = 0;
	L.ready_due = 0;
	L.granted = 0;
	L.grant = 0;
	L.blocked = 0;
	L.said_blocked = 0;
	L.credit_due = 0;
	L.rx = 0;
	half_none();
	L.half_turn = 0;
	forget_run(1);
	L.next_id = 0;
	L.next_express = 0;
	L.next_confirm = 0;
	L.offered_to = 0;
	L.given = 0;
	L.nlanes = 0;
	L.naside = 0;
	back_none();
	m = 0;
	do
	:: m < WINDOW ->
		lane_none(m);
		L.aside[m].id = 0;
		L.aside[m].express = 0;
		L.aside[m].confirm = 0;
		m++
	:: else -> break
	od
}

/* The link is forgotten, whatever is in flight. */
inline end_link()
{
	L.win = 0;
	offer_drop_all();
	if
	:: express_out() -> express_unknown(1)
	:: else
	fi;
	drop_next();
	half_unknown(1);
	half_drop();
	SAY(printf("DO %c gone\n", NAME(me)));
	excuse();
	end_reset()
}

#define closes_now()	(L.state == OPEN && (L.closing || L.peer_closing) && !ending)

/* What was refused for now, or waits for its turn, is reversed. */
inline close_drop()
{
	if
	:: closes_now() ->
		n = L.nlanes;
		do
		:: n > 0 ->
			n--;
			if
			:: content(n) && (L.offer[n].state == OFFER_PARKED ||
					  L.offer[n].state == OFFER_QUEUED) ->
				if
				:: reversible(n) -> offer_drop(n)
				:: else -> lane_recall(n, RECALL_REVERSE)
				fi
			:: else
			fi
		:: else -> break
		od;
		half_drop()
	:: else
	fi
}

/* Is all that this end has offered decided, and its delivery known? */
#define close_done()	(!L.nlanes && confirmed())
#define close_says()	(close_done() -> 2 : 1)

/* Up to where is all held? Nothing above that is taken in this run. */
inline hold_stop()
{
	n = 0;
	do
	:: n < WINDOW ->
		if
		:: firm(n)
		:: else -> hold_reset(n)
		fi;
		n++
	:: else -> break
	od;
	n = 0;
	do
	:: n < WINDOW && held(n) -> n++
	:: else -> break
	od;
	in_ = L.rx + n
}

inline close_say()
{
	k = (L.close_sent == close_says());
	L.close_sent = close_says();
	hold_stop();
	send(CLOSE, L.close_sent == 2, in_, 0);
	/* The peer may be in another run by now. */
	if
	:: k -> send_sync(SYNC, L.peer_ltag)
	:: else
	fi;
	L.asked = (L.asked || k || L.close_sent == 2)
}

inline close_step()
{
	if
	:: closes_now() && !L.nlanes && !confirmed() &&
	   !(L.await_done && L.done_seq == L.tx) ->
		L.await_done = 1;
		L.done_seq = L.tx;
		send_commit()
	:: else
	fi;
	if
	:: closes_now() && L.peer_closing == 2 && close_done() && !any(held) ->
		send(CLOSE_ACK, 0, 0, 0);
		ending = 1
	:: closes_now() && !(L.peer_closing == 2 && close_done() && !any(held)) &&
	   L.closing && (close_again || L.close_sent != close_says()) ->
		close_say()
	:: else
	fi
}

/* The peer takes nothing above this number: it is reversed, and nothing takes its place. */
inline close_cut(seq)
{
	n = L.nlanes;
	do
	:: L.tx + n > seq ->
		n--;
		if
		:: n < L.given ->
			credit_void(L.tx + 1 + n);
			L.given--
		:: else
		fi;
		if
		:: content(n) -> offer_drop(n)
		:: !content(n) && L.offer[n].recalled ->
			reversed(L.offer[n].id);
			lane_clear(n)
		:: else -> lane_clear(n)
		fi
	:: else -> break
	od
}

inline rcv_close()
{
	/* It holds what was offered in this run, and all that is committed. */
	assert(f_seq >= L.tx && f_seq <= L.tx + L.given);
	if
	:: !L.peer_closing ->
		drop_next();
		half_drop()
	:: else
	fi;
	if
	:: f_flag -> L.peer_closing = 2
	:: !f_flag && !L.peer_closing -> L.peer_closing = 1
	:: else
	fi;
	close_cut(f_seq)
}

/* --- a frame, section 3 ------------------------------------------------------------- */

inline data_of_run()
{
	if
	:: f_op == CLOSE_ACK ->
		if
		:: L.close_sent == 2 -> ending = 1
		:: else
		fi
	:: else ->
		run_progress();
		if
		:: L.state != OPEN
		:: L.state == OPEN && (f_op == OFFER || f_op == ASK) -> rcv_offer()
		:: L.state == OPEN && is_answer(f_op) ->
			answered();
			if
			:: f_op == REFLECT -> rcv_reflect()
			:: f_op == REFUSE && n < WINDOW -> rcv_refuse()
			:: f_op == ACK && n < WINDOW -> rcv_ack()
			:: else
			fi
		:: L.state == OPEN && f_op == COMMIT -> rcv_commit()
		:: L.state == OPEN && f_op == DONE -> offer_done(f_rx)
		:: L.state == OPEN && f_op == READY -> rcv_ready()
		:: L.state == OPEN && f_op == CLOSE -> rcv_close()
		:: else
		fi
	fi
}

#if BREAK_RULE == 1
#define of_this_run()	(f_dst == L.ltag)
#elif BREAK_RULE == 6
#define of_this_run()	(f_src == L.peer_ltag)
#else
#define of_this_run()	(f_dst == L.ltag && f_src == L.peer_ltag)
#endif

/* A data frame that overtakes the SYNC_ACK says all that that would say. */
#define says_resolved()	(frozen() && (f_op == OFFER || f_op == COMMIT || f_op == ASK) && \
			 f_dst == L.ltag && f_src == L.peer_ltag && L.heard_inc)

/* A frame for an end that has no link (4.6). */
inline stranger()
{
	if
	:: f_op == SYNC && f_dst == (COOKIE | f_src) ->
		SAY(printf("EV %c accept 1 0 %d %d %d %d %d %d %d %d %d\n", NAME(me), f_src,
			   f_dst, f_tx, f_rx, f_window, f_inc, f_peer_inc, f_grant, room));
		credit_free();
		fresh_inc();
		L.inc = fresh;
		learn();
		begin = SYNC_RECD
	:: else ->
		SAY(printf("EV %c stranger\n", NAME(me)));
		if
		:: f_op == SYNC ->
			send_as(SYNC_CHK, 0, COOKIE | f_src, f_src, 0, 0, 1, 0, 0)
		:: f_op == CLOSE ->
			send_as(CLOSE_ACK, 0, f_dst, f_src, 0, 0, 0, 0, 0)
		:: f_op != SYNC && f_op > CLOSE_ACK && f_op != NOLINK ->
			send_as(NOLINK, 0, f_dst, f_src, 0, 0, 0, 0, 0)
		:: else
		fi
	fi
}

inline rcv()
{
	if
	:: L.state == CLOSED -> stranger()
	:: else ->
		SAY(printf("EV %c rcv %d %d %d %d %d %d %d %d %d %d", NAME(me), f_op, f_flag,
			   f_src, f_dst, f_tx, f_rx, f_seq, f_inc, f_peer_inc, f_grant));
		SAY(printf(" %d %d %d %d %d %d\n", room, lost, arrived, unasked, for_good,
			   for_now));
		credit_free();
		if
		:: f_op == SYNC -> rcv_sync()
		:: f_op == SYNC_ACK -> rcv_sync_ack()
		:: f_op == SYNC_CHK -> rcv_sync_chk()
		:: f_op == NOLINK ->
			if
			:: L.state == OPEN && f_dst == L.ltag -> freeze(SYNC_SENT)
			:: else
			fi
		:: says_resolved() ->
			resolving = 1;
			by_data = f_id;
			f_inc = L.heard_inc;
			f_peer_inc = L.inc;
			by_seq = f_seq;
			f_window = L.heard_window
		:: else
		fi
	fi
}

/* Then, if the link is OPEN by now, what a data frame is for. */
inline rcv_data()
{
	if
	:: resolving && f_op >= OFFER ->
		f_id = by_data;
		f_seq = by_seq
	:: else
	fi;
	if
	:: L.state == OPEN && of_this_run() -> data_of_run()
	:: else
	fi
}
