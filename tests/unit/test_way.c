// SPDX-License-Identifier: GPL-2.0
/*
 * Ways: which gateway a port believes, and which way a tag goes, each event in
 * each situation (doc/protocol.md section 4.8). What is expected is said here in
 * the order of the document, not in that of the code.
 */
#include "../../modoae/link/way.h"
#include "one_link.h"

#define S		(1000 * MS)
#define LIFE		30		/* in a HELLO: 3 s */
#define NODE_LIFE	90		/* 9 s: it asks after 3 */

static const u8 zero[OAE_MAC_LEN];
static const u8 own[OAE_MAC_LEN] = { 2, 0, 0, 0, 0, 1 };
static const u8 gw1[OAE_MAC_LEN] = { 2, 0, 0, 0, 1, 1 };
static const u8 gw2[OAE_MAC_LEN] = { 2, 0, 0, 0, 1, 2 };
static const u8 group[OAE_MAC_LEN] = { 3, 0, 0, 0, 1, 1 };
static const u8 host[OAE_MAC_LEN] = { 2, 0, 0, 0, 2, 1 };

static struct oae_frame hello(u8 flags)
{
	struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = {
			.flags = OAE_HELLO_GATEWAY | flags, .zone = 3,
			.mtu = 1400, .epoch = 1, .inc = 77, .life = LIFE,
			.node_life = NODE_LIFE,
		},
	};

	memcpy(f.hello.about, host, OAE_MAC_LEN);
	return f;
}

/* --- HELLO ------------------------------------------------------------------ */

TEST_SETUP(test_whose_hello, one_link)
{
	struct oae_frame f = hello(0);

	assert_int_equal(oae_hello_check(own, gw1, &f), OAE_HELLO_GOOD);
	assert_int_equal(oae_hello_check(own, own, &f), OAE_HELLO_NOT_TAKEN);
	f.flags = OAE_F_VIA;
	assert_int_equal(oae_hello_check(own, gw1, &f), OAE_HELLO_NOT_TAKEN);
	f = hello(0);
	f.hello.flags = 0;
	assert_int_equal(oae_hello_check(own, gw1, &f), OAE_HELLO_NOT_TAKEN);
	/* It is no gateway's: nobody looks whether it is well formed. */
	f.hello.zone = 0;
	assert_int_equal(oae_hello_check(own, group, &f), OAE_HELLO_NOT_TAKEN);
}

/* Each thing that may be wrong, for each kind of HELLO. */
TEST_SETUP(test_malformed, one_link)
{
	static const u8 kinds[] = {
		0, OAE_HELLO_ASK, OAE_HELLO_ABOUT, OAE_HELLO_LEAVING,
		OAE_HELLO_LEAVING | OAE_HELLO_ABOUT,
	};
	unsigned int i, bit;
	struct oae_frame f;
	bool bye, about;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		bye = kinds[i] & OAE_HELLO_LEAVING;
		about = kinds[i] & OAE_HELLO_ABOUT;
#define CHECK(from, change, good)					\
		do {							\
			f = hello(kinds[i]);				\
			change;						\
			assert_int_equal(oae_hello_check(own, from, &f),	\
					 (good) ? OAE_HELLO_GOOD :	\
						  OAE_HELLO_BAD);	\
		} while (0)
		CHECK(gw1, (void)0, true);
		CHECK(group, (void)0, false);
		CHECK(zero, (void)0, false);
		CHECK(gw1, f.hello.zone = 0, false);
		CHECK(gw1, f.hello.inc = 0, false);
		CHECK(gw1, f.hello.life = 0, bye);
		CHECK(gw1, f.hello.node_life = 0, true);
		CHECK(gw1, f.hello.mtu = 139, bye);
		CHECK(gw1, f.hello.mtu = 140, true);
		CHECK(gw1, memcpy(f.hello.about, group, 6), bye || !about);
		CHECK(gw1, memcpy(f.hello.about, zero, 6), bye || !about);
		for (bit = 0x10; bit < 0x100; bit <<= 1)
			CHECK(gw1, f.hello.flags |= bit, false);
#undef CHECK
	}
}

/* Situations of a port: it has heard nothing, or of gw1, or was told of it. */
enum { NOTHING, HEARD, SILENT, TOLD, TOLD_HEARD, TOLD_SILENT, SITUATIONS };

