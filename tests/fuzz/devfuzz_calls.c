// SPDX-License-Identifier: GPL-2.0
/*
 * What a worker of the random caller does: a table of calls, each with values
 * that are right, nearly right, or anything.
 */
#define _GNU_SOURCE
#include "devfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/uapi/oae.h"

#define FIRST_FD	100	/* slots are file descriptors from here on */

static __thread struct {
	void *at;
	size_t len;
} maps[MAPS];

static int slot(struct dice *d)
{
	return FIRST_FD + roll(d, SLOTS);
}

/* Put a file into a slot, whatever is there. */
static int keep(struct dice *d, int fd)
{
	int to = slot(d);

	if (fd < 0)
		return -1;
	dup2(fd, to);
	close(fd);
	return to;
}

/* An ioctl whose argument is right, nearly right, anything, or nowhere. */
static int control(struct dice *d, int fd, unsigned long request, void *arg)
{
	size_t len = _IOC_SIZE(request);
	void *at;

	if (rarely(d, 6))
		mutate(d, arg, len);
	if (rarely(d, 40))
		request ^= 1ul << roll(d, 32);
	if (rarely(d, 12)) {
		at = any_pointer(d, len);
	} else {
		at = good_pointer(d, len);
		memcpy(at, arg, len);
	}
	return ioctl(fd, request, at);
}

static int do_open(const struct worker *w, struct dice *d)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };

	(void)w;
	return keep(d, open(OAE_DEV, modes[roll(d, 5)] |
			    (rarely(d, 2) ? O_NONBLOCK : 0) |
			    (rarely(d, 8) ? O_CLOEXEC : 0)));
}

static int attach(const struct worker *w, struct dice *d, int fd)
{
	struct oae_attach a = { .vc = roll(d, VCS) };
	unsigned int peer = roll(d, nhosts);

	if (peer == w->host && !rarely(d, 10))
		peer = (peer + 1) % nhosts;
	memcpy(a.peer, hosts[peer].mac, 6);
	if (!rarely(d, 3))
		strcpy(a.port, hosts[w->host].dev);
	if (rarely(d, 2))
		a.flags |= OAE_ATTACH_OPEN;
	if (rarely(d, 8)) {
		a.flags = OAE_ATTACH_LISTEN |
			  (rarely(d, 2) ? OAE_ATTACH_ANY_VC : 0);
		if (rarely(d, 2))
			memset(a.peer, 0, 6);
	}
	return control(d, fd, OAE_ATTACH, &a);
}

static int do_attach(const struct worker *w, struct dice *d)
{
	return attach(w, d, slot(d));
}

static int do_open_attach(const struct worker *w, struct dice *d)
{
	int fd = do_open(w, d);

	return fd < 0 ? fd : attach(w, d, fd);
}

static int do_options(const struct worker *w, struct dice *d)
{
	struct oae_options o = {
		.flags = roll(d, 4),
		.deadline_ms = rarely(d, 2) ? roll(d, 30) : 0,
		.linger_ms = rarely(d, 2) ? OAE_LINGER_BACKGROUND : roll(d, 50),
		.queue = 1 + roll(d, 64),
		.queue_bytes = rarely(d, 2) ? roll(d, 100000) : 0,
	};

	(void)w;
	if (rarely(d, 3))
		return control(d, slot(d), OAE_GET_OPTIONS, &o);
	return control(d, slot(d), OAE_SET_OPTIONS, &o);
}

static int do_status(const struct worker *w, struct dice *d)
{
	struct oae_status s = { 0 };

	(void)w;
	return control(d, slot(d), OAE_STATUS, &s);
}

static int do_write(const struct worker *w, struct dice *d)
{
	size_t len = any_length(d);

	(void)w;
	if (rarely(d, 10) && maps[0].at)	/* from a region */
		return write(slot(d), maps[0].at, maps[0].len);
	return write(slot(d), any_pointer(d, len), len);
}

static int do_writev(const struct worker *w, struct dice *d)
{
	struct iovec iov[6];
	unsigned int i, n = 1 + roll(d, 6);

	(void)w;
	for (i = 0; i < n; i++) {
		iov[i].iov_len = rarely(d, 6) ? 0 : any_length(d) / n;
		iov[i].iov_base = any_pointer(d, iov[i].iov_len);
	}
	return writev(slot(d), iov, n);
}

