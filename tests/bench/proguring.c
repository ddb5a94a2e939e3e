// SPDX-License-Identifier: GPL-2.0
/*
 * The least that a request of io_uring costs: one that does nothing, submitted and
 * completed in one call. A command of /dev/oae by io_uring would cost at least that.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "progbench.h"

#define ENTRIES	8

static struct {
	unsigned int *sq_tail;
	unsigned int *cq_head;
	unsigned int *cq_tail;
	unsigned int sq_mask;
	unsigned int cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

static void *map(int fd, size_t bytes, uint64_t offset)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return at;
}

void uring_open(const struct contender *c, const struct where *w, unsigned int number,
		int answering, struct end *e)
{
	struct io_uring_params p = { 0 };
	uint8_t *sq, *cq;
	unsigned int *array, i;

	if (answering)
		return;
	e->out = syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (e->out < 0)
		die("io_uring_setup: %s", strerror(errno));
	sq = map(e->out, p.sq_off.array + p.sq_entries * sizeof(*array), IORING_OFF_SQ_RING);
	cq = map(e->out, p.cq_off.cqes + p.cq_entries * sizeof(*ring.cqes), IORING_OFF_CQ_RING);
	ring.sqes = map(e->out, p.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);
	ring.cqes = (void *)(cq + p.cq_off.cqes);
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.sq_mask = p.sq_entries - 1;
	ring.cq_mask = p.cq_entries - 1;
	array = (void *)(sq + p.sq_off.array);
	for (i = 0; i < p.sq_entries; i++)
		array[i] = i;
}

void uring_nop(struct end *e)
{
	unsigned int tail = *ring.sq_tail, head = *ring.cq_head;
	struct io_uring_sqe *sqe = &ring.sqes[tail & ring.sq_mask];

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_NOP;
	sqe->user_data = ++e->done;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, e->out, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter: %s", strerror(errno));
	if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != head + 1 ||
	    ring.cqes[head & ring.cq_mask].user_data != e->done)
		die("it was not completed");
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
}
