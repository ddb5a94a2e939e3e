// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: chunks into and out of a program without a system call. The rules of the two
 * pages are those of <linux/oae.h>; the positions a program acts on are its own copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define HEAD		sizeof(struct oae_chunk)
#define NOT_DATA	(OAE_RING_ROOM | OAE_RING_OUTCOME)
#define FORWARD_LEN	8	/* bytes behind the header of a chunk that is forwarded */

struct oae_rings {
	int fd;
	uint32_t link;
	unsigned int spin_us;
	struct oae_ring_program *program;
	const struct oae_ring_kernel *kernel;
	char *tx;
	const char *rx;
	uint64_t tx_size, rx_size;
	size_t page;

	/* tx: seen <= ended <= taken, and seen <= published <= staged <= seen + tx_size */
	uint64_t seen, ended, taken, published, staged;
	size_t reserved;
	/* rx: passed <= hold_rx <= done <= next <= filled */
	uint64_t passed, done, next, filled;
	/* behind the last chunk that forwards; what is passed to hold_rx once hold_tx is taken */
	uint64_t forward, hold_tx, hold_rx;
	/* A call of the bell follows, whatever the kernel waits for. */
	int quiet;
};

/* --- the words --------------------------------------------------------------- */

/* A position of the kernel. What it wrote before is seen after. */
static uint64_t position(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* A position of the program, and then whether the kernel waits for it. */
static int announce(struct oae_rings *r, __u64 *word, uint64_t value, const __u32 *wants)
{
	struct oae_bell bell = { 0 };

	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	/* Pairs with the kernel's barrier between its own word and its look at this one. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (r->quiet || !__atomic_load_n(wants, __ATOMIC_RELAXED))
		return 0;
	return ioctl(r->fd, OAE_RING_BELL, &bell);
}

/* Nothing is there: is that for good? */
static const void *nothing(const struct oae_rings *r)
{
	__u32 error = __atomic_load_n(&r->kernel->error, __ATOMIC_RELAXED);

	errno = error ? (int)error : EAGAIN;
	return NULL;
}

static const void *broken(void)
{
	errno = EPROTO;
	return NULL;
}

/* Bytes that a chunk takes. */
static uint64_t extent(uint64_t len)
{
	return (HEAD + len + OAE_CHUNK_ALIGN - 1) & ~(uint64_t)(OAE_CHUNK_ALIGN - 1);
}

/* --- making and ending ------------------------------------------------------- */

static void *map(const struct oae_rings *r, size_t size, int prot, uint64_t offset)
{
	void *p = mmap(NULL, size, prot, MAP_SHARED, r->fd, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

struct oae_rings *oae_ring_open(int fd, size_t tx, size_t rx)
{
	struct oae_ring how = { .tx_size = (__u32)tx, .rx_size = (__u32)rx };
	struct oae_rings *r;
	int err;

	if (tx > OAE_RING_MAX || rx > OAE_RING_MAX) {
		errno = EINVAL;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->fd = fd;
	r->tx_size = tx;
	r->rx_size = rx;
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	if (ioctl(fd, OAE_RING, &how))
		goto fail;
	r->link = how.link;
	r->program = map(r, r->page, PROT_READ | PROT_WRITE, how.program);
	r->kernel = map(r, r->page, PROT_READ, how.kernel);
	r->tx = map(r, 2 * tx, PROT_READ | PROT_WRITE, how.tx);
	r->rx = map(r, 2 * rx, PROT_READ, how.rx);
	if (r->program && r->kernel && r->tx && r->rx)
		return r;
fail:
	err = errno;
	oae_ring_close(r);
	errno = err;
	return NULL;
}

static void unmap(const void *p, size_t size)
{
	if (p)
		munmap((void *)(uintptr_t)p, size);
}

void oae_ring_close(struct oae_rings *r)
{
	unmap(r->program, r->page);
	unmap(r->kernel, r->page);
	unmap(r->tx, 2 * r->tx_size);
	unmap(r->rx, 2 * r->rx_size);
	free(r);
}

uint32_t oae_ring_add(struct oae_rings *r, int fd)
{
	struct oae_ring_add add = { .fd = fd };

	return ioctl(r->fd, OAE_RING_ADD, &add) ? 0 : add.link;
}

uint32_t oae_ring_link(const struct oae_rings *r)
{
	return r->link;
}

void oae_ring_spin(struct oae_rings *r, unsigned int us)
{
	r->spin_us = us;
}

void oae_ring_position(const struct oae_rings *r, struct oae_ring_position *p)
{
	*p = (struct oae_ring_position){
		.staged = r->staged,
		.published = r->published,
		.taken = position(&r->kernel->taken),
		.ended = position(&r->kernel->ended),
		.seen = r->seen,
		.filled = position(&r->kernel->filled),
		.next = r->next,
		.passed = r->passed,
	};
}

/* --- tx ---------------------------------------------------------------------- */

static struct oae_chunk *tx_chunk(const struct oae_rings *r, uint64_t at)
{
	return (struct oae_chunk *)(void *)(r->tx + (at & (r->tx_size - 1)));
}

static uint64_t tx_room(const struct oae_rings *r, uint64_t free_to)
{
	return free_to + r->tx_size - r->staged;
}

void *oae_ring_reserve(struct oae_rings *r, size_t len)
{
	r->reserved = 0;
	errno = !len ? EINVAL : len > r->tx_size - HEAD ? EMSGSIZE : 0;
	if (errno)
		return NULL;
	if (extent(len) > tx_room(r, r->seen))
		return (void *)(uintptr_t)nothing(r);
	r->reserved = len;
	return tx_chunk(r, r->staged) + 1;
}

static void put_head(struct oae_rings *r, uint32_t link, uint32_t len, unsigned int flags)
{
	*tx_chunk(r, r->staged) = (struct oae_chunk){
		.len = len,
		.link = link,
		.flags = (__u8)flags,
	};
	r->staged += extent(flags & OAE_CHUNK_FORWARD ? FORWARD_LEN : len);
	r->reserved = 0;
}

int oae_ring_stage(struct oae_rings *r, uint32_t link, size_t len, unsigned int flags)
{
	if (!len || len > r->reserved || flags & ~(unsigned int)OAE_CHUNK_EXPRESS) {
		errno = EINVAL;
		return -1;
	}
	put_head(r, link, (uint32_t)len, flags);
	return 0;
}

int oae_ring_forward(struct oae_rings *r, uint32_t link, const void *data, size_t len,
		     unsigned int flags)
{
	uintptr_t offset = (uintptr_t)data - (uintptr_t)r->rx;
	uint64_t at = r->done + ((offset - r->done) & (r->rx_size - 1));
	void *where;

	if (offset >= 2 * r->rx_size || !len || len > r->rx_size || at + len > r->next ||
	    flags & ~(unsigned int)OAE_CHUNK_EXPRESS) {
		errno = EINVAL;
		return -1;
	}
	where = oae_ring_reserve(r, FORWARD_LEN);
	if (!where)
		return -1;
	memcpy(where, &at, FORWARD_LEN);
	put_head(r, link, (uint32_t)len, flags | OAE_CHUNK_FORWARD);
	r->forward = r->staged;
	return 0;
}

int oae_ring_flush(struct oae_rings *r)
{
	if (r->published == r->staged)
		return 0;
	r->published = r->staged;
	return announce(r, &r->program->published, r->published, &r->kernel->wants_data);
}

int oae_ring_publish(struct oae_rings *r, uint32_t link, size_t len, unsigned int flags)
{
	return oae_ring_stage(r, link, len, flags) ? -1 : oae_ring_flush(r);
}

static int has_ended(struct oae_rings *r)
{
	if (r->seen == r->ended)
		r->ended = position(&r->kernel->ended);
	return r->seen != r->ended;
}

const void *oae_ring_ended(struct oae_rings *r, struct oae_chunk *chunk)
{
	const struct oae_chunk *c = tx_chunk(r, r->seen);
	uint64_t size;

	if (!has_ended(r))
		return nothing(r);
	*chunk = *c;
	size = extent(chunk->flags & OAE_CHUNK_FORWARD ? FORWARD_LEN : chunk->len);
	/* The program may have written over its own chunks. */
	if (!(chunk->result & OAE_CHUNK_ENDED) || size > r->ended - r->seen)
		return broken();
	chunk->result &= (__u8)~OAE_CHUNK_ENDED;
	r->seen += size;
	return c + 1;
}

/* --- rx ---------------------------------------------------------------------- */

static int has_data(struct oae_rings *r)
{
	if (r->next == r->filled)
		r->filled = position(&r->kernel->filled);
	return r->next != r->filled;
}

/* The chunks that forward and are not taken hold up what they were staged before. */
static int is_held(struct oae_rings *r)
{
	if (r->taken < r->hold_tx)
		r->taken = position(&r->kernel->taken);
	return r->taken < r->hold_tx;
}

static int pass(struct oae_rings *r)
{
	uint64_t passed = r->passed;

	while (passed != r->done) {
		if (r->hold_rx == passed) {
			r->hold_rx = r->done;
			r->hold_tx = r->forward;
		}
		if (is_held(r))
			break;
		passed = r->hold_rx;
	}
	if (passed == r->passed)
		return 0;
	r->passed = passed;
	return announce(r, &r->program->passed, passed, &r->kernel->wants_room);
}

const void *oae_ring_next(struct oae_rings *r, struct oae_chunk *chunk)
{
	const struct oae_chunk *c;
	uint64_t size;

	if (!has_data(r))
		return pass(r) ? NULL : nothing(r);
	c = (const void *)(r->rx + (r->next & (r->rx_size - 1)));
	*chunk = *c;
	size = extent(chunk->len);
	if (size > r->filled - r->next)
		return broken();
	r->next += size;
	return c + 1;
}

int oae_ring_done(struct oae_rings *r)
{
	r->done = r->next;
	return pass(r);
}

/* --- waiting ----------------------------------------------------------------- */

/* The OAE_RING_* of @what that are true. */
static int there(struct oae_rings *r, unsigned int what, size_t room)
{
	int found = 0;

	if (what & OAE_RING_DATA && has_data(r))
		found |= OAE_RING_DATA;
	if (what & OAE_RING_OUTCOME && has_ended(r))
		found |= OAE_RING_OUTCOME;
	if (what & OAE_RING_ROOM && extent(room) <= tx_room(r, position(&r->kernel->ended)))
		found |= OAE_RING_ROOM;
	return found;
}

static void store_wants(struct oae_rings *r, unsigned int what)
{
	int room = what & NOT_DATA || (what && r->passed != r->done);

	__atomic_store_n(&r->program->wants_data, !!(what & OAE_RING_DATA), __ATOMIC_RELAXED);
	__atomic_store_n(&r->program->wants_room, (__u32)room, __ATOMIC_RELAXED);
}

static int may_wait(struct oae_rings *r, unsigned int what, size_t room)
{
	if (!what || what & ~(unsigned int)(OAE_RING_DATA | NOT_DATA))
		errno = EINVAL;
	else if (what & OAE_RING_ROOM && room > r->tx_size - HEAD)
		errno = EMSGSIZE;
	else if (what == OAE_RING_OUTCOME && r->seen == r->staged)
		errno = ENOENT;
	else
		return 1;
	return 0;
}

/* The OAE_RING_* that are true, without sleeping; -1: errno says why none will be. */
static int look(struct oae_rings *r, unsigned int what, size_t room)
{
	__u32 error;
	int found;

	if (!may_wait(r, what, room) || oae_ring_flush(r) || pass(r))
		return -1;
	found = there(r, what, room);
	if (found)
		return found;
	error = __atomic_load_n(&r->kernel->error, __ATOMIC_RELAXED);
	if (!error)
		return 0;
	errno = (int)error;
	return -1;
}

int oae_ring_arm(struct oae_rings *r, unsigned int what, size_t room)
{
	int found = look(r, what, room);

	if (found)
		return found;
	store_wants(r, what);
	/* Pairs with the kernel's barrier between its position and its look at these words. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	found = there(r, what, room);
	if (found)
		oae_ring_disarm(r);
	return found;
}

void oae_ring_disarm(struct oae_rings *r)
{
	store_wants(r, 0);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void relax(void)
{
#ifdef __has_builtin
#if __has_builtin(__builtin_ia32_pause)
	__builtin_ia32_pause();
#endif
#endif
}

static int spin(struct oae_rings *r, unsigned int what, size_t room)
{
	long long end = r->spin_us ? now_ns() + r->spin_us * 1000LL : 0;
	int found;

	do {
		found = look(r, what, room);
		relax();
	} while (!found && end && now_ns() < end);
	return found;
}

static struct oae_bell bell_for(const struct oae_rings *r, unsigned int what, size_t room)
{
	struct oae_bell bell = { .filled = r->next, .taken = r->hold_tx };

	if (what & OAE_RING_DATA)
		bell.flags |= OAE_BELL_FILLED;
	/* Then that can be passed which a chunk holds up. */
	if (r->passed != r->done)
		bell.flags |= OAE_BELL_TAKEN;
	if (what & NOT_DATA)
		bell.flags |= OAE_BELL_ENDED;
	if (what & OAE_RING_ROOM)
		bell.ended = r->staged + extent(room) - r->tx_size;
	if (what & OAE_RING_OUTCOME && (!(what & OAE_RING_ROOM) || r->seen < bell.ended))
		bell.ended = r->seen + 1;
	return bell;
}

/* Until the bell returns. 0, or -1. */
static int sleep_until(struct oae_rings *r, unsigned int what, size_t room, long long end)
{
	struct oae_bell bell = bell_for(r, what, room);
	long long left = end < 0 ? -1 : end - now_ns();

	bell.timeout_ms = -1;
	if (end >= 0)
		bell.timeout_ms = left <= 0 ? 0 : (__s32)((left + 999999) / 1000000);
	return ioctl(r->fd, OAE_RING_BELL, &bell);
}

/* As look(), but the kernel is told by the call that sleeps, if one follows. */
static int look_quietly(struct oae_rings *r, unsigned int what, size_t room)
{
	struct oae_bell bell = { 0 };
	int found, err;

	r->quiet = 1;
	found = look(r, what, room);
	r->quiet = 0;
	if (!found || (!__atomic_load_n(&r->kernel->wants_data, __ATOMIC_RELAXED) &&
		       !__atomic_load_n(&r->kernel->wants_room, __ATOMIC_RELAXED)))
		return found;
	err = errno;
	if (ioctl(r->fd, OAE_RING_BELL, &bell) && found >= 0)
		return -1;
	errno = err;
	return found;
}

int oae_ring_wait(struct oae_rings *r, unsigned int what, size_t room, int timeout_ms)
{
	long long end = timeout_ms < 0 ? -1 : now_ns() + timeout_ms * 1000000LL;
	int found;

	if (!timeout_ms)
		return look(r, what, room);
	found = r->spin_us ? spin(r, what, room) : look_quietly(r, what, room);
	while (!found && (end < 0 || now_ns() < end)) {
		if (sleep_until(r, what, room, end))
			return -1;
		found = look(r, what, room);
	}
	return found;
}
