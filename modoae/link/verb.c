// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs (doc/protocol.md section 4.10): a request is carried out on words in two
 * steps. Computing it yields the answer, reserves the words that will change, and
 * stores their new values beside them. Applying the request takes over the new
 * values; releasing it drops them.
 *
 * Pure: the caller holds the lock that protects the words.
 */
#include "verb.h"

/* One operation of a request. */
struct op {
	u8 code;
	u8 words;
	u32 index;
	const u8 *cmp;		/* CAS */
	const u8 *arg;		/* all but READ */
	const u8 *end;
};

/* Decode an operation; its length is not checked. */
static void verb_op_at(struct op *op, const u8 *p)
{
	op->code = p[OAE_VOP_OFF_CODE];
	op->words = p[OAE_VOP_OFF_WORDS];
	op->index = get_unaligned_be32(p + OAE_VOP_OFF_INDEX);
	p += OAE_VOP_HDR_LEN;
	op->cmp = p;
	if (op->code == OAE_VERB_CAS)
		p += 8 * op->words;
	op->arg = p;
	if (op->code != OAE_VERB_READ)
		p += 8 * op->words;
	op->end = p;
}

static bool verb_op_parse(struct op *op, const u8 *p, const u8 *end)
{
	if (end - p < OAE_VOP_HDR_LEN)
		return false;
	verb_op_at(op, p);
	return op->code >= OAE_VERB_READ && op->code < OAE_VERB_CODE_END &&
	       op->words && op->words <= OAE_VERB_WORDS &&
	       !get_unaligned_be16(p + OAE_VOP_OFF_ZERO) && op->end <= end;
}

/**
 * oae_verb_reserved() - is a word reserved?
 * @w: the words
 * @i: index of the word
 *
 * Return: true if so.
 */
bool oae_verb_reserved(const struct oae_words *w, u32 i)
{
	return w->busy[i / 64] >> i % 64 & 1;
}

static u32 verb_perm_of(u8 code)
{
	switch (code) {
	case OAE_VERB_READ:
		return OAE_PERM_READ;
	case OAE_VERB_WRITE:
		return OAE_PERM_WRITE;
	default:
		return OAE_PERM_ATOMIC;
	}
}

static u16 verb_check_op(const struct oae_words *w, u32 perm, const struct op *op)
{
	if (!(perm & verb_perm_of(op->code)))
		return OAE_R_ACCESS;
	if (op->index >= w->n || op->words > w->n - op->index)
		return OAE_R_RANGE;
	return 0;
}

static bool verb_any_busy(struct oae_words *w, const struct op *op)
{
	unsigned int i;

	for (i = 0; i < op->words; i++)
		if (oae_verb_reserved(w, op->index + i)) {
			w->conflict = op->index + i;
			return true;
		}
	return false;
}

/* Check a request. 0, or why it is refused: BAD_VERB has precedence over the others. */
static u16 verb_check(struct oae_words *w, u32 perm, const u8 *req, size_t len,
		      u16 *answer_len)
{
	const u8 *p = req + OAE_VERB_HDR_LEN, *end = req + len;
	unsigned int i, nops, old = 0;
	u16 reason = 0, conflict = 0;
	struct op op;

	if (len < OAE_VERB_HDR_LEN)
		return OAE_R_BAD_VERB;
	nops = req[OAE_VERB_OFF_NOPS];
	if (!nops || nops > OAE_VERB_OPS || req[OAE_VERB_OFF_ZERO] ||
	    get_unaligned_be16(req + OAE_VERB_OFF_ZERO + 1))
		return OAE_R_BAD_VERB;
	for (i = 0; i < nops; i++, p = op.end) {
		if (!verb_op_parse(&op, p, end))
			return OAE_R_BAD_VERB;
		if (op.code != OAE_VERB_WRITE)
			old += op.words;
		if (!reason)
			reason = verb_check_op(w, perm, &op);
		if (!reason && !conflict && verb_any_busy(w, &op))
			conflict = OAE_R_CONFLICT;
	}
	if (p != end)
		return OAE_R_BAD_VERB;
	*answer_len = OAE_ANSWER_HDR_LEN + 8 * old;
	return reason ? reason : conflict;
}

/* The value of a word for the next operation of the request being computed. */
static u64 verb_value(const struct oae_words *w, u32 i)
{
	return oae_verb_reserved(w, i) ? w->next[i] : w->word[i];
}

