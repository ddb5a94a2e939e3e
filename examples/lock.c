// SPDX-License-Identifier: GPL-2.0
/*
 * lock: one command at a time on two hosts.
 *
 * Shows: compare-and-commit of several words, messages as wake-ups, poll() on a
 * link among other files, and a lock without leases, which never guesses from
 * silence that somebody is dead.
 *
 * Each host runs an agent; one of them is home, where the words are:
 *
 *	holder	which host has it, or nobody; 0 before home has said so
 *	waiter	which host wants it next, or 0
 *
 *	host-1# lock agent --home /run/lock-1 02:0a:e0:00:00:02
 *	host-2# lock agent /run/lock-1 02:0a:e0:00:00:01
 *	host-1# lock run /run/lock-1 make install
 *	host-2# lock run /run/lock-1 rsync ...
 *
 * Taking, waiting and handing over are one transaction each, by OAE_LOCAL at home
 * and by a verb from away. Handing over changes holder from one host to the other
 * in one step; the message behind it only saves the other the next look. After
 * each command the other host has its turn if it waits.
 *
 * Who holds it? A command, for as long as it, or what it has started, has the
 * socket open that `run` has left it. So
 *
 *  - the command or `run` is killed, by whatever: the socket is closed by its
 *    kernel, and the agent hands on;
 *  - an agent is killed: a command that runs goes on, and has a lock on the file
 *    SOCKET.held. The agent that is started next waits for that. At home the words
 *    went with the agent: it begins with "the other host has it", unless a command
 *    here has, and the other agent puts that right;
 *  - a host dies that holds it: it stays held until the agent there is back. The
 *    other cannot know, and does not guess. Somebody who does know says so:
 *    `lock agent --home --break`;
 *  - the cable is cut: who has it has it. Handing over waits until it is mended.
 */
#define _GNU_SOURCE	/* accept4() */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <oae.h>

#define REGION		0x6c6f636b
#define HOLDER		0
#define WAITER		8
#define SIZE		16

enum { NONE, NOBODY, HOME, AWAY };

#define CLIENTS		64
#define LOOK_MS		500	/* a wake-up may not have got through */

struct agent {
	int link;
	int home;
	uint64_t me, other;
	int held;		/* the file SOCKET.held */
	int told;		/* it is worth a look at the words */
	int mine;		/* holder is me */
	int granted;		/* and the first client knows */
	int ending;		/* it has gone, and the lock is to be handed on */
	int client[CLIENTS];	/* in the order in which they came */
	int clients;
};

