// SPDX-License-Identifier: GPL-2.0
/*
 * The tunnel: UDP between gateways. Routing, neighbours, checksums and the path
 * MTU are the kernel's; what is ours is the eight bytes of the encapsulation
 * header, and who is let in.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_vlan.h>
#include <linux/jhash.h>
#include <net/inet_ecn.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/udp_tunnel.h>

#include "../modoaeip.h"

#define UDP_AND_ENCAP	(sizeof(struct udphdr) + OAEIP_HDR_LEN)
#define LEAST_IP	1280	/* what every IPv6 path carries */
#define FIRST_EPHEMERAL	49152

static unsigned int ip_len(const struct oaeip_zone *zone)
{
	return zone->family == AF_INET6 ? sizeof(struct ipv6hdr) :
					  sizeof(struct iphdr);
}

/**
 * oaeip_tunnel_headroom() - bytes that the tunnel puts before a frame
 *
 * Context: any.
 *
 * Return: bytes, without those of the link layer below.
 */
unsigned int oaeip_tunnel_headroom(void)
{
	return sizeof(struct ipv6hdr) + UDP_AND_ENCAP;
}

/* --- sending ------------------------------------------------------------------- */

static struct dst_entry *route4(struct oaeip_gw *gw, struct oaeip_zone *zone)
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

static struct dst_entry *route6(struct oaeip_gw *gw, struct oaeip_zone *zone,
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

/* Bytes of an OAE frame in an IP packet of so many. */
static u32 frame_mtu(const struct oaeip_zone *zone, u32 ip_mtu)
{
	u32 overhead = ip_len(zone) + UDP_AND_ENCAP;

	if (ip_mtu <= overhead)
		return 0;
	return min_t(u32, ip_mtu - overhead, U16_MAX - UDP_AND_ENCAP);
}

/* What the path carries by the kernel's word, and by the knob. */
static u32 path_mtu(struct oaeip_gw *gw, const struct oaeip_zone *zone,
		    u32 ip_mtu)
{
	u32 limit = READ_ONCE(gw->knobs.mtu);
	u32 mtu = frame_mtu(zone, ip_mtu);

	return limit ? min(mtu, limit) : mtu;
}

/**
 * oaeip_tunnel_least() - bytes of a frame that any path to a zone carries
 * @zone: the zone
 *
 * Context: any.
 *
 * Return: bytes.
 */
u32 oaeip_tunnel_least(const struct oaeip_zone *zone)
{
	return frame_mtu(zone, LEAST_IP);
}

/* The path carries so much; what may be used of it is not more. */
static void note_mtu(struct oaeip_gw *gw, struct oaeip_zone *zone, u32 path)
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
	/* Whoever heard the old one hears the new one now. */
	WRITE_ONCE(gw->epoch, gw->epoch + 1);
	WRITE_ONCE(gw->hello_now, true);
	oaeip_control_kick(gw, 0);
}

/* As the kernel's functions put it. */
static bool no_memory(int err)
{
	return err == -ENOMEM || err == -ENOBUFS;
}

/* The route to a zone, with a reference. */
static struct dst_entry *route(struct oaeip_gw *gw, struct oaeip_zone *zone,
			       struct sock *sk)
{
	struct dst_entry *dst;

	dst = zone->family == AF_INET6 ? route6(gw, zone, sk) :
					 route4(gw, zone);
	/* That there is no memory says nothing of the path. */
	if (no_memory(PTR_ERR_OR_ZERO(dst))) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return NULL;
	}
	if (IS_ERR(dst)) {
		note_mtu(gw, zone, 0);
		return NULL;
	}
	note_mtu(gw, zone, path_mtu(gw, zone, dst_mtu(dst)));
	return dst;
}

static struct sock *zone_sock(struct oaeip_gw *gw, struct oaeip_zone *zone)
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

