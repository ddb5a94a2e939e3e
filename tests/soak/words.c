// SPDX-License-Identifier: GPL-2.0
/*
 * Words: works on the words that a peer has exposed, COUNT times committed or
 * until SIGTERM, and notes what it was told.
 *
 *   words add PEER VC COUNT BATCH LOG      FETCH_ADD 1 on word 0, BATCH of them
 *                                          a transaction; LOG: each old word
 *   words commit PEER VC COUNT PROGRAM LOG compare-and-commit of words 0 to 7;
 *                                          records: version, whose was replaced
 *   words expose SIZE COUNT                exposes region 7 and says so, contends
 *                                          in the same way by OAE_LOCAL; on
 *                                          SIGTERM says what words 0 to 7 are
 *
 * The eight words of `commit` belong together: a version, who made it, and six
 * that only these two yield. Words that do not are status 3.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oae.h"
#include "log.h"

#define REGION	7
#define WORDS	8

static int fd;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void connect_to(const char *text, const char *vc)
{
	unsigned char peer[OAE_PEER_LEN];

	if (oae_parse_peer(text, peer))
		errx(1, "%s: no address", text);
	fd = oae_open("", peer, atoi(vc), 0);
	if (fd < 0)
		err(2, "oae_open");
}

/* Reversed: again. All else is a failure of the test. */
static void not_committed(int error)
{
	if (oae_outcome(error) != OAE_REVERSED)
		errx(3, "%s: %s", oae_strerror(error), strerror(error));
	if (error != EINTR)
		poll(NULL, 0, 2);
}

static int add(uint64_t left, unsigned int batch, const char *path)
{
	struct oae_verb_op op[OAE_VERB_OPS];
	uint64_t old[OAE_VERB_OPS];
	FILE *log = fopen(path, "w");
	unsigned int i, n;

	if (!log || !batch || batch > OAE_VERB_OPS)
		err(2, "%s", path);
	while (left && !stop) {
		n = left < batch ? (unsigned int)left : batch;
		for (i = 0; i < n; i++)
			op[i] = oae_op_fetch_add(0, 1);
		if (oae_verb(fd, REGION, op, n, NULL) < 0) {
			not_committed(errno);
			continue;
		}
		for (i = 0; i < n; i++)
			old[i] = op[i].old[0];
		if (fwrite(old, sizeof(old[0]), n, log) != n)
			err(2, "%s", path);
		left -= n;
	}
	return fclose(log) ? 2 : 0;
}

static uint64_t mix(uint64_t version, uint64_t program, unsigned int i)
{
	uint64_t x = (version * 31 + program) * 31 + i;

	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ULL;
	return x ^ x >> 29;
}

static void make_words(uint64_t w[WORDS], uint64_t version, uint64_t program)
{
	unsigned int i;

	w[0] = version;
	w[1] = program;
	for (i = 2; i < WORDS; i++)
		w[i] = version ? mix(version, program, i) : 0;
}

static void check_words(const uint64_t w[WORDS])
{
	uint64_t want[WORDS];

	make_words(want, w[0], w[1]);
	if (memcmp(want, w, sizeof(want)))
		errx(3, "torn: version %" PRIu64 " of %" PRIu64, w[0], w[1]);
}

/* What is known of the words, and one try to replace them. 1: replaced. */
static int commit_once(uint64_t known[WORDS], uint64_t program, int local)
{
	uint64_t next[WORDS];
	struct oae_verb_op op;
	int taken;

	make_words(next, known[0] + 1, program);
	op = oae_op_cas(0, known, next, WORDS);
	taken = local ? oae_local(fd, &op, 1, NULL) :
			oae_verb(fd, REGION, &op, 1, NULL);
	if (taken < 0)
		return -1;
	if (taken) {
		memcpy(known, next, sizeof(next));
		return 1;
	}
	memcpy(known, op.old, sizeof(op.old));
	check_words(known);
	return 0;
}

static int commit(uint64_t left, uint64_t program)
{
	uint64_t known[WORDS] = { 0 }, before;

	while (left && !stop) {
		before = known[1];
		switch (commit_once(known, program, 0)) {
		case 1:
			log_add(LOG_COMMITTED, known[0], before);
			left--;
			break;
		case -1:
			not_committed(errno);
		}
	}
	return 0;
}

static int expose(size_t size, uint64_t tries)
{
	uint64_t known[WORDS] = { 0 }, done = 0;
	const uint64_t *words;
	unsigned int i;

	fd = oae_listen("", NULL, -1, 0);
	if (fd < 0 || oae_expose(fd, REGION, size, OAE_PERM_READ | OAE_PERM_WRITE |
				 OAE_PERM_ATOMIC))
		err(2, "expose");
	words = oae_map(fd, size);
	if (!words)
		err(2, "map");
	puts("exposed");
	fflush(stdout);
	while (tries && !stop) {
		switch (commit_once(known, 99, 1)) {
		case 1:
			done++;
			break;
		case -1:
			if (errno != EAGAIN)
				err(3, "local");
		}
		tries--;
		poll(NULL, 0, 1);
	}
	while (!stop)
		poll(NULL, 0, 10);
	for (i = 0; i < WORDS; i++)
		printf("%" PRIu64 " ", words[i]);
	printf("local %" PRIu64 "\n", done);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGTERM, &sa, NULL);
	if (argc == 4 && !strcmp(argv[1], "expose"))
		return expose((size_t)atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (argc != 7)
		errx(1, "usage: see the source");
	connect_to(argv[2], argv[3]);
	if (!strcmp(argv[1], "add"))
		return add(strtoull(argv[4], NULL, 0),
			   (unsigned int)atoi(argv[5]), argv[6]);
	log_open(argv[6], (uint32_t)atoi(argv[5]));
	return commit(strtoull(argv[4], NULL, 0), (uint64_t)atoi(argv[5]));
}
