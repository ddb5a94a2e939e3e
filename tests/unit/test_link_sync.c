// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of opening, freezing, resolving, closing and dying (DESIGN section
 * 4), one by one, frame by frame. How to read them: sim_hand.h.
 */
#include "sim_hand.h"

RULE_CLOSED(test_opening)
{
	struct sim_tx *tx = post(a, 0);

	pass(B, OAE_SYNC);
	assert_false(b->tag);			/* a stranger costs nothing */
	pass(A, OAE_SYNC_CHK);			/* a cookie */
	pass(B, OAE_SYNC);			/* which the stranger names */
	assert_true(b->tag);
	assert_int_equal(oae_link_state(&b->link), OAE_SYNC_RECD);
	pass(A, OAE_SYNC);			/* a fresh ltag, not the cookie */
	assert_int_equal(oae_link_state(&a->link), OAE_OPEN);
	pass(B, OAE_SYNC_ACK);
	assert_int_equal(oae_link_state(&b->link), OAE_OPEN);
	pass(B, OAE_OFFER);
	pass(A, OAE_SYNC_ACK);
	pass(A, OAE_REFLECT);
	pass(B, OAE_COMMIT);
	quiet();
	assert_committed(tx);
}

RULE_CLOSED(test_both_open_at_once)
{
	struct sim_tx *x = post(a, 0), *y = post(b, 0);

	flow();
	assert_committed(x);
	assert_committed(y);
	assert_int_equal(w.notes[OAE_N_OPENED], 2);
}

/* Nothing comes through until an end gives up. */
static void lose_all(void)
{
	unsigned int i;

	w.faults[A].lose = 1024;
	w.faults[B].lose = 1024;
	for (i = 0; i < 400 && !w.notes[OAE_N_STALL]; i++)
		wait_ms(1);
	assert_int_equal(w.notes[OAE_N_STALL], 1);
	w.faults[A].lose = 0;
	w.faults[B].lose = 0;
}

/*
 * One frame of the exchange is lost, and then all is well. Or that one and all behind it: then
 * the ends freeze before.
 */
static void lose_from(u8 flags, u8 lost, bool rest)
{
	struct sim_tx *tx;

	opened(NULL);
	tx = post(a, flags);
	if (lost == OAE_OFFER) {
		lose(B, OAE_OFFER);
	} else {
		pass(B, OAE_OFFER);
		if (lost == OAE_REFLECT) {
			lose(A, OAE_REFLECT);
		} else {
			pass(A, OAE_REFLECT);
			lose(B, OAE_COMMIT);
		}
	}
	quiet();
	if (rest)
		lose_all();
	wait_ms(60);
	assert_int_equal(w.notes[OAE_N_STALL] + w.notes[OAE_N_PEER_FROZE], rest ? 2 : 0);
	assert_int_equal(w.notes[OAE_N_RESOLVED], rest ? 2 : 0);
	assert_committed(tx);
	assert_int_equal(w.delivered, 2);
	assert_true(sim_settled(&w));
}

RULE_CLOSED(test_stall_and_resolve)
{
	unsigned int rest;

	for (rest = 0; rest < 2; rest++) {
		lose_from(0, OAE_OFFER, rest);
		lose_from(0, OAE_REFLECT, rest);
		lose_from(0, OAE_COMMIT, rest);
		lose_from(OAE_POST_EXPRESS, OAE_OFFER, rest);
		lose_from(OAE_POST_EXPRESS, OAE_REFLECT, rest);
	}
}

