// SPDX-License-Identifier: GPL-2.0
/*
 * UDP ports (doc/protocol.md section 4.15). Pure.
 *
 * Where a frame goes: to the endpoint that the administrator has configured for the MAC;
 * else to the one that it was last heard from; else to the one that the MAC stands for.
 *
 * Anybody can send a datagram with any MAC and, on many networks, with any address. So one
 * datagram from elsewhere does not move a peer: its endpoint has to be silent before. Only
 * the endpoint that the MAC stands for takes the place of another at once, since an
 * administrator has given that address to that host. A peer that is configured never moves.
 */
#include "udpmap.h"

#define IPV4_HDR	20
#define IPV6_HDR	40
#define UDP_HDR		8

static const u8 udp_oui[] = {
	OAE_UDP_OUI >> 16, OAE_UDP_OUI >> 8 & 0xff, OAE_UDP_OUI & 0xff,
};

static unsigned int udp_addr_len(const struct oae_udp_end *end)
{
	return end->v6 ? OAE_UDP_V6_LEN : OAE_UDP_V4_LEN;
}

/* The low 24 bits of an address. */
static const u8 *udp_low24(const struct oae_udp_end *end)
{
	return end->addr + udp_addr_len(end) - sizeof(udp_oui);
}

/**
 * oae_udp_same() - compare two endpoints
 * @a: one
 * @b: the other
 *
 * Context: any.
 *
 * Return: true if they are the same.
 */
bool oae_udp_same(const struct oae_udp_end *a, const struct oae_udp_end *b)
{
	return a->port == b->port && a->v6 == b->v6 &&
	       !memcmp(a->addr, b->addr, udp_addr_len(a));
}

static bool udp_usable4(const u8 *addr)
{
	return addr[0] && addr[0] < 224;
}

static bool udp_usable6(const u8 *addr)
{
	static const u8 v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const u8 zero[OAE_UDP_V6_LEN - 1];

	if (addr[0] == 0xff || (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80))
		return false;
	return memcmp(addr, v4_mapped, sizeof(v4_mapped)) &&
	       (memcmp(addr, zero, sizeof(zero)) || addr[OAE_UDP_V6_LEN - 1]);
}

/**
 * oae_udp_usable() - can a host have this endpoint?
 * @end: the endpoint
 *
 * Context: any.
 *
 * Return: true for a port other than 0 and a unicast address that is valid without an
 * interface.
 */
bool oae_udp_usable(const struct oae_udp_end *end)
{
	return end->port && (end->v6 ? udp_usable6(end->addr) : udp_usable4(end->addr));
}

/**
 * oae_udp_mac() - the MAC of a UDP port
 * @end: its endpoint
 * @mac: filled in: the OUI, and the low 24 bits of the address
 *
 * Context: any.
 */
void oae_udp_mac(const struct oae_udp_end *end, u8 mac[OAE_UDP_MAC_LEN])
{
	memcpy(mac, udp_oui, sizeof(udp_oui));
	memcpy(mac + sizeof(udp_oui), udp_low24(end), sizeof(udp_oui));
}

/**
 * oae_udp_map() - the endpoint that a MAC stands for
 * @local: the endpoint of the own port, whose upper bits and UDP port it has
 * @mac: the MAC
 * @end: filled in; port 0 if the MAC stands for none: another OUI, the own address, or one
 *	that no host has
 *
 * Context: any.
 */
void oae_udp_map(const struct oae_udp_end *local, const u8 mac[OAE_UDP_MAC_LEN],
		 struct oae_udp_end *end)
{
	*end = *local;
	memcpy(end->addr + (udp_low24(end) - end->addr), mac + sizeof(udp_oui),
	       sizeof(udp_oui));
	if (memcmp(mac, udp_oui, sizeof(udp_oui)) || oae_udp_same(end, local) ||
	    !oae_udp_usable(end))
		end->port = 0;
}

/**
 * oae_udp_overhead() - what a datagram has beside the frame
 * @v6: over IPv6
 *
 * Context: any.
 *
 * Return: bytes.
 */
unsigned int oae_udp_overhead(bool v6)
{
	return (v6 ? IPV6_HDR : IPV4_HDR) + UDP_HDR + OAE_UDP_HDR_LEN;
}

/**
 * oae_udp_judge() - is a datagram believed to be from the peer whose MAC it has?
 * @known: what is known of the peer
 * @from: where it came from
 *
 * Context: any.
 *
 * Return: the verdict.
 */
enum oae_udp_verdict oae_udp_judge(const struct oae_udp_known *known,
				   const struct oae_udp_end *from)
{
	if (known->fixed.port && !oae_udp_same(from, &known->fixed))
		return OAE_UDP_REFUSE;
	if (known->learned.port && oae_udp_same(from, &known->learned))
		return OAE_UDP_KNOWN;
	if (!known->learned.port || known->fixed.port)
		return OAE_UDP_LEARN;
	if (known->mapped.port && oae_udp_same(from, &known->mapped))
		return OAE_UDP_LEARN;
	return known->silent >= known->patience ? OAE_UDP_LEARN : OAE_UDP_REFUSE;
}

/**
 * oae_udp_whither() - where frames for a peer go
 * @known: what is known of the peer
 *
 * Context: any.
 *
 * Return: the endpoint; NULL there is none.
 */
const struct oae_udp_end *oae_udp_whither(const struct oae_udp_known *known)
{
	if (known->fixed.port)
		return &known->fixed;
	if (known->learned.port)
		return &known->learned;
	return known->mapped.port ? &known->mapped : NULL;
}

/**
 * oae_udp_head_build() - build what precedes the Ethernet header in a datagram
 * @head: the bytes
 *
 * Context: any.
 */
void oae_udp_head_build(u8 head[OAE_UDP_OFF_DST])
{
	head[OAE_UDP_OFF_VER_TYPE] = OAE_UDP_VERSION << 4 | OAE_UDP_FRAME;
	head[OAE_UDP_OFF_ZERO] = 0;
}

/**
 * oae_udp_head_good() - check the header of a datagram
 * @head: its first OAE_UDP_HDR_LEN bytes, if it has so many
 * @len: bytes of the datagram
 *
 * The MACs are not looked at.
 *
 * Context: any.
 *
 * Return: true if a frame may follow it.
 */
bool oae_udp_head_good(const u8 *head, unsigned int len)
{
	return len >= OAE_UDP_HDR_LEN + OAE_HDR_LEN &&
	       head[OAE_UDP_OFF_VER_TYPE] == (OAE_UDP_VERSION << 4 | OAE_UDP_FRAME) &&
	       !head[OAE_UDP_OFF_ZERO];
}
