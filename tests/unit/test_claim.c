// SPDX-License-Identifier: GPL-2.0
/*
 * Who owns a node: every event in every situation, then the rules that need more
 * than one event. I am zone 3; zone 2 is below me, zone 4 above.
 */
#include "unit.h"
#include "../../modoaeip/rules/claim.h"

#define T0		50000ULL	/* now, ms */
#define HELLO		1000
#define LIFE		17500		/* of what NODES says */

static const struct oaeip_rules rules = {
	.mine = 3,
	.hello_ms = HELLO,
	.node_life_ms = 30000,
	.data_life_ms = 9000,
};

static enum oaeip_verdict nodes_at(struct oaeip_owner *o, u16 zone, u32 serial,
				   u8 flags, u64 now)
{
	struct oaeip_speaker s = { .zone = zone, .inc = 1, .serial = serial };
	struct oaeip_control c = {
		.op = OAEIP_NODES, .count = 1, .inc = 1, .serial = serial,
		.life = LIFE / 100,
	};

	return oaeip_claim_nodes(o, &rules, &s, &c, flags, now);
}

/* Situations, as letters; see situation(). */
static struct oaeip_owner make(char letter)
{
	struct oaeip_owner o = { 0 };

	switch (letter) {
	case 'L':
	case 'D':
	case 'P':
		oaeip_claim_local(&o, &rules, T0);
		if (letter != 'L')
			nodes_at(&o, 2, 100, letter == 'D' ? OAEIP_NODE_CLAIM :
							     0, T0);
		break;
	case 'R':
		nodes_at(&o, 2, 100, 0, T0);
		break;
	case 'H':
		oaeip_claim_data(&o, &rules, 2, T0);
		break;
	case 'S':
		nodes_at(&o, 2, 100, 0, T0 - LIFE);
		break;
	}
	return o;
}

/*
 * '-' unknown, L local, D local and asked for, P local and disputed; R zone 2 has
 * it, H by hearsay; r, h the same of zone 4. (S: was zone 2's, its time is over.)
 */
static char situation(const struct oaeip_owner *o)
{
	static const struct oaeip_owner blank;

	if (!o->zone) {
		assert_memory_equal(o, &blank, sizeof(blank));
		return '-';
	}
	if (o->local) {
		assert_int_equal(o->zone, 3);
		assert_false(o->told);
		return !o->doubt ? 'L' : o->disputed ? 'P' : 'D';
	}
	assert_true(o->zone == 2 || o->zone == 4);
	assert_true(!o->doubt && !o->disputed && !o->strikes && !o->rival && !o->foe);
	if (o->zone == 2)
		return o->told ? 'R' : 'H';
	return o->told ? 'r' : 'h';
}

enum event {
	FRAME, LEAVING,
	NODES_2, NODES_2_OLD, NODES_4, NODES_MINE, NODES_0,
	GONE_2, GONE_2_OLD, GONE_4,
	CLAIM_2, CLAIM_4,
	DATA_2, DATA_4, DATA_MINE, DATA_0,
	LOOK, SILENT, SPOKE, OVER,
	BYE_2, BYE_4,
	EVENTS
};

static enum oaeip_verdict happen(struct oaeip_owner *o, enum event e)
{
	const u64 now = T0 + 1;

