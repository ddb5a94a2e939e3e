// SPDX-License-Identifier: GPL-2.0
/*
 * Paths that carry SYNC, but not what is offered: which of them a freeze avoids (doc/protocol.md
 * section 4.14, *Avoid*), and when the link gives up (4.1). test_path_short.c lets two links live
 * with such lines.
 */
#include "three_paths.h"

#define FEW	3		/* fruitless failures until another path is tried */
#define MANY	16		/* and until it is no use */

static void ended_at(enum oae_state before)
{
	oae_paths_ended(&ps, &l, before, now);
}

static void froze(void)
{
	l.state = OAE_SYNC_SENT;
	l.repeated = false;
	l.again_iv = 0;
	ended_at(OAE_OPEN);
}

static void resolves_by(unsigned int i)
{
	l.state = OAE_OPEN;
	ps.resolved = i;
	ps.used = i;
	ended_at(OAE_SYNC_SENT);
}

/* The offer fails by the path in use: a row of so many failures. */
static void fails(unsigned int row)
{
	l.fruitless = row;
	froze();
}

/* --- nothing has moved ------------------------------------------------------------------ */

PATH_TEST(test_avoid)
{
	struct oae_frame sync = frame(OAE_SYNC);

	/* The one that has won each time, not the one that is in use by now. */
	ps.resolved = 1;
	ps.used = 2;
	/* Since the paths began nothing has moved: that says nothing. */
	froze();
	froze();
	assert_int_equal(ps.avoid, 0);
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), ALL);
	froze();
	assert_int_equal(ps.avoid, 0x2);
	/* The first SYNC does not go there, and is not heard there. */
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x5);
	assert_int_equal(out(OAE_SYNC, 1, OAE_OPEN), 0x5);
	assert_true(heard_is(1, sync, false));
	assert_int_equal(ps.path[1].heard, 0);
	assert_true(heard_is(2, sync, true));
	/* An answer is no repeat: the timer decides. */
	l.syncs = 2;
	assert_true(heard_is(1, sync, false));
	/* Data are, and its repeats are and do. */
	assert_true(heard_is(1, frame(OAE_OFFER), true));
	assert_int_equal(out(OAE_SYNC, -1, OAE_SYNC_SENT), ALL);
	l.repeated = true;
	assert_true(heard_is(1, sync, true));
	l.repeated = false;
	l.state = OAE_OPEN;
	assert_true(heard_is(1, sync, true));
	/* Only this time. */
	froze();
	assert_int_equal(ps.avoid, 0);
	assert_true(heard_is(1, sync, true));
	froze();
	assert_int_equal(ps.avoid, 0x2);
}

PATH_TEST(test_avoid_not)
{
	unsigned int i;

	/* Something moves each second time: tx, or rx. */
	for (i = 0; i < 12; i++) {
		if (i & 2)
			l.tx += !(i & 1);
		else
			l.rx += !(i & 1);
		froze();
		assert_int_equal(ps.avoid, 0);
	}
	/* There is no other that could be heard. */
	ps.path[1].proven = false;
	ps.path[2].up = false;
	for (i = 0; i < 6; i++) {
		froze();
		assert_int_equal(ps.avoid, 0);
	}
	/* Now there is. */
	ps.path[2].up = true;
	froze();
	assert_int_equal(ps.avoid, 0x1);
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x4);
	/* And it goes: rather there than nowhere. */
	ps.path[2].up = false;
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x1);
}

/* --- a row of fruitless failures ---------------------------------------------------------- */

/* Three failures: the others are heard first. They are tried one after the other, then all. */
PATH_TEST(test_row_avoids)
{
	fails(FEW - 1);
	assert_int_equal(ps.avoid, 0);
	fails(FEW);
	assert_int_equal(ps.avoid, 0x1);
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x6);
	assert_true(heard_is(0, frame(OAE_SYNC), false));
	l.fruitless_at = 5;
	resolves_by(1);
	assert_int_equal(l.fruitless, 0);
	assert_int_equal(ps.path[0].offer_row, FEW);
	l.fruitless_at = 6;
	/* In the other direction much goes on. */
	l.rx++;
	fails(FEW);
	assert_int_equal(ps.avoid, 0x3);
	assert_int_equal(out(OAE_SYNC, -1, OAE_OPEN), 0x4);
	resolves_by(2);
	l.rx++;
	fails(FEW);
	assert_int_equal(ps.avoid, 0);
	resolves_by(0);
	assert_int_equal(l.fruitless, FEW);
	assert_int_equal(l.fruitless_at, 5);
	l.rx++;
	fails(MANY - 1);
	assert_int_equal(ps.avoid, 0);
	/* By this one it has failed most: as long as another one is better, that is tried again. */
	l.rx++;
	fails(MANY);
	assert_int_equal(ps.avoid, 0x1);
}

