// SPDX-License-Identifier: GPL-2.0
/*
 * The rings of liboae against a kernel's side that this program plays: ioctl() and mmap() of
 * a memfd, whose pages it maps as the device does, each ring twice in a row.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <oae.h>
#include "../unit/unit.h"

#define PAGE	4096
#define SIZE	0x10000ULL	/* of either ring */
#define TX_AT	(2 * PAGE)
#define RX_AT	(TX_AT + SIZE)
#define LINK	5U
#define OTHER	6U
#define HEAD	sizeof(struct oae_chunk)

/* What the kernel knows: its own positions, and its view of the pages. */
static struct {
	int fd;
	struct oae_ring_program *program;
	struct oae_ring_kernel *kernel;
	char *tx, *rx;
	uint64_t taken, ended, filled;
	uint32_t numbers;
	unsigned int bells;
	struct oae_bell bell;	/* the last */
	int refuses;		/* OAE_RING: an errno */
	void (*on_bell)(void);
} k;

static uint64_t extent(uint64_t len)
{
	return (HEAD + len + 7) & ~7ULL;
}

/* The descriptor is a memfd: what the library asks of the device is answered here. */
int ioctl(int fd, unsigned long request, ...)
{
	struct oae_ring_add *add;
	struct oae_ring *how;
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != k.fd || !k.fd)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	switch (request) {
	case OAE_RING:
		how = arg;
		if (k.refuses || how->tx_size != SIZE || how->rx_size != SIZE) {
			errno = k.refuses ?: EINVAL;
			return -1;
		}
		how->link = LINK;
		how->program = 0;
		how->kernel = PAGE;
		how->tx = TX_AT;
		how->rx = RX_AT;
		return 0;
	case OAE_RING_ADD:
		add = arg;
		if (add->fd < 0) {
			errno = EBADF;
			return -1;
		}
		add->link = OTHER;
		return 0;
	case OAE_RING_BELL:
		k.bells++;
		k.bell = *(struct oae_bell *)arg;
		if (k.on_bell)
			k.on_bell();
		if (k.kernel->error) {
			errno = (int)k.kernel->error;
			return -1;
		}
		return 0;
	}
	errno = ENOTTY;
	return -1;
}

static void *map_at(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	char *p = map_at(at, len, prot, flags, fd, offset);

	if (fd == k.fd && k.fd && len == 2 * SIZE)
		map_at(p + SIZE, SIZE, prot, flags | MAP_FIXED, fd, offset);
	return p;
}

static struct oae_rings *opened(void)
{
	struct oae_rings *r;

	memset(&k, 0, sizeof(k));
	k.fd = memfd_create("rings", MFD_CLOEXEC);
	assert_true(k.fd > 0);
	assert_int_equal(ftruncate(k.fd, RX_AT + SIZE), 0);
	k.program = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, k.fd, 0);
	k.kernel = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, k.fd, PAGE);
	k.tx = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, k.fd, TX_AT);
	k.rx = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, k.fd, RX_AT);
	r = oae_ring_open(k.fd, SIZE, SIZE);
	assert_non_null(r);
	return r;
}

static void closed(struct oae_rings *r)
{
	oae_ring_close(r);
	munmap(k.program, PAGE);
	munmap(k.kernel, PAGE);
	munmap(k.tx, 2 * SIZE);
	munmap(k.rx, 2 * SIZE);
	close(k.fd);
	k.fd = 0;
}

/* --- what the kernel does --------------------------------------------------------- */

static uint64_t published(void)
{
	return __atomic_load_n(&k.program->published, __ATOMIC_SEQ_CST);
}

static uint64_t passed(void)
{
	return __atomic_load_n(&k.program->passed, __ATOMIC_SEQ_CST);
}

static struct oae_chunk *tx_at(uint64_t at)
{
	return (struct oae_chunk *)(k.tx + at % SIZE);
}

static uint64_t extent_of(const struct oae_chunk *c)
{
	return extent(c->flags & OAE_CHUNK_FORWARD ? 8 : c->len);
}

/* The next chunk is taken; NULL: there is none. */
static struct oae_chunk *take(void)
{
	struct oae_chunk *c = tx_at(k.taken);

	if (k.taken == published())
		return NULL;
	k.taken += extent_of(c);
	assert_true(k.taken <= published());
	__atomic_store_n(&k.kernel->taken, k.taken, __ATOMIC_SEQ_CST);
	return c;
}

