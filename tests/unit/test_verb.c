// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs on words (modoae/link/verb.c, doc/protocol.md section 4.10): what each does, by
 * hand; what is malformed; and at random against a model that has no reservations
 * but a copy of the words a verb.
 */
#include "unit.h"
#include "verb_util.h"

#define WORDS	130
#define ALL	(OAE_PERM_READ | OAE_PERM_WRITE | OAE_PERM_ATOMIC)

static u64 word[WORDS];
static struct oae_change *top[WORDS];
static struct oae_words w = { .word = word, .top = top, .n = WORDS };
static struct held h;
static struct req r;

static int setup(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < WORDS; i++)
		word[i] = 1000 + i;
	memset(top, 0, sizeof(top));
	req_begin(&r, 7);
	return 0;
}

/* Of an owner that has no other. */
static u16 compute_in(struct held *in, u32 perm)
{
	return held_compute(in, &w, perm, in, &r);
}

static u16 compute(u32 perm)
{
	return compute_in(&h, perm);
}

static u64 old(unsigned int i)
{
	return get_unaligned_be64(h.answer + OAE_ANSWER_HDR_LEN + 8 * i);
}

static bool taken(void)
{
	return h.answer[OAE_ANSWER_OFF_TAKEN] == 1;
}

static unsigned int reserved(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < WORDS; i++)
		n += oae_verb_reserved(&w, i);
	return n;
}

TEST_SETUP(test_region, setup)
{
	assert_int_equal(oae_verb_region(r.b, r.len), 7);
	r.b[0] = 0x80;
	assert_int_equal(oae_verb_region(r.b, r.len), 0x80000007);
	assert_int_equal(oae_verb_region(r.b, OAE_VERB_HDR_LEN - 1), 0);
}