	switch (e) {
	case FRAME:
		return oaeip_claim_local(o, &rules, now);
	case LEAVING:
		return oaeip_claim_leaving(o, now);
	case NODES_2:
		return nodes_at(o, 2, 101, 0, now);
	case NODES_2_OLD:
		return nodes_at(o, 2, 100, 0, now);
	case NODES_4:
		return nodes_at(o, 4, 7, 0, now);
	case NODES_MINE:
		return nodes_at(o, 3, 200, 0, now);
	case NODES_0:
		return nodes_at(o, 0, 200, 0, now);
	case GONE_2:
		return nodes_at(o, 2, 101, OAEIP_NODE_GONE, now);
	case GONE_2_OLD:
		return nodes_at(o, 2, 100, OAEIP_NODE_GONE, now);
	case GONE_4:
		return nodes_at(o, 4, 7, OAEIP_NODE_GONE, now);
	case CLAIM_2:
		return nodes_at(o, 2, 101, OAEIP_NODE_CLAIM, now);
	case CLAIM_4:
		return nodes_at(o, 4, 7, OAEIP_NODE_CLAIM, now);
	case DATA_2:
		return oaeip_claim_data(o, &rules, 2, now);
	case DATA_4:
		return oaeip_claim_data(o, &rules, 4, now);
	case DATA_MINE:
		return oaeip_claim_data(o, &rules, 3, now);
	case DATA_0:
		return oaeip_claim_data(o, &rules, 0, now);
	case LOOK:
		return oaeip_claim_check(o, &rules, T0 + HELLO - 1);
	case SILENT:
		return oaeip_claim_check(o, &rules, T0 + HELLO);
	case SPOKE:
		oaeip_claim_local(o, &rules, T0);
		return oaeip_claim_check(o, &rules, T0 + HELLO);
	case OVER:
		return oaeip_claim_check(o, &rules, T0 + 30000);
	case BYE_2:
		return oaeip_claim_zone_gone(o, 2);
	case BYE_4:
		return oaeip_claim_zone_gone(o, 4);
	case EVENTS:
		break;
	}
	fail();
	return OAEIP_NOTHING;
}

static const char situations[] = "-LDPRHS";

struct cell {
	enum oaeip_verdict verdict;
	char then;
};

#define E(v, then)	{ OAEIP_##v, then }
#define SAME(s)		{ OAEIP_NOTHING, s }

/* What comes of it, in the order of situations[]: the table above claim.c. */
static const struct cell table[EVENTS][7] = {
	[FRAME] = { E(NEW, 'L'), E(REFRESHED, 'L'), E(REFRESHED, 'D'),
		    E(REFRESHED, 'P'), E(CLAIM_IT, 'R'), E(CLAIM_IT, 'H'),
		    E(NEW, 'L') },
	[LEAVING] = { SAME('-'), E(LOST, '-'), E(LOST, '-'), E(LOST, '-'),
		      E(CONFLICT, 'R'), E(CONFLICT, 'H'), SAME('R') },
	[NODES_2] = { E(NEW, 'R'), E(OWN_CLAIMED, 'P'), SAME('P'), SAME('P'),
		      E(REFRESHED, 'R'), E(REFRESHED, 'R'), E(NEW, 'R') },
	[NODES_2_OLD] = { E(NEW, 'R'), E(OWN_CLAIMED, 'P'), SAME('P'),
			  SAME('P'), E(OLD, 'R'), E(REFRESHED, 'R'),
			  E(NEW, 'R') },
	[NODES_4] = { E(NEW, 'r'), E(OWN_CLAIMED, 'P'), SAME('P'), SAME('P'),
		      E(CLAIM_IT, 'R'), E(TAKEN, 'r'), E(NEW, 'r') },
	[NODES_MINE] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
			 SAME('H'), SAME('R') },
	[NODES_0] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
		      SAME('H'), SAME('R') },
	[GONE_2] = { SAME('-'), SAME('L'), SAME('D'), SAME('D'), E(GONE, '-'),
		     E(GONE, '-'), E(GONE, '-') },
	[GONE_2_OLD] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'),
			 E(OLD, 'R'), E(GONE, '-'), E(OLD, 'R') },
	[GONE_4] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
		     SAME('H'), SAME('R') },
	[CLAIM_2] = { E(NOT_HERE, '-'), E(OWN_CLAIMED, 'D'), SAME('D'),
		      SAME('P'), E(NOT_HERE, 'R'), E(NOT_HERE, 'H'),
		      E(NOT_HERE, 'R') },
	[CLAIM_4] = { E(NOT_HERE, '-'), E(OWN_CLAIMED, 'D'), SAME('D'),
		      SAME('P'), E(NOT_HERE, 'R'), E(NOT_HERE, 'H'),
		      E(NOT_HERE, 'R') },
	[DATA_2] = { E(NEW, 'H'), E(CONFLICT, 'L'), E(CONFLICT, 'D'),
		     E(CONFLICT, 'P'), E(REFRESHED, 'R'), E(REFRESHED, 'H'),
		     E(NEW, 'H') },
	[DATA_4] = { E(NEW, 'h'), E(CONFLICT, 'L'), E(CONFLICT, 'D'),
		     E(CONFLICT, 'P'), E(CONFLICT, 'R'), E(CONFLICT, 'H'),
		     E(NEW, 'h') },
	[DATA_MINE] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
			SAME('H'), SAME('R') },
	[DATA_0] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
		     SAME('H'), SAME('R') },
	[LOOK] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
		   SAME('H'), E(GONE, '-') },
	[SILENT] = { SAME('-'), SAME('L'), E(LOST, '-'), E(YIELDED, 'R'),
		     SAME('R'), SAME('H'), E(GONE, '-') },
	[SPOKE] = { SAME('L'), SAME('L'), E(KEPT, 'L'), E(KEPT, 'L'),
		    SAME('R'), SAME('H'), SAME('L') },
	[OVER] = { SAME('-'), E(LOST, '-'), E(LOST, '-'), E(LOST, '-'),
		   E(GONE, '-'), E(GONE, '-'), E(GONE, '-') },
	[BYE_2] = { SAME('-'), SAME('L'), SAME('D'), SAME('D'), E(GONE, '-'),
		    E(GONE, '-'), E(GONE, '-') },
	[BYE_4] = { SAME('-'), SAME('L'), SAME('D'), SAME('P'), SAME('R'),
		    SAME('H'), SAME('R') },
};

