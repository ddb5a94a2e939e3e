// SPDX-License-Identifier: GPL-2.0
/*
 * Events over generic netlink: the news of a node (base/news.c) for the group
 * "link". They are sent by a timer, in softirq, and only if anybody listens.
 *
 * A listener that reads too slowly loses messages, and is told ENOBUFS. Messages are
 * numbered, so it can count what it missed; EVENT_GET says the number of the last.
 */

#include <linux/etherdevice.h>
#include <net/sock.h>

#include "../base/knob_netlink.h"
#include "ctl.h"
#include "netlink.h"

/* Room for a message: a dozen small attributes and a line of text. */
#define EVENT_ROOM	512

static bool event_live;		/* the family is registered */

/* What the link waited for at that moment. */
static int event_put_waits(struct sk_buff *skb, const struct oae_news *news)
{
	struct oae_waits_view waits = {
		.why = news->waits,
		.since = news->since,
		.until = news->until,
	};
	char says[OAE_WAITS_TEXT];

	if (!news->waits)
		return 0;
	oae_waits_text(&waits, says, sizeof(says));
	return nla_put_string(skb, OAE_NL_EVENT_SAYS, says);
}

static int event_put_link(struct sk_buff *skb, const struct oae_news *news)
{
	u8 peer[ETH_ALEN];

	oae_kid_mac(news->kid, peer);
	if (nla_put(skb, OAE_NL_EVENT_PEER, ETH_ALEN, peer) ||
	    nla_put_u8(skb, OAE_NL_EVENT_VC, news->kid >> 56) ||
	    nla_put_string(skb, OAE_NL_EVENT_BEFORE,
			   oae_state_name(news->before)) ||
	    nla_put_string(skb, OAE_NL_EVENT_AFTER,
			   oae_state_name(news->after)) ||
	    nla_put_u32(skb, OAE_NL_EVENT_TX, news->tx) ||
	    nla_put_string(skb, OAE_NL_EVENT_TEXT,
			   oae_stat_text(OAE_S_NOTE + news->note)) ||
	    event_put_waits(skb, news))
		return -EMSGSIZE;
	return 0;
}

static int event_put_neighbour(struct sk_buff *skb, const struct oae_news *news)
{
	if (nla_put(skb, OAE_NL_EVENT_PEER, ETH_ALEN, news->mac) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_ID, news->id, OAE_NL_EVENT_PAD))
		return -EMSGSIZE;
	return 0;
}

static const char *event_kind(const struct oae_news *news)
{
	if (!news->what)
		return "link";
	return news->id ? "neighbour" : "port";
}

static int event_fill(struct sk_buff *skb, const struct oae_news *news)
{
	bool link = !news->what;
	void *hdr;

	hdr = genlmsg_put(skb, 0, 0, &oae_netlink_family, 0, OAE_NL_EVENT);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, OAE_NL_EVENT_NUMBER, news->number,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_MISSED, news->missed,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_TIME, news->now,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_string(skb, OAE_NL_EVENT_KIND, event_kind(news)) ||
	    nla_put_string(skb, OAE_NL_EVENT_WHAT,
			   link ? oae_note_name(news->note) : news->what) ||
	    nla_put_string(skb, OAE_NL_EVENT_PORT, news->port))
		return -EMSGSIZE;
	if ((link && event_put_link(skb, news)) ||
	    (news->id && event_put_neighbour(skb, news)))
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	return 0;
}

/* False: there is no memory. A listener that has no room for it has lost it. */
static bool event_send(struct oae_node *node, const struct oae_news *news)
{
	struct sk_buff *skb = genlmsg_new(EVENT_ROOM, GFP_ATOMIC);

	if (!skb || event_fill(skb, news)) {
		nlmsg_free(skb);
		return false;
	}
	genlmsg_multicast_netns(&oae_netlink_family, node->net, skb, 0, 0,
				GFP_ATOMIC);
	return true;
}

/* Nobody misses what nobody listens for. */
static bool event_send_if_heard(struct oae_node *node,
				const struct oae_news *news)
{
	bool sent = true;

	rcu_read_lock();
	if (READ_ONCE(event_live) &&
	    genl_has_listeners(&oae_netlink_family, node->net, 0))
		sent = event_send(node, news);
	rcu_read_unlock();
	return sent;
}

/**
 * oae_event_send() - send the news of a node to those who listen
 * @node: the node
 *
 * Context: softirq.
 *
 * Return: true if there may be more to send.
 */
bool oae_event_send(struct oae_node *node)
{
	struct oae_news news;
	unsigned int n;

	for (n = 0; n < OAE_BATCH; n++) {
		if (!oae_news_take(node, &news))
			return false;
		oae_news_sent(node, &news, !event_send_if_heard(node, &news));
	}
	return true;
}

/**
 * oae_event_live() - let events be sent, or no more
 * @live: the family is registered, and stays so
 *
 * Once they are not to be sent any more, nobody is sending one.
 *
 * Context: process, may sleep.
 */
void oae_event_live(bool live)
{
	WRITE_ONCE(event_live, live);
	if (!live)
		synchronize_rcu();
}
