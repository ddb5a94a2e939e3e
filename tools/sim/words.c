// SPDX-License-Identifier: GPL-2.0
/*
 * The words of a node, which all its links share: each verb adds one to one of them.
 * So what a word is says how many were applied, and every answer is another number.
 */
#include "sim.h"

#define WAKE		4	/* at once, of those that wait */

static struct node *node_of(const struct world *w, const struct end *e)
{
	return &w->nodes[topo_node(&w->topo, end_index(w, e))];
}

static unsigned int word_of(u64 id)
{
	return TX_SERIAL(id) % NODE_WORDS;
}

static void wait(struct world *w, struct node *n, struct end *e)
{
	u32 me = end_index(w, e) + 1;

	if (e->waits)
		return;
	e->waits = true;
	e->wait_next = 0;
	if (n->wait_first)
		w->ends[n->wait_last - 1].wait_next = me;
	else
		n->wait_first = me;
	n->wait_last = me;
}

/* The eldest are told; not from within another end's event. */
static void wake(struct world *w, struct node *n)
{
	struct end *e;
	u32 i;

	for (i = 0; i < WAKE && n->wait_first; i++) {
		e = &w->ends[n->wait_first - 1];
		n->wait_first = e->wait_next;
		e->waits = false;
		wheel_put(&w->wheel, w->now, EVENT_REF(KIND_READY, 0),
			  end_index(w, e));
	}
}

/**
 * words_compute() - what a verb is computed to be
 * @w: the world
 * @e: the end that holds it
 * @seq: number of the verb
 * @tx: the verb
 *
 * Return: enum oae_reason.
 */
u16 words_compute(struct world *w, struct end *e, u32 seq, struct tx *tx)
{
	struct node *n = node_of(w, e);
	unsigned int i = word_of(tx->id);

	if (n->holder[i]) {
		w->n.conflicts++;
		wait(w, n, e);
		return OAE_R_CONFLICT;
	}
	n->holder[i] = end_index(w, e) + 1;
	e->verb[h_lane(seq)] = tx->id;
	e->answer[h_lane(seq)] = n->word[i];
	tx->other = n->word[i];
	return OAE_R_NONE;
}

/**
 * words_apply() - the verb that is held is committed
 * @w: the world
 * @e: the end
 * @seq: number of the verb
 */
void words_apply(struct world *w, struct end *e, u32 seq)
{
	struct node *n = node_of(w, e);
	u64 verb = e->verb[h_lane(seq)];
	unsigned int i = word_of(verb);

	if (n->holder[i] != end_index(w, e) + 1 || n->word[i] != e->answer[h_lane(seq)])
		violation(w, e, "#%llu: the word has changed meanwhile", TX_SERIAL(verb));
	n->word[i]++;
	w->n.applied++;
	words_release(w, e, seq);
}

/**
 * words_release() - what is held of a number, if it is a verb, has ended
 * @w: the world
 * @e: the end
 * @seq: the number
 */
void words_release(struct world *w, struct end *e, u32 seq)
{
	struct node *n = node_of(w, e);
	u64 *verb = &e->verb[h_lane(seq)];

	if (!*verb)
		return;
	n->holder[word_of(*verb)] = 0;
	*verb = TX_NONE;
	wake(w, n);
}

/**
 * words_crash() - a node has stopped: its words are new
 * @w: the world
 * @n: the node, all its ends crashed
 */
void words_crash(struct world *w, struct node *n)
{
	memset(n->word, 0, sizeof(n->word));
	while (n->wait_first) {
		w->ends[n->wait_first - 1].waits = false;
		n->wait_first = w->ends[n->wait_first - 1].wait_next;
	}
}
