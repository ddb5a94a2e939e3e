// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that run until they are told to stop, or nobody reads their output any
 * more; and the clock they look at.
 */
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals = 1;
}

/*
 * Without SA_RESTART: what blocks returns EINTR. A second signal ends the program, even
 * where nobody takes its output.
 */
void stop_on_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

/* Of a pipe or a terminal: is its other end gone? */
bool output_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

bool interrupted(void)
{
	return signals;
}

bool stopped(void)
{
	return signals || output_failed() || output_gone();
}

/* False: to stop. */
bool sleep_ms(unsigned int ms)
{
	unsigned long long end = now_ns() + ms * 1000000ULL, now;

	while (!stopped() && (now = now_ns()) < end) {
		unsigned long long left = (end - now + 999999) / 1000000;

		poll(NULL, 0, left > 100 ? 100 : left);	/* the signal may come just before */
	}
	return !stopped();
}

unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