/* A half that is lent has a row of its own. */
PATH_TEST(test_row_of_a_half)
{
	l.half.fruitless = FEW;
	l.swaps->fruitless_at = 5;
	froze();
	/* There is none: it was taken, or taken back. */
	assert_int_equal(ps.avoid, 0);
	l.half.state = OAE_HALF_LENT;
	froze();
	assert_int_equal(ps.avoid, 0x1);
	resolves_by(2);
	assert_int_equal(l.half.fruitless, 0);
	assert_int_equal(l.swaps->fruitless_at, 0);
	/* By that one halves do not get through: no reason to try messages there. */
	ps.path[1].half_row = FEW;
	l.fruitless = FEW;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_TRIED);
	l.fruitless = 0;
	l.half.fruitless = 1;
	resolves_by(0);
	assert_int_equal(l.half.fruitless, FEW);
	assert_int_equal(l.swaps->fruitless_at, 5);
	assert_int_equal(ps.path[2].half_row, 1);
}

/* What gets through ends the rows of all paths. */
PATH_TEST(test_row_ends)
{
	post(&x, 1, 0);
	fails(FEW);
	resolves_by(1);
	l.fruitless = 2;
	ended_at(OAE_OPEN);
	assert_int_equal(ps.path[0].offer_row, FEW);
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
	ended_at(OAE_OPEN);
	assert_int_equal(l.fruitless, 0);
	assert_int_equal(ps.path[0].offer_row, 0);
	fails(FEW);
	assert_int_equal(ps.avoid, 0x2);
}

/* What would not carry it either is no other path. */
PATH_TEST(test_no_other)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		three(NULL);
		oae_path_del(&ps, 2);
		ps.path[1].up = i != 0;
		ps.path[1].proven = i != 1;
		ps.path[1].missed = i == 2 ? 2 : 1;
		ps.path[1].good = false;
		fails(FEW);
		assert_int_equal(ps.avoid, i == 3);
		assert_int_equal(l.others, i == 3 ? OAE_OTHERS_NEW : OAE_OTHERS_NONE);
	}
}

/* Who answers nothing is tried again, but not for ever; then the link goes on as it can. */
PATH_TEST(test_unheard)
{
	unsigned int i;

	for (i = 0; i < FEW; i++) {
		fails(FEW);
		assert_int_equal(ps.avoid, 0x1);
		assert_int_equal(l.others, OAE_OTHERS_NEW);
		resolves_by(0);
	}
	assert_int_equal(ps.path[1].offer_row, FEW);
	assert_int_equal(ps.path[2].offer_row, FEW);
	assert_int_equal(l.others, OAE_OTHERS_TRIED);
	fails(FEW);
	assert_int_equal(ps.avoid, 0);
	/* That is not said of one that was not avoided, and of those that are. */
	resolves_by(0);
	assert_int_equal(ps.path[1].offer_row, FEW);
	assert_int_equal(l.fruitless, FEW);
}

/* What a half has lost is counted for a half. */
PATH_TEST(test_unheard_half)
{
	l.half.fruitless = FEW;
	l.half.state = OAE_HALF_LENT;
	froze();
	resolves_by(0);
	assert_int_equal(ps.path[1].half_row, 1);
	assert_int_equal(ps.path[1].offer_row, 0);
	/* A message of this end that gets through says nothing of it; another half does. */
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	ended_at(OAE_OPEN);
	assert_int_equal(ps.path[1].half_row, 1);
	l.half.state = OAE_HALF_NONE;
	post_half(&y);
	ended_at(OAE_OPEN);
	assert_int_equal(ps.path[1].half_row, 0);
	assert_int_equal(l.half.fruitless, 0);
}

