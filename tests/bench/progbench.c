// SPDX-License-Identifier: GPL-2.0
/*
 * Two programs that talk, as many ways as there are contenders.
 *
 *   progbench -d DEV -p MAC [-a HERE -b THERE] [-t NETNS] [-R RDMA] [-c CPU]
 *	answer NAME...
 *	the end that answers: a process a contender, until it is killed.
 *	Says "ready" when all can be asked
 *   progbench ... [-r ROUNDS] [-n TRIPS] ask NAME...
 *	the end that measures: in each round TRIPS trips of one contender after
 *	the other, so that whatever the machine is up to hits all alike
 *   progbench ... rate SECONDS LINKS OPERATIONS QUEUE [poll]
 *	see prograte.c
 *   progbench ... beat NAME FILE
 *	the end that asks one contender without end; when each trip was over is
 *	in FILE, see progbeat.c
 *   progbench ... count NAME...
 *	the end that asks; ROUNDS times TRIPS trips of one contender after the
 *	other, see progcount.c. Prints "count NAME NS IDLE" for each round: how
 *	long a trip took, and for how much of that the processor was idle
 *   progbench ... take WAY NUMBER [FILE]
 *   progbench ... stream WAY NUMBER WARM SECONDS BYTES QUEUE
 *	see progstream.c
 *
 * Prints "round NUMBER NAME P10 P50 P90" for each round and contender: the
 * percentiles of its trips, ns. progreport.py reads it.
 *
 * All contenders are asked in the same way: a blocking write of 64 bytes and a
 * blocking read, of descriptors that are connected.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progbench.h"

#define PATIENCE	60	/* seconds for one contender's turn */
#define MOST		32	/* contenders at once */

static void ping(struct end *e);
static void pong(struct end *e);
static void send_one(struct end *e);
static void take_one(struct end *e);

static const struct contender contenders[] = {
	{ "send-atomic", dev_open, NULL, send_one, take_one },
	{ "send-express", dev_open, NULL, send_one, take_one, OAE_OPT_EXPRESS },
	{ "oae-atomic", dev_open, NULL, ping, pong },
	{ "oae-express", dev_open, NULL, ping, pong, OAE_OPT_EXPRESS },
	{ "oae-atomic-queued", dev_open_queued, NULL, queued_ask,
	  queued_answer },
	{ "oae-express-queued", dev_open_queued, NULL, queued_ask,
	  queued_answer, OAE_OPT_EXPRESS },
	{ "tipc", tipc_open, sock_accept, ping, pong },
	{ "tipc-cable", tipc_cable_open, sock_accept, ping, pong },
	{ "udp", udp_open, NULL, ping, pong },
	{ "tcp", tcp_open, tcp_accept, ping, pong },
	{ "swap", dev_open, NULL, swap_half, swap_half },
	{ "add-1", dev_open_verb, NULL, verb_ask, NULL, 0, 1 },
	{ "add-8", dev_open_verb, NULL, verb_ask, NULL, 0, 8 },
	{ "add-32", dev_open_verb, NULL, verb_ask, NULL, 0, 32 },
	{ "add-64", dev_open_verb, NULL, verb_ask, NULL, 0, 64 },
	{ "add-1-polled", dev_open_polled, NULL, verb_ask_polled, NULL, 0, 1 },
	{ "words", words_open },	/* answers to `rate` */
	{ "unix", unix_open, sock_accept, ping, pong },
	{ "rxe", rdma_open, rdma_accept, rdma_ask, rdma_answer },
	{ "send-rxe", rdma_open, rdma_accept, rdma_send, rdma_take },
	{ "add-rxe", rdma_open, rdma_accept, rdma_fetch_add },
	{ "bulk-atomic", dev_open, NULL, bulk_ask, bulk_answer },
	{ "bulk-express", dev_open, NULL, bulk_ask, bulk_answer,
	  OAE_OPT_EXPRESS },
	{ "bulk-tipc-cable", tipc_cable_open, sock_accept, bulk_ask,
	  bulk_answer },
	{ "bulk-tcp", tcp_open, tcp_accept, bulk_ask, bulk_answer },
	{ "bulk-unix", unix_open, sock_accept, bulk_ask, bulk_answer },
	{ "ring", ring_open, NULL, ring_ask, ring_answer },
	{ "ring-express", ring_open, NULL, ring_ask, ring_answer, OAE_OPT_EXPRESS },
	{ "doorbell", ring_open, NULL, ring_bell, NULL },
	{ "no-call", ring_open, NULL, ring_no_call, NULL },
	{ "uring-nop", uring_open, NULL, uring_nop, NULL },
	{ "burst-ring", ring_open, NULL, ring_burst, ring_take },
	{ "burst-write", write_open, NULL, write_burst, take_one },
	{ "burst-send", dev_open, NULL, send_burst, take_one },
	{ "burst-tipc-cable", tipc_cable_open, sock_accept, sock_burst, sock_take_burst },
	{ "burst-udp", udp_open, NULL, sock_burst, sock_take_burst },
	{ "bulk-rxe", rdma_open, rdma_accept, rdma_bulk_ask, rdma_answer,
	  .bytes = BULK },
};

