// SPDX-License-Identifier: GPL-2.0
/* Deadlines are moments: a call that a signal ends goes on with the time that is left. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "lib.h"

/*
 * A handler without SA_RESTART is installed to end what waits. Others are not, and EINTR
 * also comes without one: of a debugger, of SIGCONT, of a cgroup that was frozen.
 */
static int eintr_wanted(void)
{
	struct sigaction sa;

	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (sigaction(sig, NULL, &sa) || sa.sa_flags & SA_RESTART)
			continue;
		if (sa.sa_flags & SA_SIGINFO ||
		    (sa.sa_handler != SIG_DFL && sa.sa_handler != SIG_IGN))
			return 1;
	}
	return 0;
}

static int interrupted(int result)
{
	int wanted;

	if (result >= 0 || errno != EINTR)
		return 0;
	wanted = eintr_wanted();
	errno = EINTR;
	return !wanted;
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/*
 * The time left is set as the option of the descriptor, and then what the program has set. A
 * thread that posts by the same descriptor meanwhile has the shorter deadline.
 */
int oae_again(int fd, int (*call)(int fd, void *data), void *data)
{
	struct oae_options usual, options;
	long long begin = now_ns(), left;
	int result, err;

	if (oae_get_options(fd, &usual))
		return -1;
	result = call(fd, data);
	if (!usual.deadline_ms || !interrupted(result))
		return result;
	options = usual;
	do {
		left = begin + usual.deadline_ms * 1000000LL - now_ns();
		if (left <= 0) {
			errno = ETIME;
			break;
		}
		options.deadline_ms = (__u32)((left + 999999) / 1000000);
		if (oae_set_options(fd, &options))
			return -1;
		result = call(fd, data);
	} while (interrupted(result));
	err = errno;
	oae_set_options(fd, &usual);
	errno = err;
	return result;
}
