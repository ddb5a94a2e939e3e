// SPDX-License-Identifier: GPL-2.0
/* The modules over generic netlink. See netlink.h. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "cmd.h"
#include "error.h"
#include "netlink.h"

static struct nlmsghdr *start(struct netlink *n, uint16_t type, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(n->request);
	struct genlmsghdr *g;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = ++n->seq;
	g = mnl_nlmsg_put_extra_header(nlh, sizeof(*g));
	g->cmd = cmd;
	g->version = 1;
	return nlh;
}

struct nlmsghdr *netlink_request(struct netlink *n, uint8_t cmd, bool dump)
{
	return start(n, n->family, cmd, dump ? NLM_F_DUMP : 0);
}

bool netlink_put(struct netlink *n, struct nlmsghdr *nlh, uint16_t type, const void *data,
		 size_t len)
{
	if (mnl_attr_put_check(nlh, sizeof(n->request), type, len, data))
		return true;
	complain("more than fits into one request");
	return false;
}

bool netlink_put_text(struct netlink *n, struct nlmsghdr *nlh, uint16_t type, const char *text)
{
	return netlink_put(n, nlh, type, text, strlen(text) + 1);
}

static void take_attr(const struct nlattr *attr, const struct nlattr **attrs)
{
	uint16_t type = mnl_attr_get_type(attr);

	if (type < NETLINK_ATTRS)
		attrs[type] = attr;
}

void netlink_nested(const struct nlattr *nest, const struct nlattr **attrs)
{
	const struct nlattr *attr;

	memset(attrs, 0, NETLINK_ATTRS * sizeof(*attrs));
	mnl_attr_for_each_nested(attr, nest)
		take_attr(attr, attrs);
}

const char *attr_text(const struct nlattr *attr)
{
	return attr && mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0 ? mnl_attr_get_str(attr) :
									   "";
}

unsigned long long attr_number(const struct nlattr *attr)
{
	switch (attr ? mnl_attr_get_payload_len(attr) : 0) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 2:
		return mnl_attr_get_u16(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	case 8:
		return mnl_attr_get_u64(attr);
	}
	return 0;
}

bool attr_mac(const struct nlattr *attr, unsigned char mac[6])
{
	if (!attr || mnl_attr_get_payload_len(attr) != 6)
		return false;
	memcpy(mac, mnl_attr_get_payload(attr), 6);
	return true;
}

/* The attribute of the request that lies at an offset, the outermost one. */
static const struct nlattr *attr_at(const struct nlmsghdr *request, uint32_t offset)
{
	const char *at = (const char *)request + offset;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, request, sizeof(struct genlmsghdr))
		if (at >= (const char *)attr && at < (const char *)attr + attr->nla_len)
			return attr;
	return NULL;
}

/* What follows the errno: in an error the request, unless it is capped, then words. */
static void read_words(const struct nlmsghdr *nlh, size_t skip, const struct nlmsghdr *request,
		       struct refused *why)
{
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS) || mnl_nlmsg_get_payload_len(nlh) < skip)
		return;
	mnl_attr_for_each(attr, nlh, skip) {
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG)
			snprintf(why->text, sizeof(why->text), "%s", attr_text(attr));
		else if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_OFFS)
			why->attr = attr_at(request, attr_number(attr));
	}
}

/* The end of an answer: an ACK, an error, or that of a dump. */
static int read_end(const struct nlmsghdr *nlh, const struct nlmsghdr *request,
		    struct refused *why)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*e);

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(int))
		return why->err = EPROTO;
	/* So says the kernel of a family whose module is about to go; then it is ENOENT. */
	why->err = e->error == -EPROTONOSUPPORT ? ENOENT : -e->error;
	if (nlh->nlmsg_type == NLMSG_DONE)
		skip = sizeof(int);
	else if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - sizeof(e->msg);
	if (why->err)
		read_words(nlh, MNL_ALIGN(skip), request, why);
	return why->err;
}

typedef void (*message_fn)(const struct nlattr *const *attrs, void *data);

