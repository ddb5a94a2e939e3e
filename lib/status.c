// SPDX-License-Identifier: GPL-2.0
/* How a link is, and how it shall be used. */
#include <sys/ioctl.h>

#include "lib.h"

#define SIZE_OF(array) (sizeof(array) / sizeof((array)[0]))

int oae_status(int fd, struct oae_status *status)
{
	return ioctl(fd, OAE_STATUS, status);
}

int oae_get_options(int fd, struct oae_options *options)
{
	return ioctl(fd, OAE_GET_OPTIONS, options);
}

int oae_set_options(int fd, const struct oae_options *options)
{
	return ioctl(fd, OAE_SET_OPTIONS, options);
}

int oae_waits(int fd, unsigned int flags, struct oae_waits *waits)
{
	waits->flags = flags;
	return ioctl(fd, OAE_WAITS, waits);
}

const char *oae_waits_name(unsigned int why)
{
	static const char *const names[] = {
		"nothing", "port", "carrier", "gateway", "answer", "settling", "room", "words",
		"half", "flight", "confirm",
	};

	return why < SIZE_OF(names) ? names[why] : "?";
}

const char *oae_state_name(unsigned int state)
{
	static const char *const names[] = {
		"closed", "asking", "synchronising", "open", "closing", "being closed",
	};

	return state < SIZE_OF(names) ? names[state] : "?";
}

const char *oae_event_name(unsigned int event)
{
	switch (event) {
	case OAE_EVENT_UP:
		return "up";
	case OAE_EVENT_DOWN:
		return "down";
	case OAE_EVENT_DOUBT:
		return "in doubt";
	case OAE_EVENT_SETTLED:
		return "settled";
	case OAE_EVENT_PEER_NEW:
		return "peer is new";
	case OAE_EVENT_CLOSED:
		return "closed";
	case OAE_EVENT_DEAD:
		return "port gone";
	case OAE_EVENT_LOST:
		return "something lost";
	default:
		return "?";
	}
}
