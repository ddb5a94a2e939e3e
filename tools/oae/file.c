// SPDX-License-Identifier: GPL-2.0
/*
 * oae send --file, oae recv --file. The receiving end writes beside the name, and renames when
 * the end mark has come and all is on the disk; then it says so, and the sender is done. An end
 * that gives up tells the other. Both take (OAE_OPEN_TAKE): a message that is of no stream is
 * left for who it is for.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "file.h"
#include "stream.h"
#include "text.h"
#include "transact.h"

#define CHUNK		32768	/* bytes of the file in a message, if max_len permits */
#define PROGRESS_NS	500000000ULL
#define LAST_MS		1000	/* for the last word to the other end */
#define LAST_MESSAGES	1024	/* that it may have sent before it hears that */

static void progress(uint64_t done, uint64_t all, unsigned long long *said, bool last)
{
	unsigned long long now = now_ns();

	if (!isatty(STDERR_FILENO) || (!last && now - *said < PROGRESS_NS) || (last && !*said))
		return;
	*said = now;
	fprintf(stderr, "\r%llu bytes", (unsigned long long)done);
	if (all && all >= done && all != STREAM_OPEN)
		fprintf(stderr, " of %llu, %u %%", (unsigned long long)all,
			(unsigned int)(done * 100.0 / all));
	fputs(last ? "\n" : "", stderr);
}

static void say_json(const struct peer *p, int err, uint64_t bytes)
{
	struct json j;

	result_begin(&j, p, err);
	json_number(&j, "bytes", bytes);
	result_end(&j);
}

/*
 * One program for a link's channel here, whatever it does: two would take each other's messages.
 * It has a name in this network namespace until it ends. False: it has not, and said why.
 */
static bool alone(struct peer *p, int fd)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char peer[OAE_PEER_TEXT];
	struct oae_status status;
	int n, lock;

	if (oae_status(fd, &status)) {
		complain_errno(errno, "%s", p->text);
		return false;
	}
	/* The first byte is 0: no file. */
	n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "oae-file/%.15s/%s/%u",
		     status.port, oae_format_peer(status.peer, peer), status.vc);
	lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (lock >= 0 && !bind(lock, (struct sockaddr *)&name,
			       offsetof(struct sockaddr_un, sun_path) + 1 + n))
		return true;
	if (errno == EADDRINUSE)
		complain("%s: another --file is under way on channel %u: see -v", p->text,
			 status.vc);
	else
		complain_file(errno, p->text);
	return false;
}

static int peer_open_alone(struct peer *p)
{
	int fd = peer_open(p, OAE_OPEN_TAKE);

	if (fd < 0 || alone(p, fd))
		return fd;
	close(fd);
	return -1;
}

static int post(int fd, void *data)
{
	return oae_queuev(fd, data, 1);
}

/* A head and @len bytes behind it. The errno of its outcome. */
static int say(struct transact *t, enum stream_kind kind, uint64_t id, uint64_t number,
	       unsigned char *buf, size_t len)
{
	struct stream_head h = { kind, id, number };
	struct iovec message = { buf, STREAM_HEAD + len };

	stream_put(&h, buf);
	return transact(t, post, &message);
}

/* That it is given up, or not kept: also after a signal, and not for long. */
static void say_last(int fd, enum stream_kind kind, uint64_t id, uint64_t number)
{
	struct transact t = { .fd = fd, .wait_ms = LAST_MS, .deaf = true };
	unsigned char buf[STREAM_HEAD];

	say(&t, kind, id, number, buf, 0);
	transact_free(&t);
}

/* --- to a peer --------------------------------------------------------------------- */

struct outgoing {
	struct transact t;	/* the first: see answered() */
	int file;
	const char *name;
	uint64_t id, sent;
	bool told;	/* the other end has spoken: */
	int kept;	/* 0 it has it, or why not */
	bool foreign;	/* a message came that is of no file, behind which it cannot be heard */
};

/* Is there an answer, or none to be had? What was said to an earlier sender is dropped. */
static bool answered(struct transact *t)
{
	struct outgoing *out = (struct outgoing *)t;
	unsigned char buf[STREAM_HEAD];
	struct stream_head h;
	ssize_t n;

	while (!out->told && !out->foreign) {
		n = oae_recv(t->fd, buf, sizeof(buf));
		if (n <= 0 && !(n < 0 && errno == EMSGSIZE))
			break;
		if (n < 0 || !stream_get(&h, buf, n) || h.kind != STREAM_DONE) {
			out->foreign = true;
		} else if (h.id == out->id) {
			out->told = true;
			out->kept = h.number < 4096 ? (int)h.number : EPROTO;
			oae_done(t->fd);
		}
	}
	return out->told || out->foreign;
}