/* One of each; the words change when it is applied, and not before. */
TEST_SETUP(test_each, setup)
{
	static const struct {
		u8 code;
		u64 cmp, arg, becomes;
		u8 taken, olds;
	} cases[] = {
		{ OAE_VERB_READ, 0, 0, 1003, 1, 1 },
		{ OAE_VERB_WRITE, 0, 5, 5, 1, 0 },
		{ OAE_VERB_EXCHANGE, 0, 6, 6, 1, 1 },
		{ OAE_VERB_FETCH_ADD, 0, 7, 1010, 1, 1 },
		{ OAE_VERB_FETCH_ADD, 0, -1ULL, 1002, 1, 1 },
		{ OAE_VERB_CAS, 1003, 8, 8, 1, 1 },
		{ OAE_VERB_CAS, 1003, 1003, 1003, 1, 1 },
		{ OAE_VERB_CAS, 1002, 9, 1003, 0, 1 },
		{ OAE_VERB_CAS, 1003ULL << 32, 9, 1003, 0, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		setup(state);
		req_op(&r, cases[i].code, 3, 1, &cases[i].cmp, &cases[i].arg);
		assert_int_equal(compute(ALL), 0);
		assert_int_equal(h.v.answer_len,
				 OAE_ANSWER_HDR_LEN + 8 * cases[i].olds);
		assert_int_equal(taken(), cases[i].taken);
		if (cases[i].olds)
			assert_true(old(0) == 1003);
		assert_true(word[3] == 1003);
		assert_int_equal(reserved(), cases[i].taken &&
				 cases[i].code != OAE_VERB_READ);
		oae_verb_decided(&w, &h.v, true);
		assert_true(word[3] == cases[i].becomes);
		assert_int_equal(reserved(), 0);
		assert_true(word[2] == 1002 && word[4] == 1004);
	}
}

/* Released, nothing has changed. */
TEST_SETUP(test_release, setup)
{
	u64 arg[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	unsigned int i;

	req_op(&r, OAE_VERB_WRITE, 60, 8, NULL, arg);
	req_op(&r, OAE_VERB_FETCH_ADD, 62, 8, NULL, arg);
	assert_int_equal(compute(ALL), 0);
	assert_int_equal(reserved(), 10);
	oae_verb_decided(&w, &h.v, false);
	assert_int_equal(reserved(), 0);
	for (i = 0; i < WORDS; i++)
		assert_true(word[i] == 1000 + i);
}

/* Operations see what those before them did; a word may come more than once. */
TEST_SETUP(test_in_order, setup)
{
	u64 one = 1, ten = 10, cmp = 1013;

	req_op(&r, OAE_VERB_FETCH_ADD, 2, 1, NULL, &ten);
	req_op(&r, OAE_VERB_READ, 2, 1, NULL, NULL);
	req_op(&r, OAE_VERB_FETCH_ADD, 2, 1, NULL, &one);
	req_op(&r, OAE_VERB_CAS, 2, 1, &cmp, &ten);
	req_op(&r, OAE_VERB_EXCHANGE, 2, 1, NULL, &one);
	assert_int_equal(compute(ALL), 0);
	assert_true(taken());
	assert_int_equal(h.v.answer_len, OAE_ANSWER_HDR_LEN + 5 * 8);
	assert_true(old(0) == 1002 && old(1) == 1012 && old(2) == 1012 &&
		    old(3) == 1013 && old(4) == 10);
	assert_int_equal(reserved(), 1);
	oae_verb_decided(&w, &h.v, true);
	assert_true(word[2] == 1);
	assert_int_equal(reserved(), 0);
}

/* A comparison does not hold: which, nothing changes, and 0 for what is behind. */
TEST_SETUP(test_failed, setup)
{
	u64 good[8], bad[8], arg[8] = { 0 };
	unsigned int i, which;

	for (which = 0; which < 8; which++) {
		setup(state);
		for (i = 0; i < 8; i++)
			good[i] = bad[i] = 1010 + i;
		bad[which] ^= 1ULL << 63;
		req_op(&r, OAE_VERB_WRITE, 5, 1, NULL, arg);
		req_op(&r, OAE_VERB_READ, 5, 1, NULL, NULL);
		req_op(&r, OAE_VERB_CAS, 10, 8, good, arg);
		req_op(&r, OAE_VERB_CAS, 20, 1, arg, arg);
		req_op(&r, OAE_VERB_CAS, 10, 8, bad, arg);
		req_op(&r, OAE_VERB_READ, 30, 2, NULL, NULL);
		/* The third fails already: 1020 is not 0. */
		assert_int_equal(compute(ALL), 0);
		assert_false(taken());
		assert_int_equal(h.answer[OAE_ANSWER_OFF_FAILED], 3);
		assert_int_equal(h.v.answer_len, OAE_ANSWER_HDR_LEN + 8 * 20);
		assert_true(old(0) == 0 && old(1) == 1010 && old(9) == 1020);
		for (i = 10; i < 20; i++)
			assert_true(old(i) == 0);
		assert_int_equal(reserved(), 0);

		setup(state);
		req_op(&r, OAE_VERB_CAS, 10, 8, bad, arg);
		assert_int_equal(compute(ALL), 0);
		assert_false(taken());
		assert_int_equal(h.answer[OAE_ANSWER_OFF_FAILED], 0);
		for (i = 0; i < 8; i++)
			assert_true(old(i) == 1010 + i);
		assert_int_equal(reserved(), 0);
		assert_true(word[10] == 1010);
	}
}

/* Reserved words: neither read nor written by another; those beside them are. */
TEST_SETUP(test_conflict, setup)
{
	static const u8 codes[] = { OAE_VERB_READ, OAE_VERB_WRITE,
				    OAE_VERB_EXCHANGE, OAE_VERB_FETCH_ADD,
				    OAE_VERB_CAS };
	u64 arg[8] = { 0 };
	static struct held first;
	unsigned int i;

	req_op(&r, OAE_VERB_WRITE, 63, 2, NULL, arg);
	assert_int_equal(compute_in(&first, ALL), 0);
	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		req_begin(&r, 7);
		req_op(&r, codes[i], 56, 8, arg, arg);
		assert_int_equal(compute(ALL), OAE_R_CONFLICT);
		assert_int_equal(w.conflict, 63);
		req_begin(&r, 7);
		req_op(&r, codes[i], 64, 1, arg, arg);
		assert_int_equal(compute(ALL), OAE_R_CONFLICT);
		req_begin(&r, 7);
		req_op(&r, OAE_VERB_READ, 0, 1, NULL, NULL);
		req_op(&r, codes[i], 64, 1, arg, arg);
		assert_int_equal(compute(ALL), OAE_R_CONFLICT);
		assert_int_equal(w.conflict, 64);
		assert_int_equal(reserved(), 2);

		req_begin(&r, 7);
		req_op(&r, codes[i], 55, 8, arg, arg);
		req_op(&r, OAE_VERB_READ, 65, 8, NULL, NULL);
		assert_int_equal(compute(ALL), 0);
		if (taken())
			oae_verb_decided(&w, &h.v, false);
		assert_int_equal(reserved(), 2);
	}
	/* What it has read may change meanwhile: it has reserved nothing. */
	req_begin(&r, 7);
	req_op(&r, OAE_VERB_READ, 10, 1, NULL, NULL);
	assert_int_equal(compute(ALL), 0);
	oae_verb_decided(&w, &first.v, true);
	assert_int_equal(reserved(), 0);
	assert_true(word[63] == 0 && word[64] == 0);
}

TEST_SETUP(test_range, setup)
{
	static const struct {
		u32 index;
		u8 words;
		u16 reason;
	} cases[] = {
		{ WORDS - 1, 1, 0 }, { WORDS - 8, 8, 0 }, { 0, 8, 0 },
		{ WORDS, 1, OAE_R_RANGE }, { WORDS - 7, 8, OAE_R_RANGE },
		{ 0xffffffff, 1, OAE_R_RANGE }, { 0xffffffff, 8, OAE_R_RANGE },
		{ 0xfffffff9, 8, OAE_R_RANGE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		req_begin(&r, 7);
		req_op(&r, OAE_VERB_READ, cases[i].index, cases[i].words, NULL,
		       NULL);
		assert_int_equal(compute(ALL), cases[i].reason);
	}
}

/* Which permission each needs, and that it is the only one. */
TEST_SETUP(test_access, setup)
{
	static const struct {
		u8 code;
		u32 needs;
	} cases[] = {
		{ OAE_VERB_READ, OAE_PERM_READ },
		{ OAE_VERB_WRITE, OAE_PERM_WRITE },
		{ OAE_VERB_EXCHANGE, OAE_PERM_ATOMIC },
		{ OAE_VERB_FETCH_ADD, OAE_PERM_ATOMIC },
		{ OAE_VERB_CAS, OAE_PERM_ATOMIC },
	};
	u64 arg = 1001;
	unsigned int i;
	u16 want;
	u32 perm;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (perm = 0; perm <= ALL; perm++) {
			req_begin(&r, 7);
			req_op(&r, cases[i].code, 1, 1, &arg, &arg);
			want = OAE_R_ACCESS;
			if (perm & cases[i].needs)
				want = 0;
			assert_int_equal(compute(perm), want);
			oae_verb_decided(&w, &h.v, false);
			/* Also of one that is not the first, before it is done. */
			req_begin(&r, 7);
			req_op(&r, OAE_VERB_READ, 5, 1, NULL, NULL);
			req_op(&r, cases[i].code, 1, 1, &arg, &arg);
			if (cases[i].needs == OAE_PERM_READ)
				want = 0;
			assert_int_equal(compute(perm | OAE_PERM_READ), want);
			oae_verb_decided(&w, &h.v, false);
		}
	}
	assert_int_equal(reserved(), 0);
}

/* Malformed comes before all else, and whatever the words are. */
TEST_SETUP(test_malformed, setup)
{
	static const struct {
		u8 off, value;
	} bad[] = {
		{ OAE_VERB_OFF_NOPS, 0 }, { OAE_VERB_OFF_NOPS, 1 },
		{ OAE_VERB_OFF_NOPS, 3 }, { OAE_VERB_OFF_NOPS, 65 },
		{ OAE_VERB_OFF_NOPS, 255 },
		{ OAE_VERB_OFF_ZERO, 1 }, { OAE_VERB_OFF_ZERO + 1, 1 },
		{ OAE_VERB_OFF_ZERO + 2, 1 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_CODE, 0 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_CODE, OAE_VERB_CODE_END },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_CODE, OAE_VERB_READ },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_CODE, OAE_VERB_CAS },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_WORDS, 0 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_WORDS, 1 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_WORDS, 9 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_WORDS, 255 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_ZERO, 1 },
		{ OAE_VERB_HDR_LEN + OAE_VOP_OFF_ZERO + 1, 1 },
	};
	u64 arg[2] = { 1, 2 };
	u32 whole, len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		req_begin(&r, 7);
		req_op(&r, OAE_VERB_EXCHANGE, 1, 2, NULL, arg);
		req_op(&r, OAE_VERB_READ, WORDS, 1, NULL, NULL);
		assert_int_equal(compute(ALL), OAE_R_RANGE);
		assert_int_equal(compute(0), OAE_R_ACCESS);
		r.b[bad[i].off] = bad[i].value;
		assert_int_equal(compute(ALL), OAE_R_BAD_VERB);
		assert_int_equal(compute(0), OAE_R_BAD_VERB);
		assert_int_equal(reserved(), 0);
	}
	/* Each length but the right one. */
	req_begin(&r, 7);
	req_op(&r, OAE_VERB_CAS, 1, 2, arg, arg);
	req_op(&r, OAE_VERB_READ, 1, 1, NULL, NULL);
	whole = r.len;
	for (len = 0; len < whole + 20; len++) {
		r.len = len;
		assert_int_equal(compute(ALL), len == whole ? 0 : OAE_R_BAD_VERB);
	}
	assert_int_equal(reserved(), 0);
}