static bool end(unsigned int result, int err)
{
	struct oae_chunk *c = tx_at(k.ended);

	if (k.ended == k.taken)
		return false;
	c->result = (__u8)(OAE_CHUNK_ENDED | result);
	c->err = (__u16)err;
	k.ended += extent_of(c);
	__atomic_store_n(&k.kernel->ended, k.ended, __ATOMIC_SEQ_CST);
	return true;
}

/* One delivered; false: no room. */
static bool fill(uint32_t link, const void *data, uint32_t len)
{
	char *at = k.rx + k.filled % SIZE;

	if (k.filled + extent(len) > passed() + SIZE)
		return false;
	*(struct oae_chunk *)at = (struct oae_chunk){
		.len = len, .link = link, .number = ++k.numbers,
	};
	memcpy(at + HEAD, data, len);
	k.filled += extent(len);
	__atomic_store_n(&k.kernel->filled, k.filled, __ATOMIC_SEQ_CST);
	return true;
}

/* --- helpers ------------------------------------------------------------------------ */

#define fails(code, call) do { \
	errno = 0; \
	assert_true((call) < 0); \
	assert_string_equal(strerrorname_np(errno), strerrorname_np(code)); \
} while (0)

#define gives_none(code, call) do { \
	errno = 0; \
	assert_null(call); \
	assert_string_equal(strerrorname_np(errno), strerrorname_np(code)); \
} while (0)

static void publish(struct oae_rings *r, const void *data, size_t len)
{
	void *room = oae_ring_reserve(r, len);

	assert_non_null(room);
	memcpy(room, data, len);
	assert_int_equal(oae_ring_publish(r, LINK, len, 0), 0);
}

/* --- one by one --------------------------------------------------------------------- */

TEST(test_opening)
{
	struct oae_rings *r = opened();

	assert_int_equal(oae_ring_link(r), LINK);
	assert_int_equal(oae_ring_add(r, 0), OTHER);
	errno = 0;
	assert_int_equal(oae_ring_add(r, -1), 0);
	assert_int_equal(errno, EBADF);
	gives_none(EINVAL, oae_ring_open(k.fd, SIZE, 2 * SIZE));
	gives_none(EINVAL, oae_ring_open(k.fd, SIZE + (1ULL << 32), SIZE));
	k.refuses = EBUSY;
	gives_none(EBUSY, oae_ring_open(k.fd, SIZE, SIZE));
	closed(r);
}

TEST(test_out)
{
	struct oae_rings *r = opened();
	struct oae_chunk c, *taken;
	char *room;

	room = oae_ring_reserve(r, 100);
	assert_ptr_equal(oae_ring_reserve(r, 5), room);
	memcpy(room, "hello", 5);
	fails(EINVAL, oae_ring_publish(r, LINK, 6, 0));
	assert_int_equal(oae_ring_publish(r, LINK, 5, OAE_CHUNK_EXPRESS), 0);
	fails(EINVAL, oae_ring_publish(r, LINK, 5, 0));
	assert_int_equal(k.bells, 0);
	gives_none(EAGAIN, oae_ring_ended(r, &c));

	taken = take();
	assert_non_null(taken);
	assert_int_equal(taken->len, 5);
	assert_int_equal(taken->link, LINK);
	assert_int_equal(taken->flags, OAE_CHUNK_EXPRESS);
	assert_int_equal(taken->result, 0);
	assert_memory_equal(taken + 1, "hello", 5);
	assert_null(take());
	gives_none(EAGAIN, oae_ring_ended(r, &c));
	end(OAE_RESULT_REVERSED, ETIME);
	room = (char *)oae_ring_ended(r, &c);
	assert_memory_equal(room, "hello", 5);
	assert_int_equal(c.result, OAE_RESULT_REVERSED);
	assert_int_equal(c.err, ETIME);
	gives_none(EAGAIN, oae_ring_ended(r, &c));
	closed(r);
}

