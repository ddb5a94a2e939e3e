/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of a peer that knows all and means no good: see hostile.c. */
#ifndef OAE_HOSTILE_H
#define OAE_HOSTILE_H

#include "end.h"

/* What the peer remembers, and what it said. */
struct hostile {
	u32 ltag;		/* the one it told last */
	u32 old_ltag;		/* and the one before */
	u32 end_ltag;		/* the end's, when last looked at */
	u32 end_old_ltag;
	u64 inc;
	u8 payload[END_MTU_MAX];
};

void hostile_init(struct hostile *h);
bool hostile_frame(struct hostile *h, const struct end *e, const u8 *r,
		   struct oae_frame *f);

#endif /* OAE_HOSTILE_H */
