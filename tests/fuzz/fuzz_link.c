// SPDX-License-Identifier: GPL-2.0
/*
 * Any events on one link: the peer lies, the clock jumps, users do as they like.
 * What must hold at this end all the same is in end_check.c.
 *
 * The input is a head of eight bytes, see set_up(), and records of eight:
 *
 *   0     which event: see enum event
 *   1-6   its arguments
 *   7     the time until the next: see a_while()
 */
#include "hostile.h"

#define MAX_EVENTS	1000

const size_t fuzz_head = 8, fuzz_record = 8;

/* By weight: most of what happens to a link is a frame. */
enum event {
	FRAME = 0,		/* 0 to 6 */
	POST = 7,		/* 7, 8 */
	CANCEL = 9,
	TIMER = 10,		/* 10, 11; not before its time */
	READ = 12,
	LIFE = 13,		/* open, close, kill, address */
	PORT = 14,		/* up, down, MTU */
	ODD = 15,		/* what need not have happened */
	EVENTS = 16
};

static const u16 mtus[] = { 1500, OAE_MIN_MTU, 200, 576 };
static const u32 max_lens[] = { 65536, 1, 100, 4000 };
static const u8 windows[] = { 1, 8, 2, 3 };

static void set_max_len(struct end *e, u32 len)
{
	e->cfg.max_len = len;
	if (e->max_len < len)
		e->max_len = len;
}

/* The head: where counters begin, the port, and the knobs. */
static void set_up(struct end *e, const u8 *head)
{
	static const u32 starts[] = { 0, 0xfffffffe, 0xffffffff, 0x7fffffff };
	static const u64 stall_max[] = { 40 * END_MS, END_MS };
	static const u64 keepalive[] = { 100 * END_MS, 10 * END_MS };
	static const u64 dead[] = { 500 * END_MS, 50 * END_MS };

	end_init(e, head[0], mtus[head[1] % 4], starts[head[2] % 4]);
	set_max_len(e, max_lens[head[3] % 4]);
	e->rcvbuf = 1 + head[4] % 4;
	e->cfg.stall_min = head[5] & 1 ? 50 * END_US : END_MS;
	e->cfg.stall_max = stall_max[head[5] >> 1 & 1];
	e->cfg.keepalive = keepalive[head[5] >> 2 & 1];
	e->cfg.dead = dead[head[5] >> 3 & 1];
	e->cfg.window = windows[head[7] % 4];
	oae_link_rank(&e->link, head[6] & 1);
}

/* Time passes, up to the timer, beyond it, or the clock goes back. */
static void a_while(struct end *e, u8 how)
{
	static const s64 units[] = { 0, END_US, 10 * END_US, 100 * END_US,
				     END_MS, 10 * END_MS, 100 * END_MS,
				     1000 * END_MS };
	s64 n = (how & 15) + 1;

	switch (how >> 4) {
	case 8 ... 11:
		if (e->timer_at > e->now)
			end_later(e, e->timer_at - e->now);
		break;
	case 12:
		end_later(e, -n * END_US);
		break;
	case 13:
		end_later(e, -n * 100 * (s64)END_MS);
		break;
	case 14:
		end_later(e, e->cfg.keepalive * n);
		break;
	case 15:
		end_later(e, e->cfg.dead * n);
		break;
	default:
		end_later(e, units[how >> 4] * n);
	}
}

static void a_frame(struct end *e, struct hostile *h, const u8 *r)
{
	struct oae_frame f;

	if (hostile_frame(h, e, r, &f))
		end_rcv(e, &f, h->payload);
	else
		fuzz_say("a frame that does not parse");
}

