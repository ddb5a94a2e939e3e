/* SPDX-License-Identifier: GPL-2.0 */
/* Errors in words: the errno's name, what it means here, what to do about it. */
#ifndef OAE_ERROR_H
#define OAE_ERROR_H

/* `oae ping: ...` on stderr. */
extern const char *command_name;

void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and behind it the error in words. Returns EXIT_LOCAL. */
int complain_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Of a file of the user's: in the words of strerror(). Returns EXIT_LOCAL. */
int complain_file(int err, const char *name);

/* Of the command line. Ends the program with EXIT_USAGE. */
struct argp_state;
void usage_error(const struct argp_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* A module that is not loaded, and what to do. Returns EXIT_NOT_LOADED. */
int complain_not_loaded(const char *module);

/* "ENOLINK", or the number. */
const char *errno_name(int err);

/*
 * Of a transaction that is not committed: the outcome as an exit code, as a
 * word, and what the error means; @err a positive errno of <oae.h>.
 */
int outcome_exit(int err);
const char *outcome_word(int err);
const char *outcome_meaning(int err);

/*
 * Asks what a transaction of @fd was waiting for that has just ended with @err: from then on
 * outcome_meaning() says it.
 */
void outcome_waits(int fd, int err);
/* The same in a word for programs; NULL: that is not why. */
const char *outcome_waited(void);

/* Says it on stderr. Returns the exit code. */
int complain_outcome(int err, const char *what);

#endif /* OAE_ERROR_H */
