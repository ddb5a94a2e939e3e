// SPDX-License-Identifier: GPL-2.0
/*
 * The ports of this namespace, as netlink dumps them. With OAE_SYS in the
 * environment their names are those of the knob `dev` there; what they are is then
 * asked of the socket layer, since /sys/class/net shows the namespace in which it
 * was mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"
#include "ports.h"
#include "text.h"

static bool knob_path(char *buf, unsigned int size, const char *knob)
{
	return snprintf(buf, size, "%s/module/modoae/parameters/%s", getenv("OAE_SYS") ?: "/sys",
			knob) < (int)size;
}

static void look(struct port *p, int sock)
{
	struct ifreq r;

	memset(&r, 0, sizeof(r));
	memcpy(r.ifr_name, p->name, IFNAMSIZ);
	if (ioctl(sock, SIOCGIFHWADDR, &r))
		return;
	memcpy(p->mac, r.ifr_hwaddr.sa_data, 6);
	if (ioctl(sock, SIOCGIFMTU, &r))
		return;
	p->mtu = r.ifr_mtu;
	if (ioctl(sock, SIOCGIFFLAGS, &r))
		return;
	p->up = r.ifr_flags & IFF_UP;
	p->carrier = r.ifr_flags & IFF_RUNNING;
	p->there = true;
}

static void add(struct ports *p, const char *name, size_t len, int sock)
{
	struct port *port;

	if (!len || len >= IFNAMSIZ)
		return;
	p->port = grow(p->port, p->n + 1, sizeof(*p->port));
	port = &p->port[p->n++];
	memset(port, 0, sizeof(*port));
	memcpy(port->name, name, len);
	look(port, sock);
}

static void take_port(const struct nlattr *const *attrs, void *data)
{
	const char *name = attr_text(attrs[OAE_NL_PORT_NAME]);
	const char *state = attr_text(attrs[OAE_NL_PORT_STATE]);
	struct ports *p = data;
	struct port *port;

	p->port = grow(p->port, p->n + 1, sizeof(*p->port));
	port = &p->port[p->n++];
	memset(port, 0, sizeof(*port));
	snprintf(port->name, sizeof(port->name), "%s", name);
	port->there = attr_mac(attrs[OAE_NL_PORT_ADDRESS], port->mac);
	port->carrier = !strcmp(state, "up");
	port->up = port->carrier || !strcmp(state, "no carrier");
	port->mtu = attr_number(attrs[OAE_NL_PORT_MTU]);
}

static bool ports_dump(struct ports *p)
{
	struct refused why;
	struct netlink n;

	errno = netlink_try(&n, OAE_NL_FAMILY);
	if (errno)
		return false;
	netlink_talk(&n, netlink_request(&n, OAE_NL_PORT_GET, true), take_port, p, &why);
	netlink_close(&n);
	errno = why.err;
	if (why.err)
		ports_free(p);
	return !why.err;
}

bool ports_read(struct ports *p)
{
	char path[512], list[8192];
	const char *at = list;
	ssize_t len;
	int fd, sock;

	memset(p, 0, sizeof(*p));
	if (!getenv("OAE_SYS"))
		return ports_dump(p);
	if (!knob_path(path, sizeof(path), "dev")) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, list, sizeof(list) - 1);
	close(fd);
	if (len < 0)
		return false;
	list[len] = 0;
	list[strcspn(list, "\n")] = 0;
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	while (*at) {
		size_t n = strcspn(at, ",");

		add(p, at, n, sock);
		at += n + (at[n] == ',');
	}
	if (sock >= 0)
		close(sock);
	return true;
}

void ports_free(struct ports *p)
{
	free(p->port);
	memset(p, 0, sizeof(*p));
}

const char *port_state(const struct port *p)
{
	if (!p->there)
		return "gone";
	if (!p->up)
		return "down";
	return p->carrier ? "up" : "no carrier";
}
