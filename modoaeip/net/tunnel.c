// SPDX-License-Identifier: GPL-2.0
/*
 * The tunnel: UDP datagrams to gateways (doc/gateway.md sections 2.1 and 7). The
 * kernel does routing, neighbours, checksums and the path MTU. This file adds the
 * eight bytes of the encapsulation header.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include "net.h"

#define LEAST_IP	1280	/* bytes, the minimum MTU of IPv6 */
#define FIRST_EPHEMERAL	49152

static unsigned int tunnel_ip_len(const struct oaeip_zone *zone)
{
	return zone->family == AF_INET6 ? sizeof(struct ipv6hdr) :
					  sizeof(struct iphdr);
}

/**
 * oaeip_tunnel_headroom() - headroom that the tunnel needs before a frame
 *
 * Context: any.
 *
 * Return: bytes, without those of the link layer below IP.
 */
unsigned int oaeip_tunnel_headroom(void)
{
	return sizeof(struct ipv6hdr) + OAEIP_UDP_LEN;
}

static struct dst_entry *tunnel_route4(struct oaeip_gw *gw, struct oaeip_zone *zone)
{
	struct flowi4 fl = {
		.daddr = zone->addrs.v4.s_addr,
		.saddr = zone->src.v4.s_addr,
		.flowi4_proto = IPPROTO_UDP,
	};
	struct rtable *rt;
	__be32 saddr;

	rt = dst_cache_get_ip4(&zone->cache, &saddr);
	if (likely(rt))
		return &rt->dst;
	rt = ip_route_output_flow(gw->net, &fl, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	dst_cache_set_ip4(&zone->cache, &rt->dst, fl.saddr);
	return &rt->dst;
}

static struct dst_entry *tunnel_route6(struct oaeip_gw *gw, struct oaeip_zone *zone,
				       struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct flowi6 fl = {
		.daddr = zone->addrs.v6,
		.saddr = zone->src.v6,
		.flowi6_proto = IPPROTO_UDP,
	};
	struct dst_entry *dst;
	struct in6_addr saddr;

	dst = dst_cache_get_ip6(&zone->cache, &saddr);
	if (likely(dst))
		return dst;
	dst = ip6_dst_lookup_flow(gw->net, sk, &fl, NULL);
	if (!IS_ERR(dst))
		dst_cache_set_ip6(&zone->cache, dst, &fl.saddr);
	return dst;
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/* Bytes of the longest OAE frame in an IP packet of @ip_mtu bytes. */
static u32 tunnel_frame_mtu(const struct oaeip_zone *zone, u32 ip_mtu)
{
	u32 overhead = tunnel_ip_len(zone) + OAEIP_UDP_LEN;

	if (ip_mtu <= overhead)
		return 0;
	return min_t(u32, ip_mtu - overhead, U16_MAX - OAEIP_UDP_LEN);
}

/* Bytes of the longest OAE frame by the route's MTU and the knob mtu. */
static u32 tunnel_path_mtu(struct oaeip_gw *gw, const struct oaeip_zone *zone,
			   u32 ip_mtu)
{
	u32 limit = READ_ONCE(gw->knobs.mtu);
	u32 mtu = tunnel_frame_mtu(zone, ip_mtu);

	return limit ? min(mtu, limit) : mtu;
}

/**
 * oaeip_tunnel_least() - the longest frame that every path to a zone carries
 * @zone: the zone
 *
 * Context: any.
 *
 * Return: bytes of the OAE frame.
 */
u32 oaeip_tunnel_least(const struct oaeip_zone *zone)
{
	return tunnel_frame_mtu(zone, LEAST_IP);
}

/* Note the MTU of the path. What is used is at most @path, and less with a cap. */
static void tunnel_note_mtu(struct oaeip_gw *gw, struct oaeip_zone *zone, u32 path)
{
	u32 cap = READ_ONCE(zone->cap);
	u32 mtu = cap ? min(path, cap) : path;
	u32 before = READ_ONCE(zone->mtu);

	if (READ_ONCE(zone->path) != path)
		WRITE_ONCE(zone->path, path);
	if (likely(before == mtu))
		return;
	WRITE_ONCE(zone->mtu, mtu);
	if (!READ_ONCE(gw->inc))
		return;
	if (before)
		oaeip_count(gw, OAEIP_S_MTU_CHANGED);
	if (before && oaeip_says(gw, 1))
		net_info_ratelimited("zone %u: %u bytes a frame, were %u\n",
				     zone->id, mtu, before);
	/* Hosts that know the old MTU are sent the new one at once. */
	WRITE_ONCE(gw->epoch, gw->epoch + 1);
	WRITE_ONCE(gw->hello_now, true);
	oaeip_kick(gw, 0);
}

/* The route to a zone, with a reference; NULL: none. Notes the MTU of the path. */
static struct dst_entry *tunnel_route(struct oaeip_gw *gw, struct oaeip_zone *zone,
				      struct sock *sk)
{
	struct dst_entry *dst;

	dst = zone->family == AF_INET6 ? tunnel_route6(gw, zone, sk) :
					 tunnel_route4(gw, zone);
	/* A failed allocation says nothing about the path. */
	if (oaeip_lacks_memory(PTR_ERR_OR_ZERO(dst))) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return NULL;
	}
	if (IS_ERR(dst)) {
		tunnel_note_mtu(gw, zone, 0);
		return NULL;
	}
	tunnel_note_mtu(gw, zone, tunnel_path_mtu(gw, zone, dst_mtu(dst)));
	return dst;
}

static struct sock *tunnel_zone_sock(struct oaeip_gw *gw, struct oaeip_zone *zone)
{
	switch (zone->family) {
	case AF_INET:
		return rcu_dereference(gw->sk4);
	case AF_INET6:
		return rcu_dereference(gw->sk6);
	default:
		return NULL;
	}
}

/* Spread links over paths and queues, as other tunnels spread flows. */
static __be16 tunnel_source_port(struct oaeip_gw *gw, enum oaeip_type type,
				 const struct sk_buff *skb)
{
	u32 hash;

	if (type != OAEIP_DATA)
		return htons(READ_ONCE(gw->knobs.port));
	hash = jhash(skb->data + OAE_OFF_VIA_DST, OAE_VIA_LEN,
		     skb->data[OAE_OFF_VC]);
	return htons(FIRST_EPHEMERAL +
		     reciprocal_scale(hash, 65536 - FIRST_EPHEMERAL));
}

static void tunnel_push_encap(const struct oaeip_map *map, struct oaeip_zone *zone,
			      enum oaeip_type type, struct sk_buff *skb)
{
	struct oaeip_encap e = {
		.type = type,
		.src_zone = map->mine->id,
		.dst_zone = zone->id,
		.length = skb->len,
	};

