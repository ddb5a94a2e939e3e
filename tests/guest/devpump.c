// SPDX-License-Identifier: GPL-2.0
/*
 * devpump: one program at work on /dev/oae, and a ledger of what it was told.
 *
 *   devpump role=ROLE log=FILE [peer=MAC] [vc=N] [port=DEV] [count=N] ...
 *
 *   send   messages stream= min= max=; queue=1 does not block and collects, and
 *	    cancel=N takes back N of 1000 at random, before or after they went out
 *	    ledger: a byte each, C R U
 *   recv   whatever comes, until SIGTERM
 *	    ledger: stream, number, u32 each
 *   swap   halves stream= min= max=
 *	    ledger: number, outcome, stream and number taken, u32 each
 *   add    FETCH_ADD of 1 at region= offset=
 *	    ledger: outcome, the old word, u64 each
 *   cas    compare-and-commit of 64 bytes at region= offset=
 *	    ledger: outcome, the version made (0: comparison failed), u64 each
 *   move   takes from one word at region= offset= what it gives to the next
 *	    ledger: outcome, sum of both, u64 each
 *   own    exposes region= of size= bytes until SIGTERM; adds local= times to
 *	    the word at offset= meanwhile
 *	    ledger: what was added, u64; then the region
 *
 * express=1, deadline=MS, linger=MS: options of the file. SIGUSR1 interrupts
 * what blocks. SIGTERM: stop early. An EINPROGRESS is waited for. Exit status 3:
 * something altered or torn was seen; 4: outcomes in a wrong order; 1: a call
 * failed that never should. "ready" is said when signals may come.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/uapi/oae.h"
#include "payload.h"

#define BATCH	32
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static unsigned char buf[PAYLOAD_MAX], half[65536];
static volatile sig_atomic_t stop;
static FILE *ledger;
static char **args;

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		stop = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static const char *text(const char *key, const char *otherwise)
{
	size_t n = strlen(key);
	int i;

	for (i = 1; args[i]; i++)
		if (!strncmp(args[i], key, n) && args[i][n] == '=')
			return args[i] + n + 1;
	return otherwise;
}

static unsigned long number(const char *key, unsigned long otherwise)
{
	const char *value = text(key, NULL);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

/* Nothing was taken, and nothing will be for a while: do not spin. */
static void rest(void)
{
	if (errno == ENODEV || errno == ESHUTDOWN || errno == ENOLINK ||
	    errno == ECONNREFUSED || errno == EPIPE || errno == ENXIO)
		poll(NULL, 0, 2);
}

static int attach(void)
{
	struct oae_attach a = { .vc = number("vc", 0) };
	struct oae_options o;
	int fd = open(OAE_DEV, O_RDWR);

	if (fd < 0)
		die(OAE_DEV);
	strncpy(a.port, text("port", ""), sizeof(a.port) - 1);
	if (sscanf(text("peer", ""), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", a.peer,
		   a.peer + 1, a.peer + 2, a.peer + 3, a.peer + 4,
		   a.peer + 5) != 6)
		a.flags = OAE_ATTACH_LISTEN | OAE_ATTACH_ANY_VC;
	if (ioctl(fd, OAE_ATTACH, &a))
		die("OAE_ATTACH");
	if (ioctl(fd, OAE_GET_OPTIONS, &o))
		die("OAE_GET_OPTIONS");
	o.flags = number("express", 0) ? OAE_OPT_EXPRESS : 0;
	o.deadline_ms = number("deadline", o.deadline_ms);
	o.linger_ms = number("linger", o.linger_ms);
	o.queue = number("depth", o.queue);
	if (ioctl(fd, OAE_SET_OPTIONS, &o))
		die("OAE_SET_OPTIONS");
	return fd;
}

/* Outcomes that are here, waiting for one if asked to: how many. */
static int collect(int fd, struct oae_outcome_rec *recs, int max,
		   unsigned char *to, size_t len, int wait)
{
	struct oae_collect c = {
		.recs = (uintptr_t)recs, .max = max,
		.buf = (uintptr_t)to, .buf_len = len,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };

	for (;;) {
		if (ioctl(fd, OAE_COLLECT, &c))
			die("OAE_COLLECT");
		if (c.got || !wait)
			return c.got;
		poll(&pfd, 1, 1000);
		/* Events keep POLLPRI up as well. */
		ioctl(fd, OAE_STATUS, &(struct oae_status){});
	}
}

