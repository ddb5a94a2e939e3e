// SPDX-License-Identifier: GPL-2.0
/*
 * oae perf, the end that takes messages and sends them back. It serves whoever opens
 * a link, so it believes nobody: what is no session is refused, and its file closed;
 * an end holds one message at most, and reads no other until that is queued.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "perf.h"
#include "text.h"

#define BATCH		64	/* messages read in a row; outcomes taken at once */
#define COMPLAIN_MS	1000	/* lines about strangers: one in such a time */

enum state {
	IDLE,		/* no session yet */
	RUNNING,
	ENDING,		/* END has come; the outcomes of echoes are waited for */
	REPORTING,	/* REPORT is said, and its outcome waited for */
	OVER,		/* to be closed */
};

/* An end of a link; or what listens, which has a file only. */
struct end {
	struct end *next;
	int fd;
	bool listens;
	enum state state;
	struct oae_peer who;
	struct perf_head session;	/* as START had it, with what is counted */
	unsigned long long begin_ns, refused;
	unsigned long long next_id;	/* of what is queued next */
	unsigned long long first_echo, report;	/* their ids */
	unsigned int pending;		/* queued, without an outcome */
	void *owed;			/* what there was no room for in the queue */
	size_t owed_len;
};

struct server {
	struct perf_args *a;
	int epoll;
	struct end *ends;
	unsigned long long sessions;	/* that are over */
	unsigned long long complained_ns, quiet;	/* the last line; refused since then */
	unsigned char *in;
};

static bool server_watch(const struct server *s, struct end *e, int how)
{
	struct epoll_event event = { .data.ptr = e };

	if (e->listens)
		event.events = EPOLLIN;
	else
		event.events = EPOLLPRI | EPOLLRDBAND | (e->owed ? EPOLLOUT : 0) |
			       (e->owed || e->state >= ENDING ? 0 : EPOLLIN);
	return !epoll_ctl(s->epoll, how, e->fd, &event);
}

static bool server_add(struct server *s, int fd, const struct oae_peer *who)
{
	struct end *e = alloc(1, sizeof(*e));

	e->fd = fd;
	e->listens = !who;
	e->next_id = 1;
	if (who)
		e->who = *who;
	if (!server_watch(s, e, EPOLL_CTL_ADD)) {
		complain_errno(errno, "epoll");
		close(fd);
		free(e);
		return false;
	}
	e->next = s->ends;
	s->ends = e;
	return true;
}

/* Closed are those that are over, once nothing points to them any more. */
static void server_sweep(struct server *s, bool all)
{
	struct end **at = &s->ends, *e;

	while ((e = *at)) {
		if (!all && e->state != OVER) {
			at = &e->next;
			continue;
		}
		*at = e->next;
		close(e->fd);
		free(e->owed);
		free(e);
	}
}

/* --- what is told --------------------------------------------------------------- */

static void server_complain(struct server *s, const struct end *e, const char *what)
{
	unsigned long long now = now_ns();
	char text[OAE_PEER_TEXT];

	if (s->complained_ns && now - s->complained_ns < COMPLAIN_MS * 1000000ULL) {
		s->quiet++;
		return;
	}
	s->complained_ns = now;
	if (s->quiet)
		complain("refused %llu others meanwhile", s->quiet);
	s->quiet = 0;
	complain("%s vc %u: refused: %s", oae_format_peer(e->who.peer, text), e->who.vc, what);
}

static void server_print_json(const struct end *e, const char *result, unsigned long long ns)
{
	char text[OAE_PEER_TEXT];
	struct json j;

	json_init(&j, stdout);
	json_object(&j, NULL);
	json_bytes(&j, "port", e->who.port, strnlen(e->who.port, sizeof(e->who.port)));
	json_string(&j, "peer", oae_format_peer(e->who.peer, text));
	json_number(&j, "vc", e->who.vc);
	json_string(&j, "mode", perf_mode_name(e->session.mode));
	json_string(&j, "kind", perf_kind_name(e->session.express));
	json_number(&j, "bytes", e->session.size);
	json_string(&j, "result", result);
	json_number(&j, "delivered", e->session.messages);
	json_number(&j, "delivered_bytes", e->session.bytes);
	json_number(&j, "echoed", e->session.echoed);
	json_number(&j, "refused", e->refused);
	json_real(&j, "seconds", ns / 1e9);
	json_close(&j);
}

