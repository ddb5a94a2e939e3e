// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages between gateways: bytes <-> struct oaeip_control
 * (doc/gateway.md section 2.1).
 *
 * Pure: no allocation, no clock, no kernel facility. A message is accepted whole or
 * not at all: every node of it is checked before any is used.
 */
#include "control_msg.h"

static enum oaeip_bad msg_check_nodes(const struct oaeip_control *c)
{
	unsigned int i;
	const u8 *node;
	u8 flags;

	for (i = 0; i < c->count; i++) {
		node = c->nodes + i * OAEIP_NODE_LEN;
		flags = node[OAEIP_NODE_OFF_FLAGS];
		if (!oaeip_unicast(node + OAEIP_NODE_OFF_MAC))
			return OAEIP_BAD_MAC;
		if (flags && flags != OAEIP_NODE_GONE &&
		    flags != OAEIP_NODE_CLAIM)
			return OAEIP_BAD_FLAGS;
		if (node[OAEIP_NODE_OFF_ZERO])
			return OAEIP_BAD_FIELD;
	}
	return OAEIP_OK;
}

/**
 * oaeip_control_parse() - parse a control message
 * @c: filled in; undefined unless OAEIP_OK is returned
 * @buf: the message, from the byte after the encapsulation header
 * @have: bytes that may be read at @buf: OAEIP_CONTROL_MAX, or all
 * @total: bytes of the message
 *
 * The padding of a PROBE is not examined. @c->nodes points into @buf. The time is
 * bounded by that for OAEIP_MAX_NODES nodes.
 *
 * Context: any.
 *
 * Return: OAEIP_OK, or the cause for which to drop the message.
 */
enum oaeip_bad oaeip_control_parse(struct oaeip_control *c, const u8 *buf,
				   size_t have, size_t total)
{
	size_t need;

	if (have < OAEIP_CTL_LEN || total < have)
		return OAEIP_BAD_SHORT;

	c->op = buf[OAEIP_CTL_OFF_OP];
	c->count = get_unaligned_be16(buf + OAEIP_CTL_OFF_COUNT);
	c->inc = get_unaligned_be32(buf + OAEIP_CTL_OFF_INC);
	c->serial = get_unaligned_be32(buf + OAEIP_CTL_OFF_SERIAL);
	c->life = get_unaligned_be16(buf + OAEIP_CTL_OFF_LIFE);
	c->seen = get_unaligned_be16(buf + OAEIP_CTL_OFF_SEEN);
	c->nodes = NULL;
	if (!c->op || c->op >= OAEIP_OP_END)
		return OAEIP_BAD_OP;
	if (c->op == OAEIP_NODES ? !c->count || c->count > OAEIP_MAX_NODES :
				   c->count)
		return OAEIP_BAD_COUNT;
	if (buf[OAEIP_CTL_OFF_ZERO] || !c->inc || !c->life ||
	    (c->seen && c->op != OAEIP_BEAT))
		return OAEIP_BAD_FIELD;

	need = OAEIP_CTL_LEN + c->count * OAEIP_NODE_LEN;
	if (have < need)
		return OAEIP_BAD_SHORT;
	if (total > need && c->op != OAEIP_PROBE)
		return OAEIP_BAD_LONG;
	if (!c->count)
		return OAEIP_OK;
	c->nodes = buf + OAEIP_CTL_LEN;
	return msg_check_nodes(c);
}

/**
 * oaeip_control_build() - write the fixed part of a control message
 * @c: the message; @c->nodes is not used
 * @buf: room for OAEIP_CTL_LEN bytes
 *
 * oaeip_node_put() writes the nodes after it, before or after this call.
 *
 * Context: any.
 *
 * Return: bytes of the message including its nodes. The caller pads a PROBE with
 * zeros to the length it needs.
 */
size_t oaeip_control_build(const struct oaeip_control *c, u8 *buf)
{
	buf[OAEIP_CTL_OFF_OP] = c->op;
	buf[OAEIP_CTL_OFF_ZERO] = 0;
	put_unaligned_be16(c->count, buf + OAEIP_CTL_OFF_COUNT);
	put_unaligned_be32(c->inc, buf + OAEIP_CTL_OFF_INC);
	put_unaligned_be32(c->serial, buf + OAEIP_CTL_OFF_SERIAL);
	put_unaligned_be16(c->life, buf + OAEIP_CTL_OFF_LIFE);
	put_unaligned_be16(c->seen, buf + OAEIP_CTL_OFF_SEEN);
	return OAEIP_CTL_LEN + c->count * OAEIP_NODE_LEN;
}

/**
 * oaeip_node_put() - write a node of a NODES message
 * @buf: the message, from its beginning
 * @n: index of the node, from 0, below OAEIP_MAX_NODES
 * @mac: MAC address, 6 bytes
 * @flags: 0, OAEIP_NODE_GONE or OAEIP_NODE_CLAIM
 *
 * Context: any.
 */
void oaeip_node_put(u8 *buf, unsigned int n, const u8 *mac, u8 flags)
{
	u8 *node = buf + OAEIP_CTL_LEN + n * OAEIP_NODE_LEN;

	memcpy(node + OAEIP_NODE_OFF_MAC, mac, 6);
	node[OAEIP_NODE_OFF_FLAGS] = flags;
	node[OAEIP_NODE_OFF_ZERO] = 0;
}

/**
 * oaeip_node_get() - read a node of a NODES message
 * @c: the message, from oaeip_control_parse()
 * @n: index of the node, from 0, below @c->count
 * @flags: set to 0, OAEIP_NODE_GONE or OAEIP_NODE_CLAIM
 *
 * Context: any.
 *
 * Return: its MAC address, 6 bytes in the buffer of the message.
 */
const u8 *oaeip_node_get(const struct oaeip_control *c, unsigned int n,
			 u8 *flags)
{
	const u8 *node = c->nodes + n * OAEIP_NODE_LEN;

	*flags = node[OAEIP_NODE_OFF_FLAGS];
	return node + OAEIP_NODE_OFF_MAC;
}
