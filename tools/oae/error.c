// SPDX-License-Identifier: GPL-2.0
/* Errors in words. What they say of a transaction is liboae's to know. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "text.h"

const char *command_name = "oae";

struct meaning {
	int err;
	const char *text;
	const char *hint;	/* where to look if it is not known what was waited for */
};

/* Of a transaction: what it means, and what to do. */
static const struct meaning outcomes[] = {
	{ EINTR, "interrupted by a signal", NULL },
	{ ECANCELED, "cancelled, or its port was removed", NULL },
	{ ETIME, "its deadline passed", "give it longer, or look at `oae show`" },
	{ ENOLINK, "the link is down", "look at `oae show`" },
	{ ESHUTDOWN, "the link was closed at this end, or the knob shutdown is 1", NULL },
	{ EPIPE, "the peer closed the link", NULL },
	{ ECONNREFUSED,
	  "the peer does not accept this end; look at its knobs accept, peers and max_tags", NULL },
	{ EMSGSIZE, "larger than a limit, of either end; look at the knob max_len of both", NULL },
	{ EOPNOTSUPP, "the peer does not serve this kind; its module is older", NULL },
	{ ENXIO, "the peer exposes no such region, or not to this end; there: oae expose", NULL },
	{ ERANGE, "words behind the end of the region", NULL },
	{ EACCES, "the region does not permit it; there: oae expose --perm", NULL },
	{ EBADMSG, "the peer cannot read it", NULL },
	{ EOWNERDEAD, "an end of the link died, and with it what was decided; ask the peer", NULL },
	{ EINPROGRESS, "the peer may have it, and its outcome is not known yet", NULL },
	{ EOVERFLOW, "committed; its result did not fit", NULL },
};

/* Errors of what is done here, where strerror() does not say what to do. */
static const struct meaning locals[] = {
	{ EPERM, "needs CAP_NET_RAW in this network namespace; be root", NULL },
	{ EACCES, "not permitted; be root, or see the mode of /dev/oae", NULL },
	{ ENODEV, "no such port, or none at all; see `oae port show`, `oae port add DEV`", NULL },
	{ ENOBUFS, "no room for another link; see the knob max_tags", NULL },
	{ EHOSTUNREACH, "no neighbour has this id; `oae neighbours` has those that are there",
	  NULL },
	{ EADDRINUSE, "the region's number is taken in this namespace", NULL },
};

static const struct meaning *find(const struct meaning *m, size_t n, int err)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (m[i].err == err)
			return &m[i];
	return NULL;
}

const char *errno_name(int err)
{
	static char buf[24];
	const char *name = strerrorname_np(err);

	if (name)
		return name;
	snprintf(buf, sizeof(buf), "error %d", err);
	return buf;
}

int outcome_exit(int err)
{
	switch (oae_outcome(err)) {
	case OAE_COMMITTED:
		return EXIT_OK;
	case OAE_REVERSED:
		return EXIT_REVERSED;
	case OAE_UNKNOWN:
		return EXIT_UNKNOWN;
	case OAE_NOT_YET:
		return EXIT_PENDING;
	case OAE_NOTHING:
		break;
	}
	return EXIT_LOCAL;
}

const char *outcome_word(int err)
{
	switch (outcome_exit(err)) {
	case EXIT_OK:
		return "committed";
	case EXIT_REVERSED:
		return "reversed";
	case EXIT_UNKNOWN:
		return "unknown";
	case EXIT_PENDING:
		return "pending";
	}
	return "not begun";
}

/* The answer to outcome_waits(): at most one transaction is under way. */
static struct oae_waits waited;

static bool is_waited(int err)
{
	return err == EINTR || err == ECANCELED || err == ETIME || err == ENOLINK;
}

void outcome_waits(int fd, int err)
{
	if (!is_waited(err) || oae_waits(fd, OAE_WAITS_LAST, &waited))
		waited.why = OAE_WAITS_NOTHING;
}

const char *outcome_waited(void)
{
	return waited.why ? oae_waits_name(waited.why) : NULL;
}

const char *outcome_meaning(int err)
{
	static char text[sizeof(waited.text) + 80];
	const struct meaning *m = find(outcomes, sizeof(outcomes) / sizeof(*outcomes), err);
	const char *more;

	if (!m)
		m = find(locals, sizeof(locals) / sizeof(*locals), err);
	if (!m)
		return strerror(err);
	more = is_waited(err) && waited.why ? waited.text : m->hint;
	if (!more)
		return m->text;
	snprintf(text, sizeof(text), "%s; %s", m->text, more);
	return text;
}

/*
 * One line in one write, lest that of another program gets into it; what a name may hold is
 * printed as text is. @err: 0 none.
 */
static void say(int err, const char *fmt, va_list args)
{
	const struct meaning *m = find(locals, sizeof(locals) / sizeof(*locals), err);
	char *line, *shown;
	size_t len;
	FILE *out = memory_file(&line, &len);

	fflush(stdout);
	fprintf(out, "%s: ", command_name);
	vfprintf(out, fmt, args);
	if (err)
		fprintf(out, ": %s: %s", errno_name(err), m ? m->text : strerror(err));
	fclose(out);
	out = memory_file(&shown, &len);
	put_safe(out, line, strlen(line));
	putc('\n', out);
	fclose(out);
	fwrite(shown, 1, len, stderr);
	free(shown);
	free(line);
}

void complain(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(0, fmt, args);
	va_end(args);
}

int complain_errno(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(err, fmt, args);
	va_end(args);
	return EXIT_LOCAL;
}

int complain_file(int err, const char *name)
{
	complain("%s: %s: %s", name, errno_name(err), strerror(err));
	return EXIT_LOCAL;
}

void usage_error(const struct argp_state *state, const char *fmt, ...)
{
	va_list args;

	(void)state;	/* in place of argp_error(), which prints two lines */
	va_start(args, fmt);
	say(0, fmt, args);
	va_end(args);
	exit(EXIT_USAGE);
}

int complain_not_loaded(const char *module)
{
	complain("the module %s is not loaded; as root: modprobe %s", module, module);
	return EXIT_NOT_LOADED;
}

int complain_outcome(int err, const char *what)
{
	complain("%s: %s: %s: %s", what, outcome_word(err), errno_name(err), outcome_meaning(err));
	return outcome_exit(err);
}
