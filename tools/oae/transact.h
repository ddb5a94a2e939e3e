/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One transaction and its outcome. It is posted once, on a descriptor that does not block,
 * and waited for here: so -w is a moment, whatever stops, freezes or traces the program in
 * between, and only a signal to this program takes it back.
 */
#ifndef OAE_TRANSACT_H
#define OAE_TRANSACT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../lib/oae.h"

struct transact {
	int fd;				/* of peer_open() */
	unsigned int wait_ms;		/* then it is reversed; 0: no limit */
	bool deaf;			/* a signal that came does not take it back */
	bool (*vain)(struct transact *t);	/* it need not be sent any more; NULL: never */
	int why;			/* it is not waited for any longer: an errno */
	unsigned int untold;		/* outcomes to come that nobody waits for */
	uint32_t events;		/* out: OAE_EVENT_*, all that were taken */
	const struct oae_outcome_rec *rec;	/* out: of what is committed */
	struct oae_outcomes batch;	/* out: with its result */
};

/*
 * Posts it by @post, which returns -1 and sets errno if it is not. Returns the errno of its
 * outcome, 0 for committed; EINPROGRESS if the peer may have it. In vain: ECANCELED.
 */
int transact(struct transact *t, int (*post)(int fd, void *data), void *data);
/* After EINPROGRESS: waits as long again for that one. Returns the same. */
int transact_more(struct transact *t);
void transact_free(struct transact *t);

#endif /* OAE_TRANSACT_H */
