// SPDX-License-Identifier: GPL-2.0
/* Words that peers may work on. */
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "lib.h"

int oae_expose(int fd, uint32_t region, size_t size, uint32_t perm)
{
	struct oae_expose e = { .size = size, .region = region, .perm = perm };

	return ioctl(fd, OAE_EXPOSE, &e);
}

uint64_t *oae_map(int fd, size_t size)
{
	void *words = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return words == MAP_FAILED ? NULL : words;
}

int oae_unmap(uint64_t *words, size_t size)
{
	return munmap(words, size);
}
