/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules of doc/protocol.md section 4, one end's view: L is this end, f_*
 * the frame. What every event ends with (a new run, closing) is asked for by
 * setting begin, pump or commit, and done by the steps that link.pml lists.
 */

/* Begin a new run: 0, or the state to begin it in (4.5). */
hidden byte begin;
hidden byte resolving, by_data, going_down;
hidden byte ending;		/* the link is forgotten */
hidden byte pump;		/* offer what is there, or the next: see pump_step() */
hidden byte commit;		/* and then say COMMIT if no OFFER says it */
hidden byte p_tx, p_rx;		/* the peer's counters, as resolving takes them */
hidden short in_, out_;		/* by how much they are ahead of mine */

/* --- the responder, 4.2 and 4.3 ------------------------------------------- */

inline hold_reset()
{
	L.hold = HOLD_NONE;
	L.hold_attempt = 0;
	L.hold_express = 0;
	L.hold_reason = 0;
#ifndef TRACE
	if
	:: !L.last_express -> L.hold_id = 0
	:: else
	fi
#endif
}

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

inline offer_withdraw()
{
	L.half = HALF_POSTED;
	offer_none()
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
	if
	:: is_half(1 - me, L.hold_id) ->
		taken(L.half_id, L.hold_id);
		lent_ended(COMMITTED, 0);
		half_none()
	:: else ->
		if
		:: is_verb(1 - me, L.hold_id) ->
			SAY(printf("DO %c apply %d\n", NAME(me), L.hold_id))
		:: else ->
			SAY(printf("DO %c deliver %d\n", NAME(me), L.hold_id))
		fi;
		delivered(L.hold_id, L.hold_express)
	fi;
	L.rx++;
	L.last_express = L.hold_express;
	L.unseen = L.hold_express;
	hold_reset()
}

inline reflect()
{
	send_as(REFLECT, 0, L.ltag, L.peer_ltag, L.tx, L.rx, f_seq, f_attempt, L.hold_id,
		(is_half(1 - me, L.hold_id) -> L.half_id : 0))
}

inline refuse(why)
{
	L.hold = HOLD_REFUSED;
	L.hold_reason = why;
	if
	:: why != NO_HALF && !L.closing -> L.ready_due = 1
	:: else
	fi;
	send(REFUSE, 0, f_seq, f_attempt, why)
}

inline rcv_offer()
{
	if
	:: f_seq == L.rx ->
		/* Only an express is asked for again; unless the next is held. */
		if
		:: L.last_express && f_flag && L.hold != HOLD_HELD ->
			send(REFLECT, 0, f_seq, f_attempt, L.hold_id)
		:: else
		fi
	:: f_seq == L.rx + 1 && f_attempt > L.hold_attempt ->
		half_back();
		hold_reset();
		L.hold_attempt = f_attempt;
		/* Who closes takes nothing new. */
		k = !L.closing;
		/* As the core does, which has heard it by the time it refuses. */
		if
		:: k && (is_half(1 - me, f_id) || is_verb(1 - me, f_id)) ->
			L.hold_id = (L.last_express -> f_id : 0)
		:: else
		fi;
		if
		:: k && is_half(1 - me, f_id) -> half_lend()
		:: else
		fi;
		if
		:: is_half(1 - me, f_id) && !k -> refuse(NO_HALF)
		:: k && (is_half(1 - me, f_id) || room) ->
			L.hold = HOLD_HELD;
			L.hold_id = f_id;
			L.hold_express = f_flag;
			if
			:: L.hold_express -> hold_deliver()
			:: else
			fi;
			reflect()
		:: else ->
			if
			:: is_verb(1 - me, f_id) && k -> refuse(CONFLICT)
			:: else -> refuse(BUSY)
			fi
		fi
	:: f_seq == L.rx + 1 && f_attempt == L.hold_attempt ->
		/* The same again: the same answer. */
		if
		:: L.hold == HOLD_HELD -> reflect()
		:: L.hold == HOLD_REFUSED -> send(REFUSE, 0, f_seq, f_attempt, L.hold_reason)
		:: else
		fi
	:: else
	fi
}

inline rcv_reverse()
{
	if
	:: f_seq == L.rx + 1 && f_attempt >= L.hold_attempt ->
		half_back();
		hold_reset();
		L.hold_attempt = f_attempt;
		L.hold = HOLD_REVERSED
	:: else
	fi
}

/* --- the initiator, 4.1 ------------------------------------------------------ */

/* The link has failed: stop, and compare where both ends stand. */
inline freeze(how)
{
	if
	:: L.hold != HOLD_HELD -> hold_reset()
	:: else
	fi;
	L.close_sent = 0;
	L.state = SYNC_SENT;
	begin = how
}

