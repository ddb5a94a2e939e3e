// SPDX-License-Identifier: GPL-2.0
/*
 * An end of a link that may be killed at any moment: it publishes numbered records through a ring,
 * and takes those of its peer. A file that outlives it has what it knows, so that the next one
 * goes on from there, and test_dev_ringkill.py can compare both ends in the end.
 *
 *	ringend PEER VC FILE COUNT
 *
 * PEER is PORT/ADDRESS. It runs until it is killed, and publishes records up to COUNT; it exits
 * with 1 if anything that it sees cannot be.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <oae.h>

#define RING	262144
#define BATCH	16	/* records that are published at once */
#define UNPASSED	64	/* and passed, if so many come */
#define UNDER_WAY	200	/* without an outcome, at most: a kill leaves them in doubt */
#define LEAST	16
#define USUAL	64
#define MOST	3000

/* What becomes of a record, a byte each. */
enum { NOT_YET, PUBLISHED, COMMITTED, REVERSED, UNKNOWN };

/*
 * The file; each word is written after what it says is true. Behind it are 2 * count words: the
 * serials that came; and count bytes: what became of the own records.
 */
struct ledger {
	uint64_t count;
	uint64_t next;		/* serial of the next record to be published */
	uint64_t got;		/* entries of the second table */
	uint64_t passing;	/* of these: the program is about to pass so many */
	uint64_t passed;	/* and the kernel knows that so many are passed */
	uint64_t under_way;	/* records without an outcome, of the program that runs */
};

static volatile struct ledger *ledger;
static volatile uint64_t *serials;
static volatile uint8_t *became;
static struct oae_rings *rings;
static uint32_t link_;

/* How long a record is, bytes: a few are of several slices. */
static size_t length_of(uint64_t serial)
{
	uint64_t h = serial * 0x9e3779b97f4a7c15ULL >> 32;

	return h % 32 ? USUAL : LEAST + h / 32 % (MOST - LEAST);
}

static unsigned char byte_of(uint64_t serial, size_t i)
{
	return serial * 31 + i * 7 + (serial >> 8);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static bool may_give(void)
{
	return ledger->next < ledger->count && ledger->under_way < UNDER_WAY;
}

static void give(void)
{
	uint64_t serial = ledger->next;
	size_t len = length_of(serial), i;
	unsigned char *to = oae_ring_reserve(rings, len);

	if (!to) {
		if (errno != EAGAIN)
			fail("oae_ring_reserve");
		return;
	}
	memcpy(to, &serial, sizeof(serial));
	for (i = sizeof(serial); i < len; i++)
		to[i] = byte_of(serial, i);
	became[serial] = PUBLISHED;
	ledger->under_way++;
	ledger->next = serial + 1;
	if (oae_ring_stage(rings, link_, len, 0))
		fail("oae_ring_stage");
}

static int hear_outcomes(void)
{
	struct oae_chunk chunk;
	const void *data;
	uint64_t serial;
	int n = 0;

	while ((data = oae_ring_ended(rings, &chunk))) {
		memcpy(&serial, data, sizeof(serial));
		if (serial >= ledger->count || became[serial] != PUBLISHED) {
			fprintf(stderr, "an outcome of record %llu, which was not under way\n",
				(unsigned long long)serial);
			exit(1);
		}
		became[serial] = chunk.result == OAE_RESULT_COMMITTED ? COMMITTED :
				 chunk.result == OAE_RESULT_REVERSED ? REVERSED : UNKNOWN;
		ledger->under_way--;
		n++;
	}
	if (errno != EAGAIN)
		fail("oae_ring_ended");
	return n;
}

static int take(void)
{
	struct oae_chunk chunk;
	const unsigned char *data;
	uint64_t serial, got;
	int n = 0;
	size_t i;

	while (n < UNPASSED && (data = oae_ring_next(rings, &chunk))) {
		memcpy(&serial, data, sizeof(serial));
		for (i = sizeof(serial); i < chunk.len && data[i] == byte_of(serial, i); i++)
			;
		if (chunk.len != length_of(serial) || i != chunk.len) {
			fprintf(stderr, "record %llu is not what was sent\n",
				(unsigned long long)serial);
			exit(1);
		}
		got = ledger->got;
		if (got == 2 * ledger->count) {
			fprintf(stderr, "more records than can be\n");
			exit(1);
		}
		serials[got] = serial;
		ledger->got = got + 1;
		n++;
	}
	if (n < UNPASSED && errno != EAGAIN)
		fail("oae_ring_next");
	got = ledger->got - ledger->passed;
	if (!got || (n && got < UNPASSED))
		return n;
	ledger->passing = ledger->got;
	if (oae_ring_done(rings))
		fail("oae_ring_done");
	ledger->passed = ledger->got;
	return n;
}

static void map(const char *path, uint64_t count)
{
	size_t size = sizeof(*ledger) + count * (2 * sizeof(*serials) + sizeof(*became));
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, size))
		fail(path);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		fail(path);
	close(fd);
	ledger = at;
	serials = (uint64_t *)(ledger + 1);
	became = (uint8_t *)(serials + 2 * count);
	ledger->count = count;
	/* What the one before has lost is in doubt: `became` says PUBLISHED. */
	ledger->under_way = 0;
}

int main(int argc, char **argv)
{
	struct oae_address peer;
	int fd, i, n;

	if (argc != 5)
		return 2;
	map(argv[3], strtoull(argv[4], NULL, 0));
	if (oae_parse_address(argv[1], &peer))
		fail(argv[1]);
	fd = oae_open_address(&peer, atoi(argv[2]), OAE_OPEN_NOW);
	if (fd < 0)
		fail("oae_open_address");
	rings = oae_ring_open(fd, RING, RING);
	if (!rings)
		fail("oae_ring_open");
	link_ = oae_ring_link(rings);
	for (;;) {
		n = hear_outcomes() | take();
		for (i = 0; i < BATCH && may_give(); i++)
			give();
		if (oae_ring_flush(rings))
			fail("oae_ring_flush");
		if (!n && oae_ring_wait(rings, OAE_RING_DATA | OAE_RING_OUTCOME, 0, -1) < 0 &&
		    errno != EINTR)
			fail("oae_ring_wait");
	}
}
