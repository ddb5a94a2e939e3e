/* SPDX-License-Identifier: GPL-2.0 */
/*
 * oae, the command: what its files share. One command a file, found by name in
 * the table of main.c; each parses its own arguments with argp.
 */
#ifndef OAE_CMD_H
#define OAE_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sysexits.h>

/* Exit codes, documented in oae(8). */
enum {
	EXIT_OK = 0,		/* done; committed */
	EXIT_LOCAL = 1,		/* an error here: nothing was begun */
	EXIT_REVERSED = 2,	/* the peer has not seen it and never will */
	EXIT_UNKNOWN = 3,	/* died with an end of the link */
	EXIT_PENDING = 4,	/* not known yet */
	EXIT_NOT_TAKEN = 5,	/* cas: committed, and the comparison did not hold */
	EXIT_REFUSED = 6,	/* the module refused a change; nothing is changed */
	EXIT_USAGE = EX_USAGE,			/* 64: wrong usage, nothing was begun */
	EXIT_NOT_LOADED = EX_UNAVAILABLE,	/* 69: the module is not loaded */
	EXIT_OUTPUT = EX_IOERR,			/* 74: done, and the output is not written */
};

struct command {
	const char *name;
	const char *about;	/* one line, for the list */
	int (*run)(int argc, char **argv);
	const char *module;	/* without which it can do nothing; NULL: either will do */
};

extern const struct command *the_command;	/* NULL: oae itself */
/* The next command of the list, from NULL on; NULL: no more. */
const struct command *next_command(const struct command *c);

int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_monitor(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_neighbours(int argc, char **argv);
int cmd_path(int argc, char **argv);
int cmd_port(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_close(int argc, char **argv);
int cmd_spread(int argc, char **argv);
int cmd_gateway(int argc, char **argv);
int cmd_ping(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_send(int argc, char **argv);
int cmd_recv(int argc, char **argv);
int cmd_pipe(int argc, char **argv);
int cmd_listen(int argc, char **argv);
int cmd_swap(int argc, char **argv);
int cmd_read(int argc, char **argv);
int cmd_write(int argc, char **argv);
int cmd_xchg(int argc, char **argv);
int cmd_add(int argc, char **argv);
int cmd_cas(int argc, char **argv);
int cmd_expose(int argc, char **argv);

/*
 * options.c: what all commands take, and reading of numbers. What is wrong with the
 * command line, one line says, and the program ends with EXIT_USAGE.
 */
extern bool want_json;			/* -j */
extern const struct argp_child common_options[];
#define OPT_WAIT_MS	0x200		/* --deadline, --timeout: older words for -w */

/* Of a command: an operand may begin with "-" and a digit. */
void parse_options(const struct argp *argp, int argc, char **argv, void *input);
/* Of oae itself, as far as the command, before argp parses them. */
void check_options(const struct argp *argp, int argc, char **argv);
/* Of 64 bits; a negative one as the word that it is: -1 is 2^64 - 1. */
bool number(const char *text, unsigned long long *value);
unsigned long long number_arg(struct argp_state *state, const char *what, const char *text,
			      unsigned long long min, unsigned long long max);
unsigned long long size_arg(struct argp_state *state, const char *what, const char *text,
			    unsigned long long min, unsigned long long max);
unsigned int seconds_arg(struct argp_state *state, const char *what, const char *text);
unsigned int wait_arg(struct argp_state *state, int key, const char *text);

/*
 * words.c: the word of a list (NULL ends it) that is meant, whole or by how it
 * begins; @what goes before the error.
 */
unsigned int word_arg(const struct argp_state *state, const char *what, const char *text,
		      const char *const *list);
/* The same; -1: none, or more than one. */
int word_find(const char *text, const char *const *list);
/* Which it may be: "; did you mean show?", or "". Until the next call. */
const char *word_hint(const char *text, const char *const *list);

/* complete.c: what may stand at the end of a command line, for shells. */
extern const char *const monitor_kinds[];
extern const char *const path_ranks[];
extern const char *complete_word;	/* NULL: nothing is to be completed */
/*
 * Prints what may follow the arguments @args (NULL ends them), or be the value of
 * the option @of.
 */
void complete(const struct argp *argp, char *const *args, const struct argp_option *of);

/* output.c: before anything is printed; and whether something could not be. */
void output_begin(void);
bool output_failed(void);

/* stop.c: SIGINT and SIGTERM, for commands that run until then. */
void stop_on_signals(void);
bool interrupted(void);		/* by one of them */
bool output_gone(void);		/* a pipe or a terminal whose other end is gone */
bool stopped(void);		/* or nothing more can be printed */
bool sleep_ms(unsigned int ms);
unsigned long long now_ns(void);

#endif /* OAE_CMD_H */
