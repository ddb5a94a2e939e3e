// SPDX-License-Identifier: GPL-2.0
/*
 * HELLO between the gateway and the hosts of its zone (doc/gateway.md section 2.3;
 * doc/protocol.md section 4.8).
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>

#include "../../modoae/link/frame.h"
#include "net.h"

static void hello_fill(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oae_frame *f, u8 flags)
{
	memset(f, 0, sizeof(*f));
	f->opcode = OAE_HELLO;
	f->hello.flags = OAE_HELLO_GATEWAY | flags;
	f->hello.zone = map->mine->id;
	f->hello.mtu = READ_ONCE(gw->announced);
	f->hello.epoch = READ_ONCE(gw->epoch);
	f->hello.inc = READ_ONCE(gw->inc);
	f->hello.life = oaeip_tenths(oaeip_beat_life(gw));
	f->hello.node_life = oaeip_tenths(oaeip_node_life(gw));
}

static void hello_send(struct oaeip_gw *gw, const u8 *to,
		       const struct oae_frame *f)
{
	unsigned int room = LL_MAX_HEADER + OAE_PARSE_MAX;
	struct sk_buff *skb = alloc_skb(room, GFP_ATOMIC);

	if (!skb) {
		oaeip_no_memory(gw);
		return;
	}
	skb_reserve(skb, LL_MAX_HEADER);
	skb_put(skb, oae_frame_build(f, skb->data));
	oaeip_count(gw, OAEIP_S_HELLO_TX);
	oaeip_zone_xmit(gw, skb, to);
}

/**
 * oaeip_hello_ask() - send HELLO ASK to a node of the own zone
 * @gw: the gateway, serving
 * @mac: MAC address of the node
 *
 * Context: softirq; RCU read lock held.
 */
void oaeip_hello_ask(struct oaeip_gw *gw, const u8 *mac)
{
	struct oaeip_map *map = rcu_dereference(gw->map);
	struct oae_frame f;

	if (!map || !map->mine)
		return;
	hello_fill(gw, map, &f, OAE_HELLO_ASK);
	hello_send(gw, mac, &f);
}

/**
 * oaeip_hello_about() - send HELLO ABOUT: the MTU between a node and a peer
 * @gw: the gateway, serving
 * @to: MAC address of the node
 * @vc: virtual channel of its link
 * @about: MAC address of the peer
 * @mtu: bytes of the longest OAE frame, VIA included
 *
 * Context: softirq; RCU read lock held.
 */
void oaeip_hello_about(struct oaeip_gw *gw, const u8 *to, u8 vc,
		       const u8 *about, u32 mtu)
{
	struct oaeip_map *map = rcu_dereference(gw->map);
	struct oae_frame f;

	if (!map || !map->mine)
		return;
	hello_fill(gw, map, &f, OAE_HELLO_ABOUT);
	f.vc = vc;
	f.hello.mtu = mtu;
	ether_addr_copy(f.hello.about, about);
	hello_send(gw, to, &f);
}

/* The MTU to announce: the largest of all zones, at most that of the device. */
static u32 hello_announced_mtu(struct oaeip_gw *gw, const struct oaeip_map *map)
{
	struct oaeip_port *port = rcu_dereference(gw->port);
	u32 dev_mtu = port ? READ_ONCE(port->dev->mtu) : 0;
	unsigned int i;
	u32 best = 0;

	for (i = 0; i < map->n; i++)
		best = max(best, READ_ONCE(map->zone[i].mtu));
	return min_t(u32, best ? min(best, dev_mtu) : dev_mtu, U16_MAX);
}

/**
 * oaeip_hello_all() - broadcast HELLO in the own zone
 * @gw: the gateway, serving
 * @map: its map
 * @flags: OAE_HELLO_ASK, OAE_HELLO_LEAVING or 0
 *
 * Context: process; the caller keeps @map.
 */
void oaeip_hello_all(struct oaeip_gw *gw, struct oaeip_map *map, u8 flags)
{
	u8 everybody[ETH_ALEN];
	struct oae_frame f;

	eth_broadcast_addr(everybody);
	local_bh_disable();
	rcu_read_lock();
	WRITE_ONCE(gw->announced, hello_announced_mtu(gw, map));
	hello_fill(gw, map, &f, flags);
	hello_send(gw, everybody, &f);
	rcu_read_unlock();
	local_bh_enable();
}

/* Parse and verify a HELLO. False: counted, to be dropped. */
static bool hello_parse(struct oaeip_gw *gw, struct sk_buff *skb,
			struct oae_frame *f)
{
	enum oae_bad bad;
	u64 hash;

	if (!pskb_may_pull(skb, skb->len)) {
		oaeip_no_memory(gw);
		return false;
	}
	bad = oae_frame_parse(f, skb->data, skb->len, skb->len);
	if (bad || f->opcode != OAE_HELLO)
		goto bad;
	hash = oae_slice_hash(skb->data + f->hdr_len, f->length, 0);
	if (!oae_frame_verify(f, skb->data, hash))
		return true;
bad:
	oaeip_count(gw, OAEIP_S_BAD_FRAME);
	return false;
}

static void hello_other_gateway(struct oaeip_gw *gw, const struct oae_frame *f,
				const u8 *who)
{
	if (f->hello.flags & (OAE_HELLO_LEAVING | OAE_HELLO_ABOUT))
		return;
	oaeip_count(gw, OAEIP_S_OTHER_GATEWAY);
	if (oaeip_says(gw, 0))
		net_warn_ratelimited("%pM is a gateway too, for zone %u, on the device of mine\n",
				     who, f->hello.zone);
}

/**
 * oaeip_hello_rcv() - receive a HELLO in the zone
 * @gw: the gateway, serving
 * @map: its map
 * @skb: data at the base header, the Ethernet header before it; consumed
 *
 * Context: softirq; RCU read lock held; takes nodes_lock.
 */
void oaeip_hello_rcv(struct oaeip_gw *gw, struct oaeip_map *map,
		     struct sk_buff *skb)
{
	struct oae_frame f;
	u8 who[ETH_ALEN];

	if (!oaeip_allowed(gw, &gw->zone_window))
		goto out;
	oaeip_count(gw, OAEIP_S_HELLO_RX);
	ether_addr_copy(who, eth_hdr(skb)->h_source);
	if (!hello_parse(gw, skb, &f))
		goto out;
	if (!oaeip_unicast(who)) {
		oaeip_count(gw, OAEIP_S_BAD_MAC);
		goto out;
	}
	if (f.hello.flags & OAE_HELLO_GATEWAY)
		hello_other_gateway(gw, &f, who);
	else if (skb->pkt_type != PACKET_HOST || f.hello.flags & OAE_HELLO_NODE)
		oaeip_count(gw, OAEIP_S_NOT_MINE);
	else
		oaeip_mactbl_local(gw, map, who,
				   f.hello.flags & OAE_HELLO_LEAVING);
out:
	consume_skb(skb);
}
