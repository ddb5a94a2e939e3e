/* SPDX-License-Identifier: GPL-2.0 */
/* The ports of this namespace: the net devices bound to the module. */
#ifndef OAE_PORTS_H
#define OAE_PORTS_H

#include <net/if.h>
#include <stdbool.h>

struct port {
	char name[IFNAMSIZ];
	bool there;		/* the rest is known */
	unsigned char mac[6];
	bool up;
	bool carrier;
	unsigned int mtu;
};

struct ports {
	struct port *port;
	unsigned int n;
};

/* As netlink dumps them; of the knob dev in OAE_SYS if set. False: errno says why. */
bool ports_read(struct ports *p);
void ports_free(struct ports *p);
const char *port_state(const struct port *p);

#endif /* OAE_PORTS_H */
