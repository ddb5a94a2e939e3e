// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs over generic netlink. modoaeip has this file, too:
 * modoaeip/base/knob_netlink.c includes it.
 *
 * What a family passes as @owner is the node or gateway of the socket's namespace,
 * which the socket keeps alive. The family is registered only while its module's
 * parameters act on nodes.
 */

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "knob_netlink.h"

#define KNOB_VALUE_MAX		4095	/* characters, as sysfs takes */
#define KNOB_SETTINGS_MAX	64	/* in one request */

/* Knobs are shown in messages of up to this many bytes: value, and words. */
#define KNOB_MESSAGE_MAX	(KNOB_VALUE_MAX + 1024)

/**
 * oae_netlink_refuse() - say in the extended ACK why a request is refused
 * @info: the request
 * @attr: the attribute at fault; NULL: no single one
 * @why: the reason
 *
 * Context: process.
 */
void oae_netlink_refuse(struct genl_info *info, const struct nlattr *attr,
			const struct oae_refusal *why)
{
	if (!info->extack)
		return;
	/* A constant: it is read when the request has been handled. */
	if (why->accepted)
		info->extack->_msg = why->accepted;
	NL_SET_BAD_ATTR(info->extack, attr);
}

/**
 * oae_netlink_last_event() - answer the request for the number of the last event
 * @family: the family
 * @info: the request
 * @number: of the event
 * @missed: events that were not sent
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int oae_netlink_last_event(const struct genl_family *family, struct genl_info *info, u64 number,
			   u64 missed)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	void *hdr;

	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, family, 0, info->genlhdr->cmd);
	if (!hdr || nla_put_u64_64bit(skb, OAE_NL_EVENT_NUMBER, number, OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_MISSED, missed, OAE_NL_EVENT_PAD)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/* What a message says of a knob; @buf has room for KNOB_VALUE_MAX characters. */
