/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pumps send: a head that says whose transaction it is, and content
 * made from that, so that an altered, mixed or shortened one shows.
 */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAYLOAD_MAX	262144

struct head {
	uint32_t stream;
	uint32_t number;
	uint32_t len;
	uint32_t sum;
};

static inline uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352d;
	x ^= x >> 15;
	x *= 0x846ca68b;
	return x ^ x >> 16;
}

/* What follows the head; so long that an altered or mixed piece shows. */
static inline uint32_t fill(unsigned char *p, size_t len, uint32_t seed)
{
	uint32_t sum = seed;
	size_t i;

	for (i = 0; i + 4 <= len; i += 4) {
		seed = seed * 1664525 + 1013904223;
		memcpy(p + i, &seed, 4);
		sum = (sum << 5 | sum >> 27) ^ seed;
	}
	for (; i < len; i++)
		p[i] = (unsigned char)(seed >> (i & 3));
	return sum;
}

/* Make one, between min and max bytes long: its length. */
static inline size_t make_payload(unsigned char *p, uint32_t stream,
				  uint32_t number, size_t min, size_t max)
{
	struct head *h = (struct head *)p;
	uint32_t seed = mix(stream ^ mix(number));
	size_t len = min + (max > min ? seed % (max - min + 1) : 0);

	if (len < sizeof(*h))
		len = sizeof(*h);
	h->stream = stream;
	h->number = number;
	h->len = len;
	h->sum = fill(p + sizeof(*h), len - sizeof(*h), seed);
	return len;
}

static inline int intact(const unsigned char *p, size_t len)
{
	static unsigned char want[PAYLOAD_MAX];
	const struct head *h = (const struct head *)p;
	size_t rest = len - sizeof(*h);

	if (len < sizeof(*h) || h->len != len)
		return 0;
	if (fill(want, rest, mix(h->stream ^ mix(h->number))) != h->sum)
		return 0;
	return !memcmp(want, p + sizeof(*h), rest);
}

#endif /* PAYLOAD_H */
