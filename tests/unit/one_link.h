/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One link, and its peer by hand: every event is a call, and what came of it is
 * there to be looked at until the next. frame(X) is a frame that the peer would
 * send now; a test changes what is to be wrong with it. Included by one file a
 * program.
 */
#ifndef OAE_ONE_LINK_H
#define OAE_ONE_LINK_H

#include "unit.h"
#include "../../modoae/link/link.h"

#define MS		1000000ULL
#define PEER_INC	0xabcdefULL
#define DIGEST		0x1234567890ULL
#define PEER_START	100		/* the peer's tx before its first */
#define SLICE		10		/* bytes of each slice that the peer offers */
#define CUT		50		/* and of each that I offer */
#define PLENTY		0x1000000U	/* more than a frame can grant, bytes */
#define COST(n, bytes)	((n) * ((bytes) + OAE_SLICE_COST))	/* of so many slices */

static struct oae_link l;
static struct oae_swaps lent_swaps;
static struct oae_actions a;
static u64 now;
static u32 peer_lag;		/* how far the peer's rx is behind my tx */
static u32 inbox;		/* what mine has free, bytes */
static u16 grant;		/* what the peer grants, in each frame */
static u32 drawn, draw_next;	/* draw_next: what random says next, once */
static char x __attribute__((unused)), y __attribute__((unused));	/* handles */

static inline u32 draw(void)
{
	u32 v = draw_next ? draw_next : ++drawn;

	draw_next = 0;
	return v;
}

static struct oae_link_cfg cfg;

/* All slices of a number that slice() makes are kept. */
static inline void kept_hashes(struct oae_actions *some, u32 seq, unsigned int n, u64 *hash)
{
	unsigned int i;

	(void)some;
	(void)seq;
	for (i = 0; i < n; i++)
		hash[i] = 1000 + i;
}

/* The post whose slices are not like those that slice() makes. */
static const char *unlike __attribute__((unused));

static inline void post_hashes(struct oae_actions *some, const struct oae_post *p, u64 *hash)
{
	/* More than it has. */
	kept_hashes(some, 0, OAE_MAX_SLICES, hash);
	hash[0] += p->handle == unlike;
}

/* What verbs are computed to be, and how many were by the last event. */
static u16 verdict, verdict_reply __attribute__((unused));
static unsigned int nverbs;
static u32 last_verb;

static inline u16 compute(struct oae_actions *some, u32 seq, u16 *reply)
{
	(void)some;
	nverbs++;
	last_verb = seq;
	*reply = verdict_reply;
	return verdict;
}

static inline void computes(u16 reason, u16 reply)
{
	verdict = reason;
	verdict_reply = reply;
}

/* How many posts the last event has cut anew, and which was the last. */
static unsigned int ncuts;
static const void *last_cut __attribute__((unused));
static const void *uncuttable __attribute__((unused));

static inline void cut(struct oae_actions *some, struct oae_post *p, u16 max)
{
	(void)some;
	ncuts++;
	last_cut = p->handle;
	p->slice_max = max;
	p->nslices = p->handle == uncuttable ? 0 : (p->len + max - 1) / max;
}

static inline void clear(void)
{
	nverbs = 0;
	ncuts = 0;
	memset(&a, 0xa5, sizeof(a));
	a.nops = 0;
	a.done = 0;
	a.nsends = 0;
	a.overflow = false;
	a.full = NULL;
	a.hashes = kept_hashes;
	a.post_hashes = post_hashes;
	a.verb = compute;
	a.cut = cut;
	a.told = NULL;
}

/* --- what came of the last event --- */

static inline unsigned int count_op(u8 type)
{
	unsigned int i, n = 0;

	for (i = 0; i < a.nops; i++)
		n += a.op[i].type == type;
	return n;
}

static inline unsigned int noted(u8 note)
{
	unsigned int i, n = 0;

	for (i = 0; i < a.nops; i++)
		n += a.op[i].type == OAE_OP_NOTE && a.op[i].note == note;
	return n;
}

static inline const struct oae_op *op(u8 type)
{
	unsigned int i;

	for (i = 0; i < a.nops; i++)
		if (a.op[i].type == type)
			return &a.op[i];
	return NULL;
}

static inline const struct oae_send *sent(u8 opcode)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == opcode)
			return &a.send[i];
	return NULL;
}

static inline bool ended(const char *handle, u8 outcome)
{
	const struct oae_op *o = op(OAE_OP_COMPLETE);

	return o && o->handle == handle && o->outcome == outcome;
}

static inline void assert_reversed(const char *handle, int err)
{
	assert_true(ended(handle, OAE_REVERSED));
	assert_int_equal(op(OAE_OP_COMPLETE)->err, err);
}

