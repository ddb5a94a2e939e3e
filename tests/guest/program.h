/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs here have in common: words like name=value, a clock, SIGTERM. */
#ifndef STORM_PROGRAM_H
#define STORM_PROGRAM_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t stop;
static char **words;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

__attribute__((noreturn))
static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", words[0], what,
		errno ? strerror(errno) : "no");
	exit(1);
}

/* From the first line of main() on. */
static inline void program(char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };

	words = argv;
	errno = 0;
	sigaction(SIGTERM, &sa, NULL);
}

static inline const char *option(const char *key, const char *otherwise)
{
	size_t n = strlen(key);
	char **word;

	for (word = words + 1; *word; word++)
		if (!strncmp(*word, key, n) && (*word)[n] == '=')
			return *word + n + 1;
	return otherwise;
}

static inline unsigned long long number(const char *key,
					unsigned long long otherwise)
{
	const char *text = option(key, NULL);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static inline double seconds_option(const char *key, const char *otherwise)
{
	return atof(option(key, otherwise));
}

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Whoever started this may go on. */
static inline void ready(void)
{
	puts("ready");
	fflush(stdout);
}

#endif /* STORM_PROGRAM_H */
