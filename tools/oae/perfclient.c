// SPDX-License-Identifier: GPL-2.0
/*
 * oae perf, the end that measures. One loop for all channels: what ends is counted
 * and timed, and another is posted in its place. Nothing is paced, nothing sleeps
 * but in epoll_wait().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "../../lib/oae.h"
#include "cmd.h"
#include "error.h"
#include "perf.h"
#include "text.h"

#define MS		1000000ULL	/* ns */
#define BATCH		64		/* outcomes taken at once; messages read in a row */
#define ANSWER_MS	5000		/* for START, END and an echo, at least */
#define DRAIN_MS	5000		/* for the outcomes that are left at the end */
#define LOOK_MS		100		/* how often a signal is looked for, at least */

/* One channel. */
struct flow {
	int fd;
	unsigned int vc;
	unsigned long long *began;	/* when each was posted, by its number modulo depth */
	unsigned long long next_id;
	unsigned long long number;	/* of the last message, in its bytes */
	unsigned int pending;		/* without an outcome */
	bool echo_due;
	bool blocked;			/* the queue is full of what others have posted */
	int over;			/* 0, or the errno that nothing more can be posted for */
	unsigned long long committed, undecided;
	bool answered;
	struct perf_head answer;
};

struct client {
	struct perf_args *a;
	struct flow *flow;
	unsigned int opened;
	int epoll;
	unsigned long long session;
	unsigned char *out, *in;	/* a message; room for one */
	unsigned long long left;	/* to be posted; only if there is a count */
	unsigned long long last_ns;	/* when the last was found committed */
	struct perf_tally tally;
};

static unsigned int client_answer_ms(const struct client *c)
{
	return c->a->wait_ms > ANSWER_MS ? c->a->wait_ms : ANSWER_MS;
}

/* False, and said why. */
static bool client_watch(struct client *c, struct flow *f, unsigned int events)
{
	struct epoll_event e = { .events = EPOLLPRI | EPOLLRDBAND | events, .data.ptr = f };

	if (!epoll_ctl(c->epoll, EPOLL_CTL_MOD, f->fd, &e) ||
	    (errno == ENOENT && !epoll_ctl(c->epoll, EPOLL_CTL_ADD, f->fd, &e)))
		return true;
	complain_errno(errno, "epoll");
	return false;
}

/* What holds for whatever is posted next. */
static bool client_options(struct flow *f, unsigned int deadline_ms, bool express,
			   unsigned int depth)
{
	struct oae_options o;

	if (!oae_get_options(f->fd, &o)) {
		o.deadline_ms = deadline_ms;
		o.queue = depth;
		o.flags = express ? o.flags | OAE_OPT_EXPRESS : o.flags & ~OAE_OPT_EXPRESS;
		if (!oae_set_options(f->fd, &o))
			return true;
	}
	complain_errno(errno, "vc %u: options", f->vc);
	return false;
}

static bool client_open(struct client *c)
{
	struct perf_args *a = c->a;
	struct peer p = a->peer;

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0) {
		complain_errno(errno, "epoll");
		return false;
	}
	if (p.vc < 0)
		p.vc = 0;
	for (; c->opened < a->vcs; c->opened++, p.vc++) {
		struct flow *f = &c->flow[c->opened];

		f->vc = p.vc;
		f->fd = peer_open(&p, OAE_OPEN_NOW);
		if (f->fd < 0)
			return false;
		f->began = alloc(a->depth, sizeof(*f->began));
	}
	/* As it has been understood. */
	p.vc = c->flow[0].vc;
	a->peer = p;
	if (getrandom(&c->session, sizeof(c->session), 0) != sizeof(c->session)) {
		complain_errno(errno, "a random number");
		return false;
	}
	return true;
}

static void client_close(struct client *c)
{
	unsigned int i;

	for (i = 0; i < c->opened; i++) {
		close(c->flow[i].fd);
		free(c->flow[i].began);
	}
	if (c->epoll >= 0)
		close(c->epoll);
	free(c->flow);
	free(c->out);
	free(c->in);
}

/* --- what the server says ------------------------------------------------------ */

/* One message, into @c->in: its length; 0: there is none. */
static size_t client_read(struct client *c, struct flow *f)
{
	ssize_t n = oae_recv(f->fd, c->in, PERF_MAX_SIZE);

	return n > 0 ? n : 0;
}

/* Is what is in @c->in what the server says to this session? */
static bool client_heard(struct client *c, struct flow *f, size_t len)
{
	enum perf_parsed what = perf_get(&f->answer, c->in, len);

	/* Whoever speaks another version may have put the session elsewhere. */
	return what == PERF_OTHER_VERSION ||
	       (what == PERF_HEAD && f->answer.session == c->session);
}