static struct oae_gw situation(unsigned int s)
{
	u64 when = s == SILENT || s == TOLD_SILENT ? now - 3 * S - 1 : now - 3 * S;
	struct oae_gw gw = { 0 };
	struct oae_frame f = hello(0);
	bool answer;

	oae_gw_tell(&gw, s >= TOLD ? gw1 : zero);
	if (s == HEARD || s == SILENT || s > TOLD) {
		assert_int_equal(oae_gw_hear(&gw, gw1, &f, when, &answer),
				 OAE_HELLO_NEWS);
		assert_true(answer);
		oae_gw_spoken(&gw, 0, now - 3 * S);
	}
	return gw;
}

/* What it must know now; what was heard of it is good only with an inc. */
static void assert_gw(const struct oae_gw *gw, const u8 *mac, u32 inc, u16 mtu)
{
	assert_int_equal(gw->known, !!mac);
	if (mac)
		assert_memory_equal(gw->mac, mac, OAE_MAC_LEN);
	assert_int_equal(gw->inc, inc);
	assert_int_equal(gw->mtu, mtu);
}

TEST_SETUP(test_same_gateway, one_link)
{
	static const enum oae_hello again[] = {
		[NOTHING] = OAE_HELLO_NEWS, [HEARD] = OAE_HELLO_TAKEN,
		[SILENT] = OAE_HELLO_TAKEN, [TOLD] = OAE_HELLO_NEWS,
		[TOLD_HEARD] = OAE_HELLO_TAKEN, [TOLD_SILENT] = OAE_HELLO_TAKEN,
	};
	struct oae_frame f = hello(0);
	unsigned int s, gen;
	struct oae_gw gw;
	bool answer;

	for (s = 0; s < SITUATIONS; s++) {
		/* The same word again changes nothing. */
		gw = situation(s);
		gen = gw.gen;
		assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer), again[s]);
		assert_gw(&gw, gw1, 77, 1400);
		assert_int_equal(gw.gen == gen, again[s] == OAE_HELLO_TAKEN);
		assert_int_equal(answer, again[s] == OAE_HELLO_NEWS);
		assert_int_equal(gw.heard, now);
		assert_int_equal(gw.life, 3 * S);

		/* Another run of it. */
		gw = situation(s);
		gen = gw.gen;
		f.hello.inc = 78;
		assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer),
				 OAE_HELLO_NEWS);
		assert_gw(&gw, gw1, 78, 1400);
		assert_true(answer && gw.gen != gen);
		f = hello(0);
	}
}

TEST_SETUP(test_other_gateway, one_link)
{
	static const bool taken[] = {
		[NOTHING] = true, [SILENT] = true, [SITUATIONS - 1] = false,
	};
	struct oae_frame f = hello(0);
	struct oae_gw gw, before;
	unsigned int s;
	bool answer;

	f.hello.inc = 99;
	f.hello.mtu = 500;
	for (s = 0; s < SITUATIONS; s++) {
		before = situation(s);
		gw = before;
		if (taken[s]) {
			assert_int_equal(oae_gw_hear(&gw, gw2, &f, now, &answer),
					 OAE_HELLO_NEWS);
			assert_gw(&gw, gw2, 99, 500);
			assert_true(answer && gw.gen != before.gen);
		} else {
			assert_int_equal(oae_gw_hear(&gw, gw2, &f, now, &answer),
					 OAE_HELLO_NOT_TAKEN);
			assert_memory_equal(&gw, &before, sizeof(gw));
			assert_false(answer);
		}
	}
}

TEST_SETUP(test_leaving, one_link)
{
	struct oae_frame f = hello(OAE_HELLO_LEAVING | OAE_HELLO_ASK);
	struct oae_gw gw, before;
	unsigned int s;
	bool answer, heard;

	for (s = 0; s < SITUATIONS; s++) {
		heard = s != NOTHING && s != TOLD;
		before = situation(s);
		/* Of another: nobody cares. In another run of it: too late. */
		gw = before;
		assert_int_equal(oae_gw_hear(&gw, gw2, &f, now, &answer),
				 OAE_HELLO_NOT_TAKEN);
		f.hello.inc++;
		assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer),
				 OAE_HELLO_NOT_TAKEN);
		f.hello.inc--;
		assert_memory_equal(&gw, &before, sizeof(gw));

		assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer),
				 heard ? OAE_HELLO_LEFT : OAE_HELLO_NOT_TAKEN);
		assert_false(answer);
		/* Who was told of it has it still. */
		assert_gw(&gw, s >= TOLD ? gw1 : NULL, 0, 0);
		assert_int_equal(gw.gen != before.gen, heard);
	}
}

