// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages received from other gateways (doc/gateway.md section 2.2). They
 * are handled in the softirq that receives them, which schedules the work if an
 * answer is due. zone/serve.c sends what this gateway has to say.
 */

#include "net.h"

static void control_heard(struct oaeip_gw *gw, struct oaeip_zone *zone,
			  enum oaeip_hearing hearing)
{
	u64 now = oaeip_now();
	u64 before = READ_ONCE(zone->heard);

	WRITE_ONCE(zone->heard, now);
	if (hearing != OAEIP_HEAR_NEW && before &&
	    now - before <= oaeip_beat_life(gw))
		return;
	oaeip_probe_reset(zone);
	WRITE_ONCE(zone->want, OAEIP_ASK_TIMES);
	WRITE_ONCE(gw->want_now, true);
	oaeip_kick(gw, 0);
}

/*
 * Handle NODES. A node of the own zone that another zone claims is sent a HELLO ASK
 * and has hello_ms to answer.
 */
static void control_told(struct oaeip_gw *gw, struct oaeip_map *map,
			 struct oaeip_zone *from, const struct oaeip_control *msg)
{
	const u8 *claimed;
	u64 now = oaeip_now();
	unsigned int i;

	for (i = 0; i < msg->count; i++) {
		if (oaeip_mactbl_told(gw, map, from, msg, i, &claimed))
			return;
		if (!claimed)
			continue;
		oaeip_hello_ask(gw, claimed);
		oaeip_kick_doubt(gw, now + READ_ONCE(gw->knobs.hello_ms));
	}
}

/* Handle a well-formed message of a gateway. */
static void control_hear(struct oaeip_gw *gw, struct oaeip_map *map,
			 struct oaeip_zone *from, const struct oaeip_control *msg,
			 u16 len)
{
	enum oaeip_hearing hearing = oaeip_mactbl_hear(map, from, msg);

	if (hearing == OAEIP_HEAR_LATE || hearing == OAEIP_HEAR_DEAD)
		oaeip_count(gw, OAEIP_S_OLD_CONTROL);
	if (hearing == OAEIP_HEAR_DEAD ||
	    (msg->op != OAEIP_BYE && msg->inc == READ_ONCE(from->dead_inc)))
		return;
	if (msg->op == OAEIP_BYE) {
		if (hearing != OAEIP_HEAR_LATE)
			oaeip_kick(gw, 0);
		return;
	}
	control_heard(gw, from, hearing);
	switch (msg->op) {
	case OAEIP_BEAT:
		oaeip_probe_heard(from, len);
		if (hearing != OAEIP_HEAR_LATE)
			oaeip_probe_seen(gw, from, msg->seen);
		break;
	case OAEIP_NODES:
		control_told(gw, map, from, msg);
		break;
	case OAEIP_ASK:
		if (hearing == OAEIP_HEAR_LATE)
			break;
		WRITE_ONCE(from->asked, true);
		oaeip_kick(gw, 5);
		break;
	case OAEIP_PROBE:
		oaeip_probe_heard(from, len);
		break;
	}
}

/**
 * oaeip_control_rcv() - receive a control message
 * @gw: the gateway, serving
 * @map: its map
 * @from: zone of the gateway that sent the message
 * @skb: data at the message; consumed
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 */
void oaeip_control_rcv(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, struct sk_buff *skb)
{
	unsigned int have = min_t(unsigned int, skb->len, OAEIP_CONTROL_MAX);
	struct oaeip_control msg;

	if (!oaeip_allowed(gw, &gw->tunnel_window))
		goto out;
	oaeip_count(gw, OAEIP_S_CONTROL_RX);
	if (!pskb_may_pull(skb, have)) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		goto out;
	}
	if (oaeip_control_parse(&msg, skb->data, have, skb->len)) {
		oaeip_count(gw, OAEIP_S_BAD_CONTROL);
		goto out;
	}
	control_hear(gw, map, from, &msg, skb->len + OAEIP_HDR_LEN);
out:
	consume_skb(skb);
}
