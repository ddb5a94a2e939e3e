// SPDX-License-Identifier: GPL-2.0
/*
 * Three gateways and the same few nodes, over a wire that loses, doubles, delays and
 * reorders: who has which node in the end, and after how long. The gateways here do
 * with a verdict what the enum says, no more.
 */
#include "unit.h"
#include "../../modoaeip/rules/claim.h"

#define ZONES		3
#define NODES		4
#define WIRE		4096	/* datagrams on their way, at most */
#define STEP		10	/* ms */

#define HELLO		1000
#define REFRESH		2000
#define LIFE		7000	/* 3.5 REFRESH */
#define NODE_LIFE	10000
#define SPEAK		300	/* a node sends at least so often */
#define DELAY		200	/* of the wire, at most */
/* Chaos over, everything is in its place after so long, with what is lost. */
#define SETTLE		20000

struct datagram {
	u64 at;			/* arrives; 0 none */
	u8 to, from;		/* zones */
	u8 source;		/* DATA: of which node */
	u16 len;		/* 0: DATA */
	u8 b[OAEIP_CTL_LEN + NODES * OAEIP_NODE_LEN];
};

struct gateway {
	struct oaeip_rules rules;
	struct oaeip_speaker speaker[ZONES + 1];
	struct oaeip_owner owner[NODES];
	u64 answer[NODES];	/* a node that was asked answers then */
	u64 told[ZONES + 1];	/* ASK answered */
	u64 refresh;
	u32 inc, serial;
};

static struct gateway gw[ZONES + 1];
static struct datagram wire[WIRE];
static bool here[NODES][ZONES + 1];	/* which node speaks where */
static bool cut[ZONES + 1][ZONES + 1];
static unsigned int loss, doubling, delay, counts[OAEIP_VERDICT_END];
static unsigned int used;		/* of the wire */
static u64 now, rng;

static unsigned int dice(unsigned int n)
{
	rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (rng >> 33) % n;
}

static void put(const struct datagram *d)
{
	unsigned int i, copies = 1 + (dice(1000) < doubling);

	if (cut[d->from][d->to])
		return;
	while (copies--) {
		if (dice(1000) < loss)
			continue;
		for (i = 0; wire[i].at; i++)
			if (i == WIRE - 2)
				fail_msg("the wire is full");
		wire[i] = *d;
		if (used <= i)
			used = i + 1;
		wire[i].at = now + 1 + dice(delay);
	}
}

/* A control message to one zone; @nodes is a set of nodes. */
static void tell_one(u8 from, u8 to, u8 op, unsigned int nodes, u8 flags)
{
	struct datagram d = { .to = to, .from = from };
	struct oaeip_control c = { .op = op, .life = LIFE / 100,
				   .inc = gw[from].inc };
	u8 mac[6] = { 2 };

	for (mac[5] = 0; mac[5] < NODES; mac[5]++)
		if (nodes >> mac[5] & 1)
			oaeip_node_put(d.b, c.count++, mac, flags);
	if (op == OAEIP_NODES && !c.count)
		return;
	c.serial = ++gw[from].serial;
	d.len = oaeip_control_build(&c, d.b);
	put(&d);
}

static void tell_all(u8 from, u8 op, unsigned int nodes, u8 flags)
{
	u8 z;

	for (z = 1; z <= ZONES; z++)
		if (z != from)
			tell_one(from, z, op, nodes, flags);
}

static unsigned int mine(u8 z)
{
	unsigned int n, set = 0;

	for (n = 0; n < NODES; n++)
		if (gw[z].owner[n].local)
			set |= 1U << n;
	return set;
}

