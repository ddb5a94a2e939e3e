// SPDX-License-Identifier: GPL-2.0
/*
 * What a hostile program does to its rings. Two threads share them: one writes over a
 * chunk while the other has just published it, unmaps what the other reads, closes the
 * file under it. All mappings are in one arena of address space, so that a stale pointer
 * hits nothing else.
 */
#define _GNU_SOURCE
#include "ringfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/uapi/oae.h"

#define PAGE		4096ul
#define STRIDE		(64ul << 20)	/* of the arena, for each mapping */
#define ADDED		3		/* files whose links are put on the rings */
#define LARGEST		(4u << 20)	/* ring, but for a few */

#ifndef MADV_COLD
#define MADV_COLD	20
#define MADV_PAGEOUT	21
#endif

/* Where in the arena: the parts of the rings, and two for anything. */
enum { AT_PROGRAM, AT_KERNEL, AT_TX, AT_RX, AT_ANY, AT_ANY_2, AREAS };

static struct {
	pthread_mutex_t lock;		/* of what follows; accesses to memory take none */
	int fd;
	int added[ADDED];
	struct oae_ring made;
	unsigned int links;		/* handles, from 1 on */
	unsigned int vc[64];		/* of a handle */
	uint64_t next;			/* rx: read so far */
	int lost;			/* passed without a look */
	int mess;			/* what is mapped may be anything */
	int child_may;			/* MADV_DOFORK was said */
} rings = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static unsigned char *arena;
static __thread sigjmp_buf fault;
static __thread int may_fault;

static void *area(unsigned int n)
{
	return arena + n * STRIDE;
}

#define words	((volatile struct oae_ring_program *)area(AT_PROGRAM))
#define told	((volatile const struct oae_ring_kernel *)area(AT_KERNEL))

static void on_fault(int sig)
{
	if (may_fault)
		siglongjmp(fault, sig);
	_exit(20);
}

/* Do what may touch memory that is not there: then it is -1. */
static int attempt(void (*what)(struct dice *d), struct dice *d)
{
	if (sigsetjmp(fault, 1)) {
		may_fault = 0;
		return -1;
	}
	may_fault = 1;
	what(d);
	may_fault = 0;
	return 0;
}

/* Nothing is mapped there any more, and nothing else will be. */
static int clear(void *at, size_t len)
{
	return mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
		    -1, 0) == MAP_FAILED ? -1 : 0;
}

static int map_at(unsigned int n, uint64_t offset, size_t len, int prot, int flags)
{
	return mmap(area(n), len, prot, flags | MAP_FIXED, rings.fd, offset) == MAP_FAILED ?
		       -1 : 0;
}

static int map_all(void)
{
	int rw = PROT_READ | PROT_WRITE, err = 0;

	if (rings.fd < 0 || !rings.made.rx)
		return -1;

	err |= map_at(AT_PROGRAM, rings.made.program, PAGE, rw, MAP_SHARED);
	err |= map_at(AT_KERNEL, rings.made.kernel, PAGE, PROT_READ, MAP_SHARED);
	err |= map_at(AT_TX, rings.made.tx, 2ul * rings.made.tx_size, rw, MAP_SHARED);
	err |= map_at(AT_RX, rings.made.rx, 2ul * rings.made.rx_size, PROT_READ, MAP_SHARED);
	rings.mess = err;
	return err;
}

static uint32_t any_size(struct dice *d)
{
	if (rarely(d, 20))
		return any_number(d);
	if (rarely(d, 100))
		return OAE_RING_MAX >> roll(d, 2);
	return OAE_RING_MIN << roll(d, 6);
}

