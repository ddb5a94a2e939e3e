// SPDX-License-Identifier: GPL-2.0
/* Paths through gateways (doc/protocol.md section 4.14), beside direct ones. */
#include "../../modoae/link/path.h"
#include "one_link.h"

#define KEEPALIVE	(100 * MS)

static struct oae_paths ps;

static void prove(unsigned int i)
{
	oae_path_probed(&ps, i, 1000 + i, now);
	now += MS;
	assert_true(oae_path_answered(&ps, i, 1000 + i, now));
}

/* The link is OPEN and senior; the own path is direct, 1 goes through a gateway, 2 is direct. */
static int beside(void **state)
{
	open_link(state);
	memset(&ps, 0, sizeof(ps));
	oae_paths_init(&ps, &l, 1500, true, now);
	assert_int_equal(oae_path_add(&ps, 1500, true), 1);
	assert_int_equal(oae_path_add(&ps, 1500, true), 2);
	ps.path[1].via = true;
	prove(1);
	prove(2);
	ps.path[0].rtt = MS;
	l.paths = true;
	l.peer.paths = true;
	now += 10 * KEEPALIVE;
	return 0;
}

#define VIA_TEST(test)	UNIT_TEST(test, beside, NULL)

static unsigned int goes_to(void)
{
	now += 10 * KEEPALIVE;
	oae_paths_back(&ps, &l, now);
	return ps.used;
}

/* No link is spread over a gateway; and none goes there since it carries more. */
VIA_TEST(test_behind)
{
	unsigned int vc;

	for (vc = 0; vc < 6; vc++) {
		l.vc = vc;
		assert_int_equal(goes_to(), vc & 1 ? 2 : 0);
	}
	ps.path[1].mtu = 9000;
	l.vc = 1;
	assert_int_equal(goes_to(), 2);
	/* But if it is in use, the cable is better, and if that carries less. */
	ps.used = 1;
	ps.path[1].used_at = 0;
	assert_int_equal(goes_to(), 2);
	assert_int_equal(ps.why, OAE_WHY_RANK);
	/* One that has failed is gone back to. */
	assert_true(oae_path_failed(&ps, 2, &l, now));
	assert_int_equal(ps.used, 0);
	assert_true(oae_path_failed(&ps, 0, &l, now));
	assert_int_equal(ps.used, 1);
	prove(0);
	now = ps.path[0].good_at + 16 * KEEPALIVE;
	assert_int_equal(goes_to(), 0);
	assert_int_equal(ps.why, OAE_WHY_BACK);
}

/* By hand a gateway is preferred to a cable, or rather used than one that is to be avoided. */
VIA_TEST(test_by_hand)
{
	l.vc = 0;
	ps.path[1].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 1);
	assert_int_equal(ps.why, OAE_WHY_RANK);
	ps.path[2].rank = OAE_PATH_PREFERRED;
	assert_int_equal(goes_to(), 2);
	ps.path[0].rank = OAE_PATH_AVOID;
	ps.path[1].rank = OAE_PATH_NORMAL;
	ps.path[2].rank = OAE_PATH_AVOID;
	assert_int_equal(goes_to(), 1);
	/* A cable that loses frames is left for it, if it carries as much. */
	ps.path[0].rank = OAE_PATH_NORMAL;
	assert_int_equal(goes_to(), 0);
	ps.path[0].loss.lossy = true;
	ps.path[1].mtu = 1452;
	assert_int_equal(goes_to(), 0);
	ps.path[1].mtu = 1500;
	assert_int_equal(goes_to(), 1);
	assert_int_equal(ps.why, OAE_WHY_LOSS);
}

static void down(bool is)
{
	l.state = is ? OAE_SYNC_SENT : OAE_OPEN;
	l.down = is;
	oae_paths_pair(&ps, &l);
}

static unsigned int asks_by(void)
{
	const struct oae_frame f = { .opcode = OAE_SYNC };

	return oae_paths_out(&ps, &l, &f, -1, OAE_SYNC_SENT);
}

/* A link that is down asks by no gateway, but by that in use, before a probe was answered. */
VIA_TEST(test_down)
{
	l.state = OAE_SYNC_SENT;
	oae_paths_pair(&ps, &l);
	assert_int_equal(asks_by(), 7);
	oae_path_probed(&ps, 1, 77, now);
	down(true);
	assert_int_equal(asks_by(), 5);
	assert_true(ps.path[2].good && !ps.path[1].good);
	assert_false(oae_path_answered(&ps, 1, 77, now));
	prove(1);
	down(true);
	assert_int_equal(asks_by(), 7);
	/* Each time anew. */
	down(false);
	down(true);
	assert_int_equal(asks_by(), 5);
	prove(1);
	down(false);
	ps.used = 1;
	down(true);
	assert_int_equal(asks_by(), 7);
	/* The own path is 4.8's. */
	down(false);
	ps.path[0].via = true;
	down(true);
	assert_int_equal(asks_by(), 7);
}

/* Each says that it takes such paths, and hears it of the other. */
VIA_TEST(test_said)
{
	static const u32 both = OAE_CAPS_PATHS | OAE_CAPS_GATEWAY;
	struct oae_frame f;
	unsigned int i;

	cfg.paths = true;
	for (i = 0; i < 3; i++) {
		port_down();
		assert_int_equal(sent(OAE_SYNC)->frame.sync.caps & both, both);
		f = BUT(frame(OAE_SYNC), f.src_ltag += 0x100 + i,
			f.sync.caps = i == 0 ? both : i == 1 ? OAE_CAPS_PATHS : 0);
		f.dst_ltag = l.ltag;
		rcv(f);
		assert_int_equal(l.state, OAE_OPEN);
		assert_int_equal(oae_link_knows_paths(&l), i < 2);
		assert_int_equal(oae_link_knows_gateway(&l), i == 0);
	}
}

UNIT_MAIN("paths through gateways")
