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

/* False: errno says why. */
bool ports_read(struct ports *p);
void ports_free(struct ports *p);
const char *port_state(const struct port *p);

/* OAE_SYS in the environment is read instead of /sys. */
bool knob_path(char *buf, unsigned int size, const char *knob);

#endif /* OAE_PORTS_H */
