// SPDX-License-Identifier: GPL-2.0
/* oae: atomic links from the command line. The list of commands, and the way to them. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "oae_version.h"

#include "cmd.h"
#include "error.h"
#include "proc.h"
#include "text.h"

static const struct command commands[] = {
	{ "show", "links and ports, zones and nodes of a gateway", cmd_show, NULL },
	{ "stats", "counters by cause, with their meaning", cmd_stats, NULL },
	{ "monitor", "events as they happen", cmd_monitor, NULL },
	{ "top", "links by transactions a second", cmd_top, PROC_LINK },
	{ "metrics", "all of it for Prometheus", cmd_metrics, NULL },
	{ "port", "add, del, show: devices that are ports", cmd_port, PROC_LINK },
	{ "neighbours", "hosts heard on the segments of the ports", cmd_neighbours, PROC_LINK },
	{ "path", "set: how much a path of a link is wanted", cmd_path, PROC_LINK },
	{ "get", "knobs, and what they take", cmd_get, PROC_LINK },
	{ "set", "knobs, all that are named or none", cmd_set, PROC_LINK },
	{ "close", "a link", cmd_close, PROC_LINK },
	{ "spread", "on, off, show: links on several processors", cmd_spread, PROC_LINK },
	{ "gateway", "show, set: the knobs of the gateway", cmd_gateway, PROC_GATEWAY },
	{ "ping", "round trips to a peer, with a histogram", cmd_ping, PROC_LINK },
	{ "perf", "messages a second, latency, outcomes; to a --server", cmd_perf, PROC_LINK },
	{ "send", "one transaction, until it is committed", cmd_send, PROC_LINK },
	{ "recv", "transactions that arrive", cmd_recv, PROC_LINK },
	{ "pipe", "a stream of bytes each way, as nc", cmd_pipe, PROC_LINK },
	{ "listen", "peers as they appear", cmd_listen, PROC_LINK },
	{ "swap", "give a half and take the peer's, both or neither", cmd_swap, PROC_LINK },
	{ "read", "words of a region that the peer exposes", cmd_read, PROC_LINK },
	{ "write", "set them", cmd_write, PROC_LINK },
	{ "xchg", "set them, and say what they were", cmd_xchg, PROC_LINK },
	{ "add", "add to them, and say what they were", cmd_add, PROC_LINK },
	{ "cas", "set them if they are what they should be", cmd_cas, PROC_LINK },
	{ "expose", "let peers work on words here, and watch them", cmd_expose, PROC_LINK },
};

#define NCOMMANDS (sizeof(commands) / sizeof(*commands))

const struct command *the_command;

const char *argp_program_version = "oae " OAE_RELEASE;

static const char doc[] =
	"Looks at atomic links, sets them up, and uses them.\n"
	"\vCommands; what is unambiguous of a name is enough, and each has a --help with "
	"examples:\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	int *command = state->input;	/* where in argv */

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARG:
		*command = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "which command? `oae --help` lists them");
	}
	return ARGP_ERR_UNKNOWN;
}

static char *help(int key, const char *text, void *input)
{
	char *list;
	size_t len;
	FILE *out;
	unsigned int i;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = memory_file(&list, &len);
	fputs(text, out);
	for (i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].about);
	fputs("\nExit: 0 done, committed; 1 an error here, nothing was begun; 2 reversed: the "
	      "peer never sees it; 3 unknown; 4 not known yet; 5 cas: the comparison did not "
	      "hold; 6 a change that the module refused; 64 wrong usage; 69 the module is not "
	      "loaded; 74 what is to be printed cannot be written, and all else is done.\n",
	      out);
	fclose(out);
	return list;
}

static const struct argp argp = {
	NULL, parse, "COMMAND [ARGUMENT...]\nhelp COMMAND\nversion", doc, common_options, help, NULL
};

const struct command *next_command(const struct command *c)
{
	c = c ? c + 1 : commands;
	return c < commands + NCOMMANDS ? c : NULL;
}

static const char *hint_or_help(const char *name, const char *const *names)
{
	const char *hint = word_hint(name, names);

	return *hint ? hint : "; `oae --help` lists them";
}

static const struct command *find(const char *name)
{
	const char *names[NCOMMANDS + 1] = { NULL };
	unsigned int i;
	int found;

	for (i = 0; i < NCOMMANDS; i++)
		names[i] = commands[i].name;
	found = word_find(name, names);
	if (found < 0 && complete_word)
		exit(EXIT_OK);
	if (found < 0)
		usage_error(NULL, "there is no command %s%s", name, hint_or_help(name, names));
	return &commands[found];
}

int main(int argc, char **argv)
{
	static char help_option[] = "--help", version_option[] = "--version", name[64];
	char *help_argv[] = { name, help_option, NULL };
	int command = 0;

	if (argc == 2 && !strcmp(argv[1], "help"))
		argv[1] = help_option;
	if (argc == 2 && !strcmp(argv[1], "version"))
		argv[1] = version_option;
	setlocale(LC_CTYPE, "");
	/* Within 80 columns. */
	setenv("ARGP_HELP_FMT", "rmargin=79,no-dup-args-note", 0);
	output_begin();
	/* From a shell: the words behind "oae" as far as the cursor. */
	if (argc > 2 && !strcmp(argv[1], "complete")) {
		complete_word = argv[--argc];
		argv[argc] = NULL;
		argc--;
		argv++;
	}
	check_options(&argp, argc, argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &command);
	argv += command;
	argc -= command;
	if (!strcmp(argv[0], "help") && argc > 1) {
		argv++;
		argc = -1;
	}
	the_command = find(argv[0]);
	snprintf(name, sizeof(name), "oae %s", the_command->name);
	command_name = name;
	if (argc < 0)
		return the_command->run(2, help_argv);
	return the_command->run(argc, argv);
}
