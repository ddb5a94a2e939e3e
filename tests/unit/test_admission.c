// SPDX-License-Identifier: GPL-2.0
/*
 * Admission: each frame in each situation (doc/protocol.md section 4.6). The
 * tables here are those of the document, not those of the code.
 */
#include "unit.h"
#include "../../modoae/link/admission.h"

#define MINE		0x11111111U	/* what the frame calls my ltag */
#define THEIRS		0x22222222U
#define COOKIE		0x33333333U
#define BEFORE		0x44444444U
#define SEQ		7
#define VC		9

static const u32 named[] = { 0, MINE, COOKIE, BEFORE };

/* What becomes of all frames but SYNC: the opcode of the answer, 0 none. */
static const u8 answers[] = {
	[OAE_SYNC_ACK] = 0,
	[OAE_SYNC_CHK] = 0,
	[OAE_CLOSE] = OAE_CLOSE_ACK,
	[OAE_CLOSE_ACK] = 0,
	[OAE_OFFER] = OAE_NOLINK,
	[OAE_REFLECT] = OAE_NOLINK,
	[OAE_COMMIT] = OAE_NOLINK,
	[OAE_REFUSE] = OAE_NOLINK,
	[OAE_READY] = OAE_NOLINK,
	[OAE_DONE] = OAE_NOLINK,
	[OAE_HELLO] = 0,
	[OAE_NOLINK] = 0,
	[OAE_PATH] = 0,
	[OAE_ASK] = OAE_NOLINK,
	[OAE_ACK] = OAE_NOLINK,
};

_Static_assert(ARRAY_SIZE(answers) == OAE_OPCODE_END, "an opcode is missing");

/* By `accept`, and whether the peer is configured. */
static const bool welcome[][2] = {
	[OAE_ACCEPT_ANY] = { true, true },
	[OAE_ACCEPT_PEERS] = { false, true },
	[OAE_ACCEPT_NONE] = { false, false },
};

static struct oae_frame frame(u8 opcode, u32 dst_ltag, u16 reason)
{
	return (struct oae_frame){
		.opcode = opcode, .vc = VC, .src_ltag = THEIRS,
		.dst_ltag = dst_ltag, .seq = SEQ, .reason = reason,
	};
}

/* An answer has the ltags crossed, but for a cookie, and nothing else in it. */
static void assert_answer(const struct oae_admission *a, u8 opcode, u16 reason,
			  u32 src_ltag)
{
	struct oae_frame r;

	memset(&r, 0, sizeof(r));
	r.opcode = opcode;
	r.vc = VC;
	r.hdr_len = OAE_HDR_LEN;
	r.reason = reason;
	r.src_ltag = src_ltag;
	r.dst_ltag = THEIRS;
	r.seq = SEQ;
	assert_memory_equal(&a->answer, &r, sizeof(r));
}

static void assert_no_answer(const struct oae_admission *a)
{
	static const struct oae_frame none;

	assert_memory_equal(&a->answer, &none, sizeof(none));
}

/* Who asks makes no difference to any frame but a SYNC. */
static void any_asker(void (*test)(const struct oae_asker *who))
{
	struct oae_asker who = { .cookie = { COOKIE, BEFORE } };
	unsigned int bits;

	for (bits = 0; bits < 16; bits++)
		for (who.accept = 0; who.accept < 3; who.accept++) {
			who.shut = bits & 1;
			who.configured = bits & 2;
			who.awaited = bits & 4;
			who.linked = bits & 8;
			test(&who);
		}
}

static void other_frames(const struct oae_asker *who)
{
	struct oae_admission a;
	struct oae_frame f;
	unsigned int i;
	u16 reason;
	u8 op;

	for (op = OAE_SYNC + 1; op < OAE_OPCODE_END; op++) {
		/* It is none, so such a frame is dropped before. */
		if (op == 11)
			continue;
		for (i = 0; i < ARRAY_SIZE(named); i++)
			for (reason = 0; reason < OAE_REASON_END; reason++) {
				f = frame(op, named[i], reason);
				oae_admission(who, &f, &a);
				if (answers[op] && (op != OAE_CLOSE || !reason)) {
					assert_int_equal(a.verdict, OAE_ADMIT_ANSWER);
					assert_int_equal(a.why, OAE_ADMIT_FINE);
					assert_answer(&a, answers[op], 0, named[i]);
				} else {
					assert_int_equal(a.verdict, OAE_ADMIT_DROP);
					assert_int_equal(a.why, OAE_ADMIT_NO_TAG);
					assert_no_answer(&a);
				}
			}
	}
}

