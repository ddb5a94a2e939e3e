/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of verbs: requests, and what a request does once more, from
 * doc/protocol.md section 4.10 and on its own: numbers for offsets, one word after
 * the other, on a copy of all words.
 */
#ifndef OAE_VERB_UTIL_H
#define OAE_VERB_UTIL_H

#include <stdlib.h>
#include "../../modoae/link/verb.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

struct req {
	u8 b[OAE_VERB_REQ_MAX + 64];
	u32 len;
};

/* A request that is computed, with memory for the longest. */
struct held {
	struct oae_computed v;
	struct oae_change change[OAE_VERB_OPS * OAE_VERB_WORDS];
	u8 answer[OAE_VERB_ANSWER_MAX + 1];
};

/* The request ends where what may be read does (ASan). */
static inline u16 held_compute(struct held *h, struct oae_words *w, u32 perm,
			       const void *owner, const struct req *r)
{
	u8 *exact = malloc(r->len ? r->len : 1);
	u16 reason;

	memcpy(exact, r->b, r->len);
	memset(h->answer, 0xee, sizeof(h->answer));
	h->v.change = h->change;
	h->v.answer = h->answer;
	h->v.nchanges = 0;
	reason = oae_verb_measure(exact, r->len, &h->v);
	if (!reason)
		reason = oae_verb_compute(w, perm, owner, exact, &h->v);
	free(exact);
	return reason;
}

static inline void req_begin(struct req *r, u32 region)
{
	memset(r->b, 0, sizeof(r->b));
	put_unaligned_be32(region, r->b);
	r->len = 8;
}

static inline void req_words(struct req *r, const u64 *v, unsigned int n)
{
	for (; n; n--, v++, r->len += 8)
		put_unaligned_be64(*v, r->b + r->len);
}

static inline void req_op(struct req *r, u8 code, u32 index, u8 words,
			  const u64 *cmp, const u64 *arg)
{
	r->b[4]++;
	r->b[r->len] = code;
	r->b[r->len + 1] = words;
	put_unaligned_be32(index, r->b + r->len + 4);
	r->len += 8;
	if (code == 5)
		req_words(r, cmp, words);
	if (code != 1)
		req_words(r, arg, words);
}

#define NAIVE_WORDS	256

struct naive {
	u64 word[NAIVE_WORDS];	/* in: before; out: after, if it is taken */
	u32 words;
	bool touched[NAIVE_WORDS];	/* read or written */
	u8 changed[NAIVE_WORDS];
	bool taken;
	u8 answer[8 + 8 * 64 * 8];
	u16 answer_len;
};

static inline u64 naive_be(const u8 *p, unsigned int n)
{
	u64 v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* The reason to refuse it, but for words that are reserved; 0: carried out. */
static inline u16 naive_verb(struct naive *n, u32 perm, const u8 *b, size_t len)
{
	static const u32 perms[] = { 0, 1, 2, 4, 4, 4 };
	u64 before[NAIVE_WORDS], v;
	unsigned int i, k, code, words;
	size_t at = 8, need;
	u16 reason = 0;
	u32 index;

	/* Readable at all? */
	if (len < 8 || !b[4] || b[4] > 64 || b[5] || b[6] || b[7])
		return 12;
	for (k = 0; k < b[4]; k++) {
		if (len - at < 8)
			return 12;
		code = b[at];
		words = b[at + 1];
		index = naive_be(b + at + 4, 4);
		if (code < 1 || code > 5 || words < 1 || words > 8 ||
		    b[at + 2] || b[at + 3])
			return 12;
		need = 8 + 8 * words * (code == 1 ? 0 : code == 5 ? 2 : 1);
		if (len - at < need)
			return 12;
		at += need;
		if (!reason && !(perm & perms[code]))
			reason = 11;
		if (!reason && (u64)index + words > n->words)
			reason = 10;
	}
	if (at != len)
		return 12;
	if (reason)
		return reason;

	memcpy(before, n->word, sizeof(before));
	n->taken = true;
	n->answer_len = 8;
	for (at = 8, k = 0; k < b[4]; k++) {
		const u8 *arg;

		code = b[at];
		words = b[at + 1];
		index = naive_be(b + at + 4, 4);
		arg = b + at + 8 + (code == 5 ? 8 * words : 0);
		for (i = 0; i < words; i++) {
			n->touched[index + i] = true;
			/* What they were, or 0 behind what failed. */
			v = n->taken ? n->word[index + i] : 0;
			if (code != 2)
				put_unaligned_be64(v, n->answer + n->answer_len +
						      8 * i);
		}
		if (code != 2)
			n->answer_len += 8 * words;
		for (i = 0; i < words && code == 5 && n->taken; i++) {
			if (n->word[index + i] == naive_be(b + at + 8 + 8 * i, 8))
				continue;
			n->taken = false;
			n->answer[1] = k;
		}
		for (i = 0; i < words && code != 1 && n->taken; i++) {
			v = naive_be(arg + 8 * i, 8);
			n->word[index + i] = code == 4 ?
					     n->word[index + i] + v : v;
			n->changed[index + i] = 1;
		}
		at += 8 + 8 * words * (code == 1 ? 0 : code == 5 ? 2 : 1);
	}
	n->answer[0] = n->taken;
	if (!n->taken) {
		memcpy(n->word, before, sizeof(before));
		memset(n->changed, 0, sizeof(n->changed));
	}
	return 0;
}

#endif /* OAE_VERB_UTIL_H */
