/* SPDX-License-Identifier: GPL-2.0 */
/* The hosts that were heard on the segments of the ports. */
#ifndef OAE_NEIGHBOURS_H
#define OAE_NEIGHBOURS_H

#include <net/if.h>
#include <stdbool.h>

struct neighbour {
	unsigned long long id, inc, heard_ms;
	char port[IFNAMSIZ];
	unsigned char mac[6];
	unsigned int mtu;
};

struct neighbours {
	struct neighbour *row;
	unsigned int n;
};

/* As netlink dumps them; with OAE_PROC_NET those of the file. False: errno says why. */
bool neighbours_read(struct neighbours *n);
void neighbours_free(struct neighbours *n);

#endif /* OAE_NEIGHBOURS_H */
