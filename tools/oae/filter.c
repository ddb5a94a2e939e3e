// SPDX-License-Identifier: GPL-2.0
/* Which links are meant. See filter.h. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "filter.h"
#include "proc.h"

static void peer_word(struct filter *f, const char *arg, struct argp_state *state)
{
	unsigned long low;
	char *end;

	if (mac_parse(arg, f->mac)) {
		f->mac_len = 6;
		return;
	}
	low = strtoul(arg, &end, 16);
	if (end == arg || *end || low > 0xffffff || strchr(arg, '-'))
		argp_error(state, "peer: \"%s\" is neither a MAC nor its lower 24 bits in hex",
			   arg);
	f->mac[3] = low >> 16;
	f->mac[4] = low >> 8;
	f->mac[5] = low;
	f->mac_len = 3;
}

/* What people ask for, and the states in tags that are it. */
static const struct {
	const char *word;
	const char *states[2];
} states[] = {
	{ "open", { "OPEN" } },
	{ "down", { "DOWN" } },
	{ "opening", { "SYNC_SENT", "SYNC_RECD" } },
	{ "closing", { "CLOSE_SENT", "CLOSE_RECD" } },
	{ "closed", { "CLOSED" } },
};

#define STATES (sizeof(states) / sizeof(*states))

static void state_word(struct filter *f, const char *arg, struct argp_state *state)
{
	unsigned int i;

	for (i = 0; i < STATES; i++)
		if (!strcmp(arg, states[i].word))
			f->state = arg;
	if (!f->state)
		argp_error(state, "state: \"%s\" is none of open, down, opening, closing, closed",
			   arg);
}

static bool state_is(const struct filter *f, const char *name)
{
	unsigned int i, k;

	for (i = 0; i < STATES; i++)
		for (k = 0; k < 2; k++)
			if (!strcmp(f->state, states[i].word) && states[i].states[k] &&
			    !strcmp(name, states[i].states[k]))
				return true;
	return false;
}

static bool is_filter(const struct filter *f, const char *arg)
{
	return !strcmp(arg, "port") || !strcmp(arg, "peer") || !strcmp(arg, "vc") ||
	       (f->states && !strcmp(arg, "state"));
}

bool filter_word(struct filter *f, const char *arg, struct argp_state *state)
{
	const char *word = f->word;

	if (!word) {
		if (!is_filter(f, arg))
			return false;
		f->word = arg;
		return true;
	}
	f->word = NULL;
	if (!strcmp(word, "port"))
		f->port = arg;
	else if (!strcmp(word, "vc"))
		f->vc = number_arg(state, "vc", arg, 0, 255);
	else if (!strcmp(word, "state"))
		state_word(f, arg, state);
	else
		peer_word(f, arg, state);
	return true;
}

void filter_end(const struct filter *f, struct argp_state *state)
{
	if (f->word)
		argp_error(state, "%s: which?", f->word);
}

bool filter_peer(const struct filter *f, const unsigned char mac[6], unsigned int vc)
{
	unsigned int skip = 6 - f->mac_len;

	return (f->vc < 0 || (unsigned int)f->vc == vc) &&
	       !memcmp(f->mac + skip, mac + skip, f->mac_len);
}

bool filter_link(const struct filter *f, const struct link_row *l)
{
	return (!f->port || !strcmp(f->port, l->port)) && filter_peer(f, l->mac, l->vc) &&
	       (!f->state || state_is(f, l->state));
}
