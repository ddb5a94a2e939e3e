/* SPDX-License-Identifier: GPL-2.0 */
/* The owners of links, and of files that listen: all open files of /dev/oae. */
#ifndef OAE_OWNERS_H
#define OAE_OWNERS_H

#include <stdbool.h>

struct filter;
struct json;
struct link_row;

/* An open file that is attached to a link of this namespace, or listens. */
struct owner {
	bool listens;
	char port[16];
	char peer[18];
	unsigned char mac[6];
	int vc;			/* @listens: port and peer "*", vc -1 are any */
	unsigned int pid;
	unsigned int fd;
	char command[64];
};

struct owners {
	struct owner *o;
	unsigned int n;
	unsigned int hidden;	/* processes that may not be looked at */
};

/* OAE_PROC in the environment is looked through instead of /proc. */
void owners_read(struct owners *all);
void owners_free(struct owners *all);
bool owner_has(const struct owner *o, const struct link_row *l);
/* "oae/123, python3/45", or "-"; to be freed. */
char *owners_text(const struct owners *all, const struct link_row *l);
/* Of one that listens: may links that are meant come to it? */
bool owner_listens(const struct owner *o, const struct filter *f);
/* The same, of it alone. */
void owner_json(const struct owner *o, struct json *j);
/* The member "owners" of the object that is open. */
void owners_json(const struct owners *all, const struct link_row *l, struct json *j);

#endif /* OAE_OWNERS_H */
