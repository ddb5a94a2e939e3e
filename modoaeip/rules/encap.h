/* SPDX-License-Identifier: GPL-2.0 */
/* What travels between gateways, seen from outside. Pure, see encap.c. */
#ifndef OAEIP_ENCAP_H
#define OAEIP_ENCAP_H

#include "../../modoae/link/oae_types.h"
#include "../../include/oae_wire.h"
#include "../../include/oaeip_wire.h"

/**
 * enum oaeip_bad - why a datagram, a frame or a control message was dropped
 * @OAEIP_OK: it was not
 * @OAEIP_BAD_SHORT: shorter than its headers, or than they say
 * @OAEIP_BAD_LONG: bytes behind its end that are not padding
 * @OAEIP_BAD_VERSION: another version
 * @OAEIP_BAD_TYPE: neither DATA nor CONTROL
 * @OAEIP_BAD_FLAGS: a reserved flag is set
 * @OAEIP_BAD_ZONE: a zone is 0 or above OAEIP_MAX_ZONES, or both are the same
 * @OAEIP_BAD_HLEN: frame: a header length that the flags do not ask for
 * @OAEIP_BAD_OPCODE: frame: unknown opcode, or a HELLO with VIA
 * @OAEIP_BAD_VIA: frame: no VIA and not a HELLO: nothing for a gateway
 * @OAEIP_BAD_MAC: an address that is not unicast; in VIA also twice the same
 * @OAEIP_BAD_OP: control: unknown op
 * @OAEIP_BAD_COUNT: control: nodes where none may be, none, or too many
 * @OAEIP_BAD_FIELD: control: a field out of its range, or reserved and not 0
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
 * @src_zone: the zone whose gateway sent it
 * @dst_zone: the zone it is for
 * @length: bytes behind the header
 */
struct oaeip_encap {
	u8 type;
	u16 src_zone;
	u16 dst_zone;
	u16 length;
};

/**
 * struct oaeip_outline - what a gateway needs to know of an OAE frame
 * @opcode: enum oae_opcode
 * @vc: virtual channel
 * @via: it has the extension VIA; else it is a HELLO
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

/* To be readable of a frame, or all of it if it is shorter. */
#define OAEIP_OUTLINE_LEN	(OAE_HDR_LEN + OAE_VIA_LEN)

/* What the encapsulation header can say. */
#define OAEIP_FRAME_MAX		65535

/**
 * oaeip_unicast() - may a node have this address?
 * @mac: 6 bytes
 *
 * Return: true if it is neither multicast nor all zeros. Any context.
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
				   size_t have, size_t total, bool padded);
const char *oaeip_bad_name(enum oaeip_bad bad);

#endif /* OAEIP_ENCAP_H */
