// SPDX-License-Identifier: GPL-2.0
/*
 * oae send --file, oae recv --file. The receiving end writes beside the name, and renames when
 * the end mark has come and all is on the disk; then it says so, and the sender is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "error.h"
#include "file.h"
#include "stream.h"
#include "text.h"
#include "transact.h"

#define CHUNK		32768	/* bytes of the file in a message, if max_len permits */
#define PROGRESS_NS	500000000ULL

static void progress(uint64_t done, uint64_t all, unsigned long long *said, bool last)
{
	unsigned long long now = now_ns();

	if (!isatty(STDERR_FILENO) || (!last && now - *said < PROGRESS_NS) || (last && !*said))
		return;
	*said = now;
	fprintf(stderr, "\r%llu bytes", (unsigned long long)done);
	if (all && all != STREAM_OPEN)
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

/* --- to a peer --------------------------------------------------------------------- */

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

/* A message of @id, within the time. Its bytes, or -1: ETIME, EINTR, ENODEV the port is gone. */
static ssize_t hear(int fd, unsigned int wait_ms, void *buf, size_t room)
{
	unsigned long long end = wait_ms ? now_ns() + wait_ms * 1000000ULL : ~0ULL;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = oae_recv(fd, buf, room);
		if (!n)
			errno = ENODEV;
		if (n > 0 || (n < 0 && errno == EMSGSIZE))
			return n;
		if (!n || (errno != EAGAIN && errno != EINTR))
			return -1;
		errno = interrupted() ? EINTR : now_ns() >= end ? ETIME : 0;
		if (errno)
			return -1;
		poll(&p, 1, 100);
	}
}

/* Is it the answer, and what does it say: 0 it has it, or why not. */
static bool is_answer(const void *message, size_t len, uint64_t id, int *kept)
{
	struct stream_head h;

	if (!stream_get(&h, message, len) || h.kind != STREAM_DONE || h.id != id)
		return false;
	*kept = h.number < 4096 ? (int)h.number : EPROTO;
	return true;
}

/* The answer before the end can only be that it is not kept. */
static bool given_up(int fd, uint64_t id, int *kept)
{
	unsigned char buf[STREAM_HEAD];
	ssize_t n = oae_recv(fd, buf, sizeof(buf));

	return n > 0 && is_answer(buf, n, id, kept);
}

/* What the other end says of it; EINPROGRESS: nothing. */
static int answer(int fd, unsigned int wait_ms, uint64_t id)
{
	unsigned char buf[STREAM_HEAD];
	int kept = 0;
	ssize_t n;

	do {
		n = hear(fd, wait_ms, buf, sizeof(buf));
		if (n < 0)
			return EINPROGRESS;
	} while (!is_answer(buf, n, id, &kept));
	return kept;
}

/*
 * All of @file; *sent: how much of it; *kept: what the other end says. 0, or the errno of a
 * transaction; -1: said why.
 */
static int send_all(struct transact *t, int file, const char *name, uint64_t id, uint64_t *sent,
		    int *kept)
{
	static unsigned char buf[STREAM_HEAD + CHUNK];
	unsigned long long said = 0;
	struct oae_status status;
	size_t chunk = CHUNK;
	struct stat st;
	uint64_t all = STREAM_OPEN;
	ssize_t n;
	int err;

	if (!fstat(file, &st) && S_ISREG(st.st_mode))
		all = st.st_size;
	err = say(t, STREAM_BEGIN, id, all, buf, 0);
	/* Both ends have said now what they take. */
	if (!err && !oae_status(t->fd, &status) && status.max_len < STREAM_HEAD + CHUNK)
		chunk = status.max_len > STREAM_HEAD ? status.max_len - STREAM_HEAD : 1;
	while (!err) {
		n = read(file, buf + STREAM_HEAD, chunk);
		if (n < 0 && errno == EINTR && !interrupted())
			continue;
		if (n < 0) {
			complain_errno(errno, "%s", name);
			return -1;
		}
		if (!n)
			break;
		if (given_up(t->fd, id, kept))
			return 0;
		err = say(t, STREAM_DATA, id, *sent, buf, n);
		if (!err)
			*sent += n;
		progress(*sent, all, &said, false);
	}
	progress(*sent, all, &said, true);
	err = err ?: say(t, STREAM_END, id, *sent, buf, 0);
	if (!err)
		*kept = answer(t->fd, t->wait_ms, id);
	return err;
}

