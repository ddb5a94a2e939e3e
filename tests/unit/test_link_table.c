// SPDX-License-Identifier: GPL-2.0
/*
 * Every (state, event) pair of a link: where it goes, what it sends, what it
 * does. The table is link_table.h; a pair that is not in it, or twice, fails.
 *
 * After a change that is meant, `test_link_table print` writes the table anew:
 * read the difference before believing it.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "../../modoae/link/link.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MS		1000000ULL
#define PEER		0x5000		/* the peer's ltag */
#define PEER_NEW	0x6000		/* and after it froze */
#define STALE		0x7000		/* of a run long ago */
#define PEER_INC	0xabcdefULL
#define DIGEST		0x1234567890ULL

#define STATES(X) \
	X(CLOSED)	/* made, not opened */ \
	X(OPENING)	/* SYNC_SENT: opened here, nothing heard */ \
	X(OPENING_POST)	/* likewise, and a post waits */ \
	X(ACCEPTED)	/* SYNC_RECD: a stranger was admitted */ \
	X(FROZEN)	/* SYNC_SENT: was OPEN and idle */ \
	X(FROZEN_OUT)	/* SYNC_SENT: an atomic offer in doubt */ \
	X(FROZEN_XOUT)	/* SYNC_SENT: an express in doubt */ \
	X(FROZEN_HELD)	/* SYNC_SENT: holds */ \
	X(DOWN)		/* SYNC_SENT: no answer for the dead time */ \
	X(IDLE)		/* OPEN */ \
	X(OUT)		/* OPEN: an atomic offer out */ \
	X(XOUT)		/* OPEN: an express offer out */ \
	X(PARKED)	/* OPEN: an offer refused BUSY */ \
	X(COMMITTED)	/* OPEN: waits for DONE */ \
	X(PARTIAL)	/* OPEN: has slice 0 of more */ \
	X(HELD)		/* OPEN: holds */ \
	X(REFUSED)	/* OPEN: has refused BUSY */ \
	X(PROBING)	/* OPEN: asked an idle peer */ \
	X(CLOSE_SENT)	/* CLOSE on its way, nothing in flight */ \
	X(CLOSE_WAIT)	/* closed here, an offer still out */ \
	X(CLOSE_RECD)	/* closed there, an offer still out */ \
	X(HALF_OUT)	/* OPEN: a half offered; the peer is the senior */ \
	X(HALF_SENIOR)	/* OPEN: a half offered; this end is the senior */ \
	X(HALF_WAITING)	/* OPEN: a half, and the peer had none */ \
	X(HALF_LENT)	/* OPEN: a half lent for the one held */ \
	X(FROZEN_HALF)	/* SYNC_SENT: a half offered, in doubt */ \
	X(FROZEN_LENT)	/* SYNC_SENT: a half lent, in doubt */ \
	X(CLOSE_LENT)	/* closed here, a half lent */ \
	X(VERB_OUT)	/* OPEN: a verb offered */ \
	X(VERB_PARKED)	/* OPEN: a verb refused CONFLICT */ \
	X(VERB_HELD)	/* OPEN: holds a verb */

