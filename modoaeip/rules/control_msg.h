/* SPDX-License-Identifier: GPL-2.0 */
/* Control messages between gateways. Pure, see control_msg.c. */
#ifndef OAEIP_CONTROL_MSG_H
#define OAEIP_CONTROL_MSG_H

#include "encap.h"

/**
 * struct oaeip_control - a control message, in host byte order
 * @op: enum oaeip_op
 * @count: NODES: number of nodes, 1 to OAEIP_MAX_NODES; else 0
 * @inc: the sender's incarnation, not 0
 * @serial: increases with every message of this incarnation, and wraps
 * @life: validity of the message, units of 100 ms, not 0
 * @seen: BEAT: bytes of the longest PROBE received lately, 0 none; else 0
 * @nodes: parsed: the nodes, in the buffer; NULL if there are none
 */
struct oaeip_control {
	u8 op;
	u16 count;
	u16 life;
	u16 seen;
	u32 inc;
	u32 serial;
	const u8 *nodes;
};

/* The longest message except PROBE: the bytes that must be readable of a message. */
#define OAEIP_CONTROL_MAX \
	(OAEIP_CTL_LEN + OAEIP_MAX_NODES * OAEIP_NODE_LEN)

enum oaeip_bad oaeip_control_parse(struct oaeip_control *c, const u8 *buf,
				   size_t have, size_t total);
size_t oaeip_control_build(const struct oaeip_control *c, u8 *buf);
void oaeip_node_put(u8 *buf, unsigned int n, const u8 *mac, u8 flags);
const u8 *oaeip_node_get(const struct oaeip_control *c, unsigned int n,
			 u8 *flags);

/**
 * oaeip_serial_newer() - was one message sent after the other?
 * @a: a serial
 * @b: another of the same incarnation, less than 2^31 messages away
 *
 * Context: any.
 *
 * Return: true if @a is later than @b.
 */
static inline bool oaeip_serial_newer(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

#endif /* OAEIP_CONTROL_MSG_H */
