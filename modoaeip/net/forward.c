// SPDX-License-Identifier: GPL-2.0
/*
 * Forwarding from the zone into the tunnel and back, in softirq (doc/gateway.md
 * section 1). The OAE frame is neither changed nor copied. Its Ethernet header is
 * replaced by IP, UDP and encapsulation headers, and the other way round.
 */

#include <linux/etherdevice.h>

#include "net.h"

/*
 * The counter for a malformed outline. In a zone, a frame without VIA may be for
 * another receiver; in the tunnel it is malformed.
 */
static enum oaeip_stat forward_bad_stat(enum oaeip_bad bad, bool in_zone)
{
	switch (bad) {
	case OAEIP_BAD_MAC:
		return OAEIP_S_BAD_MAC;
	case OAEIP_BAD_VIA:
		return in_zone ? OAEIP_S_NOT_MINE : OAEIP_S_BAD_FRAME;
	default:
		return OAEIP_S_BAD_FRAME;
	}
}

/*
 * Parse a frame's outline. False: counted, to be dropped.
 *
 * A guest on this host can mark a frame as one to be cut up by its checksum and
 * length fields. OAE has no such frames. Behind the headers of the tunnel the mark
 * would stand for the datagram, and send a fragment for every few bytes of it.
 */
static bool forward_outline(struct oaeip_gw *gw, struct sk_buff *skb,
			    struct oaeip_outline *o, bool in_zone)
{
	unsigned int have = min_t(unsigned int, skb->len, OAEIP_OUTLINE_LEN);
	enum oaeip_bad bad;

	if (unlikely(skb_is_gso(skb))) {
		oaeip_count(gw, OAEIP_S_BAD_FRAME);
		return false;
	}
	if (!pskb_may_pull(skb, have)) {
		oaeip_no_memory(gw);
		return false;
	}
	bad = oaeip_outline_parse(o, skb->data, have, skb->len);
	if (unlikely(bad)) {
		oaeip_count(gw, forward_bad_stat(bad, in_zone));
		return false;
	}
	return true;
}

/*
 * Send the source a HELLO ABOUT with the MTU to the destination: after a frame that
 * was too long, and on a SYNC, before the source sends long frames.
 */
static void forward_tell_mtu(struct oaeip_gw *gw, const u8 *via, u8 vc, u32 mtu)
{
	/* 0: no route, so there is no MTU to announce. */
	if (!mtu || !oaeip_allowed(gw, &gw->zone_window))
		return;
	oaeip_count(gw, OAEIP_S_TOO_BIG_TOLD);
	oaeip_hello_about(gw, via + ETH_ALEN, vc, via, mtu);
}

static bool forward_is_sync(u8 opcode)
{
	return opcode == OAE_SYNC || opcode == OAE_SYNC_ACK;
}

/* Forward a valid frame of a node of the own zone to its destination's zone. */
static void forward_to_tunnel(struct oaeip_gw *gw, struct oaeip_map *map,
			      struct sk_buff *skb, const struct oaeip_outline *o)
{
	struct oaeip_node *node = oaeip_mactbl_find(map, o->via_dst);
	struct oaeip_zone *zone;
	u8 via[OAE_VIA_LEN];
	u8 vc = o->vc;

	if (unlikely(!node)) {
		oaeip_count(gw, OAEIP_S_UNKNOWN_DST);
		goto drop;
	}
	zone = oaeip_zone_get(map, READ_ONCE(node->owner.zone));
	if (unlikely(!zone || zone == map->mine)) {
		oaeip_count(gw, OAEIP_S_LOOP);
		goto drop;
	}
	/* Copied, since oaeip_tunnel_xmit() may free the skb. */
	memcpy(via, o->via_dst, sizeof(via));
	if (unlikely(forward_is_sync(o->opcode)) &&
	    READ_ONCE(zone->mtu) < READ_ONCE(gw->announced))
		forward_tell_mtu(gw, via, vc, READ_ONCE(zone->mtu));

	switch (oaeip_tunnel_xmit(gw, map, zone, OAEIP_DATA, skb)) {
	case 0:
		this_cpu_inc(zone->pcpu->tx_frames);
		return;
	case -EMSGSIZE:
		break;
	case -EHOSTUNREACH:
		oaeip_count(gw, OAEIP_S_UNREACHABLE);
		return;
	default:
		return;
	}
	oaeip_count(gw, OAEIP_S_TOO_BIG);
	forward_tell_mtu(gw, via, vc, READ_ONCE(zone->mtu));
drop:
	kfree_skb(skb);
}

