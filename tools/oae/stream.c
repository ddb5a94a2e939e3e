// SPDX-License-Identifier: GPL-2.0
/* A stream of bytes as messages: heads, and the bytes that they are. See stream.h. */
#include <endian.h>
#include <string.h>

#include "stream.h"

static const unsigned char mark[7] = "OAEstr\1";	/* and the version */

void stream_put(const struct stream_head *h, unsigned char buf[STREAM_HEAD])
{
	uint64_t id = htobe64(h->id), number = htobe64(h->number);

	memcpy(buf, mark, sizeof(mark));
	buf[7] = h->kind;
	memcpy(buf + 8, &id, 8);
	memcpy(buf + 16, &number, 8);
}

bool stream_get(struct stream_head *h, const void *message, size_t len)
{
	const unsigned char *m = message;
	uint64_t id, number;

	if (len < STREAM_HEAD || memcmp(m, mark, sizeof(mark)) || m[7] < STREAM_BEGIN ||
	    m[7] > STREAM_STOP || (m[7] != STREAM_DATA && len != STREAM_HEAD))
		return false;
	memcpy(&id, m + 8, 8);
	memcpy(&number, m + 16, 8);
	h->kind = m[7];
	h->id = be64toh(id);
	h->number = be64toh(number);
	return true;
}