static int do_read(const struct worker *w, struct dice *d)
{
	size_t len = rarely(d, 3) ? any_length(d) : 65536;

	(void)w;
	return read(slot(d), any_pointer(d, len), len);
}

static int do_readv(const struct worker *w, struct dice *d)
{
	struct iovec iov[6];
	unsigned int i, n = 1 + roll(d, 6);

	(void)w;
	for (i = 0; i < n; i++) {
		iov[i].iov_len = rarely(d, 6) ? 0 : any_length(d);
		iov[i].iov_base = any_pointer(d, iov[i].iov_len);
	}
	return readv(slot(d), iov, n);
}

static int do_swap(const struct worker *w, struct dice *d)
{
	struct oae_swap s = {
		.give_len = rarely(d, 8) ? any_length(d) : 1 + roll(d, 1000),
		.take_len = rarely(d, 4) ? roll(d, 2000) : 1500,
		.flags = rarely(d, 2) ? OAE_NONBLOCK : 0,
	};

	(void)w;
	s.give = (uintptr_t)any_pointer(d, s.give_len);
	s.take = (uintptr_t)any_pointer(d, s.take_len);
	return control(d, slot(d), OAE_SWAP_HALF, &s);
}

static void make_ops(struct dice *d, struct oae_verb_op *op, unsigned int n)
{
	unsigned int i, k;

	memset(op, 0, n * sizeof(*op));
	for (i = 0; i < n; i++) {
		op[i].code = 1 + roll(d, 5);
		op[i].words = 1 + roll(d, rarely(d, 3) ? 8 : 1);
		op[i].offset = 8 * roll(d, rarely(d, 10) ? 600 : 16);
		for (k = 0; k < op[i].words; k++) {
			op[i].arg[k] = roll(d, 3);
			if (op[i].code == OAE_VERB_CAS)
				op[i].cmp[k] = roll(d, 3);
		}
		if (rarely(d, 30))
			mutate(d, &op[i], sizeof(op[i]));
	}
}

static int verb(struct dice *d, int fd, unsigned long request)
{
	unsigned int n = rarely(d, 6) ? 1 + roll(d, 64) : 1 + roll(d, 3);
	struct oae_verb v = {
		.nops = n,
		.flags = rarely(d, 2) ? OAE_NONBLOCK : 0,
		.region = request == OAE_LOCAL ? 0 : roll(d, REGIONS),
	};
	struct oae_verb_op *op = any_pointer(d, n * sizeof(*op));
	struct oae_verb_op *good = good_pointer(d, n * sizeof(*op));

	make_ops(d, good, n);
	v.ops = (uintptr_t)(rarely(d, 5) ? op : good);
	return control(d, fd, request, &v);
}

static int do_verb(const struct worker *w, struct dice *d)
{
	(void)w;
	return verb(d, slot(d), OAE_DO_VERB);
}

/* Of this file; few have a region at any one time. */
static int expose(struct dice *d, int fd)
{
	struct oae_expose e = {
		.size = rarely(d, 4) ? 8 * roll(d, 10000) : 4096,
		.region = roll(d, REGIONS),
		.perm = rarely(d, 3) ? roll(d, 8) : 7,
	};

	return control(d, fd, OAE_EXPOSE, &e);
}

static int do_expose(const struct worker *w, struct dice *d)
{
	(void)w;
	return expose(d, slot(d));
}

static int do_local(const struct worker *w, struct dice *d)
{
	int fd = slot(d);

	(void)w;
	if (rarely(d, 2))
		expose(d, fd);
	return verb(d, fd, OAE_LOCAL);
}

static int do_collect(const struct worker *w, struct dice *d)
{
	struct oae_collect c = {
		.max = rarely(d, 4) ? any_number(d) : roll(d, 40),
		.buf_len = rarely(d, 4) ? roll(d, 100) : 16384,
	};

	(void)w;
	c.recs = (uintptr_t)any_pointer(d, 40 * sizeof(struct oae_outcome_rec));
	c.buf = (uintptr_t)any_pointer(d, c.buf_len);
	return control(d, slot(d), OAE_COLLECT, &c);
}