TEST(test_table)
{
	enum oaeip_verdict v;
	struct oaeip_owner o;
	unsigned int e, s;
	char then;

	for (e = 0; e < EVENTS; e++)
		for (s = 0; s < ARRAY_SIZE(table[0]); s++) {
			o = make(situations[s]);
			if (situations[s] != 'S')
				assert_int_equal(situation(&o), situations[s]);
			v = happen(&o, e);
			then = situation(&o);
			if (v != table[e][s].verdict || then != table[e][s].then)
				fail_msg("event %u at %c: verdict %u, then %c", e,
					 situations[s], v, then);
		}
}

/* Until when, and when to look again. */
TEST(test_times)
{
	struct oaeip_owner o = make('L');

	assert_int_equal(o.heard, T0);
	assert_int_equal(o.until, T0 + 30000);
	assert_int_equal(oaeip_claim_due(&o, &rules), T0 + 30000);
	oaeip_claim_local(&o, &rules, T0 + 5);
	assert_int_equal(o.heard, T0 + 5);
	assert_int_equal(o.until, T0 + 30005);
	assert_int_equal(oaeip_claim_check(&o, &rules, T0 + 30004),
			 OAEIP_NOTHING);
	assert_int_equal(oaeip_claim_check(&o, &rules, T0 + 30005), OAEIP_LOST);
	assert_int_equal(oaeip_claim_due(&o, &rules), 0);

	o = make('D');
	assert_int_equal(oaeip_claim_due(&o, &rules), T0 + HELLO);
	/* What it said before it was asked does not count. */
	assert_true(o.heard < o.doubt);
	nodes_at(&o, 4, 7, OAEIP_NODE_CLAIM, T0 + 500);
	assert_int_equal(o.doubt, T0);
	assert_int_equal(o.rival, 2);

	/* A life that ends before the node's time to answer. */
	o = make('L');
	nodes_at(&o, 2, 1, OAEIP_NODE_CLAIM, T0 + 29500);
	assert_int_equal(oaeip_claim_due(&o, &rules), T0 + 30000);

	/* Over, but not looked at yet: still the own zone's. */
	assert_int_equal(oaeip_claim_data(&o, &rules, 2, T0 + 30000), OAEIP_CONFLICT);
	assert_int_equal(oaeip_claim_leaving(&o, T0 + 30000), OAEIP_LOST);

	o = make('R');
	assert_int_equal(o.until, T0 + LIFE);
	oaeip_claim_data(&o, &rules, 2, T0 + 1);
	assert_int_equal(o.until, T0 + LIFE);
	oaeip_claim_data(&o, &rules, 2, T0 + LIFE - 1);
	assert_int_equal(o.heard, T0 + LIFE - 1);
	assert_int_equal(o.until, T0 + LIFE - 1 + 9000);
	o = make('R');
	nodes_at(&o, 2, 101, 0, T0 + 400);
	assert_int_equal(o.heard, T0 + 400);
	assert_int_equal(o.until, T0 + 400 + LIFE);
	assert_int_equal(oaeip_claim_due(&o, &rules), T0 + 400 + LIFE);

	o = make('H');
	assert_int_equal(o.until, T0 + 9000);
	nodes_at(&o, 2, 1, 0, T0 + 10);
	assert_int_equal(o.until, T0 + 10 + LIFE);
}

