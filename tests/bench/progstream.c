// SPDX-License-Identifier: GPL-2.0
/*
 * A stream of messages one way, as fast as it goes.
 *
 *   progbench ... take WAY NUMBER [FILE]
 *	the end that takes. Says "ready" when it can be sent to, and at the end
 *	of the stream "took COUNT MISSING NS": how many messages it has read
 *	since the first one that counts, which of them were missing, and how
 *	long that took. A way that promises order and loses none must not miss
 *	any. When each was read is in FILE, see progbeat.c
 *   progbench ... stream WAY NUMBER WARM SECONDS BYTES QUEUE
 *	the end that sends: WARM seconds that do not count, then SECONDS.
 *	Says "sent COUNT" when all that it wrote has ended as it should: on
 *	/dev/oae each message is committed, and its outcome collected
 *
 * Ways: oae (write() queues, up to QUEUE messages under way), tipc, tipc-cable,
 * udp, tcp (messages of 64 KB, as it keeps no boundaries). NUMBER tells streams
 * apart: a virtual channel, an instance, a port.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "progbench.h"

#define LONGEST		65536
#define RECORDS		256
#define PATIENCE	60	/* seconds beyond those that were asked for */
#define FAREWELLS	50	/* of a way that loses messages */

enum stage { WARM, COUNTS, LAST };

/* What each message begins with; the rest is a pattern. */
struct head {
	uint64_t number;
	uint64_t stage;
};

static const struct way {
	const char *name;
	void (*open)(const struct contender *c, const struct where *w,
		     unsigned int number, int answering, struct end *e);
	void (*accept)(struct end *e);
	int lossy;
	int bytes;		/* no boundaries: a message is as long as it should be */
	int queued;		/* outcomes are collected */
} ways[] = {
	{ "oae", dev_open, .queued = 1 },
	{ "tipc", tipc_open, sock_accept },
	{ "tipc-cable", tipc_cable_open, sock_accept },
	{ "udp", udp_open, .lossy = 1 },
	{ "tcp", tcp_open, tcp_accept, .bytes = 1 },
};

static union {
	struct head head;
	uint8_t bytes[LONGEST];
} msg;

static const struct way *find_way(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(name, ways[i].name))
			return &ways[i];
	die("no such way: %s", name);
}

static void too_slow(int number)
{
	static const char text[] = "progbench: the stream does not end\n";

	if (write(2, text, sizeof(text) - 1))
		_exit(1);
	_exit(1);
}

/* --- the end that takes ------------------------------------------------------ */

static void take_next(const struct way *way, int fd)
{
	static ssize_t length;		/* of the first, and of all */
	ssize_t n = way->bytes ? recv(fd, msg.bytes, LONGEST, MSG_WAITALL) :
				 read(fd, msg.bytes, LONGEST);

	if (n < (ssize_t)sizeof(struct head))
		die("read %zd bytes: %s", n, n < 0 ? strerror(errno) : "short");
	if (!length)
		length = n;
	if (n != length)
		die("a message came of %zd bytes, not %zd", n, length);
}

int take_main(const struct where *w, char **words)
{
	uint64_t next = 0, count = 0, missing = 0, begin = 0, end;
	const struct contender c = {};
	struct beats *beats = NULL;
	const struct way *way;
	struct end e = {};

	if (!words[0] || !words[1])
		die("take WAY NUMBER");
	if (words[2])
		beats = beats_open(words[2]);
	way = find_way(words[0]);
	way->open(&c, w, atoi(words[1]), 1, &e);
	puts("ready");
	fflush(stdout);
	if (way->accept)
		way->accept(&e);
	do {
		take_next(way, e.in);
		if (beats)
			beats_add(beats);
		if (msg.head.stage == COUNTS && !begin) {
			begin = now_ns();
			missing = 0;
			count = 0;
		}
		if (msg.head.number != next && !way->lossy)
			die("message %llu came in the place of %llu",
			    (unsigned long long)msg.head.number,
			    (unsigned long long)next);
		if (msg.head.number < next) {
			/* Overtaken, and taken to be missing: its sender changed processors. */
			missing -= !!missing;
		} else {
			missing += msg.head.number - next;
			next = msg.head.number + 1;
		}
		count++;
	} while (msg.head.stage != LAST);
	end = now_ns();
	if (!begin)
		die("no message came that counts");
	/* From the first to the last are that many less one. */
	printf("took %llu %llu %llu\n", (unsigned long long)count - 1,
	       (unsigned long long)missing, (unsigned long long)(end - begin));
	fflush(stdout);
	/* The link stays until the other end has collected. */
	for (;;)
		pause();
}