static int do_cancel(const struct worker *w, struct dice *d)
{
	__u64 id = rarely(d, 3) ? 0 : roll(d, 60);

	(void)w;
	return control(d, slot(d), OAE_CANCEL, &id);
}

static int do_any_ioctl(const struct worker *w, struct dice *d)
{
	unsigned long request = rarely(d, 3) ? any_number(d) :
		_IOC(roll(d, 4), OAE_IOC, roll(d, 14),
		     rarely(d, 2) ? roll(d, 200) : 8 * roll(d, 8));

	(void)w;
	return ioctl(slot(d), request, any_pointer(d, 256));
}

static int do_poll(const struct worker *w, struct dice *d)
{
	struct pollfd p[SLOTS];
	unsigned int i;

	(void)w;
	for (i = 0; i < SLOTS; i++) {
		p[i].fd = slot(d);
		p[i].events = roll(d, 1024);
	}
	return poll(p, SLOTS, rarely(d, 4) ? roll(d, 10) : 0);
}

static int do_epoll(const struct worker *w, struct dice *d)
{
	struct epoll_event ev = { .events = roll64(d) };

	(void)w;
	if (rarely(d, 4))
		return keep(d, epoll_create1(0));
	if (rarely(d, 2))
		return epoll_ctl(slot(d), 1 + roll(d, 3), slot(d), &ev);
	return epoll_wait(slot(d), good_pointer(d, 100), 4, roll(d, 3));
}

static int do_mmap(const struct worker *w, struct dice *d)
{
	unsigned int n = roll(d, MAPS);
	size_t len = rarely(d, 4) ? any_length(d) : 4096;
	int fd = slot(d);
	void *at;

	(void)w;
	if (rarely(d, 2))
		expose(d, fd);
	at = mmap(NULL, len, rarely(d, 4) ? (int)roll(d, 8) :
		  PROT_READ | PROT_WRITE,
		  rarely(d, 6) ? MAP_PRIVATE : MAP_SHARED, fd,
		  rarely(d, 6) ? any_number(d) & ~4095ull : 0);
	if (at == MAP_FAILED)
		return -1;
	if (maps[n].at)
		munmap(maps[n].at, maps[n].len);
	maps[n].at = at;
	maps[n].len = len;
	return 0;
}

/* Reads and writes of a mapping, which the kernel checks: no SIGSEGV. */
static int touch(struct dice *d, void *at, size_t len)
{
	uint64_t word = roll(d, 3);
	struct iovec here = { &word, 8 };
	struct iovec there = { (char *)at + roll(d, len), 8 };

	if (rarely(d, 2))
		return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	return process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

static int do_map_things(const struct worker *w, struct dice *d)
{
	unsigned int n = roll(d, MAPS);
	void *at = maps[n].at;
	size_t len;

	(void)w;
	if (!at || !maps[n].len)
		return -1;
	switch (roll(d, 6)) {
	case 0:
		maps[n].at = NULL;
		return munmap(at, maps[n].len);
	case 1:
		len = any_length(d);
		at = mremap(at, maps[n].len, len, MREMAP_MAYMOVE);
		if (at == MAP_FAILED)
			return -1;
		maps[n].at = at;
		maps[n].len = len;
		return 0;
	case 2:
		return mprotect(at, maps[n].len, roll(d, 8));
	case 3:
		return madvise(at, maps[n].len, roll(d, 26));
	default:
		return touch(d, at, maps[n].len);
	}
}

static int do_dup(const struct worker *w, struct dice *d)
{
	(void)w;
	return dup2(slot(d), slot(d));
}

static int do_flags(const struct worker *w, struct dice *d)
{
	(void)w;
	return fcntl(slot(d), F_SETFL, rarely(d, 2) ? O_NONBLOCK : 0);
}

static int do_fsync(const struct worker *w, struct dice *d)
{
	(void)w;
	return fsync(slot(d));
}

/* What programs do with files of any kind. */
static int do_other(const struct worker *w, struct dice *d)
{
	int fd = slot(d), n;

	(void)w;
	switch (roll(d, 7)) {
	case 0:
		return ioctl(fd, FIONREAD, rarely(d, 4) ? NULL : &n);
	case 1:
		return lseek(fd, roll(d, 100), roll(d, 3)) < 0 ? -1 : 0;
	case 2:
		return ftruncate(fd, roll(d, 100));
	case 3:
		return pread(fd, any_pointer(d, 100), 100, roll(d, 100));
	case 4:
		return pwrite(fd, any_pointer(d, 100), 100, roll(d, 100));
	case 5:
		return fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
	default:
		return fcntl(fd, F_SETOWN, getpid());
	}
}

static int do_splice(const struct worker *w, struct dice *d)
{
	int fd = slot(d), p[2], n;

	(void)w;
	if (pipe2(p, O_NONBLOCK))
		return -1;
	n = write(p[1], good_pointer(d, 5000), 1 + roll(d, 5000));
	if (n > 0)
		n = rarely(d, 2) ? splice(p[0], NULL, fd, NULL, n, SPLICE_F_NONBLOCK) :
				   splice(fd, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK);
	close(p[0]);
	close(p[1]);
	return n;
}

/* Files go to workers on other hosts. */
static int do_pass(const struct worker *w, struct dice *d)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fd;

	if (rarely(d, 2)) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		fd = slot(d);
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		return sendmsg(w->pass[0], &m, MSG_DONTWAIT);
	}
	if (recvmsg(w->pass[1], &m, MSG_DONTWAIT) < 0)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return keep(d, fd);
}