static void read_message(const struct nlmsghdr *nlh, message_fn fn, void *data)
{
	const struct nlattr *attrs[NETLINK_ATTRS] = { NULL }, *attr;

	if (!fn || mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr))
		return;
	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		take_attr(attr, attrs);
	fn(attrs, data);
}

/* Reads what has come. True: the answer is complete. */
static bool read_some(struct netlink *n, int len, const struct nlmsghdr *request, message_fn fn,
		      void *data, struct refused *why)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)n->answer;

	for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
		if (nlh->nlmsg_seq != request->nlmsg_seq)
			continue;
		if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
			read_end(nlh, request, why);
			return true;
		}
		read_message(nlh, fn, data);
	}
	return false;
}

int netlink_talk(struct netlink *n, struct nlmsghdr *nlh,
		 void (*fn)(const struct nlattr *const *attrs, void *data), void *data,
		 struct refused *why)
{
	ssize_t len;

	memset(why, 0, sizeof(*why));
	if (mnl_socket_sendto(n->sock, nlh, nlh->nlmsg_len) < 0)
		return why->err = errno;
	do {
		len = mnl_socket_recvfrom(n->sock, n->answer, sizeof(n->answer));
		if (len < 0 && errno != EINTR)
			return why->err = errno;
	} while (len < 0 || !read_some(n, len, nlh, fn, data, why));
	return why->err;
}

int complain_refused(const struct refused *why, const char *what)
{
	if (*why->text)
		complain("%s: %s: %s", what, errno_name(why->err), why->text);
	else if (why->err == EPERM)
		complain("%s: EPERM: needs CAP_NET_ADMIN in this network namespace; be root", what);
	else
		complain_errno(why->err, "%s", what);
	return EXIT_REFUSED;
}

static void take_family(const struct nlattr *const *attrs, void *data)
{
	const struct nlattr *group, *members[NETLINK_ATTRS];
	struct netlink *n = data;

	n->family = attr_number(attrs[CTRL_ATTR_FAMILY_ID]);
	if (!attrs[CTRL_ATTR_MCAST_GROUPS])
		return;
	mnl_attr_for_each_nested(group, attrs[CTRL_ATTR_MCAST_GROUPS]) {
		netlink_nested(group, members);
		n->group = n->group ?: attr_number(members[CTRL_ATTR_MCAST_GRP_ID]);
	}
}

bool netlink_join(struct netlink *n)
{
	return !mnl_socket_setsockopt(n->sock, NETLINK_ADD_MEMBERSHIP, &n->group,
				      sizeof(n->group));
}

int netlink_listen(struct netlink *n, void (*fn)(const struct nlattr *const *attrs, void *data),
		   void *data)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)n->answer;
	ssize_t got = mnl_socket_recvfrom(n->sock, n->answer, sizeof(n->answer));
	int len = got;

	if (got < 0)
		return errno;
	for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len))
		if (nlh->nlmsg_type == n->family)
			read_message(nlh, fn, data);
	return 0;
}

static int find_family(struct netlink *n, const char *family)
{
	struct nlmsghdr *nlh = start(n, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	struct refused why;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, family);
	return netlink_talk(n, nlh, take_family, n, &why);
}

int netlink_try(struct netlink *n, const char *family)
{
	int one = 1, err;

	memset(n, 0, sizeof(*n));
	n->seq = time(NULL);
	n->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!n->sock || mnl_socket_bind(n->sock, 0, MNL_SOCKET_AUTOPID)) {
		err = errno;
	} else {
		/* Without them a refusal has no words. */
		mnl_socket_setsockopt(n->sock, NETLINK_EXT_ACK, &one, sizeof(one));
		mnl_socket_setsockopt(n->sock, NETLINK_CAP_ACK, &one, sizeof(one));
		err = find_family(n, family);
	}
	if (err)
		netlink_close(n);
	return err;
}

int netlink_open(struct netlink *n, const char *family, const char *module)
{
	int err = netlink_try(n, family);

	if (err == ENOENT)
		return complain_not_loaded(module);
	return err ? complain_errno(err, "generic netlink") : EXIT_OK;
}

void netlink_close(struct netlink *n)
{
	if (n->sock)
		mnl_socket_close(n->sock);
	n->sock = NULL;
}
