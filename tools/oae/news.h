/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of links, ports and neighbours, and of a gateway's zones, as the modules tell those
 * who listen. Nothing is missed silently: the events are numbered.
 */
#ifndef OAE_NEWS_H
#define OAE_NEWS_H

#include "netlink.h"

/* An event; the strings are valid until the next one. */
struct news {
	unsigned long long number, us, tx;
	const char *kind, *what, *text, *port, *before, *after, *says;
	bool is_link;		/* the members about a peer are there */
	unsigned char mac[6];
	unsigned int vc;
	unsigned int zone;	/* of kind zone */
	unsigned long long id;	/* of kind neighbour, with mac */
};

/* A family, and its command that says which was the last event. */
struct news_source {
	const char *family;
	const char *module;
	unsigned char get;
};

extern const struct news_source link_news;
extern const struct news_source gateway_news;

struct news_feed {
	const struct news_source *source;
	struct netlink families;	/* joined to those who are told which there are */
	struct netlink n;	/* joined to the group */
	struct netlink ask;
	bool loaded;		/* the latter two are there */
	unsigned long long last;	/* number of the last event, or of the last one missed */
	bool lost;		/* the kernel said so */
};

/* What is told: events, how many are not there between two of them, a module that goes or comes. */
struct news_calls {
	void (*event)(const struct news *e, void *data);
	void (*missed)(unsigned long long n, void *data);
	void (*module)(const char *module, bool loaded, void *data);
};

/* Exit code. */
int news_open(struct news_feed *f, const struct news_source *source);
void news_close(struct news_feed *f);
/* Those to be waited for; returns how many. */
unsigned int news_fds(const struct news_feed *f, int fd[2]);

/* Hands over all that has come. False: to stop, an error was complained of. */
bool news_read(struct news_feed *f, const struct news_calls *call, void *data);

#endif /* OAE_NEWS_H */
