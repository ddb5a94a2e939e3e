// SPDX-License-Identifier: GPL-2.0
/*
 * Every (state, event) pair of a link: where it goes, what it sends, what it
 * does. The table is link_table.h; a pair that is not in it, or twice, fails.
 * A row says of some events and some states what changes of the place ("held",
 * "-lent"; "same": nothing), "> " what is sent, ":" notes, and what else is done.
 *
 * After a change that is meant, `test_link_table print` writes the table anew:
 * read the difference before believing it.
 */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <fnmatch.h>
#include "unit.h"
#include "../../modoae/link/link.h"

#define MS		1000000ULL
#define PEER		0x5000		/* the peer's ltag */
#define PEER_NEW	0x6000		/* and after it froze */
#define STALE		0x7000		/* of a run long ago */
#define PEER_INC	0xabcdefULL
#define DIGEST		0x1234567890ULL

/* A state: its place, as place_text() says it, and what leads there. */
#define STATES(X) \
	X(CLOSED, "CLOSED", (void)0) \
	X(OPENING, "SYNC_SENT", oae_link_open(&l, now, &a)) \
	X(OPENING_POST, "SYNC_SENT+next", (oae_link_open(&l, now, &a), post(&x, 0))) \
	X(ACCEPTED, "SYNC_RECD", accept_stranger()) \
	/* From here on it was OPEN before. */ \
	X(FROZEN, "SYNC_SENT", freeze()) \
	X(FROZEN_OUT, "SYNC_SENT+out", (post(&x, 0), freeze())) \
	X(FROZEN_XOUT, "SYNC_SENT+out", (post(&x, OAE_POST_EXPRESS), freeze())) \
	X(FROZEN_RECALLED, "SYNC_SENT+out", (recall(), freeze())) \
	X(FROZEN_HELD, "SYNC_SENT+held", (rcv_slice(0, OAE_F_LAST), freeze())) \
	X(DOWN, "SYNC_SENT+down", (freeze(), timer(500 * MS)))	/* no answer for the dead time */ \
	X(IDLE, "OPEN", (void)0) \
	X(OUT, "OPEN+out", post(&x, 0)) \
	X(XOUT, "OPEN+out", post(&x, OAE_POST_EXPRESS)) \
	X(PARKED, "OPEN+parked", (post(&x, 0), refuse(OAE_R_BUSY))) \
	X(XPARKED, "OPEN+parked", (post(&x, OAE_POST_EXPRESS), refuse(OAE_R_BUSY))) \
	X(VOID_OUT, "OPEN+out", (post(&x, 0), cancel()))	/* nothing, in place of x */ \
	X(RECALLED, "OPEN+out", recall())			/* the same of an express */ \
	X(COMMITTED, "OPEN+await", (post(&x, OAE_POST_CONFIRM), reflect(true))) \
	X(PARTIAL, "OPEN+partial", rcv_slice(0, 0))	/* slice 0 of more */ \
	X(HELD, "OPEN+held", rcv_slice(0, OAE_F_LAST)) \
	X(VOID_HELD, "OPEN+held", rcv_kind(OAE_VOID)) \
	X(REFUSED, "OPEN+refused", rcv_settling(0, OAE_F_LAST)) \
	X(REFUSED_UNSAID, "OPEN+refused", rcv_settling(0, 0)) /* the peer has not asked */ \
	X(REFUSED_GOOD, "OPEN+refused", (verdict = OAE_R_ACCESS, rcv_kind(OAE_VERB))) \
	X(BLOCKED, "OPEN+next+await+blocked", post(&x, 0))	/* the peer grants nothing */ \
	X(OWES, "OPEN+owes", (grant_nothing(), blocked()))	/* nor do I, and it is blocked */ \
	X(PROBING, "OPEN", timer(100 * MS))			/* asked an idle peer */ \
	X(CLOSE_SENT, "CLOSE_SENT", oae_link_close(&l, now, &a)) \
	X(CLOSE_WAIT, "CLOSE_SENT+out", (post(&x, 0), oae_link_close(&l, now, &a))) \
	X(CLOSE_RECD, "CLOSE_RECD+out", (post(&x, 0), rcv_close(l.given, 0))) \
	X(HALF_OUT, "OPEN+out+half", post_kind(&h, OAE_SWAP))	/* the peer is the senior */ \
	X(HALF_SENIOR, "OPEN+out+half", post_kind(&h, OAE_SWAP)) /* this end is */ \
	X(HALF_REFUSED, "OPEN+out+waiting", (post_kind(&h, OAE_SWAP), refuse(OAE_R_NO_HALF))) \
	X(HALF_WAITING, "OPEN+waiting", \
	  (post_kind(&h, OAE_SWAP), refuse(OAE_R_NO_HALF), reflect(true))) \
	X(HALF_CROSSED, "OPEN+out+held+lent", cross()) \
	X(HALF_LENT, "OPEN+held+lent", lend()) \
	X(FROZEN_HALF, "SYNC_SENT+out+half", (post_kind(&h, OAE_SWAP), freeze())) \
	X(FROZEN_LENT, "SYNC_SENT+held+lent", (lend(), freeze())) \
	X(CLOSE_LENT, "CLOSE_SENT+held+lent", (lend(), oae_link_close(&l, now, &a))) \
	X(VERB_OUT, "OPEN+out", post_kind(&x, OAE_VERB)) \
	X(VERB_PARKED, "OPEN+parked", (post_kind(&x, OAE_VERB), refuse(OAE_R_CONFLICT))) \
	X(VERB_HELD, "OPEN+held", rcv_kind(OAE_VERB))