TEST(test_refused)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;

	gives_none(EINVAL, oae_ring_reserve(r, 0));
	gives_none(EMSGSIZE, oae_ring_reserve(r, SIZE - HEAD + 1));
	gives_none(EMSGSIZE, oae_ring_reserve(r, SIZE_MAX));
	assert_non_null(oae_ring_reserve(r, SIZE - HEAD));
	fails(EINVAL, oae_ring_stage(r, LINK, 0, 0));
	fails(EINVAL, oae_ring_stage(r, LINK, 1, OAE_CHUNK_FORWARD));
	fails(EINVAL, oae_ring_stage(r, LINK, 1, 0x100));
	assert_int_equal(oae_ring_stage(r, LINK, SIZE - HEAD, 0), 0);
	gives_none(EAGAIN, oae_ring_reserve(r, 1));
	assert_int_equal(published(), 0);
	assert_int_equal(oae_ring_flush(r), 0);
	assert_int_equal(published(), SIZE);
	take();
	end(OAE_RESULT_COMMITTED, 0);
	/* an outcome that was not looked at keeps its room */
	gives_none(EAGAIN, oae_ring_reserve(r, 1));
	assert_non_null(oae_ring_ended(r, &c));
	assert_non_null(oae_ring_reserve(r, SIZE - HEAD));
	closed(r);
}

TEST(test_bell_only_if_wanted)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;
	char *room;

	publish(r, "1", 1);
	assert_int_equal(k.bells, 0);
	k.kernel->wants_data = 1;
	k.kernel->wants_room = 1;
	for (int i = 0; i < 3; i++) {
		room = oae_ring_reserve(r, 1);
		*room = '2';
		assert_int_equal(oae_ring_stage(r, LINK, 1, 0), 0);
	}
	assert_int_equal(k.bells, 0);
	assert_int_equal(oae_ring_flush(r), 0);
	assert_int_equal(k.bells, 1);
	assert_int_equal(k.bell.flags, 0);
	assert_int_equal(oae_ring_flush(r), 0);
	assert_int_equal(k.bells, 1);

	fill(LINK, "in", 2);
	assert_memory_equal(oae_ring_next(r, &c), "in", 2);
	assert_int_equal(k.bells, 1);
	assert_int_equal(oae_ring_done(r), 0);
	assert_int_equal(k.bells, 2);
	assert_int_equal(passed(), extent(2));
	assert_int_equal(oae_ring_done(r), 0);
	assert_int_equal(k.bells, 2);
	closed(r);
}

TEST(test_in)
{
	struct oae_rings *r = opened();
	struct oae_ring_position p;
	struct oae_chunk c;

	gives_none(EAGAIN, oae_ring_next(r, &c));
	fill(LINK, "first", 5);
	fill(OTHER, "second one", 10);
	assert_memory_equal(oae_ring_next(r, &c), "first", 5);
	assert_int_equal(c.link, LINK);
	assert_int_equal(c.len, 5);
	assert_int_equal(c.number, 1);
	assert_memory_equal(oae_ring_next(r, &c), "second one", 10);
	assert_int_equal(c.link, OTHER);
	assert_int_equal(c.number, 2);
	gives_none(EAGAIN, oae_ring_next(r, &c));
	assert_int_equal(passed(), 0);
	oae_ring_position(r, &p);
	assert_int_equal(p.next, extent(5) + extent(10));
	assert_int_equal(p.filled, p.next);
	assert_int_equal(p.passed, 0);
	assert_int_equal(oae_ring_done(r), 0);
	assert_int_equal(passed(), p.next);
	closed(r);
}

/* A program that writes over its own chunks loses its outcomes, and reads nothing else. */
TEST(test_scribbled)
{
	static const __u32 lengths[] = { 0x7fffffff, 0xffffffff, 0xfffffff0, 100 };
	struct oae_rings *r = opened();
	struct oae_chunk c;

	publish(r, "hello", 5);
	take();
	end(OAE_RESULT_COMMITTED, 0);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		tx_at(0)->len = lengths[i];
		gives_none(EPROTO, oae_ring_ended(r, &c));
	}
	tx_at(0)->len = 5;
	tx_at(0)->result = 0;
	gives_none(EPROTO, oae_ring_ended(r, &c));
	tx_at(0)->result = OAE_CHUNK_ENDED;
	assert_non_null(oae_ring_ended(r, &c));
	closed(r);
}