/* Do what the verdict says; false: the frame is dropped. */
static bool obey(u8 z, unsigned int n, enum oaeip_verdict v, u8 speaker)
{
	struct oaeip_owner *o = &gw[z].owner[n];

	counts[v]++;
	switch (v) {
	case OAEIP_NEW:
		if (o->local)
			tell_all(z, OAEIP_NODES, 1U << n, 0);
		break;
	case OAEIP_CLAIM_IT:
		tell_one(z, o->zone, OAEIP_NODES, 1U << n, OAEIP_NODE_CLAIM);
		return false;
	case OAEIP_CONFLICT:
		return false;
	case OAEIP_OWN_CLAIMED:
		gw[z].answer[n] = now + 1 + dice(50);
		break;
	case OAEIP_KEPT:
		tell_one(z, o->rival, OAEIP_NODES, 1U << n, 0);
		break;
	case OAEIP_NOT_HERE:
		tell_one(z, speaker, OAEIP_NODES, 1U << n, OAEIP_NODE_GONE);
		break;
	case OAEIP_LOST:
	case OAEIP_YIELDED:
		tell_all(z, OAEIP_NODES, 1U << n, OAEIP_NODE_GONE);
		break;
	default:
		break;
	}
	return true;
}

static void control(u8 z, u8 from, const struct datagram *d)
{
	struct gateway *g = &gw[z];
	struct oaeip_control c;
	enum oaeip_hearing h;
	unsigned int i, n;
	const u8 *mac;
	u8 flags;

	assert_int_equal(oaeip_control_parse(&c, d->b, d->len, d->len),
			 OAEIP_OK);
	h = oaeip_speaker_hear(&g->speaker[from], &c, now);
	if (h == OAEIP_HEAR_DEAD)
		return;
	if (h == OAEIP_HEAR_NEW || (c.op == OAEIP_BYE && h != OAEIP_HEAR_LATE))
		for (n = 0; n < NODES; n++)
			oaeip_claim_zone_gone(&g->owner[n], from);
	if (h == OAEIP_HEAR_NEW)
		tell_one(z, from, OAEIP_ASK, 0, 0);
	if (c.op == OAEIP_ASK && now - g->told[from] >= HELLO / 4) {
		g->told[from] = now;
		tell_one(z, from, OAEIP_NODES, mine(z), 0);
	}
	for (i = 0; i < c.count; i++) {
		mac = oaeip_node_get(&c, i, &flags);
		n = mac[5];
		obey(z, n, oaeip_claim_nodes(&g->owner[n], &g->rules,
					     &g->speaker[from], &c, flags, now),
		     from);
	}
}

/* A frame of a node in a zone, for some node. */
static void frame(u8 z, unsigned int n)
{
	struct datagram d = { .from = z, .source = n };
	struct gateway *g = &gw[z];

	if (!obey(z, n, oaeip_claim_local(&g->owner[n], &g->rules, now), 0))
		return;
	d.to = g->owner[dice(NODES)].zone;
	if (d.to && d.to != z)
		put(&d);
}

static void step_gateway(u8 z)
{
	struct gateway *g = &gw[z];
	unsigned int n;

	for (n = 0; n < NODES; n++) {
		if (here[n][z] && (!dice(SPEAK / STEP) || !(now % SPEAK)))
			frame(z, n);
		if (g->answer[n] && g->answer[n] <= now) {
			g->answer[n] = 0;
			if (here[n][z])
				frame(z, n);
		}
		obey(z, n, oaeip_claim_check(&g->owner[n], &g->rules, now), 0);
		/* Nothing lives past its life. */
		assert_true(!g->owner[n].zone || g->owner[n].until > now);
		assert_true(g->owner[n].local ||
			    g->owner[n].until <= now + LIFE);
	}
	if (now >= g->refresh) {
		g->refresh = now + REFRESH;
		tell_all(z, OAEIP_BEAT, 0, 0);
		tell_all(z, OAEIP_NODES, mine(z), 0);
	}
}

static void step(void)
{
	struct datagram d;
	unsigned int i;
	u8 z;

	now += STEP;
	for (i = 0; i < used; i++) {
		if (!wire[i].at || wire[i].at > now)
			continue;
		d = wire[i];
		wire[i].at = 0;
		if (d.len)
			control(d.to, d.from, &d);
		else
			obey(d.to, d.source,
			     oaeip_claim_data(&gw[d.to].owner[d.source],
					      &gw[d.to].rules, d.from, now), 0);
	}
	for (z = 1; z <= ZONES; z++)
		step_gateway(z);
}

static void run(unsigned int ms)
{
	u64 end = now + ms;

	while (now < end)
		step();
}

