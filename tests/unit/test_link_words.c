// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs, two ends and frame by frame, on the words that B exposes (doc/protocol.md
 * section 4.10). That words and answers are right sim_words.c sees to.
 */
#include "sim_hand.h"

/* As long as nothing has gone out, a verb may be made another. */
static struct sim_tx *verb(struct sim_end *e, u8 code, u8 word, u8 refusal)
{
	struct sim_tx *tx;

	sim_port(e, false);		/* it waits at the link */
	tx = sim_post(e, 32, 32, OAE_VERB, 0);
	memset(tx->expect, 0, sizeof(tx->expect));
	tx->code = code;
	tx->word = word;
	tx->words = 1;
	tx->expect[0] = w.end[!e->who].word[word];
	tx->refusal = refusal;
	e->link.next.reply = tx->reply;
	sim_port(e, true);
	flow();
	return tx;
}

static struct sim_tx *add(struct sim_end *e, u8 word)
{
	return verb(e, SIM_ADD, word, 0);
}

/* One that is posted while the link is open: frame by frame. */
static struct sim_tx *add_now(struct sim_end *e)
{
	struct sim_tx *tx;

	do {
		tx = sim_post(e, 32, 32, OAE_VERB, 0);
		if (tx->code == SIM_ADD && !tx->refusal)
			return tx;
		flow();
	} while (!w.why[0]);
	return tx;
}

RULE(test_each)
{
	struct sim_tx *tx;
	u8 code;

	for (code = 0; code < SIM_CODE_END; code++) {
		tx = verb(a, code, 2, 0);
		assert_committed(tx);
		assert_int_equal(tx->answer[0], 1);
		assert_int_equal(b->word[2] == tx->operand[0],
				 code == SIM_WRITE || code == SIM_CAS);
	}
	/* A comparison that does not hold is committed as well, not taken. */
	sim_port(a, false);
	tx = sim_post(a, 32, 32, OAE_VERB, 0);
	tx->code = SIM_CAS;
	tx->word = 2;
	tx->words = 1;
	tx->expect[0] = ~b->word[2];
	a->link.next.reply = tx->reply;
	sim_port(a, true);
	flow();
	assert_committed(tx);
	assert_int_equal(tx->answer[0], 0);
	assert_int_not_equal(b->word[2], tx->operand[0]);
}

/* The words change with the commit, not before, and are reserved until then. */
RULE(test_frames)
{
	struct sim_tx *tx = add_now(a);
	u64 before = b->word[tx->word];

	pass(B, OAE_OFFER);
	assert_int_equal(b->by[tx->word], SIM_LINK);
	pass(A, OAE_REFLECT);
	assert_true(tx->ended && tx->outcome == OAE_COMMITTED);
	assert_true(b->word[tx->word] == before);
	pass(B, OAE_COMMIT);
	assert_committed(tx);
	assert_true(b->word[tx->word] == before + tx->operand[0]);
	assert_int_equal(b->by[tx->word], SIM_FREE);
	quiet();
}

/* Reserved: it waits at its own end, and goes on as soon as the word is free. */
RULE(test_conflict)
{
	struct sim_tx *tx;

	sim_other(b, 5);
	tx = add(a, 5);
	assert_false(tx->ended);
	assert_int_equal(a->link.offer.state, OAE_OFFER_PARKED);
	assert_int_equal(w.notes[OAE_N_PARKED], 1);
	sim_other(b, SIM_WORDS);
	pass(A, OAE_READY);
	flow();
	assert_committed(tx);
	assert_true(b->word[5] == 1000 + tx->operand[0]);

	/* READY is lost: after eight probe timeouts in any case. */
	sim_other(b, 5);
	tx = add(a, 5);
	sim_other(b, SIM_WORDS);
	lose(A, OAE_READY);
	assert_int_equal(a->link.park_iv, 8 * oae_link_pto(&a->link));
	sim_run(&w, a->link.park_at - 1);
	assert_false(tx->ended);
	wait_ms(1);
	assert_committed(tx);

	/* Another word is none of its business. */
	sim_other(b, 5);
	tx = add(a, 4);
	assert_committed(tx);
	sim_other(b, SIM_WORDS);
	quiet();
}