/* At most once each hello_ms, also over a refresh. */
TEST(test_claim_rate)
{
	struct oaeip_owner o = make('R');
	unsigned int i, asked = 0;
	enum oaeip_verdict v;

	for (i = 0; i < 10 * HELLO; i += 10) {
		v = oaeip_claim_local(&o, &rules, T0 + i);
		assert_true(v == OAEIP_CLAIM_IT || v == OAEIP_CONFLICT);
		assert_int_equal(v == OAEIP_CLAIM_IT, i % HELLO == 0);
		asked += v == OAEIP_CLAIM_IT;
		v = nodes_at(&o, 4, i, 0, T0 + i + 1);
		assert_int_equal(v, OAEIP_CONFLICT);
		v = nodes_at(&o, 2, 101 + i, 0, T0 + i + 2);
		assert_int_equal(v, OAEIP_REFRESHED);
	}
	assert_int_equal(asked, 10);

	/* Nor twice because hearsay was announced in between. */
	o = make('H');
	assert_int_equal(oaeip_claim_local(&o, &rules, T0 + 1), OAEIP_CLAIM_IT);
	assert_int_equal(nodes_at(&o, 2, 1, 0, T0 + 2), OAEIP_REFRESHED);
	assert_int_equal(oaeip_claim_local(&o, &rules, T0 + 3), OAEIP_CONFLICT);
}

/* A node moved here: asked for, let go there, and mine with its next frame. */
TEST(test_moves_here)
{
	struct oaeip_owner o = make('R');

	assert_int_equal(oaeip_claim_local(&o, &rules, T0), OAEIP_CLAIM_IT);
	assert_int_equal(nodes_at(&o, 2, 150, OAEIP_NODE_GONE, T0 + HELLO),
			 OAEIP_GONE);
	assert_int_equal(oaeip_claim_local(&o, &rules, T0 + HELLO + 1),
			 OAEIP_NEW);
}

/* One dispute: it speaks, and is kept; the rival says again that it has it. */
static enum oaeip_verdict dispute(struct oaeip_owner *o, u16 rival, u64 at)
{
	enum oaeip_verdict v = nodes_at(o, rival, at, 0, at);

	assert_int_equal(v, OAEIP_OWN_CLAIMED);
	oaeip_claim_local(o, &rules, at + 10);
	return oaeip_claim_check(o, &rules, at + HELLO);
}

/* Two zones that both have it: the higher one yields, the lower one never. */
TEST(test_dispute)
{
	struct oaeip_owner o = make('L');
	unsigned int i;

	for (i = 0; i < 20; i++)
		assert_int_equal(dispute(&o, 4, T0 + i * 2 * HELLO), OAEIP_KEPT);

	o = make('L');
	assert_int_equal(dispute(&o, 2, T0), OAEIP_KEPT);
	assert_int_equal(o.rival, 2);
	assert_int_equal(dispute(&o, 2, T0 + 2 * HELLO), OAEIP_KEPT);
	assert_int_equal(dispute(&o, 2, T0 + 4 * HELLO), OAEIP_YIELDED);
	assert_int_equal(o.zone, 2);
	assert_int_equal(o.serial, T0 + 4 * HELLO);
	assert_int_equal(o.until, T0 + 4 * HELLO + LIFE);
	assert_int_equal(oaeip_claim_local(&o, &rules, T0 + 6 * HELLO),
			 OAEIP_CLAIM_IT);

	/* Not if they are far apart, nor if it said GONE between them. */
	o = make('L');
	for (i = 0; i < 20; i++)
		assert_int_equal(dispute(&o, 2, T0 + i * 16 * HELLO),
				 OAEIP_KEPT);
	o = make('L');
	for (i = 0; i < 20; i++) {
		u64 at = T0 + i * 2 * HELLO;

		assert_int_equal(dispute(&o, 2, at), OAEIP_KEPT);
		if (i & 1)
			nodes_at(&o, 2, at + 1, OAEIP_NODE_GONE, at + HELLO + 1);
	}
	/* Nor if the foe's gateway ended between them. */
	o = make('L');
	for (i = 0; i < 20; i++) {
		assert_int_equal(dispute(&o, 2, T0 + i * 2 * HELLO), OAEIP_KEPT);
		if (i & 1)
			assert_int_equal(oaeip_claim_zone_gone(&o, 2), OAEIP_NOTHING);
	}
	/* Nor if that it is asked for was all. */
	o = make('L');
	for (i = 0; i < 20; i++) {
		u64 at = T0 + i * 2 * HELLO;

		nodes_at(&o, 2, i, OAEIP_NODE_CLAIM, at);
		oaeip_claim_local(&o, &rules, at + 10);
		assert_int_equal(oaeip_claim_check(&o, &rules, at + HELLO),
				 OAEIP_KEPT);
	}
}

