// SPDX-License-Identifier: GPL-2.0
/*
 * What error numbers mean: the table of <linux/oae.h>, each number once.
 */
#include <errno.h>

#include "lib.h"

#define SIZE_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	int err;
	enum oae_ending ending;
	const char *text;
} table[] = {
	{ 0, OAE_COMMITTED, "committed" },
	{ EOVERFLOW, OAE_COMMITTED, "committed; its result did not fit, collect it" },

	{ EINTR, OAE_REVERSED, "a signal came" },
	{ ECANCELED, OAE_REVERSED, "cancelled" },
	{ ETIME, OAE_REVERSED, "the deadline passed" },
	{ ENOLINK, OAE_REVERSED, "the link is down" },
	{ ESHUTDOWN, OAE_REVERSED, "the link was closed at this end" },
	{ EPIPE, OAE_REVERSED, "the link was closed by the peer" },
	{ ECONNREFUSED, OAE_REVERSED, "the peer does not accept a link" },
	{ EMSGSIZE, OAE_REVERSED, "larger than an end allows" },
	{ EOPNOTSUPP, OAE_REVERSED, "the peer does not serve this kind of transaction" },
	{ ENXIO, OAE_REVERSED, "the peer exposes no such region to this end" },
	{ ERANGE, OAE_REVERSED, "words behind the end of the peer's region" },
	{ EACCES, OAE_REVERSED, "the peer's region does not permit it" },
	{ EBADMSG, OAE_REVERSED, "the peer cannot read the request" },

	{ EOWNERDEAD, OAE_UNKNOWN, "an end of the link died; nobody can tell what became of it" },

	{ EINPROGRESS, OAE_NOT_YET, "not known yet, the peer may have it; collect its outcome" },

	{ EAGAIN, OAE_NOTHING, "not now: it would have to wait" },
	{ EFAULT, OAE_NOTHING, "bad address" },
	{ EINVAL, OAE_NOTHING, "invalid argument" },
	{ ENOMEM, OAE_NOTHING, "out of memory" },
	{ ENOTCONN, OAE_NOTHING, "not attached to a link" },
	{ ENODEV, OAE_NOTHING, "no such port, or it is gone" },
	{ EBADF, OAE_NOTHING, "not an open file" },
	{ EPERM, OAE_NOTHING, "not permitted: it takes CAP_NET_RAW" },
	{ ENOTTY, OAE_NOTHING, "not a file of " OAE_DEV ", or no such request" },
	{ EEXIST, OAE_NOTHING, "this file exposes a region, or has rings, already" },
	{ EISCONN, OAE_NOTHING, "attached already" },
	{ EADDRINUSE, OAE_NOTHING, "the number of the region is taken" },
	{ ENOBUFS, OAE_NOTHING, "no room for another link" },
	{ ENOENT, OAE_NOTHING, "no such transaction, or no " OAE_DEV },
	{ EDESTADDRREQ, OAE_NOTHING, "a listening file has no peer" },
	{ EHOSTUNREACH, OAE_NOTHING, "no neighbour has this id" },
	{ EBUSY, OAE_NOTHING, "the link is on a ring, or in use for read() and write()" },
	{ EXDEV, OAE_NOTHING, "a link of another network namespace" },
	{ EPROTO, OAE_NOTHING, "the program broke the rules of its rings" },
};

enum oae_ending oae_outcome(int err)
{
	for (size_t i = 0; i < SIZE_OF(table); i++)
		if (table[i].err == err)
			return table[i].ending;
	return OAE_UNKNOWN;
}

const char *oae_strerror(int err)
{
	for (size_t i = 0; i < SIZE_OF(table); i++)
		if (table[i].err == err)
			return table[i].text;
	return "an error that the device does not have";
}

const char *oae_outcome_name(enum oae_ending ending)
{
	switch (ending) {
	case OAE_COMMITTED:
		return "committed";
	case OAE_REVERSED:
		return "reversed";
	case OAE_UNKNOWN:
		return "unknown";
	case OAE_NOT_YET:
		return "not yet known";
	case OAE_NOTHING:
		return "nothing was begun";
	}
	return "?";
}
