// SPDX-License-Identifier: GPL-2.0
/*
 * States that no event leads to, and out of them again (G5). Each was found by
 * the explorer, which began there (tests/model/chaos.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include "one_link.h"

/* An attempt is remembered, and nothing of it: an express was not delivered. */
static void test_attempt_of_nothing(void **state)
{
	(void)state;
	l.hold.attempt = 1;
	rcv(slice(1, 0, OAE_F_LAST | OAE_F_EXPRESS));
	assert_non_null(op(OAE_OP_DELIVER));
	assert_non_null(sent(OAE_REFLECT));
}

/* The peer's ltag with another incarnation behind it: asking went on for ever. */
static void test_two_incarnations(void **state)
{
	struct oae_frame f;

	(void)state;
	l.peer_inc ^= 1;
	f = frame(OAE_SYNC_ACK);
	rcv(f);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	rcv(resolved());
	assert_int_equal(noted(OAE_N_PEER_NEW), 1);
	assert_int_equal(l.state, OAE_OPEN);
	assert_true(l.peer_inc == PEER_INC);
}

/* Counters, and no peer that they are of: they went, and nobody was told. */
static void test_counters_of_nobody(void **state)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_link(state);
		port_down();
		l.peer_inc = 0;
		l.tx = l.start + !i;
		l.rx = i;
		rcv(resolved());
		assert_int_equal(noted(OAE_N_PEER_NEW), 1);
	}
}

/* CLOSE is out, but the link does not close: it never asked its peer again. */
static void test_close_of_nobody(void **state)
{
	(void)state;
	l.close_sent = true;
	fire_at(now + 2 * cfg.keepalive);
	assert_int_equal(noted(OAE_N_PROBE), 1);
	assert_non_null(sent(OAE_SYNC));
	/* And nobody's CLOSE is answered. */
	rcv(frame(OAE_CLOSE_ACK));
	assert_int_equal(l.state, OAE_OPEN);
}

/* Something waits behind nothing: it waited for ever. */
static void test_waits_for_nothing(void **state)
{
	(void)state;
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

/*
 * All attempts of this run are used up when an express comes to its turn: it was
 * never offered, so it may be reversed. (By cancelling 255 times this state can
 * be come by.)
 */
static void test_express_without_attempt(void **state)
{
	(void)state;
	l.attempt = 255;
	post(&x, 1, OAE_POST_EXPRESS);
	assert_int_equal(noted(OAE_N_ATTEMPTS), 1);
	assert_null(sent(OAE_OFFER));
	clear();
	assert_int_equal(oae_link_cancel(&l, &x, OAE_E_SIGNAL, now, &a), 0);
	assert_true(ended(&x, OAE_REVERSED));

	/* If it is not, it goes out in the next run. */
	open_link(state);
	l.attempt = 255;
	post(&x, 1, OAE_POST_EXPRESS);
	rcv(resolved());
	assert_int_equal(sent(OAE_OFFER)->frame.attempt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_attempt_of_nothing, open_link),
		cmocka_unit_test_setup(test_two_incarnations, open_link),
		cmocka_unit_test(test_counters_of_nobody),
		cmocka_unit_test_setup(test_close_of_nobody, open_link),
		cmocka_unit_test_setup(test_waits_for_nothing, open_link),
		cmocka_unit_test_setup(test_express_without_attempt, open_link),
	};

	return cmocka_run_group_tests_name("from nowhere", tests, NULL, NULL);
}
