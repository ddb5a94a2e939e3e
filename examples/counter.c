// SPDX-License-Identifier: GPL-2.0
/*
 * counter: a counter that two hosts share, and that outlives either of them.
 *
 * Shows: OAE_EXPOSE, verbs of several operations, OAE_LOCAL, and trying again
 * without ever counting twice.
 *
 * One end, the owner, exposes the word. The owner adds to it with OAE_LOCAL, the
 * other end with a verb, which nobody is woken for; so there is one order of all
 * additions, and every value is returned once. The other end exposes a copy. A
 * value is told (printed) only once it is in both: so when the owner dies and
 * comes back it takes the copy, and nothing that anybody was told is lost.
 *
 * An owner begins with a new epoch, which it leaves with the copy in the step in
 * which it reads that. Both the addition and the copying compare it: so what the
 * other end still added to the words of a dead owner, it finds out, and adds again.
 *
 * An addition that is REVERSED did not happen and never will: it is posted again
 * without a second thought. That is all there is to lost frames, pulled cables and
 * a peer that is away.
 *
 * Lost is: an addition that was not told yet when the owner died; and all of it if
 * both ends die, or the second before it has the value from the first again.
 *
 *	host-1# counter --owner 02:0a:e0:00:00:02
 *	host-2# counter 02:0a:e0:00:00:01
 *
 * Then type at either: a number adds it, an empty line adds nothing. Both print
 * what the counter is. It counts up, modulo nothing: 2^63 is the end.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <oae.h>

/* At the owner: its epoch, 0 before the value is valid; and the value. */
#define OWNER_REGION	0x636f01
/* At the other end: the owner's epoch, 0 if it is not known; and the highest value. */
#define COPY_REGION	0x636f02

#define EPOCH		0
#define VALUE		8
#define SIZE		16

#define PERM		(OAE_PERM_READ | OAE_PERM_ATOMIC)

