/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format. No other file defines a number of it.
 *
 * All fields are big-endian. A frame is an Ethernet header, the 48-byte base
 * header below, its extensions, then `length` bytes of payload.
 * doc/protocol.md section 2 describes the same format in prose.
 */
#ifndef OAE_WIRE_H
#define OAE_WIRE_H

#define OAE_ETHERTYPE		0x88B5	/* IEEE 802 Local Experimental 1 */
#define OAE_VERSION		2

/* Base header: byte offsets. */
#define OAE_OFF_VER_EXT		0	/* high nibble version, low nibble length of extensions */
#define OAE_OFF_OPCODE		1
#define OAE_OFF_VC		2
#define OAE_OFF_FLAGS		3
#define OAE_OFF_LENGTH		4	/* u16, payload bytes in this frame */
#define OAE_OFF_SLICE		6	/* index of this slice */
#define OAE_OFF_KIND		7
#define OAE_OFF_SRC_LTAG	8	/* u32, the sender's ltag */
#define OAE_OFF_DST_LTAG	12	/* u32, the receiver's ltag, 0 unknown */
#define OAE_OFF_TX		16	/* u32, last committed by the sender */
#define OAE_OFF_RX		20	/* u32, last delivered by the sender */
#define OAE_OFF_SEQ		24	/* u32, the transaction the frame is about */
#define OAE_OFF_GRANT		28	/* u16, OAE_GRANT_UNIT bytes: what may cost all above rx */
#define OAE_OFF_REASON		30
#define OAE_OFF_MARKS		31	/* OAE_M_* */
#define OAE_OFF_PN		32	/* u32, question: its number */
#define OAE_OFF_ACK		32	/* u32, answer: the newest pn heard */
#define OAE_OFF_MAP		36	/* u32, answer: which of the 32 before it; else 0 */
#define OAE_OFF_DIGEST		40	/* u64 */
#define OAE_HDR_LEN		48

#define OAE_EXT_WORDS(bytes)	((bytes) / 4)

/* VIA extension: follows the base header when the flag VIA is set. */
#define OAE_OFF_VIA_DST		48	/* 6, final destination MAC */
#define OAE_OFF_VIA_SRC		54	/* 6, original source MAC */
#define OAE_VIA_LEN		12

#define OAE_HLEN_MAX		(OAE_HDR_LEN + OAE_VIA_LEN)

#define OAE_MAX_SLICES		64

enum oae_opcode {
	OAE_SYNC	= 1,	/* the sender's position; to be answered */
	OAE_SYNC_ACK	= 2,	/* the sender's position; it has resolved */
	OAE_SYNC_CHK	= 3,	/* the sender's ltag; to be asked again */
	OAE_CLOSE	= 4,
	OAE_CLOSE_ACK	= 5,
	OAE_OFFER	= 6,	/* a slice of a transaction */
	OAE_REFLECT	= 7,	/* digest of the OFFER as received */
	OAE_COMMIT	= 8,	/* tx: the last transaction committed */
	OAE_REFUSE	= 9,	/* not taken; the cause is in reason */
	OAE_READY	= 10,	/* more is granted, or words are free */
	/* 11 is free */
	OAE_DONE	= 12,	/* rx: the last transaction delivered */
	OAE_HELLO	= 13,	/* of a gateway, to one, or between hosts */
	OAE_NOLINK	= 14,	/* the sender has no tag for that ltag */
	OAE_PATH	= 15,	/* does this path lead to you? yes, it does */
	OAE_ASK		= 16,	/* what do you have of this transaction? */
	OAE_ACK		= 17,	/* these slices of it */
	OAE_OPCODE_END
};

#define OAE_F_EXPRESS		0x01	/* deliver when held, no COMMIT */
#define OAE_F_LAST		0x02	/* the last slice */
#define OAE_F_RESUME		0x04	/* keep the slices of an earlier run */
#define OAE_F_WANT_DONE		0x08	/* send DONE once delivered */
/* 0x10 is free */
#define OAE_F_VIA		0x20	/* VIA extension present */
#define OAE_F_AUTH		0x40	/* digests are keyed */
#define OAE_F_ALL		0x6f

/* Marks; others are for what is not built yet. */
#define OAE_M_NOW		0x01	/* answer: sent in the event that heard ack */
#define OAE_M_ANSWER		0x02	/* OFFER: please answer */
#define OAE_M_BLOCKED		0x04	/* COMMIT: the next number is not granted */

enum oae_kind {
	OAE_MESSAGE	= 0,
	OAE_SWAP	= 1,
	OAE_VERB	= 2,
	OAE_VOID	= 3,	/* nothing: it stands for what was reversed */
	OAE_PACK	= 4,	/* several messages */
	OAE_KIND_END
};

