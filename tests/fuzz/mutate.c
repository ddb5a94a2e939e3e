// SPDX-License-Identifier: GPL-2.0
/*
 * Mutation by records: an event more, one less, two exchanged, some once more,
 * a byte of one changed. Else libFuzzer's own ways, which know of no records.
 */
#include "fuzz.h"

static u64 rng;

static unsigned int upto(size_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 16) % n;
}

/* Make room for records, at their place; what is there says nothing. */
static bool insert(u8 *data, size_t *size, size_t max, size_t at, size_t bytes)
{
	if (*size + bytes > max)
		return false;
	memmove(data + at + bytes, data + at, *size - at);
	*size += bytes;
	return true;
}

static void remove_some(u8 *data, size_t *size, size_t at, size_t bytes)
{
	memmove(data + at, data + at + bytes, *size - at - bytes);
	*size -= bytes;
}

/* A new event: one kind, and few of its arguments out of the ordinary. */
static void new_record(u8 *rec)
{
	size_t i;

	for (i = 0; i < fuzz_record; i++)
		rec[i] = !i || !upto(3) ? upto(256) : 0;
}

static void change_byte(u8 *byte)
{
	switch (upto(4)) {
	case 0:
		*byte = 0;
		break;
	case 1:
		*byte ^= 1 << upto(8);
		break;
	case 2:
		*byte += upto(2) ? 1 : -1;
		break;
	default:
		*byte = upto(256);
	}
}

/**
 * LLVMFuzzerCustomMutator() - libFuzzer's call for another input
 * @data: the input, changed in place
 * @size: its bytes
 * @max: bytes there is room for
 * @seed: of the dice
 *
 * Return: bytes of the new one.
 */
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
			       unsigned int seed)
{
	size_t n, at, from, some;

	rng = seed * 0x9e3779b97f4a7c15ULL | 1;
	if (size < fuzz_head + fuzz_record || !upto(5))
		return LLVMFuzzerMutate(data, size, max);

	n = (size - fuzz_head) / fuzz_record;
	at = fuzz_head + upto(n) * fuzz_record;
	from = upto(n);
	some = (1 + upto(n - from < 8 ? n - from : 8)) * fuzz_record;
	from = fuzz_head + from * fuzz_record;

	switch (upto(8)) {
	case 0:
		remove_some(data, &size, from, some);
		break;
	case 1:		/* some once more, somewhere else */
		if (insert(data, &size, max, at, some))
			memmove(data + at,
				data + (from < at ? from : from + some), some);
		break;
	case 2:		/* a new one at the end: all before it stays as it is */
		at = fuzz_head + n * fuzz_record;
		if (insert(data, &size, max, at, fuzz_record))
			new_record(data + at);
		break;
	case 3:
		if (insert(data, &size, max, at, fuzz_record))
			new_record(data + at);
		break;
	case 4:
		change_byte(data + upto(fuzz_head));
		break;
	default:
		change_byte(data + at + upto(fuzz_record));
	}
	return size;
}
