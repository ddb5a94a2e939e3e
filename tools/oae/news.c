// SPDX-License-Identifier: GPL-2.0
/* What the modules tell. See news.h. */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <string.h>

#include "cmd.h"
#include "error.h"
#include "news.h"

const struct news_source link_news = { OAE_NL_FAMILY, "modoae", OAE_NL_EVENT_GET };
const struct news_source gateway_news = { OAE_NL_GW_FAMILY, "modoaeip", OAE_NL_GW_EVENT_GET };

static void take_number(const struct nlattr *const *attrs, void *data)
{
	unsigned long long *number = data;

	*number = attr_number(attrs[OAE_NL_EVENT_NUMBER]);
}

/* The number of the last event that was sent. */
static int last_number(struct news_feed *f, unsigned long long *number)
{
	struct refused why;

	return netlink_talk(&f->ask, netlink_request(&f->ask, f->source->get, false),
			    take_number, number, &why);
}

static int unblock(const struct netlink *n)
{
	int fd = mnl_socket_get_fd(n->sock);

	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ? errno : 0;
}

static void leave(struct news_feed *f)
{
	netlink_close(&f->n);
	netlink_close(&f->ask);
}

/* The family as it is now. ENOENT: the module is not loaded. */
static int join(struct news_feed *f)
{
	int err;

	err = netlink_try(&f->n, f->source->family) ?: netlink_try(&f->ask, f->source->family);
	if (!err && !netlink_join(&f->n))
		err = errno;
	if (!err)
		err = unblock(&f->n);
	/* Only what is sent from here on can be missed. */
	if (!err)
		err = last_number(f, &f->last);
	if (err)
		leave(f);
	f->loaded = !err;
	return err;
}

int news_open(struct news_feed *f, const struct news_source *source)
{
	int err;

	memset(f, 0, sizeof(*f));
	f->source = source;
	/* First, lest the module goes unnoticed. */
	err = netlink_try(&f->families, "nlctrl");
	if (!err && !netlink_join(&f->families))
		err = errno;
	if (!err)
		err = unblock(&f->families) ?: join(f);
	if (!err)
		return EXIT_OK;
	news_close(f);
	if (err == ENOENT)
		return complain_not_loaded(source->module);
	return complain_errno(err, "events");
}

void news_close(struct news_feed *f)
{
	leave(f);
	netlink_close(&f->families);
}

unsigned int news_fds(const struct news_feed *f, int fd[2])
{
	fd[0] = mnl_socket_get_fd(f->families.sock);
	if (f->loaded)
		fd[1] = mnl_socket_get_fd(f->n.sock);
	return f->loaded ? 2 : 1;
}

struct reader {
	struct news_feed *f;
	const struct news_calls *call;
	void *data;
};

static void skip_to(const struct reader *r, unsigned long long number)
{
	if (number > r->f->last + 1)
		r->call->missed(number - r->f->last - 1, r->data);
	if (number > r->f->last)
		r->f->last = number;
}

static void take_event(const struct nlattr *const *attrs, void *data)
{
	const struct reader *r = data;
	struct news e = {
		.number = attr_number(attrs[OAE_NL_EVENT_NUMBER]),
		.us = attr_number(attrs[OAE_NL_EVENT_TIME]) / 1000,
		.tx = attr_number(attrs[OAE_NL_EVENT_TX]),
		.kind = attr_text(attrs[OAE_NL_EVENT_KIND]),
		.what = attr_text(attrs[OAE_NL_EVENT_WHAT]),
		.text = attr_text(attrs[OAE_NL_EVENT_TEXT]),
		.port = attr_text(attrs[OAE_NL_EVENT_PORT]),
		.before = attr_text(attrs[OAE_NL_EVENT_BEFORE]),
		.after = attr_text(attrs[OAE_NL_EVENT_AFTER]),
		.says = attr_text(attrs[OAE_NL_EVENT_SAYS]),
		.vc = attr_number(attrs[OAE_NL_EVENT_VC]),
		.zone = attr_number(attrs[OAE_NL_EVENT_ZONE]),
	};

	e.id = attr_number(attrs[OAE_NL_EVENT_ID]);
	e.is_link = attr_mac(attrs[OAE_NL_EVENT_PEER], e.mac) && !e.id;
	/* It came between joining the group and asking for the number. */
	if (e.number <= r->f->last)
		return;
	skip_to(r, e.number);
	r->call->event(&e, r->data);
}

/* All that has come. EAGAIN, or an error. */
static int read_all(const struct reader *r)
{
	int err;

	for (;;) {
		err = netlink_listen(&r->f->n, take_event, (void *)r);
		if (err == ENOBUFS)
			r->f->lost = true;
		else if (err && err != EINTR)
			return err;
	}
}

/* What came after the last that was read, if some was lost. EAGAIN, or an error. */
static int read_lost(const struct reader *r)
{
	unsigned long long sent = 0;
	int err;

	/* What was sent up to now is either in the socket or lost, even if nothing follows it. */
	r->f->lost = false;
	err = last_number(r->f, &sent) ?: read_all(r);
	if (sent > r->f->last) {
		r->call->missed(sent - r->f->last, r->data);
		r->f->last = sent;
	}
	return err;
}

struct family_look {
	const char *name;
	bool seen;
};

static void take_family(const struct nlattr *const *attrs, void *data)
{
	struct family_look *look = data;

	if (!strcmp(attr_text(attrs[CTRL_ATTR_FAMILY_NAME]), look->name))
		look->seen = true;
}

/* Has the family come or gone, or may it have? */
static bool family_changed(struct news_feed *f)
{
	struct family_look look = { .name = f->source->family };
	int err;

	do {
		err = netlink_listen(&f->families, take_family, &look);
		if (err == ENOBUFS)
			look.seen = true;
	} while (!err || err == EINTR || err == ENOBUFS);
	return look.seen;
}

/*
 * A module that was loaded again has another family and another group: to whom the old one
 * told its news, nobody tells anything. 0, or an error.
 */
static int follow(const struct reader *r)
{
	struct news_feed *f = r->f;
	struct netlink now;
	bool same;
	int err;

	err = netlink_try(&now, f->source->family);
	if (err && err != ENOENT)
		return err;
	same = !err && f->loaded && now.family == f->n.family && now.group == f->n.group;
	if (!err)
		netlink_close(&now);
	if (same)
		return 0;
	if (f->loaded) {
		leave(f);
		f->loaded = false;
		r->call->module(f->source->module, false, r->data);
	}
	err = err ?: join(f);
	if (f->loaded) {
		r->call->module(f->source->module, true, r->data);
		if (f->last)
			r->call->missed(f->last, r->data);
	}
	return err == ENOENT ? 0 : err;
}

bool news_read(struct news_feed *f, const struct news_calls *call, void *data)
{
	struct reader r = { f, call, data };
	bool changed = family_changed(f);
	int err = EAGAIN;

	if (f->loaded)
		err = read_all(&r);
	if (err == EAGAIN && f->lost)
		err = read_lost(&r);
	/* It has gone since; that will be told, too. */
	if (err == ENOENT)
		err = EAGAIN;
	if (err == EAGAIN && changed)
		err = follow(&r) ?: EAGAIN;
	if (err == EAGAIN)
		return true;
	complain_errno(err, "events");
	return false;
}
