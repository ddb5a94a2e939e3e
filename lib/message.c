// SPDX-License-Identifier: GPL-2.0
/* Messages, and what concerns all transactions of a descriptor. */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib.h"

struct pieces {
	const struct iovec *iov;
	int count;
};

/* One transaction; the device takes all of it or nothing. */
static int post(int fd, void *data)
{
	const struct pieces *p = data;
	ssize_t n = writev(fd, p->iov, p->count);

	/* nothing at all does not get as far as the device */
	if (n == 0)
		errno = EINVAL;
	return n > 0 ? 0 : -1;
}

int oae_sendv(int fd, const struct iovec *iov, int count)
{
	struct pieces p = { iov, count };

	return oae_must_block(fd, 1) ? -1 : oae_again(fd, post, &p);
}

int oae_send(int fd, const void *data, size_t len)
{
	/* writev() does not write through it */
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };

	return oae_sendv(fd, &iov, 1);
}

int oae_queuev(int fd, const struct iovec *iov, int count)
{
	struct pieces p = { iov, count };

	return oae_must_block(fd, 0) ? -1 : post(fd, &p);
}

int oae_queue(int fd, const void *data, size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };

	return oae_queuev(fd, &iov, 1);
}

ssize_t oae_recv(int fd, void *buf, size_t size)
{
	return read(fd, buf, size);
}

int oae_done(int fd)
{
	return ioctl(fd, OAE_DONE);
}

ssize_t oae_recv_size(int fd)
{
	int size = 0;

	return ioctl(fd, FIONREAD, &size) ? -1 : size;
}

int oae_confirm(int fd)
{
	return fsync(fd);
}

int oae_cancel(int fd, uint64_t id)
{
	__u64 which = id;

	return ioctl(fd, OAE_CANCEL, &which);
}
