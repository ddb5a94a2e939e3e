// SPDX-License-Identifier: GPL-2.0
/*
 * The words that an end of the simulation exposes, and verbs on them. See sim.h.
 *
 * A verb here is not that of the wire: the core does not look into it. Which one
 * a transaction is, is written in its struct; the bytes of its OFFER only say
 * whose it is.
 *
 * What the words must be is kept a second time, the simple way: verbs one by one,
 * whole, when they are applied (sim_verb_apply()). Both must be the same always,
 * and so must the answers.
 */
#include "sim.h"

static char name(const struct sim_end *e)
{
	return 'A' + e->who;
}

/**
 * sim_verb_draw() - what a verb is to do
 * @e: the end that posts it; its peer's words are looked at for what to compare
 * @tx: the verb
 */
void sim_verb_draw(struct sim_end *e, struct sim_tx *tx)
{
	static const u8 refusals[] = {
		OAE_R_TOO_BIG, OAE_R_KIND, OAE_R_NO_REGION, OAE_R_RANGE,
		OAE_R_ACCESS, OAE_R_BAD_VERB,
	};
	const struct sim_end *p = &e->w->end[!e->who];
	unsigned int i;

	tx->code = sim_upto(e->w, SIM_CODE_END);
	tx->words = 1 + sim_upto(e->w, SIM_VERB_WORDS);
	tx->word = sim_upto(e->w, SIM_WORDS + 1 - tx->words);
	for (i = 0; i < tx->words; i++) {
		tx->operand[i] = tx->id << 8 | i;
		tx->expect[i] = p->word[tx->word + i];
	}
	tx->reply = sizeof(u64) * (1 + (tx->code == SIM_WRITE ? 0 : tx->words));
	/* If it were not taken, no other joined with it would be. */
	tx->alone = tx->code == SIM_CAS;
	if (sim_chance(e->w, e->w->refusals))
		tx->refusal = refusals[sim_upto(e->w, sizeof(refusals))];
}

/**
 * sim_verb_errno() - why a verb that is refused for good is reversed
 * @tx: the verb
 *
 * Return: positive errno.
 */
int sim_verb_errno(const struct sim_tx *tx)
{
	static const int errnos[OAE_REASON_END] = {
		[OAE_R_TOO_BIG] = EMSGSIZE, [OAE_R_KIND] = EOPNOTSUPP,
		[OAE_R_NO_REGION] = ENXIO, [OAE_R_RANGE] = ERANGE,
		[OAE_R_ACCESS] = EACCES, [OAE_R_BAD_VERB] = EBADMSG,
	};

	return errnos[tx->refusal];
}

/**
 * sim_part() - one of joined verbs
 * @w: the world
 * @tx: joined verbs; or one, which is its only part
 * @i: which of them
 *
 * Return: the verb; NULL there are not so many.
 */
struct sim_tx *sim_part(const struct sim *w, struct sim_tx *tx, unsigned int i)
{
	if (!tx->n)
		return i ? NULL : tx;
	return i < tx->n ? (struct sim_tx *)&w->tx[tx->member[i] - 1] : NULL;
}

/* One verb, alone with the words. True: it changes them. */
static bool carry_out_one(const struct sim_tx *tx, u64 *word, u64 *taken, u64 *was)
{
	unsigned int i;
	u64 old;

	*taken = 1;
	for (i = 0; i < tx->words; i++)
		if (tx->code == SIM_CAS && word[tx->word + i] != tx->expect[i])
			*taken = 0;
	for (i = 0; i < tx->words; i++) {
		old = word[tx->word + i];
		if (tx->code != SIM_WRITE)
			was[i] = old;
		if (tx->code != SIM_READ && *taken)
			word[tx->word + i] = tx->operand[i] +
					     (tx->code == SIM_ADD ? old : 0);
	}
	return *taken && tx->code != SIM_READ;
}

