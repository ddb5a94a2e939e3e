// SPDX-License-Identifier: GPL-2.0
/* The sockets that /dev/oae is compared with: TIPC, UDP, TCP, AF_UNIX. All connected. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tipc.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "progbench.h"

#define TIPC_TYPE	0x0ae00
#define IP_PORT		0x0ae0

static int must(int result, const char *what)
{
	if (result < 0)
		die("%s: %s", what, strerror(errno));
	return result;
}

/* The end of a program: one descriptor both ways. */
static void set_end(struct end *e, int fd)
{
	e->in = fd;
	e->out = fd;
}

void sock_accept(struct end *e)
{
	int fd = must(accept(e->in, NULL, NULL), "accept");

	close(e->in);
	set_end(e, fd);
}

/*
 * TIPC hands messages from namespace to namespace, past the cable, where it
 * finds that both are of one kernel. The other namespace of this end is one in
 * which it is kept from finding that out.
 */
void tipc_cable_open(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e)
{
	int home = must(open("/proc/self/ns/net", O_RDONLY), "namespace");
	int other;

	if (!w->tipc_netns)
		die("which namespace: -t");
	other = must(open(w->tipc_netns, O_RDONLY), w->tipc_netns);
	must(setns(other, CLONE_NEWNET), "setns");
	tipc_open(c, w, number, answering, e);
	must(setns(home, CLONE_NEWNET), "setns");
	close(home);
	close(other);
}

void tipc_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e)
{
	struct sockaddr_tipc a = { .family = AF_TIPC };
	int fd = must(socket(AF_TIPC, SOCK_SEQPACKET, 0), "TIPC");
	uint64_t deadline = now_ns() + 20000000000ULL;

	if (answering) {
		a.addrtype = TIPC_SERVICE_RANGE;
		a.scope = TIPC_CLUSTER_SCOPE;
		a.addr.nameseq.type = TIPC_TYPE;
		a.addr.nameseq.lower = number;
		a.addr.nameseq.upper = number;
		must(bind(fd, (struct sockaddr *)&a, sizeof(a)), "TIPC bind");
		must(listen(fd, 1), "TIPC listen");
		set_end(e, fd);
		return;
	}
	a.addrtype = TIPC_SERVICE_ADDR;
	a.addr.name.name.type = TIPC_TYPE;
	a.addr.name.name.instance = number;
	/* Nodes take a moment to find each other, and tell their names. */
	while (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		if (now_ns() > deadline)
			die("TIPC connect: %s", strerror(errno));
		usleep(20000);
	}
	set_end(e, fd);
}

static struct sockaddr_in ip(const char *text, unsigned int number)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(IP_PORT + number) };

	if (!text || inet_pton(AF_INET, text, &a.sin_addr) != 1)
		die("no IPv4 address: %s", text ? text : "(none)");
	return a;
}

void udp_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e)
{
	struct sockaddr_in here = ip(w->here, number);
	struct sockaddr_in there = ip(w->there, number);
	int fd = must(socket(AF_INET, SOCK_DGRAM, 0), "UDP");

	must(bind(fd, (struct sockaddr *)&here, sizeof(here)), "UDP bind");
	must(connect(fd, (struct sockaddr *)&there, sizeof(there)),
	     "UDP connect");
	set_end(e, fd);
}

static void no_delay(int fd)
{
	int on = 1;

	must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)),
	     "TCP_NODELAY");
}

void tcp_accept(struct end *e)
{
	sock_accept(e);
	no_delay(e->in);
}

void tcp_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e)
{
	struct sockaddr_in here = ip(w->here, number);
	struct sockaddr_in there = ip(w->there, number);
	int fd = must(socket(AF_INET, SOCK_STREAM, 0), "TCP");
	int on = 1;

	if (answering) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		must(bind(fd, (struct sockaddr *)&here, sizeof(here)),
		     "TCP bind");
		must(listen(fd, 1), "TCP listen");
	} else {
		must(connect(fd, (struct sockaddr *)&there, sizeof(there)),
		     "TCP connect");
		no_delay(fd);
	}
	set_end(e, fd);
}

/* Found by a file, which all namespaces see. */
void unix_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = must(socket(AF_UNIX, SOCK_SEQPACKET, 0), "AF_UNIX");

	snprintf(a.sun_path, sizeof(a.sun_path), "/run/progbench-%u", number);
	if (answering) {
		unlink(a.sun_path);
		must(bind(fd, (struct sockaddr *)&a, sizeof(a)), a.sun_path);
		must(listen(fd, 1), a.sun_path);
	} else {
		must(connect(fd, (struct sockaddr *)&a, sizeof(a)), a.sun_path);
	}
	set_end(e, fd);
}
