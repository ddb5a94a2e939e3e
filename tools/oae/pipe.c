// SPDX-License-Identifier: GPL-2.0
/*
 * oae pipe: a stream of bytes each way through the rings of a link, as nc. Each end says
 * PIPE, DATA and END of stream.h, or STOP. It answers the other's PIPE with one that names that
 * stream. An end that is named knows that the other has read its PIPE: they are linked, and only
 * then a byte goes. So what is of another stream is for an earlier program, and is dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "peer.h"
#include "stream.h"
#include "text.h"

#define RING		0x400000	/* bytes of each ring: two transactions of any max_len */
#define RECORD		0x40000		/* bytes of a DATA, if the peer takes as many */
#define TICK_MS		100		/* a signal may come just before a sleep */
#define PROGRESS_NS	500000000ULL
#define LAST_NS		1000000000ULL	/* for the last word to the other end */
#define LINK_OPEN	3		/* oae_status.state */

/* Events after which the stream cannot go on: both ends have said PIPE by then. */
#define GONE	(OAE_EVENT_PEER_NEW | OAE_EVENT_CLOSED | OAE_EVENT_DEAD)

struct args {
	struct peer peer;
	unsigned int wait_ms;
	bool quiet;
};

/* Standard input or output, of which nothing waits. */
struct side {
	int fd;
	bool is_socket;
	bool blocks;
};

struct pipe {
	struct peer *peer;
	struct side in, out;
	int fd;
	struct oae_rings *r;
	uint64_t id, peer_id;		/* 0: it has not said PIPE */
	uint64_t named;			/* the stream that this end's last PIPE names */
	bool linked;			/* the other end's PIPE names this one's stream */
	size_t record;			/* bytes of a DATA; 0: PIPE is not committed */
	uint64_t sent, committed;	/* bytes of standard input */
	uint64_t got, written;		/* bytes from the peer */
	bool in_ended, out_ended;	/* END is staged, END was heard */
	bool peer_gone;			/* it has said that it reads no more */
	unsigned int gone;		/* GONE, when nothing moved */
	bool failed;			/* a transaction was not committed: no more are counted */
	const unsigned char *data;	/* the DATA that is being written */
	size_t left;
	size_t held;			/* bytes that are written, and not passed yet */
	unsigned long long moved, looked, said;		/* when: ns */
	int status, err;		/* 0: all is well; else the exit code, its errno if any */
	char *why;
};

static const char doc[] =
	"A stream of bytes each way between two hosts, as nc: what comes on stdin goes to PEER, "
	"where oae pipe runs, too; what comes from there, to stdout. Ends when both ends have ended "
	"and all is committed. Without PEER: with the first that opens a link.\n"
	"\vExamples:\n"
	"  oae pipe 02:0a:e0:00:00:02 <all.tar      what is there; and at its end:\n"
	"           oae pipe 02:0a:e0:00:00:01 </dev/null | tar x\n"
	"  oae pipe --vc 3                          with whoever comes on channel 3\n"
	"  oae pipe 2 -w 10                         gives up after 10 s without a byte\n"
	"\n"
	"Both ends are told if one gives up. On a terminal a line says how far it is.\n"
	"JSON: on stderr, an array of one object: port, peer, vc, result (committed, given up, "
	"reversed, unknown), errno and error if not all is committed, sent (bytes committed), received "
	"(bytes written).\n"
	"Exit: 0 all is committed, both ways; 1 an error, or an end gave up; 2 reversed; 3 unknown; 74 "
	"standard output cannot be written.\n";

