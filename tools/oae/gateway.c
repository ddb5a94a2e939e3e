// SPDX-License-Identifier: GPL-2.0
/* oae gateway: the gateway of this namespace, the parameters of modoaeip. */
#include <stdlib.h>

#include "cmd.h"
#include "error.h"
#include "knobs.h"
#include "text.h"

struct args {
	bool set;
	char **arg;
	unsigned int n;
};

static const char doc[] =
	"The gateway of this network namespace: the parameters of the module modoaeip.\n"
	"\vExamples:\n"
	"  oae gateway show                       all of them, and what they take\n"
	"  oae gateway show gwips                 one, as `oae gateway set` takes it\n"
	"  oae gateway set dev=eth1 gwips=10.1.0.1,10.2.0.1   serve eth1's zone\n"
	"  oae gateway set shutdown=1             say good-bye and stand by\n"
	"\n"
	"All that are named are set, or none; modoaeip(4) explains them.\n"
	"JSON: an array of objects: knob, value (as text), takes.\n"
	"Exit: 6 the module refused it; nothing is changed.\n";

static const char *const verbs[] = { "show", "set", NULL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!state->arg_num) {
			a->set = word_arg(state, "", arg, verbs);
			return 0;
		}
		if (a->set)
			setting_arg(arg, state);
		else
			knob_arg(arg, state);
		a->arg = grow(a->arg, a->n + 1, sizeof(*a->arg));
		a->arg[a->n++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->set && !a->n)
			usage_error(state, "set what? oae gateway set KNOB=VALUE");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	NULL, parse, "[show [KNOB...]]\nset KNOB=VALUE...", doc, common_options, NULL, NULL
};

int cmd_gateway(int argc, char **argv)
{
	struct args a = { 0 };
	int status;

	parse_options(&argp, argc, argv, &a);
	if (a.set)
		status = knobs_set(&gateway_knobs, a.arg, a.n);
	else
		status = knobs_get(&gateway_knobs, a.arg, a.n);
	free(a.arg);
	return status;
}
