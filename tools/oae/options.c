// SPDX-License-Identifier: GPL-2.0
/* What all commands take, and numbers as people write them. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "proc.h"
#include "text.h"

#define MAX_OPTIONS	32	/* of a command */

bool want_json;

static const struct argp_option option_list[] = {
	{ "json", 'j', NULL, 0, "JSON, as of `ip -j`", -1 },
	{ "netns", 'n', "NETNS", 0, "in a network namespace of `ip netns`", -1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 }
};

static void enter_netns(const struct argp_state *state, const char *name)
{
	char path[256];
	int fd, err;

	if (!*name || strchr(name, '/') ||
	    snprintf(path, sizeof(path), "/run/netns/%s", name) >= (int)sizeof(path))
		usage_error(state, "\"%s\" is not the name of a network namespace; see `ip netns`",
			    name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		usage_error(state, "\"%s\": there is no such network namespace; see `ip netns`",
			    name);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		err = errno;
		complain("entering the network namespace %s: %s: %s", name, errno_name(err),
			 err == EPERM ? "needs CAP_SYS_ADMIN; be root" : strerror(err));
		exit(EXIT_LOCAL);
	}
	close(fd);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'j':
		want_json = true;
		return 0;
	case 'n':
		enter_netns(state, arg);
		return 0;
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp common = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

const struct argp_child common_options[] = {
	{ &common, 0, NULL, 0 },
	{ 0 }
};

/* The options of a command, for getopt_long(), and as argp has them. */
struct option_set {
	const struct argp_option *from[MAX_OPTIONS];
	struct option all[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 3];
	unsigned int n;
};

static void add_option(struct option_set *s, const struct argp_option *o)
{
	char *end = s->letters + strlen(s->letters);

	if (s->n == MAX_OPTIONS)
		return;
	if (o->name) {
		s->from[s->n] = o;
		s->all[s->n].name = o->name;
		s->all[s->n].has_arg = o->arg ? required_argument : no_argument;
		s->all[s->n++].val = o->key;
	}
	if (o->key > ' ' && o->key <= '~')
		sprintf(end, "%c%s", o->key, o->arg ? ":" : "");
}

static void add_options(struct option_set *s, const struct argp *argp)
{
	const struct argp_child *child;
	const struct argp_option *o;

	for (o = argp->options; o && (o->name || o->key); o++)
		add_option(s, o);
	for (child = argp->children; child && child->argp; child++)
		add_options(s, child->argp);
}

#define KEY_HELP	0x300

/* Of argp itself. Help is wanted where no module is, and whatever else is wrong. */
static const struct argp_option help_options[] = {
	{ "help", KEY_HELP, NULL, 0, NULL, 0 },
	{ "usage", KEY_HELP, NULL, 0, NULL, 0 },
	{ "version", 'V', NULL, 0, NULL, 0 },
	{ 0 }
};

static const struct argp help_argp = { help_options, NULL, NULL, NULL, NULL, NULL, NULL };

static bool is_help(int c)
{
	return c == KEY_HELP || c == 'V' || c == 'h' || (c == '?' && optopt == '?');
}

static const struct argp_option *option_of(const struct option_set *s, int key)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		if (s->from[i]->key == key)
			return s->from[i];
	return NULL;
}

/* What getopt_long() did not understand. @word: the argument that it looked at. */
static void bad_option(const struct option_set *s, int c, const char *word)
{
	const struct argp_option *o = option_of(s, optopt);
	char names[MAX_OPTIONS][32], name[32] = { '-', optopt };
	const char *list[MAX_OPTIONS + 1] = { NULL }, *hint = "";
	unsigned int i;

	if (c == ':' && o)
		usage_error(NULL, "%s needs a value: --%s=%s", word, o->name, o->arg);
	if (o && !strncmp(word, "--", 2))
		usage_error(NULL, "--%s takes no value", o->name);
	for (i = 0; i < s->n; i++) {
		snprintf(names[i], sizeof(names[i]), "--%s", s->all[i].name);
		list[i] = names[i];
	}
	if (!optopt) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
		hint = word_hint(name, list);
	}
	if (*hint)
		usage_error(NULL, "there is no option %s%s", name, hint);
	usage_error(NULL, "there is no option %s; `%s --help` lists them", name, command_name);
}

/* The option of a word, which begins with "-"; NULL: getopt_long() will say what is wrong. */
static const struct option *option_of_word(const struct option_set *s, const char *word)
{
	const struct option *found = NULL;
	size_t len = strcspn(word + 2, "=");
	unsigned int i;

	for (i = 0; i < s->n; i++) {
		if (strncmp(s->all[i].name, word + 2, len))
			continue;
		if (!s->all[i].name[len])
			return &s->all[i];
		if (found && found->val != s->all[i].val)
			return NULL;
		found = &s->all[i];
	}
	return found;
}

/* Does the value of the option @word follow in a word of its own? */
static bool value_follows(const struct option_set *s, const char *word)
{
	const struct option *o;
	const char *in_list;

	if (word[1] == '-') {
		o = strchr(word, '=') ? NULL : option_of_word(s, word);
		return o && o->has_arg;
	}
	while (*++word) {
		in_list = *word == ':' ? NULL : strchr(s->letters, *word);
		if (!in_list)
			return false;
		if (in_list[1] == ':')
			return !word[1];
	}
	return false;
}