enum oae_reason {
	OAE_R_NONE	= 0,
	OAE_R_BUSY	= 1,	/* the end settles */
	/* 2 is free */
	OAE_R_NO_HALF	= 3,	/* swap: no half posted here */
	OAE_R_CONFLICT	= 4,	/* verb: the words are reserved */
	OAE_R_TOO_BIG	= 5,	/* longer than max_len; not offered again */
	OAE_R_KIND	= 6,	/* kind not served here; not offered again */
	OAE_R_POLICY	= 7,	/* CLOSE: this peer is not accepted */
	OAE_R_FULL	= 8,	/* CLOSE: no tag free */
	OAE_R_NO_REGION	= 9,	/* verb: no such region, or not for this peer */
	OAE_R_RANGE	= 10,	/* verb: words beyond the end of the region */
	OAE_R_ACCESS	= 11,	/* verb: the region does not permit it */
	OAE_R_BAD_VERB	= 12,	/* verb: the request is malformed */
	OAE_REASON_END
};

/* SYNC, SYNC_ACK, SYNC_CHK payload: byte offsets. */
#define OAE_SYNC_OFF_INC	0	/* u64, own incarnation */
#define OAE_SYNC_OFF_PEER_INC	8	/* u64, the peer's as known, 0 unknown */
#define OAE_SYNC_OFF_CAPS	16	/* u32, OAE_CAPS_* */
#define OAE_SYNC_OFF_MAX_LEN	20	/* u32, largest transaction taken, bytes */
#define OAE_SYNC_OFF_START	24	/* u32, tx before the sender's first one */
#define OAE_SYNC_OFF_MTU	28	/* u16, bytes after the Ethernet header */
#define OAE_SYNC_OFF_ZERO	30	/* 10, 0: for what is not built yet */
#define OAE_SYNC_OFF_KEPT	40	/* u64, bit n set: slice n of rx + 1 is kept */
#define OAE_SYNC_OFF_HASH	48	/* u64, of the hashes of these */
#define OAE_SYNC_OFF_LAST	56	/* u8, index of the last slice, OAE_SYNC_NO_LAST */
#define OAE_SYNC_OFF_ZERO2	57	/* 7, likewise */
#define OAE_SYNC_LEN		64

#define OAE_SYNC_NO_LAST	255	/* the last slice is not kept */

/* Capabilities. Bits that are not known are ignored. */
#define OAE_CAPS_WINDOW		0x3f	/* transactions under way, each way, less 1 */
#define OAE_CAPS_PACK		0x40	/* the sender takes packs */
#define OAE_CAPS_PATHS		0x80	/* the sender takes other paths than the link's own */
#define OAE_CAPS_GATEWAY	0x100	/* and such as go through gateways */
#define OAE_CAPS_MET		0x200	/* both ends took such since these incarnations met */
#define OAE_WINDOW_MAX		64
#define OAE_GRANT_UNIT		256U	/* bytes, of a grant */
#define OAE_SLICE_COST		1024U	/* bytes that each slice costs beside its own */

/* REFLECT payload; the responder's half or result follows it. */
#define OAE_REFLECT_OFF_DIGEST	0	/* u64, digest of the transaction as received */
#define OAE_REFLECT_OFF_FIRST	8	/* its first 8 bytes, padded with zeros */
#define OAE_REFLECT_LEN		16

/* HELLO payload: between hosts and the gateway of their zone; with NODE see below. */
#define OAE_HELLO_OFF_FLAGS	0	/* u8, OAE_HELLO_* */
#define OAE_HELLO_OFF_ZERO	1	/* u8, 0 */
#define OAE_HELLO_OFF_ZONE	2	/* u16, the sender's, 0 from a host */
#define OAE_HELLO_OFF_MTU	4	/* u16, bytes after the Ethernet header */
#define OAE_HELLO_OFF_EPOCH	6	/* u16, a new value voids every ABOUT */
#define OAE_HELLO_OFF_INC	8	/* u32, the gateway's incarnation */
#define OAE_HELLO_OFF_LIFE	12	/* u16, 100 ms: silence allowed a gateway */
#define OAE_HELLO_OFF_NODE_LIFE	14	/* u16, 100 ms: silence allowed a host */
#define OAE_HELLO_OFF_ABOUT	16	/* 6, the peer that mtu applies to */
#define OAE_HELLO_OFF_ZERO2	22	/* u16, 0 */
#define OAE_HELLO_LEN		24