/* ABOUT is of one peer, and leaves what is known of the others. */
TEST_SETUP(test_about, one_link)
{
	struct oae_frame f = hello(OAE_HELLO_ABOUT);
	struct oae_gw gw = situation(HEARD);
	unsigned int gen = gw.gen;
	bool answer;

	f.hello.mtu = 300;
	assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer), OAE_HELLO_TAKEN);
	assert_gw(&gw, gw1, 77, 1400);
	assert_int_equal(gw.gen, gen);
	f.hello.epoch = 2;
	assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer), OAE_HELLO_TAKEN);
	assert_true(gw.gen != gen && gw.epoch == 2);
	/* Of a gateway that is not known yet, it says nothing of the others. */
	gw = situation(NOTHING);
	assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer), OAE_HELLO_NEWS);
	assert_gw(&gw, gw1, 77, 0);
	/* And of all: that changes their ways. */
	gen = gw.gen;
	f = hello(0);
	f.hello.epoch = 2;
	assert_int_equal(oae_gw_hear(&gw, gw1, &f, now, &answer), OAE_HELLO_TAKEN);
	assert_gw(&gw, gw1, 77, 1400);
	assert_true(gw.gen != gen);
}

static bool asks(struct oae_gw gw, u8 flags, u64 when)
{
	struct oae_frame f = hello(flags);
	bool answer;

	assert_int_equal(oae_gw_hear(&gw, gw1, &f, when, &answer), OAE_HELLO_TAKEN);
	return answer;
}

TEST_SETUP(test_answer, one_link)
{
	struct oae_gw gw = situation(HEARD);

	/* A third of node_life since the last. */
	assert_false(asks(gw, 0, now));
	assert_true(asks(gw, 0, now + 1));
	assert_true(asks(gw, OAE_HELLO_ASK, now));
	/* Left; or never answered. */
	oae_gw_spoken(&gw, OAE_HELLO_LEAVING, now);
	assert_true(asks(gw, 0, now));
	oae_gw_spoken(&gw, 0, now);
	assert_false(asks(gw, 0, now));
	gw.answered = 76;
	assert_true(asks(gw, 0, now));
}

TEST_SETUP(test_tell, one_link)
{
	unsigned int s, gen;
	struct oae_gw gw;

	for (s = 0; s < SITUATIONS; s++) {
		bool heard = s != NOTHING && s != TOLD;

		/* The one that it is already: what was heard stays good. */
		gw = situation(s);
		gen = gw.gen;
		oae_gw_tell(&gw, gw1);
		assert_true(gw.told && gw.gen != gen);
		assert_gw(&gw, gw1, heard ? 77 : 0, heard ? 1400 : 0);
		/* Another. */
		gen = gw.gen;
		oae_gw_tell(&gw, gw2);
		assert_true(gw.told && gw.gen != gen);
		assert_gw(&gw, gw2, 0, 0);
		/* None: that which was told and not heard is none. */
		gw = situation(s);
		gen = gw.gen;
		oae_gw_tell(&gw, zero);
		assert_true(!gw.told && gw.gen != gen);
		assert_gw(&gw, heard ? gw1 : NULL, heard ? 77 : 0, heard ? 1400 : 0);
	}
}

/* --- the ways of a port ------------------------------------------------------ */

static struct oae_ways ways(u8 use, bool known)
{
	struct oae_ways p = {
		.gw = { .known = known, .mtu = known ? 1000 : 0, .inc = 77, .epoch = 1 },
		.mtu = 1500, .use = use,
	};

	memcpy(p.gw.mac, gw1, OAE_MAC_LEN);
	return p;
}

