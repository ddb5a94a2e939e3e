// SPDX-License-Identifier: GPL-2.0
/*
 * devfuzz: random callers of /dev/oae on several hosts at once, while ports,
 * cables and knobs change under them and they are killed at random.
 *
 *   devfuzz SEED SECONDS NETNS:DEV:MAC...    (MAC as 02-0a-e0-00-00-01)
 *
 * What a worker does follows from SEED, its number and how many lived before
 * it; which of two workers is first does not. Ends with all workers gone and
 * the hosts as they were, and says how many of each call were made, and how
 * many of them were no error. Exit status 0; 1 could not begin.
 */
#define _GNU_SOURCE
#include "devfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct host hosts[HOSTS];
unsigned int nhosts;

static struct tally *tally;
static int pass[2];

struct thread {
	struct worker w;
	struct dice d;
};

static void nothing(int sig)
{
	(void)sig;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	/* A thread that begins in another namespace stays in its own host's. */
	for (;;)
		call_any(&t->w, &t->d);
	return NULL;
}

/* Interrupt what blocks, again and again; each blocking call returns then. */
static void worker(uint64_t seed, unsigned int number, unsigned int life)
{
	struct itimerval often = { { 0, 7000 }, { 0, 7000 } };
	struct sigaction sa = { .sa_handler = nothing };
	static struct thread threads[THREADS];
	pthread_t id;
	int i;

	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGIO, &sa, NULL);
	sigaction(SIGPIPE, &sa, NULL);
	if (enter_host(number % nhosts))
		_exit(1);
	arena_make();
	for (i = 0; i < THREADS; i++) {
		threads[i].w = (struct worker){
			.number = number, .host = number % nhosts,
			.pass = { pass[0], pass[1] }, .tally = tally,
		};
		dice_seed(&threads[i].d, seed, number, life * THREADS + i);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 1; i < THREADS; i++)
		pthread_create(&id, NULL, run_thread, &threads[i]);
	run_thread(&threads[0]);
}

/*
 * A child that does not outlive us: not either if we were killed before it
 * could ask for that, as nobody would end what it blocks in.
 */
pid_t fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	return 0;
}

/* Whoever could not be started must not be killed: that would be everybody. */
static pid_t fork_or_end(void)
{
	pid_t pid = fork_bound();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	return pid;
}

static pid_t start(uint64_t seed, unsigned int number, unsigned int life)
{
	pid_t pid = fork_or_end();

	if (!pid) {
		worker(seed, number, life);
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Files on their way between workers would keep the module. */
static void drain_passed(void)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct cmsghdr *c;
	int fd;

	for (;;) {
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };

		if (recvmsg(pass[1], &m, MSG_DONTWAIT) < 0)
			return;
		c = CMSG_FIRSTHDR(&m);
		if (c && c->cmsg_type == SCM_RIGHTS) {
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			close(fd);
		}
	}
}

static int parse(char **words)
{
	struct host *h;
	unsigned int i;

	for (; *words && nhosts < HOSTS; words++) {
		h = &hosts[nhosts++];
		if (sscanf(*words, "%63[^:]:%15[^:]:%17s", h->netns, h->dev,
			   h->mac_text) != 3)
			return -1;
		for (i = 0; h->mac_text[i]; i++)
			if (h->mac_text[i] == '-')
				h->mac_text[i] = ':';
		if (sscanf(h->mac_text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx",
			   h->mac, h->mac + 1, h->mac + 2, h->mac + 3,
			   h->mac + 4, h->mac + 5) != 6)
			return -1;
	}
	return nhosts < 2 ? -1 : 0;
}

static void report(unsigned int killed)
{
	unsigned int i;

	printf("%u workers killed\n", killed);
	for (i = 0; i < ncalls; i++)
		printf("%-12s %8llu %8llu\n", call_name(i),
		       (unsigned long long)tally[i].done,
		       (unsigned long long)tally[i].good);
}

int main(int argc, char **argv)
{
	unsigned int i, killed = 0, life[WORKERS] = { 0 };
	pid_t pid[WORKERS], fate;
	struct dice d;
	uint64_t seed;
	double until;

	if (argc < 5 || parse(argv + 3)) {
		fprintf(stderr, "devfuzz: see the comment in devfuzz.c\n");
		return 1;
	}
	seed = strtoull(argv[1], NULL, 0);
	until = now() + atof(argv[2]);
	tally = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM, 0, pass))
		return 1;

	dice_seed(&d, seed, 2000, 0);
	fate = fork_or_end();
	if (!fate)
		chaos(seed);
	for (i = 0; i < WORKERS; i++)
		pid[i] = start(seed, i, life[i]);
	while (now() < until) {
		usleep(10000 + roll(&d, 150000));
		i = roll(&d, WORKERS);
		end(pid[i]);
		pid[i] = start(seed, i, ++life[i]);
		killed++;
	}
	end(fate);
	for (i = 0; i < WORKERS; i++)
		end(pid[i]);
	drain_passed();
	calm();
	report(killed);
	return 0;
}
