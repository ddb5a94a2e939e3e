// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs (doc/protocol.md section 4.10): a request is carried out on words in two
 * steps. Computing it yields the answer, and reserves the words that will change: each
 * has a list of its changes, of which the last says what it will be. Applying the
 * request takes over the new values; dropping it takes its changes out of the lists.
 *
 * Pure: the caller holds the lock that protects the words, and has the memory for the
 * changes.
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

/* Has somebody else reserved a word, or was somebody refused because of it? */
static bool verb_any_busy(struct oae_words *w, const struct op *op, const void *owner)
{
	const struct oae_change *c;
	unsigned int i;

	for (i = 0; i < op->words; i++) {
		c = w->top[op->index + i];
		if (c && (c->owner != owner || c->wanted)) {
			w->conflict = op->index + i;
			return true;
		}
	}
	return false;
}

/* 0, or why a request that is not malformed is refused: CONFLICT comes last. */
static u16 verb_check(struct oae_words *w, u32 perm, const void *owner, const u8 *req)
{
	const u8 *p = req + OAE_VERB_HDR_LEN;
	unsigned int i, nops = req[OAE_VERB_OFF_NOPS];
	u16 reason, conflict = 0;
	struct op op;

	for (i = 0; i < nops; i++, p = op.end) {
		verb_op_at(&op, p);
		reason = verb_check_op(w, perm, &op);
		if (reason)
			return reason;
		if (!conflict && verb_any_busy(w, &op, owner))
			conflict = OAE_R_CONFLICT;
	}
	if (conflict && w->top[w->conflict]->owner != owner)
		w->top[w->conflict]->wanted = true;
	return conflict;
}

/* The value of a word for the next operation of the request being computed. */
static u64 verb_value(const struct oae_words *w, u32 i)
{
	return w->top[i] ? w->top[i]->value : w->word[i];
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

/* The change of a word by this request, which may have one already. */
static struct oae_change *verb_change_of(struct oae_words *w, u32 i, const void *owner,
					 struct oae_computed *v)
{
	struct oae_change *c = w->top[i];

	if (c && c >= v->change && c < v->change + v->nchanges)
		return c;
	c = &v->change[v->nchanges++];
	c->below = w->top[i];
	c->above = NULL;
	c->owner = owner;
	c->index = i;
	c->wanted = false;
	if (c->below)
		c->below->above = c;
	w->top[i] = c;
	return c;
}

static void verb_change(struct oae_words *w, const struct op *op, const void *owner,
			struct oae_computed *v)
{
	unsigned int i, at;
	u64 value;

	if (op->code == OAE_VERB_READ)
		return;
	for (i = 0, at = op->index; i < op->words; i++, at++) {
		value = get_unaligned_be64(op->arg + 8 * i);
		if (op->code == OAE_VERB_FETCH_ADD)
			value += verb_value(w, at);
		verb_change_of(w, at, owner, v)->value = value;
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
 * oae_verb_measure() - is a request malformed; how much memory does it need?
 * @req: the request, as on the wire
 * @len: length of @req, bytes
 * @v: its numbers are set
 *
 * Return: 0, or OAE_R_BAD_VERB.
 */
u16 oae_verb_measure(const u8 *req, size_t len, struct oae_computed *v)
{
	const u8 *p = req + OAE_VERB_HDR_LEN, *end = req + len;
	unsigned int i, nops, old = 0, changes = 0;
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
		if (op.code != OAE_VERB_READ)
			changes += op.words;
	}
	if (p != end)
		return OAE_R_BAD_VERB;
	v->answer_len = OAE_ANSWER_HDR_LEN + 8 * old;
	v->nchanges = changes;
	return 0;
}

/**
 * oae_verb_compute() - compute a request, without changing the words
 * @w: the words
 * @perm: OAE_PERM_* of the region
 * @owner: who asks: works on what the verbs of the same owner, which were computed
 *	before and are not decided, will make of the words
 * @req: the request, for which oae_verb_measure() has returned 0
 * @v: from oae_verb_measure(), with memory for as much; filled in
 *
 * If the answer is `taken`, the words to change are reserved. oae_verb_decided() must
 * follow if 0 is returned.
 *
 * Return: 0, or why the request is refused, enum oae_reason.
 */
u16 oae_verb_compute(struct oae_words *w, u32 perm, const void *owner, const u8 *req,
		     struct oae_computed *v)
{
	const u8 *p = req + OAE_VERB_HDR_LEN;
	u16 reason = verb_check(w, perm, owner, req);
	unsigned int i, nops;
	struct op op;
	u8 *out;

	v->nchanges = 0;
	if (reason)
		return reason;
	memset(v->answer, 0, v->answer_len);
	v->answer[OAE_ANSWER_OFF_TAKEN] = 1;
	out = v->answer + OAE_ANSWER_HDR_LEN;
	nops = req[OAE_VERB_OFF_NOPS];
	for (i = 0; i < nops; i++, p = op.end) {
		verb_op_at(&op, p);
		out = verb_put_old(w, &op, out);
		if (op.code == OAE_VERB_CAS && !verb_compares(w, &op)) {
			v->answer[OAE_ANSWER_OFF_TAKEN] = 0;
			v->answer[OAE_ANSWER_OFF_FAILED] = i;
			oae_verb_decided(w, v, false);
			v->nchanges = 0;
			return 0;
		}
		verb_change(w, &op, owner, v);
	}
	return 0;
}

/**
 * oae_verb_decided() - change the words that a request has reserved, or do not
 * @w: the words
 * @v: the request, computed
 * @apply: it is committed, and those of its owner before it are decided
 */
void oae_verb_decided(struct oae_words *w, const struct oae_computed *v, bool apply)
{
	struct oae_change *c;

	for (c = v->change; c < v->change + v->nchanges; c++) {
		/* WRITE_ONCE(): a program that has mapped the words may be reading. */
		if (apply)
			WRITE_ONCE(w->word[c->index], c->value);
		if (c->below)
			c->below->above = c->above;
		if (c->above) {
			c->above->below = c->below;
			continue;
		}
		w->top[c->index] = c->below;
		/* Who was refused still waits. */
		if (c->below)
			c->below->wanted |= c->wanted;
	}
}