TEST_SETUP(test_let_in, one_link)
{
	struct oae_frame f = { .flags = OAE_F_VIA };
	struct oae_ways p;
	u8 use;

	oae_via_mark(&f, host, own);
	assert_memory_equal(f.via, own, 6);
	assert_memory_equal(f.via + 6, host, 6);
	for (use = 0; use < 3; use++) {
		p = ways(use, true);
		assert_int_equal(oae_ways_let_in(&p, own, gw1, &f),
				 use != OAE_GW_NEVER);
		assert_false(oae_ways_let_in(&p, own, gw2, &f));
		assert_false(oae_ways_let_in(&p, host, gw1, &f));
		p.mtu = 139;
		assert_false(oae_ways_let_in(&p, own, gw1, &f));
		p = ways(use, false);
		assert_false(oae_ways_let_in(&p, own, gw1, &f));
	}
}

TEST_SETUP(test_back, one_link)
{
	struct oae_frame direct = { 0 }, via = { .flags = OAE_F_VIA };
	struct oae_ways p = ways(OAE_GW_NEVER, true);

	assert_int_equal(oae_ways_back(&p, &direct), OAE_GO_DIRECT);
	assert_int_equal(oae_ways_back(&p, &via), OAE_GO_DIRECT);
	p = ways(OAE_GW_ALWAYS, true);
	assert_int_equal(oae_ways_back(&p, &direct), OAE_GO_VIA);
	assert_int_equal(oae_ways_back(&p, &via), OAE_GO_VIA);
	p = ways(OAE_GW_ALWAYS, false);
	assert_int_equal(oae_ways_back(&p, &direct), OAE_GO_NOWHERE);
	p = ways(OAE_GW_AUTO, true);
	assert_int_equal(oae_ways_back(&p, &direct), OAE_GO_DIRECT);
	assert_int_equal(oae_ways_back(&p, &via), OAE_GO_VIA);
	p = ways(OAE_GW_AUTO, false);
	assert_int_equal(oae_ways_back(&p, &via), OAE_GO_NOWHERE);
}

/* --- the way of a tag --------------------------------------------------------- */

static struct oae_way w;

TEST_SETUP(test_begin, one_link)
{
	unsigned int use, known, wish;
	struct oae_ways p;
	bool via;
	u16 mtu;

	for (use = 0; use < 3; use++)
		for (known = 0; known < 2; known++)
			for (wish = 0; wish < 2; wish++) {
				p = ways(use, known);
				p.gw.gen = 5;
				memset(&w, 0xff, sizeof(w));
				w.about.mtu = 0;
				mtu = oae_way_begin(&w, &p, wish);
				via = use == OAE_GW_ALWAYS ||
				      (use == OAE_GW_AUTO && known && wish);
				assert_int_equal(w.via, via);
				assert_int_equal(w.gen, 5);
				assert_false(w.lost);
				assert_int_equal(w.asked, 0);
				assert_int_equal(mtu, !via ? 1500 :
						 known ? 1000 - 12 : 1500 - 12);
				/* It would go through one: the next frame may say. */
				if (use == OAE_GW_AUTO && wish && !known)
					assert_true(w.usual != 0 &&
						    w.usual != OAE_F_VIA);
				else
					assert_int_equal(w.usual, via ? OAE_F_VIA : 0);
			}
}

static u16 carries(unsigned int port, u16 gw, u16 about, u32 inc, u16 epoch)
{
	struct oae_ways p = ways(OAE_GW_ALWAYS, true);

	p.mtu = port;
	p.gw.mtu = gw;
	w = (struct oae_way){ .about = { .inc = inc, .epoch = epoch, .mtu = about } };
	return oae_way_begin(&w, &p, true);
}