static char outcome_of(const struct oae_outcome_rec *rec)
{
	if (rec->result == OAE_RESULT_COMMITTED)
		return rec->err ? '?' : 'C';
	if (!rec->err)
		return '?';
	return rec->result == OAE_RESULT_REVERSED ? 'R' : 'U';
}

/*
 * What a blocking call has said; of one that is in progress, what is collected,
 * with its result in buf.
 */
static char outcome(int fd, int ok, struct oae_outcome_rec *rec)
{
	rec->len = 0;
	if (ok)
		return 'C';
	switch (errno) {
	case EINPROGRESS:
		collect(fd, rec, 1, buf, sizeof(buf), 1);
		return outcome_of(rec);
	case EOWNERDEAD:
		return 'U';
	case EFAULT:
	case EINVAL:
	case EBADF:
	case ENOTTY:
	case ENOTCONN:
	case EBADMSG:
	case EOPNOTSUPP:
	case EACCES:
	case ERANGE:
		die("a call");
	}
	rest();
	return 'R';
}

/* --- messages ---------------------------------------------------------- */

static int send_each(int fd)
{
	unsigned int i, count = number("count", 1), stream = number("stream", 1);
	size_t min = number("min", 16), max = number("max", 200), len;
	struct oae_outcome_rec rec;
	ssize_t n;

	for (i = 0; i < count && !stop; i++) {
		len = make_payload(buf, stream, i, min, max);
		n = write(fd, buf, len);
		if (n >= 0 && n != (ssize_t)len)
			return 3;
		fputc(outcome(fd, n >= 0, &rec), ledger);
	}
	return 0;
}

/* Take back one of those whose outcome is not known. */
static void cancel_one(int fd, unsigned int known, unsigned int queued)
{
	__u64 id = known + 1 + rand() % (queued - known);

	/* It may have ended meanwhile. */
	if (ioctl(fd, OAE_CANCEL, &id) && errno != ENOENT)
		die("OAE_CANCEL");
}

/* Queue as many as it takes, and collect. */
static int send_queued(int fd)
{
	unsigned int cancel = number("cancel", 0);
	unsigned int count = number("count", 1), stream = number("stream", 1);
	size_t min = number("min", 16), max = number("max", 200), len;
	struct pollfd pfd = { .fd = fd, .events = POLLPRI | POLLOUT };
	struct oae_outcome_rec rec[BATCH];
	unsigned int queued = 0, known = 0;
	unsigned long long last = 0;
	int i, got;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (known < queued || (queued < count && !stop)) {
		len = make_payload(buf, stream, queued, min, max);
		while (queued < count && !stop && write(fd, buf, len) >= 0) {
			queued++;
			if (rand() % 1000 < (int)cancel)
				cancel_one(fd, known, queued);
			len = make_payload(buf, stream, queued, min, max);
		}
		if (queued < count && !stop && errno != EAGAIN)
			rest();
		got = collect(fd, rec, BATCH, NULL, 0, 0);
		for (i = 0; i < got; i++) {
			if (rec[i].id <= last ||
			    rec[i].kind != OAE_KIND_MESSAGE)
				return 4;
			/* Nothing else takes back what was to be cancelled. */
			if (cancel && rec[i].err && rec[i].err != ECANCELED)
				return 4;
			last = rec[i].id;
			fputc(outcome_of(&rec[i]), ledger);
			known++;
		}
		if (got)
			continue;
		pfd.events = POLLPRI | (queued < count && !stop ? POLLOUT : 0);
		poll(&pfd, 1, 1000);
		ioctl(fd, OAE_STATUS, &(struct oae_status){});
	}
	return 0;
}

static int receive(int fd)
{
	const struct head *h = (const struct head *)buf;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t n;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			die("read");
		if (n < 0) {
			if (stop)
				return 0;
			poll(&pfd, 1, 200);
			continue;
		}
		if (!n)
			return 0;	/* the port is gone */
		if (!intact(buf, n)) {
			fprintf(stderr, "altered: %zd bytes, stream %u number %u\n",
				n, h->stream, h->number);
			return 3;
		}
		fwrite(&h->stream, 4, 1, ledger);
		fwrite(&h->number, 4, 1, ledger);
	}
}

