/* SPDX-License-Identifier: GPL-2.0 */
/*
 * [DEV/]ADDR on the command line, an id or a name, --port and --vc: which link is meant,
 * and being its end.
 */
#ifndef OAE_PEER_H
#define OAE_PEER_H

#include <argp.h>
#include <net/if.h>
#include <stdbool.h>

#include "json.h"

struct peer {
	char port[IFNAMSIZ];	/* "" the first */
	const char *text;	/* as it was said; NULL: not */
	unsigned char mac[6];
	bool low24;		/* only the lower half was said */
	unsigned long long id;	/* not 0: the node, wherever it is heard */
	int vc;			/* -1: not said */
};

#define PEER_NONE { .vc = -1 }

/* -j, and of a command whose input begins with a struct peer: --port and --vc. */
extern const struct argp_child peer_options[];

/* PEER; an error ends the program. */
void peer_arg(struct peer *p, const char *arg, struct argp_state *state);
/* To be called on ARGP_KEY_INIT. */
void peer_init(struct argp_state *state, struct peer *p);

/* Each returns a descriptor that does not block, or -1 and has said why. */
int peer_open(struct peer *p, int flags);
int peer_listen(struct peer *p);

/* An array with one object open: who, and how it ended; @err 0: committed. */
void result_begin(struct json *j, const struct peer *p, int err);
void result_end(struct json *j);

/* All of stdin, at most what a transaction may be and one byte more. */
char *read_stdin(size_t *len);

#endif /* OAE_PEER_H */
