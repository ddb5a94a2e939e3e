// SPDX-License-Identifier: GPL-2.0
/*
 * Where two ends may find each other (doc/protocol.md 4.5, the tables of in and
 * out; for an OPEN end section 3): every place that an end may be in, and every
 * distance of the peer's counters that matters. What is expected is said anew
 * here, from the protocol, not from the code.
 */
#include "one_link.h"

enum { NOTHING, ATOMIC, EXPRESS, PARKED_ATOMIC, PARKED_EXPRESS, REVERSED, RECALLED, OFFERS };

struct where {
	bool held;		/* rx + 1 is held */
	bool last_express;	/* rx was an express */
	bool confirmed;		/* the peer is known to have delivered tx */
	unsigned int offer;
};

static char text[120];

static const char *say(const struct where *w, s32 in, s32 out)
{
	static const char *const offers[] = { "nothing", "atomic", "express",
					      "parked", "parked express",
					      "reversed", "recalled express" };

	snprintf(text, sizeof(text), "%s, last %s, %s, offers %s; in %d out %d",
		 w->held ? "holds" : "holds nothing",
		 w->last_express ? "express" : "atomic",
		 w->confirmed ? "confirmed" : "unconfirmed",
		 offers[w->offer], in, out);
	return text;
}

static bool express(const struct where *w)
{
	return w->offer == EXPRESS || w->offer == PARKED_EXPRESS || w->offer == RECALLED;
}

/* An end in that place, by frames alone. Both counters are at 5 and more. */
static void get_there(const struct where *w)
{
	unsigned int i;

	open_link(NULL);
	for (i = 0; i < 5; i++) {
		rcv(slice(0, OAE_F_LAST | (w->last_express && i == 4 ?
					      OAE_F_EXPRESS : 0)));
		if (i < 4 || !w->last_express)
			commit(0);
		post(&y, 1, 0);
		rcv(answer(OAE_REFLECT));
		if (i < 4 || w->confirmed)
			rcv(frame(OAE_DONE));
	}
	peer_lag = !w->confirmed;
	assert_int_equal(oae_link_all_confirmed(&l), w->confirmed);
	if (w->offer != NOTHING)
		post(&x, 1, express(w) ? OAE_POST_EXPRESS : 0);
	if (w->offer == PARKED_ATOMIC || w->offer == PARKED_EXPRESS)
		refuse(OAE_R_BUSY);
	if (w->offer == REVERSED || w->offer == RECALLED)
		assert_int_equal(cancel(&x), w->offer == RECALLED ? -EINPROGRESS : 0);
	if (w->held)
		rcv(slice(0, OAE_F_LAST));
	peer_lag = 0;
}

static bool in_fits(const struct where *w, s32 in)
{
	return in == 0 || (in == 1 && w->held) || (in == -1 && w->last_express);
}

static bool out_fits(const struct where *w, s32 out)
{
	return out == 0 || (out == -1 && !w->confirmed) ||
	       (out == 1 && express(w));
}

#define CHECK(what) do { \
	if (!(what)) \
		fail_msg("%s: not so: " #what, say(w, in, out)); \
} while (0)

static void resolve(const struct where *w, s32 in, s32 out)
{
	struct oae_frame f;
	const struct oae_send *s;
	bool in_flight = w->offer == ATOMIC || express(w);
	u64 inc;

	get_there(w);
	port_down();
	CHECK(!count_op(OAE_OP_DELIVER) && !count_op(OAE_OP_DISCARD));
	inc = l.inc;
	f = resolved();
	f.tx += in;
	f.rx += out;
	rcv(f);

	if (!in_fits(w, in) || !out_fits(w, out)) {
		CHECK(noted(OAE_N_BROKEN) == 1);
		CHECK(noted(OAE_N_HELD_LOST) == w->held);
		CHECK(noted(OAE_N_UNCONFIRMED) == !w->confirmed);
		CHECK(count_op(OAE_OP_DISCARD) == w->held);
		CHECK(!count_op(OAE_OP_DELIVER));
		CHECK(in_flight ? ended(&x, OAE_UNKNOWN) :
				  !count_op(OAE_OP_COMPLETE));
		s = sent(OAE_SYNC);
		CHECK(a.nsends == 1 && s && s->frame.sync.inc != inc);
		CHECK(!s->frame.sync.peer_inc);
		CHECK(s->frame.dst_ltag == f.src_ltag);
		return;
	}
	CHECK(l.state == OAE_OPEN && noted(OAE_N_RESOLVED) && sent(OAE_SYNC_ACK));
	CHECK(count_op(OAE_OP_DELIVER) == (in == 1));
	CHECK(count_op(OAE_OP_DISCARD) == (w->held && in != 1));
	CHECK(out == 1 ? ended(&x, OAE_COMMITTED) : !count_op(OAE_OP_COMPLETE));
	/* In place of what was reversed nothing is offered in a new run, but of an express. */
	CHECK(!!sent(OAE_OFFER) == (w->offer != NOTHING && w->offer != REVERSED && out != 1));
	CHECK(!sent(OAE_OFFER) || (sent(OAE_OFFER)->frame.kind == OAE_VOID) ==
				  (w->offer == RECALLED));
	CHECK(oae_link_all_confirmed(&l) == (out != -1));
	CHECK(!l.await_done && !sent(OAE_COMMIT));
}

/* Any frame of this run at an OPEN end. */
static void progress(const struct where *w, s32 in, s32 out)
{
	get_there(w);
	rcv(BUT(frame(OAE_DONE), f.tx += in, f.rx += out));
	if (noted(OAE_N_IMPOSSIBLE)) {
		/* Whatever else it says is not heard. */
		get_there(w);
		rcv(BUT(slice(0, OAE_F_LAST), f.tx += in, f.rx += out));
	}

	if ((in > 0 && !in_fits(w, in)) || (out > 0 && !out_fits(w, out))) {
		CHECK(noted(OAE_N_IMPOSSIBLE) == 1 && l.state == OAE_SYNC_SENT);
		CHECK(!count_op(OAE_OP_DELIVER) && a.nsends == 1);
		return;
	}
	CHECK(l.state == OAE_OPEN && !a.nsends);
	CHECK(count_op(OAE_OP_DELIVER) == (in == 1));
	CHECK(oae_link_all_confirmed(&l) == (w->confirmed || out == 0));
	CHECK(!count_op(OAE_OP_COMPLETE) && !count_op(OAE_OP_DISCARD));
}

static void everywhere(void (*test)(const struct where *w, s32 in, s32 out))
{
	struct where w;
	unsigned int i;
	s32 in, out;

	for (i = 0; i < 8; i++) {
		w.held = i & 1;
		w.last_express = i & 2;
		w.confirmed = i & 4;
		for (w.offer = NOTHING; w.offer < OFFERS; w.offer++)
			for (in = -2; in <= 2; in++)
				for (out = -2; out <= 2; out++)
					test(&w, in, out);
	}
}

TEST(test_resolve)
{
	everywhere(resolve);
}

TEST(test_progress)
{
	everywhere(progress);
}

UNIT_MAIN("where two ends find each other")
