// SPDX-License-Identifier: GPL-2.0
/*
 * Standard output. That something could not be written is never lost: whatever a command
 * does, the program then ends with a line that says why, and not with 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "text.h"

static int failed;	/* errno of the first write that failed */

/* All of @buf, whether it blocks or not; a signal that ends a command does not cut it off. */
static ssize_t put(void *cookie, const char *buf, size_t len)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
	size_t done = 0;
	ssize_t n;

	(void)cookie;
	while (!failed && done < len) {
		n = write(STDOUT_FILENO, buf + done, len - done);
		if (n > 0)
			done += n;
		else if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (!n || errno != EINTR)
			failed = n ? errno : EIO;
	}
	return failed ? 0 : len;
}

static void finish(int status, void *unused)
{
	(void)unused;
	fflush(stdout);
	/* Some file systems say only then that there is no room. */
	if (close(STDOUT_FILENO) && !failed)
		failed = errno;
	if (!failed)
		return;
	complain("standard output: %s: %s: not all was written", errno_name(failed),
		 strerror(failed));
	if (!status)
		_exit(EXIT_OUTPUT);
}

/* A descriptor that is closed would be that of the next file: of /dev/oae, say. */
static void fill_gaps(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void output_begin(void)
{
	static const cookie_io_functions_t io = { .write = put };

	fill_gaps();
	stdout = fopencookie(NULL, "w", io);
	if (!stdout || on_exit(finish, NULL))
		out_of_memory();
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
}

bool output_failed(void)
{
	return failed;
}