/* The same with joined ones, one by one: each sees those before it. */
static bool carry_out(const struct sim *w, struct sim_tx *tx, u64 *word, u64 *answer)
{
	const struct sim_tx *part;
	u64 *was = answer + 1;
	bool changes = false;
	unsigned int i;

	for (i = 0; (part = sim_part(w, tx, i)); i++) {
		changes |= carry_out_one(part, word, answer, was);
		was += part->reply / sizeof(u64) - 1;
	}
	return changes;
}

/* Is a word of a verb reserved for somebody else, or wanted by one? */
static bool is_busy(const struct sim_end *e, struct sim_tx *tx)
{
	const struct sim_tx *part;
	unsigned int i, at;

	for (i = 0; (part = sim_part(e->w, tx, i)); i++)
		for (at = part->word; at < part->word + part->words; at++)
			if (e->by[at] == SIM_OTHER || e->wanted[at])
				return true;
	return false;
}

/* Why a verb is refused for good: the first reason among joined ones. */
static u16 refusal_of(const struct sim *w, struct sim_tx *tx)
{
	const struct sim_tx *part;
	unsigned int i;

	for (i = 0; (part = sim_part(w, tx, i)); i++)
		if (part->refusal)
			return part->refusal;
	return OAE_R_NONE;
}

/* What a verb that was carried out on @word will change is reserved. */
static void reserve(struct sim_end *e, struct sim_tx *tx, const u64 *word)
{
	struct sim_tx *part;
	unsigned int i, j;

	for (i = 0; (part = sim_part(e->w, tx, i)); i++) {
		part->taken = tx->answer[0] && part->code != SIM_READ;
		for (j = 0; part->taken && j < part->words; j++) {
			e->by[part->word + j] = SIM_LINK;
			part->after[j] = word[part->word + j];
		}
	}
}

/**
 * sim_verb_compute() - what a verb is computed to be
 * @e: the end that exposes the words
 * @seq: number of the verb
 * @tx: the verb
 *
 * It works on what those that are held below it will make of the words.
 *
 * Return: enum oae_reason, OAE_R_NONE if it is held now.
 */
u16 sim_verb_compute(struct sim_end *e, u32 seq, struct sim_tx *tx)
{
	u64 word[SIM_WORDS], unused[SIM_ANSWER];
	u16 reason = refusal_of(e->w, tx);
	u32 at;

	if (reason)
		return reason;
	if (is_busy(e, tx)) {
		e->refused_verb = true;
		return OAE_R_CONFLICT;
	}
	memcpy(word, e->word, sizeof(word));
	for (at = e->link.rx + 1; at != seq; at++)
		if (e->verb[h_lane(at)])
			carry_out(e->w, e->verb[h_lane(at)], word, unused);
	tx->taken = carry_out(e->w, tx, word, tx->answer);
	e->verb[h_lane(seq)] = tx;
	reserve(e, tx, word);
	return OAE_R_NONE;
}

/* Is a word reserved by a verb that is held? */
static bool has(const struct sim_end *e, unsigned int word)
{
	const struct sim_tx *tx;
	unsigned int i, j;

	for (i = 0; i < H_LANES; i++) {
		if (!e->verb[i])
			continue;
		for (j = 0; (tx = sim_part(e->w, e->verb[i], j)); j++)
			if (tx->taken && word >= tx->word && word < tx->word + tx->words)
				return true;
	}
	return false;
}

/**
 * sim_verb_drop() - what is held, if it is a verb, has ended
 * @e: the end
 * @seq: its number
 */
void sim_verb_drop(struct sim_end *e, u32 seq)
{
	unsigned int i;

	e->verb[h_lane(seq)] = NULL;
	for (i = 0; i < SIM_WORDS; i++) {
		if (e->by[i] != SIM_LINK || has(e, i))
			continue;
		e->by[i] = e->wanted[i] ? SIM_OTHER : SIM_FREE;
		e->wanted[i] = false;
	}
}