static void syncs(const struct oae_asker *who)
{
	bool expected = who->configured || who->awaited;
	struct oae_admission a;
	struct oae_frame f;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(named); i++) {
		f = frame(OAE_SYNC, named[i], 0);
		oae_admission(who, &f, &a);
		if (!who->linked && (who->shut || !welcome[who->accept][who->configured])) {
			assert_int_equal(a.verdict, OAE_ADMIT_ANSWER);
			assert_int_equal(a.why, OAE_ADMIT_POLICY);
			assert_answer(&a, OAE_CLOSE, OAE_R_POLICY, named[i]);
		} else if (named[i] == COOKIE || named[i] == BEFORE) {
			assert_int_equal(a.verdict, OAE_ADMIT_TAG);
			assert_int_equal(a.why, OAE_ADMIT_FINE);
			assert_no_answer(&a);
		} else {
			assert_int_equal(a.verdict, expected ? OAE_ADMIT_EXPECTED :
							       OAE_ADMIT_ANSWER);
			assert_int_equal(a.why, named[i] ? OAE_ADMIT_BAD_COOKIE :
							   OAE_ADMIT_FINE);
			assert_answer(&a, OAE_SYNC_CHK, 0, COOKIE);
		}
	}
}

TEST(test_frames)
{
	any_asker(other_frames);
}

TEST(test_sync)
{
	any_asker(syncs);
}

TEST(test_full)
{
	struct oae_frame f = frame(OAE_SYNC, COOKIE, 0);
	struct oae_admission a;

	oae_admission_full(&f, &a);
	assert_int_equal(a.verdict, OAE_ADMIT_ANSWER);
	assert_int_equal(a.why, OAE_ADMIT_FULL);
	assert_answer(&a, OAE_CLOSE, OAE_R_FULL, COOKIE);
}

/* Another incarnation of a link's peer goes on asking, at the pace of strangers. */
TEST(test_conflict)
{
	struct oae_frame f = frame(OAE_SYNC, COOKIE, 0);
	struct oae_asker who = { .cookie = { COOKIE, BEFORE } };
	struct oae_admission a;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		who.configured = i & 1;
		who.awaited = i & 2;
		memset(&a, 0xa5, sizeof(a));
		oae_admission_conflict(&who, &f, &a);
		assert_int_equal(a.verdict, OAE_ADMIT_ANSWER);
		assert_int_equal(a.why, OAE_ADMIT_CONFLICT);
		assert_answer(&a, OAE_SYNC_CHK, 0, COOKIE);
	}
}

/* An ltag of 0 names no cookie, not even where there was none in the step before. */
TEST(test_no_cookie)
{
	const struct oae_asker who = { .cookie = { COOKIE, 0 } };
	struct oae_frame f = frame(OAE_SYNC, 0, 0);
	struct oae_admission a;

	oae_admission(&who, &f, &a);
	assert_int_equal(a.verdict, OAE_ADMIT_ANSWER);
	assert_int_equal(oae_cookie(0), 1);
	assert_int_equal(oae_cookie(5ULL << 32), 1);
	assert_int_equal(oae_cookie(6ULL << 32 | COOKIE), COOKIE);
}

TEST(test_room)
{
	/* max_tags, and how many strangers may have one of it. */
	static const unsigned int share[][2] = {
		{ 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 3 }, { 5, 4 }, { 6, 4 },
		{ 7, 5 }, { 8, 6 }, { 100, 75 }, { 65536, 49152 },
		{ 0xffffffff, 0xbfffffff },
	};
	unsigned int i, most, strangers;

	for (i = 0; i < ARRAY_SIZE(share); i++) {
		most = share[i][0];
		strangers = share[i][1];
		assert_int_equal(oae_share_room(most, 0, most), 0);
		assert_int_equal(oae_share_room(most, strangers, most), 0);
		if (strangers < most)
			assert_int_equal(oae_share_room(most, strangers + 1, most),
					 -EDQUOT);
		if (most < 0xffffffff) {
			assert_int_equal(oae_share_room(most + 1, 0, most), -ENOBUFS);
			assert_int_equal(oae_share_room(most + 1, strangers + 1, most),
					 -ENOBUFS);
		}
	}
	/* Strangers have one even of none: max_tags says no. */
	assert_int_equal(oae_share_room(0, 1, 0), 0);
	assert_int_equal(oae_share_room(1, 1, 0), -ENOBUFS);
}

