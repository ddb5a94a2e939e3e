// SPDX-License-Identifier: GPL-2.0
/*
 * Two honest links in the world of tests/unit/sim.h: what the wire, the users
 * and fate do is the fuzzer's. Then the faults stop, all must settle, and the
 * link must be one again; G1 to G3 are watched all the time (tests/harness).
 *
 * The input is a head of eight bytes, see set_up(), and records of four:
 *
 *   0     which act, and at which end: see one_act()
 *   1, 2  its arguments
 *   3     the time until the next: see a_while()
 */
#include "fuzz.h"
#include "../unit/sim.h"

#define MAX_ACTS	400
#define LATE		(20 * SIM_MS)	/* the longest way of a late frame */

const size_t fuzz_head = 8, fuzz_record = 4;

static const u8 windows[] = { 1, 8, 2, 3 };

static struct sim world;

/* The head: dice, ports, readers, limits. */
static void set_up(struct sim *w, const u8 *head)
{
	static const u16 mtus[] = { SIM_MTU, OAE_MIN_MTU, 200, 150 };
	static const u32 max_lens[] = { SIM_MAX_LEN, 600, 4000, 2000 };
	unsigned int i;

	sim_init(w, head[0]);
	w->trace = fuzz_tracing;
	w->wild = head[1] & 1;
	w->refusals = head[6] & 1 ? 200 : 0;
	for (i = 0; i < 2; i++) {
		struct sim_end *e = &w->end[i];

		e->rcvbuf = 1 + head[2 + i] % 4;
		e->mtu = mtus[head[2 + i] >> 2 & 3];
		e->cfg.max_len = max_lens[head[2 + i] >> 4 & 3];
		e->cfg.stall_min = head[4 + i] & 1 ? 5 * SIM_MS : SIM_MS;
		e->cfg.keepalive = (head[4 + i] & 2 ? 30 : 100) * SIM_MS;
		e->cfg.dead = (head[4 + i] & 4 ? 120 : 500) * SIM_MS;
		e->cfg.window = windows[head[7] >> 2 * i & 3];
	}
}

static void a_post(struct sim *w, struct sim_end *e, u8 how, u8 raw)
{
	u32 max = e->mtu - OAE_HDR_LEN;
	u32 cut = raw & 0x0f ? 8 + raw % (max - 7) : 20;
	u32 n = how & 0x10 ? 1 + raw % OAE_MAX_SLICES : 1 + (how >> 2 & 3);

	/* What is left must do for the proof. */
	if (w->ntx >= SIM_TXS - 8)
		return;
	/* The longest fit into no frame with what answers them. */
	if (how >= 0xa0)
		sim_post(e, 8 + raw * (SIM_MTU - OAE_HDR_LEN - 8) / 255, 0,
			 how & 0x20 ? OAE_SWAP : OAE_VERB,
			 how & OAE_POST_CONFIRM);
	else
		sim_post(e, cut * (n - 1) + 8 + raw % (cut - 7), cut,
			 OAE_MESSAGE,
			 how & (OAE_POST_EXPRESS | OAE_POST_CONFIRM));
}

/* The last but so many of those of this end that have not ended. */
static void a_cancel(struct sim *w, struct sim_end *e, u8 how)
{
	unsigned int i;

	for (i = w->ntx; i--;) {
		struct sim_tx *tx = &w->tx[i];

		if (tx->from == e->who && !tx->ended && !tx->lost && !how--) {
			sim_cancel(e, tx);
			return;
		}
	}
}

/* Which frame, of those on their way to an end: the next one is 0. */
static bool pick(struct sim *w, unsigned int to, u8 how, unsigned int *i)
{
	if (!w->to[to].n)
		return false;
	*i = how % w->to[to].n;
	return true;
}

static void damage(struct sim *w, unsigned int to, unsigned int i, u8 how)
{
	struct sim_pkt *p = w->to[to].p[i];

	/* Twice might undo it. */
	if (p->flipped)
		return;
	p->buf[how % OAE_HDR_LEN] ^= 1 << how % 8;
	p->flipped = true;
	sim_say(w, "to %c: a frame is damaged", 'A' + to);
}

