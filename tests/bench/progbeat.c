// SPDX-License-Identifier: GPL-2.0
/* A ring of times in a file, which tests/bench/cutter looks at while it grows. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "progbench.h"

#define BEATS	1048576		/* as in tests/bench/cutter */

struct beats {
	uint64_t count;		/* so far; the times of the last BEATS of them are there */
	uint64_t ns[BEATS];	/* CLOCK_MONOTONIC */
};

struct beats *beats_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct beats *b = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, sizeof(*b)))
		b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd, 0);
	if (b == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return b;
}

void beats_add(struct beats *b)
{
	b->ns[b->count % BEATS] = now_ns();
	__atomic_store_n(&b->count, b->count + 1, __ATOMIC_RELEASE);
}