/* Who was a foe once is none when another only asks. */
TEST(test_former_foe)
{
	struct oaeip_owner o = make('L');
	unsigned int i;
	u64 at = T0;

	assert_int_equal(dispute(&o, 2, at), OAEIP_KEPT);
	for (i = 0; i < 5; i++) {
		at += 2 * HELLO;
		nodes_at(&o, 4, i, OAEIP_NODE_CLAIM, at);
		assert_int_equal(situation(&o), 'D');
		oaeip_claim_local(&o, &rules, at + 10);
		assert_int_equal(oaeip_claim_check(&o, &rules, at + HELLO),
				 OAEIP_KEPT);
		assert_int_equal(o.rival, 4);
	}
	at += 2 * HELLO;
	nodes_at(&o, 4, i, OAEIP_NODE_CLAIM, at);
	assert_int_equal(oaeip_claim_check(&o, &rules, at + HELLO), OAEIP_LOST);

	/* Only the foe can end a dispute; a lower one takes it over. */
	o = make('P');
	nodes_at(&o, 4, 500, OAEIP_NODE_GONE, T0 + 1);
	assert_int_equal(situation(&o), 'P');
	nodes_at(&o, 4, 501, 0, T0 + 1);
	assert_int_equal(o.foe, 2);
	nodes_at(&o, 1, 7, 0, T0 + 1);
	assert_int_equal(o.foe, 1);
	assert_int_equal(o.rival, 1);
	assert_int_equal(o.doubt, T0);
}

/* Yielded to a claim whose time is over already, it is nobody's. */
TEST(test_yield_too_late)
{
	struct oaeip_owner o = make('P');

	assert_int_equal(oaeip_claim_check(&o, &rules, T0 + LIFE - 1),
			 OAEIP_YIELDED);
	assert_int_equal(o.until, T0 + LIFE);
	o = make('P');
	assert_int_equal(oaeip_claim_check(&o, &rules, T0 + LIFE), OAEIP_LOST);
	assert_int_equal(situation(&o), '-');
}

static enum oaeip_hearing hear(struct oaeip_speaker *s, u32 inc, u32 serial,
			       u8 op, u64 now)
{
	struct oaeip_control c = { .op = op, .inc = inc, .serial = serial,
				   .life = 35 };

	return oaeip_speaker_hear(s, &c, now);
}