/* As many as there may be. */
TEST_SETUP(test_most, setup)
{
	u64 arg[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned int i;

	for (i = 0; i < OAE_VERB_OPS; i++)
		req_op(&r, OAE_VERB_FETCH_ADD, i % 8, 8, NULL, arg);
	assert_int_equal(compute(ALL), 0);
	assert_int_equal(h.v.answer_len, OAE_VERB_ANSWER_MAX);
	assert_true(old(8 * 63 + 7) == 1014 + 7);
	oae_verb_decided(&w, &h.v, true);
	assert_true(word[7] == 1007 + 64);
	assert_true(word[0] == 1000 + 8 && word[14] == 1014 + 8);
}

/* --- at random --- */

#define HELD	6		/* verbs that are computed and not decided */

static struct {
	struct held h;
	u64 word[WORDS];	/* what it makes of them */
	u8 changes[WORDS];
	bool used;
} pending[HELD];

static u64 rng = 88172645463325252ULL;

static unsigned int upto(unsigned int n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 20) % n;
}

static u64 model[WORDS];

/* Few words, so that verbs meet; sometimes behind the end. */
static void draw(struct req *q)
{
	unsigned int i, j, nops = 1 + upto(upto(8) ? 4 : 64);
	u64 cmp[8], arg[8];
	u32 index;
	u8 words;

	req_begin(q, 7);
	for (i = 0; i < nops; i++) {
		words = 1 + upto(8);
		index = 58 + upto(12);
		if (!upto(200))
			index = WORDS - upto(8);
		for (j = 0; j < 8; j++) {
			arg[j] = upto(3) ? upto(4) : rng;
			cmp[j] = index + j < WORDS && upto(40) ?
				 model[index + j] : upto(4);
		}
		req_op(q, 1 + upto(OAE_VERB_CODE_END - 1), index, words, cmp,
		       arg);
	}
}