RULE(test_sync_at_open)
{
	struct oae_frame f;
	u32 ltag;

	ltag = a->link.ltag;
	f = forged(a, OAE_SYNC);
	f.sync.inc = b->link.inc;
	f.sync.peer_inc = a->link.inc;

	/* Repeated, even naming a stale ltag of mine: SYNC_ACK. */
	f.dst_ltag = ltag ^ 1;
	inject(a, f);
	lose(B, OAE_SYNC_ACK);

	/* New, not naming my ltag: SYNC_CHK, and I stay as I am. */
	f.src_ltag ^= 2;
	inject(a, f);
	lose(B, OAE_SYNC_CHK);
	assert_int_equal(a->link.ltag, ltag);
	assert_int_equal(oae_link_state(&a->link), OAE_OPEN);

	/* New, and naming it: genuine. */
	f.dst_ltag = ltag;
	inject(a, f);
	assert_int_not_equal(a->link.ltag, ltag);
	assert_int_equal(oae_link_state(&a->link), OAE_SYNC_RECD);
	lose(B, OAE_SYNC);
}

/* Rule 1: a frame of the run before, of either end, is of no use. */
RULE(test_both_ltags)
{
	struct sim_tx *tx = post(a, 0);
	struct sim_pkt late = *expect(B, OAE_OFFER);

	sim_port(a, false);
	sim_port(a, true);
	while (b->link.ltag == get_unaligned_be32(late.buf + OAE_OFF_DST_LTAG) ||
	       oae_link_state(&b->link) != OAE_OPEN) {
		unsigned int to = !!w.to[B].n;

		sim_arrive(&w, to, sim_take(&w, to, 0));
	}
	sim_arrive(&w, B, &late);
	assert_int_equal(w.notes[OAE_N_OLD_RUN], 1);
	flow();
	assert_committed(tx);
	assert_int_equal(w.delivered, 2);
}

RULE(test_new_peer_atomic)
{
	struct sim_tx *tx = post(a, 0);

	pass(B, OAE_OFFER);			/* held, and then */
	sim_crash(b);
	lose(A, OAE_REFLECT);
	wait_ms(60);
	assert_int_equal(w.notes[OAE_N_PEER_NEW], 1);
	assert_committed(tx);			/* by the next incarnation */
}

RULE(test_new_peer_express)
{
	struct sim_tx *x = post(a, OAE_POST_EXPRESS), *y;

	y = post(a, OAE_POST_EXPRESS);		/* not offered yet */
	pass(B, OAE_OFFER);
	sim_crash(b);
	lose(A, OAE_REFLECT);
	wait_ms(60);
	assert_true(x->ended && x->outcome == OAE_UNKNOWN);
	assert_int_equal(x->err, OAE_E_UNKNOWN);
	assert_committed(y);
}

RULE(test_new_peer_unconfirmed)
{
	post(a, 0);
	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	lose(B, OAE_COMMIT);
	sim_crash(b);
	post(b, 0);				/* it comes back */
	flow();
	assert_int_equal(w.notes[OAE_N_UNCONFIRMED], 1);
	sim_check_end(&w);
}

RULE(test_new_peer_held)
{
	struct sim_tx *tx = post(a, 0);

	pass(B, OAE_OFFER);
	sim_crash(a);				/* undecided */
	lose(A, OAE_REFLECT);
	post(a, 0);
	flow();
	assert_int_equal(w.notes[OAE_N_HELD_LOST], 1);
	assert_false(tx->delivered);
}

/* A peer that has forgotten the link says so: no stall is waited for. */
RULE(test_nolink)
{
	struct sim_tx *tx;
	u64 then;

	sim_crash(b);
	then = w.now;
	tx = post(a, 0);
	pass(B, OAE_OFFER);
	pass(A, OAE_NOLINK);
	assert_int_equal(w.notes[OAE_N_NOLINK], 1);
	flow();
	assert_committed(tx);
	assert_true(w.now - then < SIM_MS);
}

RULE(test_nolink_stale)
{
	struct oae_frame f = forged(a, OAE_NOLINK);

	f.dst_ltag ^= 1;
	inject(a, f);
	assert_int_equal(oae_link_state(&a->link), OAE_OPEN);
	quiet();
}