/* NOW names my ltag of now, OLD a stale one; sent under the ltag in (). */
#define EVENTS(X) \
	X(SYNC_NOW_KNOWN) X(SYNC_NOW_NEW) X(SYNC_OLD_KNOWN) X(SYNC_OLD_NEW) \
	X(ACK_NOW_KNOWN) X(ACK_NOW_NEW) X(ACK_OLD_KNOWN) X(ACK_OLD_NEW) \
	X(CHK_NOW_KNOWN) X(CHK_NOW_NEW) X(CHK_OLD_KNOWN) X(CHK_OLD_NEW) \
	X(OFFER) X(OFFER_FULL) X(OFFER_EXPRESS) X(OFFER_AGAIN) X(OFFER_SLICE) \
	X(OFFER_GAP) X(OFFER_HALF) X(OFFER_VERB) X(OFFER_CONFLICT) \
	X(REFLECT) X(REFLECT_WRONG) X(COMMIT) X(COMMIT_DONE) \
	X(REFUSE_BUSY) X(REFUSE_GAP) X(REFUSE_TOO_BIG) X(REFUSE_NO_HALF) \
	X(REFUSE_CONFLICT) X(REFUSE_ACCESS) X(READY) X(REVERSE) \
	X(DONE) X(CLOSE) X(CLOSE_POLICY) X(CLOSE_ACK) X(NOLINK) X(HELLO) \
	X(OLD_OFFER) X(OLD_REFLECT) X(OLD_COMMIT) X(OLD_REFUSE) X(OLD_READY) \
	X(OLD_REVERSE) X(OLD_DONE) X(OLD_CLOSE) X(OLD_CLOSE_ACK) \
	X(OLD_NOLINK) X(OLD_PEER_OFFER) X(OLD_PEER_COMMIT) X(OLD_PEER_CLOSE) \
	X(EVIL_TX) X(EVIL_RX) \
	X(OPEN) X(POST) X(POST_2) X(POST_HALF) X(POST_VERB) X(CANCEL) X(CANCEL_OTHER) \
	X(CANCEL_HALF) X(DRAINED) X(CONFIRM) \
	X(TIMER_EARLY) X(TIMER_STALL) X(TIMER_KEEPALIVE) X(TIMER_DEAD) \
	X(CLOSED_HERE) X(KILL) X(PORT_UP) X(PORT_DOWN) X(MTU) X(MTU_SAME)

#define AS_ENUM_S(n)	S_##n,
#define AS_ENUM_E(n)	E_##n,
#define AS_TEXT(n)	#n,
enum { STATES(AS_ENUM_S) S_END };
enum { EVENTS(AS_ENUM_E) E_END };
static const char *const state_text[] = { STATES(AS_TEXT) };
static const char *const event_text[] = { EVENTS(AS_TEXT) };

struct row {
	u8 event;
	u32 states;
	const char *expect;
};

#define ON(e)	E_##e
#define S(s)	(1U << S_##s)
static const struct row table[] = {
#include "link_table.h"
};

static u32 drawn;

static u32 draw(void)
{
	return ++drawn;
}

static const struct oae_link_cfg cfg = {
	.stall_min = 1 * MS,
	.stall_max = 40 * MS,
	.keepalive = 100 * MS,
	.dead = 400 * MS,
	.max_len = 10000,
	.random = draw,
};

static struct oae_link l;
static struct oae_actions a;
static u64 now;
static int ret;
static char x, y, z, h;	/* handles */
static u16 verdict;	/* on the next verb that is offered */

static void clear(void)
{
	memset(&a, 0, sizeof(a));
	ret = 0;
}

static struct oae_post a_post(char *handle, u8 flags)
{
	return (struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = 20,
		.slice_max = 10, .nslices = 2, .flags = flags,
	};
}

static struct oae_post a_kind(char *handle, u8 kind)
{
	return (struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = 20,
		.slice_max = 20, .nslices = 1, .kind = kind,
		.reply = kind == OAE_VERB ? 16 : 0,
	};
}

static struct oae_frame frame(u8 opcode, u32 dst, u32 src)
{
	struct oae_frame f = {
		.opcode = opcode, .src_ltag = src, .dst_ltag = dst,
		.tx = l.rx, .rx = l.tx,
	};

	if (opcode <= OAE_SYNC_CHK) {
		f.sync.inc = PEER_INC;
		f.sync.peer_inc = l.inc;
		f.sync.max_len = 5000;
		f.sync.mtu = 1500;
	}
	return f;
}

static void rcv(const struct oae_frame *f, bool room)
{
	unsigned int i;

	oae_link_rcv(&l, f, room, now, &a);
	for (i = 0; i < a.nops; i++)
		if (a.op[i].type == OAE_OP_VERB)
			oae_link_computed(&l, verdict, 16, now, &a);
}

static void rcv_sync(u8 opcode, bool current, bool known)
{
	struct oae_frame f = frame(opcode, current ? l.ltag : STALE,
				   known ? PEER : PEER_NEW);

	rcv(&f, true);
}

static void rcv_offer(u32 dst, u32 src, u8 attempt, u8 slice, u8 flags,
		      bool room)
{
	struct oae_frame f = frame(OAE_OFFER, dst, src);

	f.seq = l.rx + 1;
	f.attempt = attempt;
	f.slice = slice;
	f.length = 10;
	f.flags = flags;
	f.payload_hash = slice;
	rcv(&f, room);
}