/* An event. NOW names my ltag of now, OLD a stale one; sent under a ltag that is KNOWN, or NEW. */
#define EVENTS(X) \
	X(SYNC_NOW_KNOWN, rcv_sync(OAE_SYNC, l.ltag, PEER)) \
	X(SYNC_NOW_NEW, rcv_sync(OAE_SYNC, l.ltag, PEER_NEW)) \
	X(SYNC_OLD_KNOWN, rcv_sync(OAE_SYNC, STALE, PEER)) \
	X(SYNC_OLD_NEW, rcv_sync(OAE_SYNC, STALE, PEER_NEW)) \
	X(ACK_NOW_KNOWN, rcv_sync(OAE_SYNC_ACK, l.ltag, PEER)) \
	X(ACK_NOW_NEW, rcv_sync(OAE_SYNC_ACK, l.ltag, PEER_NEW)) \
	X(ACK_OLD_KNOWN, rcv_sync(OAE_SYNC_ACK, STALE, PEER)) \
	X(ACK_OLD_NEW, rcv_sync(OAE_SYNC_ACK, STALE, PEER_NEW)) \
	X(CHK_NOW_KNOWN, rcv_sync(OAE_SYNC_CHK, l.ltag, PEER)) \
	X(CHK_NOW_NEW, rcv_sync(OAE_SYNC_CHK, l.ltag, PEER_NEW)) \
	X(CHK_OLD_KNOWN, rcv_sync(OAE_SYNC_CHK, STALE, PEER)) \
	X(CHK_OLD_NEW, rcv_sync(OAE_SYNC_CHK, STALE, PEER_NEW)) \
	X(OFFER, rcv_slice(0, OAE_F_LAST)) \
	X(OFFER_SETTLING, rcv_settling(0, OAE_F_LAST)) \
	X(OFFER_UNGRANTED, (grant_nothing(), rcv_slice(0, OAE_F_LAST))) \
	X(OFFER_EXPRESS, rcv_slice(0, OAE_F_LAST | OAE_F_EXPRESS)) \
	X(OFFER_SLICE, rcv_slice(1, 0)) \
	X(OFFER_GAP, rcv_slice(2, OAE_F_LAST)) \
	X(OFFER_HALF, rcv_kind(OAE_SWAP)) \
	X(OFFER_VERB, rcv_kind(OAE_VERB)) \
	X(OFFER_CONFLICT, (verdict = OAE_R_CONFLICT, rcv_kind(OAE_VERB))) \
	X(OFFER_VOID, rcv_kind(OAE_VOID)) \
	X(ASK, rcv_ask(l.ltag, OAE_MESSAGE)) \
	X(ASK_VOID, rcv_ask(l.ltag, OAE_VOID)) \
	X(REFLECT, reflect(true)) \
	X(REFLECT_WRONG, reflect(false)) \
	X(REFLECT_OTHER, rcv_other_kind()) \
	X(REFLECT_DELIVERED, rcv_delivered()) \
	X(ACK_NONE, rcv_ack(l.ltag, 0)) \
	X(ACK_SOME, rcv_ack(l.ltag, 2)) \
	X(ACK_ALL, rcv_ack(l.ltag, ~0ULL)) \
	X(COMMIT, rcv_commit(l.ltag, PEER, 0, 0)) \
	X(COMMIT_DONE, rcv_commit(l.ltag, PEER, OAE_F_WANT_DONE, 0)) \
	X(COMMIT_BLOCKED, (grant_nothing(), blocked())) \
	X(REFUSE_BUSY, refuse(OAE_R_BUSY)) \
	X(REFUSE_EARLY, rcv_refuse(l.ltag, OAE_R_BUSY, 0))	/* of the first slices only */ \
	X(REFUSE_TOO_BIG, refuse(OAE_R_TOO_BIG)) \
	X(REFUSE_NO_HALF, refuse(OAE_R_NO_HALF)) \
	X(REFUSE_CONFLICT, refuse(OAE_R_CONFLICT)) \
	X(REFUSE_ACCESS, refuse(OAE_R_ACCESS)) \
	X(READY, rcv_plain(OAE_READY, l.ltag, PEER, 0)) \
	X(DONE, rcv_plain(OAE_DONE, l.ltag, PEER, 0)) \
	X(CLOSE_NONE, rcv_close(0, 0))		/* the peer holds nothing of mine */ \
	X(CLOSE_ALL, rcv_close(l.given, 0)) \
	X(CLOSE_LAST, rcv_close(l.given, OAE_F_LAST)) \
	X(CLOSE_POLICY, rcv_plain(OAE_CLOSE, l.ltag, l.peer.ltag, OAE_R_POLICY)) \
	X(CLOSE_ACK, rcv_plain(OAE_CLOSE_ACK, l.ltag, PEER, 0)) \
	X(NOLINK, rcv_plain(OAE_NOLINK, l.ltag, PEER, 0)) \
	X(HELLO, rcv_plain(OAE_HELLO, 0, PEER, 0)) \
	X(OLD_OFFER, rcv_offer(STALE, PEER, 0, OAE_F_LAST)) \
	X(OLD_ASK, rcv_ask(STALE, OAE_MESSAGE)) \
	X(OLD_REFLECT, rcv_reflect(STALE, true)) \
	X(OLD_ACK, rcv_ack(STALE, 0)) \
	X(OLD_COMMIT, rcv_commit(STALE, PEER, OAE_F_WANT_DONE, 0)) \
	X(OLD_REFUSE, rcv_refuse(STALE, OAE_R_TOO_BIG, l.number.sent)) \
	X(OLD_READY, rcv_plain(OAE_READY, STALE, PEER, 0)) \
	X(OLD_DONE, rcv_plain(OAE_DONE, STALE, PEER, 0)) \
	X(OLD_CLOSE, rcv_plain(OAE_CLOSE, STALE, PEER, 0)) \
	X(OLD_CLOSE_ACK, rcv_plain(OAE_CLOSE_ACK, STALE, PEER, 0)) \
	X(OLD_NOLINK, rcv_plain(OAE_NOLINK, STALE, PEER, 0)) \
	X(OLD_PEER_OFFER, rcv_offer(l.ltag, STALE, 0, OAE_F_LAST)) \
	X(OLD_PEER_COMMIT, rcv_commit(l.ltag, STALE, OAE_F_WANT_DONE, 0)) \
	X(OLD_PEER_CLOSE, rcv_plain(OAE_CLOSE, l.ltag, STALE, 0)) \
	X(OLD_PEER_POLICY, rcv_plain(OAE_CLOSE, l.ltag, STALE, OAE_R_POLICY)) \
	X(EVIL_TX, rcv_evil(2, 0)) \
	X(EVIL_RX, rcv_evil(0, 2)) \
	X(EVIL_CLOSE, rcv_close(l.given + 1, 0)) \
	X(OPEN, oae_link_open(&l, now, &a)) \
	X(POST, post(&y, 0)) \
	X(POST_2, (post(&y, 0), post(&z, OAE_POST_EXPRESS))) \
	X(POST_HALF, post_kind(&z, OAE_SWAP)) \
	X(POST_VERB, post_kind(&z, OAE_VERB)) \
	X(CANCEL, ret = cancel()) \
	X(CANCEL_OTHER, ret = oae_link_cancel(&l, &y, OAE_E_SIGNAL, now, &a)) \
	X(CANCEL_HALF, ret = oae_link_cancel(&l, &h, OAE_E_SIGNAL, now, &a)) \
	X(WORDS_FREE, oae_link_ready(&l, now, &a)) \
	X(MADE_ROOM, oae_link_made_room(&l, 1, now, &a)) \
	X(CONFIRM, oae_link_confirm(&l, now, &a)) \
	X(TIMER_EARLY, timer(0)) \
	X(TIMER_STALL, timer(10 * MS)) \
	X(TIMER_KEEPALIVE, timer(110 * MS)) \
	X(TIMER_DEAD, timer(600 * MS)) \
	X(TIMER_SILENT, (timer(10 * MS), timer(600 * MS))) \
	X(CLOSED_HERE, oae_link_close(&l, now, &a)) \
	X(KILL, oae_link_kill(&l, OAE_E_CANCEL, now, &a)) \
	X(PORT_UP, oae_link_port_up(&l, now, &a)) \
	X(PORT_DOWN, oae_link_port_down(&l, now, &a)) \
	X(MTU, oae_link_set_mtu(&l, 9000, now, &a)) \
	X(MTU_SAME, oae_link_set_mtu(&l, 1500, now, &a))

