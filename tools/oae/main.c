// SPDX-License-Identifier: GPL-2.0
/* oae: atomic links from the command line. The list of commands, and the way to them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oae_version.h"

#include "cmd.h"
#include "error.h"
#include "text.h"

static const struct command commands[] = {
	{ "show", "links and ports, zones and nodes of a gateway", cmd_show },
	{ "stats", "counters by cause, with their meaning", cmd_stats },
	{ "monitor", "events as they happen", cmd_monitor },
	{ "top", "links by transactions a second", cmd_top },
	{ "metrics", "all of it for Prometheus", cmd_metrics },
	{ "port", "add, del, show: devices that are ports", cmd_port },
	{ "get", "knobs, and what they take", cmd_get },
	{ "set", "knobs, all that are named or none", cmd_set },
	{ "close", "a link", cmd_close },
	{ "gateway", "show, set: the knobs of the gateway", cmd_gateway },
	{ "ping", "round trips to a peer, with a histogram", cmd_ping },
	{ "perf", "messages a second, latency, outcomes; --server at the peer", cmd_perf },
	{ "send", "one transaction, until it is committed", cmd_send },
	{ "recv", "transactions that arrive", cmd_recv },
	{ "listen", "peers as they appear", cmd_listen },
	{ "swap", "give a half and take the peer's, both or neither", cmd_swap },
	{ "read", "words of a region that the peer exposes", cmd_read },
	{ "write", "set them", cmd_write },
	{ "xchg", "set them, and say what they were", cmd_xchg },
	{ "add", "add to them, and say what they were", cmd_add },
	{ "cas", "set them if they are what they should be", cmd_cas },
	{ "expose", "let peers work on words here, and watch them", cmd_expose },
};

#define NCOMMANDS (sizeof(commands) / sizeof(*commands))

const char *argp_program_version = "oae " OAE_RELEASE;

static const char doc[] =
	"Looks at atomic links, sets them up, and uses them.\n"
	"\vCommands; each has a --help with examples:\n";

struct args {
	int command;		/* where in argv */
	const char *netns;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "JSON, as of `ip -j`; behind the command too", 0 },
	{ "netns", 'n', "NAME", 0, "in a network namespace that `ip netns` made", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'j':
		want_json = true;
		return 0;
	case 'n':
		a->netns = arg;
		return 0;
	case ARGP_KEY_ARG:
		a->command = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static char *help(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t len;
	FILE *out;
	unsigned int i;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&list, &len);
	if (!out)
		return (char *)text;
	fputs(text, out);
	for (i = 0; i < NCOMMANDS; i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].about);
	fputs("\nExit: 0 done, committed; 1 wrong usage, nothing was begun; 2 reversed: the peer\n"
	      "never sees it; 3 unknown; 4 not known yet; 5 cas: the comparison did not hold;\n"
	      "6 a change that the module refused.\n",
	      out);
	fclose(out);
	return list;
}

static const struct argp argp = {
	options, parse, "COMMAND [ARGUMENT...]\nhelp COMMAND", doc, NULL, help, NULL
};

static const struct command *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < NCOMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int enter_netns(const char *name)
{
	char path[256];
	int fd;

	if (strchr(name, '/') ||
	    snprintf(path, sizeof(path), "/run/netns/%s", name) >= (int)sizeof(path))
		return complain_errno(EINVAL, "%s: name of a network namespace", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		complain("%s: no such network namespace: %s; see `ip netns`", name,
			 errno_name(errno));
		return EXIT_LOCAL;
	}
	if (setns(fd, CLONE_NEWNET))
		return complain_errno(errno, "%s: entering the network namespace", name);
	close(fd);
	return EXIT_OK;
}

int main(int argc, char **argv)
{
	static char help_option[] = "--help", name[64];
	char *help_argv[] = { name, help_option, NULL };
	const struct command *c;
	struct args a = { 0 };

	/* Help as wide as it is written. */
	setenv("ARGP_HELP_FMT", "rmargin=100,no-dup-args-note", 0);
	argp_err_exit_status = EXIT_LOCAL;
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	argv += a.command;
	argc -= a.command;
	if (!strcmp(argv[0], "help") && argc > 1) {
		argv++;
		argc = -1;
	}
	c = find(argv[0]);
	if (!c) {
		complain("no such command: %s; `oae --help` lists them", argv[0]);
		return EXIT_LOCAL;
	}
	snprintf(name, sizeof(name), "oae %s", c->name);
	command_name = name;
	if (argc < 0)
		return c->run(2, help_argv);
	if (a.netns && enter_netns(a.netns))
		return EXIT_LOCAL;
	return c->run(argc, argv);
}