/* --- swap -------------------------------------------------------------- */

static int swap_each(int fd)
{
	unsigned int i, count = number("count", 1), stream = number("stream", 1);
	size_t min = number("min", 16), max = number("max", 200);
	const struct head *h = (const struct head *)buf;
	struct oae_outcome_rec rec;
	uint32_t line[4];
	char how;
	int ok;

	for (i = 0; i < count && !stop; i++) {
		struct oae_swap s = {
			.give = (uintptr_t)half, .take = (uintptr_t)buf,
			.take_len = sizeof(buf),
		};

		memset(buf, 0, sizeof(*h));
		s.give_len = make_payload(half, stream, i, min, max);
		ok = !ioctl(fd, OAE_SWAP_HALF, &s);
		how = outcome(fd, ok, &rec);
		if (how == 'C' && !intact(buf, ok ? s.take_len : rec.len)) {
			fprintf(stderr, "altered: half %u\n", i);
			return 3;
		}
		line[0] = i;
		line[1] = how;
		line[2] = how == 'C' ? h->stream : 0;
		line[3] = how == 'C' ? h->number : 0;
		fwrite(line, sizeof(line), 1, ledger);
	}
	return 0;
}

/* --- verbs ------------------------------------------------------------- */

static void note(uint64_t a, uint64_t b)
{
	fwrite(&a, 8, 1, ledger);
	fwrite(&b, 8, 1, ledger);
}

/*
 * One verb: how it ended. The old words are in op[].old, as if it had not been
 * interrupted.
 */
static char verb(int fd, struct oae_verb *v, struct oae_verb_op *op, int nops)
{
	const struct oae_verb_result *r = (void *)buf;
	struct oae_outcome_rec rec;
	int i, w, at = 0, ok;
	char how;

	memset(v, 0, sizeof(*v));
	v->ops = (uintptr_t)op;
	v->nops = nops;
	v->region = number("region", 1);
	ok = !ioctl(fd, OAE_DO_VERB, v);
	how = outcome(fd, ok, &rec);
	if (ok || how != 'C')
		return how;
	v->taken = r->taken;
	v->failed = r->failed;
	for (i = 0; i < nops; i++)
		for (w = 0; op[i].code != OAE_VERB_WRITE && w < op[i].words; w++)
			op[i].old[w] = r->old[at++];
	return how;
}

static int add_each(int fd)
{
	unsigned int i, count = number("count", 1);
	char how;

	for (i = 0; i < count && !stop; i++) {
		struct oae_verb_op op = {
			.code = OAE_VERB_FETCH_ADD, .words = 1,
			.offset = number("offset", 0), .arg = { 1 },
		};
		struct oae_verb v;

		how = verb(fd, &v, &op, 1);
		if (how == 'C' && !v.taken)
			return 3;
		note(how, op.old[0]);
	}
	return 0;
}

/* Words 1 to 7 of a version, made by whoever word 1 says. */
static __u64 word_of(__u64 version, __u64 who, int n)
{
	return (version * 0x9e3779b97f4a7c15ULL ^ who << 40) + n;
}

static int torn(const __u64 *w)
{
	int n;

	for (n = 2; n < OAE_VERB_WORDS; n++)
		if (w[0] ? w[n] != word_of(w[0], w[1], n) : w[n])
			return 1;
	return 0;
}

static int cas_each(int fd)
{
	unsigned int i, n, count = number("count", 1);
	__u64 now[OAE_VERB_WORDS] = { 0 };
	char how;

	for (i = 0; i < count && !stop;) {
		struct oae_verb_op op = {
			.code = OAE_VERB_CAS, .words = OAE_VERB_WORDS,
			.offset = number("offset", 0),
		};
		struct oae_verb v;

		memcpy(op.cmp, now, sizeof(now));
		op.arg[0] = now[0] + 1;
		op.arg[1] = number("stream", 1);
		for (n = 2; n < OAE_VERB_WORDS; n++)
			op.arg[n] = word_of(op.arg[0], op.arg[1], n);
		how = verb(fd, &v, &op, 1);
		note(how, how == 'C' && v.taken ? op.arg[0] : 0);
		if (how != 'C') {
			i++;
			continue;
		}
		if (torn(op.old) || (v.taken && memcmp(op.old, now, sizeof(now))))
			return 3;
		memcpy(now, v.taken ? op.arg : op.old, sizeof(now));
		i += v.taken;
	}
	return 0;
}

