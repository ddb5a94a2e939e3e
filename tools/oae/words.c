// SPDX-License-Identifier: GPL-2.0
/* Words of a list: whole, by how they begin, or mistyped. */
#include <string.h>

#include "cmd.h"
#include "error.h"

#define MAX_WORD	31	/* characters of words that are compared by distance */
#define WORDS_ROOM	512	/* characters of a list of words in an error */

/*
 * How many characters have to be added, left out, replaced or swapped with the next
 * one (the optimal string alignment distance).
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int d[MAX_WORD + 2][MAX_WORD + 2], i, k, best;
	unsigned int n = strlen(a), m = strlen(b);

	if (n > MAX_WORD || m > MAX_WORD)
		return MAX_WORD;
	for (i = 0; i <= n; i++) {
		for (k = 0; k <= m; k++) {
			if (!i || !k) {
				d[i][k] = i + k;
				continue;
			}
			best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
			best = d[i - 1][k] < best ? d[i - 1][k] + 1 : best;
			best = d[i][k - 1] < best ? d[i][k - 1] + 1 : best;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    d[i - 2][k - 2] < best)
				best = d[i - 2][k - 2] + 1;
			d[i][k] = best;
		}
	}
	return d[n][m];
}

static bool begins(const char *word, const char *text)
{
	return *text && !strncmp(word, text, strlen(text));
}

int word_find(const char *text, const char *const *list)
{
	int i, found = -1;

	for (i = 0; list[i]; i++) {
		if (!strcmp(list[i], text))
			return i;
		if (begins(list[i], text))
			found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

/* One mistake in three characters. */
static bool near(const char *word, const char *text)
{
	unsigned int len = strlen(text);

	return begins(word, text) || distance(word, text) <= (len < 3 ? 0 : len < 6 ? 1 : 2);
}

/* What fits, behind what is there. */
static void append(char text[WORDS_ROOM], const char *between, const char *word)
{
	size_t len = strlen(text);

	snprintf(text + len, WORDS_ROOM - len, "%s%s", between, word);
}

const char *word_hint(const char *text, const char *const *list)
{
	static char hint[WORDS_ROOM];
	unsigned int i, last = 0, found = 0;

	*hint = 0;
	for (i = 0; list[i]; i++) {
		if (near(list[i], text)) {
			last = i;
			found++;
		}
	}
	for (i = 0; i <= last && found; i++)
		if (near(list[i], text))
			append(hint, !*hint ? "; did you mean " : i < last ? ", " : " or ",
			       list[i]);
	if (found)
		append(hint, "?", "");
	return hint;
}

unsigned int word_arg(const struct argp_state *state, const char *what, const char *text,
		      const char *const *list)
{
	int found = word_find(text, list);
	char all[WORDS_ROOM] = "";
	unsigned int i;

	if (found >= 0)
		return found;
	for (i = 0; list[i]; i++)
		append(all, i ? ", " : "", list[i]);
	usage_error(state, "%s\"%s\" is none of %s%s", what, text, all, word_hint(text, list));
}