/* What is there is given; then the error is, by every call that would wait for more. */
TEST(test_stands_still)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;

	publish(r, "out", 3);
	fill(LINK, "in", 2);
	take();
	end(OAE_RESULT_COMMITTED, 0);
	k.kernel->error = EPROTO;
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA | OAE_RING_OUTCOME, 0, -1),
			 OAE_RING_DATA | OAE_RING_OUTCOME);
	assert_non_null(oae_ring_next(r, &c));
	assert_non_null(oae_ring_ended(r, &c));
	gives_none(EPROTO, oae_ring_next(r, &c));
	gives_none(EPROTO, oae_ring_ended(r, &c));
	assert_int_equal(oae_ring_done(r), 0);
	fails(EPROTO, oae_ring_wait(r, OAE_RING_DATA, 0, -1));
	fails(EPROTO, oae_ring_arm(r, OAE_RING_DATA, 0));
	assert_non_null(oae_ring_reserve(r, SIZE - HEAD));
	assert_int_equal(oae_ring_publish(r, LINK, SIZE - HEAD, 0), 0);
	gives_none(EPROTO, oae_ring_reserve(r, 1));
	closed(r);
}

/* --- forwarding ----------------------------------------------------------------------- */

TEST(test_forward)
{
	struct oae_rings *r = opened();
	struct oae_ring_position p;
	const char *in;
	struct oae_chunk c, *taken;
	uint64_t at;

	fill(LINK, "to be passed on", 15);
	in = oae_ring_next(r, &c);
	fails(EINVAL, oae_ring_forward(r, OTHER, in, 17, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, in, 0, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, in, SIZE_MAX, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, in - HEAD - 1, 4, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, in + 16, 1, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, &c, 1, 0));
	fails(EINVAL, oae_ring_forward(r, OTHER, in, 1, OAE_CHUNK_FORWARD));
	assert_int_equal(oae_ring_forward(r, OTHER, in + 3, 12, OAE_CHUNK_EXPRESS), 0);
	assert_int_equal(oae_ring_done(r), 0);
	fails(EINVAL, oae_ring_forward(r, OTHER, in, 1, 0));
	assert_int_equal(oae_ring_flush(r), 0);
	/* not passed before it is taken */
	assert_int_equal(passed(), 0);

	taken = take();
	assert_int_equal(taken->len, 12);
	assert_int_equal(taken->link, OTHER);
	assert_int_equal(taken->flags, OAE_CHUNK_FORWARD | OAE_CHUNK_EXPRESS);
	memcpy(&at, taken + 1, 8);
	assert_int_equal(at, HEAD + 3);
	assert_memory_equal(k.rx + at, "be passed on", 12);
	/* the next look passes it */
	gives_none(EAGAIN, oae_ring_next(r, &c));
	assert_int_equal(passed(), extent(15));

	end(OAE_RESULT_COMMITTED, 0);
	assert_non_null(oae_ring_ended(r, &c));
	assert_int_equal(c.len, 12);
	oae_ring_position(r, &p);
	assert_int_equal(p.seen, extent(8));
	assert_int_equal(p.seen, p.staged);
	closed(r);
}

/* Where something is always under way, what was forwarded before is passed all the same. */
TEST(test_forward_for_ever)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;
	const char *in;

	for (unsigned int n = 0; n < 10000; n++) {
		assert_true(fill(LINK, "abcdefgh", 8));
		in = oae_ring_next(r, &c);
		assert_non_null(in);
		assert_int_equal(oae_ring_forward(r, OTHER, in, 8, 0), 0);
		assert_int_equal(oae_ring_done(r), 0);
		assert_int_equal(oae_ring_flush(r), 0);
		if (n) {
			take();
			end(OAE_RESULT_COMMITTED, 0);
			assert_non_null(oae_ring_ended(r, &c));
		}
		/* two are not passed: the one under way, and the one held up with it */
		assert_true(k.filled - passed() <= 3 * extent(8));
	}
	closed(r);
}

/* --- waiting ---------------------------------------------------------------------------- */

static void (*meanwhile)(void);

/* The kernel does something while the program sleeps. */
static void asleep(void)
{
	assert_true(k.bell.flags);
	if (meanwhile)
		meanwhile();
}

static void data_comes(void)
{
	assert_int_equal(k.bell.flags, OAE_BELL_FILLED);
	assert_int_equal(k.bell.filled, k.filled);
	fill(LINK, "in", 2);
}