static void client_take_answer(struct client *c, struct flow *f, enum perf_kind wanted)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < BATCH && !f->answered; i++) {
		len = client_read(c, f);
		if (!len)
			return;
		f->answered = client_heard(c, f, len) &&
			      (f->answer.version != PERF_VERSION || f->answer.kind == wanted ||
			       f->answer.kind == PERF_REFUSED);
	}
}

/* The outcome of what has been asked: false if it will never be heard. */
static bool client_asked(struct flow *f)
{
	struct oae_outcome_rec rec[BATCH];
	struct oae_status st;
	int i, n = oae_collect(f->fd, rec, BATCH, NULL, 0, NULL);

	oae_status(f->fd, &st);		/* takes the events */
	for (i = 0; i < n; i++)
		if (rec[i].id >= f->next_id && rec[i].result != OAE_RESULT_COMMITTED)
			f->over = rec[i].err;
	return !f->over;
}

static const char *client_refusal(const struct flow *f)
{
	if (f->answer.version != PERF_VERSION || f->answer.reason == PERF_VERSION_DIFFERS)
		return "it is of another version of oae";
	if (f->answer.reason == PERF_NO_SESSION)
		return "it knows nothing of this session: has it been started anew?";
	return "it does not understand what it was asked";
}

/* Says why there is no answer, unless there is one. */
static bool client_has_answer(const struct flow *f, enum perf_kind wanted)
{
	if (f->answered && f->answer.version == PERF_VERSION && f->answer.kind == wanted)
		return true;
	if (f->answered)
		complain("vc %u: the server refuses: %s", f->vc, client_refusal(f));
	else if (f->over)
		complain_outcome(f->over, "the server is not reached");
	else if (!stopped())
		complain("vc %u: nobody answers; there: oae perf --server", f->vc);
	return false;
}

/*
 * Say @kind on all channels, and wait for @wanted on each. How many have answered;
 * for the first that has not, says why.
 */
static unsigned int client_ask(struct client *c, enum perf_kind kind, enum perf_kind wanted)
{
	struct perf_head h = { .version = PERF_VERSION, .kind = kind, .mode = c->a->mode,
			       .express = c->a->express, .size = c->a->size,
			       .session = c->session };
	unsigned long long end = now_ns() + client_answer_ms(c) * MS;
	unsigned char head[PERF_HEAD_LEN];
	unsigned int i, waiting = 0, got = 0;
	struct epoll_event e[BATCH];
	bool said = false;
	int n;

	perf_put(&h, head);
	for (i = 0; i < c->a->vcs; i++) {
		struct flow *f = &c->flow[i];

		f->answered = false;
		f->over = 0;
		/* One more than may be left without an outcome. */
		if (!client_options(f, client_answer_ms(c), false, c->a->depth + 1) ||
		    !client_watch(c, f, EPOLLIN))
			return 0;
		if (oae_queue(f->fd, head, sizeof(head)))
			f->over = errno;
		else
			waiting++;
	}
	while (waiting && now_ns() < end && !(kind == PERF_START && stopped())) {
		n = epoll_wait(c->epoll, e, BATCH, LOOK_MS);
		for (i = 0; n > 0 && i < (unsigned int)n; i++) {
			struct flow *f = e[i].data.ptr;

			if (f->answered || f->over)
				continue;
			client_asked(f);
			client_take_answer(c, f, wanted);
			if (f->answered || f->over) {
				client_watch(c, f, 0);
				waiting--;
			}
		}
	}
	for (i = 0; i < c->a->vcs; i++) {
		if (said ? c->flow[i].answered : client_has_answer(&c->flow[i], wanted))
			got++;
		else
			said = true;
	}
	return got;
}

/* --- the run --------------------------------------------------------------------- */

static bool client_idle(const struct flow *f)
{
	return !f->pending && !f->echo_due;
}

/* One message. False: not now, or never: f->over. */
static bool client_post_one(struct client *c, struct flow *f)
{
	struct perf_tally *t = &c->tally;
	int err;

	perf_data_put(c->out, c->a->size, f->number + 1);
	f->began[f->next_id % c->a->depth] = now_ns();
	if (!oae_queue(f->fd, c->out, c->a->size)) {
		f->next_id++;
		f->number++;
		f->pending++;
		f->echo_due = c->a->mode == PERF_RTT;
		t->sent++;
		if (c->a->count)
			c->left--;
		return true;
	}
	err = errno;
	if (err == EAGAIN || err == EINTR)
		return false;
	/* Reversed at once, as the next would be. */
	f->over = err;
	if (outcome_exit(err) == EXIT_REVERSED) {
		t->sent++;
		t->reversed++;
		t->by_errno[err % PERF_ERRNOS]++;
	} else {
		complain_errno(err, "vc %u", f->vc);
	}
	return false;
}

