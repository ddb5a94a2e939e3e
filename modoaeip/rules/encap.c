// SPDX-License-Identifier: GPL-2.0
/*
 * The encapsulation header, and the outline of an OAE frame: the part of it that a
 * gateway needs (doc/gateway.md sections 1 and 2.1).
 *
 * Pure: no allocation, no clock, no kernel facility. A gateway does not change a
 * frame, and does not check its digest: the ends of the link do.
 */
#include "encap.h"

/**
 * oaeip_encap_parse() - parse an encapsulation header
 * @e: filled in; undefined unless OAEIP_OK is returned
 * @buf: the UDP payload
 * @have: bytes that may be read at @buf; must include the header
 * @total: bytes of the UDP payload
 *
 * The caller checks that the zones are those of the sender and of itself.
 *
 * Context: any.
 *
 * Return: OAEIP_OK, or the cause for which to drop the datagram.
 */
enum oaeip_bad oaeip_encap_parse(struct oaeip_encap *e, const u8 *buf,
				 size_t have, size_t total)
{
	if (have < OAEIP_HDR_LEN || total < have)
		return OAEIP_BAD_SHORT;
	if (buf[OAEIP_OFF_VER_TYPE] >> 4 != OAEIP_VERSION)
		return OAEIP_BAD_VERSION;

	e->type = buf[OAEIP_OFF_VER_TYPE] & 0x0f;
	e->src_zone = get_unaligned_be16(buf + OAEIP_OFF_SRC_ZONE);
	e->dst_zone = get_unaligned_be16(buf + OAEIP_OFF_DST_ZONE);
	e->length = get_unaligned_be16(buf + OAEIP_OFF_LENGTH);
	if (e->type != OAEIP_DATA && e->type != OAEIP_CONTROL)
		return OAEIP_BAD_TYPE;
	if (buf[OAEIP_OFF_FLAGS])
		return OAEIP_BAD_FLAGS;
	if (!e->src_zone || e->src_zone > OAEIP_MAX_ZONES ||
	    !e->dst_zone || e->dst_zone > OAEIP_MAX_ZONES ||
	    e->src_zone == e->dst_zone)
		return OAEIP_BAD_ZONE;
	if (total - OAEIP_HDR_LEN < e->length)
		return OAEIP_BAD_SHORT;
	if (total - OAEIP_HDR_LEN > e->length)
		return OAEIP_BAD_LONG;
	return OAEIP_OK;
}

/**
 * oaeip_encap_build() - write an encapsulation header
 * @e: its contents
 * @buf: room for OAEIP_HDR_LEN bytes
 *
 * Context: any.
 */
void oaeip_encap_build(const struct oaeip_encap *e, u8 *buf)
{
	buf[OAEIP_OFF_VER_TYPE] = OAEIP_VERSION << 4 | e->type;
	buf[OAEIP_OFF_FLAGS] = 0;
	put_unaligned_be16(e->src_zone, buf + OAEIP_OFF_SRC_ZONE);
	put_unaligned_be16(e->dst_zone, buf + OAEIP_OFF_DST_ZONE);
	put_unaligned_be16(e->length, buf + OAEIP_OFF_LENGTH);
}

/* The fields of the base header, in the order of doc/protocol.md section 2.6. */
static enum oaeip_bad encap_outline_header(struct oaeip_outline *o, const u8 *buf)
{
	size_t ext = (buf[OAE_OFF_VER_EXT] & 0x0f) * 4;
	u8 flags = buf[OAE_OFF_FLAGS];

	if (buf[OAE_OFF_VER_EXT] >> 4 != OAE_VERSION)
		return OAEIP_BAD_VERSION;
	if (flags & ~OAE_F_ALL)
		return OAEIP_BAD_FLAGS;

	o->opcode = buf[OAE_OFF_OPCODE];
	o->vc = buf[OAE_OFF_VC];
	o->via = flags & OAE_F_VIA;
	if (!o->opcode || o->opcode >= OAE_OPCODE_END)
		return OAEIP_BAD_OPCODE;
	if (ext != (o->via ? OAE_VIA_LEN : 0))
		return OAEIP_BAD_HLEN;
	/* A HELLO is for the gateway itself. */
	if (o->via && o->opcode == OAE_HELLO)
		return OAEIP_BAD_OPCODE;
	if (!o->via && o->opcode != OAE_HELLO)
		return OAEIP_BAD_VIA;
	return OAEIP_OK;
}

/**
 * oaeip_outline_parse() - parse the outline of an OAE frame
 * @o: filled in; undefined unless OAEIP_OK is returned
 * @buf: the frame, from its base header on
 * @have: bytes that may be read at @buf: OAEIP_OUTLINE_LEN, or all
 * @total: bytes of the frame
 *
 * Neither payload nor digest is examined; the addresses in @o point into @buf. The
 * body of a HELLO is left to oae_frame_parse().
 *
 * Context: any.
 *
 * Return: OAEIP_OK, or the cause for which to drop the frame; OAEIP_BAD_VIA for a
 * frame that may be valid, but is not for a gateway.
 */
enum oaeip_bad oaeip_outline_parse(struct oaeip_outline *o, const u8 *buf,
				   size_t have, size_t total)
{
	enum oaeip_bad bad;
	size_t len;

	if (have < OAE_HDR_LEN || total < have)
		return OAEIP_BAD_SHORT;
	bad = encap_outline_header(o, buf);
	if (bad)
		return bad;

	len = OAE_HDR_LEN + (o->via ? OAE_VIA_LEN : 0);
	if (have < len)
		return OAEIP_BAD_SHORT;
	len += get_unaligned_be16(buf + OAE_OFF_LENGTH);
	if (total < len)
		return OAEIP_BAD_SHORT;
	if (len > OAEIP_FRAME_MAX || total > len)
		return OAEIP_BAD_LONG;

	o->via_dst = NULL;
	o->via_src = NULL;
	if (!o->via)
		return OAEIP_OK;
	o->via_dst = buf + OAE_OFF_VIA_DST;
	o->via_src = buf + OAE_OFF_VIA_SRC;
	if (!oaeip_unicast(o->via_dst) || !oaeip_unicast(o->via_src) ||
	    !memcmp(o->via_dst, o->via_src, OAE_OFF_VIA_SRC - OAE_OFF_VIA_DST))
		return OAEIP_BAD_MAC;
	return OAEIP_OK;
}