/* The end to which all was sent: its kernel died, or it or the port was closed. */
#define GONE	(OAE_EVENT_PEER_NEW | OAE_EVENT_CLOSED | OAE_EVENT_DEAD)

/* All is sent. Until it is told; EINPROGRESS: not in time, or not any more. */
static int await_answer(struct outgoing *out)
{
	unsigned int wait_ms = out->t.wait_ms;
	unsigned long long end = wait_ms ? now_ns() + wait_ms * 1000000ULL : ~0ULL;
	struct pollfd p = { .fd = out->t.fd, .events = POLLIN | POLLRDBAND };
	struct oae_status status;

	while (!answered(&out->t)) {
		if (out->t.events & GONE || interrupted() || now_ns() >= end)
			return EINPROGRESS;
		poll(&p, 1, 100);
		if (p.revents & POLLRDBAND && !oae_status(out->t.fd, &status))
			out->t.events |= status.events;
	}
	return out->foreign ? EINPROGRESS : 0;
}

/* The bytes of @file. 0, or the errno of a transaction; -1: said why. */
static int send_bytes(struct outgoing *out, uint64_t all)
{
	static unsigned char buf[STREAM_HEAD + CHUNK];
	unsigned long long said = 0;
	struct oae_status status;
	size_t chunk = CHUNK;
	ssize_t n = 1;
	int err = 0;

	/* Both ends have said now what they take. */
	if (!oae_status(out->t.fd, &status) && status.max_len < STREAM_HEAD + CHUNK)
		chunk = status.max_len > STREAM_HEAD ? status.max_len - STREAM_HEAD : 1;
	while (!err) {
		n = read(out->file, buf + STREAM_HEAD, chunk);
		if (n < 0 && errno == EINTR && !interrupted())
			continue;
		if (n <= 0)
			break;
		/* transact() does not listen if the commit comes at once. */
		err = answered(&out->t) ? ECANCELED :
		      say(&out->t, STREAM_DATA, out->id, out->sent, buf, n);
		if (!err)
			out->sent += n;
		progress(out->sent, all, &said, false);
	}
	if (n < 0)
		complain_file(errno, out->name);
	progress(out->sent, all, &said, true);
	return n < 0 ? -1 : err;
}

/* 0: out->kept is the answer, EINPROGRESS none; the errno of a transaction; -1: said why. */
static int send_all(struct outgoing *out)
{
	unsigned char buf[STREAM_HEAD];
	uint64_t all = STREAM_OPEN;
	struct stat st;
	int err;

	if (answered(&out->t))
		return ECANCELED;
	if (!fstat(out->file, &st) && S_ISREG(st.st_mode))
		all = st.st_size;
	err = say(&out->t, STREAM_BEGIN, out->id, all, buf, 0);
	if (err)
		return err;
	out->t.events = 0;
	err = send_bytes(out, all) ?: say(&out->t, STREAM_END, out->id, out->sent, buf, 0);
	if (err)
		say_last(out->t.fd, STREAM_END, out->id, STREAM_OPEN);
	else
		out->kept = await_answer(out) ?: out->kept;
	return err;
}

/* In words, and the exit code. */
static int report_sent(const struct peer *p, const struct outgoing *out, int err)
{
	if (out->foreign && err)
		complain("%s: messages from there are unread on channel %d, before any answer: oae "
			 "recv, or another channel: -v", p->text, p->vc);
	else if (out->told && out->kept)
		complain("%s: is not there: the peer says %s: %s", p->text, errno_name(out->kept),
			 strerror(out->kept));
	else if (err > 0)
		return complain_outcome(err, p->text);
	else if (!err && out->kept)
		return complain_outcome(EINPROGRESS, p->text);
	return err || out->kept ? EXIT_LOCAL : EXIT_OK;
}

int file_send(struct peer *p, const char *file, unsigned int wait_ms, bool quiet)
{
	struct outgoing out = { .t = { .wait_ms = wait_ms, .vain = answered }, .name = file };
	unsigned long long begin = now_ns();
	char took[UNIT_LEN];
	int err, status;

	out.file = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (out.file < 0)
		return complain_file(errno, file);
	out.t.fd = peer_open_alone(p);
	if (out.t.fd < 0 || getrandom(&out.id, sizeof(out.id), 0) != sizeof(out.id)) {
		close(out.file);
		return EXIT_LOCAL;
	}
	err = send_all(&out);
	close(out.file);
	transact_free(&out.t);
	close(out.t.fd);
	status = report_sent(p, &out, err);
	if (want_json)
		say_json(p, err < 0 ? EIO : err ?: out.kept, out.sent);
	else if (!status && !quiet)
		printf("the peer has the file: %llu bytes in %s\n", (unsigned long long)out.sent,
		       duration(took, now_ns() - begin));
	return status;
}

