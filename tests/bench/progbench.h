/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the benchmark of programs share. */
#ifndef PROGBENCH_H
#define PROGBENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <uapi/oae.h>

#define BYTES	64		/* of a message, and of a half */
#define BULK	65536		/* of a long message */
#define BURST	256		/* messages */

/* Where this end is, and where the other. */
struct where {
	const char *dev;	/* the port, and TIPC's bearer */
	uint8_t peer[6];	/* the other end's address on it */
	const char *here;	/* IPv4 addresses, for UDP and TCP */
	const char *there;
	const char *tipc_netns;	/* of which TIPC does not see the kernel */
	const char *rdma;	/* this end's RDMA device */
};

/* One end of a contender: what it reads from, what it writes to. */
struct end {
	int in;
	int out;
	unsigned int nops;	/* of a verb */
	struct oae_verb_op *ops;
	uint64_t done;		/* trips, or operations */
	struct rdma *rdma;
	struct oae_rings *rings;
	unsigned int bytes;	/* of what it receives, of RDMA */
	uint8_t buf[BYTES];
};

/*
 * A way to talk. @ask is one trip, from the end that measures it, @answer what
 * the other end does about it; NULL: nothing, the kernel answers.
 */
struct contender {
	const char *name;
	/* Both ends, the answering one first; @number tells contenders apart. */
	void (*open)(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e);
	/* The answering end, of what has connections. */
	void (*accept)(struct end *e);
	void (*ask)(struct end *e);
	void (*answer)(struct end *e);
	unsigned int flags;	/* OAE_OPT_* */
	unsigned int nops;
	unsigned int bytes;	/* that are asked, of RDMA; 0: BYTES */
};

/* progsock.c */
void tipc_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e);
void tipc_cable_open(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e);
void udp_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e);
void tcp_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e);
void unix_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e);
void sock_accept(struct end *e);
void tcp_accept(struct end *e);

/* progoae.c */
int dev_attach(const struct where *w, unsigned int vc, unsigned int flags,
	       unsigned int opt, unsigned int queue);
void dev_open(const struct contender *c, const struct where *w,
	      unsigned int number, int answering, struct end *e);
void dev_open_queued(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e);
void dev_open_verb(const struct contender *c, const struct where *w,
		   unsigned int number, int answering, struct end *e);
void dev_open_polled(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e);
void dev_expose(int fd, unsigned int region);
void dev_fetch_add(struct oae_verb_op *ops, unsigned int nops);
void queued_ask(struct end *e);
void queued_answer(struct end *e);
void verb_ask(struct end *e);
void verb_ask_polled(struct end *e);
void swap_half(struct end *e);

/* progring.c */
void ring_open(const struct contender *c, const struct where *w, unsigned int number,
	       int answering, struct end *e);
void ring_ask(struct end *e);
void ring_answer(struct end *e);
void ring_burst(struct end *e);
void ring_take(struct end *e);
void ring_bell(struct end *e);
void ring_no_call(struct end *e);
void write_open(const struct contender *c, const struct where *w, unsigned int number,
		int answering, struct end *e);
void write_burst(struct end *e);
void send_burst(struct end *e);
void sock_burst(struct end *e);
void sock_take_burst(struct end *e);

/* proguring.c */
void uring_open(const struct contender *c, const struct where *w, unsigned int number,
		int answering, struct end *e);
void uring_nop(struct end *e);

/* progrdma.c */
void rdma_open(const struct contender *c, const struct where *w,
	       unsigned int number, int answering, struct end *e);
void rdma_accept(struct end *e);
void rdma_ask(struct end *e);
void rdma_answer(struct end *e);
void rdma_bulk_ask(struct end *e);
void rdma_send(struct end *e);
void rdma_take(struct end *e);
void rdma_fetch_add(struct end *e);

/* progcount.c */
void bulk_ask(struct end *e);
void bulk_answer(struct end *e);
void count(const struct contender *c, struct end *e, unsigned int rounds,
	   unsigned int trips);

/* prograte.c */
void words_open(const struct contender *c, const struct where *w,
		unsigned int number, int answering, struct end *e);
int rate_main(const struct where *w, char **words);

/* progstream.c */
int take_main(const struct where *w, char **words);
int stream_main(const struct where *w, char **words);

/* progbeat.c */
struct beats;
struct beats *beats_open(const char *path);
void beats_add(struct beats *b);

/* progbench.c */
__attribute__((noreturn, format(printf, 1, 2)))
void die(const char *what, ...);
void all_read(int fd, void *buf);
void all_write(int fd, const void *buf);

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* PROGBENCH_H */