TEST_SETUP(test_carries, one_link)
{
	struct oae_ways p = ways(OAE_GW_AUTO, true);

	/* The smaller of the port's and the gateway's. */
	assert_int_equal(carries(1500, 1400, 0, 77, 1), 1388);
	assert_int_equal(carries(1500, 9000, 0, 77, 1), 1488);
	assert_int_equal(carries(1500, 0, 0, 77, 1), 1488);
	/* ABOUT instead, in its incarnation and epoch. */
	assert_int_equal(carries(1500, 1400, 600, 77, 1), 588);
	assert_int_equal(carries(1500, 600, 1400, 77, 1), 1388);
	assert_int_equal(carries(1500, 600, 9000, 77, 1), 1488);
	assert_int_equal(carries(1500, 1400, 600, 76, 1), 1388);
	assert_int_equal(carries(1500, 1400, 600, 77, 2), 1388);
	/* Never less than 128, never more than a field says. */
	assert_int_equal(carries(1500, 140, 0, 77, 1), 128);
	assert_int_equal(carries(130, 1400, 0, 77, 1), 128);
	assert_int_equal(carries(5, 1400, 0, 77, 1), 128);
	assert_int_equal(carries(1500, 1400, 139, 77, 1), 128);
	assert_int_equal(carries(70000, 0, 0, 77, 1), 65535);
	/* Direct, what the port does. */
	assert_int_equal(oae_way_begin(&w, &p, false), 1500);
	p.mtu = 70000;
	assert_int_equal(oae_way_begin(&w, &p, false), 65535);
	p.mtu = 139;
	assert_int_equal(oae_way_begin(&w, &p, true), 139);
	assert_false(w.via);
}

/* An OPEN tag that goes one way, its port knowing a gateway or not. */
static struct oae_ways tag(u8 use, bool known, bool via)
{
	struct oae_ways p = ways(use, known);

	open_link(NULL);
	memset(&w, 0, sizeof(w));
	l.mtu.here = oae_way_begin(&w, &p, via);
	clear();
	return p;
}

TEST_SETUP(test_update, one_link)
{
	struct oae_ways p = tag(OAE_GW_AUTO, true, true);
	struct oae_ways other;

	w.asked = 1;
	/* Nothing has changed but the generation. */
	p.gw.gen++;
	oae_way_update(&w, &p, &l, now, &a);
	assert_int_equal(w.gen, p.gw.gen);
	assert_int_equal(w.asked, 1);
	assert_int_equal(l.state, OAE_OPEN);
	/* It carries something else: the ends synchronise. */
	p.gw.mtu = 900;
	oae_way_update(&w, &p, &l, now, &a);
	assert_true(w.via);
	assert_int_equal(l.state, OAE_SYNC_SENT);
	assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu, 888);
	/* The gateway goes: direct, until it is there again. */
	other = ways(OAE_GW_AUTO, false);
	clear();
	oae_way_update(&w, &other, &l, now, &a);
	assert_false(w.via);
	assert_true(w.wish);
	assert_int_equal(w.asked, 0);
	assert_int_equal(l.mtu.here, 1500);
	assert_int_equal(a.nsends, 0);
	oae_way_update(&w, &p, &l, now, &a);
	assert_true(w.via);
	/* The knob decides for all. */
	p.use = OAE_GW_NEVER;
	oae_way_update(&w, &p, &l, now, &a);
	assert_false(w.via);
	p.use = OAE_GW_AUTO;
	oae_way_update(&w, &p, &l, now, &a);
	assert_false(w.via);
	p.use = OAE_GW_ALWAYS;
	oae_way_update(&w, &p, &l, now, &a);
	assert_true(w.via);
}

/* How a tag's way came to be lost: not, by SYNCs, or by probes. */
enum { FOUND, NOT_YET, SYNCS, PROBES, LOSSES };

