// SPDX-License-Identifier: GPL-2.0
/*
 * logscan: a monitor that looks for words in the log of another host, a line a message.
 *
 * Shows: a stream that is read where the kernel has put it, without a copy.
 *
 *	host-1# logscan watch 02:0a:e0:00:00:02
 *	host-2# logscan log -n 100000 02:0a:e0:00:00:01
 *
 * Both say at the end how many lines there were of each severity; a line is in the count of
 * both, or of neither.
 */
#define _GNU_SOURCE
#include "stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEVERITIES	4
#define LONGEST		200

static const char *const severity[SEVERITIES] = { "debug", "info", "warning", "error" };
static uint64_t count[SEVERITIES];

/* The log of a machine on which little happens. */
static size_t make_line(char *line, uint64_t n, unsigned int *which)
{
	*which = n % 97 ? n % 31 ? n % 3 ? 0 : 1 : 2 : 3;
	return snprintf(line, LONGEST, "%" PRIu64 ".%06" PRIu64 " daemon[%" PRIu64 "] %s: request %"
			PRIu64 " took %" PRIu64 " us", n / 1000, n % 1000 * 1000, n % 7 + 400,
			severity[*which], n, n * 37 % 1000);
}

static void watch(struct stream *s, const struct stream_run *run)
{
	const char *line;
	unsigned int from, i;
	size_t len;
	uint64_t n;

	for (n = 0; !run->count || n < run->count; n++) {
		line = by->next(s, &len, &from);
		if (!n)
			stream_begin();
		for (i = 0; i < SEVERITIES; i++) {
			if (memmem(line, len, severity[i], strlen(severity[i]))) {
				count[i]++;
				break;
			}
		}
		by->done(s);
	}
}

static void write_log(struct stream *s, const struct stream_run *run)
{
	unsigned int which;
	size_t len;
	uint64_t n;

	stream_begin();
	for (n = 0; !run->count || n < run->count; n++) {
		len = make_line(by->room(s, LONGEST), n, &which);
		count[which]++;
		by->put(s, 0, len);
	}
}

int main(int argc, char **argv)
{
	struct stream_run run;
	struct stream *s;
	unsigned int i;

	stream_options(argc, argv, "logscan [OPTION]... watch|log PEER", &run);
	s = by->open(&run);
	if (!strcmp(run.role, "watch"))
		watch(s, &run);
	else
		write_log(s, &run);
	by->close(s);
	for (i = 0; i < SEVERITIES; i++)
		printf("%s %" PRIu64 "\n", severity[i], count[i]);
	stream_end(run.count);
	return 0;
}
