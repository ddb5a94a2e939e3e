// SPDX-License-Identifier: GPL-2.0
/*
 * What the ends of oae perf say to each other, to and from bytes. Whoever can open
 * a link may send anything: each length and each member is checked here, once.
 */
#include <endian.h>
#include <string.h>

#include "perf.h"

/* Eight bytes with the version; then kind, mode, express, reason and five numbers. */
static const char magic[7] = { 'o', 'a', 'e', 'p', 'e', 'r', 'f' };

#define AT_VERSION	7
#define AT_SIZE		12
#define AT_SESSION	16
#define AT_MESSAGES	24
#define AT_BYTES	32
#define AT_ECHOED	40

static void put64(unsigned char *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, sizeof(v));
}

static uint64_t get64(const unsigned char *from)
{
	uint64_t v;

	memcpy(&v, from, sizeof(v));
	return be64toh(v);
}

void perf_put(const struct perf_head *h, unsigned char buf[PERF_HEAD_LEN])
{
	uint32_t size = htobe32(h->size);

	memcpy(buf, magic, sizeof(magic));
	buf[AT_VERSION] = h->version;
	buf[8] = h->kind;
	buf[9] = h->mode;
	buf[10] = h->express;
	buf[11] = h->reason;
	memcpy(buf + AT_SIZE, &size, sizeof(size));
	put64(buf + AT_SESSION, h->session);
	put64(buf + AT_MESSAGES, h->messages);
	put64(buf + AT_BYTES, h->bytes);
	put64(buf + AT_ECHOED, h->echoed);
}

enum perf_parsed perf_get(struct perf_head *h, const void *message, size_t len)
{
	const unsigned char *m = message;
	uint32_t size;

	memset(h, 0, sizeof(*h));
	if (len && m[0] == PERF_DATA)
		return PERF_IS_DATA;
	if (len <= AT_VERSION || memcmp(m, magic, sizeof(magic)))
		return PERF_STRANGE;
	h->version = m[AT_VERSION];
	if (len >= AT_SESSION + 8)
		h->session = get64(m + AT_SESSION);
	if (h->version != PERF_VERSION)
		return PERF_OTHER_VERSION;
	if (len != PERF_HEAD_LEN)
		return PERF_BAD_HEAD;
	h->kind = m[8];
	h->mode = m[9];
	h->express = m[10];
	h->reason = m[11];
	memcpy(&size, m + AT_SIZE, sizeof(size));
	h->size = be32toh(size);
	h->messages = get64(m + AT_MESSAGES);
	h->bytes = get64(m + AT_BYTES);
	h->echoed = get64(m + AT_ECHOED);
	if (!h->kind || h->kind >= PERF_KIND_END || h->mode >= PERF_MODE_END ||
	    h->express > 1 || h->reason >= PERF_REASON_END || h->size > PERF_MAX_SIZE)
		return PERF_BAD_HEAD;
	if (h->kind != PERF_REFUSED && (h->reason || !h->size))
		return PERF_BAD_HEAD;
	return PERF_HEAD;
}

static size_t number_len(size_t len)
{
	return len - 1 < 8 ? len - 1 : 8;
}

void perf_data_put(void *message, size_t len, uint64_t number)
{
	unsigned char *m = message;

	number = htole64(number);
	m[0] = PERF_DATA;
	memcpy(m + 1, &number, number_len(len));
}

bool perf_data_is(const void *message, size_t len, uint64_t number)
{
	const unsigned char *m = message;

	number = htole64(number);
	return len && m[0] == PERF_DATA && !memcmp(m + 1, &number, number_len(len));
}