/* Reversed while it waits, or while it is held: nothing has changed. */
RULE(test_reversed)
{
	struct sim_tx *tx;
	u64 before;

	sim_other(b, 5);
	tx = add(a, 5);
	sim_cancel(a, tx);
	assert_reversed(tx, OAE_E_SIGNAL);
	sim_other(b, SIM_WORDS);
	flow();
	assert_true(b->word[5] == 1000);

	tx = add_now(a);
	before = b->word[tx->word];
	pass(B, OAE_OFFER);
	sim_cancel(a, tx);
	assert_reversed(tx, OAE_E_SIGNAL);
	assert_int_equal(b->by[tx->word], SIM_LINK);
	pass(B, OAE_OFFER);			/* nothing, in its place */
	assert_int_equal(b->by[tx->word], SIM_FREE);
	assert_true(b->word[tx->word] == before);
	flow();
}

RULE(test_refused)
{
	static const struct {
		u8 reason;
		int err;
	} refused[] = {
		{ OAE_R_NO_REGION, ENXIO }, { OAE_R_RANGE, ERANGE },
		{ OAE_R_ACCESS, EACCES }, { OAE_R_BAD_VERB, EBADMSG },
		{ OAE_R_TOO_BIG, EMSGSIZE }, { OAE_R_KIND, EOPNOTSUPP },
	};
	struct sim_tx *tx;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		tx = verb(a, SIM_ADD, 1, refused[i].reason);
		assert_reversed(tx, refused[i].err);
	}
	assert_true(b->word[1] == 0);
	assert_committed(add(a, 1));
}

/* Each frame lost once: carried out once, without a freeze. */
RULE_CLOSED(test_each_frame_lost)
{
	static const struct {
		u8 to, opcode;
	} lost[] = {
		{ B, OAE_OFFER }, { A, OAE_REFLECT }, { B, OAE_COMMIT },
	};
	struct sim_tx *tx;
	unsigned int i, j;
	u64 before;

	for (i = 0; i < 3; i++) {
		opened(NULL);
		tx = add_now(a);
		before = b->word[tx->word];
		for (j = 0; j < i; j++)
			pass(lost[j].to, lost[j].opcode);
		lose(lost[i].to, lost[i].opcode);
		wait_ms(30);
		assert_int_equal(w.notes[OAE_N_STALL], 0);
		assert_committed(tx);
		assert_true(b->word[tx->word] == before + tx->operand[0]);
	}
}

/* Who asked has died: undecided, so the words are free and have not changed. */
RULE(test_asker_dies)
{
	struct sim_tx *tx = add_now(a);
	u64 before = b->word[tx->word];

	pass(B, OAE_OFFER);
	sim_crash(a);
	sim_port(a, false);
	lose(A, OAE_REFLECT);
	wait_ms(700);
	assert_true(b->link.down);
	assert_int_equal(b->by[tx->word], SIM_LINK);	/* nobody can tell */
	sim_port(a, true);
	wait_ms(200);
	assert_int_equal(w.notes[OAE_N_HELD_LOST], 1);
	assert_int_equal(b->by[tx->word], SIM_FREE);
	assert_true(b->word[tx->word] == before);
}

/* Who exposes the words has died: offered to the new one, which has others. */
RULE(test_exposer_dies)
{
	struct sim_tx *tx = add_now(a);

	pass(B, OAE_OFFER);
	sim_crash(b);
	lose(A, OAE_REFLECT);
	wait_ms(100);
	assert_committed(tx);
	assert_true(b->word[tx->word] == tx->operand[0]);
}

/* Both ways at once, many. */
RULE(test_many)
{
	struct sim_tx *tx[60];
	unsigned int i;

	for (i = 0; i < 60; i++)
		tx[i] = sim_post(&w.end[i & 1], 32, 32, OAE_VERB, 0);
	flow();
	for (i = 0; i < 60; i++)
		assert_committed(tx[i]);
	assert_int_equal(w.notes[OAE_N_STALL] + w.notes[OAE_N_PARKED], 0);
}

UNIT_MAIN("verbs on words")