static bool verb_compares(const struct oae_words *w, const struct op *op)
{
	unsigned int i;

	for (i = 0; i < op->words; i++)
		if (verb_value(w, op->index + i) !=
		    get_unaligned_be64(op->cmp + 8 * i))
			return false;
	return true;
}

static void verb_change(struct oae_words *w, const struct op *op)
{
	unsigned int i, at;
	u64 v;

	if (op->code == OAE_VERB_READ)
		return;
	for (i = 0, at = op->index; i < op->words; i++, at++) {
		v = get_unaligned_be64(op->arg + 8 * i);
		if (op->code == OAE_VERB_FETCH_ADD)
			v += verb_value(w, at);
		w->next[at] = v;
		w->busy[at / 64] |= 1ULL << at % 64;
	}
}

static u8 *verb_put_old(const struct oae_words *w, const struct op *op, u8 *answer)
{
	unsigned int i;

	if (op->code == OAE_VERB_WRITE)
		return answer;
	for (i = 0; i < op->words; i++, answer += 8)
		put_unaligned_be64(verb_value(w, op->index + i), answer);
	return answer;
}

/**
 * oae_verb_region() - the region that a request is for
 * @req: the request
 * @len: length of @req, bytes
 *
 * Return: number of the region; 0 if the request is too short, which
 * oae_verb_compute() refuses.
 */
u32 oae_verb_region(const u8 *req, size_t len)
{
	return len < OAE_VERB_HDR_LEN ? 0 :
	       get_unaligned_be32(req + OAE_VERB_OFF_REGION);
}

/**
 * oae_verb_compute() - compute a request, without changing the words
 * @w: the words
 * @perm: OAE_PERM_* of the region
 * @req: the request, as on the wire
 * @len: length of @req, bytes
 * @answer: room for OAE_VERB_ANSWER_MAX bytes
 * @answer_len: set to the length of the answer, bytes
 *
 * If the answer is `taken`, the words to change are reserved, and oae_verb_decided()
 * must follow. Otherwise nothing is reserved.
 *
 * Return: 0, or why the request is refused, enum oae_reason.
 */
u16 oae_verb_compute(struct oae_words *w, u32 perm, const u8 *req, size_t len,
		     u8 *answer, u16 *answer_len)
{
	const u8 *p = req + OAE_VERB_HDR_LEN;
	u16 reason = verb_check(w, perm, req, len, answer_len);
	unsigned int i, nops;
	struct op op;
	u8 *out;

	if (reason)
		return reason;
	memset(answer, 0, *answer_len);
	answer[OAE_ANSWER_OFF_TAKEN] = 1;
	out = answer + OAE_ANSWER_HDR_LEN;
	nops = req[OAE_VERB_OFF_NOPS];
	for (i = 0; i < nops; i++, p = op.end) {
		verb_op_at(&op, p);
		out = verb_put_old(w, &op, out);
		if (op.code == OAE_VERB_CAS && !verb_compares(w, &op)) {
			answer[OAE_ANSWER_OFF_TAKEN] = 0;
			answer[OAE_ANSWER_OFF_FAILED] = i;
			/* All its reserved words are this request's: verb_check(). */
			oae_verb_decided(w, req, false);
			return 0;
		}
		verb_change(w, &op);
	}
	return 0;
}

/**
 * oae_verb_decided() - change the words, or free them
 * @w: the words
 * @req: the request, computed and taken
 * @apply: it is committed
 */
void oae_verb_decided(struct oae_words *w, const u8 *req, bool apply)
{
	const u8 *p = req + OAE_VERB_HDR_LEN;
	unsigned int i, k, nops = req[OAE_VERB_OFF_NOPS];
	struct op op;

	for (k = 0; k < nops; k++, p = op.end) {
		verb_op_at(&op, p);
		if (op.code == OAE_VERB_READ)
			continue;
		for (i = op.index; i < op.index + op.words; i++) {
			/*
			 * A word may occur twice in a request: the first time
			 * clears `busy`. WRITE_ONCE(): a program that has mapped
			 * the words may be reading.
			 */
			if (apply && oae_verb_reserved(w, i))
				WRITE_ONCE(w->word[i], w->next[i]);
			w->busy[i / 64] &= ~(1ULL << i % 64);
		}
	}
}