static void rcv_kind(u8 attempt, u8 kind)
{
	struct oae_frame f = frame(OAE_OFFER, l.ltag, PEER);

	f.seq = l.rx + 1;
	f.attempt = attempt;
	f.kind = kind;
	f.length = 10;
	f.flags = OAE_F_LAST;
	rcv(&f, false);
}

static void rcv_answer(u8 opcode, u32 dst, u16 reason, u64 digest)
{
	struct oae_frame f = frame(opcode, dst, PEER);

	f.seq = opcode == OAE_REVERSE ? l.rx + 1 : l.tx + 1;
	f.attempt = opcode == OAE_REVERSE ? l.hold.attempt : l.attempt;
	if (!f.attempt)
		f.attempt = 1;
	f.reason = reason;
	if (opcode == OAE_REFUSE)
		f.gap_map = 1;
	if (opcode == OAE_REFLECT) {
		f.reflect.digest = digest;
		f.reflect.first = 1;
		f.kind = l.offer.p.kind;
		f.length = OAE_REFLECT_LEN + (f.kind ? 16 : 0);
	}
	rcv(&f, true);
}

/* COMMIT of what is held, if something is. */
static void rcv_commit(u32 dst, u32 src, u8 flags)
{
	struct oae_frame f = frame(OAE_COMMIT, dst, src);

	if (l.hold.state == OAE_HOLD_HELD)
		f.tx++;
	f.seq = f.tx;
	f.flags = flags;
	rcv(&f, true);
}

static void rcv_plain(u8 opcode, u32 dst, u32 src, u16 reason)
{
	struct oae_frame f = frame(opcode, dst, src);

	f.reason = reason;
	rcv(&f, true);
}

/* Counters that no peer can have. */
static void rcv_evil(s32 tx, s32 rx)
{
	struct oae_frame f = frame(OAE_DONE, l.ltag, PEER);

	f.tx += tx;
	f.rx += rx;
	rcv(&f, true);
}

static void post(char *handle, u8 flags)
{
	struct oae_post p = a_post(handle, flags);

	ret = oae_link_post(&l, &p, now, &a);
}

static void post_kind(char *handle, u8 kind)
{
	struct oae_post p = a_kind(handle, kind);

	ret = oae_link_post(&l, &p, now, &a);
}

static void make_open(void)
{
	oae_link_open(&l, now, &a);
	rcv_sync(OAE_SYNC, true, true);
}