/* --- from a peer ------------------------------------------------------------------- */

struct incoming {
	int fd;			/* of the link */
	int part;		/* what is written, beside the name */
	char *beside;		/* its name until then; NULL: none, it goes with the program */
	char *target;		/* the name that it will have */
	unsigned int wait_ms;
	uint64_t id, all, got;
	uint64_t refused;	/* a stream of which not all is here: its sender was told */
	bool foreign;		/* the last message is of no file, and not this program's */
};

/* A message before @end. Its bytes, or -1: ETIME, EINTR, ENODEV the port is gone. */
static ssize_t hear(int fd, unsigned long long end, bool deaf, void *buf, size_t room)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		errno = EINTR;
		if (interrupted() && !deaf)	/* though more may be there, without end */
			return -1;
		n = oae_recv(fd, buf, room);
		if (!n)
			errno = ENODEV;
		if (n > 0 || (n < 0 && errno == EMSGSIZE))
			return n;
		if (!n || (errno != EAGAIN && errno != EINTR))
			return -1;
		errno = ETIME;
		if (now_ns() >= end)
			return -1;
		poll(&p, 1, 100);
	}
}

static unsigned long long end_of(unsigned int wait_ms)
{
	return wait_ms ? now_ns() + wait_ms * 1000000ULL : ~0ULL;
}

static int write_all(int fd, const unsigned char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= n) {
		n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? errno : EIO;
	}
	return 0;
}

/* The sender of a stream of which not all came here would wait for ever. */
static void refuse(struct incoming *in, uint64_t id)
{
	if (id == in->refused)
		return;
	in->refused = id;
	say_last(in->fd, STREAM_DONE, id, ECANCELED);
}

static int begin(struct incoming *in, const struct stream_head *h)
{
	if (in->id)
		refuse(in, in->id);
	in->id = h->id;
	in->all = h->number;
	in->got = 0;
	return ftruncate(in->part, 0) || lseek(in->part, 0, SEEK_SET) ? errno : 0;
}

/* Of the stream that is being received. */
static int take(struct incoming *in, const struct stream_head *h, const void *data, size_t len)
{
	int err;

	if (h->kind == STREAM_END && h->number == STREAM_OPEN)
		return ECANCELED;
	if (h->number != in->got)
		return EPROTO;
	err = write_all(in->part, data, len);
	in->got += len;
	return err;
}

/* To the end mark. 0; ECANCELED: its sender gave up; EPROTO: no stream; else why not. */
static int take_all(struct incoming *in)
{
	static unsigned char buf[STREAM_HEAD + CHUNK];
	unsigned long long said = 0;
	struct stream_head h;
	ssize_t n;
	int err = 0;

	do {
		n = hear(in->fd, end_of(in->wait_ms), false, buf, sizeof(buf));
		if (n < 0)
			return errno;
		in->foreign = !stream_get(&h, buf, n);
		if (in->foreign)
			return EPROTO;
		if (h.kind == STREAM_BEGIN) {
			err = begin(in, &h);
		} else if (h.kind == STREAM_DONE || h.kind == STREAM_STOP) {
			continue;	/* to a sender that was killed */
		} else if (!in->id || h.id != in->id) {
			if (h.number != STREAM_OPEN)
				refuse(in, h.id);
		} else {
			err = take(in, &h, buf + STREAM_HEAD, n - STREAM_HEAD);
			progress(in->got, in->all, &said, false);
		}
	} while (!err && (h.kind != STREAM_END || h.id != in->id));
	progress(in->got, in->all, &said, true);
	return err;
}

/* It is not kept. The sender is told, and what it had sent until then dropped. */
static void give_up(struct incoming *in, int err)
{
	static unsigned char buf[STREAM_HEAD + CHUNK];
	struct stream_head h = { 0 };
	unsigned int n;

	if (err != ECANCELED)	/* which the sender said itself */
		say_last(in->fd, STREAM_DONE, in->id, err);
	if (in->foreign)
		return;
	oae_done(in->fd);
	for (n = 0; err != ECANCELED && h.kind != STREAM_END && n < LAST_MESSAGES; n++) {
		if (hear(in->fd, end_of(LAST_MS), true, buf, sizeof(buf)) < STREAM_HEAD ||
		    !stream_get(&h, buf, STREAM_HEAD) || h.id != in->id)
			break;
		oae_done(in->fd);
	}
}