/* --- events --- */

static inline struct oae_frame frame(u8 opcode)
{
	struct oae_frame f = {
		.opcode = opcode, .src_ltag = l.peer.ltag, .dst_ltag = l.ltag,
		.tx = l.rx, .rx = l.tx - peer_lag, .grant = grant,
	};

	if (opcode <= OAE_SYNC_CHK) {
		f.sync.inc = PEER_INC;
		f.sync.peer_inc = l.inc;
		f.sync.max_len = 5000;
		f.sync.start = PEER_START;
		f.sync.mtu = 1500;
	}
	return f;
}

/* The peer closes, and holds so many of mine; perhaps nothing of its own is undecided. */
static inline struct oae_frame peer_closes(u32 held, bool last)
{
	struct oae_frame f = frame(OAE_CLOSE);

	f.seq = l.tx + held;
	f.flags = last ? OAE_F_LAST : 0;
	return f;
}

/* The frame stays, for whoever looks at it when the event is over. */
static inline void rcv(struct oae_frame f)
{
	static struct oae_frame last;

	clear();
	last = f;
	oae_link_rcv(&l, &last, inbox, now, &a);
	assert_false(a.overflow);
}

/* I settle for a moment: what is new is refused for now. */
static inline void rcv_settling(struct oae_frame f)
{
	l.settle_until = now + MS;
	rcv(f);
	l.settle_until = 0;
}

/* A frame, but something about it is another: rcv(BUT(resolved(), f.rx++)). */
#define BUT(frame, ...) \
	({ \
		struct oae_frame f = (frame); \
		__VA_ARGS__; \
		f; \
	})

/* The digest of VOID, which is one slice without a byte. */
static inline u64 nothing_digest(void)
{
	u64 hash = oae_slice_hash("", 0, 0);

	return oae_whole_digest(&hash, 1);
}

/* A slice of what the peer offers next; LAST asks for an answer. */
static inline struct oae_frame slice(u16 index, u8 flags)
{
	struct oae_frame f = frame(OAE_OFFER);

	f.seq = l.rx + 1;
	f.slice = index;
	f.length = SLICE;
	f.flags = flags;
	f.marks = flags & OAE_F_LAST ? OAE_M_ANSWER : 0;
	f.payload_hash = 1000 + index;
	f.first = index ? 0 : 77;
	return f;
}

/* An answer to what is offered. */
static inline struct oae_frame answer(u8 opcode)
{
	struct oae_frame f = frame(opcode);

	f.seq = l.tx + 1;
	f.kind = l.offer.p.kind;
	f.ack = l.number.sent;
	f.marks = OAE_M_NOW;
	if (opcode == OAE_REFLECT) {
		f.reflect.digest = f.kind == OAE_VOID ? nothing_digest() : DIGEST;
		f.reflect.first = f.kind != OAE_VOID;
	}
	return f;
}

static inline void refuse(u16 reason)
{
	rcv(BUT(answer(OAE_REFUSE), f.reason = reason, f.map = ~0U));
}

/* The peer has these slices. */
static inline void ack(u64 have)
{
	rcv(BUT(answer(OAE_ACK), f.have = have));
}

/* The peer has committed what is held. */
static inline void commit(u8 flags)
{
	struct oae_frame f = frame(OAE_COMMIT);

	f.tx++;
	f.seq = f.tx;
	f.flags = flags;
	rcv(f);
}

/* --- probes of length (protocol 4.17) --- */

/* The long one of the last event, NULL if there is none; the short one is behind it. */
static inline const struct oae_frame *probe(void)
{
	unsigned int i;

	for (i = 0; i + 1 < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_ASK && a.send[i].frame.length > 1)
			return &a.send[i].frame;
	return NULL;
}

/* The size that the last event asks for, bytes behind the Ethernet header; 0: none. */
static inline unsigned int probed(void)
{
	return probe() ? OAE_HDR_LEN + probe()->length : 0;
}

/* The answer to the short one. Has the peer heard the long one, too? */
static inline struct oae_frame probe_answer(bool heard)
{
	struct oae_frame f = frame(OAE_ACK);

	f.seq = probe()->seq;
	f.kind = probe()->kind;
	f.ack = probe()->pn + 1;
	f.map = heard;
	return f;
}

/* A search goes on until it ends: what is longer is lost. */
static inline void gets_through(u16 mtu)
{
	while (probe())
		rcv(probe_answer(probed() <= mtu));
}

static inline void post_it(const struct oae_post *p)
{
	clear();
	assert_int_equal(oae_link_post(&l, p, now, &a), 0);
}

