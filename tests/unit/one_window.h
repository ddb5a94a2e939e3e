/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One link whose run has a window of PLACES, and its peer by hand (one_link.h): several
 * transactions are under way, each way (doc/protocol.md section 4.11), and an event names
 * the number that it is about. Included by one file a program.
 */
#ifndef OAE_ONE_WINDOW_H
#define OAE_ONE_WINDOW_H

#include "one_link.h"
#include "../../modoae/link/link_int.h"

#define PLACES	8

static struct oae_pair place[PLACES], *pair[PLACES];
static char h[2 * PLACES];		/* handles */

static inline void lend(void)
{
	unsigned int i;

	memset(place, 0, sizeof(place));
	for (i = 0; i < PLACES; i++)
		pair[i] = &place[i];
	clear();
	oae_link_lend(&l, pair, PLACES, now, &a);
	assert_false(a.overflow);
}

/* A link whose run has a window, if both ends have one. */
static inline void open_wide(u8 mine, u8 theirs)
{
	struct oae_frame f;

	one_link(NULL);
	cfg.window = mine;
	new_link();
	clear();
	oae_link_open(&l, now, &a);
	f = frame(OAE_SYNC);
	f.src_ltag = 0x5000;
	f.tx = PEER_START;
	f.sync.caps = theirs - 1;
	rcv(f);
	assert_int_equal(l.state, OAE_OPEN);
}

static inline int open_window(void **state)
{
	(void)state;
	open_wide(PLACES, PLACES);
	lend();
	return 0;
}

#define WINDOW_TEST(test)	UNIT_TEST(test, open_window, NULL)

/* The next run has a window, too. */
static inline void anew_wide(void)
{
	port_down();
	rcv(BUT(resolved(), f.sync.caps = PLACES - 1));
	assert_int_equal(l.state, OAE_OPEN);
}

/* That of one that the network does not bear much on: one frame is under way at first. */
static inline void anew_narrow(void)
{
	l.cong.cwnd = 1;
	anew_wide();
}

/* An answer to what is offered under a number of mine, the first is 1. */
static inline struct oae_frame answer_to(u8 opcode, u32 seq)
{
	const struct oae_lane *n = oae_lane(&l, seq);
	struct oae_frame f = frame(opcode);

	f.seq = seq;
	f.kind = n->p.kind;
	f.ack = oae_lane_pn(n);
	f.marks = OAE_M_NOW;
	if (opcode == OAE_REFLECT) {
		f.reflect.digest = n->p.digest;
		f.reflect.first = n->p.first;
		f.length = OAE_REFLECT_LEN + n->p.reply;
	}
	return f;
}

static inline void reflect(u32 seq)
{
	rcv(answer_to(OAE_REFLECT, seq));
}

static inline void ack_number(u32 seq, u64 have)
{
	rcv(BUT(answer_to(OAE_ACK, seq), f.have = have));
}

static inline void refuse_number(u32 seq, u16 reason)
{
	const struct oae_lane *n = oae_lane(&l, seq);
	u32 back = oae_lane_pn(n) - n->pn;

	/* It has heard what was offered last. Of the others it says nothing. */
	rcv(BUT(answer_to(OAE_REFUSE, seq), f.reason = reason,
		f.map = back ? 1U << (back - 1) : 0));
}

/* What the peer has refused for now may be taken. */
static inline void ready(void)
{
	rcv(frame(OAE_READY));
}

static inline void post_some(unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		post(&h[from], 1, 0);
}

/* The OFFER of a number in the last event. */
static inline const struct oae_send *offered(u32 seq)
{
	unsigned int i;

	for (i = 0; i < a.nsends; i++)
		if (a.send[i].frame.opcode == OAE_OFFER && a.send[i].frame.seq == seq)
			return &a.send[i];
	return NULL;
}

/* A content of one slice, under the peer's number so far above what is delivered here. */
static inline void take(u32 above, u8 kind)
{
	rcv(BUT(offer_kind(kind), f.seq = l.rx + above));
}

/* While I settle. */
static inline void take_settling(u32 above, u8 kind)
{
	rcv_settling(BUT(offer_kind(kind), f.seq = l.rx + above));
}

static inline void assert_refused(u32 above, u16 reason)
{
	const struct oae_send *s = sent(OAE_REFUSE);

	assert_non_null(s);
	assert_int_equal(s->frame.seq, l.rx + above);
	assert_int_equal(s->frame.reason, reason);
}

/* A slice of one that has more than one. */
static inline void take_slice(u32 above, u16 index, u8 flags)
{
	rcv(BUT(slice(index, flags), f.seq = l.rx + above));
}

/* The peer has committed so many of those that are held. */
static inline void commit_to(u32 n)
{
	rcv(BUT(frame(OAE_COMMIT), f.tx += n, f.seq = f.tx));
}

/* So many of the lowest that are missing. */
#define PART(from, n)	(((1ULL << (n)) - 1) << (from))

/* --- verbs --- */

#define REPLY	16

static inline void post_verb(char *handle)
{
	post_kind(handle, OAE_VERB, CUT, REPLY);
}

static inline void post_verbs(unsigned int from, unsigned int to)
{
	for (; from <= to; from++)
		post_verb(&h[from]);
}

/* It is taken, and computed at once. */
static inline void take_verb(u32 above)
{
	computes(0, REPLY);
	take(above, OAE_VERB);
	assert_int_equal(nverbs, 1);
	assert_int_equal(last_verb, l.rx + above);
}

#endif /* OAE_ONE_WINDOW_H */