static int open_file(struct dice *d, unsigned int *vc)
{
	int fd = open(OAE_DEV, O_RDWR | (rarely(d, 2) ? O_NONBLOCK : 0));
	struct oae_options o;

	if (fd < 0)
		return -1;
	*vc = VC_HOSTILE + roll(d, HOSTILE_VCS);
	if (!rarely(d, 8))
		attach_to(fd, 0, *vc);
	if (!ioctl(fd, OAE_GET_OPTIONS, &o)) {
		o.linger_ms = rarely(d, 3) ? roll(d, 30) : OAE_LINGER_BACKGROUND;
		ioctl(fd, OAE_SET_OPTIONS, &o);
	}
	return fd;
}

/* Leave all: what was mapped too, or not. */
static void close_all(struct dice *d)
{
	unsigned int i;

	if (!rarely(d, 4))
		clear(arena, AREAS * STRIDE);
	if (rings.fd >= 0)
		close(rings.fd);
	rings.fd = -1;
	for (i = 0; i < ADDED; i++) {
		if (rings.added[i])
			close(rings.added[i]);
		rings.added[i] = 0;
	}
}

static int do_open(struct dice *d)
{
	struct oae_ring made = { .tx_size = any_size(d), .rx_size = any_size(d) };
	unsigned int vc;
	int err = -1;

	pthread_mutex_lock(&rings.lock);
	close_all(d);
	rings.fd = open_file(d, &vc);
	if (!ioctl(rings.fd, OAE_RING, &made)) {
		rings.made = made;
		rings.links = made.link;
		rings.vc[1] = vc;
		rings.next = 0;
		rings.lost = 0;
		err = map_all();
		if (err)
			breach("mmap of new rings: %s", strerror(errno));
	} else if (!rarely(d, 4)) {
		close(rings.fd);
		rings.fd = -1;
	}
	pthread_mutex_unlock(&rings.lock);
	return err;
}

static int do_add(struct dice *d)
{
	unsigned int i = roll(d, ADDED), vc;
	struct oae_ring_add a;
	int err;

	pthread_mutex_lock(&rings.lock);
	if (rings.added[i])
		close(rings.added[i]);
	rings.added[i] = open_file(d, &vc);
	a.fd = rings.added[i];
	if (rarely(d, 10))
		a.fd = roll(d, 40);
	if (rarely(d, 10))
		a.fd = rings.fd;
	err = ioctl(rings.fd, OAE_RING_ADD, &a);
	if (!err) {
		rings.links = a.link;
		if (a.link < ARRAY_SIZE(rings.vc))
			rings.vc[a.link] = a.fd == rings.added[i] ? vc : 0;
	}
	if (rarely(d, 4)) {
		close(rings.added[i]);
		rings.added[i] = 0;
	}
	pthread_mutex_unlock(&rings.lock);
	return err;
}

/* --- the program's words, and chunks ------------------------------------------------ */

static unsigned char *tx_at(uint64_t position)
{
	return (unsigned char *)area(AT_TX) + (position & (rings.made.tx_size - 1));
}

static int ring_bell(struct dice *d, unsigned int flags)
{
	struct oae_bell b = { .flags = flags, .timeout_ms = roll(d, 4),
			      .filled = rings.next + roll(d, 3), .taken = any_number(d),
			      .ended = any_number(d) };

	if (rarely(d, 30))
		mutate(d, &b, sizeof(b));
	/* For ever would be as long as nobody kills it. */
	if (b.timeout_ms < 0 || b.timeout_ms > 30)
		b.timeout_ms = 30;
	return ioctl(rings.fd, OAE_RING_BELL, &b);
}

static int do_bell(struct dice *d)
{
	return ring_bell(d, roll(d, 8));
}

static void publish(struct dice *d, uint64_t to)
{
	words->published = to;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (told->wants_data || rarely(d, 10))
		ring_bell(d, 0);
}

static uint32_t any_link(struct dice *d)
{
	return rarely(d, 30) ? any_number(d) : 1 + roll(d, rings.links + 1);
}