#define OAE_HELLO_GATEWAY	0x01	/* the sender is a gateway */
#define OAE_HELLO_LEAVING	0x02	/* forget me */
#define OAE_HELLO_ASK		0x04	/* answer now */
#define OAE_HELLO_ABOUT		0x08	/* about one peer on this vc */
#define OAE_HELLO_ALL		0x0f	/* those of gateways, and of hosts to them */
#define OAE_HELLO_NODE		0x10	/* of a host, to its neighbours */

/* HELLO NODE payload: flags (NODE, perhaps LEAVING) and mtu as above; the others 0, but: */
#define OAE_HELLO_OFF_ID	8	/* u64, id of the sender, at least 2^48 */
#define OAE_HELLO_OFF_NODE_INC	16	/* u64, incarnation of the sender, not 0 */

/* PATH payload: a probe of a path, its answer, or where else the sender is. */
#define OAE_PATH_OFF_ROLE	0	/* u8, enum oae_path_role */
#define OAE_PATH_OFF_ZERO	1	/* u8, 0 */
#define OAE_PATH_OFF_MTU	2	/* u16, bytes after the Ethernet header */
#define OAE_PATH_OFF_TO		4	/* 6, the receiver's address, as the link knows it */
#define OAE_PATH_OFF_FROM	10	/* 6, the sender's */
#define OAE_PATH_OFF_NONCE	16	/* u64, the answer repeats it */
#define OAE_PATH_OFF_PROOF	24	/* u64, keyed by both incarnations */
#define OAE_PATH_LEN		32

enum oae_path_role {
	OAE_PATH_PROBE	= 1,
	OAE_PATH_ANSWER	= 2,
	OAE_PATH_PLACE	= 3,	/* behind a gateway I am at FROM; my id is NONCE */
};

/* Verb: the payload of its OFFER, then nops operations. */
#define OAE_VERB_OFF_REGION	0	/* u32, number of the region */
#define OAE_VERB_OFF_NOPS	4	/* u8, 1 to OAE_VERB_OPS */
#define OAE_VERB_OFF_ZERO	5	/* 3, 0 */
#define OAE_VERB_HDR_LEN	8

#define OAE_VOP_OFF_CODE		0	/* u8, enum oae_verb_code */
#define OAE_VOP_OFF_WORDS	1	/* u8, 1 to OAE_VERB_WORDS */
#define OAE_VOP_OFF_ZERO		2	/* u16, 0 */
#define OAE_VOP_OFF_INDEX	4	/* u32, of the first word */
#define OAE_VOP_HDR_LEN		8	/* then CAS: compares; all but READ: operands */

/* Verb: the answer, after the body of REFLECT; the old words follow. */
#define OAE_ANSWER_OFF_TAKEN	0	/* u8, 1: every comparison held */
#define OAE_ANSWER_OFF_FAILED	1	/* u8, first operation whose comparison failed */
#define OAE_ANSWER_OFF_ZERO	2	/* 6, 0 */
#define OAE_ANSWER_HDR_LEN	8

/* Pack: the payload of its OFFER; the bytes of the messages follow the lengths. */
#define OAE_PACK_OFF_COUNT	0	/* u8, number of messages, 1 to OAE_PACK_MSGS */
#define OAE_PACK_OFF_ZERO	1	/* u8, 0 */
#define OAE_PACK_HDR_LEN	2	/* then for each message: */
#define OAE_PACK_LEN_LEN	2	/* u16, its bytes, not 0 */
#define OAE_PACK_MSGS		64

/* ACK payload. */
#define OAE_ACK_OFF_HAVE	0	/* u64, bit n set: slice n is here */
#define OAE_ACK_LEN		8

/*
 * UDP ports: the payload of a datagram (doc/protocol.md 4.15). The frame follows, from
 * its base header on.
 */
#define OAE_UDP_OFF_VER_TYPE	0	/* high nibble version, low nibble type */
#define OAE_UDP_OFF_ZERO	1	/* u8, 0 */
#define OAE_UDP_OFF_DST		2	/* 6, MAC of the receiver; from here on an */
#define OAE_UDP_OFF_SRC		8	/* 6, MAC of the sender	   Ethernet header */
#define OAE_UDP_OFF_ETHERTYPE	14	/* u16 */
#define OAE_UDP_HDR_LEN		16

#define OAE_UDP_VERSION		1
#define OAE_UDP_FRAME		1	/* type: a frame */
#define OAE_UDP_PORT		34998	/* unless `dev` says another */
#define OAE_UDP_OUI		0x020ae0	/* of the MACs of UDP ports */

/* The longest payload that does not belong to a transaction. */
#define OAE_BODY_MAX		OAE_SYNC_LEN

/* The least MTU of a port: a SYNC with VIA fits, with room to spare. */
#define OAE_MIN_MTU		128

#endif /* OAE_WIRE_H */
