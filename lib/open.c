// SPDX-License-Identifier: GPL-2.0
/* From a peer's address, or a listener, to a descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib.h"

/* Open, attach, and leave nothing behind if it does not work. */
static int attach(const char *port, const unsigned char *peer, int vc, unsigned int attach_flags,
		  __u32 id_high, int flags)
{
	struct oae_attach how = { .flags = attach_flags, .id_high = id_high };
	struct oae_options options;
	int fd, err;

	if (vc < 0 || vc > 255 || (port && strlen(port) >= sizeof(how.port))) {
		errno = EINVAL;
		return -1;
	}
	how.vc = (__u8)vc;
	if (port)
		memcpy(how.port, port, strlen(port));
	if (peer)
		memcpy(how.peer, peer, sizeof(how.peer));

	fd = open(OAE_DEV, O_RDWR | O_CLOEXEC | (flags & OAE_OPEN_NONBLOCK ? O_NONBLOCK : 0));
	if (fd < 0)
		return -1;
	if (ioctl(fd, OAE_ATTACH, &how))
		goto fail;
	if (flags & (OAE_OPEN_EXPRESS | OAE_OPEN_TAKE)) {
		if (oae_get_options(fd, &options))
			goto fail;
		options.flags |= (flags & OAE_OPEN_EXPRESS ? OAE_OPT_EXPRESS : 0) |
				 (flags & OAE_OPEN_TAKE ? OAE_OPT_TAKE : 0);
		if (oae_set_options(fd, &options))
			goto fail;
	}
	return fd;
fail:
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/*
 * The device returns the same whether a transaction is committed or only queued.
 * Which of the two it means is a flag that anybody may have changed: look.
 */
int oae_must_block(int fd, int blocking)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	if (blocking == !!(flags & O_NONBLOCK)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

static int open_end(const char *port, const unsigned char *peer, int vc, uint64_t id, int flags)
{
	unsigned int attach_flags = flags & OAE_OPEN_NOW ? OAE_ATTACH_OPEN : 0;

	if (!peer || flags & ~(OAE_OPEN_NOW | OAE_OPEN_NONBLOCK | OAE_OPEN_EXPRESS |
			      OAE_OPEN_TAKE)) {
		errno = EINVAL;
		return -1;
	}
	if (id)
		attach_flags |= OAE_ATTACH_ID;
	return attach(port, peer, vc, attach_flags, (__u32)(id >> 48), flags);
}

int oae_open(const char *port, const unsigned char peer[OAE_PEER_LEN], int vc, int flags)
{
	return open_end(port, peer, vc, 0, flags);
}

int oae_open_address(const struct oae_address *where, int vc, int flags)
{
	unsigned char low[OAE_PEER_LEN];

	for (int i = 0; i < OAE_PEER_LEN; i++)
		low[i] = (unsigned char)(where->id >> (40 - 8 * i));
	return open_end(where->port, where->id ? low : where->peer, vc, where->id, flags);
}

int oae_listen(const char *port, const unsigned char *peer, int vc, int flags)
{
	unsigned int attach_flags = OAE_ATTACH_LISTEN;

	if (flags & ~OAE_OPEN_NONBLOCK) {
		errno = EINVAL;
		return -1;
	}
	if (vc == -1) {
		attach_flags |= OAE_ATTACH_ANY_VC;
		vc = 0;
	}
	return attach(port, peer, vc, attach_flags, 0, flags);
}

int oae_next_peer(int listener, struct oae_peer *who)
{
	ssize_t n = read(listener, who, sizeof(*who));

	if (n == (ssize_t)sizeof(*who))
		return 0;
	if (n >= 0)
		errno = ENODEV; /* end of file: nobody will come any more */
	return -1;
}

int oae_accept(int listener, struct oae_peer *who, int flags)
{
	struct oae_peer peer;

	if (oae_next_peer(listener, &peer))
		return -1;
	if (who)
		*who = peer;
	return oae_open(peer.port, peer.peer, peer.vc, flags);
}
