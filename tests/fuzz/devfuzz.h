/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of the random caller share. devfuzz.c: hosts, workers, their
 * deaths; devfuzz_calls.c: what a worker does; devfuzz_values.c: with what;
 * devfuzz_chaos.c: what befalls the hosts meanwhile.
 */
#ifndef DEVFUZZ_H
#define DEVFUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOSTS		4
#define WORKERS		8
#define THREADS		2
#define SLOTS		12	/* files of a worker */
#define MAPS		6	/* its mappings of regions */
#define VCS		3	/* few, so that ends meet */
#define REGIONS		4

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct host {
	char netns[64];
	char dev[16];
	char mac_text[18];
	uint8_t mac[6];
};

extern struct host hosts[HOSTS];
extern unsigned int nhosts;

/* xorshift64*; each thread has its own, so that a seed says what it does. */
struct dice {
	uint64_t s;
};

static inline uint64_t roll64(struct dice *d)
{
	d->s ^= d->s >> 12;
	d->s ^= d->s << 25;
	d->s ^= d->s >> 27;
	return d->s * 0x2545f4914f6cdd1dULL;
}

/* A number below n. */
static inline unsigned int roll(struct dice *d, unsigned int n)
{
	return (roll64(d) >> 33) % n;
}

/* Once in n. */
static inline int rarely(struct dice *d, unsigned int n)
{
	return !roll(d, n);
}

void dice_seed(struct dice *d, uint64_t seed, uint64_t a, uint64_t b);

/* devfuzz_values.c: the memory of a process, good and bad, and numbers */
void arena_make(void);
void *any_pointer(struct dice *d, size_t len);
void *good_pointer(struct dice *d, size_t len);
size_t any_length(struct dice *d);
uint64_t any_number(struct dice *d);
void *mutate(struct dice *d, void *p, size_t len);

/* devfuzz_calls.c */
struct tally {
	uint64_t done;
	uint64_t good;
};

struct worker {
	unsigned int number;
	unsigned int host;
	int pass[2];		/* files go round among all workers */
	struct tally *tally;	/* shared by all processes */
};

const char *call_name(unsigned int n);
extern const unsigned int ncalls;
void call_any(const struct worker *w, struct dice *d);

/* devfuzz_chaos.c */
void chaos(uint64_t seed);
void calm(void);
int enter_host(unsigned int n);

/* devfuzz.c */
pid_t fork_bound(void);

#endif /* DEVFUZZ_H */
