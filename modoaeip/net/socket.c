// SPDX-License-Identifier: GPL-2.0
/*
 * The tunnel's sockets: opening, closing, receiving, and which senders are accepted
 * (doc/gateway.md section 6).
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <net/inet_ecn.h>
#include <net/udp_tunnel.h>

#include "net.h"

/* --- receiving ----------------------------------------------------------------- */

/*
 * True if the source address is that of the zone's gateway. The IP header precedes
 * skb->data.
 */
static bool socket_speaks_for(const struct oaeip_zone *zone,
			      const struct sk_buff *skb, bool v6)
{
	if (v6)
		return zone->addrs.has_v6 &&
		       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &zone->addrs.v6);
	return zone->addrs.has_v4 &&
	       ip_hdr(skb)->saddr == zone->addrs.v4.s_addr;
}

static bool socket_configured(const struct oaeip_map *map, const struct sk_buff *skb,
			      bool v6)
{
	unsigned int i;

	for (i = 0; i < map->n; i++)
		if (&map->zone[i] != map->mine &&
		    socket_speaks_for(&map->zone[i], skb, v6))
			return true;
	return false;
}

static void socket_log_stranger(const struct oaeip_gw *gw, const struct sk_buff *skb,
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
 * Find the zone of the gateway that sent a datagram. The source address must be in
 * gwips before anything of the datagram counts: a stranger's costs one counter.
 */
static struct oaeip_zone *socket_speaker(struct oaeip_gw *gw, struct oaeip_map *map,
					 struct sk_buff *skb, bool v6, u8 *type)
{
	struct oaeip_zone *zone = NULL;
	struct oaeip_encap e;
	enum oaeip_bad bad;

	if (!pskb_may_pull(skb, OAEIP_UDP_LEN)) {
		oaeip_count(gw, !socket_configured(map, skb, v6) ? OAEIP_S_BAD_PEER :
				skb->len >= OAEIP_UDP_LEN ? OAEIP_S_NO_MEMORY :
							    OAEIP_S_BAD_ENCAP);
		return NULL;
	}
	bad = oaeip_encap_parse(&e, skb->data + sizeof(struct udphdr),
				OAEIP_HDR_LEN,
				skb->len - sizeof(struct udphdr));
	if (!bad)
		zone = oaeip_zone_get(map, e.src_zone);
	if (likely(zone && zone != map->mine && socket_speaks_for(zone, skb, v6) &&
		   e.dst_zone == map->mine->id)) {
		*type = e.type;
		return zone;
	}
	if (!socket_configured(map, skb, v6)) {
		oaeip_count(gw, OAEIP_S_BAD_PEER);
		socket_log_stranger(gw, skb, v6);
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

static void socket_tunnel_rcv(struct oaeip_gw *gw, struct sk_buff *skb, bool v6)
{
	struct oaeip_map *map = rcu_dereference(gw->map);
	struct oaeip_zone *from;
	u8 tos, type;

	oaeip_count(gw, OAEIP_S_TUNNEL_RX);
	if (!map || !READ_ONCE(gw->inc)) {
		oaeip_count(gw, OAEIP_S_STANDBY);
		goto drop;
	}
	from = socket_speaker(gw, map, skb, v6, &type);
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
		skb_pull(skb, OAEIP_UDP_LEN);
		oaeip_control_rcv(gw, map, from, skb);
		return;
	}
	if (iptunnel_pull_header(skb, OAEIP_UDP_LEN, skb->protocol, false)) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		goto drop;
	}
	skb->priority = tos >> 5;
	oaeip_tunnel_data(gw, map, from, skb);
	return;
drop:
	kfree_skb(skb);
}

/* Consumes every datagram to the port: there is no other receiver. */
static int socket_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct oaeip_gw *gw = rcu_dereference_sk_user_data(sk);

	if (likely(gw))
		socket_tunnel_rcv(gw, skb, sk->sk_family == AF_INET6);
	else
		kfree_skb(skb);
	return 0;
}

/* Accept every ICMP error about a datagram to the port, whatever its source port. */
static int socket_err_lookup(struct sock *sk, struct sk_buff *skb)
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
		.encap_rcv = socket_rcv,
		.encap_err_lookup = socket_err_lookup,
	};
	int err;

	cfg->local_udp_port = htons(gw->knobs.port);
	cfg->use_udp_checksums = true;
	cfg->use_udp6_tx_checksums = true;
	cfg->use_udp6_rx_checksums = true;
	cfg->ipv6_v6only = true;
	err = udp_sock_create(gw->net, cfg, sock);
	if (oaeip_lacks_memory(err)) {
		oaeip_count(gw, OAEIP_S_NO_MEMORY);
		return err;
	}
	if (err) {
		if (oaeip_says(gw, 0))
			net_err_ratelimited("port: \"%u\" refused (%d): takes a UDP port that is free on the gateway's address\n",
					    gw->knobs.port, err);
		return err;
	}
	setup_udp_tunnel_sock(gw->net, oae_tunnel_setup_end(*sock), &tunnel);
	return 0;
}

/**
 * oaeip_socket_open() - open the tunnel's sockets on the own zone's addresses
 * @gw: the gateway
 * @map: its map, with a zone of its own
 *
 * On failure no socket is open.
 *
 * Context: process, may sleep; RTNL held.
 *
 * Return: 0, or the error of creating a socket. -ENOMEM and -ENOBUFS were counted,
 * other errors were logged.
 */
int oaeip_socket_open(struct oaeip_gw *gw, const struct oaeip_map *map)
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
		oaeip_socket_unpublish(gw);
		synchronize_net();
		oaeip_socket_close(gw);
	}
	return err;
}

/**
 * oaeip_socket_unpublish() - let no new sender find the sockets
 * @gw: the gateway
 *
 * Senders that have found a socket use it until the RCU grace period ends.
 *
 * Context: process; RTNL held.
 */
void oaeip_socket_unpublish(struct oaeip_gw *gw)
{
	RCU_INIT_POINTER(gw->sk4, NULL);
	RCU_INIT_POINTER(gw->sk6, NULL);
}

/**
 * oaeip_socket_close() - close the sockets
 * @gw: the gateway; nobody sends through the sockets any more
 *
 * Context: process, may sleep; RTNL held.
 */
void oaeip_socket_close(struct oaeip_gw *gw)
{
	if (gw->sock4)
		udp_tunnel_sock_release(oae_tunnel_release_end(gw->sock4));
	if (gw->sock6)
		udp_tunnel_sock_release(oae_tunnel_release_end(gw->sock6));
	gw->sock4 = NULL;
	gw->sock6 = NULL;
}