/* A transaction in flight ends before CLOSE says LAST. */
RULE(test_close_in_flight)
{
	struct sim_tx *x = post(a, 0), *y = post(a, 0);

	sim_close(a);
	assert_reversed(y, OAE_E_SHUTDOWN);
	assert_int_equal(oae_link_state(&a->link), OAE_CLOSE_SENT);
	pass(B, OAE_OFFER);
	pass(B, OAE_CLOSE);
	assert_int_equal(oae_link_state(&b->link), OAE_CLOSE_RECD);
	pass(A, OAE_REFLECT);
	pass(B, OAE_COMMIT);
	pass(A, OAE_DONE);
	pass(B, OAE_CLOSE);
	assert_false(b->tag);
	pass(A, OAE_CLOSE_ACK);
	assert_false(a->tag);
	quiet();
	assert_committed(x);
}

/* CLOSE goes out at once; what is held here is the peer's to decide. */
RULE(test_close_holding)
{
	struct sim_tx *x = post(b, 0), *y = post(b, 0);

	pass(A, OAE_OFFER);
	sim_close(a);
	pass(B, OAE_REFLECT);
	assert_true(x->ended && x->outcome == OAE_COMMITTED);
	pass(A, OAE_OFFER);			/* the commit; no more is taken */
	assert_committed(x);
	pass(B, OAE_CLOSE);
	assert_reversed(y, OAE_E_PEER_CLOSED);
	flow();
	assert_false(a->tag || b->tag);

	/* What the peer then offers again is not held any more. */
	open_link();
	x = post(b, 0);
	pass(A, OAE_OFFER);
	lose(B, OAE_REFLECT);
	sim_close(a);
	lose(B, OAE_CLOSE);
	lose_all();
	wait_ms(200);				/* sim_timer() counts */
	assert_false(a->tag || b->tag);
	assert_reversed(x, OAE_E_PEER_CLOSED);
}

/*
 * The peer sends on and on: each offer carries the commit of the one before. The
 * end that closes takes none of them, whatever it is.
 */
RULE_CLOSED(test_close_busy_peer)
{
	unsigned int i, kind, slices;
	unsigned long before;

	for (kind = 0; kind < 4; kind++) {
		slices = kind == 3 ? 3 : 1;
		open_link();
		for (i = 0; i < 60; i++)
			sim_post(b, 20 * slices, 20,
				 kind == 2 ? OAE_VERB : OAE_MESSAGE,
				 kind == 1 ? OAE_POST_EXPRESS : 0);
		before = w.delivered;
		while (w.delivered < before + 5) {
			w.now += SIM_US;
			sim_run(&w, sim_next_event(&w));
			sim_read(a);
		}
		before = w.delivered;
		sim_close(a);
		wait_ms(50);
		assert_false(a->tag || b->tag);
		assert_true(w.delivered - before <= 1);
	}
}

RULE(test_close_ack_lost)
{
	sim_close(a);
	pass(B, OAE_CLOSE);
	lose(A, OAE_CLOSE_ACK);
	assert_true(a->tag);
	wait_ms(50);				/* B has no tag, and answers */
	assert_false(a->tag);
}

/*
 * Found by the explorer: B freezes once more, A resolves against the answer to
 * its SYNC of before, and B against the newest. Both are OPEN, and each takes
 * the other's frames for those of another run.
 */
static void two_runs(void)
{
	open_link();
	b->link.ltag++;
}

/* An idle pair was only healed by giving the peer up for dead. */
RULE_CLOSED(test_two_runs_idle)
{
	two_runs();
	wait_ms(150);
	assert_int_equal(w.notes[OAE_N_DOWN], 0);
	assert_int_equal(w.notes[OAE_N_RESOLVED], 2);
	assert_int_equal(a->link.peer.ltag, b->link.ltag);
	assert_int_equal(b->link.peer.ltag, a->link.ltag);
}

/* And CLOSE was repeated until then. */
RULE_CLOSED(test_two_runs_closing)
{
	two_runs();
	sim_close(a);
	wait_ms(60);
	assert_int_equal(w.notes[OAE_N_DOWN], 0);
	assert_false(a->tag);
	assert_false(b->tag);
}

