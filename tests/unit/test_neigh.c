// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: what each HELLO of a host means for what is known, and when a port says
 * HELLO (doc/protocol.md section 4.13).
 */
#include "../../modoae/link/neigh.h"
#include "unit.h"

#define S	OAE_NEIGH_S
#define MS	OAE_NEIGH_MS
#define NOW	(1000 * S)
#define ID	0x1020ae0000007ULL
#define INC	0xfedcba9876543210ULL
#define OTHER	(ID + 1)
#define NODE	OAE_HELLO_NODE
#define LEAVING	OAE_HELLO_LEAVING

static const u8 own[OAE_MAC_LEN] = { 2, 0, 0, 0, 0, 1 };
static const u8 mac[OAE_MAC_LEN] = { 2, 0, 0, 0, 0, 2 };
static const u8 group[OAE_MAC_LEN] = { 3, 0, 0, 0, 0, 2 };
static const u8 zero[OAE_MAC_LEN];
static const u8 last[OAE_MAC_LEN] = { 0, 0, 0, 0, 0, 1 };
static const u8 first[OAE_MAC_LEN] = { 0, 1, 0, 0, 0, 0 };

static struct oae_frame hello(u8 flags, u64 id, u64 inc)
{
	struct oae_frame f = {
		.opcode = OAE_HELLO,
		.hello = { .flags = NODE | flags, .mtu = 1500, .id = id, .node_inc = inc },
	};

	return f;
}

TEST(test_id)
{
	static const u8 most[OAE_MAC_LEN] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };

	assert_int_equal(oae_id_of_mac(mac), 0x1020000000002ULL);
	assert_int_equal(oae_id_of_mac(most), 0x1feffffffffffULL);
	assert_true(oae_id_of_mac(zero) >= OAE_ID_LEAST);
}

TEST(test_on_the_wire)
{
	struct oae_frame f = hello(LEAVING, ID, INC), g;
	u8 buf[OAE_PARSE_MAX];
	size_t len = oae_frame_build(&f, buf);

	assert_int_equal(len, OAE_HDR_LEN + OAE_HELLO_LEN);
	assert_memory_equal(buf + OAE_HDR_LEN,
			    "\x12\0\0\0\x05\xdc\0\0\0\1\2\x0a\xe0\0\0\7\xfe\xdc\xba\x98\x76\x54\x32\x10",
			    OAE_HELLO_LEN);
	assert_int_equal(oae_frame_parse(&g, buf, len, len), OAE_BAD_NONE);
	assert_int_equal(g.hello.flags, NODE | LEAVING);
	assert_int_equal(g.hello.mtu, 1500);
	assert_int_equal(g.hello.id, ID);
	assert_int_equal(g.hello.node_inc, INC);
}

static void check(const u8 *from, struct oae_frame f, enum oae_hello what)
{
	assert_int_equal(oae_hello_check_node(own, from, &f), what);
}

TEST(test_well_formed)
{
	struct oae_frame f = hello(0, ID, INC);

	check(mac, f, OAE_HELLO_GOOD);
	check(last, f, OAE_HELLO_GOOD);
	check(first, f, OAE_HELLO_GOOD);
	check(mac, hello(LEAVING, ID, INC), OAE_HELLO_GOOD);
	check(mac, hello(0, OAE_ID_LEAST, 1), OAE_HELLO_GOOD);
	check(mac, hello(0, ~0ULL, 1ULL << 63), OAE_HELLO_GOOD);
	check(group, f, OAE_HELLO_BAD);
	check(zero, f, OAE_HELLO_BAD);
	check(mac, hello(0, OAE_ID_LEAST - 1, INC), OAE_HELLO_BAD);
	check(mac, hello(0, ID, 0), OAE_HELLO_BAD);
	f.hello.mtu = OAE_MIN_MTU;
	check(mac, f, OAE_HELLO_GOOD);
	f.hello.mtu--;
	check(mac, f, OAE_HELLO_BAD);
	for (unsigned int bit = 1; bit < 0x100; bit <<= 1) {
		f = hello(bit, ID, INC);
		if (bit == NODE || bit == LEAVING)
			check(mac, f, OAE_HELLO_GOOD);
		else if (bit == OAE_HELLO_GATEWAY)
			check(mac, f, OAE_HELLO_NOT_TAKEN);
		else
			check(mac, f, OAE_HELLO_BAD);
	}
}

