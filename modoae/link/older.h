/* SPDX-License-Identifier: GPL-2.0 */
/* A peer that speaks version 1 of the protocol: it is turned away. Pure, see older.c. */
#ifndef OAE_OLDER_H
#define OAE_OLDER_H

#include "oae_types.h"

#define OAE_OLDER_HDR	40	/* bytes of a header of version 1, and of the answer */
#define OAE_OLDER_SYNC	72	/* and of its SYNC */

bool oae_older_turn_away(const u8 *buf, size_t total, u8 answer[OAE_OLDER_HDR]);

#endif /* OAE_OLDER_H */