static void nap(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Is it reversed for a reason that may pass? The peer's program may not be there yet. */
static int may_pass(int error)
{
	return error == ENXIO || error == ENOLINK || error == EPIPE || error == ECONNREFUSED ||
	       error == ETIME || error == EINTR;
}

/* A verb: 1 if its comparisons held, 0 if not, -1 if it is reversed and may be tried again. */
static int try_remote(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int n)
{
	int taken = oae_verb(fd, region, ops, n, NULL);

	if (taken < 0 && (oae_outcome(errno) != OAE_REVERSED || !may_pass(errno)))
		errx(1, "%s: %s", oae_outcome_name(oae_outcome(errno)), oae_strerror(errno));
	return taken;
}

/* Again and again, until it is committed. */
static int remote(int fd, uint32_t region, struct oae_verb_op *ops, unsigned int n)
{
	int told = 0;
	int taken;

	while ((taken = try_remote(fd, region, ops, n)) < 0) {
		if (!told++)
			warnx("%s: trying again", oae_strerror(errno));
		nap(50);
	}
	return taken;
}

/* The same here; words are reserved for as long as a round trip, or a cut. */
static int local(int fd, struct oae_verb_op *ops, unsigned int n)
{
	int taken;

	while ((taken = oae_local(fd, ops, n, NULL)) < 0) {
		if (errno != EAGAIN)
			errx(1, "%s", oae_strerror(errno));
		nap(1);
	}
	return taken;
}

/* One operation on the copy, wherever it is. */
static int on_copy(int fd, int owner, struct oae_verb_op *op)
{
	return owner ? remote(fd, COPY_REGION, op, 1) : local(fd, op, 1);
}

/* Raise the copy to a value; it may know a higher one. 0: another epoch has begun. */
static int raise_copy(int fd, int owner, uint64_t epoch, uint64_t value)
{
	const uint64_t now[2] = { epoch, value };
	struct oae_verb_op op = oae_op_read(EPOCH, 2);
	uint64_t was[2];

	do {
		on_copy(fd, owner, &op);
		memcpy(was, op.old, sizeof(was));
		if (was[0] != epoch)
			return 0;
		if (was[1] >= value)
			return 1;
		op = oae_op_cas(EPOCH, was, now, 2);
	} while (!on_copy(fd, owner, &op));
	return 1;
}

/* The owner begins with what the other end knows, and lets it know in the same step. */
static uint64_t recover(int fd)
{
	struct oae_verb_op ops[2];
	uint64_t words[2];

	if (getrandom(&words[0], sizeof(words[0]), 0) != sizeof(words[0]))
		err(1, "getrandom");
	words[0] |= 1;
	ops[0] = oae_op_exchange(EPOCH, words, 1);
	ops[1] = oae_op_read(VALUE, 1);
	remote(fd, COPY_REGION, ops, 2);
	words[1] = ops[1].old[0];
	ops[0] = oae_op_write(EPOCH, words, 2);
	local(fd, ops, 1);
	return words[0];
}

/* The other end's epoch: what an owner has left here, or else what it says. */
static uint64_t learn_epoch(int fd)
{
	const uint64_t none = 0;
	struct oae_verb_op here = oae_op_read(EPOCH, 1);
	struct oae_verb_op ops[2];
	uint64_t said[2];

	for (;;) {
		local(fd, &here, 1);
		if (here.old[0])
			return here.old[0];
		ops[0] = oae_op_read(EPOCH, 2);
		if (try_remote(fd, OWNER_REGION, ops, 1) < 0 || !ops[0].old[0]) {
			nap(20);
			continue;
		}
		memcpy(said, ops[0].old, sizeof(said));
		/* nothing of it, if the owner was faster */
		ops[0] = oae_op_cas(EPOCH, &none, &said[0], 1);
		ops[1] = oae_op_write(VALUE, &said[1], 1);
		local(fd, ops, 2);
	}
}

/* Add, and have it in both places; what it is then. */
static uint64_t add(int fd, int owner, uint64_t epoch, uint64_t n)
{
	struct oae_verb_op ops[2];
	uint64_t value;

	if (owner) {
		ops[0] = oae_op_fetch_add(VALUE, n);
		local(fd, ops, 1);
		value = ops[0].old[0] + n;
		/* an end that has just come back asks what the value is before it takes it */
		while (!raise_copy(fd, owner, epoch, value))
			nap(10);
		return value;
	}
	for (;;) {
		epoch = learn_epoch(fd);
		ops[0] = oae_op_cas(EPOCH, &epoch, &epoch, 1); /* only compares */
		ops[1] = oae_op_fetch_add(VALUE, n);
		if (remote(fd, OWNER_REGION, ops, 2)) {
			value = ops[1].old[0] + n;
			if (raise_copy(fd, owner, epoch, value))
				return value;
		}
		nap(10);
	}
}

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: counter [--owner] [--port DEVICE] [--vc N] PEER\n"
		"\n"
		"  -o, --owner    the counter is here; exactly one end says so\n"
		"  -p, --port     the net device; the first port of the module by default\n"
		"  -v, --vc       virtual channel, 0 by default\n"
		"  -h, --help     this\n"
		"\n"
		"PEER is the address of the other end, as 02:0a:e0:00:00:02. Each line of the\n"
		"input is a number to add, or empty; the answer is what the counter is then,\n"
		"once both ends know it.\n");
	exit(status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "owner", no_argument, NULL, 'o' },
		{ "port", required_argument, NULL, 'p' },
		{ "vc", required_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	unsigned char peer[OAE_PEER_LEN];
	const char *port = NULL;
	char line[64], *end;
	int owner = 0, vc = 0;
	uint64_t epoch = 0, n;
	int fd, c;

	while ((c = getopt_long(argc, argv, "op:v:h", options, NULL)) != -1) {
		switch (c) {
		case 'o':
			owner = 1;
			break;
		case 'p':
			port = optarg;
			break;
		case 'v':
			vc = atoi(optarg);
			break;
		default:
			usage(c == 'h' ? 0 : 2);
		}
	}
	if (optind + 1 != argc)
		usage(2);
	if (oae_parse_peer(argv[optind], peer))
		errx(2, "not an address: %s", argv[optind]);

	fd = oae_open(port, peer, vc, 0);
	if (fd < 0)
		errx(1, "%s", oae_strerror(errno));
	/* its number is taken: by a program that is just being killed, most often */
	while (oae_expose(fd, owner ? OWNER_REGION : COPY_REGION, SIZE, PERM)) {
		if (errno != EADDRINUSE)
			errx(1, "%s", oae_strerror(errno));
		nap(20);
	}
	if (owner)
		epoch = recover(fd);

	/* The first value is told as well: the second end has its copy from then on. */
	printf("%" PRIu64 "\n", add(fd, owner, epoch, 0));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		errno = 0;
		n = strtoull(line, &end, 10);
		if (errno || *end != '\n' || strchr(line, '-') || n > INT32_MAX) {
			warnx("not a number to add: %s", line);
			continue;
		}
		printf("%" PRIu64 "\n", add(fd, owner, epoch, n));
		fflush(stdout);
	}
	return 0;
}
