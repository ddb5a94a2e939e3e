// SPDX-License-Identifier: GPL-2.0
/*
 * What may stand at the end of a command line, for the completion of bash, zsh and
 * fish: `oae complete WORD...`, the words behind "oae", the last one as far as it is
 * typed. It is read off what --help prints: options and their values, and the words
 * of the line "Usage", of which those in capitals stand for what there is here.
 */
#include <ctype.h>
#include <dirent.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "filter.h"
#include "knobs.h"
#include "neighbours.h"
#include "ports.h"
#include "proc.h"
#include "text.h"

const char *complete_word;

/* A line: the candidate, and behind a tab what it is. Nothing that a shell expands. */
static void offer(const char *word, const char *about)
{
	const char *c;

	if (strncmp(word, complete_word, strlen(complete_word)))
		return;
	for (c = word; *c; c++)
		if ((!isascii(*c) || !isalnum(*c)) && !strchr("_.:@/=-", *c))
			return;
	printf("%s\t", word);
	put_safe(stdout, about, strlen(about));
	putchar('\n');
}

static void offer_list(const char *const *list)
{
	for (; *list; list++)
		offer(*list, "");
}

static void offer_commands(void)
{
	const struct command *c;

	for (c = next_command(NULL); c; c = next_command(c))
		offer(c->name, c->about);
}

static void offer_devices(void)
{
	struct if_nameindex *all = if_nameindex(), *one;

	for (one = all; one && one->if_name; one++)
		offer(one->if_name, "");
	if (all)
		if_freenameindex(all);
}

static void offer_ports(void)
{
	struct ports p;
	unsigned int i;

	if (!ports_read(&p))
		return;
	for (i = 0; i < p.n; i++)
		offer(p.port[i].name, port_state(&p.port[i]));
	ports_free(&p);
}

static void offer_neighbours(void)
{
	struct neighbours n;
	unsigned int i, k;
	char id[32];

	if (!neighbours_read(&n))
		return;
	for (i = 0; i < n.n; i++) {
		for (k = 0; k < i && n.row[k].id != n.row[i].id; k++)
			;
		snprintf(id, sizeof(id), "id:%016llx", n.row[i].id);
		if (k == i)
			offer(id, n.row[i].port);
	}
	neighbours_free(&n);
}

/* Those that there are links to; to many of them there may be several. And neighbours. */
static void offer_peers(void)
{
	struct links l;
	unsigned int i, k;

	offer_neighbours();
	if (!links_read(&l))
		return;
	for (i = 0; i < l.n; i++) {
		for (k = 0; k < i && strcmp(l.row[k].peer, l.row[i].peer); k++)
			;
		if (k == i)
			offer(l.row[i].peer, l.row[i].port);
	}
	links_free(&l);
}

static void offer_counters(void)
{
	static const char *const module[] = { PROC_LINK, PROC_GATEWAY };
	struct counters c;
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		if (!counters_read(&c, module[i]))
			continue;
		for (k = 0; k < c.n; k++)
			offer(c.c[k].name, c.c[k].text);
		counters_free(&c);
	}
}

static void offer_knob(const char *name, const char *value, const char *takes)
{
	(void)value;
	offer(name, takes);
}

/* The knob dev of modoae is set with `oae port`, others not at all. */
static void offer_setting(const char *name, const char *value, const char *takes)
{
	char setting[64];

	(void)value;
	if (strncmp(takes, "is ", 3) && (strcmp(name, "dev") || the_command->run == cmd_gateway) &&
	    snprintf(setting, sizeof(setting), "%s=", name) < (int)sizeof(setting))
		offer(setting, takes);
}

static void offer_knobs(void)
{
	knobs_each(the_command->run == cmd_gateway ? &gateway_knobs : &link_knobs, offer_knob);
}

static void offer_settings(void)
{
	knobs_each(the_command->run == cmd_gateway ? &gateway_knobs : &link_knobs, offer_setting);
}

static void offer_netns(void)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.')
			offer(entry->d_name, "");
	if (dir)
		closedir(dir);
}

/* What a word in capitals stands for; words that are not here are for people. */
static const struct {
	const char *name;
	void (*offer)(void);
	const char *const *list;
} kinds[] = {
	{ "COMMAND", offer_commands, NULL },
	{ "DEV", offer_devices, NULL },
	{ "PORT", offer_ports, NULL },
	{ "PEER", offer_peers, NULL },
	{ "ADDR", offer_peers, NULL },
	{ "PATTERN", offer_counters, NULL },
	{ "KNOB", offer_knobs, NULL },
	{ "KNOB=VALUE", offer_settings, NULL },
	{ "NETNS", offer_netns, NULL },
	{ "STATE", NULL, filter_states },
	{ "BY", offer_ports, NULL },
	{ "RANK", NULL, path_ranks },
	{ "KIND", NULL, monitor_kinds },
};

