// SPDX-License-Identifier: GPL-2.0
/*
 * Halves: swaps numbered halves with the program at the other end of a link,
 * started at random times, blocking and not, with deadlines and cancels at
 * random, until SIGTERM. Notes each half before it is posted and what it was
 * told became of it.
 *
 *   halves PEER VC PROGRAM LOG
 *
 * PROGRAM is a number that no other program has; it seeds the dice. A half that
 * comes altered is a log record X.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oae.h"
#include "log.h"

#define MAX_LEN		400
#define MAX_WINDOW	6

struct half {
	uint64_t number;	/* PROGRAM << 32 | which */
	uint32_t len;
	uint32_t seed;
	unsigned char filler[MAX_LEN];
};

#define HEAD	offsetof(struct half, filler)

static int fd;
static uint32_t count;
static volatile sig_atomic_t stop;
/* What was queued and is not collected: transaction -> half. */
static struct { uint64_t id, number; } queued[MAX_WINDOW];
static unsigned int nqueued;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint32_t dice(uint32_t n)
{
	return (uint32_t)random() % n;
}

static unsigned char filler(uint32_t seed, uint32_t i)
{
	return (unsigned char)((seed + i) * 2654435761U >> 13);
}

static void make(struct half *h)
{
	uint32_t i;

	h->number = (uint64_t)log_program << 32 | ++count;
	h->seed = (uint32_t)random();
	h->len = HEAD + dice(8) * dice(MAX_LEN / 8);
	for (i = 0; i < h->len - HEAD; i++)
		h->filler[i] = filler(h->seed, i);
	log_add(LOG_BEGUN, h->number, 0);
}

static uint64_t number_of(const void *data, size_t len, uint64_t mine)
{
	struct half h;
	uint32_t i;

	if (len >= HEAD && len <= sizeof(h)) {
		memcpy(&h, data, len);
		for (i = 0; h.len == len && i < len - HEAD; i++)
			if (h.filler[i] != filler(h.seed, i))
				break;
		if (h.len == len && i == len - HEAD)
			return h.number;
	}
	log_add(LOG_BAD, mine, len);
	exit(3);
}

static void ended(uint64_t mine, int error)
{
	switch (oae_outcome(error)) {
	case OAE_REVERSED:
		log_add(LOG_REVERSED, mine, error);
		break;
	case OAE_UNKNOWN:
		log_add(LOG_UNKNOWN, mine, error);
		break;
	case OAE_NOTHING:
		/* Not begun: the same to whoever compares the logs. */
		log_add(LOG_REVERSED, mine, error);
		break;
	default:
		log_add(LOG_BAD, mine, error);
		exit(3);
	}
	/* The link or its device is gone for a while: do not spin. */
	if (error != ETIME && error != ECANCELED)
		poll(NULL, 0, 2);
}

static void collected(const struct oae_outcomes *o,
		      const struct oae_outcome_rec *rec)
{
	const void *half;
	unsigned int i;

	for (i = 0; i < nqueued && queued[i].id != rec->id; i++)
		;
	if (i == nqueued) {
		log_add(LOG_BAD, rec->id, 0);
		exit(3);
	}
	half = oae_outcome_half(o, rec);
	if (rec->result == OAE_RESULT_COMMITTED && half)
		log_add(LOG_COMMITTED, queued[i].number,
			number_of(half, rec->len, queued[i].number));
	else
		ended(queued[i].number, rec->err);
	queued[i] = queued[--nqueued];
}

/* Wait until no more than so many are out. */
static void collect(unsigned int most)
{
	struct oae_outcomes o = { 0 };
	const struct oae_outcome_rec *rec;
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	while (nqueued > most) {
		if ((stop || !dice(100)) && oae_cancel(fd, 0) &&
		    errno != ENOENT && errno != EINPROGRESS)
			err(2, "cancel");
		poll(&p, 1, 20);
		while (nqueued && (rec = oae_next_outcome(fd, &o)))
			collected(&o, rec);
	}
	oae_outcomes_free(&o);
}

static void queue_one(void)
{
	struct half h;

	make(&h);
	if (oae_queue_swap(fd, &h, h.len, &queued[nqueued].id))
		ended(h.number, errno);
	else
		queued[nqueued++].number = h.number;
}

/* The half just posted can no longer be taken back: its outcome will come. */
static void pending(uint64_t number)
{
	struct oae_status st;

	if (oae_status(fd, &st))
		err(2, "status");
	queued[nqueued].id = st.next_id - 1;
	queued[nqueued++].number = number;
	collect(0);
}

static void swap_one(void)
{
	struct half h, other;
	ssize_t n;

	make(&h);
	n = oae_swap(fd, &h, h.len, &other, sizeof(other));
	if (n >= 0)
		log_add(LOG_COMMITTED, h.number,
			number_of(&other, (size_t)n, h.number));
	else if (errno == EINPROGRESS)
		pending(h.number);
	else
		ended(h.number, errno);
}

/* A while of one manner: blocking, with or without a deadline; or queueing. */
static void phase(void)
{
	unsigned int n = 1 + dice(40), window = dice(MAX_WINDOW);
	struct oae_options o;

	if (oae_get_options(fd, &o))
		err(2, "options");
	o.deadline_ms = dice(3) ? 0 : 1 + dice(30);
	if (oae_set_options(fd, &o))
		err(2, "options");
	while (n-- && !stop) {
		if (window) {
			collect(window - 1);
			queue_one();
		} else {
			swap_one();
		}
		if (!dice(50))
			poll(NULL, 0, (int)dice(5));
	}
	collect(0);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	unsigned char peer[OAE_PEER_LEN];

	if (argc != 5 || oae_parse_peer(argv[1], peer))
		errx(1, "usage: halves PEER VC PROGRAM LOG");
	log_open(argv[4], (uint32_t)atoi(argv[3]));
	srandom(log_program);
	sigaction(SIGTERM, &sa, NULL);
	fd = oae_open("", peer, atoi(argv[2]), 0);
	if (fd < 0)
		err(2, "oae_open");
	while (!stop)
		phase();
	return 0;
}