/* Chunks that are right, as many as fit; with a link, perhaps, that is not there. */
static void write_chunks(struct dice *d)
{
	uint64_t at = words->published, size;
	struct oae_chunk *c;
	unsigned int n = 1 + roll(d, 30);
	uint32_t len;

	while (n--) {
		len = rarely(d, 40) ? 1 + roll(d, 70000) : 1 + roll(d, 500);
		size = sizeof(*c) + ((len + 7) & ~7u);
		if (rings.made.tx_size - (at - told->ended) < size)
			break;
		c = (void *)tx_at(at);
		*c = (struct oae_chunk){ .len = len, .link = any_link(d),
					 .flags = rarely(d, 8) ? OAE_CHUNK_EXPRESS : 0 };
		memset(c + 1, roll(d, 256), len);
		at += size;
	}
	publish(d, at);
}

static int do_chunks(struct dice *d)
{
	return attempt(write_chunks, d);
}

/* A position of rx: what is there, next to it, or anywhere. */
static uint64_t rx_position(struct dice *d)
{
	uint64_t passed = words->passed, filled = told->filled;

	switch (roll(d, 6)) {
	case 0:
		return any_number(d);
	case 1:
		return filled - roll(d, 64);
	case 2:
		return passed - roll(d, 64);
	default:
		return filled == passed ? filled : passed + roll64(d) % (filled - passed);
	}
}

static void write_forwards(struct dice *d)
{
	uint64_t at = words->published;
	unsigned int n = 1 + roll(d, 8);
	struct oae_chunk *c;

	while (n-- && rings.made.tx_size - (at - told->ended) >= sizeof(*c) + 8) {
		c = (void *)tx_at(at);
		*c = (struct oae_chunk){ .len = rarely(d, 10) ? any_number(d) : 1 + roll(d, 100),
					 .link = any_link(d), .flags = OAE_CHUNK_FORWARD };
		*(uint64_t *)(c + 1) = rx_position(d);
		at += sizeof(*c) + 8;
	}
	publish(d, at);
}

static int do_forward(struct dice *d)
{
	return attempt(write_forwards, d);
}

/* Half of them are right but for one member. */
static void write_garbage(struct dice *d)
{
	uint64_t at = words->published;
	struct oae_chunk *c = (void *)tx_at(at);
	unsigned int i, len = 1 + roll(d, 200);

	*c = (struct oae_chunk){ .len = len, .link = any_link(d) };
	if (rarely(d, 2))
		mutate(d, c, sizeof(*c));
	else
		for (i = 0; i < sizeof(*c) / 8; i++)
			((uint64_t *)c)[i] = any_number(d);
	publish(d, at + (rarely(d, 3) ? any_number(d) : sizeof(*c) + ((len + 7) & ~7u)));
}

static int do_garbage(struct dice *d)
{
	return attempt(write_garbage, d);
}

/* While it is read, perhaps: one member after another, without an order. */
static void scribble(struct dice *d)
{
	uint64_t from = told->taken;
	unsigned int n = 1 + roll(d, 400);

	while (n--)
		*(volatile uint64_t *)tx_at((from + roll(d, 4096)) & ~7ul) =
			rarely(d, 3) ? any_number(d) : roll(d, 512) | (uint64_t)any_link(d) << 32;
}

static int do_scribble(struct dice *d)
{
	return attempt(scribble, d);
}

/* A word near one that is right, or anything; and anywhere in the page. */
static void write_word(struct dice *d)
{
	volatile uint64_t *word = (volatile uint64_t *)words + roll(d, rarely(d, 10) ? 512 : 16);
	uint64_t to = any_number(d);

	if (rarely(d, 2))
		to = *word + (roll(d, 4096) & ~7u);
	*word = to;
}

static int do_word(struct dice *d)
{
	int err = attempt(write_word, d);

	rings.lost = 1;
	ring_bell(d, 0);
	return err;
}

static void wait_words(struct dice *d)
{
	words->wants_data = roll(d, 3);
	words->wants_room = roll(d, 3);
}