/* As many as there should be under way. */
static void client_post(struct client *c, struct flow *f)
{
	bool blocked;

	while (!f->over && f->pending < c->a->depth && !f->echo_due &&
	       (!c->a->count || c->left))
		if (!client_post_one(c, f))
			break;
	/* With something under way its outcome is what wakes. */
	blocked = client_idle(f) && !f->over && (!c->a->count || c->left);
	if (blocked == f->blocked)
		return;
	f->blocked = blocked;
	client_watch(c, f, (c->a->mode == PERF_RTT ? EPOLLIN : 0) | (blocked ? EPOLLOUT : 0));
}

static void client_count(struct client *c, struct flow *f, const struct oae_outcome_rec *rec,
			 unsigned long long now)
{
	struct perf_tally *t = &c->tally;

	f->pending--;
	if (rec->result == OAE_RESULT_COMMITTED) {
		f->committed++;
		t->committed++;
		c->last_ns = now;
		hist_add(&t->outcome, now - f->began[rec->id % c->a->depth]);
		return;
	}
	t->by_errno[(unsigned int)rec->err % PERF_ERRNOS]++;
	if (rec->result == OAE_RESULT_REVERSED) {
		t->reversed++;
	} else {
		t->unknown++;
		f->undecided++;
	}
	f->echo_due = false;	/* none, or perhaps: the next has another number */
}

static void client_collect(struct client *c, struct flow *f)
{
	struct oae_outcome_rec rec[BATCH];
	unsigned long long now;
	int i, n;

	do {
		n = oae_collect(f->fd, rec, BATCH, NULL, 0, NULL);
		if (n <= 0)
			return;
		now = now_ns();
		for (i = 0; i < n && f->pending; i++)
			client_count(c, f, &rec[i], now);
	} while (n == BATCH);
}

/* What has been sent back; anything else is dropped. */
static void client_echoes(struct client *c, struct flow *f)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < BATCH; i++) {
		len = client_read(c, f);
		if (!len)
			return;
		if (!f->echo_due || len != c->a->size || !perf_data_is(c->in, len, f->number))
			continue;
		hist_add(&c->tally.rtt, now_ns() - f->began[(f->next_id - 1) % c->a->depth]);
		f->echo_due = false;
	}
}

static void client_event(struct client *c, struct flow *f, unsigned int events)
{
	struct oae_status st;

	if (events & EPOLLRDBAND)
		oae_status(f->fd, &st);
	client_collect(c, f);
	if (events & EPOLLIN)
		client_echoes(c, f);
	if (!(events & EPOLLHUP) || f->pending)
		return;
	/* The port is gone, and would wake for ever. */
	c->tally.echoes_missing += f->echo_due;
	f->echo_due = false;
	f->over = f->over ?: ENODEV;
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, f->fd, NULL);
}

/* Echoes that are due for too long, or when all is over: they will not come any more. */
static void client_give_up_echoes(struct client *c, bool all)
{
	unsigned long long now = now_ns(), limit = client_answer_ms(c) * MS;
	unsigned int i;

	for (i = 0; i < c->a->vcs; i++) {
		struct flow *f = &c->flow[i];

		if (!f->echo_due || f->pending ||
		    (!all && now - f->began[(f->next_id - 1) % c->a->depth] < limit))
			continue;
		f->echo_due = false;
		c->tally.echoes_missing++;
		if (!all)
			client_post(c, f);
	}
}

static bool client_all_idle(const struct client *c)
{
	unsigned int i;

	for (i = 0; i < c->a->vcs; i++)
		if (!client_idle(&c->flow[i]))
			return false;
	return true;
}

static bool client_all_over(const struct client *c)
{
	unsigned int i;

	for (i = 0; i < c->a->vcs; i++)
		if (!c->flow[i].over)
			return false;
	return true;
}

/* What happens within @ms; @more: others are posted in place of what has ended. */
static void client_pass(struct client *c, unsigned int ms, bool more)
{
	struct epoll_event e[BATCH];
	int i, n = epoll_wait(c->epoll, e, BATCH, ms);

	for (i = 0; i < n; i++) {
		struct flow *f = e[i].data.ptr;

		client_event(c, f, e[i].events);
		if (more)
			client_post(c, f);
	}
}

/* The outcomes that are left; those that do not come are asked for: by a cancel. */
static void client_drain(struct client *c)
{
	unsigned long long end = now_ns() + (stopped() ? 1000 : DRAIN_MS) * MS;
	unsigned int i;

	while (!client_all_idle(c) && now_ns() < end)
		client_pass(c, 10, false);
	for (i = 0; i < c->a->vcs; i++)
		if (c->flow[i].pending)
			oae_cancel(c->flow[i].fd, 0);
	end = now_ns() + 1000 * MS;
	while (!client_all_idle(c) && now_ns() < end)
		client_pass(c, 10, false);
	client_give_up_echoes(c, true);
	for (i = 0; i < c->a->vcs; i++) {
		c->tally.pending += c->flow[i].pending;
		c->flow[i].undecided += c->flow[i].pending;
	}
}