TEST_SETUP(test_heard, one_link)
{
	unsigned int use, known, wish, came, mine, theirs, loss, op, bits;
	bool via, lost, turns, sync;
	struct oae_frame f;
	enum oae_go goes, go;
	struct oae_ways p;

	for (bits = 0; bits < 3 * 32 * LOSSES * OAE_OPCODE_END; bits++) {
		op = bits / (3 * 32 * LOSSES);
		use = bits % 3;
		known = bits / 3 & 1;
		wish = bits / 6 & 1;
		came = bits / 12 & 1;
		mine = bits / 24 & 1;
		theirs = bits / 48 & 1;
		loss = bits / 96 % LOSSES;
		if (!op)
			continue;
		p = tag(use, known, wish);
		via = w.via;
		goes = via ? OAE_GO_VIA : OAE_GO_DIRECT;
		lost = loss >= SYNCS;
		w.asked = loss == SYNCS ? 2 : 1;
		w.lost = loss == SYNCS;
		if (loss == PROBES)
			l.asked_at = now - cfg.keepalive - oae_link_pto(&l);
		else if (loss == NOT_YET)
			l.asked_at = now - cfg.keepalive - oae_link_pto(&l) + 1;
		f = (struct oae_frame){
			.opcode = op, .flags = came ? OAE_F_VIA : 0,
			.dst_ltag = mine ? l.ltag : l.ltag + 1,
			.src_ltag = theirs ? l.peer.ltag : 0x1234,
		};
		sync = op == OAE_SYNC || op == OAE_SYNC_ACK || op == OAE_SYNC_CHK;
		go = oae_way_heard(&w, &p, &l, &f, now, &a);

		/* It comes the way that the tag goes, or nobody asks which. */
		if (came == via || use != OAE_GW_AUTO) {
			assert_int_equal(go, goes);
			assert_int_equal(w.via, via);
			assert_int_equal(w.asked, mine ? 0 : loss == SYNCS ? 2 : 1);
			assert_int_equal(w.lost, mine ? false : loss == SYNCS);
			assert_int_equal(l.state, OAE_OPEN);
			continue;
		}
		turns = mine && (theirs || !came || lost);
		if (turns) {
			/* No gateway known: it goes direct, but would not. */
			via = came && known;
			assert_int_equal(w.via, via);
			assert_int_equal(w.wish, came);
			assert_int_equal(go, via ? OAE_GO_VIA : OAE_GO_DIRECT);
			assert_int_equal(w.asked, 0);
			assert_false(w.lost);
			/* What it carries has changed. */
			assert_int_equal(l.state, known ? OAE_SYNC_SENT : OAE_OPEN);
			if (known)
				assert_int_equal(sent(OAE_SYNC)->frame.sync.mtu,
						 via ? 988 : 1500);
			continue;
		}
		assert_int_equal(w.via, via);
		assert_int_equal(w.asked, loss == SYNCS ? 2 : 1);
		assert_int_equal(w.lost, loss == SYNCS);
		assert_int_equal(l.state, OAE_OPEN);
		if (!sync)
			assert_int_equal(go, goes);
		else if (!came || lost)
			assert_int_equal(go, came ? OAE_GO_VIA : OAE_GO_DIRECT);
		else if (mine || op != OAE_SYNC)
			assert_int_equal(go, OAE_GO_DIRECT);
		else
			assert_int_equal(go, OAE_GO_NOWHERE);
		assert_int_equal(noted(OAE_N_STALE_SYNC), go == OAE_GO_NOWHERE);
	}
}

/* Not heard for a quarter of dead, where that is less than the keepalive. */
TEST_SETUP(test_lost_early, one_link)
{
	struct oae_ways p = tag(OAE_GW_AUTO, true, false);
	struct oae_frame f = frame(OAE_DONE);

	cfg.dead = 200 * MS;
	f.flags = OAE_F_VIA;
	f.src_ltag++;
	l.asked_at = now - 50 * MS - oae_link_pto(&l) + 1;
	oae_way_heard(&w, &p, &l, &f, now, &a);
	assert_false(w.via);
	l.asked_at--;
	oae_way_heard(&w, &p, &l, &f, now, &a);
	assert_true(w.via);
}

/* A link that goes by another path learns its own way, and not what that carries. */
TEST_SETUP(test_aside, one_link)
{
	struct oae_ways p = tag(OAE_GW_AUTO, true, false);
	struct oae_frame f = frame(OAE_DONE);
	u16 mtu = l.mtu.here;

	p.mtu = 1000;
	f.flags = OAE_F_VIA;
	w.aside = true;
	oae_way_heard(&w, &p, &l, &f, now, &a);
	assert_true(w.via);
	assert_int_equal(l.mtu.here, mtu);
	assert_int_equal(l.state, OAE_OPEN);
	f.flags = 0;
	w.aside = false;
	oae_way_heard(&w, &p, &l, &f, now, &a);
	assert_false(w.via);
	assert_int_equal(l.mtu.here, 1000);
	assert_int_equal(l.state, OAE_SYNC_SENT);
}

