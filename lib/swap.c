// SPDX-License-Identifier: GPL-2.0
/* Swaps. */
#include <errno.h>
#include <sys/ioctl.h>

#include "lib.h"

static int swap(int fd, void *data)
{
	return ioctl(fd, OAE_SWAP_HALF, data);
}

ssize_t oae_swap(int fd, const void *give, size_t len, void *take, size_t size)
{
	struct oae_swap s = {
		.give = oae_address(give),
		.take = oae_address(take),
		.give_len = (__u32)len,
		.take_len = size > UINT32_MAX ? UINT32_MAX : (__u32)size,
	};

	if (len > UINT32_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (oae_must_block(fd, 1))
		return -1;
	return oae_again(fd, swap, &s) ? -1 : (ssize_t)s.take_len;
}

int oae_queue_swap(int fd, const void *give, size_t len, uint64_t *id)
{
	struct oae_swap s = {
		.give = oae_address(give),
		.give_len = (__u32)len,
		.flags = OAE_NONBLOCK,
	};

	if (len > UINT32_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (ioctl(fd, OAE_SWAP_HALF, &s))
		return -1;
	if (id)
		*id = s.id;
	return 0;
}