static bool client_prepare(struct client *c)
{
	struct perf_args *a = c->a;
	struct oae_status st;
	unsigned int i;

	for (i = 0; i < a->vcs; i++) {
		struct flow *f = &c->flow[i];

		if (oae_status(f->fd, &st)) {
			complain_errno(errno, "vc %u: status", f->vc);
			return false;
		}
		if (st.max_len && st.max_len < a->size) {
			complain("-s: %u bytes, but the peer takes %u at most: its knob max_len",
				 a->size, st.max_len);
			return false;
		}
		f->next_id = st.next_id;
		if (!client_options(f, a->wait_ms, a->express, a->depth) ||
		    !client_watch(c, f, a->mode == PERF_RTT ? EPOLLIN : 0))
			return false;
	}
	return true;
}

/* Of the tally only what a line of progress shows. */
static void client_snapshot(struct perf_tally *then, const struct perf_tally *now)
{
	then->committed = now->committed;
	then->reversed = now->reversed;
	then->unknown = now->unknown;
	then->ns = now->ns;
}

static void client_run(struct client *c, bool progress)
{
	unsigned long long begin = now_ns(), now = begin, tick = begin + 1000 * MS, look = begin;
	unsigned long long end = c->a->time_ms ? begin + c->a->time_ms * MS : ~0ULL;
	struct perf_tally *then = alloc(1, sizeof(*then));
	unsigned int i;

	then->ns = begin;
	for (i = 0; i < c->a->vcs; i++)
		client_post(c, &c->flow[i]);
	while (now < end && !(c->a->count && !c->left && client_all_idle(c)) &&
	       !(client_all_over(c) && client_all_idle(c))) {
		unsigned long long ms = (end - now + MS - 1) / MS;

		client_pass(c, ms < LOOK_MS ? ms : LOOK_MS, true);
		now = now_ns();
		if (now >= tick) {
			c->tally.ns = now;
			if (progress)
				perf_progress(then, &c->tally, c->a, begin);
			client_snapshot(then, &c->tally);
			tick += 1000 * MS;
		}
		if (now - look < LOOK_MS * MS)
			continue;
		look = now;
		client_give_up_echoes(c, false);
		if (stopped())
			break;
	}
	client_drain(c);
	/* What is reversed at the end has no part in the rate. */
	c->tally.ns = (c->last_ns > now ? c->last_ns : now) - begin;
	free(then);
}

/* --- what came of it ---------------------------------------------------------------- */

/* The server's counts beside those here, channel by channel. */
static void client_compare(struct client *c, struct perf_word *w)
{
	unsigned int i;

	for (i = 0; i < c->a->vcs; i++) {
		const struct flow *f = &c->flow[i];
		const struct perf_head *h = &f->answer;

		if (!f->answered || h->version != PERF_VERSION || h->kind != PERF_REPORT)
			continue;
		w->channels++;
		w->delivered += h->messages;
		w->bytes += h->bytes;
		w->echoed += h->echoed;
		if (h->messages < f->committed || h->messages > f->committed + f->undecided ||
		    h->bytes != h->messages * c->a->size)
			w->differing++;
	}
}

static int client_exit(const struct client *c, const struct perf_word *w)
{
	const struct perf_tally *t = &c->tally;

	if (w->differing) {
		complain("what was delivered is not what was committed, on %u channels",
			 w->differing);
		return EXIT_LOCAL;
	}
	if (!t->sent)
		return EXIT_LOCAL;
	if (t->unknown)
		return EXIT_UNKNOWN;
	if (t->pending)
		return EXIT_PENDING;
	if (t->reversed)
		return EXIT_REVERSED;
	return w->channels < c->a->vcs || t->echoes_missing ? EXIT_LOCAL : EXIT_OK;
}

int perf_client(struct perf_args *a)
{
	struct client *c = alloc(1, sizeof(*c));
	struct perf_word w = { 0 };
	int status = EXIT_LOCAL;

	c->a = a;
	c->epoll = -1;
	c->left = a->count;
	c->flow = alloc(a->vcs, sizeof(*c->flow));
	c->out = alloc(a->size, 1);
	c->in = alloc(PERF_MAX_SIZE, 1);
	memset(c->out, 'o', a->size);
	if (client_open(c) && client_ask(c, PERF_START, PERF_READY) == a->vcs &&
	    client_prepare(c)) {
		perf_begin(a);
		client_run(c, !want_json && isatty(STDOUT_FILENO));
		client_ask(c, PERF_END, PERF_REPORT);
		client_compare(c, &w);
		perf_report(a, &c->tally, &w);
		status = client_exit(c, &w);
	}
	client_close(c);
	free(c);
	return status;
}