static void make(unsigned int state)
{
	struct oae_frame f;

	drawn = 0;
	now = 1000 * MS;
	verdict = 0;
	oae_link_init(&l, &cfg, 0, 1500, 0);
	oae_link_rank(&l, state == S_HALF_SENIOR);
	switch (state) {
	case S_CLOSED:
		break;
	case S_OPENING:
		oae_link_open(&l, now, &a);
		break;
	case S_OPENING_POST:
		oae_link_open(&l, now, &a);
		post(&x, 0);
		break;
	case S_ACCEPTED:
		f = frame(OAE_SYNC, 0xc00c1e, PEER);
		oae_link_accept(&l, &f, now, &a);
		break;
	default:
		make_open();
	}
	clear();

	switch (state) {
	case S_FROZEN:
		oae_link_port_down(&l, now, &a);
		break;
	case S_DOWN:
		oae_link_port_down(&l, now, &a);
		now += 500 * MS;
		oae_link_timer(&l, now, &a);
		break;
	case S_OUT:
	case S_FROZEN_OUT:
		post(&x, 0);
		break;
	case S_XOUT:
	case S_FROZEN_XOUT:
		post(&x, OAE_POST_EXPRESS);
		break;
	case S_PARKED:
		post(&x, 0);
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_BUSY, 0);
		break;
	case S_COMMITTED:
		post(&x, OAE_POST_CONFIRM);
		rcv_answer(OAE_REFLECT, l.ltag, 0, DIGEST);
		break;
	case S_PARTIAL:
		rcv_offer(l.ltag, PEER, 1, 0, 0, true);
		break;
	case S_HELD:
	case S_FROZEN_HELD:
		rcv_offer(l.ltag, PEER, 1, 0, OAE_F_LAST, true);
		break;
	case S_REFUSED:
		rcv_offer(l.ltag, PEER, 1, 0, OAE_F_LAST, false);
		break;
	case S_PROBING:
		now += 100 * MS;
		oae_link_timer(&l, now, &a);
		break;
	case S_CLOSE_SENT:
		oae_link_close(&l, now, &a);
		break;
	case S_CLOSE_WAIT:
		post(&x, 0);
		oae_link_close(&l, now, &a);
		break;
	case S_CLOSE_RECD:
		post(&x, 0);
		rcv_plain(OAE_CLOSE, l.ltag, PEER, 0);
		break;
	case S_HALF_OUT:
	case S_HALF_SENIOR:
	case S_FROZEN_HALF:
		post_kind(&h, OAE_SWAP);
		break;
	case S_HALF_WAITING:
		post_kind(&h, OAE_SWAP);
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_NO_HALF, 0);
		break;
	case S_HALF_LENT:
	case S_FROZEN_LENT:
	case S_CLOSE_LENT:
		post_kind(&h, OAE_SWAP);
		rcv_kind(1, OAE_SWAP);
		if (state == S_CLOSE_LENT)
			oae_link_close(&l, now, &a);
		break;
	case S_VERB_OUT:
		post_kind(&x, OAE_VERB);
		break;
	case S_VERB_PARKED:
		post_kind(&x, OAE_VERB);
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_CONFLICT, 0);
		break;
	case S_VERB_HELD:
		rcv_kind(1, OAE_VERB);
		break;
	}
	switch (state) {
	case S_FROZEN_HALF:
	case S_FROZEN_LENT:
	case S_FROZEN_OUT:
	case S_FROZEN_XOUT:
	case S_FROZEN_HELD:
		oae_link_port_down(&l, now, &a);
		break;
	}
	now += MS / 10;
}

static void timer(u64 later)
{
	now += later;
	oae_link_timer(&l, now, &a);
}