/* Nothing is given up that another path may carry: each has a row, which lasts for dead_ms. */
PATH_TEST(test_hopeless_by_all)
{
	unsigned int i;

	for (i = 0; i <= 2; i++) {
		resolves_by(i);
		l.fruitless = MANY;
		l.fruitless_at = now;
		ended_at(OAE_OPEN);
	}
	now += cfg.dead - 1;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_TRIED);
	now++;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_NONE);
	ps.path[1].offer_row = MANY - 1;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_TRIED);
	/* A half is as good a proof. */
	ps.path[1].half_row = MANY;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_NONE);
}

/* The path in use moves to the place of the own one, which is gone, and its row with it. */
PATH_TEST(test_row_moves)
{
	unsigned int used;

	for (used = 0; used <= 2; used += 2) {
		three(NULL);
		ps.path[2].offer_row = 7;
		resolves_by(used);
		l.fruitless = used ? 9 : 5;
		oae_paths_move(&ps, 2, now);
		ended_at(OAE_OPEN);
		assert_int_equal(ps.used, OAE_PATH_OWN);
		assert_int_equal(l.fruitless, used ? 9 : 7);
	}
}

/* A path that is forgotten takes its rows with it, also if it was in use. */
PATH_TEST(test_row_forgotten)
{
	resolves_by(1);
	l.fruitless = 7;
	oae_path_del(&ps, 1);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	ended_at(OAE_OPEN);
	assert_int_equal(ps.used, OAE_PATH_OWN);
	assert_int_equal(l.fruitless, 0);
	assert_int_equal(ps.path[1].offer_row, 0);
}

/* A clock that has stepped back proves nothing. */
PATH_TEST(test_another_clock)
{
	resolves_by(1);
	l.fruitless = MANY;
	l.fruitless_at = now;
	resolves_by(0);
	oae_path_del(&ps, 2);
	l.fruitless = MANY;
	l.fruitless_at = now;
	now -= 5000 * MS;
	l.now = now;
	ended_at(OAE_OPEN);
	assert_int_equal(l.others, OAE_OTHERS_TRIED);
}

/* A limit of slices is that of one path. Its own MTU ends it, another path's does not. */
PATH_TEST(test_cut_of_a_path)
{
	ended_at(OAE_OPEN);
	ps.path[1].mtu = 1400;
	l.cut = 500;
	l.fruitless = 2;
	set_mtu(1400);
	resolves_by(1);
	assert_int_equal(l.cut, 0);
	assert_int_equal(ps.path[0].cut, 500);
	assert_int_equal(ps.path[0].offer_row, 2);
	l.cut = 600;
	l.fruitless = 1;
	set_mtu(1500);
	l.state = OAE_SYNC_SENT;
	rcv(BUT(resolved(), f.sync.mtu = 1450));
	resolves_by(0);
	assert_int_equal(l.cut, 500);
	assert_int_equal(l.cut_at, now);
	assert_int_equal(l.fruitless, 2);
	assert_int_equal(ps.path[1].cut, 600);
	/* The port's; the peer's; and a carrier that is lost. */
	ps.path[0].mtu = 1300;
	ended_at(OAE_OPEN);
	assert_int_equal(l.cut, 0);
	assert_int_equal(l.fruitless, 0);
	assert_int_equal(ps.path[1].cut, 600);
	l.cut = 500;
	ended_at(OAE_OPEN);
	assert_int_equal(l.cut, 500);
	/* That of a path that is not in use. */
	ps.path[1].offer_row = 1;
	ps.path[1].half_row = 1;
	oae_path_carries(&ps.path[1], 1400);
	assert_int_equal(ps.path[1].cut, 600);
	assert_int_equal(ps.path[1].offer_row, 1);
	oae_path_carries(&ps.path[1], 1401);
	assert_int_equal(ps.path[1].mtu, 1401);
	assert_int_equal(ps.path[1].cut + ps.path[1].offer_row + ps.path[1].half_row, 0);
	ps.path[1].cut = 600;
	l.peer_mtu = 1200;
	ended_at(OAE_OPEN);
	assert_int_equal(l.cut, 0);
	l.cut = 500;
	ps.path[0].up = false;
	resolves_by(1);
	assert_int_equal(l.cut, 600);
	resolves_by(0);
	assert_int_equal(l.cut, 0);
	/* Another peer has other switches before it. */
	ps.path[1].cut = 600;
	ps.path[1].offer_row = 2;
	ps.path[1].half_row = 2;
	l.peer_inc++;
	oae_paths_pair(&ps, &l);
	assert_int_equal(ps.path[1].cut, 0);
	assert_int_equal(ps.path[1].offer_row, 0);
	assert_int_equal(ps.path[1].half_row, 0);
}