#define AS_STATE(n, ...)	S_##n,
#define AS_EVENT(n, ...)	E_##n,
#define AS_TEXT(n, ...)	#n,
#define AS_PLACE(n, place, ...)	place,
enum { STATES(AS_STATE) S_END };
enum { EVENTS(AS_EVENT) E_END };
static const char *const state_text[] = { STATES(AS_TEXT) };
static const char *const event_text[] = { EVENTS(AS_TEXT) };
static const char *const state_place[] = { STATES(AS_PLACE) };

static const struct row {
	const char *events, *states, *expect;
} table[] = {
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
static struct oae_swaps lent_swaps;
static struct oae_actions a;
static u64 now;
static u32 inbox;	/* what mine has free, bytes */
static u16 grant;	/* what the peer grants */
static int ret;
static char x, y, z, h;	/* handles */
static u16 verdict;	/* on the next verb that is offered */

static void kept_hashes(struct oae_actions *some, u32 seq, unsigned int n, u64 *hash)
{
	unsigned int i;

	(void)some;
	(void)seq;
	for (i = 0; i < n; i++)
		hash[i] = i;
}

static void post_hashes(struct oae_actions *some, const struct oae_post *p, u64 *hash)
{
	kept_hashes(some, 0, p->nslices, hash);
}

static u16 compute(struct oae_actions *some, u32 seq, u16 *reply)
{
	(void)some;
	(void)seq;
	*reply = 16;
	return verdict;
}

static void cut(struct oae_actions *some, struct oae_post *p, u16 max)
{
	(void)some;
	p->slice_max = max;
}

static void clear(void)
{
	memset(&a, 0, sizeof(a));
	a.hashes = kept_hashes;
	a.post_hashes = post_hashes;
	a.verb = compute;
	a.cut = cut;
	ret = 0;
}

static struct oae_frame frame(u8 opcode, u32 dst, u32 src)
{
	struct oae_frame f = {
		.opcode = opcode, .src_ltag = src, .dst_ltag = dst,
		.tx = l.rx, .rx = l.tx, .grant = grant,
	};

	if (opcode <= OAE_SYNC_CHK) {
		f.sync.inc = PEER_INC;
		f.sync.peer_inc = l.inc;
		f.sync.max_len = 5000;
		f.sync.mtu = 1500;
	}
	return f;
}

static void rcv(const struct oae_frame *f)
{
	/* Earlier offers have been sent by now. */
	a.nsends = 0;
	oae_link_rcv(&l, f, inbox, now, &a);
}

static void rcv_sync(u8 opcode, u32 dst, u32 src)
{
	struct oae_frame f = frame(opcode, dst, src);

	rcv(&f);
}

static void rcv_offer(u32 dst, u32 src, u8 slice, u8 flags)
{
	struct oae_frame f = frame(OAE_OFFER, dst, src);

	f.seq = l.rx + 1;
	f.slice = slice;
	f.length = 10;
	f.flags = flags;
	f.marks = flags & OAE_F_LAST ? OAE_M_ANSWER : 0;
	f.payload_hash = slice;
	rcv(&f);
}

static void rcv_slice(u8 slice, u8 flags)
{
	rcv_offer(l.ltag, PEER, slice, flags);
}

/* I settle for a moment: what is new is refused for now. */
static void rcv_settling(u8 slice, u8 flags)
{
	l.settle_until = now + MS;
	rcv_slice(slice, flags);
	l.settle_until = 0;
}

/* My inbox is full, and that was said. */
static void grant_nothing(void)
{
	inbox = 0;
	l.credit.granted = 0;
}

static void rcv_kind(u8 kind)
{
	struct oae_frame f = frame(OAE_OFFER, l.ltag, PEER);

	f.seq = l.rx + 1;
	f.kind = kind;
	f.length = kind == OAE_VOID ? 0 : 10;
	f.flags = OAE_F_LAST;
	f.marks = OAE_M_ANSWER;
	rcv(&f);
}

static struct oae_frame answer(u8 opcode, u32 dst, u8 kind)
{
	struct oae_frame f = frame(opcode, dst, PEER);
	u64 nothing = oae_slice_hash("", 0, 0);

	f.seq = l.tx + 1;
	f.ack = l.number.sent;
	f.kind = kind;
	if (opcode == OAE_REFLECT) {
		f.reflect.digest = kind == OAE_VOID ? oae_whole_digest(&nothing, 1) : DIGEST;
		f.reflect.first = kind != OAE_VOID;
		f.length = OAE_REFLECT_LEN + (kind == OAE_SWAP || kind == OAE_VERB ? 16 : 0);
	}
	return f;
}

/* A REFLECT of what is offered, or of something else of its kind. */
static void rcv_reflect(u32 dst, bool right)
{
	struct oae_frame f = answer(OAE_REFLECT, dst, l.offer.p.kind);

	f.reflect.digest ^= !right;
	rcv(&f);
}

/* A REFLECT of what is offered no more, or was not yet. */
static void rcv_other_kind(void)
{
	struct oae_frame f = answer(OAE_REFLECT, l.ltag,
				    l.offer.p.kind == OAE_VOID ? OAE_MESSAGE : OAE_VOID);

	rcv(&f);
}

/* A REFLECT of an express, which was delivered. */
static void rcv_delivered(void)
{
	struct oae_frame f = answer(OAE_REFLECT, l.ltag, OAE_MESSAGE);

	f.rx++;
	rcv(&f);
}

static void rcv_refuse(u32 dst, u16 reason, u32 ack)
{
	struct oae_frame f = answer(OAE_REFUSE, dst, l.offer.p.kind);

	f.ack = ack;
	f.reason = reason;
	rcv(&f);
}

static void rcv_ask(u32 dst, u8 kind)
{
	struct oae_frame f = frame(OAE_ASK, dst, PEER);

	f.seq = l.rx + 1;
	f.kind = kind;
	rcv(&f);
}

static void rcv_ack(u32 dst, u64 have)
{
	struct oae_frame f = answer(OAE_ACK, dst, l.offer.p.kind);

	f.have = have;
	rcv(&f);
}

static void reflect(bool right)
{
	rcv_reflect(l.ltag, right);
}

static void refuse(u16 reason)
{
	rcv_refuse(l.ltag, reason, l.number.sent);
}

/* COMMIT of what is held, if something is. */
static void rcv_commit(u32 dst, u32 src, u8 flags, u8 marks)
{
	struct oae_frame f = frame(OAE_COMMIT, dst, src);

	if (l.hold.state == OAE_HOLD_HELD)
		f.tx++;
	f.seq = f.tx;
	f.flags = flags;
	f.marks = marks;
	rcv(&f);
}

/* What the peer would offer next is not granted. */
static void blocked(void)
{
	rcv_commit(l.ltag, PEER, OAE_F_WANT_DONE, OAE_M_BLOCKED);
}

static void rcv_plain(u8 opcode, u32 dst, u32 src, u16 reason)
{
	struct oae_frame f = frame(opcode, dst, src);

	f.reason = reason;
	rcv(&f);
}

/* The peer closes, and holds so many of mine. */
static void rcv_close(u32 held, u8 flags)
{
	struct oae_frame f = frame(OAE_CLOSE, l.ltag, PEER);

	f.seq = l.tx + held;
	f.flags = flags;
	rcv(&f);
}

/* Counters that no peer can have. */
static void rcv_evil(s32 tx, s32 rx)
{
	struct oae_frame f = frame(OAE_DONE, l.ltag, PEER);

	f.tx += tx;
	f.rx += rx;
	rcv(&f);
}

static void post(char *handle, u8 flags)
{
	struct oae_post p = {
		.handle = handle, .digest = DIGEST, .first = 1, .len = 20,
		.slice_max = 10, .nslices = 2, .flags = flags,
	};

	ret = oae_link_post(&l, &p, now, &a);
}

static void post_kind(char *handle, u8 kind)
{
	struct oae_post p = {
		.handle = handle, .digest = DIGEST, .first = 1, .len = 20,
		.slice_max = 20, .nslices = 1, .kind = kind,
		.reply = kind == OAE_VERB ? 16 : 0,
	};

	ret = oae_link_post(&l, &p, now, &a);
}

static void accept_stranger(void)
{
	struct oae_frame f = frame(OAE_SYNC, 0xc00c1e, PEER);

	oae_link_accept(&l, &f, inbox, now, &a);
}

static int cancel(void)
{
	return oae_link_cancel(&l, &x, OAE_E_SIGNAL, now, &a);
}

/* An express was offered, and is to be reversed. */
static void recall(void)
{
	post(&x, OAE_POST_EXPRESS);
	cancel();
}

static void freeze(void)
{
	oae_link_port_down(&l, now, &a);
}

/* The peer's half crosses mine, which is lent to it: nothing is offered in its place. */
static void cross(void)
{
	post_kind(&h, OAE_SWAP);
	rcv_kind(OAE_SWAP);
}

/* And that is committed, and confirmed. */
static void lend(void)
{
	cross();
	reflect(true);
	rcv_plain(OAE_DONE, l.ltag, PEER, 0);
}

static void timer(u64 later)
{
	now += later;
	oae_link_timer(&l, now, &a);
}

static void make(unsigned int state)
{
	drawn = 0;
	now = 1000 * MS;
	verdict = 0;
	inbox = 100000;
	grant = state == S_BLOCKED ? 0 : 0xffff;
	oae_link_init(&l, &cfg, 0, 1500, 0);
	memset(&lent_swaps, 0, sizeof(lent_swaps));
	oae_link_lend_swaps(&l, &lent_swaps);
	oae_link_rank(&l, state == S_HALF_SENIOR);
	if (state >= S_FROZEN) {
		oae_link_open(&l, now, &a);
		rcv_sync(OAE_SYNC, l.ltag, PEER);
	}
	clear();
	switch (state) {
#define AS_MAKE(n, place, how)	case S_##n: how; break;
	STATES(AS_MAKE)
	}
	now += MS / 10;
}

static void happen(unsigned int event)
{
	switch (event) {
#define AS_HAPPEN(n, what)	case E_##n: what; break;
	EVENTS(AS_HAPPEN)
	}
}

/* Where the link is: the state, and what it has in flight, each "" if there is none. */
enum { PARTS = 10 };

static void place(const char *part[PARTS])
{
	static const char *const offer[] = { "", "out", "parked",
					     "reflected", "queued" };
	static const char *const hold[] = { "", "partial", "held",
					    "refused", "kept" };
	static const char *const half[] = { "", "posted", "half", "waiting",
					    "lent" };

	part[0] = oae_state_name(oae_link_state(&l));
	part[1] = offer[l.offer.state];
	part[2] = hold[l.hold.state];
	part[3] = half[l.half.state];
	part[4] = l.naside ? "aside" : "";
	part[5] = l.next_valid ? "next" : "";
	part[6] = l.await_done ? "await" : "";
	part[7] = l.down ? "down" : "";
	part[8] = l.credit.said_blocked ? "blocked" : "";
	part[9] = oae_link_owes_credit(&l) ? "owes" : "";
}

static const char *whose(const void *handle)
{
	return handle == &x ? "x" : handle == &y ? "y" :
	       handle == &z ? "z" : handle == &h ? "h" : "?";
}

static void describe_sent(FILE *out, const struct oae_send *s)
{
	static const char *const kinds[] = { "message", "swap", "verb", "void" };

	fprintf(out, " %s", oae_opcode_name(s->frame.opcode));
	if (s->frame.opcode == OAE_OFFER)
		fprintf(out, " %s%s%s%s", s->handle ? whose(s->handle) : "-",
			s->slices & 1 ? "" : " last",
			s->slices >> (s->nslices - 1) ? "" : " first",
			s->frame.flags & OAE_F_RESUME ? " resume" : "");
	if (s->frame.kind)
		fprintf(out, " %s", kinds[s->frame.kind]);
	if (s->frame.opcode == OAE_REFLECT && s->frame.length > OAE_REFLECT_LEN)
		fprintf(out, " %s+%u",
			s->frame.kind == OAE_SWAP ? whose(s->handle) : "",
			s->frame.length - OAE_REFLECT_LEN);
	if (s->frame.opcode == OAE_REFUSE)
		fprintf(out, " %u", s->frame.reason);
	if (s->frame.opcode == OAE_ACK)
		fprintf(out, " %llx", (unsigned long long)s->frame.have);
	if (s->frame.flags & OAE_F_WANT_DONE)
		fprintf(out, " want");
	if (s->frame.marks & OAE_M_BLOCKED)
		fprintf(out, " blocked");
}

static void describe_op(FILE *out, const struct oae_op *op)
{
	static const char *const ends[] = { "committed", "reversed", "unknown" };
	static const char *const plain[OAE_OP_GONE + 1] = {
		[OAE_OP_DISCARD] = "discard", [OAE_OP_APPLY] = "apply", [OAE_OP_CONFIRMED] = "confirmed",
		[OAE_OP_GONE] = "GONE",
	};

	switch (op->type) {
	case OAE_OP_NOTE:
		fprintf(out, " :%s", oae_note_name(op->note));
		break;
	case OAE_OP_KEEP:
		fprintf(out, " keep%u", op->slice);
		break;
	case OAE_OP_DELIVER:
		fprintf(out, " deliver%u", op->slice);
		break;
	case OAE_OP_COMPLETE:
		fprintf(out, " %s-%s", whose(op->handle), ends[op->outcome]);
		if (op->err)
			fprintf(out, "-%s", strerrorname_np(op->err));
		break;
	case OAE_OP_BACK:
		fprintf(out, " %s-back", whose(op->handle));
		break;
	case OAE_OP_RESULT:
		fprintf(out, " %s-result", whose(op->handle));
		break;
	case OAE_OP_TAKE:
		fprintf(out, " %s-take", whose(op->handle));
		break;
	case OAE_OP_FLUSH:
		fprintf(out, " flush-%s", strerrorname_np(op->err));
		break;
	default:
		if (plain[op->type])
			fprintf(out, " %s", plain[op->type]);
	}
}

enum { LEN = 400 };	/* of what came of an event, in words */

/* What an event does in a state: what changes of its place; what is sent; what else. */
static void go(unsigned int state, unsigned int event, char got[LEN])
{
	const char *before[PARTS], *after[PARTS];
	FILE *out = fmemopen(got, LEN, "w");
	unsigned int i;

	make(state);
	place(before);
	clear();
	happen(event);
	place(after);
	for (i = 0; i < PARTS; i++)
		if (strcmp(before[i], after[i]))
			fprintf(out, "%s%s%s", ftell(out) ? " " : "",
				*after[i] ? "" : "-", *after[i] ? after[i] : before[i]);
	if (!ftell(out))
		fprintf(out, "same");
	if (ret)
		fprintf(out, " -%s", strerrorname_np(-ret));
	for (i = 0; i < a.nsends; i++) {
		fprintf(out, i ? "," : " >");
		describe_sent(out, &a.send[i]);
	}
	for (i = 0; i < a.nops; i++)
		describe_op(out, &a.op[i]);
	fclose(out);
}

/* A state's place is what STATES says. */
TEST(test_places)
{
	const char *part[PARTS];
	char text[LEN];
	unsigned int s, i;

	for (s = 0; s < S_END; s++) {
		make(s);
		place(part);
		*text = 0;
		for (i = 0; i < PARTS; i++) {
			if (i && *part[i])
				strcat(text, "+");
			strcat(text, part[i]);
		}
		assert_string_equal(text, state_place[s]);
	}
}

/* --- the table's words --- */

/* Sets of states with a name. */
static const char *const group_text[] = { "frozen", "open" };

static u64 group(unsigned int n)
{
	unsigned int s;
	u64 set = 0;

	for (s = 0; s < S_END; s++)
		if (s != S_CLOSED && !strncmp(state_place[s], "SYNC_", 5) == !n)
			set |= 1ULL << s;
	return set;
}

static u64 state_of(const char *word)
{
	unsigned int s;

	for (s = 0; s < S_END; s++)
		if (!strcmp(word, state_text[s]))
			return 1ULL << s;
	fail_msg("%s: there is no such state", word);
	return 0;
}

/* "open !IDLE OPENING": states and sets of them; "!" takes a state out again. */
static u64 states_of(const char *words)
{
	char *copy = strdup(words), *word, *next;
	u64 set = 0;

	for (word = strtok_r(copy, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
		if (*word == '!')
			set &= ~state_of(word + 1);
		else if (!strcmp(word, group_text[0]))
			set |= group(0);
		else if (!strcmp(word, group_text[1]))
			set |= group(1);
		else
			set |= state_of(word);
	}
	free(copy);
	return set;
}

/* A row, for each pair that it is about; "*" in an event stands for anything. */
static void expand(const struct row *row, const char *want[E_END][S_END])
{
	char *copy = strdup(row->events), *word, *next;
	u64 set = states_of(row->states);
	unsigned int e, s, n;

	for (word = strtok_r(copy, " ", &next); word; word = strtok_r(NULL, " ", &next)) {
		for (n = 0, e = 0; e < E_END; e++) {
			if (fnmatch(word, event_text[e], 0))
				continue;
			n++;
			for (s = 0; s < S_END; s++) {
				if (!(set >> s & 1))
					continue;
				if (want[e][s])
					fail_msg("%s in %s: twice in the table", event_text[e],
						 state_text[s]);
				want[e][s] = row->expect;
			}
		}
		if (!n)
			fail_msg("%s: there is no such event", word);
	}
	free(copy);
}

TEST(test_every_pair)
{
	static const char *want[E_END][S_END];
	unsigned int s, e, i, wrong = 0;
	char got[LEN];

	for (i = 0; i < ARRAY_SIZE(table); i++)
		expand(&table[i], want);
	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++) {
			go(s, e, got);
			assert_false(a.overflow);
			if (want[e][s] && !strcmp(want[e][s], got))
				continue;
			wrong++;
			print_error("%s in %s\n  want %s\n  got  %s\n", event_text[e],
				    state_text[s], want[e][s] ?: "(not in the table)", got);
		}
	}
	print_message("%u states x %u events\n", S_END, E_END);
	assert_int_equal(wrong, 0);
}

