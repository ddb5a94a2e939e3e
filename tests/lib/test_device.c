// SPDX-License-Identifier: GPL-2.0
/*
 * liboae against the module, both ends in one program:
 *
 *	test_device NETNS_A MAC_A NETNS_B MAC_B
 *
 * Run in the test machine by test_dev_lib.py. Each test has a vc of
 * its own, so that none finds what another has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <oae.h>
#include "../unit/unit.h"

#define REGION	77
#define ALL	(OAE_PERM_READ | OAE_PERM_WRITE | OAE_PERM_ATOMIC)
#define LONG	10000	/* ms: something hangs */

static struct {
	const char *netns;
	unsigned char mac[OAE_PEER_LEN];
} ends[2];

static int vc;

/* Be in the namespace of an end. */
static void enter(int end)
{
	int fd = open(ends[end].netns, O_RDONLY | O_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(setns(fd, CLONE_NEWNET), 0);
	close(fd);
}

/* An end of this test's link. */
static int end_of(int end, int flags)
{
	int fd;

	enter(end);
	fd = oae_open(NULL, ends[!end].mac, vc, flags);
	if (fd < 0)
		fail_msg("oae_open: %s", oae_strerror(errno));
	return fd;
}

static int next_vc(void **state)
{
	(void)state;
	vc++;
	return 0;
}

/* Wait for something of a descriptor. */
static short wait_for(int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };

	assert_int_equal(poll(&p, 1, LONG), 1);
	return p.revents;
}

/* The next outcome, waiting for it. */
static const struct oae_outcome_rec *outcome(int fd, struct oae_outcomes *o)
{
	const struct oae_outcome_rec *rec;
	struct oae_status status;

	while (!(rec = oae_next_outcome(fd, o))) {
		assert_int_equal(errno, 0);
		if (wait_for(fd, POLLPRI | POLLRDBAND) & POLLRDBAND)
			assert_int_equal(oae_status(fd, &status), 0);
	}
	return rec;
}

#define fails(code, call) do { \
	errno = 0; \
	assert_int_equal(call, -1); \
	assert_string_equal(strerrorname_np(errno), strerrorname_np(code)); \
} while (0)

