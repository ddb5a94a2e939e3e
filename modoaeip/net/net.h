/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames and messages: forwarding between zone and tunnel, control messages between
 * gateways, HELLO between the gateway and the hosts of its zone.
 */
#ifndef OAEIP_NET_H
#define OAEIP_NET_H

#include <linux/udp.h>

#include "../base/base.h"

/* Bytes between the IP header and the frame or message. */
#define OAEIP_UDP_LEN	(sizeof(struct udphdr) + OAEIP_HDR_LEN)

/* True for the errors by which the IP stack reports a failed allocation. */
static inline bool oaeip_lacks_memory(int err)
{
	return err == -ENOMEM || err == -ENOBUFS;
}

/* socket.c: the tunnel's sockets, and which senders are accepted */
int oaeip_socket_open(struct oaeip_gw *gw, const struct oaeip_map *map);
void oaeip_socket_unpublish(struct oaeip_gw *gw);
void oaeip_socket_close(struct oaeip_gw *gw);

/* forward.c: zone <-> tunnel */
int oaeip_zone_rcv(struct sk_buff *skb, struct net_device *dev,
		   struct packet_type *pt, struct net_device *orig_dev);
void oaeip_tunnel_data(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, struct sk_buff *skb);

/* control.c: control messages received */
void oaeip_control_rcv(struct oaeip_gw *gw, struct oaeip_map *map,
		       struct oaeip_zone *from, struct sk_buff *skb);

/* hello.c: HELLO in the zone */
void oaeip_hello_rcv(struct oaeip_gw *gw, struct oaeip_map *map,
		     struct sk_buff *skb);
void oaeip_hello_ask(struct oaeip_gw *gw, const u8 *mac);
void oaeip_hello_about(struct oaeip_gw *gw, const u8 *to, u8 vc,
		       const u8 *about, u32 mtu);
void oaeip_hello_all(struct oaeip_gw *gw, struct oaeip_map *map, u8 flags);

/* probe.c: PROBE, and paths that drop long datagrams */
void oaeip_probe_send(struct oaeip_gw *gw, struct oaeip_map *map,
		      struct oaeip_zone *zone);
void oaeip_probe_heard(struct oaeip_zone *zone, u16 len);
u16 oaeip_probe_report(struct oaeip_zone *zone);
void oaeip_probe_seen(struct oaeip_gw *gw, struct oaeip_zone *zone, u16 bytes);
void oaeip_probe_reset(struct oaeip_zone *zone);

/* tunnel.c: sending to gateways */
int oaeip_tunnel_xmit(struct oaeip_gw *gw, const struct oaeip_map *map,
		      struct oaeip_zone *zone, enum oaeip_type type,
		      struct sk_buff *skb);
void oaeip_tunnel_control(struct oaeip_gw *gw, struct oaeip_map *map,
			  struct oaeip_zone *zone, struct oaeip_control *msg,
			  const u8 *nodes, unsigned int len);
unsigned int oaeip_tunnel_headroom(void);
u32 oaeip_tunnel_least(const struct oaeip_zone *zone);
int oaeip_tunnel_route(struct oaeip_gw *gw, struct oaeip_zone *zone, char *buf,
		       size_t size);

/* xmit.c: sending into the zone */
int oaeip_zone_xmit(struct oaeip_gw *gw, struct sk_buff *skb, const u8 *dest);

#endif /* OAEIP_NET_H */