static const char *at_work = "progbench";
static int answers;		/* this is the end that answers */

void die(const char *what, ...)
{
	va_list args;

	va_start(args, what);
	fprintf(stderr, "%s: ", at_work);
	vfprintf(stderr, what, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

void all_read(int fd, void *buf)
{
	ssize_t n = read(fd, buf, BYTES);

	/* Whoever asked has gone. */
	if (answers && (!n || (n < 0 && errno == ECONNRESET)))
		exit(0);
	if (n != BYTES)
		die("read %zd bytes: %s", n, n < 0 ? strerror(errno) : "short");
}

void all_write(int fd, const void *buf)
{
	ssize_t n = write(fd, buf, BYTES);

	if (n != BYTES)
		die("wrote %zd bytes: %s", n,
		    n < 0 ? strerror(errno) : "short");
}

static void send_one(struct end *e)
{
	memcpy(e->buf, &e->done, sizeof(e->done));
	all_write(e->out, e->buf);
	e->done++;
}

static void take_one(struct end *e)
{
	uint64_t number;

	all_read(e->in, e->buf);
	memcpy(&number, e->buf, sizeof(number));
	if (number != e->done++)
		die("message %llu came in the place of %llu",
		    (unsigned long long)number,
		    (unsigned long long)e->done - 1);
}

static void ping(struct end *e)
{
	uint8_t back[BYTES];

	send_one(e);
	all_read(e->in, back);
	if (memcmp(back, e->buf, BYTES))
		die("another message came back than went out");
}

static void pong(struct end *e)
{
	all_read(e->in, e->buf);
	all_write(e->out, e->buf);
}

static unsigned int find(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(contenders) / sizeof(*contenders); i++)
		if (!strcmp(name, contenders[i].name))
			return i;
	die("no such contender: %s", name);
}

static void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("processor %d: %s", cpu, strerror(errno));
}

/* One contender's answering end; says on @ready that it can be asked. */
__attribute__((noreturn))
static void answer_one(const struct where *w, unsigned int number, int ready)
{
	const struct contender *c = &contenders[number];
	struct end e = {};

	at_work = c->name;
	answers = 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	c->open(c, w, number, 1, &e);
	if (write(ready, "", 1) != 1)
		die("nobody waits");
	if (c->accept)
		c->accept(&e);
	while (c->answer)
		c->answer(&e);
	for (;;)
		pause();
}

