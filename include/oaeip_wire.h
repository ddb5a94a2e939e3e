/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format between gateways. No other file defines a number of it.
 *
 * All fields are big-endian. A datagram is UDP. Its payload is the
 * encapsulation header below, then an OAE frame from its base header on, or a
 * control message. doc/gateway.md section 2 describes the same format in prose.
 */
#ifndef OAEIP_WIRE_H
#define OAEIP_WIRE_H

#define OAEIP_PORT		34997	/* UDP port of every gateway */
#define OAEIP_VERSION		1

/* Encapsulation header: byte offsets. */
#define OAEIP_OFF_VER_TYPE	0	/* high nibble version, low nibble type */
#define OAEIP_OFF_FLAGS		1	/* u8, 0 */
#define OAEIP_OFF_SRC_ZONE	2	/* u16, from 1 */
#define OAEIP_OFF_DST_ZONE	4	/* u16, from 1 */
#define OAEIP_OFF_LENGTH	6	/* u16, bytes after this header */
#define OAEIP_HDR_LEN		8

enum oaeip_type {
	OAEIP_DATA	= 1,	/* an OAE frame with VIA */
	OAEIP_CONTROL	= 2,	/* a control message */
};

/* Control message: byte offsets after the encapsulation header. */
#define OAEIP_CTL_OFF_OP	0	/* u8, enum oaeip_op */
#define OAEIP_CTL_OFF_ZERO	1	/* u8, 0 */
#define OAEIP_CTL_OFF_COUNT	2	/* u16, NODES: number of entries */
#define OAEIP_CTL_OFF_INC	4	/* u32, the sender's incarnation, not 0 */
#define OAEIP_CTL_OFF_SERIAL	8	/* u32, increases with every message */
#define OAEIP_CTL_OFF_LIFE	12	/* u16, units of 100 ms: validity */
#define OAEIP_CTL_OFF_SEEN	14	/* u16, BEAT: longest PROBE received, bytes */
#define OAEIP_CTL_LEN		16

enum oaeip_op {
	OAEIP_BEAT	= 1,	/* the sender is alive */
	OAEIP_NODES	= 2,	/* nodes of the sender's zone, or gone from it */
	OAEIP_ASK	= 3,	/* the receiver is to send all its nodes */
	OAEIP_BYE	= 4,	/* the sender stops; its nodes are void */
	OAEIP_PROBE	= 5,	/* padded with zeros, to test the path MTU */
	OAEIP_OP_END
};

/* NODES: an entry. */
#define OAEIP_NODE_OFF_MAC	0	/* 6 */
#define OAEIP_NODE_OFF_FLAGS	6	/* u8, OAEIP_NODE_* */
#define OAEIP_NODE_OFF_ZERO	7	/* u8, 0 */
#define OAEIP_NODE_LEN		8
#define OAEIP_NODE_GONE		0x01	/* no longer in the sender's zone */
#define OAEIP_NODE_CLAIM	0x02	/* seen in the sender's zone: still in yours? */

/* The most that fit into 1280 bytes, which every IPv6 path carries. */
#define OAEIP_MAX_NODES		150

#define OAEIP_MAX_ZONES		64

#endif /* OAEIP_WIRE_H */
