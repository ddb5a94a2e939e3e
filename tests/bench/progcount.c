// SPDX-License-Identifier: GPL-2.0
/*
 * Counts instead of times, in a guest whose clock counts the instructions of
 * its one processor, one a ns; and messages of 64 KB.
 *
 * While such a processor has nothing to do its clock goes on to when it has.
 * That is not counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "progbench.h"

static uint8_t bulk[BULK];

/* How long the processor has had nothing to do since the kernel began, ns. */
static uint64_t idle_ns(void)
{
	static const char name[] = ".idle_sleeptime";
	FILE *file = fopen("/proc/timer_list", "r");
	unsigned long long ns;
	char line[256];
	int found = 0;

	if (!file)
		die("/proc/timer_list: %s", strerror(errno));
	while (!found && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, name);

		found = at && sscanf(at + sizeof(name) - 1, " : %llu", &ns) == 1;
	}
	fclose(file);
	if (!found)
		die("/proc/timer_list has no%s", name);
	return ns;
}

#define WARM	5	/* rounds that do not count: what adapts to the traffic does so in them */

/* In each round so many trips. */
void count(const struct contender *c, struct end *e, unsigned int rounds,
	   unsigned int trips)
{
	uint64_t idle, ns;
	unsigned int i, n;

	for (i = 0; i < rounds + WARM; i++) {
		idle = idle_ns();
		ns = now_ns();
		for (n = 0; n < trips; n++)
			c->ask(e);
		ns = now_ns() - ns;
		idle = idle_ns() - idle;
		if (i >= WARM)
			printf("count %s %.1f %.1f\n", c->name,
			       (double)ns / trips, (double)idle / trips);
	}
	fflush(stdout);
}

/* What keeps no boundaries hands a message over in pieces. */
static int read_bulk(int fd)
{
	size_t got = 0;
	ssize_t n;

	while (got < BULK) {
		n = read(fd, bulk + got, BULK - got);
		if (!n || (n < 0 && errno == ECONNRESET))
			return 0;
		if (n < 0)
			die("read: %s", strerror(errno));
		got += n;
	}
	return 1;
}

static void write_bulk(int fd)
{
	size_t put = 0;
	ssize_t n;

	while (put < BULK) {
		n = write(fd, bulk + put, BULK - put);
		if (n <= 0)
			die("wrote %zd bytes: %s", n, strerror(errno));
		put += n;
	}
}

/* 64 KB there, and 64 bytes back, which are its first and its last. */
void bulk_ask(struct end *e)
{
	memcpy(bulk, &e->done, sizeof(e->done));
	bulk[BULK - 1] = e->done++;
	write_bulk(e->out);
	all_read(e->in, e->buf);
	if (memcmp(e->buf, bulk, BYTES / 2) ||
	    memcmp(e->buf + BYTES / 2, bulk + BULK - BYTES / 2, BYTES / 2))
		die("another message arrived than went out");
}

void bulk_answer(struct end *e)
{
	if (!read_bulk(e->in))
		exit(0);
	memcpy(e->buf, bulk, BYTES / 2);
	memcpy(e->buf + BYTES / 2, bulk + BULK - BYTES / 2, BYTES / 2);
	all_write(e->out, e->buf);
}