TEST(test_speaker)
{
	struct oaeip_speaker s = { .zone = 2 };
	const u8 op = OAEIP_BEAT;

	assert_int_equal(hear(&s, 7, ~0U, op, T0), OAEIP_HEAR_NEW);
	assert_int_equal(hear(&s, 7, ~0U, op, T0), OAEIP_HEAR_LATE);
	assert_int_equal(hear(&s, 7, 1, op, T0), OAEIP_HEAR_NEXT);
	assert_int_equal(hear(&s, 7, 0, op, T0), OAEIP_HEAR_LATE);
	assert_int_equal(s.serial, 1);
	/* Another one, and a late word of the first. */
	assert_int_equal(hear(&s, 8, 500, op, T0 + 9), OAEIP_HEAR_NEW);
	assert_int_equal(hear(&s, 7, 2, op, T0 + 9), OAEIP_HEAR_DEAD);
	assert_int_equal(hear(&s, 8, 501, op, T0 + 9), OAEIP_HEAR_NEXT);
	assert_int_equal(hear(&s, 7, 3, op, T0 + 8 + OAEIP_LATE_MS),
			 OAEIP_HEAR_DEAD);
	assert_int_equal(s.inc, 8);
	assert_int_equal(s.serial, 501);
	/* Later than that it is believed; the true one is heard again, in time. */
	assert_int_equal(hear(&s, 7, 3, op, T0 + 9 + OAEIP_LATE_MS),
			 OAEIP_HEAR_NEW);
	assert_int_equal(hear(&s, 8, 502, op, T0 + 10 + OAEIP_LATE_MS),
			 OAEIP_HEAR_DEAD);
	assert_int_equal(hear(&s, 8, 503, op, T0 + 9 + 2 * OAEIP_LATE_MS),
			 OAEIP_HEAR_NEW);
}

/* NODES that a GONE, or a BYE, has overtaken makes nothing; for a while. */
TEST(test_overtaken)
{
	static const u8 how[] = { OAEIP_NODES, OAEIP_BYE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		struct oaeip_speaker s = { .zone = 2 };
		struct oaeip_owner o = { 0 }, other = make('R'), mine = make('L');
		struct oaeip_control c = { .op = how[i], .inc = 1, .serial = 50,
					   .life = 175 };

		assert_int_equal(oaeip_speaker_hear(&s, &c, T0), OAEIP_HEAR_NEW);
		if (how[i] == OAEIP_NODES)
			oaeip_claim_nodes(&o, &rules, &s, &c, OAEIP_NODE_GONE,
					  T0);
		c.op = OAEIP_NODES;
		for (c.serial = 48; c.serial <= 50; c.serial++)
			assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0,
							   T0 + 2999),
					 OAEIP_OLD);
		/* Neither does an older GONE move it back. */
		c.serial = 40;
		oaeip_claim_nodes(&o, &rules, &s, &c, OAEIP_NODE_GONE, T0 + 9);
		c.serial = 49;
		assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0, T0 + 9),
				 OAEIP_OLD);
		assert_int_equal(oaeip_claim_nodes(&mine, &rules, &s, &c, 0,
						   T0 + 9), OAEIP_OLD);
		assert_int_equal(situation(&mine), 'L');
		/* What is known has a serial of its own. */
		other.serial = 45;
		assert_int_equal(oaeip_claim_nodes(&other, &rules, &s, &c, 0,
						   T0 + 9), OAEIP_REFRESHED);
		c.serial = 51;
		assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0, T0 + 9),
				 OAEIP_NEW);
		o = (struct oaeip_owner){ 0 };
		c.serial = 48;
		assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0,
						   T0 + 3000), OAEIP_NEW);
	}
}

/* After a while an old serial says nothing: it may have gone all the way round. */
TEST(test_gone_wraps)
{
	struct oaeip_speaker s = { .zone = 2, .inc = 1 };
	struct oaeip_control c = { .op = OAEIP_NODES, .inc = 1, .serial = 5,
				   .life = 175 };
	struct oaeip_owner o = { 0 };

	oaeip_claim_nodes(&o, &rules, &s, &c, OAEIP_NODE_GONE, T0);
	c.serial = 0x90000000;
	oaeip_claim_nodes(&o, &rules, &s, &c, OAEIP_NODE_GONE, T0 + 100000);
	assert_int_equal(s.gone, 0x90000000);
	assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0, T0 + 100001),
			 OAEIP_OLD);
	/* Another incarnation counts anew. */
	c.inc = 2;
	c.serial = 0x8fffffff;
	assert_int_equal(oaeip_speaker_hear(&s, &c, T0 + 100002),
			 OAEIP_HEAR_NEW);
	assert_int_equal(oaeip_claim_nodes(&o, &rules, &s, &c, 0, T0 + 100002),
			 OAEIP_NEW);
}

UNIT_MAIN("who owns a node")
