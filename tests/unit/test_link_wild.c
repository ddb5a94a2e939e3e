// SPDX-License-Identifier: GPL-2.0
/*
 * States that no event leads to, and out of them again (G5). Each was found by
 * the explorer, which began there (tests/model/chaos.c).
 */
#include "one_link.h"

/* The peer's ltag with another incarnation behind it: asking went on for ever. */
LINK_TEST(test_two_incarnations)
{
	struct oae_frame f;

	l.peer.inc ^= 1;
	f = frame(OAE_SYNC_ACK);
	rcv(f);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	rcv(resolved());
	assert_int_equal(noted(OAE_N_PEER_NEW), 1);
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(l.peer.inc == PEER_INC);
}

/* Counters, and no peer that they are of: they went, and nobody was told. */
TEST(test_counters_of_nobody)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_link(state);
		port_down();
		l.peer.inc = 0;
		l.tx = l.start + !i;
		l.rx = i;
		rcv(resolved());
		assert_int_equal(noted(OAE_N_PEER_NEW), 1);
	}
}

/* CLOSE is out, but the link does not close: it never asked its peer again. */
LINK_TEST(test_close_of_nobody)
{
	l.close_sent = OAE_CLOSING_LAST;
	fire_at(now + 2 * cfg.keepalive);
	assert_int_equal(noted(OAE_N_PROBE), 1);
	assert_non_null(sent(OAE_SYNC));
	/* And nobody's CLOSE is answered. */
	rcv(frame(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_OPEN);
}

/* Something waits behind nothing: it waited for ever. */
LINK_TEST(test_waits_for_nothing)
{
	l.next = (struct oae_post){
		.handle = &x, .digest = DIGEST, .first = 1, .len = CUT,
		.slice_max = CUT, .nslices = 1,
	};
	l.next_valid = true;
	fire_at(now + 2 * cfg.keepalive);
	assert_non_null(sent(OAE_OFFER));
	rcv(answer(OAE_REFLECT));
	assert_true(ended(&x, OAE_COMMITTED));
}

UNIT_MAIN("from nowhere")