static void restart(u8 z)
{
	if (gw[z].inc && dice(2))
		tell_all(z, OAEIP_BYE, 0, 0);
	memset(&gw[z], 0, sizeof(gw[z]));
	gw[z].rules = (struct oaeip_rules){ z, HELLO, NODE_LIFE, LIFE };
	gw[z].inc = 1 + dice(1U << 30);
	gw[z].serial = dice(3) ? dice(1U << 30) : -1U - dice(20);
	gw[z].refresh = now + dice(REFRESH);
	for (u8 other = 1; other <= ZONES; other++)
		gw[z].speaker[other].zone = other;
	tell_all(z, OAEIP_ASK, 0, 0);
}

static void begin(u64 seed)
{
	u8 z;

	rng = seed * 0x9e3779b97f4a7c15ULL;
	now = 100000 + dice(1000) * STEP;
	memset(gw, 0, sizeof(gw));
	memset(wire, 0, sizeof(wire));
	memset(here, 0, sizeof(here));
	memset(cut, 0, sizeof(cut));
	used = 0;
	loss = 50;
	doubling = 20;
	delay = DELAY;
	for (z = 1; z <= ZONES; z++)
		restart(z);
}

/* The zones that have a node as their own. */
static unsigned int owners(unsigned int n, u8 *last)
{
	unsigned int found = 0;
	u8 z;

	for (z = 1; z <= ZONES; z++)
		if (gw[z].owner[n].local) {
			found++;
			*last = z;
		}
	return found;
}

static void one_mishap(void)
{
	unsigned int n = dice(NODES);
	u8 z = 1 + dice(ZONES), other = 1 + dice(ZONES);

	switch (dice(8)) {
	case 0:			/* there are two of it, or it has left */
		here[n][z] = !here[n][z];
		break;
	case 1:
		restart(z);
		break;
	case 2:
		cut[z][other] = cut[other][z] = true;
		break;
	case 3:
		cut[z][other] = false;
		break;
	case 4:			/* it says that it leaves */
		here[n][z] = false;
		obey(z, n, oaeip_claim_leaving(&gw[z].owner[n], now), 0);
		break;
	default:		/* it moves */
		memset(here[n], 0, sizeof(here[n]));
		here[n][z] = true;
	}
}

static unsigned int places(unsigned int n)
{
	return here[n][1] + here[n][2] + here[n][3];
}

/* Each node is where it speaks, in one zone, and all know; for a while. */
static void check_settled(u64 seed)
{
	unsigned int i, n, had;
	u8 z, at = 0;

	for (n = 0; n < NODES; n++) {
		had = owners(n, &at);
		if (had != (places(n) ? 1 : 0) || (had && !here[n][at]))
			fail_msg("seed %llu: node %u is in %u zones, and owned by %u (%u)",
				 (unsigned long long)seed, n, places(n), had, at);
	}
	for (i = 0; i < 10000; i += STEP) {
		step();
		for (n = 0; n < NODES; n++) {
			had = owners(n, &at);
			if (had > 1 || (had && !here[n][at]))
				fail_msg("seed %llu: later, node %u is owned by %u (%u)",
					 (unsigned long long)seed, n, had, at);
		}
	}
	/* The last word may have been lost: then the next refresh says it. */
	for (n = 0; n < NODES; n++)
		for (z = 1; z <= ZONES; z++)
			if (places(n) && !gw[z].owner[n].zone)
				fail_msg("seed %llu: zone %u does not know node %u",
					 (unsigned long long)seed, z, n);
}

TEST(test_chaos)
{
	unsigned int i;
	u64 seed;

	for (seed = 1; seed <= 200; seed++) {
		begin(seed);
		for (i = 0; i < 60; i++) {
			one_mishap();
			run(dice(1500));
		}
		memset(cut, 0, sizeof(cut));
		run(SETTLE);
		check_settled(seed);
	}
	for (i = 0; i < OAEIP_VERDICT_END; i++) {
		printf("%u: %u, ", i, counts[i]);
		assert_true(counts[i] > 10);
	}
	printf("\n");
}

