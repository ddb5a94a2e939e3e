/* SPDX-License-Identifier: GPL-2.0 */
/* A transaction as it is offered, and what may become of it (doc/protocol.md section 4.1). */
#ifndef OAE_POST_H
#define OAE_POST_H

#include "oae_types.h"

enum oae_outcome {
	OAE_COMMITTED,
	OAE_REVERSED,
	OAE_UNKNOWN,
	OAE_OUTCOME_END
};

/* Why a transaction was not committed. Positive errno values. */
#define OAE_E_SIGNAL		EINTR		/* reversed: a signal */
#define OAE_E_CANCEL		ECANCELED	/* reversed: asked for, or port removed */
#define OAE_E_DEADLINE		ETIME		/* reversed: deadline passed */
#define OAE_E_DOWN		ENOLINK		/* reversed: no answer for dead_ms */
#define OAE_E_SHUTDOWN		ESHUTDOWN	/* reversed: closed at this end */
#define OAE_E_PEER_CLOSED	EPIPE		/* reversed: closed by the peer */
#define OAE_E_REFUSED		ECONNREFUSED	/* reversed: the peer's policy */
#define OAE_E_TOO_BIG		EMSGSIZE	/* reversed: larger than a limit */
#define OAE_E_KIND		EOPNOTSUPP	/* reversed: kind not served there */
#define OAE_E_NO_REGION		ENXIO		/* reversed: verb, no such region */
#define OAE_E_RANGE		ERANGE		/* reversed: verb, behind the region's end */
#define OAE_E_ACCESS		EACCES		/* reversed: verb, not permitted */
#define OAE_E_BAD_VERB		EBADMSG		/* reversed: verb, malformed */
#define OAE_E_UNKNOWN		EOWNERDEAD	/* unknown: an end of the link died */

#define OAE_POST_EXPRESS	0x01	/* deliver at once, not reversible */
#define OAE_POST_CONFIRM	0x02	/* ask for DONE after the commit */
#define OAE_POST_JOINED		0x04	/* VERB: several of the caller's, see OAE_OP_BACK */

/**
 * struct oae_post - a transaction to offer; the payload stays with the caller
 * @handle: of the caller, returned in actions
 * @digest: oae_whole_digest() of its slices
 * @first: oae_first_bytes()
 * @len: bytes
 * @slice_max: the longest slice, bytes
 * @nslices: 1 to OAE_MAX_SLICES
 * @kind: enum oae_kind
 * @flags: OAE_POST_*; for all kinds but MESSAGE and VERB only CONFIRM
 * @reply: VERB: length of the answer, bytes
 */
struct oae_post {
	void *handle;
	u64 digest;
	u64 first;
	u32 len;
	u16 slice_max;
	u8 nslices;
	u8 kind;
	u8 flags;
	u16 reply;
};

#endif /* OAE_POST_H */