TEST_SETUP(test_random, setup)
{
	unsigned long seen[3] = { 0 }, conflicts = 0, ranges = 0;
	struct naive n;
	unsigned int step, i, k;
	u16 want;

	memcpy(model, word, sizeof(model));
	for (step = 0; step < 100000; step++) {
		k = upto(HELD);
		if (pending[k].used) {
			if (upto(2)) {
				oae_verb_decided(&w, &pending[k].h.v, true);
				for (i = 0; i < WORDS; i++)
					if (pending[k].changes[i])
						model[i] = pending[k].word[i];
				seen[2]++;
			} else {
				oae_verb_decided(&w, &pending[k].h.v, false);
			}
			pending[k].used = false;
		} else {
			draw(&r);
			memset(&n, 0, sizeof(n));
			n.words = WORDS;
			memcpy(n.word, model, sizeof(model));
			want = naive_verb(&n, ALL, r.b, r.len);
			for (i = 0; i < HELD * WORDS && !want; i++)
				if (pending[i / WORDS].used &&
				    pending[i / WORDS].changes[i % WORDS] &&
				    n.touched[i % WORDS])
					want = OAE_R_CONFLICT;
			assert_int_equal(compute_in(&pending[k].h, ALL), want);
			conflicts += want == OAE_R_CONFLICT;
			ranges += want == OAE_R_RANGE;
			if (!want) {
				assert_int_equal(pending[k].h.v.answer_len, n.answer_len);
				assert_memory_equal(pending[k].h.answer, n.answer,
						    n.answer_len);
				seen[n.taken]++;
			}
			if (!want && n.taken) {
				memcpy(pending[k].word, n.word, sizeof(model));
				memcpy(pending[k].changes, n.changed, WORDS);
				pending[k].used = true;
			}
		}
		assert_memory_equal(word, model, sizeof(model));
		for (i = 0; i < WORDS; i++) {
			bool is = false;

			for (k = 0; k < HELD; k++)
				is |= pending[k].used && pending[k].changes[i];
			assert_int_equal(oae_verb_reserved(&w, i), is);
		}
	}
	print_message("%lu taken, %lu not, %lu applied, %lu conflicts, %lu behind the end\n",
		      seen[1], seen[0], seen[2], conflicts, ranges);
	assert_true(seen[0] > 500 && seen[1] > 5000 && seen[2] > 3000 &&
		    conflicts > 5000 && ranges > 50);
}