static void nap(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* --- the words ------------------------------------------------------------------ */

/* Operations on them: 1 done, 0 a comparison did not hold, -1 not now. */
static int words(struct agent *a, struct oae_verb_op *ops, unsigned int n)
{
	int taken;

	for (int tries = 0; tries < 50; tries++) {
		taken = a->home ? oae_local(a->link, ops, n, NULL) :
				  oae_verb(a->link, REGION, ops, n, NULL);
		if (taken >= 0)
			return taken;
		/* Reserved at home, most often for a round trip, but for long if cut. */
		if (errno != EAGAIN)
			break;
		nap(1);
	}
	/* Nothing has changed: the next look will do. */
	if (errno == EAGAIN || oae_outcome(errno) == OAE_REVERSED)
		return -1;
	errx(1, "%s: %s", oae_outcome_name(oae_outcome(errno)), oae_strerror(errno));
}

/* From holder and waiter to others, in one step. */
static int change(struct agent *a, uint64_t holder, uint64_t waiter, uint64_t to_holder,
		  uint64_t to_waiter)
{
	const uint64_t from[2] = { holder, waiter }, to[2] = { to_holder, to_waiter };
	struct oae_verb_op op = oae_op_cas(HOLDER, from, to, 2);

	return words(a, &op, 1);
}

/* Get the other agent to look, or to say whose it is. It is no loss if it is lost. */
static void wake(struct agent *a)
{
	if (oae_send(a->link, "look", 4) && oae_outcome(errno) == OAE_UNKNOWN)
		warnx("%s", oae_strerror(errno));
}

/* Take it if it is free or mine already; otherwise be the next. */
static void take(struct agent *a)
{
	struct oae_verb_op op = oae_op_read(HOLDER, 2);

	if (words(a, &op, 1) < 0)
		return;
	a->told = 0;
	if (op.old[0] == a->me) {
		/* handed over; or left by an agent before me */
		a->mine = 1;
	} else if (!a->clients) {
		return;
	} else if (op.old[0] == NOBODY) {
		a->mine = change(a, NOBODY, op.old[1], a->me, NONE) == 1;
	} else if (op.old[0] == a->other) {
		change(a, a->other, op.old[1], a->other, a->me);
		wake(a);
	}
}

/* Give it to the other host if that waits, or to nobody. */
static void release(struct agent *a)
{
	int done = change(a, a->me, NONE, NOBODY, NONE);

	if (done == 0) {
		done = change(a, a->me, a->other, a->other, NONE);
		if (done == 1)
			wake(a);
		else if (done == 0)	/* I waited, and got it otherwise */
			done = change(a, a->me, a->me, NOBODY, NONE);
	}
	if (done == 1) {
		a->mine = 0;
		a->ending = 0;
	}
}

/* --- clients ---------------------------------------------------------------------- */

static void drop_client(struct agent *a, int n)
{
	close(a->client[n]);
	a->clients--;
	memmove(&a->client[n], &a->client[n + 1], (size_t)(a->clients - n) * sizeof(int));
	if (n == 0 && a->granted) {
		a->granted = 0;
		a->ending = 1;
	}
}

/*
 * A client is told "y", takes SOCKET.held, says so, and is told "g": so who holds that
 * file has the lock, and whoever runs holds that file, even if the agent dies between.
 */
static void hear_client(struct agent *a, int n)
{
	char said;

	if (recv(a->client[n], &said, 1, MSG_DONTWAIT) != 1 ||
	    (n == 0 && a->granted && send(a->client[n], "g", 1, MSG_NOSIGNAL) != 1))
		drop_client(a, n);
}

/* What can be done now: hand on, take, tell the first. */
static void step(struct agent *a)
{
	if (a->ending) {
		/* Its socket is closed; is that file, too? Both belong to the command. */
		if (flock(a->held, LOCK_EX | LOCK_NB))
			return;
		flock(a->held, LOCK_UN);
		release(a);
	}
	if (!a->mine && (a->clients || a->told))
		take(a);
	if (!a->mine || a->granted || a->ending)
		return;
	if (!a->clients)
		release(a);
	else if (send(a->client[0], "y", 1, MSG_NOSIGNAL) == 1)
		a->granted = 1;
}

static void serve(struct agent *a, int listener)
{
	struct pollfd p[CLIENTS + 2];
	char text[16];
	int n;

	for (;;) {
		p[0] = (struct pollfd){ .fd = a->link, .events = POLLIN };
		p[1] = (struct pollfd){
			.fd = a->clients < CLIENTS ? listener : -1, .events = POLLIN };
		for (n = 0; n < a->clients; n++)
			p[n + 2] = (struct pollfd){ .fd = a->client[n], .events = POLLIN };
		if (poll(p, (nfds_t)(a->clients + 2), a->ending ? 10 : LOOK_MS) < 0 &&
		    errno != EINTR)
			err(1, "poll");

		if (p[0].revents & POLLHUP)
			errx(1, "the port is gone");
		if (p[0].revents & POLLIN && oae_recv(a->link, text, sizeof(text)) > 0)
			a->told = 1;
		/* from behind: those in front keep their place in p[] */
		for (n = a->clients - 1; n >= 0; n--)
			if (p[n + 2].revents)
				hear_client(a, n);
		if (p[1].revents & POLLIN) {
			int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

			if (client >= 0)
				a->client[a->clients++] = client;
		}
		step(a);
	}
}

/* --- beginning ---------------------------------------------------------------------- */

static void name(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path) - strlen(".held"))
		errx(2, "%s: too long", path);
	strcpy(address->sun_path, path);
}