static void one_ends(void)
{
	assert_int_equal(k.bell.flags, OAE_BELL_ENDED);
	/* it is true when one has ended, and not before */
	assert_true(k.ended < k.bell.ended);
	while (take())
		;
	end(OAE_RESULT_COMMITTED, 0);
	assert_true(k.ended >= k.bell.ended);
}

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	assert_true(k.bell.timeout_ms > 0 && k.bell.timeout_ms <= 30);
	nanosleep(&ms, NULL);
}

static void it_is_taken(void)
{
	assert_int_equal(k.bell.flags, OAE_BELL_FILLED | OAE_BELL_TAKEN);
	assert_true(k.taken < k.bell.taken);
	take();
	assert_int_equal(k.taken, k.bell.taken);
	meanwhile = nap;
}

TEST(test_waiting)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;

	k.on_bell = asleep;
	fails(EINVAL, oae_ring_wait(r, 0, 0, 0));
	fails(EINVAL, oae_ring_wait(r, 8, 0, 0));
	fails(ENOENT, oae_ring_wait(r, OAE_RING_OUTCOME, 0, -1));
	fails(EMSGSIZE, oae_ring_wait(r, OAE_RING_ROOM, SIZE, -1));
	assert_int_equal(oae_ring_wait(r, OAE_RING_ROOM, SIZE - HEAD, -1), OAE_RING_ROOM);
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, 0), 0);
	assert_int_equal(k.bells, 0);

	meanwhile = data_comes;
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, -1), OAE_RING_DATA);
	assert_int_equal(k.bell.timeout_ms, -1);
	assert_int_equal(k.program->wants_data, 0);
	assert_non_null(oae_ring_next(r, &c));
	/* more than was seen, whatever is passed */
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, -1), OAE_RING_DATA);
	assert_int_equal(k.bells, 2);
	assert_non_null(oae_ring_next(r, &c));
	assert_int_equal(oae_ring_done(r), 0);

	/* what is staged is published first */
	memset(oae_ring_reserve(r, 1000), 7, 1000);
	assert_int_equal(oae_ring_stage(r, LINK, 1000, 0), 0);
	meanwhile = one_ends;
	assert_int_equal(oae_ring_wait(r, OAE_RING_OUTCOME, 0, -1), OAE_RING_OUTCOME);
	assert_int_equal(oae_ring_wait(r, OAE_RING_OUTCOME, 0, -1), OAE_RING_OUTCOME);
	assert_int_equal(k.bells, 3);
	assert_non_null(oae_ring_ended(r, &c));

	for (int i = 0; i < 2; i++) {
		*(char *)oae_ring_reserve(r, SIZE / 2 - HEAD) = 7;
		assert_int_equal(oae_ring_stage(r, LINK, SIZE / 2 - HEAD, 0), 0);
	}
	assert_int_equal(oae_ring_wait(r, OAE_RING_ROOM, 1, -1), OAE_RING_ROOM);
	assert_int_equal(k.bell.ended, 1000 + HEAD + extent(1));
	assert_int_equal(k.bells, 4);
	assert_int_equal(oae_ring_wait(r, OAE_RING_OUTCOME | OAE_RING_ROOM, SIZE / 2 - HEAD, -1),
			 OAE_RING_OUTCOME | OAE_RING_ROOM);
	assert_non_null(oae_ring_ended(r, &c));
	/* the whole ring, or an outcome: whichever comes first */
	assert_int_equal(oae_ring_wait(r, OAE_RING_OUTCOME | OAE_RING_ROOM, SIZE - HEAD, -1),
			 OAE_RING_OUTCOME | OAE_RING_ROOM);
	assert_int_equal(k.bells, 5);
	closed(r);
}

TEST(test_waiting_for_what_is_forwarded)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;

	k.on_bell = asleep;
	fill(LINK, "in", 2);
	assert_int_equal(oae_ring_forward(r, OTHER, oae_ring_next(r, &c), 2, 0), 0);
	assert_int_equal(oae_ring_done(r), 0);
	/* first that it is taken, so that it can be passed; then for data */
	meanwhile = it_is_taken;
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, 20), 0);
	assert_int_equal(passed(), extent(2));
	meanwhile = data_comes;
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, -1), OAE_RING_DATA);
	closed(r);
}

TEST(test_patience)
{
	struct oae_rings *r = opened();

	k.on_bell = asleep;
	meanwhile = nap;
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, 30), 0);
	assert_in_range(k.bells, 1, 31);
	assert_int_equal(k.program->wants_data, 0);
	closed(r);
}

