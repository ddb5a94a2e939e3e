// SPDX-License-Identifier: GPL-2.0
/* Which links are meant. See filter.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "filter.h"
#include "proc.h"

static void peer_word(struct filter *f, const char *arg, struct argp_state *state)
{
	struct oae_address where;
	unsigned long low;
	char *end;

	/* As every PEER, but for those that are known by an id alone. */
	if (!oae_parse_address(arg, &where) && !where.id && !*where.port) {
		memcpy(f->mac, where.peer, sizeof(where.peer));
		f->mac_len = 6;
		return;
	}
	low = strtoul(arg, &end, 16);
	if (!isdigit((unsigned char)*arg) || *end || low > 0xffffff)
		usage_error(state,
			    "peer: \"%s\" is neither a MAC, its lower 24 bits in hex, from a digit on, nor "
			    "a name of /etc/oae/hosts for a MAC", arg);
	f->mac[3] = low >> 16;
	f->mac[4] = low >> 8;
	f->mac[5] = low;
	f->mac_len = 3;
}

/* What people ask for, and the states in tags that are it. */
const char *const filter_states[] = { "open", "down", "opening", "closing", "closed", NULL };

static const char *const in_tags[][2] = {
	{ "OPEN" }, { "DOWN" }, { "SYNC_SENT", "SYNC_RECD" }, { "CLOSE_SENT", "CLOSE_RECD" },
	{ "CLOSED" },
};

static bool state_is(const struct filter *f, const char *name)
{
	const char *const *names = in_tags[f->state];

	return !strcmp(name, names[0]) || (names[1] && !strcmp(name, names[1]));
}

int filter_arg(struct filter *f, const char *arg, const char *const *words,
	       struct argp_state *state)
{
	const char *word = f->word;
	unsigned int i;

	f->word = NULL;
	if (!word) {
		i = word_arg(state, "", arg, words);
		if (strcmp(words[i], "port") && strcmp(words[i], "peer") &&
		    strcmp(words[i], "vc") && strcmp(words[i], "state"))
			return i;
		f->word = words[i];
	} else if (!strcmp(word, "port")) {
		f->port = arg;
	} else if (!strcmp(word, "vc")) {
		f->vc = number_arg(state, "vc", arg, 0, 255);
	} else if (!strcmp(word, "state")) {
		f->state = word_arg(state, "state: ", arg, filter_states);
	} else {
		peer_word(f, arg, state);
	}
	return -1;
}

void filter_end(const struct filter *f, struct argp_state *state)
{
	if (f->word)
		usage_error(state, "%s: which one? A value has to follow", f->word);
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
	       (f->state < 0 || state_is(f, l->state));
}
