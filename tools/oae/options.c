// SPDX-License-Identifier: GPL-2.0
/* What all commands take, and numbers as people write them. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"

bool want_json;

static const struct argp_option option_list[] = {
	{ "json", 'j', NULL, 0, "JSON, as of `ip -j`", -1 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	(void)state;
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	want_json = true;
	return 0;
}

static const struct argp common = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

const struct argp_child common_options[] = {
	{ &common, 0, NULL, 0 },
	{ 0 }
};

/*
 * Negative numbers become the words that they are (-1 is 2^64 - 1), lest argp
 * takes them for options.
 */
static void unsign(int argc, char **argv)
{
	static char room[64][24];
	unsigned int used = 0;
	char *end;
	int i;

	for (i = 1; i < argc && used < 64; i++) {
		long long v;

		if (!strcmp(argv[i], "--"))
			return;
		if (argv[i][0] != '-' || !isdigit((unsigned char)argv[i][1]))
			continue;
		errno = 0;
		v = strtoll(argv[i], &end, 0);
		if (*end || errno)
			continue;
		snprintf(room[used], sizeof(room[used]), "%llu", (unsigned long long)v);
		argv[i] = room[used++];
	}
}

void parse_options(const struct argp *argp, int *argc, char **argv, void *input)
{
	unsign(*argc, argv);
	argv[0] = (char *)command_name;
	argp_parse(argp, *argc, argv, 0, NULL, input);
}

bool number(const char *text, unsigned long long *value)
{
	bool minus = *text == '-';
	char *end;

	if (!isdigit((unsigned char)text[minus]))
		return false;
	errno = 0;
	if (minus)
		*value = strtoll(text, &end, 0);
	else
		*value = strtoull(text, &end, 0);
	return !*end && !errno;
}

unsigned long long number_arg(struct argp_state *state, const char *what, const char *text,
			      unsigned long long min, unsigned long long max)
{
	unsigned long long v;

	if (!number(text, &v) || v < min || v > max)
		argp_error(state, "%s: \"%s\" is not a number from %llu to %llu", what, text, min,
			   max);
	return v;
}

/* Milliseconds of seconds with a fraction. */
unsigned int seconds_arg(struct argp_state *state, const char *what, const char *text)
{
	char *end;
	double v;

	errno = 0;
	v = strtod(text, &end);
	if (end == text || *end || errno || !(v >= 0) || v > 1e6)
		argp_error(state, "%s: \"%s\" is not a time in seconds, 0 to 1000000", what, text);
	return v * 1000 + 0.5;
}