TEST(test_spinning)
{
	struct oae_rings *r = opened();
	struct timespec begin, now;

	k.on_bell = asleep;
	meanwhile = data_comes;
	oae_ring_spin(r, 20000);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(oae_ring_wait(r, OAE_RING_DATA, 0, -1), OAE_RING_DATA);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec >=
		    20000000);
	assert_int_equal(k.bells, 1);
	closed(r);
}

TEST(test_armed)
{
	struct oae_rings *r = opened();
	struct oae_chunk c;

	assert_int_equal(oae_ring_arm(r, OAE_RING_DATA | OAE_RING_OUTCOME, 0), 0);
	assert_int_equal(k.program->wants_data, 1);
	assert_int_equal(k.program->wants_room, 1);
	oae_ring_disarm(r);
	assert_int_equal(k.program->wants_data, 0);
	assert_int_equal(k.program->wants_room, 0);
	fill(LINK, "in", 2);
	assert_int_equal(oae_ring_arm(r, OAE_RING_DATA, 0), OAE_RING_DATA);
	assert_int_equal(k.program->wants_data, 0);
	assert_non_null(oae_ring_next(r, &c));
	closed(r);
}

/* --- a long walk -------------------------------------------------------------------------- */

static uint32_t dice(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void pattern(unsigned char *data, uint32_t number, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (unsigned char)(number * 31 + i * 7 + (i >> 8));
}

static uint32_t length(uint32_t number)
{
	uint32_t seed = number;

	return 1 + dice(&seed, number % 5 ? 300 : 9000);
}

struct walk {
	struct oae_rings *r;
	uint32_t seed, staged, taken, seen, filled, got;
	unsigned char data[9000];
};

static void step_program(struct walk *w)
{
	const void *data;
	struct oae_chunk c;
	void *room;

	switch (dice(&w->seed, 4)) {
	case 0:
		room = oae_ring_reserve(w->r, length(w->staged));
		if (!room) {
			assert_int_equal(errno, EAGAIN);
			break;
		}
		pattern(room, w->staged, length(w->staged));
		assert_int_equal(oae_ring_stage(w->r, LINK, length(w->staged), 0), 0);
		w->staged++;
		break;
	case 1:
		assert_int_equal(oae_ring_flush(w->r), 0);
		break;
	case 2:
		data = oae_ring_ended(w->r, &c);
		if (!data)
			break;
		pattern(w->data, w->seen, c.len);
		assert_int_equal(c.len, length(w->seen));
		assert_int_equal(c.err, w->seen % 7);
		assert_memory_equal(data, w->data, c.len);
		w->seen++;
		break;
	case 3:
		data = oae_ring_next(w->r, &c);
		if (data) {
			pattern(w->data, w->got, c.len);
			assert_int_equal(c.len, length(w->got));
			assert_memory_equal(data, w->data, c.len);
			w->got++;
		}
		if (dice(&w->seed, 3))
			assert_int_equal(oae_ring_done(w->r), 0);
		break;
	}
}

static void step_kernel(struct walk *w)
{
	const struct oae_chunk *c;

	switch (dice(&w->seed, 3)) {
	case 0:
		c = take();
		if (!c)
			break;
		assert_int_equal(c->len, length(w->taken));
		pattern(w->data, w->taken, c->len);
		assert_memory_equal(c + 1, w->data, c->len);
		w->taken++;
		break;
	case 1:
		/* the one that ends is the first of those taken */
		if (k.ended != k.taken) {
			static uint32_t n;

			if (!k.ended)
				n = 0;
			end(OAE_RESULT_COMMITTED, (int)(n++ % 7));
		}
		break;
	case 2:
		pattern(w->data, w->filled, length(w->filled));
		if (fill(LINK, w->data, length(w->filled)))
			w->filled++;
		break;
	}
}

TEST(test_round_and_round)
{
	struct walk w = { .r = opened(), .seed = 1 };
	struct oae_ring_position p;

	for (unsigned int i = 0; i < 300000; i++) {
		step_program(&w);
		step_kernel(&w);
		oae_ring_position(w.r, &p);
		assert_true(p.seen <= p.ended && p.ended <= p.taken && p.taken <= p.published &&
			    p.published <= p.staged && p.staged <= p.seen + SIZE);
		assert_true(p.passed <= p.next && p.next <= p.filled &&
			    p.filled <= p.passed + SIZE);
	}
	/* both rings, many times */
	assert_true(p.seen > 100 * SIZE && p.passed > 100 * SIZE);
	closed(w.r);
}

/* --- both at once --------------------------------------------------------------------------- */

#define RECORDS	100000U

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static _Atomic unsigned int slept, sleeps;

/* In a thread that is not the test's. */
static void must(bool true_)
{
	if (!true_)
		abort();
}

static bool bell_is_true(void)
{
	return (k.bell.flags & OAE_BELL_FILLED && k.kernel->filled > k.bell.filled) ||
	       (k.bell.flags & OAE_BELL_TAKEN && k.kernel->taken >= k.bell.taken) ||
	       (k.bell.flags & OAE_BELL_ENDED && k.kernel->ended >= k.bell.ended);
}

/* The bell of the program: wakes the other side, and sleeps until it is true. */
static void rings(void)
{
	struct timespec late;

	clock_gettime(CLOCK_REALTIME, &late);
	late.tv_sec += 20;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&wake);
	sleeps = 1;
	atomic_thread_fence(memory_order_seq_cst);
	while (k.bell.flags && !bell_is_true()) {
		slept++;
		/* a wake-up that is lost */
		assert_int_equal(pthread_cond_timedwait(&wake, &lock, &late), 0);
	}
	sleeps = 0;
	pthread_mutex_unlock(&lock);
}