TEST_SETUP(test_messages, next_vc)
{
	int a = end_of(0, OAE_OPEN_NOW), b = end_of(1, 0);
	struct iovec iov[2] = { { (char *)"in ", 3 }, { (char *)"two", 3 } };
	char text[64];

	assert_int_equal(oae_send(a, "hello", 5), 0);
	wait_for(b, POLLIN);
	assert_int_equal(oae_done(b), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(oae_recv_size(b), 5);
	fails(EMSGSIZE, (int)oae_recv(b, text, 4));
	assert_int_equal(oae_recv(b, text, sizeof(text)), 5);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(oae_recv_size(b), 0);
	assert_int_equal(oae_sendv(b, iov, 2), 0);
	assert_int_equal(oae_recv(a, text, sizeof(text)), 6);
	assert_memory_equal(text, "in two", 6);
	assert_int_equal(oae_confirm(a), 0);
	fails(EINVAL, oae_send(a, "", 0));
	close(a);
	close(b);
}

TEST_SETUP(test_queued, next_vc)
{
	int a = end_of(0, OAE_OPEN_NONBLOCK), b = end_of(1, OAE_OPEN_NONBLOCK);
	struct oae_outcomes o = { 0 };
	const struct oae_outcome_rec *rec;
	struct oae_options options;
	unsigned int n, posted = 0, got = 0, number;

	fails(EAGAIN, (int)oae_recv(b, &number, sizeof(number)));
	assert_null(oae_next_outcome(a, &o));
	assert_int_equal(errno, 0);
	assert_int_equal(oae_get_options(a, &options), 0);
	options.queue = 50;
	assert_int_equal(oae_set_options(a, &options), 0);
	assert_int_equal(oae_get_options(a, &options), 0);
	assert_int_equal(options.queue, 50);
	/* more than the queue, and more than a batch of outcomes, holds */
	for (n = 1; n <= 200; n++) {
		while (posted < 200) {
			if (oae_queue(a, &posted, sizeof(posted))) {
				assert_int_equal(errno, EAGAIN);
				break;
			}
			posted++;
		}
		rec = outcome(a, &o);
		assert_int_equal(rec->id, n);
		assert_int_equal(rec->result, OAE_RESULT_COMMITTED);
		assert_int_equal(rec->err, 0);
		assert_int_equal(rec->kind, OAE_KIND_MESSAGE);
		assert_null(oae_outcome_half(&o, rec));
		assert_null(oae_outcome_verb(&o, rec));
		/* keep room at the other end */
		while (oae_recv(b, &number, sizeof(number)) > 0)
			assert_int_equal(number, got++);
	}
	while (got < 200) {
		wait_for(b, POLLIN);
		assert_int_equal(oae_recv(b, &number, sizeof(number)), sizeof(number));
		assert_int_equal(number, got++);
	}
	fails(EINVAL, oae_send(a, "x", 1));
	oae_outcomes_free(&o);
	close(a);
	close(b);
}

TEST_SETUP(test_listening, next_vc)
{
	struct oae_peer who;
	char text[8];
	int listener, a, b;

	enter(1);
	listener = oae_listen(NULL, NULL, -1, OAE_OPEN_NONBLOCK);
	assert_int_not_equal(listener, -1);
	/* those of the tests before me */
	while (!oae_next_peer(listener, &who))
		;
	assert_int_equal(errno, EAGAIN);
	fails(EDESTADDRREQ, oae_queue(listener, "x", 1));

	a = end_of(0, OAE_OPEN_NOW);
	wait_for(listener, POLLIN);
	enter(1);
	b = oae_accept(listener, &who, OAE_OPEN_EXPRESS);
	assert_int_not_equal(b, -1);
	assert_int_equal(who.vc, vc);
	assert_memory_equal(who.peer, ends[0].mac, OAE_PEER_LEN);
	assert_int_equal(oae_send(b, "from b", 6), 0);
	assert_int_equal(oae_recv(a, text, sizeof(text)), 6);
	fails(EAGAIN, oae_next_peer(listener, &who));
	close(a);
	close(b);
	close(listener);

	fails(ENODEV, oae_open("none", ends[0].mac, 0, 0));
}

struct swap {
	int fd;
	ssize_t got;
	int err;
	char take[100];
};

static void *swap(void *arg)
{
	struct swap *s = arg;

	s->got = oae_swap(s->fd, "half of a", 9, s->take, sizeof(s->take));
	s->err = errno;
	return NULL;
}

TEST_SETUP(test_swaps, next_vc)
{
	int b = end_of(1, 0);
	struct swap s = { .fd = end_of(0, OAE_OPEN_NOW) };
	const struct oae_outcome_rec *rec;
	struct oae_outcomes o = { 0 };
	struct oae_options options;
	struct oae_waits waits;
	struct oae_status status;
	char *half, small[4];
	pthread_t thread;
	uint64_t id;

	assert_int_equal(pthread_create(&thread, NULL, swap, &s), 0);
	assert_int_equal(oae_queue_swap(b, "b's", 3, &id), 0);
	assert_int_equal(id, 1);
	pthread_join(thread, NULL);
	assert_int_equal(s.got, 3);
	assert_memory_equal(s.take, "b's", 3);
	rec = outcome(b, &o);
	assert_int_equal(rec->id, 1);
	assert_int_equal(rec->kind, OAE_KIND_SWAP);
	assert_int_equal(rec->len, 9);
	assert_memory_equal(oae_outcome_half(&o, rec), "half of a", 9);
	assert_null(oae_outcome_verb(&o, rec));

	/* larger than the first buffer of a batch: the cable is made for it */
	assert_int_equal(oae_status(b, &status), 0);
	assert_true(status.max_half > 5000);
	half = calloc(1, status.max_half);
	assert_non_null(half);
	memset(half, 'x', status.max_half);
	assert_int_equal(oae_queue_swap(b, "y", 1, NULL), 0);
	assert_int_equal(oae_swap(s.fd, half, status.max_half, s.take, sizeof(s.take)), 1);
	rec = outcome(b, &o);
	assert_int_equal(rec->len, status.max_half);
	assert_memory_equal(oae_outcome_half(&o, rec), half, status.max_half);
	fails(EMSGSIZE, (int)oae_swap(s.fd, half, (size_t)UINT32_MAX + 2, small, 1));

	/* no room for it: swapped all the same, and collected */
	assert_int_equal(oae_queue_swap(b, "too long", 8, NULL), 0);
	fails(EOVERFLOW, (int)oae_swap(s.fd, "z", 1, small, sizeof(small)));
	assert_int_equal(oae_outcome(EOVERFLOW), OAE_COMMITTED);
	outcome(b, &o);
	oae_outcomes_free(&o);
	rec = outcome(s.fd, &o);
	assert_int_equal(rec->result, OAE_RESULT_COMMITTED);
	assert_memory_equal(oae_outcome_half(&o, rec), "too long", 8);

	/* without a partner: back, by cancel and by deadline */
	assert_int_equal(oae_queue_swap(s.fd, "z", 1, &id), 0);
	assert_int_equal(oae_cancel(s.fd, id), 0);
	rec = outcome(s.fd, &o);
	assert_int_equal(rec->id, id);
	assert_int_equal(rec->result, OAE_RESULT_REVERSED);
	assert_int_equal(rec->err, ECANCELED);
	assert_null(oae_outcome_half(&o, rec));
	fails(ENOENT, oae_cancel(s.fd, id));
	assert_int_equal(oae_get_options(s.fd, &options), 0);
	options.deadline_ms = 50;
	assert_int_equal(oae_set_options(s.fd, &options), 0);
	fails(ETIME, (int)oae_swap(s.fd, "z", 1, small, sizeof(small)));
	/* and what it waited for, which is over */
	assert_int_equal(oae_waits(s.fd, OAE_WAITS_LAST, &waits), 0);
	assert_int_equal(waits.why, OAE_WAITS_HALF);
	assert_true(waits.since_ns > 0 && waits.since_ns < 1000000000ULL * 60);
	assert_memory_equal(waits.text, "no half there since ", 20);
	assert_int_equal(oae_waits(s.fd, 0, &waits), 0);
	assert_string_equal(waits.text, "nothing");
	fails(EINVAL, oae_waits(s.fd, 2, &waits));
	oae_outcomes_free(&o);
	free(half);
	close(s.fd);
	close(b);
}

TEST_SETUP(test_words, next_vc)
{
	uint64_t was[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, now[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	int a = end_of(0, OAE_OPEN_NOW), b = end_of(1, 0);
	const struct oae_outcome_rec *rec;
	const struct oae_verb_result *result;
	struct oae_outcomes o = { 0 };
	struct oae_verb_op ops[3];
	uint64_t old[8], id;
	unsigned int failed;
	uint64_t *words;

	fails(ENXIO, oae_read64(a, REGION, 0, old));
	assert_int_equal(oae_expose(b, REGION, 4096, ALL), 0);
	fails(EEXIST, oae_expose(b, REGION + 1, 4096, ALL));
	words = oae_map(b, 4096);
	assert_non_null(words);

	assert_int_equal(oae_write64(a, REGION, 8, 5), 0);
	assert_true(__atomic_load_n(&words[1], __ATOMIC_RELAXED) == 5);
	assert_int_equal(oae_exchange(a, REGION, 8, 7, old), 0);
	assert_true(old[0] == 5);
	assert_int_equal(oae_fetch_add(a, REGION, 8, (uint64_t)-1, old), 0);
	assert_true(old[0] == 7);
	assert_int_equal(oae_read64(a, REGION, 8, old), 0);
	assert_true(old[0] == 6);
	assert_int_equal(oae_cas(a, REGION, 8, 5, 9, old), 0);
	assert_true(old[0] == 6);
	assert_int_equal(oae_cas(a, REGION, 8, 6, 9, NULL), 1);
	assert_true(__atomic_load_n(&words[1], __ATOMIC_RELAXED) == 9);

	/* all 8 or none */
	ops[0] = oae_op_write(64, was, 8);
	assert_int_equal(oae_local(b, ops, 1, NULL), 1);
	was[7] = 0;
	assert_int_equal(oae_compare_and_commit(a, REGION, 64, was, now, 8, was), 0);
	assert_true(was[7] == 8);
	assert_int_equal(oae_compare_and_commit(a, REGION, 64, was, now, 8, old), 1);
	assert_memory_equal(old, was, sizeof(was));
	assert_memory_equal(words + 8, now, sizeof(now));

	/* several operations: none of them if one comparison does not hold */
	ops[0] = oae_op_fetch_add(0, 3);
	ops[1] = oae_op_cas(64, was, now, 1);
	ops[2] = oae_op_read(72, 2);
	failed = 77;
	assert_int_equal(oae_verb(a, REGION, ops, 3, &failed), 0);
	assert_int_equal(failed, 1);
	assert_true(words[0] == 0 && ops[1].old[0] == 9 && ops[2].old[0] == 0);
	ops[1] = oae_op_cas(64, now, was, 1);
	assert_int_equal(oae_verb(a, REGION, ops, 3, NULL), 1);
	assert_true(words[0] == 3 && words[8] == 1 && ops[2].old[1] == 9);

	/* the same without waiting */
	assert_int_equal(oae_queue_verb(a, REGION, ops, 3, &id), 0);
	rec = outcome(a, &o);
	assert_int_equal(rec->id, id);
	assert_int_equal(rec->kind, OAE_KIND_VERB);
	result = oae_outcome_verb(&o, rec);
	assert_non_null(result);
	assert_null(oae_outcome_half(&o, rec));
	assert_int_equal(result->taken, 0);
	assert_int_equal(result->failed, 1);
	assert_int_equal(result->nwords, 4);
	assert_true(result->old[0] == 3 && result->old[1] == 1 && result->old[2] == 0);

	fails(ERANGE, oae_read64(a, REGION, 4096, old));
	fails(EINVAL, oae_read64(a, REGION, 4, old));
	ops[0] = oae_op_read(0, 9);
	fails(EINVAL, oae_verb(a, REGION, ops, 1, NULL));
	fails(ENXIO, oae_read64(a, REGION + 1, 0, old));
	oae_outcomes_free(&o);
	assert_int_equal(oae_unmap(words, 4096), 0);
	close(b);
	fails(ENXIO, oae_read64(a, REGION, 0, old));
	close(a);
}

TEST_SETUP(test_permissions, next_vc)
{
	int a = end_of(0, OAE_OPEN_NOW), b = end_of(1, 0);
	uint64_t old;

	assert_int_equal(oae_expose(b, REGION, 8, OAE_PERM_READ), 0);
	assert_int_equal(oae_read64(a, REGION, 0, &old), 0);
	fails(EACCES, oae_write64(a, REGION, 0, 1));
	fails(EACCES, oae_fetch_add(a, REGION, 0, 1, NULL));
	assert_int_equal(oae_read64(a, REGION, 0, &old), 0);
	assert_true(old == 0);
	close(a);
	close(b);
}

TEST_SETUP(test_status, next_vc)
{
	int a = end_of(0, OAE_OPEN_NOW), b = end_of(1, OAE_OPEN_EXPRESS);
	struct oae_options options;
	struct oae_status status;
	uint32_t events = 0;

	while (!(events & OAE_EVENT_UP)) {
		wait_for(a, POLLRDBAND);
		assert_int_equal(oae_status(a, &status), 0);
		events |= status.events;
	}
	assert_string_equal(oae_state_name(status.state), "open");
	assert_memory_equal(status.peer, ends[1].mac, OAE_PEER_LEN);
	assert_int_equal(status.vc, vc);
	assert_int_equal(oae_get_options(b, &options), 0);
	assert_int_equal(options.flags, OAE_OPT_EXPRESS);
	assert_int_equal(oae_send(b, "x", 1), 0);
	assert_int_equal(oae_status(b, &status), 0);
	assert_true(status.committed == 1 && status.next_id == 2);
	wait_for(a, POLLIN);
	assert_int_equal(oae_status(a, &status), 0);
	assert_int_equal(status.events, 0);
	assert_int_equal(status.unread, 1);
	options.flags = 0x80;
	fails(EINVAL, oae_set_options(b, &options));
	close(a);
	close(b);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static unsigned long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* A signal every 20 ms; @flags 0: it is to end what waits. */
static void alarms(int flags, unsigned int ms)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval every = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	assert_int_equal(sigaction(SIGALRM, ms ? &sa : &(struct sigaction){ 0 }, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

/* A deadline is a moment, however many signals come before. */
TEST_SETUP(test_moment, next_vc)
{
	int a = end_of(0, OAE_OPEN_NOW), b = end_of(1, 0);
	struct oae_options options;
	unsigned long long begin;
	char take[8];

	assert_int_equal(oae_get_options(a, &options), 0);
	options.deadline_ms = 300;
	assert_int_equal(oae_set_options(a, &options), 0);
	alarms(SA_RESTART, 20);
	begin = now_ms();
	fails(ETIME, (int)oae_swap(a, "mine", 4, take, sizeof(take)));
	assert_in_range(now_ms() - begin, 300, LONG);
	assert_int_equal(oae_get_options(a, &options), 0);
	assert_int_equal(options.deadline_ms, 300);
	alarms(0, 20);
	fails(EINTR, (int)oae_swap(a, "mine", 4, take, sizeof(take)));
	alarms(0, 0);
	close(a);
	close(b);
}

/* Records each way around the rings, which are small; the descriptor stays the caller's. */
TEST_SETUP(test_rings, next_vc)
{
	int fd[2] = { end_of(0, 0), end_of(1, 0) };
	struct oae_rings *r[2];
	struct oae_ring_position p;
	uint32_t *room, out = 0, back = 0;
	struct oae_chunk chunk;
	const uint32_t *data;
	char byte;

	for (int i = 0; i < 2; i++) {
		r[i] = oae_ring_open(fd[i], 1 << 16, 1 << 18);
		assert_non_null(r[i]);
		assert_int_not_equal(oae_ring_link(r[i]), 0);
	}
	assert_null(oae_ring_open(fd[0], 1 << 16, 1 << 18));
	assert_int_equal(errno, EEXIST);
	fails(EBUSY, (int)oae_recv(fd[0], &byte, 1));
	fails(EBADF, (int)oae_ring_add(r[0], -1) - 1);

	while (back < 2000) {
		while (out < 2000 && (room = oae_ring_reserve(r[0], 300))) {
			*room = out++;
			assert_int_equal(oae_ring_stage(r[0], oae_ring_link(r[0]), 300, 0), 0);
		}
		assert_int_equal(oae_ring_flush(r[0]), 0);
		/* the other end sends what it got where it came from */
		while ((data = oae_ring_next(r[1], &chunk)) &&
		       !oae_ring_forward(r[1], chunk.link, data, chunk.len, 0))
			;
		assert_int_equal(oae_ring_flush(r[1]), 0);
		assert_int_equal(oae_ring_done(r[1]), 0);
		for (int i = 0; i < 2; i++)
			while (oae_ring_ended(r[i], &chunk))
				assert_int_equal(chunk.result, OAE_RESULT_COMMITTED);
		while ((data = oae_ring_next(r[0], &chunk))) {
			assert_int_equal(chunk.len, 300);
			assert_int_equal(*data, back++);
			assert_int_equal(chunk.number, back);
		}
		assert_int_equal(oae_ring_done(r[0]), 0);
		if (back < 2000)
			assert_int_not_equal(oae_ring_wait(r[1], OAE_RING_DATA, 0, 10), -1);
	}
	assert_int_equal(oae_ring_wait(r[0], OAE_RING_DATA, 0, 10), 0);
	oae_ring_position(r[0], &p);
	assert_true(p.published == 2000 * 320 && p.passed == p.published && p.taken == p.published);
	for (int i = 0; i < 2; i++) {
		oae_ring_close(r[i]);
		close(fd[i]);
	}
}

int main(int argc, char **argv)
{
	if (argc < 5 || oae_parse_peer(argv[2], ends[0].mac) ||
	    oae_parse_peer(argv[4], ends[1].mac)) {
		fprintf(stderr, "usage: test_device NETNS_A MAC_A NETNS_B MAC_B [PATTERN]\n");
		return 2;
	}
	ends[0].netns = argv[1];
	ends[1].netns = argv[3];
	if (argc > 5)
		cmocka_set_test_filter(argv[5]);
	return UNIT_RUN("the library on devices");
}