TEST(test_not_taken)
{
	struct oae_frame f = hello(0, ID, INC);

	check(own, f, OAE_HELLO_NOT_TAKEN);
	f.flags = OAE_F_VIA;
	check(mac, f, OAE_HELLO_NOT_TAKEN);
	f = hello(0, 0, 0);
	f.hello.flags = LEAVING;
	check(mac, f, OAE_HELLO_NOT_TAKEN);
	/* A gateway is none: see test_way. */
	f.hello.flags = OAE_HELLO_GATEWAY | NODE;
	assert_int_equal(oae_hello_check(own, mac, &f), OAE_HELLO_BAD);
	f.hello.flags = NODE;
	assert_int_equal(oae_hello_check(own, mac, &f), OAE_HELLO_NOT_TAKEN);
}

TEST(test_stale)
{
	struct oae_neigh e = { .id = ID, .inc = INC, .heard = NOW };

	assert_false(oae_neigh_stale(&e, NOW));
	assert_false(oae_neigh_stale(&e, NOW - 1));
	assert_false(oae_neigh_stale(&e, NOW + OAE_NEIGH_LIFE));
	assert_true(oae_neigh_stale(&e, NOW + OAE_NEIGH_LIFE + 1));
	/* Three HELLOs in a row may be lost. */
	assert_true(OAE_NEIGH_LIFE > 3 * 75 * S);
}

static const struct oae_rivals nobody = { .own_inc = 99 };

static enum oae_heard hear(struct oae_neigh *e, const struct oae_rivals *who, struct oae_frame f,
			   u64 when)
{
	struct oae_neigh before = *e;
	enum oae_heard heard = oae_neigh_hear(e, who, &f, when);

	if (heard == OAE_HEARD_SAME || heard == OAE_HEARD_NEW || heard == OAE_HEARD_CHANGED) {
		assert_int_equal(e->id, f.hello.id);
		assert_int_equal(e->inc, f.hello.node_inc);
		assert_int_equal(e->mtu, f.hello.mtu);
		assert_int_equal(e->heard, when);
		assert_int_equal(e->again, heard != OAE_HEARD_NEW);
	} else {
		assert_memory_equal(e, &before, sizeof(before));
	}
	return heard;
}

static struct oae_neigh known(void)
{
	struct oae_neigh e;

	memset(&e, 0, sizeof(e));
	e.id = ID;
	e.inc = INC;
	e.heard = NOW;
	e.mtu = 1500;
	return e;
}

TEST(test_life_of_an_entry)
{
	struct oae_frame f = hello(0, ID, INC);
	struct oae_neigh e;

	memset(&e, 0, sizeof(e));
	assert_int_equal(hear(&e, &nobody, f, NOW), OAE_HEARD_NEW);
	assert_int_equal(hear(&e, &nobody, f, NOW + S), OAE_HEARD_SAME);
	f.hello.mtu = 9000;
	assert_int_equal(hear(&e, &nobody, f, NOW + 2 * S), OAE_HEARD_CHANGED);
	/* A reboot. */
	f.hello.node_inc++;
	assert_int_equal(hear(&e, &nobody, f, NOW + 3 * S), OAE_HEARD_CHANGED);
	/* The knob id was set. */
	f.hello.id++;
	assert_int_equal(hear(&e, &nobody, f, NOW + 4 * S), OAE_HEARD_CHANGED);
	f.hello.flags |= LEAVING;
	assert_int_equal(hear(&e, &nobody, f, NOW + 5 * S), OAE_HEARD_LEFT);
}

TEST(test_leaving)
{
	struct oae_neigh e = known(), none;

	memset(&none, 0, sizeof(none));
	assert_int_equal(hear(&e, &nobody, hello(LEAVING, ID, INC + 1), NOW), OAE_HEARD_NOTHING);
	assert_int_equal(hear(&e, &nobody, hello(LEAVING, OTHER, INC), NOW), OAE_HEARD_NOTHING);
	assert_int_equal(hear(&none, &nobody, hello(LEAVING, ID, INC), NOW), OAE_HEARD_NOTHING);
	assert_int_equal(hear(&e, &nobody, hello(LEAVING, ID, INC), NOW), OAE_HEARD_LEFT);
}

/* An address that is known does not become another host at once. */
TEST(test_another_at_its_address)
{
	struct oae_frame f = hello(0, OTHER, INC + 1);
	struct oae_neigh e = known();

	assert_int_equal(hear(&e, &nobody, f, NOW + OAE_NEIGH_LIFE), OAE_HEARD_CONFLICT);
	assert_int_equal(hear(&e, &nobody, f, NOW + OAE_NEIGH_LIFE + 1), OAE_HEARD_CHANGED);
}