int file_send(struct peer *p, const char *file, unsigned int wait_ms, bool quiet)
{
	struct transact t = { .wait_ms = wait_ms };
	unsigned long long begin = now_ns();
	int fd, err, kept = 0, status;
	char took[UNIT_LEN];
	uint64_t id, sent = 0;

	fd = strcmp(file, "-") ? open(file, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (fd < 0)
		return complain_errno(errno, "%s", file);
	t.fd = peer_open(p, 0);
	if (t.fd < 0 || getrandom(&id, sizeof(id), 0) != sizeof(id)) {
		close(fd);
		return EXIT_LOCAL;
	}
	err = send_all(&t, fd, file, id, &sent, &kept);
	close(fd);
	transact_free(&t);
	close(t.fd);
	if (err < 0)
		return EXIT_LOCAL;
	status = outcome_exit(err ?: kept == EINPROGRESS ? kept : 0);
	if (!err && kept && kept != EINPROGRESS) {
		complain("%s: is not there: the peer says %s", p->text, errno_name(kept));
		status = EXIT_LOCAL;
	} else if (err || kept) {
		complain_outcome(err ?: kept, p->text);
	}
	if (want_json)
		say_json(p, err ?: kept, sent);
	else if (!err && !kept && !quiet)
		printf("the peer has the file: %llu bytes in %s\n", (unsigned long long)sent,
		       duration(took, now_ns() - begin));
	return status;
}

/* --- from a peer ------------------------------------------------------------------- */

struct incoming {
	int fd;			/* of the link */
	int part;		/* of what is written, beside the name */
	unsigned int wait_ms;
	uint64_t id, all, got;
};

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

/* To the end mark. 0; EPROTO: no stream, or not all of it; else why not. */
static int take_all(struct incoming *in)
{
	static unsigned char buf[STREAM_HEAD + CHUNK];
	unsigned long long said = 0;
	struct stream_head h;
	ssize_t n;
	int err = 0;

	do {
		n = hear(in->fd, in->wait_ms, buf, sizeof(buf));
		if (n < 0)
			return errno;
		if (!stream_get(&h, buf, n))
			return EPROTO;
		if (h.kind == STREAM_BEGIN) {
			/* One that was begun before has no end: its sender gave up. */
			in->id = h.id;
			in->all = h.number;
			in->got = 0;
			if (ftruncate(in->part, 0) || lseek(in->part, 0, SEEK_SET))
				err = errno;
			continue;
		}
		/* Left over of one whose beginning another has read. */
		if (h.id != in->id)
			continue;
		if (h.number != in->got)
			return EPROTO;
		if (h.kind == STREAM_DATA) {
			err = write_all(in->part, buf + STREAM_HEAD, n - STREAM_HEAD);
			in->got += n - STREAM_HEAD;
			progress(in->got, in->all, &said, false);
		}
	} while (!err && (h.kind != STREAM_END || h.id != in->id));
	progress(in->got, in->all, &said, true);
	return err;
}

/* Its directory, too: the name is on the disk when the sender is told. */
static int sync_name(const char *file)
{
	char *dir = copy_text(file, strlen(file)), *slash = strrchr(dir, '/');
	int fd, err;

	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	free(dir);
	return err;
}

int file_recv(struct peer *p, const char *file, unsigned int wait_ms)
{
	unsigned char buf[STREAM_HEAD];
	struct incoming in = { .wait_ms = wait_ms };
	struct transact t = { .wait_ms = wait_ms };
	mode_t mask = umask(0);
	char *part;
	int err;

	umask(mask);
	if (asprintf(&part, "%s.XXXXXX", file) < 0)
		out_of_memory();
	in.part = mkstemp(part);
	if (in.part < 0) {
		free(part);
		return complain_errno(errno, "%s", file);
	}
	in.fd = peer_open(p, 0);
	if (in.fd < 0) {
		unlink(part);
		free(part);
		return EXIT_LOCAL;
	}
	err = take_all(&in);
	if (!err && (fchmod(in.part, 0666 & ~mask) || fsync(in.part) || rename(part, file)))
		err = errno;
	if (err)
		unlink(part);
	else
		err = sync_name(file);
	close(in.part);
	free(part);
	t.fd = in.fd;
	if (in.id)
		say(&t, STREAM_DONE, in.id, err, buf, 0);
	transact_free(&t);
	close(in.fd);
	if (err == EPROTO)
		complain("%s: what came is no file of `oae send --file`, or not all of it", file);
	else if (err)
		complain_errno(err, "%s: not received", file);
	if (want_json)
		say_json(p, err, in.got);
	else if (!err)
		printf("%s: %llu bytes\n", file, (unsigned long long)in.got);
	return err ? EXIT_LOCAL : EXIT_OK;
}
