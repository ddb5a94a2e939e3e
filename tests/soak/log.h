/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program of the soak tests was told, in a file of fixed records, each
 * written at once: a program that is killed leaves whole ones. That takes a size
 * of which none lies across two pages: between these a write can be cut short.
 */
#ifndef SOAK_LOG_H
#define SOAK_LOG_H

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum log_what {
	LOG_BEGUN = 'B',	/* about to be posted */
	LOG_COMMITTED = 'C',
	LOG_REVERSED = 'R',
	LOG_UNKNOWN = 'U',
	LOG_BAD = 'X',		/* something is wrong: other says what */
};

struct log_record {
	uint32_t what;
	uint32_t program;	/* this one's number */
	uint64_t mine;		/* a half; a number to commit */
	uint64_t other;		/* the half taken; the old word; an errno */
	uint64_t zero;
};

static int log_fd = -1;
static uint32_t log_program;

static inline void log_open(const char *path, uint32_t program)
{
	log_program = program;
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0)
		err(2, "%s", path);
}

static inline void log_add(enum log_what what, uint64_t mine, uint64_t other)
{
	struct log_record r = { what, log_program, mine, other, 0 };

	if (write(log_fd, &r, sizeof(r)) != sizeof(r))
		err(2, "log");
}

#endif /* SOAK_LOG_H */
