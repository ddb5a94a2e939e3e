// SPDX-License-Identifier: GPL-2.0
/*
 * The payload of a pack (doc/protocol.md section 4.12), which is hostile until it was
 * checked here. Pure.
 */
#include "pack.h"

/**
 * oae_pack_parse() - check the payload of a pack
 * @head: its first bytes: all of them, or OAE_PACK_HEAD_MAX if there are more
 * @len: bytes of the payload
 * @msg_len: filled with the lengths of the messages
 *
 * Return: number of messages; 0 the pack is malformed.
 */
unsigned int oae_pack_parse(const u8 *head, u32 len, u16 msg_len[OAE_PACK_MSGS])
{
	unsigned int i, n;
	u32 sum;

	if (len < OAE_PACK_HDR_LEN || head[OAE_PACK_OFF_ZERO])
		return 0;
	n = head[OAE_PACK_OFF_COUNT];
	sum = oae_pack_head_len(n);
	if (n > OAE_PACK_MSGS || sum > len)
		return 0;
	for (i = 0; i < n; i++) {
		msg_len[i] = get_unaligned_be16(head + oae_pack_head_len(i));
		if (!msg_len[i])
			return 0;
		sum += msg_len[i];
	}
	return sum == len ? n : 0;
}