	oaeip_encap_build(&e, skb_push(skb, OAEIP_HDR_LEN));
}

static void tunnel_xmit(struct oaeip_gw *gw, struct oaeip_zone *zone,
			struct sock *sk, struct dst_entry *dst, struct sk_buff *skb,
			u8 tos, __be16 from)
{
	__be16 to = htons(READ_ONCE(gw->knobs.port));

	if (zone->family == AF_INET)
		oae_udp_xmit4_by(udp_tunnel_xmit_skb, oae_rtable(dst), sk, skb,
				 zone->src.v4.s_addr, zone->addrs.v4.s_addr, tos,
				 ip4_dst_hoplimit(dst), htons(IP_DF), from, to,
				 false, false);
#if IS_ENABLED(CONFIG_IPV6)
	else
		oae_udp_xmit6_by(udp_tunnel6_xmit_skb, dst, sk, skb, NULL,
				 &zone->src.v6, &zone->addrs.v6, tos,
				 ip6_dst_hoplimit(dst), 0, from, to, false);
#endif
}

/**
 * oaeip_tunnel_xmit() - send a frame or control message to the gateway of a zone
 * @gw: the gateway, serving
 * @map: its map
 * @zone: the destination zone
 * @type: OAEIP_DATA or OAEIP_CONTROL
 * @skb: data at the OAE frame or control message; consumed, except with
 *	-EMSGSIZE
 *
 * Context: softirq, or process with BH off; RCU read lock held.
 *
 * Return: 0; -EMSGSIZE: longer than the path carries, the caller keeps @skb;
 * -EHOSTUNREACH: no route; -ENOMEM.
 */
int oaeip_tunnel_xmit(struct oaeip_gw *gw, const struct oaeip_map *map,
		      struct oaeip_zone *zone, enum oaeip_type type,
		      struct sk_buff *skb)
{
	u8 tos = (type == OAEIP_CONTROL ? 6 : min_t(u32, skb->priority, 7)) << 5;
	struct sock *sk = tunnel_zone_sock(gw, zone);
	unsigned int len = skb->len;
	struct dst_entry *dst;
	__be16 from;
	u32 limit;