static const struct argp_option options[] = {
	{ "wait", 'w', "SECONDS", 0, "without a byte, either way; then give up", 0 },
	{ "quiet", 'q', NULL, 0, "no line that says how far it is", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		peer_init(state, &a->peer);
		return 0;
	case 'w':
		a->wait_ms = wait_arg(state, key, arg);
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			usage_error(state, "\"%s\" is too much: one PEER", arg);
		peer_arg(&a->peer, arg, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { options, parse, "[PEER]", doc, peer_options, NULL, NULL };

/* What ends it. The first that does is told. */
static void __attribute__((format(printf, 4, 5)))
give_up(struct pipe *x, int status, int err, const char *fmt, ...)
{
	va_list args;

	if (x->status)
		return;
	x->status = status;
	x->err = err;
	va_start(args, fmt);
	if (vasprintf(&x->why, fmt, args) < 0)
		out_of_memory();
	va_end(args);
}

static void give_up_output(struct pipe *x, int err)
{
	give_up(x, EXIT_OUTPUT, err, "standard output: %s: %s: not all was written",
		errno_name(err), strerror(err));
}

/* Something of standard input, or of the rings. */
static void give_up_local(struct pipe *x, int err, const char *what)
{
	give_up(x, EXIT_LOCAL, err, "%s: %s: %s", what, errno_name(err), strerror(err));
}

/* --- standard input and output -------------------------------------------------- */

/*
 * Without waiting, and without a flag on the open file, which is not this program's alone: a
 * pipe or a terminal is opened anew.
 */
static void side_open(struct side *s, int fd, int flags)
{
	char name[32];
	struct stat st;

	*s = (struct side){ .fd = fd };
	if (fstat(fd, &st))
		return;
	s->is_socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	s->fd = open(name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	s->blocks = s->fd < 0;
	if (s->blocks)
		s->fd = fd;
}

static bool side_ready(const struct side *s, short events)
{
	struct pollfd p = { .fd = s->fd, .events = events };

	return !s->blocks || poll(&p, 1, 0) > 0;
}

static ssize_t side_read(const struct side *s, void *buf, size_t len)
{
	errno = EAGAIN;
	if (!side_ready(s, POLLIN))
		return -1;
	return s->is_socket ? recv(s->fd, buf, len, MSG_DONTWAIT) : read(s->fd, buf, len);
}

static ssize_t side_write(const struct side *s, const void *buf, size_t len)
{
	errno = EAGAIN;
	if (!side_ready(s, POLLOUT))
		return -1;
	if (s->is_socket)
		return send(s->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* A pipe that blocks takes this much when it is ready. */
	return write(s->fd, buf, s->blocks && len > PIPE_BUF ? PIPE_BUF : len);
}

static bool not_now(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* --- to the peer ------------------------------------------------------------------ */

/* A head in tx, and the bytes behind it that are there already. False: no room. */
static bool say(struct pipe *x, enum stream_kind kind, uint64_t id, uint64_t number)
{
	struct stream_head h = { kind, id, number };
	void *room = oae_ring_reserve(x->r, STREAM_HEAD);

	if (!room)
		return false;
	stream_put(&h, room);
	return !oae_ring_publish(x->r, oae_ring_link(x->r), STREAM_HEAD, 0);
}

/* True: PIPE names the stream that this end has heard of. */
static bool answer(struct pipe *x)
{
	if (!x->peer_id || x->named == x->peer_id || !say(x, STREAM_PIPE, x->id, x->peer_id))
		return false;
	x->named = x->peer_id;
	return true;
}

/* Does standard input go to the peer yet, and still? */
static bool reads(const struct pipe *x)
{
	return x->record && x->linked && x->named == x->peer_id && !x->in_ended;
}

/* What is there on standard input, from where it is read into the ring. True: it moved. */
static bool from_stdin(struct pipe *x)
{
	struct stream_head h = { STREAM_DATA, x->id, x->sent };
	unsigned char *room;
	ssize_t n;

	if (!reads(x))
		return false;
	room = oae_ring_reserve(x->r, x->record);
	if (!room)
		return false;
	n = side_read(&x->in, room + STREAM_HEAD, x->record - STREAM_HEAD);
	if (n < 0) {
		if (!not_now())
			give_up_local(x, errno, "standard input");
		return false;
	}
	if (!n) {
		x->in_ended = say(x, STREAM_END, x->id, x->sent);
		return x->in_ended;
	}
	stream_put(&h, room);
	x->sent += n;
	return !oae_ring_publish(x->r, oae_ring_link(x->r), STREAM_HEAD + n, 0);
}

/* PIPE is committed: from now on both ends are what they are. */
static void begun(struct pipe *x)
{
	struct oae_status status = { 0 };

	oae_status(x->fd, &status);
	x->record = RECORD;
	if (status.max_len > STREAM_HEAD && status.max_len < RECORD)
		x->record = status.max_len;
}

static void count(struct pipe *x, const struct oae_chunk *c, const void *data)
{
	struct stream_head h;

	if (c->result != OAE_RESULT_COMMITTED) {
		x->failed = true;
		outcome_waits(x->fd, c->err);
		give_up(x, outcome_exit(c->err), c->err, "%s: %s: %s", outcome_word(c->err),
			errno_name(c->err), outcome_meaning(c->err));
		return;
	}
	if (x->failed || !stream_get(&h, data, c->len))
		return;
	if (h.kind == STREAM_DATA)
		x->committed += c->len - STREAM_HEAD;
	else if (h.kind == STREAM_PIPE)
		begun(x);
}

static bool outcomes(struct pipe *x)
{
	struct oae_chunk c;
	const void *data;
	bool any = false;

	while ((data = oae_ring_ended(x->r, &c))) {
		count(x, &c, data);
		any = true;
	}
	if (errno != EAGAIN)
		give_up_local(x, errno, "the ring");
	return any;
}

static bool is_under_way(const struct pipe *x)
{
	struct oae_ring_position p;

	oae_ring_position(x->r, &p);
	return p.seen != p.staged;
}

/* --- from the peer ---------------------------------------------------------------- */

/* A PIPE that names another stream than this end's is for an earlier program. */
static void hear_pipe(struct pipe *x, const struct stream_head *h)
{
	if (h->number && h->number != x->id)
		return;
	if (x->linked && h->id != x->peer_id) {
		give_up(x, EXIT_LOCAL, EPROTO, "the peer's program died, and began again");
		return;
	}
	x->peer_id = h->id;
	x->linked |= h->number;
}

/*
 * The other end gives up. One that had not heard of this end's stream was there before this
 * program, and the next one there is waited for.
 */
static void hear_stop(struct pipe *x, const struct stream_head *h)
{
	if (h->number != x->id && !x->linked) {
		x->peer_id = 0;
		return;
	}
	x->peer_gone = true;
	give_up(x, EXIT_LOCAL, ECANCELED, "the peer gave up");
}

static void hear(struct pipe *x, const struct stream_head *h, const unsigned char *data, size_t len)
{
	if (h->kind == STREAM_PIPE) {
		hear_pipe(x, h);
	} else if (h->kind == STREAM_DONE && h->id == x->id) {
		x->peer_gone = true;
		give_up(x, EXIT_LOCAL, ECANCELED, "the peer's program is no oae pipe");
	} else if (h->id != x->peer_id || !x->peer_id) {
		return;
	} else if (h->kind == STREAM_STOP) {
		hear_stop(x, h);
	} else if (!x->linked) {
		return;
	} else if (h->number != x->got || x->out_ended) {
		give_up(x, EXIT_LOCAL, EPROTO, "a part of the peer's stream is missing");
	} else if (h->kind == STREAM_END) {
		x->out_ended = true;
	} else {
		x->data = data;
		x->left = len;
		x->got += len;
	}
}

/* What was given is passed: a part of the ring at a time, as who waits for room is woken. */
static void pass(struct pipe *x, size_t len)
{
	x->held += len;
	if (x->held < RING / 4 && len)
		return;
	x->held = 0;
	oae_ring_done(x->r);
}

static bool from_peer(struct pipe *x)
{
	const unsigned char *data;
	struct stream_head h;
	struct oae_chunk c;

	if (x->left)
		return false;
	data = oae_ring_next(x->r, &c);
	if (!data) {
		if (errno != EAGAIN)
			give_up_local(x, errno, "the ring");
		if (x->held)
			pass(x, 0);
		return false;
	}
	if (!stream_get(&h, data, c.len) || h.kind == STREAM_BEGIN)
		give_up(x, EXIT_LOCAL, EPROTO, "messages that are of no pipe are unread on channel "
			"%d: oae recv, or another channel: -v", x->peer->vc);
	else
		hear(x, &h, data + STREAM_HEAD, c.len - STREAM_HEAD);
	/* What ends it stays for the next program, unless it is its end. */
	if (!x->left && (!x->status || h.kind == STREAM_STOP))
		pass(x, 0);
	return true;
}

static bool to_stdout(struct pipe *x)
{
	ssize_t n;

	if (!x->left)
		return false;
	n = side_write(&x->out, x->data, x->left);
	if (n < 0) {
		if (!not_now())
			give_up_output(x, errno);
		return false;
	}
	x->data += n;
	x->left -= n;
	x->written += n;
	if (!x->left)
		pass(x, n);
	return true;
}

/* --- both -------------------------------------------------------------------------- */

static bool is_done(const struct pipe *x)
{
	return x->in_ended && x->out_ended && !x->left && !is_under_way(x);
}

static void progress(struct pipe *x, bool last)
{
	unsigned long long now = now_ns();

	if (!isatty(STDERR_FILENO) || (!last && now - x->said < PROGRESS_NS))
		return;
	x->said = now;
	fprintf(stderr, "\r%llu bytes committed, %llu received%s", (unsigned long long)x->committed,
		(unsigned long long)x->written, last ? "\n" : "");
}

/* What happens here, and whether too little does. */
static void look(struct pipe *x, const struct args *a)
{
	unsigned long long now = now_ns();

	if (interrupted())
		give_up(x, EXIT_LOCAL, EINTR, "interrupted");
	if (a->wait_ms && now - x->moved > a->wait_ms * 1000000ULL)
		give_up(x, EXIT_LOCAL, ETIME, "nothing moved for %u ms", a->wait_ms);
	if (now - x->looked < TICK_MS * 1000000ULL)
		return;
	x->looked = now;
	if (output_gone() && !x->out_ended)
		give_up_output(x, EPIPE);
	if (!a->quiet)
		progress(x, false);
}

static void give_up_gone(struct pipe *x)
{
	if (x->gone & OAE_EVENT_DEAD)
		give_up(x, EXIT_LOCAL, ENODEV, "the port is gone");
	else if (x->gone & OAE_EVENT_PEER_NEW)
		give_up(x, EXIT_LOCAL, ECONNRESET, "the peer's end died, and is a new one");
	else
		give_up(x, EXIT_LOCAL, EPIPE, "the link was closed");
}

/* Until something may move, for a moment. */
static void doze(struct pipe *x)
{
	bool more = reads(x), room = more && oae_ring_reserve(x->r, x->record);
	unsigned int what = x->left ? 0 : OAE_RING_DATA;
	struct pollfd p[3] = {
		{ .fd = x->gone ? -1 : x->fd, .events = POLLRDBAND },
		{ .fd = room ? x->in.fd : -1, .events = POLLIN },
		{ .fd = x->left ? x->out.fd : -1, .events = POLLOUT },
	};
	struct oae_status status;
	int found;

	if (!room && !x->left) {
		what |= more ? OAE_RING_ROOM : OAE_RING_OUTCOME;
		found = oae_ring_wait(x->r, what, x->record, TICK_MS);
	} else {
		/* Poll knows of room in half of the ring only, and of no outcome. */
		what |= more && !room ? OAE_RING_ROOM : 0;
		p[0].events |= what & OAE_RING_DATA ? POLLIN : 0;
		p[0].events |= what & OAE_RING_ROOM ? POLLOUT : 0;
		found = what ? oae_ring_arm(x->r, what, x->record) : 0;
		if (!found)
			poll(p, 3, TICK_MS);
		oae_ring_disarm(x->r);
	}
	if (found < 0 && errno != EINTR)
		give_up_local(x, errno, "the ring");
	/* Nothing of before that may be left unread. */
	if (x->record && !oae_status(x->fd, &status))
		x->gone = status.events & GONE;
}

static void run(struct pipe *x, const struct args *a)
{
	bool moved;

	x->moved = now_ns();
	say(x, STREAM_PIPE, x->id, 0);
	while (!x->status && !is_done(x)) {
		moved = outcomes(x);
		/* The messages behind that are the next program's. */
		if (is_done(x))
			break;
		moved |= from_peer(x);
		moved |= to_stdout(x);
		moved |= !x->status && answer(x);
		moved |= !x->status && from_stdin(x);
		if (moved)
			x->moved = now_ns();
		else if (x->gone && !x->left)
			give_up_gone(x);
		else if (!x->status && !is_done(x))
			doze(x);
		look(x, a);
	}
}

static bool is_open(const struct pipe *x)
{
	struct oae_status status;

	return !oae_status(x->fd, &status) && status.state == LINK_OPEN;
}

/* It is over before its end: the peer is told, and what can be taken back is. */
static void stop(struct pipe *x)
{
	unsigned long long end = now_ns() + LAST_NS;
	struct oae_ring_position p;
	bool told = x->peer_gone || (x->failed && !is_open(x));

	while (is_under_way(x) || !told) {
		/* What is behind the one that failed is of no use: it is taken back first. */
		if (!told && !(x->failed && is_under_way(x)))
			told = say(x, STREAM_STOP, x->id, x->peer_id) || errno != EAGAIN;
		outcomes(x);
		oae_ring_position(x->r, &p);
		if (p.seen != p.staged && oae_ring_wait(x->r, OAE_RING_OUTCOME, 0, TICK_MS) < 0 &&
		    errno != EINTR)
			break;
		if (now_ns() > end + LAST_NS)
			break;
		if ((x->failed && !told) || now_ns() > end)
			oae_cancel(x->fd, 0);
	}
	outcomes(x);
}

static void report(const struct pipe *x)
{
	char mac[OAE_PEER_TEXT];
	struct json j;

	if (want_json) {
		json_init(&j, stderr);
		json_array(&j, NULL);
		json_object(&j, NULL);
		json_string(&j, "port", x->peer->port);
		json_string(&j, "peer", oae_format_peer(x->peer->mac, mac));
		json_number(&j, "vc", x->peer->vc);
		json_string(&j, "result", x->status == EXIT_LOCAL || x->status == EXIT_OUTPUT ?
			    "given up" : outcome_word(x->err));
		if (x->status)
			json_string(&j, "errno", errno_name(x->err));
		if (x->status)
			json_string(&j, "error", x->why);
		json_number(&j, "sent", x->committed);
		json_number(&j, "received", x->written);
		json_close(&j);
		json_close(&j);
	} else if (x->status) {
		complain("%s: %s; %s%llu bytes are committed, %llu received", x->peer->text, x->why,
			 x->committed < x->sent && is_under_way(x) ? "at least " : "",
			 (unsigned long long)x->committed, (unsigned long long)x->written);
	}
}

/* The first peer that opens a link. False: none, and said why. */
static bool await_peer(struct args *a)
{
	struct pollfd p = { .events = POLLIN };
	unsigned long long begin = now_ns();
	static char text[OAE_PEER_TEXT];
	struct oae_peer who;

	if (a->peer.vc < 0)
		a->peer.vc = 0;
	p.fd = peer_listen(&a->peer);
	if (p.fd < 0)
		return false;
	while (oae_next_peer(p.fd, &who)) {
		if (errno != EAGAIN && errno != EINTR) {
			complain_errno(errno, "listening");
			goto fail;
		}
		if (interrupted() || (a->wait_ms && now_ns() - begin > a->wait_ms * 1000000ULL)) {
			complain(interrupted() ? "interrupted: nobody came" :
						 "nobody came for %u ms", a->wait_ms);
			goto fail;
		}
		poll(&p, 1, TICK_MS);
	}
	close(p.fd);
	memcpy(a->peer.port, who.port, sizeof(a->peer.port));
	memcpy(a->peer.mac, who.peer, sizeof(a->peer.mac));
	a->peer.text = oae_format_peer(who.peer, text);
	return true;
fail:
	close(p.fd);
	return false;
}

static bool open_rings(struct pipe *x)
{
	struct oae_status status;
	struct oae_options opt;

	x->fd = peer_open(x->peer, 0);
	if (x->fd < 0)
		return false;
	if (!oae_get_options(x->fd, &opt)) {
		opt.queue = 65536;
		if (!oae_set_options(x->fd, &opt))
			x->r = oae_ring_open(x->fd, RING, RING);
	}
	if (!oae_status(x->fd, &status))
		memcpy(x->peer->port, status.port, sizeof(x->peer->port));
	if (x->r && getrandom(&x->id, sizeof(x->id), 0) == sizeof(x->id))
		return true;
	if (errno == EBUSY)
		complain("%s: another program is at the end of channel %d here: see -v",
			 x->peer->text, x->peer->vc);
	else
		complain_errno(errno, "%s: rings", x->peer->text);
	return false;
}

int cmd_pipe(int argc, char **argv)
{
	struct args a = { .peer = PEER_NONE };
	struct pipe x = { .peer = &a.peer };

	parse_options(&argp, argc, argv, &a);
	stop_on_signals();
	signal(SIGPIPE, SIG_IGN);
	if (!a.peer.text && !await_peer(&a))
		return EXIT_LOCAL;
	if (!open_rings(&x))
		return EXIT_LOCAL;
	side_open(&x.in, STDIN_FILENO, O_RDONLY);
	side_open(&x.out, STDOUT_FILENO, O_WRONLY);
	run(&x, &a);
	if (x.status)
		stop(&x);
	if (!a.quiet && !want_json)
		progress(&x, true);
	report(&x);
	oae_ring_close(x.r);
	close(x.fd);
	free(x.why);
	return x.status;
}
