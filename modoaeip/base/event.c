// SPDX-License-Identifier: GPL-2.0
/*
 * Events: what becomes of the zones, for those who listen with netlink. They are
 * rare and come from process context, so each is sent where it happens. They are
 * numbered in each namespace: a gap in the numbers is what a listener missed.
 */

#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <net/genetlink.h>

#include "../../include/uapi/oae_netlink.h"
#include "base.h"

#define EVENT_ROOM	256	/* bytes of a message */

/* Of all gateways: the family, the numbers, and that they are sent in their order. */
static DEFINE_MUTEX(event_lock);
static const struct genl_family *event_family;	/* NULL: not registered */

static int event_fill(struct sk_buff *skb, const struct oaeip_gw *gw, u16 zone,
		      const char *what)
{
	void *hdr = genlmsg_put(skb, 0, 0, event_family, 0, OAE_NL_GW_EVENT);

	if (!hdr ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_NUMBER, gw->nevents,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_MISSED, gw->nmissed,
			      OAE_NL_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, OAE_NL_EVENT_TIME, local_clock(),
			      OAE_NL_EVENT_PAD) ||
	    nla_put_string(skb, OAE_NL_EVENT_KIND, "zone") ||
	    nla_put_string(skb, OAE_NL_EVENT_WHAT, what) ||
	    nla_put_u16(skb, OAE_NL_EVENT_ZONE, zone))
		return -EMSGSIZE;
	genlmsg_end(skb, hdr);
	return 0;
}

/* False: there is no memory. A listener that has no room for it has lost it. */
static bool event_send(const struct oaeip_gw *gw, u16 zone, const char *what)
{
	struct sk_buff *skb = genlmsg_new(EVENT_ROOM, GFP_KERNEL);

	if (!skb || event_fill(skb, gw, zone, what)) {
		nlmsg_free(skb);
		return false;
	}
	genlmsg_multicast_netns(event_family, gw->net, skb, 0, 0, GFP_KERNEL);
	return true;
}

/**
 * oaeip_event() - tell listeners what became of a zone
 * @gw: the gateway
 * @zone: number of the zone
 * @what: what became of it, in a word; a constant
 *
 * Context: process, may sleep; the caller may hold RTNL.
 */
void oaeip_event(struct oaeip_gw *gw, u16 zone, const char *what)
{
	mutex_lock(&event_lock);
	gw->nevents++;
	if (event_family && genl_has_listeners(event_family, gw->net, 0) &&
	    !event_send(gw, zone, what))
		gw->nmissed++;
	mutex_unlock(&event_lock);
}

/**
 * oaeip_event_family() - let events be sent, or no more
 * @family: the family, registered, and its first group; NULL: none
 *
 * Context: process, may sleep.
 */
void oaeip_event_family(const struct genl_family *family)
{
	mutex_lock(&event_lock);
	event_family = family;
	mutex_unlock(&event_lock);
}

/**
 * oaeip_event_last() - the number of the last event, and how many were not sent
 * @gw: the gateway
 * @missed: set to the events that there was no memory for
 *
 * Context: process, may sleep.
 *
 * Return: its number, 0 none yet.
 */
u64 oaeip_event_last(struct oaeip_gw *gw, u64 *missed)
{
	u64 number;

	mutex_lock(&event_lock);
	number = gw->nevents;
	*missed = gw->nmissed;
	mutex_unlock(&event_lock);
	return number;
}