static inline void post(char *handle, u8 nslices, u8 flags)
{
	post_it(&(struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1,
		.len = CUT * nslices, .slice_max = CUT, .nslices = nslices,
		.flags = flags,
	});
}

/* A half, or a verb whose answer has so many bytes. */
static inline void post_kind(char *handle, u8 kind, u16 len, u16 reply)
{
	post_it(&(struct oae_post){
		.handle = handle, .digest = DIGEST, .first = 1, .len = len,
		.slice_max = len, .nslices = 1, .kind = kind, .reply = reply,
	});
}

static inline void post_half(char *handle)
{
	post_kind(handle, OAE_SWAP, CUT, 0);
}

/* What the peer offers next, if it is no message. */
static inline struct oae_frame offer_kind(u8 kind)
{
	struct oae_frame f = slice(0, OAE_F_LAST);

	f.kind = kind;
	if (kind == OAE_VOID) {
		f.length = 0;
		f.payload_hash = oae_slice_hash("", 0, 0);
		f.first = 0;
	}
	return f;
}

/* What answers it: so many bytes behind the body of a REFLECT. */
static inline struct oae_frame answer_kind(u8 kind, u16 more)
{
	struct oae_frame f = answer(OAE_REFLECT);

	f.kind = kind;
	f.length = OAE_REFLECT_LEN + more;
	return f;
}

static inline int cancel(char *handle)
{
	clear();
	return oae_link_cancel(&l, handle, OAE_E_SIGNAL, now, &a);
}

/* The events that have nothing but a name. */
#define LINK_EVENT(name, happens) \
	static inline void name(void) \
	{ \
		clear(); \
		happens(&l, now, &a); \
	}
LINK_EVENT(port_down, oae_link_port_down)
LINK_EVENT(renamed, oae_link_renamed)
LINK_EVENT(close_link, oae_link_close)
LINK_EVENT(confirm, oae_link_confirm)
LINK_EVENT(words_free, oae_link_ready)

static inline void set_mtu(u16 mtu)
{
	clear();
	oae_link_set_mtu(&l, mtu, now, &a);
}

static inline void kill_link(int err)
{
	clear();
	oae_link_kill(&l, err, now, &a);
}

static inline void fire_at(u64 when)
{
	assert_int_not_equal(l.state, OAE_CLOSED);
	now = when;
	clear();
	oae_link_timer(&l, now, &a);
}

static inline void assert_nothing_but(u8 note)
{
	assert_int_equal(noted(note), 1);
	assert_int_equal(a.nops, 1);
	assert_int_equal(a.nsends, 0);
}

/* The peer has frozen too, and resolved: both are OPEN, under new ltags. */
static inline struct oae_frame resolved(void)
{
	struct oae_frame f = frame(OAE_SYNC_ACK);

	f.src_ltag = l.peer.ltag + 0x100;
	return f;
}

/* The hash of slices that are kept. */
static inline u64 hash_of(u64 kept)
{
	u64 hash[OAE_MAX_SLICES];

	kept_hashes(&a, 0, OAE_MAX_SLICES, hash);
	return oae_kept_hash(kept, hash);
}

/* The peer has resolved, and keeps these slices of its next number. */
static inline struct oae_frame keeps(u64 kept, u8 last)
{
	return BUT(resolved(), f.sync.kept = kept, f.sync.hash = hash_of(kept), f.sync.last = last);
}

/* A run fails, and the next begins. */
static inline void anew(void)
{
	port_down();
	rcv(resolved());
}

static inline void new_link(void)
{
	oae_link_init(&l, &cfg, 7, 1500, 0);
	memset(&lent_swaps, 0, sizeof(lent_swaps));
	oae_link_lend_swaps(&l, &lent_swaps);
}

static inline int one_link(void **state)
{
	(void)state;
	cfg = (struct oae_link_cfg){
		.stall_min = 1 * MS, .stall_max = 40 * MS,
		.keepalive = 100 * MS, .dead = 400 * MS,
		.max_len = 10000, .random = draw,
	};
	drawn = 0;
	draw_next = 0;
	peer_lag = 0;
	inbox = PLENTY;
	grant = 0xffff;
	now = 1000000 * MS;
	new_link();
	clear();
	oae_link_open(&l, now, &a);
	return 0;
}

static inline int open_link(void **state)
{
	struct oae_frame f;

	one_link(state);
	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	f.tx = PEER_START;
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
	return 0;
}

/* A test of a link that is OPEN and idle. */
#define LINK_TEST(test)	UNIT_TEST(test, open_link, NULL)

#endif /* OAE_ONE_LINK_H */
