// SPDX-License-Identifier: GPL-2.0
/*
 * The one thing that is left of version 1: its SYNC is answered by a CLOSE that its sender
 * understands (doc/protocol.md section 2.6). Pure: no allocation, no lock, no clock.
 */
#include "older.h"
#include "xxh64.h"
#include "../../include/oae_wire.h"

/* The same bytes as in this version are not named again: opcode, vc, flags, length, ltags, seq. */
#define OLDER_VERSION	0x1a	/* version 1, a header of 10 words */
#define OLDER_HELD	0x10	/* the only flag of a SYNC */
#define OLDER_REASON	30	/* u16 */
#define OLDER_DIGEST	32	/* u64 */

static u64 older_digest(const u8 *buf, size_t length)
{
	u8 hdr[OAE_OLDER_HDR];

	memcpy(hdr, buf, sizeof(hdr));
	memset(hdr + OLDER_DIGEST, 0, sizeof(u64));
	return oae_xxh64(hdr, sizeof(hdr), oae_xxh64(buf + sizeof(hdr), length, 0));
}

/**
 * oae_older_turn_away() - answer a frame of version 1
 * @buf: the frame, from behind the Ethernet header; OAE_OLDER_SYNC bytes if @total is that
 * @total: bytes of the frame
 * @answer: set to the answer, in version 1's format
 *
 * Return: true if it is a good SYNC without VIA. All else gets no answer: answers to answers
 * would have no end.
 */
bool oae_older_turn_away(const u8 *buf, size_t total, u8 answer[OAE_OLDER_HDR])
{
	if (total != OAE_OLDER_SYNC || buf[OAE_OFF_VER_EXT] != OLDER_VERSION ||
	    buf[OAE_OFF_OPCODE] != OAE_SYNC || buf[OAE_OFF_FLAGS] & ~OLDER_HELD ||
	    get_unaligned_be16(buf + OAE_OFF_LENGTH) != OAE_OLDER_SYNC - OAE_OLDER_HDR ||
	    older_digest(buf, OAE_OLDER_SYNC - OAE_OLDER_HDR) !=
		    get_unaligned_be64(buf + OLDER_DIGEST))
		return false;

	memset(answer, 0, OAE_OLDER_HDR);
	answer[OAE_OFF_VER_EXT] = OLDER_VERSION;
	answer[OAE_OFF_OPCODE] = OAE_CLOSE;
	answer[OAE_OFF_VC] = buf[OAE_OFF_VC];
	memcpy(answer + OAE_OFF_SRC_LTAG, buf + OAE_OFF_DST_LTAG, sizeof(u32));
	memcpy(answer + OAE_OFF_DST_LTAG, buf + OAE_OFF_SRC_LTAG, sizeof(u32));
	memcpy(answer + OAE_OFF_SEQ, buf + OAE_OFF_SEQ, sizeof(u32));
	put_unaligned_be16(OAE_R_POLICY, answer + OLDER_REASON);
	put_unaligned_be64(older_digest(answer, 0), answer + OLDER_DIGEST);
	return true;
}