/* An OPEN or frozen link has its timer armed, whatever happened. */
TEST(test_timer_armed)
{
	unsigned int s, e;
	char got[LEN];

	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++) {
			go(s, e, got);
			if (l.state == OAE_CLOSED)
				continue;
			if (!l.timer.at || l.timer.at > now + cfg.dead)
				fail_msg("%s in %s: timer at %llu, now %llu",
					 event_text[e], state_text[s],
					 (unsigned long long)l.timer.at,
					 (unsigned long long)now);
		}
	}
}

/* --- the table written anew --- */

/* A string of words behind what fills the line so far; where it ends. */
static unsigned int print_string(const char *text, unsigned int col)
{
	const char *word;

	if (col > 1 && col + strlen(text) > 94) {
		printf("\n ");
		col = 1;
	}
	printf(" \"");
	for (col += 2; *text; text = word) {
		word = strchr(text, ' ');
		word = word ? word + 1 : text + strlen(text);
		if (col + (word - text) > 96) {
			printf("\"\n  \"");
			col = 3;
		}
		col += printf("%.*s", (int)(word - text), text);
	}
	printf("\"");
	return col + 1;
}

/* Where three or more begin alike, and all of them are there: that, and "*". */
static void events_text(const bool events[E_END], char *out)
{
	bool done[E_END] = { 0 };
	unsigned int e, i, all, here;
	size_t len;

	for (e = 0; e < E_END; e++) {
		if (!events[e] || done[e])
			continue;
		len = strcspn(event_text[e], "_") + 1;
		for (i = 0, all = 0, here = 0; i < E_END; i++)
			if (!strncmp(event_text[e], event_text[i], len)) {
				all++;
				here += events[i];
			}
		if (all < 3 || here < all) {
			out += sprintf(out, " %s", event_text[e]);
			continue;
		}
		out += sprintf(out, " %.*s*", (int)len, event_text[e]);
		for (i = 0; i < E_END; i++)
			if (!strncmp(event_text[e], event_text[i], len))
				done[i] = true;
	}
}

