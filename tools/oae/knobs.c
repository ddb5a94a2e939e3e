// SPDX-License-Identifier: GPL-2.0
/* oae get, oae set: the knobs of the modules. oae gateway has those of the gateway. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "json.h"
#include "knobs.h"
#include "netlink.h"
#include "text.h"

const struct knob_family link_knobs = {
	OAE_NL_FAMILY, "modoae", OAE_NL_KNOB_GET, OAE_NL_KNOB_SET,
};

const struct knob_family gateway_knobs = {
	OAE_NL_GW_FAMILY, "modoaeip", OAE_NL_GW_KNOB_GET, OAE_NL_GW_KNOB_SET,
};

/* A knob as the module shows it. */
struct knob {
	char *name;
	char *value;
	char *takes;
};

struct knobs {
	struct knob *knob;
	unsigned int n;
};

static char *copy_attr(const struct nlattr *attr)
{
	return copy_text(attr_text(attr), strlen(attr_text(attr)));
}

static void take_knob(const struct nlattr *const *attrs, void *data)
{
	struct knobs *k = data;
	const char *takes = attr_text(attrs[OAE_NL_KNOB_TAKES]);

	k->knob = grow(k->knob, k->n + 1, sizeof(*k->knob));
	/* The end of a sentence; here it is a column. */
	if (!strncmp(takes, "takes ", 6))
		takes += 6;
	k->knob[k->n].name = copy_attr(attrs[OAE_NL_KNOB_NAME]);
	k->knob[k->n].value = copy_attr(attrs[OAE_NL_KNOB_VALUE]);
	k->knob[k->n++].takes = copy_text(takes, strlen(takes));
}

static void knobs_free(struct knobs *k)
{
	unsigned int i;

	for (i = 0; i < k->n; i++) {
		free(k->knob[i].name);
		free(k->knob[i].value);
		free(k->knob[i].takes);
	}
	free(k->knob);
}

/* All that there are; none if the module is not loaded. */
static void knobs_dump(const struct knob_family *f, struct knobs *k)
{
	struct refused why;
	struct netlink n;

	if (netlink_try(&n, f->family))
		return;
	netlink_talk(&n, netlink_request(&n, f->get, true), take_knob, k, &why);
	netlink_close(&n);
}

void knobs_each(const struct knob_family *f,
		void (*fn)(const char *name, const char *value, const char *takes))
{
	struct knobs k = { 0 };
	unsigned int i;

	knobs_dump(f, &k);
	for (i = 0; i < k.n; i++)
		fn(k.knob[i].name, k.knob[i].value, k.knob[i].takes);
	knobs_free(&k);
}

/* To the kernel's words that there is no such knob: which one may be meant. */
static void name_hint(const struct knob_family *f, const char *name, struct refused *why)
{
	size_t len = strlen(why->text);
	struct knobs k = { 0 };
	const char **list;
	const char *hint;
	unsigned int i;

	if (why->err != ENOENT)
		return;
	knobs_dump(f, &k);
	list = alloc(k.n + 1, sizeof(*list));
	for (i = 0; i < k.n; i++)
		list[i] = k.knob[i].name;
	hint = word_hint(name, list);
	snprintf(why->text + len, sizeof(why->text) - len, "%s", *hint ? hint :
		 "; `oae get` lists them, `oae gateway` those of the gateway");
	free(list);
	knobs_free(&k);
}

static int knob_read(struct netlink *n, const struct knob_family *f, const char *name,
		     struct knobs *k)
{
	struct nlmsghdr *nlh = netlink_request(n, f->get, !name);
	struct refused why;

	if (name && !netlink_put_text(n, nlh, OAE_NL_KNOB_NAME, name))
		return EXIT_LOCAL;
	if (!netlink_talk(n, nlh, take_knob, k, &why))
		return EXIT_OK;
	if (name)
		name_hint(f, name, &why);
	return complain_refused(&why, name ?: "knobs");
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct knob *)a)->name, ((const struct knob *)b)->name);
}

static void knobs_json(const struct knobs *k)
{
	struct json j;
	unsigned int i;

	json_init(&j, stdout);
	json_array(&j, NULL);
	for (i = 0; i < k->n; i++) {
		json_object(&j, NULL);
		json_string(&j, "knob", k->knob[i].name);
		json_string(&j, "value", k->knob[i].value);
		json_string(&j, "takes", k->knob[i].takes);
		json_close(&j);
	}
	json_close(&j);
}

/* All of them: a table. Those that were named: as oae set takes them. */
static void knobs_people(const struct knobs *k, bool all)
{
	static const struct grid_col cols[] = {
		{ "KNOB", false }, { "VALUE", false }, { "TAKES", false },
	};
	struct grid g;
	unsigned int i;

	grid_init(&g, cols, 3);
	for (i = 0; i < k->n; i++) {
		if (all) {
			grid_add(&g, k->knob[i].name,
				 *k->knob[i].value ? k->knob[i].value : "-", k->knob[i].takes);
			continue;
		}
		put_safe(stdout, k->knob[i].name, strlen(k->knob[i].name));
		putchar('=');
		put_safe(stdout, k->knob[i].value, strlen(k->knob[i].value));
		putchar('\n');
	}
	if (all)
		grid_print_wrapped(&g, stdout, 80);
	grid_free(&g);
}

int knobs_get(const struct knob_family *f, char *const *name, unsigned int count)
{
	struct knobs k = { 0 };
	struct netlink n;
	unsigned int i;
	int status;

	status = netlink_open(&n, f->family, f->module);
	if (status)
		return status;
	if (!count)
		status = knob_read(&n, f, NULL, &k);
	if (!count && k.n)
		qsort(k.knob, k.n, sizeof(*k.knob), by_name);
	for (i = 0; i < count && !status; i++)
		status = knob_read(&n, f, name[i], &k);
	if (!status && want_json)
		knobs_json(&k);
	else if (!status)
		knobs_people(&k, !count);
	knobs_free(&k);
	netlink_close(&n);
	return status;
}

