// SPDX-License-Identifier: GPL-2.0
/* The command line and the clock of the programs that send streams of messages. */
#include "stream.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

const struct stream_manner *by;

static struct timespec began;
static struct rusage used;

/* PEER or PEER@VC. */
static void add_peer(struct stream_run *run, char *text)
{
	struct stream_peer *p = &run->peers[run->npeers++];
	char *vc = strchr(text, '@');

	if (run->npeers > STREAM_PEERS)
		errx(2, "more than %d peers", STREAM_PEERS);
	if (vc) {
		*vc++ = 0;
		p->vc = atoi(vc);
	}
	if (oae_parse_address(text, &p->where))
		errx(2, "not an address: %s", text);
}

static void end_usage(const char *usage, int status)
{
	fprintf(status ? stderr : stdout,
		"usage: %s\n"
		"\n"
		"  -m MANNER    ring, or files: by read and write\n"
		"  -n COUNT     end after so many messages\n"
		"  -d DEPTH     a client has so many under way, 64 by default\n"
		"  -s US        look again and again for so long before sleeping, microseconds\n"
		"\n"
		"A PEER is an address, as 02:0a:e0:00:00:02, or PORT/ADDRESS, and perhaps @VC.\n",
		usage);
	exit(status);
}

/**
 * stream_options() - read the command line
 * @argc: of main()
 * @argv: of main()
 * @usage: what the program takes, for its help
 * @run: out
 */
void stream_options(int argc, char **argv, const char *usage, struct stream_run *run)
{
	int c;

	*run = (struct stream_run){ .depth = 64 };
	while ((c = getopt(argc, argv, "m:n:d:s:h")) != -1) {
		switch (c) {
		case 'm':
			run->files = !strcmp(optarg, "files");
			if (!run->files && strcmp(optarg, "ring"))
				end_usage(usage, 2);
			break;
		case 'n':
			run->count = strtoull(optarg, NULL, 0);
			break;
		case 'd':
			run->depth = atoi(optarg);
			break;
		case 's':
			run->spin_us = atoi(optarg);
			break;
		default:
			end_usage(usage, c == 'h' ? 0 : 2);
		}
	}
	if (argc - optind < 2 || !run->depth)
		end_usage(usage, 2);
	run->role = argv[optind++];
	while (optind < argc)
		add_peer(run, argv[optind++]);
	by = run->files ? &stream_by_files : &stream_by_ring;
}

/** stream_begin() - from here on it counts */
void stream_begin(void)
{
	clock_gettime(CLOCK_MONOTONIC, &began);
	getrusage(RUSAGE_SELF, &used);
}

static double seconds(const struct timeval *to, const struct timeval *from)
{
	return to->tv_sec - from->tv_sec + (to->tv_usec - from->tv_usec) / 1e6;
}

/**
 * stream_end() - say how fast it was
 * @messages: since stream_begin()
 */
void stream_end(uint64_t messages)
{
	struct rusage now;
	struct timespec t;
	double took;

	clock_gettime(CLOCK_MONOTONIC, &t);
	getrusage(RUSAGE_SELF, &now);
	took = t.tv_sec - began.tv_sec + (t.tv_nsec - began.tv_nsec) / 1e9;
	printf("%" PRIu64 " messages in %.3f s, %.0f a second; each %.2f us user, %.2f us system\n",
	       messages, took, messages / took,
	       1e6 * seconds(&now.ru_utime, &used.ru_utime) / messages,
	       1e6 * seconds(&now.ru_stime, &used.ru_stime) / messages);
	fflush(stdout);
}