/* Of a group either what is in it, or the group and what is not. */
static void states_text(u64 states, char *out)
{
	char minus[500] = "", *end = minus;
	unsigned int i, n;
	u64 in, out_of;

	if (states >> S_CLOSED & 1)
		out += sprintf(out, " CLOSED");
	for (n = 0; n < ARRAY_SIZE(group_text); n++) {
		in = group(n) & states;
		out_of = group(n) & ~states;
		if (__builtin_popcountll(in) > __builtin_popcountll(out_of) + 1) {
			out += sprintf(out, " %s", group_text[n]);
			in = 0;
		} else {
			out_of = 0;
		}
		for (i = 0; i < S_END; i++) {
			if (in >> i & 1)
				out += sprintf(out, " %s", state_text[i]);
			if (out_of >> i & 1)
				end += sprintf(end, " !%s", state_text[i]);
		}
	}
	strcpy(out, minus);
}

static void print_row(const bool events[E_END], u64 states, const char *expect)
{
	char text[2000];
	unsigned int col;

	printf("{");
	events_text(events, text);
	col = print_string(text + 1, 1);
	printf(",");
	states_text(states, text);
	col = print_string(text + 1, col + 1);
	printf(",");
	print_string(expect, col + 1);
	printf(" },\n");
}

/* The table as it is now: in one row what is the same in some events and some states. */
static int print_table(void)
{
	static char got[E_END][S_END][LEN];
	static u64 done[E_END];
	unsigned int e, s, f, t;
	bool events[E_END];
	u64 states;

	for (e = 0; e < E_END; e++)
		for (s = 0; s < S_END; s++)
			go(s, e, got[e][s]);
	for (e = 0; e < E_END; e++) {
		for (s = 0; s < S_END; s++) {
			if (done[e] >> s & 1)
				continue;
			for (states = 0, t = s; t < S_END; t++)
				if (!(done[e] >> t & 1) && !strcmp(got[e][s], got[e][t]))
					states |= 1ULL << t;
			memset(events, 0, sizeof(events));
			for (f = e; f < E_END; f++) {
				for (t = 0; t < S_END; t++)
					if (states >> t & 1 && (done[f] >> t & 1 ||
								strcmp(got[e][s], got[f][t])))
						break;
				if (t < S_END)
					continue;
				events[f] = true;
				done[f] |= states;
			}
			print_row(events, states, got[e][s]);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "print"))
		return print_table();
	return UNIT_RUN("every state, every event");
}
