// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that mean well beside the hostile ones: each message comes once, in order,
 * with all its bytes. One has a ring, with two links; all others read() and write(). And
 * those that feed the links of the hostile programs.
 *
 *	watcher 0: host 0, the ring	VC_RING		watcher 1: host 1
 *					VC_ADDED	watcher 2: host 1
 *	watcher 3: host 0		VC_FILES	watcher 4: host 1
 */
#define _GNU_SOURCE
#include "ringfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/uapi/oae.h"

#define TX_SIZE		0x20000
#define RX_SIZE		0x40000
#define PACE_US		1500	/* until a watcher sends again */
#define LAST		0x8000000000000000ULL	/* of a count: none follows */

size_t length_of(uint64_t count)
{
	uint64_t h = (count + 1) * 0x9e3779b97f4a7c15ULL;

	h ^= h >> 31;
	return 16 + (h % 13 ? h % 700 : h % LONGEST);
}

static unsigned char byte_of(uint64_t count, unsigned int from, size_t i)
{
	return count * 7 + from * 31 + i * 13 + (i >> 8);
}

void fill_message(unsigned char *at, size_t len, uint64_t count, unsigned int from)
{
	size_t i;

	for (i = 16; i < len; i++)
		at[i] = byte_of(count, from, i);
	memcpy(at, &count, 8);
	memcpy(at + 8, (uint32_t[]){ from, len }, 8);
}

/* Is it the message with this count, or with this one the last? */
int check_message(const unsigned char *at, size_t len, uint64_t count, unsigned int from)
{
	uint64_t is;
	uint32_t who[2];
	size_t i;

	if (len < 16)
		return 0;
	memcpy(&is, at, 8);
	memcpy(who, at + 8, 8);
	if ((is & ~LAST) != count || who[0] != from || who[1] != len ||
	    len != length_of(count))
		return 0;
	for (i = 16; i < len; i++)
		if (at[i] != byte_of(is, from, i))
			return 0;
	return 1;
}

static int is_last(const unsigned char *at)
{
	uint64_t count;

	memcpy(&count, at, 8);
	return !!(count & LAST);
}

static int stopped(void)
{
	return __atomic_load_n(&board->stop, __ATOMIC_RELAXED);
}

static int open_at(unsigned int host, unsigned int vc)
{
	int fd;

	if (enter_host(host))
		_exit(3);
	fd = open(OAE_DEV, O_RDWR);
	if (fd < 0 || attach_to(fd, host, vc)) {
		perror("ringfuzz: a watcher's link");
		_exit(4);
	}
	return fd;
}

/* --- read() and write() ---------------------------------------------------------- */

struct plain {
	unsigned int number, vc, host;
	int fd;
};

static void *send_plain(void *arg)
{
	static __thread unsigned char message[LONGEST + 16];
	const struct plain *p = arg;
	uint64_t count = 0, is;
	size_t len;

	do {
		is = count | (stopped() ? LAST : 0);
		len = length_of(count++);
		fill_message(message, len, is, p->vc * 2 + p->host);
		if (write(p->fd, message, len) != (ssize_t)len) {
			breach("watcher %u: message %llu: %s", p->number,
			       (unsigned long long)count - 1, strerror(errno));
			_exit(5);
		}
		board->sent[p->number] = count;
		usleep(PACE_US);
	} while (!(is & LAST));
	return NULL;
}

static void read_plain(const struct plain *p)
{
	static unsigned char message[65536];
	uint64_t count = 0;
	ssize_t len;

	do {
		len = read(p->fd, message, sizeof(message));
		if (len < 0 || !check_message(message, len, count, p->vc * 2 + !p->host)) {
			breach("watcher %u: instead of message %llu: %zd bytes, %s", p->number,
			       (unsigned long long)count, len, len < 0 ? strerror(errno) : "wrong");
			_exit(6);
		}
		board->seen[p->number] = ++count;
	} while (!is_last(message));
}

static void watch_plain(unsigned int number, unsigned int host, unsigned int vc)
{
	struct plain p = { number, vc, host, open_at(host, vc) };
	pthread_t id;

	if (pthread_create(&id, NULL, send_plain, &p))
		_exit(7);
	read_plain(&p);
	pthread_join(id, NULL);
}

/* --- the ring -------------------------------------------------------------------- */

struct ring {
	int fd;
	struct oae_ring_program *p;
	const struct oae_ring_kernel *k;
	unsigned char *tx;
	const unsigned char *rx;
	uint32_t link[2];
	uint64_t published, seen, next;
	uint64_t sent[2], got[2];
	int over[2], said[2];		/* the last came, was sent */
};

static size_t size_of(size_t len)
{
	return sizeof(struct oae_chunk) + ((len + 7) & ~7ul);
}

static void *map(int fd, uint64_t offset, size_t len, int prot)
{
	void *at = mmap(NULL, len, prot, MAP_SHARED, fd, offset);

	if (at == MAP_FAILED) {
		perror("ringfuzz: mmap");
		_exit(9);
	}
	return at;
}

static void ring_open(struct ring *r)
{
	struct oae_ring made = { .tx_size = TX_SIZE, .rx_size = RX_SIZE };
	struct oae_ring_add add = { 0 };

	r->fd = open_at(0, VC_RING);
	add.fd = open_at(0, VC_ADDED);
	if (ioctl(r->fd, OAE_RING, &made) || ioctl(r->fd, OAE_RING_ADD, &add)) {
		perror("ringfuzz: a watcher's ring");
		_exit(10);
	}
	r->link[0] = made.link;
	r->link[1] = add.link;
	r->p = map(r->fd, made.program, 4096, PROT_READ | PROT_WRITE);
	r->k = map(r->fd, made.kernel, 4096, PROT_READ);
	r->tx = map(r->fd, made.tx, 2 * TX_SIZE, PROT_READ | PROT_WRITE);
	r->rx = map(r->fd, made.rx, 2 * RX_SIZE, PROT_READ);
}