/* --- of one owner --- */

static const char me[1], other[1];

/* One verb on word 5 by an owner: the old value, or -1 if it is refused. */
static long add_to(struct held *in, const void *owner, u64 n)
{
	req_begin(&r, 7);
	req_op(&r, OAE_VERB_FETCH_ADD, 5, 1, NULL, &n);
	if (held_compute(in, &w, ALL, owner, &r))
		return -1;
	return get_unaligned_be64(in->answer + OAE_ANSWER_HDR_LEN);
}

/* Each sees what those before it make of the word; others see none of it. */
TEST_SETUP(test_chain, setup)
{
	static struct held a, b, c, d;

	assert_int_equal(add_to(&a, me, 1), 1005);
	assert_int_equal(add_to(&b, me, 10), 1006);
	assert_int_equal(add_to(&c, me, 100), 1016);
	assert_true(word[5] == 1005);
	oae_verb_decided(&w, &a.v, true);
	assert_true(word[5] == 1006);
	assert_true(oae_verb_reserved(&w, 5));

	/* The last one is dropped: the next follows the one before. */
	oae_verb_decided(&w, &c.v, false);
	assert_int_equal(add_to(&c, me, 1000), 1016);
	oae_verb_decided(&w, &b.v, true);
	assert_true(word[5] == 1016);

	/* Once another waits for the word, none follows, until it is free. */
	assert_int_equal(add_to(&a, me, 3), 2016);
	assert_int_equal(add_to(&d, other, 1), -1);
	assert_int_equal(add_to(&b, me, 1), -1);
	oae_verb_decided(&w, &a.v, false);
	assert_int_equal(add_to(&b, me, 1), -1);
	oae_verb_decided(&w, &c.v, true);
	assert_false(oae_verb_reserved(&w, 5));
	assert_int_equal(add_to(&d, other, 1), 2016);
	assert_int_equal(add_to(&b, me, 1), -1);
	oae_verb_decided(&w, &d.v, true);
	assert_true(word[5] == 2017);
	assert_int_equal(add_to(&b, me, 1), 2017);
	oae_verb_decided(&w, &b.v, false);
	assert_int_equal(reserved(), 0);
}