/**
 * sim_verb_apply() - what is held is committed
 * @e: the end that exposes the words
 * @seq: its number
 * @tx: the verb
 */
void sim_verb_apply(struct sim_end *e, u32 seq, struct sim_tx *tx)
{
	u64 answer[SIM_ANSWER] = { 0 };
	const struct sim_tx *part;
	unsigned int i, j, at = 1;

	if (e->verb[h_lane(seq)] != tx) {
		sim_fail(e->w, "#%u applied, and was not computed last",
			 (u32)tx->id);
		return;
	}
	for (i = 0; (part = sim_part(e->w, tx, i)); i++)
		for (j = 0; part->taken && j < part->words; j++)
			e->word[part->word + j] = part->after[j];
	sim_verb_drop(e, seq);
	e->w->verbs++;
	/* What its user was told is what was computed last. */
	if (memcmp(tx->got, tx->answer, tx->reply))
		sim_fail(e->w, "#%u: told another answer", (u32)tx->id);
	/* What it has only read may have changed since. */
	if (!tx->taken)
		return;
	if (!carry_out(e->w, tx, e->model, answer))
		sim_fail(e->w, "#%u: not taken, one by one", (u32)tx->id);
	for (i = 0; (part = sim_part(e->w, tx, i)); i++) {
		if (part->code != SIM_READ &&
		    memcmp(answer + at, tx->answer + at, part->reply - sizeof(u64)))
			sim_fail(e->w, "#%u: another answer, one by one", (u32)part->id);
		at += part->reply / sizeof(u64) - 1;
	}
}

/**
 * sim_words_reset() - the machine has stopped: the region is new
 * @e: the end
 */
void sim_words_reset(struct sim_end *e)
{
	memset(e->word, 0, sizeof(e->word));
	memset(e->model, 0, sizeof(e->model));
	memset(e->by, 0, sizeof(e->by));
	memset(e->wanted, 0, sizeof(e->wanted));
	memset(e->verb, 0, sizeof(e->verb));
	e->refused_verb = false;
}

/**
 * sim_words_check() - after each event: words, reservations, and what is held
 * @e: the end
 */
void sim_words_check(struct sim_end *e)
{
	unsigned int i;
	bool is;

	if (memcmp(e->word, e->model, sizeof(e->word)))
		sim_fail(e->w, "%c: words are not what verbs made them", name(e));
	for (i = 0; i < H_LANES; i++)
		if ((e->computed >> i & 1) != !!e->verb[i])
			sim_fail(e->w, "%c: a verb is computed, or is not", name(e));
	for (i = 0; i < SIM_WORDS; i++) {
		is = e->by[i] == SIM_LINK;
		if (is != has(e, i))
			sim_fail(e->w, "%c: word %u reserved, or not", name(e), i);
	}
}

/**
 * sim_other() - somebody else on this machine works on a word
 * @e: the end
 * @word: SIM_WORDS or more: done with all; else which to reserve, if it is free
 */
void sim_other(struct sim_end *e, unsigned int word)
{
	unsigned int i;

	if (word < SIM_WORDS) {
		if (e->by[word] == SIM_OTHER)
			return;
		sim_say(e->w, "%c: word %u %s", name(e), word,
			e->by[word] == SIM_LINK ? "wanted" : "reserved");
		if (e->by[word] == SIM_LINK)
			e->wanted[word] = true;
		else
			e->by[word] = SIM_OTHER;
		return;
	}
	sim_say(e->w, "%c: words are free", name(e));
	memset(e->wanted, 0, sizeof(e->wanted));
	for (i = 0; i < SIM_WORDS; i++) {
		if (e->by[i] != SIM_OTHER)
			continue;
		e->word[i] += 1000;
		e->model[i] += 1000;
		e->by[i] = SIM_FREE;
	}
	if (e->refused_verb) {
		e->refused_verb = false;
		sim_drained(e);
	}
}