	dst = sk ? tunnel_route(gw, zone, sk) : NULL;
	if (unlikely(!dst)) {
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	/* A PROBE may be longer than what is used of the path. */
	limit = type == OAEIP_DATA ? READ_ONCE(zone->mtu) :
				     READ_ONCE(zone->path);
	if (unlikely(len > limit)) {
		dst_release(dst);
		return -EMSGSIZE;
	}
	from = tunnel_source_port(gw, type, skb);
	if (unlikely(skb_cow_head(skb, LL_RESERVED_SPACE(dst->dev) +
				       dst->header_len + tunnel_ip_len(zone) +
				       OAEIP_UDP_LEN))) {
		dst_release(dst);
		kfree_skb(skb);
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return -ENOMEM;
	}
	tunnel_push_encap(map, zone, type, skb);
	skb->dev = NULL;	/* no tunnel device keeps counters */
	__vlan_hwaccel_clear_tag(skb);
	skb->tstamp = 0;	/* the time of arrival is no departure time */
	skb->ip_summed = CHECKSUM_NONE;
	skb->encapsulation = 0;
	tunnel_xmit(gw, zone, sk, dst, skb, tos, from);

	oaeip_count(gw, OAEIP_S_TUNNEL_TX);
	oaeip_count_n(gw, OAEIP_S_TUNNEL_TX_BYTES, len + OAEIP_HDR_LEN);
	return 0;
}

/**
 * oaeip_tunnel_control() - send a control message to the gateway of a zone
 * @gw: the gateway, serving
 * @map: its map
 * @zone: the destination zone
 * @msg: the message; inc and serial are filled in
 * @nodes: the bytes after the fixed part; NULL: zeros
 * @len: number of these bytes
 *
 * Context: process, may sleep; the caller keeps @map.
 */
void oaeip_tunnel_control(struct oaeip_gw *gw, struct oaeip_map *map,
			  struct oaeip_zone *zone, struct oaeip_control *msg,
			  const u8 *nodes, unsigned int len)
{
	unsigned int head = LL_MAX_HEADER + oaeip_tunnel_headroom();
	struct sk_buff *skb;
	int err;

	if (!zone->family)
		return;
	skb = alloc_skb(head + OAEIP_CTL_LEN + len, GFP_KERNEL);
	if (!skb) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return;
	}
	skb_reserve(skb, head);
	msg->inc = gw->inc;
	msg->serial = atomic_inc_return(&gw->serial);
	oaeip_control_build(msg, skb_put(skb, OAEIP_CTL_LEN));
	if (nodes)
		skb_put_data(skb, nodes, len);
	else
		skb_put_zero(skb, len);
	local_bh_disable();
	rcu_read_lock();
	err = oaeip_tunnel_xmit(gw, map, zone, OAEIP_CONTROL, skb);
	if (!err)
		oaeip_count(gw, OAEIP_S_CONTROL_TX);
	else if (err == -EMSGSIZE)
		kfree_skb(skb);
	rcu_read_unlock();
	local_bh_enable();
}

/**
 * oaeip_tunnel_route() - print the route to a zone, for people
 * @gw: the gateway
 * @zone: the zone
 * @buf: the buffer
 * @size: bytes at @buf
 *
 * Updates the MTU of the zone.
 *
 * Context: process; RCU read lock or RTNL held, which keeps @zone.
 *
 * Return: characters written; -EHOSTUNREACH: no route.
 */
int oaeip_tunnel_route(struct oaeip_gw *gw, struct oaeip_zone *zone, char *buf,
		       size_t size)
{
	struct dst_entry *dst;
	int n = -EHOSTUNREACH;

	local_bh_disable();
	rcu_read_lock();
	dst = zone->family ? tunnel_route(gw, zone, tunnel_zone_sock(gw, zone)) : NULL;
	if (dst) {
		n = scnprintf(buf, size, "%s from ", dst->dev->name);
		n += zone->family == AF_INET6 ?
		     scnprintf(buf + n, size - n, "%pI6c", &zone->src.v6) :
		     scnprintf(buf + n, size - n, "%pI4", &zone->src.v4);
		dst_release(dst);
	}
	rcu_read_unlock();
	local_bh_enable();
	return n;
}
