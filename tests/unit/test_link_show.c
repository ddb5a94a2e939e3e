// SPDX-License-Identifier: GPL-2.0
/* What a link lets others know: what is shown of it, and what fsync waits for. */
#include "one_link.h"

#define END	OAE_F_LAST

static struct oae_link_view show(void)
{
	struct oae_link_view v;

	oae_link_show(&l, &v);
	return v;
}

LINK_TEST(test_open)
{
	struct oae_link_view v = show();

	assert_int_equal(v.state, OAE_OPEN);
	assert_int_equal(v.offer, OAE_OFFER_NONE);
	assert_int_equal(v.hold, OAE_HOLD_NONE);
	assert_int_equal(v.vc, l.vc);
	assert_int_equal(v.pending, 0);
	assert_false(v.down || v.half || v.doubt);
	assert_int_equal(v.slice_max, oae_link_slice_max(&l));
	assert_int_equal(v.peer_max_len, l.peer.max_len);
	assert_int_equal(v.tx, l.tx);
	assert_int_equal(v.rx, l.rx);
	assert_int_equal(v.srtt, l.rtt.srtt);
	assert_true(oae_link_idle(&l));
	assert_false(oae_link_closed(&l));
}

/* A state, a note or an opcode without a name: those who print it would follow no pointer. */
LINK_TEST(test_names)
{
	unsigned int i;

	for (i = 0; i < OAE_STATE_END; i++)
		assert_non_null(oae_state_name(i));
	for (i = 0; i < OAE_NOTE_END; i++)
		assert_non_null(oae_note_name(i));
	for (i = 1; i < OAE_OPCODE_END; i++)
		assert_non_null(oae_opcode_name(i));
}

/* One in flight, one that waits behind it, and a half: each counts once. */
LINK_TEST(test_pending)
{
	post_half(&y);
	assert_int_equal(show().pending, 1);
	assert_true(show().half);
	refuse(OAE_R_NO_HALF);
	/* Nothing in its place is none. */
	assert_int_equal(show().pending, 1);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(show().pending, 1);
	post(&x, 1, 0);
	assert_int_equal(show().pending, 2);
	assert_int_equal(show().offer, OAE_OFFER_OUT);
	assert_ptr_equal(op(OAE_OP_NOTE)->handle, &x);
	post(&x, 1, 0);
	assert_int_equal(show().pending, 3);
	assert_false(oae_link_idle(&l));
}

/* What was recalled has no outcome yet. */
LINK_TEST(test_pending_recalled)
{
	post(&x, 1, OAE_POST_EXPRESS);
	assert_int_equal(cancel(&x), -EINPROGRESS);
	assert_int_equal(show().pending, 1);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(show().pending, 0);
}

/* Undecided while the link works is nothing to tell; while it is frozen it is. */
LINK_TEST(test_doubt)
{
	rcv(slice(0, END));
	assert_int_equal(show().hold, OAE_HOLD_HELD);
	assert_true(oae_link_undecided(&l));
	assert_false(oae_link_idle(&l));
	assert_false(show().doubt);
	port_down();
	assert_true(show().doubt);
	rcv(resolved());
	assert_false(show().doubt);
}

/* What is committed and not confirmed is in doubt, and not undecided. */
LINK_TEST(test_confirmed)
{
	struct oae_link_mark m;

	post(&x, 1, 0);
	assert_true(oae_link_undecided(&l));
	rcv(answer(OAE_REFLECT));
	assert_int_equal(oae_link_tx(&l), show().tx);
	assert_false(oae_link_undecided(&l));
	assert_true(oae_link_in_doubt(&l));
	oae_link_mark(&l, &m);
	assert_false(oae_link_confirmed(&l, &m));
	port_down();
	assert_false(show().doubt);
	assert_true(oae_link_in_doubt(&l));
	rcv(resolved());
	assert_true(oae_link_confirmed(&l, &m));
}

/* The peer reflects the next one only after it has delivered the one before. */
LINK_TEST(test_confirmed_by_the_next)
{
	struct oae_link_mark m;

	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	oae_link_mark(&l, &m);
	peer_lag = 0;
	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_true(oae_link_confirmed(&l, &m));
	oae_link_mark(&l, &m);
	assert_false(oae_link_confirmed(&l, &m));
}

/* Another incarnation, of either end: nothing of before will be confirmed. */
LINK_TEST(test_confirmed_by_a_death)
{
	struct oae_link_mark m;

	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	oae_link_mark(&l, &m);
	m.inc++;
	assert_true(oae_link_confirmed(&l, &m));
	oae_link_mark(&l, &m);
	m.peer_inc++;
	assert_true(oae_link_confirmed(&l, &m));
}

LINK_TEST(test_settling)
{
	assert_false(oae_link_settling(&l));
	rcv(slice(0, END));
	assert_false(oae_link_settling(&l));
	clear();
	oae_link_settle(&l, now + 50 * MS, now, &a);
	assert_true(oae_link_settling(&l));
	commit(0);
	assert_false(oae_link_settling(&l));
	rcv(slice(0, END));
	kill_link(OAE_E_CANCEL);
	assert_false(oae_link_settling(&l));
	assert_true(oae_link_closed(&l));
	assert_int_equal(show().state, OAE_CLOSED);
}

