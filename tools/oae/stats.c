// SPDX-License-Identifier: GPL-2.0
/* oae stats: the counters of this namespace, each with its meaning. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "proc.h"
#include "text.h"

struct args {
	const char **pattern;
	unsigned int npatterns;
	bool zeros;
	unsigned int shown;
	unsigned int matched;
};

static const char doc[] =
	"Counters by cause, with their meaning; those of the gateway too, where it is loaded.\n"
	"PATTERN as of the shell: 'bad_*'. A word without * or ? is looked for anywhere in the name.\n"
	"\vExamples:\n"
	"  oae stats                  all that are not 0\n"
	"  oae stats -z 'bad_*'       malformed frames that were dropped, zeros too\n"
	"  oae stats drop committed   whatever has drop or committed in its name\n"
	"  oae -j stats               for programs: zeros too\n"
	"\n"
	"JSON: an array of objects: module, name, value, text. Exit 1: no counter matches.\n";

static const struct argp_option options[] = {
	{ "zeros", 'z', NULL, 0, "show counters that are 0, too", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'z':
		a->zeros = true;
		return 0;
	case ARGP_KEY_ARG:
		a->pattern = grow(a->pattern, a->npatterns + 1, sizeof(*a->pattern));
		a->pattern[a->npatterns++] = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	options, parse, "[PATTERN...]", doc, common_options, NULL, NULL
};

static bool wanted(const struct args *a, const char *name)
{
	unsigned int i;

	for (i = 0; i < a->npatterns; i++) {
		const char *p = a->pattern[i];

		if (strpbrk(p, "*?[") ? !fnmatch(p, name, 0) : !!strstr(name, p))
			return true;
	}
	return !a->npatterns;
}

/* What counters are about, by how their names begin; the rest comes first. */
static const char *group(const char *name)
{
	if (!strncmp(name, "bad_", 4) && strcmp(name, "bad_cookie"))
		return "malformed";
	if (!strncmp(name, "note_", 5))
		return "links";
	return "";
}

static void people(struct args *a, const struct counters *c, const char *module)
{
	static const char *const groups[] = { "", "malformed", "links" };
	const char *title = module;
	unsigned int i, k;
	int width = 0;

	for (i = 0; i < c->n; i++)
		if (wanted(a, c->c[i].name) && (int)strlen(c->c[i].name) > width)
			width = strlen(c->c[i].name);
	if (width > 40)
		width = 40;
	for (k = 0; k < 3; k++) {
		for (i = 0; i < c->n; i++) {
			const struct counter *one = &c->c[i];
			int len = strlen(one->name);

			if (!wanted(a, one->name) || strcmp(group(one->name), groups[k]))
				continue;
			a->matched++;
			if (!one->value && !a->zeros)
				continue;
			if (title)
				printf("%s%s\n", a->shown ? "\n" : "", title);
			title = NULL;
			a->shown++;
			fputs("  ", stdout);
			put_safe(stdout, one->name, len);
			printf("%*s %15llu  ", width > len ? width - len : 0, "", one->value);
			put_safe(stdout, one->text, strlen(one->text));
			putchar('\n');
		}
		if (k < 2)
			title = k ? "what happened to links" : "malformed frames";
	}
}

static void programs(struct args *a, const struct counters *c, const char *module, struct json *j)
{
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		if (!wanted(a, c->c[i].name))
			continue;
		a->matched++;
		json_object(j, NULL);
		json_string(j, "module", module);
		json_string(j, "name", c->c[i].name);
		json_number(j, "value", c->c[i].value);
		json_string(j, "text", c->c[i].text);
		json_close(j);
	}
}

int cmd_stats(int argc, char **argv)
{
	static const char *const module[] = { PROC_LINK, PROC_GATEWAY };
	struct args a = { 0 };
	struct counters c;
	struct json j;
	unsigned int i, found = 0;
	const char *first;

	parse_options(&argp, argc, argv, &a);
	first = a.npatterns ? *a.pattern : NULL;
	json_init(&j, stdout);
	for (i = 0; i < 2; i++) {
		if (!counters_read(&c, module[i]))
			continue;
		if (!found++ && want_json)
			json_array(&j, NULL);
		if (want_json)
			programs(&a, &c, module[i], &j);
		else
			people(&a, &c, module[i]);
		counters_free(&c);
	}
	if (!found) {
		free(a.pattern);
		return proc_complain(PROC_LINK);
	}
	if (want_json)
		json_close(&j);
	free(a.pattern);
	if (!a.matched && a.npatterns) {
		complain("no counter matches \"%s\"%s; `oae stats -z` shows all", first,
			 a.npatterns > 1 ? ", nor the others" : "");
		return EXIT_LOCAL;
	}
	if (!a.shown && !want_json)
		puts("all 0");
	return EXIT_OK;
}