/* A session is over: "ended", or "lost" if the client has not said so. */
static void server_session_over(struct server *s, struct end *e, const char *result)
{
	unsigned long long ns = now_ns() - e->begin_ns;
	char text[OAE_PEER_TEXT], took[UNIT_LEN];

	s->sessions++;
	if (want_json) {
		server_print_json(e, result, ns);
		return;
	}
	printf("%s vc %u: %s: %s, %s, %u bytes: delivered %llu", oae_format_peer(e->who.peer, text),
	       e->who.vc, result, perf_mode_name(e->session.mode),
	       perf_kind_name(e->session.express), e->session.size,
	       (unsigned long long)e->session.messages);
	if (e->session.mode == PERF_RTT)
		printf(", echoed %llu", (unsigned long long)e->session.echoed);
	if (e->refused)
		printf(", refused %llu", e->refused);
	printf(" in %s\n", duration(took, ns));
	fflush(stdout);
}

/* --- what is said to a client ---------------------------------------------------- */

/* Queue it now, or as soon as there is room. False: it cannot be said at all. */
static bool server_say(struct end *e, const void *what, size_t len)
{
	if (!oae_queue(e->fd, what, len)) {
		e->next_id++;
		e->pending++;
		return true;
	}
	if (errno != EAGAIN && errno != EINTR)
		return false;
	if (!e->owed) {
		e->owed = memcpy(alloc(len, 1), what, len);
		e->owed_len = len;
	}
	return true;
}

static bool server_say_head(struct end *e, enum perf_kind kind, enum perf_reason reason,
			    uint64_t session)
{
	struct perf_head h = e->session;
	unsigned char buf[PERF_HEAD_LEN];

	h.version = PERF_VERSION;
	h.kind = kind;
	h.reason = reason;
	h.session = session;
	perf_put(&h, buf);
	return server_say(e, buf, sizeof(buf));
}

/* What was owed; room has come. */
static void server_pay(struct end *e)
{
	void *owed = e->owed;

	e->owed = NULL;
	if (!server_say(e, owed, e->owed_len))
		e->state = OVER;
	free(owed);
}

static void server_express(struct end *e, bool express)
{
	struct oae_options o;

	if (oae_get_options(e->fd, &o))
		return;
	o.flags = express ? o.flags | OAE_OPT_EXPRESS : o.flags & ~OAE_OPT_EXPRESS;
	oae_set_options(e->fd, &o);
}

/* --- what a client says ------------------------------------------------------------ */

static void server_start(struct server *s, struct end *e, const struct perf_head *h)
{
	/* A client that has died; or given up, and its START was never read. */
	if (e->state == RUNNING)
		server_session_over(s, e, "lost");
	e->session = *h;
	e->session.messages = 0;
	e->session.bytes = 0;
	e->session.echoed = 0;
	e->begin_ns = now_ns();
	e->refused = 0;
	e->state = RUNNING;
	server_express(e, false);
	e->first_echo = e->next_id + 1;
	if (!server_say_head(e, PERF_READY, PERF_NO_REASON, h->session))
		e->state = OVER;
	server_express(e, h->express);
}

/* Once the outcomes of all echoes are known. */
static void server_report(struct end *e)
{
	if (e->state != ENDING || e->pending || e->owed)
		return;
	server_express(e, false);
	e->report = e->next_id;
	e->state = REPORTING;
	if (!server_say_head(e, PERF_REPORT, PERF_NO_REASON, e->session.session))
		e->state = OVER;
}

static void server_data(struct server *s, struct end *e, const void *message, size_t len)
{
	if (e->state != RUNNING || len != e->session.size) {
		e->refused++;
		server_complain(s, e, e->state == RUNNING ? "a message of another size" :
				"a message outside of a session");
		if (e->state == IDLE)
			e->state = OVER;
		return;
	}
	e->session.messages++;
	e->session.bytes += len;
	if (e->session.mode == PERF_RTT && !server_say(e, message, len))
		e->refused++;
}

static void server_refuse(struct server *s, struct end *e, enum perf_reason reason,
			  uint64_t session, const char *what)
{
	e->refused++;
	server_complain(s, e, what);
	if (reason)
		server_say_head(e, PERF_REFUSED, reason, session);
	if (e->state == IDLE)
		e->state = OVER;
}

static void server_hear(struct server *s, struct end *e, const void *message, size_t len)
{
	struct perf_head h;

	switch (perf_get(&h, message, len)) {
	case PERF_IS_DATA:
		server_data(s, e, message, len);
		return;
	case PERF_OTHER_VERSION:
		server_refuse(s, e, PERF_VERSION_DIFFERS, h.session,
			      "it is of another version of oae");
		return;
	case PERF_BAD_HEAD:
		server_refuse(s, e, PERF_MALFORMED, h.session, "a head that is malformed");
		return;
	case PERF_STRANGE:
		server_refuse(s, e, PERF_NO_REASON, 0, "it is not from oae perf");
		return;
	case PERF_HEAD:
		break;
	}
	if (h.kind == PERF_START)
		server_start(s, e, &h);
	else if (h.kind == PERF_END && e->state == RUNNING && h.session == e->session.session)
		e->state = ENDING;
	else if (h.kind == PERF_END)
		server_refuse(s, e, PERF_NO_SESSION, h.session, "the end of no session");
	else
		server_refuse(s, e, PERF_NO_REASON, 0, "it is not from a client");
}