/* What the wire does to one frame. */
static void wire(struct sim *w, unsigned int to, u8 how, u8 what)
{
	unsigned int i;

	if (!pick(w, to, how, &i))
		return;
	switch (what % 8) {
	case 0:
	case 1:
		sim_say(w, "to %c: frame %u is lost", 'A' + to, i);
		sim_take(w, to, i);
		break;
	case 2:
		sim_say(w, "to %c: frame %u, twice", 'A' + to, i);
		sim_again(w, to, i, w->to[to].p[i]->due);
		break;
	case 3:		/* and once more, late */
		sim_say(w, "to %c: frame %u, and again late", 'A' + to, i);
		sim_again(w, to, i, w->now + (what + 1ULL) * LATE / 256);
		break;
	case 4:
		sim_say(w, "to %c: frame %u is late", 'A' + to, i);
		sim_again(w, to, i, w->now + (what + 1ULL) * LATE / 256);
		sim_take(w, to, i);
		break;
	case 5:
		damage(w, to, i, what);
		break;
	default:	/* before its turn */
		sim_arrive(w, to, sim_take(w, to, i));
	}
}

/* All that is on the wire, one way or both. */
static void cut(struct sim *w, u8 how)
{
	unsigned int to;

	for (to = 0; to < 2; to++) {
		if (!(how >> to & 1))
			continue;
		sim_say(w, "to %c: all frames are lost", 'A' + to);
		while (w->to[to].n)
			sim_take(w, to, 0);
	}
}

/* What ends a tag, or makes another of it. */
static void fate(struct sim *w, struct sim_end *e, u8 how, u8 raw)
{
	static const u16 mtus[] = { OAE_MIN_MTU, 200, SIM_MTU, 150 };

	switch (how % 8) {
	case 0:
		sim_crash(e);
		break;
	case 1:
		sim_kill(e);
		break;
	case 2:
	case 3:
		sim_close(e);
		break;
	case 4:
		sim_port(e, !e->port_up);
		break;
	case 5:
		sim_mtu(e, mtus[raw % 4]);
		break;
	case 6:
		e->shut = !e->shut;
		sim_say(w, "%c: %s", 'A' + e->who, e->shut ? "shut" :
							     "not shut");
		break;
	default:
		sim_timer(e);
	}
}

static void a_while(struct sim *w, u8 how)
{
	static const u64 units[] = { 0, SIM_US, 10 * SIM_US, 100 * SIM_US,
				     SIM_MS, 10 * SIM_MS, 100 * SIM_MS,
				     700 * SIM_MS };

	u64 n = how >> 3;

	/* Years of an idle link show nothing. */
	if (units[how & 7] >= 100 * SIM_MS)
		n &= 3;
	w->steps = 0;
	sim_run(w, w->now + units[how & 7] * (1 + n));
}

/* Bit 3 of the first byte is the end. */
static void one_act(struct sim *w, const u8 *r)
{
	unsigned int who = r[0] >> 3 & 1;
	struct sim_end *e = &w->end[who];

	switch (r[0] & 7) {
	case 0:
	case 1:
		a_post(w, e, r[1], r[2]);
		break;
	case 2:
		a_cancel(w, e, r[1] % 8);
		break;
	case 3:
		if ((r[1] & 0xc0) == 0xc0)
			sim_window(e, windows[r[2] % 4]);
		else if (r[1] & 0x80)
			sim_other(e, r[1] & 0x0f);
		else
			sim_read(e);
		break;
	case 4:
	case 5:
		wire(w, who, r[1], r[2]);
		break;
	case 6:
		cut(w, r[1]);
		break;
	default:
		fate(w, e, r[1], r[2]);
	}
	a_while(w, r[3]);
}

/* The story as it comes, not only its end. */
static void tell(struct sim *w)
{
	if (w->trace)
		sim_print_trace(w, stdout);
	w->nlines = 0;
}

/**
 * LLVMFuzzerTestOneInput() - libFuzzer's call: run one input
 * @data: the input
 * @size: its bytes
 *
 * Return: 0.
 */
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct sim *w = &world;
	unsigned int n = 0;

	if (size < fuzz_head)
		return 0;
	set_up(w, data);
	for (data += fuzz_head, size -= fuzz_head;
	     size >= fuzz_record && n < MAX_ACTS && !w->why[0];
	     data += fuzz_record, size -= fuzz_record, n++) {
		one_act(w, data);
		tell(w);
	}

	sim_say(w, "the faults stop");
	sim_calm(w);
	sim_settle(w, "after the faults");
	sim_run(w, w->now + LATE);
	sim_settle(w, "after the last late frame");
	tell(w);
	if (!w->why[0])
		sim_prove_open(w);
	tell(w);
	if (w->why[0])
		fuzz_breach("%s", w->why);
	return 0;
}