static int move_each(int fd)
{
	unsigned int i, count = number("count", 1);
	unsigned int at = number("offset", 0);
	char how;

	for (i = 0; i < count && !stop; i++) {
		uint64_t much = mix(i) % 1000;
		struct oae_verb_op op[3] = {
			{ .code = OAE_VERB_FETCH_ADD, .words = 1,
			  .offset = at, .arg = { -much } },
			{ .code = OAE_VERB_FETCH_ADD, .words = 1,
			  .offset = at + 8, .arg = { much } },
			{ .code = OAE_VERB_READ, .words = 2, .offset = at },
		};
		struct oae_verb v;

		how = verb(fd, &v, op, 3);
		note(how, op[0].old[0] + op[1].old[0]);
		if (how != 'C')
			continue;
		/* It sees what it has itself done. */
		if (!v.taken || op[0].old[0] + op[1].old[0] ||
		    op[2].old[0] != op[0].old[0] - much ||
		    op[2].old[1] != op[1].old[0] + much)
			return 3;
	}
	return 0;
}

static int own(int fd)
{
	uint64_t size = number("size", 4096), left = number("local", 0), done = 0;
	struct oae_expose e = {
		.size = size, .region = number("region", 1),
		.perm = OAE_PERM_READ | OAE_PERM_WRITE | OAE_PERM_ATOMIC,
	};
	void *shown;

	if (ioctl(fd, OAE_EXPOSE, &e))
		die("OAE_EXPOSE");
	shown = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shown == MAP_FAILED)
		die("mmap");
	puts("exposed");
	fflush(stdout);
	while (!stop) {
		struct oae_verb_op op = {
			.code = OAE_VERB_FETCH_ADD, .words = 1,
			.offset = number("offset", 0), .arg = { 1 },
		};
		struct oae_verb v = { .ops = (uintptr_t)&op, .nops = 1 };

		if (!left) {
			poll(NULL, 0, 50);
			continue;
		}
		if (!ioctl(fd, OAE_LOCAL, &v)) {
			left--;
			done++;
		} else if (errno != EAGAIN) {
			die("OAE_LOCAL");
		}
		poll(NULL, 0, 1);
	}
	fwrite(&done, 8, 1, ledger);
	fwrite(shown, size, 1, ledger);
	return 0;
}

static int (*role(const char *name))(int fd)
{
	static const struct {
		const char *name;
		int (*run)(int fd);
	} roles[] = {
		{ "send", send_each }, { "recv", receive }, { "swap", swap_each },
		{ "add", add_each }, { "cas", cas_each }, { "move", move_each },
		{ "own", own },
	};
	size_t i;

	if (!strcmp(name, "send") && number("queue", 0))
		return send_queued;
	for (i = 0; i < ARRAY_SIZE(roles); i++)
		if (!strcmp(name, roles[i].name))
			return roles[i].run;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int (*run)(int fd);
	int fd, status;
	sigset_t both;

	(void)argc;
	args = argv;
	run = role(text("role", ""));
	ledger = fopen(text("log", "/dev/null"), "w");
	if (!run || !ledger) {
		fprintf(stderr, "devpump: see the comment in devpump.c\n");
		return 2;
	}
	srand(number("stream", 1) + number("seed", 0));
	fd = attach();
	/* No SA_RESTART: what blocks is to be reversed by the signal. */
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	/* Whoever started this may have held them back until now. */
	sigemptyset(&both);
	sigaddset(&both, SIGTERM);
	sigaddset(&both, SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &both, NULL);
	puts("ready");
	fflush(stdout);
	status = run(fd);
	if (fclose(ledger))
		status = 1;
	return status;
}