static void happen(unsigned int event)
{
	u8 again = l.hold.attempt ? l.hold.attempt : 1;

	switch (event) {
	case E_SYNC_NOW_KNOWN ... E_CHK_OLD_NEW:
		rcv_sync(OAE_SYNC + event / 4, !(event & 2), !(event & 1));
		break;
	case E_OFFER:
		rcv_offer(l.ltag, PEER, l.hold.attempt + 1, 0, OAE_F_LAST, true);
		break;
	case E_OFFER_FULL:
		rcv_offer(l.ltag, PEER, l.hold.attempt + 1, 0, OAE_F_LAST, false);
		break;
	case E_OFFER_EXPRESS:
		rcv_offer(l.ltag, PEER, l.hold.attempt + 1, 0,
			  OAE_F_LAST | OAE_F_EXPRESS, true);
		break;
	case E_OFFER_AGAIN:
		rcv_offer(l.ltag, PEER, again, 0, OAE_F_LAST, true);
		break;
	case E_OFFER_SLICE:
		rcv_offer(l.ltag, PEER, again, 1, 0, true);
		break;
	case E_OFFER_GAP:
		rcv_offer(l.ltag, PEER, again, 2, OAE_F_LAST, true);
		break;
	case E_OFFER_HALF:
		rcv_kind(l.hold.attempt + 1, OAE_SWAP);
		break;
	case E_OFFER_VERB:
		rcv_kind(l.hold.attempt + 1, OAE_VERB);
		break;
	case E_OFFER_CONFLICT:
		verdict = OAE_R_CONFLICT;
		rcv_kind(l.hold.attempt + 1, OAE_VERB);
		break;
	case E_REFLECT:
		rcv_answer(OAE_REFLECT, l.ltag, 0, DIGEST);
		break;
	case E_REFLECT_WRONG:
		rcv_answer(OAE_REFLECT, l.ltag, 0, 0);
		break;
	case E_COMMIT:
		rcv_commit(l.ltag, PEER, 0);
		break;
	case E_COMMIT_DONE:
		rcv_commit(l.ltag, PEER, OAE_F_WANT_DONE);
		break;
	case E_REFUSE_BUSY:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_BUSY, 0);
		break;
	case E_REFUSE_GAP:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_GAP, 0);
		break;
	case E_REFUSE_TOO_BIG:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_TOO_BIG, 0);
		break;
	case E_REFUSE_NO_HALF:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_NO_HALF, 0);
		break;
	case E_REFUSE_CONFLICT:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_CONFLICT, 0);
		break;
	case E_REFUSE_ACCESS:
		rcv_answer(OAE_REFUSE, l.ltag, OAE_R_ACCESS, 0);
		break;
	case E_REVERSE:
		rcv_answer(OAE_REVERSE, l.ltag, 0, 0);
		break;
	case E_READY:
		rcv_plain(OAE_READY, l.ltag, PEER, 0);
		break;
	case E_DONE:
		rcv_plain(OAE_DONE, l.ltag, PEER, 0);
		break;
	case E_CLOSE:
		rcv_plain(OAE_CLOSE, l.ltag, PEER, 0);
		break;
	case E_CLOSE_POLICY:
		rcv_plain(OAE_CLOSE, l.ltag, PEER, OAE_R_POLICY);
		break;
	case E_CLOSE_ACK:
		rcv_plain(OAE_CLOSE_ACK, l.ltag, PEER, 0);
		break;
	case E_NOLINK:
		rcv_plain(OAE_NOLINK, l.ltag, PEER, 0);
		break;
	case E_HELLO:
		rcv_plain(OAE_HELLO, 0, PEER, 0);
		break;
	case E_OLD_OFFER:
		rcv_offer(STALE, PEER, 9, 0, OAE_F_LAST, true);
		break;
	case E_OLD_REFLECT:
		rcv_answer(OAE_REFLECT, STALE, 0, DIGEST);
		break;
	case E_OLD_COMMIT:
		rcv_commit(STALE, PEER, OAE_F_WANT_DONE);
		break;
	case E_OLD_REFUSE:
		rcv_answer(OAE_REFUSE, STALE, OAE_R_TOO_BIG, 0);
		break;
	case E_OLD_READY:
		rcv_plain(OAE_READY, STALE, PEER, 0);
		break;
	case E_OLD_REVERSE:
		rcv_answer(OAE_REVERSE, STALE, 0, 0);
		break;
	case E_OLD_DONE:
		rcv_plain(OAE_DONE, STALE, PEER, 0);
		break;
	case E_OLD_CLOSE:
		rcv_plain(OAE_CLOSE, STALE, PEER, 0);
		break;
	case E_OLD_CLOSE_ACK:
		rcv_plain(OAE_CLOSE_ACK, STALE, PEER, 0);
		break;
	case E_OLD_NOLINK:
		rcv_plain(OAE_NOLINK, STALE, PEER, 0);
		break;
	case E_OLD_PEER_OFFER:
		rcv_offer(l.ltag, STALE, 9, 0, OAE_F_LAST, true);
		break;
	case E_OLD_PEER_COMMIT:
		rcv_commit(l.ltag, STALE, OAE_F_WANT_DONE);
		break;
	case E_OLD_PEER_CLOSE:
		rcv_plain(OAE_CLOSE, l.ltag, STALE, 0);
		break;
	case E_EVIL_TX:
		rcv_evil(2, 0);
		break;
	case E_EVIL_RX:
		rcv_evil(0, 2);
		break;
	case E_OPEN:
		oae_link_open(&l, now, &a);
		break;
	case E_POST:
		post(&y, 0);
		break;
	case E_POST_2:
		post(&y, 0);
		post(&z, OAE_POST_EXPRESS);
		break;
	case E_POST_HALF:
		post_kind(&z, OAE_SWAP);
		break;
	case E_POST_VERB:
		post_kind(&z, OAE_VERB);
		break;
	case E_CANCEL_HALF:
		ret = oae_link_cancel(&l, &h, OAE_E_SIGNAL, now, &a);
		break;
	case E_CONFIRM:
		oae_link_confirm(&l, now, &a);
		break;
	case E_CANCEL:
		ret = oae_link_cancel(&l, &x, OAE_E_SIGNAL, now, &a);
		break;
	case E_CANCEL_OTHER:
		ret = oae_link_cancel(&l, &y, OAE_E_SIGNAL, now, &a);
		break;
	case E_DRAINED:
		oae_link_drained(&l, now, &a);
		break;
	case E_TIMER_EARLY:
		timer(0);
		break;
	case E_TIMER_STALL:
		timer(10 * MS);
		break;
	case E_TIMER_KEEPALIVE:
		timer(110 * MS);
		break;
	case E_TIMER_DEAD:
		timer(600 * MS);
		break;
	case E_CLOSED_HERE:
		oae_link_close(&l, now, &a);
		break;
	case E_KILL:
		oae_link_kill(&l, OAE_E_CANCEL, now, &a);
		break;
	case E_PORT_UP:
		oae_link_port_up(&l, now, &a);
		break;
	case E_PORT_DOWN:
		oae_link_port_down(&l, now, &a);
		break;
	case E_MTU:
		oae_link_set_mtu(&l, 9000, now, &a);
		break;
	case E_MTU_SAME:
		oae_link_set_mtu(&l, 1500, now, &a);
		break;
	}
}