inline offer_again()
{
	if
	:: L.attempt == MAX_ATTEMPT ->
		L.offer = OFFER_OUT;
		freeze(SYNC_SENT)
	:: else ->
		L.attempt++;
		L.offer = OFFER_OUT;
		L.offer_ready = 0;
		if
		:: !L.offered_to -> L.offered_to = L.peer_inc
		:: else
		fi;
		send(OFFER, L.offer_express, L.tx + 1, L.attempt, L.offer_id)
	fi
}

inline offer_none()
{
	L.offer = OFFER_NONE;
	L.offer_id = 0;
	L.offer_express = 0;
	L.offer_confirm = 0;
	L.offer_ready = 0;
	L.offered_to = 0
}

inline offer_end()
{
	if
	:: is_half(me, L.offer_id) -> half_none()
	:: else
	fi;
	offer_none()
}

inline offer_reverse()
{
	reversed(L.offer_id);
	offer_end()
}

inline offer_unknown(going)
{
	unknown(L.offer_id, going);
	offer_end()
}

inline drop_next()
{
	if
	:: L.aside_id ->
		reversed(L.aside_id);
		L.aside_id = 0;
		L.aside_express = 0;
		L.aside_confirm = 0;
		L.aside_ready = 0
	:: else
	fi;
	if
	:: L.next_id ->
		reversed(L.next_id);
		L.next_id = 0;
		L.next_express = 0;
		L.next_confirm = 0
	:: else
	fi
}

#define PUMP		1	/* offer the next if nothing is being offered */
#define PUMP_AGAIN	2	/* offer the same again */

/* Halves and what else waits take turns; what is parked lets a half pass. */
#define half_posted()	(L.half == HALF_POSTED && !L.closing && !L.peer_closing)
#define half_first()	(half_posted() && (L.half_turn || L.aside_id || !L.next_id))

inline aside_none()
{
	L.aside_id = 0;
	L.aside_express = 0;
	L.aside_confirm = 0;
	L.aside_ready = 0
}

inline step_back()
{
	if
	:: pump && L.aside_id && L.offer == OFFER_NONE ->
		L.offer_id = L.aside_id;
		L.offer_express = L.aside_express;
		L.offer_confirm = L.aside_confirm;
		L.offer = OFFER_PARKED;
		if
		:: L.state == OPEN && L.aside_ready -> pump = PUMP_AGAIN
		:: else
		fi;
		aside_none()
	:: else
	fi
}

inline step_aside()
{
	if
	:: pump == PUMP && L.state == OPEN && L.offer == OFFER_PARKED && half_posted() ->
		L.aside_id = L.offer_id;
		L.aside_express = L.offer_express;
		L.aside_confirm = L.offer_confirm;
		L.aside_ready = 0;
		offer_none()
	:: else
	fi
}

inline pump_step()
{
	step_back();
	step_aside();
	if
	:: pump && L.state == OPEN && L.offer == OFFER_NONE && half_first() ->
		L.offer_id = L.half_id;
		L.half = HALF_OFFERED;
		L.half_crossed = 0;
		L.half_turn = 0;
		pump = PUMP_AGAIN
	:: pump && L.state == OPEN && L.offer == OFFER_NONE && !half_first() && L.next_id &&
	   !L.aside_id ->
		L.half_turn = halves(me) > 0;
		L.offer_id = L.next_id;
		L.offer_express = L.next_express;
		L.offer_confirm = L.next_confirm;
		L.next_id = 0;
		L.next_express = 0;
		L.next_confirm = 0;
		pump = PUMP_AGAIN
	:: else
	fi;
	if
	:: pump == PUMP_AGAIN -> offer_again()
	:: else
	fi;
	if
	:: commit && L.state == OPEN && L.offer != OFFER_OUT ->
		send(COMMIT, L.await_done, L.tx, 0, 0)
	:: else
	fi;
	pump = 0;
	commit = 0
}

#define confirmed_now()	SAY(printf("DO %c confirmed\n", NAME(me)))

inline offer_committed()
{
	committed(L.offer_id);
	if
	:: is_half(me, L.offer_id) -> half_none()
	:: else
	fi;
	L.tx++;
	L.attempt = 0;
	L.confirmed = L.offer_express;
	L.await_done = !L.offer_express &&
		       (L.offer_confirm || L.closing || L.peer_closing);
	if
	:: L.offer_express && L.offer_confirm -> confirmed_now()
	:: else
	fi;
	offer_none()
}

inline rcv_reflect()
{
	if
	:: L.offer == OFFER_OUT && f_seq == L.tx + 1 && f_attempt == L.attempt ->
		/* Between honest ends it is what was said. */
		assert(FITS || f_id == L.offer_id);
		if
		:: is_half(me, f_id) -> swapped(f_id, f_half)
		:: else ->
			if
			:: is_verb(me, f_id) ->
				SAY(printf("DO %c answer %d\n", NAME(me), f_id))
			:: else
			fi
		fi;
		offer_committed();
		pump = PUMP;
		commit = !L.confirmed
	:: else
	fi
}