/* --- the end that sends ------------------------------------------------------ */

struct sender {
	const struct way *way;
	int fd;
	unsigned int bytes;
	uint64_t sent;
	uint64_t ended;
};

/* Collect what has ended; how many. */
static unsigned int sender_collect(struct sender *s)
{
	static struct oae_outcome_rec recs[RECORDS];
	struct oae_collect c = { .recs = (uintptr_t)recs, .max = RECORDS };
	unsigned int i, all = 0;

	do {
		if (ioctl(s->fd, OAE_COLLECT, &c))
			die("OAE_COLLECT: %s", strerror(errno));
		for (i = 0; i < c.got; i++)
			if (recs[i].result != OAE_RESULT_COMMITTED)
				die("message %llu: %s",
				    (unsigned long long)recs[i].id,
				    strerror(recs[i].err));
		all += c.got;
	} while (c.got == RECORDS);
	s->ended += all;
	return all;
}

static void sender_wait(struct sender *s, short events)
{
	struct pollfd p = { .fd = s->fd, .events = events };
	struct oae_status st;

	if (poll(&p, 1, -1) != 1)
		die("poll: %s", strerror(errno));
	if (p.revents & (POLLRDBAND | POLLPRI))
		sender_collect(s);
	/* Takes the events, which would wake again. */
	if (p.revents & POLLRDBAND && ioctl(s->fd, OAE_STATUS, &st))
		die("OAE_STATUS: %s", strerror(errno));
}

static void sender_send(struct sender *s, enum stage stage)
{
	msg.head.number = s->sent;
	msg.head.stage = stage;
	while (write(s->fd, msg.bytes, s->bytes) != s->bytes) {
		if (errno == EAGAIN && s->way->queued) {
			/* What has ended may be all that is in the way. */
			if (!sender_collect(s))
				sender_wait(s, POLLPRI | POLLOUT | POLLRDBAND);
		} else if (errno != ENOBUFS || !s->way->lossy) {
			die("write: %s", strerror(errno));
		}
	}
	s->sent++;
}

static void sender_run(struct sender *s, double seconds, enum stage stage)
{
	uint64_t end = now_ns() + seconds * 1e9;
	unsigned int i, batch = s->bytes < 4096 ? 16 : 1;

	do {
		for (i = 0; i < batch; i++)
			sender_send(s, stage);
	} while (now_ns() < end);
}

int stream_main(const struct where *w, char **words)
{
	struct contender c = {};
	struct end e = {};
	struct sender s = {};
	unsigned int i;

	for (i = 0; i < 6; i++)
		if (!words[i])
			die("stream WAY NUMBER WARM SECONDS BYTES QUEUE");
	s.way = find_way(words[0]);
	s.bytes = atoi(words[4]);
	if (s.bytes < sizeof(struct head) || s.bytes > LONGEST ||
	    (s.way->bytes && s.bytes != LONGEST))
		die("BYTES: from %zu to %u; of tcp %u", sizeof(struct head),
		    LONGEST, LONGEST);
	memset(msg.bytes, 0x5a, sizeof(msg.bytes));
	signal(SIGALRM, too_slow);
	alarm(PATIENCE + atof(words[2]) + atof(words[3]));
	if (s.way->queued)
		s.fd = dev_attach(w, atoi(words[1]), O_NONBLOCK, 0,
				  atoi(words[5]));
	else
		s.way->open(&c, w, atoi(words[1]), 0, &e);
	if (!s.way->queued)
		s.fd = e.out;
	if (atof(words[2]) > 0)
		sender_run(&s, atof(words[2]), WARM);
	sender_run(&s, atof(words[3]), COUNTS);
	sender_send(&s, LAST);
	for (i = 0; s.way->lossy && i < FAREWELLS; i++) {
		usleep(10000);
		sender_send(&s, LAST);
	}
	while (s.way->queued && s.ended < s.sent)
		sender_wait(&s, POLLPRI | POLLRDBAND);
	printf("sent %llu\n", (unsigned long long)s.sent);
	return 0;
}