/* --- the loop ---------------------------------------------------------------------- */

static void server_outcomes(struct server *s, struct end *e)
{
	struct oae_outcome_rec rec[BATCH];
	int i, n;

	do {
		n = oae_collect(e->fd, rec, BATCH, NULL, 0, NULL);
		for (i = 0; i < n; i++) {
			e->pending -= !!e->pending;
			if (e->state == REPORTING && rec[i].id == e->report) {
				server_session_over(s, e, rec[i].err ? "ended, unheard" : "ended");
				e->state = OVER;
			} else if (rec[i].id >= e->first_echo && !rec[i].err) {
				e->session.echoed++;
			}
		}
	} while (n == BATCH);
}

static void server_read(struct server *s, struct end *e)
{
	unsigned int i;
	ssize_t n;

	for (i = 0; i < BATCH && !e->owed && e->state < ENDING; i++) {
		n = oae_recv(e->fd, s->in, PERF_MAX_SIZE);
		if (n < 0 && errno == EMSGSIZE)
			e->state = OVER;	/* larger than a message can be */
		if (n <= 0)
			return;
		server_hear(s, e, s->in, n);
	}
}

/* The link is closed, or its port gone; nothing is left to be read. */
static void server_closed(struct server *s, struct end *e)
{
	if (e->state == RUNNING || e->state == ENDING)
		server_session_over(s, e, "lost");
	else if (e->state == REPORTING)
		server_session_over(s, e, "ended, unheard");
	e->state = OVER;
}

static void server_event(struct server *s, struct end *e, unsigned int events)
{
	struct oae_status st = { 0 };

	if (e->state == OVER)
		return;
	if (events & EPOLLRDBAND)
		oae_status(e->fd, &st);
	server_outcomes(s, e);
	if (e->owed && events & (EPOLLOUT | EPOLLHUP))
		server_pay(e);
	if (e->state < ENDING && events & (EPOLLIN | EPOLLRDBAND | EPOLLHUP))
		server_read(s, e);
	server_report(e);
	if (events & EPOLLHUP)
		server_closed(s, e);
	else if (st.events & OAE_EVENT_CLOSED && !st.state && e->state != OVER && !e->owed &&
		 !oae_recv_size(e->fd))
		server_closed(s, e);
	if (e->state == OVER)
		return;
	server_watch(s, e, EPOLL_CTL_MOD);
}

/* False: what is listened on is gone. */
static bool server_peers(struct server *s, const struct end *listener, unsigned int events)
{
	struct oae_peer who;
	unsigned int i;
	int fd;

	for (i = 0; i < BATCH; i++) {
		fd = oae_accept(listener->fd, &who, OAE_OPEN_NONBLOCK);
		if (fd >= 0) {
			server_add(s, fd, &who);
			continue;
		}
		if (errno == EAGAIN || errno == EINTR)
			break;
		/* ENODEV: of one link, or of what is listened on, which HUP tells. */
		if (errno != ENODEV)
			complain_errno(errno, "a link that a peer has opened");
	}
	return !(events & EPOLLHUP);
}

static int server_loop(struct server *s)
{
	struct epoll_event e[BATCH];
	int i, n;

	while (!stopped()) {
		n = epoll_wait(s->epoll, e, BATCH, 100);
		for (i = 0; i < n; i++) {
			struct end *end = e[i].data.ptr;

			if (!end->listens) {
				server_event(s, end, e[i].events);
			} else if (!server_peers(s, end, e[i].events)) {
				complain("the port is gone");
				return EXIT_LOCAL;
			}
		}
		server_sweep(s, false);
		if (s->a->count && s->sessions >= s->a->count)
			return EXIT_OK;
	}
	return s->a->count ? EXIT_LOCAL : EXIT_OK;
}

static bool server_listen(struct server *s)
{
	struct peer p = s->a->peer;
	unsigned int i;
	int fd;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		complain_errno(errno, "epoll");
		return false;
	}
	for (i = 0; i < s->a->vcs; i++, p.vc++) {
		fd = peer_listen(&p);
		if (fd < 0 || !server_add(s, fd, NULL))
			return false;
		if (p.vc < 0)
			return true;
	}
	return true;
}

/* A file for each link: as many as may be open. */
static void server_many_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int perf_server(struct perf_args *a)
{
	struct server s = { .a = a, .epoll = -1, .in = alloc(PERF_MAX_SIZE, 1) };
	int status = EXIT_LOCAL;

	server_many_files();
	if (server_listen(&s))
		status = server_loop(&s);
	server_sweep(&s, true);
	if (s.epoll >= 0)
		close(s.epoll);
	free(s.in);
	return status;
}
