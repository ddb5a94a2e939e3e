// SPDX-License-Identifier: GPL-2.0
/*
 * Values for the random caller: memory in which pages that can be written, that
 * can only be read, and that are not there at all take turns, and numbers at
 * which things tend to go wrong.
 */
#define _GNU_SOURCE
#include "devfuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE		4096
#define PAGES		64
#define GOOD_PAGES	32	/* the first ones: all can be written */

static unsigned char *arena;

void dice_seed(struct dice *d, uint64_t seed, uint64_t a, uint64_t b)
{
	int i;

	d->s = (seed + 1) * 0x9e3779b97f4a7c15ULL ^ (a + 1) * 0xbf58476d1ce4e5b9ULL ^
	       (b + 1) * 0x94d049bb133111ebULL;
	if (!d->s)
		d->s = 1;
	for (i = 0; i < 8; i++)
		roll64(d);
}

/* Behind the good pages, in turn: read-write, read-only, no access, a hole. */
void arena_make(void)
{
	unsigned int i;

	arena = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		_exit(9);
	memset(arena, 0x5a, PAGES * PAGE);
	for (i = GOOD_PAGES; i < PAGES; i++) {
		unsigned char *page = arena + i * PAGE;

		if (i % 4 == 1)
			mprotect(page, PAGE, PROT_READ);
		else if (i % 4 == 2)
			mprotect(page, PAGE, PROT_NONE);
		else if (i % 4 == 3)
			munmap(page, PAGE);
	}
}

void *good_pointer(struct dice *d, size_t len)
{
	size_t room = GOOD_PAGES * PAGE;

	if (len >= room)
		return arena;
	return arena + (roll(d, room - len) & ~(rarely(d, 4) ? 0 : 7));
}

/* Mostly good. Otherwise across the edge of a bad page, or anywhere at all. */
void *any_pointer(struct dice *d, size_t len)
{
	unsigned int page = GOOD_PAGES + roll(d, PAGES - GOOD_PAGES);
	size_t before = len < GOOD_PAGES * PAGE ? len : GOOD_PAGES * PAGE;

	if (!rarely(d, 10))
		return good_pointer(d, len);
	switch (roll(d, 6)) {
	case 0:
		return NULL;
	case 1:
		return (void *)any_number(d);
	case 2:
		return arena + page * PAGE;
	case 3:
		return arena + page * PAGE - before;
	default:
		return arena + page * PAGE - roll(d, before + 1);
	}
}

size_t any_length(struct dice *d)
{
	static const size_t edges[] = {
		1, 7, 8, 9, 63, 64, 65, 1451, 1452, 1453, 4095, 4096, 4097,
		65535, 65536, 65537, 0, 262144, 262145, 1 << 20,
	};

	if (rarely(d, 8))
		return edges[roll(d, ARRAY_SIZE(edges))];
	if (rarely(d, 4))
		return 1 + roll(d, 40000);
	return 1 + roll(d, 1400);
}

uint64_t any_number(struct dice *d)
{
	switch (roll(d, 8)) {
	case 0:
		return 0;
	case 1:
		return -1ULL;
	case 2:
		return -1ULL << roll(d, 64);
	case 3:
		return (1ULL << roll(d, 64)) - 1;
	case 4:
		return 1ULL << roll(d, 64);
	case 5:
		return roll(d, 256);
	case 6:
		return -(uint64_t)roll(d, 8192);
	default:
		return roll64(d);
	}
}

/* A structure with something in it that should not be there. */
void *mutate(struct dice *d, void *p, size_t len)
{
	unsigned char *at = p;
	unsigned int n = 1 + roll(d, 3);
	uint64_t number;
	size_t width;

	while (n--) {
		number = any_number(d);
		width = 1u << roll(d, 4);
		if (width > len)
			continue;
		memcpy(at + roll(d, len / width) * width, &number, width);
	}
	return p;
}
