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
	if (sim_chance(e->w, e->w->refusals))
		tx->refusal = refusals[sim_upto(e->w, sizeof(refusals))];
}

/**
 * sim_verb_reply() - bytes of a verb's answer
 * @tx: the verb
 *
 * Return: bytes.
 */
u16 sim_verb_reply(const struct sim_tx *tx)
{
	return sizeof(u64) * (1 + (tx->code == SIM_WRITE ? 0 : tx->words));
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

/* One verb, alone with the words. True: it changes them. */
static bool carry_out(const struct sim_tx *tx, u64 *word, u64 *answer)
{
	unsigned int i;
	u64 old;

	answer[0] = 1;
	for (i = 0; i < tx->words; i++)
		if (tx->code == SIM_CAS && word[tx->word + i] != tx->expect[i])
			answer[0] = 0;
	for (i = 0; i < tx->words; i++) {
		old = word[tx->word + i];
		if (tx->code != SIM_WRITE)
			answer[1 + i] = old;
		if (tx->code != SIM_READ && answer[0])
			word[tx->word + i] = tx->operand[i] +
					     (tx->code == SIM_ADD ? old : 0);
	}
	return answer[0] && tx->code != SIM_READ;
}

/**
 * sim_verb_compute() - the answer to OAE_OP_VERB
 * @e: the end that exposes the words
 * @tx: the verb
 *
 * Return: enum oae_reason, OAE_R_NONE if it is held now.
 */
u16 sim_verb_compute(struct sim_end *e, struct sim_tx *tx)
{
	u64 word[SIM_WORDS];
	unsigned int i;

	if (tx->refusal)
		return tx->refusal;
	for (i = tx->word; i < tx->word + tx->words; i++) {
		if (e->by[i] == SIM_FREE)
			continue;
		e->refused_verb = true;
		return OAE_R_CONFLICT;
	}
	memcpy(word, e->word, sizeof(word));
	tx->taken = carry_out(tx, word, tx->answer);
	e->verb = tx;
	for (i = tx->word; tx->taken && i < tx->word + tx->words; i++) {
		e->by[i] = SIM_LINK;
		e->will_be[i] = word[i];
	}
	return OAE_R_NONE;
}

static void set_free(struct sim_end *e, u8 by)
{
	unsigned int i;

	for (i = 0; i < SIM_WORDS; i++)
		if (e->by[i] == by)
			e->by[i] = SIM_FREE;
}

/**
 * sim_verb_apply() - what is held is committed
 * @e: the end that exposes the words
 * @tx: the verb
 */
void sim_verb_apply(struct sim_end *e, struct sim_tx *tx)
{
	u64 answer[1 + SIM_VERB_WORDS] = { 0 };
	unsigned int i;

	if (e->verb != tx) {
		sim_fail(e->w, "#%u applied, and was not computed last",
			 (u32)tx->id);
		return;
	}
	for (i = 0; i < SIM_WORDS; i++)
		if (e->by[i] == SIM_LINK)
			e->word[i] = e->will_be[i];
	set_free(e, SIM_LINK);
	e->verb = NULL;
	e->w->verbs++;
	/* What it has only read may have changed since. */
	if (!tx->taken)
		return;
	if (!carry_out(tx, e->model, answer) ||
	    memcmp(answer, tx->answer, sim_verb_reply(tx)))
		sim_fail(e->w, "#%u: another answer, one by one", (u32)tx->id);
}

/**
 * sim_verb_drop() - what is held, if it is a verb, is dropped
 * @e: the end
 */
void sim_verb_drop(struct sim_end *e)
{
	set_free(e, SIM_LINK);
	e->verb = NULL;
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
	e->verb = NULL;
	e->refused_verb = false;
}

/**
 * sim_words_check() - after each event: words, reservations, and what is held
 * @e: the end
 */
void sim_words_check(struct sim_end *e)
{
	unsigned int i, n = 0;

	if (memcmp(e->word, e->model, sizeof(e->word)))
		sim_fail(e->w, "%c: words are not what verbs made them", name(e));
	for (i = 0; i < SIM_WORDS; i++)
		n += e->by[i] == SIM_LINK;
	if (e->computed != !!e->verb ||
	    n != (e->verb && e->verb->taken ? e->verb->words : 0))
		sim_fail(e->w, "%c: %u words reserved", name(e), n);
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
		if (e->by[word] != SIM_FREE)
			return;
		sim_say(e->w, "%c: word %u reserved", name(e), word);
		e->by[word] = SIM_OTHER;
		return;
	}
	sim_say(e->w, "%c: words are free", name(e));
	for (i = 0; i < SIM_WORDS; i++) {
		if (e->by[i] != SIM_OTHER)
			continue;
		e->word[i] += 1000;
		e->model[i] += 1000;
	}
	set_free(e, SIM_OTHER);
	if (e->refused_verb) {
		e->refused_verb = false;
		sim_drained(e);
	}
}
