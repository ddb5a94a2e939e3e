// SPDX-License-Identifier: GPL-2.0
/*
 * A frame that is changed on its way is a frame that is lost: whatever bit of
 * it flips, it is dropped before a link sees it. That is tried here, on the
 * bytes of each frame that is ever in flight, once.
 */
#include <stdlib.h>
#include <xxhash.h>
#include "model.h"

#define KNOWN		0x100000

static u64 *known;		/* prints of the frames tried, 0 free */
static unsigned int nknown;

unsigned long m_flips;

static bool is_known(const struct m_frame *f)
{
	u64 print = XXH3_64bits(f, sizeof(*f)) | 1;
	unsigned int at = print % KNOWN;

	if (!known)
		known = calloc(KNOWN, sizeof(*known));
	if (!known || nknown > KNOWN / 2)
		return true;
	while (known[at]) {
		if (known[at] == print)
			return true;
		at = (at + 1) % KNOWN;
	}
	known[at] = print;
	nknown++;
	return false;
}

static bool accepted(const u8 *bytes, size_t len)
{
	struct oae_frame f;
	enum oae_bad bad;

	bad = oae_frame_parse(&f, bytes, len, len);
	if (!bad)
		bad = oae_frame_verify(&f, bytes,
				       oae_slice_hash(bytes + f.hdr_len,
						      f.length, f.slice));
	return !bad;
}

/**
 * m_corrupt() - flip each bit of a frame, if it was not tried before
 * @sc: the scenario
 * @to: which end it goes to
 * @m: the frame
 *
 * Return: true if it is taken for good as it is, and for bad with any bit
 * changed.
 */
bool m_corrupt(const struct m_scenario *sc, unsigned int to,
	       const struct m_frame *m)
{
	u8 bytes[OAE_PARSE_MAX + M_LEN + 1], payload[OAE_REFLECT_LEN + M_LEN];
	struct oae_frame f;
	size_t len, i, body = 0;
	bool good;

	if (is_known(m))
		return true;
	m_frame_of(m, sc, to, &f);
	if (f.opcode == OAE_REFLECT) {
		body = OAE_REFLECT_LEN;
		oae_reflect_body(&f, payload);
	}
	if (f.opcode == OAE_OFFER || f.length > body) {
		memset(payload + body, m->piece | m->reply, f.length - body);
		f.payload_hash = oae_slice_hash(payload, f.length, f.slice);
	}
	len = oae_frame_build(&f, bytes);
	if (f.opcode == OAE_OFFER || f.opcode == OAE_REFLECT) {
		memcpy(bytes + len, payload + body, f.length - body);
		len += f.length - body;
	}
	good = accepted(bytes, len);
	for (i = 0; good && i < 8 * len; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		good = !accepted(bytes, len);
		bytes[i / 8] ^= 1 << i % 8;
		m_flips++;
	}
	return good;
}
