// SPDX-License-Identifier: GPL-2.0
/* Bytes of frames, and the socket that they leave by: see wire.h. */
#include "wire.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint16_t wire_type = OAE_ETHERTYPE;

/**
 * dice_u32() - the next of a row of random numbers (splitmix64)
 * @d: which row
 */
uint32_t dice_u32(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) >> 32;
}

/**
 * dice_below() - a random number
 * @d: which row
 * @n: it is less than that
 */
uint32_t dice_below(struct dice *d, uint32_t n)
{
	return (uint64_t)dice_u32(d) * n >> 32;
}

void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

/**
 * wire_hash() - the hash of a payload
 * @payload: the payload
 * @len: its bytes
 * @slice: which slice it is
 */
uint64_t wire_hash(const void *payload, size_t len, uint16_t slice)
{
	return XXH64(payload, len, slice);
}

/* The digest, once all else is there. */
static void seal(uint8_t *oae, size_t hdr_len, uint64_t hash)
{
	put64(oae + OAE_OFF_DIGEST, 0);
	put64(oae + OAE_OFF_DIGEST, XXH64(oae, hdr_len, hash));
}

/**
 * wire_build() - the bytes of a frame
 * @f: the frame
 * @buf: room for WIRE_MAX
 *
 * Return: how many, from the Ethernet header on.
 */
size_t wire_build(const struct wire_frame *f, uint8_t *buf)
{
	size_t hdr_len = OAE_HDR_LEN + (f->flags & OAE_F_VIA ? OAE_VIA_LEN : 0);
	uint8_t *p = buf + WIRE_ETH;

	memcpy(buf, f->to, 6);
	memcpy(buf + 6, f->from, 6);
	put16(buf + 12, wire_type);
	p[OAE_OFF_VER_EXT] = OAE_VERSION << 4 | OAE_EXT_WORDS(hdr_len - OAE_HDR_LEN);
	p[OAE_OFF_OPCODE] = f->opcode;
	p[OAE_OFF_VC] = f->vc;
	p[OAE_OFF_FLAGS] = f->flags;
	put16(p + OAE_OFF_LENGTH, f->length);
	p[OAE_OFF_SLICE] = f->slice;
	p[OAE_OFF_KIND] = f->kind;
	put32(p + OAE_OFF_SRC_LTAG, f->src_ltag);
	put32(p + OAE_OFF_DST_LTAG, f->dst_ltag);
	put32(p + OAE_OFF_TX, f->tx);
	put32(p + OAE_OFF_RX, f->rx);
	put32(p + OAE_OFF_SEQ, f->seq);
	put16(p + OAE_OFF_GRANT, f->grant);
	p[OAE_OFF_REASON] = f->reason;
	p[OAE_OFF_MARKS] = f->marks;
	put32(p + OAE_OFF_PN, f->pn);
	put32(p + OAE_OFF_MAP, f->map);
	memcpy(p + OAE_HDR_LEN, f->via, hdr_len - OAE_HDR_LEN);
	memcpy(p + hdr_len, f->payload, f->length);
	seal(p, hdr_len, f->hash ? f->hash :
	     wire_hash(f->payload, f->length, f->slice));
	return WIRE_ETH + hdr_len + f->length;
}

/**
 * wire_seal() - make the digest right for what the bytes say, whatever that is
 * @buf: a frame
 * @len: its bytes
 */
void wire_seal(uint8_t *buf, size_t len)
{
	uint8_t *p = buf + WIRE_ETH;
	size_t hdr_len, have = len - WIRE_ETH, length;

	if (len < WIRE_ETH + OAE_HDR_LEN)
		return;
	hdr_len = OAE_HDR_LEN + (p[OAE_OFF_VER_EXT] & 15) * 4;
	if (hdr_len > have)
		hdr_len = OAE_HDR_LEN;
	length = get16(p + OAE_OFF_LENGTH);
	if (length > have - hdr_len)
		length = have - hdr_len;
	seal(p, hdr_len, wire_hash(p + hdr_len, length,
				   p[OAE_OFF_SLICE]));
}

/**
 * wire_parse() - what a frame of the module says
 * @f: filled in; its payload is in @buf
 * @buf: the frame
 * @len: its bytes
 *
 * Return: 0; -1 it is too short to say anything, or of another EtherType.
 */
int wire_parse(struct wire_frame *f, const uint8_t *buf, size_t len)
{
	const uint8_t *p = buf + WIRE_ETH;
	size_t hdr_len;

	if (len < WIRE_ETH + OAE_HDR_LEN || get16(buf + 12) != wire_type)
		return -1;
	hdr_len = OAE_HDR_LEN + (p[OAE_OFF_VER_EXT] & 15) * 4;
	memset(f, 0, sizeof(*f));
	memcpy(f->to, buf, 6);
	memcpy(f->from, buf + 6, 6);
	f->opcode = p[OAE_OFF_OPCODE];
	f->vc = p[OAE_OFF_VC];
	f->flags = p[OAE_OFF_FLAGS];
	f->length = get16(p + OAE_OFF_LENGTH);
	f->slice = p[OAE_OFF_SLICE];
	f->src_ltag = get32(p + OAE_OFF_SRC_LTAG);
	f->dst_ltag = get32(p + OAE_OFF_DST_LTAG);
	f->tx = get32(p + OAE_OFF_TX);
	f->rx = get32(p + OAE_OFF_RX);
	f->seq = get32(p + OAE_OFF_SEQ);
	f->kind = p[OAE_OFF_KIND];
	f->grant = get16(p + OAE_OFF_GRANT);
	f->reason = p[OAE_OFF_REASON];
	f->marks = p[OAE_OFF_MARKS];
	f->pn = get32(p + OAE_OFF_PN);
	f->map = get32(p + OAE_OFF_MAP);
	if (WIRE_ETH + hdr_len + f->length > len)
		return -1;
	if (f->flags & OAE_F_VIA)
		memcpy(f->via, p + OAE_OFF_VIA_DST, OAE_VIA_LEN);
	f->payload = p + hdr_len;
	return 0;
}

/**
 * mac_parse() - read an address
 * @text: 02:0a:e0:00:00:01
 * @mac: filled in
 *
 * Return: 0; -1 it is none.
 */
int mac_parse(const char *text, uint8_t mac[6])
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1,
		      mac + 2, mac + 3, mac + 4, mac + 5) == 6 ? 0 : -1;
}

/**
 * wire_open() - a socket for whole frames that go past the queues of a device
 * @dev: the device
 * @hear: frames of wire_type that come in can be read
 *
 * Return: the descriptor; -1 with errno.
 */
int wire_open(const char *dev, int hear)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1;
	int room = 8 << 20;
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = hear ? htons(wire_type) : 0,
		.sll_ifindex = if_nametoindex(dev),
	};

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (!to.sll_ifindex || bind(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}