/* What each row of 4.6, "giving way", wants; -1 either. */
static const struct row {
	enum oae_spare spare;
	int attached, dead, unread, stranger, queued, closed, down;
} rows[] = {
	{ OAE_SPARE_DEAD,	0, 1, 1, -1, -1, -1, -1 },
	{ OAE_SPARE_CLOSED,	0, 0, -1, 1, 0, 1, -1 },
	{ OAE_SPARE_DOWN,	0, 0, -1, 1, 0, 0, 1 },
};

static bool fits(int wanted, bool is)
{
	return wanted < 0 || wanted == is;
}

static enum oae_spare spare_of(const struct oae_claims *c)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (fits(rows[i].attached, c->attached) &&
		    fits(rows[i].dead, c->dead) &&
		    fits(rows[i].unread, c->unread) &&
		    fits(rows[i].stranger, c->stranger) &&
		    fits(rows[i].queued, c->queued) &&
		    fits(rows[i].closed, c->closed) &&
		    fits(rows[i].down, c->down))
			return rows[i].spare;
	return OAE_SPARE_NOT;
}

TEST(test_spare)
{
	unsigned int bits, seen[OAE_SPARE_END] = { 0 };
	struct oae_claims c;

	for (bits = 0; bits < 1 << 7; bits++) {
		c = (struct oae_claims){
			.attached = bits & 1, .dead = bits & 2,
			.unread = bits & 4, .stranger = bits & 8,
			.queued = bits & 16, .closed = bits & 32,
			.down = bits & 64,
		};
		assert_int_equal(oae_share_spare(&c), spare_of(&c));
		seen[oae_share_spare(&c)]++;
	}
	for (bits = 0; bits < OAE_SPARE_END; bits++)
		assert_true(seen[bits]);
}

TEST(test_yields)
{
	static const struct {
		enum oae_spare spare;
		int err;
		u32 dead_ms, doubt_s;
		bool yields;
		u64 ms;
	} cases[] = {
		{ OAE_SPARE_NOT, -ENOBUFS, 1000, 60, false, 0 },
		{ OAE_SPARE_DEAD, -ENOBUFS, 1000, 60, true, 0 },
		{ OAE_SPARE_DEAD, -EDQUOT, 1000, 60, false, 0 },
		{ OAE_SPARE_CLOSED, -ENOBUFS, 1000, 60, true, 8000 },
		{ OAE_SPARE_CLOSED, -EDQUOT, 2000, 0, true, 16000 },
		{ OAE_SPARE_CLOSED, -EDQUOT, 3600000000U, 0, true, 28800000000ULL },
		{ OAE_SPARE_DOWN, -ENOBUFS, 1000, 60, true, 60000 },
		{ OAE_SPARE_DOWN, -EDQUOT, 1000, 31536000, true, 31536000000ULL },
		{ OAE_SPARE_DOWN, -ENOBUFS, 1000, 0, false, 0 },
	};
	unsigned int i;
	u64 ms;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ms = 0;
		assert_int_equal(oae_share_yields(cases[i].spare, cases[i].err,
						  cases[i].dead_ms,
						  cases[i].doubt_s, &ms),
				 cases[i].yields);
		if (cases[i].yields)
			assert_int_equal(ms, cases[i].ms);
	}
}

/* From the moment of the mark on, wherever the clock is, and whether it wraps. */
TEST(test_opening)
{
	static const u32 begins[] = { 0, 1, 2, 1000, 1001, 0x7fffffff, 0x80000000, ~0U - 5,
				      ~0U - 1, ~0U };
	const u32 most = 25;
	unsigned int i;
	u32 mark, t;

	assert_false(oae_opening_still(0, 0, most));
	assert_false(oae_opening_still(0, ~0U, most));
	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		mark = oae_opening_mark(begins[i]);
		assert_true(mark);
		for (t = 0; t < most; t++)
			assert_true(oae_opening_still(mark, begins[i] + t, most));
		for (t = most + 1; t < 1000; t++)
			assert_false(oae_opening_still(mark, begins[i] + t, most));
		assert_false(oae_opening_still(mark, begins[i] - 2, most));
	}
}

UNIT_MAIN("admission")