/* Spread over paths and queues by link, as other tunnels do by flow. */
static __be16 source_port(struct oaeip_gw *gw, enum oaeip_type type,
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

static void push_encap(const struct oaeip_map *map, struct oaeip_zone *zone,
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

static void xmit(struct oaeip_gw *gw, struct oaeip_zone *zone,
		 struct sock *sk, struct dst_entry *dst, struct sk_buff *skb,
		 u8 tos, __be16 from)
{
	__be16 to = htons(READ_ONCE(gw->knobs.port));

	if (zone->family == AF_INET)
		oae_udp4_xmit(dst_rtable(dst), sk, skb, zone->src.v4.s_addr,
			      zone->addrs.v4.s_addr, tos,
			      ip4_dst_hoplimit(dst), htons(IP_DF), from, to,
			      false, false);
#if IS_ENABLED(CONFIG_IPV6)
	else
		oae_udp6_xmit(dst, sk, skb, NULL, &zone->src.v6,
			      &zone->addrs.v6, tos, ip6_dst_hoplimit(dst), 0,
			      from, to, false);
#endif
}

/**
 * oaeip_tunnel_xmit() - send to the gateway of a zone
 * @gw: the gateway, serving
 * @map: its map
 * @zone: to which zone
 * @type: what it is
 * @skb: data at the OAE frame or control message; consumed, but not with
 *	-EMSGSIZE
 *
 * Context: BH off, RCU read lock held.
 *
 * Return: 0; -EMSGSIZE: longer than the path carries, @skb is still the
 * caller's; -EHOSTUNREACH: no way there; -ENOMEM.
 */
int oaeip_tunnel_xmit(struct oaeip_gw *gw, const struct oaeip_map *map,
		      struct oaeip_zone *zone, enum oaeip_type type,
		      struct sk_buff *skb)
{
	u8 tos = (type == OAEIP_CONTROL ? 6 : min_t(u32, skb->priority, 7)) << 5;
	struct sock *sk = zone_sock(gw, zone);
	unsigned int len = skb->len;
	struct dst_entry *dst;
	__be16 from;
	u32 limit;

	dst = sk ? route(gw, zone, sk) : NULL;
	if (unlikely(!dst)) {
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	/* A PROBE finds out about what is not used. */
	limit = type == OAEIP_DATA ? READ_ONCE(zone->mtu) :
				     READ_ONCE(zone->path);
	if (unlikely(len > limit)) {
		dst_release(dst);
		return -EMSGSIZE;
	}
	from = source_port(gw, type, skb);
	if (unlikely(skb_cow_head(skb, LL_RESERVED_SPACE(dst->dev) +
				       dst->header_len + ip_len(zone) +
				       UDP_AND_ENCAP))) {
		dst_release(dst);
		kfree_skb(skb);
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return -ENOMEM;
	}
	push_encap(map, zone, type, skb);
	skb->dev = NULL;	/* no tunnel device whose counters to keep */
	__vlan_hwaccel_clear_tag(skb);
	skb->tstamp = 0;	/* when it came in is not when it is to go */
	skb->ip_summed = CHECKSUM_NONE;
	skb->encapsulation = 0;
	xmit(gw, zone, sk, dst, skb, tos, from);

	oaeip_count(gw, OAEIP_S_TUNNEL_TX);
	oaeip_count_n(gw, OAEIP_S_TUNNEL_TX_BYTES, len + OAEIP_HDR_LEN);
	return 0;
}

/**
 * oaeip_tunnel_route() - how a zone is reached, for people
 * @gw: the gateway
 * @zone: which zone
 * @buf: where to
 * @size: bytes there
 *
 * Context: process, RCU or RTNL held so that @zone stays. Learns the path MTU.
 *
 * Return: characters written; -EHOSTUNREACH: no way there.
 */
int oaeip_tunnel_route(struct oaeip_gw *gw, struct oaeip_zone *zone, char *buf,
		       size_t size)
{
	struct dst_entry *dst;
	int n = -EHOSTUNREACH;

	local_bh_disable();
	rcu_read_lock();
	dst = zone->family ? route(gw, zone, zone_sock(gw, zone)) : NULL;
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

/* --- receiving ----------------------------------------------------------------- */

/* Is this the address of a zone's gateway? The IP header is before the skb. */
static bool speaks_for(const struct oaeip_zone *zone,
		       const struct sk_buff *skb, bool v6)
{
	if (v6)
		return zone->addrs.has_v6 &&
		       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &zone->addrs.v6);
	return zone->addrs.has_v4 &&
	       ip_hdr(skb)->saddr == zone->addrs.v4.s_addr;
}

static bool configured(const struct oaeip_map *map, const struct sk_buff *skb,
		       bool v6)
{
	unsigned int i;

	for (i = 0; i < map->n; i++)
		if (&map->zone[i] != map->mine &&
		    speaks_for(&map->zone[i], skb, v6))
			return true;
	return false;
}

static void log_stranger(const struct oaeip_gw *gw, const struct sk_buff *skb,
			 bool v6)
{
	if (likely(!oaeip_says(gw, 2)))
		return;
	if (v6)
		net_info_ratelimited("datagram from %pI6c, which is no gateway\n",
				     &ipv6_hdr(skb)->saddr);
	else
		net_info_ratelimited("datagram from %pI4, which is no gateway\n",
				     &ip_hdr(skb)->saddr);
}

/*
 * Who sent it? Nobody's words are looked at before his address was found in
 * gwips: a stranger's datagram costs a counter.
 */
static struct oaeip_zone *speaker(struct oaeip_gw *gw, struct oaeip_map *map,
				  struct sk_buff *skb, bool v6, u8 *type)
{
	struct oaeip_zone *zone = NULL;
	struct oaeip_encap e;
	enum oaeip_bad bad;

	if (!pskb_may_pull(skb, UDP_AND_ENCAP)) {
		oaeip_count(gw, !configured(map, skb, v6) ? OAEIP_S_BAD_PEER :
				skb->len >= UDP_AND_ENCAP ? OAEIP_S_NO_MEMORY :
							    OAEIP_S_BAD_ENCAP);
		return NULL;
	}
	bad = oaeip_encap_parse(&e, skb->data + sizeof(struct udphdr),
				OAEIP_HDR_LEN,
				skb->len - sizeof(struct udphdr));
	if (!bad)
		zone = oaeip_zone_get(map, e.src_zone);
	if (likely(zone && zone != map->mine && speaks_for(zone, skb, v6) &&
		   e.dst_zone == map->mine->id)) {
		*type = e.type;
		return zone;
	}
	if (!configured(map, skb, v6)) {
		oaeip_count(gw, OAEIP_S_BAD_PEER);
		log_stranger(gw, skb, v6);
	} else if (bad) {
		oaeip_count(gw, OAEIP_S_BAD_ENCAP);
	} else {
		oaeip_count(gw, OAEIP_S_BAD_ZONE);
		if (oaeip_says(gw, 0))
			net_warn_ratelimited("a gateway speaks from zone %u to zone %u: gwips must be the same at all gateways\n",
					     e.src_zone, e.dst_zone);
	}
	return NULL;
}

static void tunnel_rcv(struct oaeip_gw *gw, struct sk_buff *skb, bool v6)
{
	struct oaeip_map *map = rcu_dereference(gw->map);
	struct oaeip_zone *from;
	u8 tos, type;

	oaeip_count(gw, OAEIP_S_TUNNEL_RX);
	if (!map || !READ_ONCE(gw->inc)) {
		oaeip_count(gw, OAEIP_S_STANDBY);
		goto drop;
	}
	from = speaker(gw, map, skb, v6, &type);
	if (!from)
		goto drop;
	oaeip_count_n(gw, OAEIP_S_TUNNEL_RX_BYTES,
		      skb->len - sizeof(struct udphdr));
	tos = v6 ? ipv6_get_dsfield(ipv6_hdr(skb)) : ip_hdr(skb)->tos;
	if (INET_ECN_is_ce(tos)) {
		oaeip_count(gw, OAEIP_S_BAD_ECN);
		goto drop;
	}
	if (type == OAEIP_CONTROL) {
		skb_pull(skb, UDP_AND_ENCAP);
		oaeip_control_rcv(gw, map, from, skb);
		return;
	}
	if (iptunnel_pull_header(skb, UDP_AND_ENCAP, skb->protocol, false)) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		goto drop;
	}
	skb->priority = tos >> 5;
	oaeip_tunnel_data(gw, map, from, skb);
	return;
drop:
	kfree_skb(skb);
}

/* Everything that comes to the port ends here: nobody else listens. */
static int rcv4(struct sock *sk, struct sk_buff *skb)
{
	struct oaeip_gw *gw = rcu_dereference_sk_user_data(sk);

	if (likely(gw))
		tunnel_rcv(gw, skb, false);
	else
		kfree_skb(skb);
	return 0;
}

static int rcv6(struct sock *sk, struct sk_buff *skb)
{
	struct oaeip_gw *gw = rcu_dereference_sk_user_data(sk);

	if (likely(gw))
		tunnel_rcv(gw, skb, true);
	else
		kfree_skb(skb);
	return 0;
}

/* An ICMP error about a datagram to our port is ours, whatever its source. */
static int err_lookup(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

/* --- sockets ------------------------------------------------------------------- */

static int open_socket(struct oaeip_gw *gw, struct udp_port_cfg *cfg,
		       struct socket **sock)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data = gw,
		.encap_type = 1,
		.encap_rcv = cfg->family == AF_INET ? rcv4 : rcv6,
		.encap_err_lookup = err_lookup,
	};
	int err;

	cfg->local_udp_port = htons(gw->knobs.port);
	cfg->use_udp_checksums = true;
	cfg->use_udp6_tx_checksums = true;
	cfg->use_udp6_rx_checksums = true;
	cfg->ipv6_v6only = true;
	err = udp_sock_create(gw->net, cfg, sock);
	if (no_memory(err)) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return err;
	}
	if (err) {
		if (oaeip_says(gw, 0))
			net_err_ratelimited("port: \"%u\" refused (%d): takes a UDP port that is free on the gateway's address\n",
					    gw->knobs.port, err);
		return err;
	}
	setup_udp_tunnel_sock(gw->net, oae_tunnel_end(*sock), &tunnel);
	return 0;
}