static int open_held(const char *path)
{
	char text[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
	int fd;

	snprintf(text, sizeof(text), "%s.held", path);
	fd = open(text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		err(1, "%s", text);
	return fd;
}

/* Expose the words; those of an agent before me may need a moment to go. */
static void expose(struct agent *a, uint64_t holder)
{
	const uint64_t begin[2] = { holder, NONE };
	struct oae_verb_op op = oae_op_write(HOLDER, begin, 2);

	while (oae_expose(a->link, REGION, SIZE, OAE_PERM_READ | OAE_PERM_ATOMIC)) {
		if (errno != EADDRINUSE)
			errx(1, "%s", oae_strerror(errno));
		nap(20);
	}
	while (words(a, &op, 1) < 0)
		nap(1);
}

static int agent(const char *path, const unsigned char *peer, const char *port, int vc, int home,
		 int broken)
{
	struct agent a = {
		.home = home,
		.me = home ? HOME : AWAY,
		.other = home ? AWAY : HOME,
		.told = 1,
	};
	struct oae_options options;
	struct sockaddr_un address;
	int listener, orphan;

	a.held = open_held(path);
	orphan = flock(a.held, LOCK_EX | LOCK_NB);
	a.link = oae_open(port, peer, vc, 0);
	if (a.link < 0 || oae_get_options(a.link, &options))
		errx(1, "%s", oae_strerror(errno));
	/* Do not hang on a link that is cut: what is reversed is looked at again. */
	options.deadline_ms = 2000;
	if (oae_set_options(a.link, &options))
		errx(1, "%s", oae_strerror(errno));
	if (home)
		expose(&a, orphan ? HOME : broken ? NOBODY : AWAY);

	/* A command of an agent before me still runs: it has the lock until it ends. */
	if (orphan && flock(a.held, LOCK_EX))
		err(1, "%s.held", path);
	flock(a.held, LOCK_UN);

	name(&address, path);
	unlink(path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (void *)&address, sizeof(address)) ||
	    listen(listener, CLIENTS))
		err(1, "%s", path);
	puts("ready");
	fflush(stdout);
	wake(&a);
	serve(&a, listener);
	return 1;
}

/* Wait for the agent's word, run the command, say what became of it. */
static int run(const char *path, char **command)
{
	struct sockaddr_un address;
	int held = open_held(path);
	int sock, status;
	pid_t pid;
	char yes;

	name(&address, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (void *)&address, sizeof(address)))
		err(1, "%s", path);
	/* "y", and "g": see hear_client() */
	if (recv(sock, &yes, 1, 0) != 1 || flock(held, LOCK_SH) ||
	    send(sock, "k", 1, MSG_NOSIGNAL) != 1 || recv(sock, &yes, 1, 0) != 1)
		errx(1, "the agent has gone; the command did not run");

	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		/* As long as somebody has these two, the lock is held. */
		fcntl(sock, F_SETFD, 0);
		fcntl(held, F_SETFD, 0);
		execvp(command[0], command);
		err(127, "%s", command[0]);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: lock agent [--home] [--port DEVICE] [--vc N] SOCKET PEER\n"
		"       lock run SOCKET COMMAND [ARGUMENT...]\n"
		"\n"
		"  -H, --home     the words are here; exactly one of the two agents says so\n"
		"  -b, --break    with --home: the other host is known to be dead, or has never\n"
		"                 had it; begin with nobody holding it\n"
		"  -p, --port     the net device; the first port of the module by default\n"
		"  -v, --vc       virtual channel, 0 by default\n"
		"  -h, --help     this\n"
		"\n"
		"One agent on each of two hosts, PEER being the address of the other. `run` on\n"
		"either runs its COMMAND while no other runs, and exits as it does.\n");
	exit(status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "home", no_argument, NULL, 'H' },
		{ "break", no_argument, NULL, 'b' },
		{ "port", required_argument, NULL, 'p' },
		{ "vc", required_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	unsigned char peer[OAE_PEER_LEN];
	int home = 0, broken = 0, vc = 0, c;
	const char *port = NULL;

	/* "+": what stands behind the command is the command's */
	while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1)
		usage(c == 'h' ? 0 : 2);
	if (optind + 2 < argc && !strcmp(argv[optind], "run"))
		return run(argv[optind + 1], argv + optind + 2);
	if (optind == argc || strcmp(argv[optind], "agent"))
		usage(2);
	optind++;
	while ((c = getopt_long(argc, argv, "Hbp:v:h", options, NULL)) != -1) {
		switch (c) {
		case 'H':
			home = 1;
			break;
		case 'b':
			broken = 1;
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
	if (optind + 2 != argc)
		usage(2);
	if (oae_parse_peer(argv[optind + 1], peer))
		errx(2, "not an address: %s", argv[optind + 1]);
	return agent(argv[optind], peer, port, vc, home, broken);
}