/* With @flags until something is there to read, or all that was published has ended. */
static void bell(struct ring *r, unsigned int flags, int timeout_ms)
{
	struct oae_bell b = { .flags = flags, .timeout_ms = timeout_ms, .filled = r->next,
			      .ended = r->published };

	if (ioctl(r->fd, OAE_RING_BELL, &b) && errno != EINTR) {
		breach("the ring that means well: bell: %s", strerror(errno));
		_exit(11);
	}
}

/* Each was committed. */
static int ring_outcomes(struct ring *r)
{
	uint64_t ended = __atomic_load_n(&r->k->ended, __ATOMIC_ACQUIRE);
	const struct oae_chunk *c;
	int n = 0;

	for (; r->seen != ended; n++) {
		c = (const void *)(r->tx + r->seen % TX_SIZE);
		if (c->result != (OAE_CHUNK_ENDED | OAE_RESULT_COMMITTED) || c->err) {
			breach("the ring that means well: result %#x, %s", c->result,
			       strerror(c->err));
			_exit(12);
		}
		r->seen += size_of(c->len);
		board->outcomes++;
	}
	return n;
}

static int ring_read(struct ring *r)
{
	uint64_t filled = __atomic_load_n(&r->k->filled, __ATOMIC_ACQUIRE);
	const struct oae_chunk *c;
	unsigned int i;
	int n = 0;

	for (; r->next != filled; n++) {
		c = (const void *)(r->rx + r->next % RX_SIZE);
		i = c->link == r->link[1];
		if (c->link != r->link[i] || r->over[i] || c->result || c->err ||
		    !check_message((const void *)(c + 1), c->len, r->got[i],
				   (VC_RING + i) * 2 + 1)) {
			breach("the ring that means well: link %u, %u bytes: not message %llu",
			       c->link, c->len, (unsigned long long)r->got[i]);
			_exit(13);
		}
		r->over[i] = is_last((const void *)(c + 1));
		r->got[i]++;
		board->seen[0]++;
		r->next += size_of(c->len);
	}
	if (!n)
		return 0;
	__atomic_store_n(&r->p->passed, r->next, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->k->wants_room, __ATOMIC_RELAXED))
		bell(r, 0, 0);
	return n;
}

static int ring_send(struct ring *r, unsigned int i)
{
	size_t len = length_of(r->sent[i]);
	struct oae_chunk *c = (void *)(r->tx + r->published % TX_SIZE);
	uint64_t is = r->sent[i] | (stopped() ? LAST : 0);

	if (r->said[i] || TX_SIZE - (r->published - r->seen) < size_of(len))
		return 0;
	*c = (struct oae_chunk){ .len = len, .link = r->link[i] };
	fill_message((void *)(c + 1), len, is, (VC_RING + i) * 2);
	r->published += size_of(len);
	__atomic_store_n(&r->p->published, r->published, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->k->wants_data, __ATOMIC_RELAXED))
		bell(r, 0, 0);
	r->said[i] = !!(is & LAST);
	r->sent[i]++;
	board->sent[0]++;
	return 1;
}

/* Sleep until all has ended, or there is something to read: for ever, if that is not told. */
static void ring_sleep(struct ring *r)
{
	__atomic_store_n(&r->p->wants_data, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->p->wants_room, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (r->k->filled == r->next && r->k->ended == r->seen)
		bell(r, OAE_BELL_FILLED | OAE_BELL_ENDED, -1);
	__atomic_store_n(&r->p->wants_data, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->p->wants_room, 0, __ATOMIC_RELAXED);
}

/* Some messages, then nothing until what they need is done. */
static void watch_ring(void)
{
	static struct ring r;
	unsigned int turn, n;

	ring_open(&r);
	for (turn = 0; !r.over[0] || !r.over[1] || !r.said[0] || !r.said[1] ||
	     r.seen != r.published; turn++) {
		for (n = turn % 5; n && ring_send(&r, (turn + n) % 2); n--)
			;
		if (stopped()) {
			ring_send(&r, 0);
			ring_send(&r, 1);
		}
		while (ring_outcomes(&r) + ring_read(&r))
			;
		if (r.seen != r.published)
			ring_sleep(&r);
		else
			usleep(PACE_US);
	}
}

/* Watch; then the process ends well. */
void watch(unsigned int number)
{
	switch (number) {
	case 0:
		watch_ring();
		break;
	case 1:
	case 2:
		watch_plain(number, 1, VC_RING + number - 1);
		break;
	default:
		watch_plain(number, number - 3, VC_FILES);
	}
}

/* --- the peers of hostile programs ------------------------------------------------- */

/* Write messages that can be told, read whatever comes. Until killed. */
void feed(unsigned int vc)
{
	static unsigned char message[65536];
	static struct oae_outcome_rec recs[64];
	struct oae_collect collect = { .recs = (uintptr_t)recs, .max = ARRAY_SIZE(recs) };
	struct pollfd p = { .events = POLLIN };
	uint64_t count = 0;
	size_t len;

	p.fd = open_at(1, vc);
	fcntl(p.fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		len = length_of(count);
		fill_message(message, len, count, vc * 2 + 1);
		if (write(p.fd, message, len) == (ssize_t)len)
			count++;
		else
			ioctl(p.fd, OAE_COLLECT, &collect);
		while (read(p.fd, message, sizeof(message)) > 0)
			;
		poll(&p, 1, 2);
	}
}