RULE(test_crossing_closes)
{
	struct sim_tx *x = post(a, 0), *y = post(b, 0);

	sim_close(a);
	sim_close(b);
	flow();
	wait_ms(50);
	assert_false(a->tag);
	assert_false(b->tag);
	assert_reversed(x, OAE_E_SHUTDOWN);	/* neither was held yet */
	assert_reversed(y, OAE_E_SHUTDOWN);
}

RULE(test_close_peer_posts)
{
	struct sim_tx *x = post(b, 0), *y = post(b, 0);

	sim_close(a);
	flow();
	wait_ms(50);
	assert_false(a->tag || b->tag);
	assert_reversed(x, OAE_E_PEER_CLOSED);
	assert_reversed(y, OAE_E_PEER_CLOSED);
}

RULE_CLOSED(test_turned_away)
{
	struct sim_tx *tx;

	b->shut = true;
	tx = post(a, 0);
	pass(B, OAE_SYNC);
	pass(A, OAE_CLOSE);
	assert_reversed(tx, OAE_E_REFUSED);
	assert_false(a->tag);
	quiet();
}

RULE(test_keepalive)
{
	wait_ms(1000);
	assert_true(w.notes[OAE_N_PROBE] >= 9);
	assert_true(w.notes[OAE_N_PROBE] <= 22);
	assert_int_equal(w.notes[OAE_N_STALL], 0);
	assert_int_equal(w.notes[OAE_N_DOWN], 0);
}

RULE(test_dead_and_up_again)
{
	struct sim_tx *x = post(a, 0), *y = post(a, OAE_POST_EXPRESS), *z;

	b->port_up = false;			/* a cable, not a port */
	wait_ms(700);
	assert_int_equal(w.notes[OAE_N_DOWN], 2);	/* both ends */
	assert_reversed(x, OAE_E_DOWN);
	assert_reversed(y, OAE_E_DOWN);
	b->port_up = true;
	wait_ms(300);
	assert_int_equal(w.notes[OAE_N_UP], 2);
	assert_int_equal(w.notes[OAE_N_PEER_NEW], 0);
	z = post(a, 0);
	flow();
	assert_committed(z);
}

/* An express in flight is not reversed when the peer is not heard. */
RULE(test_dead_express_waits)
{
	struct sim_tx *tx = post(a, OAE_POST_EXPRESS);

	pass(B, OAE_OFFER);
	lose(A, OAE_REFLECT);
	b->port_up = false;
	wait_ms(2000);
	assert_false(tx->ended);
	b->port_up = true;
	wait_ms(500);
	assert_committed(tx);
	assert_int_equal(w.delivered, 2);
}

/* What is held waits for its sender, dead or not. */
RULE(test_dead_held_waits)
{
	struct sim_tx *tx = post(a, 0);

	pass(B, OAE_OFFER);
	pass(A, OAE_REFLECT);
	lose(B, OAE_COMMIT);
	b->port_up = false;
	wait_ms(20000);
	assert_false(tx->delivered);
	b->port_up = true;
	wait_ms(500);
	assert_committed(tx);
}

/* Counters that cannot be, in SYNC: counted, and both ends start again. */
RULE_CLOSED(test_broken)
{
	struct oae_frame f;
	struct sim_tx *tx;
	u64 inc;

	w.hostile = true;
	open_link();
	inc = a->link.inc;
	sim_port(a, false);
	sim_port(a, true);
	while (w.to[B].n)
		lose(B, OAE_SYNC);
	f = forged(a, OAE_SYNC);
	f.tx += 1000;
	f.sync.inc = b->link.inc;
	f.sync.peer_inc = a->link.inc;
	inject(a, f);
	assert_int_equal(w.notes[OAE_N_BROKEN], 1);
	assert_true(a->link.inc != inc);
	flow();
	tx = post(a, 0);
	flow();
	assert_committed(tx);
}

