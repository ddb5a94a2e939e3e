/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames for those who mean no good: any field may say anything, and the digest
 * is right all the same, so that it is not what stops them. Made and read here
 * anew from include/oae_wire.h, not by the module's own code.
 */
#ifndef STORM_WIRE_H
#define STORM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/oae_wire.h"

#define WIRE_ETH	14
#define WIRE_MAX	1514	/* bytes of a frame, from the Ethernet header on */
#define WIRE_PAYLOAD	(WIRE_MAX - WIRE_ETH - OAE_HDR_LEN)

/* Random numbers that a seed decides. */
struct dice {
	uint64_t state;
};

/* One frame. What a sender wants to lie about otherwise, it writes over. */
struct wire_frame {
	uint8_t to[6];
	uint8_t from[6];
	uint8_t opcode;
	uint8_t vc;
	uint8_t flags;
	uint8_t kind;
	uint8_t slice;
	uint8_t reason;
	uint8_t marks;
	uint16_t grant;		/* bytes, 256 each */
	uint16_t length;	/* of the payload */
	uint32_t src_ltag;
	uint32_t dst_ltag;
	uint32_t tx;
	uint32_t rx;
	uint32_t seq;
	uint32_t pn;		/* of a question; of an answer the newest that it has heard */
	uint32_t map;		/* and which before that */
	uint8_t via[OAE_VIA_LEN];
	const uint8_t *payload;
	uint64_t hash;		/* of the payload, 0: not known yet */
};

extern uint16_t wire_type;	/* EtherType */

uint32_t dice_u32(struct dice *d);
uint32_t dice_below(struct dice *d, uint32_t n);

uint64_t wire_hash(const void *payload, size_t len, uint16_t slice);
size_t wire_build(const struct wire_frame *f, uint8_t *buf);
void wire_seal(uint8_t *buf, size_t len);
int wire_parse(struct wire_frame *f, const uint8_t *buf, size_t len);

void put16(uint8_t *p, uint16_t v);
void put32(uint8_t *p, uint32_t v);
void put64(uint8_t *p, uint64_t v);
uint16_t get16(const uint8_t *p);
uint32_t get32(const uint8_t *p);
uint64_t get64(const uint8_t *p);

int mac_parse(const char *text, uint8_t mac[6]);
int wire_open(const char *dev, int hear);

#endif /* STORM_WIRE_H */
