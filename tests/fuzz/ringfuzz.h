/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the fuzzer of rings share. ringfuzz.c: who runs where, and for how
 * long; ringfuzz_do.c: what a hostile program does to its rings; ringfuzz_watch.c:
 * programs that mean well, and must not notice.
 */
#ifndef RINGFUZZ_H
#define RINGFUZZ_H

#include "devfuzz.h"

/* Virtual channels, host 0 to host 1. */
enum {
	VC_RING,		/* a ring that means well, at host 0 */
	VC_ADDED,		/* on the same ring */
	VC_FILES,		/* read() and write() at both hosts */
	VC_HOSTILE,		/* hostile rings at host 0, from here on */
};

#define HOSTILE_VCS	4
#define HOSTILES	2	/* hostile programs */
#define WATCHERS	5

/**
 * struct board - memory of all processes
 * @stop: those that mean well send their last message
 * @breach: somebody has said what must not be
 * @sent: by each watcher and channel
 * @seen: likewise; what came from its peer, and was right
 * @outcomes: that the ring that means well was told
 * @tally: of each thing that hostile programs do
 */
struct board {
	int stop;
	int breach;
	uint64_t sent[WATCHERS];
	uint64_t seen[WATCHERS];
	uint64_t outcomes;
	struct tally tally[64];
};

extern struct board *board;

void breach(const char *format, ...);
int attach_to(int fd, unsigned int host, unsigned int vc);

/* ringfuzz_do.c */
extern const unsigned int nthings;
const char *thing_name(unsigned int n);
void hostile(uint64_t seed, unsigned int number, unsigned int life);

/* ringfuzz_watch.c */
#define LONGEST		20000

void fill_message(unsigned char *at, size_t len, uint64_t count, unsigned int from);
int check_message(const unsigned char *at, size_t len, uint64_t count, unsigned int from);
size_t length_of(uint64_t count);
void watch(unsigned int number);
void feed(unsigned int vc);

#endif /* RINGFUZZ_H */