inline rcv_refuse()
{
	if
	:: L.offer == OFFER_OUT && f_seq == L.tx + 1 && f_attempt == L.attempt ->
		if
		:: is_half(me, L.offer_id) ->
			/* The peer had none; but perhaps it has by now. */
			k = L.half_crossed;
			offer_withdraw();
			L.half_crossed = 0;
			if
			:: !k -> L.half = HALF_WAITING
			:: else
			fi;
			pump = PUMP
		:: else ->
			L.offer = OFFER_PARKED;
			L.offered_to = 0;	/* as good as never offered */
			/* READY has overtaken the refusal. */
			pump = (L.offer_ready -> PUMP_AGAIN : PUMP)
		fi
	:: else
	fi
}

/* The peer says that it has delivered tx. */
inline offer_delivered()
{
	L.confirmed = 1;
	if
	:: L.await_done ->
		L.await_done = 0;
		confirmed_now()
	:: else
	fi
}

/* --- synchronising, 4.5 --------------------------------------------------------- */

inline learn()
{
	L.peer_ltag = f_src;
	L.heard_inc = f_inc
}

inline hold_drop()
{
	hold_reset();
	L.hold_id = 0
}

inline forget_run(going)
{
	half_unknown(going);
	L.last_express = 0;
	L.unseen = 0;
	hold_drop();
	L.tx = 0;
	L.confirmed = 1;
	L.await_done = 0;
	L.peer_closing = 0
}

/* Start again: the two ends cannot both be right. */
inline broken()
{
	SAY(printf("DO %c broken\n", NAME(me)));
	unfit();
	if
	:: L.offer == OFFER_OUT -> offer_unknown(1)
	:: else
	fi;
	forget_run(1);
	fresh_inc();
	L.inc = fresh;
	L.peer_inc = 0;
	L.rx = 0;
	L.close_sent = 0;
	L.state = SYNC_SENT;
	begin = SYNC_SENT
}

inline heard()
{
	L.asked = 0;
	L.down = 0
}

/* The two tables of what an end may find. */
#define fits_in(n)	((n) == 0 || ((n) == 1 && L.hold == HOLD_HELD) || \
			 ((n) == -1 && L.last_express))
#define fits_out(n)	((n) == 0 || ((n) == -1 && !L.confirmed) || \
			 ((n) == 1 && L.offer == OFFER_OUT && L.offer_express))

/* The peer's end is not the one known before. */
inline new_peer()
{
	if
#if BREAK_RULE == 5
	:: 0
#else
	:: L.offer == OFFER_OUT && L.offer_express -> offer_unknown(0)
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
	if
	:: !fits_in(in_) || !fits_out(out_) -> broken()
	:: else ->
		if
		:: in_ == 1 -> hold_deliver()
		:: else ->
			half_back();
			hold_reset()
		fi;
		if
		:: in_ == 0 -> L.unseen = 0
		:: else
		fi;
		if
		:: out_ == 1 -> offer_committed()
		:: out_ == 0 -> offer_delivered()
		:: else
		fi;
		L.state = OPEN;
		L.attempt = 0;
		L.ready_due = 0;
		heard();
		send_sync(SYNC_ACK, L.peer_ltag);
		/* In this run nobody owes a READY for what stepped aside. */
		L.aside_ready = L.aside_id > 0;
		pump = (L.offer != OFFER_NONE -> PUMP_AGAIN : PUMP);
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
	if
	:: (in_ > 0 && !fits_in(in_)) || (out_ > 0 && !fits_out(out_)) ->
		impossible()
	:: else ->
		if
		:: in_ == 1 -> hold_deliver()
		:: in_ == 0 -> L.unseen = 0
		:: else
		fi;
		if
		:: out_ == 0 && !L.confirmed -> offer_delivered()
		:: else
		fi
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
	L.attempt = 0;
	L.down = 0;
	L.asked = 0;
	L.closing = 0;
	L.close_sent = 0;
	L.ready_due = 0;
	L.rx = 0;
	half_none();
	L.half_turn = 0;
	forget_run(1);
	L.next_id = 0;
	L.next_express = 0;
	L.next_confirm = 0;
	L.aside_id = 0;
	L.aside_express = 0;
	L.aside_confirm = 0;
	L.aside_ready = 0;
	offer_none()
}