/* As the frames there say, and not what was posted. */
static void no_hashes(struct oae_actions *act, u32 seq, unsigned int n, u64 *hash)
{
	(void)act;
	(void)seq;
	memset(hash, 0, n * sizeof(*hash));
}

static void no_post_hashes(struct oae_actions *act, const struct oae_post *p, u64 *hash)
{
	no_hashes(act, 0, p->nslices, hash);
}

static void no_cut(struct oae_actions *act, struct oae_post *p, u16 max)
{
	(void)act;
	p->slice_max = max;
}

static u16 no_verb(struct oae_actions *act, u32 seq, u16 *reply)
{
	(void)act;
	(void)seq;
	(void)reply;
	return OAE_R_NO_REGION;
}

/*
 * Whatever a peer that knows the ltags sends: the link neither overflows nor
 * holds more than its limit, and never forgets its timer.
 */
RULE_CLOSED(test_hostile)
{
	u64 none[2] = { 0 };
	struct oae_frame f;
	unsigned int i, round;

	for (round = 0; round < 200; round++) {
		sim_init(&w, round);
		w.hostile = true;
		a->cfg.max_len = 500;
		post(a, 0);
		flow();
		for (i = 0; i < 300 && a->tag; i++) {
			struct oae_actions act = {
				.hashes = no_hashes, .post_hashes = no_post_hashes,
				.verb = no_verb, .cut = no_cut,
			};

			f = forged(a, 1 + sim_upto(&w, OAE_OPCODE_END - 1));
			f.flags = sim_upto(&w, 0x20);
			f.tx += sim_upto(&w, 4) - 1;
			f.rx += sim_upto(&w, 4) - 1;
			f.seq = a->link.rx + sim_upto(&w, 3);
			f.kind = sim_upto(&w, 8) ? 0 : sim_upto(&w, OAE_KIND_END);
			f.reason = sim_upto(&w, OAE_REASON_END);
			if (f.opcode == OAE_CLOSE || f.opcode == OAE_CLOSE_ACK)
				f.dst_ltag ^= !!sim_upto(&w, 20);
			f.slice = sim_upto(&w, 64);
			f.length = sim_upto(&w, 100);
			if (f.opcode <= OAE_SYNC_CHK) {
				f.src_ltag ^= !sim_upto(&w, 4);
				f.dst_ltag ^= !sim_upto(&w, 4);
				f.sync.inc = sim_upto(&w, 4) ? a->link.peer.inc :
							       sim_rand(&w);
				f.sync.peer_inc = sim_upto(&w, 4) ?
						  a->link.inc : 7;
				f.sync.start = sim_rand(&w);
				f.sync.mtu = sim_rand(&w);
				f.sync.max_len = sim_rand(&w);
				f.sync.kept = sim_upto(&w, 4);
				f.sync.hash = oae_kept_hash(f.sync.kept, none);
				f.sync.last = sim_upto(&w, 3);
			} else if (f.opcode == OAE_REFLECT && sim_upto(&w, 2)) {
				f.reflect.digest = a->link.offer.p.digest;
				f.reflect.first = a->link.offer.p.first;
			}
			w.now += sim_upto(&w, 200) * SIM_US;
			oae_link_rcv(&a->link, &f, sim_upto(&w, 2), w.now, &act);
			assert_false(act.overflow);
			assert_true(act.nsends <= OAE_MAX_SENDS);
			assert_true(a->link.hold.len <= a->cfg.max_len);
			if (a->link.state == OAE_CLOSED)
				break;
			assert_true(a->link.timer.at && a->link.ltag);
			if (a->link.timer.at <= w.now) {
				act.nops = 0;
				act.nsends = 0;
				oae_link_timer(&a->link, w.now, &act);
				assert_false(act.overflow);
			}
		}
	}
}

UNIT_MAIN("rules of synchronising")
