/* SPDX-License-Identifier: GPL-2.0 */
/* The encapsulation header and the outline of a frame. Pure, see encap.c. */
#ifndef OAEIP_ENCAP_H
#define OAEIP_ENCAP_H

#include "../../modoae/link/oae_types.h"
#include "../../include/oae_wire.h"
#include "../../include/oaeip_wire.h"

/**
 * enum oaeip_bad - why a datagram, a frame or a control message is dropped
 * @OAEIP_OK: it is valid
 * @OAEIP_BAD_SHORT: shorter than its headers, or than the headers say
 * @OAEIP_BAD_LONG: bytes after its end
 * @OAEIP_BAD_VERSION: unknown version
 * @OAEIP_BAD_TYPE: neither DATA nor CONTROL
 * @OAEIP_BAD_FLAGS: a reserved flag is set
 * @OAEIP_BAD_ZONE: a zone is 0 or above OAEIP_MAX_ZONES, or both are the same
 * @OAEIP_BAD_HLEN: frame: header length does not match the flags
 * @OAEIP_BAD_OPCODE: frame: unknown opcode, or a HELLO with VIA
 * @OAEIP_BAD_VIA: frame: neither VIA nor a HELLO, so not for a gateway
 * @OAEIP_BAD_MAC: an address that is not unicast, or both addresses of VIA are equal
 * @OAEIP_BAD_OP: control: unknown op
 * @OAEIP_BAD_COUNT: control: nodes where none may be, no nodes, or too many
 * @OAEIP_BAD_FIELD: control: a field out of range, or reserved and not 0
 */
enum oaeip_bad {
	OAEIP_OK,
	OAEIP_BAD_SHORT,
	OAEIP_BAD_LONG,
	OAEIP_BAD_VERSION,
	OAEIP_BAD_TYPE,
	OAEIP_BAD_FLAGS,
	OAEIP_BAD_ZONE,
	OAEIP_BAD_HLEN,
	OAEIP_BAD_OPCODE,
	OAEIP_BAD_VIA,
	OAEIP_BAD_MAC,
	OAEIP_BAD_OP,
	OAEIP_BAD_COUNT,
	OAEIP_BAD_FIELD,
	OAEIP_BAD_END
};

/**
 * struct oaeip_encap - the encapsulation header, in host byte order
 * @type: enum oaeip_type
 * @src_zone: zone of the gateway that sent the datagram
 * @dst_zone: zone of the gateway that the datagram is for
 * @length: bytes after the header
 */
struct oaeip_encap {
	u8 type;
	u16 src_zone;
	u16 dst_zone;
	u16 length;
};

/**
 * struct oaeip_outline - the part of an OAE frame that a gateway needs
 * @opcode: enum oae_opcode
 * @vc: virtual channel
 * @via: the frame has the extension VIA; else it is a HELLO
 * @via_dst: final destination, in the buffer; NULL without VIA
 * @via_src: original source, in the buffer; NULL without VIA
 */
struct oaeip_outline {
	u8 opcode;
	u8 vc;
	bool via;
	const u8 *via_dst;
	const u8 *via_src;
};

/* Bytes that must be readable of a frame; all, if it is shorter. */
#define OAEIP_OUTLINE_LEN	(OAE_HDR_LEN + OAE_VIA_LEN)

/* Bytes of the longest frame that the encapsulation header can describe. */
#define OAEIP_FRAME_MAX		65535

/**
 * oaeip_unicast() - may a node have this address?
 * @mac: MAC address, 6 bytes
 *
 * Context: any.
 *
 * Return: true if @mac is neither multicast nor all zeros.
 */
static inline bool oaeip_unicast(const u8 *mac)
{
	return !(mac[0] & 1) &&
	       (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]);
}

enum oaeip_bad oaeip_encap_parse(struct oaeip_encap *e, const u8 *buf,
				 size_t have, size_t total);
void oaeip_encap_build(const struct oaeip_encap *e, u8 *buf);
enum oaeip_bad oaeip_outline_parse(struct oaeip_outline *o, const u8 *buf,
				   size_t have, size_t total);

#endif /* OAEIP_ENCAP_H */