/* The link is forgotten, whatever is in flight. */
inline end_link()
{
	if
	:: L.offer != OFFER_NONE && reversible() -> offer_reverse()
	:: L.offer != OFFER_NONE && !reversible() -> offer_unknown(1)
	:: else
	fi;
	drop_next();
	half_unknown(1);
	half_drop();
	SAY(printf("DO %c gone\n", NAME(me)));
	excuse();
	end_reset()
}

/* First what is in flight ends. */
inline close_step()
{
	if
	:: L.state == OPEN && (L.closing || L.peer_closing) && !ending ->
		if
		:: L.offer == OFFER_PARKED -> offer_reverse()
		:: else
		fi;
		half_drop();
		if
		:: L.offer != OFFER_NONE || L.hold == HOLD_HELD
		:: else ->
			if
			:: !L.confirmed && L.await_done
			:: !L.confirmed && !L.await_done ->
				L.await_done = 1;
				send(COMMIT, 1, L.tx, 0, 0)
			:: L.confirmed && L.peer_closing ->
				send(CLOSE_ACK, 0, 0, 0, 0);
				ending = 1
			:: L.confirmed && !L.peer_closing &&
			   (!L.close_sent || close_again) ->
				L.close_sent = 1;
				L.asked = 1;
				send(CLOSE, 0, 0, 0, 0);
				/* The peer may be in another run by now. */
				if
				:: close_again -> send_sync(SYNC, L.peer_ltag)
				:: else
				fi
			:: else
			fi
		fi
	:: else
	fi
}

/* --- a frame, section 3 ------------------------------------------------------------- */

inline data_of_run()
{
	if
	:: f_op == CLOSE_ACK ->
		if
		:: L.close_sent -> ending = 1
		:: else
		fi
	:: else ->
		run_progress();
		if
		:: L.state != OPEN
		:: L.state == OPEN && f_op == OFFER ->
			rcv_offer();
			/* A half may be back, or withdrawn. */
			pump = PUMP
		:: L.state == OPEN && f_op == REFLECT -> rcv_reflect()
		:: L.state == OPEN && f_op == REFUSE -> rcv_refuse()
		:: L.state == OPEN && f_op == REVERSE ->
			rcv_reverse();
			pump = PUMP
		:: L.state == OPEN && f_op == COMMIT && f_flag && f_tx == L.rx ->
			send(DONE, 0, L.rx, 0, 0)
		:: L.state == OPEN && f_op == READY ->
			L.aside_ready = L.aside_id > 0;
			if
			:: L.offer == OFFER_PARKED -> pump = PUMP_AGAIN
			:: L.offer == OFFER_OUT && f_seq == L.tx + 1 -> L.offer_ready = 1
			:: else
			fi
		:: L.state == OPEN && f_op == CLOSE ->
			if
			:: !L.peer_closing ->
				drop_next();
				half_drop()
			:: else
			fi;
			L.peer_closing = 1
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
#define says_resolved()	(frozen() && (f_op == OFFER || f_op == COMMIT) && \
			 f_dst == L.ltag && f_src == L.peer_ltag && L.heard_inc)

/* A frame for an end that has no link (4.6). */
inline stranger()
{
	if
	:: f_op == SYNC && f_dst == (COOKIE | f_src) ->
		SAY(printf("EV %c accept 1 0 %d %d %d %d 0 0 %d %d\n", NAME(me), f_src,
			   f_dst, f_tx, f_rx, f_inc, f_peer_inc));
		fresh_inc();
		L.inc = fresh;
		learn();
		begin = SYNC_RECD
	:: else ->
		SAY(printf("EV %c stranger\n", NAME(me)));
		if
		:: f_op == SYNC ->
			send_as(SYNC_CHK, 0, COOKIE | f_src, f_src, 0, 0, 0, 0, 0, 0)
		:: f_op == CLOSE ->
			send_as(CLOSE_ACK, 0, f_dst, f_src, 0, 0, 0, 0, 0, 0)
		:: f_op != SYNC && f_op > CLOSE_ACK && f_op != NOLINK ->
			send_as(NOLINK, 0, f_dst, f_src, 0, 0, 0, 0, 0, 0)
		:: else
		fi
	fi
}

inline rcv()
{
	if
	:: L.state == CLOSED -> stranger()
	:: else ->
		SAY(printf("EV %c rcv %d %d %d %d %d %d %d %d %d %d %d\n", NAME(me),
			   f_op, f_flag, f_src, f_dst, f_tx, f_rx, f_seq, f_attempt,
			   f_inc, f_peer_inc, room));
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
			f_peer_inc = L.inc
		:: else
		fi
	fi
}

/* Then, if the link is OPEN by now, what a data frame is for. */
inline rcv_data()
{
	if
	:: by_data -> f_id = by_data
	:: else
	fi;
	if
	:: L.state == OPEN && of_this_run() -> data_of_run()
	:: else
	fi
}