static int do_wants(struct dice *d)
{
	return attempt(wait_words, d);
}

/* The chunk that is next: of a link of these rings, and as its peer has sent it. */
static int read_chunk(uint64_t at)
{
	const unsigned char *rx = area(AT_RX);
	const struct oae_chunk *c = (const void *)(rx + (at & (rings.made.rx_size - 1)));
	uint64_t count;

	if (!c->link || c->link > rings.links || c->flags || c->result || c->err ||
	    c->len < 16 || c->len > 65536)
		return -1;
	memcpy(&count, c + 1, sizeof(count));
	if (c->link < ARRAY_SIZE(rings.vc) && rings.vc[c->link] &&
	    !check_message((const void *)(c + 1), c->len, count, rings.vc[c->link] * 2 + 1))
		return -1;
	return sizeof(*c) + ((c->len + 7) & ~7u);
}

static void read_some(struct dice *d)
{
	unsigned int n = roll(d, 20);
	uint64_t filled = __atomic_load_n(&told->filled, __ATOMIC_ACQUIRE);
	int size;

	while (!rings.lost && n-- && rings.next != filled) {
		size = read_chunk(rings.next);
		if (size < 0) {
			breach("a hostile ring has what no peer has sent");
			break;
		}
		rings.next += size;
	}
	if (!rings.lost)
		words->passed = rings.next;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (told->wants_room)
		ring_bell(d, 0);
}

static int do_read(struct dice *d)
{
	int err;

	pthread_mutex_lock(&rings.lock);
	err = rings.mess ? map_all() : 0;
	if (!err)
		err = attempt(read_some, d);
	pthread_mutex_unlock(&rings.lock);
	return err;
}

/* What the kernel says is true, whatever the program did. */
static void look(struct dice *d)
{
	const volatile uint64_t *word = (const volatile void *)told;
	uint64_t ended = __atomic_load_n(&told->ended, __ATOMIC_ACQUIRE);
	uint64_t taken = __atomic_load_n(&told->taken, __ATOMIC_ACQUIRE);
	unsigned int error = told->error, i;

	(void)d;
	if (ended > taken || taken - ended > rings.made.tx_size)
		breach("ended %llu, taken %llu", (unsigned long long)ended,
		       (unsigned long long)taken);
	if (error && error != EPROTO && error != EMSGSIZE)
		breach("error %u", error);
	for (i = sizeof(*told) / 8; i < PAGE / 8; i++)
		if (word[i])
			breach("the kernel's page has %#llx at %u", (unsigned long long)word[i],
			       i * 8);
}

static int do_look(struct dice *d)
{
	int err;

	pthread_mutex_lock(&rings.lock);
	err = rings.mess ? map_all() : 0;
	if (!err)
		err = attempt(look, d);
	pthread_mutex_unlock(&rings.lock);
	return err;
}

/* --- memory ------------------------------------------------------------------------- */

static size_t any_pages(struct dice *d)
{
	return (1 + roll(d, rarely(d, 3) ? 4096 : 40)) * PAGE;
}

static void *any_area(struct dice *d)
{
	return (unsigned char *)area(roll(d, AREAS)) + roll(d, rarely(d, 2) ? 600 : 4) * PAGE;
}

static int do_mmap(struct dice *d)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_WRITE, PROT_NONE,
				     PROT_READ | PROT_EXEC };
	const uint64_t from[] = { rings.made.program, rings.made.kernel, rings.made.tx,
				  rings.made.rx, any_number(d) & -PAGE };
	unsigned int i = roll(d, 5);
	int prot = prots[roll(d, 5)], flags = rarely(d, 6) ? MAP_PRIVATE : MAP_SHARED, err;
	uint64_t offset = from[i] + (rarely(d, 2) ? roll(d, 600) * PAGE : 0);

	if (rarely(d, 5))
		flags |= MAP_POPULATE;
	pthread_mutex_lock(&rings.lock);
	err = map_at(AT_ANY + roll(d, 2), offset, any_pages(d), prot, flags);
	pthread_mutex_unlock(&rings.lock);
	if (!err && flags & MAP_PRIVATE && i < 4)
		breach("rings are mapped as private memory");
	if (!err && prot & PROT_WRITE && (i == 1 || i == 3) && offset == from[i])
		breach("what the kernel writes is mapped to be written");
	return err;
}

