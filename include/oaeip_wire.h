/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between gateways: the one place where the datagrams are written down.
 *
 * All fields are big-endian. A datagram is UDP, and in it the encapsulation
 * header below, then an OAE frame from its base header on, or a control
 * message. doc/gateway.md is this file in prose.
 */
#ifndef OAEIP_WIRE_H
#define OAEIP_WIRE_H

#define OAEIP_PORT		34997	/* UDP, where gateways listen */
#define OAEIP_VERSION		1

/* Encapsulation header: byte offsets. */
#define OAEIP_OFF_VER_TYPE	0	/* high nibble version, low nibble type */
#define OAEIP_OFF_FLAGS		1	/* u8, 0 */
#define OAEIP_OFF_SRC_ZONE	2	/* u16, from 1 */
#define OAEIP_OFF_DST_ZONE	4	/* u16, from 1 */
#define OAEIP_OFF_LENGTH	6	/* u16, bytes behind this header */
#define OAEIP_HDR_LEN		8

enum oaeip_type {
	OAEIP_DATA	= 1,	/* an OAE frame with VIA */
	OAEIP_CONTROL	= 2,	/* a control message */
};

/* Control message: byte offsets behind the encapsulation header. */
#define OAEIP_CTL_OFF_OP	0	/* u8, enum oaeip_op */
#define OAEIP_CTL_OFF_ZERO	1	/* u8, 0 */
#define OAEIP_CTL_OFF_COUNT	2	/* u16, NODES: how many follow */
#define OAEIP_CTL_OFF_INC	4	/* u32, the sender's incarnation, not 0 */
#define OAEIP_CTL_OFF_SERIAL	8	/* u32, rises with every message */
#define OAEIP_CTL_OFF_LIFE	12	/* u16, 100 ms: good for so long */
#define OAEIP_CTL_OFF_SEEN	14	/* u16, BEAT: longest PROBE heard, bytes */
#define OAEIP_CTL_LEN		16

enum oaeip_op {
	OAEIP_BEAT	= 1,	/* I am here */
	OAEIP_NODES	= 2,	/* these are in my zone, or gone from it */
	OAEIP_ASK	= 3,	/* tell me all your nodes */
	OAEIP_BYE	= 4,	/* forget me and my nodes */
	OAEIP_PROBE	= 5,	/* padded with zeros: does this arrive? */
	OAEIP_OP_END
};

/* NODES: an entry. */
#define OAEIP_NODE_OFF_MAC	0	/* 6 */
#define OAEIP_NODE_OFF_FLAGS	6	/* u8, OAEIP_NODE_* */
#define OAEIP_NODE_OFF_ZERO	7	/* u8, 0 */
#define OAEIP_NODE_LEN		8
#define OAEIP_NODE_GONE		0x01	/* not in my zone any more */
#define OAEIP_NODE_CLAIM	0x02	/* I hear it; is it still in yours? */

/* So many fit into what every IPv6 path carries, 1280 bytes. */
#define OAEIP_MAX_NODES		150

#define OAEIP_MAX_ZONES		64

#endif /* OAEIP_WIRE_H */
