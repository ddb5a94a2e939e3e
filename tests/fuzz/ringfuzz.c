// SPDX-License-Identifier: GPL-2.0
/*
 * ringfuzz: hostile programs with rings of /dev/oae, killed at random, beside a ring and
 * files that mean well: those must not notice.
 *
 *   ringfuzz SEED SECONDS NETNS:DEV:MAC NETNS:DEV:MAC	(MAC as 02-0a-e0-00-00-01)
 *
 * What a hostile program does follows from SEED, its number and how many lived before it.
 * Prints how often each thing was done, and how often it was no error. Exit status 0; 1
 * could not begin; 2 something was seen that must not be.
 */
#define _GNU_SOURCE
#include "ringfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../include/uapi/oae.h"

#define END_SECONDS	30	/* of the watchers, once told */

struct host hosts[HOSTS];
unsigned int nhosts;
struct board *board;

void breach(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "breach: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	__atomic_store_n(&board->breach, 1, __ATOMIC_RELAXED);
}

/* Attach a file of a host to the link with the other host. */
int attach_to(int fd, unsigned int host, unsigned int vc)
{
	struct oae_attach a = { .vc = vc };

	memcpy(a.peer, hosts[!host].mac, 6);
	strcpy(a.port, hosts[host].dev);
	return ioctl(fd, OAE_ATTACH, &a);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static pid_t start(void (*run)(uint64_t, unsigned int, unsigned int), uint64_t seed,
		   unsigned int number, unsigned int life)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		run(seed, number, life);
	_exit(0);
}

static int end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void run_watcher(uint64_t seed, unsigned int number, unsigned int life)
{
	(void)seed;
	(void)life;
	watch(number);
}

static void run_feeder(uint64_t seed, unsigned int number, unsigned int life)
{
	(void)seed;
	(void)life;
	feed(VC_HOSTILE + number);
}

/* Have the watchers end. Those that do not, or badly: a breach. */
static void end_watchers(const pid_t *pid)
{
	double until = now() + END_SECONDS;
	unsigned int i, left = WATCHERS;
	int done[WATCHERS] = { 0 }, status;

	__atomic_store_n(&board->stop, 1, __ATOMIC_SEQ_CST);
	while (left && now() < until) {
		for (i = 0; i < WATCHERS; i++) {
			if (done[i] || waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			done[i] = 1;
			left--;
			if (status)
				breach("watcher %u ends with %#x", i, status);
		}
		usleep(1000);
	}
	for (i = 0; i < WATCHERS; i++) {
		if (done[i])
			continue;
		breach("watcher %u does not end: %llu sent, %llu seen", i,
		       (unsigned long long)board->sent[i], (unsigned long long)board->seen[i]);
		end(pid[i]);
	}
}

static void report(unsigned int killed, unsigned int crashed)
{
	unsigned long long done = 0;
	unsigned int i;

	for (i = 0; i < nthings; i++)
		done += board->tally[i].done;
	printf("%u programs killed, %u ended by themselves, %llu things done\n", killed, crashed,
	       done);
	for (i = 0; i < WATCHERS; i++)
		printf("watcher-%u %llu %llu\n", i, (unsigned long long)board->sent[i],
		       (unsigned long long)board->seen[i]);
	printf("outcomes %llu %llu\n", (unsigned long long)board->outcomes,
	       (unsigned long long)board->outcomes);
	for (i = 0; i < nthings; i++)
		printf("%-12s %8llu %8llu\n", thing_name(i),
		       (unsigned long long)board->tally[i].done,
		       (unsigned long long)board->tally[i].good);
}

static int parse(char **words)
{
	struct host *h;
	unsigned int i;

	for (; *words && nhosts < 2; words++) {
		h = &hosts[nhosts++];
		if (sscanf(*words, "%63[^:]:%15[^:]:%17s", h->netns, h->dev, h->mac_text) != 3)
			return -1;
		for (i = 0; h->mac_text[i]; i++)
			if (h->mac_text[i] == '-')
				h->mac_text[i] = ':';
		if (sscanf(h->mac_text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", h->mac, h->mac + 1,
			   h->mac + 2, h->mac + 3, h->mac + 4, h->mac + 5) != 6)
			return -1;
	}
	return nhosts == 2 ? 0 : -1;
}

int main(int argc, char **argv)
{
	unsigned int i, killed = 0, crashed = 0, life[HOSTILES] = { 0 };
	pid_t watcher[WATCHERS], feeder[HOSTILE_VCS], pid[HOSTILES];
	struct dice d;
	uint64_t seed;
	double until;

	if (argc != 5 || parse(argv + 3)) {
		fprintf(stderr, "ringfuzz: see the comment in ringfuzz.c\n");
		return 1;
	}
	seed = strtoull(argv[1], NULL, 0);
	until = now() + atof(argv[2]);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (board == MAP_FAILED)
		return 1;
	dice_seed(&d, seed, 2000, 0);
	for (i = 0; i < WATCHERS; i++)
		watcher[i] = start(run_watcher, seed, i, 0);
	for (i = 0; i < HOSTILE_VCS; i++)
		feeder[i] = start(run_feeder, seed, i, 0);
	for (i = 0; i < HOSTILES; i++)
		pid[i] = start(hostile, seed, i, life[i]);
	while (now() < until && !board->breach) {
		usleep(20000 + roll(&d, 300000));
		i = roll(&d, HOSTILES);
		if (WIFSIGNALED(end(pid[i])))
			killed++;
		else
			crashed++;
		pid[i] = start(hostile, seed, i, ++life[i]);
	}
	for (i = 0; i < HOSTILES; i++)
		end(pid[i]);
	end_watchers(watcher);
	for (i = 0; i < HOSTILE_VCS; i++)
		end(feeder[i]);
	report(killed, crashed);
	return board->breach ? 2 : 0;
}