static int do_fork(const struct worker *w, struct dice *d)
{
	struct dice mine = { .s = roll64(d) | 1 };
	pid_t child = fork_bound();
	unsigned int n;

	if (child < 0)
		return -1;
	if (!child) {
		for (n = roll(&mine, 20); n; n--)
			call_any(w, &mine);
		_exit(0);
	}
	usleep(roll(d, 5000));
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

static int do_close(const struct worker *w, struct dice *d)
{
	(void)w;
	return close(slot(d));
}

static const struct {
	const char *name;
	unsigned int weight;
	int (*call)(const struct worker *w, struct dice *d);
} calls[] = {
	{ "open", 2, do_open },
	{ "attach", 3, do_attach },
	{ "open_attach", 8, do_open_attach },
	{ "options", 4, do_options },
	{ "status", 3, do_status },
	{ "write", 20, do_write },
	{ "writev", 6, do_writev },
	{ "read", 12, do_read },
	{ "readv", 5, do_readv },
	{ "swap", 14, do_swap },
	{ "verb", 16, do_verb },
	{ "local", 5, do_local },
	{ "expose", 6, do_expose },
	{ "collect", 10, do_collect },
	{ "cancel", 4, do_cancel },
	{ "any_ioctl", 2, do_any_ioctl },
	{ "poll", 4, do_poll },
	{ "epoll", 4, do_epoll },
	{ "mmap", 5, do_mmap },
	{ "map_things", 6, do_map_things },
	{ "dup", 2, do_dup },
	{ "flags", 2, do_flags },
	{ "fsync", 3, do_fsync },
	{ "other", 3, do_other },
	{ "splice", 3, do_splice },
	{ "pass", 2, do_pass },
	{ "fork", 1, do_fork },
	{ "close", 7, do_close },
};

const unsigned int ncalls = ARRAY_SIZE(calls);

const char *call_name(unsigned int n)
{
	return calls[n].name;
}

void call_any(const struct worker *w, struct dice *d)
{
	static unsigned int all;
	unsigned int i, at, sum = 0;
	int status;

	if (!all) {
		for (i = 0; i < ncalls; i++)
			sum += calls[i].weight;
		all = sum;
	}
	at = roll(d, all);
	for (i = 0; at >= calls[i].weight; i++)
		at -= calls[i].weight;
	status = calls[i].call(w, d);
	__atomic_fetch_add(&w->tally[i].done, 1, __ATOMIC_RELAXED);
	if (status >= 0)
		__atomic_fetch_add(&w->tally[i].good, 1, __ATOMIC_RELAXED);
}