static int knob_netlink_fill(struct sk_buff *skb, void *hdr,
			     const struct oae_knob *knob, void *owner,
			     char *buf)
{
	int n;

	n = oae_knob_print(knob, owner, buf, KNOB_VALUE_MAX);
	buf[n] = 0;
	if (nla_put_string(skb, OAE_NL_KNOB_NAME, knob->name) ||
	    nla_put_string(skb, OAE_NL_KNOB_VALUE, buf) ||
	    nla_put_string(skb, OAE_NL_KNOB_TAKES, knob->accepted)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static const struct oae_knob *knob_netlink_find(const struct genl_family *family,
						struct genl_info *info,
						const struct nlattr *name)
{
	const struct oae_knob *knob;

	if (!name) {
		NL_SET_ERR_MSG(info->extack, "needs the name of a knob");
		return ERR_PTR(-EINVAL);
	}
	knob = oae_knob_find(family->module, nla_data(name));
	if (knob)
		return knob;
	NL_SET_ERR_MSG_ATTR(info->extack, name, "there is no such knob");
	return ERR_PTR(-ENOENT);
}

static int knob_netlink_reply(const struct genl_family *family,
			      struct genl_info *info,
			      const struct oae_knob *knob, void *owner,
			      char *buf)
{
	struct sk_buff *skb;
	void *hdr;
	int err = -EMSGSIZE;

	skb = genlmsg_new(KNOB_MESSAGE_MAX, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, family, 0, info->genlhdr->cmd);
	if (hdr)
		err = knob_netlink_fill(skb, hdr, knob, owner, buf);
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	return genlmsg_reply(skb, info);
}

/**
 * oae_knob_netlink_get() - answer the request for a knob
 * @family: the family
 * @owner: whose knob
 * @info: the request
 *
 * Context: process, may sleep; takes the owner's lock.
 *
 * Return: 0; -EINVAL no name; -ENOENT no such knob; -ENOMEM.
 */
int oae_knob_netlink_get(const struct genl_family *family, void *owner,
			 struct genl_info *info)
{
	const struct oae_knob *knob;
	char *buf;
	int err;

	knob = knob_netlink_find(family, info, info->attrs[OAE_NL_KNOB_NAME]);
	if (IS_ERR(knob))
		return PTR_ERR(knob);
	buf = kmalloc(KNOB_VALUE_MAX + 1, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	err = knob_netlink_reply(family, info, knob, owner, buf);
	kfree(buf);
	return err;
}

/**
 * oae_knob_netlink_start() - begin a dump of knobs
 * @cb: the dump
 *
 * Context: process.
 *
 * Return: 0.
 */
int oae_knob_netlink_start(struct netlink_callback *cb)
{
	/* A list of peers or of zones may be longer than a message of the usual size. */
	cb->min_dump_alloc = KNOB_MESSAGE_MAX;
	return 0;
}

/* One knob of a dump. 1: there are no more. */
static int knob_netlink_dump_one(const struct genl_family *family, void *owner,
				 struct sk_buff *skb,
				 struct netlink_callback *cb, char *buf)
{
	const struct genlmsghdr *asked = nlmsg_data(cb->nlh);
	const struct oae_knob *knob;
	void *hdr;

	knob = oae_knob_at(family->module, cb->args[0]);
	if (IS_ERR(knob))
		return 1;
	if (!knob || knob->hidden)
		return 0;
	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  family, NLM_F_MULTI, asked->cmd);
	if (!hdr)
		return -EMSGSIZE;
	return knob_netlink_fill(skb, hdr, knob, owner, buf);
}

/**
 * oae_knob_netlink_dump() - go on with a dump of knobs
 * @family: the family
 * @owner: whose knobs
 * @skb: the messages
 * @cb: the dump
 *
 * Context: process, may sleep; takes the owner's lock.
 *
 * Return: bytes of the messages, 0 at the end; -ENOMEM.
 */
int oae_knob_netlink_dump(const struct genl_family *family, void *owner,
			  struct sk_buff *skb, struct netlink_callback *cb)
{
	char *buf;
	int err;

	buf = kmalloc(KNOB_VALUE_MAX + 1, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;
	while (!(err = knob_netlink_dump_one(family, owner, skb, cb, buf)))
		cb->args[0]++;
	kfree(buf);
	return skb->len ?: min(err, 0);
}

/* The settings of one request, each with the attribute that it comes from. */
struct knob_netlink_request {
	unsigned int n;
	struct oae_setting s[KNOB_SETTINGS_MAX];
	const struct nlattr *attr[KNOB_SETTINGS_MAX];
	char *copy[KNOB_SETTINGS_MAX];
};

static int knob_netlink_take(const struct genl_family *family,
			     struct genl_info *info, const struct nlattr *attr,
			     struct knob_netlink_request *r)
{
	struct nlattr *tb[OAE_NL_KNOB_VALUE + 1];
	const struct oae_knob *knob;
	unsigned int i;
	int err;

	if (r->n == KNOB_SETTINGS_MAX) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "a request sets up to 64 knobs");
		return -E2BIG;
	}
	/* The family's policy holds for what is nested, too. */
	err = nla_parse_nested(tb, OAE_NL_KNOB_VALUE, attr, NULL, info->extack);
	if (err)
		return err;
	knob = knob_netlink_find(family, info, tb[OAE_NL_KNOB_NAME]);
	if (IS_ERR(knob))
		return PTR_ERR(knob);
	if (!tb[OAE_NL_KNOB_VALUE]) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "needs a value");
		return -EINVAL;
	}
	if (knob->elsewhere) {
		struct oae_refusal why = { .accepted = knob->elsewhere };

		oae_netlink_refuse(info, attr, &why);
		return -EOPNOTSUPP;
	}
	for (i = 0; i < r->n; i++) {
		if (r->s[i].knob == knob) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "is in the request twice");
			return -EINVAL;
		}
	}
	r->copy[r->n] = kstrdup(nla_data(tb[OAE_NL_KNOB_VALUE]), GFP_KERNEL);
	if (!r->copy[r->n])
		return -ENOMEM;
	r->s[r->n].knob = knob;
	r->s[r->n].val = strim(r->copy[r->n]);
	r->attr[r->n++] = attr;
	return 0;
}

static int knob_netlink_take_all(const struct genl_family *family,
				 struct genl_info *info,
				 struct knob_netlink_request *r)
{
	const struct nlattr *attr;
	int err, rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		err = knob_netlink_take(family, info, attr, r);
		if (err)
			return err;
	}
	if (r->n)
		return 0;
	NL_SET_ERR_MSG(info->extack, "needs a knob and a value");
	return -EINVAL;
}

static int knob_netlink_apply(void *owner, struct genl_info *info,
			      struct knob_netlink_request *r)
{
	struct oae_refusal why = {};
	int err;

	err = oae_knobs_set(owner, r->s, r->n, &why);
	if (err)
		oae_netlink_refuse(info, r->attr[why.setting - r->s], &why);
	return err;
}

/**
 * oae_knob_netlink_set() - set the knobs of a request: all, or none
 * @family: the family
 * @owner: whose knobs
 * @info: the request
 *
 * Context: process, may sleep; takes the owner's lock.
 *
 * Return: 0, or a negative errno, with the reason in the extended ACK.
 */
int oae_knob_netlink_set(const struct genl_family *family, void *owner,
			 struct genl_info *info)
{
	struct knob_netlink_request *r;
	unsigned int i;
	int err;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	err = knob_netlink_take_all(family, info, r);
	if (!err)
		err = knob_netlink_apply(owner, info, r);
	for (i = 0; i < r->n; i++)
		kfree(r->copy[i]);
	kfree(r);
	return err;
}
