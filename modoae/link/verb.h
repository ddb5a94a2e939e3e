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
 * struct oae_words - words that verbs work on
 * @word: their values
 * @next: the value of a reserved word if the verb that reserved it is committed
 * @busy: a bitmap of the reserved words
 * @n: number of words
 * @conflict: index of the word for which a request was last refused with CONFLICT
 */
struct oae_words {
	u64 *word;
	u64 *next;
	u64 *busy;
	u32 n;
	u32 conflict;
};

u32 oae_verb_region(const u8 *req, size_t len);
u16 oae_verb_compute(struct oae_words *w, u32 perm, const u8 *req, size_t len,
		     u8 *answer, u16 *answer_len);
bool oae_verb_reserved(const struct oae_words *w, u32 i);
void oae_verb_decided(struct oae_words *w, const u8 *req, bool apply);

#endif /* OAE_VERB_H */
