/* SPDX-License-Identifier: GPL-2.0 */
/* `port P`, `peer A`, `vc N`, `state S` on the command line: which links are meant. */
#ifndef OAE_FILTER_H
#define OAE_FILTER_H

#include <argp.h>
#include <stdbool.h>

struct link_row;

struct filter {
	const char *port;	/* NULL: any */
	unsigned char mac[6];
	unsigned int mac_len;	/* 0 any, 3 the low half, 6 whole */
	int vc;			/* -1 any */
	bool states;		/* `state` is a word here */
	const char *state;	/* open, down, ...; NULL: any */
	const char *word;	/* whose value comes next */
};

#define FILTER_ANY { .vc = -1 }
#define FILTER_LINKS { .vc = -1, .states = true }

/* ARGP_KEY_ARG; false: @arg is not about this. */
bool filter_word(struct filter *f, const char *arg, struct argp_state *state);
/* ARGP_KEY_END: a word without its value is an error. */
void filter_end(const struct filter *f, struct argp_state *state);
bool filter_peer(const struct filter *f, const unsigned char mac[6], unsigned int vc);
bool filter_link(const struct filter *f, const struct link_row *l);

#endif /* OAE_FILTER_H */
