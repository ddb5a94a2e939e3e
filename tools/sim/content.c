// SPDX-License-Identifier: GPL-2.0
/*
 * What transactions say. No two are alike, and no two words of one, so that any
 * mixture of slices shows. The first word is the id.
 *
 * Without --bytes a slice is not made: it is known by whose it is, where it
 * begins and how long it is, and hashes are of that.
 */
#include "sim.h"

static u64 mix(u64 v)
{
	v = (v ^ v >> 32) * 0xd6e8feb86659fd93ULL;
	v = (v ^ v >> 32) * 0xd6e8feb86659fd93ULL;
	return v ^ v >> 32;
}

/**
 * content_bytes() - a part of what a transaction says
 * @id: whose
 * @off: where the part begins
 * @len: its bytes
 * @buf: room for them
 */
void content_bytes(u64 id, u32 off, u32 len, u8 *buf)
{
	u64 word = 0;
	u32 i;

	for (i = off; i < off + len; i++) {
		if (i == off || !(i & 7))
			word = htobe64(i < 8 ? id : mix(id + (i >> 3)));
		buf[i - off] = ((const u8 *)&word)[i & 7];
	}
}

/**
 * content_hash() - the hash of a slice
 * @w: the world
 * @id: whose
 * @off: where the slice begins
 * @len: its bytes
 * @slice: its index
 *
 * Return: the hash.
 */
u64 content_hash(struct world *w, u64 id, u32 off, u32 len, u16 slice)
{
	if (!w->cfg->bytes)
		return mix(mix(id) ^ ((u64)off << 32 | len)) + slice;
	content_bytes(id, off, len, w->scratch);
	return oae_slice_hash(w->scratch, len, slice);
}

/**
 * content_keep() - keep the slice that a frame brought
 * @w: the world
 * @s: where
 * @p: the frame
 */
void content_keep(struct world *w, struct slice *s, const struct flight *p)
{
	s->id = p->id;
	s->off = p->off;
	s->len = p->f.length;
	if (w->cfg->bytes) {
		s->data = wire_data(w);
		memcpy(s->data, p->data + p->f.hdr_len, s->len);
	}
}

/**
 * content_drop() - forget a slice
 * @w: the world
 * @s: which
 */
void content_drop(struct world *w, struct slice *s)
{
	if (s->data)
		wire_data_free(w, s->data);
	s->data = NULL;
	s->id = TX_NONE;
}

static u64 delivered_bytes(struct world *w, const struct kept *k, unsigned int n,
			   u32 *len, const char **wrong)
{
	u8 *got = w->scratch, *said = w->scratch + w->knobs.max_len;
	const struct slice *s;
	unsigned int i;
	u64 id;

	*len = 0;
	for (i = 0; i < n; i++) {
		s = i ? &k->more[i - 1] : &k->slice;
		memcpy(got + *len, s->data, s->len);
		*len += s->len;
	}
	if (*len < sizeof(id)) {
		*wrong = "too short to be anybody's";
		return TX_NONE;
	}
	id = get_unaligned_be64(got);
	content_bytes(id, 0, *len, said);
	if (memcmp(got, said, *len))
		*wrong = "altered";
	return id;
}

/**
 * content_delivered() - put a transaction together of the slices kept
 * @w: the world
 * @k: where all of them are
 * @n: how many
 * @len: set to the bytes in all
 * @wrong: set to what is wrong with it, if something is
 *
 * Return: the id of what was delivered.
 */
u64 content_delivered(struct world *w, const struct kept *k, unsigned int n,
		      u32 *len, const char **wrong)
{
	const struct slice *s;
	unsigned int i;

	if (w->cfg->bytes)
		return delivered_bytes(w, k, n, len, wrong);
	*len = 0;
	for (i = 0; i < n; i++) {
		s = i ? &k->more[i - 1] : &k->slice;
		if (s->id != k->slice.id)
			*wrong = "mixed with another";
		else if (s->off != *len)
			*wrong = "put together wrongly";
		*len += s->len;
	}
	return k->slice.id;
}
