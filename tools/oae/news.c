// SPDX-License-Identifier: GPL-2.0
/* What the modules tell. See news.h. */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
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

int news_open(struct news_feed *f, const struct news_source *source)
{
	int status, err, fd;

	memset(f, 0, sizeof(*f));
	f->source = source;
	status = netlink_open(&f->n, source->family, source->module);
	if (status)
		return status;
	status = netlink_open(&f->ask, source->family, source->module);
	if (status) {
		netlink_close(&f->n);
		return status;
	}
	fd = news_fd(f);
	err = netlink_join(&f->n) ? 0 : errno;
	if (!err && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		err = errno;
	/* Only what is sent from here on can be missed. */
	if (!err)
		err = last_number(f, &f->last);
	if (!err)
		return EXIT_OK;
	news_close(f);
	return complain_errno(err, "events");
}

void news_close(struct news_feed *f)
{
	netlink_close(&f->n);
	netlink_close(&f->ask);
}

int news_fd(const struct news_feed *f)
{
	return mnl_socket_get_fd(f->n.sock);
}

struct reader {
	struct news_feed *f;
	void (*event)(const struct news *e, void *data);
	void (*missed)(unsigned long long n, void *data);
	void *data;
};

static void skip_to(const struct reader *r, unsigned long long number)
{
	if (number > r->f->last + 1)
		r->missed(number - r->f->last - 1, r->data);
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
		.vc = attr_number(attrs[OAE_NL_EVENT_VC]),
		.zone = attr_number(attrs[OAE_NL_EVENT_ZONE]),
	};

	e.id = attr_number(attrs[OAE_NL_EVENT_ID]);
	e.is_link = attr_mac(attrs[OAE_NL_EVENT_PEER], e.mac) && !e.id;
	/* It came between joining the group and asking for the number. */
	if (e.number <= r->f->last)
		return;
	skip_to(r, e.number);
	r->event(&e, r->data);
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

bool news_read(struct news_feed *f, void (*event)(const struct news *e, void *data),
	       void (*missed)(unsigned long long n, void *data), void *data)
{
	struct reader r = { f, event, missed, data };
	unsigned long long sent = 0;
	int err;

	err = read_all(&r);
	if (err == EAGAIN && f->lost) {
		/*
		 * What was sent up to now is either in the socket or lost, even if
		 * nothing follows it.
		 */
		f->lost = false;
		err = last_number(f, &sent) ?: read_all(&r);
		if (sent > f->last) {
			missed(sent - f->last, data);
			f->last = sent;
		}
	}
	if (err == EAGAIN)
		return true;
	complain_errno(err, "events");
	return false;
}
