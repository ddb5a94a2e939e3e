/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modules over generic netlink: requests, dumps, and why one is refused, in the
 * kernel's own words.
 *
 * A command that fails prints one line and ends; so do these functions print what
 * was wrong, and return an exit code.
 */
#ifndef OAE_NETLINK_H
#define OAE_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "uapi/oae_netlink.h"

struct mnl_socket;
struct nlattr;
struct nlmsghdr;

#define NETLINK_ROOM	32768	/* bytes of a request, of messages received */

/* A family of this network namespace. */
struct netlink {
	struct mnl_socket *sock;
	uint16_t family;
	uint32_t group;		/* the first multicast group, 0 none */
	uint32_t seq;
	char request[NETLINK_ROOM];
	char answer[NETLINK_ROOM];
};

/* Attributes of a message by type; NULL: it has none. */
#define NETLINK_ATTRS	32

/* Why a request failed. */
struct refused {
	int err;		/* positive errno */
	char text[256];		/* "": the kernel gave no words */
	const struct nlattr *attr;	/* in the request; NULL: no single one */
};

/* 0, or a positive errno: ENOENT, the module is not loaded. */
int netlink_try(struct netlink *n, const char *family);
/* The same, but an error is complained of, and an exit code returned. */
int netlink_open(struct netlink *n, const char *family, const char *module);
void netlink_close(struct netlink *n);

/* Begins a request; attributes are then added with libmnl. */
struct nlmsghdr *netlink_request(struct netlink *n, uint8_t cmd, bool dump);

/* Adds an attribute. False: there is no room for it, which is complained of. */
bool netlink_put(struct netlink *n, struct nlmsghdr *nlh, uint16_t type, const void *data,
		 size_t len);
bool netlink_put_text(struct netlink *n, struct nlmsghdr *nlh, uint16_t type, const char *text);

/*
 * Sends the request and calls @fn for each message of the answer. 0, or a positive
 * errno which @why explains.
 */
int netlink_talk(struct netlink *n, struct nlmsghdr *nlh,
		 void (*fn)(const struct nlattr *const *attrs, void *data), void *data,
		 struct refused *why);

/* To hear the group of the family. False: errno says why not. */
bool netlink_join(struct netlink *n);
/*
 * Calls @fn for each message that was sent to the group and read at once. 0, or a
 * positive errno; ENOBUFS: messages were lost.
 */
int netlink_listen(struct netlink *n, void (*fn)(const struct nlattr *const *attrs, void *data),
		   void *data);

/* "oae set: verbose=9: ERANGE: takes a number from 0 to 2". Returns an exit code. */
int complain_refused(const struct refused *why, const char *what);

/* The members of a nested attribute. */
void netlink_nested(const struct nlattr *nest, const struct nlattr **attrs);

/* Of an attribute of an answer: its value; "" or 0 if there is none of that type. */
const char *attr_text(const struct nlattr *attr);
unsigned long long attr_number(const struct nlattr *attr);
bool attr_mac(const struct nlattr *attr, unsigned char mac[6]);

#endif /* OAE_NETLINK_H */