/* Whoever is refused for good has waited for nothing. */
TEST_SETUP(test_chain_not_wanted, setup)
{
	static struct held a, b;
	u64 one = 1;

	assert_int_equal(add_to(&a, me, 1), 1005);
	req_begin(&r, 7);
	req_op(&r, OAE_VERB_FETCH_ADD, 5, 1, NULL, &one);
	req_op(&r, OAE_VERB_READ, WORDS, 1, NULL, NULL);
	assert_int_equal(held_compute(&b, &w, ALL, other, &r), OAE_R_RANGE);
	assert_int_equal(add_to(&b, me, 1), 1006);
	oae_verb_decided(&w, &b.v, false);
	oae_verb_decided(&w, &a.v, true);
	assert_int_equal(reserved(), 0);
}

/* A row of one owner's, decided from below, dropped from above; and another's. */
TEST_SETUP(test_chain_random, setup)
{
	unsigned long applied = 0, dropped = 0, conflicts = 0, longest = 0;
	unsigned int step, i, k, n_row = 0;
	static struct held hers;
	u8 wanted[WORDS] = { 0 };
	struct naive n;
	bool is;
	u16 want;

	memset(pending, 0, sizeof(pending));
	memcpy(model, word, sizeof(model));
	for (step = 0; step < 50000; step++) {
		switch (upto(4)) {
		case 0:
			if (!n_row)
				break;
			oae_verb_decided(&w, &pending[0].h.v, true);
			for (i = 0; i < WORDS; i++)
				if (pending[0].changes[i])
					model[i] = pending[0].word[i];
			/* What is held knows where it is. */
			for (k = 1; k < n_row; k++)
				oae_verb_decided(&w, &pending[n_row - k].h.v, false);
			dropped += n_row - 1;
			n_row = 0;
			applied++;
			break;
		case 1:
			while (n_row && upto(2)) {
				oae_verb_decided(&w, &pending[--n_row].h.v, false);
				dropped++;
			}
			break;
		case 2:
			draw(&r);
			memset(&n, 0, sizeof(n));
			n.words = WORDS;
			memcpy(n.word, model, sizeof(model));
			want = naive_verb(&n, ALL, r.b, r.len);
			for (i = 0; i < WORDS && !want; i++)
				for (k = 0; k < n_row; k++)
					if (n.touched[i] && pending[k].changes[i])
						want = OAE_R_CONFLICT;
			assert_int_equal(held_compute(&hers, &w, ALL, other, &r), want);
			if (want == OAE_R_CONFLICT) {
				wanted[w.conflict] = 1;
				conflicts++;
			} else if (!want) {
				oae_verb_decided(&w, &hers.v, false);
			}
			break;
		default:
			if (n_row == HELD)
				break;
			draw(&r);
			memset(&n, 0, sizeof(n));
			n.words = WORDS;
			memcpy(n.word, model, sizeof(model));
			for (k = 0; k < n_row; k++)
				for (i = 0; i < WORDS; i++)
					if (pending[k].changes[i])
						n.word[i] = pending[k].word[i];
			want = naive_verb(&n, ALL, r.b, r.len);
			for (i = 0; i < WORDS && !want; i++)
				if (n.touched[i] && wanted[i])
					want = OAE_R_CONFLICT;
			assert_int_equal(held_compute(&pending[n_row].h, &w, ALL, me, &r), want);
			if (want)
				break;
			assert_memory_equal(pending[n_row].h.answer, n.answer, n.answer_len);
			if (!n.taken)
				break;
			memcpy(pending[n_row].word, n.word, sizeof(model));
			memcpy(pending[n_row].changes, n.changed, WORDS);
			if (++n_row > longest)
				longest = n_row;
		}
		assert_memory_equal(word, model, sizeof(model));
		for (i = 0; i < WORDS; i++) {
			for (is = false, k = 0; k < n_row; k++)
				is |= pending[k].changes[i];
			assert_int_equal(oae_verb_reserved(&w, i), is);
			if (!is)
				wanted[i] = 0;
		}
	}
	print_message("%lu applied, %lu dropped, %lu conflicts, %lu in a row\n", applied,
		      dropped, conflicts, longest);
	assert_true(applied > 1000 && dropped > 1000 && conflicts > 1000 && longest == HELD);
}

UNIT_MAIN("verbs")
