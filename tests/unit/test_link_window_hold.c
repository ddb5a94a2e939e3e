// SPDX-License-Identifier: GPL-2.0
/*
 * Several transactions of the peer are held here (doc/protocol.md section 4.11), until they
 * are committed and delivered in order, or lost.
 */
#include "one_window.h"

WINDOW_TEST(test_delivered_in_order)
{
	const struct oae_op *o;
	u32 rx = l.rx;

	take(2, OAE_MESSAGE);
	assert_int_equal(sent(OAE_REFLECT)->frame.seq, rx + 2);
	take(1, OAE_MESSAGE);
	commit_to(2);
	assert_int_equal(count_op(OAE_OP_DELIVER), 2);
	o = op(OAE_OP_DELIVER);
	assert_int_equal(o->seq, rx + 1);
	assert_int_equal(l.rx, rx + 2);
}

/* All that is committed must be here. */
WINDOW_TEST(test_impossible)
{
	unsigned int i;

	take(2, OAE_MESSAGE);
	commit_to(2);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_false(op(OAE_OP_DELIVER));

	open_window(state);
	for (i = 1; i <= PLACES; i++)
		take(i, OAE_MESSAGE);
	commit_to(PLACES + 1);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
	assert_false(op(OAE_OP_DELIVER));
}

WINDOW_TEST(test_held_lost)
{
	take(1, OAE_MESSAGE);
	take(2, OAE_MESSAGE);
	renamed();
	assert_int_equal(noted(OAE_N_HELD_LOST), 2);
}

/* Nothing counts as nothing. */
WINDOW_TEST(test_void_held)
{
	take(1, OAE_VOID);
	assert_non_null(sent(OAE_REFLECT));
	assert_int_equal(noted(OAE_N_HELD), 0);
	assert_false(op(OAE_OP_KEEP));
	/* What it has replaced may come late. */
	take(1, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_OLD_CONTENT), 1);
	assert_int_equal(a.nsends, 0);
	commit_to(1);
	assert_false(op(OAE_OP_DELIVER));

	/* With a window of one it is the same. */
	open_link(state);
	take(1, OAE_MESSAGE);
	take(1, OAE_VOID);
	assert_int_equal(noted(OAE_N_DROPPED), 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.kind, OAE_VOID);
	commit_to(1);
	assert_false(op(OAE_OP_DELIVER));
}

/* Numbers beyond the window, and barriers above the next, are not taken. */
TEST(test_not_in_window)
{
	struct oae_frame f;

	open_wide(4, 4);
	lend();
	take(5, OAE_MESSAGE);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	take(2, OAE_SWAP);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	f = slice(0, OAE_F_LAST | OAE_F_EXPRESS);
	f.seq++;
	rcv(f);
	assert_int_equal(noted(OAE_N_OLD_SEQ), 1);
	take(4, OAE_MESSAGE);
	assert_non_null(sent(OAE_REFLECT));
}

/* What is held is reflected again after two probe timeouts: of so many above, and not before. */
static void assert_reflects(u32 above)
{
	u64 wait = 2 * oae_link_pto(&l);

	fire_at(now + wait - 1);
	assert_null(sent(OAE_REFLECT));
	fire_at(now + 1);
	assert_int_equal(sent(OAE_REFLECT)->frame.seq, l.rx + above);
	assert_int_equal(noted(OAE_N_REFLECTED_AGAIN), 1);
}

/* What is held waits for the peer, but not above what is refused here for now. */
WINDOW_TEST(test_held_stalls)
{
	take(2, OAE_MESSAGE);
	assert_reflects(2);
	take(3, OAE_MESSAGE);
	assert_reflects(2);

	open_window(state);
	take(2, OAE_MESSAGE);
	take_settling(1, OAE_MESSAGE);
	assert_refused(1, OAE_R_BUSY);
	fire_at(now + 50 * MS);
	assert_int_equal(a.nsends, 0);
	words_free();
	assert_reflects(2);
}

/* As often as it is before the link freezes. */
static void reflects_in_vain(void)
{
	unsigned int i;

	for (i = 0; i < 8;) {
		fire_at(l.timer.at);
		i += !!sent(OAE_REFLECT);
		rcv(frame(OAE_DONE));
	}
}

/* What a refusal here holds up for long is not given up, however often it was reflected before. */
WINDOW_TEST(test_held_up)
{
	take(2, OAE_MESSAGE);
	reflects_in_vain();
	take_settling(1, OAE_MESSAGE);
	fire_at(now + cfg.dead / 2);
	assert_int_equal(l.state, OAE_OPEN);
	take(1, OAE_VOID);
	fire_at(now + cfg.dead / 2);
	assert_int_equal(l.state, OAE_OPEN);
	assert_non_null(sent(OAE_REFLECT));

	/* Nor what is refused in the midst. */
	open_window(state);
	take_slice(1, 0, 0);
	take(2, OAE_MESSAGE);
	reflects_in_vain();
	rcv_settling(BUT(slice(1, OAE_F_LAST), f.seq = l.rx + 1));
	assert_refused(1, OAE_R_BUSY);
	fire_at(now + cfg.dead / 2);
	assert_int_equal(l.state, OAE_OPEN);
}

/* What was committed before the freeze is delivered by resolving; the rest is not. */
WINDOW_TEST(test_resolved)
{
	u32 rx = l.rx;

	take(1, OAE_MESSAGE);
	take(2, OAE_MESSAGE);
	take(3, OAE_MESSAGE);
	port_down();
	rcv(BUT(resolved(), f.tx += 2, f.sync.caps = PLACES - 1));
	assert_int_equal(count_op(OAE_OP_DELIVER), 2);
	assert_int_equal(l.rx, rx + 2);
	commit_to(1);
	assert_int_equal(noted(OAE_N_IMPOSSIBLE), 1);
}

UNIT_MAIN("several are held")