/* Cut smaller by this path, others are not: what they did not carry they will not now. */
PATH_TEST(test_cut_ends_one_row)
{
	struct oae_post p = {
		.handle = &x, .digest = DIGEST, .first = 1, .len = 3000, .slice_max = 1452,
		.nslices = 3,
	};

	post_it(&p);
	ended_at(OAE_OPEN);
	ps.path[1].offer_row = FEW;
	ps.path[2].offer_row = FEW;
	ps.rows_kept = true;
	l.fruitless = FEW - 1;
	ended_at(OAE_OPEN);
	ack(4);
	assert_int_equal(noted(OAE_N_CUT), 1);
	ended_at(OAE_OPEN);
	assert_int_equal(l.fruitless, 0);
	assert_int_equal(ps.path[1].offer_row, FEW);
}

/* SYNC is repeated, and by all paths, only when the slowest that is left can have answered. */
PATH_TEST(test_wait)
{
	cfg.dead = 4000 * MS;
	ps.path[0].rtt = 900 * MS;
	ps.path[1].rtt = 20 * MS;
	ps.path[2].rtt = 300 * MS;
	fails(FEW);
	assert_int_equal(l.again_iv, 600 * MS);
	assert_int_equal(l.again_at, now + 600 * MS);
	ps.path[2].rtt = 600 * MS;
	froze();
	assert_int_equal(l.again_iv, 1000 * MS);
	/* Not when it waits for longer in any case, nor when none is avoided. */
	l.again_iv = 1001 * MS;
	ended_at(OAE_OPEN);
	assert_int_equal(l.again_iv, 1001 * MS);
	l.fruitless = 0;
	l.tx++;
	froze();
	assert_int_equal(l.again_iv, 0);
}

/* What took longer than the dead time was measured by a clock that jumped. */
PATH_TEST(test_no_way)
{
	l.srtt = 5 * MS;
	ps.path[1].rtt = l.cfg->dead + 1;
	resolves_by(1);
	assert_int_equal(l.srtt, 5 * MS);
}

/* By a longer way an answer takes longer; but one probe may have been slow. */
PATH_TEST(test_longer_way)
{
	l.srtt = 5 * MS;
	ps.path[0].rtt = 5 * MS;
	ps.path[1].rtt = 50 * MS;
	resolves_by(1);
	assert_int_equal(l.srtt, 50 * MS);
	assert_true(oae_link_pto(&l) >= 100 * MS);
	/* The first that is measured counts, and then each a little. */
	post(&x, 1, 0);
	now += 8 * MS;
	rcv(answer(OAE_REFLECT));
	assert_int_equal(l.srtt, 8 * MS | 1);
	post(&x, 1, 0);
	now += 16 * MS;
	rcv(answer(OAE_REFLECT));
	assert_in_range(l.srtt, 9 * MS - 1, 9 * MS + 1);
	/* By a shorter way that is learned. */
	resolves_by(0);
	assert_in_range(l.srtt, 9 * MS - 1, 9 * MS + 1);
	assert_false(l.rtt_guessed);
}

/* --- what the link does with it ----------------------------------------------------------- */

static void post_long(u16 len, u16 cut)
{
	post_it(&(struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = len,
		.slice_max = cut, .nslices = (len + cut - 1) / cut,
	});
}

/* Only LAST gets through; another path is tried before slices are cut smaller. */
LINK_TEST(test_not_cut)
{
	unsigned int i;

	post_long(3000, 1452);
	for (i = 0; i < FEW - 1; i++) {
		ack(4);
		assert_non_null(sent(OAE_OFFER));
	}
	l.others = OAE_OTHERS_NEW;
	ack(4);
	assert_int_equal(noted(OAE_N_STALL), 1);
	assert_int_equal(noted(OAE_N_CUT), 0);
	rcv(resolved());
	assert_non_null(sent(OAE_OFFER));
	/* None is left. */
	l.others = OAE_OTHERS_TRIED;
	ack(4);
	assert_int_equal(noted(OAE_N_CUT), 0);
	ack(4);
	assert_int_equal(noted(OAE_N_CUT), 1);
}

