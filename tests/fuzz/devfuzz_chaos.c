// SPDX-License-Identifier: GPL-2.0
/*
 * What befalls the hosts of the random caller while it calls: ports come and
 * go, cables, MTUs, loss, the knobs, links closed by hand.
 */
#define _GNU_SOURCE
#include "devfuzz.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define KNOBS	"/sys/module/modoae/parameters/"

/* This thread is in a host's namespace from now on. */
int enter_host(unsigned int n)
{
	int fd = open(hosts[n].netns, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0)
		return -1;
	status = setns(fd, CLONE_NEWNET);
	close(fd);
	return status;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n;
}

static int knob(const char *name, unsigned int value)
{
	char path[100], text[20];

	snprintf(path, sizeof(path), KNOBS "%s", name);
	snprintf(text, sizeof(text), "%u", value);
	return put(path, text);
}

static int port(unsigned int n, char sign)
{
	char text[32];

	snprintf(text, sizeof(text), "%c%s", sign, hosts[n].dev);
	return put(KNOBS "dev", text);
}

static int device(unsigned int n, unsigned long request, int value)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), status;
	struct ifreq ifr = { 0 };

	strcpy(ifr.ifr_name, hosts[n].dev);
	if (request == SIOCSIFMTU)
		ifr.ifr_mtu = value;
	else
		ifr.ifr_flags = value;
	status = ioctl(fd, request, &ifr);
	close(fd);
	return status;
}

/* netem keeps what an option had set before, as long as it is there. */
static int qdisc(unsigned int n, const char *what)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "tc qdisc replace dev %s root %s 2>/dev/null", hosts[n].dev, what);
	return system(command);
}

static void close_link(struct dice *d)
{
	char text[64];

	snprintf(text, sizeof(text), "close %s %u",
		 hosts[roll(d, nhosts)].mac_text, roll(d, VCS));
	put("/proc/thread-self/net/modoae/tags", text);
}

/* Whoever looks must never disturb. */
static void look(struct dice *d)
{
	static const char *const files[] = { "tags", "stats", "ev_log" };
	char path[64], text[4096];
	int fd;

	snprintf(path, sizeof(path), "/proc/thread-self/net/modoae/%s",
		 files[roll(d, 3)]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, text, 1 + roll(d, sizeof(text))) > 0)
		;
	if (fd >= 0)
		close(fd);
}

static void any_knob(struct dice *d)
{
	switch (roll(d, 8)) {
	case 0:
		knob("drop_pct", rarely(d, 2) ? 0 : roll(d, 30));
		break;
	case 1:
		knob("max_len", rarely(d, 2) ? 65536 : 1 + roll(d, 4000));
		break;
	case 2:
		knob("rcvbuf", rarely(d, 2) ? 262144 : 4096);
		break;
	case 3:
		knob("sndq", 1 + roll(d, 64));
		break;
	case 4:
		knob("dead_ms", 50 + roll(d, 300));
		break;
	case 5:
		knob("keepalive_ms", 10 + roll(d, 100));
		break;
	case 6:
		knob("max_tags", rarely(d, 2) ? 1024 : 1 + roll(d, 6));
		break;
	default:
		knob("stall_min_us", 100 + roll(d, 2000));
	}
}

static void any(struct dice *d)
{
	static const int mtus[] = { 1500, 1500, 9000, 600, 128, 70 };
	static const char *const bad[] = {
		"netem loss 5% duplicate 5%", "netem delay 50us 50us reorder 30% 25%",
		"netem corrupt 2%", "netem loss 30%", "netem delay 2ms",
	};
	unsigned int n = roll(d, nhosts);

	if (enter_host(n))
		return;
	switch (roll(d, 12)) {
	case 0:
		port(n, '-');
		usleep(roll(d, 3000));
		port(n, '+');
		break;
	case 1:
		device(n, SIOCSIFFLAGS, 0);
		usleep(roll(d, rarely(d, 6) ? 200000 : 3000));
		device(n, SIOCSIFFLAGS, IFF_UP);
		break;
	case 2:
		device(n, SIOCSIFMTU, mtus[roll(d, 6)]);
		break;
	case 3:
		qdisc(n, bad[roll(d, 5)]);
		break;
	case 4:
		qdisc(n, "netem limit 1000");
		break;
	case 5:
		knob("shutdown", 1);
		usleep(roll(d, 3000));
		knob("shutdown", 0);
		break;
	case 6:
	case 7:
		close_link(d);
		break;
	case 8:
		look(d);
		break;
	default:
		any_knob(d);
	}
}

/* Until killed. */
void chaos(uint64_t seed)
{
	struct dice d;

	dice_seed(&d, seed, 1000, 0);
	for (;;) {
		any(&d);
		usleep(roll(&d, 60000));
	}
}

/* All as it was. */
void calm(void)
{
	static const struct {
		const char *name;
		unsigned int value;
	} knobs[] = {
		{ "drop_pct", 0 }, { "max_len", 65536 }, { "rcvbuf", 262144 },
		{ "sndq", 64 }, { "dead_ms", 5000 }, { "keepalive_ms", 200 },
		{ "max_tags", 1024 }, { "shutdown", 0 },
	};
	unsigned int n, i;

	for (n = 0; n < nhosts; n++) {
		enter_host(n);
		device(n, SIOCSIFFLAGS, IFF_UP);
		device(n, SIOCSIFMTU, 1500);
		qdisc(n, "pfifo limit 1000");
		for (i = 0; i < ARRAY_SIZE(knobs); i++)
			knob(knobs[i].name, knobs[i].value);
		port(n, '+');
	}
}