static int do_munmap(struct dice *d)
{
	int err;

	pthread_mutex_lock(&rings.lock);
	rings.mess = 1;
	err = clear(any_area(d), any_pages(d));
	pthread_mutex_unlock(&rings.lock);
	return err;
}

static int do_remap(struct dice *d)
{
	void *from = any_area(d), *to = any_area(d), *at;
	size_t old = any_pages(d), new = rarely(d, 2) ? old : any_pages(d);

	pthread_mutex_lock(&rings.lock);
	rings.mess = 1;
	at = mremap(from, rarely(d, 10) ? 0 : old, new, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	/* Where it was, nothing else is to be. */
	if (at != MAP_FAILED)
		clear(from, old);
	pthread_mutex_unlock(&rings.lock);
	return at == MAP_FAILED ? -1 : 0;
}

static int do_advise(struct dice *d)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DONTNEED, MADV_DONTNEED, MADV_REMOVE, MADV_FREE,
		MADV_WILLNEED, MADV_HUGEPAGE, MADV_MERGEABLE, MADV_DONTFORK, MADV_DOFORK,
		MADV_COLD, MADV_PAGEOUT, MADV_WIPEONFORK, MADV_RANDOM, MADV_DONTDUMP,
	};
	int what = advice[roll(d, ARRAY_SIZE(advice))];

	if (what == MADV_DOFORK)
		rings.child_may = 1;
	return madvise(any_area(d), any_pages(d), what);
}

/* The kernel's words and rx are the kernel's to write. */
static int do_protect(struct dice *d)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE, PROT_NONE, PROT_EXEC };
	unsigned int n = roll(d, AREAS);
	int prot = prots[roll(d, 4)], err;

	pthread_mutex_lock(&rings.lock);
	if ((n == AT_KERNEL || n == AT_RX) && !map_all() &&
	    !mprotect(area(n), PAGE, PROT_READ | PROT_WRITE))
		breach("mprotect lets a program write what is the kernel's");
	rings.mess = 1;
	err = mprotect(area(n), any_pages(d), prot);
	pthread_mutex_unlock(&rings.lock);
	return err;
}

static int do_repair(struct dice *d)
{
	int err;

	(void)d;
	pthread_mutex_lock(&rings.lock);
	err = map_all();
	pthread_mutex_unlock(&rings.lock);
	return err;
}

static int do_lock(struct dice *d)
{
	if (rarely(d, 2))
		return munlock(any_area(d), any_pages(d));
	return rarely(d, 2) ? mlock(any_area(d), any_pages(d)) :
			      msync(any_area(d), any_pages(d), MS_SYNC);
}

/* As a debugger would write. */
static int do_poke(struct dice *d)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), n = -1;

	if (fd < 0)
		return -1;
	pthread_mutex_lock(&rings.lock);
	if (!map_all()) {
		n = pwrite(fd, "garbage!", 8, (uintptr_t)area(AT_KERNEL) + 8 * roll(d, 16));
		if (n >= 0)
			breach("the kernel's words are written through /proc/self/mem");
		n = pwrite(fd, "garbage!", 8, (uintptr_t)area(AT_RX) + 8 * roll(d, 5000));
		if (n >= 0)
			breach("rx is written through /proc/self/mem");
		n = pwrite(fd, "garbage!", 8, (uintptr_t)area(AT_TX) + 8 * roll(d, 5000));
	}
	pthread_mutex_unlock(&rings.lock);
	close(fd);
	return n;
}