/* The kernel knows by itself who sleeps in the bell. */
static void wake_program(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!sleeps)
		return;
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
}

/* Sends back what it takes, and sleeps as the program does. */
static void *echo(void *unused)
{
	const struct oae_chunk *c;
	struct timespec late;
	uint32_t n = 0;

	while (n < RECORDS) {
		c = NULL;
		if (k.taken != published()) {
			c = tx_at(k.taken);
			if (k.filled + extent(c->len) > passed() + SIZE)
				c = NULL;
		}
		if (c) {
			take();
			fill(LINK, c + 1, c->len);
			wake_program();
			end(OAE_RESULT_COMMITTED, 0);
			wake_program();
			n++;
			continue;
		}
		clock_gettime(CLOCK_REALTIME, &late);
		late.tv_sec += 20;
		pthread_mutex_lock(&lock);
		__atomic_store_n(&k.kernel->wants_data, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&k.kernel->wants_room, 1, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (k.taken == published() ||
		    k.filled + extent(tx_at(k.taken)->len) > passed() + SIZE)
			must(!pthread_cond_timedwait(&wake, &lock, &late));
		__atomic_store_n(&k.kernel->wants_data, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&k.kernel->wants_room, 0, __ATOMIC_SEQ_CST);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

/* All records there and back, at most @depth of them under way. */
static void there_and_back(uint32_t depth)
{
	struct oae_rings *r = opened();
	uint32_t out = 0, in = 0, seen = 0, *room;
	const uint32_t *data;
	struct oae_chunk c;
	unsigned int what;
	pthread_t other;

	k.on_bell = rings;
	slept = 0;
	assert_int_equal(pthread_create(&other, NULL, echo, NULL), 0);
	while (in < RECORDS || seen < RECORDS) {
		while (out < RECORDS && out - in < depth &&
		       (room = oae_ring_reserve(r, 4 + out % 2000))) {
			*room = out;
			assert_int_equal(oae_ring_publish(r, LINK, 4 + out % 2000, 0), 0);
			out++;
		}
		while (oae_ring_ended(r, &c))
			seen++;
		while ((data = oae_ring_next(r, &c)))
			assert_int_equal(*data, in++);
		assert_int_equal(oae_ring_done(r), 0);
		what = out < RECORDS && out - in < depth ? OAE_RING_ROOM : OAE_RING_OUTCOME;
		if (in < RECORDS || seen < RECORDS)
			assert_true(oae_ring_wait(r, OAE_RING_DATA | what, 4 + out % 2000,
						  20000) > 0);
	}
	pthread_join(other, NULL);
	print_message("slept %u times over %u records\n", slept, RECORDS);
	closed(r);
}

TEST(test_no_wake_up_is_lost)
{
	there_and_back(RECORDS);
}

TEST(test_no_wake_up_is_lost_one_by_one)
{
	there_and_back(1);
}

UNIT_MAIN("rings")