static const char *place(char *buf, size_t len)
{
	static const char *const offer[] = { "", "+slicing", "+out", "+parked" };
	static const char *const hold[] = { "", "+partial", "+asked", "+held",
					    "+refused", "+reversed", "+kept" };
	static const char *const half[] = { "", "+posted", "+half", "+waiting",
					    "+lent" };

	snprintf(buf, len, "%s%s%s%s%s%s%s%s",
		 oae_state_name(oae_link_state(&l)), offer[l.offer.state],
		 hold[l.hold.state], half[l.half.state],
		 l.aside.valid ? "+aside" : "",
		 l.next_valid ? "+next" : "", l.await_done ? "+await" : "",
		 l.down ? "+down" : "");
	return buf;
}

static const char *whose(const void *handle)
{
	return handle == &x ? "x" : handle == &y ? "y" :
	       handle == &z ? "z" : handle == &h ? "h" : "?";
}

/* What came of it, in words: place; sends; ops. */
static void describe(const char *before, char *out, size_t len)
{
	static const char *const ends[] = { "committed", "reversed", "unknown" };
	const struct oae_send *s;
	const struct oae_op *op;
	char after[100];
	unsigned int i;
	int n;

	place(after, sizeof(after));
	n = snprintf(out, len, "%s", strcmp(before, after) ? after : "same");
	if (ret)
		n += snprintf(out + n, len - n, " -%s",
			      strerrorname_np(-ret));
	for (i = 0; i < a.nsends; i++) {
		s = &a.send[i];
		n += snprintf(out + n, len - n, "%s %s", i ? "," : " >",
			      oae_opcode_name(s->frame.opcode));
		if (s->frame.opcode == OAE_OFFER)
			n += snprintf(out + n, len - n, " %s.%u%s%s",
				      whose(s->handle), s->frame.attempt,
				      s->slices != (1ULL << s->nslices) - 1 ?
				      " last" : "",
				      s->frame.flags & OAE_F_RESUME ?
				      " resume" : "");
		if (s->frame.kind)
			n += snprintf(out + n, len - n, " %s",
				      s->frame.kind == OAE_SWAP ? "swap" : "verb");
		if (s->frame.opcode == OAE_REFLECT && s->frame.length)
			n += snprintf(out + n, len - n, " %s+%u",
				      s->frame.kind == OAE_SWAP ?
				      whose(s->handle) : "",
				      s->frame.length - OAE_REFLECT_LEN);
		if (s->frame.opcode == OAE_REFUSE)
			n += snprintf(out + n, len - n, " %u", s->frame.reason);
		if (s->frame.flags & OAE_F_WANT_DONE)
			n += snprintf(out + n, len - n, " want");
	}
	for (i = 0; i < a.nops; i++) {
		op = &a.op[i];
		switch (op->type) {
		case OAE_OP_NOTE:
			n += snprintf(out + n, len - n, " :%s",
				      oae_note_name(op->note));
			break;
		case OAE_OP_KEEP:
			n += snprintf(out + n, len - n, " keep%u", op->slice);
			break;
		case OAE_OP_DISCARD:
			n += snprintf(out + n, len - n, " discard");
			break;
		case OAE_OP_DELIVER:
			n += snprintf(out + n, len - n, " deliver%u", op->slice);
			break;
		case OAE_OP_COMPLETE:
			n += snprintf(out + n, len - n, " %s-%s", whose(op->handle),
				      ends[op->outcome]);
			if (op->err)
				n += snprintf(out + n, len - n, "-%s",
					      strerrorname_np(op->err));
			break;
		case OAE_OP_RESULT:
			n += snprintf(out + n, len - n, " %s-result",
				      whose(op->handle));
			break;
		case OAE_OP_TAKE:
			n += snprintf(out + n, len - n, " %s-take",
				      whose(op->handle));
			break;
		case OAE_OP_VERB:
			n += snprintf(out + n, len - n, " verb");
			break;
		case OAE_OP_APPLY:
			n += snprintf(out + n, len - n, " apply");
			break;
		case OAE_OP_CONFIRMED:
			n += snprintf(out + n, len - n, " confirmed");
			break;
		case OAE_OP_RESLICE:
			n += snprintf(out + n, len - n, " reslice");
			break;
		case OAE_OP_FLUSH:
			n += snprintf(out + n, len - n, " flush-%s",
				      strerrorname_np(op->err));
			break;
		case OAE_OP_GONE:
			n += snprintf(out + n, len - n, " GONE");
			break;
		}
	}
}

