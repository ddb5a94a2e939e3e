// SPDX-License-Identifier: GPL-2.0
/*
 * ledger: holds what senders were told against what readers got, of messages too many for
 * Python.
 *
 *   ledger [STREAM=FILE ...] -- FILE...
 *
 * STREAM=FILE: a byte a message, C R U, as devpump writes it for role=send. Behind `--` the
 * ledgers of readers, role=recv. A stream has kept to one link, so to one reader.
 *
 * Every C was read exactly once and in order, no R ever, nothing else at all. What is wrong
 * is said, and the status is 1. Else the counts, in one line: C, R, U, and how many were read.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream {
	struct stream *next;
	unsigned long number;
	unsigned char *told;	/* each outcome, in lower case once it was read */
	size_t n;
	long last;		/* the number read last */
};

static struct stream *streams;
static unsigned long wrong;

/* The first of each kind is said, and how many there are. */
static void complain(const char *what, unsigned long stream, unsigned long number)
{
	if (wrong++ < 10)
		printf("stream %lu number %lu: %s\n", stream, number, what);
}

static unsigned char *whole(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	unsigned char *buf = NULL;
	size_t room = 0;

	*len = 0;
	do {
		room = room * 2 + 65536;
		buf = realloc(buf, room);
		if (!f || !buf) {
			fprintf(stderr, "%s: %s\n", path, strerror(errno));
			exit(2);
		}
		*len += fread(buf + *len, 1, room - *len, f);
	} while (*len == room);
	fclose(f);
	return buf;
}

static void sender(char *word)
{
	struct stream *s = calloc(1, sizeof(*s));
	char *path;

	if (!s)
		exit(2);
	s->number = strtoul(word, &path, 10);
	if (*path != '=') {
		fprintf(stderr, "ledger: see the comment in ledger.c\n");
		exit(2);
	}
	s->told = whole(path + 1, &s->n);
	s->last = -1;
	s->next = streams;
	streams = s;
}

static void read_one(struct stream *s, unsigned long number)
{
	if (number >= s->n) {
		complain("read, and nobody was told of it", s->number, number);
		return;
	}
	if ((long)number <= s->last)
		complain("read twice, or out of order", s->number, number);
	else
		s->last = number;
	if (s->told[number] == 'R')
		complain("read, and its sender was told that it was reversed", s->number, number);
	s->told[number] |= 0x20;
}

static size_t reader(const char *path)
{
	unsigned char *lines;
	size_t len, at;

	lines = whole(path, &len);
	for (at = 0; at + 8 <= len; at += 8) {
		uint32_t two[2];
		struct stream *s;

		memcpy(two, lines + at, sizeof(two));
		for (s = streams; s && s->number != two[0]; s = s->next)
			;
		if (s)
			read_one(s, two[1]);
		else
			complain("nobody has sent it", two[0], two[1]);
	}
	free(lines);
	return len / 8;
}

int main(int argc, char **argv)
{
	unsigned long told[256] = { 0 };
	const struct stream *s;
	size_t got = 0, i;
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--"); at++)
		sender(argv[at]);
	for (at++; at < argc; at++)
		got += reader(argv[at]);
	for (s = streams; s; s = s->next)
		for (i = 0; i < s->n; i++) {
			told[s->told[i] & ~0x20]++;
			if (s->told[i] == 'C')
				complain("committed, and not read", s->number, i);
		}
	if (wrong) {
		printf("%lu wrong\n", wrong);
		return 1;
	}
	printf("%lu %lu %lu %zu\n", told['C'], told['R'], told['U'], got);
	return 0;
}
