/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UDP ports (doc/protocol.md section 4.15): which MAC an IP address has, which endpoint a
 * MAC has, and from whom a datagram is believed. Pure.
 */
#ifndef OAE_UDPMAP_H
#define OAE_UDPMAP_H

#include "oae_types.h"
#include "../../include/oae_wire.h"

#define OAE_UDP_V4_LEN	4
#define OAE_UDP_V6_LEN	16
#define OAE_UDP_MAC_LEN	6

/**
 * struct oae_udp_end - an endpoint: an address and a UDP port
 * @addr: in the order of the network; of an IPv4 address the first four bytes, then zeros
 * @port: in the order of the host; 0 no endpoint
 * @v6: the address is one of IPv6
 */
struct oae_udp_end {
	u8 addr[OAE_UDP_V6_LEN];
	u16 port;
	bool v6;
};

/**
 * struct oae_udp_known - what is known of a peer, whose MAC is given
 * @fixed: the endpoint that the knob `udp_peers` has for it; port 0 none
 * @mapped: the endpoint that its MAC stands for; port 0 none
 * @learned: the endpoint that it was heard from; port 0 none
 * @silent: for how long it was not heard from there, ms
 * @patience: after which silence it may be heard from elsewhere, ms
 */
struct oae_udp_known {
	struct oae_udp_end fixed;
	struct oae_udp_end mapped;
	struct oae_udp_end learned;
	u32 silent;
	u32 patience;
};

/**
 * enum oae_udp_verdict - what becomes of a datagram
 * @OAE_UDP_REFUSE: it is dropped
 * @OAE_UDP_KNOWN: it is let in; it came from the endpoint that was learned
 * @OAE_UDP_LEARN: it is let in, and its endpoint is learned
 */
enum oae_udp_verdict {
	OAE_UDP_REFUSE,
	OAE_UDP_KNOWN,
	OAE_UDP_LEARN,
};

bool oae_udp_same(const struct oae_udp_end *a, const struct oae_udp_end *b);
bool oae_udp_usable(const struct oae_udp_end *end);
void oae_udp_mac(const struct oae_udp_end *end, u8 mac[OAE_UDP_MAC_LEN]);
void oae_udp_map(const struct oae_udp_end *local, const u8 mac[OAE_UDP_MAC_LEN],
		 struct oae_udp_end *end);
unsigned int oae_udp_overhead(bool v6);
enum oae_udp_verdict oae_udp_judge(const struct oae_udp_known *known,
				   const struct oae_udp_end *from);
const struct oae_udp_end *oae_udp_whither(const struct oae_udp_known *known);
void oae_udp_head_build(u8 head[OAE_UDP_OFF_DST]);
bool oae_udp_head_good(const u8 *head, unsigned int len);

#endif /* OAE_UDPMAP_H */