/* Rivals: none, the node elsewhere, another, both; for an entry that is new, or another's. */
TEST(test_rivals)
{
	for (unsigned int i = 0; i < 8; i++) {
		struct oae_rivals who = { .same = i & 1, .other = i & 2, .own_inc = 99 };
		bool taken = who.other && !who.same;
		struct oae_neigh e = known();

		if (i & 4) {
			/* It had another id, in the same incarnation. */
			e.id = OTHER;
			assert_int_equal(hear(&e, &who, hello(0, ID, INC), NOW),
					 taken ? OAE_HEARD_CONFLICT : OAE_HEARD_CHANGED);
			continue;
		}
		memset(&e, 0, sizeof(e));
		assert_int_equal(hear(&e, &who, hello(0, ID, INC), NOW),
				 taken ? OAE_HEARD_CONFLICT : OAE_HEARD_NEW);
		/* Who had the id before, at this address, keeps it. */
		e = known();
		assert_int_equal(hear(&e, &who, hello(0, ID, INC), NOW), OAE_HEARD_SAME);
		assert_int_equal(hear(&e, &who, hello(0, ID, INC + 1), NOW), OAE_HEARD_CHANGED);
	}
}

TEST(test_own_id)
{
	struct oae_rivals who = { .own = true, .own_inc = INC };
	struct oae_neigh e;

	memset(&e, 0, sizeof(e));
	/* Another port of this node. */
	assert_int_equal(hear(&e, &who, hello(0, ID, INC), NOW), OAE_HEARD_NOTHING);
	/* Another node with its id. */
	assert_int_equal(hear(&e, &who, hello(0, ID, INC + 1), NOW), OAE_HEARD_CONFLICT);
	who.same = true;
	assert_int_equal(hear(&e, &who, hello(0, ID, INC + 1), NOW), OAE_HEARD_CONFLICT);
}

/* --- saying HELLO ------------------------------------------------------------ */

static const u32 randoms[] = { 0, 1, 0x7fffffff, 0xffffffff };

TEST(test_comes_up)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(randoms); i++) {
		u32 r = randoms[i];
		struct oae_announce a = { 0 };
		u64 t = NOW;

		assert_false(oae_announce_due(&a, NOW, r));
		oae_announce_up(&a, NOW, r);
		assert_in_range(a.at, NOW, NOW + 100 * MS);
		t = a.at;
		assert_false(oae_announce_due(&a, t - 1, r));
		assert_true(oae_announce_due(&a, t, r));
		assert_false(oae_announce_due(&a, t, r));
		assert_int_equal(a.at, t + 3 * S);
		t = a.at;
		assert_true(oae_announce_due(&a, t, r));
		assert_in_range(a.at, t + 45 * S, t + 75 * S);
		t = a.at;
		assert_true(oae_announce_due(&a, t, r));
		assert_in_range(a.at, t + 45 * S, t + 75 * S);
		assert_int_equal(a.last, t);
	}
	/* They are as random as the bits. */
	struct oae_announce low = { .at = NOW }, high = { .at = NOW };

	assert_true(oae_announce_due(&low, NOW, 0));
	assert_true(oae_announce_due(&high, NOW, ~0u));
	assert_int_equal(low.at, NOW + 45 * S);
	assert_true(high.at > NOW + 74 * S);
}

/* A port that comes and goes does not say it more than once a second. */
TEST(test_flaps)
{
	struct oae_announce a = { 0 };
	u64 t, before = 0;

	for (t = NOW; t < NOW + 10 * S; t += 7 * MS) {
		oae_announce_up(&a, t, 0);
		if (!oae_announce_due(&a, t, 0))
			continue;
		if (before)
			assert_true(t - before >= S);
		before = t;
	}
	assert_true(before > NOW + 8 * S);
}

TEST(test_answers)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(randoms); i++) {
		struct oae_announce a = { .at = NOW + 60 * S, .last = NOW };
		u32 r = randoms[i];

		/* Not so soon after the last. */
		oae_announce_answer(&a, NOW + 10 * MS, r);
		assert_in_range(a.at, NOW + 2 * S, NOW + 2 * S + 500 * MS);
		/* Others who are new do not put it off. */
		u64 at = a.at;

		oae_announce_answer(&a, NOW + S, 0xffffffff);
		assert_true(a.at <= at);
		assert_true(oae_announce_due(&a, a.at, r));
		a = (struct oae_announce){ .at = NOW + 60 * S, .last = NOW };
		oae_announce_answer(&a, NOW + 30 * S, r);
		assert_in_range(a.at, NOW + 30 * S, NOW + 30 * S + 500 * MS);
		/* It is said soon anyway. */
		a = (struct oae_announce){ .at = NOW + 60 * S, .last = NOW };
		oae_announce_answer(&a, NOW + 60 * S, r);
		assert_int_equal(a.at, NOW + 60 * S);
		/* Nothing was said or planned. */
		memset(&a, 0, sizeof(a));
		oae_announce_answer(&a, NOW, r);
		assert_in_range(a.at, NOW, NOW + 500 * MS);
	}
}

UNIT_MAIN("neighbours")
