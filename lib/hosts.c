// SPDX-License-Identifier: GPL-2.0
/* Where a peer is, from text: an address, an id, or a name of /etc/oae/hosts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"

#define HOSTS	"/etc/oae/hosts"
#define LINE	512	/* characters of a line of it; longer ones are no names */
#define BLANKS	" \t\r\n"

static int fail(int err)
{
	errno = err;
	return -1;
}

/* Behind "id:": 13 to 16 digits, more with zeros. */
static int parse_id(const char *text, uint64_t *id)
{
	uint64_t value = 0;
	int digit;

	if (!*text)
		return fail(EINVAL);
	for (; *text; text++) {
		digit = oae_digit(*text);
		if (digit < 0 || value >> 60)
			return fail(EINVAL);
		value = value << 4 | (unsigned int)digit;
	}
	if (value >> 48 == 0)
		return fail(EINVAL);
	*id = value;
	return 0;
}

/* [PORT/]MAC or [PORT/]id:HEX. A port that is known already cannot be another. */
static int parse_plain(const char *text, struct oae_address *a)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;

	if (slash && (!len || len >= sizeof(a->port) ||
		      (a->port[0] && (strlen(a->port) != len || memcmp(a->port, text, len)))))
		return fail(EINVAL);
	if (slash)
		memcpy(a->port, text, len);
	text = slash ? slash + 1 : text;
	if (!strncmp(text, "id:", 3))
		return parse_id(text + 3, &a->id);
	return oae_parse_peer(text, a->peer);
}

/* The address of a name, in @line; NULL: ENOENT, or why the file cannot be read. */
static const char *find(const char *name, char line[LINE])
{
	const char *path = getenv("OAE_HOSTS"), *word, *address = NULL;
	FILE *file = fopen(path && *path ? path : HOSTS, "re");
	char *rest;

	if (!file)
		return NULL;
	while (!address && fgets(line, LINE, file)) {
		line[strcspn(line, "#")] = '\0';
		word = strtok_r(line, BLANKS, &rest);
		if (word && !strcmp(word, name))
			address = strtok_r(NULL, BLANKS, &rest);
	}
	fclose(file);
	if (!address)
		errno = ENOENT;
	return address;
}

int oae_parse_address(const char *text, struct oae_address *where)
{
	const char *name = strrchr(text, '/'), *address;
	struct oae_address a = { .id = 0 };
	char line[LINE];

	if (!parse_plain(text, &a)) {
		*where = a;
		return 0;
	}
	memset(&a, 0, sizeof(a));
	name = name ? name + 1 : text;
	if (!*name || strchr(name, ':'))
		return fail(EINVAL);
	if (name > text + 1 && name - text - 1 < (ptrdiff_t)sizeof(a.port))
		memcpy(a.port, text, (size_t)(name - text - 1));
	else if (name != text)
		return fail(EINVAL);
	address = find(name, line);
	if (!address)
		return -1;
	if (parse_plain(address, &a))
		return -1;
	*where = a;
	return 0;
}