/* The directory that a name is in. */
static int open_dir(const char *file, int flags)
{
	char *dir = copy_text(file, strlen(file)), *slash = strrchr(dir, '/');
	int fd;

	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", flags | O_CLOEXEC, 0600);
	free(dir);
	return fd;
}

/* The name is on the disk when the sender is told. */
static int sync_name(const char *file)
{
	int fd = open_dir(file, O_RDONLY | O_DIRECTORY), err;

	err = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

/* The name that is to be replaced: of a link, what it leads to. NULL: none that can be. */
static char *target_of(const char *file)
{
	size_t len = strlen(file);
	struct stat st;

	if (lstat(file, &st) && errno == ENOENT && len && file[len - 1] != '/')
		return copy_text(file, len);
	if (stat(file, &st)) {
		complain_file(errno, file);
		return NULL;
	}
	if (S_ISREG(st.st_mode))
		return realpath(file, NULL) ?: copy_text(file, len);
	complain("%s: is a directory or a device: it cannot be whole or not at all", file);
	return NULL;
}

/* A file without a name, which nothing is left of if the program is killed; else one with. */
static int create(struct incoming *in)
{
	in->part = open_dir(in->target, O_TMPFILE | O_WRONLY);
	if (in->part >= 0)
		return 0;
	if (asprintf(&in->beside, "%s.XXXXXX", in->target) < 0)
		out_of_memory();
	in->part = mkstemp(in->beside);
	return in->part < 0 ? errno : 0;
}

/* A name beside the one that it will have, as only a name can replace a name. */
static int name_part(struct incoming *in)
{
	char self[64];
	uint64_t dice;
	int err;

	if (in->beside)
		return 0;
	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
		return EIO;
	if (asprintf(&in->beside, "%s.%016llx", in->target, (unsigned long long)dice) < 0)
		out_of_memory();
	snprintf(self, sizeof(self), "/proc/self/fd/%d", in->part);
	if (!linkat(AT_FDCWD, self, AT_FDCWD, in->beside, AT_SYMLINK_FOLLOW))
		return 0;
	err = errno;
	free(in->beside);
	in->beside = NULL;
	return err;
}

/* All of it, to the name. The errno. */
static int receive(struct incoming *in)
{
	mode_t mask = umask(0);
	int err = take_all(in);

	umask(mask);
	if (!err && (fchmod(in->part, 0666 & ~mask) || fsync(in->part)))
		err = errno;
	if (!err)
		err = name_part(in);
	if (!err && rename(in->beside, in->target))
		err = errno;
	else if (!err)
		return sync_name(in->target);
	if (in->beside)
		unlink(in->beside);
	return err;
}

static void report_received(const struct peer *p, const char *file, int err, uint64_t bytes)
{
	if (err == EPROTO)
		complain("%s: what came is no file of `oae send --file`, or not all of it", file);
	else if (err == ECANCELED)
		complain("%s: not received: the sender gave it up", file);
	else if (err)
		complain("%s: not received: %s: %s", file, errno_name(err), strerror(err));
	if (want_json) {
		say_json(p, err, bytes);
	} else if (!err) {
		put_safe(stdout, file, strlen(file));
		printf(": %llu bytes\n", (unsigned long long)bytes);
	}
}

/* A link, and a file to receive: its sender is told what became of it. The errno. */
static int receive_and_tell(struct incoming *in)
{
	struct transact t = { .fd = in->fd, .wait_ms = in->wait_ms };
	unsigned char buf[STREAM_HEAD];
	int err = receive(in);

	if (!err) {
		oae_done(in->fd);
		say(&t, STREAM_DONE, in->id, 0, buf, 0);
		transact_free(&t);
	} else if (in->id) {
		give_up(in, err);
	}
	return err;
}

int file_recv(struct peer *p, const char *file, unsigned int wait_ms)
{
	struct incoming in = { .wait_ms = wait_ms, .target = target_of(file) };
	int err;

	if (!in.target)
		return EXIT_LOCAL;
	err = create(&in);
	if (err) {
		complain_file(err, file);
		goto end;
	}
	in.fd = peer_open_alone(p);
	err = in.fd < 0 ? -1 : receive_and_tell(&in);
	close(in.part);
	if (in.fd >= 0) {
		close(in.fd);
		report_received(p, file, err, in.got);
	} else if (in.beside) {
		unlink(in.beside);
	}
end:
	free(in.beside);
	free(in.target);
	return err ? EXIT_LOCAL : EXIT_OK;
}