/* use_gw says which ways there are; through a gateway only if it is known. */
TEST_SETUP(test_has, one_link)
{
	static const u8 has[3][2] = { { 1, 0 }, { 0, 1 }, { 1, 1 } };
	struct oae_ways p;
	u8 use;

	for (use = OAE_GW_NEVER; use <= OAE_GW_AUTO; use++) {
		p = tag(use, true, false);
		assert_int_equal(oae_ways_has(&p, false), has[use][0]);
		assert_int_equal(oae_ways_has(&p, true), has[use][1]);
		p = tag(use, false, false);
		assert_int_equal(oae_ways_has(&p, false), has[use][0]);
		assert_false(oae_ways_has(&p, true));
	}
}

/* A link that is not OPEN asks by SYNC: what it asked before does not count. */
TEST_SETUP(test_lost_open_only, one_link)
{
	struct oae_ways p = tag(OAE_GW_AUTO, true, false);
	struct oae_frame f = frame(OAE_DONE);

	f.flags = OAE_F_VIA;
	f.src_ltag++;
	l.asked_at = now - 10 * S;
	l.state = OAE_SYNC_RECD;
	oae_way_heard(&w, &p, &l, &f, now, &a);
	assert_false(w.via);
}

static void asked(unsigned int syncs)
{
	unsigned int i;

	clear();
	a.nsends = syncs + 1;
	a.send[0].frame.opcode = OAE_CLOSE;
	for (i = 1; i <= syncs; i++)
		a.send[i].frame.opcode = OAE_SYNC;
	oae_way_asked(&w, &a);
	clear();
}

TEST_SETUP(test_asked, one_link)
{
	struct oae_frame direct = { 0 }, via = { .flags = OAE_F_VIA };

	tag(OAE_GW_AUTO, true, false);
	asked(0);
	assert_true(oae_way_is_usual(&w, &direct));
	assert_false(oae_way_is_usual(&w, &via));
	asked(1);
	assert_int_equal(w.asked, 1);
	assert_false(oae_way_is_usual(&w, &direct));
	assert_false(oae_way_is_usual(&w, &via));
	asked(2);
	asked(1);
	assert_int_equal(w.asked, 2);
	tag(OAE_GW_AUTO, true, true);
	asked(0);
	assert_true(oae_way_is_usual(&w, &via));
	assert_false(oae_way_is_usual(&w, &direct));
}

static void timer(const struct oae_ways *p)
{
	clear();
	oae_way_timer(&w, p, &l, now, &a);
}

TEST_SETUP(test_timer, one_link)
{
	struct oae_ways p = tag(OAE_GW_AUTO, true, false);
	unsigned int use, known;

	l.again_at = now;
	l.state = OAE_SYNC_SENT;
	asked(1);
	timer(&p);
	assert_false(w.lost || w.via);
	asked(1);
	l.again_at = now + 1;
	timer(&p);
	assert_false(w.lost || w.via);
	l.again_at = now;
	l.state = OAE_OPEN;
	timer(&p);
	assert_false(w.lost || w.via);
	/* Two SYNCs, and the time for the third: it goes the other way. */
	l.state = OAE_SYNC_RECD;
	timer(&p);
	assert_true(w.lost && w.via);
	assert_int_equal(w.asked, 0);
	assert_int_equal(l.mtu.here, 988);
	timer(&p);
	assert_true(w.via);
	asked(2);
	timer(&p);
	assert_true(w.lost && !w.via);
	assert_int_equal(l.mtu.here, 1500);

	/* So it does while the link goes by another path, whose MTU stays the link's. */
	w.aside = true;
	asked(2);
	timer(&p);
	assert_true(w.via);
	assert_int_equal(l.mtu.here, 1500);
	w.aside = false;

	/* It is lost, and there is no other: with a use_gw, or without a gateway. */
	for (use = 0; use < 3; use++)
		for (known = 0; known < 2; known++) {
			bool via = use == OAE_GW_ALWAYS;

			if (use == OAE_GW_AUTO && known)
				continue;
			p = tag(use, known, via);
			l.again_at = now;
			l.state = OAE_SYNC_SENT;
			asked(2);
			timer(&p);
			assert_true(w.lost);
			assert_int_equal(w.via, via);
			assert_int_equal(w.wish, via);
			assert_int_equal(w.asked, 2);
		}
}

UNIT_MAIN("ways")
