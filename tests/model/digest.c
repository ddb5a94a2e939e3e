// SPDX-License-Identifier: GPL-2.0
/* Digests of all that can be heard, by number: a state holds the number. */
#include <stdlib.h>
#include "model.h"

#define PIECES		M_PIECE(M_TXS + 1, 0)
#define DIGEST_BUCKETS	0x20000

/* All that can be heard, or kept: any mixture of pieces. */
static u64 *digest_of;
static unsigned int ndigests;
static struct numbered {
	u64 digest;
	u16 number;
} bucket[DIGEST_BUCKETS];

/**
 * m_slice_hash() - what stands for the hash of a slice's payload
 * @piece: which transaction, cut how
 * @slice: index
 *
 * Return: another for each.
 */
u64 m_slice_hash(u8 piece, unsigned int slice)
{
	return ((u64)piece << 8 | slice) * 0x9e3779b97f4a7c15ULL;
}

static void add_digest(const u64 *hash, unsigned int n)
{
	u64 d = oae_whole_digest(hash, n);
	unsigned int i = d % DIGEST_BUCKETS;

	if (ndigests == 0xffff)
		abort();
	while (bucket[i].number)
		i = (i + 1) % DIGEST_BUCKETS;
	digest_of[++ndigests] = d;
	bucket[i].digest = d;
	bucket[i].number = ndigests;
}

/* Is it a piece that is cut into at least so many? */
static bool is_piece(unsigned int p, unsigned int n)
{
	return M_PIECE_ID(p) && M_PIECE_N(p) >= n;
}

/* Of slices of which one is the last that is kept, and perhaps another before it. */
static void add_kept(unsigned int before, unsigned int last)
{
	unsigned int i, j;
	u64 hash[2];

	for (i = 0; i < PIECES; i++) {
		if (!is_piece(i, last + 1))
			continue;
		hash[0] = m_slice_hash(i, last);
		if (before == last) {
			add_digest(hash, 1);
			continue;
		}
		hash[1] = hash[0];
		for (j = 0; j < PIECES; j++) {
			hash[0] = m_slice_hash(j, before);
			if (is_piece(j, last + 1))
				add_digest(hash, 2);
		}
	}
}

/**
 * m_digests() - number all digests there can be; once, at first
 */
void m_digests(void)
{
	unsigned int i, j, k;
	u64 hash[M_SLICES];

	digest_of = calloc(0x10000, sizeof(*digest_of));
	if (!digest_of)
		abort();
	/* Of nothing. */
	hash[0] = oae_slice_hash("", 0, 0);
	add_digest(hash, 1);
	for (i = 0; i < PIECES; i++) {
		hash[0] = m_slice_hash(i, 0);
		if (is_piece(i, 1))
			add_digest(hash, 1);
		for (j = 0; j < PIECES; j++) {
			hash[1] = m_slice_hash(j, 1);
			if (is_piece(i, 2) && is_piece(j, 2))
				add_digest(hash, 2);
			for (k = 0; k < PIECES; k++) {
				hash[2] = m_slice_hash(k, 2);
				if (is_piece(i, 3) && is_piece(j, 3) &&
				    is_piece(k, 3))
					add_digest(hash, 3);
			}
		}
	}
	/* Those from slice 0 on are like a whole. */
	add_kept(1, 1);
	add_kept(2, 2);
	add_kept(0, 2);
	add_kept(1, 2);
}

/**
 * m_digest() - the number of a digest
 * @digest: oae_whole_digest() of some pieces
 *
 * Return: 0 if it is of nothing that could be heard.
 */
u16 m_digest(u64 digest)
{
	unsigned int i = digest % DIGEST_BUCKETS;

	while (bucket[i].number && bucket[i].digest != digest)
		i = (i + 1) % DIGEST_BUCKETS;
	return bucket[i].number;
}

/**
 * m_digest_value() - the digest that has a number
 * @number: as m_digest() said
 *
 * Return: the digest.
 */
u64 m_digest_value(u16 number)
{
	return digest_of[number];
}

/**
 * m_whole() - the digest of a transaction
 * @piece: which, cut how
 * @n: its slices
 *
 * Return: the digest.
 */
u64 m_whole(u8 piece, u8 n)
{
	u64 hash[M_SLICES] = { 0 };
	unsigned int i;

	for (i = 0; i < n; i++)
		hash[i] = m_slice_hash(piece, i);
	return oae_whole_digest(hash, n);
}
