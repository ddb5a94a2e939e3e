// SPDX-License-Identifier: GPL-2.0
/*
 * devuring: io_uring on two files of /dev/oae, the ends of one link.
 *
 *   devuring FD FD
 *
 * Without liburing: three system calls and two rings. Says what failed; exit
 * status 0 if nothing did.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES	64

static int ring;
static unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static unsigned int queued;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "devuring: %s\n", what);
	exit(1);
}

static void setup(void)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	ring = syscall(SYS_io_uring_setup, ENTRIES, &p);
	check(ring >= 0, "io_uring_setup");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*cqes),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
		  IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	check(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED, "mmap");
	sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	sq_mask = (unsigned int *)(sq + p.sq_off.ring_mask);
	sq_array = (unsigned int *)(sq + p.sq_off.array);
	cq_head = (unsigned int *)(cq + p.cq_off.head);
	cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	cq_mask = (unsigned int *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static struct io_uring_sqe *add(int op, int fd, const void *buf, size_t len,
				unsigned long tag)
{
	unsigned int at = *sq_tail & *sq_mask;
	struct io_uring_sqe *sqe = &sqes[at];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->addr = (unsigned long)buf;
	sqe->len = len;
	if (op == IORING_OP_READ || op == IORING_OP_WRITE)
		sqe->off = -1;
	sqe->user_data = tag;
	sq_array[at] = at;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	queued++;
	return sqe;
}

static void submit(void)
{
	int n = syscall(SYS_io_uring_enter, ring, queued, 0, 0, NULL, 0);

	check(n == (int)queued, "io_uring_enter");
	queued = 0;
}

/* The next that is complete: its result, and whose it is. */
static int next(unsigned long *tag)
{
	struct pollfd p = { .fd = ring, .events = POLLIN };
	unsigned int head = *cq_head;
	int result;

	submit();
	while (head == __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE))
		check(poll(&p, 1, 10000) == 1, "nothing completes within 10 s");
	*tag = cqes[head & *cq_mask].user_data;
	result = cqes[head & *cq_mask].res;
	__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

static int is_next(unsigned long wanted)
{
	unsigned long tag;
	int result = next(&tag);

	if (tag == wanted)
		return result;
	fprintf(stderr, "devuring: %lu completes, with %d, instead of %lu\n",
		tag, result, wanted);
	exit(1);
}

static void read_then_write(int a, int b)
{
	char buf[100] = "";
	unsigned long tag, other;
	int one, two;

	add(IORING_OP_READ, b, buf, sizeof(buf), 1);
	submit();
	add(IORING_OP_WRITE, a, "through a ring", 14, 2);
	one = next(&tag);
	two = next(&other);
	check(tag + other == 3 && one == 14 && two == 14, "read and write");
	check(!memcmp(buf, "through a ring", 14), "what was read");
}

static void polled(int a, int b)
{
	char buf[100];
	int mask;

	add(IORING_OP_POLL_ADD, b, NULL, 0, 1)->poll32_events = POLLIN;
	submit();
	check(write(a, "wake", 4) == 4, "write");
	mask = is_next(1);
	if (mask < 0 || !(mask & POLLIN))
		fprintf(stderr, "%d: ", mask);
	check(mask > 0 && mask & POLLIN, "poll");
	add(IORING_OP_READ, b, buf, sizeof(buf), 2);
	check(is_next(2) == 4, "read after poll");
}

static void too_small(int a, int b)
{
	char buf[100];

	check(write(a, "ten bytes.", 10) == 10, "write");
	add(IORING_OP_POLL_ADD, b, NULL, 0, 1)->poll32_events = POLLIN;
	is_next(1);
	add(IORING_OP_READ, b, buf, 9, 2);
	check(is_next(2) == -EMSGSIZE, "too small a buffer");
	add(IORING_OP_READ, b, buf, 10, 3);
	check(is_next(3) == 10, "it is there all the same");
}

/*
 * Asked again for as long as the ring cannot find it, which is so while it goes
 * from waiting in poll to a worker.
 */
static void taken_back(int b)
{
	int result, ended = 0, told = 0;
	char buf[100] = "";
	unsigned long tag;

	add(IORING_OP_READ, b, buf, sizeof(buf), 1);
	submit();
	add(IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 2);
	while (!ended || !told) {
		result = next(&tag);
		if (tag == 1) {
			check(result == -ECANCELED || result == -EINTR,
			      "a read that is taken back");
			ended = 1;
		} else if (result == -ENOENT && !ended) {
			add(IORING_OP_ASYNC_CANCEL, -1, (void *)1, 0, 2);
		} else {
			check(result == 0 || result == -EALREADY ||
			      result == -ENOENT, "taking it back");
			told = 1;
		}
	}
}

static void chained(int a, int b)
{
	char buf[100];
	int n;

	for (n = 0; n < 8; n++)
		add(IORING_OP_WRITE, a, &"abcdefgh"[n], 1, n)->flags = IOSQE_IO_LINK;
	add(IORING_OP_FSYNC, a, NULL, 0, 8);
	for (n = 0; n < 9; n++)
		check(is_next(n) == (n < 8), "a chain of writes and fsync");
	for (n = 0; n < 8; n++)
		check(read(b, buf, 100) == 1 && *buf == "abcdefgh"[n],
		      "what the chain wrote");
}

int main(int argc, char **argv)
{
	int a, b;

	check(argc == 3, "see the comment in devuring.c");
	a = atoi(argv[1]);
	b = atoi(argv[2]);
	setup();
	read_then_write(a, b);
	polled(a, b);
	too_small(a, b);
	taken_back(b);
	chained(a, b);
	read_then_write(b, a);
	return 0;
}