static void forward_zone_frame(struct oaeip_gw *gw, struct oaeip_map *map,
			       struct sk_buff *skb)
{
	struct oaeip_outline o;

	if (!forward_outline(gw, skb, &o, true))
		goto drop;
	if (!o.via) {
		oaeip_hello_rcv(gw, map, skb);
		return;
	}
	if (unlikely(skb->pkt_type != PACKET_HOST)) {
		oaeip_count(gw, OAEIP_S_NOT_MINE);
		goto drop;
	}
	if (unlikely(!ether_addr_equal(eth_hdr(skb)->h_source,
				       o.via_src))) {
		oaeip_count(gw, OAEIP_S_BAD_SOURCE);
		goto drop;
	}
	if (unlikely(!oaeip_mactbl_local(gw, map, o.via_src, false)))
		goto drop;
	forward_to_tunnel(gw, map, skb, &o);
	return;
drop:
	kfree_skb(skb);
}

/**
 * oaeip_zone_rcv() - packet handler of the zone's device
 * @skb: the frame
 * @dev: the device
 * @pt: packet type of the port
 * @orig_dev: the device that received the frame, which may be below @dev. A frame
 *	addressed to a device stacked on the zone's does not belong to the zone
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 *
 * Return: NET_RX_SUCCESS or NET_RX_DROP; the skb is consumed.
 */
int oaeip_zone_rcv(struct sk_buff *skb, struct net_device *dev,
		   struct packet_type *pt, struct net_device *orig_dev)
{
	struct oaeip_port *port = container_of(pt, struct oaeip_port, pt);
	struct oaeip_gw *gw = port->gw;
	struct oaeip_map *map = rcu_dereference(gw->map);

	if (unlikely(dev != port->dev)) {
		consume_skb(skb);
		return NET_RX_SUCCESS;
	}
	if (skb->pkt_type != PACKET_HOST && skb->pkt_type != PACKET_BROADCAST) {
		/* A multicast, or seen only because the device is promiscuous. */
		if (skb->pkt_type != PACKET_OTHERHOST)
			oaeip_count(gw, OAEIP_S_NOT_MINE);
		goto drop;
	}
	if (unlikely(!oae_for_address(skb, dev))) {
		oaeip_count(gw, OAEIP_S_NOT_MINE);
		goto drop;
	}
	oaeip_count(gw, OAEIP_S_ZONE_RX);
	if (!map || !READ_ONCE(gw->inc)) {
		oaeip_count(gw, OAEIP_S_STANDBY);
		goto drop;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb) {
		oaeip_no_memory(gw);
		return NET_RX_DROP;
	}
	forward_zone_frame(gw, map, skb);
	return NET_RX_SUCCESS;
drop:
	kfree_skb(skb);
	return NET_RX_DROP;
}

/**
 * oaeip_tunnel_data() - forward a frame from another zone into the own zone
 * @gw: the gateway, serving
 * @map: its map
 * @from: the zone that the frame came from
 * @skb: data at the base header; consumed
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 */
void oaeip_tunnel_data(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, struct sk_buff *skb)
{
	struct oaeip_outline o;
	struct oaeip_node *node;
	u8 dest[ETH_ALEN];

	if (!forward_outline(gw, skb, &o, false))
		goto drop;
	if (unlikely(!o.via)) {
		oaeip_count(gw, OAEIP_S_BAD_FRAME);
		goto drop;
	}
	if (unlikely(!oaeip_mactbl_data(gw, map, from, o.via_src)))
		goto drop;
	node = oaeip_mactbl_find(map, o.via_dst);
	if (unlikely(!node)) {
		oaeip_count(gw, OAEIP_S_UNKNOWN_DST);
		goto drop;
	}
	if (unlikely(!READ_ONCE(node->owner.local))) {
		oaeip_count(gw, OAEIP_S_LOOP);
		goto drop;
	}
	this_cpu_inc(from->pcpu->rx_frames);
	ether_addr_copy(dest, o.via_dst);
	oaeip_zone_xmit(gw, skb, dest);
	return;
drop:
	kfree_skb(skb);
}
