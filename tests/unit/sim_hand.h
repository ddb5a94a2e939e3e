/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The simulation by hand. A and B are its ends; pass(B, OAE_OFFER) lets the next
 * frame to B arrive, and insists that it is an OFFER; lose(B, OAE_OFFER) takes
 * it off the wire; flow() lets all arrive, wait_ms() lets time pass. Whatever a
 * test does, tests/harness watches G1 to G3. Included by one file a program.
 */
#ifndef OAE_SIM_HAND_H
#define OAE_SIM_HAND_H

#include "unit.h"
#include "sim.h"

static struct sim w;
static struct sim_end *const a = &w.end[A];
static struct sim_end *const b __attribute__((unused)) = &w.end[B];

static inline int setup(void **state)
{
	(void)state;
	sim_init(&w, 1);
	w.trace = true;
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	if (w.why[0]) {
		sim_print_trace(&w, stderr);
		print_error("%s\n", w.why);
		return -1;
	}
	return 0;
}

static inline unsigned int next_opcode(unsigned int to)
{
	return w.to[to].n ? w.to[to].p[0]->buf[OAE_OFF_OPCODE] : 0;
}

static inline struct sim_pkt *expect(unsigned int to, u8 opcode)
{
	if (next_opcode(to) != opcode) {
		sim_print_trace(&w, stderr);
		fail_msg("to %c: %s expected, but there is %s", 'A' + to,
			 oae_opcode_name(opcode),
			 oae_opcode_name(next_opcode(to)));
	}
	return sim_take(&w, to, 0);
}

static inline void pass(unsigned int to, u8 opcode)
{
	w.now += SIM_US;
	sim_arrive(&w, to, expect(to, opcode));
}

static inline void lose(unsigned int to, u8 opcode)
{
	sim_say(&w, "%s to %c is lost", oae_opcode_name(opcode), 'A' + to);
	expect(to, opcode);
}

static inline void quiet(void)
{
	if (w.to[A].n || w.to[B].n) {
		sim_print_trace(&w, stderr);
		fail_msg("frames that are not expected");
	}
}

/* All frames there are, and those they lead to; no time passes to speak of. */
static inline void flow(void)
{
	unsigned int to;

	while (w.to[A].n || w.to[B].n) {
		to = !w.to[A].n || (w.to[B].n &&
				    w.to[B].p[0]->due < w.to[A].p[0]->due);
		w.now += SIM_US;
		sim_arrive(&w, to, sim_take(&w, to, 0));
		assert_string_equal(w.why, "");
	}
}

/* Time passes: timers too. */
static inline void wait_ms(unsigned int ms)
{
	sim_run(&w, w.now + ms * SIM_MS);
}

static inline struct sim_tx *post(struct sim_end *e, u8 flags)
{
	return sim_post(e, 20, 20, OAE_MESSAGE, flags);
}

static inline struct sim_tx *post_slices(struct sim_end *e, u32 n, u8 flags)
{
	return sim_post(e, 20 * n, 20, OAE_MESSAGE, flags);
}

/* Both ends OPEN and idle, one transaction behind them, notes at 0. */
static inline void open_link(void)
{
	post(a, OAE_POST_CONFIRM);
	flow();
	sim_read(b);
	assert_int_equal(oae_link_state(&a->link), OAE_OPEN);
	assert_int_equal(oae_link_state(&b->link), OAE_OPEN);
	memset(w.notes, 0, sizeof(w.notes));
}

static inline void assert_committed(const struct sim_tx *tx)
{
	assert_true(tx->ended && tx->outcome == OAE_COMMITTED);
	assert_true(tx->delivered);
}

static inline void assert_reversed(const struct sim_tx *tx, int err)
{
	assert_true(tx->ended && tx->outcome == OAE_REVERSED);
	assert_int_equal(tx->err, err);
	assert_false(tx->delivered);
}

static inline int opened(void **state)
{
	setup(state);
	open_link();
	return 0;
}

/* A frame that the end's peer would sign, but did not send. */
static inline struct oae_frame forged(const struct sim_end *e, u8 opcode)
{
	return (struct oae_frame){
		.opcode = opcode, .vc = w.vc,
		.src_ltag = e->link.peer.ltag, .dst_ltag = e->link.ltag,
		.tx = e->link.rx, .rx = e->link.tx,
	};
}

static inline void inject(struct sim_end *e, struct oae_frame f)
{
	static const struct sim_pkt none;

	if (!f.hdr_len)
		f.hdr_len = OAE_HDR_LEN;
	sim_receive(e, &none, &f);
}

/* A test of two ends, whose promises are watched: the link is OPEN, or was never opened. */
#define RULE(test)		UNIT_TEST(test, opened, teardown)
#define RULE_CLOSED(test)	UNIT_TEST(test, setup, teardown)

#endif /* OAE_SIM_HAND_H */