LINK_TEST(test_down)
{
	unsigned int i;

	rcv(slice(0, END));
	clear();
	oae_link_settle(&l, now + 3600000 * MS, now, &a);
	port_down();
	for (i = 0; i < 20 && !oae_link_down(&l); i++)
		fire_at(oae_link_timer_at(&l));
	assert_true(oae_link_down(&l));
	assert_true(show().down);
	assert_true(oae_link_in_doubt(&l));
	assert_false(oae_link_settling(&l));
}

static struct oae_link_waits waits(void)
{
	struct oae_link_waits w;

	oae_link_waits(&l, now, &w);
	return w;
}

/* Since the first refusal of this content, whatever was tried since; the next one's is its own. */
LINK_TEST(test_waits_for_room)
{
	u64 at;

	assert_int_equal(waits().why, OAE_WAIT_NOTHING);
	post(&x, 1, 0);
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);
	assert_int_equal(waits().since, now);
	refuse(OAE_R_BUSY);
	at = now;
	now += MS;
	rcv(answer(OAE_READY));
	assert_int_equal(waits().why, OAE_WAIT_ROOM);
	refuse(OAE_R_BUSY);
	assert_int_equal(waits().since, at);
	assert_int_equal(waits().until, 0);
	cancel(&x);
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);	/* nothing in its place */
	rcv(answer(OAE_REFLECT));
	assert_int_equal(waits().why, OAE_WAIT_NOTHING);
	now += MS;
	post(&y, 1, 0);
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);
	refuse(OAE_R_CONFLICT);
	assert_int_equal(waits().why, OAE_WAIT_WORDS);
	assert_int_equal(waits().since, now);
}

LINK_TEST(test_waits_for_a_half)
{
	u64 at = now;

	post_half(&y);
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);
	now += MS;
	refuse(OAE_R_NO_HALF);
	assert_int_equal(waits().why, OAE_WAIT_HALF);
	assert_int_equal(waits().since, at);
	/* The peer's is here, and its COMMIT is not. */
	now += MS;
	rcv(offer_kind(OAE_SWAP));
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);
	assert_int_equal(waits().since, now);
}

/* An answer, until the dead time is over; a link that is down gives up nothing more. */
LINK_TEST(test_waits_for_an_answer)
{
	struct oae_link_waits w;
	unsigned int i;

	port_down();
	w = waits();
	assert_int_equal(w.why, OAE_WAIT_ANSWER);
	assert_int_equal(w.since, now);
	assert_int_equal(w.until, now + cfg.dead);
	for (i = 0; i < 20 && !oae_link_down(&l); i++)
		fire_at(oae_link_timer_at(&l));
	assert_int_equal(waits().why, OAE_WAIT_ANSWER);
	assert_int_equal(waits().until, 0);
	assert_in_range(waits().since, w.since, w.since + MS);
	kill_link(OAE_E_CANCEL);
	assert_int_equal(waits().why, OAE_WAIT_NOTHING);
}

/* A probe is answered at once, or it is waited for. */
LINK_TEST(test_waits_for_a_probe)
{
	unsigned int i;
	u64 at;

	for (i = 0; i < 5 && !noted(OAE_N_PROBE); i++)
		fire_at(oae_link_timer_at(&l));
	assert_int_equal(noted(OAE_N_PROBE), 1);
	assert_int_equal(waits().why, OAE_WAIT_NOTHING);
	at = now;
	now += oae_link_pto(&l) + MS;
	assert_int_equal(waits().why, OAE_WAIT_ANSWER);
	assert_in_range(waits().since, at, now - oae_link_pto(&l));
}

/* The questions about a message in flight have no answer; the link has not frozen yet. */
LINK_TEST(test_waits_for_what_is_asked)
{
	unsigned int i;
	u64 at;

	post(&x, 1, 0);
	assert_false(oae_link_unheard(&l));
	for (i = 0; i < 5 && !noted(OAE_N_ASKED); i++)
		fire_at(oae_link_timer_at(&l));
	assert_int_equal(noted(OAE_N_ASKED), 1);
	assert_int_equal(waits().why, OAE_WAIT_FLIGHT);
	assert_true(oae_link_unheard(&l));
	at = now;
	now += oae_link_pto(&l) + MS;
	assert_int_equal(waits().why, OAE_WAIT_ANSWER);
	assert_int_equal(waits().since, at);
	assert_int_equal(waits().until, at + l.cfg->dead);
}

LINK_TEST(test_waits_to_settle)
{
	rcv(slice(0, END));
	clear();
	oae_link_settle(&l, now + 50 * MS, now, &a);
	assert_int_equal(waits().why, OAE_WAIT_SETTLING);
	assert_int_equal(waits().until, now + 50 * MS);
}

LINK_TEST(test_waits_to_be_confirmed)
{
	u64 at = now;

	post(&x, 1, 0);
	rcv(answer(OAE_REFLECT));
	assert_int_equal(waits().why, OAE_WAIT_NOTHING);
	clear();
	oae_link_confirm(&l, now, &a);
	assert_int_equal(waits().why, OAE_WAIT_CONFIRM);
	assert_int_equal(waits().since, at);
}

UNIT_MAIN("show")