/* The name before the "=". */
static char *setting_name(const char *setting)
{
	return copy_text(setting, strcspn(setting, "="));
}

static bool put_setting(struct netlink *n, struct nlmsghdr *nlh, const char *setting)
{
	char *name = setting_name(setting);
	struct nlattr *nest;
	bool fits;

	nest = mnl_attr_nest_start_check(nlh, sizeof(n->request), OAE_NL_KNOB_SETTING);
	if (!nest)
		complain("more than fits into one request");
	fits = nest && netlink_put_text(n, nlh, OAE_NL_KNOB_NAME, name) &&
	       netlink_put_text(n, nlh, OAE_NL_KNOB_VALUE, strchr(setting, '=') + 1);
	if (fits)
		mnl_attr_nest_end(nlh, nest);
	free(name);
	return fits;
}

/* The setting that the module names as the one at fault, or all. */
static int set_refused(const struct nlmsghdr *nlh, const struct knob_family *f,
		       struct refused *why, char *const *setting, unsigned int count)
{
	const struct nlattr *attr;
	unsigned int i = 0;
	char *name;

	mnl_attr_for_each(attr, nlh, 4) {
		if (attr == why->attr && i < count) {
			name = setting_name(setting[i]);
			name_hint(f, name, why);
			free(name);
			return complain_refused(why, setting[i]);
		}
		i++;
	}
	return complain_refused(why, count == 1 ? *setting : "nothing is set");
}

/* What is set now. */
static int set_show(struct netlink *n, const struct knob_family *f, char *const *setting,
		    unsigned int count)
{
	struct knobs k = { 0 };
	unsigned int i;
	int status = EXIT_OK;

	for (i = 0; i < count && !status; i++) {
		char *name = setting_name(setting[i]);

		status = knob_read(n, f, name, &k);
		free(name);
	}
	if (!status)
		knobs_json(&k);
	knobs_free(&k);
	return status;
}

int knobs_set(const struct knob_family *f, char *const *setting, unsigned int count)
{
	struct nlmsghdr *nlh;
	struct refused why;
	struct netlink n;
	unsigned int i;
	int status;

	status = netlink_open(&n, f->family, f->module);
	if (status)
		return status;
	nlh = netlink_request(&n, f->set, false);
	for (i = 0; i < count && !status; i++)
		status = put_setting(&n, nlh, setting[i]) ? EXIT_OK : EXIT_LOCAL;
	if (!status && netlink_talk(&n, nlh, NULL, NULL, &why))
		status = set_refused(nlh, f, &why, setting, count);
	if (!status && want_json)
		status = set_show(&n, f, setting, count);
	netlink_close(&n);
	return status;
}

void setting_arg(const char *arg, struct argp_state *state)
{
	if (*arg == '=' || !strchr(arg, '='))
		usage_error(state, "\"%s\" is not KNOB=VALUE", arg);
}

void knob_arg(const char *arg, struct argp_state *state)
{
	if (!*arg || strchr(arg, '='))
		usage_error(state, "\"%s\" is not the name of a knob", arg);
}

/* The arguments of a command, all of one kind. */
struct args {
	char **arg;
	unsigned int n;
};

static void take_arg(struct args *a, char *arg)
{
	a->arg = grow(a->arg, a->n + 1, sizeof(*a->arg));
	a->arg[a->n++] = arg;
}

static const char get_doc[] =
	"The knobs of this network namespace: the parameters of the module modoae.\n"
	"\vExamples:\n"
	"  oae get                    all of them, and what they take\n"
	"  oae get dead_ms max_len    these, as `oae set` takes them\n"
	"  oae -j get                 for programs\n"
	"\n"
	"JSON: an array of objects: knob, value (as text), takes.\n";

static const char set_doc[] =
	"Sets knobs of this network namespace: all that are named, or none.\n"
	"\vExamples:\n"
	"  oae set dead_ms=2000                      one\n"
	"  oae set stall_min_us=500 stall_max_us=9000   two that must fit each other\n"
	"  oae set accept=peers peers=2,eth1/3       who may open a link\n"
	"  oae set shutdown=1                        close all links, refuse new ones\n"
	"\n"
	"`oae get` lists the knobs and what they take; modoae(4) explains them. They are set until "
	"the module is unloaded; at every boot by `options modoae` in /etc/modprobe.d.\n"
	"JSON: an array of objects: knob, value (as it is now), takes.\n"
	"Exit: 6 the module refused it; nothing is changed.\n";

static error_t get_parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	knob_arg(arg, state);
	take_arg(state->input, arg);
	return 0;
}

static error_t set_parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		setting_arg(arg, state);
		take_arg(state->input, arg);
		return 0;
	case ARGP_KEY_NO_ARGS:
		usage_error(state, "set what? KNOB=VALUE");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp get_argp = {
	NULL, get_parse, "[KNOB...]", get_doc, common_options, NULL, NULL
};

static const struct argp set_argp = {
	NULL, set_parse, "KNOB=VALUE...", set_doc, common_options, NULL, NULL
};

int cmd_get(int argc, char **argv)
{
	struct args a = { 0 };
	int status;

	parse_options(&get_argp, argc, argv, &a);
	status = knobs_get(&link_knobs, a.arg, a.n);
	free(a.arg);
	return status;
}

int cmd_set(int argc, char **argv)
{
	struct args a = { 0 };
	int status;

	parse_options(&set_argp, argc, argv, &a);
	status = knobs_set(&link_knobs, a.arg, a.n);
	free(a.arg);
	return status;
}
