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
	int state;		/* of filter_states, -1 any */
	const char *word;	/* whose value comes next */
};

/* What may follow `state`. */
extern const char *const filter_states[];

#define FILTER_ANY { .vc = -1, .state = -1 }

/*
 * ARGP_KEY_ARG: a word of @words, or the value of the one before. Returns the place of
 * a word that is not about which links are meant; -1: it was.
 */
int filter_arg(struct filter *f, const char *arg, const char *const *words,
	       struct argp_state *state);
/* ARGP_KEY_END: a word without its value is an error. */
void filter_end(const struct filter *f, struct argp_state *state);
bool filter_peer(const struct filter *f, const unsigned char mac[6], unsigned int vc);
bool filter_link(const struct filter *f, const struct link_row *l);

#endif /* OAE_FILTER_H */