/* What cannot be cut: to another path after three failures, or once more after sixteen. */
LINK_TEST(test_not_answered)
{
	static const unsigned int answered[] = {
		[OAE_OTHERS_NONE] = MANY, [OAE_OTHERS_TRIED] = MANY, [OAE_OTHERS_NEW] = FEW,
	};
	unsigned int i, others;

	for (others = OAE_OTHERS_NONE; others <= OAE_OTHERS_NEW; others++) {
		open_link(NULL);
		post_long(150, 75);
		l.offer.p.len = 64 * 75;
		l.offer.p.nslices = 64;
		l.offer.sent = ~0ULL;
		l.fruitless_at = now;
		l.others = others;
		for (i = 1; i < 40 && l.state == OAE_OPEN; i++) {
			l.fruitless = i - 1;
			l.offer.lacks = 63;
			ack(1ULL << 63);
			assert_int_equal(!!sent(OAE_OFFER), i < answered[others]);
		}
		assert_int_equal(i - 1, others == OAE_OTHERS_NONE ? 39 : answered[others]);
	}
}

/* A verb has failed for long enough by this path, but not by all. */
LINK_TEST(test_not_given_up)
{
	cfg.dead = 100000 * MS;
	post_kind(&x, OAE_VERB, 200, 8);
	l.fruitless = MANY + 8;
	l.fruitless_at = now - cfg.dead;
	for (l.others = OAE_OTHERS_NEW; l.others; l.others--) {
		l.backoff = 0;
		/* Nor does it wait long there. */
		assert_true(oae_link_pto(&l) <= cfg.stall_max);
		while (l.state == OAE_OPEN)
			fire_at(l.timer_at);
		assert_int_equal(noted(OAE_N_STALL), 1);
		assert_int_equal(noted(OAE_N_CUT), 0);
		rcv(resolved());
		assert_non_null(sent(OAE_OFFER));
	}
	l.backoff = 0;
	assert_true(oae_link_pto(&l) > cfg.stall_max);
	while (l.state == OAE_OPEN)
		fire_at(l.timer_at);
	assert_int_equal(noted(OAE_N_CUT), 1);
	rcv(resolved());
	assert_reversed(&x, OAE_E_TOO_BIG);
}

/* Nor is a half that is lent. */
LINK_TEST(test_half_not_given_up)
{
	post_kind(&x, OAE_SWAP, 73, 0);
	refuse(OAE_R_NO_HALF);
	rcv(offer_kind(1, OAE_SWAP));
	assert_int_equal(l.half.state, OAE_HALF_LENT);
	l.half.fruitless = 40;
	l.swaps->fruitless_at = now - cfg.dead;
	l.others = OAE_OTHERS_TRIED;
	while (l.state == OAE_OPEN)
		fire_at(l.timer_at);
	assert_int_equal(l.swaps->cancelled, 0);
	l.others = OAE_OTHERS_NONE;
	rcv(resolved());
	rcv(offer_kind(1, OAE_SWAP));
	while (l.state == OAE_OPEN)
		fire_at(l.timer_at);
	assert_int_equal(l.swaps->cancelled, OAE_E_TOO_BIG);
}

/* SYNC is repeated by the timer, not by an answer. */
LINK_TEST(test_repeated)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		port_down();
		assert_false(l.repeated);
		rcv(BUT(frame(OAE_SYNC), f.src_ltag += 0x100, f.dst_ltag = 0x77));
		assert_non_null(sent(OAE_SYNC));
		assert_false(l.repeated);
		fire_at(l.again_at);
		assert_non_null(sent(OAE_SYNC));
		assert_true(l.repeated);
		rcv(resolved());
	}
}

/* A commit ends the row, though nothing else is offered behind it. */
LINK_TEST(test_commit_ends_row)
{
	u8 rows;

	post(&x, 1, 0);
	l.fruitless = 5;
	rows = l.rows;
	rcv(answer(OAE_REFLECT));
	assert_int_equal(l.fruitless, 0);
	assert_int_not_equal(l.rows, rows);
}

UNIT_MAIN("path avoid")