static void go(unsigned int state, unsigned int event, char *out, size_t len)
{
	char before[100];

	make(state);
	place(before, sizeof(before));
	clear();
	happen(event);
	describe(before, out, len);
}

static void test_every_pair(void **state)
{
	unsigned int s, e, i, found, wrong = 0;
	char got[400];

	(void)state;
	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++) {
			go(s, e, got, sizeof(got));
			found = 0;
			for (i = 0; i < ARRAY_SIZE(table); i++) {
				if (table[i].event != e ||
				    !(table[i].states >> s & 1))
					continue;
				found++;
				if (!strcmp(table[i].expect, got))
					continue;
				wrong++;
				print_error("%s in %s\n  want %s\n  got  %s\n",
					    event_text[e], state_text[s],
					    table[i].expect, got);
			}
			if (found != 1) {
				wrong++;
				print_error("%s in %s: %u times in the table; got %s\n",
					    event_text[e], state_text[s],
					    found, got);
			}
			assert_false(a.overflow);
		}
	}
	print_message("%u states x %u events\n", S_END, E_END);
	assert_int_equal(wrong, 0);
}

/* An OPEN or frozen link has its timer armed, whatever happened. */
static void test_timer_armed(void **state)
{
	unsigned int s, e;
	char got[400];

	(void)state;
	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++) {
			go(s, e, got, sizeof(got));
			if (l.state == OAE_CLOSED)
				continue;
			if (!l.timer_at || l.timer_at > now + cfg.dead)
				fail_msg("%s in %s: timer at %llu, now %llu",
					 event_text[e], state_text[s],
					 (unsigned long long)l.timer_at,
					 (unsigned long long)now);
		}
	}
}

/* Broken at blanks: a string may be one of several lines. */
static void print_wrapped(const char *text)
{
	unsigned int col = 0;

	for (; *text; text++, col++) {
		putchar(*text);
		if (*text != ' ' || col < 68)
			continue;
		printf("\"\n  \"");
		col = 0;
	}
}

/* The table as it is now, states with the same result in one row. */
static int print_table(void)
{
	static char got[S_END][400];
	unsigned int s, t, e, n;
	u32 done;

	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++)
			go(s, e, got[s], sizeof(got[s]));
		for (done = 0, s = 0; s < S_END; s++) {
			if (done >> s & 1)
				continue;
			printf("{ ON(%s), ", event_text[e]);
			for (n = 0, t = s; t < S_END; t++) {
				if (strcmp(got[s], got[t]))
					continue;
				done |= 1U << t;
				if (n && n % 5 == 0)
					printf("\n ");
				printf("%sS(%s)", n++ ? " | " : "",
				       state_text[t]);
			}
			printf(",\n  \"");
			print_wrapped(got[s]);
			printf("\" },\n");
		}
		printf("\n");
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_timer_armed),
	};

	if (argc > 1 && !strcmp(argv[1], "print"))
		return print_table();
	return cmocka_run_group_tests_name("every state, every event", tests,
					   NULL, NULL);
}