/* A node that moves is its new zone's soon, and it is never two zones'. */
TEST(test_moves)
{
	u64 seed, moved, worst[2] = { 0 };
	unsigned int lossy;
	u8 at, from, to;

	for (seed = 1; seed <= 400; seed++) {
		lossy = seed & 1;
		begin(seed);
		loss = lossy ? 50 : 0;
		from = 1 + dice(ZONES);
		to = 1 + from % ZONES;
		here[0][from] = true;
		here[1][1] = true;
		here[2][2] = true;
		run(10000 + dice(3000));
		assert_int_equal(owners(0, &at), 1);
		assert_int_equal(at, from);
		here[0][from] = false;
		here[0][to] = true;
		for (moved = now; !gw[to].owner[0].local; step()) {
			assert_true(now - moved < SETTLE);
			assert_true(owners(0, &at) <= 1);
		}
		if (now - moved > worst[lossy])
			worst[lossy] = now - moved;
		run(3000);
		assert_int_equal(owners(0, &at), 1);
		assert_int_equal(at, to);
	}
	printf("moved after at most %llu ms, with loss %llu ms\n",
	       (unsigned long long)worst[0], (unsigned long long)worst[1]);
	/* It speaks; it is asked for; hello_ms; let go; it speaks. */
	assert_true(worst[0] <= SPEAK + DELAY + HELLO + DELAY + SPEAK + 5 * STEP);
	assert_true(worst[1] <= 6 * HELLO);
}

/* Of two nodes with one address the first stays, while it speaks. */
TEST(test_first_stays)
{
	u64 seed, end;
	u8 first, at;

	for (seed = 1; seed <= 100; seed++) {
		begin(seed);
		first = 1 + dice(ZONES);
		here[0][first] = true;
		here[1][1 + dice(ZONES)] = true;
		run(10000);
		assert_int_equal(owners(0, &at), 1);
		here[0][1 + first % ZONES] = true;
		here[0][1 + (first + 1) % ZONES] = seed & 1;
		for (end = now + 40000; now < end; step()) {
			assert_int_equal(owners(0, &at), 1);
			assert_int_equal(at, first);
		}
		/* It falls silent: then another has it, and it alone. */
		here[0][first] = false;
		run(SETTLE);
		assert_int_equal(owners(0, &at), 1);
		assert_true(here[0][at]);
	}
}

/* Two that were found while the zones were cut off: one yields, once they meet. */
TEST(test_cut_off)
{
	u64 seed, met, worst = 0;
	u8 a, b, at;

	for (seed = 1; seed <= 200; seed++) {
		begin(seed);
		a = 1 + dice(ZONES);
		b = 1 + a % ZONES;
		here[0][a] = true;
		here[0][b] = true;
		memset(cut, true, sizeof(cut));
		run(10000 + dice(REFRESH));
		assert_int_equal(owners(0, &at), 2);
		memset(cut, 0, sizeof(cut));
		for (met = now; owners(0, &at) > 1; step())
			assert_true(now - met < SETTLE);
		assert_int_equal(at, a < b ? a : b);
		if (now - met > worst)
			worst = now - met;
		run(20000);
		assert_int_equal(owners(0, &at), 1);
	}
	printf("one yields after at most %llu ms\n", (unsigned long long)worst);
	assert_true(worst <= 10 * HELLO + REFRESH);
}

/* A node that falls silent is forgotten everywhere, however late what comes. */
TEST(test_life)
{
	unsigned int n;
	u64 seed;
	u8 z;

	for (seed = 1; seed <= 100; seed++) {
		begin(seed);
		delay = 5000;
		for (n = 0; n < NODES; n++)
			here[n][1 + dice(ZONES)] = true;
		run(15000);
		memset(here, 0, sizeof(here));
		run(NODE_LIFE + delay + LIFE + STEP);
		for (z = 1; z <= ZONES; z++)
			for (n = 0; n < NODES; n++)
				if (gw[z].owner[n].zone)
					fail_msg("seed %llu: node %u lives in %u",
						 (unsigned long long)seed, n, z);
	}
}

UNIT_MAIN("nodes over a bad wire")
