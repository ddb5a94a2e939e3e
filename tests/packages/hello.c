// SPDX-License-Identifier: GPL-2.0
/*
 * hello ADDRESS TEXT: one transaction through the installed liboae.
 *
 *	cc hello.c $(pkg-config --cflags --libs oae)
 *
 * Says what became of it; 0 committed, 1 reversed or unknown, 2 not begun.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <oae.h>

int main(int argc, char *argv[])
{
	unsigned char peer[OAE_PEER_LEN];
	int fd, err = 0;

	if (argc != 3 || oae_parse_peer(argv[1], peer)) {
		fprintf(stderr, "usage: hello ADDRESS TEXT\n");
		return 2;
	}
	fd = oae_open(NULL, peer, 0, 0);
	if (fd < 0) {
		printf("not begun: %s\n", oae_strerror(errno));
		return 2;
	}
	if (oae_send(fd, argv[2], strlen(argv[2])))
		err = errno;
	printf("%s\n", oae_outcome_name(oae_outcome(err)));
	return err != 0;
}