/* No option is a digit, so "-5" is what a command is about, as "-" is. */
static bool is_operand(const char *word)
{
	return *word != '-' || !word[1] || isdigit((unsigned char)word[1]);
}

/* Options first, then "--", then the operands: each word as it was typed. */
static void sort_words(const struct option_set *s, int *argc, char **argv, char **sorted)
{
	char **operand = alloc(*argc, sizeof(*operand));
	static char end[] = "--";
	int n = 1, m = 0, i;

	sorted[0] = argv[0];
	for (i = 1; i < *argc && strcmp(argv[i], end); i++) {
		if (is_operand(argv[i])) {
			operand[m++] = argv[i];
			continue;
		}
		sorted[n++] = argv[i];
		if (!value_follows(s, argv[i]))
			continue;
		/* None does: as it is, getopt_long() says so. */
		if (++i == *argc) {
			memcpy(sorted, argv, *argc * sizeof(*argv));
			free(operand);
			return;
		}
		sorted[n++] = argv[i];
	}
	for (i++; i < *argc; i++)
		operand[m++] = argv[i];
	sorted[n++] = end;
	memcpy(sorted + n, operand, m * sizeof(*operand));
	*argc = n + m;
	free(operand);
}

static void need_module(void)
{
	const char *module = the_command ? the_command->module : NULL;

	if (the_command && !(module ? proc_loaded(module) :
				      proc_loaded(PROC_LINK) || proc_loaded(PROC_GATEWAY)))
		exit(complain_not_loaded(module ?: PROC_LINK));
}

/*
 * The first option that is wrong, in one line, since argp prints two and does not say
 * what may be meant; before that, whether the module is loaded. If a shell asks what
 * may follow, the program ends here.
 */
static void check(const struct option_set *s, const struct argp *argp, int argc, char **argv,
		  bool in_order)
{
	char **copy = alloc(argc + 1, sizeof(*copy));
	int c = 0, bad = 0;
	bool help = false;

	memcpy(copy, argv, argc * sizeof(*copy));
	opterr = 0;
	optind = 0;
	while (!bad && !help && c != -1) {
		c = getopt_long(argc, copy, s->letters, s->all, NULL);
		help = is_help(c);
		if (!help && (c == '?' || c == ':'))
			bad = c;
	}
	if (complete_word && (!in_order || optind >= argc || !strcmp(copy[optind], "help"))) {
		complete(argp, copy + optind, bad == ':' ? option_of(s, optopt) : NULL);
		exit(EXIT_OK);
	}
	if (!help && !complete_word)
		need_module();
	if (bad)
		bad_option(s, bad, copy[optind - 1]);
	free(copy);
}

void check_options(const struct argp *argp, int argc, char **argv)
{
	struct option_set s = { .letters = "+:" };

	add_options(&s, argp);
	add_options(&s, &help_argp);
	check(&s, argp, argc, argv, true);
}

void parse_options(const struct argp *argp, int argc, char **argv, void *input)
{
	struct option_set s = { .letters = ":" };
	char **sorted = alloc(argc + 2, sizeof(*sorted));

	argv[0] = (char *)command_name;
	add_options(&s, argp);
	add_options(&s, &help_argp);
	sort_words(&s, &argc, argv, sorted);
	check(&s, argp, argc, sorted, false);
	argp_parse(argp, argc, sorted, 0, NULL, input);
	free(sorted);
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

	if (*text == '-' || !number(text, &v) || v < min || v > max) {
		if (max == ~0ULL)
			usage_error(state, "%s: \"%s\" is not a number of at least %llu", what,
				    text, min);
		usage_error(state, "%s: \"%s\" is not a number from %llu to %llu", what, text, min,
			    max);
	}
	return v;
}

/* A number of bytes, with K, M or G behind it as many times 1,024. */
unsigned long long size_arg(struct argp_state *state, const char *what, const char *text,
			    unsigned long long min, unsigned long long max)
{
	static const char units[] = "KMG";
	size_t len = strlen(text);
	const char *unit = len ? strchr(units, toupper((unsigned char)text[len - 1])) : NULL;
	unsigned int shift = unit ? 10 * (unit - units + 1) : 0;
	char *digits = copy_text(text, len - !!unit);
	unsigned long long v = 0;
	bool good = *text != '-' && number(digits, &v) && v <= ~0ULL >> shift;

	v <<= shift;
	free(digits);
	if (!good || v < min || v > max)
		usage_error(state, "%s: \"%s\" is not a number of bytes from %llu to %llu; K, M, G "
			    "are 1,024 times as many each", what, text, min, max);
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
		usage_error(state, "%s: \"%s\" is not a time in seconds, 0 to 1000000", what, text);
	return v * 1000 + 0.5;
}

/* -w SECONDS, or OPT_WAIT_MS: milliseconds. */
unsigned int wait_arg(struct argp_state *state, int key, const char *text)
{
	unsigned int ms;

	if (key == OPT_WAIT_MS)
		return number_arg(state, "milliseconds", text, 1, 3600000);
	ms = seconds_arg(state, "-w", text);
	if (!ms || ms > 3600000)
		usage_error(state, "-w: \"%s\" is not a time from 0.001 to 3600 seconds", text);
	return ms;
}