/**
 * oaeip_tunnel_open() - listen on my addresses
 * @gw: the gateway
 * @map: its map, in which a zone is mine
 *
 * Context: process, may sleep; RTNL held.
 *
 * Return: 0, or what binding a socket said, which was logged, or counted: no
 * memory; none is open then.
 */
int oaeip_tunnel_open(struct oaeip_gw *gw, const struct oaeip_map *map)
{
	struct udp_port_cfg v4 = {
		.family = AF_INET,
		.local_ip = map->mine->src.v4,
	};
#if IS_ENABLED(CONFIG_IPV6)
	struct udp_port_cfg v6 = {
		.family = AF_INET6,
		.local_ip6 = map->mine->src.v6,
	};
#endif
	int err = 0;

	if (map->mine->src.has_v4) {
		err = open_socket(gw, &v4, &gw->sock4);
		if (!err)
			rcu_assign_pointer(gw->sk4, gw->sock4->sk);
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (!err && map->mine->src.has_v6) {
		err = open_socket(gw, &v6, &gw->sock6);
		if (!err)
			rcu_assign_pointer(gw->sk6, gw->sock6->sk);
	}
#endif
	if (err) {
		oaeip_tunnel_unpublish(gw);
		synchronize_net();
		oaeip_tunnel_close(gw);
	}
	return err;
}

/**
 * oaeip_tunnel_unpublish() - let nobody find the sockets any more
 * @gw: the gateway
 *
 * Context: RTNL held. Who found them uses them until RCU's grace period ends.
 */
void oaeip_tunnel_unpublish(struct oaeip_gw *gw)
{
	RCU_INIT_POINTER(gw->sk4, NULL);
	RCU_INIT_POINTER(gw->sk6, NULL);
}

/**
 * oaeip_tunnel_close() - close the sockets
 * @gw: the gateway; nobody sends through them any more
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_tunnel_close(struct oaeip_gw *gw)
{
	if (gw->sock4)
		udp_tunnel_sock_release(oae_tunnel_end(gw->sock4));
	if (gw->sock6)
		udp_tunnel_sock_release(oae_tunnel_end(gw->sock6));
	gw->sock4 = NULL;
	gw->sock6 = NULL;
}
