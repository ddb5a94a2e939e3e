/* SPDX-License-Identifier: GPL-2.0 */
/* Frames: bytes on the wire <-> struct oae_frame. Pure, see frame.c. */
#ifndef OAE_FRAME_H
#define OAE_FRAME_H

#include "oae_types.h"
#include "../../include/oae_wire.h"

/**
 * struct oae_frame - one frame, in host byte order
 * @opcode: enum oae_opcode
 * @vc: virtual channel
 * @flags: OAE_F_*
 * @kind: enum oae_kind
 * @hdr_len: bytes of header and extensions
 * @length: payload bytes in this frame
 * @slice: index of this slice
 * @reason: enum oae_reason
 * @grant: what all numbers above @rx may cost, OAE_GRANT_UNIT bytes
 * @marks: OAE_M_*
 * @unfit: OFFER of a PACK: it is malformed. Not on the wire: whoever has the payload unpacks it,
 *	and sets this
 * @src_ltag: the sender's ltag
 * @dst_ltag: the receiver's ltag as the sender knows it
 * @tx: last transaction the sender has committed
 * @rx: last transaction the sender has delivered
 * @seq: the transaction that this frame is about
 * @pn: its number, of a question: oae_is_question()
 * @ack: the newest pn heard, of an answer: oae_is_answer()
 * @map: of an answer, bit n set: ack - 1 - n was heard
 * @payload_hash: XXH64 of the payload, seeded with @slice; OFFER only
 * @sync: body of SYNC, SYNC_ACK and SYNC_CHK
 * @reflect: body of REFLECT
 * @first: the first 8 bytes of an OFFER's slice 0, as REFLECT repeats them
 * @have: body of ACK, bit n set: slice n is here
 * @hello: body of HELLO
 * @path: body of PATH
 * @via: final destination and original source, when OAE_F_VIA is set
 */
struct oae_frame {
	u8 opcode;
	u8 vc;
	u8 flags;
	u8 kind;
	u8 hdr_len;
	u8 slice;
	u8 reason;
	u8 marks;
	u16 length;
	u16 grant;
	bool unfit;
	u32 src_ltag;
	u32 dst_ltag;
	u32 tx;
	u32 rx;
	u32 seq;
	union {
		u32 pn;
		u32 ack;
	};
	u32 map;
	u64 payload_hash;
	union {
		struct {
			u64 inc;
			u64 peer_inc;
			u32 caps;
			u32 max_len;
			u32 start;
			u16 mtu;
			u8 last;
			u64 kept;
			u64 hash;
		} sync;
		struct {
			u64 digest;
			u64 first;
		} reflect;
		struct {
			union {
				struct {
					u32 inc;
					u16 zone;
					u16 epoch;
					u16 life;
					u16 node_life;
					u8 about[6];	/* 2-byte aligned, for ether_addr_equal() */
				};
				struct {		/* with OAE_HELLO_NODE */
					u64 id;
					u64 node_inc;
				};
			};
			u16 mtu;
			u8 flags;
		} hello;
		struct {
			u64 nonce;
			u64 proof;
			u16 mtu;
			u8 to[6];	/* 2-byte aligned, for ether_addr_equal() */
			u8 from[6];
			u8 role;
		} path;
		u64 first;
		u64 have;
	};
	u8 via[OAE_VIA_LEN];
};

/* What a kind of transaction is (protocol 2.2). */
#define OAE_T_CUT	0x01	/* may have several slices */
#define OAE_T_READ	0x02	/* is read, and takes room of the inbox until then */
#define OAE_T_ANSWER	0x04	/* the peer's data follow the body of its REFLECT */
#define OAE_T_ALONE	0x08	/* goes out alone */
#define OAE_T_RESTS	0x10	/* its answer rests on what is held below it */

/**
 * oae_kind_is() - does a kind of transaction have a trait?
 * @kind: enum oae_kind
 * @trait: one of OAE_T_*
 *
 * Return: true if so.
 */
static inline bool oae_kind_is(u8 kind, u8 trait)
{
	static const u8 traits[8] = {
		[OAE_MESSAGE] = OAE_T_CUT | OAE_T_READ,
		[OAE_SWAP] = OAE_T_ANSWER | OAE_T_ALONE,
		[OAE_VERB] = OAE_T_ANSWER | OAE_T_RESTS,
		[OAE_PACK] = OAE_T_READ,
	};

	return traits[kind & 7] & trait;
}

/* Causes for dropping a frame before any link sees it. */
enum oae_bad {
#define OAE_CAUSE(_id, _name, _text) OAE_BAD_##_id,
#include "causes.h"
	OAE_BAD_END
};

/* The longest header, and the longest body that is the protocol's own. */
#define OAE_PARSE_MAX	(OAE_HLEN_MAX + OAE_BODY_MAX)

/* SYNC, SYNC_ACK and SYNC_CHK have one body. */
static inline bool oae_is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK || opcode == OAE_SYNC_CHK;
}

/* Of this opcode a frame has a number: the peer's answers say whether it was heard. */
static inline bool oae_is_question(u8 opcode)
{
	return opcode == OAE_OFFER || opcode == OAE_COMMIT || opcode == OAE_ASK;
}

/* Of this opcode a frame says which questions were heard. */
static inline bool oae_is_answer(u8 opcode)
{
	return opcode == OAE_REFLECT || opcode == OAE_REFUSE || opcode == OAE_READY ||
	       opcode == OAE_DONE || opcode == OAE_ACK;
}

enum oae_bad oae_frame_parse(struct oae_frame *f, const u8 *buf, size_t have,
			     size_t total);
enum oae_bad oae_frame_verify(struct oae_frame *f, const u8 *hdr,
			      u64 payload_hash);
size_t oae_frame_body_len(const struct oae_frame *f);
size_t oae_frame_build(const struct oae_frame *f, u8 *buf);
void oae_reflect_body(const struct oae_frame *f, u8 *p);
u64 oae_slice_hash(const void *data, size_t len, u16 slice);
u64 oae_whole_digest(const u64 *hash, unsigned int nslices);
u64 oae_kept_hash(u64 kept, u64 *hash);
u64 oae_first_bytes(const void *data, size_t len);
const char *oae_opcode_name(u8 opcode);

#endif /* OAE_FRAME_H */
