// SPDX-License-Identifier: GPL-2.0
/*
 * Pump: sends numbered transactions through noc_debug and notes the outcome of
 * each, or receives them and notes which came, in what order, and unaltered.
 *
 *   pump send STREAM COUNT MIN MAX [EVERY] LOG   one byte an outcome: C, R, U, P
 *   pump recv COUNT LOG                          eight bytes each: stream, number
 *
 * Lengths are MIN to MAX by chance; or each EVERYth is of MAX, all others of MIN.
 * The sender stops early, with what it has, on SIGTERM; SIGUSR1 only takes the
 * transaction back that is under way. The receiver stops when it has COUNT, or
 * on SIGTERM once nothing is left to read. A transaction that comes altered
 * ends the receiver with status 3. Each says "ready" on standard output when
 * signals may come, then its progress, a line a second. NOC_FD in the
 * environment: the file to use, already open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

#define NOC_DEBUG	"/sys/kernel/debug/modoae/noc_debug"

static unsigned char buf[PAYLOAD_MAX];
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		stop = 1;
}

static int open_noc(int flags)
{
	const char *fd = getenv("NOC_FD");

	return fd ? atoi(fd) : open(NOC_DEBUG, flags);
}

/* Nothing was taken, and nothing will be for a while: do not spin. */
static void rest(void)
{
	if (errno == ENODEV || errno == ESHUTDOWN || errno == ENOLINK ||
	    errno == ECONNREFUSED)
		poll(NULL, 0, 2);
}

static void progress(const char *what, uint32_t n)
{
	static time_t last;
	time_t now = time(NULL);

	if (now == last)
		return;
	last = now;
	printf("%s %u\n", what, n);
	fflush(stdout);
}

static char outcome(ssize_t n, size_t len)
{
	if (n == (ssize_t)len)
		return 'C';
	switch (errno) {
	case EOWNERDEAD:
		return 'U';
	case EINPROGRESS:
		return 'P';
	default:
		return 'R';
	}
}

static int send_all(uint32_t stream, uint32_t count, size_t min, size_t max,
		    uint32_t every, FILE *log)
{
	int fd = open_noc(O_WRONLY);
	uint32_t i;
	ssize_t n;
	size_t len;

	if (fd < 0) {
		perror(NOC_DEBUG);
		return 1;
	}
	for (i = 0; i < count && !stop; i++) {
		len = make_payload(buf, stream, i, every && !(i % every) ? max : min,
				   every && i % every ? min : max);
		n = write(fd, buf, len);
		fputc(outcome(n, len), log);
		/* The first outcome tells that the pump has found its link. */
		if (!i)
			fflush(log);
		if (n < 0)
			rest();
		progress("sent", i);
	}
	close(fd);
	return 0;
}

static int recv_all(uint32_t count, FILE *log)
{
	struct pollfd pfd = { .events = POLLIN };
	const struct head *h = (const struct head *)buf;
	uint32_t got = 0;
	ssize_t n;

	pfd.fd = open_noc(O_RDONLY);
	if (pfd.fd < 0) {
		perror(NOC_DEBUG);
		return 1;
	}
	while (got < count) {
		n = read(pfd.fd, buf, sizeof(buf));
		if (n < 0 && errno != EINTR) {
			perror("read");
			return 1;
		}
		if (n <= 0) {
			if (stop)
				break;
			poll(&pfd, 1, 200);
			continue;
		}
		if (!intact(buf, n)) {
			fprintf(stderr, "altered: stream %u number %u\n",
				h->stream, h->number);
			return 3;
		}
		fwrite(&h->stream, 4, 1, log);
		fwrite(&h->number, 4, 1, log);
		got++;
		progress("received", got);
	}
	close(pfd.fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	sigset_t both;
	int status = 2;
	FILE *log;

	/* No SA_RESTART: a blocked write is to be reversed by the signal. */
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	/* Whoever started this may have held them back until now. */
	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	puts("ready");
	fflush(stdout);
	log = argc > 1 ? fopen(argv[argc - 1], "w") : NULL;
	if (log && (argc == 7 || argc == 8) && !strcmp(argv[1], "send"))
		status = send_all(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]),
				  atoi(argv[5]), argc == 8 ? atoi(argv[6]) : 0, log);
	else if (log && argc == 4 && !strcmp(argv[1], "recv"))
		status = recv_all(atoi(argv[2]), log);
	else
		fprintf(stderr, "pump: see the comment in pump.c\n");
	if (log && fclose(log))
		status = 1;
	return status;
}