static void a_post(struct end *e, const u8 *r)
{
	unsigned int max = oae_link_slice_max(&e->link);
	unsigned int n = r[1] & 0x80 ? 1 + (r[1] & 63) : 1 + (r[1] & 3);
	unsigned int cut = r[2] ? 1 + r[2] % max : 64;
	unsigned int len = cut * (n - 1) + 1 + r[3] % cut;

	/* The longest fit into no frame. */
	if (r[6] >= 192) {
		len = 1 + r[3] * 23 / 4;
		end_post(e, len, len, r[6] < 224 ? OAE_SWAP : OAE_VERB,
			 r[4] & OAE_POST_CONFIRM, 8 + r[2] * 8);
		return;
	}
	/* Sometimes cut for another MTU than that of now. */
	if (r[5] & 1)
		cut = cut * 2 < END_MTU_MAX ? cut * 2 : cut;
	end_post(e, len, cut, OAE_MESSAGE,
		 r[4] & (OAE_POST_EXPRESS | OAE_POST_CONFIRM), 0);
}

static void a_cancel(struct end *e, const u8 *r)
{
	static const int errs[] = { OAE_E_SIGNAL, OAE_E_CANCEL, OAE_E_DEADLINE };

	if (e->nposts)
		end_cancel(e, e->post[r[1] % e->nposts], errs[r[2] % 3]);
}

static void odd(struct end *e, const u8 *r)
{
	static const u16 verdicts[] = {
		0, OAE_R_CONFLICT, OAE_R_NO_REGION, OAE_R_KIND,
	};

	if (r[1] & 0x80) {
		if (r[1] & 0x40) {
			end_reclaim(e);
			return;
		}
		e->cfg.window = windows[r[2] % 4];
		fuzz_say("window %u", e->cfg.window);
		return;
	}
	switch (r[1] % 7) {
	case 0:
		end_timer(e);
		break;
	case 5:
		end_event(e, END_CONFIRM);
		break;
	case 6:
		e->verdict = verdicts[r[2] % 4];
		e->reply = 8 + r[3] * 8;
		fuzz_say("verbs: %u, %u bytes", e->verdict, e->reply);
		break;
	case 1:
		end_event(e, END_DRAINED);
		break;
	case 2:
		end_post_unasked(e);
		break;
	case 3:
		set_max_len(e, max_lens[r[2] % 4]);
		fuzz_say("max_len %u", e->cfg.max_len);
		break;
	default:
		e->cfg.keepalive = r[2] & 1 ? 10 * END_MS : 100 * END_MS;
		e->cfg.dead = r[2] & 2 ? 50 * END_MS : 500 * END_MS;
		fuzz_say("knobs %u", r[2] & 3);
	}
}

static void one_event(struct end *e, struct hostile *h, const u8 *r)
{
	static const enum end_event lives[] = {
		END_OPEN, END_CLOSE, END_KILL, END_RENAMED,
	};

	switch (r[0] % EVENTS) {
	case POST:
	case POST + 1:
		a_post(e, r);
		break;
	case CANCEL:
		a_cancel(e, r);
		break;
	case TIMER:
	case TIMER + 1:
		if (!e->timer_at)
			break;
		if (e->timer_at > e->now)
			end_later(e, e->timer_at - e->now);
		end_timer(e);
		break;
	case READ:
		end_read(e);
		break;
	case LIFE:
		end_event(e, lives[r[1] % 4]);
		break;
	case PORT:
		if (r[1] % 3 == 2)
			end_mtu(e, mtus[r[2] % 4]);
		else
			end_event(e, r[1] % 3 ? END_PORT_UP : END_PORT_DOWN);
		break;
	case ODD:
		odd(e, r);
		break;
	default:
		a_frame(e, h, r);
	}
	a_while(e, r[7]);
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
	unsigned int n = 0;
	struct hostile h;
	struct end e;

	if (size < fuzz_head)
		return 0;
	set_up(&e, data);
	hostile_init(&h);
	for (data += fuzz_head, size -= fuzz_head;
	     size >= fuzz_record && n < MAX_EVENTS;
	     data += fuzz_record, size -= fuzz_record, n++)
		one_event(&e, &h, data);
	end_fini(&e);
	return 0;
}
