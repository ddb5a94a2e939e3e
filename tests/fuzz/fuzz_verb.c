// SPDX-License-Identifier: GPL-2.0
/*
 * Any requests on words, one after the other and some undecided at a time: what
 * verb.c says of each, and makes of the words, must be what naive_verb() does, which
 * knows of no reservations (tests/unit/verb_util.h). A request ends where what may be
 * read does.
 *
 * The input is a head of four bytes, see set_up(), and records of 12:
 *
 *   0     0-4: so many more records are of this request, 5: the bytes of all are it as
 *         they are, else operations are made of them; 6-7 what is done before
 *   1-11  an operation: code, words, index, then bytes for its words
 */
#include <stdlib.h>
#include "fuzz.h"
#include "../unit/verb_util.h"

#define WORDS	70
#define HELD	4		/* that are computed, and not decided */

const size_t fuzz_head = 4, fuzz_record = 12;

static struct {
	u64 word[WORDS];
	struct oae_change *top[WORDS];
	struct oae_words w;
	u64 model[WORDS];
	u32 perm;
	struct {
		struct held h;
		u64 word[WORDS];
		u8 changed[WORDS];
		bool used;
	} held[HELD];
} v;

static void set_up(const u8 *head)
{
	unsigned int i;

	memset(&v, 0, sizeof(v));
	v.w = (struct oae_words){
		.word = v.word, .top = v.top, .n = WORDS
	};
	v.perm = head[0] ^ 0x07;
	for (i = 0; i < WORDS; i++)
		v.word[i] = head[1] & 1 ? i : 0;
	memcpy(v.model, v.word, sizeof(v.model));
}

/* The eldest that is held is decided. */
static void decide(unsigned int k, bool apply)
{
	unsigned int i;

	if (!v.held[k].used)
		return;
	fuzz_say("%u %s", k, apply ? "applied" : "released");
	oae_verb_decided(&v.w, &v.held[k].h.v, apply);
	for (i = 0; i < WORDS && apply; i++)
		if (v.held[k].changed[i])
			v.model[i] = v.held[k].word[i];
	v.held[k].used = false;
}

/* An operation of a record; it may be malformed, or behind the end. */
static void an_op(struct req *r, const u8 *rec)
{
	u64 cmp[8], arg[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		cmp[i] = rec[4 + i % 4];
		arg[i] = rec[8 + i % 4];
	}
	req_op(r, 1 + rec[1] % 5, rec[3] == 255 ? 0xfffffffc : rec[3] % 80,
	       1 + rec[2] % 8, cmp, arg);
}

/* Does one that is held change this word? */
static bool reserved(unsigned int i)
{
	unsigned int k;

	for (k = 0; k < HELD; k++)
		if (v.held[k].used && v.held[k].changed[i])
			return true;
	return false;
}

static void one_request(struct req *r, unsigned int k)
{
	struct held *h = &v.held[k].h;
	const u8 *answer = h->answer;
	static struct naive n;
	u16 want, got, len;
	unsigned int i;

	memset(&n, 0, sizeof(n));
	n.words = WORDS;
	memcpy(n.word, v.model, sizeof(v.model));
	want = naive_verb(&n, v.perm, r->b, r->len);
	for (i = 0; i < WORDS && !want; i++)
		if (n.touched[i] && reserved(i))
			want = OAE_R_CONFLICT;
	/* Each is somebody else's. */
	got = held_compute(h, &v.w, v.perm, h, r);
	len = h->v.answer_len;
	fuzz_say("request of %u bytes: %u%s", r->len, got,
		 got ? "" : answer[0] ? ", taken" : ", not taken");
	if (got != want)
		fuzz_breach("compute says %u, and should %u", got, want);
	if (oae_verb_region(r->b, r->len) !=
	    (r->len < 8 ? 0 : naive_be(r->b, 4)))
		fuzz_breach("another region");
	if (!got && (len != n.answer_len || memcmp(answer, n.answer, len)))
		fuzz_breach("another answer");
	if (answer[got ? 0 : len] != 0xee)
		fuzz_breach("an answer that is none, or too long");
	if (!got && n.taken) {
		memcpy(v.held[k].word, n.word, sizeof(v.model));
		memcpy(v.held[k].changed, n.changed, WORDS);
		v.held[k].used = true;
	}
}

static void check(void)
{
	unsigned int i;
	bool is;

	if (memcmp(v.word, v.model, sizeof(v.model)))
		fuzz_breach("the words are others");
	for (i = 0; i < WORDS; i++) {
		is = reserved(i);
		if (oae_verb_reserved(&v.w, i) != is)
			fuzz_breach("word %u is %sreserved", i, is ? "not " : "");
	}
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
	unsigned int i, n, k = 0;
	static struct req r;

	if (size < fuzz_head)
		return 0;
	set_up(data);
	data += fuzz_head;
	size -= fuzz_head;
	while (size >= fuzz_record) {
		n = 1 + (data[0] & 31);
		if (n > size / fuzz_record)
			n = size / fuzz_record;
		k = (k + 1) % HELD;
		/* There is no room for one more; or one that is younger. */
		decide(k, data[0] & 0x40);
		if (data[0] & 0x80)
			decide((k + 1) % HELD, !(data[0] & 0x40));
		req_begin(&r, 7);
		if (data[0] & 0x20) {
			r.len = n * fuzz_record - 1;
			memcpy(r.b, data + 1, r.len);
		}
		for (i = 0; i < n && !(data[0] & 0x20); i++)
			an_op(&r, data + i * fuzz_record);
		one_request(&r, k);
		check();
		data += n * fuzz_record;
		size -= n * fuzz_record;
	}
	for (k = 0; k < HELD; k++)
		decide(k, k & 1);
	check();
	for (i = 0; i < WORDS; i++)
		if (v.top[i])
			fuzz_breach("nothing is held, and words are reserved");
	return 0;
}