static int answer(const struct where *w, char **names)
{
	int ready[2], status;
	unsigned int n, i;
	char byte;

	if (pipe(ready))
		die("pipe: %s", strerror(errno));
	for (n = 0; names[n]; n++) {
		unsigned int number = find(names[n]);

		switch (fork()) {
		case -1:
			die("fork: %s", strerror(errno));
		case 0:
			answer_one(w, number, ready[1]);
		}
	}
	close(ready[1]);
	for (i = 0; i < n; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("an answering end failed");
	puts("ready");
	fflush(stdout);
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return *(uint32_t *)a < *(uint32_t *)b ? -1 :
	       *(uint32_t *)a > *(uint32_t *)b;
}

static uint32_t percentile(uint32_t *sorted, unsigned int n, unsigned int p)
{
	return sorted[(uint64_t)(n - 1) * p / 100];
}

static void too_long(int number)
{
	static const char text[] = "progbench: no answer for a minute\n";

	if (write(2, text, sizeof(text) - 1))
		_exit(1);
	_exit(1);
}

/* A turn of one contender: its times, in order of size. */
static void turn(const struct contender *c, struct end *e, uint32_t *ns,
		 unsigned int trips)
{
	uint64_t before, after;
	unsigned int i;

	at_work = c->name;
	alarm(PATIENCE);
	before = now_ns();
	for (i = 0; i < trips; i++) {
		c->ask(e);
		after = now_ns();
		ns[i] = after - before;
		before = after;
	}
	alarm(0);
	qsort(ns, trips, sizeof(*ns), compare);
}

static int ask(const struct where *w, char **names, unsigned int rounds,
	       unsigned int trips)
{
	uint32_t *ns = calloc(trips, sizeof(*ns));
	const struct contender *list[MOST];
	struct end ends[MOST] = {};
	unsigned int n, i, round;

	if (!ns)
		die("no memory");
	signal(SIGALRM, too_long);
	for (n = 0; names[n]; n++) {
		unsigned int number = find(names[n]);

		if (n == MOST)
			die("too many contenders");
		list[n] = &contenders[number];
		if (!list[n]->ask)
			die("%s only answers", names[n]);
		at_work = list[n]->name;
		alarm(PATIENCE);
		list[n]->open(list[n], w, number, 0, &ends[n]);
	}
	/* The first round only warms up. */
	for (round = 0; round <= rounds; round++)
		for (i = 0; i < n; i++) {
			turn(list[i], &ends[i], ns, trips);
			if (round)
				printf("round %u %s %u %u %u\n", round,
				       list[i]->name, percentile(ns, trips, 10),
				       percentile(ns, trips, 50),
				       percentile(ns, trips, 90));
		}
	return 0;
}

static int count_all(const struct where *w, char **names, unsigned int rounds,
		     unsigned int trips)
{
	signal(SIGALRM, too_long);
	for (; *names; names++) {
		unsigned int number = find(*names);
		const struct contender *c = &contenders[number];
		struct end e = {};

		if (!c->ask)
			die("%s only answers", *names);
		at_work = c->name;
		alarm(PATIENCE);
		c->open(c, w, number, 0, &e);
		count(c, &e, rounds, trips);
	}
	return 0;
}

__attribute__((noreturn))
static void beat(const struct where *w, const char *name, const char *path)
{
	unsigned int number = find(name);
	const struct contender *c = &contenders[number];
	struct beats *beats = beats_open(path);
	struct end e = {};

	if (!c->ask)
		die("%s only answers", name);
	at_work = name;
	c->open(c, w, number, 0, &e);
	for (;;) {
		c->ask(&e);
		beats_add(beats);
	}
}

static void set_peer(struct where *w, const char *text)
{
	unsigned int b[6], i;

	if (sscanf(text, "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4],
		   &b[5]) != 6)
		die("no MAC address: %s", text);
	for (i = 0; i < 6; i++)
		w->peer[i] = b[i];
}

int main(int argc, char **argv)
{
	unsigned int rounds = 15, trips = 200;
	struct where w = { .dev = "" };
	int option;

	while ((option = getopt(argc, argv, "+d:p:a:b:t:R:c:r:n:")) != -1) {
		switch (option) {
		case 'd':
			w.dev = optarg;
			break;
		case 'p':
			set_peer(&w, optarg);
			break;
		case 'a':
			w.here = optarg;
			break;
		case 'b':
			w.there = optarg;
			break;
		case 't':
			w.tipc_netns = optarg;
			break;
		case 'R':
			w.rdma = optarg;
			break;
		case 'c':
			pin(atoi(optarg));
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'n':
			trips = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	argv += optind;
	if (!rounds || !trips || !argv[0] || !argv[1])
		die("see the top of progbench.c");
	if (!strcmp(argv[0], "answer"))
		return answer(&w, argv + 1);
	if (!strcmp(argv[0], "ask"))
		return ask(&w, argv + 1, rounds, trips);
	if (!strcmp(argv[0], "count"))
		return count_all(&w, argv + 1, rounds, trips);
	if (!strcmp(argv[0], "beat") && argv[2])
		beat(&w, argv[1], argv[2]);
	if (!strcmp(argv[0], "rate"))
		return rate_main(&w, argv + 1);
	if (!strcmp(argv[0], "take"))
		return take_main(&w, argv + 1);
	if (!strcmp(argv[0], "stream"))
		return stream_main(&w, argv + 1);
	die("answer, ask, count, beat, rate, take or stream, not %s", argv[0]);
}
