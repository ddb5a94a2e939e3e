/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs: operations on words, as one transaction (protocol 4.10). Pure, see verb.c. */
#ifndef OAE_VERB_H
#define OAE_VERB_H

#include "oae_types.h"
#include "../../include/oae_wire.h"
#include "../../include/uapi/oae.h"

#define OAE_VERB_OP_MAX		(OAE_VOP_HDR_LEN + 16 * OAE_VERB_WORDS)
#define OAE_VERB_REQ_MAX	(OAE_VERB_HDR_LEN + \
				 OAE_VERB_OPS * OAE_VERB_OP_MAX)
#define OAE_VERB_ANSWER_MAX	(OAE_ANSWER_HDR_LEN + \
				 8 * OAE_VERB_OPS * OAE_VERB_WORDS)

/**
 * struct oae_change - a word that a verb will change, and has reserved
 * @value: what the word will be
 * @below: the change of the same word by the verb before, of the same link
 * @above: the same by the verb after
 * @owner: whose verb it is: verbs of others do not see the word meanwhile
 * @index: index of the word
 * @wanted: somebody else was refused because of the word: no verb follows any more
 */
struct oae_change {
	u64 value;
	struct oae_change *below;
	struct oae_change *above;
	const void *owner;
	u32 index;
	bool wanted;
};

/**
 * struct oae_computed - a request, computed and not decided
 * @change: the changes; the caller has the memory
 * @answer: the answer, likewise
 * @nchanges: from oae_verb_measure(): how many there may be; then, how many there are
 * @answer_len: length of @answer, bytes
 */
struct oae_computed {
	struct oae_change *change;
	u8 *answer;
	u16 nchanges;
	u16 answer_len;
};

/**
 * struct oae_words - words that verbs work on
 * @word: their values
 * @top: of each reserved word its last change, NULL of those that are free
 * @n: number of words
 * @conflict: index of the word for which a request was last refused with CONFLICT
 */
struct oae_words {
	u64 *word;
	struct oae_change **top;
	u32 n;
	u32 conflict;
};

/* Is a word reserved? */
static inline bool oae_verb_reserved(const struct oae_words *w, u32 i)
{
	return w->top[i];
}

u32 oae_verb_region(const u8 *req, size_t len);
u16 oae_verb_measure(const u8 *req, size_t len, struct oae_computed *v);
u16 oae_verb_compute(struct oae_words *w, u32 perm, const void *owner, const u8 *req,
		     struct oae_computed *v);
void oae_verb_decided(struct oae_words *w, const struct oae_computed *v, bool apply);

#endif /* OAE_VERB_H */