/* A system call that is given the memory of rings. */
static int do_lend(struct dice *d)
{
	struct iovec here = { any_area(d), any_pages(d) }, there = { any_area(d), here.iov_len };

	switch (roll(d, 4)) {
	case 0:
		return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	case 1:
		return process_vm_writev(getpid(), &here, 1, &there, 1, 0);
	case 2:
		return write(rings.added[roll(d, ADDED)], here.iov_base, here.iov_len);
	default:
		return read(rings.added[roll(d, ADDED)], here.iov_base, here.iov_len);
	}
}

/* Is something of rings mapped in this process? */
static int has_rings(void)
{
	static char text[65536];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), n = 0, got;
	unsigned long offset;
	char *line;

	while ((got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += got;
	close(fd);
	text[n] = 0;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (strstr(line, OAE_DEV) && sscanf(line, "%*s %*s %lx", &offset) == 1 &&
		    offset >= rings.made.program)
			return 1;
	}
	return 0;
}

/* A child has the file and not the memory. */
static int do_fork(struct dice *d)
{
	struct dice mine = *d;
	int status;
	pid_t pid;

	roll64(d);
	pid = fork();
	if (!pid) {
		if (!rings.child_may && rings.made.program && has_rings())
			breach("a child has the memory of rings");
		ring_bell(&mine, roll(&mine, 8));
		if (rarely(&mine, 2))
			map_all();
		_exit(0);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* --- the file ----------------------------------------------------------------------- */

static int do_options(struct dice *d)
{
	struct oae_options o = {
		.flags = roll(d, 4),
		.deadline_ms = rarely(d, 2) ? roll(d, 30) : 0,
		.linger_ms = rarely(d, 2) ? OAE_LINGER_BACKGROUND : roll(d, 30),
		.queue = 1 + roll(d, rarely(d, 3) ? 4 : 2000),
		.queue_bytes = rarely(d, 2) ? roll(d, 100000) : 0,
		.spin_us = rarely(d, 4) ? roll(d, 200) : 0,
	};
	int fd = rarely(d, 2) ? rings.added[roll(d, ADDED)] : rings.fd;

	if (rarely(d, 10))
		mutate(d, &o, sizeof(o));
	if (o.linger_ms > 30 && o.linger_ms != OAE_LINGER_BACKGROUND)
		o.linger_ms = 30;
	return ioctl(fd, OAE_SET_OPTIONS, &o);
}

static int do_ioctl(struct dice *d)
{
	uint64_t arg[32];
	unsigned int i;
	unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, OAE_IOC, 1 + roll(d, 18),
				     rarely(d, 4) ? roll(d, 200) : 0);
	static const unsigned long known[] = {
		OAE_RING, OAE_RING_ADD, OAE_STATUS, OAE_COLLECT, OAE_CANCEL, OAE_DONE,
		OAE_WAITS, OAE_DO_VERB, OAE_EXPOSE, OAE_LOCAL,
	};

	for (i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = rarely(d, 2) ? 0 : any_number(d);
	if (!rarely(d, 4))
		request = known[roll(d, ARRAY_SIZE(known))];
	return ioctl(rarely(d, 3) ? rings.added[roll(d, ADDED)] : rings.fd, request, arg);
}

static int do_plain(struct dice *d)
{
	static unsigned char bytes[1000];
	struct pollfd p = { rings.fd, POLLIN | POLLOUT | POLLPRI, 0 };

	switch (roll(d, 4)) {
	case 0:
		return read(rings.fd, bytes, sizeof(bytes));
	case 1:
		return write(rings.fd, bytes, sizeof(bytes));
	case 2:
		return ftruncate(rings.fd, roll(d, 10000));
	default:
		return poll(&p, 1, roll(d, 3));
	}
}

/* The file goes, its memory stays mapped. */
static int do_close(struct dice *d)
{
	int err;

	(void)d;
	pthread_mutex_lock(&rings.lock);
	err = close(rings.fd);
	rings.fd = -1;
	pthread_mutex_unlock(&rings.lock);
	return err;
}

static const struct {
	const char *name;
	int (*run)(struct dice *d);
	unsigned int weight;
} things[] = {
	{ "open", do_open, 0 },		/* also whenever the rings stand still */
	{ "chunks", do_chunks, 40 },
	{ "forward", do_forward, 12 },
	{ "read", do_read, 40 },
	{ "look", do_look, 20 },
	{ "bell", do_bell, 12 },
	{ "wants", do_wants, 8 },
	{ "garbage", do_garbage, 3 },
	{ "scribble", do_scribble, 5 },
	{ "word", do_word, 3 },
	{ "add", do_add, 6 },
	{ "mmap", do_mmap, 6 },
	{ "munmap", do_munmap, 2 },
	{ "mremap", do_remap, 2 },
	{ "madvise", do_advise, 6 },
	{ "mprotect", do_protect, 4 },
	{ "repair", do_repair, 6 },
	{ "mlock", do_lock, 2 },
	{ "lend", do_lend, 4 },
	{ "poke", do_poke, 2 },
	{ "fork", do_fork, 1 },
	{ "options", do_options, 6 },
	{ "ioctl", do_ioctl, 6 },
	{ "plain", do_plain, 4 },
	{ "close", do_close, 1 },
};

const unsigned int nthings = ARRAY_SIZE(things);

const char *thing_name(unsigned int n)
{
	return things[n].name;
}

static void count(unsigned int n, int result)
{
	__atomic_fetch_add(&board->tally[n].done, 1, __ATOMIC_RELAXED);
	if (result >= 0)
		__atomic_fetch_add(&board->tally[n].good, 1, __ATOMIC_RELAXED);
}

static __thread unsigned int stands_still;

static void read_error(struct dice *d)
{
	(void)d;
	stands_still = told->error;
}

/* Are the rings of use? Some time after an error they are not. */
static int is_over(struct dice *d)
{
	if (rings.fd < 0)
		return rarely(d, 3);
	return rarely(d, attempt(read_error, d) || stands_still ? 30 : 3000);
}

static void do_any(struct dice *d)
{
	unsigned int sum = 0, n, pick;

	if (is_over(d)) {
		count(0, do_open(d));
		return;
	}
	for (n = 0; n < nthings; n++)
		sum += things[n].weight;
	pick = roll(d, sum);
	for (n = 0; pick >= things[n].weight; n++)
		pick -= things[n].weight;
	count(n, things[n].run(d));
}

static void *run_thread(void *arg)
{
	struct dice *d = arg;

	for (;;)
		do_any(d);
	return NULL;
}

/* Interrupts what blocks. */
static void nothing(int sig)
{
	(void)sig;
}

/* Until killed. */
void hostile(uint64_t seed, unsigned int number, unsigned int life)
{
	struct itimerval often = { { 0, 9000 }, { 0, 9000 } };
	struct sigaction wrong = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct sigaction alarm = { .sa_handler = nothing };
	static struct dice dice[THREADS];
	pthread_t id;
	int i;

	sigaction(SIGSEGV, &wrong, NULL);
	sigaction(SIGBUS, &wrong, NULL);
	sigaction(SIGALRM, &alarm, NULL);
	if (enter_host(0))
		_exit(21);
	arena = mmap(NULL, AREAS * STRIDE, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		_exit(22);
	for (i = 0; i < THREADS; i++)
		dice_seed(&dice[i], seed, number, life * THREADS + i);
	do_open(&dice[0]);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 1; i < THREADS; i++)
		pthread_create(&id, NULL, run_thread, &dice[i]);
	run_thread(&dice[0]);
}
