// SPDX-License-Identifier: GPL-2.0
/*
 * echo: numbers that come back incremented.
 *
 * Shows: rings beside read and write, for the shortest of programs.
 *
 *	host-1# echo serve 02:0a:e0:00:00:02
 *	host-2# echo ask -n 100000 02:0a:e0:00:00:01
 *
 * With -m files at both hosts the same by read and write.
 */
#include "stream.h"

#include <err.h>
#include <string.h>

#define BYTES	64

static void serve(struct stream *s, const struct stream_run *run)
{
	const void *message;
	unsigned int from;
	uint64_t n, number;
	size_t len;
	char *answer;

	for (n = 0; !run->count || n < run->count; n++) {
		message = by->next(s, &len, &from);
		if (!n)
			stream_begin();
		answer = by->room(s, len);
		memcpy(answer, message, len);
		memcpy(&number, message, sizeof(number));
		number++;
		memcpy(answer, &number, sizeof(number));
		by->put(s, from, len);
		by->done(s);
	}
}

static void send_number(struct stream *s, uint64_t number)
{
	char *message = by->room(s, BYTES);

	memset(message, 0, BYTES);
	memcpy(message, &number, sizeof(number));
	by->put(s, 0, BYTES);
}

/* Keep some under way; each answer must be the next number. */
static void ask(struct stream *s, const struct stream_run *run)
{
	uint64_t sent = 0, got, number;
	const void *answer;
	unsigned int from;
	size_t len;

	stream_begin();
	for (got = 0; !run->count || got < run->count; got++) {
		for (; sent < got + run->depth && (!run->count || sent < run->count); sent++)
			send_number(s, sent);
		answer = by->next(s, &len, &from);
		memcpy(&number, answer, sizeof(number));
		if (len != BYTES || number != got + 1)
			errx(1, "%zu bytes, number %llu came for number %llu", len,
			     (unsigned long long)number, (unsigned long long)got);
		by->done(s);
	}
}

int main(int argc, char **argv)
{
	struct stream_run run;
	struct stream *s;

	stream_options(argc, argv, "echo [OPTION]... serve|ask PEER", &run);
	s = by->open(&run);
	if (!strcmp(run.role, "serve"))
		serve(s, &run);
	else
		ask(s, &run);
	by->close(s);
	stream_end(run.count);
	return 0;
}
