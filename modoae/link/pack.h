/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packs: several messages as one transaction (doc/protocol.md section 4.12). The payload
 * is a header with the lengths of the messages, and then their bytes. Pure.
 */
#ifndef OAE_PACK_H
#define OAE_PACK_H

#include "oae_types.h"
#include "../../include/oae_wire.h"

/* Bytes of the header of a pack of @n messages. */
static inline unsigned int oae_pack_head_len(unsigned int n)
{
	return OAE_PACK_HDR_LEN + n * OAE_PACK_LEN_LEN;
}

/* The longest header. */
#define OAE_PACK_HEAD_MAX	(OAE_PACK_HDR_LEN + OAE_PACK_MSGS * OAE_PACK_LEN_LEN)

unsigned int oae_pack_parse(const u8 *head, u32 len, u16 msg_len[OAE_PACK_MSGS]);

/* Begin the header of a pack of @n messages. */
static inline void oae_pack_begin(u8 *head, unsigned int n)
{
	head[OAE_PACK_OFF_COUNT] = n;
	head[OAE_PACK_OFF_ZERO] = 0;
}

/* Message @i of a pack has @len bytes. */
static inline void oae_pack_add(u8 *head, unsigned int i, u16 len)
{
	put_unaligned_be16(len, head + oae_pack_head_len(i));
}

#endif /* OAE_PACK_H */