/* A word of the line "Usage", without what says that it may be left out or repeated. */
static void offer_kind(const char *word, size_t len)
{
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strlen(kinds[i].name) != len || memcmp(kinds[i].name, word, len))
			continue;
		if (kinds[i].offer)
			kinds[i].offer();
		else
			offer_list(kinds[i].list);
	}
}

/* Of "[links|zones|nodes]" the three; of "[KNOB...]" and "KIND[,KIND...]" what is there. */
static void offer_token(const char *token)
{
	char *word = copy_text(token, strlen(token)), *rest = word, *one;

	while ((one = strsep(&rest, "|"))) {
		one += *one == '[';
		one[strcspn(one, "[].")] = 0;
		if (islower((unsigned char)*one))
			offer(one, "");
		else
			offer_kind(one, strlen(one));
	}
	free(word);
}

#define MAX_LINES	4
#define MAX_TOKENS	16

/* A line of what follows "Usage: oae COMMAND", cut up. */
struct usage {
	char *token[MAX_TOKENS];
	unsigned int n;
};

static bool is_literal(const char *token, const char *word)
{
	token += *token == '[';
	return islower((unsigned char)*token) && strlen(word) == strcspn(token, " ]") &&
	       !strncmp(token, word, strlen(word));
}

static bool has(char *const *args, const char *token)
{
	for (; *args; args++)
		if (is_literal(token, *args))
			return true;
	return false;
}

/* "port PORT", "add DEV...": what follows a word that has been said. */
static bool offer_value(const struct usage *u, char *const *args, const char *last)
{
	unsigned int i;

	for (i = 0; i + 1 < u->n; i++) {
		if (is_literal(u->token[i], last) ||
		    (!i && is_literal(u->token[0], args[0]) && strstr(u->token[1], "..."))) {
			offer_token(u->token[i + 1]);
			return true;
		}
	}
	return false;
}

/* The words that come first, those that may come anywhere, those that may come again. */
static void offer_rest(const struct usage *u, char *const *args)
{
	bool anywhere = *u->token[0] == '[' && islower((unsigned char)u->token[0][1]);
	unsigned int i;

	for (i = 0; i < u->n; i++) {
		bool literal = islower((unsigned char)u->token[i][*u->token[i] == '[']);

		if ((!i && !*args) || (literal && anywhere && !has(args, u->token[i])) ||
		    (!i && strstr(u->token[0], "...")))
			offer_token(u->token[i]);
	}
}

static void offer_arguments(const char *doc, char *const *args)
{
	char *text = copy_text(doc, strlen(doc)), *rest = text, *line, *token;
	struct usage u[MAX_LINES] = { 0 };
	const char *last = NULL;
	unsigned int i, n = 0;
	bool done = false;

	for (i = 0; args[i]; i++)
		last = args[i];
	while (!done && n < MAX_LINES && (line = strsep(&rest, "\n"))) {
		while ((token = strsep(&line, " ")) && u[n].n < MAX_TOKENS)
			u[n].token[u[n].n++] = token;
		done = last && offer_value(&u[n], args, last);
		n++;
	}
	for (i = 0; i < n && !done; i++)
		offer_rest(&u[i], args);
	free(text);
}

static void offer_options(const struct argp *argp)
{
	const struct argp_child *child;
	const struct argp_option *o;
	char word[32];

	for (o = argp->options; o && o->name; o++) {
		if (o->flags & OPTION_HIDDEN)
			continue;
		snprintf(word, sizeof(word), "--%s", o->name);
		offer(word, o->doc);
		if (o->key > ' ' && o->key <= '~') {
			snprintf(word, sizeof(word), "-%c", o->key);
			offer(word, o->doc);
		}
	}
	for (child = argp->children; child && child->argp; child++)
		offer_options(child->argp);
}

void complete(const struct argp *argp, char *const *args, const struct argp_option *of)
{
	if (of) {
		offer_kind(of->arg, strlen(of->arg));
	} else if (*complete_word == '-') {
		offer_options(argp);
		offer("--help", "what it does, with examples");
	} else if (argp->args_doc) {
		offer_arguments(argp->args_doc, args);
	}
}
